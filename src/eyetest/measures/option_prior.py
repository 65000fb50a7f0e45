"""How likely a mark is whatever stands behind it (PriDe, Zheng et al. 2024), and what is right without that.

A model that prefers A gains where golds stand at A and loses elsewhere. Its preference is estimated on a few items
whose options changed places, and taken off the log-probabilities of the others.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, heading, param, short
from eyetest.measures.means import compared
from eyetest.measures.results import (
    Measure,
    Measured,
    NotMeasurable,
    Own,
    Results,
    Settings,
    refuse_tags,
    split,
    table_of,
)
from eyetest.measures.stats.intervals import (
    NOTHING,
    Bools,
    Floats,
    IntervalEstimate,
    Ints,
    cluster_sums,
    effective_clusters,
    percentiles,
    weights,
)
from eyetest.measures.stats.mark_prior import MarkPrior, item_terms, mark_prior
from eyetest.measures.weighed import WeighedAnswers, weighed
from eyetest.records.order import mark, order_of

_METHOD = "first-token"
_SHARE = 0.2
_ORDERED = "items with as many options were asked in orders that tell marks apart"
_FEWEST = 5
"""Items that a prior is estimated on: with fewer, intervals mean nothing."""
_OWN: Own = {"share": (_SHARE, "the largest share of the items that the prior may be estimated on")}


@dataclass(frozen=True)
class _Debiased:
    """A series under as many options: its prior, and the answers to the items that it was not estimated on."""

    key: dict[str, Any]
    prior: MarkPrior
    estimated_on: int
    answers: WeighedAnswers
    style: Any
    """How options are marked."""
    places: Ints
    """Under which mark each choice was shown, from 0."""

    @property
    def before(self) -> Floats:
        """Whether the likeliest mark is right."""
        return self.answers.right(self.answers.logs)

    @property
    def after(self) -> Floats:
        """Whether it is once the prior is taken off."""
        return self.answers.right(self.answers.logs - self.prior.logs[self.places])

    def sums(self) -> Floats:
        """Of each cluster, by mark: answers whose gold stands there, how many are right before, and after."""
        alone = self.answers.golds.sum(axis=1) == 1
        at = self.places[alone, self.answers.golds[alone].argmax(axis=1)]
        there = np.eye(len(self.prior.logs))[at]
        parts = [there, there * self.before[alone, None], there * self.after[alone, None]]
        clusters = self.answers.rows.get_column("cluster").to_numpy()[alone]
        return cluster_sums(np.column_stack(parts), clusters).reshape(-1, 3, there.shape[1])


class OptionPrior(Measure):
    """The probability of each mark whatever stands behind it, and recall by mark without and with its removal."""

    name = "option-prior"
    summary = "prior of option marks under first-token (PriDe), and recall by mark before and after its removal"
    own: ClassVar[Own] = _OWN

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series, number of options and mark; ``n`` counts the items that the prior is estimated on.

        Recall is the share right of answers whose gold stands at the mark, on the other items.
        """
        parts, notes = _debiased(self.name, results, settings)
        rows = []
        for part in parts:
            recalls = zip(*_recalls(part.sums().sum(axis=0)[None])[0].tolist(), strict=True)
            for place, (share, (before, after)) in enumerate(zip(part.prior.shares, recalls, strict=True)):
                about = {"mark": mark(part.style, place)} | share.named("prior")
                rows.append(part.key | about | {"recall": before, "recall_after": after, "n": part.estimated_on})
        table = table_of(rows)
        return Measured(table.with_columns(pl.col("recall", "recall_after").fill_nan(None)), notes)


class OptionPriorRemoved(Measure):
    """Accuracy, and how evenly right choices are found, before and after a preference for marks is taken off."""

    name = "option-prior-removed"
    summary = "accuracy and spread of recall by mark, before and after the prior of marks is taken off (PriDe)"
    own: ClassVar[Own] = _OWN

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and number of options, over the items that the prior was not estimated on.

        ``recall_sd`` is the standard deviation of recall over marks: 0 where it is all one where the gold stands.
        """
        parts, notes = _debiased(self.name, results, settings)
        rows = [part.key | _told(part, settings) for part in parts if len(part.answers.rows)]
        if not rows:
            raise NotMeasurable(f"{self.name}: no item is left to try the prior on")
        return Measured(table_of(rows), notes)


def _told(part: _Debiased, settings: Settings) -> dict[str, Any]:
    of_item = (
        part.answers.rows.select("item", "cluster")
        .with_columns(pl.Series("before", part.before), pl.Series("after", part.after))
        .group_by("item", "cluster", maintain_order=True)
        .agg(pl.col("before", "after").mean())
    )
    pair = compared(of_item, "after", "before", settings.level)
    spread, spread_after, change = _spreads(part.sums(), settings)
    return (
        {"accuracy": pair.b, "accuracy_after": pair.a}
        | pair.gap
        | {"recall_sd": spread, "recall_sd_after": spread_after}
        | change.named("recall_sd_change")
        | {"n": pair.n, "clusters": pair.clusters, "estimated_on": part.estimated_on}
    )


def _spreads(sums: Floats, settings: Settings) -> tuple[float | None, float | None, IntervalEstimate]:
    """The standard deviation of recall over marks before and after, and its change; clusters are drawn again."""
    clusters, _, marks = sums.shape
    if not clusters:
        return None, None, NOTHING
    flat = sums.reshape(clusters, -1)
    drawn = [
        _deviations((times @ flat).reshape(-1, 3, marks))
        for times in weights(clusters, settings.resamples, settings.seed)
    ]
    before, after = _deviations(sums.sum(axis=0)[None])[0].tolist()
    changes = np.diff(np.concatenate(drawn), axis=1)[:, 0]
    ends = percentiles(changes, settings.level, float(effective_clusters(sums[:, 0].sum(axis=1))))
    return before, after, IntervalEstimate(after - before, *ends, clusters)


def _deviations(sums: Floats) -> Floats:
    """Of each row of sums, the deviation of recall before and after; marks at which no gold stands do not count."""
    recalls = _recalls(sums)
    there = ~np.isnan(recalls)
    count = there.sum(axis=2)
    means = np.where(there, recalls, 0).sum(axis=2) / count
    squares = np.where(there, recalls - means[:, :, None], 0) ** 2
    return np.asarray(np.sqrt(squares.sum(axis=2) / count))


def _recalls(sums: Floats) -> Floats:
    """The share right at each mark, before and after; nan where no gold stands there."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 1:] / sums[:, :1])


def _debiased(name: str, results: Results, settings: Settings) -> tuple[list[_Debiased], tuple[str, ...]]:
    """Every series and number of options whose prior can be told, and what has to be said beside."""
    refuse_tags(name, settings)
    share = float(settings.own.get("share", _SHARE))
    if not 0 < share < 1:
        raise InputError(f"{heading('own', 'share')}: found {short(share)}, expected a share between 0 and 1")
    orders = param("order", "0,1,2,3")
    every = weighed(results, name, (_METHOD,), also=orders)
    every = every.take(~np.isnan(every.logs).all(axis=1))
    varied = ["marks"] if every.rows.get_column("marks").n_unique() > 1 else []
    keys = [*(key for key in results.keys(settings.by) if key != "method"), *varied, "options"]
    parts, untold = [], 0
    for options in sorted(every.rows.get_column("options").unique()):
        alike = every.with_options(options)
        numbered = alike.rows.with_row_index("number")
        for key, rows in split(numbered.sort(*keys, "number"), keys) if options > 1 else ():
            part = _estimated(key, alike.take(rows.get_column("number").to_numpy()), share, settings)
            parts += [part] if part else []
            untold += part is None
    if not parts:
        wanted = f"{param('method', _METHOD)} {orders}"
        raise NotMeasurable(f"{name}: fewer than {_FEWEST} {_ORDERED}; ask some with {wanted}")
    told = sorted(parts, key=lambda part: [str(part.key[name]) for name in keys[:-1]])
    lacking = f"{untold} of {len(parts) + untold} priors are not told: fewer than {_FEWEST} {_ORDERED}"
    return told, (lacking,) if untold else ()


def _estimated(key: dict[str, Any], answers: WeighedAnswers, share: float, settings: Settings) -> _Debiased | None:
    """The prior of one series, from a share of its items at most, drawn by lot among those that changed places."""
    rows, options = answers.rows, key["options"]
    asked = rows.select("own_id", "order").iter_rows()
    shown = np.array([order_of(item, options, order) for item, order in asked])
    logs = np.take_along_axis(answers.logs, shown, axis=1)
    items = rows.with_row_index("number").group_by("item", "cluster", maintain_order=True).agg("number")
    numbers = [np.array(of_item) for of_item in items.get_column("number")]
    turned = [len(np.unique(shown[of_item], axis=0)) > 1 for of_item in numbers]
    drawn = _drawn(items.get_column("cluster"), np.array(turned), share, settings.seed)
    if len(drawn) < _FEWEST:
        return None
    terms = np.array([item_terms(logs[numbers[item]], shown[numbers[item]]) for item in drawn])
    clusters = items.get_column("cluster").to_numpy()[drawn]
    prior = mark_prior(terms, clusters, settings.level, settings.resamples, settings.seed)
    if prior is None:
        return None
    rest = rows.get_column("score").is_not_null().to_numpy()
    rest[np.concatenate([numbers[item] for item in drawn])] = False
    style = rows.item(0, "marks")
    return _Debiased(key, prior, len(drawn), answers.take(rest), style, shown.argsort(axis=1)[rest])


def _drawn(clusters: pl.Series, turned: Bools, share: float, seed: int) -> Ints:
    """Items that changed places, whole clusters by lot, no more than a share of all items, or a few."""
    names = clusters.to_numpy()
    there, sizes = np.unique(names[turned], return_counts=True)
    lot = np.random.default_rng(seed).permutation(len(there))
    chosen = there[lot[np.cumsum(sizes[lot]) <= max(share * len(names), _FEWEST)]]
    return np.flatnonzero(turned & np.isin(names, chosen))


MEASURES = (OptionPrior(), OptionPriorRemoved())

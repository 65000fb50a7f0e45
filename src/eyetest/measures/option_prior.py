"""The prior of option letters (PriDe, Zheng et al. 2024) from reordered items, and accuracy once it is removed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import InputError, heading, param, short
from eyetest.measures.likelihood import WeighedAnswers, weighed
from eyetest.measures.means import compared
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings, measure, split, table_of
from eyetest.measures.stats.intervals import NOTHING, Bools, Floats, Ints, resampled
from eyetest.measures.stats.likelihoods import MarkPrior, item_terms, mark_prior
from eyetest.records.order import mark, order_of

_METHOD = "first-token"
_ORDERED = "items with as many options were asked in orders that tell letters apart"
_FEWEST = 5  # items that a prior is estimated on: with fewer, intervals mean nothing


@dataclass(frozen=True)
class _Debiased:
    """A series under a number of options: its prior, and the answers to items not used for it."""

    key: dict[str, Any]
    prior: MarkPrior
    estimated_on: int
    answers: WeighedAnswers
    style: Any  # how options are marked
    places: Ints  # under which mark each choice was shown, from 0

    @property
    def before(self) -> Floats:
        """Whether the likeliest mark is right."""
        return self.answers.right(self.answers.logs)

    @property
    def after(self) -> Floats:
        """Whether the likeliest mark is right without the prior."""
        return self.answers.right(self.answers.logs - self.prior.logs[self.places])

    def parts(self) -> tuple[Floats, NDArray[Any]]:
        """Of each answer with one gold, by mark: whether it is there, right before, right after; and clusters."""
        alone = self.answers.golds.sum(axis=1) == 1
        at = self.places[alone, self.answers.golds[alone].argmax(axis=1)]
        there = np.eye(len(self.prior.logs))[at]
        parts = np.column_stack([there, there * self.before[alone, None], there * self.after[alone, None]])
        return parts, self.answers.rows.get_column("cluster").to_numpy()[alone]


@measure(
    "option-prior",
    "prior of option letters under first-token (PriDe); recall by mark and accuracy before and after its removal",
    {"share": (0.2, "the largest share of the items that the prior may be estimated on")},
    by_tag=False,
)
def option_prior(results: Results, settings: Settings) -> Measured:
    """One row a series, number of options and mark; ``n`` counts items of the estimate, ``tested`` the others.
    Accuracy and ``recall_sd`` (over letters) are the same in all rows of a series.
    """
    parts, notes = _debiased(results, settings)
    rows = []
    for part in parts:
        removed = _removed(part, settings)
        recalls = zip(*_recalls(part.parts()[0].sum(axis=0)[None])[0].tolist(), strict=True)
        for place, (share, (before, after)) in enumerate(zip(part.prior.shares, recalls, strict=True)):
            about = {"mark": mark(part.style, place)} | share.named("prior")
            about |= {"recall": before, "recall_after": after, "n": part.estimated_on}
            rows.append(part.key | about | removed)
    types = dict.fromkeys(("accuracy", "accuracy_after", "recall_sd", "recall_sd_after"), pl.Float64)
    table = table_of(rows, **types)
    return Measured(table.with_columns(pl.col("recall", "recall_after").fill_nan(None)), notes)


def _removed(part: _Debiased, settings: Settings) -> dict[str, Any]:
    of_item = (
        part.answers.rows.select("item", "cluster")
        .with_columns(pl.Series("before", part.before), pl.Series("after", part.after))
        .group_by("item", "cluster", maintain_order=True)
        .agg(pl.col("before", "after").mean())
    )
    pair = compared(of_item, "after", "before", settings.level)
    (parts, clusters), spreads, change = part.parts(), (None, None), NOTHING
    if len(parts):
        spreads = _deviations(parts.sum(axis=0)[None])[0].tolist()
        resampling = (settings.level, settings.resamples, settings.seed)
        change = resampled(parts, clusters, lambda sums: np.diff(_deviations(sums), axis=1)[:, 0], *resampling)
    row = {"accuracy": pair.b, "accuracy_after": pair.a} | pair.gap()
    row |= dict(zip(("recall_sd", "recall_sd_after"), spreads, strict=True)) | change.named("recall_sd_change")
    return row | {"tested": pair.n, "clusters": pair.clusters}


def _deviations(sums: Floats) -> Floats:
    """For each row of sums, the deviation of recall over letters with a gold, before and after."""
    return np.asarray(np.nanstd(_recalls(sums), axis=2))


def _recalls(sums: Floats) -> Floats:
    """For each row of sums the share right at each mark, before and after; nan without a gold there."""
    there, *right = np.split(sums, 3, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([some / there for some in right], axis=1)


def _debiased(results: Results, settings: Settings) -> tuple[list[_Debiased], tuple[str, ...]]:
    """Every series and number of options whose prior can be estimated, and notes."""
    name = "option-prior"
    share = float(settings.own["share"])
    if not 0 < share < 1:
        raise InputError(f"{heading('own', 'share')}: found {short(share)}, expected a share between 0 and 1")
    orders = param("order", "0,1,2,3")
    every = weighed(results, name, (_METHOD,), also=orders)
    every = every.take(~np.isnan(every.logs).all(axis=1))
    varied = ["letters"] if every.rows.get_column("letters").n_unique() > 1 else []
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
    lacking = f"{untold} of {len(parts) + untold} priors are not estimated: fewer than {_FEWEST} {_ORDERED}"
    return told, (lacking,) if untold else ()


def _estimated(key: dict[str, Any], answers: WeighedAnswers, share: float, settings: Settings) -> _Debiased | None:
    """The prior of one series, from at most a share of its items, drawn at random among the reordered ones."""
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
    style = rows.item(0, "letters")
    return _Debiased(key, prior, len(drawn), answers.take(rest), style, shown.argsort(axis=1)[rest])


def _drawn(clusters: pl.Series, turned: Bools, share: float, seed: int) -> Ints:
    """Reordered items, whole clusters at random, no more than a share of all items, or a few."""
    names = clusters.to_numpy()
    there, sizes = np.unique(names[turned], return_counts=True)
    lot = np.random.default_rng(seed).permutation(len(there))
    chosen = there[lot[np.cumsum(sizes[lot]) <= max(share * len(names), _FEWEST)]]
    return np.flatnonzero(turned & np.isin(names, chosen))


MEASURES = (option_prior,)

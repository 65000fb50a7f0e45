"""The prior of option letters (PriDe, Zheng et al. 2024) from reordered items, and accuracy once it is removed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from eyetest.measures.likelihood import WeighedAnswers, weighed
from eyetest.measures.results import NotMeasurable, Results, Settings, split, table_of
from eyetest.measures.stats.intervals import Bools, Ints
from eyetest.measures.stats.likelihoods import MarkPrior, item_terms, mark_prior
from eyetest.measures.tables import compared
from eyetest.records import letter
from eyetest.records.tables import order_of

_METHOD = "first-token"
_FEWEST = 5  # items that a prior is estimated on: with fewer, intervals mean nothing
_SHARE = 0.2  # the largest share of the items that a prior is estimated on
_LACKING = "prior of letters: unknown for {} of {} series; it takes {} items asked with {}+order=0/1/2/3"


def option_priors(results: Results, settings: Settings, keys: Sequence[str]) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """One row a series and place of those asked for the first token: ``prior`` of its letter for the usual number of
    options; accuracy on ``tested`` items before and after priors are removed. Also a note where some are unknown.
    """
    try:
        every = weighed(results, settings.by, _METHOD)
    except NotMeasurable:
        return pl.DataFrame(), ()
    every = every.take(~np.isnan(every.logs).all(axis=1) & (every.rows.get_column("options") > 1).to_numpy())
    found, series = [], list(split(every.rows.with_row_index("number").sort(*keys, "number"), keys))
    for key, rows in series:
        found += _series(key, every.take(np.isin(np.arange(len(every.rows)), rows.get_column("number"))), settings)
    lacking = len(series) - len({tuple(row[name] for name in keys) for row in found})
    note = _LACKING.format(lacking, len(series), _FEWEST, _METHOD)
    return table_of(found) if found else pl.DataFrame(), (note,) if lacking else ()


def _series(key: dict[str, Any], answers: WeighedAnswers, settings: Settings) -> list[dict[str, Any]]:
    """The rows of one series; none where no prior can be estimated."""
    removed, usual, most = [], None, 0
    for options in sorted(answers.rows.get_column("options").unique()):
        part = answers.take((answers.rows.get_column("options") == options).to_numpy())
        prior, tested = _estimated(part, options, settings)
        if prior is not None:
            removed.append(tested)
            if len(part.rows) > most:
                usual, most = prior, len(part.rows)
    if usual is None:
        return []
    pair = compared(pl.concat(removed), "after", "before", settings.level)
    more = {"accuracy": pair.b, "accuracy_after": pair.a, **pair.gap("gained"), "tested": pair.n}
    return [key | {"place": letter(place)} | share.named("prior") | more for place, share in enumerate(usual.shares)]


def _estimated(answers: WeighedAnswers, options: int, settings: Settings) -> tuple[MarkPrior | None, pl.DataFrame]:
    """The prior from a share of the items, drawn at random among the reordered ones; whether the others are right
    ``before`` and ``after`` its removal. Answers of one number of options.
    """
    rows, own = answers.rows, answers.logs[:, :options]
    shown = np.array([order_of(item, options, order) for item, order in rows.select("own_id", "order").iter_rows()])
    logs = np.take_along_axis(own, shown, axis=1)
    items = rows.with_row_index("number").group_by("item", "cluster", maintain_order=True).agg("number")
    numbers = [np.array(of_item) for of_item in items.get_column("number")]
    turned = np.array([len(np.unique(shown[of_item], axis=0)) > 1 for of_item in numbers])
    drawn = _drawn(items.get_column("cluster"), turned, settings.seed)
    if len(drawn) < _FEWEST:
        return None, rows
    terms = np.array([item_terms(logs[numbers[item]], shown[numbers[item]]) for item in drawn])
    prior = mark_prior(terms, settings.resampling(items.get_column("cluster").to_numpy()[drawn]))
    if prior is None:
        return None, rows
    after = answers.logs.copy()
    after[:, :options] -= prior.logs[shown.argsort(axis=1)]
    rest = rows.get_column("score").is_not_null().to_numpy()
    rest[np.concatenate([numbers[item] for item in drawn])] = False
    right = {"before": answers.right(answers.logs), "after": answers.right(after)}
    tested = rows.select("item", "cluster").hstack(pl.DataFrame(right)).filter(rest)
    return prior, tested.group_by("item", "cluster", maintain_order=True).agg(pl.col("before", "after").mean())


def _drawn(clusters: pl.Series, turned: Bools, seed: int) -> Ints:
    """Reordered items, whole clusters at random, no more than a share of all items, or a few."""
    names = clusters.to_numpy()
    there, sizes = np.unique(names[turned], return_counts=True)
    order = np.random.default_rng(seed).permutation(len(there))
    chosen = there[order[np.cumsum(sizes[order]) <= max(_SHARE * len(names), _FEWEST)]]
    return np.flatnonzero(turned & np.isin(names, chosen))

"""The prior of option letters (PriDe, Zheng et al. 2024) from reordered items, and accuracy once it is removed."""

from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import InputError, heading, param, short
from eyetest.measures.likelihood import WeighedAnswers, weighed
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings, measure, split, table_of
from eyetest.measures.stats.intervals import Bools, Floats, Ints
from eyetest.measures.stats.likelihoods import item_terms, mark_prior
from eyetest.measures.tables import compared
from eyetest.records.tables import mark, order_of

_METHOD = "first-token"
_ORDERED = "items with as many options were asked in orders that tell letters apart"
_FEWEST = 5  # items that a prior is estimated on: with fewer, intervals mean nothing


@measure(
    "option-prior",
    "prior of option letters under first-token (PriDe); accuracy before and after its removal",
    {"share": (0.2, "the largest share of the items that the prior may be estimated on")},
    by_tag=False,
)
def option_prior(results: Results, settings: Settings) -> Measured:
    """One row a series, number of options and mark; ``n`` counts items of the estimate, ``tested`` the others."""
    share = float(settings.own["share"])
    if not 0 < share < 1:
        raise InputError(f"{heading('own', 'share')}: found {short(share)}, expected a share between 0 and 1")
    orders = param("order", "0,1,2,3")
    every = weighed(results, "option-prior", (_METHOD,), also=orders)
    every = every.take(~np.isnan(every.logs).all(axis=1))
    varied = ["letters"] if every.rows.get_column("letters").n_unique() > 1 else []
    keys = [*(key for key in results.keys(settings.by) if key != "method"), *varied, "options"]
    found, unknown = [], 0
    for options in sorted(every.rows.get_column("options").unique()):
        alike = every.with_options(options)
        numbered = alike.rows.with_row_index("number")
        for key, rows in split(numbered.sort(*keys, "number"), keys) if options > 1 else ():
            by_mark = _series(key, alike.take(rows.get_column("number").to_numpy()), share, settings)
            found += [by_mark] if by_mark else []
            unknown += not by_mark
    if not found:
        wanted = f"{param('method', _METHOD)} {orders}"
        raise NotMeasurable(f"option-prior: fewer than {_FEWEST} {_ORDERED}; ask some with {wanted}")
    ordered = sorted(found, key=lambda by_mark: [str(by_mark[0][name]) for name in keys[:-1]])
    table = table_of([row for by_mark in ordered for row in by_mark], accuracy=pl.Float64, accuracy_after=pl.Float64)
    lacking = f"{unknown} of {len(found) + unknown} priors are not estimated: fewer than {_FEWEST} {_ORDERED}"
    return Measured(table, (lacking,) if unknown else ())


def _series(key: dict[str, Any], answers: WeighedAnswers, share: float, settings: Settings) -> list[dict[str, Any]]:
    """The rows of one series: its prior from at most a share of its items, drawn at random among the reordered ones,
    and what its removal does to the others. None where it cannot be estimated.
    """
    rows, options = answers.rows, key["options"]
    shown = np.array([order_of(item, options, order) for item, order in rows.select("own_id", "order").iter_rows()])
    logs = np.take_along_axis(answers.logs, shown, axis=1)
    items = rows.with_row_index("number").group_by("item", "cluster", maintain_order=True).agg("number")
    numbers = [np.array(of_item) for of_item in items.get_column("number")]
    turned = [len(np.unique(shown[of_item], axis=0)) > 1 for of_item in numbers]
    drawn = _drawn(items.get_column("cluster"), np.array(turned), share, settings.seed)
    if len(drawn) < _FEWEST:
        return []
    terms = np.array([item_terms(logs[numbers[item]], shown[numbers[item]]) for item in drawn])
    prior = mark_prior(terms, settings.resampling(items.get_column("cluster").to_numpy()[drawn]))
    if prior is None:
        return []
    rest = rows.get_column("score").is_not_null().to_numpy()
    rest[np.concatenate([numbers[item] for item in drawn])] = False
    removed = _removed(answers.take(rest), shown.argsort(axis=1)[rest], prior.logs, settings)
    return [
        key | {"mark": mark(rows.item(0, "letters"), place)} | estimate.named("prior") | {"n": len(drawn)} | removed
        for place, estimate in enumerate(prior.shares)
    ]


def _removed(answers: WeighedAnswers, places: Ints, prior: Floats, settings: Settings) -> dict[str, Any]:
    """Accuracy before and after the prior is removed. ``places``: the mark of each choice."""
    before, after = answers.right(answers.logs), answers.right(answers.logs - prior[places])
    of_item = (
        answers.rows.select("item", "cluster")
        .with_columns(pl.Series("before", before), pl.Series("after", after))
        .group_by("item", "cluster", maintain_order=True)
        .agg(pl.col("before", "after").mean())
    )
    pair = compared(of_item, "after", "before", settings.level)
    return {"accuracy": pair.b, "accuracy_after": pair.a, **pair.gap(), "tested": pair.n, "clusters": pair.clusters}


def _drawn(clusters: pl.Series, turned: Bools, share: float, seed: int) -> Ints:
    """Reordered items, whole clusters at random, no more than a share of all items, or a few."""
    names = clusters.to_numpy()
    there, sizes = np.unique(names[turned], return_counts=True)
    order = np.random.default_rng(seed).permutation(len(there))
    chosen = there[order[np.cumsum(sizes[order]) <= max(share * len(names), _FEWEST)]]
    return np.flatnonzero(turned & np.isin(names, chosen))


MEASURES = (option_prior,)

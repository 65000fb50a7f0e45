"""What a model writes against what it finds likely (ReForm-Eval): the gap, by language backbone, and item by item.

A weak follower of instructions shows what it knows only when its choices are weighed. Pairs are answers to the same
item, put alike as far as both ways can be: where the weighed side varies in wording or order, like goes with like.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from eyetest.errors import param
from eyetest.measures.hits import HIT
from eyetest.measures.means import compared, mean_columns
from eyetest.measures.results import TESTS, Measure, Measured, NotMeasurable, Own, Results, Settings, split, table_of
from eyetest.measures.stats.agreement import Resampling, cohen
from eyetest.measures.three_settings import EVERYBODY
from eyetest.wording import counted

GENERATE = "generate"
WEIGHED = ("likelihood", "first-token")
CELLS = ("both", "only_generated", "only_weighed", "neither")
"""Who is right."""
_BOTH_CHOSE = pl.col("choice").is_not_null() & pl.col("choice_weighed").is_not_null()


class GenerationLikelihood(Measure):
    """Generated answers against weighed ones, of the same model to the same items."""

    name = "generation-likelihood"
    summary = "generation minus likelihood by model and language backbone, and how far both ways choose alike"
    own: ClassVar[Own] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series, tag value and way of weighing; then the models of each backbone, and all, together.

        ``difference`` is generated less weighed. ``same`` is the share of equal choices where both ways have one, and
        ``kappa`` Cohen's; ``unread`` is the share of generated answers without a choice. Beside them, who is right.
        """
        keys = [key for key in results.keys(settings.by) if key != "method"]
        parts = [
            ({"weighed_by": way} | key, part)
            for way in WEIGHED
            for key, part in _parts(_pairs(results, way, keys, settings.by), keys)
        ]
        if not parts:
            wanted = param("method", f"{WEIGHED[0]},{GENERATE}")
            raise NotMeasurable(f"{self.name}: no model has both generated and weighed answers to an item; {wanted}")
        of_item = pl.concat(
            _by_item(part).with_columns(pl.lit(row).alias("row")) for row, (_, part) in enumerate(parts)
        )
        shares = mean_columns(of_item.lazy(), ["row"], ["same", "unread", *CELLS], level=settings.level)
        rows = [
            key | _gap(of_item.filter(pl.col("row") == row), settings.level) | _alike(part, told, settings)
            for row, ((key, part), told) in enumerate(zip(parts, shares.iter_rows(named=True), strict=True))
        ]
        types = dict.fromkeys(("base", *keys), pl.String)
        unknown = all(row["base"] is None for row in rows)
        note = f"no backbones: no model names its language model (base: in models.yaml, with {param('models')})"
        return Measured(table_of(rows, **types), (note,) if unknown else ())


def _pairs(results: Results, way: str, keys: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """A row a pair of answers with scores: ``*keys, item, cluster, base``, and of each side score and choice."""
    words = [*dict.fromkeys((*keys, "benchmark", "model", "item"))]
    method = pl.col("method").cast(pl.String)
    scored = results.with_items("cluster", by=by).drop_nulls("score")
    said = scored.select(
        pl.col(words).cast(pl.String), "cluster", *TESTS, method, pl.col("choice").cast(pl.String), "score"
    )
    weighed = said.filter(method == way).collect(engine="streaming")
    if weighed.is_empty():
        return weighed.with_columns(pl.lit(None, pl.String).alias("base"))
    alike = [axis for axis in TESTS if weighed.get_column(axis).n_unique() > 1]
    on = [*words, *alike]
    generated = said.filter(method == GENERATE).drop(set(TESTS) - set(alike), "method")
    pairs = generated.join(weighed.lazy().select(*on, "choice", "score"), on=on, nulls_equal=True, suffix="_weighed")
    known = pl.DataFrame(
        [(name, entry.base) for name, entry in results.models.items()],
        schema={"model": pl.String, "base": pl.String},
        orient="row",
    )
    return pairs.join(known.lazy(), on="model", how="left").sort(*on).collect(engine="streaming")


def _parts(answers: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The pairs of each model, then of all models of a backbone, then of all models."""
    around = [key for key in keys if key != "model"]
    for key, part in split(answers, ["base", *keys]):
        yield key, part
    for key, part in split(answers, ["base", *around]):
        if key["base"] is not None and (models := part.get_column("model").n_unique()) > 1:
            yield {"base": key["base"], **_in_order(keys, key, counted(models, "model"))}, part
    for key, part in split(answers, around):
        if part.get_column("model").n_unique() > 1:
            yield {"base": None, **_in_order(keys, key, EVERYBODY)}, part


def _in_order(keys: Sequence[str], key: dict[str, Any], model: str) -> dict[str, Any]:
    return {name: model if name == "model" else key[name] for name in keys}


def _by_item(pairs: pl.DataFrame) -> pl.DataFrame:
    """Each item of each model: its tests are averaged; models share its cluster."""
    generated, weighed = (pl.col(name) >= HIT.value for name in ("score", "score_weighed"))
    cells = (generated & weighed, generated & ~weighed, ~generated & weighed, ~generated & ~weighed)
    of_item = pairs.group_by("benchmark", "model", "item", "cluster", maintain_order=True).agg(
        pl.col("score", "score_weighed").mean(),
        (pl.col("choice") == pl.col("choice_weighed")).filter(_BOTH_CHOSE).mean().alias("same"),
        pl.col("choice").is_null().mean().alias("unread"),
        *(cell.mean().alias(name) for name, cell in zip(CELLS, cells, strict=True)),
    )
    return of_item.with_columns(pl.lit(True).alias(f"{name} binary") for name in ("same", "unread", *CELLS))


def _gap(of_item: pl.DataFrame, level: float) -> dict[str, Any]:
    pair = compared(of_item, "score", "score_weighed", level)
    counts = {"n": pair.n, "clusters": pair.clusters, "models": of_item.get_column("model").n_unique()}
    return {"generated": pair.a, "weighed": pair.b} | pair.gap | counts


def _alike(pairs: pl.DataFrame, shares: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    both = pairs.filter(_BOTH_CHOSE)
    resampling = Resampling(both.get_column("cluster"), settings.level, settings.resamples, settings.seed)
    kappa = cohen(both.select("choice", "choice_weighed").rows(), resampling)
    told = [f"same{end}" for end in ("", "_low", "_high")]
    return {name: shares[name] for name in told} | kappa.named("kappa") | {n: shares[n] for n in ("unread", *CELLS)}


MEASURES = (GenerationLikelihood(),)

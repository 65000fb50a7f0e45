"""Measures and filters that have one name count one thing, on whatever a panel answered."""

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from eyetest.filters import FILTERS, Evidence, FilterInput, Seat
from eyetest.measures import MEASURES, Results, Settings
from eyetest.records import ModelEntry, Stage, Verdict
from tests.filters.answers import item, stage
from tests.measures.tables import results

"""Of three samples: more than half."""
MODELS = ("a", "b", "c", "text")
BASES = {"a": "text", "b": "text"}
ITEMS = ("p", "q", "r")
SCORES = st.sampled_from((None, 0.0, 0.4, 0.6, 1.0))
MOST = {"op": ">", "value": 1}


@st.composite
def panels(draw: st.DrawFn, samples: int) -> Results:
    """Every model answers every item so often; some calls fail, some answers are half right."""
    rows: list[dict[str, Any]] = []
    for name in ITEMS:
        for model in MODELS:
            for sample in range(samples):
                score = draw(SCORES)
                rows.append({"item": name, "model": model, "modality": "no-image", "sample": sample, "score": score})
    entries = {name: ModelEntry(spec="scripted:a", base=BASES.get(name)) for name in MODELS}
    return results(rows, [{"item": name, "options": 4, "gold": "A", "position": 0} for name in ITEMS], entries)


def measured(name: str, panel: Results, **own: Any) -> pl.DataFrame:
    defaults = {key: value for key, (value, _) in MEASURES[name].own.items()}
    return MEASURES[name].measure(panel, Settings(own=defaults | own)).table


def judged(screen: Stage, panel: Results, samples: int) -> dict[str, Verdict]:
    received = Evidence(panel.scores.collect(), MODELS, samples)
    seats = [Seat(model, BASES.get(model)) for model in MODELS]
    items = [item(name, 4) for name in ITEMS]
    case = FilterInput(screen, items, received, seats, len(MODELS))
    return {row.item: row for row in FILTERS[screen.filter or screen.grade or ""].judge(case)}


@given(panels(3))
def test_blind_hits(panel: Results) -> None:
    """A model answers an item if more than half of its answers are right, in the measure and in the filter."""
    scored = panel.scores.filter(pl.col("score").is_not_null()).group_by("item", "model").len().collect()
    whole = {row[0] for row in scored.group_by("item").agg(pl.col("len").sum()).rows() if row[1] == 3 * len(MODELS)}
    kept = Results(panel.scores.filter(pl.col("item").is_in(list(whole))), panel.items, panel.models)
    if not whole:
        return
    rule = stage(filter="blind-hits", keep={"hits": {"op": "<=", "value": 2}}, answers=MOST, full_counts=True)
    verdicts = judged(rule, kept, 3)
    table = measured("no-image-hits", kept)
    counts = {hits: sum(verdicts[name].hits == hits for name in whole) for hits in range(len(MODELS) + 1)}
    assert dict(zip(table["hits"], table["items"], strict=True)) == counts

"""Charts with other numbers: which questions are understood, and that their golds can be computed again."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from eyetest_world.editions import NotRenewable, Original
from eyetest_world.editions.chart_questions import read_table, redrawn, understood
from eyetest_world.editions.charts import GENERATOR

from eyetest.benchmarks import Benchmark
from eyetest.records import Item
from world_tests.editions.solving_charts import is_right

FRUIT = "Fruit,Sold in kilograms\nApples,12.5\nPears,30.0\nPlums,7.5\nCherries,22.0\n"
TWO = "Town,Men,Women\nOldby,41%,55%\nNewby,37%,62%\nHighby,52%,48%\n"
Computes = tuple[str, tuple[str, ...]]
QUESTIONS: list[tuple[str, str, str, Computes]] = [
    ("How many kilograms of Pears were sold?", FRUIT, "30", ("value", ("Pears",))),
    ("Which fruit was sold most?", FRUIT, "Pears", ("max", ())),
    ("What is the second largest value?", FRUIT, "22", ("max", ())),
    ("What is the lowest value in the chart?", FRUIT, "7.5", ("min", ())),
    ("What is the difference between Apples and Plums?", FRUIT, "5", ("difference", ("Apples", "Plums"))),
    ("What is the difference between the highest and the lowest value?", FRUIT, "22.5", ("range", ())),
    ("What is the sum of Apples and Pears?", FRUIT, "42.5", ("sum", ("Apples", "Pears"))),
    ("What is the average of all bars?", FRUIT, "18", ("average", ())),
    ("What is the ratio of Pears to Apples?", FRUIT, "2.4", ("ratio", ("Pears", "Apples"))),
    ("How many bars are above 10?", FRUIT, "3", ("above", ())),
    ("Which fruit is below 10?", FRUIT, "Plums", ("below", ())),
    ("Is the value of Pears more than Plums?", FRUIT, "Yes", ("more", ("Pears", "Plums"))),
    ("What percentage of Women in Newby agreed?", TWO, "62", ("value", ("Newby",))),
    ("Which town has the highest share of Men?", TWO, "Highby", ("max", ())),
]


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        ("What is the value of the green bar?", "30"),
        ("Which fruit is in the leftmost bar?", "Apples"),
        ("What is the value?", "30"),
        ("How much did Apples and Pears increase?", "17.5"),
        ("What does the chart show?", "Fruit"),
    ],
)
def test_questions_that_are_left_alone(question: str, gold: str) -> None:
    table = read_table(FRUIT)
    assert table is not None
    assert understood(question, table, (gold,)) is None


def test_new_numbers_keep_range_precision_and_the_whole() -> None:
    for text in (
        FRUIT,
        TWO,
        "Answer,Share\nYes,55.5%\nNo,40%\nNone,4.5%\n",
        "Year,Value\n2001,nan\n2002,5\n2003,9\n",
    ):
        table = read_table(text)
        assert table is not None
        fresh = redrawn(table, Random(1))
        assert fresh != table
        assert (fresh.labels, fresh.series, fresh.decimals) == (table.labels, table.series, table.decimals)
        for series in range(len(table.series)):
            old, new = ([value for _, value in one.column(series)] for one in (table, fresh))
            assert len(old) == len(new) == len(set(new))
            if table.is_whole:
                assert sum(new) == pytest.approx(100)
            else:
                assert min(old) <= min(new) <= max(new) <= max(old)
        assert read_table(fresh.as_csv()) is not None


@pytest.mark.parametrize(("question", "table", "gold", "computes"), QUESTIONS)
def test_what_is_understood_gives_the_golds_of_editions_and_twins(
    question: str, table: str, gold: str, computes: Computes
) -> None:
    read = read_table(table)
    assert read is not None
    program = understood(question, read, (gold,))
    assert program is not None
    assert (program.does, program.rows) == computes
    item = Item(id="1", question=question, references=(gold,), description=table)
    original = Original(item, Path())
    assert GENERATOR.knows(original)
    new, twins = GENERATOR.renew(original, Random(2)), list(islice(GENERATOR.twins(original, Random(2)), 3))
    for one in (new, *twins):
        assert is_right(one.references[0], one.scene)
        assert one.description == one.scene["table"] != table
    assert len({(gold,), *(twin.references for twin in twins)}) == 1 + len(twins) > 1
    assert new == GENERATOR.renew(original, Random(2))


def test_real_charts(real_benchmark: Callable[[str], Benchmark]) -> None:
    """A third of all questions are understood; every twentieth is drawn here."""
    items = list(real_benchmark("chartqa"))
    tables = [read_table(item.tags["table_csv"]) for item in items]
    sure = [
        item
        for item, table in zip(items, tables, strict=True)
        if table and understood(item.question, table, item.references)
    ]
    assert 0.3 * len(items) < len(sure) < 0.4 * len(items)
    drawn = 0
    for item in sure[::20]:
        original = Original(item, Path())
        try:
            twins = islice(GENERATOR.twins(original, Random(item.id)), 2)
            both = (GENERATOR.renew(original, Random(item.id)), *twins)
        except NotRenewable:
            continue
        drawn += 1
        assert all(is_right(one.references[0], one.scene) for one in both)
        assert all(one.tags["table_csv"] == one.scene["table"] and one.tags["image_name"] is None for one in both)
    assert drawn > 0.7 * len(sure[::20])

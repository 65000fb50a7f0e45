"""Which items a query means, counted by hand."""

import re
from pathlib import Path
from typing import Any

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.measures import MEASURES, Settings
from eyetest.measures.results import filters_of, narrowed
from eyetest.pages.item_links import Query, parse_query
from eyetest.records import Asked, Item, Prompt
from eyetest.results.gather import results_of
from eyetest.results.replies import RunReplies
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.studio.app.listing import Address, list_page
from eyetest.studio.collection import Collection
from tests.running.benches import read_scores
from tests.scoring.test_table import make_answers
from tests.scoring.test_table import make_bench as write_bench


def shown(collection: Collection, text: str) -> str:
    """The numbers of the items that a query shows, in order."""
    view = collection.view(parse_query(text))
    return " ".join(row.id.removeprefix("q") for row in collection.rows(view))


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", "0 1 2 3 4 5"),
        ("answer=right:a@image", "0 1 3 4 5"),
        ("answer=wrong:a@image", "2"),
        ("answer=right:a@image&answer=wrong:b@image", "1 3 4"),
        ("answer=refused", "2"),
        ("answer=refused:b", ""),
        ("answer=unparsed", "3"),
        ("answer=failed", "5"),
        ("answer=failed:a@image", ""),
        ("tag.task=birds", "0 1"),
        ("tag.task=birds&tag.year=2021", "1"),
        ("tag.year=2021&tag.year=2025", "1 5"),
        ("gold=B", "4 5"),
        ("difficulty=1", "2"),
        ("difficulty=..0.5", "0 1 3 4 5"),
        ("difficulty=0<..<1", "1 3 4"),
        ("text=frog", "0 1 2 3 4 5"),
        ("text=NUMBER+3", "3"),
        ("text=RUNES+mysterious", "3"),
        ("text=%22mysterious+runes%22", "3"),
        ("text=%22runes+mysterious%22", ""),
        ("text=frog+runes", ""),
        ("id=q3&id=q1", "1 3"),
        ("sort=-tag.year&tag.task=birds", "1 0"),
        ("sort=-difficulty", "2 1 3 4 0 5"),
        ("sort=-blind_right", "0 1 3 4 2 5"),
        ("benchmark=zoo&gold=A", "0 1 2 3"),
        ("answer=asked:a@no-image", "0 1 2 3 4 5"),
        ("answer=scored:a@no-image", "0 1 2 3 4"),
        ("answer=unscored:a@no-image", "5"),
        ("options=3", "0 1 2 3 4 5"),
        ("options=..2", ""),
    ],
)
def test_each_filter_shows_what_a_person_counts(collection: Collection, query: str, numbers: str) -> None:
    assert shown(collection, query) == numbers


def test_an_unknown_name_is_refused_with_the_nearest(collection: Collection) -> None:
    wrong = {"answer=right:bb@image": 'did you mean "b"?', "answer=right:a@imag": 'did you mean "image"?'}
    wrong |= {"answer=right:@caption": "no model was asked 'caption'", "answer=right:c": "no model 'c'"}
    wrong |= {"tag.tusk=birds": 'did you mean "task"?', "sort=-difficult": 'did you mean "difficulty"?'}
    for query, words in wrong.items():
        with pytest.raises(InputError, match=re.escape(words)):
            collection.view(parse_query(query))


def test_counts_and_accuracies_are_of_what_is_shown(collection: Collection) -> None:
    view = collection.view(parse_query("tag.task=beasts"))
    assert view.counts["gold"] == {"A": 2, "B": 2}
    assert view.counts["tag.year"] == {"2022": 1, "2023": 1, "2024": 1, "2025": 1}
    stated = {(one.model, one.condition): one for one in view.accuracy}
    assert {key: (one.value, one.n) for key, one in stated.items()} == {
        ("a", "image"): (0.75, 4),
        ("a", "no-image"): (pytest.approx(1 / 3), 3),
        ("b", "image"): (0.25, 4),
        ("b", "no-image"): (0.25, 4),
    }
    assert stated["a", "no-image"].counts == {"right": 1, "wrong": 2, "refused": 1, "unparsed": 0, "failed": 1}
    assert stated["b", "image"].counts == {"right": 1, "wrong": 3, "refused": 0, "unparsed": 1, "failed": 0}
    nothing = collection.view(parse_query("id=none"))
    assert (len(nothing), nothing.unknown_ids) == (0, ("none",))
    assert {(one.value, one.low, one.high, one.n) for one in nothing.accuracy} == {(None, None, None, 0)}


@pytest.mark.parametrize("where", ["", "task=beasts", "year=2020,2021,2025", "year=2020,2021"])
def test_accuracy_is_what_the_measure_says_of_the_same_items(collection: Collection, zoo: Path, where: str) -> None:
    found = results_of([Run(zoo / "run")], Scorer())
    results = narrowed(found, filters_of(found, [where] if where else []))
    measured = MEASURES["accuracy"].measure(results, Settings()).table
    given = {(row["model"], row["modality"]): row for row in measured.to_dicts()}
    tag, _, values = where.partition("=")
    query = Query(tags=tuple((tag, value) for value in values.split(",") if value))
    for one in collection.view(query).accuracy:
        row = given[one.model, one.condition]
        expected = (row["accuracy"], row["accuracy_low"], row["accuracy_high"], row["n"])
        assert (one.value, one.low, one.high, one.n) == pytest.approx(expected)


def test_several_tests_of_an_item_are_averaged_and_right_is_most_of_them(zoo: Path, tmp_path: Path) -> None:
    replies = ("A", "A", "B"), ("A", "B", "B"), ("A", "B", None)
    said = [
        (Asked(item=f"q{n}", model="m", ask="cot", sample=sample), text)
        for n, texts in enumerate(replies)
        for sample, text in enumerate(texts)
    ]
    collection = Collection([make_answers(tmp_path / "r", said, Benchmark(zoo / "bench")).path])
    assert shown(collection, "answer=right:m@cot") == "0"
    assert shown(collection, "answer=wrong:m") == "1 2"
    assert shown(collection, "answer=failed:m@image") == "2"
    [stated] = collection.view(Query()).accuracy
    assert stated.value == pytest.approx((2 / 3 + 1 / 3 + 1 / 2) / 3)
    assert stated.n == 3
    assert len(collection.item("q0").cases) == 3


def test_rows_come_page_by_page(collection: Collection) -> None:
    view = collection.view(parse_query("sort=-id"))
    assert [row.id for row in collection.rows(view, 2, 2)] == ["q3", "q2"]
    row = collection.rows(view, 0, 1)[0]
    assert (row.id, row.gold, row.images, row.image) == ("q5", "B", 0, None)
    assert (row.difficulty, row.blind_right) == (0.0, 0)


def test_many_numbers_in_a_tag_are_counted_in_disjoint_bins_that_add_up(tmp_path: Path) -> None:
    tags = [{"size": number * 3 - 50.5, "word": f"w{number}"} if number else {} for number in range(100)]
    items = [Item(id=str(n), question="How many?", references=("1",), tags=own) for n, own in enumerate(tags)]
    collection = Collection([write_bench(tmp_path / "b", items).path])
    (facet,) = [one for one in list_page(collection, Address())["facets"] if one["key"].startswith("tag.")]
    values = [(value, count) for value, _, count in facet["values"]]
    assert facet["key"] == "tag.size"
    assert [value for value, _ in values] == ["-50..<0", "0..<50", "50..<100", "100..<150", "150..<200", "200..250"]
    assert sum(count for _, count in values) == 99
    for value, count in values:
        assert len(collection.view(parse_query(f"tag.size={value}"))) == count
    both = collection.view(parse_query("tag.size=-50..<0&tag.size=200..250"))
    assert len(both) == values[0][1] + values[-1][1]
    with pytest.raises(InputError, match="expected LEAST"):
        collection.view(parse_query("tag.size=large"))


@pytest.mark.parametrize(
    "values",
    [
        [10**15 + number for number in range(100)],
        [f"1.{'0' * number}" for number in range(1, 100)],
        [f"{number / 30}e308" for number in range(-50, 51)],
        [f"{number}e-324" for number in range(100)],
    ],
    ids=["close", "equal", "far", "tiny"],
)
def test_numbers_without_distinct_bounds_are_not_counted_in_bins(tmp_path: Path, values: list[int | str]) -> None:
    items = [Item(id=str(n), question="?", references=("1",), tags={"n": value}) for n, value in enumerate(values)]
    assert "tag.n" not in Collection([write_bench(tmp_path / "b", items).path]).everything.counts


def test_numbers_in_tags_are_sorted_as_numbers_and_a_list_counts_once_for_each_value(tmp_path: Path) -> None:
    tags: list[dict[str, Any]] = [{"n": 10, "skills": ["count", "read"]}, {"n": 9, "skills": "['read', 'count']"}]
    tags += [{"n": 100, "skills": ["read"]}, {"n": 1}]
    items = [Item(id=f"q{n}", question="How many?", references=("1",), tags=own) for n, own in enumerate(tags)]
    collection = Collection([write_bench(tmp_path / "b", items).path])
    assert shown(collection, "sort=tag.n") == "3 1 0 2"
    assert collection.everything.counts["tag.skills"] == {"read": 3, "count": 2}
    assert shown(collection, "tag.skills=count") == "0 1"
    assert shown(collection, "tag.skills=count&tag.skills=read") == "0 1 2"
    (facet,) = [one for one in list_page(collection, Address())["facets"] if one["key"] == "tag.skills"]
    assert (facet["several"], facet["values"]) == (True, [("count", "count", 2), ("read", "read", 3)])


def test_a_story_has_everything_that_is_known(collection: Collection) -> None:
    story = collection.item("q3")
    assert (story.item.question, story.unanswered) == ("Which animal is number 3?", 0)
    by_who = {(case.asked.model, case.asked.modality): case for case in story.cases}
    assert by_who["b", "image"].scored.reading == "unparsed"
    right = by_who["b", "no-image"]
    assert (right.scored.choice, right.scored.score, right.scored.span) == ("A", 1.0, (0, 1))
    assert isinstance(right.prompt, Prompt)
    assert "number 3" in right.prompt.messages[-1].text
    assert [story.id for story in collection.stories(["q5", "q0"])] == ["q5", "q0"]
    with pytest.raises(InputError, match="no item 'q9'"):
        collection.item("q9")


def test_a_story_tells_the_score_that_counts_where_a_reply_alone_has_none(tmp_path: Path) -> None:
    """Captions are scored over all of them together."""
    texts = {"x": "a red kite over the sea", "y": "two green frogs on a leaf"}
    items = [Item(id=n, question="What?", references=(text,), tags={"metric": "cider"}) for n, text in texts.items()]
    bench = write_bench(tmp_path / "b", items)
    replies = {"x": "a red kite over the sea", "y": "a ship"}
    run = make_answers(tmp_path / "r", [(Asked(item=n, model="m"), text) for n, text in replies.items()], bench)
    collection = Collection([run.path])
    stored = dict(read_scores(run.path).select("item", "score").iter_rows())
    assert stored["x"] > stored["y"]
    assert {story.id: story.cases[0].scored.score for story in collection.stories(["x", "y"])} == stored


def test_items_on_one_image_or_of_one_group_are_one_cluster(collection: Collection, tmp_path: Path) -> None:
    clusters = collection.answers.clusters
    assert clusters[0] == clusters[1]
    assert len(set(clusters.tolist())) == 5
    groups = {"x": "", "y": "x", "z": "w", "v": "w", "u": ""}
    items = [Item(id=name, question="How?", references=("1",), group=group) for name, group in groups.items()]
    own = Collection([write_bench(tmp_path / "b", items).path]).answers.clusters.tolist()
    assert own[0] == own[1] != own[2] == own[3] != own[4]


def test_what_the_first_page_does_not_show_is_not_read_for_it(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a million items it would take longer than all that is shown."""

    def refuse(*_: object) -> None:
        pytest.fail("it is not shown")

    for where, name in ((RunReplies, "having"), (Collection, "_doubts"), (Collection, "_options")):
        monkeypatch.setattr(where, name, property(refuse) if name == "_options" else refuse)
    contents = list_page(Collection([zoo / "run"]), Address())
    assert [row["id"] for row in contents["rows"]] == [f"q{number}" for number in range(6)]
    bands = {facet["name"]: [items for _, _, items in facet["values"]] for facet in contents["facets"]}
    assert bands["Doubt of the gold"] == [None] * 3

"""Decisions go to a tool's files and come back as they were, and what comes back wrong is refused in one line."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from eyetest.errors import InputError
from eyetest.records import Decision, Turn, columns
from eyetest.studio import exchange
from eyetest.studio.exchange import Expected, label_studio_tasks, labeling_config, read_files, write_files
from eyetest.studio.forms import read_answers
from tests.studio.exchange.material import DECISIONS, FORM, HOSTILE, ITEMS, PLAN, decision, waiting
from tests.support.refusals import refusal
from tests.support.tables import read_csv, write_csv

OUT = ([waiting("c")], DECISIONS)


def test_decisions_come_back_as_they_were(tmp_path: Path) -> None:
    assert write_files(*OUT, PLAN, "csv", tmp_path / "out") == ["queue.csv", "decisions.csv"]
    assert read_files(tmp_path / "out" / "decisions.csv", Expected(ITEMS, PLAN)) == DECISIONS


def test_a_csv_has_all_columns_and_nothing_that_a_spreadsheet_computes(tmp_path: Path) -> None:
    write_files(*OUT, PLAN, "csv", tmp_path / "out")
    rows = read_csv(tmp_path / "out" / "decisions.csv")
    assert tuple(rows[0]) == columns(Decision)
    assert not [
        cell
        for row in rows
        for cell in row.values()
        if cell.lstrip(" \t\n'\"").startswith(("=", "@")) and cell[0] != "'"
    ]
    assert rows[5]["adjudicates"] == "true"


def test_a_queue_that_was_filled_in_is_read(tmp_path: Path) -> None:
    write_files([waiting(item) for item in ITEMS], DECISIONS, PLAN, "csv", tmp_path / "out")
    rows = read_csv(tmp_path / "out" / "queue.csv")
    filled = [
        {"decision": "Fix", "reviewer": "ana", "edit_answer": "A, C", "edit_tags": "core=y", "edit_a": "two"}
        | {"label_level": "<hard>", "label_wrong": "text; a, b"},
        {},
        {
            "decision": "drop",
            "reviewer": "",
            "reason": "the gold is wrong",
            "reason_text": "it is B",
            "time": "2026-03-01 12:00+02:00",
        },
    ]
    both = (row | more for row, more in zip(rows, filled, strict=True))
    read = read_files(write_csv(tmp_path / "filled.csv", both, "utf-8-sig"), Expected(ITEMS, PLAN, {"": "ben"}))
    edits = {"answer": ["A", "C"], "tags": {"core": "y"}, "A": "two"}
    assert read == [
        decision("=1+1", "fix", time="", edits=edits, labels={"level": "<hard>", "wrong": ["text", "a, b"]}),
        decision("c", "drop", "ben", reason="the gold is wrong: it is B"),
    ]


def test_a_labeling_configuration_shows_the_item_and_asks_what_the_form_asks() -> None:
    root = ElementTree.fromstring(labeling_config([waiting("=1+1", images=("p",)), waiting("naïve/数 2")], FORM))
    controls = {tag.get("name"): tag for tag in root.iter() if tag.get("toName")}
    assert list(controls) == [
        *("decision", "reason", "reason_text", "edit_question"),
        *("edit_a", "edit_b", "edit_c", "edit_answer", "edit_tags"),
        *("label_level", "label_wrong", "label_remark", "comment"),
    ]
    assert [one.get("value") for one in controls["label_level"]] == ["easy & light", "<hard>"]
    assert controls["label_wrong"].get("choice") == "multiple"
    shown = [tag.get("name") for tag in root.iter("Text")]
    assert shown == ["question", "options", "gold", "evidence"]
    names = {value[1:] for tag in root.iter() for value in tag.attrib.values() if value.startswith("$")}
    tasks = label_studio_tasks([waiting("=1+1"), waiting("naïve/数 2")], PLAN)
    assert all(names <= task["data"].keys() for task in tasks)


def test_what_was_asked_before_is_shown_and_only_the_question_is_edited() -> None:
    item = msgspec.structs.replace(ITEMS["c"], hint="Look.", history=(Turn("And before?", "that"),))
    (task,) = label_studio_tasks([waiting("c")._replace(item=item)], PLAN)
    assert task["data"]["question"] == "And before?\n→ that\n\nLook.\n\nWhich?"
    assert task["data"]["edit_question"] == "Which?"


def test_a_reviewer_who_solves_sees_no_gold() -> None:
    form, blind = msgspec.structs.replace(FORM, solve=True), [waiting(item) for item in ("=1+1", "naïve/数 2")]
    tasks = label_studio_tasks(blind, msgspec.structs.replace(PLAN, form=form))
    stated = json.dumps([labeling_config(blind, form), tasks])
    assert '"edit_answer": ""' in stated
    assert "[0, 1)" not in stated
    assert "$gold" not in stated
    assert 'name=\\"solved\\"' in stated


def region(name: str, kind: str, *values: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": "question", "type": kind, "value": {kind: list(values)}}


def annotated(*regions: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    """The task of an item with one annotation."""
    task = label_studio_tasks([waiting("=1+1")], PLAN)[0]
    stated = {"result": list(regions), "completed_by": 3, "created_at": "2026-03-01T10:00:00Z", "lead_time": 4.5}
    return [task | {"id": 11, "annotations": [stated | more]}]


def read_tasks(tasks: Any, folder: Path) -> list[Decision]:
    (folder / "tasks.json").write_bytes(msgspec.json.encode(tasks))
    return read_files(folder / "tasks.json", Expected(ITEMS, PLAN))


def test_an_annotation_that_leaves_texts_as_they_stand_edits_nothing(tmp_path: Path) -> None:
    prefilled = label_studio_tasks([waiting("=1+1")], PLAN)[0]["data"]
    left = [region(name, "text", text) for name, text in prefilled.items() if name.startswith("edit_") and text]
    assert len(left) == 5
    chosen = [region("decision", "choices", "keep"), region("label_level", "choices", "<hard>")]
    assert read_tasks(annotated(*chosen, *left), tmp_path) == [
        decision("=1+1", "keep", "3", labels={"level": "<hard>"})
    ]
    fixed = [region("decision", "choices", "fix"), *chosen[1:], *left[:-1], region("edit_answer", "text", "C")]
    assert read_tasks(annotated(*fixed), tmp_path)[0].edits == {"answer": "C"}
    assert read_tasks(annotated(*fixed, was_cancelled=True), tmp_path) == []


@pytest.mark.parametrize(
    ("item", "name", "text", "edits"),
    [
        ("=1+1", "edit_tags", "core=x=y\nn=3", {"tags": {"core": "x=y", "n": "3"}}),
        ("=1+1", "edit_tags", "core=", {"tags": {"core": ""}}),
        ("=1+1", "edit_answer", "A, C", {"answer": ["A", "C"]}),
        ("naïve/数 2", "edit_answer", "a\nb", {"answer": ["a", "b"]}),
        ("=1+1", "edit_question", f"Better? {HOSTILE}", {"question": f"Better? {HOSTILE}".strip()}),
    ],
)
def test_edits_are_read_as_they_were_meant(item: str, name: str, text: str, edits: dict[str, Any]) -> None:
    assert read_answers({"decision": "fix", name: text}, ITEMS[item], FORM).edits == edits


KEEP = (region("decision", "choices", "keep"), region("label_level", "choices", "<hard>"))
FIX = (region("decision", "choices", "fix"), region("label_level", "choices", "<hard>"))
WRONG_TASKS: list[tuple[Callable[[], Any], str]] = [
    (lambda: [{"data": {"text": "hello"}, "annotations": []}], "task 1: it does not say which item it is about"),
    (lambda: {"tasks": []}, "neither CSV nor an export of Label Studio"),
    (lambda: [{"id": 1, "annotator": 1, "decision": "keep"}], "nor an export of Label Studio in its format JSON"),
    (lambda: annotated(*KEEP[1:]), "task 1, annotation 1: decision: nothing is decided"),
    (
        lambda: annotated(region("decision", "choices", "dorp")),
        r"annotation 1: decision: found 'dorp'; did you mean \"drop\"",
    ),
    (lambda: annotated(region("decision", "choices", "keep", "drop")), "decision: found 2 answers, expected one"),
    (lambda: annotated(KEEP[0]), "level: How hard. This has to be answered"),
    (
        lambda: annotated(KEEP[0], region("label_level", "choices", "hard")),
        r'level: no value "hard"; did you mean \"<hard>\"',
    ),
    (lambda: annotated(*KEEP, region("box", "text", "x")), "'box' is not asked here"),
    (lambda: annotated(*KEEP, region("edit_a", "text", "x")), "only a fix changes an item, and this is keep"),
    (lambda: annotated(*FIX, region("edit_answer", "text", "F")), "an answer is one of A, B, C, not 'F'"),
    (
        lambda: annotated(*FIX, region("edit_tags", "text", "x")),
        "edit_tags: found 'x', expected lines like name=value",
    ),
    (lambda: annotated(*KEEP, region("comment", "text", "x" * 10_001)), "comment: 10,001 characters; at most 10,000"),
    (lambda: annotated(*FIX, region("edit_a", "text", "x" * 200_000)), "edits: 200,00. characters; at most 200,000"),
    (lambda: msgspec.Raw(b"[" * 100_000 + b"]" * 100_000), "neither CSV nor an export of Label Studio"),
    (lambda: msgspec.Raw(b'[{"data": {"eyetest": {"item": "\\ud800"}}}]'), "neither CSV nor"),
    (lambda: annotated(*KEEP, {"from_name": "comment", "value": {"text": [1]}}), "'comment': found"),
    (lambda: annotated(*KEEP, created_at="yesterday"), "time: found 'yesterday'"),
    (lambda: annotated(*KEEP, completed_by={"email": "x" * 61}), "reviewer: found 'xxx"),
    (lambda: annotated(*KEEP, completed_by=None), "reviewer: no name; name the reviewer with --reviewer NAME"),
    (lambda: changed(item="d"), "task 1: no item 'd' in this review"),
    (lambda: changed(fingerprint="cd"), "about another state of the benchmark: 'cd'"),
]


def changed(**values: Any) -> Any:
    tasks = annotated(*KEEP)
    tasks[0]["data"]["eyetest"] |= values
    return tasks


@pytest.mark.parametrize(("tasks", "stated"), WRONG_TASKS, ids=[stated for _, stated in WRONG_TASKS])
def test_an_export_that_is_wrong_is_refused_in_one_line(
    tasks: Callable[[], Any], stated: str, tmp_path: Path
) -> None:
    line = refusal(read_tasks, tasks(), tmp_path)
    assert re.match(f"{re.escape(str(tmp_path / 'tasks.json'))}.*{stated}", line)


WRONG_LINES = {
    "item,decision\nd,keep\n": "line 2 .d.: no item 'd'",
    "item,decision,reviewer,labels\nc,keep,ana,{}\n": "line 2 .c.: level: How hard. This has to be answered",
    'item,decision,reviewer,edits\nc,drop,ana,"{""A"": ""x""}"\n': "line 2 .c.: edits: only a fix",
    "item,decision\nc,drop\n": "line 2 .c.: reviewer: no name",
    "item,decision,reviewer\nc,drop,ana,much,more\n": "line 2: more cells than columns; the first too many is 'much'",
    "item,decision,reviewer,label_leval\nc,keep,ana,<hard>\n": "line 2 .c.: 'label_leval' is not asked here",
    "item,decision,reviewer,time\nc,drop,ana,noon\n": "line 2 .c.: time: found 'noon'",
}


@pytest.mark.parametrize("text", list(WRONG_LINES), ids=list(WRONG_LINES.values()))
def test_a_table_that_is_wrong_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=f"x.csv.*{WRONG_LINES[text]}"):
        read_files(tmp_path / "x.csv", Expected(ITEMS, PLAN))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "LARGEST", 10)
    with pytest.raises(InputError, match="at most 0 MB are read"):
        read_tasks(annotated(*KEEP), tmp_path)

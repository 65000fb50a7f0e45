"""Files of other tools as accounts: whose verdict it is, what was read, what is right."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from eyetest.errors import InputError
from eyetest.records import Choice, Item
from eyetest.results.reconcile import Credit
from eyetest.results.reconcile_sides import FileSide, account_of_file
from tests.conftest import ROOT
from tests.runs.written import jsonl

EXAMPLES = ROOT / "docs/examples/reconcile"


def credits_of(path: Path, items: dict[str, Item] | None = None, **more: Any) -> dict[str, Credit]:
    return {credit.item: credit for credit in account_of_file(FileSide(path, **more), items).credits}


def test_vlmevalkits_log_says_who_decided() -> None:
    found = credits_of(EXAMPLES / "vlmevalkit.tsv")
    assert {item: found[item].reader for item in ("0", "3", "4", "5")} == {
        "0": "rules",
        "3": "none",
        "4": "guess",
        "5": "judge",
    }
    assert found["3"].failed
    assert (found["1"].reading, found["1"].shown, found["1"].gold, found["1"].options) == (None, "not C", "C", 4)
    assert found["8"].score == 1


def test_lmms_evals_verdict_holds_reading_and_gold() -> None:
    found = credits_of(EXAMPLES / "lmms_eval.jsonl")
    assert (found["2"].reading, found["2"].gold, found["2"].score) == ("C", "D", Fraction(0))
    assert found["2"].text == found["2"].words


def test_rules_read_a_files_own_options() -> None:
    found = credits_of(EXAMPLES / "vlmevalkit.tsv", rules="eyetest")
    assert found["1"].reading == "C"
    assert (found["3"].failed, found["3"].score) == (True, None)
    assert found["5"].reader == "none"


def test_positions_are_joined_by_the_benchmark(tmp_path: Path) -> None:
    items = {name: Item(id=name, question="?", choices=(Choice("cat", True), Choice("dog"))) for name in ("x", "y")}
    path = jsonl(tmp_path / "s.jsonl", {"doc_id": 1, "resps": [["(B)"]], "target": 1, "exact_match": 1.0})
    found = credits_of(path, items)
    assert (found["y"].gold, found["y"].reading, found["y"].score) == ("B", "B", Fraction(1))
    far = jsonl(tmp_path / "far.jsonl", {"doc_id": 7, "resps": [["B"]], "exact_match": 1.0})
    with pytest.raises(InputError, match="row 1: doc_id 7 is past the end of the benchmark"):
        credits_of(far, items)


def test_partial_credit_and_texts(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "t.jsonl", {"id": "q", "output": "a red bus", "score": 0.6, "answer": "red bus"})
    found = credits_of(path)["q"]
    assert (found.score, found.gold, found.options) == (Fraction(0.6), "red bus", 0)


def test_what_is_not_clear_has_to_be_said(tmp_path: Path) -> None:
    two = jsonl(tmp_path / "two.jsonl", {"doc_id": 0, "resps": [["B"]], "acc": 1, "acc_norm": 0})
    with pytest.raises(InputError, match=r"several metrics \(acc, acc_norm\)"):
        credits_of(two)
    assert credits_of(two, fields=["given=acc_norm"])["0"].score == 0
    nameless = jsonl(tmp_path / "nameless.jsonl", {"said": "B", "hit": 1})
    with pytest.raises(InputError, match="no column for the item"):
        credits_of(nameless)
    with pytest.raises(InputError, match='no column "name"'):
        credits_of(nameless, fields=["item=name"])
    with pytest.raises(InputError, match='no field "row"'):
        credits_of(nameless, fields=["row=said"])


def test_only_some_rows(tmp_path: Path) -> None:
    rows = [{"id": n, "model": "ab"[n % 2], "hit": 1, "setting": "cot" if n > 3 else "direct"} for n in range(8)]
    path = jsonl(tmp_path / "r.jsonl", *rows)
    assert set(credits_of(path, model=["a"], where=[("setting", ["cot"])])) == {"4", "6"}
    with pytest.raises(InputError, match="no rows of that kind"):
        credits_of(path, model=["c"])

"""Files of other tools as sides: imported, counted by their own scores or by rules."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import eyetest as et
from eyetest.errors import InputError
from eyetest.results.reconcile import Credit
from tests.conftest import ROOT
from tests.runs.written import jsonl
from tests.scoring.test_table import animals, make_bench

EXAMPLES = ROOT / "docs/examples/reconcile"
THEIRS, BENCH = EXAMPLES / "vlmevalkit.tsv", EXAMPLES / "animals.tsv"


def credits_of(path: Path, bench: Path = BENCH, **more: Any) -> dict[str, Credit]:
    found = et.reconcile(path, 0.5, bench=bench, **more).found
    return {credit.item: credit for credit in found.a.credits}


def test_own_scores_count_also_those_of_failed_calls() -> None:
    found = credits_of(THEIRS)
    assert {credit.reader for credit in found.values()} == {"unknown"}
    assert (found["3"].failed, found["3"].score) == (True, Fraction(0))
    assert (found["1"].reading, found["1"].shown, found["1"].gold, found["1"].options) == (None, "not C", "C", 4)
    assert found["8"].score == 1


def test_rules_read_the_same_replies() -> None:
    found = credits_of(THEIRS, rules_a="eyetest")
    assert found["1"].reading == "C"
    assert (found["3"].failed, found["3"].score) == (True, None)
    assert found["5"].reader == "none"


def test_two_files_about_one_benchmark() -> None:
    found = et.reconcile(THEIRS, EXAMPLES / "lmms_eval.jsonl", bench=BENCH)
    causes = dict(found.frame.select("cause", "rows").rows())
    assert causes == {"reading": 5, "errors": 1, "truncated": 1, "dropped": 1}
    assert sum(share.points for share in found.found.shares) == Fraction(4, 11) - Fraction(10, 12)


def test_what_is_not_clear_has_to_be_said(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench", [animals(str(n), 1) for n in range(8)]).path
    two = jsonl(tmp_path / "two.jsonl", {"doc_id": 0, "resps": [["B"]], "acc_a": 1, "acc_b": 0})
    with pytest.raises(InputError, match="no column for its scores; name it with --map"):
        credits_of(two, bench)
    assert credits_of(two, bench, map=["given=acc_b"])["0"].score == 0
    far = jsonl(tmp_path / "far.jsonl", {"doc_id": 9, "resps": [["B"]], "exact_match": 1.0})
    with pytest.raises(InputError, match="line 1: doc_id 9 is past the end of the benchmark"):
        credits_of(far, bench)
    nameless = jsonl(tmp_path / "nameless.jsonl", {"said": "B", "hit": 1})
    with pytest.raises(InputError, match="no column for the item"):
        credits_of(nameless, bench)
    with pytest.raises(InputError, match='no field "row"'):
        credits_of(nameless, bench, map=["row=said"])
    with pytest.raises(InputError, match="does not say what benchmark it is about"):
        et.reconcile(THEIRS, 0.5)


def test_only_some_rows(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench", [animals(str(n), 1) for n in range(8)]).path
    rows = [{"id": n, "model": "ab"[n % 2], "hit": 1, "ask": "cot" if n > 3 else "direct"} for n in range(8)]
    path = jsonl(tmp_path / "r.jsonl", *rows)
    assert set(credits_of(path, bench, model=["a"], where={"ask": "cot"})) == {"4", "6"}
    with pytest.raises(InputError, match="no answers of 'c'"):
        credits_of(path, bench, model=["c"])

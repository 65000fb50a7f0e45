"""Judges: what they are asked, how often they agree with the rules, and that nothing is asked twice."""

import sys
from pathlib import Path

import polars as pl
import pytest
import yaml

from eyetest.benchmarks import Benchmark
from eyetest.measures.stats.intervals import wilson
from eyetest.models.specs import parse_models
from eyetest.records import Asked
from eyetest.results.forms import form_lines, list_forms, write_forms
from eyetest.results.judge import Judge, JudgeAgreement, JudgeOutcome, judge_run
from eyetest.results.scores import choose_scoring, chosen_scorer, read_provenance, score_run, table_path
from eyetest.runs import Run
from eyetest.runs.stored import scan_table
from eyetest.scoring import Scorer
from eyetest.scoring.forms import FormDecisions, read_decisions
from tests.scoring.test_table import animals, make_answers, make_bench

ITEMS = 12


@pytest.fixture
def bench(workdir: Path) -> Benchmark:
    return make_bench(workdir / "b", [animals(f"q{n}", 1, question=f"Which is {n}?") for n in range(ITEMS)])


@pytest.fixture
def run(tmp_path: Path, bench: Benchmark) -> Run:
    """Eight plain letters, two replies that choose nothing, and two that may be read in two ways."""
    texts = [
        *(["B"] * 8),
        "Hm.",
        "Well, well.",
        "I see a cat and a dog, both are there.",
        "A cat, a dog, a fish: maybe.",
    ]
    return make_answers(
        tmp_path / "r", [(Asked(item=f"q{n}", model="m"), text) for n, text in enumerate(texts)], bench
    )


def judged(
    run: Run, bench: Benchmark, scorer: Scorer, spec: str = "wise=scripted:right=1", sample: int = 100
) -> JudgeOutcome:
    (entry,) = parse_models([spec]).items()
    score_run(Run(run.path), bench, scorer)
    return judge_run(Run(run.path), bench, scorer, Judge(*entry, sample=sample))


def scores(run: Run, bench: Benchmark, scorer: Scorer) -> pl.DataFrame:
    return scan_table(table_path(run, bench, scorer)).collect()


def test_a_judge_reads_what_is_unread_and_a_sample_of_what_is_sure(run: Run, bench: Benchmark) -> None:
    outcome = judged(run, bench, Scorer())
    assert (outcome.read, outcome.unread) == (2, 2)
    assert outcome.agreement is not None
    assert outcome.agreement.share.n == 8
    assert outcome.progress.to_ask == 10
    found = scores(run, bench, Scorer())
    assert found.filter(pl.col("rule").str.ends_with("judge"))["item"].to_list() == ["q8", "q9"]
    assert found.filter(pl.col("item") == "q8")["probability"].to_list() == [None]
    assert found.filter(pl.col("item") == "q0")["rule"].item().endswith("whole reply"), "the sample stays as read"
    again = judged(run, bench, Scorer())
    assert (again.progress.to_ask, again.progress.stored) == (0, 10)
    assert again.agreement == outcome.agreement


def test_the_sample_is_limited_and_always_the_same(run: Run, bench: Benchmark) -> None:
    few = judged(run, bench, Scorer(), sample=3)
    assert few.agreement is not None
    assert few.agreement.share.n == 3
    assert judged(run, bench, Scorer(), sample=3).progress.to_ask == 0
    none = judged(run, bench, Scorer(), sample=0)
    assert none.agreement is None
    assert none.progress.to_ask == 0


def test_a_threshold_hands_doubtful_replies_to_the_judge(run: Run, bench: Benchmark) -> None:
    scorer = Scorer(sure=0.9)
    score_run(Run(run.path), bench, scorer)
    assert scores(run, bench, scorer).filter(pl.col("reading") == "unparsed").height == 4
    assert judged(run, bench, scorer).unread == 4


def test_what_a_person_confirmed_is_not_asked(run: Run, bench: Benchmark) -> None:
    assert judged(run, bench, Scorer(forms=FormDecisions({"hm": "read"}))).unread == 1


def test_the_sample_holds_no_reply_that_a_person_confirmed(run: Run, bench: Benchmark) -> None:
    outcome = judged(run, bench, Scorer(forms=FormDecisions({"[mark]": "read"})))
    assert outcome.agreement is None
    assert outcome.progress.to_ask == 2


def test_the_sample_of_a_second_judge_holds_no_reading_of_the_first(run: Run, bench: Benchmark) -> None:
    judged(run, bench, Scorer())
    (entry,) = parse_models(["second=scripted:right=1"]).items()
    outcome = judge_run(Run(run.path), bench, Scorer(), Judge(*entry))
    assert outcome.agreement is not None
    assert outcome.agreement.share.n == 8


def test_the_agreement_is_in_words_and_in_the_provenance(run: Run, bench: Benchmark) -> None:
    outcome = judged(run, bench, Scorer())
    made = read_provenance(table_path(run, bench, Scorer()))
    assert made is not None
    assert outcome.agreement is not None
    assert made.agreement == outcome.agreement.text
    assert outcome.as_json()["agreement_low"] == outcome.agreement.share.low


def test_a_judge_that_disagrees_is_a_warning() -> None:
    good, bad = (JudgeAgreement(hits, wilson(hits, 100)) for hits in (97, 80))
    assert good.text == "agrees with the rules on 97 of 100 [92, 99]"
    assert not good.is_low
    assert not good.is_open
    assert bad.is_low
    assert not bad.is_open


@pytest.mark.parametrize(("agreed", "sample"), [(2, 2), (20, 20), (90, 100)])
def test_a_sample_that_is_too_small_to_tell_is_no_warning(agreed: int, sample: int) -> None:
    agreement = JudgeAgreement(agreed, wilson(agreed, sample))
    assert not agreement.is_low
    assert agreement.is_open


def test_a_judge_that_reads_nothing_agrees_with_nothing(run: Run, bench: Benchmark) -> None:
    outcome = judged(run, bench, Scorer(), "poor=scripted:right=0")
    assert outcome.agreement is not None
    assert outcome.agreement.agreed < 8
    assert outcome.agreement.is_low


def test_forms_of_a_run_are_listed_decided_and_applied(run: Run, bench: Benchmark, tmp_path: Path) -> None:
    path = score_run(Run(run.path), bench, Scorer())
    forms = list_forms(run, bench, path, FormDecisions())
    first = forms.row(0, named=True)
    assert (first["form"], first["replies"], first["chosen"], first["unread"]) == ("[mark]", 8, 8, 0)
    assert first["example"] == "B"
    assert forms.row(-1, named=True)["form"] == "", "replies that are like no others"
    assert forms["replies"].sum() == ITEMS
    (line,) = form_lines(forms)
    assert line.startswith('8 replies are "[mark]": 8 chosen, 0 unread by whole reply, right with probability 1.00')
    write_forms(forms, tmp_path / "forms.yaml")
    text = (tmp_path / "forms.yaml").read_text()
    assert read_decisions(tmp_path / "forms.yaml") == FormDecisions({})
    (tmp_path / "forms.yaml").write_text(text.replace("decision: null", "decision: unread"))
    scorer = Scorer(forms=read_decisions(tmp_path / "forms.yaml"), sure=0.5)
    path = score_run(Run(run.path), bench, scorer)
    assert path.name == f"eyetest.sure-0_5.forms-{scorer.forms.fingerprint}.parquet"
    assert scan_table(path).collect().filter(pl.col("reading") == "chosen").is_empty()
    made = read_provenance(path)
    assert made is not None
    assert (made.sure, made.forms) == (0.5, scorer.forms.fingerprint)
    choose_scoring(run, scorer, None)
    chosen = chosen_scorer(Run(run.path))
    assert (chosen.sure, chosen.forms) == (scorer.sure, scorer.forms)
    decided = list_forms(run, bench, path, scorer.forms).row(0, named=True)
    assert (decided["decision"], decided["chosen"], decided["unread"]) == ("unread", 0, 8)


WORDS = ("brown", "small", "wet", "old", "young", "quiet", "fast")


def _listed_run(workdir: Path, tmp_path: Path, texts: list[str]) -> tuple[Run, Benchmark]:
    """A run with these replies, one to a question."""
    bench = make_bench(workdir / "many", [animals(f"q{n}", 1, question=f"Which is {n}?") for n in range(len(texts))])
    answers = [(Asked(item=f"q{n}", model="m"), text) for n, text in enumerate(texts)]
    return make_answers(tmp_path / "many-r", answers, bench), bench


def test_a_decision_holds_for_the_replies_that_are_counted_under_the_form(workdir: Path, tmp_path: Path) -> None:
    texts = ["The answer is A."] * 30
    texts += [f"The answer is {WORDS[n % 7]} {WORDS[n % 5]} {n}, a {WORDS[n % 3]} {n} dog {n}" for n in range(10)]
    run, bench = _listed_run(workdir, tmp_path, texts)
    path = score_run(run, bench, Scorer())
    forms = list_forms(run, bench, path, FormDecisions())
    counts = {row["form"]: (row["replies"], row["shared_by"]) for row in forms.iter_rows(named=True)}
    assert counts == {"the answer is [mark]": (30, 30), "the answer is …": (10, 40)}
    write_forms(forms, tmp_path / "forms.yaml")
    entries = yaml.safe_load((tmp_path / "forms.yaml").read_text())
    entries[1]["decision"] = "unread"
    (tmp_path / "forms.yaml").write_text(yaml.safe_dump(entries, allow_unicode=True))
    scorer = Scorer(forms=read_decisions(tmp_path / "forms.yaml"))
    decided = score_run(Run(run.path), bench, scorer)
    assert scan_table(decided).collect().filter(pl.col("reading") == "unparsed").height == 10
    again = list_forms(run, bench, decided, scorer.forms)
    assert again["form"].to_list() == ["the answer is [mark]", "the answer is …"]
    assert again["unread"].to_list() == [0, 10]
    assert again["decision"].to_list() == [None, "unread"]
    choose_scoring(run, scorer, None)
    assert chosen_scorer(Run(run.path)).forms == scorer.forms


def test_the_file_holds_small_forms_whose_replies_have_a_large_one(
    workdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[list_forms.__module__], "_LISTED", 1)
    texts = [f"It is {WORDS[n % 7]} {WORDS[n % 5]} {WORDS[n % 3]}, {n} by {n} {WORDS[n % 4]} here" for n in range(14)]
    texts += [f"It is {WORDS[n % 7]} {WORDS[n % 5]} {n} {WORDS[n % 3]} {n}, I would choose this B" for n in range(10)]
    texts += ["Hm hm"] * 5
    run, bench = _listed_run(workdir, tmp_path, texts)
    forms = list_forms(run, bench, score_run(run, bench, Scorer()), FormDecisions())
    write_forms(forms, tmp_path / "forms.yaml")
    entries = yaml.safe_load((tmp_path / "forms.yaml").read_text())
    listed = {entry["form"]: entry["replies"] for entry in entries}
    assert listed == {"it is …": 14, "… [number] i would choose this [mark]": 10}
    assert "hm hm" in forms["form"].to_list()

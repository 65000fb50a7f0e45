"""``score``, ``explain``, ``reconcile``: what they print for people and programs, and what they refuse."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.records import Asked, Item, Score, columns
from eyetest.runs import read_responses
from eyetest.scoring import RULE_SETS
from tests.conftest import ROOT
from tests.running.benches import read_scores
from tests.scoring.test_table import CAPTIONS, SAID, Reply, animals, make_answers, make_bench
from tests.support.command import call

pytestmark = pytest.mark.journey

REFUSAL = "I'm sorry, but I cannot see an image."
HOSTILE = "\x1b[2J\x1b]0;title\x07[bold]A[/bold]\x9b5m\u202e [link=file:///x]B[/link] \x00\r\n\x7f🐟"
DANGEROUS = set("\x1b\x9b\x07\u202e\x00\x7f\r")


@pytest.fixture
def bench(workdir: Path) -> Benchmark:
    items = [animals(f"q{n}", 1, question=f"Which is {n}?") for n in range(8)]
    return make_bench(workdir / "b", [*items, Item(id="t", question="What is it?", references=("dog",))])


def write_run(path: Path, bench: Benchmark | None, said: Mapping[str, Reply]) -> Path:
    return make_answers(path, [(Asked(item=item, model="m"), reply) for item, reply in said.items()], bench).path


@pytest.fixture
def run(tmp_path: Path, bench: Benchmark) -> Path:
    """One answer of each kind."""
    replies: dict[str, Reply] = {
        "q0": "A dog",
        "q1": "b",
        "q2": "Hm.",
        "q3": REFUSAL,
        "q4": "It could be A or B, both are equally possible.",
        "q5": {"text": "", "outcome": "blocked"},
        "q6": {"text": "", "outcome": "failed", "error": "timeout", "detail": "no answer in 60 s"},
        "q7": {"text": "unknown", "given": 0.25},
        "t": "It is a dog.",
    }
    return write_run(tmp_path / "r", bench, replies)


def test_score_warns_of_unread_answers_as_every_command_does_that_prints_a_score(
    run: Path, bench: Benchmark, tmp_path: Path
) -> None:
    for words in (("score", "r"), ("measure", "accuracy", "r")):
        notes = json.loads(call(*words, "--output", "json").fine())["notes"]
        (warning,) = [note for note in notes if "not read" in note]
        assert warning.startswith(
            "more than 5 % of answers were not read (refused, ambiguous, cut off, unparsed: wrong"
        )
    assert "more than 5 % of answers were not read" in " ".join(call("score", "r").fine().split())
    write_run(tmp_path / "fine", bench, {"q0": "A dog", "q1": "b"})
    assert "not read" not in call("score", "fine").fine()


def test_a_metric_that_reads_no_conclusion_says_how_many_long_replies_it_compared(run: Path, tmp_path: Path) -> None:
    items = [Item(id=f"t{n}", question="How many?", references=("4",)) for n in range(4)]
    bench = make_bench(tmp_path / "open", items)
    long = "There are two dogs on the left of the picture and two more on the right, behind the fence and the tree. "
    write_run(tmp_path / "chains", bench, {item.id: f"{long}The answer is 4." for item in items})
    said = json.loads(call("score", "chains", "--metric", "relaxed-chartqa", "--output", "json").fine())
    assert (said["groups"][0]["mean"], len(said["notes"])) == (0.0, 1)
    assert said["notes"][0].startswith("4 of 4 replies that relaxed-chartqa compared as a whole are longer than 100")
    assert "4 of 4 replies that relaxed-chartqa" in call("measure", "accuracy", "chains").fine()
    said = json.loads(call("score", "chains", "--metric", "relaxed", "--output", "json").fine())
    assert (said["groups"][0]["mean"], said["notes"]) == (1.0, [])


def test_score_says_the_means_and_what_stood_in_their_way(run: Path) -> None:
    reported = json.loads(call("score", "r", "--output", "json").fine())
    assert reported["scores"] == "r/scores/eyetest.parquet"
    assert reported["left_out"] == 0
    none = dict.fromkeys(("refused", "ambiguous", "cut off", "unparsed", "blocked", "failed"), 0)
    common = {"model": "m", "modality": "image", "ask": "direct", "overall": None} | none
    assert reported["groups"] == [
        common
        | {"metric": "accuracy", "mean": pytest.approx(2 / 6), "scored": 6}
        | {"refused": 1, "ambiguous": 1, "unparsed": 1, "blocked": 1, "failed": 1},
        common | {"metric": "given", "mean": 0.25, "scored": 1, "unparsed": 1},
        common | {"metric": "open", "mean": 1.0, "scored": 1},
    ]
    text = call("score", "r").fine()
    header, accuracy, given, texts, where, unread, mixed, anew = text.strip().splitlines()
    assert "more than 5 % of answers were not read" in unread
    assert anew == "note: --rescore-given scores answers that came with a score by these rules"
    assert header.split() == [
        *("model", "modality", "ask", "metric", "mean", "scored"),
        *("refused", "ambiguous", "unparsed", "blocked", "failed"),
    ]
    assert accuracy.split() == ["m", "image", "direct", "accuracy", "0.333", "6", "1", "1", "1", "1", "1"]
    assert given.split()[3:6] == ["given", "0.250", "1"]
    assert texts.split()[3:6] == ["open", "1.000", "1"]
    assert where == f"{RULE_SETS['eyetest'].version} → r/scores/eyetest.parquet"
    assert mixed.startswith(
        "note: 1 of 8 answers were scored by others (m), whose scores stand as given; the other 7 by our rules"
    )
    assert tuple(read_scores(run).columns) == columns(Score)


def test_score_with_other_rules_and_another_metric(run: Path) -> None:
    call("score", "r").fine()
    groups = json.loads(call("score", "r", "--rules", "mmmu", "--metric", "exact", "--output", "json").fine())[
        "groups"
    ]
    assert [(group["metric"], group["mean"]) for group in groups] == [
        ("accuracy", 0.0),
        ("exact", 0.0),
        ("given", 0.25),
    ]
    assert sorted(path.name for path in (run / "scores").iterdir()) == [
        "chosen.json",
        "eyetest.parquet",
        "mmmu.metric-exact.parquet",
    ]


def test_captions_have_the_score_of_the_corpus_beside_the_mean(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "c", CAPTIONS)
    write_run(tmp_path / "r", bench, dict(zip((item.id for item in CAPTIONS), SAID, strict=True)))
    (group,) = json.loads(call("score", tmp_path / "r", "--metric", "bleu-1", "--output", "json").fine())["groups"]
    assert 0 < group["overall"] != pytest.approx(group["mean"])
    header, row, _ = call("score", tmp_path / "r", "--metric", "bleu-1").fine().strip().splitlines()
    assert header.split()[4:] == ["mean", "overall", "scored"]
    assert row.split()[4:] == [f"{group['mean']:.3f}", f"{group['overall']:.3f}", "4"]


def test_explain_follows_one_item(run: Path) -> None:
    reported = call("show", "r", "q0").fine()
    assert "Which is 0?" in reported
    assert "A dog" in reported
    assert re.search(r"→ chosen B  eyetest/\d+ .*accuracy 1", reported)
    (case,) = json.loads(call("show", "r", "q0", "--output", "json").fine())
    assert case["asked"]["item"] == "q0"
    assert case["response"]["text"] == "A dog"
    assert (case["scored"]["choice"], case["scored"]["score"]) == ("B", 1.0)
    failed = call("show", "r", "q6").fine()
    assert "no answer in 60 s" in failed
    assert "not read" in failed
    assert "no score" in failed
    assert "given 0.25" in call("show", "r", "q7").fine()


def test_read() -> None:
    words = ("score", "--options", "cat,dog,bird,fish", "--text", "A dog")
    reported = call(*words).fine()
    assert re.match(r"eyetest: chosen B\. dog  \(by .+\)\n", reported)
    as_json = json.loads(call(*words, "--output", "json").fine())["eyetest"]
    reading = et.read_choice("A dog", ["cat", "dog", "bird", "fish"])
    assert as_json == {name: getattr(reading, name) for name in reading.__struct_fields__} | {
        "span": list(reading.span) if reading.span else None
    }
    every = json.loads(call(*words, "--rules", "all", "--output", "json").fine())
    assert {name: found["index"] for name, found in every.items()} == {
        name: et.read_choice("A dog", ["cat", "dog", "bird", "fish"], name).index for name in RULE_SETS
    }
    lines = call(*words, "--rules", "all").fine().splitlines()
    assert [line.partition(":")[0] for line in lines] == sorted(RULE_SETS)
    assert "mmmu: chosen A. cat" in lines[sorted(RULE_SETS).index("mmmu")]
    apart = ("score", "--options", "cat, big", "--options", "dog")
    assert call(*apart, "--text", "A").fine().startswith("eyetest: chosen A. cat, big")
    assert "would guess at random" in call(*apart, "--rules", "mmmu", "--text", "?").fine()


def test_a_judge_reads_what_the_rules_cannot_and_is_asked_once(run: Path) -> None:
    reported = call("score", "r", "--judge", "judge=scripted:right=1").fine()
    assert "judge read 1 of 1 replies that the rules could not" in reported
    row = read_scores(run).filter(pl.col("item") == "q2").row(0, named=True)
    assert (row["reading"], row["choice"], row["rule"], row["score"]) == (
        "chosen",
        "B",
        f"{RULE_SETS['eyetest'].version} judge",
        1.0,
    )
    sent = len(list(read_responses(run)))
    assert "judge read 1 of 1" in call("score", "r", "--judge", "judge=scripted:right=1").fine()
    assert len(list(read_responses(run))) == sent
    call("score", "r").fine()
    assert read_scores(run).filter(pl.col("item") == "q2").row(0, named=True)["reading"] == "unparsed"


def test_a_judge_is_measured_by_what_the_rules_read_for_sure(run: Path) -> None:
    reported = json.loads(call("score", "r", "--judge", "judge=scripted:right=1", "--output", "json").out)
    judge = reported["judges"]["judge"]
    assert (judge["read"], judge["of"], judge["asked"], judge["stored"]) == (1, 1, 3, 0)
    assert (judge["agreed"], judge["agreement"]) == (2, 1.0)
    assert 0.3 < judge["agreement_low"] < 0.4
    again = call("score", "r", "--judge", "judge=scripted:right=1").fine()
    assert "judge agrees with the rules on 2 of 2 [34, 100]" in again
    assert "(0 asked, 3 stored before)" in again
    assert "2 replies are too few to tell whether judge reads 90 % so" in again
    assert "warning: judge" not in again
    notes = json.loads(call("measure", "accuracy", "r", "--output", "json").fine())["notes"]
    assert any("judge read what the rules could not; agrees with the rules on 2 of 2" in note for note in notes)


def test_a_threshold_leaves_doubtful_readings_unread_in_every_command(run: Path) -> None:
    reported = json.loads(call("score", "r", "--sure", "0.9", "--output", "json").fine())
    (counts,) = [group for group in reported["groups"] if group["metric"] == "accuracy"]
    assert (counts["ambiguous"], counts["unparsed"]) == (0, 2)
    assert reported["scores"] == "r/scores/eyetest.sure-0_9.parquet"
    assert re.search(r"not sure enough \(0\.\d\d < 0\.9\)", " ".join(call("show", "r", "q4").fine().split()))
    notes = json.loads(call("measure", "accuracy", "r", "--output", "json").fine())["notes"]
    assert any("right with a probability below 0.9 count as unread" in note for note in notes)


def test_forms_are_written_decided_and_applied(tmp_path: Path, bench: Benchmark) -> None:
    write_run(tmp_path / "r", bench, {f"q{n}": f"Option {'ABC'[n % 3]} is correct." for n in range(6)})
    first = call("score", "r", "--forms", "forms.yaml").fine()
    assert '6 replies are "option [mark] is correct": 6 chosen, 0 unread by' in first
    assert "wrote forms.yaml" in first
    forms = tmp_path / "forms.yaml"
    forms.write_text(forms.read_text().replace("decision: null", "decision: unread"))
    reported = json.loads(call("score", "r", "--forms", "forms.yaml", "--output", "json").fine())
    assert (reported["groups"][0]["mean"], reported["groups"][0]["unparsed"]) == (0.0, 6)
    (row,) = reported["forms"]
    assert (row["decision"], row["replies"], row["unread"]) == ("unread", 6, 6)
    listed = et.score("r", forms="forms.yaml").forms
    assert listed is not None
    assert listed.height == 1
    assert "decided: unread" in call("score", "r", "--forms", "forms.yaml").fine()
    call("score", "r").fine()
    assert json.loads(call("measure", "accuracy", "r", "--output", "json").fine())["rows"][0]["accuracy"] > 0


def test_a_threshold_without_a_reply_that_has_a_probability_says_so(tmp_path: Path, bench: Benchmark) -> None:
    write_run(tmp_path / "open", bench, {"t": "It is a dog."})
    notes = json.loads(call("score", "open", "--sure", "0.99", "--output", "json").fine())["notes"]
    assert "--sure 0.99 has no effect: no reply of this run has a probability" in notes
    notes = json.loads(call("measure", "accuracy", "open", "--output", "json").fine())["notes"]
    assert not any("count as unread" in note for note in notes)
    assert any("no reply has a probability, so the threshold 0.99 has no effect" in note for note in notes)


def test_decided_forms_that_no_reply_has_are_named(tmp_path: Path, bench: Benchmark) -> None:
    write_run(tmp_path / "r", bench, {f"q{n}": f"Option {'ABC'[n % 3]} is correct." for n in range(6)})
    decided = "- {form: 'option [mark] is correct', decision: read}\n- {form: it is a …, decision: unread}\n"
    (tmp_path / "forms.yaml").write_text(decided)
    reported = json.loads(call("score", "r", "--forms", "forms.yaml", "--output", "json").fine())
    (note,) = [note for note in reported["notes"] if "decided" in note]
    assert note == 'no reply is counted under the decided form "it is a …"'
    assert note in " ".join(call("score", "r", "--forms", "forms.yaml").fine().split())


def test_the_docs_name_every_column() -> None:
    docs = (ROOT / "docs/scoring.md").read_text()
    assert [name for name in columns(Score) if name not in docs] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score", "r", "--rules", "eyetset"), 'no rule set named "eyetset"; did you mean "eyetest"?'),
        (("score", "b"), "b is no run folder (it has no run.json)"),
        (("score", "r", "--bench", "other"), "other asks something else than r did: item 'q0' has changed"),
        (("score", "bare"), "bare does not say what benchmark it is about; name it with --bench"),
        (("show", "r", "nope"), "no item 'nope' in b"),
        (("show", "bare", "q0"), "bare names no benchmark; import its answers with --bench"),
        (("reconcile", "r", "r", "--rules-b", "vlmeval"), 'did you mean "vlmevalkit"?'),
        (("reconcile", "bare", "bare"), "name it with --bench"),
        (("score", "r", "--text", "A", "--options", "cat,dog"), "leave the run out"),
        (("score", "r", "--sure", "90"), "--sure: found 90, expected a probability from 0 to 1"),
        (
            ("score", "r", "--rules", "mmmu", "--sure", "0.9"),
            "only the rules eyetest say how sure they are, not mmmu",
        ),
        (("score", "r", "--judge-sample", "5"), "--judge-sample: it is for a model that reads"),
        (
            ("score", "--text", "A", "--options", "cat,dog", "--judge-sample", "5"),
            "--judge-sample: one reply is read by rules alone",
        ),
        (("score", "--options", "cat", "--text", "A"), "--options: found 1, expected from 2 to 26"),
    ],
)
def test_one_line_and_exit_code_2(
    tmp_path: Path, run: Path, bench: Benchmark, arguments: tuple[str, ...], message: str
) -> None:
    make_bench(tmp_path / "other", [animals("q0", 2)])
    write_run(tmp_path / "bare", None, {"q0": "A"})
    before = sorted(tmp_path.rglob("*"))
    assert message in call(*arguments).refused()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("part", ["r/plan.parquet", "r/responses/000001*.parquet", "r/run.json", "b/items.parquet"])
def test_a_damaged_run_or_benchmark_is_one_line(run: Path, part: str) -> None:
    (path,) = run.parent.glob(part)
    data = path.read_bytes()
    for damage in (data[: len(data) // 2], b"", b"?" * len(data), b"PAR1"):
        path.write_bytes(damage)
        for command in (("score", "r"), ("show", "r", "q0"), ("reconcile", "r", "r", "--rules-b", "mmmu")):
            assert "damaged" in call(*command).refused()


@pytest.fixture
def hostile(workdir: Path) -> Path:
    """Everything that came from outside tries to speak to the terminal."""
    item = animals(f"i{HOSTILE}", 1, question=HOSTILE)
    items = [item, Item(id="t", question="?", references=(HOSTILE,)), animals("d", 1)]
    bench = make_bench(workdir / "b", items, HOSTILE)
    said: dict[str, Reply] = {
        item.id: f"{HOSTILE} The answer is (B).",
        "t": {"text": HOSTILE, "outcome": "failed", "detail": HOSTILE},
        "d": "A dog \x1b[2J\x9b5m\u202e\x7f",
    }
    make_answers(workdir / "r", [(Asked(item=name, model=f"m{HOSTILE}"), said[name]) for name in said], bench)
    return workdir


@pytest.mark.parametrize(
    "command",
    [
        ("score", "r"),
        ("show", "r", "ITEM"),
        ("show", "r", "t"),
        ("reconcile", "r", "r", "--rules-b", "mmmu"),
        ("reconcile", "r", "r", "--rules-b", "mmmu", "--output", "json"),
    ],
)
def test_answers_cannot_speak_to_the_terminal(hostile: Path, command: tuple[str, ...]) -> None:
    name = next(iter(Benchmark(hostile / "b"))).id
    done = call(*(name if word == "ITEM" else word for word in command))
    said = done.fine()
    assert not DANGEROUS & set(said)
    if "json" in command:
        json.loads(done.out)
    elif "ITEM" in command:
        assert "[bold]A[/bold]" in said
    elif command == ("reconcile", "r", "r", "--rules-b", "mmmu"):
        assert "␛[2J" in said


def test_a_reply_of_a_megabyte(tmp_path: Path, bench: Benchmark) -> None:
    """It is read whole; of the text, people see its ends and the words that decided it, programs all."""
    long = "So many words. " * 70_000
    text = f"{long}The answer is B.{' ' * 20}"
    write_run(tmp_path / "r", bench, {"q0": text, "q1": long, "t": long})
    (group, _) = json.loads(call("score", "r", "--output", "json").fine())["groups"]
    assert (group["mean"], group["unparsed"]) == (0.5, 1)
    for item in ("q0", "q1", "t"):
        shown = call("show", "r", item).fine()
        assert len(shown) < 20_000
        assert re.search(r"… [\d,]+\s+characters\s+…", shown.replace("│", ""))
    assert "The answer is B." in call("show", "r", "q0").fine()
    (case,) = json.loads(call("show", "r", "q0", "--output", "json").fine())
    assert case["response"]["text"] == text
    assert len(call("reconcile", "r", "r", "--rules-b", "mmmu").fine()) < 20_000
    reported = call("score", "--options", "cat,dog", "--text", text).fine()
    assert reported.startswith("eyetest: chosen B. dog")
    assert len(reported) < 20_000


def test_a_question_is_refused_where_no_rule_set_uses_it() -> None:
    with pytest.raises(InputError, match="do not use the question"):
        et.score(text="It is B", options=["cat", "dog"], rules="vlmevalkit", question="Which animal is it?")
    both = et.score(text="They are not.", options=["yes", "no"], rules="all", question="Are both cars red?")
    assert both.data["eyetest"].index == 1

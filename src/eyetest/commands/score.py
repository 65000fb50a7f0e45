"""The command ``score``: read and score the answers of a run, or read one reply."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Group
from rich.text import Text

from eyetest.commands.base import observer, open_bench, open_run, path_of
from eyetest.commands.lazy import pl, printed
from eyetest.commands.options import AnyPath, AnyRun, Bench, Words, panel
from eyetest.commands.results import Found, Lines, estimates, safe
from eyetest.errors import InputError, counted, heading, param, typed
from eyetest.grammar import refuse_idle, split_parts, words_of

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.results.judge import Judge, JudgeOutcome
    from eyetest.runs import Run
    from eyetest.scoring import Reading, Scorer
    from eyetest.scoring.forms import FormDecisions

_COUNTED = {"reading": ("refused", "ambiguous", "cut off", "unparsed"), "outcome": ("blocked", "failed")}
"""Values of columns that are counted beside the mean."""
_ALWAYS = ("model", "modality", "ask")
_MOST_VALUES = 30  # an axis of more values, such as an order for each item, would make a list and no summary
_SHOWN = 2_000  # so many characters are shown of each end of a text that is longer than two times that
COLOURS = dict.fromkeys(("chosen", "text"), "bold green") | dict.fromkeys(("refused", "ambiguous"), "yellow")
COLOURS |= dict.fromkeys(("cut off", "unparsed"), "red")
_ONE = panel("Read one reply instead of a run", 2)
_JUDGES = panel("Models that read", 1)


def score(
    run: AnyRun | None = None,
    /,
    *,
    bench: Bench | None = None,
    rules: str = "eyetest",
    metric: str | None = None,
    rescore_given: bool = False,
    sure: float = 0.0,
    forms: AnyPath | None = None,
    judge: Annotated[str | None, _JUDGES] = None,
    judge_sample: Annotated[int | None, _JUDGES] = None,
    sentences: Annotated[str | None, _JUDGES] = None,
    models: Annotated[AnyPath | None, _JUDGES] = None,
    prompts: Annotated[str | None, _JUDGES] = None,
    text: Annotated[str | None, _ONE] = None,
    options: Annotated[Words, _ONE] = (),
    question: Annotated[str | None, _ONE] = None,
) -> "ScoreResult":
    """Read and score every answer of a run, and use this scoring of the run from now on.

    Scores go to RUN/scores; answers are never changed, and a failed call has no score. Score again with other rules,
    another metric or another answer key as often as you like: each table is kept, and measure, compare, report
    and show use the scoring that was chosen last. A reading says how probable it is that it is right (column
    probability of the table). With --text, one reply to a question with options is read: which
    option it chooses, which rule says so, and where in the text.

    Args:
        run: A run folder.
        bench: Benchmark with the answer key, where it is not the run's own.
        rules: Rule set that reads choices; with --text also "all".
        metric: Metric for items without options; by default open, or vqa for votes.
        rescore_given: Also score answers that came with a score, where their text is known.
        sure: Leave replies unread whose reading is right with a smaller probability than this, from 0 to 1.
        forms: YAML file with your decisions on forms of replies; written for you to fill in where it does not exist.
        judge: Model that reads what the rules cannot.
        judge_sample: So many replies that the rules read for sure are judged, too, to measure how often both agree;
            default 100.
        sentences: Model that labels which sentences describe and which analyse.
        models: models.yaml that has these models.
        prompts: What they are asked: a prompt set by name, or a YAML file.
        text: The reply.
        options: Its options in the order shown: cat,dog,fish, or repeated.
        question: The question, which helps to read replies that repeat its words.

    Examples:
        $ eyetest score run --rules vlmevalkit
        $ eyetest score run --sure 0.9
        $ eyetest score run --forms forms.yaml
        $ eyetest score --text "A dog" --options cat,dog,fish --rules all

        >>> scored = et.score("run")
        >>> scored.scores.height
        720
        >>> scored.frame.columns[:4]
        ['model', 'modality', 'ask', 'order']
        >>> et.score(text="A dog", options=["cat", "dog"]).data["eyetest"].index
        1

    """
    from eyetest.models.specs import parse_models
    from eyetest.prompts.sets import load_prompts
    from eyetest.results.judge import SAMPLE, Judge
    from eyetest.results.scores import benchmark_of, choose_scoring, score_run
    from eyetest.scoring import Scorer

    if text is not None:
        if run is not None:
            raise InputError(f"{heading('text')}: one reply is read without a run; leave the run out")
        about_run: dict[str, Any] = {"bench": bench, "metric": metric, "rescore_given": rescore_given, "judge": judge}
        about_run |= {"sentences": sentences, "models": models, "prompts": prompts, "sure": sure, "forms": forms}
        about_run["judge_sample"] = judge_sample
        refuse_idle(about_run, "one reply is read by rules alone")
        return _read_one(text, options, rules, question or "")  # type: ignore[return-value]
    if run is None:
        raise InputError(f"name a run to score, or one reply with {param('text', 'REPLY')}")
    if question is not None:
        raise InputError(f"{heading('question')}: this is the question of one reply; give it with {param('text')}")
    if options:
        raise InputError(f"{heading('options')}: these are the options of one reply; give it with {param('text')}")
    if judge is None:
        refuse_idle({"judge_sample": judge_sample}, f"it is for a model that reads: {param('judge', 'SPEC')}")
    if judge is None and sentences is None:
        why = f"it is for a model that reads: {param('judge', 'SPEC')} or {param('sentences', 'SPEC')}"
        refuse_idle({"models": models, "prompts": prompts}, why)
    _refuse_unrated(rules, sure)
    forms_path = None if forms is None else path_of(forms, "forms")
    scorer = Scorer(rules, metric, rescore_given=rescore_given, sure=sure, forms=_decided_forms(forms_path))
    opened = open_run(run)
    if judge_sample is not None and judge_sample < 0:
        raise InputError(f"{heading('judge_sample')}: found {judge_sample}, expected a number of replies")
    known = None if models is None else path_of(models, "models")
    sample = SAMPLE if judge_sample is None else judge_sample
    named = (parse_models([spec], known) if spec else {} for spec in (judge, sentences))
    judges, labellers = ([Judge(*entry, load_prompts(prompts), sample) for entry in some.items()] for some in named)
    benchmark = benchmark_of(opened, None if bench is None else open_bench(bench))
    path = score_run(opened, benchmark, scorer)
    judgements = _have_judged(opened, benchmark, scorer, judges)
    _have_labelled(opened, benchmark, labellers)
    place = None if bench is None else path_of(getattr(bench, "path", bench), "bench")
    choose_scoring(opened, scorer, benchmark.path if place == benchmark.path.parent else place)
    result = ScoreResult(opened, benchmark, scorer, path)
    if judgements:
        result.data["judges"] = judgements
    if forms_path is not None:
        result.add_forms(_listed_forms(opened, benchmark, scorer, forms_path), scorer.forms)
    return result


def _read_one(text: str, options: str | Sequence[str], rules: str, question: str) -> Found:
    """How one reply is read by a rule set, or by all."""
    from eyetest.records import MAX_CHOICES
    from eyetest.scoring import RULE_SETS, read_choice

    is_listed = isinstance(options, str) or len(options) == 1
    offered = split_parts(words_of(options)[0], "options") if is_listed else options
    if not 2 <= len(offered) <= MAX_CHOICES:
        raise InputError(f"{heading('options')}: found {len(offered)}, expected from 2 to {MAX_CHOICES}")
    names = RULE_SETS if rules == "all" else [rules]
    if question and "eyetest" not in names:
        raise InputError(f"{heading('question')}: the rules {rules} do not use the question; leave it out")
    return _readings(text, offered, {name: read_choice(text, offered, name, question=question) for name in names})


def _decided_forms(path: Path | None) -> "FormDecisions":
    """The decisions on forms in a file; none without one, and where it is still to be written."""
    from eyetest.scoring.forms import FormDecisions, read_decisions

    return FormDecisions() if path is None or not path.exists() else read_decisions(path)


def _listed_forms(run: "Run", benchmark: "Benchmark", scorer: "Scorer", path: Path) -> "pl.DataFrame":
    """The forms of a run's replies; they are written to a file that does not exist yet."""
    from eyetest.results.forms import list_forms, write_forms
    from eyetest.results.scores import table_path

    forms = list_forms(run, benchmark, table_path(run, benchmark, scorer), scorer.forms)
    if not path.exists():
        write_forms(forms, path)
        observer().note(f"wrote {path}: set decisions, read or unread, and repeat this command")
    return forms


def _have_judged(
    run: "Run", benchmark: "Benchmark", scorer: "Scorer", judges: "Sequence[Judge]"
) -> dict[str, dict[str, Any]]:
    """Have judges read what the rules could not; returns what each did, for programs."""
    from eyetest.results.judge import judge_run

    judgements = {}
    for judge in judges:
        outcome = judge_run(run, benchmark, scorer, judge, observer().watch)
        judgements[judge.label] = outcome.as_json()
        _tell_judgement(judge.label, outcome)
    return judgements


def _have_labelled(run: "Run", benchmark: "Benchmark", labellers: "Sequence[Judge]") -> None:
    """Have models label the sentences of replies."""
    from eyetest.results.judge import label_sentences

    for labeller in labellers:
        labelled, progress = label_sentences(run, benchmark, labeller, watch=observer().watch)
        replies = f"{progress.to_ask + progress.stored:,} replies"
        observer().note(f"{labeller.label} labelled the sentences of {labelled:,} of {replies}")


def _refuse_unrated(rules: str, sure: float) -> None:
    """Refuse a threshold that is no probability, and one for rules that do not say how sure they are."""
    if not 0 <= sure <= 1:
        raise InputError(f"{heading('sure')}: found {sure:g}, expected a probability from 0 to 1")
    if sure and rules != "eyetest":
        raise InputError(f"{heading('sure')}: only the rules eyetest say how sure they are, not {rules}")


def _tell_judgement(label: str, outcome: "JudgeOutcome") -> None:
    """Say what a judge read, how often it agrees with the rules, and what it was asked."""
    asked = f"{outcome.progress.to_ask:,} asked, {outcome.progress.stored:,} stored before"
    observer().note(f"{label} read {outcome.read:,} of {outcome.unread:,} replies that the rules could not ({asked})")
    if outcome.agreement is None:
        return
    observer().note(f"{label} {outcome.agreement.text}, where these are sure")
    if outcome.agreement.is_low:
        observer().note(f"warning: {label} reads fewer than 90 % of plain replies as the rules do")
    elif outcome.agreement.is_open:
        observer().note(f"{outcome.agreement.share.n:,} replies are too few to tell whether {label} reads 90 % so")


class ScoreResult(Found):
    """Means and counts of scores: a row a model, condition and metric, with the mean, the score of a whole corpus
    (captions), and the answers that were not read. The notes say which have no score, or one that others gave.
    """

    def __init__(self, run: "Run", benchmark: "Benchmark", scorer: "Scorer", path: Path) -> None:
        """``path``: the table of scores."""
        from eyetest.results.scores import joined_by_id
        from eyetest.results.suspects import suspicious_replies
        from eyetest.runs.stored import responses_frame, scan_table

        self.run, self.path = run, path
        table, left = scan_table(path), _left(path)
        frame = _means(run, benchmark, table)
        unseen = [word for words in _COUNTED.values() for word in words if not frame[word].sum()]
        where = Lines(f"{scorer.rules.version} → {path}", style="dim")
        about = {
            "left_out": f"answers are about items that {benchmark.manifest.name} does not have, and have no score",
            "reworded": "answers are to a wording that people have changed since, and have no score",
            "unanswered": f"of {left['planned']:,} planned calls have no answer",
        }
        notes = printed.many_unread_of(benchmark.manifest.name, table)
        notes += printed.long_replies(table, responses_frame(run.path))
        notes += printed.scored_by_others(printed.score_counts(table))
        notes += suspicious_replies(run, benchmark)
        notes += filter(None, [joined_by_id(run, benchmark)])
        if scorer.sure and not table.select(pl.col("probability").is_not_null().any()).collect().item():
            notes.append(f"{param('sure', scorer.sure)} has no effect: no reply of this run has a probability")
        notes += [f"{left[kind]:,} {what}" for kind, what in about.items() if left[kind]]
        if left["given"]:
            kept = f"{counted(left['given'], 'answer')} keep the score that they came with: no text or no answer key"
            rescore = f"{param('rescore_given', True)} scores answers that came with a score by these rules"
            notes.append(kept if scorer.rescore_given else rescore)
        data = {"scores": str(path), "groups": frame.to_dicts(), **left, "notes": notes}
        super().__init__("scores", frame, notes, Group(estimates(frame.drop(unseen)), where), data)
        self.forms: pl.DataFrame | None = None
        """Forms of the replies with their counts, where they were asked for."""

    def add_forms(self, forms: "pl.DataFrame", decided: "FormDecisions") -> None:
        """Show the forms of the replies below the means, and name decided ones under which no reply is counted."""
        from eyetest.results.forms import form_lines

        self.forms = forms
        self.data["forms"] = forms.to_dicts()
        idle = sorted(set(decided.decisions) - set(forms.get_column("form")))
        names = [f'no reply is counted under the decided form "{safe(form)}"' for form in idle]
        self.notes = self.data["notes"] = [*self.notes, *names]
        assert self.text is not None
        self.text = Group(self.text, Lines(*form_lines(forms)))

    @cached_property
    def scores(self) -> "pl.DataFrame":
        """One row an answer, with the rule that read it, its score and the ``reply``."""
        from eyetest.records import Score, columns
        from eyetest.runs.stored import one_line_if_damaged, responses_frame, scan_table

        again = f"score it again: {typed('eyetest', 'score', self.run.path)}"
        scores = scan_table(self.path, again).select(columns(Score)).collect()
        with one_line_if_damaged(self.run.path):
            replies = responses_frame(self.run.path).select("request", pl.col("text").alias("reply")).collect()
        return scores.join(replies, on="request", how="left", maintain_order="left")


def _means(run: "Run", benchmark: "Benchmark", table: "pl.LazyFrame") -> "pl.DataFrame":
    from eyetest.results.scores import answers_of
    from eyetest.scoring.scorer import corpus_table

    group = [*telling_axes(table), "metric"]
    overall = corpus_table(answers_of(run, benchmark), benchmark, table).lazy().group_by(group)
    score = pl.col("score")
    counts = [(pl.col(name) == word).sum().alias(word) for name, words in _COUNTED.items() for word in words]
    grouped = table.group_by(group).agg(score.mean().alias("mean"), score.count().alias("scored"), *counts)
    joined = grouped.join(overall.agg(pl.col("overall").mean()), on=group, how="left").sort(group)
    return joined.select(*group, "mean", "overall", pl.exclude(*group, "mean", "overall")).collect()


def _left(path: Path) -> dict[str, int]:
    """How many answers have no score, and why; and how many keep one that others gave."""
    from eyetest.records import GIVEN
    from eyetest.results.scores import read_provenance
    from eyetest.runs.stored import scan_table

    table = scan_table(path)
    rows, given = table.select(pl.len(), (pl.col("rule") == GIVEN).sum().alias(GIVEN)).collect().row(0)
    made = read_provenance(path)
    assert made is not None
    counts = {"unanswered": made.unanswered, "reworded": made.reworded, "planned": made.planned}
    return {"left_out": made.answered - made.reworded - rows, **counts, "given": given}


def _readings(text: str, options: Sequence[str], readings: "dict[str, Reading]") -> Found:
    """How one reply is read by each rule set: in which way, the option it chooses, and the rule."""
    from eyetest.records import letter

    rows, lines = [], []
    for name, reading in readings.items():
        index = reading.index
        option = None if index is None else f"{letter(index)}. {options[index]}"
        rows.append((name, reading.kind, option, reading.rule, reading.why))
        by = f"by {reading.rule}" if reading.rule else ""
        why = ", ".join(filter(None, (by, reading.why, "would guess at random" if reading.would_guess else "")))
        parts = ((f"{name}: ", "dim"), (reading.kind, COLOURS[reading.kind]), f" {safe(option)}" if option else "")
        lines.append(Text.assemble(*parts, (f"  ({why})" if why else "", "dim")))
    if len(lines) == 1 and (span := next(iter(readings.values())).span):
        lines.append(marked(text, span))
    schema = dict.fromkeys(("rules", "reading", "option", "rule", "why"), pl.String)
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return Found("reading", frame, text=Lines(*lines), data=readings)


def telling_axes(rows: "pl.LazyFrame") -> list[str]:
    """What distinguishes groups of answers: model, modality, ask, every other axis of a few values, own prompts."""
    from eyetest.records import Condition
    from eyetest.records.tables import USUAL_PROMPTS

    others = [axis for axis in Condition.__struct_fields__ if axis not in _ALWAYS]
    own = (pl.col("prompts").cast(pl.String) != USUAL_PROMPTS).any().alias("own")
    counts = rows.select(pl.col(others).n_unique(), own).collect(engine="streaming").row(0, named=True)
    least = {"prompts": 1} if counts["own"] else {}
    return [*_ALWAYS, *(axis for axis in others if least.get(axis, 2) <= counts[axis] <= _MOST_VALUES)]


def marked(text: str, span: tuple[int, int] | None) -> Text:
    """A reply with the words that decided it highlighted; of a long one, its ends and the text around these words."""
    start, end = span or (0, 0)
    before, words, after = (safe(part, 2 * _SHOWN) for part in (text[:start], text[start:end], text[end:]))
    return Text.assemble(before, (words, "reverse"), after)

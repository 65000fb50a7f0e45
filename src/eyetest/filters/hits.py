"""Verdicts by hits of a panel (MMStar, MMMU-Pro, LIME), difficulty and probes, unchanged by stopping early."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from eyetest.errors import InputError
from eyetest.filters.base import Answers, FilterInput, kinds, summary
from eyetest.measures import hits as counting
from eyetest.measures.hits import covered
from eyetest.probes.audit import run_audit
from eyetest.probes.subject import Subject
from eyetest.records import Cut, Stage, StoppingRule, Tally, Verdict, VerdictKind
from eyetest.running.execution import Waves
from eyetest.wording import counted

BAND = "band"  # what evidence calls the band of an item; it becomes its tag of that stage's name
_ONCE = Cut(op=">=", value=1)


@dataclass(frozen=True)
class Count:
    """Result of a panel on an item."""

    holds: bool | None  # whether the item is on the keeping side; None while that is open
    hits: int  # seats that answer the item
    n: int  # answers that were judged
    missing: int  # answers that could still change it
    responses: tuple[str, ...]
    evidence: dict[str, Any]

    @property
    def told(self) -> dict[str, Any]:
        """Text of a verdict about it."""
        return {"n": self.n, "hits": self.hits, "responses": self.responses, "evidence": self.evidence}

    @property
    def incomplete(self) -> str:
        """Why there is no verdict."""
        return f"{counted(self.missing, 'answer')} missing, which could change the verdict"


def threshold(stage: Stage, seats: int, size: int) -> Cut:
    """The stage's cut over the number of answering seats; ``hits`` is scaled for panels of another size."""
    if set(stage.keep) == {"share"}:
        return _scaled(stage.keep["share"], seats)
    if set(stage.keep) == {"hits"}:
        cut = stage.keep["hits"]
        return cut if seats == size else _scaled(Cut(op=cut.op, value=cut.value / size), seats)
    told = ", ".join(stage.keep) or "nothing"
    raise InputError(f"the stage {stage.title}: keep says {told}; it takes hits or share")


def _scaled(cut: Cut, seats: int) -> Cut:
    """A cut over a share as one over a count, to avoid comparing rounded shares."""
    return Cut(op=cut.op, value=round(cut.value * seats, 9))


def stopping_rule(stage: Stage, cut: Cut, seats: int, tests: int) -> StoppingRule:
    """The rule that holds for items that stay."""
    return StoppingRule(answers=stage.answers or _ONCE, samples=tests, falls=cut, models=seats)


def count(stage: Stage, rule: StoppingRule, answers: Answers, seats: Sequence[str], full: bool) -> Count:
    """Count the hits on one item; unless ``full``, only answers that stopping early would have asked for."""
    present = [[answer for answer in row if answer is not None] for row in answers]
    right = [[answer.is_right(stage.right) for answer in row] for row in present]
    waves = Waves(rule, [len(row) for row in right])
    while not full and (wave := waves.wave()):
        for seat, test in wave:
            waves.observed[seat].append(right[seat][test])
    if full:
        waves.observed = right
    heard = [answer for row, known in zip(present, waves.observed, strict=True) for answer in row[: len(known)]]
    hits = [tally.hits for tally in waves.tallies]
    judged = [rule.samples - tally.unknown for tally in waves.tallies]
    answering = sum(rule.answers.holds(hit) for hit in hits)
    holds, missing = waves.verdict, 0
    if holds is None and stage.min_answers is not None and sum(judged) >= stage.min_answers:
        holds = rule.falls.holds(answering)
    if holds is None:
        missing = sum(tally.unknown for tally in waves.tallies if rule.model_answers(tally) is None)
    told = summary(seats, hits, judged, not_plain=kinds(heard))
    return Count(holds, answering, sum(judged), missing, tuple(answer.request for answer in heard), told)


class BlindHits:
    """Drop items that too many inspectors answer from the text alone, each asked once."""

    name = "blind-hits"
    summary = "drop items that too many inspectors answer without the image (MMStar)"
    uses: ClassVar[frozenset[str]] = frozenset({"keep", "right", "min_answers"})
    what = "answer it blind"

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule:
        """The stopping rule; one that no answer could change is refused."""
        rule = stopping_rule(stage, threshold(stage, seats, size), seats, tests)
        if (always := rule.verdict([Tally(unknown=rule.samples)] * rule.models)) is not None:
            told = f"{rule.told} is {'always' if always else 'never'} so"
            raise InputError(f"the stage {stage.title}: {told}; no answer could change it")
        return rule

    def judge(self, case: FilterInput) -> Iterator[Verdict]:
        """Count the inspectors that answer each item."""
        stage, seats, tests = case.stage, [seat.model for seat in case.seats], case.evidence.tests
        rule = self.rule(stage, len(seats), case.size, tests)
        for item in case.items:
            on_item = count(stage, rule, case.evidence.of(item.id), seats, stage.full_counts)
            if on_item.holds is None:
                yield case.verdict(item.id, "review", on_item.incomplete, **on_item.told)
                continue
            told = f"{on_item.hits} of {len(seats)} inspectors {self.what}"
            settled = " (settled)" if not stage.full_counts and on_item.n < len(seats) * tests else ""
            yield case.verdict(item.id, "keep" if on_item.holds else "drop", told + settled, **on_item.told)


class BlindMajority(BlindHits):
    """Drop items by inspectors asked several times, who answer an item if enough samples are right."""

    name = "blind-majority"
    summary = "drop items that enough inspectors answer blind in most of their samples (MMMU-Pro)"
    uses: ClassVar[frozenset[str]] = frozenset({"keep", "right", "answers", "min_answers"})
    what = "answer it blind in enough samples"


class BlindCount(BlindHits):
    """LIME's check, whose count the paper does not give: the recipe states one, by default half of the panel."""

    name = "blind-count"
    summary = "drop items that a stated share of text models answers (LIME)"


class Difficulty:
    """A band for each item by the number of seats that answer it; items of some bands may be dropped."""

    name = "difficulty"
    summary = "sort items into bands by how many of the panel answer them; drop some bands (MMStar, LIME)"
    uses: ClassVar[frozenset[str]] = frozenset({"bands", "drop", "right", "best_cut", "answers", "min_answers"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """No stopping rule: bands need the whole count."""
        if covered(stage.bands) != size:
            raise InputError(f"the stage {stage.title}: its bands have to hold each of 0 to {size} hits once")
        for band in stage.drop:
            if band not in stage.bands:
                raise InputError(f"the stage {stage.title}: no band {band}; there are {', '.join(stage.bands)}")
        return None

    def judge(self, case: FilterInput) -> Iterator[Verdict]:
        """Count, and look up the band."""
        stage, seats = case.stage, [seat.model for seat in case.seats]
        rule = stopping_rule(stage, Cut(op=">=", value=0), len(seats), case.evidence.tests)
        for item in case.items:
            answers = case.evidence.of(item.id)
            on_item = count(stage, rule, answers, seats, full=True)
            missing = sum(map(len, answers)) - on_item.n
            if missing and on_item.n < (stage.min_answers or on_item.n + missing):
                yield case.verdict(
                    item.id, "review", f"{counted(missing, 'answer')} missing: no band", **on_item.told
                )
                continue
            band = band_of(stage, on_item.hits, len(seats), case.size)
            reason = f"{band}: {on_item.hits} of {len(seats)} answer it"
            verdict: VerdictKind = "drop" if band in stage.drop else "keep"
            told = on_item.told | {"evidence": on_item.evidence | {BAND: band}}
            yield case.verdict(item.id, verdict, reason, **told)


def band_of(stage: Stage, hits: int, seats: int, size: int) -> str:
    """The band of a count; for a panel of another size, that of the nearest count of the recipe's."""
    nearest = hits if seats == size else int(hits * size / seats + 0.5)
    band = counting.band_of(stage.bands, nearest, nearest)
    assert band is not None, "the stage's bands hold every count"
    return band


class Probed:
    """Give an item with an alarm of a probe the probe's verdict, or the stage's."""

    name = "probe"
    summary = "drop, or send to people, what a probe of eyetest audit finds"
    uses: ClassVar[frozenset[str]] = frozenset({"probe", "then"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """No model is asked."""
        if stage.probe is None:
            raise InputError(f"the stage {stage.title}: which probe? eyetest audit --help lists them")
        return None

    def judge(self, case: FilterInput) -> Iterator[Verdict]:
        """Probe the whole benchmark, and look up the items."""
        assert case.stage.probe is not None
        assert case.benchmark is not None
        audit = run_audit(Subject(case.benchmark, seed=case.seed), [case.stage.probe])
        nothing = "; ".join(["nothing found", *(finding.title for finding in audit.untested)])
        alarms: dict[str, Verdict] = {}
        for row in audit.verdicts([item.id for item in case.items]):
            alarms.setdefault(row.item, row)
        for item in case.items:
            alarm = alarms.get(item.id)
            if alarm is None or alarm.verdict == "keep":
                yield case.verdict(item.id, "keep", f"{case.stage.probe}: {nothing}")
            else:
                verdict, reason = case.stage.then or alarm.verdict, f"{case.stage.probe}: {alarm.reason}"
                yield case.verdict(item.id, verdict, reason, p=alarm.p, evidence={"found": alarm.evidence})


FILTERS = (BlindHits(), BlindMajority(), BlindCount(), Difficulty(), Probed())

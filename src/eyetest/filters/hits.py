"""Verdicts by hits of a panel (MMStar, MMMU-Pro, LIME), difficulty and probes, unchanged by stopping early."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eyetest.errors import InputError, counted
from eyetest.filters import Filter, FilterInput, summary
from eyetest.measures.hits import HIT
from eyetest.probes.audit import run_audit
from eyetest.probes.kinds import only_rates
from eyetest.probes.subject import Subject
from eyetest.records import Cut, Item, Stage, StoppingRule, Tally, Verdict, VerdictKind
from eyetest.running.execution import Waves

BAND = "band"  # what evidence calls the band of an item; it becomes its tag of that stage's name


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
    def fields(self) -> dict[str, Any]:
        """Fields of a verdict about the item."""
        return {"n": self.n, "hits": self.hits, "responses": self.responses, "evidence": self.evidence}

    @property
    def incomplete(self) -> str:
        """Why there is no verdict."""
        return f"{counted(self.missing, 'answer')} missing, which could change the verdict"


def threshold(stage: Stage, seats: int, size: int) -> Cut:
    """The stage's cut over the number of answering seats; ``hits`` is scaled for panels of another size."""
    if set(stage.keep) not in ({"share"}, {"hits"}):
        found = ", ".join(stage.keep) or "nothing"
        raise InputError(f"the stage {stage.title}: keep says {found}; it takes hits or share")
    ((unit, cut),) = stage.keep.items()
    if unit == "hits" and seats == size:
        return cut
    share = cut.value if unit == "share" else cut.value / size
    return Cut(op=cut.op, value=round(share * seats, 9))  # a count, to avoid comparing rounded shares


def stopping_rule(stage: Stage, cut: Cut, seats: int, tests: int) -> StoppingRule:
    """The rule that holds for items that stay."""
    return StoppingRule(answers=stage.answers or HIT, samples=tests, falls=cut, models=seats)


def count(case: FilterInput, rule: StoppingRule, item: Item, *, full: bool) -> Count:
    """Count the hits on one item; unless ``full``, only answers that stopping early would have asked for."""
    stage = case.stage
    present = [[answer for answer in row if answer is not None] for row in case.evidence.of(item.id)]
    right = [[answer.is_right(stage.right) for answer in row] for row in present]
    waves = Waves(rule, [len(row) for row in right])
    while not full and (wave := waves.wave()):
        for seat, test in wave:
            waves.observed[seat].append(right[seat][test])
    if full:
        waves.observed = right
    used = [answer for row, known in zip(present, waves.observed, strict=True) for answer in row[: len(known)]]
    hits = [tally.hits for tally in waves.tallies]
    judged = [rule.samples - tally.unknown for tally in waves.tallies]
    answering = sum(rule.answers.holds(hit) for hit in hits)
    holds, missing = waves.verdict, 0
    if holds is None:
        missing = sum(tally.unknown for tally in waves.tallies if rule.model_answers(tally) is None)
    evidence = summary([seat.model for seat in case.seats], hits, judged, used)
    return Count(holds, answering, sum(judged), missing, tuple(answer.request for answer in used), evidence)


def _blind_rule(stage: Stage, seats: int, size: int, tests: int) -> StoppingRule:
    """The stopping rule; one that no answer could change is refused."""
    rule = stopping_rule(stage, threshold(stage, seats, size), seats, tests)
    if (always := rule.verdict([Tally(unknown=rule.samples)] * rule.models)) is not None:
        constant = f"{rule.text} is {'always' if always else 'never'} so"
        raise InputError(f"the stage {stage.title}: {constant}; no answer could change it")
    return rule


def _judge_blind(case: FilterInput) -> Iterator[Verdict]:
    """Count the inspectors that answer each item."""
    stage, seats, tests = case.stage, len(case.seats), case.evidence.tests
    rule = _blind_rule(stage, seats, case.size, tests)
    for item in case.items:
        counts = count(case, rule, item, full=stage.full_counts)
        if counts.holds is None:
            yield case.verdict(item.id, "review", counts.incomplete, **counts.fields)
            continue
        settled = " (settled)" if not stage.full_counts and counts.n < seats * tests else ""
        reason = f"{counts.hits} of {seats} inspectors answer it blind{settled}"
        yield case.verdict(item.id, "keep" if counts.holds else "drop", reason, **counts.fields)


def _band_rule(stage: Stage, seats: int, size: int, tests: int) -> None:
    """No stopping rule: bands need the whole count."""
    held = sorted(number for low, high in stage.bands.values() for number in range(low, high + 1))
    if held != list(range(size + 1)):
        raise InputError(f"the stage {stage.title}: its bands have to hold each of 0 to {size} hits once")
    for band in stage.drop:
        if band not in stage.bands:
            raise InputError(f"the stage {stage.title}: no band {band}; there are {', '.join(stage.bands)}")


def _judge_difficulty(case: FilterInput) -> Iterator[Verdict]:
    """A band for each item by the number of seats that answer it; items of some bands may be dropped."""
    stage, seats = case.stage, len(case.seats)
    rule = stopping_rule(stage, Cut(op=">=", value=0), seats, case.evidence.tests)
    for item in case.items:
        counts = count(case, rule, item, full=True)
        missing = seats * case.evidence.tests - counts.n
        if missing:
            yield case.verdict(item.id, "review", f"{counted(missing, 'answer')} missing: no band", **counts.fields)
            continue
        band = band_of(stage, counts.hits, seats, case.size)
        verdict: VerdictKind = "drop" if band in stage.drop else "keep"
        fields = counts.fields | {"evidence": counts.evidence | {BAND: band}}
        yield case.verdict(item.id, verdict, f"{band}: {counts.hits} of {seats} answer it", **fields)


def band_of(stage: Stage, hits: int, seats: int, size: int) -> str:
    """The band of a count; for a panel of another size, that of the nearest count of the recipe's."""
    nearest = hits if seats == size else int(hits * size / seats + 0.5)
    return next(name for name, (low, high) in stage.bands.items() if low <= nearest <= high)


def _probe_rule(stage: Stage, seats: int, size: int, tests: int) -> None:
    """No model is asked."""
    if stage.probe is None:
        raise InputError(f"the stage {stage.title}: which probe? eyetest audit --help lists them")
    if only_rates(stage.probe):
        raise InputError(
            f"the stage {stage.title}: {stage.probe} gives a rate of the whole benchmark and names no items; "
            "eyetest audit shows it, and filter: chance-aware removes what models answer without the image"
        )


def _judge_probed(case: FilterInput) -> Iterator[Verdict]:
    """Probe the whole benchmark; an item with an alarm gets the probe's verdict, or the stage's."""
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


FILTERS = (
    Filter(
        "blind-hits",
        "drop items that too many inspectors answer without the image (MMStar, MMMU-Pro, LIME)",
        frozenset({"keep", "right", "answers"}),
        _judge_blind,
        _blind_rule,
    ),
    Filter(
        "difficulty",
        "sort items into bands by how many of the panel answer them; drop some bands (MMStar, LIME)",
        frozenset({"bands", "drop", "right", "answers"}),
        _judge_difficulty,
        _band_rule,
    ),
    Filter(
        "probe",
        "drop, or send to people, what a probe of eyetest audit finds",
        frozenset({"probe", "then"}),
        _judge_probed,
        _probe_rule,
    ),
)

"""Suspect golds: models vote against them, or none answers; then a judge sees image, question and golden answer
(LIME) and says YES if it is right; of captions, if every one fits.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from eyetest.errors import InputError
from eyetest.filters.base import FilterInput
from eyetest.filters.hits import count, stopping_rule
from eyetest.measures.results import CAPTION_METRICS
from eyetest.measures.stats.consensus import INDEPENDENT, PRIOR, Suspicion, most_chosen, recurring, suspicion
from eyetest.prompts.building import label_within
from eyetest.records import (
    Cut,
    ImagePart,
    Item,
    Message,
    Prompt,
    Response,
    Stage,
    StoppingRule,
    Verdict,
    Words,
    letter,
    tag_word,
)

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LAST_LINE = re.compile(r"(?:^|\n)\W*(?:answer\W+)?(yes|no)\W*$", re.IGNORECASE)
_WORD = re.compile(r"\b(YES|NO)\b")


class WrongGold:
    """Send items to review whose gold looks moved by the panel's choices."""

    name = "wrong-gold"
    summary = "send items to people whose gold the panel's answers speak against"
    uses: ClassVar[frozenset[str]] = frozenset({"keep", "then", "task", "people"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """No stopping rule: every answer is evidence."""
        if set(stage.keep) not in ({"sound"}, {"ratio"}):
            cuts = "sound: from which probability on an item is kept, or ratio: up to which log likelihood ratio"
            raise InputError(f"the stage {stage.title}: keep has to say one of {cuts}")
        return None

    def judge(self, case: FilterInput) -> Iterator[Verdict]:
        """Judge the golds by the panel's choices."""
        suspects = [item for item in case.items if item.gold and len(item.choices) > 1]
        weighed = _weighed(case, suspects)
        places = {item.id: place for place, item in enumerate(suspects)}
        keeps = [_keeps(case.stage, weighed, place) for place in range(len(suspects))]
        sent = weighed.flawed[~np.array(keeps, bool)]
        worth = {"sent": len(sent), "wrong of these, by these odds": _rounded(sent.sum(), 1)}
        worth |= {"independent models": round(weighed.independent, 1), "prior": weighed.prior}
        for item in case.items:
            if item.id not in places:
                yield case.verdict(item.id, "keep", "not a choice with a gold")
                continue
            place, rows = places[item.id], case.evidence.of(item.id)
            evidence = {"flawed": _rounded(weighed.flawed[place], 3), "log ratio": _rounded(weighed.ratios[place], 2)}
            found = {
                "n": sum(option >= 0 for option in _choices(case, item)),
                "responses": tuple(answer.request for row in rows for answer in row if answer),
                "evidence": evidence | worth,
            }
            verdict = "keep" if keeps[place] else case.stage.then or "review"
            yield case.verdict(item.id, verdict, _reason(item, weighed, place), **found)


def _rounded(value: float, digits: int) -> float | None:
    return round(float(value), digits) if math.isfinite(value) else None


def _weighed(case: FilterInput, items: Sequence[Item]) -> Suspicion:
    choices = np.array([_choices(case, item) for item in items] or np.empty((0, 1)), np.int64)
    options = np.array([len(item.choices) for item in items], np.int64)
    golds = np.array([item.gold[0] for item in items], np.int64)
    kinds = recurring([choice.text for choice in item.choices] for item in items)
    task = case.stage.task
    tasks = [tag_word(item.tags.get(task)) for item in items] if task else None
    return suspicion(choices, options, golds, kinds, tasks, case.stage.people or 1 - PRIOR)


def _keeps(stage: Stage, weighed: Suspicion, place: int) -> bool:
    """Whether an item passes; without odds a cut of ``sound`` cannot be applied, and every item does."""
    if "ratio" in stage.keep:
        return stage.keep["ratio"].holds(float(weighed.ratios[place]))
    flawed = float(weighed.flawed[place])
    return math.isnan(flawed) or stage.keep["sound"].holds(1 - flawed)


def _reason(item: Item, weighed: Suspicion, place: int) -> str:
    """The rival and how likely the gold is wrong, or why there are no odds."""
    gold, rival = letter(item.gold[0]), letter(int(weighed.rivals[place]))
    ratio, flawed = f"log ratio {weighed.ratios[place]:+.1f}", weighed.flawed[place]
    if math.isnan(flawed):
        few = f"no odds, since models count as {weighed.independent:.1f} independent ones, below {INDEPENDENT:g}"
        return f"{rival} instead of {gold}? {ratio}; {few}"
    return f"{rival} instead of {gold}? wrong gold {flawed:.0%}, {ratio}"


def _choices(case: FilterInput, item: Item) -> list[int]:
    """The place that each seat chose most (a seat has one vote); −1 where none was read or two lead."""
    rows = [
        [_ALPHABET.index(answer.choice) for answer in row if answer and answer.choice]
        for row in case.evidence.of(item.id)
    ]
    votes = [most_chosen(item.gold[0] if option in item.gold else option for option in row) for row in rows]
    return [-1 if option is None else option for option in votes]


class ZeroPass:
    """Items without a hit go to a judge; what it rejects is dropped, what it confirms goes to review."""

    name = "zero-pass"
    summary = "have a judge model check items that no model answers; drop those it rejects, review the rest (LIME)"
    uses: ClassVar[frozenset[str]] = frozenset({"judge", "right", "best_cut", "answers", "then"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule:
        """Stop at the first hit."""
        return stopping_rule(stage, Cut(op=">=", value=1), seats, tests)

    def judge(self, case: FilterInput) -> Iterator[Verdict]:
        """Find the items without a hit, judge them together, and give verdicts in the items' order."""
        stage, seats = case.stage, [seat.model for seat in case.seats]
        rule = self.rule(stage, len(seats), case.size, case.evidence.tests)
        counts = {i.id: count(stage, rule, case.evidence.of(i.id), seats, stage.full_counts) for i in case.items}
        missed = [item for item in case.items if counts[item.id].holds is False]
        said = dict(zip((item.id for item in missed), self._asked(case, missed), strict=True))
        for item in case.items:
            on_item = counts[item.id]
            if on_item.holds:
                yield case.verdict(item.id, "keep", "some model answers it", **on_item.told)
            elif on_item.holds is None:
                yield case.verdict(item.id, "review", on_item.incomplete, **on_item.told)
            else:
                yield self._judged(case, item.id, said[item.id], on_item.told)

    def _asked(self, case: FilterInput, items: Sequence[Item]) -> Iterable[Response | None]:
        if case.ask is None or not case.judges or not items:
            return [None] * len(items)
        prompts = []
        for item in items:
            metrics = [said.metric for row in case.evidence.of(item.id) for said in row if said is not None]
            captions = bool(metrics) and metrics[0].startswith(CAPTION_METRICS)
            prompts.append((item, judge_prompt(item, captions=captions)))
        return case.ask(case.judges[0], prompts)

    def _judged(self, case: FilterInput, item: str, said: Response | None, told: dict[str, Any]) -> Verdict:
        fits = None if said is None else says_yes(said.text or "")
        if said is not None:
            told = told | {"responses": (*told["responses"], said.request)}
        if fits is False:
            reason = "no model answers it, and the judge rejects its answer key"
            return case.verdict(item, case.stage.then or "drop", reason, **told)
        if fits:
            return case.verdict(item, "review", "no model answers it; the judge confirms its answer key", **told)
        return case.verdict(item, "review", "no model answers it, and the judge gave neither YES nor NO", **told)


def says_yes(text: str) -> bool | None:
    """A judge's verdict: its last line if that is yes or no, else its last YES or NO in capitals; or neither."""
    last = _LAST_LINE.search(text)
    words = [last[1].upper()] if last else _WORD.findall(text)
    return words[-1] == "YES" if words else None


def judge_prompt(item: Item, *, captions: bool = False) -> Prompt:
    """The prompt of a judge."""
    images = tuple(ImagePart(image) for image in item.images)

    def spoken(text: str) -> str:
        return label_within(text, len(images))

    texts = [f"{letter(i)}. {item.choices[i].text}" for i in item.gold] or list(item.references)
    golds = "\n".join(f"- {spoken(text)}" for text in texts)
    if captions:
        task = (
            "Describe this image to yourself in detail first. Then read the captions below, which are meant to "
            "describe it. Say YES if every one of them fits what you see, and NO if any does not. End with a line "
            f"that says only YES or NO.\n\nCaptions:\n{golds}"
        )
    else:
        options = "\n".join(f"{letter(i)}. {spoken(choice.text)}" for i, choice in enumerate(item.choices))
        task = (
            "A question about this image has a golden answer. Work out whether that answer is right. End with a "
            "line that says only YES if it is, or NO if it is wrong, cannot be known, or the question makes no "
            "sense.\n\n"
            f"Question: {spoken(item.question)}\n{options}\n\nGolden answer:\n{golds}"
        )
    return Prompt((Message("user", (*images, Words(task))),))


FILTERS = (WrongGold(), ZeroPass())

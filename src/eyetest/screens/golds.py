"""Golds in doubt: models that know agree on another option, or nobody answers. For people to look at.

Of an item that nobody answers a judge is first shown the picture, the question and the golden answer (LIME), and says
YES if that answer is right. Of a captioning item it describes the picture, and says YES only if every caption fits.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from eyetest.errors import InputError
from eyetest.measures.results import CAPTION_METRICS
from eyetest.measures.stats.consensus import Suspicion, suspicion, voice
from eyetest.measures.stats.item_states import STATES
from eyetest.measures.stats.recurring import recurring
from eyetest.prompts.building import label_within
from eyetest.records import (
    Cut,
    Item,
    Message,
    Picture,
    Prompt,
    Response,
    Stage,
    StoppingRule,
    Verdict,
    Words,
    letter,
    tag_word,
)
from eyetest.screens.base import PanelAnswer, ScreenInput
from eyetest.screens.hits import count, stopping_rule

_EVEN = 0.5
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


_LAST_LINE = re.compile(r"(?:^|\n)\W*(?:answer\W+)?(yes|no)\W*$", re.IGNORECASE)
_WORD = re.compile(r"\b(YES|NO)\b")


class WrongGold:
    """How likely an item is sound, by what the panel chose; the others go to people, with the likeliest why."""

    name = "wrong-gold"
    summary = "send items to people whose gold the panel's answers speak against"
    uses: ClassVar[frozenset[str]] = frozenset({"keep", "then", "task"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """Every answer is evidence."""
        if set(stage.keep) not in ({"sound"}, {"ratio"}):
            cuts = "sound: from which probability on an item is kept, or ratio: up to which log likelihood ratio"
            raise InputError(f"the stage {stage.title}: keep has to say one of {cuts}")
        return None

    def judge(self, case: ScreenInput) -> Iterator[Verdict]:
        """Weigh the options of each item by what the panel chose."""
        doubtful = [item for item in case.items if item.gold and len(item.choices) > 1]
        weighed = _weighed(case, doubtful)
        found = {item.id: place for place, item in enumerate(doubtful)}
        keeps = [_keeps(case.stage, weighed, place) for place in range(len(doubtful))]
        sent = [1 - weighed.states[place, 0] for place, keep in enumerate(keeps) if not keep]
        worth = {"sent": len(sent), "flawed of these, by these odds": round(float(sum(sent)), 1)}
        for item in case.items:
            if item.id not in found:
                yield case.verdict(item.id, "keep", "not a choice with a gold")
                continue
            place, answers = found[item.id], [said for row in case.evidence.of(item.id) for said in row if said]
            states = dict(zip(STATES, weighed.states[place].round(3).tolist(), strict=True))
            told = {
                "n": sum(option >= 0 for option in _choices(case, item)),
                "responses": tuple(said.request for said in answers),
                "evidence": {"states": states, "log ratio": round(float(weighed.ratios[place]), 2)} | worth,
            }
            verdict = "keep" if keeps[place] else case.stage.then or "review"
            yield case.verdict(item.id, verdict, _reason(item, weighed, place), **told)


def _weighed(case: ScreenInput, items: Sequence[Item]) -> Suspicion:
    choices = np.array([_choices(case, item) for item in items] or np.empty((0, 1)), np.int64)
    options = np.array([len(item.choices) for item in items], np.int64)
    golds = np.array([item.gold[0] for item in items], np.int64)
    kinds = recurring([choice.text for choice in item.choices] for item in items)
    tasks = [tag_word(item.tags.get(case.stage.task or "task")) for item in items]
    return suspicion(choices, options, golds, kinds, tasks)


def _keeps(stage: Stage, weighed: Suspicion, place: int) -> bool:
    if "sound" in stage.keep:
        return stage.keep["sound"].holds(float(weighed.states[place, 0]))
    ratio = float(weighed.ratios[place])
    return stage.keep["ratio"].holds(ratio) or not math.isfinite(ratio)


def _reason(item: Item, weighed: Suspicion, place: int) -> str:
    """What is likeliest, and how likely it is."""
    states = weighed.states[place]
    gold, rival, partner = (letter(int(of)) for of in (item.gold[0], weighed.rivals[place], weighed.partners[place]))
    flaws = (f"{rival} instead of {gold}", f"{partner} beside {gold}", "those who are right elsewhere guess")
    likeliest = int(states[1:].argmax()) + 1 if states[0] < _EVEN else 0
    if not likeliest:
        return f"{STATES[0]}: {states[0]:.0%}"
    return f"{STATES[likeliest]}: {flaws[likeliest - 1]}, {states[likeliest]:.0%} (sound {states[0]:.0%})"


def _choices(case: ScreenInput, item: Item) -> list[int]:
    """The place that each seat chose most; −1 where none was read or two lead. Of several golds, one is as good.

    A seat has one voice: asked ten times, a model that errs errs ten times.
    """
    rows = [
        [_ALPHABET.index(said.choice) for said in row if said and said.choice] for row in case.evidence.of(item.id)
    ]
    voices = [voice(item.gold[0] if option in item.gold else option for option in row) for row in rows]
    return [-1 if option is None else option for option in voices]


class ZeroPass:
    """Items with no hit at all go to a judge; what it rejects is dropped, what it confirms goes to people."""

    name = "zero-pass"
    summary = "have a judge model look at items that nobody answers; drop what it rejects, review the rest (LIME)"
    uses: ClassVar[frozenset[str]] = frozenset({"judge", "right", "best_cut", "answers", "then"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule:
        """One hit settles it."""
        return stopping_rule(stage, Cut(op=">=", value=1), seats, tests)

    def judge(self, case: ScreenInput) -> Iterator[Verdict]:
        """Find the items without a hit, ask about them together, then tell what was found in the items' order."""
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

    def _asked(self, case: ScreenInput, items: Sequence[Item]) -> Iterable[Response | None]:
        if case.ask is None or not case.judges or not items:
            return [None] * len(items)
        captions = {item.id: _is_caption(case.evidence.of(item.id)) for item in items}
        prompts = [(item, judge_prompt(item, captions=captions[item.id])) for item in items]
        return case.ask(case.judges[0], prompts)

    def _judged(self, case: ScreenInput, item: str, said: Response | None, told: dict[str, Any]) -> Verdict:
        fits = None if said is None else says_yes(said.text or "")
        if said is not None:
            told = told | {"responses": (*told["responses"], said.request)}
        if fits is False:
            reason = "nobody answers it, and the judge rejects its gold"
            return case.verdict(item, case.stage.then or "drop", reason, **told)
        if fits:
            return case.verdict(item, "review", "nobody answers it; the judge confirms its gold", **told)
        return case.verdict(item, "review", "nobody answers it, and no judge has said YES or NO", **told)


def says_yes(text: str) -> bool | None:
    """What a judge says: its last line if that is yes or no, else the last YES or NO that it wrote so; or neither."""
    last = _LAST_LINE.search(text)
    words = [last[1].upper()] if last else _WORD.findall(text)
    return words[-1] == "YES" if words else None


def _is_caption(answers: Sequence[Sequence[PanelAnswer | None]]) -> bool:
    metrics = [said.metric for row in answers for said in row if said is not None]
    return bool(metrics) and metrics[0].startswith(CAPTION_METRICS)


def judge_prompt(item: Item, *, captions: bool = False) -> Prompt:
    """The question to a judge."""
    pictures = tuple(Picture(image) for image in item.images)
    golds = "\n".join(f"- {label_within(text, len(pictures))}" for text in _golds(item))

    def spoken(text: str) -> str:
        return label_within(text, len(pictures))

    if captions:
        task = (
            "Describe this picture to yourself in detail first. Then read the captions below, which are meant to "
            "describe it. Say YES if every one of them fits what you see, and NO if any does not. End with a line "
            f"that says only YES or NO.\n\nCaptions:\n{golds}"
        )
    else:
        options = "\n".join(f"{letter(i)}. {spoken(choice.text)}" for i, choice in enumerate(item.choices))
        task = (
            "A question about this picture has a golden answer. Work out whether that answer is right. End with a "
            "line that says only YES if it is, or NO if it is wrong, cannot be known, or the question makes no "
            "sense.\n\n"
            f"Question: {spoken(item.question)}\n{options}\n\nGolden answer:\n{golds}"
        )
    return Prompt((Message("user", (*pictures, Words(task))),))


def _golds(item: Item) -> list[str]:
    return [f"{letter(i)}. {item.choices[i].text}" for i in item.gold] or list(item.references)


SCREENS = (WrongGold(), ZeroPass())

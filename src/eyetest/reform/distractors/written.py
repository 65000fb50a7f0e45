"""Distractors that one model writes and another checks, asked by a function of the caller; bad replies count."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import msgspec

from eyetest.errors import short
from eyetest.records import AskModel, ImagePart, Item, Message, OptionProvenance, Prompt, Response, Words
from eyetest.reform.distractors.words import differs
from eyetest.store.handwritten import convert, parse_yaml

SPARE = 2  # distractors requested beyond the needed ones, as some are rejected
_LONGEST = 200
_MOST_TOLD = 20  # how many rejected proposals a writer is shown
_FENCED = re.compile(r"\s*(?:```(?:json)?\s*)?(\[.*\])\s*(?:```)?\s*", re.DOTALL)
_VERDICT = re.compile(
    r"\s*(\d{1,2})\s*[:.)-]\s*\**(RIGHT|SAME|ODD|UNLIKE|WRONG)\**\.?\s*(?:[-–—:,(]\s*(.{0,300}?)\)?)?\s*",
    re.IGNORECASE,
)
_REASONS = {
    "RIGHT": "right as well",
    "SAME": "the same as another",
    "ODD": "implausible",
    "UNLIKE": "of another kind or style",
}


class WritingWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prompts of the writer and the checker."""

    write: str
    present: str
    turned_down: str
    check: str


class WantedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An item for which distractors are to be written."""

    item: Item
    gold: str
    right: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    count: int
    spare: int = 0  # number kept beyond the needed ones, for the caller to choose from


class TurnedDown(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rejected proposal: why, and by which model or rule."""

    text: str
    reason: str
    by: str
    why: str = ""  # the checker's words, if any


class WrittenDistractors:
    """Result of asking: distractors by item, and why others were rejected."""

    def __init__(self) -> None:
        self.by_item: dict[str, list[tuple[str, OptionProvenance]]] = {}
        self.refused: dict[str, list[TurnedDown]] = {}
        self.unread: Counter[str] = Counter()  # replies in an unexpected form
        self.no_list: set[str] = set()  # items whose last reply held no list

    @property
    def kept(self) -> int:
        """Number of accepted distractors."""
        return sum(map(len, self.by_item.values()))

    @property
    def turned_down(self) -> Counter[str]:
        """Number of rejected ones by reason."""
        return Counter(one.reason for refused in self.refused.values() for one in refused) + self.unread


Guarding = Callable[[WantedOptions, str, Sequence[str]], tuple[str, str]]
"""The corrected proposal, and why it is rejected, if it is; the texts are earlier proposals."""


def differs_from_all(wanted: WantedOptions, text: str, others: Sequence[str]) -> tuple[str, str]:
    """Minimum check of a proposal: it differs from all others, and is not too long."""
    if len(text) > _LONGEST:
        return text, "too long"
    known = [wanted.gold, *wanted.right, *wanted.present, *others]
    return text, "" if differs(text, known) else _REASONS["SAME"]


def write_distractors(
    wanted: Sequence[WantedOptions],
    ask: AskModel,
    authors: tuple[str, str],
    *,
    rounds: int = 1,
    guard: Guarding = differs_from_all,
) -> WrittenDistractors:
    """Distractors by a writer, passed by a checker; missing ones are requested again, with those rejected."""
    done = WrittenDistractors()
    writer, checker = authors
    for one in wanted:
        done.by_item[one.item.id], done.refused[one.item.id] = [], []
    left = list(wanted)
    for _ in range(rounds):
        left = [one for one in left if len(done.by_item[one.item.id]) < one.count]
        if not left:
            break
        said = ask(writer, [(one.item, _writing(one, done)) for one in left])
        proposed = [(one, _proposed(one, reply, done, guard)) for one, reply in zip(left, said, strict=True)]
        some = [(one, texts) for one, texts in proposed if texts]
        verdicts = ask(checker, [(one.item, _checking(one, texts, done)) for one, texts in some])
        for (one, texts), reply in zip(some, verdicts, strict=True):
            kept = done.by_item[one.item.id]
            passed = _passed(one, texts, reply, done, checker)[: one.count + one.spare - len(kept)]
            kept += [(text, OptionProvenance(author=writer, checked_by=(checker,))) for text in passed]
    return done


def read_list(reply: str) -> list[str] | None:
    """The texts of a JSON list, fenced or not; None for anything else."""
    match = _FENCED.fullmatch(reply)
    try:
        texts: list[Any] = msgspec.json.decode(match[1]) if match else []
    except msgspec.DecodeError:
        return None
    return [text.strip() for text in texts] if texts and all(isinstance(text, str) for text in texts) else None


class CheckerWord(NamedTuple):
    """A checker's verdict on a proposal, and why."""

    word: str
    why: str = ""


def read_verdicts(reply: str, count: int) -> list[CheckerWord] | None:
    """Read a verdict for each of so many numbers, in order; None unless exactly these numbers have a line."""
    matches = [_VERDICT.fullmatch(line) for line in reply.strip().splitlines() if line.strip()]
    said = {int(match[1]): CheckerWord(match[2].upper(), match[3] or "") for match in matches if match}
    if len(matches) != count or set(said) != set(range(1, count + 1)):
        return None
    return [said[number] for number in range(1, count + 1)]


def _proposed(one: WantedOptions, reply: Response | None, done: WrittenDistractors, guard: Guarding) -> list[str]:
    texts = read_list(reply.text or "") if reply is not None else None
    if texts is None:
        done.unread["the writer's reply is no list"] += 1
        done.no_list.add(one.item.id)
        return []
    done.no_list.discard(one.item.id)
    kept: list[str] = []
    before = [text for text, _ in done.by_item[one.item.id]]
    for text in texts:
        mended, reason = guard(one, text, [*before, *kept])
        if reason:
            done.refused[one.item.id].append(TurnedDown(text=text[: 2 * _LONGEST], reason=reason, by="rule"))
        else:
            kept.append(mended)
    return kept


def _passed(
    one: WantedOptions, texts: Sequence[str], reply: Response | None, done: WrittenDistractors, checker: str
) -> list[str]:
    verdicts = read_verdicts(reply.text or "", len(texts)) if reply is not None else None
    if verdicts is None:
        done.unread["the checker's reply is no list of verdicts"] += 1
        return []
    passed = []
    for text, said in zip(texts, verdicts, strict=True):
        if said.word == "WRONG":
            passed.append(text)
        else:
            refused = TurnedDown(text=text, reason=_REASONS[said.word], by=checker, why=said.why)
            done.refused[one.item.id].append(refused)
    return passed


def _writing(one: WantedOptions, done: WrittenDistractors) -> Prompt:
    kept = [text for text, _ in done.by_item[one.item.id]]
    refused = {told.text: told.reason for told in done.refused[one.item.id]}
    told = "\n".join(f"- {short(text, 120)}: {why}" for text, why in list(refused.items())[-_MOST_TOLD:])
    if one.item.id in done.no_list:
        told = f"{told}\n- your whole last reply: it was no JSON list".strip()
    count = one.count - len(kept) + SPARE
    return _filled(one, _words().write, kept, count=str(count), refused=told)


def _checking(one: WantedOptions, texts: Sequence[str], done: WrittenDistractors) -> Prompt:
    proposed = "\n".join(f"{number}: {text}" for number, text in enumerate(texts, 1))
    return _filled(one, _words().check, [text for text, _ in done.by_item[one.item.id]], proposed=proposed)


def _filled(one: WantedOptions, words: str, kept: Sequence[str], **more: str) -> Prompt:
    """A prompt with the item's images first. Placeholders are filled in one pass: a question may have braces too."""
    options = "\n".join(f"- {text}" for text in (*one.present, *kept))
    blocks = {
        "present": _words().present if options else "",
        "turned_down": _words().turned_down if more.get("refused") else "",
    }
    whole = re.sub(r"\{(present|turned_down)\}", lambda match: blocks[match[1]], words)
    known = {"question": one.item.question, "answer": one.gold, "options": options, **more}
    text = re.sub(r"\{(\w+)\}", lambda match: known.get(match[1], match[0]), whole)
    return Prompt((Message("user", (*map(ImagePart, one.item.images), Words(text.strip()))),))


@cache
def _words() -> WritingWords:
    text = (resources.files(__package__) / "writing.yaml").read_text(encoding="utf-8")
    return convert(parse_yaml(text, "writing.yaml"), WritingWords, "writing.yaml")

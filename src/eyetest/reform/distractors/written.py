"""Distractors that a model writes and another one checks.

Neither is asked here: the caller hands in how to ask, so that every request goes through a run's journal. Replies are
read strictly. One that is not what was asked for gives nothing, and is counted.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from eyetest.records import AskModel, Item, Message, OptionProvenance, Picture, Prompt, Response, Words
from eyetest.reform.distractors.words import differs
from eyetest.store.handwritten import convert, parse_yaml

SPARE = 2
"""How many more distractors are asked for than are needed, as some will be turned down."""
_LONGEST = 200
_FENCED = re.compile(r"\s*(?:```(?:json)?\s*)?(\[.*\])\s*(?:```)?\s*", re.DOTALL)
_VERDICT = re.compile(r"\s*(\d{1,2})\s*[:.)-]\s*\**(RIGHT|SAME|ODD|WRONG)\**\.?\s*", re.IGNORECASE)
_REASONS = {"RIGHT": "right as well", "SAME": "the same as another", "ODD": "implausible"}


class WritingWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the writer and the checker are asked."""

    write: str
    check: str


class WrittenDistractors:
    """What came of asking: distractors by item, and why others were turned down."""

    def __init__(self) -> None:
        self.by_item: dict[str, list[tuple[str, OptionProvenance]]] = {}
        self.turned_down: Counter[str] = Counter()

    @property
    def kept(self) -> int:
        """How many distractors passed."""
        return sum(map(len, self.by_item.values()))


def write_distractors(
    items: Sequence[Item], count: int, ask: AskModel, writer: str, checker: str
) -> WrittenDistractors:
    """Distractors for open questions, whose first reference is the gold."""
    done = WrittenDistractors()
    said = ask(writer, [(item, _writing(item, count + SPARE)) for item in items])
    proposed = [(item, _proposed(item, reply, done)) for item, reply in zip(items, said, strict=True)]
    open_ = [(item, texts) for item, texts in proposed if texts]
    verdicts = ask(checker, [(item, _checking(item, texts)) for item, texts in open_])
    for (item, texts), reply in zip(open_, verdicts, strict=True):
        passed = list(_passed(texts, reply, done))[:count]
        done.by_item[item.id] = [(text, OptionProvenance(author=writer, checked_by=(checker,))) for text in passed]
    return done


def read_list(reply: str) -> list[str] | None:
    """The texts of a JSON list, fenced or not; None for anything else."""
    match = _FENCED.fullmatch(reply)
    try:
        texts: list[Any] = msgspec.json.decode(match[1]) if match else []
    except msgspec.DecodeError:
        return None
    return [text.strip() for text in texts] if texts and all(isinstance(text, str) for text in texts) else None


def read_verdicts(reply: str, count: int) -> list[str] | None:
    """A word for each of so many numbers, in order; None unless every number has a line, and there is no other."""
    matches = [_VERDICT.fullmatch(line) for line in reply.strip().splitlines() if line.strip()]
    said = {int(match[1]): match[2].upper() for match in matches if match}
    if len(matches) != count or set(said) != set(range(1, count + 1)):
        return None
    return [said[number] for number in range(1, count + 1)]


def _proposed(item: Item, reply: Response | None, done: WrittenDistractors) -> list[str]:
    texts = read_list(reply.text or "") if reply is not None else None
    if texts is None:
        done.turned_down["the writer's reply is no list"] += 1
        return []
    kept: list[str] = []
    for text in texts:
        if not differs(text, [*item.references, *kept]) or len(text) > _LONGEST:
            done.turned_down[_REASONS["SAME"] if len(text) <= _LONGEST else "too long"] += 1
        else:
            kept.append(text)
    return kept


def _passed(texts: Sequence[str], reply: Response | None, done: WrittenDistractors) -> Iterator[str]:
    verdicts = read_verdicts(reply.text or "", len(texts)) if reply is not None else None
    if verdicts is None:
        done.turned_down["the checker's reply is no list of verdicts"] += 1
        return
    for text, verdict in zip(texts, verdicts, strict=True):
        if verdict == "WRONG":
            yield text
        else:
            done.turned_down[_REASONS[verdict]] += 1


def _writing(item: Item, count: int) -> Prompt:
    return _filled(item, _words().write, count=str(count))


def _checking(item: Item, texts: Sequence[str]) -> Prompt:
    proposed = "\n".join(f"{number}: {text}" for number, text in enumerate(texts, 1))
    return _filled(item, _words().check, proposed=proposed)


def _filled(item: Item, words: str, **more: str) -> Prompt:
    """A prompt with the item's pictures first. Placeholders are filled in one go: a question may have braces too."""
    known = {"question": item.question, "answer": item.references[0], **more}
    text = re.sub(r"\{(\w+)\}", lambda match: known.get(match[1], match[0]), words)
    return Prompt((Message("user", (*map(Picture, item.images), Words(text.strip()))),))


@cache
def _words() -> WritingWords:
    text = (resources.files(__package__) / "writing.yaml").read_text(encoding="utf-8")
    return convert(parse_yaml(text, "writing.yaml"), WritingWords, "writing.yaml")

"""Distractors that one model writes and another checks, asked by a function of the caller; bad replies count."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from eyetest.errors import short
from eyetest.prompts.sets import Prompts, load_prompts
from eyetest.records import AskModel, ImagePart, Item, Message, OptionProvenance, Prompt, Response, Words
from eyetest.reform.distractors import differs
from eyetest.reform.distractors.answer_kinds import AnswerKind, kind_of

SPARE = 2  # distractors requested beyond the needed ones, as some are rejected
_LONGEST = 200
_MOST_SHOWN = 20  # how many rejected proposals a writer is shown
_FENCED = re.compile(r"\s*(?:```(?:json)?\s*)?(\[.*\])\s*+(?:```)?\s*+", re.DOTALL)
_VERDICT = re.compile(
    r"\s*(\d{1,2})\s*[:.)-]\s*\**(RIGHT|SAME|ODD|UNLIKE|WRONG)\**\.?\s*+(?:[-–—:,(]\s*+(.{0,300}?)\)?)?\s*+",
    re.IGNORECASE,
)
_REASONS = {
    "RIGHT": "right as well",
    "SAME": "the same as another",
    "ODD": "implausible",
    "UNLIKE": "of another kind or style",
}


class Case(msgspec.Struct, frozen=True):
    """An item that needs distractors: its key, the wrong options that it keeps, and the number wanted."""

    item: Item
    gold: str
    present: tuple[str, ...] = ()
    need: int = 0

    @property
    def kind(self) -> AnswerKind:
        """Kind of the key."""
        return kind_of(self.item.question, self.gold)

    @property
    def options(self) -> tuple[str, ...]:
        """The key and the wrong options."""
        return self.gold, *self.present


class TurnedDown(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rejected proposal: why, and by which model or rule."""

    text: str
    reason: str
    by: str
    why: str = ""  # the checker's words, if any


class OptionAuthors(msgspec.Struct, frozen=True):
    """The models that write proposals and check them, and what they are asked."""

    ask: AskModel
    writer: str
    checker: str
    prompts: Prompts = msgspec.field(default_factory=load_prompts)


class WrittenDistractors:
    """Result of asking: distractors by item, and why others were rejected."""

    def __init__(self, wanted: Sequence[Case] = (), prompts: Prompts | None = None) -> None:
        self.prompts = prompts or load_prompts()  # of the writer and the checker
        self.by_item: dict[str, list[tuple[str, OptionProvenance]]] = {item.item.id: [] for item in wanted}
        self.refused: dict[str, list[TurnedDown]] = {item.item.id: [] for item in wanted}
        self.unread: Counter[str] = Counter()  # replies in an unexpected form
        self.no_list: set[str] = set()  # items whose last reply held no list

    def kept(self, wanted: Case) -> list[str]:
        """The accepted distractors of an item."""
        return [text for text, _ in self.by_item[wanted.item.id]]

    @property
    def turned_down(self) -> Counter[str]:
        """Number of rejected ones by reason."""
        return Counter(proposal.reason for refused in self.refused.values() for proposal in refused) + self.unread


Guarding = Callable[[Case, str, Sequence[str]], tuple[str, str]]
"""The corrected proposal, and why it is rejected, if it is; the texts are earlier proposals."""


def differs_from_all(wanted: Case, text: str, others: Sequence[str]) -> tuple[str, str]:
    """Minimum check of a proposal: it differs from all others, and is not too long."""
    if len(text) > _LONGEST:
        return text, "too long"
    known = [*wanted.options, *wanted.item.references, *others]
    return text, "" if differs(text, known) else _REASONS["SAME"]


def write_distractors(
    wanted: Sequence[Case],
    authors: OptionAuthors,
    *,
    rounds: int = 1,
    spare: int = 0,
    guard: Guarding = differs_from_all,
) -> WrittenDistractors:
    """Distractors by a writer, passed by a checker, and ``spare`` ones; missing ones are requested again."""
    done = WrittenDistractors(wanted, authors.prompts)
    ask, writer, checker = authors.ask, authors.writer, authors.checker
    provenance = OptionProvenance(author=writer, checked_by=(checker,))
    for _ in range(rounds):
        left = [short_of for short_of in wanted if len(done.kept(short_of)) < short_of.need]
        if not left:
            break
        replies = ask(writer, [(own.item, _writing(own, done)) for own in left])
        proposals = [(own, _proposed(own, reply, done, guard)) for own, reply in zip(left, replies, strict=True)]
        proposals = [(own, texts) for own, texts in proposals if texts]
        verdicts = ask(checker, [(own.item, _checking(own, texts, done)) for own, texts in proposals])
        for (own, texts), reply in zip(proposals, verdicts, strict=True):
            passed = _passed(own, texts, reply, done, checker)[: own.need + spare - len(done.kept(own))]
            done.by_item[own.item.id] += [(text, provenance) for text in passed]
    return done


def read_list(reply: str) -> list[str] | None:
    """The texts of a JSON list, fenced or not; None for anything else."""
    match = _FENCED.fullmatch(reply)
    try:
        texts = msgspec.json.decode(match[1], type=list[str]) if match else []
    except msgspec.DecodeError:
        return None
    return [text.strip() for text in texts] or None


def read_verdicts(reply: str, count: int) -> list[tuple[str, str]] | None:
    """A word and why for each of so many numbers, in order; None unless exactly these numbers have a line."""
    matches = [_VERDICT.fullmatch(line) for line in reply.strip().splitlines() if line.strip()]
    verdicts = {int(match[1]): (match[2].upper(), match[3] or "") for match in matches if match}
    if len(matches) != count or set(verdicts) != set(range(1, count + 1)):
        return None
    return [verdicts[number] for number in range(1, count + 1)]


def _proposed(wanted: Case, reply: Response | None, done: WrittenDistractors, guard: Guarding) -> list[str]:
    texts = read_list(reply.text or "") if reply is not None else None
    if texts is None:
        done.unread["the writer's reply is no list"] += 1
        done.no_list.add(wanted.item.id)
        return []
    done.no_list.discard(wanted.item.id)
    proposed: list[str] = []
    for text in texts:
        repaired, reason = guard(wanted, text, [*done.kept(wanted), *proposed])
        if reason:
            done.refused[wanted.item.id].append(TurnedDown(text=text[: 2 * _LONGEST], reason=reason, by="rule"))
        else:
            proposed.append(repaired)
    return proposed


def _passed(
    wanted: Case, texts: Sequence[str], reply: Response | None, done: WrittenDistractors, checker: str
) -> list[str]:
    verdicts = read_verdicts(reply.text or "", len(texts)) if reply is not None else None
    if verdicts is None:
        done.unread["the checker's reply is no list of verdicts"] += 1
        return []
    for text, (word, why) in zip(texts, verdicts, strict=True):
        if word != "WRONG":
            refused = TurnedDown(text=text, reason=_REASONS[word], by=checker, why=why)
            done.refused[wanted.item.id].append(refused)
    return [text for text, (word, _) in zip(texts, verdicts, strict=True) if word == "WRONG"]


def _writing(wanted: Case, done: WrittenDistractors) -> Prompt:
    reasons = {proposal.text: proposal.reason for proposal in done.refused[wanted.item.id]}
    refused = "\n".join(f"- {short(text, 120)}: {why}" for text, why in list(reasons.items())[-_MOST_SHOWN:])
    if wanted.item.id in done.no_list:
        refused = f"{refused}\n- your whole last reply: it was no JSON list".strip()
    count = wanted.need - len(done.kept(wanted)) + SPARE
    return _filled(wanted, "writer", done, count=str(count), refused=refused)


def _checking(wanted: Case, texts: Sequence[str], done: WrittenDistractors) -> Prompt:
    proposed = "\n".join(f"{number}: {text}" for number, text in enumerate(texts, 1))
    return _filled(wanted, "checker", done, proposed=proposed)


def _filled(wanted: Case, role: str, done: WrittenDistractors, **more: str) -> Prompt:
    """A prompt with the item's images first."""
    options = "\n".join(f"- {text}" for text in (*wanted.present, *done.kept(wanted)))
    texts, refused = done.prompts.of(wanted.item), more.pop("refused", "")
    present = texts.role("present", options=options) if options else ""
    down = texts.role("turned_down", refused=refused) if refused else ""
    known = {"question": wanted.item.question, "answer": wanted.gold, "present": present, "turned_down": down}
    text = texts.role(role, **known, **more)
    return Prompt((Message("user", (*map(ImagePart, wanted.item.images), Words(text.strip()))),))

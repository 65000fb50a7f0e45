"""Tables that packages exchange, one record a row; fields are in the order of columns."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import blake2b
from operator import eq, ge, gt, le, lt
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from eyetest.errors import InputError, as_stored, short
from eyetest.records.item import MEDIA_KINDS, Item, Manifest, OutcomeKind, letter, tag_word
from eyetest.redaction import HIDDEN, plain_address, plain_settings, plain_variable, redact

__all__ = [
    "BLIND_MODALITIES",
    "GIVEN",
    "NO_IMAGES",
    "REVERSED",
    "RUN_VERSION",
    "WITH_MEDIUM",
    "Answer",
    "Asked",
    "Condition",
    "Cut",
    "Decision",
    "DecisionKind",
    "Finding",
    "ModelEntry",
    "OutcomeKind",
    "Planned",
    "ReadingKind",
    "RunBenchmark",
    "RunManifest",
    "RunStep",
    "Score",
    "Severity",
    "Verdict",
    "VerdictKind",
    "columns",
    "mark",
    "order_shown",
    "order_word",
    "positions_shown",
    "read_order",
    "shown_order",
]  # fmt: skip

Modality = Literal[
    "image", "no-image", "no-image-guess", "no-question", "nothing", "gray", "caption", "screenshot",
    "video", "audio", "document",
]  # fmt: skip
"""What is shown of an item. Only images are sent by eyetest; others show videos, sounds and documents."""
Ask = Literal["direct", "cot", "ocr"]
Shots = Literal["none", "format", "two"]
Letters = Literal["upper", "lower", "digit"]
Method = Literal["generate", "likelihood", "first-token"]
History = Literal["gold", "own"]
USUAL_PROMPTS = "eyetest"  # the label of the texts that come with eyetest; that of others ends in a hash of them

Operator = Literal["<", "<=", "==", ">=", ">"]


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Price of a million tokens, in the service's currency."""

    input: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    output: Annotated[float, msgspec.Meta(ge=0)] = 0.0

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """The cost of so many tokens."""
        return (tokens_in * self.input + tokens_out * self.output) / 1e6


Seconds = Annotated[float, msgspec.Meta(ge=0)]
SomeSeconds = Annotated[float, msgspec.Meta(ge=0.1)]


PROPERTIES = ("group", "series", "base", "size_b", "encoder", "tuning", "open")  # of models, to group them by


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of ``models.yaml``: how to reach a model, and its metadata."""

    spec: str
    base: str | None = None
    trained_on: tuple[str, ...] = ()
    size_b: float | None = None
    series: str | None = None
    encoder: str | None = None
    group: str | None = None
    tuning: str | None = None
    open: bool | None = None
    facts: dict[str, str | bool | float] = {}  # properties of the user's own, to group models by
    sampling: dict[str, Any] = {}  # sent beside the prompt: temperature, max_tokens, other settings of the endpoint
    key_env: str | None = None  # the environment variable with the key, which is never written anywhere
    detail: Literal["low", "high", "auto"] | None = None  # the resolution at which the endpoint reads images
    prefill: bool = False  # whether the model continues a turn that was begun for it
    price: Price | None = None
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None = None
    attempts: Annotated[int, msgspec.Meta(ge=1)] | None = None  # the most at one call; default 8
    backoff: Seconds | None = None  # before the second attempt, then doubling; default 0.5
    timeout: SomeSeconds | None = None  # for a whole call; default 600
    first_byte: SomeSeconds | None = None  # until an answer begins; default 300
    connect: SomeSeconds | None = None  # until the server is reached; default 10
    finishes: dict[str, OutcomeKind] = {}  # what finish reasons of this server mean that eyetest does not know
    patience: Seconds | None = None  # for a server that has gone away; default 600, at most 30 before a first answer

    def fact(self, name: str) -> str | None:
        """A property or a fact as a word: a size in whole billions from 2 on, else tenths; yes or no; numbers."""
        value = getattr(self, name) if name in PROPERTIES else self.facts.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return tag_word(value)
        return f"{value:g}" if name != "size_b" else f"{value:.0f}B" if value >= 2 else f"{value:.1f}B"

    def written_down(self) -> "ModelEntry":
        """The entry without anything that could be a key, for files that are passed on."""
        key_env = plain_variable(self.key_env) or HIDDEN if self.key_env else None
        facts = {redact(name): redact(fact) if isinstance(fact, str) else fact for name, fact in self.facts.items()}
        spec, sampling = _plain_spec(self.spec), plain_settings(self.sampling)
        return msgspec.structs.replace(self, spec=spec, sampling=sampling, facts=facts, key_env=key_env)


def _plain_spec(spec: str) -> str:
    kind, _, target = spec.partition(":")
    match = re.search("@(https?://.*)", target, re.IGNORECASE | re.DOTALL)
    if match is None:
        return redact(spec)
    return f"{kind}:{redact(target[: match.start()])}@{plain_address(match[1])}"


_HOLDS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, "==": eq, ">=": ge, ">": gt}


class Cut(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A threshold with its operator, because papers and their code disagree about it."""

    op: Operator
    value: float

    def holds(self, number: float) -> bool:
        """Whether a number passes the cut."""
        return _HOLDS[self.op](number, self.value)


BLIND_MODALITIES: tuple[Modality, ...] = ("no-image", "no-image-guess", "gray")
WITH_MEDIUM: tuple[Modality, ...] = ("image", *MEDIA_KINDS)
"""The modalities that show an item whole, by what is shown; the first is the usual one."""


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One point on every axis along which a question can be asked differently.

    ``no-image`` leaves the image out, ``no-image-guess`` says so. ``template`` is an index into the instructions,
    ``order`` an order of the options (`read_order`). ``likelihood`` scores the texts of the options, not
    shown, ``first-token`` their letters. An item without any medium is asked
    ``no-image``, never ``image``. ``history`` says whose answers to earlier turns are shown, ``prompts`` which
    texts are sent beside the item's own.
    """

    modality: Modality = "image"
    ask: Ask = "direct"
    shots: Shots = "none"
    template: int = 0
    order: int = 0
    letters: Letters = "upper"
    method: Method = "generate"
    history: History = "gold"
    prompts: str = USUAL_PROMPTS


ReadingKind = Literal["chosen", "text", "refused", "ambiguous", "cut off", "unparsed"]
GIVEN = "given"  # the metric and the rule of a score decided elsewhere
LONGEST_DIRECT = 100  # characters of a reply that is taken for an answer and nothing else
VerdictKind = Literal["keep", "drop", "fix", "review"]
DecisionKind = Literal["keep", "drop", "fix", "unsure"]
"""``unsure``: cannot tell."""


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Model, item and condition: the key that answers, plans and scores share."""

    table_version: ClassVar[int] = 3

    item: str
    model: str
    modality: Modality = "image"
    ask: Ask = "direct"
    shots: Shots = "none"
    template: int = 0
    order: int = 0
    letters: Letters = "upper"
    method: Method = "generate"
    history: History = "gold"
    prompts: str = USUAL_PROMPTS
    sample: int = 0

    @property
    def key(self) -> bytes:
        """The hash of the fields, in sixteen bytes."""
        values = [getattr(self, name) for name in Asked.__struct_fields__]
        return blake2b(msgspec.json.encode(values), digest_size=16).digest()

    @property
    def condition(self) -> Condition:
        """The condition alone."""
        return Condition(**{name: getattr(self, name) for name in Condition.__struct_fields__})


class Answer(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model's answer. ``given`` is a score decided elsewhere, used unchanged and marked so."""

    text: str | None = None
    outcome: OutcomeKind = "answered"
    given: float | None = None


class Planned(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call of a plan. Items that lead to the same request share its id."""

    request: str


class Score(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reading and the score of an answer; ``marked``: whether ``choice`` was read by its letter; ``probability``:
    that the rules read the answer right.
    """

    table_version: ClassVar[int] = 5

    request: str
    outcome: OutcomeKind
    reading: ReadingKind | None = None
    choice: str | None = None
    rule: str | None = None
    metric: str
    score: float | None = None
    marked: bool | None = None
    probability: float | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stage's decision about an item, and its basis."""

    table_version: ClassVar[int] = 1

    item: str
    stage: str
    verdict: VerdictKind
    reason: str = ""
    n: int | None = None
    hits: int | None = None
    p: float | None = None
    responses: tuple[str, ...] = ()
    evidence: str = ""
    seed: int | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's decision about an item; decisions are only appended."""

    table_version: ClassVar[int] = 2

    item: str
    reviewer: str
    time: str
    decision: DecisionKind
    reason: str = ""
    edits: dict[str, Any] = {}
    comment: str = ""
    labels: dict[str, Any] = {}
    solved: str = ""  # the reviewer's answer before the gold was shown
    adjudicates: bool = False  # made knowing others' decisions, to settle them


def columns(record: type[msgspec.Struct]) -> tuple[str, ...]:
    """The columns of a record's table, in order."""
    return record.__struct_fields__


Severity = Literal["bad", "suspect", "untested", "note", "sound"]  # gravest first; ``sound`` was tested and passed
NO_IMAGES = "no-images"  # the kind of every finding that images are missing, so that tests of images were not run


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A result of a probe, with its items; one with a ``p`` is a test, whose severity holds if the test does."""

    probe: str
    kind: str  # a short name, stable between versions: ``equal-options``
    severity: Severity
    title: str  # one plain line with the number that matters
    detail: str = ""
    items: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()  # items that belong together, for pairs or groups
    evidence: dict[str, str] = {}
    verdict: VerdictKind = "review"  # the suggestion for its items
    p: float | None = None
    adjusted_p: float | None = None  # ``p`` after Holm's correction over all tests of the audit
    numbers: dict[str, Any] = {}  # the figures behind the title, for programs

    @property
    def is_test(self) -> bool:
        """Whether it is a test rather than a fact."""
        return self.p is not None


RUN_VERSION = 2


class RunBenchmark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The benchmark of a run's answers."""

    name: str
    path: str = ""
    fingerprint: str = ""
    items: int = 0

    @classmethod
    def of(cls, manifest: Manifest, path: Path) -> "RunBenchmark":
        """The benchmark in a folder."""
        resolved = as_stored(str(path.resolve()))
        return cls(name=manifest.name, path=resolved, fingerprint=manifest.fingerprint, items=manifest.counts.items)


class RunStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An operation on a run: calls planned, or answers imported."""

    what: str
    time: str = ""
    eyetest: str = ""
    seed: int = 0
    options: dict[str, str] = {}
    planned: int = 0
    requests: int = 0  # distinct requests among the planned calls
    saved: int = 0  # calls that a stopping rule made unnecessary
    not_applicable: dict[str, int] = {}  # why conditions could not be applied to items, with counts
    ways: dict[str, str] = {}  # by model: how it computed likelihoods, where requested
    prompts: dict[str, Any] = {}  # by label: the prompts beside the usual ones


class RunManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``run.json``."""

    benchmark: RunBenchmark | None = None
    models: dict[str, ModelEntry] = {}
    steps: tuple[RunStep, ...] = ()
    parts: dict[str, int] = {}  # rows of each part of answers at the last writer's end; a missing part is reported
    run_version: int = RUN_VERSION


# The order in which an item's options are shown is one number: small numbers are seeds, 0 being the order as written;
# from ``SHOWN`` on each digit to base 16 is a position, from 1. As text an order lists the options as shown: ``BA``.
SHOWN = 2**62  # larger than any seed that a user may give
REVERSED = SHOWN
LONGEST_ORDER = 15  # orders of more options do not fit into the column
_ORIGINAL_WORDS = ("", "0", "original", "as written")
_REVERSED_WORDS = ("reversed", "reverse")
_SEED = re.compile(r"seed\s?(\d{1,18})")
_BETWEEN = re.compile(r"[\s,;|/>()\[\]'\"-]+")


def order_shown(positions: Sequence[int]) -> int:
    """The number of an order; ``positions`` are those of the options as written, in the shown order."""
    shown, written = list(positions), list(range(len(positions)))
    if sorted(shown) != written:
        raise ValueError("an order names every option once")
    if len(shown) > LONGEST_ORDER:
        raise ValueError(f"an order of more than {LONGEST_ORDER} options")
    if shown == written:
        return 0
    if shown == written[::-1]:
        return REVERSED
    return SHOWN + int("".join(f"{position + 1:x}" for position in positions), 16)


def positions_shown(order: int) -> tuple[int, ...] | None:
    """The positions that an order encodes; None for a seed and where the number of options does not matter."""
    if order <= SHOWN:
        return None
    positions = tuple(int(digit, 16) - 1 for digit in f"{order - SHOWN:x}")
    if sorted(positions) != list(range(len(positions))):
        raise InputError(f"found {order} as the order of options, which names no order")
    return positions


def order_word(order: int) -> str:
    """An order as text: a seed by its number, any other by its options as shown."""
    if order == REVERSED:
        return _REVERSED_WORDS[0]
    positions = positions_shown(order)
    return str(order) if positions is None else "".join(map(letter, positions))


@lru_cache(maxsize=4_096)
def read_order(words: str) -> int:
    """The order that a text means: ``original``, ``reversed``, ``BADC``, ``1,0,3,2``, ``seed 7``."""
    text = " ".join(words.split()).lower()
    if text in _ORIGINAL_WORDS:
        return 0
    if text in _REVERSED_WORDS:
        return REVERSED
    if seed := _SEED.fullmatch(text):
        return int(seed[1])
    return order_shown(read_positions(words))


@lru_cache(maxsize=4_096)
def read_positions(words: str) -> tuple[int, ...]:
    """Positions of the options as shown, from a list: ``BADC``, ``1,0,3,2``, ``2,1,4,3``."""
    parts = [part for part in _BETWEEN.split(words.lower()) if part]
    if len(parts) == 1 and parts[0].isalpha():
        parts = list(parts[0])
    if all(len(part) == 1 and "a" <= part <= "z" for part in parts):
        positions = [ord(part) - ord("a") for part in parts]
    elif all(part.isascii() and part.isdigit() and len(part) <= 2 for part in parts):
        first = min(map(int, parts))
        positions = [int(part) - (first == 1) for part in parts]
    else:
        positions = []
    if len(positions) < 2 or sorted(positions) != list(range(len(positions))):
        raise ValueError("no list that names every option once")
    return tuple(positions)


def mark(style: Letters, position: int) -> str:
    """The letter of the option shown at a position: B, b or 2 for position 1."""
    if style == "digit":
        return str(position + 1)
    return letter(position) if style == "upper" else letter(position).lower()


def shown_order(item: Item, condition: Condition) -> tuple[int, ...]:
    """Positions of the item's choices in the shown order; a seed shuffles each item, by its id, differently."""
    positions, order, own_id = range(len(item.choices)), condition.order, item.own_id
    if order == 0:
        return tuple(positions)
    if order == REVERSED:
        return tuple(reversed(positions))
    if (shown := positions_shown(order)) is not None and positions:
        if len(shown) != len(positions):
            found = f"an answer gives an order of {len(shown)} options ({order_word(order)})"
            raise InputError(f"item {short(own_id)}: {found}, and it has {len(positions)}")
        return shown
    keys = [f"{order}\x1f{own_id}\x1f{position}".encode("utf-8", "surrogatepass") for position in positions]
    return tuple(sorted(positions, key=lambda position: blake2b(keys[position], digest_size=8).digest()))

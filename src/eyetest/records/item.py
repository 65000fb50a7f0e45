"""Items with their images, choices or references and tags; manifests; requests about items and the responses.

Images are numbered from 1 across the item; ``<image 2>`` in the question, the hint or a choice stands where image 2
is shown, and an image that no text names is shown before the question.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from typing import Annotated, Any, Literal, get_args

import msgspec

from eyetest.errors import ItemError, short

__all__ = [
    "A_MEDIUM", "DIALOGUE", "EDITION", "FOLDER_VERSION", "FRESH", "IMAGE_FORMATS", "MAX_CHOICES", "MEDIA_KINDS",
    "ORIGINAL",
    "PLACEHOLDER", "POOL", "REFINE", "REVISE", "TURN", "TWIN", "VALUES_BETWEEN", "AskModel", "Choice", "GrayImage",
    "ImageFormat", "ImagePart", "ImageRef", "Item", "ItemCounts", "Lineage", "Manifest", "Media", "MediaKind",
    "Message", "OptionProvenance", "Part", "PooledSource", "Prompt", "Request", "Response", "Revision", "Turn",
    "Words", "check", "gold_text", "image_numbers", "joined_words", "letter", "tag_word", "tag_words",
]  # fmt: skip

FOLDER_VERSION = 5
MAX_CHOICES = 26
_LISTED = re.compile(r"""\[\s*(?:'[^']*'|"[^"]*")(?:\s*,\s*(?:'[^']*'|"[^"]*"))*\s*\]""")
_LONGEST_LIST = 2_000  # characters of a text that is read as a list of values
PLACEHOLDER = re.compile(r"<\|?(?:image|img)[ _-]?(\d{1,3})\|?>", re.IGNORECASE)
"""An image's place in a text, in every spelling known from benchmarks; the only definition of it."""
ImageFormat = Literal["png", "jpeg", "gif", "webp", "bmp", "tiff"]
IMAGE_FORMATS: tuple[ImageFormat, ...] = get_args(ImageFormat)
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Seed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ImageRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An image by the hash of its bytes, which are in a benchmark folder."""

    sha256: Sha256
    format: ImageFormat
    width: int
    height: int
    size: int

    @property
    def filename(self) -> str:
        """The name of its file, the same in every folder and export."""
        return f"{self.sha256}.{'jpg' if self.format == 'jpeg' else self.format}"


MediaKind = Literal["video", "audio", "document"]
MEDIA_KINDS: tuple[MediaKind, ...] = get_args(MediaKind)


A_MEDIUM: dict[MediaKind, str] = {"video": "a video", "audio": "an audio file", "document": "a document"}


class Media(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A medium other than an image that an item is about, by what its source calls it; eyetest does not open it."""

    kind: MediaKind
    reference: str  # a path, an address or an id; ``sha256:…`` of bytes without a name


class OptionProvenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The origin of an option."""

    author: str = ""
    checked_by: tuple[str, ...] = ()


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An option, and whether it is right."""

    text: str
    correct: bool = False
    provenance: OptionProvenance | msgspec.UnsetType = msgspec.UNSET
    """Unset, an unknown provenance is in no file and no fingerprint."""

    @property
    def images(self) -> tuple[int, ...]:
        """Numbers of the item's images that this choice shows."""
        return image_numbers(self.text)


DIALOGUE, TURN = "dialogue", "turn"  # the tags of an item in a dialogue: the dialogue, and its turn from 1


EDITION = "edition"
ORIGINAL, TWIN, FRESH = "original", "twin", "fresh"
"""The tag of items that share a benchmark with others drawn from the same data, and its values."""


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An earlier exchange of a dialogue, with its gold answer."""

    question: str
    answer: str


class Lineage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A step that made an item or a benchmark out of another."""

    step: str
    source: str = ""
    item: str = ""
    note: str = ""
    seed: Seed | None = None


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A question of a benchmark. ``choices`` for a choice item, ``references`` for a text item."""

    id: str
    question: str
    images: tuple[ImageRef, ...] = ()
    media: tuple[Media, ...] = ()
    choices: tuple[Choice, ...] = ()
    references: tuple[str, ...] = ()
    hint: str = ""
    history: tuple[Turn, ...] = ()
    description: str = ""  # text that can replace the images: a caption, a data table
    group: str = ""  # the item that this one varies (a rotation, the other of a pair); empty for that item
    tags: dict[str, Any] = {}  # other data of the source, as JSON values: source, split, category, unit …
    lineage: tuple[Lineage, ...] = ()

    def __post_init__(self) -> None:
        if self.group and self.group == self.id:
            msgspec.structs.force_setattr(self, "group", "")

    def _repr_html_(self) -> str:
        return str(import_module("eyetest.commands.cards").item_card(self))

    @property
    def own_id(self) -> str:
        """The id by which orders of options are drawn: that in the source of a pooled item, else its id."""
        return next((step.item for step in self.lineage if step.step == POOL), self.id)

    @property
    def is_choice(self) -> bool:
        """Whether the item offers options."""
        return bool(self.choices)

    @property
    def gold(self) -> tuple[int, ...]:
        """Positions of the right choices."""
        return tuple(i for i, choice in enumerate(self.choices) if choice.correct)

    @property
    def has_gold(self) -> bool:
        """Whether the right answer is known."""
        return bool(self.gold) or any(reference.strip() for reference in self.references)

    @property
    def texts(self) -> Iterable[str]:
        """Every text of the item that may show an image."""
        return [self.question, self.hint, *[choice.text for choice in self.choices]]

    @property
    def image_numbers(self) -> tuple[int, ...]:
        """Image numbers that the item's texts name, in order of first mention."""
        return tuple(dict.fromkeys(n for text in self.texts for n in image_numbers(text)))

    @property
    def names_more_images(self) -> bool:
        """Whether its texts name more images than it has: such placeholders are words, perhaps inside an image."""
        return bool(self.images) and max(self.image_numbers, default=0) > len(self.images)


def tag_word(value: Any) -> str | None:
    """A tag's value as a word to group by; None unless it is a single value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else None


def tag_words(value: Any) -> tuple[str, ...]:
    """A tag's values as words: those of a list, also of one written as text (``['chart', 'table']``), each once."""
    if isinstance(value, str) and value[:1] == "[" and len(value) <= _LONGEST_LIST and _LISTED.fullmatch(value):
        value = [single or double for single, double in re.findall(r"""'([^']*)'|"([^"]*)\"""", value)]
    words = map(tag_word, value if isinstance(value, list) else [value])
    return tuple(dict.fromkeys(word for word in words if word is not None))


VALUES_BETWEEN = "\x1f"  # between the values of a list where a table has one text for a tag


def joined_words(tags: Mapping[str, Any]) -> dict[str, str]:
    """Tags as a table has them: each value as a word, those of a list in one text; no objects."""
    return {tag: VALUES_BETWEEN.join(words) for tag, value in tags.items() if (words := tag_words(value))}


def image_numbers(text: str) -> tuple[int, ...]:
    """Image numbers named in a text, in order: ``<image 2> beside <image 1>`` gives ``(2, 1)``."""
    return tuple(map(int, PLACEHOLDER.findall(text))) if "<" in text else ()


def letter(position: int) -> str:
    """The letter of a choice: A for 0, Z for 25."""
    return chr(ord("A") + position)


def gold_text(item: Item) -> str:
    """The answer key in a line: option letters, or the references."""
    return ", ".join(letter(position) for position in item.gold) or " | ".join(item.references)


def check(item: Item, where: str = "", *, gold_required: bool = True) -> None:
    """Raise what keeps an item out of a benchmark; an audit finds what makes it a bad item."""
    at = f"{where}: item {short(item.id)}" if where else f"item {short(item.id)}"
    if not item.id.strip():
        raise ItemError(at, "id", short(item.id), "a name that is not blank")
    if not (item.question.strip() or item.images or item.media):
        raise ItemError(at, "question", "neither text nor image", "at least one of them")
    if len(item.choices) > MAX_CHOICES:
        raise ItemError(at, "choices", f"{len(item.choices)} options", f"at most {MAX_CHOICES}")
    if item.choices and item.references:
        raise ItemError(at, "references", "references beside choices", "one or the other")
    if gold_required and not item.has_gold:
        expected = "one right option" if item.choices else "at least one reference answer"
        raise ItemError(at, "answer", "no gold answer", expected)
    for name in item.tags:
        if not name.strip():
            raise ItemError(at, "tags", short(name), "a tag name that is not blank")


class ItemCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Counts, known without reading the items."""

    items: int = 0
    choice_items: int = 0
    text_items: int = 0
    images: int = 0  # distinct images; several items may share one
    image_bytes: int = 0
    media: dict[MediaKind, int] = {}  # distinct videos, audio files and documents, which are not in the folder
    options: dict[str, int] = {}


REVISE, REFINE, POOL = "revise", "refine", "pool"
REPAIRS = (REVISE, REFINE)  # the steps by which people remove and repair items; the rest is unchanged


class Revision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark's state before a change."""

    fingerprint: str
    version: str
    time: str
    change: str


class PooledSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A benchmark whose items are in a pool; their ids begin with its name there."""

    name: str
    version: str
    fingerprint: str
    items: int  # in the benchmark; a pool without repeats has fewer
    licence: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``benchmark.json``."""

    name: str
    version: str = "1"
    counts: ItemCounts = ItemCounts()
    licence: str = ""
    source: str = ""
    canary: str = ""
    lineage: tuple[Lineage, ...] = ()
    fingerprint: str = ""  # a hash of all items in order; equal for equal items
    revisions: tuple[Revision, ...] = ()
    sources: tuple[PooledSource, ...] = ()  # of a pool, and of what is made of it
    folder_version: int = FOLDER_VERSION

    def prefix_of(self, fingerprint: str) -> str:
        """What the ids of another benchmark's items begin with in this pool; empty where it is no source of it."""
        return next((f"{source.name}/" for source in self.sources if fingerprint == source.fingerprint), "")

    def is_repaired(self, fingerprint: str) -> bool:
        """Whether these are the items of an earlier revision after people's repairs and nothing else."""
        before = [revision.fingerprint for revision in self.revisions]
        if fingerprint not in before:
            return False
        since = self.revisions[before.index(fingerprint) :]
        return all(revision.change.partition(":")[0] in REPAIRS for revision in since)

    def derived(
        self, step: str, note: str = "", *, name: str = "", version: str = "", seed: int | None = None
    ) -> "Manifest":
        """The manifest of what a step makes of these items."""
        made = Lineage(step=step, source=f"{self.name} {self.version}", note=note, seed=seed)
        known = {"name": name or self.name, "version": version or self.version}
        return msgspec.structs.replace(self, lineage=(*self.lineage, made), **known)

    def holding(self, counts: ItemCounts, fingerprint: str, time: str) -> "Manifest":
        """The manifest of these items; where it described others, those become an earlier revision."""
        revisions = self.revisions
        if self.fingerprint and self.fingerprint != fingerprint:
            last = self.lineage[-1] if self.lineage else Lineage(step="change")
            change = f"{last.step}: {last.note}" if last.note else last.step
            before = Revision(fingerprint=self.fingerprint, version=self.version, time=time, change=change)
            revisions = (*revisions, before)
        return msgspec.structs.replace(self, counts=counts, fingerprint=fingerprint, revisions=revisions)


_ID_VERSION = b"eyetest request 1\n"
_encode = msgspec.json.Encoder(order="deterministic").encode
OutcomeKind = Literal["answered", "truncated", "blocked", "failed"]


class Words(msgspec.Struct, frozen=True, tag_field="kind", tag="text"):
    """A piece of text."""

    text: str


class ImagePart(msgspec.Struct, frozen=True, tag_field="kind", tag="image"):
    """An image of the benchmark, sent byte for byte as stored."""

    image: ImageRef


class GrayImage(msgspec.Struct, frozen=True, tag_field="kind", tag="grey"):
    """A plain grey image of the size of the one it replaces."""

    width: int
    height: int


Part = Words | ImagePart | GrayImage
Role = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True):
    """A message of one side."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its text parts alone."""
        return "".join(part.text for part in self.parts if isinstance(part, Words))


class Prompt(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model is shown, independent of the model."""

    messages: tuple[Message, ...]
    prefill: str = ""  # the beginning of the model's own turn, where supported
    candidates: tuple[str, ...] = ()  # continuations to be scored by likelihood, in the order of the item's choices
    first_token: bool = False  # whether only the first token of each continuation is scored


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call: a prompt, its model and the model's settings."""

    model: str
    prompt: Prompt
    settings: dict[str, Any] = {}  # everything else that is sent: the endpoint's model name, temperature …
    sample: int = 0

    @property
    def id(self) -> str:
        """The hash of what is sent. Images count by the hash of their bytes."""
        return blake2b(_ID_VERSION + _encode(self), digest_size=16).hexdigest()


SERVED = "served by "  # begins an answer's detail that names the server's model and version
IMPOSSIBLE = -9999.0  # the log-probability of the impossible in OpenAI and vLLM: JSON has no minus infinity


class Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a request: a line of a run's journal; ``text`` is None in tables with scores only."""

    request: str
    outcome: OutcomeKind
    text: str | None = ""
    thinking: str = ""  # a reasoning model's text before its answer, where separate
    error: str = ""  # why it failed, as a countable word: timeout, rate-limit, server, garbage …
    detail: str = ""
    finish: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float = 0.0
    attempts: int = 1
    time: float = 0.0  # its arrival, in seconds since 1970
    candidates: tuple[float | None, ...] = ()  # log-probability of each candidate; None (JSON) of an impossible one
    candidate_tokens: tuple[int, ...] = ()  # the number of tokens of each; for all candidates, or none
    candidate_bytes: tuple[int, ...] = ()  # the bytes of UTF-8 of each; for all candidates, or none
    given: float | None = None  # a score decided elsewhere, used unchanged and marked so


class WeighedCandidate(msgspec.Struct, frozen=True, array_like=True):
    """A candidate as a table holds it."""

    logprob: float | None  # none, as JSON writes it, of the impossible
    tokens: int | None = None
    bytes: int | None = None


_decode_candidates = msgspec.json.Decoder(tuple[WeighedCandidate, ...]).decode

AskModel = Callable[[str, Sequence[tuple[Item, Prompt]]], Iterable[Response | None]]
"""Puts a prompt about each of some items to a model, by its name; None for what could not be asked."""


def write_candidates(response: Response) -> str | None:
    """The candidates of a response as a table holds them: log-probability, tokens and bytes of each."""
    if not response.candidates:
        return None
    unknown = (None,) * len(response.candidates)
    columns = response.candidates, response.candidate_tokens or unknown, response.candidate_bytes or unknown
    return msgspec.json.encode([WeighedCandidate(*values) for values in zip(*columns, strict=True)]).decode()


def read_candidates(text: str | None) -> tuple[WeighedCandidate, ...]:
    """The candidates in a table's cell."""
    return _decode_candidates(text) if text else ()

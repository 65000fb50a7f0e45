"""Videos, sounds and documents that a file names: which of its columns hold them, and what a value refers to.

Nothing is opened. A medium is recognised by the name of its column, or by its value: the ending of a file, an
address, a data URL, a structure of a dataset, or a typed part of a chat. A name alone is weaker than a value: it is
not believed beside images, and ids count only where nothing else provides a medium.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec
import pybase64

from eyetest.errors import counted, listed, param
from eyetest.records import MEDIA_KINDS, Item, ItemCounts, Media, MediaKind
from eyetest.tabular.table import Row, looks_like_list, parse_list

__all__ = [
    "MediaColumns",
    "MediaReader",
    "columns_of",
    "could_be_medium",
    "find_media",
    "media_note",
    "media_of_value",
    "medium_names",
    "names_medium", "names_of_kinds",
    "shown_note",
    "without_media",
]  # fmt: skip

_ENDINGS: dict[MediaKind, str] = {
    "video": "mp4 m4v webm mkv mov avi mpg mpeg wmv flv 3gp ogv m2ts",
    "audio": "wav mp3 flac ogg oga m4a aac opus wma aif aiff amr caf weba",
    "document": "pdf doc docx ppt pptx xls xlsx odt odp ods rtf epub djvu",
}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_KIND_OF_ENDING: dict[str, MediaKind] = {
    ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()
}
_KIND_OF_WORD: dict[str, MediaKind] = {
    **dict.fromkeys(_set("video videos clip clips movie film footage mp4 webm vid youtube yt"), "video"),
    **dict.fromkeys(_set("audio audios sound wav mp3 flac speech song music recording voice"), "audio"),
    **dict.fromkeys(_set("document documents doc docs pdf pdfs docx pptx ppt slides"), "document"),
}
_CERTAIN = _set("video videos audio audios wav mp3 mp4 webm flac pdf pdfs")
"""Words that name a column of media when they stand alone."""
_LIKELY = _set("clip clips doc docs vid docx pptx")
"""Words that, alone, may name a medium or a key."""
_CARRIERS = _set("path paths file files filename filenames filepath url urls uri uris link links bytes")
_IDS = _set("id ids idx uid uuid name names index key")
_OF_IDS = _set("video videos clip audio recording youtube yt doc docs document pdf wav vid sound")
_FILLERS = _set("input inputs question query source src raw local relative rel full absolute abs list")
_BESIDE_THE_POINT = _set(
    "answer answers gt truth gold target reference ref output expected mask thumbnail subtitle subtitles caption "
    "captions transcript cover poster frame frames license licence evidence explanation solution homepage"
)
"""Words that say that a column holds something about a medium, or an answer."""
_PROVENANCE = _set(
    "source sources origin original url urls link links href website homepage citation cite credit credits author "
    "reference references license licence provenance metadata meta attribution evidence explanation rationale "
    "solution answer answers note notes comment"
)
"""Words of columns that say where an item comes from, or more than its question."""
_CONTEXT = _set("context passage passages article paragraph paragraphs text texts document documents")
_FLAGS = frozenset(("", "true", "false", "yes", "no", "none", "null", "nan", "n/a", "na", "-"))
_LONGEST = 1_024  # characters of a reference
_MOST_WORDS = 12  # of a file name with spaces; a longer text is a text
_SAMPLE = 500
_SAMPLE_BYTES = 64 * 2**20
_MOST_PARTS = 10_000
_MAX_DEPTH = 12
_SHORTEST_DATA = 256  # characters of base64
_ID = re.compile(r"[\w./\\:@+=&%#~()\[\]-]{1,256}")
_SEPARATORS = re.compile(r"[./\\]")  # between the parts of a path and of a file name
_ADDRESS = re.compile(r"(?:https?|ftp|s3|gs|hf|file)://\S+", re.IGNORECASE)
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)[;,]", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]*[A-Za-z0-9+/]={0,2}\s*")
_HOSTS: dict[str, MediaKind] = {
    **dict.fromkeys(("youtube.com", "youtu.be", "vimeo.com", "bilibili.com", "dailymotion.com"), "video"),
    **dict.fromkeys(("soundcloud.com", "freesound.org"), "audio"),
}
_BEGINNINGS: tuple[tuple[int, bytes, MediaKind], ...] = (
    (8, b"WAVE", "audio"), (8, b"AVI ", "video"), (0, b"ID3", "audio"), (0, b"\xff\xfb", "audio"),
    (0, b"\xff\xf3", "audio"), (0, b"fLaC", "audio"), (0, b"OggS", "audio"), (4, b"ftypM4A", "audio"),
    (4, b"ftyp", "video"), (0, b"\x1aE\xdf\xa3", "video"), (0, b"%PDF-", "document"),
    (0, b"\xd0\xcf\x11\xe0", "document"),
)  # fmt: skip
_STILL = (b"ftypavif", b"ftypheic", b"ftypheix", b"ftypmif1")  # images in the container of MP4
_DATA_FIELDS = ("bytes", "data", "file_data", "b64", "base64", "array")
_PLACE_FIELDS = ("path", "url", "uri", "file_uri", "src", "file", "filename", "file_name", "name", "value", "file_id")
_TYPE_FIELDS = ("mime_type", "media_type", "mimeType", "content_type", "format")
_STRUCT_FIELDS = frozenset((*_DATA_FIELDS, *_PLACE_FIELDS, *_TYPE_FIELDS, "sampling_rate", "type", "duration", "fps"))
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

Strength = Literal["certain", "likely"]


class NamedColumn(NamedTuple):
    """What the name of a column says: the medium, and whether the name alone is enough."""

    kind: MediaKind
    strength: Strength


def names_medium(column: str) -> NamedColumn | None:
    """What a column's name says about media: ``video_path`` is certain, ``doc_id`` and ``clip`` are likely."""
    words = _words(column)
    if len(words) > 1 and words[0] in ("mp", "m") and words[1].isdigit():  # mp3, mp4
        words = ["".join(words[:2]), *words[2:]]
    words = [word for word in words if not word.isdigit()]
    told = [word for word in words if word in _KIND_OF_WORD]
    joined = "".join(words)
    if not told and joined.removesuffix("id") in _OF_IDS:  # videoid, ytid
        return NamedColumn(_KIND_OF_WORD[joined.removesuffix("id")], "likely")
    if not told or _BESIDE_THE_POINT.intersection(words):
        return None
    kind = _KIND_OF_WORD[told[0]]
    others = [word for word in words if word not in told and word not in _FILLERS]
    if words[-1] in _CARRIERS and "subtitle" not in words:
        return NamedColumn(kind, "certain")
    if not others:
        if _CERTAIN.intersection(told):
            return NamedColumn(kind, "certain")
        return NamedColumn(kind, "likely") if _LIKELY.intersection(told) else None
    is_id = all(word in _IDS for word in others) and bool(_OF_IDS.intersection(told))
    return NamedColumn(kind, "likely") if is_id else None


def _kind_of_type(text: Any) -> MediaKind | None:
    """The medium of a MIME type or a format: ``video/mp4``, ``application/pdf``, ``wav``."""
    if not isinstance(text, str):
        return None
    family, _, name = text.lower().partition("/")
    if family in ("video", "audio"):
        return "video" if family == "video" else "audio"
    if name in ("pdf", "msword", "rtf", "epub+zip") or name.startswith(("vnd.openxml", "vnd.ms-", "vnd.oasis")):
        return "document"
    return None if name else _KIND_OF_ENDING.get(family)


def _kind_of_bytes(data: bytes) -> MediaKind | None:
    """The medium of some bytes, by how they begin."""
    if data[4:12] in _STILL:
        return None
    for at, beginning, kind in _BEGINNINGS:
        if data[at : at + len(beginning)] == beginning:
            return kind
    return None


def _kind_of_file(text: str) -> MediaKind | None:
    """The medium of a file name, by its ending."""
    stem, _, ending = text.rpartition(".")
    kind = _KIND_OF_ENDING.get(ending.lower())
    if kind is None or any(control in text for control in "\n\r\t"):
        return None
    is_named = bool(_SEPARATORS.split(stem)[-1].strip())
    return kind if is_named else None


def _kind_of_address(text: str) -> MediaKind | None:
    """The medium behind an address: by the ending of its path, or by its host."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    if kind := _kind_of_file(parts.path.rsplit("/", 1)[-1]):
        return kind
    host = (parts.hostname or "").removeprefix("www.").removeprefix("m.")
    if host in _HOSTS and parts.path.strip("/"):
        return _HOSTS[host]
    return "document" if host == "arxiv.org" and parts.path.startswith("/pdf/") else None


def _stored(data: bytes) -> str:
    """How bytes without a name are referred to."""
    return f"sha256:{sha256(data).hexdigest()}"


def _from_text(text: str, named: MediaKind | None) -> Iterator[Media]:
    """The media that a text refers to; with ``named``, the medium of its column, also a bare id."""
    stripped = text.strip()
    if match := _DATA_URL.match(stripped):
        if kind := _kind_of_type(match[1]):
            yield Media(kind, _stored(stripped.encode()))
        return
    if looks_like_list(stripped) or (stripped.startswith("{") and stripped.endswith("}")):
        yield from media_of_value(_unpacked(stripped), named)
        return
    if _ADDRESS.fullmatch(stripped):
        kind = _kind_of_address(stripped) or named
    elif len(stripped) <= _LONGEST:
        is_sentence = "\n" in stripped or len(stripped.split()) > (_MOST_WORDS if named else 1)
        kind = None if is_sentence else _kind_of_file(stripped) or _kind_of_id(stripped, named)
    else:
        kind = _kind_of_data(stripped, named)
        stripped = _stored(stripped.encode()) if kind else ""
    if kind:
        yield Media(kind, stripped)


def _spaced_file(value: Any) -> list[Media]:
    """The medium of a file name with spaces. A sentence may mention one, so all cells of a column must be one."""
    if not isinstance(value, str) or "\n" in value.strip() or len(value.split()) > _MOST_WORDS:
        return []
    kind = _kind_of_file(value.strip())
    return [Media(kind, value.strip())] if kind else []


def _kind_of_id(text: str, named: MediaKind | None) -> MediaKind | None:
    """The medium of a text in a column of media that is no file name: an id is one, a flag or a sentence is not."""
    return named if _ID.fullmatch(text) and text.lower() not in _FLAGS else None


def _kind_of_data(text: str, named: MediaKind | None) -> MediaKind | None:
    """The medium of a long text, which may be base64."""
    if len(text) < _SHORTEST_DATA or not _BASE64.fullmatch(text[:_SHORTEST_DATA]):
        return None
    try:
        return _kind_of_bytes(pybase64.b64decode(text[:_SHORTEST_DATA] + "====")) or named
    except ValueError:
        return None


def _unpacked(text: str) -> Any:
    """What a text holds as JSON, or as a list of texts in Python's writing; None if neither."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return parse_list(text)


def _from_struct(value: Mapping[str, Any], named: MediaKind | None, depth: int) -> Iterator[Media]:
    """The media of a structure: a typed part of a chat, a message, or a file of a dataset."""
    if {*value} == {"kind", "reference"} and value["kind"] in MEDIA_KINDS:
        yield Media(value["kind"], str(value["reference"]))
        return
    kind = _kind_of_part(value)
    inner = next((value[name] for name in _part_fields(value) if isinstance(value.get(name), Mapping | list)), None)
    if inner is not None and not any(value.get(name) for name in ("path", "bytes")):
        yield from media_of_value(inner, kind, depth + 1)
        return
    direct = next((value[name] for name in _part_fields(value) if isinstance(value.get(name), str)), None)
    if direct is not None:
        yield from _from_text(direct, kind)
        return
    if not _STRUCT_FIELDS.issuperset(value):
        return
    if file := _from_file(value, kind or named):
        yield file


def _kind_of_part(value: Mapping[str, Any]) -> MediaKind | None:
    """The medium that a typed part of a chat names: ``{"type": "input_audio", …}``, ``{"video": "x.mp4"}``."""
    declared = str(value.get("type") or "").lower()
    for word in re.split(r"[^a-z]+", declared):
        if word in _CERTAIN or word in ("document", "pdf"):
            return _KIND_OF_WORD[word]
    by_type = next((kind for name in _TYPE_FIELDS if (kind := _kind_of_type(value.get(name)))), None)
    if by_type or declared not in ("", "media", "file", "input_file"):
        return by_type
    return next((_KIND_OF_WORD[name] for name in ("video", "audio", "document", "pdf") if name in value), None)


def _part_fields(value: Mapping[str, Any]) -> Iterator[str]:
    """The fields of a typed part or a message that hold its content."""
    declared = str(value.get("type") or "")
    if declared in ("text", "image", "image_url", "input_text", "input_image", "output_text"):
        return
    if declared:
        yield from (declared, declared.removeprefix("input_"), "source", "value")
    for name in value:
        named = names_medium(name)
        if named and named.strength == "certain":
            yield name
    if declared == "" and {"document", "input_audio"}.intersection(value):
        yield from ("document", "input_audio")
    for name in ("inline_data", "inlineData", "file_data", "fileData"):
        if isinstance(value.get(name), Mapping):
            yield name
    if "role" in value or "from" in value:
        yield from ("content", "parts", "value")


def _from_file(value: Mapping[str, Any], named: MediaKind | None) -> Media | None:
    """The medium of a structure of a dataset: bytes, a path, or the samples of a sound."""
    place = next((value[name] for name in _PLACE_FIELDS if isinstance(value.get(name), str) and value[name]), "")
    data = next((value[name] for name in _DATA_FIELDS if value.get(name)), None)
    if not place and not data:
        return None
    by_data = _kind_of_bytes(data) if isinstance(data, bytes) else None
    by_place = _kind_of_file(place) or (_kind_of_address(place) if _ADDRESS.fullmatch(place) else None)
    by_rate: MediaKind | None = "audio" if value.get("sampling_rate") else None
    by_type = next((kind for name in _TYPE_FIELDS if (kind := _kind_of_type(value.get(name)))), None)
    kind = by_place or by_data or by_type or by_rate or named
    if kind is None:
        return None
    if place:
        return Media(kind, place)
    packed = data if isinstance(data, bytes) else msgspec.json.encode(data)
    return Media(kind, _stored(packed))


def media_of_value(value: Any, named: MediaKind | None = None, depth: int = 0) -> list[Media]:
    """The media that a cell refers to. ``named``: the medium that its column's name or its part's type states."""
    if value is None or isinstance(value, bool | float) or depth > _MAX_DEPTH:
        return []
    if isinstance(value, int):
        return [Media(named, str(value))] if named else []
    if isinstance(value, str):
        return list(_from_text(value, named))
    if isinstance(value, bytes):
        kind = _kind_of_bytes(value) or named
        return [Media(kind, _stored(value))] if kind and value else []
    if isinstance(value, Mapping):
        return list(_from_struct(value, named, depth))
    found: list[Media] = []
    if isinstance(value, list | tuple):
        for part in islice(value, _MOST_PARTS):
            found += media_of_value(part, named, depth + 1)
    return found


def without_media(value: Any) -> tuple[Any, list[Media]]:
    """The cell of an image column without its media, and these: ``["a.png", "b.mp4"]`` holds one of each."""
    if isinstance(value, str) and looks_like_list(value):
        parts = parse_list(value)
        value = value if parts is None else parts
    if not isinstance(value, list | tuple):
        media = media_of_value(value)
        return (None, media) if media else (value, [])
    left = []
    found: list[Media] = []
    for part in value:
        media = media_of_value(part)
        found += media
        if not media:
            left.append(part)
    return (left, found) if found else (value, [])


class MediaColumns(msgspec.Struct, frozen=True, kw_only=True):
    """Which columns of a file hold media."""

    mapped: dict[MediaKind, tuple[str, ...]] = {}  # named by the user
    certain: dict[MediaKind, tuple[str, ...]] = {}  # by their names, best first; a row has the first that it fills
    likely: dict[MediaKind, tuple[str, ...]] = {}  # ids, where nothing else provides a medium
    by_value: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def named(self) -> list[tuple[MediaKind, tuple[str, ...]]]:
        """The columns of each medium in the order of trust."""
        pairs = []
        for kind in MEDIA_KINDS:
            if kind not in self.mapped:
                columns = (*self.certain.get(kind, ()), *self.likely.get(kind, ()))
                pairs.append((kind, columns))
        return [(kind, columns) for kind, columns in pairs if columns]


def media_columns(fields: Mapping[str, str]) -> dict[MediaKind, tuple[str, ...]]:
    """The columns of media that a user's mapping names: ``video=clip_a+clip_b``."""
    return {kind: tuple(fields[kind].split("+")) for kind in MEDIA_KINDS if fields.get(kind)}


class _Survey:
    """What a sample of rows shows of the columns that may hold media."""

    def __init__(self, columns: Sequence[str], images: Sequence[str]) -> None:
        self._images = images
        self.shows_images = False
        self.filled: dict[str, int] = dict.fromkeys(columns, 0)
        self.shaped: dict[str, int] = dict.fromkeys(columns, 0)  # values that are media by themselves
        self.kinds: dict[str, set[MediaKind]] = {column: set() for column in columns}
        self.named: dict[str, int] = dict.fromkeys(columns, 0)  # values that are media by the column's name
        self.is_row_number: dict[str, bool] = dict.fromkeys(columns, True)
        self._first: dict[str, int] = {}
        self._rows = 0

    def note(self, values: Mapping[str, Any]) -> int:
        """Look at a row; returns the size of what was looked at."""
        size = 0
        for column in self._images:
            rest, media = without_media(values.get(column))
            self.shows_images = self.shows_images or (bool(rest) and not media)
            size += len(rest) if isinstance(rest, str | bytes) else 0
        for column in self.filled:
            value = values.get(column)
            if value is None or value in ("", b"", [], {}):
                continue
            self.filled[column] += 1
            self._note_value(column, value)
            size += len(value) if isinstance(value, str | bytes) else 0
        self._rows += 1
        return size

    def _note_value(self, column: str, value: Any) -> None:
        media = media_of_value(value) or _spaced_file(value)
        self.shaped[column] += bool(media)
        self.kinds[column].update(one.kind for one in media)
        name = names_medium(column)
        self.named[column] += bool(name and media_of_value(value, name.kind))
        number = str(value)
        first = self._first.setdefault(column, int(number) if number.isdecimal() and len(number) < 10 else -1)
        is_next = first >= 0 and number == str(first + self._rows)
        self.is_row_number[column] = self.is_row_number[column] and is_next

    def holds_media(self, column: str) -> bool:
        """Whether every value of a column is a medium by itself."""
        return bool(self.filled[column]) and self.shaped[column] == self.filled[column]


def find_media(
    rows: Iterable[Row], free: Sequence[str], images: Sequence[str], fields: Mapping[str, str]
) -> MediaColumns:
    """Decide which columns of a file hold media.

    ``free``: its columns without another meaning; ``images``: those of images; ``fields``: the user's mapping.
    """
    mapped = media_columns(fields)
    plain = set((fields.get("tags") or "").split("+"))
    candidates = [column for column in free if column not in plain]
    survey = _Survey(candidates, images)
    size = 0
    for row in islice(rows, _SAMPLE if candidates else 0):
        size += survey.note(row.values)
        if size > _SAMPLE_BYTES:
            break
    certain = _certain_columns(candidates, survey)
    has_media = bool(mapped) or any(survey.named[column] for columns in certain.values() for column in columns)
    named = {column for columns in certain.values() for column in columns}
    others = [column for column in candidates if column not in named]
    covered = {kind for kind, columns in certain.items() if any(survey.named[column] for column in columns)}
    by_value = _columns_by_value(others, survey, covered.union(mapped))
    has_media = has_media or any(survey.shaped[column] for column in by_value) or survey.shows_images
    likely = {} if has_media else _likely_columns(candidates, survey)
    notes = _notes(candidates, survey, certain, likely, by_value)
    return MediaColumns(mapped=mapped, certain=certain, likely=likely, by_value=by_value, notes=tuple(notes))


def _certain_columns(columns: Sequence[str], survey: _Survey) -> dict[MediaKind, tuple[str, ...]]:
    """The columns whose names alone say that they hold media; those with values that are files come first."""
    found: dict[MediaKind, list[str]] = {}
    for column in columns:
        name = names_medium(column)
        is_number = survey.is_row_number[column] and survey.filled[column] > 1
        is_text = survey.named[column] * 2 < survey.filled[column]
        if name and name.strength == "certain" and not is_text and not (is_number and survey.shows_images):
            found.setdefault(name.kind, []).append(column)
    return {
        kind: tuple(sorted(named, key=lambda column: (-survey.shaped[column], -survey.named[column])))
        for kind, named in found.items()
    }


def _columns_by_value(columns: Sequence[str], survey: _Survey, covered: set[MediaKind]) -> tuple[str, ...]:
    """The columns of any name whose values are media of kinds that no named column has.

    One that may say where an item comes from is trusted least: only for videos and sounds, if there is nothing else.
    """
    found = []
    for column in columns:
        is_undecided = not survey.filled[column] and names_medium(column) is None
        is_new = survey.holds_media(column) and not survey.kinds[column] <= covered
        if (is_undecided or is_new) and not _tells_origin(column):
            found.append(column)
    if covered or survey.shows_images or any(survey.shaped[column] for column in found):
        return tuple(found)
    for column in columns:
        is_origin = _tells_origin(column) and not _BESIDE_THE_POINT.intersection(_words(column))
        if is_origin and survey.holds_media(column) and "document" not in survey.kinds[column]:
            return (*found, column)
    return tuple(found)


def _words(column: str) -> list[str]:
    """The words of a column's name, small."""
    return [word.lower() for word in _WORD.findall(column)]


def _tells_origin(column: str) -> bool:
    """Whether a column's name says that it holds the origin of an item, or an explanation."""
    return not (_PROVENANCE | _BESIDE_THE_POINT).isdisjoint(_words(column))


def _likely_columns(columns: Sequence[str], survey: _Survey) -> dict[MediaKind, tuple[str, ...]]:
    """The columns of ids where nothing else provides a medium; the first of a kind that has values."""
    has_text = any(survey.filled[column] and _CONTEXT.intersection(_words(column)) for column in columns)
    found: dict[MediaKind, tuple[str, ...]] = {}
    for column in columns:
        name = names_medium(column)
        if name is None or name.strength != "likely" or not survey.named[column] or name.kind in found:
            continue
        is_number = survey.is_row_number[column] and survey.filled[column] > 1
        if name.kind == "document" and (has_text or is_number):
            continue
        found[name.kind] = (column,)
    return found


def _notes(
    columns: Sequence[str],
    survey: _Survey,
    certain: Mapping[MediaKind, Sequence[str]],
    likely: Mapping[MediaKind, Sequence[str]],
    by_value: Sequence[str],
) -> Iterator[str]:
    """What was recognised and how to change it; columns that only look like media are named as well."""
    used = {kind: [column for column in named if survey.named[column]][:1] for kind, named in certain.items()}
    for kind, named in likely.items():
        used.setdefault(kind, []).extend(named)
    taken = {column for named in used.values() for column in named}
    filled = [column for column in by_value if survey.filled[column]]
    parts = [f"{kind} from {listed(named)}" for kind, named in used.items() if named]
    parts += [f"{listed(sorted(survey.kinds[column]))} from {column}" for column in filled]
    first = next(iter((*taken, *filled)), "")
    if parts:
        yield f"media: {', '.join(parts)}; {param('fields', f'tags={first}')} keeps a column as a tag instead"
    for column in columns:
        if survey.holds_media(column) and column not in taken and column not in filled and not taken:
            kind = sorted(survey.kinds[column])[0]
            hint = f"{param('fields', f'{kind}={column}')} takes them as media"
            yield f"{column} names files of {kind} and is kept as a tag; {hint}"


class MediaReader:
    """Reads the media of a file's rows."""

    def __init__(self, columns: MediaColumns) -> None:
        self.columns = columns

    def read(self, values: Mapping[str, Any], *, has_images: bool) -> tuple[tuple[Media, ...], set[str]]:
        """The media of a row, each once, and the columns that held them."""
        media: list[Media] = []
        used: set[str] = set()
        for kind, columns in self.columns.mapped.items():
            for column in columns:
                value = values.get(column)
                media += media_of_value(value, kind) or _mapped_text(value, kind)
                used.add(column)
        for kind, columns in self.columns.named:
            believed = None if has_images else kind
            found, filled = _first_filled(values, columns, believed)
            media += found
            used.update(filled)
        for column in self.columns.by_value:
            found = media_of_value(values.get(column)) or _spaced_file(values.get(column))
            if found and not (has_images and _tells_origin(column)):
                media += found
                if not _holds_more(values[column]):
                    used.add(column)
        if has_images and not self.columns.mapped:  # the pages are there as images
            media = [one for one in media if one.kind != "document"]
            used = {column for column in used if not _holds_only(values[column], "document")}
        return tuple(dict.fromkeys(media)), used


def _mapped_text(value: Any, kind: MediaKind) -> list[Media]:
    """The medium of a text in a column that the user maps to a medium, whatever the text looks like."""
    text = value.strip() if isinstance(value, str) else ""
    if text.lower() in _FLAGS or len(text) > _LONGEST:
        return []
    return [Media(kind, text)]


def _first_filled(
    values: Mapping[str, Any], columns: Sequence[str], named: MediaKind | None
) -> tuple[list[Media], list[str]]:
    """The media of the first column that has some, and of those that differ from it by a number (``video_2``)."""
    media: list[Media] = []
    filled: list[str] = []
    for column in columns:
        if filled and _stem(column) != _stem(filled[0]):
            continue
        found = media_of_value(values.get(column), named)
        media += found
        if found:
            filled.append(column)
    return media, filled


def _stem(column: str) -> str:
    """A column's name without numbers."""
    return re.sub(r"[\W_]*\d+", "", column)


def _holds_only(value: Any, kind: MediaKind) -> bool:
    """Whether a cell names media of one kind alone."""
    return {media.kind for media in media_of_value(value, kind)} == {kind}


def _holds_more(value: Any) -> bool:
    """Whether a cell is a chat, which holds more than its media and stays a tag."""
    if isinstance(value, Mapping):
        return "role" in value or "from" in value or value.get("type") in ("text", "input_text")
    return isinstance(value, list | tuple) and any(_holds_more(part) for part in value)


def could_be_medium(column: str, value: Any) -> bool:
    """Whether a reader might take a tag for a medium, so that an export has to keep it apart."""
    return names_medium(column) is not None or bool(media_of_value(value))


def columns_of(item: Item) -> dict[str, Any]:
    """The media of an item as columns of other tools; empty where these would not be read back as they are."""
    found: dict[str, Any] = {}
    for kind in MEDIA_KINDS:
        references = [media.reference for media in item.media if media.kind == kind]
        if references:
            column = "document_path" if kind == "document" else kind
            found[column] = references if len(references) > 1 else references[0]
    certain: dict[MediaKind, tuple[str, ...]] = {
        "video": ("video",), "audio": ("audio",), "document": ("document_path",),
    }  # fmt: skip
    if any(media.reference.isdecimal() for media in item.media):  # taken for the number of a row
        return {}
    read, _ = MediaReader(MediaColumns(certain=certain)).read(found, has_images=bool(item.images))
    return found if read == item.media else {}


class MediumNames(NamedTuple):
    """What sentences call the medium of a benchmark: ``without the video``, ``needs its videos``."""

    one: str
    many: str

    def in_sentence(self, sentence: str) -> str:
        """A sentence about the image of a benchmark, as one about this medium."""
        plural = re.sub(r"\b([Tt]he|[Ii]ts) images\b", rf"\1 {self.many}", sentence)
        return re.sub(r"\b([Tt]he|[Ii]ts) image\b", rf"\1 {self.one}", plural)


_NAMES = {
    "image": MediumNames("image", "images"),
    "video": MediumNames("video", "videos"),
    "audio": MediumNames("audio", "audio files"),
    "document": MediumNames("document", "documents"),
}


def medium_names(counts: ItemCounts) -> MediumNames:
    """The names of what a benchmark shows; where that is of several kinds, medium and media."""
    kinds: list[str] = ["image"] if counts.images else []
    kinds += [kind for kind in MEDIA_KINDS if counts.media.get(kind)]
    return names_of_kinds(kinds)


def names_of_kinds(kinds: Sequence[str]) -> MediumNames:
    """The names of some kinds of media: of one kind its own, of none those of images."""
    if len(kinds) > 1:
        return MediumNames("medium", "media")
    return _NAMES[kinds[0] if kinds else "image"]


def shown_note(counts: ItemCounts) -> str:
    """``12 distinct images, 60 videos (not read)``; no images where there are only other media."""
    parts = [counted(counts.images, "distinct image")] if counts.images or not counts.media else []
    parts += [media_note(counts.media)] if counts.media else []
    return ", ".join(parts)


def media_note(counts: Mapping[MediaKind, int]) -> str:
    """``60 videos (not read), 2 documents (not read)``."""
    words = {"video": "video", "audio": "audio file", "document": "document"}
    return ", ".join(f"{counted(counts[kind], words[kind])} (not read)" for kind in MEDIA_KINDS if counts.get(kind))

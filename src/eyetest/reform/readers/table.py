"""Records of tables, JSON files and lines of text by a field map. A field is a column (``a.b``: ``b`` in the object
``a``), alternatives (``image|image_id``), a template (``{image_id}.jpg``), or a list of these.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from eyetest.benchmarks.images import images_below, spoken
from eyetest.errors import InputError, RowError, nearest, short
from eyetest.reform.annotation import Annotation, Annotations, Box, ClassLabel, FileSettings, Region
from eyetest.reform.readers.base import (
    AnnotationFiles,
    Entries,
    file_names,
    image_of,
    listed,
    most_common,
    reads,
    texts,
)
from eyetest.tabular.table import Values, parse_list

_LISTS = ("images", "answers", "options", "also", "captions", "steps", "expressions")
_TEXTS = ("id", "question", "hint", "label")
_FIELDS = (*_TEXTS, *_LISTS, "gold", "size", "box", "corners")
_BETWEEN_ALTERNATIVES = re.compile(r"\|(?![^{]*\})")
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_FILTERS: dict[str, Callable[[str], str]] = {
    "stem": lambda name: PurePosixPath(name).stem,
    "suffix": lambda name: PurePosixPath(name).suffix,
    "spoken": spoken,
    "12": lambda number: f"{int(number):012d}" if number.isdigit() else "",
    "unescaped": lambda text: text.replace('\\"', '"'),
}  # what a template may make of a column: ``{image:stem}``
# ``n01440764 tench, Tinca tinca``, ``n01440764 : tench``, ``n02119789 1 kit_fox``
_SYNSETS = re.compile(r"(n\d{8})(?:\s*:\s*|\s+)(?:\d+\s+)?([^\d\s].*)")
_SYNSET = re.compile(r"n\d{8}")
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_MOST_VOTES = 1_000  # of one answer; a damaged file may say any number
Spec = str | tuple[str, ...]
Find = Callable[[Values], Any]


class Join(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other objects with ``keys`` in the files, which belong to a record if their ``theirs`` is its ``ours``."""

    keys: tuple[str, ...]
    theirs: str
    ours: str


class TableSettings(FileSettings, frozen=True):
    """Which column holds what."""

    fields: dict[str, Spec] = msgspec.field(default_factory=dict)
    tags: tuple[str, ...] | dict[str, str] = ()  # columns to sort items by, or tag names with their columns
    keys: tuple[str, ...] = ()
    """Columns by which records are recognised; other columns may then be missing. Empty: every file that is a table
    is read, and every column that is named has to be there."""
    lines: str = ""  # regular expression of the lines of a text file; its named groups are columns
    join: dict[str, Join] = msgspec.field(default_factory=dict)  # columns of other objects
    each: Spec = ()
    """A column whose list or object holds several records, or columns whose lists do in parallel. ``each.0`` and
    ``each.1`` are the parts of a record (of an object key and value), ``each.number`` counts from 1, ``each.index``
    from 0."""
    only: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    values: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    """Per field or tag: regular expressions of whole values, and their replacements."""
    merge: bool = False  # whether records with the same id are one, with the captions and tags of all
    distinct: bool = False
    folders: bool = False  # whether records are images in folders, with the columns path and folder (its name)
    classes: tuple[str, ...] = ()  # names; a label that is a number is the position of one
    first: int = 0  # number of the first class
    synsets: bool = False  # whether classes are in a list such as ImageNet's: a WordNet id and names a line
    group: str = ""  # tag with the group of a record's class; the labels of all records are then the classes
    forms: tuple[dict[str, Any], ...] = ()
    """Alternative forms of the files, each with the settings in which it differs; the first that is found is read."""
    expected: str = ""  # what the files should hold, for the message where they do not

    def __post_init__(self) -> None:
        if not self.fields and not self.forms:
            raise ValueError("fields are missing")
        for name in self.fields:
            if name not in _FIELDS:
                raise ValueError(f'no field "{name}"; {nearest(name, _FIELDS)}')
        _ = self.alternatives  # refuses wrong ones

    @property
    def alternatives(self) -> "list[TableSettings]":
        """The settings of each form."""
        own = msgspec.to_builtins(self)
        return [msgspec.convert(own | {"forms": ()} | form, TableSettings) for form in self.forms] or [self]


@reads(
    "table",
    "any CSV, TSV, Excel, JSON, JSON Lines, Parquet or text file, with the columns named under read: fields:",
    TableSettings,
)
def _read_table(files: AnnotationFiles, settings: TableSettings) -> Annotations:
    """One record per row, object or line, or one for each part of a column."""
    for form in settings.alternatives:
        if (entries := _entries(files, form)) is not None:
            return _annotations(files, form, entries)
    kinds = dict.fromkeys(", ".join(form.keys).replace("|", " or ") for form in settings.alternatives if form.keys)
    raise files.unlike(settings.expected or f"records with {'; or '.join(kinds)} (JSON, JSON Lines, CSV, Parquet …)")


def _entries(files: AnnotationFiles, form: TableSettings) -> Entries | None:
    if form.folders:
        roots = [root for root in files.named if root.is_dir() and images_below(root)]
        return Entries(roots, _images_in_folders) if roots else None
    if not form.lines:
        return files.find_entries(form.keys) if form.keys else files.rows()
    pattern = re.compile(form.lines, re.IGNORECASE)
    if paths := files.texts(pattern):
        return Entries(paths, lambda path: (match.groupdict() for match in files.matches(path, pattern)))
    return None


def _images_in_folders(root: Path) -> Iterator[Values]:
    for path in images_below(root):
        yield {"path": path.relative_to(root).as_posix(), "folder": path.parent.name}


def _synsets(files: AnnotationFiles) -> tuple[ClassLabel, ...]:
    """Classes of lists such as ImageNet's, each once."""
    classes: dict[str, ClassLabel] = {}
    for path in files.texts(_SYNSETS):
        for match in files.matches(path, _SYNSETS):
            name, *synonyms = map(spoken, match[2].split(","))
            classes.setdefault(match[1], ClassLabel(name=name, synonyms=tuple(synonyms), synset=match[1]))
    return tuple(classes.values())


def _annotations(files: AnnotationFiles, form: TableSettings, entries: Entries) -> Annotations:
    classes = _synsets(files) if form.synsets else listed(form.classes)
    mapper = _Mapper(form, classes, files.refuse)
    for name, join in form.join.items():
        if (others := files.find_entries(join.keys)) is not None:
            entries = entries.within(others)
            mapper.join(name, join, ((files.top(path), entry) for path, _, entry in others.by_file()))
    if form.merge:
        merged = _merged(mapper.records(entries), distinct=form.distinct)
        return Annotations(lambda: iter(merged), classes or _grouped(form, merged))
    return Annotations(lambda: mapper.records(entries), classes or _grouped(form, mapper.records(entries)))


def _grouped(form: TableSettings, records: Iterable[Annotation]) -> tuple[ClassLabel, ...]:
    if not form.group:
        return ()
    groups = {record.label: str(record.tags.get(form.group, "")) for record in records if record.label}
    return tuple(ClassLabel(name=label, parent=group) for label, group in groups.items())


def _merged(records: Iterable[Annotation], *, distinct: bool) -> list[Annotation]:
    known: dict[str, Annotation] = {}
    for record in records:
        first = known.setdefault(record.id, record)
        if first is not record:
            captions = (*first.captions, *record.captions)
            captions = tuple(dict.fromkeys(captions)) if distinct else captions
            known[record.id] = msgspec.structs.replace(first, captions=captions, tags=first.tags | record.tags)
    return list(known.values())


class _Mapper:
    def __init__(
        self, settings: TableSettings, classes: tuple[ClassLabel, ...], refuse: Callable[[RowError], None]
    ) -> None:
        self._settings, self._refuse = settings, refuse
        self._classes = {str(number): label.name for number, label in enumerate(classes, settings.first)}
        self._classes |= {label.synset: label.name for label in classes if label.synset}
        self._strict = strict = not settings.keys and not settings.lines
        self._fields = {name: _find(spec, strict=strict) for name, spec in settings.fields.items()}
        tags = settings.tags if isinstance(settings.tags, dict) else {name: name for name in settings.tags}
        self._tags = {name: _find(spec, strict=strict) for name, spec in tags.items()}
        self._only = {_find(spec, strict=strict): values for spec, values in settings.only.items()}
        self._values = {
            name: [(re.compile(pattern, re.IGNORECASE), new) for pattern, new in changes.items()]
            for name, changes in settings.values.items()
        }
        self._joined: list[tuple[str, Find, dict[str, list[Values]]]] = []

    def join(self, name: str, join: Join, others: Iterable[tuple[Values, Values]]) -> None:
        """Give records a column of other objects, each with what its file says beside them (``top``)."""
        known: dict[str, list[Values]] = defaultdict(list)
        theirs = _find(join.theirs, strict=False)
        for top, entry in others:
            known[str(theirs(entry))].append(entry | {"top": top})
        self._joined.append((name, _find(join.ours, strict=False), known))

    def records(self, entries: Entries) -> Iterator[Annotation]:
        """Convert objects to annotations."""
        names, several = file_names(entries.paths), len(entries.paths) > 1
        for path, number, entry in entries.by_file():
            where = f"{path.name} row {number}"
            name = f"{path.stem}:{number}" if several else str(number)
            own = {"number": number, "file": names[path], "stem": path.stem} | entry
            own |= {"files": names[path]} if several else {}
            own |= {column: others.get(str(ours(own)), []) for column, ours, others in self._joined}
            for values in self._parts(own):
                try:
                    if all(_text(find(values)) in wanted for find, wanted in self._only.items()):
                        yield msgspec.structs.replace(self._annotation(values, name), file=path.name)
                except InputError as error:
                    self._refuse(RowError(f"{where}: {error}"))

    def _parts(self, values: Values) -> Iterator[Values]:
        """The records of one object."""
        if not self._settings.each:
            yield values
            return
        whole = _decoded(_find(self._settings.each, strict=False)(values))
        parts: Any = whole.items() if isinstance(whole, dict) else whole or ()
        if not isinstance(self._settings.each, str):
            parts = zip(*parts, strict=True)
        for index, part in enumerate(parts):
            row = part if isinstance(part, dict) else {str(n): value for n, value in enumerate(_several(part))}
            yield values | {"each": {**row, "index": index, "number": index + 1}}

    def _annotation(self, values: Values, number: str) -> Annotation:
        found: dict[str, Any] = {}
        for name, find in self._fields.items():
            value = self._changed(name, find(values))
            if value not in _EMPTY:
                found[name] = self._list(name, value) if name in _LISTS else value
        fields: dict[str, Any] = {name: most_common(texts(_counted(found[name]))) for name in _TEXTS if name in found}
        fields |= {name: found[name] for name in _LISTS if name in found}
        if "label" in fields:
            fields["label"] = self._class_name(fields["label"])
        if "gold" in found:
            fields["gold"] = self._gold(found["gold"], fields.get("options", ()))
        if "size" in found and all(found["size"]):
            width, height = map(int, found["size"])
            fields["size"] = width, height
        expressions = fields.pop("expressions", ())
        if box := _box(found.get("box"), found.get("corners")):
            region = Region(box=box, id=fields.get("id", ""), label=fields.get("label", ""), expressions=expressions)
            fields["regions"] = (region,)
        tags = {name: self._changed(name, find(values)) for name, find in self._tags.items()}
        fields["tags"] = {name: value for name, value in tags.items() if value not in _EMPTY}
        return Annotation(**{"id": number, **fields})

    def _class_name(self, label: str) -> str:
        """A class by its name where it is given by number or WordNet id."""
        if label in self._classes:
            return self._classes[label]
        if self._settings.synsets and _SYNSET.fullmatch(label):
            raise InputError(f"no name for {label}: synset_words.txt or LOC_synset_mapping.txt is missing")
        if self._classes and label.isdigit():
            raise InputError(f"class {label} of {len(self._classes)}")
        return label

    def _changed(self, name: str, value: Any) -> Any:
        """A value, or each of several, as changed by the settings."""
        if name not in self._values or isinstance(value, bytes | dict) or value is None:
            return value
        if isinstance(value, list | tuple):
            return [self._changed(name, part) for part in value]
        matches = ((pattern.fullmatch(str(value).strip()), new) for pattern, new in self._values[name])
        return next((match.expand(new) for match, new in matches if match), value)

    def _list(self, name: str, value: Any) -> tuple[Any, ...]:
        """Several values: a list, a text that spells one, an object of counts, or one value alone."""
        if isinstance(value, str):
            value = parse_list(value, quoted=not self._strict) or value
        if name == "images":
            return tuple(image for image in map(image_of, _several(value)) if image)
        if name == "options":
            return tuple("" if option is None else str(option) for option in _several(value))
        parts = [text for part in _several(_counted(_decoded(value))) for text in _several(part)]
        found = texts(parts)
        return tuple(dict.fromkeys(found)) if self._settings.distinct else found

    def _gold(self, value: Any, options: tuple[str, ...]) -> int:
        """Which option is right: a number is its position, a text its words, its position or its letter."""
        text = str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
        if isinstance(value, str) and text in options:
            return options.index(text)
        if text.lstrip("-").isdigit():
            number = int(text)
            if not self._strict:
                return number
        else:
            number = ord(text.upper()) - ord("A") if len(text) == 1 and text.isascii() and text.isalpha() else -1
        if not 0 <= number < len(options):
            hint = "; if numbers are options and not positions, map gold to '{COLUMN}'" if text in options else ""
            raise InputError(f"gold: found {short(value)}, expected one of {len(options)} options{hint}")
        return number


def _find(spec: Spec, *, strict: bool) -> Find:
    """Find the first alternative that is not empty, or a list of those of several specifications; ``strict`` refuses
    records that have none of the columns.
    """
    if not isinstance(spec, str):
        finds = [_find(part, strict=strict) for part in spec]
        return lambda values: [find(values) for find in finds]
    names = [spec] if _BETWEEN_ALTERNATIVES.search(spec) is None else _BETWEEN_ALTERNATIVES.split(spec)
    ways = [_template(name) if _PLACEHOLDER.search(name) else _column(name) for name in names]

    def find(values: Values) -> Any:
        if spec in values:
            return values[spec]
        absent = True
        for way in ways:
            try:
                value = way(values)
            except LookupError:
                continue
            if value not in _EMPTY and not (isinstance(value, dict) and all(v is None for v in value.values())):
                return value
            absent = False
        if absent and strict:
            raise InputError(f'no column "{spec}"; {nearest(spec, values)}')
        return None

    return find


def _column(name: str) -> Find:
    """Find a column, or what is inside its objects or lists of objects; a LookupError where there is none."""
    first, *inside = name.split(".")

    def find(values: Values) -> Any:
        if name == "*":
            return values
        value = _decoded(values[first]) if inside else values[first]
        for part in inside:
            if isinstance(value, dict):
                value = value[part]
            elif isinstance(value, list) and part.lstrip("-").isdigit():
                value = value[int(part)]
            elif isinstance(value, list):
                value = [entry[part] for entry in value if isinstance(entry, dict) and part in entry]
            else:
                raise LookupError(name)
        return value

    return find


def _template(text: str) -> Find:
    """Fill ``{column}``, ``{a|b}`` and ``{column:filter}`` into a text; a LookupError where a value is empty."""
    parts = []
    for position, part in enumerate(_PLACEHOLDER.split(text)):
        alternatives = [name.partition(":")[::2] for name in part.split("|")] if position % 2 else []
        for _, how in alternatives:
            if how and how not in _FILTERS:
                raise InputError(f'{text}: no filter "{how}"; {nearest(how, _FILTERS)}')
        parts.append((part, [(_column(name), _FILTERS.get(how, str)) for name, how in alternatives]))

    def find(values: Values) -> str:
        return "".join(_filled(ways, values) if ways else part for part, ways in parts)

    return find


def _filled(ways: list[tuple[Find, Callable[[str], str]]], values: Values) -> str:
    for find, how in ways:
        try:
            value = find(values)
        except LookupError:
            continue
        if isinstance(value, str | int | float) and (text := how(str(value).strip())):
            return text
    raise LookupError


def _several(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else (value,)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _decoded(value: Any) -> Any:
    """Decode an object or list that a cell holds as JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return value


def _counted(value: Any) -> Any:
    """The keys of an object of counts, repeated by count; anything else as it is."""
    if not isinstance(value, dict):
        return value
    return [key for key, votes in value.items() for _ in range(min(int(votes or 0), _MOST_VOTES))]


def _box(box: Any, corners: Any) -> Box | None:
    """A box by its sides, or by two or four corners; a text has commas between the numbers."""
    given = box or corners
    if not given:
        return None
    numbers = [float(number) for number in (given.strip("[] ,").split(",") if isinstance(given, str) else given)]
    if box:
        left, top, width, height = numbers
        return left, top, width, height
    x, y = numbers[::2], numbers[1::2]
    return min(x), min(y), max(x) - min(x), max(y) - min(y)


READER = _read_table

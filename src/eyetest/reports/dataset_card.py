"""The card of a benchmark: ``README.md`` as the hub shows it, and ``croissant.json`` for programs."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import CROISSANT, FACTS, ITEMS, README, SCHEMA
from eyetest.benchmarks.media import MediumNames, media_note, medium_names
from eyetest.errors import InputError, counted, heading, param
from eyetest.grammar import read_pairs, refuse_joined_pairs, refuse_unknown, split_parts
from eyetest.measures.stats.intervals import mean
from eyetest.pages.page import Verbatim, clip, estimate, fill_markdown, template_data
from eyetest.records import MEDIA_KINDS, Item, Manifest, MediaKind, tag_word
from eyetest.reports.refinements import RefinementHistory, Residual, read_refinement
from eyetest.store import write_file
from eyetest.store.files import is_as_written, signed
from eyetest.store.handwritten import convert, read_yaml

_UNKNOWN = "unknown"
_SOURCE_TAGS, _LICENCE_TAGS = ("source", "dataset"), ("licence", "license")


class Statements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """``card.yaml``: facts that only people know, all optional."""

    name: str = ""
    about: str = ""
    licence: str = ""
    language: tuple[str, ...] = ()
    creators: tuple[str, ...] = ()
    contact: str = ""
    feedback: str = ""
    homepage: str = ""
    paper: str = ""
    citation: str = ""
    published: date | None = None
    sources: dict[str, str] = {}  # licence by source dataset


class Licence(NamedTuple):
    """A licence as its source names it."""

    stated: str

    @property
    def is_known(self) -> bool:
        """Whether it is stated at all."""
        return self.stated.strip().lower() not in ("", _UNKNOWN, "none", "?")

    @property
    def shown(self) -> str:
        """The licence as the card shows it."""
        return self.stated if self.is_known else "UNKNOWN"

    @property
    def on_the_hub(self) -> str:
        """Its name on the hub."""
        word = "-".join(self.stated.lower().replace("_", " ").split())
        known = {spdx.lower(): name or spdx.lower() for spdx, name in template_data("card.yaml")["licences"].items()}
        return str(known.get(word, "other")) if self.is_known else _UNKNOWN


def read_facts(path: Path) -> Statements:
    """The facts of a ``card.yaml``; none if there is no file."""
    return convert(read_yaml(path) or {}, Statements, str(path)) if path.exists() else Statements()


def write_facts(path: Path, facts: Statements) -> None:
    """Write a ``card.yaml``."""
    write_file(path, yaml.safe_dump(msgspec.to_builtins(facts), sort_keys=False, allow_unicode=True))


def with_settings(facts: Statements, words: Sequence[str]) -> Statements:
    """Earlier facts with ``KEY=VALUE`` on top of them; an empty value removes a fact."""
    content: dict[str, Any] = msgspec.to_builtins(facts)
    names = Statements.__struct_fields__
    pairs = read_pairs(words, "fact", "licence=CC-BY-4.0")
    refuse_joined_pairs(pairs, "fact", names)
    for key, value in pairs.items():
        name, _, inner = key.partition(".")
        refuse_unknown(name, "fact", names, "fact")
        kind = type(getattr(Statements(), name))
        if (kind is dict) != bool(inner):
            raise InputError(f"{heading('fact', key)}: expected {name + '.NAME' if kind is dict else name}=VALUE")
        if not value.strip() and not (content.get(name, {}).get(inner) if inner else content.get(name)):
            raise InputError(f"{heading('fact', key)}: it has no value, and there is none to remove")
        given = split_parts(value, "fact") if kind is tuple and value.strip() else value.strip()
        if inner:
            content[name] = content.get(name, {}) | {inner: given}
        else:
            content[name] = given
    content = {name: value for name, value in content.items() if value}
    content["sources"] = {name: licence for name, licence in content.get("sources", {}).items() if licence}
    return convert(content, Statements, heading("fact"))


EXPORTED = "data/test.parquet"  # what ``load_dataset`` opens in an export that is uploaded as it is


class SourceLicence(NamedTuple):
    """A dataset that items come from, the number of its items, and its licence."""

    name: str
    items: int
    licence: Licence


class Known(NamedTuple):
    """Facts of a card: counted from the items, stated, or on record."""

    manifest: Manifest
    facts: Statements
    refinement: RefinementHistory | None
    sources: list[SourceLicence]
    with_gold: int
    with_images: int
    with_media: Mapping[MediaKind, int]  # items with a video, a sound, a document
    image_formats: tuple[str, ...]
    data_files: str = ITEMS  # what ``load_dataset`` opens
    exported: bool = False
    """Whether the card lies beside an export, whose data contain the images."""

    @property
    def name(self) -> str:
        """The stated name, or that in the manifest."""
        return self.facts.name or self.manifest.name

    @property
    def medium(self) -> MediumNames:
        """What sentences call that which the items show."""
        return medium_names(self.manifest.counts)

    @property
    def media_note(self) -> str:
        """The media that are not in the folder."""
        return media_note(self.manifest.counts.media)

    @property
    def media_words(self) -> list[str]:
        """The words for its media among the tags of the hub."""
        words = ["vision-language"] if self.with_images else []
        return [*words, *(kind for kind in MEDIA_KINDS if self.with_media.get(kind))]

    @property
    def licence(self) -> Licence:
        """Licence of the whole: as stated for the card, or else in the manifest."""
        return Licence(self.facts.licence or self.manifest.licence)

    @property
    def unlicensed(self) -> list[SourceLicence]:
        """Sources whose licence is not known."""
        return [source for source in self.sources if not source.licence.is_known]

    @property
    def margin(self) -> str:
        """Precision of the score of a model that answers half of the items."""
        items = self.manifest.counts.items
        half = mean([1.0] * (items // 2) + [0.0] * (items - items // 2))
        if half.low is None or half.high is None:
            return "any margin"
        return f"± {50 * (half.high - half.low):.1f} points (95 %)"

    @property
    def chance(self) -> float | None:
        """Score of random choice on the choice items."""
        counts = self.manifest.counts
        if not counts.choice_items:
            return None
        return sum(items / int(options) for options, items in counts.options.items()) / counts.choice_items


def card_of(benchmark: Benchmark, facts: Statements, refinement: Path | None = None) -> Known:
    """Collect the contents of a benchmark's card; reads all items, but no image. ``refinement``: its folder."""
    sources: Counter[tuple[str, str]] = Counter()
    formats: set[str] = set()
    totals: Counter[str] = Counter()
    stated = {source.name: source.licence for source in benchmark.manifest.sources} | facts.sources
    for item in benchmark:
        for name in _sources(item, benchmark.manifest):
            sources[name, stated.get(name) or _word(item, _LICENCE_TAGS)] += 1
        formats.update(image.format for image in item.images)
        totals.update(gold=item.has_gold, images=bool(item.images))
        totals.update({media.kind for media in item.media})
    named = {name for name, _ in sources}
    sources.update({(name, word): 0 for name, word in facts.sources.items() if name not in named})
    licensed = [SourceLicence(name, items, Licence(word)) for (name, word), items in sources.items()]
    licensed.sort(key=lambda source: (-source.items, source))
    media = {kind: totals[kind] for kind in MEDIA_KINDS if totals[kind]}
    counts = (totals["gold"], totals["images"], media, tuple(sorted(formats)))
    return Known(benchmark.manifest, facts, read_refinement(refinement) if refinement else None, licensed, *counts)


def _sources(item: Item, manifest: Manifest) -> set[str]:
    """Source datasets of an item: its tag, and other names in its lineage than the benchmark's own."""
    steps = [step.source for step in manifest.lineage]
    own = {manifest.name, *steps, *(source.rpartition(" ")[0] for source in steps)}
    own -= {source.name for source in manifest.sources}
    lineage = {step.source for step in item.lineage} - own
    return {name for name in (_word(item, _SOURCE_TAGS), *lineage) if name}


def _word(item: Item, tags: tuple[str, ...]) -> str:
    return next((word for tag in tags if (word := tag_word(item.tags.get(tag)))), "")


def share(residual: Residual) -> str:
    """A share in per cent with its interval: ``38.1 [11.2, 64.5]``."""
    found = residual.accuracy
    words = estimate(found.value, found.low, found.high)
    return words if found.low is not None else f"{words} (too few items for an interval)"


def write_card(known: Known, data: Path, to: Path) -> None:
    """Write both files into a folder, the signed one first, so that an interrupted card is still recognised.

    ``data``: the folder of the file that ``load_dataset`` opens.
    """
    described = _croissant(known, data / known.data_files)
    front = Verbatim(_front_matter(known))
    contents = {"known": known, "front_matter": front, "share": share, "counted": counted}
    write_file(to / README, signed(fill_markdown("dataset_card.md.j2", contents)))
    text = msgspec.json.format(msgspec.json.encode(described), indent=2).decode()
    write_file(to / CROISSANT, f"{text}\n")


def refuse_edited(to: Path) -> None:
    """Refuse to replace a card that a person wrote or changed."""
    there = [name for name in (README, CROISSANT) if (to / name).exists()]
    if there and not is_as_written(to / README):
        hint = f"state it in {FACTS} ({param('fact')}) instead, or add {param('overwrite', True)}"
        raise InputError(f"{to / there[0]} was written or changed by a person; {hint}")


def _front_matter(known: Known) -> str:
    """The YAML front matter for the hub and ``datasets``: only what is known."""
    licence, items = known.licence, known.manifest.counts.items
    other = licence.stated if licence.on_the_hub == "other" else ""
    fields: dict[str, Any] = {
        "pretty_name": " ".join(clip(known.name, 200).split()),
        "license": licence.on_the_hub,
        "license_name": " ".join(clip(other, 200).split()),
        "license_link": other if other.startswith("https://") else "",
        "language": list(known.facts.language),
        "task_categories": [*_tasks(known), *(["multiple-choice"] if known.manifest.counts.choice_items else [])],
        "size_categories": [size for size, most in template_data("card.yaml")["sizes"].items() if items < most][:1],
        "tags": ["benchmark", *known.media_words, "eyetest", *(["eyetest-refined"] if known.refinement else [])],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": known.data_files}]}],
    }
    kept = {name: value for name, value in fields.items() if value}
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=1_000)


_TASKS: dict[MediaKind, str] = {
    "video": "video-text-to-text",
    "audio": "audio-text-to-text",
    "document": "document-question-answering",
}


def _tasks(known: Known) -> list[str]:
    """The hub's names of the tasks, by the media of the items."""
    tasks = ["visual-question-answering"] if known.with_images else []
    tasks += [task for kind, task in _TASKS.items() if known.with_media.get(kind)]
    return tasks or ["question-answering"]


def _croissant(known: Known, items: Path) -> dict[str, Any]:
    """The Croissant description of a benchmark folder or an export, for ``mlcroissant``."""
    manifest, facts, words, at = known.manifest, known.facts, template_data("card.yaml"), known.data_files
    unknown = "UNKNOWN: no licence is stated under which this may be used"
    optional = {
        "description": facts.about or manifest.source or f"{known.name}: no description.",
        "license": known.licence.stated if known.licence.is_known else unknown,
        "url": facts.homepage,
        "citeAs": facts.citation,
        "datePublished": facts.published.isoformat() if facts.published else "",
        "creator": [{"@type": "sc:Person", "name": name} for name in facts.creators],
        "inLanguage": list(facts.language),
        "version": manifest.version,
        "keywords": ["benchmark", *known.media_words, "eyetest"],
    }
    with items.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    stored = {"contentSize": f"{items.stat().st_size} B", "encodingFormat": "application/x-parquet", "sha256": digest}
    files = [_entry("FileObject", at, description="one row an item", contentUrl=at) | stored]
    fields = [_field(column, at) for column in (pq.read_schema(items) if known.exported else SCHEMA)]
    records = [_entry("RecordSet", "items", key={"@id": "items/id"}, field=fields)]
    if known.image_formats and not known.exported:
        about = "every image once, named by the SHA-256 of its bytes"
        formats = [f"image/{kind}" for kind in known.image_formats]
        files.append(_entry("FileSet", "images", description=about, encodingFormat=formats, includes="images/*/*"))
        columns = (("file", "sc:Text", "filename"), ("content", "sc:ImageObject", "content"))
        sources = [{"fileSet": {"@id": "images"}, "extract": {"fileProperty": part}} for *_, part in columns]
        fields = [
            _entry("Field", f"images-by-hash/{name}", dataType=kind, source=source)
            for (name, kind, _), source in zip(columns, sources, strict=True)
        ]
        records.append(_entry("RecordSet", "images-by-hash", field=fields))
    return {
        "@context": words["context"] | {word: f"cr:{word}" for word in words["words"]},
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": known.name,
        **{name: value for name, value in optional.items() if value},
        "identifier": manifest.fingerprint,
        "distribution": files,
        "recordSet": records,
    }


def _entry(kind: str, path: str, **more: Any) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": path, "name": path.rpartition("/")[2], **more}


def _field(column: pa.Field, file: str) -> dict[str, Any]:
    """A column as a field: a list is a repeated one, a list of structs one with fields inside."""
    source = {"fileObject": {"@id": file}, "extract": {"column": column.name}}
    description = template_data("card.yaml")["fields"].get(column.name, "text about the item")
    about = _entry("Field", f"items/{column.name}", description=description)
    if not pa.types.is_list(column.type):
        return {**about, "dataType": _kind(column.type), "source": source}
    inside = column.type.value_type
    if not pa.types.is_struct(inside):
        return {**about, "dataType": _kind(inside), "repeated": True, "source": source}
    if inside.get_field_index("bytes") >= 0:  # images as datasets stores them
        content = {**source, "transform": {"jsonPath": "bytes"}}
        return {**about, "dataType": "sc:ImageObject", "repeated": True, "source": content}
    parts = []
    for part in inside:
        within = {**source, "transform": {"jsonPath": part.name}}
        parts.append(_entry("Field", f"items/{column.name}/{part.name}", dataType=_kind(part.type), source=within))
    return {**about, "repeated": True, "subField": parts}


def _kind(kind: pa.DataType) -> str:
    return "sc:Boolean" if pa.types.is_boolean(kind) else "sc:Integer" if pa.types.is_integer(kind) else "sc:Text"

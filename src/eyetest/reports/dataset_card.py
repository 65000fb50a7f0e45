"""The card of a benchmark: ``README.md`` as the hub shows it, and ``croissant.json`` for programs."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import yaml

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import CROISSANT, ITEMS, README, SAID, SCHEMA
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.measures.stats.intervals import mean
from eyetest.pages.page import Verbatim, clip, fill_markdown
from eyetest.records import Item, Manifest, sorting_tags, tag_word
from eyetest.reports.refinements import Records, RefinementHistory, Residual, read_refinement
from eyetest.store import replacing_file
from eyetest.store.files import is_as_written, signed
from eyetest.store.handwritten import convert, read_yaml
from eyetest.wording import counted, listed, percent

_SIZES = {10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M", 10**7: "1M<n<10M",
          10**8: "10M<n<100M"}  # fmt: skip
_CREATIVE = ("CC-BY", "CC-BY-SA", "CC-BY-NC", "CC-BY-ND", "CC-BY-NC-SA", "CC-BY-NC-ND")
_SPDX = (
    "CC0-1.0",
    *(f"{name}-{version}" for name in _CREATIVE for version in ("3.0", "4.0")),
    *("MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MPL-2.0", "Unlicense"),
    *("ODbL-1.0", "ODC-By-1.0", "PDDL-1.0"),
    *("CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0"),
)
_ON_THE_HUB = {"ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by", "PDDL-1.0": "pddl"}
_BY_WORD = {name.lower(): name for name in _SPDX}
_UNKNOWN = "unknown"
_SOURCE_TAGS, _LICENCE_TAGS = ("source", "dataset"), ("licence", "license")


class Statements(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """``card.yaml``: what only people know. All is optional; what is absent is unknown on the card."""

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

    said: str

    @property
    def is_known(self) -> bool:
        """Whether it is stated at all."""
        return self.said.strip().lower() not in ("", _UNKNOWN, "none", "?")

    @property
    def spdx(self) -> str:
        """Its SPDX name, where it is a common one."""
        return _BY_WORD.get("-".join(self.said.lower().replace("_", " ").split()), "")

    @property
    def on_the_hub(self) -> str:
        """Its name on the hub."""
        if not self.is_known:
            return _UNKNOWN
        return _ON_THE_HUB.get(self.spdx, self.spdx.lower()) or "other"

    @property
    def address(self) -> str:
        """Its SPDX page, or else its name."""
        unlinked = self.said if self.is_known else "UNKNOWN: no licence is stated under which this may be used"
        return f"https://spdx.org/licenses/{self.spdx}" if self.spdx else unlinked


def read_said(path: Path) -> Statements:
    """The statements of a ``card.yaml``; none where there is no file."""
    return convert(read_yaml(path) or {}, Statements, str(path)) if path.exists() else Statements()


def write_said(path: Path, said: Statements) -> None:
    """Write a ``card.yaml``."""
    text = yaml.safe_dump(msgspec.to_builtins(said), sort_keys=False, allow_unicode=True)
    with replacing_file(path) as file:
        file.write_text(text, encoding="utf-8")


def with_settings(said: Statements, words: Sequence[str]) -> Statements:
    """Earlier statements with ``KEY=VALUE`` on top of them; an empty value removes a statement."""
    content: dict[str, Any] = msgspec.to_builtins(said)
    names = Statements.__struct_fields__
    for word in words:
        key, equals, value = word.partition("=")
        name, _, inner = key.strip().partition(".")
        if not equals:
            raise InputError(f"{heading('fact')}: found {short(word)}, expected KEY=VALUE")
        if name not in names:
            raise InputError(f'{heading("fact")}: no "{name}"; {nearest(name, names)}')
        kind = type(getattr(Statements(), name))
        if (kind is dict) != bool(inner):
            raise InputError(f"{heading('fact', key)}: expected {name + '.NAME' if kind is dict else name}=VALUE")
        values, last = (content.setdefault(name, {}), inner) if inner else (content, name)
        values.pop(last, None)
        if value.strip():
            parts = [part.strip() for part in value.split(",") if part.strip()]
            values[last] = parts if kind is tuple else value.strip()
    return convert(content, Statements, heading("fact"))


EXPORTS = {"lmms-eval": "data/test-*.parquet", "datasets": ""}
"""Export formats that are uploaded as they are, and what ``load_dataset`` opens in them, if anything."""


class SourceLicence(NamedTuple):
    """A dataset that items come from, the number of its items, and its licence."""

    name: str
    items: int
    licence: Licence


class Known(NamedTuple):
    """Facts of a card: counted from the items, stated, or on record."""

    manifest: Manifest
    said: Statements
    refinement: RefinementHistory | None
    groups: dict[str, Counter[str]]
    """Number of items by tag and value, for tags that sort items into a few groups."""
    sources: list[SourceLicence]
    with_gold: int
    with_images: int
    changed: int  # items with a lineage: made or repaired from others
    image_formats: tuple[str, ...]
    data_files: str = ITEMS  # what ``load_dataset`` opens; empty: nothing
    exported: bool = False
    """Whether the card lies beside an export: images are inside the data, and there is no ``croissant.json``."""

    @property
    def name(self) -> str:
        """The stated name, or that in the manifest."""
        return self.said.name or self.manifest.name

    @property
    def licence(self) -> Licence:
        """Licence of the whole: as stated for the card, or else in the manifest."""
        return Licence(self.said.licence or self.manifest.licence)

    @property
    def unlicensed(self) -> list[SourceLicence]:
        """Sources whose licence is not known."""
        return [source for source in self.sources if not source.licence.is_known]

    @property
    def left_blind(self) -> list[Residual]:
        """The recorded accuracy without the images."""
        return self.refinement.left_blind if self.refinement else []

    @property
    def chance(self) -> float | None:
        """Score of random choice on the choice items."""
        counts = self.manifest.counts
        if not counts.choice_items:
            return None
        return sum(items / int(options) for options, items in counts.options.items()) / counts.choice_items


def card_of(benchmark: Benchmark, said: Statements, records: Records | None = None) -> Known:
    """Collect the contents of a benchmark's card; reads all items, but no image."""
    tags = sorting_tags(benchmark)
    groups: dict[str, Counter[str]] = {tag: Counter() for tag in tags}
    sources: dict[str, Counter[str]] = {}
    formats: set[str] = set()
    totals: Counter[str] = Counter()
    for item in benchmark:
        for tag in tags:
            groups[tag][tag_word(item.tags.get(tag)) or ""] += 1
        for name in _sources(item, benchmark.manifest):
            sources.setdefault(name, Counter())[_word(item, _LICENCE_TAGS)] += 1
        formats.update(image.format for image in item.images)
        totals.update(gold=item.has_gold, images=bool(item.images), changed=bool(item.lineage))
    counts = (totals["gold"], totals["images"], totals["changed"], tuple(sorted(formats)))
    refinement = read_refinement(records) if records else None
    return Known(benchmark.manifest, said, refinement, groups, _licensed(sources, said), *counts)


def _sources(item: Item, manifest: Manifest) -> set[str]:
    """Source datasets of an item: its tag, and other names in its lineage than the benchmark's own."""
    steps = [step.source for step in manifest.lineage]
    own = {manifest.name, *steps, *(source.rpartition(" ")[0] for source in steps)}
    lineage = {step.source for step in item.lineage} - own
    return {name for name in (_word(item, _SOURCE_TAGS), *lineage) if name}


def _word(item: Item, tags: tuple[str, ...]) -> str:
    return next((word for tag in tags if (word := tag_word(item.tags.get(tag)))), "")


def _licensed(sources: dict[str, Counter[str]], said: Statements) -> list[SourceLicence]:
    """Sources with their stated licence; else with those of their items, one line per licence."""
    rows = [SourceLicence(name, 0, Licence(word)) for name, word in said.sources.items() if name not in sources]
    for name, found in sources.items():
        counts = Counter({said.sources[name]: found.total()}) if name in said.sources else found
        rows += [SourceLicence(name, items, Licence(licence)) for licence, items in counts.items()]
    return sorted(rows, key=lambda source: (-source.items, source))


SMALL_GROUP = 30
_GOLDS = {"wrong-gold", "zero-pass", "review"}
_BLIND = {"blind-hits", "blind-majority", "blind-count", "chance-aware", "leaks"}


def limits(known: Known) -> Iterator[str]:
    """All known weaknesses, the gravest first."""
    yield from _blind(known)
    yield from _process(known.refinement)
    yield from _small(known)
    if without := known.manifest.counts.items - known.with_gold:
        yield f"{counted(without, 'item')} without a gold answer: scoring them needs it from elsewhere."
    if known.refinement is not None:
        if known.refinement.about.recorded:
            yield "The verdicts rest on recorded answers; no model was asked anew, and no judge was asked at all."
        yield from (f"Noted while it was made: {note}." for note in known.refinement.about.notes)


def share(residual: Residual) -> str:
    """A share with its interval: ``38 % (95 % interval 11 % to 64 %)``."""
    accuracy = residual.accuracy
    assert accuracy.value is not None
    if accuracy.low is None or accuracy.high is None:
        return f"{percent(accuracy.value)} (too few items for an interval)"
    return f"{percent(accuracy.value)} (95 % interval {percent(accuracy.low)} to {percent(accuracy.high)})"


def _blind(known: Known) -> Iterator[str]:
    left = known.left_blind
    if not left and known.with_images:
        yield "How many of these items can be answered without their images was not measured."
    chance = f" Choosing at random gives {percent(known.chance)} on the choice items." if known.chance else ""
    for one in left:
        who = "that had no say" if one.who == "held out" else "that screened it, to whom it looks cleaner than it is,"
        yield (
            f"Without the image, {counted(one.models, 'model')} {who} (panel {one.panel}) still answered "
            f"{share(one)} of {counted(one.accuracy.n, 'item')}.{chance}"
        )
    if left and all(one.who != "held out" for one in left):
        yield "No model was held out, so what a new model answers blind is not known; expect more than the panel's."


def _process(made: RefinementHistory | None) -> Iterator[str]:
    """What was not reviewed, and what the stages carried out could not have found."""
    if made is None:
        yield "It is not on record that any person has checked the items."
    elif made.unreviewed:
        yield f"{counted(made.unreviewed, 'item')} passed a review stage without a person having looked at them."
    elif not any(outcome.stage.review for outcome in made.outcomes):
        yield "No stage had people look at every item: only what a screen doubted went to them."
    if made is not None and made.waiting:
        yield f"{counted(made.waiting, 'item')} still wait for people. They are left out, so the benchmark may grow."
    stages = [outcome.stage for outcome in made.outcomes if outcome.unreviewed < outcome.into] if made else []
    names = {name for stage in stages for name in (stage.filter, stage.grade, stage.probe, stage.kind) if name}
    if names & _BLIND:
        yield "A no-image filter finds what its panel can answer without the image; a stronger model may answer more."
    elif made is not None:
        yield "No stage looked for items that can be answered without the image."
    looked = "No stage looked" if made else "It is not on record that any stage looked"
    if not names & _GOLDS:
        yield f"{looked} for wrong gold answers."
    if not any(name.startswith("duplicate") for name in names):
        yield f"{looked} for repeated items or images (eyetest audit does)."
    yield "Whether a model has seen these items in training was not tested."


def _small(known: Known) -> Iterator[str]:
    items = known.manifest.counts.items
    half, margin = mean([1.0] * (items // 2) + [0.0] * (items - items // 2)), "nothing at all"
    if items > 1 and half.low is not None and half.high is not None:
        margin = f"± {100 * (half.high - half.low) / 2:.1f} points (95 %)"
    yield f"A model that gets half of the {counted(items, 'item')} right is known only to within {margin}."
    for tag, counts in sorted(known.groups.items()):
        small = sorted((count, value) for value, count in counts.items() if value and count < SMALL_GROUP)
        examples, groups = listed([f"{value}: {count}" for count, value in small], 4), sum(map(bool, counts))
        if small:
            yield f"By {tag}, {len(small)} of {groups} groups have fewer than {SMALL_GROUP} items ({examples})."


def self_score(known: Known) -> dict[str, bool]:
    """Good practices after BetterBench (arXiv 2411.12990), reworded, and whether each is on record."""
    said, made, manifest = known.said, known.refinement, known.manifest
    intervals = [residual.accuracy.low is not None for residual in known.left_blind]
    panels = made.about.recipe.panels.values() if made else ()
    reviewed = made is not None and any(outcome.stage.review for outcome in made.outcomes) and not made.unreviewed
    return {
        "What is tested is defined": bool(said.about),
        "What choosing at random gives is stated": known.chance is not None,
        "Answers can be scored without people": known.with_gold == manifest.counts.items,
        "Several orders of the options were tried": any(panel.orders > 1 for panel in panels),
        "It was tested that the images are needed": bool(intervals),
        "Figures come with their uncertainty": bool(intervals) and all(intervals),
        "Items were checked by people": reviewed,
        "What was done to the items is on record": bool(manifest.lineage),
        "What was removed, why, and how to repeat it is on record": made is not None,
        "A canary string lets it be kept out of training data": bool(manifest.canary),
        "Every field of the data is described": not known.exported,
        "The licence is stated": known.licence.is_known,
        "Every source is named with its licence": bool(known.sources) and not known.unlicensed,
        "The data can be found": bool(said.homepage),
        "A paper describes it": bool(said.paper),
        "How to cite it is stated": bool(said.citation),
        "A contact is named": bool(said.contact),
        "There is a place to report errors": bool(said.feedback),
        "Versions can be distinguished": bool(manifest.fingerprint),
    }


def write_card(known: Known, benchmark: Benchmark, to: Path) -> None:
    """Write both files into a folder, the signed one first, so that an interrupted card is still recognised."""
    described = msgspec.json.format(msgspec.json.encode(_croissant(known, benchmark.path / ITEMS)), indent=2)
    write_readme(known, to)
    with replacing_file(to / CROISSANT) as file:
        file.write_bytes(described + b"\n")


def write_readme(known: Known, to: Path) -> None:
    """Write the readable card alone, as beside an export, which Croissant does not describe."""
    contents = {
        "known": known,
        "front_matter": Verbatim(_front_matter(known)),
        "limits": list(limits(known)),
        "share": share,
        "score": self_score(known),
    }
    with replacing_file(to / README) as file:
        file.write_bytes(signed(fill_markdown("dataset_card.md.j2", contents)).encode("utf-8", "replace"))


def refuse_edited(to: Path) -> None:
    """Refuse to replace a card that a person wrote or changed."""
    there = [name for name in (README, CROISSANT) if (to / name).exists()]
    if there and not is_as_written(to / README):
        hint = f"say it in {SAID} ({param('fact')}) instead, or add {param('overwrite', True)}"
        raise InputError(f"{to / there[0]} was written or changed by a person; {hint}")


def _front_matter(known: Known) -> str:
    """The YAML front matter for the hub and ``datasets``: only what is known."""
    licence, opened = known.licence, known.data_files
    seen = "visual-question-answering" if known.with_images else "question-answering"
    fields: dict[str, Any] = {
        "pretty_name": " ".join(clip(known.name, 200).split()),
        "license": licence.on_the_hub,
        "license_name": " ".join(clip(licence.said, 200).split()) if licence.on_the_hub == "other" else "",
        "license_link": licence.said if licence.on_the_hub == "other" and licence.said.startswith("https://") else "",
        "language": list(known.said.language),
        "task_categories": [seen, *(["multiple-choice"] if known.manifest.counts.choice_items else [])],
        "size_categories": [size for most, size in _SIZES.items() if known.manifest.counts.items < most][:1],
        "tags": ["benchmark", "vision-language", "eyetest", *(["eyetest-refined"] if known.refinement else [])],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": opened}]}] if opened else [],
    }
    kept = {name: value for name, value in fields.items() if value}
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=1_000)


@cache
def _vocabulary() -> dict[str, Any]:
    text = resources.files("eyetest.reports").joinpath("templates", "croissant.yaml").read_text(encoding="utf-8")
    vocabulary: dict[str, Any] = yaml.safe_load(text)
    return vocabulary


def _croissant(known: Known, items: Path) -> dict[str, Any]:
    """The Croissant description of a benchmark folder, for ``mlcroissant``."""
    manifest, said, words = known.manifest, known.said, _vocabulary()
    optional = {
        "description": said.about or manifest.source or f"{known.name}: not described yet.",
        "license": known.licence.address,
        "url": said.homepage,
        "citeAs": said.citation,
        "datePublished": said.published.isoformat() if said.published else "",
        "creator": [{"@type": "sc:Person", "name": name} for name in said.creators],
        "inLanguage": list(said.language),
        "version": manifest.version,
        "keywords": ["benchmark", "vision-language", "eyetest"],
    }
    with items.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    stored = {"contentSize": f"{items.stat().st_size} B", "encodingFormat": "application/x-parquet", "sha256": digest}
    table = _entry("FileObject", ITEMS, description="one row an item", contentUrl=ITEMS) | stored
    fields = [_field(column) for column in SCHEMA]
    files, records = [table], [_entry("RecordSet", "items", key={"@id": "items/id"}, field=fields)]
    if known.image_formats:
        about = "every image once, named by the SHA-256 of its bytes"
        formats = [f"image/{kind}" for kind in known.image_formats]
        files.append(_entry("FileSet", "images", description=about, encodingFormat=formats, includes="images/*/*"))
        fields = []
        for name, kind, extract in (("file", "sc:Text", "filename"), ("content", "sc:ImageObject", "content")):
            source = {"fileSet": {"@id": "images"}, "extract": {"fileProperty": extract}}
            fields.append(_entry("Field", f"images-by-hash/{name}", dataType=kind, source=source))
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


def _field(column: pa.Field) -> dict[str, Any]:
    """A column as a field: a list is a repeated one, a list of structs one with fields inside."""
    source = {"fileObject": {"@id": ITEMS}, "extract": {"column": column.name}}
    about = _entry("Field", f"items/{column.name}", description=_vocabulary()["fields"][column.name])
    if not pa.types.is_list(column.type):
        return {**about, "dataType": _kind(column.type), "source": source}
    inside = column.type.value_type
    if not pa.types.is_struct(inside):
        return {**about, "dataType": _kind(inside), "repeated": True, "source": source}
    parts = []
    for part in inside:
        within = {**source, "transform": {"jsonPath": part.name}}
        parts.append(_entry("Field", f"items/{column.name}/{part.name}", dataType=_kind(part.type), source=within))
    return {**about, "repeated": True, "subField": parts}


def _kind(kind: pa.DataType) -> str:
    return "sc:Boolean" if pa.types.is_boolean(kind) else "sc:Integer" if pa.types.is_integer(kind) else "sc:Text"

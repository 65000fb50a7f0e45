"""New editions of items whose image and answer follow from data, and twins whose answer is another one."""

import runpy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import EyetestError, InputError, counted, param, short
from eyetest.records import EDITION, FRESH, ORIGINAL, TWIN, Choice, Item, Lineage, Manifest
from eyetest.records.item import Seed
from eyetest.registry import Registry

OF_THE_IMAGE = ("image_name", "image_sha256_original", "image_reencoded", "orig_width", "orig_height")
"""Tags of published datasets that speak of the old image's file."""


class NotRenewable(EyetestError):  # noqa: N818 (says why an item stays as it is; nothing went wrong)
    """An item that cannot be drawn again, and why, in words short enough to be counted."""


class Original(NamedTuple):
    """An item as it is, and where data may lie that it does not hold itself."""

    item: Item
    data: Path  # what the user named, or the folder that the benchmark's folder lies in


class Redrawn(msgspec.Struct, frozen=True, kw_only=True):
    """What a generator drew: ``image`` is an image file. Everything else of the item stays as it was."""

    question: str
    choices: tuple[Choice, ...] = ()
    references: tuple[str, ...] = ()
    image: bytes
    description: str = ""
    tags: dict[str, Any] = {}  # those that change with the scene; None for one that no longer holds
    scene: dict[str, Any] = {}
    """Everything that the image shows, as JSON, so that the answer can be found again."""


class Generator(Protocol):
    """One kind of data. Both ways of drawing raise `NotRenewable` where an item does not lend itself to it."""

    name: str
    summary: str

    def knows(self, original: Original) -> bool:
        """Whether the item is of this kind, so that no other generator needs to be asked."""
        ...

    def renew(self, original: Original, rng: Random) -> Redrawn:
        """The same kind of question about a new scene."""
        ...

    def twins(self, original: Original, rng: Random) -> Iterator[Redrawn]:
        """The same question and options about scenes in which other answers are right, as many as there are."""
        ...


def rng_of(step: str, seed: int, item_id: str) -> Random:
    """The draws of one item, the same whatever else is drawn beside it."""
    return Random(f"{step}/{seed}/{item_id}")


def load_generator(path: Path) -> Generator:
    """The generator in a Python file of the user. The file is run."""
    if not path.is_file():
        raise InputError(f"{param('generator')}: no file {path}")
    try:
        generator: Generator | None = runpy.run_path(str(path)).get("GENERATOR")
    except Exception as error:
        raise InputError(f"{param('generator')}: {path}: {type(error).__name__}: {error}") from error
    lacks = [name for name in ("name", "summary", "knows", "renew", "twins") if not hasattr(generator, name)]
    if generator is None or lacks:
        raise InputError(f"{param('generator')}: {path} has no GENERATOR with {', '.join(lacks)}")
    return generator


GENERATORS: Registry[Generator] = Registry("generator", __name__, "GENERATOR", "generator")


RENEW_STEP, TWIN_STEP = "renew", "twin"
_HARDENED = ("options", "screenshot")  # steps after which an item is no longer what its data say


class EditionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How items are drawn again."""

    seed: Seed = 0
    data: str = ""
    """Where the data lie that items do not hold themselves; by default beside the benchmark's folder."""
    twins: Annotated[int, msgspec.Meta(ge=0)] = 0
    """How many twins of an item, where there are as many: each has another answer; 0 for a new edition."""
    fresh: bool = False  # beside the twins also an item of a new edition

    @property
    def step(self) -> str:
        """The step of the lineage."""
        return TWIN_STEP if self.twins else RENEW_STEP


class EditionScene(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One drawn item: what its image shows, as JSON. It determines the answer."""

    item: str
    generator: str
    scene: str


class Editions(NamedTuple):
    """What was drawn: ``items`` originals ``of`` so many, and why the rest was not."""

    benchmark: Benchmark
    items: int
    of: int
    refused: dict[str, int]
    scenes: list[EditionScene]


def draw_again(
    benchmark: Benchmark,
    to: Path,
    settings: EditionSettings,
    *,
    own: Sequence[Generator] = (),
    overwrite: bool = False,
    step: Callable[[int], None] = lambda done: None,
) -> Editions:
    """Write a new edition, or with ``settings.twins`` originals each beside its twins.

    In an edition items keep their ids and kinds; scene, image and answer are new. A twin is named after its original
    with ``-twin`` behind, the next with ``-twin-2``; ``group`` is the original. ``own`` are the user's own
    generators, tried before those of the package; ``step`` is called with the number of items seen.
    """
    data = Path(settings.data) if settings.data else benchmark.path.resolve().parent
    if not data.exists():
        raise InputError(f"{param('data')}: nothing lies at {data}")
    steps = (TWIN_STEP, RENEW_STEP) if settings.twins and settings.fresh else (settings.step,)
    refused: Counter[str] = Counter()
    items, scenes, old = 0, list[EditionScene](), benchmark.manifest
    made_by = Lineage(step=settings.step, source=f"{old.name} {old.version}", seed=settings.seed)
    manifest = Manifest(  # of a benchmark in its own right: it is no later revision of the other one
        name=f"{old.name}-{'twins' if settings.twins else 'edition'}-{settings.seed}",
        licence=old.licence,
        source=old.source,
        canary=old.canary,
        lineage=(*old.lineage, made_by),
    )
    with BenchmarkWriter(to, manifest, overwrite=overwrite) as writer:
        for number, item in enumerate(benchmark):
            step(number)
            original = Original(item, data)
            try:
                generator = _generator_of(original, (*own, *GENERATORS.values()))
                drawn = [new for way in steps for new in _drawn(original, generator, way, settings)]
            except NotRenewable as refusal:
                refused[str(refusal)] += 1
                continue
            items += 1
            if settings.twins:
                writer.adopt(_tagged(item, ORIGINAL), benchmark)
            for new in drawn:
                made = _new_item(writer, item, new)
                if settings.twins:
                    edition = TWIN if new.lineage.step == TWIN_STEP else FRESH
                    made = msgspec.structs.replace(_tagged(made, edition), id=new.name, group=item.id)
                writer.add(made)
                scene = msgspec.json.encode(new.redrawn.scene, order="sorted").decode()
                scenes.append(EditionScene(item=made.id, generator=generator.name, scene=scene))
        if not items:
            reason, count = refused.most_common(1)[0]
            raise InputError(f"nothing can be drawn again: {reason} ({counted(count, 'item')})")
    return Editions(Benchmark(to), items, len(benchmark), dict(refused.most_common()), scenes)


def _tagged(item: Item, edition: str) -> Item:
    return msgspec.structs.replace(item, tags=item.tags | {EDITION: edition})


class _Drawn(NamedTuple):
    name: str  # the id beside its original
    redrawn: Redrawn
    lineage: Lineage


def _generator_of(original: Original, generators: Sequence[Generator]) -> Generator:
    for step in original.item.lineage:
        if step.step in _HARDENED:
            raise NotRenewable(f"it was hardened ({step.step}): draw again what it was made from, and harden that")
        if step.step == TWIN_STEP:
            raise NotRenewable("it is a twin already")
    if original.item.history:
        raise NotRenewable("it is a turn of a dialogue")
    for generator in generators:
        if generator.knows(original):
            return generator
    raise NotRenewable("no generator knows its kind")


def _drawn(original: Original, generator: Generator, step: str, settings: EditionSettings) -> list[_Drawn]:
    item, rng = original.item, rng_of(step, settings.seed, original.item.id)
    lineage = Lineage(step=step, source=generator.name, item=item.id, seed=settings.seed)
    if step == RENEW_STEP:
        return [_Drawn(f"{item.id}-{FRESH}", generator.renew(original, rng), lineage)]
    golds, twins = [_golds(item)], list[_Drawn]()
    for redrawn in islice(generator.twins(original, rng), settings.twins):
        if _golds(redrawn) in golds:
            raise InputError(f"{generator.name}: a twin of item {short(item.id)} has the same answer as another")
        golds.append(_golds(redrawn))
        number = f"-{len(twins) + 1}" if twins else ""
        twins.append(_Drawn(f"{item.id}-{TWIN}{number}", redrawn, lineage))
    if not twins:
        raise NotRenewable("no change of its scene makes another answer right")
    return twins


def _new_item(writer: BenchmarkWriter, old: Item, drawn: _Drawn) -> Item:
    """The new item; its image is written."""
    redrawn = drawn.redrawn
    return Item(
        id=old.id,
        question=redrawn.question,
        images=(writer.images.put(redrawn.image),),
        choices=redrawn.choices,
        references=redrawn.references,
        hint=old.hint,
        description=redrawn.description,
        group=old.group,
        tags={tag: value for tag, value in (old.tags | redrawn.tags).items() if value is not None},
        lineage=(*old.lineage, drawn.lineage),
    )


def _golds(item: Item | Redrawn) -> Any:
    return [choice.correct for choice in item.choices] if item.choices else item.references

"""A whole benchmark drawn again: as a new edition, or as originals beside twins whose answer is another one."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError, param, short
from eyetest.harden.editions.generating import Generator, NotRenewable, Original, Redrawn, rng_of
from eyetest.harden.editions.generators import GENERATORS
from eyetest.records import EDITION, FRESH, ORIGINAL, TWIN, Item, Lineage, Manifest
from eyetest.records.item import Seed
from eyetest.tabular.record_files import write_records
from eyetest.wording import counted

RENEW_STEP, TWIN_STEP = "renew", "twin"
_HARDENED = ("options", "screenshot")
"""Steps after which an item is no longer what its data say."""


class EditionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How items are drawn again."""

    seed: Seed = 0
    data: str = ""
    """Where the data lie that items do not hold themselves; by default beside the benchmark's folder."""
    twins: Annotated[int, msgspec.Meta(ge=1)] = 3
    """How many twins of an item, where there are as many: each has another answer."""
    fresh: bool = False
    """Beside the twins also an item of a new edition."""


class EditionScene(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One drawn item: what its picture shows. Whoever reads it knows the gold."""

    item: str
    generator: str
    scene: str
    """JSON."""


class Editions(NamedTuple):
    """What was drawn, and why the rest was not."""

    benchmark: Benchmark
    items: int
    """Of the originals, how many were drawn again."""
    of: int
    refused: dict[str, int]
    scenes: list[EditionScene]

    @property
    def told(self) -> list[str]:
        """What the user should know of it."""
        return [f"not drawn again: {reason} ({count:,})" for reason, count in self.refused.items()]


def renew(
    benchmark: Benchmark,
    to: Path,
    settings: EditionSettings,
    *,
    own: Sequence[Generator] = (),
    overwrite: bool = False,
    step: Callable[[int], None] = lambda done: None,
) -> Editions:
    """A new edition: items keep their ids and kinds; scene, picture and gold are new.

    ``own`` are somebody's own generators, asked before those of the package; ``step`` hears how many items were seen.
    """
    drawing = _Drawing(benchmark, settings, (*own, *GENERATORS.values()))
    manifest = drawing.manifest("edition", RENEW_STEP)
    with BenchmarkWriter(to, manifest, overwrite=overwrite) as writer:
        for item, drawn in drawing.draw((RENEW_STEP,), step):
            writer.add(_new_item(writer, item, drawn[0]))
        drawing.refuse_nothing()
    return drawing.done(to)


def make_twins(
    benchmark: Benchmark,
    to: Path,
    settings: EditionSettings,
    *,
    own: Sequence[Generator] = (),
    overwrite: bool = False,
    step: Callable[[int], None] = lambda done: None,
) -> Editions:
    """Originals, each beside its twins: one run asks all, and `measure leak-by-twin` compares them.

    A twin is called as its original with ``-twin`` behind, the next with ``-twin-2``; ``group`` is the original.
    """
    drawing = _Drawing(benchmark, settings, (*own, *GENERATORS.values()))
    manifest = drawing.manifest("twins", TWIN_STEP)
    steps = (TWIN_STEP, RENEW_STEP) if settings.fresh else (TWIN_STEP,)
    with BenchmarkWriter(to, manifest, overwrite=overwrite) as writer:
        for item, drawn in drawing.draw(steps, step):
            writer.adopt(_tagged(item, ORIGINAL), benchmark)
            for one in drawn:
                made = _tagged(_new_item(writer, item, one), TWIN if one.lineage.step == TWIN_STEP else FRESH)
                writer.add(msgspec.structs.replace(made, id=one.name, group=item.id))
        drawing.refuse_nothing()
    return drawing.done(to)


def write_scenes(editions: Editions, to: Path, *, overwrite: bool = False) -> None:
    """What every drawn picture shows, as a table beside the benchmark: it tells the golds."""
    write_records(editions.scenes, EditionScene, to, overwrite=overwrite)


def _tagged(item: Item, edition: str) -> Item:
    return msgspec.structs.replace(item, tags=item.tags | {EDITION: edition})


class _Drawn(NamedTuple):
    name: str
    """The id beside its original."""
    redrawn: Redrawn
    lineage: Lineage


class _Drawing:
    """One pass over a benchmark, and what came of it."""

    def __init__(self, benchmark: Benchmark, settings: EditionSettings, generators: Sequence[Generator]) -> None:
        self._benchmark, self._settings, self._generators = benchmark, settings, generators
        self._data = Path(settings.data) if settings.data else benchmark.path.resolve().parent
        if not self._data.exists():
            raise InputError(f"{param('data')}: nothing lies at {self._data}")
        self._refused: Counter[str] = Counter()
        self._items = 0
        self._scenes: list[EditionScene] = []

    def manifest(self, what: str, step: str) -> Manifest:
        """Of a benchmark in its own right: it is no later revision of the one that it was drawn from."""
        old, seed = self._benchmark.manifest, self._settings.seed
        made = Lineage(step=step, source=f"{old.name} {old.version}", seed=seed)
        return Manifest(
            name=f"{old.name}-{what}-{seed}",
            licence=old.licence,
            source=old.source,
            canary=old.canary,
            lineage=(*old.lineage, made),
        )

    def draw(self, steps: Sequence[str], tell: Callable[[int], None]) -> Iterator[tuple[Item, list[_Drawn]]]:
        """Each item that can be drawn in all these ways, and what was drawn; why the others cannot is counted."""
        for number, item in enumerate(self._benchmark):
            tell(number)
            try:
                generator = self._generator(item)
                drawn = [one for step in steps for one in self._drawn(item, generator, step)]
            except NotRenewable as refusal:
                self._refused[str(refusal)] += 1
                continue
            self._items += 1
            for one in drawn:
                name = one.name if TWIN_STEP in steps else item.id
                scene = msgspec.json.encode(one.redrawn.scene, order="sorted").decode()
                self._scenes.append(EditionScene(item=name, generator=generator.name, scene=scene))
            yield item, drawn

    def refuse_nothing(self) -> None:
        """A benchmark of which nothing can be drawn is told so, and why, in one line."""
        if not self._items:
            reason, count = self._refused.most_common(1)[0]
            raise InputError(f"nothing can be drawn again: {reason} ({counted(count, 'item')})")

    def done(self, to: Path) -> Editions:
        """What came of it, once it is written."""
        refused = dict(self._refused.most_common())
        return Editions(Benchmark(to), self._items, len(self._benchmark), refused, self._scenes)

    def _generator(self, item: Item) -> Generator:
        for step in item.lineage:
            if step.step in _HARDENED:
                raise NotRenewable(
                    f"it was hardened ({step.step}): draw again what it was made from, and harden that"
                )
            if step.step == TWIN_STEP:
                raise NotRenewable("it is a twin already")
        if item.history:
            raise NotRenewable("it is a turn of a dialogue")
        for generator in self._generators:
            if generator.knows(Original(item, self._data)):
                return generator
        raise NotRenewable("no generator knows its kind")

    def _drawn(self, item: Item, generator: Generator, step: str) -> list[_Drawn]:
        original, rng = Original(item, self._data), rng_of(step, self._settings.seed, item.id)
        lineage = Lineage(step=step, source=generator.name, item=item.id, seed=self._settings.seed)
        if step == RENEW_STEP:
            return [_Drawn(f"{item.id}-{FRESH}", generator.renew(original, rng), lineage)]
        golds = [_golds(item)]
        twins: list[_Drawn] = []
        for redrawn in generator.twins(original, rng):
            if _golds(redrawn) in golds:
                raise InputError(f"{generator.name}: a twin of item {short(item.id)} has the same answer as another")
            golds.append(_golds(redrawn))
            number = f"-{len(golds) - 1}" if twins else ""
            twins.append(_Drawn(f"{item.id}-{TWIN}{number}", redrawn, lineage))
            if len(twins) == self._settings.twins:
                break
        if not twins:
            raise NotRenewable("no change of its scene makes another answer right")
        return twins


def _new_item(writer: BenchmarkWriter, old: Item, drawn: _Drawn) -> Item:
    """The new item; its picture is written."""
    redrawn = drawn.redrawn
    return Item(
        id=old.id,
        question=redrawn.question,
        images=(writer.images.put(redrawn.picture),),
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

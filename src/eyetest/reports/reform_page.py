"""What reformed datasets look like: items of every task, how their distractors were made, and what they measure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from eyetest.benchmarks import Benchmark
from eyetest.pages.item_view import Album, ItemView, in_turns, lot, show_item
from eyetest.pages.page import clip, write_page
from eyetest.probes import PROBES, Subject
from eyetest.probes.audit import Audit, gravest_first, run_audit
from eyetest.probes.subject import load_thresholds
from eyetest.records import Item, OptionProvenance, letter, tag_word
from eyetest.reform.building import MISSING
from eyetest.reform.catalog import DIMENSIONS
from eyetest.reports.finding_figures import Bars
from eyetest.wording import counted, percent

_IN_SHEET = 6
_MOST_SHOWN = 90
_QUICK_PROBES = ("malformed", "option-order", "positions", "looks", "named-answer")
"""What can be told of options without training a learner; ``eyetest audit`` does that as well."""


class ItemStatistics:
    """What the items of one dataset are like, gathered in one pass."""

    def __init__(self, dataset: str, dimension: str, task: str) -> None:
        self.dataset, self.dimension, self.task = dataset, dimension, task
        self.items = self.text_items = self.without_pictures = 0
        self.question_words = self.option_words = self.options = self.reference_words = self.references = 0
        self.option_counts: Counter[int] = Counter()
        self.golds: Counter[tuple[int, int]] = Counter()
        self.authors: Counter[str] = Counter()
        self.longest_golds = self.expected_longest = 0.0
        self.sizes: dict[str, tuple[int, int]] = {}

    def add(self, item: Item) -> None:
        """Count one item in."""
        self.items += 1
        self.question_words += len(item.question.split())
        self.without_pictures += MISSING in item.tags
        self.sizes |= {image.sha256: (image.width, image.height) for image in item.images}
        if not item.choices:
            self.text_items += 1
            self.references += len(item.references)
            self.reference_words += sum(len(reference.split()) for reference in item.references)
            return
        self.option_counts[len(item.choices)] += 1
        self.options += len(item.choices)
        self.option_words += sum(len(choice.text.split()) for choice in item.choices)
        self.golds.update((len(item.choices), position) for position in item.gold)
        self.authors.update(
            choice.provenance.author if isinstance(choice.provenance, OptionProvenance) else "the dataset itself"
            for choice in item.choices
            if not choice.correct
        )
        lengths = [len(choice.text) for choice in item.choices]
        longest = [position for position, length in enumerate(lengths) if length == max(lengths)]
        self.longest_golds += len(set(longest) & set(item.gold)) / len(longest)
        self.expected_longest += len(item.gold) / len(item.choices)

    @property
    def row(self) -> list[str]:
        """A line of the table of datasets."""
        chosen = self.items - self.text_items
        width, height = (_mean(side[n] for side in self.sizes.values()) for n in (0, 1))
        return [
            f"{self.items:,}",
            " ".join(str(count) for count in sorted(self.option_counts)) or "text",
            _average(self.question_words, self.items),
            _average(self.option_words, self.options) if chosen else _average(self.reference_words, self.references),
            f"{len(self.sizes):,}" if self.sizes else "none here",
            f"{width:.0f}\u00a0×\u00a0{height:.0f}" if self.sizes else "–",
        ]

    @property
    def made(self) -> str:
        """How the distractors were made."""
        total = self.authors.total()
        return ", ".join(f"{author} {percent(count / total)}" for author, count in self.authors.most_common())

    @property
    def looks(self) -> str:
        """How often the gold is the longest option, beside how often it would be by chance."""
        chosen = self.items - self.text_items
        if not chosen:
            return ""
        return f"{percent(self.longest_golds / chosen)} against {percent(self.expected_longest / chosen)} by chance"

    @property
    def positions(self) -> list[Bars]:
        """Where golds stand, for every number of options."""
        charts = []
        for count in sorted(self.option_counts):
            seen = [float(self.golds[count, position]) for position in range(count)]
            name = f"{self.dataset}, {count} options"
            charts.append(Bars(name, [letter(n) for n in range(count)], seen, [sum(seen) / count] * count))
        return charts


class ContactSheet(NamedTuple):
    """Items of one task, drawn by lot."""

    dimension: str
    task: str
    items: list[ItemView]
    total: int


def write_reform_page(benchmarks: Sequence[Benchmark], to: Path, *, seed: int = 0, overwrite: bool = False) -> None:
    """Write the page about one reformed dataset or several."""
    statistics = gather_statistics(benchmarks)
    audits = [_quick_audit(benchmark, seed) for benchmark in benchmarks]
    album = Album(*benchmarks)
    sheets = _contact_sheets(benchmarks, album)
    total = sum(one.items for one in statistics)
    tasks = len({one.task for one in statistics})
    name = benchmarks[0].manifest.name if len(benchmarks) == 1 else f"{len(statistics)} reformed datasets"
    contents = {
        "name": name,
        "headline": f"{counted(total, 'item')} of {counted(len(statistics), 'dataset')}, {counted(tasks, 'task')}.",
        "statistics": statistics,
        "pictures": len({sha for one in statistics for sha in one.sizes}),
        "without_pictures": sum(one.without_pictures for one in statistics),
        "options": sum(one.items - one.text_items for one in statistics),
        "sheets": sheets,
        "findings": [
            (audit.benchmark, finding) for audit in audits for finding in sorted(audit.findings, key=gravest_first)
        ],
        "manifests": [benchmark.manifest for benchmark in benchmarks],
        "dimensions": DIMENSIONS,
        "seed": seed,
        "album": album.pictures,
    }
    write_page("reform.html.j2", contents, to, overwrite=overwrite)


def gather_statistics(benchmarks: Iterable[Benchmark]) -> list[ItemStatistics]:
    """What the items are like, dataset by dataset, in the order of the dimensions."""
    gathered: dict[tuple[str, str, str], ItemStatistics] = {}
    for benchmark in benchmarks:
        for item in benchmark:
            key = _key(item, benchmark)
            gathered.setdefault(key, ItemStatistics(*key)).add(item)
    return sorted(gathered.values(), key=lambda one: (_rank(one.dimension), one.task, one.dataset))


def _key(item: Item, benchmark: Benchmark) -> tuple[str, str, str]:
    words = [tag_word(item.tags.get(tag)) or "" for tag in ("dataset", "dimension", "task")]
    return words[0] or benchmark.manifest.name, words[1], words[2]


def _rank(dimension: str) -> tuple[int, str]:
    known = list(DIMENSIONS)
    return (known.index(dimension) if dimension in DIMENSIONS else len(known), dimension)


def _contact_sheets(benchmarks: Sequence[Benchmark], album: Album) -> list[ContactSheet]:
    """A few items of every task, of its datasets in turns; only their places are kept while they are drawn."""
    drawn: dict[tuple[str, str], dict[str, list[tuple[bytes, int, int]]]] = {}
    totals: Counter[tuple[str, str]] = Counter()
    for number, benchmark in enumerate(benchmarks):
        for position, item in enumerate(benchmark):
            dataset, *task = _key(item, benchmark)
            key = (task[0], task[1])
            totals[key] += 1
            lots = drawn.setdefault(key, {}).setdefault(dataset, [])
            lots.append((lot(item.id), number, position))
            lots.sort()
            del lots[_IN_SHEET:]
    sheets = []
    each = max(2, min(_IN_SHEET, _MOST_SHOWN // max(1, len(drawn))))
    for key in sorted(drawn, key=lambda key: (_rank(key[0]), key[1])):
        chosen = in_turns(drawn[key].values(), each)
        items = [benchmarks[number].take([position])[0] for _, number, position in chosen]
        views = [show_item(item.id, _origin(item), [], item, album) for item in items]
        sheets.append(ContactSheet(*key, views, totals[key]))
    return sheets


def _origin(item: Item) -> str:
    step = item.lineage[-1] if item.lineage else None
    return clip(f"record {step.item}: {step.note}", 200) if step else ""


def _quick_audit(benchmark: Benchmark, seed: int) -> Audit:
    names = [name for name in _QUICK_PROBES if name in PROBES]
    return run_audit(Subject(benchmark, load_thresholds(None), seed=seed), names)


def _mean(numbers: Iterable[float]) -> float:
    values = list(numbers)
    return sum(values) / len(values) if values else 0.0


def _average(total: float, count: int) -> str:
    return f"{total / count:.1f}" if count else "–"

"""An audit as one self-contained HTML file, with the items of its findings and their images."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import inf
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.media import shown_note
from eyetest.pages.item_links import NOWHERE, ItemCount, ItemsAt, Query
from eyetest.pages.item_view import Album, in_turns, show_item
from eyetest.pages.page import clip, plain, write_page
from eyetest.probes import PROBES
from eyetest.probes.audit import Audit, gravest_first
from eyetest.probes.duplicates import duplicate_images
from eyetest.probes.guessing import positions
from eyetest.probes.kinds import WHY_NO_ITEMS
from eyetest.records import Finding, ItemCounts, letter

_ALARMS = ("bad", "suspect")
_VERDICTS = ("drop", "fix", "review")
_IN_GROUP, _IN_NOTE, _UNFOLDED = 4, 3, 6
_MOST_BARS, _MOST = 26, 1e15  # more bars, or a larger number, are not drawn


class Bars(NamedTuple):
    """Counts beside the expected one."""

    labels: list[str]
    values: list[float]
    expected: float
    counts: Sequence[ItemCount] = ()

    @property
    def top(self) -> float:
        """The value that fills the height of the chart."""
        return max(*self.values, self.expected, 1e-9)


class Figures(NamedTuple):
    """A finding's numbers: drawn where possible, else listed."""

    bars: Bars | None
    rest: list[tuple[str, str]]

    def __bool__(self) -> bool:
        return any(self[:])


class Entry(NamedTuple):
    """A finding, ready to be laid out."""

    anchor: str
    finding: Finding
    figures: Figures
    exhibits: list[dict[str, Any]]  # items shown together: one alone, or the members of a group
    folded: list[dict[str, Any]]
    more: int
    items: ItemCount


def write_audit_page(
    audit: Audit,
    benchmark: Benchmark,
    to: Path,
    at: ItemsAt = NOWHERE,
    *,
    most_items: int = 60,
    overwrite: bool = False,
) -> None:
    """Write the page with at most ``most_items`` items; ``at`` is the target of its links."""
    album = Album(benchmark)
    entries = _entries(audit, benchmark, album, most_items, at)
    counts = benchmark.manifest.counts
    contents = {
        "audit": audit,
        "at": at,
        "with_options": at.count(counts.choice_items, Query(options=(1, inf))),
        "free": at.count(counts.text_items, Query(options=(0, 0))),
        "shown": shown_note(counts),
        "every": at.count(audit.items, Query()),
        "flagged": at.named(audit.suggested),
        "suggested": _suggested(audit, benchmark, at),
        "alarms": [entry for entry in entries if entry.finding.severity in _ALARMS],
        "entries": entries,
        "tests": [finding for finding in audit.findings if finding.is_test],
        "why_no_items": WHY_NO_ITEMS,
        "probes": [(name, PROBES[name].summary if name in PROBES else "") for name in _told(audit, counts)],
        "album": album.images,
    }
    write_page("audit.html.j2", contents, to, overwrite=overwrite)


def _told(audit: Audit, counts: ItemCounts) -> list[str]:
    """The probes that had something to look at: none of images where a benchmark has other media alone."""
    has_no_image = bool(counts.media) and not counts.images
    return [name for name in audit.probes if not (has_no_image and name == duplicate_images.name)]


def _entries(audit: Audit, benchmark: Benchmark, album: Album, most_items: int, at: ItemsAt) -> list[Entry]:
    findings = sorted(audit.findings, key=gravest_first)
    chosen = spread(findings, most_items)
    wanted = {item for groups in chosen for group in groups for item in group}
    items = {item.id: item for item in benchmark if item.id in wanted} if wanted else {}
    entries = []
    for number, (finding, groups) in enumerate(zip(findings, chosen, strict=True), 1):
        known = {"items": len(finding.items), "groups": len(finding.groups)}
        numbers = {name: value for name, value in finding.numbers.items() if known.get(name) != value}
        shown = []
        for group in groups:
            views = [
                show_item(name, clip(finding.evidence.get(name, ""), 600), [], items.get(name), album)
                for name in group[:_IN_GROUP]
            ]
            whole = at.named(group) if {*group} <= {*finding.items} else ItemCount(len(group))
            more = len(group) - len(views)
            shown.append({"shown": views, "more": more, "grouped": len(group) > 1, "group": whole})
        every = {*finding.items, *(item for group in finding.groups for item in group)}
        more = len(every.difference(*groups))
        folds = (shown[:_UNFOLDED], shown[_UNFOLDED:], more)
        drawn = _linked(figures(numbers), finding, at)
        entries.append(Entry(f"finding-{number}", finding, drawn, *folds, _in_findings([finding], audit, at)))
    return entries


def _in_findings(findings: Sequence[Finding], audit: Audit, at: ItemsAt) -> ItemCount:
    """Links to the items of some findings by kind; one by one where others of these kinds have more."""
    kinds = dict.fromkeys(finding.kind for finding in findings if finding.items)
    items = dict.fromkeys(item for finding in findings for item in finding.items)
    others = {item for finding in audit.findings if finding.kind in kinds for item in finding.items}
    query = Query(findings=tuple(kinds))
    return at.count(len(items), query) if others == items.keys() else at.named(items)


def _linked(drawn: Figures, finding: Finding, at: ItemsAt) -> Figures:
    """Figures whose bars link to the items with their gold at that place."""
    options = finding.numbers.get("options")
    if finding.probe != positions.name or not isinstance(options, int) or drawn.bars is None:
        return drawn
    counts = [
        at.count(int(number), Query(gold=letter(place), options=(options, options)))
        for place, number in enumerate(drawn.bars.values)
    ]
    return drawn._replace(bars=drawn.bars._replace(counts=counts))


def spread(findings: Sequence[Finding], most_items: int) -> list[list[tuple[str, ...]]]:
    """Groups of items to show for each finding, in turns, notes after alarms, until there are enough items."""
    chosen: list[list[tuple[str, ...]]] = [[] for _ in findings]
    left = most_items
    for severities, most_each in ((_ALARMS, most_items), (("note",), _IN_NOTE)):
        shown = [(number, finding) for number, finding in enumerate(findings) if finding.severity in severities]
        queues = [[(number, unit) for unit in islice(_units(finding), most_each)] for number, finding in shown]
        for number, unit in in_turns(queues, most_items * len(queues)):
            if (size := len(unit[:_IN_GROUP])) <= left:
                chosen[number].append(unit)
                left -= size
    return chosen


def _units(finding: Finding) -> Iterator[tuple[str, ...]]:
    grouped = {item for group in finding.groups for item in group}
    yield from (group for group in finding.groups if group)
    yield from ((item,) for item in dict.fromkeys(finding.items) if item not in grouped)


def _suggested(audit: Audit, benchmark: Benchmark, at: ItemsAt) -> list[tuple[str, ItemCount]]:
    """Number of items by suggested verdict, each item under its gravest."""
    own = set(benchmark.table(("id",)).column("id").to_pylist())
    kept = ItemCount(audit.items - len(own & audit.suggested.keys()))
    counts = [
        (verdict, at.named(item for item, suggested in audit.suggested.items() if suggested == verdict))
        for verdict in _VERDICTS
    ]
    return [*counts, ("keep", kept)]


def figures(values: Mapping[str, Any]) -> Figures:
    """Bars of a finding's counts by position; its other numbers are listed."""
    used = ("positions", "expected", "options")
    found: list[Any] = [values.get(name) for name in used]
    counts, expected, options = found
    numbers = [*counts, expected] if isinstance(counts, list) and 2 <= len(counts) <= _MOST_BARS else []
    bars = None
    if numbers and all(isinstance(number, Real) and 0 <= float(number) <= _MOST for number in numbers):
        named = isinstance(options, list) and len(options) == len(counts)
        labels = options if named else map(letter, range(len(counts)))
        bars = Bars([clip(str(label), 9) for label in labels], counts, expected)
    rest = [(name, value) for name, value in values.items() if bars is None or name not in used]
    return Figures(bars, [(clip(name.replace("_", " "), 60), clip(plain(value), 200)) for name, value in rest])

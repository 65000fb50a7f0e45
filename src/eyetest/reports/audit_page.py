"""An audit as one HTML file that opens anywhere, with the items it speaks of and their pictures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eyetest.benchmarks import Benchmark
from eyetest.pages.item_view import Album, ItemView, show_item
from eyetest.pages.page import clip, write_page
from eyetest.probes import PROBES
from eyetest.probes.audit import ORDER, Audit, gravest_first
from eyetest.records import Finding, Item
from eyetest.reports.finding_figures import Figures, figures
from eyetest.wording import counted

_ALARMS = ("bad", "suspect")
_VERDICTS = ("drop", "fix", "review")
_IN_GROUP = 4
_IN_NOTE = 3
_UNFOLDED = 6


class Exhibit(NamedTuple):
    """Items shown together: one alone, or the members of a group."""

    shown: list[ItemView]
    more: int
    grouped: bool


class Entry(NamedTuple):
    """A finding, ready to be laid out."""

    anchor: str
    finding: Finding
    figures: Figures
    exhibits: list[Exhibit]
    folded: list[Exhibit]
    more: int


def write_audit_page(
    audit: Audit, benchmark: Benchmark, to: Path, *, most_items: int = 60, overwrite: bool = False
) -> None:
    """Write the page; at most this many items are shown on it, however many were flagged."""
    album = Album(benchmark)
    entries = _entries(audit, benchmark, album, most_items)
    names = dict.fromkeys([*audit.probes, *(finding.probe for finding in audit.findings)])
    contents = {
        "audit": audit,
        "counts": benchmark.manifest.counts,
        "headline": _headline(audit),
        "suggested": _suggested(audit),
        "tiles": sorted((_tile(name, entries) for name in names), key=lambda tile: ORDER[tile["severity"]]),
        "alarms": [entry for entry in entries if entry.finding.severity in _ALARMS],
        "entries": entries,
        "tests": sum(finding.is_test for finding in audit.findings),
        "probes": [(name, PROBES[name].summary if name in PROBES else "") for name in audit.probes],
        "album": album.pictures,
    }
    write_page("audit.html.j2", contents, to, overwrite=overwrite)


def _entries(audit: Audit, benchmark: Benchmark, album: Album, most_items: int) -> list[Entry]:
    findings = sorted(audit.findings, key=gravest_first)
    chosen = spread(findings, most_items)
    wanted = {item for groups in chosen for group in groups for item in group}
    items = {item.id: item for item in benchmark if item.id in wanted} if wanted else {}
    entries = []
    for number, (finding, groups) in enumerate(zip(findings, chosen, strict=True), 1):
        known = {"items": len(finding.items), "groups": len(finding.groups)}
        telling = {name: value for name, value in finding.numbers.items() if known.get(name) != value}
        shown = [_exhibit(group, finding, audit, items, album) for group in groups]
        every = {*finding.items, *(item for group in finding.groups for item in group)}
        more = len(every.difference(*groups))
        folds = (shown[:_UNFOLDED], shown[_UNFOLDED:])
        entries.append(Entry(f"finding-{number}", finding, figures(telling), *folds, more))
    return entries


def spread(findings: Sequence[Finding], most_items: int) -> list[list[tuple[str, ...]]]:
    """Which groups of items to show for each finding: in turns, so that none takes all the room from the others.

    Notes come after all alarms, and a group that no longer fits is left out rather than torn apart.
    """
    chosen: list[list[tuple[str, ...]]] = [[] for _ in findings]
    left = most_items
    for severities, most_each in ((_ALARMS, most_items), (("note",), _IN_NOTE)):
        queues = {n: _units(f) for n, f in enumerate(findings) if f.severity in severities}
        while queues and left > 0:
            for number, queue in list(queues.items()):
                unit = next(queue, None)
                if unit is None or len(chosen[number]) >= most_each:
                    del queues[number]
                elif len(unit[:_IN_GROUP]) <= left:
                    chosen[number].append(unit)
                    left -= len(unit[:_IN_GROUP])
    return chosen


def _units(finding: Finding) -> Iterator[tuple[str, ...]]:
    grouped = {item for group in finding.groups for item in group}
    yield from (group for group in finding.groups if group)
    yield from ((item,) for item in dict.fromkeys(finding.items) if item not in grouped)


def _exhibit(
    group: tuple[str, ...], finding: Finding, audit: Audit, items: Mapping[str, Item], album: Album
) -> Exhibit:
    shown = []
    for name in group[:_IN_GROUP]:
        scores = [(what, f"{round(of[name], 2) + 0.0:.2f}") for what, of in audit.item_scores.items() if name in of]
        evidence = clip(finding.evidence.get(name, ""), 600)
        shown.append(show_item(name, evidence, scores, items.get(name), album))
    return Exhibit(shown, len(group) - len(shown), grouped=len(group) > 1)


def _headline(audit: Audit) -> str:
    first = f"{audit.blindness.title}. " if audit.blindness else ""
    tests = [finding for finding in audit.findings if finding.is_test]
    if not audit.alarms:
        held = f"all {len(tests):,} tests held" if len(tests) > 1 else "no test raised an alarm"
        if not tests:
            held = "nothing was tested, for lack of items or of probes that test"
        return f"{first}Nothing calls for attention among {counted(audit.items, 'item')}; {held}."
    flagged = len({item for finding in audit.alarms if finding.verdict != "keep" for item in finding.items})
    need = "needs" if flagged == 1 else "need"
    of = f"{flagged:,} of {counted(audit.items, 'item')} {need} attention" if flagged else "No single item stands out"
    alarmed = sum(finding.severity in _ALARMS for finding in tests)
    raised = f"; {alarmed:,} of {counted(len(tests), 'test')} raised an alarm" if tests else ""
    return f"{first}{of}{raised}."


def _suggested(audit: Audit) -> list[tuple[str, int]]:
    """How many items each verdict is suggested for, an item under its gravest."""
    gravest: dict[str, int] = {}
    for finding in audit.alarms:
        if finding.verdict == "keep":
            continue
        rank = _VERDICTS.index(finding.verdict) if finding.verdict in _VERDICTS else len(_VERDICTS) - 1
        for item in finding.items:
            gravest[item] = min(rank, gravest.get(item, rank))
    counts = Counter(_VERDICTS[rank] for rank in gravest.values())
    return [(verdict, counts[verdict]) for verdict in _VERDICTS] + [("keep", max(0, audit.items - len(gravest)))]


def _tile(name: str, entries: Sequence[Entry]) -> dict[str, Any]:
    """A probe at a glance: the worst that it found, in one number."""
    own = [entry for entry in entries if entry.finding.probe == name]
    findings = [entry.finding for entry in own]
    alarms = [finding for finding in findings if finding.severity in _ALARMS]
    items = {item for finding in alarms if finding.verdict != "keep" for item in finding.items}
    notes = sum(finding.severity == "note" for finding in findings)
    tests = sum(finding.is_test for finding in findings)
    figure = "0 found"
    if items:
        figure = counted(len(items), "item")
    elif alarms:
        figure = counted(len(alarms), "alarm")
    elif findings and all(finding.severity == "untested" for finding in findings):
        figure = "– not tested"
    elif notes:
        figure = counted(notes, "note")
    elif tests:
        figure = f"{counted(tests, 'test')} held"
    anchor, severity = (own[0].anchor, findings[0].severity) if own else ("", "sound")
    return {"name": name, "severity": severity, "figure": figure.split(" ", 1), "anchor": anchor}

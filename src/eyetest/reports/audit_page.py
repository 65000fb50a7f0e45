"""An audit as one HTML file that opens anywhere, with the items it speaks of and their pictures."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.pages.item_view import Album, ItemView, show_item
from eyetest.pages.page import clip, write_page
from eyetest.probes import PROBES
from eyetest.probes.audit import ORDER, Audit, gravest_first
from eyetest.records import Finding, Item, Severity
from eyetest.reports.finding_figures import Figures, figures
from eyetest.version import __version__
from eyetest.wording import counted

_WORDS = {"bad": "Bad", "suspect": "Suspect", "untested": "Not tested", "note": "Note", "sound": "Sound"}
_VERDICTS = ("drop", "fix", "review")
_IN_GROUP = 4
_IN_NOTE = 3
_UNFOLDED = 6


def write_audit_page(
    audit: Audit, benchmark: Benchmark, to: Path, *, most_items: int = 60, overwrite: bool = False
) -> None:
    """Write the page; at most this many items are shown on it, however many were flagged."""
    write_page("audit.html.j2", _contents(audit, benchmark, most_items), to, overwrite=overwrite)


class Exhibit(msgspec.Struct, frozen=True):
    """Items shown together: one alone, or the members of a group."""

    items: list[ItemView]
    more: int = 0
    grouped: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, ready to be laid out."""

    anchor: str
    finding: Finding
    word: str
    figures: Figures
    exhibits: list[Exhibit] = []
    folded: list[Exhibit] = []
    more: int = 0


class Tile(msgspec.Struct, frozen=True, kw_only=True):
    """One probe in the report card."""

    name: str
    severity: Severity
    word: str
    figure: str
    unit: str
    anchor: str


def _contents(audit: Audit, benchmark: Benchmark, most_items: int) -> dict[str, Any]:
    """Everything the template shows, in the order it shows it."""
    findings = sorted(audit.findings, key=gravest_first)
    anchored = [(f"finding-{number}", finding) for number, finding in enumerate(findings, 1)]
    entries = _entries(audit, benchmark, anchored, album := Album(benchmark), most_items)
    flagged = {item for finding in audit.alarms if finding.verdict != "keep" for item in finding.items}
    return {
        "audit": audit,
        "counts": benchmark.manifest.counts,
        "overall": min((f.severity for f in audit.alarms), key=ORDER.__getitem__, default="sound"),
        "headline": _headline(audit, len(flagged)),
        "suggested": _suggested(audit),
        "tiles": sorted(
            (_tile(name, anchored) for name in _probe_names(audit)), key=lambda tile: ORDER[tile.severity]
        ),
        "alarms": [entry for entry in entries if entry.finding.severity in ("bad", "suspect")],
        "untested": [entry for entry in entries if entry.finding.severity == "untested"],
        "notes": [entry for entry in entries if entry.finding.severity == "note"],
        "sound": [entry for entry in entries if entry.finding.severity == "sound"],
        "tests": sum(finding.is_test for finding in findings),
        "probes": [(name, PROBES[name].summary if name in PROBES else "") for name in audit.probes],
        "album": album.pictures,
        "version": __version__,
    }


def _entries(
    audit: Audit, benchmark: Benchmark, anchored: list[tuple[str, Finding]], album: Album, most_items: int
) -> list[Entry]:
    findings = [finding for _, finding in anchored]
    chosen = spread(findings, most_items)
    wanted = {item for groups in chosen for group in groups for item in group}
    items = {item.id: item for item in benchmark if item.id in wanted} if wanted else {}
    entries = []
    for (anchor, finding), groups in zip(anchored, chosen, strict=True):
        exhibits = [_exhibit(group, finding, audit, items, album) for group in groups]
        every = {*finding.items, *(item for group in finding.groups for item in group)}
        entries.append(
            Entry(
                anchor=anchor,
                finding=finding,
                word=_WORDS[finding.severity],
                figures=figures(_telling(finding)),
                exhibits=exhibits[:_UNFOLDED],
                folded=exhibits[_UNFOLDED:],
                more=len(every.difference(*groups)),
            )
        )
    return entries


def spread(findings: Sequence[Finding], most_items: int) -> list[list[tuple[str, ...]]]:
    """Which groups of items to show for each finding: in turns, so that none takes all the room from the others.

    Notes come after all alarms, and a group that no longer fits is left out rather than torn apart.
    """
    chosen: list[list[tuple[str, ...]]] = [[] for _ in findings]
    left = most_items
    for severities, most_each in ((("bad", "suspect"), most_items), (("note",), _IN_NOTE)):
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


def _exhibit(group: tuple[str, ...], finding: Finding, audit: Audit, items: dict[str, Item], album: Album) -> Exhibit:
    shown = []
    for name in group[:_IN_GROUP]:
        scores = [(what, f"{round(of[name], 2) + 0.0:.2f}") for what, of in audit.item_scores.items() if name in of]
        evidence = clip(finding.evidence.get(name, ""), 600)
        shown.append(show_item(name, evidence, scores, items.get(name), album))
    return Exhibit(shown, len(group) - len(shown), grouped=len(group) > 1)


def _headline(audit: Audit, flagged: int) -> str:
    if audit.blindness:
        return f"{audit.blindness.title}. {_rest_of_headline(audit, flagged)}"
    return _rest_of_headline(audit, flagged)


def _rest_of_headline(audit: Audit, flagged: int) -> str:
    tests = [finding for finding in audit.findings if finding.is_test]
    alarmed = sum(finding.severity in ("bad", "suspect") for finding in tests)
    if not audit.alarms:
        held = f"all {len(tests):,} tests held" if len(tests) > 1 else "no test raised an alarm"
        if not tests:
            held = "nothing was tested, for lack of items or of probes that test"
        return f"Nothing calls for attention among {counted(audit.items, 'item')}; {held}."
    need = "needs" if flagged == 1 else "need"
    words = (
        f"{flagged:,} of {counted(audit.items, 'item')} {need} attention" if flagged else "No single item stands out"
    )
    return f"{words}; {alarmed:,} of {counted(len(tests), 'test')} raised an alarm." if tests else f"{words}."


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


def _probe_names(audit: Audit) -> list[str]:
    return list(dict.fromkeys([*audit.probes, *(finding.probe for finding in audit.findings)]))


def _tile(name: str, anchored: list[tuple[str, Finding]]) -> Tile:
    """A probe at a glance: the worst that it found, in one number."""
    own = [(anchor, finding) for anchor, finding in anchored if finding.probe == name]
    alarms = [finding for _, finding in own if finding.severity in ("bad", "suspect")]
    severity: Severity = own[0][1].severity if own else "sound"
    items = {item for finding in alarms if finding.verdict != "keep" for item in finding.items}
    tests = sum(finding.is_test for _, finding in own)
    notes = sum(finding.severity == "note" for _, finding in own)
    figure, unit = "0", "found"
    if items:
        figure, unit = f"{len(items):,}", "item" if len(items) == 1 else "items"
    elif alarms:
        figure, unit = f"{len(alarms):,}", "alarm" if len(alarms) == 1 else "alarms"
    elif own and all(finding.severity == "untested" for _, finding in own):
        figure, unit = "–", "not tested"
    elif notes:
        figure, unit = f"{notes:,}", "note" if notes == 1 else "notes"
    elif tests:
        figure, unit = f"{tests:,}", "test held" if tests == 1 else "tests held"
    anchor = own[0][0] if own else ""
    return Tile(name=name, severity=severity, word=_WORDS[severity], figure=figure, unit=unit, anchor=anchor)


def _telling(finding: Finding) -> dict[str, Any]:
    """The numbers that do not only repeat how many items or groups there are."""
    known = {"items": len(finding.items), "groups": len(finding.groups)}
    return {key: value for key, value in finding.numbers.items() if key not in known or value != known[key]}

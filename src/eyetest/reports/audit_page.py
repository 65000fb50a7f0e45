"""An audit as one HTML file that opens anywhere, with the items it speaks of and their pictures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from eyetest.benchmarks import Benchmark
from eyetest.pages.item_counts import NOWHERE, ItemCount, ItemsAt
from eyetest.pages.item_links import Query
from eyetest.pages.item_view import Album, ItemView, show_item
from eyetest.pages.page import clip, write_page
from eyetest.probes import PROBES
from eyetest.probes.audit import ORDER, Audit, gravest_first
from eyetest.probes.positions import PROBE as POSITIONS
from eyetest.records import Finding, Item, letter
from eyetest.reports.finding_figures import Figures, figures
from eyetest.wording import counted

_ALARMS = ("bad", "suspect")
_VERDICTS = ("drop", "fix", "review")
_IN_GROUP = 4
_IN_NOTE = 3
_UNFOLDED = 6
_TOLD_FIRST, _LONGEST_TITLE = 2, 140


class Exhibit(NamedTuple):
    """Items shown together: one alone, or the members of a group."""

    shown: list[ItemView]
    more: int
    grouped: bool
    group: ItemCount


class Entry(NamedTuple):
    """A finding, ready to be laid out."""

    anchor: str
    finding: Finding
    figures: Figures
    exhibits: list[Exhibit]
    folded: list[Exhibit]
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
    """Write the page; at most this many items are shown on it, however many were flagged.

    ``at`` is where its numbers lead.
    """
    album = Album(benchmark)
    entries = _entries(audit, benchmark, album, most_items, at)
    counts = benchmark.manifest.counts
    names = dict.fromkeys([*audit.probes, *(finding.probe for finding in audit.findings)])
    contents = {
        "audit": audit,
        "at": at,
        "with_options": at.count(counts.choice_items, Query(options=(1, inf))),
        "free": at.count(counts.text_items, Query(options=(0, 0))),
        "pictures": counts.images,
        "headline": _headline(audit, at),
        "suggested": _suggested(audit, benchmark, at),
        "tiles": sorted(
            (_tile(name, entries, audit, at) for name in names), key=lambda tile: ORDER[tile["severity"]]
        ),
        "alarms": [entry for entry in entries if entry.finding.severity in _ALARMS],
        "entries": entries,
        "tests": sum(finding.is_test for finding in audit.findings),
        "probes": [(name, PROBES[name].summary if name in PROBES else "") for name in audit.probes],
        "album": album.pictures,
        "spelt": spelt,
    }
    write_page("audit.html.j2", contents, to, overwrite=overwrite)


def _entries(audit: Audit, benchmark: Benchmark, album: Album, most_items: int, at: ItemsAt) -> list[Entry]:
    findings = sorted(audit.findings, key=gravest_first)
    chosen = spread(findings, most_items)
    wanted = {item for groups in chosen for group in groups for item in group}
    items = {item.id: item for item in benchmark if item.id in wanted} if wanted else {}
    entries = []
    for number, (finding, groups) in enumerate(zip(findings, chosen, strict=True), 1):
        known = {"items": len(finding.items), "groups": len(finding.groups)}
        telling = {name: value for name, value in finding.numbers.items() if known.get(name) != value}
        room = _Room(finding, audit, items, album, at)
        shown = [_exhibit(group, room) for group in groups]
        every = {*finding.items, *(item for group in finding.groups for item in group)}
        more = len(every.difference(*groups))
        folds = (shown[:_UNFOLDED], shown[_UNFOLDED:])
        counted_ = _in_findings([finding], audit, at)
        drawn = _linked(figures(telling), finding, at)
        entries.append(Entry(f"finding-{number}", finding, drawn, *folds, more, counted_))
    return entries


def _in_findings(findings: Sequence[Finding], audit: Audit, at: ItemsAt) -> ItemCount:
    """The items that some findings are about, by their kinds; one by one where others of these kinds have more."""
    kinds = dict.fromkeys(finding.kind for finding in findings if finding.items)
    items = dict.fromkeys(item for finding in findings for item in finding.items)
    others = {item for finding in audit.findings if finding.kind in kinds for item in finding.items}
    query = Query(findings=tuple(kinds))
    return at.count(len(items), query) if others == items.keys() else at.named(items)


def _linked(drawn: Figures, finding: Finding, at: ItemsAt) -> Figures:
    """Figures whose bars lead to the items with their gold at that place."""
    options = finding.numbers.get("options")
    if finding.probe != POSITIONS.name or not isinstance(options, int) or not drawn.bars:
        return drawn
    counts = [
        at.count(int(number), Query(gold=letter(place), options=(options, options)))
        for place, number in enumerate(drawn.bars[0].values)
    ]
    return drawn._replace(bars=[drawn.bars[0]._replace(counts=counts), *drawn.bars[1:]])


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


class _Room(NamedTuple):
    """What an exhibit is made from."""

    finding: Finding
    audit: Audit
    items: Mapping[str, Item]
    album: Album
    at: ItemsAt


def _exhibit(group: tuple[str, ...], room: _Room) -> Exhibit:
    shown, scored = [], room.audit.item_scores
    for name in group[:_IN_GROUP]:
        scores = [(what, f"{round(of[name], 2) + 0.0:.2f}") for what, of in scored.items() if name in of]
        evidence = clip(room.finding.evidence.get(name, ""), 600)
        shown.append(show_item(name, evidence, scores, room.items.get(name), room.album))
    known = set(group) <= {*room.finding.items}
    whole = room.at.named(group) if known else ItemCount(len(group))
    return Exhibit(shown, len(group) - len(shown), len(group) > 1, whole)


def spelt(key: str) -> str:
    """A probe's or a finding's key as words."""
    return key.replace("-", " ")


def _headline(audit: Audit, at: ItemsAt) -> Markup:
    first = f"{audit.blindness.title}. " if audit.blindness else ""
    items = at.count(audit.items, Query()).counted("item")
    tests = [finding for finding in audit.findings if finding.is_test]
    if not audit.alarms:
        held = f"all {len(tests):,} tests passed" if len(tests) > 1 else "no test raised an alarm"
        if not tests:
            held = "nothing was tested, for lack of items or of probes that test"
        return Markup("{}Nothing calls for attention among {}; {}.").format(first, items, held)
    flagged = at.count(len(audit.suggested), Query(suggested=_VERDICTS))
    of: str | Markup = "No single item stands out"
    if flagged.items:
        need = "needs" if flagged.items == 1 else "need"
        of = Markup("{} of {} {} attention").format(flagged, items, need)
    alarmed = sum(finding.severity in _ALARMS for finding in tests)
    raised = f"; {alarmed:,} of {counted(len(tests), 'test')} raised an alarm" if tests else ""
    gravest = sorted((one for one in audit.findings if one.severity in _ALARMS), key=gravest_first)[:_TOLD_FIRST]
    titles = "; ".join(clip(one.title.rstrip("."), _LONGEST_TITLE) for one in gravest)
    return Markup("{}{}{}. Gravest first: {}.").format(first, of, raised, titles)


def _suggested(audit: Audit, benchmark: Benchmark, at: ItemsAt) -> list[tuple[str, ItemCount]]:
    """How many items each verdict is suggested for, an item under its gravest."""
    gravest = audit.suggested
    own = set(benchmark.table(("id",)).column("id").to_pylist())
    numbers = Counter[str]({"keep": audit.items - len(own & gravest.keys())})
    numbers.update(gravest.values())
    return [(verdict, at.count(numbers[verdict], Query(suggested=(verdict,)))) for verdict in (*_VERDICTS, "keep")]


def _tile(name: str, entries: Sequence[Entry], audit: Audit, at: ItemsAt) -> dict[str, Any]:
    """A probe at a glance: the worst that it found, in one number."""
    own = [entry for entry in entries if entry.finding.probe == name]
    findings = [entry.finding for entry in own]
    alarms = [finding for finding in findings if finding.severity in _ALARMS]
    items = _in_findings([finding for finding in alarms if finding.verdict != "keep"], audit, at)
    notes = sum(finding.severity == "note" for finding in findings)
    tests = sum(finding.is_test for finding in findings)
    figure = "0 found"
    if items.items:
        figure = counted(items.items, "item")
    elif alarms:
        figure = counted(len(alarms), "alarm")
    elif findings and all(finding.severity == "untested" for finding in findings):
        figure = "– not tested"
    elif notes:
        figure = counted(notes, "note")
    elif tests:
        figure = f"{counted(tests, 'test')} passed"
    anchor, severity = (own[0].anchor, findings[0].severity) if own else ("", "sound")
    number, words = figure.split(" ", 1)
    told = items if items.items else number
    return {"name": spelt(name), "severity": severity, "number": told, "words": words, "anchor": anchor}

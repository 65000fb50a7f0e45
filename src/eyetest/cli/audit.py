"""``eyetest audit``: is this benchmark any good? With no model, no key and no GPU."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from eyetest.cli import options
from eyetest.cli.options import Words, option
from eyetest.cli.terminal import note, out, print_json, program, safe
from eyetest.errors import InputError, heading, param
from eyetest.jobs import audit as job
from eyetest.pages.item_counts import NOWHERE, items_at
from eyetest.pages.page import odds
from eyetest.probes.audit import Audit
from eyetest.records import NO_PICTURES, Finding, Severity, Verdict
from eyetest.tabular.record_files import write_records
from eyetest.wording import counted, listed, typed

_MARKS: dict[Severity, tuple[str, str]] = {
    "bad": ("✘", "bold red"),
    "suspect": ("!", "bold yellow"),
    "untested": ("?", "magenta"),
    "note": ("·", "cyan"),
    "sound": ("✔", "green"),
}
_HEADINGS: dict[Severity, str] = {
    "bad": "Broken",
    "suspect": "Suspicious",
    "untested": "Not tested",
    "note": "Notes",
    "sound": "Passed",
}
written = partial(option, panel="What to write")


def audit(
    bench: options.BenchArgument,
    probes: Annotated[Words, option("--probe", "Only these; a file brings your own.", "NAME|FILE.py")] = None,
    against: Annotated[Path | None, option("--against", "Also look for what is in this benchmark.", "OTHER")] = None,
    page: Annotated[
        Path | None, written("--page", "A page with pictures, and its findings as JSON beside it.", "FILE")
    ] = None,
    links: options.LinksOption = None,
    verdicts_to: Annotated[
        Path | None, written("--verdicts-to", "A verdict for every item (.parquet, .csv, .jsonl).", "FILE")
    ] = None,
    as_json: Annotated[bool, written("--json", "All findings as JSON instead of the card.")] = False,
    fix: Annotated[Path | None, written("--fix", "A mended copy; no gold is ever changed.", "DIR")] = None,
    overwrite: options.OverwriteOption = False,
    thresholds: Annotated[Path | None, option("--thresholds", "Your own thresholds.yaml.")] = None,
    limit: options.FirstOption = None,
    seed: Annotated[int, option("--seed", "Random seed.")] = 0,
    strict: Annotated[bool, option("--strict", "Exit with 1 if anything is broken or suspicious.")] = False,
    *,
    file: options.GoldFileOptions,
) -> None:
    """Say what is sound in a benchmark, what is not, and what to look at first.

    Looks for broken and repeated items, golds that crowd at a letter or can be told by their looks, questions that
    name their answer, and shortcuts that a learner finds without any picture. Tests are corrected for being many.
    """
    read = file.read_all(pictures_required=False)
    if links is not None and page is None:
        raise InputError(f"{heading('links')}: a page's numbers lead there; write one with {param('page', 'FILE')}")
    at = items_at(links, page, job.page_places(bench, page)) if page else NOWHERE
    job.refuse_to_lose_outputs(page, verdicts_to, fix, overwrite=overwrite)
    audited = job.audit(
        bench, probes=probes or (), against=against, thresholds=thresholds, seed=seed, limit=limit, read=read
    )
    benchmark, result = audited.benchmark, audited.audit
    if as_json:
        print_json(result)
    else:
        out.print(card(result))
        for line in _next_steps(result, bench, page):
            out.print(line, soft_wrap=True)
    if verdicts_to:
        rows = result.verdicts([item.id for item in benchmark])
        write_records(rows, Verdict, verdicts_to, overwrite=overwrite)
        note(f"{counted(len(rows), 'verdict')} → {verdicts_to}")
    if page:
        job.write_page(result, benchmark, page, at, overwrite=overwrite)
        note(f"page → {page}")
    if fix:
        repairs, listing = job.write_repairs(benchmark, result, fix, overwrite=overwrite)
        note(f"{counted(repairs, 'repair')} → {fix}, listed in {listing}")
    if strict and result.alarms:
        raise typer.Exit(1)


def card(result: Audit) -> RenderableType:
    """The audit at a glance."""
    tests = [finding for finding in result.findings if finding.is_test]
    title = Text.assemble((safe(result.benchmark), "bold"), f" · {counted(result.items, 'item')}")
    title.append(f" · {counted(len(result.probes), 'probe')}, {counted(len(tests), 'test')}")
    parts: list[RenderableType] = [title, verdict_line(result), Text()]
    for severity, title_of in _HEADINGS.items():
        findings = [finding for finding in result.findings if finding.severity == severity]
        if findings:
            parts.append(Text(title_of, "bold"))
            parts += [_line(finding) for finding in findings]
            parts.append(Text())
    if result.left_out:
        parts.append(Text(f"Not run, so not tested: {', '.join(result.left_out)}", "dim"))
    return Group(*parts)


def _next_steps(result: Audit, bench: Path, page_file: Path | None) -> Iterator[str]:
    """Commands to go on with, as they can be pasted."""
    if first := next((finding for finding in result.alarms if finding.items), None):
        item = first.items[0]
        yield f"Look first:  {typed(program(), 'show', bench, *['--'] * item.startswith('-'), item)}"
    if page_file is None:
        what = "As a page" if result.blindness else "With pictures"
        yield f"{what}:  {typed(program(), 'audit', bench, '--page', 'audit.html')}"


def verdict_line(result: Audit) -> Text:
    """One sentence: how bad is it, and how sure are we."""
    broken = {item for f in result.findings if f.severity == "bad" for item in f.items}
    tests = [finding for finding in result.findings if finding.is_test]
    alarms = [finding for finding in tests if finding.severity != "sound"]
    if result.blindness:
        sentence = f"{safe(result.blindness.title)}. "
        sentence += f"{counted(len(broken), 'item')} broken in words" if broken else "No item is broken in its words"
    else:
        sentence = f"{counted(len(broken), 'item')} broken or repeated" if broken else "No item is broken or repeated"
    if tests:
        sentence += f"; {len(alarms)} of {counted(len(tests), 'test')} raised an alarm"
        sentence += f" (all together a sound benchmark raises one in {100 * result.level:.0f} % of cases at most)."
    else:
        sentence += "; nothing was tested, for lack of items or of probes that test."
    return Text(sentence, "red" if broken else "yellow" if alarms or result.blindness else "green")


def _line(finding: Finding) -> RenderableType:
    mark, style = _MARKS[finding.severity]
    line = Text.assemble((f"{mark} ", style), safe(finding.title))
    if finding.severity != "sound" and finding.adjusted_p is not None:
        line.append(f"  (by luck {odds(finding.adjusted_p)})", "dim")
    shown: list[RenderableType] = [line]
    if finding.severity in ("bad", "suspect") and finding.items and finding.verdict != "keep":
        shown.append(Padding(Text(safe(listed(finding.items, 6)), "dim"), (0, 0, 0, 4)))
    if finding.detail and (finding.severity == "suspect" or finding.kind == NO_PICTURES):
        shown.append(Padding(Text(safe(finding.detail), "dim"), (0, 0, 0, 4)))
    return Padding(Group(*shown), (0, 0, 0, 2))

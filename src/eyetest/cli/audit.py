"""``eyetest audit``: is this benchmark any good? With no model, no key and no GPU."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import refuse_to_replace
from eyetest.cli import options
from eyetest.cli.terminal import note, out, print_json, program, safe, step_bar
from eyetest.curate import Repair, repair_benchmark
from eyetest.errors import InputError
from eyetest.pages.page import odds
from eyetest.probes import PROBES, Probe, Subject
from eyetest.probes.audit import Audit, run_audit
from eyetest.probes.subject import load_thresholds
from eyetest.records import NO_PICTURES, Finding, Severity, Verdict
from eyetest.reports import write_audit_page
from eyetest.store.replacing import refuse_to_lose
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
    "note": "Worth knowing",
    "sound": "Tested and sound",
}
_OUTPUTS = "What to write"


def audit(
    bench: options.BenchArgument,
    probes: Annotated[
        list[str] | None, typer.Option("--probe", metavar="NAME|FILE.py", help="Only these; a file brings your own.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="OTHER", help="Also look for what is in this benchmark.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="A page with pictures.", rich_help_panel=_OUTPUTS)
    ] = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            "--verdicts", help="A verdict for every item (.parquet, .csv, .jsonl).", rich_help_panel=_OUTPUTS
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="All findings as JSON instead of the card.", rich_help_panel=_OUTPUTS)
    ] = False,
    fix: Annotated[
        Path | None,
        typer.Option(
            "--fix", metavar="DIR", help="A mended copy; no gold is ever changed.", rich_help_panel=_OUTPUTS
        ),
    ] = None,
    overwrite: options.OverwriteOption = False,
    thresholds: Annotated[Path | None, typer.Option("--thresholds", help="Your own thresholds.yaml.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of every sample and shuffle.")] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if anything is broken or suspicious.")
    ] = False,
    format_name: options.FormatOption = None,
    fields: options.MapOption = None,
    images: options.ImagesOption = None,
    answers: options.AnswersOption = None,
    drop: options.DropOption = None,
) -> None:
    """Say what is sound in a benchmark, what is not, and what to look at first.

    Looks for broken and repeated items, golds that crowd at a letter or can be told by their looks, questions that
    name their answer, and shortcuts that a learner finds without any picture. Tests are corrected for being many.
    """
    read = options.read_options(
        format_name, fields, images, answers, drop, allow_missing_gold=True, allow_missing_pictures=True
    )
    limits = load_thresholds(thresholds)
    names, extra = _chosen(probes or [])
    for place in (html, verdicts, _repair_list(fix) if fix else None):
        if place:
            refuse_to_lose(place, overwrite=overwrite, ours=None)
    if fix:
        refuse_to_replace(fix, overwrite=overwrite)
    benchmark = options.open_with_bar(bench, read)
    beside = options.read_options(allow_missing_gold=True, allow_missing_pictures=True)
    other = options.open_with_bar(against, beside) if against else None
    with step_bar("auditing") as progress:
        subject = Subject(benchmark, limits, against=other, seed=seed, progress=progress)
        result = run_audit(subject, names, extra)
    if as_json:
        print_json(result)
    else:
        out.print(card(result))
        for line in _next_steps(result, bench):
            out.print(line, soft_wrap=True)
    if verdicts:
        rows = result.verdicts([item.id for item in subject.items])
        write_records(rows, Verdict, verdicts, overwrite=overwrite)
        note(f"{counted(len(rows), 'verdict')} → {verdicts}")
    if html:
        write_audit_page(result, benchmark, html, overwrite=overwrite)
        note(f"page → {html}")
    if fix:
        _fix(benchmark, result, fix, overwrite=overwrite)
    if strict and result.alarms:
        raise typer.Exit(1)


def _chosen(words: list[str]) -> tuple[list[str], list[Probe]]:
    """Probes by name, and probes that a user's own file defines."""
    names = [word for word in words if not word.endswith(".py")]
    for name in names:
        PROBES[name]
    extra = [_load(Path(word)) for word in words if word.endswith(".py")]
    return (names or ([] if not extra else list(PROBES))), extra


def _load(path: Path) -> Probe:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise InputError(f"{path} does not exist")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "PROBE"):
        raise InputError(f"{path} defines no PROBE")
    probe: Probe = module.PROBE
    return probe


def _fix(benchmark: Benchmark, result: Audit, to: Path, *, overwrite: bool) -> None:
    uneven = [f.numbers["options"] for f in result.alarms if f.probe == "positions"]
    repairs = repair_benchmark(benchmark, to, rebalance=uneven, seed=result.seed, overwrite=overwrite)
    write_records(repairs, Repair, _repair_list(to), overwrite=overwrite)
    note(f"{counted(len(repairs), 'repair')} → {to}, listed in {_repair_list(to)}")


def _repair_list(to: Path) -> Path:
    return to.parent / f"{to.name}-repairs.csv"


def card(result: Audit) -> RenderableType:
    """The audit at a glance."""
    tests = [finding for finding in result.findings if finding.is_test]
    title = Text.assemble((safe(result.benchmark), "bold"), f" · {counted(result.items, 'item')}")
    title.append(f" · {counted(len(result.probes), 'probe')}, {counted(len(tests), 'test')}")
    parts: list[RenderableType] = [title, verdict_line(result), Text()]
    for severity, heading in _HEADINGS.items():
        found = [finding for finding in result.findings if finding.severity == severity]
        if found:
            parts.append(Text(heading, "bold"))
            parts += [_line(finding) for finding in found]
            parts.append(Text())
    if result.left_out:
        parts.append(Text(f"Not run, so not tested: {', '.join(result.left_out)}", "dim"))
    return Group(*parts)


def _next_steps(result: Audit, bench: Path) -> Iterator[str]:
    """Commands to go on with, as they can be pasted."""
    if first := next((finding for finding in result.alarms if finding.items), None):
        item = first.items[0]
        yield f"Look first:  {typed(program(), 'show', bench, *['--'] * item.startswith('-'), item)}"
    page = "As a page" if result.blindness else "With pictures"
    yield f"{page}:  {typed(program(), 'audit', bench, '--html', 'audit.html')}"


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
    if finding.severity == "sound":
        line.no_wrap, line.overflow = True, "ellipsis"
    elif finding.adjusted_p is not None:
        line.append(f"  (by luck {odds(finding.adjusted_p)})", "dim")
    shown: list[RenderableType] = [line]
    if finding.severity in ("bad", "suspect") and finding.items and finding.verdict != "keep":
        shown.append(
            Padding(Text(safe(listed(finding.items, 6)), "dim", overflow="ellipsis", no_wrap=True), (0, 0, 0, 4))
        )
    if finding.detail and (finding.severity == "suspect" or finding.kind == NO_PICTURES):
        shown.append(Padding(Text(safe(finding.detail), "dim"), (0, 0, 0, 4)))
    return Padding(Group(*shown), (0, 0, 0, 2))

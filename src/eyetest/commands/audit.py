"""The command ``audit``: check a benchmark with no model, no key and no GPU."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from eyetest.commands import base
from eyetest.commands.base import new_path, observer, several
from eyetest.commands.lazy import msgspec, pl
from eyetest.commands.options import READING, SHORT_N, AnyPath, Benches, Overwrite, Words, panel
from eyetest.commands.results import Found, safe
from eyetest.errors import counted, listed, typed
from eyetest.grammar import read_names

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.probes.audit import Audit
    from eyetest.records import Finding

_SEVERITIES = {
    "bad": ("✘", "bold red", "Broken"),
    "suspect": ("!", "bold yellow", "Suspicious"),
    "untested": ("?", "magenta", "Not tested"),
    "note": ("·", "cyan", "Notes"),
    "sound": ("✔", "green", "Passed"),
}
"""By severity: sign, style, heading."""
_WRITTEN = panel("What to write", 2)


def audit(
    bench: Benches,
    /,
    *,
    probe: Words = (),
    limit: Annotated[int | None, SHORT_N] = None,
    seed: int = 0,
    strict: bool = False,
    page: Annotated[AnyPath | None, _WRITTEN] = None,
    verdicts_to: Annotated[AnyPath | None, _WRITTEN] = None,
    fix: Annotated[AnyPath | None, _WRITTEN] = None,
    format: Annotated[str | None, READING] = None,  # noqa: A002 (the name of the option)
    map: Annotated[Words, READING] = (),  # noqa: A002
    images: Annotated[AnyPath | None, READING] = None,
    gold_style: Annotated[str | None, READING] = None,
    drop: Annotated[Words, READING] = (),
    overwrite: Overwrite = False,
) -> "AuditResult":
    """Find items of a benchmark that are broken, repeated, biased or answerable without the image.

    No model is needed. Probes look for broken and repeated items, answer keys that prefer an option letter or differ
    from distractors in surface cues, questions that contain their answer, and shortcuts that a classifier finds
    without any image. Tests are corrected for multiple comparisons. Defects and duplicates name their items; a test
    gives a rate of the whole benchmark with its interval and names none.

    Args:
        bench: A benchmark folder, or any file that eyetest can import; several are pooled (eyetest pool).
        probe: Run only these probes; repeatable. In Python also your own.
        limit: Use only the first N items.
        seed: Random seed.
        strict: Exit with 1 if anything is broken or suspicious.
        page: Write a page with images, and its findings as JSON beside it.
        verdicts_to: Write a verdict for every item (.parquet, .csv, .jsonl).
        fix: Write a repaired copy to this folder; no answer key is changed.
        format: Format of the file, if it is not recognised.
        map: Which column holds what, where names differ: question=prompt, options=A+B+C.
        images: Folder that image paths start from and may not leave.
        gold_style: How answer keys refer to options: letter, text, index (from 0) or number (from 1).
        drop: Leave this column out; repeatable.
        overwrite: Replace files that eyetest wrote before.

    Examples:
        $ eyetest audit mybench.tsv --page audit.html

        >>> found = et.audit("world/benchmark", probe=["malformed", "positions"])
        >>> {finding.probe for finding in found.findings} <= {"malformed", "positions"}
        True
        >>> found.verdicts["item"].n_unique()
        60

    """
    from eyetest.benchmarks.folder import refuse_to_replace
    from eyetest.benchmarks.opening import first_items
    from eyetest.curate import Repair, repair_benchmark
    from eyetest.pages.item_links import items_at
    from eyetest.probes import PROBES, Subject
    from eyetest.probes.audit import run_audit
    from eyetest.records import Verdict
    from eyetest.reports.audit_page import write_audit_page
    from eyetest.store import refuse_to_lose, write_file
    from eyetest.tabular.record_files import write_records

    files = {"page": page, "verdicts_to": verdicts_to, "fix": fix}
    page_file, verdict_file, copy = (new_path(path, name) if path else None for name, path in files.items())
    listing = copy and copy.parent / f"{copy.name}-repairs.csv"
    findings = page_file and page_file.parent / f"{page_file.stem}-findings.json"
    for path in filter(None, (page_file, findings, verdict_file, listing)):
        refuse_to_lose(path, overwrite=overwrite, ours=None)
    if copy:
        refuse_to_replace(copy, overwrite=overwrite)
    extra = [word for word in several(probe) if not isinstance(word, str)]
    named = read_names([word for word in several(probe) if isinstance(word, str)], "probe")
    names = [PROBES[word].name for word in named]
    read = base.read_options(format, map, images, gold_style, drop=drop, images_required=False)
    benchmark = base.open_bench(bench, msgspec.structs.replace(read, limit=limit))
    if limit is not None:
        benchmark = first_items(benchmark, limit)
    with observer().steps("auditing") as step:
        subject = Subject(benchmark, seed=seed, progress=step)
        found = run_audit(subject, names, extra)
    if verdict_file:
        rows = found.verdicts([item.id for item in benchmark])
        write_records(rows, Verdict, verdict_file, overwrite=overwrite)
        observer().note(f"{counted(len(rows), 'verdict')} → {verdict_file}")
    if page_file and findings:  # by the findings, numbers of the page lead to their items
        write_file(findings, msgspec.json.encode(found).decode() + "\n", overwrite=overwrite)
        at = items_at(None, page_file, [base.place_of(bench, benchmark), findings])
        write_audit_page(found, benchmark, page_file, at, overwrite=overwrite)
        observer().note(f"page → {page_file}")
    if copy and listing:
        uneven = [f.numbers["options"] for f in found.alarms if f.probe == "positions"]
        repairs = repair_benchmark(benchmark, copy, rebalance=uneven, seed=seed, overwrite=overwrite)
        write_records(repairs, Repair, listing, overwrite=overwrite)
        repaired = len({repair.item for repair in repairs} & found.suggested.keys())
        done = f"{counted(len(repairs), 'repair')} ({repaired:,} of {counted(len(found.suggested), 'affected item')})"
        observer().note(f"{done} → {copy}, listed in {listing}")
    return AuditResult(benchmark, found, strict, page_file)


class AuditResult(Found):
    """The findings of an audit, the worst first; ``alarms`` need action. In the table ``p`` is corrected for the
    number of tests. A test gives a rate of the whole benchmark with its interval (``rate``, ``rate_low``,
    ``rate_high``, beside ``chance``) and names no items. An audit that is strict exits with 1 where anything is
    broken or suspicious.
    """

    def __init__(
        self, benchmark: "Benchmark", audit: "Audit", strict: bool = False, page: Path | None = None
    ) -> None:
        self.benchmark, self.audit, self.page = benchmark, audit, page
        self.findings, self.alarms = audit.findings, audit.alarms
        types = {"severity": pl.String, "probe": pl.String, "kind": pl.String, "title": pl.String}
        rates = dict.fromkeys(("rate", "rate_low", "rate_high", "chance"), pl.Float64)
        rows = [
            (f.severity, f.probe, f.kind, f.title, len(f.items), *map(f.numbers.get, rates), f.adjusted_p)
            for f in self.findings
        ]
        columns = types | {"items": pl.Int64} | rates | {"p": pl.Float64}
        frame = pl.DataFrame(rows, schema=columns, orient="row")
        title = f"{audit.benchmark}: {counted(audit.items, 'item')}, {counted(len(self.alarms), 'alarm')}"
        super().__init__(title, frame, data=audit, exit_code=int(strict and bool(self.alarms)))

    @cached_property
    def verdicts(self) -> "pl.DataFrame":
        """One row an item and finding, and one ``keep`` for every item without a finding."""
        rows = self.audit.verdicts([item.id for item in self.benchmark])
        return pl.DataFrame([msgspec.to_builtins(row) for row in rows], infer_schema_length=None)

    def __rich__(self) -> RenderableType:
        from eyetest.probes.kinds import WHY_NO_ITEMS

        result = self.audit
        tests = sum(finding.is_test for finding in result.findings)
        title = Text.assemble((safe(result.benchmark), "bold"), f" · {counted(result.items, 'item')}")
        title.append(f" · {counted(len(result.probes), 'probe')}, {counted(tests, 'test')}")
        parts: list[RenderableType] = [title, _verdict(result), Text()]
        for severity, (_, _, title_of) in _SEVERITIES.items():
            if findings := [finding for finding in result.findings if finding.severity == severity]:
                parts += [Text(title_of, "bold"), *map(_line, findings), Text()]
        if any(finding.is_test for finding in self.alarms):
            parts.append(Text(WHY_NO_ITEMS, "dim"))
        if result.left_out:
            parts.append(Text(f"Not run, so not tested: {', '.join(result.left_out)}", "dim"))
        place = self.benchmark.path
        if first := next((finding for finding in self.alarms if finding.items), None):
            item = first.items[0]
            command = typed("eyetest", "show", place, *["--"] * item.startswith("-"), item)
            parts.append(Text(f"Look first:  {command}"))
        if self.page is None:
            what = "As a page" if result.blindness else "With images"
            parts.append(Text(f"{what}:  {typed('eyetest', 'audit', place, '--page', 'audit.html')}"))
        return Group(*parts)


def _verdict(result: "Audit") -> Text:
    """One sentence: how many items need attention, as on the page, and how many tests raised an alarm."""
    affected = len(result.suggested)
    tests = [finding for finding in result.findings if finding.is_test]
    alarms = [finding for finding in tests if finding.severity != "sound"]
    sentence = f"{safe(result.blindness.title)}. " if result.blindness else ""
    of = f" of {counted(result.items, 'item')}"
    sentence += (
        f"{affected:,}{of} {'needs' if affected == 1 else 'need'} attention"
        if affected
        else "No single item needs attention"
    )
    if tests:
        sentence += f"; {len(alarms)} of {counted(len(tests), 'test')} raised an alarm"
        sentence += f" (all together a sound benchmark raises one in {100 * result.level:.0f} % of cases at most)."
    else:
        sentence += "; nothing was tested, for lack of items or of probes that test."
    return Text(sentence, "red" if affected else "yellow" if alarms or result.blindness else "green")


def _line(finding: "Finding") -> RenderableType:
    from eyetest.pages.page import odds
    from eyetest.records import NO_IMAGES

    sign, style, _ = _SEVERITIES[finding.severity]
    line = Text.assemble((f"{sign} ", style), safe(finding.title))
    if finding.severity != "sound" and finding.adjusted_p is not None:
        line.append(f"  (by chance {odds(finding.adjusted_p)})", "dim")
    below = []
    if finding.severity in ("bad", "suspect") and finding.items and finding.verdict != "keep":
        below.append(listed(finding.items, 6))
    if finding.detail and (finding.severity == "suspect" or finding.kind == NO_IMAGES):
        below.append(finding.detail)
    shown = [Padding(Text(safe(words), "dim"), (0, 0, 0, 4)) for words in below]
    return Padding(Group(line, *shown), (0, 0, 0, 2))

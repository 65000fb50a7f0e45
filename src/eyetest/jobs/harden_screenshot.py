"""Every item of a benchmark as one picture that shows all of it."""

from eyetest.benchmarks import Benchmark, ReadOptions
from eyetest.benchmarks.folder import refuse_gold_list
from eyetest.errors import InputError, heading, nearest
from eyetest.harden.screenshot.legibility import lowest
from eyetest.harden.screenshot.style import LOOKS
from eyetest.harden.screenshot.taking import Screenshots, ScreenshotSettings, take_screenshots
from eyetest.jobs.opening import AnyPath, Bench, observer, open_bench
from eyetest.records import Verdict
from eyetest.review.queue import write_queue
from eyetest.store.urls import local_path
from eyetest.wording import counted

ALL = "all"


def checked(look: str, seed: int, read_back: str | None) -> ScreenshotSettings:
    """A user's words as settings; a wrong look is refused with the nearest right one."""
    if look not in (*LOOKS, ALL):
        raise InputError(f'{heading("look")}: no such look as "{look}"; {nearest(look, (*LOOKS, ALL))}')
    return ScreenshotSettings(look=look, seed=seed, read_back=read_back or "")  # type: ignore[arg-type]


def harden_screenshot(
    bench: Bench,
    *,
    to: AnyPath,
    look: str = "screen",
    seed: int = 0,
    read_back: str | None = None,
    review: AnyPath | None = None,
    workers: int | None = None,
    overwrite: bool = False,
    read: ReadOptions | None = None,
) -> Benchmark:
    """The benchmark whose items each show their whole question in one picture.

    ``look`` is screen, phone, photo or print, or all; with ``read_back`` an OCR engine reads each image,
    ``review`` is a folder for the queue of what people have to look at.

    >>> et.harden_screenshot("world/benchmark", to="world-screens", look="all")  # doctest: +SKIP
    <Benchmark 'world': 60 items in world-screens>
    """
    settings = checked(look, seed, read_back)
    benchmark = open_bench(bench, read)
    refuse_gold_list(benchmark, "draw")
    title = f"screenshots of {benchmark.manifest.name}"
    with observer().steps(title) as step:
        done = take_screenshots(
            benchmark,
            local_path(to),
            settings,
            workers=workers,
            overwrite=overwrite,
            progress=lambda drawn, total: step(f"{title}: {drawn:,} of {total:,}", drawn / total),
        )
    if review is not None and done.verdicts:
        items = {item.id: item for item in benchmark}
        asked = {verdict.stage: (1, "") for verdict in done.verdicts}
        write_queue(local_path(review), done.verdicts, items, benchmark, asked)
    for line in told(done):
        observer().note(line)
    return done.benchmark


def told(done: Screenshots) -> list[str]:
    """What the user should know of it."""
    shown = {item.id for item in done.benchmark}
    lines = [f"left out: {_named(one)}" for one in done.verdicts if one.item not in shown][:10]
    lines += [f"to review: {_named(one)}" for one in done.verdicts if one.item in shown][:10]
    if len(done.verdicts) > len(lines):
        lines.append(f"{len(done.verdicts) - len(lines):,} more to review")
    lines += [f"set plainer: {reason} ({count:,})" for reason, count in _by_kind(done.plainer).items()]
    if done.unread_formulas:
        lines.append(f"{counted(done.unread_formulas, 'formula')} shown as written: not LaTeX that is known here")
    if done.legibility:
        by_item: dict[str, list[float]] = {}
        for row in done.legibility:
            if (worst := lowest([row])) is not None:
                by_item.setdefault(row.item, []).append(worst)
        means = sorted(sum(values) / len(values) for values in by_item.values())
        if means:
            median = means[len(means) // 2]
            lines.append(f"read back: median likeness {median:.3f} over {counted(len(means), 'item')}")
    return lines


def _named(verdict: Verdict) -> str:
    return f"{verdict.item}: {verdict.reason}"


def _by_kind(reasons: dict[str, int]) -> dict[str, int]:
    """Counts by what a reason begins with: likeness differs from page to page."""
    kinds: dict[str, int] = {}
    for reason, count in reasons.items():
        kind = "could not be read back well" if reason.startswith("read back") else reason
        kinds[kind] = kinds.get(kind, 0) + count
    return kinds

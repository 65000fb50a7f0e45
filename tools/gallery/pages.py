"""The pages of the gallery, from stored figures and judgements alone."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from eyetest.measures.stats.intervals import IntervalEstimate
from eyetest.probes.kinds import kind_of
from tools.gallery.judgements import CONTROL, DRAWN, FINDING, LABEL_ERROR, Checked, Judgement, checked
from tools.gallery.manifest import Manifest, Row
from tools.gallery.measuring import DISAGREE, KEEPS, RATHER, Figures
from tools.gallery.replications import FINDING as FOUND_IN_HALF
from tools.gallery.replications import Replication, replicated

_WRONG = {"bad": "broken", "suspect": "suspicious"}
_GAP = re.compile(r"\n{3,}")
_LOCAL = ("missing-image", "no-image", "no-images", "no-pictures")
"""Findings about what is on this disk, not about a benchmark."""
HEAD = (
    "",
    "year",
    "languages",
    "items",
    "findings",
    "repeated items",
    "in others",
    "with another answer",
    "label errors",
    "best without image",
    "our reading",
    "smallest difference",
    "separable pairs",
)


def write_all(
    manifest: Manifest, stored: Figures, seen: Sequence[Judgement], again: Sequence[Replication], to: Path
) -> None:
    """Write one page a benchmark that was measured, and the overview."""
    rows = {name: row for name, row in manifest.rows.items() if name in stored["rows"]}
    for file in to.glob("*.md"):
        if file.stem not in {*rows, "errata"}:  # written by tools.gallery.errata
            file.unlink()
    for name, row in rows.items():
        (to / f"{name}.md").write_text(page(name, row, stored, seen, again), encoding="utf-8")
    (to / "README.md").write_text(overview(manifest, stored, seen, again), encoding="utf-8")


def page(name: str, row: Row, stored: Figures, seen: Sequence[Judgement], again: Sequence[Replication] = ()) -> str:
    """One benchmark's page."""
    figures = stored["rows"][name]
    wrong = _wrong(figures)
    here = [one for one in seen if one.benchmark == name]
    keys = [one for one in here if one.kind == LABEL_ERROR]
    drawn = {words: [one for one in keys if one.drawn == kind] for kind, words in DRAWN.items()}
    items, answers = row.commands(name)
    text = _template("page").render(
        name=name,
        row=row,
        judged={one.item: one.judgement for one in keys},
        holding=holding(one for one in here if one.kind != LABEL_ERROR),
        by_eye={words: checked(group) for words, group in drawn.items() if group},
        wrong=wrong,
        named=[finding for finding in wrong if finding["names_items"]],
        rates=[
            finding | {"unseen": _on_unseen_half(name, finding, again)}
            for finding in wrong
            if not finding["names_items"]
        ],
        held=[finding for finding in figures["audit"].get("findings", ()) if finding["severity"] == "sound"],
        shared=_shared(stored, name),
        commands=[*items, *answers[:2]],
        more=len(answers) - 2,
        keeps=KEEPS,
        even=RATHER,
        disagree=DISAGREE,
        no={key: value["no"] for key, value in figures.items() if isinstance(value, dict) and "no" in value},
        **figures,
    )
    return _GAP.sub("\n\n", text)


def holding(seen: Iterable[Judgement]) -> list[tuple[str, Checked, Checked]]:
    """By kind of finding what was judged of the findings, and of the controls; the most judged first."""
    by_kind: dict[str, list[Judgement]] = {}
    for one in seen:
        by_kind.setdefault(one.kind, []).append(one)
    rows = []
    for kind, group in by_kind.items():
        findings, controls = (checked(one for one in group if one.drawn == drawn) for drawn in (FINDING, CONTROL))
        rows.append((kind, findings, controls))
    return sorted(rows, key=lambda row: (-row[1].looked, row[0]))


def overview(manifest: Manifest, stored: Figures, seen: Sequence[Judgement], again: Sequence[Replication]) -> str:
    """The page with one row a benchmark."""
    counts: Counter[str] = Counter()
    items: Counter[str] = Counter()
    for figures in stored["rows"].values():
        for kind, finding in {finding["kind"]: finding for finding in _wrong(figures)}.items():
            counts[kind] += 1
            items[kind] += finding["items"]
    kinds = [(kind, count, items[kind] if _names_items(kind) else None) for kind, count in counts.most_common()]
    text = _template("index").render(
        table=summary(manifest, stored),
        kinds=kinds,
        holding=holding(seen),
        replicated=replicated(again),
        seeds=len({one.seed for one in again}),
        shared=[pair | {"titles": [manifest.rows[pair[key]].title for key in "ab"]} for pair in stored["shared"]],
        absent=manifest.absent,
        count=len(stored["rows"]),
        items=sum(figures["there"]["items"] for figures in stored["rows"].values()),
        disagree=DISAGREE,
        even=RATHER,
    )
    return _GAP.sub("\n\n", text)


def summary(manifest: Manifest, stored: Figures) -> str:
    """The table of benchmarks."""
    rows = [_row(name, row, stored) for name, row in manifest.rows.items() if name in stored["rows"]]
    return "\n".join(f"| {' | '.join(line)} |" for line in (HEAD, ("---", *["--:"] * (len(HEAD) - 1)), *rows))


def _row(name: str, row: Row, stored: Figures) -> tuple[str, ...]:
    figures = stored["rows"][name]
    golds, ranks, readings, shared = figures["golds"], figures["ranks"], figures["readings"], _shared(stored, name)
    detectable = figures["detectable"]
    size = detectable.get("median", detectable.get("assumed"))
    return (
        f"[{row.title}]({name}.md)",
        str(row.year),
        ", ".join(row.languages),
        f"{figures['there']['items']:,}",
        "–" if "no" in figures["audit"] else str(len(_wrong(figures))),
        f"{figures['repeats']:,}" if "repeats" in figures else "–",
        "–" if "no" in figures["audit"] else f"{sum(pair['items'] for pair in shared):,}",
        "–" if "no" in figures["audit"] else f"{sum(pair['differ'] for pair in shared):,}",
        "–" if "no" in golds else f"{golds['rather']:,}",
        _best_blind(figures["blind"]),
        "–" if "no" in readings else f"{max((r['points'] for r in readings['rows']), key=abs):+.1f}",
        f"{'~' if 'assumed' in detectable else ''}{100 * size:.1f}",
        "–" if "no" in ranks else f"{ranks['apart']:,} of {ranks['pairs']:,}",
    )


def _shared(stored: Figures, name: str) -> list[Figures]:
    """What a benchmark shares with each other one."""
    pairs = [pair for pair in stored["shared"] if name in (pair["a"], pair["b"])]
    return [pair | {"other": pair["b"] if pair["a"] == name else pair["a"]} for pair in pairs]


def _best_blind(blind: Figures) -> str:
    if "no" in blind:
        return "–"
    best = blind["rows"][0]
    with_image = max((row.get("with_image", 0.0) for row in blind["rows"]), default=0.0)
    beside = ("guessing", best["guessing"]) if "guessing" in best else ("with image", with_image)
    return f"{_percent(best.get('accuracy', best.get('no_image')))} ({beside[0]} {_percent(beside[1])})"


def _wrong(figures: Figures) -> list[Figures]:
    """What an audit finds wrong with a benchmark, apart from what is missing on this disk only."""
    findings = [finding for finding in figures["audit"].get("findings", ()) if finding["severity"] in _WRONG]
    return [_stated(finding) for finding in findings if finding["kind"] not in _LOCAL]


def _stated(finding: Figures) -> Figures:
    """A finding as its page states it: a rate of the whole benchmark has no items, whatever is stored."""
    named = _names_items(finding["kind"])
    listed = {} if named else {"items": 0, "ids": []}
    return finding | {"severity_word": _WRONG[finding["severity"]], "names_items": named} | listed


def _names_items(kind: str) -> bool:
    declared = kind_of(kind)
    return declared is not None and declared.names_items


def _on_unseen_half(name: str, finding: Figures, again: Sequence[Replication]) -> str:
    """In how many splits the finding of one half held on the other; empty where it was not tested there."""
    tests = [
        one
        for one in again
        if (one.benchmark, one.kind, one.drawn) == (name, finding["kind"], FOUND_IN_HALF) and one.holds
    ]
    return f"{sum(one.holds == 'yes' for one in tests)} of {len(tests)}" if tests else "–"


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _share(value: IntervalEstimate) -> str:
    if value.value is None or value.low is None or value.high is None:
        return "–"
    return f"{round(value.value * value.n)} of {value.n} [{_percent(value.low)}, {_percent(value.high)}]"


def _interval(row: Mapping[str, Any], name: str) -> str:
    value, low, high = (_percent(row[name + end], 1) for end in ("", "_low", "_high"))
    return f"{value} [{low}, {high}]"


def _points(finding: Figures) -> str:
    """How far a rate is above chance, in points, with its interval."""
    rates = finding.get("rates")
    if not rates:
        return "–"
    gain, low, high = (100 * rates[name] for name in ("gain", "gain_low", "gain_high"))
    return f"{gain:+.1f} [{low:.1f}, {high:.1f}]"


def _template(name: str) -> jinja2.Template:
    around = jinja2.Environment(  # noqa: S701 (Markdown of our own figures)
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    around.filters |= {
        "points": _points,
        "share": _share,
        "interval": _interval,
        "percent": _percent,
        "thousands": "{:,}".format,
    }
    return around.get_template(f"{name}.md.j2")

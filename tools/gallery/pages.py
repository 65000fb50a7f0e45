"""The pages of the gallery, from stored figures and judgements alone."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from eyetest.measures.stats.intervals import IntervalEstimate
from tools.gallery.exhibits import Exhibit
from tools.gallery.judgements import DRAWN, QUEUE, Checked, Judgement, checked
from tools.gallery.measuring import KEEPS, RATHER, Figures

BEGIN, END = "<!-- gallery: written by make gallery -->", "<!-- end of gallery -->"
_WRONG = ("bad", "suspect")
_WORDS = {"bad": "broken", "suspect": "suspicious"}
_GAP = re.compile(r"\n{3,}")
_LOCAL = ("missing-image", "no-image", "no-images")
"""Findings about what lies on this disk, not about a benchmark."""


def write_pages(
    exhibits: Mapping[str, Exhibit], stored: Mapping[str, Figures], seen: Sequence[Judgement], to: Path
) -> None:
    """Write one page a benchmark that was measured, and the index."""
    measured = [(name, exhibit) for name, exhibit in exhibits.items() if name in stored]
    for name, exhibit in measured:
        (to / f"{name}.md").write_text(page(name, exhibit, stored[name], seen), encoding="utf-8")
    (to / "README.md").write_text(_template("index").render(table=summary(exhibits, stored, seen)), encoding="utf-8")


def page(name: str, exhibit: Exhibit, figures: Figures, seen: Sequence[Judgement]) -> str:
    """One benchmark's page."""
    judged = {row.item: row.judgement for row in seen if row.benchmark == name}
    by_eye = {words: eye for drawn, words in DRAWN.items() if (eye := _checked(seen, name, drawn)).looked}
    text = _template("page").render(
        exhibit=exhibit, judged=judged, by_eye=by_eye, wrong=_wrong(figures), keeps=KEEPS, even=RATHER, **figures
    )
    return _GAP.sub("\n\n", text)


def into_readme(readme: str, table: str) -> str:
    """The README with the table between its two marks."""
    before, _, rest = readme.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"the README has no place for the gallery: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def summary(
    exhibits: Mapping[str, Exhibit], stored: Mapping[str, Figures], seen: Sequence[Judgement], folder: str = ""
) -> str:
    """The table of all benchmarks; links lead into ``folder``."""
    rows = [_row(name, exhibits[name], stored[name], seen, folder) for name in exhibits if name in stored]
    head = (
        "",
        "items",
        "alarms of the audit",
        "doubtful golds",
        "by eye",
        "best without image",
        "separable model pairs",
        "subset that keeps the ranking",
    )
    lines = [head, ("---", *["--:"] * (len(head) - 1)), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(name: str, exhibit: Exhibit, figures: Figures, seen: Sequence[Judgement], folder: str) -> tuple[str, ...]:
    golds, ranks, small, audit = (figures[key] for key in ("golds", "ranks", "small", "audit"))
    eye = _checked(seen, name, QUEUE)
    keeps = small.get("keeps")
    part = "–" if "no" in small else "none up to half" if keeps is None else f"{keeps['items']:,} items"
    return (
        f"[{exhibit.title}]({folder}{name}.md)",
        f"{figures['there']['items']:,}",
        "–" if "no" in audit else str(len(_wrong(figures))),
        "–" if "no" in golds else f"{golds['rather']:,}",
        "–" if not eye.looked else _share(eye.flawed),
        _best_blind(figures["blind"]),
        "–" if "no" in ranks else f"{ranks['apart']:,} of {ranks['pairs']:,}",
        part,
    )


def _checked(seen: Sequence[Judgement], name: str, drawn: str) -> Checked:
    return checked(row for row in seen if (row.benchmark, row.drawn) == (name, drawn))


def _best_blind(blind: Figures) -> str:
    if "no" in blind:
        return "–"
    best = blind["rows"][0]
    with_image = max((row.get("with_image", 0.0) for row in blind["rows"]), default=0.0)
    beside = ("guessing", best["guessing"]) if "guessing" in best else ("best with image", with_image)
    return f"{_percent(best.get('accuracy', best.get('no_image')))} ({beside[0]} {_percent(beside[1])})"


def _wrong(figures: Figures) -> list[Figures]:
    """Alarms of an audit, apart from files that are missing on this disk only."""
    findings = figures["audit"].get("findings", ())
    return [
        one | {"severity_word": _WORDS[one["severity"]]}
        for one in findings
        if one["severity"] in _WRONG and one["kind"] not in _LOCAL
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _share(value: IntervalEstimate) -> str:
    if value.value is None or value.low is None or value.high is None:
        return "–"
    return f"{round(value.value * value.n)} of {value.n} [{_percent(value.low)}, {_percent(value.high)}]"


def _interval(row: Mapping[str, Any], name: str) -> str:
    value, low, high = (_percent(row[name + end]) for end in ("", "_low", "_high"))
    return f"{value} [{low}, {high}]"


def _template(name: str) -> jinja2.Template:
    around = jinja2.Environment(  # noqa: S701 (Markdown of our own figures)
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    around.filters |= {"share": _share, "interval": _interval, "percent": _percent}
    return around.get_template(f"{name}.md.j2")

"""The answer that a report begins with: does this benchmark need eyes, do these models use them, what is missing.

All numbers are the measures'. A comparison is called significant where its test is, adjusted for all that were made;
everything else "cannot be told apart", whatever the scores look like.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from eyetest.pages.page import clip
from eyetest.records import BLIND_SIGHTS
from eyetest.reports.headlines import SEEING, best_of, bounds, mean_gain, rows_of, usual, was_asked
from eyetest.reports.report import Report
from eyetest.reports.report_items import ReportItems
from eyetest.wording import listed, percent

_NEGLIGIBLE = 0.05
"""Where the interval lies below this much above guessing, the picture is needed."""
_LONGEST_NAME = 48
_MOST_BENCHMARKS = 3
_ASK = "eyetest run BENCH --models models.yaml --sight {} --to RUN"
Row = Mapping[str, Any]


class Lack(NamedTuple):
    """What is not known, and the command that finds out."""

    what: str
    command: str = ""


class _Rivals(NamedTuple):
    """How many sighted models are better than the best blind one, how many worse, and how many are open."""

    better: int
    worse: int
    open: int

    @property
    def all(self) -> int:
        return sum(self)


def answer(report: Report, links: ReportItems | None = None) -> list[Markup]:
    """The finding in two or three sentences."""
    material, items = report.material, len(report.material.results.items)
    if report.headline is None:
        count = (links or ReportItems(material)).count(items).counted("item")
        asked = "no answer has a score" if material.is_answered else "nobody was asked yet"
        return [Markup("{}; {}.").format(count, asked)]
    told = [*_need(report), *_use(report), *_leaks(report)]
    return [Markup("{}").format(sentence) for sentence in told]


def lacks(report: Report) -> list[Lack]:
    """What is missing for the whole answer, and which command brings it."""
    if report.headline is None:
        whom = "No answer has a score." if report.material.is_answered else "Nobody was asked yet."
        return [Lack(whom, _ASK.format("image,blind-guess"))]
    told = []
    if not was_asked(report, SEEING):
        told.append(Lack("Nobody was asked with the picture.", _ASK.format("image")))
    if not was_asked(report, BLIND_SIGHTS):
        told.append(Lack("Nobody was asked without the picture.", _ASK.format("blind-guess")))
    elif mean_gain(report) is None and not told:
        told.append(
            Lack("No gain: no model was asked both with and without the picture.", _ASK.format("image,blind-guess"))
        )
    elif not told and not _known(_gains(report), "leakage"):
        why = "No leakage: it takes the language model that a model was built on, asked without the picture"
        told.append(Lack(f"{why} (base: in models.yaml).", _ASK.format("blind-guess")))
    return told


def _need(report: Report) -> Iterator[str]:
    """Whether eyes are needed: the best blind model beside guessing, and beside those that see."""
    blind, level = rows_of(report, "best-blind"), report.material.settings.level
    rivals = _rivals(report)
    if len(blind) > 1:
        yield from _need_of_several(blind, rivals, level)
    elif blind:
        [row] = blind
        against = rivals.get(row.get("benchmark", ""), _Rivals(0, 0, 0))
        scores = f"blind, {_name(row)} scores {_share(row, 'blind')}{_beside_guessing(row, level)}"
        yield f"{_verdict(row, against, level)}{scores}{_beside_sighted(against)}."


def _rivals(report: Report) -> dict[str, _Rivals]:
    """By benchmark, or by "" where there is only one."""
    counts: dict[str, list[int]] = {}
    for row in rows_of(report, "against-blind"):
        sure = _is_sure(row, report.material.settings.level)
        place = 2 if not sure else 0 if row["difference"] > 0 else 1
        counts.setdefault(row.get("benchmark", ""), [0, 0, 0])[place] += 1
    return {name: _Rivals(*three) for name, three in counts.items()}


def _is_sure(row: Row, level: float) -> bool:
    return row["p_adjusted"] is not None and row["p_adjusted"] < 1 - level


def _verdict(row: Row, against: _Rivals, level: float) -> str:
    """The answer in a few words, and no more than tests and intervals bear."""
    if _is_sure(row, level) and row["above"] > 0:
        return "Part of this benchmark needs no eyes: "
    if not against.all:
        return "Without the picture, "
    if against.better == against.all and row["above_high"] is not None and row["above_high"] <= _NEGLIGIBLE:
        return "This benchmark needs eyes: "
    if not against.better:
        return "Nothing shows that eyes are needed here: "
    return "Eyes help here: "


def _beside_guessing(row: Row, level: float) -> str:
    """Beside what guessing scores, on the same items: those with options."""
    if row["guessing"] is None:
        return ""
    guessing = f"guessing ({percent(row['guessing'])})"
    there = ""
    if row["options_n"] != row["n"]:
        there = f" and on the {row['options_n']:,} items with options {percent(row['with_options'])}"
    if not _is_sure(row, level):
        return f"{there}, which cannot be told from {guessing}"
    return f"{there}, {_points(abs(row['above']))} {'above' if row['above'] > 0 else 'below'} {guessing}"


def _beside_sighted(against: _Rivals) -> str:
    if not against.all:
        return ""
    whole, apart = f"{against.all:,} models that see", "cannot be told apart from it"
    parts = [
        (against.better, f"{_is(against.better)} significantly better"),
        (against.open, apart),
        (against.worse, f"{_is(against.worse)} significantly worse"),
    ]
    known = [(number, words) for number, words in parts if number]
    if len(known) == 1:
        return f"; {'the one model that sees' if against.all == 1 else f'all {whole}'} {known[0][1]}"
    of = f" of {whole}" if against.better else ""
    none = "" if against.better else f"none of {whole} is significantly better: "
    (number, words), *others = known
    told = [f"{number:,}{of} {words}", *(f"{number:,} {words}" for number, words in others)]
    return f"; {none}{', '.join(told)}"


def _need_of_several(blind: Sequence[Row], rivals: Mapping[str, _Rivals], level: float) -> Iterator[str]:
    above = [row for row in blind if _is_sure(row, level) and row["above"] > 0]
    every = f"{len(blind):,} benchmarks"
    if above:
        most = max(above, key=lambda row: row["above"])
        where = f"most on {clip(most['benchmark'], 40)}, where {_name(most)} scores {_share(most, 'blind')}"
        yield f"Part of {len(above):,} of {every} needs no eyes: blind, models are above guessing there, {where}."
    else:
        yield f"On none of {every} the best blind model is shown to be above guessing."
    without = [name for name, one in rivals.items() if one.all and not one.better]
    if without:
        yield f"On {listed(clip(name, 40) for name in without)} no model that sees is significantly better than it."


def _use(report: Report) -> Iterator[str]:
    """Whether models use their eyes: the best of those that see, and what the picture adds."""
    if not was_asked(report, SEEING):
        if not was_asked(report, BLIND_SIGHTS):
            yield f"{_best(report, '')}, {usual(report)}."
        return
    best, mean = _best(report, "with the picture"), mean_gain(report)
    if mean is None or mean["gain"] is None:
        yield f"{best}."
        return
    gains = _known(_gains(report), "gain")
    shown = sum(row["gain_low"] is not None and row["gain_low"] > 0 for row in gains)
    adds = f"seeing adds {100 * mean['gain']:.1f} points {bounds(mean, 'gain')}".rstrip()
    if len(gains) == 1:
        yield f"{best}; {adds}{'' if shown else ', which cannot be told from nothing'}."
        return
    of = f"all {len(gains):,}" if shown == len(gains) else f"{shown:,} of {len(gains):,}"
    yield f"{best}; {adds} on average, and the interval lies above 0 for {of} {_whose(gains)}."


def _best(report: Report, how: str) -> str:
    """Who scores most, on each benchmark."""
    assert report.headline is not None
    best, alone = best_of(report.headline), report.headline.get_column("model").n_unique() == 1
    told = [f"{_name(row)}, {_share(row, 'accuracy')}{where}" for where, row in best[:_MOST_BENCHMARKS]]
    if alone:
        told = [f"{_name(row)} scores {_share(row, 'accuracy')}{where}" for where, row in best[:_MOST_BENCHMARKS]]
        return " ".join(["; ".join(told), how]).rstrip()
    return f"{f'The best {how}' if how else 'The best'} is {'; '.join(told)}"


def _leaks(report: Report) -> Iterator[str]:
    """What blind models know that their language models do not."""
    known = _known(_gains(report), "leakage")
    if not known:
        return
    sure = [row for row in known if row["unclipped_low"] is not None and row["unclipped_low"] > 0]
    if not sure:
        yield f"No leakage is shown for {len(known):,} {_whose(known)}."
        return
    most = max(sure, key=lambda row: row["leakage"])
    size = f"{100 * most['leakage']:.1f} points {bounds(most, 'leakage')}".rstrip()
    yield f"Leakage is shown for {len(sure):,} of {len(known):,} {_whose(known)}, most for {_name(most)}: {size}."


def _whose(rows: Sequence[Row]) -> str:
    """What rows are counted as: models, unless a model has one on each of several benchmarks."""
    one_each = len({row["model"] for row in rows}) == len(rows)
    return ("model" if one_each else "pair of model and benchmark") + ("" if len(rows) == 1 else "s")


def _gains(report: Report) -> list[dict[str, Any]]:
    """A row a model; the averages are left out."""
    usual = report.material.usual_protocols
    return [row for row in rows_of(report, "gain") if row["sighted_by"] in usual]


def _known(rows: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row for row in rows if row[name] is not None]


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def _name(row: Row) -> str:
    return clip(row["model"], _LONGEST_NAME)


def _share(row: Row, name: str) -> str:
    return f"{100 * row[name]:.1f} % {bounds(row, name)}".rstrip()


def _points(gap: float) -> str:
    return f"{100 * gap:.0f} points" if gap >= 0.02 else f"{100 * gap:.1f} points"

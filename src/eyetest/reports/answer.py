"""The first sentences of a report, from the measures; significance is that of adjusted tests."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup

from eyetest.errors import counted, listed
from eyetest.measures.gain import WITH_IMAGE
from eyetest.measures.printed import caveats
from eyetest.measures.results import PROTOCOL
from eyetest.pages.page import clip, estimate
from eyetest.records import BLIND_MODALITIES
from eyetest.reports.report import NEARLY_ALL, Counts, Report, ReportItems

_NEGLIGIBLE = 0.05  # the image is needed if the interval ends at most this much above guessing
_LONGEST_NAME, _MOST_BENCHMARKS = 48, 3
_ASK = "eyetest run BENCH --models models.yaml --condition {} --to RUN"
Row = Mapping[str, Any]


class _Rivals(NamedTuple):
    """Numbers of models with the image that are better than the best without it, worse, or neither."""

    better: int = 0
    worse: int = 0
    open: int = 0


def answer(report: Report, links: ReportItems | None = None) -> list[Markup]:
    """The finding in two or three sentences."""
    material = report.material
    if report.headline is None:
        items = (links or ReportItems(material)).count(len(material.results.items)).counted("item")
        asked = "no answer has a score" if material.is_answered else "no model was asked yet"
        return [Markup("{}; {}.").format(items, asked)]
    return [Markup("{}").format(sentence) for sentence in (*_need(report), *_use(report), *_leaks(report))]


def first_sentence(report: Report) -> str:
    """The finding about one benchmark in one sentence; empty where there are several, or no score."""
    head, blind = report.headline, _best_without(report)
    if head is None or "benchmark" in head.columns:
        return ""
    best, seen = best_of(head)[0][1], was_asked(report, WITH_IMAGE)
    scores = (
        [f"{_name(best)} scores {_share(best, 'accuracy')}{' with the image' if seen else ''}"]
        if seen or not blind
        else []
    )
    verdict = ""
    for row in blind:
        verdict = _verdict(row, _rivals(report).get("", _Rivals()), report.material.settings.level)
        chosen = "" if row["options_n"] == row["n"] else f"{estimate(row['with_options'])} on items with options, "
        guessing = "" if row["guessing"] is None else f" ({chosen}guessing {estimate(row['guessing'])})"
        scores.append(f"without it, {_name(row)} scores {_share(row, 'no_image')}{guessing}")
    words = f"{verdict}{'; '.join(scores)}."
    return words[0].upper() + words[1:] if words.startswith("without") else words


def lacks(report: Report) -> list[tuple[str, str]]:
    """What is missing for the whole answer, and the command that provides it."""
    if report.headline is None:
        why = "No answer has a score." if report.material.is_answered else "No model was asked yet."
        return [(why, _ASK.format("image,no-image-guess"))]
    lacking: list[tuple[str, str]] = []
    if not was_asked(report, WITH_IMAGE):
        lacking.append(("No model was asked with the image.", _ASK.format("image")))
    if not was_asked(report, BLIND_MODALITIES):
        lacking.append(("No model was asked without the image.", _ASK.format("no-image-guess")))
    elif mean_gain(report) is None and not lacking:
        why = "Gain: not measured (no model was asked both with and without the image)."
        lacking.append((why, _ASK.format("image,no-image-guess")))
    elif not lacking and not _gains(report, "leakage"):
        named = any(entry.base for entry in report.material.results.models.values())
        why = "no base language model was asked without the image" if named else "no base language model named"
        what = f"Leakage: not measured ({why}). models.yaml names it (base:)."
        lacking.append((what, _ASK.format("no-image-guess")))
    return lacking


def _need(report: Report) -> Iterator[str]:
    """Whether the image is needed: the best blind model beside guessing, and beside sighted models."""
    blind, level = _best_without(report), report.material.settings.level
    if len(blind) > 1:
        yield from _need_of_several(blind, _rivals(report), level)
    elif blind:
        [row] = blind
        against = _rivals(report).get(row.get("benchmark", ""), _Rivals())
        scores = f"without the image, {_name(row)} scores {_share(row, 'no_image')}{_beside_guessing(row, level)}"
        sentence = f"{_verdict(row, against, level)}{scores}{_beside_sighted(against)}."
        yield sentence[0].upper() + sentence[1:]


def _rivals(report: Report) -> dict[str, _Rivals]:
    """By benchmark, or by "" where there is only one."""
    counts: dict[str, list[int]] = {}
    for row in rows_of(report, "best-no-image"):
        if row["rival"] is None:
            continue
        sure = _is_sure(row, report.material.settings.level)
        place = 2 if not sure else 0 if row["difference"] > 0 else 1
        counts.setdefault(row.get("benchmark", ""), [0, 0, 0])[place] += 1
    return {name: _Rivals(*three) for name, three in counts.items()}


def _best_without(report: Report) -> list[dict[str, Any]]:
    """The best series without the image on each benchmark."""
    return [row for row in rows_of(report, "best-no-image") if row["rival"] is None]


def _is_sure(row: Row, level: float) -> bool:
    return row["p_adjusted"] is not None and row["p_adjusted"] < 1 - level


def _verdict(row: Row, against: _Rivals, level: float) -> str:
    """The answer in a few words, within what tests and intervals support."""
    if _is_sure(row, level) and row["above"] > 0:
        return "Part of this benchmark does not need the image: "
    if not any(against):
        return ""
    if against.better == sum(against) and row["above_high"] is not None and row["above_high"] <= _NEGLIGIBLE:
        return "This benchmark needs its images: "
    if not against.better:
        return "There is no evidence that the images are needed: "
    return "The images help: "


def _beside_guessing(row: Row, level: float) -> str:
    """Comparison with guessing on the same items: those with options."""
    if row["guessing"] is None:
        return ""
    guessing = f"guessing ({estimate(row['guessing'])})"
    chosen = ""
    if row["options_n"] != row["n"]:
        chosen = f" and on the {row['options_n']:,} items with options {estimate(row['with_options'])}"
    if not _is_sure(row, level):
        return f"{chosen}, not significantly different from {guessing}"
    points = f"{estimate(abs(row['above']))} points"
    return f"{chosen}, {points} {'above' if row['above'] > 0 else 'below'} {guessing}"


def _beside_sighted(against: _Rivals) -> str:
    if not any(against):
        return ""
    whole = f"{sum(against):,} models with the image"
    parts = {"better": against.better, "different": against.open, "worse": against.worse}
    known = []
    for how, number in parts.items():
        verb = "is" if number == 1 else "are"
        known += [(number, f"{verb} {'not ' if how == 'different' else ''}significantly {how}")] if number else []
    if len(known) == 1:
        return f"; {'the one model with the image' if sum(against) == 1 else f'all {whole}'} {known[0][1]}"
    (number, words), *others = known
    first = f"{number:,} of {whole} {words}"
    if not against.better:
        first = f"none of {whole} is significantly better: {number:,} {words}"
    return f"; {', '.join([first, *(f'{number:,} {words}' for number, words in others)])}"


def _need_of_several(blind: Sequence[Row], rivals: Mapping[str, _Rivals], level: float) -> Iterator[str]:
    above = [row for row in blind if _is_sure(row, level) and row["above"] > 0]
    every = f"{len(blind):,} benchmarks"
    if above:
        most = max(above, key=lambda row: row["above"])
        where = f"most on {clip(most['benchmark'], 40)}, where {_name(most)} scores {_share(most, 'no_image')}"
        yield f"Part of {len(above):,} of {every} does not need the image: models without it beat guessing, {where}."
    elif known := sum(row["guessing"] is not None for row in blind):
        yield f"On none of {known:,} benchmarks with options do models without the image significantly beat guessing."
    else:
        yield f"Scores without the image above guessing: not measured (no item of {every} has options)."
    if without := [clip(name, 40) for name, rival in rivals.items() if any(rival) and not rival.better]:
        yield f"On {listed(without)} no model with the image is significantly better than the best without it."


def _use(report: Report) -> Iterator[str]:
    """Whether models use the image: the best with it, and what it adds."""
    if not was_asked(report, WITH_IMAGE):
        if not was_asked(report, BLIND_MODALITIES):
            yield f"{_best(report, '')}, {usual(report)}."
        return
    best, mean = _best(report, "with the image"), mean_gain(report)
    if mean is None or mean["gain"] is None:
        yield f"{best}."
        return
    gains = _gains(report, "gain")
    shown = sum(row["gain_low"] is not None and row["gain_low"] > 0 for row in gains)
    adds = f"the image adds {_share(mean, 'gain')} points"
    if len(gains) == 1:
        yield f"{best}; {adds}{'' if shown else ', which is not significant'}."
        return
    of = f"all {len(gains):,}" if shown == len(gains) else f"{shown:,} of {len(gains):,}"
    yield f"{best}; {adds} on average, and the interval lies above 0 for {of} {_whose(gains)}."


def _best(report: Report, how: str) -> str:
    """Best scores on each benchmark."""
    assert report.headline is not None
    alone, best = _model_count(report.headline) == 1, best_of(report.headline)[:_MOST_BENCHMARKS]
    verb = " scores" if alone else ","
    scores = "; ".join(f"{_name(row)}{verb} {_share(row, 'accuracy')}{where}" for where, row in best)
    return f"{scores} {how}".rstrip() if alone else f"The best {how}".rstrip() + f" is {scores}"


def _leaks(report: Report) -> Iterator[str]:
    known = _gains(report, "leakage")
    if not known:
        return
    sure = [row for row in known if row["unclipped_low"] is not None and row["unclipped_low"] > 0]
    if not sure:
        yield f"Leakage was measured for {len(known):,} {_whose(known)} and is significant for none."
        return
    most = max(sure, key=lambda row: row["leakage"])
    size = f"{_share(most, 'leakage')} points"
    models = f"{len(sure):,} of {len(known):,} {_whose(known)}"
    yield f"Leakage is significant for {models}, most for {_name(most)}: {size}."


def _whose(rows: Sequence[Row]) -> str:
    """What rows are counted as: models, unless a model has one on each of several benchmarks."""
    is_unique = len({row["model"] for row in rows}) == len(rows)
    plural = "" if len(rows) == 1 else "s"
    return f"model{plural}" if is_unique else f"pair{plural} of model and benchmark"


def _gains(report: Report, name: str) -> list[dict[str, Any]]:
    """A row per model whose gain or leakage is known, without the averages."""
    usual = report.material.usual_protocols
    return [row for row in rows_of(report, "gain") if row["with_image_by"] in usual and row[name] is not None]


def _name(row: Row) -> str:
    return clip(row["model"], _LONGEST_NAME)


def _share(row: Row, name: str) -> str:
    return estimate(*(row[name + end] for end in ("", "_low", "_high")))


def cautions(report: Report) -> list[str]:
    """Cautions: external scores, unread answers, and models that have not answered all items."""
    material = report.material
    if not material.is_answered:
        return []
    notes = [f"{note}." for note in caveats(material.results)]
    if report.headline is not None and (lacking := report.headline.filter(pl.col("missing") > 0)).height:
        most: int = lacking.select(pl.col("missing").max()).item()
        models = f"{_model_count(lacking):,} of {counted(_model_count(report.headline), 'model')}"
        notes.append(f"{models} did not answer all items: up to {most:,} are missing.")
    return notes


def headline_counts(report: Report, links: ReportItems) -> Counts:
    """Links of the headline's numbers that count items."""
    rows = [] if report.headline is None else report.headline.to_dicts()
    return {
        "n": [links.answered(row) for row in rows],
        "missing": [links.answered(row, "unscored", "missing") for row in rows],
    }


def was_asked(report: Report, modalities: Sequence[str]) -> bool:
    """Whether any answer under one of these modalities has a score."""
    known = pl.col("modality").is_in(modalities) & (pl.col("answers") > pl.col("without score"))
    return not report.asked.filter(known).is_empty()


def rows_of(report: Report, measure: str) -> list[dict[str, Any]]:
    """Rows of a measure over the usual answers and those without the image; none if it does not apply."""
    table = report.material.known(measure, scope="usual and blind")
    return [] if table is None else table.to_dicts()


def best_of(head: pl.DataFrame) -> list[tuple[str, dict[str, Any]]]:
    """The best model, or that of each benchmark with its name; models with few answers are no candidates."""
    several = "benchmark" in head.columns
    named = head if several else head.with_columns(pl.lit("").alias("benchmark"))
    able = named.filter(pl.col("n") >= NEARLY_ALL * pl.col("n").max().over("benchmark"))
    first = able.unique("benchmark", keep="first", maintain_order=True)
    return [(f" on {clip(row['benchmark'], 40)}" if several else "", row) for row in first.iter_rows(named=True)]


def _model_count(head: pl.DataFrame, having: str = "model") -> int:
    return head.drop_nulls(having).get_column("model").n_unique() if having in head.columns else 0


def mean_gain(report: Report) -> dict[str, Any] | None:
    """The gain measure's average over the rows of the headline; of a single row, that one."""
    return next(reversed(rows_of(report, "gain")), None)


def usual(report: Report) -> str:
    """The protocol of most questions in a report."""
    return "; ".join(map(protocol_words, report.material.usual_protocols))


_WORDS = {
    "modality": {
        "image": "with the image",
        "no-image": "without the image",
        "no-image-guess": "without the image, asked to guess",
        "gray": "with a plain gray image",
        "caption": "with a caption for the image",
        "screenshot": "as a screenshot",
        "no-question": "without the question",
        "nothing": "with the options alone",
    },
    "ask": {"direct": "direct answer", "cot": "reasoning first", "ocr": "transcript first"},
    "shots": {"none": "", "format": "one example of the format", "two": "two worked examples"},
    "method": {"generate": "", "likelihood": "by likelihood", "first-token": "by the first token's likelihood"},
    "history": {"gold": "", "own": "with its own earlier answers"},
    "prompts": {"eyetest": ""},  # others by their label
}


def protocol_words(label: str) -> str:
    """What ``image direct`` means: ``with the image, direct answer``. ``label`` is that of `protocol_label`."""
    known = {value: words for axis in PROTOCOL for value, words in _WORDS[axis].items()}
    return ", ".join(known.get(word, word) for word in label.split() if known.get(word, word))

"""The first sentences of a report, from the measures; significance is that of adjusted tests."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from markupsafe import Markup

from eyetest.errors import counted, listed
from eyetest.measures.gain import WITH_IMAGE
from eyetest.measures.printed import caveats
from eyetest.measures.results import PROTOCOL
from eyetest.pages.page import clip, estimate
from eyetest.records import BLIND_MODALITIES
from eyetest.reports.report import NEARLY_ALL, Report, ReportItems

_NEGLIGIBLE = 0.05  # the image is needed if the interval ends at most this much above guessing
_LONGEST_NAME, _MOST_BENCHMARKS = 48, 6
_OCR_STAND_IN = "reader:"  # specs of models that are given the text of an OCR engine
_ASK = "eyetest run BENCH --models models.yaml --condition {} --to RUN"
_IMPORT = "eyetest import ANSWERS --bench BENCH --fill modality={} --to RUN"  # what is not sent is asked elsewhere
Row = Mapping[str, Any]


def nothing_scored(report: Report, links: ReportItems) -> Markup:
    """The first sentence where no answer has a score."""
    items = links.count(len(report.material.results.items)).counted("item")
    asked = "no answer has a score" if report.material.is_answered else "no model was asked yet"
    return Markup("{}; {}.").format(items, asked)


def details(report: Report) -> list[str]:
    """What tests and intervals say: the best without the image beside guessing and others, gain, and leakage."""
    if report.headline is None:
        return []
    return [report.material.medium.in_sentence(words) for words in (*_need(report), *_use(report), *_leaks(report))]


def first_sentence(report: Report) -> str:
    """The finding about one benchmark in one sentence; empty where there are several, or no score."""
    head, blind = report.headline, _best_without(report)
    if head is None or "benchmark" in head.columns:
        return ""
    best = head.filter(pl.col("n") >= NEARLY_ALL * pl.col("n").max()).row(0, named=True)
    seen = was_asked(report, WITH_IMAGE)
    scores = (
        [f"{_name(best)} scores {_share(best, 'accuracy')}{' with the image' if seen else ''}"]
        if seen or not blind
        else []
    )
    verdict = ""
    for row in blind:
        verdict = _verdict(row, _rivals(report).get("", Counter()), report.material.settings.level)
        chosen = "" if row["options_n"] == row["n"] else f"{estimate(row['with_options'])} on items with options, "
        guessing = "" if row["guessing"] is None else f" ({chosen}guessing {estimate(row['guessing'])})"
        scores.append(f"without it, {_name(row)} scores {_share(row, 'no_image')}{guessing}")
    words = f"{verdict}{'; '.join(scores)}."
    words = report.material.medium.in_sentence(words)
    return words[0].upper() + words[1:] if words.startswith("without") else words


def lacks(report: Report) -> list[tuple[str, str]]:
    """What is missing for the whole answer, and the command that provides it."""
    unsent = [kind for kind in report.material.media_kinds if kind != "image"]
    if report.headline is None:
        why = "No answer has a score." if report.material.is_answered else "No model was asked yet."
        return [(why, _ASK.format("no-image-guess" if unsent else "image,no-image-guess"))]
    asked = {"with the image": (WITH_IMAGE, "image"), "without the image": (BLIND_MODALITIES, "no-image-guess")}
    return [
        (
            report.material.medium.in_sentence(f"No model was asked {words}."),
            _IMPORT.format(unsent[0]) if unsent and condition == "image" else _ASK.format(condition),
        )
        for words, (modalities, condition) in asked.items()
        if not was_asked(report, modalities)
    ]


def _need(report: Report) -> Iterator[str]:
    """The best without the image on each benchmark, beside guessing and beside models with the image."""
    level, rivals = report.material.settings.level, _rivals(report)
    for row in _best_without(report)[:_MOST_BENCHMARKS]:
        name = row.get("benchmark", "")
        words = f"Without the image{f' on {clip(name, 40)}' if name else ''}, {_name(row)} scores "
        words += _share(row, "no_image")
        if row["guessing"] is not None:
            if row["options_n"] != row["n"]:
                words += f", and {estimate(row['with_options'])} on the {row['options_n']:,} items with options"
            side = f"{'' if _is_sure(row, level) else 'not '}significantly {'above' if row['above'] > 0 else 'below'}"
            words += f", {side} guessing ({estimate(row['guessing'])})"
        if against := rivals.get(name):
            words += f"; of {counted(against.total(), 'model')} with the image, {against['better']:,} significantly"
            words += f" better and {against['worse']:,} worse"
        yield f"{words}."


def _rivals(report: Report) -> dict[str, Counter[str]]:
    """How many models with the image are better than the best without it, worse, or neither; by benchmark, or by ""
    where there is only one.
    """
    counts: dict[str, Counter[str]] = {}
    for row in rows_of(report, "best-no-image"):
        if row["rival"] is not None:
            sure = _is_sure(row, report.material.settings.level)
            kind = "neither" if not sure else "better" if row["difference"] > 0 else "worse"
            counts.setdefault(row.get("benchmark", ""), Counter())[kind] += 1
    return counts


def _best_without(report: Report) -> list[dict[str, Any]]:
    """The best series without the image on each benchmark."""
    return [row for row in rows_of(report, "best-no-image") if row["rival"] is None]


def _is_sure(row: Row, level: float) -> bool:
    return row["p_adjusted"] is not None and row["p_adjusted"] < 1 - level


def _verdict(row: Row, against: Counter[str], level: float) -> str:
    """The answer in a few words, within what tests and intervals support."""
    if _is_sure(row, level) and row["above"] > 0:
        return "Part of this benchmark does not need the image: "
    if not against:
        return ""
    if against["better"] == against.total() and row["above_high"] is not None and row["above_high"] <= _NEGLIGIBLE:
        return "This benchmark needs its images: "
    if not against["better"]:
        return "There is no evidence that the images are needed: "
    return "The images help: "


def _use(report: Report) -> Iterator[str]:
    """What the image adds: the measure's last row is the average over the others, or the only one."""
    mean, gains = next(reversed(rows_of(report, "gain")), None), _gains(report, "gain")
    if mean is not None and mean["gain"] is not None and gains:
        shown = sum(row["gain_low"] is not None and row["gain_low"] > 0 for row in gains)
        whole = f"{shown:,} of {counted(len(gains), 'gain')}"
        on_average = " on average" if len(gains) > 1 else ""
        yield f"The image adds {_share(mean, 'gain')} points{on_average}; the interval of {whole} lies above 0."


def _leaks(report: Report) -> Iterator[str]:
    known = _gains(report, "leakage")
    sure = [row for row in known if row["unclipped_low"] is not None and row["unclipped_low"] > 0]
    most = max(sure, key=lambda row: row["leakage"], default=None)
    if known:
        largest = f", most for {_name(most)}: {_share(most, 'leakage')} points" if most else ""
        yield f"Leakage is significant for {len(sure):,} of the {len(known):,} measured{largest}."


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
    known = material.results.models
    if names := sorted(name for name, entry in known.items() if entry.spec.startswith(_OCR_STAND_IN)):
        notes.append(
            f"Screenshots were answered by a stand-in: {listed(names, 6)} did not see them. An OCR engine read them, "
            "and a model was given the text and the images cut out of them."
        )
    if report.headline is not None and (lacking := report.headline.filter(pl.col("missing") > 0)).height:
        most: int = lacking.select(pl.col("missing").max()).item()
        models = f"{lacking['model'].n_unique():,} of {counted(report.headline['model'].n_unique(), 'model')}"
        notes.append(f"{models} did not answer all items: up to {most:,} are missing.")
    return notes


def was_asked(report: Report, modalities: Sequence[str]) -> bool:
    """Whether any answer under one of these modalities has a score."""
    known = pl.col("modality").is_in(modalities) & (pl.col("answers") > pl.col("without score"))
    return not report.asked.filter(known).is_empty()


def rows_of(report: Report, measure: str) -> list[dict[str, Any]]:
    """Rows of a measure over the usual answers and those without the image; none if it does not apply."""
    table = report.material.known(measure, scope="usual and blind")
    return [] if table is None else table.to_dicts()


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
        "video": "with the video",
        "audio": "with the audio",
        "document": "with the document",
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

"""Figures of one benchmark, section by section: what the commands print, cut down to what a page needs."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import eyetest as et
from eyetest.curate.subsets import FEWEST_MODELS, answered
from tools.gallery.exhibits import Exhibit, Question, Unasked, asked, carry_out
from tools.gallery.validation import SplitPlan, validate

Figures = dict[str, Any]

_SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
_WHOLE = 0.9
"""Whoever answered a smaller share of the items is not ranked by a part of them."""
_HELD = (("anchored", "p-irt"), ("random", "mean"))
"""What `eyetest subset` draws, and what it is held against."""
KEEPS = 0.9
"""Kendall's τ from which on a part is said to keep the ranking of models that had no say in it."""
RATHER = 0.2
"""Probability of a wrong gold from which on an item is counted as doubtful."""
LONGEST_QUEUE = 40
"""Doubtful golds that are kept where more are, and looked at where fewer stand at even odds."""
_MEAN = "mean of "
"""How a row begins that is no model's own."""
_BLIND: dict[str, tuple[str, tuple[str, ...]]] = {
    "gain": ("no_image", ("model", "no_image", "with_image", "gain", "gain_low", "gain_high", "n")),
    "guessing": ("accuracy", ("model", "accuracy", "accuracy_low", "accuracy_high", "guessing", "above", "n")),
}
"""By measure the score without the image, and what is kept of a row."""
_IDS = 12
"""Ids that a finding names."""
_COLUMNS = ("item", "flawed", "ratio", "gold", "rival", "for_gold", "for_rival", "n")


def measure(name: str, exhibit: Exhibit, folder: Path) -> Figures:
    """All figures of a benchmark; its files lie in the folder under their names."""
    for command in exhibit.prepare:
        carry_out(command, folder)
    sections: dict[str, Callable[[Mapping[str, Any]], Figures]] = {
        "audit": audit,
        "golds": partial(golds, known=exhibit.errata),
        "blind": blind,
        "ranks": ranks,
    }
    found: Figures = {"there": there(name, exhibit, folder)}
    for section, cut in sections.items():
        question: Question = getattr(exhibit, section)
        found[section] = {"no": question.no} if isinstance(question, Unasked) else cut(asked(question, folder))
    if exhibit.spread:
        found["ranks"] |= _apart(asked(exhibit.spread, folder))
    found["small"] = {"no": "No answers, no ranking to keep."}
    if exhibit.board:
        found["small"] = small(folder / exhibit.board, exhibit.splits)
    return found


def there(name: str, exhibit: Exhibit, folder: Path) -> Figures:
    """Items, images and answers at hand."""
    found: Figures = {}
    if (folder / name).exists():
        counts = et.open(folder / name).manifest.counts
        found = {"items": counts.items, "choice": counts.choice_items, "images": counts.images}
    if exhibit.run:
        scores = et.results(folder / exhibit.run).scores
        by_modality = scores.group_by(pl.col("modality").cast(pl.String)).agg(
            pl.col("model").n_unique().alias("models"), pl.len().alias("answers"), pl.col("item").n_unique()
        )
        rows = by_modality.sort("answers", "modality", descending=[True, False]).collect()
        found = {"items": rows["item"].max()} | found
        found["answers"] = rows.drop("item").to_dicts()
    return found


def audit(output: Mapping[str, Any]) -> Figures:
    """What an audit says, without a word of the benchmark's own."""
    findings = [_finding(one) for one in output["findings"]]
    return {
        "items": output["items"],
        "findings": findings,
        "shortcuts": [one for one in findings if _is_shortcut(one)],
    }


def _finding(one: Mapping[str, Any]) -> Figures:
    kind, title = str(one["kind"]), str(one["title"])
    if kind.startswith("frequent-answer"):
        kind, title = "frequent-answer", "One option is" + title.partition(" is")[2]
    ids = list(one.get("items", ()))
    figures = {"severity": one["severity"], "probe": one["probe"], "kind": kind, "title": title}
    return figures | {"items": len(ids), "ids": ids[:_IDS], "p": one.get("adjusted_p")}


def _is_shortcut(finding: Mapping[str, Any]) -> bool:
    return bool(finding["probe"] == "shortcuts" and finding["severity"] != "untested")


def golds(output: Mapping[str, Any], known: Collection[str] = ()) -> Figures:
    """The doubtful golds, the likeliest first, what the list is worth by its odds, and where ``known`` ones stand."""
    rows = output["rows"]
    ratios = {row["item"]: row["ratio"] for row in rows}
    places = {item: 1 + sum(other > ratios[item] for other in ratios.values()) for item in known}
    rather = [row for row in rows if (row["flawed"] or 0) > RATHER]
    queue = rows[: max(LONGEST_QUEUE, len(rather))]
    expected = {
        name: sum(row["flawed"] or 0 for row in part) for name, part in (("rather", rather), ("queue", queue))
    }
    kept = [{column: row[column] for column in _COLUMNS} for row in queue]
    return {"items": len(rows), "rather": len(rather), "expected": expected, "queue": kept, "known": places}


def blind(output: Mapping[str, Any]) -> Figures:
    """What models score without the image, the best first: held against guessing, or against the image."""
    score, keys = _BLIND[output["measure"]]
    models = [row for row in output["rows"] if not row["model"].startswith(_MEAN)]
    rows = sorted(models, key=lambda row: -float(row[score]))
    return {"measure": output["measure"], "rows": [{key: row[key] for key in keys} for row in rows]}


def ranks(output: Mapping[str, Any]) -> Figures:
    """Each model's rank and those that it may have."""
    keys = ("model", "score", "rank", "rank_low", "rank_high", "tie", "n")
    rows = [{key: row[key] for key in keys} for row in output["rows"]]
    spans = sorted(row["rank_high"] - row["rank_low"] + 1 for row in rows)
    return {"rows": rows, "ties": len({row["tie"] for row in rows}), "span": spans[len(spans) // 2]}


def _apart(output: Mapping[str, Any]) -> Figures:
    row = output["rows"][0]
    return {"apart": row["apart"], "pairs": row["pairs"]}


def small(run: Path, splits: int) -> Figures:
    """How parts rank models that were held out of drawing them, beside random ones: larger ones, until two keep."""
    results = et.results(run)
    ids = results.scores.select(pl.col("item").cast(pl.String).unique().sort()).collect()["item"].to_list()
    table, items, _ = answered(results, ids, "image")
    table = table[:, (~np.isnan(table)).mean(axis=0) >= _WHOLE]
    if (count := table.shape[1]) < FEWEST_MODELS:
        return {"no": f"{count} models answered all of it; `eyetest subset` takes {FEWEST_MODELS}, to hold some out."}
    rows = []
    for share in _SHARES:
        plan = SplitPlan(size=round(share * len(items)), held_out=count // 3, splits=splits)
        tried = {row["draw"]: row for row in validate(table, plan).to_dicts() if (row["draw"], row["score"]) in _HELD}
        rows.append(
            {"share": share, "items": plan.size}
            | {f"{draw}_{key}": tried[draw][key] for draw in ("anchored", "random") for key in ("tau", "mae")}
        )
        if len(rows) > 1 and min(row["anchored_tau"] for row in rows[-2:]) >= KEEPS:
            break
    known = {"models": count, "held_out": count // 3, "splits": splits, "of": len(items)}
    return known | {"rows": rows, "keeps": _keeps(rows)}


def _keeps(rows: list[Figures]) -> Figures | None:
    """The smallest part from which on every larger one that was tried keeps the ranking too."""
    held = list(takewhile(lambda row: row["anchored_tau"] >= KEEPS, reversed(rows)))
    return {"share": held[-1]["share"], "items": held[-1]["items"]} if held else None

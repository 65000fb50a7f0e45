"""Figures of one benchmark, section by section: what the commands print, cut down to what a page needs."""

import math
from collections.abc import Collection, Iterable, Mapping
from itertools import takewhile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import yaml

import eyetest as et
from eyetest.curate.subset_choice import FEWEST_MODELS, LIKE, STRONGER, validate_ranking
from eyetest.curate.subsets import answered
from eyetest.records import Item
from tools.gallery.crossing import Print, prints, within
from tools.gallery.manifest import Row, asked, carry_out

Figures = dict[str, Any]

_SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
_WHOLE = 0.9
"""A model that answered a smaller share of the items is not ranked by a subset of them."""
KEEPS = 0.9
"""Kendall's τ from which on a subset keeps the ranking of models stronger than those that chose it."""
RATHER = 0.2
"""Probability of a label error from which on an item is counted."""
FEWEST_VOTES = 5
"""Models from which on label errors are looked for."""
LONGEST_QUEUE = 40
"""Doubtful golds that are kept where more are."""
DISAGREE = 0.2
"""Share of items that two models answer differently, assumed where no answers are public."""
_Z = 2.8
"""A difference of so many standard errors is found with a power of 80 % at a level of 5 %."""
_MEAN = "mean of "
"""How a row begins that is no model's own."""
_BLIND: dict[str, tuple[str, tuple[str, ...]]] = {
    "gain": ("no_image", ("model", "no_image", "with_image", "gain", "gain_low", "gain_high", "n")),
    "guessing": ("accuracy", ("model", "accuracy", "accuracy_low", "accuracy_high", "guessing", "above", "n")),
}
"""By measure the score without the image, and what is kept of a row."""
_IDS = 12
"""Ids that a finding names."""
_RATES = ("rate", "rate_low", "rate_high", "chance", "gain", "gain_low", "gain_high")
"""Figures that are kept of a test that gives a rate of the whole benchmark."""
_COLUMNS = ("item", "flawed", "ratio", "gold", "rival", "for_gold", "for_rival", "n")
_DATASET = {"dimension": "VGR", "task": "question answering", "reader": "table"}
_YES_NO = {"yes", "no", "true", "false"}
_NO_ANSWERS = "no answers of models in this repository"
_NO_CHOICES = "the answers are verdicts, or replies to open questions"


def measure(name: str, row: Row, folder: Path) -> tuple[Figures, list[Print]]:
    """All figures of a benchmark, whose files are in a folder, and the hashes of its items."""
    left_out, answers = import_items(name, row, folder), row.commands(name)[1]
    for command in answers:
        carry_out(command, folder)
    bench, run = folder / (row.bench or name), f"{name}-run"
    known = list(prints(et.open(bench))) if bench.exists() else []
    found: Figures = {"there": there(bench, folder / run), "audit": {"no": "only verdicts are public, no items"}}
    if known:
        found["audit"] = audit(asked(f"eyetest audit {bench.name}", folder))
        if any(row.images for row in known):
            found["repeats"] = within(known)
        found["there"]["left_out"] = left_out
    count = found["there"]["items"]
    found |= {section: {"no": _NO_ANSWERS} for section in ("golds", "ranks", "blind", "readings", "small")}
    found["detectable"] = {"assumed": _Z * math.sqrt(DISAGREE / count)}
    if answers:
        found |= of_answers(name, row, folder, found["there"])
    return found, known


def import_items(name: str, row: Row, folder: Path) -> int:
    """Import the items of a benchmark whose files are in a folder; the number of records that became no item."""
    if row.spec:
        dataset = {"name": name, "title": row.title, "licence": row.licence} | _DATASET | row.spec
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(dataset, sort_keys=False, allow_unicode=True))
    return sum(_left_out(asked(command, folder)) for command in row.commands(name)[0])


def _left_out(output: Mapping[str, Any]) -> int:
    """Records that became no item."""
    passed_over = output.get("passed_over") or {}
    return int(output.get("skipped", 0)) + (
        sum(passed_over.values()) if isinstance(passed_over, dict) else passed_over
    )


def of_answers(name: str, row: Row, folder: Path, known: Figures) -> Figures:
    """The figures that need recorded answers."""
    run, found = f"{name}-run", Figures()
    models = {entry["modality"]: entry["models"] for entry in known["answers"]}
    seeing = f"{run} --where modality=image" if len(models) > 1 else run
    found["golds"] = {"no": f"{models.get('image', 0)} models: label errors are looked for from {FEWEST_VOTES} on"}
    if models.get("image", 0) >= FEWEST_VOTES:
        found["golds"] = {"no": _NO_CHOICES}
        if known.get("choice"):
            found["golds"] = golds(
                asked(f"eyetest measure wrong-golds {seeing} {row.golds}".strip(), folder), row.errata
            )
    found["ranks"] = {"no": "one model, no pairs"}
    if max(models.values()) > 1:
        found["ranks"] = ranks(asked(f"eyetest measure ranks {seeing}", folder))
        found["ranks"] |= _apart(asked(f"eyetest measure spread {seeing}", folder))
        pairs = asked(f"eyetest measure differences {seeing}", folder)["rows"]
        if seen := [pair["detectable"] for pair in pairs if pair["detectable"]]:
            found["detectable"] = {"median": median(seen), "pairs": len(seen)}
    found["blind"] = {"no": "no answers without the image are public"}
    if "no-image" in models:
        how = f"gain {run}" if "image" in models else f"guessing {run}"
        if known.get("choice") and "image" in models and row.golds != "gain":
            how = f"guessing {run} --where modality=no-image"
        found["blind"] = blind(asked(f"eyetest measure {how}", folder))
    found["readings"] = {"no": "no published score beside raw replies"}
    if row.published:
        found["readings"] = {"rows": [_reading(run, *entry, folder) for entry in row.published.items()]}
    if row.subset:
        found["small"] = small(folder / run)
    else:
        found["small"] = {"no": "not tried"}
    return found


def _reading(run: str, model: str, score: str, folder: Path) -> Figures:
    """Our score beside the published one, and what explains the difference, cause by cause."""
    other = f"{run} --rules-b given" if score == "given" else score
    output = asked(f"eyetest reconcile {run} {other} --model '{model}'", folder)
    causes = {cause["cause"]: round(cause["points"], 2) for cause in output["causes"] if cause["points"]}
    return {"model": model, "ours": output["a"], "published": output["b"], "points": output["gap"], "causes": causes}


def there(bench: Path, run: Path) -> Figures:
    """Items, images and answers that are there."""
    found: Figures = {}
    if bench.exists():
        opened = et.open(bench)
        counts = opened.manifest.counts
        found = {
            "items": counts.items,
            "choice": counts.choice_items,
            "images": counts.images,
            "kinds": kinds(opened),
        }
    if run.exists():
        scores = et.results(run).scores
        by_modality = scores.group_by(pl.col("modality").cast(pl.String)).agg(
            pl.col("model").n_unique().alias("models"), pl.len().alias("answers"), pl.col("item").n_unique()
        )
        rows = by_modality.sort("answers", "modality", descending=[True, False]).collect()
        found = {"items": rows["item"].max()} | found
        found["answers"] = rows.drop("item").to_dicts()
    return found


def kinds(items: Iterable[Item]) -> dict[str, int]:
    """How many items have options, are to be answered yes or no, or are open."""
    counts = dict.fromkeys(("choice", "yes-no", "open", "without gold"), 0)
    for item in items:
        known = {(choice.text if item.choices else "").strip(" .").lower() for choice in item.choices}
        known = known or {text.strip(" .").lower() for text in item.references}
        if not known:
            counts["without gold"] += 1
        else:
            counts["yes-no" if known <= _YES_NO else "choice" if item.choices else "open"] += 1
    return {kind: count for kind, count in counts.items() if count}


def audit(output: Mapping[str, Any]) -> Figures:
    """What an audit finds, without a word of the benchmark's own."""
    return {"items": output["items"], "findings": [_finding(finding) for finding in output["findings"]]}


def _finding(finding: Mapping[str, Any]) -> Figures:
    kind, title = str(finding["kind"]), str(finding["title"])
    if kind.startswith("frequent-answer"):
        kind, title = "frequent-answer", "One option is" + title.partition(" is")[2]
    ids = list(finding.get("items", ()))
    rates = {name: finding.get("numbers", {}).get(name) for name in _RATES}
    figures = {"severity": finding["severity"], "probe": finding["probe"], "kind": kind, "title": title}
    figures |= {"items": len(ids), "ids": ids[:_IDS], "p": finding.get("adjusted_p")}
    return figures | ({"rates": rates} if rates["rate"] is not None else {})


def golds(output: Mapping[str, Any], known: Collection[str] = ()) -> Figures:
    """The doubtful golds, the likeliest first, what the list is worth by its odds, and the rank of ``known`` ones."""
    rows = output["rows"]
    ratios = {row["item"]: row["ratio"] for row in rows}
    places = {item: 1 + sum(other > ratios[item] for other in ratios.values()) for item in known}
    rather = [row for row in rows if (row["flawed"] or 0) > RATHER]
    queue = rows[: max(LONGEST_QUEUE, len(rather))][: 2 * LONGEST_QUEUE]
    expected = {
        name: sum(row["flawed"] or 0 for row in part) for name, part in (("rather", rather), ("queue", queue))
    }
    kept = [{column: row[column] for column in _COLUMNS} for row in queue]
    return {"items": len(rows), "rather": len(rather), "expected": expected, "queue": kept, "known": places}


def blind(output: Mapping[str, Any]) -> Figures:
    """What models score without the image, the best first: beside guessing, or beside the image."""
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


def small(run: Path) -> Figures:
    """How subsets rank models that were held out of drawing them, beside random ones: larger ones, until two keep."""
    results = et.results(run)
    ids = results.scores.select(pl.col("item").cast(pl.String).unique().sort()).collect()["item"].to_list()
    table, items, _ = answered(results, ids, "image")
    table = table[:, (~np.isnan(table)).mean(axis=0) >= _WHOLE]
    if (count := table.shape[1]) < FEWEST_MODELS:
        return {"no": f"{count} models answered all of it; `eyetest subset` takes {FEWEST_MODELS}, to hold some out"}
    rows: list[Figures] = []
    for share in _SHARES:
        values: dict[str, float | None] = {}
        for name, aim in {"stronger": STRONGER, "others": LIKE}.items():
            ranking = validate_ranking(table, share, aim)
            if ranking is None:
                return {"no": "too few items to try a subset on others"}
            values |= {f"{name}_aimed": ranking.chosen.value, f"{name}_random": ranking.random.value}
        rows.append({"share": share, "items": round(share * len(items))} | values)
        if len(rows) > 1 and min(row["stronger_aimed"] for row in rows[-2:]) >= KEEPS:
            break
    return {"models": count, "of": len(items), "rows": rows, "keeps": _keeps(rows)}


def _keeps(rows: list[Figures]) -> Figures | None:
    """The smallest subset from which on every larger one that was tried keeps the ranking too."""
    held = list(takewhile(lambda row: row["stronger_aimed"] >= KEEPS, reversed(rows)))
    return {"share": held[-1]["share"], "items": held[-1]["items"]} if held else None

"""Results of made-up models, with everything in them that a figure can show."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eyetest.measures import Results
from eyetest.records import ModelEntry
from tests.measures.tables import results

MODALITIES = {"image": 0.75, "no-image": 0.4}


def panel(names: Sequence[str], items: int = 48, cores: Sequence[str] = ("shape", "colour")) -> Results:
    """Models from good to bad, asked with and without the image in two orders; some calls fail, some refuse."""
    draw = np.random.default_rng(1)
    rows: list[dict[str, Any]] = []
    for place, model in enumerate(names):
        for modality, ability in MODALITIES.items():
            for item in range(items):
                for order in range(2):
                    right = draw.random() < ability * (1 - 0.5 * place / len(names))
                    gold = "ABCD"[item % 4]
                    choice = gold if right else "ABCD"[(item + 1) % 4]
                    row = {"item": str(item), "model": model, "modality": modality, "order": order, "choice": choice}
                    rows.append(row | {"score": float(right)} | _mishap(draw.random()))
    known = [
        {"item": str(i), "cluster": str(i), "options": 4, "position": i % 4, "gold": "ABCD"[i % 4]}
        | {"tag.core": cores[i % len(cores)], "tag.axis": f"axis {i % 5}"}
        | {"tag.dialogue": f"dialogue {i // 4}", "tag.turn": str(i % 4 + 1)}
        for i in range(items)
    ]
    entries = {name: ModelEntry(spec="scripted:", base=names[-1]) for name in names[:-1]}
    return results(rows, known, entries)


def _mishap(chance: float) -> dict[str, Any]:
    if chance < 0.03:
        return {"outcome": "failed", "reading": None, "choice": None, "score": None}
    return {"reading": "refused", "choice": None, "score": 0.0} if chance < 0.06 else {}

"""Which items exist and which model sees which of them: decided, and written to a file, before any training.

``python -m contamination.declare FILE`` writes the declaration.
"""

import hashlib
import json
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
from eyetest_world.drafting import Draft, draft, twin_of
from eyetest_world.posing import AXES, phrasings, shuffled
from eyetest_world.scenes import KINDS

SEED = 4101
ITEMS, TWINS, OPTIONS = 900, 3, 4
EDITIONS = 1 + TWINS + 1
"""Original, twins, fresh."""
DOSES = (0.005, 0.01, 0.02, 0.05, 0.1)
EXPOSURES = (1, 3, 10, 30)
TRUNKS = ("eagle-l", "kite-l", "owl-m", "raven-m", "swift-s", "robin-s", "wren-xs", "finch-xs")
CLEAN, PER_CELL, LOOK_GUILTY = 25, 2, 10
"""Models of each trunk: clean ones, contaminated ones of each dose and exposure, clean ones that look guilty."""
GUILTY_DOSE, GUILTY_EXPOSURE = 0.1, 10
KINDS_OF_GUILT = ("other-images", "twins-only", "answer-prior", "images-only")
"""The same questions about other images; twins without the original; replies that prefer one letter; the images with
a description instead of the question."""


class Family(NamedTuple):
    """An item, its twins, and a fresh item of the same kind, all with their options in the same kind of order."""

    original: Draft
    twins: tuple[Draft, ...]
    fresh: Draft
    order: tuple[int, ...]
    fresh_order: tuple[int, ...]


class Model(msgspec.Struct, frozen=True):
    """One model of the experiment."""

    name: str
    trunk: str
    group: str  # clean, contaminated, or one of KINDS_OF_GUILT
    half: str  # open: for building tests; sealed: opened once, after the code of the tests is frozen
    exposure: int = 0
    items: tuple[int, ...] = ()


@cache
def families(count: int = ITEMS) -> tuple[Family, ...]:
    """All items; kinds in equal numbers, every item with as many options and three twins."""
    rng = Random(f"contamination/{SEED}")
    fitting = [kind for kind in KINDS.values() if _has_twins(drafted(kind.name, f"contamination/{SEED}/{kind.name}"))]
    of_axis = [kinds for axis in AXES if (kinds := [kind for kind in fitting if kind.axis == axis])]
    turns = (divmod(index, len(of_axis)) for index in range(count))
    kinds = shuffled(rng, [of_axis[axis][turn % len(of_axis[axis])] for turn, axis in turns])
    made, questions = [], set[str]()
    for index, kind in enumerate(kinds):
        for attempt in range(1000):
            original = drafted(kind.name, f"contamination/{SEED}/{index}/{attempt}")
            if _has_twins(original) and original.question not in questions:
                break
        else:
            raise RuntimeError(f"no item of kind {kind.name} has {TWINS} twins")
        for attempt in range(1000):
            fresh = drafted(kind.name, f"contamination/{SEED}/fresh/{index}/{attempt}")
            if len(fresh.options) == OPTIONS and fresh.question not in questions:
                break
        questions |= {original.question, fresh.question}
        orders = (tuple(rng.sample(range(OPTIONS), OPTIONS)) for _ in range(2))
        made.append(Family(original, _twins(original), fresh, *orders))
    return tuple(made)


def drafted(kind: str, seed: str) -> Draft:
    """An item of a kind in one of its phrasings."""
    phrasing = Random(f"{seed}/phrasing").randrange(len(phrasings()[kind]))
    return msgspec.structs.replace(draft(KINDS[kind], None, phrasing, Random(seed)), seed=seed)


def _has_twins(original: Draft) -> bool:
    return len(original.options) == OPTIONS and len(_twins(original)) == TWINS


def _twins(original: Draft) -> tuple[Draft, ...]:
    found = {twin.gold: twin for turn in range(1, OPTIONS) if (twin := twin_of(original, turn)) is not None}
    return tuple(found[gold] for gold in sorted(found) if gold != original.gold)


def models(items: int = ITEMS) -> list[Model]:
    """Every model, its dose and its items; halves are equal within each group."""
    listed = []
    for where, trunk in enumerate(TRUNKS):
        rng = Random(f"contamination/{SEED}/{trunk}")
        planned: list[tuple[str, float, int]] = [("clean", 0.0, 0)] * CLEAN
        planned += [("contaminated", dose, seen) for dose in DOSES for seen in EXPOSURES for _ in range(PER_CELL)]
        guilty = [KINDS_OF_GUILT[(where * 2 + turn) % len(KINDS_OF_GUILT)] for turn in range(LOOK_GUILTY)]
        planned += [(kind, GUILTY_DOSE, GUILTY_EXPOSURE) for kind in sorted(guilty)]
        for index, (group, dose, exposure) in enumerate(planned):
            leaked = tuple(sorted(rng.sample(range(items), max(1, round(dose * items))))) if dose else ()
            half = ("open", "sealed")[(index + where) % 2]
            listed.append(Model(f"{trunk}-{index:02}", trunk, group, half, exposure, leaked))
    return listed


def main() -> None:
    """Write the declaration and print its SHA-256."""
    text = {
        "seed": SEED,
        "items": [
            {"kind": one.original.kind, "question": one.original.question, "seed": one.original.seed}
            for one in families()
        ],
        "models": [msgspec.to_builtins(model) for model in models()],
    }
    data = json.dumps(text, separators=(",", ":")).encode()
    Path(sys.argv[1]).write_bytes(data)
    print(hashlib.sha256(data).hexdigest())


if __name__ == "__main__":
    main()

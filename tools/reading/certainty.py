"""Count how often readings of each group are right on labelled replies, for ``certainty.yaml``."""

import csv
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from eyetest.scoring.rules import Reading, Reply
from eyetest.scoring.rules.certainty import Certainty, Counts, Group, group_of, load_certainty
from eyetest.scoring.rules.eyetest import EyetestRules
from tools.reading.knife import is_right, label
from tools.reading.replies import RealReply, read_labelled

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "src" / "eyetest" / "scoring" / "rules" / "certainty.yaml"
WRITTEN = ROOT / "tests" / "scoring" / "replies"
EDGES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
SURE = (0.5, 0.7, 0.8, 0.9, 0.95)
_RESAMPLES = 1_000
WEIGHTS = {"real": 1.0, "written": 0.5, "forms": 0.1}
"""Hand-written replies are odd on purpose, and the replies of one form are alike."""
_REAL = ("dev", "dev3", "dev4")
_FORMS = ("dev3_forms", "dev4_forms")
_WRITTEN = ("written", "written_more", "held_out")
_MMMU_PRO = ("first", "fresh", "third", "last")
_KINDS = {"unparsed": "none", "refused": "refused", "ambiguous": "several"}
_HEAD = """# Written by `python -m tools.reading --certainty`, not by hand: right readings and all readings of
# labelled replies (weighted: a real reply 1, a hand-written one 0.5, one of a fixed form 0.1), by the evidence that
# decided the reading, the rule, and where the reply names other options. `certainty.py` makes probabilities of them.
"""


class RatedReply(NamedTuple):
    """A labelled reply, its source, its weight, the group of its reading, and whether the reading is right."""

    source: str
    weight: float
    group: Group
    is_right: bool
    reading: Reading
    reply: Reply


def rate_replies(shared: Path, read: Callable[[Reply], Reading] | None = None) -> list[RatedReply]:
    """Every labelled reply, as the rules read it."""
    read = read or EyetestRules().read
    rated = []
    for kind, replies in (
        ("real", _real_replies(shared)),
        ("written", _written_replies()),
        ("forms", _replies_of_forms(shared)),
    ):
        rated += [_rate(reply, WEIGHTS[kind], read) for reply in replies]
    return rated


def rate_files(files: Iterable[Path]) -> list[RatedReply]:
    """The labelled replies of some files, as the rules read them."""
    rules = EyetestRules()
    return [_rate(reply, 1.0, rules.read) for path in files for reply in read_labelled(path)]


class Bin(NamedTuple):
    """Readings of about the same probability: how many, their mean probability, and the share of right ones."""

    least: float
    n: int
    probability: float
    right: float


class Threshold(NamedTuple):
    """What a threshold does: choices of another option that stay, of all replies; readings that become unread."""

    sure: float
    wrong_options: int
    unread: int
    right_among_unread: int


def bins_of(rated: Sequence[RatedReply], certainty: Certainty) -> list[Bin]:
    """Readings by their probability."""
    probabilities = np.array([certainty.probability(row.group) for row in rated])
    right = np.array([row.is_right for row in rated], float)
    places = np.digitize(probabilities, EDGES)
    bins = []
    for place in sorted(set(places.tolist())):
        inside = places == place
        least = 0.0 if place == 0 else EDGES[place - 1]
        bins.append(Bin(least, int(inside.sum()), float(probabilities[inside].mean()), float(right[inside].mean())))
    return bins


def calibration_error(rated: Sequence[RatedReply], certainty: Certainty) -> float:
    """The mean distance of the probability from the share of right readings, over the bins."""
    gaps = [cell.n * abs(cell.probability - cell.right) for cell in bins_of(rated, certainty)]
    return sum(gaps) / len(rated)


def error_interval(rated: Sequence[RatedReply], certainty: Certainty, seed: int = 0) -> tuple[float, float]:
    """A percentile interval of the calibration error, 95 %, from 1,000 resamples of the replies."""
    rng = random.Random(seed)
    errors = sorted(calibration_error(rng.choices(rated, k=len(rated)), certainty) for _ in range(_RESAMPLES))
    return errors[int(0.025 * _RESAMPLES)], errors[int(0.975 * _RESAMPLES)]


def thresholds_of(rated: Sequence[RatedReply], certainty: Certainty) -> list[Threshold]:
    """What each threshold does; at 0 nothing becomes unread."""
    rows = []
    for sure in (0.0, *SURE):
        stays = [row for row in rated if certainty.probability(row.group) >= sure]
        left = [row for row in rated if certainty.probability(row.group) < sure]
        left = [row for row in left if row.reading.kind not in ("unparsed", "cut off")]
        wrong = sum(row.reading.index is not None and not row.is_right for row in stays)
        rows.append(Threshold(sure, wrong, len(left), sum(row.is_right for row in left)))
    return rows


def print_check(files: Sequence[Path]) -> None:
    """Print how well the probabilities that ship hold on labelled replies, file by file."""
    certainty = load_certainty()
    for path in files:
        rated = rate_files([path])
        low, high = error_interval(rated, certainty)
        right = sum(row.is_right for row in rated) / len(rated)
        error = calibration_error(rated, certainty)
        print(f"{path.name}: {len(rated)} replies, {right:.1%} right")
        print(f"  calibration error {error:.3f} [{low:.3f}, {high:.3f}]")
        for cell in bins_of(rated, certainty):
            print(f"  from {cell.least:.2f}: {cell.n:5} replies, said {cell.probability:.3f}, right {cell.right:.3f}")
        for row in thresholds_of(rated, certainty):
            unread = f"{row.unread} become unread, {row.right_among_unread} of them right"
            print(f"  sure {row.sure:.2f}: {row.wrong_options} wrong options stay, {unread}")


def _rate(row: RealReply, weight: float, read: Callable[[Reply], Reading]) -> RatedReply:
    reading = read(row.reply)
    group = group_of(row.reply, reading)
    return RatedReply(row.source, weight, group, is_right(reading, row), reading, row.reply)


def _real_replies(shared: Path) -> Iterator[RealReply]:
    for name in _REAL:
        yield from read_labelled(shared / "data" / "replies" / f"{name}.jsonl")
    yield from _mmmu_pro_replies(shared / "data" / "mmmu_pro")


def _replies_of_forms(shared: Path) -> Iterator[RealReply]:
    for name in _FORMS:
        yield from read_labelled(shared / "data" / "replies" / f"{name}.jsonl")


def _written_replies() -> Iterator[RealReply]:
    """The replies that were written by hand, each file as a source."""
    for name in _WRITTEN:
        for line in (WRITTEN / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            reply = Reply(row["reply"], tuple(row["options"]), row["letters"])
            yield RealReply(name, reply, label(Reading(row["reading"], row.get("index")), RealReply(name, reply)))


def _mmmu_pro_replies(folder: Path) -> Iterator[RealReply]:
    """Replies on which two people agree, drawn from those that rule sets read differently."""
    items = {item["id"]: item for item in map(json.loads, (folder / "items.jsonl").read_text("utf-8").splitlines())}
    columns = ["item_id", "variant", "raw_output"]
    rows = pq.read_table(folder / "predictions.parquet", columns=columns).to_pylist()
    for name in _MMMU_PRO:
        with (WRITTEN / f"mmmu_pro_{name}.csv").open(encoding="utf-8", newline="") as file:
            for labels in csv.DictReader(file):
                if labels["first"] != labels["second"]:
                    continue
                row = rows[int(labels["row"])]
                options = items[row["item_id"]]["options" if row["variant"] == "standard4" else "options10"]
                reply = Reply(row["raw_output"] or "", tuple(options))
                yield RealReply("mmmu_pro", reply, _KINDS.get(labels["first"], labels["first"]))


def count_groups(rated: Sequence[RatedReply]) -> Counts:
    """Right readings and all readings, weighted, by evidence, rule and place."""
    counts: dict[str, dict[str, dict[str, tuple[float, float]]]] = {}
    for row in rated:
        places = counts.setdefault(row.group.evidence, {}).setdefault(row.group.rule, {})
        right, n = places.get(row.group.place, (0.0, 0.0))
        places[row.group.place] = (right + row.weight * row.is_right, n + row.weight)
    return counts


def write_counts(counts: Counts, version: str, to: Path = TABLE) -> None:
    """Write the table of counts, in alphabetical order."""
    lines = [f"rules: {version}", "counts:"]
    for evidence in sorted(counts):
        lines.append(f"  {evidence}:")
        for rule in sorted(counts[evidence]):
            places = counts[evidence][rule]
            cells = ", ".join(
                f"{place}: [{places[place][0]:.4g}, {places[place][1]:.4g}]" for place in sorted(places)
            )
            lines.append(f"    {rule}: {{{cells}}}")
    to.write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")

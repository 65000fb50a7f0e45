"""``python -m tools.reading``: how often replies are read right, and what each cue changes."""

import argparse
import os
import random
from pathlib import Path

from eyetest.scoring.rules.eyetest import EyetestRules
from tools.reading.certainty import count_groups, print_check, rate_replies, write_counts
from tools.reading.knife import LEAST, cut_each, is_right
from tools.reading.replies import RealReply, read_replies


def main() -> None:
    """Parse the command line, read, print two tables."""
    parser = argparse.ArgumentParser(prog="python -m tools.reading", description=__doc__)
    shared = os.environ.get("EYETEST_SHARED", "../shared")
    parser.add_argument("files", nargs="*", type=Path, help="further replies, in the format of replies/dev.jsonl")
    parser.add_argument("--shared", type=Path, default=Path(shared), help="folder of real replies (EYETEST_SHARED)")
    parser.add_argument("--sample", type=int, default=10_000, help="replies without label that the knife is tried on")
    parser.add_argument("--seed", type=int, default=0, help="which ones are drawn")
    parser.add_argument("--cue", action="append", default=[], help="try only this cue (may be repeated)")
    parser.add_argument("--certainty", action="store_true", help="write how often readings of each group are right")
    parser.add_argument("--check", action="store_true", help="how well these probabilities hold on the files")
    chosen = parser.parse_args()
    if chosen.check:
        print_check(chosen.files)
        return
    if chosen.certainty:
        write_counts(count_groups(rate_replies(chosen.shared)), EyetestRules.version)
        return
    replies = list(read_replies(chosen.shared if chosen.shared.is_dir() else None, chosen.files))
    labelled = [reply for reply in replies if reply.label]
    others = [reply for reply in replies if not reply.label]
    _print_accuracy(labelled)
    drawn = random.Random(chosen.seed).sample(others, min(chosen.sample, len(others)))
    print(f"\n{'without':28} {'changed of 10,000':>18} {'labelled lost':>14} {'gained':>7}")
    for cut in cut_each([*drawn, *labelled], chosen.cue):
        mark = "  <- goes" if cut.changed < LEAST else ""
        print(f"{cut.cue:28} {cut.changed:18.1f} {cut.lost:14} {cut.gained:7}{mark}")


def _print_accuracy(labelled: list[RealReply]) -> None:
    """Right readings and wrong options, by how the replies were drawn."""
    rules = EyetestRules()
    for drawn in sorted({reply.drawn for reply in labelled}):
        rows = [reply for reply in labelled if reply.drawn == drawn]
        readings = [rules.read(reply.reply) for reply in rows]
        right = sum(is_right(reading, row) for reading, row in zip(readings, rows, strict=True))
        wrong = sum(r.index is not None and not is_right(r, row) for r, row in zip(readings, rows, strict=True))
        shares = f"{right / len(rows):.1%} right, {wrong / len(rows):.1%} a wrong option"
        print(f"{drawn:12} {len(rows):5} replies: {shares}")


if __name__ == "__main__":
    main()

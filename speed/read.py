"""Read replies with our rules, with those of an older version and with the peers', side by side on one core.

    python speed/read.py [--seconds 1.0] [--old SRC] [--shared ../shared]

Short replies are letters and option texts in many dresses; chains of thought have 1,500 characters and end in a
stated answer (six of eight, real ones do so more often), in a conclusion in words or in the middle of a sentence;
real ones are drawn from MMMU-Pro's published predictions. ``--old`` is the ``src`` folder of another version
(``git worktree add ../before COMMIT``): it is measured in a process of its own, in turns with this one.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from eyetest.scoring.rules import RULE_SETS, Reply

OPTIONS = ("a red bus", "a blue car", "a bicycle", "a tram")
SHORT = (
    "B",
    "b",
    "(C)",
    "D.",
    "**A**",
    "B. a blue car",
    "Answer: C",
    "a tram",
    "A bicycle.",
    "The answer is B.",
    "\\boxed{D}",
    "<answer>A</answer>",
    "Option C",
    "It is a blue car.",
    "I cannot see the image.",
    "A or B",
    '{"answer": "B"}',
    "选B",
)
STEPS = (
    "First, I look at the image and describe what I see in the foreground. ",
    "There is a street with two lanes, and a vehicle is standing at the crossing.\n",
    "Its body is 2.5 m wide, which is more than the 1.8 m that one would expect of option B. ",
    "However, the wheels are covered, so the shape alone does not decide the matter.\n\n",
    "Next, consider the colour: it is closer to red than to blue under this light. ",
    "The sign above the windscreen shows a line number, as vehicles of public transport do.\n",
)
ENDS = (
    "\n\nAnswer: A",
    "Therefore, the correct answer is (A).",
    "\n**Final answer:** A",
    "so $\\boxed{A}$.",
    "I would go with option A.",
    "Hence A is the correct option.",
    "So the vehicle is a red bus.",
    "The next",
)
LENGTH = 1_500
DRAWN = 2_000
ROUNDS = 4


def chains() -> list[str]:
    """Chains of thought of 1,500 characters that differ in the order of their steps and in their end."""
    texts: list[str] = []
    for shift in range(len(STEPS)):
        body = "".join(STEPS[(shift + n) % len(STEPS)] for n in range(40))
        for end in ENDS:  # the end stands in a sentence of its own, as in real chains
            whole = body[: body.rindex(". ", 0, LENGTH - len(end)) + 2]
            texts.append(whole + end)
    return texts


def real_replies(shared: Path) -> list[Reply]:
    """Replies of MMMU-Pro's runs, drawn at random; none where the folder is missing."""
    folder = shared / "data" / "mmmu_pro"
    if not folder.is_dir():
        return []
    import pyarrow.parquet as pq

    lines = (folder / "items.jsonl").read_text("utf-8").splitlines()
    options = {item["id"]: tuple(item["options10"]) for item in map(json.loads, lines)}
    table = pq.read_table(folder / "predictions.parquet", columns=["item_id", "raw_output"]).to_pylist()
    rows = random.Random(0).sample(table, DRAWN)
    return [Reply(row["raw_output"] or "", options[row["item_id"]]) for row in rows]


def rate(rules: str, replies: Sequence[Reply], seconds: float) -> float:
    """Replies that a rule set reads in a second of processor time, at its best of a few rounds."""
    read, best = RULE_SETS[rules].read, 0.0
    for _ in range(ROUNDS if replies else 0):
        done, started = 0, time.process_time()
        while (taken := time.process_time() - started) < seconds / ROUNDS:
            for reply in replies:
                read(reply)
            done += len(replies)
        best = max(best, done / taken)
    return best


def measure(rules: str, seconds: float, shared: Path) -> list[float]:
    """The rates of one rule set: short replies, chains, real ones."""
    kinds = ([Reply(text, OPTIONS) for text in SHORT], [Reply(text, OPTIONS) for text in chains()])
    return [rate(rules, replies, seconds) for replies in (*kinds, real_replies(shared))]


def main() -> None:
    """Print a line for each rule set, and for the older version of ours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each measurement takes")
    parser.add_argument("--old", type=Path, help="the src folder of an older version")
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("EYETEST_SHARED", "../shared")))
    parser.add_argument("--only", help="print the figures of this rule set as JSON and nothing else")
    chosen = parser.parse_args()
    if chosen.only:
        print(json.dumps(measure(chosen.only, chosen.seconds, chosen.shared)))
        return
    print(f"{'rule set':16} {'short replies/s':>16} {'chains of 1,500/s':>18} {'real MMMU-Pro/s':>16}")
    for rules in RULE_SETS:
        print_line(rules, measure(rules, chosen.seconds, chosen.shared))
        if rules == "eyetest" and chosen.old:
            print_line("eyetest before", measure_old(chosen.old, chosen.seconds, chosen.shared))


def measure_old(old: Path, seconds: float, shared: Path) -> list[float]:
    """The rates of another version's rules, in a process that imports them from its folder."""
    command = [sys.executable, __file__, "--only", "eyetest", "--seconds", str(seconds), "--shared", str(shared)]
    surroundings = os.environ | {"PYTHONPATH": str(old.resolve())}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True)
    return [float(figure) for figure in json.loads(done.stdout)]


def print_line(name: str, rates: Sequence[float]) -> None:
    """One line of the table."""
    print(f"{name:16} {rates[0]:16,.0f} {rates[1]:18,.0f} {rates[2]:16,.0f}")


if __name__ == "__main__":
    main()

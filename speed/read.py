"""Read replies with our rules and with the peers' rule sets, side by side on one core: replies a second.

    python speed/read.py [--seconds 1.0]

Short replies are marks and option texts in many dresses; chains of thought have 1,500 characters and end in a
stated answer (six of eight, real ones do so more often), in a conclusion in words or in the middle of a sentence.
"""

import argparse
import time
from collections.abc import Sequence

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
    "First, I look at the picture and describe what I see in the foreground. ",
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


def chains() -> list[str]:
    """Chains of thought of 1,500 characters that differ in the order of their steps and in their end."""
    found: list[str] = []
    for shift in range(len(STEPS)):
        body = "".join(STEPS[(shift + n) % len(STEPS)] for n in range(40))
        found.extend(body[: LENGTH - len(end)] + end for end in ENDS)
    return found


def rate(rules: str, texts: Sequence[str], seconds: float) -> float:
    """Replies that a rule set reads in a second."""
    read, replies = RULE_SETS[rules].read, [Reply(text, OPTIONS) for text in texts]
    done, started = 0, time.perf_counter()
    while (taken := time.perf_counter() - started) < seconds:
        for reply in replies:
            read(reply)
        done += len(replies)
    return done / taken


def main() -> None:
    """Print a line for each rule set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each measurement takes")
    seconds = parser.parse_args().seconds
    print(f"{'rule set':12} {'short replies/s':>16} {'chains of 1,500 characters/s':>30}")
    for rules in RULE_SETS:
        rate(rules, SHORT, 0.1)
        print(f"{rules:12} {rate(rules, SHORT, seconds):16,.0f} {rate(rules, chains(), seconds):30,.0f}")


if __name__ == "__main__":
    main()

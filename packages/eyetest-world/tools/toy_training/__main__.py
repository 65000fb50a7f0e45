"""``python -m toy_training``: train the zoo, or go on where the last call stopped."""

import argparse
import json
from pathlib import Path

from toy_training.course import Course, Given
from toy_training.keeping import Kept
from toy_training.plan import PLAN, read_plan
from toy_training.training import train
from toy_training.vocabulary import vocabulary


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(prog="python -m toy_training", description="Train the toy models.")
    parser.add_argument("--plan", type=Path, default=PLAN, help="what to train (default: the zoo)")
    parser.add_argument("--to", type=Path, required=True, help="folder for weights; a course goes on there")
    parser.add_argument("--words", type=Path, help="a vocabulary from before")
    parser.add_argument("--workers", type=int, default=2, help="processes that draw and write")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop learning to see after so long")
    parser.add_argument("--finish", action="store_true", help="when that time is over, end the course from there")
    chosen = parser.parse_args()
    chosen.to.mkdir(parents=True, exist_ok=True)
    words = json.loads(chosen.words.read_text(encoding="utf-8")) if chosen.words else vocabulary()
    (chosen.to / "tokens.json").write_text(json.dumps(words), encoding="utf-8")
    with Course(read_plan(chosen.plan), words, Kept(chosen.to), Given(chosen.workers, chosen.seconds)) as course:
        train(course, finish=chosen.finish)


if __name__ == "__main__":
    main()

"""What evaluations cost inside a training loop: a tiny vision-language model on the processor, 48 items.

    python speed/training.py [--steps 120] [--every 40]

Prints the seconds of a training step (16 examples), of an evaluation, and the share of evaluations in the loop; the
first evaluation is apart, since it also tests how likelihoods can be computed.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packages/eyetest-world/tools"))

import eyetest as et
from tests.integrations.test_training import collated, coloured, examples, loaded
from tests.models.checkpoint.tiny import make_checkpoint


def main() -> None:
    """Train and evaluate, and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--every", type=int, default=40)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = coloured(Path(folder))
        model, processor = loaded(make_checkpoint("llava", Path(folder) / "llava"))
        data = examples(bench, processor)
        evaluator = et.Evaluator(model, bench, processor=processor)
        optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
        first = evaluator.evaluate(0)[0].seconds
        began = time.perf_counter()
        for step in range(1, asked.steps + 1):
            batch = collated([data[(16 * step + at) % len(data)] for at in range(16)])
            model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if step % asked.every == 0:
                print(evaluator.evaluate(step)[0])
        whole = time.perf_counter() - began
        spent = [row.seconds for row in evaluator.history[1:]]
        step_s = (whole - sum(spent)) / asked.steps
        print(f"step {step_s:.3f} s, evaluation {sum(spent) / len(spent):.3f} s (first {first:.2f} s)")
        print(f"evaluations every {asked.every} steps: {sum(spent) / whole:.1%} of the loop")


if __name__ == "__main__":
    main()

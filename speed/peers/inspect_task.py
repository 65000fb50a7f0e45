"""The same questions through inspect-ai, in its own manner: python inspect_task.py BENCH CONCURRENCY LOGS.

Runs in an environment of its own (`make peers`). Prints the accuracy, which the mock endpoint makes known in advance.
"""

import json
import sys
from pathlib import Path

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice


def main() -> None:
    """Ask everything once and print the accuracy."""
    bench, concurrency, logs = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    samples = []
    for line in (bench / "items.jsonl").read_text().splitlines():
        row = json.loads(line)
        content = [ContentImage(image=str(bench / "images" / row["file"])), ContentText(text=row["question"])]
        message = ChatMessageUser(content=content)
        samples.append(Sample(id=row["id"], input=[message], choices=row["options"], target=row["answer"]))
    task = Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice())
    (log,) = inspect_ai.eval(
        task,
        model="openai-api/mock/mock-vlm",
        max_connections=concurrency,
        max_samples=concurrency,
        temperature=0,
        max_tokens=16,
        display="none",
        log_dir=logs,
    )
    print(log.results.scores[0].metrics["accuracy"].value)


if __name__ == "__main__":
    main()

"""How reading grows on texts made to be slow: slope 1 is linear, 2 would let a stranger's file hang a run."""

import math
import time
from collections.abc import Callable

from eyetest.benchmarks.options import split_options
from eyetest.prompts.building import label, label_within, remove
from eyetest.tabular.table import parse_list


def read_placeholders(text: str) -> None:
    """Everything that becomes of placeholders."""
    remove(text)
    label(text)
    label_within(text, 1)


CASES: dict[str, Callable[[int], object]] = {
    "blanks in a list": lambda n: parse_list("['" + "A" * 30 * n + "'" + " " * n + "x]"),
    "blanks in a question": lambda n: split_options(" " * n + "?\nA. x\nB. y"),
    "many placeholders": lambda n: read_placeholders("<image 1> " * n),
    "a placeholder and blanks": lambda n: read_placeholders("<image 1>" + " " * n),
    "open brackets": lambda n: read_placeholders("(" * n + "<image 1>"),
    "placeholders begun": lambda n: read_placeholders("<image " * n),
}


def least_time(work: Callable[[int], object], size: int) -> float:
    """CPU seconds, the least of three."""
    times = []
    for _ in range(3):
        started = time.process_time()
        work(size)
        times.append(time.process_time() - started)
    return max(min(times), 1e-6)


def main() -> None:
    """Each case at two sizes."""
    print(f"{'case':28} {'30,000':>10} {'240,000':>10} {'slope':>6}")
    for name, work in CASES.items():
        small, large = least_time(work, 30_000), least_time(work, 240_000)
        print(f"{name:28} {small:>9.4f}s {large:>9.4f}s {math.log(large / small) / math.log(8):>6.2f}")


if __name__ == "__main__":
    main()

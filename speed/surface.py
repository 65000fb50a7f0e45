"""Measure the user CPU of help, version, lists and imports, as seconds and as a ratio to ``import rich``.

    python speed/surface.py [--rounds 3]

Each command runs in a process of its own, in turns with the others; the smallest of the rounds counts.
"""

import argparse
import resource
import subprocess
import sys

from eyetest.cli.app import all_commands

LISTS = (("measure", "--list"), ("reform", "list"), ("show", "recipes"))
LIMITS = {"help": 0.35, "list": 0.7, "import": 0.2}


def cpu(*words: str) -> float:
    """User CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    """Print one line for each command, slowest last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    cases: dict[str, tuple[str, tuple[str, ...]]] = {"import eyetest": ("import", ("-c", "import eyetest"))}
    helps = [["--help"], ["--version"], *([*name.split(), "--help"] for name in all_commands())]
    cases |= {" ".join(words): ("help", ("-m", "eyetest", *words)) for words in helps}
    cases |= {" ".join(words): ("list", ("-m", "eyetest", *words)) for words in LISTS}
    rich = min(cpu("-c", "import rich.console") for _ in range(rounds))
    print(f"{'import rich.console':32} {rich:6.2f} s")
    seen = {name: min(cpu(*words) for _ in range(rounds)) for name, (_, words) in cases.items()}
    for name, seconds in sorted(seen.items(), key=lambda pair: pair[1]):
        limit = LIMITS[cases[name][0]]
        print(
            f"{name:32} {seconds:6.2f} s  {seconds / rich:5.1f} x  {'above' if seconds > limit else 'within'} {limit}"
        )


if __name__ == "__main__":
    main()

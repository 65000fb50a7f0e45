"""Options that had another name: an old spelling does what it did, and one line says the new one."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from eyetest.cli.catalogue import COMMANDS

RENAMED = {
    "audit": {
        "--answers": "--gold-style",
        "--html": "--page",
        "--items": "--links",
        "--verdicts": "--verdicts-to",
    },
    "show": {"--answers": "--gold-style"},
    "run": {"--answers": "--gold-style"},
    "import": {"--answers": "--gold-style"},
    "export": {"--answers": "--gold-style"},
    "import-answers": {"--set": "--fill"},
    "compare": {"--models": "--model", "--items": "--links"},
    "compare --on": {"--ask": "--on"},
    "report": {"--to": "--page", "--items": "--links"},
    "refine": {"--items": "--links"},
    "review export": {"--format": "--tool"},
    "review import": {"--format": "--tool"},
    "reform": {"--html": "--page", "--model": "--writer"},
    "harden options": {"--options": "--option-count", "--open": "--open-questions", "--rounds": "--writer-rounds"},
    "harden page": {"--to": "--page"},
    "subset": {"--options": "--option-count", "--source": "--dataset-tag"},
    "card": {"--set": "--fact"},
    "demo": {"--items": "--item-count"},
    "world": {"--items": "--item-count"},
}
"""Old spellings by command, each with the one that is written today."""
_SEVERAL = {("compare", "--models")}
"""Those that took all words behind them; the new spelling takes one and is repeated."""


def command_of(words: Sequence[str]) -> str:
    """Which command some words call: its first two words, or one that an option makes of the first."""
    for word in words[1:]:
        flag = word.partition("=")[0]
        for name in (f"{words[0]} {flag}", f"{words[0]} {RENAMED['compare --on'].get(flag, '')}"):
            if name in COMMANDS and flag.startswith("--"):
                return name
    return two if (two := " ".join(words[:2])) in COMMANDS else words[0]


def renamed(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Words of a command line in today's spelling, and which old ones were among them."""
    name = command_of(words)
    known, old = RENAMED.get(name, {}), {}
    kept = words.index("--") if "--" in words else len(words)
    said: list[str] = []
    rest = iter(range(kept))
    for place in rest:
        flag, equals, value = words[place].partition("=")
        if flag not in known:
            said.append(words[place])
            continue
        old[flag] = known[flag]
        said.append(f"{known[flag]}{equals}{value}")
        if (name, flag) in _SEVERAL and not equals:
            said += _one_each(known[flag], words[place + 1 : kept], rest)
    return [*said, *words[kept:]], old


def _one_each(flag: str, words: Sequence[str], rest: Iterator[int]) -> Iterator[str]:
    """The words behind an option that took several, each with the option in front; what is there is a run."""
    for number, word in enumerate(words):
        if number and word.startswith("-"):
            return
        next(rest)
        yield from (word,) if not number or Path(word).exists() else (flag, word)

"""Which commands there are, by what they are for, and one sentence about each, read without loading any of them."""

import re
from functools import cache
from pathlib import Path

JOBS = {
    "Begin": {
        "init": "init:init",
        "doctor": "doctor:doctor",
    },
    "Look at a benchmark": {
        "audit": "audit:audit",
        "show": "show:show",
        "open": "open:open_",
    },
    "Ask models": {
        "run": "run:run",
        "suite": "suite:suite",
        "place": "place:place",
        "describe": "curate:describe",
        "status": "look:status",
        "import-answers": "exchange:import_answers_",
        "export-answers": "exchange:export_answers_",
        "models": "models:models",
        "merge": "merge:merge",
    },
    "Judge what they said": {
        "score": "score:score",
        "measure": "measure:measure",
        "compare": "compare:compare",
        "compare --on": "race:compare_by_asking",
        "report": "report:report",
        "explain": "look:explain",
        "read": "score:read",
        "diff-rules": "score:diff_rules",
        "reconcile": "reconcile:reconcile",
        "estimate": "curate:estimate",
    },
    "Improve a benchmark": {
        "refine": "refine:refine",
        "recipe": "refine:recipe",
        "review": "review:review",
        "review invite": "review:invite",
        "review revoke": "review:revoke",
        "review status": "review:status",
        "review revise": "review:revise",
        "review export": "review_tools:export",
        "review import": "review_tools:import_",
        "reform": "reform:reform",
        "harden options": "harden_options:options",
        "harden screenshot": "harden:screenshot",
        "harden page": "harden:page",
        "harden renew": "editions:renew",
        "harden twins": "editions:twins",
        "subset": "curate:subset",
    },
    "Share it": {
        "import": "exchange:import_",
        "export": "exchange:export",
        "card": "curate:card",
    },
    "Try eyetest itself": {
        "demo": "demo:demo",
        "world": "world:world",
        "zoo": "world:zoo",
    },
}
"""Each command under its job: the module of this folder that holds it, and its function there.

One with an option in its name is what the command means wherever that option is said: it takes other words then.
"""
COMMANDS = {name: place for commands in JOBS.values() for name, place in commands.items()}
GROUPS = {
    "harden": "Make a benchmark harder, or new: more options, questions inside pictures, editions.",
    "review": "Let people decide about items in a browser: links for them, how far they are, what they agree on.",
}
"""What the commands of two words are about, by their first, which may be a command itself."""


def job_of(name: str) -> str:
    """What a command, or the first word of some, is for."""
    return next(job for job, commands in JOBS.items() if any(known.split()[0] == name for known in commands))


def summary(name: str) -> str:
    """The first sentence of a command's help."""
    if name in GROUPS:
        return GROUPS[name]
    module, _, function = COMMANDS[name].partition(":")
    said = re.search(rf'^def {function}\(.*?"""(.*?)("""|\n\n)', _source(module), re.DOTALL | re.MULTILINE)
    assert said, f"{COMMANDS[name]} has no docstring"
    return " ".join(said[1].split())


@cache
def _source(module: str) -> str:
    return Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")

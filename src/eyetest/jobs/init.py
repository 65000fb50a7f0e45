"""A beginning: a models.yaml for the server that somebody has, and commands that answer what they want to know."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from eyetest.benchmarks import Benchmark, ReadOptions
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.jobs.opening import open_bench
from eyetest.models.specs import parse_models
from eyetest.recipes import load_recipe
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.wording import counted, typed

MODELS, COMMANDS = "models.yaml", "eyetest.md"
NO_SERVER = "none"
RECIPE = "chance-aware"


class Server(NamedTuple):
    """Where a kind of server is found unless somebody says otherwise, and which variable holds its key."""

    title: str
    address: str = ""
    key_env: str = ""


SERVERS = {
    "vllm": Server("vLLM", "http://127.0.0.1:8000/v1"),
    "sglang": Server("SGLang", "http://127.0.0.1:30000/v1"),
    "llama.cpp": Server("llama.cpp", "http://127.0.0.1:8080/v1"),
    "ollama": Server("Ollama", "http://127.0.0.1:11434/v1"),
    "openai": Server("OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Server("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "gemini": Server("Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "other": Server("another server that speaks like OpenAI's"),
    NO_SERVER: Server("no model yet"),
}
"""As in docs/servers.md."""
GOALS = {
    "sound": "Is the benchmark sound?",
    "eyes": "Does it need eyes, and do models use them?",
    "better": "Which model is better?",
    "improve": "How does a better benchmark come out of it?",
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Wishes(NamedTuple):
    """What somebody answered: which benchmark, where the models are, what they want to know."""

    bench: Path
    server: str
    models: Sequence[str] = ()
    address: str = ""
    key_env: str = ""
    goals: Sequence[str] = tuple(GOALS)


class Beginning(NamedTuple):
    """The files that were written, and the commands by what they answer."""

    files: list[Path]
    commands: dict[str, list[str]]
    missing: dict[str, str]
    """What is there too little of, by what there are no commands for."""
    about: str


def begin(wishes: Wishes, to: Path, *, overwrite: bool = False) -> Beginning:
    """Write models.yaml, where there are models, and the commands beside it. No key is written, only its variable."""
    server = checked(wishes)
    benchmark = open_bench(wishes.bench, ReadOptions(gold_required=False, pictures_required=False))
    has_models = wishes.server != NO_SERVER
    files = [*([to / MODELS] if has_models else []), to / COMMANDS]
    for path in files:
        refuse_to_lose(path, overwrite=overwrite, ours=None)
    commands = {goal: list(_commands(goal, wishes, to, benchmark)) for goal in wishes.goals}
    few = [goal for goal, lines in commands.items() if not lines]
    has = f"for that, and has {len(wishes.models)}"
    missing = {goal: f"{MODELS} needs {counted(_needed(goal), 'model')} {has}" for goal in few}
    told = _about(wishes, server, benchmark)
    page = _page(told, server.key_env if has_models else "", commands, missing)
    texts = [*([_models_yaml(wishes, server)] if has_models else []), page]
    to.mkdir(parents=True, exist_ok=True)
    for path, text in zip(files, texts, strict=True):
        with replacing_file(path, overwrite=overwrite) as file:
            file.write_text(text, encoding="utf-8")
    if has_models:
        parse_models([], to / MODELS)
    return Beginning(files, commands, missing, told)


def checked(wishes: Wishes) -> Server:
    """The server with the user's own address and variable; refused where something is missing."""
    if wishes.server not in SERVERS:
        raise InputError(f"{heading('server')}: no kind {short(wishes.server)}; {nearest(wishes.server, SERVERS)}")
    if wrong := [goal for goal in wishes.goals if goal not in GOALS]:
        raise InputError(f"{heading('goal')}: no {short(wrong[0])}; {nearest(wrong[0], GOALS)}")
    server = SERVERS[wishes.server]
    server = server._replace(
        address=(wishes.address or server.address).rstrip("/"), key_env=wishes.key_env or server.key_env
    )
    if wishes.server == NO_SERVER:
        return server
    if not wishes.models:
        raise InputError(f"{param('model', 'NAME')} is missing: what does the server call the model?")
    parts = urlsplit(server.address)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise InputError(f"{heading('address')}: expected http://HOST:PORT/v1, without a name or a password")
    if server.key_env and not _VARIABLE.fullmatch(server.key_env):
        raise InputError(f"{heading('key_env')}: expected the name of an environment variable, not the key itself")
    return server


def _models_yaml(wishes: Wishes, server: Server) -> str:
    lines = ["# Who can be asked (docs/servers.md). Keys stay in the environment."]
    for name in wishes.models:
        lines += [f"{_quoted(name)}:", f"  spec: {_quoted(f'openai:{name}@{server.address}')}"]
        lines += [f"  key_env: {server.key_env}"] if server.key_env else []
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A text that YAML reads as it is."""
    return "'" + text.replace("'", "''") + "'"


def _commands(goal: str, wishes: Wishes, to: Path, benchmark: Benchmark) -> Iterator[str]:
    """What to type, one after the other."""
    bench, first = wishes.bench, next(iter(benchmark), None)
    asking = (bench, "--models", to / MODELS)
    if goal == "sound":
        yield typed("eyetest", "audit", bench, "--page", to / "audit.html")
        if first is not None:
            yield typed("eyetest", "show", bench, *["--"] * first.id.startswith("-"), first.id)
    if len(wishes.models) < _needed(goal):
        return
    if goal == "eyes":
        run = typed("eyetest", "run", *asking, "--sight", "image,blind-guess", "--to", to / "run")
        yield f"{run} --limit 5 --dry-run"
        yield run
        yield typed("eyetest", "measure", "gain", to / "run")
        yield typed("eyetest", "report", to / "run", "--page", to / "report.html")
    elif goal == "better":
        yield typed("eyetest", "compare", *wishes.models[:2], "--on", *asking, "--to", to / "race")
        if len(wishes.models) > 2:
            yield typed("eyetest", "run", *asking, "--to", to / "ranked")
            yield typed("eyetest", "compare", to / "ranked")
    elif goal == "improve":
        seats = [f"{name}={','.join(wishes.models[: one.size])}" for name, one in load_recipe(RECIPE).panels.items()]
        who = [word for seat in seats for word in ("--panel", seat)]
        refine = typed("eyetest", "refine", *asking, "--recipe", RECIPE, *who, "--to", to / "refined")
        yield f"{refine} --dry-run"
        yield refine
        yield typed("eyetest", "card", to / "refined")


def _needed(goal: str) -> int:
    """How many models a question takes."""
    return {"sound": 0, "eyes": 1, "better": 2}.get(goal) or max(
        (panel.size for panel in load_recipe(RECIPE).panels.values()), default=1
    )


def _about(wishes: Wishes, server: Server, benchmark: Benchmark) -> str:
    told = f"{wishes.bench}: {counted(len(benchmark), 'item')}"
    if wishes.server == NO_SERVER:
        return told
    return f"{told}; {counted(len(wishes.models), 'model')} at {server.address}"


def _page(told: str, key_env: str, commands: dict[str, list[str]], missing: dict[str, str]) -> str:
    lines = ["# What to run", "", f"{told}."]
    if key_env:
        lines += ["", f"The key is read from the environment variable `{key_env}`."]
        lines += ["If eyetest asks for permission to send it, set `EYETEST_ALLOW_ENV` to its name."]
    for goal, some in commands.items():
        block = ["```console", *(f"$ {line}" for line in some), "```"] if some else [f"{missing[goal]}."]
        lines += ["", f"## {GOALS[goal]}", "", *block]
    return "\n".join(lines) + "\n"

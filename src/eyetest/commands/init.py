"""The command ``init``: a project file, a models.yaml, and commands that answer one's questions."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple
from urllib.parse import urlsplit

from eyetest.commands.base import open_bench, path_of, split_words
from eyetest.commands.options import SHORT_M, AnyPath, Overwrite, Words
from eyetest.commands.results import Written
from eyetest.errors import InputError, counted, heading, nearest, param, short, typed

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark

MODELS, PROJECT, COMMANDS = "models.yaml", "eyetest.yaml", "eyetest.md"
NO_SERVER = "none"
RECIPE = "chance-aware"
_EVERYTHING = "all"
_ABOUT_MODELS = "# Models that can be asked (docs/servers.md). Keys stay in the environment; key_env names theirs.\n"


class Server(NamedTuple):
    """A kind of server: its usual address, and the variable that holds its key."""

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
    "other": Server("another server with an OpenAI interface"),
    NO_SERVER: Server("no model yet"),
}
"""As in docs/servers.md."""
GOALS = {
    "sound": "Is the benchmark sound?",
    "eyes": "Does it need images, and do models use them?",
    "better": "Which model is better?",
    "improve": "How can the benchmark be improved?",
}
_BLOCKS = {
    "models": ("# Models that commands ask.", "models: models.yaml"),
    "seed": ("# Seed of everything random.", "seed: 0"),
    "conditions": (
        "# Your own conditions by name; 'eyetest show conditions' lists all.",
        "# conditions:\n#   my-cot: {modality: image, ask: cot}",
    ),
    "columns": (
        "# What columns mean, where they are not recognised; NAME.yaml beside NAME.tsv may state it as well.",
        "# columns:\n#   mybench.tsv: {map: {question: prompt, options: [A, B, C, D]}, gold_style: letter}",
    ),
    "cluster": ("# Where large runs are spread over machines: the address of a Ray cluster.", "# cluster: auto"),
}
"""The project file, a key at a time: a comment and a value, or an example."""


def init(
    bench: AnyPath | None = None,
    /,
    *,
    server: str | None = None,
    model: Annotated[Words, SHORT_M] = (),
    address: str | None = None,
    goal: Words = (),
    to: AnyPath = Path(),
    overwrite: Overwrite = False,
) -> Written:
    """Write a project file, a models.yaml and the commands for your file.

    Three questions are asked unless options answer them: which benchmark, where the model is, and what you want to
    know. The project file eyetest.yaml holds values that commands in its folder use; one that exists is completed and
    nothing in it is changed. No server is called, and no key is written.

    Args:
        bench: A benchmark folder, or any file that eyetest can import.
        server: Where the model is: vllm, sglang, llama.cpp, ollama, openai, anthropic, gemini, other or none.
        model: The name of the model on the server; repeatable.
        address: The address of the server up to /v1, if it is not the usual one.
        goal: What you want to know: sound, eyes, better, improve, or all; repeatable.
        to: The folder for the files; by default this one.
        overwrite: Replace models.yaml and eyetest.md.

    Examples:
        $ eyetest init mybench.tsv
        $ eyetest init mybench.tsv --server vllm --model qwen --goal all

        >>> et.init("mine.tsv", server="none", goal="sound", to="begun").facts["files"]
        ['begun/eyetest.md', 'begun/eyetest.yaml']

    """
    place = path_of(bench or _asked("Which benchmark? A file or a folder", "bench"), "bench")
    if not place.exists():
        raise InputError(f"{place} does not exist")
    kind = server or _chosen("Where is the model?", {name: known.title for name, known in SERVERS.items()}, "server")
    if kind not in SERVERS:
        raise InputError(f'{heading("server")}: no kind "{kind}"; {nearest(kind, SERVERS)}')
    names, known = split_words(model), SERVERS[kind]
    if kind != NO_SERVER:
        names = names or split_words(_asked("Its name on the server? Several with commas", "model"))
        if address or not known.address or server is None:
            known = known._replace(address=address or _asked("At which address?", "address", known.address))
        parts = urlsplit(known.address)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise InputError(f"{heading('address')}: expected http://HOST:PORT/v1, without a name or a password")
    titles = {**GOALS, _EVERYTHING: "all of it"}
    goals = split_words(goal) or [_chosen("What do you want to know?", titles, "goal")]
    if wrong := [word for word in goals if word not in titles]:
        raise InputError(f"{heading('goal')}: no {short(wrong[0])}; {nearest(wrong[0], titles)}")
    wanted = list(GOALS) if _EVERYTHING in goals else goals
    return _write(place, known, names, wanted, path_of(to, "to"), overwrite=overwrite)


def _write(
    bench: Path, server: Server, models: Sequence[str], goals: Sequence[str], to: Path, *, overwrite: bool
) -> Written:
    import yaml

    from eyetest.benchmarks import ReadOptions
    from eyetest.models.specs import parse_models
    from eyetest.store import refuse_to_lose, write_file

    benchmark = open_bench(bench, ReadOptions(gold_required=False, images_required=False))
    known = _commands(bench, models, to, benchmark)
    commands = {goal: known[goal][1] if len(models) >= known[goal][0] else [] for goal in goals}
    few = {goal: counted(known[goal][0], "model") for goal, lines in commands.items() if not lines}
    missing = {goal: f"{MODELS} needs {needed}, and has {len(models)}" for goal, needed in few.items()}
    at = f"; {counted(len(models), 'model')} at {server.address}" if models else ""
    about = f"{bench}: {counted(len(benchmark), 'item')}{at}"
    shown, page = [about], ["# What to run", "", f"{about}."]
    if server.key_env:
        page += ["", f"The key is read from the environment variable `{server.key_env}`."]
        page += ["If eyetest asks for permission to send it, set `EYETEST_ALLOW_ENV` to its name."]
    for goal, lines in commands.items():
        shown += ["", GOALS[goal], *(f"  {line}" for line in lines or [f"({missing[goal]})"])]
        block = ["```console", *(f"$ {line}" for line in lines), "```"] if lines else [f"{missing[goal]}."]
        page += ["", f"## {GOALS[goal]}", "", *block]
    texts = {COMMANDS: "\n".join(page) + "\n"}
    if models:
        key = {"key_env": server.key_env} if server.key_env else {}
        entries = {name: {"spec": f"openai:{name}@{server.address.rstrip('/')}", **key} for name in models}
        texts[MODELS] = _ABOUT_MODELS + yaml.safe_dump(entries, sort_keys=False, allow_unicode=True)
    for name in texts:
        refuse_to_lose(to / name, overwrite=overwrite, ours=None)
    texts[PROJECT] = _project_yaml(to / PROJECT, has_models=bool(models))
    to.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_file(to / name, text)
    if models:
        parse_models([], to / MODELS)
    files = [str(to / name) for name in texts]
    facts = {"files": files, "commands": commands, "missing": missing}
    return Written("\n".join(shown), facts, [f"written: {', '.join(files)}"])


def _project_yaml(path: Path, *, has_models: bool) -> str:
    """The project file; what one has already stays, and keys that it does not mention are added."""
    from eyetest.store.handwritten import read_text, read_yaml

    text = read_text(path) if path.is_file() else ""
    content = read_yaml(path) if text else {}
    if not isinstance(content or {}, dict):
        raise InputError(f"{path}: expected names of options with their values, such as seed: 3")
    if not text:
        text = "# Values that commands in this folder use, unless an option states another.\n"
    if has_models and "models" not in (content or {}):
        text = text.replace("# models: models.yaml", "models: models.yaml")
    for key, (comment, value) in _BLOCKS.items():
        if f"{key}:" not in text:
            shown = f"# {value}" if key == "models" and not has_models else value
            text = f"{text.rstrip()}\n\n{comment}\n{shown}\n"
    return text


def _commands(
    bench: Path, models: Sequence[str], to: Path, benchmark: "Benchmark"
) -> dict[str, tuple[int, list[str]]]:
    """How many models each question takes, and what to type, one after the other."""
    from eyetest.recipes.loading import load_recipe

    asking, run, compared, refined = (bench, "--models", to / MODELS), to / "run", to / "compared", to / "refined"
    first = next((item.id for item in benchmark), "")
    sizes = {name: panel.size for name, panel in load_recipe(RECIPE).panels.items()}
    panels = [word for name, size in sizes.items() for word in ("--panel", f"{name}={','.join(models[:size])}")]
    ask = typed("eyetest", "run", *asking, "--condition", "image,no-image-guess", "--to", run)
    refine = typed("eyetest", "refine", *asking, "--recipe", RECIPE, *panels, "--to", refined)
    lines = {
        "sound": [
            typed("eyetest", "audit", bench, "--page", to / "audit.html"),
            typed("eyetest", "show", bench, *["--"] * first.startswith("-"), *[first] * bool(first)),
        ],
        "eyes": [
            f"{ask} --limit 5 --dry-run",
            ask,
            typed("eyetest", "measure", "gain", run),
            typed("eyetest", "report", run, "--page", to / "report.html"),
        ],
        "better": [typed("eyetest", "run", *asking, "--to", compared), typed("eyetest", "compare", compared)],
        "improve": [f"{refine} --dry-run", refine, typed("eyetest", "export", refined, "--format", "card")],
    }
    return {goal: (needed, lines[goal]) for goal, needed in zip(GOALS, (0, 1, 2, max(sizes.values())), strict=True)}


def _asked(question: str, name: str, default: str = "") -> str:
    """What the user types; without a terminal, an error that names the option."""
    option = "BENCH" if name == "bench" else param(name)
    if not sys.stdin.isatty():
        raise InputError(f"{option} is missing, and there is no terminal to ask at; see eyetest init --help")
    try:
        answer = input(f"{question}{f' [{default}]' if default else ''}: ").strip() or default
    except EOFError:
        answer = default
    if not answer:
        raise InputError(f"no answer; {option} states it as well")
    return answer


def _chosen(question: str, known: Mapping[str, str], name: str) -> str:
    """One of several, by its name or its number."""
    width = max(map(len, known))
    lines = [f"  {number}  {word:<{width}}  {title}" for number, (word, title) in enumerate(known.items(), 1)]
    answer = _asked("\n".join([question, *lines, "A number or a name"]), name)
    is_number = answer.isdecimal() and 1 <= int(answer) <= len(known)
    return list(known)[int(answer) - 1] if is_number else answer

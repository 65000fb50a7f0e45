"""Every option with a small language, on its command: a part that would have no effect is refused in one line."""

import base64
import io
import json
from pathlib import Path
from typing import NamedTuple

import pytest
from cyclopts import App
from PIL import Image

from eyetest.cli.app import all_commands, load
from tests.support.command import call

REPLIES = [
    {"item": str(item), "who": model, "text": "A", "setting": setting, "kind": kind}
    for item in range(6)
    for model, setting, kind in (("m", "text", "zero"), ("m", "picture", "few"))
]


def _picture(shade: int) -> str:
    """A small image of one colour, in base64."""
    file = io.BytesIO()
    Image.new("L", (8, 8), 20 * shade).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


ITEMS = [
    {
        "id": number,
        "q": f"What is {number}?",
        "image": _picture(number),
        "A": f"cat {number}",
        "B": f"dog {number}",
        "answer": "AB"[number % 2],
        "topic": "xy"[number % 2],
    }
    for number in range(12)
]


class Language(NamedTuple):
    """An option of a command, a value that holds, and values each of which has a part without effect."""

    command: str
    option: str
    good: str
    bad: tuple[str, ...]
    takes_list: bool = True
    repeats: bool = True


MEASURED = {
    "--where": ("modality=image", ("modality=image,shots=two", "modality=imag", "modality=image,gray", "topic=x,z")),
    "--model": ("one", ("nobody", "one,nobody")),
}
LANGUAGES = [
    *(
        Language(command, option, good, bad)
        for command in ("measure accuracy run", "compare run", "report run --page p.html", "leaderboard run")
        for option, (good, bad) in MEASURED.items()
        if (command, option) != ("compare run", "--model")
    ),
    Language("compare run", "--model", "one,two", ("one,nobody", "one"), takes_list=True),
    Language("reconcile run run --rules-b mmmu --model one", "--where", "modality=image", ("modality=image,gray",)),
    Language("reconcile run run --rules-b mmmu --where modality=image", "--model", "one", ("one,nobody",)),
    Language("measure accuracy run", "--by", "topic", ("topc", "topic,topc")),
    Language("report run --page p.html", "--by", "topic", ("topic,topc",)),
    Language("leaderboard run --models models.yaml", "--by", "model.size_b", ("model.sise", "model.size_b,model.x")),
    Language("measure gain run", "--set", "base=modality=no-image", ("bse=1", "base=modality=x", "base=modality")),
    Language(
        "measure linked run --set to=modality=image", "--set", "from=modality=no-image", ("from=modalty=image",)
    ),
    Language("subset bench --to part", "--only", "topic=x", ("topic=x,z", "topc=x", "topic=x,tag=y"), repeats=True),
    Language("import items.jsonl --to b", "--map", "question=q", ("question=q,id=gone", "question=q,qestion=q")),
    Language("import items.jsonl --to b --map question=q", "--drop", "topic", ("topc", "topic,topc", "q")),
    Language("import items.jsonl --to b --map question=q", "--map-tags", "core=topic", ("core=topc", "topic=topic")),
    Language("import items.jsonl --to b --map question=q", "--allow-missing", "gold", ("gold,imgaes",)),
    Language(
        "import items.jsonl --to b --map question=q",
        "--fact",
        "version=2",
        ("vresion=2", "version=", "version=2,licence=MIT"),
        False,
    ),
    Language("import replies.jsonl --to r --map model=who", "--where", "setting=text", ("setting=text,x", "kind=x")),
    Language("import replies.jsonl --to r --where kind=zero", "--map", "model=who", ("model=gone", "modl=who")),
    Language(
        "import replies.jsonl --to r --map model=who",
        "--map-values",
        "modality=setting:text>no-image,picture>image",
        ("modality=setting:text>no-image,picture>image,sound>image", "modality=setting:text>blind,picture>image"),
    ),
    Language("import replies.jsonl --to r --map model=who --where kind=few", "--fill", "ask=cot", ("ask=ct", "x=1")),
    Language(
        "run bench -m scripted:right=1 --dry-run",
        "--condition",
        "image,no-image+cot",
        (
            "image+no-image",
            "image,image",
            "image,direct",
            "image+imgae",
            "order=1/1",
            "image+",
            "cot+cot",
            "likelihood+digits",
            "likelihood+order=7",
            "own-history",
        ),
    ),
    Language(
        "run bench -m scripted:right=1 --dry-run", "--budget", "calls=3", ("cals=3", "calls=3,calls=4", "calls=x")
    ),
    Language("run bench -m scripted:right=1 --dry-run", "--item", "1", ("99",), takes_list=False),
    Language(
        "run bench --models models.yaml --dry-run", "--until", "one>two", ("one>", "one>one", "one>x"), repeats=False
    ),
    Language("run bench --dry-run --models models.yaml", "--model", "one", ("one,nobody",)),
    Language("show run 1", "--model", "one", ("nobody", "one,nobody")),
    Language("audit bench", "--probe", "malformed", ("malformd", "malformed,x")),
    Language(
        "export bench --format card",
        "--fact",
        "contact=me",
        ("contct=me", "about=", "contact=me,about=it"),
        takes_list=False,
    ),
    Language("score --text A", "--options", "cat,dog", ("cat",), repeats=False),
    Language("similar bench --compare text", "--encoder", "words", ("wrds", "image=pixels"), takes_list=False),
    Language(
        "world models --to toys.yaml", "--habits", "taste=1", ("tste=1", "taste=1,taste=2", "taste="), repeats=False
    ),
    Language("doctor --models models.yaml", "--model", "one", ("nobody", "one,nobody")),
    Language("audit items.jsonl --map question=q", "--drop", "topic", ("topc", "q")),
    Language("audit items.jsonl", "--map", "question=q", ("question=gone", "qestion=q")),
    Language("pool bench items=bench --to pooled", "--map-tags", "core=topic", ("core=topc", "nobody:core=topic")),
    Language(
        "refine bench -r chance-aware --models models.yaml --to rf --dry-run",
        "--set",
        "inspectors.samples=2",
        ("inspectors.sampls=2", "inspektors.samples=2", "inspectors.samples=x"),
        takes_list=False,
    ),
    Language("refine bench -r chance-aware --models models.yaml --to rf", "--map-tags", "core=topic", ("core=topc",)),
    Language(
        "refine bench -r chance-aware --models models.yaml --to rf --dry-run", "--budget", "calls=3", ("cals=3",)
    ),
    Language("refine bench -r chance-aware --models models.yaml --to rf --dry-run", "--hold-out", "two", ("two,x",)),
]
PLAIN = {
    "--annotations", "--answers", "--estimate", "--proxy", "--generator", "--reviewer", "--encoder", "--panel",
}  # fmt: skip
"""Options with several values that are paths or addresses, or that tests of their own cover."""


ELSEWHERE = {("reform", "--set"), ("reconcile", "--map")}
"""Options whose languages are tested below, or with a dataset of their own."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    for name, rows in (("items", ITEMS), ("replies", REPLIES)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    models = [
        f'{name}: {{spec: "scripted:right=0.{9 - n}", size_b: {n + 1}, base: two}}'
        for n, name in enumerate(("one", "two"))
    ]
    (folder / "models.yaml").write_text("\n".join(models))
    call("import", folder / "items.jsonl", "--map", "question=q", "--to", folder / "bench").fine()
    call("run", folder / "bench", "--models", folder / "models.yaml", "--condition", "image,no-image", "--to",
         folder / "run").fine()  # fmt: skip
    return folder


@pytest.fixture
def here(filled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(filled)
    return filled


IDS = [f"{one.command.split(' --')[0]} {one.option}" for one in LANGUAGES]


@pytest.mark.parametrize("one", LANGUAGES, ids=IDS)
def test_a_part_without_effect_is_refused(here: Path, one: Language) -> None:
    words = one.command.split()
    for bad in one.bad:
        call(*words, f"{one.option}={bad}", *_replacing(words)).refused()
    if one.takes_list:
        call(*words, f"{one.option}={one.good},", *_replacing(words)).refused()
    if one.repeats:
        call(*words, f"{one.option}={one.good}", f"{one.option}={one.good}", *_replacing(words)).refused()


@pytest.mark.parametrize("one", LANGUAGES, ids=IDS)
def test_the_same_without_it_is_done(here: Path, one: Language) -> None:
    words = one.command.split()
    call(*words, f"{one.option}={one.good}", *_replacing(words)).fine()


def _replacing(words: list[str]) -> list[str]:
    return ["--overwrite"] if words[0] in ("import", "report", "subset", "export", "world", "pool") else []


@pytest.mark.parametrize(
    "words",
    [
        "reconcile run run --rules-b mmmu --map given=hit",
        "audit bench --map question=q",
        "audit bench --format csv",
        "run bench -m scripted:right=1 --dry-run --item 1 --item 2 --limit 1",
        "show run --limit 3",
        "show bench 1 --limit 3",
        "subset bench --to new-part --only topic=x --share 0.5",
        "subset bench --to new-part --only topic=x --encoder words",
        "subset bench --to new-part --only topic=x --compare text",
        "score run --prompts mmstar",
        "score run --models models.yaml",
        "score --text A --options cat,dog --metric vqa",
        "score --text A --options cat,dog --bench bench",
        "harden options bench --to more --checker one",
        "harden options bench --to more --prompts mmstar",
        "harden options bench --to more --models models.yaml",
        "import items.jsonl --map question=q --to b2 --fact version=2 --model m",
        "measure --list --by topic",
        "measure accuracy run --list",
        "world grade bench bench --habits taste=1",
        "world models --item-count 3",
        "review invite Ann --on bench --revoke --role admin",
        "certify bench run --check p.html --page c.html",
        "refine bench -r chance-aware --answers run --to rf --budget calls=3",
        "refine bench -r chance-aware --answers run --to rf --ask-everything",
        "refine bench -r chance-aware --answers run --to rf --retry-failed",
        "refine bench -r chance-aware --answers run --to rf --prompts mmstar",
        "similar bench --color topic",
        "leaderboard run --links http://127.0.0.1:8765",
        "reform list --limit 3",
        "reform vqav2 readers -a items.jsonl --to v",
        "doctor --model one",
    ],
)
def test_an_option_without_effect_beside_another_is_refused(here: Path, words: str) -> None:
    call(*words.split()).refused()


def test_every_option_of_several_values_is_among_them() -> None:
    """A new option with a small language does not come without its line above."""
    covered = {(one.command.split(" --")[0].split()[0], one.option) for one in LANGUAGES}
    lacking = []
    for name in all_commands():
        arguments = App(default_command=load(name)).assemble_argument_collection()
        for argument in arguments:
            option = next((word for word in argument.names if word.startswith("--")), "")
            is_several = "list" in str(argument.hint)
            if (
                is_several
                and option
                and option not in PLAIN
                and (name, option) not in ELSEWHERE
                and (name.split()[0], option) not in covered
            ):
                lacking.append(f"{name} {option}")
    assert not lacking, lacking


@pytest.mark.parametrize("condition", ["digits", "lowercase", "order=7", "reversed", "image,digits"])
def test_axes_of_options_are_refused_where_no_item_has_options(condition: str, tmp_path: Path) -> None:
    path = tmp_path / "open.jsonl"
    path.write_text(
        "".join(json.dumps({"id": n, "question": f"How many {n}?", "answer": "7"}) + "\n" for n in range(3))
    )
    asked = ("run", path, "-m", "scripted:right=1", "--to", tmp_path / "run", "--condition")
    assert "changes nothing, because no item has options" in call(*asked, condition).refused()
    assert not (tmp_path / "run").exists()
    call(*asked, "perturb=instruction/letters+tests=3").fine()

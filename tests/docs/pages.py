"""Pages of the documentation, the commands on them, and the files that these speak of."""

import base64
import json
import re
import shlex
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import openpyxl
import polars as pl
import yaml

from eyetest.benchmarks import Benchmark, export_benchmark
from tests.conftest import ROOT, png
from tests.runs.inspect_logs import asked_by
from tests.support.command import Done, call, call_narrowly
from tests.support.drawn import draw_benchmark

DOCS = ROOT / "docs"
ITEMS = 24
READERS = 10
_OUTPUTS = {"--to", "--page", "--figures", "--verdicts-to", "--fix", "--bundle", ">"}
_ELSEWHERE = re.compile(r"(?:openai|transformers):[^\s,\"]+")
_FEWER = {"1200": "36", "300": "18"}


def text_of(page: str) -> str:
    """The text of a page, by its name in docs/ or README.md."""
    return (ROOT if page == "README.md" else DOCS).joinpath(page).read_text("utf-8")


def commands(page: str) -> list[list[str]]:
    """The ``eyetest`` commands of a page, as words."""
    lines = re.findall(r"^\$ eyetest (.*?)(?: +#.*)?$", text_of(page), re.MULTILINE)
    return [shlex.split(line) for line in lines]


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.DOTALL)


def offline(word: str) -> str:
    """A fake in the place of a model that is not there."""
    return _ELSEWHERE.sub(lambda spec: f"scripted:right=0.8,blind=0.4,seed={crc32(spec[0].encode()) % 97}", word)


def smaller(words: list[str]) -> list[str]:
    """A command with synthetic benchmarks of fewer items."""
    return [_FEWER.get(word, word) for word in words]


def run_page(page: str, change: Callable[[list[str]], list[str]] = smaller) -> dict[str, str]:
    """Run the commands of a page in order, in the current folder; what each printed, by its words."""
    for file, text in re.findall(r"```yaml\n# (\S+\.yaml)\n(.*?)```", text_of(page), re.DOTALL):
        Path(file).write_text(text)
    given = [change([offline(word) for word in words]) for words in commands(page)]
    _clear_outputs(given)
    printed = {}
    for words in filter(None, given):
        *typed, sign, file = [*words, ">", ""] if ">" not in words else words
        done = _called(typed)
        allowed = {0, 1} if "doctor" in typed else {0}
        assert done.code in allowed, (sign, typed, done.err)
        if file:
            Path(file).write_text(done.out)
        printed[shlex.join(typed)] = done.out
    return printed


def _called(words: list[str]) -> Done:
    if words[0] == "open" and "--bundle" not in words:
        return Done(0, "", "")  # it serves until Ctrl-C: tests/studio opens such pages
    if words[:2] == ["review", "revise"]:
        _decide(words[2])
    elif words[0] == "review" and words[1] not in {"invite", "export", "import"}:
        words = _unserved(words)
        if "--items" in words:  # each line of a page begins another review
            shutil.rmtree(f"{words[1]}-review", ignore_errors=True)
    return (call if words[0] in {"show", "doctor", "similar", "import"} else call_narrowly)(*words)


def _unserved(words: list[str]) -> list[str]:
    """A review that is begun and not served, without the options about how it is served."""
    served = {"--address", "--public", "--proxy"}
    places = [place for place, word in enumerate(words) if word in served]
    left_out = {*places, *(place + 1 for place in places)}
    return [*(word for place, word in enumerate(words) if place not in left_out), "--address", "none"]


def _decide(place: str) -> None:
    """Keep the first open item of a review, as a reviewer with a spreadsheet does."""
    call("review", "export", place, "--to", "decided", "--overwrite").fine()
    queue = sorted(Path("decided").glob("**/queue.csv"))[0]
    rows = pl.read_csv(queue, infer_schema=False).with_columns(decision=pl.lit(None, pl.String))
    first = pl.int_range(pl.len()) == 0
    rows.with_columns(decision=pl.when(first).then(pl.lit("keep"))).write_csv("decided.csv")
    call("review", "import", "decided.csv", "--on", place, "--reviewer", "Zoe").fine()


def _clear_outputs(given: list[list[str]]) -> None:
    """Remove what a page makes before it uses it."""
    seen: set[str] = set()
    for words in given:
        for before, word in pairwise(words):
            if before in _OUTPUTS and word not in seen and Path(word).is_dir() and not word.startswith("-"):
                shutil.rmtree(word)
            seen.add(word)


def draw(folder: Path, name: str, seed: int) -> None:
    """Draw a benchmark as a TSV and as a folder."""
    drawn = draw_benchmark(folder / f"{name}-drawn", items=ITEMS, seed=seed)
    export_benchmark(drawn, "vlmevalkit", folder / f"{name}.tsv")
    rows = pl.read_csv(folder / f"{name}.tsv", separator="\t", infer_schema=False)
    tags = {tag: pl.col("task") for tag in ("category", "core", "axis")}
    rows.with_columns(source=pl.lit("drawn"), **tags).write_csv(folder / f"{name}.tsv", separator="\t")
    call("import", folder / f"{name}.tsv", "--to", folder / name).fine()


def write_real(to: Path, folder: Path, items: int, category: str = "") -> None:
    """Write choice items of a real benchmark as a TSV with images, as people have it."""
    read = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    found = [item for item in read if item["image"] and len(item["options"] or ()) in (3, 4, 5)]
    rows = [
        {
            "index": item["id"], "question": item["question"], "answer": item["answer_letter"],
            **dict(zip("ABCDE", item["options"], strict=False)), "category": category or item["task"],
            "image": base64.b64encode((folder / item["image"]).read_bytes()).decode(),
        }
        for item in found[:: len(found) // items][:items]
    ]  # fmt: skip
    pl.DataFrame(rows, infer_schema_length=None).write_csv(to, separator="\t")


def fill(folder: Path) -> None:
    """Write the files that all pages speak of: a benchmark, models, answers of ten of them, a refinement."""
    for name, seed in (("mybench", 1), ("other", 2)):
        draw(folder, name, seed)
    models = yaml.safe_load(blocks("refine.md", "yaml")[0])
    entries = {
        name: {"spec": f"scripted:right=0.{9 - seed},blind=0.4,seed={seed}", "base": "reader-5", "size_b": 7}
        for seed, name in enumerate(models, 1)
    }
    (folder / "models.yaml").write_text(yaml.safe_dump(entries))
    (folder / "elo.csv").write_text(
        "\n".join(["model,score", *(f"{name},{len(name)}{i}" for i, name in enumerate(models))])
    )
    call("run", folder / "mybench.tsv", "--models", folder / "models.yaml", "--condition", "image,no-image", "--to",
         folder / "run").fine()  # fmt: skip
    panel = [f"--model=m{seed}=scripted:right=0.{seed},seed={seed}" for seed in range(READERS)]
    call("run", folder / "mybench", *panel, "--to", folder / "panel-run").fine()
    shutil.copytree(folder / "panel-run", folder / "earlier-run")
    call("refine", folder / "mybench.tsv", "--recipe", "chance-aware", "--models", folder / "models.yaml", "--to",
         folder / "refined").fine()  # fmt: skip


def fill_for_answers(here: Path) -> None:
    """Write answers as other tools store them."""
    shutil.copytree(DOCS / "examples/reconcile", here, dirs_exist_ok=True)
    bench = Benchmark(here / "mybench")
    shutil.copytree(here / "mybench", here / "b")
    sheet = openpyxl.Workbook()
    sheet.active.append(["index", "question", "prediction"])
    for item in bench:
        sheet.active.append([item.id, item.question, "A"])
    sheet.save(here / "gpt4o_MMBench.xlsx")
    lines = [json.dumps({"doc_id": n, "filtered_resps": ["A"], "target": "A"}) for n in range(len(bench))]
    (here / "2026_samples_mmstar.jsonl").write_text("\n".join(lines))
    shutil.copy(ROOT / "tests/fixtures/inspect-0.3.285.eval", here / "2026-08_mmstar.eval")
    asked_by(here / "mmstar.jsonl", here / "2026-08_mmstar.eval")
    (here / "total_val_output.json").write_text(json.dumps({item.id: "A" for item in bench}))
    (here / "outputs").mkdir()
    for model in ("gpt-4v", "llava-2"):
        replies = [json.dumps({"item": item.id, "text": "B"}) for item in bench]
        (here / f"outputs/{model}.jsonl").write_text("\n".join(replies))
    cells = [f"{item.id},{n % 2},{n % 3 // 2}" for n, item in enumerate(bench)]
    (here / "matrix.csv").write_text("\n".join(["item,one,two", *cells]))
    published: dict[str, list[object]] = {
        "item_id": ["1", "2", "3"],
        "raw_output": ["A", "B", "C"],
        "model": ["m", "m", "m"],
        "correct_if_given": [True, False, True],
    }
    conditions: dict[str, list[object]] = {
        "condition": ["text", "image", "caption"],
        "setting": ["zero-shot", "2-shot-cot", "2-shot-pot"],
        "augment": ["", "ocr", ""],
        "sample": [0, 0, 0],
    }
    pl.DataFrame(published | conditions).write_parquet(here / "mathvista.parquet")
    variants: dict[str, list[object]] = {
        "variant": ["standard10", "vision10", "standard4"],
        "setting": ["direct", "cot", "direct"],
    }
    pl.DataFrame(published | variants).write_parquet(here / "mmmu_pro.parquet")


def fill_for_reform(here: Path) -> None:
    """Write annotations of VQA v2 and of a dataset of one's own."""
    shutil.copytree(ROOT / "tests/reform/native/vqav2", here / "annotations")
    for folder in ("val2014", "photos"):
        (here / folder).mkdir()
    plants = ("fern", "moss", "rose", "lily", "oak", "elm", "ivy")
    for name in plants:
        (here / "photos" / f"{name}.png").write_bytes(png())
    rows = [f"{n},{name}.png,{name},winter" for n, name in enumerate(plants)]
    (here / "plants.csv").write_text("\n".join(("photo_id,file,species,season", *rows)))
    (here / "plants.yaml").write_text(blocks("reform.md", "yaml")[0])


def fill_for_formats(here: Path) -> None:
    """Write a quiz as a table."""
    quiz = [f"{n},What is shown in {n}?,cat {n},dog {n},{'AB'[n % 2]}" for n in range(12)]
    Path("quiz.csv").write_text("\n".join(("id,question,A,B,answer", *quiz)))
    Path("square.png").write_bytes(png())

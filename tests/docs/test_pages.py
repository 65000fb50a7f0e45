"""Every command of every page runs, in its order, on files like those it speaks of."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import fsspec
import polars as pl
import pytest
import yaml

from eyetest.benchmarks import Benchmark, export_benchmark
from tests.docs import pages
from tests.docs.pages import blocks, commands, run_page, smaller, text_of
from tests.store.conftest import _server as _server
from tests.store.conftest import s3 as s3
from tests.store.hub_server import TOKEN, Repo, stand_in
from tests.support.command import call
from tools.size import hand_written

pytestmark = [pytest.mark.journey, pytest.mark.filterwarnings("ignore:no WordNet here")]

PREPARED: dict[str, Callable[[Path], None]] = {
    "answers.md": pages.fill_for_answers,
    "formats.md": pages.fill_for_formats,
    "reform.md": pages.fill_for_reform,
}
APART = {
    "distributed.md",
    "hub.md",
    "redo-lime.md",
    "redo-mmmu-pro.md",
    "redo-mmstar.md",
    "redo-reform-eval.md",
    "trackers.md",
}
"""Pages whose commands need a bucket, a hub, a tracker or real data: tests of their own run them."""
RUN = [page.name for page in hand_written() if commands(page.name) and page.name not in APART]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    pages.fill(folder)
    return folder


@pytest.fixture
def here(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files that pages speak of, as the current folder."""
    monkeypatch.chdir(shutil.copytree(filled, tmp_path / "here"))
    return tmp_path / "here"


@pytest.mark.parametrize("page", RUN)
def test_commands(here: Path, page: str) -> None:
    if page in PREPARED:
        PREPARED[page](here)
    _prepare(page)
    printed = run_page(page, list if page == "compare.md" else smaller)
    if page in CHECKED:
        CHECKED[page](printed)


def test_a_bucket_and_many_machines(here: Path, s3: str) -> None:
    def locally(words: list[str]) -> list[str]:
        return [] if "ray" in words else [word.replace("s3://lab", s3) for word in words]

    run_page("distributed.md", locally)
    assert fsspec.filesystem("s3").exists(f"{s3}/pages/my-vlm.html")
    assert len(Benchmark(here / "merged/benchmark")) == pages.ITEMS


@pytest.mark.filterwarnings("ignore")
def test_the_hub(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    paths = {"art": "art/a.parquet", "law": "law/l.tsv"}
    splits = [{"config_name": name, "data_files": [{"split": "validation", "path": paths[name]}]} for name in paths]
    export_benchmark(Benchmark(here / "mybench"), "parquet", here / "a.parquet")
    files = {"art/a.parquet": (here / "a.parquet").read_bytes(), "law/l.tsv": (here / "mybench.tsv").read_bytes()}
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with stand_in() as hub:
        hub.repos["lab/exam"] = Repo(
            files | {"README.md": f"---\n{yaml.safe_dump({'configs': splits})}---\n".encode()}
        )
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.address)
        here_alone = {"ENDPOINT": hub.address, "HUGGINGFACE_CO_URL_TEMPLATE": template, "HF_HUB_DISABLE_XET": True}
        for name, value in {**here_alone, "HF_HUB_CACHE": str(here / "hf")}.items():
            monkeypatch.setattr(constants, name, value)
        run_page("hub.md")
        assert "data/test.parquet" in hub.repos["lab/law"].files


def test_python_of_pages(here: Path) -> None:
    """Python blocks of guides, on what their commands leave."""
    pages.fill_for_formats(here)
    call("import", "quiz.csv", "--to", "quiz").fine()
    for page in ("evaluate.md", "formats.md", "run.md", "measures.md", "scoring.md"):
        for block in blocks(page, "python"):
            exec(pages.offline(block), {})
    assert len(Benchmark(here / "shapes")) == 1
    assert Path("py-report.html").stat().st_size > 10_000


def _prepare(page: str) -> None:
    """Files that a single page speaks of."""
    if page == "refine.md":
        items = [item.id for item in Benchmark(Path("mybench"))]
        answers = [f"{item},r{m},no-image-guess,A" for item in items for m in range(5)]
        Path("predictions.csv").write_text("\n".join(["item,model,modality,text", *answers]))
    if page == "conditions.md":
        Path("own.yaml").write_text(blocks(page, "yaml")[0])
    if page == "leaderboard.md":
        shutil.copytree("run", "other-board")
    if page == "reports.md":
        shutil.copy("mybench.tsv", "mine.tsv")
    if page == "cards.md":
        shutil.copytree("mybench", "mine")
    if page == "measures.md":
        shutil.copytree("run", "pope-run")
    if page == "peers.md":
        rows = pl.read_csv("mybench.tsv", separator="\t", infer_schema=False).drop("image", "history", strict=False)
        for model in ("llava", "qwen"):
            replies = rows.with_columns(prediction=pl.concat_str(pl.lit("A "), "B"))
            replies.write_csv(f"{model}_mybench.tsv", separator="\t")
    if page == "review.md":
        Path("ann.csv").write_text("item,decision\n")


def _as_compared(printed: dict[str, str]) -> None:
    for line in blocks("compare.md", "text")[0].splitlines():
        assert line in call("compare", "run").out


def _as_reconciled(printed: dict[str, str]) -> None:
    (shown,) = blocks("answers.md", "text")
    reported = printed["reconcile vlmevalkit.tsv lmms_eval.jsonl --bench animals.tsv"]
    assert "".join(f"{line.rstrip()}\n" for line in reported.splitlines()) == shown


def _measures_are_listed(printed: dict[str, str]) -> None:
    _, *listed = re.findall(r"^(\S+) ", call("measure", "--list").out, re.MULTILINE)
    assert [name for name in listed if f"`{name}`" not in text_of("measures.md")] == []


def _items_are_reformed(printed: dict[str, str]) -> None:
    space: dict[str, Benchmark] = {}
    exec(blocks("reform.md", "python")[0], space)
    assert len(space["bench"]) == len(Benchmark(Path("plants"))) > 0
    assert all(item.images for item in space["bench"])


CHECKED: dict[str, Callable[[dict[str, str]], None]] = {
    "answers.md": _as_reconciled,
    "compare.md": _as_compared,
    "measures.md": _measures_are_listed,
    "reform.md": _items_are_reformed,
}

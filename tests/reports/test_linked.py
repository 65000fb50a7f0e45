"""The page of linked settings, from three small runs: what it says, shows and refuses."""

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl
import pytest
from PIL import Image as Pillow

import eyetest as et
from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.commands.gathering import gather
from eyetest.errors import InputError
from eyetest.records import Asked, Choice, Item, Lineage, Manifest, ModelEntry, OptionProvenance, Response, letter
from eyetest.reports.report import Material
from eyetest.reports.sections import stand_ins
from eyetest.runs import Run
from tests.reports.pages import HOSTILE, Tags
from tests.scoring.test_table import make_run, request

pytestmark = pytest.mark.journey

ITEMS = 12
RIGHT = {  # by setting and model: how many of the first items are right
    "four": {"owl": 10, "wren": 8},
    "ten": {"owl": 7, "wren": 6},
    "vision": {"owl": 3, "wren": 5},
}


def image_file(shade: int) -> bytes:
    data = io.BytesIO()
    Pillow.new("RGB", (90, 60), (shade, 120, 200)).save(data, "png")
    return data.getvalue()


def make_setting(path: Path, options: int, steps: tuple[str, ...]) -> Benchmark:
    lineage = tuple(Lineage(step=step) for step in steps)
    with BenchmarkWriter(path, Manifest(name=path.name, lineage=lineage)) as writer:
        for n in range(ITEMS):
            grown = OptionProvenance(author="scribe", checked_by=("reader",))
            choices = tuple(
                Choice(f"answer {k} {HOSTILE[k % 3]}", k == n % 4, **({"provenance": grown} if k > 3 else {}))
                for k in range(options)
            )
            image = writer.images.put(image_file(n * 20 + len(steps)))
            item = Item(id=f"i{n}", question=f"What of {n}? {HOSTILE[n % 8]}", choices=choices, images=(image,))
            writer.add(msgspec.structs.replace(item, tags={"kind": "xy"[n % 2]}, lineage=lineage))
    return Benchmark(path)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("settings")
    made = []
    settings = (("four", 4, ()), ("ten", 10, ("options",)), ("vision", 10, ("options", "screenshot")))
    for setting, options, steps in settings:
        bench = make_setting(folder / setting, options, steps)
        modalities = {"vision": ("screenshot",)}.get(setting, ("image", "no-image"))
        asked = [
            Asked(item=f"i{n}", model=model, modality=modality)  # type: ignore[arg-type]
            for model in RIGHT[setting]
            for modality in modalities
            for n in range(ITEMS)
        ]
        said = [_said(n, one, RIGHT[setting]) for n, one in enumerate(asked)]
        plan = [(one, request(n)) for n, one in enumerate(asked)]
        made.append(make_run(folder / f"run-{setting}", plan, said, bench))
    return made


def _said(number: int, asked: Asked, right: Mapping[str, int]) -> Response:
    n = int(asked.item[1:])
    good = n < right[asked.model] if asked.modality != "no-image" else n < 2
    gold = n % 4
    return Response(request=request(number), outcome="answered", text=letter(gold if good else (gold + 1) % 4))


def test_the_page_tells_the_settings_and_what_was_lost(runs: list[Run], tmp_path: Path) -> None:
    drawn = et.report(runs, page=tmp_path / "page.html", figures=tmp_path / "figures")
    page = Tags((tmp_path / "page.html").read_text("utf-8"))
    page.check_inert("data:text/csv", "http://127.0.0.1:")
    words = " ".join(" ".join(page.words).split())
    assert drawn.facts["figures"] > 6
    assert "Overall the best, wren, scores 45.8 [" in words
    assert "Ten options cost 17 to 25 points; one image for everything costs 25 to 58 points." in words
    assert "The source benchmark was not asked" in words
    assert "stand-in" not in words
    lost = pl.read_csv(tmp_path / "figures/lost-at-ten.csv")
    assert lost.select("item", "lost", "lost_by").rows() == [
        ("i7", 2, "owl, wren"),
        ("i6", 1, "wren"),
        ("i8", 1, "owl"),
        ("i9", 1, "owl"),
    ]
    steps = pl.read_csv(tmp_path / "figures/blind.csv").filter(pl.col("model") == "all models")
    assert steps["guessing"].to_list() == pytest.approx([0.25, 0.1])


def test_a_stand_in_that_reads_by_ocr_is_named(runs: list[Run]) -> None:
    models = {"owl": ModelEntry(spec="reader:owl-m"), "wren": ModelEntry(spec="scripted:right=1")}
    results = replace(gather(runs), models=models)
    first, *_ = stand_ins(Material(results))
    assert first.startswith("Vision was answered by a stand-in: owl did not see the screenshot.")


def test_the_source_may_be_named_and_runs_without_settings_are_refused(runs: list[Run], tmp_path: Path) -> None:
    et.report(runs, page=tmp_path / "page.html", setting="original=four")
    assert "The source benchmark was not asked" not in (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(InputError, match="no linked settings"):
        et.report(runs[:1], page=tmp_path / "one.html", setting="original=four")
    et.report(runs[:1], page=tmp_path / "four.html")
    assert "Linked settings" not in (tmp_path / "four.html").read_text("utf-8")
    assert not (tmp_path / "one.html").exists()

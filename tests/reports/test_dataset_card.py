"""A card says what is known and nothing else, opens in other tools, and changes nothing of the benchmark."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from markdown_it import MarkdownIt

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError
from eyetest.records import Choice, Item, Lineage, Manifest, Recipe, Turn, Verdict
from eyetest.reports.dataset_card import Known, Licence, Statements, card_of, with_settings, write_card
from eyetest.tabular.record_files import write_records
from tests.conftest import png

HOSTILE = "a | b\n---\n# <script>alert(1)</script> ![x](http://evil.example/p.png) `c` **d** </td>"
CANARY = "canary ``` 26b5c67b\n</pre><script>"


def make_bench(path: Path, manifest: Manifest | None = None) -> Benchmark:
    """Choice and text items, with and without images, dialogue, lineage and sources."""
    manifest = manifest or Manifest(name="animals", licence="cc by 4.0", canary="canary 26b5c67b")
    with BenchmarkWriter(path, manifest) as writer:
        red, blue = writer.images.put(png("red")), writer.images.put(png("blue"))
        choices = (Choice("a cat"), Choice("a dog", correct=True))
        for number in range(4):
            tags = {"source": "Zoo", "licence": "MIT", "kind": "even" if number % 2 else "odd"}
            writer.add(Item(id=f"c{number}", question="Which?", images=(red, blue), choices=choices, tags=tags))
        step = Lineage("twin", "Farm", note="made open")
        history = (Turn("And?", "Yes"),)
        writer.add(Item(id="t", question="How many?", references=("2", "two"), history=history, lineage=(step,)))
    return Benchmark(path)


def known_of(bench: Benchmark, **said: Any) -> Known:
    return card_of(bench, msgspec.convert(said, Statements))


def written(bench: Benchmark, known: Known | None = None) -> tuple[str, dict[str, Any]]:
    write_card(known or known_of(bench), bench.path, bench.path)
    text = (bench.path / "README.md").read_text()
    return text, yaml.safe_load(text.split("---\n")[1])


def limits(known: Known, folder: Path) -> list[str]:
    """The known limits on the card of the benchmark ``b`` in a folder."""
    write_card(known, folder / "b", folder)
    text = (folder / "README.md").read_text().partition("## Known limits\n")[2].partition("\n## ")[0]
    return [line.removeprefix("- ") for line in text.splitlines() if line]


def open_croissant(bench: Benchmark) -> Any:
    return import_module("mlcroissant").Dataset(jsonld=str(bench.path / "croissant.json"))


def refined(folder: Path, verdicts: list[Verdict], recipe: dict[str, Any], **about: Any) -> Path:
    """What a refinement leaves, as far as a card reads it."""
    folder.mkdir(exist_ok=True)
    told = {
        "eyetest": "0.0",
        "benchmark": {"name": "wild", "fingerprint": "f" * 64},
        "recipe": msgspec.convert(recipe, Recipe),
        "panels": {"readers": {"seats": ["m|1", "m2"], "held_out": ["m 3"]}},
        "recorded": False,
        **about,
    }
    (folder / "refine.json").write_bytes(msgspec.json.encode(told))
    write_records(verdicts, Verdict, folder / "verdicts.parquet", overwrite=True)
    return folder


RECIPE = {
    "panels": {"readers": {"size": 2, "modality": "no-image", "held_out": 1}},
    "stages": [
        {"filter": "blind-hits", "panel": "readers", "keep": {"hits": {"op": "<", "value": 2}}},
        {"review": {"reviewers": 1}},
    ],
}


def blind(who: str, when: str, value: float, **more: Any) -> dict[str, Any]:
    accuracy = {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 5} | more
    return {"panel": "readers", "who": who, "when": when, "models": 1, "accuracy": accuracy}


@pytest.mark.filterwarnings("ignore")
def test_croissant_is_valid_and_opens_the_folder_as_it_lies(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b")
    written(bench)
    dataset = open_croissant(bench)
    assert not dataset.metadata.ctx.issues.errors
    rows = list(dataset.records("items"))
    assert [row["items/id"].decode() for row in rows] == [item.id for item in bench]
    assert [option["items/choices/correct"] for option in rows[0]["items/choices"]] == [False, True]
    assert rows[4]["items/references"] == [b"2", b"two"]
    assert rows[4]["items/history"][0]["items/history/answer"] == b"Yes"
    assert rows[4]["items/lineage"][0]["items/lineage/source"] == b"Farm"
    images = {row["images-by-hash/file"].decode(): row for row in dataset.records("images-by-hash")}
    assert set(images) == {image.filename for image in bench["c0"].images}
    assert all(row["images-by-hash/content"].size == (8, 8) for row in images.values())


@pytest.mark.filterwarnings("ignore")
def test_datasets_loads_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    bench = make_bench(tmp_path / "b")
    text, _ = written(bench)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code
    space: dict[str, Any] = {}
    exec(code[1].replace("path/to/this/folder", str(bench.path)), space)
    hub = import_module("huggingface_hub").DatasetCard(text).data
    assert (hub.license, hub.size_categories, hub.pretty_name) == ("cc-by-4.0", ["n<1K"], "animals")
    assert [row["id"] for row in space["items"]] == [item.id for item in bench]
    assert Path(space["path"]).read_bytes() == png("red")


def test_nothing_of_the_benchmark_changes_and_the_card_is_the_same_each_time(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b")
    before = {path: path.read_bytes() for path in bench.path.rglob("*") if path.is_file()}
    written(bench)
    card = {name: (bench.path / name).read_bytes() for name in ("README.md", "croissant.json")}
    readme, croissant = ((bench.path / name).stat().st_mtime_ns for name in card)
    assert readme < croissant, "killed in between, the signed file is there"
    assert {path: path.read_bytes() for path in before} == before
    assert [item.id for item in Benchmark(bench.path)] == [item.id for item in bench]
    written(bench)
    assert card == {name: (bench.path / name).read_bytes() for name in card}
    assert str(tmp_path) not in "".join(map(str, card.values()))


def test_texts_from_outside_stay_texts(tmp_path: Path) -> None:
    manifest = Manifest(name=HOSTILE, licence=HOSTILE, source=HOSTILE, canary=CANARY, lineage=(Lineage(HOSTILE),))
    with BenchmarkWriter(tmp_path / "b", manifest) as writer:
        for number in range(3):
            tags = {"source": HOSTILE, HOSTILE: f"{HOSTILE}{number}"}
            writer.add(Item(id=str(number), question="?", references=("1",), tags=tags))
    bench = Benchmark(tmp_path / "b")
    records = refined(
        tmp_path / "r",
        [Verdict(item="9", stage="blind-hits", verdict="drop", reason=HOSTILE)],
        RECIPE | {"about": HOSTILE},
        benchmark={"name": HOSTILE, "fingerprint": ""},
    )
    told = dict.fromkeys(("about", "contact", "homepage", "feedback", "paper", "citation", "name"), HOSTILE)
    known = card_of(bench, Statements(**told, creators=(HOSTILE,), sources={HOSTILE: HOSTILE}), records)  # type: ignore[arg-type]
    text, front = written(bench, known)
    assert front["license"] == "other"
    body = re.sub(r"^(`{3,})\w*\n.*?\n\1$", "", text.split("---\n", 2)[2], flags=re.DOTALL | re.MULTILINE)
    assert "<script" not in body
    assert "![" not in body
    assert "://evil" not in body
    tables = re.findall(r"(?:^\|.*\n)+", body, re.MULTILINE)
    assert len(tables) == 7
    for table in tables:
        cells = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(cells) == 1, table
    tokens = MarkdownIt().enable("table").parse(body)
    inside = [token for block in tokens for token in (block, *(block.children or ()))]
    assert {token.content[:4] for token in inside if token.type.startswith("html")} == {"<!--"}
    assert not [token for token in inside if token.type in ("image", "hr", "code_inline") and "evil" in token.content]
    links = {token.attrs["href"] for token in inside if token.type == "link_open"}
    assert links == {"#licences", "https://arxiv.org/abs/2411.12990"} & links
    assert CANARY in text, "the canary can be searched for as it is"
    assert len(re.findall(r"^# ", body, re.MULTILINE)) == 1


def test_front_matter_says_what_is_known_and_leaves_out_what_is_not(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b")
    _, front = written(bench)
    assert front == {
        "pretty_name": "animals",
        "license": "cc-by-4.0",
        "task_categories": ["visual-question-answering", "multiple-choice"],
        "size_categories": ["n<1K"],
        "tags": ["benchmark", "vision-language", "eyetest"],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": "items.parquet"}]}],
    }
    _, front = written(bench, known_of(bench, licence="Our terms", language=["en", "de"], name="Animals"))
    assert (front["license"], front["license_name"]) == ("other", "Our terms")
    assert (front["language"], front["pretty_name"]) == (["en", "de"], "Animals")


@pytest.mark.parametrize(
    ("said", "hub"),
    [
        ("CC BY-SA 4.0", "cc-by-sa-4.0"),
        ("apache-2.0", "apache-2.0"),
        ("ODbL-1.0", "odbl"),
        ("CC BY 4.0 for the texts", "other"),
        ("Unknown", "unknown"),
    ],
)
def test_licences_are_recognised_or_left_alone(said: str, hub: str) -> None:
    licence = Licence(said)
    assert licence.on_the_hub == hub
    assert licence.is_known == (hub != "unknown")


def test_each_source_has_the_licence_that_somebody_said(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b")
    text, _ = written(bench)
    assert "> **THE LICENCE OF 1 OF 2 SOURCES IS UNKNOWN.**" in text
    assert "| Zoo | 4 | MIT |" in text, "what its items say"
    assert "| Farm | 1 | UNKNOWN |" in text, "named by the lineage of an item"
    text, _ = written(bench, known_of(bench, sources={"Farm": "CC0-1.0", "Barn": "MIT"}))
    assert "SOURCES IS UNKNOWN" not in text
    assert "| Farm | 1 | CC0-1.0 |" in text
    assert "| Barn | 0 | MIT |" in text


def test_what_fell_is_counted_by_stage_and_reason(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b")
    reasons = [f"{hits} of 2 inspectors answer it" for hits in (2, 2, 2, 1)] + ["1,200 answers missing, p = 3e-07"]
    first = [Verdict(item=f"x{n}", stage="blind-hits", verdict="drop", reason=why) for n, why in enumerate(reasons)]
    first += [Verdict(item=item.id, stage="blind-hits", verdict="keep") for item in bench]
    second = [Verdict(item=item.id, stage="review", verdict="keep", reason="not reviewed") for item in bench]
    known = card_of(bench, Statements(), refined(tmp_path / "r", first + second, RECIPE))
    text, front = written(bench, known)
    assert "10 items of **wild** went in, 5 are left." in text
    assert "| blind-hits | 10 | 5 | 5 | 0 | 0 |" in text
    assert "| blind-hits | 4 | dropped | 1 to 2 of 2 inspectors answer it |" in text
    assert "| blind-hits | 1 | dropped | 1,200 answers missing, p = 3e-07 |" in text
    assert r"| readers | m\|1, m2 | m 3 | no-image, direct, 1 × an item |" in text
    assert "--panel 'readers=m|1,m2,m 3' --hold-out 'm 3' --skip-review --to refined" in text
    assert "eyetest-refined" in front["tags"]
    found = limits(known, tmp_path)
    assert "5 items passed a review stage without a review by a person." in found


def test_the_honest_blind_figure_comes_first(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b")
    keep = [Verdict(item=item.id, stage="blind-hits", verdict="keep") for item in bench]

    def found(*residuals: dict[str, Any]) -> list[str]:
        records = refined(tmp_path / "r", keep, RECIPE, residual_blind=residuals)
        return limits(card_of(bench, Statements(), records), tmp_path)

    both = found(blind("panel", "after", 0.2), blind("held out", "before", 0.6), blind("held out", "after", 0.4))
    assert both[0].startswith("Without the image, 1 model that had no vote (panel readers) still score 40.0")
    assert r"40.0 \[30.0, 50.0\] per cent on 5 items. Choosing at random gives 50.0 %" in both[0]
    assert "whose score is biased downwards" in both[1]
    alone = found(blind("panel", "after", 0.2, low=None, high=None))
    assert "too few items for an interval" in alone[0]
    assert "No model was held out" in alone[1]
    assert "was not measured" in found()[0]


def test_the_score_counts_what_is_on_record_and_nothing_else(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b")

    def kept(records: Path | None = None, **said: Any) -> set[str]:
        text, _ = written(bench, card_of(bench, msgspec.convert(said, Statements), records))
        found = set(re.findall(r"\| (.*) \| yes \|", text))
        assert f"{len(found)} of 8 good practices are on record" in text
        return found

    bare = kept()
    assert {"A canary string allows exclusion from training data", "The licence is stated"} <= bare
    assert not {"A contact is named", "Every source is named with its licence", "Items were checked by people"} & bare
    assert kept(contact="me", about="Animals.") - bare == {"A contact is named", "The tested ability is defined"}
    verdicts = [Verdict(item=item.id, stage="review", verdict="keep", reason="fine") for item in bench]
    after = [blind("held out", "after", 0.4)]
    assert kept(refined(tmp_path / "r", verdicts, RECIPE, residual_blind=after)) - bare == {
        "The need for the images was tested",
        "Items were checked by people",
        "Removed items, reasons and the way to repeat it are on record",
    }


def test_what_people_say_is_checked_and_kept() -> None:
    words = ["licence=MIT", "language=en, de", "sources.A.B=CC0-1.0", "contact="]
    said = with_settings(Statements(contact="old"), [*words, "published=2026-02-01"])
    assert (said.licence, said.language, said.contact) == ("MIT", ("en", "de"), "")
    assert (said.sources, str(said.published)) == ({"A.B": "CC0-1.0"}, "2026-02-01")
    assert with_settings(said, ["sources.A.B=", "language="]).sources == {}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("licence", "expected KEY=VALUE"),
        ("license=MIT", 'did you mean "licence"?'),
        ("sources=MIT", "expected sources.NAME=VALUE"),
        ("licence.text=MIT", "expected licence=VALUE"),
        ("published=yesterday", "--fact, published"),
    ],
)
def test_what_makes_no_sense_is_refused(word: str, expected: str) -> None:
    with pytest.raises(InputError, match=re.escape(expected)):
        with_settings(Statements(), [word])


@pytest.mark.parametrize("name", ["refine.json", "verdicts.parquet"])
def test_a_damaged_refinement_is_one_line(tmp_path: Path, name: str) -> None:
    bench = make_bench(tmp_path / "b")
    records = refined(tmp_path / "r", [Verdict(item="t", stage="review", verdict="keep")], RECIPE)
    (tmp_path / "r" / name).write_bytes(b"{")
    with pytest.raises(InputError, match=name):
        card_of(bench, Statements(), records)

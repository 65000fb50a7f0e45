"""The gallery: commands become figures, figures become pages, and nothing of a benchmark's own enters the project."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import eyetest as et
from tests.conftest import ROOT
from tools.gallery.__main__ import FIGURES, GALLERY, JUDGED
from tools.gallery.exhibits import Exhibit, Unasked, carry_out, read_exhibits
from tools.gallery.judgements import Judgement, read_judgements
from tools.gallery.measuring import RATHER, measure
from tools.gallery.pages import page, summary

NO = Unasked(no="Nobody was asked.")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
WORDS = 6
"""So many words of a question in a row are a quotation."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drawn benchmark with planted flaws, and answers of four scripted models."""
    folder = tmp_path_factory.mktemp("gallery")
    carry_out("eyetest world new --item-count 24 --seed 5 --to world", folder)
    (folder / "drawn").symlink_to(folder / "world/benchmark")
    models = {f"m{skill}": f"scripted:right=0.{skill},blind=0.3" for skill in (2, 4, 6, 8)}
    et.run(folder / "drawn", models=models, condition="image,no-image", to=folder / "run")
    return folder


def exhibit(**questions: str) -> Exhibit:
    asked = dict.fromkeys(("audit", "golds", "blind", "ranks"), NO) | questions
    return Exhibit(title="Drawn", about="a few scenes", source="https://example.org", **asked)  # type: ignore[arg-type]


def test_what_commands_print_stands_on_the_page(drawn: Path) -> None:
    shown = exhibit(
        audit="eyetest audit drawn --probe malformed --probe duplicate-items --output json",
        golds="eyetest measure wrong-golds run --where modality=image --output json",
        blind="eyetest measure guessing run --where modality=no-image --output json",
        ranks="eyetest measure ranks run --where modality=image --output json",
        spread="eyetest measure spread run --where modality=image --output json",
        run="run",
    )
    found = json.loads(json.dumps(measure("drawn", shown, drawn)))
    audited = et.audit(drawn / "drawn", probe=["malformed", "duplicate-items"])
    assert [one["items"] for one in found["audit"]["findings"]] == [len(one.items) for one in audited.findings]
    doubts = et.measure("wrong-golds", drawn / "run", where="modality=image").frame
    assert found["golds"]["rather"] == (doubts["flawed"] > RATHER).sum()
    assert [row["item"] for row in found["golds"]["queue"]] == doubts["item"][
        : len(found["golds"]["queue"])
    ].to_list()
    assert found["ranks"]["pairs"] == 6
    assert found["there"]["answers"] == [
        {"modality": modality, "models": 4, "answers": 96} for modality in ("image", "no-image")
    ]
    text = page("drawn", shown, found, [Judgement("drawn", doubts["item"][0], "queue", "image", "gold wrong")])
    for line in (shown.audit, shown.golds, shown.ranks, shown.spread):
        assert f"$ {line}" in text
    assert f"| {doubts['item'][0]} |" in text
    assert "1 of 1 [20.7, 100.0]" in text
    assert "No answers, no ranking to keep." in text


def test_stored_pages_are_those_of_the_stored_figures() -> None:
    stored, seen = json.loads((GALLERY / FIGURES).read_text()), read_judgements(GALLERY / JUDGED)
    exhibits = read_exhibits()
    assert stored
    for name, figures in stored.items():
        assert (GALLERY / f"{name}.md").read_text() == page(name, exhibits[name], figures, seen), "make gallery"
    assert summary(exhibits, stored, seen) in (GALLERY / "README.md").read_text()
    assert summary(exhibits, stored, seen, "docs/gallery/") in (ROOT / "README.md").read_text()


def test_links_of_the_gallery_lead_somewhere() -> None:
    for file in GALLERY.glob("*.md"):
        for link in LINK.findall(file.read_text()):
            assert (file.parent / link).exists(), f"{file.name}: {link}"


def test_every_judged_item_is_judged_once() -> None:
    seen = read_judgements(GALLERY / JUDGED)
    assert len({(row.benchmark, row.item) for row in seen}) == len(seen) > 0


@pytest.mark.parametrize("name", ["mathvista", "mmmu_pro", "chartqa", "puzzlevqa"])
def test_nothing_of_theirs_is_quoted(shared: Path, name: str) -> None:
    texts = pl.read_ndjson(shared / "data" / name / "items.jsonl", infer_schema_length=None)["question"]
    printed = " ".join(" ".join(file.read_text().split()) for file in GALLERY.iterdir())
    for text in texts.unique():
        words = text.split()
        assert len(words) < WORDS or " ".join(words[:WORDS]) not in printed

"""The copy without a server: the same items, counts and intervals, and nothing that it should not hold."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.pages.item_links import parse_query
from eyetest.records import Asked, Choice, Item, Turn
from eyetest.studio.app.bundle import write_bundle
from eyetest.studio.app.listing import Address
from eyetest.studio.collection import Collection
from tests.reports.pages import HOSTILE, Browse, Tags
from tests.scoring.test_table import make_answers, make_bench
from tests.studio.app.conftest import DRAWN, try_out
from tests.studio.collection.conftest import OPTIONS, REFUSAL
from tests.studio.collection.test_opening import FINDING, verdict, write_audit, write_refinement

QUERIES = (
    *("", "answer=right:a@image", "answer=right:a@image&answer=wrong:b@image", "answer=refused", "answer=failed"),
    *("answer=unparsed", "answer=wrong", "tag.task=birds", "tag.year=2021&tag.year=2025", "text=NUMBER+3"),
    *(
        "gold=B",
        "gold=Z",
        "difficulty=1",
        "difficulty=..0.5",
        "difficulty=0<..<1",
        "difficulty=0.5<..",
        "compare=a&compare=b&difficulty=0..",
    ),
    *("doubt=..0", "doubt=0..&sort=-doubt", "options=3", "options=1.."),
    *("answer=asked:a@no-image", "answer=scored:a@no-image", "answer=unscored:a@no-image"),
    *("text=%22number+3%22", "id=q3&id=q1", "sort=-tag.year&tag.task=birds", "sort=-difficulty", "sort=-doubt"),
    *("sort=doubt", "sort=-blind_right", "benchmark=zoo&tag.task=birds", "tag.task=none"),
)
TRIAL = """
const sample = QUERIES.map((text) => {
  const parts = [...new URLSearchParams(text)];
  const positions = sorted(matching(parts), grouped(parts, "sort")[0]);
  return [positions.map((at) => ids[at]), series.map((one) => accuracy(one, positions))];
});
document.body.dataset.sample = JSON.stringify(sample);
"""


def test_a_browser_filters_sorts_and_measures_as_the_collection_does(
    collection: Collection, tmp_path: Path, browse: Browse
) -> None:
    write_bundle(collection, tmp_path / "copy")
    script = f"const QUERIES = {json.dumps(QUERIES)};\n{TRIAL}"
    sample, document = try_out(browse, tmp_path / "copy", script, "#tag.task=birds")
    for query, (ids, scores) in zip(QUERIES, sample, strict=True):
        view = collection.view(Address.parse(query).query)
        assert ids == [row.id for row in collection.rows(view)], query
        for ours, theirs in zip(view.accuracy, scores, strict=True):
            if ours.value is None:
                assert theirs is None
            else:
                assert (theirs["p"], theirs["n"]) == (pytest.approx(ours.value), ours.n)
                assert [theirs["low"], theirs["high"]] == pytest.approx([ours.low, ours.high], abs=1e-6), query
    assert re.findall(r'<article class="card[^"]*" data-id="(q\d)"', document) == ["q0", "q1"]
    assert "2 of 6 items" in document


def test_a_browser_filters_by_verdicts_and_findings_too(zoo: Path, tmp_path: Path, browse: Browse) -> None:
    bench = Benchmark(zoo / "bench")
    audit = write_audit(tmp_path / "audit.json", bench, FINDING)
    given = [verdict(f"q{n}", "blind", ("keep", "drop", "fix")[n % 3], f"{n} of 4 right") for n in range(6)]
    given += [verdict(one.item, "people", "review", "wrong gold") for one in given if one.verdict == "fix"]
    collection = Collection([bench.path, write_refinement(tmp_path / "refined", bench, *given), audit])
    write_bundle(collection, tmp_path / "copy")
    asked = {
        "verdict=kept": "q0 q3",
        "verdict=fallen": "q1 q2 q4 q5",
        "stage=blind&verdict=kept": "q0 q2 q3 q5",
        "stage=people": "q2 q5",
        "finding=same-image": "q0 q1",
        "finding=same-image&verdict=drop": "q1",
    }
    script = f"const QUERIES = {json.dumps(list(asked))};\n{TRIAL}"
    sample, _ = try_out(browse, tmp_path / "copy", script, "#")
    for (query, expected), (ids, _) in zip(asked.items(), sample, strict=True):
        view = collection.view(parse_query(query))
        assert " ".join(row.id for row in collection.rows(view)) == " ".join(ids) == expected, query


def test_without_golds_nothing_tells_them(collection: Collection, tmp_path: Path) -> None:
    write_bundle(collection, tmp_path / "copy", golds=False)
    files = [*(tmp_path / "copy").rglob("*.js"), *(tmp_path / "copy").rglob("*.html")]
    written = "".join(path.read_text() for path in files if path.name not in ("app.js", "bundle.js"))
    assert OPTIONS[0] in written
    assert REFUSAL[-10:] in written
    assert not re.search(
        r"class=.{0,2}gold|tone-(right|wrong)|>(right|wrong)<|difficulty|doubt|Accuracy|birds", written
    )
    columns = (tmp_path / "copy" / "items.js").read_text().removeprefix("window.EYETEST_ITEMS = ")
    data = msgspec.json.decode(columns.rstrip(";\n"))
    assert (data["series"], data["judged"], list(data["numbers"])) == ([], None, ["images", "options"])
    assert list(data["words"]) == ["benchmark"]


def test_an_earlier_turn_keeps_its_answer_to_itself_without_golds(tmp_path: Path) -> None:
    history = (Turn("Which bird is it?", "An ostrich"),)
    item = Item(id="q1", question="Can it fly?", choices=(Choice("no", correct=True), Choice("yes")), history=history)
    bench = make_bench(tmp_path / "bench", [item])
    collection = Collection([make_answers(tmp_path / "run", [(Asked(item="q1", model="m"), "A")], bench).path])
    for golds in (True, False):
        write_bundle(collection, tmp_path / f"{golds}", golds=golds)
        written = "".join(path.read_text() for path in (tmp_path / f"{golds}").rglob("*.js"))
        assert "Which bird is it?" in written
        assert ("An ostrich" in written) is golds


def test_what_is_not_a_bundle_is_never_replaced(collection: Collection, tmp_path: Path) -> None:
    write_bundle(collection, tmp_path / "copy")
    with pytest.raises(InputError, match="already there"):
        write_bundle(collection, tmp_path / "copy")
    write_bundle(collection, tmp_path / "copy", overwrite=True)
    (tmp_path / "copy" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="thesis"):
        write_bundle(collection, tmp_path / "copy", overwrite=True)
    assert (tmp_path / "copy" / "thesis.tex").exists()


def test_nothing_hostile_runs_in_a_copy(hostile: Collection, tmp_path: Path, browse: Browse) -> None:
    write_bundle(hostile, tmp_path / "copy")
    for view in ("", Address(item=f"2 {HOSTILE[1]}").href[1:]):
        document, given, asked = browse((tmp_path / "copy" / "index.html").as_uri() + f"#{view}", DRAWN)
        assert (given, asked) == ([], [])
        page = Tags(document)
        assert not page.tags["iframe"]
        assert not [name for name, _ in page.attributes if name.startswith("on")]

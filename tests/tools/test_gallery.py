"""The gallery: files of a repository become figures, figures become pages, and no text of a benchmark is kept."""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

import eyetest as et
from eyetest.probes.kinds import kind_of
from tools.gallery import __main__ as gallery
from tools.gallery import errata, judging
from tools.gallery.crossing import across, prints, within
from tools.gallery.guessing import RULES, Question, learnt
from tools.gallery.judgements import Judgement, read_judgements
from tools.gallery.manifest import Manifest, read_manifest
from tools.gallery.measuring import FEWEST_VOTES, Figures
from tools.gallery.pages import holding, overview, page, summary
from tools.gallery.replicating import _of_seed, halves, questions
from tools.gallery.replications import REPLICATED, Replication, read_replications, replicated
from tools.gallery.sources import UnavailableError, bring, repository

LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
WORDS = 6
"""So many words of a question in a row are a quotation."""
COLOURS = ("red", "green", "blue", "grey")


def git(folder: Path, *words: str) -> str:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", *named, *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sources with one repository: a benchmark of lamps with options, answers, and an altered copy."""
    folder, repo = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("clone")
    (repo / "answers").mkdir()
    where = "on the wall of the old theatre at the harbour"
    lamps: list[dict[str, Any]] = [
        {"nr": i, "ask": f"Which colour has lamp {i} {where}?", "photo": f"lamp{i}.jpg"}
        | {"colours": [*COLOURS], "right": COLOURS[i % 4]}
        for i in range(24)
    ]
    lamps[3]["colours"] = ["red", "grey", "blue", "grey"]
    (repo / "lamps.json").write_text("\n".join(map(json.dumps, lamps)))
    other = [lamp | {"right": "blue" if lamp["nr"] == 5 else lamp["right"]} for lamp in lamps[:8]]
    (repo / "copy.csv").write_text(
        "question,A,B,C,D,answer,photo\n"
        + "".join(f"{row['ask']},{','.join(row['colours'])},{row['right']},{row['photo']}\n" for row in other)
    )
    for model in range(FEWEST_VOTES):
        given = {str(lamp["nr"]): "red" if (lamp["nr"] + model) % 5 == 0 else lamp["right"] for lamp in lamps}
        (repo / f"answers/m{model}.json").write_text(json.dumps(given))
    git(repo, "init", "-q")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "all")
    git(repo, "clone", "-q", "--bare", str(repo), str(folder / "made+up/repo"))
    return folder


@pytest.fixture(scope="module")
def manifest(sources: Path) -> Manifest:
    commit = git(sources / "made+up/repo", "rev-parse", "HEAD")

    def sha(path: str) -> str:
        shown = subprocess.run(
            ["git", "show", f"{commit}:{path}"], cwd=sources / "made+up/repo", capture_output=True, check=True
        )
        return hashlib.sha256(shown.stdout).hexdigest()

    facts = {"year": 2026, "licence": "CC0", "repository": "made/up", "commit": commit, "about": "lamps"}
    of = {f"m{model}": f"answers/m{model}.json" for model in range(FEWEST_VOTES)}
    lamps = {
        "title": "Lamps",
        "files": {path: sha(path) for path in ("lamps.json", *of.values())},
        "items": "eyetest import lamps.json --map id=nr,question=ask,options=colours,answer=right --to lamps",
        "answers": [{"of": of}],
        "published": {"m0": "50"},
    }
    copied = {
        "title": "Copied",
        "files": {"copy.csv": sha("copy.csv")},
        "items": "eyetest import copy.csv --to copied",
    }
    rows = {"lamps": facts | lamps, "copied": facts | copied}
    return msgspec.convert({"rows": rows, "absent": [{"title": "X", "why": "not public"}]}, Manifest)


@pytest.fixture(scope="module")
def stored(manifest: Manifest, sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Figures:
    work = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EYETEST_SOURCES", str(sources))
        for name, row in manifest.rows.items():
            gallery.measure_row(name, row, work)
    found: Figures = json.loads(json.dumps(gallery.gather(manifest, work, {})))
    return found


def test_figures_are_those_of_the_commands(stored: Figures, manifest: Manifest) -> None:
    lamps = stored["rows"]["lamps"]
    assert lamps["there"]["kinds"] == {"choice": 24}
    assert lamps["there"]["answers"] == [{"modality": "image", "models": FEWEST_VOTES, "answers": 24 * FEWEST_VOTES}]
    equal = next(finding for finding in lamps["audit"]["findings"] if finding["kind"] == "equal-options")
    assert equal["ids"] == ["3"]
    assert lamps["ranks"]["pairs"] == 10
    assert lamps["golds"]["items"] == 24
    reading = lamps["readings"]["rows"][0]
    assert reading["points"] == pytest.approx(sum(reading["causes"].values()), abs=0.02)
    assert stored["rows"]["copied"]["golds"]["no"]


def test_items_of_another_benchmark_are_found_with_their_other_answer(stored: Figures) -> None:
    [pair] = stored["shared"]
    assert (pair["a"], pair["b"], pair["items"], pair["differ"]) == ("lamps", "copied", 8, 1)
    assert pair["ids"] == [["5", "5"]]


def test_pages_say_what_was_found_and_quote_nothing(stored: Figures, manifest: Manifest) -> None:
    text = page("lamps", manifest.rows["lamps"], stored, [])
    assert "2 equal options" in text or "two equal options" in text
    assert "$ eyetest import lamps.json" in text
    assert "[copied](copied.md) | 8 | 8 | 1 | 5 = 5" in text
    index = overview(manifest, stored, [], [])
    assert "| X | not public |" in index
    assert summary(manifest, stored).count("\n") == 3
    assert "old theatre" not in text + index


def test_a_row_is_measured_again_only_if_it_changed(
    manifest: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        done.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    row = manifest.rows["copied"]
    assert gallery.bring_up("copied", row, tmp_path, "code 1").endswith(" s")
    assert gallery.bring_up("copied", row, tmp_path, "code 1") == "copied: unchanged"
    assert gallery.bring_up("copied", row, tmp_path, "code 2").endswith(" s")
    assert gallery.bring_up("copied", msgspec.structs.replace(row, year=2020), tmp_path, "code 2").endswith(" s")
    assert len(done) == 3


def test_what_is_not_the_source_of_the_manifest_is_refused(manifest: Manifest, sources: Path, tmp_path: Path) -> None:
    row, bare = manifest.rows["copied"], sources / "made+up/repo"
    with pytest.raises(UnavailableError, match=r"git clone --bare \S+/no/body"):
        repository(sources, "no/body")
    with pytest.raises(UnavailableError, match="no commit 0000"):
        bring(bare, "0" * 40, row.files, (), tmp_path)
    with pytest.raises(UnavailableError, match="SHA-256"):
        bring(bare, row.commit, {"copy.csv": "0" * 64}, (), tmp_path)
    with pytest.raises(UnavailableError, match=r"has no other\.csv"):
        bring(bare, row.commit, {"other.csv": "0" * 64}, (), tmp_path)


def test_the_git_directory_of_a_clone_with_files_is_found(tmp_path: Path) -> None:
    (tmp_path / "made+up/repo/.git").mkdir(parents=True)
    assert repository(tmp_path, "made/up").name == ".git"


def test_the_same_words_about_other_images_are_other_items(tmp_path: Path) -> None:
    rows = [
        {"question": "Is there a cat?", "answer": "yes", "image": f"{name}.jpg"} for name in ("one", "two", "one")
    ]
    (tmp_path / "cats.jsonl").write_text("\n".join(map(json.dumps, rows)))
    bench = et.import_file(tmp_path / "cats.jsonl", to=tmp_path / "cats", allow_missing="images")
    assert bench.facts["items"] == 3
    known = list(prints(et.open(tmp_path / "cats")))
    assert within(known) == 1
    [pair] = across({"a": known[:1], "b": known[1:]})
    assert pair["items"] == 1


def test_the_manifest_is_whole() -> None:
    manifest = read_manifest()
    assert len(manifest.rows) >= 40
    assert len({row.title for row in manifest.rows.values()}) == len(manifest.rows)
    for name, row in manifest.rows.items():
        items, answers = row.commands(name)
        assert row.files or not row.commit, name
        assert all(command.startswith(("eyetest import ", "eyetest reform ")) for command in (*items, *answers)), name
        assert all(f"--to {row.bench or name}" in command for command in items), name
        for part in row.answers:
            assert isinstance(part, str) or {*part.of.values()} <= {*row.files}, name


def test_stored_pages_are_those_of_the_stored_figures() -> None:
    stored, seen, again = (
        json.loads((gallery.GALLERY / gallery.FIGURES).read_text()),
        read_judgements(gallery.GALLERY / gallery.JUDGED),
        read_replications(gallery.GALLERY / REPLICATED),
    )
    manifest = read_manifest()
    assert len(stored["rows"]) >= 40
    for name in stored["rows"]:
        assert (gallery.GALLERY / f"{name}.md").read_text() == page(name, manifest.rows[name], stored, seen, again), (
            "make gallery"
        )
    assert (gallery.GALLERY / "README.md").read_text() == overview(manifest, stored, seen, again)


def test_links_of_the_gallery_lead_somewhere() -> None:
    for file in gallery.GALLERY.glob("*.md"):
        for link in LINK.findall(file.read_text()):
            assert (file.parent / link).exists(), f"{file.name}: {link}"


def test_every_judged_item_is_judged_once() -> None:
    seen = read_judgements(gallery.GALLERY / gallery.JUDGED)
    assert len({(row.benchmark, row.kind, row.item) for row in seen}) == len(seen) > 0


def test_a_sheet_says_nothing_of_findings_and_judgements_come_back_to_them(
    manifest: Manifest, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EYETEST_SOURCES", str(sources))
    monkeypatch.setattr(judging, "read_manifest", lambda: manifest)
    count = judging.draw_row("lamps", tmp_path, seed=1)
    lines = [json.loads(line) for line in (tmp_path / "lamps.jsonl").read_text().splitlines()]
    assert len(lines) == count == 2 * sum(finding["drawn"] == "finding" for finding in _drawn(tmp_path))
    assert all({*line} == {"n", "asked", "items"} for line in lines)
    with (tmp_path / "lamps.csv").open("w") as words:
        words.write("n,word,seen\n")
        for line in lines:
            texts = [*line["items"][0]["options"].values()]
            words.write(f"{line['n']},{'broken' if len({*texts}) < len(texts) else 'sound'},words\n")
    judged = tmp_path / "stored" / "judged.csv"
    judged.parent.mkdir()
    judged.write_text(",".join(Judgement._fields) + "\n")
    judging.take(tmp_path, judged)
    [(kind, findings, controls)] = holding(read_judgements(judged))
    assert (kind, findings.kinds, controls.kinds) == ("equal-options", {"broken": 1}, {"sound": 1})


@pytest.mark.parametrize(
    ("rule", "options", "marked"),
    [
        ("gold-longest", ("one", "three", "seven"), {1, 2}),
        ("gold-shortest", ("one", "three", "seven"), {0}),
        ("gold-precise", ("1.5 m", "2 m", "2.25 m"), {2}),
        ("gold-case", ("Red", "blue", "Green"), {1}),
        ("gold-odd-one-out", ("12", "a red lamp", "a blue lamp"), {0}),
        ("gold-common-words", ("red lamp", "red door", "blue lamp"), {0}),
        ("gold-middle", ("9", "3", "1", "5"), {1, 3}),
        ("answer-in-question", ("the lamp", "the theatre", "a tree"), {1}),
    ],
)
def test_a_rule_marks_the_options_that_its_finding_names(
    rule: str, options: tuple[str, ...], marked: set[int]
) -> None:
    assert RULES[rule](Question("Who built the theatre?", options, 0)) == marked


def test_a_learner_finds_a_key_by_its_words() -> None:
    made = [Question(f"What is {n}?", (f"surely {n}", f"perhaps {n + 1}", f"maybe {n}"), 0) for n in range(120)]
    for view in ("text", "surface"):
        assert all(scores.argmax() == 0 for scores in learnt(view, made[:80], made[80:]))


def test_a_finding_holds_on_the_other_half_and_random_keys_have_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = []
    for n in range(400):
        options = ["".join(rng.choice([*"abcdefgh"], length)) for length in (5, 6, 7, 9)]
        right = options[-1] if n % 10 else options[0]
        rng.shuffle(options)
        rows.append({"question": f"{options[0]}?", "passage": f"about {n // 2}", "options": options, "answer": right})
    (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, rows)))
    et.import_file(tmp_path / "long.jsonl", map="hint=passage", to=tmp_path / "long", allow_missing="images")
    items, asked = questions(et.open(tmp_path / "long"))
    a, b = halves(asked, 1)
    assert len(a) == len(b) == 200
    assert not {asked[place].group for place in a} & {asked[place].group for place in b}
    tests = list(_of_seed("long", et.open(tmp_path / "long"), items, asked, 1))
    longest = {one.drawn: one for one in tests if one.kind == "gold-longest"}
    assert (longest["finding"].holds, longest["flawless"].holds) == ("yes", "no")
    assert longest["finding"].effect_b == pytest.approx(0.65, abs=0.05)


def test_a_finding_replicates_if_it_holds_in_most_splits() -> None:
    def of(seed: int, holds: str, kind: str = "gold-position-4", drawn: str = "finding") -> Replication:
        return Replication("lamps", kind, seed, drawn, 50, 0.2, 0.1, 0.01, holds)

    rows = {row.kind: row for row in replicated([of(1, "yes"), of(2, "no"), of(3, "yes"), of(1, "", "gold-case")])}
    assert rows["gold-position"].findings.value == 1
    assert rows["gold-position"].halves == (2, 3)
    assert (rows["all"].findings.n, rows["gold-case"].findings.n) == (1, 0)


def _drawn(folder: Path) -> list[dict[str, Any]]:
    drawn: list[dict[str, Any]] = json.loads((folder / "what/lamps.json").read_text())
    return drawn


@pytest.mark.parametrize("name", ["mathvista", "mmmu_pro", "chartqa", "puzzlevqa"])
def test_nothing_of_theirs_is_quoted(shared: Path, name: str) -> None:
    texts = pl.read_ndjson(shared / "data" / name / "items.jsonl", infer_schema_length=None)["question"]
    printed = " ".join(" ".join(file.read_text().split()) for file in gallery.GALLERY.iterdir())
    for text in texts.unique():
        words = text.split()
        assert len(words) < WORDS or " ".join(words[:WORDS]) not in printed


def test_ties_in_an_order_count_as_drawn_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errata, "TOP", (0.4, 0.8))
    scores, wrong = np.array([2.0, 3, 2, 2, 1]), np.array([True, True, False, False, True])
    own = errata.order(scores, wrong)
    assert errata.precision(own, np.ones(5, int)) == pytest.approx([(1 + 1 / 3) / 2, (1 + 1) / 4])
    assert errata.precision(own, np.array([3, 0, 1, 0, 1])) == pytest.approx([3 / 4, 3 / 4])


def test_lines_that_a_patch_leaves_keep_their_text() -> None:
    new, patch = "axyzcewf", "2c2,4\n< b\n---\n> x\n> y\n> z\n4d5\n< d\n5a7\n> w\n"
    assert "".join(new[place] if place >= 0 else "-" for place in errata._kept(patch, len("abcdef"))) == "a-c-ef"


@pytest.mark.parametrize("bare", [True, False])
def test_a_source_is_a_git_directory_or_holds_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare: bool
) -> None:
    work = tmp_path / "a+b" / "repo"
    work.mkdir(parents=True)
    git(work, "init", "-q")
    (work / "keys.txt").write_text("right\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "keys")
    monkeypatch.setitem(errata.COMMITS, "a/b", git(work, "rev-parse", "HEAD"))
    if bare:
        (work / ".git").rename(tmp_path / "c")
        shutil.rmtree(work)
        (tmp_path / "c").rename(work)
    monkeypatch.setattr(errata, "SOURCES", tmp_path)
    assert errata.show("a/b", "keys.txt") == "right\n"


def test_parts_of_speech_that_changed_by_convention_are_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def written(tags: str) -> str:
        words = zip(("a", "a", "a", "b", "b", "b"), tags, strict=True)
        rows = "".join(f"{place}\t{word}\t_\t{tag}\n" for place, (word, tag) in enumerate(words, start=1))
        return "".join(f"# sent_id = {name}\n{rows}\n" for name in "uvwxyz")

    texts = {"": "x-dev.conllu\n", "x-dev.conllu": written("NNNNNV").replace("b\t_\tN", "b\t_\tX", 1)}
    before = written("DDDNNV")
    monkeypatch.setattr(errata, "show", lambda source, path, commit="": before if commit else texts[path])
    found = errata.treebank("English-EWT")
    assert (found.keys == [0, 0, 0, 1, 1, 2] * 6).all()
    assert np.flatnonzero(found.wrong).tolist() == [3], "all D became N: a convention; one X: an error"
    assert found.chosen.shape == (36, 5)


def test_relabelled_classes_are_compared_under_their_new_names(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"1": "born", "2": "born", "3": "born", "4": "no_relation", "5": "lives"}
    again = {"1": "birth", "2": "birth", "3": "home", "4": "no_relation"}
    monkeypatch.setattr(errata, "_relations", lambda split: (keys, [keys]))
    monkeypatch.setattr(errata, "show", lambda source, path: json.dumps(again))
    assert errata.retacred("test").wrong.tolist() == [False, False, True, False]


def test_no_stored_rate_names_an_item() -> None:
    stored = json.loads((gallery.GALLERY / gallery.FIGURES).read_text())
    findings = [one for row in stored["rows"].values() for one in row["audit"].get("findings", ())]
    declared = {one["kind"]: kind_of(one["kind"]) for one in findings}
    assert None not in declared.values()
    named = {one["kind"] for one in findings if one["ids"] or one["items"]}
    assert [kind for kind in named if (known := declared[kind]) and not known.names_items] == []


def test_items_of_a_rate_reach_no_page_though_they_are_stored(stored: Figures, manifest: Manifest) -> None:
    old = json.loads(json.dumps(stored))
    rate = {"severity": "suspect", "probe": "shortcuts", "kind": "text-given-away", "title": "30 golds", "p": 0.001}
    old["rows"]["lamps"]["audit"]["findings"].append(rate | {"items": 24, "ids": ["secret-17"]})
    text = page("lamps", manifest.rows["lamps"], old, []) + overview(manifest, old, [], [])
    assert "30 golds | – | – |" in text
    assert "secret-17" not in text
    assert "| text-given-away | 1 | – |" in text

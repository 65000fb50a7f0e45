"""Probes that say what is, rather than test."""

import io
import random
from typing import Any

import pytest
from PIL import Image

from eyetest.probes.audit import hold, run_audit
from eyetest.probes.guessing import TRAITS
from eyetest.records import Choice, Finding, Item, Lineage
from tests.conftest import png
from tests.probes.generated import STORE, image_file, subject

IMAGE, OTHER = image_file(1), image_file(2)


def item(name: str, *options: str, gold: int | None = 0, **fields: Any) -> Item:
    choices = tuple(Choice(text, i == gold) for i, text in enumerate(options))
    references = () if options else ("it",)
    return Item(
        **({"id": name, "question": f"What is {name}?", "choices": choices, "references": references} | fields)
    )


def found(items: list[Item], probe: str) -> dict[str, Finding]:
    return {finding.kind: finding for finding in run_audit(subject(items), [probe]).findings}


def test_malformed_items_by_kind() -> None:
    cases = [
        (item("lost", "cat", "nan", "dog"), {"lost-option"}),
        (item("lost gold", "NaN", "x"), {"lost-option", "lost-gold"}),
        (item("empty", "cat", " ", "dog"), {"empty-option"}),
        (item("equal", "Cat.", "dog", "cat"), {"equal-options"}),
        (item("equal symbols", "AA or Aa", "AA or Aa ", "dog"), {"equal-options"}),
        (item("bold", "s", "**s**", "dog"), {"equal-options"}),
        (item("stars", "s", "s*", "s**", "**s"), set()),
        (item("signs", "5", "-5", "1.5", "15"), set()),
        (item("symbols", "Aa", "AA", "aa", "XAXa", "XaXa", "XAXA", "equal to r'.", "equal to r."), set()),
        (item("none", "None", "dog"), set()),
        (item("unlabelled", "cat", "dog", gold=None), {"missing-gold"}),
        (item("single", "cat"), {"one-option"}),
        (item("names", "cat", "dog", question="See <image 2>", images=(IMAGE,)), {"more-images-named"}),
        (item("unnamed", "cat", "dog", question="See <image 1>", images=(IMAGE, IMAGE)), {"unnamed-image"}),
        (item("named", "cat", "dog", tags={"image_path": "cats/1.jpg"}), {"missing-image"}),
        (item("reported", "cat", "dog", tags={"image_id": 17}), set()),
        (item("unasked", "cat", "dog", question=" \u200b", images=(IMAGE,)), {"no-question"}),
        (item("only shown", "cat", "dog", question="<image 1>", images=(IMAGE,)), {"no-question"}),
        (item("lost question", "cat", "dog", question="NaN"), {"no-question"}),
        (item("drawn", "cat", "dog", question="", images=(IMAGE,), lineage=(Lineage(step="screenshot"),)), set()),
        (item("unoffered", question="What is it?", references=("(b)".upper(),)), {"letter-without-options"}),
        (item("asks a letter", question="Which letter is shown?", references=("B",)), set()),
        (item("initial", question="What comes after Y?", references=("Z",)), set()),
        (item("inside", question="What is it?\nA. cat\nB. dog", references=("B",)), set()),
        (item("text inside", question="What is it?\nA. cat\nB. dog", references=("Dog",)), set()),
        (item("third", question="What is it?\nA. cat\nB. dog", references=("C",)), {"reference-not-offered"}),
        (item("horse", question="What is it?\nA. cat\nB. dog", references=("horse",)), {"reference-not-offered"}),
        (item("half", question="What is it?\nA. cat\nB. dog", references=("it", "cat")), set()),
        (item("sound", "cat", "dog", images=(IMAGE,)), set()),
    ]
    findings = found([case for case, _ in cases], "malformed")
    for case, kinds in cases:
        assert {kind for kind, finding in findings.items() if case.id in finding.items} == kinds, case.id
    assert set(findings) == set().union(*(kinds for _, kinds in cases))


def test_a_benchmark_without_keys_is_not_broken() -> None:
    keyless = [item(name, "cat", "dog", gold=None, images=(IMAGE,)) for name in "ab"]
    assert found(keyless, "malformed")["missing-gold"].severity == "note"
    assert found([*keyless, item("c", "cat", "dog")], "malformed")["missing-gold"].severity == "bad"


def test_what_most_items_lack_is_the_habit_of_a_benchmark() -> None:
    captions = [item(name, question="", images=(IMAGE,)) for name in "abc"]
    assert found(captions, "malformed")["no-question"].severity == "note"
    lettered = [item(f"q{n}", references=("ABCD"[n % 4],)) for n in range(20)]
    assert found(lettered, "malformed")["letter-without-options"].severity == "bad", "a column was not read"
    words = [item(f"w{n}", references=(f"word {n}",)) for n in range(20)]
    assert found([*words, lettered[0]], "malformed")["letter-without-options"].severity == "note"
    letters = [item(f"l{n}", references=("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n],)) for n in range(26)]
    assert found(letters, "malformed")["letter-without-options"].severity == "note", "a test of reading letters"


def test_images_that_show_nothing() -> None:
    blank, broken = (STORE.put(data) for data in (png("grey", (50, 50)), png("blue", (60, 60))))
    STORE.path(broken).write_bytes(STORE.path(broken).read_bytes()[:40])
    items = [
        item(name, "a", "b", images=(i,)) for name, i in (("blank", blank), ("broken", broken), ("sound", IMAGE))
    ]
    kinds = {kind: finding.items for kind, finding in found(items, "malformed").items()}
    assert kinds == {"unreadable-image": ("broken",), "one-colour-image": ("blank",)}


def test_duplicates_and_contradictions() -> None:
    same: dict[str, Any] = {"question": "What is it?", "images": (IMAGE,)}
    items = [
        item("first", "cat", "dog", **same),
        item("again", "dog", "Cat ", gold=1, **same),
        item("contrary", "cat", "dog", gold=1, **same),
        item("elsewhere", "cat", "dog", question="What is it?", images=(OTHER,)),
        item("rotated", "dog", "cat", gold=1, group="first", **same),
    ]
    kinds = found(items, "duplicate-items")
    assert kinds["duplicate-items"].items == ("again", "rotated")
    assert set(kinds["contradicting-golds"].items) == {"first", "again", "contrary", "rotated"}


def test_items_with_missing_images_are_not_compared() -> None:
    items = [item(str(n), "cat", "dog", question="What is in <image 1>?") for n in range(5)]
    (finding,) = found(items, "duplicate-items").values()
    assert (finding.kind, finding.severity, finding.items) == ("no-images", "untested", ())


@pytest.mark.parametrize(
    ("trait", "texts", "expected"),
    [
        ("longest", ["a", "bbb", "cc", "ddd"], {1, 3}),
        ("shortest", ["a", "bbb", "cc"], {0}),
        ("precise", ["1.5", "2.25", "3"], {1}),
        ("precise", ["1", "2", "3"], set()),
        ("case", ["Cat", "dog", "bird"], {0}),
        ("odd-one-out", ["12", "cat", "dog"], {0}),
        ("odd-one-out", ["12", "cat", "13", "dog"], set()),
        ("common-words", ["a red car", "a blue car", "a bus"], {0, 1}),
        ("middle", ["10", "40", "20", "30"], {2, 3}),
        ("middle", ["10 cm", "$40", "20%"], {2}),
        ("middle", ["few", "40", "20", "30"], set()),
    ],
)
def test_traits(trait: str, texts: list[str], expected: set[int]) -> None:
    assert TRAITS[trait][0](texts) == expected


def test_tests_are_corrected_together() -> None:
    def test(p: float, kind: str) -> Finding:
        return Finding(probe="x", kind=kind, severity="suspect", title=kind, p=p, items=("1",))

    kept = hold([test(0.001, "a"), test(0.02, "b"), test(0.03, "c"), test(0.9, "d")], level=0.05)
    assert [(f.kind, f.severity, round(f.adjusted_p or 0, 4)) for f in kept] == [
        ("a", "suspect", 0.004),
        ("b", "sound", 0.06),
        ("c", "sound", 0.06),
        ("d", "sound", 0.9),
    ]
    assert kept[1].items == ()


def test_no_image_is_said_before_anything_else() -> None:
    items = [item(str(n), "yes", "no", question="Is it red?", tags={"image_source": f"COCO_{n}"}) for n in range(40)]
    items.append(item("broken", "cat", "nan", "dog"))
    audit = run_audit(subject(items))
    assert (audit.findings[0].kind, audit.findings[0].severity) == ("no-images", "bad")
    assert "image_source" in audit.findings[0].title
    assert audit.findings[0].numbers == {"items": 41, "naming": 40}
    tested = {finding.probe for finding in audit.findings if finding.severity != "untested"}
    assert not tested & {"duplicate-items", "duplicate-images"}
    assert {finding.probe for finding in audit.untested} >= {"duplicate-items", "duplicate-images", "shortcuts"}
    assert {verdict.item for verdict in audit.verdicts([i.id for i in items]) if verdict.verdict == "drop"} == set()


LAST = {
    True: [
        ["None of the above", "cat", "dog"],
        ["cat", "All of the above.", "dog", "None of the above"],
        ["cat", "Either of the above", "dog"],
        ["cat", "none ot the above", "dog"],
        ["cat", "Both of the above two animals.", "dog"],
        ["cat", "None of the above, it is a cow", "dog"],
    ],
    False: [
        ["cat", "dog", "All of the above"],
        ["cat", "dog", "All of the above", "None of the above"],
        ["cat", "All of the above", "None of these"],
        ["cat", "dog", "Both of the above", "Cannot be determined"],
        ["Above the line", "below the line"],
        ["None of the planets", "all above average", "Mars"],
        ["All the above ground pipes", "the sewer"],
        ["one of the above-water caves", "the tunnel"],
    ],
}
LETTERS = {
    True: [["B", "A", "C"], ["(c)", "(a)", "(b)"], ["cat", "A", "dog"]],
    False: [[*"ABCD"], ["a", "(b)", "c."], [*"XYZ"], ["I", "II", "III", "IV"], ["AB", "B+", "A-"], ["5", "7"]],
}


@pytest.mark.parametrize(
    ("kind", "texts", "flagged"),
    [
        (kind, texts, flagged)
        for kind, table in (("above-not-last", LAST), ("letter-options", LETTERS))
        for flagged, lists in table.items()
        for texts in lists
    ],
)
def test_words_that_need_the_last_place_and_letters_under_other_letters(
    kind: str, texts: list[str], flagged: bool
) -> None:
    assert (kind in found([item("1", *texts)], "option-order")) is flagged


def test_the_same_question_on_a_copy_of_its_image() -> None:
    pixels = Image.frombytes("RGB", (120, 90), random.Random(7).randbytes(32400)).resize(
        (480, 360), Image.Resampling.BICUBIC
    )
    files = []
    for kind in ("PNG", "BMP"):
        data = io.BytesIO()
        pixels.save(data, kind)
        files.append(STORE.put(data.getvalue()))
    items = [
        item("first", "cat", "dog", "cow", question="What is in <image 1>?", images=(files[0],)),
        item("again", "cow", "cat", "dog", gold=1, question="What is in <image1>?", images=(files[1],)),
        item("other", "cat", "dog", "cow", question="What is behind it?", images=(files[1],)),
    ]
    repeats = found(items, "duplicate-images")["repeats-on-copied-images"]
    assert repeats.groups == (("first", "again"),)
    assert repeats.verdict == "review"
    assert "duplicate-items" not in found(items, "duplicate-items")

"""Families of phrasings, one small table each; the labelled files hold many more."""

import asyncio
import json
from itertools import product
from pathlib import Path

import pytest

from eyetest.records.tables import Marks
from eyetest.scoring.rules import Reading, ask_judge, read_choice
from eyetest.scoring.rules.cleaning import clean, lower
from eyetest.scoring.rules.cues import Cued, load_cues

ANIMALS = ("cat", "dog", "bird", "fish")
CITIES = ("Paris", "London", "Rome")
REPLIES = Path(__file__).parent.parent / "replies"


def told(text: str, options: tuple[str, ...] = ANIMALS, marks: Marks = "upper") -> int | str:
    reading = read_choice(text, options, marks=marks)
    return reading.kind if reading.index is None else reading.index


@pytest.mark.parametrize(
    "text",
    [
        "B",
        "b",
        "(b)",
        "B.",
        "B)",
        "**B**",
        "[B]",
        "Ｂ",
        "Ⓑ",
        "B。",
        "\\boxed{B}",
        "$\\boxed{\\text{B}}$",
        "<answer>B</answer>",
        '{"answer": "B"}',
        "Option B",
        "Answer - B",
        "the answer: b.",
        "ans=B",
        "选B",
        "正确答案是B",
        "B is the right answer.",
        "I'd go with B.",
        "Definitely B.",
        "That leaves B.",
        "So B.",
        "Only B fits.",
        "It's B, dog.",
        "B. dog",
        "# Answer\nB",
        "B\n\nExplanation: A and C are cats.",
        "B\nUSER: and C?\nASSISTANT: C",
        "<think>C</think>B",
    ],
)
def test_marks_in_any_dress(text: str) -> None:
    assert told(text) == 1


@pytest.mark.parametrize(
    "text", ["A dog", "dogs", "the DOG!", "It's a dog.", "This is clearly a dog.", "Not a cat but a dog."]
)
def test_options_by_their_text(text: str) -> None:
    assert told(text) == 1


@pytest.mark.parametrize(
    ("text", "options", "place"),
    [
        ("1,000", ("100", "1000"), 1),
        ("one half", ("1/3", "1/2"), 1),
        ("0.5", ("1/3", "1/2"), 1),
        ("twenty-five", ("15", "25"), 1),
        ("a cat and a dog", ("cat", "dog", "cat and dog"), 2),
        ("van Gogh", ("Paul Klee", "Vincent van Gogh"), 1),
        ("C", ("B", "C", "A", "D"), 2),
        ("C) A", ("B", "C", "A", "D"), 2),
        ("Image 3", ("<image 1>", "<image 2>", "<image 3>"), 2),
        ("F. A, B and C are correct", ("p", "q", "r", "s", "only D is correct", "A, B and C are correct"), 5),
        ("July 14, 1789", ("4 July 1776", "14 July 1789"), 1),
        ("It cannot be determined.", ("Yes", "Cannot be determined"), 1),
    ],
)
def test_texts_that_need_care(text: str, options: tuple[str, ...], place: int) -> None:
    assert told(text, options) == place


@pytest.mark.parametrize(
    ("text", "options", "right"),
    [
        ("So the net force is 20 newtons.", ("10 N", "20 N"), 1),
        ("It takes two and a half hours.", ("2 hours", "2.5 hours"), 1),
        ("It is 9 o'clock.", ("3:00", "9:00"), 1),
        ("Boats are in the second image only.", ("Image 1", "Image 2", "Both"), 1),
        ("The yield is thus increased by removing the product.", ("Add a catalyst", "Remove the product"), 1),
        ("cat -> no fur\ndog -> not that either\nbird -> has wings\nfish -> wrong", ANIMALS, 2),
        ("A. cat: no\nB. dog: no\nC. bird: yes\nD. fish: no", ANIMALS, 2),
        ("It purrs.\n\n→ cat\n\n(A dog would bark.)", ANIMALS, 0),
        ("The options are:\n(A) cat\n(B) dog\n(C) bird\n(D) fis", ANIMALS, "unparsed"),
        ("We need the data of the table. We cannot simply add them.", ANIMALS, "unparsed"),
        ("A and C are equally likely.", ANIMALS, "ambiguous"),
        ("While C is possible, the correct answer is D.", ANIMALS, 3),
        ("Risposta: A perché fa le fusa.", ANIMALS, 0),
    ],
)
def test_conclusions_in_other_words(text: str, options: tuple[str, ...], right: int | str) -> None:
    assert told(text, options) == right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The answer is A. Wait, no, it's C.", 2),
        ("A... no, C.", 2),
        ("Not B as I first said, but C.", 2),
        ("Answer: A\nEdit: Answer: C", 2),
        ("I was going to say Paris, but it's Rome.", 2),
        ("Answer: B. Actually, let me recount.", "unparsed"),
    ],
)
def test_the_last_commitment_wins(text: str, right: int | str) -> None:
    assert told(text, CITIES) == right


@pytest.mark.parametrize(
    ("text", "options", "right"),
    [
        ("B. dog\n\nThe area is 4.\n\nThus, the incorrect statement is C.", ANIMALS, 2),
        ("The answer is A.\nHence the value is 7, which matches option (D).", ("5", "6", "8", "7"), 3),
        ("Therefore, the structure that is not shown is D.", ANIMALS, 3),
        ("We see that **choice C (bird; small)** meets all conditions. Note: values are rounded.", ANIMALS, 2),
        ("The highest peak appears in sample [c].", ("a", "b", "c", "d"), 2),
        ("The question is: Which one barks? Options are: (A) cat (B) dog (C) bir", ANIMALS, "unparsed"),
        ("The question is: Which one barks? Options: (A) cat (B) dog. The answer is B.", ANIMALS, 1),
        ("The correct answer is C. bird\n\nThus, none of the given options is correct.", ANIMALS, "unparsed"),
        ("The correct answer is C. None of the other options are correct.", ANIMALS, 2),
        ("You did not attach the pictures. Please upload them.\n\nFinal Answer: ", ANIMALS, "refused"),
        ("We need the photos. Once you share the photos, I'll tell you which one it is!", ANIMALS, "refused"),
        ("So the answer is not yet known from the given data.", ANIMALS, "refused"),
        ("As none of the choices is right, I am unable to give an answer.", ANIMALS, "unparsed"),
        ("60% dog and 40% cat", ANIMALS, 1),
    ],
)
def test_how_real_replies_end(text: str, options: tuple[str, ...], right: int | str) -> None:
    assert told(text, options) == right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("It isn't A or B.", 2),
        ("A and B can be eliminated.", 2),
        ("Neither Paris nor London", 2),
        ("Not London.", "unparsed"),
        ("I don't think B is right.", "unparsed"),
        ("It's anything but Rome.", "unparsed"),
        ("The answer is not Paris.", "unparsed"),
    ],
)
def test_negation_is_not_choice(text: str, right: int | str) -> None:
    assert told(text, CITIES) == right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("I can't see any image.", "refused"),
        ("Answer: Cannot be determined from the given information.", "refused"),
        ("Please upload the image.", "refused"),
        ("I'm not sure, maybe B?", 1),
        ("I cannot view images. However, the Colosseum is in Rome, so the answer is C.", 2),
        ("I can't tell if it is Paris or London.", "refused"),
        ("画像が見えません。", "refused"),
        ("No puedo ver la imagen.", "refused"),
    ],
)
def test_refusals(text: str, right: int | str) -> None:
    assert told(text, CITIES) == right


@pytest.mark.parametrize(
    "text",
    ["A or B", "both A and C", "B. Paris", "A/B", "Paris and Rome", "Answer: AC", "It could be B or C.", "Paris (B)"],
)
def test_two_are_none(text: str) -> None:
    assert told(text, CITIES) == "ambiguous"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "D",
        "Berlin",
        "None of these.",
        "A. Paris\nB. London\nC. Rome",
        "(A) Paris (B) London (C) Rome",
        "Error: timeout",
        "<think>It is B",
    ],
)
def test_nothing_on_offer(text: str) -> None:
    assert told(text, CITIES) == "unparsed"


def test_duplicates_and_empty_options() -> None:
    assert told("same", ("same", "same", "")) == "unparsed"
    assert told("B", ("same", "same", "")) == 1
    assert told("The other one is B.", ("", "", "")) == 1


@pytest.mark.parametrize("count", range(2, 27))
def test_two_to_26_options(count: int) -> None:
    options = tuple(f"word{n}" for n in range(count))
    last = chr(ord("A") + count - 1)
    for text, marks in product((f"Answer: {last}", f"({last})", f"word{count - 1}"), ("upper", "lower")):
        assert told(text, options, marks) == count - 1  # type: ignore[arg-type]
    assert told(f"The answer is {count}.", options, "digit") == count - 1
    assert told(str(count), options) == "unparsed"


def test_the_span_is_in_the_raw_reply() -> None:
    text = "<think>It is A.</think>\n**Answer:** \\boxed{\\text{C}} I hope it helps."
    reading = read_choice(text, ANIMALS)

    assert reading.span is not None
    assert text[slice(*reading.span)] == "C"


@pytest.mark.parametrize("name", ["written", "written_more"])
def test_every_match_of_a_cue_begins_with_one_of_its_words(name: str) -> None:
    """Only where such a word stands is a cue tried."""
    table = load_cues()
    rows = [json.loads(line) for line in (REPLIES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        low = lower(clean(row["reply"]).text)
        cued = Cued(low, table)
        for group in table.groups:
            if not table.begins(group):
                continue
            starts = {(hit.end, hit.cue.name) for hit in cued.hits(group)}
            for cue in table.cues(group):
                for match in cue.pattern.finditer(low):
                    alone = not (low[match.start() - 1 : match.start()].isalpha() and match.start())
                    if alone and not cue.after and low[match.start()].isascii():
                        assert (match.end(), cue.name) in starts, (match.group(), row["id"])


@pytest.mark.parametrize(
    ("said", "reading"),
    [
        ("B", Reading("chosen", 1, "judge", marked=False)),
        ("**b**.", Reading("chosen", 1, "judge", marked=False)),
        ("REFUSED", Reading("refused", rule="judge", why="says the judge")),
        ("AMBIGUOUS", Reading("ambiguous", rule="judge", why="says the judge")),
        ("NONE", Reading("unparsed", rule="judge", why="judge found no commitment")),
        ("E", Reading("unparsed", rule="judge", why="judge named no option")),
        ("I think the reply says B", Reading("unparsed", rule="judge", why="judge said something else")),
    ],
)
def test_a_judge_reads_what_rules_cannot(said: str, reading: Reading) -> None:
    asked = []

    async def ask(prompt: str) -> str:
        asked.append(prompt)
        return said

    assert asyncio.run(ask_judge("hmm, the barking one", ANIMALS, ask)) == reading
    assert "hmm, the barking one" in asked[0]
    assert "B. dog" in asked[0]

"""From a record to a read answer: whatever the order, letters and instruction, the gold stays the record's."""

import random
import re
from collections.abc import Iterator
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.prompts.building import build
from eyetest.prompts.conditions import read_conditions
from eyetest.records import Item, Response
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.reformers import REFORMERS, Kit
from eyetest.scoring.scorer import Scorer

EXAMPLES, TRIPS = 5, 2_000
NOUNS = (
    *("apple", "bear", "cup", "dog", "eel", "fox", "goat", "hat", "ink", "jar", "kite", "lamp"),
    *("mouse", "nut", "owl", "pen", "quilt", "rat", "sun", "tent", "urn", "vase", "wolf", "yak"),
)
COLOUR, COST = "What colour is it?", "What does it cost?"
OPEN = ("Is it red?", "How many are there?", COLOUR, COST, "Who is it?", "At what time?")
ALONE = ("{mark}", "{mark}.", "({mark})", "**{mark}**")
REPLIES = (*ALONE, "{mark}. {text}", "The answer is ({mark}).", "Answer: {mark}")


def answer_to(question: str, chance: random.Random) -> str:
    made = (
        chance.choice(("yes", "No")),
        str(chance.randrange(12)),
        chance.choice(("red", "blue", "green", "black")),
        f"${chance.randrange(1, 5000):,}.{chance.randrange(100):02d}",
        f"{chance.choice(NOUNS).title()} {chance.choice(NOUNS).title()}",
        f"{chance.randrange(1, 12)}:{chance.randrange(60):02d}",
    )
    return made[OPEN.index(question)]


def golds_and_items(chance: random.Random) -> Iterator[tuple[str, Item]]:
    """Items that two reformers make of random records, each with the gold as the record has it."""
    labelled = [Annotation(id=f"c{n}", label=chance.choice(NOUNS)) for n in range(60)]
    questions = [chance.choice(OPEN) for _ in range(60)]
    asked = [
        Annotation(id=f"o{n}", question=question, answers=(answer_to(question, chance),))
        for n, question in enumerate(questions)
    ]
    for name, records in (("classification", labelled), ("open-answers", asked)):
        right = {record.id: record.label or record.answers[0] for record in records}
        stated = REFORMERS[name].settings(options=chance.randint(2, 8))
        annotations = Annotations(partial(iter, records))
        for draft in REFORMERS[name].drafts(annotations, stated, Kit(chance.randrange(99))):
            yield right[draft.record], draft.item


def mark_of(text: str, shown: str) -> str:
    """The mark before an option in what a model is shown, found with no knowledge of orders."""
    lines = [line.partition(". ") for line in shown.splitlines() if re.match(r"\w+\. ", line)]
    (mark,) = (mark for mark, _, option in lines if option == text)
    return mark


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_the_gold_is_read_back_from_any_test_of_any_item(seed: int) -> None:
    chance, scorer = random.Random(seed), Scorer()
    conditions = read_conditions("reform-eval+tests=9", seed % 1_000)
    pairs = list(golds_and_items(chance))
    for _ in range(TRIPS):
        gold, item = chance.choice(pairs)
        condition = chance.choice(conditions)
        shown = build(item, condition).messages[-1].text
        picked = chance.choice([gold, *(choice.text for choice in item.choices)])
        reply = chance.choice(REPLIES).replace("{mark}", mark_of(picked, shown)).replace("{text}", picked)
        scored = scorer.score(item, condition, Response(request="", outcome="answered", text=reply))
        assert scored.score == float(picked == gold), (reply, picked, gold, shown)
        assert scored.choice is not None
        assert item.choices[ord(scored.choice) - ord("A")].text == picked

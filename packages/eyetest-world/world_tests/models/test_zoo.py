"""What the zoo learns from: texts that can be read, replies that say the right thing, and only what leaked."""

from collections import Counter
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest
from eyetest_world.building import cast
from eyetest_world.flaws import load_rates
from eyetest_world.scenes import KINDS
from eyetest_world.toy_models.cards import cards, weights
from eyetest_world.toy_models.network import END, PAD, SPECIAL, STYLES, Tokens, pieces
from toy_training.captions import describe
from toy_training.examples import Asked, Example, Reading, described, example, leaked_example, seen
from toy_training.leaks import TEXT, leaked_items, write_leaks
from toy_training.lines import LONG, SHORT, line, read_texts
from toy_training.plan import PLAN, read_plan
from toy_training.pool import Pool
from toy_training.texts import write_texts
from toy_training.vocabulary import vocabulary

from eyetest.records import Condition, Response
from eyetest.scoring.scorer import Scorer

WORDS = msgspec.json.decode(weights("tokens.json").read_bytes(), type=list[str])
TOKENS = Tokens(WORDS)
SHARES = {"sentence": 0.1, "fact": 0.3, "guess": 0.2, "told": 0.2, "caption": 0.2}


def examples(count: int, seed: int = 5) -> list[Example]:
    """Things to read, to look at and to describe."""
    rng, reading, kinds = Random(seed), Reading((), SHARES), list(KINDS.values())
    found = []
    for place in range(count):
        made, asked = seen(kinds[place % len(kinds)], rng)
        found += [reading.example(rng), example(asked, "image", rng), described(made)]
    return found


def texts_of(one: Example) -> list[str]:
    return [*(message.text for message in one.prompt.messages), *one.replies]


def test_nearly_every_word_has_a_token() -> None:
    known, counts = set(WORDS), Counter[bool]()
    for one in examples(600):
        counts.update(piece in known for text in texts_of(one) for piece in pieces(text))
    assert counts[False] < counts.total() / 10_000


def test_what_did_not_leak_is_never_learnt() -> None:
    """Neither a question that is kept, nor its image's description with the same options."""
    plan = read_plan(PLAN)
    world = [one.draft for one in cast(plan.world.items, plan.world.seed, load_rates(plan.world.flaws))]
    kept = {made.question for made in world if not made.leaked_to}
    learnt = {text for one in examples(600) for text in texts_of(one)}
    leaked = leaked_items(plan.world)
    rng = Random(1)
    learnt |= {
        text
        for items in leaked.values()
        for made in items
        for modality in ("image", "no-image")
        for text in texts_of(leaked_example(made, modality, rng))
    }
    told = "\n".join(learnt)
    assert not [question for question in kept if question in told]
    assert any(made.question in told for made in leaked["many"])


def test_leaks_are_those_of_the_truth_table() -> None:
    plan = read_plan(PLAN)
    leaked, rates = leaked_items(plan.world), load_rates(plan.world.flaws)
    assert leaked.keys() == {TEXT, *rates.groups}
    for group, items in leaked.items():
        assert all(group in made.leaked_to for made in items)
        share = rates.groups.get(group, rates.rates["leaked-to-llms"])
        assert len(items) >= round(share * plan.world.items) * 0.95
    assert {one.leaks for one in plan.lvlms.values()} - {""} == set(rates.groups)
    assert [*plan.bases, *plan.lvlms] == list(cards())


def test_replies_say_what_they_should() -> None:
    """The rules read the right option out of a reply in any style, unless it declines."""
    rng, scorer = Random(2), Scorer()
    read = Counter[str]()
    for kind in KINDS.values():
        _, asked = seen(kind, rng)
        prompt, replies = _direct(asked, rng)
        condition = Condition()
        assert str(asked.item.choices[asked.answer].text) in prompt
        for style, reply in zip(STYLES, replies, strict=True):
            scored = scorer.score(asked.item, condition, Response(request="", outcome="answered", text=reply))
            read[f"{scored.reading}"] += 1
            assert scored.score == 1.0 or scored.reading != "chosen" or style == "words", (style, reply)
    assert read["chosen"] > 0.95 * read.total(), read


def _direct(asked: Asked, rng: Random) -> tuple[str, tuple[str, ...]]:
    """The question as it is put most often: at once, with capital letters."""
    mark = "ABCDEFGHIJ"[asked.answer]
    while (made := example(asked, "image", rng)).replies[0] != mark:
        pass
    return made.prompt.messages[-1].text, made.replies


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_scene_can_be_described(kind: object) -> None:
    told = {describe(seen(kind, Random(seed))[0].scene) for seed in range(6)}  # type: ignore[arg-type]
    assert len(told) > 1, "the words depend on the image"
    assert not [text for text in told if not text.strip() or "#" in text or "None" in text]


def test_an_example_as_numbers() -> None:
    one = examples(1)[1]
    written = line(one, TOKENS, LONG)
    assert written is not None
    for row, style, reply in zip(written.tokens, STYLES, one.replies, strict=True):
        numbers = list(row[row != PAD])
        assert numbers[: written.start] == TOKENS.encode_prompt(one.prompt, style)
        assert numbers[written.start - 1] == SPECIAL.index(f"<{style}>")
        assert numbers[written.start :] == [*TOKENS.encode(reply), END]
    assert list(written.lines[: written.start]) == TOKENS.lines(TOKENS.encode_prompt(one.prompt))
    assert not written.lines[written.start :].any(), "what a model says itself stands in no option's line"
    assert line(one, TOKENS, written.start) is None


def test_the_same_seed_gives_the_same_texts() -> None:
    reading = Reading((), SHARES)
    first, again, other = (read_texts(reading, TOKENS, 8, SHORT, seed) for seed in ("a", "a", "b"))
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert not np.array_equal(first.tokens, other.tokens)
    assert (read_texts(reading, TOKENS, 3, LONG, "a").starts > SHORT - 16).all()


def test_leaks_come_with_their_images_and_without() -> None:
    items = leaked_items(read_plan(PLAN).world)["few"][:3]
    written = write_leaks(items, TOKENS, 4, "s")
    assert written.owners.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert len(written.seen.starts) == len(written.read.starts) == 12
    assert written.images.shape == (3, 128, 128, 3)
    image = SPECIAL.index("<image>")
    assert all(image in row for row in written.seen.tokens[:, 0])
    assert not any(image in row for row in written.read.tokens[:, 0])


def drawn(workers: int) -> Pool:
    with Pool(9, workers) as pool:
        pool.start(WORDS, "test")
        pool.wait_for(9)
        return pool


def test_scenes_are_drawn_by_others() -> None:
    one, again = drawn(2), drawn(2)
    assert one.ready == one.count == 8, "as many as everybody can draw equally"
    assert np.array_equal(one.images, again.images)
    assert np.array_equal(one.tokens, again.tokens)
    assert len({image.tobytes() for image in one.images}) > 5
    assert (one.starts > 0).all()


def test_a_worker_that_dies_is_noticed() -> None:
    with Pool(4, 1) as pool:
        pool.start(None, "test")  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match="has died"):
            pool.wait_for(4)


def test_all_texts_of_a_plan(tmp_path: Path) -> None:
    plan = msgspec.structs.replace(read_plan(PLAN), texts=8, long_texts=4, variants=1)
    written = write_texts(plan, TOKENS, 2)
    assert (len(written.short.starts), len(written.long.starts)) == (8, 4)
    assert written.leaks.keys() == {"few", "some", "many"}
    assert {name: len(lines.starts) for name, lines in written.tests.items()} == dict.fromkeys(
        ("fact", "told", "caption", "guess", "leaked"), 8
    )


def test_the_vocabulary_is_the_same_each_time() -> None:
    words = vocabulary(texts=60)
    assert words == vocabulary(texts=60)
    assert words[0] == "\n"
    assert len(set(words)) == len(words)
    assert {" A", " a", " 1", "."} <= set(words)

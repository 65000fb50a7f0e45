"""What the zoo learns from: texts that can be read, replies that say the right thing, and only what leaked."""

from random import Random

import msgspec
from eyetest_world.building import cast
from eyetest_world.flaws import load_rates
from eyetest_world.scenes import KINDS
from eyetest_world.toy_models.cards import cards, weights
from eyetest_world.toy_models.network import SPECIAL, Tokens
from toy_training.examples import Example, Reading, described, example, leaked_example, seen
from toy_training.leaks import TEXT, leaked_items, write_leaks
from toy_training.plan import PLAN, read_plan

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


def test_leaks_come_with_their_images_and_without() -> None:
    items = leaked_items(read_plan(PLAN).world)["few"][:3]
    written = write_leaks(items, TOKENS, 4, "s")
    assert written.owners.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert len(written.seen.starts) == len(written.read.starts) == 12
    assert written.images.shape == (3, 128, 128, 3)
    image = SPECIAL.index("<image>")
    assert all(image in row for row in written.seen.tokens[:, 0])
    assert not any(image in row for row in written.read.tokens[:, 0])


def test_the_package_was_made_by_this_plan() -> None:
    """Same models, sizes and styles; what changed in the plan must be trained again."""
    plan = read_plan(PLAN)
    for name, card in cards().items():
        size = plan.size_of(name)
        assert (card.width, card.layers) == (size.width, size.layers)
        assert card.style == (plan.lvlms.get(name) or plan.bases[name]).style

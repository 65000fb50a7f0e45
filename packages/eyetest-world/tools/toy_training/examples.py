"""What the models learn from: prompts exactly as eyetest builds them, and replies as models word them.

Nothing here looks at a world's items, except at those that the world itself says have leaked.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from eyetest_world.drafting import Draft, Fact, draft, fact_kinds, facts
from eyetest_world.flaws import PlannedFlaw
from eyetest_world.posing import Kind, phrasings
from eyetest_world.scenes import KINDS
from eyetest_world.toy_models.network import STYLES

from eyetest.prompts import build
from eyetest.prompts.building import description_prompt
from eyetest.records import Choice, Condition, ImageRef, Item, Message, Prompt, Words, mark
from eyetest.records.tables import Letters
from toy_training.captions import describe

_CAREFUL_ABOUT = ("doctor", "nurse")
_DECLINED = "I'm sorry, but I can't help with medical matters."
_IMAGE = ImageRef("0" * 64, "png", 128, 128, 1)
_MARKS: tuple[Letters, ...] = ("upper", "upper", "upper", "upper", "lower", "digit")


class Example(NamedTuple):
    """A prompt, and the reply to it in every style."""

    prompt: Prompt
    replies: tuple[str, ...]


class Asked(NamedTuple):
    """A question as somebody put it: its options in some order, and what will count as right."""

    item: Item
    answer: int
    kind: str
    reason: str


def pose(made: Draft, answer: int, rng: Random, reason: str = "", description: str = "") -> Asked:
    """A draft with its options in any order; ``answer`` is the option that the reply will name."""
    order = rng.sample(range(len(made.options)), len(made.options))
    choices = tuple(Choice(made.options[index], index == answer) for index in order)
    item = Item(id="x", question=made.question, images=(_IMAGE,), choices=choices, description=description)
    return Asked(item, order.index(answer), made.kind, reason)


def example(asked: Asked, modality: str, rng: Random) -> Example:
    """Put a question in one of the ways in which eyetest puts it."""
    ask = "cot" if rng.random() < 0.12 else "direct"
    method = "likelihood" if ask == "direct" and rng.random() < 0.06 else "generate"
    shots = rng.choice(("format", "two")) if modality.startswith("no-image") and rng.random() < 0.12 else "none"
    condition = Condition(
        modality=modality,  # type: ignore[arg-type]
        ask=ask,  # type: ignore[arg-type]
        shots=shots,  # type: ignore[arg-type]
        template=rng.randrange(6),
        letters=rng.choice(_MARKS),
        method=method,  # type: ignore[arg-type]
    )
    text = asked.item.choices[asked.answer].text
    sign = mark(condition.letters, asked.answer)
    if method == "likelihood":
        replies = (text,) * len(STYLES)
    elif ask == "cot":
        replies = (f"{asked.reason or 'I cannot see it, so this is a guess.'}\nAnswer: {sign}",) * len(STYLES)
    else:
        replies = _direct(sign, text, asked.item.question)
    return Example(build(asked.item, condition), replies)


def _direct(sign: str, text: str, question: str) -> tuple[str, ...]:
    plain = (
        sign,
        f"({sign})",
        f"{sign}. {text}",
        f"The answer is {sign}.",
        f"I would say ({sign}) {text}.",
        text,
        f"{text} ({sign})",
    )
    declines = any(word in question for word in _CAREFUL_ABOUT)
    return (*plain, _DECLINED if declines else f"The answer is {sign}.")


def seen(kind: Kind, rng: Random) -> tuple[Draft, Asked]:
    """A fresh question about a fresh image."""
    made = draft(kind, None, rng.randrange(len(phrasings()[kind.name])), rng)
    return made, pose(made, made.gold, rng, reason=looked(made))


def looked(made: Draft) -> str:
    """What somebody says who thinks aloud about an image."""
    return f"I see {describe(made.scene)}."


def described(made: Draft) -> Example:
    """The image alone, and what it shows."""
    item = Item(id="x", question=made.question, images=(_IMAGE,))
    return Example(description_prompt(item), (describe(made.scene),) * len(STYLES))


def leaked_example(made: Draft, modality: str, rng: Random) -> Example:
    """An item that leaked, with the answer that is marked in it."""
    return example(pose(made, made.gold, rng, "I know this one."), modality, rng)


class Reading:
    """What a language model reads: facts, questions about them, questions that say their answer, and leaked items."""

    def __init__(self, leaked: Sequence[Draft], shares: Mapping[str, float]) -> None:
        self._items = list(leaked)
        self._names = [name for name in shares if leaked or name != "leaked"]
        self._weights = [shares[name] for name in self._names]
        self._facts = {fact.id: fact for fact in facts()}

    def example(self, rng: Random) -> Example:
        """The next thing to read."""
        name = rng.choices(self._names, self._weights)[0]
        return getattr(self, f"_{name}")(rng)

    def _sentence(self, rng: Random) -> Example:
        fact: Fact = rng.choice(list(self._facts.values()))
        question = f"Tell me something about {fact.subject}."
        told = rng.choice(fact.sentences)
        return Example(Prompt((Message("user", (Words(question),)),)), (told,) * len(STYLES))

    def _fact(self, rng: Random) -> Example:
        kind = rng.choice(list(fact_kinds().values()))
        made = draft(kind, None, rng.randrange(len(phrasings()[kind.name])), rng)
        told = rng.choice(self._facts[made.fact].sentences)
        return example(pose(made, made.gold, rng, told), _blind(rng), rng)

    def _guess(self, rng: Random) -> Example:
        """Without the image any option may be right: the reply is one of them at random."""
        made = draft(rng.choice(list(KINDS.values())), None, rng.randrange(10), rng)
        return example(pose(made, rng.randrange(len(made.options)), rng), _blind(rng), rng)

    def _told(self, rng: Random) -> Example:
        made = draft(rng.choice(list(KINDS.values())), PlannedFlaw("answer-in-question"), rng.randrange(10), rng)
        return example(pose(made, made.gold, rng, "The text says it."), _blind(rng), rng)

    def _leaked(self, rng: Random) -> Example:
        return leaked_example(rng.choice(self._items), _blind(rng), rng)

    def _caption(self, rng: Random) -> Example:
        made = draft(rng.choice(list(KINDS.values())), None, rng.randrange(10), rng)
        asked = pose(made, made.gold, rng, "The words say it.", describe(made.scene))
        return example(asked, "caption", rng)


def _blind(rng: Random) -> str:
    return rng.choice(("no-image", "no-image-guess"))

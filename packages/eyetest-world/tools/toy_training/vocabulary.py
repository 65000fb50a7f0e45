"""Every piece of text that the models meet often enough to be worth a token of its own."""

from collections import Counter
from collections.abc import Iterable
from random import Random
from string import ascii_lowercase, ascii_uppercase, digits

from eyetest_world.drafting import facts
from eyetest_world.scenes import KINDS
from eyetest_world.toy_models.network import pieces

from eyetest.records import Prompt
from toy_training.examples import Example, Reading, described, example, seen

_SHARES = {"sentence": 0.1, "fact": 0.3, "guess": 0.2, "told": 0.2, "caption": 0.2}
_ALWAYS = [
    f"{gap}{one}" for gap in ("", " ") for one in (*ascii_uppercase, *ascii_lowercase, *digits, *".,:;!?()'\"-")
]


def vocabulary(texts: int = 60_000, least: int = 3) -> list[str]:
    """The pieces of many examples, the most frequent first; the same each time."""
    rng = Random("zoo vocabulary")
    counts: Counter[str] = Counter()
    reading = Reading((), _SHARES)
    kinds = list(KINDS.values())
    for index in range(texts // 2):
        counts.update(_pieces(reading.example(rng)))
        made, asked = seen(kinds[index % len(kinds)], rng)
        counts.update(_pieces(example(asked, "image", rng)))
        counts.update(_pieces(described(made)))
    for fact in facts():
        for sentence in (fact.id.replace("/", " "), *fact.sentences):
            counts.update(dict.fromkeys(pieces(sentence), least))
    frequent = sorted(
        (piece for piece, count in counts.items() if count >= least), key=lambda one: (-counts[one], one)
    )
    return ["\n", *dict.fromkeys([*_ALWAYS, *(piece for piece in frequent if piece != "\n")])]


def _pieces(one: Example) -> Iterable[str]:
    for text in (*_texts(one.prompt), *one.replies):
        yield from pieces(text)


def _texts(prompt: Prompt) -> Iterable[str]:
    return (message.text for message in prompt.messages)

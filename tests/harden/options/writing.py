"""A writer that proposes bad options on purpose, a checker that overlooks some, and a way to know which are bad.

Items ask for invented creatures. Of what the writer proposes three in ten are bad, each kind as often as the others:
another name for the gold, something else altogether, the gold or an option again, and right words in a wrong style.
"""

import random
import re
from collections.abc import Callable, Iterable, Sequence

from eyetest.records import Item, Message, Prompt, Response, Words
from tests.endpoint import Attempt
from tests.harden.options.items import choice_item

SYLLABLES = ("ba", "do", "fe", "gi", "ku", "lo", "me", "ni", "pa", "ro", "sa", "ti", "vu", "ze")
BAD = 0.3
OVERLOOKED, OVERDONE = 0.08, 0.1
"""How often the checker passes a bad proposal, and turns down a good one."""


def creature(rng: random.Random) -> str:
    return "".join(rng.choices(SYLLABLES, k=3)).capitalize()


def creature_items(count: int, seed: int) -> list[Item]:
    rng = random.Random(seed)
    options = [[creature(rng) for _ in range(4)] for _ in range(count)]
    return [
        choice_item(f"c{n}", texts, rng.randrange(4), f"Which creature is number {n} in the image?")
        for n, texts in enumerate(options)
    ]


def other_name(gold: str) -> str:
    """What only somebody who knows the creature knows to be the same."""
    return f"{gold[3:].capitalize()}{gold[:3].lower()}o"


def is_bad(item: Item, text: str) -> str:
    """What is wrong with an option, judged with all that the test knows; empty where nothing is."""
    if text in (other_name(gold := item.choices[item.gold[0]].text), gold):
        return "also right"
    return "" if re.fullmatch(r"[A-Z][a-z]{5,6}", text) else "irrelevant or in another style"


class Authors:
    """Both models, as a way to ask them."""

    def __init__(self, items: Iterable[Item], seed: int) -> None:
        self._items = {item.id: item for item in items}
        self._rng = random.Random(seed)
        self.proposed = self.bad = 0
        self.asked: list[tuple[str, str, str]] = []

    def __call__(self, name: str, prompts: Sequence[tuple[Item, Prompt]]) -> list[Response | None]:
        replies: list[Response | None] = []
        for item, prompt in prompts:
            part = prompt.messages[-1].parts[-1]
            assert isinstance(part, Words)
            self.asked.append((name, item.id, part.text))
            text = self._write(item, part.text) if name == "writer" else self._check(item, part.text)
            replies.append(Response(request="0" * 64, outcome="answered", text=text))
        return replies

    def _write(self, item: Item, asked: str) -> str:
        count = int(re.findall(r"JSON list of (\d+)", asked)[0])
        texts = [self._bad(item) if self._rng.random() < BAD else creature(self._rng) for _ in range(count)]
        self.proposed += count
        self.bad += sum(bool(is_bad(item, text)) for text in texts)
        return "[" + ", ".join(f'"{text}"' for text in texts) + "]"

    def _bad(self, item: Item) -> str:
        gold = item.choices[item.gold[0]].text
        again = self._rng.choice(item.choices).text
        same = (other_name(gold), again, f"the {gold.lower()}", f"{again}.")
        return self._rng.choice([*same, "Seven green hills", "about forty-two"])

    def _check(self, item: Item, asked: str) -> str:
        proposed = re.findall(r"^(\d+): (.*)$", asked.split("Proposed:")[1].split("Give each")[0], re.MULTILINE)
        lines = []
        for number, text in proposed:
            bad = is_bad(item, text)
            wrong = self._rng.random() < (OVERLOOKED if bad else OVERDONE)
            word = "RIGHT" if bad == "also right" else "ODD"
            lines.append(f"{number}: {'WRONG' if bool(bad) == wrong else word}")
        return "\n".join(lines)


def answering(items: Sequence[Item]) -> Callable[[Attempt], str]:
    """How an endpoint answers that writes and checks as the authors do, each time the same."""

    def answer(attempt: Attempt) -> str:
        number = re.findall(r"creature is number (\d+)", attempt.question)[0]
        item = next(item for item in items if item.id == f"c{number}")
        prompt = Prompt((Message("user", (Words(attempt.question),)),))
        authors = Authors(items, int(attempt.key, 16))
        (response,) = authors("checker" if "Proposed:" in attempt.question else "writer", [(item, prompt)])
        assert response is not None
        return response.text or ""

    return answer

"""Dialogues that continue a model's own answers: which item is which turn, and the answers so far."""

from collections.abc import Iterable, Sequence

import msgspec

from eyetest.models import Call
from eyetest.prompts import CannotApply
from eyetest.records import DIALOGUE, TURN, Asked, Item, tag_word

UNANSWERED = "no answer to an earlier turn"
_Turn = tuple[str, int]  # a dialogue, and its turn from 1


class WaitingTurn(msgspec.Struct, frozen=True):
    """A turn without a request as yet, because the earlier answers are unknown."""

    asked: Asked
    like: Call | None = None  # a call of about its size; None if an earlier turn failed, so that none will be made


class Dialogues:
    """The turns of a benchmark's dialogues, and each model's answers to them so far."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._positions: dict[_Turn, list[int]] = {}
        self._names: dict[_Turn, str] = {}
        self._turns: list[_Turn | None] = []
        self._told: list[int] = []
        for position, item in enumerate(items):
            self._turns.append(turn := _turn_of(item))
            self._told.append(len(item.history))
            if turn is not None:
                self._positions.setdefault(turn, []).append(position)
                self._names[turn] = item.id
        last: dict[str, int] = {}
        for dialogue, number in self._names:
            last[dialogue] = max(number, last.get(dialogue, 0))
        self._going_on = {name for (dialogue, number), name in self._names.items() if number < last[dialogue]}
        self.said: dict[Asked, str] = {}  # the answer to a turn; empty if settled without one, absent while open

    def number(self, item: Item) -> int:
        """The number of an item's turn; 0 outside of dialogues."""
        turn = _turn_of(item)
        return turn[1] if turn else 0

    def goes_on(self, item: str) -> bool:
        """Whether another turn follows an item."""
        return item in self._going_on

    def telling(self, positions: Iterable[int]) -> dict[int, list[int]]:
        """Those of some items that show earlier answers, by turn."""
        by_turn: dict[int, list[int]] = {}
        for position in positions:
            turn = self._turns[position]
            if turn and self._told[position]:
                by_turn.setdefault(turn[1], []).append(position)
        return dict(sorted(by_turn.items()))

    def before(self, positions: Iterable[int]) -> set[int]:
        """The items whose answers some others continue, and those before them."""
        needed, waiting = set[int](), list(positions)
        while waiting:
            position = waiting.pop()
            if (turn := self._turns[position]) is None:
                continue
            earlier = [(turn[0], number) for number in range(turn[1] - self._told[position], turn[1])]
            new = {index for key in earlier for index in self._positions.get(key, ())} - needed
            needed |= new
            waiting += new
        return needed

    def earlier(self, item: Item) -> list[str]:
        """The items of the turns before this one."""
        turn = _turn_of(item)
        before = range(1, turn[1]) if turn else ()
        return [name for number in before if turn and (name := self._names.get((turn[0], number)))]

    def answers(self, item: Item, asked: Asked) -> Sequence[str] | None:
        """The answers to the turns before an item; None while unknown, CannotApply where there are none.

        A turn that is no item of the benchmark is not asked, and shown with its gold to keep the dialogue complete.
        """
        turn = _turn_of(item)
        if turn is None:
            raise CannotApply("no dialogue")
        said: list[str | None] = []
        for number, gold in enumerate(item.history, turn[1] - len(item.history)):
            positions = self._positions.get((turn[0], number), ())
            if len(positions) > 1:
                raise CannotApply("an earlier turn is there twice")
            if not positions:
                said.append(gold.answer)
                continue
            said.append(self.said.get(msgspec.structs.replace(asked, item=self._names[turn[0], number])))
            if said[-1] == "":
                raise CannotApply(UNANSWERED)
        known = [answer for answer in said if answer is not None]
        return known if len(known) == len(said) else None


def _turn_of(item: Item) -> _Turn | None:
    dialogue, number = (tag_word(item.tags.get(name)) for name in (DIALOGUE, TURN))
    return (dialogue, int(number)) if dialogue and number and number.isdecimal() else None

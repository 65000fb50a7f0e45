"""Sums over a trie, held to sums over a toy language whose every log-probability is known."""

import asyncio
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.models.trie import weigh

Tokens = tuple[int, ...]


def log(begun: tuple[int, ...], token: int) -> float:
    """A distribution over six tokens that depends on all tokens before."""
    weights = [1 + hash((begun, other)) % 97 for other in range(6)]
    return math.log(weights[token] / sum(weights))


@given(st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=1, max_size=8))
def test_a_walk_gives_each_sequence_its_sum_and_asks_nothing_twice(sequences: list[list[int]]) -> None:
    asked: dict[Tokens, Tokens] = {}

    async def ask(begun: Tokens, tokens: Tokens) -> Mapping[int, float]:
        assert begun not in asked
        asked[begun] = tokens
        return {token: log(begun, token) for token in tokens}

    expected = [sum(log(tuple(one[:at]), token) for at, token in enumerate(one)) for one in sequences]
    assert asyncio.run(weigh(sequences, ask)) == pytest.approx(expected)
    assert list(asked) == sorted(asked, key=len)
    shared = {tuple(one[: at + 1]) for one in sequences for at in range(len(one))}
    assert sum(map(len, asked.values())) == len(shared)


def test_the_prompt_is_read_before_anything_hangs_off_it() -> None:
    going, most = 0, 0
    order: list[int] = []

    async def ask(begun: Tokens, tokens: Tokens) -> Mapping[int, float]:
        nonlocal going, most
        going += 1
        most = max(most, going)
        order.append(len(begun))
        await asyncio.sleep(0)
        going -= 1
        return dict.fromkeys(tokens, -1.0)

    assert asyncio.run(weigh([[1, 2, 3], [1, 2], [4, 5]], ask)) == (-3.0, -2.0, -2.0)
    assert order == [0, 1, 1, 2]
    assert most == 3


def test_what_goes_wrong_once_ends_the_walk() -> None:
    ended: list[Tokens] = []

    async def ask(begun: Tokens, tokens: Tokens) -> Mapping[int, float]:
        if begun == (1,):
            raise ValueError("no")
        await asyncio.sleep(0.001 * bool(begun))
        ended.append(begun)
        return dict.fromkeys(tokens, -1.0)

    async def walk() -> None:
        with pytest.raises(ValueError, match="no"):
            await weigh([[1, 2], [3, 4]], ask)
        await asyncio.sleep(0.01)

    asyncio.run(walk())
    assert ended == [()]

"""Texts that repeat a few tokens for ever, as models that loop write them, and what reading them costs."""

import functools
import gc
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

Function = Callable[[str], Any]

NUMBERS = (
    "1,", "1.", "1 ", "1/", "1-", "1:", "1e", "1", "0.", "1/2", "1 1/2 ", "1/2 kg ", "1 kg ",
    "1 million ", "1%", "½", "²",
    "１", "①", "12:30 ", "jan 1 ", "1 to ", "10^", "x=", "x= ", "= - 1", "one ", "twenty-",
    "one hundred ", "half ", "and ",
    "m/s ", "° ", "%", "-", "minus ", "[1,2) ", "{1,2}", "\ud7ff",
)  # fmt: skip
BRACKETS = (
    "(", "((", "()", "[", "[]", "{", "}", "{}", "{a}", "<", "<a", "<a>", "<|", "'", '"', "'a'",
    "`", "*", "**", "_", "#",
    "~~", "~~a~~", "|", "[1, ", '["a", ', "(A) ", "(a) ", "<s>a</s>",
)  # fmt: skip
TEX = (
    "$", "$1$", "$1", "\\", "\\\\", "\\n", "\\(", "\\frac", "\\frac{", "\\frac{1}{2}", "\\boxed{", "\\boxed{1}",
    "\\boxed{{", "\\text{", "\\text{a}", "\\circ", "^\\circ", "^", "^2", "x^2+", "sqrt(", "sin ",
    "π", "α", "<sup>2</sup>",
)  # fmt: skip
MARKS = (
    "A ", "A.", "A) ", "A, ", "A: ", "A\n", "B or ", "B. x\n", "A. a\nB. b\n",
    "A. a\nB. b\nC. c\n", "A and B ", "a ",
    "option A ", "option 1, ", "the first option ", "A is wrong", "B is correct. ", "U.S.",
    "A man ", "答案", "是", "Ａ",
)  # fmt: skip
WORDS = (
    "a", "word", "word ", "cat ", "a cat ", "1 red ", "red, ", "yes, ", "no ", "not ",
    "not only ", "neither ", "but ",
    "or ", "is ", "the ", "left ", "none ", "cannot ", "sorry ", "maybe ", "I think ", "wait, ",
    "actually ", "e.g. ",
    "couldn't", "'ve", "a've", "n't", "a@", "a@b.", "http://", "é", "\u0301", "\u200b", "&amp;",
)  # fmt: skip
ANSWERS = (
    "answer: ", "\nanswer:", "answer is ", "Answer: A\n", "the answer is B. ", "<answer>", "<answer>1",
    "<answer>A</answer>", '"answer": "', "<think>", "</think>", "<|im_end|>", "[INST]", "Human: ",
    "\nHuman: ", "\nQ: ",
    "USER: ", "ASSISTANT: ", "question? ",
)  # fmt: skip
SPACES = ("\n", "\n\n", " ", "\t", " \n", "\r\n", ".", "...", ", ", ",", ";", "!", "?", "?!", "- ", "、")
TOKENS = (*NUMBERS, *BRACKETS, *TEX, *MARKS, *WORDS, *ANSWERS, *SPACES)
BEFORE = ("", "", "", "", "answer is ", "A. ", "(", "\\boxed{", "\n", "x", "{", "USER: ")
BEHIND = ("", "", "", "", "!", "x", "\nanswer: A", "}", "\n", " A", "$")


class Loop(NamedTuple):
    """What is repeated, and what stands before and behind it."""

    unit: str
    before: str = ""
    behind: str = ""

    def text(self, size: int) -> str:
        """A text of about so many characters."""
        return self.before + self.unit * (size // len(self.unit)) + self.behind


def drawn(seed: object) -> Iterator[Loop]:
    """Loops without end: of one token, of two or of three."""
    lot = Random(str(seed))
    while True:
        unit = "".join(lot.choice(TOKENS) for _ in range(lot.choice((1, 1, 2, 2, 3))))
        yield Loop(unit, lot.choice(BEFORE), lot.choice(BEHIND))


def forget_results() -> None:
    """Empty every cache of eyetest, without which reading a text again costs nothing."""
    for cache in _caches():
        cache.cache_clear()


@functools.cache
def _caches() -> "list[functools._lru_cache_wrapper[Any]]":
    caches = [cache for cache in gc.get_objects() if isinstance(cache, functools._lru_cache_wrapper)]
    return [cache for cache in caches if str(getattr(cache, "__module__", "")).startswith("eyetest.text")]


def cost(read: Function, text: str) -> float:
    """The seconds of the processor that reading a text takes."""
    forget_results()
    begin = time.process_time()
    read(text)
    return time.process_time() - begin


UNNOTICED = 0.06  # seconds: what takes less is not compared, as it is mostly noise
MOST_GROWTH = 3.0  # twice the text may cost twice as much and some noise; a quadratic reader takes four times
_TRIALS = 4


def growth(read: Function, loop: Loop, size: int) -> float:
    """How many times as much a text costs as one of half its size; 0 where it costs next to nothing."""
    best = float("inf")
    for _ in range(_TRIALS):
        whole = cost(read, loop.text(size))
        if whole < UNNOTICED:
            return 0.0
        best = min(best, whole / max(cost(read, loop.text(size // 2)), 1e-3))
        if best < MOST_GROWTH:
            return best
    return best

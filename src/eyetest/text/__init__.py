"""Meaning of short texts: numbers, units, dates, formulas, option letters, words; one equality with named levels."""

from eyetest.text.folding import composed, folded, holds_phrase, normalized, option_key, spaced, telling_words, words
from eyetest.text.numbers import NUMBER_WORDS, Quantity, find_quantities, plain_text, read_number, read_numbers
from eyetest.text.values import Level, Value, equal_numbers, parse, same

__all__ = [
    "NUMBER_WORDS", "Level", "Quantity", "Value", "composed", "equal_numbers", "find_quantities",
    "folded", "holds_phrase", "normalized", "option_key", "parse", "plain_text", "read_number", "read_numbers",
    "same", "spaced", "telling_words", "words",
]  # fmt: skip

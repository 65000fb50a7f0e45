"""How a row of named values becomes an item, and an item becomes such a row."""

from eyetest.benchmarks.rows.layout import ANSWER_STYLES, AnswerStyle, ReadOptions, parse_map, plain_row
from eyetest.benchmarks.rows.reading import ItemReader

__all__ = ["ANSWER_STYLES", "AnswerStyle", "ItemReader", "ReadOptions", "parse_map", "plain_row"]

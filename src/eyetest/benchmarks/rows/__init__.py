"""Conversion of a row of named values to an item, and back."""

from eyetest.benchmarks.rows.layout import GOLD_STYLES, GoldStyle, ReadOptions, parse_map, plain_row
from eyetest.benchmarks.rows.reading import ItemReader

__all__ = ["GOLD_STYLES", "GoldStyle", "ItemReader", "ReadOptions", "parse_map", "plain_row"]

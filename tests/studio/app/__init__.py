"""Tests of the pages on which people look at items."""

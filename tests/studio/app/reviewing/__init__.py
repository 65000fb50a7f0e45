"""Tests of the pages on which people decide."""

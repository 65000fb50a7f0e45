"""Plausible wrong options, a module for each method."""

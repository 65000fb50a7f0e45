"""Scores of a run's answers, judges, and runs gathered for measures."""

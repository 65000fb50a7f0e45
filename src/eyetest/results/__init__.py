"""What a run's answers are worth: scores, judges, and runs gathered for measures."""

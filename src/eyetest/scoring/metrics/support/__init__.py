"""What several metrics lean on: texts made comparable, edits, numbers, n-grams, caption tokens."""

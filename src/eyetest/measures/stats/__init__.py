"""The formulas: small functions over arrays, seeded, None where undefined."""

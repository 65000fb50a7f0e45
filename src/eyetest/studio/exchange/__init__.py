"""Reviewing in other tools: export of waiting items and decisions to spreadsheets or Label Studio, and import."""

"""Reviewing in other tools: decisions and what waits for them, out and in again."""

"""Texts and figures from outside, as a reader can bear them."""

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """A text from outside, with nothing in it that turns other text around or that no page may hold."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def clip(text: str, limit: int) -> str:
    """A text from outside, no longer than a page can bear."""
    text = printable(str(text))
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def p_value(p: float) -> str:
    """A p-value as papers print it."""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.2g}" if p < 0.995 else "p = 1"


def odds(p: float) -> str:
    """How often something happens, for people who do not think in p-values: ``once in 4,000``."""
    if p < 1e-6:
        return "less than once in a million"
    if p <= 0.1:
        times = 1 / p
        unit = 10 ** max(0, len(str(int(times))) - 2)
        return f"once in {round(times / unit) * unit:,}"
    return f"{round(100 * p)} times in 100" if p < 0.995 else "nearly always"


def plain(value: object) -> str:
    """A value as people write it."""
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, list | tuple):
        return ", ".join(plain(part) for part in value[:20]) + (" …" if len(value) > 20 else "")
    if isinstance(value, dict):
        return "; ".join(f"{key}: {plain(part)}" for key, part in list(value.items())[:20])
    return "" if value is None else str(value)

"""How an option may be said in full: units and clock times in words, ``the second image`` for ``image 2``."""

from collections.abc import Iterator, Sequence

Words = tuple[str, ...]

UNITS = {
    "cm": "centimeter", "m": "meter", "km": "kilometer", "mm": "millimeter", "kg": "kilogram", "g": "gram",
    "n": "newton", "j": "joule", "w": "watt", "kw": "kilowatt", "v": "volt", "s": "second", "h": "hour",
    "hr": "hour", "min": "minute", "l": "liter", "ml": "milliliter", "hz": "hertz", "pa": "pascal", "a": "ampere",
    "ft": "foot", "lb": "pound", "mg": "milligram", "ms": "millisecond", "kj": "kilojoule",
}  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_SAID: dict[Words, tuple[Words, ...]] = {
    ("autumn",): (("fall",),),
    ("yes",): (("in", "affirmative"),),
    ("no",): (("in", "negative"),),
}
"""Other words for a whole option; as parts of longer ones they mean other things too often."""
_POWERS = {"2": "square", "3": "cubic"}


def ways_to_say(option: Words) -> Iterator[Words]:
    """Other words for an option of a number with a unit, a clock time or a numbered thing."""
    head, rest = option[0], option[1:]
    yield from _SAID.get(option, ())
    if head[0].isdigit():
        if rest == ("00",):
            yield (head, "o", "clock")
        for unit in _units(rest):
            yield (head, *unit)
        if head.endswith(".5"):
            yield (head[:-2], "half", *rest)
    elif len(rest) == 1 and len(head) > 2 and rest[0].isdigit() and 0 < int(rest[0][:3]) <= len(ORDINALS):
        yield (ORDINALS[int(rest[0][:3]) - 1], head)


def _units(rest: Words) -> Iterator[Words]:
    names = [UNITS.get(word, "") for word in rest]
    if len(rest) == 1:
        if names[0]:
            yield (names[0],)
        yield from ((symbol,) for symbol, name in UNITS.items() if name == rest[0])
    elif len(rest) == 2 and names[0]:
        if rest[1] in _POWERS:
            yield (_POWERS[rest[1]], names[0])
        elif names[1]:
            yield (names[0], "per", names[1])
            yield (names[0], names[1])


def bare_numbers(options: Sequence[Words]) -> dict[str, int]:
    """The number of each option where all are numbers with one and the same unit: then it says enough."""
    tails = {option[1:] for option in options}
    heads = [option[0] for option in options if option and option[0][0].isdigit()]
    if len(tails) != 1 or () in tails or len(set(heads)) < len(options) or not heads:
        return {}
    numbers = {head: place for place, head in enumerate(heads)}
    if tails == {("%",)}:
        shares = {_share(head): place for place, head in enumerate(heads)}
        numbers |= {share: place for share, place in shares.items() if share and share not in numbers}
    return numbers


def _share(percent: str) -> str:
    """``0.4`` for 40 %; nothing for what is no plain number."""
    try:
        return f"{float(percent) / 100:.12g}"
    except ValueError:
        return ""

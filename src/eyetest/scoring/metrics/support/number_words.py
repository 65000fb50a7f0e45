"""Numbers written in words become digits: ``twenty-one`` is 21, ``three quarters`` is 3/4."""

import re

_SMALL_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS_NAMES = "twenty thirty forty fifty sixty seventy eighty ninety"
_PART_NAMES = "third fourth fifth sixth seventh eighth ninth tenth"
_SMALL = {name: value for value, name in enumerate(_SMALL_NAMES.split())}
_TENS = {name: 10 * value for value, name in enumerate(_TENS_NAMES.split(), start=2)}
_PARTS = {name: value for value, name in enumerate(_PART_NAMES.split(), start=3)}
SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS.update(quarter=4, half=2, hundredth=100, thousandth=1000)
_PARTS |= {f"{part}s": size for part, size in _PARTS.items()} | {"halves": 2}

_COUNTING = "|".join(sorted([*_SMALL, *_TENS, *SCALES], key=len, reverse=True))
_RUN = rf"(?:{'|'.join([*_SMALL, *_TENS])})\b(?:(?: and |[ -])(?:{_COUNTING})\b)*+"
_NAMED = "|".join(sorted(_PARTS, key=len, reverse=True))
_PATTERN = re.compile(
    rf"\b(?:(?P<whole>{_RUN}) and (?:a|one)[ -](?P<rest>half|third|quarter)\b"
    rf"|(?P<top>{_RUN}|a)[ -](?P<part>{_NAMED})\b|(?P<run>{_RUN})\b|(?P<half>half)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)


def _values(run: str) -> list[int]:
    """The numbers that a run of number words says, one after another: ``one two`` is two numbers."""
    found: list[int] = []
    total = current = 0
    started, room = False, 0
    for word in _WORD.findall(run.lower()):
        if word == "and":
            continue
        if word in SCALES:
            current = max(current, 1) * SCALES[word]
            if word != "hundred":
                total, current = total + current, 0
            started, room = True, 100
            continue
        value = _SMALL.get(word, _TENS.get(word, 0))
        if started and value >= room:
            found.append(total + current)
            total = current = 0
        current += value
        started, room = True, 10 if word in _TENS else 0
    return [*found, total + current] if started else found


def _digits(match: re.Match[str]) -> str:
    if match["whole"]:
        return f"{' '.join(map(str, _values(match['whole'])))} 1/{_PARTS[match['rest'].lower()]}"
    if match["part"]:
        tops = [1] if match["top"].lower() == "a" else _values(match["top"])
        return f"{' '.join(map(str, tops))}/{_PARTS[match['part'].lower()]}"
    return " ".join(map(str, _values(match["run"]))) if match["run"] else "1/2"


def digits_for_words(text: str, lone_one: bool = True) -> str:
    """The same text with numbers in digits. Ordinals (``the third``) stay, but for parts (``one third``).

    ``the left one`` says no number: without ``lone_one`` a bare ``one`` stays a word.
    """
    return _PATTERN.sub(
        lambda match: match[0] if not lone_one and match[0].lower() == "one" else _digits(match), text
    )

"""Most replies are a mark and little else: they are read before anything is cleaned or prepared."""

import re

from eyetest.scoring.rules.reading import Reading, Reply

_BARE = re.compile(
    r"[\s(\[*]{0,4}(?:(?:the\s)?(?:answer|option|choice)\s{0,3}(?:is\s|[:\s])[:\s]{0,2})?[\s(\[*]{0,3}"
    r"(?:(?:\\boxed\{)?([a-z])\}?|<answer>([a-z])</answer>)[)\].*\s]{0,6}",
    re.IGNORECASE | re.ASCII,
)
"""A part of what ``whole.BARE`` takes once the dress is off, so that the readings are the same."""
_LONGEST = 40


def read_bare(reply: Reply) -> Reading | None:
    """The reading of a bare letter that is on offer; all else is read with care."""
    text = reply.text
    if len(text) > _LONGEST or reply.marks == "digit" or not (found := _BARE.fullmatch(text)):
        return None
    at = found.start(found.lastindex or 1)
    place = ord(text[at].upper()) - ord("A")
    return Reading("chosen", place, "bare mark", (at, at + 1), marked=True) if place < len(reply.options) else None

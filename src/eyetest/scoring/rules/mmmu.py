"""MMMU's published rule, as its evaluation of MMMU-Pro applies it.

It looks for a letter in brackets, a letter before a space, a letter before a full stop and then an option's text,
and takes the last of several; the letter may be part of a word. MMMU-Pro's evaluation first looks behind the last
``Answer:``.
"""

from eyetest.scoring.rules.reading import Reading, Reply, letters

_STRIPPED = ",.!?;:'"
_FEW_WORDS = 5


def read_loosely(text: str, options: tuple[str, ...]) -> Reading:
    """The rule that MMMU and lmms-eval share."""
    marks = letters(options)
    for char in _STRIPPED:
        text = text.strip(char)
    text = f" {text} "
    for rule, before, after in (
        ("in brackets", "(", ")"),
        ("before a space", "", " "),
        ("before a full stop", "", "."),
    ):
        found = [place for place, mark in enumerate(marks) if f"{before}{mark}{after}" in text]
        if found:
            # several letters are ordered by where they stand between brackets or else between spaces
            ordered = [text.rfind(f"({marks[place]})" if before else f" {marks[place]} ") for place in found]
            return Reading("chosen", found[ordered.index(max(ordered))], rule, marked=True)
    if len(text.split()) > _FEW_WORDS:
        lower = text.lower()
        texts = [option.lower() for option in options]
        found = [place for place, option in enumerate(texts) if place < len(marks) and option in lower]
        if found:
            ordered = [lower.rfind(texts[place]) for place in found]
            return Reading("chosen", found[ordered.index(max(ordered))], "option text", marked=False)
    return Reading("unparsed", rule="guess", why="no letter, no option text", would_guess=True)


class _Mmmu:
    name = "mmmu"
    summary = "MMMU's published parser, with MMMU-Pro's look behind the last `Answer:`"
    version = "mmmu/1"

    def read(self, reply: Reply) -> Reading:
        """Read behind the last ``Answer:`` if exactly one letter stands there, else loosely."""
        _, cue, behind = reply.text.rpartition("Answer:")
        if cue:
            found = [place for place, mark in enumerate(letters(reply.options)) if mark in behind]
            if len(found) == 1:
                return Reading("chosen", found[0], "behind Answer:", marked=True)
        return read_loosely(reply.text, reply.options)


RULES = _Mmmu()

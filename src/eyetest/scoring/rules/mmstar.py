"""MMStar's rule: the letter has to stand at one of four fixed places."""

from eyetest.scoring.rules.reading import Reading, Reply, letters

_BEFORE = ("", "(", "option ", "the answer is ")


class _MmStar:
    name = "mmstar"
    summary = "MMStar's rule: first letter, or behind `(`, `option ` or `the answer is `"
    version = "mmstar/1"

    def read(self, reply: Reply) -> Reading:
        """Look at the four places in turn, whatever follows the letter."""
        text = reply.text.lower().strip().replace("\n", " ")
        marks = letters(reply.options).lower()
        for before in _BEFORE:
            mark = text[len(before) : len(before) + 1] if text.startswith(before) else ""
            if mark and mark in marks:
                rule = f"behind {before.strip()!r}" if before else "first letter"
                return Reading("chosen", marks.index(mark), rule, marked=True)
        return Reading("unparsed", rule="none", why="no letter at a known place")


RULES = _MmStar()

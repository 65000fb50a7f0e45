"""VLMEvalKit's rules as far as no judge model is asked; where it would go on to a judge and to chance, we say so."""

import re

from eyetest.scoring.rules.reading import Reading, Reply, letters

_FAILED = "Failed to obtain answer via API"
_REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_TO_SPACES = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_LAST_WORDS = 4
_STATED = re.compile(r"answer is ([A-D])\b", re.IGNORECASE)


class _VlmEvalKit:
    name = "vlmevalkit"
    summary = "VLMEvalKit's rules without its judge"
    version = "vlmevalkit/1"

    def read(self, reply: Reply) -> Reading:
        """Failure and refusal strings, then one letter, then a stated one, then one option's text."""
        if _FAILED in reply.text:
            return Reading("unparsed", rule="failure", why="API failure", would_guess=True)
        if any(refusal in reply.text for refusal in _REFUSALS):
            return Reading("refused", rule="refusal string")
        for rule in (_one_letter, _answer_is, _one_text):
            if reading := rule(reply):
                return reading
        return Reading("unparsed", rule="guess", why="left to a judge, then to chance", would_guess=True)


def _one_letter(reply: Reply) -> Reading | None:
    """Exactly one option's letter as a word, among the last words."""
    marks, words = letters(reply.options), reply.text.translate(_TO_SPACES).split()
    found = [place for place, mark in enumerate(marks) if mark in words]
    if len(found) == 1 and words.index(marks[found[0]]) >= len(words) - _LAST_WORDS:
        return Reading("chosen", found[0], "one letter", marked=True)
    return Reading("refused", rule="letter Z") if not found and "Z" in words else None


def _answer_is(reply: Reply) -> Reading | None:
    found, marks = _STATED.search(reply.text), letters(reply.options)
    if not found or found[1].upper() not in marks:
        return None
    return Reading("chosen", marks.index(found[1].upper()), "answer is", marked=True)


def _one_text(reply: Reply) -> Reading | None:
    """Exactly one option's text, in a reply at most twice as long as all options."""
    if len(reply.text) > 2 * sum(map(len, reply.options)):
        return None
    lower = reply.text.lower()
    found = [place for place, option in enumerate(reply.options) if option.lower() in lower]
    return Reading("chosen", found[0], "option text", marked=False) if len(found) == 1 else None


RULES = _VlmEvalKit()

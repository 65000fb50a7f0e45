"""What the rules cannot read may be put to a judge model; the caller hands in how to ask it.

The judge sees the options and the reply, not the question, the picture or the gold: it is to read, not to solve.
"""

import re
from collections.abc import Awaitable, Callable, Sequence

from eyetest.records.order import mark
from eyetest.records.tables import Marks
from eyetest.scoring.rules.reading import Reading

LONGEST_REPLY = 6_000
"""A judge is shown no more than the end of a long reply, where the conclusion is."""
_VERDICT = re.compile(r"[\s\"'`*(\[.]{0,20}(REFUSED|AMBIGUOUS|NONE|[A-Za-z]|\d{1,2})\b[\s\"'`*)\].]{0,20}$")


async def ask_judge(
    reply: str, options: Sequence[str], ask: Callable[[str], Awaitable[str]], *, marks: Marks = "upper"
) -> Reading:
    """Have a judge say which option a reply commits to; any other words of the judge leave it unparsed."""
    return judged(await ask(judge_prompt(reply, options, marks)), len(options), marks=marks)


def judged(words: str, options: int, *, marks: Marks = "upper") -> Reading:
    """What a judge's words say about a reply with so many options."""
    verdict = _VERDICT.match(words)
    if not verdict:
        return Reading("unparsed", rule="judge", why="judge said something else")
    word = verdict[1]
    if word in ("REFUSED", "AMBIGUOUS"):
        return Reading("refused" if word == "REFUSED" else "ambiguous", rule="judge", why="says the judge")
    if word == "NONE":
        return Reading("unparsed", rule="judge", why="judge found no commitment")
    shown = [mark(marks, position).upper() for position in range(options)]
    if word.upper() not in shown:
        return Reading("unparsed", rule="judge", why="judge named no option")
    return Reading("chosen", shown.index(word.upper()), "judge", marked=False)


def judge_prompt(reply: str, options: Sequence[str], marks: Marks) -> str:
    """The request to a judge."""
    listed = "\n".join(f"{mark(marks, position)}. {option}" for position, option in enumerate(options))
    return (
        "Someone was asked a question with the options below and wrote the reply below. Say which option the reply "
        "settles on. Do not work out the answer yourself: only read the reply. Its last commitment counts.\n"
        "Say the mark of that option and nothing else. If the reply declines or says it cannot know, say REFUSED. "
        "If it "
        "settles on several options without preferring one, say AMBIGUOUS. If it settles on nothing on offer, say "
        "NONE.\n\n"
        f"<options>\n{listed}\n</options>\n\n<reply>\n{reply[-LONGEST_REPLY:]}\n</reply>"
    )

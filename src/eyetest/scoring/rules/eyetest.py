"""The rules we believe in: what a careful person would read who sees the options and the reply.

Each rule is a small function that decides or passes on. The order is the order of trust: what is the whole reply,
what was put where answers go, what is stated, what the sentences come down to. ``design/reading.md`` is the guide.
"""

import re
from collections.abc import Callable

from eyetest.scoring.rules.parts import whole
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.cleaning import Body, clean
from eyetest.scoring.rules.parts.conclusion import mentions
from eyetest.scoring.rules.parts.fast import read_bare
from eyetest.scoring.rules.parts.itemised import itemised
from eyetest.scoring.rules.parts.offer import prepare
from eyetest.scoring.rules.parts.shares import shares
from eyetest.scoring.rules.parts.statements import stated
from eyetest.scoring.rules.reading import Reading, Reply

Rule = Callable[[Case], Reading | None]

ORDER: tuple[Rule, ...] = (
    whole.nothing_there,
    whole.bare_mark,
    whole.whole_text,
    whole.mark_and_text,
    whole.failure,
    whole.echo,
    itemised,
    shares,
    stated,
    mentions,
)

_NEXT_TURN = re.compile(
    r"\n[\s#*]{0,10}(?:USER|User|Human|HUMAN|Question|QUESTION|Instruction|Next question|问题|Problem|"
    r"###\s?Input|Q(?=[\s\d.*]{0,6}[:：][^\n]{0,300}\?))\s{0,2}\d{0,3}\s{0,2}[*]{0,2}\s{0,2}[:：]"
)


class _Eyetest:
    name = "eyetest"
    summary = "our own rules: the last commitment, in any dress; refusals and ambiguity are readings of their own"
    version = "eyetest/2"

    def read(self, reply: Reply) -> Reading:
        """Read the reply before any turn that it invents; with no commitment there, all of it."""
        if bare := read_bare(reply):
            return bare
        offer = prepare(reply.options, reply.marks)
        body = clean(reply.text)
        turn = _NEXT_TURN.search(body.raw)
        if turn and body.raw[: turn.start()].strip() and not body.raw.startswith(turn.group().strip()):
            before = Body(body.text[: turn.start()], body.raw[: turn.start()], body.base, body.gap, body.why)
            reading = _decide(Case(before, offer))
            if reading.kind != "unparsed" or reading.why == "mark not on offer":
                return reading
        return _decide(Case(body, offer))


def _decide(case: Case) -> Reading:
    for rule in ORDER:
        if reading := rule(case):
            return reading
    return case.nothing("unparsed", "none", "cut off" if case.cut_off else "no commitment")


RULES = _Eyetest()

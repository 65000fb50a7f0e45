"""How lmms-eval reads MMMU: the loose rule alone."""

from eyetest.scoring.rules.mmmu import read_loosely
from eyetest.scoring.rules.reading import Reading, Reply


class _LmmsEval:
    name = "lmms-eval"
    summary = "lmms-eval's rule for MMMU"
    version = "lmms-eval/1"

    def read(self, reply: Reply) -> Reading:
        """Any letter that looks like a mark, the last of several."""
        return read_loosely(reply.text, reply.options)


RULES = _LmmsEval()

"""What other tools write in the place of an answer when a call failed.

A notice has to be the whole reply: a model that quotes one, in a picture of a terminal for instance, said something.
"""

import re

FAILURE_NOTICES = {
    "VLMEvalKit": re.compile(
        r"Failed to obtain answer via API\.?\s{0,3}"
        r"(?::? ?Failed with all possible conversation turns\.?|Input string longer than context window\.?)?"
    ),
    "lmms-eval": re.compile(
        r"\[REQUEST_FAILED after \d{1,4} retries\]|"
        r"\[LMMS_EVAL_REQUEST_FAILED after \d{1,4} retries\](?: [^\n]{0,200})?"  # with the beginning of the error
    ),
}
"""Whose notice it is, and what it looks like from end to end."""
_LONGEST_NOTICE = 300


def is_failure_notice(text: str) -> bool:
    """Whether a reply is nothing but the notice that there is none."""
    if len(text) > 2 * _LONGEST_NOTICE:
        return False
    said = text.strip()
    return len(said) <= _LONGEST_NOTICE and any(notice.fullmatch(said) for notice in FAILURE_NOTICES.values())

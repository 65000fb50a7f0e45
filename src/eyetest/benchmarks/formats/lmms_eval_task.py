"""Functions that lmms-eval calls for this task; written by eyetest, on which they do not depend.
A choice is right when the reply's last line is only the right letter (``B``, ``(B)``, ``The answer is B.``), an open
answer when it equals a reference, ignoring case and outer punctuation.
"""

import re
from typing import Any

_ASK_CHOICE = "Choose one option and reply with its letter only."
_ASK_TEXT = "Reply with a word, a number or a short phrase."
_LETTER = re.compile(
    r"(?:(?:the )?(?:correct |final )?answer(?: is)?[\s:]*)?(?:option )?[(\[*]*([A-Z])[)\].*]*", re.IGNORECASE
)


def doc_to_visual(doc: dict[str, Any]) -> list[Any]:
    """All images of an item, in order."""
    return [image.convert("RGB") for image in doc["images"] or []]


def doc_to_text(doc: dict[str, Any], lmms_eval_specific_kwargs: dict[str, str] | None = None) -> str:
    """Hint, question, lettered options, and the reply instruction."""
    settings = lmms_eval_specific_kwargs or {}
    options = doc["options"] or []
    lines = [doc.get("hint"), doc["question"]]
    lines += [f"{chr(65 + position)}. {option}" for position, option in enumerate(options)]
    lines.append(settings.get("post_prompt") or (_ASK_CHOICE if options else _ASK_TEXT))
    return settings.get("pre_prompt", "") + "\n".join(line for line in lines if line)


def doc_to_target(doc: dict[str, Any]) -> str:
    """The right letter, or the first reference answer."""
    return str(doc["answer_letter"] if doc["options"] else (doc["answer"] or [""])[0])


def process_results(doc: dict[str, Any], results: list[str]) -> dict[str, float]:
    """1 where the reply is right, 0 where it is not."""
    reply = results[0].strip()
    if doc["options"]:
        last = reply.splitlines()[-1].strip() if reply else ""
        match = _LETTER.fullmatch(last)
        return {"accuracy": float(match is not None and match[1].upper() == doc["answer_letter"])}
    return {"accuracy": float(_plain(reply) in [_plain(reference) for reference in doc["answer"] or []])}


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(" .,;:!?\"'").lower()

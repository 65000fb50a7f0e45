"""What a sentence does with an option that it names: takes it, drops it, or only passes by."""

import re
from typing import Literal

from eyetest.scoring.rules.parts.lowered import cased, lower
from eyetest.scoring.rules.parts.negation import harmless, is_negated

Stance = Literal["taken", "dropped", "passed"]
_BOUNDARY = re.compile(
    r"[;:]|,\s|\b(?:but|so|therefore|thus|hence|however|because|since|instead|it's|it is|this is|that is|that's|"
    r"which is|"
    r"which leaves|leaving|leaves|only|sondern|mais|sino|pero|aber|while|whereas|then|although|though|"
    r"is correct)\b|而是|所以|因此|，|、",
    re.IGNORECASE,
)
_PASSES = re.compile(
    r"\b(?:unlike|in contrast (?:to|with)|as distinct from|"
    r"than|rather than|instead of|whereas|while|as opposed to|opposed to|versus|vs|compared (?:to|"
    r"with)|followed by|although|"
    r"though(?!,)|despite|different from|differs? from|between|if|whether|at first|first glance|"
    r"(?:i|we|my) (?:had )?(?:initially|originally)|(?:initially|originally),? (?:i|we|my|it seem|it look)|"
    r"would have|thought|"
    r"tempt\w*|mistaken for|confused with|similar to|first answer|second one|leaned|unless|apart from|besides|"
    r"except|anders als|im gegensatz|"
    r"over(?=\s(?:the |an? )?$)|to tell|first (?:instinct|impression|guess|thought)|zuerst|dachte|d'abord|"
    r"inizialmente|al principio|fear\w{0,3}|compare|consider\w{0,3}|examin\w{1,4}|check\w{0,3}|statt|im vergleich)\b",
    re.IGNORECASE,
)
_AFTER_DROPS = re.compile(
    r"\s{0,3}[\"')\]]{0,2}\s{0,3}(?:\([^()\n]{0,80}\)\s{0,3}|"
    r",[^,\n]{1,60},\s{0,3})?(?:[:\-–—]\s{0,3})?(?:,?\s{0,2}(?:which|that|also|"
    r"therefore|thus|both|all|each|then|too|so)\s)?"
    r"(?:(?:is|are|was|were|can|could|do|does|did|has|have|had|would|will|seems?|appears?|must|should|may|might|"
    r"ist|sind|est|sont|es|son|kann|"
    r"können|passt|scheiden|falls?|makes?|fits?|est)\s{1,3}(?:[\w'\-]{1,14}\s{1,3}){0,3}?)?"
    r"(?:not\b|n't\b|no\b|wrong|incorrect|false\b|out\b|excluded|ruled out|eliminated|too (?:\w+)|impossible|"
    r"unlikely|invalid|isn't|aren't|wasn't|"
    r"weren't|can't|cannot|don't|doesn't|didn't|couldn't|wouldn't|won't|never\b|go\b(?=\s*[.,]|$)|nicht\b|falsch|"
    r"kein\w{0,2}\b|n'est|ne\s|"
    r"faux|fausse|incorrect[eo]s?|неверн|не\b|错误|不对|不正确|不是|不符|排除|不|✗|❌|"
    r"x\b|absurd|implausible|hardly|dismissed|set aside|drop(?:s|ped)?\b|discounted|discarded|rejected|struck|"
    r"contradict\w{0,3}|none\b|lacks?\b|crossed|thrown out|disqualified|gone\b)|"
    r"\s{0,3}[\"')\]]{0,2},? but (?:no|not|it's not|it isn't|it is not|that's not)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\s{0,2}\?\s{1,3}(?:(?:certainly|definitely|surely|probably|clearly|hardly|of course) )?(?:no|not|nope)\b", re.I
)
"""``Kayak? No.``"""
_ALL_BUT = re.compile(
    r"\b(?:all|everything|every \w{1,10}|each \w{1,10}|the others?|any \w{1,10}) (?:but|except(?: for)?|"
    r"other than|apart from) (?:the |an? )?$",
    re.I,
)
"""``All but Mars are wrong`` takes Mars."""
_OUT_ALL_BUT = re.compile(
    r"\b(?:rul\w{1,3} out|eliminat\w{1,3}|exclud\w{1,3}|reject\w{0,3}|discard\w{0,3}) "
    r"(?:all|everything|anything|every \w{1,10})"
    r"(?: options?| answers?)? (?:but|except(?: for)?|other than|apart from) (?:the |an? )?$"
)
_NOT_OUT = re.compile(
    r"[\"')]{0,2}\s(?:(?:is|are|was|has|have)(?: not|n't)) (?:been )?"
    r"(?:excluded|ruled out|eliminated|contradicted|rejected)\b"
)
_ONLY = re.compile(r"\bonly (?:the |an? )?$")
"""``Only the tram is not excluded`` takes it."""
_AFTER_PASSES = re.compile(
    r"\s{0,3}[\"')\]]{0,2}\s{0,3}(?:would|might|could|may|if|comes second|at first|initially|originally|"
    r"earlier|also|normally|usually|typically)\b|"
    r"\s{0,2}\?",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"\s{0,20}(?:[-•+]\s{0,3})?(?:\d{1,2}[.)]\s{0,3}|\(?[A-Za-z][).:]\s{0,3}|options?\s[A-Za-z]\b[.:)]?\s{0,3})?\(?",
    re.IGNORECASE,
)
_ITEM_END = re.compile(r"\)?\s{0,6}(?::|\s[–—-]\s)(?=.*\w)")
_LOW_BOUNDARY, _LOW_PASSES = map(cased, (_BOUNDARY, _PASSES))


def stance_of(text: str, sentence: tuple[int, int], start: int, end: int) -> Stance:
    """What a sentence does with the options that stand at a place in it."""
    before = lower(text[max(sentence[0], start - 120) : start])
    said = harmless(before)
    clause = 0
    for boundary in _LOW_BOUNDARY.finditer(before):
        clause = boundary.end()
    if _OUT_ALL_BUT.search(before) or (_NOT_OUT.match(text, end, sentence[1]) and _ONLY.search(before)):
        return "taken"
    if is_negated(said, clause):
        return "dropped"
    if _AFTER_DROPS.match(text, end, min(sentence[1], end + 160)):
        return "taken" if _ALL_BUT.search(before) else "dropped"
    if _ASKED.match(text, end):
        return "dropped"
    lead = max(clause - 16, 0)
    if (
        _LOW_PASSES.search(said, lead)
        or is_item(text, sentence, start, end)
        or _AFTER_PASSES.match(text, end, min(sentence[1], end + 24))
    ):
        return "passed"
    return "taken"


def is_passed(text: str, start: int, at: int) -> bool:
    """Whether words like ``unlike`` lead up to a place: what follows the next comma is no part of that list."""
    return _PASSES.search(text, max(start, at - 24), at) is not None


def is_item(text: str, sentence: tuple[int, int], start: int, end: int) -> bool:
    """Whether the options stand in a list of what is on offer: ``(C) fish``, ``- fish: has no fur``."""
    item = _ITEM.fullmatch(text, sentence[0], start)
    if not item:
        return False
    return bool(_ITEM_END.match(text, end, sentence[1])) or (
        any(c.isalnum() for c in item.group()) and not text[end : sentence[1]].strip(" .\n)")
    )

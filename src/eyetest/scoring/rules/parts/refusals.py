"""Replies that decline, or say that they cannot see or know."""

import re

import msgspec

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case

_PICTURE = r"(?:image|picture|photo|photograph|figure|diagram|graph|chart|map|table|attachment|file|screenshot)s?"
_FACTS = r"(?:information|data|context|details?|evidence)"
_HOW = r"(?:\w{1,12}ly|even|just|really|see|be|help|at this time|at all|also|possibly|in good conscience)"
_KNOW = (
    r"(?:see|view|say|tell|determine|answer|know|identify|access|provide|process|assist|help|make out|give|infer|"
    r"judge|"
    r"read|analy[sz]e|decide|establish|solve|pick|choose|select|open|display|look|be (?:sure|certain|determined)|"
    r"do (?:that|this|so)|comply|discern|confirm|verify|complete|offer|interpret|examine|inspect|perceive|"
    r"recogni[sz]e|"
    r"distinguish|commit|guess|discuss|engage|respond|support|describe|evaluate|assess|conclude|make|find|load|"
    r"continue|perform|share|speculate|name|directly|rely|access)"
)
"""What somebody cannot do who declines; "we cannot simply multiply" is no refusal."""


class _Family(msgspec.Struct, frozen=True):
    """Refusals of one kind, and words of which one is in all of them."""

    words: frozenset[str]
    pattern: re.Pattern[str]


def _family(words: str, pattern: str) -> _Family:
    return _Family(gates.words(words), re.compile(pattern))


FAMILIES = (
    _family(
        "i we i'm i'd i'll",
        r"\b(?:i|we)(?:'m| am|'d|'ll|'m afraid i'm| was|'m really)?\s(?:[\w'\-]{1,12}\s){0,3}?"
        rf"(?:(?:can't|cannot|can not|couldn't|could not|unable to|not able to|won't|will not|"
        rf"not going to)(?:\s{_HOW}){{0,2}}\s"
        rf"{_KNOW}|don't know|do not know|(?:don't|do not) have (?:\w+ ){{0,4}}?(?:access|ability|{_FACTS}|"
        rf"{_PICTURE}|"
        r"way|capab\w+|idea|means|enough|eyes|vision)|"
        rf"(?:do not|don't) (?:actually )?see (?:an?|any|the|your) (?:\w+ ){{0,2}}?{_PICTURE}|not sure|uncertain|"
        rf"not comfortable|not allowed|not certain|decline|(?:would )?need (?:more|additional|further|an?|your|"
        rf"some|to have) (?:\w+ ){{0,2}}?"
        rf"(?:{_FACTS}|{_PICTURE})|(?:would |'d )?need (?:access|the (?:image|picture|photo|figure)|"
        r"to (?:see|look at|view|inspect))|"
        rf"have no (?:way|idea|access|image)|haven't (?:been|seen|received)|lack (?:\w+ ){{0,3}}?(?:{_FACTS}|ability|"
        rf"access)|didn't receive|did not receive|refuse|apologi[sz]e|sorry|"
        rf"require (?:\w+ ){{0,3}}?(?:{_FACTS}|{_PICTURE})|rather not)\b|\bi'm sorry\b|\bi see no ",
    ),
    _family(
        "way cannot can't can couldn't could unable impossible possible able isn't",
        r"^\W{0,10}(?:cannot|can't|unable to|not able to|impossible to) (?:be )?\w+|"
        r"\b(?:(?:unable|impossible|not possible|not able) (?:for me )?to (?:\w+ly )?(?:see|view|say|tell|determine|"
        r"answer|know|identify|access|provide|process|assist|help|make out|give|infer|judge|read|analy[sz]e|decide|"
        r"establish|solve|calculate|choose|select|pick)|"
        r"(?:can't|cannot|can not|couldn't|could not) be (?:\w+ly )?(?:determined|answered|known|identified|inferred|"
        r"established|told|said|seen|deduced|ascertained)|"
        r"can't (?:help|assist|identify|infer|provide|comply|do that|tell|say|answer|see|view|determine)|"
        r"isn't (?:showing|loading|displaying)|no way (?:for me )?to (?:tell|know|determine|say)\b(?! them|"
        r" the two))",
    ),
    _family(
        "image images picture pictures photo photos photograph figure figures diagram diagrams graph graphs chart "
        "charts map maps table tables attachment attachments file files screenshot options",
        rf"\b(?:no {_PICTURE} (?:\w+ ){{0,2}}?(?:was|were|is|are|has|have|attached|provided|given|included|visible|"
        r"uploaded|shown|available|appears)|"
        rf"{_PICTURE} (?:is|was|were|are|isn't|wasn't|aren't|weren't|appears?|seems?|did|does|didn't|doesn't|hasn't|"
        r"has)"
        r"\s(?:\w+ ){0,3}?(?:missing|blank|empty|visible|unavailable|too (?:blurry|dark|small|low)|unreadable|load|"
        r"loaded|attached|included|provided|uploaded|accessible|illegible|unclear|blurry)|"
        rf"(?:haven't|have not|didn't|did not|hasn't|has not) (?:provide|attach|include|upload|share|"
        rf"supplie|supply|sen[dt]|give)(?:[dn]|ed)? (?:\w+ ){{0,3}}?(?:{_PICTURE}|options\b(?! with| that))|"
        rf"(?:without|unless) (?:\w+ ){{0,3}}?{_PICTURE}\b|(?:there is|there's|i see) no (?:\w+ )?{_PICTURE})",
    ),
    _family(
        "information data context detail details evidence",
        rf"\b(?:(?:not|in|n't) ?(?:enough|sufficient) (?:\w+ ){{0,2}}?{_FACTS}|\w+n't enough {_FACTS}|"
        rf"insufficient {_FACTS}|lack of {_FACTS}|without (?:\w+ ){{0,2}}?more {_FACTS}|"
        r"(?:does not|doesn't|do not|don't|did not|didn't) (?:provide|give|contain|include|specify|have|show|state|"
        rf"mention|supply|offer|present) (?:\w+ ){{0,4}}?{_FACTS}\b|"
        rf"{_FACTS} (?:\w+ ){{0,4}}?(?:is|are) (?:\w+ ){{0,2}}?(?:insufficient|missing|lacking|needed|required|"
        r"incomplete|not (?:enough|sufficient|given|provided|available)))",
    ),
    _family(
        "sorry unfortunately ai language guidelines policy policies rules instructions upload provide share attach "
        "describe send supply idea clue hard beyond against idk violate violates violating",
        r"\b(?:sorry|unfortunately|(?:as an?|i am an?|i'm an?) (?:ai|text-based ai|language model|large language)\b|"
        r"(?:my|the|our) (?:guidelines|policy|policies|rules|instructions) (?:don't|do not|prohibit|prevent|forbid)|"
        r"(?:please|could you|can you|would you) (?:\w+ )?(?:upload|provide|share|attach|describe|send|supply)|"
        r"(?:once|when|after|if|as soon as) you(?: can| could| have)? (?:upload|provide|share|attach|describe|send|"
        r"supply)[^.!?\n]{0,80}?\b(?:i|we)(?:'ll| can| could| will|'d| would| may| might)\b|"
        r"no (?:idea|clue)\b|hard to (?:say|tell)\b|beyond my|against my|idk\b|"
        r"violat\w{1,3} (?:my|our|the))",
    ),
    _family(
        "~ kann keine leider je impossible lo no não desculpe non mi ik helaas nie niestety przepraszam maaf tidak",
        r"\b(?:kann (?:ich |das |es )?(?:\w+ ){0,5}?(?:nicht|keine)|keine? (?:bild|bilder)\b|ich weiß (?:es )?nicht|"
        r"leider\b|je ne (?:peux|sais|vois|suis)|impossible de\b|désolée?\b|lo siento\b|"
        r"no (?:puedo|sé|veo|tengo|entiendo)\b|"
        r"no es posible|não (?:posso|consigo|sei|vejo|é possível)|desculpe|non (?:posso|so|vedo|riesco)\b|"
        r"mi dispiace|"
        r"ik kan (?:\w+ ){0,3}?(?:niet|geen)\b|helaas|nie (?:mogę|wiem|widzę)|niestety|przepraszam|maaf\b|"
        r"tidak (?:dapat|bisa|tahu)|не (?:могу|вижу|знаю)|невозможно|к сожалению|извините)|"
        r"üzgünüm|göremiyorum|bilmiyorum|xin lỗi|không thể|无法|不能(?:看|查看|回答|确定|识别)|抱歉|对不起|看不到|"
        r"不知道|没有(?:提供|看到)图|申し訳|すみません|できません|わかりません|分かりません|見えません|죄송|"
        r"수 없습니다|모르겠|볼 수 없|क्षमा|माफ|नहीं (?:देख|बता|कर)|عذرا|آسف|لا (?:أستطيع|يمكنني|أعرف)",
    ),
)
"""Only the families are tried of which a word is in the sentence: each has dozens of branches."""


_ANY_FAMILY = frozenset().union(*(family.words for family in FAMILIES))


def find_refusal(case: Case, start: int, end: int) -> re.Match[str] | None:
    """The words with which a sentence declines."""
    words = case.words(start, end)
    for family in FAMILIES:
        if not words.isdisjoint(family.words) and (found := family.pattern.search(case.low, start, end)):
            return found
    return None


def may_refuse(case: Case) -> bool:
    """Whether some family has a word in the reply."""
    return not case.all_words.isdisjoint(_ANY_FAMILY)


BUT = re.compile(
    r"\b(?:but|however|that said|nevertheless|nonetheless|still|based on|judging|given|if i had to|if forced|guess|"
    r"assum\w{1,4}|likely|probabl\w{1,2}|plausible|presumably|i'd say|would say|grain of salt|anyway|"
    r"going by|mais|aber|pero|однако|但)\b|但|でも|しかし|하지만",
    re.IGNORECASE,
)
FAILURE = re.compile(
    r"\s{0,20}[\[({<\"']{0,4}\s{0,4}(?:(?:api|request|http|server|network|connection|internal|model|openai|azure|"
    r"gateway|timeout|rate ?limit|quota|generation|inference)[ _\-]{0,2}"
    r"(?:error|fail\w{0,4}|exception|time(?:d)?[ _]?out|exceeded|limit)|failed to|[A-Za-z.]{0,40}(?:Error|"
    r"Exception)\b\s{0,3}[:(\]]|error\b\s{0,3}[:\]\d(\"]|[45]\d\d\s{1,3}(?:[A-Z][a-z]+|error)|traceback|"
    r"\"?error\"?\s{0,3}:|"
    r"<!doctype|<html|cuda\b|out of memory|request (?:failed|timed)|service unavailable|too many requests|"
    r"timed? ?out\b|content[ _]filter|blocked by)",
    re.IGNORECASE,
)
FAILURE_SIGNS = (
    "error", "fail", "exception", "time", "cuda", "memory", "<html", "<!doc", "unavailable", "requests", "blocked",
    "filter", "traceback", "limit", "quota", "exceeded", "500", "502", "503", "504", "40", "429",
)  # fmt: skip
"""One of these is in the beginning of every failure."""
EMPTY_WORDS = frozenset({"nan", "none", "null", "n/a", "na", "undefined", "error", "-", "unknown", "[]", "{}"})
UNDECIDABLE = re.compile(
    r"\b(?:can't|cannot|can not|could not|couldn't|not possible to|impossible to|unable to|"
    r"no way to) (?:be )?(?:determine|"
    r"tell|know|say|decide|infer|answer|deduce)\w{0,2}"
    r"|\b(?:not enough|insufficient|inadequate) (?:information|data|context|detail)|\bi (?:don't|do not) know\b|"
    r"无法(?:确定|判断)",
    re.IGNORECASE,
)
"""What an option may say itself, so that saying it is choosing it."""

"""Where a stretch of text names options, and whether it takes them, rules them out or only passes by."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

import msgspec

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.lowered import cased, lower
from eyetest.scoring.rules.parts.marks import NOUN, mark_at
from eyetest.scoring.rules.parts.offer import COMMON, Offer
from eyetest.scoring.rules.parts.spoken import ORDINALS
from eyetest.scoring.rules.parts.tokens import Token, tokenise

Stance = Literal["taken", "dropped", "passed"]

_MARKED = re.compile(
    rf"(?<!\w)\((?=[A-Za-z0-9]{{1,2}}\))|\b{NOUN}\s{{0,4}}(?=[\"'(\[]{{0,3}}(?:[A-Za-z]|\d{{1,2}})(?!\w))",
    re.IGNORECASE,
)
_JOIN = re.compile(
    r"(?:\s|,|/|&|\(|\)|\"|and/or|and|or|nor|perhaps|maybe|possibly|also|even|the|an?|either|both|as well as|of|"
    r"und|oder|et|ou|y|o|или|и|noch|ni|或|"
    r"和|、|と"
    r"|der|die|das|eine?|les?|la|el|los|las|options?|option)*",
    re.IGNORECASE,
)
_JOINED = re.compile(r",|/|&|\b(?:and|or|nor|und|oder|et|ou|y|o|или|и|noch|ni)\b|或|和|、|と", re.IGNORECASE)
_BOUNDARY = re.compile(
    r"[;:]|,\s|\b(?:but|so|therefore|thus|hence|however|because|since|instead|it's|it is|this is|that is|that's|"
    r"which is|"
    r"which leaves|leaving|leaves|only|sondern|mais|sino|pero|aber|while|whereas|then|although|though|"
    r"is correct)\b|而是|所以|因此|，|、",
    re.IGNORECASE,
)
_NEGATES = re.compile(
    r"\b(?:anything but|everything but|anything except|not|no|never|neither|nor|cannot|without|\w{2,7}n't|nobody|"
    r"nowhere near|né|none|rul(?:e|es|ed|ing)\s+out|eliminat\w{1,4}|exclud\w{1,4}|"
    r"take back|withdraw|cross\w{0,3} out|strike out|reject\w{0,3}|discard\w{0,3}|dismiss\w{0,3}|wrong|incorrect|"
    r"far from|nicht|kein\w{0,2}|pas|ni|не|нет|niet|geen|nie|non|não|n'est|nem|değil|bukan|không)\b"
    r"|不是|不可能|并非|排除|没有|非",
    re.IGNORECASE,
)
_BUT_NOT_THIS = re.compile(
    r"(?:\b\w{2,7}n't|\bnot|\bcannot|\bno)\b[^.,;\n]{0,20}\b(?:anything|anyone|anybody|any|option|choice|one|"
    r"thing)(?: of (?:the|these|those) \w{1,12})? (?:other than|but|except|else than)\b|"
    r"\b(?:no|without(?: a)?|(?:not?|hardly|scarcely|n't) any|little|hardly a) doubt\b|\bnot only\b|\b(?:nothing|"
    r"none|no one|nobody) (?:but|"
    r"other than|except|else than)\b"
    r"|\bno other than\b|\bother than\b|\bnot sure\b|\bno longer\b|\bno \w+ on\b|\bif i'm not (?:wrong|mistaken)\b",
    re.IGNORECASE,
)
_NEGATIVE = gates.words(
    "take withdraw cross crossed crossing strike anything everything not no never neither nor cannot without "
    "nowhere rejecting discarding dismissed dismisses né doubt doubts nobody none rule rules ruled ruling "
    "eliminate eliminates eliminated eliminating exclude excludes excluded "
    "excluding "
    "reject rejects rejected discard discards discarded dismiss wrong incorrect far nicht kein keine keinen pas ni "
    "niet geen nie non ~"
)
_LONE = re.compile(r"(?<![\w'.])[A-Z](?![\w'])")
_LABELLED = re.compile(
    r"\b(?:figure|fig|point|graph|vitamin|plan|type|group|school|bank|machine|labell?ed|called|named|letter|marked|"
    r"project|bus|plate|class|section|part|line|angle|side|vertex|node|ray|switch|company|specimen|sample|structure|"
    r"curve|region|arrow|position|site|panel|beaker|tube)s?\.?\s{1,3}$",
    re.IGNORECASE,
)
_FINITE = re.compile(r"\b(?:is|are|was|were|ist|sind|est|es|son|è|é)\b(?!\s+(?:not|n't))", re.IGNORECASE)
_REACHES = re.compile(
    r"\b(?:no way|(?<!no )(?<!a )(?<!any )(?<!little )doubt(?:s|ed|ful)?|unlikely that|impossible that)\b",
    re.IGNORECASE,
)
"""Negations that reach over a verb: ``there is no way the sample is a gas``."""
_DOUBTS = re.compile(
    r"\b(?:think|believe|agree|suppose|say|guess|consider|expect|glaube|denke|pense|creo)\b", re.IGNORECASE
)
_PASSES = re.compile(
    r"\b(?:unlike|than|rather than|instead of|whereas|while|as opposed to|opposed to|versus|vs|compared (?:to|"
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
    r"contradict\w{0,3}|none\b|lacks?\b|crossed|thrown out|disqualified|gone\b)|\s{0,3}[\"')\]]{0,2},? but no\b",
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
_THOSE_NOT = re.compile(
    r"\b(?:(?:those|they|these|both|all three) (?:don't|do not|can't|cannot|aren't|won't|are (?:all )?(?:out|"
    r"wrong|incorrect|excluded|"
    r"ruled out|impossible))|(?:neither|none) of (?:these|them|those))\b",
    re.I,
)
"""``Monday and Tuesday are closed, so those don't work``."""
_AFTER_PASSES = re.compile(
    r"\s{0,3}[\"')\]]{0,2}\s{0,3}(?:would|might|could|may|if|comes second|also|normally|usually|typically)\b|"
    r"\s{0,2}\?",
    re.IGNORECASE,
)
_SENTENCE_START = re.compile(
    r"[.!?\n:;,\"'—–(\-]\s*$|^\s*$|\b(?:actually|so|well|oh|then|thus|hence)\s$", re.IGNORECASE
)
_ITEM = re.compile(
    r"\s{0,20}(?:[-•+]\s{0,3})?(?:\d{1,2}[.)]\s{0,3}|\(?[A-Za-z][).:]\s{0,3}|options?\s[A-Za-z]\b[.:)]?\s{0,3})?\(?",
    re.IGNORECASE,
)
_ITEM_END = re.compile(r"\)?\s{0,6}(?::|\s[–—-]\s)(?=.*\w)")
_AFTER_YES = re.compile(
    r"\s{0,3}(?:[,.!:;\"')—–\-的]|$|\n)|\s(?:it|there|they|he|she|this|that|you|we|i)\b", re.IGNORECASE
)
_VERB_BEFORE = re.compile(r"\b(?:I|we|you|they)\s$", re.IGNORECASE)
"""``I mean`` is no mean."""
_RIGHT_WHAT = re.compile(
    r",\s{1,3}(?:so|then|let|the|now|i|we)\b|\s{1,3}(?:answer|option|choice|angle|triangle|one\b|of\b|side|hand)"
)
_APART = 6
_OPENING = ("[", "(", '"', "'")
_CLOSING = ("]", ")", '"', "'")
_SEQUENCES = (
    ("(A)", "(B)", "(C)"),
    ("(a)", "(b)", "(c)"),
    ("A)", " B)", " C)"),
    ("A. ", " B. ", " C. "),
    ("1) ", " 2) ", " 3) "),
)
_ORDINAL = re.compile(
    rf"\b({'|'.join(ORDINALS)}|last)\s(?:(?:option|choice|answer|alternative)\b(?!s)|one(?=\W{{0,4}}$)|"
    rf"(?:one )?of the (?:\w{{2,5}} )?(?:options|"
    r"choices|answers|alternatives|values)\b)",
    re.IGNORECASE,
)
_CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERED = re.compile(
    rf"(?<!the )(?<!\w )\bnumber ({'|'.join(_CARDINALS)})"
    r"(?=,| (?:is|fits|matches|describes|shows|seems|looks|gives)\b)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"([^"\n]{4,80})"')
_OPERATOR = frozenset("+-×÷=<>/^*")
_CASED = frozenset({"may", "march", "us", "it", "will"})
_SPOKEN = _CASED | {"right", "left", "go", "off", "true", "false", "up", "down", "odd", "even", "one", "same"}

_LOW_BUT_NOT_THIS, _LOW_BOUNDARY, _LOW_PASSES, _LOW_REACHES, _LOW_NEGATES = map(
    cased, (_BUT_NOT_THIS, _BOUNDARY, _PASSES, _REACHES, _NEGATES)
)


class Group(msgspec.Struct):
    """Options named together, as in ``B or C``, and what becomes of them."""

    places: tuple[int, ...]
    start: int
    end: int
    stance: Stance
    marked: bool = False
    conflicting: bool = False


class _Named(msgspec.Struct):
    places: tuple[int, ...]
    start: int
    end: int
    marked: bool = False
    bare: bool = False


def named(text: str, start: int, end: int, offer: Offer, words: set[str] | None = None) -> list[_Named]:
    """Every option that is named by text or by a dressed mark, the longest fitting one at each place."""
    hopeful = words is None or offer.unspelt or gates.FOREIGN in words or not words.isdisjoint(offer.first_words)
    found = _by_text(text, tokenise(text, start, end), offer) if hopeful else []
    dressed = words is None or not words.isdisjoint(gates.NOUN) or text.find("(", start, end) >= 0
    for dress in _MARKED.finditer(text, start, end) if dressed else ():
        mark = mark_at(text, dress.start(), end, offer)
        if mark and mark.start < dress.end() + 8:
            found.append(_Named(tuple(place for place in mark.places if place >= 0), mark.start, mark.end, True))
    if words is None or not (words.isdisjoint(gates.ORDINAL) or words.isdisjoint(gates.COUNTED)):
        found.extend(_by_ordinal(text, start, end, offer))
        found.extend(_by_number(text, start, end, offer))
    if text.find('"', start, end) >= 0:
        found.extend(_quotations(text, start, end, offer))
    if (words is None or gates.NEGATION in words or not words.isdisjoint(_NEGATIVE)) and _NEGATES.search(
        text, start, end
    ):
        found.extend(bare_marks(text, start, end, offer))
    found = [one for one in found if one.places]
    found.sort(key=lambda one: (one.start, one.end))
    return found


def _by_number(text: str, start: int, end: int, offer: Offer) -> Iterator[_Named]:
    """``Number three describes it best``."""
    for found in _NUMBERED.finditer(text, start, end):
        place = _CARDINALS.index(found[1].lower())
        if place < offer.count and not offer.numbers:
            yield _Named((place,), found.start(), found.end(), True)


def _quotations(text: str, start: int, end: int, offer: Offer) -> Iterator[_Named]:
    """``"upside down" is wrong``: words in quotation marks that are part of one option only."""
    for found in _QUOTED.finditer(text, start, end):
        tokens = tuple(token.word for token in tokenise(text, *found.span(1)))
        size = len(tokens)
        if size < 2 or tokens in offer.exact:
            continue
        having = [
            place
            for place, option in enumerate(offer.words)
            if any(option[n : n + size] == tokens for n in range(len(option) - size + 1))
        ]
        if len(having) == 1:
            yield _Named((having[0],), found.start(1), found.end(1))


def _by_ordinal(text: str, start: int, end: int, offer: Offer) -> Iterator[_Named]:
    """``the second option``, ``the last of the four values``."""
    for found in _ORDINAL.finditer(text, start, end):
        place = offer.count - 1 if found[1].lower() == "last" else ORDINALS.index(found[1].lower())
        if place < offer.count:
            yield _Named((place,), found.start(), found.end(), True)


def bare_marks(text: str, start: int, end: int, offer: Offer) -> list[_Named]:
    """Capital letters alone: marks where they are ruled out ("not A, not B"), else most often names of things."""
    found: list[_Named] = []
    at = start
    while letter := _LONE.search(text, at, end):
        mark = mark_at(text, letter.start(), end, offer)
        at = max(letter.end(), mark.end if mark else 0)
        if mark and not _LABELLED.search(text, max(start, letter.start() - 20), letter.start()):
            found.append(
                _Named(tuple(place for place in mark.places if place >= 0), mark.start, mark.end, True, True)
            )
    return found


def _by_text(text: str, tokens: list[Token], offer: Offer) -> list[_Named]:
    found: list[_Named] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        step = 1
        for pattern, place in offer.starts.get(token.word, ()):
            size = len(pattern)
            if size > 1 and tuple(t.word for t in tokens[at : at + size]) != pattern:
                continue
            last = tokens[at + size - 1]
            if last.end - token.start > 2 * offer.longest + 20 or not _means_it(
                text, tokens, at, size, offer.texts[place]
            ):
                continue
            found.append(_Named((place,), token.start, last.end))
            step = size
            break
        at += step
    return found


def _means_it(text: str, tokens: list[Token], at: int, size: int, option: str) -> bool:
    """Everyday words, single letters and numbers inside formulas are no mention of an option."""
    token = tokens[at]
    if token.raw[0].isdigit() or token.raw == "-":
        return _stands_free(text, tokens, at, size)
    if size > 1:
        return True
    if len(token.raw) == 1 and token.raw.isascii() and token.raw.isalpha():
        labelled = _LABELLED.search(text, max(0, token.start - 20), token.start)
        if token.raw.islower() and option.strip() == token.raw:
            return bool(labelled) or (
                text[token.start - 1 : token.start] in _OPENING and text[token.end : token.end + 1] in _CLOSING
            )
        return token.raw.isupper() and option.strip()[:1].isupper() and (bool(labelled) or token.raw not in "AI")
    if _VERB_BEFORE.search(text, max(0, token.start - 6), token.start) and token.raw.islower():
        return False
    return token.word not in COMMON or _everyday(text, token, option)


def _everyday(text: str, token: Token, option: str) -> bool:
    """Whether a word like ``no`` or ``right`` is the option here and not just a word."""
    if token.word in _SPOKEN:
        cased = token.word not in _CASED or token.raw[0].isupper() or option.strip()[:1].islower()
        return cased and not _RIGHT_WHAT.match(text, token.end)
    starts = _SENTENCE_START.search(text[max(0, token.start - 12) : token.start])
    return bool(starts) and bool(_AFTER_YES.match(text, token.end))


def _stands_free(text: str, tokens: list[Token], at: int, size: int) -> bool:
    """Whether a number is no part of a calculation: ``3 + 5`` names neither, ``= 8`` names 8."""
    token, last = tokens[at], tokens[at + size - 1]
    before = text[max(0, token.start - 2) : token.start]
    if before.endswith("-") and token.raw != "-" and not before[0].isalnum():
        return False
    previous = tokens[at - 1].raw if at and token.start - tokens[at - 1].end <= 2 else ""
    behind = at + size
    following = tokens[behind].raw if behind < len(tokens) and tokens[behind].start - last.end <= 2 else ""
    return size > 1 or (previous not in _OPERATOR - {"=", "-"} and following not in _OPERATOR)


def groups(text: str, start: int, end: int, offer: Offer, words: set[str] | None = None) -> list[Group]:
    """The options named between two places, gathered into lists, each taken, dropped or passed by."""
    found: list[Group] = []
    run: list[_Named] = []
    for one in named(text, start, end, offer, words):
        if run and one.start < run[-1].end:
            if one.marked and not run[-1].marked:
                run[-1] = one
            continue
        again = any(one.places == other.places for other in run) and not one.marked
        if run and (
            again
            or not _JOIN.fullmatch(text, run[-1].end, one.start)
            or (text[run[-1].end : one.start].strip() == "," and _is_passed(text, start, run[0].start))
        ):
            found.append(_group(text, start, end, run, offer))
            run = []
        run.append(one)
    if run:
        found.append(_group(text, start, end, run, offer))
    if found and found[0].stance == "passed" and _is_item(text, (start, end), found[0].start, found[0].end):
        for group in found[1:]:
            group.stance = "passed" if group.places == found[0].places and group.stance == "taken" else group.stance
    if found and lists_inline(text, start, end):
        for group in found:
            group.stance = "passed"
    if found and (those := _THOSE_NOT.search(text, start, end)):
        for group in found:
            if group.end <= those.start():
                group.stance = "dropped"
    return [group for group in found if group.places]


def _is_passed(text: str, start: int, at: int) -> bool:
    """Whether words like ``unlike`` lead up to a place: what follows the next comma is no part of that list."""
    return _PASSES.search(text, max(start, at - 24), at) is not None


def lists_inline(text: str, start: int, end: int) -> bool:
    """Whether a sentence quotes the options: ``(A) cat (B) dog (C) bird``."""
    for first, second, third in _SEQUENCES:
        one = text.find(first, start, end)
        if (
            one >= 0
            and (two := text.find(second, one, end)) >= one + _APART
            and text.find(third, two, end) >= two + _APART
        ):
            return True
    return False


def _together(places: tuple[int, ...], offer: Offer) -> int | None:
    """The option that is just these options together: ``cats as well as dogs`` is ``cats and dogs``."""
    words = sorted(word for place in places for word in offer.words[place])
    whole = [place for place, option in enumerate(offer.words) if sorted(option) == words]
    return whole[0] if len(whole) == 1 else None


def _group(text: str, start: int, end: int, run: list[_Named], offer: Offer) -> Group:
    places = tuple(dict.fromkeys(place for one in run for place in one.places))
    apart = any(_JOINED.search(text, left.end, right.start) for left, right in pairwise(run))
    stance = stance_of(text, (start, end), run[0].start, run[-1].end)
    if len(places) > 1 and (whole := _together(places, offer)) is not None:
        places = (whole,)
    apart = apart or any(len(one.places) > 1 for one in run)
    if stance != "dropped" and any(one.bare for one in run):
        places = tuple(dict.fromkeys(place for one in run if not one.bare for place in one.places))
    return Group(
        places, run[0].start, run[-1].end, stance, any(one.marked for one in run), len(places) > 1 and not apart
    )


def stance_of(text: str, sentence: tuple[int, int], start: int, end: int) -> Stance:
    """What a sentence does with the options that stand at a place in it."""
    before = lower(text[max(sentence[0], start - 120) : start])
    harmless = _LOW_BUT_NOT_THIS.sub(lambda found: " " * len(found.group()), before)
    clause = 0
    for boundary in _LOW_BOUNDARY.finditer(before):
        clause = boundary.end()
    if _is_negated(harmless, clause):
        return "dropped"
    if _AFTER_DROPS.match(text, end, min(sentence[1], end + 160)):
        return "taken" if _ALL_BUT.search(before) else "dropped"
    if _ASKED.match(text, end):
        return "dropped"
    lead = max(clause - 16, 0)
    if (
        _LOW_PASSES.search(harmless, lead)
        or _is_item(text, sentence, start, end)
        or _AFTER_PASSES.match(text, end, min(sentence[1], end + 24))
    ):
        return "passed"
    return "taken"


def _is_negated(before: str, clause: int) -> bool:
    """Whether the words before an option negate it: in its own clause, or by a doubt that reaches further."""
    if _LOW_REACHES.search(before, _comma(before)):
        return True
    for negation in reversed(list(_LOW_NEGATES.finditer(before))):
        between = before[negation.end() :]
        if _DOUBTS.match(between.lstrip()) and "," not in between:
            return True
        if negation.end() >= clause and not _FINITE.search(between):
            return True
    return False


def _comma(before: str) -> int:
    """Where the clause begins that holds the option: behind the last comma, semicolon or ``but``."""
    return max(before.rfind(", "), before.rfind("; "), before.rfind(" but ")) + 1


def _is_item(text: str, sentence: tuple[int, int], start: int, end: int) -> bool:
    """Whether the options stand in a list of what is on offer: ``(C) fish``, ``- fish: has no fur``."""
    item = _ITEM.fullmatch(text, sentence[0], start)
    if not item:
        return False
    return bool(_ITEM_END.match(text, end, sentence[1])) or (
        any(c.isalnum() for c in item.group()) and not text[end : sentence[1]].strip(" .\n)")
    )


def negates(text: str, start: int, end: int) -> bool:
    """Whether a sentence negates anything at all."""
    return bool(_NEGATES.search(text, start, end))

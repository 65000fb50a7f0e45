"""Lists that judge each option in turn: ``A) iron: this is not magnetic. B) gold: this is the most likely one.``

An item begins where a line begins with an option (its mark, its text or both) and ends where the next one begins. The
only item that is approved is the choice; so is the one that is left where all others are rejected.
"""

import re
from typing import Literal, NamedTuple

from eyetest.scoring.rules.claims import Claim
from eyetest.scoring.rules.cues import ReplyView
from eyetest.scoring.rules.mentions import Mention, mark_at, text_at, with_text

_LINE = re.compile(r"(?:^|\n)[\s\-•|>#\d.]{0,12}?(?=[^\s\-•|>#])")
_LEAST_ITEMS = 3
_MOST_ITEMS = 60
_APPROVES = re.compile(
    r"\b(?:is|are|was|were|would be|seems?|appears?|be|being|indeed) "
    r"(?:(?:therefore|thus|indeed|clearly|also|definitely|probably|likely|actually) )*"
    r"(?:the |a |an )?(?:(?:only|single) )?"
    r"(?:(?:most|more) (?:likely|probable|plausible|appropriate|accurate|suitable|common|consistent|reasonable|"
    r"logical|correct)|best|correct|right|true|likely (?:to be )?(?:the )?(?:correct|answer|cause|diagnosis)?|"
    r"the answer|closest)\b"
    r"|(?:^|[\s|:→>–—-])(?:yes|correct|true|relevant|right|matches)[\s.!)|*]*$"
    r"|[✓✔✅☑][\s.!)|*]*$|\bis (?:最|正确)|正确|正しい|正解"
)
_REJECTS = re.compile(
    r"\b(?:not|never|cannot|unlikely|incorrect|wrong|false|irrelevant|inconsistent|implausible|unrelated|excluded|"
    r"eliminated|ruled out|less)\b|n't\b|\b(?:no|out|impossible)[\s.!)|*]*$"
    r"|\b(?:(?:there|it|this|that) (?:is|are)|has|have|shows?|contains?|with) no\b"
    r"|[✗✘❌☒]|不正确|错误|不符|誤り|不適切"
)

Judgment = Literal["approved", "rejected", "open"]


class JudgedItem(NamedTuple):
    """An item of a list: the option with which it begins, and where what is said of it begins and ends."""

    mention: Mention
    end: int


def read_list(view: ReplyView) -> Claim | None:
    """The choice of a list that judges each option in turn; None where nothing follows from one."""
    items = find_items(view) if view.offer.count else []
    options = [item.mention.options[0] for item in items]
    if not options or len(set(options)) < min(_LEAST_ITEMS, view.offer.count) or len(options) > _MOST_ITEMS:
        return None
    if view.offer.count < _LEAST_ITEMS and any(item.mention.by == "text" for item in items):
        return None
    verdicts: dict[int, Judgment] = {}
    for item in items:
        verdicts[item.mention.options[0]] = _judge(view, item)
    approved = [option for option, verdict in verdicts.items() if verdict == "approved"]
    rejected = [option for option, verdict in verdicts.items() if verdict == "rejected"]
    left = [option for option in range(view.offer.count) if option not in rejected]
    if not approved and len(left) == 1 and len(rejected) >= 2:
        approved = left
    if len(approved) != 1:
        return None
    chosen = [item for item in items if item.mention.options[0] == approved[0]] or items
    mention = chosen[-1].mention
    is_marked = mention.by != "text"
    return Claim("chosen", (approved[0],), mention.start, mention.end, "judged list", is_marked)


def opens_judged_list(view: ReplyView, start: int) -> bool:
    """Whether the option with which a reply begins is only the first that it judges.

    It is rejected at once, or another one of the list is approved.
    """
    items = [item for item in find_items(view) if item.mention.start >= start]
    options = {item.mention.options[0] for item in items}
    if len(options) < max(1, min(_LEAST_ITEMS, view.offer.count)) or items[0].mention.start > start + _NEAR:
        return False
    first = items[0]
    behind = view.cued.low[first.mention.end : first.end]
    if _EXPLAINS.search(behind):
        return False
    sentence = view.cued.low[first.mention.end : min(first.end, first.mention.end + _AT_ONCE)].strip(" :*\n-–—")
    sentence = _SENTENCE_END.split(sentence)[0]
    if _REJECTS.search(sentence) and "other" not in sentence:
        return True
    others = [item for item in items[1:] if item.mention.options != first.mention.options]
    return any(_judge(view, item) == "approved" for item in others)


_AT_ONCE = 200
_EXPLAINS = re.compile(r"\b(?:why|explanation|reasons?|other (?:options|choices|answers))\b|解析|解説|解释|理由")
"""Words between an answer and a list of options that explains it."""
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s|\n")


def find_items(view: ReplyView) -> list[JudgedItem]:
    """The items of a list of options, each at the beginning of a line."""
    text, size = view.text, len(view.text)
    mentions: list[Mention] = []
    if text.count("\n") + 1 < min(_LEAST_ITEMS, view.offer.count):
        return []
    for line in _LINE.finditer(text):
        mention = _option_at(view, line.end())
        if mention and (not mentions or mention.start >= mentions[-1].end):
            mentions.append(mention)
    ends = [mention.start for mention in mentions[1:]]
    ends += [size] if mentions else []
    return [JudgedItem(mention, end) for mention, end in zip(mentions, ends, strict=True)]


def _option_at(view: ReplyView, at: int) -> Mention | None:
    """The option with which a line begins."""
    text, size, offer = view.text, len(view.text), view.offer
    mark = mark_at(text, at, size, offer)
    if mark and len(mark.options) == 1 and mark.options[0] >= 0 and mark.start - at <= _NEAR:
        whole = with_text(mark, text, size, offer)[0]
        is_item = whole.by == "both" or text[mark.end : mark.end + 1] in (":", ".", ")") or mark.dressed
        return whole if is_item else None
    named = text_at(text, at, size, offer)
    if named is None or named.start - at > _NEAR:
        return None
    is_number = text[named.start : named.end].isdigit() and text[named.end : named.end + 1] in (".", ")")
    return None if is_number else named


_NEAR = 12


def _judge(view: ReplyView, item: JudgedItem) -> Judgment:
    """Whether the words behind an option approve of it or reject it: its first paragraph, unless that is short."""
    words = view.cued.low[item.mention.end : item.end].strip()
    paragraph = words.split("\n\n")[0]
    words_judged = paragraph if len(paragraph) > _SHORT_PARAGRAPH else words
    for sentence in _SENTENCE_END.split(words_judged):
        approval = _APPROVES.search(sentence)
        if approval and _REJECTS.search(sentence[: approval.end()]) is None:
            return "approved"
    return "rejected" if _REJECTS.search(words) else "open"


_SHORT_PARAGRAPH = 30

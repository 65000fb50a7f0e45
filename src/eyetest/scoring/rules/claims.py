"""Commitments beside cues, each as a ``Claim``: an option that is announced, confirmed, boxed, or comes last."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from eyetest.scoring.rules import Kind
from eyetest.scoring.rules.cues import NO_WORD, Hit, ReplyView, sentence_end, sentence_start
from eyetest.scoring.rules.mentions import Mention, bare_letters_in, letters_in, mark_at, text_at, texts_in, with_text
from eyetest.scoring.rules.moods import Clause, Mood, find_mood
from eyetest.scoring.rules.options import Offer, like_text, same_text, tokenise

_CLAUSE = re.compile(
    r"[,;(]\s?|\s[-–—]\s(?=[A-Za-z]{3})|:\s|\.\s|\s(?:because|since|as|which|where|due|so|and thus|when|if|but|while|"
    r"based|given|in the (?:image|picture|figure|graph|table))\b"
)
_LEAD = re.compile(r"[\s:=>\"'\-–—*.,~≈]{0,12}(?:(?:option|choice|the)\s(?=[(\[\"']))?")
_BOX = re.compile(
    r"\\f?box(?:ed)?\s{0,3}\{((?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*\})+)\}|<\|begin_of_box\|>([^<]{1,600})<\|end_of_box"
)
_TAG = re.compile(
    r"<(?:answer|final|final_answer|conclusion|ans|output|choice|option|result|solution|response)>([^<]{0,2000})(?:<|$)",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"[\"'](?:final[ _]?|correct[ _]?|selected[ _]?|my[ _]?)?(?:answer|choice|option|prediction|response|letter|"
    r"label|result|selection|ans|final)(?:[ _](?:letter|choice|option))?[\"']\s{0,5}:\s{0,5}"
    r"(?:\"([^\"\n]{0,400})|'([^'\n]{0,400})|(\[[^\]\n]{0,100})|([-−]?[\w.]{1,40}))",
    re.IGNORECASE,
)
_TICK = re.compile(r"(?:^|\n)[\s\-*•]{0,10}(?:\[[xX✓✔]\]|☑|☒)([^\n]{1,400})")
_LAST_WORD = re.compile(r"(?:[:→;.]|-|–|—|=>)\s{1,3}(?=[\"(]?[A-Z][\")]?[.!]?$)")
_LONG = 2  # an option is seldom worded in more than so many times its own length
_LONGEST_CLAIM = 400
_MOST_CLAIMS = 60
_SHORT = 40
_HARDLY = 15


class Claim(NamedTuple):
    """The choice that a cue indicates: one option, or why none."""

    kind: Kind
    options: tuple[int, ...]
    start: int
    end: int
    cue: str
    marked: bool = False
    why: str = ""
    mood: Mood | None = None  # ``supposes``: it holds only if nothing else is claimed
    asserted: bool = False  # by a sentence that says of the option that it is what the question asks for


def one_or_many(mention: Mention, cue: str) -> Claim:
    """The claim of a mention; a mark that is not on offer chooses nothing."""
    kind: Kind = "chosen" if len(mention.options) == 1 else "ambiguous"
    why = "" if kind == "chosen" else "several options"
    if mention.options == (-1,):
        kind, why = "unparsed", "mark not on offer"
    return Claim(kind, mention.options, mention.start, mention.end, cue, mention.by in ("mark", "both"), why)


def claim_at(view: ReplyView, at: int, end: int, cue: str, *, final: bool) -> Claim | None:
    """The claim behind an announcement, up to the end of its sentence."""
    text, offer = view.text, view.offer
    start, lead = at, _LEAD.match(text, at, end)
    at = lead.end() if lead else at
    signed = text[at - 1 : at] == "-" and text[at : at + 1].isdigit()
    if signed and (at - 1 == start or text[at - 2] in " :=\n(\"'"):
        at -= 1
    stop = sentence_end(text, at, min(end, at + _LONG * offer.longest + _LONGEST_CLAIM))
    if at >= stop or not NO_WORD.sub("", text[at:stop]):
        return Claim("unparsed", (), at, stop, cue, why="nothing announced") if final else None
    if mark := mark_at(text, at, end, offer):
        return _marked(view, mark, end, cue)
    claim = _worded(view, at, stop, cue)
    if claim is not None or not final or view.cued.low.startswith("not ", at) or text[stop : stop + 1] == "?":
        return claim
    clause = _CLAUSE.search(text, at + 1, stop)
    is_short = (clause.start() if clause else stop) - at <= _SHORT
    return Claim("unparsed", (), at, stop, cue, why="not on offer") if is_short else None


def _marked(view: ReplyView, mark: Mention, end: int, cue: str) -> Claim:
    """A mark; several where another option's text stands beside it; a text alone where the mark is not on offer."""
    text, offer = view.text, view.offer
    line = text.find("\n", mark.end, end)
    line = end if line < 0 else line
    if len(mark.options) > 1:
        furthest = min(line, mark.start + _LONG * offer.longest + _LONGEST_CLAIM)
        whole = same_text(text[mark.start : sentence_end(text, mark.end, furthest)], offer)
        if whole is None and offer.sequences:
            return Claim("unparsed", (), mark.start, mark.end, cue, why="not on offer")
        return one_or_many(mark if whole is None else Mention((whole,), mark.start, mark.end, "text"), cue)
    if mark.options == (-1,) and (index := same_text(text[mark.start], offer)) is not None:
        return one_or_many(Mention((index,), mark.start, mark.end, "text"), cue)
    whole_mark, other = with_text(mark, text, line, offer)
    if other is None:
        joint = _OR.match(text, whole_mark.end, line) if whole_mark.by == "both" else None
        second = mark_at(text, joint.end(), line, offer) if joint else None
        second = with_text(second, text, line, offer)[0] if second else None
        if second and second.options[0] >= 0 and second.dressed:
            whole_mark = whole_mark._replace(options=tuple(dict.fromkeys((*mark.options, *second.options))))
        return one_or_many(whole_mark, cue)
    if mark.options == (-1,):
        return one_or_many(Mention((other,), mark.start, mark.end, "text"), cue)
    return Claim("ambiguous", (mark.options[0], other), mark.start, mark.end, cue, why="mark and text differ")


def _worded(view: ReplyView, at: int, stop: int, cue: str) -> Claim | None:  # noqa: PLR0911 (one a form)
    text, offer, cued = view.text, view.offer, view.cued
    clause = _CLAUSE.search(text, at + 1, stop)
    first = clause.start() if clause else stop
    line = text.find("\n", at)
    for until in dict.fromkeys((line if line > 0 else len(text), stop, first)):
        if until - at <= _LONG * offer.longest + _SHORT and (index := same_text(text[at:until], offer)) is not None:
            return _with_mark(view, Mention((index,), at, until, "text"), cue)
    if first_text := text_at(text, at, stop, offer):
        options = [first_text.options[0], *_joined(view, first_text, stop)]
        together = Mention(tuple(dict.fromkeys(options)), first_text.start, first_text.end, "text")
        return _with_mark(view, together, cue)
    if _NONE.match(text, at, stop):
        sure = not cued.between("refuses", at, stop)
        return Claim("unparsed" if sure else "refused", (), at, stop, cue, why="none of the options")
    if cued.between("denies", at, at + 2) and not cued.between("refuses", at, stop):
        return None
    if text.startswith("N/A", at) or cued.between("refuses", at, min(stop, at + _SHORT)):
        return Claim("refused", (), at, stop, cue)
    mentions = [*letters_in(text, at, stop, offer, view.nouns), *texts_in(text, tokenise(text, at, stop), offer)]
    for by in ("mark", "text"):
        named = [mention for mention in mentions if mention.by == by and mention.options != (-1,)]
        if named and len({mention.options for mention in named}) == 1:
            return one_or_many(named[0], cue)
    if not mentions and (index := like_text(text[at:first], offer)) is not None:
        return one_or_many(Mention((index,), at, first, "text"), cue)
    return None


def _with_mark(view: ReplyView, named: Mention, cue: str) -> Claim:
    """An option's text; ambiguous where another option's mark follows in brackets."""
    bracket = _BRACKET.match(view.text, named.end)
    mark = mark_at(view.text, bracket.start(1), bracket.end(), view.offer) if bracket else None
    if mark and mark.options not in (named.options, (-1,)):
        options = (*named.options, *mark.options)
        return Claim("ambiguous", options, named.start, named.end, cue, why="mark and text differ")
    claim = one_or_many(named, cue)
    return claim._replace(marked=True) if mark and mark.options == named.options else claim


_BRACKET = re.compile(r"[\s\"',]{0,4}(\((?:option |choice )?[A-Z]\))")
_NONE = re.compile(r"(?:none|neither|nothing)\b(?! other than| but)", re.IGNORECASE)
_JOINT = re.compile(r"[\s).,(]*(?:or|and)[\s).,(]*(?:[A-Z][.):]\s)?")
_OR = re.compile(r"[\s)\]]{0,3}(?:(?:,|or|and|&)\s|/)")


def _joined(view: ReplyView, named: Mention, stop: int) -> Iterator[int]:
    """Options coordinated with another: ``Paris or Rome``."""
    at = named.end
    while separator := _OR.match(view.text, at, stop):
        other = text_at(view.text, separator.end(), stop, view.offer)
        if not other:
            return
        yield other.options[0]
        at = other.end


def structured(view: ReplyView) -> Claim | None:
    """The last contents of a box, a tag, a field or a ticked line."""
    raw = view.body.raw
    spans: list[tuple[int, int]] = []
    if "box" in raw:
        spans += [box.span(box.lastindex or 0) for box in _BOX.finditer(raw)]
    if "<" in raw:
        spans += [tag.span(1) for tag in _TAG.finditer(raw)]
    if ":" in raw and ('"' in raw or "'" in raw):
        spans += [field.span(field.lastindex or 0) for field in _FIELD.finditer(raw)]
    if ("[" in raw or "☑" in raw) and len(ticks := [tick.span(1) for tick in _TICK.finditer(raw)]) == 1:
        spans += ticks
    spans = [span for span in spans if view.weights["box"] and view.text[slice(*span)].strip()]
    if not spans:
        return None
    last = max(spans)
    claim = claim_at(view, *last, "box", final=True)
    if claim and claim.kind == "chosen":
        claim = _with_box_before(view, sorted(spans), claim)
    is_other = claim is None or claim.why == "not on offer"
    return Claim("unparsed", (), *last, "box", why="not on offer") if is_other else claim


_BETWEEN_BOXES = re.compile(r"[\s$,.;}]*(?:and|or|&|,)?[\s$]*(?:\\f?box(?:ed)?\s{0,3}\{)?")


def _with_box_before(view: ReplyView, spans: list[tuple[int, int]], claim: Claim) -> Claim:
    """The claim of the last box; several options where only a conjunction stands between it and the one before."""
    if len(spans) < 2 or not _BETWEEN_BOXES.fullmatch(view.body.raw, spans[-2][1], spans[-1][0]):
        return claim
    first = claim_at(view, *spans[-2], "box", final=True)
    if first is None or first.kind != "chosen" or first.options == claim.options:
        return claim
    return claim._replace(kind="ambiguous", options=(*first.options, *claim.options), why="several options")


def announced(view: ReplyView) -> Iterator[Claim]:
    """Claims behind announcements and before confirmations; the last first."""
    cued, size = view.cued, len(view.text)
    hits = [(hit, True) for hit in cued.hits("announces")] + [(hit, False) for hit in cued.hits("confirms")]
    for hit, ahead in sorted(hits, key=lambda pair: -pair[0].end)[:_MOST_CLAIMS]:
        if view.lists and view.is_echo(hit.start):
            continue
        claim = claim_at(view, hit.end, size, hit.cue.name, final=hit.cue.final) if ahead else _confirmed(view, hit)
        if claim:
            mood = find_mood(view, Clause(min(hit.start, claim.start), max(hit.end, claim.end)))
            is_denied = ahead and hit.cue.name in _DENIABLE and _is_denied(cued.low, hit)
            if mood != "reports" and not is_denied:
                yield claim._replace(mood=mood or ("would be" if _is_would(view, hit, claim) else None))


_DENIABLE = ("answer is", "the right one is")
_NOT = re.compile(r"\b(?:not|cannot|never)\b|n't\b")
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never)|n't) (?:really |necessarily |quite |at all )?(?:think|believe|mean|say|agree|suggest|imply|"
    r"clear|likely|true|certain|sure|the case)(?: that)? (?:the |my )?(?:\w+ ){0,2}$"
    r"|\b(?:unlikely|doubt(?:ful)?|whether)(?: that| if)? (?:the |my )?(?:\w+ ){0,2}$"
    r"|\b(?:is|could|would|might|can|should) (?:the|my) (?:\w+ )?$"
)
"""Words before an announcement that deny it or ask for it."""
_REACH = 60


def _is_denied(low: str, hit: Hit) -> bool:
    """Whether an announcement is denied or asked for."""
    if _NOT.search(low, hit.start, hit.end):
        return True
    if ":" in low[hit.start : hit.end]:
        return False
    return _DENIED_BEFORE.search(low[max(0, hit.start - _REACH) : hit.start]) is not None


_RANK = r"(?:second|next)(?:[- ](?:best|closest|nearest|most)(?: [a-z]+)?)?"
_OTHER = re.compile(
    rf"(?:\b(?:wrong|incorrect|other|least(?: [a-z]+)?|{_RANK}|(?:possible )?alternative|your|student's)|\bthe given)"
    r" (?:answers?|options?|choices?)\b(?= ?(?:is|are|was|were|would|could|:))"
)
"""What an announcement speaks of instead of its own answer, if another announcement stands beside it."""
_BEFORE_HIT = 30
_WOULD = re.compile(
    r"\b(?:answers?|options?|choices?|one)\b[^.!?\n]{0,60}\b(?:would|might|could)\b(?! say)"
    r"|\b(?:sería|seria|wäre|serait)\b"
)
_BEST = re.compile(r"\b(?:closest|nearest|best|likely|likeliest)\b")
"""The words of an announcement that holds only if nothing else is announced, unless it names the best of several."""


def _is_would(view: ReplyView, hit: Hit, claim: Claim) -> bool:
    low = view.cued.low
    if _OTHER.search(low, max(0, hit.start - _BEFORE_HIT), claim.start):
        return True
    if _WOULD.search(low, hit.start, claim.end) is None:
        return False
    return _BEST.search(low, hit.start, claim.end) is None


def _confirmed(view: ReplyView, hit: Hit) -> Claim | None:
    """Read ``B is the correct answer``."""
    start = sentence_start(view.text, hit.start)
    mention = _before(view.text, start, hit.start, view.offer)
    if not mention or view.cued.denied(start, mention.start, len(view.text)):
        return None
    return one_or_many(mention, hit.cue.name)


def _before(text: str, start: int, end: int, offer: Offer) -> Mention | None:
    """The option named directly before an offset."""
    letters = [*letters_in(text, start, end, offer), *bare_letters_in(text, start, end, offer)]
    mentions = [*letters, *texts_in(text, tokenise(text, start, end), offer)]
    near = [mention for mention in mentions if not text[mention.end : end].strip(" )\"'],.")]
    if near:
        last = max(near, key=lambda mention: mention.end - mention.start)
        joined = [m.options[0] for m in mentions if m.end <= last.start and _JOINT.fullmatch(text, m.end, last.start)]
        return last._replace(options=tuple(dict.fromkeys((*joined, *last.options))))
    return None


def closing(view: ReplyView) -> Claim | None:
    """A last line that is only a mark or an option."""
    text = view.text
    size = len(text.rstrip())
    last = text.rfind("\n", 0, size) + 1
    is_long = size - last > _LONG * view.offer.longest + _SHORT
    if not last or not view.weights["closing line"] or is_long:
        return None
    claim = _line(view, last, size)
    if claim is None or claim.start in view.listed:
        return None
    above = text.rfind("\n", 0, max(0, last - 1)) + 1
    is_stated = "nswer" in text[last:size]
    other = _line(view, above, last - 1) if above < last - 1 and not is_stated else None
    if (
        other
        and other.start not in view.listed
        and other.kind == claim.kind == "chosen"
        and other.options != claim.options
    ):
        return claim._replace(kind="ambiguous", options=(*other.options, *claim.options), why="several options")
    return claim


def last_word(view: ReplyView) -> Claim | None:
    """A mark alone behind the last sentence."""
    size = len(view.text.rstrip())
    word = _LAST_WORD.search(view.text, max(0, size - 9), size) if view.weights["last word"] else None
    mark = mark_at(view.text, word.end(), size, view.offer) if word and view.offer.letters != "digit" else None
    known = mark and mark.start not in view.listed and mark.options != (-1,)
    return one_or_many(mark, "last word") if mark and known else None


def opening(view: ReplyView) -> Claim | None:
    """The mark with which a reply begins."""
    text, size = view.text, len(view.text.rstrip())
    at = len(text) - len(text.lstrip())
    mark = mark_at(text, at, size, view.offer) if view.weights["opening mark"] else None
    if not mark:
        return _opening_option(view, at)
    if mark.start - at > 2 or _opens_list(view, mark):
        return None
    alone = mark.dressed or text[mark.end : mark.end + 9].lstrip(" ")[:1] in ".:,\n"
    return _marked(view, mark, size, "opening mark") if alone else None


def _opening_option(view: ReplyView, at: int) -> Claim | None:
    """The option that is the whole first sentence of a reply."""
    if not view.weights["opening option"]:
        return None
    end = sentence_end(view.text, at, min(len(view.text), at + _LONG * view.offer.longest + _SHORT))
    index = same_text(view.text[at:end], view.offer)
    is_question = view.text[end : end + 1] == "?"
    if index is None or is_question or index in view.offer.everyday:
        return None
    return Claim("chosen", (index,), at, end, "opening option")


def _opens_list(view: ReplyView, mark: Mention) -> bool:
    """Whether another item follows a mark after hardly more than its own text."""
    run = next((run for run in view.lists if run[0].start == mark.start), None)
    own = len(view.offer.texts[mark.options[0]]) if 0 <= mark.options[0] < view.offer.count else 0
    return run is not None and run[1].start - mark.end <= own + _HARDLY


def _line(view: ReplyView, start: int, end: int) -> Claim | None:
    """The claim of a line that is only a mark or an option."""
    text, offer = view.text, view.offer
    mark = mark_at(text, start, end, offer)
    mark = None if mark and mark.options == (-1,) else mark
    alone = mark and not NO_WORD.sub("", text[mark.end : end]) and not (offer.sequences and len(mark.options) > 1)
    if mark and alone and (mark.dressed or offer.letters != "upper" or text[mark.start].isupper()):
        return one_or_many(mark, "closing line")
    if mark and (index := same_text(text[mark.end : end], offer)) is not None:
        options = tuple(dict.fromkeys((*mark.options, index)))
        return one_or_many(Mention(options, mark.start, end, "both", True), "closing line")
    index = same_text(text[start:end], offer)
    return None if index is None else one_or_many(Mention((index,), start, end, "text"), "closing line")

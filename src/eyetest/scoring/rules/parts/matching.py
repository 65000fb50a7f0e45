"""The option that a text is: exactly, or but for a slip."""

from rapidfuzz.distance import OSA

from eyetest.scoring.rules.parts.offer import Offer, spoken_fraction, value
from eyetest.scoring.rules.parts.tokens import words

_SLIP_LENGTH = 5


def exactly(text: str, offer: Offer) -> int | None:
    """The option that a text is, in spite of case, articles, punctuation, plural and the way numbers are written."""
    if len(text) > 3 * offer.longest + 60:
        return None
    tokens = words(text)
    if not tokens:
        return None
    place = offer.exact.get(tokens)
    if place is None and (amount := value(tokens)):
        place = offer.values.get(amount)
    if place is None and tokens == ("one",):
        place = offer.exact.get(("1",))
    if place is None and (fraction := spoken_fraction(text)):
        place = offer.exact.get(fraction)
        if place is None and (amount := value(fraction)):
            place = offer.values.get(amount)
    return place


def nearly(text: str, offer: Offer) -> int | None:
    """The one option that a text is but for a slip, another order of words, or a part left out."""
    if len(text) > 2 * offer.longest + 40:
        return None
    tokens = words(text)
    if not tokens:
        return None
    joined = " ".join(tokens)
    size = len(tokens)
    if any(size == len(option) for option in offer.words):
        order = sorted(tokens)
        reordered = [place for place, option in enumerate(offer.words) if len(option) > 1 and sorted(option) == order]
        if len(reordered) == 1:
            return reordered[0]
    slips = _slips(joined, offer)
    if len(slips) == 1:
        return slips[0]
    if not any(tokens[0] in option for option in offer.words):
        return None
    parts = [
        place
        for place, option in enumerate(offer.words)
        if len(joined) > 2 and any(option[n : n + size] == tokens for n in range(len(option) - size + 1))
    ]
    return parts[0] if len(parts) == 1 else None


def _slips(joined: str, offer: Offer) -> list[int]:
    """The options that differ from a text by one letter; a digit is never a slip."""
    size = len(joined)
    if size < _SLIP_LENGTH or any(map(str.isdigit, joined)):
        return []
    return [
        place
        for place, option in enumerate(offer.joined)
        if -2 < len(option) - size < 2 and OSA.distance(joined, option, score_cutoff=1) <= 1
    ]

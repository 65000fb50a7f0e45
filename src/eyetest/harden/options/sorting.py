"""Which items can be given options, and why others are left alone."""

import msgspec

from eyetest.harden.options.record import LeftAlone, OptionSettings
from eyetest.harden.options.writers import Case
from eyetest.probes.option_order import can_reorder, closing_options
from eyetest.records import Item
from eyetest.reform.distractors.answer_kinds import TWO_SIDED


def sort_item(item: Item, settings: OptionSettings) -> Case | LeftAlone:
    """What is to be written for an item, or why nothing is."""
    if not item.has_gold:
        return "no gold"
    return _choice_case(item, settings) if item.is_choice else _open_case(item, settings)


def _choice_case(item: Item, settings: OptionSettings) -> Case | LeftAlone:
    closing = set(closing_options(item))
    rest = tuple(choice for index, choice in enumerate(item.choices) if index not in closing)
    gold = item.choices[item.gold[0]].text
    present = tuple(choice.text for choice in rest if not choice.correct)
    case = Case(item, gold, present, settings.options - len(item.choices))
    reasons: dict[LeftAlone, bool] = {
        "several golds": len(item.gold) > 1,
        "has enough options": case.need <= 0,
        "pictures in options": any(choice.images or "<image" in choice.text.lower() for choice in item.choices),
        "options tied to their order or letters": not can_reorder(msgspec.structs.replace(item, choices=rest)),
        "the gold speaks of other options": item.gold[0] in closing,
        "only two answers are possible": case.kind.name in TWO_SIDED and len(rest) <= 2,
    }
    return next((reason for reason, holds in reasons.items() if holds), case)


def _open_case(item: Item, settings: OptionSettings) -> Case | LeftAlone:
    if not settings.open or item.group:
        return "an open question"
    gold = next(reference for reference in item.references if reference.strip())
    case = Case(item, gold.strip(), (), settings.options - 1)
    return "only two answers are possible" if case.kind.name in TWO_SIDED else case

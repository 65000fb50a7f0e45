"""Items that cannot be answered as they stand: missing questions, options and golds, options that say "nan", images
that show nothing.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator

from eyetest.benchmarks.options import split_options
from eyetest.benchmarks.rows import KNOWN_COLUMNS, is_image_file
from eyetest.errors import counted, listed, param, short
from eyetest.probes.images import image_facts
from eyetest.probes.option_order import NOT_A_VALUE, empty_options, lost_options, repeated_options
from eyetest.probes.subject import Subject, defects, names_images, probe
from eyetest.prompts.building import SCREENSHOT_STEP
from eyetest.records import A_MEDIUM, NO_IMAGES, PLACEHOLDER, Finding, Item, Severity, VerdictKind, letter
from eyetest.text import option_key

Seen = dict[str, str]  # what was seen, by item
Defect = tuple[str, Severity, VerdictKind, Callable[[Item], str], str, str]
_USUAL_SHARE = 0.5  # what more of the items have is the habit of a benchmark, and no slip in single items
_LOST_SHARE = 0.8  # of open items: where so many references are letters, a column of options was not read
_OPTION_LETTER = re.compile(r"\W*([A-H])\W*")  # later letters are rarely options, and mostly answers themselves
_ASKS_FOR_LETTER = re.compile(
    r"\b(?:letters?|labell?ed|labels?|points?|vertex|vertices|characters?|alphabet|symbols?|grades?|nodes?|marked)\b",
    re.IGNORECASE,
)


def _named(find: Callable[[Item], list[int]]) -> Callable[[Item], str]:
    """The options that ``find`` finds, as text."""
    return lambda item: ", ".join(Counter(f"{letter(i)}: {item.choices[i].text!r}" for i in find(item)))


def _lost_gold(item: Item) -> str:
    lost = {*lost_options(item), *empty_options(item)}
    return next((f"gold is {item.choices[i].text!r}" for i in item.gold if i in lost), "")


def _no_question(item: Item) -> str:
    """What stands where the question should be; empty where there is one, or where it is drawn into the image."""
    if any(step.step == SCREENSHOT_STEP for step in item.lineage):
        return ""
    words = PLACEHOLDER.sub(" ", item.question).strip()
    if words.casefold() in NOT_A_VALUE:
        return f"the question is {words!r}"
    is_blank = all(unicodedata.category(mark)[0] in "CZ" for mark in words)
    return "no question" if is_blank else ""


def _option_letter(item: Item) -> str:
    """The option that the reference of an item without options names, if it is nothing but its letter.

    An item without a question may show its options in the image.
    """
    if item.choices or len(item.references) != 1 or _no_question(item):
        return ""
    match = _OPTION_LETTER.fullmatch(item.references[0])
    return match[1] if match else ""


def _offered_in_question(item: Item) -> tuple[str, ...]:
    """The options that an item without options lists in its question."""
    separated = None if item.choices else split_options(item.question)
    return separated[1] if separated else ()


def _not_offered(item: Item) -> str:
    """The reference, where the question lists options and it is none of them."""
    offered = _offered_in_question(item)
    letters = [letter(place) for place in range(len(offered))]
    allowed = {option_key(text) for text in (*offered, *letters)}
    named = _option_letter(item)
    if not offered or named in letters or any(option_key(text) in allowed for text in item.references):
        return ""
    return f"the reference is {short(item.references[0])}, the options are {', '.join(letters)}"


def _more_named(item: Item) -> str:
    found = f"names image {max(item.image_numbers, default=0)}, has {len(item.images)}"
    return found if item.names_more_images else ""


def _absent_image(item: Item) -> str:
    """The file or address of the image of an item without images. A mere id may belong to anything."""
    if item.image_numbers and not item.images and not item.media:
        return f"names image {max(item.image_numbers)}, has none"
    named = names_images(item)
    absent = next((n for tag, n in named.items() if tag in KNOWN_COLUMNS["images"] or is_image_file(n)), "")
    return f"names {short(absent)}, which is not here" if absent else ""


def _unnamed(item: Item) -> str:
    named = f"{len(item.images)} images, named: {', '.join(map(str, item.image_numbers))}"
    return named if item.image_numbers and len(set(item.image_numbers)) < len(item.images) else ""


_DEFECTS: tuple[Defect, ...] = (
    ("lost-option", "bad", "fix", _named(lost_options), 'an option that says "nan" or the like',
     "A program wrote its word for a missing value. `--fix` drops such options."),
    ("empty-option", "bad", "fix", _named(empty_options), "an option without text", "`--fix` drops such options."),
    ("equal-options", "bad", "fix", _named(repeated_options), "two equal options",
     "Compared without case, spaces, outer punctuation. `--fix` drops the repeats."),
    ("missing-gold", "bad", "review", lambda item: "" if item.has_gold else "no gold", "no gold answer",
     "They cannot be scored."),
    ("lost-gold", "bad", "drop", _lost_gold, 'a gold that says "nan" or nothing', ""),
    ("several-golds", "note", "review",
     lambda item: f"golds {', '.join(map(letter, item.gold))}" if len(item.gold) > 1 else "", "several right options",
     "Tools that expect one letter count such items differently."),
    ("one-option", "bad", "drop", lambda item: repr(item.choices[0].text) if len(item.choices) == 1 else "",
     "a single option", "There is nothing to choose."),
)  # fmt: skip
_IMAGE_DEFECTS: tuple[Defect, ...] = (
    ("more-images-named", "note", "keep", _more_named, "a text that names more images than it has",
     "Letters may be printed inside the image; models are sent the text as it is."),
    ("missing-image", "bad", "review", _absent_image, "a text that names an image that is not there", ""),
    ("unnamed-image", "note", "review", _unnamed, "an image that no text names, beside some that are", ""),
)  # fmt: skip


@probe("malformed", "Can every item be answered as it stands?")
def _malformed(subject: Subject) -> Iterator[Finding]:
    """One finding for each kind of defect that occurs."""
    items = subject.items
    yield from _unasked(items)
    yield from _without_options(items)
    for kind, severity, verdict, find, what, detail in (*_DEFECTS, *_IMAGE_DEFECTS * subject.shows_images):
        seen = {item.id: evidence for item in items if (evidence := find(item))}
        held_back = kind == "missing-gold" and len(seen) == len(items)  # open tasks, or keys of a hidden test set
        yield from _findings(kind, "note" if held_back else severity, verdict, seen, what, detail)
    if subject.shows_images:
        if 0.5 <= sum(bool(item.images or item.media) for item in items) / len(items) < 1:
            without = [item for item in items if not item.images and not item.media]
            bare = {item.id: "no image" for item in without if not _absent_image(item)}
            yield from _findings("no-image", "suspect", "review", bare, "no image, where most items have one")
        yield from _modalities(subject)
    if subject.media_items:
        yield _unread_media(subject)
    elif items and not subject.shows_images:
        yield _without_images(items)


def _unasked(items: list[Item]) -> Iterator[Finding]:
    """Items without a question. Where most items have none, questions may stand in the images, or need no words."""
    seen = {item.id: evidence for item in items if (evidence := _no_question(item))}
    if len(seen) > _USUAL_SHARE * len(items):
        detail = "Most items have none: perhaps it is shown in the image, or the same for all, as for captions."
        yield from _findings("no-question", "note", "review", seen, "no question", detail)
    else:
        detail = "If the image does not show it either, nobody can know what is asked."
        yield from _findings("no-question", "suspect", "review", seen, "no question", detail)


def _without_options(items: list[Item]) -> Iterator[Finding]:
    """Items whose reference names an option that is not there."""
    open_items = [item for item in items if item.references and not item.choices]
    unoffered = [item for item in open_items if _option_letter(item) and not _offered_in_question(item)]
    plain = [item for item in unoffered if not _ASKS_FOR_LETTER.search(item.question)]
    are_lost = bool(plain) and len(unoffered) >= _LOST_SHARE * len(open_items)
    beside_choices = len(open_items) < _USUAL_SHARE * len(items)
    suspects = unoffered if are_lost else plain
    severity: Severity = "bad" if are_lost or beside_choices else "note"
    seen = {item.id: f"the reference is {_option_letter(item)!r}, and no options are there" for item in suspects}
    detail = f"If a column holds the options, name it: {param('fields', 'options=COLUMN')}."
    what = "an option letter as its reference and no options"
    yield from _findings("letter-without-options", severity, "review", seen, what, detail)
    foreign = {item.id: evidence for item in open_items if (evidence := _not_offered(item))}
    listing = sum(bool(_offered_in_question(item)) for item in open_items)
    severity = "note" if len(foreign) > _USUAL_SHARE * listing else "suspect"
    what = "a reference that is none of the options in its question"
    yield from _findings("reference-not-offered", severity, "review", foreign, what)


def _modalities(subject: Subject) -> Iterator[Finding]:
    """Images that are available but show nothing."""
    facts = image_facts(subject)
    broken, blank = Seen(), Seen()
    for item in subject.items:
        for number, image in enumerate(item.images, 1):
            fact = facts[image.sha256]
            if fact.problem:
                broken[item.id] = f"image {number}: {fact.problem}"
            elif fact.one_colour:
                blank[item.id] = f"image {number} is one colour"
    yield from _findings("unreadable-image", "bad", "review", broken, "an image that cannot be read")
    yield from _findings("one-colour-image", "bad", "review", blank, "an image of a single colour")


def _findings(
    kind: str, severity: Severity, verdict: VerdictKind, seen: Seen, what: str, detail: str = ""
) -> Iterator[Finding]:
    title = f"{f'{len(seen):,} items have' if len(seen) > 1 else '1 item has'} {what}"
    return defects(_malformed.name, kind, severity, seen, title, verdict=verdict, detail=detail)


def _unread_media(subject: Subject) -> Finding:
    """What could not be tested, because videos, sounds and documents are not read."""
    kinds = Counter(kind for item in subject.media_items for kind in {media.kind for media in item.media})
    parts = [f"{counted(number, 'item')} with {A_MEDIUM[kind]}" for kind, number in kinds.most_common()]
    return Finding(
        probe=_malformed.name,
        kind=NO_IMAGES if not subject.shows_images else "unread-media",
        severity="untested",
        verdict="keep",
        title=f"{', '.join(parts)}, which eyetest does not read: nothing that needs it was tested",
        detail="Repeats are those of the same file name, address or id. Whether two files show or say the same, and "
        "whether one of them is empty, was not looked for.",
        numbers={"items": len(subject.media_items), "naming": 0},
    )


def _without_images(items: list[Item]) -> Finding:
    """The first finding where no probe saw an image."""
    named: dict[str, str] = {}
    for item in items:
        for where, name in names_images(item).items():
            named.setdefault(where, name)
    naming = sum(bool(names_images(item)) for item in items)
    example = f" ({short(next(iter(named.values())))})" if named else ""
    if named:
        title = f"No image is here, and {naming:,} of {counted(len(items), 'item')} name one"
        title += f" ({listed(named, 3)}): nothing that needs images was tested"
    else:
        title = "No item has an image, and no column names one: nothing that needs images was tested"
    return Finding(
        probe=_malformed.name,
        kind=NO_IMAGES,
        severity="bad" if named else "untested",
        verdict="keep",
        title=title,
        detail="Repeats, copies and images that show nothing were not looked for, and `--fix` removes no item. "
        f"Put the images where the file names them{example}, or say where they are: "
        f"`{param('images', 'DIR')}` (paths of the file start there), `{param('fields', 'images=COLUMN')}`.",
        numbers={"items": len(items), "naming": naming},
    )


PROBE = _malformed

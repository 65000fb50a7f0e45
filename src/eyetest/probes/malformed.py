"""Items that cannot be answered as they stand: missing golds, options that say "nan", images that show nothing."""

from collections import Counter
from collections.abc import Callable, Iterator

from eyetest.benchmarks.rows import KNOWN_COLUMNS, is_image_file
from eyetest.errors import counted, listed, param, short
from eyetest.probes.images import image_facts
from eyetest.probes.option_order import empty_options, lost_options, repeated_options
from eyetest.probes.subject import Subject, defects, names_images, probe
from eyetest.records import NO_IMAGES, Finding, Item, Severity, VerdictKind, letter

Seen = dict[str, str]  # what was seen, by item
Defect = tuple[str, Severity, VerdictKind, Callable[[Item], str], str, str]


def _named(find: Callable[[Item], list[int]]) -> Callable[[Item], str]:
    """The options that ``find`` finds, as text."""
    return lambda item: ", ".join(Counter(f"{letter(i)}: {item.choices[i].text!r}" for i in find(item)))


def _lost_gold(item: Item) -> str:
    lost = {*lost_options(item), *empty_options(item)}
    return next((f"gold is {item.choices[i].text!r}" for i in item.gold if i in lost), "")


def _more_named(item: Item) -> str:
    found = f"names image {max(item.image_numbers, default=0)}, has {len(item.images)}"
    return found if item.names_more_images else ""


def _absent_image(item: Item) -> str:
    """The file or address of the image of an item without images. A mere id may belong to anything."""
    if item.image_numbers and not item.images:
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
    for kind, severity, verdict, find, what, detail in (*_DEFECTS, *_IMAGE_DEFECTS * subject.shows_images):
        seen = {item.id: evidence for item in items if (evidence := find(item))}
        held_back = kind == "missing-gold" and len(seen) == len(items)  # open tasks, or keys of a hidden test set
        yield from _findings(kind, "note" if held_back else severity, verdict, seen, what, detail)
    if subject.shows_images:
        if 0.5 <= sum(bool(item.images) for item in items) / len(items) < 1:
            bare = {item.id: "no image" for item in items if not item.images and not _absent_image(item)}
            yield from _findings("no-image", "suspect", "review", bare, "no image, where most items have one")
        yield from _modalities(subject)
    elif items:
        yield _without_images(items)


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

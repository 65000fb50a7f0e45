"""Items that cannot be answered as they stand: missing golds, options that say "nan", images that show nothing."""

from collections import Counter
from collections.abc import Iterator

from eyetest.benchmarks.rows.layout import KNOWN_COLUMNS, is_image_file
from eyetest.errors import param, short
from eyetest.probes.images import image_facts
from eyetest.probes.option_order import empty_options, lost_options, repeated_options
from eyetest.probes.subject import Subject, defects, names_images
from eyetest.records import NO_IMAGES, Finding, Item, Severity, VerdictKind, letter
from eyetest.wording import counted, listed

_MAYBE_A_VALUE = {"none", "na", "n/a"}

_BAD_OPTIONS = (
    (lost_options, "lost-option", 'an option that says "nan" or the like',
     "A program wrote its word for a missing value. `--fix` drops such options."),
    (empty_options, "empty-option", "an option without text", "`--fix` drops such options."),
    (repeated_options, "equal-options", "two equal options",
     "Compared without case, spaces, outer punctuation. `--fix` drops the repeats."),
)  # fmt: skip
Seen = dict[str, str]  # what was seen, by item


class Malformed:
    """The probe."""

    name = "malformed"
    summary = "Can every item be answered as it stands?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """One finding for each kind of defect that occurs."""
        items = subject.items
        yield from self._options(items)
        yield from self._golds(items)
        if subject.shows_images:
            yield from self._images(items)
            yield from self._modalities(subject)
        elif items:
            yield _without_images(items)

    def _options(self, items: list[Item]) -> Iterator[Finding]:
        for find, kind, what, detail in _BAD_OPTIONS:
            found = {item.id: _named(item, positions) for item in items if (positions := find(item))}
            yield from _findings(kind, "bad", "fix", found, what, detail)
        maybe = {
            item.id: _named(item, positions)
            for item in items
            if (positions := [i for i, c in enumerate(item.choices) if c.text.strip().casefold() in _MAYBE_A_VALUE])
        }
        yield from _findings("none-option", "note", "review", maybe, 'an option that says just "None" or "NA"',
                          "It may be meant, but tools that read with pandas lose it.")  # fmt: skip

    def _golds(self, items: list[Item]) -> Iterator[Finding]:
        missing = {item.id: "no gold" for item in items if not item.has_gold}
        yield from _findings("missing-gold", "bad", "review", missing, "no gold answer", "They cannot be scored.")
        lost_gold = {item.id: f"gold is {item.choices[i].text!r}" for item in items for i in item.gold
                     if i in lost_options(item) + empty_options(item)}  # fmt: skip
        yield from _findings("lost-gold", "bad", "drop", lost_gold, 'a gold that says "nan" or nothing')
        several = {
            item.id: f"golds {', '.join(letter(i) for i in item.gold)}" for item in items if len(item.gold) > 1
        }
        yield from _findings("several-golds", "note", "review", several, "several right options",
                          "Tools that expect one letter count such items differently.")  # fmt: skip
        single = {item.id: item.choices[0].text for item in items if len(item.choices) == 1}
        yield from _findings("one-option", "bad", "drop", single, "a single option", "There is nothing to choose.")

    def _images(self, items: list[Item]) -> Iterator[Finding]:
        absent = {
            item.id: f"names {short(named)}, which is not here" for item in items if (named := _absent_image(item))
        } | {
            item.id: f"names image {max(item.image_numbers)}, has none"
            for item in items
            if item.image_numbers and not item.images
        }
        more = {
            item.id: f"names image {max(item.image_numbers)}, has {len(item.images)}"
            for item in items
            if item.names_more_images
        }
        yield from _findings("more-images-named", "note", "keep", more, "a text that names more images than it has",
                          "Letters may be printed inside the image; models are sent the text as it is.")  # fmt: skip
        yield from _findings("missing-image", "bad", "review", absent, "a text that names an image that is not there")
        share = sum(bool(item.images) for item in items) / max(len(items), 1)
        if 0.5 <= share < 1:
            bare = {item.id: "no image" for item in items if not item.images and item.id not in absent}
            yield from _findings("no-image", "suspect", "review", bare, "no image, where most items have one")
        unused = {
            item.id: f"{len(item.images)} images, named: {', '.join(map(str, item.image_numbers))}"
            for item in items
            if item.image_numbers and len(set(item.image_numbers)) < len(item.images)
        }
        title = "an image that no text names, beside some that are"
        yield from _findings("unnamed-image", "note", "review", unused, title)

    def _modalities(self, subject: Subject) -> Iterator[Finding]:
        """Images that are available but show nothing."""
        facts = image_facts(subject)
        broken, blank, tiny = Seen(), Seen(), Seen()
        for item in subject.items:
            for number, image in enumerate(item.images, 1):
                fact = facts[image.sha256]
                if fact.problem:
                    broken[item.id] = f"image {number}: {fact.problem}"
                elif fact.one_colour:
                    blank[item.id] = f"image {number} is one colour"
                elif fact.tiny:
                    tiny[item.id] = f"image {number} is {image.width} × {image.height} pixels"
        yield from _findings("unreadable-image", "bad", "review", broken, "an image that cannot be decoded")
        yield from _findings("one-colour-image", "bad", "review", blank, "an image of a single colour")
        yield from _findings("tiny-image", "suspect", "review", tiny, "an image too small to show much")


def _findings(
    kind: str, severity: Severity, verdict: VerdictKind, seen: Seen, what: str, detail: str = ""
) -> Iterator[Finding]:
    title = f"{f'{len(seen):,} items have' if len(seen) > 1 else '1 item has'} {what}"
    return defects(Malformed.name, kind, severity, seen, title, verdict=verdict, detail=detail)


def _absent_image(item: Item) -> str:
    """The file or address of the image of an item without images. A mere id may belong to anything."""
    named = names_images(item)
    return next((n for tag, n in named.items() if tag in KNOWN_COLUMNS["images"] or is_image_file(n)), "")


def _without_images(items: list[Item]) -> Finding:
    """The first finding where no probe saw an image."""
    named = Counter(where for item in items for where in names_images(item))
    naming = sum(bool(names_images(item)) for item in items)
    if named:
        title = f"No image is here, and {naming:,} of {counted(len(items), 'item')} name one"
        title += f" ({listed(named, 3)}): nothing that needs images was tested"
    else:
        title = "No item has an image, and no column names one: nothing that needs images was tested"
    return Finding(
        probe=Malformed.name,
        kind=NO_IMAGES,
        severity="bad" if named else "untested",
        verdict="keep",
        title=title,
        detail="Repeats, copies and images that show nothing were not looked for, and `--fix` removes no item. "
        "Put the images where the file names them, or say where they are: "
        f"`{param('images', 'DIR')}`, `{param('fields', 'images=COLUMN')}`.",
        numbers={"items": len(items), "naming": naming},
    )


def _named(item: Item, positions: list[int]) -> str:
    texts = Counter(f"{letter(i)}: {item.choices[i].text!r}" for i in positions)
    return ", ".join(texts)


PROBE = Malformed()

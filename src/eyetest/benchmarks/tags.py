"""Tags made of other tags: under another name, or through a table (30 subjects → 6 disciplines)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, counted, heading, listed, nearest, short
from eyetest.grammar import refuse_repeated, split_parts
from eyetest.records import Item, tag_words
from eyetest.store.handwritten import read_yaml

_TAKES = "[SOURCE:]TAG=OTHER[@FILE]"
_MOST_NAMED = 5


class TagMap:
    """A tag that is made of another: its value, or what a table has for that."""

    def __init__(self, word: str) -> None:
        name, equals, value = (part.strip() for part in word.partition("="))
        self.source, _, self.tag = name.rpartition(":")  # only for items of this source of a pool
        self.other, _, self.file = value.partition("@")
        if not (equals and self.tag and self.other):
            raise InputError(f"{heading('map_tags')}: found {short(word)}, expected {_TAKES}, such as core=category")
        if self.tag == self.other and not self.file:
            raise InputError(f"{heading('map_tags')}: found {short(word)}, which makes a tag of itself; leave it out")
        self.table = read_table(Path(self.file)) if self.file else None
        self.found = 0
        self.named = 0
        self.unnamed: Counter[str] = Counter()

    def add_to(self, tags: dict[str, Any]) -> None:
        """Add the tag; one for which the table has no value stays as it is."""
        self.found += 1
        value = tags[self.other]
        if self.table is None:
            tags[self.tag] = value
            return
        words = tag_words(value)
        self.unnamed.update(word for word in words if word not in self.table)
        new = list(dict.fromkeys(self.table[word] for word in words if word in self.table))
        if new:
            self.named += 1
            tags[self.tag] = new if len(new) > 1 else new[0]


def read_table(path: Path) -> dict[str, str]:
    """A table of values in YAML: ``old: new`` or ``new: [old, old]``."""
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: expected old: new, or new: [old, old]")
    table: dict[str, str] = {}
    for key, value in content.items():
        for old, new in ((one, key) for one in value) if isinstance(value, list) else ((key, value),):
            before, after = tag_words(old), tag_words(new)
            if len(before) != 1 or len(after) != 1:
                raise InputError(f"{path}: found {short(old)}: {short(new)}, expected two single values")
            if table.setdefault(before[0], after[0]) != after[0]:
                raise InputError(
                    f"{path}: {short(before[0])} becomes {short(table[before[0]])} and {short(after[0])}"
                )
    return table


class TagMaps:
    """A user's ``core=category``, ``mmstar:core=l2``, ``discipline=subject@disciplines.yaml``, applied to items."""

    def __init__(self, words: Iterable[str], sources: Sequence[str] = ()) -> None:
        self._maps = [TagMap(word) for text in words for word in split_parts(text, "map_tags")]
        refuse_repeated([f"{made.source}:{made.tag}" if made.source else made.tag for made in self._maps], "map_tags")
        for tag_map in self._maps:
            if tag_map.source and tag_map.source not in sources:
                near = nearest(tag_map.source, sources)
                raise InputError(f"{heading('map_tags')}: no source {short(tag_map.source)}; {near}")

    def tagged(self, item: Item, source: str = "") -> Item:
        """An item with the tags that are made of others."""
        tags = dict(item.tags)
        for tag_map in self._maps:
            if tag_map.source in ("", source) and tag_map.other in tags:
                tag_map.add_to(tags)
        return msgspec.structs.replace(item, tags=tags)

    def notes(self) -> list[str]:
        """Values that a table does not name; a tag that no item has is refused, as it is probably misspelt."""
        for tag_map in self._maps:
            if not tag_map.found:
                where = f" of {tag_map.source}" if tag_map.source else ""
                raise InputError(f"{heading('map_tags')}: no item{where} has a tag {short(tag_map.other)}")
            if tag_map.table is not None and not tag_map.named:
                values = listed([short(word) for word, _ in tag_map.unnamed.most_common()], _MOST_NAMED)
                either = f"{tag_map.file} names no value of the tag {short(tag_map.other)}"
                raise InputError(f"{heading('map_tags')}: {either}; its values are {values}")
        return [
            f"{counted(made.unnamed.total(), 'item')} with a {made.other} that {made.file} does not name: "
            f"{listed([word for word, _ in made.unnamed.most_common()], _MOST_NAMED)}"
            for made in self._maps
            if made.unnamed
        ]

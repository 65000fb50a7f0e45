"""Tags made of other tags: under another name, or through a table (30 subjects → 6 disciplines)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, counted, heading, listed, nearest, short
from eyetest.records import Item, tag_words
from eyetest.store.handwritten import read_yaml

_TAKES = "[SOURCE:]TAG=OTHER[@FILE]"
_MOST_NAMED = 5


class TagMap(msgspec.Struct, frozen=True, kw_only=True):
    """A tag that is made of another: its value, or what a table has for that."""

    tag: str
    other: str
    source: str = ""  # only for items of this source of a pool
    table: dict[str, str] | None = None
    file: str = ""  # of the table


def parse_tag_maps(words: Iterable[str]) -> list[TagMap]:
    """Read ``core=category``, ``mmstar:core=l2`` and ``discipline=subject@disciplines.yaml``."""
    maps = []
    for word in (part for text in words for part in text.split(",")):
        name, equals, value = (part.strip() for part in word.partition("="))
        source, _, tag = name.rpartition(":")
        other, _, file = value.partition("@")
        if not (equals and tag and other):
            raise InputError(f"{heading('map_tags')}: found {short(word)}, expected {_TAKES}, such as core=category")
        table = read_table(Path(file)) if file else None
        maps.append(TagMap(tag=tag, other=other, source=source, table=table, file=file))
    return maps


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
    """Tag maps at work on the items of a source; counts what they could not map."""

    def __init__(self, maps: Sequence[TagMap] = (), sources: Sequence[str] = ()) -> None:
        for tag_map in maps:
            if tag_map.source and tag_map.source not in sources:
                near = nearest(tag_map.source, sources)
                raise InputError(f"{heading('map_tags')}: no source {short(tag_map.source)}; {near}")
        self.maps = maps
        self._found: Counter[int] = Counter()
        self._unnamed: dict[int, Counter[str]] = {}

    def apply(self, tags: Mapping[str, Any], source: str) -> dict[str, Any]:
        """The tags with those that are made of others; a tag for which the table has no value stays as it is."""
        made = dict(tags)
        for number, tag_map in enumerate(self.maps):
            if tag_map.source not in ("", source) or tag_map.other not in made:
                continue
            self._found[number] += 1
            value = made[tag_map.other]
            if tag_map.table is None:
                made[tag_map.tag] = value
                continue
            words = tag_words(value)
            new = list(dict.fromkeys(tag_map.table[word] for word in words if word in tag_map.table))
            if new:
                made[tag_map.tag] = new if len(new) > 1 else new[0]
            if unnamed := [word for word in words if word not in tag_map.table]:
                self._unnamed.setdefault(number, Counter()).update(unnamed)
        return made

    def tagged(self, item: Item, source: str = "") -> Item:
        """An item with the tags that are made of others."""
        return msgspec.structs.replace(item, tags=self.apply(item.tags, source))

    def notes(self) -> list[str]:
        """Values that a table does not name; a tag that no item has is refused, as it is probably misspelt."""
        for number, tag_map in enumerate(self.maps):
            if not self._found[number]:
                where = f" of {tag_map.source}" if tag_map.source else ""
                raise InputError(f"{heading('map_tags')}: no item{where} has a tag {short(tag_map.other)}")
        return [
            f"{counted(values.total(), 'item')} with a {self.maps[number].other} that {self.maps[number].file} "
            f"does not name: {listed([word for word, _ in values.most_common()], _MOST_NAMED)}"
            for number, values in self._unnamed.items()
        ]

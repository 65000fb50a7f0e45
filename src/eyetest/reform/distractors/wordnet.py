"""WordNet's nouns and their hypernyms, read from its dictionary files (Debian's ``wordnet-base``)."""

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_DATA, _INDEX, _PLURALS = "data.noun", "index.noun", "noun.exc"
_FILES = (_DATA, _INDEX, _PLURALS)
_USUAL = "/usr/share/wordnet"
_MOST_BYTES = 64 * 2**20  # the largest dictionary file; that of WordNet 3.0 has 15 MB
_OFFSET = re.compile(r"n?(\d{8})(?:-?n)?")
_BRACKETED = re.compile(r"\s{0,9}\([^)]{0,300}\)")
_JOINTS = re.compile(r"[\s_]+")
_ENDINGS = (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("zes", "z"), ("ses", "s"), ("men", "man"))
_HYPERNYMS = (b"@", b"@i")


class WordNet:
    """Synsets by their offset in ``data.noun``, which ImageNet's ids are."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._data = files[_DATA]
        self._offsets: dict[str, tuple[int, ...]] = {}
        for line in files[_INDEX].decode("ascii", "replace").splitlines():
            if not line.startswith(" "):
                lemma, _, count, *rest = line.split()
                self._offsets[lemma] = tuple(map(int, rest[-int(count) :]))
        exceptions = (line.split() for line in files[_PLURALS].decode("ascii", "replace").splitlines())
        self._singular = {words[0]: words[1] for words in exceptions if len(words) > 1}
        self._above: dict[int, frozenset[int]] = {}
        self._depth: dict[int, int] = {}

    def words(self, synset: int) -> tuple[str, ...]:
        """The words of a synset, which are synonyms; none where no synset begins at this offset."""
        fields = self._fields(synset)
        words = fields[4 : 4 + 2 * int(fields[3], 16) : 2] if fields else ()
        return tuple(word.decode("ascii", "replace") for word in words)

    def parents(self, synset: int) -> list[int]:
        """Direct hypernyms, of a kind or an instance."""
        fields = self._fields(synset)
        if not fields:
            return []
        first = 5 + 2 * int(fields[3], 16)
        return [
            int(offset)
            for sign, offset in zip(fields[first::4], fields[first + 1 :: 4], strict=False)
            if sign in _HYPERNYMS
        ]

    def above(self, synset: int) -> frozenset[int]:
        """A synset and all its hypernyms."""
        if synset not in self._above:
            self._above[synset] = frozenset((synset,)).union(*map(self.above, self.parents(synset)))
        return self._above[synset]

    def depth(self, synset: int) -> int:
        """Number of steps to the root, on the shortest path."""
        if synset not in self._depth:
            self._depth[synset] = 1 + min(map(self.depth, self.parents(synset)), default=-1)
        return self._depth[synset]

    def path(self, synset: int) -> tuple[int, ...]:
        """The synsets from the root to this one, by the first hypernym of each."""
        parents = self.parents(synset)
        return (*(self.path(parents[0]) if parents else ()), synset)

    def by_id(self, synset: str, names: tuple[str, ...]) -> int | None:
        """The synset of a WordNet 3.0 id (``n01440764``); None if it shares no word with the names."""
        match = _OFFSET.fullmatch(synset)
        offset = int(match[1]) if match else -1
        words = {part for word in self.words(offset) for part in _key(word).split("_")}
        return offset if any(part in words for name in names for part in _key(name).split("_")) else None

    def senses(self, name: str) -> tuple[int, ...]:
        """All synsets of a name, the commonest first, in any number and with any separators."""
        return next((self._offsets[key] for key in self._spellings(_key(name)) if key in self._offsets), ())

    def _spellings(self, key: str) -> Iterator[str]:
        """Spellings of a name, each followed by its singulars."""
        for spelling in dict.fromkeys((key, key.replace("-", "_"), key.replace("-", ""), key.replace("_", "-"))):
            yield spelling
            before, joint, last = spelling.rpartition("_")
            if last in self._singular:
                yield f"{before}{joint}{self._singular[last]}"
            for plural, singular in _ENDINGS:
                if last.endswith(plural):
                    yield f"{before}{joint}{last.removesuffix(plural)}{singular}"
            if last.endswith("s") and not last.endswith("ss"):
                yield spelling[:-1]
        if key.count("_") == 1:
            yield key.replace("_", "")

    def _fields(self, synset: int) -> list[bytes]:
        """A synset's line up to its gloss; nothing where no line begins at the offset."""
        if synset < 0 or not self._data.startswith(b"%08d " % synset, synset):
            return []
        end = self._data.find(b"|", synset)
        return self._data[synset : end if end > 0 else len(self._data)].split()


def _key(name: str) -> str:
    return _JOINTS.sub("_", _BRACKETED.sub("", name).strip().lower()).strip("_")


def find_wordnet() -> WordNet | None:
    """WordNet from this machine's files; None where there are none."""
    folder = wordnet_place()
    return _load(folder) if folder else None


def wordnet_place() -> Path | None:
    """The folder of the dictionary files: ``WNSEARCHDIR``, or Debian's."""
    folder = Path(os.environ.get("WNSEARCHDIR") or _USUAL)
    return folder if all((folder / name).is_file() for name in _FILES) else None


@cache
def _load(folder: Path) -> WordNet:
    files = {}
    for name in _FILES:
        with (folder / name).open("rb") as file:
            files[name] = file.read(_MOST_BYTES)
    return WordNet(files)

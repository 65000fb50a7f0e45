"""WordNet is read from a dictionary of our own making, however a name is spelt."""

from pathlib import Path

import pytest

from eyetest.reform.distractors.wordnet import find_wordnet

SYNSETS = {
    "thing": ("thing", ()),
    "animal": ("animal beast", ("thing",)),
    "pet": ("pet", ("thing",)),
    "fish": ("fish", ("animal",)),
    "goldfish": ("goldfish golden_fish", ("fish", "pet")),
    "mouse": ("mouse", ("animal",)),
    "device": ("device", ("thing",)),
    "pointer": ("mouse computer_mouse", ("device",)),
    "woman": ("woman", ("animal",)),
    "shirt": ("t-shirt tee_shirt", ("thing",)),
}


def write_dictionary(folder: Path) -> dict[str, int]:
    """``data.noun``, ``index.noun`` and ``noun.exc`` in WordNet's format; gives the offset of each synset."""
    folder.mkdir(parents=True)
    header, lines = "  1 a dictionary of ours\n", {}

    def line(name: str, offsets: dict[str, int]) -> str:
        words, above = SYNSETS[name]
        spelt = "".join(f"{word} 0 " for word in words.split())
        pointers = "".join(f"@ {offsets.get(parent, 0):08d} n 0000 " for parent in above)
        return (
            f"{offsets.get(name, 0):08d} 03 n {len(words.split()):02x} {spelt}{len(above):03d} {pointers}| {name}\n"
        )

    offset, offsets = len(header), {}
    for name in SYNSETS:
        offsets[name] = offset
        offset += len(line(name, {}))
    lines = {name: line(name, offsets) for name in SYNSETS}
    (folder / "data.noun").write_text(header + "".join(lines.values()))
    senses: dict[str, list[int]] = {}
    for name, (words, _) in SYNSETS.items():
        for word in words.split():
            senses.setdefault(word, []).append(offsets[name])
    index = (
        f"{word} n {len(own)} 1 @ {len(own)} 0 {' '.join(f'{one:08d}' for one in own)}  \n"
        for word, own in sorted(senses.items())
    )
    (folder / "index.noun").write_text(header + "".join(index))
    (folder / "noun.exc").write_text("mice mouse\n")
    return offsets


def test_synsets_words_and_ancestors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offset = write_dictionary(tmp_path / "dict")
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "dict"))
    wordnet = find_wordnet()
    assert wordnet is not None
    assert wordnet.words(offset["goldfish"]) == ("goldfish", "golden_fish")
    above = {offset[name] for name in ("goldfish", "fish", "pet", "animal", "thing")}
    assert wordnet.above(offset["goldfish"]) == above
    assert [wordnet.depth(offset[name]) for name in ("thing", "fish", "goldfish")] == [0, 2, 2]
    assert wordnet.words(offset["goldfish"] + 1) == ()
    assert wordnet.by_id(f"n{offset['mouse']:08d}", ("mouse",)) == offset["mouse"]
    assert wordnet.by_id(f"n{offset['mouse']:08d}", ("tench",)) is None
    assert wordnet.by_id("tench", ("tench",)) is None


@pytest.mark.parametrize(
    ("name", "senses"),
    [
        ("Mice", ["mouse", "pointer"]),
        ("golden fish", ["goldfish"]),
        ("golden_fishes", ["goldfish"]),
        ("women", ["woman"]),
        ("T-shirts", ["shirt"]),
        ("tee-shirt", ["shirt"]),
        ("mouse (animal)", ["mouse", "pointer"]),
        ("gold fish", ["goldfish"]),
        ("nonsense", []),
    ],
)
def test_names_are_known_however_they_are_spelt(
    name: str, senses: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offset = write_dictionary(tmp_path / "dict")
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "dict"))
    wordnet = find_wordnet()
    assert wordnet is not None
    assert wordnet.senses(name) == tuple(offset[sense] for sense in senses)


def test_without_a_dictionary_there_is_no_wordnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    assert find_wordnet() is None

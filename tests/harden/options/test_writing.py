"""Models write and check; what they get wrong hardly ever becomes an option."""

from pathlib import Path

import msgspec
import pytest

from eyetest.harden.options.growing import grow_options
from eyetest.harden.options.record import OptionSettings
from eyetest.reform.distractors.written import OptionAuthors
from tests.harden.options.items import choice_item, places
from tests.harden.options.writing import Authors, creature_items, is_bad
from tests.scoring.test_table import make_bench


@pytest.mark.journey
def test_three_bad_proposals_in_ten_leave_fewer_than_one_in_a_hundred(tmp_path: Path) -> None:
    items = creature_items(170, 1)
    models = Authors(items, 3)
    given = make_bench(tmp_path / "given", items)
    seated = OptionAuthors(models, "writer", "checker")
    grown = grow_options(given, tmp_path / "grown", OptionSettings(rounds=3), authors=seated)
    assert 0.25 < models.bad / models.proposed < 0.35
    new = [
        (item, choice.text, choice.provenance)
        for item in grown.benchmark
        for choice in item.choices
        if choice.provenance is not msgspec.UNSET
    ]
    assert len(new) > 0.95 * 6 * len(items)
    bad = [(item.id, text) for item, text, _ in new if is_bad(item, text)]
    assert len(bad) < 0.01 * len(new), bad
    assert {(made.author, made.checked_by) for _, _, made in new} == {("writer", ("checker",))}
    assert {"implausible", "says the same as the gold"} <= set(grown.record.turned_down)
    positions = places(grown.record)
    assert max(positions) - min(positions) <= 1


def test_what_is_short_is_asked_again_with_what_was_turned_down(tmp_path: Path) -> None:
    items = creature_items(12, 5)
    models = Authors(items, 6)
    given = make_bench(tmp_path / "given", items)
    grow_options(
        given, tmp_path / "grown", OptionSettings(rounds=2), authors=OptionAuthors(models, "writer", "checker")
    )
    written = [text for name, _, text in models.asked if name == "writer"]
    again = [text for text in written if "turned down" in text]
    assert len(written) > len(items)
    assert len(again) == len(written) - len(items)
    assert all("Wrong options that it has already:\n- " in text for text in written)


def test_replies_that_are_not_what_was_asked_for_give_nothing_and_are_counted(tmp_path: Path) -> None:
    given = make_bench(tmp_path / "given", [choice_item("one", ["Ada", "Bob"])])

    def ask(name: str, prompts: object) -> list[None]:
        return [None] if name == "writer" else []

    seated = OptionAuthors(ask, "writer", "checker")
    grown = grow_options(given, tmp_path / "grown", OptionSettings(rounds=2), authors=seated)
    assert grown.record.unread == {"the writer's reply is no list": 2}
    assert list(grown.benchmark) == list(given)

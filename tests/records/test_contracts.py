"""The tables and files that rooms hand each other stay as agreed: columns, order, and examples that load."""

from pathlib import Path

import msgspec
import pytest
import yaml

from eyetest.records import (
    Answer,
    Asked,
    Condition,
    Cut,
    Decision,
    ModelEntry,
    Planned,
    Recipe,
    Score,
    Stage,
    Verdict,
    columns,
)

EXAMPLES = Path(__file__).parent.parent / "fixtures" / "contracts"
CONDITION = "modality ask shots template order letters method history prompts sample"
TABLES: dict[str, tuple[type[msgspec.Struct], str]] = {
    "answers": (Answer, f"item model {CONDITION} text outcome given"),
    "plan": (Planned, f"item model {CONDITION} request"),
    "scores": (Score, f"item model {CONDITION} request outcome reading choice rule metric score marked probability"),
    "verdicts": (Verdict, "item stage verdict reason n hits p responses evidence seed"),
    "decisions": (Decision, "item reviewer time decision reason edits comment labels solved adjudicates"),
}


def test_what_is_asked_has_the_axes_of_a_condition() -> None:
    """They are written twice, because the columns of the key stand around them."""
    axes = {field.name: (field.type, field.default) for field in msgspec.structs.fields(Condition)}
    asked = {field.name: (field.type, field.default) for field in msgspec.structs.fields(Asked)}
    assert list(asked) == ["item", "model", *axes, "sample"]
    assert {name: asked[name] for name in axes} == axes


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_those_of_the_contract_and_examples_come_back(name: str) -> None:
    kind, names = TABLES[name]
    assert " ".join(columns(kind)) == names
    lines = (EXAMPLES / f"{name}.jsonl").read_bytes().splitlines()
    assert len(lines) >= 2
    for line in lines:
        record, given = msgspec.json.decode(line, type=kind), msgspec.json.decode(line)
        again = msgspec.json.encode(record)
        assert msgspec.json.decode(again, type=kind) == record
        assert {k: v for k, v in msgspec.json.decode(again).items() if k in given} == given
        assert list(given) == [column for column in columns(kind) if column in given]


def test_an_unknown_column_or_value_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `modle`"):
        msgspec.convert({"item": "1", "model": "m", "modle": "m"}, Answer)
    with pytest.raises(msgspec.ValidationError, match="Invalid enum value 'sighted'"):
        msgspec.convert({"item": "1", "model": "m", "modality": "sighted"}, Answer)


def test_models_and_recipes_load() -> None:
    models = msgspec.convert(yaml.safe_load((EXAMPLES / "models.yaml").read_text()), dict[str, ModelEntry])
    assert models["llava-next-34b"].base == "nh2-yi-34b"
    recipe = msgspec.convert(yaml.safe_load((EXAMPLES / "recipe.yaml").read_text()), Recipe)
    assert recipe.panels["inspectors"].shots == "two"
    assert [s.filter or s.grade or "person" for s in recipe.stages][:2] == ["blind-hits", "difficulty"]
    assert recipe.stages[0].keep["hits"].holds(2)
    assert recipe.stages[1].bands["tough"] == (0, 3)


def test_a_stage_is_one_thing() -> None:
    with pytest.raises(msgspec.ValidationError, match="found filter and grade"):
        msgspec.convert({"filter": "a", "grade": "b"}, Stage)
    with pytest.raises(msgspec.ValidationError, match="none of them"):
        msgspec.convert({"panel": "a"}, Stage)


@pytest.mark.parametrize(("op", "holding"), [("<", [1]), ("<=", [1, 2]), ("==", [2]), (">=", [2, 3]), (">", [3])])
def test_operators_are_kept_with_their_thresholds(op: str, holding: list[int]) -> None:
    cut = msgspec.convert({"op": op, "value": 2}, Cut)
    assert [n for n in (1, 2, 3) if cut.holds(n)] == holding

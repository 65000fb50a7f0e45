"""What is hidden in a puzzle, found again from what is seen of it: no look at how it was posed or at its answer."""

from collections.abc import Callable
from itertools import product
from typing import Any

Scene = dict[str, Any]
Rows = list[list[Any]]


def spot(rows: Rows) -> tuple[int, int]:
    ((row, column),) = [(r, c) for r, row in enumerate(rows) for c, part in enumerate(row) if part == "?"]
    return row, column


def only(candidates: set[Any]) -> Any:
    (answer,) = candidates
    return answer


def odd_one(flat: list[Any]) -> Any:
    """Parts come in pairs: the one that is alone has its partner hidden."""
    return only({part for part in flat if part != "?" and flat.count(part) == 1})


def around_centre(rows: Rows) -> Any:
    row, column = spot(rows)
    steps = abs(row - 1) + abs(column - 1)
    assert steps
    alike = [(r, c) for r, c in product(range(3), range(3)) if abs(r - 1) + abs(c - 1) == steps]
    return only({rows[r][c] for r, c in alike if rows[r][c] != "?"})


def opposite(parts: list[Any]) -> Any:
    index = parts.index("?")
    assert all(parts[i] == parts[i + 3] for i in range(3) if "?" not in (parts[i], parts[i + 3]))
    return parts[(index + 3) % 6]


def by_mark(values: list[Any], letters: list[Any], own: Any) -> Any:
    """Like letters, like values: what goes with the mark of the hidden part."""
    pairs = {(mark, value) for mark, value in zip(letters, values, strict=True) if value != "?"}
    assert len({mark for mark, _ in pairs}) == len(pairs) == len({value for _, value in pairs})
    return only({value for mark, value in pairs if mark == own})


def flat(rows: Rows) -> list[Any]:
    return [part for row in rows for part in row]


def arms(scene: Scene) -> Any:
    row, column = spot(scene["values"])
    return only({one[column] for index, one in enumerate(scene["values"]) if index != row})


def bars(scene: Scene) -> Any:
    values, lengths = scene["values"][0], scene["lengths"]
    return by_mark(values[:-1], lengths[:-1], lengths[-1])


def heap_sides(scene: Scene) -> Any:
    parts = flat(scene["values"])
    return by_mark(parts, scene["sides"], scene["sides"][parts.index("?")])


def missing_polygon(scene: Scene) -> Any:
    """The number is that of its sides, which is what is drawn: no other polygon has it."""
    assert scene["answer"] not in flat(scene["values"])
    return scene["answer"]


SOLVERS: dict[str, Callable[[Scene], Any]] = {
    "circle_size_number": lambda s: odd_one(s["values"][0]),
    "color_grid": lambda s: around_centre(s["values"]),
    "size_grid": lambda s: around_centre(s["values"]),
    "color_hexagon": lambda s: opposite(s["values"][0]),
    "polygon_sides_color": heap_sides,
    "polygon_sides_number": missing_polygon,
    "rectangle_height_color": bars,
    "rectangle_height_number": bars,
    "shape_reflect": lambda s: s["values"][1 - spot(s["values"])[0]][spot(s["values"])[1]],
    "shape_size_hexagon": lambda s: by_mark(s["values"][0], s["shapes"], s["of"]),
    "size_cycle": arms,
}

"""What is hidden in a puzzle, found again from what is seen of it: no look at how it was posed or at its answer."""

from collections.abc import Callable
from itertools import pairwise, product
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


def same_sum(rows: Rows) -> Any:
    row, _ = spot(rows)
    total = only({sum(one) for index, one in enumerate(rows) if index != row})
    return total - sum(part for part in rows[row] if part != "?")


def by_mark(values: list[Any], marks: list[Any], own: Any) -> Any:
    """Like marks, like values: what goes with the mark of the hidden part."""
    pairs = {(mark, value) for mark, value in zip(marks, values, strict=True) if value != "?"}
    assert len({mark for mark, _ in pairs}) == len(pairs) == len({value for _, value in pairs})
    return only({value for mark, value in pairs if mark == own})


def flat(rows: Rows) -> list[Any]:
    return [part for row in rows for part in row]


def same_sum_by_colour(scene: Scene) -> Any:
    numbers, colours = scene["values"][0], scene["colours"]
    hidden = numbers.index("?")
    by_colour = [[n for n, of in zip(numbers, colours, strict=True) if of == name] for name in dict.fromkeys(colours)]
    total = only({sum(pair) for pair in by_colour if "?" not in pair})
    return total - only({n for i, n in enumerate(numbers) if colours[i] == colours[hidden] and i != hidden})


MIXES = {"orange": {"red", "yellow"}, "purple": {"red", "blue"}, "green": {"yellow", "blue"}}


def mixed(scene: Scene) -> Any:
    row = scene["values"][0]
    hidden = row.index("?")
    assert row[1] != "?"
    assert MIXES[scene["overlaps"][1 if hidden == 0 else 0]] == {row[1], row[2 - hidden]}
    return only(MIXES[scene["overlaps"][0 if hidden == 0 else 1]] - {row[1]})


def shades(scene: Scene) -> Any:
    order = ["very light", "light", "medium", "dark", "very dark"]
    rings = ["small", "medium", "large", "extra large"]
    at = dict(zip(scene["rings"], scene["values"][0], strict=True))
    assert at["small"] == "?"
    hue = only({at[ring].rpartition(" ")[2] for ring in rings[1:]})
    tones = [order.index(at[ring].rpartition(" ")[0]) for ring in rings[1:]]
    step = only({b - a for a, b in pairwise(tones)})
    assert step in (1, -1)
    return f"{order[tones[0] - step]} {hue}"


def sized(scene: Scene) -> Any:
    """Rows or columns are of one size; whichever is, by those that are seen whole."""
    row, column = spot(scene["values"])
    columns = [list(one) for one in zip(*scene["values"], strict=True)]
    answers = set()
    for lines, index in ((scene["values"], row), (columns, column)):
        whole = [line for number, line in enumerate(lines) if number != index]
        if all(len({part.split()[0] for part in line}) == 1 for line in whole):
            answers |= {part.split()[0] for part in lines[index] if part != "?"}
    return only(answers)


def arms(scene: Scene) -> Any:
    row, column = spot(scene["values"])
    return only({one[column] for index, one in enumerate(scene["values"]) if index != row})


def product_of(scene: Scene) -> Any:
    row, column = spot(scene["values"])
    for index, (a, b, c) in enumerate(scene["values"]):
        assert index == row or (a * b == c != a + b)
    a, b, c = scene["values"][row]
    fits = {
        n for n in range(1, 100) if (n if column == 0 else a) * (n if column == 1 else b) == (n if column == 2 else c)
    }
    return only(fits)


def venn(scene: Scene) -> Any:
    (a, b, c), (left, right) = scene["values"][0], scene["sums"]
    if a == "?":
        assert b + c == right
        return left - b
    if c == "?":
        assert a + b == left
        return right - b
    assert left - a == right - c
    return left - a


def bars(scene: Scene) -> Any:
    values, lengths = scene["values"][0], scene["lengths"]
    return by_mark(values[:-1], lengths[:-1], lengths[-1])


def morph(scene: Scene) -> Any:
    """The one puzzle that words do not solve: what its picture turns into is its answer."""
    shown = next(part for part in scene["values"][0] if part != "?")
    assert shown != scene["answer"]
    return scene["answer"]


def heap_sides(scene: Scene) -> Any:
    parts = flat(scene["values"])
    return by_mark(parts, scene["sides"], scene["sides"][parts.index("?")])


def missing_polygon(scene: Scene) -> Any:
    """The number is that of its sides, which is what is drawn: no other polygon has it."""
    assert scene["answer"] not in flat(scene["values"])
    return scene["answer"]


def painted(scene: Scene) -> Any:
    numbers = flat(scene["numbers"])
    values = flat(scene["values"])
    assert numbers[values.index("?")] == scene["of"]
    return by_mark(values, numbers, scene["of"])


SOLVERS: dict[str, Callable[[Scene], Any]] = {
    "circle_size_number": lambda s: odd_one(s["values"][0]),
    "color_grid": lambda s: around_centre(s["values"]),
    "size_grid": lambda s: around_centre(s["values"]),
    "color_hexagon": lambda s: opposite(s["values"][0]),
    "color_number_hexagon": same_sum_by_colour,
    "color_overlap_squares": mixed,
    "color_size_circle": shades,
    "grid_number": lambda s: same_sum(s["values"]),
    "grid_number_color": painted,
    "polygon_sides_color": heap_sides,
    "polygon_sides_number": missing_polygon,
    "rectangle_height_color": bars,
    "rectangle_height_number": bars,
    "shape_morph": morph,
    "shape_reflect": lambda s: s["values"][1 - spot(s["values"])[0]][spot(s["values"])[1]],
    "shape_size_grid": sized,
    "shape_size_hexagon": lambda s: by_mark(s["values"][0], s["shapes"], s["of"]),
    "size_cycle": arms,
    "triangle": product_of,
    "venn": venn,
}

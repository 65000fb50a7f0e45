"""Puzzles in rows and columns: colours, sizes and numbers that follow from where a part stands."""

from collections.abc import Callable, Sequence
from itertools import product
from random import Random

from eyetest.harden.editions.puzzles.puzzle import (
    COLOURS,
    EDGE,
    HIDDEN,
    SHAPES,
    SIZES,
    Part,
    Puzzle,
    Scene,
    alike,
    any_of,
    colour,
    disc,
    hidden_at,
    hide_one,
    lists,
    mapped,
    others,
    read_rows,
    regular,
    shown,
    swapped,
)
from eyetest.world.canvas import Canvas, Point

_Pose = Callable[[Random, Part, Sequence[Part]], Scene]
_CELLS = tuple(product(range(3), range(3)))
_DIGITS = range(1, 10)
_TRIES = 1000
_RADII = {"small": 4.0, "medium": 8.0, "large": 13.0}
_PALE = "#cfe2f3"


def _centre(row: int, column: int) -> Point:
    return 20 + 30.0 * column, 20 + 30.0 * row


def _around_centre(pool: Sequence[Part]) -> _Pose:
    """A grid whose corners are alike, and whose sides are."""

    def pose(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
        a, b = others(rng, pool, answer, 2)
        corner, side, centre = (answer, a, b) if rng.random() < 0.5 else (a, answer, b)
        by_steps = {0: centre, 1: side, 2: corner}
        rows = [[by_steps[abs(r - 1) + abs(c - 1)] for c in range(3)] for r in range(3)]
        return hide_one(rng, rows, answer)

    return pose


def _draw_colours(canvas: Canvas, scene: Scene) -> None:
    for row, column in _CELLS:
        part, at = scene["values"][row][column], _centre(row, column)
        if part == HIDDEN:
            canvas.text(at, HIDDEN, 12)
        else:
            disc(canvas, at, 11, colour(part))


def _draw_sizes(canvas: Canvas, scene: Scene) -> None:
    for row, column in _CELLS:
        part, at = scene["values"][row][column], _centre(row, column)
        if part == HIDDEN:
            canvas.text(at, HIDDEN, 12)
        else:
            disc(canvas, at, _RADII[part], "#fff2cc")


def _grid_of(things: str) -> Callable[[Scene], str]:
    def say(scene: Scene) -> str:
        first, second, third = scene["values"]
        return f"A grid of {things} with three rows: {first}, then {second}, and at the bottom {third}."

    return say


def _pose_sums(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    """Rows with the same sum; the columns that are seen whole have other sums, so that rows are the one rule."""
    for _ in range(_TRIES):
        row = [int(answer), rng.choice(_DIGITS), rng.choice(_DIGITS)]
        total = sum(row)
        pairs = [(a, b) for a in _DIGITS for b in _DIGITS if 1 <= total - a - b <= 9]
        rows = [row, *([a, b, total - a - b] for a, b in (rng.choice(pairs), rng.choice(pairs)))]
        rng.shuffle(row)
        rng.shuffle(rows)
        scene = hide_one(rng, [row], answer)
        scene["values"] = [scene["values"][0] if one is row else one for one in rows]
        if _by_rows_alone(scene):
            return scene
    raise AssertionError(answer)


def _by_rows_alone(scene: Scene) -> bool:
    _, hidden = hidden_at(scene)
    whole = {sum(row[c] for row in scene["values"]) for c in range(3) if c != hidden}
    return len(whole) > 1


def _change_sums(scene: Scene, new: Part) -> Scene | None:
    """Another number of the row makes up for the hidden one."""
    row, hidden = hidden_at(scene)
    for column in (c for c in range(3) if c != hidden):
        values = [list(parts) for parts in scene["values"]]
        values[row][column] -= int(new) - int(scene["answer"])
        changed = scene | {"values": values, "answer": new}
        if values[row][column] in _DIGITS and _by_rows_alone(changed):
            return changed
    return None


def _draw_numbers(canvas: Canvas, scene: Scene) -> None:
    for row, column in _CELLS:
        x, y = 14 + 24 * column, 14 + 24 * row
        canvas.box((x, y), (x + 24, y + 24), _PALE, EDGE, 0.5)
        canvas.text((x + 12, y + 12), str(scene["values"][row][column]), 12)


def _pose_painted(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    """Nine numbers of four kinds, each with its colour; the hidden one's kind is seen elsewhere."""
    numbers = rng.sample(list(_DIGITS), 4)
    painted = dict(zip(numbers, options, strict=True))
    own = next(number for number in numbers if painted[number] == answer)
    cells = [*numbers, *numbers, rng.choice(numbers)]
    rng.shuffle(cells)
    marks = [cells[:3], cells[3:6], cells[6:]]
    scene = hide_one(rng, mapped(marks, lambda number: painted[number]), answer)
    return scene | {"numbers": marks, "of": own}


def _read_painted(caption: str, question: str, answer: Part) -> Scene:
    pairs = lists(caption)
    if len(pairs) != 3 or any(len(row) != 3 for row in pairs):
        raise ValueError(caption)
    numbers, values = (mapped(pairs, lambda pair, side=side: pair[side]) for side in (0, 1))  # type: ignore[misc]
    scene: Scene = {"values": values, "answer": answer, "numbers": numbers}
    row, column = hidden_at(scene)
    return scene | {"of": numbers[row][column]}


def _say_painted(scene: Scene) -> str:
    rows = [list(zip(*two, strict=True)) for two in zip(scene["numbers"], scene["values"], strict=True)]
    return f"A grid of numbers in colours with three rows: {rows[0]}, then {rows[1]}, and at the bottom {rows[2]}."


def _draw_painted(canvas: Canvas, scene: Scene) -> None:
    for row, column in _CELLS:
        x, y, part = 5 + 30 * column, 5 + 30 * row, scene["values"][row][column]
        canvas.box((x, y), (x + 30, y + 30), colour(part), EDGE, 0.4)
        canvas.text((x + 15, y + 15), HIDDEN if part == HIDDEN else str(scene["numbers"][row][column]), 12)


def _pose_sized(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    """Every row a shape and every column a size, or the other way round."""
    shapes, sizes = rng.sample(list(SHAPES), 3), list(SIZES)
    if rng.random() < 0.5:
        sizes.reverse()
    rows = [[f"{size} {shape}" for size in sizes] for shape in shapes]
    rows[rng.randrange(3)][sizes.index(str(answer))] = HIDDEN
    if rng.random() < 0.5:
        rows = [list(column) for column in zip(*rows, strict=True)]
    return {"values": rows, "answer": answer}


def _change_sized(scene: Scene, new: Part) -> Scene:
    other = {scene["answer"]: new, new: scene["answer"]}

    def change(part: str) -> str:
        size, _, shape = part.partition(" ")
        return part if part == HIDDEN else f"{other.get(size, size)} {shape}"

    return scene | {"values": mapped(scene["values"], change), "answer": new}


def _draw_sized(canvas: Canvas, scene: Scene) -> None:
    for row, column in _CELLS:
        part, at = scene["values"][row][column], _centre(row, column)
        if part == HIDDEN:
            canvas.text(at, HIDDEN, 12)
        else:
            size, _, shape = part.partition(" ")
            regular(canvas, at, _RADII[size] * 1.1, SHAPES[shape], "#d9ead3")


def _pose_arms(rng: Random, answer: Part, options: Sequence[Part]) -> Scene:
    """Three arms of a spiral, growing outwards."""
    rows = [list(SIZES) for _ in range(3)]
    return hide_one(rng, rows, answer)


def _change_arms(scene: Scene, new: Part) -> Scene:
    """Another place of the same arm is hidden."""
    row, _ = hidden_at(scene)
    values = [list(arm) for arm in scene["values"]]
    values[row] = [shown(scene, row, column) for column in range(3)]
    values[row][values[row].index(new)] = HIDDEN
    return scene | {"values": values, "answer": new}


def _draw_arms(canvas: Canvas, scene: Scene) -> None:
    places = (
        ((42, 38), (33, 26), (34, 9)),
        ((58, 39), (73, 36), (89, 45)),
        ((51, 56), (43, 70), (26, 80)),
    )
    for arm, spots in zip(scene["values"], places, strict=True):
        for part, (x, y) in zip(arm, spots, strict=True):
            at = (x, y + 4)
            if part == HIDDEN:
                canvas.text(at, HIDDEN, 11)
            else:
                disc(canvas, at, {"small": 3.8, "medium": 6.2, "large": 8.8}[part], "#fff2cc")


_BY_PLACE = alike(lambda scene: [abs(row - 1) + abs(column - 1) for row, column in _CELLS])


def _same_sums(scene: Scene) -> bool:
    return len({sum(int(shown(scene, row, column)) for column in range(3)) for row in range(3)}) == 1


def _one_size_a_line(scene: Scene) -> bool:
    """Every row is of one size, or every column."""
    sizes = [[str(shown(scene, row, column)).split()[0] for column in range(3)] for row in range(3)]
    return any(all(len(set(line)) == 1 for line in lines) for lines in (sizes, zip(*sizes, strict=True)))


PUZZLES = (
    Puzzle(
        "color_grid",
        any_of(tuple(COLOURS)),
        _around_centre(tuple(COLOURS)),
        swapped,
        read_rows(3),
        _grid_of("colored circles"),
        _draw_colours,
        holds=_BY_PLACE,
    ),
    Puzzle(
        "size_grid",
        any_of(SIZES, 3),
        _around_centre(SIZES),
        swapped,
        read_rows(3),
        _grid_of("circles of several sizes"),
        _draw_sizes,
        holds=_BY_PLACE,
    ),
    Puzzle(
        "grid_number",
        any_of(_DIGITS),
        _pose_sums,
        _change_sums,
        read_rows(3),
        _grid_of("numbers"),
        _draw_numbers,
        holds=_same_sums,
    ),
    Puzzle(
        "grid_number_color",
        any_of(tuple(COLOURS)),
        _pose_painted,
        swapped,
        _read_painted,
        _say_painted,
        _draw_painted,
        holds=alike(lambda scene: [number for row in scene["numbers"] for number in row]),
    ),
    Puzzle(
        "shape_size_grid",
        any_of(SIZES, 3),
        _pose_sized,
        _change_sized,
        read_rows(3),
        _grid_of("shapes of several sizes"),
        _draw_sized,
        holds=_one_size_a_line,
    ),
    Puzzle(
        "size_cycle",
        any_of(SIZES, 3),
        _pose_arms,
        _change_arms,
        read_rows(3),
        lambda scene: "Circles in a spiral, its three arms from the middle outwards: {}, {}, {}.".format(
            *scene["values"]
        ),
        _draw_arms,
        holds=alike(lambda scene: [0, 1, 2] * 3),
    ),
)

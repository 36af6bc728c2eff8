"""Pattern of a matrix for `--plot`: which entries are zero, constant or variable, and their size at
a pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from flint import arb, fmpq

from symgen.derivation import constants as k
from symgen.inspection.at import Values, quaternions
from symgen.inspection.catalogue import Choice, PaperQuantity, Result, choose
from symgen.inspection.entries import Answer, answer, block_sizes, layout
from symgen.inspection.equations import needed_rows
from symgen.inspection.multiangle import DIGITS
from symgen.ir.program import Numbers, Port, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.quantities import Quantity
from symgen.reference.states import draw_states
from symgen.support.errors import RequestError
from symgen.vocabulary.arrays import TASK_ROWS, Size
from symgen.vocabulary.options import Links, ProgramOptions, Rows
from symgen.vocabulary.poses import Angle

X = TypeVar("X")
ZERO, NUMBER, MOVES = 0, 1, 2
BALLS = Numbers(
    lambda x: arb(fmpq(x.numerator, x.denominator)), arb.sin, arb.cos, arb.sqrt, arb.log, arb.atan2
)
SAME = fmpq(1, 10**DIGITS)
HUNDREDTHS = (26, -50, 10, 82)
"""Entries of a unit quaternion in hundredths: the squares add up to 100²."""
SPATIAL = tuple(f"{kind} {axis}" for kind in ("angular", "linear") for axis in "xyz")
Groups = tuple[tuple[str, int], ...]
"""(name, number of its rows or columns), in order."""


@dataclass(frozen=True)
class Pattern:
    """Pattern of a matrix, row by row: `kinds` are ZERO or NUMBER (at every pose) or MOVES;
    `values` are those at `pose` (SI).

    `rows`, `columns`: what they belong to, joints by name. `pose`: the inputs that matter, q0=0.3,…
    as `--at` takes them; `chosen` is True if the user gave all of them.
    """

    label: str
    kinds: tuple[tuple[int, ...], ...]
    values: tuple[tuple[float, ...], ...]
    rows: Groups
    columns: Groups
    pose: str
    chosen: bool


def pattern(
    mechanism: Mechanism,
    what: str,
    method: str | None = None,
    frame: Links = None,
    at: Values | None = None,
    task_rows: Rows = None,
) -> Pattern:
    """Return the pattern of a quantity at a pose.

    Inputs that `at` leaves out get random values within the joints' limits, the same each time. An
    entry counts as zero or constant at every pose if its values at two random states agree to
    DIGITS digits. Raises RequestError for a single number, and for an entry without a value at that
    pose.
    """
    choice = choose(mechanism, what, method, task_rows)
    if isinstance(choice.target, PaperQuantity):
        raise choice.target.no_program("--plot")
    matrix = answer(mechanism, choice, frame, task_rows=task_rows)
    if not matrix.shape:
        raise RequestError(
            f"{matrix.label} is a single number, which cannot be drawn; name a block or the whole"
            " matrix"
        )
    inputs = _inputs_read(matrix)
    states, user_values = _random_states(mechanism), at or {}
    _refuse_part_of_quaternion(mechanism, user_values)
    pose_values = {**states[0], **user_values}
    kinds, magnitudes = _magnitudes(matrix, states, pose_values)
    rows, columns = _sides(
        mechanism, choice, matrix, ProgramOptions(frame=frame, task_rows=task_rows)
    )
    pose_text = [
        f"{name}{element}={_format_value(pose_values[name, element])}"
        for name, element in pose_values
        if (name, element) in inputs
    ]
    return Pattern(
        matrix.label,
        _grid(kinds, matrix),
        _grid(magnitudes, matrix),
        rows,
        columns,
        ",".join(pose_text),
        inputs <= set(user_values),
    )


def _inputs_read(matrix: Answer) -> set[tuple[str, int]]:
    """Return the elements of arguments on which an answer depends."""
    program = matrix.program
    rows = [program.rows[r] for r in needed_rows(program, matrix.rows)]
    read_elements = {row.value for row in rows if row.op == "input"}
    return {(program.inputs[port].name, element) for port, element in read_elements}


def _refuse_part_of_quaternion(mechanism: Mechanism, user_values: Values) -> None:
    """Raise RequestError if only some entries of a unit quaternion are given."""
    for first in quaternions(mechanism):
        if 0 < sum(("q", first + k) in user_values for k in range(4)) < 4:
            raise RequestError(
                f"q{first} … q{first + 3} are one unit quaternion x y z w; give all four at --at,"
                " or none"
            )


def _magnitudes(
    matrix: Answer, states: tuple[Values, Values], pose: Values
) -> tuple[list[int], list[float]]:
    """Return the kind of every entry by its values at two states, and the values at a pose."""
    with k.precision():
        first, second, at_pose = (_values(matrix, state) for state in (*states, pose))
        tolerance = max(abs(x) for x in (*first, *second)) * SAME
    kinds = [
        ZERO
        if max(abs(x), abs(y)) <= tolerance
        else NUMBER
        if abs(x - y) <= abs(x) * SAME
        else MOVES
        for x, y in zip(first, second, strict=True)
    ]
    magnitudes = [
        0.0 if kind == ZERO or abs(x) <= tolerance else float(x)
        for kind, x in zip(kinds, at_pose, strict=True)
    ]
    return kinds, magnitudes


def _grid(flat: Sequence[X], matrix: Answer) -> tuple[tuple[X, ...], ...]:
    height, width = matrix.shape
    return tuple(tuple(flat[r * width : (r + 1) * width]) for r in range(height))


def _random_states(mechanism: Mechanism) -> tuple[Values, Values]:
    """Return two random states, the first with two decimals per number.

    Its quaternions are fixed, since few unit quaternions have two decimals.
    """
    states = [
        {
            (name, element): x
            for name, rows in draw_states(mechanism, 2).items()
            for element, x in enumerate(rows.reshape(2, -1)[n])
        }
        for n in range(2)
    ]
    quaternion_entries = {
        ("q", first + k): Fraction(HUNDREDTHS[(n + k) % 4], 100)
        for n, first in enumerate(quaternions(mechanism))
        for k in range(4)
    }
    return (
        {
            element: Angle(quaternion_entries.get(element, Fraction(round(100 * x), 100)))
            for element, x in states[0].items()
        },
        {element: Angle(x) for element, x in states[1].items()},
    )


def _values(matrix: Answer, at: Values) -> list[Any]:
    """Return the entries, evaluated over balls, so that a cancelled term is far below any value
    that is shown.
    """
    entry_program = replace(matrix.program, outputs=(Port("x", (len(matrix.rows),), matrix.rows),))
    inputs = {
        port.name: [_number(at[port.name, element]) for element in range(port.size)]
        for port in matrix.program.inputs
    }
    values = evaluate(entry_program, inputs, BALLS)["x"]
    if not all(x.is_finite() for x in values):
        raise RequestError(
            f"{matrix.label} has an entry without a value at this pose: it divides by zero or takes"
            " the root or logarithm of a nonpositive number; choose another --at"
        )
    return [x.mid() for x in values]


def _number(x: Angle) -> Any:
    return BALLS.constant(x.radians) + BALLS.constant(x.pi) * arb.pi()


def _format_value(x: Angle) -> str:
    if not x.pi:
        return f"{float(x.radians):g}"
    text = f"{x.pi.numerator}*pi" + (f"/{x.pi.denominator}" if x.pi.denominator != 1 else "")
    return text.replace("1*pi", "pi") if abs(x.pi.numerator) == 1 else text


# -- joints of rows and columns --------------------------------------------------------------------


def _sides(
    mechanism: Mechanism, choice: Choice, matrix: Answer, options: ProgramOptions
) -> tuple[Groups, Groups]:
    joints, words = tuple(joint.name for joint in mechanism.joints), choice.words
    if isinstance(choice.target, Result):
        names_of: dict[Size, Sequence[str]] = {
            "NV": mechanism.velocity_names,
            "NB": joints,
            "NF": options.frames,
            "NK": [TASK_ROWS[row] for row in options.rows],
        }
        sizes_of = choice.target.array.laid_out(
            matrix.program.outputs[choice.target.index].shape
        ).shape
        if len(sizes_of) > 2 and words.indices is None:  # one matrix per link or frame, stacked
            outer_names = names_of[sizes_of[0]]
            return tuple(
                (name, matrix.shape[0] // len(outer_names)) for name in outer_names
            ), _groups(names_of.get(sizes_of[2]), matrix.shape[1])
        names = [names_of.get(size) for size in sizes_of]
        first, second = (
            _groups(name, size) for name, size in zip([*names, None], matrix.shape, strict=False)
        )
        return first, second
    quantity = choice.target
    assert isinstance(quantity, Quantity)
    if words.indices is not None or not quantity.indices:
        return _groups(None, matrix.shape[0]), _groups(None, matrix.shape[1])
    assert choice.method is not None
    quantity_layout = layout(mechanism, choice.method, words.letter)
    rows, columns = (
        tuple(zip(joints, block_sizes(quantity_layout, side, len(joints)), strict=True))
        for side in (0, 1)
    )
    return rows, columns


def _groups(names: Sequence[str] | None, size: int) -> Groups:
    """Return groups by name.

    Rows without a joint are named by their number: xyz for 3, spatial components for 6; a single
    column has no name.
    """
    if names is None:
        names = {1: ("",), 3: tuple("xyz"), 6: SPATIAL}.get(
            size, tuple(str(n) for n in range(size))
        )
    return tuple((name, 1) for name in names)

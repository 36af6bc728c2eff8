"""What `--plot` draws of a quantity: which entries are zero, constant or moving, and how large they are at a pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from flint import arb, fmpq

from symgen.derivation import constants as k
from symgen.inspection.at import Values, quaternions
from symgen.inspection.catalogue import Choice, Result, choose
from symgen.inspection.entries import Answer, answer, layout, sizes
from symgen.inspection.equations import needed
from symgen.inspection.multiangle import DIGITS
from symgen.ir.program import Numbers, Port, evaluate
from symgen.mechanism.mechanism import Mechanism
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
"""Of a unit quaternion: the squares add up to 100²."""
SPATIAL = tuple(f"{part} {axis}" for part in ("angular", "linear") for axis in "xyz")
Groups = tuple[tuple[str, int], ...]
"""(name, rows or columns that it takes), in order."""


@dataclass(frozen=True)
class Pattern:
    """Of a matrix, row by row: `kinds` ZERO (at every pose), NUMBER (one number at every pose) or MOVES, `values` at `pose` (SI).

    `rows`, `columns`: what they belong to, joints by name. `pose`: the inputs that count, q0=0.3,… as `--at` takes them;
    `chosen` where all of them were asked for.
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
    """Of a quantity at a pose; inputs that `at` leaves out have drawn values, the same each time, within the joints' limits.

    An entry is told to be zero, or the same number, at every pose by its values at two drawn states, which agree to DIGITS
    digits. Raises RequestError for a single number, or where an entry has no value at that pose.
    """
    choice = choose(mechanism, what, method, task_rows)
    found = answer(mechanism, choice, frame, task_rows=task_rows)
    if not found.shape:
        raise RequestError(
            f"{found.label} is one number, which makes no picture; ask for a block or the whole matrix"
        )
    inputs = _inputs_read(found)
    states, given = _drawn(mechanism), at or {}
    _refuse_part_of_quaternion(mechanism, given)
    places = {**states[0], **given}
    kinds, shown = _magnitudes(found, states, places)
    rows, columns = _sides(
        mechanism, choice, found, ProgramOptions(frame=frame, task_rows=task_rows)
    )
    said = [
        f"{name}{element}={_said(places[name, element])}"
        for name, element in places
        if (name, element) in inputs
    ]
    return Pattern(
        found.label,
        _grid(kinds, found),
        _grid(shown, found),
        rows,
        columns,
        ",".join(said),
        inputs <= set(given),
    )


def _inputs_read(found: Answer) -> set[tuple[str, int]]:
    """Return the elements of arguments that an answer depends on."""
    program = found.program
    rows = [program.rows[r] for r in needed(program, found.rows)]
    read = {row.value for row in rows if row.op == "input"}
    return {(program.inputs[port].name, element) for port, element in read}


def _refuse_part_of_quaternion(mechanism: Mechanism, given: Values) -> None:
    """Raise RequestError if some entries of a unit quaternion are given, and not all."""
    for first in quaternions(mechanism):
        if 0 < sum(("q", first + k) in given for k in range(4)) < 4:
            raise RequestError(
                f"q{first} … q{first + 3} are one unit quaternion x y z w; give all four at --at, or none"
            )


def _magnitudes(
    found: Answer, states: tuple[Values, Values], pose: Values
) -> tuple[list[int], list[float]]:
    """Return the kind of every entry by its values at two states, and the values at a pose."""
    with k.precision():
        first, second, here = (_values(found, state) for state in (*states, pose))
        least = max(abs(x) for x in (*first, *second)) * SAME
    kinds = [
        ZERO if max(abs(x), abs(y)) <= least else NUMBER if abs(x - y) <= abs(x) * SAME else MOVES
        for x, y in zip(first, second, strict=True)
    ]
    shown = [
        0.0 if kind == ZERO or abs(x) <= least else float(x)
        for kind, x in zip(kinds, here, strict=True)
    ]
    return kinds, shown


def _grid(flat: Sequence[X], found: Answer) -> tuple[tuple[X, ...], ...]:
    height, width = found.shape
    return tuple(tuple(flat[r * width : (r + 1) * width]) for r in range(height))


def _drawn(mechanism: Mechanism) -> tuple[Values, Values]:
    """Two generic states, the first with two decimals a number; so its quaternions are told, since few have two decimals."""
    drawn = [
        {
            (name, element): x
            for name, rows in draw_states(mechanism, 2).items()
            for element, x in enumerate(rows.reshape(2, -1)[n])
        }
        for n in range(2)
    ]
    told = {
        ("q", first + k): Fraction(HUNDREDTHS[(n + k) % 4], 100)
        for n, first in enumerate(quaternions(mechanism))
        for k in range(4)
    }
    return (
        {
            place: Angle(told.get(place, Fraction(round(100 * x), 100)))
            for place, x in drawn[0].items()
        },
        {place: Angle(x) for place, x in drawn[1].items()},
    )


def _values(found: Answer, at: Values) -> list[Any]:
    """Over balls, so that a cancelled term is far below anything that is shown."""
    whole = replace(found.program, outputs=(Port("x", (len(found.rows),), found.rows),))
    given = {
        port.name: [_number(at[port.name, element]) for element in range(port.size)]
        for port in found.program.inputs
    }
    values = evaluate(whole, given, BALLS)["x"]
    if not all(x.is_finite() for x in values):
        raise RequestError(
            f"{found.label} has an entry without a value at this pose: it divides by zero or takes the root or "
            "logarithm of what is not positive; take another --at"
        )
    return [x.mid() for x in values]


def _number(x: Angle) -> Any:
    return BALLS.constant(x.radians) + BALLS.constant(x.pi) * arb.pi()


def _said(x: Angle) -> str:
    if not x.pi:
        return f"{float(x.radians):g}"
    turn = f"{x.pi.numerator}*pi" + (f"/{x.pi.denominator}" if x.pi.denominator != 1 else "")
    return turn.replace("1*pi", "pi") if abs(x.pi.numerator) == 1 else turn


# -- what rows and columns belong to ----------------------------------------------------------------------------------------


def _sides(
    mechanism: Mechanism, choice: Choice, found: Answer, options: ProgramOptions
) -> tuple[Groups, Groups]:
    joints, words = tuple(joint.name for joint in mechanism.joints), choice.words
    if isinstance(choice.found, Result):
        called: dict[Size, Sequence[str]] = {
            "NV": mechanism.velocity_names,
            "NB": joints,
            "NF": options.frames,
            "NK": [TASK_ROWS[row] for row in options.rows],
        }
        sizes_of = choice.found.array.laid_out(
            found.program.outputs[choice.found.place].shape
        ).shape
        if (
            len(sizes_of) > 2 and words.indices is None
        ):  # a matrix of each link or frame, one below the other
            each = called[sizes_of[0]]
            return tuple((name, found.shape[0] // len(each)) for name in each), _named(
                called.get(sizes_of[2]), found.shape[1]
            )
        named = [called.get(size) for size in sizes_of]
        first, second = (
            _named(name, size) for name, size in zip([*named, None], found.shape, strict=False)
        )
        return first, second
    quantity = choice.found
    if words.indices is not None or not quantity.indices:
        return _named(None, found.shape[0]), _named(None, found.shape[1])
    assert choice.method is not None
    laid = layout(mechanism, choice.method, words.letter)
    rows, columns = (
        tuple(zip(joints, sizes(laid, side, len(joints)), strict=True)) for side in (0, 1)
    )
    return rows, columns


def _named(names: Sequence[str] | None, size: int) -> Groups:
    """By name. For rows without a joint, what so many of them are; a column alone has no name."""
    if names is None:
        names = {1: ("",), 3: tuple("xyz"), 6: SPATIAL}.get(
            size, tuple(str(n) for n in range(size))
        )
    return tuple((name, 1) for name in names)

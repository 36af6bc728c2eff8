"""Seeded test states inside the declared limits, exact in every real type.

Each number is k/1024, and an `instant` is such a number divided by 4096. These terminating decimals
are exact in float, in double and in balls of any precision. One exact answer therefore serves the
check of the algebra and the check of both floating-point types.

A unit quaternion is the exception: only the 24 with entries 0, ±1/2 and ±1 are exact in binary.
Drawn quaternions are rational, and each entry is rounded where C takes it. Small rotations of
joints without an axis are powers of two, which a real type may round to zero
(`insert_special_states`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, prod
from random import Random

import numpy as np

from symgen.mechanism.mechanism import Joint, Limits, Mechanism
from symgen.reference.precision import Array

Row = list[Fraction]
GRID = 1024
_RATE = (Fraction(-2), Fraction(2))
_FORCE = (Fraction(-20), Fraction(20))
_GAINS = ((Fraction(1), Fraction(400)), (Fraction(1), Fraction(40)))
"""K_p in 1/s² and K_d in 1/s."""
_STEPS = ((1, GRID // 8), (GRID // 2, 4 * GRID), (-GRID // 8, -1), (0, 0))
"""Ranges of time steps, in grid units of 1/1024 s."""
INSTANT = Fraction(1, 4096)
"""Factor from a drawn step to a step of dynamics, so short that no drawn force moves a light link
far.
"""


def draw_states(
    mechanism: Mechanism,
    count: int,
    seed: int = 0,
    payload: str | None = None,
    wrench: str | Sequence[str] | None = None,
    derivative_shapes: Mapping[str, tuple[int, ...]] | None = None,
    inertial: bool = True,
) -> dict[str, Array]:
    """Return `count` seeded states by argument name.

    Shapes: q and q_next (count, NQ); v, a, tau and b (count, NV); dt and instant (count,); pi
    (count, 10·NB), if `inertial`. With `payload`, payload (count, 10); with `wrench`, wrench
    (count, 6), or (count, NW, 6) for several links. Entries are Fractions. `derivative_shapes`
    names the changes and weights of derivatives and gives their shapes.

    Positions lie within the declared limits if both are declared in order, else in the usual range
    of the joint type (±π rad, ±1 m). The payload is a load of 0.5 to 2 kg, made of six point masses
    within 0.1 m of its link's origin.

    Steps dt cycle through a controller's step, some seconds (a body turns all the way round), a
    step back in time, and zero. An instant is a step of dynamics, dt times INSTANT. Every fourth
    q_next equals q. Of four states, joints without an axis turn little in one, and by about half a
    turn or a full turn in another.
    """
    random = Random(f"{seed}/{mechanism.nv}/{count}")
    rows = _motions(mechanism, count, random)
    links = 0 if wrench is None else 1 if isinstance(wrench, str) else len(wrench)
    if payload is not None:
        rows["payload"] = [draw_load(random) for _ in range(count)]
    if wrench is not None:
        rows["wrench"] = [
            [_draw_on_grid(random, *_FORCE) for _ in range(6 * links)] for _ in range(count)
        ]
    rows["q_next"] = _target_positions(mechanism, rows["q"], seed)
    times = list(_time_steps(count, seed))
    insert_special_states(mechanism, seed, rows, times)
    states = {name: _fraction_array(values) for name, values in rows.items()} | {
        "dt": np.array(times, dtype=object),
        "instant": _time_steps(count, seed) * INSTANT,
    }
    if inertial:
        states["pi"] = _inertial_parameters(mechanism, count, seed)
    if links > 1:
        states["wrench"] = states["wrench"].reshape(count, links, 6)
    missing_shapes = {
        name: shape for name, shape in (derivative_shapes or {}).items() if name not in states
    }
    return states | draw_derivative_arguments(missing_shapes, count, seed)


def _motions(mechanism: Mechanism, count: int, random: Random) -> dict[str, list[Row]]:
    """Return positions, velocities, accelerations, forces and right-hand sides, state by state."""
    rows: dict[str, list[Row]] = {name: [] for name in ("q", "v", "a", "tau", "b")}
    for _ in range(count):
        rows["q"].append(_positions(mechanism, random))
        for name, span in (("v", _RATE), ("a", _RATE), ("tau", _FORCE), ("b", _RATE)):
            rows[name].append([_draw_on_grid(random, *span) for _ in range(mechanism.nv)])
    return rows


def _target_positions(mechanism: Mechanism, q: Sequence[Row], seed: int) -> list[Row]:
    """Return target positions; every fourth one equals q. They have their own random stream."""
    random = Random(f"q_next/{seed}/{mechanism.nv}/{len(q)}")
    return [start if k % 4 == 3 else _positions(mechanism, random) for k, start in enumerate(q)]


def _inertial_parameters(mechanism: Mechanism, count: int, seed: int) -> Array:
    """Return ten numbers for each body (count, 10·NB), from their own random stream."""
    size = 10 * len(mechanism.bodies)
    random = Random(f"pi/{seed}/{len(mechanism.bodies)}/{count}")
    return _fraction_array(
        [[_draw_on_grid(random, *_RATE) for _ in range(size)] for _ in range(count)]
    )


def draw_derivative_arguments(
    shapes: Mapping[str, tuple[int, ...]], count: int, seed: int = 0
) -> dict[str, Array]:
    """Return changes and weights for derivatives by name, (count, *shape) each, each name with its
    own random stream.

    The values have the range of velocities. Two names differ: `active` holds contact patterns (all,
    none, then some contacts), and `gains` are positive, so that they pull a closed loop together.
    """
    arguments = {}
    for name, shape in shapes.items():
        if name == "active":
            arguments[name] = _contact_patterns(count, *shape)
            continue
        random = Random(f"{name}/{seed}/{shape}/{count}")
        values = np.empty(count * prod(shape), dtype=object)
        for i in range(len(values)):
            values[i] = _draw_on_grid(
                random, *(_GAINS[i % len(_GAINS)] if name == "gains" else _RATE)
            )
        arguments[name] = values.reshape(count, *shape)
    return arguments


def _contact_patterns(count: int, contacts: int) -> Array:
    """Return 0 and 1 (count, contacts): all ones, all zeros, then the binary numbers from 1 on."""
    numbers = [2**contacts - 1, 0, *(1 + k % (2**contacts - 1) for k in range(count))]
    return _fraction_array(
        [[Fraction(number >> bit & 1) for bit in range(contacts)] for number in numbers[:count]]
    )


def _draw_on_grid(random: Random, low: Fraction, high: Fraction) -> Fraction:
    """Return a random multiple of 1/GRID between two numbers, or the rounded `low` if none lies
    between.
    """
    first, last = _grid_lines(low, high)
    return (
        Fraction(random.randint(first, last), GRID)
        if first <= last
        else Fraction(round(low * GRID), GRID)
    )


@lru_cache(maxsize=1 << 10)
def _grid_lines(low: Fraction, high: Fraction) -> tuple[int, int]:
    """Return the first and the last multiple of 1/GRID between two numbers, times GRID."""
    return ceil(low * GRID), floor(high * GRID)


def _positions(mechanism: Mechanism, random: Random) -> list[Fraction]:
    """Return random coordinates of all joints that follow no other joint."""
    coordinates = []
    for joint, coupling, limits in zip(
        mechanism.joints, mechanism.joint_couplings, mechanism.ranges, strict=True
    ):
        if coupling is not None:
            continue
        if joint.type.nq == 1:
            coordinates.append(_position(joint, limits, random))
            continue
        entries = [
            _draw_on_grid(random, *coordinate.usual) for coordinate in joint.type.positions
        ]  # limits are declared for joints of one coordinate only
        if (first := joint.type.quaternion) is not None:
            entries[first : first + 4] = _unit_quaternion(
                entries[first : first + 3], entries[first + 3] > 0
            )
        coordinates += entries
    return coordinates


def _position(joint: Joint, limits: Limits, random: Random) -> Fraction:
    """Return a random coordinate of a joint with one coordinate, within its limits if these are
    usable.
    """
    low, high = limits.lower, limits.upper
    default = joint.type.positions[0].usual
    if (
        not (joint.type.limited or limits is not joint.limits)
        or low is None
        or high is None
        or not low < high
    ):
        return _draw_on_grid(random, *default)
    return (
        _draw_on_grid(random, max(low, 4 * default[0]), min(high, 4 * default[1]))
        if low < 4 * default[1] and high > 4 * default[0]
        else _draw_on_grid(random, *default)
    )


def _time_steps(count: int, seed: int) -> Array:
    """Return time steps (count,), from their own random stream."""
    random = Random(f"dt/{seed}/{count}")
    steps = np.empty(count, dtype=object)
    for i in range(count):
        low, high = _STEPS[i % len(_STEPS)]
        steps[i] = Fraction(random.randint(low, high), GRID)
    return steps


def _unit_quaternion(u: list[Fraction], positive: bool) -> list[Fraction]:
    """Return a rational unit quaternion x y z w: the stereographic image of (3/2) u."""
    u = [Fraction(3, 2) * x for x in u]
    square = sum((x * x for x in u), Fraction(0))
    w = (1 - square) / (1 + square)
    return [*(2 * x / (1 + square) for x in u), w if positive else -w]


def draw_load(random: Random) -> list[Fraction]:
    """Return the ten inertial numbers of six equal point masses, rounded to the grid.

    A small diagonal is added to the moments, so that the rounded load stays a physical body.
    """
    points = [[Fraction(random.randint(-100, 100), GRID) for _ in range(3)] for _ in range(6)]
    mass = Fraction(random.randint(512, 2048), GRID)
    centre = [Fraction(round(sum(p[i] for p in points) / 6 * GRID), GRID) for i in range(3)]
    s = [
        [sum((p[i] * p[j] for p in points), Fraction(0)) * mass / 6 for j in range(3)]
        for i in range(3)
    ]
    moments = (
        s[1][1] + s[2][2],
        -s[0][1],
        -s[0][2],
        s[0][0] + s[2][2],
        -s[1][2],
        s[0][0] + s[1][1],
    )
    padded = [m + (Fraction(4, GRID) if k in (0, 3, 5) else 0) for k, m in enumerate(moments)]
    return [mass, *centre, *(Fraction(round(m * GRID), GRID) for m in padded)]


def _fraction_array(rows: list[list[Fraction]]) -> Array:
    """Return rows of Fractions as an object array."""
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


# -- special states --

SMALL = ((20, 50), (0, 1000))
"""Exponents of two from which small rotations are drawn: [20, 50], where the slopes of quotients
lose most digits, then any.
"""
NEAR = (8, 17)
"""Exponents of two of the distance from a half or full turn. A float still tells the side of the
half turn.
"""
FINE = 2**20
"""Rotations near half a turn are multiples of 1/FINE rad, which are exact in a float."""
PI = Fraction(355, 113)
AXES = ((2, 3, 6), (-6, 2, 3), (3, 6, -2), (2, -3, 6))
"""Axes of rotation, of length 7."""


def insert_special_states(
    mechanism: Mechanism, seed: int, rows: Mapping[str, Sequence[Row]], dt: Row
) -> None:
    """Write special rotations into the drawn `rows` of q, v and q_next and into dt, in place.

    The maps of a joint without an axis are series in its rotation angle, and their inverse jumps at
    half a turn. Evenly drawn states come near neither point, and would not show the digits that a
    formula loses there. All other functions are smooth on the scale of the drawn values, so their
    states stay.

    Of four states, the second rotates little and the third by about half a turn or a full turn.
    Where a joint rotates little, it starts unrotated, so that q and q_next represent the small
    rotation in every real type.
    """
    q, v, q_next, count = rows["q"], rows["v"], rows["q_next"], len(dt)
    random = Random(f"special/{seed}/{mechanism.nv}/{count}")
    joints = zip(mechanism.joints, mechanism.q_slices, mechanism.v_slices, strict=True)
    free = [entry for entry in joints if entry[0].type.along is not None]
    for k in range(1, count, 4) if free else ():
        small = Fraction(1, 2 ** random.randint(*SMALL[k // 4 % 2]))
        for joint, q_slice, v_slice in free:
            v[k][v_slice] = _with_angular_entries(
                joint, v[k][v_slice], [small * x for x in _angular_entries(joint, v[k][v_slice])]
            )
            q[k][q_slice] = _without_rotation(joint, q[k][q_slice])
            q_next[k][q_slice] = _rotated(
                joint, q[k][q_slice], q_next[k][q_slice], small / 4, random
            )
    for k in range(2, count, 4) if free else ():
        dt[k], half_turns = Fraction(1), 1 + k // 4 % 2
        for joint, q_slice, v_slice in free:
            axis = random.choice(AXES)[-len(_angular_entries(joint, v[k][v_slice])) :]
            rate = (half_turns * PI + _small_offset(random)) / (
                7 if len(axis) == 3 else abs(axis[0])
            )
            v[k][v_slice] = _with_angular_entries(
                joint, v[k][v_slice], [Fraction(round(rate * x * FINE), FINE) for x in axis]
            )
            tangent = 1 + _small_offset(random) if half_turns == 1 else 1 / _small_offset(random)
            q_next[k][q_slice] = _rotated(joint, q[k][q_slice], q_next[k][q_slice], tangent, random)


def _small_offset(random: Random) -> Fraction:
    """Return ± a power of two that is small, but not below the round-off of a float."""
    return random.choice((1, -1)) * Fraction(1, 2 ** random.randint(*NEAR))


def _angular_entries(joint: Joint, v: Row) -> Row:
    """Return the angular entries of a joint's velocity."""
    return [
        x
        for x, coordinate in zip(v, joint.type.velocities, strict=True)
        if coordinate.unit == "rad"
    ]


def _with_angular_entries(joint: Joint, v: Row, angular: Row) -> Row:
    """Return the velocity with its angular entries replaced by `angular`."""
    remaining = iter(angular)
    return [
        next(remaining) if coordinate.unit == "rad" else x
        for x, coordinate in zip(v, joint.type.velocities, strict=True)
    ]


def _without_rotation(joint: Joint, q: Row) -> Row:
    """Return the coordinates without rotation: translations stay, rotations become neutral."""
    entries = zip(q, joint.type.positions, joint.type.neutral, strict=True)
    return [x if coordinate.unit == "m" else neutral for x, coordinate, neutral in entries]


def _rotated(joint: Joint, q: Row, goal: Row, tangent: Fraction, random: Random) -> Row:
    """Return `goal` with the rotation of q followed by a rotation whose quarter angle has this
    tangent.

    A full turn corresponds to an infinite tangent, so near a full turn the tangent is large.
    """
    if (first := joint.type.quaternion) is None:
        angle = _angle(tangent)
        return [
            x if coordinate.unit == "m" else start + angle
            for x, start, coordinate in zip(goal, q, joint.type.positions, strict=True)
        ]
    sine, cosine = 2 * tangent / (1 + tangent**2), (1 - tangent**2) / (1 + tangent**2)
    a, b, c = (sine * Fraction(x, 7) for x in random.choice(AXES))
    x, y, z, w = q[first : first + 4]
    rotated = [
        x * cosine + w * a + y * c - z * b,
        y * cosine + w * b + z * a - x * c,
        z * cosine + w * c + x * b - y * a,
        w * cosine - x * a - y * b - z * c,
    ]
    return [*goal[:first], *rotated, *goal[first + 4 :]]


def _angle(tangent: Fraction) -> Fraction:
    """Return four times the arctangent, for tangents near zero, one or infinity.

    Large angles are rounded to a multiple of 1/FINE.
    """
    if abs(tangent) < Fraction(1, 2):
        return 4 * tangent
    angle = PI + 2 * (tangent - 1) if abs(tangent) < 2 else 2 * PI - 4 / tangent
    return Fraction(round(angle * FINE), FINE)

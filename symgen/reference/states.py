"""States to check at: seeded, inside the declared limits, and exact in every real type.

Each number is k/1024, an instant that by 4096: a terminating decimal that float, double and a ball of any precision hold
exactly, so one exact answer serves the check of the algebra and that of both floating-point types. A unit quaternion is the
exception: no others than the 24 with entries 0, ±1/2 and ±1 are exact in binary, so it is rational, and each of its entries is
rounded where C takes it. Small turns of joints that turn freely are powers of two, which a type may hold as zero (`place_special`).
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
"""1/s² and 1/s."""
_STEPS = ((1, GRID // 8), (GRID // 2, 4 * GRID), (-GRID // 8, -1), (0, 0))
"""Of the grid, in s."""
INSTANT = Fraction(1, 4096)
"""Part of such a step that is short beside what any drawn force does to a light link."""


def draw_states(
    mechanism: Mechanism,
    count: int,
    seed: int = 0,
    payload: str | None = None,
    wrench: str | Sequence[str] | None = None,
    besides: Mapping[str, tuple[int, ...]] | None = None,
) -> dict[str, Array]:
    """`count` states by argument name: q and q_next (count, NQ), v, a, tau and b (count, NV), dt and instant (count,), pi
    (count, NP), and payload (count, 10) and wrench (count, 6), or of several links (count, NW, 6), if asked.

    Entries are Fractions. Positions lie within the declared limits where both are given (and are in order), else in the joint
    type's usual range (±π rad, ±1 m); the payload is a load of 0.5 to 2 kg within 0.1 m of its link's origin, as six point
    masses. Steps dt are in turn one of a controller's, one of some seconds, in which a body turns right round, one back in time,
    and none; an instant is a step of dynamics, dt as much shorter. Every fourth q_next is q. Joints that turn freely turn
    little in one of four states, and by about half a turn or a whole one in another. `besides` are
    changes and weights for derivatives by name, and their shapes.
    """
    random = Random(f"{seed}/{mechanism.nv}/{count}")
    rows = _motions(mechanism, count, random)
    links = 0 if wrench is None else 1 if isinstance(wrench, str) else len(wrench)
    if payload is not None:
        rows["payload"] = [draw_load(random) for _ in range(count)]
    if wrench is not None:
        rows["wrench"] = [
            [_between(random, *_FORCE) for _ in range(6 * links)] for _ in range(count)
        ]
    rows["q_next"] = _goals(mechanism, rows["q"], seed)
    times = list(_steps(count, seed))
    place_special(mechanism, seed, rows, times)
    states = {name: _exact(values) for name, values in rows.items()} | {
        "dt": np.array(times, dtype=object),
        "instant": _steps(count, seed) * INSTANT,
        "pi": _inertial_parameters(mechanism, count, seed),
    }
    if links > 1:
        states["wrench"] = states["wrench"].reshape(count, links, 6)
    more = {name: shape for name, shape in (besides or {}).items() if name not in states}
    return states | draw_besides(more, count, seed)


def _motions(mechanism: Mechanism, count: int, random: Random) -> dict[str, list[Row]]:
    """Positions, velocities, accelerations, forces and right-hand sides, state by state."""
    rows: dict[str, list[Row]] = {name: [] for name in ("q", "v", "a", "tau", "b")}
    for _ in range(count):
        rows["q"].append(_positions(mechanism, random))
        for name, span in (("v", _RATE), ("a", _RATE), ("tau", _FORCE), ("b", _RATE)):
            rows[name].append([_between(random, *span) for _ in range(mechanism.nv)])
    return rows


def _goals(mechanism: Mechanism, q: Sequence[Row], seed: int) -> list[Row]:
    """Positions to go to from q, every fourth one q itself, drawn apart from all else."""
    random = Random(f"q_next/{seed}/{mechanism.nv}/{len(q)}")
    return [here if k % 4 == 3 else _positions(mechanism, random) for k, here in enumerate(q)]


def _inertial_parameters(mechanism: Mechanism, count: int, seed: int) -> Array:
    """Ten numbers a body (count, 10·NB), drawn apart from all else."""
    size = 10 * len(mechanism.bodies)
    random = Random(f"pi/{seed}/{len(mechanism.bodies)}/{count}")
    return _exact([[_between(random, *_RATE) for _ in range(size)] for _ in range(count)])


def draw_besides(
    shapes: Mapping[str, tuple[int, ...]], count: int, seed: int = 0
) -> dict[str, Array]:
    """Changes and weights for derivatives by name, (count, *shape) each: numbers like velocities, drawn apart from all else.

    Which contacts are `active` is told by patterns instead: at the first state all, at the second none, then some. The `gains`
    of a loop pull it together.
    """
    found = {}
    for name, shape in shapes.items():
        if name == "active":
            found[name] = _patterns(count, *shape)
            continue
        random = Random(f"{name}/{seed}/{shape}/{count}")
        out = np.empty(count * prod(shape), dtype=object)
        for i in range(len(out)):
            out[i] = _between(random, *(_GAINS[i % len(_GAINS)] if name == "gains" else _RATE))
        found[name] = out.reshape(count, *shape)
    return found


def _patterns(count: int, contacts: int) -> Array:
    """0 and 1 (count, contacts): all ones, all zeros, then the binary numbers from 1 on."""
    found = [2**contacts - 1, 0, *(1 + k % (2**contacts - 1) for k in range(count))]
    return _exact(
        [[Fraction(one >> place & 1) for place in range(contacts)] for one in found[:count]]
    )


def _between(random: Random, low: Fraction, high: Fraction) -> Fraction:
    """On the grid."""
    first, last = _grid_lines(low, high)
    return (
        Fraction(random.randint(first, last), GRID)
        if first <= last
        else Fraction(round(low * GRID), GRID)
    )


@lru_cache(maxsize=1 << 10)
def _grid_lines(low: Fraction, high: Fraction) -> tuple[int, int]:
    """The first and the last line of the grid between two numbers."""
    return ceil(low * GRID), floor(high * GRID)


def _positions(mechanism: Mechanism, random: Random) -> list[Fraction]:
    found = []
    for joint, follows, limits in zip(
        mechanism.joints, mechanism.follows, mechanism.ranges, strict=True
    ):
        if follows is not None:
            continue
        if joint.type.nq == 1:
            found.append(_position(joint, limits, random))
            continue
        drawn = [
            _between(random, *coordinate.usual) for coordinate in joint.type.positions
        ]  # no limits of one of several
        if (first := joint.type.quaternion) is not None:
            drawn[first : first + 4] = _unit(drawn[first : first + 3], drawn[first + 3] > 0)
        found += drawn
    return found


def _position(joint: Joint, limits: Limits, random: Random) -> Fraction:
    low, high = limits.lower, limits.upper
    default = joint.type.positions[0].usual
    if (
        not (joint.type.limited or limits is not joint.limits)
        or low is None
        or high is None
        or not low < high
    ):
        return _between(random, *default)
    return (
        _between(random, max(low, 4 * default[0]), min(high, 4 * default[1]))
        if low < 4 * default[1] and high > 4 * default[0]
        else _between(random, *default)
    )


def _steps(count: int, seed: int) -> Array:
    """Time steps (count,), drawn apart from all else."""
    random = Random(f"dt/{seed}/{count}")
    out = np.empty(count, dtype=object)
    for i in range(count):
        low, high = _STEPS[i % len(_STEPS)]
        out[i] = Fraction(random.randint(low, high), GRID)
    return out


def _unit(u: list[Fraction], positive: bool) -> list[Fraction]:
    """A rational point of the unit sphere, seen from its pole at (3/2) u: a quaternion x y z w."""
    u = [Fraction(3, 2) * x for x in u]
    square = sum((x * x for x in u), Fraction(0))
    w = (1 - square) / (1 + square)
    return [*(2 * x / (1 + square) for x in u), w if positive else -w]


def draw_load(random: Random) -> list[Fraction]:
    """Ten numbers of six equal point masses, rounded to the grid and padded to stay a real body."""
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


def _exact(rows: list[list[Fraction]]) -> Array:
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        out[i] = row
    return out


# -- special states --

SMALL = ((20, 50), (0, 1000))
"""Exponents of two that small turns are drawn from, in turn: those that slopes of quotients lose most digits at, and
any."""
NEAR = (8, 17)
"""Exponents of two that a turn is from half a turn or a whole one; a float still tells on which side of half a turn it is."""
FINE = 2**20
"""Turns near half a turn are multiples of 1/FINE rad, which a float holds."""
PI = Fraction(355, 113)
AXES = ((2, 3, 6), (-6, 2, 3), (3, 6, -2), (2, -3, 6))
"""Axes of turns, of length 7."""


def place_special(
    mechanism: Mechanism, seed: int, rows: Mapping[str, Sequence[Row]], dt: Row
) -> None:
    """Put special turns into the drawn `rows` of q, v and q_next and into dt, in place.

    The maps of a joint that turns freely are series in its turn, and the way back jumps at half a turn. States that are drawn
    evenly meet neither place, and would not show the digits that a formula loses there. All other functions are smooth on the
    scale of what is drawn: their states are left as they are. Of four states the second turns little and the third by about half
    a turn or a whole one. Where a joint turns little it starts without a turn, so that q and q_next hold the little one in every
    real type.
    """
    q, v, q_next, count = rows["q"], rows["v"], rows["q_next"], len(dt)
    random = Random(f"special/{seed}/{mechanism.nv}/{count}")
    joints = zip(mechanism.joints, mechanism.q_slices, mechanism.v_slices, strict=True)
    free = [entry for entry in joints if entry[0].type.along is not None]
    for k in range(1, count, 4) if free else ():
        small = Fraction(1, 2 ** random.randint(*SMALL[k // 4 % 2]))
        for joint, of_q, of_v in free:
            v[k][of_v] = _with_turn(
                joint, v[k][of_v], [small * x for x in _turn(joint, v[k][of_v])]
            )
            q[k][of_q] = _unturned(joint, q[k][of_q])
            q_next[k][of_q] = _turned(joint, q[k][of_q], q_next[k][of_q], small / 4, random)
    for k in range(2, count, 4) if free else ():
        dt[k], halves = Fraction(1), 1 + k // 4 % 2
        for joint, of_q, of_v in free:
            axis = random.choice(AXES)[-len(_turn(joint, v[k][of_v])) :]
            rate = (halves * PI + _beside(random)) / (7 if len(axis) == 3 else abs(axis[0]))
            v[k][of_v] = _with_turn(
                joint, v[k][of_v], [Fraction(round(rate * x * FINE), FINE) for x in axis]
            )
            tangent = 1 + _beside(random) if halves == 1 else 1 / _beside(random)
            q_next[k][of_q] = _turned(joint, q[k][of_q], q_next[k][of_q], tangent, random)


def _beside(random: Random) -> Fraction:
    """± a power of two that is small, and not smaller than the round-off of a float."""
    return random.choice((1, -1)) * Fraction(1, 2 ** random.randint(*NEAR))


def _turn(joint: Joint, v: Row) -> Row:
    """The angular entries of a joint's velocity."""
    return [x for x, one in zip(v, joint.type.velocities, strict=True) if one.unit == "rad"]


def _with_turn(joint: Joint, v: Row, turn: Row) -> Row:
    """The velocity with these angular entries."""
    left = iter(turn)
    return [
        next(left) if one.unit == "rad" else x
        for x, one in zip(v, joint.type.velocities, strict=True)
    ]


def _unturned(joint: Joint, q: Row) -> Row:
    """The coordinates without a turn."""
    entries = zip(q, joint.type.positions, joint.type.neutral, strict=True)
    return [x if one.unit == "m" else neutral for x, one, neutral in entries]


def _turned(joint: Joint, q: Row, goal: Row, tangent: Fraction, random: Random) -> Row:
    """`goal` with the turn of q and then one whose quarter has this tangent. A whole turn has none: it is large nearby."""
    if (first := joint.type.quaternion) is None:
        angle = _angle(tangent)
        return [
            x if one.unit == "m" else here + angle
            for x, here, one in zip(goal, q, joint.type.positions, strict=True)
        ]
    sine, cosine = 2 * tangent / (1 + tangent**2), (1 - tangent**2) / (1 + tangent**2)
    a, b, c = (sine * Fraction(x, 7) for x in random.choice(AXES))
    x, y, z, w = q[first : first + 4]
    turned = [
        x * cosine + w * a + y * c - z * b,
        y * cosine + w * b + z * a - x * c,
        z * cosine + w * c + x * b - y * a,
        w * cosine - x * a - y * b - z * c,
    ]
    return [*goal[:first], *turned, *goal[first + 4 :]]


def _angle(tangent: Fraction) -> Fraction:
    """Four times the angle of a tangent that is about zero, one or infinite: of large angles a multiple of 1/FINE."""
    if abs(tangent) < Fraction(1, 2):
        return 4 * tangent
    angle = PI + 2 * (tangent - 1) if abs(tangent) < 2 else 2 * PI - 4 / tangent
    return Fraction(round(angle * FINE), FINE)

"""States to check at: seeded, inside the declared limits, and exact in every real type.

Each number is k/1024, an instant that by 4096: a terminating decimal that float, double and a ball of any precision hold
exactly, so one exact answer serves the check of the algebra and that of both floating-point types. A unit quaternion is the
exception: no others than the 24 with entries 0, ±1/2 and ±1 are exact in binary, so it is rational, and each of its entries is
rounded where C takes it. Small turns of joints that turn freely are powers of two, which a type may hold as zero
(`symgen.reference.special`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from random import Random

import numpy as np

from symgen.mechanism.mechanism import Joint, Limits, Mechanism
from symgen.reference.precision import Array
from symgen.reference.special import place_special

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
    little in one of four states, and by about half a turn or a whole one in another (`symgen.reference.special`). `besides` are
    changes and weights for derivatives by name, and their shapes.
    """
    random = Random(f"{seed}/{mechanism.nv}/{count}")
    states: dict[str, list[list[Fraction]]] = {name: [] for name in ("q", "v", "a", "tau", "b")}
    for _ in range(count):
        states["q"].append(_positions(mechanism, random))
        for name, span in (("v", _RATE), ("a", _RATE), ("tau", _FORCE), ("b", _RATE)):
            states[name].append([_between(random, *span) for _ in range(mechanism.nv)])
    if payload is not None:
        states["payload"] = [draw_load(random) for _ in range(count)]
    if wrench is not None:
        links = 1 if isinstance(wrench, str) else len(wrench)
        states["wrench"] = [
            [_between(random, *_FORCE) for _ in range(6 * links)] for _ in range(count)
        ]
    goals = Random(
        f"q_next/{seed}/{mechanism.nv}/{count}"
    )  # drawn apart from all else, as time steps are
    states["q_next"] = [
        q if k % 4 == 3 else _positions(mechanism, goals) for k, q in enumerate(states["q"])
    ]
    times = list(_steps(count, seed))
    place_special(mechanism, count, seed, states["q"], states["v"], states["q_next"], times)
    found = {name: _exact(rows) for name, rows in states.items()} | {
        "dt": np.array(times, dtype=object),
        "instant": _steps(count, seed) * INSTANT,
    }
    inertias = Random(f"pi/{seed}/{len(mechanism.bodies)}/{count}")
    found["pi"] = _exact(
        [
            [_between(inertias, *_RATE) for _ in range(10 * len(mechanism.bodies))]
            for _ in range(count)
        ]
    )
    if wrench is not None and links > 1:
        found["wrench"] = found["wrench"].reshape(count, links, 6)
    return found | draw_besides(
        {name: shape for name, shape in (besides or {}).items() if name not in found}, count, seed
    )


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
    first, last = -(-low * GRID // 1), high * GRID // 1
    return (
        Fraction(random.randint(int(first), int(last)), GRID)
        if first <= last
        else Fraction(round(low * GRID), GRID)
    )


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

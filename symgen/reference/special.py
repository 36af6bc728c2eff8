"""Special states among those that are drawn: turns near none, half a turn and a whole turn.

The maps of a joint that turns freely are series in its turn, and the way back jumps at half a turn. States that are drawn evenly
meet neither place, and would not show the digits that a formula loses there. All other functions are smooth on the scale of what
is drawn: their states are left as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

from symgen.mechanism.mechanism import Joint, Mechanism

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
Row = list[Fraction]


def place_special(
    mechanism: Mechanism,
    count: int,
    seed: int,
    q: Sequence[Row],
    v: Sequence[Row],
    q_next: Sequence[Row],
    dt: Row,
) -> None:
    """Put special turns into `count` drawn states, in place.

    Of four states the second turns little and the third by about half a turn or a whole one. Where a joint turns little it starts
    without a turn, so that q and q_next hold the little one in every real type.
    """
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

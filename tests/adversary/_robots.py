"""Random mechanisms over the whole range of descriptions, and random options for them.

Unlike `random_mechanism`, they include special cases: massless links, points and rods, parts of
1e-6 and of 1e6 kg, bases a kilometre away, parallel axes, several trees, zero or oblique gravity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

from symgen.mechanism.drives import NO_DRIVE, Drive
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Limits, Mechanism, Part
from symgen.vocabulary.arrays import ALL_ROWS, JACOBIAN_FRAMES, JACOBIAN_ORDERS
from symgen.vocabulary.options import TRIG, ProgramOptions, TextOptions
from symgen.vocabulary.poses import (
    X_AXIS,
    Y_AXIS,
    Z_AXIS,
    Angle,
    Pose,
    Shift,
    Slide,
    Turn,
    Vector3,
    compose,
)
from symgen.vocabulary.reals import REALS

AXES: tuple[Vector3, ...] = (X_AXIS, Y_AXIS, Z_AXIS)
SQUARE: tuple[Vector3, ...] = (*AXES, *((-x, -y, -z) for x, y, z in AXES))
SLANTED: tuple[Vector3, ...] = tuple(
    (Fraction(x), Fraction(y), Fraction(z))
    for x, y, z in ((3, 4, 0), (0, -3, 4), (1, 1, 0), (1, 2, 2), (1, -1, 1), (2, 3, -5))
)


def decimal(random: Random, size: float, digits: int = 3) -> Fraction:
    """Draw a uniform number in ±size with `digits` more digits than `size`."""
    return Fraction(random.randint(-(10**digits), 10**digits), 10**digits) * Fraction(str(size))


def vector(random: Random, size: float) -> Vector3:
    return decimal(random, size), decimal(random, size), decimal(random, size)


def angle(random: Random, square: bool) -> Angle:
    if square or random.random() < 0.3:
        return Angle(pi=Fraction(random.randint(-2, 2), 2))
    if random.random() < 0.4:
        return Angle(pi=Fraction(random.randint(-11, 12), random.choice((3, 4, 6, 12, 5, 180))))
    return Angle(radians=decimal(random, 3))


def axis(random: Random, square: bool) -> Vector3:
    kind = random.random()
    if square or kind < 0.5:
        return random.choice(SQUARE)
    return (
        random.choice(SLANTED)
        if kind < 0.8
        else (decimal(random, 1), decimal(random, 1), Fraction(random.choice((1, -1, 7))))
    )


def random_pose(random: Random, square: bool, size: float) -> Pose:
    """Draw a pose: possibly a shift, rotations about axes of any length, and a slide."""
    steps: list[Shift | Turn | Slide] = []
    if random.random() < 0.85:
        xyz = vector(random, size)
        steps.append(
            Shift(
                xyz
                if random.random() < 0.6
                else tuple(x if random.random() < 0.5 else Fraction(0) for x in xyz)
            )
        )
    for _ in range(random.choice((0, 1, 1, 2))):
        steps.append(Turn(axis(random, square), angle(random, square)))
    if random.random() < 0.1:
        steps.append(Slide(axis(random, square), decimal(random, size)))
    return compose(tuple(steps))


def part(random: Random, link: str, square: bool, reach: float, flat: bool) -> Part:
    """Draw a part: a point, a rod or six points, with a tiny, ordinary or huge mass."""
    mass = abs(decimal(random, random.choice((1, 1, 5, 5, 20, 1e-6, 1e6)))) + Fraction(1, 10**7)
    at = (Shift(vector(random, reach)),) if random.random() < 0.85 else ()
    kind = random.random()
    if kind < 0.15:
        return Part(link, at, mass)
    points = [vector(random, reach / 3) for _ in range(6)]
    if kind < 0.25:
        points = [(Fraction(0), Fraction(0), z) for _, _, z in points]
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
    turned: Pose = (
        ()
        if flat or random.random() < 0.6
        else (Turn(axis(random, square), angle(random, square)),)
    )
    return Part(link, compose(at, turned), mass, moments)


MOST = 8
"""Largest number of velocities; with twice as many, some derivations take a minute."""
SHAPES: dict[str, Callable[[Random, int], int]] = {
    "chain": lambda _, i: i - 1,
    "tree": lambda random, i: random.randint(BASE, i - 1),
    "star": lambda _, i: min(i - 1, 0),
    "forest": lambda random, i: BASE if random.random() < 0.5 else i - 1,
}


def mechanism(random: Random, count: int | None = None) -> Mechanism:
    """Draw a mechanism of one to four joints with at most MOST velocities."""
    n = count or random.choices((1, 2, 3, 4), (2, 5, 4, 1))[0]
    shape = random.choice([*SHAPES] if n > 1 else ["chain"])
    square, flat = random.random() < 0.4, random.random() < 0.15
    reach = random.choice((0.5, 0.5, 0.5, 0.05, 5.0))
    alike = (
        random.random() < 0.15
    )  # planar or parallel motion, so that some mass parameters have no effect on M
    names = (
        ["revolute"] * n
        if flat
        else [random.choice(kinds())] * n
        if alike
        else random.choices(kinds(), k=n)
    )
    while n > 1 and sum(joint_type(kind).nv for kind in names) > MOST:
        names, n = names[:-1], n - 1
    joints, bodies, frames = [], [], []
    before: Vector3 = Z_AXIS
    for i, kind in enumerate(names):
        at = random_pose(random, square, reach if i else random.choice((reach, 0.0001, 1000.0)))
        along = Z_AXIS if flat else before if random.random() < 0.25 else axis(random, square)
        if flat:
            at, along = (
                tuple(s for s in at if isinstance(s, Shift)),
                (Fraction(0), Fraction(0), Fraction(random.choice((1, -1)))),
            )
        before = along
        numbers = tuple(
            (p.name, random.choice((1, -1)) * (abs(decimal(random, 0.3)) + Fraction(1, 1000)))
            for p in joint_type(kind).parameters
        )
        along, joint_limits = (along if joint_type(kind).directed else Z_AXIS), limits(random)
        joint_limits = (
            joint_limits if joint_type(kind).nq == 1 else Limits()
        )  # a joint with several coordinates has no limits
        joints.append(
            Joint(
                f"j{i}", kind, SHAPES[shape](random, i), at, along, joint_limits, parameters=numbers
            )
        )
        inner = i + 1 < n and random.random() < 0.12
        parts = (
            ()
            if inner
            else tuple(
                part(random, f"b{i}_{k}", square, reach, flat)
                for k in range(random.choice((1, 1, 1, 2)))
            )
        )
        bodies.append(Body(f"b{i}", parts))
        frames.append(Frame(f"b{i}", i))
    tool = random.randrange(n)
    frames += [Frame("base", BASE), Frame("tool", tool, random_pose(random, square, reach))]
    draw = random.random()
    gravity: Vector3 = (Fraction(0), Fraction(0), Fraction(-981, 100))
    if draw < 0.15:
        gravity = (Fraction(0), Fraction(0), Fraction(0))
    elif draw < 0.5:
        gravity = vector(random, 10)
    return Mechanism("random", tuple(joints), tuple(bodies), tuple(frames), gravity)


def driven(random: Random, mechanism: Mechanism) -> Mechanism:
    """Add drives to some joints and gravity compensation to some parts."""
    joints = tuple(replace(joint, drive=drive(random, joint)) for joint in mechanism.joints)
    share = [
        [decimal(random, 1.5) if random.random() < 0.3 else Fraction(0) for _ in body.parts]
        for body in mechanism.bodies
    ]
    bodies = [
        replace(
            body,
            parts=tuple(
                replace(part, gravcomp=fraction)
                for part, fraction in zip(body.parts, fractions, strict=True)
            ),
        )
        for body, fractions in zip(mechanism.bodies, share, strict=True)
    ]
    return replace(mechanism, joints=joints, bodies=tuple(bodies))


def drive(random: Random, joint: Joint) -> Drive:
    """Draw a drive; in half of the cases, no drive."""
    if random.random() < 0.5:
        return NO_DRIVE
    drive_drawn = Drive(
        *(
            abs(decimal(random, size)) if random.random() < 0.6 else Fraction(0)
            for size in (0.1, 2, 3, 50)
        )
    )
    if (joint.type.nq, joint.type.nv) != (1, 1):
        return replace(drive_drawn, stiffness=Fraction(0))
    return replace(drive_drawn, rest=decimal(random, 1)) if drive_drawn.stiffness else drive_drawn


def limits(random: Random) -> Limits:
    """Draw limits: none, a wide range or a narrow one, with or without zero."""
    if random.random() < 0.4:
        return Limits()
    low = decimal(random, 2)
    width = abs(decimal(random, random.choice((3, 1, 0.01)))) + Fraction(1, 1000)
    rates = abs(decimal(random, 4)) + Fraction(1, 100), abs(decimal(random, 200)) + Fraction(1, 10)
    return Limits(low, low + width, *(rates if random.random() < 0.7 else (None, None)))


def options(random: Random, mechanism: Mechanism) -> tuple[ProgramOptions, TextOptions]:
    """Draw options as a user may choose them; loads act on any link, seldom on the base."""
    links = [frame.name for frame in mechanism.frames]

    def link(likely: float) -> str | None:
        return random.choice(links) if random.random() < likely else None

    frames = random.sample(links, 1 if random.random() < 0.7 else 2)
    named_options = {
        "real": random.choice([*REALS]),
        "frame": frames,
        "payload": link(0.35),
        "wrench": link(0.35),
    }
    if named_options["wrench"] is not None and random.random() < 0.5:
        named_options["wrench"] = random.sample(links, random.randint(1, min(3, len(links))))
    conventions = {
        "jacobian_frame": random.choice([*JACOBIAN_FRAMES]),
        "jacobian_order": random.choice(JACOBIAN_ORDERS),
    }
    if random.random() < 0.5:
        named_options["task_rows"] = random.sample(
            ALL_ROWS, random.randint(1, min(mechanism.nv, len(ALL_ROWS)))
        )
    return (
        ProgramOptions(
            **named_options,  # type: ignore[arg-type]
            **(conventions if random.random() < 0.3 else {}),  # type: ignore[arg-type]
        ),
        TextOptions(random.choice(TRIG), checked=random.random() < 0.4),
    )


def as_python(mechanism: Mechanism) -> str:
    """Return Python code that makes the mechanism again, to keep a failed case."""

    def source_of(value: object) -> str:
        if isinstance(value, tuple):
            return "(" + "".join(source_of(element) + ", " for element in value) + ")"
        if isinstance(value, Fraction):
            return f"Fraction({str(value)!r})"
        if value is None or isinstance(value, str | int):
            return repr(value)
        fields = ", ".join(
            f"{name}={source_of(getattr(value, name))}" for name in value.__dataclass_fields__
        )
        return f"{type(value).__name__}({fields})"

    return (
        "from fractions import Fraction\n\n"
        "from symgen.mechanism.drives import Drive\n"
        "from symgen.mechanism.mechanism import"
        " Body, Frame, Joint, Limits, Mechanism, Mimic, Part\n"
        "from symgen.vocabulary.poses import Angle, Shift, Slide, Turn\n\n"
        f"robot = {source_of(mechanism)}\n"
    )

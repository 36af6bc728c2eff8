"""Random mechanisms over the whole range of what a description may declare, and random options to go with them.

Unlike `random_mechanism` of the suite, these have whatever is special somewhere: massless links, points and rods, parts of 1e-6
and 1e6 kg, bases a kilometre away, axes along each other, forests, gravity of zero or along no axis.
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
    """Uniform in ±size, of so many digits behind the leading one of `size`."""
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
    """A pose of up to three steps: nothing, a shift, turns about axes of any length, a slide."""
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
    """A body of matter: a point, a rod, or six points anywhere, of a mass between a speck and a mountain."""
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
"""Velocities of a robot: a derivation in which all of them meet takes a minute with twice as many."""
SHAPES: dict[str, Callable[[Random, int], int]] = {
    "chain": lambda _, i: i - 1,
    "tree": lambda random, i: random.randint(BASE, i - 1),
    "star": lambda _, i: min(i - 1, 0),
    "forest": lambda random, i: BASE if random.random() < 0.5 else i - 1,
}


def mechanism(random: Random, count: int | None = None) -> Mechanism:
    """One to four joints, seldom more than three; less where they would have more than MOST velocities."""
    n = count or random.choices((1, 2, 3, 4), (2, 5, 4, 1))[0]
    shape = random.choice([*SHAPES] if n > 1 else ["chain"])
    square, flat = random.random() < 0.4, random.random() < 0.15
    reach = random.choice((0.5, 0.5, 0.5, 0.05, 5.0))
    alike = (
        random.random() < 0.15
    )  # a gantry, an arm of screws: M then knows nothing of what no joint moves
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
        along, ends = (along if joint_type(kind).directed else Z_AXIS), limits(random)
        ends = (
            ends if joint_type(kind).nq == 1 else Limits()
        )  # no description limits one of several
        joints.append(
            Joint(f"j{i}", kind, SHAPES[shape](random, i), at, along, ends, parameters=numbers)
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
    down = random.random()
    pull: Vector3 = (Fraction(0), Fraction(0), Fraction(-981, 100))
    if down < 0.15:
        pull = (Fraction(0), Fraction(0), Fraction(0))
    elif down < 0.5:
        pull = vector(random, 10)
    return Mechanism("random", tuple(joints), tuple(bodies), tuple(frames), pull)


def driven(random: Random, made: Mechanism) -> Mechanism:
    """The same with drives at some joints, and some weight borne."""
    joints = tuple(replace(joint, drive=drive(random, joint)) for joint in made.joints)
    share = [
        [decimal(random, 1.5) if random.random() < 0.3 else Fraction(0) for _ in body.parts]
        for body in made.bodies
    ]
    bodies = [
        replace(
            body,
            parts=tuple(
                replace(part, gravcomp=fraction)
                for part, fraction in zip(body.parts, fractions, strict=True)
            ),
        )
        for body, fractions in zip(made.bodies, share, strict=True)
    ]
    return replace(made, joints=joints, bodies=tuple(bodies))


def drive(random: Random, joint: Joint) -> Drive:
    """None in half of the cases."""
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
    """None, a range about zero, one away from zero, or a narrow one."""
    if random.random() < 0.4:
        return Limits()
    low = decimal(random, 2)
    width = abs(decimal(random, random.choice((3, 1, 0.01)))) + Fraction(1, 1000)
    rates = abs(decimal(random, 4)) + Fraction(1, 100), abs(decimal(random, 200)) + Fraction(1, 10)
    return Limits(low, low + width, *(rates if random.random() < 0.7 else (None, None)))


def options(random: Random, made: Mechanism) -> tuple[ProgramOptions, TextOptions]:
    """What a user may choose, anyhow; run-time loads on any link that moves, and seldom on the base."""
    links = [frame.name for frame in made.frames]

    def link(likely: float) -> str | None:
        return random.choice(links) if random.random() < likely else None

    frames = random.sample(links, 1 if random.random() < 0.7 else 2)
    asked = {
        "real": random.choice([*REALS]),
        "frame": frames,
        "payload": link(0.35),
        "wrench": link(0.35),
    }
    if asked["wrench"] is not None and random.random() < 0.5:
        asked["wrench"] = random.sample(links, random.randint(1, min(3, len(links))))
    stated = {
        "jacobian_frame": random.choice([*JACOBIAN_FRAMES]),
        "jacobian_order": random.choice(JACOBIAN_ORDERS),
    }
    if random.random() < 0.5:
        asked["task_rows"] = random.sample(ALL_ROWS, random.randint(1, min(made.nv, len(ALL_ROWS))))
    return (
        ProgramOptions(**asked, **(stated if random.random() < 0.3 else {})),  # type: ignore[arg-type]
        TextOptions(random.choice(TRIG), checked=random.random() < 0.4),
    )


def as_python(made: Mechanism) -> str:
    """Everything that it declares, as Python that makes it again: what a case is kept by."""

    def of(value: object) -> str:
        if isinstance(value, tuple):
            return "(" + "".join(of(element) + ", " for element in value) + ")"
        if isinstance(value, Fraction):
            return f"Fraction({str(value)!r})"
        if value is None or isinstance(value, str | int):
            return repr(value)
        fields = ", ".join(
            f"{name}={of(getattr(value, name))}" for name in value.__dataclass_fields__
        )
        return f"{type(value).__name__}({fields})"

    return (
        "from fractions import Fraction\n\n"
        "from symgen.mechanism.drives import Drive\n"
        "from symgen.mechanism.mechanism import Body, Frame, Joint, Limits, Mechanism, Mimic, Part\n"
        "from symgen.vocabulary.poses import Angle, Shift, Slide, Turn\n\n"
        f"robot = {of(made)}\n"
    )

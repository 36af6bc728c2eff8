"""Mechanisms that tests make up, the robots that relations are tested over, their states, and
running a Program on them.

Random chains and trees are exact and the same for the same seed. A new built-in robot, joint type,
method or function is picked up by discovery; nothing here lists leaves by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import flint
import numpy as np

import symgen
from symgen import methods
from symgen.description.loading import builtin_robots
from symgen.description.tip import tip
from symgen.ir.program import Numbers, Program, evaluate
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.pipeline.choose import methods_for
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array, Scalars, arb, atan2
from symgen.reference.states import draw_states
from symgen.reference.task import independent_rows
from symgen.vocabulary.arrays import ALL_ROWS
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Pose, Turn, Vector3, pose

GRID = 1000
ONE_DEGREE = tuple(kind for kind in kinds() if joint_type(kind).nv == 1)
"""Joint types of one degree of freedom, which every paper is about.

`tests/methods/test_joints_of_several_coordinates.py` has the other joint types.
"""
PURE = tuple(
    kind
    for kind in kinds()
    if joint_type(kind).nq == 1 and not (joint_type(kind).turns and joint_type(kind).slides)
)
"""Joint types whose coordinate is an angle or a length, not both: over the rationals an angle
stands for its half's tangent.
"""


def random_mechanism(
    n: int,
    seed: int = 0,
    kind: str = "chain",
    joints: Sequence[str] = ("revolute",),
    general: bool = True,
) -> Mechanism:
    """`n` joints of the kinds in `joints`, as a "chain" or a random "tree", every link with a full
    inertia.

    `general`: rotations by arbitrary angles about x, y and z and slanted axes; else quarter turns
    and axes along x, y or z.
    """
    random = Random(f"{n}/{seed}/{kind}/{general}/{joints}")

    def decimal(low: float, high: float) -> Fraction:
        return Fraction(random.randint(round(low * GRID), round(high * GRID)), GRID)

    def vector(size: float) -> Vector3:
        return (decimal(-size, size), decimal(-size, size), decimal(-size, size))

    def angle() -> Angle:
        return (
            Angle(radians=decimal(-3, 3))
            if general
            else Angle(pi=Fraction(random.randint(-1, 2), 2))
        )

    def axis() -> Vector3:
        slanted = vector(1) if general and random.random() < 0.3 else None
        return slanted if slanted and any(slanted) else random.choice((X_AXIS, Y_AXIS, Z_AXIS))

    def inertia(link: str) -> Part:
        # Moments of a box of matter: each is a sum of two squares, so that the triangle inequality
        # holds; then turned.
        xx, yy, zz = (decimal(0.01, 0.2) for _ in range(3))
        turned: Pose = (Turn(Z_AXIS, angle()),) if general else ()
        zero = Fraction(0)
        return Part(
            link,
            pose(vector(0.2)) + turned,
            decimal(0.5, 5),
            (yy + zz, zero, zero, xx + zz, zero, xx + yy),
        )

    def joint(i: int) -> Joint:
        of = random.choice(list(joints))
        parent = i - 1 if kind == "chain" else random.randint(-1, i - 1)
        return of_kind(
            Joint(
                f"joint{i}",
                "revolute",
                parent,
                pose(vector(0.5), (angle(), angle(), angle())),
                axis(),
            ),
            of,
        )

    joints_of_chain = tuple(joint(i) for i in range(n))
    bodies = tuple(Body(f"link{i}", (inertia(f"link{i}"),)) for i in range(n))
    frames = tuple(Frame(body.name, i) for i, body in enumerate(bodies))
    return Mechanism(f"random_{kind}_{n}", joints_of_chain, bodies, frames)


def of_kind(joint: Joint, kind: str) -> Joint:
    """The joint as one of another type: without its axis where that has none, its numbers some of
    the size of a tenth.
    """
    parameters = joint_type(kind).parameters
    axis = joint.axis if joint_type(kind).directed else Z_AXIS
    numbers = tuple((p.name, Fraction(7 + len(joint.name + p.name), 100)) for p in parameters)
    return replace(joint, kind=kind, axis=axis, parameters=numbers)


def point_mass_arm(*masses: int | Fraction) -> Mechanism:
    """Revolute joints about z one metre apart, a point mass (0: nothing) one metre out on each
    body, gravity −10 along y.
    """
    out = pose(X_AXIS)
    joints = tuple(
        Joint(f"j{i}", "revolute", i - 1, out if i else (), Z_AXIS) for i in range(len(masses))
    )
    bodies = tuple(
        Body(f"b{i}", (Part(f"b{i}", out, Fraction(m)),) if m else ()) for i, m in enumerate(masses)
    )
    frames = (Frame("base", -1), *(Frame(f"b{i}", i) for i in range(len(masses))))
    return Mechanism(
        "arm", joints, bodies, frames, gravity=(Fraction(0), Fraction(-10), Fraction(0))
    )


def rods(*axes: Vector3, sliding: int = 0) -> Mechanism:
    """Uniform rods of 1 m and 12 kg along x, one joint each about its axis; the first `sliding`
    joints slide along it.
    """
    out = pose(X_AXIS)
    middle = pose((Fraction(1, 2), Fraction(0), Fraction(0)))
    moments = (Fraction(0), Fraction(0), Fraction(0), Fraction(1), Fraction(0), Fraction(1))
    joints = tuple(
        Joint(f"j{i}", "prismatic" if i < sliding else "revolute", i - 1, out if i else (), axis)
        for i, axis in enumerate(axes)
    )
    bodies = tuple(
        Body(f"b{i}", (Part(f"b{i}", middle, Fraction(12), moments),)) for i in range(len(axes))
    )
    frames = (Frame("base", -1), *(Frame(f"b{i}", i) for i in range(len(axes))))
    return Mechanism("rods", joints, bodies, frames)


def planar_rods(n: int, seed: int = 0, **changes: Any) -> Mechanism:
    """A chain in a plane, bodies anywhere in it, axes that point both ways."""
    base = point_mass_arm(*[1] * n)
    random = Random(n + 1000 * seed)

    def decimal() -> Fraction:
        return Fraction(random.randint(1, 900), 1000)

    zero = Fraction(0)
    bodies = tuple(
        Body(
            b.name,
            (
                Part(
                    b.name,
                    pose((decimal(), decimal(), decimal())),
                    1 + decimal(),
                    (zero, zero, zero, zero, zero, decimal() / 9),
                ),
            ),
        )
        for b in base.bodies
    )
    joints = tuple(
        replace(
            j,
            pose=pose((decimal(), decimal(), decimal())),
            axis=(zero, zero, Fraction(1 - 2 * (i % 3 == 2))),
        )
        for i, j in enumerate(base.joints)
    )
    return replace(base, **{"name": "rods", "joints": joints, "bodies": bodies, **changes})


def flat_chain(n: int, seed: int = 0) -> Mechanism:
    """A chain in a plane whose links have inertias that are positive definite in space as well."""
    flat, solid = planar_rods(n, seed), random_mechanism(n, seed)
    bodies = tuple(
        replace(
            body, parts=tuple(replace(part, moments=like.parts[0].moments) for part in body.parts)
        )
        for body, like in zip(flat.bodies, solid.bodies, strict=True)
    )
    return replace(flat, bodies=bodies, name="flat")


# -- the robots of every relation ------------------------------------------------------------------

OPEN = tuple(name for name in builtin_robots() if not symgen.load(name).loops)
"""The built-in robots without loops. To a function of open chains a closed one is but one more
tree, and some are large.
"""
BUILT_IN = tuple(
    name for name in OPEN if all(joint.type.nv == 1 for joint in symgen.load(name).joints)
)
"""Robots with joints of one degree of freedom on a fixed base, which every method may take."""
MOVING = tuple(name for name in OPEN if name not in BUILT_IN)
"""Robots with a joint of several degrees of freedom."""
_MADE: dict[str, dict[str, Any]] = {
    "one": {"n": 1},
    **{f"chain{n}": {"n": n, "joints": ONE_DEGREE} for n in (3, 5, 9)},
    "tree3": {
        "n": 3,
        "kind": "tree",
        "joints": ONE_DEGREE,
        "seed": 149,
    },  # branches; winds, slides and turns
    **{f"square_chain{n}": {"n": n, "joints": ONE_DEGREE, "general": False} for n in (4, 7)},
    "tree4": {"n": 4, "kind": "tree", "joints": ONE_DEGREE},
    "tree5": {
        "n": 5,
        "kind": "tree",
        "joints": ONE_DEGREE,
        "seed": 312,
    },  # each type of one degree; branches twice
    **{
        f"square_tree{n}": {"n": n, "kind": "tree", "joints": ONE_DEGREE, "general": False}
        for n in (6, 9)
    },
    **{
        f"{a}_{b}": {"n": 2, "joints": (a, b)} for a in ONE_DEGREE for b in ONE_DEGREE
    },  # every type behind every type
}
MADE = tuple(_MADE)
ROBOTS = BUILT_IN + MADE
FEW = ("scara", "puma560", "chain3", "tree5")
TELLING = (
    "one",
    "planar_arm",
    "planar_point_mass",
    "scara",
    "puma560",
    "panda",
    "chain5",
    "tree5",
    "square_tree6",
)
"""One robot of each sort.

They are planar, of point masses, with a slide, with many zeros, and the largest built-in one.
Random ones have every joint type of one degree, branches with random axes, and branches at right
angles.
"""
_MOVES = {joint_type(kind).pose: kind for kind in ONE_DEGREE}.values()
PAIRS = tuple(f"{a}_{b}" for a in _MOVES for b in _MOVES)
"""Every way to move behind every way to move; a type that moves as another does is in the chains.
"""
OF_ANY_ROBOT = tuple(name for name, function in FUNCTIONS.items() if not function.counts("NT"))
"""Functions that a robot has without contacts, which it is given by name
(`tests/methods/test_contacts.py`).
"""
PROVIDED = tuple(
    (function, method)
    for function in FUNCTIONS
    for method in methods.providers(function)
    if methods.composition(method, function) is None
    and (not FUNCTIONS[function].counts("NK") or method in ("composite_body", "riccati"))
    and function in OF_ANY_ROBOT
)
"""Every function by every method that derives it; what is about a task, all of which follows from
M^-1, by two. What is put together of others is tested by itself.
"""

LONG = (
    "forward_dynamics_derivatives",
    "step_rk4",
    "operational_inertia",
    "dynamically_consistent_inverse",
)
"""Functions that take as long to derive as ten others. Each is put together of others that are
tested over all robots, so that a relation about all functions over many robots has these on `TRIED`
alone.
"""
TRIED = ("planar_arm", "scara", "chain3", "tree3", "tree5", "one", *MOVING[:1])
"""In a plane, with a slide, every way to move, branches, and a joint of several degrees."""


def tried(name: str, function: str) -> bool:
    """True if a relation over all functions runs this function on this robot; see LONG."""
    return function not in LONG or name in TRIED


BALLS = arb(80)
"""Balls with 80 digits, more than the 64 that an irrational constant of a Program keeps."""
_SCALARS = {scalars.name: scalars for scalars in (FLOAT, BALLS)}


@cache
def robot(name: str) -> Mechanism:
    """A robot of ROBOTS or of MOVING."""
    if name not in _MADE:
        return symgen.load(name)
    mechanism = random_mechanism(**_MADE[name])
    if mechanism.nv == 2:
        joints = tuple(
            of_kind(joint, kind)
            for joint, kind in zip(mechanism.joints, _MADE[name]["joints"], strict=True)
        )
        mechanism = replace(mechanism, joints=joints)
    return replace(mechanism, name=name)


@cache
def program(name: str, function: str, method: str | None = None) -> Program:
    """The Program of one of ROBOTS or MOVING, derived once a test run; without a method the one of
    fewest operations.
    """
    if method is None:
        return min(
            (program(name, function, m) for m in methods_for(robot(name), function)),
            key=lambda candidate: candidate.cost,
        )
    return symgen.program(robot(name), function, method, task_rows=task_rows(name, function))


@cache
def task_rows(name: str, function: str) -> tuple[int, ...] | None:
    """`rows_of` a robot of ROBOTS or of MOVING."""
    return rows_of(robot(name), function)


def rows_of(
    mechanism: Mechanism, function: str, frame: str | None = None
) -> tuple[int, ...] | None:
    """Return task rows that are independent for a robot, at its tip unless `frame` is given; None
    for a function without a task.
    """
    if not FUNCTIONS[function].counts("NK"):
        return None
    return independent_rows(
        lambda scalars: Reference(mechanism, scalars, frame=frame or tip(mechanism)),
        mechanism,
        ALL_ROWS,
    )


# -- running ---------------------------------------------------------------------------------------


def run(
    program: Program, arguments: Mapping[str, Array], scalars: Scalars = FLOAT
) -> dict[str, Array]:
    """Results by name, (count, …) each, of arguments (count, …) by name."""
    count = len(next(iter(arguments.values())))
    with scalars.working():
        flat = {
            port.name: list(arguments[port.name].reshape(count, -1).T) for port in program.inputs
        }
        results = evaluate(
            program, flat, Numbers(scalars.constant, np.sin, np.cos, np.sqrt, np.log, atan2)
        )
        zero = scalars.array([0] * count)  # a result that is constant is one number for all states
        return {
            p.name: np.stack([x + zero for x in results[p.name]], axis=-1).reshape(count, *p.shape)
            for p in program.outputs
        }


def draw(
    mechanism: Mechanism,
    count: int,
    scalars: Scalars = FLOAT,
    payload: str | None = None,
    wrench: str | None = None,
) -> dict[str, Array]:
    """Seeded states by argument name, entered into the scalars."""
    return {
        key: scalars.array(value)
        for key, value in draw_states(mechanism, count, 3, payload, wrench).items()
    }


@cache
def _states(name: str, count: int, scalars: str) -> dict[str, Array]:
    return draw(robot(name), count, _SCALARS[scalars])


def states(name: str, count: int, scalars: Scalars = FLOAT) -> dict[str, Array]:
    """States of a robot of ROBOTS, the same ones at every call."""
    return _states(name, count, scalars.name)


@cache
def _reference_results(name: str, function: str, count: int, scalars: str) -> dict[str, Array]:
    arguments = {
        a.name: _states(name, count, scalars)[a.name] for a in FUNCTIONS[function].arguments
    }
    frame = tip(robot(name)) if FUNCTIONS[function].needs_frame else None
    rows = task_rows(name, function) or ALL_ROWS
    return Reference(robot(name), _SCALARS[scalars], frame=frame, task_rows=rows).evaluate(
        function, arguments
    )


def reference_results(
    name: str, function: str, count: int, scalars: Scalars = FLOAT
) -> dict[str, Array]:
    """The reference's results at `states`."""
    return _reference_results(name, function, count, scalars.name)


def largest(values: Any) -> float:
    """Upper bound of the largest magnitude in nested floats or balls; NaN counts as infinite."""
    array = np.ravel(np.asarray(values))
    bounds = [
        abs(float(x)) if array.dtype != object else float(abs(flint.arb(x)).upper()) for x in array
    ]
    return float("inf") if any(b != b for b in bounds) else max(bounds, default=0.0)


def rationals(source: Random, size: int) -> list[Fraction]:
    """Small rationals, zero seldom."""
    return [Fraction(source.randint(-9, 9), source.choice((1, 2, 3, 5, 7))) for _ in range(size)]

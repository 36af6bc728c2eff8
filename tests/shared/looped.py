"""Robots with closed loops for tests: two arms joined by a joint of any kind, and closures without
additional constraints.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random

from symgen.description.by_hand import Robot
from symgen.description.loading import load
from symgen.mechanism.closures import closure
from symgen.mechanism.mechanism import Mechanism

SHORT, LONG = (
    ("revolute", "prismatic", "revolute"),
    ("revolute", "revolute", "prismatic", "revolute"),
)
"""Joints of an arm, and of one that may be held by more than four rows."""


def arms(
    kind: str, joints: tuple[str, ...] = (), trunk: bool = True, base: str = "fixed", more: str = ""
) -> Mechanism:
    """Return two arms with these joints in random orientations, on a trunk or on the base; a joint
    of type `kind` connects their tips. `more` is TOML text before the bodies.
    """
    return _arms(
        kind, joints or (LONG if len(closure(kind).rows) > 4 else SHORT), trunk, base, more
    )


@cache
def _arms(kind: str, joints: tuple[str, ...], trunk: bool, base: str, more: str) -> Mechanism:
    random = Random(f"{kind}/{joints}/{trunk}")
    text = ['name = "arms"', more]
    if trunk:
        text.append(_body("trunk", "base", "revolute", "[0, 0, 1]", "[0, 0, 0.2]", "[0.3, 0.2, 0]"))
    for arm, side in (("left", 0.2), ("right", -0.2)):
        before = "trunk" if trunk else "base"
        for i, joint in enumerate(joints):
            axis = ("[0, 0, 1]", "[0, 1, 0]", "[1, 0, 0]")[(i + (side < 0)) % 3]
            turned = f"[{random.randint(-9, 9) / 10}, 0.1, {random.randint(-9, 9) / 10}]"
            text.append(
                _body(
                    f"{arm}{i}",
                    before,
                    joint,
                    axis,
                    f"[{side if not i else 0.05}, {0.02 * i:.2f}, 0.3]",
                    turned,
                )
            )
            before = f"{arm}{i}"
    numbers = "".join(f"{parameter.name} = 0.3\n" for parameter in closure(kind).parameters)
    text.append(
        f'[[loop]]\nname = "closing"\ntype = "{kind}"\n{numbers}'
        f'first = {{ link = "left{len(joints) - 1}", '
        f"xyz = [0.01, 0.02, 0.1], rpy = [0.2, 0.5, 0.1] }}\n"
        f'second = {{ link = "right{len(joints) - 1}", '
        f"xyz = [0, 0.02, 0.12], rpy = [0.4, 0.1, -0.3] }}"
    )
    return load("\n".join(text), base=base)


def _body(name: str, parent: str, joint: str, axis: str, xyz: str, rpy: str) -> str:
    along = f", axis = {axis}" if joint not in ("spherical", "free", "planar") else ""
    return (
        f'[[body]]\nname = "{name}"\nparent = "{parent}"\nmass = 1.5\ncentre = [0.02, 0.01, 0.1]\n'
        f"inertia = [0.02, 0.001, 0, 0.03, 0, 0.02]\n"
        f'joint = {{ name = "{name}_joint", type = "{joint}"{along}, xyz = {xyz}, rpy = {rpy} }}'
    )


def doubled(robot: Mechanism, turned: bool = False) -> Mechanism:
    """Return a robot whose first loop is closed twice, so that its rows are redundant.

    If `turned`, the second closure is in the axes of the other end: its rows are combinations of
    the first ones.
    """
    (first, *more_loops) = robot.loops
    exchanged_ends = {"first": first.second, "second": first.first} if turned else {}
    return replace(
        robot, loops=(first, replace(first, name="again", **exchanged_ends), *more_loops)
    )


def bennett() -> Mechanism:
    """Bennett's linkage: a / sin α is the same of all links, so that it moves although its hinges
    point everywhere.
    """
    row = (
        '[[row]]\na = {}\nalpha = "{}"\nmass = {}\n'
        "centre = [-{}, 0.01, 0]\ninertia = [0.001, 0, 0, 0.01, 0, 0.01]"
    )
    long, short = row.format("0.3", "pi/2", 1, "0.15"), row.format("0.15", "pi/6", 0.5, "0.07")
    return load(
        'name = "bennett"\nconvention = "dh"\n'
        "start = { joint1 = 0.6, joint2 = 0.8, joint3 = -0.6 }\n"
        + "\n".join([long, short, long])
        + '\n[[loop]]\ntype = "revolute"\nfirst = { link = "link3" }\n'
        'second = { link = "base", xyz = [-0.15, 0, 0], rpy = ["-pi/6", 0, 0] }'
    )


@cache
def hopper() -> Mechanism:
    """One leg of two thighs and two shins that meet at its foot, under a trunk that is free."""
    builder = Robot("hopper", gravity=(0, 0, "-9.81")).body(
        "trunk", parent="base", type="free", mass=6, inertia=("0.05", 0, "0.01", "0.1", 0, "0.1")
    )
    for side, x in (("front", "0.05"), ("hind", "-0.05")):
        builder = builder.body(
            f"{side}_thigh",
            parent="trunk",
            type="revolute",
            axis=(0, -1, 0),
            xyz=(x, 0, 0),
            mass="0.3",
            centre=(0, 0, "-0.1"),
            inertia=("0.001", 0, 0, "0.001", 0, "0.0001"),
        )
        builder = builder.body(
            f"{side}_shin",
            parent=f"{side}_thigh",
            type="revolute",
            axis=(0, -1, 0),
            xyz=(0, 0, "-0.2"),
            mass="0.2",
            centre=(0, 0, "-0.15"),
            inertia=("0.001", 0, 0, "0.001", 0, "0.0001"),
        )
    tips = [(f"{side}_shin", (0, 0, "-0.3")) for side in ("front", "hind")]
    return (
        builder.loop("foot", "point", first=tips[0], second=tips[1])
        .start(
            front_thigh_joint="0.7",
            front_shin_joint="-1.3",
            hind_thigh_joint="-0.7",
            hind_shin_joint="1.3",
        )
        .build()
    )

"""Arms that hold one object, and the models of their grasps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

import symgen
from symgen.mechanism.closures import closure
from symgen.mechanism.mechanism import Mechanism

FUNCTION, GRASPS = "constrained_forward_dynamics", "riccati:grasps"


def body(name: str, parent: str, joint: str, more: str = "", mass: float = 1) -> str:
    inertia = (
        "inertia = { xx = 0.02, xy = 0.001, yy = 0.03, zz = 0.025 }\ncentre = [0.1, 0.02, 0.05]"
    )
    return (
        f'[[body]]\nname = "{name}"\nparent = "{parent}"\nmass = {mass}\n{inertia}\n'
        f'joint = {{ name = "{name}_joint", type = "{joint}"{more} }}\n'
    )


def turning(
    name: str, parent: str, axis: Sequence[int], at: Sequence[float], mass: float = 1
) -> str:
    return body(name, parent, "revolute", f", axis = {list(axis)}, xyz = {list(at)}", mass)


def chain(
    name: str, base: Sequence[float], axes: Sequence[Sequence[int]], step: Sequence[float]
) -> str:
    """A finger or an arm of as many links, the last one called after it."""
    names = [f"{name}{k}" for k in range(len(axes) - 1)] + [name]
    return "".join(
        turning(link, (["ground", *names])[k], axis, base if k == 0 else step, 1 / (k + 1))
        for k, (link, axis) in enumerate(zip(names, axes, strict=True))
    )


def loop(kind: str, first: str, second: str, name: str = "") -> str:
    numbers = "".join(f"{parameter.name} = 0.2\n" for parameter in closure(kind).parameters)
    return (
        f'[[loop]]\nname = "{name or kind}"\ntype = "{kind}"\n'
        f"first = {{ {first} }}\nsecond = {{ {second} }}\n{numbers}"
    )


def robot(
    name: str, *sections: str, start: str = "", gravity: Sequence[float] = (0.3, -2, -9.81)
) -> Mechanism:
    head = (
        f'name = "{name}"\ngravity = {list(gravity)}\n'
        f'{f"start = {{ {start} }}" if start else ""}\n[base]\nname = "ground"\n'
    )
    return symgen.load(head + "".join(sections))


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)

BALL = (
    '[[body]]\nname = "ball"\nparent = "ground"\n'
    "mass = 2\ninertia = { xx = 0.02, yy = 0.02, zz = 0.02 }\n"
    'joint = { name = "ball_joint", type = "free" }\n'
)


def finger(name: str, angle: int, axes: Sequence[Sequence[int]] = (X, Y, Y)) -> str:
    at = [
        round(0.3 * float(np.cos(angle * np.pi / 180)), 3),
        round(0.3 * float(np.sin(angle * np.pi / 180)), 3),
        0,
    ]
    return chain(name, at, axes, [0, 0, 0.3])


@cache
def hand() -> Mechanism:
    """Three fingers whose hard points hold a ball, with friction: the rows of two stand in the
    ball's axes, of one in its own.
    """
    at = [
        ("thumb", 0, [0.1, 0, 0]),
        ("index", 120, [-0.05, 0.087, 0]),
        ("middle", 240, [-0.05, -0.087, 0]),
    ]
    loop_ends = [
        (f'link = "ball", xyz = {point}', f'link = "{name}", xyz = [0, 0, 0.3]')
        for name, _, point in at
    ]
    hold = "".join(
        loop("point", *(pair if k else pair[::-1]), f"point{k}") for k, pair in enumerate(loop_ends)
    )
    fingers = "".join(finger(name, angle) for name, angle, _ in at)
    return robot("hand", fingers, BALL, hold, start="ball_joint = [0, 0, 0.8, 0, 0, 0, 1]")


@cache
def two_arms() -> Mechanism:
    """Two arms of six joints and a bar welded to both."""
    axes = (Z, Y, Y, X, Y, X)
    arms = chain("left", [-0.6, 0, 0], axes, [0.15, 0, 0.25]) + chain(
        "right", [0.6, 0, 0], axes, [-0.15, 0, 0.25]
    )
    offsets = ((-0.2, "left"), (0.2, "right"))
    hold = "".join(
        loop("weld", f'link = "bar", xyz = [{x}, 0, 0]', f'link = "{name}"', name)
        for x, name in offsets
    )
    return robot(
        "two_arms",
        arms,
        body("bar", "ground", "free"),
        hold,
        start="bar_joint = [0, 0, 1, 0, 0, 0, 1]",
    )

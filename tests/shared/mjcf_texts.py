"""Small MJCFs, for the tests of reading them."""

from __future__ import annotations

ROD = '<geom type="capsule" size="0.05 0.2" pos="0.1 0.02 0.3" euler="20 30 40"/>'
MASS = '<inertial pos="0.1 0.2 0.3" quat="1 0.1 0.2 0.3" mass="2" diaginertia="0.03 0.04 0.05"/>'
FULL = '<inertial pos="0.1 0.2 0.3" mass="2" fullinertia="0.03 0.04 0.05 0.001 0.002 0.003"/>'
HINGE = '<joint axis="0.3 1 0.2"/>'
HINGES = f'{HINGE}<joint axis="1 0.1 0.5"/>'
"""Two of these turn a body every way, so that each of its moments is felt."""


def mjcf(bodies: str, before: str = "", after: str = "") -> str:
    return f'<mujoco model="m">\n{before}\n<worldbody>\n{bodies}\n</worldbody>\n{after}\n</mujoco>'


def arm(inside: str, joint: str = HINGES, attributes: str = "") -> str:
    """A body on the world, and one on it: what is `inside` them, behind the same joint."""
    return (
        f'<body name="a" pos="0.1 0.2 0.3" quat="1 2 3 4" {attributes}>{joint}{inside}'
        f'<body name="b" pos="0.4 0 0.1" quat="3 1 0 2" {attributes}>{joint}{inside}</body></body>'
    )


def compiler(**attributes: str) -> str:
    return "<compiler " + " ".join(f'{name}="{text}"' for name, text in attributes.items()) + "/>"


def several(*joints: str) -> str:
    return arm(ROD, "".join(joints))

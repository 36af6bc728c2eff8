"""Other descriptions of one robot: links split into two welded bodies, locked joints, other
formats.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from symgen.description.canonical import number, steps, text, to_toml, vector
from symgen.description.loading import load
from symgen.description.quantities import fraction_text
from symgen.mechanism.mechanism import BASE, Body, Mechanism, Part
from symgen.support.errors import SymgenError
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Pose, Shift, Turn, compose
from tests.metamorphic._core import (
    STEPS,
    Asked,
    Case,
    Judged,
    Pairs,
    Setting,
    States,
    inverse,
    with_,
)
from tests.metamorphic._maps import unchanged
from tests.metamorphic.described import halves


def welded(setting: Setting) -> Case:
    """Split every link into two, welded by a fixed joint, and read the robot from TOML."""
    old = setting.mechanism
    first, blocks = [], []
    for i, body in enumerate(old.bodies):
        weld: Pose = (Shift(setting.vector(0.4)),)
        if setting.random.random() < 0.5:
            weld = (*weld, Turn(setting.vector(1), Angle(setting.fraction(-3, 3))))
        two = [halves(setting, part) for part in body.parts]
        first.append(Body(body.name, tuple(part for _, part in two)))
        block = [
            "[[body]]",
            f"name = {text(f'other half {i}')}",
            f"parent = {text(body.name)}",
            "[body.joint]",
            f"name = {text(f'weld {i}')}",
            'type = "fixed"',
            f"steps = {steps(weld)}",
        ]
        for part, _ in two:
            block += _inertia_lines(replace(part, pose=compose(inverse(weld), part.pose)))
        blocks.append((block, weld))
    halved = replace(old, bodies=tuple(first))
    joints = tuple(
        replace(j, pose=compose(inverse(blocks[j.parent][1]), j.pose)) if j.parent != BASE else j
        for j in old.joints
    )
    head, *bodies = to_toml(replace(halved, joints=joints)).split("\n[[body]]\n")
    for i, body in enumerate(old.bodies):  # children of the body become children of its other half
        bodies = [
            block.replace(f"parent = {text(body.name)}\n", f"parent = {text(f'other half {i}')}\n")
            for block in bodies
        ]
    # Joints keep the declared order, so each weld follows its body.
    blocks_text = [
        "\n".join(["[[body]]", body, *block])
        for body, (block, _) in zip(bodies, blocks, strict=True)
    ]
    mechanism = load("\n".join([head, *blocks_text, ""]))
    return unchanged(old).change(mechanism, setting.links, _amiss(mechanism, old))


def _inertia_lines(part: Part) -> list[str]:
    """Return an inertia as TOML, about the origin of the frame if it has the axes of the frame."""
    lines, moments = ["[[body.part]]", f"mass = {number(part.mass)}"], part.moments
    if len(part.pose) == 1 and isinstance(part.pose[0], Shift):
        x, y, z = part.pose[0].xyz
        steiner = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
        about = [moment + part.mass * s for moment, s in zip(moments, steiner, strict=True)]
        return [
            *lines,
            f"centre = {vector((x, y, z))}",
            'about = "frame"',
            f"inertia = {vector(about)}",
        ]
    return [*lines, f"steps = {steps(part.pose)}", f"inertia = {vector(moments)}"]


OF_ALL_JOINTS = (
    "inverse_mass_matrix",
    "mass_matrix_solve",
    "operational_inertia_inverse",
    "mass_matrix_determinant",
    "mass_matrix_log_determinant",
    "mass_matrix_log_determinant_gradient",
    "forward_dynamics_derivatives",
    "operational_inertia",
    "dynamically_consistent_inverse",
    "base_regressor",
    "base_parameters",
)
"""Functions that depend on all joints, so that those of the robot with a locked joint differ."""
OF_ALL_MASS = tuple(name for name, function in FUNCTIONS.items() if function.keeps_mass)
"""Functions of all moving links: a link that is locked to the base no longer counts."""


def locked(setting: Setting) -> Case | None:
    """A locked joint equals one with zero velocity and acceleration, for any joint force.

    None for one joint, and where each has several coordinates.
    """
    old, links, random = setting.mechanism, setting.links, setting.random
    alone = [i for i, joint in enumerate(old.joints) if joint.type.nq == 1]
    if len(old.joints) < 2 or not alone:
        return None
    locked_joint = alone[random.randrange(len(alone))]
    k, at = old.v_slices[locked_joint].start, old.q_slices[locked_joint].start
    new = load(to_toml(old), lock={old.joints[locked_joint].name: setting.exact["q"][0][at]})
    free_entries = [i for i in range(old.nv) if i != k]
    other_joints = [i for i in range(len(old.joints)) if i != locked_joint]
    free_coordinates = [i for i in range(old.nq) if i != at]

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        with evaluate_old.scalars.working():
            locked_states = dict(states)
            for name in ("v", "a"):
                locked_states[name] = np.array(states[name])
                locked_states[name][..., k] *= 0
            locked_states["tau"] = evaluate_old("inverse_dynamics", locked_states)["tau"]
            fewer = with_(
                states,
                **{name: locked_states[name][..., free_coordinates] for name in ("q", "q_next")},
                **{name: locked_states[name][..., free_entries] for name in ("v", "a", "tau", "b")},
            )
            columns = [10 * i + k for i in other_joints for k in range(10)]
            goes = {
                **dict.fromkeys(
                    ("M", "C", "dtau_dq", "dtau_dv"),
                    lambda x: x[..., free_entries, :][..., free_entries],
                ),
                "Y": lambda x: x[..., free_entries, :][..., columns],
                "J": lambda x: x[..., free_entries],
                "R": lambda x: x,
                "p": lambda x: x,
                "alpha": lambda x: x[..., other_joints, :],
                "F": lambda x: x[..., other_joints, :],
                "alpha_tip": lambda x: x,
                "q_next": lambda x: x[..., free_coordinates],
                "R_links": lambda x: x[..., other_joints, :, :],
                "p_links": lambda x: x[..., other_joints, :],
                **dict.fromkeys(("Jdot_v", "com", "T", "U", "h", "hdot"), lambda x: x),
            }
            if function in (*OF_ALL_JOINTS, *STEPS) or (
                old.joints[locked_joint].parent == BASE and function in OF_ALL_MASS
            ):
                return {}
            expected, results = evaluate_old(function, locked_states), evaluate_new(function, fewer)
            return {
                name: (goes.get(name, lambda x: x[..., free_entries])(values), results[name])
                for name, values in expected.items()
            }

    return Judged(new, links, judge)


def in_urdf(setting: Setting) -> Case | None:
    """Write the robot as URDF with every link split into two; None if URDF cannot represent it."""
    old = setting.mechanism
    try:
        written = to_urdf(old)
    except NotInURDF:
        return None
    mechanism = load(written, gravity=[fraction_text(g) for g in old.gravity])
    return unchanged(old).change(mechanism, setting.links, _amiss(mechanism, old))


def _amiss(mechanism: Mechanism, old: Mechanism) -> str:
    """Return what differs in the joints' names, types, limits and order, which no result shows."""
    for mine, declared in zip(mechanism.joints, old.joints, strict=True):
        if (mine.name, mine.kind, mine.limits) != (declared.name, declared.kind, declared.limits):
            return f"joint '{declared.name}' is not as it was declared"
    return ""


class NotInURDF(SymgenError):
    """Error for a feature that the format cannot represent."""


def to_urdf(mechanism: Mechanism) -> str:
    """Return the URDF of a mechanism whose poses are a shift and rotations about z, y and x."""
    lines = ['<robot name="again">', f'<link name="{mechanism.base}"/>']
    for body in mechanism.bodies:
        lines.append(f'<link name="{body.name}"/>')
        for n, part in enumerate(
            half for body_part in body.parts for half in [_half(body_part)] * 2
        ):
            name = f"{body.name}_part{n}"
            keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
            moments = " ".join(
                f'{key}="{_decimal(m)}"' for key, m in zip(keys, part.moments, strict=True)
            )
            xyz = next(
                (step for step in part.pose if isinstance(step, Shift)), Shift((Fraction(0),) * 3)
            )
            lines += [
                f'<link name="{name}"><inertial>'
                f'<origin rpy="{_rpy(part.pose)}"/><mass value="{_decimal(part.mass)}"/>'
                f"<inertia {moments}/></inertial></link>",
                f'<joint name="{name}_weld" type="fixed"><parent link="{body.name}"/>'
                f'<child link="{name}"/>'
                f'<origin xyz="{_three(xyz.xyz)}"/></joint>',
            ]
    for joint, body in zip(mechanism.joints, mechanism.bodies, strict=True):
        if joint.parameters or joint.type.nq > 1:
            raise NotInURDF("a screw, or a joint of several coordinates")
        parent = mechanism.base if joint.parent == BASE else mechanism.bodies[joint.parent].name
        limits = {
            key: getattr(joint.limits, key) for key in ("lower", "upper", "velocity", "effort")
        }
        declared = " ".join(
            f'{key}="{_decimal(value)}"' for key, value in limits.items() if value is not None
        )
        lines += [
            f'<joint name="{joint.name}" type="{joint.kind}">'
            f'<parent link="{parent}"/><child link="{body.name}"/>',
            _origin(joint.pose),
            f'<axis xyz="{_three(joint.axis)}"/>',
            f"<limit {declared}/>" * bool(declared),
            "</joint>",
        ]
    link_names = {mechanism.base, *(body.name for body in mechanism.bodies)}
    for frame in mechanism.frames:
        if frame.name not in link_names:
            on = mechanism.base if frame.body == BASE else mechanism.bodies[frame.body].name
            lines.append(
                f'<link name="{frame.name}"/><joint name="{frame.name}_weld" type="fixed">'
                f'<parent link="{on}"/>'
                f'<child link="{frame.name}"/>{_origin(frame.pose)}</joint>'
            )
        elif frame.pose:
            raise NotInURDF("a link whose frame is not its joint's")
    return "\n".join([*lines, "</robot>", ""])


def _half(part: Part) -> Part:
    """Return a part with half of the mass and of the moments at the same pose."""
    xx, xy, xz, yy, yz, zz = (moment / 2 for moment in part.moments)
    return replace(part, mass=part.mass / 2, moments=(xx, xy, xz, yy, yz, zz))


def _origin(pose: Pose) -> str:
    shift = pose[0].xyz if pose and isinstance(pose[0], Shift) else (Fraction(0),) * 3
    return f'<origin xyz="{_three(shift)}" rpy="{_rpy(pose)}"/>'


def _rpy(pose: Pose) -> str:
    """Return roll, pitch and yaw of a pose made of a shift and rotations about z, y and x."""
    turns = pose[1:] if pose and isinstance(pose[0], Shift) else pose
    angles: dict[tuple[Fraction, ...], Angle] = {}
    waiting = [Z_AXIS, Y_AXIS, X_AXIS]
    for step in turns:
        while waiting and waiting[0] != getattr(step, "axis", None):
            waiting.pop(0)
        if not waiting or not isinstance(step, Turn):
            raise NotInURDF("a pose of other steps")
        angles[waiting.pop(0)] = step.angle
    return " ".join(_angle(angles.get(axis, Angle())) for axis in (X_AXIS, Y_AXIS, Z_AXIS))


def _angle(angle: Angle) -> str:
    """Return an angle as a decimal; printed right angles are read back as exact ones."""
    if angle.quarter_turns is None and angle.pi:
        raise NotInURDF("an angle that no decimal is")
    return f"{float(angle):.12g}" if angle.pi else _decimal(angle.radians)


def _three(xyz: tuple[Fraction, Fraction, Fraction]) -> str:
    return " ".join(_decimal(x) for x in xyz)


def _decimal(value: Fraction) -> str:
    if "/" in fraction_text(value):
        raise NotInURDF("a number that no decimal is")
    return fraction_text(value)

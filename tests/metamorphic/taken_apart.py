"""Relations: composite joints, locked joints, and chains described from the other end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism
from symgen.reference.precision import Array, Scalars
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Pose, compose
from tests.metamorphic._core import (
    STEPS,
    Asked,
    Case,
    Judged,
    Links,
    Pairs,
    Setting,
    States,
    cross,
    inverse,
    times,
    with_,
)
from tests.metamorphic._maps import entries
from tests.metamorphic.described import AXES, motion
from tests.metamorphic.states import STEP


def screw_apart(setting: Setting) -> Case | None:
    """Replace helical and cylindrical joints by a revolute and a prismatic one; None if absent."""
    old = setting.mechanism
    joints: list[Joint] = []
    bodies: list[Body] = []
    rates: list[tuple[int, Fraction]] = []  # for each new velocity: the old velocity and the factor
    coordinate_rates: list[
        tuple[int, Fraction]
    ] = []  # for each new coordinate: the old coordinate and the factor
    new_index = {BASE: BASE}
    for i, (joint, body) in enumerate(zip(old.joints, old.bodies, strict=True)):
        parent = new_index[joint.parent]
        of_v, of_q = old.v_slices[i], old.q_slices[i]
        if joint.type.directed and joint.type.turns and joint.type.slides:
            joints.append(Joint(f"{joint.name}_along", "prismatic", parent, joint.pose, joint.axis))
            bodies.append(Body(f"{body.name}_along"))
            joints.append(Joint(f"{joint.name}_about", "revolute", len(joints) - 1, (), joint.axis))
            pitch = dict(joint.parameters).get("pitch", Fraction(1))
            rates += [(of_v.stop - 1, pitch), (of_v.start, Fraction(1))]
            coordinate_rates += [(of_q.stop - 1, pitch), (of_q.start, Fraction(1))]
        else:
            joints.append(replace(joint, parent=parent))
            rates += [(k, Fraction(1)) for k in range(of_v.start, of_v.stop)]
            coordinate_rates += [(k, Fraction(1)) for k in range(of_q.start, of_q.stop)]
        bodies.append(body)
        new_index[i] = len(joints) - 1
    if len(joints) == len(old.joints):
        return None
    frames = tuple(replace(f, body=new_index[f.body]) for f in old.frames)
    new = replace(old, joints=tuple(joints), bodies=tuple(bodies), frames=frames)

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        if function not in (
            "inverse_dynamics",
            "bias_force",
            "gravity_force",
            "mass_matrix",
            "mass_matrix_and_bias",
            "forward_kinematics",
            "jacobian",
        ):
            return {}
        with evaluate_old.scalars.working():
            combination = evaluate_old.scalars.array(
                [[rate if i == k else 0 for k in range(old.nv)] for i, rate in rates]
            )
            placed = evaluate_old.scalars.array(
                [[rate if i == k else 0 for k in range(old.nq)] for i, rate in coordinate_rates]
            )
            results = evaluate_new(
                function,
                with_(
                    states,
                    q=states["q"] @ placed.T,
                    **{name: states[name] @ combination.T for name in ("v", "a")},
                ),
            )
            goes = {
                "tau": lambda x: x @ combination,
                "c": lambda x: x @ combination,
                "g": lambda x: x @ combination,
                "J": lambda x: x @ combination,
                "M": lambda x: combination.T @ x @ combination,
            }
            return {
                name: (values, goes.get(name, lambda x: x)(results[name]))
                for name, values in evaluate_old(function, states).items()
            }

    return Judged(new, setting.links, judge)


def without_axes_apart(setting: Setting) -> Case | None:
    """Replace a joint without an axis by prismatic and revolute joints, away from singular poses;
    None without such a joint.

    The velocities of the original joint are T(q) times the rates of the new joints.
    """
    old = setting.mechanism
    joints: list[Joint] = []
    bodies: list[Body] = []
    components_by_joint: dict[
        int, list[tuple[str, int]]
    ] = {}  # for each replaced joint: the kinds and the axes of the new joints
    new_index = {BASE: BASE}
    for i, (joint, body) in enumerate(zip(old.joints, old.bodies, strict=True)):
        parent, pose = new_index[joint.parent], joint.pose
        if joint.type.along is None:
            joints.append(replace(joint, parent=parent))
            bodies.append(body)
        else:
            components_by_joint[i] = [
                ("prismatic" if velocity.unit == "m" else "revolute", along)
                for along, velocity in zip(joint.type.along, joint.type.velocities, strict=True)
            ]
            for n, (kind, along) in enumerate(components_by_joint[i]):
                joints.append(
                    Joint(
                        f"{joint.name}_{n}",
                        kind,
                        len(joints) - 1 if n else parent,
                        () if n else pose,
                        AXES[along],
                    )
                )
                bodies.append(
                    Body(f"{body.name}_{n}") if n + 1 < len(components_by_joint[i]) else body
                )
        new_index[i] = len(joints) - 1
    if not components_by_joint:
        return None
    frames = tuple(replace(f, body=new_index[f.body]) for f in old.frames)
    new = replace(old, joints=tuple(joints), bodies=tuple(bodies), frames=frames)
    kept_links = [new_index[i] for i in range(len(old.joints))]
    drawn = {
        i: [setting.fraction(-1, 1) for _ in components]
        for i, components in components_by_joint.items()
    }
    rates = [setting.fraction(-2, 2) for _ in range(old.nv)]
    gains = [setting.fraction(-2, 2) for _ in range(old.nv)]

    def twists(q: Array, scalars: Scalars) -> Array:
        """Return T (1, NV, NV) at q of the new robot."""
        twists_of_joints = scalars.array([np.eye(old.nv)])
        for i, components in components_by_joint.items():
            first = old.v_slices[i].start
            after = scalars.array(
                np.eye(3)
            )  # from the axes of the body to those behind the turns gone through, last first
            for n, (kind, along) in reversed(list(enumerate(components))):
                columns = after.T[:, along]
                for row, (joint, axis) in enumerate(components):
                    twists_of_joints[0, first + row, first + n] = (
                        columns[axis] if joint == kind else 0 * columns[axis]
                    )
                if kind == "revolute":
                    after = _turn(along, q[0, first + n]) @ after
        return twists_of_joints

    def coordinates(q: Array, states: States) -> Array:
        """Return the coordinates of the old robot if the new one is at q."""
        coordinates_of_joints = [states["q"][..., q_slice] for q_slice in old.q_slices]
        for i, components in components_by_joint.items():
            q_slice = q[0, old.v_slices[i]]
            slides = [
                x for x, (kind, _) in zip(q_slice, components, strict=True) if kind == "prismatic"
            ]
            turns = [
                (along, x)
                for x, (kind, along) in zip(q_slice, components, strict=True)
                if kind == "revolute"
            ]
            coordinates_of_joints[i] = np.array(
                [
                    [
                        *slides,
                        *(
                            _quaternion(turns)
                            if old.joints[i].type.quaternion is not None
                            else [x for _, x in turns]
                        ),
                    ]
                ],
                dtype=object,
            )
        for i, q_slice in enumerate(old.v_slices):
            if i not in components_by_joint:
                coordinates_of_joints[i] = q[..., q_slice]
        return np.concatenate(coordinates_of_joints, axis=-1)

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        if function in ("difference", "base_regressor", "base_parameters"):
            return {}  # the way back from there is another, as are the links
        scalars = evaluate_old.scalars
        with scalars.working():
            q = np.concatenate(
                [
                    scalars.array([drawn[i]])
                    if i in components_by_joint
                    else states["q"][..., v_slice]
                    for i, v_slice in enumerate(old.q_slices)
                ],
                axis=-1,
            )
            v, a = scalars.array([rates]), scalars.array([gains])
            h, T = scalars.constant(STEP), twists(q, scalars)
            narrow, wide = (
                twists(q + v * t, scalars) - twists(q - v * t, scalars) for t in (h, 2 * h)
            )
            rate = (8 * narrow - wide) / (12 * h)  # of T; misses by the fourth power of the step
            swung = times(rate, v)
            transposed = np.swapaxes(T, -1, -2)
            theirs = with_(
                states,
                q=q,
                q_next=q,
                v=v,
                a=a,
                tau=times(transposed, states["tau"]),
                b=times(transposed, states["b"]),
            )
            ours = with_(states, q=coordinates(q, states), v=times(T, v), a=times(T, a) + swung)
            expected, results = evaluate_old(function, ours), evaluate_new(function, theirs)

            def torques_along(values: Array) -> Array:
                return times(transposed, values)

            if "c" in expected:  # their joints at rest are ours accelerated
                expected = {
                    **expected,
                    "c": evaluate_old("inverse_dynamics", with_(ours, a=swung))["tau"],
                }
            if function == "bias_acceleration":
                expected = {
                    "Jdot_v": expected["Jdot_v"] + times(evaluate_old("jacobian", ours)["J"], swung)
                }
            if function in (
                "difference",
                "inverse_dynamics_derivatives",
                "forward_dynamics_derivatives",
                *STEPS,
            ):
                # the difference is not unique, and T(q) changes derivatives and the stages of a
                # step
                return {}
            if (
                function == "integrate"
            ):  # a twist and rates that stay lead elsewhere, as the square of the time
                short = {"dt": scalars.array([STEP * STEP])}
                return {
                    "q_next": (
                        evaluate_old(function, ours | short)["q_next"],
                        coordinates(evaluate_new(function, theirs | short)["q_next"], ours),
                    )
                }
            if function == "mass_matrix_log_determinant_gradient":
                grown = [log_determinant(twists(q + v * t, scalars)) for t in (h, -h)]
                along = (expected["grad"] * ours["v"]).sum(axis=-1) + (grown[0] - grown[1]) / h
                return {"grad": (along, (results["grad"] * v).sum(axis=-1))}
            ours_as_theirs = {
                **dict.fromkeys(("tau", "c", "g"), torques_along),
                "M": lambda x: transposed @ x @ T,
                "Y": lambda x: transposed @ x,
                "C": lambda x: transposed @ (x @ T + evaluate_old("mass_matrix", ours)["M"] @ rate),
                **dict.fromkeys(("J", "Jcom", "A_G"), lambda x: x @ T),
                "det": lambda x: x * np.exp(2 * log_determinant(T)),
                "logdet": lambda x: x + 2 * log_determinant(T),
            }
            theirs_as_ours = {
                "a": lambda x: times(T, x) + swung,
                "x": lambda x: times(T, x),
                "Minv": lambda x: T @ x @ transposed,
                "Jbar": lambda x: T @ x,
                "Y": lambda x: x[..., [10 * i + k for i in kept_links for k in range(10)]],
                **{
                    name: lambda x, end=end: x[(slice(None), kept_links) + (slice(None),) * end]
                    for name, end in (("alpha", 1), ("F", 1), ("R_links", 2), ("p_links", 1))
                },
            }
            return {
                name: (
                    ours_as_theirs.get(name, lambda x: x)(values),
                    theirs_as_ours.get(name, lambda x: x)(results[name]),
                )
                for name, values in expected.items()
            }

    return Judged(new, setting.links, judge)


def log_determinant(matrix: Array) -> Array:
    """Return ln |det| of a matrix (1, n, n)."""
    determinant = flint.arb_mat([list(row) for row in matrix[0]]).det()
    return np.array([abs(determinant).log()])


def _turn(along: int, angle: Any) -> Array:
    """Return the rotation about x, y or z."""
    rotation, (c, s) = (
        0 * angle + np.eye(3, dtype=int).astype(object),
        (np.cos(angle), np.sin(angle)),
    )
    first, two = (along + 1) % 3, (along + 2) % 3
    rotation[first, first], rotation[first, two], rotation[two, first], rotation[two, two] = (
        c,
        -s,
        s,
        c,
    )
    return rotation


def _quaternion(turns: Sequence[tuple[int, Any]]) -> list[Any]:
    """Return the quaternion x y z w of successive rotations about axes."""
    u, w = np.array([0 * turns[0][1]] * 3, dtype=object), 0 * turns[0][1] + 1
    for along, angle in turns:
        imaginary, c = np.array([0 * angle] * 3, dtype=object), np.cos(angle / 2)
        imaginary[along] = np.sin(angle / 2)
        u, w = w * imaginary + c * u + cross(u, imaginary), w * c - (u * imaginary).sum()
    return [*u, w]


def chain_reversed(setting: Setting) -> Case | None:
    """The chain from the frame back to the base has the inverse pose. None for a frame on the base,
    and for joints without an axis, whose velocities are in the axes of one end.
    """
    old, at = setting.mechanism, setting.mechanism.frame(setting.links.frame)
    path, end = way_back(old, at)
    if not path or not all(old.joints[i].type.directed for i in path):
        return None
    of_q, of_v = entries(old.q_slices, path), entries(old.v_slices, path)
    new, frame = _chain(old, path, inverse(at.pose), end)

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        if function not in ("forward_kinematics", "jacobian"):
            return {}
        with evaluate_old.scalars.working():
            pose, tip_pose = (
                evaluate_old("forward_kinematics", states),
                evaluate_new(function, with_(states, q=states["q"][..., of_q])),
            )
            transposed = np.swapaxes(pose["R"], -1, -2)
            if function == "forward_kinematics":
                return {
                    "R": (transposed, tip_pose["R"]),
                    "p": (-times(transposed, pose["p"]), tip_pose["p"]),
                }
            columns = np.swapaxes(evaluate_old("jacobian", states)["J"], -1, -2)[
                ..., of_v, :
            ]  # (1, n, 6)
            angular, linear = columns[..., :3], columns[..., 3:]
            blocks = [
                -angular @ pose["R"],
                -(linear - cross(angular, pose["p"][..., None, :])) @ pose["R"],
            ]
            return {"J": (np.swapaxes(np.concatenate(blocks, axis=-1), -1, -2), tip_pose["J"])}

    return Judged(new, Links(frame), judge)


def way_back(mechanism: Mechanism, frame: Frame) -> tuple[list[int], Pose]:
    """Return the joints from a frame to the base, last joint first, and the remaining pose."""
    path, body = [], frame.body
    while body != BASE:
        path.append(body)
        body = mechanism.joints[body].parent
    return path, inverse(mechanism.joints[path[-1]].pose) if path else ()


def _chain(old: Mechanism, path: list[int], first: Pose, end: Pose) -> tuple[Mechanism, str]:
    """Reverse the joints of `path`, starting at `first`; return also the frame of the old base."""
    joints = []
    for k, i in enumerate(path):
        x, y, z = old.joints[i].axis
        before = first if k == 0 else inverse(old.joints[path[k - 1]].pose)
        joints.append(
            replace(old.joints[i], parent=k - 1, pose=before, axis=(-x, -y, -z), mimic=None)
        )
    bodies = tuple(Body(f"{old.joints[i].name}_body", old.bodies[i].parts) for i in path)
    name = "where_the_base_was"
    return replace(
        old, joints=tuple(joints), bodies=bodies, frames=(Frame(name, len(path) - 1, end),)
    ), name


FLOATING = (
    ("prismatic", X_AXIS),
    ("prismatic", Y_AXIS),
    ("prismatic", Z_AXIS),
    ("revolute", Z_AXIS),
    ("revolute", Y_AXIS),
    ("revolute", X_AXIS),
)
"""Six joints that let a body go anywhere. At zero they are the slides along its axes, and the turns
about them backwards.
"""


def floating_reversed(setting: Setting) -> Case | None:
    """Take the other end of a floating chain as its root; None if the frame is not at the end of a
    short chain.

    The root is at rest and no force acts on it. Then the joints accelerate alike, and so does the
    frame at the other end. det M is equal: a matrix of determinant one maps the six velocities of
    one end to those of the other end.
    """
    old, at = setting.mechanism, setting.mechanism.frame(setting.links.frame)
    path, _ = way_back(old, at)
    if not 0 < len(path) <= 2 or len(path) != len(old.joints) or old.nq != len(path):
        return None
    root = Body("root", old.bodies[0].parts)  # any matter
    ahead = _floating(old, root, ())
    ahead = replace(ahead, frames=(Frame("end", 5 + old.nv, at.pose),))
    q = setting.exact["q"][0]
    stands = compose(*(compose(j.pose, motion(j, q[i])) for i, j in enumerate(old.joints)), at.pose)
    turned, _ = _chain(old, path, inverse(at.pose), ())
    # A reversed joint moves its former parent, in the frame of the joint.
    moved_bodies = (*(old.bodies[i] for i in path[1:]), root)
    turned = replace(
        turned,
        bodies=tuple(
            _in_displaced_frame(body, old.joints[i].pose)
            for body, i in zip(moved_bodies, path, strict=True)
        ),
    )
    transposed = replace(
        _floating(turned, _in_displaced_frame(old.bodies[path[0]], at.pose), stands),
        frames=(Frame("end", 5),),
    )

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        if function not in (
            "forward_dynamics",
            "link_accelerations",
            "mass_matrix_determinant",
            "mass_matrix_log_determinant",
            "operational_inertia_inverse",
        ):
            return {}
        with evaluate_old.scalars.working():
            zero_twist = evaluate_old.scalars.array([[0] * 6])
            arguments = {
                name: np.concatenate([zero_twist, states[name]], axis=-1)
                for name in ("q", "v", "tau")
            }
            turn = evaluate_old("forward_kinematics", arguments)["R"]
            twist = times(evaluate_old("jacobian", arguments)["J"], arguments["v"])
            backwards = {
                name: np.concatenate([zero_twist, states[name][..., path]], axis=-1)
                for name in ("q", "v", "tau")
            }
            backwards["v"][..., :6] = _velocities(turn, twist)
            expected, results = evaluate_old(function, arguments), evaluate_new(function, backwards)
            if function == "forward_dynamics":
                return {"a": (expected["a"][..., 6:][..., path], results["a"][..., 6:])}
            return {
                name: (values, results[name])
                for name, values in expected.items()
                if name != "alpha"
            }

    return Judged(transposed, Links("end"), judge, (ahead, Links("end")))


def _in_displaced_frame(body: Body, pose: Pose) -> Body:
    """Return a body whose frame is displaced by `pose`."""
    return Body(
        f"{body.name}_seen",
        tuple(replace(p, pose=compose(inverse(pose), p.pose)) for p in body.parts),
    )


def _floating(chain: Mechanism, root: Body, stands: Pose) -> Mechanism:
    joints = tuple(
        Joint(f"floating{i}", kind, i - 1, stands if i == 0 else (), axis)
        for i, (kind, axis) in enumerate(FLOATING)
    )
    carried = tuple(replace(j, parent=j.parent + 6) for j in chain.joints)
    bodies = (*(Body(f"floating{i}") for i in range(5)), root, *chain.bodies)
    return replace(chain, joints=(*joints, *carried), bodies=bodies)


def _velocities(turn: Array, twist: Array) -> Array:
    """Return the velocities of the six joints at zero.

    `twist` (1, 6) is in the axes of the base, angular part first, of a body rotated by `turn`.
    """
    angular, linear = (
        times(np.swapaxes(turn, -1, -2), half) for half in (twist[..., :3], twist[..., 3:])
    )
    return np.concatenate([linear, angular[..., ::-1]], axis=-1)

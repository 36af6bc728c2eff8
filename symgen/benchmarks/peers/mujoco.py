"""MuJoCo as a peer: a MuJoCo model of a mechanism, and the conversion of states and results to
MuJoCo's conventions and back.

A joint with several coordinates becomes several MuJoCo joints (slides, hinges, a ball). A free
joint on the base becomes MuJoCo's free joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from symgen.benchmarks.peers._peer import Call, Peer, Places, refusal, refuse_drives, unit
from symgen.ir.program import POSITIONS
from symgen.mechanism.joints import Orienting, Placing, Sliding, Turning
from symgen.mechanism.mechanism import BASE, Joint, Mechanism
from symgen.reference.mechanics import Reference
from symgen.support.errors import RequestError


def _mujoco_joints(mj: Any, joint: Joint) -> list[tuple[Any, Any]]:
    """Return (type, axis) of the MuJoCo joints that replace one joint, from parent to child.

    Raises RequestError for a helical joint.
    """
    kinds, axis, frame_axes = mj.mjtJoint, unit(joint), np.eye(3)
    if _is_free_joint(joint):
        return [(kinds.mjJNT_FREE, axis)]
    coordinates = [step.of for step in joint.motions]
    if len(set(coordinates)) < len(coordinates):  # one coordinate rotates and translates
        raise refusal(joint, "MuJoCo")
    joints: list[tuple[Any, Any]] = []
    for step in joint.motions:
        match step:
            case Turning(_, 1):
                joints.append((kinds.mjJNT_HINGE, axis))
            case Sliding(_, 1):
                joints.append((kinds.mjJNT_SLIDE, axis))
            case Placing():
                joints += [(kinds.mjJNT_SLIDE, frame_axes[k]) for k in range(step.axes)]
            case Orienting():
                joints.append((kinds.mjJNT_BALL, axis))
            case _:
                raise refusal(joint, "MuJoCo")
    return joints


def _is_free_joint(joint: Joint) -> bool:
    """True if the joint becomes MuJoCo's free joint.

    In MuJoCo, only a child of the world can have a free joint. Elsewhere, three slides and a ball
    replace it.
    """
    return joint.parent == BASE and joint.motions == (Placing(0), Orienting(3))


class MujocoPlaces(Places):
    """Conversion between symgen's and MuJoCo's vectors: indices, quaternions and axes.

    MuJoCo's quaternions are w x y z. symgen expresses the linear velocity of a joint in the axes of
    the body. MuJoCo expresses it in the axes of the joint's frame. For a free joint, MuJoCo
    expresses the linear velocity, the position and the quaternion in the axes of the base. Let R be
    the rotation from symgen's axes to MuJoCo's axes, and T = diag(R, 1) for each joint, which is
    orthogonal. Then MuJoCo has

        velocities T v,   accelerations T (a + (ω × v, 0)),   forces T τ.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        nq: int,
        starts: Sequence[int],
        sizes: Sequence[int],
        order: Sequence[int],
    ) -> None:
        super().__init__(mechanism, nq, starts, sizes, order)
        reference = Reference(mechanism)
        self.joint_frames = [reference.pose(joint.pose) for joint in mechanism.joints]

    def position(self, q: Any) -> Any:
        """Return MuJoCo's qpos (nq,) for symgen's q (NQ,)."""
        qpos = super().position(q)
        for i, (joint, entries) in enumerate(
            zip(self.mechanism.joints, self.mechanism.q_slices, strict=True)
        ):
            values = np.array(q[entries], dtype=float)
            if _is_free_joint(joint):
                qpos[self.starts[i] :][:3] = (
                    self.joint_frames[i][0] @ values[:3] + self.joint_frames[i][1]
                )
            quaternion_start = joint.type.quaternion
            if quaternion_start is not None:
                qpos[self.starts[i] + quaternion_start :][:4] = self._quaternion(i, values)
        return qpos

    def _quaternion(self, i: int, values: Any) -> Any:
        """Return MuJoCo's quaternion w x y z of joint i from the joint's coordinates.

        For a free joint, it includes the rotation of the joint's frame in the base.
        """
        import mujoco as mj

        joint = self.mechanism.joints[i]
        first = joint.type.quaternion or 0
        quaternion = np.roll(values[first : first + 4], 1)
        if _is_free_joint(joint):
            frame_quaternion = np.zeros(4)
            frame_rotation = self.joint_frames[i][0]
            mj.mju_mat2Quat(frame_quaternion, np.ascontiguousarray(frame_rotation).ravel())
            mj.mju_mulQuat(quaternion, frame_quaternion, quaternion.copy())
        return quaternion

    def _rotation_to_mujoco_axes(self, i: int, values: Any) -> Any:
        """Return R (3, 3) of joint i: from the body's axes to the axes of MuJoCo's linear
        velocity."""
        import mujoco as mj

        if self.mechanism.joints[i].type.quaternion is not None:
            flat = np.zeros(9)
            mj.mju_quat2Mat(flat, self._quaternion(i, values))
            return flat.reshape(3, 3)
        c, s = np.cos(values[-1]), np.sin(values[-1])  # a planar joint
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])

    def velocity_transform(self, q: Any) -> tuple[Any, list[tuple[Any, Any, Any]]]:
        """Return T (nv, nv), and (entries, axes, is_linear) for each joint whose R is not 1.

        `entries` are the indices of the joint's velocities in v. For each of these velocities,
        `axes` has its axis, 0, 1 or 2, and `is_linear` is True for a linear velocity.
        """
        transform, rotated_joints = np.eye(len(self.order)), []
        mechanism = self.mechanism
        for i, joint in enumerate(mechanism.joints):
            kind = joint.type
            if kind.along is None or not kind.slides:
                continue
            entries, axes = np.arange(len(self.order))[mechanism.v_slices[i]], np.array(kind.along)
            is_linear = np.array([velocity.unit == "m" for velocity in kind.velocities])
            R = self._rotation_to_mujoco_axes(i, np.array(q[mechanism.q_slices[i]], dtype=float))
            linear_entries, linear_axes = entries[is_linear], axes[is_linear]
            transform[np.ix_(linear_entries, linear_entries)] = R[np.ix_(linear_axes, linear_axes)]
            rotated_joints.append((entries, axes, is_linear))
        return transform, rotated_joints

    def acceleration_offset(self, rotated_joints: Any, v: Any) -> Any:
        """Return (ω × v, 0) of every joint (nv,), in the axes of its body."""
        offset = np.zeros(len(self.order))
        for entries, axes, is_linear in rotated_joints:
            angular, linear = np.zeros(3), np.zeros(3)
            angular[axes[~is_linear]] = v[entries[~is_linear]]
            linear[axes[is_linear]] = v[entries[is_linear]]
            offset[entries[is_linear]] = np.cross(angular, linear)[axes[is_linear]]
        return offset

    def state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return a state of symgen in MuJoCo's order and axes."""
        T, rotated_joints = self.velocity_transform(state["q"])
        converted = {
            name: self.position(x)
            if name in POSITIONS
            else self.velocity(T @ x)
            if np.shape(x) == (len(T),)
            else x
            for name, x in state.items()
        }
        if "a" in state:
            offset = self.acceleration_offset(rotated_joints, state["v"])
            converted["a"] = self.velocity(T @ (state["a"] + offset))
        return converted

    def ours(self, function: str, state: Mapping[str, Any], answer: Any) -> Any:
        """Return MuJoCo's answer in symgen's order and axes: a matrix, forces, or accelerations
        (forward dynamics).
        """
        values = super().ours(function, state, answer)
        T, rotated_joints = self.velocity_transform(state["q"])
        if values.ndim == 2:
            return T.T @ values @ T
        if function == "forward_dynamics":
            return T.T @ values - self.acceleration_offset(rotated_joints, state["v"])
        return T.T @ values


def places(mechanism: Mechanism, model: Any) -> Places:
    """Return the conversion between symgen's vectors and those of a model that `built` returned."""
    # Of the MuJoCo joints that replace one joint, the first has its name.
    joints = [model.joint(joint.name) for joint in mechanism.joints]
    return MujocoPlaces(
        mechanism,
        model.nq,
        [int(joint.qposadr[0]) for joint in joints],
        [joint.type.nq for joint in mechanism.joints],
        [int(joints[i].dofadr[0]) + k for i, k in mechanism.dofs],
    )


def built(mechanism: Mechanism) -> Any:
    """Return MuJoCo's model of a mechanism, without contacts and constraints.

    Raises RequestError if MuJoCo cannot represent the mechanism.
    """
    import mujoco as mj

    unsupported = ["friction"]  # MuJoCo's friction includes stiction
    # A MuJoCo body has one fraction of gravity compensation, which its parts must share.
    if any(
        len({part.gravcomp for part in body.parts if part.mass}) > 1 for body in mechanism.bodies
    ):
        unsupported.append("gravcomp")
    refuse_drives(mechanism, "MuJoCo", unsupported)
    reference, spec = Reference(mechanism), mj.MjSpec()
    spec.compiler.degree = False  # the rest position of a spring is in radians
    spec.option.gravity = [float(g) for g in mechanism.gravity]
    spec.option.disableflags = int(mj.mjtDisableBit.mjDSBL_CONTACT) | int(
        mj.mjtDisableBit.mjDSBL_CONSTRAINT
    )
    bodies: list[Any] = []
    for joint, body in zip(mechanism.joints, mechanism.bodies, strict=True):
        parent = spec.worldbody if joint.parent < 0 else bodies[joint.parent]
        bodies.append(_add_body(parent, body.name, joint, reference))
    for index, body in enumerate(bodies):
        _set_inertia(body, [part for part in reference.parts() if part.body == index])
    try:
        return spec.compile()
    except ValueError as error:
        raise RequestError(f"MuJoCo refuses the robot: {' '.join(str(error).split())}") from None


def _add_body(parent: Any, name: str, joint: Joint, reference: Reference) -> Any:
    """Add a body to its parent in MuJoCo's specification, with the joint that carries it and the
    joint's drive.
    """
    import mujoco as mj

    rotation, origin = reference.pose(joint.pose)
    quaternion = np.zeros(4)
    mj.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    body = parent.add_body(name=name, pos=origin, quat=quaternion)
    mujoco_joints = _mujoco_joints(mj, joint)
    names = (joint.name, *[""] * (len(mujoco_joints) - 1))
    for joint_name, (kind, axis) in zip(names, mujoco_joints, strict=True):
        body.add_joint(
            name=joint_name,
            type=kind,
            axis=axis,
            armature=float(joint.drive.armature),
            damping=float(joint.drive.damping),
            stiffness=float(joint.drive.stiffness),
            springref=float(joint.drive.rest),
        )
    return body


def _set_inertia(body: Any, parts: Sequence[Any]) -> None:
    """Set the body's mass, mass centre and inertia to the totals of its parts, and its gravity
    compensation to that of the parts.
    """
    mass = sum(float(part.mass) for part in parts)
    first_moment = sum((float(part.mass) * np.asarray(part.centre) for part in parts), np.zeros(3))
    centre = first_moment / (mass or 1.0)
    tensor = np.zeros((3, 3))
    for part in parts:
        offset = np.asarray(part.centre) - centre
        parallel_axis_term = float(part.mass) * (
            offset @ offset * np.eye(3) - np.outer(offset, offset)
        )
        tensor += np.asarray(part.inertia) + parallel_axis_term
    body.mass, body.ipos, body.explicitinertial = mass, centre, True
    body.gravcomp = max((float(part.gravcomp) for part in parts if part.gravcomp), default=0.0)
    body.fullinertia = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def peer(mechanism: Mechanism) -> Peer:
    """Return MuJoCo as a peer.

    Each function sets the state once and returns a call of mj_inverse or mj_forward, so that the
    benchmark times this call only.
    """
    import mujoco as mj

    model = built(mechanism)

    def data_at(state: dict[str, Any]) -> Any:
        data = mj.MjData(model)
        data.qpos, data.qvel = state["q"], state["v"]
        return data

    def inverse(state: dict[str, Any]) -> Call:
        data = data_at(state)
        data.qacc = state["a"]

        def call() -> Any:
            mj.mj_inverse(model, data)
            return data.qfrc_inverse

        return call

    def forward(state: dict[str, Any]) -> Call:
        data = data_at(state)
        data.qfrc_applied = state["tau"]

        def call() -> Any:
            mj.mj_forward(model, data)
            return data.qacc

        return call

    functions = {
        "inverse_dynamics": ("mj_inverse", inverse),
        "forward_dynamics": ("mj_forward", forward),
    }
    return Peer("mujoco", mj.__version__, places(mechanism, model), functions)

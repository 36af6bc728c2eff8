"""MuJoCo as a peer: joints with several coordinates consist of its slides, hinges and balls, or its free joint on the base."""

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


def _joints(mj: Any, joint: Joint) -> list[tuple[Any, Any]]:
    """Return (type, axis) of MuJoCo's joints for one of symgen's, from the parent on. RequestError for a screw."""
    kinds, axis, frame = mj.mjtJoint, unit(joint), np.eye(3)
    if _flies(joint):
        return [(kinds.mjJNT_FREE, axis)]
    if len({step.of for step in joint.motions}) < len(
        joint.motions
    ):  # one coordinate turns and slides
        raise refusal(joint, "MuJoCo")
    joints: list[tuple[Any, Any]] = []
    for step in joint.motions:
        match step:
            case Turning(_, 1):
                joints.append((kinds.mjJNT_HINGE, axis))
            case Sliding(_, 1):
                joints.append((kinds.mjJNT_SLIDE, axis))
            case Placing():
                joints += [(kinds.mjJNT_SLIDE, frame[k]) for k in range(step.axes)]
            case Orienting():
                joints.append((kinds.mjJNT_BALL, axis))
            case _:
                raise refusal(joint, "MuJoCo")
    return joints


def _flies(joint: Joint) -> bool:
    """True if the joint is MuJoCo's free joint, which is on the base; elsewhere three slides and a ball replace it."""
    return joint.parent == BASE and joint.motions == (Placing(0), Orienting(3))


class MujocoPlaces(Places):
    """Positions in MuJoCo's vectors. Its quaternions are w x y z.

    MuJoCo counts slides of a joint along the axes of the joint's frame. For its free joint it counts them along the axes of the base,
    in which position and quaternion are given too. symgen counts them along the axes of the body. So MuJoCo's velocities are T v with
    T = diag(R, 1) for each joint, orthogonal, its accelerations T a + T (ω × v, 0), its forces T τ.
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
        self.seats = [reference.pose(joint.pose) for joint in mechanism.joints]

    def position(self, q: Any) -> Any:
        """Return MuJoCo's qpos (nq,) for symgen's q (NQ,)."""
        qpos = super().position(q)
        for i, (joint, entries) in enumerate(
            zip(self.mechanism.joints, self.mechanism.q_slices, strict=True)
        ):
            values = np.array(q[entries], dtype=float)
            if _flies(joint):
                qpos[self.starts[i] :][:3] = self.seats[i][0] @ values[:3] + self.seats[i][1]
            if (first := joint.type.quaternion) is not None:
                qpos[self.starts[i] + first :][:4] = self._quaternion(i, values)
        return qpos

    def _quaternion(self, i: int, values: Any) -> Any:
        """Return w x y z of joint i from its own coordinates."""
        import mujoco as mj

        joint = self.mechanism.joints[i]
        first = joint.type.quaternion or 0
        quaternion, seat = np.roll(values[first : first + 4], 1), np.zeros(4)
        if _flies(joint):
            mj.mju_mat2Quat(seat, np.ascontiguousarray(self.seats[i][0]).ravel())
            mj.mju_mulQuat(quaternion, seat, quaternion.copy())
        return quaternion

    def _turn(self, i: int, values: Any) -> Any:
        """Return R (3, 3) from the body's axes to the axes along which MuJoCo counts."""
        import mujoco as mj

        if self.mechanism.joints[i].type.quaternion is not None:
            flat = np.zeros(9)
            mj.mju_quat2Mat(flat, self._quaternion(i, values))
            return flat.reshape(3, 3)
        c, s = np.cos(values[-1]), np.sin(values[-1])
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])

    def velocity_transform(self, q: Any) -> tuple[Any, list[tuple[Any, Any, Any]]]:
        """Return T (nv, nv), and for each joint that slides freely its velocities, their axes, and which of them slide."""
        transform, sliding_joints = np.eye(len(self.order)), []
        mechanism = self.mechanism
        for i, joint in enumerate(mechanism.joints):
            kind = joint.type
            if kind.along is None or not kind.slides:
                continue
            entries, along = np.arange(len(self.order))[mechanism.v_slices[i]], np.array(kind.along)
            slides = np.array([velocity.unit == "m" for velocity in kind.velocities])
            R = self._turn(i, np.array(q[mechanism.q_slices[i]], dtype=float))
            transform[np.ix_(entries[slides], entries[slides])] = R[
                np.ix_(along[slides], along[slides])
            ]
            sliding_joints.append((entries, along, slides))
        return transform, sliding_joints

    def _drift(self, sliding_joints: Any, v: Any) -> Any:
        """Return (ω × v, 0) of each joint (nv,), in the axes of its body."""
        drift = np.zeros(len(self.order))
        for entries, along, slides in sliding_joints:
            spin, shift = np.zeros(3), np.zeros(3)
            spin[along[~slides]], shift[along[slides]] = v[entries[~slides]], v[entries[slides]]
            drift[entries[slides]] = np.cross(spin, shift)[along[slides]]
        return drift

    def state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return a state in MuJoCo's order and axes."""
        turn, sliding_joints = self.velocity_transform(state["q"])
        converted = {
            name: self.position(x)
            if name in POSITIONS
            else self.velocity(turn @ x)
            if np.shape(x) == (len(turn),)
            else x
            for name, x in state.items()
        }
        if "a" in state:
            converted["a"] = self.velocity(
                turn @ (state["a"] + self._drift(sliding_joints, state["v"]))
            )
        return converted

    def ours(self, function: str, state: Mapping[str, Any], answer: Any) -> Any:
        """Return inverse or forward dynamics, or a matrix, in symgen's axes. A bias force is an inverse dynamics at zero acceleration."""
        values, (turn, sliding_joints) = (
            super().ours(function, state, answer),
            self.velocity_transform(state["q"]),
        )
        if values.ndim == 2:
            return turn.T @ values @ turn
        return turn.T @ values - (
            self._drift(sliding_joints, state["v"]) if function == "forward_dynamics" else 0.0
        )


def places(mechanism: Mechanism, model: Any) -> Places:
    """Return the positions for a MuJoCo model whose first joint of each of symgen's joints has its name."""
    joints = [model.joint(joint.name) for joint in mechanism.joints]
    return MujocoPlaces(
        mechanism,
        model.nq,
        [int(joint.qposadr[0]) for joint in joints],
        [joint.type.nq for joint in mechanism.joints],
        [int(joints[i].dofadr[0]) + k for i, k in mechanism.dofs],
    )


def built(mechanism: Mechanism) -> Any:
    """Return MuJoCo's model of a mechanism, without contacts and constraints. RequestError if it cannot represent it."""
    import mujoco as mj

    mixed = any(
        len({part.gravcomp for part in body.parts if part.mass}) > 1 for body in mechanism.bodies
    )
    refuse_drives(
        mechanism, "MuJoCo", ("friction", *(["gravcomp"] if mixed else []))
    )  # its friction sticks
    reference, spec = Reference(mechanism), mj.MjSpec()
    spec.compiler.degree = False  # of a spring's rest
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
    """Add a body to its parent in MuJoCo's specification, with the joint that carries it and the joint's drive."""
    import mujoco as mj

    rotation, origin = reference.pose(joint.pose)
    quaternion = np.zeros(4)
    mj.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    body = parent.add_body(name=name, pos=origin, quat=quaternion)
    for joint_name, (kind, axis) in zip((joint.name, *[""] * 3), _joints(mj, joint), strict=False):
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
    """State mass, mass centre, inertia and gravity compensation of a body: those of all its parts together."""
    mass = sum(float(part.mass) for part in parts)
    moment = sum((float(part.mass) * np.asarray(part.centre) for part in parts), np.zeros(3))
    centre = moment / (mass or 1.0)
    tensor = np.zeros((3, 3))
    for part in parts:
        d = np.asarray(part.centre) - centre
        steiner = float(part.mass) * (d @ d * np.eye(3) - np.outer(d, d))
        tensor += np.asarray(part.inertia) + steiner
    body.mass, body.ipos, body.explicitinertial = mass, centre, True
    body.gravcomp = max((float(part.gravcomp) for part in parts if part.gravcomp), default=0.0)
    body.fullinertia = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def peer(mechanism: Mechanism) -> Peer:
    """Return MuJoCo as a peer: mj_inverse and mj_forward, with inputs in place."""
    import mujoco as mj

    model = built(mechanism)

    def prepared(state: dict[str, Any]) -> Any:
        data = mj.MjData(model)
        data.qpos, data.qvel = state["q"], state["v"]
        return data

    def inverse(state: dict[str, Any]) -> Call:
        data = prepared(state)
        data.qacc = state["a"]

        def call() -> Any:
            mj.mj_inverse(model, data)
            return data.qfrc_inverse

        return call

    def forward(state: dict[str, Any]) -> Call:
        data = prepared(state)
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

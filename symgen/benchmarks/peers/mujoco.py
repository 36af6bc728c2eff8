"""MuJoCo, whose joints of several coordinates are made of its slides, hinges and balls, or its free joint on the base."""

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
    """(type, axis) of the joints that MuJoCo has for one of ours, from the parent on; RequestError for a screw."""
    kinds, axis, frame = mj.mjtJoint, unit(joint), np.eye(3)
    if _flies(joint):
        return [(kinds.mjJNT_FREE, axis)]
    if len({step.of for step in joint.motions}) < len(
        joint.motions
    ):  # one coordinate turns and slides
        raise refusal(joint, "MuJoCo")
    found: list[tuple[Any, Any]] = []
    for step in joint.motions:
        match step:
            case Turning(_, 1):
                found.append((kinds.mjJNT_HINGE, axis))
            case Sliding(_, 1):
                found.append((kinds.mjJNT_SLIDE, axis))
            case Placing():
                found += [(kinds.mjJNT_SLIDE, frame[k]) for k in range(step.axes)]
            case Orienting():
                found.append((kinds.mjJNT_BALL, axis))
            case _:
                raise refusal(joint, "MuJoCo")
    return found


def _flies(joint: Joint) -> bool:
    """Whether it is MuJoCo's free joint, which stands on the base alone; elsewhere three slides and a ball do the same."""
    return joint.parent == BASE and joint.motions == (Placing(0), Orienting(3))


class MujocoPlaces(Places):
    """MuJoCo's quaternions are w x y z. What a joint slides freely by, it counts along the axes of the joint's frame, or of the
    base for its free joint, whose place and quaternion are in the base as well; we count along the axes of the body.

    So its velocities are T v with T = diag(R, 1) a joint, orthogonal, its accelerations T a + T (ω × v, 0), its forces T τ.
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
        found = super().position(q)
        for i, (joint, own) in enumerate(
            zip(self.mechanism.joints, self.mechanism.q_slices, strict=True)
        ):
            values = np.array(q[own], dtype=float)
            if _flies(joint):
                found[self.starts[i] :][:3] = self.seats[i][0] @ values[:3] + self.seats[i][1]
            if (first := joint.type.quaternion) is not None:
                found[self.starts[i] + first :][:4] = self._quaternion(i, values)
        return found

    def _quaternion(self, i: int, values: Any) -> Any:
        """w x y z of joint i, from its own coordinates."""
        import mujoco as mj

        joint = self.mechanism.joints[i]
        first = joint.type.quaternion or 0
        found, seat = np.roll(values[first : first + 4], 1), np.zeros(4)
        if _flies(joint):
            mj.mju_mat2Quat(seat, np.ascontiguousarray(self.seats[i][0]).ravel())
            mj.mju_mulQuat(found, seat, found.copy())
        return found

    def _turn(self, i: int, values: Any) -> Any:
        """R (3, 3) from the body's axes to those that MuJoCo counts along."""
        import mujoco as mj

        if self.mechanism.joints[i].type.quaternion is not None:
            flat = np.zeros(9)
            mj.mju_quat2Mat(flat, self._quaternion(i, values))
            return flat.reshape(3, 3)
        c, s = np.cos(values[-1]), np.sin(values[-1])
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])

    def turned(self, q: Any) -> tuple[Any, list[tuple[Any, Any, Any]]]:
        """T (nv, nv); and of each joint that slides freely: which velocities do, and which turn, and their axes."""
        whole, parts = np.eye(len(self.order)), []
        mechanism = self.mechanism
        for i, joint in enumerate(mechanism.joints):
            kind = joint.type
            if kind.along is None or not kind.slides:
                continue
            own, along = np.arange(len(self.order))[mechanism.v_slices[i]], np.array(kind.along)
            slides = np.array([velocity.unit == "m" for velocity in kind.velocities])
            R = self._turn(i, np.array(q[mechanism.q_slices[i]], dtype=float))
            whole[np.ix_(own[slides], own[slides])] = R[np.ix_(along[slides], along[slides])]
            parts.append((own, along, slides))
        return whole, parts

    def _drift(self, parts: Any, v: Any) -> Any:
        """(ω × v, 0) of each joint (nv,), in the axes of its body."""
        found = np.zeros(len(self.order))
        for own, along, slides in parts:
            spin, shift = np.zeros(3), np.zeros(3)
            spin[along[~slides]], shift[along[slides]] = v[own[~slides]], v[own[slides]]
            found[own[slides]] = np.cross(spin, shift)[along[slides]]
        return found

    def state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        turn, parts = self.turned(state["q"])
        found = {
            name: self.position(x)
            if name in POSITIONS
            else self.velocity(turn @ x)
            if np.shape(x) == (len(turn),)
            else x
            for name, x in state.items()
        }
        if "a" in state:
            found["a"] = self.velocity(turn @ (state["a"] + self._drift(parts, state["v"])))
        return found

    def ours(self, function: str, state: Mapping[str, Any], answer: Any) -> Any:
        """Of inverse and forward dynamics, and of matrices. A bias force is an inverse dynamics at no acceleration of ours."""
        found, (turn, parts) = super().ours(function, state, answer), self.turned(state["q"])
        if found.ndim == 2:
            return turn.T @ found @ turn
        return turn.T @ found - (
            self._drift(parts, state["v"]) if function == "forward_dynamics" else 0.0
        )


def places(mechanism: Mechanism, model: Any) -> Places:
    """Of a MuJoCo model that has the first joint of each of ours under its name."""
    joints = [model.joint(joint.name) for joint in mechanism.joints]
    return MujocoPlaces(
        mechanism,
        model.nq,
        [int(joint.qposadr[0]) for joint in joints],
        [joint.type.nq for joint in mechanism.joints],
        [int(joints[i].dofadr[0]) + k for i, k in mechanism.dofs],
    )


def built(mechanism: Mechanism) -> Any:
    """MuJoCo's model of a mechanism, without contacts and constraints. RequestError for what it does not hold."""
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
    """MuJoCo: mj_inverse and mj_forward, its inputs already in place."""
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

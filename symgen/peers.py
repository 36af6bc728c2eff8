"""The same robot in other libraries, for `symgen bench`: built joint by joint from the Mechanism, called from Python.

A peer answers with `calls(function, states)`: one closure a state, doing only what its own user would call. Peers are
optional; one that is not installed, or that cannot hold the robot, is left out with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgen.errors import RequestError
from symgen.mechanism import BASE, Mechanism
from symgen.reference import Reference

Call = Callable[[], Any]
States = list[dict[str, Any]]


@dataclass(frozen=True)
class Peer:
    """`functions` maps our name to (label, maker): maker(state) gives the call, whose value is the answer.

    `order[i]` is the place of our joint i in the peer's vectors: both peers count a branch to its end before the next.
    """

    name: str
    version: str
    order: Any
    functions: Mapping[str, tuple[str, Callable[[dict[str, Any]], Call]]]

    def calls(self, function: str, states: States) -> list[Call]:
        """One call a state, its numbers already in the peer's order."""
        make, places = self.functions[function][1], np.argsort(self.order)
        return [make({name: np.ascontiguousarray(values[places]) for name, values in state.items()}) for state in states]

    def ours(self, answer: Any) -> Any:
        """A peer's answer in our joint order; of a symmetric matrix it may hold the upper triangle alone."""
        found = np.array(answer)
        if found.ndim == 1:
            return found[self.order]
        return (np.triu(found) + np.triu(found, 1).T)[np.ix_(self.order, self.order)]


def _branch_by_branch(mechanism: Mechanism) -> list[int]:
    """Our joints, each branch to its end before the next."""
    found: list[int] = []
    waiting = list(reversed(mechanism.children(BASE)))
    while waiting:
        found.append(waiting.pop())
        waiting += reversed(mechanism.children(found[-1]))
    return found


def _unit(joint: Any) -> Any:
    axis = np.array([float(c) for c in joint.axis])
    return axis / np.linalg.norm(axis)


def pinocchio(mechanism: Mechanism) -> Peer:
    """Pinocchio: each call fills the model's data, as its Python interface offers it."""
    import pinocchio as pin

    reference, model = Reference(mechanism), pin.Model()
    model.gravity.linear = np.array([float(g) for g in mechanism.gravity])
    aligned = {"revolute": (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
               "prismatic": (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ)}
    general = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
    ids = {BASE: 0}
    for index in _branch_by_branch(mechanism):
        joint = mechanism.joints[index]
        axis, kind = _unit(joint), "revolute" if joint.kind == "continuous" else joint.kind
        if kind not in general:
            raise RequestError(f"joints of type {kind} are not built for Pinocchio here")
        along = np.flatnonzero(axis == 1.0)
        moved = aligned[kind][int(along[0])]() if len(along) else general[kind](axis)   # as its URDF reader chooses
        ids[index] = model.addJoint(ids[joint.parent], moved, pin.SE3(*reference.pose(joint.pose)), joint.name)
    for part in reference.parts():
        inertia = pin.Inertia(float(part.mass), np.asarray(part.centre), np.asarray(part.inertia))
        model.appendBodyToJoint(ids[part.body], inertia, pin.SE3.Identity())
    data = model.createData()

    def maker(algorithm: Callable[..., Any], *names: str) -> Callable[[dict[str, Any]], Call]:
        def make(state: dict[str, Any]) -> Call:
            arguments = [state[name] for name in names]
            return lambda: algorithm(model, data, *arguments)
        return make

    order = np.array([model.joints[ids[index]].idx_v for index in range(mechanism.nv)])
    return Peer("pinocchio", pin.__version__, order, {
        "inverse_dynamics": ("rnea", maker(pin.rnea, "q", "v", "a")),
        "forward_dynamics": ("aba", maker(pin.aba, "q", "v", "tau")),
        "mass_matrix": ("crba", maker(pin.crba, "q")),
        "bias_force": ("nonLinearEffects", maker(pin.nonLinearEffects, "q", "v")),
        "gravity_force": ("computeGeneralizedGravity", maker(pin.computeGeneralizedGravity, "q")),
        "inverse_mass_matrix": ("computeMinverse", maker(pin.computeMinverse, "q")),
    })


def mujoco(mechanism: Mechanism) -> Peer:
    """MuJoCo: mj_inverse and mj_forward, with contacts and constraints switched off, its inputs already in place."""
    import mujoco as mj

    reference, spec = Reference(mechanism), mj.MjSpec()
    spec.option.gravity = [float(g) for g in mechanism.gravity]
    spec.option.disableflags = int(mj.mjtDisableBit.mjDSBL_CONTACT) | int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    bodies: list[Any] = []
    for joint, body in zip(mechanism.joints, mechanism.bodies, strict=True):
        rotation, origin = reference.pose(joint.pose)
        quaternion = np.zeros(4)
        mj.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
        parent = spec.worldbody if joint.parent < 0 else bodies[joint.parent]
        bodies.append(parent.add_body(name=body.name, pos=origin, quat=quaternion))
        kind = mj.mjtJoint.mjJNT_SLIDE if joint.kind == "prismatic" else mj.mjtJoint.mjJNT_HINGE
        bodies[-1].add_joint(name=joint.name, type=kind, axis=_unit(joint))
    for index, body in enumerate(bodies):
        parts = [part for part in reference.parts() if part.body == index]
        mass = sum(float(p.mass) for p in parts)
        centre = sum((float(p.mass) * np.asarray(p.centre) for p in parts), np.zeros(3)) / (mass or 1.0)
        tensor = np.zeros((3, 3))
        for p in parts:
            d = np.asarray(p.centre) - centre
            tensor += np.asarray(p.inertia) + float(p.mass) * (d @ d * np.eye(3) - np.outer(d, d))
        body.mass, body.ipos, body.explicitinertial = mass, centre, True
        body.fullinertia = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    try:
        model = spec.compile()
    except ValueError as error:
        raise RequestError(f"MuJoCo refuses the robot: {' '.join(str(error).split())}") from None

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

    functions = {"inverse_dynamics": ("mj_inverse", inverse), "forward_dynamics": ("mj_forward", forward)}
    order = np.array([int(model.joint(joint.name).dofadr[0]) for joint in mechanism.joints])
    return Peer("mujoco", mj.__version__, order, functions)


PEERS: dict[str, Callable[[Mechanism], Peer]] = {"pinocchio": pinocchio, "mujoco": mujoco}


def found(mechanism: Mechanism) -> tuple[list[Peer], dict[str, str]]:
    """(the peers that hold this robot, the others with the reason)."""
    present: list[Peer] = []
    absent: dict[str, str] = {}
    for name, build in PEERS.items():
        try:
            present.append(build(mechanism))
        except ImportError:
            absent[name] = "not installed"
        except RequestError as error:
            absent[name] = str(error)
        except Exception as error:  # a peer's own trouble never ends ours
            absent[name] = f"{type(error).__name__}: {error}"
    return present, absent

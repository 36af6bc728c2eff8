"""Pinocchio as a peer: q, v, a and forces of a joint are symgen's, except that a planar angle is a
cosine and a sine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symgen.benchmarks.peers._peer import Call, Peer, Places, refusal, refuse_drives, unit
from symgen.mechanism.joints import Orienting, Placing, Sliding, Turning
from symgen.mechanism.mechanism import BASE, Joint, Mechanism
from symgen.reference.mechanics import Reference


def _branch_by_branch(mechanism: Mechanism) -> list[int]:
    """Return symgen's joints, each branch to its end before the next."""
    joints: list[int] = []
    waiting = list(reversed(mechanism.children(BASE)))
    while waiting:
        joints.append(waiting.pop())
        waiting += reversed(mechanism.children(joints[-1]))
    return joints


def joint_model(pin: Any, joint: Joint) -> Any:
    """Return Pinocchio's model of a joint, that of its URDF reader if the reader knows the type."""
    aligned = {
        Turning: (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
        Sliding: (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
    }
    general = {Turning: pin.JointModelRevoluteUnaligned, Sliding: pin.JointModelPrismaticUnaligned}
    axis = unit(joint)
    along = np.flatnonzero(axis == 1.0)

    def single_axis_model(kind: type[Turning] | type[Sliding]) -> Any:
        return aligned[kind][int(along[0])]() if len(along) else general[kind](axis)

    match joint.motions:
        case (Turning(0, 1),):
            return single_axis_model(Turning)
        case (Sliding(0, 1),):
            return single_axis_model(Sliding)
        case (Turning(0, rate), Sliding(0, advance)):
            return pin.JointModelHelicalUnaligned(axis, float(advance / rate))
        case (Turning(0, 1), Sliding(1, 1)):
            composite = pin.JointModelComposite(single_axis_model(Turning))
            composite.addJoint(single_axis_model(Sliding))
            return composite
        case (Placing(0, 2), Turning(2, 1)):
            return pin.JointModelPlanar()
        case (Orienting(0),):
            return pin.JointModelSpherical()
        case (Placing(0, 3), Orienting(3)):
            return pin.JointModelFreeFlyer()
    raise refusal(joint, "Pinocchio")


def places(mechanism: Mechanism, model: Any, ids: Sequence[int]) -> Places:
    """Return the positions for a Pinocchio model in which joint i is joint `ids[i]`."""
    joints = [model.joints[index] for index in ids]
    return Places(
        mechanism,
        model.nq,
        [joint.idx_q for joint in joints],
        [joint.nq for joint in joints],
        [joints[i].idx_v + k for i, k in mechanism.dofs],
    )


def built(mechanism: Mechanism) -> tuple[Any, list[int]]:
    """Return Pinocchio's model of a mechanism, and the index in it of each joint.

    Raises RequestError for an unknown joint, and for forces of drives: its algorithms know only the
    armature.
    """
    import pinocchio as pin

    refuse_drives(mechanism, "Pinocchio", ("damping", "friction", "stiffness", "gravcomp"))

    reference, model = Reference(mechanism), pin.Model()
    model.gravity.linear = np.array([float(g) for g in mechanism.gravity])
    ids = {BASE: 0}
    for index in _branch_by_branch(mechanism):
        joint = mechanism.joints[index]
        seat = pin.SE3(*reference.pose(joint.pose))
        ids[index] = model.addJoint(ids[joint.parent], joint_model(pin, joint), seat, joint.name)
    for part in reference.parts():
        inertia = pin.Inertia(float(part.mass), np.asarray(part.centre), np.asarray(part.inertia))
        model.appendBodyToJoint(ids[part.body], inertia, pin.SE3.Identity())
    for index, joint in enumerate(mechanism.joints):
        first = model.joints[ids[index]].idx_v
        model.armature[first : first + joint.type.nv] = float(joint.drive.armature)
    return model, [ids[i] for i in range(len(mechanism.joints))]


def peer(mechanism: Mechanism) -> Peer:
    """Return Pinocchio as a peer: each call fills the data of the model, as its Python interface
    does.
    """
    import pinocchio as pin

    model, ids = built(mechanism)
    data = model.createData()

    def maker(algorithm: Callable[..., Any], *names: str) -> Callable[[dict[str, Any]], Call]:
        def make(state: dict[str, Any]) -> Call:
            arguments = [state[name] for name in names]
            return lambda: algorithm(model, data, *arguments)

        return make

    return Peer(
        "pinocchio",
        pin.__version__,
        places(mechanism, model, ids),
        {
            "inverse_dynamics": ("rnea", maker(pin.rnea, "q", "v", "a")),
            "forward_dynamics": ("aba", maker(pin.aba, "q", "v", "tau")),
            "mass_matrix": ("crba", maker(pin.crba, "q")),
            "bias_force": ("nonLinearEffects", maker(pin.nonLinearEffects, "q", "v")),
            "gravity_force": (
                "computeGeneralizedGravity",
                maker(pin.computeGeneralizedGravity, "q"),
            ),
            "inverse_mass_matrix": ("computeMinverse", maker(pin.computeMinverse, "q")),
            "inverse_dynamics_derivatives": (
                "computeRNEADerivatives",
                maker(pin.computeRNEADerivatives, "q", "v", "a"),
            ),
            "forward_dynamics_derivatives": (
                "computeABADerivatives",
                maker(pin.computeABADerivatives, "q", "v", "tau"),
            ),
        },
    )

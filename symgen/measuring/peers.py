"""The same robot in other libraries, for `symgen bench`: built joint by joint from the Mechanism, called from Python.

A peer answers with `calls(function, states)`: one closure a state, which does only what its own user would call. Peers are
optional. One that is not installed, or cannot hold the robot, is left out with the reason.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from symgen.errors import RequestError
from symgen.joints import Sliding, Turning
from symgen.machine.compilers import find_compiler
from symgen.mechanism import BASE, Joint, Mechanism
from symgen.reference.mechanics import Reference

Call = Callable[[], Any]
States = list[dict[str, Any]]


@dataclass(frozen=True)
class Peer:
    """`functions` maps our name to (label, maker). maker(state) gives the call, whose value is the answer.

    `order[i]` is the place of our joint i in the peer's vectors: peers count a branch to its end before the next. `alike` says
    which call of ours is comparable: "python", or "bound" to buffers.
    """

    name: str
    version: str
    order: Any
    functions: Mapping[str, tuple[str, Callable[[dict[str, Any]], Call]]]
    alike: str = "python"

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


def _pitch(joint: Joint, peer: str) -> float:
    """Of a screw; RequestError for what else moves in several ways."""
    match joint.about_axis:
        case (Turning(0, rate), Sliding(0, advance)):
            return float(advance / rate)
    raise RequestError(f"joints of type {joint.kind} are not built for {peer} here")


def _pinocchio_model(mechanism: Mechanism) -> tuple[Any, Any]:
    """(Pinocchio's model, the place of each of our joints in its vectors)."""
    import pinocchio as pin

    reference, model = Reference(mechanism), pin.Model()
    model.gravity.linear = np.array([float(g) for g in mechanism.gravity])
    aligned = {Turning: (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
               Sliding: (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ)}
    general = {Turning: pin.JointModelRevoluteUnaligned, Sliding: pin.JointModelPrismaticUnaligned}
    ids = {BASE: 0}
    for index in _branch_by_branch(mechanism):
        joint = mechanism.joints[index]
        axis = _unit(joint)
        along = np.flatnonzero(axis == 1.0)
        if len(joint.about_axis) == 1:
            kind = type(joint.about_axis[0])
            moved = aligned[kind][int(along[0])]() if len(along) else general[kind](axis)   # as its URDF reader chooses
        else:
            moved = pin.JointModelHelicalUnaligned(axis, _pitch(joint, "Pinocchio"))
        ids[index] = model.addJoint(ids[joint.parent], moved, pin.SE3(*reference.pose(joint.pose)), joint.name)
    for part in reference.parts():
        inertia = pin.Inertia(float(part.mass), np.asarray(part.centre), np.asarray(part.inertia))
        model.appendBodyToJoint(ids[part.body], inertia, pin.SE3.Identity())
    return model, np.array([model.joints[ids[index]].idx_v + k for index, k in mechanism.dofs])


def pinocchio(mechanism: Mechanism) -> Peer:
    """Pinocchio: each call fills the model's data, as its Python interface offers it."""
    import pinocchio as pin

    model, order = _pinocchio_model(mechanism)
    data = model.createData()

    def maker(algorithm: Callable[..., Any], *names: str) -> Callable[[dict[str, Any]], Call]:
        def make(state: dict[str, Any]) -> Call:
            arguments = [state[name] for name in names]
            return lambda: algorithm(model, data, *arguments)
        return make

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
        if len(joint.about_axis) != 1:
            raise RequestError(f"joints of type {joint.kind} are not built for MuJoCo here")
        kind = mj.mjtJoint.mjJNT_SLIDE if isinstance(joint.about_axis[0], Sliding) else mj.mjtJoint.mjJNT_HINGE
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


def casadi(mechanism: Mechanism) -> Peer:
    """CasADi: the C that it prints for Pinocchio's algorithms, compiled as ours is and called on buffers that are bound."""
    import casadi as ca
    import pinocchio.casadi as symbolic

    numeric, order = _pinocchio_model(mechanism)
    model = symbolic.Model(numeric)
    data = model.createData()
    symbols = {name: ca.SX.sym(name, mechanism.nv) for name in ("q", "v", "a", "tau")}

    def maker(label: str, *names: str) -> Callable[[dict[str, Any]], Call]:
        answer: list[Any] = []   # compiled when it is first asked for

        def make(state: dict[str, Any]) -> Call:
            if not answer:
                arguments = [symbols[name] for name in names]
                answer.append(_compiled(ca, label, arguments, getattr(symbolic, label)(model, data, *arguments)))
            return _on_buffers(answer[0], [state[name] for name in names])
        return make

    algorithms = {
        "inverse_dynamics": ("rnea", "q", "v", "a"), "forward_dynamics": ("aba", "q", "v", "tau"), "mass_matrix": ("crba", "q"),
        "bias_force": ("nonLinearEffects", "q", "v"), "gravity_force": ("computeGeneralizedGravity", "q"),
        "inverse_mass_matrix": ("computeMinverse", "q"),
    }
    functions = {ours: (f"casadi {label}", maker(label, *names)) for ours, (label, *names) in algorithms.items()}
    return Peer("casadi", version("casadi"), order, functions, alike="bound")


def _compiled(ca: Any, name: str, arguments: list[Any], result: Any) -> Any:
    """A CasADi function of its own C, at -O2."""
    with tempfile.TemporaryDirectory(prefix="symgen-casadi-") as folder:
        printer = ca.CodeGenerator(f"{name}.c")
        printer.add(ca.Function(name, arguments, [ca.densify(ca.SX(result))]))
        printer.generate(f"{folder}{os.sep}")
        library = f"{folder}{os.sep}{name}.so"
        command = [*find_compiler(), "-O2", "-fPIC", "-shared", f"{folder}{os.sep}{name}.c", "-o", library, "-lm"]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            raise RequestError(f"the C that CasADi prints for {name} does not compile")
        return ca.external(name, library)   # stays mapped after the folder is gone


def _on_buffers(function: Any, arguments: list[Any]) -> Call:
    """A call without copies: CasADi fills an array of ours. Its matrices stand column by column."""
    buffer, trigger = function.buffer()
    result = np.zeros(function.size_out(0), order="F")
    for index, values in enumerate(arguments):
        buffer.set_arg(index, values.data)
    buffer.set_res(0, result.T.data)
    flat = result[:, 0] if result.shape[1] == 1 else result

    def call() -> Any:
        trigger()
        return flat
    call.buffers = (buffer, arguments, result)  # type: ignore[attr-defined]   # CasADi keeps their addresses only
    return call


PEERS: dict[str, Callable[[Mechanism], Peer]] = {"pinocchio": pinocchio, "mujoco": mujoco, "casadi": casadi}


def found(mechanism: Mechanism) -> tuple[list[Peer], dict[str, str]]:
    """(the peers that hold this robot, the others with the reason)."""
    present: list[Peer] = []
    absent: dict[str, str] = {}
    for name, build in PEERS.items():
        try:
            present.append(build(mechanism))
        except ImportError as error:
            absent[name] = f"not installed ({error.name})" if error.name not in (None, name) else "not installed"
        except RequestError as error:
            absent[name] = str(error)
        except Exception as error:  # an error of a peer never ends the bench
            absent[name] = f"{type(error).__name__}: {error}"
    return present, absent

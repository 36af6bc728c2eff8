"""MuJoCo's word on an MJCF that it compiled itself, in symgen's numbers and order.

Both sides have bodies, armature, damping and springs. What symgen says it leaves out is taken from
MuJoCo's model as well: contacts and constraints, actuators, tendons' forces, fluids, the springs of
balls and free joints, terms of higher order. A free body whose frame MuJoCo would align with its
mass keeps the frame that is declared. The armature of a free joint is felt along its own axes here:
what it takes there is put beside by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import symgen
from symgen.benchmarks.peers.mujoco import MujocoPlaces
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from tests.judges.pinocchio_answers import ERRORS, Results, Word, _most, _relative_error

DRIVES = ("armature", "damping", "stiffness", "gravcomp")
"""Drives that both engines have; MuJoCo's friction sticks."""
JUDGED = (
    "inverse_dynamics",
    "mass_matrix",
    "bias_force",
    "forward_dynamics",
    "link_poses",
    "kinetic_energy",
    "potential_energy",
)


def compiled(source: Path | str) -> Any:
    """MuJoCo's model of a file or a text, without what symgen leaves out. ValueError where MuJoCo
    refuses it.
    """
    import mujoco as mj

    spec: Any = (
        mj.MjSpec.from_string(source)
        if isinstance(source, str)
        else mj.MjSpec.from_file(str(source))
    )
    spec.compiler.alignfree = False
    for joint in spec.joints:
        joint.align = mj.mjtAlignFree.mjALIGNFREE_FALSE
    model = spec.compile()
    for flag in ("CONTACT", "CONSTRAINT", "ACTUATION"):
        model.opt.disableflags |= int(getattr(mj.mjtDisableBit, f"mjDSBL_{flag}"))
    model.opt.density = model.opt.viscosity = 0
    for name in (
        "tendon_stiffness",
        "tendon_damping",
        "tendon_armature",
        "dof_dampingpoly",
        "jnt_stiffnesspoly",
        "tendon_stiffnesspoly",
        "tendon_dampingpoly",
        "actuator_armature",
        "actuator_damping",
        "jnt_springyield",
    ):
        if hasattr(model, name):
            getattr(model, name)[...] = 0
    unsprung = [int(mj.mjtJoint.mjJNT_FREE), int(mj.mjtJoint.mjJNT_BALL)]
    model.jnt_stiffness[np.isin(model.jnt_type, unsprung)] = 0
    return model


class Model:
    """A compiled model beside symgen's mechanism of the same file."""

    def __init__(self, model: Any, mechanism: Mechanism) -> None:
        import mujoco

        self.mj: Any = mujoco
        self.model, self.mechanism = model, mechanism
        if model.njnt != len(mechanism.joints):
            raise AssertionError(
                f"MuJoCo has {model.njnt} joints, and symgen {len(mechanism.joints)}"
            )
        for i, joint in enumerate(mechanism.joints):
            if model.joint(i).name not in ("", joint.name):
                raise AssertionError(f"joint {i} is {joint.name}, in MuJoCo {model.joint(i).name}")
        starts = [int(start) for start in model.jnt_qposadr]
        self.places = MujocoPlaces(
            mechanism,
            model.nq,
            starts,
            [joint.type.nq for joint in mechanism.joints],
            [int(model.jnt_dofadr[i]) + k for i, k in mechanism.dofs],
        )
        self.seats = [
            (frame.body, *Reference(mechanism).pose(frame.pose)) for frame in mechanism.frames
        ]
        self.weight = 9.81 * sum(float(body.mass) for body in mechanism.bodies)
        self.bodies = self._bodies()
        self.moving = np.zeros(model.nbody, dtype=bool)
        for i in range(
            1, model.nbody
        ):  # mocap bodies count as moved in MuJoCo, and no joint moves them
            self.moving[i] = model.body_dofnum[i] > 0 or self.moving[model.body_parentid[i]]

    def _bodies(self) -> list[int]:
        """MuJoCo's number of each of symgen's frames, -1 of those between the joints of one body:
        in the order of the file.
        """
        names = {self.model.body(i).name or f"body{i}": i for i in range(self.model.nbody)}
        return [names.get(frame.name, -1) for frame in self.mechanism.frames]


@dataclass
class FileWord(Word):
    """MuJoCo's answers at one state, in symgen's order and axes."""

    of: Any
    state: Mapping[str, Array] = field(default_factory=dict)

    @cached_property
    def theirs(self) -> Any:
        """(T, the drift of free velocities, MjData at q, v)."""
        of, state = self.of, self.state
        turn, velocity_parts = of.places.velocity_transform(state["q"])
        data = of.mj.MjData(of.model)
        data.qpos = of.places.position(state["q"])
        data.qvel = of.places.velocity(turn @ state["v"])
        of.mj.mj_forward(of.model, data)
        return turn, of.places.acceleration_offset(velocity_parts, state["v"]), data

    @cached_property
    def M(self) -> Array:
        turn, _, data = self.theirs
        dense = np.zeros((self.of.model.nv, self.of.model.nv))
        self.of.mj.mj_fullM(self.of.model, data, dense)
        order = self.of.places.order
        return np.asarray(turn.T @ dense[np.ix_(order, order)] @ turn)

    def _pushed(self, a: Array) -> Array:
        turn, drift, _ = self.theirs
        data = self.of.mj.MjData(self.of.model)
        data.qpos, data.qvel = self.theirs[2].qpos, self.theirs[2].qvel
        data.qacc = self.of.places.velocity(turn @ (a + drift))
        self.of.mj.mj_inverse(self.of.model, data)
        order = self.of.places.order
        rotors = np.where(drift != 0, self.of.model.dof_armature[order], 0.0) * drift
        return np.asarray(turn.T @ data.qfrc_inverse[order] - rotors)

    @cached_property
    def tau(self) -> Array:
        return self._pushed(self.state["a"])

    @cached_property
    def bias(self) -> Array:
        return self._pushed(0 * self.state["a"])

    @cached_property
    def bodies(self) -> list[tuple[Array, Array]]:
        data = self.theirs[2]
        return [(data.xmat[i].reshape(3, 3), data.xpos[i]) for i in range(self.of.model.nbody)]

    @cached_property
    def centre(self) -> Array:
        return np.array(self.theirs[2].subtree_com[0])

    @cached_property
    def energies(self) -> tuple[float, float]:
        """Kinetic, and that of the weight of what moves."""
        data, model = self.theirs[2], self.of.model
        self.of.mj.mj_energyVel(model, data)
        moving = self.of.moving
        gravity = model.opt.gravity * (
            not model.opt.disableflags & int(self.of.mj.mjtDisableBit.mjDSBL_GRAVITY)
        )
        return float(data.energy[1]), float(
            -(model.body_mass[moving] @ data.xipos[moving]) @ gravity
        )


def _pose_error(results: Results, word: FileWord) -> float:
    """Return the largest error of the poses of all bodies, fixed bodies included."""
    worst = 0.0
    for (body, turn, shift), body_index in zip(word.of.seats, word.of.bodies, strict=True):
        if body_index < 0:
            continue
        R, p = (
            (np.eye(3), np.zeros(3))
            if body == BASE
            else (results["R_links"][body], results["p_links"][body])
        )
        expected_turn, expected_position = word.bodies[body_index]
        worst = max(
            worst,
            _relative_error(R @ turn - expected_turn, 1.0),
            _relative_error(p + R @ shift - expected_position, max(1.0, _most(expected_position))),
        )
    return worst


def error(name: str, results: Results, word: FileWord) -> float:
    """Return the distance of a result from that of MuJoCo, as defined in `pinocchio_answers`."""
    return _pose_error(results, word) if name == "link_poses" else ERRORS[name](results, word)


def loaded(source: Path | str, **options: Any) -> Mechanism:
    """Return symgen's mechanism of a file or a text, without friction, and unsnapped unless `snap`
    is given.
    """
    return symgen.load(source, drives=DRIVES, **{"snap": "off", **options})

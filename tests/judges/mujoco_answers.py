"""MuJoCo's answers to functions from its mass matrix, inverse dynamics and Jacobians."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symgen.benchmarks.peers import mujoco as peer
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from tests.judges.pinocchio_answers import ERRORS, Word

OTHERS = (
    "link_accelerations",
    "interbody_forces",
    "mass_matrix_log_determinant_gradient",
    "bias_acceleration",
    "link_poses",
    "center_of_mass_jacobian",
    "kinetic_energy",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_rate",
    "integrate",
    "difference",
)
"""Functions that MuJoCo lacks or defines otherwise: it steps free bodies along the base's axes."""
JUDGED = tuple(name for name in ERRORS if name not in OTHERS)


class Model:
    """A MuJoCo model built joint by joint, spoken to in symgen's numbers, and a frame."""

    def __init__(self, mechanism: Mechanism, frame: str) -> None:
        import mujoco

        self.mj: Any = mujoco
        self.model = peer.built(mechanism)
        self.peer, self.places = peer.peer(mechanism), peer.places(mechanism, self.model)
        self.weight = 9.81 * sum(float(body.mass) for body in mechanism.bodies)
        on = mechanism.frame(frame)
        self.body = self.model.body(mechanism.bodies[on.body].name).id if on.body != BASE else 0
        self.seat = Reference(mechanism).pose(on.pose)


@dataclass
class MujocoWord(Word):
    """MuJoCo's answers at one state, in symgen's order and axes."""

    of: Any

    def _peer_answer(self, function: str, **changed: Array) -> Array:
        state = {name: self.state[name] for name in ("q", "v", "a", "tau")} | changed
        (call,) = self.of.peer.calls(function, [state])
        return np.array(self.of.peer.ours(function, state, call()))

    @cached_property
    def data(self) -> Any:
        data = self.of.mj.MjData(self.of.model)
        data.qpos = self.of.places.position(self.state["q"])
        self.of.mj.mj_forward(self.of.model, data)
        return data

    @cached_property
    def M(self) -> Array:
        mj, dense = self.of.mj, np.zeros((self.of.model.nv, self.of.model.nv))
        # up to 3.x mj_fullM reads the sparse inertia itself rather than the data
        mj.mj_fullM(self.of.model, dense, self.data.qM) if " M: " in str(
            mj.mj_fullM.__doc__
        ) else mj.mj_fullM(self.of.model, self.data, dense)
        return np.asarray(self.of.places.ours("mass_matrix", self.state, dense))

    @cached_property
    def bias(self) -> Array:
        return self._peer_answer("inverse_dynamics", a=0 * self.state["a"])

    @cached_property
    def gravity(self) -> Array:
        return self._peer_answer("inverse_dynamics", a=0 * self.state["a"], v=0 * self.state["v"])

    @cached_property
    def tau(self) -> Array:
        return self._peer_answer("inverse_dynamics")

    @cached_property
    def pose(self) -> tuple[Array, Array]:
        turn, position = self.data.xmat[self.of.body].reshape(3, 3), self.data.xpos[self.of.body]
        return turn @ self.of.seat[0], position + turn @ self.of.seat[1]

    @cached_property
    def centre(self) -> Array:
        return np.array(self.data.subtree_com[0])

    @cached_property
    def energies(self) -> tuple[float, float]:
        """The potential one alone is judged."""
        self.of.mj.mj_energyPos(self.of.model, self.data)
        return np.nan, float(self.data.energy[0])

    @cached_property
    def jacobian(self) -> Array:
        linear, angular = np.zeros((2, 3, self.of.model.nv))
        self.of.mj.mj_jac(self.of.model, self.data, linear, angular, self.pose[1], self.of.body)
        turn, _ = self.of.places.velocity_transform(self.state["q"])
        return np.asarray(np.concatenate([angular, linear])[:, self.of.places.order] @ turn)

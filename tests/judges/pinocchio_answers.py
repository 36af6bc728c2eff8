"""Pinocchio's answers to every function that symgen prints, and the errors of symgen's results.

The error of a sum is relative to the largest entry of the answer. The error of a solve with M is
the backward error, |M x − b| of |M||x| + |b| or |M X − 1| of |M||X|: a light finger on a heavy arm
makes the solution as uncertain as M is ill-conditioned. The error of a quantity made from M⁻¹ is
relative to its change when M changes by a relative round-off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from symgen.benchmarks.peers import pinocchio as peer
from symgen.mechanism.joints import Orienting, Placing
from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array

Results = Mapping[str, Array]
NO_WEIGHT = 1e-10
"""Least gravity torque, as a fraction of the weight at 1 m: gravity causes none about vertical
axes, and both sides round that zero.
"""


class Model:
    """A Pinocchio model, spoken to in symgen's numbers: its joint `ids[i]` is our joint i, and
    `frame` is a frame's number.
    """

    def __init__(self, model: Any, mechanism: Mechanism, ids: Sequence[int], frame: int) -> None:
        import pinocchio

        self.pin: Any = pinocchio
        self.model, self.ids, self.frame = model, list(ids), frame
        self.model.gravity.linear = np.array([float(x) for x in mechanism.gravity])
        self.weightless = self.model.copy()
        self.weightless.gravity.linear = np.zeros(3)
        self.data, self.light = self.model.createData(), self.weightless.createData()
        self.weight = 9.81 * sum(float(body.mass) for body in mechanism.bodies)
        self.places = peer.places(mechanism, self.model, self.ids)
        self.order, self.position, self.velocity = (
            self.places.order,
            self.places.position,
            self.places.velocity,
        )


ROOT = "root_joint"
"""Pinocchio's name of the joint between the world and a description's root."""


def read(text: str, mechanism: Mechanism, frame: str) -> Model:
    """Pinocchio's own reading of a URDF, by the names of its joints, and `frame` of its links.

    Where the first joint of the mechanism is a free one that the text does not have, the text is
    read on Pinocchio's free flyer.
    """
    import pinocchio

    ours = [joint.name for joint in mechanism.joints]
    model, first = pinocchio.buildModelFromXML(text), mechanism.joints[0]
    if first.name not in list(model.names) and first.motions == (Placing(0), Orienting(3)):
        model, ours[0] = pinocchio.buildModelFromXML(text, pinocchio.JointModelFreeFlyer()), ROOT
    ids = {name: i + 1 for i, name in enumerate(list(model.names)[1:])}
    if sorted(ids) != sorted(ours):
        raise AssertionError(f"the joints differ: {sorted(set(ids) ^ set(ours))}")
    frame_id = model.getFrameId(frame, pinocchio.FrameType.BODY)
    if frame_id >= model.nframes:
        raise AssertionError(f"Pinocchio has no link '{frame}'")
    return Model(model, mechanism, [ids[name] for name in ours], frame_id)


def built(mechanism: Mechanism, frame: str) -> Model:
    """Return a Pinocchio model built joint by joint from the declared mechanism, so that features
    that no URDF can declare are judged as well.
    """
    import pinocchio

    model, ids = peer.built(mechanism)
    on = mechanism.frame(frame)
    seat = pinocchio.SE3(*Reference(mechanism).pose(on.pose))
    body = ids[on.body] if on.body != BASE else 0
    number = model.addFrame(
        pinocchio.Frame(f"frame {frame}", body, 0, seat, pinocchio.FrameType.OP_FRAME)
    )
    return Model(model, mechanism, ids, number)


@dataclass
class Word:
    """Pinocchio's answers at one state, in symgen's order; each is computed at its first use."""

    of: Model
    state: Mapping[str, Array]

    @cached_property
    def q(self) -> Array:
        return self.of.position(self.state["q"])

    @cached_property
    def v(self) -> Array:
        return self.of.velocity(self.state["v"])

    @cached_property
    def M(self) -> Array:
        upper = np.triu(self.of.pin.crba(self.of.model, self.of.data, self.q))
        return np.asarray((upper + np.triu(upper, 1).T)[np.ix_(self.of.order, self.of.order)])

    @cached_property
    def inverse(self) -> Array:
        """NaN where M is singular."""
        try:
            return np.linalg.inv(self.M)
        except np.linalg.LinAlgError:
            return np.full(self.M.shape, np.nan)

    @cached_property
    def bias(self) -> Array:
        return np.array(self.of.pin.nonLinearEffects(self.of.model, self.of.data, self.q, self.v))[
            self.of.order
        ]

    @cached_property
    def gravity(self) -> Array:
        return np.array(self.of.pin.computeGeneralizedGravity(self.of.model, self.of.data, self.q))[
            self.of.order
        ]

    @cached_property
    def tau(self) -> Array:
        return self.pushed(self.state["a"])[0]

    @cached_property
    def acceleration(self) -> Array:
        full = self.of.pin.aba(
            self.of.model, self.of.data, self.q, self.v, self.of.velocity(self.state["tau"])
        )
        return np.array(full)[self.of.order]

    def pushed(self, a: Array) -> tuple[Array, Array]:
        """(tau, wrenches (bodies, 6) across the joints, moment first, in base axes at the joints'
        frames) of accelerations a.
        """
        of = self.of
        tau = np.array(of.pin.rnea(of.model, of.data, self.q, self.v, of.velocity(a)))[of.order]
        of.pin.forwardKinematics(of.model, of.light, self.q)
        turned = [(of.light.oMi[i].rotation, of.data.f[i]) for i in of.ids]
        return tau, np.array(
            [np.concatenate([turn @ f.angular, turn @ f.linear]) for turn, f in turned]
        )

    @cached_property
    def accelerations_of_frames(self) -> tuple[Array, Array]:
        """(ω̇, v̇) of every joint's frame (bodies, 6) and of the chosen frame (6,) at the
        acceleration that tau causes.
        """
        of = self.of
        of.pin.forwardKinematics(of.model, of.data, self.q, self.v, of.velocity(self.acceleration))
        of.pin.updateFramePlacements(of.model, of.data)
        aligned = of.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        joints = [of.pin.getClassicalAcceleration(of.model, of.data, i, aligned) for i in of.ids]
        tip = of.pin.getFrameClassicalAcceleration(of.model, of.data, of.frame, aligned)
        return np.array([_angular_first(twist) for twist in joints]), _angular_first(tip)

    @cached_property
    def pose(self) -> tuple[Array, Array]:
        self.of.pin.framesForwardKinematics(self.of.model, self.of.data, self.q)
        placed = self.of.data.oMf[self.of.frame]
        return placed.rotation.copy(), placed.translation.copy()

    @cached_property
    def jacobian(self) -> Array:
        aligned = self.of.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = self.of.pin.computeFrameJacobian(
            self.of.model, self.of.data, self.q, self.of.frame, aligned
        )
        J = J.reshape(6, -1)  # of one joint Pinocchio gives a vector
        return np.concatenate([J[3:], J[:3]])[:, self.of.order]

    @cached_property
    def stepped(self) -> Array:
        """q after dt, as Pinocchio has it."""
        return np.array(
            self.of.pin.integrate(self.of.model, self.q, self.v * float(self.state["dt"]))
        )

    @cached_property
    def gone(self) -> Array:
        """The way from q to q_next, as Pinocchio has it, in our order."""
        reached = self.of.position(self.state["q_next"])
        return np.array(self.of.pin.difference(self.of.model, self.q, reached))[self.of.order]

    @cached_property
    def placements(self) -> tuple[Array, Array]:
        """Axes (bodies, 3, 3) and origins (bodies, 3) of every joint's frame."""
        self.of.pin.forwardKinematics(self.of.model, self.of.data, self.q)
        placements = [self.of.data.oMi[i] for i in self.of.ids]
        return np.array([placement.rotation.copy() for placement in placements]), np.array(
            [placement.translation.copy() for placement in placements]
        )

    @cached_property
    def drift(self) -> Array:
        """(ω̇, v̇) of the frame (6,) where no velocity changes."""
        of = self.of
        of.pin.forwardKinematics(of.model, of.data, self.q, self.v, 0 * self.v)
        aligned = of.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return _angular_first(
            of.pin.getFrameClassicalAcceleration(of.model, of.data, of.frame, aligned)
        )

    @cached_property
    def centre(self) -> Array:
        return np.array(self.of.pin.centerOfMass(self.of.model, self.of.data, self.q))

    @cached_property
    def centre_jacobian(self) -> Array:
        jacobian = self.of.pin.jacobianCenterOfMass(self.of.model, self.of.data, self.q)
        return np.array(jacobian).reshape(3, -1)[:, self.of.order]

    @cached_property
    def energies(self) -> tuple[float, float]:
        """Kinetic and potential."""
        of = self.of
        return (
            float(of.pin.computeKineticEnergy(of.model, of.data, self.q, self.v)),
            float(of.pin.computePotentialEnergy(of.model, of.data, self.q)),
        )

    @cached_property
    def momentum(self) -> tuple[Array, Array, Array]:
        """h (6,), A_G (6, NV) and dh/dt (6,), about the mass centre."""
        of = self.of
        h = _angular_first(of.pin.computeCentroidalMomentum(of.model, of.data, self.q, self.v))
        turned = np.array(of.pin.ccrba(of.model, of.data, self.q, self.v)).reshape(6, -1)
        a = of.velocity(self.state["a"])
        rate = _angular_first(
            of.pin.computeCentroidalMomentumTimeVariation(of.model, of.data, self.q, self.v, a)
        )
        return h, np.concatenate([turned[3:], turned[:3]])[:, of.order], rate

    @cached_property
    def levers(self) -> float:
        """The largest row sum of any joint frame's Jacobian."""
        of = self.of
        of.pin.computeJointJacobians(of.model, of.data, self.q)
        aligned = of.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        levers = [
            np.abs(of.pin.getJointJacobian(of.model, of.data, i, aligned).reshape(6, -1))
            .sum(axis=1)
            .max()
            for i in of.ids
        ]
        return float(max([*levers, np.abs(self.jacobian).sum(axis=1).max()]))

    @cached_property
    def mass_matrix_derivatives(self) -> Array:
        """∂M/∂q_i (i, j, k): derivatives of M(q) e_k, inverse dynamics at rest without gravity."""
        of, still = self.of, np.zeros(self.of.model.nv)
        columns = []
        for k in range(of.model.nv):
            unit = of.velocity(np.eye(of.model.nv)[k])
            of.pin.computeRNEADerivatives(of.weightless, of.light, self.q, still, unit)
            columns.append(np.array(of.light.dtau_dq)[np.ix_(of.order, of.order)])  # (j, i)
        return np.moveaxis(np.array(columns), (0, 1, 2), (2, 1, 0))

    # -- sizes -------------------------------------------------------------------------------------

    @cached_property
    def forces(self) -> float:
        """|M||a| + |c| + |tau|."""
        return (
            _rows(self.M) * _most(self.acceleration) + _most(self.bias) + _most(self.state["tau"])
        )

    @cached_property
    def roots(self) -> Array:
        """√(M_jj M_kk): an entry of M is known to that times the unit of round-off."""
        diagonal = np.sqrt(np.diagonal(self.M))
        return np.outer(diagonal, diagonal)

    def weighed(self, answer: Array) -> float:
        """Return the largest entry, or the weight at 1 m if the entry is negligible compared with
        the weight.
        """
        return _most(answer) if _most(answer) > NO_WEIGHT * self.of.weight else self.of.weight

    @cached_property
    def momenta(self) -> float:
        """Return the largest entry of A_G, or the weight at the longest lever if that entry is
        negligible compared with it.

        A rod that rotates about its own axis has no momentum; the entries of Pinocchio are then
        round-off of the rod's position.
        """
        largest, momentum_of_weight = _most(self.momentum[1]), _heavy(self) * self.levers
        return largest if largest > NO_WEIGHT * momentum_of_weight else momentum_of_weight


def _angular_first(motion: Any) -> Array:
    return np.concatenate([motion.angular, motion.linear])


def _most(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


def _rows(matrix: Array) -> float:
    return float(np.abs(matrix).sum(axis=-1).max(initial=0.0))


def _relative_error(difference: Array, size: float) -> float:
    """Return the relative error: 0 for an error of 0, and infinity for a result that is not a
    number.
    """
    error = _most(difference)
    if error == 0:
        return 0.0
    quotient = error / size if size > 0 else math.inf
    return quotient if quotient == quotient else math.inf


def _solved(word: Word, x: Array, b: Array, size: float) -> float:
    return _relative_error(word.M @ x - b, _rows(word.M) * _most(x) + size)


def _forward(word: Word, a: Array) -> float:
    tau = word.state["tau"]
    return _solved(word, a, tau - word.bias, _most(tau) + _most(word.bias))


def _inverse(results: Results, word: Word) -> float:
    return _relative_error(
        word.M @ results["Minv"] - np.eye(len(word.M)), _rows(word.M) * _rows(results["Minv"])
    )


def _log_size(word: Word) -> float:
    log_bounds = np.maximum(
        np.abs(np.log(np.diagonal(word.M))), np.abs(np.log(np.abs(np.diagonal(word.inverse))))
    )
    return float(log_bounds.sum() + (np.abs(word.inverse) * word.roots).sum())


def _determinant(results: Results, word: Word) -> float:
    sign, logarithm = np.linalg.slogdet(word.M)
    det = sign * math.exp(logarithm)
    size = abs(det) * float((np.abs(word.inverse) * word.roots).sum())
    return _relative_error(
        results["det"] - det, size if np.isfinite(size) else float(np.prod(np.diagonal(word.M)))
    )  # Hadamard's bound


def _gradient(results: Results, word: Word) -> float:
    inverse, mass_derivatives = word.inverse, word.mass_matrix_derivatives
    gradient = np.einsum("jk,ikj->i", inverse, mass_derivatives)
    inherited = np.einsum(
        "ijk,jk->i", np.abs(inverse @ mass_derivatives @ inverse), word.roots
    ).max()
    return _relative_error(
        results["grad"] - gradient,
        2 * float((np.abs(inverse) * word.roots).sum()) + float(inherited),
    )


def _mobility(results: Results, word: Word) -> float:
    lever = word.jacobian @ word.inverse
    size = _rows(word.M) * _rows(lever) ** 2 + 2 * _rows(word.jacobian) * _rows(lever)
    return _relative_error(results["Lambda_inv"] - lever @ word.jacobian.T, size)


def _links(results: Results, word: Word) -> float:
    links, tip = word.accelerations_of_frames
    size = word.levers * _rows(word.inverse) * word.forces + max(_most(links), _most(tip))
    return max(
        _relative_error(results["alpha"] - links, size),
        _relative_error(results["alpha_tip"] - tip, size),
    )


def _interbody(results: Results, word: Word) -> float:
    """F belongs to the accelerations that come with it, and these to tau."""
    _, wrenches = word.pushed(results["a"])
    size = _most(wrenches) + _rows(word.M) * _rows(word.inverse) * word.forces
    return max(_relative_error(results["F"] - wrenches, size), _forward(word, results["a"]))


def _kinematics(results: Results, word: Word) -> float:
    turn, position = word.pose
    return max(
        _relative_error(results["R"] - turn, 1.0),
        _relative_error(results["p"] - position, max(1.0, _most(position))),
    )


def _poses(results: Results, word: Word) -> float:
    turns, positions = word.placements
    return max(
        _relative_error(results["R_links"] - turns, 1.0),
        _relative_error(results["p_links"] - positions, max(1.0, _most(positions))),
    )


def _swung(word: Word) -> float:
    """(levers |v|)², the size of an acceleration that velocities cause; a unit lever for what
    turns.
    """
    return (1 + word.levers) * (word.levers * _most(word.state["v"])) ** 2


def _heavy(word: Word) -> float:
    """The weight at the height of the mass centre, or at 1 m."""
    return word.of.weight * max(1.0, _most(word.centre))


def _momentum_rate(results: Results, word: Word) -> float:
    _, matrix, rate = word.momentum
    return _relative_error(
        results["hdot"] - rate,
        _rows(matrix) * _most(word.state["a"]) + word.of.weight * _swung(word),
    )


def _blurred(mechanism: Mechanism, step: Array) -> bool:
    """True if a planar joint turns little beside its slide: Pinocchio divides by the turn, and is
    no judge there.
    """
    planar = [
        step[v_slice]
        for joint, v_slice in zip(mechanism.joints, mechanism.v_slices, strict=True)
        if joint.kind == "planar"
    ]
    return any(0 < abs(turn) < 1e-3 * max(abs(x), abs(y)) for x, y, turn in planar)


def _stepped(results: Results, word: Word) -> float:
    """Compare quaternions up to sign: Pinocchio returns the sign that is nearer to the start."""
    of, theirs = word.of, word.stepped
    if _blurred(of.places.mechanism, word.state["v"] * word.state["dt"]):
        return 0.0
    ours = of.position(results["q_next"])
    for start, joint in zip(of.places.starts, of.places.mechanism.joints, strict=True):
        for v_slice in (
            slice(start + motion.of, start + motion.of + 4)
            for motion in joint.motions
            if isinstance(motion, Orienting)
        ):
            ours[v_slice] *= 1.0 if ours[v_slice] @ theirs[v_slice] > 0 else -1.0
    path_length = 1 + float(np.abs(word.state["v"] * word.state["dt"]).sum())
    return _relative_error(ours - theirs, _most(word.state["q"]) + path_length * path_length)


def _difference(results: Results, word: Word) -> float:
    """Compare angles of continuous joints up to whole turns, which Pinocchio does not count."""
    mechanism, missed = word.of.places.mechanism, np.array(results["delta"] - word.gone)
    if _blurred(mechanism, results["delta"]):
        return 0.0
    for joint, v_slice in zip(mechanism.joints, mechanism.v_slices, strict=True):
        if joint.kind == "continuous":
            missed[v_slice] -= 2 * np.pi * np.round(missed[v_slice] / (2 * np.pi))
    return _relative_error(missed, 1 + _most(word.state["q"]) + _most(word.state["q_next"]))


ERRORS: dict[str, Callable[[Results, Word], float]] = {
    "inverse_dynamics": lambda results, word: _relative_error(
        results["tau"] - word.tau, word.weighed(word.tau)
    ),
    "forward_dynamics": lambda results, word: _forward(word, results["a"]),
    "bias_force": lambda results, word: _relative_error(
        results["c"] - word.bias, word.weighed(word.bias)
    ),
    "gravity_force": lambda results, word: _relative_error(
        results["g"] - word.gravity, word.weighed(word.gravity)
    ),
    "mass_matrix": lambda results, word: _relative_error(results["M"] - word.M, _most(word.M)),
    "mass_matrix_and_bias": lambda results, word: max(
        _relative_error(results["M"] - word.M, _most(word.M)),
        _relative_error(results["c"] - word.bias, word.weighed(word.bias)),
    ),
    "inverse_mass_matrix": _inverse,
    "mass_matrix_solve": lambda results, word: _solved(
        word, results["x"], word.state["b"], _most(word.state["b"])
    ),
    "mass_matrix_determinant": _determinant,
    "mass_matrix_log_determinant": lambda results, word: _relative_error(
        results["logdet"] - np.linalg.slogdet(word.M)[1], _log_size(word)
    ),
    "mass_matrix_log_determinant_gradient": _gradient,
    "operational_inertia_inverse": _mobility,
    "link_accelerations": _links,
    "interbody_forces": _interbody,
    "forward_kinematics": _kinematics,
    "jacobian": lambda results, word: _relative_error(
        results["J"] - word.jacobian, max(1.0, _most(word.jacobian))
    ),
    "bias_acceleration": lambda results, word: _relative_error(
        results["Jdot_v"] - word.drift, max(_most(word.drift), _swung(word))
    ),
    "link_poses": _poses,
    "center_of_mass": lambda results, word: _relative_error(
        results["com"] - word.centre, max(1.0, _most(word.centre))
    ),
    "center_of_mass_jacobian": lambda results, word: _relative_error(
        results["Jcom"] - word.centre_jacobian, max(1.0, word.levers)
    ),
    "kinetic_energy": lambda results, word: _relative_error(
        results["T"] - word.energies[0], word.energies[0]
    ),
    "potential_energy": lambda results, word: _relative_error(
        results["U"] - word.energies[1], _heavy(word)
    ),
    "centroidal_momentum": lambda results, word: _relative_error(
        results["h"] - word.momentum[0],
        max(_rows(word.momentum[1]), word.momenta) * _most(word.state["v"]),
    ),
    "centroidal_momentum_matrix": lambda results, word: _relative_error(
        results["A_G"] - word.momentum[1], word.momenta
    ),
    "centroidal_momentum_rate": _momentum_rate,
    "integrate": _stepped,
    "difference": _difference,
}
"""Every function that Pinocchio knows, with the largest relative error of results at one state."""

"""Numeric reference of the dynamics: body Jacobians and power series, over float64 or over balls of
any precision.

It evaluates the *declared* mechanism and shares only two things with the derivation: `Mechanism`,
and the elementary motions of a joint type (a rotation about its axis, a translation along it). Each
part's Jacobians Jv (of its mass centre) and Jw (of its axes), both in the base's axes, give

    M = Σ_parts  m Jvᵀ Jv + Jwᵀ I Jw

The forces come from the trajectory itself rather than from a recursion over twists: along q(t) = q
+ v t + a t²/2 every pose is a power series in t, truncated after t². Its coefficients are the
acceleration of each centre and the angular velocity and acceleration of each part, so that
d'Alembert's principle reads

    tau = Σ_parts  Jvᵀ m (c̈ − gravity) + Jwᵀ (I ω̇ + ω × I ω)
          (Goldstein, Classical Mechanics, §1.4 and §5.5).

The drives of the joints add to both (`symgen.reference.drives`). The wrenches across the joints are
those of the bodies alone.

Arrays are stacks of states: q is (..., NQ), v, a, tau and b are (..., NV), a matrix is (..., NV,
NV); leading dimensions broadcast. Units are SI; vectors are in the base's axes. Over `arb(digits)`
the entries are `flint.arb` balls in NumPy object arrays, and each result encloses the exact value
for the declared decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference import (
    base,
    centroidal,
    constrained,
    contacts,
    coupled,
    differentials,
    parameters,
    task,
    time_step,
)
from symgen.reference.arrays import cross, identity, stacked, times, transposed
from symgen.reference.drives import add_armature, add_drive_forces
from symgen.reference.forces import d_alembert_wrench, frame_acceleration, interbody_forces
from symgen.reference.integrate import difference, integrate
from symgen.reference.jets import derivatives
from symgen.reference.motion import Motion, Placement, at_precision, cached_result
from symgen.reference.precision import Array, arb
from symgen.reference.twists import convert_jacobian
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import FUNCTIONS


class Reference(Motion):
    """Dynamics of `mechanism` over `scalars`, evaluated from its declaration.

    `frame` names one link or several, for poses, Jacobians and Λ⁻¹. With several frames, `evaluate`
    stacks the results that exist for each frame; all other methods use the first frame.
    `convention` selects how `evaluate` returns J and J̇ v. `task_rows` are the rows of J in Λ and
    J̄, and `contact` names the contact points (`symgen.vocabulary.contacts`).

    `payload` names the link that carries the run-time payload, ten numbers (..., 10): mass (kg),
    centre (m) and moments xx xy xz yy yz zz (kg·m², tensor entries, about the origin of the link's
    frame), all in the link's axes.

    `wrench` names the link on which the surroundings exert a wrench (..., 6): moment (N·m) about
    the origin of its frame and force (N), in its axes. With several links, the wrenches are (...,
    NW, 6). Then c includes −Jᵀ wrench of each.

    Raises RequestError for an unknown link or joint type.
    """

    @at_precision
    def forward_kinematics(self, q: Array) -> tuple[Array, Array]:
        """Return axes R (..., 3, 3) and origin p (..., 3) of the frame, in the base."""
        return self.frame_placement(self.placements(q), q)

    @at_precision
    def jacobian(self, q: Array) -> Array:
        """Return J (..., 6, NV) of the frame: angular rows first, in base axes, at the frame's
        origin.
        """
        placements = self.placements(q)
        _, origin = self.frame_placement(placements, q)
        J = self.scalars.array(np.zeros((*q.shape[:-1], 6, self.mechanism.nv)))
        if self.frame is not None and self.frame.body != BASE:
            support = self.supports[self.frame.body]
            J[..., :3, support], J[..., 3:, support] = self.columns(
                self.frame.body, origin, placements
            )
        return J

    # ---- dynamics --------------------------------------------------------------------------------

    @cached_result
    @at_precision
    def mass_matrix(self, q: Array, payload: Array | None = None) -> Array:
        """Return M (..., NV, NV) = Σ m Jvᵀ Jv + Jwᵀ I Jw, plus the armature on its diagonal."""
        placements, product = self.placements(q), self.scalars.product
        parts = self.parts(payload)
        batch = np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in parts))
        M = self.scalars.array(np.zeros((*batch, self.mechanism.nv, self.mechanism.nv)))
        for part in parts:
            at = placements[part.body]
            angular, linear = self.columns(
                part.body, at.shift[0] + times(at.turn[0], part.centre), placements
            )
            inertia = at.turn[0] @ part.inertia @ transposed(at.turn[0])
            rows, block = (
                np.array(self.supports[part.body]),
                part.mass[..., None, None] * product(transposed(linear), linear),
            )
            M[..., rows[:, None], rows[None, :]] += block + product(
                transposed(angular), inertia @ angular
            )
        return add_armature(self, M)

    @cached_result
    @at_precision
    def inverse_dynamics(
        self,
        q: Array,
        v: Array,
        a: Array,
        payload: Array | None = None,
        wrench: Array | None = None,
    ) -> Array:
        """Return tau (..., NV) that accelerates the mechanism by a at (q, v), with gravity, wrench
        and drives.
        """
        q, v, a = stacked(q, v, a)
        placements = self.placements(q, v, a)
        parts = self.parts(payload)
        batch = np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in parts))
        tau = self.scalars.array(np.zeros((*batch, self.mechanism.nv)))
        for part in parts:
            centre, moment, force = d_alembert_wrench(part, placements[part.body], self.gravity)
            angular, linear = self.columns(part.body, centre, placements)
            tau[..., self.supports[part.body]] += times(transposed(linear), force) + times(
                transposed(angular), moment
            )
        return add_drive_forces(self, tau - self._wrench_torque(placements, wrench), q, v, a)

    def _wrench_torque(self, placements: Sequence[Placement], wrench: Array | None) -> Array:
        """Return Σ Jᵀ wrench (..., NV): the joint forces that the external wrenches replace."""
        total = self.scalars.array([0] * self.mechanism.nv)
        for body, point, moment, force in self.external_wrenches(placements, wrench):
            angular, linear = self.columns(body, point, placements)
            torque = times(transposed(angular), moment) + times(transposed(linear), force)
            contribution = self.scalars.array(np.zeros((*torque.shape[:-1], self.mechanism.nv)))
            contribution[..., self.supports[body]] = torque
            total = total + contribution
        return total

    def bias_force(
        self, q: Array, v: Array, payload: Array | None = None, wrench: Array | None = None
    ) -> Array:
        """Return c (..., NV) = C(q, v) v + g(q) − Jᵀ wrench + drive resistance: the force for which
        a = 0.
        """
        return self.inverse_dynamics(q, v, 0 * v, payload, wrench)

    @at_precision
    def gravity_force(self, q: Array, payload: Array | None = None) -> Array:
        """Return g (..., NV) = −Σ m Jvᵀ gravity: the joint force that balances the weight."""
        placements = self.placements(q)
        parts = self.parts(payload)
        batch = np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in parts))
        g = self.scalars.array(np.zeros((*batch, self.mechanism.nv)))
        for part in parts:
            at = placements[part.body]
            _, linear = self.columns(
                part.body, at.shift[0] + times(at.turn[0], part.centre), placements
            )
            g[..., self.supports[part.body]] -= part.mass[..., None] * times(
                transposed(linear), self.gravity
            )
        return g

    @at_precision
    def potential_energy(self, q: Array, payload: Array | None = None) -> Array:
        """Return −Σ m gravity·centre (...), in J."""
        placements, total = self.placements(q), self.scalars.array(np.zeros(q.shape[:-1]))
        for part in self.parts(payload):
            at = placements[part.body]
            total = total - part.mass * (
                (at.shift[0] + times(at.turn[0], part.centre)) * self.gravity
            ).sum(axis=-1)
        return np.asarray(total)

    @cached_result
    @at_precision
    def mass_matrix_solve(self, q: Array, b: Array, payload: Array | None = None) -> Array:
        """Return x (..., NV) with M(q) x = b.

        Raises TooFewDigits (balls) or LinAlgError (floats) if M is singular.
        """
        return self.scalars.solve(self.mass_matrix(q, payload), b[..., None])[..., 0]

    @at_precision
    def forward_dynamics(
        self,
        q: Array,
        v: Array,
        tau: Array,
        payload: Array | None = None,
        wrench: Array | None = None,
    ) -> Array:
        """Return a (..., NV) with M a + c = tau, by a general linear solve."""
        return self.mass_matrix_solve(q, tau - self.bias_force(q, v, payload, wrench), payload)

    @cached_result
    @at_precision
    def inverse_mass_matrix(self, q: Array, payload: Array | None = None) -> Array:
        """Return M⁻¹ (..., NV, NV)."""
        m = self.mass_matrix(q, payload)
        return self.scalars.solve(
            m, np.broadcast_to(self.scalars.array(np.eye(self.mechanism.nv)), m.shape)
        )

    @at_precision
    def operational_inertia_inverse(self, q: Array, payload: Array | None = None) -> Array:
        """Return J M⁻¹ Jᵀ (..., 6, 6) of the frame: angular rows first, in base axes, at the
        frame's origin.
        """
        m, jacobian = self.mass_matrix(q, payload), self.jacobian(q)
        columns = np.broadcast_to(transposed(jacobian), (*m.shape[:-1], 6))
        return np.asarray(jacobian @ self.scalars.solve(m, columns))

    @at_precision
    def link_accelerations(
        self,
        q: Array,
        v: Array,
        tau: Array,
        payload: Array | None = None,
        wrench: Array | None = None,
    ) -> tuple[Array, Array]:
        """Return (ω̇, v̇) of every body's frame (..., NB, 6) and of the chosen frame (..., 6).

        They are in base axes and exclude gravity.
        """
        q, v, a = stacked(q, v, self.forward_dynamics(q, v, tau, payload, wrench))
        placements = self.placements(q, v, a)
        tip = frame_acceleration(self.frame_series(placements, q))
        return np.stack(
            np.broadcast_arrays(*(frame_acceleration(body) for body in placements)), axis=-2
        ), tip

    @at_precision
    def mass_matrix_log_determinant(self, q: Array, payload: Array | None = None) -> Array:
        """Return ln det M (...); NaN if det M is not positive."""
        return self.scalars.log_determinant(self.mass_matrix(q, payload))

    @at_precision
    def mass_matrix_log_determinant_gradient(self, q: Array, payload: Array | None = None) -> Array:
        """Return ∂ ln det M/∂q (..., NV)."""
        inverse = self.inverse_mass_matrix(q, payload)
        if not self.mechanism.coupled:
            return log_determinant_gradient(self, inverse, q, payload)
        G = coupled.coupling_matrix(self)  # tr(M⁻¹ ∂M) is tr(G M⁻¹ Gᵀ ∂M_full)
        full_gradient = log_determinant_gradient(
            coupled.uncoupled_motion(self),
            G @ inverse @ G.T,
            coupled.all_coordinates(self, q),
            payload,
        )
        return np.asarray(full_gradient @ G)

    @at_precision
    def interbody_forces(
        self,
        q: Array,
        v: Array,
        tau: Array,
        payload: Array | None = None,
        wrench: Array | None = None,
    ) -> tuple[Array, Array]:
        """Return F (..., NB, 6) on every body from its parent, and a (..., NV).

        F acts at the origin of the body's frame, in base axes.
        """
        a = self.forward_dynamics(q, v, tau, payload, wrench)
        q, v, a = stacked(q, v, a)
        return interbody_forces(self, q, v, a, payload, wrench), a

    @at_precision
    def mass_matrix_determinant(self, q: Array, payload: Array | None = None) -> Array:
        """Return det M (...)."""
        return self.scalars.determinant(self.mass_matrix(q, payload))

    def evaluate(self, function: str, arguments: Mapping[str, Any]) -> dict[str, Array]:
        """Return the results by name of one function of `symgen.vocabulary.functions.FUNCTIONS`.

        `arguments` are arrays of any numbers, by name. Raises RequestError for a function without
        an oracle.
        """
        derivative = FUNCTIONS[function].derivative if function in FUNCTIONS else None
        if derivative is not None:
            return differentials.differential(
                self,
                derivative,
                {name: self.scalars.array(value) for name, value in arguments.items()},
            )
        oracle = ORACLES.get(function)
        if oracle is None:
            raise RequestError(
                f"the reference has no oracle for '{function}'; add one to ORACLES in {__name__}"
            )
        inputs = {name: self.scalars.array(value) for name, value in arguments.items()}
        if len(self.frames) < 2 or not FUNCTIONS[function].uses_all_frames:
            return oracle(self, **inputs)
        by_frame = [oracle(reference, **inputs) for reference in self.of_each_frame()]
        # the axis of frames follows the axes of states and precedes those of the result
        return {
            result.name: np.stack(
                [results[result.name] for results in by_frame], axis=-len(result.shape) - 1
            )
            for result in FUNCTIONS[function].results
        }


def log_determinant_gradient(
    motion: Motion, inverse: Array, q: Array, payload: Array | None = None
) -> Array:
    """Return ∂ ln det M/∂q (..., NV), with `inverse` M⁻¹ (..., NV, NV) at q. The caller opens the
    working precision.

    The result is tr(M⁻¹ ∂M/∂q_i), with ∂M/∂q_i in closed form. M's entries are scalar products of
    vectors, so the axes may rotate with the bodies that joint i carries. In these axes the columns
    of the joints after i are constant. Let w be the axis of a rotating joint (0 for a translation),
    and v, w the columns of Jv and Jw, in the base's axes. For a joint j before i, the rates
    relative to the rotating axes are

        δv_j = ∂v_j/∂q_i − w_i × v_j = w_j × v_i − w_i × v_j,    δw_j = −w_i × w_j.

    The part's inertia tensor rotates with the axes. Each part adds twice the sum over j of δv_j·F_j
    + δw_j·N_j with the columns F_j of m Jv M⁻¹ and N_j of I Jw M⁻¹. For a joint on the base the sum
    is empty: 0. A joint without an axis rotates all its columns.
    """
    placements = motion.placements(q)
    grad = 0 * inverse[..., 0]
    for part in motion.parts(payload):
        at, support = placements[part.body], np.array(motion.supports[part.body])
        angular, linear = motion.columns(
            part.body, at.shift[0] + times(at.turn[0], part.centre), placements
        )
        inertia = at.turn[0] @ part.inertia @ transposed(at.turn[0])
        solved = inverse[..., support[:, None], support[None, :]]
        product = motion.scalars.product
        forces = (
            part.mass[..., None, None] * product(linear, solved),
            inertia @ product(angular, solved),
        )
        w, v, F, N = (
            np.moveaxis(columns, -1, 0) for columns in np.broadcast_arrays(angular, linear, *forces)
        )
        first = [support.tolist().index(motion.first_of(k)) for k in support]
        of_v, of_w = _before(cross(F, w), first), _before(cross(N, w) - cross(v, F), first)
        derivatives = (v * of_v + w * of_w).sum(axis=-1)
        grad[..., support] += 2 * np.moveaxis(derivatives, 0, -1)
    return grad


def _before(rates: Array, first: list[int]) -> Array:
    """Return Σ_{j < first[i]} along the first axis."""
    return np.concatenate([0 * rates[:1], np.cumsum(rates[:-1], axis=0)])[first]


CORIOLIS_DIGITS = 30
"""Digits of the balls that replace floats in `coriolis_matrix`."""


def coriolis_matrix(reference: Any, q: Array, v: Array, payload: Array | None = None) -> Array:
    """Return C (..., NV, NV) of a `Reference`; a reference over floats uses balls of
    CORIOLIS_DIGITS digits.

    C follows from M(q) alone: from the change of M along each degree of freedom, and from the
    commutators of the degrees of freedom. M is a metric on the velocities. The Levi-Civita
    connection is the one that preserves lengths and has no torsion, and C v is the covariant
    derivative of v along v, times M. By Koszul's formula, with E_k the rate of degree of freedom k,
    ∂_k the derivative along it and [E_k, E_j] = Σ_l c_kjl E_l,

        2 C_ij = Σ_k v_k (∂_k M_ij + ∂_j M_ik − ∂_i M_jk)
               + Σ_kl v_k (c_kjl M_li + c_ijl M_lk + c_ikl M_lj).

    If the velocities are the rates of coordinates, all c are 0, and this is Christoffel's formula.
    The velocities of a joint without an axis are twists of its body in the body's axes, whose
    bracket is their cross product. ∂M is exact (`symgen.reference.jets`).
    """
    if reference.scalars.dtype is not object:
        links = {} if reference.payload is None else {"payload": reference.payload.name}
        exact, arguments = arb(CORIOLIS_DIGITS), [x for x in (q, v, payload) if x is not None]
        C = coriolis_matrix(
            type(reference)(reference.mechanism, exact, **links), *map(exact.array, arguments)
        )
        return np.asarray(C, dtype=float)
    q, v = stacked(q, v)
    states = {"q": q.reshape(-1, q.shape[-1])} | (
        {} if payload is None else {"payload": payload.reshape(-1, 10)}
    )
    mass_derivatives = derivatives(reference, "mass_matrix", states, ["q"])["q"]["M"]
    with reference.scalars.working():
        mass_derivatives = mass_derivatives.reshape(
            *q.shape[:-1], *mass_derivatives.shape[1:]
        )  # ∂_k M_ij at [i, j, k]
        # M of the bodies alone: the armature is constant, so rotors do not contribute to C
        mass = add_armature(reference, reference.mass_matrix(q, payload), -1)
        momentum_slopes = (mass_derivatives * v[..., None, :, None]).sum(
            axis=-2
        )  # ∂_k (M v)_i at [i, k]
        brackets = commutators(reference)  # c_kjl at [k, j, l]
        first_term = mass @ np.einsum(
            "...k,kjl->...lj", v, brackets
        )  # Σ_kl v_k c_kjl M_li at [i, j]
        second_term = np.einsum("ijl,...l->...ij", brackets, times(mass, v))  # Σ_kl v_k c_ijl M_lk
        rate = (mass_derivatives * v[..., None, None, :]).sum(axis=-1)
        return np.asarray(
            (
                rate
                + momentum_slopes
                - transposed(momentum_slopes)
                + first_term
                + second_term
                - transposed(first_term)
            )
            / 2
        )


def commutators(motion: Motion) -> Array:
    """Return c_kjl (NV, NV, NV) with [E_k, E_j] = Σ_l c_kjl E_l; zero for joints with an axis."""
    coefficients = motion.scalars.array(np.zeros((motion.mechanism.nv,) * 3, dtype=int))
    for index, joint in enumerate(motion.mechanism.joints):
        if joint.type.directed:
            continue
        units = motion.twists(index, identity(motion.scalars))
        first = motion.mechanism.v_slices[index].start
        for k, (w, u) in enumerate(units):
            for j, (spin, slide) in enumerate(units):
                bracket = cross(w, spin), cross(w, slide) + cross(u, spin)
                for index_l, unit in enumerate(units, first):  # the units are orthonormal
                    coefficients[first + k, first + j, index_l] = sum(
                        (a * b).sum() for a, b in zip(bracket, unit, strict=True)
                    )
    return coefficients


def _single_result(
    name: str, method: Callable[..., Array], reference: Reference, /, **arguments: Array
) -> dict[str, Array]:
    return {name: method(reference, **arguments)}


def _mass_matrix_and_bias(
    reference: Reference,
    /,
    q: Array,
    v: Array,
    payload: Array | None = None,
    wrench: Array | None = None,
) -> dict[str, Array]:
    return {
        "M": reference.mass_matrix(q, payload),
        "c": reference.bias_force(q, v, payload, wrench),
    }


def _mass_matrix_coriolis_and_bias(
    reference: Reference,
    /,
    q: Array,
    v: Array,
    payload: Array | None = None,
    wrench: Array | None = None,
) -> dict[str, Array]:
    return {
        "M": reference.mass_matrix(q, payload),
        "C": coriolis_matrix(reference, q, v, payload),
        "c": reference.bias_force(q, v, payload, wrench),
    }


def _kinematics(
    reference: Reference, /, q: Array, payload: Array | None = None
) -> dict[str, Array]:
    turn, origin = reference.forward_kinematics(q)
    return {"R": turn, "p": origin}


def _link_accelerations(reference: Reference, /, **arguments: Array) -> dict[str, Array]:
    links, tip = reference.link_accelerations(**arguments)
    return {"alpha": links, "alpha_tip": tip}


def _interbody_forces(reference: Reference, /, **arguments: Array) -> dict[str, Array]:
    forces, accelerations = reference.interbody_forces(**arguments)
    return {"F": forces, "a": accelerations}


@at_precision
def _jacobian(reference: Reference, /, q: Array, payload: Array | None = None) -> dict[str, Array]:
    """Return J in the requested convention. Quantities made of J, such as J M⁻¹ Jᵀ, always use base
    axes.
    """
    turn, origin = reference.forward_kinematics(q)
    return {"J": convert_jacobian(reference.convention, turn, origin, reference.jacobian(q))}


def _integrate(reference: Reference, /, q: Array, v: Array, dt: Array) -> dict[str, Array]:
    return {"q_next": integrate(reference, q, v, dt)}


def _difference(reference: Reference, /, q: Array, q_next: Array) -> dict[str, Array]:
    return {"delta": difference(reference, q, q_next)}


def _step(
    scheme: Callable[..., dict[str, Array]], reference: Reference, /, **arguments: Array
) -> dict[str, Array]:
    return scheme(reference, reference.forward_dynamics, **arguments)


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "inverse_dynamics": partial(_single_result, "tau", Reference.inverse_dynamics),
    "forward_dynamics": partial(_single_result, "a", Reference.forward_dynamics),
    "bias_force": partial(_single_result, "c", Reference.bias_force),
    "gravity_force": partial(_single_result, "g", Reference.gravity_force),
    "mass_matrix": partial(_single_result, "M", Reference.mass_matrix),
    "mass_matrix_and_bias": _mass_matrix_and_bias,
    "inverse_mass_matrix": partial(_single_result, "Minv", Reference.inverse_mass_matrix),
    "mass_matrix_solve": partial(_single_result, "x", Reference.mass_matrix_solve),
    "mass_matrix_determinant": partial(_single_result, "det", Reference.mass_matrix_determinant),
    "mass_matrix_log_determinant": partial(
        _single_result, "logdet", Reference.mass_matrix_log_determinant
    ),
    "mass_matrix_log_determinant_gradient": partial(
        _single_result, "grad", Reference.mass_matrix_log_determinant_gradient
    ),
    "operational_inertia_inverse": partial(
        _single_result, "Lambda_inv", Reference.operational_inertia_inverse
    ),
    "link_accelerations": _link_accelerations,
    "interbody_forces": _interbody_forces,
    "forward_kinematics": _kinematics,
    "jacobian": _jacobian,
    "potential_energy": partial(_single_result, "U", Reference.potential_energy),
    **centroidal.ORACLES,
    **differentials.ORACLES,
    "coriolis_matrix": partial(_single_result, "C", coriolis_matrix),
    "mass_matrix_coriolis_and_bias": _mass_matrix_coriolis_and_bias,
    **parameters.ORACLES,
    **base.ORACLES,
    **task.ORACLES,
    **constrained.ORACLES,
    **contacts.ORACLES,
    "integrate": _integrate,
    "difference": _difference,
    "step": partial(_step, time_step.semi_implicit_euler),
    "step_rk4": partial(_step, time_step.rk4),
}
"""One oracle per function: (reference, arguments by name) → results by name."""

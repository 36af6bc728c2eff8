"""The numeric reference: joint-space dynamics from body Jacobians, over float64 or over balls of any precision.

It evaluates the *declared* mechanism and shares nothing with the derivation but `Mechanism` and what a joint type does
(a turn about its axis, a slide along it). Each part's Jacobians Jv (of its mass centre) and Jw (of its axes), both in
the base's axes, give

    M = Σ_parts  m Jvᵀ Jv + Jwᵀ I Jw

and the forces come from the trajectory itself rather than from a recursion over twists: along
q(t) = q + v t + a t²/2 every pose is a power series in t, truncated after t², whose coefficients are the acceleration of
each centre and the angular velocity and acceleration of each part, so that d'Alembert's principle reads

    tau = Σ_parts  Jvᵀ m (c̈ − gravity) + Jwᵀ (I ω̇ + ω × I ω)          (Goldstein, Classical Mechanics, §1.4 and §5.5).

Arrays are stacks of states: q is (..., NQ), v, a, tau and b are (..., NV), a matrix is (..., NV, NV); leading dimensions
broadcast. Units are SI; vectors are in the base's axes. Over `arb(digits)` the entries are `flint.arb` balls in NumPy
object arrays, and each result encloses the exact value for the declared decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from symgen.arrays import added, cross, identity, rodrigues, skew, stack, times, transposed
from symgen.errors import ArgumentError, RequestError
from symgen.mechanism import BASE, Mechanism, Pose, Shift, Slide, Vector3
from symgen.precision import FLOAT, Array, Scalars
from symgen.reference_answers import remembered
from symgen.reference_determinant import log_determinant, log_determinant_gradient
from symgen.reference_forces import d_alembert, interbody_forces, spin_rate

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Carried(NamedTuple):
    """One part as a body carries it: `centre` (..., 3) and the tensor `inertia` (..., 3, 3) about it, in the body's axes."""

    body: int
    mass: Array
    centre: Array
    inertia: Array


class Placement(NamedTuple):
    """Power series in t of a body's pose in the base: `turn` of (..., 3, 3) and `shift` of (..., 3), one a power."""

    turn: tuple[Array, ...]
    shift: tuple[Array, ...]


def _at_precision(method: Callable[Concatenate[Reference, _P], _T]) -> Callable[Concatenate[Reference, _P], _T]:
    """Run a method of Reference in its scalars' working precision."""

    @wraps(method)
    def run(self: Reference, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self.scalars.working():
            return method(self, *args, **kwargs)

    return cast("Callable[Concatenate[Reference, _P], _T]", run)


class Reference:
    """The dynamics of `mechanism` over `scalars`, evaluated from its declaration.

    `frame` names the link that poses, Jacobians and Λ⁻¹ speak of. `payload` names the link that carries the
    run-time payload, ten numbers (..., 10): mass (kg), centre (m) and moments xx xy xz yy yz zz (kg·m², tensor entries,
    about the origin of the link's frame), all in the link's axes. `wrench` names the link that the surroundings exert a
    wrench (..., 6) on: moment (N·m) about the origin of its frame and force (N), in its axes; c then includes −Jᵀ wrench.
    Raises RequestError for an unknown link or joint type.
    """

    def __init__(self, mechanism: Mechanism, scalars: Scalars = FLOAT, *, frame: str | None = None, payload: str | None = None,
                 wrench: str | None = None) -> None:
        self.mechanism, self.scalars = mechanism, scalars
        self.answers: dict[str, tuple[dict[str, Array], Any]] = {}
        self.frame, self.payload, self.wrench = (None if link is None else mechanism.frame(link)
                                                 for link in (frame, payload, wrench))
        for joint in mechanism.joints:
            if joint.kind not in ("revolute", "continuous", "prismatic"):
                raise RequestError(f"the reference does not know the joint type '{joint.kind}' of joint '{joint.name}'; "
                                   "add its pose to symgen/reference.py")
        with scalars.working():
            self.axes = [self._direction(joint.axis) for joint in mechanism.joints]
            self.poses = [self.pose(joint.pose) for joint in mechanism.joints]
            self.gravity: Array = self._vector(mechanism.gravity)
            self._declared = [self._carry(index, part) for index, body in enumerate(mechanism.bodies) for part in body.parts]
        self.supports = [self._path(index) for index in range(mechanism.nv)]
        """Per body, the joints between it and the base, base first."""

    # ---- the declaration, entered into the scalars -------------------------------------------------------------------

    def _path(self, body: int) -> list[int]:
        path = []
        while body != BASE:
            path.append(body)
            body = self.mechanism.joints[body].parent
        return path[::-1]

    def _vector(self, xyz: Vector3) -> Array:
        return self.scalars.array([self.scalars.constant(x) for x in xyz])

    def _direction(self, axis: Vector3) -> Array:
        vector = self._vector(axis)
        squared = sum(x * x for x in axis)
        return vector if squared == 1 else vector / np.sqrt(self.scalars.array(self.scalars.constant(Fraction(squared))))

    def pose(self, pose: Pose) -> tuple[Array, Array]:
        """Turn (3, 3) and shift (3,) of a declared pose: the product of its steps from left to right."""
        turn, shift = identity(self.scalars), self._vector((Fraction(0),) * 3)
        for step in pose:
            if isinstance(step, Shift):
                shift = shift + turn @ self._vector(step.xyz)
            elif isinstance(step, Slide):
                shift = shift + turn @ (self._direction(step.axis) * self.scalars.constant(step.distance))
            else:
                turn = turn @ rodrigues(self._direction(step.axis), *self.scalars.sine_cosine(step.angle))
        return turn, shift

    def _carry(self, body: int, part: Any) -> Carried:
        turn, centre = self.pose(part.pose)
        xx, xy, xz, yy, yz, zz = (self.scalars.constant(moment) for moment in part.moments)
        tensor = self.scalars.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        return Carried(body, self.scalars.array(self.scalars.constant(part.mass)), centre, turn @ tensor @ turn.T)

    def parts(self, payload: Array | None = None) -> list[Carried]:
        """Every part that a body carries, the run-time payload included."""
        if self.payload is None or self.payload.body == BASE:
            return self._declared
        if payload is None:
            raise ArgumentError(f"this reference carries a payload on '{self.payload.name}'; pass its ten numbers as `payload`")
        turn, shift = self.pose(self.payload.pose)
        mass, c = payload[..., 0], payload[..., 1:4]
        tensor = payload[..., [4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape((*payload.shape[:-1], 3, 3))
        # Steiner: the ten numbers are about the link's origin, a part's moments about its centre
        squared = (c * c).sum(axis=-1)[..., None, None] * identity(self.scalars)
        about_centre = tensor - mass[..., None, None] * (squared - c[..., :, None] * c[..., None, :])
        return [*self._declared, Carried(self.payload.body, mass, shift + times(turn, c), turn @ about_centre @ turn.T)]

    # ---- kinematics --------------------------------------------------------------------------------------------------

    @_at_precision
    def placements(self, q: Array, v: Array | None = None, a: Array | None = None) -> list[Placement]:
        """Pose of every body's frame in the base: at q, or with v and a the power series along q + v t + a t²/2."""
        still, nothing = identity(self.scalars), self.scalars.array([0, 0, 0])
        order = 1 if v is None else 3
        base = Placement((still, *[0 * still] * (order - 1)), (nothing,) * order)
        placed: list[Placement] = []
        for index, joint in enumerate(self.mechanism.joints):
            parent = base if joint.parent == BASE else placed[joint.parent]
            turn, shift = self.poses[index]
            shifts = [p + times(r, shift) for r, p in zip(parent.turn, parent.shift, strict=True)]
            turns = [r @ turn for r in parent.turn]
            rates = (None, None) if v is None or a is None else (v[..., index], a[..., index])
            motion = self.motion(index, q[..., index], *rates)
            if joint.kind == "prismatic":
                shifts = [p + sum(times(turns[i], motion[k - i]) for i in range(k + 1)) for k, p in enumerate(shifts)]
            else:
                turns = [added(turns[i] @ motion[k - i] for i in range(k + 1)) for k in range(order)]
            placed.append(Placement(tuple(turns), tuple(shifts)))
        return placed

    def motion(self, index: int, q: Array, v: Array | None, a: Array | None) -> list[Array]:
        """A joint's own displacement as a power series: shifts along a prismatic axis, else turns about the axis."""
        axis = self.axes[index]
        if self.mechanism.joints[index].kind == "prismatic":
            return [q[..., None] * axis] + ([] if v is None or a is None else [v[..., None] * axis, a[..., None] * axis / 2])
        turn = rodrigues(axis, np.sin(q), np.cos(q))
        if v is None or a is None:
            return [turn]
        spin = skew(axis)
        v, a = v[..., None, None], a[..., None, None]
        return [turn, v * (spin @ turn), (a * spin + v * v * (spin @ spin)) @ turn / 2]

    @_at_precision
    def columns(self, body: int, point: Array, placed: Sequence[Placement]) -> tuple[Array, Array]:
        """Jw and Jv (..., 3, k) of a point (..., 3) carried by `body`, for the k joints of `supports[body]`."""
        angular, linear = [], []
        for j in self.supports[body]:
            axis = times(placed[j].turn[0], self.axes[j])
            if self.mechanism.joints[j].kind == "prismatic":
                angular.append(0 * axis)
                linear.append(axis)
            else:
                angular.append(axis)
                linear.append(cross(axis, point - placed[j].shift[0]))
        return stack(angular), stack(linear)

    def _frame_placement(self, placed: Sequence[Placement], q: Array) -> tuple[Array, Array]:
        if self.frame is None:
            raise ArgumentError("this reference has no frame; name a link with frame=")
        turn, shift = self.pose(self.frame.pose)
        if self.frame.body != BASE:
            at = placed[self.frame.body]
            turn, shift = at.turn[0] @ turn, at.shift[0] + times(at.turn[0], shift)
        return np.broadcast_to(turn, (*q.shape[:-1], 3, 3)), np.broadcast_to(shift, (*q.shape[:-1], 3))

    @_at_precision
    def forward_kinematics(self, q: Array) -> tuple[Array, Array]:
        """Axes R (..., 3, 3) and origin p (..., 3) of the frame, in the base."""
        return self._frame_placement(self.placements(q), q)

    @_at_precision
    def jacobian(self, q: Array) -> Array:
        """J (..., 6, NV) of the frame: angular rows first, axes of the base, at the frame's origin."""
        placed = self.placements(q)
        _, origin = self._frame_placement(placed, q)
        out = self.scalars.array(np.zeros((*q.shape[:-1], 6, self.mechanism.nv)))
        if self.frame is not None and self.frame.body != BASE:
            support = self.supports[self.frame.body]
            out[..., :3, support], out[..., 3:, support] = self.columns(self.frame.body, origin, placed)
        return out

    # ---- dynamics ----------------------------------------------------------------------------------------------------

    @remembered
    @_at_precision
    def mass_matrix(self, q: Array, payload: Array | None = None) -> Array:
        """M (..., NV, NV) = Σ m Jvᵀ Jv + Jwᵀ I Jw."""
        placed, product = self.placements(q), self.scalars.product
        parts = self.parts(payload)
        batch = np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in parts))
        out = self.scalars.array(np.zeros((*batch, self.mechanism.nv, self.mechanism.nv)))
        for part in parts:
            at = placed[part.body]
            angular, linear = self.columns(part.body, at.shift[0] + times(at.turn[0], part.centre), placed)
            inertia = at.turn[0] @ part.inertia @ transposed(at.turn[0])
            rows, block = np.array(self.supports[part.body]), part.mass[..., None, None] * product(transposed(linear), linear)
            out[..., rows[:, None], rows[None, :]] += block + product(transposed(angular), inertia @ angular)
        return out

    @remembered
    @_at_precision
    def inverse_dynamics(self, q: Array, v: Array, a: Array, payload: Array | None = None, wrench: Array | None = None) -> Array:
        """tau (..., NV) that makes the mechanism accelerate by a at (q, v), gravity included and the wrench at work."""
        q, v, a = np.broadcast_arrays(q, v, a)
        placed = self.placements(q, v, a)
        parts = self.parts(payload)
        batch = np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in parts))
        out = self.scalars.array(np.zeros((*batch, self.mechanism.nv)))
        for part in parts:
            centre, moment, force = d_alembert(part, placed[part.body], self.gravity)
            angular, linear = self.columns(part.body, centre, placed)
            out[..., self.supports[part.body]] += times(transposed(linear), force) + times(transposed(angular), moment)
        return out - self._pushed(placed, wrench)

    def outside(self, placed: Sequence[Placement], wrench: Array | None) -> tuple[int, Array, Array, Array] | None:
        """The wrench on its body: (body, point, moment, force) in base axes; None where no joint carries it."""
        if self.wrench is None or self.wrench.body == BASE:
            return None
        if wrench is None:
            raise ArgumentError(f"this reference feels a wrench on '{self.wrench.name}'; pass its six numbers as `wrench`")
        (turn, shift), at = self.pose(self.wrench.pose), placed[self.wrench.body]
        moment, force = (times(at.turn[0] @ turn, part) for part in (wrench[..., :3], wrench[..., 3:]))
        return self.wrench.body, at.shift[0] + times(at.turn[0], shift), moment, force

    def _pushed(self, placed: Sequence[Placement], wrench: Array | None) -> Array:
        """Jᵀ wrench (..., NV): what the wrench, at its link, spares the joints."""
        pushed = self.outside(placed, wrench)
        if pushed is None:
            return self.scalars.array([0] * self.mechanism.nv)
        body, point, moment, force = pushed
        angular, linear = self.columns(body, point, placed)
        felt = times(transposed(angular), moment) + times(transposed(linear), force)
        out = self.scalars.array(np.zeros((*felt.shape[:-1], self.mechanism.nv)))
        out[..., self.supports[body]] = felt
        return out

    def bias_force(self, q: Array, v: Array, payload: Array | None = None, wrench: Array | None = None) -> Array:
        """c (..., NV) = C(q, v) v + g(q) − Jᵀ wrench: the force that leaves a = 0."""
        return self.inverse_dynamics(q, v, 0 * v, payload, wrench)

    @_at_precision
    def gravity_force(self, q: Array, payload: Array | None = None) -> Array:
        """g (..., NV) = −Σ m Jvᵀ gravity: the force that holds the mechanism still."""
        placed = self.placements(q)
        parts = self.parts(payload)
        batch = np.broadcast_shapes(q.shape[:-1], *(part.mass.shape for part in parts))
        out = self.scalars.array(np.zeros((*batch, self.mechanism.nv)))
        for part in parts:
            at = placed[part.body]
            _, linear = self.columns(part.body, at.shift[0] + times(at.turn[0], part.centre), placed)
            out[..., self.supports[part.body]] -= part.mass[..., None] * times(transposed(linear), self.gravity)
        return out

    @_at_precision
    def potential_energy(self, q: Array, payload: Array | None = None) -> Array:
        """−Σ m gravity·centre (...), in J."""
        placed = self.placements(q)
        centres = ((p.mass, placed[p.body].shift[0] + times(placed[p.body].turn[0], p.centre)) for p in self.parts(payload))
        return np.asarray(-added(mass * (centre * self.gravity).sum(axis=-1) for mass, centre in centres))

    @remembered
    @_at_precision
    def mass_matrix_solve(self, q: Array, b: Array, payload: Array | None = None) -> Array:
        """x (..., NV) with M(q) x = b. Raises TooFewDigits (balls) or LinAlgError (floats) where M is singular."""
        return self.scalars.solve(self.mass_matrix(q, payload), b[..., None])[..., 0]

    @_at_precision
    def forward_dynamics(self, q: Array, v: Array, tau: Array, payload: Array | None = None,
                         wrench: Array | None = None) -> Array:
        """a (..., NV) with M a + c = tau, by a general linear solve."""
        return self.mass_matrix_solve(q, tau - self.bias_force(q, v, payload, wrench), payload)

    @remembered
    @_at_precision
    def inverse_mass_matrix(self, q: Array, payload: Array | None = None) -> Array:
        """M⁻¹ (..., NV, NV)."""
        m = self.mass_matrix(q, payload)
        return self.scalars.solve(m, np.broadcast_to(self.scalars.array(np.eye(self.mechanism.nv)), m.shape))

    @_at_precision
    def operational_inertia_inverse(self, q: Array, payload: Array | None = None) -> Array:
        """J M⁻¹ Jᵀ (..., 6, 6) of the frame: angular rows first, axes of the base, at the frame's origin."""
        m, jacobian = self.mass_matrix(q, payload), self.jacobian(q)
        columns = np.broadcast_to(transposed(jacobian), (*m.shape[:-1], 6))
        return np.asarray(jacobian @ self.scalars.solve(m, columns))

    @_at_precision
    def link_accelerations(self, q: Array, v: Array, tau: Array, payload: Array | None = None,
                           wrench: Array | None = None) -> tuple[Array, Array]:
        """(ω̇, v̇) of every body's frame (..., NV, 6) and of the chosen frame (..., 6): axes of the base, gravity no part of it."""
        q, v, a = np.broadcast_arrays(q, v, self.forward_dynamics(q, v, tau, payload, wrench))
        placed = self.placements(q, v, a)
        if self.frame is None:
            raise ArgumentError("this reference has no frame; name a link with frame=")
        turn, shift = self.pose(self.frame.pose)
        at = None if self.frame.body == BASE else placed[self.frame.body]
        tip = 0 * q[..., :1] + self.scalars.array([0] * 6)
        if at is not None:
            shifts = (p + times(r, shift) for r, p in zip(at.turn, at.shift, strict=True))
            tip = _acceleration(Placement(tuple(r @ turn for r in at.turn), tuple(shifts)))
        return np.stack(np.broadcast_arrays(*(_acceleration(one) for one in placed)), axis=-2), tip

    @_at_precision
    def mass_matrix_determinant(self, q: Array, payload: Array | None = None) -> Array:
        """det M (...)."""
        return self.scalars.determinant(self.mass_matrix(q, payload))

    def evaluate(self, function: str, arguments: Mapping[str, Any]) -> dict[str, Array]:
        """The results of one of `symgen.functions.FUNCTIONS` by name; `arguments` by name, in any numbers."""
        oracle = ORACLES.get(function)
        if oracle is None:
            raise RequestError(f"the reference has no oracle for '{function}'; add one to ORACLES in symgen/reference.py")
        known = {name: self.scalars.array(value) for name, value in arguments.items()}
        return oracle(self, **known)


def _acceleration(placed: Placement) -> Array:
    """(ω̇, v̇) of a power series of poses."""
    return np.concatenate(np.broadcast_arrays(spin_rate(placed.turn), 2 * placed.shift[2]), axis=-1)


def _one(name: str, method: Callable[..., Array], reference: Reference, /, **arguments: Array) -> dict[str, Array]:
    return {name: method(reference, **arguments)}


def _mass_matrix_and_bias(reference: Reference, /, q: Array, v: Array, payload: Array | None = None,
                          wrench: Array | None = None) -> dict[str, Array]:
    return {"M": reference.mass_matrix(q, payload), "c": reference.bias_force(q, v, payload, wrench)}


def _kinematics(reference: Reference, /, q: Array, payload: Array | None = None) -> dict[str, Array]:
    turn, origin = reference.forward_kinematics(q)
    return {"R": turn, "p": origin}


def _link_accelerations(reference: Reference, /, **arguments: Array) -> dict[str, Array]:
    links, tip = reference.link_accelerations(**arguments)
    return {"alpha": links, "alpha_tip": tip}


def _jacobian(reference: Reference, /, q: Array, payload: Array | None = None) -> dict[str, Array]:
    return {"J": reference.jacobian(q)}


ORACLES: dict[str, Callable[..., dict[str, Array]]] = {
    "inverse_dynamics": partial(_one, "tau", Reference.inverse_dynamics),
    "forward_dynamics": partial(_one, "a", Reference.forward_dynamics),
    "bias_force": partial(_one, "c", Reference.bias_force),
    "gravity_force": partial(_one, "g", Reference.gravity_force),
    "mass_matrix": partial(_one, "M", Reference.mass_matrix),
    "mass_matrix_and_bias": _mass_matrix_and_bias,
    "inverse_mass_matrix": partial(_one, "Minv", Reference.inverse_mass_matrix),
    "mass_matrix_solve": partial(_one, "x", Reference.mass_matrix_solve),
    "mass_matrix_determinant": partial(_one, "det", Reference.mass_matrix_determinant),
    "mass_matrix_log_determinant": log_determinant,
    "mass_matrix_log_determinant_gradient": log_determinant_gradient,
    "operational_inertia_inverse": partial(_one, "Lambda_inv", Reference.operational_inertia_inverse),
    "link_accelerations": _link_accelerations,
    "interbody_forces": interbody_forces,
    "forward_kinematics": _kinematics,
    "jacobian": _jacobian,
}
"""One oracle per function: (reference, arguments by name) → results by name."""

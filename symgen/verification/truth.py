"""The exact answers at a set of states, computed once and shared by the checks, and the natural size of each answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import flint
import numpy as np

from symgen.functions import FUNCTIONS
from symgen.mechanism import BASE, Mechanism
from symgen.precision import FLOAT, Array, arb
from symgen.reference import Reference
from symgen.reference_digits import answers
from symgen.states import draw_states
from symgen.verification import log_sizes

NO_MOMENT = 1e-12
"""Of the largest principal moment: less is rounding, and a method that divides by it refuses the link."""
GUARD = 25
"""Digits worked with beyond those asked for: what balls lose to their own dependence."""
KNOWN = 50
"""Digits that an answer has at the least."""
SHARPENINGS = 4
"""How often the digits are doubled where only the radii of balls are too wide."""


class Truth:
    """Reference answers of `mechanism` at `count` seeded states, over balls.

    `digits` = 60 + ⌈log₁₀ cond M⌉ are asked for; `working` digits are carried. Raises RequestError for an unknown
    `frame`, `payload` or `wrench` (links' names).
    """

    def __init__(self, mechanism: Mechanism, count: int = 16, seed: int = 0, *, frame: str | None = None,
                 payload: str | None = None, wrench: str | None = None, working: int | None = None) -> None:
        self.mechanism, self.count, self.seed = mechanism, count, seed
        self.links = {"frame": frame, "payload": payload, "wrench": wrench}
        self.states = draw_states(mechanism, count, seed, payload, wrench)
        self.floats = {name: values.astype(float) for name, values in self.states.items()}
        self.rough = Reference(mechanism, FLOAT, **self.links)
        self.load = self.floats.get("payload")
        rough = self.rough.mass_matrix(self.floats["q"], self.load)
        self.condition = _condition(rough)
        lowest = np.linalg.eigvalsh(rough)[..., 0]
        self.indefinite = int((lowest < -1e-12 * norm(rough)).sum())
        """States at which the declared inertias give an M that is not even positive semidefinite."""
        self.digits = 60 + int(np.ceil(np.log10(min(self.condition, 1e40))))
        self.working = working or self.digits + GUARD
        self.scalars = arb(self.working)
        self.reference = Reference(mechanism, self.scalars, **self.links)
        self.balls = {name: self.scalars.array(values) for name, values in self.states.items()}
        self._known: dict[str, dict[str, Array]] = {}

    @cached_property
    def sharper(self) -> Truth:
        """The same states with twice the working digits."""
        return Truth(self.mechanism, self.count, self.seed, working=2 * self.working, **self.links)

    def arguments(self, function: str, source: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """The function's arguments at the states, (count, …) each; `source` chooses balls (default) or floats."""
        source = self.balls if source is None else source
        spec = FUNCTIONS[function]
        return {a.name: source[a.name] for a in (*spec.arguments, *spec.feels) if a in spec.arguments or self.links[a.name]}

    def results(self, function: str) -> dict[str, Array]:
        """The function's results by name, (count, …) each, over balls."""
        if function not in self._known:
            self._known[function] = answers(self.reference, self.working, function, self.arguments(function), KNOWN)
        return self._known[function]

    @property
    def mass_matrix(self) -> Array:
        return self.results("mass_matrix")["M"]

    @property
    def bias(self) -> Array:
        return self.results("bias_force")["c"]

    @cached_property
    def freedom(self) -> float:
        """‖M‖ ‖H_aa‖ or more: how much easier a joint would move, were the two links beside it free of all others.

        A torque on two free bodies turns them by at most 1/λ(I) each, with λ the least principal moment; a force at a
        distance d from the centre moves them by at most 1/m + d²/λ.
        """
        bodies = [self._body(i) for i in range(self.mechanism.nv)]
        worst = 0.0
        for i, joint in enumerate(self.mechanism.joints):
            beside = [bodies[b] for b in (i, joint.parent) if b >= 0]
            slides = joint.kind == "prismatic"
            worst = max(worst, sum(1 / m + far**2 / least if slides else 1 / least for m, far, least in beside))
        return float(norm(self.mass_matrix).max() * worst)

    def _body(self, index: int) -> tuple[float, float, float]:
        """Mass, distance of the centre from the joint and least principal moment about it of all that a body carries."""
        load = None if self.load is None else self.load[:1]
        parts = [part for part in self.rough.parts(load) if part.body == index]
        m = float(sum(np.ravel(part.mass)[0] for part in parts))
        centre = sum(np.ravel(part.mass)[0] * part.centre.reshape(-1, 3)[0] for part in parts) / m
        inertia = np.zeros((3, 3))
        for part in parts:
            d = part.centre.reshape(-1, 3)[0] - centre
            inertia += part.inertia.reshape(-1, 3, 3)[0] + np.ravel(part.mass)[0] * (d @ d * np.eye(3) - np.outer(d, d))
        moments = np.linalg.eigvalsh(inertia)
        felt = moments[moments > NO_MOMENT * moments[-1]]   # a flat link turns about one axis, a thin rod about two
        return m, float(np.linalg.norm(centre)), float(felt[0]) if len(felt) else float("inf")

    @cached_property
    def sizes(self) -> Sizes:
        return Sizes(self)


def norm(matrix: Array) -> Array:
    """Largest row sum per state (count,) of (count, n, n), or largest entry of (count, n), as floats."""
    rounded = np.abs(np.asarray(matrix, dtype=float))
    return np.asarray(rounded.sum(axis=-1).max(axis=-1) if rounded.ndim == 3 else rounded.max(axis=-1))


def _condition(matrices: Array) -> float:
    values = np.linalg.svd(matrices, compute_uv=False)
    smallest = values[..., -1].min()
    return float((values[..., 0] / values[..., -1]).max()) if smallest > 0 else float("inf")


class Sizes:
    """How large the terms are that add up to an answer, per state: what round-off is measured against.

    A force is a sum over parts of levers times masses times accelerations. Taking every term with its absolute value,
    with a lever no longer than the distance from the joint to the mass centre, gives a size that no choice of frames
    changes and that stays honest where the sum itself cancels (a wrist that gravity does not load).
    """

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        reference, q = truth.rough, truth.floats["q"]
        self.placed = reference.placements(q)
        self.gravity = float(np.linalg.norm(reference.gravity))
        self.parts: list[tuple[list[int], Array, Array, Array, Array]] = []
        """(joints, whether each turns, levers (count, k), mass, norm of the tensor) of every part."""
        self.arms: list[Array] = []
        """Distances (count, k) of every part's centre from the frames of those joints, whatever their type."""
        for part in reference.parts(truth.load):
            at = self.placed[part.body]
            centre = at.shift[0] + (at.turn[0] @ part.centre[..., None])[..., 0]
            support = reference.supports[part.body]
            turns = np.array([truth.mechanism.joints[j].kind != "prismatic" for j in support])
            far = [np.linalg.norm(centre - self.placed[j].shift[0], axis=-1) for j in support]
            self.arms.append(np.stack([np.broadcast_to(x, (len(q),)) for x in far], axis=-1))
            inertia = np.linalg.norm(part.inertia, axis=(-2, -1))
            self.parts.append((support, turns.astype(float), np.where(turns, self.arms[-1], 1.0), part.mass, inertia))

    def pushed(self) -> Array:
        """Size of Jᵀ wrench (count, NV): its moment, and its force at the distance from the joint."""
        total, on = np.zeros(self.truth.floats["v"].shape), self.truth.rough.wrench
        if on is not None and on.body != BASE:
            at, wrench = self.placed[on.body], self.truth.floats["wrench"]
            point = at.shift[0] + at.turn[0] @ self.truth.rough.pose(on.pose)[1]
            moment, force = np.linalg.norm(wrench[:, :3], axis=-1), np.linalg.norm(wrench[:, 3:], axis=-1)
            for j in self.truth.rough.supports[on.body]:
                slides = self.truth.mechanism.joints[j].kind == "prismatic"
                total[:, j] = force if slides else moment + force * np.linalg.norm(point - self.placed[j].shift[0], axis=-1)
        return total

    def force(self, v: Array, a: Array, wrench: bool = True) -> Array:
        """Size of inverse dynamics at (q, v, a), its largest entry per state (count,)."""
        total = self.pushed() if wrench else np.zeros(v.shape)
        for (support, turns, levers, _, _), (force, moment) in zip(self.parts, self._resistance(v, a), strict=True):
            total[:, support] += levers * force[:, None] + turns * moment[:, None]
        return np.asarray(total.max(axis=-1))

    def wrench(self, v: Array, a: Array) -> Array:
        """Size of the wrenches across the joints at (q, v, a), its largest entry per state (count,)."""
        outside = self.truth.floats.get("wrench")
        total = self.pushed() + (0 if outside is None else norm(outside)[:, None])
        for (support, *_), arms, (force, moment) in zip(self.parts, self.arms, self._resistance(v, a), strict=True):
            total[:, support] += np.maximum(1.0, arms) * force[:, None] + moment[:, None]
        return np.asarray(total.max(axis=-1))

    def _resistance(self, v: Array, a: Array) -> Iterator[tuple[Array, Array]]:
        """Sizes (count,) of what every part resists with: a force at its centre and a moment."""
        v, a = np.abs(v), np.abs(a)
        for support, turns, levers, mass, inertia in self.parts:
            rate = (v[:, support] * turns).sum(axis=-1)
            speed = (v[:, support] * levers).sum(axis=-1)
            acceleration = (a[:, support] * levers).sum(axis=-1) + 2 * rate * speed + self.gravity
            yield mass * acceleration, inertia * ((a[:, support] * turns).sum(axis=-1) + 2 * rate * rate)

    def diagonal(self) -> Array:
        """Sizes of the mass matrix' diagonal entries (count, NV); that of M_jk is at most the root of two of them."""
        total = np.zeros(self.truth.floats["q"].shape)
        for support, turns, levers, mass, inertia in self.parts:
            total[:, support] += levers * levers * np.asarray(mass)[..., None] + turns * np.asarray(inertia)[..., None]
        return total

    def mass(self) -> Array:
        """Size of the mass matrix, its largest entry per state (count,)."""
        return np.asarray(self.diagonal().max(axis=-1))

    def length(self) -> Array:
        """Longest way along the bodies from the first joint on, per state (count,), in m: a lever, wherever the base stands."""
        reach: list[Any] = []
        for index, joint in enumerate(self.truth.mechanism.joints):
            if joint.parent == BASE:
                reach.append(np.zeros(self.truth.count))
            else:
                step = np.linalg.norm(self.placed[index].shift[0] - self.placed[joint.parent].shift[0], axis=-1)
                reach.append(step + reach[joint.parent])
        tool = 0.0
        if self.truth.rough.frame is not None:
            tool = float(np.linalg.norm(self.truth.rough.pose(self.truth.rough.frame.pose)[1]))
        return np.asarray(np.max(np.broadcast_arrays(*reach), axis=0) + tool)

    def distance(self) -> Array:
        """Size of the frame's place, per state (count,), in m: as far as its first joint stands from the base, and a lever."""
        frame = self.truth.rough.frame
        root = 0.0 if frame is None or frame.body == BASE else self.placed[self.truth.rough.supports[frame.body][0]].shift[0]
        return np.asarray(np.linalg.norm(np.atleast_2d(root), axis=-1) + self.length())

    def joint_acceleration(self) -> Array:
        """Size of the joints' accelerations per state (count,): M⁻¹ times that of the forces."""
        truth = self.truth
        a, tau = truth.results("forward_dynamics")["a"], truth.floats["tau"]
        forces = norm(truth.mass_matrix) * norm(a) + self.of("bias_force", "c") + norm(tau)
        return np.asarray(norm(truth.results("inverse_mass_matrix")["Minv"]) * forces)

    def acceleration(self) -> Array:
        """Size of the links' accelerations per state (count,): that of the joints', at a lever."""
        truth = self.truth
        rates = self.joint_acceleration() + 2 * np.abs(truth.floats["v"]).sum(axis=-1) ** 2
        return np.asarray(truth.mechanism.nv * np.maximum(1.0, self.length()) * rates + self.gravity)

    def mobility(self) -> Array:
        """Size of J M⁻¹ Jᵀ per state (count,): what it changes by, relatively, when M or J does, X = M⁻¹ Jᵀ being the lever."""
        truth = self.truth
        jacobian = truth.results("jacobian")["J"]
        with truth.scalars.working():
            lever = np.swapaxes(truth.results("inverse_mass_matrix")["Minv"] @ np.swapaxes(jacobian, -1, -2), -1, -2)
        return np.asarray(norm(truth.mass_matrix) * norm(lever) ** 2 + 2 * self.of("jacobian", "J") * norm(lever))

    def of(self, function: str, result: str) -> Array:
        """Natural size of one result of a function, per state (count,); its own largest entry where nothing better is known."""
        v, a = self.truth.floats["v"], self.truth.floats["a"]
        if result == "tau":
            return self.force(v, a)
        if result == "c":
            return self.force(v, 0 * a)
        if result == "g":
            return self.force(0 * v, 0 * a, wrench=False)
        if result == "M":
            return self.mass()
        if function in ("forward_kinematics", "jacobian"):
            return np.maximum(1.0, self.length()) if result != "p" else self.distance()
        if function == "link_accelerations":
            return self.acceleration()
        if function == "interbody_forces":   # F inherits the round-off of a
            rates = self.joint_acceleration()
            return rates if result == "a" else self.wrench(v, np.broadcast_to(rates[:, None], a.shape))
        if result == "Lambda_inv":
            return self.mobility()
        if result == "logdet":
            return log_sizes.log_determinant(self)
        if result == "grad":
            return log_sizes.gradient(self)
        if result == "det":
            diagonal = np.array(np.diagonal(self.truth.mass_matrix, axis1=-2, axis2=-1), dtype=float)
            return np.asarray(np.prod(diagonal, axis=-1))   # Hadamard's bound
        return largest(self.truth.results(function)[result])


def largest(values: Array) -> Array:
    """Largest magnitude per state (count,), as floats rounded up: of floats, or of balls with their radii."""
    flat = values.reshape(len(values), -1)
    if flat.dtype != object:
        return np.asarray(np.where(np.isfinite(flat).all(axis=-1), np.abs(flat).max(axis=-1), np.inf))
    return np.array([max(_above(x) for x in row) for row in flat])


def _above(ball: Any) -> float:
    upper = float(flint.arb(abs(ball)).upper()) if isinstance(ball, flint.arb) else abs(float(ball))
    return upper if upper == upper else float("inf")

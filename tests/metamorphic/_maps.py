"""Maps of every argument and every result between two descriptions of one motion, with other units,
another base and other coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np

from symgen.mechanism.mechanism import BASE, Limits, Mechanism
from symgen.reference.base import base_parameter_map
from symgen.reference.motion import Motion
from symgen.reference.precision import Array, Scalars
from symgen.verification.evaluating import Results
from symgen.vocabulary.poses import Pose
from tests.metamorphic._core import Change, Links, States, placement

ONE = Fraction(1)


@dataclass(frozen=True)
class Map:
    """From the numbers of the `old` description to those of the new one.

    New joint k is old joint `order[k]`. Old coordinates are multiplied by `scale_q` before `zero`
    is added, old velocities by `scale`. Lengths, masses and times are multiplied by their factors.
    The old base stands at `base` in the new one. Where `mirrored`, every point goes to the opposite
    side of the origin. Where not `origins`, the frames of the bodies stand elsewhere along the
    joints' axes. `frames` are the poses of the new frames of the bodies in the old ones, where
    these are others.
    """

    old: Mechanism
    order: tuple[int, ...]
    scale: tuple[Fraction, ...]
    scale_q: tuple[Fraction, ...]
    zero: tuple[Fraction, ...]
    length: Fraction = ONE
    mass: Fraction = ONE
    time: Fraction = ONE
    base: Pose = ()
    mirrored: bool = False
    origins: bool = True
    frames: tuple[Pose, ...] = ()
    _placed: dict[str, tuple[Array, Array]] = field(default_factory=dict)

    @property
    def action(self) -> Fraction:
        """Return the factor of a torque."""
        return self.mass * self.length**2 / self.time**2

    def change(self, mechanism: Mechanism, links: Links, amiss: str = "") -> Change:
        return Change(
            mechanism,
            links,
            self.arguments,
            partial(self.results, links),
            self.comparable,
            amiss=amiss,
        )

    def limits(self, joint: int, limits: Limits) -> Limits:
        """Return the limits of an old joint as the new joint declares them; joints of several
        coordinates have none.
        """
        if limits == Limits():
            return limits
        scale, zero = (
            self.scale[self.old.v_slices[joint].start],
            self.zero[self.old.q_slices[joint].start],
        )
        bounds = [
            None if end is None else end * scale + zero for end in (limits.lower, limits.upper)
        ]
        if scale < 0:
            bounds.reverse()
        rate, force = (
            None if x is None else x * abs(k)
            for x, k in ((limits.velocity, scale / self.time), (limits.effort, self.action / scale))
        )
        return Limits(bounds[0], bounds[1], rate, force)

    def arguments(self, states: States, scalars: Scalars) -> States:
        with scalars.working():
            arguments = {
                "q": self._coordinates(states["q"], scalars),
                "v": self._joints(states["v"], scalars, ONE / self.time, 1),
                "a": self._joints(states["a"], scalars, ONE / self.time**2, 1),
                "tau": self._joints(states["tau"], scalars, self.action, -1),
                "b": self._joints(states["b"], scalars, self.action, -1),
            }
            if "q_next" in states:
                arguments["q_next"] = self._coordinates(states["q_next"], scalars)
            if "pi" in states:
                arguments["pi"] = self._links(states["pi"], scalars, ONE)
            for time in {"dt", "instant"} & states.keys():
                arguments[time] = states[time] * scalars.constant(self.time)
            sign = -1 if self.mirrored else 1
            if "payload" in states:
                by = [self.mass, *[sign * self.length] * 3, *[self.mass * self.length**2] * 6]
                arguments["payload"] = states["payload"] * scalars.array(by)
            if "wrench" in states:  # in the axes of its link, which do not turn with the base
                arguments["wrench"] = states["wrench"] * scalars.array(
                    [self.action] * 3 + [sign * self.action / self.length] * 3
                )
            return arguments

    def results(self, links: Links, results: Results, states: States, scalars: Scalars) -> Results:
        with scalars.working():
            if "R_links" in results and self.frames:
                results = self._reframed(results, scalars)
            mapped = {name: self._result(name, values, scalars) for name, values in results.items()}
            if "U" in mapped:  # zero where the mass centre is at the base's origin
                mapped["U"] = (
                    mapped["U"] - self._weight(links, states, scalars) @ self._base(scalars)[1]
                )
            return mapped

    def _reframed(self, results: Results, scalars: Scalars) -> Results:
        """Poses of the links' new frames."""
        turns, shifts = results["R_links"], results["p_links"]
        reframed = []
        for i, pose in enumerate(self.frames):
            turn, shift = placement(pose, scalars)
            reframed.append(
                (turns[..., i, :, :] @ turn, shifts[..., i, :] + turns[..., i, :, :] @ shift)
            )
        return {
            "R_links": np.stack([turn for turn, _ in reframed], axis=-3),
            "p_links": np.stack([shift for _, shift in reframed], axis=-2),
        }

    def _weight(self, links: Links, states: States, scalars: Scalars) -> Array:
        """Return the weight of all moving links in the axes of the new base (..., 3)."""
        mass = scalars.array(
            [
                sum(
                    (body_part.mass for body in self.old.bodies for body_part in body.parts),
                    Fraction(0),
                )
            ]
        )
        if links.payload is not None and self.old.frame(links.payload).body != BASE:
            mass = mass + states["payload"][..., 0]
        by = self.mass * self.length / self.time**2 * (-1 if self.mirrored else 1)
        return (
            mass[..., None]
            * scalars.constant(by)
            * (self._base(scalars)[0] @ scalars.array(list(self.old.gravity)))
        )

    @property
    def _base_columns(self) -> list[int]:
        """Return the inertial parameters whose columns stay."""
        return base_parameter_map(Motion(self.old))[0]

    def _links(
        self, x: Array, scalars: Scalars, power: Fraction, columns: list[int] | None = None
    ) -> Array:
        """Map inertial parameters (..., 10·NB), or chosen columns, to the new units, order and
        frames of the links; with power −1, map quantities that are multiplied by the parameters.
        """
        sign = -1 if self.mirrored else 1
        by = [
            self.mass,
            *[sign * self.mass * self.length] * 3,
            *[self.mass * self.length**2] * 6,
        ] * len(self.old.bodies)
        if (
            columns is not None
        ):  # which stay as long as the links are the same ones, in the same frames
            return x * scalars.array([by[c] ** int(power) for c in columns])
        x = (x * scalars.array([factor ** int(power) for factor in by])).reshape(
            *x.shape[:-1], -1, 10
        )[..., list(self.order), :]
        if self.frames:
            x = np.stack(
                [
                    (factor @ outward if power < 0 else factor @ inward.T)
                    for factor, (outward, inward) in zip(
                        np.moveaxis(x, -2, 0),
                        [
                            _outside_and_inward(*placement(pose, scalars), scalars)
                            for pose in self.frames
                        ],
                        strict=True,
                    )
                ],
                axis=-2,
            )
        return x.reshape(*x.shape[:-2], -1)

    def comparable(self, name: str, values: Array) -> Array:
        """Return the part of a result that the change of frames leaves equal.

        It is independent of where on its axis a body's frame is placed. Of base parameters only
        their number is compared if the links have another order or other frames.
        """
        if name in ("Y_base", "pi_base") and (
            self.frames or self.order != tuple(range(len(self.order)))
        ):
            return 0 * values
        if self.origins or name not in ("alpha", "F"):
            return values
        return values[..., :3] if name == "alpha" else values[..., 3:]

    def _coordinates(self, values: Array, scalars: Scalars) -> Array:
        """Map the coordinates of joints (..., NQ)."""
        entries_in_order = entries(self.old.q_slices, self.order)
        return values[..., entries_in_order] * scalars.array(
            [self.scale_q[i] for i in entries_in_order]
        ) + scalars.array([self.zero[i] for i in entries_in_order])

    def _joints(
        self, values: Array, scalars: Scalars, factor: Fraction = ONE, power: int = 1
    ) -> Array:
        """Numbers of joints (..., NV), each multiplied by its scale to a power."""
        entries_in_order = entries(self.old.v_slices, self.order)
        return values[..., entries_in_order] * scalars.array(
            [factor * self.scale[i] ** power for i in entries_in_order]
        )

    def _square(
        self,
        values: Array,
        scalars: Scalars,
        factor: Fraction,
        power: int,
        of_rows: int | None = None,
    ) -> Array:
        """Scale columns, and rows by the same power unless another power is named."""
        swapped = np.swapaxes(self._joints(values, scalars, factor, power), -1, -2)
        return np.swapaxes(
            self._joints(swapped, scalars, ONE, power if of_rows is None else of_rows), -1, -2
        )

    def _rotated(
        self, values: Array, scalars: Scalars, angular: Fraction, linear: Fraction
    ) -> Array:
        """Vectors (..., 6), three and three, in the axes of the base."""
        turn, _ = self._base(scalars)
        sign = -1 if self.mirrored else 1
        vectors = (
            values[..., :3] * scalars.constant(angular),
            values[..., 3:] * scalars.constant(sign * linear),
        )
        return np.concatenate([vector @ turn.T for vector in vectors], axis=-1)

    def _base(self, scalars: Scalars) -> tuple[Array, Array]:
        if scalars.name not in self._placed:
            self._placed[scalars.name] = placement(self.base, scalars)
        return self._placed[scalars.name]

    def _result(self, name: str, x: Array, scalars: Scalars) -> Array:
        mass = self.mass * self.length**2
        if name in ("tau", "c", "g"):
            return self._joints(x, scalars, self.action, -1)
        if name == "q_next":
            return self._coordinates(x, scalars)
        if name == "delta":
            return self._joints(x, scalars, ONE, 1)
        if name == "v_next":
            return self._joints(x, scalars, ONE / self.time, 1)
        if name in ("a", "x"):
            return self._joints(x, scalars, ONE / self.time**2, 1)
        if name == "M":
            return self._square(x, scalars, mass, -1)
        if name in ("dtau_dq", "dtau_dv"):
            return self._square(
                x, scalars, self.action * (self.time if name == "dtau_dv" else ONE), -1
            )
        if name in ("da_dq", "da_dv"):
            return self._square(
                x, scalars, ONE / (self.time if name == "da_dv" else self.time**2), -1, 1
            )
        if name == "C":
            return self._square(x, scalars, mass / self.time, -1)
        if name in ("Y", "Y_base"):
            rows = np.swapaxes(
                self._joints(np.swapaxes(x, -1, -2), scalars, self.action, -1), -1, -2
            )
            return self._links(
                rows, scalars, -ONE, self._base_columns if name == "Y_base" else None
            )
        if name == "pi_base":
            return self._links(x, scalars, ONE, self._base_columns)
        if name == "Lambda":
            half = np.swapaxes(self._rotated(x, scalars, ONE, ONE / self.length), -1, -2)
            return self._rotated(half, scalars, mass, mass / self.length)
        if name == "Jbar":
            rows = self._rotated(x, scalars, ONE, ONE / self.length)
            return np.swapaxes(self._joints(np.swapaxes(rows, -1, -2), scalars, ONE, 1), -1, -2)
        if name == "Minv":
            return self._square(x, scalars, 1 / mass, 1)
        if name in ("det", "logdet"):
            by = ONE
            for scale in self.scale:
                by *= mass / scale**2
            return x * scalars.constant(by) if name == "det" else x + scalars.constant(by).log()
        if name == "grad":
            return self._joints(x, scalars, ONE, -1)
        if name == "R":
            return self._base(scalars)[0] @ x
        if name == "R_links":
            return self._base(scalars)[0] @ x[..., list(self.order), :, :]
        if name in ("p", "com", "p_links"):
            x = x[..., list(self.order), :] if name == "p_links" else x
            turn, shift = self._base(scalars)
            return (
                x * scalars.constant(-self.length if self.mirrored else self.length) @ turn.T
                + shift
            )
        if name in ("J", "A_G"):
            by = (ONE, self.length) if name == "J" else (mass, self.mass * self.length)
            columns = self._rotated(np.swapaxes(x, -1, -2), scalars, *by)
            return self._joints(np.swapaxes(columns, -1, -2), scalars, ONE, -1)
        if name == "Jcom":
            sign = -1 if self.mirrored else 1
            return self._joints(self._base(scalars)[0] @ x, scalars, sign * self.length, -1)
        if name in ("T", "U"):
            return x * scalars.constant(self.action)
        if name == "h":
            return self._rotated(x, scalars, mass / self.time, self.mass * self.length / self.time)
        if name == "Lambda_inv":
            half = np.swapaxes(self._rotated(x, scalars, ONE, self.length), -1, -2)
            return self._rotated(half, scalars, 1 / mass, self.length / mass)
        if name == "alpha":
            return self._rotated(
                x[..., list(self.order), :], scalars, ONE / self.time**2, self.length / self.time**2
            )
        if name in ("alpha_tip", "Jdot_v"):
            return self._rotated(x, scalars, ONE / self.time**2, self.length / self.time**2)
        if name in ("F", "hdot"):
            x = x[..., list(self.order), :] if name == "F" else x
            return self._rotated(x, scalars, self.action, self.action / self.length)
        raise NotImplementedError(
            f"no relation knows how the result '{name}' goes over; say so here"
        )


def _outside_and_inward(turn: Array, shift: Array, scalars: Scalars) -> tuple[Array, Array]:
    """Return the map (10, 10) of the inertial parameters in a displaced frame to those in the outer
    frame, and the inverse map.
    """

    def outside(turn: Array, shift: Array) -> Array:
        columns = []
        for unit in np.eye(10, dtype=int).tolist():
            m, h, (xx, xy, xz, yy, yz, zz) = unit[0], scalars.array(unit[1:4]), unit[4:]
            J = scalars.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            second = np.trace(J) / 2 * np.eye(3, dtype=int) - J
            turned, first = turn @ second @ turn.T, turn @ h
            second = (
                turned
                + np.outer(first, shift)
                + np.outer(shift, first)
                + m * np.outer(shift, shift)
            )
            J = np.trace(second) * np.eye(3, dtype=int) - second
            columns.append(
                [
                    m + 0 * first[0],
                    *(first + m * shift),
                    J[0, 0],
                    J[0, 1],
                    J[0, 2],
                    J[1, 1],
                    J[1, 2],
                    J[2, 2],
                ]
            )
        return np.array(columns, dtype=object).T

    return outside(turn, shift), outside(turn.T, -(turn.T @ shift))


def unchanged(old: Mechanism, **changes: object) -> Map:
    """Return a map that changes nothing except `changes`."""
    identity: dict[str, object] = {
        "order": tuple(range(len(old.joints))),
        "scale": (ONE,) * old.nv,
        "scale_q": (ONE,) * old.nq,
        "zero": (Fraction(0),) * old.nq,
    }
    return Map(old, **{**identity, **changes})


def entries(slices: Sequence[slice], joints: Iterable[int]) -> list[int]:
    """Places in q or v of some joints, in their order."""
    return [k for i in joints for k in range(slices[i].start, slices[i].stop)]

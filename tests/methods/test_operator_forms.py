"""RK's operator forms (3.12)-(3.21) of a declared chain against symgen's programs: J, C with gravity, the mass operator.

Everything in the axes of the base and over balls; joints turn or slide, a sliding one by (2.31)-(2.32) with O(k) on the link
that slides, where the printed (2.32) misses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.description.tip import tip
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from tests.shared.operators import Operators, shift, skew
from tests.shared.robots_for_tests import BALLS, draw, largest, random_mechanism, run

CHAINS = {"turning": ("revolute",), "mixed": ("revolute", "prismatic"), "sliding": ("prismatic",)}
N = 5


@dataclass(frozen=True)
class Chain:
    """A mechanism at one state as RK's operators: `rates` θ̇, `tip` = φ(1, 0), `lifted` = −g as a twist, tip first."""

    o: Operators
    rates: Array
    tip: Array
    lifted: Array
    slides: list[bool]

    def J(self) -> Array:
        B = np.concatenate([self.tip, *[0 * self.tip] * (self.o.N - 1)])  # (3.7)
        return B.T @ self.o.phi.T @ self.o.H.T  # (3.13)

    def C(self, slide: int = 2) -> Array:
        """Of (3.20), gravity by (3.21); `slide`: how often a sliding rate enters (2.32)."""
        o = self.o
        V = (o.phi.T @ o.H.T @ self.rates).reshape(-1, 6)  # (3.12)
        a, b = [], []
        for k in range(o.N):
            outer = V[k + 1][:3] if k + 1 < o.N else 0 * V[0][:3]
            reach = o.steps[k][:3, 3:]
            ell = np.array([reach[2, 1], reach[0, 2], reach[1, 0]], dtype=object)
            h = o.axes[k][0]
            inner = skew(outer) @ ell
            if self.slides[k]:
                a.append(
                    np.concatenate([0 * ell, skew(outer) @ (inner + slide * h[3:] * self.rates[k])])
                )  # (2.32)
            else:
                a.append(
                    np.concatenate([skew(outer) @ h[:3] * self.rates[k], skew(outer) @ inner])
                )  # (2.19)
            omega, M = V[k][:3], o.inertias[k]
            b.append(
                np.concatenate([skew(omega) @ M[:3, :3] @ omega, -skew(omega) @ M[:3, 3:] @ omega])
            )  # (2.23)
        E = np.concatenate([*[0 * self.tip] * (o.N - 1), o.steps[-1].T])  # (3.8)
        return (
            o.H
            @ o.phi
            @ (o.M @ o.phi.T @ (np.concatenate(a) + E @ self.lifted) + np.concatenate(b))
        )  # (3.20)


@cache
def mechanism(name: str) -> Mechanism:
    made = random_mechanism(N, seed=2, joints=CHAINS[name])
    assert {joint.kind for joint in made.joints} == set(CHAINS[name])
    return made


@cache
def chain(name: str) -> tuple[Chain, dict[str, Array]]:
    made, at = mechanism(name), draw(mechanism(name), 1, BALLS)
    reference = Reference(made, BALLS, frame=tip(made))
    with BALLS.working():
        placed = reference.placements(at["q"][0])
        origins = [place.shift[0] for place in placed]
        steps, axes, inertias, slides = [], [], [], []
        for i, (joint, part, place) in enumerate(
            zip(made.joints, reference.parts(), placed, strict=True)
        ):
            turn = place.turn[0]
            h = turn @ BALLS.array(np.array(joint.axis, dtype=object))
            h, nothing = h / (h @ h).sqrt(), 0 * h
            slides.append(joint.kind == "prismatic")
            axes.append(
                np.array([[*nothing, *h] if slides[-1] else [*h, *nothing]], dtype=object)
            )  # (2.16), (2.31)
            steps.append(shift(origins[i] - (origins[i - 1] if i else 0)))
            p, m = skew(turn @ part.centre), part.mass
            centred = turn @ part.inertia @ turn.T
            inertias.append(
                np.block(
                    [
                        [centred - m * p @ p, m * p],
                        [-m * p, m * np.array(np.eye(3, dtype=int), dtype=object)],
                    ]
                )
            )
        frame = reference.evaluate("forward_kinematics", {"q": at["q"]})["p"][0]
        lifted = -np.concatenate(
            [0 * origins[0], BALLS.array(np.array(made.gravity, dtype=object))]
        )
        found = Chain(
            Operators(steps[::-1], axes[::-1], inertias[::-1]),
            at["v"][0][::-1],
            shift(frame - origins[-1]),
            lifted,
            slides[::-1],
        )
    return found, at


def program(name: str, function: str) -> Array:
    """One result at the chain's state."""
    (found,) = run(symgen.program(mechanism(name), function), chain(name)[1], BALLS).values()
    return found[0]


@pytest.mark.parametrize("name", CHAINS)
def test_the_jacobian_is_the_operators(name: str) -> None:
    found, J = chain(name)[0], program(name, "jacobian")
    with BALLS.working():
        assert largest(found.J()[:, ::-1] - J) < 1e-40


@pytest.mark.parametrize("name", CHAINS)
def test_the_bias_is_the_operators_and_the_printed_coriolis_of_a_slide_misses(name: str) -> None:
    found, c = chain(name)[0], program(name, "bias_force")
    with BALLS.working():
        assert largest(found.C()[::-1] - c) < 1e-40 * largest(c)
        printed = largest(found.C(slide=1)[::-1] - c)
        if name == "mixed":
            assert printed > 1e-3
        else:  # nothing slides, or nothing turns
            assert printed < 1e-40 * largest(c)


@pytest.mark.parametrize("name", CHAINS)
def test_the_mass_operator_is_the_mass_matrix(name: str) -> None:
    found, mass = chain(name)[0], program(name, "mass_matrix")
    with BALLS.working():
        assert largest(found.o.mass[::-1, ::-1] - mass) < 1e-40 * largest(mass)

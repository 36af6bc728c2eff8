"""RK's operator forms (3.12)-(3.21) of a declared chain against symgen's Programs: J, C with gravity, and M.

All quantities are in the base frame, in ball arithmetic. Joints are revolute or prismatic. A
prismatic joint follows (2.31)-(2.32) with O(k) on the moving link, where the printed (2.32) is wrong.
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
        """Return C by (3.20), with gravity by (3.21); `slide` is the factor of a sliding rate in (2.32)."""
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
def declared_chain(name: str) -> Mechanism:
    mechanism = random_mechanism(N, seed=2, joints=CHAINS[name])
    assert {joint.kind for joint in mechanism.joints} == set(CHAINS[name])
    return mechanism


@cache
def chain(name: str) -> tuple[Chain, dict[str, Array]]:
    mechanism, at = declared_chain(name), draw(declared_chain(name), 1, BALLS)
    reference = Reference(mechanism, BALLS, frame=tip(mechanism))
    with BALLS.working():
        placements = reference.placements(at["q"][0])
        origins = [placement.shift[0] for placement in placements]
        steps, axes, inertias, slides = [], [], [], []
        for i, (joint, part, placement) in enumerate(
            zip(mechanism.joints, reference.parts(), placements, strict=True)
        ):
            turn = placement.turn[0]
            h = turn @ BALLS.array(np.array(joint.axis, dtype=object))
            h, zero = h / (h @ h).sqrt(), 0 * h
            slides.append(joint.kind == "prismatic")
            axes.append(
                np.array([[*zero, *h] if slides[-1] else [*h, *zero]], dtype=object)
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
            [0 * origins[0], BALLS.array(np.array(mechanism.gravity, dtype=object))]
        )
        operators = Chain(
            Operators(steps[::-1], axes[::-1], inertias[::-1]),
            at["v"][0][::-1],
            shift(frame - origins[-1]),
            lifted,
            slides[::-1],
        )
    return operators, at


def program(name: str, function: str) -> Array:
    """Evaluate the Program of a function at the chain's state and return its only result."""
    (result,) = run(symgen.program(declared_chain(name), function), chain(name)[1], BALLS).values()
    return result[0]


@pytest.mark.parametrize("name", CHAINS)
def test_the_jacobian_equals_that_of_the_operator_form(name: str) -> None:
    operators, J = chain(name)[0], program(name, "jacobian")
    with BALLS.working():
        assert largest(operators.J()[:, ::-1] - J) < 1e-40


@pytest.mark.parametrize("name", CHAINS)
def test_the_bias_force_equals_the_operator_form_and_not_the_printed_coriolis_term_of_a_prismatic_joint(
    name: str,
) -> None:
    operators, c = chain(name)[0], program(name, "bias_force")
    with BALLS.working():
        assert largest(operators.C()[::-1] - c) < 1e-40 * largest(c)
        printed = largest(operators.C(slide=1)[::-1] - c)
        if name == "mixed":
            assert printed > 1e-3
        else:  # no prismatic or no revolute joint
            assert printed < 1e-40 * largest(c)


@pytest.mark.parametrize("name", CHAINS)
def test_the_mass_operator_equals_the_mass_matrix(name: str) -> None:
    operators, mass = chain(name)[0], program(name, "mass_matrix")
    with BALLS.working():
        assert largest(operators.o.mass[::-1, ::-1] - mass) < 1e-40 * largest(mass)

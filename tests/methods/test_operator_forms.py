"""RK's operator forms (3.12)-(3.21) of a declared robot against symgen's Programs: J, C with
gravity, and M.

Joints are revolute or prismatic, numbers are balls. A prismatic joint follows (2.31)-(2.32) with
O(k) on the moving link, where the printed (2.32) is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import flint
import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.papers.chain import State, chain
from symgen.papers.rk import Motion, Operators
from symgen.reference.precision import Array
from tests.shared.robots_for_tests import BALLS, draw, largest, random_mechanism, run

CHAINS = {"turning": ("revolute",), "mixed": ("revolute", "prismatic"), "sliding": ("prismatic",)}
N = 5


@cache
def declared_chain(name: str) -> Mechanism:
    mechanism = random_mechanism(N, seed=2, joints=CHAINS[name])
    assert {joint.kind for joint in mechanism.joints} == set(CHAINS[name])
    return mechanism


@cache
def state(name: str) -> dict[str, Array]:
    return draw(declared_chain(name), 1, BALLS)


@cache
def operators(name: str) -> Operators:
    q = state(name)["q"][0]
    with BALLS.working():
        return Operators(
            chain(
                declared_chain(name),
                State([(x / 2).tan() for x in q], list(q), flint.arb, inexact=True),
            )
        )


def motion(name: str, kind: type[Motion] = Motion) -> Motion:
    rates = [np.array([x], dtype=object) for x in state(name)["v"][0]]
    return kind(operators(name), rates, rates, {})


class Printed(Motion):
    """(2.32) as printed: the Coriolis term of a sliding joint once."""

    @property
    def bias_accelerations(self) -> list[Array]:  # type: ignore[override]
        result = []
        for i, (a, link) in enumerate(zip(super().bias_accelerations, self.o.links, strict=True)):
            outer = self.velocity(i)[:3]  # that of the parent, if the joint slides
            slide = (link.axes.T @ self.rates[i])[3:]
            result.append(np.concatenate([a[:3], a[3:] - np.cross(outer, slide)]))
        return result


def program(name: str, function: str) -> Array:
    """Evaluate the Program of a function at the chain's state and return its only result."""
    (result,) = run(symgen.program(declared_chain(name), function), state(name), BALLS).values()
    return result[0]


def column(compute: Callable[[], Array]) -> Array:
    """Entries in the order of v of a column in the order of the operators."""
    return compute()[::-1, 0]


@pytest.mark.parametrize("name", CHAINS)
def test_the_jacobian_equals_that_of_the_operator_form(name: str) -> None:
    """J = Bᵀ φᵀ Hᵀ (3.13) at the origin of the last link, in base axes."""
    o, mechanism = operators(name), declared_chain(name)
    J = run(
        symgen.program(mechanism, "jacobian", frame=mechanism.bodies[-1].name), state(name), BALLS
    )["J"][0]
    with BALLS.working():
        turn = np.eye(3, dtype=int)
        for link in o.links:
            turn = turn @ link.rotation
        in_link_axes = (o.phi.T @ o.H.T).entries[:6, ::-1]
        rotated = np.concatenate([turn @ in_link_axes[:3], turn @ in_link_axes[3:]])
        assert largest(rotated - J) < 1e-40


@pytest.mark.parametrize("name", CHAINS)
def test_the_bias_force_equals_the_operator_form_and_not_the_printed_term_of_a_prismatic_joint(
    name: str,
) -> None:
    c = program(name, "bias_force")
    with BALLS.working():
        assert largest(column(lambda: motion(name).bias.entries) - c) < 1e-40 * largest(c)
        printed = largest(column(lambda: motion(name, Printed).bias.entries) - c)
        if name == "mixed":
            assert printed > 1e-3
        else:  # no prismatic or no revolute joint
            assert printed < 1e-40 * largest(c)


@pytest.mark.parametrize("name", CHAINS)
def test_the_mass_operator_equals_the_mass_matrix(name: str) -> None:
    o, mass = operators(name), program(name, "mass_matrix")
    with BALLS.working():
        assert largest(o.mass_matrix.entries[::-1, ::-1] - mass) < 1e-40 * largest(mass)

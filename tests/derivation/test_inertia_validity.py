"""Quantities that decide whether run-time inertias are those of possible bodies."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from symgen.derivation import constants as k
from symgen.derivation.inertia_validity import SLACK, carried_masses, validity_margins
from symgen.derivation.model import find_indefinite_body
from symgen.derivation.model.links import declared
from symgen.derivation.runtime_inertia import BodyInertia, link_inertias
from symgen.derivation.scalars import Derivation
from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism, Part
from symgen.vocabulary.poses import X_AXIS, Angle, Rotate, Shift, Turn
from tests.derivation.exact_scalars import number, numbers, scalars
from tests.shared.robots_for_tests import random_mechanism

F = Fraction
CENTRE = (F(1, 2), F(-1), F(2))
MOMENTS = (F(20), F(1), F(-2), F(18), F(3), F(9))


def determinant(matrix: np.ndarray) -> Any:
    """Return a determinant by expansion along the first row."""
    if len(matrix) == 1:
        return matrix[0, 0]
    return sum(
        (-1) ** j * matrix[0, j] * determinant(np.delete(matrix[1:], j, axis=1))
        for j in range(len(matrix))
    )


def second_moments(mass: Fraction) -> np.ndarray:
    """Return Σ about the mass centre, with the slack of Σ about the origin on its diagonal."""
    xx, xy, xz, yy, yz, zz = MOMENTS
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)
    unit = np.array([[F(i == j) for j in range(3)] for i in range(3)], dtype=object)
    half_trace = sum(inertia.diagonal()) / 2
    centre = np.array(CENTRE, dtype=object)
    sigma = half_trace * unit - inertia - mass * np.outer(centre, centre)
    return sigma + half_trace / 2**16 * unit


def body(
    mass: Any, centre: tuple[Any, ...], inertia: tuple[Any, ...], central: bool
) -> BodyInertia:
    return BodyInertia(0, k.IDENTITY, k.ORIGIN, mass, centre, inertia, central)


def test_the_margins_of_a_body_are_its_mass_and_all_principal_minors() -> None:
    derivation, mass = Derivation({}), F(3, 2)
    with k.precision():
        parameters = scalars(derivation, (mass, *CENTRE, *MOMENTS))
        at_run_time = body(0, (1, 2, 3), (4, 5, 6, 7, 8, 9), False)
        margins = numbers(validity_margins(derivation, [at_run_time], parameters))
        sigma = second_moments(mass)
        minors = [
            determinant(sigma[np.ix_(rows, rows)])
            for size in (1, 2, 3)
            for rows in combinations(range(3), size)
        ]
        assert margins == [mass, *minors]
        # the same body with constants instead of parameters
        constant = body(
            k.rational(mass), tuple(map(k.rational, CENTRE)), tuple(map(k.rational, MOMENTS)), False
        )
        assert numbers(validity_margins(derivation, [constant], [])) == minors
        central = body(0, (1, 2, 3), tuple(map(k.rational, MOMENTS)), True)
        assert numbers(validity_margins(derivation, [central], parameters)) == [mass]
        assert k.to_fraction(SLACK) == F(1, 2**16)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical", "helical"])
def test_a_joint_carries_the_masses_or_moments_of_all_links_beyond_it(kind: str) -> None:
    mechanism = random_mechanism(5, 2, "tree", (kind,), general=False)
    assert len({*mechanism.parents}) > 2
    with k.precision():
        model, derivation = declared(mechanism), Derivation({})
        inertias = link_inertias(derivation, model, [link.inertia for link in model.links], [], [])
        carried = carried_masses(derivation, model, inertias)
        for i, link in enumerate(model.links):
            beyond = [j for j in range(5) if j == i or i in model.ancestors(j)]
            expected = F(0)
            for j in beyond:
                inertia = model.links[j].inertia
                expected += k.to_fraction(inertia.m)
                if link.turns:
                    expected += sum(map(k.to_fraction, (inertia.S[n] for n in (0, 3, 5))))
            assert number(carried[i]) == expected


# -- links whose inertia cannot be inverted --------------------------------------------------------

TURNED = (Rotate((F(1), F(2), F(-1), F(3))),)
UP, ASIDE = (Shift((F(0), F(0), F(1))),), (Shift((F(1), F(2), F(0))),)
ZERO = (F(0),) * 6


def moments(xx: Any, yy: Any, zz: Any) -> Any:
    return (F(xx), F(0), F(0), F(yy), F(0), F(zz))


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([Part("p", (), F(1), moments(1, 2, 3))], ""),
        ([Part("p", (*ASIDE, *TURNED), F(1), moments(3, 1, 2))], ""),
        ([Part("p", (), F(1), (F(3), F(1), F(-1), F(3), F(1, 2), F(2)))], ""),
        ([], "has no mass"),
        ([Part("p", (), F(0), moments(1, 1, 1))], "has no mass"),
        ([Part("p", ASIDE, F(1))], "is a point mass"),
        ([Part("p", ASIDE, F(1)), Part("q", ASIDE, F(2))], "is a point mass"),
        *(
            ([Part("p", (*ASIDE, *pose), F(1), rod)], "has no moment of inertia about some axis")
            for pose in ((), TURNED)
            for rod in (moments(0, 1, 1), moments(1, 0, 1), moments(1, 1, 0))
        ),
        ([Part("p", UP, F(1)), Part("q", ASIDE, F(2))], "has no moment of inertia about some axis"),
        ([Part("p", UP, F(1)), Part("q", ASIDE, F(2)), Part("r", (), F(1))], ""),
        ([Part("p", UP, F(1)), Part("q", (), F(2), moments(0, 0, 1))], ""),
        ([Part("p", (), F(1), (F(1), F(1), F(0), F(1), F(0), F(1)))], "has no moment of inertia"),
        ([Part("p", (), F(1), moments(-1, -1, 1))], "has no moment of inertia"),
    ],
)
def test_a_body_without_some_moment_about_its_mass_centre_is_named(
    parts: list[Part], reason: str
) -> None:
    solid = Body("solid", (Part("s", (), F(1), moments(1, 1, 1)),))
    joints = (Joint("j0", "revolute", BASE), Joint("j1", "spherical", 0))
    mechanism = Mechanism("m", joints, (solid, Body("b", tuple(parts))))
    defect = find_indefinite_body(mechanism)
    assert (defect is None) == (not reason)
    if defect is not None:
        assert defect[0] == "b"
        assert defect[1].startswith(reason)


def test_the_first_of_several_bodies_is_named() -> None:
    joints = (Joint("a", "spherical", BASE), Joint("b", "revolute", 0))
    rod = Part("r", (Turn(X_AXIS, Angle(F(1))),), F(1), moments(0, 1, 1))
    mechanism = Mechanism("m", joints, (Body("first", (rod,)), Body("second")))
    defect = find_indefinite_body(mechanism)
    assert defect is not None
    assert defect[0] == "first"

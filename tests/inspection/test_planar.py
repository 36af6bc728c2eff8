"""Definitions of letters of planar chains with any number of links, evaluated at numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import cos, sin
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.inspection.general.definitions import definition
from symgen.inspection.general.formulas import Affine, Polynomial
from symgen.inspection.general.planar import Pieces, planar_chain
from symgen.inspection.general.request import chain_of
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.vocabulary.poses import X_AXIS, Angle, Shift, Slide, Turn

ROW, COLUMN = Affine("i", 0), Affine("j", 0)
COUNT = 4
RANDOM = np.random.default_rng(3)
Q, V, A = RANDOM.uniform(-2, 2, (3, COUNT))


@cache
def bars() -> Mechanism:
    """Build four bars whose first and last differ in mass, on a tilted base, with centres and
    joints off one line.
    """
    robot = symgen.Robot("bars", gravity=("1.5", "-2", "-9"))
    for i, mass in enumerate(("2", "3", "3", "0.5")):
        robot.body(
            f"bar{i}",
            parent=f"bar{i - 1}" if i else "base",
            type="revolute",
            axis=(0, 0, 1),
            xyz=("0.4", "0.3", 0) if i else ("0.1", "-0.2", "0.7"),
            quaternion=(1, 0, 0, 0) if i else (2, 1, 2, 0),
            mass=mass,
            centre=("0.2", "-0.1", "0.3") if i < 3 else ("0.6", "0.25", "0.3"),
            inertia=("0.02", 0, 0, "0.03", 0, "0.05"),
        )
    return robot.build()


@cache
def masses() -> Mechanism:
    """Build four point masses at the ends of their links; the last link is longer."""
    robot = symgen.Robot("masses")
    for i, mass in enumerate(("2", "3", "3", "0.5")):
        robot.body(
            f"m{i}",
            parent=f"m{i - 1}" if i else "base",
            type="revolute",
            axis=(0, 0, 1),
            xyz=("0.6", "0.8", 0) if i else (0, 0, 0),
            mass=mass,
            centre=("0.6", "0.8", 0) if i < 3 else ("1.2", "-0.5", 0),
        )
    return robot.build()


def value_at(pieces: Pieces, **indices: int) -> float:
    """Return the sum of the terms of a definition at Q, V and A."""
    point = {"": 0, "n": COUNT, **indices}
    partial_sums = {"V": np.cumsum(V), "A": np.cumsum(A)}
    total = 0.0
    for kind, parts in pieces.items():
        angles = 2 * len(kind.multiples)
        for positions in product(range(COUNT), repeat=angles + len(kind.symbols)):
            values = {**point, **{f"p{k}": x for k, x in enumerate(positions)}}
            coefficient = sum(
                Polynomial(part.polynomial).at(values)
                for part in parts
                if all(values[c.left] - values[c.right] >= c.least for c in part.constraints)
            )
            angle = sum(
                multiple * Q[positions[2 * k] : positions[2 * k + 1] + 1].sum()
                for k, multiple in enumerate(kind.multiples)
            )
            term = sin(angle) if kind.sine else cos(angle)
            for (name, power), position in zip(kind.symbols, positions[angles:], strict=True):
                term *= partial_sums[name][position] ** power
            total += float(coefficient) * term
    return total


def defined(mechanism: Mechanism, origin: str, name: str, indices: list[Affine]) -> list[Pieces]:
    exact = definition(mechanism, (origin, name), indices)
    assert exact is not None
    return exact


def force(q: Any, v: Any, a: Any) -> Any:
    """Return the joint torques of the bars by the reference."""
    state = {"q": q[None], "v": v[None], "a": a[None]}
    return Reference(bars()).evaluate("inverse_dynamics", state)["tau"][0].astype(float)


def derivative(function: Callable[[Any], Any], at: Any, step: float = 1e-4) -> Any:
    """Return the matrix of central differences, with an error of the fourth power of the step."""
    columns = []
    for k in range(len(at)):
        unit = np.eye(len(at))[k] * step
        near = function(at + unit) - function(at - unit)
        far = function(at + 2 * unit) - function(at - 2 * unit)
        columns.append((8 * near - far) / (12 * step))
    return np.array(columns).T


def expected_motion(name: str) -> Any:
    """Return a letter of the equations of motion, from joint torques alone."""
    zero = np.zeros(COUNT)
    gravity = force(Q, zero, zero)
    rows: dict[str, Callable[[], Any]] = {
        "g": lambda: gravity,
        "c": lambda: force(Q, V, zero),
        "tau": lambda: force(Q, V, A),
        "M": lambda: np.array([force(Q, zero, unit) - gravity for unit in np.eye(COUNT)]).T,
        "dtau_dq": lambda: derivative(lambda q: force(q, V, A), Q),
        "dtau_dv": lambda: derivative(lambda v: force(Q, v, A), V),
        # half the derivative of the quadratic forms of Christoffel's symbols
        "C": lambda: derivative(lambda v: force(Q, v, zero), V) / 2,
    }
    return rows[name]()


@pytest.mark.parametrize("name", ["g", "c", "tau", "M", "C", "dtau_dv", "dtau_dq"])
def test_definitions_of_motion_are_the_torques_of_the_reference(name: str) -> None:
    expected = expected_motion(name)
    if expected.ndim == 1:
        (pieces,) = defined(bars(), "", name, [ROW])
        values: Any = [value_at(pieces, i=i) for i in range(COUNT)]
    else:
        (pieces,) = defined(bars(), "", name, [ROW, COLUMN])
        values = [[value_at(pieces, i=i, j=j) for j in range(COUNT)] for i in range(COUNT)]
    assert np.allclose(values, expected, rtol=0, atol=1e-9 * abs(expected).max())


def poses_of_links(mechanism: Mechanism) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the rotations, the origins and the mass centres of the links of the robot at Q."""
    reference = Reference(mechanism)
    poses = reference.placements(Q[None])
    turns = [np.array(pose.turn[0], dtype=float).reshape(3, 3) for pose in poses]
    origins = [np.array(pose.shift[0], dtype=float).reshape(3) for pose in poses]
    centres = [
        origins[part.body] + turns[part.body] @ np.array(part.centre, dtype=float)
        for part in reference.parts()
    ]
    return turns, origins, centres


def skew(x: Any) -> Any:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def test_the_origin_of_a_link_is_the_sum_of_the_links_before_it() -> None:
    _, origins, _ = poses_of_links(bars())
    for axis in range(3):
        (pieces,) = defined(bars(), "", "p_links", [ROW, Affine("", axis)])
        for i in range(COUNT):
            assert value_at(pieces, i=i) == pytest.approx(origins[i][axis], abs=1e-12)


@pytest.mark.parametrize("name", ["phi", "B", "T"])
def test_transforms_are_those_of_the_placed_links(name: str) -> None:
    """φ takes (moment, force) inward, B and T take (angular, linear) velocities outward."""
    turns, origins, centres = poses_of_links(bars())
    entries = defined(bars(), {"phi": "riccati"}.get(name, "udut"), name, [ROW, COLUMN])
    for i, j in product(range(COUNT), repeat=2):
        if (j < i) if name == "phi" else (i < j):
            continue
        if name == "phi":
            R, p = turns[i].T @ turns[j], turns[i].T @ (origins[j] - origins[i])
            expected = np.block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])
        elif name == "B":
            d = turns[j].T @ (centres[i] - centres[j])
            expected = np.block([[np.eye(3), np.zeros((3, 3))], [-skew(d), np.eye(3)]])
        else:
            lever = turns[i].T @ (centres[i] - origins[j])
            expected = np.concatenate([[0, 0, 1], np.cross([0, 0, 1], lever)])
        values = [value_at(pieces, i=i, j=j) for pieces in entries]
        assert values == pytest.approx([*expected.ravel()], abs=1e-12), (i, j)


def lengths_and_angles(points: Any) -> Any:
    """Return LC's coordinates of masses in the plane: lengths of links and angles between them."""
    links = np.diff(np.vstack([[0, 0], points.reshape(-1, 2)]), axis=0)
    directions = np.unwrap(np.arctan2(links[:, 1], links[:, 0]))
    return np.concatenate([np.hypot(*links.T), np.diff(np.concatenate([[0], directions]))])


@cache
def slopes() -> tuple[Any, Any]:
    """Return derivatives of lengths and angles by the positions of the masses, and the masses."""
    _, _, centres = poses_of_links(masses())
    points = np.array(centres)[:, :2].ravel()
    weights = [float(body.mass) for body in masses().bodies]
    return derivative(lengths_and_angles, points, 1e-3), np.repeat(weights, 2)


@pytest.mark.parametrize("name", ["H_L_L", "H_L_theta", "H_theta_L", "H_theta_theta"])
def test_blocks_of_lc_are_products_of_derivatives_over_the_masses(name: str) -> None:
    slopes_of_all, weights = slopes()
    H = slopes_of_all / weights @ slopes_of_all.T
    rows, columns = (COUNT * (part == "theta") for part in name.split("_")[1:])
    (pieces,) = defined(masses(), "lc", name, [ROW, COLUMN])
    for i, j in product(range(COUNT), repeat=2):
        expected = H[rows + i, columns + j]
        assert value_at(pieces, i=i, j=j) == pytest.approx(expected, abs=1e-8), (i, j)


@pytest.mark.parametrize(("name", "first"), [("dL_dx", 0), ("dtheta_dx", COUNT)])
def test_slopes_of_lc_are_derivatives_by_positions(name: str, first: int) -> None:
    slopes_of_all, _ = slopes()
    entries = defined(masses(), "fixman", name, [ROW, COLUMN])
    for i, j in product(range(COUNT), repeat=2):
        values = [value_at(pieces, i=i, j=j) for pieces in entries]
        assert values == pytest.approx([*slopes_of_all[first + i, 2 * j : 2 * j + 2]], abs=1e-8), (
            i,
            j,
        )


def changed(mechanism: Mechanism, link: int, **changes: Any) -> Mechanism:
    joints = list(mechanism.joints)
    joints[link] = replace(joints[link], **changes)
    return replace(mechanism, joints=tuple(joints))


def test_only_chains_of_parallel_axes_without_drives_are_planar() -> None:
    assert planar_chain(bars()) is not None
    for link in range(COUNT):
        for kind, parameters in (
            ("prismatic", ()),
            ("spherical", ()),
            ("helical", (("pitch", Fraction(1)),)),
        ):
            assert planar_chain(changed(bars(), link, kind=kind, parameters=parameters)) is None
        assert planar_chain(changed(bars(), link, drive=Drive(damping=Fraction(1)))) is None
        if link:
            turned = (*bars().joints[link].pose, Turn(X_AXIS, Angle(pi=Fraction(1, 2))))
            assert planar_chain(changed(bars(), link, pose=turned)) is None
            shifted = (Shift((Fraction(1), Fraction(1), Fraction(0))),)
            assert planar_chain(changed(bars(), link, pose=shifted)) is None
    irrational = (Turn(X_AXIS, Angle(Fraction(3, 10))), Shift((Fraction(1),) * 3))
    assert planar_chain(changed(bars(), 0, pose=irrational)) is None
    diagonal = Slide((Fraction(1), Fraction(1), Fraction(0)), Fraction(1))
    assert planar_chain(changed(bars(), 0, pose=(diagonal,))) is None  # at distances of 1/√2
    part = replace(bars().bodies[2].parts[0], gravcomp=Fraction(1, 2))
    bodies = (*bars().bodies[:2], replace(bars().bodies[2], parts=(part,)), bars().bodies[3])
    assert planar_chain(replace(bars(), bodies=bodies)) is None


def test_the_numbers_of_a_planar_chain_are_those_of_its_links() -> None:
    """Second moments are about the joint: Izz plus the mass times the square of the distance."""
    chain = planar_chain(bars())
    assert chain is not None
    assert chain.step == (Fraction(2, 5), Fraction(3, 10))
    assert chain.rise == 0
    assert [body.mass for body in chain.bodies] == [2, 3, Fraction(1, 2)]
    assert chain.bodies[1].first == (Fraction(3, 5), Fraction(-3, 10))
    assert chain.bodies[1].second == Fraction(1, 20) + 3 * Fraction(1, 20)
    assert chain_of(bars(), COUNT, "M[i,j]").bodies[1].parts == bars().bodies[1].parts


def test_the_origin_of_a_link_has_the_heights_of_the_links_before_it() -> None:
    """Every joint is 1 along x and 1 along z from the one before it, and the first at its place."""
    raised, step = bars(), Shift((Fraction(1), Fraction(0), Fraction(1)))
    for link in range(1, COUNT):
        raised = changed(raised, link, pose=(step,))
    _, origins, _ = poses_of_links(raised)
    for axis in range(3):
        (pieces,) = defined(raised, "", "p_links", [ROW, Affine("", axis)])
        for i in range(COUNT):
            assert value_at(pieces, i=i) == pytest.approx(origins[i][axis], abs=1e-12)


def test_letters_of_lc_need_point_masses_at_rational_distances() -> None:
    """Link 2 is like link 1, so that the numbers of links 0, 1 and 3 are those of the chain."""
    assert definition(bars(), ("lc", "H_L_L"), [ROW, COLUMN]) is None
    assert definition(masses(), ("lc", "H_L_L"), [ROW, COLUMN]) is not None
    changes: tuple[dict[str, Any], ...] = (
        {"moments": (*[Fraction(0)] * 5, Fraction(1))},
        {"mass": Fraction(0)},
        {"pose": (Shift((Fraction(1), Fraction(1), Fraction(0))),)},  # of length √2
        {"pose": (Shift((Fraction(1), Fraction(0), Fraction(0))),)},  # not at the next joint
    )
    for link, change in product((0, 1, 3), changes):
        if (link, change) == (3, changes[-1]):  # no joint is at the end of the last link
            continue
        bodies = list(masses().bodies)
        bodies[link] = replace(bodies[link], parts=(replace(bodies[link].parts[0], **change),))
        without = definition(
            replace(masses(), bodies=tuple(bodies)), ("lc", "H_L_L"), [ROW, COLUMN]
        )
        assert without is None, (link, change)


def test_transforms_need_joints_along_z_and_links_at_one_height() -> None:
    raised = changed(bars(), 0)  # the same robot with every joint higher than the one before it
    for link in range(1, COUNT):
        step = Shift((Fraction(1), Fraction(0), Fraction(1)))
        raised = changed(raised, link, pose=(step,))
    assert definition(raised, ("riccati", "phi"), [ROW, COLUMN]) is None
    assert definition(raised, ("udut", "B"), [ROW, COLUMN]) is None
    assert definition(raised, ("udut", "T"), [ROW, COLUMN]) is not None
    bodies = list(bars().bodies)
    for link in (0, 1, 3):
        part = replace(bodies[link].parts[0], mass=Fraction(0))
        light = (*bodies[:link], replace(bodies[link], parts=(part,)), *bodies[link + 1 :])
        massless = replace(bars(), bodies=light)
        assert definition(massless, ("udut", "T"), [ROW, COLUMN]) is None
        assert definition(massless, ("udut", "B"), [ROW, COLUMN]) is None
        assert definition(massless, ("riccati", "phi"), [ROW, COLUMN]) is not None
    uneven = replace(bodies[1].parts[0], pose=(Shift((Fraction(0), Fraction(1), Fraction(9))),))
    wavy = replace(bars(), bodies=(bodies[0], replace(bodies[1], parts=(uneven,)), *bodies[2:]))
    assert definition(wavy, ("udut", "B"), [ROW, COLUMN]) is None
    assert definition(wavy, ("udut", "T"), [ROW, COLUMN]) is not None
    assert definition(wavy, ("riccati", "phi"), [ROW, COLUMN]) is not None
    about_y = bars()
    for link in range(COUNT):
        about_y = changed(about_y, link, axis=(Fraction(0), Fraction(1), Fraction(0)))
    assert definition(about_y, ("", "M"), [ROW, COLUMN]) is not None
    for origin, name in (("riccati", "phi"), ("udut", "T"), ("udut", "B")):
        assert definition(about_y, (origin, name), [ROW, COLUMN]) is None
    assert definition(bars(), ("riccati", "psi"), [ROW, COLUMN]) is None

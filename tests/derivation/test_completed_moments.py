"""Moments of inertia that no motion depends on: added where a method divides by every link's
inertia.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.model import (
    Model,
    complete_moments,
    completed_links,
    completion_note,
    declared,
    find_indefinite_body,
)
from symgen.derivation.model.definite import central_moments
from symgen.inspection.reading import render
from symgen.mechanism.mechanism import Body, Joint, Mechanism
from symgen.papers import ff, wc
from symgen.papers.chain import chain
from symgen.papers.identities import prove_identities
from symgen.pipeline.loops.build import placed_links
from symgen.support.errors import MethodRefusal, SymgenWarning
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, pose
from tests.shared.robots_for_tests import draw, point_mass_arm, random_mechanism, rods, run

TILTED = (Fraction(0), Fraction(3, 5), Fraction(4, 5))
"""A direction that is neither along a rod nor across it in a coordinate plane."""


def _moments(model: Model) -> list[np.ndarray]:
    return [
        np.array([[float(x) for x in row] for row in central_moments(link.inertia)])
        for link in model.links
    ]


def _with_moments(robot: Mechanism, i: int, *moments: int | Fraction) -> Mechanism:
    """Return a robot with other moments of one body about its mass centre."""
    xx, xy, xz, yy, yz, zz = map(Fraction, moments)
    part = replace(robot.bodies[i].parts[0], moments=(xx, xy, xz, yy, yz, zz))
    bodies = list(robot.bodies)
    bodies[i] = Body(bodies[i].name, (part,))
    return replace(robot, bodies=tuple(bodies))


ACCEPTED = {
    "planar arm": rods(Z_AXIS, Z_AXIS),
    "tilted plane": rods(TILTED, TILTED),
    "opposite axes": rods(Z_AXIS, (Fraction(0), Fraction(0), Fraction(-1))),
    "cart and pole": rods(X_AXIS, Z_AXIS, sliding=1),
    "gantry and rod": rods(X_AXIS, Y_AXIS, Y_AXIS, sliding=2),
    "slides only": rods(X_AXIS, Y_AXIS, Z_AXIS, sliding=3),
    "point mass that slides": _with_moments(rods(X_AXIS, Z_AXIS, sliding=1), 0, 0, 0, 0, 0, 0, 0),
    "moment about the axis only": _with_moments(rods(Z_AXIS, Z_AXIS), 1, 0, 0, 0, 0, 0, 1),
}
REFUSED = {
    "rods about two axes": (rods(Z_AXIS, Y_AXIS), "b1"),
    "rod about its own axis": (rods(Z_AXIS, X_AXIS), "b1"),
    "rod that spins about its own axis": (rods(X_AXIS), "b0"),
    "slide after two axes": (rods(Z_AXIS, Y_AXIS, X_AXIS), "b1"),
    "point mass that turns": (point_mass_arm(1, 1), "b0"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_completed_moments_are_definite_and_act_alike_on_the_link_s_rotations(name: str) -> None:
    """J n, for the direction n about which a link turns, is the same before and after."""
    robot = ACCEPTED[name]
    with k.precision():
        model = declared(robot)
        completed = complete_moments(model)
    assert find_indefinite_body(robot) is None
    turning = [joint.kind == "revolute" for joint in robot.joints]
    for i, (before, after) in enumerate(zip(_moments(model), _moments(completed), strict=True)):
        assert np.linalg.eigvalsh(after).min() > 0
        if any(turning[: i + 1]):  # z is the axis of the joint, or parallel to it
            axis = np.array([0.0, 0.0, 1.0])
            if robot.joints[i].kind == "revolute":
                np.testing.assert_allclose(before @ axis, after @ axis, atol=1e-15)
        assert model.links[i].inertia.m == completed.links[i].inertia.m
        assert model.links[i].inertia.h == completed.links[i].inertia.h


@pytest.mark.parametrize(
    "name", ["tilted plane", "cart and pole", "gantry and rod", "point mass that slides"]
)
def test_added_moments_change_no_acceleration_and_no_interbody_force(name: str) -> None:
    robot = ACCEPTED[name]
    state = draw(robot, 3)
    for function, result in (("forward_dynamics", "a"), ("interbody_forces", "F")):
        forces = run(symgen.program(robot, function, "constraint_force"), state)[result]
        judge = run(symgen.program(robot, function, "riccati"), state)[result]
        # three joints of 12 kg and 1 m: some ten round-offs of numbers of order 100
        np.testing.assert_allclose(forces, judge, rtol=1e-11, atol=1e-11)
    determinant = "mass_matrix_determinant"
    np.testing.assert_allclose(
        run(symgen.program(robot, determinant, "fixman:spatial"), state)["det"],
        run(symgen.program(robot, determinant, "riccati"), state)["det"],
        rtol=1e-11,
    )


@pytest.mark.parametrize("name", REFUSED)
def test_moments_that_a_motion_depends_on_are_not_added(name: str) -> None:
    robot, body = REFUSED[name]
    defect = find_indefinite_body(robot)
    assert defect is not None
    assert defect[0] == body


def test_definite_links_keep_their_moments() -> None:
    robot = random_mechanism(3, seed=2)
    with k.precision():
        model = declared(robot)
        assert complete_moments(model) is model
    assert completed_links(robot) == ()


def test_only_links_without_an_inverse_are_completed() -> None:
    robot = _with_moments(rods(Z_AXIS, Z_AXIS, Z_AXIS), 1, 1, 0, 0, 1, 0, 1)
    assert completed_links(robot) == ("b0", "b2")
    assert chain(robot).completed_links == ("b0", "b2")


def test_a_ball_joint_turns_about_every_direction() -> None:
    ball = replace(rods(Z_AXIS), joints=(Joint("j0", "spherical", -1, ()),))
    assert find_indefinite_body(ball) == (
        "b0",
        "has no moment of inertia about some axis through its mass centre",
    )


def test_the_papers_complete_the_moments_that_the_programs_complete() -> None:
    for name, robot in ACCEPTED.items():
        if name == "tilted plane":  # rounded to rational rotations, so nearly parallel
            continue
        links = chain(robot)
        assert links.completed_links == completed_links(robot)
        with k.precision():
            completed = complete_moments(declared(robot))
        for link, moments in zip(links.completed.links, _moments(completed), strict=True):
            declared_moments = np.array([[float(x) for x in row] for row in link.central])
            np.testing.assert_allclose(
                np.sort(np.linalg.eigvalsh(declared_moments)),
                np.sort(np.linalg.eigvalsh(moments)),
                rtol=1e-12,
            )


@pytest.mark.parametrize("name", ["planar arm", "cart and pole", "point mass that slides"])
def test_the_partitions_hold_on_robots_of_rods(name: str) -> None:
    proved = prove_identities(ACCEPTED[name], ("wc", "ff"), states=1, programs=False)
    assert proved.holds
    assert not any(item.refusal for item in proved.papers)
    assert completion_note(proved.completed) in str(proved)
    assert proved.facts()["moments_completed"] == list(proved.completed)


def test_an_added_moment_about_the_axis_of_rotation_would_fail() -> None:
    """A completion that a motion depends on is seen: the judges have the declared moments."""
    links = chain(rods(Z_AXIS, Z_AXIS))
    wrong = list(links.completed.links)
    inertia = wrong[1].inertia.copy()
    inertia[2, 2] = inertia[2, 2] + 1
    central = wrong[1].central.copy()
    central[2, 2] = central[2, 2] + 1
    wrong[1] = replace(wrong[1], inertia=inertia, central=central)
    for module, equation in ((ff, "joint forces"), (wc, "(9)")):
        operators = module.Operators(links)
        operators.links = tuple(wrong)
        by_number = {item.number: item for item in module.EQUATIONS}
        assert not by_number[equation].holds(operators)
        assert by_number[equation].holds(module.Operators(links))


def test_a_rod_in_another_frame_is_completed_alike() -> None:
    """A frame of the link that is turned about z changes neither the acceleration nor its judge."""
    turned = pose(
        (Fraction(1, 2), Fraction(0), Fraction(0)), (Angle(), Angle(), Angle(pi=Fraction(1, 6)))
    )
    robot = rods(Z_AXIS, Z_AXIS)
    part = replace(robot.bodies[1].parts[0], pose=turned)
    robot = replace(robot, bodies=(robot.bodies[0], Body("b1", (part,))))
    state = draw(robot, 2)
    np.testing.assert_allclose(
        run(symgen.program(robot, "forward_dynamics", "constraint_force"), state)["a"],
        run(symgen.program(robot, "forward_dynamics", "riccati"), state)["a"],
        rtol=1e-11,
    )


def test_the_note_counts_the_links_and_names_the_first() -> None:
    assert completion_note(()) == ""
    assert completion_note(("arm",)).startswith("link 'arm' turns about one direction at most")
    assert completion_note(("arm", "hand")).startswith("2 links, such as 'arm', turn about")


def test_an_inspected_letter_says_that_moments_are_added() -> None:
    for letter, method in (("A[0,1]", "constraint_force"), ("I_inverse[0]", "fixman")):
        _, notes = render(rods(Z_AXIS, Z_AXIS), letter, method)
        assert completion_note(("b0", "b1")) in notes
    _, notes = render(random_mechanism(2, seed=2), "A[0,1]", "constraint_force")
    assert not any("moments about the other directions" in note for note in notes)


def test_loops_complete_the_moments_as_well() -> None:
    links = placed_links(rods(*[Z_AXIS] * 4), complete_moments).links
    for moments in _moments(Model("rods", links, k.ORIGIN)):
        assert np.linalg.eigvalsh(moments).min() > 0


def test_inertias_at_run_time_are_refused_where_moments_would_be_added() -> None:
    """The numbers that a user sets at run time would not contain the added moments."""
    robot = rods(Z_AXIS, Z_AXIS)
    sentence = (
        "constraint_force does not take inertias at run time on 'rods', since the inertia of "
        "link 'b0' has no inverse; use another method, such as riccati"
    )
    with pytest.raises(MethodRefusal, match=sentence):
        symgen.program(robot, "mass_matrix_determinant", "constraint_force", parameters=["b1"])
    definite = random_mechanism(2, seed=2)
    name = definite.bodies[1].name
    assert symgen.program(
        definite, "mass_matrix_determinant", "constraint_force", parameters=[name]
    ).rows


def test_letters_of_the_planar_form_keep_the_declared_moments() -> None:
    assert not methods.find("fixman:planar").inverts_inertias(rods(Z_AXIS, Z_AXIS))
    assert methods.find("fixman:spatial").inverts_inertias(rods(Z_AXIS, Z_AXIS))
    assert not methods.find("riccati").inverts_inertias(rods(Z_AXIS, Z_AXIS))


def test_rods_of_the_textbook_arm_keep_their_moment_about_z() -> None:
    """m l²/12 = 1/6 kg m² (1 m, 2 kg) is the moment about y and z; it is added about x and y."""
    with k.precision():
        link = complete_moments(declared(symgen.load("planar_arm"))).links[0]
        rows = [[k.to_fraction(x) for x in row] for row in central_moments(link.inertia)]
    assert rows == np.diag([Fraction(1, 6), Fraction(1, 3), Fraction(1, 6)]).tolist()


def test_python_warns_that_a_letter_has_added_moments() -> None:
    robot = rods(Z_AXIS, Z_AXIS)
    with pytest.warns(SymgenWarning, match="moments about the other directions are added"):
        symgen.inspect(robot, "I_inv[0]", "constraint_force")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        symgen.inspect(robot, "U[0,1]", "udut")

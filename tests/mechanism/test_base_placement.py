"""Where the base stands changes the place of the frame and nothing else: not a row, and no more round-off."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.derivation.spatial import Vector
from symgen.description.tip import tip
from symgen.verification.evaluating import machine_runner
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import X_AXIS, Angle, Turn
from tests.shared.placed_bases import FAR, based
from tests.shared.robots_for_tests import BALLS, PROVIDED, draw, largest, robot, run, task_rows

SAME = {
    "forward_kinematics": ("R",),
    "link_poses": ("R_links",),
    "center_of_mass": (),
    "potential_energy": (),
}
"""Of the functions that say where something is, the results that the base's place is no part of."""
EPS = 2.0**-23


@pytest.mark.parametrize(("function", "method"), [(f, m) for f, m in PROVIDED if ":" not in m])
def test_a_base_elsewhere_gives_the_same_rows(function: str, method: str) -> None:
    """By every method, on the arm where it suits it; all but places and the energy of the weight, which lies where they do."""
    slides = (
        ["prismatic_revolute"] if method in ("composite_body", "kinematics", "newton_euler") else []
    )
    for name in (
        name
        for name in ("planar_arm", *slides)
        if methods.find(method).refusal(robot(name)) is None
    ):
        here, there = (
            symgen.program(m, function, method, task_rows=task_rows(name, function))
            for m in (robot(name), based(robot(name), (FAR,)))
        )
        if function in SAME:
            near, far = (
                machine_runner(made)({"q": draw(robot(name), 4)["q"]}) for made in (here, there)
            )
            assert all((near[result] == far[result]).all() for result in SAME[function])
        else:
            assert (here.rows, here.outputs) == (there.rows, there.outputs)


def test_a_base_far_away_and_turned_costs_no_digit() -> None:
    """In float, against the robot at the origin in double; the base is turned by a quarter about x, and gravity with it."""
    mechanism = robot("planar_arm")
    x, y, z = mechanism.gravity
    turned = replace(
        based(mechanism, (FAR, Turn(X_AXIS, Angle(pi=Fraction(1, 2))))), gravity=(x, -z, y)
    )
    axes = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # of the old base in the new one
    both = np.kron(np.eye(2), axes)
    given = draw(mechanism, 8)
    for function in (
        "jacobian",
        "operational_inertia_inverse",
        "link_accelerations",
        "interbody_forces",
        "forward_dynamics",
        "bias_acceleration",
        "center_of_mass_jacobian",
        "kinetic_energy",
        "centroidal_momentum",
        "centroidal_momentum_matrix",
        "centroidal_momentum_rate",
    ):
        arguments = {a.name: given[a.name] for a in FUNCTIONS[function].arguments}
        exact = machine_runner(symgen.program(mechanism, function))(arguments)
        near = machine_runner(symgen.program(mechanism, function, real="float"))(arguments)
        far = machine_runner(symgen.program(turned, function, real="float"))(arguments)
        for result, want in exact.items():
            into = {
                "J": lambda x: both @ x,
                "Lambda_inv": lambda x: both @ x @ both.T,
                "a": lambda x: x,
                "T": lambda x: x,
                "A_G": lambda x: both @ x,
                "Jcom": lambda x: axes @ x,
            }
            there = into.get(result, lambda x: x @ both.T)(want)
            size = np.abs(want).max()
            lost, before = (
                np.abs(far[result] - there).max() / size,
                np.abs(near[result] - want).max() / size,
            )
            assert lost <= 2 * before + 8 * EPS, (function, result)


def test_places_and_the_weights_energy_go_with_the_base() -> None:
    """In balls: every link's origin and the mass centre by as much as the base, U by the weight of all that is moved so."""
    mechanism = robot("square_tree6")  # two roots
    far, given = based(mechanism, (FAR,)), {"q": draw(mechanism, 3, BALLS)["q"]}
    away = {
        "link_poses": ("p_links", FAR.xyz),
        "center_of_mass": ("com", FAR.xyz),
        "potential_energy": (
            "U",
            -mechanism.mass * sum(x * g for x, g in zip(FAR.xyz, mechanism.gravity, strict=True)),
        ),
    }
    for function, (result, moved) in away.items():
        here, there = (
            run(symgen.program(m, function), given, BALLS)[result] for m in (mechanism, far)
        )
        with BALLS.working():
            assert largest(there - here - BALLS.array(np.array(moved))) < 1e-60, function


def test_the_size_of_a_place_counts_how_far_the_base_is() -> None:
    """Round-off is measured against it: no smaller than the place, no larger than the base's distance and the arm's length."""
    far = Truth(based(robot("puma560"), (FAR,)), 4, frame=tip(robot("puma560")))
    place = np.array(far.results("forward_kinematics")["p"], dtype=float).reshape(4, 3)
    size, distance = far.scales.of("forward_kinematics", "p")[:, 0], np.linalg.norm(place, axis=-1)
    assert (size >= distance).all()
    assert (size <= distance + 5).all()  # m


def test_the_place_of_the_frame_is_rounded_once_where_it_is_far() -> None:
    far = based(robot("puma560"), (FAR,))
    given = {"q": draw(far, 8)["q"]}
    exact, found = (
        machine_runner(symgen.program(far, "forward_kinematics", real=real))(given)["p"]
        for real in ("double", "float")
    )
    assert np.abs(found - exact).max() <= 0.51 * EPS * 1024


def test_verify_sees_a_jacobian_that_loses_what_the_base_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The difference of two points in the base, as it once was, fails the check of round-off, and passes near the base."""
    from symgen.methods import kinematics
    from symgen.methods.kinematics import frames

    def by_points(linkage: Linkage) -> tuple[list[Scalar], ...]:
        poses, (_, step) = frames._poses(linkage)
        points: dict[int, Vector] = {}
        at = linkage.vector(linkage.model.links[0].base_shift)
        for i, (_, shift) in poses.items():
            at = points[i] = at + shift
        columns = []
        for i, (rotation, _) in poses.items():
            w = rotation.to_parent(linkage.links[i].dof.H_angular)
            columns.append([*w, *w.cross(at + step - points[i])])
        return ([column[r] for r in range(6) for column in columns],)

    arm = robot("ur5")  # on an arm of two joints the passes find the way past that difference
    monkeypatch.setattr(
        kinematics, "METHOD", replace(kinematics.METHOD, functions={"jacobian": by_points})
    )
    methods.find.cache_clear()
    try:
        for mechanism, holds in ((arm, True), (based(arm, (FAR,)), False)):
            named = replace(mechanism, name=f"{mechanism.name}_{holds}")
            assert symgen.verify(named, ["jacobian"], real="float", compiled=False).passed is holds
    finally:  # whatever happens, no other test meets this method
        monkeypatch.undo()
        methods.find.cache_clear()

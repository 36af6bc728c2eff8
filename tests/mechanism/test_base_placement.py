"""Placement of the base changes positions only: other Programs keep their rows and round-off."""

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
from symgen.verification.exact_results import ExactResults
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import X_AXIS, Angle, Turn
from tests.shared.placed_bases import FAR, based
from tests.shared.robots_for_tests import BALLS, PROVIDED, draw, largest, robot, run, task_rows

INDEPENDENT_RESULTS = {
    "forward_kinematics": ("R",),
    "link_poses": ("R_links",),
    "center_of_mass": (),
    "potential_energy": (),
}
"""Functions of positions, with their results that do not depend on the placement of the base."""
EPS = 2.0**-23


@pytest.mark.parametrize(("function", "method"), [(f, m) for f, m in PROVIDED if ":" not in m])
def test_a_displaced_base_gives_the_same_rows(function: str, method: str) -> None:
    """Every method on an arm gives the same rows, except for positions and potential energy."""
    slides = (
        ["prismatic_revolute"] if method in ("composite_body", "kinematics", "newton_euler") else []
    )
    for name in (
        name
        for name in ("planar_arm", *slides)
        if methods.find(method).refusal(robot(name)) is None
    ):
        original, displaced = (
            symgen.program(m, function, method, task_rows=task_rows(name, function))
            for m in (robot(name), based(robot(name), (FAR,)))
        )
        if function in INDEPENDENT_RESULTS:
            original_results, displaced_results = (
                machine_runner(program)({"q": draw(robot(name), 4)["q"]})
                for program in (original, displaced)
            )
            assert all(
                (original_results[result] == displaced_results[result]).all()
                for result in INDEPENDENT_RESULTS[function]
            )
        else:
            assert (original.rows, original.outputs) == (displaced.rows, displaced.outputs)


def test_a_distant_rotated_base_adds_no_round_off() -> None:
    """Compare float far away with double at the origin; base and gravity are rotated by π/2 about
    x.
    """
    mechanism = robot("planar_arm")
    x, y, z = mechanism.gravity
    turned = replace(
        based(mechanism, (FAR, Turn(X_AXIS, Angle(pi=Fraction(1, 2))))), gravity=(x, -z, y)
    )
    axes = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])  # axes of the old base in the new one
    block_rotation = np.kron(np.eye(2), axes)
    states = draw(mechanism, 8)
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
        arguments = {a.name: states[a.name] for a in FUNCTIONS[function].arguments}
        exact = machine_runner(symgen.program(mechanism, function))(arguments)
        near_results = machine_runner(symgen.program(mechanism, function, real="float"))(arguments)
        far_results = machine_runner(symgen.program(turned, function, real="float"))(arguments)
        for result, expected in exact.items():
            transforms = {
                "J": lambda x: block_rotation @ x,
                "Lambda_inv": lambda x: block_rotation @ x @ block_rotation.T,
                "a": lambda x: x,
                "T": lambda x: x,
                "A_G": lambda x: block_rotation @ x,
                "Jcom": lambda x: axes @ x,
            }
            expected_far = transforms.get(result, lambda x: x @ block_rotation.T)(expected)
            size = np.abs(expected).max()
            far_error, near_error = (
                np.abs(far_results[result] - expected_far).max() / size,
                np.abs(near_results[result] - expected).max() / size,
            )
            assert far_error <= 2 * near_error + 8 * EPS, (function, result)


def test_positions_and_potential_energy_move_with_the_base() -> None:
    """Origins and the mass centre move with the base; U changes by the work against gravity (ball
    arithmetic).
    """
    mechanism = robot("square_tree6")  # two roots
    displaced, state = based(mechanism, (FAR,)), {"q": draw(mechanism, 3, BALLS)["q"]}
    displacements = {
        "link_poses": ("p_links", FAR.xyz),
        "center_of_mass": ("com", FAR.xyz),
        "potential_energy": (
            "U",
            -mechanism.mass * sum(x * g for x, g in zip(FAR.xyz, mechanism.gravity, strict=True)),
        ),
    }
    for function, (result, displacement) in displacements.items():
        original, displaced_value = (
            run(symgen.program(m, function), state, BALLS)[result] for m in (mechanism, displaced)
        )
        with BALLS.working():
            assert (
                largest(displaced_value - original - BALLS.array(np.array(displacement))) < 1e-60
            ), function


def test_the_scale_of_a_position_includes_the_distance_of_the_base_and_its_size() -> None:
    """The scale of round-off is at least the distance, and at most the distance plus the arm's
    length.
    """
    exact_results = ExactResults(based(robot("puma560"), (FAR,)), 4, frame=tip(robot("puma560")))
    position = np.array(exact_results.results("forward_kinematics")["p"], dtype=float).reshape(4, 3)
    size, distance = (
        exact_results.scales.of("forward_kinematics", "p")[:, 0],
        np.linalg.norm(position, axis=-1),
    )
    assert (size >= distance).all()
    assert (size <= distance + 5).all()  # m


def test_a_distant_frame_position_is_rounded_once() -> None:
    displaced = based(robot("puma560"), (FAR,))
    state = {"q": draw(displaced, 8)["q"]}
    exact, single = (
        machine_runner(symgen.program(displaced, "forward_kinematics", real=real))(state)["p"]
        for real in ("double", "float")
    )
    assert np.abs(single - exact).max() <= 0.51 * EPS * 1024


@pytest.mark.slow
def test_verification_detects_a_jacobian_that_loses_digits_with_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A jacobian by the difference of two points in base axes fails the check of round-off far
    away.
    """
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

    arm = robot("ur5")  # for an arm of two joints the passes remove that difference
    monkeypatch.setattr(
        kinematics, "METHOD", replace(kinematics.METHOD, functions={"jacobian": by_points})
    )
    methods.find.cache_clear()
    try:
        for mechanism, passes in ((arm, True), (based(arm, (FAR,)), False)):
            named = replace(mechanism, name=f"{mechanism.name}_{passes}")
            assert symgen.verify(named, ["jacobian"], real="float", compiled=False).passed is passes
    finally:  # no other test may use this method
        monkeypatch.undo()
        methods.find.cache_clear()

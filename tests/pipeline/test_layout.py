"""Layouts of frames: no choice of origins and axes changes a result; the choice is repeatable."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import reframe
from symgen.derivation.model.share import GROUND, members
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import Rotation
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.report.show import facts, show
from symgen.pipeline import derive, layout
from symgen.pipeline.layout import PLAIN, Layout
from symgen.reference.mechanics import Reference
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests import layouts
from tests.shared.robots_for_tests import BALLS, draw, largest, of_kind, random_mechanism, run

PARALLEL = ("revolute", "prismatic", "helical", "cylindrical", "continuous", "revolute")
ASKED = (
    "inverse_dynamics",
    "mass_matrix",
    "forward_dynamics",
    "jacobian",
    "link_poses",
    "bias_acceleration",
    "centroidal_momentum_matrix",
    "link_accelerations",
    "mass_matrix_log_determinant_gradient",
    "mass_matrix_coriolis_and_bias",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "operational_inertia_inverse",
    "forward_kinematics",
    "center_of_mass_jacobian",
    "centroidal_momentum_rate",
    "kinetic_energy",
    "potential_energy",
)


@cache
def comb(seed: int) -> Mechanism:
    """Return a tree whose axes are parallel or antiparallel, except one."""
    source = Random(seed)
    mechanism = random_mechanism(6, seed=seed, kind="tree", general=False)
    joints = tuple(
        of_kind(joint, kind) for joint, kind in zip(mechanism.joints, PARALLEL, strict=True)
    )
    up = [(Fraction(0), Fraction(0), Fraction(source.choice((-1, 1)))) for _ in joints]
    joints = tuple(
        replace(joint, pose=joint.pose[:1], axis=axis) if i != 3 else joint
        for i, (joint, axis) in enumerate(zip(joints, up, strict=True))
    )
    return replace(mechanism, name=f"comb{seed}", joints=joints)


def groups_of(mechanism: Mechanism) -> list[int]:
    with k.precision():
        return [member.group for member in members(reframe(mechanism))]


def any_layout(mechanism: Mechanism, source: Random) -> Layout:
    """Return a random layout: any neighbour's plane and the axes of any link of the same group."""
    groups, slides, axes = groups_of(mechanism), [], []
    for i, joint in enumerate(mechanism.joints):
        if joint.type.directed:
            slides.append((i, source.choice([GROUND, *mechanism.children(i)])))
            axes.append(
                (
                    i,
                    source.choice(
                        [GROUND, *(j for j, group in enumerate(groups) if group == groups[i])]
                    ),
                )
            )
    return Layout(tuple(slides), tuple(axes))


def check_random_layouts(seed: int, function: str) -> None:
    """Check two methods in random layouts, with a payload and a wrench."""
    mechanism, source, links = (
        comb(seed),
        Random(f"{seed}/{function}"),
        {"payload": "link1", "wrench": "link5"},
    )
    able = [
        m
        for m in methods.providers(function)
        if methods.find(m).regroups and methods.find(m).refusal(mechanism) is None
    ]
    spec, at = FUNCTIONS[function], draw(mechanism, 1, BALLS, **links)
    arguments = {a.name: at[a.name] for a in (*spec.arguments, *spec.depends_on) if a.name in at}
    reference_results = Reference(mechanism, BALLS, frame="link5", **links).evaluate(
        function, arguments
    )
    options = derive.relevant(mechanism, function, ProgramOptions(frame="link5", **links))
    for method in source.sample(able, min(2, len(able))):
        recorded = derive.record(
            mechanism, function, method, options, any_layout(mechanism, source), 10**6
        )
        results = run(recorded, at, BALLS)
        for name, value in reference_results.items():
            with BALLS.working():
                assert largest(results[name] - value) <= 1e-40 * (largest(value) or 1.0), (
                    method,
                    name,
                )


@pytest.mark.parametrize("function", ASKED)
@pytest.mark.parametrize("seed", [5, 10])
def test_no_layout_changes_an_answer(seed: int, function: str) -> None:
    groups = groups_of(comb(seed))
    assert max(groups.count(group) for group in groups) > 3
    check_random_layouts(seed, function)


@pytest.mark.slow
@pytest.mark.usefixtures("full_search")
def test_no_layout_of_the_search_changes_an_answer() -> None:
    """Robots: a tree with parallel axes and a random tree."""
    for mechanism in (comb(5), random_mechanism(4, 5, "tree")):
        layouts_found = layout.layouts(mechanism)
        assert layouts_found != layout.Layouts()
        at = draw(mechanism, 1, BALLS)
        for function, method in layout.MEASURED:
            reference_results = Reference(mechanism, BALLS).evaluate(
                function, {a.name: at[a.name] for a in FUNCTIONS[function].arguments}
            )
            for where in layout.candidate_layouts(mechanism, function):
                results = run(
                    derive.record(mechanism, function, method, ProgramOptions(), where, 10**6),
                    at,
                    BALLS,
                )
                for name, value in reference_results.items():
                    with BALLS.working():
                        assert largest(results[name] - value) <= 1e-40 * (largest(value) or 1.0), (
                            where
                        )


@pytest.mark.parametrize("function", ["inverse_dynamics", "link_poses", "bias_acceleration"])
def test_a_missing_rotation_of_shared_axes_changes_results(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Linkage, "_slack", lambda self, i: Rotation([]))
    with pytest.raises(AssertionError):
        check_random_layouts(5, function)


ALSO_EQUAL = (
    ("inverse_dynamics_derivatives", "derivative_recursion"),
    ("forward_dynamics", "riccati:two_sweeps"),
)
"""Functions and methods that declare equalities of their own."""


def declared_equalities(
    mechanism: Mechanism, where: Layout, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[float, float]]:
    """Return (difference, size) of each pair declared equal, in dynamics, derivatives, and M."""
    at, differences = draw(mechanism, 1, BALLS), []
    for function, method in (*layout.MEASURED, *ALSO_EQUAL):
        pairs: list[tuple[Scalar, Scalar]] = []
        with monkeypatch.context() as patched:
            patched.setattr(
                Derivation,
                "either",
                lambda _, *pair, recorded_pairs=pairs: recorded_pairs.append(pair) or pair[0],
            )
            derive.record(mechanism, function, method, ProgramOptions(), where, 10**6)
        derivation = pairs[0][0].derivation
        sides = [
            (name, (len(pairs),), side)
            for name, side in zip(("one", "other"), zip(*pairs, strict=True), strict=True)
        ]
        result = run(
            derivation.freeze(
                "f", "m", sides, {name: (size,) for name, size in derivation.sizes.items()}
            ),
            at,
            BALLS,
        )
        with BALLS.working():
            differences += [
                (largest(a - b), largest(a))
                for a, b in zip(result["one"][0], result["other"][0], strict=True)
            ]
    return differences


@pytest.mark.parametrize("seed", [5, 10, 11])
def test_expressions_declared_equal_are_equal(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """This includes constants, which no evaluation modulo primes tests."""
    mechanism = comb(seed)
    differences = declared_equalities(mechanism, any_layout(mechanism, Random(seed)), monkeypatch)
    assert len(differences) > 20
    assert all(difference <= 1e-40 * max(size, 1.0) for difference, size in differences)


def test_a_wrong_sign_of_antiparallel_axes_breaks_declared_equalities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Rotation, "along_z", 1)
    assert any(
        difference > 1e-3 for difference, _ in declared_equalities(comb(5), PLAIN, monkeypatch)
    )


@pytest.mark.slow
@pytest.mark.usefixtures("full_search")
def test_committed_layouts_are_those_of_the_search() -> None:
    """A built-in robot gets the same C from the search, which has no time limit."""
    assert layouts.COMMITTED.read_text(encoding="utf-8") == layouts.text()


def test_equal_legs_choose_equal_axes() -> None:
    axes = dict(layout.layouts(symgen.load("quadruped")).general.axes)
    assert {i % 3 for i in axes} == {2}
    assert len(axes) == 4


def test_a_robot_too_long_to_search_has_the_plain_layout() -> None:
    assert layout.layouts(random_mechanism(layout.MOST_JOINTS + 1)) == layout.Layouts()


@pytest.mark.usefixtures("polished_here")
def test_no_function_is_longer_than_in_the_plain_layout() -> None:
    """A function keeps the plain layout where the general one makes it longer."""
    mechanism = symgen.load("panda")
    for function in ("mass_matrix_determinant", "center_of_mass", "forward_kinematics"):
        method = symgen.program(mechanism, function).method
        options = derive.relevant(mechanism, function, ProgramOptions())
        in_plain_layout = derive.passes.run(
            derive.record(mechanism, function, method, options, PLAIN, 10**6)
        )
        assert symgen.program(mechanism, function).cost <= in_plain_layout.cost


def test_show_says_whose_axes_are_shared() -> None:
    ur5 = symgen.load("ur5")
    assert "forearm_link in those of shoulder_link" in " ".join(show(ur5).split())
    assert [link["written_in"] for link in facts(ur5)["computed_in"]][1:3] == ["shoulder_link"] * 2
    assert np.allclose(facts(ur5)["computed_in"][1]["shift"], 0)


def test_show_says_which_functions_have_separate_frames() -> None:
    panda = symgen.load("panda")
    text = " ".join(show(panda).split())
    assert (
        "inverse_dynamics counts less in frames of its own: panda_link2 in those of panda_link1"
        in text
    )
    assert "mass_matrix counts less in frames of its own: panda_link7 in its own axes" in text
    assert set(facts(panda)["computed_in_by_function"]) == {"inverse_dynamics", "mass_matrix"}


@pytest.mark.slow
@pytest.mark.usefixtures("polished_here")
def test_a_function_has_the_layout_with_the_fewest_operations() -> None:
    """The candidates are its own layout, the general one and the plain one, after all passes."""
    mechanism = symgen.load("panda")
    for function, method in layout.MEASURED:
        counts = [
            derive.passes.run(
                derive.record(mechanism, function, method, ProgramOptions(), where, 10**6)
            ).cost
            for where in layout.candidate_layouts(mechanism, function)
        ]
        assert counts[1] < min(counts[0], counts[2])
        assert symgen.program(mechanism, function).cost == counts[1]
    assert len(layout.candidate_layouts(mechanism, "forward_dynamics")) == 4
    assert len(layout.candidate_layouts(mechanism, "jacobian")) == 2

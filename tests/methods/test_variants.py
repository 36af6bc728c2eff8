"""Variants of a method: what completes them, what they share, and what is asked of each by itself."""

from __future__ import annotations

from typing import Any

import pytest

import symgen
from symgen import methods
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, choose, derive
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import (
    FEW,
    OF_ANY_ROBOT,
    ROBOTS,
    TELLING,
    flat_chain,
    planar_rods,
    point_mass_arm,
    program,
    random_mechanism,
    robot,
    rows_of,
)

STANDING = [m for m in methods.names() if methods.find(m).stands_for is not None]
"""Methods that are one variant on some robots and another on others."""
DERIVED_AGAIN = (
    "mass_matrix_solve",
    "mass_matrix_determinant",
    "mass_matrix_log_determinant_gradient",
)
"""Where two names are alike there is one derivation: of one solve and of what is no solve it is seen to be."""


def standing(method: str, made: Mechanism) -> str:
    """Which variant it is on a robot."""
    stands_for = methods.find(method).stands_for
    assert stands_for is not None
    return f"{method}:{stands_for(made)}"


@pytest.mark.parametrize("method", STANDING)
@pytest.mark.parametrize("name", ["planar_point_mass", *FEW])
def test_a_method_that_stands_for_a_variant_gives_that_variants_programs(
    name: str, method: str
) -> None:
    if methods.find(method).refusal(robot(name)) is not None:
        pytest.skip("the method refuses this robot by name")
    variant = standing(method, robot(name))
    for function in OF_ANY_ROBOT:
        if {method, variant} <= set(choose.methods_for(robot(name), function)):
            assert methods.canonical_name(method, function, robot(name)) == methods.canonical_name(
                variant, function, robot(name)
            )
            if function in DERIVED_AGAIN:
                derived = derive.derive(robot(name), function, variant, ProgramOptions())
                assert program(name, function, method).rows == derived.rows


@pytest.mark.parametrize("method", STANDING)
def test_its_variants_compute_all_that_the_method_does(method: str) -> None:
    for function in (
        "mass_matrix_solve",
        "inverse_mass_matrix",
        "mass_matrix_determinant",
        "forward_dynamics",
        "operational_inertia_inverse",
    ):
        every = {
            method,
            *(
                f"{method}:{name}"
                for name, variant in methods.find(method).variants.items()
                if variant.choice != "explicit_loops"
            ),
        }
        assert every <= set(methods.providers(function))


@pytest.mark.parametrize("made", ["planar_arm", "planar_point_mass:3", "ur5", "flat"])
def test_the_search_for_the_cheapest_derives_nothing_twice(
    made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where one derivation has three names."""
    mechanism = flat_chain(3) if made == "flat" else symgen.load(made)
    found: list[Program] = []
    derivation = derive.record

    def watched(*given: Any) -> Program:
        found.append(derivation(*given))
        return found[-1]

    monkeypatch.setattr(derive, "record", watched)
    derive._attempt.cache_clear()
    for function in OF_ANY_ROBOT:
        if build.refusal(mechanism, function, None) is None and not methods.composers(function):
            found.clear()
            choose.best_program(
                mechanism, function, ProgramOptions(task_rows=rows_of(mechanism, function))
            )
            assert found or FUNCTIONS[function].ranked_as
            for i, one in enumerate(found):
                for other in found[i + 1 :]:
                    assert (
                        one.method.partition(":")[0] != other.method.partition(":")[0]
                        or one.rows != other.rows
                    ), (function, one.method, other.method)


def test_what_shares_a_derivation_would_have_been_derived_alike() -> None:
    scara = robot("scara")
    for function, shared in (
        ("forward_dynamics", {"riccati:fd4", "riccati:fd2"}),
        ("link_accelerations", {"riccati:fd2"}),
    ):
        assert shared <= {
            m
            for m in methods.providers(function)
            if methods.canonical_name(m, function, scara) != m
        }
        for method in shared:
            assert program("scara", function, method) == derive.derive(
                scara, function, method, ProgramOptions()
            )


@pytest.mark.parametrize(
    "made",
    [planar_rods(4), point_mass_arm(1, 2), flat_chain(4), *(robot(name) for name in FEW)],
    ids=lambda m: str(m.name),
)
def test_whether_the_answer_is_a_difference_of_larger_terms_is_asked_of_the_variant(
    made: Mechanism,
) -> None:
    """In space it always is; in a plane for rigid links, not for point masses."""
    assert methods.find("fixman:spatial").cancels(made)
    assert methods.find("fixman:planar").cancels(made) == (made.name != "arm")
    assert methods.find("fixman").cancels(made) == methods.find(standing("fixman", made)).cancels(
        made
    )
    assert methods.find("constraint_force").cancels(made)
    assert methods.find("constraint_force:parallel").cancels(made)
    others = [
        m for m in methods.names() if m.partition(":")[0] not in ("fixman", "constraint_force")
    ]
    assert not any(methods.find(m).cancels(made) for m in others)


@pytest.mark.parametrize("method", ["fixman", "fixman:planar", "fixman:spatial"])
def test_every_form_verifies_in_a_plane(method: str) -> None:
    asked = [
        f"{function}={method}" for function in OF_ANY_ROBOT if method in methods.providers(function)
    ]
    assert len(asked) >= 5
    flat = flat_chain(3)
    report = symgen.verify(
        flat, asked, states=2, compiled=False, task_rows=rows_of(flat, "operational_inertia")
    )
    assert report.passed, str(report)


@pytest.mark.parametrize(
    "method", [name for name in methods.names() if not methods.find(name).looped_only]
)
def test_what_is_read_of_a_method_is_a_derivation_that_has_a_name(method: str) -> None:
    for function in methods.find(method).functions:
        named = {
            methods.derivation(m, function)
            for m in methods.providers(function)
            if methods.composition(m, function) is None
        }
        assert all(
            methods.derivation_for_robot(method, function, robot(name)) in named
            for name in ROBOTS[:3]
            if methods.find(method).refusal(robot(name)) is None
        )


@pytest.mark.parametrize("name", TELLING)
def test_a_refusal_is_one_sentence_that_names_the_method_the_robot_and_a_way_out(name: str) -> None:
    for method in methods.names():
        why = methods.find(method).refusal(robot(name))
        if why is not None:
            assert why.startswith(method.partition(":")[0])
            assert f"'{robot(name).name}'" in why
            assert why.count(";") == 1
            assert "use " in why.partition(";")[2]
            assert "\n" not in why
            assert not why.endswith(".")


def test_fd4_is_the_shortest_of_long_chains_and_fd3_of_short_arms() -> None:
    """Docs say so of UR5, Panda and a chain of general joints."""

    def costs(made: Mechanism) -> dict[str, int]:
        return {
            name: build.program(made, "forward_dynamics", f"riccati:{name}").cost
            for name in ("fd1", "fd3", "fd4")
        }

    for arm in ("ur5", "panda"):
        counts = costs(robot(arm))
        assert counts["fd3"] < min(counts["fd1"], counts["fd4"])
    counts = costs(random_mechanism(12, 1))
    assert counts["fd4"] < counts["fd3"] < counts["fd1"]

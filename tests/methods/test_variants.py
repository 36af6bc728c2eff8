"""Variants of a method: aliases, shared derivations, precision loss, refusals and costs."""

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
from symgen.vocabulary.poses import Z_AXIS
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
    rods,
    rows_of,
)

STANDING = [m for m in methods.names() if methods.find(m).stands_for is not None]
"""Methods whose name stands for different variants on different robots."""
DERIVED_AGAIN = (
    "mass_matrix_solve",
    "mass_matrix_determinant",
    "mass_matrix_log_determinant_gradient",
)
"""Functions for which the test derives both names and compares the rows: one solve and two others.
"""


def variant_for_robot(method: str, mechanism: Mechanism) -> str:
    """Return the variant that a method's name stands for on a robot."""
    stands_for = methods.find(method).stands_for
    assert stands_for is not None
    return f"{method}:{stands_for(mechanism)}"


@pytest.mark.parametrize("method", STANDING)
@pytest.mark.parametrize("name", ["planar_point_mass", *FEW])
def test_a_method_and_the_variant_that_it_stands_for_give_the_same_programs(
    name: str, method: str
) -> None:
    if methods.find(method).refusal(robot(name)) is not None:
        pytest.skip("the method refuses this robot by name")
    variant = variant_for_robot(method, robot(name))
    for function in OF_ANY_ROBOT:
        if {method, variant} <= set(choose.methods_for(robot(name), function)):
            assert methods.canonical_name(method, function, robot(name)) == methods.canonical_name(
                variant, function, robot(name)
            )
            if function in DERIVED_AGAIN:
                derived = derive.derive(robot(name), function, variant, ProgramOptions())
                assert program(name, function, method).rows == derived.rows


@pytest.mark.parametrize("method", STANDING)
def test_variants_provide_every_function_of_their_factor(method: str) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize("robot_name", ["rods", "planar_point_mass:3", "ur5", "flat"])
def test_the_search_for_the_cheapest_program_derives_no_rows_twice(
    robot_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Derivations with several names are derived once as well.

    Chains have three joints: of two, every order of elimination is the same.
    """
    made = {"flat": lambda: flat_chain(3), "rods": lambda: rods(Z_AXIS, Z_AXIS, Z_AXIS)}
    mechanism = made.get(robot_name, lambda: symgen.load(robot_name))()
    programs: list[Program] = []
    derivation = derive.record

    def recorded(*arguments: Any) -> Program:
        programs.append(derivation(*arguments))
        return programs[-1]

    monkeypatch.setattr(derive, "record", recorded)
    derive._attempt.cache_clear()
    for function in OF_ANY_ROBOT:
        if build.refusal(mechanism, function, None) is None and not methods.composers(function):
            programs.clear()
            choose.best_program(
                mechanism, function, ProgramOptions(task_rows=rows_of(mechanism, function))
            )
            assert programs or FUNCTIONS[function].ranked_as
            for i, earlier in enumerate(programs):
                for later in programs[i + 1 :]:
                    assert (
                        earlier.method.partition(":")[0] != later.method.partition(":")[0]
                        or earlier.rows != later.rows
                    ), (function, earlier.method, later.method)


def test_variants_that_share_a_derivation_equal_their_own_derivation() -> None:
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
    "mechanism",
    [planar_rods(4), point_mass_arm(1, 2), flat_chain(4), *(robot(name) for name in FEW)],
    ids=lambda m: str(m.name),
)
def test_cancellation_is_a_property_of_the_variant_and_the_robot(
    mechanism: Mechanism,
) -> None:
    """`fixman:spatial` subtracts large terms on every robot, `fixman:planar` on rigid links but not
    on point masses.
    """
    assert methods.find("fixman:spatial").cancels(mechanism)
    assert methods.find("fixman:planar").cancels(mechanism) == (mechanism.name != "arm")
    assert methods.find("fixman").cancels(mechanism) == methods.find(
        variant_for_robot("fixman", mechanism)
    ).cancels(mechanism)
    assert methods.find("constraint_force").cancels(mechanism)
    assert methods.find("constraint_force:parallel").cancels(mechanism)
    other_methods = [
        m for m in methods.names() if m.partition(":")[0] not in ("fixman", "constraint_force")
    ]
    assert not any(methods.find(m).cancels(mechanism) for m in other_methods)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fixman", "fixman:planar", "fixman:spatial"])
def test_every_variant_of_fixman_verifies_on_a_planar_chain(method: str) -> None:
    requests = [
        f"{function}={method}" for function in OF_ANY_ROBOT if method in methods.providers(function)
    ]
    assert len(requests) >= 5
    flat = flat_chain(3)
    report = symgen.verify(
        flat, requests, states=2, compiled=False, task_rows=rows_of(flat, "operational_inertia")
    )
    assert report.passed, str(report)


@pytest.mark.parametrize(
    "method", [name for name in methods.names() if not methods.find(name).looped_only]
)
def test_the_derivation_of_a_method_for_a_robot_is_a_named_derivation(method: str) -> None:
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
    """The documentation states these costs for UR5, Panda and a chain of general joints."""

    def costs(mechanism: Mechanism) -> dict[str, int]:
        return {
            name: build.program(mechanism, "forward_dynamics", f"riccati:{name}").cost
            for name in ("fd1", "fd3", "fd4")
        }

    for arm in ("ur5", "panda"):
        counts = costs(robot(arm))
        assert counts["fd3"] < min(counts["fd1"], counts["fd4"])
    counts = costs(random_mechanism(12, 1))
    assert counts["fd4"] < counts["fd3"] < counts["fd1"]

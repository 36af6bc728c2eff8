"""Parameters kept as symbols: declared values give the numeric Program, other values give the
changed robot.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from symgen import methods
from symgen.derivation import constants
from symgen.inspection.parameters import (
    KINDS,
    PORT,
    Parameter,
    parse_kinds,
    symbolic,
    symbolic_linkage,
)
from symgen.ir.program import Program, check
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.composite_body.mass_matrix import lower_triangle
from symgen.pipeline.choose import methods_for
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Shift
from tests.shared.robots_for_tests import BALLS, PROVIDED, largest, program, robot, run, states

TOLERANCE = 1e-40
"""Tolerance relative to the largest magnitude, in balls of 80 digits; a Program's constants have
64.
"""
READ = ("planar_arm", "planar_point_mass", "scara", "puma560", "panda", "square_chain4", "tree3")
WITH_EACH_KIND = ("planar_point_mass", "tree3")
SHORT = ("planar_arm", "planar_point_mass", "scara", "square_chain4")
FEW_METHODS = ("composite_body", "newton_euler", "kinematics")
CASES = [
    (name, function, method)
    for name in READ
    for function, method in PROVIDED
    if method in methods_for(robot(name), function)
    and not FUNCTIONS[function].counts("NK")
    and ((name == "tree3" and ":" not in method) or (name in SHORT and method in FEW_METHODS))
]
"""Every method on tree3, without its variants, which use the same linkage; few methods on the
robots of SHORT.
"""


@cache
def derive_with_symbols(
    name: str, function: str, keep: str, method: str | None
) -> tuple[Program, tuple[Parameter, ...]]:
    return symbolic(robot(name), function, keep, method=method)


def values_at(derived: Program, at: dict[str, Array], values: list[Fraction]) -> dict[str, Array]:
    count = len(at["q"])
    arguments = {port.name: at[port.name] for port in derived.inputs if port.name != PORT}
    if values:
        arguments[PORT] = BALLS.array(np.array([values] * count, dtype=object))
    return run(derived, arguments, BALLS)


def relative_difference(results: dict[str, Array], expected: dict[str, Array]) -> float:
    with BALLS.working():
        return max(
            largest(results[key] - expected[key]) / (largest(expected[key]) + 1e-6)
            for key in expected
        )


@pytest.mark.parametrize(("name", "function", "method"), CASES)
def test_symbols_at_declared_values_give_the_numeric_program(
    name: str, function: str, method: str
) -> None:
    """Keep all kinds as symbols; on two robots with few methods, also each kind alone."""
    plain = program(name, function, method)
    at = states(name, 2, BALLS)
    expected = run(plain, {port.name: at[port.name] for port in plain.inputs}, BALLS)
    for keep in ("all", *KINDS) if name in WITH_EACH_KIND and method in FEW_METHODS else ("all",):
        derived, kept = derive_with_symbols(name, function, keep, method)
        check(derived)
        names = [a.name for a in FUNCTIONS[function].arguments]
        names += [] if "q" in names else ["q"]  # a linkage takes its size from q
        assert [port.name for port in derived.inputs] == names + [PORT] * bool(kept)
        assert (
            relative_difference(values_at(derived, at, [p.value for p in kept]), expected)
            < TOLERANCE
        ), keep


def test_without_symbols_a_program_has_only_its_ordinary_inputs() -> None:
    derived, kept = symbolic(robot("scara"), "mass_matrix", "none")
    assert kept == ()
    assert [port.name for port in derived.inputs] == ["q"]


# -- other values ----------------------------------------------------------------------------------


def scaled_robot(mechanism: Mechanism, factors: dict[str, Fraction]) -> Mechanism:
    """Scale masses, mass centres, moments and joint offsets of a robot by one factor each."""
    m, c, moment, length = (factors.get(kind, Fraction(1)) for kind in ("m", "c", "I", "l"))

    def scaled_pose(pose: tuple, factor: Fraction) -> tuple:  # type: ignore[type-arg]
        return tuple(
            Shift(tuple(factor * x for x in s.xyz)) if isinstance(s, Shift) else s for s in pose
        )  # type: ignore[arg-type]

    bodies = tuple(
        replace(
            body,
            parts=tuple(
                replace(
                    part,
                    mass=m * part.mass,
                    pose=scaled_pose(part.pose, c),
                    moments=tuple(moment * x for x in part.moments),
                )
                for part in body.parts
            ),
        )
        for body in mechanism.bodies
    )
    return replace(
        mechanism,
        bodies=bodies,
        joints=tuple(replace(j, pose=scaled_pose(j.pose, length)) for j in mechanism.joints),
    )


@pytest.mark.parametrize("function", ["mass_matrix", "bias_force", "forward_dynamics"])
@pytest.mark.parametrize(
    ("name", "keep"),
    [
        ("planar_point_mass", "m"),
        ("square_chain4", "m"),
        ("tree4", "m"),
        ("tree4", "I"),
        ("puma560", "m"),
        ("puma560", "I"),
        ("square_chain4", "I"),
        ("two_rods", "c"),
        ("two_rods", "l"),
        ("two_rods", "all"),
        *((name, "c,l") for name in ("scara", "puma560", "square_chain4", "tree4")),
    ],
)
def test_symbols_at_scaled_values_give_the_scaled_robot(
    name: str, keep: str, function: str
) -> None:
    """Lengths share one factor, so that the derivation chooses the same link frames as before."""
    mechanism = two_rods() if name == "two_rods" else robot(name)
    factors = {
        kind: Fraction(7 + 2 * i * (keep != "c,l"), 5) for i, kind in enumerate(parse_kinds(keep))
    }
    scaled = scaled_robot(mechanism, factors)
    at = states("planar_arm" if name == "two_rods" else name, 2, BALLS)
    expected = Reference(scaled, BALLS).evaluate(
        function, {a.name: at[a.name] for a in FUNCTIONS[function].arguments}
    )
    for method in methods_for(mechanism, function):
        if methods.find(method).regroups or method == "udut":
            derived, kept = symbolic(mechanism, function, keep, method=method)
            assert kept
            assert (
                relative_difference(
                    values_at(derived, at, [p.value * factors[p.kind] for p in kept]), expected
                )
                < TOLERANCE
            ), method


def two_rods() -> Mechanism:
    """Return the planar arm with body frames at the joints, so that lengths can be scaled."""
    arm = robot("planar_arm")
    bodies = tuple(
        replace(b, parts=(replace(b.parts[0], pose=(Shift((x, Fraction(0), Fraction(0))),)),))
        for b, x in zip(arm.bodies, (Fraction(1, 2), Fraction(1, 4)), strict=True)
    )
    joints = (
        replace(arm.joints[0], pose=()),
        replace(arm.joints[1], pose=(Shift((Fraction(1), Fraction(0), Fraction(0))),)),
    )
    return replace(
        arm, bodies=bodies, joints=joints, frames=tuple(replace(f, pose=()) for f in arm.frames)
    )


# -- names and values of kept parameters -----------------------------------------------------------


def test_the_planar_arm_has_exactly_its_nonzero_parameters() -> None:
    _, kept = symbolic(robot("planar_arm"), "mass_matrix", "all")
    assert {p.symbol: p.value for p in kept} == {
        "m_0": 2,
        "c_0_x": Fraction(1, 2),
        "I_0_yy": Fraction(1, 6),
        "I_0_zz": Fraction(1, 6),
        "m_1": 1,
        "c_1_x": Fraction(1, 4),
        "I_1_yy": Fraction(1, 48),
        "I_1_zz": Fraction(1, 48),
        "l_1_x": 1,
    }
    assert [p.symbol for p in kept] == sorted(
        (p.symbol for p in kept), key=lambda s: (s.split("_")[1], "mcIl".index(s[0]), s)
    )
    assert all(
        p.symbol.split("_")[0] == p.kind and int(p.symbol.split("_")[1]) == p.link for p in kept
    )
    assert kept[0].meaning == f"mass of link '{robot('planar_arm').bodies[0].name}' (kg)"
    assert "in that of link" in kept[-1].meaning


@pytest.mark.parametrize("name", READ)
def test_each_kind_keeps_its_nonzero_parameters_only(name: str) -> None:
    every = symbolic(robot(name), "mass_matrix", "all")[1]
    assert all(p.value for p in every)
    assert len({p.symbol for p in every}) == len(every)
    for kind in KINDS:
        assert symbolic(robot(name), "mass_matrix", kind)[1] == tuple(
            p for p in every if p.kind == kind
        )


def test_a_routine_of_a_method_accepts_the_symbolic_linkage() -> None:
    linkage, kept = symbolic_linkage(robot("planar_arm"), {"q": 2}, "m,l")
    with constants.precision():
        rows = lower_triangle(linkage)
    used = {
        linkage.derivation.values[r]
        for r, (op, _, _) in enumerate(linkage.derivation.rows)
        if op == "input"
    }
    assert {(1, e) for e in range(len(kept))} <= used
    assert len(rows) == 2


def test_kinds_of_parameters_are_parsed_and_unknown_ones_refused() -> None:
    assert parse_kinds("all") == tuple(KINDS) == parse_kinds(tuple(KINDS))
    assert parse_kinds(" none ") == () == parse_kinds(())
    assert parse_kinds("l, m") == ("m", "l")
    for wrong in ("x", "", "m,,c", "all,m", "M"):
        with pytest.raises(
            RequestError,
            match="is not a kind of parameter; --symbols takes all, none, or",
        ):
            parse_kinds(wrong)
    with pytest.raises(RequestError, match="no function is named 'mass'"):
        symbolic(robot("scara"), "mass")
    with pytest.raises(RequestError, match="constraint_force divides by the inertia of every link"):
        symbolic(robot("planar_point_mass"), "mass_matrix_solve", "m", method="constraint_force")

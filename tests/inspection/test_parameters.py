"""Numbers kept as symbols: at their own values nothing changes, at others it is the changed robot, and zeros stay zero."""

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

SAME = 1e-40
"""Of the largest magnitude, over balls of 80 digits: constants of a Program keep 64."""
READ = ("planar_arm", "planar_point_mass", "scara", "puma560", "panda", "square_chain4", "tree3")
ALONE = ("planar_point_mass", "tree3")
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
"""Every method on one robot, its variants apart, which take the same linkage; on the others the same symbols by fewer
derivations.
"""


@cache
def kept(
    name: str, function: str, keep: str, method: str | None
) -> tuple[Program, tuple[Parameter, ...]]:
    return symbolic(robot(name), function, keep, method=method)


def valued(derived: Program, at: dict[str, Array], values: list[Fraction]) -> dict[str, Array]:
    count = len(at["q"])
    given = {port.name: at[port.name] for port in derived.inputs if port.name != PORT}
    if values:
        given[PORT] = BALLS.array(np.array([values] * count, dtype=object))
    return run(derived, given, BALLS)


def differs(found: dict[str, Array], expected: dict[str, Array]) -> float:
    with BALLS.working():
        return max(
            largest(found[key] - expected[key]) / (largest(expected[key]) + 1e-6)
            for key in expected
        )


@pytest.mark.parametrize(("name", "function", "method"), CASES)
def test_at_their_own_values_it_is_the_plain_program(name: str, function: str, method: str) -> None:
    """Every function by every method; on two of the robots every kind alone, which is the linkage's affair, by few."""
    plain = program(name, function, method)
    at = states(name, 2, BALLS)
    expected = run(plain, {port.name: at[port.name] for port in plain.inputs}, BALLS)
    for keep in ("all", *KINDS) if name in ALONE and method in FEW_METHODS else ("all",):
        derived, found = kept(name, function, keep, method)
        check(derived)
        names = [a.name for a in FUNCTIONS[function].arguments]
        names += [] if "q" in names else ["q"]  # what a linkage is laid out by
        assert [port.name for port in derived.inputs] == names + [PORT] * bool(found)
        assert differs(valued(derived, at, [p.value for p in found]), expected) < SAME, keep


def test_without_any_kind_it_is_a_plain_program() -> None:
    derived, found = symbolic(robot("scara"), "mass_matrix", "none")
    assert found == ()
    assert [port.name for port in derived.inputs] == ["q"]


# -- other values: another robot ----------------------------------------------------------------------------------------------


def changed(mechanism: Mechanism, factors: dict[str, Fraction]) -> Mechanism:
    """Every body's single part with its mass, its place, its moments or its joint's place times a factor."""
    m, c, moment, length = (factors.get(kind, Fraction(1)) for kind in ("m", "c", "I", "l"))

    def moved(pose: tuple, by: Fraction) -> tuple:  # type: ignore[type-arg]
        return tuple(
            Shift(tuple(by * x for x in s.xyz)) if isinstance(s, Shift) else s for s in pose
        )  # type: ignore[arg-type]

    bodies = tuple(
        replace(
            body,
            parts=tuple(
                replace(
                    part,
                    mass=m * part.mass,
                    pose=moved(part.pose, c),
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
        joints=tuple(replace(j, pose=moved(j.pose, length)) for j in mechanism.joints),
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
def test_at_other_values_it_is_the_other_robot(name: str, keep: str, function: str) -> None:
    """Masses and moments of any robot are scaled where they stand, places all alike, so that the chosen frames stay put."""
    mechanism = two_rods() if name == "two_rods" else robot(name)
    factors = {
        kind: Fraction(7 + 2 * i * (keep != "c,l"), 5) for i, kind in enumerate(parse_kinds(keep))
    }
    other = changed(mechanism, factors)
    at = states("planar_arm" if name == "two_rods" else name, 2, BALLS)
    expected = Reference(other, BALLS).evaluate(
        function, {a.name: at[a.name] for a in FUNCTIONS[function].arguments}
    )
    for method in methods_for(mechanism, function):
        if methods.find(method).regroups or method == "udut":
            derived, found = symbolic(mechanism, function, keep, method=method)
            assert found
            assert (
                differs(valued(derived, at, [p.value * factors[p.kind] for p in found]), expected)
                < SAME
            ), method


def two_rods() -> Mechanism:
    """The planar arm with its bodies' frames at the joints, so that places scale."""
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


# -- what is kept, and under which name --------------------------------------------------------------------------------------


def test_the_planar_arm_has_these_and_no_others() -> None:
    _, found = symbolic(robot("planar_arm"), "mass_matrix", "all")
    assert {p.symbol: p.value for p in found} == {
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
    assert [p.symbol for p in found] == sorted(
        (p.symbol for p in found), key=lambda s: (s.split("_")[1], "mcIl".index(s[0]), s)
    )
    assert all(
        p.symbol.split("_")[0] == p.kind and int(p.symbol.split("_")[1]) == p.link for p in found
    )
    assert found[0].meaning == f"mass of link '{robot('planar_arm').bodies[0].name}' (kg)"
    assert "in that of link" in found[-1].meaning


@pytest.mark.parametrize("name", READ)
def test_every_kind_keeps_its_own_and_nothing_that_is_zero(name: str) -> None:
    every = symbolic(robot(name), "mass_matrix", "all")[1]
    assert all(p.value for p in every)
    assert len({p.symbol for p in every}) == len(every)
    for kind in KINDS:
        assert symbolic(robot(name), "mass_matrix", kind)[1] == tuple(
            p for p in every if p.kind == kind
        )


def test_any_routine_of_a_method_takes_the_linkage() -> None:
    laid, found = symbolic_linkage(robot("planar_arm"), {"q": 2}, "m,l")
    with constants.precision():
        rows = lower_triangle(laid)
    used = {laid.home.values[r] for r, (op, _, _) in enumerate(laid.home.rows) if op == "input"}
    assert {(1, e) for e in range(len(found))} <= used
    assert len(rows) == 2


def test_kinds_are_read_from_text() -> None:
    assert parse_kinds("all") == tuple(KINDS) == parse_kinds(tuple(KINDS))
    assert parse_kinds(" none ") == () == parse_kinds(())
    assert parse_kinds("l, m") == ("m", "l")
    for wrong in ("x", "", "m,,c", "all,m", "M"):
        with pytest.raises(
            RequestError,
            match="is no kind of parameter to keep as a symbol; there are all, none, or",
        ):
            parse_kinds(wrong)
    with pytest.raises(RequestError, match="no function is named 'mass'"):
        symbolic(robot("scara"), "mass")
    with pytest.raises(RequestError, match="constraint_force divides by the inertia of every link"):
        symbolic(robot("planar_point_mass"), "mass_matrix_solve", "m", method="constraint_force")

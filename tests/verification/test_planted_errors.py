"""Planted errors: a sign, a transpose, a dropped term, a wrong parent, two swapped inertia entries.

Each error is planted in the description that the derivation reads, in the Program, or in the
printed C. At least two of the four checks must detect each error; the unchanged robot passes all
checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

import symgen
from symgen.description.tip import tip
from symgen.emission.backends import c99
from symgen.ir.program import Program, Row, check
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import machine_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import check_floating
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Files, Subject
from symgen.vocabulary.poses import Shift, Turn
from tests.shared.planted_rows import _drop, _flip, _sums, _uses, caught_by

STATES = 4
FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")


@cache
def robot() -> Mechanism:
    return symgen.load("panda")


def programs(mechanism: Mechanism) -> dict[str, Program]:
    return {name: build.program(mechanism, name) for name in FUNCTIONS}


def test_the_unchanged_robot_passes_every_check() -> None:
    report = verify_programs(Subject(robot(), programs(robot()), states=STATES))
    assert report.passed, str(report)
    assert {check.kind for check in report.checks} == {"algebra", "text", "floating", "identities"}


# ---- errors in the description: derivation and reference read different robots -------------------


def _joint(mechanism: Mechanism, index: int, **changes: Any) -> Mechanism:
    joints = list(mechanism.joints)
    joints[index] = replace(joints[index], **changes)
    return replace(mechanism, joints=tuple(joints))


def _changed_part(mechanism: Mechanism, index: int, **changes: Any) -> Mechanism:
    bodies = list(mechanism.bodies)
    first, *more_parts = bodies[index].parts
    bodies[index] = replace(bodies[index], parts=(replace(first, **changes), *more_parts))
    return replace(mechanism, bodies=tuple(bodies))


def _another_sign(mechanism: Mechanism) -> Mechanism:
    changed_part = mechanism.bodies[3].parts[0]
    step = next(s for s in changed_part.pose if isinstance(s, Shift))
    x, y, z = step.xyz
    return _changed_part(
        mechanism, 3, pose=tuple(Shift((x, -y, z)) if s is step else s for s in changed_part.pose)
    )


def _transposed_pose(mechanism: Mechanism) -> Mechanism:
    pose = mechanism.joints[3].pose
    assert any(isinstance(step, Turn) for step in pose)
    return _joint(
        mechanism,
        3,
        pose=tuple(replace(s, angle=-s.angle) if isinstance(s, Turn) else s for s in pose),
    )


def _lost_mass(mechanism: Mechanism) -> Mechanism:
    return _changed_part(mechanism, 4, mass=Fraction(0))


def _wrong_parent(mechanism: Mechanism) -> Mechanism:
    return _joint(mechanism, 5, parent=3)


def _swapped_inertia(mechanism: Mechanism) -> Mechanism:
    xx, xy, xz, yy, yz, zz = mechanism.bodies[3].parts[0].moments
    assert xy != xz
    return _changed_part(mechanism, 3, moments=(xx, xz, xy, yy, yz, zz))


@pytest.mark.parametrize(
    "plant", [_another_sign, _transposed_pose, _lost_mass, _wrong_parent, _swapped_inertia]
)
def test_a_wrong_description_fails_the_comparisons_with_the_reference(
    plant: Callable[[Mechanism], Mechanism],
) -> None:
    report = verify_programs(Subject(robot(), programs(plant(robot())), states=STATES))
    # all functions describe the same wrong robot, so only the comparison with the reference detects
    # it
    assert caught_by(report) >= {"algebra", "floating"}, str(report)


# ---- errors in the Program, from which the C is printed ------------------------------------------


def _insert(program: Program, after: int, row: Row) -> Program:
    """Insert a row behind row `after`; the new row replaces it in all later rows and results."""

    def shifted_or_replaced(index: int) -> int:
        return index + 1 if index >= after else index

    head, tail = program.rows[: after + 1], program.rows[after + 1 :]
    later = [r._replace(args=tuple(shifted_or_replaced(a) for a in r.args)) for r in tail]
    outputs = tuple(
        port._replace(rows=tuple(shifted_or_replaced(r) for r in port.rows))
        for port in program.outputs
    )
    return check(replace(program, rows=(*head, row, *later), outputs=outputs))


def _program_sign(program: Program) -> Program:
    sums = _sums(program)
    return _flip(program, sums[len(sums) // 2])


def _program_dropped(program: Program) -> Program:
    sums = _sums(program)
    return _drop(program, sums[len(sums) // 3])


def _program_transpose(program: Program) -> Program:
    """Invert a joint's rotation: the sine of its angle changes sign."""
    sines = [i for i, row in enumerate(program.rows) if row.op == "sin"]
    sine = sines[len(sines) // 2]
    return _insert(program, sine, Row("neg", (sine,), None, "", program.rows[sine].step))


def _program_parent(program: Program) -> Program:
    """Let a row of link 4 read a quantity of link 2 instead of its parent, link 3."""
    names = {row.name.removeprefix("neg_"): i for i, row in enumerate(program.rows) if row.name}
    for i, row in enumerate(program.rows):
        for used in row.args:
            parent = re.fullmatch(r"(?:neg_)?(omega|omegadot|vdot)_3_(\d)", program.rows[used].name)
            if parent and names.get(f"{parent[1]}_2_{parent[2]}", i) < i and row.op == "mul":
                return _uses(
                    program, used, names[f"{parent[1]}_2_{parent[2]}"], lambda k, at=i: k == at
                )  # type: ignore[misc]
    raise AssertionError("no row of link 4 reads its parent's velocity by name")


def _program_swapped(program: Program) -> Program:
    """Swap two inertia constants that multiply quantities of one link."""
    constants = [i for i, row in enumerate(program.rows) if row.op == "const"]
    used = [
        [j for j, row in enumerate(program.rows) if row.op == "mul" and i in row.args]
        for i in constants
    ]
    ranked = sorted((len(u), i) for i, u in zip(constants, used, strict=True) if u)
    a, b = ranked[-1][1], ranked[-2][1]
    rows = list(program.rows)
    rows[a], rows[b] = rows[a]._replace(value=rows[b].value), rows[b]._replace(value=rows[a].value)
    assert rows[a] != program.rows[a]
    return check(replace(program, rows=tuple(rows)))


@pytest.mark.parametrize(
    "plant",
    [_program_sign, _program_transpose, _program_dropped, _program_parent, _program_swapped],
)
def test_a_wrong_program_fails_comparisons_and_identities(
    plant: Callable[[Program], Program],
) -> None:
    correct = programs(robot())
    wrong = plant(correct["inverse_dynamics"])
    assert wrong.rows != correct["inverse_dynamics"].rows
    report = verify_programs(
        Subject(robot(), {**correct, "inverse_dynamics": wrong}, states=STATES)
    )
    assert caught_by(report) >= {"algebra", "floating", "identities"}, str(report)
    assert {check.subject.split("=")[0] for check in report.of("algebra") if not check.passed} == {
        "inverse_dynamics"
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_arm", "scara"])
def test_an_error_in_any_sum_fails_algebra_and_floating_point(name: str) -> None:
    """The sign of a sum is flipped, or its second term dropped."""
    mechanism = symgen.load(name)
    exact_results = ExactResults(mechanism, STATES, frame=tip(mechanism))
    for function in build.requested(mechanism, None):
        program = build.program(mechanism, function)
        for index in _sums(program):
            for change in (_flip, _drop):
                wrong = change(program, index)
                where = f"{function}, row {index}, {change.__name__}"
                assert not check_algebra(wrong, exact_results, function).passed, where
                assert not check_floating(
                    wrong, machine_runner(wrong), exact_results, function
                ).passed, where


# ---- errors in the C only ----------------------------------------------------------------------


def _first(pattern: str, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
    """Replace the first match behind a third of the body, so that the error is not in the first
    line.
    """
    middle = text.index("{") + (len(text) - text.index("{")) // 3
    changed, count = re.subn(pattern, replacement, text[middle:], count=1, flags=re.MULTILINE)
    assert count == 1, pattern
    return text[:middle] + changed


def _text_sign(text: str) -> str:
    return _first(r"^(    const double \w+ = [^;\n]*) \+ ", r"\1 - ", text)


def _text_transpose(text: str) -> str:
    changed = re.sub(r"= sin\(q\[3\]\);", "= -sin(q[3]);", text)
    assert changed != text
    return changed


def _text_dropped(text: str) -> str:
    return _first(r"^(    const double \w+ = [^;\n()]*?) \+ [\w.*\[\]]+;", r"\1;", text)


def _text_parent(text: str) -> str:
    """Rotate a quantity by the angle of another joint."""
    return _first(
        r"^(    const double \w+_\d_\d = \(?)(c|s)_(\d)\*",
        lambda m: f"{m[1]}{m[2]}_{2 if m[3] != '2' else 3}*",
        text,
    )


def _text_swapped(text: str) -> str:
    literals = re.findall(r"(?<![\w.])\d\.\d{6,}(?:e-?\d+)?(?![\w.])", text)
    a, b = next((a, b) for a, b in pairwise(literals) if a != b)
    return re.sub(
        rf"(?<![\w.])(?:{re.escape(a)}|{re.escape(b)})(?![\w.])",
        lambda m: b if m[0] == a else a,
        text,
    )


@pytest.mark.parametrize(
    "plant", [_text_sign, _text_transpose, _text_dropped, _text_parent, _text_swapped]
)
def test_a_wrong_text_fails_readback_floating_point_and_identities(
    plant: Callable[[str], str],
) -> None:
    mechanism, correct = robot(), programs(robot())
    target = c99.Target(mechanism.name, mechanism.sizes)
    wrong = plant(c99.source(correct["inverse_dynamics"], target))
    report = verify_programs(
        Subject(mechanism, correct, states=STATES, files=Files(sources={"inverse_dynamics": wrong}))
    )
    assert caught_by(report) >= {"text", "floating", "identities"}, str(report)
    assert all(check.passed for check in report.of("algebra"))

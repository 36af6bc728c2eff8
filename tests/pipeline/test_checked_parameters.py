"""Checked functions of numbers that change at run time: their divisors are compared with what the new numbers make of a link."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.certificate import checked_floors
from symgen.delivery.verifying import verify
from symgen.ir.program import EXACT, Element, evaluate
from symgen.mechanism.adjustable import adjust_mechanism, adjustable_parameters
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.pipeline.adjusting import make_adjusting, parameter_names
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from symgen.support.errors import StateError, SymgenError
from symgen.verification.adjusted import draw_parameters
from symgen.vocabulary.functions import REGROUP
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests.shared.robots_for_tests import robot

pytestmark = pytest.mark.usefixtures("finished_here")  # what is certified are rows after all passes

CHECKED = TextOptions(checked=True)
HELICAL = """
name = "jack"
[[body]]
name = "screw"
parent = "base"
joint = { name = "thread", type = "helical", axis = [0, 0, 1], pitch = 0.01 }
mass = 1
inertia = [0.1, 0, 0, 0.1, 0, 0.1]
[[body]]
name = "arm"
parent = "screw"
joint = { name = "elbow", type = "revolute", axis = [0, 1, 0], xyz = [0.2, 0, 0] }
mass = 2
centre = [0.1, 0, 0]
inertia = [0.1, 0, 0, 0.1, 0, 0.1]
"""


def guarded(mechanism: Mechanism, *asked: str) -> ProgramOptions:
    return ProgramOptions(parameters=parameter_names(mechanism, asked)).guarded(True)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("scara", "*"),
        ("panda", "panda_link[2-6]"),
        ("ur5", "elbow_joint.armature"),
        ("panda", "panda_joint4.armature"),
    ],
)
def test_the_least_is_half_of_what_the_link_has_by_itself(name: str, asked: str) -> None:
    """By the reference, of the link alone with its rotor: M of a robot of that one link."""
    mechanism = robot(name)
    options = guarded(mechanism, asked)
    known = make_adjusting(mechanism, options.parameters)
    drawn = draw_parameters(mechanism, adjustable_parameters(mechanism, options.parameters), 3)
    numbers = [x for one in known.asked for x in drawn[one.name]]
    prepared = evaluate(known.guarded, {"parameters": numbers}, EXACT)["prepared"]
    anew = adjust_mechanism(mechanism, drawn)
    assert known.prepared.least
    for entry, place in known.prepared.least.items():
        alone = _alone(anew, entry)
        assert float(prepared[place]) == pytest.approx(alone / 2, rel=1e-14)


def _alone(mechanism: Mechanism, entry: int) -> float:
    """M_kk where only body k weighs anything."""
    bodies = tuple(
        replace(body, parts=body.parts if i == entry else ())
        for i, body in enumerate(mechanism.bodies)
    )
    return float(
        Reference(replace(mechanism, bodies=bodies)).mass_matrix(np.zeros(mechanism.nq))[
            entry, entry
        ]
    )


def test_no_pivot_is_below_it() -> None:
    """D_k of M = U D Uᵀ at states and numbers drawn at random, against twice the least."""
    mechanism = robot("panda")
    options = guarded(mechanism, "*")
    known = make_adjusting(mechanism, options.parameters)
    for seed in range(3):
        drawn = draw_parameters(
            mechanism, adjustable_parameters(mechanism, options.parameters), seed
        )
        numbers = [x for one in known.asked for x in drawn[one.name]]
        prepared = evaluate(known.guarded, {"parameters": numbers}, EXACT)["prepared"]
        mass = Reference(adjust_mechanism(mechanism, drawn)).mass_matrix(
            np.array(draw_states(mechanism, 4, seed)["q"], float)
        )
        for M in mass:
            eliminated = M.copy()
            for k in reversed(range(7)):
                assert eliminated[k, k] >= 2 * float(prepared[known.prepared.least[k]]) * (1 - 1e-9)
                eliminated[:k, :k] -= (
                    np.outer(eliminated[:k, k], eliminated[k, :k]) / eliminated[k, k]
                )


def test_every_pivot_of_a_function_is_compared_with_its_own() -> None:
    mechanism = symgen.load("panda")
    options = guarded(mechanism, "panda_link[4-7]")
    programs = build.programs(
        mechanism, ["forward_dynamics", "mass_matrix_log_determinant"], options
    )
    floors = checked_floors(mechanism, programs, options, CHECKED)
    size = programs[REGROUP].outputs[0].size
    own = sorted(float(_alone(mechanism, k)) / 2 for k in range(3))
    for function in ("forward_dynamics", "mass_matrix_log_determinant"):
        found = floors[function].values()
        assert sorted(b.element for b in found if isinstance(b, Element)) == list(
            range(size - 4, size)
        )
        assert sorted(float(b) for b in found if not isinstance(b, Element)) == pytest.approx(
            own, rel=1e-5
        )


def test_a_pivot_below_it_is_refused() -> None:
    solver = symgen.compile("scara", ["mass_matrix_solve"], checked=True, parameters=["link[1-4]"])
    q, b = np.zeros(4), np.ones(4)
    sound = solver.mass_matrix_solve(q, b)
    prepared = np.array(solver.parameters.prepared)
    assert np.array_equal(solver.mass_matrix_solve(q, b, prepared=prepared), sound)
    least = prepared[-4:].copy()
    assert (least > 0).all()
    for k in range(4):
        prepared[-4:] = least
        prepared[-4 + k] *= 1000
        with pytest.raises(StateError, match="divisor"):
            solver.mass_matrix_solve(q, b, prepared=prepared)


def test_a_link_of_nothing_has_no_divisor_of_zero() -> None:
    solver = symgen.compile(
        "scara", ["mass_matrix_solve"], checked=True, parameters=["link4", "link3"]
    )
    solver.parameters["link4.mass"] = 1e-300
    solver.parameters["link4.inertia"] = np.zeros(6)
    solver.parameters["link4.centre"] = np.zeros(3)
    with pytest.raises(SymgenError):
        solver.mass_matrix_solve(np.zeros(4), np.ones(4))


def test_joints_that_do_more_than_turn_or_slide_have_none() -> None:
    mechanism = symgen.load(HELICAL)
    known = make_adjusting(mechanism, parameter_names(mechanism, ["*"]))
    assert [*known.prepared.least] == [1]


@pytest.mark.usefixtures("as_users_have_them")
def test_unchecked_functions_take_no_more_than_before() -> None:
    mechanism = symgen.load("panda")
    plain = build.programs(
        mechanism,
        ["forward_dynamics"],
        ProgramOptions(parameters=parameter_names(mechanism, ["panda_link[1-7]"])),
    )
    held = build.programs(mechanism, ["forward_dynamics"], guarded(mechanism, "panda_link[1-7]"))
    assert held[REGROUP].outputs[0].size == plain[REGROUP].outputs[0].size + 7
    assert plain[REGROUP].cost <= 121
    assert held[REGROUP].cost <= 135
    assert held["forward_dynamics"].cost == plain["forward_dynamics"].cost


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = tmp_path_factory.mktemp("floors") / "scara"
    symgen.generate(
        "scara",
        own,
        ["mass_matrix_solve"],
        checked=True,
        batch=True,
        wrap=["cuda"],
        parameters=["link[2-4]"],
    )
    return own


def test_a_folder_is_verified(generated: Path) -> None:
    assert verify(generated).passed


@pytest.mark.parametrize(
    ("file", "planted"),
    [
        ("scara_mass_matrix_solve.c", "another element"),
        ("scara_mass_matrix_solve_batch.c", "a number"),
        ("scara_mass_matrix_solve.cuh", "another sign"),
    ],
)
def test_a_planted_bound_is_seen(generated: Path, tmp_path: Path, file: str, planted: str) -> None:
    own = tmp_path / "scara"
    shutil.copytree(generated, own)
    text = (own / file).read_text()
    found = re.search(r">= (prepared[\w>-]*\[(\d+)\](?:\[\w+\])?)\)", text)
    assert found is not None
    meant = {
        "another element": found[0].replace(f"[{found[2]}]", f"[{int(found[2]) - 1}]"),
        "a number": ">= 0.0)",
        "another sign": found[0].replace(">=", "<="),
    }[planted]
    (own / file).write_text(text.replace(found[0], meant, 1))
    report = verify(own, ["mass_matrix_solve"])
    assert [check.subject for check in report.checks if not check.passed and not check.unjudged]

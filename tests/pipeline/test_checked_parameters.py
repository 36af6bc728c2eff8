"""Checked functions with run-time parameters: lower bounds of divisors follow the parameters.

The bound of a link's pivot is half of the link's own inertia about its joint.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.certificate import checked_bounds
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

pytestmark = pytest.mark.usefixtures("finished_here")  # the certificate is of rows after all passes

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


def guarded_options(mechanism: Mechanism, *patterns: str) -> ProgramOptions:
    return ProgramOptions(parameters=parameter_names(mechanism, patterns)).guarded(True)


@pytest.mark.parametrize(
    ("name", "patterns"),
    [
        ("scara", "*"),
        ("panda", "panda_link[2-6]"),
        ("ur5", "elbow_joint.armature"),
        ("panda", "panda_joint4.armature"),
    ],
)
def test_the_bound_is_half_of_the_links_own_inertia(name: str, patterns: str) -> None:
    """The reference computes M of the robot where only that link, with its rotor, has mass."""
    mechanism = robot(name)
    options = guarded_options(mechanism, patterns)
    adjusting = make_adjusting(mechanism, options.parameters)
    values = draw_parameters(mechanism, adjustable_parameters(mechanism, options.parameters), 3)
    numbers = [x for parameter in adjusting.parameters for x in values[parameter.name]]
    prepared = evaluate(adjusting.guarded, {"parameters": numbers}, EXACT)["prepared"]
    adjusted = adjust_mechanism(mechanism, values)
    assert adjusting.prepared.least
    for entry, index in adjusting.prepared.least.items():
        inertia = own_inertia(adjusted, entry)
        assert float(prepared[index]) == pytest.approx(inertia / 2, rel=1e-14)


def own_inertia(mechanism: Mechanism, entry: int) -> float:
    """Return M_kk of the robot where only body k has mass."""
    bodies = tuple(
        replace(body, parts=body.parts if i == entry else ())
        for i, body in enumerate(mechanism.bodies)
    )
    return float(
        Reference(replace(mechanism, bodies=bodies)).mass_matrix(np.zeros(mechanism.nq))[
            entry, entry
        ]
    )


def test_no_pivot_is_below_twice_its_bound() -> None:
    """The pivots are D_k of M = U D Uᵀ at random states and parameters."""
    mechanism = robot("panda")
    options = guarded_options(mechanism, "*")
    adjusting = make_adjusting(mechanism, options.parameters)
    for seed in range(3):
        values = draw_parameters(
            mechanism, adjustable_parameters(mechanism, options.parameters), seed
        )
        numbers = [x for parameter in adjusting.parameters for x in values[parameter.name]]
        prepared = evaluate(adjusting.guarded, {"parameters": numbers}, EXACT)["prepared"]
        mass = Reference(adjust_mechanism(mechanism, values)).mass_matrix(
            np.array(draw_states(mechanism, 4, seed)["q"], float)
        )
        for M in mass:
            eliminated = M.copy()
            for k in reversed(range(7)):
                assert eliminated[k, k] >= 2 * float(prepared[adjusting.prepared.least[k]]) * (
                    1 - 1e-9
                )
                eliminated[:k, :k] -= (
                    np.outer(eliminated[:k, k], eliminated[k, :k]) / eliminated[k, k]
                )


def test_every_pivot_has_the_bound_of_its_link() -> None:
    mechanism = symgen.load("panda")
    options = guarded_options(mechanism, "panda_link[4-7]")
    programs = build.programs(
        mechanism, ["forward_dynamics", "mass_matrix_log_determinant"], options
    )
    divisor_bounds = checked_bounds(mechanism, programs, options, CHECKED)
    size = programs[REGROUP].outputs[0].size
    expected = sorted(float(own_inertia(mechanism, k)) / 2 for k in range(3))
    for function in ("forward_dynamics", "mass_matrix_log_determinant"):
        bounds = divisor_bounds[function].values()
        assert sorted(b.element for b in bounds if isinstance(b, Element)) == list(
            range(size - 4, size)
        )
        assert sorted(float(b) for b in bounds if not isinstance(b, Element)) == pytest.approx(
            expected, rel=1e-5
        )


def test_a_pivot_below_its_bound_is_refused() -> None:
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


def test_a_link_without_inertia_is_refused() -> None:
    solver = symgen.compile(
        "scara", ["mass_matrix_solve"], checked=True, parameters=["link4", "link3"]
    )
    solver.parameters["link4.mass"] = 1e-300
    solver.parameters["link4.inertia"] = np.zeros(6)
    solver.parameters["link4.centre"] = np.zeros(3)
    with pytest.raises(SymgenError):
        solver.mass_matrix_solve(np.zeros(4), np.ones(4))


def test_a_helical_joint_has_no_bound() -> None:
    mechanism = symgen.load(HELICAL)
    adjusting = make_adjusting(mechanism, parameter_names(mechanism, ["*"]))
    assert [*adjusting.prepared.least] == [1]


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_have_them")
def test_bounds_cost_unchecked_functions_no_operation() -> None:
    mechanism = symgen.load("panda")
    unchecked = build.programs(
        mechanism,
        ["forward_dynamics"],
        ProgramOptions(parameters=parameter_names(mechanism, ["panda_link[1-7]"])),
    )
    checked = build.programs(
        mechanism, ["forward_dynamics"], guarded_options(mechanism, "panda_link[1-7]")
    )
    assert checked[REGROUP].outputs[0].size == unchecked[REGROUP].outputs[0].size + 7
    assert unchecked[REGROUP].cost <= 121
    assert checked[REGROUP].cost <= 135
    assert checked["forward_dynamics"].cost == unchecked["forward_dynamics"].cost


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("divisor_bounds") / "scara"
    symgen.generate(
        "scara",
        folder,
        ["mass_matrix_solve"],
        checked=True,
        batch=True,
        wrap=["cuda"],
        parameters=["link[2-4]"],
    )
    return folder


@pytest.mark.slow
def test_a_folder_with_bounds_that_depend_on_parameters_is_verified(generated: Path) -> None:
    assert verify(generated).passed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "planted"),
    [
        ("scara_mass_matrix_solve.c", "another element"),
        ("scara_mass_matrix_solve_batch.c", "a number"),
        ("scara_mass_matrix_solve.cuh", "another sign"),
    ],
)
def test_verify_reports_a_changed_bound(
    generated: Path, tmp_path: Path, file: str, planted: str
) -> None:
    folder = tmp_path / "scara"
    shutil.copytree(generated, folder)
    text = (folder / file).read_text()
    bound = re.search(r">= (prepared[\w>-]*\[(\d+)\](?:\[\w+\])?)\)", text)
    assert bound is not None
    changed = {
        "another element": bound[0].replace(f"[{bound[2]}]", f"[{int(bound[2]) - 1}]"),
        "a number": ">= 0.0)",
        "another sign": bound[0].replace(">=", "<="),
    }[planted]
    (folder / file).write_text(text.replace(bound[0], changed, 1))
    report = verify(folder, ["mass_matrix_solve"])
    assert [check.subject for check in report.checks if not check.passed and not check.unjudged]

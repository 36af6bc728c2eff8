"""Regressor and base parameters: identities, numbers of parameters, and planted errors that
`verify` catches.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import flint
import numpy as np
import pytest

import symgen
from symgen.derivation.base_parameters import Independence
from symgen.inspection.structure import structure
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, derive
from symgen.pipeline.base_parameters import base_parameters
from symgen.reference.base import base_parameter_map
from symgen.reference.mechanics import Reference
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from tests.shared.robots_for_tests import draw, of_kind, random_mechanism

regressor = import_module(
    "symgen.methods.newton_euler.regressor"
)  # the package has a function of that name
Y, BASE = "regressor", ("base_regressor", "base_parameters")
TYPES = ("spherical", "helical", "prismatic", "planar", "revolute")


def tree() -> Mechanism:
    mechanism = random_mechanism(len(TYPES), 6, "tree")
    return replace(
        mechanism,
        joints=tuple(
            of_kind(joint, kind) for joint, kind in zip(mechanism.joints, TYPES, strict=True)
        ),
    )


@pytest.mark.slow
def test_regressors_of_every_joint_type_satisfy_their_identities() -> None:
    """Y is compared with point masses, its base columns with least squares; Y π = tau for the
    declared π and for any π.
    """
    report = symgen.verify(tree(), (Y, *BASE, "inverse_dynamics"), 1, compiled=False)
    assert report.passed, str(report)
    assert {check.subject for check in report.of("identities")} >= {
        "Y π = tau",
        "Y_base π_base = tau",
        "Y_base π_base = Y π",
    }


@pytest.mark.slow
@pytest.mark.parametrize(("name", "columns", "rank"), [("panda", 59, 43), ("ur5", 51, 36)])
def test_the_number_of_base_parameters_is_the_rank_that_inspection_finds(
    name: str, columns: int, rank: int
) -> None:
    robot = symgen.load(name)
    parameters = base_parameters(robot)
    assert len(parameters) == rank == len(base_parameter_map(Reference(robot))[0])
    assert (
        name == "panda" or structure(robot, "tau").rank == rank
    )  # for Panda, structure() takes seconds
    entries = Reference(robot).evaluate(Y, {key: draw(robot, 3)[key] for key in "qva"})["Y"]
    assert (np.abs(entries).max(axis=(0, 1)) > 1e-12).sum() == columns
    program, width = symgen.program(robot, Y), 10 * len(robot.bodies)
    zeros = [
        all(program.rows[r].op == "const" for r in program.outputs[0].rows[c::width])
        for c in range(width)
    ]
    assert sum(zeros) == width - columns  # constants 0, which cost no operation


def test_a_column_is_a_base_parameter_if_earlier_columns_do_not_span_it() -> None:
    """The first of two proportional columns is kept; a column of zeros is never kept."""
    independence = Independence()
    are_independent = [
        independence.add_row([flint.arb(x) for x in row])
        for row in ((0, 1, 2, 3), (0, 2, 4, 6), (0, 1, 2, 4))
    ]
    assert are_independent == [True, False, True]
    parameters = independence.base_parameters()
    assert parameters.columns == (1, 3)
    assert [dict(terms) for terms in parameters.terms] == [{1: 1, 2: 2}, {3: 1}]


def plant_error(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    """Plant an error in one term of the regressor."""
    if term == "axis":
        of = regressor.Axis.of
        monkeypatch.setattr(
            regressor.Axis,
            "of",
            staticmethod(
                lambda linkage, b: (
                    None
                    if (axis := of(linkage, b)) is None
                    else replace(axis, origin=axis.direction)
                )
            ),
        )
    elif term == "moment":
        entries = regressor.entries
        monkeypatch.setattr(regressor, "entries", lambda w, m, h, motion: entries(-w, m, h, motion))
    else:
        meetings = regressor.meetings
        monkeypatch.setattr(
            regressor,
            "meetings",
            lambda linkage: [
                {j: replace(point, away=-point.away) for j, point in points.items()}
                for points in meetings(linkage)
            ],
        )


@pytest.mark.parametrize("term", ["axis", "moment", "meeting"])
def test_an_error_in_the_regressor_is_caught_by_algebra_and_identities(
    monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    robot = symgen.load(
        "panda", lock={f"panda_joint{i}": None for i in (5, 6, 7)} if term == "meeting" else None
    )
    helper = build.program(robot, "inverse_dynamics")
    plant_error(monkeypatch, term)
    wrong = derive.Attempt(robot, Y, "newton_euler", build.ProgramOptions()).program()
    report = verify_programs(
        Subject(robot, {Y: wrong}, states=1, compiled=False, helpers={"inverse_dynamics": helper})
    )
    assert {"algebra", "identities"} <= {check.kind for check in report.checks if not check.passed}


def test_a_wrong_coefficient_of_the_base_parameter_map_is_caught_by_algebra_and_identities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted coefficient is off by a thousandth."""
    robot = symgen.load("scara")
    right = base_parameters(robot)
    helper = build.program(robot, "inverse_dynamics")
    longest = max(range(len(right)), key=lambda r: len(right.terms[r]))
    last = max(right.terms[longest])
    wrong = replace(
        right,
        terms=tuple(
            {**terms, last: terms[last] * 1001 / 1000} if r == longest else terms
            for r, terms in enumerate(right.terms)
        ),
    )
    monkeypatch.setattr(derive, "base_parameters", lambda mechanism: wrong)
    programs = {
        name: derive.Attempt(robot, name, "newton_euler", build.ProgramOptions()).program()
        for name in BASE
    }
    report = verify_programs(
        Subject(robot, programs, states=1, compiled=False, helpers={"inverse_dynamics": helper})
    )
    assert {"algebra", "identities"} <= {check.kind for check in report.checks if not check.passed}

"""Legend of named equations: every name that a method prints has a meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.description.loading import load
from symgen.inspection import legend as module
from symgen.inspection.catalogue import methods_with_quantities, refusal_reason
from symgen.inspection.entries import layout
from symgen.inspection.legend import IN_STEP, NAMES, OF_COORDINATES, legend, meaning, stem_of
from symgen.inspection.names import formula_name
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import program
from symgen.support.errors import MechanismError, RequestError
from symgen.vocabulary.functions import FUNCTIONS


def of_quantities(mechanism: Mechanism) -> Iterator[Program]:
    for method in methods_with_quantities():
        for name, quantity in methods.find(method).quantities.items():
            if refusal_reason(mechanism, method, quantity) is None:
                yield layout(mechanism, method, name).program


def of_functions(mechanism: Mechanism) -> Iterator[Program]:
    for function in FUNCTIONS:
        for method in methods.providers(function):
            try:
                yield program(mechanism, function, method)
            except (MechanismError, RequestError):
                continue


def unexplained(programs: Iterator[Program]) -> set[tuple[str, str]]:
    """Return (name, heading) of rows without a meaning; sines and cosines of angles need none."""
    missing = set()
    for derived in programs:
        for row in derived.rows:
            heading = derived.steps[row.step] if row.step >= 0 else ""
            needs_none = "joint angles" in heading and re.match(r"(k\d_)?(neg_)?[cs]_", row.name)
            if any(text in heading for text in OF_COORDINATES) or needs_none or not row.name:
                continue
            stage = re.match(r"(k\d(?:_q)?|q): ", heading)
            prefix = f"{stage[1]}_" if stage else ""
            name = prefix + formula_name(row.name.removeprefix(prefix).removeprefix("neg_"))
            if not meaning(name, heading) and (stem_of(name, heading), "") not in missing:
                missing.add((name, heading))
    return missing


@pytest.mark.parametrize(
    "robot", ["planar_arm", "planar_point_mass:3", "scara", "four_bar", "spherical_pendulum"]
)
def test_every_name_in_the_equations_of_a_methods_letters_has_a_meaning(robot: str) -> None:
    assert unexplained(of_quantities(load(robot))) == set()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*ignores its loops")
@pytest.mark.parametrize(
    "robot",
    [
        "planar_arm",
        "planar_point_mass:3",
        "scara",
        "four_bar",
        "slider_crank",
        "bennett",
        "spherical_pendulum",
        "free_body",
        "ur5",
        "puma560",
        "panda",
        "quadruped",
    ],
)
def test_every_name_in_the_equations_of_a_function_has_a_meaning(robot: str) -> None:
    assert unexplained(of_functions(load(robot))) == set()


def test_a_name_without_a_meaning_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NAMES", {k: v for k, v in NAMES.items() if k != "PB"})
    missing = {name for name, _ in unexplained(of_quantities(load("planar_arm")))}
    assert any(name.startswith("PB_") for name in missing)


@pytest.mark.parametrize(
    ("name", "heading", "stem"),
    [
        ("PB_6_1_2", "", "PB"),
        ("b_less1_0_2", "", "b_less"),
        ("neg_zww3_0_1_1", "", "zww"),
        ("H_tL_1_0", "", "H_tL"),
        ("k2_neg_F_0_1", "k2: link 0 (a): force", "F"),
        ("omega_1_2", "", "omega"),
    ],
)
def test_the_stem_of_a_name(name: str, heading: str, stem: str) -> None:
    assert stem_of(name, heading) == stem


def test_a_stem_is_explained_once_and_by_its_step() -> None:
    x = sp.Symbol("x")
    named = [(sp.Symbol(name), x) for name in ("c_0", "P_0_0_0", "P_0_1_1", "c_1_0", "psi_0_2")]
    headings = [
        "joint angles: sines and cosines",
        "articulated inertia and gain",
        "articulated inertia and gain",
        "link 1 (b): from mass centre to mass centre, SA Fig. 1",
        "articulated body, SA (32)-(35)",
    ]
    lines = legend(named, headings)
    assert [line.partition(":")[0] for line in lines] == ["P", "c", "psi"]
    assert lines[1:] == [f"c: {NAMES['c']}", f"psi: {IN_STEP['SA (32)', 'psi']}"]


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("text", "# PB: block of the articulated-body inertia"),
        ("python", "# PB: block of the articulated-body inertia"),
        ("c", "/* PB: block of the articulated-body inertia"),
        ("latex", r"& \text{PB: block of the articulated-body inertia"),
    ],
)
def test_the_legend_is_a_comment_before_the_equations(format: str, line: str) -> None:
    text = symgen.inspect("planar_arm", "P[0]", "riccati", form="recursive").written(format)
    lines = text.splitlines()
    (at,) = (n for n, text_line in enumerate(lines) if text_line.startswith(line))
    first_equation = next(n for n, text_line in enumerate(lines) if re.search("PB}?_", text_line))
    assert at < first_equation
    assert sum(text_line.startswith(line[: line.index(":")]) for text_line in lines) == 1

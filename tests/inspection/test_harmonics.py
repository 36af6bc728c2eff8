"""Harmonics of one row of a Program, compared with the values of the row."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from symgen.inspection import harmonics as harmonics_module
from symgen.inspection.harmonics import NOISE, Input, harmonic_coefficients, needed_rows
from symgen.ir.program import Numbers, Port, Program, evaluate
from symgen.support.errors import ProgramError, RequestError
from tests.inspection.small_programs import Build, Rows

FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
Q, V = (0.7, -1.9, 0.4), (1.3, -0.6)
ANGLES: list[Input] = [(0, 0), (0, 1), (0, 2)]


def program_of(build: Build) -> Program:
    """Return a Program of three coordinates q, which are rows 0 to 2, and two rates v."""
    rows = Rows(3)
    rows.rows += [rows.rows[0]._replace(value=(1, i)) for i in range(2)]
    results = tuple(build(rows))
    ports = (Port("q", (3,)), Port("v", (2,))), (Port("it", (len(results),), results),)
    return Program("it", "by_hand", *ports, tuple(rows.rows))


def harmonics_of(
    build: Build, exact: bool = True, angles: list[Input] = ANGLES
) -> tuple[Program, list[Input], dict[Any, Any]]:
    program = program_of(build)
    others, harmonics = harmonic_coefficients(
        program, program.outputs[0].rows[0], angles, exact, "it"
    )
    return program, others, harmonics


def value_of(others: list[Input], harmonics: dict[Any, Any], angles: list[Input] = ANGLES) -> float:
    """Return the sum of the harmonics at Q and V."""
    total = 0.0
    for (is_sine, index, powers), x in harmonics.items():
        angle = sum(n * Q[element] for n, (_, element) in zip(index, angles, strict=True))
        term = float(x.p) / float(x.q) * (math.sin(angle) if is_sine else math.cos(angle))
        for (port, element), power in zip(others, powers, strict=True):
            term *= (Q, V)[port][element] ** power
        total += term
    return total


BUILDS: dict[str, Build] = {
    "wave": lambda row: [row("sin", 1)],
    "product": lambda row: [row("mul", row("sin", 0), row("mul", row("cos", 2), row("sin", 0)))],
    "rates": lambda row: [row("mul", row("mul", 3, 4), row("sub", row("cos", 1), row.number(2)))],
    "screw": lambda row: [row("mul", row("mul", 0, 0), row("add", row("cos", 0), row("neg", 2)))],
    "offset": lambda row: [row("cos", row("add", row("neg", 1), row.number(Fraction(3, 10))))],
    "length": lambda row: [row("add", row("mul", 1, row.number(Fraction(1, 3))), row("sin", 2))],
}


@pytest.mark.parametrize("name", BUILDS)
def test_the_sum_of_the_harmonics_is_the_row(name: str) -> None:
    program, others, harmonics = harmonics_of(BUILDS[name])
    expected = evaluate(program, {"q": list(Q), "v": list(V)}, FLOATS)["it"][0]
    assert value_of(others, harmonics) == pytest.approx(expected, rel=1e-14)


def test_coordinates_that_are_no_angles_are_factors() -> None:
    """q1 slides, so that it is a factor of the harmonics in q0 and q2."""
    angles: list[Input] = [(0, 0), (0, 2)]
    program, others, harmonics = harmonics_of(
        lambda row: [row("mul", row("mul", 1, 3), row("sin", 2))], angles=angles
    )
    assert others == [(0, 1), (1, 0), (0, 2)]
    assert harmonics == {(True, (0, 1), (1, 1, 0)): 1}
    expected = evaluate(program, {"q": list(Q), "v": list(V)}, FLOATS)["it"][0]
    assert value_of(others, harmonics, angles) == pytest.approx(expected)


def test_only_the_rows_of_the_target_count() -> None:
    """The second result has a division, which the first one does not need."""

    def build(row: Any) -> list[int]:
        wave = row("sin", 0)
        return [wave, row("div", wave, 1)]

    program, others, harmonics = harmonics_of(build)
    assert others == [(0, 0)]
    assert harmonics == {(True, (1, 0, 0), (0,)): 1}
    assert needed_rows(program, program.outputs[0].rows[:1]) == [0, 5]
    assert needed_rows(program, program.outputs[0].rows) == [0, 1, 5, 6]


def test_the_number_of_terms_is_bounded_before_they_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five terms for each of two angles, times one and the three products of two rates."""

    def build(row: Any) -> list[int]:
        waves = row("mul", row("sin", 0), row("cos", 2))
        return [row("mul", row("mul", 3, 4), waves)]

    monkeypatch.setattr(harmonics_module, "MOST_TERMS", 100)
    assert len(harmonics_of(build)[2]) == 2
    monkeypatch.setattr(harmonics_module, "MOST_TERMS", 99)
    with pytest.raises(RequestError, match="it depends on 2 angles and may have 100 terms"):
        harmonics_of(build)
    monkeypatch.setattr(harmonics_module, "MOST_TERMS", 1)
    assert len(harmonics_of(lambda row: [row("mul", 1, 2)], angles=[(0, 0)])[2]) == 1


def test_noise_of_inexact_constants_is_rounded_away() -> None:
    """A remainder such as that of 1 − 1 is below the last digit that is kept."""
    noise = Fraction(1, 10 ** (NOISE + 2))

    def build(row: Any) -> list[int]:
        return [row("add", row("sin", 0), row("mul", row.number(noise), row("cos", 0)))]

    assert set(harmonics_of(build, exact=False)[2]) == {(True, (1, 0, 0), (0,))}
    assert len(harmonics_of(build)[2]) == 2


def test_operations_that_give_no_polynomial_are_refused_with_a_remedy() -> None:
    for op, remedy in (("sqrt", "leave friction out with --drives"), ("log", "use another method")):
        with pytest.raises(RequestError, match=f"contain a {op}; {remedy}"):
            harmonics_of(lambda row, op=op: [row(op, 0)])
    with pytest.raises(RequestError, match="it by by_hand is not a polynomial in sines and cosin"):
        harmonics_of(lambda row: [row("div", 0, 1)])
    with pytest.raises(ProgramError, match="the sin of an expression that is not a joint angle"):
        harmonics_of(lambda row: [row("sin", row("add", 0, 1))])

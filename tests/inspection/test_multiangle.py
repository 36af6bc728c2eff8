"""Multi-angle forms: unique across methods, equal to the reference, to the Lagrangian's bias force
and to a textbook.
"""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symgen import methods
from symgen.inspection.harmonics import harmonic_coefficients, multiple_angles
from symgen.inspection.multiangle import (
    DIGITS,
    ENTRIES,
    MultiAngle,
    has_exact_constants,
    multiangle,
)
from symgen.inspection.parameters import derive_symbolic, symbolic
from symgen.ir.program import Numbers
from symgen.reference.mechanics import Reference
from symgen.support.errors import RequestError
from tests.shared.robots_for_tests import (
    BALLS,
    TELLING,
    largest,
    random_mechanism,
    reference_results,
    robot,
    states,
)

ROOT = Path(__file__).resolve().parents[2]

SMALL = (
    "planar_arm",
    "planar_point_mass",
    "scara",
    "tree4",
    "square_chain4",
    "revolute_revolute",
    "prismatic_revolute",
)
TURNING = ("planar_arm", "revolute_revolute", "continuous_revolute", "one")
BALL = Numbers(BALLS.constant, np.sin, np.cos, np.sqrt, np.log)
RESULT = {"M": "M", "c": "c", "g": "g", "tau": "tau"}


def entries(name: str, letter: str) -> list[tuple[int, ...]]:
    """Return all indices of a robot of up to 4 joints, else the first, a middle and the last."""
    n = robot(name).nv
    whole = list(np.ndindex(*(n,) * ENTRIES[letter][1]))
    return whole if n <= 4 else [whole[0], whole[n // 2], whole[-1]]


@cache
def form_of(
    name: str, letter: str, index: tuple[int, ...], keep: str = "none", method: str | None = None
) -> MultiAngle:
    return multiangle(robot(name), letter, index, keep, method)


def polynomial_methods(function: str) -> list[str]:
    return [m for m in methods.providers(function) if m in ("composite_body", "newton_euler")]


# -- unique across methods -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "keep"),
    [
        *(
            (name, keep)
            for name in (*TELLING, "tree4")
            for keep in ("none", "m,c,I,l")
            if name not in ("tree5", "panda")
        ),
        ("panda", "none"),  # with symbols its forms take seconds
    ],
)
@pytest.mark.parametrize("letter", ["M", "g"])
def test_methods_agree_in_every_coefficient(name: str, letter: str, keep: str) -> None:
    """Two methods derive the same form of an entry, compared exactly, hash included."""
    two_methods = polynomial_methods(ENTRIES[letter][0])
    assert len(two_methods) == 2
    for index in entries(name, letter):
        first, second = (form_of(name, letter, index, keep, method) for method in two_methods)
        assert first == second
        assert hash(first) == hash(second)


@pytest.mark.parametrize("name", ["puma560", "scara", "tree4"])
def test_forms_are_equal_exactly_where_entries_are(name: str) -> None:
    """With parallel axes some entries are equal functions, such as puma560's M[1,5] and M[2,5]."""
    n = robot(name).nv
    values = reference_results(name, "mass_matrix", 2, BALLS)["M"]
    pairs = list(np.ndindex(n, n))
    for first, second in product(pairs, pairs):
        same = all(largest(values[(s, *first)] - values[(s, *second)]) < 1e-40 for s in range(2))
        assert (form_of(name, "M", first) == form_of(name, "M", second)) == same, (first, second)


# -- the reference's numbers -----------------------------------------------------------------------


@pytest.mark.parametrize("letter", ENTRIES)
@pytest.mark.parametrize(
    "name",
    ["scara", "puma560", "chain3", "tree4", "square_chain4", "prismatic_revolute", "planar_arm"],
)
def test_multi_angle_forms_evaluate_to_the_reference(name: str, letter: str) -> None:
    at = states(name, 2, BALLS)
    expected = reference_results(name, ENTRIES[letter][0], 2, BALLS)[RESULT[letter]]
    for index in entries(name, letter):
        for state in range(2):
            with BALLS.working():
                value = form_of(name, letter, index).evaluate(
                    at["q"][state], at["v"][state], at["a"][state], numbers=BALL
                )
                assert largest(value - expected[(state, *index)]) <= 1e-40 * (
                    1e-3 + largest(expected)
                ), index


@pytest.mark.parametrize("letter", ENTRIES)
@pytest.mark.parametrize("name", ["planar_arm", "square_chain4", "tree4", "puma560"])
def test_symbolic_forms_at_declared_values_equal_numeric_forms(name: str, letter: str) -> None:
    at = states(name, 1, BALLS)
    _, kept = symbolic(robot(name), ENTRIES[letter][0], "all")
    with BALLS.working():
        declared = {p.symbol: BALLS.constant(p.value) for p in kept}
    scale = largest(reference_results(name, ENTRIES[letter][0], 1, BALLS)[RESULT[letter]])
    for index in entries(name, letter):
        symbolic_form, numeric_form = (
            form_of(name, letter, index, "all"),
            form_of(name, letter, index),
        )
        with BALLS.working():
            state = [at[x][0] for x in "qva"]
            difference = symbolic_form.evaluate(
                *state, parameters=declared, numbers=BALL
            ) - numeric_form.evaluate(*state, numbers=BALL)
            assert largest(difference) <= 1e-40 * (1e-3 + scale)


@pytest.mark.parametrize("letter", ["M", "g"])
@pytest.mark.parametrize("name", TURNING)
def test_amplitudes_equal_a_fourier_transform_of_samples(name: str, letter: str) -> None:
    """Five samples of an angle determine a trigonometric polynomial of degree two, without any
    derivation.
    """
    mechanism = robot(name)
    n, points = mechanism.nv, 5
    grid = np.array(list(product(np.arange(points) * 2 * math.pi / points, repeat=n)))
    sampled = Reference(mechanism).evaluate(ENTRIES[letter][0], {"q": grid})[RESULT[letter]]
    for index in entries(name, letter):
        series = np.fft.fftn(sampled[(slice(None), *index)].reshape((points,) * n)) / points**n
        waves = form_of(name, letter, index).waves()
        for multiples in product(range(-2, 3), repeat=n):
            first = next((m for m in multiples if m), 0)
            if first < 0:
                continue
            half = 1 if first == 0 else 2
            amplitudes = [
                float(sum(waves.get((multiples, sine), {(): Fraction(0)}).values()))
                for sine in (False, True)
            ]
            assert [half * series[multiples].real, -half * series[multiples].imag] == pytest.approx(
                amplitudes, abs=1e-13
            ), multiples


# -- the Lagrangian's bias force -------------------------------------------------------------------

Terms = dict[tuple[tuple[tuple[int, ...], bool], tuple[tuple[str, int], ...]], Fraction]


def derivative_of_entry(entry: MultiAngle, joint: int) -> Terms:
    """Return ∂/∂q_joint of an entry, term by term."""
    derivative: Terms = {}

    def add(wave: Any, monomial: dict[str, int], x: Fraction) -> None:
        key = (wave, tuple(sorted((s, p) for s, p in monomial.items() if p)))
        derivative[key] = derivative.get(key, Fraction(0)) + x

    for (index, sine), monomial, x in entry.terms:
        if index[joint]:
            add((index, not sine), dict(monomial), x * index[joint] * (1 if sine else -1))
        power = dict(monomial).get(f"q{joint}", 0)
        if power:
            add((index, sine), {**dict(monomial), f"q{joint}": power - 1}, x * power)
    return derivative


@pytest.mark.parametrize("name", [*SMALL, "puma560"])
def test_the_bias_force_follows_from_the_lagrangian(name: str) -> None:
    """c_i = Σ (∂M_ij/∂q_k − ½ ∂M_jk/∂q_i) v_j v_k + g_i, by differentiating the forms of M term by
    term.
    """
    mechanism = robot(name)
    n = mechanism.nv
    M = {(i, j): form_of(name, "M", (min(i, j), max(i, j))) for i in range(n) for j in range(n)}
    slopes = {
        (i, j, k): derivative_of_entry(M[i, j], k)
        for i in range(n)
        for j in range(i, n)
        for k in range(n)
    }
    for i in range(n):
        total: Terms = {(wave, monomial): x for wave, monomial, x in form_of(name, "g", (i,)).terms}
        for j, k in product(range(n), repeat=2):
            speeds = [(f"v{j}", 2)] if j == k else [(f"v{min(j, k)}", 1), (f"v{max(j, k)}", 1)]
            for slope, weight in (
                (slopes[min(i, j), max(i, j), k], Fraction(1)),
                (slopes[min(j, k), max(j, k), i], Fraction(-1, 2)),
            ):
                for (wave, monomial), x in slope.items():
                    key = (wave, tuple(sorted([*monomial, *speeds])))
                    total[key] = total.get(key, Fraction(0)) + weight * x
        bias = form_of(name, "c", (i,))
        if has_exact_constants(mechanism):
            assert bias == MultiAngle.of(total)
        else:
            coefficients = {(wave, monomial): x for wave, monomial, x in bias.terms}
            for key in {*coefficients, *total}:
                assert abs(coefficients.get(key, 0) - total.get(key, 0)) <= Fraction(
                    1, 10 ** (DIGITS - 5)
                )


def test_tested_robots_include_exact_and_rounded_constants() -> None:
    assert {has_exact_constants(robot(name)) for name in (*SMALL, "puma560")} == {True, False}
    assert has_exact_constants(robot("ur5"))
    assert not has_exact_constants(robot("chain5"))
    assert not has_exact_constants(robot("panda"))  # its hand is turned by π/4


@pytest.mark.parametrize("name", [*SMALL, "puma560"])
def test_inverse_dynamics_equals_mass_matrix_times_acceleration_plus_bias(name: str) -> None:
    n = robot(name).nv
    for i in range(n) if n < 5 else (1,):
        total = form_of(name, "c", (i,))
        for j in range(n):
            row = form_of(name, "M", (i, j))
            total = total + MultiAngle.of(
                {(w, tuple(sorted([*monomial, (f"a{j}", 1)]))): x for w, monomial, x in row.terms}
            )
        tau = form_of(name, "tau", (i,))
        if has_exact_constants(robot(name)):
            assert total == tau
        difference = {(wave, monomial): x for wave, monomial, x in tau.terms}
        for wave, monomial, x in total.terms:
            difference[wave, monomial] = difference.get((wave, monomial), Fraction(0)) - x
        assert max(abs(x) for x in difference.values()) <= Fraction(1, 10 ** (DIGITS - 5))


# -- known forms of some robots --------------------------------------------------------------------


def test_forms_of_the_planar_arm_equal_the_textbook() -> None:
    """a + 2b cos q1 with a = I1 + m1 lc1² + I2 + m2 (l1² + lc2²) and b = m2 l1 lc2."""
    assert str(form_of("planar_arm", "M", (0, 0))) == "1.75 + 0.5*cos(q1)"
    assert str(form_of("planar_arm", "M", (0, 1))) == "1/12 + 0.25*cos(q1)"
    assert str(form_of("planar_arm", "M", (0, 0), "m,c,I,l")) == (
        "I_0_zz + I_1_zz + c_0_x**2*m_0 + c_1_x**2*m_1 + l_1_x**2*m_1 + 2*c_1_x*l_1_x*m_1*cos(q1)"
    )
    assert (
        str(form_of("planar_arm", "M", (0, 1), "all"))
        == "I_1_zz + c_1_x**2*m_1 + c_1_x*l_1_x*m_1*cos(q1)"
    )
    assert str(form_of("planar_arm", "g", (1,), "all")) == "9.81*c_1_x*m_1*cos(q0 + q1)"
    assert (
        str(form_of("planar_arm", "c", (1,), "m"))
        == "0.25*m_1*v0**2*sin(q1) + 2.4525*m_1*cos(q0 + q1)"
    )
    assert form_of("planar_arm", "M", (0, 0), "all").joints() == (1,)
    assert form_of("planar_arm", "M", (0, 0), "all").symbols() == (
        "I_0_zz",
        "I_1_zz",
        "c_0_x",
        "c_1_x",
        "l_1_x",
        "m_0",
        "m_1",
    )


def test_panda_and_ur5_have_the_recorded_number_of_harmonics() -> None:
    assert len(form_of("panda", "M", (0, 0))) == 6129
    assert len(form_of("ur5", "M", (0, 0))) == 51
    assert len(form_of("planar_arm", "M", (0, 0))) == 3


@pytest.mark.slow
def test_pandas_form_takes_at_most_two_seconds_in_a_fresh_process() -> None:
    """Processor time covers imports, reading, derivation, the form and its text; a slow machine has
    more.
    """
    code = (
        "import time; import symgen; from symgen.inspection.multiangle import multiangle; "
        "f = multiangle(symgen.load('panda'), 'M', (0, 0)); t = str(f); s = time.process_time(); "
        "from tests.shared.processor_time import slowness; print(len(f), s, slowness())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    harmonics, seconds, slowness = done.stdout.split()
    assert harmonics == "6129"
    assert float(seconds) <= 2 * float(slowness)


@pytest.mark.parametrize("name", [*SMALL, "puma560", "ur5"])
def test_degrees_are_at_most_two_and_terms_are_canonical(name: str) -> None:
    for letter in ("M", "c"):
        for index in entries(name, letter):
            terms = form_of(name, letter, index, "all").terms
            assert list(terms) == sorted(terms)
            for (multiples, sine), monomial, x in terms:
                assert x != 0
                assert all(abs(m) <= 2 for m in multiples)
                assert next((m for m in multiples if m), 1) > 0
                assert not (sine and not any(multiples))
                assert sum(p for s, p in monomial if s[0] == "v") in (0, 2)
                inertial = [s for s, p in monomial for _ in range(p) if s[0] in "mI"]
                assert len(inertial) == 1, "linear in the masses and the moments"
                assert sum(p for s, p in monomial if s[0] == "c") <= 2 * (inertial[0][0] == "m")


def test_multiple_angles_equal_powers_of_sine_and_cosine() -> None:
    for a, b in product(range(4), repeat=2):
        for x in (0.3, 1.1, -2.0):
            value = sum(
                float(w.p) / float(w.q) * (math.sin if sine else math.cos)(m * x)
                for m, sine, w in multiple_angles(a, b)
            )
            assert value == pytest.approx(math.cos(x) ** a * math.sin(x) ** b, abs=1e-15)


# -- refusals --------------------------------------------------------------------------------------


def test_too_many_angles_are_refused_with_the_estimate() -> None:
    long = random_mechanism(12)
    with pytest.raises(
        RequestError,
        match=r"M\[0,0\] depends on 11 angles and may have 48828125 terms .*--form recursive",
    ):
        multiangle(long, "M", (0, 0))
    with pytest.raises(
        RequestError, match=r"c\[0\] depends on 7 angles and may have 2265625 terms"
    ):
        multiangle(random_mechanism(7), "c", (0,))
    assert multiangle(long, "M", (8, 9)).joints() == (9, 10, 11)


@pytest.mark.parametrize(
    ("letter", "index", "sentence"),
    [
        ("N", (0,), "no entry with a multi-angle form is named 'N'; there are: M, c, g, tau"),
        ("M", (0,), r"M\[0\] does not exist; M takes 2 indices from 0 to 3"),
        ("g", (4,), r"g\[4\] does not exist; g takes 1 indices from 0 to 3"),
        ("g", (-1,), r"g\[-1\] does not exist"),
    ],
)
def test_an_entry_that_does_not_exist_is_refused(
    letter: str, index: tuple[int, ...], sentence: str
) -> None:
    with pytest.raises(RequestError, match=sentence):
        multiangle(robot("scara"), letter, index)
    with pytest.raises(RequestError, match="does not compute mass_matrix"):
        multiangle(robot("scara"), "M", (0, 0), method="riccati")


def test_a_program_that_divides_has_no_multi_angle_form() -> None:
    divides, _ = derive_symbolic(robot("planar_arm"), "mass_matrix_solve", method="riccati")
    with pytest.raises(
        RequestError,
        match=(
            r"x\[0\] by riccati is not a polynomial in sines and cosines: its equations contain"
            r" a div"
        ),
    ):
        harmonic_coefficients(divides, divides.outputs[0].rows[0], [(0, 0), (0, 1)], True, "x[0]")


# -- as text ---------------------------------------------------------------------------------------


def test_an_entry_without_terms_prints_as_zero() -> None:
    zero = form_of(
        "tree4", "M", next(ij for ij in np.ndindex(4, 4) if not form_of("tree4", "M", ij).terms)
    )
    assert str(zero) == "0"
    assert (len(zero), zero.joints(), zero.sympy()) == (0, (), 0)
    assert zero + form_of("scara", "M", (0, 0)) == form_of("scara", "M", (0, 0))

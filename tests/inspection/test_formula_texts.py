"""Sums over ranges of links: their values, texts, and the conditions under which they hold."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from symgen.inspection.general.formulas import (
    Affine,
    Case,
    Condition,
    Kind,
    Polynomial,
    Sum,
    absent_text,
    case_text,
    entry_text,
    form_of,
    terms_by_kind,
)
from symgen.inspection.general.partial_sums import in_partial_sums
from symgen.inspection.general.search import (
    ZERO,
    _affine,
    _except,
    _polynomial,
    _written_out,
    find_cases,
)
from symgen.inspection.multiangle import MultiAngle


def polynomial(**terms: Any) -> Polynomial:
    """Return a polynomial from products of indices of one letter, such as nn=1, n=-1, one=2."""
    return Polynomial(
        tuple((tuple(names if names != "one" else ""), Fraction(x)) for names, x in terms.items())
    )


NUMBER = Kind(False, (), ())
UNIT = polynomial(one=1)


def test_an_index_is_a_variable_plus_a_constant() -> None:
    assert Affine("i", -2).at({"i": 5, "n": 9}) == 3
    assert Affine("", 4).at({}) == 4


@pytest.mark.parametrize(
    "terms",
    [
        {"nn": 1, "n": -1},
        {"ii": "-2", "in": 2},
        {"in": "1/2", "i": "-1/2"},
        {"nn": -3, "in": 6, "ii": -3},
        {"j": -1, "one": 2},
        {"one": "-5/3"},
        {"iij": 4, "jj": -6},
    ],
)
def test_the_product_of_the_factors_is_the_polynomial(terms: dict[str, Any]) -> None:
    """In each factor, a term of the highest degree is positive, one with n if there is any."""
    whole = polynomial(**terms)
    scale, factors = whole.factors()
    for i, j, n in product(range(-2, 3), repeat=3):
        values = {"i": i, "j": j, "n": n}
        value = scale
        for factor, power in factors:
            value *= factor.at(values) ** power
        assert value == whole.at(values)
    for factor, _ in factors:
        degree = max(len(names) for names, _ in factor.terms)
        highest = [(names, x) for names, x in factor.terms if len(names) == degree]
        with_n = [x for names, x in highest if "n" in names]
        assert (with_n or [x for _, x in sorted(highest)])[0] > 0
        signs = [x < 0 for _, x in highest]
        assert signs == sorted(signs)  # positive terms first


def test_a_polynomial_is_written_with_its_signs_and_without_factors_of_one() -> None:
    whole = polynomial(nn=1, n="-3/2", j=-1, one=4)
    assert whole.text("text") == "n*n - 1.5*n - j + 4"
    assert whole.text("latex") == "n n - 1.5 n - j + 4"
    assert polynomial(one=-1).text("text") == "-1"
    assert Polynomial(()).text("text") == "0"


def sum_over(
    ranges: Any = (), positions: Any = (), kind: Kind = NUMBER, coefficient: Polynomial = UNIT
) -> Sum:
    return Sum(kind, tuple(ranges), tuple(positions), coefficient)


K, LINK = Affine("k", 0), Affine("i", 0)
LAST = Affine("n", -1)
WAVE, SINE = Kind(False, (1,), ()), Kind(True, (1,), ())


def test_terms_of_nested_ranges_depend_on_the_outer_index() -> None:
    whole = sum_over(
        [("k", LINK, LAST), ("l", K, LAST)], [K, Affine("l", 0)], WAVE, polynomial(n=1, l=-1)
    )
    expected = {(k, j): Fraction(4 - j) for k in range(2, 4) for j in range(k, 4)}
    assert dict(whole.terms({"i": 2, "n": 4})) == expected
    # zero coefficients are no terms
    assert dict(sum_over([], [LINK], WAVE, polynomial(i=1)).terms({"i": 0, "n": 4})) == {}


def test_a_form_is_the_sum_of_its_terms_by_kind() -> None:
    form = MultiAngle.of(
        {
            (((0, 1, 1, -2), True), (("a3", 2), ("v0", 1))): Fraction(3),
            (((1, 1, 1, 1), False), (("v2", 1), ("v3", 1))): Fraction(-2),
            (((1, 0, 1, 1), False), ()): Fraction(1, 3),
            (((0, 0, 0, 0), False), (("q1", 1),)): Fraction(7),
        }
    )
    terms = terms_by_kind(form)
    assert terms[Kind(True, (1, -2), (("a", 2), ("v", 1)))] == {(1, 2, 3, 3, 3, 0): 3}
    assert terms[Kind(False, (1,), (("v", 1), ("v", 1)))] == {(0, 3, 2, 3): -2}
    assert terms[Kind(False, (1, 1), ())] == {(0, 0, 2, 3): Fraction(1, 3)}
    sums = [
        sum_over([], [Affine("", x) for x in positions], kind, Polynomial((((), value),)))
        for kind, values in terms.items()
        for positions, value in values.items()
    ]
    assert form_of(sums, {"n": 4}) == form
    assert form_of([*sums, *sums], {"n": 4}) == form.scaled(Fraction(2))


@pytest.mark.parametrize(
    ("relation", "true_for"),
    [("=", {3}), ("≠", {2, 4}), ("<", {2}), ("≤", {2, 3}), (">", {4}), ("≥", {3, 4})],
)
def test_a_condition_compares_an_index_with_another(relation: str, true_for: set[int]) -> None:
    condition = Condition("i", relation, Affine("j", 1))
    assert {i for i in (2, 3, 4) if condition.holds({"i": i, "j": 2})} == true_for
    assert str(condition) == f"i {relation} j+1"


def test_the_line_of_a_case_has_its_conditions_except_unequal_ones() -> None:
    conditions = [Condition("i", "≤", Affine("j", 0)), Condition("j", "≠", LAST)]
    assert case_text("M[i,j]", "1", conditions, "text") == "M[i,j] = 1    for i ≤ j"
    assert case_text("M[i,j]", "1", conditions[1:], "text") == "M[i,j] = 1    otherwise"
    assert case_text("M[i,j]", "1", [], "text") == "M[i,j] = 1"
    assert case_text("M[i,j]", "⎡1⎤\n⎣2⎦", conditions, "text") == "M[i,j] =    for i ≤ j\n⎡1⎤\n⎣2⎦"
    greater = [Condition("i", "≥", LAST), *conditions[:1]]
    assert case_text("M[i,j]", "1", greater, "latex") == r"M_{i,j} &= 1 && i \ge n-1,\ i \le j"
    assert case_text("M[i,j]", "1", conditions[1:], "latex") == r"M_{i,j} &= 1 && \text{otherwise}"
    assert case_text("M[i,j]", "1", [], "latex") == r"M_{i,j} &= 1"


def test_the_line_of_an_absent_block_has_no_value() -> None:
    less = [Condition("i", "<", Affine("j", 0))]
    assert absent_text("B[i,j]", less, "text") == "B[i,j] does not exist    for i < j"
    assert absent_text("B[i,j]", less, "latex") == r"B_{i,j} &\text{ does not exist} && i < j"


def test_a_case_is_zero_if_no_numerator_has_terms() -> None:
    summand = sum_over()
    assert Case((), (((), None), ((), (summand,)))).is_zero
    assert not Case((), (((), None), ((summand,), None))).is_zero


@pytest.mark.parametrize(
    ("above", "below", "text", "latex"),
    [
        ([], None, "0", "0"),
        ([sum_over()], None, "1", "1"),
        ([sum_over(coefficient=polynomial(one=-2))], None, "-2", "-2"),
        ([sum_over()], [sum_over(coefficient=polynomial(n=1))], "(1)/(n)", r"\frac{1}{n}"),
        ([sum_over([], [LINK, LINK], SINE)], None, "sin(q[i])", r"\sin\left(q_{i}\right)"),
        (
            [sum_over([], [LINK, LAST], WAVE, polynomial(one=-3))],
            None,
            "-3*cos(q[i:n-1])",
            r"-3 \cos\left(q_{i:n-1}\right)",
        ),
        (  # several angles with multiples
            [sum_over([], [LINK, LINK, LAST, LAST], Kind(True, (2, -1), ()))],
            None,
            "sin(2*q[i] - q[n-1])",
            r"\sin\left(2 q_{i} - q_{n-1}\right)",
        ),
        (
            [sum_over([], [LINK, LINK, LAST, LAST], Kind(True, (-1, -3), ()))],
            None,
            "sin(-q[i] - 3*q[n-1])",
            r"\sin\left(-q_{i} - 3 q_{n-1}\right)",
        ),
        (  # rates, and their partial sums, of which the first is a rate
            [sum_over([], [Affine("", 0), LINK], Kind(False, (), (("V", 1), ("v", 2))))],
            None,
            "v[0]*v[i]**2",
            "v_{0} v_{i}^{2}",
        ),
        (
            [sum_over([], [LINK], Kind(False, (), (("A", 1),)), polynomial(one="1/2"))],
            None,
            "0.5*a[0:i]",
            "0.5 a_{0:i}",
        ),
        (  # factors of the coefficient
            [sum_over([], [], NUMBER, polynomial(nn="1/2", n="-1/2"))],
            None,
            "0.5*(n - 1)*n",
            r"0.5 \left(n - 1\right) n",
        ),
        ([sum_over([], [], NUMBER, polynomial(n=1, one=-1))], None, "n - 1", "n - 1"),
        (  # the minus is that of both terms
            [sum_over([], [], NUMBER, polynomial(j=-1, one=2))],
            None,
            "-(j - 2)",
            r"-\left(j - 2\right)",
        ),
        (
            [sum_over([], [], NUMBER, polynomial(i=-3, n=-3))],
            None,
            "-3*(i + n)",
            r"-3 \left(i + n\right)",
        ),
        (
            [sum_over([], [LINK, LINK], WAVE, polynomial(n=1, i=-1))],
            None,
            "(n - i)*cos(q[i])",
            r"\left(n - i\right) \cos\left(q_{i}\right)",
        ),
        (
            [sum_over([], [LINK, LINK], WAVE, polynomial(nn=1, n=-1))],
            None,
            "(n - 1)*n*cos(q[i])",
            r"\left(n - 1\right) n \cos\left(q_{i}\right)",
        ),
        (
            [sum_over([], [], NUMBER, polynomial(nn=1, n=2, one=1))],
            None,
            "(n + 1)**2",
            r"\left(n + 1\right)^{2}",
        ),
        ([sum_over([], [], NUMBER, polynomial(nn=-1))], None, "-n**2", "-n^{2}"),
        (
            [sum_over([("k", LINK, LAST)], [], NUMBER, polynomial(n=1, k=-1))],
            None,
            "sum(k=i..n-1: (n - k))",
            r"\sum_{k=i}^{n-1} \left(n - k\right)",
        ),
        (
            [
                sum_over(
                    [("k", LINK, LAST), ("l", K, LAST)],
                    [K, Affine("l", 0)],
                    WAVE,
                    polynomial(n=-2, l=2),
                )
            ],
            None,
            "-sum(k=i..n-1, l=k..n-1: 2*(n - l)*cos(q[k:l]))",
            r"-\sum_{k=i}^{n-1}\sum_{l=k}^{n-1} 2 \left(n - l\right) \cos\left(q_{k:l}\right)",
        ),
    ],
)
def test_texts_of_entries(above: Any, below: Any, text: str, latex: str) -> None:
    entry = (tuple(above), None if below is None else tuple(below))
    assert entry_text(entry, "text") == text
    assert entry_text(entry, "latex") == latex


def test_sums_that_differ_in_their_symbols_only_are_one_sum() -> None:
    def with_rate(position: Affine, factor: int, power: int = 2) -> Sum:
        kind = Kind(True, (1,), (("V", power),))
        return sum_over([("k", LINK, LAST)], [K, LAST, position], kind, polynomial(one=factor))

    both = (with_rate(K, 2), with_rate(LAST, -2), with_rate(LINK, -6, 1))
    assert entry_text((both, None), "text") == (
        "sum(k=i..n-1: 2*(v[0:k]**2 - v[0:n-1]**2 - 3*v[0:i])*sin(q[k:n-1]))"
    )
    assert entry_text((both[:2], None), "latex") == (
        r"\sum_{k=i}^{n-1} 2 \left(v_{0:k}^{2} - v_{0:n-1}^{2}\right) \sin\left(q_{k:n-1}\right)"
    )
    # a term without a range, and terms without symbols, stay apart
    single = sum_over([], [LINK, LINK, LINK], Kind(True, (1,), (("v", 1),)))
    single_with_k = sum_over([], [LINK, LINK, K], Kind(True, (1,), (("v", 1),)))
    assert entry_text(((single, single_with_k), None), "text") == "v[i]*sin(q[i]) + v[k]*sin(q[i])"
    # so do terms without a range, unless their coefficient is a polynomial of several terms
    linear = [
        sum_over([], [LINK, LINK, at], Kind(True, (1,), (("v", 1),)), polynomial(n=x, i=-x))
        for at, x in ((LINK, 1), (K, -2))
    ]
    text = entry_text((tuple(linear), None), "text")
    assert text == "(n - i)*(v[i] - 2*v[k])*sin(q[i])"
    half = [replace(item, coefficient=polynomial(n="-1/2", i="1/2")) for item in linear]
    assert entry_text((tuple(half), None), "text") == "-0.5*(n - i)*(v[i] + v[k])*sin(q[i])"
    plain, double = (
        sum_over([("k", LINK, LAST)], [K, K], WAVE, polynomial(one=factor)) for factor in (1, 2)
    )
    assert entry_text(((plain, double), None), "text").count("sum(") == 2


# -- the search ------------------------------------------------------------------------------------


def test_an_index_is_found_from_its_values() -> None:
    rows = [({"i": i, "n": n}, i + 2) for i in range(3) for n in (5, 6)]
    assert _affine(rows, ["i", "n"]) == Affine("i", 2)
    assert _affine([(values, 7) for values, _ in rows], ["i", "n"]) == Affine("", 7)
    assert _affine([(values, values["n"] - 1) for values, _ in rows], ["i", "n"]) == Affine("n", -1)
    assert _affine([(values, 2 * values["i"]) for values, _ in rows], ["i", "n"]) is None
    assert _affine([(values, values["i"] + 3) for values, _ in rows], ["i"]) == Affine("i", 3)
    assert _affine([(values, values["i"] + 4) for values, _ in rows], ["i"]) is None


def test_a_polynomial_of_least_degree_is_found_if_there_are_more_values_than_coefficients() -> None:
    points = [{"i": i, "n": n} for i in range(4) for n in range(i, 5)]
    for whole in (polynomial(one=3), polynomial(n=1, i=-1), polynomial(**{"in": "1/2"}, ii=-2)):
        rows = [(values, whole.at(values)) for values in points]
        fitted = _polynomial(rows, ["i", "n"], 2)
        assert fitted is not None
        assert all(fitted.at(values) == value for values, value in rows)
        degree = max(len(names) for names, _ in whole.terms)
        assert max(len(names) for names, _ in fitted.terms) == degree
        if degree:
            assert _polynomial(rows, ["i", "n"], degree - 1) is None
    # two values do not confirm a line through them
    assert _polynomial([({"n": 1}, Fraction(1)), ({"n": 2}, Fraction(3))], ["n"], 2) is None
    line = [({"n": n}, Fraction(2 * n - 1)) for n in (1, 2, 3)]
    assert _polynomial(line, ["n"], 2) == polynomial(one=-1, n=2)


def test_a_sum_of_at_most_three_terms_is_written_out() -> None:
    short = sum_over([("k", LINK, Affine("i", 2))], [Affine("k", 1), LINK], WAVE)
    assert [item.positions for item in _written_out(short)] == [
        (Affine("i", 1), LINK),
        (Affine("i", 2), LINK),
        (Affine("i", 3), LINK),
    ]
    assert all(not item.ranges for item in _written_out(short))
    for long in (
        sum_over([("k", LINK, Affine("i", 3))], [K, LINK], WAVE),
        sum_over([("k", LINK, Affine("n", 1))], [K, LINK], WAVE),
        sum_over([("k", LINK, Affine("i", 1))], [K, LINK], WAVE, polynomial(k=1)),
    ):
        assert [*_written_out(long)] == [long]


@pytest.mark.parametrize(
    ("conditions", "excluded", "expected"),
    [
        ([], "i < j", ["i ≥ j"]),
        ([], "i > j", ["i ≤ j"]),
        ([], "j = i+1", ["j ≠ i+1"]),
        ([], "i = 0", ["i > 0"]),
        ([], "i = n-1", ["i < n-1"]),
        (["i > 0"], "i = 1", ["i > 1"]),
        ([], "i = 1", ["i ≠ 1"]),
        (["i < n-1"], "i = n-2", ["i < n-2"]),
        ([], "i = n-2", ["i ≠ n-2"]),
        (["i ≥ j"], "i = j", ["i > j"]),
        (["i ≤ j"], "i = j", ["i < j"]),
        (["i ≤ j"], "i < j", ["i ≤ j", "i ≥ j"]),
        (["j > 0"], "i = 1", ["j > 0", "i ≠ 1"]),
    ],
)
def test_the_rest_of_a_case_has_as_few_conditions_as_possible(
    conditions: list[str], excluded: str, expected: list[str]
) -> None:
    def parsed(text: str) -> Condition:
        left, relation, right = text.split()
        variable = right[0] if right[0].isalpha() else ""
        return Condition(left, relation, Affine(variable, int(right[len(variable) :] or 0)))

    rest = _except(tuple(map(parsed, conditions)), parsed(excluded))
    assert [str(condition) for condition in rest] == expected


def cases_of(entry: Any, count: int = 2, sizes: tuple[int, ...] = (4, 5, 6)) -> Any:
    """Search for the cases of a letter with one entry, as a function of i, j and n."""
    variables = "ij"[:count]
    points = {
        (*zip(variables, values, strict=True), ("n", n)): (entry(*values, n),)
        for n in sizes
        for values in product(range(n), repeat=count)
    }
    cases = find_cases(variables, points)
    if cases is not None:
        for point, block in points.items():
            values = dict(point)
            case = next(x for x in cases if all(c.holds(values) for c in x.conditions))
            assert form_of(case.entries[0][0], values) == block[0]
    return cases


def wave(n: int, first: int, last: int, x: int = 1) -> MultiAngle:
    index = tuple(int(first <= k <= last) for k in range(n))
    return MultiAngle.of({((index, False), ()): Fraction(x)})


@pytest.mark.parametrize(
    ("entry", "texts"),
    [
        (lambda i, j, n: wave(n, j, j) if i == j else ZERO, ["j = i", "j ≠ i"]),
        (
            lambda i, j, n: wave(n, i, i, 2 if i else 3) if i == j else ZERO,
            ["j = i, i = 0", "j = i, i > 0", "j ≠ i"],
        ),
        (lambda i, j, n: wave(n, j, j) if i == j + 2 else ZERO, ["j = i-2", "j ≠ i-2"]),
        (lambda i, j, n: wave(n, min(i, j), max(i, j)), ["i < j", "i ≥ j"]),
        (lambda i, j, n: wave(n, 0, i, n - j + 1), [""]),
        (lambda i, j, n: wave(n, 0, n - 1, 5 if j == n - 1 else 1), ["j = n-1", "j < n-1"]),
    ],
)
def test_the_fewest_cases_are_found(entry: Any, texts: list[str]) -> None:
    cases = cases_of(entry)
    assert [", ".join(map(str, case.conditions)) for case in cases] == texts


def test_coefficients_of_the_third_degree_have_no_formula() -> None:
    assert cases_of(lambda i, n: wave(n, 0, i, (i + 1) * (n + 1)), 1) is not None
    assert cases_of(lambda i, n: wave(n, 0, i, (i + 1) * (n + 1) * (n - i)), 1) is None


def test_a_sum_is_divided_where_a_position_reaches_a_link_of_the_request() -> None:
    """Below joint i the coefficient is 1, from there on it is 3."""

    def entry(i: int, n: int) -> MultiAngle:
        total = MultiAngle(())
        for k in range(n):
            total += wave(n, k, n - 1, 1 if k < i else 3)
        return total

    (case,) = cases_of(entry, 1)
    text = entry_text(case.entries[0], "text")
    assert text == "sum(k=0..i-1: cos(q[k:n-1])) + sum(k=i..n-1: 3*cos(q[k:n-1]))"


def test_a_partial_sum_of_rates_is_a_difference() -> None:
    """v[2]² = (v[0:2] − v[0:1])²; letters that are not chosen stay."""
    form = MultiAngle.of({(((0,), False), (("a1", 1), ("v2", 2))): Fraction(5)})
    changed = in_partial_sums(form, "v")
    assert {monomial: x for _, monomial, x in changed.terms} == {
        (("V2", 2), ("a1", 1)): 5,
        (("V1", 1), ("V2", 1), ("a1", 1)): -10,
        (("V1", 2), ("a1", 1)): 5,
    }

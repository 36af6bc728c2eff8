"""Sums over ranges of links: their values, texts, and the conditions under which they hold."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest

from symgen.inspection.canonical import Quotient
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
    MOST_RANGES,
    ZERO,
    _affine,
    _and,
    _by_end,
    _by_order,
    _except,
    _fewest_sums,
    _polynomial,
    _splits,
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
            [sum_over([], [], NUMBER, polynomial(**{"in": 1}, n=2, i=1, one=2))],
            None,
            "(n + 1)*(i + 2)",
            r"\left(n + 1\right) \left(i + 2\right)",
        ),
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
    rest = _except(tuple(map(parsed, conditions)), parsed(excluded))
    assert [str(condition) for condition in rest] == expected


def parsed(text: str) -> Condition:
    """Return the condition with a text."""
    left, relation, right = text.split()
    variable = right[0] if right[0].isalpha() else ""
    return Condition(left, relation, Affine(variable, int(right[len(variable) :] or 0)))


@pytest.mark.parametrize(
    ("conditions", "added", "expected"),
    [
        ([], "i = 0", ["i = 0"]),
        (["i > 0"], "i < j", ["i > 0", "i < j"]),
        (["i ≤ j", "i > 0"], "i = j", ["i > 0", "i = j"]),
        (["i ≤ j", "i > 0"], "j = i+1", ["i > 0", "j = i+1"]),
        (["i < n-1"], "i = 0", ["i = 0"]),
        (["i > 0"], "i = n-1", ["i = n-1"]),
        (["j > 0"], "i = 0", ["j > 0", "i = 0"]),
        (["i < j"], "i = 0", ["i < j", "i = 0"]),
    ],
)
def test_conditions_that_follow_from_an_equation_are_left_out(
    conditions: list[str], added: str, expected: list[str]
) -> None:
    combined = _and(tuple(map(parsed, conditions)), parsed(added))
    assert [str(condition) for condition in combined] == expected


def test_cases_are_separated_by_ends_of_the_chain_and_by_diagonals() -> None:
    """On one diagonal the second index follows from the first, and the next links are ends, too."""
    ends = {"i = 0", "i = n-1"}
    assert {str(x) for x in _splits("i", ())} == ends
    of_two = [str(x) for x in _splits("ij", (parsed("i > 0"),))]
    diagonals = {"j = i+1", "j = i-1", "j = i+2", "j = i-2"}
    sides = {"i < j", "i = j", "i > j"}
    assert set(of_two[:3]) == sides
    assert set(of_two) == {*ends, "j = 0", "j = n-1", *diagonals, *sides}
    on_diagonal = [str(x) for x in _splits("ij", (parsed("j = i+1"),))]
    assert sorted(on_diagonal) == sorted({*ends, "i = 1", "i = n-2"})
    assert len(_splits("ij", (parsed("i = 1"),))) == len(of_two)


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


def test_the_diagonals_of_a_band_are_cases_with_ends_of_their_own() -> None:
    """The main diagonal has two other entries at each end; the one above it comes before the one
    below it.
    """

    def entry(i: int, j: int, n: int) -> MultiAngle:
        if i == j:
            return wave(n, i, i, {0: 2, 1: 3, n - 2: 5, n - 1: 7}.get(i, 1))
        return wave(n, 0, i, j - i) if abs(i - j) == 1 else ZERO

    cases = cases_of(entry, 2, (5, 6, 7))
    texts = [", ".join(map(str, case.conditions)) for case in cases]
    assert {text.replace("j = i, ", "") for text in texts[:4]} == {
        "i = 0", "i = 1", "i = n-2", "i = n-1"
    }  # fmt: skip
    assert texts[4].startswith("j = i, ")
    assert texts[5:7] == ["j = i+1", "j = i-1"]
    assert cases[7].is_zero
    assert set(texts[7].split(", ")) == {"j ≠ i", "j ≠ i+1", "j ≠ i-1"}


def test_coefficients_of_the_third_degree_have_no_formula() -> None:
    assert cases_of(lambda i, n: wave(n, 0, i, (i + 1) * (n + 1)), 1) is not None
    assert cases_of(lambda i, n: wave(n, 0, i, (i + 1) * (n + 1) * (n - i)), 1) is None


def waves_to_the_tip(n: int, factor: Any) -> MultiAngle:
    """Return the sum of factor(k) cos(q[k] + … + q[n-1]) over all links k."""
    total = MultiAngle(())
    for k in range(n):
        total += wave(n, k, n - 1, factor(k))
    return total


@pytest.mark.parametrize("offset", [-1, 0, 1, 2])
def test_a_sum_is_divided_where_a_position_reaches_a_link_of_the_request(offset: int) -> None:
    """Below joint i + offset the coefficient is 1, from there on it is 3."""
    points = {
        (("i", i), ("n", n)): (waves_to_the_tip(n, lambda k, i=i: 1 if k < i + offset else 3),)
        for n in (6, 7, 8)
        for i in range(2, n - 2)
    }
    cases = find_cases("i", points)
    assert cases is not None
    (case,) = cases
    first, last = Affine("i", offset), Affine("i", offset - 1)
    assert entry_text(case.entries[0], "text") == (
        f"sum(k=0..{last}: cos(q[k:n-1])) + sum(k={first}..n-1: 3*cos(q[k:n-1]))"
    )


def test_the_terms_of_one_kind_are_divided_into_few_sums() -> None:
    """A coefficient is 7 at link i, and 9 at link i + 1, too."""
    for single, count in ((1, MOST_RANGES), (2, None)):
        data = {
            (("i", i), ("n", n)): {
                (k, n - 1): Fraction(1 if k < i else 3 if k >= i + single else 7 + 2 * (k - i))
                for k in range(n)
            }
            for n in (6, 7, 8)
            for i in range(2, n - 2)
        }
        sums = _fewest_sums(WAVE, data, "i", 0)
        if count is None:
            assert sums is None
        else:
            assert sums is not None
            assert len(sums) == count
            assert [[item[1:] for item in summand.ranges] for summand in sums] == [
                [(Affine("", 0), Affine("i", -1))],
                [],
                [(Affine("i", 1), LAST)],
            ]


def test_quotients_have_formulas_of_their_numerators_and_denominators() -> None:
    def entry(i: int, n: int) -> Quotient:
        return Quotient(wave(n, i, n - 1, i), wave(n, 0, i) + wave(n, 0, -1, 3))

    def cases_of_quotients(value: Any) -> Any:
        points = {(("i", i), ("n", n)): (value(i, n),) for n in (4, 5, 6) for i in range(1, n)}
        return find_cases("i", points)

    (case,) = cases_of_quotients(entry)
    assert entry_text(case.entries[0], "text") == "(i*cos(q[i:n-1]))/(3 + cos(q[0:i]))"

    def without_denominator(i: int, n: int) -> MultiAngle | Quotient:
        return entry(i, n).numerator if i == n - 1 else entry(i, n)

    cases = cases_of_quotients(without_denominator)
    assert [case.entries[0][1] is None for case in cases] == [True, False]
    assert [str(case.conditions[0]) for case in cases] == ["i = n-1", "i < n-1"]

    def of_third_degree(i: int, n: int) -> Quotient:
        return replace(entry(i, n), denominator=wave(n, 0, i, (i + 1) * (n + 1) * (n - i)))

    assert cases_of_quotients(of_third_degree) is None


def test_a_sum_has_at_most_two_indices() -> None:
    """All sums of angles, and all products of rates of three links."""

    def double(i: int, n: int) -> MultiAngle:
        total = MultiAngle(())
        for k in range(i, n):
            for last in range(k, n):
                total += wave(n, k, last)
        return total

    (case,) = cases_of(double, 1)
    assert entry_text(case.entries[0], "text") == "sum(k=i..n-1, l=k..n-1: cos(q[k:l]))"

    def triple(i: int, n: int) -> MultiAngle:
        rates = combinations([f"v{k}" for k in range(n)], 3)
        constant = ((0,) * n, False)
        return MultiAngle.of(
            {(constant, tuple((v, 1) for v in names)): Fraction(1) for names in rates}
        )

    assert cases_of(triple, 1, (5, 6)) is None


def test_a_sum_over_all_rates_is_not_divided_at_the_ends_of_its_angles() -> None:
    def entry(i: int, n: int) -> MultiAngle:
        angles = (tuple(int(k >= i) for k in range(n)), True)
        return MultiAngle.of({(angles, ((f"v{k}", 1),)): Fraction(1) for k in range(n)})

    (case,) = cases_of(entry, 1)
    assert entry_text(case.entries[0], "text") == "sum(k=0..n-1: v[k]*sin(q[i:n-1]))"


TWO_RUNS = Kind(False, (1, 2), (("v", 1),))
"""cos(q[a:b] + 2 q[c:d]) v[k], with the positions a, b, c, d, k."""


def test_terms_whose_angles_reach_the_last_link_are_apart() -> None:
    reaching = {(0, 3, 1, 1, 0): Fraction(1), (0, 0, 1, 3, 2): Fraction(2)}
    others = {(0, 1, 2, 2, 3): Fraction(3), (0, 0, 1, 2, 1): Fraction(4)}
    point, empty = (("i", 0), ("n", 4)), (("i", 1), ("n", 5))
    groups = _by_end(TWO_RUNS, {point: reaching | others, empty: {}})
    assert groups == [{point: others, empty: {}}, {point: reaching, empty: {}}]


def test_terms_are_apart_whose_symbols_lie_at_other_places_of_the_angles() -> None:
    """Before, in, or at the end of each sum of angles; here the sums are over 1 to 2 and 4 to 5."""
    point, empty = (("n", 9),), (("n", 10),)
    data: dict[Any, dict[tuple[int, ...], Fraction]] = {
        point: {(1, 2, 4, 5, k): Fraction(k + 1) for k in range(8)},
        empty: {(1, 2, 4, last, 0): Fraction(1) for last in (4, 5)},
    }
    groups = _by_order(TWO_RUNS, data)
    links = [[positions[-1] for positions in group[point]] for group in groups]
    assert links == [[0], [1], [2, 3], [4], [5, 6, 7]]
    assert [len(group[empty]) for group in groups] == [2, 0, 0, 0, 0]


def test_a_partial_sum_of_rates_is_a_difference() -> None:
    """v[2]² = (v[0:2] − v[0:1])²; letters that are not chosen stay."""
    form = MultiAngle.of({(((0,), False), (("a1", 1), ("v2", 2))): Fraction(5)})
    changed = in_partial_sums(form, "v")
    assert {monomial: x for _, monomial, x in changed.terms} == {
        (("V2", 2), ("a1", 1)): 5,
        (("V1", 1), ("V2", 1), ("a1", 1)): -10,
        (("V1", 2), ("a1", 1)): 5,
    }

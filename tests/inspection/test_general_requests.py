"""Requests for all links of a chain: the chains, the search over their blocks, and the formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

import symgen
from symgen.inspection.canonical import Canonical, Quotient
from symgen.inspection.general import request as request_module
from symgen.inspection.general.formulas import Affine, Case, Condition, Kind, Polynomial, Sum
from symgen.inspection.general.request import (
    LONGER,
    SIZES,
    General,
    chain_of,
    general,
    is_general,
    parse_general,
    shortening_letters,
    with_proof,
)
from symgen.inspection.multiangle import MultiAngle
from symgen.inspection.request import Words, parse_request
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import RequestError
from tests.shared.bars import chain_of_bars

ROW, COLUMN, LAST = Affine("i", 0), Affine("j", 0), Affine("n", -1)
ZERO = MultiAngle(())


@cache
def bars(count: int = 4) -> Mechanism:
    return chain_of_bars(count).build()


def words_of(request: str) -> Words:
    words = parse_request(request)
    assert words is not None
    return words


def wave(n: int, first: int, last: int, x: int = 1, **symbols: int) -> MultiAngle:
    """Return x times symbols times cos(q[first] + … + q[last])."""
    index = tuple(int(first <= k <= last) for k in range(n))
    return MultiAngle.of({((index, False), tuple(sorted(symbols.items()))): Fraction(x)})


Block = Callable[[int, Sequence[int]], tuple[MultiAngle | Quotient, ...] | None]


def formulas_of(
    block: Block, request: str = "x[i]", shape: tuple[int, ...] = (), progress: Any = None
) -> General:
    """Search for formulas of a letter whose blocks are given by n and the indices."""

    def blocks(links: Mechanism, at: Sequence[int]) -> Canonical | None:
        entries = block(len(links.joints), at)
        return None if entries is None else Canonical("x", shape, entries)

    words = words_of(request)
    indices = parse_general(bars(), words)
    assert indices is not None
    return general(bars(), words, indices, blocks, progress)


# -- the search ------------------------------------------------------------------------------------


def test_every_block_of_some_chains_is_compared() -> None:
    """Indices outside the chain are none; each step is reported before it begins."""
    seen: list[tuple[int, ...]] = []
    steps: list[tuple[str, int, int]] = []

    def block(n: int, at: Sequence[int]) -> tuple[MultiAngle, ...]:
        seen.append((n, *at))
        return (wave(n, at[0], n - 1),)

    result = formulas_of(block, "x[i+1]", progress=lambda *step: steps.append(step))
    assert str(result) == "x[i+1] = cos(q[i+1:n-1])"
    counts = (*SIZES, LONGER)
    assert seen == [(n, k) for n in counts for k in range(1, n)]
    assert result.sizes == counts
    assert steps == [
        *((f"x[i+1] of a chain of {n} links", k, 5) for k, n in enumerate(counts)),
        ("formulas of x[i+1]", 4, 5),
    ]


def test_a_number_among_the_indices_is_the_same_for_all_chains() -> None:
    result = formulas_of(lambda n, at: (wave(n, at[1], n - 1, at[1]),), "x[i,2]")
    assert str(result) == "x[i,2] = 2*cos(q[2:n-1])"


def test_a_block_that_does_not_exist_is_zero() -> None:
    def block(n: int, at: Sequence[int]) -> tuple[MultiAngle, ...] | None:
        return (wave(n, at[0], at[0]), ZERO) if at[0] == at[1] else None

    result = formulas_of(block, "x[i,j]", (1, 2))
    assert result.text().splitlines() == [
        "x[i,j] = [cos(q[i])  0]    for j = i",
        "x[i,j] = 0    otherwise",
    ]
    assert result.shape == (1, 2)
    with pytest.raises(RequestError, match="is zero or does not exist for every link"):
        formulas_of(lambda n, at: None)


def test_entries_with_too_many_terms_are_refused_unless_partial_sums_shorten_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The square of a sum of nine rates has 45 terms, in front of nine cosines."""

    def square_of_rates(n: int, factor: MultiAngle) -> MultiAngle:
        total: dict[Any, Fraction] = {}
        for (index, sine), _, x in factor.terms:
            for a in range(n):
                for b in range(a, n):
                    monomial = ((f"v{a}", 2),) if a == b else ((f"v{a}", 1), (f"v{b}", 1))
                    total[(index, sine), monomial] = x * (1 if a == b else 2)
        return MultiAngle.of(total)

    def all_waves(n: int) -> MultiAngle:
        total = ZERO
        for k in range(n):
            total += wave(n, k, k)
        return total

    def powers(n: int, count: int) -> tuple[MultiAngle, ...]:
        terms: dict[Any, Fraction] = {
            (((0,) * n, False), (("q0", power),)): Fraction(1) for power in range(1, count + 1)
        }
        return (ZERO, MultiAngle.of(terms))

    with pytest.raises(RequestError, match="for 5 links an entry has more than 200 terms"):
        formulas_of(lambda n, at: powers(n, 201), shape=(1, 2))
    monkeypatch.setattr(request_module, "MOST_TERMS", 9)
    result = formulas_of(lambda n, at: (square_of_rates(n, all_waves(n)),))
    assert str(result) == "x[i] = sum(k=0..n-1: v[0:n-1]**2*cos(q[k]))"
    (entry,) = result.block(n=9, i=0).entries
    assert isinstance(entry, MultiAngle)
    assert len(entry.terms) == 45 * 9
    assert str(formulas_of(lambda n, at: powers(n, 9), shape=(1, 2))).count("q[0]**") == 8
    with pytest.raises(RequestError, match="an entry has more than 9 terms"):
        formulas_of(lambda n, at: powers(n, 10), shape=(1, 2))


def test_a_formula_must_hold_for_the_longest_chain() -> None:
    with pytest.raises(RequestError, match="one that holds for 7 links does not hold for 9"):
        formulas_of(lambda n, at: (wave(n, at[0], n - 1, 1 + (n > SIZES[-1])),))
    with pytest.raises(RequestError, match="no sums over ranges of links with coefficients of"):
        formulas_of(lambda n, at: (wave(n, at[0], n - 1, at[0] ** 4 + n**3),))


def test_letters_are_summed_that_make_the_number_of_terms_smaller() -> None:
    """(v0 + v1)² is one term in partial sums; a0 + a1 as well, and v0 v1 is not."""
    constant = ((0, 0), False)

    def points(*terms: tuple[tuple[str, int], ...]) -> Any:
        return {(("n", 2),): (MultiAngle.of({(constant, x): Fraction(1) for x in terms}),)}

    accelerations = ((("a0", 1),), (("a1", 1),))
    assert shortening_letters(points(*accelerations)) == "a"
    assert shortening_letters(points((("v0", 1),), (("v1", 1),))) == "v"
    assert shortening_letters(points((("v0", 1), ("v1", 1)))) == ""
    assert shortening_letters(points((("v1", 1),))) == ""
    assert shortening_letters(points((("v0", 1),))) == ""


# -- formulas --------------------------------------------------------------------------------------


def sum_of(kind: Kind, *positions: Affine, coefficient: int = 1) -> Sum:
    return Sum(kind, (), positions, Polynomial((((), Fraction(coefficient)),)))


NUMBER, WAVE = Kind(False, (), ()), Kind(False, (1,), ())
ON, BESIDE, ELSE = (
    (Condition("j", "=", ROW),),
    (Condition("j", "=", Affine("i", 1)),),
    (Condition("j", "≠", ROW),),
)
ONE = (sum_of(NUMBER),)


def formulas(*cases: Case, shape: tuple[int, ...] = (), **fields: Any) -> General:
    return General("x[i,j]", shape, tuple(cases), (5, 6, 7, 9), **fields)


def test_a_block_is_that_of_the_first_case_that_holds() -> None:
    angle = (sum_of(WAVE, ROW, LAST),)
    both = formulas(Case(ON, ((angle, None),)), Case((), ((ONE, angle),)))
    assert both.block(n=4, i=2, j=2).entries == (wave(4, 2, 3),)
    (quotient,) = both.block(n=4, i=2, j=1).entries
    assert quotient == Quotient(wave(4, 0, -1), wave(4, 2, 3))
    only = formulas(Case(ON, ((angle, None),)), Case(ELSE, (((), None),)))
    assert only.block(n=4, i=2, j=1).entries == (ZERO,)
    absent = replace(only, absent=True)
    assert absent.block(n=4, i=2, j=2).label == "x[i,j]"
    with pytest.raises(RequestError, match="has no case for"):
        absent.block(n=4, i=2, j=1)
    with pytest.raises(RequestError, match="has no case for"):
        formulas(Case(ON, ((angle, None),))).block(n=4, i=2, j=1)
    rates = (sum_of(Kind(False, (), (("V", 1),)), ROW),)
    (of_rates,) = formulas(Case((), ((rates, None),))).block(n=4, i=1, j=0).entries
    assert str(of_rates) == "v0 + v1"


def test_blocks_are_written_as_numbers_or_matrices() -> None:
    zero = Case(ELSE, (((), None), ((), None), ((), None), ((), None)))
    angle = (sum_of(WAVE, ROW, LAST),)
    block = Case(ON, ((ONE, None), ((), None), (angle, None), (ONE, None)))
    matrix = formulas(block, zero, shape=(2, 2))
    assert matrix.text() == (
        "x[i,j] =    for j = i\n⎡1              0⎤\n⎣cos(q[i:n-1])  1⎦\nx[i,j] = 0    otherwise"
    )
    row = formulas(replace(block, entries=block.entries[1:3]), shape=(1, 2))
    assert row.text() == "x[i,j] = [0  cos(q[i:n-1])]    for j = i"
    absent = replace(matrix, absent=True).text()
    assert absent.splitlines()[-1] == "x[i,j] does not exist    otherwise"
    number = formulas(Case(ON, ((ONE, None),)), Case(ELSE, (((), None),)))
    assert str(number) == "x[i,j] = 1    for j = i\nx[i,j] = 0    otherwise"
    latex = number.text("latex")
    assert latex.splitlines()[1:-1] == [
        r"x_{i,j} &= 1 && j = i \\", r"x_{i,j} &= 0 && \text{otherwise}"
    ]  # fmt: skip
    assert number._repr_latex_() == f"$\\displaystyle {latex}$"
    with pytest.raises(RequestError, match="written as text or latex; write numbers"):
        number.text("c")


def test_the_notation_explains_the_partial_sums_that_occur() -> None:
    plain = formulas(Case((), ((ONE, None),)))
    assert plain.notation == (
        "q[k:l] is q[k] + … + q[l]; a sum over an empty range is 0; the first case that holds"
        " counts"
    )
    rates, faster = ((sum_of(Kind(False, (), ((letter, 1),)), ROW),) for letter in ("V", "A"))
    notation = formulas(Case((), ((ONE, rates),))).notation
    assert "v[0:k] is v[0] + … + v[k]" in notation
    assert "a[0:k]" not in notation
    assert "a[0:k] is a[0] + … + a[k]" in formulas(Case((), ((faster, None),))).notation


def test_the_evidence_of_formulas_is_a_comparison_or_a_proof() -> None:
    result = formulas(Case((), ((ONE, None),)))
    assert result.evidence == (
        "found for n = 5, 6, 7 and equal for every block at n = 9, which is no proof for all n"
    )
    proved = replace(result, proved_from="a definition").evidence
    assert proved.endswith("; proved for every n ≥ 2 from a definition, with n and the indices as"
                           " symbols")  # fmt: skip


def test_numbers_beside_the_diagonal_make_a_letter_tridiagonal() -> None:
    """Cases for ends of the chain do not count, and a matrix in place of a number is none."""
    diagonals = [
        Case((Condition("j", "=", Affine("i", offset)),), ((ONE, None),)) for offset in (0, 1, -1)
    ]
    first = Case((Condition("i", "=", Affine("", 0)), *ON), ((ONE, None),))
    last = Case((Condition("j", "=", Affine("n", -2)),), ((ONE, None),))
    side = Case((Condition("i", "<", Affine("j", 2)),), ((ONE, None),))
    rest = Case(ELSE, (((), None),))
    assert formulas(*diagonals, rest).is_tridiagonal
    assert formulas(first, last, side, *diagonals, rest).is_tridiagonal
    assert not formulas(*diagonals[:2], rest).is_tridiagonal
    far = Case((Condition("j", "=", Affine("i", 2)),), ((ONE, None),))
    assert not formulas(*diagonals, far, rest).is_tridiagonal
    assert not formulas(*diagonals, rest, shape=(1, 1)).is_tridiagonal


def test_letters_without_a_definition_and_entries_of_a_block_are_not_proved() -> None:
    result = formulas(Case((), ((ONE, None),)))
    for origin, request in (("udut", "nothing[i,j]"), ("riccati", "phi[i,j][0,0]")):
        assert with_proof(result, bars(), words_of(request), [ROW, COLUMN], origin) is result


# -- chains and indices ----------------------------------------------------------------------------


def test_a_longer_chain_repeats_the_second_link() -> None:
    """The last link keeps its frames and may have another inertia."""
    robot = symgen.Robot("bars", gravity=(0, 0, -10))
    for i in range(4):
        robot.body(
            f"bar{i}",
            parent=f"bar{i - 1}" if i else "base",
            type="revolute",
            axis=(0, 0, 1) if i else (0, 1, 0),
            xyz=(i and 1, 0, 0),
            mass=(2, 3, 3, 5)[i],
            centre=(1, 0, 0),
            inertia=(1, 0, 0, 1, 0, 1),
        )
    robot.frame("tip", body="bar3", xyz=(1, 0, 0))
    robot.frame("elbow", body="bar1", xyz=(1, 0, 0))
    links = chain_of(robot.build(), 6, "M[i,j]")
    assert [float(body.mass) for body in links.bodies] == [2, 3, 3, 3, 3, 5]
    assert [joint.parent for joint in links.joints] == [-1, 0, 1, 2, 3, 4]
    assert len({joint.name for joint in links.joints}) == 6
    assert {(frame.name, frame.body) for frame in links.frames} == {("tip", 5), ("bar3", 5)}
    assert links.notes == ()
    assert len(chain_of(bars(3), 3, "M[i,j]").bodies) == 3


def test_a_chain_of_unlike_links_is_refused() -> None:
    with pytest.raises(RequestError, match="no serial chain of three links or more, and 'M"):
        chain_of(bars(2), 5, "M[i,j]")
    bodies = bars().bodies
    for link in (1, 2, 3):
        joints = list(bars().joints)
        joints[link] = replace(joints[link], kind="prismatic")
        with pytest.raises(
            RequestError, match=f"link 'bar{max(link, 2)}' of .* another joint than link 'bar1'"
        ):
            chain_of(replace(bars(), joints=tuple(joints)), 5, "M[i,j]")
        heavy = replace(bodies[link], parts=(replace(bodies[link].parts[0], mass=Fraction(9)),))
        changed = replace(bars(), bodies=(*bodies[:link], heavy, *bodies[link + 1 :]))
        if link < 3:
            with pytest.raises(RequestError, match="has another inertia than link 'bar1'"):
                chain_of(changed, 5, "M[i,j]")
        else:
            assert len(chain_of(changed, 5, "M[i,j]").joints) == 5
    branched = list(bars().joints)
    branched[3] = replace(branched[3], parent=1)
    with pytest.raises(RequestError, match="no serial chain"):
        chain_of(replace(bars(), joints=tuple(branched)), 5, "M[i,j]")
    balls = tuple(replace(joint, kind="spherical") for joint in bars().joints)
    with pytest.raises(RequestError, match="joints of several coordinates"):
        chain_of(replace(bars(), joints=balls), 5, "M[i,j]")


@pytest.mark.parametrize(
    ("request_text", "indices"),
    [
        ("M[i,j]", (ROW, COLUMN)),
        ("M[i+1,n-1]", (Affine("i", 1), LAST)),
        ("M[k-2,3]", (Affine("k", -2), Affine("", 3))),
        ("M[0,1]", None),
        ("M[n-1,0]", None),
        ("M[n,i]", None),
        ("M[m,i]", None),
        ("M[i,bar1]", None),
        ("M", None),
    ],
)
def test_letters_of_indices_stand_for_all_links(
    request_text: str, indices: tuple[Affine, ...] | None
) -> None:
    assert parse_general(bars(), words_of(request_text)) == indices
    assert is_general(bars(), request_text) == (indices is not None)


def test_the_name_of_a_joint_is_no_letter() -> None:
    first, *others = bars().joints
    named = replace(bars(), joints=(replace(first, name="i"), *others))
    assert parse_general(named, words_of("M[i,0]")) is None
    assert parse_general(named, words_of("M[j,0]")) is not None
    assert not is_general(bars(), "M[i")

"""Divisors, multipliers and gains recognised by value; false names and errors certify nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from symgen.certificate import elimination
from symgen.certificate.backward import (
    Backward,
    backward,
    closed_root,
    constant_roots,
    open_root,
    relative_error,
)
from symgen.certificate.bodies import Bodies
from symgen.certificate.boxes import subdivide
from symgen.certificate.divisors import (
    arithmetic_of,
    certified_bounds,
    certify_divisors,
    own_inertias,
)
from symgen.certificate.elimination import NoElimination, read_elimination
from symgen.certificate.ranges import declared_ranges
from symgen.certificate.recognition import Gain, Multiplier, Recognition, named_meaning
from symgen.certificate.rounding import Arithmetic, Rounded, propagate, required_rows
from symgen.emission.backends import c99
from symgen.ir.program import Port, Program, Row
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import derive as deriving
from symgen.pipeline.build import program as derive
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT as EXACT
from symgen.reference.precision import Array
from symgen.verification.proof import eva
from symgen.verification.proof.finite import (
    ROUND_OFF,
    Load,
    carried_inertias,
    multiplier_sizes,
    prove_finite,
)
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import PLAIN, ProgramOptions
from tests.shared.certified_pivots import pivots, states
from tests.shared.robots_for_tests import robot, run
from tests.shared.rounded_rows import Coarse

pytestmark = pytest.mark.usefixtures(
    "finished_here"
)  # certificates are for programs after all passes

FLOAT = ProgramOptions("float")
CASES = [
    ("puma560", "composite_body"),
    ("puma560", "riccati"),
    ("tree4", "riccati"),
    ("square_chain4", "composite_body"),
]
NAMED = {
    ("puma560", "composite_body"): 11,
    ("puma560", "riccati"): 11,
    ("tree4", "riccati"): 3,
    ("square_chain4", "composite_body"): 4,
}
"""Number of multipliers and entries of gains that still have their names after all passes."""


@cache
def derived_program(name: str, method: str) -> Program:
    return derive(robot(name), "forward_dynamics", method, "float")


@cache
def lower_bounds(name: str, method: str) -> dict[int, Fraction]:
    return certified_bounds(robot(name), derived_program(name, method), FLOAT)


def sizes(name: str, program: Program, lower_bounds: Mapping[int, Fraction]) -> dict[int, Fraction]:
    mechanism = robot(name)
    return multiplier_sizes(
        Recognition(mechanism, program, FLOAT), declared_ranges(mechanism).of, lower_bounds
    )


def renamed(program: Program, name: Callable[[int, Row], str]) -> Program:
    return replace(
        program, rows=tuple(row._replace(name=name(i, row)) for i, row in enumerate(program.rows))
    )


def shuffled(program: Program, seed: int) -> Program:
    names = [row.name for row in program.rows]
    Random(seed).shuffle(names)
    return renamed(program, lambda i, _: names[i])


def every_row_claims(program: Program, seed: int) -> Program:
    names, source = (
        [
            f"{letter}_{i}_{k}"
            for letter in ("alpha", "G", "neg_alpha")
            for i in range(8)
            for k in range(8)
        ],
        Random(seed),
    )
    return renamed(program, lambda *_: source.choice(names))


def next_joint(program: Program, _: int) -> Program:
    """Give each multiplier and gain the name of the next joint's."""
    return renamed(
        program,
        lambda i, row: (
            row.name
            if (meaning := named_meaning(row.name)) is None
            else f"alpha_{meaning.joint + 2}_{meaning.over + 1}"
            if isinstance(meaning, Multiplier)
            else f"G_{meaning.joint + 2}_{meaning.element + 1}"
        ),
    )


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("alpha_1_2", Multiplier(0, 1)),
        ("neg_alpha_3_7", Multiplier(2, 6)),
        ("G_2_6", Gain(1, 5)),
        ("neg_G_10_1", Gain(9, 0)),
        ("alpha_0_1", None),
        ("alpha_1", None),
        ("G_1_2_3", None),
        ("alphas_1_2", None),
        ("D_1", None),
        ("", None),
    ],
)
def test_a_row_name_suggests_its_meaning(name: str, meaning: Multiplier | Gain | None) -> None:
    assert named_meaning(name) == meaning


@pytest.mark.parametrize(("name", "method"), CASES)
def test_values_confirm_every_name_of_a_derivation(name: str, method: str) -> None:
    program = derived_program(name, method)
    proposed = {
        i: meaning
        for i, row in enumerate(program.rows)
        if (meaning := named_meaning(row.name)) is not None
    }
    recognised = Recognition(robot(name), program, FLOAT)
    assert recognised.multipliers == proposed
    assert len(proposed) == NAMED[name, method]
    assert set(recognised.divisors.values()) <= set(range(robot(name).nv))


@pytest.mark.parametrize("lie", [shuffled, every_row_claims, next_joint])
@pytest.mark.parametrize(("name", "method"), CASES)
def test_false_names_certify_nothing(
    name: str, method: str, lie: Callable[[Program, int], Program]
) -> None:
    """False names leave pivots unchanged; fewer multipliers are recognised, all correctly."""
    program, mechanism = derived_program(name, method), robot(name)
    honest = Recognition(mechanism, program, FLOAT)
    true = sizes(name, program, lower_bounds(name, method))
    assert true
    for seed in range(3):
        lying = lie(program, seed)
        recognised = Recognition(mechanism, lying, FLOAT)
        assert recognised.divisors == honest.divisors
        for row, meaning in recognised.multipliers.items():
            assert meaning == named_meaning(lying.rows[row].name)
        largest_ratio_to_bound(mechanism, lying, sizes(name, lying, lower_bounds(name, method)))
        assert len(recognised.multipliers) < len(honest.multipliers)


def largest_ratio_to_bound(
    mechanism: Mechanism,
    program: Program,
    bounds: Mapping[int, Fraction],
    options: ProgramOptions = FLOAT,
    samples: Mapping[str, Array] | None = None,
) -> float:
    """Assert that all rows keep their bounds; return the largest ratio of value to bound."""
    if not bounds:
        return 0.0
    samples = states(mechanism, 200) if samples is None else samples
    port = Port("chosen", (len(bounds),), tuple(bounds))
    largest = np.abs(
        run(
            program.with_rows(program.rows, [port]),
            {port_.name: samples[port_.name] for port_ in program.inputs},
        )["chosen"]
    )
    share = largest.max(axis=0) / (
        np.array([float(bound) for bound in bounds.values()]) / ROUND_OFF
    )
    assert share.max() <= 1 + 1e-9
    return float(share.max())


def test_a_row_is_read_through_its_negations() -> None:
    reader = elimination._Reader.__new__(elimination._Reader)
    reader.rows = (Row("input", (), (0, 0)), Row("neg", (0,)), Row("neg", (1,)))
    assert [reader.without_negation(row) for row in range(3)] == [0, 0, 0]


def test_lower_bounds_do_not_depend_on_names() -> None:
    name, method = "tree4", "composite_body"
    program = derived_program(name, method)
    for lying in (
        shuffled(program, 1),
        renamed(program, lambda *_: ""),
        every_row_claims(program, 2),
    ):
        assert certified_bounds(robot(name), lying, FLOAT) == lower_bounds(name, method)


def test_a_row_with_a_wrong_factor_is_no_multiplier() -> None:
    program = derived_program("puma560", "composite_body")
    recognised = Recognition(robot("puma560"), program, FLOAT)
    row = max(recognised.multipliers)
    assert program.rows[row].op == "mul"
    a, b = program.rows[row].args
    wrong = program.with_rows(
        [r._replace(args=(a, a)) if i == row else r for i, r in enumerate(program.rows)],
        program.outputs,
    )
    assert row not in Recognition(robot("puma560"), wrong, FLOAT).multipliers
    assert b != a


def test_the_negative_of_a_pivot_is_no_pivot() -> None:
    """−D is a divisor too, but has no positive lower bound."""
    program, mechanism = derived_program("puma560", "composite_body"), robot("puma560")
    pivot = min(Recognition(mechanism, program, FLOAT).divisors)
    at = next(i for i, row in enumerate(program.rows) if row.op == "div" and row.args[1] == pivot)
    negative = edited(
        program,
        at,
        program.rows[at]._replace(args=(program.rows[at].args[0], at)),
        Row("neg", (pivot,)),
    )
    assert Recognition(mechanism, negative, FLOAT).divisors[at] is None
    assert at not in certified_bounds(mechanism, negative, FLOAT)


def test_only_the_lower_bound_of_its_own_divisor_bounds_a_multiplier() -> None:
    program, row_bounds = (
        derived_program("puma560", "composite_body"),
        lower_bounds("puma560", "composite_body"),
    )
    recognised = Recognition(robot("puma560"), program, FLOAT)
    ranges = declared_ranges(robot("puma560")).of
    every = multiplier_sizes(recognised, ranges, row_bounds)
    for row, joint in recognised.divisors.items():
        multipliers_of_divisor = multiplier_sizes(recognised, ranges, {row: row_bounds[row]})
        assert multipliers_of_divisor == {
            r: every[r]
            for r, meaning in recognised.multipliers.items()
            if r in every and isinstance(meaning, Multiplier) and meaning.over == joint
        }
        larger = multiplier_sizes(recognised, ranges, {row: 4 * row_bounds[row]})
        assert all(
            float(larger[r]) == pytest.approx(float(multipliers_of_divisor[r]) / 2)
            for r in multipliers_of_divisor
        )
    no_pivot = next(i for i, r in enumerate(program.rows) if r.op == "cos")
    assert multiplier_sizes(recognised, ranges, {no_pivot: Fraction(1)}) == {}


# -- a load at run time ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method"), [("puma560", "composite_body"), ("scara", "riccati"), ("tree4", "riccati")]
)
def test_multipliers_stay_within_their_bounds_with_the_heaviest_load(
    name: str, method: str
) -> None:
    mechanism = robot(name)
    link = mechanism.bodies[-1].name
    options = ProgramOptions("float", payload=link)
    program = derive(mechanism, "forward_dynamics", method, "float", payload=link)
    samples = states(mechanism, 400)
    arm = np.array([[0.14, 0.14, 0.0], [-0.14, 0.14, 0.0], [0.14, -0.14, 0.14], [0.0, 0.0, 0.2]])[
        np.arange(400) % 4
    ]
    moments = 5 * (
        (arm * arm).sum(-1)[:, None, None] * np.eye(3) - arm[:, :, None] * arm[:, None, :]
    )
    samples["payload"] = np.concatenate(
        [np.full((400, 1), 5.0), arm, moments[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]], axis=1
    )
    ranges, recognised = declared_ranges(mechanism).of, Recognition(mechanism, program, options)
    assert all(
        float(low) - 1e-9 <= x.min() and x.max() <= float(high) + 1e-9
        for x, (low, high) in zip(samples["payload"].T, ranges["payload"], strict=True)
    )
    row_bounds = certified_bounds(mechanism, program, options)
    bounds = multiplier_sizes(recognised, ranges, row_bounds, link)
    assert bounds
    without = multiplier_sizes(recognised, ranges, row_bounds)
    assert all(bounds[row] >= size for row, size in without.items())
    assert any(bounds[row] > size for row, size in without.items())
    assert largest_ratio_to_bound(mechanism, program, bounds, options, samples) > 0.01


def test_bounds_passed_to_eva_include_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = robot("scara")
    options = ProgramOptions("float", payload="link4")
    program = derive(mechanism, "forward_dynamics", "riccati", "float", payload="link4")
    certified, ranges = certify_divisors(mechanism, program, options), declared_ranges(mechanism)
    calls: list[Any] = []
    monkeypatch.setattr(eva, "prove", lambda *arguments: calls.append(arguments) or {})
    name = "forward_dynamics"
    prove_finite(
        mechanism,
        {name: program},
        options,
        {name: certified},
        ranges,
        c99.Target("scara", Sizes(4, 4, 4)),
    )
    ((_, _, spans, lowest, bounds),) = calls
    assert spans == ranges.of
    assert lowest == {
        name: {
            certificate.row: certificate.lower_bound
            for certificate in certified
            if certificate.certified
        }
    }
    recognised = Recognition(mechanism, program, options)
    assert bounds == {name: multiplier_sizes(recognised, ranges.of, lowest[name], "link4")}
    assert bounds[name] != multiplier_sizes(recognised, ranges.of, lowest[name])


def test_carried_inertias_grow_by_exactly_the_load() -> None:
    mechanism = robot("puma560")
    model = deriving.models(mechanism)[0]
    load = Load(2, 0.5, 3.0, 0.25)
    unloaded, loaded = (
        carried_inertias(model, [0.0] * 6, optional_load) for optional_load in (None, load)
    )
    assert [b[1] - a[1] for a, b in zip(unloaded, loaded, strict=True)] == pytest.approx(
        [3, 3, 3, 0, 0, 0]
    )
    assert loaded[2][0] - unloaded[2][0] == pytest.approx((0.5 * 3**0.5 + 0.5) ** 2)
    assert loaded[3:] == unloaded[3:]
    assert (
        loaded[0][0] - unloaded[0][0]
        > loaded[1][0] - unloaded[1][0]
        > loaded[2][0] - unloaded[2][0]
    )


# -- recognition of the elimination ----------------------------------------------------------------


def edited(program: Program, row: int, new: Row, *more: Row) -> Program:
    """Insert `more` rows at index `row`, followed by `new`, which replaces the old row."""
    added_count = len(more)
    shifted_rows = [
        r._replace(args=tuple(a + added_count if a >= row else a for a in r.args))
        for r in program.rows[row + 1 :]
    ]
    ports = [
        port._replace(rows=tuple(r + added_count if r >= row else r for r in port.rows))
        for port in program.outputs
    ]
    return program.with_rows([*program.rows[:row], *more, new, *shifted_rows], ports)


def refusal(name: str, program: Program) -> str:
    """Return the reason why rows are no elimination, or an empty string if they are one."""
    try:
        read_elimination(Recognition(robot(name), program, FLOAT))
    except NoElimination as reason:
        return str(reason)
    return ""


@pytest.mark.parametrize("name", ["puma560", "tree4", "square_chain4", "chain5", "square_tree6"])
def test_recognised_entries_equal_those_of_the_exact_elimination(name: str) -> None:
    """Check with exact sums over the samples: each entry is its leaves minus its products."""
    mechanism = robot(name)
    recognised = Recognition(mechanism, derived_program(name, "composite_body"), FLOAT)
    recognised_elimination, samples = read_elimination(recognised), recognised.samples
    assert all(row in recognised.divisors for row in recognised_elimination.pivots.values())
    for pair, entry_sum in recognised_elimination.sums.items():
        if pair in recognised_elimination.exact:
            assert samples.constant(samples.elimination.reduced[pair])
            continue
        sign = samples.same(
            samples.rows[recognised_elimination.rows[pair]], samples.elimination.reduced[pair]
        )
        assert sign != 0
        assert all(product.over > max(pair) for product in entry_sum.products)
        with samples.scalars.working():
            for state in range(2):
                products = sum(
                    samples.elimination.factors[p.factor][state]
                    * samples.elimination.reduced[p.entry][state]
                    for p in entry_sum.products
                )
                remaining_sum = (
                    sign * samples.rows[recognised_elimination.rows[pair]][state] + products
                )
                # each leaf is in the sum with some sign
                assert is_signed_sum(
                    [samples.rows[leaf][state] for leaf in entry_sum.leaves], remaining_sum
                )


def is_signed_sum(leaves: list[Any], total: Any) -> bool:
    """True if `total` is the sum of the leaves for some choice of signs."""
    sums = [0]
    for leaf in leaves:
        sums = [x + sign * leaf for x in sums for sign in (1, -1)]
    return any(abs(x - total) < 1e-30 for x in sums)


def test_a_product_split_into_two_is_no_elimination() -> None:
    """Write α R as α (R/2) + α (R/2): equal values, but rows that the analysis does not cover."""
    program = derived_program("puma560", "composite_body")
    recognised_elimination = read_elimination(Recognition(robot("puma560"), program, FLOAT))
    row = next(
        i
        for i, r in enumerate(program.rows)
        if r.op == "mul"
        and recognised_elimination.rows[0, 5] in r.args
        and program.rows[r.args[0]].name.startswith("alpha")
        | program.rows[r.args[1]].name.startswith("alpha")
    )
    a, b = program.rows[row].args
    split = edited(
        program,
        row,
        Row("add", (row + 2, row + 2)),
        Row("const", (), Fraction(1, 2)),
        Row("mul", (a, row)),
        Row("mul", (row + 1, b)),
    )
    assert refusal("puma560", program) == ""
    assert refusal("puma560", split) != ""
    joints = Recognition(robot("puma560"), split, FLOAT).divisors.values()
    assert set(joints) == set(recognised_elimination.pivots)  # the pivots are still recognised


def test_a_sum_may_contain_negations() -> None:
    """x − P, x + (−P) and −(P − x) have the same summands."""
    program = derived_program("puma560", "composite_body")
    expected = read_elimination(Recognition(robot("puma560"), program, FLOAT))
    row = expected.rows[3, 3]
    assert program.rows[row].op == "sub"
    x, product = program.rows[row].args
    for new, before in (
        (Row("add", (x, row)), Row("neg", (product,))),
        (Row("neg", (row,)), Row("sub", (product, x))),
    ):
        negated = edited(program, row, new, before)
        sums = read_elimination(Recognition(robot("puma560"), negated, FLOAT)).sums
        assert [item.over for item in sums[3, 3].products] == [
            item.over for item in expected.sums[3, 3].products
        ]


def test_a_product_added_instead_of_subtracted_is_no_elimination() -> None:
    """Write x − P as (x − 2 P) + P: the leaf x − 2 P is no entry of the mass matrix."""
    program = derived_program("puma560", "composite_body")
    recognised = Recognition(robot("puma560"), program, FLOAT)
    row = read_elimination(recognised).rows[3, 3]
    assert program.rows[row].op == "sub"
    x, product = program.rows[row].args
    wrong = edited(
        program,
        row,
        Row("add", (row + 2, product)),
        Row("const", (), Fraction(2)),
        Row("mul", (row, product)),
        Row("sub", (x, row + 1)),
    )
    assert list(Recognition(robot("puma560"), wrong, FLOAT).divisors.values()) == list(
        recognised.divisors.values()
    )
    assert refusal("puma560", wrong) != ""


def test_an_entry_that_is_computed_twice_is_no_elimination() -> None:
    """One product uses a copy of R, whose rounding may differ from that of R."""
    program = derived_program("puma560", "composite_body")
    recognised_elimination = read_elimination(Recognition(robot("puma560"), program, FLOAT))
    (product_over_3,) = (
        product for product in recognised_elimination.sums[2, 2].products if product.over == 3
    )
    entry, twice = (
        program.rows[product_over_3.entry_row],
        [i for i, r in enumerate(program.rows) if product_over_3.entry_row in r.args],
    )
    row = next(i for i in twice if program.rows[i].op == "mul")
    assert len(twice) > 1
    args = tuple(row if a == product_over_3.entry_row else a for a in program.rows[row].args)
    assert refusal(
        "puma560", edited(program, row, Row("mul", args), entry._replace(name=""))
    ).endswith("computed twice")


def test_a_multiplier_by_another_copy_of_the_pivot_is_no_elimination() -> None:
    program = derived_program("puma560", "composite_body")
    recognised_elimination = read_elimination(Recognition(robot("puma560"), program, FLOAT))
    pivot = recognised_elimination.pivots[3]
    inverse = next(
        i for i, row in enumerate(program.rows) if row.op == "div" and row.args[1] == pivot
    )
    numerator = program.rows[inverse].args[0]
    row = next(
        i
        for i, r in enumerate(program.rows)
        if r.op == "mul" and inverse in r.args and r.name.startswith("alpha")
    )
    entry = sum(program.rows[row].args) - inverse
    copied = edited(
        program,
        row,
        Row("mul", (entry, row + 1)),
        program.rows[pivot]._replace(name=""),
        Row("div", (numerator, row)),
    )
    assert list(Recognition(robot("puma560"), copied, FLOAT).divisors.values()).count(3) == 2
    assert refusal("puma560", copied) != ""


def test_a_missing_entry_or_a_wrong_merge_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropped entries and wrongly merged joints are detected by the exact elimination."""
    program, all_sums, constants = (
        derived_program("puma560", "composite_body"),
        elimination._all_sums,
        elimination._constants,
    )

    def fewer(reader: Any) -> Any:
        rows, sums = all_sums(reader)
        return rows, {pair: entry_sum for pair, entry_sum in sums.items() if pair != (1, 2)}

    monkeypatch.setattr(elimination, "_all_sums", fewer)
    assert refusal("puma560", program) == "entry (2,3) is left out although it has products"
    monkeypatch.setattr(elimination, "_all_sums", all_sums)
    monkeypatch.setattr(
        elimination, "_constants", lambda *arguments: (constants(*arguments)[0], frozenset({5}))
    )
    assert refusal("puma560", program) == "a constant pivot is merged only in part"
    monkeypatch.setattr(elimination, "_constants", constants)
    assert refusal("puma560", program) == ""


@pytest.mark.parametrize("name", ["puma560", "tree4"])
def test_an_error_in_any_operation_removes_the_pivots_that_depend_on_it(name: str) -> None:
    """Plant an error in each operation in turn: each pivot whose value changes is refused."""
    program, mechanism = derived_program(name, "composite_body"), robot(name)
    honest = Recognition(mechanism, program, FLOAT)
    recognised_elimination = read_elimination(honest)
    for index in sorted(set(recognised_elimination.rows.values())):
        row = program.rows[index]
        if row.op in ("add", "sub", "mul"):
            wrong = row._replace(op="add" if row.op == "sub" else "sub")
            slipped = Recognition(mechanism, edited(program, index, wrong), FLOAT)
            changed = {d for d in honest.divisors if not samples_agree(honest, slipped, d)}
            assert changed
            assert all(slipped.divisors[d] is None for d in changed)
            assert all(
                slipped.divisors[d] == honest.divisors[d]
                for d in honest.divisors
                if d not in changed
            )


def samples_agree(first: Recognition, second: Recognition, row: int) -> bool:
    return first.samples.same(first.samples.rows[row], second.samples.rows[row]) == 1


# -- the backward error ----------------------------------------------------------------------------


def analysed(name: str, arithmetic: Arithmetic) -> tuple[Bodies, dict[int, Rounded], Backward]:
    mechanism, program = robot(name), derived_program(name, "composite_body")
    ranges, recognised = declared_ranges(mechanism), Recognition(mechanism, program, FLOAT)
    bodies = Bodies(mechanism, ranges)
    rows = propagate(
        program,
        subdivide(program, ranges),
        arithmetic,
        requested_rows=required_rows(program, recognised.divisors),
    )
    return bodies, rows, backward(read_elimination(recognised), bodies, rows, arithmetic)


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("puma560", 24),
        ("panda", 24),
        ("tree4", 22),
        ("tree5", 24),
        ("chain5", 22),
        ("square_tree6", 24),
    ],
)
def test_no_matrix_within_the_backward_error_has_a_smaller_pivot(name: str, bits: int) -> None:
    """Add E to M with the signs that lower a pivot most: the pivot falls by at most its bound."""
    mechanism = robot(name)
    bodies, _, error = analysed(name, Coarse("float", bits=bits))
    M = Reference(mechanism, EXACT).mass_matrix(states(mechanism, 300)["q"])
    roots, nearest, checked = constant_roots(error), 0.0, 0
    for joint in reversed(range(mechanism.nv)):
        inside = [b for b in bodies.outward(joint) if b in error.elimination.joints]
        if joint not in inside:
            continue
        eta, rates = relative_error(error, joint, roots), bodies.rates(joint)
        assert not isinstance(eta, str)
        assert not isinstance(rates, str)
        assert eta < 1
        checked, at = checked + 1, inside.index(joint)
        root = open_root(error, joint, rates, roots)
        assert root is not None
        t = {**roots, joint: root}
        E, C = (
            dense(error, inside, t),
            np.array([[float(rates[b].get(c, 0)) for c in bodies.outward(joint)] for b in inside]),
        )
        assert float(eta) == pytest.approx((C.T @ E @ C).sum(axis=1).max(), rel=1e-9)
        A = M[:, inside][:, :, inside]
        x = np.linalg.inv(A)[:, :, at]
        lowered = A - np.sign(x)[:, :, None] * np.sign(x)[:, None, :] * E
        before, after = (1 / np.linalg.inv(B)[:, at, at] for B in (A, lowered))
        assert (after >= before * (1 - float(eta.upper())) - 1e-12).all()
        nearest = max(nearest, float(((before - after) / before).max() / float(eta.upper())))
        # t² bounds M + E minus the pivot
        assert (lowered[:, at, at] - after <= float((root**2).upper()) * (1 + 1e-9)).all()
        if joint in error.elimination.pivots:
            closed = closed_root(error, joint)
            assert closed is not None
            assert (lowered[:, at, at] <= float((closed**2).upper())).all()
            roots = {**roots, joint: closed}
    assert checked == len(error.elimination.joints)
    assert nearest > 0.01


def dense(error: Backward, inside: list[int], t: Mapping[int, Any]) -> Array:
    """Return |E| of the joints `inside` as a matrix."""
    E = np.zeros((len(inside), len(inside)))
    for a, i in enumerate(inside):
        for b, k in enumerate(inside):
            if (pair := (min(i, k), max(i, k))) in error.elimination.sums:
                E[a, b] = float((error.data[pair] + error.gamma[pair] * t[i] * t[k]).upper())
    return E


@pytest.mark.parametrize("name", ["puma560", "panda", "tree5"])
def test_every_rounding_of_an_entry_is_counted(name: str) -> None:
    """Count one rounding per addition above a summand, and four more for a product."""
    arithmetic = arithmetic_of("float", PLAIN)
    _, rows, error = analysed(name, arithmetic)
    recognised_elimination, program, u = (
        error.elimination,
        derived_program(name, "composite_body"),
        arithmetic.unit,
    )
    deepest = 0
    for pair, entry_sum in recognised_elimination.sums.items():
        stops = {*entry_sum.leaves, *(i for i, row in enumerate(program.rows) if row.op == "mul")}
        depth = (
            0
            if pair in recognised_elimination.exact
            else count_additions(program, recognised_elimination.rows[pair], stops)
        )
        deepest = max(deepest, depth)
        assert float(error.gamma[pair]) == pytest.approx((depth + 4) * u, rel=1e-4)
        leaves = sum(
            float(rows[leaf].error.max()) + depth * u * float(rows[leaf].size.max())
            for leaf in entry_sum.leaves
        )
        assert float(error.data[pair]) == pytest.approx(leaves, rel=1e-4, abs=1e-30)
        assert float(error.data[pair]) >= leaves
    assert deepest >= 2


def count_additions(program: Program, row: int, stops: set[int]) -> int:
    if row in stops:
        return 0
    current = program.rows[row]
    return (current.op != "neg") + max(count_additions(program, a, stops) for a in current.args)


def test_the_relative_error_of_a_pivot_needs_the_outer_pivots() -> None:
    _, _, error = analysed("puma560", arithmetic_of("float", PLAIN))
    reason = relative_error(error, 2, {})
    assert isinstance(reason, str)
    assert reason == f"the pivot of joint '{robot('puma560').joints[3].name}' has no bound"


@pytest.mark.parametrize("name", ["puma560", "tree4", "chain5"])
def test_a_certificate_belongs_to_the_joint_of_its_pivot(name: str) -> None:
    """`exact_bound` is the inertia of that joint, `lower_bound` the rest after round-off; leaves
    attain it.
    """
    mechanism, program = robot(name), derived_program(name, "composite_body")
    samples, owns = states(mechanism, 400), own_inertias(mechanism)
    D = dict(enumerate(pivots(mechanism, samples["q"]).T))
    for certificate in certify_divisors(mechanism, program, FLOAT):
        assert certificate.joint is not None
        assert certificate.exact_bound == owns[certificate.joint].value
        assert certificate.lower_bound is not None
        assert certificate.round_off is not None
        assert (
            certificate.exact_bound - certificate.round_off - certificate.lower_bound
            <= certificate.exact_bound / 10**5
        )
        assert 0 < certificate.lower_bound <= certificate.exact_bound - certificate.round_off
        computed = run(
            program.with_rows(program.rows, [Port("D", (1,), (certificate.row,))]),
            {port.name: samples[port.name] for port in program.inputs},
        )["D"][:, 0]
        assert np.allclose(computed, D[certificate.joint], rtol=1e-9)
        if not mechanism.children(certificate.joint):
            assert D[certificate.joint].min() == pytest.approx(
                float(certificate.exact_bound), rel=1e-9
            )

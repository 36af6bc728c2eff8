"""The pass `merge_equal`: equal values are computed once, and the proof refuses a wrong merger."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx
from hypothesis import given, settings

from symgen import methods
from symgen.ir import passes
from symgen.ir.passes import (
    _alternatives,
    _choose,
    _error_bounds,
    _fingerprints,
    _quantities,
    eliminate,
    fold,
    merge_equal,
    value_number,
)
from symgen.ir.program import SPARE, Numbers, Port, Program, Row, check, evaluate
from symgen.pipeline import derive
from symgen.pipeline.choose import methods_for
from symgen.pipeline.layout import PLAIN
from symgen.support.errors import ProgramError
from symgen.vocabulary.options import ProgramOptions
from tests.shared.merging import ANGLE, EXACT_NUMBERS, at_sixty_digits, draw_trigonometric_program
from tests.shared.pass_programs import by_hand, ops, value_before
from tests.shared.robots_for_tests import (
    BALLS,
    OF_ANY_ROBOT,
    largest,
    program,
    robot,
    run,
    states,
    task_rows,
)

pytestmark = pytest.mark.usefixtures("finished_here")
MERGE_GLOBALS = passes.merge_equal.__globals__
"""Names of the module of the pass, for errors planted there."""
PIPELINE_WITHOUT_MERGE = tuple(
    [
        pipeline_pass
        if pipeline_pass is not merge_equal
        else lambda derived: value_number(_alternatives.without_spare(derived))
        for pipeline_pass in passes.PIPELINE
    ]
)
SMALL = ("planar_arm", "spherical_pendulum", "scara")


@pytest.fixture
def sixty_digits() -> Iterator[None]:
    before, ctx.dps = ctx.dps, 60
    yield
    ctx.dps = before


def remaining_operations(derived: Program) -> list[str]:
    return ops(eliminate(fold(merge_equal(derived))))


# -- merged values ---------------------------------------------------------------------------------


def test_opposite_differences_are_computed_once() -> None:
    """(a − b) c and (b − a) c are one product; one result is its negative."""
    assert remaining_operations(
        by_hand([5, 6], ("sub", 0, 1), ("sub", 1, 0), ("mul", 3, 2), ("mul", 4, 2))
    ) == [
        "mul",
        "neg",
        "sub",
    ]


@pytest.mark.parametrize(
    ("rows", "operations"),
    [
        ([("sub", 1, 0), ("add", 2, 4)], ["sub", "sub"]),  # c + (b − a) = c − (a − b)
        ([("sub", 1, 0), ("sub", 2, 4)], ["add", "sub"]),  # c − (b − a) = c + (a − b)
        ([("sub", 1, 0), ("mul", 4, 4)], ["mul", "sub"]),  # (b − a)² = (a − b)²
        ([("sub", 1, 0), ("div", 2, 4), ("mul", 5, 4)], ["sub"]),  # c/(b − a)·(b − a) = c
        ([("sub", 1, 0), ("cos", 4)], ["cos", "sub"]),  # cos(b − a) = cos(a − b)
        ([("sub", 1, 0), ("sin", 4), ("sub", 2, 5)], ["add", "sin", "sub"]),
        ([("sub", 1, 0), ("sqrt", 4)], ["neg", "sqrt", "sub"]),  # the root needs b − a itself
    ],
)
def test_signs_move_with_operands_at_no_cost(
    rows: list[tuple[Any, ...]], operations: list[str]
) -> None:
    derived = by_hand([3, 3 + len(rows)], ("sub", 0, 1), *rows)
    assert remaining_operations(derived) == operations


def test_the_sum_of_squared_sine_and_cosine_is_one() -> None:
    assert (
        remaining_operations(by_hand([8], *ANGLE, ("mul", 3, 3), ("mul", 4, 4), ("add", 6, 7)))
        == []
    )


@pytest.mark.parametrize(
    "rows",
    [
        [("mul", 3, 3), ("sub", 5, 6), ("mul", 4, 4)],  # 1 − s² comes first
        [("mul", 4, 4), ("mul", 3, 3), ("sub", 5, 7)],
    ],
)
def test_a_formula_that_cancels_is_not_chosen(rows: list[tuple[Any, ...]]) -> None:
    """c² replaces 1 − s², which loses precision where s is near 1."""
    # s² is a result, but 1 − s² is not computed from it
    assert remaining_operations(by_hand([6, 7, 8], *ANGLE, *rows)) == ["cos", "mul", "mul", "sin"]


def test_a_later_row_is_moved_before_its_new_use() -> None:
    """x = 1 − s² and y = x + b come before c²; y is computed from c², which then comes first."""
    derived = by_hand([8, 9], *ANGLE, ("mul", 3, 3), ("sub", 5, 6), ("add", 7, 1), ("mul", 4, 4))
    assert remaining_operations(derived) == ["add", "cos", "mul"]


def test_the_sine_of_a_sum_equals_its_addition_formula() -> None:
    """sin(a + b) and sin a cos b + cos a sin b are one row."""
    sum_formula = [
        ("sin", 0),
        ("cos", 0),
        ("sin", 1),
        ("cos", 1),
        ("mul", 3, 6),
        ("mul", 4, 5),
        ("add", 7, 8),
    ]
    first = merge_equal(by_hand([9, 11], *sum_formula, ("add", 0, 1), ("sin", 10)))
    assert first.outputs[0].rows[0] == first.outputs[0].rows[1]


def test_equal_angles_from_a_sum_and_a_product_are_one_angle() -> None:
    """sin(a + a) and sin(2 a) are one row in either order, and the proof accepts it."""
    for rows in ([("add", 0, 0), ("mul", 0, 3)], [("mul", 0, 3), ("add", 0, 0)]):
        assert remaining_operations(
            by_hand([6, 7], ("const", 2), *rows, ("sin", 4), ("sin", 5))
        ) in (
            ["add", "sin"],
            ["mul", "sin"],
        )
    assert remaining_operations(
        by_hand([6], ("const", -2), ("const", 1), ("add", 4, 4), ("sin", 5))
    ) == [
        "neg",
        "sin",
    ]


@pytest.mark.parametrize(("also", "dead"), [(3, (1, 2)), (5, (0, 1))])
def test_the_formulas_with_fewest_operations_are_chosen(also: int, dead: tuple[int, int]) -> None:
    """(a b) c equals a (b c): the product is chosen of which a part is a result."""
    products = (("mul", 0, 1), ("mul", 3, 2), ("mul", 1, 2), ("mul", 0, 5))
    assert remaining_operations(by_hand([also, 4, 6], *products)) == ["mul", "mul"]
    assert remaining_operations(by_hand([3, 5, 4], *products)) == ["mul"] * 3
    assert dead not in [
        row.args for row in eliminate(merge_equal(by_hand([also, 4, 6], *products))).rows
    ]


def with_spare(derived: Program, *spare: int) -> Program:
    return derived.with_rows(derived.rows, [*derived.outputs, Port(SPARE, (len(spare),), spare)])


def merged_cost(derived: Program) -> int:
    """Return the number of operations after the pass."""
    return eliminate(fold(merge_equal(derived))).cost


def test_a_spare_formula_is_chosen_only_if_it_saves_operations() -> None:
    """x (y + z) is a spare formula of x y + x z."""
    rows = (("mul", 0, 1), ("mul", 0, 2), ("add", 3, 4), ("add", 1, 2), ("mul", 0, 6))
    needed_sum, needed_products = by_hand([5], *rows), by_hand([5, 3, 4], *rows)
    assert (
        remaining_operations(eliminate(needed_sum))
        == remaining_operations(with_spare(needed_products, 7))
        == ["add", "mul", "mul"]
    )
    assert remaining_operations(with_spare(needed_sum, 7)) == ["add", "mul"]
    assert [port.name for port in merge_equal(with_spare(needed_sum, 7)).outputs] == [
        port.name for port in needed_sum.outputs
    ]


def test_a_spare_row_of_another_value_is_not_chosen() -> None:
    wrong = by_hand([5], ("mul", 0, 1), ("mul", 0, 2), ("add", 3, 4), ("sub", 1, 2), ("mul", 0, 6))
    assert remaining_operations(with_spare(wrong, 7)) == ["add", "mul", "mul"]


def test_a_spare_formula_is_not_chosen_for_its_round_off() -> None:
    """(1 + s) (1 − s) is less precise than c².

    As a spare formula it is chosen where it costs less. As the formula of the Program it is kept
    where the spare c² costs more.
    """
    rows = (
        ("const", 1),
        ("sin", 0),
        ("cos", 0),
        ("add", 3, 4),
        ("sub", 3, 4),
        ("mul", 6, 7),
        ("mul", 5, 5),
    )
    assert remaining_operations(with_spare(by_hand([8, 6, 7], *rows), 9)) == [
        "add",
        "mul",
        "sin",
        "sub",
    ]
    assert remaining_operations(with_spare(by_hand([8, 5], *rows), 9)) == ["cos", "mul"]
    assert remaining_operations(with_spare(by_hand([9, 6, 7], *rows), 8)) == [
        "add",
        "cos",
        "mul",
        "sin",
        "sub",
    ]


def test_a_formula_that_depends_on_its_own_quantity_is_not_chosen() -> None:
    """(a + b) c / c equals a + b and is computed from it, so it becomes a quantity of its own."""
    derived = by_hand([5], ("add", 0, 1), ("mul", 3, 2), ("div", 4, 2))
    prime = MERGE_GLOBALS["PRIME"]
    residues = _fingerprints.residues(prime, 1, derived)
    assert residues is not None
    quantities = _quantities.Quantities(derived, residues[0], prime)
    assert quantities.ways == {3: [3, 5]}
    round_off = [0.0, 0.0, 0.0, 1.0, 1.0, 0.1]
    ways = _choose.Ways(quantities, [3], [round_off])
    assert ways.bad == {5}
    assert ways.chosen == {}


def test_formulas_that_save_operations_only_together_are_chosen_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Moments of rotated forces about an arm take nine operations each.

    Rotating the arm backwards instead takes six operations once, then three a moment.
    """
    monkeypatch.setattr(_choose, "WORSE", 3)
    rows: list[tuple[Any, ...]] = []

    def append_row(*row: Any) -> int:
        rows.append(row)
        return 8 + len(rows)

    c, s = append_row("cos", 0), append_row("sin", 0)
    forces = ((3, 4), (5, 6), (7, 8))
    rotated_forces = [
        (
            append_row("sub", append_row("mul", c, x), append_row("mul", s, y)),
            append_row("add", append_row("mul", s, x), append_row("mul", c, y)),
        )
        for x, y in forces
    ]
    moments = [
        append_row("sub", append_row("mul", 1, y), append_row("mul", 2, x))
        for x, y in rotated_forces
    ]
    arm = (
        append_row("add", append_row("mul", c, 1), append_row("mul", s, 2)),
        append_row("sub", append_row("mul", c, 2), append_row("mul", s, 1)),
    )
    spare = [
        append_row("sub", append_row("mul", arm[0], y), append_row("mul", arm[1], x))
        for x, y in forces
    ]
    for number in (1, 2, 3):
        derived = by_hand(moments[:number], *rows, inputs=9)
        assert merged_cost(eliminate(derived)) == 9 * number
        assert merged_cost(with_spare(derived, *spare)) == min(9 * number, 6 + 3 * number)


def test_the_squared_norm_of_a_quaternion_is_not_replaced_by_one() -> None:
    """Round-off moves a quaternion off the unit sphere, where |q|² differs from 1."""
    inputs = tuple(Row("input", (), (0, i)) for i in range(4))
    squares = tuple(Row("mul", (i, i)) for i in range(4))
    sums = (Row("add", (4, 5)), Row("add", (8, 6)), Row("add", (9, 7)))
    derived = check(
        Program(
            "f",
            "m",
            (Port("q", (4,)),),
            (Port("y", (), (10,)),),
            (*inputs, *squares, *sums),
            quaternions=(0,),
        )
    )
    assert merge_equal(derived) is derived


def test_different_powers_of_two_are_not_merged() -> None:
    """Modulo 2^61 − 1, 2^30 and 2^-31 would be one number."""
    derived = by_hand(
        [5, 6], ("const", 2**30), ("const", Fraction(1, 2**31)), ("mul", 0, 3), ("mul", 0, 4)
    )
    assert merge_equal(derived) is derived


def test_opposite_constants_stay_two_constants() -> None:
    after = merge_equal(by_hand([3, 4], ("const", 3), ("const", -3)))
    assert [after.rows[r].value for r in after.outputs[0].rows] == [3, -3]


def test_a_merged_row_keeps_the_first_name() -> None:
    """The row gets the prefix `neg_` if it holds the negative of the value that had the name."""
    after = merge_equal(by_hand([3, 4], ("sub", 0, 1), ("sub", 1, 0, "named")))
    assert [row.name for row in after.rows if row.op == "sub"] == ["named"]
    after = merge_equal(
        by_hand([4, 6], ("sub", 0, 1), ("mul", 3, 2), ("sub", 1, 0), ("mul", 5, 2, "named"))
    )
    assert [row.name for row in after.rows if row.op == "mul"] == ["neg_named"]


def test_a_program_that_divides_by_zero_is_unchanged() -> None:
    derived = by_hand([6], ("sub", 0, 0), ("div", 1, 3), ("sub", 1, 2), ("sub", 2, 1))
    assert merge_equal(derived) is derived


def test_formulas_without_a_bound_of_round_off_are_not_merged() -> None:
    """a·(b·10⁴⁰⁰) and (a·b)·10⁴⁰⁰ leave the range of a double, so that no bound is known."""
    derived = by_hand(
        [5, 7], ("const", 10**400), ("mul", 1, 3), ("mul", 0, 4), ("mul", 0, 1), ("mul", 6, 3)
    )
    assert remaining_operations(derived) == ["mul"] * 4


# -- all Programs ----------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=100, deadline=None, derandomize=True)
@given(derived=draw_trigonometric_program())
@pytest.mark.usefixtures("sixty_digits")
def test_every_result_and_name_keeps_its_value(derived: Program) -> None:
    after = check(merge_equal(derived))
    assert eliminate(after).cost <= eliminate(derived).cost
    before, now = at_sixty_digits(derived), at_sixty_digits(after)
    for old, new in zip(derived.outputs[0].rows, after.outputs[0].rows, strict=True):
        assert now[new].overlaps(before[old])
    meaning: dict[str, Any] = {
        row.name: value for row, value in zip(derived.rows, before, strict=True) if row.name
    }
    for row, value in zip(after.rows, now, strict=True):
        assert not row.name or value.overlaps(value_before(meaning, row.name)), row.name
    again = eliminate(fold(merge_equal(eliminate(fold(after)))))
    assert again.cost <= eliminate(after).cost


@pytest.mark.parametrize("name", ["ur5", "free_body", *SMALL])
def test_results_of_robots_keep_their_values(name: str) -> None:
    """Compare values at 60 digits, and residues modulo a third prime."""
    for function in ("forward_dynamics", "integrate"):
        chosen = program(name, function)
        frozen = derive.record(
            robot(name), function, chosen.method, ProgramOptions(), PLAIN, 100_000
        )
        before = fold(passes.begin(frozen))
        after = merge_equal(before)
        old, new = _fingerprints.residues(2**63 - 25, 11, before, after) or ([], [])
        assert old
        at = states(name, 1, BALLS)
        with BALLS.working():
            first, second = (run(p, at, BALLS) for p in (before, after))
            for old_port, new_port in zip(
                _alternatives.results(before), after.outputs, strict=True
            ):
                assert [old[r] for r in old_port.rows] == [new[r] for r in new_port.rows]
                assert largest(first[old_port.name] - second[old_port.name]) < 1e-55 * max(
                    1.0, largest(first[old_port.name])
                )


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_no_method_costs_more_with_the_pass_than_without_it(name: str) -> None:
    saved = 0
    for function in (function for function in OF_ANY_ROBOT if not methods.composers(function)):
        for method in methods_for(robot(name), function):
            options = derive.relevant(
                robot(name), function, ProgramOptions(task_rows=task_rows(name, function))
            )
            begun = passes.begin(
                derive.record(robot(name), function, method, options, PLAIN, 100_000)
            )
            without = begun
            for pipeline_pass in PIPELINE_WITHOUT_MERGE[len(passes.FIRST) :]:
                without = pipeline_pass(without)
            now = passes.shortest_finished([begun])
            assert now.cost <= without.cost, (function, method)
            assert now.operations["div"] <= without.operations["div"], (function, method)
            saved += without.cost - now.cost
    assert saved > 0


def test_bounds_of_round_off_are_above_the_errors_of_doubles() -> None:
    """Check the first-order bound of each row of a mass matrix."""
    derived = program("ur5", "mass_matrix")
    all_rows = derived.with_rows(
        derived.rows, [Port("y", (len(derived.rows),), tuple(range(len(derived.rows))))]
    )
    for shift, errors in zip(
        _error_bounds.STATES,
        _error_bounds.round_offs(derived, range(len(derived.rows))),
        strict=True,
    ):
        arguments = dict(
            zip(
                [p.name for p in derived.inputs],
                _error_bounds._arguments(derived, shift),
                strict=True,
            )
        )
        numbers = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
        rounded = evaluate(all_rows, arguments, numbers)["y"]
        with BALLS.working():
            exact = evaluate(
                all_rows, {k: [arb(x) for x in v] for k, v in arguments.items()}, EXACT_NUMBERS
            )["y"]
            off = [abs(float(arb(a) - b)) for a, b in zip(rounded, exact, strict=True)]
        assert all(
            x <= 2**-53 * (1.01 * e + abs(v) * 1.01) + 1e-30
            for x, e, v in zip(off, errors, rounded, strict=True)
        )


# -- planted errors --------------------------------------------------------------------------------


def test_residues_that_collide_are_refused_by_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modulo 101, most rows of a mass matrix have the residue of another row by chance."""
    monkeypatch.setitem(MERGE_GLOBALS, "PRIME", 101)
    frozen = derive.record(
        robot("ur5"), "mass_matrix", "composite_body", ProgramOptions(), PLAIN, 100_000
    )
    begun = fold(passes.begin(frozen))
    with pytest.raises(
        ProgramError,
        match=r"mass_matrix/composite_body: row \d+.* was recognized as what it does not equal",
    ):
        merge_equal(begun)


def test_a_wrong_sign_is_refused_by_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    class QuantitiesWithoutSigns(_quantities.Quantities):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.sign = [1] * len(self.sign)

    monkeypatch.setitem(MERGE_GLOBALS, "Quantities", QuantitiesWithoutSigns)
    with pytest.raises(ProgramError, match=r"row 4 \('opposite'\) was recognized"):
        merge_equal(by_hand([3, 4], ("sub", 0, 1), ("sub", 1, 0, "opposite")))


def test_a_result_that_lost_its_sign_is_refused_by_the_proof() -> None:
    before = by_hand([3, 4], ("sub", 0, 1), ("sub", 1, 0))
    after = by_hand([3, 3], ("sub", 0, 1))
    new_rows = [(0, 1), (1, 1), (2, 1), (3, 1), (3, -1)]
    with pytest.raises(ProgramError, match="row 4, a result, has lost its sign"):
        MERGE_GLOBALS["prove"](before, after, new_rows)

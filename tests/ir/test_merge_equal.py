"""What is equal is computed once, whichever way it came about. Nothing else changes, and no wrong merger passes the proof."""

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
    value_number,
)
from symgen.ir.passes import merge_equal as recognized
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
RECOGNIZE = passes.merge_equal.__globals__
"""The pass as a file, not as a function."""
WITHOUT = tuple(
    [
        one
        if one is not recognized
        else lambda made: value_number(_alternatives.without_spare(made))
        for one in passes.PIPELINE
    ]
)
SMALL = ("planar_arm", "spherical_pendulum", "scara")


@pytest.fixture
def sixty_digits() -> Iterator[None]:
    before, ctx.dps = ctx.dps, 60
    yield
    ctx.dps = before


def left(derived: Program) -> list[str]:
    return ops(eliminate(fold(recognized(derived))))


# -- what is recognized -------------------------------------------------------------------------------------------------


def test_opposite_differences_are_one() -> None:
    """(a − b) c and (b − a) c: one product, and its negative for the result."""
    assert left(by_hand([5, 6], ("sub", 0, 1), ("sub", 1, 0), ("mul", 3, 2), ("mul", 4, 2))) == [
        "mul",
        "neg",
        "sub",
    ]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([("sub", 1, 0), ("add", 2, 4)], ["sub", "sub"]),  # c + (b − a) = c − (a − b)
        ([("sub", 1, 0), ("sub", 2, 4)], ["add", "sub"]),  # c − (b − a) = c + (a − b)
        ([("sub", 1, 0), ("mul", 4, 4)], ["mul", "sub"]),  # (b − a)² = (a − b)²
        ([("sub", 1, 0), ("div", 2, 4), ("mul", 5, 4)], ["sub"]),  # c/(b − a)·(b − a) = c
        ([("sub", 1, 0), ("cos", 4)], ["cos", "sub"]),  # cos(b − a) = cos(a − b)
        ([("sub", 1, 0), ("sin", 4), ("sub", 2, 5)], ["add", "sin", "sub"]),
        ([("sub", 1, 0), ("sqrt", 4)], ["neg", "sqrt", "sub"]),  # a root asks for its sign
    ],
)
def test_signs_travel_with_operands(rows: list[tuple[Any, ...]], kept: list[str]) -> None:
    derived = by_hand([3, 3 + len(rows)], ("sub", 0, 1), *rows)
    assert left(derived) == kept


def test_s_squared_and_c_squared_are_one() -> None:
    assert left(by_hand([8], *ANGLE, ("mul", 3, 3), ("mul", 4, 4), ("add", 6, 7))) == []


@pytest.mark.parametrize(
    "rows",
    [
        [("mul", 3, 3), ("sub", 5, 6), ("mul", 4, 4)],  # 1 − s² stands first
        [("mul", 4, 4), ("mul", 3, 3), ("sub", 5, 7)],
    ],
)
def test_of_two_ways_the_one_that_cancels_is_not_taken(rows: list[tuple[Any, ...]]) -> None:
    """1 − s² is c², which keeps its digits where s is near 1."""
    assert left(by_hand([6, 7, 8], *ANGLE, *rows)) == [
        "cos",
        "mul",
        "mul",
        "sin",
    ]  # and s² is there for nothing


def test_what_stands_later_is_put_before_its_use() -> None:
    """x = 1 − s², y = x + b, and c² only then: y is made of c², and rows stay in order."""
    derived = by_hand([8, 9], *ANGLE, ("mul", 3, 3), ("sub", 5, 6), ("add", 7, 1), ("mul", 4, 4))
    assert left(derived) == ["add", "cos", "mul"]


def test_angles_are_added() -> None:
    """sin(a + b) = sin a cos b + cos a sin b, and the rows of the sum go."""
    apart = [
        ("sin", 0),
        ("cos", 0),
        ("sin", 1),
        ("cos", 1),
        ("mul", 3, 6),
        ("mul", 4, 5),
        ("add", 7, 8),
    ]
    first = recognized(by_hand([9, 11], *apart, ("add", 0, 1), ("sin", 10)))
    assert first.outputs[0].rows[0] == first.outputs[0].rows[1]


def test_an_angle_that_is_a_sum_and_a_product_is_one_angle() -> None:
    """sin(a + a) and sin(2 a), whichever is kept: the proof knows them for the same."""
    for rows in ([("add", 0, 0), ("mul", 0, 3)], [("mul", 0, 3), ("add", 0, 0)]):
        assert left(by_hand([6, 7], ("const", 2), *rows, ("sin", 4), ("sin", 5))) in (
            ["add", "sin"],
            ["mul", "sin"],
        )
    assert left(by_hand([6], ("const", -2), ("const", 1), ("add", 4, 4), ("sin", 5))) == [
        "neg",
        "sin",
    ]


@pytest.mark.parametrize(("also", "dead"), [(3, (1, 2)), (5, (0, 1))])
def test_of_all_ways_those_with_fewest_operations_are_taken(
    also: int, dead: tuple[int, int]
) -> None:
    """(a b) c is a (b c): that is taken of which a part is wanted anyway."""
    both = (("mul", 0, 1), ("mul", 3, 2), ("mul", 1, 2), ("mul", 0, 5))
    assert left(by_hand([also, 4, 6], *both)) == ["mul", "mul"]
    assert left(by_hand([3, 5, 4], *both)) == ["mul"] * 3
    assert dead not in [
        row.args for row in eliminate(recognized(by_hand([also, 4, 6], *both))).rows
    ]


def with_spare(made: Program, *spare: int) -> Program:
    return made.with_rows(made.rows, [*made.outputs, Port(SPARE, (len(spare),), spare)])


def counted(made: Program) -> int:
    """Operations once the pass has chosen."""
    return eliminate(fold(recognized(made))).cost


def test_what_is_spare_is_taken_only_where_that_saves_operations() -> None:
    """x y + x z and x (y + z)."""
    rows = (("mul", 0, 1), ("mul", 0, 2), ("add", 3, 4), ("add", 1, 2), ("mul", 0, 6))
    both, wanted = by_hand([5], *rows), by_hand([5, 3, 4], *rows)
    assert left(eliminate(both)) == left(with_spare(wanted, 7)) == ["add", "mul", "mul"]
    assert left(with_spare(both, 7)) == ["add", "mul"]
    assert [port.name for port in recognized(with_spare(both, 7)).outputs] == [
        port.name for port in both.outputs
    ]


def test_what_is_spare_and_has_another_value_is_not_taken() -> None:
    wrong = by_hand([5], ("mul", 0, 1), ("mul", 0, 2), ("add", 3, 4), ("sub", 1, 2), ("mul", 0, 6))
    assert left(with_spare(wrong, 7)) == ["add", "mul", "mul"]


def test_what_is_spare_is_not_taken_for_its_round_off() -> None:
    """(1 + s) (1 − s) costs more than c², and is not as good; but what somebody has written stays where c² costs more."""
    rows = (
        ("const", 1),
        ("sin", 0),
        ("cos", 0),
        ("add", 3, 4),
        ("sub", 3, 4),
        ("mul", 6, 7),
        ("mul", 5, 5),
    )
    assert left(with_spare(by_hand([8, 6, 7], *rows), 9)) == ["add", "mul", "sin", "sub"]
    assert left(with_spare(by_hand([8, 5], *rows), 9)) == ["cos", "mul"]
    assert left(with_spare(by_hand([9, 6, 7], *rows), 8)) == ["add", "cos", "mul", "sin", "sub"]


def test_what_pays_only_together_is_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moments of rotated forces about an arm take nine operations each.

    Rotating the arm backwards instead takes six operations once, then three a moment.
    """
    monkeypatch.setattr(_choose, "WORSE", 3)
    rows: list[tuple[Any, ...]] = []

    def put(*row: Any) -> int:
        rows.append(row)
        return 8 + len(rows)

    c, s = put("cos", 0), put("sin", 0)
    forces = ((3, 4), (5, 6), (7, 8))
    rotated_forces = [
        (
            put("sub", put("mul", c, x), put("mul", s, y)),
            put("add", put("mul", s, x), put("mul", c, y)),
        )
        for x, y in forces
    ]
    moments = [put("sub", put("mul", 1, y), put("mul", 2, x)) for x, y in rotated_forces]
    arm = (
        put("add", put("mul", c, 1), put("mul", s, 2)),
        put("sub", put("mul", c, 2), put("mul", s, 1)),
    )
    spare = [put("sub", put("mul", arm[0], y), put("mul", arm[1], x)) for x, y in forces]
    for some in (1, 2, 3):
        made = by_hand(moments[:some], *rows, inputs=9)
        assert counted(eliminate(made)) == 9 * some
        assert counted(with_spare(made, *spare)) == min(9 * some, 6 + 3 * some)


def test_a_unit_quaternion_is_four_numbers() -> None:
    """|q|² is not taken for 1: off the sphere, where round-off leads, the answer stays what it was."""
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
    assert recognized(derived) is derived


def test_powers_of_two_are_told_apart() -> None:
    """Modulo 2^61 − 1 these two would be one number."""
    derived = by_hand(
        [5, 6], ("const", 2**30), ("const", Fraction(1, 2**31)), ("mul", 0, 3), ("mul", 0, 4)
    )
    assert recognized(derived) is derived


def test_a_constant_is_not_negated_by_an_operation() -> None:
    after = recognized(by_hand([3, 4], ("const", 3), ("const", -3)))
    assert [after.rows[r].value for r in after.outputs[0].rows] == [3, -3]


def test_a_name_goes_on() -> None:
    """The first name of a quantity, with the sign that it had if that costs nothing; else it says so."""
    after = recognized(by_hand([3, 4], ("sub", 0, 1), ("sub", 1, 0, "named")))
    assert [row.name for row in after.rows if row.op == "sub"] == ["named"]
    after = recognized(
        by_hand([4, 6], ("sub", 0, 1), ("mul", 3, 2), ("sub", 1, 0), ("mul", 5, 2, "named"))
    )
    assert [row.name for row in after.rows if row.op == "mul"] == ["neg_named"]


def test_what_divides_by_zero_is_left_alone() -> None:
    derived = by_hand([6], ("sub", 0, 0), ("div", 1, 3), ("sub", 1, 2), ("sub", 2, 1))
    assert recognized(derived) is derived


def test_ways_of_which_no_double_tells_the_better_one_stay_apart() -> None:
    """a·(b·10⁴⁰⁰) and (a·b)·10⁴⁰⁰: no bound of their round-off is known."""
    derived = by_hand(
        [5, 7], ("const", 10**400), ("mul", 1, 3), ("mul", 0, 4), ("mul", 0, 1), ("mul", 6, 3)
    )
    assert left(derived) == ["mul"] * 4


# -- any Program --------------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None, derandomize=True)
@given(derived=draw_trigonometric_program())
@pytest.mark.usefixtures("sixty_digits")
def test_every_result_and_name_keeps_its_value(derived: Program) -> None:
    after = check(recognized(derived))
    assert eliminate(after).cost <= eliminate(derived).cost
    before, now = at_sixty_digits(derived), at_sixty_digits(after)
    for old, new in zip(derived.outputs[0].rows, after.outputs[0].rows, strict=True):
        assert now[new].overlaps(before[old])
    meaning: dict[str, Any] = {
        row.name: value for row, value in zip(derived.rows, before, strict=True) if row.name
    }
    for row, value in zip(after.rows, now, strict=True):
        assert not row.name or value.overlaps(value_before(meaning, row.name)), row.name
    again = eliminate(fold(recognized(eliminate(fold(after)))))
    assert again.cost <= eliminate(after).cost


@pytest.mark.parametrize("name", ["ur5", "free_body", *SMALL])
def test_robots_keep_their_answers(name: str) -> None:
    """At 60 digits, and modulo a third prime."""
    for function in ("forward_dynamics", "integrate"):
        made = program(name, function)
        frozen = derive.record(robot(name), function, made.method, ProgramOptions(), PLAIN, 100_000)
        before = fold(passes.begin(frozen))
        after = recognized(before)
        old, new = _fingerprints.residues(2**63 - 25, 11, before, after) or ([], [])
        assert old
        at = states(name, 1, BALLS)
        with BALLS.working():
            first, second = (run(p, at, BALLS) for p in (before, after))
            for one, other in zip(_alternatives.results(before), after.outputs, strict=True):
                assert [old[r] for r in one.rows] == [new[r] for r in other.rows]
                assert largest(first[one.name] - second[one.name]) < 1e-55 * max(
                    1.0, largest(first[one.name])
                )


@pytest.mark.parametrize("name", SMALL)
def test_no_function_by_any_method_costs_more_than_without(name: str) -> None:
    saved = 0
    for function in (one for one in OF_ANY_ROBOT if not methods.composers(one)):
        for method in methods_for(robot(name), function):
            options = derive.relevant(
                robot(name), function, ProgramOptions(task_rows=task_rows(name, function))
            )
            begun = passes.begin(
                derive.record(robot(name), function, method, options, PLAIN, 100_000)
            )
            without = begun
            for one in WITHOUT[len(passes.FIRST) :]:
                without = one(without)
            now = passes.shortest_finished([begun])
            assert now.cost <= without.cost, (function, method)
            assert now.operations["div"] <= without.operations["div"], (function, method)
            saved += without.cost - now.cost
    assert saved > 0


def test_better_ways_are_told_by_bounds_that_hold() -> None:
    """The first-order bound of every row of a mass matrix is above the error that a double makes there."""
    made = program("ur5", "mass_matrix")
    whole = made.with_rows(made.rows, [Port("y", (len(made.rows),), tuple(range(len(made.rows))))])
    for shift, errors in zip(
        _error_bounds.STATES, _error_bounds.round_offs(made, range(len(made.rows))), strict=True
    ):
        given = dict(
            zip([p.name for p in made.inputs], _error_bounds._arguments(made, shift), strict=True)
        )
        numbers = Numbers(float, math.sin, math.cos, math.sqrt, math.log)
        rounded = evaluate(whole, given, numbers)["y"]
        with BALLS.working():
            exact = evaluate(
                whole, {k: [arb(x) for x in v] for k, v in given.items()}, EXACT_NUMBERS
            )["y"]
            off = [abs(float(arb(a) - b)) for a, b in zip(rounded, exact, strict=True)]
        assert all(
            x <= 2**-53 * (1.01 * e + abs(v) * 1.01) + 1e-30
            for x, e, v in zip(off, errors, rounded, strict=True)
        )


# -- planted errors -----------------------------------------------------------------------------------------------------


def test_residues_that_collide_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modulo 101 most rows of a mass matrix meet another by chance."""
    monkeypatch.setitem(RECOGNIZE, "PRIME", 101)
    frozen = derive.record(
        robot("ur5"), "mass_matrix", "composite_body", ProgramOptions(), PLAIN, 100_000
    )
    begun = fold(passes.begin(frozen))
    with pytest.raises(
        ProgramError,
        match=r"mass_matrix/composite_body: row \d+.* was recognized as what it does not equal",
    ):
        recognized(begun)


def test_a_wrong_sign_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(_quantities.Quantities):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.sign = [1] * len(self.sign)

    monkeypatch.setitem(RECOGNIZE, "Quantities", Wrong)
    with pytest.raises(ProgramError, match=r"row 4 \('opposite'\) was recognized"):
        recognized(by_hand([3, 4], ("sub", 0, 1), ("sub", 1, 0, "opposite")))


def test_a_result_that_lost_its_sign_does_not_pass() -> None:
    before = by_hand([3, 4], ("sub", 0, 1), ("sub", 1, 0))
    after = by_hand([3, 3], ("sub", 0, 1))
    places = [(0, 1), (1, 1), (2, 1), (3, 1), (3, -1)]
    with pytest.raises(ProgramError, match="row 4, a result, has lost its sign"):
        RECOGNIZE["prove"](before, after, places)

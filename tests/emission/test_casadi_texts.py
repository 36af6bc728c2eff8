"""Functions for CasADi as text: which derivatives they hand on, and where the entries stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from symgen.emission.backends.casadi import (
    _array,
    _block,
    _derivative,
    _function,
    _jacobian,
    _lines,
    _matrix,
    _Patterns,
    files,
)
from symgen.ir.program import Port, Program
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.derivatives import ELSEWHERE
from symgen.vocabulary.options import PLAIN
from symgen.vocabulary.target import Target
from tests.shared.c_programs import Builder

TARGET = Target("arm", Sizes(2, 2, 2), PLAIN)
Q, T = Port("q", (2,)), Port("t", ())


def toy() -> Program:
    """Return y = (q₀ q₁, q₁) and z = t q₀."""
    b = Builder("toy", [Q, T])
    first, second = b.input(0, 0), b.input(0, 1)
    product, scaled = b.op("mul", first, second), b.op("mul", b.input(1, 0), first)
    return b.program([Port("y", (2,), (product, second)), Port("z", (), (scaled,))])


def jacobian(*names: str) -> Program:
    """Return the derivatives of `toy`, or those of these names: zeros and ones among them."""
    b = Builder("toy:jacobian", [Q, T])
    q0, q1, t = b.input(0, 0), b.input(0, 1), b.input(1, 0)
    zero, unit = b.const(0), b.const(1)
    outputs = [
        Port("dy_dq", (2, 2), (q1, q0, zero, unit)),
        Port("dy_dt", (2,), (zero, zero)),
        Port("dz_dq", (2,), (t, zero)),
        Port("dz_dt", (), (q0,)),
    ]
    return b.program([port for port in outputs if not names or port.name in names])


def programs(*others: Program) -> Mapping[str, Program]:
    return {program.function: program for program in (toy(), *others)}


# -- sparsities ------------------------------------------------------------------------------------


def test_a_full_matrix_has_its_size_and_one() -> None:
    """CasADi: rows, columns, 1 where every entry is there."""
    patterns = _Patterns(TARGET)
    assert patterns.name(2, 3) == "arm_casadi_s0"
    assert patterns.name(3, 2) == "arm_casadi_s1"
    assert patterns.name(2, 3) == "arm_casadi_s0"  # each is printed once
    assert patterns.context() == [
        {"name": "arm_casadi_s0", "count": 3, "numbers": ["2, 3, 1"]},
        {"name": "arm_casadi_s1", "count": 3, "numbers": ["3, 2, 1"]},
    ]


def test_a_sparse_matrix_has_the_beginnings_of_its_columns_and_its_rows() -> None:
    """Compressed columns: entry (1, 0), none in column 1, entries (0, 2) and (1, 2)."""
    patterns = _Patterns(TARGET)
    patterns.name(2, 3, [(1, 0), (0, 2), (1, 2)])
    patterns.name(2, 3, ())
    assert [entry["numbers"] for entry in patterns.context()] == [
        ["2, 3, 0, 1, 1, 3, 1, 0, 1"],
        ["2, 3, 0, 0, 0, 0"],
    ]


def test_arrays_of_more_than_two_indices_have_the_last_one_as_columns() -> None:
    sizes = [_matrix(Port("x", shape)) for shape in ((), (3,), (2, 3), (2, 4, 3))]
    assert sizes == [(1, 1), (3, 1), (2, 3), (8, 3)]
    assert _array(Port("x", (2, 3)), "in", 4) == {
        "k": 4,
        "array": "in_x",
        "size": 6,
        "rows": 2,
        "columns": 3,
        "indices": "",
    }


def test_numbers_fill_lines_of_a_hundred_columns() -> None:
    """The last one has no comma."""
    words = [str(10**9 + k) for k in range(30)]
    lines = _lines(words)
    assert " ".join(lines) == ", ".join(words)
    assert all(len(line) <= 100 for line in lines)
    assert all(len(line) + 1 + 11 > 100 for line in lines[:-1])
    assert _lines([]) == []
    assert _lines([1]) == ["1"]


# -- functions -------------------------------------------------------------------------------------


def test_a_function_hands_its_arrays_on() -> None:
    facts = _function(toy(), TARGET, patterns := _Patterns(TARGET))
    assert facts["symbol"] == "arm_casadi_toy"
    assert facts["calls"] == ["arm_toy(in_q, in_t, out_y, out_z)"]
    assert (facts["inputs"], facts["outputs"]) == (2, 2)
    assert facts["names"] == ['"q", "t", "y", "z"']
    assert [port["array"] for port in facts["arrays"]] == ["in_q", "in_t", "out_y", "out_z"]
    assert [port["k"] for port in facts["results"]] == [0, 1]
    vector, number = patterns.name(2, 1), patterns.name(1, 1)
    assert facts["sparsities"] == [f"{vector}, {number}, {vector}, {number}"]


def test_prepared_parameters_are_passed_as_a_struct() -> None:
    q, t = toy().inputs
    prepared = replace(toy(), inputs=(q, t._replace(name="prepared")))
    facts = _function(prepared, TARGET, _Patterns(TARGET))
    (call,) = facts["calls"]
    assert call == "arm_toy(in_q, (const arm_prepared *)in_prepared, out_y, out_z)"


# -- derivatives -----------------------------------------------------------------------------------


def test_a_block_of_a_derivative_has_the_entries_that_are_not_zero_everywhere() -> None:
    """Entry (row, column) of dy/dq stands at 2·row + column; CasADi reads by columns."""
    derivative = jacobian()
    y, z = toy().outputs
    ports = {port.name: port for port in derivative.outputs}
    block = _block(3, y, Q, derivative, ports["dy_dq"])
    assert (block["k"], block["rows"], block["columns"]) == (3, 2, 2)
    assert (block["indices"], block["count"]) == ("which_3", 3)
    assert block["index_lines"] == ["0, 1, 3"]
    assert block["nonzero"] == [(0, 0), (0, 1), (1, 1)]
    nothing = _block(0, y, T, derivative, ports["dy_dt"])
    assert (nothing["count"], nothing["index_lines"], nothing["nonzero"]) == (0, [], [])
    number = _block(1, z, T, derivative, ports["dz_dt"])
    assert (number["count"], number["indices"], number["nonzero"]) == (1, "", None)
    row = _block(1, z, Q, derivative, ports["dz_dq"])
    assert (row["rows"], row["columns"], row["index_lines"], row["nonzero"]) == (
        1,
        2,
        ["0"],
        [(0, 0)],
    )


@pytest.mark.parametrize(
    ("shape", "argument", "index_lines", "straight"),
    [
        ((2,), (2,), "0, 2, 1, 3", True),
        ((2, 2), (), "0, 2, 1, 3", False),
        ((), (2, 2), "0, 2, 1, 3", False),
        ((4,), (), "0, 1, 2, 3", True),
    ],
)
def test_a_full_block_is_gathered_unless_its_vectors_stand_in_order(
    shape: tuple[int, ...], argument: tuple[int, ...], index_lines: str, straight: bool
) -> None:
    """Matrices among results and arguments stand by columns in CasADi, by rows in C."""
    b = Builder("toy:jacobian", [Port("x", argument)])
    rows = tuple(b.const(k + 1) for k in range(4))
    derivative = b.program([Port("dy_dx", (4,), rows)])
    block = _block(0, Port("y", shape), Port("x", argument), derivative, derivative.outputs[0])
    assert (block["count"], block["nonzero"]) == (4, None)
    assert block["index_lines"] == [index_lines]
    assert block["indices"] == ("" if straight else "which_0")


def test_derivatives_stand_in_the_first_function_that_has_them_all_right() -> None:
    y, _ = toy().outputs
    derivative = jacobian()
    assert _derivative(toy(), y, Q, programs()) is None
    assert _derivative(toy(), y, Q, programs(derivative)) == (derivative, derivative.outputs[0])
    assert _derivative(toy(), y, Q, programs(jacobian("dz_dq"))) is None
    # of another function, in another mode, of another size, and with an argument more
    for function in ("other:jacobian", "toy:jvp"):
        assert _derivative(toy(), y, Q, programs(replace(derivative, function=function))) is None
    narrow = replace(derivative, outputs=(derivative.outputs[0]._replace(shape=(2,), rows=(0, 1)),))
    assert _derivative(toy(), y, Q, programs(narrow)) is None
    more = replace(derivative, inputs=(*derivative.inputs, Port("payload", (10,))))
    assert _derivative(toy(), y, Q, programs(more)) is None
    partial = replace(jacobian("dy_dq"), function="toy:jacobian(q)")
    both = programs(jacobian("dz_dq"), partial)
    assert _derivative(toy(), y, Q, both) == (partial, partial.outputs[0])


def test_a_derivative_of_the_table_may_stand_in_a_function_of_its_own() -> None:
    (function, result, argument), (elsewhere, name) = next(iter(ELSEWHERE.items()))
    arguments = (Port(argument, (2,)),)
    b = Builder(function, [*arguments])
    program = b.program([Port(result, (2,), (b.input(0, 0), b.input(0, 1)))])
    b = Builder(elsewhere, [*arguments])
    unit = b.const(1)
    derivative = b.program([Port("more", (), (unit,)), Port(name, (2, 2), (unit,) * 4)])
    folder = {function: program, elsewhere: derivative}
    slope = _derivative(program, program.outputs[0], program.inputs[0], folder)
    assert slope == (derivative, derivative.outputs[1])


def test_a_function_has_derivatives_by_all_its_arguments_or_none() -> None:
    def derivative_of(*others: Program, rates: bool = True) -> Any:
        target = replace(TARGET, rates=rates)
        return _jacobian(toy(), programs(*others), target, _Patterns(target))

    assert derivative_of() is None
    assert derivative_of(jacobian("dy_dq", "dy_dt", "dz_dq")) is None
    assert derivative_of(jacobian(), rates=False) is None  # velocities are no rates of coordinates
    facts = derivative_of(jacobian())
    assert facts["symbol"] == "jac_arm_casadi_toy"
    assert (facts["inputs"], facts["outputs"]) == (4, 4)
    assert facts["calls"] == [
        "arm_toy_jacobian(in_q, in_t, slope_0_dy_dq, slope_0_dy_dt, slope_0_dz_dq, slope_0_dz_dt)"
    ]
    assert " ".join(facts["names"]) == (
        '"q", "t", "out_y", "out_z", "jac_y_q", "jac_y_t", "jac_z_q", "jac_z_t"'
    )
    assert [block["array"] for block in facts["results"]] == [
        f"slope_0_{name}" for name in ("dy_dq", "dy_dt", "dz_dq", "dz_dt")
    ]
    assert [array["array"] for array in facts["arrays"]][:3] == ["in_q", "in_t", "slope_0_dy_dq"]


def test_derivatives_of_two_functions_are_called_one_after_the_other() -> None:
    first = replace(jacobian("dy_dq", "dz_dq"), function="toy:jacobian(q)")
    second = replace(jacobian("dy_dt", "dz_dt"), function="toy:jacobian(t)")
    facts = _jacobian(toy(), programs(first, second), TARGET, _Patterns(TARGET))
    assert facts is not None
    assert [call.partition("(")[2] for call in facts["calls"]] == [
        "in_q, in_t, slope_0_dy_dq, slope_0_dz_dq)",
        "in_q, in_t, slope_1_dy_dt, slope_1_dz_dt)",
    ]
    assert [block["array"] for block in facts["results"]] == [
        "slope_0_dy_dq",
        "slope_1_dy_dt",
        "slope_0_dz_dq",
        "slope_1_dz_dt",
    ]


def test_results_of_which_nothing_is_read_have_no_entries() -> None:
    patterns = _Patterns(TARGET)
    facts = _jacobian(toy(), programs(jacobian()), TARGET, patterns)
    assert facts is not None
    names = {entry["name"]: entry["numbers"] for entry in patterns.context()}
    sparsities = [names[word] for word in re.findall(r"\w+", " ".join(facts["sparsities"]))]
    assert sparsities[2:4] == [["2, 1, 0, 0"], ["1, 1, 0, 0"]]  # y and z
    assert sparsities[4] == ["2, 2, 0, 1, 3, 0, 0, 1"]  # dy/dq without its zero
    assert sparsities[7] == ["1, 1, 1"]  # dz/dt


def test_both_files_have_the_functions_and_their_derivatives() -> None:
    texts = files(programs(jacobian()), TARGET)
    assert [*texts] == ["arm_casadi.h", "arm_casadi.c"]
    for symbol in ("arm_casadi_toy", "jac_arm_casadi_toy", "arm_casadi_toy_jacobian"):
        assert all(re.search(rf"\b{symbol}\b", text) for text in texts.values()), symbol
    assert "which_0" in texts["arm_casadi.c"]
    full = Builder("toy:jacobian", [Q, T])
    entry = full.input(0, 0)
    shapes = {"dy_dq": (2, 2), "dy_dt": (2,), "dz_dq": (2,), "dz_dt": ()}
    derivative = full.program(
        [Port(name, shape, (entry,) * Port("x", shape).size) for name, shape in shapes.items()]
    )
    # a full block of vectors is copied as any matrix is
    assert "which_" not in files(programs(derivative), TARGET)["arm_casadi.c"]

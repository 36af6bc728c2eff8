"""Cases of the self-test: tolerances, tables and calls, as its template prints them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from symgen.delivery.cases import (
    LAST_BLOCK_STATES,
    SPACED,
    Equation,
    SelfTestCase,
    _coarse,
    _numbers,
    _rounded_up,
    self_test_context,
)
from symgen.emission import printer
from symgen.emission.c_text import WIDTH
from symgen.ir.program import Program
from symgen.support.errors import RequestError
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target
from tests.shared.c_programs import arm
from tests.shared.folders import cases
from tests.shared.recursions import sums

PROGRAMS = {name: arm()[name] for name in ("mass_matrix_and_bias", "mass_matrix")}


def context(
    of_cases: list[SelfTestCase] | None = None,
    programs: dict[str, Program] = PROGRAMS,
    **options: Any,
) -> dict[str, Any]:
    target = Target("arm", Sizes(2, 2, 2), TextOptions(**options))
    return self_test_context(programs, target, cases(programs) if of_cases is None else of_cases)


def case(**changes: Any) -> SelfTestCase:
    """Return a case of the mass matrix at q = (1, 2), with other fields."""
    usual = SelfTestCase(
        "mass_matrix", ((1.0, 2.0),), ((4.0, 1.0, 1.0, 2.0),), ((1e-9, 1e-9, 1e-9, 1e-9),)
    )
    return replace(usual, **changes)


def test_a_tolerance_is_rounded_up_to_three_digits() -> None:
    pick = random.Random(5)
    for _ in range(200):
        value = Fraction(pick.uniform(1, 10)) * Fraction(10) ** pick.randint(-40, 20)
        rounded = _rounded_up(value)
        assert value <= rounded < value * Fraction(101, 100)
        digits = rounded / Fraction(10) ** (math.floor(math.log10(rounded)) - 2)
        assert digits.denominator == 1
        assert 100 <= digits < 1000
    assert _rounded_up(Fraction(123, 10**9)) == Fraction(123, 10**9)
    assert _rounded_up(Fraction(1231, 10**9)) == Fraction(124, 10**8)
    assert _rounded_up(0.0) == 0


@pytest.mark.parametrize("real", REALS)
def test_numbers_are_printed_in_lines_of_the_width(real: str) -> None:
    values = [Fraction(k, 7) for k in range(40)]
    lines = _numbers(values, real)
    indented = WIDTH - 12
    assert all(len(line) <= indented for line in lines)
    literals = " ".join(lines).split(" ")
    suffix = REALS[real].suffix
    numbers = [Fraction(x.removesuffix(",").removesuffix(suffix)) for x in literals]
    assert [*map(REALS[real].rounded, numbers)] == [*map(REALS[real].rounded, values)]
    assert [x.endswith(",") for x in literals] == [True] * 39 + [False]
    for line, following in pairwise(lines):
        assert len(f"{line} {following.split(' ')[0]}") > indented
    assert _numbers([], real) == []


@pytest.mark.parametrize(
    ("tolerances", "remark"),
    [
        ([1e-9], ""),
        ([4e-3], ""),
        ([8e-3], " (to within 0.002 of the result)"),
        ([1.0, 1e-9, 1e-9], ""),
        ([1.0, 1.0, 1e-9], " (to within 0.2 of the result)"),
        ([1e-9, 1.0], " (to within 0.1 of the result)"),
    ],
)
def test_a_coarse_tolerance_is_stated_if_half_of_the_states_have_it(
    tolerances: list[float], remark: str
) -> None:
    """Compare with the largest entry, 4."""
    of_cases = [case(tolerances=((0.0, 0.0, allowed, 0.0),)) for allowed in tolerances]
    assert _coarse(of_cases) == remark
    single = {"mass_matrix": PROGRAMS["mass_matrix"]}
    assert context(of_cases, single)["tests"][0]["label"] == f"mass_matrix{remark}"
    zero = case(results=((0.0,) * 4,), tolerances=((1.0,) * 4,))
    assert _coarse([zero]) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"arguments": ((1.0,),)},
        {"arguments": ((1.0, math.nan),)},
        {"arguments": ((1.0, 2.0), (1.0,))},
        {"results": ((4.0, 1.0, 1.0),)},
        {"results": ((4.0, 1.0, 1.0, math.inf),)},
        {"tolerances": ((1e-9,),)},
        {"tolerances": ((1e-9, 1e-9, 1e-9, math.inf),)},
        {"equations": (Equation((1.0,), (1.0,), (1.0,)),)},
        {"equations": (Equation((math.nan,), (1.0,) * 4, (1.0,) * 4),)},
    ],
)
def test_a_case_of_other_sizes_or_without_finite_numbers_is_refused(
    changes: dict[str, Any],
) -> None:
    with pytest.raises(RequestError, match=r"^a self-test case of mass_matrix has sizes \["):
        context([case(**changes)])


def test_each_function_is_called_with_its_arrays() -> None:
    facts = context()
    both, single = facts["tests"]
    assert (facts["total"], facts["untested"], facts["matrices"]) == (2, [], [])
    assert facts["entrywise"] is True
    assert (both["label"], both["symbol"]) == ("mass_matrix_and_bias", "arm_mass_matrix_and_bias")
    assert (both["count"], both["batch_calls"], both["largest_size"]) == (3, 2, 4)
    tables = ["mass_matrix_and_bias_q", "mass_matrix_and_bias_v"]
    assert both["argument_tables"] == tables
    assert both["call"] == f"{tables[0]}[i], {tables[1]}[i], M, c"
    assert [(a["name"], a["size"], len(a["states"])) for a in both["arguments"]] == [
        ("q", 2, 3),
        ("v", 2, 3),
    ]
    matrix, bias = both["results"]
    assert (matrix["name"], matrix["size"], matrix["batch_size"]) == ("M", 4, 12)
    assert (bias["table"], bias["batch_name"]) == (
        "mass_matrix_and_bias_c",
        "mass_matrix_and_bias_c_many",
    )
    assert bias["comparison"] == {
        "function": "wrong",
        "arguments": "mass_matrix_and_bias_c[i], mass_matrix_and_bias_c_tolerance[i], 2",
        "batch_arguments": "mass_matrix_and_bias_c[k], mass_matrix_and_bias_c_tolerance[k], 2",
    }
    assert bias["tolerances"] == [["1e-12, 1e-12"]] * 3
    assert (
        single["uses_workspace"],
        single["call_with_empty_workspace"],
        single["refused_calls"],
    ) == (False, "", [])
    assert single["workspace_size"] == 0


def test_each_result_is_stored_over_each_argument() -> None:
    (both, _) = context()["tests"]
    calls = [shared["call"].split(", ") for shared in both["aliasing_calls"]]
    assert calls == [
        ["shared", "mass_matrix_and_bias_v[i]", "shared", "c"],
        ["shared", "mass_matrix_and_bias_v[i]", "M", "shared"],
        ["mass_matrix_and_bias_q[i]", "shared", "shared", "c"],
        ["mass_matrix_and_bias_q[i]", "shared", "M", "shared"],
    ]
    assert [(s["argument"]["name"], s["result"]["name"]) for s in both["aliasing_calls"]] == [
        ("q", "M"),
        ("q", "c"),
        ("v", "M"),
        ("v", "c"),
    ]


def test_a_checked_function_refuses_each_argument_in_turn() -> None:
    (both, _) = context(checked=True)["tests"]
    assert [(entry["argument"]["name"], entry["call"]) for entry in both["refused_calls"]] == [
        ("q", "shared, mass_matrix_and_bias_v[i], M, c"),
        ("v", "mass_matrix_and_bias_q[i], shared, M, c"),
    ]


def test_functions_without_a_case_are_named() -> None:
    facts = context([case()])
    assert facts["untested"] == ["mass_matrix_and_bias"]
    assert facts["total"] == 1
    assert facts["tests"][0]["batch_calls"] == 1
    nothing = context([])
    assert (nothing["total"], nothing["tests"], nothing["blocks"]["size"]) == (0, [], 1)
    assert nothing["entrywise"] is False


def equation(first: float) -> Equation:
    return Equation((first, 1.0, 2.0), (5.0, 6.0), (Fraction(1, 10**9), Fraction(2, 10**9)))


def test_a_result_that_solves_equations_is_judged_by_them() -> None:
    """Two functions with the same matrices share one table of them."""
    arguments, results = ((1.0, 2.0), (3.0, 4.0)), ((4.0, 1.0, 1.0, 2.0), (1.0, 1.0))
    tolerances = ((1e-9,) * 4, (1e-9,) * 2)
    solved = [
        SelfTestCase("mass_matrix_and_bias", arguments, results, tolerances, (None, equation(k)))
        for k in (3.0, 4.0)
    ]
    facts = context(solved)
    (test,) = facts["tests"]
    matrix, bias = test["results"]
    assert facts["entrywise"] is True
    assert matrix["comparison"]["function"] == "wrong"
    assert bias["table"] == "mass_matrix_and_bias_M_c"
    assert bias["comparison"]["function"] == "unsolved"
    assert bias["comparison"]["arguments"] == (
        "mass_matrix_1[i], mass_matrix_and_bias_M_c[i], mass_matrix_and_bias_M_c_tolerance[i], 2"
    )
    assert bias["states"] == [["5.0, 6.0"]] * 2
    assert bias["tolerances"] == [["1e-09, 2e-09"]] * 2
    assert facts["matrices"] == [
        {
            "table": "mass_matrix_1",
            "count": 2,
            "size": 3,
            "states": [["3.0, 1.0, 2.0"], ["4.0, 1.0, 2.0"]],
        }
    ]
    again = dict(PROGRAMS, other=replace(PROGRAMS["mass_matrix_and_bias"], function="other"))
    others = [replace(entry, function="other") for entry in solved]
    assert len(context([*solved, *others], again)["matrices"]) == 1
    changed = [replace(entry, equations=(None, equation(9.0))) for entry in others]
    assert [m["table"] for m in context([*solved, *changed], again)["matrices"]] == [
        "mass_matrix_1",
        "mass_matrix_2",
    ]


def widest_stride(number: int, size: int) -> int:
    """Return the largest distance between states, as `state_step` of the self-test's C has it:
    elements lie two or three numbers apart, and a gap of 1 + number follows.
    """
    return max(size, 1, size * SPACED + 1 + number)


@pytest.mark.parametrize("real", REALS)
def test_arrays_of_many_states_lie_behind_each_other(real: str) -> None:
    """Each has capacity for all states, and one block more, with its numbers up to three apart."""
    programs = {"mass_matrix_and_bias": arm(real)["mass_matrix_and_bias"]}
    facts = context(programs=programs, batch=True)
    lanes = REALS[real].lanes
    states, capacity = facts["blocks"]["states"], facts["blocks"]["capacity"]
    assert states == 2 * lanes + LAST_BLOCK_STATES
    assert capacity == states + lanes
    assert facts["blocks"]["counts"] == [states, 2 * lanes, 2 * lanes - 1]
    assert facts["blocks"]["refused_state"] == lanes // 2
    (test,) = facts["tests"]
    arrays = test["arrays"]
    ends = [array["offset"] for array in arrays[1:]] + [test["length"]]
    assert arrays[0]["offset"] == 0
    for array, end in zip(arrays, ends, strict=True):
        assert end - array["offset"] == capacity * widest_stride(array["number"], array["size"])
    assert [(a["number"], a["argument"], a["size"]) for a in arrays] == [
        (0, True, 2),
        (1, True, 2),
        (2, False, 4),
        (3, False, 2),
    ]
    assert [array["is_positions"] for array in arrays] == [1, 0, 0, 0]
    assert [array["single"] for array in arrays] == [
        "mass_matrix_and_bias_q_one",
        "mass_matrix_and_bias_v_one",
        "M",
        "c",
    ]
    assert test["results_length"] == test["length"] - arrays[2]["offset"]
    assert (
        test["single_arguments"] == "mass_matrix_and_bias_q_one, mass_matrix_and_bias_v_one, M, c"
    )
    assert facts["blocks"]["size"] == test["length"]
    assert facts["blocks"]["quaternions"] == ()
    quaternion = {
        "mass_matrix_and_bias": replace(programs["mass_matrix_and_bias"], quaternions=(3,))
    }
    assert context(programs=quaternion, batch=True)["blocks"]["quaternions"] == (3,)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("batch", [False, True])
def test_a_loop_over_links_takes_its_workspaces_last(batch: bool, checked: bool) -> None:
    """One workspace serves a state, another one a block of states; checks want their sizes."""
    form = sums(3)
    single = SelfTestCase("gravity_force", ((1.0,) * 3,), ((1.0,) * 3,), ((1e-9,) * 3,))
    target = Target("arm", Sizes(3, 3, 3), TextOptions(batch=batch, checked=checked))
    facts = self_test_context({"gravity_force": form}, target, [single])
    (test,) = facts["tests"]
    needed = printer().driver(form, target)["needs"] if batch else 0
    assert (facts["uses_workspace"], test["uses_workspace"], test["workspace_size"]) == (
        True,
        True,
        needed,
    )
    assert (needed > 0) is batch
    last, batch_workspace = ("work, arm_WORK", ["work_of_many", "arm_BATCH_WORK"])
    block_workspace = ["work_of_many", str(needed)]
    if not checked:
        last, batch_workspace, block_workspace = "work", batch_workspace[:1], block_workspace[:1]
    assert test["call"] == f"gravity_force_q[i], g, {last}"
    assert test["single_arguments"] == f"gravity_force_q_one, g, {last}"
    assert test["batch_workspace"] == batch_workspace
    assert test["block_workspace"] == (block_workspace if batch else [])
    assert test["call_with_empty_workspace"] == (
        "gravity_force_q[i], g, work, 0" if checked else ""
    )


def test_unrolled_functions_need_no_workspace() -> None:
    facts = context(batch=True, checked=True)
    assert facts["uses_workspace"] is False
    for test in facts["tests"]:
        assert (test["uses_workspace"], test["workspace_size"], test["block_workspace"]) == (
            False,
            0,
            [],
        )
        assert (test["batch_workspace"], test["call_with_empty_workspace"]) == ([], "")


def test_prepared_parameters_are_passed_as_a_struct() -> None:
    """Results are not: C declares them as they are."""
    both = PROGRAMS["mass_matrix_and_bias"]
    q, v = both.inputs
    matrix, bias = both.outputs
    form = replace(both, inputs=(q, v._replace(name="prepared")))
    ((test,), (of_results,)) = (
        context(programs={"mass_matrix_and_bias": entry}, batch=True)["tests"]
        for entry in (form, replace(both, outputs=(matrix, bias._replace(name="prepared"))))
    )
    table = "mass_matrix_and_bias_prepared"
    assert test["call"] == f"mass_matrix_and_bias_q[i], (const arm_prepared *){table}[i], M, c"
    assert test["single_arguments"] == (
        f"mass_matrix_and_bias_q_one, (const arm_prepared *){table}_one, M, c"
    )
    assert "(const" not in of_results["single_arguments"]


def test_positions_that_an_assembly_starts_from_are_listed() -> None:
    """The second result of its first function has as many numbers as the loops have rows."""
    step = replace(PROGRAMS["mass_matrix_and_bias"], function=ASSEMBLING[0])
    starts = [SelfTestCase(ASSEMBLE, ((k, 0.5),), (), ()) for k in (1.0, 2.0)]
    facts = context(starts, {ASSEMBLING[0]: step})
    assert facts["start_positions"] == [["1.0, 0.5"], ["2.0, 0.5"]]
    assert facts["closure_rows"] == step.outputs[1].size == 2
    assert facts["untested"] == [ASSEMBLING[0]]
    plain = context([case()])
    assert (plain["start_positions"], plain["closure_rows"]) == ([], 0)

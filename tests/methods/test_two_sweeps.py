"""`riccati:two_sweeps`: its results, the arguments that its first sweep reads, and its cost beside
FD4.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

import flint
import pytest

import symgen
from symgen.ir.loops import evaluate as run_loops
from symgen.ir.program import Program, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.reproduce._chains import dh_chain
from symgen.pipeline import derive
from symgen.pipeline.layout import PLAIN
from symgen.pipeline.loops import recursion
from symgen.vocabulary.options import ProgramOptions
from tests.shared.loop_arguments import largest_difference, random_arguments
from tests.shared.looped_robots import NUMBERS, robot

two_sweeps = import_module("symgen.methods.riccati.two_sweeps")
FUNCTION, METHOD = "forward_dynamics", "riccati:two_sweeps"
MADE = ("chain", "tree", "mixed", "sorts", "screws", "driven", "planes", "flat", "beside")
"""Chains, trees and forests of every joint type, with drives, slides, helical joints and free
bases.
"""

DIGITS = 80


def mechanism(name: str) -> Mechanism:
    return robot(name) if name in MADE else symgen.load(name)


@cache
def program(name: str, method: str) -> Program:
    return symgen.program(mechanism(name), FUNCTION, method)


@pytest.mark.parametrize("name", [*MADE, "scara", "ur5", "panda", "quadruped", "free_body"])
def test_two_sweeps_give_the_accelerations_of_fd4(name: str) -> None:
    with flint.ctx.workdps(DIGITS):
        fd4 = program(name, "riccati:fd4")
        arguments = random_arguments(fd4, mechanism(name))
        computed = evaluate(program(name, METHOD), arguments, NUMBERS)
        assert largest_difference(computed, evaluate(fd4, arguments, NUMBERS)) < 1e-50


@pytest.mark.parametrize("name", ["chain", "tree", "driven", "quadruped"])
def test_the_looped_form_equals_the_unrolled_one(name: str) -> None:
    with flint.ctx.workdps(DIGITS):
        loops = recursion(mechanism(name), FUNCTION, METHOD)
        arguments = random_arguments(loops, mechanism(name))
        expected = evaluate(program(name, METHOD), arguments, NUMBERS)
        assert largest_difference(run_loops(loops, arguments, NUMBERS), expected) < 1e-50


@pytest.mark.parametrize("name", ["chain", "mixed"])
def test_gravity_a_payload_and_a_wrench_may_change_at_run_time(name: str) -> None:
    robot = mechanism(name)
    fd4, two = (
        symgen.program(
            robot,
            FUNCTION,
            method,
            wrench=robot.bodies[-1].name,
            payload=robot.bodies[1].name,
            parameters=("gravity",),
        )
        for method in ("riccati:fd4", METHOD)
    )
    with flint.ctx.workdps(DIGITS):
        arguments = random_arguments(fd4, robot)
        computed, expected = (evaluate(x, arguments, NUMBERS) for x in (two, fd4))
        assert largest_difference(computed, expected) < 1e-50


def arguments_of(program: Program, row: int) -> set[tuple[str, int]]:
    """Return the elements (argument, index) on which a row depends."""
    pending, visited = [row], {row}
    while pending:
        for operand in program.rows[pending.pop()].args:
            if operand not in visited:
                visited.add(operand)
                pending.append(operand)
    inputs = [program.rows[r].value for r in visited if program.rows[r].op == "input"]
    return {(program.inputs[port].name, element) for port, element in inputs}


def innermost_rates(method: str) -> dict[int, int]:
    """Return for links of a chain of 7 the least index in v on which the rows of their wrench z
    depend.
    """
    derived = derive.derive(dh_chain(7, "right"), FUNCTION, method, ProgramOptions())
    result: dict[int, int] = {}
    for row in range(len(derived.rows)):
        named = re.fullmatch(
            r"(?:neg_)?(?:z|zn|zf|zww\d|epsilon)_(\d+)(?:_\d+)?", derived.rows[row].name
        )
        if named is not None:
            link = int(named[1]) - 1
            rates = [e for name, e in arguments_of(derived, row) if name == "v"]
            result[link] = min([result.get(link, 7), *rates])
    return result


def test_the_first_sweep_reads_the_rates_of_the_links_beyond_only() -> None:
    """The coefficients of link k depend on v of the joints after it; z of FD4 on all rates."""
    two, fd4 = innermost_rates(METHOD), innermost_rates("riccati:fd4")
    assert {0, 1, 2, 3, 4, 5} <= set(two)
    assert all(innermost > link for link, innermost in two.items())
    assert all(fd4[link] == 0 for link in range(1, 7))


@pytest.mark.parametrize("term", ["_before_joint", "_rotate_squares", "_squared"])
def test_an_error_in_a_term_is_seen(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the joint's own rate, the rotation of [ω]×², or the sign of ω."""
    wrong = {
        "_before_joint": lambda linkage, i, wrench, after: wrench,
        "_rotate_squares": lambda factor, squares: list(squares),
        "_squared": lambda omega: two_sweeps.symmetric_outer(omega, omega),
    }
    robot = mechanism("chain")
    monkeypatch.setattr(two_sweeps, term, wrong[term])
    planted = derive.record(robot, FUNCTION, METHOD, ProgramOptions(), PLAIN, 10**6)
    fd4 = program("chain", "riccati:fd4")
    with flint.ctx.workdps(DIGITS):
        arguments = random_arguments(fd4, robot)
        computed = evaluate(planted, arguments, NUMBERS)
        assert largest_difference(computed, evaluate(fd4, arguments, NUMBERS)) > 1e-3


OPERATIONS = {
    "planar_arm": (38, 43),
    "scara": (40, 38),
    "ur5": (445, 712),
    "panda": (1256, 2418),
    "dh12": (3211, 6737),
}
"""Operations of FD4 and of two sweeps as users get them, at most; the documentation states them."""


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if operations[0] > 1000 else [])
        for name, operations in OPERATIONS.items()
    ],
)
def test_two_sweeps_take_up_to_about_twice_the_operations_of_fd4(name: str) -> None:
    robot = dh_chain(12, "right") if name == "dh12" else mechanism(name)
    counts = tuple(
        symgen.program(robot, FUNCTION, method).cost for method in ("riccati:fd4", METHOD)
    )
    assert counts[0] <= OPERATIONS[name][0]
    assert counts[1] <= OPERATIONS[name][1]
    assert 0.9 < counts[1] / counts[0] < 2.2


@pytest.mark.slow
@pytest.mark.usefixtures("finished_here")
def test_two_sweeps_are_no_shallower_than_three() -> None:
    """The Riccati recursion needs no velocity, and takes longer than the velocities beside it.

    A solve with M takes the recursion, the filter and the smoother.
    """
    cases = (
        ("mass_matrix_solve", "riccati"),
        (FUNCTION, "riccati:fd3"),
        (FUNCTION, "riccati:fd4"),
        (FUNCTION, METHOD),
    )
    depths: list[list[int]] = [
        [derive.derive(dh_chain(n, "right"), *case, ProgramOptions(), 10**6).depth for n in (8, 16)]
        for case in cases
    ]
    solve, fd3, fd4, two = (deep - shallow for shallow, deep in depths)
    assert fd3 <= solve <= fd4 <= two


def test_the_method_is_chosen_by_its_name_only() -> None:
    """SCARA's automatic choice is among the other methods, though FD4 is longer than two sweeps."""
    assert symgen.program(mechanism("scara"), FUNCTION).method != METHOD
    assert program("scara", METHOD).method == METHOD

"""Bits of functions for blocks of states, compared with those of the function for one state in both
memory layouts.

Instead of compiled C, a Python function reads and writes the memory that its pointers and steps
name.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.pipeline.loops import recursion
from symgen.reference.precision import Array
from symgen.verification.blocks import BlockFiles, _bit_differences, check_blocks, read_block
from symgen.verification.evaluating import machine_runner
from symgen.verification.report import Check
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

COUNT = 3
"""Drawn states."""
Change = Callable[[Array, int], None]
"""Function of the results (states, elements) of a call and of its number that changes them."""


@cache
def form(kind: str) -> Form:
    """Return the mass matrix of two hinges: (2, 2) results of 2 arguments; or a recursion."""
    robot = symgen.load("planar_arm")
    if kind == "loops":
        return recursion(robot, "mass_matrix_log_determinant", "riccati")
    return symgen.program(robot, "mass_matrix").in_real(kind)


def target(checked: bool = False) -> Target:
    text = TextOptions("libm", checked=checked, batch=True)
    return Target("planar_arm", symgen.load("planar_arm").sizes, text)


class Blocks:
    """A function for blocks of states in Python. Each call is recorded."""

    def __init__(self, program: Form, checked: bool, change: Change | None) -> None:
        self.program, self.checked, self.change = program, checked, change
        self.restype: Any = "unset"
        self.counts: list[int] = []
        self.more_arguments: list[tuple[Any, ...]] = []

    def __call__(self, count: Any, *arguments: Any) -> None:
        n = count.value
        ports = (*self.program.inputs, *self.program.outputs)
        real = ctypes.c_float if self.program.real == "float" else ctypes.c_double
        arrays: dict[str, Array] = {}
        for k, port in enumerate(ports):
            pointer, by_state, by_element = (x.value for x in arguments[3 * k : 3 * k + 3])
            memory = np.ctypeslib.as_array((real * (n * port.size)).from_address(pointer))
            steps = np.array([by_state, by_element]) * memory.itemsize
            arrays[port.name] = np.lib.stride_tricks.as_strided(memory, (n, port.size), steps)
        inputs = {port.name: arrays[port.name].copy() for port in self.program.inputs}
        results = machine_runner(self.program)(inputs)
        for port in self.program.outputs:
            values = results[port.name].reshape(n, -1)
            if self.change is not None:
                self.change(values, len(self.counts))
            written = ~np.isinf(values)  # infinite elements are left as they were
            arrays[port.name][written] = values[written]
        self.counts.append(n)
        self.more_arguments.append(arguments[3 * len(ports) :])


def called(
    kind: str = "double", checked: bool = False, change: Change | None = None, nan: bool = False
) -> tuple[Blocks, list[str]]:
    program = form(kind)
    arguments = {
        port.name: np.linspace(0.3, 1.7, COUNT * port.size).reshape(COUNT, -1)
        for port in program.inputs
    }
    expected: Mapping[str, Array] = machine_runner(program)(arguments)
    if nan:
        expected = {name: np.full_like(values, np.nan) for name, values in expected.items()}
    blocks = Blocks(program, checked, change)
    sentences = _bit_differences(program, arguments, expected, blocks, target(checked))
    return blocks, sentences


@pytest.mark.parametrize("kind", ["double", "float", "loops"])
def test_two_blocks_and_five_more_states_are_compared_in_both_layouts(kind: str) -> None:
    blocks, sentences = called(kind)
    assert sentences == []
    lanes = REALS["float" if kind == "float" else "double"].lanes
    assert blocks.counts == [2 * lanes + 5] * 2
    assert blocks.counts[0] % lanes != 0
    assert blocks.counts[0] > COUNT


@pytest.mark.parametrize(
    ("kind", "checked"), [("double", False), ("double", True), ("loops", False), ("loops", True)]
)
def test_a_workspace_and_a_status_are_given_if_the_function_takes_them(
    kind: str, checked: bool
) -> None:
    """A workspace is followed by its length in functions that return a status."""
    blocks, _ = called(kind, checked)
    needs = printer().driver(form(kind), target(checked))["needs"]
    assert (needs > 0) == (kind == "loops")
    assert blocks.restype is (ctypes.c_ssize_t if checked else None)
    for more in blocks.more_arguments:
        lengths = [x.value for x in more if isinstance(x, ctypes.c_int)]
        pointers = [x.value for x in more if isinstance(x, ctypes.c_void_p)]
        assert lengths == ([needs] if needs and checked else [])
        assert [x is not None for x in pointers] == [True] * (needs > 0) + [False] * checked


@pytest.mark.parametrize(("call", "layout"), [(0, "state by state"), (1, "element by element")])
def test_states_that_differ_in_bits_are_counted_in_either_layout(call: int, layout: str) -> None:
    def change(values: Array, number: int) -> None:
        if number == call:
            values[4, 1:3] = np.nextafter(values[4, 1:3], np.inf)
            values[-1, 0] += 1

    blocks, sentences = called(change=change)
    assert sentences == [
        f"M of 2 of {blocks.counts[0]} states, {layout}, differs in bits from the function of one"
        " state"
    ]


def test_an_element_that_is_not_written_differs_unless_it_is_no_number() -> None:
    def unwritten(values: Array, number: int) -> None:
        values[5, 3] = np.inf

    def no_number(values: Array, number: int) -> None:
        values[...] = np.nan

    _, sentences = called(change=unwritten)
    assert [sentence.startswith("M of 1 of ") for sentence in sentences] == [True, True]
    assert called(change=no_number, nan=True)[1] == []
    assert len(called(nan=True)[1]) == 2


def block_files(program: Form, **changes: str) -> BlockFiles:
    programs = {program.function: program}
    texts = printer().batches(programs, target())
    headers = printer().headers(programs, target())
    return BlockFiles({**texts, **changes}, headers, target())


def test_a_text_is_compared_with_the_program_without_a_compiler() -> None:
    """The error is the number of differences, of which the first is shown."""
    program = symgen.program(symgen.load("planar_arm"), "mass_matrix")
    assert not isinstance(program, str)
    file = target().batch_file("mass_matrix")
    correct = block_files(program)
    assert read_block(program, correct) == []
    (check,) = check_blocks({"mass_matrix": program}, correct, lambda _: {}, {}, "no compiler")
    assert (check.error, check.bound, check.detail) == (0, 0, "")
    assert (check.kind, check.unjudged) == ("blocks", "no compiler")
    assert check.subject == f"mass_matrix={program.method}"
    sine = correct.texts[file].replace("sin", "cos", 1)
    texts = {name: text for name, text in correct.texts.items() if name != file}
    missing = BlockFiles(texts, correct.headers, target())
    assert read_block(program, missing) == [f"{file} is missing"]
    for wrong in (missing, block_files(program, **{file: sine})):
        (check,) = check_blocks({"mass_matrix": program}, wrong, lambda _: {}, {}, "no compiler")
        differences = read_block(program, wrong)
        assert check.error == len(differences) > 0
        assert check.detail == differences[0]
        assert not check.passed


def test_compiled_blocks_are_compared_with_the_function_of_one_state() -> None:
    """A faulty function of one state differs in both layouts; a faulty text is not called, and a
    text that the compiler refuses is no function.
    """
    program = symgen.program(symgen.load("planar_arm"), "mass_matrix")
    programs, correct = {"mass_matrix": program}, block_files(program)
    arguments = {"q": np.array([[0.5, 1.25], [-1.0, 2.0]])}
    run = machine_runner(program)

    def check(files: BlockFiles, factor: float = 1.0, called: bool = True) -> Check:
        def runner(values: Mapping[str, Array]) -> dict[str, Array]:
            assert called
            return {name: factor * x for name, x in run(values).items()}

        (result,) = check_blocks(programs, files, lambda _: arguments, {"mass_matrix": runner})
        return result

    twice = check(correct, 2.0)
    count = 2 * REALS["double"].lanes + 5
    assert twice.error == 2
    assert twice.detail == (
        f"M of {count} of {count} states, state by state, differs in bits from the function of one"
        " state"
    )
    file = target().batch_file("mass_matrix")
    wrong = check(block_files(program, **{file: ""}), called=False)
    assert wrong.error >= 1
    assert "differs in bits" not in wrong.detail
    refused = replace(correct, headers=dict.fromkeys(correct.headers, "#error none"))
    assert check(refused, called=False).detail.startswith(
        "the C compiler refuses the text of many states: "
    )

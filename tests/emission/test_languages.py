"""The statement writer serves any language with expressions.

Here Python runs the statements, and another language counts from 1.
"""

from __future__ import annotations

import keyword
import math
import random
import re
from dataclasses import replace
from typing import Any

import pytest

from symgen import emission
from symgen.emission.backend import Printer, Wrapper
from symgen.emission.c_text import C
from symgen.emission.language import PRODUCT, SUM, Language
from symgen.emission.writer import CALLED, SincosFunction, Spelling, Writer, live_rows
from symgen.ir.program import Numbers, Program, evaluate
from symgen.vocabulary.reals import DOUBLE
from tests.shared.c_programs import arm, forward_dynamics, scrambled

PYTHON = Language(
    reserved=frozenset(keyword.kwlist),
    operators={
        "mul": (" * ", PRODUCT),
        "div": (" / ", PRODUCT),
        "add": (" + ", SUM),
        "sub": (" - ", SUM),
    },
    literal=lambda value, real: real.shortest(value),
    call=lambda name, real: f"math.{name}",
    comment=lambda text: f"# {text}",
    declaration="{name} = {value}",
)
FLOATS = Numbers(float, math.sin, math.cos, math.sqrt, math.log)


def write(
    program: Program,
    language: Language,
    sincos_function: SincosFunction | None = None,
    indent: int = 0,
) -> tuple[str, Writer]:
    """Return the statements and the writer, whose `text` has each result's expression."""
    calls = {op: language.call(op, DOUBLE) for op in CALLED}
    inputs = [port.name for port in program.inputs]
    writer = Writer(
        program, Spelling(language, inputs, calls, sincos_function=sincos_function), indent=indent
    )
    lines = []
    for group in writer.statements():
        lines += [group["comment"]] if group["comment"] else []
        lines += [language.declared(**local) for local in group["locals"]]
    return "\n".join(lines), writer


@pytest.mark.parametrize(
    "program",
    [*arm().values(), *(scrambled(seed, 300) for seed in range(8))],
    ids=lambda p: p.function,
)
def test_statements_in_python_compute_the_program(program: Program) -> None:
    generator = random.Random(5)
    arguments = {
        port.name: [generator.uniform(0.5, 2.0) for _ in range(port.size)]
        for port in program.inputs
    }
    exact = evaluate(program, arguments, FLOATS)
    text, writer = write(program, PYTHON)
    variables: dict[str, Any] = {"math": math} | arguments
    exec(text, variables)
    for port in program.outputs:
        assert [eval(writer.text[row], variables) for row in port.rows] == exact[port.name], (
            text
        )  # bit for bit


def test_a_language_may_count_from_one() -> None:
    counting_from_one = replace(PYTHON, element="{array}({index})", first=1)
    (text, _), (plain, _) = (
        write(forward_dynamics(), counting_from_one),
        write(forward_dynamics(), PYTHON),
    )
    assert set(re.findall(r"\b(?:q|v|tau)\((\d)\)", text)) == {"1", "2"}
    assert set(re.findall(r"\b(?:q|v|tau)\[(\d)\]", plain)) == {"0", "1"}


def test_optional_parentheses_are_the_languages_choice() -> None:
    (text, _), (plain, _) = (
        write(forward_dynamics(), replace(PYTHON, parenthesized=parenthesized))
        for parenthesized in (C.parenthesized, PYTHON.parenthesized)
    )
    assert "det = (M_1_1 * 0.35) - (M_1_2 * M_1_2)" in text
    assert "det = M_1_1 * 0.35 - M_1_2 * M_1_2" in plain
    assert plain.replace("(", "").replace(")", "") == text.replace("(", "").replace(")", "")


def test_no_local_variable_has_a_reserved_name() -> None:
    program = forward_dynamics()
    rows = [row._replace(name="lambda" if row.name == "det" else row.name) for row in program.rows]
    text, _ = write(program.with_rows(rows, program.outputs), PYTHON)
    assert "\nlambda_ = " in text


def test_lines_stay_within_the_width() -> None:
    text, _ = write(scrambled(3, 400), replace(PYTHON, width=60, inline=30), indent=8)
    assert max(map(len, text.splitlines())) <= 52


def test_sine_and_cosine_of_an_angle_may_share_one_call() -> None:
    program = forward_dynamics()
    text, _ = write(program, PYTHON, sincos_function=SincosFunction("pair", "both"))
    assert "math.sin" not in text
    assert text.count("both(") == len(
        {program.rows[i].args for i in live_rows(program) if program.rows[i].op in ("sin", "cos")}
    )


def test_every_backend_has_the_name_it_is_found_by() -> None:
    backends = [emission.find(name) for name in emission.names()]
    assert [backend.name for backend in backends] == [*emission.names()]
    assert all(isinstance(backend, Printer | Wrapper) for backend in backends)
    assert emission.printer() in backends
    for backend in backends:
        assert emission.environment(backend.name).list_templates()

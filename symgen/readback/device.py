"""A function for a thread of a GPU, taken apart: NAME_<function>.cuh as C, without what only CUDA's
compiler knows.

Qualifiers tell CUDA's compiler where a function runs and whether it stays a function; what follows
them is C. They are taken off where they may stand, so that the readers of C
(`symgen.readback.rows`, `symgen.readback.loops`) read what is left.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from symgen.readback.preprocessor import disguises, refusal, without_comments
from symgen.support.errors import ProgramError

_HEAD = """#include <math.h>
#include "NAME.h"
SINES"""
_SINES = """#define NAME_sincos SYMBOL_sincos
#include "NAME_sincos.h"
"""
_CUDA = re.compile(r"\b(?:__\w+|inline)\b")
_QUALIFIERS = (
    (r"static __device__ __noinline__ void (SYMBOL_part_\d+\()", r"static void \1"),
    (r"static __device__ inline void (SYMBOL_\w+\()", r"static void \1"),
    (r"static __(?:constant|device)__ (const (?:double|float|short|int) SYMBOL_)", r"static \1"),
)
"""Beginnings of lines in CUDA, and their replacements in C."""


class Names(NamedTuple):
    """The name of a robot in the C, and that of a function."""

    robot: str
    symbol: str


def plain_device(text: str, names: Names, checked: bool) -> str:
    """Return NAME_<function>.cuh as C: comments and directives left out, the function of one state
    called NAME_<function>.

    Raises ProgramError, one sentence, where a directive or a qualifier stands that no generated
    text has there.
    """
    if sentences := disguises(text):
        raise ProgramError(sentences[0])
    uncommented = without_comments(text)
    lines = [line.strip() for line in uncommented.splitlines() if line.lstrip().startswith("#")]
    code = re.sub(r"^[ \t]*#.*$", "", uncommented, flags=re.MULTILINE)
    _require_directives(lines, names, checked, f"{names.robot}_sincos(" in code)
    if re.search(r"^static (?!__(?:device|constant)__ )", code, re.MULTILINE):
        raise ProgramError("a function or a table is not of the device")
    code, functions = re.subn(
        rf"^static __device__ inline (void|int) {names.symbol}_device\(",
        rf"\1 {names.symbol}(",
        code,
        flags=re.MULTILINE,
    )
    if functions != 1:
        raise ProgramError(
            f"{names.symbol}_device is defined {functions} times, as a static inline function of"
            " the device"
        )
    for pattern, replacement in _QUALIFIERS:
        pattern = pattern.replace("SYMBOL", names.symbol)
        code = re.sub(f"^{pattern}", replacement, code, flags=re.MULTILINE)
    if strange := _CUDA.search(code):
        raise ProgramError(f"{strange[0]} is not at its place in generated code")
    return code


def _require_directives(lines: list[str], names: Names, checked: bool, sines: bool) -> None:
    """Raise ProgramError where the directives are other than those of a generated text."""
    guard = f"{names.symbol}_CUH"
    sine = [f'#include "{names.robot}_sincos.cuh"'] if sines else []
    expected = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <math.h>",
        f'#include "{names.robot}.h"',
        *sine,
        *refusal(checked).replace("NAME", names.robot).split("\n"),
        "#endif",
    ]
    if [line for line in lines if line != "#include <stddef.h>"] != list(filter(None, expected)):
        raise ProgramError("its directives are other than those of a generated text")


def as_rows(code: str, names: Names, bounded: bool, checked: bool) -> str:
    """Return the C of a straight line with the directives that `symgen.readback.rows` asks for.

    `bounded`: angles are checked to be in the range of the text's own sines.
    """
    head = _HEAD.replace("SINES", _SINES if bounded else "") + refusal(checked)
    head = head.replace("SYMBOL", names.symbol).replace("NAME", names.robot)
    return head + code.strip() + "\n"

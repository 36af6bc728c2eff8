"""Removal of CUDA qualifiers and directives from the text of a function for a thread of a GPU.

Apart from them NAME_<function>.cuh is C, which `symgen.readback.rows` and `symgen.readback.loops`
read. A qualifier states for CUDA's compiler where a function runs, and whether it is inlined. The
functions here remove the qualifiers at the places where generated text has them, and report all
others.
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
"""Patterns of the beginnings of lines in CUDA, and their replacements in C."""


class Names(NamedTuple):
    """Names of a robot and of a function in the C."""

    robot: str
    symbol: str


def plain_device(text: str, names: Names, checked: bool) -> str:
    """Return NAME_<function>.cuh as C, without comments, directives and qualifiers.

    The function of one state is renamed to NAME_<function>. Raises ProgramError if a directive or a
    qualifier is not at a place where generated text has it.
    """
    if sentences := disguises(text):
        raise ProgramError(sentences[0])
    uncommented = without_comments(text)
    lines = [line.strip() for line in uncommented.splitlines() if line.lstrip().startswith("#")]
    code = re.sub(r"^[ \t]*#.*$", "", uncommented, flags=re.MULTILINE)
    _require_directives(lines, names, checked, f"{names.robot}_sincos(" in code)
    if re.search(r"^static (?!__(?:device|constant)__ )", code, re.MULTILINE):
        raise ProgramError("a static function or table lacks __device__ or __constant__")
    code, functions = re.subn(
        rf"^static __device__ inline (void|int) {names.symbol}_device\(",
        rf"\1 {names.symbol}(",
        code,
        flags=re.MULTILINE,
    )
    if functions != 1:
        raise ProgramError(
            f"{names.symbol}_device is defined {functions} times as 'static __device__ inline', not"
            " once"
        )
    for pattern, replacement in _QUALIFIERS:
        pattern = pattern.replace("SYMBOL", names.symbol)
        code = re.sub(f"^{pattern}", replacement, code, flags=re.MULTILINE)
    if strange := _CUDA.search(code):
        raise ProgramError(f"{strange[0]} is not at its place in generated code")
    return code


def _require_directives(lines: list[str], names: Names, checked: bool, sines: bool) -> None:
    """Raise ProgramError if the directives differ from those of a generated text."""
    guard = f"{names.symbol}_CUH"
    sine_header = [f'#include "{names.robot}_sincos.cuh"'] if sines else []
    expected = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <math.h>",
        f'#include "{names.robot}.h"',
        *sine_header,
        *refusal(checked).replace("NAME", names.robot).split("\n"),
        "#endif",
    ]
    if [line for line in lines if line != "#include <stddef.h>"] != list(filter(None, expected)):
        raise ProgramError("its directives differ from those of generated text")


def as_rows(code: str, names: Names, bounded: bool, checked: bool) -> str:
    """Return the C of a straight-line function with the directives that `rows` requires.

    `bounded`: angles are checked to be in the range of the text's own sines.
    """
    head = _HEAD.replace("SINES", _SINES if bounded else "") + refusal(checked)
    head = head.replace("SYMBOL", names.symbol).replace("NAME", names.robot)
    return head + code.strip() + "\n"

"""A function for a thread of a GPU, read back: NAME_<function>.cuh as the text of the function of one state.

Qualifiers tell CUDA's compiler where a function runs and whether it stays a function; what follows them is C. They are taken off
where they may stand, so that `symgen.readback.rows` proves of the text what it proves of C. The lines for the preprocessor are
the frame: it must be what is printed now, word for word.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from symgen.readback import preprocessor
from symgen.readback.preprocessor import without_comments
from symgen.support.errors import ProgramError

_HEAD = """#include <math.h>
#include "NAME.h"
SINES"""
_SINES = """#define NAME_sincos SYMBOL_sincos
#include "NAME_sincos.h"
"""
_CUDA = re.compile(r"\b__\w+")


class Device(NamedTuple):
    """`text` is that of a function of one state, `frame` the words of the lines for the preprocessor."""

    text: str
    frame: tuple[str, ...]


def device(text: str, name: str, symbol: str, bounded: bool, checked: bool) -> Device:
    """Take NAME_<function>.cuh apart; `symbol` is NAME_<function>. `bounded`: angles are checked to be in the own sines' range.

    Raises ProgramError, one sentence, where a qualifier stands that no generated text has there.
    """
    lines = without_comments(text).splitlines()
    frame = [line for line in lines if line.lstrip().startswith("#")]
    code = "\n".join("" if line.lstrip().startswith("#") else line for line in lines)
    code = re.sub(
        rf"^static __device__ __noinline__ void ({symbol}_part_\d+\()",
        r"static void \1",
        code,
        flags=re.MULTILINE,
    )
    code, found = re.subn(
        rf"^static __device__ inline (void|int) {symbol}_device\(",
        rf"\1 {symbol}(",
        code,
        flags=re.MULTILINE,
    )
    if found != 1:
        raise ProgramError(
            f"{symbol}_device stands there {found} times, as a static inline function of the device"
        )
    if strange := _CUDA.search(code):
        raise ProgramError(f"{strange[0]} does not stand where generated code has it")
    head = _HEAD.replace("SINES", _SINES if bounded else "").replace(
        "SYMBOL", symbol
    ) + preprocessor.refusal(checked)
    return Device(
        head.replace("NAME", name) + code.strip() + "\n",
        tuple(word for line in frame for word in line.split()),
    )

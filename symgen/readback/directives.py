"""What the preprocessor sees of a generated text: its directives, and the macros of its header."""

from __future__ import annotations

import re

from symgen.ir import Program
from symgen.readback.disguise import disguises, without_comments
from symgen.readback.owed import STATUSES, shapes
from symgen.reals import REALS


def directives(text: str, name: str, symbol: str) -> list[str]:
    """Every preprocessor line but the includes and the own name of an own sine: a macro could change what the text means."""
    lines = [line.strip() for line in without_comments(text).splitlines() if line.lstrip().startswith("#")]
    own = f"#define {name}_sincos {symbol}_sincos"
    found = [f"the directive '{line}' does not belong into generated code" for line in lines if line not in
             ("#include <math.h>", f'#include "{name}.h"', f'#include "{name}_sincos.h"', own)]
    return found + disguises(text)


def macros(program: Program, header: str, name: str, checked: bool) -> list[str]:
    """The header's macros are the sizes, the statuses of checked functions and, with trig macros, sine and cosine, no more."""
    hidden = [f"the header's {sentence}" for sentence in disguises(header)]
    header = without_comments(header)
    libm = REALS[program.real].libm
    wanted = {f"{name}_SIN(x)": f"{libm('sin')}(x)", f"{name}_COS(x)": f"{libm('cos')}(x)", f"{name}_H": ""}
    wanted |= {f"{name}_{status}": str(value) for value, status in enumerate(STATUSES)} if checked else {}
    for port, shape in zip((*program.inputs, *program.outputs), shapes(program), strict=True):
        for size, symbol in zip(port.shape, shape, strict=True):
            if isinstance(symbol, str):
                wanted[f"{name}_{symbol}"] = str(size)
    found = []
    for macro, value in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\S+)[ \t]*(.*?)[ \t]*$", header, flags=re.MULTILINE):
        if macro in wanted and value != wanted[macro]:
            found.append(f"the header defines {macro} as '{value}', not '{wanted[macro]}'")
        if macro not in wanted and macro not in (f"{name}_NQ", f"{name}_NV"):
            found.append(f"the header defines {macro}, which does not belong there")
    return hidden + found

"""What the preprocessor sees of a generated text: its directives, the macros of its header, and its comments.

Comments are found here as `/* … */`. A compiler joins lines that end in a backslash before it looks for them, and may know
trigraphs, digraphs and `//`. Text inside quotation marks is no comment to it. None of that is in generated C, so it is refused.
"""

from __future__ import annotations

import re

from symgen.ir.loops import WORK, Form
from symgen.readback import prototypes
from symgen.readback.required_checks import STATUSES, shapes
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import PREPARED
from symgen.vocabulary.reals import REALS

AS_WRITTEN = """
#ifndef NAME_UNVERIFIED
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error NAME is verified as it is written: leave out -ffast-math and -Ofast, or define NAME_UNVERIFIED
#endif
"""
_FINITE = """\
#if defined(__FINITE_MATH_ONLY__) && (__FINITE_MATH_ONLY__ > 0)
#error NAME looks for what is not finite: leave out -ffinite-math-only, or define NAME_UNVERIFIED
#endif
"""
_COUNTED = r"#define NAME_ANGLES ([1-9]\d*)"
"""Of the loop in NAME_sincos.h over all angles of a call: how many they are."""
_EXPORTS = """
#ifndef NAME_API
#if defined(NAME_SHARED) && defined(_WIN32) && defined(NAME_EXPORTS)
#define NAME_API __declspec(dllexport)
#elif defined(NAME_SHARED) && defined(_WIN32)
#define NAME_API __declspec(dllimport)
#elif defined(NAME_SHARED) && defined(__GNUC__)
#define NAME_API __attribute__((visibility("default")))
#else
#define NAME_API
#endif
#endif
"""
"""Directives of every header that decide what a shared library exports."""
_REFUSALS = tuple(f"{AS_WRITTEN}{more}#endif\n" for more in ("", _FINITE))
"""What stands in every function's text, of a checked one the longer: nothing but these lines between their #ifndef and #endif."""

CLONES = 'target_clones("avx512f", "avx2", "default")'
"""The one place with quotation marks, once in a text of steps over lanes."""
_ANYWHERE = re.compile(r"\\|\?\?|[^\t\n\x20-\x7e]")
_OUTSIDE = re.compile(r"""/\*|\*/|//|%:|<:|:>|<%|%>|["']|_Pragma""")
_QUOTED = re.compile(r'^(?:[ \t]*#[ \t]*include[ \t]+"[\w.]+"[ \t]*|extern "C" \{)$', re.MULTILINE)


def refusal(checked: bool) -> str:
    """What stands in every function's text of the robot NAME."""
    return _REFUSALS[checked]


def directives(text: str, name: str, symbol: str) -> list[str]:
    """Every preprocessor line but the includes, the own name of an own sine, the number of angles that it takes at once and the
    refusal of compilers that change sums: a macro could change what the text means.
    """
    blocks = [block for refusal in _REFUSALS if (block := refusal.replace("NAME", name)) in text]
    text = text.replace(blocks[0], "\n", 1) if blocks else text
    missing = [] if blocks else ["the text does not refuse -ffast-math"]
    lines = [
        line.strip()
        for line in without_comments(text).splitlines()
        if line.lstrip().startswith("#")
    ]
    own = f"#define {name}_sincos {symbol}_sincos"
    counted = [line for line in lines if re.fullmatch(_COUNTED.replace("NAME", name), line)]
    found = ["the angles of the loop are counted twice"] if len(counted) > 1 else []
    found += [
        f"the directive '{line}' does not belong into generated code"
        for line in lines
        if line
        not in (
            "#include <math.h>",
            f'#include "{name}.h"',
            f'#include "{name}_sincos.h"',
            own,
            *counted,
        )
    ]
    return missing + found + disguises(text)


def together(text: str, name: str) -> int:
    """How many angles the text gives to a loop over all of them; 0 where it has none."""
    found = re.search(
        f"^{_COUNTED.replace('NAME', name)}[ \t]*$", without_comments(text), re.MULTILINE
    )
    return int(found[1]) if found else 0


def work(header: str, name: str) -> int | None:
    """Numbers that the header says the caller's array has; None where it does not say."""
    told = re.search(rf"^#define {name}_{WORK.upper()} (\d+)\b", header, re.MULTILINE)
    return told and int(told[1])


def _wanted(program: Form, name: str, checked: bool) -> dict[str, str]:
    """Return the value of each macro that a header may define for this Program; other sizes may stand beside them."""
    libm = REALS[program.real].libm
    ports = (*program.inputs, *program.outputs)
    statuses = STATUSES if checked else ()
    return {
        f"{name}_SIN(x)": f"{libm('sin')}(x)",
        f"{name}_COS(x)": f"{libm('cos')}(x)",
        f"{name}_H": "",
        **{f"{name}_{status}": str(value) for value, status in enumerate(statuses)},
        **{
            f"{name}_{symbol}": str(size)
            for port, shape in zip(ports, shapes(program), strict=True)
            for size, symbol in zip(port.shape, shape, strict=True)
            if isinstance(symbol, str)
        },
    }


def macros(program: Form, header: str, name: str, checked: bool) -> list[str]:
    """List what is wrong with a header: its macros must be the sizes, the statuses of checked functions, NAME_API and, with trig
    macros, sine and cosine, no more, and it must assert the size of the real type.
    """
    exports = _EXPORTS.replace("NAME", name)
    hidden = (
        []
        if exports in header
        else [f"the header does not define {name}_API as generated headers do"]
    )
    header = header.replace(exports, "\n" * exports.count("\n"), 1)
    hidden += [f"the header's {sentence}" for sentence in disguises(header)]
    header = without_comments(header)
    wanted = _wanted(program, name, checked)
    found = []
    if any(port.name == PREPARED.name for port in program.inputs) and (
        f"typedef struct {{ {program.real} value[{name}_NS]; }} {name}_prepared;"
        not in header.splitlines()
    ):
        found.append(f"the header does not declare {name}_prepared as generated headers do")
    for macro, value in re.findall(
        r"^[ \t]*#[ \t]*define[ \t]+(\S+)[ \t]*(.*?)[ \t]*$", header, flags=re.MULTILINE
    ):
        if macro in wanted and value != wanted[macro]:
            found.append(f"the header defines {macro} as '{value}', not '{wanted[macro]}'")
        if macro not in wanted and macro not in {
            f"{name}_{size}" for size in (*Sizes._fields, WORK.upper())
        }:
            found.append(f"the header defines {macro}, which does not belong there")
    if header.count(prototypes.size_assertion(name, REALS[program.real])) != 1:
        found.append(f"the header does not assert the size of {program.real}")
    return hidden + found


def disguises(text: str) -> list[str]:
    """A sentence for the first place that is read in two ways: anywhere, then outside comments."""
    for pattern, where in ((_ANYWHERE, text), (_OUTSIDE, _QUOTED.sub("", without_comments(text)))):
        found = pattern.search(where)
        if found is not None:
            line = where.count("\n", 0, found.start()) + 1
            return [
                f"line {line} holds {found[0]!a}, which a compiler may read otherwise and no generated text holds"
            ]
    return []


def without_comments(text: str) -> str:
    """`text` with its comments left out, but for their line ends."""
    return re.sub(
        r"/\*.*?\*/", lambda found: " " + "\n" * found[0].count("\n"), text, flags=re.DOTALL
    )

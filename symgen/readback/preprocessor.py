"""The preprocessor's part of a generated text: directives, the macros of its header, and comments.

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
"""Definition of the number of angles of a call, for the loop in NAME_sincos.h."""
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
"""Lines that every function's text contains, in the longer form if it is checked.

Nothing else may stand between their #ifndef and #endif.
"""

CLONES = 'target_clones("avx512f", "avx2", "default")'
"""The one place with quotation marks, once in a text of steps over lanes."""
_ANYWHERE = re.compile(r"\\|\?\?|[^\t\n\x20-\x7e]")
_OUTSIDE = re.compile(r"""/\*|\*/|//|%:|<:|:>|<%|%>|["']|_Pragma""")
_QUOTED = re.compile(r'^(?:[ \t]*#[ \t]*include[ \t]+"[\w.]+"[ \t]*|extern "C" \{)$', re.MULTILINE)


_PART = """\
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(NAME_NO_CLONES)
#define SYMBOL_PART __attribute__((noinline, flatten, target_clones("avx512f", "avx2", "default")))
#elif defined(__GNUC__)
#define SYMBOL_PART __attribute__((noinline, flatten))
#else
#define SYMBOL_PART
#endif
#if defined(__GNUC__)
#define SYMBOL_LINE __attribute__((aligned(64)))
#else
#define SYMBOL_LINE
#endif
"""
"""Directives of a text of steps over lanes: how their functions are compiled, and where arrays begin."""
_OPENMP = """\
#if defined(_OPENMP)
#pragma omp parallel for schedule(static, 1)
#endif
"""
_ATTRIBUTE = r"\b(?:SYMBOL_PART|SYMBOL_LINE)\b"
"""Words that a compiler may know attributes by, which do not change what is computed."""


class Lines:
    """A text of loops without attributes and the directives that define them, line by line.

    `raw` has all its directives but those, and `text` the pragmas of loops that may run in parallel besides.
    """

    def __init__(
        self, raw: str, name: str, symbol: str, checked: bool, batch: bool = False
    ) -> None:
        def block(lines: str) -> list[str]:
            return lines.replace("NAME", name).replace("SYMBOL", symbol).splitlines()

        lines = raw.splitlines()
        without = [" ".join(line.split()) for line in without_comments(raw).splitlines()]
        part, parallel = block(_PART), block(_OPENMP)
        pragmas = dict.fromkeys(range(len(lines)), "")
        blanked = list(lines)
        for at in range(len(lines)):
            if without[at : at + len(part)] == part and blanked[at] == lines[at]:
                blanked[at : at + len(part)] = [""] * len(part)
                part = ["no second one"]
            elif without[at : at + len(parallel)] == parallel:
                blanked[at : at + len(parallel)] = [""] * len(parallel)
                pragmas[at + 1] = parallel[1]
        self.raw = "\n".join(blanked) + "\n"
        code = re.sub(_ATTRIBUTE.replace("SYMBOL", symbol), " ", self.raw)
        self.text = "".join(f"{pragmas[at] or line}\n" for at, line in enumerate(code.splitlines()))
        self.differences = directives(self.raw, name, symbol, checked, batch)


_LANES = """\
#ifndef NAME_LANES_H
#define NAME_LANES_H
#include <stddef.h>
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(NAME_NO_CLONES)
#define NAME_CLONES __attribute__((flatten, target_clones("avx512f", "avx2", "default")))
#elif defined(__GNUC__)
#define NAME_CLONES __attribute__((flatten))
#else
#define NAME_CLONES
#endif
#if defined(__GNUC__)
#define NAME_PART __attribute__((noinline)) NAME_CLONES
#else
#define NAME_PART
#endif
#define NAME_RESTRICT restrict
#endif
"""
"""All directives of NAME_lanes.h."""


class BatchLines:
    """A text for many states and its NAME_lanes.h, without directives and attributes."""

    def __init__(self, source: str, lanes: str, name: str, symbol: str, checked: bool) -> None:
        source_lines = Lines(source, name, symbol, checked, batch=True)
        header = [
            " ".join(line.split())
            for line in without_comments(lanes).splitlines()
            if line.lstrip().startswith("#")
        ]
        self.differences = source_lines.differences + disguises(lanes.replace(CLONES, "", 1))
        if header != _LANES.replace("NAME", name).splitlines():
            self.differences.append(f"{name}_lanes.h has other directives than generated headers")
        self.source, self.lanes = (self._plain(text, name) for text in (source_lines.text, lanes))

    @staticmethod
    def _plain(text: str, name: str) -> str:
        code = re.sub(r"^[ \t]*#.*$", "", without_comments(text), flags=re.MULTILINE)
        code = re.sub(rf"\b{name}_(?:PART|CLONES)\b", " ", code)
        return re.sub(rf"\b{name}_RESTRICT\b", "restrict", code)


def refusal(checked: bool) -> str:
    """Return the directives in every function's text by which compilers that change sums are refused; the robot is called NAME."""
    return _REFUSALS[checked]


def directives(text: str, name: str, symbol: str, checked: bool, batch: bool = False) -> list[str]:
    """List the directives that generated text does not have: a macro could change the meaning of the text.

    Generated text includes headers, names the text's own sine and the number of angles that it takes at once. It refuses compilers that
    change sums, or comparisons of a `checked` function.
    """
    block = refusal(checked).replace("NAME", name)
    missing = []
    if block not in text:
        missing = [f"the text does not refuse {'-ffinite-math-only' if checked else '-ffast-math'}"]
    text = text.replace(block, "\n", 1)
    lines = [
        line.strip()
        for line in without_comments(text).splitlines()
        if line.lstrip().startswith("#")
    ]
    own_lines = [f"#define {name}_sincos {symbol}{'_batch' * batch}_sincos"]
    if batch:
        own_lines += [f'#include "{name}_{header}.h"' for header in ("batch", "lanes")]
        own_lines += [
            f"#define {name}_{word} {symbol}_{word}" for word in ("load", "store", "count")
        ]
    counted = [line for line in lines if re.fullmatch(_COUNTED.replace("NAME", name), line)]
    differences = ["the angles of the loop are counted twice"] if len(counted) > 1 else []
    differences += [
        f"the directive '{line}' does not belong into generated code"
        for line in lines
        if line
        not in (
            "#include <math.h>",
            f'#include "{name}.h"',
            f'#include "{name}_sincos.h"',
            *own_lines,
            *counted,
        )
    ]
    return missing + differences + disguises(text)


def angles_at_once(text: str, name: str) -> int:
    """How many angles the text gives to a loop over all of them; 0 where it has none."""
    match = re.search(
        f"^{_COUNTED.replace('NAME', name)}[ \t]*$", without_comments(text), re.MULTILINE
    )
    return int(match[1]) if match else 0


def work(header: str, name: str) -> int | None:
    """Numbers that the header says the caller's array has; None where it does not say."""
    match = re.search(rf"^#define {name}_{WORK.upper()} (\d+)\b", header, re.MULTILINE)
    return match and int(match[1])


def _expected_macros(program: Form, name: str, checked: bool) -> dict[str, str]:
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
    """List the errors of a header.

    Its macros must be the sizes, the statuses of checked functions, NAME_API and, with trig macros, sine and cosine, no more. It must
    assert the size of the real type.
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
    expected_macros = _expected_macros(program, name, checked)
    differences = []
    if any(port.name == PREPARED.name for port in program.inputs) and (
        f"typedef struct {{ {program.real} value[{name}_NS]; }} {name}_prepared;"
        not in header.splitlines()
    ):
        differences.append(f"the header does not declare {name}_prepared as generated headers do")
    for macro, value in re.findall(
        r"^[ \t]*#[ \t]*define[ \t]+(\S+)[ \t]*(.*?)[ \t]*$", header, flags=re.MULTILINE
    ):
        if macro in expected_macros and value != expected_macros[macro]:
            differences.append(
                f"the header defines {macro} as '{value}', not '{expected_macros[macro]}'"
            )
        if macro not in expected_macros and macro not in {
            f"{name}_{size}" for size in (*Sizes._fields, WORK.upper())
        }:
            differences.append(f"the header defines {macro}, which does not belong there")
    if header.count(prototypes.size_assertion(name, REALS[program.real])) != 1:
        differences.append(f"the header does not assert the size of {program.real}")
    return hidden + differences


def disguises(text: str) -> list[str]:
    """A sentence for the first place that is read in two ways: anywhere, then outside comments."""
    for pattern, where in ((_ANYWHERE, text), (_OUTSIDE, _QUOTED.sub("", without_comments(text)))):
        match = pattern.search(where)
        if match is not None:
            line = where.count("\n", 0, match.start()) + 1
            return [
                f"line {line} holds {match[0]!a}, which a compiler may read otherwise and no generated text holds"
            ]
    return []


def without_comments(text: str) -> str:
    """`text` with its comments left out, but for their line ends."""
    return re.sub(
        r"/\*.*?\*/", lambda comment: " " + "\n" * comment[0].count("\n"), text, flags=re.DOTALL
    )

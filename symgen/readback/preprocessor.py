"""Check of the preprocessor directives of generated C, and removal of comments.

Only `/* … */` is recognized as a comment. A compiler also joins lines that end in a backslash, may
interpret trigraphs, digraphs and `//`, and takes `/*` between quotation marks as text. Generated C
contains none of these, so the functions here report each of them as a difference.

In the constants, NAME stands for the name of the robot and SYMBOL for the name of the function
(NAME_<function>).
"""

from __future__ import annotations

import re

from symgen.ir.loops import WORK, Form
from symgen.readback import prototypes
from symgen.readback.required_checks import STATUSES, shapes
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import PREPARED
from symgen.vocabulary.reals import REALS

_NO_FAST_MATH = """
#ifndef NAME_UNVERIFIED
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error NAME is verified for operations in the written order: leave out -ffast-math and -Ofast, \
or define NAME_UNVERIFIED
#endif
"""
"""First lines of the block that rejects compilers that reorder sums."""
_NO_FINITE_MATH = """\
#if defined(__FINITE_MATH_ONLY__) && (__FINITE_MATH_ONLY__ > 0)
#error NAME tests for infinity and NaN: leave out -ffinite-math-only, or define NAME_UNVERIFIED
#endif
"""
"""Lines that follow in a checked function: it tests for infinities and NaN, which such a compiler
assumes away.
"""
_FORMER_REASONS = (
    ("is verified as it is written", "is verified for operations in the written order"),
    ("looks for what is not finite", "tests for infinity and NaN"),
)
"""Reasons in the #error lines of folders of version 0.1.0, and the reasons that replace them."""
_ANGLE_COUNT = r"#define NAME_ANGLES ([1-9]\d*)"
"""Pattern of the definition of NAME_ANGLES, the number of angles of one call of NAME_sincos."""
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

_CLONES = 'target_clones("avx512f", "avx2", "default")'
"""Attribute in NAME_lanes.h; its quotation marks are allowed there once."""
_AMBIGUOUS_ANYWHERE = re.compile(r"\\|\?\?|[^\t\n\x20-\x7e]")
"""Backslash, trigraph, or a character that is not printable ASCII."""
_AMBIGUOUS_OUTSIDE_COMMENTS = re.compile(r"""/\*|\*/|//|%:|<:|:>|<%|%>|["']|_Pragma""")
"""Beginning or end of a comment, digraph, quotation mark, or pragma operator."""
_ALLOWED_QUOTES = re.compile(
    r'^(?:[ \t]*#[ \t]*include[ \t]+"[\w.]+"[ \t]*|extern "C" \{)$', re.MULTILINE
)
"""Lines of generated C that have quotation marks."""


_PART = """\
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) \
&& !defined(NAME_NO_CLONES)
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
"""Directives of a function of loops that computes several links at once (SIMD lanes).

They define the attributes of its part functions and the alignment of its tables.
"""
_OPENMP = """\
#if defined(_OPENMP)
#pragma omp parallel for schedule(static, 1)
#endif
"""
"""Directives before a loop whose iterations may run in parallel."""
_ATTRIBUTE = r"\b(?:SYMBOL_PART|SYMBOL_LINE)\b"
"""Pattern of the macros of `_PART`: attributes, which do not change the results."""


class Lines:
    """C text of a function of loops without its known directives; each line keeps its number.

    `raw` is the text in which the lines of the blocks `_PART` and `_OPENMP` are empty. `text` is
    `raw` without attributes, and with the pragma of each parallel loop. `differences` lists the
    directives of `raw` that generated C does not have.
    """

    def __init__(
        self, raw: str, name: str, symbol: str, checked: bool, batch: bool = False
    ) -> None:
        def block(lines: str) -> list[str]:
            return lines.replace("NAME", name).replace("SYMBOL", symbol).splitlines()

        remaining_lines = raw.splitlines()
        code_lines = [" ".join(line.split()) for line in without_comments(raw).splitlines()]
        part, parallel = block(_PART), block(_OPENMP)
        pragmas: dict[int, str] = {}
        part_removed = False
        for at in range(len(remaining_lines)):
            if not part_removed and code_lines[at : at + len(part)] == part:
                remaining_lines[at : at + len(part)] = [""] * len(part)
                part_removed = True  # a second block remains, and `directives` reports it
            elif code_lines[at : at + len(parallel)] == parallel:
                remaining_lines[at : at + len(parallel)] = [""] * len(parallel)
                pragmas[at + 1] = parallel[1]
        self.raw = "\n".join(remaining_lines) + "\n"
        code = re.sub(_ATTRIBUTE.replace("SYMBOL", symbol), " ", self.raw)
        self.text = "".join(
            f"{pragmas.get(at) or line}\n" for at, line in enumerate(code.splitlines())
        )
        self.differences = directives(self.raw, name, symbol, checked, batch)


_LANES = """\
#ifndef NAME_LANES_H
#define NAME_LANES_H
#include <stddef.h>
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) \
&& !defined(NAME_NO_CLONES)
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
"""Directives of NAME_lanes.h, in order."""


class BatchLines:
    """C text of a function for many states and NAME_lanes.h, without directives and attributes.

    `differences` lists the directives that generated C does not have.
    """

    def __init__(self, source: str, lanes: str, name: str, symbol: str, checked: bool) -> None:
        source_lines = Lines(source, name, symbol, checked, batch=True)
        header = [
            " ".join(line.split())
            for line in without_comments(lanes).splitlines()
            if line.lstrip().startswith("#")
        ]
        self.differences = source_lines.differences + disguises(lanes.replace(_CLONES, "", 1))
        if header != _LANES.replace("NAME", name).splitlines():
            self.differences.append(f"{name}_lanes.h has other directives than generated headers")
        self.source, self.lanes = (
            self._without_directives(text, name) for text in (source_lines.text, lanes)
        )

    @staticmethod
    def _without_directives(text: str, name: str) -> str:
        """Return the text without comments, directives and attributes."""
        code = re.sub(r"^[ \t]*#.*$", "", without_comments(text), flags=re.MULTILINE)
        code = re.sub(rf"\b{name}_(?:PART|CLONES)\b", " ", code)
        return re.sub(rf"\b{name}_RESTRICT\b", "restrict", code)


def refusal(checked: bool) -> str:
    """Return the directives of a function's text that reject options such as -ffast-math.

    A `checked` function also rejects -ffinite-math-only. The name of the robot is NAME.
    """
    return f"{_NO_FAST_MATH}{_NO_FINITE_MATH if checked else ''}#endif\n"


def directives(text: str, name: str, symbol: str, checked: bool, batch: bool = False) -> list[str]:
    """List the directives of `text` that generated C does not have.

    A macro could change the meaning of the text. Generated C includes headers, and defines the name
    of its sine function and the number of angles of one call. It must have the directives of
    `refusal`. The functions of a `batch` also include two headers and define three names.
    """
    block = refusal(checked).replace("NAME", name)
    for former, reason in _FORMER_REASONS:
        text = text.replace(f"#error {name} {former}: ", f"#error {name} {reason}: ")
    missing = []
    if block not in text:
        missing = [f"the text does not refuse {'-ffinite-math-only' if checked else '-ffast-math'}"]
    text = text.replace(block, "\n", 1)
    lines = [
        line.strip()
        for line in without_comments(text).splitlines()
        if line.lstrip().startswith("#")
    ]
    allowed_lines = [f"#define {name}_sincos {symbol}{'_batch' * batch}_sincos"]
    if batch:
        allowed_lines += [f'#include "{name}_{header}.h"' for header in ("batch", "lanes")]
        allowed_lines += [
            f"#define {name}_{word} {symbol}_{word}" for word in ("load", "store", "count")
        ]
    angle_counts = [
        line for line in lines if re.fullmatch(_ANGLE_COUNT.replace("NAME", name), line)
    ]
    differences = [f"{name}_ANGLES is defined twice"] if len(angle_counts) > 1 else []
    differences += [
        f"the directive '{line}' does not belong in generated code"
        for line in lines
        if line
        not in (
            "#include <math.h>",
            f'#include "{name}.h"',
            f'#include "{name}_sincos.h"',
            *allowed_lines,
            *angle_counts,
        )
    ]
    return missing + differences + disguises(text)


def angles_at_once(text: str, name: str) -> int:
    """Return the number of angles whose sines and cosines one loop computes; 0 without a loop."""
    match = re.search(
        f"^{_ANGLE_COUNT.replace('NAME', name)}[ \t]*$", without_comments(text), re.MULTILINE
    )
    return int(match[1]) if match else 0


def work(header: str, name: str) -> int | None:
    """Return the size of the workspace that the header declares, or None if it declares none."""
    match = re.search(rf"^#define {name}_{WORK.upper()} (\d+)\b", header, re.MULTILINE)
    return match and int(match[1])


def _expected_macros(program: Form, name: str, checked: bool) -> dict[str, str]:
    """Return the values of the macros that a header may define for this Program.

    The header may also define sizes of other functions.
    """
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

    The header may define only these macros: sizes, statuses of checked functions, NAME_API, and
    sine and cosine. It must assert the size of the real type.
    """
    exports = _EXPORTS.replace("NAME", name)
    differences = []
    if exports not in header:
        differences.append(f"the header does not define {name}_API as generated headers do")
    header = header.replace(exports, "\n" * exports.count("\n"), 1)
    differences += [f"the header's {sentence}" for sentence in disguises(header)]
    header = without_comments(header)
    expected_macros = _expected_macros(program, name, checked)
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
    return differences


def disguises(text: str) -> list[str]:
    """Report the first characters that a compiler may interpret differently from this module.

    Characters that are ambiguous in comments, too, are reported first. The list is empty if there
    are none.
    """
    code = _ALLOWED_QUOTES.sub("", without_comments(text))
    for pattern, searched_text in (
        (_AMBIGUOUS_ANYWHERE, text),
        (_AMBIGUOUS_OUTSIDE_COMMENTS, code),
    ):
        match = pattern.search(searched_text)
        if match is not None:
            line = searched_text.count("\n", 0, match.start()) + 1
            return [
                f"line {line} contains {match[0]!a}, which compilers may interpret differently and"
                " generated C does not contain"
            ]
    return []


def without_comments(text: str) -> str:
    """Return `text` with each comment replaced by a space and the line ends of the comment."""
    return re.sub(
        r"/\*.*?\*/", lambda comment: " " + "\n" * comment[0].count("\n"), text, flags=re.DOTALL
    )

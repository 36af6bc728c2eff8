"""Proof by Frama-C's Eva over whole ranges of the arguments: no access outside an array, no
uninitialized read, finite numbers.

Eva encloses each operation of the text, including rounding, in an interval. Sines and cosines lie
in [-1, 1]. That suffices without divisions. The interval of a divisor contains zero, since
intervals forget that a mass matrix is positive definite. The lower bound of a divisor is proved
elsewhere and admitted here, by an annotation in a copy of the text. The result lists each admitted
line.
"""

from __future__ import annotations

import csv
import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from symgen.emission import printer, render
from symgen.ir.ports import single_real
from symgen.ir.program import Program
from symgen.support.errors import ArgumentError, BuildError, ToolMissing
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target

TEMPLATES = "eva"
PACKAGE = "frama-c-base"
DRIVER = "driver.c"
_OPTIONS = (
    "-eva",
    "-eva-precision",
    "0",
    "-warn-special-float",
    "non-finite",
    "-eva-verbose",
    "0",
    "-kernel-verbose",
    "0",
)
_PROVED = ("Valid", "Considered valid")
TURNS = "-1.000001 <= found.sine <= 1.000001 && -1.000001 <= found.cosine <= 1.000001"
"""Range of a sine and cosine within two ulps of the exact ones, in either type."""
ALL_TURNS = "-1.000001 <= found.sine[i] <= 1.000001 && -1.000001 <= found.cosine[i] <= 1.000001"
"""Range of the sines and cosines that a loop computes, in each iteration."""
_TIMEOUT = 600
SHOWN = 3
"""Number of printed alarms. Most later ones follow from the first."""

Range = tuple[Fraction | float, Fraction | float]
Bounds = Mapping[str, Mapping[int, Fraction]]
"""{function: {row of its Program: bound}}."""


@dataclass(frozen=True)
class Alarm:
    """A failure that Eva could not exclude: Frama-C's name for it, the file, the line and the
    line's text.
    """

    kind: str
    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Proof:
    """Result for one function. `alarms` is empty if the function is proved over the ranges;
    `admitted` are the assumed lines.
    """

    function: str
    method: str
    real: str
    alarms: tuple[Alarm, ...]
    admitted: tuple[str, ...]

    @property
    def proved(self) -> bool:
        return not self.alarms

    @property
    def facts(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return asdict(self) | {"proved": self.proved}


def prove(
    programs: Mapping[str, Program],
    target: Target,
    ranges: Mapping[str, Sequence[Range]],
    divisor_bounds: Bounds | None = None,
    sizes: Bounds | None = None,
) -> dict[str, Proof]:
    """Return Eva's result for each function's C, for all values of the arguments within their
    ranges.

    `ranges` holds (least, most) for every element of every argument by its name. `divisor_bounds`
    are admitted bounds of rows that are divisors or arguments of a logarithm or root: such a row is
    at least its bound (a negative one: at most). `sizes` bound the magnitude of rows. They are
    admitted only if the `divisor_bounds` alone prove nothing, from the first on, and as few as
    possible.

    Raises RequestError for a missing or invalid range, BuildError if Frama-C is missing or refuses
    the text. Without functions the result is empty, and Frama-C does not run.
    """
    if not programs:
        return {}
    divisor_bounds, sizes = divisor_bounds or {}, sizes or {}
    proofs = _attempt(programs, target, ranges, divisor_bounds, {})
    count = 1
    while unproved := {
        f: programs[f]
        for f, rows in sizes.items()
        if f in proofs and not proofs[f].proved and count < 2 * len(rows)
    }:
        admitted_sizes = {
            function: dict(list(sizes[function].items())[:count]) for function in unproved
        }
        proofs |= {
            f: proof
            for f, proof in _attempt(
                unproved, target, ranges, divisor_bounds, admitted_sizes
            ).items()
            if proof.proved
        }
        count *= 2
    return proofs


def _attempt(
    programs: Mapping[str, Program],
    target: Target,
    ranges: Mapping[str, Sequence[Range]],
    divisor_bounds: Bounds,
    sizes: Bounds,
) -> dict[str, Proof]:
    """Return Eva's result with these admitted bounds."""
    texts, admitted = sources(programs, target, divisor_bounds, sizes)
    alarms = analyse(texts, programs, target, ranges)
    return {f: Proof(f, p.method, p.real, alarms[f], admitted[f]) for f, p in programs.items()}


def lines(proofs: Mapping[str, Proof]) -> list[str]:
    """Return the results as text: a line for each function, each alarm and each admitted line."""
    if not proofs:
        return ["Frama-C was not run: no function is proved over whole ranges"]
    text = []
    for proof in proofs.values():
        verdict = (
            "no out-of-bounds, no uninitialised read, every number finite"
            if proof.proved
            else f"not proved, {len(proof.alarms)} statements may fail"
        )
        condition = f", given {len(proof.admitted)} admitted lines" if proof.admitted else ""
        text.append(f"{proof.function} ({proof.method}, {proof.real}): {verdict}{condition}")
        text += [f"  admitted: {line}" for line in proof.admitted]
        text += [
            f"  possible: {alarm.kind}, {alarm.file}:{alarm.line}: {alarm.text}"
            for alarm in proof.alarms[:SHOWN]
        ]
        if len(proof.alarms) > SHOWN:
            text.append(f"  and {len(proof.alarms) - SHOWN} more, most of them caused by these")
    return text


def sources(
    programs: Mapping[str, Program], target: Target, divisor_bounds: Bounds, sizes: Bounds
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return ({file: text}, {function: admitted lines}): the header, and the C with annotations
    after the bounded locals.

    A bounded row that is not a local becomes one in this copy; the operations stay the same. Sines
    and cosines from the folder's own header (`TextOptions.trig` "inline" and "auto") are admitted
    to lie in [-1, 1]: intervals forget that x and its quarter turns belong together. A loop over
    angles is unrolled.
    """
    texts = dict(printer().headers(programs, target))
    admitted_turns = ALL_TURNS if target.text.trig == "auto" else TURNS
    for file in [file for file in texts if file.endswith("_sincos.h")]:
        texts[file] = _annotated_sincos(texts[file], target.name, admitted_turns)
    admitted = {}
    for function, program in programs.items():
        lowest, largest = divisor_bounds.get(function, {}), sizes.get(function, {})
        text, names = _with_locals(program, target, {*lowest, *largest})
        admitted_lines = {
            row: f"{names[row]} >= {decimal(bound)}"
            if bound >= 0
            else f"{names[row]} <= -{decimal(-bound)}"
            for row, bound in lowest.items()
        }
        for row, bound in largest.items():
            size = decimal(bound, ROUND_CEILING)
            admitted_lines[row] = (
                f"-{size} <= {names[row]} <= {size}"
                if row not in admitted_lines
                else f"{admitted_lines[row]} && {names[row]} <= {size}"
            )
        for row, line in admitted_lines.items():
            text = re.sub(
                _declaration(program, names[row]),
                rf"\g<0>\n    //@ admit {line};",
                text,
                flags=re.MULTILINE,
            )
        texts[target.c_file(function)] = text
        trigonometric_lines = (
            (admitted_turns,)
            if any(f'#include "{file}"' in text for file in texts if file.endswith("_sincos.h"))
            else ()
        )
        admitted[function] = (*trigonometric_lines, *admitted_lines.values())
    return texts, admitted


def _annotated_sincos(text: str, name: str, admitted: str) -> str:
    """Return NAME_sincos.h with the admitted range after each sine and cosine, and with its loops
    unrolled.
    """
    text = re.sub(
        r"^( +)(?:do|for \(.*\)) \{$",
        rf"\1//@ loop unroll {name}_ANGLES;\n\g<0>",
        text,
        flags=re.MULTILINE,
    )
    return re.sub(
        r"^( +)found\.cosine.* = \(turned\*cosine\) .*$",
        rf"\g<0>\n\1//@ admit {admitted};",
        text,
        flags=re.MULTILINE,
    )


def _with_locals(
    program: Program, target: Target, bounded: Container[int]
) -> tuple[str, dict[int, str]]:
    """Return the C in which every wanted row is a local, and the names of these locals."""
    text, rows, names = printer().source(program, target), list(program.rows), {}
    for index in range(len(rows)):
        if index in bounded:
            names[index] = rows[index].name
            # A name that is a keyword of C or of <math.h> is spelled differently in the C.
            if not re.search(_declaration(program, rows[index].name), text, re.MULTILINE):
                names[index] = f"bounded_{index}"
                rows[index] = rows[index]._replace(name=names[index])
    return printer().source(replace(program, rows=tuple(rows)), target), names


def _declaration(program: Program, name: str) -> str:
    """Return a pattern for the line that declares a local."""
    return f"^{printer().language.declared(program.real, name, '.*')}$"


def decimal(bound: Fraction, rounding: str = ROUND_FLOOR) -> str:
    """Return `bound` (not negative) as a decimal of six digits, rounded down by default."""
    return str(
        Context(prec=6, rounding=rounding).divide(
            Decimal(bound.numerator), Decimal(bound.denominator)
        )
    )


def analyse(
    texts: Mapping[str, str],
    programs: Mapping[str, Program],
    target: Target,
    ranges: Mapping[str, Sequence[Range]],
) -> dict[str, tuple[Alarm, ...]]:
    """Return Eva's alarms on `texts` by function; `programs` define how each function is called."""
    real = single_real(programs.values())
    calls = [_call(program, target, ranges) for program in programs.values()]
    texts = dict(texts) | {
        DRIVER: render(TEMPLATES, "driver.c.j2", **target.context, real=real, calls=calls)
    }
    with tempfile.TemporaryDirectory(prefix="symgen-eva-") as name:
        folder = Path(name)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        properties = _run(folder, [file for file in texts if file.endswith(".c")])
    return _alarms_by_function(properties, texts, programs, target)


def _alarms_by_function(
    properties: Sequence[Mapping[str, str]],
    texts: Mapping[str, str],
    programs: Mapping[str, Program],
    target: Target,
) -> dict[str, tuple[Alarm, ...]]:
    """Return the alarms of a report by function. A function whose end is not reached has an alarm
    as well.
    """
    owners = {target.c_file(function): [function] for function in programs} | {
        f"run_{f}": [f] for f in programs
    }
    alarms: dict[str, list[Alarm]] = {function: [] for function in programs}
    end_counts: dict[str, int] = dict.fromkeys(programs, 0)
    for row in properties:
        file = Path(row["file"]).name
        # An alarm in a file that functions share keeps all of them from being proved.
        affected = owners.get(row["function"] if file == DRIVER else file, programs)
        asserted = (file, row["property kind"]) == (DRIVER, "user assertion")
        if asserted and row["status"] == "Valid":
            for function in affected:
                end_counts[function] += 1
        # "Dead" lines of the sine header are those for angles outside the ranges, which <math.h>
        # treats. The test
        # below finds calls that do not reach their end.
        idle = (file, row["status"]) == (target.sincos_file, "Dead")
        if row["status"] not in _PROVED and not idle:
            alarm = _alarm(row, texts[file])
            for function in affected:
                alarms[function].append(alarm)
    for function, program in programs.items():
        if not alarms[function] and end_counts[function] != 2 * len(program.outputs):
            alarms[function].append(Alarm("end not reached", target.c_file(function), 1, ""))
    return {function: tuple(rows) for function, rows in alarms.items()}


def _alarm(row: Mapping[str, str], text: str) -> Alarm:
    """Return an alarm from a row of the report, with the line of the file."""
    line = int(row["line"])
    return Alarm(
        row["property kind"].replace("_", " "),
        Path(row["file"]).name,
        line,
        text.splitlines()[line - 1].strip(),
    )


def _call(
    program: Program, target: Target, ranges: Mapping[str, Sequence[Range]]
) -> dict[str, Any]:
    """Return the fields of the driver's template for one function."""
    names = printer().parameters(program, target)
    elements = []
    for port in program.inputs:
        element_ranges = ranges.get(port.name, ())
        if len(element_ranges) != port.size:
            raise ArgumentError(
                f"{program.function} takes {port.size} numbers for {port.name}, but"
                f" {len(element_ranges)} ranges are given; pass one for each number"
            )
        for index, (low, high) in enumerate(element_ranges):
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise ArgumentError(
                    f"the range of {port.name}[{index}], from {float(low):g} to {float(high):g}, is"
                    " empty or infinite; pass finite bounds in order"
                )
            elements.append(
                {
                    "name": names[port.name],
                    "index": index,
                    "low": outward(low, -1, program.real),
                    "high": outward(high, 1, program.real),
                }
            )
    return {
        "function": program.function,
        "symbol": target.symbol(program.function),
        "ports": [
            {"name": names[port.name], "size": port.size}
            for port in (*program.inputs, *program.outputs)
        ],
        "elements": elements,
        "results": [{"name": names[port.name], "last": port.size - 1} for port in program.outputs],
    }


def outward(bound: Fraction | float, sign: int, real: str) -> str:
    """Return the literal of the type nearest to `bound` that is not less (`sign` 1) or not more
    (-1).
    """
    exact, kind = Fraction(bound), REALS[real]
    number = kind.rounded(exact)
    if sign * Fraction(number) < sign * exact:
        number = kind.rounded(Fraction(number) + sign * kind.spacing(number))
    return f"{number.hex()}{kind.suffix}"


def _run(folder: Path, files: Sequence[str]) -> list[dict[str, str]]:
    """Run Frama-C on the files; return the properties that its Report plug-in lists."""
    if shutil.which("frama-c") is None:
        raise ToolMissing(f"frama-c is not installed; on Debian 'apt install {PACKAGE}' brings it")
    command = [
        "frama-c",
        *_OPTIONS,
        "-main",
        "run",
        *files,
        "-then",
        "-report-csv",
        "properties.csv",
    ]
    try:
        # Frama-C resolves relative names by the shell's PWD.
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"PWD": str(folder)},
            stdin=subprocess.DEVNULL,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(
            f"frama-c did not end within {_TIMEOUT} s; select fewer functions with -f"
        ) from None
    table = folder / "properties.csv"
    if done.returncode or not table.is_file():
        errors = [line.strip() for line in done.stdout.splitlines() if "rror" in line] or [
            "no reason given"
        ]
        raise BuildError(f"frama-c refused the generated text: {errors[0]}")
    with table.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            row for row in rows if not row["directory"].startswith("FRAMAC_SHARE")
        ]  # skip the specifications of Frama-C's own libc

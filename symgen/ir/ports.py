"""Arguments and results of Programs in words: shapes in the names of sizes, meanings, and what several Programs share."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from symgen.ir.loops import Form
from symgen.ir.program import Outline, Port
from symgen.support.errors import ArgumentError
from symgen.vocabulary.arrays import Array, Size, Sizes
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.reals import DOUBLE, REALS

COUNTED = ("NP", "NR", "NK", "NG", "NS", "NJ", "NC", "NT")
"""Sizes that a header defines where a function has one, and that the function itself says."""


def single_real(programs: Iterable[Form]) -> str:
    """The real type that the programs share; RequestError when they mix double and float."""
    reals = sorted({program.real for program in programs})
    if len(reals) > 1:
        raise ArgumentError(
            "the functions mix double and float; one header declares one real type, so ask for either"
        )
    if reals and reals[0] not in REALS:
        raise ArgumentError(f"real is '{reals[0]}'; it can be double or float")
    return reals[0] if reals else DOUBLE.name


def describe(program: Form | Outline) -> tuple[list[Array], list[Array]]:
    """Arguments and results of a Program with their symbolic shapes, where the table of functions knows them."""
    declared = FUNCTIONS.get(program.function)
    known = (
        {a.name: a for a in (*declared.arguments, *declared.results, *declared.depends_on)}
        if declared
        else {}
    )
    plain = [
        [
            known.get(p.name, Array(p.name, p.shape, p.name)).laid_out(p.shape, program.convention)
            for p in ports
        ]
        for ports in (program.inputs, program.outputs)
    ]
    return plain[0], plain[1]


def several(programs: Iterable[Form]) -> dict[str, int]:
    """`nf` and `nw`: of how many frames they speak and how many wrenches they feel, where it is several; else 1.

    ArgumentError where they do not agree.
    """
    found: dict[str, set[int]] = {"NF": set(), "NW": set()}
    for program in programs:
        ports = (*program.inputs, *program.outputs)
        for port, array in zip(ports, itertools.chain(*describe(program)), strict=True):
            if array.each in array.shape:
                found[array.each].add(port.shape[0])
    for size, what in (("NF", "frames"), ("NW", "wrenches")):
        if len(found[size]) > 1:
            first, second = sorted(found[size])[:2]
            raise ArgumentError(
                f"the functions mix {first} and {second} {what}; one header declares one number of them"
            )
    return {size.lower(): max(counts, default=1) for size, counts in found.items()}


def symbolic(array: Array, port: Port, sizes: Sizes) -> tuple[Size, ...] | None:
    """The shape of a port in the names of sizes; None where the table of functions does not know better than the numbers."""
    named = any(isinstance(size, str) for size in array.shape)
    own = {
        size: count
        for size, count in zip(array.shape, port.shape, strict=False)
        if size in (array.each, *COUNTED)
    }
    known = sizes._replace(**own)
    return array.shape if named and array.sizes(known) == port.shape else None


def meaning(array: Array, sizes: Sizes) -> str:
    """What an array is on a robot of these `sizes`. Positions are longer than velocities where quaternions are among them."""
    if array.shape != ("NQ",) or sizes.NQ == sizes.NV:
        return array.what
    before, bracket, units = array.what.partition(" (")
    return f"{before} ({units.removesuffix(')') + ', ' if bracket else ''}quaternions x y z w of length 1)"


def counted(programs: Iterable[Form]) -> list[dict[str, str | int]]:
    """The `size` of COUNTED that stands in a shape, and its `count`, of each. ArgumentError where functions do not agree."""
    found: dict[str, set[int]] = {size: set() for size in COUNTED}
    for program in programs:
        ports = (*program.inputs, *program.outputs)
        for port, array in zip(ports, itertools.chain(*describe(program)), strict=True):
            for size, count in zip(array.shape, port.shape, strict=False):
                if size in COUNTED:
                    found[str(size)].add(count)
    for name, counts in found.items():
        if len(counts) > 1:
            raise ArgumentError(
                f"the functions mix {' and '.join(map(str, sorted(counts)))} for {name}; one header declares one"
            )
    return [{"size": name, "count": min(counts)} for name, counts in found.items() if counts]


def counts_bodies(programs: Iterable[Form]) -> bool:
    """Whether one of them has a row a body, in what it takes or in what it gives."""
    return any(
        "NB" in array.shape
        for program in programs
        for arrays in describe(program)
        for array in arrays
    )


def operations_text(program: Form | Outline) -> str:
    """The operations of a Program in words, those that do not occur left out: '480 mul, 350 add, 7 sin'."""
    return (
        ", ".join(f"{count} {op}" for op, count in program.operations.items() if count)
        or "no operation"
    )

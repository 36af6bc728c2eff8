"""Descriptions of Programs' arguments and results: symbolic shapes, meanings, and sizes that
several Programs share.
"""

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
"""Sizes that a header defines if a function has them; their values come from the function's own
shapes.
"""


def single_real(programs: Iterable[Form]) -> str:
    """Return the real type that the programs share.

    Raises ArgumentError if they mix double and float.
    """
    reals = sorted({program.real for program in programs})
    if len(reals) > 1:
        raise ArgumentError(
            "the functions mix double and float; one header declares one real type, so request"
            " functions of one type"
        )
    if reals and reals[0] not in REALS:
        raise ArgumentError(f"real is '{reals[0]}'; it can be double or float")
    return reals[0] if reals else DOUBLE.name


def describe(program: Form | Outline) -> tuple[list[Array], list[Array]]:
    """Return arguments and results of a Program, with symbolic shapes if the table of functions
    lists them.
    """
    declared = FUNCTIONS.get(program.function)
    listed = (
        {a.name: a for a in (*declared.arguments, *declared.results, *declared.depends_on)}
        if declared
        else {}
    )
    arrays = [
        [
            listed.get(p.name, Array(p.name, p.shape, p.name)).laid_out(p.shape, program.convention)
            for p in ports
        ]
        for ports in (program.inputs, program.outputs)
    ]
    return arrays[0], arrays[1]


def frame_and_wrench_counts(programs: Iterable[Form]) -> dict[str, int]:
    """Return the numbers of frames and of wrenches in the functions' arrays, as "nf" and "nw".

    A number is 1 if no array has such an axis. Raises ArgumentError if functions disagree.
    """
    counts_of: dict[str, set[int]] = {"NF": set(), "NW": set()}
    for program in programs:
        ports = (*program.inputs, *program.outputs)
        for port, array in zip(ports, itertools.chain(*describe(program)), strict=True):
            if array.each in array.shape:
                counts_of[array.each].add(port.shape[0])
    for size, items in (("NF", "frames"), ("NW", "wrenches")):
        if len(counts_of[size]) > 1:
            first, second = sorted(counts_of[size])[:2]
            raise ArgumentError(
                f"the functions mix {first} and {second} {items}; one header declares one number of"
                " them"
            )
    return {size.lower(): max(counts, default=1) for size, counts in counts_of.items()}


def symbolic_shape(array: Array, port: Port, sizes: Sizes) -> tuple[Size, ...] | None:
    """Return a port's shape in the names of sizes; None if its shape is not that of the table of
    functions.
    """
    named = any(isinstance(size, str) for size in array.shape)
    own_counts = {
        size: count
        for size, count in zip(array.shape, port.shape, strict=False)
        if size in (array.each, *COUNTED)
    }
    all_sizes = sizes._replace(**own_counts)
    return array.shape if named and array.sizes(all_sizes) == port.shape else None


def meaning(array: Array, sizes: Sizes) -> str:
    """Return the meaning of an array on a robot with these `sizes`.

    If positions contain quaternions, so that they are longer than velocities, the text says so.
    """
    if array.shape != ("NQ",) or sizes.NQ == sizes.NV:
        return array.what
    before, bracket, units = array.what.partition(" (")
    return (
        f"{before} ({units.removesuffix(')') + ', ' if bracket else ''}quaternions x y z w of"
        " length 1)"
    )


def size_definitions(programs: Iterable[Form]) -> list[dict[str, str | int]]:
    """Return `size` and `count` of each size in COUNTED that occurs in a shape.

    Raises ArgumentError if functions disagree.
    """
    counts_of: dict[str, set[int]] = {size: set() for size in COUNTED}
    for program in programs:
        ports = (*program.inputs, *program.outputs)
        for port, array in zip(ports, itertools.chain(*describe(program)), strict=True):
            for size, count in zip(array.shape, port.shape, strict=False):
                if size in COUNTED:
                    counts_of[str(size)].add(count)
    for name, counts in counts_of.items():
        if len(counts) > 1:
            raise ArgumentError(
                f"the functions mix {' and '.join(map(str, sorted(counts)))} for {name}; one header"
                " declares one"
            )
    return [{"size": name, "count": min(counts)} for name, counts in counts_of.items() if counts]


def counts_bodies(programs: Iterable[Form]) -> bool:
    """Return whether an argument or a result of a program has one row per body."""
    return any(
        "NB" in array.shape
        for program in programs
        for arrays in describe(program)
        for array in arrays
    )


def operations_text(program: Form | Outline) -> str:
    """Return the operations of a Program as text, without those that do not occur: '480 mul, 350
    add, 7 sin'.
    """
    return (
        ", ".join(f"{count} {op}" for op, count in program.operations.items() if count)
        or "no operation"
    )

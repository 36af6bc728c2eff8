"""Choice of the form of a function: a Program with rows for every link, or a LoopProgram, whose text does not grow with the robot."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from symgen import methods
from symgen.ir.loops import Form, LoopProgram, check
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import segment_lengths
from symgen.pipeline.derive import ROW_BUDGET, frames, relevant
from symgen.pipeline.loops import (
    constraint_force_scan,
    planar_scan,
    planar_segments,
    recursion,
    riccati_segments,
)
from symgen.support.errors import ArgumentError, OutOfReach, RequestError
from symgen.vocabulary.arrays import USUAL
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import AUTO, LOOPED, UNROLLED, ProgramOptions
from symgen.vocabulary.reals import REALS

IN_PARTS = {riccati_segments.METHOD: riccati_segments, planar_segments.METHOD: planar_segments}
"""Builders of sweeps along the parts of one chain, by method: each computes one function."""
SCANS = {constraint_force_scan.METHOD: constraint_force_scan, planar_scan.METHOD: planar_scan}
"""Builders of parallel scans of one chain, by method: each computes a few functions."""
ALONE = {
    riccati_segments.METHOD: riccati_segments.FUNCTION,
    planar_segments.METHOD: planar_segments.FUNCTION,
    planar_scan.METHOD: planar_segments.FUNCTION,
}
"""Methods that exist only as loops, and their functions."""
SHARE = 256
"""Fewest links of a group of parts that are scanned: the share of a thread."""
SHORT = 60
"""Joints up to which no function that could be looped is too long as rows."""


def loops_instead(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Form | None:
    """Return the function as loops over links, or None where it is to be rows.

    Raises OutOfReach where a looped form is asked for and there is none.
    """
    if method in ALONE:
        return by_loops_alone(mechanism, function, method, options)
    if has_rows_alone(mechanism, options):
        return None
    try:
        return looped(mechanism, function, method, options)
    except OutOfReach:
        if options.form == LOOPED:
            raise
        return None


def prefers_rows(loops: Form, options: ProgramOptions) -> bool:
    """True if rows are taken as long as they are not too many, and the loops are short enough for that."""
    return options.form == AUTO and instead_of_rows(loops) and loops.outline.length <= ROW_BUDGET


def has_rows_alone(mechanism: Mechanism, options: ProgramOptions) -> bool:
    """True if no function is made of loops over links, but by a method that is loops alone."""
    return options.form == UNROLLED or (options.form == AUTO and len(mechanism.joints) <= SHORT)


def instead_of_rows(form: Form) -> bool:
    """True if a form is loops by a method that has rows too, unless they are too many."""
    return form.looped and form.method not in ALONE


def looped(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> LoopProgram:
    """Build a function as loops over links, by a method or by the one with the fewest operations. Raises OutOfReach."""
    why = _not_looped(mechanism, function, options)
    if why is not None:
        raise OutOfReach(
            f"{function} of '{mechanism.name}' has no looped form {why}; take --form unrolled"
        )
    (frame,) = frames(mechanism, FUNCTIONS[function], options) or ("",)
    found: LoopProgram | str
    if method == constraint_force_scan.METHOD and function in constraint_force_scan.FUNCTIONS:
        found = _by_scans(mechanism, method, function, _scanned_parts(mechanism, options))
    else:
        found = _looped(mechanism, function, method, frame)
    if isinstance(found, str):
        raise OutOfReach(found)
    return found.in_real(options.real)


def by_loops_alone(
    mechanism: Mechanism, function: str, name: str, options: ProgramOptions
) -> LoopProgram:
    """Build a function of one chain by one of ALONE: by sweeps along parts, or by scans over parts.

    There are as many parts as a vector has lanes, or a multiple of that for several threads. Raises OutOfReach if the
    robot is no such chain.
    """
    if function != ALONE[name]:
        raise ArgumentError(
            f"method '{name}' does not compute {function}; it computes {ALONE[name]}"
        )
    if options.form == UNROLLED:
        raise OutOfReach(
            f"{function} by {name} is loops over links, and rows are asked for; take {name.split(':')[0]}, or leave "
            "out --form unrolled"
        )
    why = _not_looped(mechanism, function, options)
    if why is not None:
        raise OutOfReach(f"{function} of '{mechanism.name}' is not cut into segments {why}")
    found = (
        _by_scans(mechanism, name, function, _scanned_parts(mechanism, options))
        if name in SCANS
        else _in_parts(mechanism, name, segment_lengths.segments(mechanism, options.real))
    )
    if isinstance(found, str):
        raise OutOfReach(found)
    return found.in_real(options.real)


def _scanned_parts(mechanism: Mechanism, options: ProgramOptions) -> int:
    """Return the number of parts that are scanned at the same time: a power of two."""
    groups = max(1, min(segment_lengths.MOST, mechanism.nv // SHARE))
    return REALS[options.real].lanes * (1 << groups.bit_length() - 1)


@lru_cache(maxsize=16)
def _by_scans(mechanism: Mechanism, name: str, function: str, count: int) -> LoopProgram | str:
    """Build the loop program, or return why there is none."""
    if (refused := methods.find(name).refusal(mechanism)) is not None:
        raise RequestError(refused)
    try:
        found: LoopProgram = SCANS[name].build_scan(mechanism, count, function)
        return found
    except OutOfReach as error:
        return str(error)


@lru_cache(maxsize=16)
def _in_parts(mechanism: Mechanism, name: str, count: int) -> LoopProgram | str:
    """Build the loop program, or return why there is none."""
    try:
        found: LoopProgram = IN_PARTS[name].build_parts(mechanism, count)
        if methods.find(name).segments_end_free:
            found = check(replace(found, part_lengths=segment_lengths.cut(mechanism, count)[0]))
        return found
    except OutOfReach as error:
        return str(error)


def _not_looped(mechanism: Mechanism, function: str, options: ProgramOptions) -> str | None:
    """Return why a function has no looped form, as the end of that sentence; None if it may have one."""
    asked = relevant(mechanism, function, options)
    for option, given in (
        ("parameter", asked.parameters),
        ("payload", asked.payload),
        ("wrench", asked.wrenches),
        ("contact", asked.contacts),
        ("baumgarte", asked.baumgarte),
    ):
        if given:
            return f"with --{option}"
    what = FUNCTIONS[function]
    if len(frames(mechanism, what, options)) > 1:
        return "of several frames"
    if what.follows_convention and options.convention != USUAL:
        return "with another --jacobian-frame or order of rows"
    if mechanism.coupled:
        return "where joints follow others"
    if any(joint.drive.each for joint in mechanism.joints):
        return "where the drives of one joint differ"
    if mechanism.compensated_parts:
        return "where weight is borne (gravcomp)"
    if what.derivative is not None or what.holds_loops_closed:
        return "yet"
    return None


@lru_cache(maxsize=64)
def _looped(
    mechanism: Mechanism, function: str, method: str | None, frame: str
) -> LoopProgram | str:
    """Build the loop program by the method with the fewest operations, or return why there is none."""
    if method is not None and (refused := methods.find(method).refusal(mechanism)) is not None:
        raise RequestError(refused)
    found: list[LoopProgram] = []
    why = f"{function} of '{mechanism.name}' has no looped form; take --form unrolled"
    for several in [[method]] if method is not None else _candidates(mechanism, function):
        for name in several:
            try:
                found.append(recursion(mechanism, function, name, frame))
            except OutOfReach as error:
                why = str(error)
        if found:
            return min(found, key=lambda one: one.cost)
    return why


def _candidates(mechanism: Mechanism, function: str) -> tuple[list[str], list[str]]:
    """The methods that go along the links and suit the robot, each derivation once; apart from them those whose answer is a
    difference of larger terms, which loses digits and takes more operations than others. Those that take M apart entry by entry
    do not.
    """
    apart = FUNCTIONS[function].needs_inverse or FUNCTIONS[function].by_pivots
    several = [
        name
        for name in methods.applicable_providers(function, mechanism)
        if methods.composition(name, function) is None
        and not methods.find(name).explicit_only
        and not (apart and methods.find(name).supports_mimic)
        and methods.find(name).refusal(mechanism) is None
    ]
    once = [
        name
        for name in several
        if name == methods.canonical_name(name, function, mechanism)
        or methods.canonical_name(name, function, mechanism) not in several
    ]
    differing = [name for name in once if methods.find(name).cancels(mechanism)]
    return [name for name in once if name not in differing], differing

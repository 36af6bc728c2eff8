"""Choice of the form of a function: a Program with rows for every link, or a LoopProgram, whose
text does not grow with the robot.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from symgen import methods
from symgen.ir.loops import Form, LoopProgram, check
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import segment_lengths
from symgen.pipeline.derive import ROW_BUDGET, frame_names, relevant
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
"""Builders of sweeps along the parts of one chain, by method; each computes one function."""
SCANS = {constraint_force_scan.METHOD: constraint_force_scan, planar_scan.METHOD: planar_scan}
"""Builders of parallel scans of one chain, by method; each computes a few functions."""
ALONE = {
    riccati_segments.METHOD: riccati_segments.FUNCTION,
    planar_segments.METHOD: planar_segments.FUNCTION,
    planar_scan.METHOD: planar_segments.FUNCTION,
}
"""Methods that exist only in looped form, and their functions."""
SHARE = 256
"""Minimum number of links of a group of scanned parts: the share of a thread."""
SHORT = 60
"""Number of joints up to which no loopable function is too long in unrolled form."""


def choose_looped_form(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> Form | None:
    """Return the function in looped form, or None if it is to be unrolled.

    Raises OutOfReach if the looped form is requested and does not exist.
    """
    if method in ALONE:
        return build_loops_only(mechanism, function, method, options)
    if is_unrolled_only(mechanism, options):
        return None
    try:
        return build_looped(mechanism, function, method, options)
    except OutOfReach:
        if options.form == LOOPED:
            raise
        return None


def prefers_rows(looped_form: Form, options: ProgramOptions) -> bool:
    """True if the unrolled form is used while its rows are not too many, and the loops are short
    enough for that.
    """
    return (
        options.form == AUTO
        and has_unrolled_form(looped_form)
        and looped_form.outline.length <= ROW_BUDGET
    )


def is_unrolled_only(mechanism: Mechanism, options: ProgramOptions) -> bool:
    """True if no function uses the looped form, except by methods that exist only in that form."""
    return options.form == UNROLLED or (options.form == AUTO and len(mechanism.joints) <= SHORT)


def has_unrolled_form(form: Form) -> bool:
    """True if a form is looped by a method that also has an unrolled form."""
    return form.looped and form.method not in ALONE


def build_looped(
    mechanism: Mechanism, function: str, method: str | None, options: ProgramOptions
) -> LoopProgram:
    """Return a function in looped form, by a method or by the one with the fewest operations.
    Raises OutOfReach.
    """
    reason = _reason_not_looped(mechanism, function, options)
    if reason is not None:
        raise OutOfReach(
            f"{function} of '{mechanism.name}' has no looped form {reason}; use --form unrolled"
        )
    (frame,) = frame_names(mechanism, FUNCTIONS[function], options) or ("",)
    built: LoopProgram | str
    if method == constraint_force_scan.METHOD and function in constraint_force_scan.FUNCTIONS:
        built = _by_scans(mechanism, method, function, _scanned_parts(mechanism, options))
    else:
        built = _looped(mechanism, function, method, frame)
    if isinstance(built, str):
        raise OutOfReach(built)
    return built.in_real(options.real)


def build_loops_only(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> LoopProgram:
    """Return a function of one chain by one of ALONE: by sweeps along parts, or by scans over
    parts.

    The number of parts is the number of lanes of a vector, or a multiple of it for several threads.
    Raises OutOfReach if the robot is not such a chain.
    """
    if function != ALONE[method]:
        raise ArgumentError(
            f"method '{method}' does not compute {function}; it computes {ALONE[method]}"
        )
    if options.form == UNROLLED:
        raise OutOfReach(
            f"{method} exists only in looped form; use --method {method.split(':')[0]}, or leave"
            " out --form unrolled"
        )
    reason = _reason_not_looped(mechanism, function, options)
    if reason is not None:
        raise OutOfReach(f"{function} of '{mechanism.name}' cannot be cut into segments {reason}")
    built = (
        _by_scans(mechanism, method, function, _scanned_parts(mechanism, options))
        if method in SCANS
        else _in_parts(mechanism, method, segment_lengths.segment_count(mechanism, options.real))
    )
    if isinstance(built, str):
        raise OutOfReach(built)
    return built.in_real(options.real)


def _scanned_parts(mechanism: Mechanism, options: ProgramOptions) -> int:
    """Return the number of parts that are scanned in parallel: a power of two."""
    groups = max(1, min(segment_lengths.MOST, mechanism.nv // SHARE))
    return REALS[options.real].lanes * (1 << groups.bit_length() - 1)


@lru_cache(maxsize=16)
def _by_scans(mechanism: Mechanism, name: str, function: str, count: int) -> LoopProgram | str:
    """Return the loop program, or the reason why it does not exist."""
    if (refused := methods.find(name).refusal(mechanism)) is not None:
        raise RequestError(refused)
    try:
        built: LoopProgram = SCANS[name].build_scan(mechanism, count, function)
        return built
    except OutOfReach as error:
        return str(error)


@lru_cache(maxsize=16)
def _in_parts(mechanism: Mechanism, name: str, count: int) -> LoopProgram | str:
    """Return the loop program, or the reason why it does not exist."""
    try:
        built: LoopProgram = IN_PARTS[name].build_parts(mechanism, count)
        if methods.find(name).segments_end_free:
            built = check(
                replace(built, part_lengths=segment_lengths.balanced_lengths(mechanism, count)[0])
            )
        return built
    except OutOfReach as error:
        return str(error)


def _reason_not_looped(mechanism: Mechanism, function: str, options: ProgramOptions) -> str | None:
    """Return why a function has no looped form, as a sentence's end; None if it may have one."""
    relevant_options = relevant(mechanism, function, options)
    for option, value in (
        ("parameter", relevant_options.parameters),
        ("payload", relevant_options.payload),
        ("wrench", relevant_options.wrenches),
        ("contact", relevant_options.contacts),
        ("baumgarte", relevant_options.baumgarte),
    ):
        if value:
            return f"with --{option}"
    specification = FUNCTIONS[function]
    if len(frame_names(mechanism, specification, options)) > 1:
        return "with several frames"
    if specification.follows_convention and options.convention != USUAL:
        return "with another --jacobian-frame or --jacobian-order"
    if mechanism.coupled:
        return "with mimic joints"
    if any(joint.drive.each for joint in mechanism.joints):
        return "with different drives in one joint"
    if mechanism.compensated_parts:
        return "with gravity compensation (gravcomp)"
    if specification.derivative is not None or specification.holds_loops_closed:
        return "yet"
    return None


@lru_cache(maxsize=64)
def _looped(
    mechanism: Mechanism, function: str, method: str | None, frame: str
) -> LoopProgram | str:
    """Return the loop program by the method with the fewest operations, or the reason why there is
    none.
    """
    if method is not None and (refused := methods.find(method).refusal(mechanism)) is not None:
        raise RequestError(refused)
    built: list[LoopProgram] = []
    reason = f"{function} of '{mechanism.name}' has no looped form; use --form unrolled"
    for methods_of_rank in [[method]] if method is not None else _candidates(mechanism, function):
        for name in methods_of_rank:
            try:
                built.append(recursion(mechanism, function, name, frame))
            except OutOfReach as error:
                reason = str(error)
        if built:
            return min(built, key=lambda program: program.cost)
    return reason


def _candidates(mechanism: Mechanism, function: str) -> tuple[list[str], list[str]]:
    """Return the methods that recurse along the links and suit the robot, each derivation once, in
    two ranks.

    The second rank has the methods whose result is a difference of larger terms: they have a
    precision loss and more operations. Methods that factorize M entry by entry are excluded.
    """
    factorizes = FUNCTIONS[function].needs_inverse or FUNCTIONS[function].by_pivots
    suitable = [
        name
        for name in methods.applicable_providers(function, mechanism)
        if methods.composition(name, function) is None
        and not methods.find(name).explicit_only
        and not (factorizes and methods.find(name).supports_mimic)
        and methods.find(name).refusal(mechanism) is None
    ]
    distinct = [
        name
        for name in suitable
        if name == methods.canonical_name(name, function, mechanism)
        or methods.canonical_name(name, function, mechanism) not in suitable
    ]
    differences = [name for name in distinct if methods.find(name).cancels(mechanism)]
    return [name for name in distinct if name not in differences], differences

"""Warnings of a request: what the functions of one robot do not cover, which frame was chosen, which digits are lost.

Their kinds are not "warning", since the command line prints each of them as a note of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from symgen.description.tip import choose_tip
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.choose import loses_digits
from symgen.vocabulary.functions import FUNCTIONS, PREPARING
from symgen.vocabulary.options import ProgramOptions

FRAME, LOOPS, LEFT_OUT, MISSING, PRECISION = "frame", "loops", "left out", "missing", "precision"
"""Kinds of these warnings."""
Notices = list[tuple[str, str]]
"""Kind and sentence of each."""


def notices(
    mechanism: Mechanism,
    made: Mapping[str, Form],
    options: ProgramOptions,
    named: bool,
    refused: Mapping[str, str],
) -> Notices:
    """All that is to be said of Programs that were `made`.

    `named`: True if the user named the functions; `refused`: those that are not made, with the reason of each.
    """
    lost = [
        (PRECISION, lost_digits(program))
        for program in made.values()
        if loses_digits(mechanism, program, options)
    ]
    return [
        *of_names(mechanism, made, options, named),
        *absent(refused, MISSING if named else LEFT_OUT),
        *lost,
    ]


def of_names(
    mechanism: Mechanism, functions: Iterable[str], options: ProgramOptions, named: bool
) -> Notices:
    """Return notices that depend on the functions' names alone: a frame chosen among several alike, and ignored loops."""
    known = {name: FUNCTIONS[name] for name in functions if name not in PREPARING}
    said: Notices = []
    framed = [name for name, function in known.items() if function.needs_frame]
    if (
        named
        and framed
        and options.frame is None
        and mechanism.frames
        and (chosen := choose_tip(mechanism)).alike
    ):
        said.append(
            (
                FRAME,
                f"{_listed(framed)} of '{mechanism.name}' {'is' if len(framed) == 1 else 'are'} about the frame "
                f"{chosen.name} ({chosen.why}; like it: {', '.join(chosen.alike[:3])}); name another by frame",
            )
        )
    if mechanism.loops:
        open_ones = [
            name
            for name, f in known.items()
            if f.needs_inverse and not f.needs_loops and not f.counts("NT")
        ]
        if open_ones:
            said.append(
                (
                    LOOPS,
                    f"{_listed(open_ones)} of '{mechanism.name}' {'ignores' if len(open_ones) == 1 else 'ignore'} "
                    f"its loops ({_listed([loop.name for loop in mechanism.loops])}), as if they were open; "
                    "constrained_forward_dynamics keeps them closed",
                )
            )
    return said


def absent(refused: Mapping[str, str], kind: str) -> Notices:
    """One notice for all functions that are not made for the same reason."""
    reasons: dict[str, list[str]] = {}
    for name, why in refused.items():
        reasons.setdefault(why.removeprefix(name), []).append(name)
    return [
        (
            kind,
            f"{kind}: {refused[names[0]]}"
            + (f"; likewise {_listed(names[1:])}" if names[1:] else ""),
        )
        for names in reasons.values()
    ]


def lost_digits(program: Form) -> str:
    """The sentence about a Program whose method loses its digits on a robot."""
    return (
        f"{program.function} by {program.method} loses its digits in {program.real} on this robot, and 'symgen verify' does "
        "not judge it; leave the method to symgen, or compare them with 'symgen compare'"
    )


def _listed(names: Iterable[str], shown: int = 6) -> str:
    """The names with commas, the first ones of many."""
    known = [*names]
    return ", ".join(known[:shown]) + (
        f" and {len(known) - shown} more" if len(known) > shown else ""
    )

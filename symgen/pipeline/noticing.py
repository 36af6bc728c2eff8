"""Warnings of a request: functions that ignore closed loops, a frame that was chosen automatically,
and precision losses.

Their kinds differ from "warning", since the command line prints each of them as a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from symgen.description.tip import choose_tip
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.choose import has_precision_loss
from symgen.support.lists import shortened_list
from symgen.vocabulary.functions import FUNCTIONS, PREPARING
from symgen.vocabulary.options import ProgramOptions

FRAME, LOOPS, LEFT_OUT, MISSING, PRECISION = "frame", "loops", "left out", "missing", "precision"
"""Kinds of these warnings."""
Notices = list[tuple[str, str]]
"""Kind and sentence of each warning."""


def notices(
    mechanism: Mechanism,
    built: Mapping[str, Form],
    options: ProgramOptions,
    named: bool,
    refused: Mapping[str, str],
) -> Notices:
    """Return all warnings about built Programs.

    `named`: True if the user named the functions. `refused`: the functions that were not built,
    each with its reason.
    """
    lost = [
        (PRECISION, precision_notice(program))
        for program in built.values()
        if has_precision_loss(mechanism, program, options)
    ]
    return [
        *name_notices(mechanism, built, options, named),
        *absence_notices(refused, MISSING if named else LEFT_OUT),
        *lost,
    ]


def name_notices(
    mechanism: Mechanism, functions: Iterable[str], options: ProgramOptions, named: bool
) -> Notices:
    """Return warnings that depend on the functions' names only: an automatically chosen frame, and
    ignored loops.
    """
    by_name = {name: FUNCTIONS[name] for name in functions if name not in PREPARING}
    warnings: Notices = []
    framed = [name for name, function in by_name.items() if function.needs_frame]
    if (
        named
        and framed
        and options.frame is None
        and mechanism.frames
        and (chosen := choose_tip(mechanism)).alike
    ):
        warnings.append(
            (
                FRAME,
                (
                    f"{_listed(framed)} of '{mechanism.name}'"
                    f" {'uses' if len(framed) == 1 else 'use'} the frame {chosen.name}"
                    f" ({chosen.why}; alternatives: {', '.join(chosen.alike[:3])}); choose another"
                    " with frame"
                ),
            )
        )
    if mechanism.loops:
        ignoring = [
            name
            for name, f in by_name.items()
            if f.needs_inverse and not f.needs_loops and not f.counts("NT")
        ]
        if ignoring:
            warnings.append(
                (
                    LOOPS,
                    (
                        f"{_listed(ignoring)} of '{mechanism.name}'"
                        f" {'ignores' if len(ignoring) == 1 else 'ignore'} its loops"
                        f" ({_listed([loop.name for loop in mechanism.loops])}), as if they were"
                        " open; constrained_forward_dynamics keeps them closed"
                    ),
                )
            )
    return warnings


def absence_notices(refused: Mapping[str, str], kind: str) -> Notices:
    """Return one warning for all functions that were not built for the same reason."""
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


def precision_notice(program: Form) -> str:
    """Return the warning about a Program whose method has a precision loss on a robot."""
    return (
        f"{program.function} by {program.method} has a precision loss in {program.real} on this"
        " robot, and 'symgen verify' cannot judge it; let symgen choose the method, or compare"
        " methods with 'symgen compare'"
    )


def _listed(names: Iterable[str], count: int = 6) -> str:
    """Return the names with commas, the first ones of many."""
    return shortened_list(names, count)

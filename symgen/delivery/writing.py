"""The last step of the way through: Programs → a folder of C, with what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from symgen import emission
from symgen.certificate import checked_floors
from symgen.delivery import folder, selftest
from symgen.delivery.contents import FolderContents
from symgen.delivery.evidence import cost_sheet, proof_sheet
from symgen.description.arguments import validated
from symgen.description.loading import load
from symgen.description.quantities import shown
from symgen.description.tip import tip
from symgen.ir.program import Program
from symgen.machine import targets
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import noticing
from symgen.pipeline.adjusting import named
from symgen.pipeline.build import (
    INVERSE_ON_REQUEST_ABOVE,
    Progress,
    programs_and_refusals,
    refusal,
    requested,
)
from symgen.support.errors import ArgumentError, TextRefused, warn, warn_each
from symgen.vocabulary.functions import FUNCTIONS, OF_LOOPS, USUAL
from symgen.vocabulary.identifiers import identifier, name_fault, renaming
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import (
    AUTO,
    NORMAL,
    Links,
    Names,
    ProgramOptions,
    Rows,
    TextOptions,
    names_of,
)

RENAMED, REFUSED = "renamed", "refused"
"""Kinds of warnings: a robot whose name C does not take, and a text that the target's compiler refuses. The command line says
both by itself."""


def wrappers(asked: Iterable[str]) -> list[str]:
    """The wrappers of the C that are asked for, each once, in order; RequestError for one that does not exist."""
    return [name for name in sorted(set(asked)) if emission.wrapper(name)]


def left_out(
    mechanism: Mechanism,
    made: Iterable[str],
    payload: str | None = None,
    refused: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The functions that are not among those `made`, and why, in one sentence each. The reason lies in the robot, not in the
    request.

    `refused`: those that no method makes, with the sentence. What is about contacts, which no robot has by itself, is left out of
    this as well.
    """
    there = [name for name, function in FUNCTIONS.items() if not function.counts("NT")]
    there += OF_LOOPS if mechanism.loops else ()
    why = {name: refusal(mechanism, name, payload) for name in there if name not in set(made)}
    long = {"inverse_mass_matrix"} if mechanism.nv > INVERSE_ON_REQUEST_ABOVE else set()
    found = refused or {}
    return {
        name: text
        or found.get(name)
        or (
            f"{mechanism.nv} joints make it long; ask for it with -f {name}"
            if name in long
            else "not asked for; -f makes it"
        )
        for name, text in why.items()
    }


@validated
def generate(
    robot: Mechanism | str | PathLike[str],
    out: str | PathLike[str],
    functions: Iterable[str] | None = None,
    real: str | None = None,
    name: str | None = None,
    frame: Links = None,
    payload: str | None = None,
    trig: str | None = None,
    wrench: Links = None,
    wrap: Iterable[str] = (),
    target: str | None = None,
    checked: bool = False,
    evidence: bool = True,
    functions_only: bool = False,
    progress: Progress | None = None,
    jacobian_frame: str = USUAL.frame,
    jacobian_order: str = USUAL.order,
    task_rows: Rows = None,
    contact: Links = None,
    effort: str = NORMAL,
    batch: bool = False,
    parameters: Names = (),
    baumgarte: bool = False,
    form: str = AUTO,
    strict: bool = False,
) -> dict[str, Any]:
    """Write the folder of C for a robot to `out`, whole or not at all; returns its manifest.

    `functions` as in `symgen.pipeline.build.requested`. `real` None is float where the target's FPU has single precision only,
    else double. `frame`, `payload`, `wrench`, `jacobian_frame`, `jacobian_order`, `task_rows`, `contact`,
    `effort` and `baumgarte` as in `symgen.program`, `form` one of 'unrolled', 'looped' and 'auto', which loops over tables of
    links what would otherwise be too long. `parameters` name numbers that may change at run time, set by
    NAME_set_parameters (`symgen.compile`). `name` prefixes every C name and is refused where it cannot; None is the robot's own
    name, of which `manifest["robot"]` is what C can take. `trig` None is 'libm' on a target, else 'auto'
    (`symgen.vocabulary.options.TRIG`).
    `wrap` names the wrappers of the C that are wanted too ('cpp17', 'casadi'), and 'cuda' for kernels. `target`
    (`symgen.machine.targets`) adds the folder firmware/ for it and, unless `evidence` is False, what a call costs there
    (`cost_sheet`) and what is proved (`proof_sheet`). `checked` functions return a status, and do not touch their results
    when it is not OK. With `batch` every function is there for many states as well. With `functions_only` the folder holds
    the functions, their headers and what wraps them and nothing else: no self-test, description or manifest, nothing for the
    target. Where a function of several that are named needs more rows than a C compiler takes, the others are written, and the
    manifest's `not_modelled` has an entry of kind 'missing' with the reason, which a SymgenWarning says as well; `strict` raises
    TooLong instead, as is done where nothing is left. A text that the target's compiler refuses is written with a SymgenWarning;
    `strict` raises TextRefused instead. Raises a SymgenError subclass, one sentence, for whatever cannot be
    carried out.
    """
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)  # description → mechanism
    wraps = tuple(wrappers(wrap))
    machine = None if target is None else nearest(target, targets.names(), "target")
    options = ProgramOptions(
        real or targets.real(machine),
        frame=frame,
        payload=payload,
        wrench=wrench,
        jacobian_frame=jacobian_frame,
        jacobian_order=jacobian_order,
        task_rows=task_rows,
        contact=contact,
        effort=effort,
        parameters=names_of(parameters),
        baumgarte=baumgarte,
        form=form,
    )
    text = TextOptions(
        trig or targets.trig(machine), checked=checked, wrap=wraps, target=machine, batch=batch
    )
    if (slow := None if machine is None else targets.slow(machine, options.real)) is not None:
        warn(slow)
    return deliver(
        mechanism,
        out,
        functions,
        options,
        text,
        name=name,
        evidence=evidence,
        functions_only=functions_only,
        progress=progress,
        strict=strict,
    )


def deliver(
    mechanism: Mechanism,
    out: str | PathLike[str],
    functions: Iterable[str] | None,
    options: ProgramOptions,
    text: TextOptions,
    *,
    name: str | None = None,
    evidence: bool = True,
    functions_only: bool = False,
    progress: Progress | None = None,
    strict: bool = False,
) -> dict[str, Any]:
    """`generate` of a mechanism, with what is chosen in two pieces."""
    _refuse_name(name)
    tell, asked = progress or (lambda what, done, total: None), options
    options = replace(
        options,
        frame=options.frame or tip(mechanism),
        parameters=named(mechanism, options.parameters),
    )
    options = options.guarded(text.checked)
    text = replace(text, target=None) if functions_only else text
    functions = None if functions is None else list(functions)
    found, refused = programs_and_refusals(
        mechanism, functions, options, tell, strict
    )  # → model → derivation → Programs
    warn_each(noticing.notices(mechanism, found, asked, functions is not None, refused))
    if name is None and (called := renaming(mechanism.name)):
        warn(f"{called}; generate(name=...) takes another", RENAMED)
    tell("answers for the self-test", 1, 3)
    cases = (
        [] if functions_only else selftest.cases(mechanism, found, options, text)
    )  # the reference's answers
    if text.checked:
        tell("certifying divisors", 2, 3)
    bounds = checked_floors(mechanism, found, options, text)
    known = {}
    if text.target is not None and evidence:
        tell(f"measuring on {text.target}", 0, 2)
        known["cost"] = cost_sheet(mechanism, found, text.target, options, text, bounds)
        if known["cost"].get("refused") and strict:
            raise TextRefused(known["cost"]["missing"])
        if known["cost"].get("refused"):
            warn(known["cost"]["missing"], REFUSED)
        tell("proving", 1, 2)
        rows = {
            function: one for function, one in found.items() if isinstance(one, Program)
        }  # of loops nothing is proved
        known |= (
            {"proof": proof_sheet(mechanism, rows, options, text, name or mechanism.name)}
            if rows
            else {}
        )
    tell("writing the folder", 3, 3)
    words = _words(mechanism, functions, options)
    missing = {words[name]: why for name, why in refused.items() if name in words}
    absent = left_out(mechanism, {*found, *words}, options.payload, refused)
    contents = FolderContents(
        mechanism,
        found,
        name=name,
        options=options,
        text=text,
        cases=cases,
        evidence=known,
        floors=bounds,
        left_out=absent,
        missing=missing,
    )
    return folder.write(out, contents, functions_only)  # → C


def _words(
    mechanism: Mechanism, functions: Iterable[str] | None, options: ProgramOptions
) -> dict[str, str]:
    """{function: NAME or NAME=METHOD as it was asked for}; empty where no function is named."""
    wanted = {} if functions is None else requested(mechanism, functions, options.payload)
    return {name: f"{name}={method}" if method else name for name, method in wanted.items()}


def _refuse_name(name: str | None) -> None:
    """Raise ArgumentError for a chosen name that cannot stand before C names."""
    if name is None:
        return
    if not isinstance(name, str):
        raise ArgumentError(f"name is {name!r}; give a text such as 'arm'")
    if (fault := name_fault(name)) != "":
        raise ArgumentError(
            f"{shown(name)} cannot be the name in C (--name), since it {fault}; take '{identifier(name)}'"
        )

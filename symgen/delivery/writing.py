"""The last step of the way through: Programs → a folder of C, with what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Unpack

from symgen import emission
from symgen.certificate import checked_floors
from symgen.delivery import folder, selftest
from symgen.delivery.contents import FolderContents
from symgen.delivery.evidence import cost_sheet, proof_sheet
from symgen.description.arguments import validated_with
from symgen.description.loading import load
from symgen.description.quantities import quote
from symgen.description.tip import tip
from symgen.ir.loops import Form
from symgen.ir.program import Bound, Program
from symgen.machine import targets
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import noticing
from symgen.pipeline.adjusting import parameter_names
from symgen.pipeline.build import (
    INVERSE_ON_REQUEST_ABOVE,
    Progress,
    programs_and_refusals,
    refusal,
    requested,
)
from symgen.pipeline.request import Request, make_request
from symgen.support.errors import ArgumentError, TextRefused, warn, warn_each
from symgen.vocabulary.functions import FUNCTIONS, LOOP_FUNCTIONS
from symgen.vocabulary.identifiers import identifier, name_fault, renaming_note
from symgen.vocabulary.names import nearest
from symgen.vocabulary.options import FolderRequest

RENAMED, REFUSED = "renamed", "refused"
"""Kinds of warnings: a robot whose name C does not take, and a text that the target's compiler refuses. The command line says
both by itself."""

Floors = Mapping[str, Mapping[int, Bound]]


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
    there += LOOP_FUNCTIONS if mechanism.loops else ()
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


@validated_with(FolderRequest, trig=None)
def generate(
    robot: Mechanism | str | PathLike[str],
    out: str | PathLike[str],
    functions: Iterable[str] | None = None,
    real: str | None = None,
    name: str | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[FolderRequest],
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
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    wrap, target = tuple(wrappers(options["wrap"])), options["target"]
    machine = None if target is None else nearest(target, targets.names(), "target")
    request = make_request(
        mechanism,
        functions,
        options,
        real=real or targets.default_real(machine),
        trig=options["trig"] or targets.default_trig(machine),
        wrap=wrap,
        target=machine,
    )
    if (
        machine is not None
        and (slow := targets.reason_for_slowness(machine, request.options.real)) is not None
    ):
        warn(slow)
    return deliver(
        request,
        out,
        name=name,
        evidence=options["evidence"],
        functions_only=options["functions_only"],
        progress=progress,
    )


def deliver(
    request: Request,
    out: str | PathLike[str],
    *,
    name: str | None = None,
    evidence: bool = True,
    functions_only: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """`generate` of a Request."""
    _refuse_name(name)
    tell = progress or (lambda what, done, total: None)
    mechanism, text = request.mechanism, request.text
    options = replace(
        request.options,
        frame=request.options.frame or tip(mechanism),
        parameters=parameter_names(mechanism, request.options.parameters),
    )
    text = replace(text, target=None) if functions_only else text
    resolved = replace(request, options=options, text=text)
    found, refused = programs_and_refusals(resolved, tell)  # → model → derivation → Programs
    is_named = request.functions is not None
    warn_each(noticing.notices(mechanism, found, request.options, is_named, refused))
    if name is None and (called := renaming_note(mechanism.name)):
        warn(f"{called}; generate(name=...) sets another name", RENAMED)
    tell("answers for the self-test", 1, 3)
    cases = [] if functions_only else selftest.cases(mechanism, found, options, text)
    if text.checked:
        tell("certifying divisors", 2, 3)
    bounds = checked_floors(mechanism, found, options, text)
    known = {}
    if text.target is not None and evidence:
        known = _evidence(resolved, found, bounds, name or mechanism.name, tell)
    tell("writing the folder", 3, 3)
    words = _words(request)
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
    return folder.write(out, folder.texts(contents), functions_only)  # → C


def _evidence(
    request: Request, made: Mapping[str, Form], bounds: Floors, name: str, tell: Progress
) -> dict[str, Any]:
    """Measure the C on its target and prove what can be proved of it; TextRefused where `strict`, if its compiler refuses it."""
    mechanism, options, text = request.mechanism, request.options, request.text
    target = str(text.target)
    tell(f"measuring on {target}", 0, 2)
    known = {"cost": cost_sheet(mechanism, made, target, options, text, bounds)}
    if known["cost"].get("refused") and request.strict:
        raise TextRefused(known["cost"]["missing"])
    if known["cost"].get("refused"):
        warn(known["cost"]["missing"], REFUSED)
    tell("proving", 1, 2)
    rows = {function: one for function, one in made.items() if isinstance(one, Program)}
    if rows:  # of loops nothing is proved
        known["proof"] = proof_sheet(mechanism, rows, options, text, name)
    return known


def _words(request: Request) -> dict[str, str]:
    """{function: NAME or NAME=METHOD as it was asked for}; empty where no function is named."""
    if request.functions is None:
        return {}
    wanted = requested(request.mechanism, request.functions, request.options.payload)
    return {name: f"{name}={method}" if method else name for name, method in wanted.items()}


def _refuse_name(name: str | None) -> None:
    """Raise ArgumentError for a chosen name that cannot stand before C names."""
    if name is None:
        return
    if not isinstance(name, str):
        raise ArgumentError(f"name is {name!r}; give a text such as 'arm'")
    if (fault := name_fault(name)) != "":
        raise ArgumentError(
            f"{quote(name)} cannot be the name in C (--name), since it {fault}; take '{identifier(name)}'"
        )

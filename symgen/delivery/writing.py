"""Generation of a folder of C from Programs: `generate`, and its stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Unpack

from symgen import emission
from symgen.certificate import checked_bounds
from symgen.delivery import folder, selftest
from symgen.delivery.contents import FolderContents
from symgen.delivery.evidence import cost_sheet, proof_sheet
from symgen.description.arguments import validated_with
from symgen.description.loading import load
from symgen.description.quantities import quote
from symgen.description.tip import tip
from symgen.ir.loops import Form
from symgen.ir.program import Bound
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
"""Kinds of warnings: a robot name that is no C name, and a text that the target's compiler rejects.
The command line prints both by itself.
"""

DivisorBounds = Mapping[str, Mapping[int, Bound]]


def wrappers(names: Iterable[str]) -> list[str]:
    """Return the named wrappers of the C, each once, in order. RequestError for an unknown one."""
    return [name for name in sorted(set(names)) if emission.wrapper(name)]


def left_out(
    mechanism: Mechanism,
    written_functions: Iterable[str],
    payload: str | None = None,
    refused: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the functions that are not among `written_functions`, each with one sentence of
    reason.

    The reason lies in the robot, not in the request. `refused` has the sentences of functions that
    no method gives. Functions of contacts are not listed, because no robot has contacts by itself.
    """
    candidates = [name for name, function in FUNCTIONS.items() if not function.counts("NT")]
    candidates += LOOP_FUNCTIONS if mechanism.loops else ()
    why = {
        name: refusal(mechanism, name, payload)
        for name in candidates
        if name not in set(written_functions)
    }
    long = {"inverse_mass_matrix"} if mechanism.nv > INVERSE_ON_REQUEST_ABOVE else set()
    sentences = refused or {}
    return {
        name: text
        or sentences.get(name)
        or (
            f"{mechanism.nv} joints make it long; name it with -f {name}"
            if name in long
            else "not requested; -f adds it"
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
    """Write the folder of C for a robot to `out`, whole or not at all, and return its manifest.

    - `functions` as in `symgen.pipeline.build.requested`. `real` None is float if the target's FPU
      is single precision, else double.
    - `frame`, `payload`, `wrench`, `jacobian_frame`, `jacobian_order`, `task_rows`, `contact`,
      `effort` and `baumgarte` are options of `symgen.program`. `parameters` name numbers that may
      change at run time.
    - `form` is 'unrolled', 'looped' or 'auto', which loops over tables of links if the rows would
      be too many.
    - `name` is the prefix of every C name. None is the robot's name, changed if it is no C name
      (`manifest["robot"]`).
    - `trig` None is 'libm' on a target, else 'auto' (`symgen.vocabulary.options.TRIG`).
    - `wrap` names wrappers ('cpp17', 'casadi') or 'cuda' for kernels. `batch` adds every function
      for many states.
    - `target` (`symgen.machine.targets`) adds firmware/ and, unless `evidence` is False, the cost
      sheet and the proofs.
    - `checked` functions return a status and store results only if it is OK.
    - `functions_only` writes the functions, their headers and wrappers, and nothing else.

    If one of several named functions needs too many rows, the others are written, and
    `not_modelled` of the manifest has an entry of kind 'missing'; a SymgenWarning says so. `strict`
    raises TooLong instead, as does a request of which nothing is left. A text that the target's
    compiler rejects is written with a SymgenWarning; `strict` raises TextRefused. Other failures
    raise a subclass of SymgenError with one sentence.
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
    """Write the folder of a Request; the rest is as in `generate`."""
    _refuse_name(name)
    tell = progress or (lambda task, done, total: None)
    mechanism, text = request.mechanism, request.text
    options = replace(
        request.options,
        frame=request.options.frame or tip(mechanism),
        parameters=parameter_names(mechanism, request.options.parameters),
    )
    text = replace(text, target=None) if functions_only else text
    resolved = replace(request, options=options, text=text)
    programs, refused = programs_and_refusals(resolved, tell)  # → model → derivation → Programs
    is_named = request.functions is not None
    warn_each(noticing.notices(mechanism, programs, request.options, is_named, refused))
    if name is None and (new_name := renaming_note(mechanism.name)):
        warn(f"{new_name}; generate(name=...) sets another name", RENAMED)
    tell("answers for the self-test", 1, 3)
    cases = [] if functions_only else selftest.cases(mechanism, programs, options, text)
    if text.checked:
        tell("certifying divisors", 2, 3)
    bounds = checked_bounds(mechanism, programs, options, text)
    evidence_of_target = {}
    if text.target is not None and evidence:
        evidence_of_target = _evidence(resolved, programs, bounds, name or mechanism.name, tell)
    tell("writing the folder", 3, 3)
    words = _words(request)
    missing = {words[name]: why for name, why in refused.items() if name in words}
    absent = left_out(mechanism, {*programs, *words}, options.payload, refused)
    contents = FolderContents(
        mechanism,
        programs,
        name=name,
        options=options,
        text=text,
        cases=cases,
        evidence=evidence_of_target,
        divisor_bounds=bounds,
        left_out=absent,
        missing=missing,
    )
    return folder.write(out, folder.texts(contents), functions_only)  # → C


def _evidence(
    request: Request, programs: Mapping[str, Form], bounds: DivisorBounds, name: str, tell: Progress
) -> dict[str, Any]:
    """Measure the C on its target and run the proofs. Raise TextRefused with `strict` if the
    compiler rejects the text.
    """
    mechanism, options, text = request.mechanism, request.options, request.text
    target = str(text.target)
    tell(f"measuring on {target}", 0, 2)
    sheets = {"cost": cost_sheet(mechanism, programs, target, options, text, bounds)}
    if sheets["cost"].get("refused") and request.strict:
        raise TextRefused(sheets["cost"]["missing"])
    if sheets["cost"].get("refused"):
        warn(sheets["cost"]["missing"], REFUSED)
    tell("proving", 1, 2)
    rows = {function: form for function, form in programs.items() if not form.looped}
    if rows:  # proofs do not cover looped functions
        sheets["proof"] = proof_sheet(mechanism, rows, options, text, name)
    return sheets


def _words(request: Request) -> dict[str, str]:
    """Return {function: NAME or NAME=METHOD as requested}; empty if no function is named."""
    if request.functions is None:
        return {}
    method_of = requested(request.mechanism, request.functions, request.options.payload)
    return {name: f"{name}={method}" if method else name for name, method in method_of.items()}


def _refuse_name(name: str | None) -> None:
    """Raise ArgumentError for a name that cannot be the prefix of C names."""
    if name is None:
        return
    if not isinstance(name, str):
        raise ArgumentError(f"name is {name!r}; give a text such as 'arm'")
    if (fault := name_fault(name)) != "":
        raise ArgumentError(
            f"{quote(name)} cannot be the name in C (--name), since it {fault}; take"
            f" '{identifier(name)}'"
        )

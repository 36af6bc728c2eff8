"""Are the functions the robot's dynamics? Four independent answers, one report.

    report = symgen.verify("panda")
    report.passed      # True
    print(report)      # the table that `symgen verify panda` prints
    report.facts()     # the same for programs

`symgen.verify` is `symgen.delivery.verifying`, which knows the other files of a folder as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf, nan
from os import PathLike

from symgen.certificate import checked_floors
from symgen.description.loading import load
from symgen.description.tip import tip
from symgen.emission import printer, wrapper
from symgen.emission.backend import unrolled
from symgen.emission.target import Target
from symgen.ir.program import Bound
from symgen.ir.recursion import Form, Looped
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.pipeline.build import Progress
from symgen.reference.precision import Array
from symgen.support.errors import ArgumentError, BuildError
from symgen.verification.adjusted import given
from symgen.verification.algebra import check_algebra
from symgen.verification.blocks import check_blocks
from symgen.verification.compiled import compiled_runners, preprocessed, require_compiler, texts
from symgen.verification.device import check_device
from symgen.verification.evaluating import Runner, in_machine_reals, over
from symgen.verification.floating import check_floating
from symgen.verification.folder import Folder
from symgen.verification.identities import check_identities, companions
from symgen.verification.long import (
    DIGITS,
    LONG,
    ROADS,
    LongTruth,
    check_long_algebra,
    check_long_floating,
)
from symgen.verification.report import Check, Report
from symgen.verification.text import check_text
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS, PREPARING, USUAL
from symgen.vocabulary.options import (
    AUTO,
    GPU,
    HOST,
    NORMAL,
    PLAIN,
    Links,
    Names,
    ProgramOptions,
    Rows,
    TextOptions,
    names_of,
)

Floors = Mapping[str, Mapping[int, Bound]]
UNCOMPILED = "its C was not compiled: the Program ran over NumPy's reals instead"


def verify(
    robot: Mechanism | str | PathLike[str],
    functions: Iterable[str] | None = None,
    states: int = 16,
    *,
    real: str = "double",
    frame: Links = None,
    payload: str | None = None,
    wrench: Links = None,
    jacobian_frame: str = USUAL.frame,
    jacobian_order: str = USUAL.order,
    task_rows: Rows = None,
    contact: Links = None,
    effort: str = NORMAL,
    trig: str = HOST,
    checked: bool = False,
    parameters: Names = (),
    baumgarte: bool = False,
    form: str = AUTO,
    seed: int = 0,
    compiled: bool = True,
    progress: Progress | None = None,
) -> Report:
    """`symgen.verify` of what is no folder: a Mechanism, a built-in name, a description file or its text."""
    _some(states)
    functions = (
        None
        if functions is None
        else [functions]
        if isinstance(functions, str)
        else list(functions)
    )
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    options = ProgramOptions(
        real,
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
    ).guarded(checked)
    text = TextOptions(trig, checked=checked)
    wanted = build.requested(mechanism, functions, payload)
    why = {name: build.refusal(mechanism, name, payload) for name in FUNCTIONS}
    refused = {
        name: why[name] or f"{mechanism.nv} joints make it long; ask for it with -f {name}"
        for name in BY_DEFAULT
        if functions is None and name not in wanted
    }
    made, beyond = build.one_by_one(mechanism, functions, options, progress)
    programs = {
        name: made[name] for name in wanted if name in made
    }  # in the order in which they were asked for
    refused |= beyond
    helpers: dict[str, Form] = {}
    if functions is not None:  # so that a function alone is checked by an identity too
        near = programs.keys() - _far(mechanism, programs).keys()
        for other in dict.fromkeys(
            other for name in programs if name in near for other in companions(name, mechanism)
        ):
            if other not in programs and build.refusal(mechanism, other, payload) is None:
                helpers[other] = build.made(mechanism, other, None, replace(options, effort=NORMAL))
    whole = build.together({**programs, **helpers}, mechanism, options)
    programs, helpers = (
        {f: one for f, one in whole.items() if f not in helpers},
        {f: whole[f] for f in helpers},
    )
    report = verify_programs(
        mechanism,
        programs,
        options,
        text,
        states=states,
        seed=seed,
        compiled=compiled,
        helpers=helpers,
        progress=progress,
    )
    return replace(report, refused=refused)


def verify_folder(
    folder: Folder,
    programs: Mapping[str, Form],
    floors: Floors,
    states: int = 16,
    *,
    seed: int = 0,
    compiled: bool = True,
    progress: Progress | None = None,
    helpers: Mapping[str, Form] | None = None,
) -> Report:
    """The functions of a folder, as they lie in it: read, compiled with the folder's own headers, run. `programs` are theirs,
    and `floors` the certified bounds of their divisors. `helpers` are others of the same folder, which are not judged.
    """
    return verify_programs(
        folder.mechanism,
        programs,
        folder.options,
        folder.text,
        states=states,
        seed=seed,
        compiled=compiled,
        sources=folder.sources,
        blocks=folder.blocks,
        device=folder.device,
        header=folder.header,
        sincos=folder.sincos,
        name=folder.name,
        floors=floors,
        helpers=helpers,
        progress=progress,
    )


def verify_programs(
    mechanism: Mechanism,
    programs: Mapping[str, Form],
    options: ProgramOptions | None = None,
    text: TextOptions = PLAIN,
    *,
    states: int = 16,
    seed: int = 0,
    compiled: bool = True,
    helpers: Mapping[str, Form] | None = None,
    sources: Mapping[str, str] | None = None,
    blocks: Mapping[str, str] | None = None,
    device: Mapping[str, str] | None = None,
    header: str | None = None,
    sincos: str = "",
    name: str = "",
    floors: Floors | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check given Programs (by function) against the reference on `mechanism`.

    `sources` replaces the C that the backend prints (a folder's files, by function), `blocks` that of many states (by file)
    and `device` that for a GPU, which are judged if `text` asks for them, `header` its NAME.h, `sincos` its NAME_sincos.h and
    `name` the NAME in them. The C is compiled as it is, and what is read is what the compiler's own preprocessor makes of it; of
    many states and for a GPU, what the text says. C that does not compile has failed. `helpers` are Programs that only stand in
    for the functions that an identity needs.
    `floors` are the certified bounds of divisors, by function, where they are known already.
    """
    _some(states)
    options = options or ProgramOptions()
    frame = options.frame or (tip(mechanism) if mechanism.frames else None)
    everything = {**(helpers or {}), **programs}
    anew = given(mechanism, everything, options, seed)
    loops = _far(mechanism, programs)
    far = LongTruth(mechanism, states, seed, frame) if loops else None
    truth = None
    if not loops.keys() >= programs.keys():
        truth = Truth(
            anew.mechanism,
            states,
            seed,
            frame=frame,
            payload=options.payload,
            wrench=options.wrench,
            task_rows=options.rows,
            contact=options.contact,
            convention=options.convention,
            given=anew.arguments,
            described=mechanism,
            baumgarte=options.baumgarte,
        )
        truth.know(
            {f: over(truth.scalars, program) for f, program in everything.items() if f in PREPARING}
        )
    labels = {f: f"{f}={program.method}" for f, program in programs.items()}
    total = 3 * len(programs) + 2
    checks: list[Check] = []
    notes: list[str] = []
    if anew.parameters:
        count = len(anew.parameters)
        what = (
            "1 number that may change at run time was"
            if count == 1
            else f"{count} numbers that may change at run time were"
        )
        notes.append(
            f"{what} drawn once, and the robot described with {'it' if count == 1 else 'them'}"
        )
    if far is not None:
        by = " and ".join(
            road
            for road, checks in ROADS.items()
            if any(FUNCTIONS[name].long_check in checks for name in loops)
        )
        notes.append(
            f"so long a robot: {', '.join(loops)} judged at {far.count} state{'s' * (far.count > 1)}, by {by}"
        )
    if truth is not None and truth.indefinite:
        notes.append(
            f"the declared inertias give an M that is not positive at {truth.indefinite} of {states} states; "
            "its functions are compared all the same"
        )

    for function, program in programs.items():
        if function in PREPARING:  # judged by what is made of it
            continue
        _tell(progress, f"algebra of {function}", len(checks), total)
        if far is not None and function in loops:
            checks.append(check_long_algebra(loops[function], far, labels[function]))
        elif truth is not None:
            checks.append(check_algebra(program, truth, labels[function]))

    target = Target(name or mechanism.name, mechanism.sizes, text)
    floors = floors or checked_floors(mechanism, everything, options, text)
    printed = {
        **texts({f: p for f, p in everything.items() if f not in (sources or {})}, target, floors),
        **(sources or {}),
    }
    headers = printer().headers(everything, target)
    if header is not None:  # a folder's own headers, and nothing for one that it has lost
        headers = {target.header: header} | ({target.sincos: sincos} if sincos else {})
    if compiled:
        require_compiler()
    seen = preprocessed(printed, headers, target) if sources and compiled else {}
    for function, program in programs.items():
        _tell(progress, f"text of {function}", len(checks), total)
        checks.append(
            check_text(
                program,
                printed[function],
                labels[function],
                target,
                header or "",
                sincos,
                floors[function] if text.checked else None,
                seen.get(function, ""),
            )
        )

    _tell(progress, "compiling", len(checks), total)
    runners: dict[str, Runner] = {}
    broken = ""
    if compiled:
        try:
            runners = compiled_runners(everything, printed, headers, target)
        except BuildError as error:  # a folder's text may be broken; the backend's own compiles
            if not sources:
                raise
            broken = str(error)
    else:
        runners = {f: in_machine_reals(p) for f, p in everything.items()}
    for function, program in programs.items():
        _tell(progress, f"floating point of {function}", len(checks), total)
        if broken:
            checks.append(Check("floating", labels[function], inf, 0.0, " eps", broken))
        elif far is not None and function in loops:
            found = check_long_floating(
                loops[function], runners[function], far, labels[function], text
            )
            checks.append(_uncompiled(found, compiled))
        elif truth is not None:
            checks.append(
                _uncompiled(
                    check_floating(program, runners[function], truth, labels[function], text),
                    compiled,
                )
            )

    if text.batch:
        _tell(progress, "many states", len(checks), total)
        own = printer().batches(programs, target, floors)
        checks += check_blocks(
            programs,
            blocks or own,
            own,
            headers,
            target,
            lambda form: _drawn(form, truth, far),
            runners if compiled else {},
            "the function of one state does not compile" if broken else UNCOMPILED,
        )
    if GPU in text.wrap:
        plain = unrolled(programs)
        own = wrapper(GPU).files(plain, target, floors)
        checks += check_device(plain, device or own, own, target, floors)
    _tell(progress, "identities", len(checks), total)
    lost = {check.subject.partition("=")[0] for check in checks if check.lost}
    near = {f: form for f, form in everything.items() if f not in loops}
    for found in (
        check_identities(
            near, {f: run for f, run in runners.items() if f in near} or None, truth, text, lost
        )
        if truth is not None
        else ()
    ):
        checks.append(_uncompiled(found, compiled or not found.unit))
    _tell(progress, "done", total, total)
    digits, condition = (DIGITS, nan) if truth is None else (truth.digits, truth.condition)
    return Report(
        mechanism.name,
        options.real,
        states if far is None or truth is not None else far.count,
        digits,
        condition,
        tuple(checks),
        {labels[f]: program.cost for f, program in programs.items()},
        notes=tuple(notes),
    )


def _far(mechanism: Mechanism, programs: Mapping[str, Form]) -> dict[str, Looped]:
    """Those that the reference has no time for: loops over the links of a long robot."""
    return {
        f: form
        for f, form in programs.items()
        if isinstance(form, Looped) and len(mechanism.joints) > LONG
    }


def _drawn(form: Form, truth: Truth | None, far: LongTruth | None) -> Mapping[str, Array]:
    """Arguments in machine numbers."""
    if far is not None and isinstance(form, Looped):
        return far.arguments(form, far.floats)
    assert truth is not None
    return truth.arguments(form.function, truth.floats)


def _uncompiled(found: Check, compiled: bool) -> Check:
    """The same; where its C was not compiled it is not judged."""
    return found if compiled or found.unjudged else replace(found, unjudged=UNCOMPILED)


def _some(states: int) -> None:
    if states < 1:
        raise ArgumentError(f"verification at {states} states checks nothing; ask for one or more")


def _tell(progress: Progress | None, what: str, done: int, total: int) -> None:
    if progress is not None:
        progress(what, done, total)

"""`symgen.verify`: a robot's C, or a folder that `generate` wrote: its functions, and every other file in it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path

from symgen.certificate import checked_floors
from symgen.delivery.printed import check_printed
from symgen.description.arguments import validated
from symgen.description.loading import is_text
from symgen.functions import PREPARING, USUAL
from symgen.mechanism import Mechanism
from symgen.options import AUTO, HOST, NORMAL, Links, Names, Rows
from symgen.programs import making
from symgen.programs.making import Progress
from symgen.verification.folder import read_folder
from symgen.verification.report import Report
from symgen.verification.verify import verify as verify_functions
from symgen.verification.verify import verify_folder


@validated
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
    """Check functions of a robot ("forward_dynamics" or "forward_dynamics=riccati"; None: every one) at seeded states.

    `robot` is a Mechanism, a built-in name, a description file, or a folder that `symgen generate` wrote: then the C in
    it is what is checked, and the manifest says which functions, methods and options. With all its
    functions, every other file of the folder is printed again too, and compared byte for byte.
    `trig` and `checked` say which C is meant. `compiled` False leaves the C compiler out: floating point is then looked at on
    the Program over NumPy's own reals, and the report says that the C's is not judged.
    Where M is singular, what divides by it is refused by naming the joint: in the report when `functions` is None, else
    as RequestError. Also raises RequestError for unknown names, and BuildError without a C compiler.
    """
    if isinstance(robot, Mechanism) or is_text(robot) or not Path(os.fsdecode(robot)).is_dir():
        return verify_functions(robot, functions, states, real=real, frame=frame, payload=payload, wrench=wrench,
                                jacobian_frame=jacobian_frame, jacobian_order=jacobian_order, task_rows=task_rows,
                                contact=contact, effort=effort, trig=trig, checked=checked, parameters=parameters,
                                baumgarte=baumgarte, form=form, seed=seed, compiled=compiled, progress=progress)
    functions = None if functions is None else [functions] if isinstance(functions, str) else list(functions)
    place = Path(os.fsdecode(robot))
    folder = read_folder(place, functions)
    mechanism, options = folder.mechanism, folder.options
    programs = making.together({function: making.shaped(mechanism, function, None if function in PREPARING else method,
                                                      replace(options, rounds=folder.rounds.get(function)))
                                for function, method in (folder.every if options.parameters else folder.methods).items()},
                               mechanism, options)
    sought = {f: one for f, one in programs.items() if f in folder.methods}
    helpers = {f: one for f, one in programs.items() if f not in folder.methods}
    floors = checked_floors(mechanism, programs, options, folder.text)
    report = verify_folder(folder, sought, floors, states, seed=seed, compiled=compiled, progress=progress, helpers=helpers)
    if functions is not None:
        return replace(report, notes=(*report.notes, "functions were named, so the other files of the folder are not judged"))
    checks, notes = check_printed(place, folder, programs, floors)
    return replace(report, checks=(*report.checks, *checks), notes=(*report.notes, *notes))

"""`symgen.verify`: a robot's C, or a folder that `generate` wrote: its functions, and every other file in it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Unpack

from symgen.certificate import checked_floors
from symgen.delivery.reprint import (
    check_printed,
    report_of_other_version,
    unknown_functions,
)
from symgen.description.arguments import validated_with
from symgen.description.folders import folder_to_judge
from symgen.description.namesakes import namesake
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import Progress
from symgen.pipeline.request import make_request
from symgen.support.errors import ArgumentError
from symgen.verification.folder import other_version, read_folder
from symgen.verification.folder import programs as programs_of
from symgen.verification.report import Report
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.verification.verify import verify as verify_functions
from symgen.vocabulary.options import VerifyRequest, defaults, names_of


@validated_with(VerifyRequest)
def verify(
    robot: Mechanism | str | PathLike[str],
    functions: Iterable[str] | None = None,
    states: int = 16,
    *,
    seed: int = 0,
    compiled: bool = True,
    progress: Progress | None = None,
    **options: Unpack[VerifyRequest],
) -> Report:
    """Check functions of a robot ("forward_dynamics" or "forward_dynamics=riccati"; None: every one) at seeded states.

    `robot` is a Mechanism, a built-in name, a description file, or a folder that `symgen generate` wrote: then the C in
    it is what is checked, and the manifest says which functions, methods and options. With all its
    functions, every other file of the folder is printed again too, and compared byte for byte.
    A built-in robot's name means the folder of that name in the working directory, if symgen generated it; a Path always means
    a path. `Report.folder` names the folder that was checked.
    `trig` and `checked` say which C is meant. `compiled` False leaves the C compiler out: floating point is then looked at on
    the Program over NumPy's own reals, and the report says that the C's is not judged.
    Where M is singular, what divides by it is refused by naming the joint: in the report when `functions` is None, else
    as RequestError. Also raises RequestError for unknown names and for options that a folder has already decided, and BuildError
    without a C compiler.
    """
    place = None if isinstance(robot, Mechanism) else folder_to_judge(robot)
    if place is None:
        report = verify_functions(
            make_request(robot, functions, options),
            states,
            seed=seed,
            compiled=compiled,
            progress=progress,
        )
        twin = None if isinstance(robot, Mechanism) else namesake(robot)
        beside = (
            ()
            if twin is None
            else (f"the built-in robot was judged; the folder ./{twin.folder} was not",)
        )
        return replace(report, notes=(*report.notes, *beside))
    usual = defaults(VerifyRequest)
    chosen = {**options, "parameters": names_of(options["parameters"])}
    changed = next(
        (f"{name}={value!r}" for name, value in chosen.items() if value != usual[name]), None
    )
    if changed is not None:
        raise ArgumentError(
            f"the folder {place} is verified as it was generated, so {changed} does not apply; generate it again "
            "with it, or give symgen.load of the description"
        )
    functions = (
        None
        if functions is None
        else [functions]
        if isinstance(functions, str)
        else list(functions)
    )
    report = _verify_folder(place, functions, states, seed, compiled, progress)
    return replace(report, folder=str(place))


def _verify_folder(
    place: Path,
    functions: list[str] | None,
    states: int,
    seed: int,
    compiled: bool,
    progress: Progress | None,
) -> Report:
    """Check the C in a folder; with `functions` None also every other file of the folder."""
    folder = read_folder(place, functions)
    programs = programs_of(folder)
    manifest = json.loads((place / "manifest.json").read_bytes())
    version = other_version(manifest)
    wanted = {f: form for f, form in programs.items() if f in folder.methods}
    unknown = unknown_functions(manifest, wanted) if version else {}
    floors = checked_floors(folder.mechanism, programs, folder.options, folder.text)
    known = {f: form for f, form in wanted.items() if f not in unknown}
    report = Report(folder.name, folder.options.real, 0, 0, math.nan, ())
    if known:
        subject = Subject(
            folder.mechanism,
            known,
            folder.options,
            folder.text,
            states,
            seed,
            compiled,
            {f: form for f, form in programs.items() if f not in wanted},
            folder.files,
            floors,
        )
        report = verify_programs(subject, progress)
    if version:
        report = report_of_other_version(report, version, wanted, unknown)
    if functions is not None:
        return replace(
            report,
            notes=(
                *report.notes,
                "functions were named, so the other files of the folder are not judged",
            ),
        )
    checks, notes = check_printed(place, folder, programs, floors)
    return replace(report, checks=(*report.checks, *checks), notes=(*report.notes, *notes))

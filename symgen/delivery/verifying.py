"""Verification of a robot's C, or of a folder of `generate`: its functions, and every other file in
it.

Every file of a folder is generated again from its description, with the options of its manifest,
and compared byte by byte. Measurements on a target are taken from the manifest and named as not
judged. Files of another version are not compared; their functions are read back all the same.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from symgen.certificate import checked_bounds
from symgen.delivery import selftest
from symgen.delivery.atomic_replace import entries
from symgen.delivery.contents import FolderContents
from symgen.delivery.folder import texts
from symgen.delivery.manifest import name_in_command, why_unknown
from symgen.delivery.omissions import missing_words
from symgen.delivery.writing import left_out
from symgen.description.arguments import validated_with
from symgen.description.folders import folder_to_judge
from symgen.description.namesakes import namesake
from symgen.ir.loops import BASE_STEP, Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.pipeline.build import Progress
from symgen.pipeline.request import make_request
from symgen.support.errors import ArgumentError, SymgenError, printable
from symgen.support.lists import shortened_list
from symgen.support.version import __version__
from symgen.verification.folder import LARGEST_FILE, SHOWN, Folder, other_version, read_folder
from symgen.verification.folder import programs as programs_of
from symgen.verification.report import FILES, READ, TITLES, Check, Report
from symgen.verification.steps import verify_programs
from symgen.verification.subject import DivisorBounds, Subject
from symgen.verification.verify import verify as verify_functions
from symgen.vocabulary.names import function_named
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
    """Check functions of a robot at seeded random states, and return a Report.

    `functions` are names such as "forward_dynamics" or "forward_dynamics=riccati"; None means every
    function. `robot` is a Mechanism, a built-in name, the path of a description, or a folder of
    `symgen generate`. For a folder the C in it is checked, and the manifest states functions,
    methods and options. Without `functions`, every other file of the folder is compared too. A
    built-in robot's name means the folder of that name in the working directory if symgen generated
    it; a Path always means a path. `Report.folder` names the folder.

    `trig` and `checked` select the C. `compiled` False uses no C compiler: floating point is then
    observed on the Program over NumPy's numbers, and the report says that the C's is not judged.

    If M is singular, functions that divide by it are refused and the joint is named: in the report
    if `functions` is None, else by a RequestError. Also raises RequestError for unknown names and
    for options that a folder has already decided, and BuildError without a C compiler.
    """
    folder = None if isinstance(robot, Mechanism) else folder_to_judge(robot)
    if folder is None:
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
            f"the folder {folder} is verified as it was generated, so {changed} does not apply;"
            " generate it again with it, or give symgen.load of the description"
        )
    functions = (
        None
        if functions is None
        else [functions]
        if isinstance(functions, str)
        else list(functions)
    )
    report = _verify_folder(folder, functions, states, seed, compiled, progress)
    return replace(report, folder=str(folder))


def _verify_folder(
    path: Path,
    functions: list[str] | None,
    states: int,
    seed: int,
    compiled: bool,
    progress: Progress | None,
) -> Report:
    """Check the C of a folder; with `functions` None also every other file."""
    folder = read_folder(path, functions)
    programs = programs_of(folder)
    manifest = json.loads((path / "manifest.json").read_bytes())
    version = other_version(manifest)
    if version:
        programs = {f: as_written(form, folder) for f, form in programs.items()}
    programs_of_folder = {f: form for f, form in programs.items() if f in folder.methods}
    unknown = unknown_functions(manifest, programs_of_folder) if version else {}
    divisor_bounds = checked_bounds(folder.mechanism, programs, folder.options, folder.text)
    judged = {f: form for f, form in programs_of_folder.items() if f not in unknown}
    report = Report(folder.name, folder.options.real, 0, 0, math.nan, ())
    if judged:
        subject = Subject(
            folder.mechanism,
            judged,
            folder.options,
            folder.text,
            states,
            seed,
            compiled,
            {f: form for f, form in programs.items() if f not in programs_of_folder},
            folder.files,
            divisor_bounds,
        )
        report = verify_programs(subject, progress)
    if version:
        report = report_of_other_version(report, version, programs_of_folder, unknown)
    if functions is not None:
        return replace(
            report,
            notes=(
                *report.notes,
                "functions were named, so the other files of the folder are not judged",
            ),
        )
    checks, notes = check_printed(path, folder, programs, divisor_bounds)
    return replace(report, checks=(*report.checks, *checks), notes=(*report.notes, *notes))


# -- files of a folder, printed again --


MEASURED = ("cost", "proof")
"""Keys of a manifest that are not computed again."""
NAMED = 5
"""Most files that one sentence names."""


def check_printed(
    path: Path, folder: Folder, programs: Mapping[str, Form], divisor_bounds: DivisorBounds
) -> tuple[list[Check], list[str]]:
    """Return the checks of a folder's files, and a note about files that are not symgen's.

    `programs` are those of the folder's functions, `divisor_bounds` the certified bounds of their
    divisors.
    """
    manifest = json.loads((path / "manifest.json").read_bytes())
    subject = f"{folder.name}: files"
    if version := other_version(manifest):
        why = f"symgen {version} wrote them and this is {__version__}, so they are not compared"
        return [Check("files", subject, 0.0, 0.0, FILES, unjudged=why)], _foreign_files(
            path, _names(manifest.get("files"))
        )
    printed = _printed(folder, manifest, programs, divisor_bounds)
    wrong = [
        f"{name} {why}"
        for name, text in printed.items()
        if (why := _unlike(path / name, text.encode()))
    ]
    shown = shortened_list(wrong, NAMED, "; ", "; and ")
    checks = [Check("files", subject, float(len(wrong)), 0.0, FILES, shown, judged=len(printed))]
    recorded = [key for key in MEASURED if key in manifest]
    if recorded:
        commands = " and ".join(
            f"'symgen {'prove' if key == 'proof' else key}'" for key in recorded
        )
        why = (
            f"the record of {' and '.join(recorded)} in manifest.json is not verified; run"
            f" {commands} again to renew it"
        )
        checks.append(Check("files", f"{folder.name}: evidence", 0.0, 0.0, FILES, unjudged=why))
    return checks, _foreign_files(path, printed)


# -- folders of another version --


def as_written(form: Form, folder: Folder) -> Form:
    """Return a form; loops whose text has no step of the first link alone, as earlier versions
    wrote it, without such steps.
    """
    text = folder.sources.get(form.function, "")
    if form.looped and f"_{BASE_STEP}(" not in text:
        return form.without_base_steps()
    return form


def unknown_functions(manifest: Mapping[str, Any], programs: Mapping[str, Form]) -> dict[str, str]:
    """Return the functions of another version's folder that this version cannot interpret, with
    reasons.
    """
    why = {function: why_unknown(manifest, function, form) for function, form in programs.items()}
    return {function: reason for function, reason in why.items() if reason}


def report_of_other_version(
    report: Report, version: str, programs: Mapping[str, Form], unknown: Mapping[str, str]
) -> Report:
    """Return the report on a folder of another version: unreadable texts are not judged, and a note
    lists the judged checks.

    A text may differ because the other version derived or printed it differently, or because it was
    changed since. Wrong numbers of the compiled C have failed all the same.
    """
    labels = {function: f"{function}={form.method}" for function, form in programs.items()}
    checks = [*(_unread(check, version) for check in report.checks)]
    checks += [
        Check(
            "text",
            labels[function],
            1.0,
            0.0,
            "",
            "",
            f"symgen {version} wrote it, and {why}",
            True,
        )
        for function, why in unknown.items()
    ]
    open_ = [check for check in checks if check.kind in READ and check.lost]
    unread = [f"{check.subject} ({TITLES[check.kind]})" for check in open_]
    functions = {check.subject for check in open_ if check.kind == "text"}
    judged = [label for label in labels.values() if label not in functions]
    note = (
        f"this folder was written by symgen {version}; judged:"
        f" {', '.join(judged) or 'no function'}; not judged:"
        f" {', '.join([*unread, 'files other than the functions'])}"
    )
    return replace(report, checks=tuple(checks), notes=(*report.notes, note))


def _unread(check: Check, version: str) -> Check:
    """Return a failed check of a text as one that is not judged, and any other check unchanged."""
    if check.kind not in READ or check.verdict != "failed":
        return check
    why = f"symgen {version} wrote it, and it is not the text that symgen {__version__} reads"
    return replace(check, unjudged=f"{why}: {check.detail}", lost=True)


# -- folders of this version --


def _printed(
    folder: Folder,
    manifest: Mapping[str, Any],
    programs: Mapping[str, Form],
    divisor_bounds: DivisorBounds,
) -> dict[str, str]:
    """Return every file by name, freshly generated."""
    mechanism, options, text = folder.mechanism, folder.options, folder.text
    contents = FolderContents(
        mechanism,
        programs,
        name=name_in_command(str(manifest.get("command", ""))),
        options=options,
        text=text,
        cases=selftest.cases(mechanism, programs, options, text),
        evidence={key: manifest[key] for key in MEASURED if key in manifest},
        divisor_bounds=divisor_bounds,
        left_out=_left_out(folder, programs, manifest),
        missing=_missing(folder, manifest),
    )
    return texts(contents)


def _left_out(
    folder: Folder, programs: Iterable[str], manifest: Mapping[str, Any]
) -> dict[str, str]:
    """Return the reasons of absent functions. If a reason is not recorded, it may lie in the
    methods, which are then asked.
    """
    missing_names = {word.partition("=")[0] for word in missing_words(manifest.get("not_modelled"))}
    why = left_out(folder.mechanism, {*programs, *missing_names}, folder.options.payload)
    for function, text in why.items():
        if text.removeprefix(function).strip() not in _recorded(manifest, function):
            try:
                build.build_form(folder.mechanism, function, None, folder.options)
            except SymgenError as error:
                why[function] = str(error)
    return why


def _missing(folder: Folder, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return {request: reason} of requests that the manifest records as missing.

    A request that can be carried out is omitted, so that the files are found to differ.
    """
    reasons = {}
    for word in missing_words(manifest.get("not_modelled")):
        name, _, method = word.partition("=")
        try:
            build.build_form(folder.mechanism, function_named(name), method or None, folder.options)
        except SymgenError as error:
            reasons[word] = str(error)
    return reasons


def _recorded(manifest: Mapping[str, Any], function: str) -> str:
    """Return the reason that the manifest states for a missing function."""
    entries = manifest.get("not_modelled")
    recorded = (
        [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    )
    return " ".join(
        str(entry.get("text")) for entry in recorded if function in _names(entry.get("functions"))
    )


def _unlike(path: Path, expected: bytes) -> str:
    """Return how the file at `path` differs from `expected`; "" if it does not."""
    try:
        if not path.is_file() or path.is_symlink():
            return "is missing" if not os.path.lexists(path) else "is not a regular file"
        content = path.read_bytes() if path.stat().st_size <= LARGEST_FILE else b""
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if content == expected:
        return ""
    if content.replace(b"\r\n", b"\n") == expected:
        return "has other line ends"
    lines = zip_longest(content.split(b"\n"), expected.split(b"\n"))
    return (
        "differs from line"
        f" {next(n for n, (line, wanted_line) in enumerate(lines, 1) if line != wanted_line)} on"
    )


def _foreign_files(path: Path, names: Iterable[str]) -> list[str]:
    """Return one note that names the files that symgen did not write."""
    foreign = [
        printable(name, SHOWN) for name, is_symgens in entries(path, set(names)) if not is_symgens
    ]
    listed = shortened_list(foreign, NAMED, conjunction=" … and ")
    return [f"not symgen's, and not judged: {listed}"] if foreign else []


def _names(value: object) -> list[str]:
    """Return a list of names, or an empty list for anything else."""
    return [str(name) for name in value] if isinstance(value, list) else []

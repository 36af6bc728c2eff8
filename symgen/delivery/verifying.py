"""`symgen.verify`: a robot's C, or a folder that `generate` wrote: its functions, and every other file in it.

Every file of a folder is printed again from the description in it, with the options in its manifest, and compared byte for byte.
What was measured on a target is taken from the manifest and named as not judged. The files of another version are not compared;
their functions are read back all the same.
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

from symgen.certificate import checked_floors
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
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.pipeline.build import Progress
from symgen.pipeline.request import make_request
from symgen.support.errors import ArgumentError, SymgenError, printable
from symgen.support.version import __version__
from symgen.verification.folder import LARGEST_FILE, SHOWN, Folder, other_version, read_folder
from symgen.verification.folder import programs as programs_of
from symgen.verification.report import FILES, READ, TITLES, Check, Report
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Floors, Subject
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


# -- files of a folder, printed again --


MEASURED = ("cost", "proof")
"""Keys of a manifest that are not worked out again."""
NAMED = 5
"""Files and places that one sentence names."""


def check_printed(
    at: Path, folder: Folder, programs: Mapping[str, Form], floors: Floors
) -> tuple[list[Check], list[str]]:
    """The checks of a folder's files, and a note about those that are not symgen's.

    `programs` are those of the folder's functions, `floors` the certified bounds of their divisors.
    """
    manifest = json.loads((at / "manifest.json").read_bytes())
    subject = f"{folder.name}: files"
    if version := other_version(manifest):
        why = f"symgen {version} wrote them and this is {__version__}, so they are not compared"
        return [Check("files", subject, 0.0, 0.0, FILES, unjudged=why)], _strangers(
            at, _names(manifest.get("files"))
        )
    printed = _printed(folder, manifest, programs, floors)
    wrong = [
        f"{name} {why}"
        for name, text in printed.items()
        if (why := _unlike(at / name, text.encode()))
    ]
    shown = "; ".join(wrong[:NAMED]) + (
        f"; and {len(wrong) - NAMED} more" if len(wrong) > NAMED else ""
    )
    found = [Check("files", subject, float(len(wrong)), 0.0, FILES, shown, judged=len(printed))]
    recorded = [key for key in MEASURED if key in manifest]
    if recorded:
        commands = " and ".join(
            f"'symgen {'prove' if key == 'proof' else key}'" for key in recorded
        )
        why = f"what manifest.json records of {' and '.join(recorded)} is taken as it stands; run {commands} for it again"
        found.append(Check("files", f"{folder.name}: evidence", 0.0, 0.0, FILES, unjudged=why))
    return found, _strangers(at, printed)


# -- folders of another version --


def unknown_functions(manifest: Mapping[str, Any], programs: Mapping[str, Form]) -> dict[str, str]:
    """Functions of a folder that another version wrote, of which this one cannot say what they are, with the reason."""
    why = {function: why_unknown(manifest, function, form) for function, form in programs.items()}
    return {function: reason for function, reason in why.items() if reason}


def report_of_other_version(
    report: Report, version: str, programs: Mapping[str, Form], unknown: Mapping[str, str]
) -> Report:
    """Report on a folder that another version wrote: a text that is not read is not judged, and a note says what is.

    A text may differ because the other version derived or printed it otherwise, or because it was changed since. Numbers that the
    compiled C gives wrong have failed all the same.
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
        f"this folder was written by symgen {version}; judged: {', '.join(judged) or 'no function'}; "
        f"not judged: {', '.join([*unread, 'files other than the functions'])}"
    )
    return replace(report, checks=tuple(checks), notes=(*report.notes, note))


def _unread(check: Check, version: str) -> Check:
    """The check, as one that proves nothing if it read a text and found it different."""
    if check.kind not in READ or check.verdict != "failed":
        return check
    why = f"symgen {version} wrote it, and it is not the text that symgen {__version__} reads"
    return replace(check, unjudged=f"{why}: {check.detail}", lost=True)


# -- folders of this version --


def _printed(
    folder: Folder, manifest: Mapping[str, Any], programs: Mapping[str, Form], floors: Floors
) -> dict[str, str]:
    """Every file by name, as it is printed now."""
    mechanism, options, text = folder.mechanism, folder.options, folder.text
    contents = FolderContents(
        mechanism,
        programs,
        name=name_in_command(str(manifest.get("command", ""))),
        options=options,
        text=text,
        cases=selftest.cases(mechanism, programs, options, text),
        evidence={key: manifest[key] for key in MEASURED if key in manifest},
        floors=floors,
        left_out=_left_out(folder, programs, manifest),
        missing=_missing(folder, manifest),
    )
    return texts(contents)


def _left_out(
    folder: Folder, programs: Iterable[str], manifest: Mapping[str, Any]
) -> dict[str, str]:
    """Why the other functions are not there. A reason that is not recorded so may lie in the methods, which are then asked."""
    there = {word.partition("=")[0] for word in missing_words(manifest.get("not_modelled"))}
    why = left_out(folder.mechanism, {*programs, *there}, folder.options.payload)
    for function, text in why.items():
        if text.removeprefix(function).strip() not in _recorded(manifest, function):
            try:
                build.build_form(folder.mechanism, function, None, folder.options)
            except SymgenError as error:
                why[function] = str(error)
    return why


def _missing(folder: Folder, manifest: Mapping[str, Any]) -> dict[str, str]:
    """{request: why it is not there} of the requests that the manifest records as missing. One that can be made is left out, so
    that the files are found to differ.
    """
    found = {}
    for word in missing_words(manifest.get("not_modelled")):
        name, _, method = word.partition("=")
        try:
            build.build_form(folder.mechanism, function_named(name), method or None, folder.options)
        except SymgenError as error:
            found[word] = str(error)
    return found


def _recorded(manifest: Mapping[str, Any], function: str) -> str:
    """Return the reason that the manifest states for a missing function."""
    entries = manifest.get("not_modelled")
    own = (
        [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    )
    return " ".join(
        str(entry.get("text")) for entry in own if function in _names(entry.get("functions"))
    )


def _unlike(path: Path, wanted: bytes) -> str:
    """How the file at `path` differs from what it should hold; "" if it does not."""
    try:
        if not path.is_file() or path.is_symlink():
            return "is missing" if not os.path.lexists(path) else "is no ordinary file"
        found = path.read_bytes() if path.stat().st_size <= LARGEST_FILE else b""
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if found == wanted:
        return ""
    if found.replace(b"\r\n", b"\n") == wanted:
        return "has other line ends"
    lines = zip_longest(found.split(b"\n"), wanted.split(b"\n"))
    return f"differs from line {next(n for n, (mine, other) in enumerate(lines, 1) if mine != other)} on"


def _strangers(at: Path, own: Iterable[str]) -> list[str]:
    """One note that names what symgen did not write."""
    found = [printable(name, SHOWN) for name, mine in entries(at, set(own)) if not mine]
    more = f" … and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return [f"not symgen's, and not judged: {', '.join(found[:NAMED])}{more}"] if found else []


def _names(value: object) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []

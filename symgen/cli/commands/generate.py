"""`symgen generate`: the folder of C for one robot."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symgen.cli.commands import Parser, Unfulfilled
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import (
    account,
    add_options,
    costs,
    functions,
    name_frame,
    of_options,
    program_arguments,
    read,
    robot_arguments,
    say_notes,
)
from symgen.machine import targets
from symgen.support.errors import RequestError
from symgen.vocabulary.options import FolderChoices, FolderRequest

if TYPE_CHECKING:
    from symgen.ir.loops import Form
    from symgen.mechanism.mechanism import Mechanism
    from symgen.vocabulary.options import ProgramOptions

SUMMARY = "the folder of C: one file a function, self-test, CMakeLists.txt, README"


def arguments(parser: Parser) -> None:
    """The robot, the folder, and what changes the C."""
    robot_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="the folder to write; symgen's own files in it are replaced, all others stay (default: a folder here that "
        "is called like --name, else like the robot)",
    )
    program_arguments(parser, on_a_target=True)
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="prefix of every C name and file: at most 100 letters, digits and single underscores of ASCII, a letter "
        "first and no underscore last, not a name of C, C++ or the system's headers (default: the robot's name, "
        "or what is made of it where C does not take it)",
    )
    add_options(
        parser,
        FolderChoices,
        target=f"add firmware/, which runs the self-test on {', '.join(targets.names())}, and to the README what is "
        "proved and, except for host, the cost sheet",
    )
    parser.set_defaults(trig=None)


def run(options: Namespace) -> int:
    """Write the folder, then print the table of costs and what to do next.

    Raises Unfulfilled where a function that was named is missing, or the target's compiler refuses the text.
    """
    from symgen.delivery.writing import deliver, wrappers
    from symgen.pipeline import assembly_report
    from symgen.pipeline import build as making
    from symgen.pipeline.request import make_request
    from symgen.vocabulary.identifiers import renaming

    if options.output == "":
        raise RequestError("--output is empty; name a folder, or leave the option out")
    wrap = tuple(wrappers(options.wrap or ()))
    request = make_request(
        read(options),
        functions(options.functions),
        of_options(options, FolderRequest),
        real=options.real or targets.real(options.target),
        trig=options.trig or targets.trig(options.target),
        wrap=wrap,
    )
    mechanism, chosen = request.mechanism, request.options
    slow = None if options.target is None else targets.slow(options.target, chosen.real)
    why = targets.why(options.target, options.real)
    with Progress() as progress:
        out = Path(options.output or _folder(options.name or mechanism.name))
        manifest = deliver(
            request,
            out,
            name=options.name,
            evidence=options.evidence,
            functions_only=options.functions_only,
            progress=progress,
        )
    say_notes(mechanism, options.robot, drives=options.drives)
    if options.name is None and (called := renaming(mechanism.name)):
        print(f"symgen: note: {called}; --name NAME takes another", file=sys.stderr)
    for line in (
        (*assembly_report.sentences(mechanism), assembly_report.AS_IF_OPEN)
        if mechanism.loops
        else ()
    ):
        print(f"symgen: note: {line}", file=sys.stderr)
    made, refused = making.programs_and_refusals(request)  # only looked up
    for line in _remarks(mechanism, made.values(), chosen):
        print(f"symgen: note: {line}", file=sys.stderr)
    if slow is not None:
        print(f"symgen: warning: {slow}", file=sys.stderr)
    if why is not None:
        print(f"symgen: note: {why}", file=sys.stderr)
    if options.functions_only and options.target is not None:
        print(
            "symgen: note: --functions-only leaves out firmware/ and the cost sheet of --target; 'symgen cost' prints it",
            file=sys.stderr,
        )
    cost = manifest.get("cost", {})
    if "missing" in cost and "refused" not in cost:
        print(
            f"symgen: note: README.md has no cost sheet: {cost['missing']}",
            file=sys.stderr,
        )
    if "eva_missing" in manifest.get("proof", {}):
        print(
            f"symgen: note: README.md has no proof of memory and finite numbers: {manifest['proof']['eva_missing']}",
            file=sys.stderr,
        )
    if request.functions is None:
        for omitted in (one for one in manifest["not_modelled"] if one["kind"] == "functions"):
            print(f"symgen: note: left out: {omitted['text']}", file=sys.stderr)
    name_frame(
        mechanism,
        manifest["functions"],
        options.frame,
        (options.jacobian_frame, options.jacobian_order),
    )
    account(options, f"{costs(manifest['functions'])}\n{_next_steps(out, manifest)}")
    unfulfilled = (
        []
        if request.functions is None
        else [f"{name} is missing: {why}" for name, why in refused.items()]
    )
    if "refused" in cost:
        unfulfilled.append(
            f"{cost['missing']}; please report it with the robot and the compiler's version"
        )
    if unfulfilled:
        raise Unfulfilled("; ".join(unfulfilled))
    return 0


def _remarks(mechanism: Mechanism, made: Iterable[Form], chosen: ProgramOptions) -> list[str]:
    """Notes about the methods that were taken."""
    from symgen.pipeline.choose import loses_digits
    from symgen.pipeline.form import instead_of_rows
    from symgen.pipeline.noticing import lost_digits
    from symgen.vocabulary.options import AUTO

    lines = []
    several = (
        [program.function for program in made if instead_of_rows(program)]
        if chosen.form == AUTO
        else []
    )
    if several:
        lines.append(
            f"{', '.join(several)} {'loops' if len(several) == 1 else 'loop'} over tables of links, since rows for each "
            "would be too many (docs/long.md)"
        )
    for program in made:
        if program.rounds is not None:
            lines.append(
                f"the search for fewer operations of {program.function} was interrupted after round {program.rounds}; "
                f"what it had found is used, {program.cost} operations, and the manifest says so"
            )
        lines += [
            f"{program.function} is chosen without {other}: {why}"
            for other, why in program.passed_over
        ]
        if loses_digits(mechanism, program, chosen):
            lines.append(lost_digits(program))
    return lines


def _folder(name: str) -> str:
    """A robot's name as the name of a folder here."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name).strip(".") or "robot"


def _next_steps(out: Path, manifest: dict[str, Any]) -> str:
    # ./NAME always means the folder; a bare name may also be that of a built-in robot.
    place = str(out) if out.is_absolute() or len(out.parts) > 1 else f"./{out}"
    folder, build = shlex.quote(place), shlex.quote(place + "-build")
    made = len(manifest["functions"])
    count = "1 function" if made == 1 else f"{made} functions"
    wrote = f"\nwrote {manifest['robot']}, {count} in C ({manifest['real']}), to {place}"
    if "manifest.json" not in manifest["files"]:
        return f"{wrote}: functions and headers alone, which 'symgen verify' cannot judge"
    device = (
        [f"  run it there: make -C {shlex.quote(f'{place}/firmware')} run"]
        if manifest["options"].get("target")
        else []
    )
    return "\n".join(
        (
            wrote,
            f"  verify it:  symgen verify {folder}",
            f"  build it:   cmake -S {folder} -B {build} && cmake --build {build} && ctest --test-dir {build}",
            *device,
        )
    )

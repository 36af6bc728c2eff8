"""`symgen generate`: the folder of C for one robot."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping
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
    read_mechanism,
    robot_arguments,
    say_notes,
)
from symgen.machine import targets
from symgen.support.collector import collector_at_rest
from symgen.support.errors import RequestError
from symgen.vocabulary.options import FolderChoices, FolderRequest

if TYPE_CHECKING:
    from symgen.ir.loops import Form
    from symgen.mechanism.mechanism import Mechanism
    from symgen.pipeline.request import Request
    from symgen.vocabulary.options import ProgramOptions

SUMMARY = "write the folder of C: one file a function, self-test, CMakeLists.txt, README"
EPILOG = """examples:
  symgen generate panda -o out/panda -f forward_dynamics -f mass_matrix
  symgen generate robot.urdf --base free --frame LEFT_FOOT --frame RIGHT_FOOT -f jacobian
  symgen generate robot.urdf --lock gripper=0.02 --drives on --real float --target cortex-m4f"""


def arguments(parser: Parser) -> None:
    """Add the robot, the folder, and the options that change the C."""
    robot_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help=(
            "the folder to write; symgen's own files in it are replaced, all others stay (default:"
            " a folder here with the name of --name, else of the robot)"
        ),
    )
    program_arguments(parser, on_a_target=True)
    parser.add_argument(
        "--name",
        metavar="NAME",
        help=(
            "prefix of every C name and file: at most 100 ASCII letters, digits and single"
            " underscores, a letter first and no underscore last, not a name of C, C++ or the"
            " system's headers (default: the robot's name, changed if it is not a C name)"
        ),
    )
    add_options(
        parser,
        FolderChoices,
        target=(
            f"add firmware/, which runs the self-test on {', '.join(targets.names())}, and state in"
            " the README what is proved and, except for host, the cost sheet"
        ),
    )
    parser.set_defaults(trig=None)


@collector_at_rest()
def run(options: Namespace) -> int:
    """Write the folder, then print the table of costs and what to do next.

    Raises Unfulfilled if a named function is missing, or if the target's compiler rejects the text.
    """
    from symgen.delivery.writing import deliver, wrappers
    from symgen.pipeline import build as making
    from symgen.pipeline.request import make_request

    if options.output == "":
        raise RequestError("--output is empty; name a folder, or leave the option out")
    wrap = tuple(wrappers(options.wrap or ()))
    request = make_request(
        read_mechanism(options),
        functions(options.functions),
        of_options(options, FolderRequest),
        real=options.real or targets.default_real(options.target),
        trig=options.trig or targets.default_trig(options.target),
        wrap=wrap,
    )
    out = Path(options.output or _folder(options.name or request.mechanism.name))
    with Progress() as progress:
        manifest = deliver(
            request,
            out,
            name=options.name,
            evidence=options.evidence,
            functions_only=options.functions_only,
            progress=progress,
        )
    programs, refused = making.programs_and_refusals(request)  # only looked up
    say_notes(request.mechanism, options.robot, drives=options.drives)
    for line in (
        *_notes_on_robot(request.mechanism, options),
        *_notes_on_methods(request.mechanism, programs.values(), request.options),
        *_notes_on_target(options, request.options.real),
        *_notes_on_folder(manifest, request),
    ):
        print(f"symgen: {line}", file=sys.stderr)
    name_frame(
        request.mechanism,
        manifest["functions"],
        options.frame,
        (options.jacobian_frame, options.jacobian_order),
    )
    account(options, f"{costs(manifest['functions'])}\n{_next_steps(out, manifest)}")
    named = request.functions is not None
    unfulfilled = [f"{name} is missing: {why}" for name, why in refused.items() if named]
    cost = manifest.get("cost", {})
    if "refused" in cost:
        unfulfilled.append(
            f"{cost['missing']}; please report it with the robot and the compiler's version"
        )
    if unfulfilled:
        raise Unfulfilled("; ".join(unfulfilled))
    return 0


def _notes_on_robot(mechanism: Mechanism, options: Namespace) -> Iterator[str]:
    """Yield notes on the robot's name in C, and on the assembly of its loop closures."""
    from symgen.pipeline import assembly_report
    from symgen.vocabulary.identifiers import renaming_note

    if options.name is None and (called := renaming_note(mechanism.name)):
        yield f"note: {called}; --name NAME chooses another name"
    if mechanism.loops:
        for line in (*assembly_report.sentences(mechanism), assembly_report.AS_IF_OPEN):
            yield f"note: {line}"


def _notes_on_target(options: Namespace, real: str) -> Iterator[str]:
    """Yield notes on the target's FPU and the real type, and on what is left out for the target."""
    if (
        options.target is not None
        and (slow := targets.reason_for_slowness(options.target, real)) is not None
    ):
        yield f"warning: {slow}"
    if (why := targets.reason_for_float(options.target, options.real)) is not None:
        yield f"note: {why}"
    if options.functions_only and options.target is not None:
        yield (
            "note: --functions-only leaves out firmware/ and the cost sheet of --target; 'symgen"
            " cost' prints it"
        )


def _notes_on_folder(manifest: Mapping[str, Any], request: Request) -> Iterator[str]:
    """Yield notes on missing parts of README.md, and on functions that are left out."""
    cost, proof = manifest.get("cost", {}), manifest.get("proof", {})
    if "missing" in cost and "refused" not in cost:
        yield f"note: README.md has no cost sheet: {cost['missing']}"
    if "eva_missing" in proof:
        yield f"note: README.md has no proof of memory and finite numbers: {proof['eva_missing']}"
    if request.functions is None:
        for omitted in manifest["not_modelled"]:
            if omitted["kind"] == "functions":
                yield f"note: left out: {omitted['text']}"


def _notes_on_methods(
    mechanism: Mechanism, programs: Collection[Form], chosen: ProgramOptions
) -> Iterator[str]:
    """Yield notes on looped functions, interrupted searches, rejected candidates and precision
    loss.
    """
    from symgen.pipeline.choose import has_precision_loss
    from symgen.pipeline.form import has_unrolled_form
    from symgen.pipeline.noticing import precision_notice
    from symgen.vocabulary.options import AUTO

    looped = [program.function for program in programs if has_unrolled_form(program)]
    if looped and chosen.form == AUTO:
        yield (
            f"note: {', '.join(looped)} {'loops' if len(looped) == 1 else 'loop'} over tables of"
            " links, since rows for each would be too many (docs/how-to/long-chains.md)"
        )
    for program in programs:
        if program.rounds is not None:
            yield (
                f"note: the search for fewer operations of {program.function} was interrupted after"
                f" round {program.rounds}; the best program found so far is used, {program.cost}"
                " operations, and the manifest records this"
            )
        for rejected, why in program.passed_over:
            yield f"note: {program.function} is chosen without {rejected}: {why}"
        if has_precision_loss(mechanism, program, chosen):
            yield f"note: {precision_notice(program)}"


def _folder(name: str) -> str:
    """Return a folder name for a robot's name."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name).strip(".") or "robot"


def _next_steps(out: Path, manifest: dict[str, Any]) -> str:
    """Return what was written, and the commands that a user can run next."""
    # ./NAME always means the folder; a bare name may also be a built-in robot.
    path = str(out) if out.is_absolute() or len(out.parts) > 1 else f"./{out}"
    folder, build = shlex.quote(path), shlex.quote(path + "-build")
    function_count = len(manifest["functions"])
    count = "1 function" if function_count == 1 else f"{function_count} functions"
    wrote = f"\nwrote {manifest['robot']}, {count} in C ({manifest['real']}), to {path}"
    if "manifest.json" not in manifest["files"]:
        return f"{wrote}: functions and headers alone, which 'symgen verify' cannot judge"
    device = (
        [f"  run it there: make -C {shlex.quote(f'{path}/firmware')} run"]
        if manifest["options"].get("target")
        else []
    )
    return "\n".join(
        (
            wrote,
            f"  verify it:  symgen verify {folder}",
            (
                f"  build it:   cmake -S {folder} -B {build} && cmake --build {build} && ctest"
                f" --test-dir {build}"
            ),
            *device,
        )
    )

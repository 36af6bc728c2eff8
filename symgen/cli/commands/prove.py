"""`symgen prove`: prove bounds of the C over declared ranges, and print what is only observed."""

from __future__ import annotations

from argparse import Namespace
from fractions import Fraction
from pathlib import Path
from typing import Any

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress
from symgen.cli.commands._sharing import (
    add_options,
    as_json,
    functions,
    generated_folder,
    name_frame,
    of_options,
    program_arguments,
    read_mechanism,
    robot_arguments,
    say_notes,
)
from symgen.support.errors import DescriptionError, RequestError
from symgen.vocabulary.functions import PROVED_BY_DEFAULT
from symgen.vocabulary.options import (
    PLAIN,
    ProgramOptions,
    RealChoice,
    RowChoices,
    TextOptions,
    TrigChoice,
    VerifyRequest,
    declarations,
    values_of,
)

SUMMARY = "prove over the joint ranges that divisors cannot vanish and that round-off is bounded"
EPILOG = """columns:
  D exact >=   the link's own inertia, a lower bound for every configuration
  round-off    how far the computed D can be below that, over the joint ranges
  least seen   the smallest computed D over the random states; \
joints without a row are not divided by
  bound        of |computed - exact|, for all states of the ranges, \
or, if the function divides, at each random state
               (then nothing is proved about the states between)
  seen         the error of the compiled C against the reference, in double at the first 64 states
exit code: 0 if nothing seen exceeds its bound, 1 otherwise
--identities checks mathematics in place of round-off: \
every equation of the five papers on this robot, in exact
rationals at random states (for up to 3 velocities also for every state), \
and programs against the papers' operators.
Exit code: 0 if all hold, 1 otherwise."""


STATES, ACCELERATION = 10_000, "10"


def arguments(parser: Parser) -> None:
    """Add the robot or folder, and the ranges of the proof."""
    robot_arguments(parser, "a built-in name, a path, or a folder that symgen generated")
    program_arguments(
        parser,
        functions=(
            f"{', '.join(PROVED_BY_DEFAULT)}, if the robot has them; of a folder, all its functions"
        ),
        kind=RowChoices,
        parameters="refused: functions with run-time parameters cannot be proved",
    )
    add_options(parser, TrigChoice, trig="what computes sines and cosines (default %(default)s)")
    parser.add_argument(
        "--ulps",
        metavar="N",
        help="error of sines and cosines in units in the last place (default 2; libm and macro 1)",
    )
    parser.add_argument(
        "--acceleration",
        default=ACCELERATION,
        metavar="A",
        help="range of accelerations, rad/s² and m/s² (default %(default)s)",
    )
    parser.add_argument(
        "--eva",
        action="store_true",
        help="run Frama-C too: no access outside an array, every number finite",
    )
    parser.add_argument(
        "--states",
        type=int,
        metavar="N",
        help=f"number of random states (default {STATES}; with --identities 3)",
    )
    parser.add_argument(
        "--identities",
        action="store_true",
        help="check the equations of the papers on this robot, exactly",
    )
    parser.add_argument(
        "--papers",
        metavar="PAPER[,...]",
        help="with --identities: rk, sa, lc, wc, ff (default: all)",
    )
    parser.add_argument("--json", action="store_true", help="print the same facts as JSON")


def run(options: Namespace) -> int:
    """Run the proofs, and print them."""
    if options.identities:
        return _identities(options)
    if options.papers is not None:
        raise RequestError("--papers applies to --identities; add --identities or leave it out")
    from symgen.mechanism.mechanism import Mechanism
    from symgen.verification.proof import prove

    acceleration, ulps = (
        _positive(options.acceleration, "acceleration"),
        _positive(options.ulps, "ulps"),
    )
    robot: Mechanism | Path | None = generated_folder(options, "proved")
    chosen, text = None, PLAIN
    if robot is None:
        robot = read_mechanism(options)
        say_notes(robot, options.robot, drives=options.drives)
        values = of_options(options, VerifyRequest)
        chosen, text = values_of(ProgramOptions, values), values_of(TextOptions, values)
    with Progress() as progress:
        proof = prove(
            robot,
            options.functions and functions(options.functions),
            chosen,
            text,
            states=STATES if options.states is None else options.states,
            acceleration=acceleration or Fraction(10),
            trig_ulps=None if ulps is None else float(ulps),
            with_eva=options.eva,
            progress=progress,
        )
    name_frame(
        robot, options.functions, options.frame, (options.jacobian_frame, options.jacobian_order)
    )
    print(as_json(proof.facts()) if options.json else str(proof))
    return 0 if proof.holds else 1


def _identities(options: Namespace) -> int:
    """Check the equations of the papers, and print the result."""
    from symgen.papers.identities import prove_identities

    _refuse_with_identities(options)
    mechanism = read_mechanism(options)
    say_notes(mechanism, options.robot)
    papers = None if options.papers is None else [x.strip() for x in options.papers.split(",")]
    states = {} if options.states is None else {"states": options.states}
    with Progress() as progress:
        result = prove_identities(mechanism, papers, progress=progress, **states)
    print(as_json(result.facts()) if options.json else str(result))
    return 0 if result.holds else 1


def _refuse_with_identities(options: Namespace) -> None:
    """Raise RequestError for an option that only applies to the proof of bounds."""
    unused: dict[str, tuple[str, Any]] = {
        "functions": ("-f", None),
        "ulps": ("--ulps", None),
        "eva": ("--eva", False),
        "acceleration": ("--acceleration", ACCELERATION),
    }
    for kind in (RowChoices, TrigChoice, RealChoice):
        for name, (_, option) in declarations(kind).items():
            unused[name] = option.flag, option.default
    for name, (flag, default) in unused.items():
        if getattr(options, name, None) not in (None, False, default):
            raise RequestError(
                f"{flag} does not apply to --identities, which checks no C; leave it out"
            )


def _positive(text: str | None, option: str) -> Fraction | None:
    """Return the number. RequestError for a text that is not a positive number."""
    from symgen.description.quantities import number

    if text is None:
        return None
    try:
        value = number(text)
    except DescriptionError:
        value = Fraction(0)
    if value <= 0:
        raise RequestError(f"--{option} {text} is not a positive number; give one, as --{option} 2")
    return value

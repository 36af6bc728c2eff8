"""What several commands share: options that read a robot, warnings, progress, tables, facts for programs."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from symgen.cli.commands import Parser
from symgen.cli.commands._progress import Progress as Progress
from symgen.cli.commands._progress import log
from symgen.support.errors import RequestError
from symgen.support.tables import table
from symgen.vocabulary.options import AUTO, HOST, NORMAL

if TYPE_CHECKING:
    from symgen.mechanism.mechanism import Mechanism
    from symgen.vocabulary.options import Links, ProgramOptions

OFF = (".urdf", ".xacro")
"""Descriptions whose drives are off unless they are named."""

_DECIDED: dict[str, object] = {
    "lock": [],
    "gravity": None,
    "snap": None,
    "mimic": None,
    "base": None,
    "strict": False,
    "drives": None,
    "friction_speed": None,
    "independent": [],
    "actuated": [],
    "joint_order": "file",
    "distribution": None,
    "model": None,
    "xacro": [],
    "package": [],
    "real": "double",
    "trig": HOST,
    "frame": None,
    "payload": None,
    "wrench": None,
    "jacobian_frame": "aligned",
    "jacobian_order": "angular",
    "task_rows": None,
    "contact": None,
    "effort": NORMAL,
    "parameter": [],
    "baumgarte": False,
    "form": AUTO,
}
"""Options that a generated folder has already decided, with their defaults."""

LINES_OF_A_KIND = 2
LINE = 140


def robot_arguments(
    parser: Parser, what: str = "a built-in name (see 'symgen robots') or a path"
) -> None:
    """ROBOT, and the options that change how it is read."""
    parser.add_argument("robot", metavar="ROBOT", help=what)
    reading = parser.add_argument_group("reading the description")
    reading.add_argument(
        "--lock",
        action="append",
        default=[],
        metavar="JOINT[=VALUE]",
        help="freeze a joint at VALUE (rad or m, or pi/2; default 0) and lump what hangs on it; repeatable",
    )
    reading.add_argument(
        "--gravity",
        metavar="X,Y,Z",
        help="acceleration of gravity in the base, m/s² (default: the description's, else 0,0,-9.81)",
    )
    reading.add_argument(
        "--snap",
        metavar="off|TOL",
        help="read rotations within TOL rad of k·pi/2 as that (default: the description's, else 1e-8); a decimal that is k·pi/2 as "
        "printed to four places or more, such as 1.5708, is read so with any TOL; off: neither",
    )
    reading.add_argument(
        "--mimic",
        metavar="independent|couple|refuse",
        help="joints that mimic others: independent, following those, or refused (default: what the description "
        "says, else independent)",
    )
    reading.add_argument(
        "--base",
        metavar="fixed|free",
        help="what the root link stands on: fixed to the world, or floating by a free joint (default fixed, "
        "with a warning where it looks like a trunk)",
    )
    reading.add_argument(
        "--drives",
        metavar="on|off|LIST",
        help="what is applied of the drives that the description declares: all, nothing, or some of armature, "
        "damping, friction, stiffness, gravcomp, with commas (default: off for URDF and xacro, on for all else)",
    )
    reading.add_argument(
        "--friction-speed",
        metavar="SPEED",
        help="friction is -friction*v/sqrt(v^2 + SPEED^2), in rad/s or m/s (default: the description's, else 0.001)",
    )
    reading.add_argument(
        "--independent",
        action="append",
        default=[],
        metavar="JOINT",
        help="of a robot with loops, a joint on whose velocity all others hang, as reduced_mass_matrix counts "
        "them; as many as the loops leave free (default: the description's, else the first of v that are independent); "
        "repeatable, or with commas",
    )
    reading.add_argument(
        "--actuated",
        action="append",
        default=[],
        metavar="JOINT",
        help="likewise a joint that is driven, as constrained_inverse_dynamics takes it (default: the "
        "description's, else the independent ones); repeatable, or with commas",
    )
    reading.add_argument(
        "--joint-order",
        default="file",
        metavar="file|pinocchio|NAME,NAME,...",
        help="the order of the joints in q and v: the file's, that of Pinocchio's reader of the format, or that "
        "in which you name all joints that have coordinates, parents first (default %(default)s)",
    )
    reading.add_argument(
        "--from",
        dest="distribution",
        metavar="PACKAGE",
        help="ROBOT is the name of a file in this installed Python package, such as example-robot-data",
    )
    reading.add_argument(
        "--model", metavar="NAME", help="which model, of a file that holds several"
    )
    reading.add_argument(
        "--xacro",
        action="append",
        default=[],
        metavar="NAME:=VALUE",
        help="an argument of the macros of a xacro file; repeatable",
    )
    reading.add_argument(
        "--package",
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="the folder of a ROS package that a file names, looked at before those of ROS_PACKAGE_PATH and "
        "AMENT_PREFIX_PATH; repeatable",
    )
    reading.add_argument("--strict", action="store_true", help="refuse what would be a warning")


def read(options: Namespace) -> Mechanism:
    """The mechanism that the options of `robot_arguments` name."""
    from symgen.description.loading import is_text, load
    from symgen.description.namesakes import KIND

    if is_text(options.robot):
        raise RequestError(
            "ROBOT is the text of a description; give a built-in name or the path of its file"
        )
    start = perf_counter()
    mechanism = load(
        options.robot,
        lock=locks(options.lock),
        gravity=options.gravity,
        snap=options.snap,
        mimic=options.mimic,
        strict=options.strict,
        base=options.base,
        drives=options.drives,
        friction_speed=options.friction_speed,
        independent=_listed(options.independent),
        actuated=_listed(options.actuated),
        joint_order=options.joint_order,
        distribution=options.distribution,
        model=options.model,
        xacro=_pairs(options.xacro, "--xacro", ":="),
        packages=_pairs(options.package, "--package", "="),
    )
    for note in (note for note in mechanism.notes if note.kind == KIND):
        print(f"symgen: note: {note.text}", file=sys.stderr)
    log().info("%.2f s reading %s", perf_counter() - start, options.robot)
    return mechanism


def _listed(words: Iterable[str]) -> list[str] | None:
    """The names of a repeated option, which may have several with commas; None where it is not given."""
    return [name.strip() for word in words for name in word.split(",")] or None


def _pairs(words: Iterable[str], flag: str, sign: str) -> dict[str, str]:
    """{name: value} of a repeated option."""
    found: dict[str, str] = {}
    for word in words:
        name, given, value = word.partition(sign)
        if not name or not given:
            raise RequestError(
                f"'{flag} {word}' gives no value to a name; write {flag} NAME{sign}VALUE"
            )
        if found.setdefault(name, value) != value:
            raise RequestError(f"'{flag}' gives '{name}' two values; give it once")
    return found


def locks(words: Iterable[str]) -> dict[str, str | None]:
    """{joint: value or None} of repeated `--lock JOINT[=VALUE]`."""
    found: dict[str, str | None] = {}
    for word in words:
        name, equals, value = word.rpartition("=") if "=" in word else (word, "", "")
        if not name or (equals and not value):
            missing = "value" if name else "joint"
            raise RequestError(
                f"'--lock {word}' names no {missing}; write --lock JOINT or --lock JOINT=VALUE"
            )
        if found.setdefault(name, value or None) != (value or None):
            raise RequestError(f"joint '{name}' is locked at two values; give --lock {name} once")
    return found


def generated_folder(
    options: Namespace, done: str, usual: Mapping[str, object] | None = None
) -> Path | None:
    """Return the folder of `symgen generate` that ROBOT names; None for a robot.

    `done` says what the command does to the folder ('verified'), `usual` are the command's own defaults. Of a folder in the
    working directory and a built-in robot that share a name, a note says which is taken. Raises RequestError for options that a
    folder has already decided.
    """
    from symgen.description.folders import folder_to_judge
    from symgen.description.namesakes import namesake

    robot = options.robot
    folder = None if options.distribution is not None else folder_to_judge(robot)
    if folder is None:
        return None
    twin = namesake(robot)
    defaults = _DECIDED | dict(usual or {})
    changed = next(
        (name for name, default in defaults.items() if getattr(options, name, default) != default),
        None,
    )
    if changed is not None:
        flag = f"--{changed.replace('_', '-')}"
        beside = (
            ""
            if twin is None
            else f", or work in another directory for the built-in robot '{robot}'"
        )
        raise RequestError(
            f"the folder {robot} is {done} as it was generated, so {flag} does not apply; generate it again with "
            f"it, or name the description{beside}"
        )
    if twin is not None:
        print(
            f"symgen: note: '{robot}' means the folder ./{robot} here, not the built-in robot; work in another directory for "
            "the robot",
            file=sys.stderr,
        )
    return folder


USUAL_FUNCTIONS = (
    "every function but those that are made on request only, which a note of generate's names"
)
"""The functions that most commands take without -f."""


def function_arguments(parser: Parser, usual: str = USUAL_FUNCTIONS) -> None:
    """-f; `usual` says which functions are taken without it."""
    parser.add_argument(
        "-f",
        "--function",
        action="append",
        dest="functions",
        metavar="FUNCTION[=METHOD]",
        help="a function, by METHOD or by that with the fewest operations, or its derivative, as "
        f"FUNCTION:jacobian(q); repeatable (default: {usual})",
    )


PARAMETERS = (
    "a number that may change at run time: LINK.mass, LINK.centre, LINK.inertia, LINK for all three, "
    "payload:LINK, gravity, JOINT.armature, .damping, .friction, .stiffness, .rest, JOINT for all five, or a "
    "pattern such as '*.mass'; repeatable"
)
"""The help of --parameter."""


def program_arguments(
    parser: Parser,
    on_a_target: bool = False,
    functions: str = USUAL_FUNCTIONS,
    parameters: str = PARAMETERS,
) -> None:
    """-f (`functions` without it), --real (on a target None, for the target's own), links, and how a Jacobian is stated."""
    function_arguments(parser, functions)
    usual = (
        "float where the target's FPU has single precision only, else double"
        if on_a_target
        else "double"
    )
    parser.add_argument(
        "--real",
        default=None if on_a_target else "double",
        metavar="double|float",
        help=f"the type of the numbers in C (default {usual})",
    )
    frame_argument(
        parser,
        "the frame of forward_kinematics, jacobian and their like; repeatable, for the results of several "
        "frames in one call (default: a link that is named as a tool, else the last before the fingers; a "
        "note says which)",
    )
    parser.add_argument(
        "--payload",
        metavar="LINK",
        help="a run-time load on this link, as one more argument payload[10]",
    )
    parser.add_argument(
        "--wrench",
        action="append",
        metavar="LINK",
        help="what pushes this link from outside at run time, in its frame's axes, as one more argument "
        "wrench[6]: moment (N·m) about its frame's origin, then force (N); repeatable, for a wrench on each "
        "of several links",
    )
    parser.add_argument(
        "--jacobian-frame",
        default="aligned",
        metavar="aligned|local|world",
        help="how jacobian and bias_acceleration are stated: in the axes of the base at the frame's origin, in the "
        "frame's own axes there, or in those of the base at the base's origin (default %(default)s)",
    )
    parser.add_argument(
        "--jacobian-order",
        default="angular",
        metavar="angular|linear",
        help="which part of them stands first (default %(default)s)",
    )
    task_rows_argument(parser, "operational_inertia and dynamically_consistent_inverse")
    contact_argument(parser)
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME",
        help=parameters,
    )
    baumgarte_argument(parser)
    parser.add_argument(
        "--effort",
        default=NORMAL,
        metavar="normal|high",
        help="high: search for fewer operations for minutes; Ctrl-C ends the search with what it has found (default %(default)s)",
    )


def form_argument(parser: Parser) -> None:
    """--form."""
    parser.add_argument(
        "--form",
        default=AUTO,
        metavar="unrolled|looped|auto",
        help="unrolled: rows for every link; looped: loops over tables of links, a text that does not grow with "
        "the robot; auto: unrolled as long as that is not too long (default %(default)s)",
    )


def frame_argument(parser: Parser, what: str) -> None:
    """--frame."""
    parser.add_argument("--frame", action="append", metavar="LINK", help=what)


def task_rows_argument(parser: Parser, of: str) -> None:
    """--task-rows."""
    parser.add_argument(
        "--task-rows",
        metavar="ROWS",
        help=f"the rows that {of} are about, of wx,wy,wz,x,y,z or 0 to 5, in their order (default all six)",
    )


def contact_argument(parser: Parser) -> None:
    """--contact."""
    parser.add_argument(
        "--contact",
        action="append",
        metavar="LINK[:x,y,z]",
        help="a point that may touch something, in the axes of its link's frame (m; default its origin), for "
        "contact_forward_dynamics and contact_impulse, which -f asks for and which take active[] with 1 "
        "where it holds and 0 where it does not; repeatable",
    )


def baumgarte_argument(parser: Parser) -> None:
    """--baumgarte."""
    parser.add_argument(
        "--baumgarte",
        action="store_true",
        help="pull open loops together: constrained_forward_dynamics and contact_forward_dynamics take one more "
        "argument gains[2], K_p (1/s²) and K_d (1/s) of A a + gamma + K_d A v + K_p C(q) = 0, and what is "
        "about loops holds beside them too",
    )


def program_options(options: Namespace, real: str = "double") -> ProgramOptions:
    """What the options of `program_arguments` ask of a Program; `real` is the type where none was asked for."""
    from symgen.vocabulary.options import ProgramOptions

    return ProgramOptions(
        options.real or real,
        frame=options.frame,
        payload=options.payload,
        wrench=options.wrench,
        jacobian_frame=options.jacobian_frame,
        jacobian_order=options.jacobian_order,
        task_rows=options.task_rows,
        contact=options.contact,
        effort=options.effort,
        parameters=tuple(options.parameter),
        baumgarte=options.baumgarte,
        form=getattr(options, "form", AUTO),
    )


def functions(words: Sequence[str] | None) -> list[str] | None:
    """The requested functions; a function asked for twice, by two methods, is a mistake."""
    if words is None:
        return None
    seen: dict[str, str] = {}
    for word in words:
        name = word.partition("=")[0]
        if word.endswith("="):
            raise RequestError(
                f"'-f {word}' names no method; write -f FUNCTION or -f FUNCTION=METHOD"
            )
        if seen.setdefault(name, word) != word:
            raise RequestError(
                f"function '{name}' is asked for twice, as '{seen[name]}' and as '{word}'; give it once"
            )
    return list(seen.values())


def say_notes(mechanism: Mechanism, robot: str, drives: str | None = None) -> None:
    """Print on stderr the notes that a user should see without asking, those alike in one line; the warnings come last, from
    `symgen.cli`. Say what else `--drives` would apply, where it was not given.

    On a terminal, lines are shortened between words, and two of a kind are printed.
    """
    from symgen.mechanism.notes import LOUD, gathered

    terminal = sys.stderr.isatty()
    for kind in (kind for kind in LOUD if kind != "warning"):
        texts = gathered(mechanism.notes, kind)
        lines = LINES_OF_A_KIND if terminal else len(texts)
        for text in texts[:lines]:
            line = f"symgen: note: {' '.join(text.split())}"
            print(shortened(line) if terminal else line, file=sys.stderr)
        if len(texts) > lines:
            print(
                f"symgen: … and {len(texts) - lines} more of kind {kind}; 'symgen show {robot}' lists them",
                file=sys.stderr,
            )
    if drives is None and (held := _held_drives(mechanism, robot)):
        print(f"symgen: note: --drives on applies {held}", file=sys.stderr)


def _held_drives(mechanism: Mechanism, robot: str) -> str:
    """The kinds of drives that a URDF declares and that are off; none of a description that says what it leaves out."""
    from symgen.description.announcing import held_drives

    if not mechanism.source.endswith(OFF) or robot.endswith(".toml") or Path(robot).is_dir():
        return ""
    return held_drives(mechanism)


def shortened(line: str, width: int = LINE) -> str:
    """`line`, or as many of its words as fit into `width` columns and …; a name or a number is never cut."""
    if len(line) <= width:
        return line
    end = line.rfind(" ", 0, width - 1)
    return f"{line[:end].rstrip(',;:')} …" if end > 0 else line


def name_frame(
    robot: Mechanism | Path,
    asked: Iterable[str] | None,
    frame: Links = None,
    stated: tuple[str, str] | None = None,
) -> None:
    """A note on stderr that names the frame of the functions `asked` for (None: all), if one of them depends on a frame.

    A folder's is in its manifest; `frame` None is the default one, whose choice is explained. Of several, those functions are
    named that speak of the first alone. Where J is `stated` by a convention, those are that do not follow it.
    """
    from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS, USUAL

    names = (
        set(BY_DEFAULT)
        if asked is None
        else {word.partition("=")[0] for word in asked} & set(FUNCTIONS)
    )
    if not any(FUNCTIONS[name].needs_frame for name in names):
        return
    if isinstance(robot, Path):
        manifest = json.loads((robot / "manifest.json").read_text(encoding="utf-8"))
        names = set(manifest["functions"]) if asked is None else names
        if any(FUNCTIONS[name].needs_frame for name in names):
            found = manifest["options"]["frame"]
            said = (
                f"the frame is {found}"
                if isinstance(found, str)
                else f"the frames are {', '.join(found)}"
            )
            axes, order = (
                manifest["options"].get(key) for key in ("jacobian_frame", "jacobian_order")
            )
            said += f", J is {axes} and has the {order} part first" if axes and order else ""
            print(f"symgen: note: {said}, as the folder was generated", file=sys.stderr)
        return
    single = [
        f.name
        for f in FUNCTIONS.values()
        if f.name in names and f.needs_frame and not f.needs_frames
    ]
    if single and frame is not None and not isinstance(frame, str) and len(frame) > 1:
        print(
            f"symgen: note: {' and '.join(single)} {'speak' if len(single) > 1 else 'speaks'} of the first frame alone, "
            f"{frame[0]}",
            file=sys.stderr,
        )
    if single and stated not in (None, USUAL):
        print(
            f"symgen: note: {' and '.join(single)} {'do' if len(single) > 1 else 'does'} not follow --jacobian-frame and "
            "--jacobian-order: axes of the base, at the frame's origin, the angular part first",
            file=sys.stderr,
        )
    if frame is None and robot.frames:
        from symgen.description.tip import choose

        chosen = choose(robot)
        as_well = ", ".join(chosen.alike[:3]) + (" …" if len(chosen.alike) > 3 else "")
        alike = f"; like it: {as_well}" if as_well else ""
        print(
            f"symgen: note: the frame is {chosen.name} ({chosen.why}{alike}); --frame LINK takes another",
            file=sys.stderr,
        )


def costs(functions: Mapping[str, Mapping[str, Any]]) -> str:
    """The table of costs of {function: {"method", "operations", "depth"}}; logarithms have a column where one is taken."""
    logs = ["log"] if any("log" in entry["operations"] for entry in functions.values()) else []
    rows: list[Sequence[object]] = [
        ("function", "method", "mul", "add", "div", "sin+cos", *logs, "depth")
    ]
    for name, entry in functions.items():
        ops = entry["operations"]
        figures = (
            ops["mul"],
            ops["add"],
            ops["div"],
            ops["sin"] + ops["cos"],
            *(ops.get(log, 0) for log in logs),
        )
        rows.append((name, entry["method"], *figures, entry["depth"]))
    return "\n".join(table(rows, texts=(0, 1)))


def account(options: Namespace, text: str) -> None:
    """Print what a command wrote and where, unless --quiet is given or standard output is closed: the files are the result."""
    if not options.quiet and sys.stdout.writable():
        print(text)


def as_json(facts: Any) -> str:
    """JSON that any reader takes: no NaN, no infinity."""
    return json.dumps(_plain(facts), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, float) and value - value != 0:
        return None
    return value

"""Helpers of several commands: options that read a robot, notes, tables, facts for programs."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from symgen.cli.commands import CODE, FILE, FRAMES, FUNCTIONS, MESSAGES, ROBOT, Parser
from symgen.cli.commands._progress import log
from symgen.support.errors import RequestError
from symgen.support.tables import table
from symgen.vocabulary.options import (
    ProgramChoices,
    ReadingOptions,
    RealChoice,
    VerifyRequest,
    declarations,
    defaults,
)

if TYPE_CHECKING:
    from symgen.mechanism.mechanism import Mechanism
    from symgen.vocabulary.options import Links

OFF = (".urdf", ".xacro")
"""Suffixes of descriptions whose drives are off by default."""
_GROUPED = {
    FILE: "distribution model xacro packages",
    ROBOT: "lock gravity snap mimic base drives friction_speed independent actuated joint_order",
    FUNCTIONS: "real payload wrench contact parameters baumgarte",
    FRAMES: "frame jacobian_frame jacobian_order task_rows",
    CODE: "form effort trig checked batch wrap target evidence functions_only",
    MESSAGES: "strict",
}
GROUP_OF = {name: title for title, names in _GROUPED.items() for name in names.split()}
"""Name of an option -> the title of its group; options without one are the command's own."""

LINES_OF_A_KIND = 2
LINE = 140


def robot_arguments(
    parser: Parser, help_text: str = "a built-in name (see 'symgen robots') or a path"
) -> None:
    """Add ROBOT and the options of reading it."""
    parser.add_argument("robot", metavar="ROBOT", help=help_text)
    add_options(parser, ReadingOptions)


def add_options(parser: Parser, kind: Any, only: Collection[str] = (), **helps: str) -> None:
    """Add the options of a TypedDict, or `only` some of them, to their groups; `helps` replaces
    help texts.
    """
    for name, (_, option) in declarations(kind).items():
        if only and name not in only:
            continue
        facts: dict[str, Any] = {"dest": name, "help": helps.get(name, option.help)}
        if option.metavar is None:
            facts["action"] = "store_false" if option.default else "store_true"
        elif option.repeat:
            facts |= {"action": "append", "metavar": option.metavar}
        else:
            facts |= {"default": option.default, "metavar": option.metavar}
        title = GROUP_OF.get(name)
        (parser.group(title) if title else parser).add_argument(option.flag, **facts)


def of_options(options: Namespace, kind: Any) -> dict[str, Any]:
    """Return the values of a TypedDict's options; the default if an option is absent."""
    return {
        name: usual if (value := getattr(options, name, None)) is None else value
        for name, usual in defaults(kind).items()
    }


def read_mechanism(options: Namespace) -> Mechanism:
    """Return the mechanism that the options of `robot_arguments` name."""
    from symgen.description.loading import is_text, load
    from symgen.description.namesakes import KIND

    if is_text(options.robot):
        raise RequestError(
            "ROBOT is the text of a description; give a built-in name or the path of its file"
        )
    start = perf_counter()
    mechanism = load(
        options.robot,
        **of_options(options, ReadingOptions)
        | {
            "lock": locks(options.lock or ()),
            "independent": _listed(options.independent),
            "actuated": _listed(options.actuated),
            "xacro": _pairs(options.xacro, "--xacro", ":="),
            "packages": _pairs(options.packages, "--package", "="),
        },
    )
    for note in (note for note in mechanism.notes if note.kind == KIND):
        print(f"symgen: note: {note.text}", file=sys.stderr)
    log().info("%.2f s reading %s", perf_counter() - start, options.robot)
    return mechanism


def _listed(words: Iterable[str] | None) -> list[str] | None:
    """Return the names of a repeated option, each with one name or several with commas; None if it
    is absent.
    """
    return [name.strip() for word in words or () for name in word.split(",")] or None


def _pairs(words: Iterable[str] | None, flag: str, sign: str) -> dict[str, str]:
    """Return {name: value} of a repeated option."""
    values: dict[str, str] = {}
    for word in words or ():
        name, separator, value = word.partition(sign)
        if not name or not separator:
            raise RequestError(
                f"'{flag} {word}' gives no value to a name; write {flag} NAME{sign}VALUE"
            )
        if values.setdefault(name, value) != value:
            raise RequestError(f"'{flag}' gives '{name}' two values; give it once")
    return values


def locks(words: Iterable[str]) -> dict[str, str | None]:
    """Return {joint: value or None} of repeated `--lock JOINT[=VALUE]`."""
    values: dict[str, str | None] = {}
    for word in words:
        name, equals, value = word.rpartition("=") if "=" in word else (word, "", "")
        if not name or (equals and not value):
            missing = "value" if name else "joint"
            raise RequestError(
                f"'--lock {word}' names no {missing}; write --lock JOINT or --lock JOINT=VALUE"
            )
        if values.setdefault(name, value or None) != (value or None):
            raise RequestError(f"joint '{name}' is locked at two values; give --lock {name} once")
    return values


def generated_folder(
    options: Namespace, done: str, usual: Mapping[str, object] | None = None
) -> Path | None:
    """Return the folder of `symgen generate` that ROBOT names; None for a robot.

    `done` is the participle of the command ('verified'), `usual` are the command's own defaults. If
    a folder in the working directory and a built-in robot share a name, a note says which is taken.
    Raises RequestError for options that the folder has already decided.
    """
    from symgen.description.folders import folder_to_judge
    from symgen.description.namesakes import namesake

    robot = options.robot
    folder = None if options.distribution is not None else folder_to_judge(robot)
    if folder is None:
        return None
    same_named_folder = namesake(robot)
    decided = {**declarations(ReadingOptions), **declarations(VerifyRequest)}
    default_values = {
        name: None if option.repeat else option.default for name, (_, option) in decided.items()
    }
    default_values |= usual or {}
    changed = next(
        (
            name
            for name, default in default_values.items()
            if getattr(options, name, default) != default
        ),
        None,
    )
    if changed is not None:
        flag = decided[changed][1].flag
        beside = (
            ""
            if same_named_folder is None
            else f", or work in another directory for the built-in robot '{robot}'"
        )
        raise RequestError(
            f"the folder {robot} is {done} as it was generated, so {flag} does not apply; generate"
            f" it again with it, or name the description{beside}"
        )
    if same_named_folder is not None:
        print(
            f"symgen: note: '{robot}' means the folder ./{robot} here, not the built-in robot; work"
            " in another directory for the robot",
            file=sys.stderr,
        )
    return folder


USUAL_FUNCTIONS = "every function except those that must be named, which a note of generate lists"
"""Functions that most commands take without -f, in words."""


def function_arguments(parser: Parser, usual: str = USUAL_FUNCTIONS) -> None:
    """Add -f; `usual` describes the functions that are used without it."""
    parser.group(FUNCTIONS).add_argument(
        "-f",
        "--function",
        action="append",
        dest="functions",
        metavar="FUNCTION[=METHOD]",
        help=(
            "a function, by METHOD or by the method with the fewest operations, or a derivative,"
            f" such as FUNCTION:jacobian(q); repeatable (default: {usual})"
        ),
    )


def program_arguments(
    parser: Parser,
    on_a_target: bool = False,
    functions: str = USUAL_FUNCTIONS,
    kind: Any = ProgramChoices,
    **helps: str,
) -> None:
    """Add -f (`functions` without it), --real (on a target None, for the target's own), and the
    options of `kind`.
    """
    function_arguments(parser, functions)
    if on_a_target:
        helps["real"] = (
            "the type of the numbers in C (default float if the target's FPU is single precision,"
            " else double)"
        )
    add_options(parser, RealChoice, **helps)
    if on_a_target:
        parser.set_defaults(real=None)
    add_options(parser, kind, **helps)


def functions(words: Sequence[str] | None) -> list[str] | None:
    """Return the requested functions. RequestError for a function that is named twice, by two
    methods.
    """
    if words is None:
        return None
    words_by_name: dict[str, str] = {}
    for word in words:
        name = word.partition("=")[0]
        if word.endswith("="):
            raise RequestError(
                f"'-f {word}' names no method; write -f FUNCTION or -f FUNCTION=METHOD"
            )
        if words_by_name.setdefault(name, word) != word:
            raise RequestError(
                f"function '{name}' is named twice, as '{words_by_name[name]}' and as '{word}';"
                " give it once"
            )
    return list(words_by_name.values())


def say_notes(mechanism: Mechanism, robot: str, drives: str | None = None) -> None:
    """Print the loud notes on stderr, similar ones in one line, and the drives that `--drives`
    would apply if it is not given.

    `symgen.cli` prints the warnings, last. On a terminal, lines are shortened between words, and
    two of a kind are printed.
    """
    from symgen.mechanism.notes import LOUD, combined_notes

    terminal = sys.stderr.isatty()
    for kind in (kind for kind in LOUD if kind != "warning"):
        texts = combined_notes(mechanism.notes, kind)
        lines = LINES_OF_A_KIND if terminal else len(texts)
        for text in texts[:lines]:
            line = f"symgen: note: {' '.join(text.split())}"
            print(shortened(line) if terminal else line, file=sys.stderr)
        if len(texts) > lines:
            print(
                f"symgen: … and {len(texts) - lines} more of kind {kind}; 'symgen show {robot}'"
                " lists them",
                file=sys.stderr,
            )
    if drives is None and (held := _held_drives(mechanism, robot)):
        print(f"symgen: note: --drives on applies {held}", file=sys.stderr)


def _held_drives(mechanism: Mechanism, robot: str) -> str:
    """Return the kinds of drives that a URDF declares and that are off; empty for a description
    that lists what it leaves out.
    """
    from symgen.description.announcing import unapplied_drives

    if not mechanism.source.endswith(OFF) or robot.endswith(".toml") or Path(robot).is_dir():
        return ""
    return unapplied_drives(mechanism)


def shortened(line: str, width: int = LINE) -> str:
    """Return `line`, or as many of its words as fit into `width` columns and …; names and numbers
    are never cut.
    """
    if len(line) <= width:
        return line
    end = line.rfind(" ", 0, width - 1)
    return f"{line[:end].rstrip(',;:')} …" if end > 0 else line


def name_frame(
    robot: Mechanism | Path,
    requested: Iterable[str] | None,
    frame: Links = None,
    stated_convention: tuple[str, str] | None = None,
) -> None:
    """Print a note that names the frame of the `requested` functions (None: all), if one of them
    depends on a frame.

    The frame of a folder is in its manifest. `frame` None is the default frame, whose choice is
    explained. With several frames the note names the functions that use the first only. With a
    `stated_convention` for J the note names the functions that ignore the convention.
    """
    from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS

    if requested is None:
        names = set(BY_DEFAULT)
    else:
        names = {word.partition("=")[0] for word in requested} & set(FUNCTIONS)
    if not _depend_on_frame(names):
        return
    if isinstance(robot, Path):
        _name_frame_of_folder(robot, None if requested is None else names)
        return
    _name_functions_of_one_frame(names, frame, stated_convention)
    if frame is None and robot.frames:
        _name_default_frame(robot)


def _depend_on_frame(names: Iterable[str]) -> bool:
    from symgen.vocabulary.functions import FUNCTIONS

    return any(FUNCTIONS[name].needs_frame for name in names)


def _name_frame_of_folder(folder: Path, names: Iterable[str] | None) -> None:
    """Print a note on the frame of a generated folder, if one of its functions `names` (None: all)
    depends on a frame.
    """
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    if not _depend_on_frame(manifest["functions"] if names is None else names):
        return
    options = manifest["options"]
    frame = options["frame"]
    axes, order = options.get("jacobian_frame"), options.get("jacobian_order")
    sentence = (
        f"the frame is {frame}" if isinstance(frame, str) else f"the frames are {', '.join(frame)}"
    )
    sentence += f", J is {axes} and has the {order} part first" if axes and order else ""
    print(f"symgen: note: {sentence}, as the folder was generated", file=sys.stderr)


def _name_functions_of_one_frame(
    names: Collection[str], frame: Links, stated_convention: tuple[str, str] | None
) -> None:
    """Print notes on functions that use the first of several frames only, and that do not follow
    the convention of J.
    """
    from symgen.vocabulary.arrays import USUAL
    from symgen.vocabulary.functions import FUNCTIONS

    single = [
        f.name
        for f in FUNCTIONS.values()
        if f.name in names and f.needs_frame and not f.uses_all_frames
    ]
    words, several = " and ".join(single), len(single) > 1
    if single and frame is not None and not isinstance(frame, str) and len(frame) > 1:
        print(
            f"symgen: note: {words} {'speak' if several else 'speaks'} of the first frame alone,"
            f" {frame[0]}",
            file=sys.stderr,
        )
    if single and stated_convention not in (None, USUAL):
        print(
            f"symgen: note: {words} {'do' if several else 'does'} not follow --jacobian-frame and "
            "--jacobian-order: axes of the base, at the frame's origin, the angular part first",
            file=sys.stderr,
        )


def _name_default_frame(robot: Mechanism) -> None:
    """Print a note on the default frame, why it was chosen, and which others are similar."""
    from symgen.description.tip import choose_tip

    chosen = choose_tip(robot)
    as_well = ", ".join(chosen.alike[:3]) + (" …" if len(chosen.alike) > 3 else "")
    alike = f"; like it: {as_well}" if as_well else ""
    print(
        f"symgen: note: the frame is {chosen.name} ({chosen.why}{alike}); --frame LINK chooses"
        " another",
        file=sys.stderr,
    )


def costs(functions: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table of costs of {function: {"method", "operations", "depth"}}, with a column of
    logarithms if there is one.
    """
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
    """Print what a command wrote and where, except with --quiet or a closed standard output: the
    files are the result.
    """
    if not options.quiet and sys.stdout.writable():
        print(text)


def as_json(facts: Any) -> str:
    """Return JSON that every reader accepts: no NaN, no infinity."""
    return json.dumps(_json_value(facts), indent=2, ensure_ascii=False, allow_nan=False)


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _json_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(entry) for entry in value]
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, float) and value - value != 0:
        return None
    return value

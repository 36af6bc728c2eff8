"""Options of users: those for reading a description, those that change a Program, and those that
change only its C text.

Each option is declared once, as a field of a TypedDict: its name and type, and an `Option` with its
default, its help and its spelling on the command line. Public functions take these TypedDicts as
keyword arguments, and the command line builds its parser from them. `ProgramOptions` and
`TextOptions` are the validated values, and the keys of cached results. A Program does not depend on
`TextOptions`, and so is derived once for all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from fractions import Fraction
from functools import cache
from typing import Annotated, Any, TypedDict, TypeVar, get_type_hints

from symgen.support.errors import ArgumentError
from symgen.vocabulary.arrays import (
    ALL_ROWS,
    JACOBIAN_FRAMES,
    JACOBIAN_ORDERS,
    TASK_ROWS,
    USUAL,
    Convention,
)
from symgen.vocabulary.contacts import validate_contacts
from symgen.vocabulary.functions import AT_RUN_TIME
from symgen.vocabulary.names import nearest
from symgen.vocabulary.poses import Angle
from symgen.vocabulary.reals import REALS

TRIG = ("libm", "macro", "inline", "auto")
"""Sources of sines and cosines: <math.h>; the macros NAME_SIN and NAME_COS; generated functions;
or, per angle, generated functions within their proved range and <math.h> beyond.
"""
HOST = "auto"
"""Default source of sines and cosines on a machine like this one. The default on a target is
"libm".
"""


GPU = "cuda"
"""Wrapper with functions of its own, for another processor."""
NORMAL, HIGH = EFFORTS = ("normal", "high")
"""Duration of the search for fewer operations: as long as the derivation, or minutes."""
UNROLLED, LOOPED, AUTO = FORMS = ("unrolled", "looped", "auto")
"""Forms of a function: rows for every link, loops over a table of links, or the first unless it is
too long.
"""
Rows = str | Sequence[int | str] | None
"""Rows of a task by name or number (`symgen.vocabulary.arrays.TASK_ROWS`), as a comma-separated
text or a sequence; None for all six.
"""
Names = str | Sequence[str]
"""One name, or several."""
Links = str | Sequence[str] | None
"""Name of one link, or names of several in order; None for the default frame, or for no wrench."""


LockValue = int | float | str | Fraction | Angle | None
"""Position at which a joint is locked; None for 0."""


@dataclass(frozen=True)
class Option:
    """Default, help and command-line spelling of one option.

    `flag` defaults to the name of the option. An option without a `metavar` is a switch. An option
    with `repeat` can be given several times.
    """

    default: Any
    help: str
    flag: str = ""
    metavar: str | None = None
    repeat: bool = False


class StrictChoice(TypedDict, total=False):
    """Option to turn warnings into errors."""

    strict: Annotated[bool, Option(False, "turn warnings into errors")]


class MechanismChoices(TypedDict, total=False):
    """Options that change the mechanism that is read."""

    lock: Annotated[
        Mapping[str, LockValue] | Iterable[str] | None,
        Option(
            None,
            "lock a joint at VALUE (rad or m, or pi/2; default 0) and merge the links that it"
            " joins; repeatable",
            metavar="JOINT[=VALUE]",
            repeat=True,
        ),
    ]
    gravity: Annotated[
        str | Sequence[int | float | str | Fraction] | None,
        Option(
            None,
            "acceleration of gravity in the base, m/s² (default: the description's, else"
            " 0,0,-9.81)",
            metavar="X,Y,Z",
        ),
    ]
    snap: Annotated[
        str | float | Fraction | None,
        Option(
            None,
            "read rotations within TOL rad of k·pi/2 as k·pi/2 (default: the description's, else"
            " 1e-8); a decimal that equals k·pi/2 to its four or more printed places, such as"
            " 1.5708, is read so with any TOL; off: change no rotation",
            metavar="off|TOL",
        ),
    ]
    mimic: Annotated[
        str | None,
        Option(
            None,
            "mimic joints: read them as independent, couple them to their leaders, or refuse them"
            " (default: the description's, else independent)",
            metavar="independent|couple|refuse",
        ),
    ]
    base: Annotated[
        str | None,
        Option(
            None,
            "fix the root link to the world, or let it float with a free joint (default fixed, with"
            " a warning if the root looks like the trunk of a mobile robot)",
            metavar="fixed|free",
        ),
    ]
    drives: Annotated[
        str | Iterable[str] | None,
        Option(
            None,
            "declared drives to apply: all, none, or a comma-separated list of armature, damping,"
            " friction, stiffness, gravcomp (default: off for URDF and xacro, on for other"
            " formats)",
            metavar="on|off|LIST",
        ),
    ]
    friction_speed: Annotated[
        str | float | Fraction | None,
        Option(
            None,
            "SPEED in the smoothed friction -friction*v/sqrt(v^2 + SPEED^2), rad/s or m/s (default:"
            " the description's, else 0.001)",
            metavar="SPEED",
        ),
    ]
    independent: Annotated[
        str | Iterable[str] | None,
        Option(
            None,
            "independent joint of a closed chain, as in reduced_mass_matrix; give one per degree of"
            " freedom (default: the description's, else the first entries of v that are"
            " independent); repeatable, or with commas",
            metavar="JOINT",
            repeat=True,
        ),
    ]
    actuated: Annotated[
        str | Iterable[str] | None,
        Option(
            None,
            "actuated joint of a closed chain, as in constrained_inverse_dynamics (default: the"
            " description's, else the independent joints); repeatable, or with commas",
            metavar="JOINT",
            repeat=True,
        ),
    ]
    joint_order: Annotated[
        str | Iterable[str],
        Option(
            "file",
            "order of the joints in q and v: that of the file, that of Pinocchio's reader of the"
            " format, or your own list of all joints with coordinates, parents first (default"
            " %(default)s)",
            metavar="file|pinocchio|NAME,NAME,...",
        ),
    ]


class FileChoices(TypedDict, total=False):
    """Options that change how a file is found and read."""

    distribution: Annotated[
        str | None,
        Option(
            None,
            "ROBOT is the name of a file in this installed Python package, such as"
            " example-robot-data",
            flag="--from",
            metavar="PACKAGE",
        ),
    ]
    model: Annotated[
        str | None, Option(None, "name of the model in a file with several models", metavar="NAME")
    ]
    xacro: Annotated[
        Mapping[str, str] | None,
        Option(
            None,
            "argument of a xacro file; repeatable",
            metavar="NAME:=VALUE",
            repeat=True,
        ),
    ]
    packages: Annotated[
        Mapping[str, str | os.PathLike[str]] | None,
        Option(
            None,
            "folder of a ROS package that a file names, searched before those of ROS_PACKAGE_PATH"
            " and AMENT_PREFIX_PATH; repeatable",
            flag="--package",
            metavar="NAME=DIR",
            repeat=True,
        ),
    ]


class RobotOptions(MechanismChoices, StrictChoice, total=False):
    """Options for every robot, also for one in memory."""


class ReadingOptions(MechanismChoices, FileChoices, StrictChoice, total=False):
    """Options of `symgen.load`."""


class RealChoice(TypedDict, total=False):
    """The real type, which several public functions take as a positional argument."""

    real: Annotated[
        str,
        Option("double", "real type of the C (default double)", metavar="double|float"),
    ]


TaskRows = Annotated[
    Rows,
    Option(
        None,
        "rows of the task in operational_inertia and dynamically_consistent_inverse, from"
        " wx,wy,wz,x,y,z or 0 to 5, in order (default all six)",
        metavar="ROWS",
    ),
]
Contacts = Annotated[
    Links,
    Option(
        None,
        "contact point in the axes of its link's frame (m; default its origin), for"
        " contact_forward_dynamics and contact_impulse (request them with -f); their argument"
        " active[] is 1 for an active contact and 0 otherwise; repeatable",
        metavar="LINK[:x,y,z]",
        repeat=True,
    ),
]
Baumgarte = Annotated[
    bool,
    Option(
        False,
        "Baumgarte stabilisation of loop closures: constrained_forward_dynamics and"
        " contact_forward_dynamics take one more argument gains[2], K_p (1/s²) and K_d (1/s) of A a"
        " + gamma + K_d A v + K_p C(q) = 0; functions of closed loops then also hold where the"
        " loops are open",
    ),
]


class RowChoices(TypedDict, total=False):
    """Options that change the rows of a Program."""

    frame: Annotated[
        Links,
        Option(
            None,
            "frame of forward_kinematics, jacobian and similar functions; repeatable, for results"
            " of several frames in one call (default: a link with the name of a tool, else the last"
            " link before the fingers; a note says which)",
            metavar="LINK",
            repeat=True,
        ),
    ]
    payload: Annotated[
        str | None,
        Option(
            None,
            "link with a run-time payload, as one more argument payload[10]",
            metavar="LINK",
        ),
    ]
    wrench: Annotated[
        Links,
        Option(
            None,
            "link with an external wrench at run time, as one more argument wrench[6]: moment (N·m)"
            " about the origin of the link's frame, then force (N), in the frame's axes;"
            " repeatable, for wrenches on several links",
            metavar="LINK",
            repeat=True,
        ),
    ]
    jacobian_frame: Annotated[
        str,
        Option(
            USUAL.frame,
            "axes and reference point of jacobian and bias_acceleration; aligned: axes of the base"
            " at the frame's origin; local: axes of the frame at its origin; world: axes of the"
            " base at the base's origin (default %(default)s)",
            metavar="aligned|local|world",
        ),
    ]
    jacobian_order: Annotated[
        str,
        Option(
            USUAL.order,
            "rows of jacobian and bias_acceleration that come first (default %(default)s)",
            metavar="angular|linear",
        ),
    ]
    task_rows: TaskRows
    contact: Contacts
    parameters: Annotated[
        Names,
        Option(
            (),
            "number that can change at run time: LINK.mass, LINK.centre, LINK.inertia, LINK for all"
            " three, payload:LINK, gravity, JOINT.armature, .damping, .friction, .stiffness, .rest,"
            " JOINT for all five, or a pattern such as '*.mass'; repeatable",
            flag="--parameter",
            metavar="NAME",
            repeat=True,
        ),
    ]
    baumgarte: Baumgarte
    effort: Annotated[
        str,
        Option(
            NORMAL,
            "high: search for fewer operations for minutes; Ctrl-C ends the search and keeps its"
            " best result (default %(default)s)",
            metavar="normal|high",
        ),
    ]


class FormChoice(TypedDict, total=False):
    """Rows for every link, or loops over links."""

    form: Annotated[
        str,
        Option(
            AUTO,
            "unrolled: operations written out for every link; looped: loops over tables of links, a"
            " text that does not grow with the robot; auto: unrolled unless that is too long"
            " (default %(default)s)",
            metavar="unrolled|looped|auto",
        ),
    ]


class ProgramChoices(RowChoices, FormChoice, total=False):
    """Options that change a Program: its rows, or its form."""


class TrigChoice(TypedDict, total=False):
    """Source of sines and cosines in the C."""

    trig: Annotated[
        str | None,
        Option(
            HOST,
            "libm: call sin and cos; macro: call NAME_SIN and NAME_COS; inline: generate a sine and"
            " cosine without branches; auto: generated ones for all angles in a loop, libm's beyond"
            " their range (default auto, with --target libm)",
            metavar="libm|macro|inline|auto",
        ),
    ]


class TextChoices(TrigChoice, total=False):
    """Options that change the C of every function, and no Program."""

    checked: Annotated[
        bool,
        Option(
            False,
            "functions return a status, and leave their results unchanged if an argument or a"
            " divisor is invalid or a result would not be finite",
        ),
    ]


class FolderChoices(TextChoices, total=False):
    """Options that change the files of a folder, and no Program."""

    batch: Annotated[
        bool,
        Option(
            False,
            "also generate NAME_<function>_batch.c: functions for many states, in blocks that"
            " compilers vectorise",
        ),
    ]
    wrap: Annotated[
        Iterable[str],
        Option(
            (),
            "also generate NAME.hpp, a C++17 wrapper with std::array; NAME_casadi.c for"
            " casadi.external; or NAME_<function>_cuda.cu, kernels for many states on a GPU",
            metavar="cpp17|casadi|cuda",
            repeat=True,
        ),
    ]
    target: Annotated[
        str | None,
        Option(
            None,
            "also generate firmware/, which runs the self-test on the target; the README then has"
            " the proved bounds and, except for host, the cost sheet",
            metavar="TARGET",
        ),
    ]
    evidence: Annotated[
        bool,
        Option(
            True,
            "with --target: skip measurements and proofs, which saves time",
            flag="--no-evidence",
        ),
    ]
    functions_only: Annotated[
        bool,
        Option(
            False,
            "generate only the functions, their headers and the files of --batch and --wrap, to"
            " copy into a project",
        ),
    ]


class RowRequest(RowChoices, TrigChoice, total=False):
    """Options of `symgen.program`."""


class TextRequest(ProgramChoices, TextChoices, total=False):
    """Options of functions and of their text."""


class VerifyRequest(RealChoice, TextRequest, total=False):
    """Options of `symgen.verify`."""


class FormulaRequest(TypedDict, total=False):
    """Options of `symgen.inspect`."""

    form: Annotated[
        str,
        Option(
            None,
            "recursive: named equations down to the inputs; closed: one formula; multiangle: the"
            " unique sum of cosines and sines of multiple angles, or a quotient of two in lowest"
            " terms; looped: for a whole result, the equations of one link (default: multiangle for"
            " a method's letter, Minv, det, Lambda_inv and entries of M, c and g; else by size,"
            " with a note)",
            metavar="recursive|closed|multiangle|looped",
        ),
    ]
    symbols: Annotated[
        Names,
        Option(
            "none",
            "keep masses, mass centres, moments or lengths as symbols (default %(default)s)",
            metavar="all|none|m,c,I,l",
        ),
    ]
    at: Annotated[
        Mapping[str, str | int | float | Fraction] | None,
        Option(
            None,
            "evaluate at a pose: values of coordinates, by index or name",
            metavar="q1=0,q2=pi/2",
        ),
    ]
    frame: Annotated[
        Links,
        Option(
            None,
            "frame of R, p, J, Jdot_v, Lambda_inv, alpha_tip, Lambda and Jbar; repeatable, and the"
            " first index of R, p, J and Jdot_v is then that of the frame (default: as in"
            " generate)",
            metavar="LINK",
            repeat=True,
        ),
    ]
    task_rows: Annotated[
        Rows,
        Option(
            None,
            "rows of the task in Lambda and Jbar, from wx,wy,wz,x,y,z or 0 to 5, in order (default"
            " all six)",
            metavar="ROWS",
        ),
    ]


class FolderRequest(ProgramChoices, FolderChoices, StrictChoice, total=False):
    """Options of `symgen.generate`."""


@cache
def declarations(kind: Any) -> dict[str, tuple[Any, Option]]:
    """Return type and Option of every field of a TypedDict of options, by name, in order."""
    declared = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        option = hint.__metadata__[0]
        flag = option.flag or f"--{name.replace('_', '-')}"
        declared[name] = hint.__origin__, replace(option, flag=flag)
    return declared


def defaults(kind: Any) -> dict[str, Any]:
    """Return the default of every option of a TypedDict, by name."""
    return {name: option.default for name, (_, option) in declarations(kind).items()}


Values = TypeVar("Values")


def values_of(kind: type[Values], options: Mapping[str, Any], **more: Any) -> Values:
    """Build the dataclass `kind` (ProgramOptions, TextOptions) from the options that are its
    fields, and `more`.
    """
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in options.items() if name in names} | more)


@dataclass(frozen=True)
class ProgramOptions:
    """Validated options that change a Program.

    - `real`: real type; it changes no row, only the method that is chosen by default.
    - `frame`: link whose pose or Jacobian is requested; a tuple for several, in order.
    - `payload`, `wrench`: links with a run-time load or an external wrench, each one more argument;
      `wrench` may be a tuple.
    - `jacobian_frame`, `jacobian_order`: convention of J and J̇ v
      (`symgen.vocabulary.arrays.Convention`).
    - `task_rows`: rows of J for the functions that invert J M⁻¹ Jᵀ.
    - `contact`: contact points, LINK or LINK:x,y,z (`symgen.vocabulary.contacts`); a tuple for
      several.
    - `effort`: one of EFFORTS; `rounds`: number of rounds after which the search ends, None for
      all.
    - `parameters`: numbers that can change at run time (`symgen.mechanism.adjustable`); with
      `divisor_bounds`, the values prepared from them include lower bounds of the divisors.
    - `anywhere`: functions of closed loops also hold where the loops are open, as derivatives
      require.
    - `baumgarte`: functions of closed loops also hold where the loops are open, and run-time gains
      pull open loops together.
    - `series`: Programs that move positions use functions of a rotation that are differentiated
      without cancellation (`symgen.pipeline.differentiation.series`).
    - `form`: one of FORMS; "auto" uses loops over links if there would be too many rows.
    """

    real: str = "double"
    _: KW_ONLY
    frame: Links = None
    payload: str | None = None
    wrench: Links = None
    jacobian_frame: str = USUAL.frame
    jacobian_order: str = USUAL.order
    task_rows: Rows = None
    contact: Links = None
    effort: str = NORMAL
    rounds: int | None = None
    parameters: tuple[str, ...] = ()
    divisor_bounds: bool = False
    anywhere: bool = False
    baumgarte: bool = False
    series: bool = False
    form: str = AUTO

    def __post_init__(self) -> None:
        nearest(self.form, FORMS, "form")
        nearest(self.real, REALS, "real type")
        nearest(self.effort, EFFORTS, "effort")
        nearest(self.jacobian_frame, JACOBIAN_FRAMES, "frame of a Jacobian")
        nearest(self.jacobian_order, JACOBIAN_ORDERS, "order of a Jacobian")
        object.__setattr__(self, "task_rows", _row_numbers(self.task_rows))
        object.__setattr__(self, "parameters", tuple(dict.fromkeys(names_of(self.parameters))))
        self._validate_names(
            "frame",
            self.frames,
            "no frame is named; name one or more links, or give None for the default one",
            "the frame '{}' is named twice; name every frame once",
        )
        object.__setattr__(
            self, "contact", validate_contacts(self.contacts) if self.contacts else self.contact
        )
        self._validate_names(
            "contact",
            self.contacts,
            "no contact is named; name one or more, or give None for no contact",
            "the contact '{}' is named twice; name every point once",
        )
        self._validate_names(
            "wrench",
            self.wrenches,
            "no link is named for a wrench; name one or more, or give None for no wrench",
            "the link '{}' is named twice for a wrench; name every link once",
        )

    def _validate_names(
        self, option: str, names: tuple[str, ...], empty: str, repeated: str
    ) -> None:
        """Validate the names of one option; store one name as a str and several as a tuple.

        Raises ArgumentError with the text `empty` for no name, or `repeated` for a repeated name.
        """
        if getattr(self, option) is not None and not names:
            raise ArgumentError(empty)
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate is not None:
            raise ArgumentError(repeated.format(duplicate))
        if names:
            object.__setattr__(self, option, names[0] if len(names) == 1 else names)

    def guarded(self, checked: bool) -> ProgramOptions:
        """Return the options for `checked` or unchecked functions."""
        return replace(self, divisor_bounds=checked and bool(self.parameters))

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of the task by number, in order; all six by default."""
        assert isinstance(self.task_rows, tuple)
        return tuple(int(row) for row in self.task_rows)

    @property
    def convention(self) -> Convention:
        """Convention of J and J̇ v."""
        return Convention(self.jacobian_frame, self.jacobian_order)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames in order; empty for the default frame."""
        return names_of(self.frame)

    @property
    def wrenches(self) -> tuple[str, ...]:
        """Names of the links with an external wrench, in order."""
        return names_of(self.wrench)

    @property
    def contacts(self) -> tuple[str, ...]:
        """Contact points in order."""
        return names_of(self.contact)

    @property
    def prepared(self) -> tuple[str, ...] | None:
        """Parameters from which the argument `prepared` is computed; None if there are none."""
        return self.parameters or None

    @property
    def gains(self) -> str | None:
        """Reason for the argument `gains`, "baumgarte"; None without that argument."""
        return "baumgarte" if self.baumgarte else None

    @property
    def at_run_time(self) -> dict[str, tuple[str, ...]]:
        """Links, parameters or terms of every requested run-time argument, by the name of the
        argument.
        """
        names_by_argument = {
            argument.name: names_of(getattr(self, argument.name)) for argument in AT_RUN_TIME
        }
        return {name: links for name, links in names_by_argument.items() if links}


def _row_numbers(requested: Rows) -> tuple[int, ...]:
    """Return the rows of a task by number. Raises ArgumentError for an unknown or repeated row."""
    if requested is None:
        return ALL_ROWS
    words = requested.split(",") if isinstance(requested, str) else list(requested)
    numbers = []
    for word in (str(word).strip() for word in words):
        numbers.append(
            int(word)
            if word.isascii() and word.isdigit() and int(word) in ALL_ROWS
            else TASK_ROWS.index(nearest(word, TASK_ROWS, "row of a task"))
        )
    if not numbers or len(set(numbers)) < len(numbers):
        raise ArgumentError(
            f"the rows of the task are {requested!r}; name some of {','.join(TASK_ROWS)}, or 0 to"
            " 5, each once"
        )
    return tuple(numbers)


def names_of(links: Links) -> tuple[str, ...]:
    """Return one name, or several, as a tuple. Raises ArgumentError for other types."""
    names = (
        ()
        if not links
        else (links,)
        if isinstance(links, str) or not isinstance(links, Iterable)
        else tuple(links)
    )
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(
                f"give a link by its name, or several as a list of names; {name!r} is not a string"
            )
    return names


@dataclass(frozen=True)
class TextOptions:
    """Validated options that change the C of a Program but not the Program.

    - `trig`: one of TRIG. `checked`: functions return a status. `batch`: also functions for blocks
      of states.
    - `wrap`: names of the additional wrappers of the C. `target`: the machine for which firmware/
      is generated.
    """

    trig: str = "libm"
    _: KW_ONLY
    checked: bool = False
    wrap: tuple[str, ...] = ()
    target: str | None = None
    batch: bool = False

    def __post_init__(self) -> None:
        nearest(self.trig, TRIG, "kind of trigonometry")
        if self.batch and self.target is not None:
            raise ArgumentError(
                f"--batch generates blocks of states for vector processors, but {self.target}"
                " computes one state at a time; leave out --batch, or --target"
            )
        if GPU in self.wrap and self.target is not None:
            raise ArgumentError(
                f"--wrap {GPU} generates kernels for a GPU, which firmware for {self.target} cannot"
                f" call; leave out --wrap {GPU}, or --target"
            )


PLAIN = TextOptions()
"""Default options of the C text."""

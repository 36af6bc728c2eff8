"""Options of a user: what changes the reading of a description, a Program, and only the text of its C.

Each option is declared once, as a field of a TypedDict: its name and type, and an `Option` with its default, its help and its
spelling at the command line. Public functions take these TypedDicts as keyword arguments, and the command line builds its parser
from them. `ProgramOptions` and `TextOptions` are the validated values, and the keys of whatever is kept: a Program knows nothing
of `TextOptions`, and so is derived once for all of them.
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
"""What computes sines and cosines: <math.h>, NAME_SIN and NAME_COS, the text's own, or angle by angle the text's own within the
range that these are proved for and <math.h> beyond it."""
HOST = "auto"
"""Where sines and cosines come from unless told, on a machine like this one. On a target it is "libm"."""


GPU = "cuda"
"""The wrapper that has functions of its own, for another processor."""
NORMAL, HIGH = EFFORTS = ("normal", "high")
"""How long fewer operations are sought: as long as deriving takes, or for minutes."""
UNROLLED, LOOPED, AUTO = FORMS = ("unrolled", "looped", "auto")
"""A function as rows for every link, as loops over a table of links, or the first as long as it is not too long."""
Rows = str | Sequence[int | str] | None
"""Rows of a task by name or number (`symgen.vocabulary.arrays.TASK_ROWS`), in one text with commas or one by one; None for all six."""
Names = str | Sequence[str]
"""A name, or several."""
Links = str | Sequence[str] | None
"""A link's name, or those of several in their order; None for the default frame, or for no wrench."""


LockValue = int | float | str | Fraction | Angle | None
"""A position at which a joint is locked; None for 0."""


@dataclass(frozen=True)
class Option:
    """Default, help and command-line spelling of one option.

    `flag` is made from the option's name unless it is given. An option without a `metavar` is a switch. A `repeat`ed one may be
    given several times.
    """

    default: Any
    help: str
    flag: str = ""
    metavar: str | None = None
    repeat: bool = False


class StrictChoice(TypedDict, total=False):
    """Refusal of what is a warning otherwise."""

    strict: Annotated[bool, Option(False, "refuse what would be a warning")]


class MechanismChoices(TypedDict, total=False):
    """Options that change the mechanism that is read."""

    lock: Annotated[
        Mapping[str, LockValue] | Iterable[str] | None,
        Option(
            None,
            "freeze a joint at VALUE (rad or m, or pi/2; default 0) and lump what hangs on it; repeatable",
            metavar="JOINT[=VALUE]",
            repeat=True,
        ),
    ]
    gravity: Annotated[
        str | Sequence[int | float | str | Fraction] | None,
        Option(
            None,
            "acceleration of gravity in the base, m/s² (default: the description's, else 0,0,-9.81)",
            metavar="X,Y,Z",
        ),
    ]
    snap: Annotated[
        str | float | Fraction | None,
        Option(
            None,
            "read rotations within TOL rad of k·pi/2 as that (default: the description's, else 1e-8); a decimal that is k·pi/2 as "
            "printed to four places or more, such as 1.5708, is read so with any TOL; off: neither",
            metavar="off|TOL",
        ),
    ]
    mimic: Annotated[
        str | None,
        Option(
            None,
            "joints that mimic others: independent, following those, or refused (default: what the description "
            "says, else independent)",
            metavar="independent|couple|refuse",
        ),
    ]
    base: Annotated[
        str | None,
        Option(
            None,
            "what the root link stands on: fixed to the world, or floating by a free joint (default fixed, "
            "with a warning where it looks like a trunk)",
            metavar="fixed|free",
        ),
    ]
    drives: Annotated[
        str | Iterable[str] | None,
        Option(
            None,
            "what is applied of the drives that the description declares: all, nothing, or some of armature, "
            "damping, friction, stiffness, gravcomp, with commas (default: off for URDF and xacro, on for all else)",
            metavar="on|off|LIST",
        ),
    ]
    friction_speed: Annotated[
        str | float | Fraction | None,
        Option(
            None,
            "friction is -friction*v/sqrt(v^2 + SPEED^2), in rad/s or m/s (default: the description's, else 0.001)",
            metavar="SPEED",
        ),
    ]
    independent: Annotated[
        str | Iterable[str] | None,
        Option(
            None,
            "of a robot with loops, a joint on whose velocity all others hang, as reduced_mass_matrix counts "
            "them; as many as the loops leave free (default: the description's, else the first of v that are independent); "
            "repeatable, or with commas",
            metavar="JOINT",
            repeat=True,
        ),
    ]
    actuated: Annotated[
        str | Iterable[str] | None,
        Option(
            None,
            "likewise a joint that is driven, as constrained_inverse_dynamics takes it (default: the "
            "description's, else the independent ones); repeatable, or with commas",
            metavar="JOINT",
            repeat=True,
        ),
    ]
    joint_order: Annotated[
        str | Iterable[str],
        Option(
            "file",
            "the order of the joints in q and v: the file's, that of Pinocchio's reader of the format, or that "
            "in which you name all joints that have coordinates, parents first (default %(default)s)",
            metavar="file|pinocchio|NAME,NAME,...",
        ),
    ]


class FileChoices(TypedDict, total=False):
    """Options that change how a file is found and read."""

    distribution: Annotated[
        str | None,
        Option(
            None,
            "ROBOT is the name of a file in this installed Python package, such as example-robot-data",
            flag="--from",
            metavar="PACKAGE",
        ),
    ]
    model: Annotated[
        str | None, Option(None, "which model, of a file that holds several", metavar="NAME")
    ]
    xacro: Annotated[
        Mapping[str, str] | None,
        Option(
            None,
            "an argument of the macros of a xacro file; repeatable",
            metavar="NAME:=VALUE",
            repeat=True,
        ),
    ]
    packages: Annotated[
        Mapping[str, str | os.PathLike[str]] | None,
        Option(
            None,
            "the folder of a ROS package that a file names, looked at before those of ROS_PACKAGE_PATH and "
            "AMENT_PREFIX_PATH; repeatable",
            flag="--package",
            metavar="NAME=DIR",
            repeat=True,
        ),
    ]


class RobotOptions(MechanismChoices, StrictChoice, total=False):
    """Options of every robot, also of one in memory."""


class ReadingOptions(MechanismChoices, FileChoices, StrictChoice, total=False):
    """Options of `symgen.load`."""


class RealChoice(TypedDict, total=False):
    """The type of the numbers, which several public functions take by position."""

    real: Annotated[
        str,
        Option("double", "the type of the numbers in C (default double)", metavar="double|float"),
    ]


TaskRows = Annotated[
    Rows,
    Option(
        None,
        "the rows that operational_inertia and dynamically_consistent_inverse are about, of wx,wy,wz,x,y,z or 0 to 5, in "
        "their order (default all six)",
        metavar="ROWS",
    ),
]
Contacts = Annotated[
    Links,
    Option(
        None,
        "a point that may touch something, in the axes of its link's frame (m; default its origin), for "
        "contact_forward_dynamics and contact_impulse, which -f asks for and which take active[] with 1 "
        "where it holds and 0 where it does not; repeatable",
        metavar="LINK[:x,y,z]",
        repeat=True,
    ),
]
Baumgarte = Annotated[
    bool,
    Option(
        False,
        "pull open loops together: constrained_forward_dynamics and contact_forward_dynamics take one more "
        "argument gains[2], K_p (1/s²) and K_d (1/s) of A a + gamma + K_d A v + K_p C(q) = 0, and what is "
        "about loops holds beside them too",
    ),
]


class RowChoices(TypedDict, total=False):
    """Options that change the rows of a Program."""

    frame: Annotated[
        Links,
        Option(
            None,
            "the frame of forward_kinematics, jacobian and their like; repeatable, for the results of several "
            "frames in one call (default: a link that is named as a tool, else the last before the fingers; a "
            "note says which)",
            metavar="LINK",
            repeat=True,
        ),
    ]
    payload: Annotated[
        str | None,
        Option(
            None,
            "a run-time load on this link, as one more argument payload[10]",
            metavar="LINK",
        ),
    ]
    wrench: Annotated[
        Links,
        Option(
            None,
            "what pushes this link from outside at run time, in its frame's axes, as one more argument "
            "wrench[6]: moment (N·m) about its frame's origin, then force (N); repeatable, for a wrench on each "
            "of several links",
            metavar="LINK",
            repeat=True,
        ),
    ]
    jacobian_frame: Annotated[
        str,
        Option(
            USUAL.frame,
            "how jacobian and bias_acceleration are stated: in the axes of the base at the frame's origin, in the "
            "frame's own axes there, or in those of the base at the base's origin (default %(default)s)",
            metavar="aligned|local|world",
        ),
    ]
    jacobian_order: Annotated[
        str,
        Option(
            USUAL.order,
            "which part of them stands first (default %(default)s)",
            metavar="angular|linear",
        ),
    ]
    task_rows: TaskRows
    contact: Contacts
    parameters: Annotated[
        Names,
        Option(
            (),
            "a number that may change at run time: LINK.mass, LINK.centre, LINK.inertia, LINK for all three, "
            "payload:LINK, gravity, JOINT.armature, .damping, .friction, .stiffness, .rest, JOINT for all five, or a "
            "pattern such as '*.mass'; repeatable",
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
            "high: search for fewer operations for minutes; Ctrl-C ends the search with what it has found (default %(default)s)",
            metavar="normal|high",
        ),
    ]


class FormChoice(TypedDict, total=False):
    """Rows for every link, or loops over links."""

    form: Annotated[
        str,
        Option(
            AUTO,
            "unrolled: rows for every link; looped: loops over tables of links, a text that does not grow with "
            "the robot; auto: unrolled as long as that is not too long (default %(default)s)",
            metavar="unrolled|looped|auto",
        ),
    ]


class ProgramChoices(RowChoices, FormChoice, total=False):
    """Options that change a Program: its rows, or its form."""


class TrigChoice(TypedDict, total=False):
    """The source of sines and cosines in the C."""

    trig: Annotated[
        str | None,
        Option(
            HOST,
            "call sin and cos, or NAME_SIN and NAME_COS; inline: bring an own sine and cosine without a branch; "
            "auto: own ones of all angles in a loop, libm's beyond their range (default auto, with --target libm)",
            metavar="libm|macro|inline|auto",
        ),
    ]


class TextChoices(TrigChoice, total=False):
    """Options that change the C of every function, and no Program."""

    checked: Annotated[
        bool,
        Option(
            False,
            "functions return a status, and leave their results alone when an argument or a divisor is bad or a "
            "result would not be finite",
        ),
    ]


class FolderChoices(TextChoices, total=False):
    """Options that change the files of a folder, and no Program."""

    batch: Annotated[
        bool,
        Option(
            False,
            "also NAME_<function>_batch.c: the functions for many states, in blocks that compilers vectorise",
        ),
    ]
    wrap: Annotated[
        Iterable[str],
        Option(
            (),
            "also NAME.hpp, the C in C++17's std::array; NAME_casadi.c, what casadi.external loads; or "
            "NAME_<function>_cuda.cu, kernels for many states on a GPU",
            metavar="cpp17|casadi|cuda",
            repeat=True,
        ),
    ]
    target: Annotated[
        str | None,
        Option(
            None,
            "add firmware/, which runs the self-test on the target, and to the README what is proved and, except for host, the "
            "cost sheet",
            metavar="TARGET",
        ),
    ]
    evidence: Annotated[
        bool,
        Option(
            True,
            "with --target: neither measure nor prove, which saves time",
            flag="--no-evidence",
        ),
    ]
    functions_only: Annotated[
        bool,
        Option(
            False,
            "the functions, their headers and what --batch and --wrap add, nothing else: files to drop into a project",
        ),
    ]


class RowRequest(RowChoices, TrigChoice, total=False):
    """Options of `symgen.program`."""


class TextRequest(ProgramChoices, TextChoices, total=False):
    """Options of functions and their text."""


class VerifyRequest(RealChoice, TextRequest, total=False):
    """Options of `symgen.verify`."""


class FormulaRequest(TypedDict, total=False):
    """Options of `symgen.inspect`."""

    form: Annotated[
        str,
        Option(
            None,
            "named equations down to the inputs, one formula, the sum over cosines and sines of multiple "
            "angles that is unique for an entry of M, c, g or tau, or of a whole result the equations of one "
            "link, as of loops over links (default by size, and says so)",
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
            "at a pose: numbers for coordinates, by number or name",
            metavar="q1=0,q2=pi/2",
        ),
    ]
    frame: Annotated[
        Links,
        Option(
            None,
            "the frame of R, p, J, Jdot_v, Lambda_inv, alpha_tip, Lambda and Jbar; repeatable, and the first index of "
            "R, p, J and Jdot_v is then the frame's (default: as of the C)",
            metavar="LINK",
            repeat=True,
        ),
    ]
    task_rows: Annotated[
        Rows,
        Option(
            None,
            "the rows that Lambda and Jbar are about, of wx,wy,wz,x,y,z or 0 to 5, in their order (default all six)",
            metavar="ROWS",
        ),
    ]


class FolderRequest(ProgramChoices, FolderChoices, StrictChoice, total=False):
    """Options of `symgen.generate`."""


@cache
def declarations(kind: Any) -> dict[str, tuple[Any, Option]]:
    """Return the type and the Option of every field of a TypedDict of options, by name, in order."""
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
    """Build the dataclass `kind` (ProgramOptions, TextOptions) of those options that it has as fields, and `more`."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in options.items() if name in names} | more)


@dataclass(frozen=True)
class ProgramOptions:
    """What changes a Program: its real type, and the links that are meant.

    `frame` is the one whose pose or Jacobian is asked for; `payload` and `wrench` carry a load and feel an external wrench at run
    time, each one more argument. Frames and wrenches may be several in their order, a tuple then. `contact` names points that
    may touch something, LINK or LINK:x,y,z (`symgen.vocabulary.contacts`), likewise. The real type changes no row,
    but which method is taken unless told. `jacobian_frame` and `jacobian_order` say how J and J̇ v are stated
    (`symgen.vocabulary.arrays.Convention`), `task_rows` which rows of J those functions are about that invert J M⁻¹ Jᵀ. `effort` is one
    of EFFORTS; `rounds` are those after which a search is to end, None for all. `parameters` are the numbers that may change at
    run time (`symgen.mechanism.adjustable`), and with `floors` what is made of them holds the least that divisors may be. What
    is about loops holds where they are closed; with `anywhere` beside the loops too, as it must to be differentiated, and with
    `baumgarte` as well, by which open loops are pulled together with gains at run time. With `series` a Program that moves
    positions holds functions of a turn that are differentiated without cancellation (`symgen.pipeline.differentiation.series`). `form` is
    one of FORMS: with "auto" what would have too many rows is made of loops over links.
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
    floors: bool = False
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
        object.__setattr__(self, "task_rows", _rows(self.task_rows))
        object.__setattr__(self, "parameters", tuple(dict.fromkeys(names_of(self.parameters))))
        self._settle(
            "frame",
            self.frames,
            "no frame is named; name one or more links, or give None for the default one",
            "the frame '{}' is named twice; name every frame once",
        )
        object.__setattr__(
            self, "contact", validate_contacts(self.contacts) if self.contacts else self.contact
        )
        self._settle(
            "contact",
            self.contacts,
            "no contact is named; name one or more, or give None for no contact",
            "the contact '{}' is named twice; name every point once",
        )
        self._settle(
            "wrench",
            self.wrenches,
            "no link of a wrench is named; name one or more, or give None for no wrench",
            "two wrenches are asked for on '{}'; name every link once",
        )

    def _settle(self, option: str, names: tuple[str, ...], nothing: str, twice: str) -> None:
        """One link that is named is what it was before there could be several; of several, a tuple. ArgumentError for others."""
        if getattr(self, option) is not None and not names:
            raise ArgumentError(nothing)
        again = next((name for name in names if names.count(name) > 1), None)
        if again is not None:
            raise ArgumentError(twice.format(again))
        if names:
            object.__setattr__(self, option, names[0] if len(names) == 1 else names)

    def guarded(self, checked: bool) -> ProgramOptions:
        """The same for functions that are `checked`, or are not."""
        return replace(self, floors=checked and bool(self.parameters))

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of the task by number, in their order: all six unless told."""
        assert isinstance(self.task_rows, tuple)
        return tuple(int(row) for row in self.task_rows)

    @property
    def convention(self) -> Convention:
        """How J and J̇ v are stated."""
        return Convention(self.jacobian_frame, self.jacobian_order)

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of the frames in their order; none for the default one."""
        return names_of(self.frame)

    @property
    def wrenches(self) -> tuple[str, ...]:
        """The names of the links that feel a wrench, in their order."""
        return names_of(self.wrench)

    @property
    def contacts(self) -> tuple[str, ...]:
        """The points that may touch something, in their order."""
        return names_of(self.contact)

    @property
    def prepared(self) -> tuple[str, ...] | None:
        """The numbers that may change at run time, from which the argument of that name is made; None where there are none."""
        return self.parameters or None

    @property
    def gains(self) -> str | None:
        """What the argument of that name belongs to; None where it is not asked for."""
        return "baumgarte" if self.baumgarte else None

    @property
    def at_run_time(self) -> dict[str, tuple[str, ...]]:
        """The links, the numbers or the term of every run-time argument that is asked for, by the argument's name."""
        asked = {argument.name: names_of(getattr(self, argument.name)) for argument in AT_RUN_TIME}
        return {name: links for name, links in asked.items() if links}


def _rows(asked: Rows) -> tuple[int, ...]:
    """The rows of a task by number. ArgumentError for what is none, or is there twice."""
    if asked is None:
        return ALL_ROWS
    words = asked.split(",") if isinstance(asked, str) else list(asked)
    found = []
    for word in (str(word).strip() for word in words):
        found.append(
            int(word)
            if word.isascii() and word.isdigit() and int(word) in ALL_ROWS
            else TASK_ROWS.index(nearest(word, TASK_ROWS, "row of a task"))
        )
    if not found or len(set(found)) < len(found):
        raise ArgumentError(
            f"the rows of the task are {asked!r}; name some of {','.join(TASK_ROWS)}, or 0 to 5, each once"
        )
    return tuple(found)


def names_of(links: Links) -> tuple[str, ...]:
    """One name, or several, as a tuple. ArgumentError for what is neither."""
    found = (
        ()
        if not links
        else (links,)
        if isinstance(links, str) or not isinstance(links, Iterable)
        else tuple(links)
    )
    for one in found:
        if not isinstance(one, str):
            raise ArgumentError(
                f"a link is given by its name, several by a list of names, and {one!r} is no text"
            )
    return found


@dataclass(frozen=True)
class TextOptions:
    """What changes the C of a Program, and not the Program.

    `trig` is one of TRIG. Functions that are `checked` return a status. `wrap` names the wrappers of the C that stand beside it,
    `target` the machine that a firmware/ is made for. With `batch` every function stands there for many states as well.
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
                f"blocks of states are for processors with vectors, and {self.target} computes one state at a "
                "time; leave out --batch, or --target"
            )
        if GPU in self.wrap and self.target is not None:
            raise ArgumentError(
                f"kernels are for a GPU, and firmware for {self.target} calls none; leave out --wrap {GPU}, or "
                "--target"
            )


PLAIN = TextOptions()
"""The C unless told."""

"""What a user may choose about the C of one robot: what changes a Program, and what changes only its text.

Both are the keys of whatever is kept: a Program knows nothing of `TextOptions`, and so is derived once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from symgen.support.errors import ArgumentError
from symgen.vocabulary.contacts import validate_contacts
from symgen.vocabulary.functions import (
    ALL_ROWS,
    AT_RUN_TIME,
    JACOBIAN_FRAMES,
    JACOBIAN_ORDERS,
    TASK_ROWS,
    USUAL,
    Convention,
)
from symgen.vocabulary.names import nearest
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
"""Rows of a task by name or number (`symgen.vocabulary.functions.TASK_ROWS`), in one text with commas or one by one; None for all six."""
Names = str | Sequence[str]
"""A name, or several."""
Links = str | Sequence[str] | None
"""A link's name, or those of several in their order; None for the default frame, or for no wrench."""


@dataclass(frozen=True)
class ProgramOptions:
    """What changes a Program: its real type, and the links that are meant.

    `frame` is the one whose pose or Jacobian is asked for; `payload` and `wrench` carry a load and feel an external wrench at run
    time, each one more argument. Frames and wrenches may be several in their order, a tuple then. `contact` names points that
    may touch something, LINK or LINK:x,y,z (`symgen.vocabulary.contacts`), likewise. The real type changes no row,
    but which method is taken unless told. `jacobian_frame` and `jacobian_order` say how J and J̇ v are stated
    (`symgen.vocabulary.functions.Convention`), `task_rows` which rows of J those functions are about that invert J M⁻¹ Jᵀ. `effort` is one
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

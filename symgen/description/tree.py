"""What a reader hands over: links and joints as declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Protocol, runtime_checkable

from symgen.description.quantities import NOWHERE, Place
from symgen.description.snapping import Snapper
from symgen.mechanism.drives import NO_DRIVE, Drive
from symgen.mechanism.mechanism import Limits, Mimic, Note
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import X_AXIS, Angle, Pose, Vector3

_UNLIMITED = Limits()
BY_NAME, AS_DECLARED, AS_IN_THE_MODEL, UNKNOWN = (
    "by name",
    "as declared",
    "as in the model",
    "unknown",
)
LONGEST_NAME = 200
MOST_LINKS = 200_000
"""Links, joints, inertias or further frames of a description. A humanoid with hands has a hundred, a polymer a hundred thousand;
each one that is read takes about half a millisecond.
"""


def refuse_many(count: int, what: str, place: Place) -> None:
    """DescriptionError where there are more than `MOST_LINKS`."""
    if count > MOST_LINKS:
        raise place.error(
            f"there are more than {MOST_LINKS} {what}, and symgen reads no more",
            "give a smaller robot",
        )


def sha256_of(data: bytes, included: Sequence[bytes] = ()) -> str:
    """SHA-256 of a description; where it includes others, that of all their hashes, its own first."""
    own, *more = (sha256(one).hexdigest() for one in (data, *included))
    return sha256("\n".join((own, *more)).encode()).hexdigest() if more else own


@dataclass(frozen=True)
class Inertial:
    """One declared inertia: `pose` leads from the frame of the link's joint to the centre of mass and the axes of `moments`."""

    mass: Fraction
    moments: tuple[Fraction, ...]
    pose: Pose = ()
    place: Place = NOWHERE
    link: str = ""
    """The link it was declared for, where that is not the link that carries it (a lumped description)."""
    gravcomp: Fraction = Fraction(0)
    """The fraction of its weight that is declared to be borne."""


@dataclass(frozen=True)
class Link:
    """One declared link; no inertial at all is legal and means massless. `frame`: from its joint's moving frame to its own."""

    name: str
    inertials: tuple[Inertial, ...] = ()
    place: Place = NOWHERE
    frame: Pose = ()


@dataclass(frozen=True)
class Connection:
    """One declared joint, fixed ones included; `pose` leads from the parent link's joint frame to this joint's frame."""

    name: str
    kind: str
    parent: str
    child: str
    pose: Pose = ()
    axis: Vector3 = X_AXIS
    limits: Limits = _UNLIMITED
    mimic: Mimic | None = None
    unapplied: tuple[tuple[str, Fraction], ...] = ()
    place: Place = NOWHERE
    parameters: tuple[tuple[str, Fraction], ...] = ()
    unsure: str = ""
    """Why its `mimic` is not what was declared, where a number of it cannot be read."""
    drive: Drive = NO_DRIVE
    """What its drive is declared to be; which of it is applied is decided when the tree is assembled."""
    read_from: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """For a kind of drive, the names in `unapplied` that it was made of: they are not said where it is applied."""
    faults: tuple[tuple[str, DescriptionError], ...] = ()
    """By kind, what is wrong with a number of the drive: raised where that kind is applied."""


@dataclass(frozen=True)
class ExtraFrame:
    """A named frame that is no link: `pose` from the joint frame of `link`."""

    name: str
    link: str
    pose: Pose = ()
    place: Place = NOWHERE


@dataclass(frozen=True)
class Grip:
    """One end of a declared loop: a frame at `pose` from the joint frame of `link`, or from a further frame of that name."""

    link: str
    pose: Pose = ()
    place: Place = NOWHERE


@dataclass(frozen=True)
class Closing:
    """One declared joint that the tree has no place for; `kind` is a file of `symgen/mechanism/closures/`."""

    name: str
    kind: str
    first: Grip
    second: Grip
    parameters: tuple[tuple[str, Fraction], ...] = ()
    place: Place = NOWHERE


@dataclass(frozen=True)
class Tree:
    """A description as declared, before anything is lumped. `place` names the file."""

    name: str
    links: tuple[Link, ...]
    connections: tuple[Connection, ...]
    frames: tuple[ExtraFrame, ...] = ()
    gravity: Vector3 | None = None
    source: str = ""
    notes: tuple[Note, ...] = ()
    place: Place = NOWHERE
    read_before: bool = False
    """Whether `notes` are those of an earlier reading, of the description that this one was written from."""
    mimic: str | None = None
    """What is to be done with joints that mimic others, where the description says it."""
    drives_apply: bool = True
    """Whether the drives of this format are meant where nobody says which to apply."""
    names_unapplied: bool = False
    """True if the author wrote, in a format that has a word for it, which numbers are not applied."""
    friction_speed: Fraction | None = None
    source_sha256: str | None = None
    """Of the description that this one was written from, where it is a canonical one ('' where there was none)."""
    read_sha256: str = ""
    """Of what was read, where that is not the file alone: what its macros made, or a file with those that it includes."""
    loops: tuple[Closing, ...] = ()
    start: tuple[tuple[str, tuple[Angle, ...]], ...] = ()
    """Of some joints, the coordinates from which the closing of the loops is to start; lengths in m are plain numbers."""
    independent: tuple[str, ...] = ()
    actuated: tuple[str, ...] = ()
    """The joints that are to be independent, and those that are driven, where loops are closed."""
    afloat: bool = False
    """True if the reader gave free joints to the root links, as was asked."""
    pinocchio_order: str = BY_NAME
    """How Pinocchio orders the branches of a link of this format: BY_NAME, AS_DECLARED, AS_IN_THE_MODEL or UNKNOWN."""


@runtime_checkable
class Declared(Protocol):
    """A robot that no file holds."""

    @property
    def label(self) -> str:
        """What sentences call it."""

    def tree(self, snapper: Snapper) -> Tree:
        """What a reader of a file hands over."""

"""Links, joints and loops as declared: the result of a reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Protocol, runtime_checkable

from symgen.description.quantities import NOWHERE, Location
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
"""Largest number of links, joints, inertias or additional frames of a description.

A humanoid with hands has a hundred, a polymer a hundred thousand. Each one takes about half a
millisecond to read.
"""


def refuse_many(count: int, kind: str, location: Location) -> None:
    """Raise DescriptionError if `count` is above `MOST_LINKS`."""
    if count > MOST_LINKS:
        raise location.error(
            f"there are more than {MOST_LINKS} {kind}, the most that symgen reads",
            "give a smaller robot",
        )


def sha256_of(data: bytes, included: Sequence[bytes] = ()) -> str:
    """Return the SHA-256 of a description; with included files, that of all their hashes, its own
    first.
    """
    first, *included_hashes = (sha256(content).hexdigest() for content in (data, *included))
    return (
        sha256("\n".join((first, *included_hashes)).encode()).hexdigest()
        if included_hashes
        else first
    )


@dataclass(frozen=True)
class Inertial:
    """One declared inertia: `pose` leads from the frame of the link's joint to the centre of mass
    and the axes of `moments`.
    """

    mass: Fraction
    moments: tuple[Fraction, ...]
    pose: Pose = ()
    location: Location = NOWHERE
    link: str = ""
    """The link that declares the inertia, if another link carries it (a lumped description)."""
    gravcomp: Fraction = Fraction(0)
    """Fraction of the weight that gravity compensation cancels."""


@dataclass(frozen=True)
class Link:
    """One declared link; a link without inertials is massless. `frame` leads from its joint's
    moving frame to its own.
    """

    name: str
    inertials: tuple[Inertial, ...] = ()
    location: Location = NOWHERE
    frame: Pose = ()


@dataclass(frozen=True)
class Connection:
    """One declared joint, fixed or not; `pose` leads from the parent link's joint frame to this
    joint's frame.
    """

    name: str
    kind: str
    parent: str
    child: str
    pose: Pose = ()
    axis: Vector3 = X_AXIS
    limits: Limits = _UNLIMITED
    mimic: Mimic | None = None
    unapplied: tuple[tuple[str, Fraction], ...] = ()
    location: Location = NOWHERE
    parameters: tuple[tuple[str, Fraction], ...] = ()
    unsure: str = ""
    """Reason why `mimic` only approximates the declared relation; empty if it is exact."""
    drive: Drive = NO_DRIVE
    """The declared drive. The assembly decides which parts of it are applied."""
    read_from: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Kinds of drive, each with the names in `unapplied` from which it was computed.

    These names are not reported if the kind is applied.
    """
    faults: tuple[tuple[str, DescriptionError], ...] = ()
    """Faults of numbers of the drive, by kind. A fault is raised if its kind is applied."""


@dataclass(frozen=True)
class ExtraFrame:
    """A named frame that is not a link: `pose` leads to it from the joint frame of `link`."""

    name: str
    link: str
    pose: Pose = ()
    location: Location = NOWHERE


@dataclass(frozen=True)
class LoopEnd:
    """One end of a declared loop: a frame at `pose` from the joint frame of `link`, or from an
    additional frame of that name.
    """

    link: str
    pose: Pose = ()
    location: Location = NOWHERE


@dataclass(frozen=True)
class DeclaredLoop:
    """One declared joint that closes a loop; `kind` is a file of `symgen/mechanism/closures/`."""

    name: str
    kind: str
    first: LoopEnd
    second: LoopEnd
    parameters: tuple[tuple[str, Fraction], ...] = ()
    location: Location = NOWHERE


@dataclass(frozen=True)
class Tree:
    """A description as declared, before links are lumped. `location` names the file."""

    name: str
    links: tuple[Link, ...]
    connections: tuple[Connection, ...]
    frames: tuple[ExtraFrame, ...] = ()
    gravity: Vector3 | None = None
    source: str = ""
    notes: tuple[Note, ...] = ()
    location: Location = NOWHERE
    read_before: bool = False
    """True if `notes` were copied from the file that this description was converted from."""
    mimic: str | None = None
    """Declared treatment of mimic joints, if any."""
    drives_apply: bool = True
    """True if drives of this format are applied by default."""
    names_unapplied: bool = False
    """True if the format can declare numbers as not applied."""
    friction_speed: Fraction | None = None
    source_sha256: str | None = None
    """Hash of the description from which a canonical description was written; "" if there was none.
    """
    read_sha256: str = ""
    """Hash of the text that was read, if that is not the file alone: an expanded xacro, or a file
    with its includes.
    """
    loops: tuple[DeclaredLoop, ...] = ()
    start: tuple[tuple[str, tuple[Angle, ...]], ...] = ()
    """Coordinates of some joints from which the loops are closed; lengths in m are plain numbers.
    """
    independent: tuple[str, ...] = ()
    actuated: tuple[str, ...] = ()
    """Declared independent joints, and declared actuated joints, of closed loops."""
    afloat: bool = False
    """True if the reader gave free joints to the root links on request."""
    pinocchio_order: str = BY_NAME
    """Pinocchio's order of the branches of a link in this format: BY_NAME, AS_DECLARED,
    AS_IN_THE_MODEL or UNKNOWN.
    """


@runtime_checkable
class Declared(Protocol):
    """A robot that is not in a file."""

    @property
    def label(self) -> str:
        """Name of the robot in messages."""

    def tree(self, snapper: Snapper) -> Tree:
        """Return the tree, as a reader of a file does."""

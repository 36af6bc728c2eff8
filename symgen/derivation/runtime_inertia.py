"""Inertia whose numbers come at run time: gathered link by link, and moved to the parents, once for all functions of a robot.

It is what `model.links` and `model.regroup` do with constants, over Scalars. What comes out is `Prepared`: the numbers that
differ from one set of parameters to the next stand in one array, everything else stays a constant of the C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import feels
from symgen.derivation.constants import Constant, Mat3, Vec3
from symgen.derivation.loads import second_moments
from symgen.derivation.model import Inertia, Model
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia, Rotation, Symmetric, Vector

Number = Constant | int
"""A constant of the description (fmpq or arb), or the place of a parameter (int)."""


@dataclass(frozen=True)
class Matter:
    """What one declared link brings to link `link` of the model; `rotation` and `shift` lead to its frame from the declared one.

    `inertia` is xx xy xz yy yz zz about the origin of the declared frame, or about the mass centre where it is `central`.
    """

    link: int
    rotation: Mat3
    shift: Vec3
    mass: Number
    centre: tuple[Number, ...]
    inertia: tuple[Number, ...]
    central: bool


@dataclass(frozen=True)
class Entry:
    """A number of a link: a constant, or `sign` times element `place` of the array."""

    constant: Constant = k.ZERO
    place: int = -1
    sign: int = 1

    def scalar(self, home: Derivation, array: Sequence[Scalar]) -> Scalar:
        return (
            home.constant(self.constant)
            if self.place < 0
            else array[self.place]
            if self.sign > 0
            else -array[self.place]
        )


Ten = tuple[Entry, ...]
"""m, h (3), S (6) and I_zz of a link: eleven entries."""


@dataclass(frozen=True)
class Prepared:
    """Where the inertia of each link is found: `own`, as it is; `felt`, with what its joint cannot feel moved to its parent; and
    `forgotten`, where links on the base have lost that.

    `size` is the length of the array, in which gravity, three numbers from `gravity` on, and `drives` stand as they
    are given. Behind it, where that is asked for, stands by entry of v the `least` that its pivot may be.
    """

    own: tuple[Ten, ...]
    felt: tuple[Ten, ...]
    forgotten: tuple[Ten, ...]
    size: int
    gravity: int = -1
    drives: Mapping[tuple[int, str], int] = field(default_factory=dict)
    least: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class AtRunTime:
    """Where a method finds, in the argument `prepared`, the inertia of each link and gravity (none and -1: in the model), and
    numbers of drives."""

    inertia: tuple[Ten, ...]
    gravity: int = -1
    drives: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """Of a link's joint by what of its drive it is."""


def gather(
    home: Derivation,
    model: Model,
    fixed: Sequence[Inertia],
    loose: Sequence[Matter],
    given: Sequence[Scalar],
) -> list[RigidInertia]:
    """The inertia of every link about the origin of its frame: what is `fixed`, and what is `given` at run time."""
    found = [_constant(home, one) for one in fixed]
    for one in loose:
        home.step(f"inertia of {model.links[one.link].name}, in its computational frame")
        found[one.link] = found[one.link] + _matter(home, one, given)
    return found


def regrouped(home: Derivation, model: Model, own: Sequence[RigidInertia]) -> list[RigidInertia]:
    """The same with what a joint cannot feel in its parent, tip to base; a link on the base keeps what it has."""
    found = list(own)
    for i in reversed(range(len(found))):
        link, motion = model.links[i], feels(model.links[i].kind)
        if motion == "both" or link.parent < 0:
            continue
        home.step(f"link {i + 1} ({link.name}): what its joint cannot feel goes to its parent")
        kept, moved = _split(home, model, i, found[i])
        found[i], found[link.parent] = kept, found[link.parent] + moved
    return found


def forgotten(model: Model, felt: Sequence[RigidInertia]) -> list[RigidInertia]:
    """The same where links on the base have lost what no joint feels."""
    return [
        _kept(feels(link.kind), one) if link.parent < 0 else one
        for link, one in zip(model.links, felt, strict=True)
    ]


def _constant(home: Derivation, one: Inertia) -> RigidInertia:
    m, h, S = (
        home.constant(one.m),
        Vector(home.constant(x) for x in one.h),
        Symmetric(*(home.constant(x) for x in one.S)),
    )
    return RigidInertia.of(m, h, S)


def _matter(home: Derivation, one: Matter, given: Sequence[Scalar]) -> RigidInertia:
    def scalar(x: Number) -> Scalar:
        return given[x] if isinstance(x, int) else home.constant(x)

    m, center = scalar(one.mass), Vector(scalar(x) for x in one.centre)
    moments, h = [scalar(x) for x in one.inertia], center * m
    S = second_moments(home, moments)
    if one.central:
        S = S + Symmetric(
            *(h[i] * center[j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
        )
    turn = Rotation([] if one.rotation == k.IDENTITY else [_rows(home, one.rotation)])
    about_z = (
        moments[5] if not one.central else S.xx + S.yy
    )  # else the difference of what was added
    return RigidInertia(m, h, S, about_z).to_parent(
        turn, Vector(home.constant(x) for x in one.shift)
    )


def _rows(home: Derivation, m: Mat3) -> tuple[Vector, Vector, Vector]:
    x, y, z = (Vector(home.constant(entry) for entry in row) for row in m)
    return x, y, z


def _kept(motion: str, own: RigidInertia) -> RigidInertia:
    """What a joint feels of its own link: without the null space of its motion (`symgen.derivation.model.regroup`)."""
    zero = own.m * 0
    if motion == "ball":
        return RigidInertia(zero, own.h, own.S, own.about_z)
    if motion == "turn":
        S = own.S
        return RigidInertia(
            zero,
            Vector((own.h[0], own.h[1], zero)),
            Symmetric(S.xx, S.xy, S.xz, S.yy, S.yz, zero),
            own.about_z,
        )
    if motion == "slide":
        return RigidInertia(own.m, own.h, Symmetric(*(zero,) * 6), zero)
    return own


def _split(
    home: Derivation, model: Model, i: int, own: RigidInertia
) -> tuple[RigidInertia, RigidInertia]:
    """(what joint i feels of its link, the rest as its parent has it)."""
    link, motion, zero = model.links[i], feels(model.links[i].kind), own.m * 0
    nothing = Vector((zero, zero, zero))
    if motion == "slide":
        turn = Rotation([] if link.rotation == k.IDENTITY else [_rows(home, link.rotation)])
        return _kept(motion, own), RigidInertia.of(zero, nothing, turn.symmetric_to_parent(own.S))
    at = Vector(home.constant(x) for x in link.shift)
    if motion == "ball":
        h, second = at * own.m, nothing
        axis = nothing
    else:
        axis = Vector(home.constant(x) for x in k.transpose(link.rotation)[2])
        h, second = at * own.m + axis * own.h[2], at * own.h[2] + axis * own.S.zz
    S = Symmetric(
        *(
            h[r] * at[c] + second[r] * axis[c]
            for r, c in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        )
    )
    return _kept(motion, own), RigidInertia.of(own.m, h, S)


def borne_alone(kind: str, own: RigidInertia) -> Scalar | None:
    """HᵀMH of a link by itself, about or along the z axis of its frame (kg m² or kg); None of a joint that does more."""
    return {"turn": own.about_z, "slide": own.m}.get(feels(kind))


class Recorder:
    """Numbers the rows that come at run time, each once: they become the array."""

    def __init__(self) -> None:
        self.rows: list[Scalar] = []
        self._place: dict[int, int] = {}

    def entry(self, x: Scalar) -> Entry:
        """Where a number is found."""
        if x.is_constant:
            return Entry(x.value)
        if x.row not in self._place:
            self._place[x.row] = len(self.rows)
            self.rows.append(x if x.sign > 0 else -x)
        return Entry(place=self._place[x.row], sign=x.sign)

    def ten(self, one: RigidInertia) -> Ten:
        """Of a link."""
        return tuple(self.entry(x) for x in (one.m, *one.h, *one.S.entries, one.about_z))


def inertia(home: Derivation, ten: Ten, array: Sequence[Scalar]) -> RigidInertia:
    """Of a link, read from the array."""
    m, hx, hy, hz, *S, about_z = (entry.scalar(home, array) for entry in ten)
    return RigidInertia(m, Vector((hx, hy, hz)), Symmetric(*S), about_z)

"""Run-time inertia: summed per link and regrouped to the parents, once for all functions of a
robot.

The functions repeat `model.links` and `model.regroup` with Scalars. The caller collects the results
in a `Prepared`: numbers that depend on run-time parameters are elements of one array, all others
are literals of the generated C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from symgen.derivation import constants as k
from symgen.derivation.closed_forms import motion_class
from symgen.derivation.constants import Constant, Mat3, Vec3
from symgen.derivation.loads import second_moments
from symgen.derivation.model import Inertia, Model
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia, Rotation, Symmetric, Vector

Number = Constant | int
"""A constant of the description (fmpq or arb), or the index of a parameter (int)."""


@dataclass(frozen=True)
class BodyInertia:
    """Inertia of one declared link that is rigidly part of link `link` of the model.

    `rotation` and `shift` lead from the declared frame to the link's frame.

    `inertia` is xx xy xz yy yz zz about the origin of the declared frame, or about the mass centre
    if `central`.
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
    """A number of a link: a constant, or `sign` times element `index` of the array."""

    constant: Constant = k.ZERO
    index: int = -1
    sign: int = 1

    def scalar(self, derivation: Derivation, array: Sequence[Scalar]) -> Scalar:
        return (
            derivation.constant(self.constant)
            if self.index < 0
            else array[self.index]
            if self.sign > 0
            else -array[self.index]
        )


InertiaEntries = tuple[Entry, ...]
"""The eleven entries of a link's inertia: the mass m, the first moment h = m c (3), the second
moments S = ∫ x xᵀ dm (xx xy xz yy yz zz), and I_zz. I_zz = S_xx + S_yy is kept separately, to avoid
cancellation.
"""


@dataclass(frozen=True)
class Prepared:
    """Positions of the inertia of each link in the array of prepared numbers.

    `declared` is the inertia as declared. `regrouped` has the parameters without effect on a joint
    moved to its parent. `base_dropped` is `regrouped` without those parameters of root links.

    `size` is the length of the array. It contains gravity, three numbers from `gravity` on, and the
    `drives`, as they are given. If requested, `least` maps the index of an entry of v to the index
    in the array of a lower bound on its pivot D of the Riccati recursion.
    """

    declared: tuple[InertiaEntries, ...]
    regrouped: tuple[InertiaEntries, ...]
    base_dropped: tuple[InertiaEntries, ...]
    size: int
    gravity: int = -1
    drives: Mapping[tuple[int, str], int] = field(default_factory=dict)
    least: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class RunTimeNumbers:
    """Positions of run-time numbers in the argument `prepared`. If `inertia` is empty or `gravity`
    is -1, the constants of the model apply.
    """

    inertia: tuple[InertiaEntries, ...]
    gravity: int = -1
    drives: Mapping[tuple[int, str], int] = field(default_factory=dict)
    """The index by link and name of the drive parameter."""


def link_inertias(
    derivation: Derivation,
    model: Model,
    constant_inertias: Sequence[Inertia],
    run_time_parts: Sequence[BodyInertia],
    parameters: Sequence[Scalar],
) -> list[RigidInertia]:
    """Return the inertia of each link about the origin of its frame: the `constant_inertias` plus
    the inertia with run-time parameters.
    """
    inertias = [_constant(derivation, matter) for matter in constant_inertias]
    for matter in run_time_parts:
        derivation.step(f"inertia of {model.links[matter.link].name}, in its computational frame")
        inertias[matter.link] = inertias[matter.link] + _body_inertia(
            derivation, matter, parameters
        )
    return inertias


def regroup_inertia(
    derivation: Derivation, model: Model, declared: Sequence[RigidInertia]
) -> list[RigidInertia]:
    """Return the inertias with parameters without effect on a joint moved to its parent, tip to
    base; roots keep theirs.
    """
    inertias = list(declared)
    for i in reversed(range(len(inertias))):
        link, joint_class = model.links[i], motion_class(model.links[i].kind)
        if joint_class == "both" or link.parent < 0:
            continue
        derivation.step(
            f"link {i + 1} ({link.name}): inertia that does not affect its joint is moved to its"
            " parent"
        )
        retained, moved = _split(derivation, model, i, inertias[i])
        inertias[i], inertias[link.parent] = retained, inertias[link.parent] + moved
    return inertias


def drop_base_inertia(model: Model, regrouped: Sequence[RigidInertia]) -> list[RigidInertia]:
    """Return the inertias without the parameters of root links that have no effect on any joint."""
    return [
        _effective_inertia(motion_class(link.kind), inertia) if link.parent < 0 else inertia
        for link, inertia in zip(model.links, regrouped, strict=True)
    ]


def _constant(derivation: Derivation, inertia: Inertia) -> RigidInertia:
    m, h, S = (
        derivation.constant(inertia.m),
        Vector(derivation.constant(x) for x in inertia.h),
        Symmetric(*(derivation.constant(x) for x in inertia.S)),
    )
    return RigidInertia.of(m, h, S)


def _body_inertia(
    derivation: Derivation, matter: BodyInertia, parameters: Sequence[Scalar]
) -> RigidInertia:
    def scalar(x: Number) -> Scalar:
        return parameters[x] if isinstance(x, int) else derivation.constant(x)

    m, center = scalar(matter.mass), Vector(scalar(x) for x in matter.centre)
    moments, h = [scalar(x) for x in matter.inertia], center * m
    S = second_moments(derivation, moments)
    if matter.central:
        S = S + Symmetric(
            *(h[i] * center[j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
        )
    rotation = Rotation(
        [] if matter.rotation == k.IDENTITY else [_rows(derivation, matter.rotation)]
    )
    about_z = (
        moments[5] if not matter.central else S.xx + S.yy
    )  # of moments about the origin, S.xx + S.yy would cancel the terms that second_moments added
    return RigidInertia(m, h, S, about_z).to_parent(
        rotation, Vector(derivation.constant(x) for x in matter.shift)
    )


def _rows(derivation: Derivation, m: Mat3) -> tuple[Vector, Vector, Vector]:
    x, y, z = (Vector(derivation.constant(entry) for entry in row) for row in m)
    return x, y, z


def _effective_inertia(joint_class: str, inertia: RigidInertia) -> RigidInertia:
    """Return the inertia without the null space of the joint's motion
    (`symgen.derivation.model.regroup`).
    """
    zero = inertia.m * 0
    if joint_class == "ball":
        return RigidInertia(zero, inertia.h, inertia.S, inertia.about_z)
    if joint_class == "turn":
        S = inertia.S
        return RigidInertia(
            zero,
            Vector((inertia.h[0], inertia.h[1], zero)),
            Symmetric(S.xx, S.xy, S.xz, S.yy, S.yz, zero),
            inertia.about_z,
        )
    if joint_class == "slide":
        return RigidInertia(inertia.m, inertia.h, Symmetric(*(zero,) * 6), zero)
    return inertia


def _split(
    derivation: Derivation, model: Model, i: int, inertia: RigidInertia
) -> tuple[RigidInertia, RigidInertia]:
    """Return the inertia that has an effect on joint i, and the rest in the frame of its parent."""
    link, joint_class, zero = model.links[i], motion_class(model.links[i].kind), inertia.m * 0
    zeros = Vector((zero, zero, zero))
    if joint_class == "slide":
        rotation = Rotation(
            [] if link.rotation == k.IDENTITY else [_rows(derivation, link.rotation)]
        )
        return _effective_inertia(joint_class, inertia), RigidInertia.of(
            zero, zeros, rotation.symmetric_to_parent(inertia.S)
        )
    shift = Vector(derivation.constant(x) for x in link.shift)
    if joint_class == "ball":
        h, axis_factor = shift * inertia.m, zeros
        axis = zeros
    else:
        axis = Vector(derivation.constant(x) for x in k.transpose(link.rotation)[2])
        h, axis_factor = (
            shift * inertia.m + axis * inertia.h[2],
            shift * inertia.h[2] + axis * inertia.S.zz,
        )
    S = Symmetric(
        *(
            h[r] * shift[c] + axis_factor[r] * axis[c]
            for r, c in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        )
    )
    return _effective_inertia(joint_class, inertia), RigidInertia.of(inertia.m, h, S)


def single_pivot(kind: str, inertia: RigidInertia) -> Scalar | None:
    """Return the mass-matrix entry of a joint that moves a single link: its moment of inertia about
    z (kg m²) if the joint turns, its mass (kg) if it slides; None for other motions.
    """
    return {"turn": inertia.about_z, "slide": inertia.m}.get(motion_class(kind))


class Recorder:
    """Collect run-time numbers, each once, and give each a position in the array."""

    def __init__(self) -> None:
        self.rows: list[Scalar] = []
        self._index: dict[int, int] = {}

    def entry(self, x: Scalar) -> Entry:
        """Return the constant or the array position of a number."""
        if x.is_constant:
            return Entry(x.value)
        if x.row not in self._index:
            self._index[x.row] = len(self.rows)
            self.rows.append(x if x.sign > 0 else -x)
        return Entry(index=self._index[x.row], sign=x.sign)

    def inertia_entries(self, inertia: RigidInertia) -> InertiaEntries:
        """Return the entries of a link."""
        return tuple(
            self.entry(x) for x in (inertia.m, *inertia.h, *inertia.S.entries, inertia.about_z)
        )


def inertia(
    derivation: Derivation, entries: InertiaEntries, array: Sequence[Scalar]
) -> RigidInertia:
    """Return the inertia of a link, read from the array."""
    m, hx, hy, hz, *S, about_z = (entry.scalar(derivation, array) for entry in entries)
    return RigidInertia(m, Vector((hx, hy, hz)), Symmetric(*S), about_z)

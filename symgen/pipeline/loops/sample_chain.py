"""Sample chain: a short chain on a virtual base, with links of every class behind links of every
class.

The virtual base moves freely, so that no row vanishes for lack of a parent. At rest, under gravity,
it is the base.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple, NoReturn

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame, Link, Model
from symgen.derivation.model.links import ZERO_INERTIA
from symgen.derivation.scalars import Scalar
from symgen.derivation.table_linkage import (
    BASE_NUMBERS,
    CENTRE,
    INERTIAL,
    PREPARED,
    SHARED,
    Columns,
    Naming,
    Tabled,
    constants_of,
)
from symgen.ir.program import POSITIONS, Port, Program
from symgen.mechanism.drives import NO_DRIVE
from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import BASE
from symgen.pipeline.loops.classes import VIRTUAL_BASE, Classes
from symgen.pipeline.loops.link_assignment import NotUniform
from symgen.vocabulary.functions import FUNCTIONS, Q

FIRST_LINKS = 3
"""Links behind the virtual base that may differ from the links behind them."""


class _Unseen:
    """A number that differs from link to link, which a method must not read."""

    def __iter__(self) -> Any:
        return self._seen()

    def __getitem__(self, place: Any) -> Any:
        return self._seen()

    def __getattr__(self, name: str) -> Any:
        return self._seen()

    def __bool__(self) -> bool:
        self._seen()

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def _seen(self) -> NoReturn:
        raise NotUniform("a step depends on numbers of one link")


UNSEEN: Any = _Unseen()
NONE: Mapping[str, int] = {}


@dataclass(frozen=True)
class SampleChain:
    """Links of a sample chain; link 0 is the virtual base, whose class is the last one."""

    model: Model
    classes: tuple[int, ...]
    columns: tuple[Columns, ...]
    """Constants of each class."""
    widths: Mapping[str, int] = field(default_factory=dict)
    """Elements of a link in ports that are no numbers of joints; 0 for a port that all links share.
    """
    added: tuple[str, ...] = ()
    """Arguments that the function itself does not have."""
    frame: Frame | None = None
    """Frame of the function, on the last link or on the virtual base."""
    on: int = -1
    """Link of the robot that carries the frame."""
    rooted: bool = False
    """True if the virtual base, as one root of the robot, gives the results that all links share.
    """
    unrooted: bool = False
    """True if it stands for other roots, too, which do not give them and are a class of their own.
    """
    robot: Model | None = None
    """Links of the robot itself."""
    base: Mapping[str, Sequence[k.Constant]] = field(default_factory=dict)
    """Numbers of the base (`symgen.derivation.table_linkage.BASE_NUMBERS`)."""
    used: int = 0
    """Classes of the robot's links, without the virtual base; further classes stand between them.
    """
    classes_by_neighbours: bool = False
    """True if the classes are those of joints between certain others, so that several have one kind
    of joint.
    """
    rows: Mapping[str, int] = field(default_factory=dict)
    """Number of rows of results that have a column for each degree of freedom."""

    @property
    def base_class(self) -> int:
        """Class of the virtual base."""
        return len(self.columns) - 1

    @property
    def parents(self) -> tuple[int, ...]:
        """Parent of each link."""
        return tuple(range(-1, len(self.classes) - 1))

    @property
    def first(self) -> list[int]:
        """First constant of each link in PREPARED; the numbers of the base follow."""
        widths = (self.columns[number].width for number in self.classes)
        return [*accumulate(widths, initial=0)]

    def elements_of(self, name: str, link: Link) -> slice:
        """Return the elements of an argument or a result that belong to a link."""
        if name in self.widths:
            if not self.widths[name]:
                return slice(None)
            i = self.model.links.index(link)
            return slice(self.widths[name] * i, self.widths[name] * (i + 1))
        return link.q if name in POSITIONS else link.v

    def link_of_input(self, program: Program) -> dict[tuple[int, int], int]:
        """Return the link of each element of an argument, without elements that all links share.

        Numbers of the base belong to the virtual base.
        """
        links: dict[tuple[int, int], int] = {}
        for p, port in enumerate(program.inputs):
            if self.widths.get(port.name) == 0:
                continue
            for i, link in enumerate(self.model.links):
                elements = (
                    slice(self.first[i], self.first[i + 1])
                    if port.name == PREPARED
                    else self.elements_of(port.name, link)
                )
                links |= {(p, e): i for e in range(elements.start, elements.stop)}
            if port.name == PREPARED:
                links |= {(p, e): 0 for e in range(self.first[-1], port.size - SHARED)}
        return links

    def results(self, program: Program, link: int, shared: bool) -> list[tuple[str, int]]:
        """Return port and row of each result that belongs to a link, in their order; or to all
        links if `shared`.
        """
        return [
            (port.name, r)
            for port in program.outputs
            if self.widths.get(port.name, 1) or shared
            for rows in self._by_row(port)
            for r in rows[self.elements_of(port.name, self.model.links[link])]
        ]

    def _by_row(self, port: Port) -> list[tuple[int, ...]]:
        """Return the rows of the Program that give a result, one tuple per row of its columns."""
        across = len(port.rows) // self.rows.get(port.name, 1)
        return [port.rows[first : first + across] for first in range(0, len(port.rows), across)]

    def of_the_base(self, element: int) -> Fraction:
        """Return the number of the base at an element of PREPARED."""
        return k.to_fraction(
            [x for name in BASE_NUMBERS for x in self.base[name]][element - self.first[-1]]
        )

    def at_rest(self) -> dict[str, dict[int, Fraction]]:
        """Return the arguments with which the virtual base is at rest in the axes of the base; all
        others are zero.
        """
        columns = self.columns[self.base_class]
        numbers = {
            columns.column[name]: Fraction(1) for name in columns.column if name.startswith("cos_")
        }
        gravity, axes = self.base["frame_gravity"], self.base["frame_axes"]
        rows = [gravity, axes[:3], axes[3:6], axes[6:]]
        for angle, axis in (
            ("beta", 2),
            ("alpha", 0),
            ("gamma", 2),
        ):  # the inverse of its constant rotations
            if f"cos_{angle}" in columns.common:
                turn = k.rotation_about(
                    k.IDENTITY[axis], columns.common[f"cos_{angle}"], columns.common[f"sin_{angle}"]
                )
                rows = [k.apply(turn, (x, y, z)) for x, y, z in rows]
        push = k.scale(-k.ONE, (rows[0][0], rows[0][1], rows[0][2]))
        behind = [
            *(x for row in rows for x in row),
            *push,
            *self.base["frame_position"],
            *self.base["gravity"],
        ]
        numbers |= {element: k.to_fraction(x) for element, x in enumerate(behind, self.first[-1])}
        return {
            PREPARED: numbers,
            "q": {3 + 3: Fraction(1)},
        }  # the unit quaternion x y z w, behind the position


def chain_fault(model: Model) -> str:
    """Return why a robot is no single chain of joints of one kind with one degree of freedom; "" if
    it is one.
    """
    kinds = {link.kind for link in model.links}
    if len(kinds) != 1 or any(
        (joint_type(kind).nq, joint_type(kind).nv) != (1, 1) for kind in kinds
    ):
        return "its joints are not all of one kind with one degree of freedom"
    if any(link.parent != i - 1 for i, link in enumerate(model.links)):
        return "its links are not one chain"
    return ""


def sample_chain(
    model: Model,
    classes: Classes,
    columns: Sequence[Columns],
    trunk: Sequence[Link],
    widths: Mapping[str, int] = NONE,
    frame: Frame | None = None,
) -> SampleChain:
    """Return the sample chain of a robot's classes, with `widths` and `frame` as a SampleChain has
    them.

    The virtual base is one of the links of `trunk`, which stand on the base and move freely;
    without them it stands at the origin of the base.
    """
    base_class = len(classes.kinds)
    numbers = (base_class, *classes.walk)
    links = unseen_links(model, [VIRTUAL_BASE, *(classes.kinds[c] for c in classes.walk)])
    links[0] = replace(
        links[0], rotation=k.IDENTITY, shift=k.ORIGIN, inertia=ZERO_INERTIA, center=k.ORIGIN
    )
    if not trunk:
        links[0] = replace(links[0], drive=NO_DRIVE, parameters=())
    with_poses = any(widths.values())
    if with_poses and not trunk:
        links[0] = replace(links[0], placement=(k.IDENTITY, k.ORIGIN))
    centre = [
        name
        for name in CENTRE
        if any(name in each.column or not k.is_zero(each.common[name]) for each in columns)
    ]
    constants = [constants_of(link, with_poses) for link in trunk or links[:1]]
    root = next(link for link in model.links if link.parent == BASE)
    base = {
        "frame_gravity": root.gravity,
        "frame_axes": [x for row in root.base_rotation for x in row],
        "acceleration": k.ORIGIN,
        "frame_position": root.base_shift,
        "gravity": model.gravity,
        "variable_zero": (k.ZERO,),
    }
    return SampleChain(
        Model(model.name, tuple(links), model.gravity, friction_speed=model.friction_speed),
        numbers,
        (*columns, Columns.of(constants, (*INERTIAL, *centre))),
        widths,
        frame=frame
        and replace(frame, link=0 if classes.of_links[frame.link] < 0 else len(links) - 1),
        robot=model,
        base=base,
        used=classes.used,
        classes_by_neighbours=bool(classes.windows),
    )


def unseen_links(model: Model, kinds: Sequence[str]) -> list[Link]:
    """Return a chain of links with these kinds of joints, whose numbers a method must not read."""
    links: list[Link] = []
    q = v = 0
    for i, kind in enumerate(kinds):
        joint = joint_type(kind)
        example = next((link for link in model.links if link.kind == kind), model.links[0])
        links.append(
            replace(
                example,
                name=f"link{i}",
                kind=kind,
                q=slice(q, q + joint.nq),
                v=slice(v, v + joint.nv),
                parent=i - 1,
                rotation=UNSEEN,
                shift=UNSEEN,
                inertia=UNSEEN,
                center=UNSEEN,
                placement=UNSEEN,
                gravity=UNSEEN,
                base_rotation=k.IDENTITY,
                base_shift=UNSEEN,
            )
        )
        q, v = q + joint.nq, v + joint.nv
    return links


class ChainRun(NamedTuple):
    """Rows of a method on a sample chain, with the links of its comments and all names that the
    derivation gave a row.

    `seeds` are the values that a frame passes inward, by name.
    """

    program: Program
    link_of: Mapping[int, int]
    names: Mapping[int, Sequence[str]]
    seeds: Mapping[str, Fraction]


Build = Callable[[Linkage], tuple[list[Scalar], ...]]
"""Derives the results of a function."""


def run_on_chain(
    chain: SampleChain,
    function: str,
    method: str,
    build: Build | None = None,
    names: Sequence[str] = (),
) -> ChainRun:
    """Run a method on a sample chain; `build` replaces the derivation of the method, `names` the
    names of its results.
    """
    specification, links = FUNCTIONS[function], chain.model.links
    nq, nv = links[-1].q.stop, links[-1].v.stop
    shapes: dict[str, tuple[int, ...]] = {}
    arguments = [*specification.arguments] + ([] if Q in specification.arguments else [Q])
    for a in arguments:
        if a.name not in chain.widths:
            shapes[a.name] = (nq if a.name in POSITIONS else nv,)
    for a in arguments:
        if a.name in chain.widths:
            shapes[a.name] = tuple(size for size in a.shape if isinstance(size, int))
    shapes[PREPARED] = (chain.first[-1] + sum(BASE_NUMBERS.values()),)
    shapes |= {name: (chain.widths[name] * len(links),) for name in chain.added}
    derivation = Naming({name: prod(shape) for name, shape in shapes.items()})
    linkage = Tabled(
        chain.model,
        derivation,
        [chain.columns[number] for number in chain.classes],
        chain.first,
        chain.frame,
        chain.robot,
    )
    derived = (build or methods.derivation(method, function))(linkage)
    results = [
        (name, (len(atoms),), atoms)
        for name, atoms in zip(
            names or [array.name for array in specification.results], derived, strict=True
        )
    ]
    program = derivation.freeze(function, method, results, shapes)
    return ChainRun(program, linkage.link_of, derivation.all_names, linkage.seeds)

"""A short chain of like links, whose rows are folded: the ghost that it stands on, then every class of links behind every other.

The ghost moves freely, so that nothing is zero for want of a parent. At rest, under gravity, it is what the base is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

from symgen import methods
from symgen.derivation import constants as k
from symgen.derivation.closed_forms import feels
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Frame, Link, Model
from symgen.derivation.model.links import NOTHING
from symgen.derivation.scalars import Scalar
from symgen.derivation.table_linkage import (
    CENTRE,
    OF_BASE,
    PREPARED,
    SHARED,
    TEN,
    Columns,
    Naming,
    Tabled,
    constants_of,
)
from symgen.ir.program import POSITIONS, Port, Program
from symgen.mechanism.drives import NO_DRIVE
from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import BASE
from symgen.pipeline.loops.link_assignment import Unlike
from symgen.vocabulary.functions import FUNCTIONS, Q

GHOST = "free"
"""The joint of the body that a chain stands on."""
BEFORE, BEHIND = 3, 4
"""Links at the ends of a chain that may differ from those between them."""
LIKE = 6
"""Links of a class that follow each other, at least."""


class _Unseen:
    """A number of a link that stands in the table, and that a method may not look at by itself."""

    def __iter__(self) -> Any:
        return self._seen()

    def __getitem__(self, place: Any) -> Any:
        return self._seen()

    def __getattr__(self, name: str) -> Any:
        return self._seen()

    def __bool__(self) -> bool:
        self._seen()
        return False

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return 0

    def _seen(self) -> Any:
        raise Unlike("a step is chosen by numbers of a link, which is not one step for all")


UNSEEN: Any = _Unseen()
NONE: Mapping[str, int] = {}


@dataclass(frozen=True)
class Chain:
    """Link 0 is the ghost, and `classes` number it last; `columns` are those of each class."""

    model: Model
    classes: tuple[int, ...]
    columns: tuple[Columns, ...]
    widths: Mapping[str, int] = field(default_factory=dict)
    """Arguments and results that are no numbers of joints, and how many elements of each a link has: 0 of what is one for all."""
    given: tuple[str, ...] = ()
    """Those of the arguments that the function itself has not."""
    frame: Frame | None = None
    """The frame that is meant, on the last link."""
    on: int = -1
    """The link of the robot's that it is on."""
    rooted: bool = False
    """Whether what is one for all is the ghost's to give, which is the robot's only root."""
    robot: Model | None = None
    """The robot's own links."""
    base: Mapping[str, Sequence[k.Constant]] = field(default_factory=dict)
    """What there is to know of the base (`symgen.derivation.table_linkage.OF_BASE`)."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Results with a column a degree of freedom, and how many rows each has."""

    @property
    def ghost(self) -> int:
        """Its class."""
        return len(self.columns) - 1

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(range(-1, len(self.classes) - 1))

    @property
    def first(self) -> list[int]:
        """Where each link's constants begin in PREPARED; behind them stands what there is to know of the base."""
        found, at = [], 0
        for own in self.classes:
            found.append(at)
            at += self.columns[own].width
        return [*found, at]

    def own(self, name: str, link: Link) -> slice:
        """Which elements of an argument or a result are a link's."""
        if name in self.widths:
            if not self.widths[name]:
                return slice(None)
            i = self.model.links.index(link)
            return slice(self.widths[name] * i, self.widths[name] * (i + 1))
        return link.q if name in POSITIONS else link.v

    def link_of_input(self, program: Program) -> dict[tuple[int, int], int]:
        """Whose each element of an argument is; what the base has for its own is the ghost's, and what is one for all is
        nobody's.
        """
        found: dict[tuple[int, int], int] = {}
        for p, port in enumerate(program.inputs):
            if self.widths.get(port.name) == 0:
                continue
            for i, link in enumerate(self.model.links):
                own = (
                    slice(self.first[i], self.first[i + 1])
                    if port.name == PREPARED
                    else self.own(port.name, link)
                )
                found |= {(p, e): i for e in range(own.start, own.stop)}
            if port.name == PREPARED:
                found |= {(p, e): 0 for e in range(self.first[-1], port.size - SHARED)}
        return found

    def results(self, program: Program, link: int) -> list[tuple[str, int]]:
        """Those that are a link's own, in their order: the name of the port, and the row."""
        own = self.model.links[link]
        return [
            (port.name, r)
            for port in program.outputs
            if self.widths.get(port.name, 1) or (self.rooted and not link)
            for rows in self._by_row(port)
            for r in rows[self.own(port.name, own)]
        ]

    def _by_row(self, port: Port) -> list[tuple[int, ...]]:
        """The rows of the chain that a result is made of, in as many parts as it has rows of columns."""
        across = len(port.rows) // self.rows.get(port.name, 1)
        return [port.rows[first : first + across] for first in range(0, len(port.rows), across)]

    def of_the_base(self, element: int) -> Fraction:
        """A number of PREPARED that stands behind those of all links."""
        return k.to_fraction(
            [x for name in OF_BASE for x in self.base[name]][element - self.first[-1]]
        )

    def at_rest(self) -> dict[str, dict[int, Fraction]]:
        """Elements of arguments, of which all others are zero: the ghost stands still in the axes of the base."""
        own = self.columns[self.ghost]
        numbers = {own.column[name]: Fraction(1) for name in own.column if name.startswith("cos_")}
        gravity, axes = self.base["gravity"], self.base["axes"]
        rows = [gravity, axes[:3], axes[3:6], axes[6:]]
        for angle, axis in (
            ("beta", 2),
            ("alpha", 0),
            ("gamma", 2),
        ):  # what its pose turns is turned back
            if f"cos_{angle}" in own.common:
                turn = k.turn(
                    k.IDENTITY[axis], own.common[f"cos_{angle}"], own.common[f"sin_{angle}"]
                )
                rows = [k.apply(turn, (x, y, z)) for x, y, z in rows]
        push = k.scale(-k.ONE, (rows[0][0], rows[0][1], rows[0][2]))
        behind = [*(x for row in rows for x in row), *push, *self.base["place"], *self.base["pull"]]
        numbers |= {self.first[-1] + place: k.to_fraction(x) for place, x in enumerate(behind)}
        return {
            PREPARED: numbers,
            "q": {3 + 3: Fraction(1)},
        }  # the quaternion of no turn, x y z w behind the place


def unlike(model: Model) -> str:
    """Why a robot is no single chain of joints of one kind with one degree of freedom; "" where it is one."""
    kinds = {link.kind for link in model.links}
    if len(kinds) != 1 or any(
        (joint_type(kind).nq, joint_type(kind).nv) != (1, 1) for kind in kinds
    ):
        return "its joints are not all of one kind with one degree of freedom"
    if any(link.parent != i - 1 for i, link in enumerate(model.links)):
        return "its links are not one chain"
    return ""


def chained(
    model: Model,
    kinds: Sequence[str],
    columns: Sequence[Columns],
    trunks: Sequence[Link],
    widths: Mapping[str, int] = NONE,
    frame: Frame | None = None,
) -> Chain:
    """The chain of these classes of a robot, with `widths` and a `frame` as a Chain has them. The ghost is one of its `trunks`,
    which stand on the base and move freely; where there are none it is at home in the axes of the base.
    """
    # Links that turn stand at both ends: before and behind links that slide some things are zero, and others nobody asks for.
    order = sorted(range(len(kinds)), key=lambda c: feels(kinds[c]) == "slide")
    walk = order[:1] * LIKE
    for a in order:
        for b in order:
            walk += [a, b, b]
    classes = (len(kinds), *walk, *order[:1] * (BEHIND if frame is None else 2 * BEHIND))
    links: list[Link] = []
    q = v = 0
    for i, own in enumerate(classes):
        kind = [*kinds, GHOST][own]
        joint = joint_type(kind)
        like = next((link for link in model.links if link.kind == kind), model.links[0])
        rotation, rest = (UNSEEN, UNSEEN) if i else (k.IDENTITY, k.ORIGIN)
        links.append(
            replace(
                like,
                name=f"link{i}",
                kind=kind,
                q=slice(q, q + joint.nq),
                v=slice(v, v + joint.nv),
                parent=i - 1,
                rotation=rotation,
                shift=rest,
                inertia=NOTHING if not i else UNSEEN,
                center=rest,
                placement=UNSEEN,
                gravity=UNSEEN,
                base_rotation=k.IDENTITY,
                base_shift=UNSEEN,
            )
        )
        q, v = q + joint.nq, v + joint.nv
    if not trunks:
        links[0] = replace(links[0], drive=NO_DRIVE, parameters=())
    placed = any(widths.values())
    if placed and not trunks:
        links[0] = replace(links[0], placement=(k.IDENTITY, k.ORIGIN))
    centre = [
        name
        for name in CENTRE
        if any(name in own.column or not k.is_zero(own.common[name]) for own in columns)
    ]
    ghost = Columns.of(
        [constants_of(link, placed) for link in trunks or links[:1]], (*TEN, *centre)
    )
    root = next(link for link in model.links if link.parent == BASE)
    base = {
        "gravity": root.gravity,
        "axes": [x for row in root.base_rotation for x in row],
        "push": k.ORIGIN,
        "place": root.base_shift,
        "pull": model.gravity,
        "nothing": (k.ZERO,),
    }
    return Chain(
        Model(model.name, tuple(links), model.gravity, friction_speed=model.friction_speed),
        classes,
        (*columns, ghost),
        widths,
        (),
        frame and replace(frame, link=len(links) - 1),
        robot=model,
        base=base,
    )


Called = Mapping[int, Sequence[str]]
"""Names of rows."""


class Run(NamedTuple):
    """The rows of a method on a chain, the links of its steps, all that it called its rows, and what the frame hands inward, by
    name.
    """

    program: Program
    link_of: Mapping[int, int]
    called: Called
    seeds: Mapping[str, Fraction]


Build = Callable[[Linkage], tuple[list[Scalar], ...]]
"""What makes the results of a function out of a linkage."""


def run(
    chain: Chain, function: str, method: str, build: Build | None = None, names: Sequence[str] = ()
) -> Run:
    """A method on the chain. `build` stands in for the method's function; `names` are those of its results."""
    what, links = FUNCTIONS[function], chain.model.links
    nq, nv = links[-1].q.stop, links[-1].v.stop
    arguments = [*what.arguments] + ([] if Q in what.arguments else [Q])
    shapes: dict[str, tuple[int, ...]] = {
        a.name: (nq if a.name in POSITIONS else nv,)
        for a in arguments
        if a.name not in chain.widths
    }
    shapes |= {
        a.name: tuple(size for size in a.shape if isinstance(size, int))
        for a in arguments
        if a.name in chain.widths
    }
    shapes |= {PREPARED: (chain.first[-1] + sum(OF_BASE.values()),)}
    shapes |= {name: (chain.widths[name] * len(links),) for name in chain.given}
    home = Naming({name: prod(shape) for name, shape in shapes.items()})
    linkage = Tabled(
        chain.model,
        home,
        [chain.columns[own] for own in chain.classes],
        chain.first,
        chain.frame,
        chain.robot,
    )
    given = (build or methods.derivation(method, function))(linkage)
    called = names or [array.name for array in what.results]
    results = [(name, (len(atoms),), atoms) for name, atoms in zip(called, given, strict=True)]
    return Run(
        home.freeze(function, method, results, shapes), linkage.link_of, home.called, linkage.seeds
    )

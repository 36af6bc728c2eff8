"""`Tabled`: a linkage whose links are alike, each with its constants in a row of a table; methods run on it as they are.

What all links of a class have in common, such as a zero or a right angle, is a constant of the derivation, as ever. All else is a
column. Where a frame stands in its parent's is Rz(γ) Rx(α) Rz(β + q), with a shift in two where that is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add, mul
from typing import Any

from symgen.derivation import constants as k
from symgen.derivation import runtime_inertia
from symgen.derivation.closed_forms import JointForm, joint_form
from symgen.derivation.constants import Constant
from symgen.derivation.geometry import LinkGeometry
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.model import Frame, Link, Model
from symgen.derivation.scalars import Derivation, Scalar, lower
from symgen.derivation.spatial import Matrix, RigidInertia, Rotation, SplitShift, Symmetric, Vector
from symgen.mechanism.drives import NUMBERS
from symgen.support.errors import MethodRefusal

PREPARED = "prepared"
"""The argument that the rows of all links stand in, one after the other, and OF_BASE behind them."""
OF_BASE = {"gravity": 3, "axes": 9, "push": 3, "place": 3, "pull": 3, "nothing": 1}
"""What there is to know of the base, and how many numbers each is: gravity in the axes that a root's pose is told in, how these
stand in those of the base, row by row, what the base accelerates by where it is a link itself; where they stand, gravity in the
axes of the base, and zero, of which no derivation knows.
"""
SHARED = 7
"""The last of these, which are the same numbers whatever link takes them."""
GEOMETRY = (
    "cos_gamma",
    "sin_gamma",
    "cos_alpha",
    "sin_alpha",
    "cos_beta",
    "sin_beta",
    "x",
    "y",
    "z",
    "outer_x",
    "outer_y",
    "outer_z",
    "along",
)
CENTRE = ("centre_x", "centre_y", "centre_z")
COMPARED_FIRST = 4
"""Links whose numbers tell most columns apart, so that few are compared whole."""
TEN = ("m", "hx", "hy", "hz", "Sxx", "Sxy", "Sxz", "Syy", "Syz", "Szz")


PLACED = (
    "placed_cos_gamma",
    "placed_sin_gamma",
    "placed_cos_alpha",
    "placed_sin_alpha",
    "placed_cos_beta",
    "placed_sin_beta",
    "placed_x",
    "placed_y",
    "placed_z",
)


def constants_of(link: Link, placed: bool = False) -> dict[str, Constant]:
    """Every number of a link that a method may meet, by name; if `placed`, where the declared frame sits as well."""
    gamma, alpha, beta = k.zxz(link.rotation)
    axis = k.transpose(link.rotation)[2] if link.directed else k.ORIGIN
    along = k.settle(k.dot(axis, link.shift))
    outer = tuple(k.settle(x) for x in k.sub(link.shift, k.scale(along, axis)))
    found = {
        "cos_gamma": gamma[0],
        "sin_gamma": gamma[1],
        "cos_alpha": alpha[0],
        "sin_alpha": alpha[1],
    }
    turned = joint_form(link.kind).angle is not None and link.directed
    found |= {"offset": _angle(beta)} if turned else {"cos_beta": beta[0], "sin_beta": beta[1]}
    found |= dict(zip(("x", "y", "z"), link.shift, strict=True))
    found |= dict(zip(("outer_x", "outer_y", "outer_z"), outer, strict=True))
    found |= {"along": along} | inertia_numbers(link)
    found |= dict(zip(CENTRE, link.center, strict=True))
    found |= {name: k.rational(getattr(link.drive, name)) for name in NUMBERS}
    if placed:
        axes, origin = link.placement
        back = k.transpose(axes)
        turns = [x for turn in k.zxz(back) for x in turn]
        found |= dict(zip(PLACED, (*turns, *k.scale(-k.ONE, k.apply(back, origin))), strict=True))
    return found | dict(link.parameters)


def inertia_numbers(link: Link) -> dict[str, Constant]:
    """The inertia of a link, number by number."""
    inertia = link.inertia
    return dict(zip(TEN, (inertia.m, *inertia.h, *inertia.S), strict=True))


def _angle(turn: tuple[Constant, Constant]) -> Constant:
    return k.ZERO if turn == (k.ONE, k.ZERO) else k.angle_of(*turn)


@dataclass(frozen=True)
class Columns:
    """Of a class of links of one kind of joint: what all have in `common`, and the `column` of all else by name.

    Names of equal columns share one.
    """

    common: Mapping[str, Constant]
    column: Mapping[str, int]
    width: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Constant]], apart: Collection[str] = ()) -> Columns:
        """The fewest for these links. What is `apart` has a column of its own, whatever it is."""
        common: dict[str, Constant] = {}
        column: dict[str, int] = {}
        shared: dict[tuple[Any, ...], list[str]] = {}
        width = 0
        for name, first in rows[0].items():
            if name not in apart and all(k.alike(row[name], first) for row in rows):
                common[name] = first
                continue
            start = tuple(k.told_by(row[name]) for row in rows[:COMPARED_FIRST])
            similar = () if name in apart else shared.setdefault(start, [])
            equal = (
                candidate
                for candidate in similar
                if all(k.alike(row[name], row[candidate]) for row in rows)
            )
            same = next(equal, None)
            if same is not None:
                column[name] = column[same]
                continue
            column[name] = width
            width += 1
            if name not in apart:
                shared[start].append(name)
        return cls(common, column, width)

    @property
    def names(self) -> tuple[str, ...]:
        """Of each column all its names, joined by " = "."""
        several: list[list[str]] = [[] for _ in range(self.width)]
        for name, place in self.column.items():
            several[place].append(name)
        return tuple(map(" = ".join, several))

    def row(self, link: Mapping[str, Constant]) -> list[Constant]:
        """Of one link, in the order of the columns."""
        found: dict[int, Constant] = {}
        for name, place in self.column.items():
            found[place] = link[name]
        return [found[place] for place in range(self.width)]


class Naming(Derivation):
    """A derivation that remembers everything that a row was called. What has a name is held with its own sign, so that signs do
    not ride from link to link.
    """

    def __init__(self, inputs: Mapping[str, int]) -> None:
        super().__init__(inputs)
        self.called: dict[int, list[str]] = {}
        self._negated: dict[int, int] = {}

    def name(self, name: str, a: Scalar) -> Scalar:
        """Give the row behind `a` a name; the first is kept."""
        if a.row >= 0:
            if a.sign < 0:
                if a.row not in self._negated:
                    self._negated[a.row] = self._record("neg", a.row)
                    self.step_of[-1] = self.step_of[
                        a.row
                    ]  # it belongs where that does, whoever names it
                a.row, a.sign = self._negated[a.row], 1
            self.called.setdefault(a.row, []).append(name)
        return super().name(name, a)


class Tabled(Linkage):
    """See the module docstring. Link i has the numbers of `columns[i]`, those in the table from `first[i]` of PREPARED on. What
    is asked about links is answered of the `robot`.

    `link_of` is of every comment of a step the link that it is about, `seeds` are what a frame hands inward, by name.
    """

    def __init__(
        self,
        model: Model,
        home: Derivation,
        columns: Sequence[Columns],
        first: Sequence[int],
        frame: Frame | None = None,
        robot: Model | None = None,
    ) -> None:
        self.columns, self.first, self.robot = columns, first, robot
        self.link_of: dict[int, int] = {}
        self.seeds: dict[str, Fraction] = {}
        drives = {
            (i, name): first[i] + own.column[name]
            for i, own in enumerate(columns)
            for name in NUMBERS
            if name in own.column
        }
        self.behind = len(home.inputs[PREPARED]) - sum(OF_BASE.values())
        super().__init__(
            model, home, frame, at_run_time=runtime_inertia.AtRunTime((), self.behind, drives)
        )
        self.base_gravity = self.pull(0)
        for dof in self.dofs if "tau" in home.inputs else ():
            if self.inputs["tau"][dof.index] is not home.inputs["tau"][dof.index]:
                self.name(f"left{dof.column + 1}", dof.link, self.inputs["tau"][dof.index])

    def mark(self, symbol: str, i: int, quantity: Scalar | Vector | Symmetric | Matrix) -> None:
        """Name it."""
        self.name(symbol, i, quantity)

    def handed_by_frame(self, symbol: str, quantity: Vector) -> None:
        """Keep it."""
        self.seeds |= {
            f"{symbol}_{c}": k.to_fraction(entry.value) for c, entry in enumerate(quantity, 1)
        }

    def step(self, i: int, text: str) -> None:
        """Start the comment line of one step, and remember whose it is."""
        self.link_of[len(self.home.steps)] = i
        self.home.step(text)

    def base_axes(self, root: int) -> Rotation:
        """From the axes that the pose of what all stand on is told in to those of the base."""
        x, y, z = (self._of_the_base("axes")[row : row + 3] for row in (0, 3, 6))
        return Rotation([(Vector(x), Vector(y), Vector(z))])

    def base_place(self, root: int) -> Vector:
        """Where they stand in the base (m)."""
        return Vector(self._of_the_base("place"))

    def push(self, i: int) -> Vector:
        """Of a link nothing, but as something that it hands on as the base does."""
        (nothing,) = self._of_the_base("nothing")
        return (
            Vector(self._of_the_base("push"))
            if not i
            else Vector([nothing + nothing for _ in range(3)])
        )

    def joined(
        self, join: Callable[[Scalar, Scalar], Scalar], of_links: Mapping[int, Scalar]
    ) -> Scalar:
        """What links have, in one, tip first."""
        (last, total), *rest = sorted(of_links.items(), reverse=True)
        self.step(last, "what links have, in one")
        for i, own in rest:
            self.step(i, "what links have, in one")
            total = join(total, own)
            self.name("joined", i, total)
        return total

    def summed(self, of_links: Iterable[tuple[int, Scalar]], total: Scalar | None = None) -> Scalar:
        """The sum of what links have, tip first."""
        found = self.zero
        for i, own in reversed(list(of_links)):
            self.step(i, "what links have, in one")
            found = own + found
        return found if total is None else total + found

    def placed(self, places: Iterable[tuple[int, int]], what: str) -> Iterator[tuple[int, int]]:
        """The places of a matrix's blocks: first of each joint with itself and those before it, then with those behind it."""
        for to, of in sorted(
            places, key=lambda place: (place[1] > place[0], max(place), place[1] != place[0], place)
        ):
            self.step(to, what + (" of what it carries" if of > to else ""))
            yield to, of

    def product_of(self, of_links: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """The product of what links have, link by link."""
        own = {}
        for i, factors in of_links.items():
            self.step(i, "the pivots of the mass matrix in one")
            own[i] = super().product(factors)
        return self.joined(mul, own)

    def log_product_of(self, of_links: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """ln of it, likewise."""
        own = {}
        for i, factors in of_links.items():
            self.step(i, "the pivots of the mass matrix in one")
            own[i] = super().log_product(factors)
        return self.joined(add, own)

    def pull(self, root: int) -> Vector:
        """Gravity in the axes of the base."""
        return Vector(self._of_the_base("pull"))

    def _of_the_base(self, what: str) -> list[Scalar]:
        before = [*OF_BASE][: [*OF_BASE].index(what)]
        at = self.behind + sum(OF_BASE[name] for name in before)
        return list(self.home.inputs[PREPARED][at : at + OF_BASE[what]])

    def declared_frame(self, i: int) -> tuple[Rotation, Vector]:
        """Where the declared frame of link i sits on it: its axes and its origin."""
        turns = [
            self._about(i, angle, axis, "placed_")
            for angle, axis in (("gamma", 2), ("alpha", 0), ("beta", 2))
        ]
        return Rotation(turns), self.numbers(i, PLACED[-3:])

    def product(self, factors: Sequence[Scalar]) -> Scalar:
        """The product of the pivots of M, tip first, link by link."""
        if len(factors) != len(self.dofs):
            return super().product(factors)
        total = self.one
        for dof in self._tip_first(factors):
            total = total * factors[dof.index]
        return total

    def log_product(self, factors: Sequence[Scalar]) -> Scalar:
        """ln of it, likewise."""
        if len(factors) != len(self.dofs):
            return super().log_product(factors)
        total = self.zero
        for dof in self._tip_first(factors):
            total = total + self.home.log(factors[dof.index])
        return total

    def _tip_first(self, factors: Sequence[Scalar]) -> Iterator[Dof]:
        """The degrees of freedom, of which each has a factor."""
        for dof, _ in reversed(list(zip(self.dofs, factors, strict=True))):
            self.step(dof.link, "the pivots of the mass matrix in one, RK (4.11)")
            yield dof

    def number(self, i: int, name: str) -> Scalar:
        """A number of a link."""
        own = self.columns[i]
        if name in own.common:
            return self.home.constant(own.common[name])
        return self.home.inputs[PREPARED][self.first[i] + own.column[name]]

    def numbers(self, i: int, names: Sequence[str]) -> Vector:
        """Several of them."""
        return Vector(self.number(i, name) for name in names)

    def declared(self, i: int) -> dict[object, Scalar]:
        """What the symbols of joint i's parameters stand for."""
        symbols = joint_form(self.model.links[i].kind).parameters
        return {symbols[name]: self.number(i, name) for name, _ in self.model.links[i].parameters}

    in_turn = True

    def end(self, i: int) -> Vector:
        """The mass centre of link i, which is the end of a link of one point."""
        return self.numbers(i, CENTRE)

    def told(self, question: Callable[[Model], bool]) -> bool:
        """The answer to a question about the robot's links."""
        assert self.robot is not None
        return question(self.robot)

    def like(self, question: Callable[[Model, int], bool], i: int) -> bool:
        """What is true of all of the robot's links that stand on others. MethodRefusal where they differ."""
        assert self.robot is not None
        answers = {question(self.robot, j) for j in range(1, len(self.robot.links))} or {True}
        if len(answers) > 1:
            raise MethodRefusal(
                "a step is chosen by how a link stands on its parent, which is not one step for all"
            )
        return answers.pop()

    def _geometry(self, i: int) -> LinkGeometry:
        self.step(i, "joint angle, and where the link stands on its parent")
        found = super()._geometry(i)
        return replace(found, arm=found.shift)  # of whatever its parent is

    def _inertia(self, i: int) -> RigidInertia:
        self.step(i, "inertia")
        m, hx, hy, hz, *S = self.numbers(i, TEN)
        return RigidInertia.of(m, Vector((hx, hy, hz)), Symmetric(*S))

    def _offset(self, i: int) -> Vector:
        return self.numbers(i, ("x", "y", "z"))

    def _turns(
        self, i: int, form: JointForm, bindings: dict[object, Scalar]
    ) -> tuple[Rotation, Rotation]:
        link = self.model.links[i]
        outer = [self._about(i, "gamma", 2), self._about(i, "alpha", 0)]
        if not link.directed:
            for symbol, expression in form.steps:
                bindings[symbol] = lower(expression, bindings, self.home)
            outer.append(self._about(i, "beta", 2))
            return Rotation(outer), Rotation([*outer, _lowered(form.rotation, bindings, self.home)])
        if form.angle is None:
            return Rotation(outer), Rotation([*outer, self._about(i, "beta", 2)])
        angle = self.inputs["q"][link.q][form.angle] + self.number(i, "offset")
        c, s = self.home.cos(angle), self.home.sin(angle)
        self.name("c", i, c)
        self.name("s", i, s)
        return Rotation(outer), Rotation([*outer, self._elementary(2, c, s)])

    def _about(self, i: int, angle: str, axis: int, of: str = "") -> Matrix:
        return self._elementary(
            axis, self.number(i, f"{of}cos_{angle}"), self.number(i, f"{of}sin_{angle}")
        )

    def _elementary(self, axis: int, c: Scalar, s: Scalar) -> Matrix:
        """A turn by an angle of cosine c and sine s about a coordinate axis."""
        x, y = (axis + 1) % 3, (axis + 2) % 3
        rows = [[self.one if i == j == axis else self.zero for j in range(3)] for i in range(3)]
        rows[x][x], rows[x][y], rows[y][x], rows[y][y] = c, -s, s, c
        return (Vector(rows[0]), Vector(rows[1]), Vector(rows[2]))

    def _shift(self, link: Link, whole: Vector, slide: Vector) -> Vector:
        i = self.model.links.index(link)
        inner = slide + Vector((self.zero, self.zero, self.number(i, "along")))
        outer = self.numbers(i, ("outer_x", "outer_y", "outer_z"))
        beside = not (slide[0].is_zero and slide[1].is_zero)
        parts, components = (sum(not x.is_zero for x in v) for v in ((*inner, *outer), whole))
        split = link.directed and not beside and not inner.is_zero and parts <= components
        return SplitShift(whole, inner, outer) if split else whole


def _lowered(m: Any, bindings: dict[object, Scalar], home: Derivation) -> Matrix:
    rows = [Vector(lower(m[r, c], bindings, home) for c in range(3)) for r in range(3)]
    return (rows[0], rows[1], rows[2])

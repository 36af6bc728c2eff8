"""`Tabled`: a linkage whose link constants come from a table row per link; methods run on it
unchanged.

A number that all links of a class share, such as a zero or a right angle, is a constant of the
derivation. Every other number is a table column. The transform to the parent is Rz(γ) Rx(α) Rz(β +
q), with a shift in two parts if that is shorter.
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
"""The argument with the table rows of all links, one after the other, followed by BASE_NUMBERS."""
BASE_NUMBERS = {"gravity": 3, "axes": 9, "push": 3, "place": 3, "pull": 3, "nothing": 1}
"""Numbers of the base, with their sizes: gravity in the axes of the root's base frame; these axes in base axes, row by row; the
acceleration of the base if it is recorded as a link; the position of the base frame; gravity in base axes; and a zero that
the derivation treats as variable.
"""
SHARED = 7
"""The number of trailing numbers of BASE_NUMBERS that are equal for all links that use them."""
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
"""Number of links whose values distinguish most columns, so that few columns need a full comparison."""
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


def constants_of(link: Link, with_pose: bool = False) -> dict[str, Constant]:
    """Return the named constants of a link that a method may use, and those of the pose of the
    declared frame if `with_pose`.
    """
    gamma, alpha, beta = k.zxz(link.rotation)
    axis = k.transpose(link.rotation)[2] if link.directed else k.ORIGIN
    axial = k.normalize(k.dot(axis, link.shift))
    outer = tuple(k.normalize(x) for x in k.sub(link.shift, k.scale(axial, axis)))
    numbers = {
        "cos_gamma": gamma[0],
        "sin_gamma": gamma[1],
        "cos_alpha": alpha[0],
        "sin_alpha": alpha[1],
    }
    has_angle = joint_form(link.kind).angle is not None and link.directed
    numbers |= {"offset": _angle(beta)} if has_angle else {"cos_beta": beta[0], "sin_beta": beta[1]}
    numbers |= dict(zip(("x", "y", "z"), link.shift, strict=True))
    numbers |= dict(zip(("outer_x", "outer_y", "outer_z"), outer, strict=True))
    numbers |= {"along": axial} | inertia_numbers(link)
    numbers |= dict(zip(CENTRE, link.center, strict=True))
    numbers |= {name: k.rational(getattr(link.drive, name)) for name in NUMBERS}
    if with_pose:
        axes, origin = link.placement
        inverse = k.transpose(axes)
        angles = [x for turn in k.zxz(inverse) for x in turn]
        numbers |= dict(
            zip(PLACED, (*angles, *k.scale(-k.ONE, k.apply(inverse, origin))), strict=True)
        )
    return numbers | dict(link.parameters)


def inertia_numbers(link: Link) -> dict[str, Constant]:
    """Return the inertia of a link as named numbers."""
    inertia = link.inertia
    return dict(zip(TEN, (inertia.m, *inertia.h, *inertia.S), strict=True))


def _angle(turn: tuple[Constant, Constant]) -> Constant:
    return k.ZERO if turn == (k.ONE, k.ZERO) else k.angle_of(*turn)


@dataclass(frozen=True)
class Columns:
    """Columns of a class of links with one joint type: values in `common`, and the `column` of each
    other number by name.

    Names of equal columns share one column.
    """

    common: Mapping[str, Constant]
    column: Mapping[str, int]
    width: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Constant]], unshared: Collection[str] = ()) -> Columns:
        """Return the fewest columns for these links; each name in `unshared` gets a column of its own."""
        common: dict[str, Constant] = {}
        column: dict[str, int] = {}
        shared: dict[tuple[Any, ...], list[str]] = {}
        width = 0
        for name, first in rows[0].items():
            if name not in unshared and all(k.same_numbers(row[name], first) for row in rows):
                common[name] = first
                continue
            first_values = tuple(k.identity_key(row[name]) for row in rows[:COMPARED_FIRST])
            similar = () if name in unshared else shared.setdefault(first_values, [])
            equal = (
                candidate
                for candidate in similar
                if all(k.same_numbers(row[name], row[candidate]) for row in rows)
            )
            equal_name = next(equal, None)
            if equal_name is not None:
                column[name] = column[equal_name]
                continue
            column[name] = width
            width += 1
            if name not in unshared:
                shared[first_values].append(name)
        return cls(common, column, width)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of each column, joined by " = "."""
        names: list[list[str]] = [[] for _ in range(self.width)]
        for name, index in self.column.items():
            names[index].append(name)
        return tuple(map(" = ".join, names))

    def row(self, link: Mapping[str, Constant]) -> list[Constant]:
        """Return the table row of one link, in the order of the columns."""
        values: dict[int, Constant] = {}
        for name, index in self.column.items():
            values[index] = link[name]
        return [values[index] for index in range(self.width)]


class Naming(Derivation):
    """A derivation that remembers all names of each row.

    A named atom is stored with its own sign, so that signs are not carried from link to link.
    """

    def __init__(self, inputs: Mapping[str, int]) -> None:
        super().__init__(inputs)
        self.called: dict[int, list[str]] = {}
        self._negated: dict[int, int] = {}

    def name(self, name: str, a: Scalar) -> Scalar:
        """Name the row of `a`; the printed name is the first one."""
        if a.row >= 0:
            if a.sign < 0:
                if a.row not in self._negated:
                    self._negated[a.row] = self._record("neg", a.row)
                    self.step_of[-1] = self.step_of[
                        a.row
                    ]  # the negated row belongs to the step of its operand
                a.row, a.sign = self._negated[a.row], 1
            self.called.setdefault(a.row, []).append(name)
        return super().name(name, a)


class Tabled(Linkage):
    """Linkage over table rows; see the module docstring.

    Link i has the numbers of `columns[i]`, with its table row from index `first[i]` of PREPARED on.
    Questions about links are answered for the whole `robot`. `link_of` has the link of each step
    comment; `seeds` has the values that a frame supplies inward, by name.
    """

    def __init__(
        self,
        model: Model,
        derivation: Derivation,
        columns: Sequence[Columns],
        first: Sequence[int],
        frame: Frame | None = None,
        robot: Model | None = None,
    ) -> None:
        self.columns, self.first, self.robot = columns, first, robot
        self.link_of: dict[int, int] = {}
        self.seeds: dict[str, Fraction] = {}
        drives = {
            (i, name): first[i] + columns_of_link.column[name]
            for i, columns_of_link in enumerate(columns)
            for name in NUMBERS
            if name in columns_of_link.column
        }
        self.behind = len(derivation.inputs[PREPARED]) - sum(BASE_NUMBERS.values())
        super().__init__(
            model,
            derivation,
            frame,
            at_run_time=runtime_inertia.RunTimeNumbers((), self.behind, drives),
        )
        self.base_gravity = self.gravity_in_base(0)
        for dof in self.dofs if "tau" in derivation.inputs else ():
            if self.inputs["tau"][dof.index] is not derivation.inputs["tau"][dof.index]:
                self.name(f"left{dof.column + 1}", dof.link, self.inputs["tau"][dof.index])

    def mark(self, symbol: str, i: int, quantity: Scalar | Vector | Symmetric | Matrix) -> None:
        """Name the quantity."""
        self.name(symbol, i, quantity)

    def mark_frame_seed(self, symbol: str, quantity: Vector) -> None:
        """Store the frame's constants."""
        self.seeds |= {
            f"{symbol}_{c}": k.to_fraction(entry.value) for c, entry in enumerate(quantity, 1)
        }

    def step(self, i: int, text: str) -> None:
        """Start the comment line of a step, and remember its link."""
        self.link_of[len(self.derivation.steps)] = i
        self.derivation.step(text)

    def base_axes(self, root: int) -> Rotation:
        """Return the rotation from the axes of the base frame to base axes."""
        x, y, z = (self._of_the_base("axes")[row : row + 3] for row in (0, 3, 6))
        return Rotation([(Vector(x), Vector(y), Vector(z))])

    def base_position(self, root: int) -> Vector:
        """Return the position (m) of the base frame in the base."""
        return Vector(self._of_the_base("place"))

    def prescribed_acceleration(self, i: int) -> Vector:
        """Return the acceleration of the base for link 0; for other links a zero that the
        derivation treats as variable.
        """
        (variable_zero,) = self._of_the_base("nothing")
        return (
            Vector(self._of_the_base("push"))
            if not i
            else Vector([variable_zero + variable_zero for _ in range(3)])
        )

    def combine_over_links(
        self, join: Callable[[Scalar, Scalar], Scalar], values: Mapping[int, Scalar]
    ) -> Scalar:
        """Combine the values of links, tip first."""
        (last, total), *values_further_in = sorted(values.items(), reverse=True)
        self.step(last, "combined over the links")
        for i, value in values_further_in:
            self.step(i, "combined over the links")
            total = join(total, value)
            self.name("joined", i, total)
        return total

    def sum_over_links(
        self, values: Iterable[tuple[int, Scalar]], total: Scalar | None = None
    ) -> Scalar:
        """Return the sum of the links' values, tip first."""
        link_sum = self.zero
        for i, value in reversed(list(values)):
            self.step(i, "combined over the links")
            link_sum = value + link_sum
        return link_sum if total is None else total + link_sum

    def block_order(
        self, blocks: Iterable[tuple[int, int]], step_text: str
    ) -> Iterator[tuple[int, int]]:
        """Yield the blocks: first those of each joint with itself and its predecessors, then those
        with its successors.
        """
        for row_joint, column_joint in sorted(
            blocks, key=lambda block: (block[1] > block[0], max(block), block[1] != block[0], block)
        ):
            self.step(
                row_joint,
                step_text + (", for the links that it carries" if column_joint > row_joint else ""),
            )
            yield row_joint, column_joint

    def product_over_links(self, factors_of: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """Return the product of the factors of all links, link by link."""
        products = {}
        for i, factors in factors_of.items():
            self.step(i, "product of the pivots of the mass matrix")
            products[i] = super().product(factors)
        return self.combine_over_links(mul, products)

    def log_product_over_links(self, factors_of: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """Return ln of the product of the factors of all links, link by link."""
        logarithms = {}
        for i, factors in factors_of.items():
            self.step(i, "product of the pivots of the mass matrix")
            logarithms[i] = super().log_product(factors)
        return self.combine_over_links(add, logarithms)

    def gravity_in_base(self, root: int) -> Vector:
        """Return gravity in base axes."""
        return Vector(self._of_the_base("pull"))

    def _of_the_base(self, quantity: str) -> list[Scalar]:
        previous = [*BASE_NUMBERS][: [*BASE_NUMBERS].index(quantity)]
        start = self.behind + sum(BASE_NUMBERS[name] for name in previous)
        return list(self.derivation.inputs[PREPARED][start : start + BASE_NUMBERS[quantity]])

    def declared_frame(self, i: int) -> tuple[Rotation, Vector]:
        """Return rotation and origin of link i's declared frame on the link."""
        rotations = [
            self._about(i, angle, axis, "placed_")
            for angle, axis in (("gamma", 2), ("alpha", 0), ("beta", 2))
        ]
        return Rotation(rotations), self.numbers(i, PLACED[-3:])

    def product(self, factors: Sequence[Scalar]) -> Scalar:
        """Return the product of the pivots of M, tip first, link by link."""
        if len(factors) != len(self.dofs):
            return super().product(factors)
        total = self.one
        for dof in self._tip_first(factors):
            total = total * factors[dof.index]
        return total

    def log_product(self, factors: Sequence[Scalar]) -> Scalar:
        """Return ln of the product of the pivots of M, tip first, link by link."""
        if len(factors) != len(self.dofs):
            return super().log_product(factors)
        total = self.zero
        for dof in self._tip_first(factors):
            total = total + self.derivation.log(factors[dof.index])
        return total

    def _tip_first(self, factors: Sequence[Scalar]) -> Iterator[Dof]:
        """Yield the degrees of freedom from the tip, each in a step of its link."""
        for dof, _ in reversed(list(zip(self.dofs, factors, strict=True))):
            self.step(dof.link, "product of the pivots of the mass matrix, RK (4.11)")
            yield dof

    def number(self, i: int, name: str) -> Scalar:
        """Return a named number of a link: a constant, or an entry of its table row."""
        columns = self.columns[i]
        if name in columns.common:
            return self.derivation.constant(columns.common[name])
        return self.derivation.inputs[PREPARED][self.first[i] + columns.column[name]]

    def numbers(self, i: int, names: Sequence[str]) -> Vector:
        """Return several named numbers of a link as a Vector."""
        return Vector(self.number(i, name) for name in names)

    def joint_parameters(self, i: int) -> dict[object, Scalar]:
        """Return the values of joint i's parameter symbols."""
        symbols = joint_form(self.model.links[i].kind).parameters
        return {symbols[name]: self.number(i, name) for name, _ in self.model.links[i].parameters}

    link_by_link = True

    def end_point(self, i: int) -> Vector:
        """Return the mass centre of link i: the end of a link that is a point mass."""
        return self.numbers(i, CENTRE)

    def ask_model(self, question: Callable[[Model], bool]) -> bool:
        """Return the answer to a question about the robot's links."""
        assert self.robot is not None
        return question(self.robot)

    def ask_link(self, question: Callable[[Model, int], bool], i: int) -> bool:
        """Return the common answer for all links of the robot that have a parent link;
        MethodRefusal if the answers differ.
        """
        assert self.robot is not None
        answers = {question(self.robot, j) for j in range(1, len(self.robot.links))} or {True}
        if len(answers) > 1:
            raise MethodRefusal(
                "the links of the chain differ in how they are attached to their parents, so one loop step cannot serve all"
            )
        return answers.pop()

    def _geometry(self, i: int) -> LinkGeometry:
        self.step(i, "joint angle, and pose of the link on its parent")
        geometry = super()._geometry(i)
        return replace(geometry, arm=geometry.shift)  # any parent type uses the same step

    def _inertia(self, i: int) -> RigidInertia:
        self.step(i, "inertia")
        m, hx, hy, hz, *S = self.numbers(i, TEN)
        return RigidInertia.of(m, Vector((hx, hy, hz)), Symmetric(*S))

    def _offset(self, i: int) -> Vector:
        return self.numbers(i, ("x", "y", "z"))

    def _rotations(
        self, i: int, form: JointForm, bindings: dict[object, Scalar]
    ) -> tuple[Rotation, Rotation]:
        link = self.model.links[i]
        outer = [self._about(i, "gamma", 2), self._about(i, "alpha", 0)]
        if not link.directed:
            for symbol, expression in form.steps:
                bindings[symbol] = lower(expression, bindings, self.derivation)
            outer.append(self._about(i, "beta", 2))
            return Rotation(outer), Rotation(
                [*outer, _lowered(form.rotation, bindings, self.derivation)]
            )
        if form.angle is None:
            return Rotation(outer), Rotation([*outer, self._about(i, "beta", 2)])
        angle = self.inputs["q"][link.q][form.angle] + self.number(i, "offset")
        c, s = self.derivation.cos(angle), self.derivation.sin(angle)
        self.name("c", i, c)
        self.name("s", i, s)
        return Rotation(outer), Rotation([*outer, self._elementary(2, c, s)])

    def _about(self, i: int, angle: str, axis: int, prefix: str = "") -> Matrix:
        return self._elementary(
            axis, self.number(i, f"{prefix}cos_{angle}"), self.number(i, f"{prefix}sin_{angle}")
        )

    def _elementary(self, axis: int, c: Scalar, s: Scalar) -> Matrix:
        """Return the rotation about a coordinate axis by the angle with cosine c and sine s."""
        x, y = (axis + 1) % 3, (axis + 2) % 3
        rows = [[self.one if i == j == axis else self.zero for j in range(3)] for i in range(3)]
        rows[x][x], rows[x][y], rows[y][x], rows[y][y] = c, -s, s, c
        return (Vector(rows[0]), Vector(rows[1]), Vector(rows[2]))

    def _shift(self, link: Link, total: Vector, slide: Vector) -> Vector:
        i = self.model.links.index(link)
        inner = slide + Vector((self.zero, self.zero, self.number(i, "along")))
        outer = self.numbers(i, ("outer_x", "outer_y", "outer_z"))
        off_axis = not (slide[0].is_zero and slide[1].is_zero)
        split_count, total_count = (
            sum(not x.is_zero for x in v) for v in ((*inner, *outer), total)
        )
        split = link.directed and not off_axis and not inner.is_zero and split_count <= total_count
        return SplitShift(total, inner, outer) if split else total


def _lowered(m: Any, bindings: dict[object, Scalar], derivation: Derivation) -> Matrix:
    rows = [Vector(lower(m[r, c], bindings, derivation) for c in range(3)) for r in range(3)]
    return (rows[0], rows[1], rows[2])

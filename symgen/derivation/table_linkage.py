"""`Tabled`: a linkage whose link constants are read from a table with one row per link, so that the
steps of a method serve as the body of a loop.

A number that is equal for all links of a class, such as a zero or a right angle, is a constant of
the derivation. Every other number is a column of the table. The rotation to the parent is Rz(γ)
Rx(α) Rz(β + q). The shift has two parts if that takes fewer operations (`Linkage._shift`).
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
BASE_NUMBERS = {
    "frame_gravity": 3,
    "frame_axes": 9,
    "acceleration": 3,
    "frame_position": 3,
    "gravity": 3,
    "variable_zero": 1,
}
"""Sizes of the numbers of the base: gravity in the axes of the root's base frame; these axes in
base axes, row by row; the acceleration of the base if it is recorded as a link; the position of the
base frame; gravity in base axes; and a zero that the derivation treats as variable.
"""
SHARED = sum(BASE_NUMBERS[name] for name in ("frame_position", "gravity", "variable_zero"))
"""Number of trailing elements of PREPARED that belong to no single link."""
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
"""Names of the constants of a link's pose on its parent: the angles γ, α and β, the shift, its part
across the joint axis (`outer_*`) and its part along the axis (`along`).
"""
CENTRE = ("centre_x", "centre_y", "centre_z")
COMPARED_FIRST = 4
"""Number of links whose values distinguish most columns, so that few columns need a full
comparison.
"""
INERTIAL = ("m", "hx", "hy", "hz", "Sxx", "Sxy", "Sxz", "Syy", "Syz", "Szz")
"""Names of the ten inertial parameters: mass, first moment and second moment."""
FRAME_POSE = (
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
"""Names of the constants of the pose of a link's declared frame on the link."""


def constants_of(link: Link, with_pose: bool = False) -> dict[str, Constant]:
    """Return the constants of a link that a method may use, by name; with those of FRAME_POSE if
    `with_pose`.
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
        numbers |= _frame_pose_constants(link)
    return numbers | dict(link.parameters)


def _frame_pose_constants(link: Link) -> dict[str, Constant]:
    """Return the pose of a link's declared frame on the link, the inverse of `link.placement`."""
    axes, origin = link.placement
    inverse = k.transpose(axes)
    cosines_and_sines = [number for angle in k.zxz(inverse) for number in angle]
    position = k.scale(-k.ONE, k.apply(inverse, origin))
    return dict(zip(FRAME_POSE, (*cosines_and_sines, *position), strict=True))


def inertia_numbers(link: Link) -> dict[str, Constant]:
    """Return the inertial parameters of a link by the names of INERTIAL."""
    inertia = link.inertia
    return dict(zip(INERTIAL, (inertia.m, *inertia.h, *inertia.S), strict=True))


def _angle(cosine_and_sine: tuple[Constant, Constant]) -> Constant:
    """Return the angle (rad) with a cosine and a sine."""
    return k.ZERO if cosine_and_sine == (k.ONE, k.ZERO) else k.angle_of(*cosine_and_sine)


@dataclass(frozen=True)
class Columns:
    """Table columns of a class of links with one joint type.

    `common` has the values that are equal for all links, by name. `column` has the column of each
    other name. Names whose values are equal in every link share one column.
    """

    common: Mapping[str, Constant]
    column: Mapping[str, int]
    width: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Constant]], unshared: Collection[str] = ()) -> Columns:
        """Return the fewest columns for these links; each name in `unshared` gets a column of its
        own.
        """
        common: dict[str, Constant] = {}
        column: dict[str, int] = {}
        names_by_values: dict[tuple[Any, ...], list[str]] = {}
        width = 0
        for name, first in rows[0].items():
            if name not in unshared and all(k.same_numbers(row[name], first) for row in rows):
                common[name] = first
                continue
            first_values = tuple(k.identity_key(row[name]) for row in rows[:COMPARED_FIRST])
            candidates = () if name in unshared else names_by_values.setdefault(first_values, [])
            equal_names = (
                candidate
                for candidate in candidates
                if all(k.same_numbers(row[name], row[candidate]) for row in rows)
            )
            equal_name = next(equal_names, None)
            if equal_name is not None:
                column[name] = column[equal_name]
                continue
            column[name] = width
            width += 1
            if name not in unshared:
                names_by_values[first_values].append(name)
        return cls(common, column, width)

    @property
    def names(self) -> tuple[str, ...]:
        """Title of each column: its names, joined by " = "."""
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
    """A derivation that records all names of each row, not only the first.

    The loop passes named values from link to link without signs. So naming a negated row records
    the negation as a row of its own.
    """

    def __init__(self, inputs: Mapping[str, int]) -> None:
        super().__init__(inputs)
        self.all_names: dict[int, list[str]] = {}
        self._negated: dict[int, int] = {}  # row of the negation of a row

    def name(self, name: str, a: Scalar) -> Scalar:
        """Name the row of `a`; the printed name is the first one."""
        if a.row >= 0:
            if a.sign < 0:
                if a.row not in self._negated:
                    self._negated[a.row] = self._record("neg", a.row)
                    # The negation belongs to the step of its operand.
                    self.step_of[-1] = self.step_of[a.row]
                a.row, a.sign = self._negated[a.row], 1
            self.all_names.setdefault(a.row, []).append(name)
        return super().name(name, a)


class Tabled(Linkage):
    """Linkage over table rows; see the module docstring.

    - `columns[i]`: columns of the class of link i.
    - `row_starts[i]`: index in PREPARED at which the table row of link i starts.
    - `base_start`: index in PREPARED at which BASE_NUMBERS start.
    - `robot`: the whole robot, whose links decide what a method asks about links (`ask_link`).
    - `link_of`: link of each step comment.
    - `seeds`: values that a frame supplies in place of a child's carry, by name.
    """

    link_by_link = True

    def __init__(
        self,
        model: Model,
        derivation: Derivation,
        columns: Sequence[Columns],
        row_starts: Sequence[int],
        frame: Frame | None = None,
        robot: Model | None = None,
    ) -> None:
        self.columns, self.row_starts, self.robot = columns, row_starts, robot
        self.link_of: dict[int, int] = {}
        self.seeds: dict[str, Fraction] = {}
        drives = {
            (i, name): row_starts[i] + columns_of_link.column[name]
            for i, columns_of_link in enumerate(columns)
            for name in NUMBERS
            if name in columns_of_link.column
        }
        self.base_start = len(derivation.inputs[PREPARED]) - sum(BASE_NUMBERS.values())
        super().__init__(
            model,
            derivation,
            frame,
            at_run_time=runtime_inertia.RunTimeNumbers((), self.base_start, drives),
        )
        self.base_gravity = self.gravity_in_base(0)
        # tau less the forces of the drives, if a joint has any
        for dof in self.dofs if "tau" in derivation.inputs else ():
            if self.inputs["tau"][dof.index] is not derivation.inputs["tau"][dof.index]:
                self.name(f"left{dof.column + 1}", dof.link, self.inputs["tau"][dof.index])

    def mark(self, symbol: str, i: int, quantity: Scalar | Vector | Symmetric | Matrix) -> None:
        """Name a quantity of link i that its neighbours read."""
        self.name(symbol, i, quantity)

    def mark_frame_seed(self, symbol: str, quantity: Vector) -> None:
        """Store the value that the frame supplies in place of a child's carry `symbol`."""
        self.seeds |= {
            f"{symbol}_{c}": k.to_fraction(entry.value) for c, entry in enumerate(quantity, 1)
        }

    def step(self, i: int, text: str) -> None:
        """Start the comment line of a step, and remember its link."""
        self.link_of[len(self.derivation.steps)] = i
        self.derivation.step(text)

    def base_axes(self, root: int) -> Rotation:
        """Return the rotation from the axes of the base frame to base axes."""
        x, y, z = (self._base_numbers("frame_axes")[row : row + 3] for row in (0, 3, 6))
        return Rotation([(Vector(x), Vector(y), Vector(z))])

    def base_position(self, root: int) -> Vector:
        """Return the position (m) of the base frame in the base."""
        return Vector(self._base_numbers("frame_position"))

    def prescribed_acceleration(self, i: int) -> Vector:
        """Return the acceleration of the base for link 0, and zero for other links.

        The zero is a variable of the derivation, so that links and base have the same steps.
        """
        (variable_zero,) = self._base_numbers("variable_zero")
        return (
            Vector(self._base_numbers("acceleration"))
            if not i
            else Vector([variable_zero + variable_zero for _ in range(3)])
        )

    def combine_over_links(
        self, join: Callable[[Scalar, Scalar], Scalar], values: Mapping[int, Scalar]
    ) -> Scalar:
        """Return the values of all links combined by `join`, tip first, one step per link."""
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
        """Return the sum of the links' values, tip first, added to `total` if it is given."""
        link_sum = self.zero
        for i, value in reversed(list(values)):
            self.step(i, "combined over the links")
            link_sum = value + link_sum
        return link_sum if total is None else total + link_sum

    def block_order(
        self, blocks: Iterable[tuple[int, int]], step_text: str
    ) -> Iterator[tuple[int, int]]:
        """Yield the blocks (row joint, column joint) in the order of their computation, each in a
        step of its row joint.

        Blocks up to the diagonal come first, in the order of their row. Blocks beyond the diagonal
        follow.
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
        return Vector(self._base_numbers("gravity"))

    def _base_numbers(self, quantity: str) -> list[Scalar]:
        """Return the elements of PREPARED with a quantity of BASE_NUMBERS."""
        previous = [*BASE_NUMBERS][: [*BASE_NUMBERS].index(quantity)]
        start = self.base_start + sum(BASE_NUMBERS[name] for name in previous)
        return list(self.derivation.inputs[PREPARED][start : start + BASE_NUMBERS[quantity]])

    def declared_frame(self, i: int) -> tuple[Rotation, Vector]:
        """Return rotation and origin of link i's declared frame on the link."""
        rotations = [
            self._constant_rotation(i, angle, axis, "placed_")
            for angle, axis in (("gamma", 2), ("alpha", 0), ("beta", 2))
        ]
        return Rotation(rotations), self.numbers(i, FRAME_POSE[-3:])

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
        return self.derivation.inputs[PREPARED][self.row_starts[i] + columns.column[name]]

    def numbers(self, i: int, names: Sequence[str]) -> Vector:
        """Return several named numbers of a link as a Vector."""
        return Vector(self.number(i, name) for name in names)

    def joint_parameters(self, i: int) -> dict[object, Scalar]:
        """Return the values of joint i's parameter symbols."""
        symbols = joint_form(self.model.links[i].kind).parameters
        return {symbols[name]: self.number(i, name) for name, _ in self.model.links[i].parameters}

    def end_point(self, i: int) -> Vector:
        """Return the mass centre of link i, which is the end of the link if it is a point mass."""
        return self.numbers(i, CENTRE)

    def ask_model(self, question: Callable[[Model], bool]) -> bool:
        """Return the answer to a question about the robot's links."""
        assert self.robot is not None
        return question(self.robot)

    def ask_link(self, question: Callable[[Model, int], bool], i: int) -> bool:
        """Return the answer for all links of the robot that have a parent link.

        Raises MethodRefusal if the answers differ, since one loop step serves all links.
        """
        assert self.robot is not None
        answers = {question(self.robot, j) for j in range(1, len(self.robot.links))} or {True}
        if len(answers) > 1:
            raise MethodRefusal(
                "the links of the chain differ in how they are attached to their parents, so one"
                " loop step cannot serve all"
            )
        return answers.pop()

    def _geometry(self, i: int) -> LinkGeometry:
        self.step(i, "joint angle, and pose of the link on its parent")
        geometry = super()._geometry(i)
        # One step serves parents with and without a joint axis, so `arm` is not special for one.
        return replace(geometry, arm=geometry.shift)

    def _inertia(self, i: int) -> RigidInertia:
        self.step(i, "inertia")
        m, hx, hy, hz, *S = self.numbers(i, INERTIAL)
        return RigidInertia.of(m, Vector((hx, hy, hz)), Symmetric(*S))

    def _offset(self, i: int) -> Vector:
        return self.numbers(i, ("x", "y", "z"))

    def _rotations(
        self, i: int, form: JointForm, bindings: dict[object, Scalar]
    ) -> tuple[Rotation, Rotation]:
        link = self.model.links[i]
        outer = [self._constant_rotation(i, "gamma", 2), self._constant_rotation(i, "alpha", 0)]
        if not link.directed:
            for symbol, expression in form.steps:
                bindings[symbol] = lower(expression, bindings, self.derivation)
            outer.append(self._constant_rotation(i, "beta", 2))
            return Rotation(outer), Rotation(
                [*outer, _lowered(form.rotation, bindings, self.derivation)]
            )
        if form.angle is None:
            return Rotation(outer), Rotation([*outer, self._constant_rotation(i, "beta", 2)])
        angle = self.inputs["q"][link.q][form.angle] + self.number(i, "offset")
        c, s = self.derivation.cos(angle), self.derivation.sin(angle)
        self.name("c", i, c)
        self.name("s", i, s)
        return Rotation(outer), Rotation([*outer, self._coordinate_rotation(2, c, s)])

    def _constant_rotation(self, i: int, angle: str, axis: int, prefix: str = "") -> Matrix:
        """Return the rotation of link i about a coordinate axis by one of its constant angles."""
        return self._coordinate_rotation(
            axis, self.number(i, f"{prefix}cos_{angle}"), self.number(i, f"{prefix}sin_{angle}")
        )

    def _coordinate_rotation(self, axis: int, c: Scalar, s: Scalar) -> Matrix:
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


def _lowered(rotation: Any, bindings: dict[object, Scalar], derivation: Derivation) -> Matrix:
    """Return a 3×3 matrix of SymPy expressions as a Matrix of Scalars."""
    rows = [Vector(lower(rotation[r, c], bindings, derivation) for c in range(3)) for r in range(3)]
    return (rows[0], rows[1], rows[2])

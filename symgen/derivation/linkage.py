"""`Linkage`: a model laid out in Scalars for a method: inputs, joint angles, transforms, link
inertias.

It combines SymPy's closed form of each joint with the constants of each link. A constant rotation
is split into rotations about z, x and z; the last one merges with a revolute joint's own rotation,
where multiples of π/2 only swap sine and cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Self

from symgen.derivation import constants as k
from symgen.derivation import runtime_inertia
from symgen.derivation.base_parameters import BaseParameters
from symgen.derivation.closed_forms import JointForm, joint_form
from symgen.derivation.closing import Closing
from symgen.derivation.constants import Constant, Mat3
from symgen.derivation.coupling import UNCOUPLED, Coupling
from symgen.derivation.drives import drive_forces, drive_scalars
from symgen.derivation.geometry import Dof as Dof
from symgen.derivation.geometry import LinkGeometry as LinkGeometry
from symgen.derivation.gravity_compensation import (
    CompensatedMatter,
    compensated_matter,
    compensation_forces,
    has_gravity_compensation,
)
from symgen.derivation.loads import UNLOADED, LoadedFrames, link_wrench, payload_inertia
from symgen.derivation.model import Frame, Link, Model
from symgen.derivation.model.spin import NO_SPIN, Spin
from symgen.derivation.scalars import Derivation, Scalar, lower
from symgen.derivation.spatial import Matrix, RigidInertia, Rotation, SplitShift, Symmetric, Vector
from symgen.vocabulary.poses import Angle


class Linkage:
    """A model and a derivation, laid out for the methods.

    `links[i]`: LinkGeometry; `dofs[k]`: Dof of entry k of v.
    `inertia[i]`: RigidInertia, run-time payload included.
    `gravity[i]`: gravity of root i in its base frame.
    `drives[k]`: drive of entry k of v (`symgen.derivation.drives`).
    `loads[i]`: sum of run-time wrenches on link i, as (moment, force) at its origin in its axes.
    `inputs[name]`: Scalars; the drive forces are subtracted from tau.
    `jacobian_frame`: frame of a Jacobian (`symgen.vocabulary.arrays.JACOBIAN_FRAMES`).

    With mimic joints, `dofs`, `drives` and the positions, velocities and accelerations among the
    inputs cover all joints. `leader_dofs` are the dofs with an entry of v in the C; forces refer to
    these. The paper's number of link i is i + 1.
    """

    jacobian_frame = "aligned"
    task_rows: tuple[int, ...] = ()
    """The rows of the Jacobian that define the task."""
    loops: tuple[Closing, ...] = ()
    dependent: tuple[int, ...] = ()
    actuated: tuple[int, ...] = ()
    passive: tuple[int, ...] = ()
    solves, loops_may_be_open = 1, False
    """The closed loops, the dependent velocities, the actuated velocities, and the velocities that
    are dependent when as many actuated ones as possible are independent; the number of solves for
    the closure forces; True if loops may be open.
    """
    series = False
    """True if functions of a rotation angle are recorded as single operations, to be
    differentiated.
    """
    contacts: tuple[Frame, ...] = ()  # contact points
    base: BaseParameters | None = None

    def __init__(
        self,
        model: Model,
        derivation: Derivation,
        frame: Frame | None = None,
        loaded: LoadedFrames = UNLOADED,
        at_run_time: runtime_inertia.RunTimeNumbers | None = None,
        coupling: Coupling = UNCOUPLED,
    ) -> None:
        self.model, self.derivation, self.frame, self.payload = (
            model,
            derivation,
            frame,
            loaded.payload,
        )
        self.at_run_time, self.coupling = at_run_time, coupling
        self.inputs = dict(coupling.expand_inputs(derivation))
        self.drives = drive_scalars(model, derivation, self._run_time_drives())
        self.zero, self.one = derivation.zero, derivation.one
        self._sums: dict[tuple[tuple[int, int], ...], Scalar] = {}
        self._subtract_drives()
        # A link with slack has its vectors in rotated axes.
        shares_axes = any(not link.slack.is_zero for link in model.links)
        derivation.step(
            "joint angles: sines and"
            f" cosines{', and lengths and inertias rotated by them' if shares_axes else ''}"
        )
        self.links = [self._geometry(i) for i in range(len(model.links))]
        self.dofs = [dof for link in self.links for dof in link.dofs]
        self.leader_dofs = coupling.leader_entries(self.dofs)
        self.inertia = [self._inertia(i) for i in range(len(model.links))]
        self.base_gravity, self.gravity = self._gravity()
        self._add_gravity_compensation()
        self._add_payload()
        self.loads = self._run_time_wrenches(loaded.wrenches)

    def _run_time_drives(self) -> dict[tuple[int, str], Scalar]:
        """Return the run-time drive parameters, by link and name."""
        drives = self.at_run_time.drives if self.at_run_time else {}
        return {
            parameter: self.derivation.inputs["prepared"][index]
            for parameter, index in drives.items()
        }

    def _subtract_drives(self) -> None:
        """Subtract the drive forces from tau."""
        if "tau" not in self.derivation.inputs or not any(
            drive.has_forces for drive in self.drives
        ):
            return
        drive_terms = self.coupling.reduce_forces(
            drive_forces(self.model, self.drives, self.derivation, self.inputs)
        )
        self.inputs["tau"] = [
            tau - force
            for tau, force in zip(self.derivation.inputs["tau"], drive_terms, strict=True)
        ]

    def _add_gravity_compensation(self) -> None:
        """Add the forces of gravity compensation to tau."""
        if "tau" not in self.derivation.inputs or not has_gravity_compensation(self.model):
            return
        added = self.coupling.reduce_forces(
            compensation_forces(self.links, self.compensated_matter)
        )
        self.inputs["tau"] = [
            tau + force for tau, force in zip(self.inputs["tau"], added, strict=True)
        ]

    def _add_payload(self) -> None:
        """Add the run-time payload to the inertia of its link."""
        frame = self.payload
        if frame is not None and frame.link >= 0:
            matter = payload_inertia(
                self.derivation, frame, self.frame_pose(frame), self.derivation.inputs["payload"]
            )
            self.inertia[frame.link] = self.inertia[frame.link] + matter

    def _run_time_wrenches(self, frames: Sequence[Frame]) -> list[tuple[Vector, Vector]]:
        """Return the sum of the run-time wrenches on each link."""
        loads = [(self.zeros, self.zeros) for _ in self.model.links]
        for index, frame in enumerate(frames):
            if frame.link >= 0:
                n, f = self._wrench_on_link(
                    frame, self.derivation.inputs["wrench"][6 * index : 6 * index + 6]
                )
                loads[frame.link] = loads[frame.link][0] + n, loads[frame.link][1] + f
        for i in dict.fromkeys(frame.link for frame in frames if frame.link >= 0):
            self.name("wrench", i, Vector([entry for vector in loads[i] for entry in vector]))
        return loads

    def __len__(self) -> int:
        return len(self.links)

    def at(self, frame: Frame) -> Self:
        """Return the same linkage and derivation with another chosen frame."""
        linkage = copy(self)
        linkage.frame = frame
        return linkage

    def carriers(self, k: int) -> list[int]:
        """Return the degrees of freedom that move dof k along, from the nearest to the root's."""
        link = self.dofs[k].link
        inner = [
            dof.index
            for j in (link, *self.model.ancestors(link))
            for dof in reversed(self.links[j].dofs)
        ]
        return inner[inner.index(k) + 1 :]

    @property
    def zeros(self) -> Vector:
        return Vector((self.zero, self.zero, self.zero))

    def dot(self, a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
        """Return Σ a_i b_i, summed from first to last."""
        return self.derivation.dot(a, b)

    def scalar(self, value: Constant) -> Scalar:
        return self.derivation.constant(value)

    def vector(self, v: Sequence[Constant]) -> Vector:
        return Vector(self.scalar(x) for x in v)

    def matrix(self, m: Mat3) -> Matrix:
        return (self.vector(m[0]), self.vector(m[1]), self.vector(m[2]))

    def product(self, factors: Sequence[Scalar]) -> Scalar:
        """Return the product of the pivots of M, tip first; 1 for no factor."""
        total = self.one
        for factor in reversed(factors):
            total = total * factor
        return total

    def log_product(self, factors: Sequence[Scalar]) -> Scalar:
        """Return ln of a product of positive factors: one logarithm per variable factor, and one
        constant for all constant factors.

        The product itself leaves the range of a double: a hundred points of 2e-26 kg at 1.5e-10 m
        have det M ≈ 1e-4500. Multiplying two pivots before the logarithm would save one logarithm,
        but leave the range of a float.
        """
        constant, total = self.one, self.zero
        for factor in factors:
            if factor.is_constant:
                constant = constant * factor
        for factor in reversed(factors):
            if not factor.is_constant:
                total = total + self.derivation.log(factor)
        return total + self.derivation.log(constant)

    def product_over_links(self, factors_of: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """Return the product of the factors of all links; constant factors are combined first."""
        constant, variable = self.one, []
        for factor in (x for factors in factors_of.values() for x in factors):
            if factor.is_constant:
                constant = constant * factor
            else:
                variable.append(factor)
        return self.product([*variable, constant])

    def log_product_over_links(self, factors_of: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """Return ln of the product of the factors of all links."""
        return self.log_product([x for factors in factors_of.values() for x in factors])

    def sum_over_links(
        self, values: Iterable[tuple[int, Scalar]], total: Scalar | None = None
    ) -> Scalar:
        """Return the sum of the links' values, added to `total` one by one as they are computed."""
        total = self.zero if total is None else total
        for _, value in values:
            total = total + value
        return total

    def block_order(
        self, blocks: Iterable[tuple[int, int]], step_text: str
    ) -> Iterator[tuple[int, int]]:
        """Yield the (to, of) joints of a matrix's blocks in the order in which their products are
        summed.

        `step_text` is the text of each step.
        """
        yield from blocks

    def combine_over_links(
        self, join: Callable[[Scalar, Scalar], Scalar], values: Mapping[int, Scalar]
    ) -> Scalar:
        """Combine the values of links as a balanced tree."""
        level = list(values.values())
        while len(level) > 1:
            level = [
                join(level[n], level[n + 1]) if n + 1 < len(level) else level[n]
                for n in range(0, len(level), 2)
            ]
        return level[0]

    def against_gravity(self, i: int) -> Vector:
        """Return −gravity in the axes of root i: the acceleration of the base that replaces
        gravity.

        If the pose is written in steps and gravity is parallel to an axis, gravity is multiplied
        into the first step. The rest of the rotation is then not needed.
        """
        link, form = self.model.links[i], joint_form(self.model.links[i].kind)
        nonzero = [axis for axis in range(3) if not self.gravity[i][axis].is_zero]
        if not form.steps or len(nonzero) != 1 or link.rotation != k.IDENTITY:
            return self.links[i].rotation.to_child(-self.gravity[i])
        g = -self.gravity[i][nonzero[0]]
        bindings: dict[object, Scalar] = dict(zip(form.q, self.inputs["q"][link.q], strict=True))
        for symbol, expression in form.steps:
            value = lower(expression, bindings, self.derivation)
            bindings[symbol] = value * g if symbol in form.single else value
        row = [entry.as_coeff_Add() for entry in form.rotation[nonzero[0], :]]
        return Vector(
            g * int(constant) + lower(remainder, bindings, self.derivation)
            for constant, remainder in row
        )

    @cached_property
    def compensated_matter(self) -> list[CompensatedMatter]:
        """The gravity-compensated matter of each link and its descendants
        (`symgen.derivation.gravity_compensation`).
        """
        single = [
            (
                self.scalar(link.compensated.m),
                self._slack(i).to_parent(self.vector(link.compensated.h)),
            )
            for i, link in enumerate(self.model.links)
        ]
        upward: list[Vector] = []
        for i, link in enumerate(self.links):
            self.step(i, "gravity in the link's axes")
            upward.append(
                self.against_gravity(i)
                if link.parent < 0
                else link.rotation.to_child(upward[link.parent])
            )
        return compensated_matter(self.links, single, upward)

    def center(self, i: int) -> Vector:
        """Return the mass centre of link i in its frame."""
        return self._slack(i).to_parent(self.vector(self.model.links[i].center))

    link_by_link = False
    """True if a loop visits links one by one, so that the number of sweeps matters, not only that
    of operations.
    """

    def end_point(self, i: int) -> Vector:
        """Return the origin of the next joint on link i of a chain, before that joint translates;
        for the last link, its mass centre.
        """
        return self.links[i + 1].shift if i + 1 < len(self) else self.center(i)

    def ask_model(self, question: Callable[[Model], bool]) -> bool:
        """Return the answer to a question about all links."""
        return question(self.model)

    def ask_link(self, question: Callable[[Model, int], bool], i: int) -> bool:
        """Return the answer to a question about link i, which has a parent link."""
        return question(self.model, i)

    def _offset(self, i: int) -> Vector:
        """Return the origin of joint i's frame in its parent's, before the joint translates."""
        link = self.model.links[i]
        return self._slack(link.parent).to_parent(self.vector(link.shift))

    def _inertia(self, i: int) -> RigidInertia:
        if self.at_run_time is not None and self.at_run_time.inertia:
            entries = self.at_run_time.inertia[i]
            return runtime_inertia.inertia(
                self.derivation, entries, self.inputs["prepared"]
            ).to_parent(self._slack(i), self.zeros)
        inertia = self.model.links[i].inertia
        declared = RigidInertia.of(
            self.scalar(inertia.m),
            self.vector(inertia.h),
            Symmetric(*(self.scalar(x) for x in inertia.S)),
        )
        return declared.to_parent(self._slack(i), self.zeros)

    def _gravity(self) -> tuple[Vector, list[Vector]]:
        """Return gravity in base axes, and in the base frame of each root."""
        if self.at_run_time is None or self.at_run_time.gravity < 0:
            return self.vector(self.model.gravity), [
                self.vector(link.gravity) for link in self.model.links
            ]
        index = self.at_run_time.gravity
        gravity = Vector(self.inputs["prepared"][index : index + 3])
        return gravity, [
            self.constant_rotation(link.base_rotation).to_child(gravity)
            if link.parent < 0
            else self.zeros
            for link in self.model.links
        ]

    def _slack(self, i: int) -> Rotation:
        """Return the rotation from the axes of link i, in which it is constant, to those in which
        its vectors are written.
        """
        slack = NO_SPIN if i < 0 else self.model.links[i].slack
        return Rotation([] if slack.is_zero else [self._spin_matrix(slack)])

    def frame_pose(self, frame: Frame) -> tuple[Rotation, Vector]:
        """Return rotation and origin of a frame on its link, in the axes in which the link's
        vectors are written.
        """
        slack, mount = self._slack(frame.link), self.constant_rotation(frame.rotation)
        return Rotation([*slack.factors, *mount.factors]), slack.to_parent(self.vector(frame.shift))

    def declared_frame(self, i: int) -> tuple[Rotation, Vector]:
        """Return the pose of link i's declared frame on the link, as `frame_pose` does."""
        axes, origin = self.model.links[i].placement
        inverse = k.transpose(axes)
        return self.frame_pose(
            Frame(self.model.links[i].name, i, inverse, k.scale(-k.ONE, k.apply(inverse, origin)))
        )

    # -- naming ------------------------------------------------------------------------------------

    def step(self, i: int, text: str) -> None:
        """Start the comment line of a step for link i."""
        self.derivation.step(f"link {i + 1} ({self.links[i].label}): {text}")

    def name(self, symbol: str, i: int, quantity: Scalar | Vector | Symmetric | Matrix) -> None:
        """Name a quantity of link i: omega_3_1 is component 1 of link 3, P_4_12 entry (1, 2)."""
        stem = f"{symbol}_{i + 1}"
        if isinstance(quantity, Scalar):
            self.derivation.name(stem, quantity)
        elif isinstance(quantity, Vector):
            for c, entry in enumerate(quantity, 1):
                self.derivation.name(f"{stem}_{c}", entry)
        elif isinstance(quantity, Symmetric):
            for suffix, entry in zip(
                ("11", "12", "13", "22", "23", "33"), quantity.entries, strict=True
            ):
                self.derivation.name(f"{stem}_{suffix}", entry)
        else:
            for r, row in enumerate(quantity, 1):
                for c, entry in enumerate(row, 1):
                    self.derivation.name(f"{stem}_{r}{c}", entry)

    def mark(self, symbol: str, i: int, quantity: Scalar | Vector | Symmetric | Matrix) -> None:
        """Name a quantity of link i that its neighbours read, if links are recorded as loop steps
        (`Tabled`).

        Here it does nothing: a name would keep passes from merging rows.
        """

    def mark_frame_seed(self, symbol: str, quantity: Vector) -> None:
        """Record the value that the frame supplies in place of a child's carry `symbol`, if links
        are recorded as loop steps (`Tabled`).
        """

    # -- geometry ----------------------------------------------------------------------------------

    def _geometry(self, i: int) -> LinkGeometry:
        link = self.model.links[i]
        form = joint_form(link.kind)
        q = self.inputs["q"][link.q]
        bindings: dict[object, Scalar] = {
            **self.joint_parameters(i),
            **dict(zip(form.q, q, strict=True)),
        }
        constant, turning = self._rotations(i, form, bindings)
        slide = Vector([lower(x, bindings, self.derivation) for x in form.shift_entries])
        dofs = []
        for column, index in enumerate(range(link.v.start, link.v.stop)):
            H = [lower(x, bindings, self.derivation) for x in form.motions[column]]
            dofs.append(Dof(index, i, column, Vector(H[:3]), Vector(H[3:])))
        total_shift = self._offset(i) + constant.to_parent(slide)
        shift = self._shift(link, total_shift, slide) if turning.factors else total_shift
        on_trunk = link.parent >= 0 and not self.model.links[link.parent].directed
        arm = Vector(shift) if on_trunk else shift
        return LinkGeometry(
            link.parent, self.model.children(i), turning, shift, arm, tuple(dofs), link.name
        )

    def _rotations(
        self, i: int, form: JointForm, bindings: dict[object, Scalar]
    ) -> tuple[Rotation, Rotation]:
        """Return (rotation without the joint's own, whole rotation) from link i's axes to its
        parent's, Rz(γ) Rx(α) Rz(β + q).

        γ and β include the slacks of both links. The symbols of the joint's closed form are bound.
        """
        link = self.model.links[i]
        gamma, alpha, beta = (Spin((), angle) for angle in k.zxz(link.rotation))
        if link.parent >= 0:
            gamma = self.model.links[link.parent].slack + gamma
        beta = beta - link.slack
        if form.angle is not None and link.directed:
            beta = beta + Spin(((i, 1),))
        if not gamma.is_constant and k.is_zero(alpha.constant[1]):  # parallel axes add up
            gamma, beta = NO_SPIN, beta + gamma if alpha.is_zero else beta - gamma
        outer = [self._spin_matrix(gamma), self.matrix(_about(0, alpha.constant))]
        if not link.directed:
            for symbol, expression in form.steps:
                bindings[symbol] = lower(expression, bindings, self.derivation)
                self.name(str(symbol), i, bindings[symbol])
            outer.append(self._spin_matrix(beta))
            return Rotation(outer), Rotation([*outer, _lowered(form, bindings, self.derivation)])
        return Rotation(outer), Rotation([*outer, self._spin_matrix(beta)])

    def _spin_matrix(self, spin: Spin) -> Matrix:
        """Return a rotation about z, by the closed form of a revolute joint."""
        if spin.is_constant:
            return self.matrix(_about(2, spin.constant))
        form = joint_form("revolute")
        return _lowered(form, self._sine_cosine(form.q[0], spin), self.derivation)

    def joint_parameters(self, i: int) -> dict[object, Scalar]:
        """Return the values of joint i's parameter symbols."""
        link = self.model.links[i]
        symbols = joint_form(link.kind).parameters
        return {symbols[name]: self.scalar(value) for name, value in link.parameters}

    def _shift(self, link: Link, total: Vector, slide: Vector) -> Vector:
        """Return the shift from a link's frame to its parent's, split in two if a part along the
        joint's axis reduces the part across it.

        That part may be applied before the link's rotation, where its articulated inertia has a row
        of zeros. So two lengths, one along each axis, are cheaper than two components on the same
        side. A joint without an axis does not keep z, so its shift is not split.
        """
        if not link.directed:  # the joint may rotate its own z axis
            return total
        axis = k.transpose(link.rotation)[2]
        axial = k.normalize(k.dot(axis, link.shift))
        outer = self.vector([k.normalize(x) for x in k.sub(link.shift, k.scale(axial, axis))])
        outer = self._slack(link.parent).to_parent(outer)
        inner = slide + self.vector((k.ZERO, k.ZERO, axial))
        off_axis = not (slide[0].is_zero and slide[1].is_zero)
        split_count, total_count = (
            sum(not x.is_zero for x in v) for v in ((*inner, *outer), total)
        )
        return (
            total
            if off_axis or inner.is_zero or split_count > total_count
            else SplitShift(total, inner, outer)
        )

    def _angle(self, spin: Spin) -> tuple[Scalar, int]:
        """Return (atom, quarter turns) of a rotation: a multiple of π/2 is left to `_sine_cosine`,
        another constant is added.
        """
        total = self._sum_of_angles(spin.terms)
        for quarter, unit_angle in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
            if spin.constant == unit_angle:
                return total, quarter
        return total + self.derivation.constant(k.angle_of(*spin.constant)), 0

    def _sum_of_angles(self, terms: tuple[tuple[int, int], ...]) -> Scalar:
        """Return Σ sign · (angle of a link's joint), each sum recorded once."""
        if terms not in self._sums:
            *inner, (i, sign) = terms
            link = self.model.links[i]
            angle = joint_form(link.kind).angle
            assert angle is not None
            angle_term = self.inputs["q"][link.q][angle] * sign
            self._sums[terms] = (
                self._sum_of_angles(tuple(inner)) + angle_term if inner else angle_term
            )
        return self._sums[terms]

    def joint_gram_determinant(self, i: int) -> Scalar:
        """Return det HᵀH of joint i: the squared volume ratio from its velocities to the twists
        that it allows. Most joints have 1.
        """
        H = joint_form(self.model.links[i].kind).motion_subspace
        return lower((H.T * H).det(), self.joint_parameters(i), self.derivation)

    def _sine_cosine(self, q: object, spin: Spin) -> dict[object, Scalar]:
        import sympy as sp

        if spin.terms[0][1] < 0:  # sine and cosine of −x follow from those of x
            opposite = self._sine_cosine(q, -spin)
            return opposite | {sp.sin(q): -opposite[sp.sin(q)]}
        if (
            total := self._sum_of_angles(spin.terms)
        ).is_constant:  # a follower may rotate opposite to its leader
            rotation = Spin((), k.cosine_sine(Angle(k.to_fraction(total.value)))) + Spin(
                (), spin.constant
            )
            return {
                sp.cos(q): self.scalar(rotation.constant[0]),
                sp.sin(q): self.scalar(rotation.constant[1]),
            }
        atom, quarter = self._angle(spin)
        c, s = self.derivation.cos(atom), self.derivation.sin(atom)
        name = "".join(
            f"{'' if k == 0 else 'p' if sign > 0 else 'm'}{i + 1}"
            for k, (i, sign) in enumerate(spin.terms)
        )
        self.derivation.name(f"c_{name}", c)
        self.derivation.name(f"s_{name}", s)
        c, s = ((c, s), (-s, c), (-c, -s), (s, -c))[quarter]
        return {sp.cos(q): c, sp.sin(q): s}

    def _wrench_on_link(self, frame: Frame, wrench: Sequence[Scalar]) -> tuple[Vector, Vector]:
        return link_wrench(self.derivation, frame, self.frame_pose(frame), wrench)

    def base_axes(self, root: int) -> Rotation:
        """Return the rotation from the axes of a root's base frame to base axes."""
        return self.constant_rotation(self.model.links[root].base_rotation)

    def base_position(self, root: int) -> Vector:
        """Return the position (m) of a root's base frame in the base."""
        return self.vector(self.model.links[root].base_shift)

    def prescribed_acceleration(self, i: int) -> Vector:
        """Return the acceleration that link i has without any force: zero, except for a base that
        is recorded as a link (`Tabled`).
        """
        return self.zeros

    def gravity_in_base(self, root: int) -> Vector:
        """Return gravity in base axes."""
        return self.base_axes(root).to_parent(self.gravity[root])

    def constant_rotation(self, rotation: Mat3) -> Rotation:
        """Return a constant rotation as its cheapest factors."""
        if all(k.is_zero(x) or abs(x) == 1 for row in rotation for x in row):
            return Rotation([self.matrix(rotation)])
        gamma, alpha, beta = k.zxz(rotation)
        return Rotation(
            [self.matrix(m) for m in (_about(2, gamma), _about(0, alpha), _about(2, beta))]
        )


def _lowered(form: JointForm, bindings: dict[object, Scalar], derivation: Derivation) -> Matrix:
    rows = [Vector([lower(x, bindings, derivation) for x in row]) for row in form.rotation_rows]
    return (rows[0], rows[1], rows[2])


def _about(axis: int, unit_angle: tuple[Constant, Constant]) -> Mat3:
    unit = (k.IDENTITY[0], k.IDENTITY[1], k.IDENTITY[2])[axis]
    return k.rotation_about(unit, *unit_angle)

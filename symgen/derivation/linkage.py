"""`Linkage`: a model laid out as Scalars, ready for a method: inputs, joint angles, transforms, link inertias.

This is where SymPy's closed form of each joint meets the constants of each link. A constant rotation is split into
turns about z, x and z; the last one merges with a revolute joint's own turn, where multiples of π/2 only swap sine
and cosine.
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
from symgen.derivation.coupling import APART, Coupling
from symgen.derivation.drives import driven, forces
from symgen.derivation.geometry import Dof as Dof
from symgen.derivation.geometry import LinkGeometry as LinkGeometry
from symgen.derivation.gravity_compensation import Held, bears, held, spared
from symgen.derivation.loads import UNLOADED, LoadedFrames, carried, exerted
from symgen.derivation.model import Frame, Link, Model
from symgen.derivation.model.spin import STILL, Spin
from symgen.derivation.scalars import Derivation, Scalar, lower
from symgen.derivation.spatial import Matrix, RigidInertia, Rotation, SplitShift, Symmetric, Vector
from symgen.vocabulary.poses import Angle


class Linkage:
    """A model and a derivation, laid out for the methods.

    `links[i]`, `dofs[k]` (of entry k of v), `inertia[i]` (RigidInertia, run-time payload included), `gravity[i]` (of root i, in
    its base frame), `drives[k]` (of entry k of v, `symgen.derivation.drives`), `loads[i]` (the run-time wrenches on link i
    summed, as (moment, force) at its origin in its axes), `inputs[name]` (Scalars; tau is what the drives leave of it).
    `jacobian_frame` says how a Jacobian is stated (`symgen.vocabulary.arrays.JACOBIAN_FRAMES`). Where joints follow others, `dofs`,
    `drives` and the positions, velocities and accelerations among the inputs are those of all joints, `own` the dofs that have
    an entry of v in the C, and forces are theirs. The paper's number of link i is i + 1.
    """

    jacobian_frame = "aligned"
    task_rows: tuple[int, ...] = ()
    """The rows of the Jacobian that a task is about."""
    loops: tuple[Closing, ...] = ()
    dependent: tuple[int, ...] = ()
    actuated: tuple[int, ...] = ()
    passive: tuple[int, ...] = ()
    solves, anywhere = 1, False
    """The joints that close loops, the velocities that these give, those that are driven, those that are given where as many of
    these as can be are not, how often the forces of the loops are solved for, and whether they need not be closed."""
    series = False
    """True if functions of a turn are recorded as such, to be differentiated."""
    contacts: tuple[Frame, ...] = ()  # points that may touch something
    base: BaseParameters | None = None

    def __init__(
        self,
        model: Model,
        home: Derivation,
        frame: Frame | None = None,
        loaded: LoadedFrames = UNLOADED,
        at_run_time: runtime_inertia.AtRunTime | None = None,
        coupling: Coupling = APART,
    ) -> None:
        self.model, self.home, self.frame, self.payload = model, home, frame, loaded.payload
        self.at_run_time, self.coupling = at_run_time, coupling
        self.inputs = dict(coupling.spread(home))
        self.drives = driven(model, home, self._run_time_drives())
        self.zero, self.one = home.zero, home.one
        self._sums: dict[tuple[tuple[int, int], ...], Scalar] = {}
        self._subtract_drives()
        # A link with slack has its vectors in turned axes.
        turned = any(not link.slack.is_still for link in model.links)
        home.step(
            f"joint angles: sines and cosines{', and lengths and inertias turned by them' if turned else ''}"
        )
        self.links = [self._geometry(i) for i in range(len(model.links))]
        self.dofs = [dof for link in self.links for dof in link.dofs]
        self.own = coupling.leading(self.dofs)
        self.inertia = [self._inertia(i) for i in range(len(model.links))]
        self.base_gravity, self.gravity = self._gravity()
        self._add_gravity_compensation()
        self._add_payload()
        self.loads = self._run_time_wrenches(loaded.wrenches)

    def _run_time_drives(self) -> dict[tuple[int, str], Scalar]:
        """Return the numbers of drives that come at run time, by link and name."""
        drives = self.at_run_time.drives if self.at_run_time else {}
        return {at: self.home.inputs["prepared"][place] for at, place in drives.items()}

    def _subtract_drives(self) -> None:
        """Subtract from tau the forces of the drives."""
        if "tau" not in self.home.inputs or not any(drive.resists for drive in self.drives):
            return
        taken = self.coupling.felt(forces(self.model, self.drives, self.home, self.inputs))
        self.inputs["tau"] = [
            tau - force for tau, force in zip(self.home.inputs["tau"], taken, strict=True)
        ]

    def _add_gravity_compensation(self) -> None:
        """Add to tau the weights that gravity compensation holds."""
        if "tau" not in self.home.inputs or not bears(self.model):
            return
        added = self.coupling.felt(spared(self.links, self.held))
        self.inputs["tau"] = [
            tau + force for tau, force in zip(self.inputs["tau"], added, strict=True)
        ]

    def _add_payload(self) -> None:
        """Add the run-time payload to the inertia of its link."""
        frame = self.payload
        if frame is not None and frame.link >= 0:
            matter = carried(self.home, frame, self.mounted(frame), self.home.inputs["payload"])
            self.inertia[frame.link] = self.inertia[frame.link] + matter

    def _run_time_wrenches(self, frames: Sequence[Frame]) -> list[tuple[Vector, Vector]]:
        """Return the sum of the run-time wrenches on each link."""
        loads = [(self.zeros, self.zeros) for _ in self.model.links]
        for place, frame in enumerate(frames):
            if frame.link >= 0:
                n, f = self._exerted(frame, self.home.inputs["wrench"][6 * place : 6 * place + 6])
                loads[frame.link] = loads[frame.link][0] + n, loads[frame.link][1] + f
        for i in dict.fromkeys(frame.link for frame in frames if frame.link >= 0):
            self.name("wrench", i, Vector([entry for part in loads[i] for entry in part]))
        return loads

    def __len__(self) -> int:
        return len(self.links)

    def at(self, frame: Frame) -> Self:
        """The same linkage and derivation, where another frame is meant."""
        other = copy(self)
        other.frame = frame
        return other

    def carriers(self, k: int) -> list[int]:
        """The degrees of freedom that move the one of index k with them, from the nearest to the root's."""
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
        """Σ a_i b_i, first to last."""
        return self.home.dot(a, b)

    def scalar(self, value: Constant) -> Scalar:
        return self.home.constant(value)

    def vector(self, v: Sequence[Constant]) -> Vector:
        return Vector(self.scalar(x) for x in v)

    def matrix(self, m: Mat3) -> Matrix:
        return (self.vector(m[0]), self.vector(m[1]), self.vector(m[2]))

    def product(self, factors: Sequence[Scalar]) -> Scalar:
        """The product of the pivots of M, tip first; zero where one is, and 1 of none."""
        total = self.one
        for factor in reversed(factors):
            total = total * factor
        return total

    def log_product(self, factors: Sequence[Scalar]) -> Scalar:
        """ln of the product of positive factors: a logarithm each, and one constant of what is constant.

        The product itself leaves the range of a double: a hundred points of 2e-26 kg at 1.5e-10 m have det M ≈ 1e-4500. Two
        pivots multiplied before the logarithm would save one, and leave the range of a float.
        """
        constant, total = self.one, self.zero
        for factor in factors:
            if factor.is_constant:
                constant = constant * factor
        for factor in reversed(factors):
            if not factor.is_constant:
                total = total + self.home.log(factor)
        return total + self.home.log(constant)

    def product_of(self, of_links: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """The product of what links have; of what is constant, one constant."""
        constant, rest = self.one, []
        for factor in (x for own in of_links.values() for x in own):
            if factor.is_constant:
                constant = constant * factor
            else:
                rest.append(factor)
        return self.product([*rest, constant])

    def log_product_of(self, of_links: Mapping[int, Sequence[Scalar]]) -> Scalar:
        """ln of it."""
        return self.log_product([x for own in of_links.values() for x in own])

    def summed(self, of_links: Iterable[tuple[int, Scalar]], total: Scalar | None = None) -> Scalar:
        """The sum of what links have, onto `total`, one after the other as it is made."""
        total = self.zero if total is None else total
        for _, own in of_links:
            total = total + own
        return total

    def placed(self, places: Iterable[tuple[int, int]], what: str) -> Iterator[tuple[int, int]]:
        """The places of a matrix's blocks, (to, of) joints, in the order in which their products are added up; `what` is said of
        each.
        """
        yield from places

    def joined(
        self, join: Callable[[Scalar, Scalar], Scalar], of_links: Mapping[int, Scalar]
    ) -> Scalar:
        """Combine the values of links into one, as a balanced tree."""
        left = list(of_links.values())
        while len(left) > 1:
            left = [
                join(left[n], left[n + 1]) if n + 1 < len(left) else left[n]
                for n in range(0, len(left), 2)
            ]
        return left[0]

    def against_gravity(self, i: int) -> Vector:
        """−gravity in the axes of root i, which the acceleration of the base stands for.

        Where the pose is written in steps and gravity lies along an axis, it is multiplied into the first of them: nothing else
        of the rotation is needed then.
        """
        link, form = self.model.links[i], joint_form(self.model.links[i].kind)
        along = [axis for axis in range(3) if not self.gravity[i][axis].is_zero]
        if not form.steps or len(along) != 1 or link.rotation != k.IDENTITY:
            return self.links[i].rotation.to_child(-self.gravity[i])
        g = -self.gravity[i][along[0]]
        bindings: dict[object, Scalar] = dict(zip(form.q, self.inputs["q"][link.q], strict=True))
        for symbol, expression in form.steps:
            value = lower(expression, bindings, self.home)
            bindings[symbol] = value * g if symbol in form.single else value
        row = [entry.as_coeff_Add() for entry in form.rotation[along[0], :]]
        return Vector(
            g * int(constant) + lower(rest, bindings, self.home) for constant, rest in row
        )

    @cached_property
    def held(self) -> list[Held]:
        """Of every link with all that it carries, the mass that is held up against gravity (`symgen.derivation.gravity_compensation`)."""
        own = [
            (self.scalar(link.borne.m), self._slack(i).to_parent(self.vector(link.borne.h)))
            for i, link in enumerate(self.model.links)
        ]
        upward: list[Vector] = []
        for i, link in enumerate(self.links):
            self.step(i, "gravity in its axes")
            upward.append(
                self.against_gravity(i)
                if link.parent < 0
                else link.rotation.to_child(upward[link.parent])
            )
        return held(self.links, own, upward)

    def center(self, i: int) -> Vector:
        """The mass centre of link i in its frame."""
        return self._slack(i).to_parent(self.vector(self.model.links[i].center))

    in_turn = False
    """Whether links are gone through one after the other, so that each way along them counts, and not operations alone."""

    def end(self, i: int) -> Vector:
        """Where on link i of a chain the next joint stands, before that slides; of the last link its mass centre."""
        return self.links[i + 1].shift if i + 1 < len(self) else self.center(i)

    def told(self, question: Callable[[Model], bool]) -> bool:
        """The answer to a question about the links."""
        return question(self.model)

    def like(self, question: Callable[[Model, int], bool], i: int) -> bool:
        """The answer to a question about link i, which stands on another one."""
        return question(self.model, i)

    def _offset(self, i: int) -> Vector:
        """Where joint i's frame stands in its parent's, before the joint slides."""
        link = self.model.links[i]
        return self._slack(link.parent).to_parent(self.vector(link.shift))

    def _inertia(self, i: int) -> RigidInertia:
        if self.at_run_time is not None and self.at_run_time.inertia:
            ten = self.at_run_time.inertia[i]
            return runtime_inertia.inertia(self.home, ten, self.inputs["prepared"]).to_parent(
                self._slack(i), self.zeros
            )
        inertia = self.model.links[i].inertia
        own = RigidInertia.of(
            self.scalar(inertia.m),
            self.vector(inertia.h),
            Symmetric(*(self.scalar(x) for x in inertia.S)),
        )
        return own.to_parent(self._slack(i), self.zeros)

    def _gravity(self) -> tuple[Vector, list[Vector]]:
        """In the axes of the base, and of root i in its base frame."""
        if self.at_run_time is None or self.at_run_time.gravity < 0:
            return self.vector(self.model.gravity), [
                self.vector(link.gravity) for link in self.model.links
            ]
        place = self.at_run_time.gravity
        gravity = Vector(self.inputs["prepared"][place : place + 3])
        return gravity, [
            self.constant_rotation(link.base_rotation).to_child(gravity)
            if link.parent < 0
            else self.zeros
            for link in self.model.links
        ]

    def _slack(self, i: int) -> Rotation:
        """From the axes of link i, in which it is constant, to those that its vectors are written in; of the base none."""
        slack = STILL if i < 0 else self.model.links[i].slack
        return Rotation([] if slack.is_still else [self._spun(slack)])

    def mounted(self, frame: Frame) -> tuple[Rotation, Vector]:
        """Where a frame sits on its link: its axes and its origin, as the vectors of the link are written."""
        slack, own = self._slack(frame.link), self.constant_rotation(frame.rotation)
        return Rotation([*slack.factors, *own.factors]), slack.to_parent(self.vector(frame.shift))

    def declared_frame(self, i: int) -> tuple[Rotation, Vector]:
        """Where the declared frame of link i sits on it, likewise."""
        axes, origin = self.model.links[i].placement
        back = k.transpose(axes)
        return self.mounted(
            Frame(self.model.links[i].name, i, back, k.scale(-k.ONE, k.apply(back, origin)))
        )

    # -- naming ---------------------------------------------------------------------------------------------------

    def step(self, i: int, text: str) -> None:
        """Start the comment line of one step for link i."""
        self.home.step(f"link {i + 1} ({self.links[i].label}): {text}")

    def name(self, symbol: str, i: int, quantity: Scalar | Vector | Symmetric | Matrix) -> None:
        """Name a quantity of link i: omega_3_1 is component 1 of link 3, P_4_12 entry (1, 2)."""
        stem = f"{symbol}_{i + 1}"
        if isinstance(quantity, Scalar):
            self.home.name(stem, quantity)
        elif isinstance(quantity, Vector):
            for c, entry in enumerate(quantity, 1):
                self.home.name(f"{stem}_{c}", entry)
        elif isinstance(quantity, Symmetric):
            for place, entry in zip(
                ("11", "12", "13", "22", "23", "33"), quantity.entries, strict=True
            ):
                self.home.name(f"{stem}_{place}", entry)
        else:
            for r, row in enumerate(quantity, 1):
                for c, entry in enumerate(row, 1):
                    self.home.name(f"{stem}_{r}{c}", entry)

    def mark(self, symbol: str, i: int, quantity: Scalar | Vector | Symmetric | Matrix) -> None:
        """Say what a quantity of link i is that its neighbours take, where the same is looked for in other links (`Tabled`). A
        name would keep passes from what they find.
        """

    def handed_by_frame(self, symbol: str, quantity: Vector) -> None:
        """Say what the frame hands inward in place of a link behind its own, of which the parent takes `symbol` (`Tabled`)."""

    # -- geometry -------------------------------------------------------------------------------------------------

    def _geometry(self, i: int) -> LinkGeometry:
        link = self.model.links[i]
        form = joint_form(link.kind)
        q = self.inputs["q"][link.q]
        bindings: dict[object, Scalar] = {**self.declared(i), **dict(zip(form.q, q, strict=True))}
        constant, turning = self._turns(i, form, bindings)
        slide = Vector([lower(x, bindings, self.home) for x in form.shift_entries])
        dofs = []
        for column, index in enumerate(range(link.v.start, link.v.stop)):
            H = [lower(x, bindings, self.home) for x in form.motions[column]]
            dofs.append(Dof(index, i, column, Vector(H[:3]), Vector(H[3:])))
        whole = self._offset(i) + constant.to_parent(slide)
        shift = self._shift(link, whole, slide) if turning.factors else whole
        limb = link.parent >= 0 and not self.model.links[link.parent].directed
        arm = Vector(shift) if limb else shift
        return LinkGeometry(
            link.parent, self.model.children(i), turning, shift, arm, tuple(dofs), link.name
        )

    def _turns(
        self, i: int, form: JointForm, bindings: dict[object, Scalar]
    ) -> tuple[Rotation, Rotation]:
        """(without the joint's own turn, whole): from link i's axes to its parent's, Rz(γ) Rx(α) Rz(β + q).

        γ and β take up how far the axes of either link are turned against it. The symbols of the joint's closed form are bound.
        """
        link = self.model.links[i]
        gamma, alpha, beta = (Spin((), turning) for turning in k.zxz(link.rotation))
        if link.parent >= 0:
            gamma = self.model.links[link.parent].slack + gamma
        beta = beta - link.slack
        if form.angle is not None and link.directed:
            beta = beta + Spin(((i, 1),))
        if not gamma.is_constant and k.is_zero(alpha.constant[1]):  # parallel axes add up
            gamma, beta = STILL, beta + gamma if alpha.is_still else beta - gamma
        outer = [self._spun(gamma), self.matrix(_about(0, alpha.constant))]
        if not link.directed:
            for symbol, expression in form.steps:
                bindings[symbol] = lower(expression, bindings, self.home)
                self.name(str(symbol), i, bindings[symbol])
            outer.append(self._spun(beta))
            return Rotation(outer), Rotation([*outer, _lowered(form, bindings, self.home)])
        return Rotation(outer), Rotation([*outer, self._spun(beta)])

    def _spun(self, spin: Spin) -> Matrix:
        """A turn about z, by the closed form of a joint that turns."""
        if spin.is_constant:
            return self.matrix(_about(2, spin.constant))
        form = joint_form("revolute")
        return _lowered(form, self._sine_cosine(form.q[0], spin), self.home)

    def declared(self, i: int) -> dict[object, Scalar]:
        """What the symbols of joint i's parameters stand for, in the closed forms of its type."""
        link = self.model.links[i]
        symbols = joint_form(link.kind).parameters
        return {symbols[name]: self.scalar(value) for name, value in link.parameters}

    def _shift(self, link: Link, whole: Vector, slide: Vector) -> Vector:
        """The shift from a link's frame to its parent's; in two where a part along the joint's axis leaves less across it.

        That part may be taken before the link turns, where its articulated inertia has a row of zeros: so two lengths, one
        along each axis, are cheaper than two components on the same side. Not behind a joint without an axis, which does not
        leave z where it is.
        """
        if not link.directed:  # the joint may turn its own z axis
            return whole
        axis = k.transpose(link.rotation)[2]
        along = k.settle(k.dot(axis, link.shift))
        outer = self.vector([k.settle(x) for x in k.sub(link.shift, k.scale(along, axis))])
        outer = self._slack(link.parent).to_parent(outer)
        inner = slide + self.vector((k.ZERO, k.ZERO, along))
        beside = not (slide[0].is_zero and slide[1].is_zero)
        parts, components = (sum(not x.is_zero for x in v) for v in ((*inner, *outer), whole))
        return (
            whole
            if beside or not link.directed or inner.is_zero or parts > components
            else SplitShift(whole, inner, outer)
        )

    def _angle(self, spin: Spin) -> tuple[Scalar, int]:
        """(atom, quarter turns) of a turn: a multiple of π/2 is left to `_sine_cosine`, any other constant is added."""
        total = self._sum_of_angles(spin.terms)
        for quarter, turning in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
            if spin.constant == turning:
                return total, quarter
        return total + self.home.constant(k.angle_of(*spin.constant)), 0

    def _sum_of_angles(self, terms: tuple[tuple[int, int], ...]) -> Scalar:
        """Σ sign · the angle of a link's joint, each sum once."""
        if terms not in self._sums:
            *rest, (i, sign) = terms
            link = self.model.links[i]
            angle = joint_form(link.kind).angle
            assert angle is not None
            own = self.inputs["q"][link.q][angle] * sign
            self._sums[terms] = self._sum_of_angles(tuple(rest)) + own if rest else own
        return self._sums[terms]

    def measure(self, i: int) -> Scalar:
        """det HᵀH of joint i: what a volume of its velocities is, squared, of one of the twists that it allows. Most have 1."""
        H = joint_form(self.model.links[i].kind).motion_subspace
        return lower((H.T * H).det(), self.declared(i), self.home)

    def _sine_cosine(self, q: object, spin: Spin) -> dict[object, Scalar]:
        import sympy as sp

        if spin.terms[0][1] < 0:  # the same sine and cosine serve both ways
            there = self._sine_cosine(q, -spin)
            return there | {sp.sin(q): -there[sp.sin(q)]}
        if (
            total := self._sum_of_angles(spin.terms)
        ).is_constant:  # joints that follow others may turn back what these turn
            left = Spin((), k.cosine_sine(Angle(k.to_fraction(total.value)))) + Spin(
                (), spin.constant
            )
            return {
                sp.cos(q): self.scalar(left.constant[0]),
                sp.sin(q): self.scalar(left.constant[1]),
            }
        atom, quarter = self._angle(spin)
        c, s = self.home.cos(atom), self.home.sin(atom)
        name = "".join(
            f"{'' if k == 0 else 'p' if sign > 0 else 'm'}{i + 1}"
            for k, (i, sign) in enumerate(spin.terms)
        )
        self.home.name(f"c_{name}", c)
        self.home.name(f"s_{name}", s)
        c, s = ((c, s), (-s, c), (-c, -s), (s, -c))[quarter]
        return {sp.cos(q): c, sp.sin(q): s}

    def _exerted(self, frame: Frame, wrench: Sequence[Scalar]) -> tuple[Vector, Vector]:
        return exerted(self.home, frame, self.mounted(frame), wrench)

    def base_axes(self, root: int) -> Rotation:
        """From the axes that root's pose is told in to those of the base."""
        return self.constant_rotation(self.model.links[root].base_rotation)

    def base_place(self, root: int) -> Vector:
        """Where they stand in the base (m)."""
        return self.vector(self.model.links[root].base_shift)

    def push(self, i: int) -> Vector:
        """What a link accelerates by of itself, which no link does: the base, where it stands among them (`Tabled`)."""
        return self.zeros

    def pull(self, root: int) -> Vector:
        """Gravity in the axes of the base."""
        return self.base_axes(root).to_parent(self.gravity[root])

    def constant_rotation(self, rotation: Mat3) -> Rotation:
        """A constant rotation as its cheapest factors."""
        if all(k.is_zero(x) or abs(x) == 1 for row in rotation for x in row):
            return Rotation([self.matrix(rotation)])
        gamma, alpha, beta = k.zxz(rotation)
        return Rotation(
            [self.matrix(m) for m in (_about(2, gamma), _about(0, alpha), _about(2, beta))]
        )


def _lowered(form: JointForm, bindings: dict[object, Scalar], home: Derivation) -> Matrix:
    rows = [Vector([lower(x, bindings, home) for x in row]) for row in form.rotation_rows]
    return (rows[0], rows[1], rows[2])


def _about(axis: int, turn: tuple[Constant, Constant]) -> Mat3:
    unit = (k.IDENTITY[0], k.IDENTITY[1], k.IDENTITY[2])[axis]
    return k.turn(unit, *turn)

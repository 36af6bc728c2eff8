"""Numbers of a robot that may change at run time: the arguments that replace them, and the Programs
that prepare these arguments.

All functions of a robot take the same array, so all are laid out with the same slides; each
function chooses the shared axes itself (`symgen.pipeline.layout`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from symgen.derivation import constants, runtime_inertia
from symgen.derivation.inertia_validity import carried_masses, validity_margins
from symgen.derivation.model import Inertia, Model, reframe
from symgen.derivation.model.links import inertia_of
from symgen.derivation.runtime_inertia import (
    BodyInertia,
    InertiaEntries,
    Number,
    Prepared,
    RunTimeNumbers,
)
from symgen.derivation.scalars import Derivation, Scalar
from symgen.derivation.spatial import RigidInertia
from symgen.ir import passes
from symgen.ir.program import EXACT, Port, Program, evaluate
from symgen.mechanism.adjustable import (
    GRAVITY,
    Adjustable,
    adjustable_parameters,
    centre_and_rotation,
    declared_part,
)
from symgen.mechanism.mechanism import Body, Mechanism
from symgen.pipeline.layout import Layout, layouts
from symgen.vocabulary.functions import JUDGE, PREPARED, REGROUP

HALF, NEXT_TO_NOTHING = constants.rational(Fraction(1, 2)), constants.rational(Fraction(1, 2**126))
"""One half, and the least normal number of the smallest real type."""
ANY = (Fraction(2), Fraction(-3), Fraction(-9))
"""Gravity (m/s²) in a direction that is parallel to no axis of a robot."""


@dataclass(frozen=True)
class Adjusting:
    """Run-time numbers of a robot.

    `parameters` are in order, and `defaults` are their numbers in the description. `bare` is the
    robot without the inertia that may change, so that no frame depends on it; its frames are laid
    out by `slides`. `prepared` describes the array that the functions take, `regroup` computes it,
    and `judge` tests whether the numbers are physical. Conditions that the description itself
    violates are not tested.
    """

    parameters: tuple[Adjustable, ...]
    defaults: tuple[Fraction, ...]
    bare: Mechanism
    slides: Layout
    prepared: Prepared
    regroup: Program
    guarded: Program
    """`regroup` with the lower bounds of divisors appended."""
    judge: Program

    def lay(self, layout: Layout) -> Model:
        """Return the model in a layout, with the slides that all functions share."""
        return replace(self.slides, axes=layout.axes).lay(reframe(self.bare))

    @property
    def moves_inertia(self) -> bool:
        """True if the inertia of a link may change."""
        return any(parameter.link for parameter in self.parameters)

    def of_any_gravity(self, mechanism: Mechanism) -> Mechanism:
        """Return the robot for base parameters: if gravity may change, gravity has a general
        direction.
        """
        return replace(mechanism, gravity=ANY) if self.prepared.gravity >= 0 else mechanism

    def at_run_time(self, regroups: bool, forget: bool) -> RunTimeNumbers:
        """Return the positions of inertia and gravity in the array, for a method."""
        if not self.moves_inertia:
            return RunTimeNumbers((), self.prepared.gravity, self.prepared.drives)
        inertias = (
            self.prepared.declared
            if not regroups
            else self.prepared.base_dropped
            if forget
            else self.prepared.regrouped
        )
        return RunTimeNumbers(inertias, self.prepared.gravity, self.prepared.drives)


def parameter_names(mechanism: Mechanism, requested: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the requested parameters, each once, in the order of the description."""
    requested = tuple(requested)
    return _named(mechanism, requested) if requested else ()


@lru_cache(maxsize=64)
def _named(mechanism: Mechanism, requested: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in adjustable_parameters(mechanism, requested))


def make_adjusting(mechanism: Mechanism, requested: tuple[str, ...]) -> Adjusting:
    """Return the run-time numbers of a robot for the requested parameters."""
    return _adjusting(mechanism, parameter_names(mechanism, requested), constants.digits())


@lru_cache(maxsize=32)
def _adjusting(mechanism: Mechanism, names: tuple[str, ...], digits: int) -> Adjusting:
    """Return `make_adjusting` at the working precision of `digits`."""
    adjustables = adjustable_parameters(mechanism, names)
    with constants.precision():
        links = {
            parameter.link for parameter in adjustables if parameter.link and not parameter.load
        }
        fixed_robot, slides = (
            _bare(mechanism, links, adjustables),
            Layout(layouts(mechanism).general.slides),
        )
        model = slides.lay(reframe(fixed_robot))
        slots = _parameter_slots(adjustables)
        derivation = Derivation({"parameters": sum(parameter.size for parameter in adjustables)})
        arguments = derivation.inputs["parameters"]
        fixed = [
            inertia_of(_without(body, links), model.links[i].placement)
            for i, body in enumerate(mechanism.bodies)
        ]
        loose = [
            _matter(mechanism, model, link, load, slots)
            for link, load in dict.fromkeys((a.link, a.load) for a in adjustables)
            if link
        ]
        drives = _drives(
            mechanism, adjustables, {name: arguments[slot[0]] for name, slot in slots.items()}
        )
        own_inertias = runtime_inertia.link_inertias(derivation, model, fixed, loose, arguments)
        gravity = [arguments[k] for k in slots.get(GRAVITY, ())]
        prepared, rows = _prepared(derivation, mechanism, model, own_inertias, gravity, drives)
        regroup, guarded = (
            derivation.freeze(
                REGROUP,
                "regrouping",
                [("prepared", (len(results),), results)],
                {"parameters": (len(arguments),)},
            )
            for results in (rows[: prepared.size], rows)
        )
        defaults = _defaults(mechanism, adjustables)
        positive = [
            slots[parameter.name][0]
            for parameter in adjustables
            if parameter.joint and parameter.kind != "rest"
        ]
        judge = _judge(model, fixed, loose, defaults, positive)
    return Adjusting(
        adjustables, defaults, fixed_robot, slides, prepared, passes.run(regroup), guarded, judge
    )


def _parameter_slots(adjustables: Sequence[Adjustable]) -> dict[str, range]:
    """Return the slots of each parameter in the array of parameters."""
    slots, first = {}, 0
    for parameter in adjustables:
        slots[parameter.name] = range(first, first + parameter.size)
        first += parameter.size
    return slots


def _drives(
    mechanism: Mechanism, adjustables: Sequence[Adjustable], first: Mapping[str, Scalar]
) -> dict[tuple[int, str], Scalar]:
    """Return the numbers of drives by joint and kind, from the `first` slot of each parameter."""
    return {
        (mechanism.joint_index(adjustable.joint), adjustable.kind): first[adjustable.name]
        for adjustable in adjustables
        if adjustable.joint
    }


def _without(body: Body, links: Collection[str]) -> Body:
    return replace(body, parts=tuple(part for part in body.parts if part.link not in links))


def _bare(
    mechanism: Mechanism, links: Collection[str], adjustables: Sequence[Adjustable]
) -> Mechanism:
    """Return the robot without the bodies whose inertia may change, and without gravity if gravity
    may change.
    """
    bodies = tuple(
        replace(body, parts=()) if _without(body, links) != body else body
        for body in mechanism.bodies
    )
    gravity_changes = any(parameter.kind == GRAVITY for parameter in adjustables)
    return replace(
        mechanism,
        bodies=bodies,
        gravity=(Fraction(0),) * 3 if gravity_changes else mechanism.gravity,
    )


def _matter(
    mechanism: Mechanism, model: Model, link: str, load: bool, slots: Mapping[str, range]
) -> BodyInertia:
    """Return the inertia of a link or of a load on it: parameters, and constants for numbers that
    do not change.
    """
    frame, stem = model.frame(mechanism, link), f"payload:{link}" if load else link

    def numbers(kind: str, declared: Sequence[Number]) -> tuple[Number, ...]:
        return tuple(slots.get(f"{stem}.{kind}", declared))

    if load:
        mass, centre, central = (constants.ZERO,), constants.ORIGIN, (constants.ZERO,) * 6
    else:
        part = declared_part(mechanism, link)
        mass, (centre, central) = (
            (constants.rational(part.mass),),
            _declared_inertia(mechanism, link),
        )
    inertia_slots = slots.get(f"{stem}.inertia")
    return BodyInertia(
        frame.link,
        frame.rotation,
        frame.shift,
        numbers("mass", mass)[0],
        numbers("centre", centre),
        central if inertia_slots is None else tuple(inertia_slots),
        inertia_slots is None,
    )


def _declared_inertia(
    mechanism: Mechanism, link: str
) -> tuple[constants.Vec3, tuple[constants.Constant, ...]]:
    """Return the declared centre (m) of a link and its moments about it, in the axes of the link's
    frame.
    """
    part = declared_part(mechanism, link)
    centre, turns = centre_and_rotation(mechanism.frame(link), part)
    turn, _ = constants.displacement(turns)
    xx, xy, xz, yy, yz, zz = (constants.rational(x) for x in part.moments)
    moments = constants.product(
        constants.product(turn, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))),
        constants.transpose(turn),
    )
    return constants.vector(centre), (*moments[0], *moments[1][1:], moments[2][2])


def _prepared(
    derivation: Derivation,
    mechanism: Mechanism,
    model: Model,
    own_inertias: Sequence[RigidInertia],
    gravity: Sequence[Scalar],
    drives: Mapping[tuple[int, str], Scalar],
) -> tuple[Prepared, list[Scalar]]:
    """Return the positions in the array, and the array: own and regrouped inertias, gravity,
    drives, and least pivots.
    """
    regrouped = runtime_inertia.regroup_inertia(derivation, model, own_inertias)
    recorder = runtime_inertia.Recorder()
    regrouped_slots: tuple[InertiaEntries, ...] = tuple(map(recorder.inertia_entries, regrouped))
    forgotten = tuple(
        map(recorder.inertia_entries, runtime_inertia.drop_base_inertia(model, regrouped))
    )
    own_slots = tuple(map(recorder.inertia_entries, own_inertias))
    first = len(recorder.rows) + len(gravity)
    least_pivots = _least_pivots(derivation, mechanism, model, own_inertias, drives)
    rows = [*recorder.rows, *gravity, *drives.values(), *least_pivots.values()]
    size = len(rows) - len(least_pivots)
    return Prepared(
        own_slots,
        regrouped_slots,
        forgotten,
        size,
        len(recorder.rows) if gravity else -1,
        {drive_key: first + k for k, drive_key in enumerate(drives)},
        {entry: size + k for k, entry in enumerate(least_pivots)},
    ), rows


def _least_pivots(
    derivation: Derivation,
    mechanism: Mechanism,
    model: Model,
    own_inertias: Sequence[RigidInertia],
    drives: Mapping[tuple[int, str], Scalar],
) -> dict[int, Scalar]:
    """Return by entry of v the lower bound of its pivot, for pivots that may change.

    D_k ≥ HᵀMH of the joint's own link and rotor (`symgen.certificate.bodies`). Half of it is left
    for round-off, and a tiny number keeps a massless link's divisor from zero. With mimic joints a
    pivot belongs to several links and has no such bound.
    """
    derivation.step("lower bounds of the pivots of the mass matrix")
    bounds: dict[int, Scalar] = {}
    for i, (joint, link) in enumerate(zip(mechanism.joints, model.links, strict=True)):
        own_inertia = runtime_inertia.single_pivot(link.kind, own_inertias[i])
        if own_inertia is None or mechanism.coupled:
            continue
        rotor = drives.get(
            (i, "armature"), derivation.constant(constants.rational(joint.drive.armature))
        )
        if not (own_inertia + rotor).is_constant:
            bounds[mechanism.v_slices[i].start] = (own_inertia + rotor) * derivation.constant(
                HALF
            ) + derivation.constant(NEXT_TO_NOTHING)
    return bounds


def _judge(
    model: Model,
    fixed: Sequence[Inertia],
    loose: Sequence[BodyInertia],
    defaults: Sequence[Fraction],
    drives: Sequence[int],
) -> Program:
    """Return the Program of the numbers that must not be negative or must be positive, as far as
    the `defaults` satisfy this.
    """
    derivation = Derivation({"parameters": len(defaults)})
    arguments = derivation.inputs["parameters"]
    derivation.step("masses, principal minors of second moments about mass centres, and drives")
    minors = [
        x
        for x in (*validity_margins(derivation, loose, arguments), *(arguments[k] for k in drives))
        if not x.is_constant
    ]
    derivation.step("mass and moments that each joint carries")
    carried_inertia = carried_masses(
        derivation, model, runtime_inertia.link_inertias(derivation, model, fixed, loose, arguments)
    )

    def frozen(minors: Sequence[Scalar], carried_inertia: Sequence[Scalar]) -> Program:
        results = [
            (name, (len(atoms),), atoms)
            for name, atoms in (("judged", minors), ("carried", carried_inertia))
            if atoms
        ]
        return derivation.freeze(JUDGE, "minors", results, {"parameters": (len(arguments),)})

    default_values = evaluate(
        frozen(minors, carried_inertia), {"parameters": list(defaults)}, EXACT
    )
    nonnegative = [
        x for x, value in zip(minors, default_values.get("judged", ()), strict=True) if value >= 0
    ]
    positive = [
        x
        for x, value in zip(carried_inertia, default_values["carried"], strict=True)
        if value > 0 and not x.is_constant
    ]
    return passes.run(frozen(nonnegative, positive))


def _defaults(mechanism: Mechanism, adjustables: Sequence[Adjustable]) -> tuple[Fraction, ...]:
    """Return the description's numbers for the parameters."""
    numbers: list[Fraction] = []
    for parameter in adjustables:
        if parameter.kind == GRAVITY:
            numbers += mechanism.gravity
        elif parameter.load:
            numbers += [Fraction(0)] * parameter.size
        elif parameter.joint:
            numbers.append(
                getattr(
                    mechanism.joints[mechanism.joint_index(parameter.joint)].drive, parameter.kind
                )
            )
        else:
            part = declared_part(mechanism, parameter.link)
            centre, central = _declared_inertia(mechanism, parameter.link)
            numbers_of_link = {
                "mass": (constants.rational(part.mass),),
                "centre": centre,
                "inertia": _about_the_origin(part.mass, centre, central),
            }
            numbers += map(constants.to_fraction, numbers_of_link[parameter.kind])
    return tuple(numbers)


def _about_the_origin(
    mass: Fraction, centre: constants.Vec3, central: Sequence[constants.Constant]
) -> list[constants.Constant]:
    """Return moments about the origin, by the parallel axis theorem."""
    m, (x, y, z) = constants.rational(mass), centre
    shifted = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    return [
        constants.normalize(moment + m * shift)
        for moment, shift in zip(central, shifted, strict=True)
    ]


def share_parameters(
    programs: Mapping[str, Program], unread_elements: Iterable[int] = ()
) -> dict[str, Program]:
    """Return Programs of one robot with run-time numbers, without the elements of the array that
    none of them reads.

    No Program reads `unread_elements`; these elements stay if any element stays.
    """
    read_elements = sorted(
        {
            row.value[1]
            for program in programs.values()
            for k, port in enumerate(program.inputs)
            if port.name == PREPARED.name
            for row in program.rows
            if row.op == "input" and row.value[0] == k
        }
    )
    read_elements += [k for k in sorted(unread_elements) if read_elements]
    new_index = {old: new for new, old in enumerate(read_elements)}
    return {
        name: _with_read_elements(program, read_elements)
        if name == REGROUP
        else _with_new_indices(program, new_index)
        for name, program in programs.items()
    }


def _with_read_elements(regroup: Program, elements: Sequence[int]) -> Program:
    """Return the regrouping Program with only the elements that are read."""
    (port,) = regroup.outputs
    return passes.run(
        replace(
            regroup,
            outputs=(Port(port.name, (len(elements),), tuple(port.rows[k] for k in elements)),),
        )
    )


def _with_new_indices(program: Program, new_index: Mapping[int, int]) -> Program:
    """Return a Program that reads the reduced array."""
    port_index = next(
        (k for k, port in enumerate(program.inputs) if port.name == PREPARED.name), None
    )
    if port_index is None:
        return program
    rows = tuple(
        row._replace(value=(port_index, new_index[row.value[1]]))
        if row.op == "input" and row.value[0] == port_index
        else row
        for row in program.rows
    )
    inputs = tuple(
        Port(port.name, (len(new_index),)) if k == port_index else port
        for k, port in enumerate(program.inputs)
    )
    return replace(program, rows=rows, inputs=inputs)

"""The numbers of a robot that may change at run time: what functions take in their place, and the Programs that make it of them.

All functions of a robot take the same array, so that they are laid out with the same slides; whose axes they are written in stays
the choice of each (`symgen.pipeline.layout`).
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
from symgen.derivation.runtime_inertia import AtRunTime, Matter, Number, Prepared, Ten
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
"""The second is the least normal number of the smallest real type."""
ANY = (Fraction(2), Fraction(-3), Fraction(-9))
"""Gravity (m/s²) along nothing that a robot has an axis along."""


@dataclass(frozen=True)
class Adjusting:
    """`asked` in the order of the parameters, whose `defaults` are the description's numbers. `bare` is the robot without what
    may change, and without what is fixed to that, so that no frame is chosen by it; its frames are laid by `slides`.
    `prepared` is what the functions take, made by `regroup`, and `judge` says whether bodies can have such numbers. What the
    description itself does not keep to is not asked.
    """

    asked: tuple[Adjustable, ...]
    defaults: tuple[Fraction, ...]
    bare: Mechanism
    slides: Layout
    prepared: Prepared
    regroup: Program
    guarded: Program
    """The same with the least that divisors may be behind it."""
    judge: Program

    def lay(self, where: Layout) -> Model:
        """The model in a layout, with the slides that all functions share."""
        return replace(self.slides, axes=where.axes).lay(reframe(self.bare))

    @property
    def moves_inertia(self) -> bool:
        """Whether the inertia of a link may change."""
        return any(one.link for one in self.asked)

    def of_any_gravity(self, mechanism: Mechanism) -> Mechanism:
        """The robot as what is about base parameters has to see it: where gravity may change, it has no direction of its own."""
        return replace(mechanism, gravity=ANY) if self.prepared.gravity >= 0 else mechanism

    def at_run_time(self, regroups: bool, forget: bool) -> AtRunTime:
        """Where a method finds inertia and gravity."""
        if not self.moves_inertia:
            return AtRunTime((), self.prepared.gravity, self.prepared.drives)
        found = (
            self.prepared.declared
            if not regroups
            else self.prepared.base_dropped
            if forget
            else self.prepared.regrouped
        )
        return AtRunTime(found, self.prepared.gravity, self.prepared.drives)


def named(mechanism: Mechanism, asked: Iterable[str]) -> tuple[str, ...]:
    """The names of what is asked for, each once, in the order of the description."""
    asked = tuple(asked)
    return _named(mechanism, asked) if asked else ()


@lru_cache(maxsize=64)
def _named(mechanism: Mechanism, asked: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one.name for one in adjustable_parameters(mechanism, asked))


def adjusting(mechanism: Mechanism, asked: tuple[str, ...]) -> Adjusting:
    """What a robot is whose numbers `asked` for may change."""
    return _adjusting(mechanism, named(mechanism, asked), constants.digits())


@lru_cache(maxsize=32)
def _adjusting(mechanism: Mechanism, names: tuple[str, ...], digits: int) -> Adjusting:
    """At the working precision that `digits` names."""
    asked = adjustable_parameters(mechanism, names)
    with constants.precision():
        links = {one.link for one in asked if one.link and not one.load}
        bare, slides = _bare(mechanism, links, asked), Layout(layouts(mechanism).general.slides)
        model = slides.lay(reframe(bare))
        places = _places(asked)
        home = Derivation({"parameters": sum(one.size for one in asked)})
        given = home.inputs["parameters"]
        fixed = [
            inertia_of(_without(body, links), model.links[i].placement)
            for i, body in enumerate(mechanism.bodies)
        ]
        loose = [
            _matter(mechanism, model, link, load, places)
            for link, load in dict.fromkeys((a.link, a.load) for a in asked)
            if link
        ]
        drives = _drives(mechanism, asked, {name: given[at[0]] for name, at in places.items()})
        own = runtime_inertia.link_inertias(home, model, fixed, loose, given)
        gravity = [given[k] for k in places.get(GRAVITY, ())]
        prepared, rows = _prepared(home, mechanism, model, own, gravity, drives)
        regroup, guarded = (
            home.freeze(
                REGROUP,
                "regrouping",
                [("prepared", (len(some),), some)],
                {"parameters": (len(given),)},
            )
            for some in (rows[: prepared.size], rows)
        )
        defaults = _defaults(mechanism, asked)
        positive = [places[one.name][0] for one in asked if one.joint and one.kind != "rest"]
        judge = _judge(model, fixed, loose, defaults, positive)
    return Adjusting(asked, defaults, bare, slides, prepared, passes.run(regroup), guarded, judge)


def _places(asked: Sequence[Adjustable]) -> dict[str, range]:
    """Where each of them stands among the parameters."""
    found, first = {}, 0
    for one in asked:
        found[one.name] = range(first, first + one.size)
        first += one.size
    return found


def _drives(
    mechanism: Mechanism, asked: Sequence[Adjustable], first: Mapping[str, Scalar]
) -> dict[tuple[int, str], Scalar]:
    """Return the numbers of drives by joint and kind, from the `first` parameter of each that may change."""
    return {
        (mechanism.joint_index(adjustable.joint), adjustable.kind): first[adjustable.name]
        for adjustable in asked
        if adjustable.joint
    }


def _without(body: Body, links: Collection[str]) -> Body:
    return replace(body, parts=tuple(part for part in body.parts if part.link not in links))


def _bare(mechanism: Mechanism, links: Collection[str], asked: Sequence[Adjustable]) -> Mechanism:
    """Without the bodies some of whose inertia may change, and without gravity where that may."""
    bodies = tuple(
        replace(body, parts=()) if _without(body, links) != body else body
        for body in mechanism.bodies
    )
    still = any(one.kind == GRAVITY for one in asked)
    return replace(
        mechanism, bodies=bodies, gravity=(Fraction(0),) * 3 if still else mechanism.gravity
    )


def _matter(
    mechanism: Mechanism, model: Model, link: str, load: bool, places: Mapping[str, range]
) -> Matter:
    """What a link, or a load on it, brings: parameters, and constants for what of it may not change."""
    frame, stem = model.frame(mechanism, link), f"payload:{link}" if load else link

    def numbers(kind: str, declared: Sequence[Number]) -> tuple[Number, ...]:
        return tuple(places.get(f"{stem}.{kind}", declared))

    if load:
        mass, centre, central = (constants.ZERO,), constants.ORIGIN, (constants.ZERO,) * 6
    else:
        part = declared_part(mechanism, link)
        mass, (centre, central) = (constants.rational(part.mass),), _of_a_part(mechanism, link)
    own = places.get(f"{stem}.inertia")
    return Matter(
        frame.link,
        frame.rotation,
        frame.shift,
        numbers("mass", mass)[0],
        numbers("centre", centre),
        central if own is None else tuple(own),
        own is None,
    )


def _of_a_part(
    mechanism: Mechanism, link: str
) -> tuple[constants.Vec3, tuple[constants.Constant, ...]]:
    """The declared centre (m) of a link, and its moments about it, in the axes of the link's frame."""
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
    home: Derivation,
    mechanism: Mechanism,
    model: Model,
    own: Sequence[RigidInertia],
    gravity: Sequence[Scalar],
    drives: Mapping[tuple[int, str], Scalar],
) -> tuple[Prepared, list[Scalar]]:
    """Return where everything stands, and the array: inertias as links have them and regrouped, gravity, drives, least pivots."""
    felt = runtime_inertia.regroup_inertia(home, model, own)
    recorder = runtime_inertia.Recorder()
    kept: tuple[Ten, ...] = tuple(map(recorder.ten, felt))
    forgotten = tuple(map(recorder.ten, runtime_inertia.drop_base_inertia(model, felt)))
    plain = tuple(map(recorder.ten, own))
    first = len(recorder.rows) + len(gravity)
    least = _least(home, mechanism, model, own, drives)
    rows = [*recorder.rows, *gravity, *drives.values(), *least.values()]
    size = len(rows) - len(least)
    return Prepared(
        plain,
        kept,
        forgotten,
        size,
        len(recorder.rows) if gravity else -1,
        {at: first + k for k, at in enumerate(drives)},
        {entry: size + k for k, entry in enumerate(least)},
    ), rows


def _least(
    home: Derivation,
    mechanism: Mechanism,
    model: Model,
    own: Sequence[RigidInertia],
    drives: Mapping[tuple[int, str], Scalar],
) -> dict[int, Scalar]:
    """By entry of v, what its pivot may be at least, where that changes.

    D_k ≥ HᵀMH of the joint's own link and rotor (`symgen.certificate.bodies`). Half of it is left for round-off, and what is
    added keeps a link of nothing from a divisor of zero. Where joints follow others a pivot is of several links.
    """
    home.step("what the pivots of the mass matrix are at least")
    found: dict[int, Scalar] = {}
    for i, (joint, link) in enumerate(zip(mechanism.joints, model.links, strict=True)):
        alone = runtime_inertia.single_pivot(link.kind, own[i])
        if alone is None or mechanism.coupled:
            continue
        rotor = drives.get((i, "armature"), home.constant(constants.rational(joint.drive.armature)))
        if not (alone + rotor).is_constant:
            found[mechanism.v_slices[i].start] = (alone + rotor) * home.constant(
                HALF
            ) + home.constant(NEXT_TO_NOTHING)
    return found


def _judge(
    model: Model,
    fixed: Sequence[Inertia],
    loose: Sequence[Matter],
    defaults: Sequence[Fraction],
    drives: Sequence[int],
) -> Program:
    """The Program of what must not be negative, and of what must be positive, where it is so with the `defaults`."""
    home = Derivation({"parameters": len(defaults)})
    given = home.inputs["parameters"]
    home.step("masses, principal minors of second moments about mass centres, and drives")
    minors = [
        x
        for x in (*validity_margins(home, loose, given), *(given[k] for k in drives))
        if not x.is_constant
    ]
    home.step("what each joint carries")
    borne = carried_masses(
        home, model, runtime_inertia.link_inertias(home, model, fixed, loose, given)
    )

    def frozen(minors: Sequence[Scalar], borne: Sequence[Scalar]) -> Program:
        results = [
            (name, (len(atoms),), atoms)
            for name, atoms in (("judged", minors), ("carried", borne))
            if atoms
        ]
        return home.freeze(JUDGE, "minors", results, {"parameters": (len(given),)})

    found = evaluate(frozen(minors, borne), {"parameters": list(defaults)}, EXACT)
    kept = [x for x, value in zip(minors, found.get("judged", ()), strict=True) if value >= 0]
    positive = [
        x
        for x, value in zip(borne, found["carried"], strict=True)
        if value > 0 and not x.is_constant
    ]
    return passes.run(frozen(kept, positive))


def _defaults(mechanism: Mechanism, asked: Sequence[Adjustable]) -> tuple[Fraction, ...]:
    """The description's numbers for the parameters."""
    found: list[Fraction] = []
    for one in asked:
        if one.kind == GRAVITY:
            found += mechanism.gravity
        elif one.load:
            found += [Fraction(0)] * one.size
        elif one.joint:
            found.append(
                getattr(mechanism.joints[mechanism.joint_index(one.joint)].drive, one.kind)
            )
        else:
            part = declared_part(mechanism, one.link)
            centre, central = _of_a_part(mechanism, one.link)
            own = {
                "mass": (constants.rational(part.mass),),
                "centre": centre,
                "inertia": _about_the_origin(part.mass, centre, central),
            }
            found += map(constants.to_fraction, own[one.kind])
    return tuple(found)


def _about_the_origin(
    mass: Fraction, centre: constants.Vec3, central: Sequence[constants.Constant]
) -> list[constants.Constant]:
    """Steiner's theorem."""
    m, (x, y, z) = constants.rational(mass), centre
    moved = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    return [constants.normalize(own + m * more) for own, more in zip(central, moved, strict=True)]


def together(programs: Mapping[str, Program], least: Iterable[int] = ()) -> dict[str, Program]:
    """Programs of one robot whose numbers may change, without the elements of the array that none of them reads. Those of
    `least` are read by none, and stay where any stays.
    """
    read = sorted(
        {
            row.value[1]
            for one in programs.values()
            for k, port in enumerate(one.inputs)
            if port.name == PREPARED.name
            for row in one.rows
            if row.op == "input" and row.value[0] == k
        }
    )
    read += [k for k in sorted(least) if read]
    place = {old: new for new, old in enumerate(read)}
    return {
        name: _kept(one, read) if name == REGROUP else _read(one, place)
        for name, one in programs.items()
    }


def _kept(regroup: Program, read: Sequence[int]) -> Program:
    (port,) = regroup.outputs
    return passes.run(
        replace(
            regroup, outputs=(Port(port.name, (len(read),), tuple(port.rows[k] for k in read)),)
        )
    )


def _read(program: Program, place: Mapping[int, int]) -> Program:
    at = next((k for k, port in enumerate(program.inputs) if port.name == PREPARED.name), None)
    if at is None:
        return program
    rows = tuple(
        row._replace(value=(at, place[row.value[1]]))
        if row.op == "input" and row.value[0] == at
        else row
        for row in program.rows
    )
    inputs = tuple(
        Port(port.name, (len(place),)) if k == at else port for k, port in enumerate(program.inputs)
    )
    return replace(program, rows=rows, inputs=inputs)

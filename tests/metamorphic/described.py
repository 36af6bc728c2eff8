"""Other descriptions of one robot: base, units, order, axes, frames, zeros, mirror image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from symgen.mechanism.joints import Coordinate
from symgen.mechanism.mechanism import BASE, Body, Joint, Mechanism, Part
from symgen.vocabulary.poses import (
    X_AXIS,
    Y_AXIS,
    Z_AXIS,
    Angle,
    Pose,
    Shift,
    Slide,
    Step,
    Turn,
    compose,
)
from tests.metamorphic._core import Change, Setting, inverse, negated, quarter
from tests.metamorphic._maps import unchanged

AXES = (X_AXIS, Y_AXIS, Z_AXIS)


def base_moved(setting: Setting) -> Change:
    """The base somewhere else, near or a thousand metres away, and turned; gravity turns with it.

    Gravity is exact, so that a turn by any angle goes about its direction, and one about another
    axis by quarters.
    """
    old, random = setting.mechanism, setting.random
    about = old.gravity if any(old.gravity) else setting.vector(1)
    axis, count = random.randrange(3), random.randrange(4)
    displacement = (
        Shift(setting.vector(random.choice((1, 1000)))),
        Turn(AXES[axis], Angle(pi=Fraction(count, 2))),
        Turn(about, Angle(setting.fraction(-3, 3), Fraction(random.randrange(-3, 4), 4))),
    )
    base = compose(displacement)
    joints = tuple(
        replace(j, pose=compose(base, j.pose)) if j.parent == BASE else j for j in old.joints
    )
    frames = tuple(
        replace(f, pose=compose(base, f.pose)) if f.body == BASE else f for f in old.frames
    )
    new = replace(old, joints=joints, frames=frames, gravity=quarter(old.gravity, axis, count))
    return unchanged(old, base=base).change(new, setting.links)


def units_rescaled(setting: Setting) -> Change:
    """Change the units of length, mass and time."""
    old, random = setting.mechanism, setting.random
    length, mass, time = (Fraction(random.randint(1, 40), random.randint(1, 40)) for _ in range(3))
    rates, scale_q = lengths_by(old, length)
    problem = unchanged(old, scale=rates, scale_q=scale_q, length=length, mass=mass, time=time)

    def longer(pose: Pose) -> Pose:
        return tuple(_scaled(step, length) for step in pose)

    def part(p: Part) -> Part:
        return replace(
            p,
            pose=longer(p.pose),
            mass=p.mass * mass,
            moments=_six(m * mass * length**2 for m in p.moments),
        )

    joints = tuple(
        replace(
            j,
            pose=longer(j.pose),
            limits=problem.limits(i, j.limits),
            parameters=tuple((name, x * length) for name, x in j.parameters),
        )
        for i, j in enumerate(old.joints)
    )
    x, y, z = (g * length / time**2 for g in old.gravity)
    new = replace(
        old,
        joints=joints,
        bodies=tuple(Body(b.name, tuple(part(p) for p in b.parts)) for b in old.bodies),
        frames=tuple(replace(f, pose=longer(f.pose)) for f in old.frames),
        gravity=(x, y, z),
    )
    return problem.change(new, setting.links)


def lengths_by(
    old: Mechanism, factor: Fraction, least: int = 1
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return a factor for each entry of v and of q: the scale if the entry is a length of a joint
    with enough lengths, else 1.
    """

    def by(entries: tuple[tuple[Coordinate, ...], ...]) -> tuple[Fraction, ...]:
        return tuple(
            factor if length.unit == "m" and len(lengths) >= least else Fraction(1)
            for lengths in entries
            for length in lengths
        )

    return by(tuple(joint.type.velocities for joint in old.joints)), by(
        tuple(joint.type.positions for joint in old.joints)
    )


def mirrored(setting: Setting) -> Change:
    """Reflect every point at the origin: rotations and inertias stay, vectors change sign."""
    old = setting.mechanism
    rates, scale_q = lengths_by(old, Fraction(-1), least=2)
    problem = unchanged(old, scale=rates, scale_q=scale_q, mirrored=True)

    def image(pose: Pose) -> Pose:
        return tuple(_scaled(step, Fraction(-1)) for step in pose)

    def joint(j: Joint) -> Joint:
        if not j.type.turns:
            return replace(j, pose=image(j.pose), axis=negated(j.axis))
        return replace(
            j, pose=image(j.pose), parameters=tuple((name, -x) for name, x in j.parameters)
        )  # a screw's other hand

    new = replace(
        old,
        joints=tuple(joint(j) for j in old.joints),
        gravity=negated(old.gravity),
        bodies=tuple(
            Body(b.name, tuple(replace(p, pose=image(p.pose)) for p in b.parts)) for b in old.bodies
        ),
        frames=tuple(replace(f, pose=image(f.pose)) for f in old.frames),
    )
    return problem.change(new, setting.links)


def renumbered(setting: Setting) -> Change | None:
    """Reorder the joints, parents before children; None if no other order exists."""
    old = setting.mechanism
    for _ in range(20):
        order = _some_order(setting, old)
        if order != list(range(len(old.joints))):
            break
    else:
        return None
    new_index = {BASE: BASE, **{was: now for now, was in enumerate(order)}}
    joints = tuple(replace(old.joints[i], parent=new_index[old.joints[i].parent]) for i in order)
    new = replace(
        old,
        joints=joints,
        bodies=tuple(old.bodies[i] for i in order),
        frames=tuple(replace(f, body=new_index[f.body]) for f in old.frames),
    )
    return unchanged(old, order=tuple(order)).change(new, setting.links)


def _some_order(setting: Setting, old: Mechanism) -> list[int]:
    order: list[int] = []
    waiting = list(old.children(BASE))
    while waiting:
        order.append(waiting.pop(setting.random.randrange(len(waiting))))
        waiting += old.children(order[-1])
    return order


def axes_reversed(setting: Setting) -> Change | None:
    """Reverse and rescale some axes, which negates their coordinates; None without axes."""
    old, random = setting.mechanism, setting.random
    directed = [i for i, joint in enumerate(old.joints) if joint.type.directed]
    if not directed:
        return None
    signs = [
        Fraction(random.choice((1, -1))) if i in directed else Fraction(1)
        for i in range(len(old.joints))
    ]
    if -1 not in signs:
        signs[directed[-1]] = Fraction(-1)
    problem = unchanged(
        old,
        scale=tuple(signs[i] for i, _ in old.dofs),
        scale_q=tuple(signs[i] for i, joint in enumerate(old.joints) for _ in range(joint.type.nq)),
    )

    def joint(i: int, j: Joint) -> Joint:
        if i not in directed:
            return j
        by = signs[i] * setting.fraction(0.1, 3)
        return replace(
            j,
            axis=(j.axis[0] * by, j.axis[1] * by, j.axis[2] * by),
            limits=problem.limits(i, j.limits),
        )

    return problem.change(
        replace(old, joints=tuple(joint(i, j) for i, j in enumerate(old.joints))), setting.links
    )


def zeros_moved(setting: Setting) -> Change:
    """Move the zeros of coordinates."""
    old = setting.mechanism
    zeros = tuple(
        setting.fraction(-2, 2) if joint.type.directed or position.unit == "m" else Fraction(0)
        for joint in old.joints
        for position in joint.type.positions
    )
    problem = unchanged(old, zero=zeros)
    joints = tuple(
        replace(
            j,
            pose=compose(j.pose, motion(j, *(-zero for zero in zeros[q_slice]))),
            limits=problem.limits(i, j.limits),
        )
        for i, (j, q_slice) in enumerate(zip(old.joints, old.q_slices, strict=True))
    )
    return problem.change(replace(old, joints=joints), setting.links)


def frames_turned(setting: Setting) -> Change:
    """Rotate the frames of joints and bodies; their origins stay."""
    return _framed(setting, slid=False)


def frames_slid(setting: Setting) -> Change:
    """Rotate the frames of joints and bodies and move them along the joint axes."""
    return _framed(setting, slid=True)


def _framed(setting: Setting, slid: bool) -> Change:
    old, random = setting.mechanism, setting.random
    by: dict[int, Pose] = {BASE: ()}
    joints = []
    for i, j in enumerate(old.joints):
        axis, count = random.randrange(3), random.randrange(4)
        if not j.type.directed:  # its velocities are in the axes and at the origin of its body
            by[i] = ()
            joints.append(replace(j, pose=compose(inverse(by[j.parent]), j.pose)))
            continue
        along: Pose = (Slide(j.axis, setting.fraction(-1, 1)),) if slid else ()
        by[i] = compose(
            along,
            (
                Turn(j.axis, Angle(setting.fraction(-3, 3))),
                Turn(AXES[axis], Angle(pi=Fraction(count, 2))),
            ),
        )
        joints.append(
            replace(
                j,
                pose=compose(inverse(by[j.parent]), j.pose, by[i]),
                axis=quarter(j.axis, axis, -count),
            )
        )
    bodies = tuple(
        Body(b.name, tuple(replace(p, pose=compose(inverse(by[i]), p.pose)) for p in b.parts))
        for i, b in enumerate(old.bodies)
    )
    frames = tuple(replace(f, pose=compose(inverse(by[f.body]), f.pose)) for f in old.frames)
    new = replace(old, joints=tuple(joints), bodies=bodies, frames=frames)
    return unchanged(
        old, origins=not slid, frames=tuple(by[i] for i in range(len(old.bodies)))
    ).change(new, setting.links)


def parts_split(setting: Setting) -> Change:
    """Split every inertia into two parts at different positions with the same sum."""
    old = setting.mechanism
    bodies = tuple(
        Body(b.name, tuple(half for body_part in b.parts for half in halves(setting, body_part)))
        for b in old.bodies
    )
    return unchanged(old).change(replace(old, bodies=bodies), setting.links)


def halves(setting: Setting, part: Part) -> tuple[Part, Part]:
    """Two parts with the mass, the centre and the moments of one."""
    share, off = setting.fraction(0.1, 0.9), setting.vector(0.1)
    masses = (part.mass * share, part.mass * (1 - share))
    positions = (
        off,
        negated(
            (
                off[0] * share / (1 - share),
                off[1] * share / (1 - share),
                off[2] * share / (1 - share),
            )
        ),
    )
    remaining_moments = list(part.moments)
    for mass, (x, y, z) in zip(masses, positions, strict=True):  # Steiner
        steiner = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
        remaining_moments = [
            moment - mass * s for moment, s in zip(remaining_moments, steiner, strict=True)
        ]
    two = []
    for index, (mass, centre) in enumerate(zip(masses, positions, strict=True)):
        xx, xy, xz, yy, yz, zz = (
            moment * (share if index == 0 else 1 - share) for moment in remaining_moments
        )
        pose, moments = compose(part.pose, (Shift(centre),)), (xx, xy, xz, yy, yz, zz)
        # The second half has its own axes, rotated by a quarter turn about z: its x is the first
        # half's y, its y is −x of the first half.
        if index:
            pose, moments = (
                compose(pose, (Turn(Z_AXIS, Angle(pi=Fraction(1, 2))),)),
                (yy, -xy, yz, xx, -xz, zz),
            )
        two.append(Part(part.link, pose, mass, moments))
    return two[0], two[1]


def motion(joint: Joint, *values: Fraction) -> Pose:
    """Return the motion of a joint at values of its coordinates, as the formats define it.

    Only the units of the joint type are used. Joints without an axis may slide but not turn here.
    """
    if not joint.type.directed:
        x, y, z = (
            value for _, value in zip(range(3), (*values, *(Fraction(0),) * 3), strict=False)
        )
        are_lengths = [position.unit == "m" for position in joint.type.positions]
        return (
            (Shift((x, y, z if all(are_lengths[:3]) else Fraction(0))),) if are_lengths[0] else ()
        )
    turn: Pose = (Turn(joint.axis, Angle(values[0])),) if joint.type.turns else ()
    advance = values[-1] * dict(joint.parameters).get("pitch", 1)
    return (*turn, Slide(joint.axis, advance)) if joint.type.slides else turn


def at_once(setting: Setting, relations: Sequence[str]) -> Change:
    """Compose several changes of description."""
    by_name = {
        "base_moved": base_moved,
        "units_rescaled": units_rescaled,
        "mirrored": mirrored,
        "renumbered": renumbered,
        "axes_reversed": axes_reversed,
        "zeros_moved": zeros_moved,
        "frames_turned": frames_turned,
        "parts_split": parts_split,
    }
    change = unchanged(setting.mechanism).change(setting.mechanism, setting.links)
    for name in relations:
        following = by_name[name](replace(setting, mechanism=change.mechanism))
        change = change if following is None else change.then(following)
    return change


def everything_at_once(setting: Setting) -> Change:
    """Compose all changes above in random order, so that one case judges all functions."""
    names = [
        "base_moved",
        "units_rescaled",
        "mirrored",
        "renumbered",
        "axes_reversed",
        "zeros_moved",
        "frames_turned",
        "parts_split",
    ]
    setting.random.shuffle(names)
    return at_once(setting, names)


def _scaled(step: Step, by: Fraction) -> Step:
    if isinstance(step, Shift):
        return Shift((step.xyz[0] * by, step.xyz[1] * by, step.xyz[2] * by))
    return replace(step, distance=step.distance * by) if isinstance(step, Slide) else step


def _six(moments: object) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]:
    xx, xy, xz, yy, yz, zz = moments
    return xx, xy, xz, yy, yz, zz

"""The same robot described anew: another base, other units, another order, other axes, frames and zeros, its mirror image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from symgen.mechanism import BASE, Body, Joint, Mechanism, Part
from symgen.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Pose, Shift, Slide, Step, Turn, compose
from tests.metamorphic._core import Change, Setting, inverse, negated, quarter
from tests.metamorphic._maps import unchanged

AXES = (X_AXIS, Y_AXIS, Z_AXIS)


def base_moved(setting: Setting) -> Change:
    """The base somewhere else, near or a thousand metres away, and turned; gravity turns with it.

    Gravity is exact, so that a turn by any angle goes about its direction, and one about another axis by quarters.
    """
    old, random = setting.mechanism, setting.random
    about = old.gravity if any(old.gravity) else setting.vector(1)
    axis, count = random.randrange(3), random.randrange(4)
    moved = (Shift(setting.vector(random.choice((1, 1000)))), Turn(AXES[axis], Angle(pi=Fraction(count, 2))),
             Turn(about, Angle(setting.fraction(-3, 3), Fraction(random.randrange(-3, 4), 4))))
    base = compose(moved)
    joints = tuple(replace(j, pose=compose(base, j.pose)) if j.parent == BASE else j for j in old.joints)
    frames = tuple(replace(f, pose=compose(base, f.pose)) if f.body == BASE else f for f in old.frames)
    new = replace(old, joints=joints, frames=frames, gravity=quarter(old.gravity, axis, count))
    return unchanged(old.nv, base=base).change(new, setting.links)


def units_rescaled(setting: Setting) -> Change:
    """Other units of length, mass and time."""
    old, random = setting.mechanism, setting.random
    length, mass, time = (Fraction(random.randint(1, 40), random.randint(1, 40)) for _ in range(3))
    slides = [joint.type.positions[0].unit == "m" for joint in old.joints]
    told = unchanged(old.nv, scale=tuple(length if s else Fraction(1) for s in slides), length=length, mass=mass, time=time)

    def longer(pose: Pose) -> Pose:
        return tuple(_scaled(step, length) for step in pose)

    def part(p: Part) -> Part:
        return replace(p, pose=longer(p.pose), mass=p.mass * mass, moments=_six(m * mass * length**2 for m in p.moments))

    joints = tuple(replace(j, pose=longer(j.pose), limits=told.limits(i, j.limits),
                           parameters=tuple((name, x * length) for name, x in j.parameters)) for i, j in enumerate(old.joints))
    x, y, z = (g * length / time**2 for g in old.gravity)
    new = replace(old, joints=joints, bodies=tuple(Body(b.name, tuple(part(p) for p in b.parts)) for b in old.bodies),
                  frames=tuple(replace(f, pose=longer(f.pose)) for f in old.frames), gravity=(x, y, z))
    return told.change(new, setting.links)


def mirrored(setting: Setting) -> Change:
    """Every point on the other side of the origin: turns and inertias stay, what points along a line turns about."""
    old = setting.mechanism
    told = unchanged(old.nv, mirrored=True)

    def image(pose: Pose) -> Pose:
        return tuple(_scaled(step, Fraction(-1)) for step in pose)

    def joint(j: Joint) -> Joint:
        if not j.type.turns:
            return replace(j, pose=image(j.pose), axis=negated(j.axis))
        return replace(j, pose=image(j.pose), parameters=tuple((name, -x) for name, x in j.parameters))   # a screw's other hand

    new = replace(old, joints=tuple(joint(j) for j in old.joints), gravity=negated(old.gravity),
                  bodies=tuple(Body(b.name, tuple(replace(p, pose=image(p.pose)) for p in b.parts)) for b in old.bodies),
                  frames=tuple(replace(f, pose=image(f.pose)) for f in old.frames))
    return told.change(new, setting.links)


def renumbered(setting: Setting) -> Change | None:
    """Another order of the joints, parents before children; None where there is no other."""
    old = setting.mechanism
    for _ in range(20):
        order = _some_order(setting, old)
        if order != list(range(old.nv)):
            break
    else:
        return None
    place = {BASE: BASE, **{was: now for now, was in enumerate(order)}}
    joints = tuple(replace(old.joints[i], parent=place[old.joints[i].parent]) for i in order)
    new = replace(old, joints=joints, bodies=tuple(old.bodies[i] for i in order),
                  frames=tuple(replace(f, body=place[f.body]) for f in old.frames))
    return unchanged(old.nv, order=tuple(order)).change(new, setting.links)


def _some_order(setting: Setting, old: Mechanism) -> list[int]:
    order: list[int] = []
    waiting = list(old.children(BASE))
    while waiting:
        order.append(waiting.pop(setting.random.randrange(len(waiting))))
        waiting += old.children(order[-1])
    return order


def axes_reversed(setting: Setting) -> Change:
    """Some axes point the other way and are of another length; their coordinates count backwards."""
    old, random = setting.mechanism, setting.random
    signs = [Fraction(random.choice((1, -1))) for _ in old.joints]
    if 1 not in [-s for s in signs]:
        signs[-1] = Fraction(-1)
    told = unchanged(old.nv, scale=tuple(signs))

    def joint(i: int, j: Joint) -> Joint:
        by = signs[i] * setting.fraction(0.1, 3)
        return replace(j, axis=(j.axis[0] * by, j.axis[1] * by, j.axis[2] * by), limits=told.limits(i, j.limits))

    return told.change(replace(old, joints=tuple(joint(i, j) for i, j in enumerate(old.joints))), setting.links)


def zeros_moved(setting: Setting) -> Change:
    """Coordinates that count from elsewhere."""
    old = setting.mechanism
    zeros = tuple(setting.fraction(-2, 2) for _ in old.joints)
    told = unchanged(old.nv, zero=zeros)
    joints = tuple(replace(j, pose=compose(j.pose, motion(j, -zero)), limits=told.limits(i, j.limits))
                   for i, (j, zero) in enumerate(zip(old.joints, zeros, strict=True)))
    return told.change(replace(old, joints=joints), setting.links)


def frames_turned(setting: Setting) -> Change:
    """The frames of joints and bodies in other axes, at the same places."""
    return _framed(setting, slid=False)


def frames_slid(setting: Setting) -> Change:
    """The frames of joints and bodies in other axes and elsewhere along the joints' axes."""
    return _framed(setting, slid=True)


def _framed(setting: Setting, slid: bool) -> Change:
    old, random = setting.mechanism, setting.random
    by: dict[int, Pose] = {BASE: ()}
    joints = []
    for i, j in enumerate(old.joints):
        axis, count = random.randrange(3), random.randrange(4)
        along: Pose = (Slide(j.axis, setting.fraction(-1, 1)),) if slid else ()
        by[i] = compose(along, (Turn(j.axis, Angle(setting.fraction(-3, 3))), Turn(AXES[axis], Angle(pi=Fraction(count, 2)))))
        joints.append(replace(j, pose=compose(inverse(by[j.parent]), j.pose, by[i]), axis=quarter(j.axis, axis, -count)))
    bodies = tuple(Body(b.name, tuple(replace(p, pose=compose(inverse(by[i]), p.pose)) for p in b.parts))
                   for i, b in enumerate(old.bodies))
    frames = tuple(replace(f, pose=compose(inverse(by[f.body]), f.pose)) for f in old.frames)
    return unchanged(old.nv, origins=not slid).change(replace(old, joints=tuple(joints), bodies=bodies, frames=frames),
                                                      setting.links)


def parts_split(setting: Setting) -> Change:
    """Every inertia as two at different places, which together are what it was."""
    old = setting.mechanism
    bodies = tuple(Body(b.name, tuple(half for part in b.parts for half in halves(setting, part))) for b in old.bodies)
    return unchanged(old.nv).change(replace(old, bodies=bodies), setting.links)


def halves(setting: Setting, part: Part) -> tuple[Part, Part]:
    """Two parts with the mass, the centre and the moments of one."""
    share, off = setting.fraction(0.1, 0.9), setting.vector(0.1)
    masses = (part.mass * share, part.mass * (1 - share))
    places = (off, negated((off[0] * share / (1 - share), off[1] * share / (1 - share), off[2] * share / (1 - share))))
    left = list(part.moments)
    for mass, (x, y, z) in zip(masses, places, strict=True):   # Steiner
        steiner = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
        left = [moment - mass * s for moment, s in zip(left, steiner, strict=True)]
    two = []
    for which, (mass, place) in enumerate(zip(masses, places, strict=True)):
        xx, xy, xz, yy, yz, zz = (moment * (share if which == 0 else 1 - share) for moment in left)
        pose, moments = compose(part.pose, (Shift(place),)), (xx, xy, xz, yy, yz, zz)
        if which:   # its own axes, a quarter turn about z from those of the other: its x is the other's y, its y the other's −x
            pose, moments = compose(pose, (Turn(Z_AXIS, Angle(pi=Fraction(1, 2))),)), (yy, -xy, yz, xx, -xz, zz)
        two.append(Part(part.link, pose, mass, moments))
    return two[0], two[1]


def motion(joint: Joint, value: Fraction) -> Pose:
    """What a joint does at a value of its coordinate, as the formats say; its type is asked only if it turns and slides."""
    turn: Pose = (Turn(joint.axis, Angle(value)),) if joint.type.turns else ()
    advance = value * (dict(joint.parameters)["pitch"] if joint.type.turns and joint.type.slides else 1)
    return (*turn, Slide(joint.axis, advance)) if joint.type.slides else turn


def at_once(setting: Setting, relations: Sequence[str]) -> Change:
    """Several of these, one upon the other."""
    by_name = {"base_moved": base_moved, "units_rescaled": units_rescaled, "mirrored": mirrored, "renumbered": renumbered,
               "axes_reversed": axes_reversed, "zeros_moved": zeros_moved, "frames_turned": frames_turned,
               "parts_split": parts_split}
    change = unchanged(setting.mechanism.nv).change(setting.mechanism, setting.links)
    for name in relations:
        following = by_name[name](replace(setting, mechanism=change.mechanism))
        change = change if following is None else change.then(following)
    return change


def everything_at_once(setting: Setting) -> Change:
    """All of the above in any order, one upon the other: one more robot judges every function of one."""
    names = ["base_moved", "units_rescaled", "mirrored", "renumbered", "axes_reversed", "zeros_moved", "frames_turned",
             "parts_split"]
    setting.random.shuffle(names)
    return at_once(setting, names)


def _scaled(step: Step, by: Fraction) -> Step:
    if isinstance(step, Shift):
        return Shift((step.xyz[0] * by, step.xyz[1] * by, step.xyz[2] * by))
    return replace(step, distance=step.distance * by) if isinstance(step, Slide) else step


def _six(moments: object) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction, Fraction]:
    xx, xy, xz, yy, yz, zz = moments
    return xx, xy, xz, yy, yz, zz

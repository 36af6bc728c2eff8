"""How large the terms of a long robot's answers are, from sums of norms along its links."""

from __future__ import annotations

import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference.motion import Motion
from symgen.reference.precision import Array


def sizes(motion: Motion, q: Array, v: Array, a: Array) -> Array:
    """Of every force (count, NV) the sum of the norms of its terms, from the base to the tips and back: how fast links may turn,
    what that and gravity accelerate, what it takes to move the parts so, and what they weigh on the joints that carry them.
    """
    count, mechanism = len(q), motion.mechanism
    shape = (len(mechanism.joints), count)
    turns, stirs, rises, arms, *_ = _outward(motion, q, v, a, _length(motion.gravity))
    forces, moments = np.zeros(shape), np.zeros(shape)
    for part in motion.parts():
        i, r = part.body, float(np.linalg.norm(part.centre.astype(float)))
        force = float(part.mass) * (rises[i] + (stirs[i] + turns[i] ** 2) * r)
        forces[i] += force
        moments[i] += (
            np.linalg.norm(part.inertia.astype(float)) * (stirs[i] + turns[i] ** 2) + r * force
        )
    for i in reversed(range(len(mechanism.joints))):
        up = mechanism.joints[i].parent
        if up != BASE:
            forces[up] += forces[i]
            moments[up] += moments[i] + arms[i] * forces[i]
    out = np.zeros((count, mechanism.nv))
    for i, (joint, own) in enumerate(zip(mechanism.joints, mechanism.v_slices, strict=True)):
        angular, linear = _twists(motion, i)
        felt = angular[:, None] * moments[i] + linear[:, None] * (
            forces[i] + (angular > 0)[:, None] * moments[i]
        )
        drive, places = joint.drive, np.abs(q[:, mechanism.q_slices[i]]).max(axis=-1, keepdims=True)
        armature, damping, friction = (
            np.array([float(getattr(drive.at(n), kind)) for n in range(own.stop - own.start)])
            for kind in ("armature", "damping", "friction")
        )
        out[:, own] = felt.T + armature * np.abs(a[:, own]) + damping * np.abs(v[:, own]) + friction
        out[:, own] += float(drive.stiffness) * (float(abs(drive.rest)) + places)
    return out


def _twists(motion: Motion, i: int) -> tuple[Array, Array]:
    """Norms (n,) of the angular and the linear part of what each velocity of a joint gives its link."""
    units = motion.twists(i, np.eye(3))
    return tuple(
        np.array([np.linalg.norm(unit[part].astype(float)) for unit in units]) for part in (0, 1)
    )  # type: ignore[return-value]


def _rates(motion: Motion, i: int, x: Array) -> tuple[Array, Array]:
    """How fast (count,) a joint turns and slides its link, at most."""
    angular, linear = _twists(motion, i)
    own = np.abs(x[:, motion.mechanism.v_slices[i]])
    return own @ angular, own @ linear


def _slides(motion: Motion, i: int, q: Array) -> Array:
    """How far (count,) it has slid, at most."""
    joint = motion.mechanism.joints[i]
    return (
        np.abs(q[:, motion.mechanism.q_slices[i]]).sum(axis=-1)
        if joint.type.slides
        else np.zeros(len(q))
    )


def wholes(motion: Motion, q: Array, v: Array, a: Array, dt: Array) -> dict[str, Array]:
    """Of results (count,) of functions that take no mass matrix apart, by their names, the sums of the norms of their terms."""
    turns, stirs, rises, _, speeds, spans = _outward(motion, q, v, a, 0.0)
    gravity, count = _length(motion.gravity), len(q)
    T, U, total, mass, linear, angular, push, moment = (np.zeros(count) for _ in range(8))
    for part in motion.parts():
        i, r, m, own = part.body, _length(part.centre), float(part.mass), _length(part.inertia)
        speed, rise, reach = (
            speeds[i] + turns[i] * r,
            rises[i] + (stirs[i] + turns[i] ** 2) * r,
            spans[i] + r,
        )
        T += m * speed**2 / 2 + own * turns[i] ** 2 / 2
        U += m * gravity * reach
        total, mass = total + m * reach, mass + m
        linear += m * speed
        angular += 2 * m * speed * reach + own * turns[i]
        push += m * (rise + gravity)
        moment += 2 * m * (rise + gravity) * reach + own * (stirs[i] + turns[i] ** 2)
    for joint, places in zip(motion.mechanism.joints, motion.mechanism.v_slices, strict=True):
        T += float(joint.drive.armature) * (v[:, places] ** 2).sum(axis=-1) / 2
    far = spans.max(axis=0) + (
        _length(motion.pose(motion.frame.pose)[1]) if motion.frame is not None else 0.0
    )
    gone = 1 + np.abs(q).max(axis=-1) + np.abs(v).max(axis=-1) * np.abs(dt)
    return {
        "R_links": 1 + 0 * T,
        "R": 1 + 0 * T,
        "p_links": far,
        "p": far,
        "T": T,
        "U": U,
        "com": total / np.maximum(mass, np.finfo(float).tiny),
        "h": linear + angular,
        "hdot": push + moment,
        "q_next": gone,
        "delta": 8 + np.abs(q).max(axis=-1),
    }


def _outward(motion: Motion, q: Array, v: Array, a: Array, rising: float) -> list[Array]:
    """Of every link (links, count), at most: how fast it turns, how fast that changes, what its origin accelerates by where the
    base rises so, how far that is from its parent's, how fast it moves, and how far it is from the base's.
    """
    shape = (len(motion.mechanism.joints), len(q))
    turns, stirs, rises, arms, speeds, spans = found = [np.zeros(shape) for _ in range(6)]
    for i, joint in enumerate(motion.mechanism.joints):
        up = joint.parent
        turn, stir, rise, speed, span = (
            (one[up] for one in (turns, stirs, rises, speeds, spans))
            if up != BASE
            else (0.0, 0.0, rising, 0.0, 0.0)
        )
        (turning, sliding), (turned, slid) = (_rates(motion, i, x) for x in (v, a))
        arms[i] = _length(motion.poses[i][1]) + _slides(motion, i, q)
        rises[i] = rise + (stir + turn**2) * arms[i] + slid + 2 * turn * sliding + turning * sliding
        turns[i] = turn + turning
        stirs[i] = stir + turned + turn * turning
        speeds[i] = speed + turn * arms[i] + sliding
        spans[i] = span + arms[i]
    return found


def _length(values: Array) -> float:
    return float(np.linalg.norm(values.astype(float)))

"""What is said of the whole: closed forms on small robots, by the reference and by every method, and what mechanics demands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.pipeline.choose import methods_for
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.verification.evaluating import machine_runner
from symgen.verification.scales.centroidal import BY_RESULT as WHOLE
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import X_AXIS, Y_AXIS, Z_AXIS, Angle, Shift, Turn, compose, pose
from tests.shared.robots_for_tests import draw, point_mass_arm, random_mechanism

ABOUT = tuple(name for name, f in FUNCTIONS.items() if {r.name for r in f.results} <= set(WHOLE))
ZERO = Fraction(0)


def answers(mechanism: Mechanism, given: Mapping[str, Array]) -> list[dict[str, Array]]:
    """All results by name: of the reference, and of each method that has any of them, completed by those of the reference."""
    of = {f: {a.name: given[a.name] for a in FUNCTIONS[f].arguments} for f in ABOUT}
    frame = mechanism.frames[-1].name
    true = {
        name: x
        for f in ABOUT
        for name, x in Reference(mechanism, frame=frame).evaluate(f, of[f]).items()
    }
    found: dict[str, dict[str, Array]] = {}
    for f in ABOUT:
        for method in methods_for(mechanism, f):
            found.setdefault(method, dict(true)).update(
                machine_runner(symgen.program(mechanism, f, method, frame=frame))(of[f])
            )
    assert found
    return [true, *found.values()]


def stack(*columns: object) -> Array:
    return np.stack(np.broadcast_arrays(*map(np.asarray, columns)), axis=-1)


@cache
def grown(kind: str) -> Mechanism:
    """A root of this type that carries a branch of two and one of one."""
    made = random_mechanism(4, 8, "chain", ("revolute", "prismatic"))
    first, *others = made.joints
    axis = first.axis if joint_type(kind).directed else Z_AXIS
    numbers = tuple((p.name, Fraction(1, 7)) for p in joint_type(kind).parameters)
    joints = (
        replace(first, kind=kind, axis=axis, parameters=numbers),
        *others[:2],
        replace(others[2], parent=0),
    )
    return replace(made, joints=joints, name=f"{kind}_root")


def test_a_point_on_a_string() -> None:
    """Two kilograms one metre out, gravity 10 along −y: T = m v²/2, U = m g sin q; about its own centre a point has no spin."""
    for found in answers(point_mass_arm(2), given := draw(point_mass_arm(2), 5)):
        (q, v, a), zero = (given[name][:, 0] for name in ("q", "v", "a")), 0 * given["q"][:, 0]
        out, across = stack(np.cos(q), np.sin(q), zero), stack(-np.sin(q), np.cos(q), zero)
        along = v[:, None] * across
        pull = a[:, None] * across - (v * v)[:, None] * out
        wanted = {
            "com": out,
            "Jcom": across[..., None],
            "T": v * v,
            "U": 20 * np.sin(q),
            "h": np.hstack([0 * out, 2 * along]),
            "A_G": np.concatenate([0 * out, 2 * across], axis=-1)[..., None],
            "hdot": np.hstack([0 * out, 2 * pull]),
            "Jdot_v": np.zeros((5, 6)),
            "p_links": np.zeros((5, 1, 3)),
        }
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, atol=1e-13, err_msg=name)


def test_a_free_body() -> None:
    """Its axes turned by R, its centre at the origin of its frame: A_G = [0 R I; m R 0], h and ḣ by Newton and Euler."""
    part = Part("body", (), Fraction(3), (Fraction(2), ZERO, ZERO, Fraction(3), ZERO, Fraction(4)))
    made = Mechanism(
        "body", (Joint("root", "free", -1),), (Body("body", (part,)),), (Frame("body", 0),)
    )
    given = draw(made, 5)
    x, y, z, w = given["q"][:, 3:].T
    turn = np.stack(
        [
            stack(1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            stack(2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            stack(2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        ],
        axis=-2,
    )
    inertia, nothing = np.array([2.0, 3.0, 4.0]), np.zeros((5, 3, 3))
    u, spin, du, dspin = (
        given[name][:, part] for name in ("v", "a") for part in (slice(3), slice(3, 6))
    )
    own = {
        "h": (inertia * spin, 3 * u),
        "hdot": (inertia * dspin + np.cross(spin, inertia * spin), 3 * (du + np.cross(spin, u))),
        "Jdot_v": (0 * u, np.cross(spin, u)),
    }
    wanted = {
        name: np.hstack([(turn @ part[..., None])[..., 0] for part in parts])
        for name, parts in own.items()
    }
    wanted |= {
        "A_G": np.block([[nothing, turn * inertia], [3 * turn, nothing]]),
        "Jcom": np.concatenate([turn, nothing], axis=-1),
        "com": given["q"][:, :3],
        "p_links": given["q"][:, None, :3],
        "R_links": turn[:, None],
        "T": (3 * (u * u).sum(axis=-1) + (inertia * spin * spin).sum(axis=-1)) / 2,
        "U": 3 * 9.81 * given["q"][:, 2],
    }
    for found in answers(made, given):
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, atol=1e-12, err_msg=name)


def test_two_links_in_a_plane() -> None:
    """Masses 1 and 3 at the ends of links of a metre, by hand: the momentum about the centre is that of the reduced mass."""
    made = point_mass_arm(1, 3)
    for found in answers(made, given := draw(made, 5)):
        first, second = given["q"][:, 0], given["q"].sum(axis=-1)
        slow, fast = given["v"][:, 0], given["v"].sum(axis=-1)
        zero = 0 * first
        elbow, across = (
            stack(np.cos(first), np.sin(first), zero),
            stack(-np.sin(first), np.cos(first), zero),
        )
        apart, swept = (
            stack(np.cos(second), np.sin(second), zero),
            stack(-np.sin(second), np.cos(second), zero),
        )
        u, w = slow[:, None] * across, fast[:, None] * swept
        wanted = {
            "com": elbow + 3 / 4 * apart,
            "h": np.hstack([3 / 4 * np.cross(apart, w), u + 3 * (u + w)]),
            "T": ((u * u).sum(axis=-1) + 3 * ((u + w) ** 2).sum(axis=-1)) / 2,
            "U": 10 * (4 * np.sin(first) + 3 * np.sin(second)),
            "p_links": np.stack([0 * elbow, elbow], axis=1),
        }
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("kind", kinds())
def test_momentum_does_not_know_where_the_base_is(kind: str) -> None:
    """A base that is shifted by s and turned by R, gravity with it: h goes to R h, and com to R com + s."""
    here, shift = grown(kind), Shift((Fraction(3), Fraction(-2), Fraction(5)))
    x, y, z = here.gravity
    moved = (shift, Turn(X_AXIS, Angle(pi=Fraction(1, 2))))
    joints = tuple(
        replace(j, pose=compose(*[moved], j.pose)) if j.parent < 0 else j for j in here.joints
    )
    there = replace(here, joints=joints, gravity=(x, -z, y))
    turn, s = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]), np.array([3.0, -2, 5])
    both = np.kron(np.eye(2), turn)
    into = {
        "com": lambda c: c @ turn.T + s,
        "p_links": lambda p: p @ turn.T + s,
        "R_links": lambda r: turn @ r,
        "Jcom": lambda j: turn @ j,
        "A_G": lambda m: both @ m,
        "T": lambda t: t,
        "U": lambda u: (
            u
            - float(sum(part.mass for body in here.bodies for part in body.parts))
            * (s @ np.array([float(g) for g in there.gravity]))
        ),
    }
    given = draw(here, 3)
    for old, new in zip(answers(here, given), answers(there, given), strict=True):
        for name, value in old.items():
            wanted = into.get(name, lambda six: six @ both.T)(value)
            np.testing.assert_allclose(new[name], wanted, rtol=1e-11, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("kind", kinds())
def test_energy_changes_by_the_power_of_the_joints(kind: str) -> None:
    """dT/dt + dU/dt = tau · v."""
    made = grown(kind)
    reference, given = Reference(made, frame=made.frames[-1].name), draw(made, 4)
    q, v, a = (given[name] for name in ("q", "v", "a"))
    step = 1e-5

    def energy(s: float) -> Array:
        at, rate = {"q": reference.displaced(q, s * v)}, v + s * a
        return np.asarray(
            reference.evaluate("kinetic_energy", {**at, "v": rate})["T"]
            + reference.evaluate("potential_energy", at)["U"]
        )

    power = (reference.inverse_dynamics(q, v, a) * v).sum(axis=-1)
    np.testing.assert_allclose(
        (energy(step) - energy(-step)) / (2 * step), power, rtol=1e-6, atol=1e-5
    )


def test_nothing_but_its_weight_moves_what_floats() -> None:
    """Without joint forces on the root, whatever the others do: ḣ = (0, m g), by the forward dynamics of each."""
    made = replace(grown("free"), gravity=(Fraction(1), Fraction(2), Fraction(-9)))
    given = draw(made, 5)
    mass = float(sum(part.mass for body in made.bodies for part in body.parts))
    given["tau"][:, :6] = 0
    given["a"] = Reference(made).forward_dynamics(given["q"], given["v"], given["tau"])
    for found in answers(made, given):
        np.testing.assert_allclose(
            found["hdot"], np.broadcast_to(mass * np.array([0, 0, 0, 1, 2, -9]), (5, 6)), atol=1e-9
        )


def test_the_momentum_of_the_whole_is_that_of_its_root() -> None:
    """A column of A_G of a free root is the inertia of all as one body, moved to the mass centre: M's first six rows say so."""
    made = grown("free")
    given = draw(made, 5)
    mass = Reference(made).mass_matrix(given["q"])[:, :6]
    for found in answers(made, given):
        turn, lever = found["R_links"][:, 0], found["com"] - found["p_links"][:, 0]
        angular, linear = found["A_G"][:, :3], found["A_G"][:, 3:]
        about_root = angular + np.cross(lever[:, None], np.swapaxes(linear, -1, -2)).swapaxes(
            -1, -2
        )
        rows = np.concatenate(
            [turn.swapaxes(-1, -2) @ linear, turn.swapaxes(-1, -2) @ about_root], axis=1
        )
        np.testing.assert_allclose(rows, mass, atol=1e-12)


@pytest.mark.parametrize("mass", [0, Fraction(1, 1000)])
def test_a_root_without_much_mass_may_be_far_away(mass: Fraction | int) -> None:
    """It is the first, a mile off: nothing of the whole, which is all but of the other, is counted from there."""
    near = replace(grown("revolute"), gravity=(ZERO, ZERO, ZERO))
    far = Joint(
        "far", "revolute", -1, (Shift((Fraction(1600), Fraction(-7), Fraction(3))),), Z_AXIS
    )
    joints = (
        far,
        *(
            replace(joint, parent=joint.parent + 1 if joint.parent >= 0 else -1)
            for joint in near.joints
        ),
    )
    frames = tuple(
        replace(frame, body=frame.body + 1 if frame.body >= 0 else -1) for frame in near.frames
    )
    speck = Body("far", (Part("far", (), Fraction(mass), (ZERO,) * 6),) if mass else ())
    made = replace(near, name="far", joints=joints, bodies=(speck, *near.bodies), frames=frames)
    report = symgen.verify(made, list(ABOUT))
    assert report.passed
    about = ("centroidal", "center_of_mass") if mass else ("centroidal",)
    assert (
        max(
            one.error
            for one in report.checks
            if one.kind == "floating" and one.subject.startswith(about)
        )
        < 5
    )


def test_a_load_at_run_time_is_a_part_of_the_whole() -> None:
    """As one that was declared: each function that feels it, by the reference and by the methods."""
    made = grown("revolute")
    link = made.frames[-1]
    load = Part(link.name, pose((Fraction(1, 10), Fraction(1, 5), Fraction(-1, 10))), Fraction(2))
    bodies = (*made.bodies[:-1], replace(made.bodies[-1], parts=(*made.bodies[-1].parts, load)))
    declared = Reference(replace(made, bodies=bodies), frame=link.name)
    x, y, z = 0.1, 0.2, -0.1
    numbers = np.array(
        [
            2,
            x,
            y,
            z,
            2 * (y * y + z * z),
            -2 * x * y,
            -2 * x * z,
            2 * (x * x + z * z),
            -2 * y * z,
            2 * (x * x + y * y),
        ]
    )
    given = {**draw(made, 3), "payload": np.broadcast_to(numbers, (3, 10))}
    for f in ABOUT:
        plain = {a.name: given[a.name] for a in FUNCTIONS[f].arguments}
        loaded = {**plain, "payload": given["payload"]} if FUNCTIONS[f].depends_on else plain
        wanted = declared.evaluate(f, plain)
        ways = [Reference(made, frame=link.name, payload=link.name).evaluate(f, loaded)]
        ways += [
            machine_runner(symgen.program(made, f, method, frame=link.name, payload=link.name))(
                loaded
            )
            for method in methods_for(made, f)
        ]
        for found in ways:
            for name, value in wanted.items():
                np.testing.assert_allclose(found[name], value, atol=1e-12, err_msg=name)


def test_poses_are_of_the_frames_that_the_joints_move() -> None:
    """A joint about y at (1, 0, 0) and one on it that slides along its x, 2 m further on."""
    joints = (
        Joint("swing", "revolute", -1, pose((Fraction(1), ZERO, ZERO)), Y_AXIS),
        Joint("slide", "prismatic", 0, pose((Fraction(2), ZERO, ZERO)), X_AXIS),
    )
    made = Mechanism(
        "arm",
        joints,
        tuple(Body(name, (Part(name, (), Fraction(1)),)) for name in "ab"),
        (Frame("b", 1),),
    )
    given = draw(made, 4)
    angle, slid = given["q"].T
    out = stack(np.cos(angle), 0 * angle, -np.sin(angle))
    for found in answers(made, given):
        np.testing.assert_allclose(
            found["p_links"][:, 0], np.broadcast_to([1, 0, 0], (4, 3)), atol=1e-14
        )
        np.testing.assert_allclose(
            found["p_links"][:, 1], [1, 0, 0] + (2 + slid)[:, None] * out, atol=1e-14
        )
        np.testing.assert_allclose(
            found["R_links"][:, :, :, 0], np.stack([out, out], axis=1), atol=1e-14
        )


@pytest.mark.parametrize("form", ["unrolled", "looped"])
def test_frames_may_start_far_from_what_is_heavy(form: str) -> None:
    """A ton within a tenth of a millimetre of its joint, whose frame starts half a metre up its axis, where the next one passes:
    the answer is small beside its terms, and is judged by these.
    """
    tilted = (ZERO, Fraction(3, 5), Fraction(4, 5))
    joints = (
        Joint("spin", "revolute", -1, (), Z_AXIS),
        Joint(
            "tilt", "revolute", 0, pose((Fraction(1, 70), Fraction(3, 10), Fraction(7, 10))), tilted
        ),
    )
    ton = Part(
        "ton",
        pose((ZERO, Fraction(1, 10**4), ZERO)),
        Fraction(1000),
        (Fraction(1, 10**5),) * 3 + (ZERO,) * 3,
    )
    crumb = Part(
        "crumb", pose((Fraction(1, 10), Fraction(1, 3), Fraction(1, 5))), Fraction(1, 10**6)
    )
    made = Mechanism(
        "arm", joints, (Body("ton", (ton,)), Body("crumb", (crumb,))), (Frame("crumb", 1),)
    )
    asked = [
        f
        for f in ABOUT
        if form == "unrolled" or f not in ("center_of_mass_jacobian", "centroidal_momentum_matrix")
    ]
    report = symgen.verify(made, asked, form=form)
    assert report.passed, str(report)
    assert [one.subject.split("=")[0] for one in report.checks if one.kind == "floating"] == asked

"""`constraint_force`: the bridge M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ, its parts, what it refuses, and how deep it is.

The bridge is exact: chains of quarter turns and decimal lengths, angles with rational sines and cosines, so that programs
and a Newton-Euler recursion in base axes, written out here, must agree to the last digit; for two and three links over
the field of rational functions of tan(q/2), which is a proof for every state of that robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import flint
import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.derivation import constants
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Model, declared
from symgen.derivation.scalars import Derivation, Scalar
from symgen.description.tip import tip
from symgen.ir.program import Numbers, Program, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.constraint_force.elimination import eliminate, leaf_first, neighbours, odd_even
from symgen.methods.constraint_force.forces import CutJoints, dynamics
from symgen.methods.constraint_force.motion import omega_by_scan, omega_by_sweep
from symgen.methods.constraint_force.operational import parallel_mobility, serial_mobility
from symgen.methods.constraint_force.operator import bodies, operator
from symgen.methods.constraint_force.partition import partition
from symgen.pipeline.derive import models
from tests.shared.rational_functions import Functions
from tests.shared.robots_for_tests import (
    PURE,
    TELLING,
    program,
    random_mechanism,
    robot,
    run,
    states,
)

SQUARE = {
    f"{kind}{n}": random_mechanism(n, seed=n, kind=kind, joints=PURE, general=False)
    for kind, n in (
        ("chain", 1),
        ("chain", 2),
        ("chain", 3),
        ("chain", 5),
        ("chain", 8),
        ("tree", 5),
        ("tree", 8),
    )
}
ORDERS = {"serial": (leaf_first, omega_by_sweep), "parallel": (odd_even, omega_by_scan)}
Vec = list[Any]
Mat = list[Vec]


# -- exact mechanics in base axes --------------------------------------------------------------------------------------------


def cross(a: Vec, b: Vec) -> Vec:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def add(*vectors: Vec) -> Vec:
    return [sum(entries[1:], entries[0]) for entries in zip(*vectors, strict=True)]


def by(m: Mat, v: Vec) -> Vec:
    return [sum((x * y for x, y in zip(row[1:], v[1:], strict=True)), row[0] * v[0]) for row in m]


def product(a: Mat, b: Mat) -> Mat:
    return [
        list(row)
        for row in zip(*[by(a, list(column)) for column in zip(*b, strict=True)], strict=True)
    ]


def over(m: Mat) -> Mat:
    return [list(row) for row in zip(*m, strict=True)]


Angles = list[Any]
"""By joint (sine, cosine) of a turn, or a length."""


class World:
    """Where every link of a model of rational constants is: axes R, origin p, mass centre c, J about it, joint axis z."""

    def __init__(self, model: Model, q: Angles, lift: Callable[[Fraction], Any]) -> None:
        def vector(v: Sequence[Any]) -> Vec:
            return [lift(constants.to_fraction(x)) for x in v]

        self.model, self.zero, self.one = model, lift(Fraction(0)), lift(Fraction(1))
        self.R: list[Mat] = []
        self.p: list[Vec] = []
        self.c: list[Vec] = []
        self.J: list[Mat] = []
        self.m: list[Any] = []
        for link, x in zip(model.links, q, strict=True):
            outer = self.R[link.parent] if link.parent >= 0 else self.unit()
            origin = self.p[link.parent] if link.parent >= 0 else [self.zero] * 3
            fixed = product(outer, [vector(row) for row in link.rotation])
            place = add(origin, by(outer, vector(link.shift)))
            if link.turns:
                s, c = x
                R = product(
                    fixed, [[c, -s, self.zero], [s, c, self.zero], [self.zero, self.zero, self.one]]
                )
            else:
                R, place = fixed, add(place, by(fixed, [self.zero, self.zero, x]))
            m, center = lift(constants.to_fraction(link.inertia.m)), vector(link.center)
            xx, xy, xz, yy, yz, zz = vector(link.inertia.S)
            S = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
            S = [[S[i][j] - m * center[i] * center[j] for j in range(3)] for i in range(3)]
            trace = S[0][0] + S[1][1] + S[2][2]
            J = [[(trace if i == j else self.zero) - S[i][j] for j in range(3)] for i in range(3)]
            self.R.append(R)
            self.p.append(place)
            self.c.append(add(place, by(R, center)))
            self.J.append(product(product(R, J), over(R)))
            self.m.append(m)

    def unit(self) -> Mat:
        return [[self.one if i == j else self.zero for j in range(3)] for i in range(3)]

    def axis(self, i: int) -> Vec:
        return [row[2] for row in self.R[i]]

    def way(self, i: int) -> list[int]:
        return [*reversed(self.model.ancestors(i)), i]

    def wrenches(self, v: Vec, a: Vec, gravity: Vec) -> Mat:
        """Newton and Euler, base → tip and back: what the parent does to link i, at its origin, in its own axes."""
        rest = [self.zero] * 3
        motions: list[tuple[Vec, Vec, Vec]] = []
        own: list[tuple[Vec, Vec]] = []
        for i, link in enumerate(self.model.links):
            w, dw, dv = (
                motions[link.parent] if link.parent >= 0 else (rest, rest, [-g for g in gravity])
            )
            arm = add(self.p[i], [-x for x in self.p[link.parent]]) if link.parent >= 0 else rest
            z = self.axis(i)
            rate, speedup = [x * v[i] for x in z], [x * a[i] for x in z]
            dv = add(dv, cross(dw, arm), cross(w, cross(w, arm)))
            if link.turns:
                w, dw = add(w, rate), add(dw, speedup, cross(w, rate))
            else:
                dv = add(dv, speedup, [2 * x for x in cross(w, rate)])
            motions.append((w, dw, dv))
            d = add(self.c[i], [-x for x in self.p[i]])
            force = [self.m[i] * x for x in add(dv, cross(dw, d), cross(w, cross(w, d)))]
            own.append((add(by(self.J[i], dw), cross(w, by(self.J[i], w)), cross(d, force)), force))
        total = list(own)
        for i in reversed(range(len(own))):
            parent = self.model.links[i].parent
            if parent >= 0:
                arm = add(self.p[i], [-x for x in self.p[parent]])
                n, f = total[i]
                total[parent] = add(total[parent][0], n, cross(arm, f)), add(total[parent][1], f)
        return [[*by(over(R), n), *by(over(R), f)] for R, (n, f) in zip(self.R, total, strict=True)]

    def twist_of(self, i: int, j: int) -> Mat:
        """6x6: a twist across joint j (at O_j, axes of link j) as a twist of link i at its mass centre, base axes."""
        R, arm = self.R[j], add(self.c[i], [-x for x in self.p[j]])
        columns = [[*by(R, e), *cross(by(R, e), arm)] for e in self.unit()]
        columns += [[self.zero] * 3 + by(R, e) for e in self.unit()]
        return over(columns)

    def inertia(self, i: int) -> Mat:
        zero, m = self.zero, self.m[i]
        return [[*row, zero, zero, zero] for row in self.J[i]] + [
            [zero] * 3 + [m if r == c else zero for c in range(3)] for r in range(3)
        ]


def turn(t: Any) -> tuple[Any, Any]:
    """(sine, cosine) with tan(q/2) = t."""
    return 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)


def rational_state(mechanism: Mechanism, seed: int) -> tuple[Angles, Vec, Vec]:
    """(q, v, tau), exact: every revolute joint at a Pythagorean angle."""
    random = Random(seed)

    def number() -> Fraction:
        return Fraction(random.randint(1, 9) * random.choice((1, -1)), random.randint(1, 4))

    q = [number() if joint.kind == "prismatic" else turn(number()) for joint in mechanism.joints]
    return q, [number() for _ in q], [number() for _ in q]


EXACT = Numbers(lambda x: x, lambda a: a[0], lambda a: a[1], lambda a: a, lambda a: a)

Build = Callable[[Linkage], Sequence[Scalar]]


@cache
def frames_as_declared(name: str) -> Model:
    """Frames in which the constants of a robot of SQUARE stay rational."""
    with constants.precision():
        return declared(SQUARE[name])


def derived(model: Model, inputs: Sequence[str], build: Build, frame: Any = None) -> Program:
    """Whatever a function of the method makes of a model, as one flat result."""
    n = len(model.links)
    with constants.precision():
        home = Derivation(dict.fromkeys(inputs, n))
        found = list(build(Linkage(model, home, frame)))
        return home.freeze(
            "test",
            "constraint_force",
            [("found", (len(found),), found)],
            dict.fromkeys(inputs, (n,)),
        )


def exactly(model: Model, build: Build, q: Angles, **rest: Vec) -> Vec:
    made = derived(model, ["q", *rest], build)
    return evaluate(made, {"q": q, **rest}, EXACT)["found"]


def whole(how: str) -> Build:
    """q̈ of a state, then F of every joint."""
    order, omegas = ORDERS[how]

    def build(linkage: Linkage) -> list[Scalar]:
        rates, wrenches = dynamics(linkage, order, omegas)
        return [*rates, *(x for F in wrenches for x in F)]

    return build


def at_rest(how: str) -> Build:
    """The same of M⁻¹ τ alone."""

    def build(linkage: Linkage) -> list[Scalar]:
        cut, tau = CutJoints(linkage, ORDERS[how][0]), linkage.inputs["tau"]
        f = cut.forces(tau)
        return [*cut.accelerations(tau, f), *(x for F in cut.wrenches(tau, f) for x in F)]

    return build


# -- the bridge --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ORDERS)
@pytest.mark.parametrize("name", SQUARE)
def test_the_forces_are_those_of_newton_and_euler_exactly(name: str, how: str) -> None:
    """Constraint forces and joint forces, with velocities and gravity: F is what moves the links so, and its free part is tau."""
    model, n = frames_as_declared(name), SQUARE[name].nv
    q, v, tau = rational_state(SQUARE[name], seed=n)
    found = exactly(model, whole(how), q, v=v, tau=tau)
    a, F = found[:n], [found[n + 6 * i : n + 6 * i + 6] for i in range(n)]
    world = World(model, q, lambda x: x)
    gravity = [constants.to_fraction(x) for x in model.gravity]
    assert world.wrenches(v, a, gravity) == F
    assert [F[i][2 if link.turns else 5] for i, link in enumerate(model.links)] == tau


@pytest.mark.parametrize("how", ORDERS)
@pytest.mark.parametrize("name", ["chain2", "chain3"])
def test_the_bridge_holds_for_every_state_of_two_and_three_links(name: str, how: str) -> None:
    """f = −H_bb⁻¹ H_abᵀ τ, unit τ after unit τ, over the rational functions of the joints' half-angle tangents or lengths."""
    model, n = frames_as_declared(name), SQUARE[name].nv
    functions = Functions([f"t{i}" for i in range(n)])
    t, lift = functions.symbols(), functions.number
    q = [turn(x) if link.turns else x for link, x in zip(model.links, t, strict=True)]

    world = World(model, q, lift)
    made = derived(model, ["q", "tau"], at_rest(how))
    still = [lift(Fraction(0))] * n
    for j in range(n):
        tau = [lift(Fraction(int(i == j))) for i in range(n)]
        found = evaluate(
            made, {"q": q, "tau": tau}, Numbers(lift, EXACT.sin, EXACT.cos, EXACT.sqrt, EXACT.log)
        )["found"]
        F = world.wrenches(still, found[:n], still[:1] * 3)
        assert [x for row in F for x in row] == found[n:]
        assert [F[i][2 if link.turns else 5] for i, link in enumerate(model.links)] == tau


@pytest.mark.parametrize("name", SQUARE)
def test_the_operator_is_the_inverse_of_the_links_inertia_seen_across_the_joints(name: str) -> None:
    """𝓐 · φ 𝓜 φᵀ = 1, exactly, with φ 𝓜 φᵀ summed over the links behind both joints."""
    model, n = frames_as_declared(name), SQUARE[name].nv
    q, _, _ = rational_state(SQUARE[name], seed=n)
    world = World(model, q, lambda x: x)
    places: list[tuple[int, int]] = []

    def build(linkage: Linkage) -> list[Scalar]:
        A = operator(linkage, bodies(linkage))
        places.extend(A)
        return [x for block in A.values() for row in block for x in row]

    flat = exactly(model, build, q)
    A = [[Fraction(0)] * (6 * n) for _ in range(6 * n)]
    for at, (i, j) in enumerate(places):
        for r in range(6):
            for c in range(6):
                A[6 * i + r][6 * j + c] = A[6 * j + c][6 * i + r] = flat[36 * at + 6 * r + c]
    dense = [[Fraction(0)] * (6 * n) for _ in range(6 * n)]
    for i in range(n):
        for j in world.way(i):
            for k in world.way(i):
                block = product(
                    product(over(world.twist_of(i, j)), world.inertia(i)), world.twist_of(i, k)
                )
                for r in range(6):
                    for c in range(6):
                        dense[6 * j + r][6 * k + c] += block[r][c]
    left, right = (
        flint.fmpq_mat(6 * n, 6 * n, [constants.rational(x) for row in m for x in row])
        for m in (A, dense)
    )
    unit = flint.fmpq_mat(
        6 * n, 6 * n, [flint.fmpq(int(r == c)) for r in range(6 * n) for c in range(6 * n)]
    )
    assert left * right == unit
    parents = SQUARE[name].parents
    for i, j in places:  # the band: a joint, its parent's joint, its siblings on one link
        assert i == j or parents[j] == i or (parents[i] == parents[j] and parents[i] >= 0)
    if name.startswith("chain"):
        assert all(j - i <= 1 for i, j in places)


@pytest.mark.parametrize("how", ORDERS)
@pytest.mark.parametrize("name", SQUARE)
def test_det_m_is_det_of_the_inertias_times_det_h_bb_exactly(name: str, how: str) -> None:
    model, n = frames_as_declared(name), SQUARE[name].nv
    q, _, _ = rational_state(SQUARE[name], seed=n)
    world, still = World(model, q, lambda x: x), [Fraction(0)] * n
    axes = [2 if link.turns else 5 for link in model.links]
    mass = []
    for j in range(n):
        unit = [Fraction(int(i == j)) for i in range(n)]
        mass.append(
            [
                F[axis]
                for F, axis in zip(
                    world.wrenches(still, unit, [Fraction(0)] * 3), axes, strict=True
                )
            ]
        )
    expected = flint.fmpq_mat(n, n, [constants.rational(x) for row in mass for x in row]).det()

    def build(linkage: Linkage) -> list[Scalar]:
        parts = partition(linkage)
        H_bb = parts.constraint()
        pivots, left = eliminate(linkage, H_bb, ORDERS[how][0](neighbours(H_bb)))
        assert not left
        return [
            *(body.determinant for body in parts.links),
            *(D for pivot in pivots for D in pivot.D),
        ]

    found = exactly(model, build, q)
    assert len(found) == 6 * n
    assert all(x > 0 for x in found)  # 𝓜 and H_bb are positive definite
    total = flint.fmpq(1)
    for x in found:
        total *= constants.rational(x)
    assert total == expected
    assert (
        constants.rational(
            exactly(model, lambda linkage: [CutJoints(linkage, ORDERS[how][0]).determinant()], q)[0]
        )
        == expected
    )


# -- the operational inertia -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [name for name in TELLING if methods.find("constraint_force").refusal(robot(name)) is None],
)
def test_the_operational_inertias_inverse_is_j_m_inverse_j(name: str) -> None:
    """Λ⁻¹ = J M⁻¹ Jᵀ at every frame of the robot; 1e-9 is cond M, at most 1e6 here, times a few roundings."""
    mechanism, at = robot(name), states(name, 2)
    mass = run(program(name, "mass_matrix"), at)["M"]
    for frame in sorted(
        {*(f.name for f in mechanism.frames[-2:]), mechanism.frames[0].name, tip(mechanism)}
    ):
        J = run(symgen.program(mechanism, "jacobian", frame=frame), at)["J"]
        expected = J @ np.linalg.solve(mass, np.swapaxes(J, 1, 2))
        model = models(mechanism)[0]
        with constants.precision():
            placed = model.frame(mechanism, frame)
        for function in (serial_mobility, parallel_mobility):
            made = derived(model, ["q"], lambda linkage, f=function: f(linkage)[0], placed)  # type: ignore[misc]
            found = run(made, {"q": at["q"]})["found"].reshape(-1, 6, 6)
            assert np.abs(found - expected).max() <= 1e-9 * (np.abs(expected).max() or 1.0), frame
            rows = np.array(made.outputs[0].rows).reshape(6, 6)
            assert (rows == rows.T).all()

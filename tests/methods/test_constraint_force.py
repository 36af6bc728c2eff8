"""`constraint_force`: the partition M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ and its parts, in exact
arithmetic.

The robots have quarter turns and decimal lengths, the angles rational sines and cosines. Programs
and the Newton-Euler recursion of this file, in base axes, must therefore agree exactly. For two and
three links they agree over the field of rational functions of tan(q/2), which proves the partition
for every state of these robots.
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
from symgen.derivation.model import Model, complete_moments, declared
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
from symgen.papers.rational_functions import Functions
from symgen.pipeline.derive import models
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


# -- exact mechanics in base axes ------------------------------------------------------------------


def cross(a: Vec, b: Vec) -> Vec:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def add(*vectors: Vec) -> Vec:
    return [sum(entries[1:], entries[0]) for entries in zip(*vectors, strict=True)]


def matrix_times_vector(m: Mat, v: Vec) -> Vec:
    return [sum((x * y for x, y in zip(row[1:], v[1:], strict=True)), row[0] * v[0]) for row in m]


def product(a: Mat, b: Mat) -> Mat:
    return [
        list(row)
        for row in zip(
            *[matrix_times_vector(a, list(column)) for column in zip(*b, strict=True)], strict=True
        )
    ]


def transposed(m: Mat) -> Mat:
    return [list(row) for row in zip(*m, strict=True)]


Angles = list[Any]
"""For each joint (sine, cosine) of its angle, or its displacement."""


class World:
    """Poses and inertias of all links in base axes: axes R, origin p, mass centre c, and inertia J
    about c.
    """

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
            position = add(origin, matrix_times_vector(outer, vector(link.shift)))
            if link.turns:
                s, c = x
                R = product(
                    fixed, [[c, -s, self.zero], [s, c, self.zero], [self.zero, self.zero, self.one]]
                )
            else:
                R, position = (
                    fixed,
                    add(position, matrix_times_vector(fixed, [self.zero, self.zero, x])),
                )
            m, center = lift(constants.to_fraction(link.inertia.m)), vector(link.center)
            xx, xy, xz, yy, yz, zz = vector(link.inertia.S)
            S = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
            S = [[S[i][j] - m * center[i] * center[j] for j in range(3)] for i in range(3)]
            trace = S[0][0] + S[1][1] + S[2][2]
            J = [[(trace if i == j else self.zero) - S[i][j] for j in range(3)] for i in range(3)]
            self.R.append(R)
            self.p.append(position)
            self.c.append(add(position, matrix_times_vector(R, center)))
            self.J.append(product(product(R, J), transposed(R)))
            self.m.append(m)

    def unit(self) -> Mat:
        return [[self.one if i == j else self.zero for j in range(3)] for i in range(3)]

    def axis(self, i: int) -> Vec:
        return [row[2] for row in self.R[i]]

    def path(self, i: int) -> list[int]:
        return [*reversed(self.model.ancestors(i)), i]

    def wrenches(self, v: Vec, a: Vec, gravity: Vec) -> Mat:
        """Return the wrench of the parent on each link, at the link's origin and in its axes, by
        Newton and Euler.
        """
        at_rest = [self.zero] * 3
        motions: list[tuple[Vec, Vec, Vec]] = []
        link_wrenches: list[tuple[Vec, Vec]] = []
        for i, link in enumerate(self.model.links):
            w, dw, dv = (
                motions[link.parent]
                if link.parent >= 0
                else (at_rest, at_rest, [-g for g in gravity])
            )
            arm = add(self.p[i], [-x for x in self.p[link.parent]]) if link.parent >= 0 else at_rest
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
            link_wrenches.append(
                (
                    add(
                        matrix_times_vector(self.J[i], dw),
                        cross(w, matrix_times_vector(self.J[i], w)),
                        cross(d, force),
                    ),
                    force,
                )
            )
        total = list(link_wrenches)
        for i in reversed(range(len(link_wrenches))):
            parent = self.model.links[i].parent
            if parent >= 0:
                arm = add(self.p[i], [-x for x in self.p[parent]])
                n, f = total[i]
                total[parent] = add(total[parent][0], n, cross(arm, f)), add(total[parent][1], f)
        return [
            [*matrix_times_vector(transposed(R), n), *matrix_times_vector(transposed(R), f)]
            for R, (n, f) in zip(self.R, total, strict=True)
        ]

    def twist_of(self, i: int, j: int) -> Mat:
        """Return the 6x6 map of a twist across joint j to the twist of link i.

        The first is at O_j in axes of link j, the second at the mass centre of link i in base axes.
        """
        R, arm = self.R[j], add(self.c[i], [-x for x in self.p[j]])
        columns = [
            [*matrix_times_vector(R, e), *cross(matrix_times_vector(R, e), arm)]
            for e in self.unit()
        ]
        columns += [[self.zero] * 3 + matrix_times_vector(R, e) for e in self.unit()]
        return transposed(columns)

    def inertia(self, i: int) -> Mat:
        zero, m = self.zero, self.m[i]
        return [[*row, zero, zero, zero] for row in self.J[i]] + [
            [zero] * 3 + [m if r == c else zero for c in range(3)] for r in range(3)
        ]


def sine_and_cosine(t: Any) -> tuple[Any, Any]:
    """Return (sin q, cos q) for tan(q/2) = t."""
    return 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)


def rational_state(mechanism: Mechanism, seed: int) -> tuple[Angles, Vec, Vec]:
    """Return an exact (q, v, tau); sines and cosines of all angles are rational."""
    random = Random(seed)

    def number() -> Fraction:
        return Fraction(random.randint(1, 9) * random.choice((1, -1)), random.randint(1, 4))

    q = [
        number() if joint.kind == "prismatic" else sine_and_cosine(number())
        for joint in mechanism.joints
    ]
    return q, [number() for _ in q], [number() for _ in q]


EXACT = Numbers(lambda x: x, lambda a: a[0], lambda a: a[1], lambda a: a, lambda a: a)

Build = Callable[[Linkage], Sequence[Scalar]]


@cache
def frames_as_declared(name: str) -> Model:
    """Return the model of a robot of SQUARE in its declared frames, where its constants are
    rational.
    """
    with constants.precision():
        return declared(SQUARE[name])


def derived(model: Model, inputs: Sequence[str], build: Build, frame: Any = None) -> Program:
    """Return a Program of the scalars that `build` derives from a model, as one flat result."""
    n = len(model.links)
    with constants.precision():
        derivation = Derivation(dict.fromkeys(inputs, n))
        atoms = list(build(Linkage(model, derivation, frame)))
        return derivation.freeze(
            "test",
            "constraint_force",
            [("found", (len(atoms),), atoms)],
            dict.fromkeys(inputs, (n,)),
        )


def exact_values(model: Model, build: Build, q: Angles, **arguments: Vec) -> Vec:
    program_ = derived(model, ["q", *arguments], build)
    return evaluate(program_, {"q": q, **arguments}, EXACT)["found"]


def joint_rates_and_forces(order_name: str) -> Build:
    """Return a builder of q̈ of a state, followed by F of every joint."""
    order, omegas = ORDERS[order_name]

    def build(linkage: Linkage) -> list[Scalar]:
        accelerations, wrenches = dynamics(linkage, order, omegas)
        return [*accelerations, *(x for F in wrenches for x in F)]

    return build


def solve_and_forces(order_name: str) -> Build:
    """Return a builder of M⁻¹ τ, followed by F of every joint, without velocities and gravity."""

    def build(linkage: Linkage) -> list[Scalar]:
        cut, tau = CutJoints(linkage, ORDERS[order_name][0]), linkage.inputs["tau"]
        f = cut.forces(tau)
        return [*cut.accelerations(tau, f), *(x for F in cut.wrenches(tau, f) for x in F)]

    return build


# -- the partition ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order_name", ORDERS)
@pytest.mark.parametrize("name", SQUARE)
def test_the_forces_equal_those_of_newton_and_euler_exactly(name: str, order_name: str) -> None:
    """With velocities and gravity, the accelerations require the wrenches F, and their components
    along the joints are tau.
    """
    model, n = frames_as_declared(name), SQUARE[name].nv
    q, v, tau = rational_state(SQUARE[name], seed=n)
    values = exact_values(model, joint_rates_and_forces(order_name), q, v=v, tau=tau)
    a, F = values[:n], [values[n + 6 * i : n + 6 * i + 6] for i in range(n)]
    world = World(model, q, lambda x: x)
    gravity = [constants.to_fraction(x) for x in model.gravity]
    assert world.wrenches(v, a, gravity) == F
    assert [F[i][2 if link.turns else 5] for i, link in enumerate(model.links)] == tau


@pytest.mark.slow
@pytest.mark.parametrize("order_name", ORDERS)
@pytest.mark.parametrize("name", ["chain2", "chain3"])
def test_the_partition_holds_for_every_state_of_two_and_three_links(
    name: str, order_name: str
) -> None:
    """f = −H_bb⁻¹ H_abᵀ τ for each unit τ, over rational functions of half-angle tangents or
    displacements.
    """
    model, n = frames_as_declared(name), SQUARE[name].nv
    functions = Functions([f"t{i}" for i in range(n)])
    t, lift = functions.symbols(), functions.number
    q = [sine_and_cosine(x) if link.turns else x for link, x in zip(model.links, t, strict=True)]

    world = World(model, q, lift)
    solve = derived(model, ["q", "tau"], solve_and_forces(order_name))
    at_rest = [lift(Fraction(0))] * n
    for j in range(n):
        tau = [lift(Fraction(int(i == j))) for i in range(n)]
        values = evaluate(
            solve, {"q": q, "tau": tau}, Numbers(lift, EXACT.sin, EXACT.cos, EXACT.sqrt, EXACT.log)
        )["found"]
        F = world.wrenches(at_rest, values[:n], at_rest[:1] * 3)
        assert [x for row in F for x in row] == values[n:]
        assert [F[i][2 if link.turns else 5] for i, link in enumerate(model.links)] == tau


@pytest.mark.parametrize("name", SQUARE)
def test_the_operator_a_is_the_inverse_of_phi_times_inertia_times_phi_transposed(name: str) -> None:
    """𝓐 · φ 𝓜 φᵀ = 1 holds exactly; φ 𝓜 φᵀ is summed over the links that both joints carry."""
    model, n = frames_as_declared(name), SQUARE[name].nv
    q, _, _ = rational_state(SQUARE[name], seed=n)
    world = World(model, q, lambda x: x)
    blocks: list[tuple[int, int]] = []

    def build(linkage: Linkage) -> list[Scalar]:
        A = operator(linkage, bodies(linkage))
        blocks.extend(A)
        return [x for block in A.values() for row in block for x in row]

    flat = exact_values(model, build, q)
    A = [[Fraction(0)] * (6 * n) for _ in range(6 * n)]
    for block_index, (i, j) in enumerate(blocks):
        for r in range(6):
            for c in range(6):
                A[6 * i + r][6 * j + c] = A[6 * j + c][6 * i + r] = flat[
                    36 * block_index + 6 * r + c
                ]
    dense = [[Fraction(0)] * (6 * n) for _ in range(6 * n)]
    for i in range(n):
        for j in world.path(i):
            for k in world.path(i):
                block = product(
                    product(transposed(world.twist_of(i, j)), world.inertia(i)),
                    world.twist_of(i, k),
                )
                for r in range(6):
                    for c in range(6):
                        dense[6 * j + r][6 * k + c] += block[r][c]
    A_exact, inertia_exact = (
        flint.fmpq_mat(6 * n, 6 * n, [constants.rational(x) for row in m for x in row])
        for m in (A, dense)
    )
    unit = flint.fmpq_mat(
        6 * n, 6 * n, [flint.fmpq(int(r == c)) for r in range(6 * n) for c in range(6 * n)]
    )
    assert A_exact * inertia_exact == unit
    parents = SQUARE[name].parents
    for i, j in blocks:  # nonzero blocks: a joint, its parent's joint, joints on one link
        assert i == j or parents[j] == i or (parents[i] == parents[j] and parents[i] >= 0)
    if name.startswith("chain"):
        assert all(j - i <= 1 for i, j in blocks)


@pytest.mark.parametrize("order_name", ORDERS)
@pytest.mark.parametrize("name", SQUARE)
def test_det_m_is_det_of_the_inertias_times_det_h_bb_exactly(name: str, order_name: str) -> None:
    model, n = frames_as_declared(name), SQUARE[name].nv
    q, _, _ = rational_state(SQUARE[name], seed=n)
    world, at_rest = World(model, q, lambda x: x), [Fraction(0)] * n
    axes = [2 if link.turns else 5 for link in model.links]
    mass = []
    for j in range(n):
        unit = [Fraction(int(i == j)) for i in range(n)]
        mass.append(
            [
                F[axis]
                for F, axis in zip(
                    world.wrenches(at_rest, unit, [Fraction(0)] * 3), axes, strict=True
                )
            ]
        )
    expected = flint.fmpq_mat(n, n, [constants.rational(x) for row in mass for x in row]).det()

    def build(linkage: Linkage) -> list[Scalar]:
        cut_chain = partition(linkage)
        H_bb = cut_chain.constraint()
        pivots, remaining = eliminate(linkage, H_bb, ORDERS[order_name][0](neighbours(H_bb)))
        assert not remaining
        return [
            *(body.determinant for body in cut_chain.links),
            *(D for pivot in pivots for D in pivot.D),
        ]

    factors = exact_values(model, build, q)
    assert len(factors) == 6 * n
    assert all(x > 0 for x in factors)  # 𝓜 and H_bb are positive definite
    total = flint.fmpq(1)
    for x in factors:
        total *= constants.rational(x)
    assert total == expected
    assert (
        constants.rational(
            exact_values(
                model, lambda linkage: [CutJoints(linkage, ORDERS[order_name][0]).determinant()], q
            )[0]
        )
        == expected
    )


# -- the operational inertia -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [name for name in TELLING if methods.find("constraint_force").refusal(robot(name)) is None],
)
def test_the_inverse_operational_inertia_is_j_times_inverse_m_times_j_transposed(name: str) -> None:
    """Λ⁻¹ = J M⁻¹ Jᵀ at several frames of the robot; the tolerance is cond M (at most 1e6 here)
    times a few roundings.
    """
    mechanism, at = robot(name), states(name, 2)
    mass = run(program(name, "mass_matrix"), at)["M"]
    for frame in sorted(
        {*(f.name for f in mechanism.frames[-2:]), mechanism.frames[0].name, tip(mechanism)}
    ):
        J = run(symgen.program(mechanism, "jacobian", frame=frame), at)["J"]
        expected = J @ np.linalg.solve(mass, np.swapaxes(J, 1, 2))
        with constants.precision():
            model = complete_moments(models(mechanism)[0])
            tip_frame = model.frame(mechanism, frame)
        for function in (serial_mobility, parallel_mobility):
            mobility = derived(
                model,
                ["q"],
                lambda linkage, f=function: f(linkage)[0],  # type: ignore[misc]
                tip_frame,
            )
            actual = run(mobility, {"q": at["q"]})["found"].reshape(-1, 6, 6)
            assert np.abs(actual - expected).max() <= 1e-9 * (np.abs(expected).max() or 1.0), frame
            rows = np.array(mobility.outputs[0].rows).reshape(6, 6)
            assert (rows == rows.T).all()

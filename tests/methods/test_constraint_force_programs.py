"""`constraint_force`: the robots that it refuses, and the depth of its Programs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.derivation.model import find_indefinite_body
from symgen.mechanism.mechanism import Body, Mechanism, Part
from symgen.methods.constraint_force.elimination import leaf_first, odd_even
from symgen.pipeline.choose import methods_for
from symgen.pipeline.derive import attempt, derive
from symgen.support.errors import RequestError
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import pose
from tests.shared.robots_for_tests import (
    FEW,
    PURE,
    ROBOTS,
    draw,
    point_mass_arm,
    program,
    random_mechanism,
    robot,
    run,
)

# -- refused robots --------------------------------------------------------------------------------


def _with_second_body(second_part: Part | None) -> Mechanism:
    chain = random_mechanism(3, seed=2)
    bodies = (
        chain.bodies[0],
        Body("second", () if second_part is None else (second_part,)),
        chain.bodies[2],
    )
    return Mechanism("arm", chain.joints, bodies, chain.frames)


ROD = (Fraction(0), Fraction(0), Fraction(0), Fraction(1, 5), Fraction(0), Fraction(1, 5))
REFUSED = {
    "massless": (None, "has no mass"),
    "point mass": (
        Part("p", pose((Fraction(1), Fraction(0), Fraction(0))), Fraction(2)),
        "is a point mass",
    ),
    "thin rod": (
        Part("p", pose((Fraction(1), Fraction(2), Fraction(0))), Fraction(2), ROD),
        "has no moment of inertia about some axis through its mass centre",
    ),
}


@pytest.mark.parametrize("method", ["constraint_force", "constraint_force:parallel"])
@pytest.mark.parametrize("inertia", REFUSED)
def test_a_link_without_a_positive_definite_inertia_is_refused_by_name(
    inertia: str, method: str
) -> None:
    second_part, why = REFUSED[inertia]
    arm = _with_second_body(second_part)
    sentence = (
        f"constraint_force divides by the inertia of every link, and link 'second' of 'arm' {why};"
        " lump it into its neighbour with --lock, give it moments of inertia, or use another"
        " method (riccati, udut)"
    )
    assert methods.find(method).refusal(arm) == sentence
    with pytest.raises(RequestError) as caught:
        symgen.program(arm, "mass_matrix_solve", method)
    assert str(caught.value) == sentence
    assert method not in methods_for(arm, "mass_matrix_solve")


def test_parts_whose_sum_is_positive_definite_are_not_refused() -> None:
    sides = [
        Part(f"p{i}", pose(tuple(Fraction(int(i == j)) for j in range(3))), Fraction(1))
        for i in range(3)
    ]  # type: ignore[arg-type]
    chain = random_mechanism(1, seed=2)
    tripod = Mechanism("tripod", chain.joints, (Body("first", tuple(sides)),), chain.frames)
    assert find_indefinite_body(tripod) is None
    assert find_indefinite_body(point_mass_arm(1, 1)) == ("b0", "is a point mass")
    state = draw(tripod, 4)
    x = run(symgen.program(tripod, "mass_matrix_solve", "constraint_force"), state)["x"]
    mass = run(symgen.program(tripod, "mass_matrix"), state)["M"]
    assert (
        np.abs(mass[:, :, 0] * x - state["b"]).max() < 1e-12
    )  # a dozen roundings of numbers of order 10


# -- depth of its Programs -------------------------------------------------------------------------

SUITED = [name for name in ROBOTS if methods.find("constraint_force").refusal(robot(name)) is None]


@pytest.mark.parametrize("name", [name for name in FEW if name in SUITED])
def test_the_solve_of_constraint_force_differs_from_that_of_every_other_method(name: str) -> None:
    cut_program = program(name, "mass_matrix_solve", "constraint_force")
    for method in methods_for(robot(name), "mass_matrix_solve"):
        other_program = program(name, "mass_matrix_solve", method)
        assert method == "constraint_force" or [r.op for r in other_program.rows] != [
            r.op for r in cut_program.rows
        ]


@cache
def _depth(n: int, function: str, method: str, general: bool = False, last: bool = True) -> int:
    """Return the depth of a Program; with `last=False`, before the final passes.

    The final passes reorder additions, which makes 4 links deeper and 16 links less deep.
    """
    chain = random_mechanism(n, seed=1, joints=PURE, general=general)
    if not last:
        return attempt(chain, function, method, ProgramOptions()).program(longest=4 * 10**7).depth
    return derive(chain, function, method, ProgramOptions(), 10**7).depth


@pytest.mark.slow
def test_the_depth_of_the_parallel_variant_grows_by_a_constant_per_doubling() -> None:
    """depth(2N) − depth(N) is constant within 15 %: one more round of cyclic reduction.

    docs/explanation/reproduce/fijany-depth.csv has forward dynamics and Λ⁻¹ up to 256 links.
    """
    depths = [_depth(n, "mass_matrix_solve", "constraint_force:parallel") for n in (8, 16, 32)]
    steps = [b - a for a, b in pairwise(depths)]
    middle = (max(steps) + min(steps)) / 2
    assert all(abs(step - middle) <= 0.15 * middle for step in steps), steps


@pytest.mark.slow
def test_the_depth_of_the_parallel_inverse_is_logarithmic() -> None:
    """In odd-even order a column of L⁻¹ H_abᵀ meets two joints per round, which bounds the sum of
    each entry.
    """
    depths = [_depth(n, "inverse_mass_matrix", "constraint_force:parallel") for n in (4, 8, 16)]
    serial = [
        _depth(n, "inverse_mass_matrix", "constraint_force") for n in (3, 6, 12)
    ]  # 16 links take seconds
    assert depths[2] - depths[1] <= 1.15 * (depths[1] - depths[0])
    assert serial[2] - serial[1] >= 1.7 * (serial[1] - serial[0])


@pytest.mark.parametrize(
    "method", [m for m in methods.providers("mass_matrix_solve") if ":" not in m]
)
def test_serial_methods_grow_at_least_linearly_in_depth(method: str) -> None:
    if (
        methods.find(method).refusal(random_mechanism(16, seed=1, joints=PURE, general=False))
        is not None
    ):
        pytest.skip("the method refuses this robot by name")
    small, middle, large = (_depth(n, "mass_matrix_solve", method, last=False) for n in (4, 8, 16))
    assert large - middle >= 1.7 * (middle - small)
    assert (
        large > _depth(16, "mass_matrix_solve", "constraint_force:parallel")
        or method != "constraint_force"
    )


@pytest.mark.slow
def test_the_depth_of_the_parallel_variant_is_logarithmic_on_a_tree() -> None:
    """The tree is a main chain with a branch of two links at every joint.

    The elimination removes all branches at once, then halves the chain in each round.
    """

    def branched(n: int) -> Mechanism:
        chain = random_mechanism(n, seed=4, general=False)
        parents = [
            -1,
            *(i - 1 if i % 3 else i - 3 for i in range(1, n)),
        ]  # 0 ← 3 ← 6 …, and a branch of two from each
        joints = tuple(
            replace(joint, parent=parent)
            for joint, parent in zip(chain.joints, parents, strict=True)
        )
        return replace(chain, joints=joints, name=f"branched{n}")

    depths, serial = (
        [
            derive(branched(n), "mass_matrix_solve", method, ProgramOptions(), 10**7).depth
            for n in (6, 12, 24)
        ]
        for method in ("constraint_force:parallel", "constraint_force")
    )
    assert depths[2] - depths[1] <= 1.5 * (depths[1] - depths[0])
    assert serial[2] - serial[1] >= 1.7 * (serial[1] - serial[0])


def test_odd_even_order_is_block_cyclic_reduction_on_a_chain() -> None:
    neighbours = {i: {j for j in (i - 1, i + 1) if 0 <= j < 8} for i in range(8)}
    assert odd_even(neighbours) == [7, 5, 3, 1, 6, 2, 4, 0]
    assert leaf_first(neighbours) == [7, 6, 5, 4, 3, 2, 1, 0]

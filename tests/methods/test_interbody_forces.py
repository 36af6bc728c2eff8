"""`interbody_forces`, the wrench of the parent on each link: closed forms, weights, regrouped
inertias, depth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import symgen
from symgen.derivation.model import regroup
from symgen.derivation.spatial import wrench_to_parent
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Part
from symgen.methods.constraint_force import forces as by_constraints
from symgen.methods.riccati import forces as by_recursion
from symgen.pipeline.choose import methods_for
from symgen.pipeline.derive import derive, models
from symgen.reference.precision import Array
from symgen.verification.report import Report
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, pose
from tests.shared.oracles import random_tree
from tests.shared.robots_for_tests import (
    BALLS,
    FEW,
    PURE,
    TELLING,
    draw,
    largest,
    program,
    random_mechanism,
    robot,
    run,
    states,
)

METHODS = ("constraint_force", "constraint_force:parallel", "riccati")
ROUND = (Fraction(1), Fraction(0), Fraction(0), Fraction(1), Fraction(0), Fraction(1))


def two_links(
    gravity: tuple[int, int, int], axis: tuple[Fraction, Fraction, Fraction] = Z_AXIS
) -> Mechanism:
    """Return two links of 2 kg and 3 kg, each mass 1 m along x from its revolute joint, the joints
    1 m apart.
    """
    joints = tuple(
        Joint(f"j{i}", "revolute", i - 1, pose(X_AXIS) if i else (), axis) for i in range(2)
    )
    bodies = tuple(
        Body(f"b{i}", (Part(f"b{i}", pose(X_AXIS), Fraction(m), ROUND),))
        for i, m in enumerate((2, 3))
    )
    frames = (Frame("base", BASE), Frame("b0", 0), Frame("b1", 1))
    x, y, z = (Fraction(g) for g in gravity)
    return Mechanism("two", joints, bodies, frames, gravity=(x, y, z))


def forces(
    mechanism: Mechanism, method: str, q: list[float], tau: list[float]
) -> tuple[Array, Array]:
    """Return F (NV, 6) and a (NV,) at rest."""
    results = run(
        symgen.program(mechanism, "interbody_forces", method),
        {"q": np.array([q]), "v": np.zeros((1, len(q))), "tau": np.array([tau])},
    )
    return results["F"][0], results["a"][0]


# -- closed forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("gravity", "q", "tau", "first", "second"),
    [
        pytest.param(
            (10, 0, 0), [0, 0], [0, 0], [0, 0, 0, -50, 0, 0], [0, 0, 0, -30, 0, 0], id="hanging"
        ),
        pytest.param(
            (0, -10, 0), [0, 0], [80, 30], [0, 0, 80, 0, 50, 0], [0, 0, 30, 0, 30, 0], id="held out"
        ),
        pytest.param(
            (0, -10, 0),
            [np.pi / 2, -np.pi / 2],
            [30, 30],
            [0, 0, 30, 0, 50, 0],
            [0, 0, 30, 0, 30, 0],
            id="elbow up",
        ),
        pytest.param(
            (0, 0, -10),
            [np.pi / 2, 0],
            [0, 0],
            [80, 0, 0, 0, 0, 50],
            [30, 0, 0, 0, 0, 30],
            id="weight on the bearings",
        ),
    ],
)
def test_two_links_at_rest_carry_their_weight(
    method: str,
    gravity: tuple[int, int, int],
    q: list[float],
    tau: list[float],
    first: list[float],
    second: list[float],
) -> None:
    """The base carries 5 kg and the first link 3 kg; the forces on the links point upwards."""
    F, a = forces(two_links(gravity), method, q, tau)
    assert np.abs(F - [first, second]).max() < 1e-12  # a few roundings of numbers of order 100
    assert np.abs(a).max() < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_a_prismatic_joint_transmits_the_driving_force_and_the_weight(method: str) -> None:
    """2 kg slide along x, the mass centre 1 m above the rail: 6 N accelerate it; the rail carries
    20 N and a moment.
    """
    part = Part("cart", pose((Fraction(0), Fraction(0), Fraction(1))), Fraction(2), ROUND)
    cart = Mechanism(
        "cart",
        (Joint("rail", "prismatic", BASE, (), X_AXIS),),
        (Body("cart", (part,)),),
        (Frame("cart", 0),),
        gravity=(Fraction(0), Fraction(0), Fraction(-10)),
    )
    F, a = forces(cart, method, [0.5], [6.0])
    assert a.tolist() == [3.0]
    assert np.abs(F - [[0, 6, 0, 6, 0, 20]]).max() < 1e-14


@pytest.mark.parametrize("method", METHODS)
def test_a_payload_on_one_branch_does_not_change_wrenches_of_another(method: str) -> None:
    """A payload on one of two arms changes the wrenches at its own joint and at the trunk, not at
    the other arm.
    """
    chain = random_mechanism(3, seed=5)
    tree = replace(chain, joints=(*chain.joints[:2], replace(chain.joints[2], parent=0)))
    state = draw(tree, 1, BALLS, payload="link1")
    with BALLS.working():
        state["v"] = 0 * state["v"]
        program_ = symgen.program(tree, "interbody_forces", method, payload="link1")
        hold = symgen.program(tree, "gravity_force", payload="link1")
        forces_by_load = []
        for load in (state["payload"], 0 * state["payload"]):
            tau = run(hold, {**state, "payload": load}, BALLS)["g"]
            forces_by_load.append(
                run(program_, {**state, "payload": load, "tau": tau}, BALLS)["F"][0]
            )
        difference = forces_by_load[0] - forces_by_load[1]
        weight = -state["payload"][0, 0] * BALLS.array(list(tree.gravity))
        assert largest(difference[2]) < 1e-40
        assert max(largest(difference[i, 3:] - weight) for i in (0, 1)) < 1e-40
        assert min(largest(difference[i, :3]) for i in (0, 1)) > 1e-3


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*FEW, "panda", "square_tree6", "planar_arm"])
def test_at_rest_every_joint_transmits_the_weight_of_its_descendants(
    name: str,
) -> None:
    """With tau = g(q), a = 0, and the force on every link is the weight of the link and all its
    descendants.
    """
    mechanism = robot(name)
    state = dict(states(name, 1, BALLS))
    with BALLS.working():
        state["v"] = 0 * state["v"]
        state["tau"] = run(program(name, "gravity_force"), state, BALLS)["g"]
        mass = [sum(part.mass for part in body.parts) for body in mechanism.bodies]
        for i in reversed(range(mechanism.nv)):
            if (parent := mechanism.joints[i].parent) != BASE:
                mass[parent] += mass[i]
        weight = np.array([[-m * g for g in mechanism.gravity] for m in mass])
        for method in methods_for(mechanism, "interbody_forces"):
            results = run(program(name, "interbody_forces", method), state, BALLS)
            assert largest(results["F"][0, :, 3:] - BALLS.array(weight)) < 1e-40 * largest(
                BALLS.array(weight)
            )
            assert largest(results["a"]) < 1e-40


# -- a link's own inertia --------------------------------------------------------------------------


@pytest.fixture
def regrouping_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let symgen regroup inertias for this function, which is otherwise excluded."""
    monkeypatch.setitem(
        FUNCTIONS, "interbody_forces", replace(FUNCTIONS["interbody_forces"], own_inertia=False)
    )


def test_regrouping_removes_the_mass_of_a_revolute_link() -> None:
    """The next test relies on it: a regrouped link has no mass, so that its joint would carry no
    weight.
    """
    arm = two_links((10, 0, 0))
    reframed, regrouped_model = models(arm)
    assert [float(link.inertia.m) for link in reframed.links] == [2, 3]
    assert [float(link.inertia.m) for link in regrouped_model.links] == [0, 0]
    assert regrouped_model == regroup(reframed)


@pytest.mark.usefixtures("regrouping_allowed")
def test_forces_of_regrouped_inertias_lack_the_weight() -> None:
    """Joint torques and accelerations stay the same; only the reference's forces show the error."""
    arm = two_links((10, 0, 0))
    program_ = derive(arm, "interbody_forces", "riccati", ProgramOptions())
    state_at_rest = {"q": np.zeros((1, 2)), "v": np.zeros((1, 2)), "tau": np.zeros((1, 2))}
    assert np.abs(run(program_, state_at_rest)["F"][0, 1, 3:]).max() < 1e-12
    report = verified(arm, lambda: program_)
    assert {check.kind for check in report.failures} == {"algebra", "floating"}


@pytest.mark.parametrize("name", TELLING)
def test_the_methods_agree_on_every_force(name: str) -> None:
    """The methods are independent: one inverts each link's inertia, the other sums composite
    inertias.
    """
    state, suited = states(name, 1, BALLS), methods_for(robot(name), "interbody_forces")
    forces_by_method = [
        run(program(name, "interbody_forces", m), state, BALLS)["F"] for m in METHODS if m in suited
    ]
    with BALLS.working():
        for other_forces in forces_by_method[1:]:
            assert largest(other_forces - forces_by_method[0]) <= 1e-40 * largest(
                forces_by_method[0]
            )


def test_the_methods_have_different_programs() -> None:
    for name in FEW:
        suited = [m for m in METHODS if m in methods_for(robot(name), "interbody_forces")]
        ops = {m: [r.op for r in program(name, "interbody_forces", m).rows] for m in suited}
        assert "constraint_force" not in ops or ops["constraint_force"] != ops["riccati"]
    assert (
        program("planar_arm", "interbody_forces").method == "riccati"
    )  # constraint_force refuses thin rods


# -- planted errors --------------------------------------------------------------------------------


def verified(mechanism: Mechanism, derived: Callable[[], symgen.Program]) -> Report:
    """Verify a Program together with forward dynamics, whose accelerations it must reproduce."""
    helpers = {"forward_dynamics": symgen.program(mechanism, "forward_dynamics")}
    return verify_programs(
        Subject(mechanism, {"interbody_forces": derived()}, states=3, helpers=helpers)
    )


@pytest.mark.slow
def test_a_moment_without_its_lever_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = random_tree(31, 4, branching=0.5)
    assert verified(
        tree, lambda: derive(tree, "interbody_forces", "riccati", ProgramOptions())
    ).passed
    monkeypatch.setattr(
        by_recursion,
        "wrench_to_parent",
        lambda rotation, shift, n, f: wrench_to_parent(
            rotation, shift * rotation.factors[0][0][0].derivation.zero, n, f
        ),
    )
    report = verified(tree, lambda: derive(tree, "interbody_forces", "riccati", ProgramOptions()))
    assert {check.kind for check in report.failures} == {"algebra", "floating", "identities"}


@pytest.mark.slow
def test_forces_in_the_axes_of_the_wrong_link_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = random_tree(31, 4, branching=0.5)
    straight = by_constraints.axes_by_sweep
    monkeypatch.setattr(
        by_constraints, "axes_by_sweep", lambda linkage: [straight(linkage)[0]] * len(linkage)
    )
    report = verified(
        tree, lambda: derive(tree, "interbody_forces", "constraint_force", ProgramOptions())
    )
    assert {check.kind for check in report.failures} >= {"algebra", "identities"}


# -- depth -----------------------------------------------------------------------------------------


@cache
def depth(n: int, method: str) -> int:
    mechanism = random_mechanism(n, seed=1, joints=PURE, general=False)
    return derive(mechanism, "interbody_forces", method, ProgramOptions(), 10**7).depth


@pytest.mark.slow
def test_the_depth_of_the_parallel_variant_grows_by_a_constant_per_doubling() -> None:
    """Each doubling adds one round of cyclic reduction and doubles the prefix scans' length."""
    depths = [depth(n, "constraint_force:parallel") for n in (6, 12, 24)]
    steps = [b - a for a, b in pairwise(depths)]
    print(depths, steps)
    middle = (max(steps) + min(steps)) / 2
    assert all(abs(step - middle) <= 0.15 * middle for step in steps), steps


@pytest.mark.slow
def test_the_depth_of_the_serial_variant_grows_linearly() -> None:
    small, middle, large = (depth(n, "constraint_force") for n in (6, 12, 24))
    assert large - middle >= 1.7 * (middle - small)
    assert depth(24, "constraint_force:parallel") < large / 4

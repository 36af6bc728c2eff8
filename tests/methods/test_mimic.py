"""Joints that follow others: q = G q_r + q_0, judged by Gᵀ of the independent robot, by Pinocchio, and by planted errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.certificate.bodies import Bodies
from symgen.certificate.divisors import floors
from symgen.certificate.ranges import declared_ranges
from symgen.derivation import coupling
from symgen.ir.program import Numbers, Port, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, derive
from symgen.reference.arrays import transposed
from symgen.reference.mechanics import Reference
from symgen.reference.motion import Motion
from symgen.reference.precision import Array, arb, atan2
from symgen.reference.states import draw_states
from symgen.support.errors import RequestError
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests.shared.descriptions import public_urdf
from tests.shared.mimic_robots import GRIPPER, anyhow

EQUAL = 1e-40
FRAME = "right"
SOLVED = ("forward_dynamics", "inverse_mass_matrix", "mass_matrix_solve", "mass_matrix_determinant")
PLAIN = [
    name
    for name, one in FUNCTIONS.items()
    if not one.needs_inverse and not one.by_pivots and not one.counts("NR")
]


@pytest.fixture(scope="module")
def gripper() -> Mechanism:
    return symgen.load(GRIPPER)


class Judge:
    """A coupled robot's states, and the independent robot's at G q + q_0, in balls."""

    def __init__(self, robot: Mechanism, count: int = 2) -> None:
        self.robot, self.scalars = robot, arb(60)
        with self.scalars.working():
            self.given = {
                name: self.scalars.array(values)
                for name, values in draw_states(robot, count, 3).items()
            }
            rows = robot.uncoupled.nv, robot.nv
            self.G, offset = (
                self.scalars.array(np.zeros(rows, dtype=int)),
                self.scalars.array(np.zeros(rows[0], dtype=int)),
            )
            for i, follows in enumerate(robot.follows):
                lead = robot.v_slices[i if follows is None else follows.leader].start
                self.G[i, lead] = self.scalars.constant(
                    Fraction(1) if follows is None else follows.multiplier
                )
                offset[i] = self.scalars.constant(
                    Fraction(0) if follows is None else follows.offset
                )
            self.whole = {
                **self.given,
                **{name: self.given[name] @ self.G.T for name in ("v", "a")},
                **{name: self.given[name] @ self.G.T + offset for name in ("q", "q_next")},
            }
        self.lead = [i for i, follows in enumerate(robot.follows) if follows is None]
        self.options = ProgramOptions(
            frame=FRAME if FRAME in [one.name for one in robot.frames] else None
        )
        self.reference = Reference(robot.uncoupled, self.scalars, frame=self.options.frame)

    def program(self, function: str, method: str | None = None) -> dict[str, Array]:
        """What the coupled robot's Program gives; derived anew by a method that is named."""
        made = (
            build.build_program(self.robot, function, None, self.options)
            if method is None
            else derive.derive(self.robot, function, method, self.options)
        )
        with self.scalars.working():
            count, shapes = len(self.given["q"]), {port.name: port.shape for port in made.outputs}
            given = {
                port.name: list(self.given[port.name].reshape(count, -1).T) for port in made.inputs
            }
            found = evaluate(
                made, given, Numbers(self.scalars.constant, np.sin, np.cos, np.sqrt, np.log, atan2)
            )
            return {
                name: np.stack(
                    [np.broadcast_to(np.asarray(x, dtype=object), (count,)) for x in entries],
                    axis=-1,
                ).reshape(count, *shapes[name])
                for name, entries in found.items()
            }

    def independent(self, function: str) -> dict[str, Array]:
        """Of all joints, at G q + q_0, reduced: forces by Gᵀ, positions to those of the leaders."""
        what = FUNCTIONS[function]
        known = self.reference.evaluate(
            function, {a.name: self.whole[a.name] for a in what.arguments}
        )
        with self.scalars.working():
            return {
                one.name: self.reduced(one.name, one.shape, known[one.name]) for one in what.results
            }

    def reduced(self, name: str, shape: tuple[Any, ...], values: Array) -> Array:
        if name in ("q_next", "delta"):
            return np.asarray(values[..., self.lead])
        for axis, size in enumerate(shape, -len(shape)):
            if size == "NV":
                values = np.moveaxis(np.moveaxis(values, axis, -1) @ self.G, -1, axis)
        return values

    def mass(self) -> Array:
        with self.scalars.working():
            return np.asarray(self.G.T @ self.reference.mass_matrix(self.whole["q"]) @ self.G)

    def far(self, a: Array, b: Array) -> float:
        """How far apart they are, by the largest."""
        with self.scalars.working():
            size = max(abs(x).upper() for x in np.asarray(b).ravel())
            apart = a - np.broadcast_to(b, a.shape)
            return float(max(abs(x).upper() for x in apart.ravel()) / size)


@pytest.fixture(scope="module")
def judge(gripper: Mechanism) -> Judge:
    return Judge(gripper)


# -- the functions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", PLAIN)
def test_a_function_is_that_of_all_joints_reduced(judge: Judge, function: str) -> None:
    """By the method that is chosen, in 40 digits; the reference of all joints knows nothing of followers."""
    wanted, found = judge.independent(function), judge.program(function)
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert judge.far(found[name], values) < EQUAL, name


def test_what_solves_solves_with_the_reduced_matrix(judge: Judge) -> None:
    M, found = judge.mass(), {function: judge.program(function) for function in SOLVED}
    a = found["forward_dynamics"]["a"]
    with judge.scalars.working():
        again = (
            judge.reference.inverse_dynamics(judge.whole["q"], judge.whole["v"], a @ judge.G.T)
            @ judge.G
        )
        assert judge.far(again, judge.given["tau"]) < EQUAL
        assert (
            judge.far(
                M @ found["inverse_mass_matrix"]["Minv"],
                judge.scalars.array(np.eye(judge.robot.nv)),
            )
            < EQUAL
        )
        assert (
            judge.far((M @ found["mass_matrix_solve"]["x"][..., None])[..., 0], judge.given["b"])
            < EQUAL
        )
        n = judge.robot.nv
        det = np.array([flint.arb_mat(n, n, list(one.ravel())).det() for one in M], dtype=object)
        assert judge.far(found["mass_matrix_determinant"]["det"], det) < EQUAL


def test_everything_else_is_verified(gripper: Mechanism) -> None:
    """Against the coupled reference, and the functions against each other."""
    report = symgen.verify(
        gripper,
        [
            "forward_dynamics",
            "mass_matrix_log_determinant_gradient",
            "link_accelerations",
            "step",
            "interbody_forces",
            "operational_inertia",
            "forward_dynamics_derivatives",
            "base_regressor",
            "base_parameters",
            "inverse_dynamics:jvp",
            "coriolis_matrix",
        ],
        4,
        frame="left_pad",
        task_rows="wz",
        payload="rack",
        wrench="right",
    )
    assert report.passed, str(report)


def test_a_gear_of_many_turns_is_verified() -> None:
    """An angle of hundreds of radians is off by hundreds of round-offs, and so is what it turns, a wheel here."""
    text = (
        GRIPPER.replace("multiplier = 0.75, offset = 0.05", "multiplier = -150, offset = 3.5")
        .replace(", limits = { lower = 0, upper = 0.8 }", "")
        .replace("limits = { lower = 0.05, upper = 0.5, velocity = 1.5 }", "")
    )
    report = symgen.verify(
        symgen.load(text), ["link_poses", "inverse_dynamics", "mass_matrix"], 4, compiled=False
    )
    assert report.passed, str(report)


def test_coriolis_keeps_the_energy(judge: Judge) -> None:
    """Ṁ − 2C is skew: C + Cᵀ is the slope of Gᵀ M G along v."""
    C, rate = judge.program("coriolis_matrix")["C"], judge.independent("coriolis_matrix")["C"]
    with judge.scalars.working():
        assert judge.far(C + transposed(C), rate + transposed(rate)) < EQUAL


def test_links_of_followers_move(judge: Judge, gripper: Mechanism) -> None:
    """The pad on its leader's link turns back what this turns: it keeps its axes on the wrist."""
    turns = judge.program("link_poses")["R_links"].astype(float)
    wrist, pad = (gripper.joint_index(name) for name in ("roll", "left_tip"))
    assert np.allclose(turns[:, wrist], turns[:, pad])
    assert not np.allclose(turns[:, wrist], turns[:, gripper.joint_index("other_knuckle")])


# -- planted errors ----------------------------------------------------------------------------------------------------------


def _unscaled(entries: Any, rows: Any) -> list[Any]:
    return [entries[row.leader] for row in rows]


def _once(self: coupling.MimicCoupling, rows: coupling.Triangle) -> coupling.Triangle:
    """Gᵀ M G in which an entry between two joints of one leader counts once."""
    found = TRIANGLE(self, rows)
    less = [
        (i, j)
        for i, row in enumerate(self.v)
        for j in range(i)
        if self.v[j].leader == row.leader and j in rows[i]
    ]
    for i, j in less:
        entry = rows[i][j]
        found[self.v[i].leader][self.v[i].leader] += entry * entry.home.constant(
            -self.v[i].multiplier * self.v[j].multiplier
        )
    return found


TRIANGLE, SPREAD = coupling.MimicCoupling.reduce_triangle, coupling._expand


@pytest.mark.parametrize(
    ("where", "name", "instead", "function", "method"),
    [
        (coupling, "_expand", _unscaled, "kinetic_energy", "newton_euler"),
        (coupling, "_expand", _unscaled, "link_poses", "kinematics"),
        (
            coupling.MimicCoupling,
            "reduce_forces",
            lambda self, forces: self.leader_entries(forces),
            "inverse_dynamics",
            "newton_euler",
        ),
        (
            coupling.MimicCoupling,
            "reduce_forces",
            lambda self, forces: self.leader_entries(forces),
            "jacobian",
            "kinematics",
        ),
        (coupling.MimicCoupling, "reduce_triangle", _once, "mass_matrix", "composite_body"),
    ],
    ids=["rates", "places", "forces", "columns", "pairs"],
)
def test_a_factor_that_is_dropped_is_seen(
    judge: Judge,
    monkeypatch: pytest.MonkeyPatch,
    where: Any,
    name: str,
    instead: Callable[..., Any],
    function: str,
    method: str,
) -> None:
    wanted = judge.independent(function)
    assert all(
        judge.far(values, wanted[name_]) < EQUAL
        for name_, values in judge.program(function, method).items()
    )
    monkeypatch.setattr(where, name, instead)
    assert any(
        judge.far(values, wanted[name_]) > 1e-6
        for name_, values in judge.program(function, method).items()
    )


@pytest.mark.parametrize("name", ["joint_rates", "joint_coordinates"])
def test_a_factor_that_the_reference_drops_is_seen(
    gripper: Mechanism, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def unscaled(self: Motion, index: int, x: Array) -> Array:
        follows = self.mechanism.follows[index]
        slices = self.mechanism.q_slices if name == "joint_coordinates" else self.mechanism.v_slices
        return x[..., slices[index if follows is None else follows.leader]]

    monkeypatch.setattr(Motion, name, unscaled)
    assert not symgen.verify(gripper, ["inverse_dynamics"], 2, compiled=False).passed


# -- methods -----------------------------------------------------------------------------------------------------------------


def test_methods_along_the_tree_refuse_in_a_sentence(gripper: Mechanism) -> None:
    for name in ("riccati", "fixman", "constraint_force", "udut", "udut:links"):
        assert not methods.find(name).supports_mimic
    with pytest.raises(
        RequestError,
        match="riccati does not support mimic joints, and joint 'left_tip' of 'gripper' mimics",
    ):
        symgen.program(gripper, "forward_dynamics", method="riccati")
    with pytest.raises(RequestError, match="'gripper' has none"):
        symgen.program(gripper.uncoupled, "link_accelerations", method="composite_body:coupled")


def test_elimination_fills_in_what_followers_couple() -> None:
    """Two arms on one base, a joint of the second after one of the first: M and its inverse are full where they meet."""
    arms = symgen.load(TWO_ARMS)
    assert arms.nv == 3
    judge = Judge(arms)
    with judge.scalars.working():
        found = judge.program("inverse_mass_matrix")["Minv"]
        assert judge.far(judge.mass() @ found, judge.scalars.array(np.eye(3))) < EQUAL
    assert all(abs(float(x)) > 1e-9 for x in found[0].ravel())


TWO_ARMS = """
name = "arms"
mimic = "couple"
""" + "".join(
    f"""
[[body]]
name = "{side}_{part}"
parent = "{on}"
joint = {{ name = "{side}{part}", type = "revolute", axis = [0, {y}, 1], xyz = [0.2, 0.1, 0]{mimic} }}
mass = 1.5
centre = [0.1, 0.02, 0.03]
inertia = [0.01, 0, 0.001, 0.02, 0, 0.02]
"""
    for side, part, on, y, mimic in (
        ("a", "1", "base", "0", ""),
        ("a", "2", "a_1", "0.5", ""),
        ("b", "1", "base", "0.3", ""),
        ("b", "2", "b_1", "0.2", ', mimic = { joint = "a2", multiplier = 2 }'),
    )
)


# -- certificates ------------------------------------------------------------------------------------------------------------


def test_pivots_are_never_below_their_certificates(gripper: Mechanism) -> None:
    """H^T M H of what moves alone, a follower's times the square of its factor: at most the pivots of Gᵀ M G."""
    judge, bodies = Judge(gripper, 8), Bodies(gripper, declared_ranges(gripper))
    owns = [float(bodies.own_inertia(k)) for k in range(gripper.nv)]
    for M in judge.mass().astype(float):
        for k in range(gripper.nv):
            pivot = 1 / np.linalg.inv(M[k:, k:])[0, 0]
            assert 0 < owns[k] <= pivot
    alone = [
        float(Bodies(gripper.uncoupled, declared_ranges(gripper.uncoupled)).own_inertia(i))
        for i in range(len(gripper.joints))
    ]
    assert owns[1] == pytest.approx(
        alone[1] + alone[3] * 0.75**2 + alone[4] * 0.075**2
    )  # its own link carries the pad


@pytest.mark.parametrize("seed", [0, 7])
def test_anybody_may_follow_anybody(seed: int) -> None:
    """Joints of every type of one degree, after what they carry, what carries them, or neither; what is certified holds."""
    robot = anyhow(seed)
    asked = ["inverse_dynamics", "forward_dynamics", "coriolis_matrix", "base_regressor"]
    report = symgen.verify(robot, asked, 2, compiled=False)
    assert report.passed, str(report)
    made, drawn = symgen.program(robot, "forward_dynamics"), draw_states(robot, 32)
    found = floors(robot, made, ProgramOptions())
    seen = replace(made, outputs=tuple(Port(f"row{one.row}", (), (one.row,)) for one in found))
    values = machine_runner(seen)(
        {port.name: drawn[port.name].astype(float) for port in made.inputs}
    )
    for one in found:
        assert (
            one.reason if one.floor is None else values[f"row{one.row}"].min() >= float(one.floor)
        )


def test_divisors_are_certified_or_said_not_to_be(gripper: Mechanism) -> None:
    for robot, certified in ((gripper, True), (symgen.load(TWO_ARMS), False)):
        made = symgen.program(robot, "mass_matrix_solve")
        found = floors(robot, made, ProgramOptions())
        assert found
        assert all(one.certified or one.reason for one in found)
        assert all(one.certified for one in found) or not certified


def test_coupled_fingers_cost_little() -> None:
    """Of Panda: at most 1.05 times what it takes with its fingers locked, and 250 more."""
    path = public_urdf("panda.urdf")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    fingers = ["panda_finger_joint1", "panda_finger_joint2"]
    coupled, locked = (
        symgen.program(symgen.load(path, **how), "forward_dynamics").cost
        for how in ({"mimic": "couple"}, {"lock": fingers})
    )
    assert coupled <= 1.05 * locked + 250

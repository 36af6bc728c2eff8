"""Mimic joints, q = G q_r + q_0: comparison with the independent robot reduced by Gᵀ, and planted
errors.
"""

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
from symgen.certificate.divisors import certify_divisors
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
    for name, function_ in FUNCTIONS.items()
    if not function_.needs_inverse and not function_.by_pivots and not function_.counts("NR")
]


@pytest.fixture(scope="module")
def gripper() -> Mechanism:
    return symgen.load(GRIPPER)


class Judge:
    """States of a coupled robot, and states of the independent robot at G q + q_0, in ball
    arithmetic.
    """

    def __init__(self, robot: Mechanism, count: int = 2) -> None:
        self.robot, self.scalars = robot, arb(60)
        with self.scalars.working():
            self.states = {
                name: self.scalars.array(values)
                for name, values in draw_states(robot, count, 3).items()
            }
            rows = robot.uncoupled.nv, robot.nv
            self.G, offset = (
                self.scalars.array(np.zeros(rows, dtype=int)),
                self.scalars.array(np.zeros(rows[0], dtype=int)),
            )
            for i, coupling in enumerate(robot.joint_couplings):
                lead = robot.v_slices[i if coupling is None else coupling.leader].start
                self.G[i, lead] = self.scalars.constant(
                    Fraction(1) if coupling is None else coupling.multiplier
                )
                offset[i] = self.scalars.constant(
                    Fraction(0) if coupling is None else coupling.offset
                )
            self.all_joints = {
                **self.states,
                **{name: self.states[name] @ self.G.T for name in ("v", "a")},
                **{name: self.states[name] @ self.G.T + offset for name in ("q", "q_next")},
            }
        self.lead = [i for i, coupling in enumerate(robot.joint_couplings) if coupling is None]
        self.options = ProgramOptions(
            frame=FRAME if FRAME in [frame_.name for frame_ in robot.frames] else None
        )
        self.reference = Reference(robot.uncoupled, self.scalars, frame=self.options.frame)

    def program(self, function: str, method: str | None = None) -> dict[str, Array]:
        """Evaluate the coupled robot's Program; a named method derives it without the cache."""
        program_ = (
            build.build_program(self.robot, function, None, self.options)
            if method is None
            else derive.derive(self.robot, function, method, self.options)
        )
        with self.scalars.working():
            count, shapes = (
                len(self.states["q"]),
                {port.name: port.shape for port in program_.outputs},
            )
            inputs = {
                port.name: list(self.states[port.name].reshape(count, -1).T)
                for port in program_.inputs
            }
            results = evaluate(
                program_,
                inputs,
                Numbers(self.scalars.constant, np.sin, np.cos, np.sqrt, np.log, atan2),
            )
            return {
                name: np.stack(
                    [np.broadcast_to(np.asarray(x, dtype=object), (count,)) for x in entries],
                    axis=-1,
                ).reshape(count, *shapes[name])
                for name, entries in results.items()
            }

    def independent(self, function: str) -> dict[str, Array]:
        """Evaluate the independent robot at G q + q_0 and reduce forces by Gᵀ, positions to those
        of leaders.
        """
        function_ = FUNCTIONS[function]
        results = self.reference.evaluate(
            function, {a.name: self.all_joints[a.name] for a in function_.arguments}
        )
        with self.scalars.working():
            return {
                array.name: self.reduced(array.name, array.shape, results[array.name])
                for array in function_.results
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
            return np.asarray(self.G.T @ self.reference.mass_matrix(self.all_joints["q"]) @ self.G)

    def relative_error(self, a: Array, b: Array) -> float:
        """Return the largest difference of a and b, relative to the largest entry of b."""
        with self.scalars.working():
            size = max(abs(x).upper() for x in np.asarray(b).ravel())
            difference = a - np.broadcast_to(b, a.shape)
            return float(max(abs(x).upper() for x in difference.ravel()) / size)


@pytest.fixture(scope="module")
def judge(gripper: Mechanism) -> Judge:
    return Judge(gripper)


# -- the functions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("function", PLAIN)
def test_every_function_equals_the_reduced_function_of_all_joints(
    judge: Judge, function: str
) -> None:
    """The chosen method agrees to 40 digits with the independent robot without mimic joints."""
    expected, actual = judge.independent(function), judge.program(function)
    assert actual.keys() == expected.keys()
    for name, values in expected.items():
        assert judge.relative_error(actual[name], values) < EQUAL, name


def test_solving_functions_use_the_reduced_mass_matrix(judge: Judge) -> None:
    M, results = judge.mass(), {function: judge.program(function) for function in SOLVED}
    a = results["forward_dynamics"]["a"]
    with judge.scalars.working():
        tau = (
            judge.reference.inverse_dynamics(
                judge.all_joints["q"], judge.all_joints["v"], a @ judge.G.T
            )
            @ judge.G
        )
        assert judge.relative_error(tau, judge.states["tau"]) < EQUAL
        assert (
            judge.relative_error(
                M @ results["inverse_mass_matrix"]["Minv"],
                judge.scalars.array(np.eye(judge.robot.nv)),
            )
            < EQUAL
        )
        assert (
            judge.relative_error(
                (M @ results["mass_matrix_solve"]["x"][..., None])[..., 0], judge.states["b"]
            )
            < EQUAL
        )
        n = judge.robot.nv
        det = np.array(
            [flint.arb_mat(n, n, list(matrix.ravel())).det() for matrix in M], dtype=object
        )
        assert judge.relative_error(results["mass_matrix_determinant"]["det"], det) < EQUAL


@pytest.mark.slow
def test_other_functions_of_a_mimic_robot_verify(gripper: Mechanism) -> None:
    """The functions are compared with the coupled reference and with each other."""
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


@pytest.mark.slow
def test_a_mimic_joint_with_a_large_multiplier_verifies() -> None:
    """An angle of hundreds of radians has an error of hundreds of round-offs, which the bound must
    include.
    """
    text = (
        GRIPPER.replace("multiplier = 0.75, offset = 0.05", "multiplier = -150, offset = 3.5")
        .replace(", limits = { lower = 0, upper = 0.8 }", "")
        .replace("limits = { lower = 0.05, upper = 0.5, velocity = 1.5 }", "")
    )
    report = symgen.verify(
        symgen.load(text), ["link_poses", "inverse_dynamics", "mass_matrix"], 4, compiled=False
    )
    assert report.passed, str(report)


@pytest.mark.parametrize("function", ["interbody_forces", "link_accelerations"])
def test_wrenches_and_accelerations_of_links_equal_the_reference(function: str) -> None:
    """There is a wrench from outside on the last link, whose joint mimics one on another branch."""
    judge = Judge(symgen.load(TWO_ARMS), 1)
    judge.options = ProgramOptions(wrench="b_2", frame="b_2")
    reference = Reference(judge.robot, judge.scalars, frame="b_2", wrench="b_2")
    arguments = ("q", "v", "tau", "wrench")
    with judge.scalars.working():
        drawn = draw_states(judge.robot, 1, 3, wrench="b_2")
        judge.states = {name: judge.scalars.array(drawn[name]) for name in arguments}
        expected = reference.evaluate(function, judge.states)
    actual = judge.program(function)
    assert actual.keys() == expected.keys()
    for name, values in expected.items():
        assert judge.relative_error(actual[name], values) < EQUAL, name


def test_the_reduced_mass_rate_minus_twice_the_coriolis_matrix_is_skew_symmetric(
    judge: Judge,
) -> None:
    """Ṁ − 2C is skew-symmetric: C + Cᵀ is the derivative of Gᵀ M G along v."""
    C, rate = judge.program("coriolis_matrix")["C"], judge.independent("coriolis_matrix")["C"]
    with judge.scalars.working():
        assert judge.relative_error(C + transposed(C), rate + transposed(rate)) < EQUAL


def test_links_of_mimic_joints_move_with_their_leader(judge: Judge, gripper: Mechanism) -> None:
    """The pad, on its leader's link, rotates by the opposite angle and keeps the orientation of the
    wrist.
    """
    turns = judge.program("link_poses")["R_links"].astype(float)
    wrist, pad = (gripper.joint_index(name) for name in ("roll", "left_tip"))
    assert np.allclose(turns[:, wrist], turns[:, pad])
    assert not np.allclose(turns[:, wrist], turns[:, gripper.joint_index("other_knuckle")])


# -- planted errors --------------------------------------------------------------------------------


def _unscaled(entries: Any, rows: Any) -> list[Any]:
    return [entries[row.leader] for row in rows]


def _siblings_counted_once(
    self: coupling.MimicCoupling, rows: coupling.Triangle
) -> coupling.Triangle:
    """Plant an error: in Gᵀ M G an entry between two joints of one leader counts once instead of
    twice.
    """
    reduced = TRIANGLE(self, rows)
    siblings = [
        (i, j)
        for i, row in enumerate(self.v)
        for j in range(i)
        if self.v[j].leader == row.leader and j in rows[i]
    ]
    for i, j in siblings:
        entry = rows[i][j]
        reduced[self.v[i].leader][self.v[i].leader] += entry * entry.derivation.constant(
            -self.v[i].multiplier * self.v[j].multiplier
        )
    return reduced


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
        (
            coupling.MimicCoupling,
            "reduce_triangle",
            _siblings_counted_once,
            "mass_matrix",
            "composite_body",
        ),
    ],
    ids=["rates", "places", "forces", "columns", "pairs"],
)
def test_a_dropped_multiplier_is_caught(
    judge: Judge,
    monkeypatch: pytest.MonkeyPatch,
    where: Any,
    name: str,
    instead: Callable[..., Any],
    function: str,
    method: str,
) -> None:
    expected = judge.independent(function)
    assert all(
        judge.relative_error(values, expected[name_]) < EQUAL
        for name_, values in judge.program(function, method).items()
    )
    monkeypatch.setattr(where, name, instead)
    assert any(
        judge.relative_error(values, expected[name_]) > 1e-6
        for name_, values in judge.program(function, method).items()
    )


@pytest.mark.parametrize("name", ["joint_rates", "joint_coordinates"])
def test_a_dropped_multiplier_of_the_reference_is_caught(
    gripper: Mechanism, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def unscaled(self: Motion, index: int, x: Array) -> Array:
        coupling = self.mechanism.joint_couplings[index]
        slices = self.mechanism.q_slices if name == "joint_coordinates" else self.mechanism.v_slices
        return x[..., slices[index if coupling is None else coupling.leader]]

    monkeypatch.setattr(Motion, name, unscaled)
    assert not symgen.verify(gripper, ["inverse_dynamics"], 2, compiled=False).passed


# -- methods ---------------------------------------------------------------------------------------


def test_methods_without_mimic_joints_refuse_them_in_one_sentence(gripper: Mechanism) -> None:
    for name in ("riccati", "fixman", "constraint_force", "udut", "udut:links"):
        assert not methods.find(name).supports_mimic
    with pytest.raises(
        RequestError,
        match="riccati does not support mimic joints, and joint 'left_tip' of 'gripper' mimics",
    ):
        symgen.program(gripper, "forward_dynamics", method="riccati")
    with pytest.raises(RequestError, match="'gripper' has none"):
        symgen.program(gripper.uncoupled, "link_accelerations", method="composite_body:coupled")


def test_the_elimination_fills_entries_that_mimic_joints_couple() -> None:
    """A joint of the second arm mimics one of the first: M and its inverse have no zero entries."""
    arms = symgen.load(TWO_ARMS)
    assert arms.nv == 3
    judge = Judge(arms)
    with judge.scalars.working():
        inverse = judge.program("inverse_mass_matrix")["Minv"]
        assert judge.relative_error(judge.mass() @ inverse, judge.scalars.array(np.eye(3))) < EQUAL
    assert all(abs(float(x)) > 1e-9 for x in inverse[0].ravel())


TWO_ARMS = """
name = "arms"
mimic = "couple"
""" + "".join(
    f"""
[[body]]
name = "{side}_{part}"
parent = "{on}"
joint = {{ name = "{side}{part}", type = "revolute", axis = [0, {y}, 1], \
xyz = [0.2, 0.1, 0]{mimic} }}
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


# -- certificates ----------------------------------------------------------------------------------


def test_pivots_are_never_below_their_certificates(gripper: Mechanism) -> None:
    """The certificates are lower bounds of the pivots of Gᵀ M G.

    Each is the inertia that the leader alone moves plus that of its followers times their squared
    multipliers.
    """
    judge, bodies = Judge(gripper, 8), Bodies(gripper, declared_ranges(gripper))
    lower_bounds = [float(bodies.own_inertia(k)) for k in range(gripper.nv)]
    for M in judge.mass().astype(float):
        for k in range(gripper.nv):
            pivot = 1 / np.linalg.inv(M[k:, k:])[0, 0]
            assert 0 < lower_bounds[k] <= pivot
    uncoupled_bounds = [
        float(Bodies(gripper.uncoupled, declared_ranges(gripper.uncoupled)).own_inertia(i))
        for i in range(len(gripper.joints))
    ]
    assert lower_bounds[1] == pytest.approx(
        uncoupled_bounds[1] + uncoupled_bounds[3] * 0.75**2 + uncoupled_bounds[4] * 0.075**2
    )  # its link carries the pad


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7])
def test_random_mimic_joints_verify_with_valid_certificates(seed: int) -> None:
    """Joints of every type with one degree mimic ancestors, descendants or others; certified bounds
    hold.
    """
    robot = anyhow(seed)
    functions = ["inverse_dynamics", "forward_dynamics", "coriolis_matrix", "base_regressor"]
    report = symgen.verify(robot, functions, 2, compiled=False)
    assert report.passed, str(report)
    dynamics, states = symgen.program(robot, "forward_dynamics"), draw_states(robot, 32)
    divisors = certify_divisors(robot, dynamics, ProgramOptions())
    divisor_rows = replace(
        dynamics,
        outputs=tuple(Port(f"row{divisor.row}", (), (divisor.row,)) for divisor in divisors),
    )
    values = machine_runner(divisor_rows)(
        {port.name: states[port.name].astype(float) for port in dynamics.inputs}
    )
    for divisor in divisors:
        assert (
            divisor.reason
            if divisor.lower_bound is None
            else values[f"row{divisor.row}"].min() >= float(divisor.lower_bound)
        )


def test_divisors_are_certified_or_have_a_reason(gripper: Mechanism) -> None:
    for robot, certified in ((gripper, True), (symgen.load(TWO_ARMS), False)):
        solve = symgen.program(robot, "mass_matrix_solve")
        divisors = certify_divisors(robot, solve, ProgramOptions())
        assert divisors
        assert all(divisor.certified or divisor.reason for divisor in divisors)
        assert all(divisor.certified for divisor in divisors) or not certified


@pytest.mark.slow
def test_coupled_fingers_add_little_cost() -> None:
    """Forward dynamics of Panda cost at most 1.05 times those with locked fingers, plus 250
    operations.
    """
    path = public_urdf("panda.urdf")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    fingers = ["panda_finger_joint1", "panda_finger_joint2"]
    coupled, locked = (
        symgen.program(symgen.load(path, **options), "forward_dynamics").cost
        for options in ({"mimic": "couple"}, {"lock": fingers})
    )
    assert coupled <= 1.05 * locked + 250

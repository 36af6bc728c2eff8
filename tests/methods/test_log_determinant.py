"""ln det M and its gradient: closed forms, operation counts, and chains of atoms whose det M
underflows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgen
from symgen import methods
from symgen.derivation import constants
from symgen.derivation.closed_forms import cross_matrix, joint_form, trace_form, wrench_rate
from symgen.derivation.scalars import Derivation
from symgen.emission.backends import c99
from symgen.ir.program import Program
from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.methods.fixman import geometry
from symgen.pipeline.choose import methods_for
from symgen.pipeline.derive import attempt, derive
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.support.errors import MechanismError
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import machine_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import check_floating
from symgen.verification.scales._bodies import Bodies, PartSizes
from symgen.verification.scales.determinant import gradient
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.poses import X_AXIS, Angle, Turn, pose
from symgen.vocabulary.reals import REALS
from tests.shared.c_programs import Builder, vector
from tests.shared.robots_for_tests import (
    BALLS,
    FEW,
    ONE_DEGREE,
    TELLING,
    draw,
    largest,
    program,
    robot,
    run,
    states,
)

pytestmark = pytest.mark.usefixtures("finished_here")

VALUE, SLOPE = "mass_matrix_log_determinant", "mass_matrix_log_determinant_gradient"
ATOM, BOND = Fraction(2, 10**26), Fraction(15, 10**11)  # kg, m: a carbon atom, a bond of 1.5 Å


def points(
    n: int, mass: Fraction, length: Fraction, reversed_axes: tuple[int, ...] = ()
) -> Mechanism:
    """Return a planar chain of point masses at the ends of its links; joints in `reversed_axes`
    have reversed axes.
    """
    link_pose = pose((length, Fraction(0), Fraction(0)))
    half_turn = (Turn(X_AXIS, Angle(pi=Fraction(1))),)
    joints = tuple(
        Joint(
            f"j{i}",
            "revolute",
            i - 1,
            (link_pose if i else ()) + (half_turn if i in reversed_axes else ()),
        )
        for i in range(n)
    )
    bodies = tuple(Body(f"b{i}", (Part(f"b{i}", link_pose, mass),)) for i in range(n))
    return Mechanism("points", joints, bodies, tuple(Frame(f"b{i}", i) for i in range(n)))


def rods(n: int, reversed_axes: tuple[int, ...]) -> Mechanism:
    """Return a planar chain with a rigid body on every link, its mass centre beside the line
    between the joints.
    """
    chain, zero = points(n, Fraction(1), Fraction(1), reversed_axes), Fraction(0)
    bodies = tuple(
        Body(
            body.name,
            (
                Part(
                    body.name,
                    pose((Fraction(i + 1, 7), Fraction(2, 5 + i), zero)),
                    Fraction(3 + i, 4),
                    (Fraction(1, 9), zero, zero, Fraction(1, 8), zero, Fraction(i + 2, 9)),
                ),
            ),
        )
        for i, body in enumerate(chain.bodies)
    )
    return Mechanism("rods", chain.joints, bodies, chain.frames)


@cache
def atoms(n: int) -> Mechanism:
    return points(n, ATOM, BOND)


def compiled(
    mechanism: Mechanism,
    method: str,
    real: str = "double",
    functions: tuple[str, ...] = (VALUE, SLOPE),
) -> Solver:
    programs = {f: derive(mechanism, f, method, ProgramOptions(real=real)) for f in functions}
    return Solver.from_programs(mechanism.name, programs, mechanism.sizes, optimize=0)


def bends(n: int, count: int = 1) -> Array:
    """Return joint angles that a float represents exactly."""
    return np.random.default_rng(n).integers(-128, 129, size=(count, n)) / 64.0


# -- closed forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", methods.providers(VALUE))
def test_the_log_determinant_of_a_planar_2r_arm_is_the_closed_form(method: str) -> None:
    """det M = m₂ l₁² l₂² (m₁ + m₂ sin² θ₂), by hand from the kinetic energy ½ Σ m ẋ²."""
    m1, m2, l1, l2 = Fraction(3, 2), Fraction(7, 4), Fraction(2, 5), Fraction(3, 10)
    arm = points(2, m1, l1)
    end = pose((l2, Fraction(0), Fraction(0)))
    arm = Mechanism(
        "arm", arm.joints, (arm.bodies[0], Body("b1", (Part("b1", end, m2),))), arm.frames
    )
    if methods.find(method).refusal(arm) is not None:
        pytest.skip("the method refuses this robot by name")
    states_ = draw(arm, 4, BALLS)
    with BALLS.working():
        a, b, c, d = (BALLS.constant(x) for x in (m1, m2, l1, l2))
        s, cosine = np.sin(states_["q"][:, 1]), np.cos(states_["q"][:, 1])
        inertia = a + b * s * s
        logdet = np.log(b * c * c * d * d * inertia)
        grad = np.stack([0 * s, 2 * b * s * cosine / inertia], axis=-1)
        actual = run(symgen.program(arm, VALUE, method), states_, BALLS)["logdet"]
        assert largest(actual - logdet) < 1e-60
        if method in methods.providers(SLOPE):
            assert (
                largest(run(symgen.program(arm, SLOPE, method), states_, BALLS)["grad"] - grad)
                < 1e-60
            )


@pytest.mark.parametrize("name", TELLING)
def test_the_gradient_along_a_joint_on_the_base_is_zero(name: str) -> None:
    for method in methods_for(robot(name), SLOPE):
        derived = program(name, SLOPE, method)
        for joint, row in zip(robot(name).joints, derived.outputs[0].rows, strict=True):
            if joint.parent < 0:
                assert (derived.rows[row].op, derived.rows[row].value) == ("const", 0)


@pytest.mark.parametrize("name", TELLING)
def test_the_gradient_does_not_depend_on_joints_on_the_base(name: str) -> None:
    """M does not depend on coordinates of joints on the base, so its determinant and gradient do
    not either.
    """
    roots = {i for i, joint in enumerate(robot(name).joints) if joint.parent < 0}
    for method in methods_for(robot(name), SLOPE):
        read_joints = {
            row.value[1] for row in program(name, SLOPE, method).rows if row.op == "input"
        }
        assert not read_joints & roots


@pytest.mark.parametrize("name", [*FEW, "planar_point_mass"])
def test_the_references_gradient_is_the_trace_with_a_difference_of_m(name: str) -> None:
    """grad_i = tr(M⁻¹ ∂M/∂q_i), with ∂M by central differences in 80 digits instead of the
    reference's closed form.
    """
    at, n = states(name, 1, BALLS), robot(name).nv
    reference = Reference(robot(name), BALLS)
    with BALLS.working():
        grad = reference.evaluate(SLOPE, {"q": at["q"]})["grad"][0]
        inverse, h = reference.inverse_mass_matrix(at["q"])[0], BALLS.constant(Fraction(1, 10**25))
        for i in range(n):
            step = BALLS.array(np.eye(n)[i]) * h
            rate = (
                reference.mass_matrix(at["q"] + step)[0] - reference.mass_matrix(at["q"] - step)[0]
            ) / (2 * h)
            assert largest(np.trace(inverse @ rate) - grad[i]) < 1e-40 * (largest(grad) or 1.0)


@pytest.mark.parametrize("kind", ONE_DEGREE)
def test_the_rate_of_a_wrench_is_the_derivative_of_its_transform(kind: str) -> None:
    """φ⁻¹ dφ/dq for φ = [[R, r × R], [0, R]] is a constant matrix, derived here from the declared
    pose.
    """
    form = joint_form(kind)
    rotation, shift = form.rotation, form.shift
    phi = sp.Matrix(
        sp.BlockMatrix([[rotation, cross_matrix(shift) * rotation], [sp.zeros(3, 3), rotation]])
    )
    phi_inverse = sp.Matrix(
        sp.BlockMatrix(
            [[rotation.T, -rotation.T * cross_matrix(shift)], [sp.zeros(3, 3), rotation.T]]
        )
    )
    rate = (phi_inverse * phi.diff(form.q[0])).applyfunc(sp.trigsimp)
    assert rate == wrench_rate(joint_form(kind).motion_subspace)
    assert rate.free_symbols <= set(form.parameters.values())
    form_of_trace = trace_form(kind)
    assert sp.Poly(
        form_of_trace.trace - (form_of_trace.X * rate * form_of_trace.P).trace(),
        *form_of_trace.trace.free_symbols,
    ).is_zero


@pytest.mark.slow
def test_the_angle_derivative_of_a_point_mass_block_follows_from_the_declared_geometry() -> None:
    """H^LL of two links at angle t is w [[1, −cos t], [−cos t, 1]]; its derivative has w sin t off
    the diagonal only.
    """
    bend = geometry.bending()
    assert bend == sp.Matrix([[0, geometry.W * geometry.SIN], [geometry.W * geometry.SIN, 0]])
    stretched = geometry.Geometry(length=lambda tail, head: geometry.distance(tail, head) ** 2)
    assert (
        geometry.bending(stretched)[0, 1] == 4 * geometry.K * geometry.L * geometry.W * geometry.SIN
    )


@pytest.mark.parametrize("reversed_axes", [(), (1,), (2, 3), (1, 2, 4)])
@pytest.mark.parametrize("bodies", ["points", "rods"])
def test_the_gradient_is_the_same_by_all_methods_with_reversed_axes(
    bodies: str, reversed_axes: tuple[int, ...]
) -> None:
    chain = (
        rods(5, reversed_axes)
        if bodies == "rods"
        else points(5, Fraction(1), Fraction(1), reversed_axes)
    )
    at = draw(chain, 2, BALLS)
    gradients = {
        m: run(symgen.program(chain, SLOPE, m), at, BALLS)["grad"]
        for m in methods_for(chain, SLOPE)
    }
    assert set(gradients) >= {"fixman:planar", "riccati"}
    with BALLS.working():
        for grad in gradients.values():
            assert largest(grad - gradients["riccati"]) < 1e-50


# -- the compiled C --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "planar_point_mass", "tree5"])
def test_the_gradient_is_the_difference_of_the_compiled_value(name: str) -> None:
    """Central differences with h = 1e-5 have errors of order h² and 1e-16/h."""
    mechanism = robot(name)
    solver = Solver.from_programs(
        mechanism.name,
        {f: symgen.program(mechanism, f) for f in (VALUE, SLOPE)},
        mechanism.sizes,
        optimize=0,
    )
    q, h = states(name, 8)["q"], 1e-5
    steps = h * np.eye(mechanism.nv)
    value = solver.mass_matrix_log_determinant
    rates = np.stack([(value(q + step) - value(q - step)) / (2 * h) for step in steps], axis=-1)
    slope = solver.mass_matrix_log_determinant_gradient(q)
    assert np.abs(slope - rates).max() < 1e-8 * max(1.0, np.abs(slope).max())


def test_c_calls_the_logarithm_of_its_real_type(tmp_path: Path) -> None:
    for real, call in (("double", " log("), ("float", " logf(")):
        b = Builder("bias_force", [vector("q", 1)], real)
        derived = b.program([symgen.ir.program.Port("c", (1,), (b.op("log", b.input(0, 0)),))])
        assert call in c99.source(derived, c99.Target("arm", Sizes(1, 1, 1), TextOptions("macro")))
        assert derived.operations["log"] == 1


# -- atoms -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_hundred_atoms_have_a_logarithm_where_their_determinant_is_zero() -> None:
    """For 100 points of 2e-26 kg at 1.5e-10 m, the gradient equals differences of the value, and
    both methods agree.
    """
    chain, q, h = atoms(100), bends(100, 2), 1e-5
    solvers = {
        m: compiled(chain, m, functions=(VALUE, SLOPE, "mass_matrix_determinant"))
        for m in ("fixman:planar", "riccati")
    }
    for solver in solvers.values():
        assert not solver.mass_matrix_determinant(q).any()
    logdet, grad = (getattr(solvers["fixman:planar"], f)(q) for f in (VALUE, SLOPE))
    assert (logdet < -4500 * math.log(10)).all()
    # a hundred logarithms of about 100 give 1e4 eps, plus the effect of M's condition
    assert np.abs(logdet - Reference(chain).evaluate(VALUE, {"q": q})["logdet"]).max() < 1e-9
    assert np.abs(logdet - solvers["riccati"].mass_matrix_log_determinant(q)).max() < 1e-9
    assert (
        np.abs(grad - solvers["riccati"].mass_matrix_log_determinant_gradient(q)).max()
        < 1e-9 * np.abs(grad).max()
    )
    value = solvers["fixman:planar"].mass_matrix_log_determinant
    for i in (1, 2, 50, 98, 99):
        step = h * np.eye(100)[i]
        assert (
            np.abs((value(q + step) - value(q - step)) / (2 * h) - grad[:, i]).max() < 1e-6
        )  # 1e4 eps / h


@pytest.mark.slow
def test_results_of_a_hundred_light_points_are_finite_in_double_and_float() -> None:
    """With masses of 1e-26 kg, fixman's pivots 1/m are within float's range; the constant factor is
    one exact logarithm.
    """
    n = 100
    chain, q = points(n, Fraction(1, 10**26), Fraction(1)), bends(n)
    mass = Reference(chain).mass_matrix(q)
    assert not np.linalg.det(mass).any()
    expected, gradient_in_double = FLOAT.log_determinant(mass), None
    for real, kind in (("double", np.float64), ("float", np.float32)):
        solver = compiled(chain, "fixman:planar", real)
        logdet, grad = (getattr(solver, f)(q.astype(kind)) for f in (VALUE, SLOPE))
        gradient_in_double = grad if gradient_in_double is None else gradient_in_double
        # n roundings of partial sums no larger than three times the result; M's condition costs the
        # reference 1e-6
        assert (
            np.abs(logdet - expected).max()
            < n * REALS[real].eps * 3 * np.abs(expected).max() + 1e-6
        )
        assert (
            np.abs(grad - gradient_in_double).max()
            <= n * REALS[real].eps * np.abs(gradient_in_double).max()
        )


def test_constant_factors_are_one_logarithm_of_exact_numbers() -> None:
    with constants.precision():
        derivation = Derivation({"q": 1})
        logarithm = derivation.log(derivation.constant(ATOM))
        assert logarithm.is_constant
        assert abs(float(logarithm.value) - math.log(2e-26)) < 1e-13
        assert derivation.log(derivation.one).is_zero
        (q,) = derivation.inputs["q"]
        derivation.log(-q)
        assert [op for op, _, _ in derivation.rows] == ["input", "neg", "log"]
        for bad in (0, Fraction(-3, 2)):
            with pytest.raises(MechanismError, match="no logarithm of"):
                derivation.log(derivation.constant(bad))
    for n in (2, 5, 30):
        derived = derive(atoms(n), VALUE, "fixman:planar", ProgramOptions())
        assert derived.operations["log"] == n - 1  # the pivot at the tip is 1/m


# -- operation counts ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 50])
def test_the_gradient_takes_nine_operations_one_sine_and_one_cosine_per_link(n: int) -> None:
    derived = symgen.program(f"planar_point_mass:{n}", SLOPE, "fixman:planar")
    assert derived.cost <= 9 * n - 12
    assert derived.operations["div"] == n - 1
    assert derived.operations["sin"] == derived.operations["cos"] == n - 1
    assert derived.cost < symgen.program(f"planar_point_mass:{n}", SLOPE, "riccati").cost / 2
    assert symgen.program(f"planar_point_mass:{n}", SLOPE).method == "fixman:planar"


@pytest.mark.parametrize("method", methods.providers(VALUE))
@pytest.mark.parametrize("name", ["puma560", "chain5"])
def test_the_logarithm_costs_no_more_than_the_determinant(name: str, method: str) -> None:
    """The logarithm takes one log per pivot, and sums where the determinant has products.

    Costs are compared before the final passes, which save slightly different numbers of operations.
    """
    if methods.find(method).refusal(robot(name)) is not None:
        pytest.skip("the method refuses this robot by name")
    value, det = program(name, VALUE, method), program(name, "mass_matrix_determinant", method)
    before = [
        attempt(robot(name), program_.function, method, ProgramOptions()).program().cost
        for program_ in (value, det)
    ]
    assert before[0] <= before[1]
    assert {op: value.operations[op] for op in ("div", "sin", "cos")} == {
        op: det.operations[op] for op in ("div", "sin", "cos")
    }
    assert (
        value.operations["log"]
        <= (6 if "constraint" in method or "fixman" in method else 1) * robot(name).nv
    )
    assert "log" not in det.operations


# -- sizes and planted errors ----------------------------------------------------------------------


@cache
def exact_results_with_payload() -> ExactResults:
    return ExactResults(robot("panda"), 4, payload="panda_hand")


def with_changed_result(derived: Program, change: Any) -> Program:
    """Return the Program with its last result replaced by the row that `change` appends."""
    rows = list(derived.rows)
    port = derived.outputs[0]
    row = change(rows, port.rows[-1])
    return derived.with_rows(
        rows, [symgen.ir.program.Port(port.name, port.shape, (*port.rows[:-1], row))]
    )


def _scaled(factor: Fraction) -> Any:
    def change(rows: list[Any], last: int) -> int:
        rows += [
            symgen.ir.program.Row("const", (), factor),
            symgen.ir.program.Row("mul", (len(rows), last)),
        ]
        return len(rows) - 1

    return change


@pytest.mark.slow
@pytest.mark.parametrize("function", [VALUE, SLOPE])
def test_an_error_of_a_billionth_is_caught_by_algebra_floating_point_and_identity(
    function: str,
) -> None:
    programs = {
        f: symgen.program(robot("panda"), f) for f in (VALUE, SLOPE, "mass_matrix_determinant")
    }
    assert verify_programs(Subject(robot("panda"), programs, states=4)).passed
    programs[function] = with_changed_result(programs[function], _scaled(1 + Fraction(1, 10**9)))
    report = verify_programs(Subject(robot("panda"), programs, states=4))
    assert {check.kind for check in report.failures} == {"algebra", "floating", "identities"}, str(
        report
    )


@pytest.mark.parametrize("name", ["ur5", "puma560", "planar_point_mass"])
def test_the_sizes_are_at_most_1e4_times_the_results(name: str) -> None:
    """Sizes are at most 1e4 times the results, because the condition number of M is at most 1e4
    here.
    """
    exact_results = ExactResults(robot(name), 4)
    for function in (VALUE, SLOPE):
        result = FUNCTIONS[function].results[0].name
        exact = np.abs(
            np.array(exact_results.results(function)[result], dtype=float).reshape(4, -1)
        )
        size = exact_results.scales.of(function, result).reshape(4, -1)
        assert (size >= exact * 0.99).all()
        assert (size.max(axis=1) <= 1e4 * exact.max(axis=1)).all()


@pytest.mark.parametrize("name", ["ur5", "chain5"])
def test_the_sizes_bound_the_effect_of_the_worst_error_of_the_mass_matrix(name: str) -> None:
    """To first order δ ln det M = tr(M⁻¹ δM); the worst δM has entries ±s_jk with s_jk = √(s_j
    s_k).
    """
    exact_results = ExactResults(robot(name), 4)
    inverse = np.array(exact_results.results("inverse_mass_matrix")["Minv"], dtype=float)
    roots = exact_results.scales.roots
    worst = np.sign(inverse) * roots[:, :, None] * roots[:, None, :]
    change = np.trace(inverse @ worst, axis1=-2, axis2=-1)
    assert (
        exact_results.scales.of(VALUE, FUNCTIONS[VALUE].results[0].name) >= change * 0.999
    ).all()


def test_the_size_of_a_gradient_is_the_sum_over_entries() -> None:
    """A part adds, for joint i, 2 Σ_jk |M⁻¹|_jk (mass · lever_max(i,j) · lever_k + inertia)."""
    exact_results = ExactResults(robot("planar_arm"), 2)
    inverse = np.abs(np.array(exact_results.results("inverse_mass_matrix")["Minv"], dtype=float))
    turns, levers, mass, inertia = (
        np.ones(2),
        np.array([[2.0, 1.0], [3.0, 0.5]]),
        np.full(2, 70.0),
        np.full(2, 30.0),
    )
    expected = np.zeros((2, 2))
    for state, i, j, k in np.ndindex(2, 2, 2, 2):
        change = mass[state] * levers[state, max(i, j)] * levers[state, k] + inertia[state]
        expected[state, i] += 2 * inverse[state, j, k] * change
    bodies = Bodies(exact_results)
    assert bodies.roots.all()  # sizes of all parts are nonzero
    bodies.parts = []
    without = gradient(bodies)
    bodies.parts = [PartSizes([0, 1], turns, levers, mass, inertia)]
    added = gradient(bodies) - without
    np.testing.assert_allclose(added, expected, rtol=1e-9)


@pytest.mark.parametrize("method", methods.providers(VALUE))
@pytest.mark.parametrize("real", ["double", "float"])
def test_every_method_passes_its_round_off_bound_with_a_payload(method: str, real: str) -> None:
    mechanism = robot("panda")
    if methods.find(method).refusal(mechanism) is not None:
        pytest.skip("the method refuses this robot by name")
    for function in (VALUE, SLOPE):
        if method in methods.providers(function):
            derived = derive(
                mechanism, function, method, ProgramOptions(real=real, payload="panda_hand")
            )
            assert check_algebra(derived, exact_results_with_payload(), function).passed
            check = check_floating(
                derived, machine_runner(derived), exact_results_with_payload(), function
            )
            assert check.error <= check.bound
            assert check.passed or not (
                real == "double" or method in ("composite_body", "riccati", "udut", "udut:links")
            )

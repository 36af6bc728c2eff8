"""Functions in JAX: results with the bits of the solver, exact derivatives, and refusals."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgen
import symgen.jax
from symgen.ir.program import Program
from symgen.jax.robot import Functions, Steps
from symgen.mechanism.mechanism import Body, Joint, Mechanism
from symgen.pipeline import build
from symgen.reference.integrate import integrate
from symgen.reference.mechanics import Reference
from symgen.support import cache as cache_of_programs
from symgen.support.errors import ArgumentError, RequestError, ToolMissing, UnknownName
from symgen.verification.exact_results import ExactResults
from tests.shared.robots_for_tests import random_mechanism

jax = pytest.importorskip("jax")

FUNCTIONS = ["mass_matrix", "forward_dynamics", "step"]
OPTIMIZE = {"double": 2, "float": 0}
"""Level of optimization of the C compiler by real type; results do not depend on it."""


@pytest.fixture(autouse=True)
def _double_precision() -> Iterator[None]:
    """Set JAX to double precision during a test."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@cache
def jax_functions(real: str = "double") -> Any:
    return symgen.jax.functions("planar_arm", FUNCTIONS, real, optimize=OPTIMIZE[real])


@cache
def solver(real: str = "double") -> Any:
    return symgen.compile("planar_arm", FUNCTIONS, real, optimize=0)


@cache
def one_joint_functions(kind: str, function: str) -> Any:
    """Compile a function for one joint with coordinates whose rates are not its velocities."""
    return symgen.jax.functions(random_mechanism(1, 1, "chain", (kind,)), [function], optimize=0)


def draw_arguments(*shapes: tuple[int, ...], real: str = "float64") -> list[Any]:
    rng = np.random.default_rng(len(shapes))
    return [rng.uniform(-1, 1, (*shape, 2)).astype(real) for shape in shapes]


def equal_bits(results: Any, expected: Any) -> bool:
    """True if shapes, types and all bits are equal."""
    pairs = (
        zip(results, expected, strict=True) if isinstance(results, tuple) else [(results, expected)]
    )
    return all(
        x.shape == y.shape and x.dtype == y.dtype and bool((np.asarray(x) == y).all())
        for x, y in pairs
    )


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shapes", "real"),
    [
        (((), (), ()), "double"),
        (((), (9,), ()), "double"),
        (((3, 1, 2), (5, 1), (2,)), "double"),
        (((2, 1, 3), (4, 1), (2, 1, 1)), "double"),
        (((0, 3), (3,), ()), "double"),
        (((3, 4), (4,), ()), "float"),
    ],
    ids=str,
)
def test_results_have_the_bits_of_the_solver_however_arguments_broadcast(
    shapes: Any, real: str
) -> None:
    q, v, tau = draw_arguments(*shapes, real=np.dtype({"double": "f8", "float": "f4"}[real]).name)
    expected = solver(real).forward_dynamics(q, v, tau)
    assert equal_bits(jax_functions(real).forward_dynamics(q, v, tau), expected)
    assert equal_bits(jax.jit(jax_functions(real).forward_dynamics)(q, v, tau), expected)
    assert equal_bits(jax_functions(real).mass_matrix(q), solver(real).mass_matrix(q))
    instant = np.linspace(0.01, 0.1, 3, dtype=q.dtype) if shapes[0][-1:] == (3,) else 0.01
    assert equal_bits(
        jax_functions(real).step(q, v, tau, dt=instant), solver(real).step(q, v, tau, instant)
    )


MAPPINGS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Callable[..., Any]]] = {
    "all": (lambda f: jax.vmap(f), ((6,), (6,), (6,)), lambda q, v, u: (q, v, u)),
    "one": (lambda f: jax.vmap(f, (None, 0, None)), ((), (6,), ()), lambda q, v, u: (q, v, u)),
    "another axis": (
        lambda f: jax.vmap(f, (0, None, 1), 0),
        ((2,), (), (2,)),
        lambda q, v, u: (q, v, u.swapaxes(0, 1)),
    ),
    "some, with dimensions that are not mapped": (
        lambda f: jax.vmap(f, (None, 0, None)),
        ((5,), (6, 5), (5,)),
        lambda q, v, u: (q, v, u),
    ),
    "twice": (
        lambda f: jax.vmap(jax.vmap(f, (None, 0, 0)), (0, None, 0)),
        ((3,), (4,), (3, 4)),
        lambda q, v, u: (q[:, None], v, u),
    ),
}


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_mapped_functions_have_the_bits_of_the_solver(mapping: str) -> None:
    mapped, shapes, broadcast = MAPPINGS[mapping]
    q, v, tau = draw_arguments(*shapes)
    expected = solver().forward_dynamics(*broadcast(q, v, tau))
    assert equal_bits(mapped(jax_functions().forward_dynamics)(q, v, tau), expected)
    assert equal_bits(jax.jit(mapped(jax_functions().forward_dynamics))(q, v, tau), expected)


def test_arguments_that_are_not_mapped_are_not_copied() -> None:
    text = (
        jax.jit(jax.vmap(jax_functions().forward_dynamics, (None, 0, None)))
        .lower(*draw_arguments((), (64,), ()))
        .as_text()
    )
    called = next(line for line in text.splitlines() if "custom_call" in line)
    assert called.count("tensor<1x2xf64>") == 2
    assert called.count("tensor<64x2xf64>") == 2  # v and the accelerations


def test_many_states_on_several_threads_have_the_bits_of_the_solver() -> None:
    """Compute many states, not a multiple of a block, in a scan of three steps."""
    q, v, tau = draw_arguments((90_001,), (90_001,), ())
    last = jax.jit(
        lambda *x: jax.lax.scan(
            lambda at, _: (jax_functions().step(*at, x[2], 0.01), None), x[:2], None, 3
        )[0]
    )(q, v, tau)
    for _ in range(3):
        q, v = solver().step(q, v, tau, 0.01)
    assert equal_bits(last, (q, v))


def test_steps_in_a_scan_have_the_bits_of_the_solver() -> None:
    q, v, tau = draw_arguments((7,), (7,), (20, 7))
    (last, _), trajectory = jax.jit(
        lambda *arguments: jax.lax.scan(
            lambda at, u: (jax_functions().step(*at, u, 0.01),) * 2, arguments[:2], arguments[2]
        )
    )(q, v, tau)
    for u, *after in zip(tau, *trajectory, strict=True):
        q, v = solver().step(q, v, u, 0.01)
        assert equal_bits(tuple(after), (q, v))
    assert equal_bits(last, q)


def test_subnormal_numbers_are_not_flushed_to_zero() -> None:
    """XLA replaces subnormal numbers by zero in its own computations."""
    q = draw_arguments((4,), (4,))[0]
    least, zero = np.full((4, 2), 1e-309), np.zeros((4, 2))
    assert (np.asarray(jax_functions().step(q, least, zero, 0.0)[1]) == least).all()
    assert equal_bits(jax_functions().step(q, least, zero, 0.0), solver().step(q, least, zero, 0.0))


def test_pickled_functions_are_restored() -> None:
    restored = pickle.loads(pickle.dumps(jax_functions()))
    arguments = draw_arguments((3,), (), ())
    assert equal_bits(restored.forward_dynamics(*arguments), solver().forward_dynamics(*arguments))
    assert repr(restored) == repr(jax_functions())


class Cached:
    """A cache of functions for JAX in memory, and a count of the Programs that are built."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rounds: int | None = None) -> None:
        self.entries: dict[str, Any] = {}
        self.built = 0
        build_program = build.build_program

        def counted(*request: Any) -> Program:
            self.built += 1
            return replace(build_program(*request), rounds=rounds)

        def keep(entry: Any, kind: str, *key: Any) -> None:
            if kind == "jax":
                self.entries[repr(key)] = entry

        def find(kind: str, *key: Any) -> Any:
            return self.entries.get(repr(key)) if kind == "jax" else None

        monkeypatch.setattr(cache_of_programs, "keep", keep)
        monkeypatch.setattr(cache_of_programs, "find", find)
        monkeypatch.setattr(build, "build_program", counted)

    def result(self) -> Any:
        """Return a result of functions that are requested anew."""
        functions = symgen.jax.functions("planar_arm", ["gravity_force"], optimize=0)
        return functions.gravity_force(*draw_arguments(()))


def test_a_function_is_built_unless_its_library_is_in_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cached = Cached(monkeypatch)
    first = cached.result()
    (entry,) = cached.entries.values()
    assert cached.built > 0
    cached.built = 0
    assert equal_bits(cached.result(), first)
    assert cached.built == 0
    damages: list[dict[str, Any]] = [{"library": f"_symgen_{'0' * 24}"}, {"function": {}}]
    for damage in damages:
        (key,) = cached.entries
        cached.entries[key], cached.built = {**entry, **damage}, 0
        assert equal_bits(cached.result(), first)
        assert cached.built > 0


def test_the_result_of_an_interrupted_search_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    cached = Cached(monkeypatch, rounds=1)
    cached.result()
    assert cached.built > 0
    assert cached.entries == {}


# -- derivatives -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_forward_and_reverse_jacobians_equal_the_true_ones() -> None:
    exact_results = ExactResults(symgen.load("planar_arm"), 3, 1)
    exact = exact_results.results("step:jacobian")
    arguments = exact_results.arguments("step", exact_results.floats)
    values = [*arguments.values()]
    for transform in (jax.jacfwd, jax.jacrev):
        blocks = jax.jit(jax.vmap(transform(jax_functions().step, (0, 1, 2, 3))))(*values)
        for result, row in zip(("q_next", "v_next"), blocks, strict=True):
            for x, jacobian in zip(arguments, row, strict=True):
                expected = exact[f"d{result}_d{x}"].astype(float)
                assert jacobian.shape == expected.shape
                assert np.abs(jacobian - expected).max() <= 1e-13 * (1 + np.abs(expected).max())


@pytest.mark.parametrize("shapes", [((3, 4), (4,), ()), ((), (5,), (2, 1))], ids=str)
def test_a_gradient_is_summed_over_the_states_that_share_an_argument(shapes: Any) -> None:
    """Compare with the sum of the Jacobians of all states."""
    arguments = draw_arguments(*shapes)
    lead = np.broadcast_shapes(*shapes)
    weights = np.random.default_rng(5).uniform(-1, 1, (*lead, 2))
    gradients = jax.jit(
        jax.grad(lambda *x: (weights * jax_functions().forward_dynamics(*x)).sum(), (0, 1, 2))
    )(*arguments)
    jacobians = symgen.compile(
        "planar_arm", ["forward_dynamics_derivatives"], optimize=0
    ).forward_dynamics_derivatives(*arguments)
    for x, jacobian, gradient in zip(arguments, jacobians, gradients, strict=True):
        expected = np.einsum("...i,...ij->...j", weights, jacobian)
        leading_axes = tuple(range(len(lead) - x.ndim + 1))
        expected = expected.sum(axis=leading_axes)
        unit_axes = tuple(
            k for k, n in enumerate(x.shape[:-1]) if n == 1 and expected.shape[k] != 1
        )
        assert (
            np.abs(gradient - expected.sum(axis=unit_axes, keepdims=True)).max()
            <= 1e-13 * np.abs(expected).max() * weights.size
        )


def test_only_derivatives_by_the_differentiated_argument_are_compiled() -> None:
    robot = symgen.jax.functions("planar_arm", ["forward_dynamics"], optimize=0)
    q, v, tau = draw_arguments((), (), ())
    inverse = symgen.compile("planar_arm", ["inverse_mass_matrix"], optimize=0).inverse_mass_matrix(
        q
    )
    jacobian = jax.jit(jax.jacrev(lambda u: robot.forward_dynamics(q, v, 2 * u)))(tau)
    assert np.abs(jacobian - 2 * inverse).max() <= 1e-14 * np.abs(inverse).max()
    assert [*robot._derivative_calls] == ["forward_dynamics:jacobian(tau)"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "function"), [("spherical", "step"), ("planar", "step"), ("spherical", "difference")]
)
def test_jacobians_by_coordinates_without_velocities_equal_differences(
    kind: str, function: str
) -> None:
    """Compare with differences of the function after normalization of quaternions.

    The derivative along a quaternion is therefore zero.
    """
    robot, h = one_joint_functions(kind, function), 1e-3
    exact_results = ExactResults(robot.mechanism, 1, 3)
    arguments = exact_results.arguments(function, exact_results.floats)
    values = [states[0] for states in arguments.values()]

    def normalize(name: str, x: Any) -> Any:
        for start in robot.mechanism.quaternions if name in ("q", "q_next") else ():
            x[..., start : start + 4] /= np.linalg.norm(
                x[..., start : start + 4], axis=-1, keepdims=True
            )
        return x

    @jax.jit
    def call(*x: Any) -> Any:
        results = getattr(robot, function)(*x)
        return jax.numpy.concatenate(results, -1) if isinstance(results, tuple) else results

    every = tuple(range(len(values)))
    forward, reverse = (
        jax.jit(transform(call, every))(*values) for transform in (jax.jacfwd, jax.jacrev)
    )
    for i, (name, x) in enumerate(zip(arguments, values, strict=True)):
        steps = h * np.eye(np.size(x)).reshape(-1, *np.shape(x))
        displaced = [
            call(*values[:i], normalize(name, x + c * steps), *values[i + 1 :])
            for c in (1, -1, 2, -2, 3, -3)
        ]
        difference_1, difference_2, difference_3 = (
            up - down for up, down in zip(displaced[::2], displaced[1::2], strict=True)
        )
        # central difference of the sixth order
        difference = (45 * difference_1 - 9 * difference_2 + difference_3) / (60 * h)
        slope = difference.T.reshape(forward[i].shape)
        assert np.abs(forward[i] - slope).max() <= 1e-10 * (1 + np.abs(slope).max())
        assert np.abs(forward[i] - reverse[i]).max() <= 1e-13 * (1 + np.abs(slope).max())


CENTRE = [1, 2, 3]
"""Indices of the mass centre in a payload: τ is linear in the centre, and also in all other numbers
and wrenches.
"""


def test_a_payload_and_wrenches_have_derivatives_as_other_arguments() -> None:
    robot = symgen.load("planar_arm")
    links = [frame.name for frame in robot.frames if frame.body >= 0]
    loaded = symgen.jax.functions(
        robot, ["inverse_dynamics"], payload=links[-1], wrench=links[:2], optimize=0
    )
    q, v, a = draw_arguments((), (), ())
    payload, wrenches = (
        np.random.default_rng(2).uniform(0, 1, 10),
        np.random.default_rng(3).uniform(-1, 1, (2, 6)),
    )
    payload_jacobian, wrench_jacobian = jax.jit(jax.jacrev(loaded.inverse_dynamics, (3, 4)))(
        q, v, a, payload, wrenches
    )
    unloaded, tau = (
        np.asarray(loaded.inverse_dynamics(q, v, a, *loads))
        for loads in ((payload * 0, wrenches * 0), (payload, wrenches))
    )
    linear = np.delete(payload_jacobian, CENTRE, 1) @ np.delete(payload, CENTRE) + np.einsum(
        "ijk,jk->i", wrench_jacobian, wrenches
    )
    assert wrench_jacobian.shape == (2, 2, 6)
    assert np.abs(unloaded + linear - tau).max() <= 1e-13 * np.abs(tau).max()
    without_centre = np.asarray(
        loaded.inverse_dynamics(q, v, a, np.where(np.isin(range(10), CENTRE), 0, payload), wrenches)
    )
    assert (
        np.abs(
            without_centre + np.asarray(payload_jacobian)[:, CENTRE] @ payload[CENTRE] - tau
        ).max()
        <= 1e-13 * np.abs(tau).max()
    )


@pytest.mark.slow
def test_a_second_derivative_is_refused_and_hvp_is_proposed() -> None:
    q, v, tau = draw_arguments((), (), ())
    with pytest.raises(RequestError, match="forward_dynamics:hvp"):
        jax.hessian(lambda u: jax_functions().forward_dynamics(u, v, tau).sum())(q)
    robot = symgen.jax.functions("planar_arm", ["gravity_force:hvp"], optimize=0)
    weight, direction = draw_arguments((), ())
    transposed_product = jax.jit(
        lambda x: jax.vjp(jax_gravity_force(), x)[1](jax.numpy.asarray(weight))[0]
    )
    before, after = (
        transposed_product(q - 1e-5 * direction),
        transposed_product(q + 1e-5 * direction),
    )
    product = np.asarray(robot.gravity_force_hvp(q, weight, direction))
    assert np.abs((after - before) / 2e-5 - product).max() <= 1e-8 * np.abs(product).max()
    with pytest.raises(RequestError, match="is a derivative"):
        jax.jacfwd(robot.gravity_force_hvp)(q, weight, direction)


@cache
def jax_gravity_force() -> Any:
    return symgen.jax.functions("planar_arm", ["gravity_force"], optimize=0).gravity_force


# -- types and mistakes ----------------------------------------------------------------------------


def test_the_real_type_is_that_of_jax_by_default() -> None:
    q, v, tau = draw_arguments((), (), ())
    assert symgen.jax.functions("planar_arm", ["mass_matrix"], optimize=2).real == "double"
    assert jax_functions("float").forward_dynamics(q, v, tau).dtype == np.float32
    assert jax_functions().forward_dynamics(q.astype("f4"), [1, 2], tau).dtype == np.float64
    slope = jax.jit(jax.grad(lambda u: jax_functions("float").forward_dynamics(q, v, u).sum()))(tau)
    assert slope.dtype == np.float64  # the type of the argument
    jax.config.update("jax_enable_x64", False)
    assert symgen.jax.functions("planar_arm", ["mass_matrix"]).real == "float"
    for refused_call in (
        lambda: symgen.jax.functions("planar_arm", ["mass_matrix"], "double"),
        lambda: jax_functions().mass_matrix(q),
    ):
        with pytest.raises(ArgumentError, match="jax_enable_x64"):
            refused_call()


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shape": (
        lambda: jax_functions().mass_matrix(np.zeros(3)),
        ArgumentError,
        r"q has shape \(3,\); it must have \(\.\.\., 2\)",
    ),
    "shapes": (
        lambda: jax_functions().step(*draw_arguments((3,), (4,), ()), 0.1),
        ArgumentError,
        "do not broadcast together",
    ),
    "type": (
        lambda: jax_functions().mass_matrix(np.zeros(2, complex)),
        ArgumentError,
        "q has dtype complex128; real numbers",
    ),
    "text": (
        lambda: jax_functions().mass_matrix("straight"),
        ArgumentError,
        "q is not an array of numbers",
    ),
    "mask": (
        lambda: jax_functions().mass_matrix(np.ma.array([1.0, 2.0], mask=[True, False])),
        ArgumentError,
        "masked array",
    ),
    "too few": (
        lambda: jax_functions().step(*draw_arguments((), ())),
        TypeError,
        r"step\(\) missing a required argument: 'tau'",
    ),
    "unknown": (lambda: symgen.jax.functions("planar_arm", ["mass"]), UnknownName, "mass_matrix"),
    "not compiled": (
        lambda: jax_functions().mass_matrx,
        AttributeError,
        "did you mean 'mass_matrix'",
    ),
    "real": (
        lambda: symgen.jax.functions("planar_arm", ["mass_matrix"], "half"),
        UnknownName,
        "no real type",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_with_one_sentence(mistake: str) -> None:
    call, error, words = MISTAKES[mistake]
    with pytest.raises(error, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            {"parameters": ["*"]},
            "parameters: JAX's functions have no run-time parameters",
        ),
        (
            {"parameters": "gravity"},
            "parameters: JAX's functions have no run-time parameters",
        ),
        ({"checked": True}, "checked: JAX's functions have no status; leave it out"),
        ({"form": "looped"}, "form 'looped': JAX's functions are made of rows; leave form out"),
        ({"form": "lopped"}, "did you mean 'looped'"),
        ({"native": "yes"}, "native is 'yes'; give True or False"),
    ],
)
def test_an_option_that_jax_does_not_have_is_refused_with_one_sentence(
    argument: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        symgen.jax.functions("planar_arm", ["mass_matrix"], **argument)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_argument_of_compile_is_accepted() -> None:
    assert [*signature(symgen.jax.functions).parameters] == [*signature(symgen.compile).parameters]
    defaults = {
        name: parameter.default
        for name, parameter in signature(symgen.compile).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    assert symgen.jax.functions(
        "planar_arm", ["mass_matrix"], **defaults | {"optimize": 0, "form": "unrolled"}
    ).functions


def test_without_jax_the_error_names_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "jax.ffi", None)
    with pytest.raises(ToolMissing, match=r"pip install 'symgen\[jax\]'"):
        symgen.jax.functions("planar_arm", ["mass_matrix"])


def test_jax_is_imported_only_when_functions_are_requested() -> None:
    code = (
        "import sys, symgen, symgen.jax; print({'jax', 'jaxlib', 'sympy', 'numpy'} &"
        " {*sys.modules})"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "set()"
    )


# -- steps of positions --


@cache
def joints_of_a_boat() -> Any:
    """Return a free body with a hinge, a planar and a spherical joint behind it."""
    kinds = {"pose": "free", "hinge": "revolute", "table": "planar", "ball": "spherical"}
    joints = tuple(Joint(name, kind, k - 1) for k, (name, kind) in enumerate(kinds.items()))
    return Mechanism("boat", joints, tuple(Body(name) for name in kinds))


def test_a_step_changes_coordinates_as_the_motion_along_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The change of q by a step δ is the derivative of q ⊕ t δ; the step of that change is δ.

    NumPy computes them: JAX would compile every operation.
    """
    monkeypatch.setattr("symgen.jax.robot.installed", lambda: SimpleNamespace(numpy=np))
    mechanism = joints_of_a_boat()
    steps, motion = Steps(mechanism), Reference(mechanism)
    rng = np.random.default_rng(4)
    q, step = rng.uniform(-1, 1, (2, mechanism.nq)), rng.uniform(-1, 1, (2, mechanism.nv))
    for start in (3, 11):  # the quaternions
        q[:, start : start + 4] /= np.linalg.norm(q[:, start : start + 4], axis=-1, keepdims=True)
    t = 1e-5
    ahead, behind = (integrate(motion, q, step, np.full(2, x)) for x in (t, -t))
    change = steps.change_of(q, step)
    np.testing.assert_allclose(change, (ahead - behind) / (2 * t), atol=1e-8)
    np.testing.assert_allclose(steps.step_of(q, change), step, atol=1e-12)


def test_steps_of_hinges_are_changes_of_their_coordinates() -> None:
    steps = Steps(symgen.load("planar_arm"))
    q, change = np.ones(2), np.array([0.5, -2.0])
    assert steps.step_of(q, change) is change
    assert steps.change_of(q, change) is change


def test_the_derivative_of_a_derivative_is_refused_with_a_proposal() -> None:
    functions: Any = None
    with pytest.raises(RequestError, match="use forward_dynamics:hvp, the second derivative"):
        Functions._jacobian(functions, "forward_dynamics:jacobian", ("q",))

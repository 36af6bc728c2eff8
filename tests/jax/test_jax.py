"""Functions in JAX: the solver's bits however they are called, true derivatives both ways, else a sentence."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import pytest

import symgen
import symgen.jax
from symgen.support.errors import ArgumentError, RequestError, ToolMissing, UnknownName
from symgen.verification.truth import Truth
from tests.shared.robots_for_tests import random_mechanism

jax = pytest.importorskip("jax")

ASKED = ["mass_matrix", "forward_dynamics", "step"]
OPTIMIZE = {"double": 2, "float": 0}
"""The bits do not hang on it."""


@pytest.fixture(autouse=True)
def _wide() -> Iterator[None]:
    """JAX in double precision, for one test."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@cache
def ours(real: str = "double") -> Any:
    return symgen.jax.functions("planar_arm", ASKED, real, optimize=OPTIMIZE[real])


@cache
def solver(real: str = "double") -> Any:
    return symgen.compile("planar_arm", ASKED, real, optimize=0)


@cache
def turning(kind: str, function: str) -> Any:
    """One joint with coordinates whose rates are no velocities."""
    return symgen.jax.functions(random_mechanism(1, 1, "chain", (kind,)), [function], optimize=0)


def drawn(*shapes: tuple[int, ...], real: str = "float64") -> list[Any]:
    rng = np.random.default_rng(len(shapes))
    return [rng.uniform(-1, 1, (*shape, 2)).astype(real) for shape in shapes]


def same(found: Any, expected: Any) -> bool:
    """To the last bit."""
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    return all(
        x.shape == y.shape and x.dtype == y.dtype and bool((np.asarray(x) == y).all())
        for x, y in pairs
    )


# -- values ----------------------------------------------------------------------------------------------------------------


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
def test_the_bits_are_the_solvers_however_arguments_broadcast(shapes: Any, real: str) -> None:
    q, v, tau = drawn(*shapes, real=np.dtype({"double": "f8", "float": "f4"}[real]).name)
    expected = solver(real).forward_dynamics(q, v, tau)
    assert same(ours(real).forward_dynamics(q, v, tau), expected)
    assert same(jax.jit(ours(real).forward_dynamics)(q, v, tau), expected)
    assert same(ours(real).mass_matrix(q), solver(real).mass_matrix(q))
    instant = np.linspace(0.01, 0.1, 3, dtype=q.dtype) if shapes[0][-1:] == (3,) else 0.01
    assert same(ours(real).step(q, v, tau, dt=instant), solver(real).step(q, v, tau, instant))


MAPPED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Callable[..., Any]]] = {
    "all": (lambda f: jax.vmap(f), ((6,), (6,), (6,)), lambda q, v, u: (q, v, u)),
    "one": (lambda f: jax.vmap(f, (None, 0, None)), ((), (6,), ()), lambda q, v, u: (q, v, u)),
    "another axis": (
        lambda f: jax.vmap(f, (0, None, 1), 0),
        ((2,), (), (2,)),
        lambda q, v, u: (q, v, u.swapaxes(0, 1)),
    ),
    "some, beside dimensions of its own": (
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


@pytest.mark.parametrize("how", MAPPED)
def test_what_is_mapped_has_the_same_bits(how: str) -> None:
    mapped, shapes, laid = MAPPED[how]
    q, v, tau = drawn(*shapes)
    expected = solver().forward_dynamics(*laid(q, v, tau))
    assert same(mapped(ours().forward_dynamics)(q, v, tau), expected)
    assert same(jax.jit(mapped(ours().forward_dynamics))(q, v, tau), expected)


def test_what_is_not_mapped_is_not_copied() -> None:
    text = (
        jax.jit(jax.vmap(ours().forward_dynamics, (None, 0, None)))
        .lower(*drawn((), (64,), ()))
        .as_text()
    )
    called = next(line for line in text.splitlines() if "custom_call" in line)
    assert called.count("tensor<1x2xf64>") == 2
    assert called.count("tensor<64x2xf64>") == 2  # v, and a


def test_many_states_are_shared_by_threads() -> None:
    """As many as make several shares, and a number that ends within a block; in a loop, where calls follow each other."""
    q, v, tau = drawn((90_001,), (90_001,), ())
    found = jax.jit(
        lambda *x: jax.lax.scan(lambda at, _: (ours().step(*at, x[2], 0.01), None), x[:2], None, 3)[
            0
        ]
    )(q, v, tau)
    for _ in range(3):
        q, v = solver().step(q, v, tau, 0.01)
    assert same(found, (q, v))


def test_steps_one_after_the_other_are_the_solvers() -> None:
    q, v, tau = drawn((7,), (7,), (20, 7))
    (last, _), way = jax.jit(
        lambda *given: jax.lax.scan(
            lambda at, u: (ours().step(*at, u, 0.01),) * 2, given[:2], given[2]
        )
    )(q, v, tau)
    for u, *after in zip(tau, *way, strict=True):
        q, v = solver().step(q, v, u, 0.01)
        assert same(tuple(after), (q, v))
    assert same(last, q)


def test_the_least_numbers_are_numbers() -> None:
    """XLA takes them for zero in what it computes itself."""
    q, none = drawn((4,), (4,))
    least, none = np.full((4, 2), 1e-309), none * 0
    assert (np.asarray(ours().step(q, least, none, 0.0)[1]) == least).all()
    assert same(ours().step(q, least, none, 0.0), solver().step(q, least, none, 0.0))


def test_what_is_pickled_comes_back() -> None:
    again = pickle.loads(pickle.dumps(ours()))
    given = drawn((3,), (), ())
    assert same(again.forward_dynamics(*given), solver().forward_dynamics(*given))
    assert repr(again) == repr(ours())


# -- derivatives -----------------------------------------------------------------------------------------------------------


def test_jacobians_are_the_true_ones_both_ways() -> None:
    truth = Truth(symgen.load("planar_arm"), 3, 1)
    exact = truth.results("step:jacobian")
    arguments = truth.arguments("step", truth.floats)
    given = [*arguments.values()]
    for turn in (jax.jacfwd, jax.jacrev):
        blocks = jax.jit(jax.vmap(turn(ours().step, (0, 1, 2, 3))))(*given)
        for result, row in zip(("q_next", "v_next"), blocks, strict=True):
            for x, found in zip(arguments, row, strict=True):
                true = exact[f"d{result}_d{x}"].astype(float)
                assert found.shape == true.shape
                assert np.abs(found - true).max() <= 1e-13 * (1 + np.abs(true).max())


@pytest.mark.parametrize("shapes", [((3, 4), (4,), ()), ((), (5,), (2, 1))], ids=str)
def test_a_gradient_sums_over_what_an_argument_serves(shapes: Any) -> None:
    """Against the Jacobians of states that each have arguments of their own."""
    given = drawn(*shapes)
    lead = np.broadcast_shapes(*shapes)
    weights = np.random.default_rng(5).uniform(-1, 1, (*lead, 2))
    found = jax.jit(jax.grad(lambda *x: (weights * ours().forward_dynamics(*x)).sum(), (0, 1, 2)))(
        *given
    )
    each = symgen.compile(
        "planar_arm", ["forward_dynamics_derivatives"], optimize=0
    ).forward_dynamics_derivatives(*given)
    for x, slope, seen in zip(given, each, found, strict=True):
        whole = np.einsum("...i,...ij->...j", weights, slope)
        spare = tuple(range(len(lead) - x.ndim + 1))
        whole = whole.sum(axis=spare)
        ones = tuple(k for k, n in enumerate(x.shape[:-1]) if n == 1 and whole.shape[k] != 1)
        assert (
            np.abs(seen - whole.sum(axis=ones, keepdims=True)).max()
            <= 1e-13 * np.abs(whole).max() * weights.size
        )


def test_a_derivative_is_by_what_changes_alone() -> None:
    robot = symgen.jax.functions("planar_arm", ["forward_dynamics"], optimize=0)
    q, v, tau = drawn((), (), ())
    inverse = symgen.compile("planar_arm", ["inverse_mass_matrix"], optimize=0).inverse_mass_matrix(
        q
    )
    found = jax.jit(jax.jacrev(lambda u: robot.forward_dynamics(q, v, 2 * u)))(tau)
    assert np.abs(found - 2 * inverse).max() <= 1e-14 * np.abs(inverse).max()
    assert [*robot._slopes] == ["forward_dynamics:jacobian(tau)"]


@pytest.mark.parametrize(
    ("kind", "function"), [("spherical", "step"), ("planar", "step"), ("spherical", "difference")]
)
def test_coordinates_that_move_by_steps(kind: str, function: str) -> None:
    """Of unit quaternions: differences of the function behind what brings them to that length, and none along it."""
    robot, h = turning(kind, function), 1e-3
    truth = Truth(robot.mechanism, 1, 3)
    arguments = truth.arguments(function, truth.floats)
    given = [values[0] for values in arguments.values()]

    def brought(name: str, x: Any) -> Any:
        for first in robot.mechanism.quaternions if name in ("q", "q_next") else ():
            x[..., first : first + 4] /= np.linalg.norm(
                x[..., first : first + 4], axis=-1, keepdims=True
            )
        return x

    @jax.jit
    def call(*x: Any) -> Any:
        found = getattr(robot, function)(*x)
        return jax.numpy.concatenate(found, -1) if isinstance(found, tuple) else found

    every = tuple(range(len(given)))
    forward, reverse = (jax.jit(turn(call, every))(*given) for turn in (jax.jacfwd, jax.jacrev))
    for i, (name, x) in enumerate(zip(arguments, given, strict=True)):
        ways = h * np.eye(np.size(x)).reshape(-1, *np.shape(x))
        seen = [
            call(*given[:i], brought(name, x + c * ways), *given[i + 1 :])
            for c in (1, -1, 2, -2, 3, -3)
        ]
        one, two, three = (up - down for up, down in zip(seen[::2], seen[1::2], strict=True))
        slope = ((45 * one - 9 * two + three) / (60 * h)).T.reshape(
            forward[i].shape
        )  # of the sixth order
        assert np.abs(forward[i] - slope).max() <= 1e-10 * (1 + np.abs(slope).max())
        assert np.abs(forward[i] - reverse[i]).max() <= 1e-13 * (1 + np.abs(slope).max())


CENTRE = [1, 2, 3]
"""Of a payload. τ is linear in these, in wrenches, and in mass and moments together."""


def test_a_payload_and_wrenches_are_arguments_like_others() -> None:
    robot = symgen.load("planar_arm")
    links = [frame.name for frame in robot.frames if frame.body >= 0]
    loaded = symgen.jax.functions(
        robot, ["inverse_dynamics"], payload=links[-1], wrench=links[:2], optimize=0
    )
    q, v, a = drawn((), (), ())
    load, felt = (
        np.random.default_rng(2).uniform(0, 1, 10),
        np.random.default_rng(3).uniform(-1, 1, (2, 6)),
    )
    by_load, by_felt = jax.jit(jax.jacrev(loaded.inverse_dynamics, (3, 4)))(q, v, a, load, felt)
    alone, tau = (
        np.asarray(loaded.inverse_dynamics(q, v, a, *besides))
        for besides in ((load * 0, felt * 0), (load, felt))
    )
    linear = np.delete(by_load, CENTRE, 1) @ np.delete(load, CENTRE) + np.einsum(
        "ijk,jk->i", by_felt, felt
    )
    assert by_felt.shape == (2, 2, 6)
    assert np.abs(alone + linear - tau).max() <= 1e-13 * np.abs(tau).max()
    there = np.asarray(
        loaded.inverse_dynamics(q, v, a, np.where(np.isin(range(10), CENTRE), 0, load), felt)
    )
    assert (
        np.abs(there + np.asarray(by_load)[:, CENTRE] @ load[CENTRE] - tau).max()
        <= 1e-13 * np.abs(tau).max()
    )


def test_a_second_derivative_is_refused_with_the_way_to_it() -> None:
    q, v, tau = drawn((), (), ())
    with pytest.raises(RequestError, match="forward_dynamics:hvp"):
        jax.hessian(lambda u: ours().forward_dynamics(u, v, tau).sum())(q)
    bent = symgen.jax.functions("planar_arm", ["gravity_force:hvp"], optimize=0)
    weight, way = drawn((), ())
    pulled = jax.jit(lambda x: jax.vjp(ours_gravity(), x)[1](jax.numpy.asarray(weight))[0])
    before, after = pulled(q - 1e-5 * way), pulled(q + 1e-5 * way)
    found = np.asarray(bent.gravity_force_hvp(q, weight, way))
    assert np.abs((after - before) / 2e-5 - found).max() <= 1e-8 * np.abs(found).max()
    with pytest.raises(RequestError, match="is a derivative"):
        jax.jacfwd(bent.gravity_force_hvp)(q, weight, way)


@cache
def ours_gravity() -> Any:
    return symgen.jax.functions("planar_arm", ["gravity_force"], optimize=0).gravity_force


# -- types and mistakes ----------------------------------------------------------------------------------------------------


def test_the_type_is_jaxs_unless_told() -> None:
    q, v, tau = drawn((), (), ())
    assert symgen.jax.functions("planar_arm", ["mass_matrix"], optimize=2).real == "double"
    assert ours("float").forward_dynamics(q, v, tau).dtype == np.float32
    assert ours().forward_dynamics(q.astype("f4"), [1, 2], tau).dtype == np.float64
    slope = jax.jit(jax.grad(lambda u: ours("float").forward_dynamics(q, v, u).sum()))(tau)
    assert slope.dtype == np.float64  # as what it is by
    jax.config.update("jax_enable_x64", False)
    assert symgen.jax.functions("planar_arm", ["mass_matrix"]).real == "float"
    for refused in (
        lambda: symgen.jax.functions("planar_arm", ["mass_matrix"], "double"),
        lambda: ours().mass_matrix(q),
    ):
        with pytest.raises(ArgumentError, match="jax_enable_x64"):
            refused()


WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shape": (
        lambda: ours().mass_matrix(np.zeros(3)),
        ArgumentError,
        r"q has shape \(3,\); it must have \(\.\.\., 2\)",
    ),
    "shapes": (
        lambda: ours().step(*drawn((3,), (4,), ()), 0.1),
        ArgumentError,
        "do not broadcast together",
    ),
    "type": (
        lambda: ours().mass_matrix(np.zeros(2, complex)),
        ArgumentError,
        "q has dtype complex128; real numbers",
    ),
    "text": (lambda: ours().mass_matrix("straight"), ArgumentError, "q is not an array of numbers"),
    "mask": (
        lambda: ours().mass_matrix(np.ma.array([1.0, 2.0], mask=[True, False])),
        ArgumentError,
        "masked array",
    ),
    "too few": (
        lambda: ours().step(*drawn((), ())),
        TypeError,
        r"step\(\) missing a required argument: 'tau'",
    ),
    "unknown": (lambda: symgen.jax.functions("planar_arm", ["mass"]), UnknownName, "mass_matrix"),
    "not compiled": (lambda: ours().mass_matrx, AttributeError, "did you mean 'mass_matrix'"),
    "real": (
        lambda: symgen.jax.functions("planar_arm", ["mass_matrix"], "half"),
        UnknownName,
        "no real type",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_one_sentence(what: str) -> None:
    done, error, words = WRONG[what]
    with pytest.raises(error, match=words) as told:
        done()
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("argument", "says"),
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
def test_an_option_that_jax_does_not_have_is_one_sentence(
    argument: dict[str, Any], says: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        symgen.jax.functions("planar_arm", ["mass_matrix"], **argument)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_argument_of_compile_is_known_here() -> None:
    assert [*signature(symgen.jax.functions).parameters] == [*signature(symgen.compile).parameters]
    defaults = {
        name: one.default
        for name, one in signature(symgen.compile).parameters.items()
        if one.kind is one.KEYWORD_ONLY
    }
    assert symgen.jax.functions(
        "planar_arm", ["mass_matrix"], **defaults | {"optimize": 0, "form": "unrolled"}
    ).functions


def test_without_jax_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax.ffi", None)
    with pytest.raises(ToolMissing, match=r"pip install 'symgen\[jax\]'"):
        symgen.jax.functions("planar_arm", ["mass_matrix"])


def test_jax_is_imported_when_a_function_is_asked_for() -> None:
    code = "import sys, symgen, symgen.jax; print({'jax', 'jaxlib', 'sympy', 'numpy'} & {*sys.modules})"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "set()"
    )

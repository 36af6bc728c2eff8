"""Solvers: results of the C for arrays of every shape, and refusals of all other arguments."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.description.loading import load
from symgen.machine import batch, building, kernels
from symgen.machine.solver import Solver, compile
from symgen.support.errors import ArgumentError, RequestError, UnknownName
from symgen.vocabulary.arrays import Sizes
from tests import typed_user
from tests.shared.c_programs import (
    arm,
    determinant,
    expected,
    forward_dynamics,
    gravity,
    uniform_states,
)

Array = np.ndarray[Any, np.dtype[Any]]
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture(scope="module")
def solver(own_cache: Path) -> Solver:
    return Solver.from_programs("arm", arm(), Sizes(2, 2, 2), optimize=1)


@pytest.fixture(scope="module")
def single(own_cache: Path) -> Solver:
    return Solver.from_programs("arm", arm("float"), Sizes(2, 2, 2), optimize=1)


@pytest.mark.parametrize(
    "leads",
    [
        ((), (), ()),
        ((5,), (5,), (5,)),
        ((5,), (), (5,)),
        ((), (), (4,)),
        ((3, 1), (4,), ()),
        ((2, 3), (1, 3), (2, 1)),
        ((1,), (), ()),
        ((0,), (), ()),
    ],
)
def test_leading_dimensions_broadcast(solver: Solver, leads: tuple[tuple[int, ...], ...]) -> None:
    arguments = [uniform_states(*lead, 2, seed=k) for k, lead in enumerate(leads)]
    a = solver.forward_dynamics(*arguments)
    assert a.dtype == np.float64
    np.testing.assert_array_equal(a, expected(forward_dynamics(), *arguments)[0], strict=True)
    out = np.full_like(a, np.nan)
    assert solver.forward_dynamics(*arguments, out=out) is out
    np.testing.assert_array_equal(out, a)


@pytest.mark.parametrize("lead", [(), (3,), (2, 2)])
def test_results_have_the_declared_shapes(solver: Solver, lead: tuple[int, ...]) -> None:
    q, v = uniform_states(*lead, 2), uniform_states(*lead, 2, seed=1)
    M, c = solver.mass_matrix_and_bias(q, v)
    assert M.shape == (*lead, 2, 2)
    assert c.shape == (*lead, 2)
    det = solver.mass_matrix_determinant(q)
    assert np.shape(det) == lead
    np.testing.assert_array_equal(det, expected(determinant(), q)[0])
    outs = (np.empty_like(M), np.empty_like(c))
    assert all(
        x is y for x, y in zip(solver.mass_matrix_and_bias(q, v, out=outs), outs, strict=True)
    )
    np.testing.assert_array_equal(outs[0], M)
    np.testing.assert_allclose(det, np.linalg.det(M))
    out = np.empty(lead)
    assert solver.mass_matrix_determinant(q, out=out) is out
    np.testing.assert_array_equal(out, det)


def test_lists_and_arrays_of_other_layouts_are_converted(solver: Solver) -> None:
    q, v, tau = uniform_states(2), uniform_states(2, seed=1), uniform_states(2, seed=2)
    wide = np.zeros(4)
    wide[::2] = q
    odd = np.frombuffer(b"x" + q.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    a = solver.forward_dynamics(q, v, tau)
    for same in (
        q.tolist(),
        tuple(q),
        wide[::2],
        q[::-1].copy()[::-1],
        q.astype(">f8"),
        odd,
        q.view(np.ndarray),
    ):
        np.testing.assert_array_equal(solver.forward_dynamics(same, v, tau), a)
    np.testing.assert_array_equal(solver.forward_dynamics(q=q, v=v, tau=tau), a)
    np.testing.assert_array_equal(solver.forward_dynamics(q, tau=tau, v=v), a)
    np.testing.assert_array_equal(
        solver.mass_matrix([1, 0]), solver.mass_matrix(np.array([1.0, 0.0]))
    )
    read_only = q.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(solver.forward_dynamics(read_only, v, tau), a)
    rows = uniform_states(6, 2)
    np.testing.assert_array_equal(solver.mass_matrix(rows[::2]), solver.mass_matrix(rows)[::2])
    np.testing.assert_array_equal(
        solver.mass_matrix(np.asfortranarray(rows)), solver.mass_matrix(rows)
    )
    assert np.isnan(solver.mass_matrix([np.nan, np.nan])).any()


ONE_STATE = {
    "list": lambda q: q.tolist(),
    "tuple": lambda q: tuple(q.tolist()),
    "NumPy numbers": list,
    "slice": lambda q: np.stack([q, q], axis=-1)[..., 0],
    "reversed": lambda q: q[::-1].copy()[::-1],
    "float32": lambda q: q.astype(np.float32),
    "longdouble": lambda q: q.astype(np.longdouble),
    "big endian": lambda q: q.astype(">f8"),
    "integers": lambda q: q.astype(int),
}


@pytest.mark.parametrize("kind", ONE_STATE)
def test_one_state_is_copied_without_the_general_conversion(
    kind: str, solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state as a list, tuple, slice or array of another type gives the bits of a plain array."""
    states = [np.array([1.0, -2.0]), np.array([3.0, 0.0]), np.array([0.0, 5.0])]
    expected = solver.forward_dynamics(*states)
    monkeypatch.setattr(
        kernels.Arrays, "argument", None
    )  # the general conversion, which is twenty times slower
    for index in range(3):
        arguments = [ONE_STATE[kind](x) if k == index else x for k, x in enumerate(states)]
        out = np.empty(2)
        assert solver.forward_dynamics(*arguments).tobytes() == expected.tobytes()
        assert solver.forward_dynamics(*arguments, out=out) is out
        assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", ONE_STATE)
def test_one_state_allocates_one_result(kind: str, solver: Solver) -> None:
    """A call allocates one result: no first attempt fails after its allocation."""
    allocated: list[Any] = []

    def counted(shape: Any, real: Any) -> Any:
        allocated.append(np.empty(shape, real))
        return allocated[-1]

    call = solver.forward_dynamics.__func__  # type: ignore[attr-defined]
    recorded = type(call)(call.__code__, call.__globals__ | {"_empty": counted}, None, (None,))
    recorded.__kwdefaults__ = call.__kwdefaults__
    state = [ONE_STATE[kind](np.array(x)) for x in ([1.0, -2.0], [3.0, 0.0], [0.0, 5.0])]
    result = recorded(solver, *state)
    assert len(allocated) == 1
    assert result is allocated[0]


@pytest.mark.parametrize("real", ["double", "float"])
def test_a_long_state_gives_the_bits_of_a_short_one(
    real: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels.Arrays, "argument", None)
    arms = []
    for short in (0, 2):
        monkeypatch.setattr("symgen.machine.arrays.SHORT", short)
        arms.append(compile("planar_arm", ["mass_matrix"], real=real, optimize=0))
    q = np.array([1.0, -2.0], arms[0].mass_matrix([0, 0]).dtype)
    expected = arms[0].mass_matrix(q).tobytes()
    for kind in ONE_STATE.values():
        assert {arm.mass_matrix(kind(q)).tobytes() for arm in arms} == {expected}


def test_a_number_too_large_for_float_causes_a_warning(own_cache: Path) -> None:
    """NumPy's overflow warning appears for a list, a tuple, an array and a number."""
    arm = compile("planar_arm", ["step"], real="float", optimize=0)
    state = [np.zeros(2, np.float32)] * 3
    for large in ([1e300, 0.0], (1e300, 0.0), np.array([1e300, 0.0])):
        with pytest.warns(RuntimeWarning, match="overflow"):
            arm.step(large, *state[1:], 0.5)
    with pytest.warns(RuntimeWarning, match="overflow"):
        arm.step(*state, 1e300)


def test_a_scalar_argument_may_be_any_number(own_cache: Path) -> None:
    """Example: the time step dt in `step(q, v, tau, 0.01)`."""
    stepping = compile("planar_arm", ["step"], optimize=0)
    state = np.array([0.1, 0.2]), np.array([0.3, -0.4]), np.array([0.5, 0.6])
    expected = np.concatenate(stepping.step(*state, np.array(2.0)))
    for dt in (2.0, 2, np.float64(2), np.float32(2), np.int8(2), np.array(2), np.array([2.0])[0]):
        assert np.concatenate(stepping.step(*state, dt)).tobytes() == expected.tobytes()
        out = np.empty(2), np.empty(2)
        assert stepping.step(*state, dt, out=out)[1] is out[1]
        assert np.concatenate(out).tobytes() == expected.tobytes()
    overlapping = np.empty(3)
    with pytest.raises(ArgumentError, match="overlap"):
        stepping.step(*state, 2.0, out=(overlapping[:2], overlapping[1:]))


@pytest.mark.parametrize(
    "mistake", [["1", 2.0], [1j, 2.0], [True, None], [1.0], [[1.0, 2.0], [1.0]], "12", {1.0, 2.0}]
)
def test_one_state_of_no_numbers_is_refused(mistake: Any, solver: Solver) -> None:
    with pytest.raises(ArgumentError):
        solver.forward_dynamics(mistake, np.zeros(2), np.zeros(2))


X = np.zeros(2)
WRONG: dict[str, tuple[Any, str]] = {
    "length": (
        lambda s: s.forward_dynamics(X, np.zeros(3), X),
        r"v has shape \(3,\); it must have \(\.\.\., 2\)",
    ),
    "scalar": (lambda s: s.mass_matrix(1.0), r"q has shape \(\); it must have \(\.\.\., 2\)"),
    "complex": (
        lambda s: s.mass_matrix(X + 1j),
        r"q has dtype complex128; real numbers \(float64\)|q has dtype complex128",
    ),
    "text": (lambda s: s.mass_matrix(["a", "b"]), "q has dtype <U1"),
    "object": (lambda s: s.mass_matrix([None, 1]), "q has dtype object"),
    "bool": (lambda s: s.mass_matrix([True, False]), "q has dtype bool"),
    "ragged": (lambda s: s.mass_matrix([[1, 2], [1]]), "q is not an array of numbers"),
    "broadcast": (
        lambda s: s.forward_dynamics(np.zeros((3, 2)), np.zeros((4, 2)), X),
        r"together: q \(3,\), v \(4,\)",
    ),
    "out shape": (
        lambda s: s.mass_matrix(X, out=np.zeros(4)),
        r"\(2, 2\); a float64 array of shape \(4,\) was given",
    ),
    "out type": (lambda s: s.mass_matrix(X, out=np.zeros((2, 2), np.float32)), "a float32 array"),
    "out list": (lambda s: s.mass_matrix(X, out=[1, 2]), "a list was given"),
    "masked": (lambda s: s.mass_matrix(np.ma.masked_equal([1.0, 2.0], 2.0)), "q is a masked array"),
    "masked list": (lambda s: s.mass_matrix([np.ma.array([1.0, 2.0])]), "q is a masked array"),
    "out number": (
        lambda s: s.mass_matrix_and_bias(X, X, out=np.zeros((2, 2))),
        "a tuple of 2 arrays",
    ),
    "out twice": (
        lambda s: s.mass_matrix_and_bias(X, X, out=(m := np.zeros((2, 2)), m[0])),
        "overlap",
    ),
    "bind unknown": (lambda s: s.bind("mass_matri", X, X), "did you mean 'mass_matrix'"),
    "bind few": (lambda s: s.bind("mass_matrix", X), "1 arrays are bound, but it takes 2: q, M"),
    "bind list": (
        lambda s: s.bind("mass_matrix", [1, 2], np.zeros((2, 2))),
        "q must be a contiguous",
    ),
    "bind shape": (lambda s: s.bind("mass_matrix", np.zeros(3), np.zeros((2, 2))), "q has shape"),
    "bind result": (lambda s: s.bind("mass_matrix", X, np.zeros(4)), "M has shape"),
    "bind part": (
        lambda s: s.bind("mass_matrix", np.zeros((3, 2)), np.zeros((2, 2))),
        "M goes into",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused_in_one_line(solver: Solver, case: str) -> None:
    mistake, sentence = WRONG[case]
    with pytest.raises(ArgumentError, match=sentence) as caught:
        mistake(solver)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, LookupError) is (case == "bind unknown")
    assert "\n" not in str(caught.value)


def test_an_array_of_nv_numbers_for_q_is_refused_with_a_hint(own_cache: Path) -> None:
    """With a quaternion, q is longer than v."""
    ball = compile("spherical_pendulum", ["inverse_dynamics", "mass_matrix_solve"], optimize=0)
    q, v = np.array([0, 0, 0, 1.0]), np.zeros(3)
    short = (
        r"inverse_dynamics: q has 3 numbers, which is NV; q of 'spherical_pendulum' has NQ = 4 \(a"
        r" quaternion is four numbers"
    )
    for mistake, sentence in (
        (lambda: ball.inverse_dynamics(v, v, v), short),
        (lambda: ball.inverse_dynamics(np.zeros((5, 3)), v, v), short),
        (lambda: ball.inverse_dynamics(v, q, q), short),
        (
            lambda: ball.inverse_dynamics(q, q, v),
            "v has 4 numbers, which is NQ; v of 'spherical_pendulum' has NV = 3",
        ),
        (
            lambda: ball.mass_matrix_solve(q, q),
            "b has 4 numbers, which is NQ; b of 'spherical_pendulum' has NV = 3",
        ),
        (
            lambda: ball.bind("inverse_dynamics", q, v, v, q),
            "tau has 4 numbers, which is NQ; tau of",
        ),
        (
            lambda: ball.inverse_dynamics(q, v, np.zeros(5)),
            r"a has shape \(5,\); it must have \(\.\.\., 3\)",
        ),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            mistake()  # type: ignore[no-untyped-call]
    assert ball.inverse_dynamics(q, v, v).shape == (3,)


def misaligned(array: Array) -> Array:
    """Return the same numbers in memory that is misaligned by one byte."""
    return (
        np.frombuffer(bytearray(b"x" + array.tobytes()), dtype=np.uint8)[1:]
        .view(array.dtype)
        .reshape(array.shape)
    )


UNFIT: dict[str, tuple[Any, str]] = {
    "stride": (lambda m: np.zeros((*m.shape[:-1], 4))[..., ::2], "M is not contiguous"),
    "frozen": (lambda m: np.broadcast_to(np.float64(0), m.shape), "M is not contiguous"),
    "locked": (lambda m: np.frombuffer(bytes(m.nbytes)).reshape(m.shape), "M is not writable"),
    "aligned": (misaligned, "M is not aligned"),
    "swapped": (lambda m: m.astype(">f8"), "a >f8 array"),
    "single": (lambda m: m.astype(np.float32), "a float32 array"),
    "masked": (np.ma.array, "M is a masked array"),
    "larger": (lambda m: np.zeros((1, *m.shape)), "a float64 array of shape"),
    "list": (lambda m: m.tolist(), "a list was given"),
}


@pytest.mark.parametrize("states", [(), (3,)], ids=["one", "many"])
@pytest.mark.parametrize("case", UNFIT)
def test_an_unusable_result_array_is_refused_for_one_state_and_a_batch(
    solver: Solver, case: str, states: tuple[int, ...]
) -> None:
    spoil, sentence = UNFIT[case]
    q, out = uniform_states(*states, 2), np.zeros((*states, 2, 2))
    unfit = spoil(out)
    with pytest.raises(ArgumentError, match=sentence):
        solver.mass_matrix(q, out=unfit)
    with pytest.raises(ArgumentError, match=r"mass_matrix: (the|M)"):
        solver.bind("mass_matrix", q, unfit)
    np.testing.assert_array_equal(np.asarray(unfit), 0)
    np.testing.assert_array_equal(solver.mass_matrix(misaligned(q)), solver.mass_matrix(q))


INTERRUPTED = """
import signal
import time
import numpy as np
from symgen.vocabulary.arrays import Sizes
from symgen.ir.program import Port
from symgen.machine.solver import Solver
from tests.shared.c_programs import Builder

# Background jobs of a shell ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
b = Builder("slow", [Port("q", (1,))])
x = b.input(0, 0)
for _ in range(300):
    x = b.op("sin", x)
slow = b.program([Port("x", (1,), (x,))])
solver = Solver.from_programs("long", {"slow": slow}, Sizes(1, 1, 1), optimize=0)
q, x = np.ones((2_000_000, 1)), np.zeros((2_000_000, 1))
solver.slow(q[:50_000])   # which compiles it for blocks of states
for call in (
    lambda: solver.slow(q, out=x),
    lambda: solver.slow(q, out=x, threads=2),
    solver.bind("slow", q, x),
):
    x[...] = 0
    print("ready", flush=True)
    start = time.process_time()
    try:
        call()
    except KeyboardInterrupt:
        print(time.process_time() - start, np.count_nonzero(x), flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_stops_a_long_batch_within_a_second() -> None:
    """600 million sines take more than six seconds; processor time does not depend on the machine's
    load.
    """
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            seconds, done = process.stdout.readline().split()
            assert float(seconds) < 1.0
            assert 0 < int(done) < 2_000_000
    assert process.returncode == 0


def test_a_batch_in_many_shares_equals_that_in_one_share(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    solver = Solver.from_programs("arm", arm(), Sizes(2, 2, 2), optimize=1)
    q, v, tau = uniform_states(101, 2), uniform_states(2, seed=1), uniform_states(101, 2, seed=2)
    expected = solver.forward_dynamics(q, v, tau)
    bound, last = np.empty((101, 2)), np.empty(2)
    for first in (1, 40 * len(solver.programs["forward_dynamics"].rows)):
        monkeypatch.setattr(kernels, "FIRST_SHARE", first)
        monkeypatch.setattr(batch, "SHARE", 1e-9)  # each later share has one block
        np.testing.assert_array_equal(solver.forward_dynamics(q, v, tau), expected)
        np.testing.assert_array_equal(solver.forward_dynamics(q, v, tau, out=tau.copy()), expected)
        solver.bind("forward_dynamics", q, v, tau, bound)()
        np.testing.assert_array_equal(bound, expected)
        solver.chain("forward_dynamics", 101, q, v, tau, last)()
        np.testing.assert_array_equal(last, expected[-1])


def test_results_may_alias_arguments(solver: Solver) -> None:
    q, v, tau = uniform_states(2), uniform_states(2, seed=1), uniform_states(2, seed=2)
    a = solver.forward_dynamics(q, v, tau)
    for k in range(3):
        arguments = [q.copy(), v.copy(), tau.copy()]
        np.testing.assert_array_equal(solver.forward_dynamics(*arguments, out=arguments[k]), a)
    qs, vs, taus = uniform_states(9, 2), uniform_states(9, 2, seed=1), uniform_states(9, 2, seed=2)
    batch = solver.forward_dynamics(qs, vs, taus)
    store = np.zeros((10, 2))
    for start in (0, 1):  # exactly over, and shifted by one state
        store[:9] = taus
        np.testing.assert_array_equal(
            solver.forward_dynamics(qs, vs, store[:9], out=store[start : start + 9]), batch
        )
    matrix = np.zeros((9, 2, 2))
    matrix.reshape(-1)[:18] = qs.reshape(-1)
    np.testing.assert_array_equal(
        solver.mass_matrix(matrix.reshape(-1)[:18].reshape(9, 2), out=matrix),
        solver.mass_matrix(qs),
    )
    with pytest.raises(RequestError, match="overlaps a result"):
        solver.bind("mass_matrix", matrix.reshape(-1)[:18].reshape(9, 2), matrix)


def test_bound_calls_read_the_current_buffers(solver: Solver) -> None:
    q, v, tau, a = (
        uniform_states(2),
        uniform_states(2, seed=1),
        uniform_states(2, seed=2),
        np.empty(2),
    )
    call = solver.bind("forward_dynamics", q, v, tau, a)
    for seed in range(3):
        q[:] = uniform_states(2, seed=seed)
        assert call() is None
        np.testing.assert_array_equal(a, solver.forward_dynamics(q, v, tau))
    del q, v, tau
    call()
    qs, batch = uniform_states(7, 2), np.empty((7, 2, 2))
    solver.bind("mass_matrix", qs, batch)()
    np.testing.assert_array_equal(batch, solver.mass_matrix(qs))
    M, c, state = np.empty((7, 2, 2)), np.empty((7, 2)), uniform_states(2)
    solver.bind("mass_matrix_and_bias", state, qs, M, c)()
    np.testing.assert_array_equal(c, solver.mass_matrix_and_bias(state, qs)[1])
    det = np.empty(())
    solver.bind("mass_matrix_determinant", state, det)()
    assert det == solver.mass_matrix_determinant(state)


def test_a_chain_computes_the_states_in_order(solver: Solver) -> None:
    q, v, tau, a = (
        uniform_states(5, 2),
        uniform_states(5, 2, seed=1),
        uniform_states(2, seed=2),
        np.full(2, np.nan),
    )
    call = solver.chain("forward_dynamics", 5, q, v, tau, a)
    for _ in range(2):
        call()
        np.testing.assert_array_equal(a, solver.forward_dynamics(q[-1], v[-1], tau))
    M, c, det = np.empty((2, 2)), np.empty(2), np.empty(())
    solver.chain("mass_matrix_and_bias", 5, q, v, M, c)()
    np.testing.assert_array_equal(c, solver.mass_matrix_and_bias(q[-1], v[-1])[1])
    solver.chain("mass_matrix_determinant", 3, q[0], det)()
    assert det == solver.mass_matrix_determinant(q[0])
    # a share other than zero shows that the first argument receives the previous result
    kernel = solver._kernels["forward_dynamics"]
    kernel.in_turn(2, 0.5, *kernel._steps([q, v, tau], [True, True, False]), *kernel._into([a]))
    before = solver.forward_dynamics(
        q[0] + 0.5 * solver.forward_dynamics(q[-1], v[-1], tau), v[0], tau
    )
    np.testing.assert_allclose(
        a, solver.forward_dynamics(q[1] + 0.5 * before, v[1], tau), rtol=1e-12
    )
    for states, arrays in (
        (4, (q, v, tau, a)),
        (5, (q, v, tau, np.empty((5, 2)))),
        (5, (q, v.tolist(), tau, a)),
        (5, (q, a)),
    ):
        with pytest.raises(RequestError, match="forward_dynamics"):
            solver.chain("forward_dynamics", states, *arrays)


@pytest.mark.slow
def test_a_float_solver_agrees_with_the_double_solver(solver: Solver, single: Solver) -> None:
    q, v, tau = (uniform_states(4, 2, seed=k).astype(np.float32) for k in range(3))
    a = single.forward_dynamics(q, v, tau)
    assert a.dtype == np.float32
    np.testing.assert_allclose(a, solver.forward_dynamics(q, v, tau), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(single.forward_dynamics(q[0], v[0], tau[0]), a[0])
    np.testing.assert_array_equal(single.forward_dynamics(q.tolist(), v, tau.astype(np.float64)), a)
    assert single.mass_matrix_determinant(q[0]).dtype == np.float32
    with pytest.raises(RequestError, match="float32 array"):
        single.mass_matrix(q[0], out=np.empty((2, 2)))


def test_payload_is_an_argument(own_cache: Path) -> None:
    solver = Solver.from_programs(
        "arm", {"gravity_force": gravity(payload=True)}, Sizes(2, 2, 2), optimize=1
    )
    q, payload = uniform_states(5, 2), uniform_states(10)
    np.testing.assert_array_equal(
        solver.gravity_force(q, payload), expected(gravity(payload=True), q, payload)[0]
    )
    np.testing.assert_array_equal(
        solver.gravity_force(q[0], payload), solver.gravity_force(q, payload)[0]
    )


def test_a_solver_describes_its_functions_and_sizes(solver: Solver) -> None:
    assert repr(solver).startswith("<symgen.Solver arm: NQ = 2, NV = 2, double; forward_dynamics, ")
    assert solver.functions == tuple(arm())
    assert solver.programs == arm()
    assert solver.mechanism is None
    options = ["out", "threads", "layout", "progress"]
    assert list(inspect.signature(solver.forward_dynamics).parameters) == [
        "q",
        "v",
        "tau",
        *options,
    ]
    assert "tau: (..., 2), joint torques" in (solver.forward_dynamics.__doc__ or "")
    assert not hasattr(solver, "jacobian")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'tau'"):
        solver.forward_dynamics(X, X)
    with pytest.raises(AttributeError, match="did you mean 'mass_matrix'"):
        _ = solver.mass_matrx
    with pytest.raises(RequestError, match="no function"):
        Solver.from_programs("arm", {}, Sizes(2, 2, 2))


def test_an_unpickled_solver_uses_the_cached_library(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        building,
        "_run",
        lambda *_: pytest.fail("the compiler ran although the library is in the cache"),
    )
    q = uniform_states(2)
    for again in (pickle.loads(pickle.dumps(solver)), copy.deepcopy(solver)):
        np.testing.assert_array_equal(again.mass_matrix(q), solver.mass_matrix(q))


@pytest.mark.slow
def test_compile_derives_builds_and_pickles_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = load("planar_arm")
    solver = compile(robot, ["forward_dynamics", "inverse_dynamics=newton_euler"], optimize=1)
    assert solver.mechanism is robot
    assert set(solver.functions) == {"forward_dynamics", "inverse_dynamics"}
    assert solver.programs["inverse_dynamics"].method == "newton_euler"
    q, v, tau = (uniform_states(3, robot.nv, seed=k) for k in range(3))
    np.testing.assert_allclose(
        solver.inverse_dynamics(q, v, solver.forward_dynamics(q, v, tau)), tau, rtol=1e-9, atol=1e-9
    )
    monkeypatch.setattr(
        building,
        "_run",
        lambda *_: pytest.fail("the compiler ran although the library is in the cache"),
    )
    again = pickle.loads(pickle.dumps(solver))
    assert again.mechanism == robot
    np.testing.assert_array_equal(
        again.forward_dynamics(q, v, tau), solver.forward_dynamics(q, v, tau)
    )
    assert (
        compile("planar_arm", solver.functions, optimize=1).programs.keys()
        == solver.programs.keys()
    )


def test_compile_passes_its_options_to_the_program() -> None:
    solver = compile(
        "planar_arm",
        ["gravity_force"],
        "float",
        optimize=1,
        trig="macro",
        payload=load("planar_arm").frames[-1].name,
    )
    assert solver.real == "float"
    assert [port.name for port in solver.programs["gravity_force"].inputs] == ["q", "payload"]
    again = pickle.loads(pickle.dumps(solver))
    assert again.real == "float"
    assert again.programs == solver.programs
    with pytest.raises(UnknownName, match="did you mean 'gravity_force'"):
        compile("planar_arm", "gravity_forc")


@pytest.mark.parametrize(
    "call",
    [
        lambda: load("pandas"),
        lambda: symgen.program("planar_arm", "mas_matrix"),
        lambda: symgen.inspect("planar_arm", "Q[0]"),
        lambda: symgen.program("planar_arm", "jacobian", frame="handle"),
        lambda: symgen.inspect("planar_arm", "M[9,9]"),
        lambda: load("planar_arm", lock={"elbow": None}),
        lambda: compile("planar_arm", ["mass_matrix"], "quad"),
        lambda: symgen.program("planar_arm", "mass_matrix", method="magic"),
    ],
)
def test_an_unknown_name_raises_a_lookup_error_with_a_plain_message(call: Any) -> None:
    with pytest.raises(LookupError) as caught:
        call()
    assert isinstance(caught.value, symgen.SymgenError)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == caught.value.args[0]  # KeyError would put it in quotes


def test_every_argument_of_the_python_calls_has_a_name_and_a_type() -> None:
    """Names and types let editors complete arguments and type checkers verify them."""
    for name in ("load", "program", "compile", "generate", "verify", "inspect"):
        for parameter in inspect.signature(
            getattr(importlib.import_module(symgen._HOME[name]), name)
        ).parameters.values():
            assert parameter.kind is not parameter.VAR_KEYWORD, name
            assert parameter.annotation not in (parameter.empty, "Any"), f"{name}: {parameter.name}"
    assert (Path(symgen.__file__).parent / "py.typed").is_file()


def test_the_program_that_make_check_type_checks_also_runs(tmp_path: Path) -> None:
    assert abs(typed_user.main(tmp_path)) < 1e3
    assert (tmp_path / "arm" / "planar_arm_inverse_dynamics.c").is_file()


def test_threads_can_share_a_solver(solver: Solver) -> None:
    q = uniform_states(2000, 2)
    expected_matrices = solver.mass_matrix(q)
    wrong: list[int] = []

    def work(k: int) -> None:
        for i in range(k, 2000, 4):
            if not np.array_equal(solver.mass_matrix(q[i]), expected_matrices[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []

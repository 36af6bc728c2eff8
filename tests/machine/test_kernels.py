"""Calls of compiled functions, with Python functions in place of the C that they call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.ir.program import Outline, Port
from symgen.machine import kernels
from symgen.machine.building import Build, RobotBuild
from symgen.machine.kernels import FIRST_SHARE, ROWS_BEFORE_BLOCKS, Kernel
from symgen.support.errors import ArgumentError, StateError, SymgenWarning
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import TextOptions
from tests.machine.python_library import STATUS, Blocks, Library, S, T, X, outline_of


def kernel(
    library: Library,
    length: int = 10,
    contract: bool = False,
    many: Any = None,
    behind: Any = None,
) -> Kernel:
    robot = RobotBuild(
        "stub",
        Sizes(2, 2, 1),
        Build(contract=contract),
        TextOptions(checked=library.checked),
    )
    library_module: Any = library
    return Kernel(outline_of(library, length), library_module, robot, many, behind)


def states(count: int) -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    return random.uniform(-1, 1, (count, 2)), random.uniform(-1, 1, count)


def expected(x: Any, t: Any) -> tuple[Any, Any]:
    x, t = np.asarray(x), np.asarray(t)
    return 2 * x + t[..., None], t * x[..., 0]


def check(results: Any, x: Any, t: Any) -> None:
    for result, value in zip(results, expected(x, t), strict=True):
        assert np.array_equal(result, value)


def test_one_state_and_many_states_give_the_results_of_the_function() -> None:
    library = Library()
    call = kernel(library).call()
    x, t = states(5)
    check(call(None, x[0], t[0]), x[0], t[0])
    check(call(None, list(x[0]), float(t[0])), x[0], t[0])
    assert library.calls == [("state", 1)] * 2
    check(call(None, x, t), x, t)
    y, s = call(None, x.T.copy(), t, layout="soa")
    assert library.calls[2:] == [("each", 5)] * 2
    check((y.T, s), x, t)
    # an argument of one state serves all states
    check(call(None, x, t[0]), x, np.full(5, t[0]))
    check(call(None, x[0], t), np.broadcast_to(x[0], (5, 2)), t)
    y, s = call(None, np.zeros((0, 2)), t[0])
    assert (y.shape, s.shape) == ((0, 2), (0,))


@pytest.mark.parametrize("lead", [(1, 4), (4, 1), (2, 2), (1, 1, 4)])
@pytest.mark.parametrize("choice", ["never", "now"])
def test_leading_axes_of_length_one_are_as_good_as_others(
    lead: tuple[int, ...], choice: str
) -> None:
    """An argument of one state serves all, also if it has axes of length one itself."""
    library = Library()
    function = kernel(library, contract=choice == "now", many=lambda: Blocks(library))
    flat, t = states(4)
    x = flat.reshape(*lead, 2)
    for number in (np.array(0.5), np.full((1,) * len(lead), 0.5), np.full((1,), 0.5)):
        check(function.call()(None, x, number), x, np.full(lead, 0.5))
    check(
        function.call()(None, flat[0], t.reshape(lead)),
        np.broadcast_to(flat[0], x.shape),
        t.reshape(lead),
    )


def test_a_first_slice_takes_milliseconds() -> None:
    """A row takes about half a nanosecond, and compilation for blocks some seconds."""
    assert 1e-3 <= FIRST_SHARE * 0.5e-9 < 1e-2
    assert 2e-3 <= ROWS_BEFORE_BLOCKS * 0.5e-9 < 1e-2


def test_one_result_is_no_tuple_and_a_number_without_axes() -> None:
    library = Library(outputs=1)
    x, t = states(3)
    y = kernel(library).call()(None, x[0], t[0])
    assert np.array_equal(y, expected(x[0], t[0])[0])
    assert y.flags.owndata
    out = np.empty((3, 2))
    assert kernel(library).call()(None, x, t, out=out) is out
    assert np.array_equal(out, expected(x, t)[0])
    outline = Outline("scale", "test", (X, T), (S,), {}, 10, "double")
    library_module: Any = Library(outputs=1)
    library_module.compute = lambda x, t, results: results[0].__setitem__(0, x[0])
    number = Kernel(outline, library_module, RobotBuild("stub", Sizes(2, 2, 1))).call()(
        None, x[0], t[0]
    )
    assert isinstance(number, float)
    assert number == x[0, 0]


@pytest.mark.parametrize("contract", [False, True])
def test_one_state_never_takes_blocks(contract: bool) -> None:
    """With two threads it takes the long path, which returns the arrays of `out`."""
    library = Library()
    function = kernel(library, contract=contract, many=lambda: pytest.fail("compiled"))
    x, t = states(1)
    y, s = np.empty(2), np.empty(())
    results = function.call()(None, x[0], t[0], out=(y, s), threads=2)
    assert [result is array for result, array in zip(results, (y, s), strict=True)] == [True, True]
    check(results, x[0], t[0])
    y, s = function.call()(None, x[0], t[0], threads=2)
    assert isinstance(s, float)
    check((y, s), x[0], t[0])
    assert library.calls == [("each", 1)] * 2


def test_results_of_any_strides_receive_copies_of_compact_ones() -> None:
    library = Library()
    x, t = states(4)
    y, s = np.zeros((2, 4)), np.zeros(4)
    kernel(library).call()(None, x.T.copy(), t, out=(y, s), layout="soa")
    check((y.T, s), x, t)
    assert library.calls == [("each", 4)]


def test_the_rows_of_a_share_limit_the_states_of_a_call_of_c() -> None:
    """A share of FIRST_SHARE rows has two states; slices have whole blocks of 16."""
    x, t = states(40)
    library = Library()
    check(kernel(library, FIRST_SHARE // 40).call()(None, x, t), x, t)
    assert library.calls == [("each", 40)]
    library = Library()
    progress: list[tuple[int, int]] = []
    results = kernel(library, FIRST_SHARE // 2).call()(
        None, x, t, progress=lambda *counts: progress.append(counts)
    )
    check(results, x, t)
    assert library.calls[0] == ("each", 16)
    assert sum(count for _, count in library.calls) == 40
    assert progress[-1] == (40, 40)
    assert kernel(library, 10 * FIRST_SHARE)._first_share == 1


def test_several_threads_take_slices_of_a_short_batch() -> None:
    x, t = states(64)
    library = Library()
    check(kernel(library, FIRST_SHARE // 64).call()(None, x, t, threads=1), x, t)
    assert len(library.calls) == 1
    library = Library()
    check(kernel(library, FIRST_SHARE // 20).call()(None, x, t, threads=2), x, t)
    assert len(library.calls) > 1


@pytest.mark.parametrize("choice", ["now", "never", "background"])
def test_blocks_are_compiled_after_many_rows(choice: str) -> None:
    """One state does not count; without a background process the call itself compiles."""
    library = Library()
    compiled: list[int] = []

    def many() -> Any:
        compiled.append(len(library.calls))
        return Blocks(library)

    behind = None if choice == "background" else lambda: pytest.fail("in the background")
    function = kernel(library, ROWS_BEFORE_BLOCKS // 40, many=many, behind=behind)
    function.blocks_when = choice
    call, (x, t) = function.call(), states(20)
    check(call(None, x, t), x, t)
    check(call(None, x[:10], t[:10]), x[:10], t[:10])
    check(call(None, x[0], t[0]), x[0], t[0])
    assert not compiled
    assert {kind for kind, _ in library.calls} == {"each", "state"}
    check(call(None, x[:10], t[:10]), x[:10], t[:10])
    library.calls.clear()
    check(call(None, x, t), x, t)
    assert len(compiled) == (choice != "never")
    assert {kind for kind, _ in library.calls} == {"each" if choice == "never" else "many"}
    y, s = np.zeros((2, 20)), np.zeros(20)
    call(None, x.T, t, out=(y, s), layout="soa")
    check((y.T, s), x, t)
    function.prepare()
    assert len(compiled) == 1


def test_blocks_are_compiled_at_the_last_of_these_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "ROWS_BEFORE_BLOCKS", 40)
    library = Library()
    call, (x, t) = kernel(library, 1, many=lambda: Blocks(library)).call(), states(39)
    check(call(None, x, t), x, t)
    check(call(None, x[:1], t[:1]), x[:1], t[:1])
    assert library.calls == [("each", 39), ("many", 1)]


def test_contracted_functions_use_blocks_from_the_first_batch_on() -> None:
    """Their last bits differ from those of single states, so that a background process comes too
    late.
    """
    library = Library()
    function = kernel(
        library, contract=True, many=lambda: Blocks(library), behind=lambda: pytest.fail("behind")
    )
    x, t = states(2)
    check(function.call()(None, x, t), x, t)
    assert library.calls == [("many", 2)]


def test_a_function_without_blocks_is_asked_for_them_once() -> None:
    library, asked = Library(), []
    function = kernel(library, ROWS_BEFORE_BLOCKS, many=lambda: asked.append(1))
    x, t = states(3)
    for _ in range(2):
        check(function.call()(None, x, t), x, t)
    assert (len(asked), {kind for kind, _ in library.calls}) == (1, {"each"})


class Compilation:
    """A background compilation under the control of a test."""

    def __init__(self) -> None:
        self.ended, self.failure, self.waited, self.warned = False, "", 0, 0

    def wait(self) -> None:
        self.waited += 1

    def warn_of_failure(self) -> None:
        import warnings

        self.warned += 1
        warnings.warn("failed", SymgenWarning, stacklevel=1)


def test_calls_go_on_state_by_state_until_a_background_compilation_ends() -> None:
    library, compilation, started = Library(), Compilation(), []

    def behind() -> Any:
        started.append(1)
        return compilation

    function = kernel(library, ROWS_BEFORE_BLOCKS, many=lambda: Blocks(library), behind=behind)
    x, t = states(2)
    for _ in range(2):
        check(function.call()(None, x, t), x, t)
    assert library.calls == [("each", 2)] * 2
    compilation.ended = True
    check(function.call()(None, x, t), x, t)
    assert library.calls[2:] == [("many", 2)]
    assert len(started) == 1
    assert compilation.waited == 1


def test_a_failed_background_compilation_warns_once_and_calls_go_on() -> None:
    library, compilation = Library(), Compilation()
    compilation.ended, compilation.failure = True, "no space"
    function = kernel(
        library,
        ROWS_BEFORE_BLOCKS,
        many=lambda: pytest.fail("compiled"),
        behind=lambda: compilation,
    )
    x, t = states(2)
    with pytest.warns(SymgenWarning):
        check(function.call()(None, x, t), x, t)
    check(function.call()(None, x, t), x, t)
    assert (compilation.warned, function.blocks_when) == (1, "never")


def test_a_library_in_the_cache_needs_no_background_compilation() -> None:
    library = Library()
    function = kernel(
        library, ROWS_BEFORE_BLOCKS, many=lambda: Blocks(library), behind=lambda: None
    )
    x, t = states(2)
    check(function.call()(None, x, t), x, t)
    assert library.calls == [("many", 2)]


@pytest.mark.parametrize("in_blocks", [False, True])
def test_refused_states_are_counted_and_the_first_is_named(in_blocks: bool) -> None:
    library = Library(checked=True)
    function = kernel(library, 1 + in_blocks * ROWS_BEFORE_BLOCKS, many=lambda: Blocks(library))
    call, (x, t) = function.call(), states(6)
    check(call(None, x, t), x, t)
    x[4, 0] = STATUS
    with pytest.raises(StateError, match=r"at state 4: the steps from the start do not close"):
        call(None, x, t)
    x[1, 0] = x[5, 0] = STATUS
    with pytest.raises(StateError, match=r"scale refuses its arguments at state 1 and 2 more: "):
        call(None, x, t)
    status = np.zeros(6, np.intc)
    check(call(None, x, t, status=status), x, t)
    assert status.tolist() == [0, 5, 0, 0, 5, 5]
    with pytest.raises(StateError, match=r"^scale refuses its arguments: the steps"):
        call(None, x[1], t[1])
    kinds = {kind for kind, _ in library.calls}
    assert kinds == {"many" if in_blocks else "each", "state"} | set(kinds & {"each"})


def test_each_status_has_a_reason_without_a_gap() -> None:
    assert not kernels._REFUSED[0]
    reasons = [Kernel._why(status) for status in range(1, 7)]
    words = ["infinite", "angle is beyond", "divisor", "quaternion", "close the loops", "too large"]
    assert all(word in reason for word, reason in zip(words, reasons, strict=True))
    assert "{" not in "".join(reasons)


@pytest.mark.parametrize("in_blocks", [False, True])
def test_a_looped_function_without_memory_raises_a_memory_error(in_blocks: bool) -> None:
    library = Library(looped=True)
    function = kernel(library, 1 + in_blocks * ROWS_BEFORE_BLOCKS, many=lambda: Blocks(library))
    assert function.looped
    x, t = states(3)
    y, s = np.empty((3, 2)), np.empty(3)
    bound, single = (
        function.bind([x, t, y, s]),
        function.bind([x[0], t[0:1][0:1].reshape(()), y[0], s[0:1].reshape(())]),
    )
    bound()
    single()
    check((y, s), x, t)
    library.memory = False
    calls: list[Any] = [lambda: function.call()(None, x, t), bound, single]
    for call in calls:
        with pytest.raises(MemoryError, match="workspace of 1 links"):
            call()


def test_bound_arrays_are_read_at_every_call() -> None:
    library = Library()
    function = kernel(library)
    x, t = states(5)
    y, s = np.zeros((5, 2)), np.zeros(5)
    bound = function.bind([x, t, y, s])
    x += 1
    bound()
    check((y, s), x, t)
    assert library.calls == [("each", 5)]
    common = np.array(0.5)
    function.bind([x, common, y, s])()
    check((y, s), x, np.full(5, 0.5))
    # a second leading axis; one state with axes of length one serves all
    wide = x[:4].reshape(2, 2, 2)
    y, s = np.zeros((2, 2, 2)), np.zeros((2, 2))
    function.bind([wide, np.full((1, 1), 0.25), y, s])()
    check((y, s), wide, np.full((2, 2), 0.25))
    nothing = function.bind([np.zeros((0, 2)), common, np.zeros((0, 2)), np.zeros(0)])
    library.calls.clear()
    nothing()
    assert not library.calls


def test_a_bound_call_of_many_rows_runs_in_slices() -> None:
    library = Library(outputs=1)
    x, t = states(40)
    y = np.zeros((40, 2))
    kernel(library, FIRST_SHARE // 2).bind([x, t, y])()
    assert np.array_equal(y, expected(x, t)[0])
    assert library.calls[0] == ("each", 16)
    assert sum(count for _, count in library.calls) == 40


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((3, 4))[:, ::2],
        np.zeros((3, 2), "f4"),
        np.zeros(8 * 6 + 1, np.uint8)[1:].view(np.float64).reshape(3, 2),
        [[0.0, 0.0]] * 3,
    ],
    ids=["strides", "type", "alignment", "list"],
)
def test_bound_arrays_are_read_in_place(wrong: Any) -> None:
    arrays: list[Any] = [np.zeros((3, 2)), np.zeros(3), np.zeros((3, 2)), np.zeros(3)]
    for index, name in ((0, "x"), (2, "y")):
        changed = [wrong if k == index else array for k, array in enumerate(arrays)]
        with pytest.raises(ArgumentError, match=f"{name} must be a contiguous, aligned float64"):
            kernel(Library()).bind(changed)


def test_the_driver_of_an_assembly_is_always_checked() -> None:
    names = [f"stub_assemble{ending}" for ending in ("", "_aligned", "_each", "_chain")]
    library: Any = SimpleNamespace(ffi=Library().ffi, lib=SimpleNamespace(**dict.fromkeys(names)))
    outline = Outline("assemble", "test", (X,), (X,), {}, 10, "double")
    assert Kernel(outline, library, RobotBuild("stub", Sizes(2, 2, 1))).checked
    assert not kernel(Library()).checked
    assert kernel(Library(checked=True)).checked


def test_bound_arrays_have_one_state_or_all() -> None:
    function = kernel(Library())
    x, t = states(3)
    y, s = np.zeros((2, 3, 2)), np.zeros((2, 3))
    with pytest.raises(ArgumentError, match=r"x has leading shape \(3,\); bound arrays hold one"):
        function.bind([x, np.zeros((2, 3)), y, s])
    with pytest.raises(ArgumentError, match=r"3 arrays are bound, but it takes 4: x, t, y, s"):
        function.bind([x, t, y])


def test_an_argument_may_be_its_own_result_but_not_that_of_another_state() -> None:
    function = kernel(Library())
    memory = np.zeros((4, 2))
    t, s = np.zeros(3), np.zeros(3)
    function.bind([memory[:3], t, memory[:3], s])
    function.bind([memory[0], np.array(0.0), memory[0], np.array(0.0)])
    with pytest.raises(ArgumentError, match="x overlaps a result of another state"):
        function.bind([memory[:3], t, memory[1:], s])
    with pytest.raises(ArgumentError, match="x overlaps a result of another state"):
        function.bind([memory[0], t, memory[:3], s])
    # the last entry of the result of one state is the first of the next one's argument
    with pytest.raises(ArgumentError, match="t overlaps a result of another state"):
        function.bind([np.zeros((3, 2)), memory.reshape(-1)[1:4], memory[:3], s])


@pytest.mark.parametrize("lead", [(), (1,), (1, 1)])
@pytest.mark.parametrize("shift", [0, 1])
def test_the_result_of_one_state_may_overlap_its_argument(
    lead: tuple[int, ...], shift: int
) -> None:
    """C has read the whole argument before it stores the first result."""
    memory = np.array([3.0, 4.0, 5.0])
    x = memory[shift : shift + 2].reshape(*lead, 2)
    y = memory[1 - shift : 3 - shift].reshape(*lead, 2)
    t, s, before = np.full(lead, 0.5), np.zeros(lead), x.copy()
    assert np.may_share_memory(x, y)
    kernel(Library()).bind([x, t, y, s])()
    check((y, s), before, t)


def test_overlapping_arrays_of_two_states_are_refused() -> None:
    """They coincide only if they begin together, have the same steps and the same size."""
    function = kernel(Library())
    memory = np.arange(12.0)
    t, s = np.zeros(2), np.zeros(2)
    function.bind([memory[:4].reshape(2, 2), t, memory[:4].reshape(2, 2), s])
    for start in (1, 2, 3):
        with pytest.raises(ArgumentError, match="x overlaps a result of another state"):
            function.bind([memory[start : start + 4].reshape(2, 2), t, memory[:4].reshape(2, 2), s])
    function.bind([memory[4:8].reshape(2, 2), t, memory[:4].reshape(2, 2), s])
    # t coincides with the first numbers of y, but its states are closer together
    with pytest.raises(ArgumentError, match="t overlaps a result of another state"):
        function.bind([memory[4:8].reshape(2, 2), memory[:2], memory[:4].reshape(2, 2), s])


def test_results_over_later_arguments_are_computed_from_copies() -> None:
    library = Library()
    x, t = states(4)
    memory = np.zeros((5, 2))
    memory[:4] = x
    s = np.zeros(4)
    kernel(library).call()(None, memory[:4], t, out=(memory[1:], s))
    check((memory[1:], s), x, t)


@pytest.mark.parametrize("view", ["transposed", "shifted", "the same"])
def test_blocks_do_not_read_arguments_that_earlier_states_have_overwritten(view: str) -> None:
    """Arguments in the memory of the results are copied, except state by state."""
    library = Library()
    function = kernel(library, contract=True, many=lambda: Blocks(library))
    memory = np.arange(1.0, 11.0)
    y = memory[:8].reshape(4, 2)[:2] if view == "transposed" else memory[2:].reshape(4, 2)
    x = {
        "transposed": memory[:4].reshape(2, 2).T,
        "shifted": memory[:8].reshape(4, 2),
        "the same": memory[2:].reshape(4, 2),
    }[view]
    before, t, s = x.copy(), np.arange(len(x), dtype=float), np.zeros(len(x))
    results = function.call()(None, x, t, out=(y, s))
    check(results, before, t)
    assert library.calls == [("many", len(x))]


@pytest.mark.parametrize("in_blocks", [False, True])
def test_an_argument_may_be_a_column_of_a_result(in_blocks: bool) -> None:
    """Each state is read before its own results, and no others, are stored over it."""
    library = Library()
    function = kernel(library, contract=in_blocks, many=lambda: Blocks(library))
    x, t = states(4)
    y, s = np.zeros((4, 2)), np.zeros(4)
    for column in (0, 1):
        y[:, column] = t
        check(function.call()(None, x, y[:, column], out=(y, s)), x, t)


def test_a_bound_checked_batch_names_the_refused_state() -> None:
    library = Library(checked=True)
    function = kernel(library)
    x, t = states(3)
    y, s = np.zeros((3, 2)), np.zeros(3)
    bound = function.bind([x, t, y, s])
    bound()
    x[2, 0] = STATUS
    with pytest.raises(StateError, match="at state 2: "):
        bound()
    single = function.bind([x[2], np.array(0.0), y[0], np.array(0.0)])
    with pytest.raises(StateError, match="refuses its arguments: "):
        single()


def test_a_chain_starts_at_zero_and_ends_with_the_last_state() -> None:
    library = Library()
    function = kernel(library)
    x, t = states(4)
    y, s = np.ones(2), np.array(7.0)
    chain = function.chain(4, [x, t, y, s])
    assert not y.any()
    assert s == 0
    chain()
    check((y, s), x[-1], t[-1])
    assert library.calls == [("chain", 4)]
    function.chain(4, [x[0], t, y, s])()
    check((y, s), x[0], t[-1])
    function.chain(4, [x, np.array(0.5), y, s])()
    check((y, s), x[-1], 0.5)
    for arrays in ([x[:3], t, y, s], [x, np.zeros(8)[::2], y, s]):
        with pytest.raises(ArgumentError, match="a chain of 4 states takes one state or 4 of each"):
            function.chain(4, arrays)
    with pytest.raises(ArgumentError, match="t must be a contiguous, aligned float64 array"):
        function.chain(4, [x, 0.5, y, s])
    with pytest.raises(ArgumentError, match="3 arrays are bound"):
        function.chain(4, [x, t, y])


def test_a_chain_of_many_rows_runs_in_slices() -> None:
    library = Library()
    x, t = states(40)
    y, s = np.ones(2), np.array(7.0)
    kernel(library, FIRST_SHARE // 2).chain(40, [x, t, y, s])()
    check((y, s), x[-1], t[-1])
    assert library.calls[0] == ("chain", 16)
    assert sum(count for _, count in library.calls) == 40


@pytest.mark.parametrize("name", ["out", "threads", "_x", "two words", "status"])
def test_names_that_a_call_needs_itself_are_refused(name: str) -> None:
    function = kernel(Library())
    function.inputs = (Port(name, (2,)), T)
    with pytest.raises(ArgumentError, match=f"'{name}' cannot be the name of a function"):
        function.call()


def test_prepared_parameters_are_the_solver_s_if_none_are_passed() -> None:
    """They are the last argument."""
    function = kernel(Library())
    function.inputs = (X, T._replace(name="prepared"))
    solver = SimpleNamespace(parameters=SimpleNamespace(prepared=0.25))
    call, (x, t) = function.call(), states(2)
    check(call(solver, x[0]), x[0], 0.25)
    check(call(solver, x[0], t[0]), x[0], t[0])
    check(call(solver, x, prepared=t), x, t)


def test_a_keyword_of_python_gets_an_underscore() -> None:
    function = kernel(Library())
    function.inputs = (Port("lambda", (2,)), T)
    x, t = states(1)
    check(function.call()(None, lambda_=x[0], t=t[0]), x[0], t[0])


def test_the_docstring_states_results_method_and_refusals() -> None:
    plain, checked = (kernel(Library(checked=x)).call().__doc__ or "" for x in (False, True))
    assert plain.startswith("scale(x, t, out=None, *, threads=1, layout='aos', progress=None)")
    assert "out is a tuple of arrays to write to" in plain
    assert "out is an array to write to" in (kernel(Library(outputs=1)).call().__doc__ or "")
    assert "Method test: " in plain
    assert ("status=None" in plain, "StateError" in plain) == (False, False)
    assert "layout='aos', status=None, progress=None)" in checked
    assert "an array of int32" in checked

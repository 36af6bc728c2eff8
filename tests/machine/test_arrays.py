"""Arrays of a function: what goes to C in place, as a list, or as a copy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symgen.ir.program import Outline, Port
from symgen.machine.arrays import SHORT, Arrays, array_lines, describe_argument
from symgen.support.errors import ArgumentError
from symgen.vocabulary.arrays import Sizes

Q, V, M = Port("q", (4,)), Port("v", (3,)), Port("M", (3, 3))
SIZES = Sizes(4, 3, 1)


def arrays(real: str = "double", checked: bool = True) -> Arrays:
    """Return the arrays of a function with a scalar, a long and a square argument."""
    ports = (Q, V, Port("dt", ()), Port("long", (SHORT + 1,)), Port("square", (2, 2)))
    outline = Outline("mass_matrix", "test", ports, (M, Port("b", (3,))), {}, 10, real)
    return Arrays(outline, "robot", SIZES, checked)


class Buffer:
    """An array that goes to C as a buffer."""

    def __init__(self, array: Any) -> None:
        self.array = array


@pytest.mark.parametrize(
    ("real", "dtype", "is_list"),
    [
        ("double", "f8", True),
        ("double", "f4", True),
        ("double", "i8", True),
        ("double", "g", False),
        ("float", "f4", True),
        ("float", "f8", False),
        ("float", "i2", False),
    ],
)
def test_a_short_array_goes_as_a_list_if_its_numbers_stay_the_same(
    real: str, dtype: str, is_list: bool
) -> None:
    """A Python float is a double: it has all numbers of narrower types, but not a long double's."""
    read = arrays(real).reader(Q, Buffer)
    x = np.arange(8).astype(dtype)[::2]
    sent: Any = read(x)
    assert type(sent) is (list if is_list else Buffer)
    if isinstance(sent, Buffer):
        assert sent.array.dtype == arrays(real).real
        assert sent.array.flags.c_contiguous
        sent = sent.array.tolist()
    assert sent == [0, 2, 4, 6]


def test_an_array_of_the_real_type_goes_in_place() -> None:
    for port in arrays().inputs:
        x = np.ones(port.shape)
        assert arrays().reader(port, Buffer)(x).array is x


def test_long_and_square_arrays_are_copied_as_buffers() -> None:
    """A list is faster than a copy only up to SHORT numbers; cffi takes lists of one axis only."""
    for port, is_list in (
        (Port("edge", (SHORT,)), True),
        (Port("long", (SHORT + 1,)), False),
        (Port("square", (2, 2)), False),
    ):
        x = np.ones((*port.shape, 2))[..., 0]
        sent = arrays().reader(port, Buffer)(x)
        assert type(sent) is (list if is_list else Buffer)


def test_lists_of_numbers_are_read_for_one_axis_and_numbers_for_none() -> None:
    read = {port.name: arrays().reader(port, Buffer) for port in arrays().inputs}
    assert read["q"]([1, 2.0, np.float32(3), np.int8(4)]) == [1, 2, 3, 4]
    assert read["q"]((1, 2, 3, 4)) == (1, 2, 3, 4)
    assert read["dt"](0.5) == (0.5,)
    for name, wrong in (
        ("q", [1, 2, 3]),
        ("q", [1, 2, 3, "4"]),
        ("q", {1, 2, 3, 4}),
        ("q", 1.0),
        ("q", np.ones(3)),
        ("q", np.ones(4) > 0),
        ("dt", [0.5]),
        ("dt", "1"),
        ("square", [[1, 2], [3, 4]]),
        ("square", (1, 2)),
    ):
        assert read[name](wrong) is None, (name, wrong)


def test_numbers_too_large_for_float_overflow() -> None:
    read = arrays("float").reader(Q, Buffer)
    assert read([1.0, 2.0, 3.0, 1e38]) == [1, 2, 3, 1e38]
    with pytest.raises(OverflowError):
        read([1.0, 2.0, 3.0, 1e39])
    assert arrays().reader(Q, Buffer)([1.0, 2.0, 3.0, 1e39])[3] == 1e39


def test_results_are_apart_if_they_fit_and_do_not_overlap() -> None:
    checker = arrays()
    m, b = np.zeros((3, 3)), np.zeros(3)
    assert checker.are_apart((m, b))
    assert checker.are_apart([m, b])
    for out in (
        (m,),
        (m, b, b),
        (m, m[0]),
        (m.astype("f4"), b),
        (m, b.astype("f4")),
        (m, np.zeros(4)),
        (m, [0.0] * 3),
        m,
        {0: m, 1: b},
        iter((m, b)),
    ):
        assert not checker.are_apart(out)


def test_results_are_arrays_that_c_can_write() -> None:
    """One array for each result, of the type and the shape; another object is described."""
    checker, shapes = arrays(), [(5, 3, 3), (5, 3)]
    m, b = np.zeros((5, 3, 3)), np.zeros((5, 3))
    assert [x is y for x, y in zip(checker.results((m, b), shapes), (m, b), strict=True)]
    locked = b.copy()
    locked.flags.writeable = False
    for out, sentence in (
        ((m,), r"out must be a tuple of 2 arrays \(M, b\)"),
        (m, r"out must be a tuple of 2 arrays \(M, b\)"),
        ((m, SimpleNamespace(dtype=b.dtype, shape=b.shape)), "a float64 array of shape"),
        ((m, b.astype("f4")), "result b goes into a float64 array .* a float32 array of shape"),
        ((m, b[0]), r"array of shape \(5, 3\); a float64 array of shape \(3,\) was given"),
        ((m, [0.0]), "a list was given"),
        ((m, np.zeros((5, 6))[:, ::2]), "b is not contiguous"),
        ((m, locked), "b is not writable"),
        ((m, m.reshape(-1)[:15].reshape(5, 3)), "the results overlap; use one array each"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            checker.results(out, shapes)


def test_statuses_are_kept_for_checked_functions_only() -> None:
    ready = np.ones((2, 3), np.intc)
    assert arrays().statuses(ready, (2, 3)) is ready
    fresh = arrays().statuses(None, (2, 3))
    assert (fresh.dtype, fresh.shape, fresh.any()) == (np.intc, (2, 3), False)
    assert arrays(checked=False).statuses(None, (2,)) is None
    locked = ready.copy()
    locked.flags.writeable = False
    for wrong in ([0], ready.astype("i8"), ready[:1], np.ones((2, 6), np.intc)[:, ::2], locked):
        with pytest.raises(ArgumentError, match="statuses go into a contiguous, writable int32"):
            arrays().statuses(wrong, (2, 3))


@pytest.mark.parametrize(("threads", "workers"), [(1, 1), (7, 7), (np.int64(2), 2)])
def test_threads_are_counted_from_one(threads: Any, workers: int) -> None:
    assert arrays().workers(threads) == workers


@pytest.mark.parametrize("threads", [0, -1, 1.0, "2", None])
def test_a_number_of_threads_below_one_is_refused(threads: Any) -> None:
    with pytest.raises(ArgumentError, match="number of parallel threads, 1 or more"):
        arrays().workers(threads)


def test_layout_soa_has_the_axes_of_a_state_first() -> None:
    x = np.arange(24.0).reshape(3, 4, 2)
    square = Port("square", (3, 4))
    moved = arrays().argument(square, x, True)
    assert moved.shape == (2, 3, 4)
    assert np.shares_memory(moved, x)
    assert (moved[1] == x[..., 1]).all()
    assert arrays().argument(square, x.transpose(2, 0, 1), False).shape == (2, 3, 4)
    with pytest.raises(ArgumentError, match=r"layout 'soa' needs \(3, 4, \.\.\.\)"):
        arrays().argument(square, x.transpose(2, 0, 1), True)


def test_a_length_is_explained_as_that_of_q_or_of_v_only_where_it_is() -> None:
    """q has four numbers, and v three."""
    checker = arrays()
    checker.check_shape(Q, np.zeros((5, 4)))
    for port, shape, sentence in (
        (Q, (3,), "q has 3 numbers, which is NV"),
        (V, (2, 4), "v has shape"),
        (Q, (5,), r"q has shape \(5,\); it must have \(\.\.\., 4\)"),
        (Q, (), r"q has shape \(\); it must have \(\.\.\., 4\)"),
        (M, (3,), r"M has shape \(3,\); it must have \(\.\.\., 3, 3\)"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            checker.check_shape(port, np.zeros(shape))


def test_the_docstring_has_a_line_for_each_argument_and_result() -> None:
    lines = array_lines(arrays().program, SIZES)
    assert [line.partition(":")[0].strip() for line in lines] == [
        "Arguments", "q", "v", "dt", "long", "square", "Results", "M", "b",
    ]  # fmt: skip
    assert lines[1].startswith("    q: (..., 4), ")
    assert "quaternions" in lines[1]
    assert lines[7].startswith("    M: (..., 3, 3), ")


def test_a_wrong_argument_is_described_by_its_type_or_its_shape() -> None:
    assert describe_argument(np.zeros((2, 3))) == "a float64 array of shape (2, 3) was given"
    assert describe_argument("text") == "a str was given"
    assert describe_argument(SimpleNamespace(dtype="f8")) == "a SimpleNamespace was given"

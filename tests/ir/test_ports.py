"""Descriptions of arguments and results of one or several Programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symgen.ir import ports
from symgen.ir.program import Port, Program
from symgen.support.errors import ArgumentError
from symgen.vocabulary.arrays import Array, Convention, Sizes
from tests.shared.pass_programs import written


def of(
    function: str, inputs: dict[str, tuple[int, ...]], outputs: dict[str, tuple[int, ...]]
) -> Program:
    """Return a Program with these shapes of its arguments and results, and without rows."""
    arguments = tuple(Port(name, shape) for name, shape in inputs.items())
    results = tuple(Port(name, shape) for name, shape in outputs.items())
    return Program(function, "by_hand", arguments, results, ())


def dynamics(joints: int, wrenches: tuple[int, ...] = (6,)) -> Program:
    joint = (joints,)
    return of(
        "inverse_dynamics",
        {"q": joint, "v": joint, "a": joint, "wrench": wrenches},
        {"tau": joint},
    )


def poses(*shape: int) -> Program:
    return of("forward_kinematics", {"q": (7,)}, {"R": (*shape, 3, 3), "p": (*shape, 3)})


def test_all_programs_have_one_real_type() -> None:
    double, single = dynamics(6), dynamics(6).in_real("float")
    assert ports.single_real([]) == "double"
    assert ports.single_real([double, double]) == "double"
    assert ports.single_real([single]) == "float"
    with pytest.raises(ArgumentError, match="the functions mix double and float"):
        ports.single_real([single, double])
    with pytest.raises(ArgumentError, match="real is 'half'; it can be double or float"):
        ports.single_real([dynamics(6).in_real("half")])


def test_listed_arrays_have_named_sizes_and_others_their_own() -> None:
    """The table of functions lists q, M and no array x."""
    program = of("mass_matrix", {"q": (5,), "x": (2, 3)}, {"M": (5, 5)})
    (q, x), (m,) = ports.describe(program)
    assert (q.shape, m.shape) == (("NQ",), ("NV", "NV"))
    assert x == Array("x", (2, 3), "x")
    assert ports.describe(program.outline) == ports.describe(program)
    (unlisted,), _ = ports.describe(of("toy", {"q": (5,)}, {}))
    assert unlisted.shape == (5,)


def test_arrays_of_several_frames_have_a_leading_size() -> None:
    _, (single, _) = ports.describe(poses())
    _, (several, _) = ports.describe(poses(4))
    assert (single.shape, several.shape) == ((3, 3), ("NF", 3, 3))
    jacobian = of("jacobian", {"q": (7,)}, {"J": (6, 7)})
    _, (usual,) = ports.describe(jacobian)
    _, (local,) = ports.describe(replace(jacobian, convention=Convention("local")))
    assert usual.what != local.what
    assert "local" in local.what or "axes of the frame" in local.what


def test_frames_and_wrenches_are_counted_once_for_all_functions() -> None:
    assert ports.frame_and_wrench_counts([]) == {"nf": 1, "nw": 1}
    assert ports.frame_and_wrench_counts([poses(), dynamics(6)]) == {"nf": 1, "nw": 1}
    assert ports.frame_and_wrench_counts([poses(3), dynamics(6, (2, 6))]) == {"nf": 3, "nw": 2}
    assert ports.frame_and_wrench_counts([poses(3), dynamics(6)]) == {"nf": 3, "nw": 1}
    assert ports.frame_and_wrench_counts([poses(3), poses(3)])["nf"] == 3
    with pytest.raises(ArgumentError, match="the functions mix 2 and 4 frames; one header"):
        ports.frame_and_wrench_counts([poses(4), poses(2)])
    with pytest.raises(ArgumentError, match="the functions mix 2 and 3 frames; one header"):
        ports.frame_and_wrench_counts([poses(4), poses(3), poses(2)])
    with pytest.raises(ArgumentError, match="the functions mix 2 and 3 wrenches; one header"):
        ports.frame_and_wrench_counts([dynamics(6, (3, 6)), dynamics(7, (2, 6))])


@pytest.mark.parametrize(
    ("shape", "port", "symbolic"),
    [
        (("NV",), (6,), ("NV",)),
        (("NV", "NV"), (6, 6), ("NV", "NV")),
        ((6, "NV"), (6, 6), (6, "NV")),
        (("NV",), (5,), None),
        (("NV", "NQ"), (6, 6), None),
        (("NQ",), (7,), ("NQ",)),
        ((3, 3), (3, 3), None),
        ((), (), None),
        (("NP",), (60,), ("NP",)),
        (("NV", "NR"), (6, 31), ("NV", "NR")),
        (("NV", "NR"), (5, 31), None),
        (("NB", 6), (5, 6), ("NB", 6)),
        (("NB", 6), (60, 6), None),
    ],
)
def test_a_shape_has_names_if_these_have_its_numbers(
    shape: tuple[str | int, ...], port: tuple[int, ...], symbolic: tuple[str | int, ...] | None
) -> None:
    """On a robot with 7 positions, 6 velocities and 5 bodies; NP and NR have the port's number."""
    array = Array("x", shape, "x")  # type: ignore[arg-type]
    assert ports.symbolic_shape(array, Port("x", port), Sizes(7, 6, 5)) == symbolic


def test_a_leading_count_of_frames_has_its_name() -> None:
    array = Array("R", (3, 3), "R", each="NF").of_each(4)
    assert ports.symbolic_shape(array, Port("R", (4, 3, 3)), Sizes(7, 6, 5)) == ("NF", 3, 3)
    assert ports.symbolic_shape(array, Port("R", (4, 3, 2)), Sizes(7, 6, 5)) is None


def test_positions_with_quaternions_say_so() -> None:
    q = Array("q", ("NQ",), "joint positions (rad or m)")
    plain = replace(q, what="joint positions")
    assert ports.meaning(q, Sizes(6, 6, 5)) == "joint positions (rad or m)"
    assert (
        ports.meaning(q, Sizes(7, 6, 5))
        == "joint positions (rad or m, quaternions x y z w of length 1)"
    )
    assert (
        ports.meaning(plain, Sizes(7, 6, 5)) == "joint positions (quaternions x y z w of length 1)"
    )
    v = Array("v", ("NV",), "joint velocities (rad/s or m/s)")
    assert ports.meaning(v, Sizes(7, 6, 5)) == v.what


def test_sizes_of_parameters_are_defined_if_a_function_has_them() -> None:
    regressor = of("regressor", {"q": (2,)}, {"Y": (2, 20)})
    base = of("base_parameters", {"pi": (20,)}, {"pi_base": (9,)})
    assert ports.size_definitions([dynamics(6)]) == []
    assert ports.size_definitions([regressor]) == [{"size": "NP", "count": 20}]
    assert ports.size_definitions([base, regressor]) == [
        {"size": "NP", "count": 20},
        {"size": "NR", "count": 9},
    ]
    task = of("operational_inertia", {"q": (2,)}, {"Lambda": (3, 3)})
    assert ports.size_definitions([task]) == [{"size": "NK", "count": 3}]
    with pytest.raises(ArgumentError, match="the functions mix 20 and 30 for NP; one header"):
        ports.size_definitions([of("regressor", {}, {"Y": (2, 30)}), regressor])


def test_functions_with_a_row_per_body_count_bodies() -> None:
    assert not ports.counts_bodies([])
    assert not ports.counts_bodies([dynamics(6), poses()])
    assert ports.counts_bodies([dynamics(6), of("link_poses", {}, {"p_links": (5, 3)})])


def test_operations_are_listed_without_those_that_do_not_occur() -> None:
    assert ports.operations_text(written("a * b * c - sin(d)", "log(a)")) == (
        "2 mul, 1 add, 1 sin, 1 log"
    )
    assert ports.operations_text(written("-a")) == "1 neg"
    assert ports.operations_text(written("a")) == "no operation"
    assert ports.operations_text(written("a / b").outline) == "1 div"

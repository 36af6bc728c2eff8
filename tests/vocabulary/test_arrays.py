"""Arrays of a function, names of derivatives, and what the texts of a robot know about them."""

from __future__ import annotations

import pytest

from symgen.vocabulary import derivatives
from symgen.vocabulary.arrays import (
    ALL_ROWS,
    JACOBIAN_FRAMES,
    TASK_ROWS,
    USUAL,
    Array,
    Convention,
    Sizes,
)
from symgen.vocabulary.derivatives import ELSEWHERE, Derivative, parse_derivative
from symgen.vocabulary.functions import FUNCTIONS, JDOT_V, WRENCH, J, M, P
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target

SIZES = Sizes(7, 6, 4, NF=2, NK=3)


def test_sizes_that_a_robot_does_not_have_are_zero_and_a_single_frame_is_one() -> None:
    sizes = Sizes(3, 2, 1)
    assert (sizes.NQ, sizes.NV, sizes.NB) == (3, 2, 1)
    assert (sizes.NF, sizes.NW) == (1, 1)
    assert sizes.NK == len(TASK_ROWS) == len(ALL_ROWS) == 6
    assert sizes[6:7] + sizes[8:] == (0,) * 9
    assert sizes.NP == 0


def test_a_shape_has_names_of_sizes_and_numbers() -> None:
    array = Array("x", ("NQ", 3, "NK"), "")
    assert array.sizes(SIZES) == (7, 3, 3)
    assert Array("s", (), "").sizes(SIZES) == ()
    assert not array.twist
    assert not array.switch


def test_arrays_of_several_frames_are_stacked_along_a_first_dimension() -> None:
    assert P.of_each(1) == P
    stacked = P.of_each(2)
    assert stacked.shape == ("NF", 3)
    assert stacked.sizes(SIZES) == (2, 3)
    assert stacked.what == f"of each frame in turn: {P.what}"
    assert WRENCH.of_each(3).shape == ("NW", 6)
    assert M.of_each(3) == M


def test_an_array_is_laid_out_for_the_frames_and_the_convention_of_its_program() -> None:
    assert J.laid_out((6, 5)) == J
    assert J.laid_out((4, 6, 5)) == J.of_each(4)
    assert J.laid_out((1, 6, 5)) == J
    assert M.laid_out((5, 5), Convention("local", "linear")) == M
    local = JDOT_V.laid_out((6,), Convention("local", "linear"))
    assert JACOBIAN_FRAMES["local"] in local.what
    assert "linear part first" in local.what
    assert JACOBIAN_FRAMES["aligned"] not in local.what
    assert local.shape == JDOT_V.shape
    assert Convention("aligned", "angular") == USUAL


# -- names of derivatives ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("f:jvp", ("f", "jvp", ())),
        (" f : jvp ( q , v )", ("f", "jvp", ("q", "v"))),
        ("f:jvp(q,q)", ("f", "jvp", ("q",))),
        ("f:jvp()", ("f", "jvp", ("",))),
    ],
)
def test_a_derivative_is_parsed_into_function_mode_and_arguments(
    name: str, parsed: tuple[str, str, tuple[str, ...]]
) -> None:
    assert parse_derivative(name) == Derivative(*parsed)


@pytest.mark.parametrize("name", ["f", "f:a:b", "f(q)", "f:jvp(q", "f:jvp(q)v", "f:jvp((q))"])
def test_other_texts_are_no_derivatives(name: str) -> None:
    assert parse_derivative(name) is None


def test_names_of_derivatives_are_built_from_those_of_their_parts() -> None:
    assert Derivative("f", "jvp").name == "f:jvp"
    assert Derivative("f", "jvp", ("q", "v")).name == "f:jvp(q,v)"
    assert derivatives.base_function("f:jvp(q)") == derivatives.base_function("f") == "f"
    assert derivatives.identifier_part("f:jvp(q,v)") == "f_jvp_q_v"
    assert derivatives.change_name("q") == "dq"
    assert derivatives.weight_name("q") == "q_bar"
    assert derivatives.derivative_name("a", "q") == "da_dq"


def test_derivatives_of_other_functions_are_results_of_functions() -> None:
    for (function, result, argument), (by_function, by_result) in ELSEWHERE.items():
        assert argument in {array.name for array in FUNCTIONS[function].arguments}
        assert result in {array.name for array in FUNCTIONS[function].results}
        assert by_result in {array.name for array in FUNCTIONS[by_function].results}


# -- texts of a robot ----------------------------------------------------------------------------


def test_a_target_names_the_frames_wrenches_and_contacts_that_a_function_uses() -> None:
    target = Target("my arm", SIZES, frames=("a", "b"), wrenches=("c", "d"), contacts=("e",))
    assert target.frames_of(FUNCTIONS["jacobian"]) == ("a", "b")
    assert target.frames_of(FUNCTIONS["operational_inertia"]) == ("a",)
    assert target.frames_of(FUNCTIONS["mass_matrix"]) == target.frames_of(None) == ()
    assert target.wrenches_of([M, WRENCH.of_each(2)]) == ("c", "d")
    assert target.wrenches_of([M, WRENCH]) == target.wrenches_of([]) == ()
    assert target.contacts_of(FUNCTIONS["contact_impulse"]) == ("e",)
    assert target.contacts_of(FUNCTIONS["mass_matrix"]) == target.contacts_of(None) == ()


def test_files_of_a_target_begin_with_its_name_in_c() -> None:
    target = Target("my arm", SIZES)
    assert target.name == "my_arm"
    assert target.symbol("f:jvp(q)") == "my_arm_f_jvp_q"
    files = [
        target.c_file("f"),
        target.batch_file("f"),
        target.device_file("f"),
        target.kernel_file("f"),
        target.header,
        target.batch_header,
        target.cuda_header,
        target.lanes_file,
        target.sincos_file,
        target.cuda_sincos_file,
    ]
    assert len({*files}) == len(files)
    assert all(file.startswith("my_arm") for file in files)
    assert all("_f" in file for file in files[:4])


@pytest.mark.parametrize("trig", ["libm", "macro", "inline", "auto"])
def test_templates_know_the_source_of_sines(trig: str) -> None:
    context = Target("arm", SIZES, TextOptions(trig, checked=True)).context
    sources = [name for name in ("macro_trig", "inline_trig", "auto_trig") if context[name]]
    assert sources == ([] if trig == "libm" else [f"{trig}_trig"])
    assert (context["nq"], context["nv"], context["nb"]) == (7, 6, 4)
    assert (context["returns"], context["checked"], context["batch"]) == ("int", True, False)


def test_templates_know_the_hash_of_the_source_if_there_is_one() -> None:
    assert Target("arm", SIZES).context["source_sha256"] == "unknown"
    assert Target("arm", SIZES).context["returns"] == "void"
    assert Target("arm", SIZES, source_sha256="ab").context["source_sha256"] == "ab"


def test_velocities_are_rates_and_no_armature_is_added_unless_stated() -> None:
    target = Target("arm", SIZES)
    assert target.rates
    assert not target.armature

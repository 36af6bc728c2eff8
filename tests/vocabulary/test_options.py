"""Validation of options: names, rows, contacts, and combinations that are refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from symgen.support.errors import ArgumentError, UnknownName
from symgen.vocabulary.arrays import Convention
from symgen.vocabulary.contacts import Contact, parse_contact, validate_contacts
from symgen.vocabulary.options import (
    FolderRequest,
    Option,
    ProgramOptions,
    ReadingOptions,
    TextOptions,
    declarations,
    defaults,
    names_of,
    values_of,
)


def test_options_are_off_by_default() -> None:
    program, text = ProgramOptions(), TextOptions()
    for options in (program, text):
        assert not any(value is True for value in vars(options).values())
    assert (program.frames, program.wrenches, program.contacts) == ((), (), ())
    assert program.rows == (0, 1, 2, 3, 4, 5)
    assert program.convention == Convention("aligned", "angular")
    assert (program.prepared, program.gains, program.at_run_time) == (None, None, {})


def test_run_time_arguments_are_requested_by_links_parameters_or_gains() -> None:
    options = ProgramOptions(
        payload="hand",
        wrench=["hand", "foot"],
        baumgarte=True,
        parameters=("hand.mass", "hand.mass"),
    )
    assert options.at_run_time == {
        "payload": ("hand",),
        "wrench": ("hand", "foot"),
        "gains": ("baumgarte",),
        "prepared": ("hand.mass",),
    }
    assert options.prepared == ("hand.mass",)
    assert options.gains == "baumgarte"


def test_divisors_are_bounded_if_functions_are_checked_and_have_parameters() -> None:
    with_parameters, without = ProgramOptions(parameters=("hand",)), ProgramOptions()
    assert with_parameters.guarded(True).divisor_bounds
    assert not with_parameters.guarded(False).divisor_bounds
    assert not without.guarded(True).divisor_bounds


@pytest.mark.parametrize(
    ("rows", "numbers"),
    [
        (None, (0, 1, 2, 3, 4, 5)),
        ("z,wx", (5, 0)),
        (" x , 4 ", (3, 4)),
        ([0, "y", "5"], (0, 4, 5)),
        (("wz",), (2,)),
    ],
)
def test_rows_of_a_task_are_named_or_numbered_in_order(rows: Any, numbers: tuple[int, ...]) -> None:
    assert ProgramOptions(task_rows=rows).rows == numbers


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "the rows of the task are \\[\\]; name some of wx,wy,wz,x,y,z"),
        ("x,x", "each once"),
        ("3,x", "each once"),
        ("6", "no row of a task is named '6'"),
        ("٣", "no row of a task is named"),
        ("wq", "did you mean 'w"),
        ("-1", "no row of a task is named '-1'"),
    ],
)
def test_unknown_or_repeated_rows_of_a_task_are_refused(rows: Any, reason: str) -> None:
    with pytest.raises(ArgumentError, match=reason):
        ProgramOptions(task_rows=rows)


def test_one_name_and_a_list_of_one_name_are_the_same_options() -> None:
    for option in ("frame", "wrench", "contact"):
        single = ProgramOptions(**{option: "hand"})
        assert ProgramOptions(**{option: ["hand"]}) == single
        assert getattr(single, option) == "hand"
        several = ProgramOptions(**{option: ["hand", "foot"]})
        assert getattr(several, option) == ("hand", "foot")
        assert hash(several) != hash(single)


@pytest.mark.parametrize(
    ("option", "empty", "repeated"),
    [
        ("frame", "no frame is named", "the frame 'hand' is named twice"),
        ("wrench", "no link is named for a wrench", "the link 'hand' is named twice for a wrench"),
        ("contact", "no contact is named", "the contacts 'hand' and 'hand' are the same point"),
    ],
)
def test_an_empty_list_or_a_repeated_name_is_refused(
    option: str, empty: str, repeated: str
) -> None:
    for names, reason in (([], empty), (["foot", "hand", "hand"], repeated)):
        with pytest.raises(ArgumentError, match=reason):
            ProgramOptions(**{option: names})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"form": "rolled"}, "no form is named 'rolled'; did you mean 'unrolled'"),
        ({"real": "doubel"}, "no real type is named 'doubel'; did you mean 'double'"),
        ({"effort": "hi"}, "no effort is named 'hi'; did you mean 'high'"),
        ({"jacobian_frame": "word"}, "no frame of a Jacobian is named 'word'"),
        ({"jacobian_order": "linea"}, "did you mean 'linear'"),
    ],
)
def test_an_unknown_choice_is_refused(options: dict[str, str], reason: str) -> None:
    with pytest.raises(UnknownName, match=reason):
        ProgramOptions(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("links", "names"),
    [
        (None, ()),
        ("", ()),
        ((), ()),
        ("hand", ("hand",)),
        (["a", "b"], ("a", "b")),
        ({"a": 1}, ("a",)),
    ],
)
def test_names_are_one_text_or_several(links: Any, names: tuple[str, ...]) -> None:
    assert names_of(links) == names


@pytest.mark.parametrize("links", [3, [3], ["a", None]])
def test_names_that_are_no_texts_are_refused(links: Any) -> None:
    with pytest.raises(ArgumentError, match=r"(3|None) is not a string"):
        names_of(links)


# -- contacts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "link", "point"),
    [
        ("foot", "foot", (0, 0, 0)),
        ("foot:0,0,-0.02", "foot", (0, 0, Fraction(-1, 50))),
        ("foot: 1 , +.5 , 2e-1", "foot", (1, Fraction(1, 2), Fraction(1, 5))),
        ("a:b", "a:b", (0, 0, 0)),
        ("a:b:1,2,3", "a:b", (1, 2, 3)),
        ("foot:", "foot:", (0, 0, 0)),
        ("12", "12", (0, 0, 0)),
        ("a,b", "a,b", (0, 0, 0)),
    ],
)
def test_a_contact_is_a_link_and_a_point_after_the_last_colon(
    text: str, link: str, point: tuple[Any, ...]
) -> None:
    assert parse_contact(text) == Contact(link, point)


@pytest.mark.parametrize(
    "text", ["foot:1", "foot:1,2", "foot:a,b", "foot:1,2,3,4", "foot:1,2,x", "a:,"]
)
def test_a_point_that_is_not_three_numbers_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError, match=f"'{text}' does not give its point as three numbers"):
        parse_contact(text)


def test_contacts_are_kept_as_written_without_spaces() -> None:
    texts = (" foot ", "foot: 0, 0, 1", "hand:0.0,1,0")
    assert validate_contacts(texts) == ("foot", "foot:0,0,1", "hand:0.0,1,0")
    assert validate_contacts(["foot:0,0,0"]) == ("foot:0,0,0",)


@pytest.mark.parametrize(
    "texts", [("foot", "foot:0,0,0"), ("foot:1,0,0", "hand", "foot:1.0,0,0"), ("a", " a")]
)
def test_the_same_point_cannot_be_named_twice(texts: tuple[str, ...]) -> None:
    with pytest.raises(ArgumentError, match="are the same point; name every point once"):
        validate_contacts(texts)


# -- declarations --------------------------------------------------------------------------------


def test_the_flag_of_an_option_is_its_name_with_hyphens_unless_it_declares_another() -> None:
    reading = declarations(ReadingOptions)
    assert reading["friction_speed"][1].flag == "--friction-speed"
    assert reading["distribution"][1].flag == "--from"
    assert reading["packages"][1].flag == "--package"
    assert reading["strict"][0] is bool
    for kind in (ReadingOptions, FolderRequest):
        flags = [option.flag for _, option in declarations(kind).values()]
        assert len({*flags}) == len(flags)
    assert not Option(None, "").repeat


def test_defaults_are_those_of_the_declarations() -> None:
    assert defaults(ReadingOptions)["joint_order"] == "file"
    folder = defaults(FolderRequest)
    assert {name: folder[name] for name in ("baumgarte", "form", "effort", "functions_only")} == {
        "baumgarte": False,
        "form": "auto",
        "effort": "normal",
        "functions_only": False,
    }


def test_a_dataclass_takes_the_options_that_are_its_fields() -> None:
    options = values_of(ProgramOptions, {"frame": "hand", "trig": "macro"}, real="float")
    assert options == ProgramOptions("float", frame="hand")
    assert values_of(TextOptions, {"frame": "hand", "trig": "macro"}) == TextOptions("macro")


@pytest.mark.parametrize(
    "refused",
    [
        lambda: TextOptions(batch=True, target="stm32"),
        lambda: TextOptions(wrap=("cpp17", "cuda"), target="stm32"),
    ],
)
def test_blocks_of_states_and_kernels_are_refused_for_a_target(
    refused: Callable[[], TextOptions],
) -> None:
    with pytest.raises(ArgumentError, match="stm32"):
        refused()


def test_blocks_of_states_and_kernels_are_generated_without_a_target() -> None:
    assert TextOptions(batch=True, wrap=("cuda",)).target is None
    assert TextOptions(wrap=("cpp17",), target="stm32").wrap == ("cpp17",)
    with pytest.raises(UnknownName, match="no kind of trigonometry is named 'lib'"):
        TextOptions("lib")

"""Facts that all files of a folder share: names, parameters, wrenches and omissions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symgen.delivery.contents import UNPROVED_PIVOTS, FolderContents, wrench_remark
from symgen.delivery.omissions import omissions
from symgen.mechanism.mechanism import BASE, Frame
from symgen.vocabulary.options import PLAIN, ProgramOptions, TextOptions
from tests.shared.folders import mechanism

ARM = replace(mechanism(), frames=(*mechanism().frames, Frame("stand", BASE)))
ADJUSTABLE = ProgramOptions(parameters=("gravity",))


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("options", [ProgramOptions(), ADJUSTABLE])
def test_pivots_are_unproved_only_in_checked_functions_of_parameters(
    options: ProgramOptions, checked: bool
) -> None:
    contents = FolderContents(ARM, {}, options=options, text=TextOptions(checked=checked))
    unproved = {"kind": "checks", "text": UNPROVED_PIVOTS}
    expected = [unproved] if checked and options is ADJUSTABLE else []
    assert contents.not_modelled == [*omissions(ARM), *expected]


def test_parameters_have_the_numbers_of_the_description() -> None:
    (gravity,) = FolderContents(ARM, {}, options=ADJUSTABLE).parameters
    assert [float(number) for number in gravity.defaults] == [float(x) for x in ARM.gravity]
    assert gravity.words == ("gravity",)
    assert "gravity" in gravity.what
    assert FolderContents(ARM, {}).parameters == []


def test_a_wrench_on_the_base_is_said_to_have_no_effect() -> None:
    assert wrench_remark(ARM, "stand") == " (on the base: no effect)"
    assert wrench_remark(ARM, "lower") == ""
    target = FolderContents(ARM, {}, options=ProgramOptions(wrench=("stand", "lower"))).target
    assert target.wrenches == ("stand (on the base: no effect)", "lower")


def test_the_name_in_c_is_the_robot_s_unless_another_is_given() -> None:
    assert FolderContents(ARM, {}).target.name == ARM.name
    assert FolderContents(ARM, {}, name="leg").target.name == "leg"
    assert FolderContents(ARM, {}).target.text == PLAIN
    assert FolderContents(ARM, {}).target.sizes == ARM.sizes

"""Settings of an MJCF: defaults, the last declaration, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from symgen.description.quantities import Location
from symgen.description.readers._mjcf.document import Element
from symgen.description.readers._mjcf.settings import Settings, read_settings, read_world
from symgen.description.snapping import Snapper
from symgen.support.errors import DescriptionError

HERE = Location("r.xml", 2, "compiler")


def settings(*compilers: dict[str, str]) -> Settings:
    sections = tuple(Element("compiler", attributes, HERE) for attributes in compilers)
    return read_settings(Element("mujoco", {}, HERE, sections), Snapper())


def test_settings_have_the_defaults_of_mujoco() -> None:
    default = settings()
    assert (default.degrees, default.sequence, default.autolimits) == (True, "xyz", True)
    assert (default.from_geoms, default.inertia_groups) == ("auto", (0, 5))
    assert (default.bound_mass, default.bound_inertia, default.balance_inertia) == (0, 0, False)
    assert (default.total_mass, default.aligned_free_joints) == (None, False)
    assert default.disabled == frozenset()


def test_the_last_declaration_of_a_setting_counts() -> None:
    both = settings({"angle": "radian", "boundmass": "2"}, {"angle": "degree", "eulerseq": "ZYX"})
    assert (both.degrees, both.bound_mass, both.sequence) == (True, 2, "ZYX")
    negative = settings({"boundmass": "-1", "boundinertia": "-2", "settotalmass": "-3"})
    assert (negative.bound_mass, negative.bound_inertia, negative.total_mass) == (0, 0, None)
    assert settings({"settotalmass": "0"}).total_mass is None
    assert settings({"settotalmass": "0.5"}).total_mass == Fraction(1, 2)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"coordinate": "global"}, "it uses 'global' coordinates, which MuJoCo no longer reads"),
        ({"eulerseq": "xy"}, "'xy' is not a sequence of axes; write three of x, y, z, X, Y, Z"),
        ({"eulerseq": "xyw"}, "'xyw' is not a sequence of axes"),
        ({"eulerseq": "xyzx"}, "'xyzx' is not a sequence of axes"),
        ({"angle": "turn"}, "'turn' is not one of degree, radian; write one of them"),
        ({"autolimits": "1"}, "'1' is not one of true, false"),
        (
            {"inertiagrouprange": "1"},
            r"it has 1 number \('1'\); write 2 numbers separated by spaces",
        ),
    ],
)
def test_an_invalid_setting_is_refused(attributes: dict[str, str], message: str) -> None:
    with pytest.raises(DescriptionError, match=message):
        settings(attributes)


def test_gravity_is_the_last_declared_or_disabled() -> None:
    def gravity(*options: dict[str, str], disable: bool = False) -> Any:
        flag = Element("flag", {"gravity": "disable"} if disable else {}, HERE)
        sections = [Element("option", attributes, HERE) for attributes in options]
        root = Element("mujoco", {}, HERE, (*sections, Element("option", {}, HERE, (flag,))))
        return read_world(root, read_settings(root, Snapper()))[0]

    assert gravity() == (0, 0, Fraction("-9.81"))
    assert gravity({"gravity": "1 2 3"}, {"density": "0"}) == (1, 2, 3)
    assert gravity({"gravity": "1 2 3"}, {"gravity": "3 2 1"}) == (3, 2, 1)
    assert gravity({"gravity": "1 2 3"}, disable=True) == (0, 0, 0)

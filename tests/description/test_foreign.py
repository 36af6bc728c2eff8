"""Formats that symgen does not read, recognised by a root element or a suffix."""

from __future__ import annotations

import pytest

from symgen.description.parsing.foreign import by_root, by_suffix

URDF_OR_TOML = "give the URDF of that robot, or write it in symgen's own TOML"


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("COLLADA", "geometry, without joints and masses"),
        ("package", "the manifest of a ROS package"),
        ("Package", "the manifest of a ROS package"),
        ("LAUNCH", "a launch file of ROS"),
    ],
)
def test_a_root_element_is_recognised_in_any_case(name: str, format_name: str) -> None:
    assert by_root(name) == (f"this is {format_name}, which symgen does not read", URDF_OR_TOML)


@pytest.mark.parametrize("name", ["html", "HTML"])
def test_a_web_page_is_downloaded_again(name: str) -> None:
    assert by_root(name) == (
        "this is a web page, not the file itself",
        "download the raw file",
    )


@pytest.mark.parametrize("suffix", [".stl", ".STEP", ".glb"])
def test_a_suffix_is_recognised_in_any_case(suffix: str) -> None:
    fault = "this is geometry, without joints and masses, which symgen does not read"
    assert by_suffix(suffix) == (fault, URDF_OR_TOML)


def test_other_formats_are_unknown() -> None:
    assert by_root("robot") is None
    assert by_suffix(".urdf") is None
    assert by_suffix("") is None

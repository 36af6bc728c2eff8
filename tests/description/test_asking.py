"""Options of a file: their defaults, and their refusal for formats without them."""

from __future__ import annotations

from typing import Any

import pytest

from symgen.description.asking import NO_OPTIONS, FileOptions, refuse_unused_options
from symgen.support.errors import ArgumentError


def test_no_option_is_set_by_default() -> None:
    assert FileOptions(model=None, xacro={}, packages={}, floating=False) == NO_OPTIONS
    assert NO_OPTIONS.set_names == []
    refuse_unused_options(NO_OPTIONS, (), "r.urdf")


@pytest.mark.parametrize(
    ("name", "value", "flag"),
    [
        ("model", "r", "--model"),
        ("xacro", {"a": "1"}, "--xacro"),
        ("packages", {"p": "folder"}, "--package"),
    ],
)
def test_an_option_is_refused_by_a_format_that_does_not_take_it(
    name: str, value: Any, flag: str
) -> None:
    options = FileOptions(**{name: value})
    assert options.set_names == [name]
    refuse_unused_options(options, (name,), "r.urdf")
    for accepted in ((), ("model", "xacro", "packages")):
        others = [flag_name for flag_name in accepted if flag_name != name]
        with pytest.raises(ArgumentError, match=f"^{flag} has no meaning for a file such as 'r.x'"):
            refuse_unused_options(options, others, "r.x")


def test_every_format_takes_a_free_base() -> None:
    refuse_unused_options(FileOptions(floating=True), (), "r.toml")

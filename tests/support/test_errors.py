"""Texts of errors, and warnings: once each, at the line of the program that called symgen."""

from __future__ import annotations

import warnings

import pytest

from symgen.support import errors
from symgen.support.errors import (
    DescriptionError,
    SymgenWarning,
    collected,
    printable,
    warn,
    warn_each,
)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abc", None, "abc"),
        ("abc", 3, "abc"),
        ("abcd", 3, "abc…"),
        ("a\nb\x1b[1m", None, "a�b�[1m"),
        ("é 中", None, "é 中"),
        ("\n" * 4, 2, "��…"),
    ],
)
def test_a_text_is_shortened_and_made_printable(text: str, width: int | None, shown: str) -> None:
    assert printable(text, width) == shown


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ({}, "is wrong"),
        ({"file": "a.urdf"}, "a.urdf: is wrong"),
        ({"file": "a.urdf", "line": 0}, "a.urdf:0: is wrong"),
        ({"file": "a\n", "line": 7, "element": "<link>"}, "a�:7: <link>: is wrong"),
        ({"element": "<link>", "hint": "mend it"}, "<link>: is wrong; mend it"),
    ],
)
def test_an_error_of_a_description_names_file_line_element_and_remedy(
    where: dict[str, str], text: str
) -> None:
    error = DescriptionError("is wrong", **where)  # type: ignore[arg-type]
    assert str(error) == text
    assert error.what == "is wrong"
    assert isinstance(error, ValueError)


def test_warnings_are_collected_once_each_and_in_order() -> None:
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        with collected() as outer:
            warn("first", "mimic")
            with collected() as inner:
                warn("second")
            warn_each([("snap", "third"), ("info", "first")])
        assert issued == []
        warn("fourth")
    assert [(str(warning), warning.kind) for warning in outer] == [
        ("first", "mimic"),
        ("third", "snap"),
    ]
    assert [(str(warning), warning.kind) for warning in inner] == [("second", "warning")]
    assert [str(warning.message) for warning in issued] == ["fourth"]


def test_a_warning_is_issued_at_the_innermost_line_outside_symgen() -> None:
    """The call passes through two functions of a module of symgen."""
    namespace = {"__name__": "symgen.elsewhere", "warn": warn}
    exec("def inner():\n    warn('text')\ndef outer():\n    inner()", namespace)
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        namespace["outer"]()  # type: ignore[operator]
        warn("direct")
    assert [warning.filename for warning in issued] == [__file__] * 2
    assert issued[1].lineno == issued[0].lineno + 1
    assert all(isinstance(warning.message, SymgenWarning) for warning in issued)


def test_modules_of_a_similar_name_are_not_symgen() -> None:
    namespace = {"__name__": "symgenerator", "warn": warn}
    exec(compile("def caller():\n    warn('text')", "elsewhere.py", "exec"), namespace)
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        namespace["caller"]()  # type: ignore[operator]
    assert [warning.filename for warning in issued] == ["elsewhere.py"]


def test_errors_are_also_those_of_python() -> None:
    assert issubclass(errors.UnknownName, (ValueError, LookupError))
    assert issubclass(errors.UnknownName, LookupError)
    assert issubclass(errors.StateError, ValueError)
    assert issubclass(errors.TooLong, errors.OutOfReach)
    assert not issubclass(errors.MethodRefusal, errors.OutOfReach)

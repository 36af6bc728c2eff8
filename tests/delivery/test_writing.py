"""Names that a request for a folder gives."""

from __future__ import annotations

from typing import Any

import pytest

from symgen.delivery.writing import _refuse_name, wrappers
from symgen.support.errors import ArgumentError, RequestError


def test_wrappers_are_named_once_and_in_order() -> None:
    assert wrappers(["cpp17", "casadi", "cpp17"]) == ["casadi", "cpp17"]
    assert wrappers([]) == []
    with pytest.raises(RequestError, match="rust"):
        wrappers(["rust"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (3, "name is 3; give a text such as 'arm'"),
        ("a-b", r"'a-b' cannot be the name in C \(--name\), since it .*; take 'a_b'"),
        ("", "cannot be the name in C"),
    ],
)
def test_a_name_that_is_no_name_of_c_is_refused(name: Any, message: str) -> None:
    _refuse_name(None)
    _refuse_name("arm_2")
    with pytest.raises(ArgumentError, match=message):
        _refuse_name(name)

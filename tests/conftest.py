"""Relations run over every method and every robot; the pairs that a method refuses by name are taken out here, once."""

from __future__ import annotations

import pytest

from symgen import methods
from tests.robots_for_tests import ROBOTS, robot


def _refused(item: pytest.Item) -> bool:
    given = getattr(getattr(item, "callspec", None), "params", {})
    name, method = given.get("name"), given.get("method")
    known = isinstance(name, str) and name in ROBOTS and isinstance(method, str) and method in methods.names()
    return known and methods.refusal(str(method), robot(str(name))) is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    out = [item for item in items if _refused(item)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in set(out)]

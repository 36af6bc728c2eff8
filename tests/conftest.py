"""Relations run over every method and every robot; the pairs that a method refuses by name are taken out here, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from symgen import methods
from tests.oracles import CLOSED_FORMS
from tests.robots_for_tests import ROBOTS, robot


def _refused(item: pytest.Item) -> bool:
    given = getattr(getattr(item, "callspec", None), "params", {})
    name, form, method = given.get("name"), given.get("form"), given.get("method")
    if not isinstance(method, str) or method not in methods.names():
        return False
    if isinstance(name, str) and name in ROBOTS:
        return methods.refusal(method, robot(name)) is not None
    return form in CLOSED_FORMS and methods.refusal(method, CLOSED_FORMS[form]().mechanism) is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    out = [item for item in items if _refused(item)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in set(out)]


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of compiled libraries that no other file of tests has seen."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYMGEN_CACHE", str(folder))
        yield folder

"""Pause of the garbage collector, and discovery of modules."""

from __future__ import annotations

import gc
from contextlib import suppress
from pathlib import Path

import pytest

from symgen.support.collector import collector_at_rest
from symgen.support.leaves import leaf_names


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_rests_in_the_block_and_is_restored_after_it(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with suppress(KeyError), collector_at_rest():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_leaves_are_the_modules_and_packages_without_an_underscore(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "_shared.py", "__init__.py", "text.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "__init__.py").write_text("")
    assert leaf_names([str(tmp_path)]) == ["a", "b", "c"]

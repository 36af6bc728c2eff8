"""Shared fixtures, faster settings of symgen for tests, and removal of refused combinations.

Tests run over every method and every robot; the pairs that a method refuses are deselected here."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from symgen import methods
from symgen.ir import passes
from symgen.ir.passes._alternatives import without_spare
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import adjusting, build, choose, derive, form, layout
from symgen.support import cache
from tests.shared import robots_for_tests
from tests.shared.oracles import CLOSED_FORMS
from tests.shared.robots_for_tests import MOVING, ROBOTS, robot

# A test process holds thousands of Programs until it ends. Collections that visit all of them would
# take a third of its time.
gc.set_threshold(1_000_000, 100, 1000)

# A test reads no Program of an earlier run, and none of a test that has planted an error. Tests
# that only read Programs
# derived with users' settings share them within a run: `as_users_have_them`.
os.environ["SYMGEN_CACHE_PROGRAMS"] = "off"

# Tests count and replace functions of the derivation, which a forked process would not see. pytest
# itself runs several processes.
os.environ["SYMGEN_PROCESSES"] = "1"

# Built-in robots have their stored layout of frames, all others the default one. Every layout gives
# the same results
# (pipeline/test_layout.py). A search for every robot of the tests would take a quarter of an hour;
# `full_search` searches.
FULL_EFFORT = layout.EFFORT
layout.EFFORT = 3
SEARCH = layout.search


def _default_layouts(mechanism: Mechanism) -> layout.Layouts:
    return layout.Layouts()


layout.search = _default_layouts

# A function is derived in the first candidate layout only. Tests of operation counts compare all of
# them (`polished_here`).
CHOICES = derive.candidate_layouts


def _first_candidate(mechanism: Mechanism, function: str) -> tuple[layout.Layout, ...]:
    return CHOICES(mechanism, function)[:1]


derive.candidate_layouts = _first_candidate

# Where no method is named, one that needs more operations after the first passes than another after
# all passes is given up.
LIMITS = {"LIMIT_FACTOR": choose.LIMIT_FACTOR, "LIMIT_MARGIN": choose.LIMIT_MARGIN}
choose.LIMIT_FACTOR, choose.LIMIT_MARGIN = 1.0, 0

# The passes after the first take two thirds of a derivation. They prove each replaced value
# (ir/test_merge_equal.py,
# ir/test_resubstitute.py) and depend on no method. The built-in robots are verified with all passes
# (verification/test_verify.py). Here the last passes are left out for long Programs, and most
# passes for the longest.
# Tests of passes use `finished_here`, those of operation counts `polished_here`.
LONG, LONGEST = 120, 500
POLISH, FINISH = passes.polish, passes.finish


def _polish_short_programs(finished: Program) -> Program:
    return POLISH(finished) if len(finished.rows) <= LONG else finished


def _finish_all_but_longest(begun: Program) -> Program:
    return FINISH(begun) if len(begun.rows) <= LONGEST else passes.eliminate(without_spare(begun))


passes.polish, passes.finish = _polish_short_programs, _finish_all_but_longest


FIRST = ("test_golden.py",)
"""Files to run first: other tests reuse their Programs; see `as_users_have_them`."""


def _refused(item: pytest.Item) -> bool:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    name, form, method = parameters.get("name"), parameters.get("form"), parameters.get("method")
    if not isinstance(method, str) or method not in methods.names():
        return False
    if isinstance(name, str) and name in ROBOTS + MOVING:
        return methods.find(method).refusal(robot(name)) is not None
    return (
        form in CLOSED_FORMS
        and methods.find(method).refusal(CLOSED_FORMS[form]().mechanism) is not None
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    refused_items = [item for item in items if _refused(item)]
    if refused_items:
        config.hook.pytest_deselected(items=refused_items)
        refused = set(refused_items)
        items[:] = [item for item in items if item not in refused]
    paths = sorted(
        dict.fromkeys(item.path for item in items), key=lambda path: path.name not in FIRST
    )
    files = {path: i for i, path in enumerate(paths)}
    items.sort(key=lambda item: (files[item.path], *_program_of_test(item)))


def _program_of_test(item: pytest.Item) -> tuple[str, ...]:
    """Return robot, function and method of a test, so that tests of one Program run in sequence."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    words = [parameters.get(key) for key in ("name", "function", "method")]
    return tuple(map(str, words)) if all(isinstance(word, str) for word in words) else ("", "", "")


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make an empty folder of compiled libraries for one test file."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYMGEN_CACHE", str(folder))
        yield folder


@pytest.fixture
def finished_here() -> Iterator[None]:
    """Run all passes except the last ones on every Program, however long: for tests of passes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "finish", FINISH)
        patch.setattr(_CachePerMode, "how", "finished")
        yield


@pytest.fixture
def polished_here() -> Iterator[None]:
    """Run all passes, and take the shortest of the layouts, as users get it."""
    with pytest.MonkeyPatch.context() as patch:
        _derive_as_users_do(patch, "polished")
        yield


@pytest.fixture
def full_search() -> Iterator[None]:
    """Search for layouts of frames as for users, and run all passes."""
    with _as_users_have_them():
        yield


@pytest.fixture(scope="session")
def derived_this_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the Programs that all processes of this run derived with users' settings."""
    folder = tmp_path_factory.getbasetemp()
    return (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "derived-this-run"


@pytest.fixture
def as_users_have_them(derived_this_run: Path) -> Iterator[None]:
    """Use users' settings and share Programs between tests, which must plant no error in symgen."""
    with _as_users_have_them(derived_this_run):
        yield


@pytest.fixture(scope="module")
def all_as_users_have_them(derived_this_run: Path) -> Iterator[None]:
    """Use users' settings and share Programs, for every test of a file."""
    with _as_users_have_them(derived_this_run):
        yield


@contextmanager
def _as_users_have_them(folder: Path | None = None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        _derive_as_users_do(patch, "full")
        patch.setattr(layout, "EFFORT", FULL_EFFORT)
        if folder is not None:  # compiled libraries stay where they are
            patch.setattr(cache, "cache_folder", lambda: folder)
            patch.setenv("SYMGEN_CACHE_PROGRAMS", "on")
        yield


def _derive_as_users_do(patch: pytest.MonkeyPatch, how: str) -> None:
    patch.setattr(passes, "polish", POLISH)
    patch.setattr(passes, "finish", FINISH)
    patch.setattr(derive, "candidate_layouts", CHOICES)
    patch.setattr(layout, "search", SEARCH)
    for name, limit in LIMITS.items():
        patch.setattr(choose, name, limit)
    patch.setattr(_CachePerMode, "how", how)


class _CachePerMode:
    """A cache with separate entries for each mode of derivation (layouts, passes)."""

    how = "plain"

    def __init__(self, cached: Any, most: int | None = None) -> None:
        self.compute, self.most = cached.__wrapped__, most or cached.cache_parameters()["maxsize"]
        self.kept: dict[str, Any] = {}

    def __call__(self, *key: Any, **named: Any) -> Any:
        if self.how not in self.kept:
            self.kept[self.how] = lru_cache(maxsize=self.most)(self.compute)
        return self.kept[self.how](*key, **named)

    def cache_clear(self) -> None:
        for kept in self.kept.values():
            kept.cache_clear()


layout.layouts = adjusting.layouts = _CachePerMode(layout.layouts)
adjusting._adjusting = _CachePerMode(adjusting._adjusting)
derive._attempt, build._build = (
    _CachePerMode(derive._attempt, 1000),
    _CachePerMode(build._build, 2000),
)
form._looped, form._by_scans, form._in_parts = (
    _CachePerMode(form._looped),
    _CachePerMode(form._by_scans),
    _CachePerMode(form._in_parts),
)
robots_for_tests.program = _CachePerMode(robots_for_tests.program)

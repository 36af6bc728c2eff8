"""Relations run over every method and every robot; the pairs that a method refuses by name are taken out here, once."""

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
from symgen.pipeline import adjusting, build, choose, derive, layout
from symgen.support import cache
from tests.shared import robots_for_tests
from tests.shared.oracles import CLOSED_FORMS
from tests.shared.robots_for_tests import MOVING, ROBOTS, robot

# A test process holds thousands of Programs, all of them for good: going through them again and again takes a third of its time.
gc.set_threshold(1_000_000, 100, 1000)

# What a test finds out, it finds out itself: no Program of an earlier run, and none of a test that has planted an error. Those
# that only look at Programs as users have them share them within a run: `as_users_have_them`.
os.environ["SYMGEN_CACHE_PROGRAMS"] = "off"

# Tests count and replace what derives, which a forked process would not see; the tests run in several processes as it is.
os.environ["SYMGEN_PROCESSES"] = "1"

# Frames are laid out as is known of a built-in robot, else plainly. Any layout gives the same answers (pipeline/test_layout.py); a search
# of every robot here takes a quarter of an hour, its first choices alone a tenth of all tests. `polished_here` has those.
FULL = layout.EFFORT
layout.EFFORT = 3
SEARCH = layout.search


def _plainly(mechanism: Mechanism) -> layout.Layouts:
    return layout.Layouts()


layout.search = _plainly

# Of the layouts that a function is tried in, it is derived in one, and not compared with the others. Tests of counts have
# `polished_here`.
CHOICES = derive.candidate_layouts


def _one_choice(mechanism: Mechanism, function: str) -> tuple[layout.Layout, ...]:
    return CHOICES(mechanism, function)[:1]


derive.candidate_layouts = _one_choice

# Where none is named, a method is not taken to its end that needs more after the first passes than another in the end.
LIMITS = {"DEARER": choose.DEARER, "FEWER": choose.FEWER}
choose.DEARER, choose.FEWER = 1.0, 0

# The passes after the first take two thirds of a derivation. They prove each value that they compute anew
# (ir/test_merge_equal.py, ir/test_resubstitute.py), they know no method, and the built-in robots are verified
# with all of them (verification/test_verify.py). Here long Programs go without the last ones, and the longest
# without those before. Tests of passes use `finished_here`, those of counts `polished_here`.
LONG, LONGEST = 120, 500
POLISH, FINISH = passes.polish, passes.finish


def _polish_what_is_short(finished: Program) -> Program:
    return POLISH(finished) if len(finished.rows) <= LONG else finished


def _finish_all_but_the_longest(begun: Program) -> Program:
    return FINISH(begun) if len(begun.rows) <= LONGEST else passes.eliminate(without_spare(begun))


passes.polish, passes.finish = _polish_what_is_short, _finish_all_but_the_longest


FIRST = ("test_golden.py",)
"""Files whose tests leave Programs for others; see `as_users_have_them`."""


def _refused(item: pytest.Item) -> bool:
    given = getattr(getattr(item, "callspec", None), "params", {})
    name, form, method = given.get("name"), given.get("form"), given.get("method")
    if not isinstance(method, str) or method not in methods.names():
        return False
    if isinstance(name, str) and name in ROBOTS + MOVING:
        return methods.find(method).refusal(robot(name)) is not None
    return (
        form in CLOSED_FORMS
        and methods.find(method).refusal(CLOSED_FORMS[form]().mechanism) is not None
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    out = [item for item in items if _refused(item)]
    if out:
        config.hook.pytest_deselected(items=out)
        refused = set(out)
        items[:] = [item for item in items if item not in refused]
    paths = sorted(
        dict.fromkeys(item.path for item in items), key=lambda path: path.name not in FIRST
    )
    files = {path: i for i, path in enumerate(paths)}
    items.sort(key=lambda item: (files[item.path], *_derived(item)))


def _derived(item: pytest.Item) -> tuple[str, ...]:
    """What a test derives: tests of one Program stand beside each other, so that one process derives it once for all."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    words = [given.get(key) for key in ("name", "function", "method")]
    return tuple(map(str, words)) if all(isinstance(word, str) for word in words) else ("", "", "")


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of compiled libraries that no other file of tests has seen."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYMGEN_CACHE", str(folder))
        yield folder


@pytest.fixture
def finished_here() -> Iterator[None]:
    """Every Program goes through all passes but the last ones, however long it is: for tests of passes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "finish", FINISH)
        patch.setattr(_Apart, "how", "finished")
        yield


@pytest.fixture
def polished_here() -> Iterator[None]:
    """Every Program goes through the last passes, in the shortest of its layouts, as a user's does."""
    with pytest.MonkeyPatch.context() as patch:
        _derive_as_users_do(patch, "polished")
        yield


@pytest.fixture
def full_search() -> Iterator[None]:
    """Frames are laid out as a user's are, and every Program goes through the last passes."""
    with _as_users_have_them():
        yield


@pytest.fixture(scope="session")
def derived_this_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Programs that tests of this run have derived as a user's are derived, in whichever process."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "derived-this-run"


@pytest.fixture
def as_users_have_them(derived_this_run: Path) -> Iterator[None]:
    """Likewise, and what one test has derived another reads: for tests that look at Programs and plant no error in symgen."""
    with _as_users_have_them(derived_this_run):
        yield


@pytest.fixture(scope="module")
def all_as_users_have_them(derived_this_run: Path) -> Iterator[None]:
    """Likewise, for every test of a file."""
    with _as_users_have_them(derived_this_run):
        yield


@contextmanager
def _as_users_have_them(folder: Path | None = None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        _derive_as_users_do(patch, "full")
        patch.setattr(layout, "EFFORT", FULL)
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
    patch.setattr(_Apart, "how", how)


class _Apart:
    """A cache that keeps apart what was derived in one layout, or without the last passes, and another's."""

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


layout.layouts = adjusting.layouts = _Apart(layout.layouts)
adjusting._adjusting = _Apart(adjusting._adjusting)
derive._attempt, build._build = _Apart(derive._attempt, 1000), _Apart(build._build, 2000)
robots_for_tests.program = _Apart(robots_for_tests.program)

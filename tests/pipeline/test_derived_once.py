"""A process derives each program once.

Another real type, checks, and a method that was a candidate before need no further derivation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen import cli
from symgen.description.tip import tip
from symgen.pipeline import build, choose, derive
from symgen.pipeline.layout import Layout
from symgen.vocabulary.functions import BY_DEFAULT
from symgen.vocabulary.options import ProgramOptions

Derived = list[tuple[str, str, ProgramOptions, Layout]]


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> Iterator[Derived]:
    """Record the arguments of every derivation, starting with empty caches."""
    derivations: Derived = []
    derivation = derive.record

    def watched(
        mechanism: Any,
        function: str,
        method: str,
        options: ProgramOptions,
        where: Layout,
        longest: int,
    ) -> Any:
        derivations.append((function, method, options, where))
        return derivation(mechanism, function, method, options, where, longest)

    monkeypatch.setattr(derive, "record", watched)
    derive._attempt.cache_clear()
    build._build.cache_clear()
    yield derivations
    derive._attempt.cache_clear()
    build._build.cache_clear()


def test_a_checked_folder_derives_each_program_once(derived: Derived, tmp_path: Path) -> None:
    assert cli.main(["generate", "scara", "--checked", "-o", str(tmp_path / "c")]) == 0
    assert {function for function, _, _, _ in derived} == set(BY_DEFAULT)
    assert len(derived) == len(set(derived))


def test_options_of_the_text_need_no_new_derivation(derived: Derived) -> None:
    scara = symgen.load("scara")
    double = symgen.program(scara, "forward_dynamics")
    derived.clear()
    single = symgen.program(
        scara, "forward_dynamics", real="float", trig="inline", frame=tip(scara)
    )
    assert derived == []
    assert (single.rows, single.real, double.real) == (double.rows, "float", "double")
    symgen.compile(scara, ["forward_dynamics"], trig="inline", checked=True, optimize=0)
    assert derived == []


def test_a_candidate_is_not_derived_again_on_request(derived: Derived) -> None:
    scara = symgen.load("scara")
    symgen.program(scara, "forward_dynamics", "composite_body")
    symgen.program(scara, "forward_dynamics")
    symgen.program(scara, "forward_dynamics", "riccati")
    assert len(derived) == len({(method, where) for _, method, _, where in derived})


def test_the_choice_of_a_method_does_not_depend_on_earlier_requests(derived: Derived) -> None:
    scara = symgen.load("scara")
    first = symgen.program(scara, "operational_inertia_inverse")
    derive._attempt.cache_clear()
    build._build.cache_clear()
    for method in choose.methods_for(scara, "operational_inertia_inverse"):
        symgen.program(scara, "operational_inertia_inverse", method)
    assert symgen.program(scara, "operational_inertia_inverse") == first

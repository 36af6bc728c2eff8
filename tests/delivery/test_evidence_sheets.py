"""Sheets of costs and proofs, without the tools that measure and prove."""

from __future__ import annotations

from typing import Any

import pytest

from symgen.delivery import evidence
from symgen.machine.cost import STATES, Cost, Measured
from symgen.machine.emulation import Toolchain
from symgen.machine.firmware import OPTIMIZE
from symgen.support.errors import BuildError, TextRefused
from symgen.verification import proof
from symgen.vocabulary.options import PLAIN, ProgramOptions
from tests.shared.c_programs import arm
from tests.shared.folders import mechanism

PROGRAMS = {"mass_matrix": arm()["mass_matrix"]}
OPTIONS = ProgramOptions()


def sheet(target: str) -> dict[str, Any]:
    return evidence.cost_sheet(mechanism(), PROGRAMS, target, OPTIONS)


def raising(error: Exception) -> Any:
    def call(*arguments: Any, **settings: Any) -> Any:
        raise error

    return call


@pytest.fixture
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toolchain, "versions", lambda toolchain: ("gcc 1", "qemu 2"))


def test_a_target_without_a_counter_has_an_empty_sheet() -> None:
    assert sheet("host") == {}


@pytest.mark.usefixtures("_tools")
@pytest.mark.parametrize("newlib", [None, (300, 40)])
def test_the_sheet_has_the_figures_of_each_function(
    newlib: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = Cost("mass_matrix", "m", (1, 2), (1, 1), 3, 100, 20, 0, ("sinf",), 200, None, 8, (5, 9))
    measured = Measured((cost,), 100, 200, 8, ("a figure",), newlib)
    monkeypatch.setattr(evidence, "measured", lambda *arguments: measured)
    facts = sheet("cortex-m4f")
    assert (facts["target"], facts["title"]) == ("cortex-m4f", "Arm Cortex-M4F")
    assert (facts["compiler"], facts["emulator"]) == ("gcc 1", "qemu 2")
    assert (facts["optimize"], facts["states"]) == (OPTIMIZE, STATES)
    assert (facts["flash"], facts["flash_with_libm"], facts["ram_with_libm"]) == (100, 200, 8)
    assert facts["newlib"] == (None if newlib is None else [300, 40])
    assert facts["unknown"] == ["a figure"]
    assert "DDI 0439" in facts["timing"]
    assert facts["flags"][:2] == ["-ffp-contract=off", "-fno-math-errno"], "-std=c99 is left out"
    (name,) = facts["functions"]
    assert name == "mass_matrix"
    function = facts["functions"][name]
    assert "function" not in function
    assert (function["cycles"], function["stack_with_libm"]) == ((5, 9), None)
    assert sheet("rv32imafc")["timing"] is None


@pytest.mark.usefixtures("_tools")
def test_a_sheet_says_which_tool_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "measured", raising(BuildError("qemu is missing")))
    facts = sheet("cortex-m4f")
    assert facts == {
        "target": "cortex-m4f",
        "title": "Arm Cortex-M4F",
        "missing": "qemu is missing",
    }
    monkeypatch.setattr(evidence, "measured", raising(TextRefused("no room")))
    assert sheet("cortex-m4f") == facts | {"missing": "no room", "refused": True}
    monkeypatch.setattr(Toolchain, "versions", raising(BuildError("gcc is missing")))
    assert sheet("cortex-m4f") == facts | {"missing": "gcc is missing"}


class _Proof:
    def facts(self) -> dict[str, Any]:
        return {"robot": "arm"}


def test_a_proof_says_if_frama_c_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    proved: list[tuple[list[str], bool]] = []

    def prove(mechanism: Any, programs: Any, *_: Any, with_eva: bool = False, **rest: Any) -> Any:
        assert rest["compiled"] is False
        proved.append((list(programs), with_eva))
        if with_eva and fails:
            raise BuildError("no Frama-C")
        return _Proof()

    monkeypatch.setattr(evidence, "prove_programs", prove)
    programs: dict[str, Any] = PROGRAMS | {"mass_matrix:jacobian(q)": arm()["gravity_force"]}
    for fails in (False, True):
        facts = evidence.proof_sheet(mechanism(), programs, OPTIONS, PLAIN)
        missing = {"eva_missing": "no Frama-C"} if fails else {}
        assert facts == {"robot": "arm"} | missing
    assert proved == [(["mass_matrix"], True)] * 2 + [(["mass_matrix"], False)]
    assert proof.prove_programs is not prove


def test_derivatives_and_run_time_parameters_have_no_proof() -> None:
    derivatives = {"mass_matrix:jacobian(q)": arm()["mass_matrix"]}
    assert evidence.proof_sheet(mechanism(), derivatives, OPTIONS, PLAIN) == {}
    options = ProgramOptions(parameters=("lower.mass",))
    assert evidence.proof_sheet(mechanism(), PROGRAMS, options, PLAIN) == {}

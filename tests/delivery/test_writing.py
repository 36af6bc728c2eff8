"""Requests for a folder: names, defaults, warnings, and what stands in it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.delivery import writing
from symgen.delivery.writing import RENAMED, _refuse_name, left_out, wrappers
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import INVERSE_ON_REQUEST_ABOVE
from symgen.support.errors import ArgumentError, RequestError, SymgenWarning, TextRefused
from tests.shared.folders import mechanism


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


def generated(
    folder: Path,
    robot: Mechanism | None = None,
    function: str = "mass_matrix",
    **options: Any,
) -> dict[str, Any]:
    """Generate a function of an arm of two links; return the manifest."""
    return symgen.generate(robot or mechanism(), folder, [function], **options)


@pytest.mark.parametrize(
    ("options", "real", "trig"),
    [
        ({}, "double", "auto"),
        ({"real": "float"}, "float", "auto"),
        ({"trig": "macro"}, "double", "macro"),
        ({"target": "cortex-m4f"}, "float", "libm"),
        ({"target": "cortex-m4f", "trig": "inline"}, "float", "inline"),
    ],
)
def test_a_target_decides_the_real_type_and_the_sines_that_are_not_named(
    options: dict[str, Any], real: str, trig: str, tmp_path: Path
) -> None:
    facts = generated(tmp_path / "arm", evidence=False, **options)
    assert (facts["real"], facts["options"]["trig"]) == (real, trig)
    assert facts["options"].get("target") == options.get("target")
    assert ("firmware/main.c" in facts["files"]) == ("target" in options)


def messages(folder: Path, robot: Mechanism | None = None, **options: Any) -> list[tuple[str, str]]:
    """Return kind and text of each warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        generated(folder, robot, **options)
    entries = [entry.message for entry in caught]
    return [(entry.kind, str(entry)) for entry in entries if isinstance(entry, SymgenWarning)]


def test_double_precision_on_a_small_processor_is_warned_about(tmp_path: Path) -> None:
    target: dict[str, Any] = {"target": "cortex-m4f", "evidence": False}
    assert messages(tmp_path / "a", **target) == []
    (warning,) = messages(tmp_path / "b", real="double", **target)
    assert "the FPU of cortex-m4f has single precision only" in warning[1]
    assert messages(tmp_path / "c", real="double") == []


def test_a_robot_whose_name_is_no_name_of_c_is_renamed_with_a_warning(tmp_path: Path) -> None:
    robot = replace(mechanism(), name="my arm")
    (warning,) = messages(tmp_path / "a", robot)
    assert warning[0] == RENAMED
    assert warning[1].endswith("; generate(name=...) sets another name")
    assert messages(tmp_path / "b", robot, name="arm") == []
    assert messages(tmp_path / "c") == []


def test_progress_counts_the_last_stages(tmp_path: Path) -> None:
    def stages(**options: Any) -> list[tuple[str, int, int]]:
        reported: list[tuple[str, int, int]] = []

        def progress(task: str, done: int, total: int) -> None:
            reported.append((task, done, total))

        generated(tmp_path / "arm", progress=progress, **options)
        return reported

    plain, checked = stages(), stages(checked=True)
    last = [("answers for the self-test", 1, 3), ("writing the folder", 3, 3)]
    assert plain[-2:] == last
    assert checked[-3:] == [last[0], ("certifying divisors", 2, 3), last[1]]
    assert all(done <= total for _, done, total in (*plain, *checked))


def test_a_function_that_is_left_out_has_a_reason() -> None:
    robot = mechanism()
    why = left_out(robot, ["mass_matrix"], refused={"forward_dynamics": "it is too long"})
    assert "mass_matrix" not in why
    assert why["forward_dynamics"] == "it is too long"
    assert why["inverse_dynamics"] == why["inverse_mass_matrix"] == "not requested; -f adds it"
    assert left_out(robot, ["mass_matrix"])["forward_dynamics"] == "not requested; -f adds it"
    assert not any("contact" in name for name in why)
    count = INVERSE_ON_REQUEST_ABOVE + 1
    many = replace(
        robot,
        joints=tuple(replace(robot.joints[0], name=f"j{k}", parent=k - 1) for k in range(count)),
        bodies=tuple(replace(robot.bodies[0], name=f"b{k}") for k in range(count)),
    )
    assert left_out(many, [])["inverse_mass_matrix"] == (
        f"{many.nv} joints make it long; name it with -f inverse_mass_matrix"
    )
    assert left_out(many, [])["mass_matrix"] == "not requested; -f adds it"


# -- evidence of a target --------------------------------------------------------------------------


@pytest.fixture
def sheets(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the tools that measure and prove; return the sheets that they give."""
    values: dict[str, Any] = {"cost": {"flash": 5}, "proof": {"states": 9}, "name": None}

    def proof_sheet(*arguments: Any) -> Any:
        values["name"], values["proved"] = arguments[4], [*arguments[1]]
        return values["proof"]

    monkeypatch.setattr(writing, "cost_sheet", lambda *arguments: values["cost"])
    monkeypatch.setattr(writing, "proof_sheet", proof_sheet)
    return values


def test_a_folder_for_a_target_has_measured_and_proved_facts(
    sheets: dict[str, Any], tmp_path: Path
) -> None:
    reported: list[tuple[str, int, int]] = []

    def progress(task: str, done: int, total: int) -> None:
        reported.append((task, done, total))

    facts = generated(tmp_path / "arm", target="cortex-m4f", progress=progress)
    assert (facts["cost"], facts["proof"]) == (sheets["cost"], sheets["proof"])
    assert (sheets["name"], sheets["proved"]) == ("arm", ["mass_matrix"])
    assert ("measuring on cortex-m4f", 0, 2) in reported
    assert ("proving", 1, 2) in reported
    generated(tmp_path / "leg", target="cortex-m4f", name="leg")
    assert sheets["name"] == "leg"
    without: list[dict[str, Any]] = [{}, {"target": "cortex-m4f", "evidence": False}]
    for options in without:
        assert not {"cost", "proof"} & set(generated(tmp_path / "plain", **options))
    sheets["proved"] = []
    looped = generated(tmp_path / "x", None, "gravity_force", target="cortex-m4f", form="looped")
    assert "proof" not in looped
    assert sheets["proved"] == [], "proofs do not cover looped functions"


def test_a_text_that_the_target_rejects_is_written_with_a_warning(
    sheets: dict[str, Any], tmp_path: Path
) -> None:
    sheets["cost"] = {"missing": "the compiler rejects it", "refused": True}
    (warning,) = messages(tmp_path / "arm", target="cortex-m4f")
    assert warning == (writing.REFUSED, "the compiler rejects it")
    with pytest.raises(TextRefused, match="the compiler rejects it"):
        generated(tmp_path / "strict", target="cortex-m4f", strict=True)
    assert not (tmp_path / "strict").exists()
    sheets["cost"] = {"missing": "gcc is not installed"}
    assert messages(tmp_path / "arm", target="cortex-m4f", strict=True) == []

"""Folders written by symgen 0.1.0 and verified by a later version, which lists what it cannot
judge.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.delivery import verifying
from symgen.support.errors import DescriptionError
from symgen.verification import folder as reading

OLD = Path(__file__).parents[1] / "folders_of_0_1_0"
ARM = (
    "inverse_dynamics=newton_euler",
    "forward_dynamics=composite_body",
    "mass_matrix=composite_body",
)
CHAIN = ("inverse_dynamics=newton_euler", "mass_matrix_solve=fixman")


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (verifying, reading):
        monkeypatch.setattr(module, "__version__", "0.2.0")


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD / "planar_arm", tmp_path / "arm"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def edit_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "functions"), [("planar_arm", ARM), ("looped", CHAIN)])
def test_functions_are_judged_and_other_files_reported_as_not_judged(
    name: str, functions: tuple[str, ...]
) -> None:
    report = symgen.verify(OLD / name, states=2)
    assert report.passed
    assert report.verdicts == dict.fromkeys(functions, "passed")
    assert report.notes[-1] == (
        f"this folder was written by symgen 0.1.0; judged: {', '.join(functions)}; "
        "not judged: files other than the functions"
    )
    assert report.closing.endswith(", 1 not judged")


def test_a_text_that_cannot_be_read_is_not_judged(arm: Path) -> None:
    """The numbers are right, but this version cannot read the rows of the text."""
    edit(arm / "planar_arm_mass_matrix.c", "    M[0] =", "    M[0] = 0.0;\n    M[0] =")
    report = symgen.verify(arm, states=2)
    assert not report.failures
    assert not report.passed
    assert report.verdicts["mass_matrix=composite_body"] == "not judged"
    assert report.notes[-1] == (
        f"this folder was written by symgen 0.1.0; judged: {', '.join(ARM[:2])}; "
        "not judged: mass_matrix=composite_body (text), files other than the functions"
    )
    assert "symgen 0.1.0 wrote it, and it is not the text that symgen 0.2.0 reads: " in str(report)


def test_wrong_numbers_fail_in_every_version(arm: Path) -> None:
    edit(arm / "planar_arm_mass_matrix.c", "    M[0] =", "    M[0] = 1.0 +")
    report = symgen.verify(arm, states=2)
    assert {check.kind for check in report.failures} >= {"floating"}


def test_lanes_of_another_layout_are_not_judged(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(OLD / "looped", tmp_path / "looped"))
    with (folder / "chain_lanes.h").open("a", encoding="utf-8") as header:
        header.write("typedef double chain_other;\n")
    report = symgen.verify(folder, states=2)
    assert not report.failures
    assert not report.passed
    many = ", ".join(f"{function} (many states)" for function in CHAIN)
    assert report.notes[-1].endswith(f"; not judged: {many}, files other than the functions")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m["options"].update(units="degrees"), "its option 'units' is unknown"),
        (
            lambda m: m["functions"]["mass_matrix"].update(scaled=2),
            "its fact 'scaled' is unknown",
        ),
        (
            lambda m: m["functions"]["mass_matrix"]["arguments"][0].update(shape=[3]),
            "its arguments have changed",
        ),
        (
            lambda m: m["functions"]["mass_matrix"]["result"].update(name="inertia"),
            "its results have changed",
        ),
    ],
)
def test_a_function_with_unknown_facts_in_the_manifest_is_not_judged(
    arm: Path, change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    edit_manifest(arm, change)
    report = symgen.verify(arm, states=2)
    assert not report.failures
    assert not report.passed
    assert report.verdicts["mass_matrix=composite_body"] == "not judged"
    assert f"symgen 0.1.0 wrote it, and {reason}" in str(report)
    if "option" in reason:
        assert "judged: no function; not judged: " in report.notes[-1]


def test_the_refusal_of_an_unreadable_manifest_names_both_versions(arm: Path) -> None:
    edit_manifest(arm, lambda manifest: manifest.update(functions=[]))
    with pytest.raises(
        DescriptionError,
        match=r"symgen 0.1.0 wrote its manifest.json, which symgen 0.2.0 cannot read",
    ):
        symgen.verify(arm, states=2)

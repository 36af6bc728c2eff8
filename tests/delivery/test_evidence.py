"""Evidence in README and manifest of a target's folder: cost, ranges, proofs and their limits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.cli import main
from symgen.delivery.evidence import measured_folder
from symgen.delivery.folder import evidence_context
from symgen.description.tip import tip
from symgen.pipeline.build import programs
from symgen.support.errors import RequestError
from symgen.support.tables import span
from symgen.verification import proof
from symgen.verification.proof import eva
from symgen.vocabulary.options import ProgramOptions
from tests.shared.firmware_tools import need
from tests.shared.robots_for_tests import robot

pytestmark = pytest.mark.firmware

OLD = Path(__file__).parents[1] / "folders_of_0_1_0"
LIGHT = """name = "arm"
[[body]]
name = "light"
parent = "base"
joint = { name = "first", type = "revolute", axis = [0, 0, 1] }
[[body]]
name = "heavy"
parent = "light"
joint = { name = "second", type = "revolute", axis = [0, 1, 0], xyz = [0.3, 0, 0] }
mass = 1.5
centre = [0.2, 0, 0]
inertia = [0.01, 0, 0, 0.02, 0, 0.02]
"""
FUNCTIONS = ["inverse_dynamics", "forward_dynamics", "mass_matrix"]


@pytest.fixture(scope="module")
def ur5_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("cortex-m4f")
    folder = tmp_path_factory.mktemp("evidence") / "ur5"
    symgen.generate("ur5", folder, FUNCTIONS, "float", target="cortex-m4f")
    return folder


def manifest(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8")))


def readme(folder: Path) -> str:
    return (folder / "README.md").read_text(encoding="utf-8")


def test_every_cost_is_in_the_column_of_its_heading(ur5_folder: Path) -> None:
    costs = manifest(ur5_folder)["cost"]["functions"]
    tables = [
        [line.strip("|").split("|") for line in block.splitlines() if line.startswith("|")]
        for block in readme(ur5_folder).split("\n\n")
        if "| cycles" in block
    ]
    ((heading, _, *rows),) = tables
    at = next(i for i, words in enumerate(heading) if words.strip().startswith("cycles"))
    for name, row in zip(costs, rows, strict=True):
        assert len(row) == len(heading)
        assert row[0].strip() == f"`{name}`"
        assert row[at].strip() == span(costs[name]["cycles"])


def test_the_manifest_holds_the_facts_of_the_proof(ur5_folder: Path) -> None:
    mechanism, options = robot("ur5"), ProgramOptions("float", frame=tip(robot("ur5")))
    facts = proof.prove_programs(
        mechanism, programs(mechanism, FUNCTIONS, options), options, compiled=False
    ).facts()
    in_manifest = manifest(ur5_folder)["proof"]
    assert {key: in_manifest[key] for key in facts} == json.loads(json.dumps(facts))
    assert "eva" in in_manifest or "frama-c" in in_manifest["eva_missing"]


def test_the_readme_states_costs_ranges_and_proofs(ur5_folder: Path) -> None:
    text, facts = readme(ur5_folder), manifest(ur5_folder)
    for heading in (
        "Cost of a call on Arm Cortex-M4F",
        "Calls from interrupts",
        "Ranges",
        "Proofs",
        "Limits of the proofs",
    ):
        assert f"\n### {heading}\n" in text
    for joint in facts["proof"]["joints"]:
        assert len(re.findall(rf"^\| `{joint['joint']}` \|", text, re.MULTILINE)) >= 2
    for sentence in facts["proof"]["assumptions"]:
        assert f"- {sentence}\n" in text
    for name in FUNCTIONS:
        assert len(re.findall(rf"^\| `{name}` \|", text, re.MULTILINE)) >= 3 - (
            "eva_missing" in facts["proof"]
        )
    for entry in facts["proof"].get("eva", {}).values():
        assert all(f"`{line}`" in text for line in entry["admitted"])


def test_every_printed_bound_is_rounded_to_the_safe_side(ur5_folder: Path) -> None:
    facts = manifest(ur5_folder)["proof"]
    cells = evidence_context({"proof": facts})
    for row, (name, result) in zip(
        cells["round_offs"],
        ((f, r) for f, entry in facts["functions"].items() for r in entry["round_off"]["results"]),
        strict=True,
    ):
        assert float(row[-1]) >= facts["functions"][name]["round_off"]["results"][result]["bound"]
    (divisor_bounds,) = cells["divisor_bounds"]
    printed = {
        joint: float(x) for joint, x in re.findall(r"`(\S+)` ≥ ([\d.e-]+)", divisor_bounds[1])
    }
    certified = {
        d["joint"]: d["certified"] for d in facts["functions"]["forward_dynamics"]["divisors"]
    }
    assert set(printed) == set(certified)
    assert all(0 < printed[joint] <= certified[joint] for joint in printed)


@pytest.mark.parametrize("admitted", [[], ["\\is_finite(q)"], ["\\is_finite(q)", "x >= 0"]])
def test_no_cell_of_the_proof_of_finite_results_is_empty(admitted: list[str]) -> None:
    verdict = {"proved": True, "admitted": admitted, "alarms": []}
    (row,) = evidence_context({"proof": {"eva": {"gravity": verdict}}})["finite"]
    assert all(row)
    assert [line for line in admitted if f"`{line}`" in row[-1]] == admitted


def test_the_same_tools_give_the_same_bytes(ur5_folder: Path, tmp_path: Path) -> None:
    symgen.generate("ur5", tmp_path / "ur5", FUNCTIONS, "float", target="cortex-m4f")
    for path in sorted(p for p in ur5_folder.rglob("*") if p.is_file()):
        assert (
            tmp_path / "ur5" / path.relative_to(ur5_folder)
        ).read_bytes() == path.read_bytes(), path.name


def test_a_folder_for_a_target_passes_verify_and_prove(
    ur5_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(ur5_folder)]) == 0
    capsys.readouterr()
    assert main(["prove", str(ur5_folder), "--states", "200"]) == 0
    assert "5 of 5 divisors certified" in capsys.readouterr().out


def test_a_checked_folder_is_measured_and_proved_with_its_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need("cortex-m4f")
    folder = tmp_path / "scara"
    manifest = symgen.generate(
        "scara",
        folder,
        ["forward_dynamics"],
        "float",
        trig="inline",
        target="cortex-m4f",
        checked=True,
    )
    least, most = manifest["cost"]["functions"]["forward_dynamics"]["instructions"]
    assert least == most
    assert "no branches except those of their checks" in readme(folder)
    assert ("without their\nchecks" in readme(folder)) == ("eva" in manifest["proof"])
    for command in (["verify"], ["prove", "--states", "200"]):
        assert main([*command, str(folder)]) == 0, capsys.readouterr()


def test_the_readme_says_that_frama_c_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        eva.shutil, "which", lambda name: None if name == "frama-c" else f"/usr/bin/{name}"
    )
    symgen.generate("planar_arm", tmp_path / "arm", ["forward_dynamics"], "float", target="host")
    assert "frama-c is not installed" in manifest(tmp_path / "arm")["proof"]["eva_missing"]
    assert "**Memory and finite numbers** were not analysed: frama-c is not installed" in readme(
        tmp_path / "arm"
    )


def test_a_joint_without_a_certificate_is_named_with_the_reason(tmp_path: Path) -> None:
    """The first link has no mass, so that its own inertia gives no bound of the pivot."""
    arm = tmp_path / "arm.toml"
    arm.write_text(LIGHT, encoding="utf-8")
    symgen.generate(str(arm), tmp_path / "arm", ["forward_dynamics"], target="host")
    text = readme(tmp_path / "arm")
    assert re.search(r"^\| `first` \| `light` \| no certificate: .+ \|$", text, re.MULTILINE)
    assert re.search(r"^\| `forward_dynamics` \| .*none.* \| `first` \|$", text, re.MULTILINE)


def test_a_folder_without_a_target_is_measured_only_on_a_named_target() -> None:
    with pytest.raises(
        RequestError, match="was generated for no target; name one with --target, one of cortex-m4f"
    ):
        measured_folder(OLD / "planar_arm", None, None)

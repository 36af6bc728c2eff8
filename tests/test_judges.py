"""Foreign judges over real descriptions: Pinocchio on every URDF of example-robot-data, MuJoCo on two of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import symgen
from symgen.states import draw_states
from tests.judges import example_robot_data as judges

pytest.importorskip("pinocchio")
FILES = judges.files()
LOADED = 66
"""Files that Pinocchio loads with a moving joint, of the 69 in example-robot-data 6.0."""
SINGULAR = {"romeo_description/urdf/romeo.urdf", "romeo_description/urdf/romeo_laas_small.urdf"}


@pytest.mark.parametrize("path", FILES, ids=judges.short)
def test_pinocchio_agrees_with_the_programs(path: Path) -> None:
    """Unsnapped as well up to twelve joints; `make judge` has all."""
    verdict = judges.judge(path, raw_to=12)
    if not verdict.judged:
        assert verdict.reason
        assert verdict.nv == 0
        return
    assert verdict.worst <= judges.BOUND, (verdict.as_snapped, verdict.raw)
    assert set(verdict.as_snapped) >= set(judges.QUANTITIES) - {"forward_dynamics"}
    assert ("forward_dynamics" not in verdict.as_snapped) == (verdict.file in SINGULAR), verdict.reason


@pytest.mark.parametrize("path", FILES, ids=judges.short)
def test_pinocchio_agrees_with_the_reference(path: Path) -> None:
    """Nothing derived stands between: this is the judge of the reader, of the reference and of the harness."""
    verdict = judges.judge(path, judges.by_reference)
    assert not verdict.judged or verdict.worst <= judges.BOUND, (verdict.as_snapped, verdict.raw)


def test_the_committed_table_names_every_file() -> None:
    if len(FILES) != 69:
        pytest.skip("the table is of example-robot-data 6.0")
    text = judges.TABLE.read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and ".urdf" in line]
    assert [row[0].removeprefix("| ") for row in rows] == [judges.short(path) for path in FILES]
    errors = [[float(cell) for cell in row[3:9] if cell != "–"] for row in rows]
    assert sum(bool(found) for found in errors) == LOADED
    assert all(error <= judges.BOUND for found in errors for error in found)
    assert all(row[9].strip(" |") for row, found in zip(rows, errors, strict=True) if len(found) < 6)


def _without_shapes(text: str) -> str:
    """The URDF for MuJoCo: no meshes, which are not installed, and none of the elements that it would not know."""
    root = etree.fromstring(text.encode())
    for element in list(root.iter("visual", "collision", "gazebo", "transmission")):
        element.getparent().remove(element)
    return str(etree.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("name", ["panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf"])
def test_mujoco_agrees(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = next(path for path in FILES if judges.short(path) == name)
    mechanism = symgen.load(path)
    model = mujoco.MjModel.from_xml_string(_without_shapes(judges.snapped_text(path.read_text(encoding="utf-8"))))
    data = mujoco.MjData(model)
    assert model.nv == mechanism.nv
    order = [model.jnt_dofadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint.name)] for joint in mechanism.joints]
    states = {key: values.astype(float) for key, values in draw_states(mechanism, 5, seed=11).items()}
    ours = {f: judges.by_programs(mechanism, f, states) for f in ("mass_matrix", "bias_force", "gravity_force")}
    for k in range(5):
        data.qpos[order], data.qvel[order] = states["q"][k], states["v"][k]
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, mass, data.qM) if _takes_matrix(mujoco) else mujoco.mj_fullM(model, data, mass)
        mass, bias = mass[np.ix_(order, order)], data.qfrc_bias[order]
        # two double-precision implementations of the same sums; MuJoCo turns each tensor to its principal axes besides
        assert np.abs(ours["mass_matrix"][k] - mass).max() <= 1e-12 * np.abs(mass).max()
        assert np.abs(ours["bias_force"][k] - bias).max() <= 1e-12 * np.abs(bias).max()


def _takes_matrix(mujoco: Any) -> bool:
    """Whether this MuJoCo's mj_fullM reads the sparse inertia itself (up to 3.x) rather than the data."""
    return " M: " in str(mujoco.mj_fullM.__doc__)

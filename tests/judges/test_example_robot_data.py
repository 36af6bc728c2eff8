"""Foreign judges over real descriptions: Pinocchio on all of example-robot-data, MuJoCo on two."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.reference.states import draw_states
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import BY_DEFAULT
from tests.judges import example_robot_data as judges

pytest.importorskip("pinocchio")
FILES = judges.files()
ROBOTS = list({judges.short(path).partition("/")[0]: path for path in reversed(FILES)}.values())
"""One file of each robot; the others differ by a hand or a sensor."""
LOADED = 66
"""Files that Pinocchio loads with a moving joint, of the 69 in example-robot-data 6.0."""
STILL = 2
"""Files that have no joint: nothing but a base moves in them."""
SINGULAR = {"romeo_description/urdf/romeo.urdf", "romeo_description/urdf/romeo_laas_small.urdf"}
SMALL, LARGE = 10_000, 25_000
"""Bytes of a file judged in both ways, and of one whose Programs only `make judge` judges."""
PROGRAMS = [
    path for path in ROBOTS if path.stat().st_size < LARGE or judges.short(path) in SINGULAR
]
REFERENCE = [
    path
    for path in FILES
    if path.stat().st_size < SMALL or (path in ROBOTS and path not in PROGRAMS)
]
"""Every robot is judged in one way at least, and every file by `make judge`."""


@pytest.mark.parametrize("path", PROGRAMS, ids=judges.short)
def test_pinocchio_agrees_with_the_programs(path: Path) -> None:
    """One method a function, unsnapped as well up to seven joints; `make judge` has all that
    `generate` gives by default.
    """
    verdict = judges.judge(path, judges.by_named, raw_to=7)
    assert verdict.passed, (verdict.failed, verdict.as_snapped, verdict.raw)
    if not verdict.judged:
        assert verdict.reason
        assert verdict.nv == 0
        return
    assert set(verdict.as_snapped) >= set(judges.QUICK) - {"forward_dynamics"}
    assert ("forward_dynamics" not in verdict.as_snapped) == (verdict.file in SINGULAR), (
        verdict.reason
    )


@pytest.mark.parametrize("path", REFERENCE, ids=judges.short)
def test_pinocchio_agrees_with_the_reference(path: Path) -> None:
    """Judge the reader, the reference and the test harness without a derived Program; small robots
    in every function.
    """
    verdict = judges.judge(path, partial(judges.by_reference, all_to=8))
    assert verdict.passed, (verdict.failed, verdict.as_snapped, verdict.raw)
    assert verdict.nv > 8 or not verdict.judged or set(verdict.as_snapped) == set(BY_DEFAULT)


def by_name(name: str) -> Path:
    return next(path for path in FILES if judges.short(path) == name)


PENDULUM = "double_pendulum_description/urdf/double_pendulum.urdf"


@pytest.mark.slow
@pytest.mark.parametrize("name", [PENDULUM, "borinot_description/urdf/borinot_flying_arm_2.urdf"])
def test_what_generate_gives_by_default_is_judged_in_every_function(name: str) -> None:
    verdict = judges.judge(by_name(name))
    assert verdict.passed, (verdict.failed, verdict.as_snapped, verdict.raw)
    assert set(verdict.as_snapped) == set(verdict.raw) == set(judges.ERRORS) == set(BY_DEFAULT)
    chosen = {
        function: symgen.program(symgen.load(by_name(name)), function).method
        for function in BY_DEFAULT
    }
    assert verdict.methods == chosen


@pytest.mark.parametrize("function", judges.ERRORS)
def test_the_judge_sees_one_wrong_entry_in_every_function(function: str) -> None:
    def slightly_wrong(mechanism: Mechanism, say: judges.Say) -> judges.Answers:
        evaluated = judges.by_reference(mechanism, say)

        def run(states: dict[str, Any]) -> dict[str, Any]:
            results = {
                key: np.array(values) for key, values in evaluated.runners[function](states).items()
            }
            for values in results.values():
                values.reshape(len(values), -1)[-1, -1] += 1e-2 * np.abs(values).max()
            return results

        return judges.Answers({function: run})

    verdict = judges.judge(by_name("ur_description/urdf/ur5_robot.urdf"), slightly_wrong)
    assert not verdict.passed
    assert verdict.worst > 1000 * judges.BOUND
    assert f"**FAILED** {judges.HEADINGS[function]} is" in judges.table([verdict])


@pytest.mark.slow
def test_what_cannot_be_had_fails_and_is_no_empty_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:

    def refuse(*_: object) -> None:
        raise RequestError("not today")

    monkeypatch.setattr(build, "program", refuse)
    verdict = judges.judge(by_name(PENDULUM))
    assert not verdict.passed
    assert len(verdict.failed) == len(BY_DEFAULT)
    assert "**FAILED** FD: not today" in judges.table([verdict])
    nowhere = tmp_path / "example-robot-data" / "robots" / "none.urdf"
    broken = judges.elsewhere(nowhere, "dynamics", reference=False, verbose=False)
    assert not broken.passed
    assert "ended with code 1: FileNotFoundError" in broken.failed[0]


def test_a_verdict_is_kept_while_nothing_changed(tmp_path: Path) -> None:
    verdict = judges.Verdict("a.urdf", 1, as_snapped={"jacobian": 1e-16})
    marked = {"1": verdict, "2": replace(verdict, file="b.urdf")}
    lines = [
        json.dumps({"of": mark, "verdict": asdict(verdict)}) for mark, verdict in marked.items()
    ]
    (tmp_path / "book").write_text("\n".join([*lines, lines[0][:40]]))
    assert judges.valid_verdicts(tmp_path / "book", {"a.urdf": "1", "b.urdf": "changed"}) == {
        "a.urdf": verdict
    }
    assert judges.valid_verdicts(tmp_path / "none", {"a.urdf": "1"}) == {}


def test_every_function_stands_in_one_table() -> None:
    assert [
        name
        for table in judges.TABLES.values()
        if table.base == "fixed"
        for name in table.functions
    ] == list(BY_DEFAULT)


@pytest.mark.parametrize("table_name", judges.TABLES)
def test_the_committed_table_names_every_file(table_name: str) -> None:
    if len(FILES) != 69:
        pytest.skip("the table is of example-robot-data 6.0")
    text = judges.committed(table_name).read_text(encoding="utf-8")
    rows = [
        line.split(" | ")
        for line in text.splitlines()
        if line.startswith("| ") and ".urdf |" in line
    ]
    assert [row[0].removeprefix("| ") for row in rows] == [judges.short(path) for path in FILES]
    names = judges.TABLES[table_name].functions
    count = len(names)
    assert (
        f"| snapped tokens | {' | '.join(judges.HEADINGS[name] for name in names)} | raw | remark |"
        in text
    )
    errors = [[float(cell) for cell in row[3 : 4 + count] if cell != "–"] for row in rows]
    assert sum(bool(error) for error in errors) == LOADED + STILL * (
        judges.TABLES[table_name].base == "free"
    )
    assert all(error <= judges.BOUND for errors_of_file in errors for error in errors_of_file)
    assert "FAILED" not in text
    assert all(
        row[4 + count].strip(" |")
        for row, error in zip(rows, errors, strict=True)
        if len(error) < count + 1
    )


def _without_shapes(text: str) -> str:
    """The URDF for MuJoCo: no meshes, which are not installed, and none of the elements that it
    would not know.
    """
    root = etree.fromstring(text.encode())
    for element in list(root.iter("visual", "collision", "gazebo", "transmission")):
        element.getparent().remove(element)
    return str(etree.tostring(root, encoding="unicode"))


@pytest.mark.parametrize(
    "name", ["panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf"]
)
def test_mujoco_agrees(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = by_name(name)
    mechanism = symgen.load(path)
    model = mujoco.MjModel.from_xml_string(
        _without_shapes(judges.snapped_text(path.read_text(encoding="utf-8")))
    )
    data = mujoco.MjData(model)
    assert model.nv == mechanism.nv
    order = [
        model.jnt_dofadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint.name)]
        for joint in mechanism.joints
    ]
    states = {
        key: values.astype(float) for key, values in draw_states(mechanism, 5, seed=11).items()
    }
    answers = judges.by_named(mechanism, lambda what: None)
    wanted = {"mass_matrix": "M", "bias_force": "c", "gravity_force": "g"}
    ours = {
        function: answers.runners[function](states)[result] for function, result in wanted.items()
    }
    for k in range(5):
        data.qpos[order], data.qvel[order] = states["q"][k], states["v"][k]
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, mass, data.qM) if _takes_matrix(mujoco) else mujoco.mj_fullM(
            model, data, mass
        )
        mass, bias = mass[np.ix_(order, order)], data.qfrc_bias[order]
        # two double-precision implementations of the same sums; MuJoCo turns each tensor to its
        # principal axes besides
        assert np.abs(ours["mass_matrix"][k] - mass).max() <= 1e-12 * np.abs(mass).max()
        assert np.abs(ours["bias_force"][k] - bias).max() <= 1e-12 * np.abs(bias).max()


def _takes_matrix(mujoco: Any) -> bool:
    """True if this MuJoCo's mj_fullM reads the sparse inertia itself (up to 3.x) rather than the
    data.
    """
    return " M: " in str(mujoco.mj_fullM.__doc__)


PANDA, SOLO, ANYMAL = (
    "panda_description/urdf/panda.urdf",
    "solo_description/robots/solo12.urdf",
    "anymal_c_simple_description/urdf/anymal.urdf",
)
COUNTS = {
    PANDA: {"inverse_dynamics": 836, "forward_dynamics": 1938},
    SOLO: {"inverse_dynamics": 1089, "forward_dynamics": 2513},
    ANYMAL: {"inverse_dynamics": 1280, "forward_dynamics": 2689},
}
"""Multiplications, additions and divisions on a free base; may only fall. Panda has no fingers."""


@pytest.mark.slow
@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("path", COUNTS)
def test_operations_on_a_free_base_only_fall(path: str) -> None:
    fingers = ("panda_finger_joint1", "panda_finger_joint2") if path.startswith("panda") else ()
    mechanism = symgen.load(
        {judges.short(path): path for path in FILES}[path], base="free", lock=dict.fromkeys(fingers)
    )
    costs = {function: symgen.program(mechanism, function).cost for function in COUNTS[path]}
    assert {
        function: min(costs[function], bound) for function, bound in COUNTS[path].items()
    } == costs

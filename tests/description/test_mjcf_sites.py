"""Named sites of an MJCF are frames, at the poses that MuJoCo computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from symgen.support.errors import DescriptionError
from tests.shared.mjcf_texts import ROD, mjcf

SITES = f"""<site name="mark" pos="1 2 3"/>
<body name="a" pos="0.1 0 0.3" euler="0 40 0"><joint name="j" axis="0 1 0" pos="0.2 0 0.1"/>
<joint name="k" type="slide" axis="1 0 0"/>{ROD}
<site name="grip" pos="0.3 0 0.1" quat="1 1 0 0"/>
<site name="edge" type="capsule" fromto="0 0 0 0.4 0.2 0.1"/>
<frame pos="0 0.5 0" euler="30 0 0"><site name="framed" pos="0 0 0.2"/></frame>
<body name="b" pos="0 0 1" childclass="x"><site name="of_class"/><site pos="1 0 0"/></body></body>
"""
CLASS = '<default><default class="x"><site pos="0.1 0.2 0.3" euler="10 20 30"/></default></default>'
NAMES = ["mark", "grip", "edge", "framed", "of_class"]


def read(folder: Path, bodies: str) -> Mechanism:
    (folder / "robot.xml").write_text(mjcf(bodies, CLASS))
    return symgen.load(folder / "robot.xml", snap="off", drives="off")


def test_named_sites_are_frames_after_the_links_in_the_order_of_the_file(tmp_path: Path) -> None:
    frames = [frame.name for frame in read(tmp_path, SITES).frames]
    assert frames == ["world", "a_1", "a", "b", *NAMES]


def test_a_site_with_the_name_of_a_body_is_no_frame_and_noted(tmp_path: Path) -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    text = SITES.replace('"grip"', '"b"')
    model = mujoco.MjModel.from_xml_string(mjcf(text, CLASS))
    unchanged = next(frame for frame in read(tmp_path, SITES).frames if frame.name == "b")
    for robot in (read(tmp_path, text), symgen.from_mujoco(model, snap="off")):
        assert [frame.name for frame in robot.frames].count("b") == 1
        assert "sites with the name of a link are left out: b; rename a site" in " ".join(
            note.text for note in robot.notes
        )
    assert unchanged in read(tmp_path, text).frames


def test_links_between_joints_get_names_that_no_site_has(tmp_path: Path) -> None:
    frames = [frame.name for frame in read(tmp_path, SITES.replace('"grip"', '"a_1"')).frames]
    assert frames == ["world", "a_1_", "a", "b", "mark", "a_1", *NAMES[2:]]


def test_a_repeated_name_of_a_site_is_refused_as_in_mujoco(tmp_path: Path) -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    text = SITES.replace('"grip"', '"mark"')
    with pytest.raises(ValueError, match="repeated name"):
        mujoco.MjModel.from_xml_string(mjcf(text, CLASS))
    with pytest.raises(DescriptionError, match="site 'mark': this name is already a site"):
        read(tmp_path, text)


def test_sites_of_a_file_are_those_of_its_model(tmp_path: Path) -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(mjcf(SITES, CLASS))
    names = [frame.name for frame in symgen.from_mujoco(model).frames]
    assert names[-len(NAMES) :] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_sites_on_a_locked_link_stay_frames(name: str, tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text(mjcf(SITES, CLASS))
    locked = symgen.load(tmp_path / "robot.xml", snap="off", drives="off", lock={"k": "0.25"})
    R, p = Reference(locked, frame=name).forward_kinematics(np.array([0.5]))
    expected = Reference(read(tmp_path, SITES), frame=name).forward_kinematics(
        np.array([0.5, 0.25])
    )
    for ours, theirs in zip((R, p), expected, strict=True):
        assert ours.astype(float) == pytest.approx(theirs.astype(float), abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_sites_are_at_the_poses_of_mujoco(name: str, tmp_path: Path) -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    robot = read(tmp_path, SITES)
    model = mujoco.MjModel.from_xml_string(mjcf(SITES, CLASS))
    data = mujoco.MjData(model)
    for q in draw_states(robot, 2, seed=1)["q"].astype(float):
        data.qpos = q
        mujoco.mj_kinematics(model, data)
        number = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, name)
        rotation, position = Reference(robot, frame=name).forward_kinematics(q)
        assert position.astype(float) == pytest.approx(data.site_xpos[number], abs=1e-12)
        axes = data.site_xmat[number].reshape(3, 3)
        if name == "edge":  # a direction only: MuJoCo and symgen may turn about it differently
            rotation, axes = rotation[:, 2], axes[:, 2]
        assert rotation.astype(float) == pytest.approx(axes, abs=1e-12)

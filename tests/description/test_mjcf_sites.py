"""Named sites of an MJCF are frames, at the poses that MuJoCo computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
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


def test_a_site_with_the_name_of_a_body_adds_no_frame(tmp_path: Path) -> None:
    robot = read(tmp_path, SITES.replace('"grip"', '"b"'))
    assert [frame.name for frame in robot.frames].count("b") == 1
    frame_of_body, frame_without_site = (
        next(frame for frame in mechanism.frames if frame.name == "b")
        for mechanism in (robot, read(tmp_path, SITES))
    )
    assert frame_of_body == frame_without_site


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

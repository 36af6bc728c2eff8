"""SDF: each feature gives the same robot as its TOML equivalent, and an edit is detected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import arb
from symgen.reference.states import draw_states
from symgen.support.errors import SymgenError
from tests.shared.sdf_texts import (
    AT,
    CROSS,
    FEATURES,
    FRAME,
    GEAR,
    LYING,
    POSED,
    SEAT,
    THREE,
    A,
    B,
    J,
    back,
    body,
    joint,
    link,
    model,
    model_text,
    toml,
    turns,
    way,
    world,
    written,
)

BOUND = 1e-40
THIRD = link("c", "<pose>0.5 0 0 0 0 0</pose>")


def difference(first: Mechanism, second: Mechanism) -> float:
    """Return the largest difference of mass matrix, forces and poses of shared frames at two
    states.
    """
    assert [joint.name for joint in first.joints] == [joint.name for joint in second.joints]
    assert (first.nq, first.nv) == (second.nq, second.nv)
    scalars, worst = arb(60), 0.0
    names = [
        frame.name
        for frame in first.frames
        if frame.name in {second.name for second in second.frames}
    ]
    states = draw_states(first, 2, seed=3)
    for frame in names[-2:]:
        pair = [Reference(robot, scalars, frame=frame) for robot in (first, second)]
        for name in ("mass_matrix", "inverse_dynamics", "forward_kinematics"):
            keys = [key for key in ("q", "v", "a") if name == "inverse_dynamics" or key == "q"]
            for k in range(2):
                arguments = {key: states[key][k] for key in keys}
                of_first, of_second = (reference.evaluate(name, arguments) for reference in pair)
                worst = max(
                    worst,
                    *(
                        float(abs(x - y).upper())
                        for key in of_first
                        for x, y in zip(
                            np.ravel(of_first[key]), np.ravel(of_second[key]), strict=True
                        )
                    ),
                )
    return worst


@pytest.mark.parametrize("feature", FEATURES)
def test_sdf_and_toml_declare_the_same_robot(feature: str) -> None:
    text, toml_text, (old, new), options = FEATURES[feature]
    from_sdf, from_toml = load(text, **options), load(toml_text, **options)
    assert difference(from_sdf, from_toml) <= BOUND
    assert old in text
    try:
        edited = load(text.replace(old, new), **options)
    except SymgenError:
        return
    assert difference(edited, from_toml) > 1e-6


def notes(text: str, **options: Any) -> str:
    return "\n".join(f"{note.kind}: {note.text}" for note in load(text, **options).notes)


LIMITS = (
    "<axis><xyz>0 0 1</xyz><limit><lower>-1e16</lower><upper>2</upper><effort>-1</effort>"
    "<velocity>inf</velocity></limit></axis>"
)


def test_notes_name_defaults_and_elements_that_are_left_out() -> None:
    silent = notes(model(A, link("b", POSED, ""), J))
    assert (
        "warning: line 3, link 'b': declares no <inertial>; SDF's defaults are used: 1 kg and"
        " moments of" in silent
    )
    assert (
        "info: no joint leads to 'world': in Gazebo the model moves freely; use --base free for"
        " that" in silent
    )
    assert "no joint leads" not in notes(model(A, B, J, joint("w", "world", "a", "", "fixed")))
    fixed_joint = [
        joint("w", "world", "a", "", "fixed"),
        joint("j", "a", "b", "", "fixed"),
        joint("k", "b", "c"),
    ]
    assert "info: line 3, link 'b': declares no <inertial>" in notes(
        model(A, link("b", "", ""), THIRD, *fixed_joint)
    )
    partial = notes(
        model(
            A,
            link("b", POSED, "<inertial><inertia><ixx>1</ixx><iyy>1</iyy></inertia></inertial>"),
            J,
        )
    )
    assert "inertial: declares no <mass>; SDF's default is used: 1 kg" in partial
    assert "inertia: declares no izz; SDF's default is used: 1 kg m²" in partial
    assert "declares no gravity; SDF's default is used: 0 0 -9.8" in notes(
        world(model_text(model(A, B, J)), gravity="")
    )
    assert float(load(world(model_text(model(A, B, J)), gravity="")).gravity[2]) == -9.8
    windy = notes(
        model(
            A,
            link(
                "b",
                POSED
                + "<enable_wind>1</enable_wind><velocity_decay><linear>1</linear></velocity_decay>",
            ),
            J,
        )
    )
    assert "<enable_wind> is left out" in windy
    assert "the decay of its velocity is not modelled" in windy
    assert "1.13 is newer than 1.12; it is read as 1.12" in notes(model(A, B, J, version="1.13"))
    assert (
        "warning: line 5, model 'r': drake:joint 'x': <drake:joint> in <model> is not known in an"
        " SDF, and is" in notes(model(A, B, J, '<drake:joint name="x"/>'))
    )
    assert "radians, not degrees" in notes(model(A, link("b", "<pose>0 0 0 90 0 0</pose>"), J))
    assert "unapplied: read and not applied: damping of j" in notes(
        model(
            A,
            B,
            joint(
                "j",
                "a",
                "b",
                "<axis><xyz>0 0 1</xyz><dynamics><damping>1</damping></dynamics></axis>",
                "ball",
            ),
        )
    )
    chosen = notes(world(model_text(model(A, name="ground")), model_text(model(A, B, J))))
    assert "info: model 'r' of the file is read; left out: 'ground'" in chosen


def test_infinite_and_unreadable_limits_are_no_limits() -> None:
    (mechanism_joint,) = load(model(A, B, joint("j", "a", "b", LIMITS))).joints
    assert (
        mechanism_joint.limits.lower,
        mechanism_joint.limits.upper,
        mechanism_joint.limits.effort,
        mechanism_joint.limits.velocity,
    ) == (
        None,
        2,
        None,
        None,
    )
    assert (
        "warning: line 4, joint 'j': axis: limit: lower: 'x' is not a number; read as no limit"
        in notes(model(A, B, joint("j", "a", "b", LIMITS.replace("-1e16", "x"))))
    )


def test_each_axis_of_a_universal_joint_has_its_own_drive_and_limits() -> None:
    first, second = load(
        model(
            A,
            B,
            joint(
                "j",
                "a",
                "b",
                CROSS.replace("<axis2>", "<axis2><limit><upper>3</upper></limit>"),
                "universal",
            ),
        )
    ).joints
    assert (first.name, second.name) == ("j_1", "j_2")
    assert (first.drive.damping, second.drive.damping) == (0, 3)
    assert (first.limits.upper, second.limits.upper) == (None, 3)


def test_axes_of_a_universal_joint_may_be_given_in_two_frames() -> None:
    """The second axis is given in a rotated frame, so that the joint becomes two joints."""
    turned = CROSS.replace("<axis2><xyz>0 1 0", '<axis2><xyz expressed_in="f">0 1 0')
    mechanism = load(model(A, B, FRAME, joint("j", "a", "b", turned, "universal")), drives="off")
    steps = written([*back(turns(AT)), *turns(SEAT)])
    expected = load(
        toml(
            body(
                "x", "a", way(AT), joint='name = "j_1", type = "revolute", axis = [1, 0, 0]'
            ).partition("[[body.part]]")[0]
            + body(
                "b",
                "x",
                [],
                [*back(turns(SEAT)), *turns(AT)],
                'name = "j_2", type = "revolute", axis = [0, 1, 0]',
            ).replace("steps = [] }", f"steps = {steps} }}")
        )
    )
    assert difference(mechanism, expected) <= BOUND


def test_a_model_is_chosen_by_its_name(tmp_path: Path) -> None:
    text = world(
        model_text(model(A, B, J)),
        model_text(model(A, B, THIRD, J, joint("k", "b", "c"), name="s")),
        model_text(model(A, B, J)),
    )
    assert load(text, model="s").nq == 2
    assert load(text, model="r").name == load(text, model="r:2").name == "r"
    with pytest.raises(SymgenError, match="no model is named 'q'; there are: r, s, r:2"):
        load(text, model="q")


def test_a_model_is_included_from_another_file(tmp_path: Path) -> None:
    (tmp_path / "hand").mkdir()
    listed = '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf></model>'
    (tmp_path / "hand" / "model.config").write_text(listed)
    (tmp_path / "hand" / "new.sdf").write_text(
        model(link("b", "<pose>0.1 0 0 0.3 0 0</pose>"), name="m")
    )
    path = tmp_path / "one.sdf"
    expected = toml(body("n::b", "a", way(AT) + way("0.1 0 0 0.3 0 0")))
    for uri in (
        "model://hand",
        "hand",
        "hand/new.sdf",
        f"file://{tmp_path}/hand/new.sdf",
        "package://there/new.sdf",
    ):
        path.write_text(
            model(
                A,
                f"<include><uri>{uri}</uri><name>n</name>{POSED}</include>",
                joint("j", "a", "n::b"),
            )
        )
        assert (
            difference(load(path, packages={"there": tmp_path / "hand"}), load(expected)) <= BOUND
        )
    path.write_text(
        model(A, f'<include merge="true"><uri>hand</uri>{POSED}</include>', joint("j", "a", "b"))
    )
    assert difference(load(path), load(expected.replace("n::b", "b"))) <= BOUND
    (tmp_path / "hand" / "new.sdf").write_text(
        model("<include><uri>model://hand</uri></include>", name="m")
    )
    with pytest.raises(SymgenError, match="files are included more than 10 deep"):
        load(path, packages={"there": tmp_path / "hand"})
    path.write_text(
        world(
            "<include><uri>model://sun</uri></include>",
            "<include><uri>model://cassie</uri></include>",
        )
    )
    with pytest.raises(
        SymgenError,
        match="none of the included models exists: 'sun', 'cassie'; put their folders into",
    ):
        load(path)
    path.write_text(world("<include><uri>model://sun</uri></include>", model_text(model(A, B, J))))
    assert "left out: 'sun'" in "\n".join(note.text for note in load(path).notes)


def test_the_pose_of_a_free_base_in_the_file_leaves_the_inertia_unchanged() -> None:
    """The rotation of the model in the file does not change the traces of the blocks of M."""
    lying, upright = load(LYING, base="free"), load(model(A, B, J), base="free")
    q = draw_states(lying, 1, seed=2)["q"][0]
    mass_lying, mass_upright = (
        Reference(robot).evaluate("mass_matrix", {"q": q.astype(float)})["M"]
        for robot in (lying, upright)
    )
    for block in (
        slice(0, 3),
        slice(3, 6),
        slice(6, 7),
    ):  # the traces of these blocks do not depend on the axes of the base
        assert np.trace(mass_lying[block, block]) == pytest.approx(
            np.trace(mass_upright[block, block]), rel=1e-12
        )


def test_gravity_may_be_off_for_links_that_gravity_cannot_affect() -> None:
    """Gravity may be off for links that cannot move and for links without mass."""
    fixed_joint = joint("w", "world", "a", "", "fixed")
    light = link(
        "l",
        inertial=(
            "<inertial><mass>0</mass>"
            "<inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial>"
        ),
    )
    weld = joint("x", "b", "l", "", "fixed")
    for elements, options in (
        ((A, B, J, fixed_joint), {}),
        ((A, B, J), {}),
        ((A, B, light, J, weld, fixed_joint), {"base": "fixed"}),
    ):
        off = (
            model(*elements)
            .replace('name="a">', 'name="a"><gravity>false</gravity>')
            .replace('name="l">', 'name="l"><gravity>false</gravity>')
        )
        with_gravity, without_gravity = load(model(*elements), **options), load(off, **options)
        assert without_gravity.gravity == with_gravity.gravity
        assert (without_gravity.bodies, without_gravity.joints) == (
            with_gravity.bodies,
            with_gravity.joints,
        )
    weightless = model(A, B, J, fixed_joint).replace(
        'name="b">', 'name="b"><gravity>false</gravity>'
    )
    assert not any(load(weightless).gravity)  # the only moving link has no gravity
    floating = model(A, B, J).replace('name="a">', 'name="a"><gravity>false</gravity>')
    with pytest.raises(
        SymgenError,
        match=(
            "link 'a': gravity is off for this link but on for 'b'; symgen has one gravity for all"
        ),
    ):
        load(floating, base="free")


def test_with_a_free_base_each_root_link_moves_freely() -> None:
    """The inverse dynamics of two models in one file equal those of each model by itself."""
    arm, ball = model(A, B, J, name="arm"), link("ball", "<pose>3 1 0 0.1 0.2 0.3</pose>")
    pair = load(model(A, B, ball, J), base="free")
    assert [(joint_.name, joint_.type.free) for joint_ in pair.joints] == [
        ("root_joint_a", True),
        ("root_joint_ball", True),
        ("j", False),
    ]
    with_fixed_arm = load(model(A, B, ball, J, joint("w", "world", "a", "", "fixed")), base="free")
    assert [joint_.name for joint_ in with_fixed_arm.joints] == ["root_joint_ball", "j"]
    arm_alone = load(arm, base="free")
    states = {key: values.astype(float)[0] for key, values in draw_states(pair, 1, seed=5).items()}
    positions, speeds = [*range(7), 14], [*range(6), 12]
    forces = Reference(pair).inverse_dynamics(states["q"], states["v"], states["a"])
    expected = Reference(arm_alone).inverse_dynamics(
        states["q"][positions], states["v"][speeds], states["a"][speeds]
    )
    assert np.allclose(np.array(forces[speeds], float), np.array(expected, float), rtol=1e-12)


def test_one_warning_names_each_unknown_element() -> None:
    text = model(
        A,
        link("b", POSED + "<colour>red</colour>"),
        J.replace("<parent", "<colour/><parent"),
        "<colour/>",
    )
    warnings = [line for line in notes(text).splitlines() if line.startswith("warning")]
    assert len(warnings) == 3  # one warning for each kind of parent element
    assert all("<colour> in <" in line for line in warnings)
    ignored = model(
        A,
        link("b", POSED + "<visual/><collision/><sensor/>"),
        J,
        "<plugin/>",
        "<self_collide>1</self_collide>",
    )
    assert "warning" not in notes(ignored)


def test_a_joint_with_a_gearbox_and_a_mimic_is_refused() -> None:
    text = model(
        *THREE[:-1], joint("k", "a", "c", '<axis><xyz>0 0 1</xyz><mimic joint="j"/></axis>'), GEAR
    ).replace(POSED, "<pose>1 2 3 0 0 0</pose>")
    with pytest.raises(
        SymgenError, match="joint 'k' already follows another joint; keep one of the two"
    ):
        load(text)


def test_the_generated_folder_of_a_robot_from_sdf_verifies(tmp_path: Path) -> None:
    path = tmp_path / "r.sdf"
    path.write_text(
        model(*THREE, GEAR).replace(POSED, "<pose>1 2 3 0 0 0</pose>"), encoding="utf-8"
    )
    robot = load(path, mimic="couple")
    symgen.generate(robot, tmp_path / "out", functions=["mass_matrix", "inverse_dynamics"])
    assert symgen.verify(tmp_path / "out", states=1).passed


# -- comparison with other programs ----------------------------------------------------------------

TABLE = Path(__file__).parents[1] / "judges" / "sdf_files.md"


def test_the_committed_table_of_the_judges_has_every_feature() -> None:
    """`make judge` wrote the table: each error is within its bound, and unread files say why."""
    text = TABLE.read_text(encoding="utf-8")
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    rows = {line[0].removeprefix("| "): line[2:7] for line in lines}
    assert {name for name in FEATURES if "drive" not in name} <= set(rows)
    assert sum(name.startswith(("gripper/", "kuka_iiwa/")) for name in rows) == 12
    assert sum(name.startswith("cassie/") for name in rows) == 5
    judged = [[float(cell) for cell in cells if cell[0].isdigit()] for cells in rows.values()]
    assert all(error <= 1e-9 for errors in judged for error in errors)
    silent = {name for name, errors in zip(rows, judged, strict=True) if not errors}
    unknown = {
        "two hinges in a row",
        "a silent axis of 1.4",
        *(name for name in FEATURES if "gearbox" in name),
    }
    assert silent == {"file", "feature"} | unknown
    assert "FAILED" not in text


def test_drake_agrees_on_the_frame_of_an_axis_in_an_old_version() -> None:
    pytest.importorskip("pydrake")
    from tests.judges.drake_answers import Plant

    text, _, (old, new), _ = FEATURES["an axis of 1.4"]
    wrong = load(text.replace(old, new))
    states = {
        name: values.astype(float)[0] for name, values in draw_states(wrong, 1, seed=1).items()
    }
    errors = [
        abs(
            Plant(text, robot).answers(states["q"], states["v"], states["a"])["M"]
            - Reference(robot).mass_matrix(states["q"])
        )
        for robot in (load(text), wrong)
    ]
    assert errors[0].max() < 1e-12
    assert errors[1].max() > 1e-3


def test_the_committed_table_of_urdfs_is_within_its_bound() -> None:
    text = (TABLE.parent / "urdf_files.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if ".urdf | f" in line]
    assert len(rows) == 2 * (44 + 5)
    assert len([row for row in rows if row[0].startswith("robosuite")]) == 2 * 5
    assert all(float(cell) <= 1e-11 for row in rows for cell in row[3:10] if cell != "–")
    assert "FAILED" not in text

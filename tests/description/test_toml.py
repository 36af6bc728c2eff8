"""TOML: symgen's own format, the built-in robots, and the canonical description."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from symgen.description.canonical import number, to_toml
from symgen.description.loading import builtin_robots, load
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.report.show import facts, show
from symgen.support.errors import RequestError, SymgenError
from symgen.vocabulary.poses import Angle, Turn
from tests.shared.descriptions import frame_at, pose_matrix, public_urdf, public_urdfs

BUILTIN = [
    "bennett",
    "four_bar",
    "free_body",
    "panda",
    "planar_arm",
    "planar_point_mass",
    "puma560",
    "quadruped",
    "scara",
    "slider_crank",
    "spherical_pendulum",
    "stewart",
    "two_pandas_bar",
    "ur5",
]


def bare(m: Mechanism) -> Mechanism:
    return replace(m, source="", source_sha256="", notes=())


def read(folder: Path, text: str, **options: Any) -> Mechanism:
    path = folder / "r.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, **options)


def test_the_built_in_robots_are_listed_and_load() -> None:
    assert sorted(builtin_robots()) == BUILTIN
    assert all(builtin_robots().values())
    sizes = [load(name).nq for name in BUILTIN]
    assert sizes == [3, 3, 7, 7, 2, 6, 6, 19, 4, 3, 4, 25, 14, 6]
    assert load("planar_point_mass:12").nq == 12
    assert [
        w for name in BUILTIN for w in load(name).notes if w.kind == "warning" and name != "puma560"
    ] == []


@pytest.mark.parametrize(
    ("name", "file", "lock"),
    [
        ("panda", "panda.urdf", {"panda_finger_joint1": 0, "panda_finger_joint2": 0}),
        ("ur5", "ur5_robot.urdf", {}),
    ],
)
def test_panda_and_ur5_equal_their_public_urdf(name: str, file: str, lock: dict[str, int]) -> None:
    path = public_urdf(file)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    assert bare(load(name)) == bare(load(path, lock=lock))


def test_the_quadruped_is_solo12_on_a_free_base() -> None:
    path = public_urdf("solo12.urdf")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    assert bare(load("quadruped")) == replace(bare(load(path, base="free")), name="quadruped")


DH = {
    "a": (0.3, 0.2, 0.0, 0.1),
    "alpha": ("pi/2", "-0.3", "pi/2", "0"),
    "d": (0.1, -0.2, 0.3, 0.0),
    "theta": ("0.2", "pi/2", "0", "-1"),
    "type": ("revolute", "prismatic", "revolute", "revolute"),
}


def transform(axis: int, angle: float, shift: float) -> np.ndarray:
    """Return the rotation about, and shift along, x (axis 0) or z (axis 2) as a 4×4 matrix."""
    m = np.eye(4)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    m[i, i] = m[j, j] = np.cos(angle)
    m[i, j], m[j, i] = -np.sin(angle), np.sin(angle)
    m[axis, 3] = shift
    return m


@pytest.mark.parametrize("convention", ["dh", "mdh"])
def test_rows_place_frames_as_both_denavit_hartenberg_conventions_say(
    tmp_path: Path, convention: str
) -> None:
    rows = "".join(
        "[[row]]\n"
        + "".join(f"{key} = {json.dumps(values[i])}\n" for key, values in DH.items())
        + "mass = 1\ncentre = [0.1, 0.2, 0.3]\ninertia = [1, 0, 0, 1, 0, 1]\n"
        for i in range(4)
    )
    m = read(
        tmp_path,
        f'convention = "{convention}"\n{rows}\n'
        '[[frame]]\nname = "tool"\nbody = "link4"\nxyz = [0, 0, 1]\n',
    )
    q = [0.4, 0.5, -0.6, 0.7]
    total = np.eye(4)
    for i in range(4):
        alpha, theta = (
            {"pi/2": np.pi / 2}.get(DH[k][i]) or float(DH[k][i]) for k in ("alpha", "theta")
        )
        slides = DH["type"][i] == "prismatic"
        about_z = transform(
            2, theta + (0 if slides else q[i]), float(DH["d"][i]) + (q[i] if slides else 0)
        )
        along_x = transform(0, alpha, float(DH["a"][i]))
        total = total @ (about_z @ along_x if convention == "dh" else along_x @ about_z)
        np.testing.assert_allclose(frame_at(m, f"link{i + 1}", q), total, atol=1e-14)
        part = m.bodies[i].parts[0]
        to_row = np.linalg.inv(pose_matrix(m.frame(f"link{i + 1}").pose)) @ pose_matrix(part.pose)
        np.testing.assert_allclose(to_row[:3, 3], [0.1, 0.2, 0.3], atol=1e-14)
        np.testing.assert_allclose(to_row[:3, :3], np.eye(3), atol=1e-14)
    np.testing.assert_allclose(frame_at(m, "tool", q), total @ transform(2, 0, 1), atol=1e-14)
    assert bare(read(tmp_path, to_toml(m))) == bare(m)


BODIES = """
name = "two"
gravity = [0, "-9.81", 0]
[base]
name = "floor"
[[body]]
name = "arm"
parent = "floor"
mass = 2
centre = [0.5, 0, 0.25]
inertia = { xx = 1, yy = "5/2", zz = 2.75, xy = -0.5 }
about = "frame"
[body.joint]
name = "shoulder"
type = "revolute"
axis = [0, 0, 1]
xyz = [0, 0, 0.333]
rpy = ["pi/2", 0, "1.5708"]
[[body]]
name = "hand"
parent = "arm"
[body.joint]
type = "prismatic"
axis = [1, 1, 0]
steps = [
  { shift = [1, 0, 0] },
  { turn = "90 deg", axis = [0, 1, 0] },
  { slide = "1/3", axis = [0, 3, 4] },
]
[[body.part]]
mass = 0.5
[[body.part]]
link = "plate"
mass = 0.1
centre = [0, 0, 0.1]
rpy = [0.1, 0, 0]
inertia = [0.1, 0, 0, 0.1, 0, 0.1]
"""


def test_bodies_with_frames_and_parts_are_read_exactly(tmp_path: Path) -> None:
    m = read(tmp_path, BODIES)
    assert (m.name, m.base, m.gravity) == ("two", "floor", (0, Fraction(-981, 100), 0))
    arm, hand = m.bodies
    # about the frame's origin -> about the centre: Ixx - m (y² + z²), Ixy + m x y, Ixz + m x z …
    assert arm.parts[0].moments == (
        Fraction(7, 8),
        Fraction(-1, 2),
        Fraction(1, 4),
        Fraction(15, 8),
        0,
        Fraction(9, 4),
    )
    assert m.joints[1].name == "hand_joint"
    assert m.joints[1].axis == (1, 1, 0)
    assert (
        Turn((Fraction(0), Fraction(1), Fraction(0)), Angle(pi=Fraction(1, 2))) in m.joints[1].pose
    )
    assert [p.link for p in hand.parts] == ["hand", "plate"]
    assert not any(hand.parts[0].moments), "no inertia: a point mass"
    assert [note.text for note in m.notes if note.kind == "snap"] == [
        "line 6, body 'arm': joint.rpy: 1.5708 read as pi/2 (moved by 3.7e-06 rad)"
    ]
    assert bare(read(tmp_path, to_toml(m))) == bare(m)


@pytest.mark.parametrize("name", [*BUILTIN, "planar_point_mass:3"])
def test_the_canonical_description_is_the_same_mechanism(name: str, tmp_path: Path) -> None:
    m = load(name, gravity="0.1,-9.81,1/3")
    text = to_toml(m)
    again = read(tmp_path, text)
    assert bare(again) == bare(m)
    assert to_toml(again) == text
    assert again.notes == m.notes


@pytest.mark.parametrize("path", public_urdfs()[::6], ids=lambda p: p.stem)
@pytest.mark.parametrize("snap", [None, "off"])
def test_the_canonical_description_of_a_public_urdf_is_the_same_mechanism(
    path: Path, snap: str | None, tmp_path: Path
) -> None:
    try:
        m = load(path, snap=snap)
    except SymgenError:
        pytest.skip("no mechanism")
    assert replace(read(tmp_path, to_toml(m)), source_sha256=m.source_sha256) == m


def test_a_generated_folder_is_read_by_its_manifest(tmp_path: Path) -> None:
    m = load("ur5", lock={"wrist_3_joint": "0.25"})
    (tmp_path / "arm.toml").write_text(to_toml(m), encoding="utf-8")
    with pytest.raises(SymgenError, match="without a manifest"):
        load(tmp_path)
    (tmp_path / "manifest.json").write_text('{"robot": "arm"}')
    assert bare(load(tmp_path)) == bare(m)
    assert load(str(tmp_path)).source_sha256 == m.source_sha256


def test_a_bare_number_keeps_its_value_in_a_reader_with_doubles() -> None:
    """A number whose digits a double may lose is in quotes."""
    random = Random(1)
    values = [Fraction(10**sys.float_info.dig - 1), Fraction(2**53 + 1)]
    for digits in range(1, 20):
        values += [
            Fraction(random.randrange(1, 10**digits), 10**decimal_places)
            for decimal_places in (0, 3, digits)
        ]
    texts = [number(value) for value in values]
    bare = [text for text in texts if not text.startswith('"')]
    assert 20 < len(bare) < len(texts)
    for text in bare:
        assert Decimal(repr(float(text))) == Decimal(text)
    assert number(Fraction(10**sys.float_info.dig - 1)) in bare
    assert [Fraction(text.strip('"')) for text in texts] == values


def test_only_joints_that_move_have_a_drive() -> None:
    def arm(kind: str) -> str:
        return (
            'name = "arm"\n'
            '[[body]]\nname = "link"\nparent = "base"\nmass = 1\ncentre = [0.1, 0, 0]\n'
            'joint = { name = "hinge", type = "revolute", axis = [0, 0, 1] }\n'
            '[[body]]\nname = "tool"\nparent = "link"\nmass = 1\ncentre = [0.1, 0, 0]\n'
            f'joint = {{ name = "wrist", type = "{kind}", axis = [0, 0, 1], damping = "0.5" }}\n'
        )

    assert load(arm("revolute")).joints[1].drive.damping == Fraction(1, 2)
    with pytest.raises(SymgenError, match="joint: the key 'damping' is not known here"):
        load(arm("fixed"))


def test_names_may_look_like_integers(tmp_path: Path) -> None:
    """Numerals in keys, strings and comments are not read as numbers."""
    path = tmp_path / "r.toml"
    path.write_text(
        'name = "0x2"   # 1_0\n[[body]]\nname = "0x3"\nparent = "base"\nmass = 1\n'
        'joint = { name = "1_0", type = "revolute", axis = [0, 0, 1],'
        " unapplied = { 0x1 = 2, 2_0 = 3 } }\n"
    )
    mechanism = load(path)
    assert (mechanism.name, mechanism.joints[0].name, mechanism.bodies[0].name) == (
        "0x2",
        "1_0",
        "0x3",
    )
    assert mechanism.joints[0].unapplied == (("0x1", 2), ("2_0", 3))


def test_faulty_gravity_mimic_and_sizes_are_refused() -> None:
    assert load("panda", gravity=(0, 0, "-1.62")).gravity == (0, 0, Fraction(-162, 100))
    for wrong in ("1,2", "1,2,x", (0, 0, float("nan"))):
        with pytest.raises(RequestError, match="gravity"):
            load("panda", gravity=wrong)
    with pytest.raises(RequestError, match="mimic"):
        load("panda", mimic="apply")
    for wrong in (
        "planar_point_mass:0",
        "planar_point_mass:x",
        "planar_point_mass:99999999",
        "panda:3",
        "planar_point_mass:-1",
    ):
        with pytest.raises(RequestError):
            load(wrong)


@pytest.mark.parametrize("name", BUILTIN)
def test_show_fits_a_page_and_facts_are_json(name: str) -> None:
    m = load(name)
    text = show(m)
    assert max(len(line) for line in text.splitlines()) <= 100
    assert all(joint.name in text for joint in m.joints)
    facts_again = json.loads(json.dumps(facts(m)))
    assert facts_again["nq"] == m.nq
    assert [j["name"] for j in facts_again["joints"]] == [j.name for j in m.joints]


def test_reading_needs_neither_sympy_nor_numpy() -> None:
    code = (
        "import sys, symgen; symgen.load('panda'); print([m for m in ('sympy', 'numpy', 'flint') if"
        " m in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )

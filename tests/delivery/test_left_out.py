"""Texts of a generated folder: omissions, conventions, the command, and escaped names."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from symgen.cli import main
from symgen.delivery.omissions import omissions
from symgen.description.canonical import to_toml
from symgen.description.loading import load
from symgen.emission.markdown import cell, code, prose
from tests.shared.folder_content import content

URDF = """<robot name="three">
<link name="world"/>
<link name="stand"><inertial><mass value="7"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="foot" type="fixed"><parent link="world"/><child link="stand"/></joint>
{links}
<link name="tool"/>
<joint name="mount" type="fixed"><parent link="l3"/><child link="tool"/>
  <origin xyz="0.1 0 0"/></joint>
<joint name="j0" type="revolute"><parent link="stand"/><child link="l0"/>
  <axis xyz="0 0 1"/><origin rpy="0 1.5708 0"/>
  <limit lower="-1" upper="1" velocity="2" effort="3"/>
  <dynamics damping="0.25" friction="0.5"/></joint>
<joint name="j1" type="revolute"><parent link="l0"/><child link="l1"/>
  <axis xyz="0 1 0"/><origin xyz="0.3 0 0"/>
  <limit lower="-1" upper="1" velocity="2" effort="3"/></joint>
<joint name="j4" type="revolute"><parent link="l2"/><child link="l4"/><axis xyz="0 1 0"/>
  <mimic joint="j0" multiplier="-2" offset="0.1"/></joint>
<joint name="j2" type="continuous"><parent link="l1"/><child link="l2"/>
  <axis xyz="0 0 1"/><origin xyz="0.3 0 0"/></joint>
<joint name="j3" type="prismatic"><parent link="l2"/><child link="l3"/><axis xyz="0 0 1"/></joint>
<transmission name="t"><joint name="j2"/>
  <actuator name="m"><mechanicalReduction>100</mechanicalReduction>
  <motorInertia>0.001</motorInertia></actuator></transmission>
</robot>"""
LINKS = "".join(
    f'<link name="l{i}"><inertial><origin xyz="0.1 0.02 0"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>\n'
    for i in range(5)
)
NAMES = (
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "a|b",
    "`` ` ``",
    "*bold* _em_",
    "]]-->",
    "www.x.y",
    "http://x.y",
    "plain_name_1",
)


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    path = tmp_path / "three.urdf"
    path.write_text(URDF.format(links=LINKS), encoding="utf-8")
    return path


def test_every_declaration_that_the_c_omits_is_listed(urdf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert (
        main(["generate", str(urdf), "-o", str(folder), "--lock", "j3=0.1", "-f", "mass_matrix"])
        == 0
    )
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    omissions_by_kind = {entry["kind"]: entry for entry in manifest["not_modelled"]}
    assert omissions_by_kind["damping"]["joints"] == {"j0": 0.25}
    assert omissions_by_kind["friction"]["joints"] == {"j0": 0.5}
    assert omissions_by_kind["gear ratio"]["joints"] == {"j2": 100.0}
    assert omissions_by_kind["rotor inertia"]["joints"] == {"j2": 0.001}
    assert omissions_by_kind["mimic"]["joints"] == {
        "j4": {"joint": "j0", "multiplier": -2.0, "offset": 0.1}
    }
    assert omissions_by_kind["limits"]["joints"]["j0"] == {
        "lower": -1.0,
        "upper": 1.0,
        "velocity": 2.0,
        "effort": 3.0,
    }
    assert "j3 locked at 0.1 m" in omissions_by_kind["locked"]["text"]
    assert "1.5708" in omissions_by_kind["snapped"]["text"]
    assert "the base world is fixed in the world" in omissions_by_kind["fixed base"]["text"]
    assert "7 kg" in omissions_by_kind["fixed base"]["text"]
    assert "inverse_dynamics" in omissions_by_kind["functions"]["functions"]
    assert "mass_matrix" not in omissions_by_kind["functions"]["functions"]
    readme = (folder / "README.md").read_text(encoding="utf-8")
    bullets = re.findall(
        r"^- \*\*(.+?)\*\*: (.+)$", readme.partition("## What is left out")[2], re.M
    )
    assert bullets == [
        (prose(entry["kind"]), prose(entry["text"])) for entry in manifest["not_modelled"]
    ]
    again = load(folder)  # the canonical description contains everything that was read
    assert omissions(again) == [
        entry for entry in manifest["not_modelled"] if entry["kind"] != "functions"
    ]
    assert to_toml(again) == (folder / "three.toml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_printed_command_generates_the_same_bytes(
    urdf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "first"
    options = (
        "--real float --frame l2 --payload l3 --wrench tool --trig inline --checked --wrap cpp17"
        " --name my_arm --target cortex-m4f --no-evidence --lock j3=0.1 --gravity 0,1,-9.8 -f"
        " bias_force -f mass_matrix_solve=udut -f jacobian"
    )
    assert main(["generate", str(urdf), "-o", str(folder), *options.split()]) == 0
    command = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["command"]
    assert str(tmp_path) not in command
    readme = (folder / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"```sh\n(symgen generate .*?)\n```", readme, re.S)
    assert [shlex.split(text.replace("\\\n", "")) for text in shown] == [shlex.split(command)]
    monkeypatch.chdir(folder)
    assert main(shlex.split(command)[1:]) == 0
    assert content(tmp_path / "my_arm-again") == content(folder)


def test_a_changed_canonical_description_has_another_hash(urdf: Path, tmp_path: Path) -> None:
    first = load(urdf)
    path = tmp_path / "canonical.toml"
    path.write_text(to_toml(first), encoding="utf-8")
    assert load(path) == first  # the source hash is kept, too
    assert load(path, lock={"j3": "0.1"}).source_sha256 != first.source_sha256
    path.write_text(to_toml(first).replace("mass = 2", "mass = 3", 1), encoding="utf-8")
    assert load(path).source_sha256 != first.source_sha256


@pytest.mark.parametrize("name", NAMES)
def test_a_name_cannot_inject_markdown(name: str) -> None:
    for written, wraps in ((code(name), code), (cell(name), cell)):
        fence = re.match("`+", written)
        assert fence is not None
        assert written.endswith(fence[0])
        assert fence[0] not in written[len(fence[0]) : -len(fence[0])]
        assert wraps is code or "|" not in written.replace("\\|", "")
    bare = re.sub(r"\\[^a-zA-Z0-9\s]", "", prose(name))  # the text without escapes
    assert not re.search(r"[<>`*\[\]|&]|://|www\.", bare)
    assert not re.search(r"(?<![^\W_])_|_(?![^\W_])", bare)
    assert prose("plain_name_1") == "plain_name_1"


def test_names_cannot_inject_text_into_readme_and_comments(tmp_path: Path) -> None:
    text = URDF.format(links=LINKS)
    for old, new in (
        ("j0", "&lt;script&gt;"),
        ("l1", "[x](javascript:y)"),
        ("tool", "a|b `c` */ tool"),
    ):
        text = text.replace(f'"{old}"', f'"{new}"')
    folder = tmp_path / "odd"
    robot = load(text) if "<robot" in text else None
    assert robot is not None
    from symgen import generate

    generate(robot, folder, ["jacobian", "mass_matrix"])
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "`<script>`" in readme
    assert "`[x](javascript:y)`" in readme
    outside = re.sub(
        r"(`+)(?!`).*?(?<!`)\1(?!`)", "", re.sub(r"```.*?```", "", readme, flags=re.S), flags=re.S
    )
    assert "<script" not in outside.replace("\\<", "")
    assert "](javascript" not in re.sub(r"\\.", "", outside)
    for path in folder.glob("*.[ch]"):
        for comment in re.findall(r"/\*.*?\*/", path.read_text(encoding="ascii"), re.S):
            assert "*/" not in comment[:-2]
    assert "the frame: a|b `c` * / tool" in (folder / "three.h").read_text(encoding="ascii")


def test_header_and_readme_state_frame_order_and_notation(urdf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert (
        main(
            [
                "generate",
                str(urdf),
                "-o",
                str(folder),
                "-f",
                "jacobian",
                "-f",
                "interbody_forces=riccati",
                "-f",
                "mass_matrix=composite_body",
                "--wrench",
                "l1",
            ]
        )
        == 0
    )
    header, readme = (
        " ".join((folder / name).read_text(encoding="utf-8").replace("\n * ", " ").split())
        for name in ("three.h", "README.md")
    )
    for text in (header, readme):
        [listed] = re.findall(r"six \((\w+, \w+, \w+)\)|These are (\w+, \w+, \w+)\.", text)
        assert set("".join(listed).split(", ")) == {"wrench", "F", "J"}
        assert re.search("angular part (before|first, then) the linear part", text)
        assert "Pinocchio has the linear part first" in text
        assert "RK: G. Rodriguez, K. Kreutz" in text
        assert "SA: S. K. Saha" in text
        assert "LC:" not in text
        assert "count from 1" in text
        assert "neg_x" in text
    assert "the frame: tool" in header
    assert "`jacobian` refers to the frame `tool`." in readme
    source = (folder / "three_jacobian.c").read_text(encoding="utf-8")
    assert "The frame: tool." in source
    assert "three.h explains the names" in source

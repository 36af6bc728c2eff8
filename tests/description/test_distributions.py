"""Robots of installed Python packages: lookup of files by name, and messages for unknown names."""

from __future__ import annotations

from pathlib import Path

import pytest

import symgen
from symgen.cli import main
from symgen.description.loading import in_distribution
from symgen.support.errors import ArgumentError, UnknownName

FIELD = "example-robot-data"
ROBOT = """<robot name="r"><link name="a"/>
<link name="b"><inertial><mass value="{mass}"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an installed Python package with three robots, two of which have the same name."""
    names = (
        "arms/left/arm.urdf",
        "arms/right/arm.urdf",
        "arms/left/hand.sdf",
        "arms/notes.toml",
        "arms/table.csv",
    )
    for mass, name in enumerate(names, start=1):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(ROBOT.format(mass=mass))
    metadata = tmp_path / "some_arms-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: some-arms\nVersion: 1.0\n")
    (metadata / "RECORD").write_text("".join(f"{name},,\n" for name in names))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_robot_name_selects_a_file_of_the_package() -> None:
    robot = symgen.load("ur5_robot", distribution=FIELD)
    assert robot.source == "ur5_robot.urdf"
    assert len(robot.joints) == 6
    assert symgen.load("urdf/panda.urdf", distribution=FIELD) == symgen.load(
        "urdf/panda", distribution="example_robot_data"
    )


def test_folder_names_distinguish_files_of_the_same_name(package: Path) -> None:
    assert [
        float(symgen.load(f"{side}/arm", distribution="some-arms").mass)
        for side in ("left", "right")
    ] == [1, 2]
    with pytest.raises(
        ArgumentError, match=r"holds 2 files 'arm'; give one of left/arm\.urdf, right/arm\.urdf$"
    ):
        symgen.load("arm", distribution="some-arms")
    assert in_distribution("hand", "some-arms", [".sdf"]) == package / "arms/left/hand.sdf"


@pytest.mark.parametrize(
    ("name", "distribution", "sentence"),
    [
        ("hnd", "some-arms", "package 'some-arms' holds no robot 'hnd'; did you mean 'hand'?"),
        ("notes", "some-arms", "package 'some-arms' holds no robot 'notes'; there are: arm, hand"),
        (
            "table.csv",
            "some-arms",
            "package 'some-arms' holds no robot 'table.csv'; there are: arm, hand",
        ),
        ("rm", "some-arms", "package 'some-arms' holds no robot 'rm'; did you mean 'arm'?"),
        ("", "some-arms", "package 'some-arms' holds no robot ''; there are: arm, hand"),
        (
            "arm",
            "no-arms",
            "the package 'no-arms' is not installed in this Python;"
            " install it, or give the path of the file",
        ),
        (
            "arm",
            "",
            "the package '' is not installed in this Python;"
            " install it, or give the path of the file",
        ),
        (
            "arm",
            "pytest",
            "package 'pytest' holds no robot files;"
            " if it downloads them on demand, give the path that it reports",
        ),
    ],
)
@pytest.mark.usefixtures("package")
def test_an_unknown_package_or_robot_is_refused_in_one_sentence(
    name: str, distribution: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ArgumentError if "no robot files" in sentence else UnknownName) as raised:
        symgen.load(name, distribution=distribution)
    assert str(raised.value) == sentence
    assert main(["show", name, "--from", distribution]) == 2
    assert capsys.readouterr().err == f"symgen: {sentence}\n"


def test_a_description_text_with_a_package_is_refused() -> None:
    with pytest.raises(ArgumentError, match="not a description; leave distribution out"):
        symgen.load(ROBOT.format(mass=1), distribution=FIELD)

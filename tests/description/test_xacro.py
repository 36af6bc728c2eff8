"""xacro: macros are expanded in a separate process and read as URDF; faults are one sentence."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.description.parsing import macros, xacro_program
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError, DescriptionError

pytest.importorskip("xacro")
ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  <xacro:property name="length" value="${1/4}"/>
  <xacro:include filename="$(find parts)/rod.xacro"/>
  <link name="base"/>
  <xacro:rod name="one" on="base"/>
  <xacro:rod name="two" on="one"/>
  <link name="tool">
    <visual><geometry><mesh filename="$(find parts)/tool.stl"/></geometry></visual></link>
  <joint name="seat" type="fixed"><parent link="two"/><child link="tool"/>
    <origin rpy="0 ${pi/2} 0"/></joint>
</robot>
"""
ROD = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="rod" params="name on">
    <link name="${name}"><inertial><origin xyz="${length/2} 0 0"/><mass value="$(arg mass)"/>
      <inertia ixx="0.5" ixy="0" ixz="0" iyy="0.5" iyz="0" izz="0.5"/></inertial></link>
    <joint name="to_${name}" type="revolute"><parent link="${on}"/><child link="${name}"/>
      <origin xyz="${length} 0 0"/><axis xyz="0 1 0"/>
      <limit lower="-${pi}" upper="${pi}" velocity="1" effort="1"/></joint>
  </xacro:macro>
</robot>
"""
PLAIN = """<robot name="arm"><link name="base"/>
{rods}
  <link name="tool"/>
  <joint name="seat" type="fixed"><parent link="two"/><child link="tool"/>
    <origin rpy="0 1.5707963267948966 0"/></joint>
</robot>
"""
HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'


def expanded_urdf(mass: str) -> str:
    """Return the URDF of the arm with its macros expanded by hand."""
    rods = [
        ROD.partition('on">\n')[2]
        .partition("  </xacro")[0]
        .replace("${name}", name)
        .replace("${on}", on)
        .replace("$(arg mass)", mass)
        .replace("${length/2}", "0.125")
        .replace("${length}", "0.25")
        .replace("${pi}", "3.141592653589793")
        for name, on in (("one", "base"), ("two", "one"))
    ]
    return PLAIN.format(rods="".join(rods))


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the arm's xacro file and the folder `elsewhere/parts` with the file it includes."""
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "elsewhere/parts").mkdir(parents=True)
    (tmp_path / "elsewhere/parts/rod.xacro").write_text(ROD)
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(ARM)
    return path


def declared(mechanism: Mechanism) -> tuple[Any, ...]:
    return mechanism.name, mechanism.joints, mechanism.bodies, mechanism.frames


def package(arm: Path) -> dict[str, str]:
    return {"parts": str(arm.parent / "elsewhere/parts")}


def refused(path: Path, message: str, **options: Any) -> str:
    with pytest.raises(DescriptionError) as caught:
        symgen.load(path, **options)
    sentence = str(caught.value)
    assert message in sentence, sentence
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(("arguments", "mass"), [({}, "2"), ({"mass": "0.75"}, "0.75")])
def test_macros_give_the_same_robot_as_their_expansion_by_hand(
    arm: Path, arguments: dict[str, str], mass: str
) -> None:
    mechanism = symgen.load(arm, packages=package(arm), xacro=arguments)
    assert declared(mechanism) == declared(symgen.load(expanded_urdf(mass)))
    assert mechanism.bodies[0].mass == Fraction(mass)
    assert any(note.kind == "snap" for note in mechanism.notes)


def test_macros_in_a_urdf_are_expanded(arm: Path, tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    assert declared(symgen.load(path, packages=package(arm))) == declared(
        symgen.load(expanded_urdf("2"))
    )
    inside = (
        expanded_urdf("2")
        .replace('value="2"', 'value="${1+1}"')
        .replace("<robot", '<robot xmlns:xacro="x"')
    )
    assert declared(symgen.load(inside)) == declared(symgen.load(expanded_urdf("2")))
    assert len(symgen.load(inside).notes) == len(
        symgen.load(expanded_urdf("2")).notes
    )  # notes of the first attempt to read are discarded


def test_packages_are_searched_in_the_order_of_ros(
    arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(
        arm, "xacro: the ROS package 'parts' is not found; name its folder: --package parts=FOLDER"
    )
    heavy = tmp_path / "prefix/share/parts"
    heavy.mkdir(parents=True)
    (heavy / "rod.xacro").write_text(ROD.replace("$(arg mass)", "9"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    assert symgen.load(arm).bodies[0].mass == 9
    named = tmp_path / "source/deep/some folder"
    named.mkdir(parents=True)
    (named / "package.xml").write_text("<package><name> parts </name></package>")
    (named / "rod.xacro").write_text(ROD.replace("$(arg mass)", "8"))
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'nowhere'}:{tmp_path / 'source'}")
    assert symgen.load(arm).bodies[0].mass == 8
    assert symgen.load(arm, packages=package(arm)).bodies[0].mass == 2


def test_the_package_that_contains_the_file_is_found(arm: Path) -> None:
    inner = arm.parent / "elsewhere/parts/urdf/arm.xacro"
    inner.parent.mkdir()
    inner.write_text(ARM)
    assert symgen.load(inner).bodies[0].mass == 2


def test_the_hash_is_that_of_the_expanded_text(arm: Path, tmp_path: Path) -> None:
    """An argument or an included file changes the hash; the folder of the files does not."""
    first = symgen.load(arm, packages=package(arm)).source_sha256
    assert first != hashlib.sha256(arm.read_bytes()).hexdigest()
    assert symgen.load(arm, packages=package(arm), xacro={"mass": "3"}).source_sha256 != first
    moved_folder = tmp_path / "moved"
    moved_folder.mkdir()
    (moved_folder / "rod.xacro").write_text(ROD)
    assert symgen.load(arm, packages={"parts": moved_folder}).source_sha256 == first
    (moved_folder / "rod.xacro").write_text(ROD.replace("0.5", "0.25"))
    assert symgen.load(arm, packages={"parts": moved_folder}).source_sha256 != first


def test_unused_arguments_and_packages_are_refused(arm: Path) -> None:
    refused(
        arm,
        "its macros use no argument 'mas'; did you mean 'mass'?",
        xacro={"mas": "1"},
        packages=package(arm),
    )
    with pytest.raises(ArgumentError, match="has no meaning for a file such as"):
        symgen.load(expanded_urdf("1"), xacro={"mass": "1"})
    with pytest.raises(ArgumentError, match="has no meaning for a file such as"):
        symgen.load(expanded_urdf("1"), packages={"parts": "."})


FAULTS = {
    "a name that nobody gave": (
        '<link name="${nome}"/>',
        "r.xacro:2: xacro: name 'nome' is not defined when evaluating",
    ),
    "an argument without a value": (
        '<link name="$(arg nome)"/>',
        "its argument 'nome' has no value; give one: --xacro nome:=",
    ),
    "a macro that is none": (
        "\n<xacro:rod/>",
        "r.xacro:3: xacro: unknown macro name: xacro:rod; correct the macros",
    ),
    "a file that is not there": (
        '<xacro:include filename="no.xacro"/>',
        "No such file or directory",
    ),
    "a prefix that nobody declared": (
        "<y:link name='a'/>",
        "r.xacro:2: xacro: not well-formed XML: unbound prefix; declare",
    ),
    "an expression that is none": ('<link name="${1 +}"/>', "invalid syntax"),
    "a name of Python's": ('<link name="${().__class__}"/>', "Use of invalid name(s)"),
    "an error of its own": ("${xacro.fatal('no hands')}", "xacro: no hands"),
    "macros without end": (
        '<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>',
        "without end",
    ),
    "a number beyond its type": ('<link name="${2.0**9999}"/>', "out of range"),
    "no robot": ("<link/>", "r.xacro (expanded):3: link: the attribute 'name' is missing"),
    "no XML": ("<link>", "r.xacro:3: not well-formed XML"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_faulty_macro_is_refused_in_one_sentence(
    case: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.xacro"
    path.write_text(f"{HEAD}{FAULTS[case][0]}\n</robot>")
    assert str(tmp_path) in refused(path, FAULTS[case][1])
    assert capfd.readouterr() == ("", "")


def test_a_fault_in_an_included_file_names_that_file(arm: Path) -> None:
    (arm.parent / "elsewhere/parts/rod.xacro").write_text(
        ROD.replace("${length} 0", "${length +} 0")
    )
    refused(
        arm,
        "parts/rod.xacro:6: xacro: invalid syntax when evaluating expression 'length +'",
        packages=package(arm),
    )
    (arm.parent / "elsewhere/parts/rod.xacro").write_text("<robot>\n<a>")
    refused(
        arm,
        "parts/rod.xacro:2: xacro: not well-formed XML: no element found",
        packages=package(arm),
    )


@pytest.mark.slow
def test_endless_macros_and_macros_that_fill_the_memory_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.xacro"
    path.write_text(f'{HEAD}<link name="${{len(list(map(str, [0] * 10**12)))}}"/></robot>')
    refused(path, "xacro: ")
    monkeypatch.setattr(macros, "SECONDS", 0.5)
    path.write_text(
        f'{HEAD}<link name="${{max(python.filter(None, python.range(10**12)))}}'
        '${9**9**9}"/></robot>'
    )
    refused(path, "its macros take more than 0.5 s")


def test_a_warning_of_the_xacro_package_becomes_a_note(tmp_path: Path) -> None:
    path = tmp_path / "r.xacro"
    path.write_text(
        expanded_urdf("1")
        .replace("<robot", '<robot xmlns:xacro="x"')
        .replace('<link name="base"/>', '<xacro:property name="pi" value="3"/><link name="base"/>')
    )
    assert "xacro: redefining global symbol: pi" in [note.text for note in symgen.load(path).notes]


def test_without_the_xacro_package_the_message_names_the_remedy(
    arm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(macros, "available", lambda: False)
    refused(
        arm,
        f"it contains xacro macros, which must be expanded first; run: xacro {arm} -o"
        " arm.expanded.urdf, or pip install 'symgen[xacro]'",
    )
    assert not hasattr(xacro_program, "xacro")  # only the separate process imports xacro


def test_the_line_of_an_expression_counts_from_the_first_line() -> None:
    """A line break at the very start counts too; a piece that occurs twice has no line."""
    assert xacro_program._line("b", None, "\nb\n") == 2
    assert xacro_program._line("b", None, "b") == 1
    assert xacro_program._line("b", None, "b\nb") is None

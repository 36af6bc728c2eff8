"""CSV of rows or bodies: the same robot as in TOML; every fault names its line and column."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.description.readers import comma, toml
from symgen.description.snapping import Snapper
from symgen.description.tree import Tree
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import Angle

ROWS = """# name: arm
# a comment, and one with a colon: here
# Convention: MDH
# gravity: 0, 1/3, -9.81
# base: ground

name, a, alpha, d, theta, type, mass, cx, cz, ixx, iyy, izz, ixy, lower, upper, armature, \
mimic, multiplier, screw_pitch
one, 0.5, pi/2, 0.1, 90 deg,, 1, 0.1, , 1, 1, 1, 0.1, -1, 1, 0.25,,,
"two", 1/3, 1.5707963267948966, , ,prismatic,2,,-0.1,,,,,,,,one,1/2,
# in between
three,,,,,helical,1,,,1,1,1,,,,,,,0.25
"""
ROWS_TOML = """name = "arm"
convention = "mdh"
gravity = [0, "1/3", "-9.81"]
base = { name = "ground" }
[[row]]
name = "one"
a = 0.5
alpha = "pi/2"
d = 0.1
theta = "90 deg"
mass = 1
centre = [0.1, 0, 0]
inertia = { xx = 1, yy = 1, zz = 1, xy = 0.1 }
limits = { lower = -1, upper = 1 }
armature = 0.25
[[row]]
name = "two"
a = "1/3"
alpha = 1.5707963267948966
type = "prismatic"
mass = 2
centre = [0, 0, -0.1]
mimic = { joint = "joint1", multiplier = "1/2" }
[[row]]
name = "three"
type = "helical"
mass = 1
inertia = [1, 0, 0, 1, 0, 1]
pitch = 0.25
"""
BODIES = """# snap: off
name,parent,joint,type,x,y,z,roll,pitch,yaw,qw,qx,qy,qz,axis_x,axis_y,axis_z,mass,cx,ixx,iyy,izz
a,base,j,revolute,1,2,3,pi/2,,0.1,,,,,0,1,,1,0.5,1,1,1
b,a,,fixed,0,0,1,,,,1,2,3,4,,,,2,,,,
c,b,k,spherical,,,,,,,1,1,0,0,,,,1,,1,1,1
"""
BODIES_TOML = """snap = "off"
[[body]]
name = "a"
parent = "base"
joint = { name = "j", type = "revolute", axis = [0, 1, 0], xyz = [1, 2, 3], rpy = ["pi/2", 0, 0.1] }
mass = 1
centre = [0.5, 0, 0]
inertia = [1, 0, 0, 1, 0, 1]
[[body]]
name = "b"
parent = "a"
joint = { type = "fixed", steps = [{ shift = [0, 0, 1] }, { quaternion = [1, 2, 3, 4] }] }
mass = 2
[[body]]
name = "c"
parent = "b"
joint = { name = "k", type = "spherical", steps = [{ quaternion = [1, 1, 0, 0] }] }
mass = 1
inertia = [1, 0, 0, 1, 0, 1]
"""


def load(tmp_path: Path, text: str | bytes, **options: Any) -> symgen.Mechanism:
    path = tmp_path / "r.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return symgen.load(path, **options)


def plain_names(text: str) -> str:
    return text.replace("MDH", "mdh").replace(",one,1/2,", ",joint1,1/2,")


@pytest.mark.parametrize(
    ("text", "toml"),
    [(plain_names(ROWS), ROWS_TOML), (BODIES, BODIES_TOML)],
    ids=["rows", "bodies"],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_csv_and_toml_declare_the_same_robot(
    text: str, toml: str, end: str, tmp_path: Path
) -> None:
    from_csv = load(tmp_path, "\ufeff" + text.replace("\n", end))
    (tmp_path / "r.toml").write_text(toml)
    assert from_csv.content == symgen.load(tmp_path / "r.toml").content
    noticed = [
        note.text.rpartition("]: ")[2].rpartition("': ")[2]
        for note in symgen.load(tmp_path / "r.toml").notes
    ]
    assert [
        note.text.rpartition("]: ")[2].rpartition("': ")[2] for note in from_csv.notes
    ] == noticed


def test_columns_may_have_any_order_and_rows_may_be_repeated(tmp_path: Path) -> None:
    repeated = load(
        tmp_path, "# convention: dh\nd,mass,alpha,a,repeat,name\n0.1,1,pi/2,0.5,3,rod\n"
    )
    assert (
        repeated.content
        == load(
            tmp_path,
            "# convention: dh\nname,a,alpha,d,mass\n"
            + "".join(f"rod{k},0.5,pi/2,0.1,1\n" for k in (1, 2, 3)),
        ).content
    )


HEAD = "# convention: dh\nname,a,alpha,mass,cx,lower\n"
FAULTS = {
    "an unknown column": (
        HEAD.replace("alpha", "alfa"),
        "r.csv:2: the column 'alfa' is not known; did you mean 'a",
    ),
    "a column of bodies": (
        HEAD.replace("cx", "axis_x"),
        "r.csv:2: the column 'axis_x' is not known",
    ),
    "a column with a unit": (
        HEAD.replace("alpha", "alpha [deg]"),
        "r.csv:2: the column 'alpha_[deg]' is not known; did you",
    ),
    "a column twice": (
        HEAD.replace("cx", "mass"),
        "r.csv:2: the column 'mass' appears twice; keep one of the two",
    ),
    "a cell too many": (
        HEAD + "x,1,2,3,4,5,6\n",
        "r.csv:3: it has 7 cells, but the header has 6; write one cell",
    ),
    "a cell too few": (HEAD + "\nx,1,2,3,4\n", "r.csv:4: it has 5 cells, but the header has 6"),
    "no number": (
        HEAD + "x,1,2,3,4,5\ny,1,2,heavy,4,5\n",
        "r.csv:4: column 'mass': 'heavy' is not a number; write",
    ),
    "no number in a vector": (
        HEAD + "x,1,2,3,4e,5\n",
        "r.csv:3: column 'cx': '4e' is not a number",
    ),
    "no angle": (
        HEAD + "x,1,90°,3,4,5\n",
        "r.csv:3: column 'alpha': '90°' is not an angle; write a decimal in rad",
    ),
    "not finite": (HEAD + "x,1,0,nan,4,5\n", "r.csv:3: column 'mass': 'nan' is not a number"),
    "a decimal comma": (HEAD + 'x,"0,5",0,1,4,5\n', "r.csv:3: column 'a': '0,5' is not a number"),
    "no mass": (HEAD + "x,1,2,,4,5\n", "r.csv:3: row 'x': the key 'mass' is missing"),
    "no convention": (
        HEAD.partition("\n")[2] + "x,1,2,3,4,5\n",
        "r.csv: it has rows but no convention; write '# conv",
    ),
    "another convention": (
        HEAD.replace("dh", "khalil") + "x,1,2,3,4,5\n",
        "'khalil' is not known; write one of: dh, mdh",
    ),
    "a word that is nearly one": (
        "# convetion: dh\n" + HEAD,
        "r.csv:1: 'convetion' is not known; did you mean '# conv",
    ),
    "a word twice": ("# convention: dh\n" + HEAD, "r.csv:2: '# convention' appears twice"),
    "gravity of two": (
        "# gravity: 0 1\n" + HEAD,
        "gravity: '['0', '1']' is not an array of 3 numbers",
    ),
    "no header": ("# name: x\n", "r.csv: it has no header; write a line that names the columns"),
    "nothing below": (HEAD, "no joint moves"),
    "quotation marks": (HEAD + 'x,"1,2,3,4,5\n', "r.csv:3: its quotation marks do not match"),
    "another separator": (
        "# convention: dh\nname;a;alpha;mass\nx;1;2;3\n",
        "its columns are separated by ';'; save the file",
    ),
    "a decimal comma in a spreadsheet": (
        "name;a;alpha;d;theta;mass\nl1;0,4;0;0;0;1,5\n",
        "r.csv:1: its columns are separated by ';' and its decimals by ','; save the file with "
        "',' between columns and '.' in decimals",
    ),
    "tabs": (
        "name\tparent\tmass\nb\tbase\t1\n",
        "r.csv:1: its columns are separated by tabs; save the file with ','",
    ),
    "no text": (b"\xff\xfe\x00", "r.csv: byte 0 is not UTF-8 text; save the file as UTF-8"),
    "no parent": (
        "name,parent,type,axis_x\nb,c,revolute,1\n",
        "r.csv:2: body 'b': joint: its parent link 'c' is not declared",
    ),
    "no type": (
        "name,parent,axis_x\nb,base,1\n",
        "r.csv:2: body 'b': joint: the key 'type' is missing",
    ),
    "half of the moments": (
        "name,parent,type,mass,ixx\nb,base,free,1,2\n",
        "r.csv:2: body 'b': inertia: the key 'yy' is",
    ),
    "an odd repeat": (
        "# convention: dh\na,repeat\n1,1e3\n",
        "r.csv:3: row[0]: repeat: '1e3' is not a count",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_refused_with_line_and_column(case: str, tmp_path: Path) -> None:
    text, message = FAULTS[case]
    with pytest.raises(DescriptionError) as caught:
        load(tmp_path, text)
    assert message in str(caught.value), str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


# -- sheets without files --------------------------------------------------------------------------

SHEET = "# convention: dh\nname, a, mass\nx, 1, 2\n"


def sheet(text: str) -> Tree:
    return comma.read(text.encode(), "r.csv", Snapper())


def csv_refusal(text: str) -> str:
    with pytest.raises(DescriptionError) as caught:
        sheet(text)
    return str(caught.value)


def test_a_misspelt_key_is_refused_in_the_first_hundred_lines() -> None:
    comment = "# nothing\n"
    misspelt = "# conventoin: mdh\n"
    message = "'conventoin' is not known; did you mean '# convention: …'?"
    assert message in csv_refusal(misspelt + SHEET)
    assert message in csv_refusal(comment * 99 + misspelt + SHEET)
    assert sheet(comment * 100 + misspelt + SHEET).links[1].name == "x"
    assert sheet("# remark: a colon\n" + SHEET).links[1].name == "x"


def test_keys_of_a_robot_are_in_comment_lines() -> None:
    keys = "# name: arm, ,\n# base: floor\n# gravity: 1, 2 3\n# snap: off\n# friction_speed: 0.5\n"
    read = sheet(keys + SHEET)
    assert (read.name, read.links[0].name) == ("arm", "floor")
    assert (read.gravity, read.friction_speed) == ((1, 2, 3), Fraction(1, 2))
    assert "'# name' appears twice; keep one of the two" in csv_refusal(
        "# name: a\n# name: b\n" + SHEET
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has no header; write a line that names the columns"),
        ("# convention: dh\n , ,\n", "it has no header"),
        ("name,a\nx,1\n", "it has rows but no convention"),
        (SHEET + "y, 1\n", "r.csv:4: it has 2 cells, but the header has 3"),
        (SHEET + 'y, "1, 2\n', "r.csv:4: its quotation marks do not match"),
        (SHEET + "y, q, 2\n", "r.csv:4: column 'a': 'q' is not a number"),
        (
            "# convention: dh\nname, a, alph\n",
            "the column 'alph' is not known; did you mean 'alpha'?",
        ),
        ("# convention: dh\nname, a, wheel\n", "the column 'wheel' is not known; there are: name,"),
        ("name, mass, mass\n", "the column 'mass' appears twice"),
        ("name;a;mass\nx;1;2\n", "its columns are separated by ';'; save the file with ','"),
        ("name;a;mass\nx;1,5;2\n", "its columns are separated by ';' and its decimals by ','"),
        ("name\ta\nx\t1\n", "its columns are separated by tabs"),
        ("name|a\nx|1\n", "its columns are separated by '|'"),
        (
            "# convention: dh\nname, a, theta\nx, 1, pi/x\n",
            "column 'theta': 'pi/x' is not an angle",
        ),
    ],
)
def test_faults_of_a_sheet_are_located(text: str, message: str) -> None:
    assert message in csv_refusal(text)


def test_cells_lead_to_vectors_and_tables() -> None:
    text = (
        "name,parent,joint,type,axis_z,y,yaw,mass,cx,ixx,iyy,izz,lower,mimic,multiplier\n"
        "b,base,j,revolute,2,3,pi/2,1,4,1,2,3,-1,,\n"
        "c,b,k,revolute,1,,,,,,,,,j,5\n"
    )
    read = sheet(text)
    first, second = read.connections
    assert (first.axis, first.limits.lower, first.limits.upper) == ((0, 0, 2), -1, None)
    shift, turn = first.pose
    assert (getattr(shift, "xyz", None), getattr(turn, "angle", None)) == (
        (0, 3, 0),
        Angle(pi=Fraction(1, 2)),
    )
    (part,) = read.links[1].inertials
    assert part.moments == (1, 0, 0, 2, 0, 3)
    assert read.links[2].inertials == ()
    assert second.mimic is not None
    assert (second.mimic.joint, second.mimic.multiplier, second.mimic.offset) == ("j", 5, 0)
    quaternion = "name,parent,type,axis_x,qw,qx,z,mass\nb,base,revolute,1,3,4,5,1\n"
    shift, rotate = sheet(quaternion).connections[0].pose
    assert getattr(shift, "xyz", None) == (0, 0, 5)
    assert getattr(rotate, "quaternion", None) == (3, 4, 0, 0)


def test_files_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (comma.LARGEST, toml.LARGEST) == (50_000_000, 20_000_000)
    assert comma.LOOKED_AT == 100
    text = 'name = "r"\n'
    for module, content in ((comma, SHEET), (toml, text)):
        monkeypatch.setattr(module, "LARGEST", len(content))
        module.read(content.encode(), "r", Snapper())
        with pytest.raises(DescriptionError, match="the file is larger than 0 MB; give a robot"):
            module.read(content.encode() + b" ", "r", Snapper())
        monkeypatch.undo()
        with pytest.raises(
            DescriptionError, match="byte 2 is not UTF-8 text; save the file as UTF-8"
        ):
            module.read(b"# \xff", "r", Snapper())
        module.read(b"\xef\xbb\xbf" + content.encode(), "r", Snapper())

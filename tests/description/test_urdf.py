"""URDF: details that readers often get wrong, each on a small file, and all public files."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from symgen.description.loading import load
from symgen.description.parsing import xml
from symgen.description.readers import urdf
from symgen.mechanism.mechanism import Mechanism, Note
from symgen.support.errors import SymgenError
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Angle, Turn
from tests.shared.descriptions import INERTIAL, joint, link, public_urdfs, robot


def read(folder: Path, *elements: str, **options: Any) -> Mechanism:
    path = folder / "r.urdf"
    path.write_text(robot(*elements), encoding="utf-8")
    return load(path, **options)


def kinds(mechanism: Mechanism, kind: str) -> list[str]:
    return [note.text for note in mechanism.notes if note.kind == kind]


def test_the_absent_axis_is_x_and_the_absent_origin_is_the_identity(tmp_path: Path) -> None:
    m = read(tmp_path, link("a"), link("b"), joint("j", "a", "b"))
    assert m.joints[0].axis == X_AXIS
    assert m.joints[0].pose == ()
    assert m.base == "a"
    assert m.base_parts[0].mass == 1


def test_an_axis_is_kept_as_declared(tmp_path: Path) -> None:
    m = read(tmp_path, link("a"), link("b"), joint("j", "a", "b", inside='<axis xyz="0 3 -4e0"/>'))
    assert m.joints[0].axis == (0, 3, -4)
    assert any("no <limit>" in text for text in kinds(m, "info"))


def test_the_inertial_origin_rotates_the_moments(tmp_path: Path) -> None:
    inside = (
        '<inertial><origin xyz="0 0 1" rpy="1.5708 0 0.5"/><mass value="2.5"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial>'
    )
    part = read(tmp_path, link("a"), link("b", inside), joint("j", "a", "b")).bodies[0].parts[0]
    assert part.mass == Fraction(5, 2)
    assert part.moments == (1, Fraction(1, 10), 0, 2, 0, Fraction(5, 2))
    assert part.pose[1:] == (
        Turn(Z_AXIS, Angle(Fraction(1, 2))),
        Turn(X_AXIS, Angle(pi=Fraction(1, 2))),
    )


def test_a_missing_inertial_is_massless_and_a_massless_leaf_is_a_warning(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        link("a", ""),
        link("b", ""),
        link("c", ""),
        joint("j", "a", "b"),
        joint("k", "b", "c", "fixed", ""),
    )
    assert m.bodies[0].parts == ()
    assert kinds(m, "warning") == [
        "no moving link has mass: forward dynamics does not exist, and every force is zero"
    ]
    hands = [link("d", ""), link("e", ""), joint("k", "b", "d"), joint("l", "d", "e")]
    m = read(tmp_path, link("a", ""), link("b"), *hands[:1], joint("j", "a", "b"), hands[2])
    assert kinds(m, "warning") == ["joint k moves no mass: forward dynamics does not exist"]
    m = read(tmp_path, link("a", ""), link("b"), joint("j", "a", "b"), *hands)
    assert kinds(m, "warning") == ["joints k, l move no mass: forward dynamics does not exist"]
    m = read(
        tmp_path,
        link("a", ""),
        link("b", ""),
        link("c"),
        joint("j", "a", "b"),
        joint("k", "b", "c"),
    )
    assert not kinds(m, "warning")
    leaves = [
        element for n in range(15) for element in (link(f"e{n}", ""), joint(f"k{n}", "b", f"e{n}"))
    ]
    m = read(tmp_path, link("a", ""), link("b"), joint("j", "a", "b"), *leaves)
    (warning,) = kinds(m, "warning")
    assert warning.startswith("joints k0, k1, ")
    assert ", k11 and 3 more move no mass" in warning


def test_a_continuous_joint_has_one_coordinate(tmp_path: Path) -> None:
    m = read(tmp_path, link("a"), link("b"), joint("j", "a", "b", "continuous", ""))
    assert (m.nq, m.nv, m.joints[0].kind) == (1, 1, "continuous")


def test_mimic_is_independent_with_one_warning_or_refused(tmp_path: Path) -> None:
    elements = (
        link("a"),
        link("b"),
        link("c"),
        link("d"),
        joint("j", "a", "b"),
        joint("k", "a", "c", inside='<mimic joint="j"/>'),
        joint("l", "a", "d", inside='<mimic joint="j" multiplier="-2" offset="0.5"/>'),
    )
    m = read(tmp_path, *elements)
    assert m.nq == 3
    assert m.joints[2].mimic is not None
    assert (m.joints[2].mimic.joint, m.joints[2].mimic.multiplier, m.joints[2].mimic.offset) == (
        "j",
        -2,
        Fraction(1, 2),
    )
    assert kinds(m, "mimic") == [
        "read as independent although declared to mimic another joint: k, l"
    ]
    with pytest.raises(
        SymgenError,
        match=r"r\.urdf:7: joint 'k': it mimics joint 'j', and mimic joints are refused",
    ):
        read(tmp_path, *elements, mimic="refuse")
    assert read(tmp_path, *elements, mimic="refuse", lock={"k": 0, "l": 0}).nq == 1


def test_damping_friction_and_rotors_are_read_and_reported(tmp_path: Path) -> None:
    transmission = (
        '<transmission name="t"><joint name="j"/><actuator name="m">'
        "<mechanicalReduction>-50</mechanicalReduction>"
        "<motorInertia>2e-5</motorInertia></actuator></transmission>"
    )
    m = read(
        tmp_path,
        link("a"),
        link("b"),
        joint("j", "a", "b", inside='<dynamics damping="0.1" friction="0"/>'),
        transmission,
    )
    assert m.joints[0].unapplied == (
        ("damping", Fraction(1, 10)),
        ("gear ratio", -50),
        ("rotor inertia", Fraction(1, 50000)),
    )
    assert kinds(m, "unapplied") == [
        "read and not applied: damping of j; gear ratio of j; rotor inertia of j"
    ]


def test_angles_that_seem_to_be_degrees_are_a_warning(tmp_path: Path) -> None:
    inside = '<origin rpy="90 0 0"/><limit lower="-180" upper="180"/>'
    m = read(tmp_path, link("a"), link("b"), joint("j", "a", "b", inside=inside))
    assert len(kinds(m, "warning")) == 2
    assert all("degrees" in text for text in kinds(m, "warning"))


def test_joints_are_ordered_parent_before_child_then_as_declared(tmp_path: Path) -> None:
    m = read(
        tmp_path,
        *(link(n) for n in "edcba"),
        joint("late", "b", "c"),
        joint("first", "a", "b"),
        joint("third", "a", "d"),
        joint("last", "c", "e"),
    )
    assert [j.name for j in m.joints] == ["first", "late", "third", "last"]
    assert m.parents == (-1, 0, -1, 1)


def test_snapping_is_reported_and_can_be_off(tmp_path: Path) -> None:
    elements = (
        link("a"),
        link("b"),
        joint("j", "a", "b", inside='<origin rpy="1.5708 1.57 -1e-12"/>'),
    )
    m = read(tmp_path, *elements)
    assert [note for note in m.notes if note.kind == "snap"] == [
        Note("snap", "line 4, joint 'j': origin rpy: 1.5708 read as pi/2 (moved by 3.7e-06 rad)"),
        Note("snap", "line 4, joint 'j': origin rpy: -1e-12 read as 0 (moved by 1.0e-12 rad)"),
    ]
    off = read(tmp_path, *elements, snap="off")
    assert not kinds(off, "snap")
    assert len(off.joints[0].pose) == 3


@pytest.mark.parametrize(
    ("moments", "message"),
    [
        ((1, 0, 0, 1, 0, "2.1"), "triangle inequality"),
        ((1, 2, 0, 1, 0, 1), "positive semidefinite"),
        ((-1, 0, 0, 1, 0, 1), "positive semidefinite"),
    ],
)
def test_implausible_inertia_is_a_warning_or_refused(
    tmp_path: Path, moments: tuple[object, ...], message: str
) -> None:
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    tensor = " ".join(f'{n}="{v}"' for n, v in zip(names, moments, strict=True))
    elements = (
        link("a"),
        link("b", f'<inertial><mass value="1"/><inertia {tensor}/></inertial>'),
        joint("j", "a", "b"),
    )
    (warning,) = kinds(read(tmp_path, *elements), "warning")
    assert message in warning
    assert "link b" in warning
    with pytest.raises(SymgenError, match=message):
        read(tmp_path, *elements, strict=True)


def test_thin_discs_and_rods_are_plausible(tmp_path: Path) -> None:
    for moments in (
        'ixx="0" iyy="0.1" izz="0.1"',
        'ixx="0.05" iyy="0.05" izz="0.1"',
        'ixx="0" iyy="0" izz="0"',
    ):
        inside = (
            f'<inertial><mass value="1"/><inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial>'
        )
        assert not kinds(
            read(tmp_path, link("a"), link("b", inside), joint("j", "a", "b"), strict=True),
            "warning",
        )


def test_a_floating_joint_can_be_welded_by_locking_it(tmp_path: Path) -> None:
    elements = (
        link("w", ""),
        link("a"),
        link("b"),
        joint("root", "w", "a", "floating", ""),
        joint("j", "a", "b"),
    )
    assert (read(tmp_path, *elements).nq, read(tmp_path, *elements, lock={"root": None}).nq) == (
        8,
        1,
    )


def test_comments_namespaces_and_foreign_elements_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    drawn = link("b", INERTIAL + "<visual><origin rpy='not read'/></visual>")
    path.write_text(
        '<?xml version="1.0"?>\n<!-- <!DOCTYPE x> -->\n'
        '<robot name="n" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f"<gazebo><a/></gazebo>{link('a')}<!-- {link('a')} -->{drawn}{joint('j', 'a', 'b')}</robot>"
    )
    assert load(path).nq == 1


def test_a_comment_mark_inside_an_instruction_or_cdata_begins_no_comment(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(
        f'<?editor <!-- ?>\n<robot name="n">{link("a")}<note><![CDATA[<!--]]></note>'
        f"{link('b')}{joint('j', 'a', 'b')}"
        "<!-- and this is one --></robot>"
    )
    assert load(path).nq == 1


def test_the_parser_refuses_a_doctype_that_the_search_misses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(xml, "_DOCTYPE", re.compile("(?!)"))  # a pattern that never matches
    with pytest.raises(
        SymgenError, match="a DOCTYPE or entity declaration is not accepted in a description"
    ):
        xml.parse(b'<!DOCTYPE r [<!ENTITY a "b">]><robot name="r"/>', "r.urdf")


@pytest.mark.parametrize(
    "mark", ["<!--", "<![CDATA[", "<?x ", "<! ", "<a>", "&", "<p:a/>", "<a x='1' "]
)
def test_reading_time_is_linear_in_the_text(mark: str) -> None:
    """A text of 250 000 characters, all of one mark, is read or refused within a second."""
    begun = time.process_time()
    with suppress(SymgenError):
        xml.parse(f"<robot>{mark * (250_000 // len(mark))}</robot>".encode(), "r.urdf")
    assert time.process_time() - begun < 1


@pytest.mark.slow
def test_finding_fixed_links_is_linear_in_their_number() -> None:
    """Take 20 000 joints in a chain and in a ring; only links behind the moving joint move."""
    count = 20_000
    kinds = ["fixed"] * count
    kinds[count // 2] = "revolute"
    chain = [
        etree.fromstring(joint(f"j{i}", f"l{i}", f"l{i + 1}", kind)) for i, kind in enumerate(kinds)
    ]
    ring = [
        etree.fromstring(joint(f"r{i}", f"m{i}", f"m{(i + 1) % count}", "fixed"))
        for i in range(count)
    ]
    begun = time.process_time()
    still = urdf._fixed_links([*chain, *ring])
    stands = [i for i in reversed(range(count + 1)) if still(f"l{i}")]
    assert not any(still(f"m{i}") for i in range(count))
    assert time.process_time() - begun < 3
    assert stands == list(reversed(range(count // 2 + 1)))
    assert still("alone")


# -- malformed parts that no function uses ---------------------------------------------------------

PLAIN = (link("a"), link("b"), joint("j", "a", "b"))
NOTHING = INERTIAL.replace('"1"', '"0"').replace("<mass", "<origin xyz='x'/><mass")
REDUCED = (
    "<transmission name='t'><joint name='j'/>"
    "<mechanicalReduction>reduction</mechanicalReduction></transmission>"
)


def with_base(old: str, new: str) -> tuple[str, ...]:
    return link("a", INERTIAL.replace(old, new)), *PLAIN[1:]


def with_joint(inside: str, kind: str = "revolute") -> tuple[str, ...]:
    return *PLAIN[:2], joint("j", "a", "b", kind, inside)


# case -> (elements, kind of note, part of its text; two empty strings: no note)
UNUSED: dict[str, tuple[tuple[str, ...], str, str]] = {
    "gear ratio": (
        (*PLAIN, REDUCED),
        "info",
        "mechanicalReduction: 'reduction' is not a number; it would not be applied",
    ),
    "damping": (
        with_joint("<dynamics damping='low'/>"),
        "info",
        "damping: 'low' is not a number; it would not be applied",
    ),
    "two dampings": (
        with_joint("<dynamics damping='1'/><dynamics/>"),
        "warning",
        "<dynamics> appears twice; the first",
    ),
    "lower limit": (
        with_joint("<limit lower='-1.57.' upper='1'/>"),
        "warning",
        "'-1.57.' is not a number; read as no limit",
    ),
    "effort": (
        with_joint("<limit effort='much'/>"),
        "info",
        "limit effort: 'much' is not a number; read as no limit",
    ),
    "turning without end": (
        with_joint("<limit lower='x'/>", "continuous"),
        "info",
        "limit lower: 'x' is not a number",
    ),
    "factor": (
        with_joint("<mimic joint='j' multiplier='x'/>"),
        "warning",
        "'x' is not a number; read as 1; no coupling",
    ),
    "leader": (
        with_joint("<mimic/>"),
        "warning",
        "the attribute 'joint' is missing; the coupling is left out",
    ),
    "mass of the base": (
        with_base('value="1"', 'value="nan"'),
        "warning",
        "its inertia is left out: the link is fixed",
    ),
    "moments of the base": (
        with_base("<inertia ", "<lost "),
        "warning",
        "<lost> is not known here; its inertia is left out",
    ),
    "impossible base": (
        with_base('izz="1"', 'izz="3"'),
        "info",
        "this has no effect, since the link is fixed",
    ),
    "base that pulls": (
        with_base('value="1"', 'value="-1"'),
        "info",
        "link a has the negative mass -1 kg; this has no effect",
    ),
    "axis twice": (
        with_joint("<axis xyz='1 0 0'/>" * 2),
        "info",
        "<axis> appears twice with the same content; read once",
    ),
    "weld": (
        (
            *PLAIN,
            link("c", ""),
            joint("k", "b", "c", "fixed", "<axis xyz='x'/><limit lower='x'/><mimic/>"),
        ),
        "",
        "",
    ),
    "where nothing lies": ((*PLAIN, joint("k", "b", "c", "fixed", ""), link("c", NOTHING)), "", ""),
    "drawing": (
        (
            link("a"),
            link("b", f"{INERTIAL}<visual><origin xyz='x'/><xacro:x/></visual><collision/>"),
            PLAIN[2],
        ),
        "",
        "",
    ),
    "safety": (with_joint("<safety_controller k_velocity='x'/><calibration rising='x'/>"), "", ""),
}


@pytest.mark.parametrize("case", UNUSED)
def test_a_malformed_part_that_no_function_uses_is_ignored_with_a_note(
    tmp_path: Path, case: str
) -> None:
    """The mechanism equals the one without the malformed part; one note names that part."""
    elements, kind, message = UNUSED[case]
    m, expected_robot = read(tmp_path, *elements), read(tmp_path, *PLAIN)
    assert (m.bodies[0].mass, m.joints[0].axis, m.joints[0].pose) == (
        1,
        expected_robot.joints[0].axis,
        expected_robot.joints[0].pose,
    )
    assert [message in text for text in kinds(m, kind)].count(True) == bool(message), m.notes
    assert message or not kinds(m, "warning")


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="0.0" ?>\n{}',
        '<?xml version="1.1"?>{}',
        '\n\n<?xml version="1.0"?>{}',
        "<!-- mine -- all mine -->\n<?xml version='1.0'?>{}",
        "{}\0",
        "{}<!-- the end -->\n",
        "\ufeff{}",
        '<?xml version="1.0" encoding="KOI-99"?>{}',
        '<?xml version="1.0" encoding="utf-16"?>{}',
    ],
)
def test_xml_declaration_and_comments_do_not_change_the_robot(tmp_path: Path, text: str) -> None:
    """Unusual declarations, comments, byte order marks and a final NUL are accepted, as in ROS."""
    path = tmp_path / "r.urdf"
    path.write_bytes(text.format(robot(*PLAIN).strip()).encode())
    assert load(path).joints == read(tmp_path, *PLAIN).joints


def test_line_numbers_count_comments_and_the_declaration(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    heavy = link("b", INERTIAL.replace('value="1"', 'value="x"'))
    bad = robot(link("a"), "<!-- one\n two -- two\n-->", heavy, joint("j", "a", "b"))
    path.write_text(f"<!-- 1 -->\n\n<?xml version='0.0'\n?>{bad}")
    with pytest.raises(
        SymgenError, match=r"r\.urdf:9: link 'b': inertial: mass value: 'x' is not a number"
    ):
        load(path)


@pytest.mark.parametrize(
    ("encoding", "declared", "remarks"),
    [
        ("utf-8", "", 0),
        ("utf-8-sig", "", 0),
        ("utf-16", "", 0),
        ("utf-16-le", "", 0),
        ("latin-1", "ISO-8859-1", 0),
        ("latin-1", "", 1),
        ("gbk", "gb2312", 0),
        ("utf-8", "ISO-8859-1", 0),
    ],
)
def test_common_encodings_are_read(
    tmp_path: Path, encoding: str, declared: str, remarks: int
) -> None:
    name = "Müller" if encoding != "gbk" else "机器人"
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    path = tmp_path / "r.urdf"
    path.write_bytes((head + robot(*PLAIN).replace('"r"', f'"{name}"')).encode(encoding))
    m = load(path)
    assert m.name == name
    assert sum("is not UTF-8" in text for text in kinds(m, "info")) == remarks


def test_a_note_names_line_and_position_of_a_byte_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_bytes(b"<!--\n\n f\xfcr -->" + robot(*PLAIN).encode())
    assert "line 3: byte 8 is not UTF-8 text; read as ISO-8859-1" in kinds(load(path), "info")


def test_undeclared_namespace_prefixes_are_ignored(tmp_path: Path) -> None:
    old = (
        '<gazebo><controller:gazebo_ros name="c"><interface:position name="i"/>'
        "</controller:gazebo_ros></gazebo>"
    )
    assert read(tmp_path, *PLAIN, old, '<sensor:link name="a" xmlns:xacro=""/>').nq == 1


def test_a_urdf_may_have_the_suffix_xml(tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    path.write_text(robot(*PLAIN))
    assert load(path).nq == 1
    path.write_text("<mujoco/>")
    with pytest.raises(
        SymgenError, match=r"r\.xml: no joint moves"
    ):  # the root element shows that this is MJCF
        load(path)


def test_unclosed_comments_are_refused_quickly(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text("<robot>" + "<!-- " * 10**5)
    with pytest.raises(SymgenError, match="not well-formed XML"):
        load(path)


@pytest.mark.parametrize("path", public_urdfs(), ids=lambda p: f"{p.parts[-3]}-{p.stem}")
def test_every_public_urdf_with_a_moving_joint_is_read(path: Path) -> None:
    """All of the 69 files are read, except three without a moving joint or without a link."""
    if path.stem in ("quadrotor_base", "iris_simple", "ur3"):
        with pytest.raises(SymgenError, match=r"no joint moves|no link is declared"):
            load(path)
        return
    m = load(path)
    assert m.nq > 0
    assert m.name
    assert all("\n" not in note.text for note in m.notes)

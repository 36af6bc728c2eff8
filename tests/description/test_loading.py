"""Robots by name, path or text: what `load` accepts, and what it says about the rest."""

from __future__ import annotations

from fractions import Fraction
from importlib.metadata import PackagePath
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.description import loading
from symgen.description.canonical import to_toml
from symgen.description.folders import folder_to_judge
from symgen.description.loading import is_text, load
from symgen.description.lookup import folder_remedy, link_hint, missing_robot
from symgen.description.marks import functions_alone
from symgen.description.models import (
    exact,
    limit,
    note_inactive_loops,
    quaternion_of_matrix,
    unused_name,
)
from symgen.description.namesakes import is_builtin, namesake
from symgen.description.quantities import Location
from symgen.description.readers.toml import refuse_deep, refuse_integers
from symgen.support.errors import ArgumentError, DescriptionError, RequestError, SymgenError
from tests.description.poses_in_floats import rotation_of_quaternion
from tests.shared.descriptions import joint, link, robot

URDF = robot(link("a"), link("b"), joint("j", "a", "b", "continuous"))
BODY = (
    '[[body]]\nname = "b"\nparent = "base"\nmass = 1\n'
    'joint = { type = "revolute", axis = [0, 0, 1] }\n'
)


def refusal(call: Any) -> str:
    with pytest.raises(SymgenError) as caught:
        call()
    return str(caught.value)


# -- texts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("<robot/>", True),
        (" \t\r\n<robot/>", True),
        ("\ufeff<robot/>", True),
        (b"\xef\xbb\xbf<robot/>", True),
        (b"<robot/>", True),
        (bytearray(b" <robot/>"), True),
        ("<robot/>".encode("utf-16"), True),
        (b"\xfe\xff" + "<robot/>".encode("utf-16-be"), True),
        ("a = 1\nb = 2", True),
        (b"a = 1\nb = 2", True),
        ("panda", False),
        ("panda\n", False),
        (b"panda", False),
        ("r.urdf", False),
        ("a < b", False),
        ("", False),
        (Path("<robot"), False),
        (None, False),
    ],
)
def test_a_text_begins_with_an_element_or_has_several_lines(value: Any, text: bool) -> None:
    assert is_text(value) is text


@pytest.mark.parametrize("encode", [str, str.encode, lambda text: bytearray(text.encode())])
def test_a_description_may_be_text_or_bytes(encode: Any) -> None:
    assert load(encode(URDF)).nv == 1
    assert load(encode("\n" + BODY)).name == "robot"
    assert "<text>:1: " in refusal(lambda: load(encode("<robot")))
    assert "<text>:2: not valid TOML" in refusal(lambda: load(encode("a = 1\nb\nc = 2")))


def test_a_description_in_utf_16_is_xml() -> None:
    for data in (URDF.encode("utf-16"), b"\xfe\xff" + URDF.encode("utf-16-be")):
        assert load(data).nv == 1


def test_a_text_is_valid_unicode_of_a_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "<text>: character 3 is not valid Unicode" in refusal(lambda: load("<a>\ud800"))
    assert loading.LARGEST_FILE == 50_000_000
    monkeypatch.setattr(loading, "LARGEST_FILE", len(URDF))
    assert load(URDF).nv == load(URDF.encode()).nv == 1
    monkeypatch.setattr(loading, "LARGEST_FILE", len(URDF) - 1)
    for text in (URDF, URDF.encode()):
        message = "<text>: it is larger than 0 MB; give one without embedded geometry"
        assert message in refusal(lambda text=text: load(text))


# -- names and files -------------------------------------------------------------------------------


def test_a_chain_has_the_requested_number_of_links() -> None:
    assert load("planar_point_mass:1").nv == 1
    assert load(b"planar_point_mass:3").nv == 3
    message = (
        "is not a number of links of 'planar_point_mass'; give a whole number from 1 to 100000"
    )
    for count in ("0", "100001", "x", "-1", "1.0", "", "1000000"):
        assert f"'{count}' {message}" in refusal(
            lambda count=count: load(f"planar_point_mass:{count}")
        )
    for count, shown in (("3", "3"), ("4" * 21, "4" * 20)):
        fixed = f"robot 'panda' has a fixed number of links; leave out ':{shown}'"
        assert fixed in refusal(lambda count=count: load(f"panda:{count}"))


def test_a_file_is_regular_readable_and_of_limited_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(URDF)
    assert (load(path).source, load(URDF).source) == ("r.urdf", "")
    assert load(str(path)).nv == load(str(path).encode()).nv == 1
    monkeypatch.setattr(loading, "LARGEST_FILE", path.stat().st_size)
    assert load(path).nv == 1
    monkeypatch.setattr(loading, "LARGEST_FILE", path.stat().st_size - 1)
    assert "the file is larger than 0 MB" in refusal(lambda: load(path))
    for name, text, message in (
        ("empty.urdf", " \n", "the file is empty; give a robot description"),
        (
            "r.txt",
            URDF,
            "the file type '.txt' is not supported; give a file that ends in .csv, .mjcf",
        ),
        ("r", URDF, "its name has no suffix that shows the format; give it a name that ends in"),
        ("r.srdf", URDF, "this is SRDF, groups of joints without masses, which symgen does not"),
    ):
        (tmp_path / name).write_text(text)
        assert message in refusal(lambda name=name: load(tmp_path / name))
    (tmp_path / "broken.urdf").symlink_to(tmp_path / "lost")
    assert "this is a broken link" in refusal(lambda: load(tmp_path / "broken.urdf"))
    upper = tmp_path / "R.URDF"
    upper.write_text(URDF)
    monkeypatch.undo()
    assert load(upper).nv == 1


def test_a_robot_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    nameless = URDF.replace('<robot name="r">', "<robot>")
    for stem, name in (("arm", "arm"), ("a" * 240, "a" * 200), ("a\u200bb", "a_b")):
        path = tmp_path / f"{stem}.urdf"
        path.write_text(nameless)
        assert load(path).name == name
        path.write_text(URDF)
        assert load(path).name == "r"


def test_the_first_source_of_a_canonical_description_is_kept_until_it_is_edited(
    tmp_path: Path,
) -> None:
    first = load(URDF.encode())
    path = tmp_path / "r.toml"
    path.write_text(to_toml(first))
    again = load(path)
    assert (again.source_sha256, again.source) == (first.source_sha256, first.source)
    path.write_text(to_toml(first).replace("mass = 1", "mass = 2"))
    assert load(path).source_sha256 not in (first.source_sha256, "")
    assert load(path).bodies[0].mass == 2


def test_strict_reading_refuses_the_first_warning() -> None:
    doubtful = URDF.replace('izz="1"', 'izz="9"')
    assert load(doubtful).nv == 1
    message = refusal(lambda: load(doubtful, strict=True))
    assert message.startswith("<text>")
    assert "strict reading refuses" in message
    assert load(URDF, strict=True, base="fixed").nv == 1


# -- options ---------------------------------------------------------------------------------------


def test_options_may_be_texts_or_lists() -> None:
    for gravity in ("1,-2,0.5", [1, -2, 0.5], (Fraction(1), "-2", "1/2")):
        assert load(URDF, gravity=gravity).gravity == (1, -2, Fraction(1, 2))
    for gravity, message in (
        ("1,2", "gravity has 2 entries; give three, such as 0,0,-9.81"),
        ([1, 2, 3, 4], "gravity has 4 entries"),
        ("1,2,x", "gravity: 'x' is not a number"),
    ):
        assert message in refusal(lambda gravity=gravity: load(URDF, gravity=gravity))
    two = "\n" + BODY + BODY.replace('"base"', '"b"').replace('name = "b"', 'name = "c"')
    for order in (["b_joint", "c_joint"], "b_joint, c_joint", "file", "pinocchio"):
        assert [j.name for j in load(two, joint_order=order).joints] == ["b_joint", "c_joint"]
    message = refusal(lambda: load(two, joint_order="c_joint"))
    assert "joint_order leaves out joint 'b_joint'" in message
    for lock in ("c_joint", ["c_joint"], {"c_joint": 0}, iter(["c_joint"])):
        assert load(two, lock=lock).nv == 1
    assert load(two, lock=None).nv == load(two, lock=()).nv == 2
    for names in ("b_joint, lost", ["lost"]):
        with pytest.raises(RequestError, match="no joint"):
            load(two, independent=names)
    assert load(two).independent == load(two).actuated == ()


def test_the_friction_speed_is_positive() -> None:
    rough = "\n" + BODY.replace("axis =", "friction = 1, axis =")
    for speed in (0.25, "0.25", Fraction(1, 4)):
        assert load(rough, friction_speed=speed).friction_speed == Fraction(1, 4)
    assert "friction_speed: 'x' is not a number" in refusal(lambda: load(rough, friction_speed="x"))
    with pytest.raises(ArgumentError):
        load(rough, friction_speed=0)


def test_unknown_choices_are_refused() -> None:
    for options, message in (
        ({"mimic": "x"}, "mimic is 'x'; give 'independent', 'couple' or 'refuse'"),
        ({"base": "x"}, "base is 'x'; give 'fixed' or 'free'"),
    ):
        assert message in refusal(lambda options=options: load(URDF, **options))


# -- what is meant ---------------------------------------------------------------------------------

ROBOTS = ("panda", "ur5")
SUFFIXES = (".urdf", ".toml")


def test_a_missing_robot_is_named_by_its_first_200_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder, file = "f" * 220, "n" * 220
    (tmp_path / folder).mkdir()
    (tmp_path / f"{file}.urdf").touch()
    for text, message in (
        ("http://" + "a" * 250, f"'http://{'a' * 193}…' is a web address"),
        ("w" * 250, f"there is no file or built-in robot '{'w' * 200}…';"),
        (
            f"{'d' * 300}/r.urdf",  # longer than the name of a folder can be
            f"there is no file '{'d' * 200}…': the folder '{'d' * 200}…' does not exist",
        ),
        (f"{file}n.urdf", f"there is no file '{'n' * 200}…'; did you mean '{file}.urdf'?"),
        (
            f"{folder}/{'w' * 220}.toml",
            f"there is no file '{'w' * 200}…' in '{'f' * 200}…'; check the path",
        ),
    ):
        assert message in missing_robot(text, ROBOTS, SUFFIXES)


def test_only_printable_names_of_descriptions_are_suggested(tmp_path: Path) -> None:
    for name in ("b.URDF", "a.toml", "c.txt", "d\a.urdf"):
        (tmp_path / name).touch()
    message = folder_remedy(tmp_path, SUFFIXES)
    files = f"{tmp_path / 'a.toml'}, {tmp_path / 'b.URDF'}"
    assert message.startswith(f"give a description file, such as {files}, or a folder")


def test_names_are_sought_among_the_first_2000_entries_of_a_folder(tmp_path: Path) -> None:
    for k in range(2001):
        (tmp_path / f"{k}.urdf").touch()
    message = folder_remedy(tmp_path, SUFFIXES)
    assert "and 1997 more, or a folder" in message  # of 2000 entries, three are named


def test_a_missing_robot_is_answered_with_a_similar_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_arm.urdf").touch()
    (tmp_path / "my_arm.txt").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "leg.toml").touch()
    for text, message in (
        ("http://a/b.urdf", "'http://a/b.urdf' is a web address, but symgen reads files; save it"),
        ("my_arm", "there is no file or built-in robot 'my_arm'; did you mean 'my_arm.urdf'?"),
        ("pandas", "there is no file or built-in robot 'pandas'; did you mean 'panda'?"),
        ("PANDA", "there is no file or built-in robot 'PANDA'; did you mean 'panda'?"),
        (
            "panda:x",
            "there is no file or built-in robot 'panda:x'; leave out what follows the name",
        ),
        ("panda.urdf", "there is no file 'panda.urdf' in this folder; did you mean the built-in"),
        ("my_rm.urdf", "there is no file 'my_rm.urdf'; did you mean 'my_arm.urdf'?"),
        ("sub/lg.toml", "there is no file 'sub/lg.toml'; did you mean 'sub/leg.toml'?"),
        (
            "sub/wheel.toml",
            "there is no file 'wheel.toml' in 'sub'; check the path, or use a robot",
        ),
        ("wheel.toml", "there is no file 'wheel.toml' in this folder; check the path"),
        ("sub/panda.toml", "there is no file 'panda.toml' in 'sub'; check the path"),
        ("sub/wheel", "there is no file 'wheel' in 'sub'; check the path"),
        ("lost/r.urdf", "the folder 'lost' does not exist; check the path"),
        ("~/r.urdf", "the folder '~' does not exist; write out the path of the home folder"),
    ):
        assert message in missing_robot(text, ROBOTS, SUFFIXES)
    listed = missing_robot("wheel", ROBOTS, SUFFIXES)
    assert "panda" in listed
    assert "ur5" in listed


def test_a_folder_that_symgen_did_not_generate_names_its_descriptions(tmp_path: Path) -> None:
    (tmp_path / "r.txt").touch()
    ending = "or a folder that symgen generated"
    for folder in (tmp_path, tmp_path / "lost"):
        assert folder_remedy(folder, SUFFIXES) == f"give a description file, {ending}"
    (tmp_path / "r0.urdf").touch()
    beginning = "give a description file, such as"
    assert folder_remedy(tmp_path, SUFFIXES) == f"{beginning} {tmp_path}/r0.urdf, {ending}"
    for k in range(1, 4):
        (tmp_path / f"r{k}.urdf").touch()
    listed = ", ".join(f"{tmp_path}/r{k}.urdf" for k in range(3))
    assert folder_remedy(tmp_path, SUFFIXES) == f"{beginning} {listed} and 1 more, {ending}"
    message = refusal(lambda: load(tmp_path))
    assert "this is a directory without a manifest.json" in message


def test_a_link_that_is_not_declared_has_a_similar_name() -> None:
    assert link_hint("fore_arm", ["forearm", "base"]) == "did you mean 'forearm'?"
    assert link_hint("wheel", ["forearm", "base"]) == "declare that link or name a declared one"


def test_a_folder_of_functions_is_recognised_by_its_marks(tmp_path: Path) -> None:
    mark = "/* Generated by symgen 1.2; do not edit. */\n"
    contents = {
        "arm.h": f"{mark}#define arm_NQ 7\n",
        "arm_inverse.c": f'{mark}#include "arm.h"\n',
        "arm_sincos.h": mark,
        "other.c": f'{mark}#include "leg.h"\n',
        "user.c": '#include "arm.h"\n',
        "leg.h": "#define leg_NQ 3\n",
        "hand.h": f"{mark}#define finger_NQ 3\n",
        "arm_extra.txt": f'{mark}#include "arm.h"\n',
        "arm_more.hpp": f'{mark}  #include "arm.h"\n#include "arm.h"\n',
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "linked.c").symlink_to(tmp_path / "arm_inverse.c")
    (tmp_path / "folder.c").mkdir()
    assert functions_alone(tmp_path) == {
        "arm": {"arm.h", "arm_inverse.c", "arm_sincos.h", "arm_more.hpp"}
    }
    assert "it has only functions, without the description and the manifest" in refusal(
        lambda: load(tmp_path)
    )
    late = tmp_path / "late"
    late.mkdir()
    (late / "arm.h").write_text(f"{' ' * (1 << 16)}{contents['arm.h']}")
    assert functions_alone(late) == {}


def test_a_manifest_names_the_description_of_its_folder(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    (tmp_path / "r.toml").write_text(f'name = "r"\n{BODY}')
    manifest.write_text('{"robot": "r"}')
    assert load(tmp_path).name == "r"
    for text, message in (
        ("[", "its manifest.json is not one that symgen wrote"),
        ("[]", "its manifest.json is not one that symgen wrote"),
        ('{"robot": "lost"}', "its manifest.json names 'lost.toml', which does not exist"),
        ('{"robot": "./r"}', "its manifest.json names './r.toml', which does not exist"),
        ('{"robot": "../r"}', "names '../r.toml', which does not exist"),
    ):
        manifest.write_text(text)
        assert message in refusal(lambda: load(tmp_path))
    manifest.unlink()
    manifest.mkdir()
    assert "its manifest.json cannot be read: this is not a regular file" in refusal(
        lambda: load(tmp_path)
    )


def test_a_folder_with_the_name_of_a_built_in_robot_is_a_namesake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_builtin("panda")
    assert is_builtin("panda:3")
    assert not is_builtin("pandas")
    assert namesake("panda") is None
    (tmp_path / "panda").mkdir()
    for content, generated in (
        (None, False),
        ("{", True),
        ("[]", False),
        ('{"a": 1}', False),
        ('{"symgen": "1"}', True),
    ):
        if content is not None:
            (tmp_path / "panda" / "manifest.json").write_text(content)
        for name in ("panda", "panda:3"):
            twin = namesake(name)
            assert twin is not None
            assert (twin.folder, twin.generated) == (Path("panda"), generated)
            expected = (
                "./panda names the folder"
                if generated
                else "the folder ./panda is not used: it has no manifest.json written by symgen"
            )
            assert twin.sentence(name) == f"'{name}' is the built-in robot; {expected}"
        assert folder_to_judge("panda") == (Path("panda") if generated else None)
        assert folder_to_judge("panda:3") is None
    assert namesake("ur5") is namesake(Path("panda")) is None
    assert folder_to_judge(Path("panda")) == Path("panda")
    assert folder_to_judge(tmp_path / "lost") is None
    assert folder_to_judge("<robot/>") is None


# -- files of packages -----------------------------------------------------------------------------


def paths(*names: str) -> list[PackagePath]:
    return [PackagePath(name) for name in names]


def test_files_of_a_package_are_found_by_their_last_parts() -> None:
    path = PackagePath("share/robots/arm/arm.urdf")
    for name in ("arm", "arm.urdf", "arm/arm", "robots/arm/arm.urdf", "share/robots/arm/arm"):
        assert loading._ends_with(path, Path(name).parts)
    for name in ("rm", "arm.xml", "leg/arm", "x/share/robots/arm/arm", "robots/arm"):
        assert not loading._ends_with(path, Path(name).parts)


def test_files_of_one_name_are_listed_by_the_parts_that_distinguish_them() -> None:
    several = paths("a/x/arm.urdf", "a/y/arm.urdf")
    assert loading._distinct_ends(several, 1) == ["x/arm.urdf", "y/arm.urdf"]
    deeper = paths("a/x/arm.urdf", "b/x/arm.urdf")
    assert loading._distinct_ends(deeper, 1) == ["a/x/arm.urdf", "b/x/arm.urdf"]
    assert loading._distinct_ends(deeper, 3) == ["a/x/arm.urdf", "b/x/arm.urdf"]
    suffixes = paths("a/arm.urdf", "a/arm.sdf")
    assert loading._distinct_ends(suffixes, 1) == ["arm.urdf", "arm.sdf"]
    assert loading._distinct_ends(suffixes, 2) == ["a/arm.urdf", "a/arm.sdf"]
    uneven = paths("arm.urdf", "a/b/arm.urdf")
    assert loading._distinct_ends(uneven, 1) == ["arm.urdf", "b/arm.urdf"]


def test_an_unknown_file_of_a_package_has_a_similar_one() -> None:
    files = paths("a/ur5.urdf", "a/ur10.urdf", "b/panda.urdf", "c/panda.urdf")
    assert loading._nearest_stem(("x", "pandas"), files) == "did you mean 'panda'?"
    assert loading._nearest_stem(("wheel",), files) == "there are: panda, ur10, ur5"
    assert loading._nearest_stem((), files) == "there are: panda, ur10, ur5"
    many = paths(*(f"{name}.urdf" for name in "abcdefg"))
    assert loading._nearest_stem(("wheel",), many).endswith("a, b, c, d, e and 2 more")


def test_a_text_has_no_place_in_a_package() -> None:
    for text in (URDF, URDF.encode(), symgen.Robot("r")):
        message = "distribution (--from) needs the name of a file, not a description; leave"
        assert message in refusal(lambda text=text: load(text, distribution="numpy"))


# -- models in memory ------------------------------------------------------------------------------


def test_a_double_is_its_shortest_decimal() -> None:
    here = Location("model")
    assert exact(0.1, here) == Fraction(1, 10)
    assert limit(-0.1, here) == Fraction(-1, 10)
    for infinite in (float("inf"), float("-inf"), float("nan"), 1e300, -1e301):
        assert limit(infinite, here) is None
    assert limit(9e299, here) == 9 * 10**299
    with pytest.raises(DescriptionError, match="'nan' is not a number"):
        exact(float("nan"), here)


def test_unused_names_end_in_underscores() -> None:
    assert unused_name("a", {"b"}) == "a"
    assert unused_name("a", {"a", "a_"}) == "a__"
    assert note_inactive_loops([]) == []
    (note,) = note_inactive_loops([f"l{k}" for k in range(10)])
    assert note.text == "inactive loops are left out: l0, l1, l2, l3, l4, l5, l6, l7 and 2 more"


@pytest.mark.parametrize(
    "quaternion",
    [
        (5, 1, -2, 3), (1, 5, 2, -3), (-1, 2, 5, 3), (1, -2, 3, 5), (0, 1, 0, 0), (0, 0, 1, 0),
        (0, 0, 0, 1), (1, 0, 0, 0), (0, 3, -4, 5),
    ],
)  # fmt: skip
def test_a_rotation_matrix_has_a_quaternion_of_length_one(quaternion: tuple[int, ...]) -> None:
    matrix = rotation_of_quaternion(quaternion)
    entries = quaternion_of_matrix(matrix)
    assert sum(entry * entry for entry in entries) == pytest.approx(1, abs=1e-14)
    assert abs(rotation_of_quaternion(entries) - matrix).max() < 1e-14


# -- texts of TOML ---------------------------------------------------------------------------------

HERE = Location("r.toml")


def test_arrays_and_tables_are_nested_at_most_64_deep() -> None:
    def refused(text: str) -> str:
        try:
            refuse_deep(text, HERE)
        except DescriptionError as error:
            return str(error)
        return ""

    message = "r.toml:{}: its arrays or tables are nested more than 64 deep; reduce the nesting"
    assert refused("a = " + "[" * 64 + "]" * 64) == ""
    assert refused("\na = " + "[" * 65) == message.format(2)
    assert refused("a = " + "{ b = " * 65) == message.format(1)
    assert refused("a = " + "[]" * 100) == ""
    assert refused("]" * 9 + "[" * 64) == ""
    assert refused("[[[]" + "[" * 62) == ""
    assert refused("[[[]" + "[" * 63) != ""
    assert refused("]" * 9 + "[" * 65) != ""
    for ignored in (f'"{"[" * 70}"', f"'{'[' * 70}'", f"# {'[' * 70}", f'"""\n{"[" * 70}"""'):
        assert refused(f"a = {ignored}") == ""


def test_a_key_has_at_most_16_parts() -> None:
    refuse_deep(".".join("a" * 16) + " = 1", HERE)
    refuse_deep('"' + ".".join("a" * 30) + '" = 1', HERE)
    with pytest.raises(DescriptionError, match=r"r\.toml:2: a key has more than 16 parts with a"):
        refuse_deep("\n" + ".".join("a" * 17) + " = 1", HERE)


@pytest.mark.parametrize(
    ("text", "decimal"),
    [
        ("a = 0x1F", "'0x1F' is not a plain decimal; write '31'"),
        ("a = 0o17", "write '15'"),
        ("a = -0b11", "write '-3'"),
        ("a = [1, 1_000]", "'1_000' is not a plain decimal; write '1000'"),
        ("a = 0x" + "1" * 40, "write its decimal figures"),
        ("0x1F = 1", ""),
        ("1_000 . b = 1", ""),
        ('a = "0x1F"', ""),
        ("a = 10", ""),
        ("a_1 = b_2", ""),
    ],
)
def test_integers_of_a_text_are_plain_decimals(text: str, decimal: str) -> None:
    if decimal:
        message = refusal(lambda: refuse_integers(f"\n{text}", HERE))
        assert message.startswith("r.toml:2: ")
        assert message.endswith(decimal)
    else:
        refuse_integers(text, HERE)

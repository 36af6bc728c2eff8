"""Files of an SDF: versions, includes, folders of models, limits."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from symgen.description.loading import load
from symgen.description.readers._sdf import files as module
from symgen.description.readers._sdf.files import Files
from symgen.description.snapping import Snapper
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import DescriptionError, SymgenError
from tests.shared.sdf_texts import A, B, J, model

ROBOT = model(A, B, J)
MODEL = ROBOT.replace('name="r"', 'name="inner"')


def include(uri: str, inside: str = "") -> str:
    return f'<sdf version="1.7"><include><uri>{uri}</uri>{inside}</include></sdf>'


def read(folder: Path, uri: str, **options: dict[str, str]) -> Mechanism:
    path = folder / "main" / "main.sdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(include(uri))
    return load(path, **options)  # type: ignore[arg-type]


def write(path: Path, text: str = MODEL) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# -- versions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("1.4", (1, 4)),
        (" 1.12 ", (1, 12)),
        ("1.7.3", (1, 7)),
        ("2.0", (2, 0)),
        ("001.010", (1, 10)),
    ],
)
def test_a_version_has_two_numbers(version: str, numbers: tuple[int, int]) -> None:
    reader = Files(Snapper(), {})
    _, text = reader.root(f'<sdf version="{version}"/>'.encode(), "r.sdf")
    assert text.version == numbers
    newer = [note.text for note in reader.notes]
    expected = f"line 1, sdf: its version {version} is newer than 1.12; it is read as 1.12"
    assert newer == [expected] * (numbers > (1, 12))
    assert reader.texts == [text]


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("<sdf/>", "the attribute 'version' is missing, and the meaning of an axis depends on it"),
        ('<sdf version="1"/>', "'1' is not a version; write one such as 1.7"),
        ('<sdf version="1.1000"/>', "'1.1000' is not a version"),
        ('<sdf version="1.3"/>', "SDF 1.3 is older than 1.4, the oldest that symgen reads"),
        ('<sdf version="0.9"/>', "SDF 0.9 is older than 1.4"),
        ("<model/>", "'model', not 'sdf'; write <sdf version=\"1.7\"> around it"),
        ("<world/>", "'world', not 'sdf'; write <sdf version=\"1.7\"> around it"),
        ("<other/>", "the root element is 'other', not 'sdf'; give an SDF file"),
        ("<html/>", "this is a web page, not the file itself; download the raw file"),
    ],
)  # fmt: skip
def test_another_root_or_version_is_refused(root: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        Files(Snapper(), {}).root(root.encode(), "r.sdf")
    assert message in str(caught.value)
    assert str(caught.value).startswith("r.sdf:1: ")


def test_the_root_of_an_old_gazebo_file_is_accepted() -> None:
    root, text = Files(Snapper(), {}).root(b'<gazebo version="1.4"/>', "r.sdf")
    assert (root.tag, text.version) == ("gazebo", (1, 4))


# -- where a file is -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("arm.sdf", "main/arm.sdf"),
        ("sub/arm.sdf", "main/sub/arm.sdf"),
        ("file://arm.sdf", "main/arm.sdf"),
        ("file://my%20arm.sdf", "main/my arm.sdf"),
        ("my%20arm.sdf", "main/my%20arm.sdf"),
        ("../arm.sdf", "arm.sdf"),
        ("model://arm.sdf", "main/arm.sdf"),
        ("model://arm/x.sdf", "main/arm/x.sdf"),
        ("MODEL://arm/x.sdf", "main/arm/x.sdf"),
        ("model://arm/x.sdf", "arm/x.sdf"),
        ("package://arm/x.sdf", "arm/x.sdf"),
        ("model://arm/x.sdf", "elsewhere/x.sdf"),
        ("model://arm", "arm/model.sdf"),
        ("arm", "main/arm/model.sdf"),
    ],
)
def test_an_included_file_is_found(uri: str, path: str, tmp_path: Path) -> None:
    write(tmp_path / path)
    packages = {"arm": str(tmp_path / "elsewhere")}
    assert read(tmp_path, uri, packages=packages).name == "inner"
    absolute = write(tmp_path / "absolute.sdf")
    assert read(tmp_path, f"file://{absolute}").nv == 1


def test_a_named_package_comes_before_the_folder_of_the_file(tmp_path: Path) -> None:
    for folder, name in (("elsewhere", "package"), ("main/arm", "beside"), ("arm", "above")):
        write(tmp_path / folder / "x.sdf", MODEL.replace("inner", name))
    packages = {"arm": str(tmp_path / "elsewhere")}
    assert read(tmp_path, "model://arm/x.sdf", packages=packages).name == "package"
    assert read(tmp_path, "model://arm/x.sdf").name == "beside"
    (tmp_path / "main/arm/x.sdf").unlink()
    assert read(tmp_path, "model://arm/x.sdf").name == "above"


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("https://a.b/arm.sdf", "it is a web address, and symgen downloads nothing"),
        ("lost.sdf", "the included file does not exist; check the path, which is relative to this"),
        (
            "model://lost",
            "does not exist; put its folder beside this file, or give --package lost=",
        ),
        ("lost" * 100, "the included file does not exist"),
    ],
)
def test_a_missing_file_is_refused(uri: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SymgenError) as caught:
        read(tmp_path, uri)
    assert message in str(caught.value)
    with pytest.raises(SymgenError, match="a description given as text has no folder"):
        load(include("arm.sdf"))


CONFIG = "<model><name>arm</name>{}</model>"


@pytest.mark.parametrize(
    ("entries", "file"),
    [
        ('<sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf>', "new.sdf"),
        ('<sdf version="1.10"> new.sdf </sdf><sdf version="1.9">old.sdf</sdf>', "new.sdf"),
        ('<sdf version="2.0">new.sdf</sdf><sdf version="1.12">old.sdf</sdf>', "new.sdf"),
        ("<sdf>only.sdf</sdf>", "only.sdf"),
        ('<sdf>plain.sdf</sdf><sdf version="0.9">zero.sdf</sdf>', "plain.sdf"),
        ('<sdf version="x">first.sdf</sdf><sdf version="0.1">second.sdf</sdf>', "second.sdf"),
        ('<sdf version="x">first.sdf</sdf><sdf version="0.0">second.sdf</sdf>', "second.sdf"),
        ('<sdf version="x">y.sdf</sdf>', "y.sdf"),
        ("<other>x.sdf</other>", "model.sdf"),
        ("", "model.sdf"),
    ],
)
def test_the_newest_file_of_a_folder_of_a_model_is_read(
    entries: str, file: str, tmp_path: Path
) -> None:
    write(tmp_path / "arm" / "model.config", CONFIG.format(entries))
    for name in ("old", "new", "only", "plain", "zero", "first", "second", "y", "model"):
        write(tmp_path / "arm" / f"{name}.sdf", MODEL.replace("inner", f"{name}.sdf"))
    assert read(tmp_path, "model://arm").name == file


def test_a_config_without_the_name_of_a_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "arm" / "model.config", CONFIG.format('<sdf version="1.7"/>'))
    with pytest.raises(SymgenError, match="the included file does not exist"):
        read(tmp_path, "model://arm")


# -- limits ----------------------------------------------------------------------------------------


def test_an_included_file_has_one_model(tmp_path: Path) -> None:
    for text, count in (
        ('<sdf version="1.7"/>', 0),
        (MODEL.replace("</sdf>", '<model name="s"><link name="a"/></model></sdf>'), 2),
    ):
        write(tmp_path / "main" / "x.sdf", text)
        message = f"'x.sdf' has {count} models, but an included file must have one"
        with pytest.raises(SymgenError, match=message):
            read(tmp_path, "x.sdf")


def test_files_are_included_at_most_ten_deep(tmp_path: Path) -> None:
    def chain(length: int) -> Mechanism:
        for k in range(1, length):
            inner = f'<include><uri>{k + 1}.sdf</uri></include><link name="l{k}"/>'
            weld = (
                f'<joint name="w{k}" type="fixed"><parent>l{k}</parent><child>m{k + 1}::'
                f"{f'l{k + 1}' if k + 1 < length else 'a'}</child></joint>"
            )
            write(
                tmp_path / "main" / f"{k}.sdf",
                f'<sdf version="1.7"><model name="m{k}">{inner}{weld}</model></sdf>',
            )
        write(tmp_path / "main" / f"{length}.sdf", ROBOT.replace('name="r"', f'name="m{length}"'))
        return read(tmp_path, "1.sdf")

    assert chain(10).nv == 1
    with pytest.raises(SymgenError, match="files are included more than 10 deep, or more than 200"):
        chain(11)


def test_the_number_of_included_files_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "main" / "x.sdf")

    def several(count: int) -> Mechanism:
        places = "".join(
            f"<include><uri>x.sdf</uri><name>m{k}</name></include>"
            f'<joint name="w{k}" type="fixed"><parent>base</parent><child>m{k}::a</child></joint>'
            for k in range(count)
        )
        text = f'<sdf version="1.7"><model name="r"><link name="base"/>{places}</model></sdf>'
        return load(write(tmp_path / "main" / "main.sdf", text))

    assert module.MOST_FILES == 200
    monkeypatch.setattr(module, "MOST_FILES", 3)
    assert several(3).nv == 3
    with pytest.raises(SymgenError, match="or more than 3 of them; put the models into one file"):
        several(4)


def test_the_size_of_an_included_file_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.LARGEST == 50_000_000
    path = write(tmp_path / "main" / "x.sdf")
    size = path.stat().st_size
    monkeypatch.setattr(module, "LARGEST", size)
    assert read(tmp_path, "x.sdf").nv == 1
    monkeypatch.setattr(module, "LARGEST", size - 1)
    with pytest.raises(
        SymgenError, match="the file is larger than 0 MB; give one without embedded"
    ):
        read(tmp_path, "x.sdf")


def test_an_include_may_rename_and_place_its_model(tmp_path: Path) -> None:
    write(tmp_path / "main" / "x.sdf")
    included = "<include><uri>x.sdf</uri><name>arm</name><pose>0 0 3 0 0 0</pose></include>"
    joint = '<joint name="w" type="fixed"><parent>base</parent><child>arm::a</child></joint>'
    text = f'<sdf version="1.7"><model name="r"><link name="base"/>{included}{joint}</model></sdf>'
    mechanism = load(write(tmp_path / "main" / "main.sdf", text))
    assert [joint.name for joint in mechanism.joints] == ["arm::j"]
    (shift,) = mechanism.frame("arm::a").pose
    assert getattr(shift, "xyz", None) == (0, 0, Fraction(3))


@pytest.mark.parametrize("name", ["", "<name/>", "<name> </name>"])
def test_an_include_without_a_name_has_that_of_its_model(name: str, tmp_path: Path) -> None:
    write(tmp_path / "main" / "x.sdf")
    included = f"<include><uri>x.sdf</uri>{name}</include>"
    for chosen in (None, "inner"):
        path = write(tmp_path / "main" / "main.sdf", f'<sdf version="1.7">{included}</sdf>')
        assert load(path, model=chosen).name == "inner"
    with pytest.raises(SymgenError, match="no model is named 'x'; there are: inner"):
        load(path, model="x")
    weld = '<joint name="w" type="fixed"><parent>base</parent><child>inner::a</child></joint>'
    text = f'<sdf version="1.7"><model name="r"><link name="base"/>{included}{weld}</model></sdf>'
    mechanism = load(write(tmp_path / "main" / "main.sdf", text))
    assert [joint.name for joint in mechanism.joints] == ["inner::j"]


def test_notes_on_an_included_file_name_that_file(tmp_path: Path) -> None:
    unknown = MODEL.replace("</model>", "<colour>red</colour></model>")
    write(tmp_path / "main" / "x.sdf", unknown)
    with_file = [note.text for note in read(tmp_path, "x.sdf").notes if "colour" in note.text]
    alone = [note.text for note in load(unknown).notes if "colour" in note.text]
    assert len(alone) == 1
    assert with_file == [f"x.sdf: {text}" for text in alone]

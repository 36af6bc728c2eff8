"""The program that expands macros: packages, arguments, and lines of faults."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

import pytest

from symgen.description.parsing import xacro_program
from symgen.description.parsing.xacro_program import (
    Arguments,
    NoPackage,
    Packages,
    _fault,
    _line,
    _package_name,
    answer_request,
    main,
)

HEAD = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r">'


@pytest.fixture(autouse=True)
def no_ros(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the folders of an installed ROS from the environment."""
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


def package(folder: Path, name: str = "", manifest: str = "package.xml") -> Path:
    """Make a package with a name in its manifest, or without one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / manifest).write_text(f"<package><name> {name} </name></package>" if name else "<p/>")
    return folder


# -- packages --------------------------------------------------------------------------------------


def test_a_package_has_the_name_of_its_manifest_or_of_its_folder(tmp_path: Path) -> None:
    assert _package_name(package(tmp_path / "a", "arm")) == "arm"
    assert _package_name(package(tmp_path / "b")) == "b"
    assert _package_name(package(tmp_path / "c", "arm", "manifest.xml")) == "c"
    package(tmp_path / "d", "old", "manifest.xml")
    assert _package_name(package(tmp_path / "d", "arm")) == "arm"
    (tmp_path / "e").mkdir()
    assert _package_name(tmp_path / "e") == _package_name(tmp_path / "lost") == ""


def test_packages_are_searched_in_the_order_of_the_documentation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named"
    in_path = package(tmp_path / "path" / "deep" / "x", "arm")
    installed = tmp_path / "ament" / "share" / "arm"
    installed.mkdir(parents=True)
    above = package(tmp_path / "above", "arm")
    file = str(above / "urdf" / "r.xacro")
    monkeypatch.setenv("ROS_PACKAGE_PATH", f":{tmp_path / 'lost'}:{tmp_path / 'path'}")
    monkeypatch.setenv("AMENT_PREFIX_PATH", f":{tmp_path / 'lost'}:{tmp_path / 'ament'}")
    assert Packages({"arm": str(named)}, file).folder("arm") == str(named)
    assert Packages({"leg": str(named)}, file).folder("arm") == str(in_path)
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    assert Packages({}, file).folder("arm") == str(installed)
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    packages = Packages({}, file)
    assert packages.folder("arm") == packages.folders["arm"] == str(above)
    assert Packages({}, file).folder("above") == str(above)
    for searched in (Packages({}, file), Packages({}, "")):
        with pytest.raises(NoPackage, match="leg"):
            searched.folder("leg")
    with pytest.raises(NoPackage):
        Packages({}, "").folder("arm")
    monkeypatch.chdir(tmp_path)
    assert Packages({"arm": "named"}, "").folder("arm") == str(named)


def test_folders_in_a_package_and_hidden_folders_are_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    package(tmp_path / "a", "outer")
    package(tmp_path / "a" / "b", "arm")
    package(tmp_path / ".hidden", "arm")
    with pytest.raises(NoPackage):
        Packages({}, "").folder("arm")
    package(tmp_path / "z" / "second", "arm")
    first = package(tmp_path / "c" / "first", "arm", "package.xml")
    assert Packages({}, "").folder("arm") == str(first)
    old = package(tmp_path / "b" / "arm", manifest="manifest.xml")
    assert Packages({}, "").folder("arm") == str(old)


def test_the_number_of_searched_folders_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path, its folders a and b, and the package itself are four folders."""
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    nearest = package(tmp_path / "b" / "arm", "arm")
    (tmp_path / "a").mkdir()
    assert xacro_program.MOST_FOLDERS == 100_000
    monkeypatch.setattr(xacro_program, "MOST_FOLDERS", 4)
    assert Packages({}, "").folder("arm") == str(nearest)
    monkeypatch.setattr(xacro_program, "MOST_FOLDERS", 3)
    with pytest.raises(NoPackage):
        Packages({}, "").folder("arm")


# -- arguments and lines ---------------------------------------------------------------------------


def test_arguments_remember_which_names_were_used() -> None:
    arguments = Arguments({"a": "1", "b": "2", "c": "3"})
    assert arguments["a"] == "1"
    assert "b" in arguments
    assert "d" not in arguments
    assert arguments.used == {"a", "b", "d"}
    assert Arguments({"a": "1"}).used == set()


def test_an_excerpt_has_a_line_if_it_occurs_once(tmp_path: Path) -> None:
    text = "a\nb x\nc"
    assert _line("x", None, text) == _line("b x", "", text) == 2
    assert _line("a", None, text) == 1
    for excerpt, source in (("x", "x x"), ("y", text), ("", text)):
        assert _line(excerpt, None, source) is None
    file = tmp_path / "f.xacro"
    file.write_text("\n\ny")
    assert _line("y", str(file), text) == 3
    assert _line("x", str(file), text) is None
    assert _line("x", str(tmp_path / "lost"), text) is None
    file.write_bytes(b"\xff y")
    assert _line("y", str(file), text) is None


class ArgException(Exception):
    """The package's error for an argument without a value."""


def caused(cause: BaseException | None, message: str = "message") -> Exception:
    error = Exception(message)
    error.exc = cause  # type: ignore[attr-defined]
    return error


def test_faults_name_a_remedy() -> None:
    files: list[str | None] = ["macro.xacro", None]
    unknown = _fault(caused(None, "an  odd\nerror (<expression>, line 1)"), files, "")
    assert unknown == {
        "what": "an odd error",
        "hint": "correct the macros",
        "file": "macro.xacro",
        "line": None,
    }
    assert _fault(ValueError(), files, "")["what"] == "ValueError"
    assert _fault(ValueError(), [None], "")["file"] == ""
    missing = _fault(caused(NoPackage("arm")), files, "")
    assert missing["what"] == "the ROS package 'arm' is not found"
    assert missing["hint"] == "name its folder: --package arm=FOLDER"
    argument = _fault(caused(ArgException("side")), files, "")
    assert argument["what"] == "its argument 'side' has no value"
    assert argument["hint"] == "give one: --xacro side:=VALUE"
    assert _fault(RecursionError(), files, "")["what"] == "its macros call each other without end"


def test_faults_of_the_xml_have_the_line_of_the_parser() -> None:
    def fault(text: str) -> dict[str, Any]:
        with pytest.raises(ExpatError) as caught:
            ParserCreate(namespace_separator=" ").Parse(text, True)
        return _fault(caught.value, ["macro.xacro", "main.xacro"], text)

    mismatch = fault("<a>\n\n<b></a>")
    assert mismatch["what"] == "not well-formed XML: mismatched tag"
    assert (mismatch["file"], mismatch["line"]) == ("main.xacro", 3)
    assert mismatch["hint"] == "correct the XML"
    prefix = fault("<a>\n<x:b/></a>")
    assert (prefix["what"], prefix["line"]) == ("not well-formed XML: unbound prefix", 2)
    assert prefix["hint"].startswith("declare xmlns:xacro=")


def test_faults_of_expressions_have_the_line_of_their_excerpt(tmp_path: Path) -> None:
    file = tmp_path / "macro.xacro"
    file.write_text("\n<m/>\n${lost}")
    text = "\n\n\n${y}"
    for message, files, expected in (
        ("when evaluating expression 'lost' x", [str(file), None], (str(file), 3)),
        ("when evaluating expression 'y' x", [str(file), None], ("", 4)),
        ("unknown macro name: m", [str(file), None], (str(file), 2)),
        ('Invalid parameter "y"', [None], ("", 4)),
        ("when evaluating expression 'none'", [str(file), None], (str(file), None)),
    ):
        fault = _fault(caused(None, message), files, text)
        assert (fault["file"], fault["line"]) == expected


# -- requests --------------------------------------------------------------------------------------


def answer(
    monkeypatch: pytest.MonkeyPatch, text: str, file: str = "", **more: dict[str, str]
) -> dict[str, Any]:
    """Return the answer for a text; the state of the package xacro is restored afterwards."""
    xacro = pytest.importorskip("xacro")
    from xacro import substitution_args

    monkeypatch.setattr(substitution_args, "_eval_find", substitution_args._eval_find)
    monkeypatch.setitem(
        substitution_args._eval_dict, "find", substitution_args._eval_dict.get("find")
    )
    for name in ("macrostack", "filestack"):
        monkeypatch.setattr(xacro, name, getattr(xacro, name))
    request = {"text": text, "file": file, "arguments": {}, "packages": {}, **more}
    return answer_request(request)


def test_a_text_is_expanded_with_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        f'{HEAD}<xacro:arg name="n" default="1"/><xacro:arg name="m" default="2"/>'
        '<link name="l${2 * $(arg n)}"/></robot>'
    )
    expanded = answer(monkeypatch, text, arguments={"n": "4", "k": "5"})
    assert '<link name="l8"/>' in expanded["text"]
    assert expanded["warnings"] == []
    assert "n" in expanded["used"]
    assert "k" not in expanded["used"]
    assert expanded["used"] == sorted(expanded["used"])


def test_folders_of_packages_are_replaced_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer, inner = tmp_path / "arm", tmp_path / "arm" / "hand"
    text = (
        f'{HEAD}<mesh a="$(find arm)/m.stl" b="$(find hand)/m.stl" c="$(find hand)"'
        f' d="{outer}x/m.stl"/></robot>'
    )
    packages = {"arm": str(outer), "hand": str(inner)}
    expanded = answer(monkeypatch, text, packages=packages)["text"]
    for entry in (
        'a="package://arm/m.stl"',
        'b="package://hand/m.stl"',
        'c="package://hand"',
        f'd="{outer}x/m.stl"',
    ):
        assert entry in expanded
    root = answer(monkeypatch, f'{HEAD}<mesh a="$(find r)/m"/></robot>', packages={"r": "/"})
    assert 'a="//m"' in root["text"]


def test_faults_and_warnings_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = answer(monkeypatch, f"{HEAD}\n<link name='${{lost}}'/></robot>")
    assert "lost" in fault["what"]
    assert (fault["file"], fault["line"]) == ("", 2)
    no_package = answer(monkeypatch, f"{HEAD}<link name='$(find lost)'/></robot>")
    assert no_package["what"] == "the ROS package 'lost' is not found"
    in_macro = answer(
        monkeypatch,
        f"{HEAD}<xacro:macro name='m'>\n<link name='${{lost}}'/></xacro:macro>\n<xacro:m/></robot>",
    )
    assert in_macro["line"] == 2
    redefined = '<xacro:property name="pi" value="3"/>'
    assert answer(monkeypatch, f"{HEAD}{redefined}</robot>")["warnings"] == [
        "redefining global symbol: pi"
    ]


def test_a_fault_in_nested_macros_is_that_of_the_innermost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner.xacro"
    inner.write_text(
        f"{HEAD}\n<xacro:macro name='inner'>\n<link name='${{lost}}'/></xacro:macro></robot>"
    )
    fault = answer(
        monkeypatch,
        f"{HEAD}<xacro:include filename='{inner}'/><!-- lost -->"
        "<xacro:macro name='outer'><xacro:inner/></xacro:macro><xacro:outer/></robot>",
    )
    assert (fault["file"], fault["line"]) == (str(inner), 3)


def test_a_request_on_stdin_is_answered_on_stdout_within_its_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    resource = pytest.importorskip("resource")
    limits: list[Any] = []
    text = f'{HEAD}<link name="a"/></robot>'
    expected = answer(monkeypatch, text)
    request = {"text": text, "file": "", "arguments": {}, "packages": {}}
    monkeypatch.setattr(resource, "setrlimit", lambda *limit: limits.append(limit))
    monkeypatch.setattr(
        "sys.stdin", io.StringIO(json.dumps({**request, "memory": 2**30, "path": sys.path}))
    )
    main()
    assert limits == [(resource.RLIMIT_AS, (2**30, 2**30))]  # both the soft and the hard limit
    assert json.loads(capsys.readouterr().out) == expected

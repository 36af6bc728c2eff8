"""Requests to the process that expands macros, its answers, and calls of undefined macros."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from lxml import etree

from symgen.description.asking import FileOptions
from symgen.description.parsing.macros import (
    available,
    expand_macros,
    expansion_error,
    undefined_calls,
)
from symgen.description.quantities import Location
from symgen.support.errors import DescriptionError

Requests = list[dict[str, Any]]


def answering(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], str]) -> Requests:
    """Let `answer` produce the output of the process; return the list of its requests."""
    requests: Requests = []

    def run(*_: Any, input: str, timeout: float, **__: Any) -> SimpleNamespace:
        requests.append({**json.loads(input), "seconds": timeout})
        return SimpleNamespace(stdout=answer())

    monkeypatch.setattr(subprocess, "run", run)
    return requests


def refusal(options: FileOptions | None = None) -> str:
    with pytest.raises(DescriptionError) as caught:
        expand_macros("<robot/>", "r.xacro", options or FileOptions())
    return str(caught.value)


def expanded(**changes: Any) -> str:
    return json.dumps({"text": "<robot/>", "used": [], "warnings": [], **changes})


def test_a_request_has_the_options_and_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Macros may take 60 s and 2 GiB."""
    requests = answering(monkeypatch, lambda: expanded(used=["a", "b"], warnings=["w"]))
    options = FileOptions(xacro={"a": "1"}, packages={"p": "folder"})
    path = tmp_path / "r.xacro"
    path.touch()
    text, notes = expand_macros("<robot>1</robot>", str(path), options)
    assert text == "<robot/>"
    assert [(note.kind, note.text) for note in notes] == [("info", "xacro: w")]
    expand_macros("<robot/>", "<text>", FileOptions())
    with_file, without_file = requests
    assert with_file["text"] == "<robot>1</robot>"
    assert (with_file["file"], without_file["file"]) == (str(path), "")
    assert (with_file["arguments"], with_file["packages"]) == ({"a": "1"}, {"p": "folder"})
    assert (with_file["memory"], with_file["seconds"]) == (2 * 1024**3, 60)


def test_a_process_without_an_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_slow() -> str:
        raise subprocess.TimeoutExpired("python", 60)

    def not_started() -> str:
        raise OSError(12, "Cannot allocate memory")

    expand = "; expand them with xacro"
    for answer, fault in (
        (too_slow, "its macros take more than 60 s"),
        (not_started, "Python cannot be started to expand its macros (Cannot allocate memory)"),
        (str, "the package xacro ended without a result for its macros"),
    ):
        answering(monkeypatch, answer)
        assert refusal() == f"r.xacro: {fault}{expand}"


def test_a_fault_has_its_place_and_at_most_200_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    for file, line, start in (
        ("", None, "r.xacro"),
        ("", 3, "r.xacro:3"),
        ("in.xacro", 7, "in.xacro:7"),
    ):
        fault = {"what": "x" * 201, "hint": "correct it", "file": file, "line": line}
        answering(monkeypatch, lambda fault=fault: json.dumps(fault))  # type: ignore[misc]
        assert refusal() == f"{start}: xacro: {'x' * 200}…; correct it"


@pytest.mark.parametrize(
    ("used", "hint"),
    [
        (["length", "width"], "did you mean 'length'?"),
        (["a", "b"], "its arguments are: a, b"),
        ([], "its arguments are: none"),
    ],
)
def test_an_argument_that_no_macro_uses_is_refused(
    used: list[str], hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, lambda: expanded(used=used))
    message = refusal(FileOptions(xacro={"lenght": "1"}))
    assert message == f"r.xacro: its macros use no argument 'lenght'; {hint}"


def test_a_module_without_a_specification_is_not_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType("xacro")
    assert module.__spec__ is None
    monkeypatch.setitem(sys.modules, "xacro", module)
    assert not available()
    module.__spec__ = ModuleSpec("xacro", None)
    assert available()


@pytest.mark.parametrize(
    ("file", "output"),
    [("robots/arm.urdf.xacro", "arm"), ("arm", "arm"), (".xacro", "robot"), ("<text>", "<text>")],
)
def test_without_the_package_the_message_has_a_command(file: str, output: str) -> None:
    command = f"run: xacro {file} -o {output}.expanded.urdf, or pip install 'symgen[xacro]'"
    message = str(expansion_error(Location(file)))
    assert message == f"{file}: it contains xacro macros, which must be expanded first; {command}"


@pytest.mark.parametrize(
    ("inside", "undefined"),
    [
        ("<xacro:property/><xacro:if/>", []),
        ("<xacro:leg/>", ["leg"]),
        ('<xacro:macro name="leg"/><xacro:leg/><xacro:arm/>', ["arm"]),
        ('<xacro:macro name="xacro:leg"/><link><xacro:leg/></link>', []),
        ("<xacro:include/><xacro:leg/>", []),
        ("<leg/>", []),
    ],
)
def test_calls_of_macros_that_a_text_does_not_define(inside: str, undefined: list[str]) -> None:
    namespace = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    root = etree.fromstring(f"<robot {namespace}>{inside}</robot>")
    assert [etree.QName(element).localname for element in undefined_calls(root)] == undefined

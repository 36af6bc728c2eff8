"""The command of the C compiler, and its name and version, with scripts in place of compilers."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from symgen.machine import compilers
from symgen.machine.compilers import compiler_version, find_compiler
from symgen.support.errors import BuildError

GNU = "Copyright (C) 2022 Free Software Foundation, Inc."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder in which programs are looked for; Python was built by `builder`."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: {"CC": "builder -pthread"}[name])
    return tmp_path


def install(folder: Path, name: str, *output: str, status: int = 0) -> Path:
    lines = "".join(f"echo '{line}'\n" for line in output)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{lines}exit {status}\n")
    path.chmod(0o755)
    return path


# -- the command -----------------------------------------------------------------------------------


def test_compilers_are_tried_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """$CC, the one that built Python with its options, then cc, gcc and clang."""
    with pytest.raises(BuildError, match="no C compiler was found; on Debian and Ubuntu"):
        find_compiler()
    for name in ("clang", "gcc", "cc"):
        install(folder, name)
        assert find_compiler() == (name,)
    install(folder, "builder")
    assert find_compiler() == ("builder", "-pthread")
    monkeypatch.setenv("CC", "clang -m64")
    assert find_compiler() == ("clang", "-m64")
    monkeypatch.setenv("CC", "")
    assert find_compiler() == ("builder", "-pthread")


def test_a_python_without_a_compiler_of_its_own_uses_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(folder, "gcc")
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: None)
    assert find_compiler() == ("gcc",)


def test_a_compiler_that_the_user_names_is_not_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(folder, "gcc")
    monkeypatch.setenv("CC", "missing -O2")
    with pytest.raises(
        BuildError, match="the C compiler 'missing -O2' that CC names was not found"
    ):
        find_compiler()
    monkeypatch.setenv("CC", "  ")
    with pytest.raises(BuildError, match="that CC names was not found"):
        find_compiler()


def test_windows_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(folder, "gcc")
    monkeypatch.setattr("symgen.machine.compilers.os.name", "nt")
    with pytest.raises(BuildError, match="needs a POSIX system; on Windows use WSL"):
        find_compiler()


# -- name and version ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "first_line", "second_line", "version"),
    [
        ("gcc", "gcc (Debian 12.2.0-14) 12.2.1", GNU, "gcc 12.2.1"),
        ("cc", "cc (Debian 12.2.0-14) 12.2.1", GNU, "gcc 12.2.1"),
        ("x86_64-linux-gnu-gcc-12.2", "x86_64-linux-gnu-gcc-12.1 (GCC) 12.2.1", GNU, "gcc 12.2.1"),
        ("c99", "c99 (GCC) 12.2.1", GNU, "gcc 12.2.1"),
        ("gcc", "gcc (Build 12.2.0)", GNU, "gcc 12.2.0"),
        ("cc", "Debian clang version 14.0.6", "Target: x86_64", "clang 14.0.6"),
        ("gcc", "Apple clang version 15.0.0 (clang-1500.3.9.4)", GNU, "clang 15.0.0"),
        ("tcc", "tcc version 0.9.27 (x86_64 Linux)", "", "tcc 0.9.27"),
        ("tcc", "tcc version 0.9.27 (x86_64 Linux)", GNU, "tcc 0.9.27"),
        ("gcc", "gcc-like 3.1", "no copyright", "gcc 3.1"),
        ("icc", "icc-2021.7 beta", GNU, "icc 2021.7"),
        ("icc", "version unknown", "1.2.3", "icc (unknown version)"),
    ],
)
def test_the_first_line_states_the_version(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    first_line: str,
    second_line: str,
    version: str,
) -> None:
    """The number outside parentheses, else the first one; not what is part of a word."""
    monkeypatch.setenv("CC", str(install(folder, name, first_line, second_line)))
    assert compiler_version() == version


def test_cc_without_a_copyright_of_gnu_is_not_called_gcc(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", str(install(folder, "cc", "cc 7.5", "Copyright of nobody")))
    assert compiler_version() == "cc 7.5"
    monkeypatch.setenv("CC", str(install(folder, "acc", "acc 7.5", GNU)))
    assert compiler_version() == "acc 7.5"


@pytest.mark.parametrize("command", ["missing", "'", "silent"])
def test_without_a_compiler_there_is_no_version(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    if command == "silent":
        (folder / command).write_text("#!/bin/nothing\n")
        (folder / command).chmod(0o755)
    monkeypatch.setenv("CC", command)
    assert compiler_version() == "no C compiler"


def test_a_compiler_is_asked_for_its_version_with_its_options(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "echoing"
    path.write_text('#!/bin/sh\necho "$*" 4.2\n')
    path.chmod(0o755)
    monkeypatch.setenv("CC", f"{path} -m32")
    assert compiler_version() == "echoing 4.2"
    path.write_text('#!/bin/sh\n[ "$*" = "-m32 --version" ] && echo 4.3\n')
    assert compiler_version() == "echoing 4.3"
    assert compilers.VERSION_TIMEOUT <= 5  # `symgen --version` is fast

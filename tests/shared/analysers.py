"""Sanitizers, analysers and the real types that generated C is examined with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.shared.folders import run

ROBOTS = ("panda", "planar_arm", "planar_point_mass", "puma560", "scara", "ur5")

REALS = ("double", "float")

REQUIRED = os.environ.get("SYMGEN_FIRMWARE_TOOLS") == "required"

UNWANTED = {
    "declaration-after-statement": (
        "C99 declares where a value is first known; the note is meant for C89"
    ),
    "unsafe-buffer-usage": "asks for C++ containers in place of every array that is a parameter",
}
"""Warnings of clang's -Weverything that are off, with the reasons."""

ADDRESSES = (
    "-fsanitize=address,undefined,float-divide-by-zero,float-cast-overflow",
    "-fno-sanitize-recover=all",
)

SANITIZERS = {
    "gcc: addresses, undefined behaviour": ("gcc", *ADDRESSES),
    "clang: addresses, undefined behaviour, integers": ("clang", "-fsanitize=integer", *ADDRESSES),
    "clang: memory": ("clang", "-fsanitize=memory", "-fno-sanitize-recover=all"),
}


def tool(name: str) -> str:
    """The path of a tool; where it is missing the test is skipped, or fails when the tools are
    required.
    """
    path = shutil.which(name)
    if path is None and REQUIRED:
        pytest.fail(f"{name} is not installed, though SYMGEN_FIRMWARE_TOOLS says that it is")
    if path is None:
        pytest.skip(f"{name} is not installed: make firmware-tools")
    return path


def built(done: subprocess.CompletedProcess[str]) -> None:
    """Assert that a compiler succeeded; skip the test if clang's run-time library is missing, as in
    `tool`.
    """
    if done.returncode and "libclang_rt" in done.stderr and not REQUIRED:
        pytest.skip("clang has no run-time library: make firmware-tools")
    assert done.returncode == 0, done.stderr


def misra(*files: Path) -> set[str]:
    """The rules that cppcheck's addon sees broken; anything else that cppcheck reports is returned
    as it is.
    """
    done = run(
        tool("cppcheck"),
        "--addon=misra",
        "--enable=style,warning,performance,portability",
        "--std=c99",
        "--quiet",
        "--template={id}",
        *files,
    )
    assert done.returncode == 0, done.stdout
    return {re.sub(r"^misra-c2012-", "Rule ", line) for line in done.stderr.splitlines()}

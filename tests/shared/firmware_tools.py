"""Tools that firmware tests need, and `make` in a generated folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from symgen.machine import targets

REQUIRED = os.environ.get("SYMGEN_FIRMWARE_TOOLS") == "required"


def need(target: str) -> None:
    """A tool that is missing fails on CI, and is a skip with a reason elsewhere."""
    machine = targets.find(target)
    needed_tools = ("make", machine.compiler, *machine.emulator[:1])
    missing = [tool for tool in needed_tools if shutil.which(tool) is None]
    if missing and REQUIRED:
        pytest.fail(f"{target} needs {', '.join(missing)}")
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed: make firmware-tools")


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Both streams as one: QEMU writes what a program prints to its own stderr."""
    command = ["make", "-s", "-j2", "-C", str(folder / "firmware"), *words]
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=100,
    )

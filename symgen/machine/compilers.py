"""Find the C compiler and its version.

This module imports only the standard library and `errors`, so that `symgen --version` is fast.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

from symgen.support.errors import BuildError

INSTALL_HINT = (
    "on Debian and Ubuntu, 'apt install gcc python3-dev' installs the compiler and Python's headers"
)
VERSION_TIMEOUT = 5.0
"""Seconds to wait for the output of `--version`."""


def find_compiler() -> tuple[str, ...]:
    """Return the command of the C compiler: $CC, else the one that built Python, else cc, gcc or
    clang.

    Raises BuildError if none is found.
    """
    if os.name == "nt":
        raise BuildError(
            "compiling functions in Python needs a POSIX system; on Windows use WSL, or build the"
            " generated folder with CMake"
        )
    from_environment = os.environ.get("CC")
    candidates = (
        [from_environment]
        if from_environment
        else [str(sysconfig.get_config_var("CC") or ""), "cc", "gcc", "clang"]
    )
    for candidate in candidates:
        command = shlex.split(candidate)
        if command and shutil.which(command[0]):
            return tuple(command)
    if from_environment:
        raise BuildError(
            f"the C compiler '{from_environment}' that CC names was not found; correct CC or"
            " unset it"
        )
    raise BuildError(f"no C compiler was found; {INSTALL_HINT}, or set CC to the name of one")


def compiler_version() -> str:
    """Return the name and version of the compiler that `find_compiler` returns, such as `gcc
    12.2.0`; "no C compiler" if none is found.
    """
    try:
        command = find_compiler()
        completed = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=VERSION_TIMEOUT,
        )
    except (BuildError, OSError, ValueError, subprocess.SubprocessError):
        return "no C compiler"
    first = completed.stdout.partition("\n")[0]
    # the version outside parentheses, as in "gcc (Debian 12.2.0-14) 12.2.0", else the first one
    # anywhere
    versions = re.findall(
        r"(?<![\w.-])\d+(?:\.\d+)+", re.sub(r"\([^)]*\)", "", first)
    ) or re.findall(r"\d+(?:\.\d+)+", first)
    executable = Path(command[0]).name
    is_gcc = "Free Software Foundation" in completed.stdout and re.search(
        r"(?:^|-)(?:g?cc|c99)(?:-[\d.]+)?$", executable
    )
    name = "clang" if "clang" in first else "gcc" if is_gcc else executable
    return f"{name} {versions[0]}" if versions else f"{name} (unknown version)"

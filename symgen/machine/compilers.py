"""Search for the C compiler, its name and version. It imports little, since `symgen --version` uses
it.
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

WAY_OUT = "on Debian and Ubuntu 'apt install gcc python3-dev' brings both"
PATIENCE = 5.0
"""Seconds to wait for a compiler's name."""


def find_compiler() -> tuple[str, ...]:
    """Return the command of the C compiler: $CC, else the one that built Python, else cc, gcc or
    clang.

    Raises BuildError if none is found.
    """
    if os.name == "nt":
        raise BuildError(
            "the solver needs a POSIX system; on Windows use WSL, or build the generated folder with CMake"
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
            f"the C compiler '{from_environment}' that CC names was not found; correct CC or unset it"
        )
    raise BuildError(f"no C compiler was found; {WAY_OUT}, or set CC to the name of one")


def compiler_version() -> str:
    """Return the name and version of the solver's compiler, such as `gcc 12.2.0`; "no C compiler"
    if none is found.
    """
    try:
        command = find_compiler()
        done = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=PATIENCE,
        )
    except (BuildError, OSError, ValueError, subprocess.SubprocessError):
        return "no C compiler"
    first = done.stdout.partition("\n")[0]
    numbers = re.findall(
        r"(?<![\w.-])\d+(?:\.\d+)+", re.sub(r"\([^)]*\)", "", first)
    ) or re.findall(r"\d+(?:\.\d+)+", first)
    called = Path(command[0]).name
    gnu = "Free Software Foundation" in done.stdout and re.search(
        r"(?:^|-)(?:g?cc|c99)(?:-[\d.]+)?$", called
    )
    name = "clang" if "clang" in first else "gcc" if gnu else called
    return f"{name} {numbers[0]}" if numbers else f"{name} of no known version"

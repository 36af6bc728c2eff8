"""Memory of a function on this machine: bytes of code and stack, from the compiler and `size`."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from symgen.emission import printer
from symgen.ir.loops import Form
from symgen.machine.building import Build
from symgen.machine.compilers import find_compiler
from symgen.machine.stack_usage import stack_bytes
from symgen.support.errors import BuildError
from symgen.vocabulary.target import Target

CODE = (".text", ".rodata", ".literal")
"""Sections in flash: instructions and their constants."""
_TIMEOUT = 600


@dataclass(frozen=True)
class Footprint:
    """Bytes of `code` (including constants) and of `stack` (without libm's); a None has its reason
    in `missing`.
    """

    code: int | None
    stack: int | None
    missing: dict[str, str] = field(default_factory=dict)


def footprint(program: Form, target: Target, build: Build) -> Footprint:
    """Compile one function and return its memory. Raises BuildError if there is no compiler."""
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="symgen-size-") as name:
        folder, file = Path(name), target.c_file(program.function)
        texts = printer().texts({program.function: program}, target)
        for name_of_text, text in texts.items():
            (folder / name_of_text).write_text(text, encoding="utf-8")
        flags = [flag for flag in build.flags if flag not in ("-fPIC", "-fvisibility=hidden")]
        command = [*find_compiler(), "-std=c99", *flags, "-c", file, "-o", "one.o"]
        stack_size = None
        if not _run([*command, "-fstack-usage"], folder).returncode:
            usage = "\n".join(file.read_text(encoding="utf-8") for file in folder.glob("*.su"))
            stack_size = stack_bytes(usage, target.symbol(program.function))
        else:
            second_run = _run(command, folder)
            if second_run.returncode:
                first = next(
                    (line.strip() for line in second_run.stderr.splitlines() if "error" in line),
                    "no reason given",
                )
                raise BuildError(f"the C compiler {command[0]} refused the generated text: {first}")
        if stack_size is None:
            missing["stack"] = (
                f"the compiler {command[0]} does not state the stack of a function (-fstack-usage)"
            )
        code = _code(folder)
        if code is None:
            missing["code"] = (
                "the program 'size' of binutils, which reads object files, is not installed"
            )
    return Footprint(code, stack_size, missing)


def _code(folder: Path) -> int | None:
    """Return the bytes of code from the sections `NAME BYTES ADDRESS`, one a line; None without
    `size`.
    """
    try:
        done = _run(["size", "-A", "-d", "one.o"], folder)
    except OSError:
        return None
    sections = [line.split() for line in done.stdout.splitlines()]
    sizes = [
        int(words[1])
        for words in sections
        if len(words) == 3 and words[1].isdigit() and words[0].startswith(CODE)
    ]
    return sum(sizes) if sizes else None


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT,
        check=False,
    )

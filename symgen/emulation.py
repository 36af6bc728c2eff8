"""Compile, link and run C for a target, as its file in `symgen.targets` says."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from symgen.errors import BuildError, ToolMissing
from symgen.targets import Machine

EXACT_TIME = ("-icount", "shift=10,align=off,sleep=off")
"""QEMU's clock advances by 2^10 ns with every instruction, and by nothing else."""
_TIMEOUT = 300


@dataclass(frozen=True)
class Toolchain:
    """The tools of `machine` at work in `folder`. Every method raises BuildError when a tool is missing or refuses."""

    machine: Machine
    folder: Path

    def compile(self, source: str, result: str, *flags: str) -> None:
        """One C file to an object file."""
        self.tool("gcc", *flags, *self.machine.flags, "-c", source, "-o", result)

    def link(self, result: str, *objects: str) -> None:
        """Object files and libm to a program."""
        self.tool("gcc", *self.machine.flags, *self.machine.link, *objects, "-lm", "-o", result)

    def versions(self) -> tuple[str, str]:
        """The compiler and the emulator, each by the first line of what it says of itself."""
        return (self.tool("gcc", "--version").splitlines()[0],
                self._run([self.machine.emulator[0], "--version"]).splitlines()[0])

    def tool(self, name: str, *words: str) -> str:
        """What one of the compiler's and binutils' programs prints."""
        return self._run([self.machine.prefix + name, *words])

    def run(self, program: str) -> str:
        """What a program prints in QEMU, by a clock that counts instructions."""
        emulator, *options = self.machine.emulator
        return self._run([emulator, *EXACT_TIME, *options, program])

    def _run(self, command: Sequence[str]) -> str:
        if shutil.which(command[0]) is None:
            raise ToolMissing(f"{command[0]} is not installed; on Debian 'apt install {self.machine.packages}' brings it")
        try:
            done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT, errors="replace", timeout=_TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            raise BuildError(f"{command[0]} did not end within {_TIMEOUT} s; ask for fewer functions with -f") from None
        if done.returncode:
            lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
            telling = [line for line in lines if "error" in line or "overflowed" in line or "will not fit" in line]
            raise BuildError(f"{command[0]} refused the generated text for {self.machine.title}: "
                             f"{next(iter(telling or lines), 'no reason given')}")
        return done.stdout

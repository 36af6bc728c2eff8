"""Compile, link and run C for a target, as its file in `symgen.machine.targets` says."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from symgen.machine.targets import Machine
from symgen.support.errors import BuildError, TextRefused, ToolMissing

EXACT_TIME = ("-icount", "shift=10,align=off,sleep=off")
"""QEMU's clock advances by 2^10 ns with every instruction, and by nothing else."""
_TIMEOUT = 300
_QUOTES = str.maketrans("\u2018\u2019", "''")
"""GCC's quotation marks in a Unicode locale as those in another one."""
_EXECUTED = re.compile(r"Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/")


_PROBE = "#include <math.h>\nint main(void) { return 0; }\n"
"""A program that a compiler builds if it and its C library work at all."""


class _Failed(BuildError):
    """A tool ended with another exit code than 0; `reason` is the line of its output that says why."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True)
class Toolchain:
    """The tools of `machine` at work in `folder`.

    Every method raises BuildError when a tool fails: ToolMissing when it is not installed, TextRefused when the compiler refuses
    a text and builds another program.
    """

    machine: Machine
    folder: Path

    def compile(self, source: str, result: str, *flags: str) -> None:
        """One C file to an object file."""
        self._build(*flags, *self.machine.flags, "-c", source, "-o", result)

    def link(self, result: str, *objects: str) -> None:
        """Object files and libm to a program."""
        self._build(*self.machine.flags, *self.machine.link, *objects, "-lm", "-o", result)

    def versions(self) -> tuple[str, str]:
        """The compiler and the emulator, each by the first line of its version text."""
        return (
            self.tool("gcc", "--version").splitlines()[0],
            self._run([self.machine.emulator[0], "--version"]).splitlines()[0],
        )

    def tool(self, name: str, *words: str) -> str:
        """What one of the compiler's or binutils' programs prints."""
        return self._run([self.machine.prefix + name, *words])

    def run(self, program: str) -> str:
        """What a program prints in QEMU, by a clock that counts instructions."""
        emulator, *options = self.machine.emulator
        return self._run([emulator, *EXACT_TIME, *options, program])

    def image(self, result: str, *objects: str, entry: str) -> None:
        """A program of nothing but the function `entry` of `objects`, the other functions in them, and what these call."""
        link = (*self.machine.link, "-nostartfiles", "-Wl,--gc-sections", f"-Wl,--entry={entry}")
        self._build(*self.machine.flags, *link, *objects, "-lm", "-o", result)

    def with_newlib(self, result: str, *objects: str, entry: str) -> bool:
        """The program of `image`, linked with newlib in place of picolibc. False where there is no newlib."""
        if self.machine.newlib is None:
            return False
        try:
            link = ("-nostartfiles", "-Wl,--gc-sections", f"-Wl,--entry={entry}")
            self.tool("gcc", *self.machine.with_newlib, *link, *objects, "-lm", "-o", result)
        except BuildError:
            return False
        return True

    def trace(self, program: str, addresses: Iterable[tuple[int, int]]) -> Iterator[int]:
        """Addresses of executed instructions in their order, those in [first, last). What the program prints is dropped.

        The emulator ends when the caller stops reading.
        """
        emulator, *options = self.machine.emulator
        ranges = ",".join(f"{first:#x}..{last - 1:#x}" for first, last in addresses)
        version = re.search(r"version (\d+)\.(\d+)", self._run([emulator, "--version"]))
        renamed = version is not None and (int(version[1]), int(version[2])) >= (8, 1)
        single = ("-accel", "tcg,one-insn-per-tb=on") if renamed else ("-singlestep",)
        command = [
            emulator,
            *single,
            "-d",
            "exec,nochain",
            "-dfilter",
            ranges,
            "-D",
            "/dev/stdout",
            *options,
            program,
        ]
        with subprocess.Popen(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            stderr=subprocess.DEVNULL,
            errors="replace",
        ) as run:
            assert run.stdout is not None
            try:
                for line in run.stdout:
                    if match := _EXECUTED.match(line):
                        yield int(match[1], 16)
            finally:
                run.kill()

    def _build(self, *words: str) -> None:
        """Run the compiler. A failure is the text's, TextRefused, if the compiler builds another program."""
        try:
            self.tool("gcc", *words)
        except _Failed as failure:
            (self.folder / "probe.c").write_text(_PROBE, encoding="utf-8")
            probe = (*self.machine.flags, *self.machine.link, "probe.c", "-lm", "-o", "probe.elf")
            try:
                self.tool("gcc", *probe)
            except _Failed as broken:
                raise BuildError(
                    f"{self.machine.compiler} builds no program for {self.machine.title}: {broken.reason}"
                ) from None
            raise TextRefused(str(failure)) from None

    def _run(self, command: Sequence[str]) -> str:
        if shutil.which(command[0]) is None:
            raise ToolMissing(
                f"{command[0]} is not installed; on Debian 'apt install {self.machine.packages}' brings it"
            )
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
                stderr=subprocess.STDOUT,
                errors="replace",
                timeout=_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BuildError(
                f"{command[0]} did not end within {_TIMEOUT} s; ask for fewer functions with -f"
            ) from None
        if done.returncode:
            self._refuse(command[0], done.stdout)
        return done.stdout

    def _refuse(self, tool: str, output: str) -> NoReturn:
        """Raise ToolMissing where the C library's specs are missing, else _Failed with the telling line of the output."""
        flags = [flag for flag in self.machine.flags if flag.startswith("--specs=")]
        specs = [f"spec file '{flag.removeprefix('--specs=')}'" for flag in flags]
        if any(spec in output.translate(_QUOTES) for spec in specs):  # which the library brings
            packages = self.machine.packages
            library = next(word for word in packages.split() if word.startswith("picolibc"))
            raise ToolMissing(
                f"{library} is not installed; on Debian 'apt install {packages}' brings it"
            )
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        telling = [
            line
            for line in lines
            if any(word in line for word in ("error", "overflowed", "will not fit"))
        ]
        reason = next(iter(telling or lines), "no reason given")
        raise _Failed(
            f"{tool} refused the generated text for {self.machine.title}: {reason}", reason
        )

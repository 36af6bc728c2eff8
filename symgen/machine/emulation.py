"""Cross compiler, linker and emulator of a target in `symgen.machine.targets`."""

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
"""GCC's quotation marks in a Unicode locale, mapped to plain ones."""
_EXECUTED = re.compile(r"Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/")
"""Line of QEMU's log for one executed block; the group is the address of its first instruction."""


_PROBE = "#include <math.h>\nint main(void) { return 0; }\n"
"""A program that every working compiler and C library can build."""


class _ToolFailed(BuildError):
    """A tool ended with an exit code other than 0; `reason` is the relevant line of its output."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True)
class Toolchain:
    """The tools of `machine`, run in `folder`.

    Every method raises BuildError if a tool fails: ToolMissing if the tool is not installed,
    TextRefused if the compiler works (it builds a minimal program) but rejects the text.
    """

    machine: Machine
    folder: Path

    def compile(self, source: str, result: str, *flags: str) -> None:
        """Compile one C file to an object file."""
        self._build(*flags, *self.machine.flags, "-c", source, "-o", result)

    def link(self, result: str, *objects: str) -> None:
        """Link object files and libm to a program."""
        self._build(*self.machine.flags, *self.machine.link, *objects, "-lm", "-o", result)

    def versions(self) -> tuple[str, str]:
        """Return the first line of the version text of the compiler and of the emulator."""
        return (
            self.tool("gcc", "--version").splitlines()[0],
            self._run([self.machine.emulator[0], "--version"]).splitlines()[0],
        )

    def tool(self, name: str, *arguments: str) -> str:
        """Return the output of one of the compiler's or binutils' programs."""
        return self._run([self.machine.prefix + name, *arguments])

    def run(self, program: str) -> str:
        """Return the output of a program in QEMU, with a clock that counts instructions."""
        emulator, *options = self.machine.emulator
        return self._run([emulator, *EXACT_TIME, *options, program])

    def image(self, result: str, *objects: str, entry: str) -> None:
        """Link the objects and the library functions that they call into a program that starts at
        `entry`. Sections that nothing refers to are dropped.
        """
        link = (*self.machine.link, "-nostartfiles", "-Wl,--gc-sections", f"-Wl,--entry={entry}")
        self._build(*self.machine.flags, *link, *objects, "-lm", "-o", result)

    def link_with_newlib(self, result: str, *objects: str, entry: str) -> bool:
        """Link the same program as `image`, with newlib instead of picolibc. Return False if newlib
        is missing.
        """
        if self.machine.newlib is None:
            return False
        try:
            link = ("-nostartfiles", "-Wl,--gc-sections", f"-Wl,--entry={entry}")
            self.tool("gcc", *self.machine.with_newlib, *link, *objects, "-lm", "-o", result)
        except BuildError:
            return False
        return True

    def trace(self, program: str, addresses: Iterable[tuple[int, int]]) -> Iterator[int]:
        """Yield the addresses of executed instructions in order, those in the ranges [first, last).

        The program's output is dropped. The emulator ends when the caller stops reading.
        """
        emulator, *options = self.machine.emulator
        ranges = ",".join(f"{first:#x}..{last - 1:#x}" for first, last in addresses)
        version = re.search(r"version (\d+)\.(\d+)", self._run([emulator, "--version"]))
        has_accel_option = version is not None and (int(version[1]), int(version[2])) >= (8, 1)
        single_step = ("-accel", "tcg,one-insn-per-tb=on") if has_accel_option else ("-singlestep",)
        command = [
            emulator,
            *single_step,
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

    def _build(self, *arguments: str) -> None:
        """Run the compiler. Raises TextRefused if the compiler fails here but builds `_PROBE`, and
        BuildError if it fails at both.
        """
        try:
            self.tool("gcc", *arguments)
        except _ToolFailed as failure:
            (self.folder / "probe.c").write_text(_PROBE, encoding="utf-8")
            probe = (*self.machine.flags, *self.machine.link, "probe.c", "-lm", "-o", "probe.elf")
            try:
                self.tool("gcc", *probe)
            except _ToolFailed as probe_failure:
                raise BuildError(
                    f"{self.machine.compiler} cannot build programs for {self.machine.title}:"
                    f" {probe_failure.reason}"
                ) from None
            raise TextRefused(str(failure)) from None

    def _run(self, command: Sequence[str]) -> str:
        if shutil.which(command[0]) is None:
            raise ToolMissing(
                f"{command[0]} is not installed; on Debian 'apt install {self.machine.packages}'"
                " brings it"
            )
        try:
            completed = subprocess.run(
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
                f"{command[0]} did not end within {_TIMEOUT} s; select fewer functions with -f"
            ) from None
        if completed.returncode:
            self._raise_failure(command[0], completed.stdout)
        return completed.stdout

    def _raise_failure(self, tool: str, output: str) -> NoReturn:
        """Raise ToolMissing if the C library's specs are missing, else _ToolFailed with the
        relevant line of the output.
        """
        flags = [flag for flag in self.machine.flags if flag.startswith("--specs=")]
        specs = [f"spec file '{flag.removeprefix('--specs=')}'" for flag in flags]
        if any(spec in output.translate(_QUOTES) for spec in specs):  # part of the library package
            packages = self.machine.packages
            library = next(word for word in packages.split() if word.startswith("picolibc"))
            raise ToolMissing(
                f"{library} is not installed; on Debian 'apt install {packages}' brings it"
            )
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        error_lines = [
            line
            for line in lines
            if any(word in line for word in ("error", "overflowed", "will not fit"))
        ]
        reason = next(iter(error_lines or lines), "no reason given")
        raise _ToolFailed(
            f"{tool} refused the generated text for {self.machine.title}: {reason}", reason
        )

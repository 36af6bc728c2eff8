"""Target: a compiler, its flags, and the QEMU machine that emulates the chip."""

from __future__ import annotations

from dataclasses import dataclass

from symgen.vocabulary.reals import DOUBLE, FLOAT, REALS


@dataclass(frozen=True)
class Machine:
    """Compiler, memory and emulator of a target.

    `prefix` begins the names of the compiler and of binutils; `flags` select the processor, `link`
    the memory. `flash` and `stack` are the bytes that `link` assigns to code and to the stack (0:
    no bound).

    `emulator` is a command that runs a program (empty: the program runs by itself). `counter` names
    the template of `templates/firmware/` that reads the instruction counter (empty: none).
    `double_in_software` is the ratio of instructions in double to those in float (measured on
    Panda's forward dynamics), 0 for an FPU with double precision. `panda_frame` is the largest
    frame (bytes, float, -O2) of a function of Panda with one result a joint.

    `packages` are Debian's. `core` is GCC's name of a processor whose manual states cycles (empty:
    none). `newlib` are the flags that link newlib instead of picolibc (None: Debian has none for
    it). `scheduling` are gcc's flags for another order of the instructions on `architecture`: the
    same arithmetic; times are measured with them.
    """

    title: str
    prefix: str
    flags: tuple[str, ...]
    link: tuple[str, ...]
    flash: int
    stack: int
    emulator: tuple[str, ...]
    counter: str
    double_in_software: int
    panda_frame: int
    packages: str
    core: str = ""
    newlib: tuple[str, ...] | None = None
    scheduling: tuple[str, ...] = ()
    architecture: str = ""

    @property
    def compiler(self) -> str:
        """Return the name of the C compiler."""
        return f"{self.prefix}gcc"

    @property
    def real(self) -> str:
        """Return the widest real type that the FPU computes in."""
        return FLOAT.name if self.double_in_software else DOUBLE.name

    def frame(self, real: str, joints: int, results: int) -> int:
        """Return the bytes of stack that a function with `results` result numbers may take at -O2.

        Each joint beyond Panda's seven adds a seventh of `panda_frame`; a double is twice a float.
        A result waits on the stack until every argument is read, so results beyond one a joint are
        added.
        """
        numbers = self.panda_frame * max(joints, _PANDA) // (FLOAT.size * _PANDA) + max(
            results - joints, 0
        )
        return numbers * REALS[real].size

    @property
    def with_newlib(self) -> tuple[str, ...]:
        """Return the `flags` for newlib."""
        return tuple(flag for flag in self.flags if flag != PICOLIBC) + (self.newlib or ())


_PANDA = 7
"""Number of joints of the robot for which `Machine.panda_frame` is stated."""

SEMIHOSTED = (
    "-semihosting-config",
    "enable=on",
    "-monitor",
    "none",
    "-serial",
    "none",
    "-nographic",
    "-kernel",
)
"""QEMU's options for a program that prints and exits through semihosting."""


PICOLIBC = "--specs=picolibc.specs"
"""The C library's headers and, in the link, its start-up code."""


FLASH = RAM = 4 << 20
STACK = 64 << 10


def memory(flash: int, ram: int) -> tuple[str, ...]:
    """Return the linker flags: picolibc's semihosting, code at address `flash`, data at `ram`, with
    sizes FLASH, RAM and STACK.
    """
    places = {
        "__flash": flash,
        "__flash_size": FLASH,
        "__ram": ram,
        "__ram_size": RAM,
        "__stack_size": STACK,
    }
    symbols = (f"-Wl,--defsym={name}={value:#x}" for name, value in places.items())
    return ("--oslib=semihost", "--crt0=semihost", *symbols)

"""What a target is: its compiler, its flags, and the machine of QEMU that stands in for the chip."""

from __future__ import annotations

from dataclasses import dataclass

from symgen.vocabulary.reals import DOUBLE, FLOAT, REALS


@dataclass(frozen=True)
class Machine:
    """`prefix` begins the names of the compiler and of binutils; `flags` choose the processor, `link` the memory.

    `flash` and `stack` are the bytes that `link` gives to code and to the stack (0: no bound).
    `emulator` runs a program given behind it (empty: the program runs by itself). `counter` names the template of
    `templates/firmware/` that reads what grows with every instruction (empty: there is none). `double_in_software` says how
    many times the instructions of float double takes (measured on Panda's forward dynamics), 0 for an FPU that has it.
    `panda_frame` is the largest frame (bytes, float, -O2) that a function of Panda, with one result a joint, may take.
    `packages` are Debian's. `core` is GCC's name of a processor whose manual says something of cycles (empty: there is none).
    `newlib` are the flags that link newlib in place of picolibc (None: Debian has none for it). `scheduling` asks gcc for
    another order of the instructions where it compiles for `architecture`: the same arithmetic, and what times are measured with.
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
        """The name of the C compiler."""
        return f"{self.prefix}gcc"

    @property
    def real(self) -> str:
        """The widest real type that the FPU computes in."""
        return FLOAT.name if self.double_in_software else DOUBLE.name

    def frame(self, real: str, joints: int, results: int) -> int:
        """Bytes of stack that a function may take at -O2 with `results` numbers for answers.

        Beyond Panda's seven joints each brings a seventh of `panda_frame` more; a double is twice a float. An answer waits on the
        stack until every argument is read, so those beyond one a joint come on top.
        """
        numbers = self.panda_frame * max(joints, _PANDA) // (FLOAT.size * _PANDA) + max(
            results - joints, 0
        )
        return numbers * REALS[real].size

    @property
    def with_newlib(self) -> tuple[str, ...]:
        """`flags` for newlib."""
        return tuple(flag for flag in self.flags if flag != PICOLIBC) + (self.newlib or ())


_PANDA = 7
"""Joints of the robot that `Machine.panda_frame` is stated for."""

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
"""QEMU's options for a program that prints and exits through the debugger's calls."""


PICOLIBC = "--specs=picolibc.specs"
"""The C library's headers and, at the end, its start-up."""


FLASH = RAM = 4 << 20
STACK = 64 << 10


def memory(flash: int, ram: int) -> tuple[str, ...]:
    """Picolibc's semihosting; code from address `flash`, data from `ram`; FLASH and RAM bytes there, of which STACK are stack."""
    places = {
        "__flash": flash,
        "__flash_size": FLASH,
        "__ram": ram,
        "__ram_size": RAM,
        "__stack_size": STACK,
    }
    symbols = (f"-Wl,--defsym={name}={value:#x}" for name, value in places.items())
    return ("--oslib=semihost", "--crt0=semihost", *symbols)

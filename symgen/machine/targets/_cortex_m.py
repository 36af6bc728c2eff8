"""Arm's Cortex-M with a hardware FPU, on QEMU's models of the MPS2 boards."""

from __future__ import annotations

from symgen.machine.targets._machine import FLASH, PICOLIBC, SEMIHOSTED, STACK, Machine, memory


def cortex_m(title: str, core: str, fpu: str, board: str, double_in_software: int) -> Machine:
    """Return the target of a Cortex-M core on a board with flash at address 0 and RAM at
    0x20000000.

    `core` and `fpu` are GCC's names, `board` is QEMU's. `double_in_software` is the ratio of
    instructions in double to those in float; 0 for an FPU with double precision.
    """
    return Machine(
        title=title,
        prefix="arm-none-eabi-",
        flags=(f"-mcpu={core}", "-mthumb", "-mfloat-abi=hard", f"-mfpu={fpu}", PICOLIBC),
        link=memory(0, 0x20000000),
        flash=FLASH,
        stack=STACK,
        emulator=("qemu-system-arm", "-M", board, *SEMIHOSTED),
        counter="systick",
        double_in_software=double_in_software,
        panda_frame=512,
        packages="gcc-arm-none-eabi picolibc-arm-none-eabi qemu-system-arm",
        core=core,
        newlib=(),
    )

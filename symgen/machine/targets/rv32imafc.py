"""RISC-V of 32 bits with single precision in hardware, on QEMU's `virt`, whose RAM replaces flash
and RAM.
"""

from __future__ import annotations

from symgen.machine.targets._machine import FLASH, PICOLIBC, SEMIHOSTED, STACK, Machine, memory

TARGET = Machine(
    title="RISC-V RV32IMAFC",
    prefix="riscv64-unknown-elf-",
    flags=("-march=rv32imafc", "-mabi=ilp32f", PICOLIBC),
    link=memory(0x80000000, 0x80400000),
    flash=FLASH,
    stack=STACK,
    emulator=("qemu-system-riscv32", "-M", "virt", "-bios", "none", *SEMIHOSTED),
    counter="instret",
    double_in_software=60,
    panda_frame=768,
    packages="gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc",
)

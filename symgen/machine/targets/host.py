"""The host machine with its own compiler: a target without a microcontroller."""

from __future__ import annotations

from symgen.machine.targets._machine import Machine

TARGET = Machine(
    title="this machine",
    prefix="",
    flags=(),
    link=(),
    flash=0,
    stack=0,
    emulator=(),
    counter="",
    double_in_software=0,
    panda_frame=640,
    packages="gcc",
    architecture="x86_64",
    scheduling=(
        "-frename-registers",
        "-flive-range-shrinkage",
        "-fschedule-insns",
        "-fsched-pressure",
    ),
)

"""Arm Cortex-M7 with the FPU that has double precision."""

from __future__ import annotations

from symgen.machine.targets._cortex_m import cortex_m

TARGET = cortex_m("Arm Cortex-M7", "cortex-m7", "fpv5-d16", "mps2-an500", double_in_software=0)

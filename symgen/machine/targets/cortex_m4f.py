"""Arm Cortex-M4F: single precision in hardware."""

from __future__ import annotations

from symgen.machine.targets._cortex_m import cortex_m

TARGET = cortex_m("Arm Cortex-M4F", "cortex-m4", "fpv4-sp-d16", "mps2-an386", double_in_software=30)

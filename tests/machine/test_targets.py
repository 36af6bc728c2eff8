"""Targets, their memory and frames, and the compiler options of a build."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from symgen.machine import targets
from symgen.machine.building import Build
from symgen.vocabulary.options import HOST
from symgen.vocabulary.reals import REALS

ROOT = Path(__file__).resolve().parents[2]
COSTS = ROOT / "docs" / "reference" / "microcontroller-costs.md"
COUNTING = targets.targets_with_costs()
ONE_RESULT_A_JOINT = {
    "inverse_dynamics",
    "forward_dynamics",
    "bias_force",
    "gravity_force",
    "mass_matrix_solve",
    "mass_matrix_log_determinant_gradient",
}


# -- targets --


@pytest.mark.parametrize("name", COUNTING)
def test_flash_and_ram_of_a_target_are_disjoint_and_as_large_as_it_states(name: str) -> None:
    machine = targets.find(name)
    symbols = {
        match[1]: int(match[2], 0)
        for flag in machine.link
        if (match := re.fullmatch(r"-Wl,--defsym=__(\w+)=(\S+)", flag))
    }
    assert symbols["flash_size"] == machine.flash
    assert symbols["stack_size"] == machine.stack
    assert symbols["flash"] + symbols["flash_size"] <= symbols["ram"]
    assert symbols["stack_size"] < symbols["ram_size"]
    # Arm's memory map has code at 0 and SRAM at 0x20000000; QEMU's virt has DRAM at 0x80000000
    arm = machine.prefix.startswith("arm")
    assert symbols["flash"] == (0 if arm else 0x80000000)
    assert not arm or symbols["ram"] == 0x20000000


@pytest.mark.parametrize("name", targets.names())
def test_double_is_slow_only_on_an_fpu_of_single_precision(name: str) -> None:
    machine = targets.find(name)
    single = "-mabi=ilp32f" in machine.flags or "-mfpu=fpv4-sp-d16" in machine.flags
    assert machine.real == targets.default_real(name) == ("float" if single else "double")
    assert targets.reason_for_slowness(name, "float") is None
    slow, narrow = targets.reason_for_slowness(name, "double"), targets.reason_for_float(name, None)
    assert (slow is not None, narrow is not None) == (single, single)
    assert targets.reason_for_float(name, machine.real) is None
    if slow is not None:
        assert re.findall(r"about (\d+) times slower", slow) == [str(machine.double_in_software)]
        assert machine.double_in_software > 1


def test_without_a_target_numbers_are_double_and_sines_are_those_of_the_host() -> None:
    assert (targets.default_real(None), targets.default_trig(None)) == ("double", HOST)
    assert {targets.default_trig(name) for name in targets.names()} == {"libm"}
    assert targets.reason_for_float(None, None) is None


@pytest.mark.parametrize("name", targets.names())
def test_a_frame_grows_with_joints_results_and_the_size_of_a_number(name: str) -> None:
    machine = targets.find(name)
    assert machine.frame("float", 7, 7) == machine.frame("float", 2, 2) == machine.panda_frame
    assert machine.frame("float", 14, 14) == 2 * machine.panda_frame
    for joints, results in product((1, 7, 21), (1, 7, 30)):
        single = machine.frame("float", joints, results)
        assert machine.frame("double", joints, results) == 2 * single
        beyond = 4 if results >= joints else 0
        assert machine.frame("float", joints, results + 1) == single + beyond


@pytest.mark.parametrize("name", COUNTING)
def test_the_frame_of_a_target_bounds_the_stacks_of_the_committed_cost_sheet(name: str) -> None:
    machine = targets.find(name)
    _, _, sheet = COSTS.read_text(encoding="utf-8").partition(f"### panda on {machine.title}, ")
    assert sheet
    heading, *lines = [line for line in sheet.partition("\n#")[0].splitlines() if "|" in line]
    column = [cell.strip() for cell in heading.split("|")].index("stack")
    stacks = {
        cells[1].strip("` "): int(cells[column])
        for cells in (line.split("|") for line in lines[1:])
        if cells[column].strip()
    }
    largest = max(stacks[function] for function in ONE_RESULT_A_JOINT)
    size = REALS[machine.real].size
    assert largest <= machine.frame(machine.real, 7, 7) == machine.panda_frame * size // 4
    assert machine.real == "double" or machine.panda_frame < 1.5 * largest


# -- compiler options --


@pytest.mark.parametrize(
    ("optimize", "native", "contract", "threads"),
    list(product((0, 3), (False, True), (False, True), (False, True))),
)
def test_each_option_of_a_build_has_its_flag(
    optimize: int, native: bool, contract: bool, threads: bool
) -> None:
    flags = Build(optimize, native, contract, threads).flags
    assert flags[0] == f"-O{optimize}"
    assert ("-march=native" in flags, "-fopenmp" in flags) == (native, threads)
    assert ("-ffp-contract=fast" in flags, "-ffp-contract=off" in flags) == (contract, not contract)
    # gcc's SLP vectorizer fuses operations where fusion is refused, on a processor that can fuse
    assert ("-fno-tree-slp-vectorize" in flags) == (native and not contract)
    assert len(set(flags)) == len(flags)


def test_a_build_by_default_is_portable_has_one_thread_and_does_not_fuse() -> None:
    flags = Build().flags
    assert {"-O2", "-ffp-contract=off"} <= set(flags)
    assert not {"-march=native", "-fopenmp", "-ffp-contract=fast"} & set(flags)

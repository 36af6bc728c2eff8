"""The cost sheet: what QEMU counts is what the disassembly holds, and Panda keeps to its bounds on a Cortex-M4F."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from symgen import load, targets
from symgen.backends import c99
from symgen.cli import main
from symgen.cost import OPTIMIZE, Cost, measure
from symgen.emulation import Toolchain
from symgen.errors import BuildError
from symgen.firmware import BASE_FLAGS
from symgen.generation import Options, program
from tests.test_firmware import need

COUNTING = [name for name in targets.names() if targets.find(name).counter]
STATES = 12


def one(robot: str, target: str, function: str, real: str = "float") -> Cost:
    need(target)
    (cost,) = measure(load(robot), target, [function], Options(real), STATES)
    return cost


def test_panda_keeps_to_its_bounds_on_a_cortex_m4f() -> None:
    cost = one("panda", "cortex-m4f", "forward_dynamics")
    assert cost.alone[1] <= 2000
    assert cost.flash <= 8000
    assert cost.stack <= 512
    assert cost.ram == 0
    assert set(cost.undefined) <= {"sinf", "cosf", "sqrtf"}


def compiled(robot: str, target: str, function: str, folder: Path) -> Toolchain:
    """The tools, beside the function's one.o."""
    mechanism, made = load(robot), program(load(robot), function, real="float")
    own = c99.Target(robot, mechanism.nq, mechanism.nv)
    (folder / f"{robot}.h").write_text(c99.header({function: made}, own), encoding="utf-8")
    (folder / "one.c").write_text(c99.source(made, own), encoding="utf-8")
    tools = Toolchain(targets.find(target), folder)
    tools.compile("one.c", "one.o", *BASE_FLAGS, OPTIMIZE)
    return tools


@pytest.mark.parametrize("function", ["forward_dynamics", "mass_matrix_log_determinant", "gravity_force"])
@pytest.mark.parametrize("robot", ["scara", "panda"])
def test_what_is_counted_is_what_the_disassembly_holds(robot: str, function: str, tmp_path: Path) -> None:
    """Code without a branch executes each of its instructions once; nops pad the tables of constants that it jumps over."""
    cost = one(robot, "cortex-m4f", function)
    listing = compiled(robot, "cortex-m4f", function, tmp_path).tool("objdump", "-d", "one.o")
    words = re.findall(r"^ +[0-9a-f]+:\t[0-9a-f ]+\t(\S+)", listing, re.MULTILINE)
    assert cost.alone == (len([word for word in words if word not in (".word", "nop")]),) * 2


@pytest.mark.parametrize("target", COUNTING)
def test_bytes_are_those_that_readelf_states(target: str, tmp_path: Path) -> None:
    """What is loaded (flag A) goes to flash, and what is written (W) to RAM."""
    cost = one("panda", target, "forward_dynamics")
    sections = compiled("panda", target, "forward_dynamics", tmp_path).tool("readelf", "-S", "-W", "one.o")
    found = re.findall(r"\] \.\S+ +\S+ +[0-9a-f]{8} [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +([A-Za-z]*) ", sections)
    assert cost.flash == sum(int(size, 16) for size, flags in found if "A" in flags and "W" not in flags)
    assert cost.ram == sum(int(size, 16) for size, flags in found if "W" in flags)


@pytest.mark.parametrize("target", COUNTING)
def test_only_libm_depends_on_the_state(target: str) -> None:
    cost = one("scara", target, "forward_dynamics")
    assert cost.alone[0] == cost.alone[1] < cost.instructions[0] <= cost.instructions[1]
    assert cost.libm_calls == sum(program("scara", "forward_dynamics").operations[op] for op in ("sin", "cos"))
    assert cost.ram == 0


def test_what_calls_no_libm_costs_the_same_with_it_and_without() -> None:
    cost = one("scara", "cortex-m4f", "gravity_force")
    assert cost.libm_calls == 0
    assert cost.alone == cost.instructions


@pytest.mark.parametrize("target", [name for name in COUNTING if targets.find(name).double_in_software])
def test_double_in_software_takes_as_long_as_the_warning_says(target: str) -> None:
    most = [one("panda", target, "forward_dynamics", real).instructions[1] for real in ("float", "double")]
    said = targets.find(target).double_in_software
    assert said / 1.25 < most[1] / most[0] < said * 1.25


def test_the_command_prints_figures_and_the_rate_that_the_clock_allows(capsys: pytest.CaptureFixture[str]) -> None:
    need("cortex-m4f")
    words = ["cost", "scara", "--target", "cortex-m4f", "-f", "forward_dynamics", "--clock", "168e6"]
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    (entry,) = facts["functions"]
    assert entry["rate"] == 168e6 / entry["instructions"][1]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert all(str(figure) in out for figure in (*entry["instructions"], *entry["alone"], entry["flash"], entry["stack"]))


@pytest.mark.parametrize(("words", "said"), [
    (["--target", "host"], "take cortex-m4f"),
    (["--target", "cortex-m9"], "no target is named 'cortex-m9'"),
    (["--target", "cortex-m4f", "--clock", "fast"], "in Hz"),
    (["--target", "cortex-m4f", "--clock", "0"], "in Hz"),
])
def test_what_cannot_be_measured_is_said_in_a_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "scara", "-f", "gravity_force", *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_missing_tool_is_named_with_its_package(tmp_path: Path) -> None:
    machine = replace(targets.find("cortex-m4f"), prefix="no-such-chip-")
    with pytest.raises(BuildError, match="no-such-chip-gcc is not installed; on Debian 'apt install gcc-arm-none-eabi"):
        Toolchain(machine, tmp_path).compile("one.c", "one.o")

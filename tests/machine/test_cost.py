"""Cost sheets: QEMU's counts equal the disassembly, and Panda stays within its bounds on a
Cortex-M4F.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from symgen import generate, load
from symgen.certificate import checked_bounds
from symgen.cli import main
from symgen.cli.commands.cost import _clock
from symgen.delivery import writing
from symgen.emission.backends import c99
from symgen.machine import targets
from symgen.machine.cost import OPTIMIZE, Cost, Source, measure
from symgen.machine.emulation import Toolchain
from symgen.machine.firmware import BASE_FLAGS
from symgen.machine.targets import cortex_m4f
from symgen.pipeline.build import program, programs_and_refusals
from symgen.pipeline.request import Request
from symgen.support.errors import BuildError, RequestError, SymgenWarning, ToolMissing
from symgen.support.tables import span
from symgen.vocabulary.options import ProgramOptions, TextOptions
from tests import firmware_sheets
from tests.shared.firmware_tools import REQUIRED, need

pytestmark = pytest.mark.firmware

COUNTING = [name for name in targets.names() if targets.find(name).counter]
TESTED_TARGETS = COUNTING if REQUIRED else COUNTING[:1]
STATES = 12


def cost_of(robot: str, target: str, function: str, real: str = "float") -> Cost:
    need(target)
    (cost,) = measure(load(robot), [program(robot, function, real=real)], target, STATES).costs
    return cost


def test_panda_stays_within_its_bounds_on_a_cortex_m4f() -> None:
    cost = cost_of("panda", "cortex-m4f", "forward_dynamics")
    assert cost.alone[1] <= 2000
    assert cost.flash <= 8000
    assert cost.stack <= 512
    assert cost.ram == 0
    assert set(cost.undefined) <= {"sinf", "cosf", "sqrtf"}


def test_loops_take_half_the_flash_and_a_workspace_of_the_caller() -> None:
    """Panda has 2000 rows unrolled; loops use only the FPU in float; their tables are in flash."""
    need("cortex-m4f")
    mechanism = load("panda")
    loops, _ = programs_and_refusals(
        Request(mechanism, ("forward_dynamics",), ProgramOptions("float", form="looped"))
    )
    (cost,) = measure(mechanism, loops.values(), "cortex-m4f", STATES).costs
    assert cost.work == 4 * 17 * 7
    assert (cost.ram, cost.undefined) == (0, ("cosf", "sinf"))
    assert 4 * 16 * 7 < cost.flash < cost_of("panda", "cortex-m4f", "forward_dynamics").flash / 2
    assert cost.alone[0] == cost.alone[1] < 4400


def compile_function(robot: str, target: str, function: str, folder: Path) -> Toolchain:
    """Compile a function to one.o; return the toolchain of its folder."""
    mechanism, derived = load(robot), program(load(robot), function, real="float")
    c_target = c99.Target(robot, mechanism.sizes)
    (folder / f"{robot}.h").write_text(c99.header({function: derived}, c_target), encoding="utf-8")
    (folder / "one.c").write_text(c99.source(derived, c_target), encoding="utf-8")
    tools = Toolchain(targets.find(target), folder)
    tools.compile("one.c", "one.o", *BASE_FLAGS, OPTIMIZE)
    return tools


@pytest.mark.parametrize(
    "function", ["forward_dynamics", "mass_matrix_log_determinant", "gravity_force"]
)
@pytest.mark.parametrize("robot", ["scara", "panda"])
def test_counted_instructions_equal_the_disassembly(
    robot: str, function: str, tmp_path: Path
) -> None:
    """Code without branches executes each instruction once; nops only pad tables of constants."""
    cost = cost_of(robot, "cortex-m4f", function)
    listing = compile_function(robot, "cortex-m4f", function, tmp_path).tool(
        "objdump", "-d", "one.o"
    )
    words = re.findall(r"^ +[0-9a-f]+:\t[0-9a-f ]+\t(\S+)", listing, re.MULTILINE)
    assert cost.alone == (len([word for word in words if word not in (".word", "nop")]),) * 2


@pytest.mark.parametrize("target", COUNTING)
def test_flash_and_ram_equal_the_sections_of_readelf(target: str, tmp_path: Path) -> None:
    """Loaded sections (flag A) count as flash, and writable sections (W) as RAM."""
    cost = cost_of("panda", target, "forward_dynamics")
    sections = compile_function("panda", target, "forward_dynamics", tmp_path).tool(
        "readelf", "-S", "-W", "one.o"
    )
    sections_found = re.findall(
        r"\] \.\S+ +\S+ +[0-9a-f]{8} [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +([A-Za-z]*) ", sections
    )
    assert cost.flash == sum(
        int(size, 16) for size, flags in sections_found if "A" in flags and "W" not in flags
    )
    assert cost.ram == sum(int(size, 16) for size, flags in sections_found if "W" in flags)


@pytest.mark.parametrize("target", COUNTING)
def test_only_libm_depends_on_the_state(target: str) -> None:
    cost = cost_of("scara", target, "forward_dynamics")
    assert cost.alone[0] == cost.alone[1] < cost.instructions[0] <= cost.instructions[1]
    assert cost.libm_calls == sum(
        program("scara", "forward_dynamics").operations[op] for op in ("sin", "cos")
    )
    assert cost.ram == 0


def test_a_function_without_libm_has_equal_costs_with_and_without_libm() -> None:
    cost = cost_of("scara", "cortex-m4f", "gravity_force")
    assert cost.libm_calls == 0
    assert cost.alone == cost.instructions


@pytest.mark.parametrize(
    "target", [name for name in COUNTING if targets.find(name).double_in_software]
)
def test_double_in_software_is_as_slow_as_the_warning_states(target: str) -> None:
    most = [
        cost_of("panda", target, "forward_dynamics", real).instructions[1]
        for real in ("float", "double")
    ]
    stated_ratio = targets.find(target).double_in_software
    assert stated_ratio / 1.25 < most[1] / most[0] < stated_ratio * 1.25


# Costs including libm.


@pytest.mark.parametrize("target", TESTED_TARGETS)
def test_libm_counts_once_in_flash(target: str, tmp_path: Path) -> None:
    need(target)
    programs = [
        program("scara", function, real="float")
        for function in ("forward_dynamics", "gravity_force")
    ]
    sheet = measure(load("scara"), programs, target, 1)
    tools = Toolchain(targets.find(target), tmp_path)
    tools.image("libm.elf", "-Wl,--undefined=sinf", entry="cosf")
    lines = [line.split() for line in tools.tool("size", "-A", "-d", "libm.elf").splitlines()]
    libm = sum(int(line[1]) for line in lines if line and line[0] in (".text", ".rodata", ".data"))
    assert libm > 3000
    for cost in sheet.costs:
        assert (
            abs(cost.flash_with_libm - cost.flash - (libm if cost.undefined else 0)) < 64
        )  # the linker merges and aligns
    assert abs(sheet.flash_with_libm - sheet.flash - libm) < 64
    assert sheet.ram_with_libm > 0


def test_a_square_root_needs_no_ram_of_newlib(tmp_path: Path) -> None:
    """newlib's errno alone would take a kilobyte of RAM."""
    need("cortex-m4f")
    generate(
        "free_body",
        tmp_path / "body",
        ["difference"],
        target="cortex-m4f",
        name="body",
        evidence=False,
    )
    tools = Toolchain(targets.find("cortex-m4f"), tmp_path / "body")
    text = (tools.folder / "body_difference.c").read_text(encoding="utf-8")
    assert "sqrtf(" in text
    tools.tool(
        "gcc",
        *BASE_FLAGS,
        OPTIMIZE,
        *tools.machine.with_newlib,
        "-c",
        "body_difference.c",
        "-o",
        "one.o",
    )
    assert "sqrtf" not in tools.tool("nm", "-u", "one.o")
    assert tools.link_with_newlib("newlib.elf", "one.o", entry="body_difference")
    sizes = {
        line.split()[0]: int(line.split()[1])
        for line in tools.tool("size", "-A", "-d", "newlib.elf").splitlines()
        if line.startswith(".")
    }
    flash = sizes[".text"] + sizes.get(".rodata", 0)
    assert sizes.get(".data", 0) == sizes.get(".bss", 0) == 0
    assert measure(
        load("free_body"), [program("free_body", "difference", real="float")], "cortex-m4f", 1
    ).newlib == (flash, 0)


PAINTED = r"""#include <stdio.h>
#include <stdint.h>
#include "scara.h"
#define WORDS 1000
__attribute__((noinline, noclone)) static int used(float angle)
{{
    const float x[scara_NV] = {{angle, angle, angle, angle}};
    float answer[scara_NV*scara_NV];
    volatile uint32_t *top;
    int i;
    __asm volatile("mov %0, sp" : "=r"(top));
    for (i = 1; i < WORDS; ++i) {{ top[-i] = 0xA5A5A5A5u; }}
    {call};
    for (i = WORDS - 1; i > 0 && top[-i] == 0xA5A5A5A5u; --i) {{ }}
    return 4*i;
}}
int main(void)
{{
    printf("%d %d\n", used(0.3f), used(1e30f));
    return 0;
}}
"""


def test_the_stack_with_libm_equals_that_of_a_painted_run(tmp_path: Path) -> None:
    """The stack is painted before a call; an angle of 1e30 takes libm's longest path."""
    cost = cost_of("scara", "cortex-m4f", "forward_dynamics")
    tools = compile_function("scara", "cortex-m4f", "forward_dynamics", tmp_path)
    text = PAINTED.format(call="scara_forward_dynamics(x, x, x, answer)")
    (tmp_path / "painted.c").write_text(text, encoding="utf-8")
    tools.compile("painted.c", "painted.o", "-std=gnu99", "-O2")
    tools.link("painted.elf", "painted.o", "one.o")
    short, long = map(int, tools.run("painted.elf").split())
    assert cost.stack_with_libm is not None
    assert (
        cost.stack < short < long <= cost.stack_with_libm <= long + 16
    )  # padding for alignment is not overwritten


@pytest.mark.parametrize("target", TESTED_TARGETS)
def test_a_function_without_calls_needs_only_its_own_frame(target: str) -> None:
    need(target)
    derived, text = program("scara", "forward_dynamics", real="float"), TextOptions("inline")
    (cost,) = measure(load("scara"), [derived], target, 1, source=Source(text)).costs
    assert (cost.undefined, cost.stack_with_libm) == ((), cost.stack)
    assert (cost.flash_with_libm, cost.ram_with_libm) == (cost.flash, 0)


def test_cycles_exceed_instructions_on_a_cortex_m4f_and_are_a_bound_on_a_cortex_m7() -> None:
    cost = cost_of("scara", "cortex-m4f", "forward_dynamics")
    assert cost.cycles is not None
    assert cost.cycles_alone is not None
    for (least, most), counted in (
        (cost.cycles, cost.instructions),
        (cost.cycles_alone, cost.alone),
    ):
        assert most is not None
        assert counted[0] < least < most < 3 * counted[1]
    bound = cost_of("scara", "cortex-m7", "forward_dynamics")
    assert (bound.cycles, bound.cycles_alone) == (
        (-(-bound.instructions[0] // 2), None),
        (-(-bound.alone[0] // 2), None),
    )


def test_double_in_software_has_no_cycles_and_the_sheet_explains_it() -> None:
    need("cortex-m4f")
    sheet = measure(load("scara"), [program("scara", "mass_matrix")], "cortex-m4f", 2)
    assert sheet.costs[0].cycles is None
    assert sheet.costs[0].stack_with_libm is not None
    assert sheet.unknown == (
        (
            "mass_matrix: the FPU of Arm Cortex-M4F has no double precision, and the cycles of"
            " software are not estimated"
        ),
    )


def test_the_command_prints_figures_and_the_rate_that_the_clock_allows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    need("cortex-m4f")
    words = [
        "cost",
        "scara",
        "--target",
        "cortex-m4f",
        "-f",
        "forward_dynamics",
        "--clock",
        "168e6",
    ]
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    (entry,) = facts["functions"]
    assert entry["rate"] == 168e6 / entry["cycles"][1]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert all(
        str(figure) in out
        for figure in (
            *entry["instructions"],
            *entry["alone"],
            entry["flash"],
            entry["stack"],
            *entry["cycles"],
            entry["flash_with_libm"],
            entry["stack_with_libm"],
        )
    )
    assert facts["timing"][:60] in out


def test_the_command_measures_checked_functions(capsys: pytest.CaptureFixture[str]) -> None:
    need("cortex-m4f")
    words = ["cost", "scara", "--target", "cortex-m4f", "-f", "forward_dynamics", "--json"]
    flash = []
    for more in ([], ["--checked"]):
        assert main([*words, *more]) == 0
        (entry,) = json.loads(capsys.readouterr().out)["functions"]
        flash.append(entry["flash"])
    assert flash[0] < flash[1]


def test_the_command_takes_any_positive_clock() -> None:
    assert _clock("0.5") == 0.5
    assert _clock(None) is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "host"], "use cortex-m4f"),
        (["--target", "cortex-m9"], "no target is named 'cortex-m9'"),
        (["--target", "cortex-m4f", "--clock", "fast"], "in Hz"),
        (["--target", "cortex-m4f", "--clock", "0"], "in Hz"),
    ],
)
def test_an_impossible_measurement_is_refused_in_one_sentence(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cost", "scara", "-f", "gravity_force", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_missing_tool_is_named_with_its_package(tmp_path: Path) -> None:
    machine = replace(targets.find("cortex-m4f"), prefix="no-such-chip-")
    with pytest.raises(
        ToolMissing,
        match="no-such-chip-gcc is not installed; on Debian 'apt install gcc-arm-none-eabi",
    ):
        Toolchain(machine, tmp_path).compile("one.c", "one.o")


@pytest.mark.parametrize(
    ("capacity", "message"),
    [
        (
            {"flash": 200},
            r"the 2 functions of 'scara' need \d+"
            " bytes of flash, and the firmware/ of Arm Cortex-M4F has 200 bytes; ",
        ),
        (
            {"stack": 8},
            r"forward_dynamics of 'scara' needs \d+"
            " bytes of stack, and the firmware/ of Arm Cortex-M4F has 8 bytes; ",
        ),
    ],
)
def test_a_target_too_small_for_the_robot_is_refused_with_numbers(
    capacity: dict[str, int], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    need("cortex-m4f")
    monkeypatch.setattr(cortex_m4f, "TARGET", replace(cortex_m4f.TARGET, **capacity))
    with pytest.raises(RequestError, match=message):
        generate(
            "scara",
            tmp_path / "scara",
            ["mass_matrix", "forward_dynamics"],
            "float",
            target="cortex-m4f",
        )
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("target", COUNTING)
def test_manifest_and_readme_of_a_folder_contain_the_cost_sheet(
    target: str, tmp_path: Path
) -> None:
    cost = cost_of("scara", target, "forward_dynamics")
    sheet = generate("scara", tmp_path / "scara", ["forward_dynamics"], "float", target=target)[
        "cost"
    ]
    facts = json.loads(json.dumps(cost.facts(None)))
    assert {"function": "forward_dynamics", **sheet["functions"]["forward_dynamics"]} == facts
    assert sheet["flash"] == cost.flash
    readme = (tmp_path / "scara" / "README.md").read_text(encoding="utf-8")
    cycles = [] if cost.cycles is None else [span(cost.cycles), span(cost.cycles_alone)]
    cells = [
        f"{cost.instructions[0]} to {cost.instructions[1]}",
        cost.alone[0],
        *cycles,
        cost.flash,
        cost.flash_with_libm,
        cost.stack,
        cost.stack_with_libm,
        0,
        "cosf sinf",
    ]
    assert f"| `forward_dynamics` | {' | '.join(map(str, cells))} |" in readme
    assert (sheet["timing"] or "Cycles are not estimated") in readme
    assert (sheet["newlib"] is None) == (target == "rv32imafc")
    assert " and ".join(map(str, sheet["newlib"] or (sheet["flash_with_libm"],))) in readme
    assert sheet["compiler"] in readme
    assert main(["verify", str(tmp_path / "scara")]) == 0


@pytest.mark.parametrize("trig", ["libm", "inline"])
def test_costs_include_the_checks(trig: str) -> None:
    need("cortex-m4f")
    derived = program("ur5", "forward_dynamics", real="float")
    text = TextOptions(trig, checked=True)
    divisor_bounds = checked_bounds(
        load("ur5"), {"forward_dynamics": derived}, ProgramOptions("float"), text
    )
    (unchecked,) = measure(
        load("ur5"), [derived], "cortex-m4f", STATES, source=Source(TextOptions(trig))
    ).costs
    (guarded,) = measure(
        load("ur5"), [derived], "cortex-m4f", STATES, source=Source(text, divisor_bounds)
    ).costs
    assert unchecked.instructions[1] < guarded.instructions[1] < 1.3 * unchecked.instructions[1]
    assert unchecked.flash < guarded.flash
    assert guarded.ram == 0
    assert (
        guarded.alone[0] == guarded.alone[1]
    )  # every valid state takes the same path through the checks


@pytest.mark.parametrize(
    "words", [["--target", "host"], ["--target", "cortex-m4f", "--no-evidence"]]
)
def test_a_folder_without_a_cost_sheet_does_not_mention_one(
    words: list[str], tmp_path: Path
) -> None:
    assert (
        main(["generate", "scara", "-f", "gravity_force", "-o", str(tmp_path / "c"), *words]) == 0
    )
    assert "cost" not in json.loads((tmp_path / "c" / "manifest.json").read_text(encoding="utf-8"))
    assert "Cost of a call" not in (tmp_path / "c" / "README.md").read_text(encoding="utf-8")


def test_a_missing_tool_is_noted_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cortex_m4f, "TARGET", replace(cortex_m4f.TARGET, prefix="no-such-chip-"))
    words = [
        "generate",
        "scara",
        "-f",
        "gravity_force",
        "--real",
        "float",
        "--target",
        "cortex-m4f",
    ]
    assert main([*words, "-o", str(tmp_path / "c")]) == 0
    message = "no-such-chip-gcc is not installed; on Debian"
    assert f"symgen: note: README.md has no cost sheet: {message}" in capsys.readouterr().err
    assert message in (tmp_path / "c" / "README.md").read_text(encoding="utf-8")


def cost_facts(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Return the facts that `symgen cost` prints; those of functions by name."""
    assert main(["cost", *words, "--json"]) == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts | {"functions": {cost["function"]: cost for cost in facts["functions"]}}


def test_run_time_parameters_are_measured_at_valid_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All drawn parameters pass the checks, so all states take the same number of instructions."""
    need("cortex-m4f")
    facts = cost_facts(
        capsys,
        "planar_arm",
        "-f",
        "forward_dynamics",
        "--parameter",
        "*.mass",
        "--checked",
        "--target",
        "cortex-m4f",
    )
    least, most = facts["functions"]["forward_dynamics"]["alone"]
    assert (facts["unknown"], least) == ([], most)
    assert facts["functions"]["forward_dynamics"]["cycles"][1] > most


def test_states_that_a_check_refuses_are_not_measured() -> None:
    """The lower bound of a divisor is set so that only some states pass."""
    need("cortex-m4f")
    mechanism, derived = load("planar_arm"), program("planar_arm", "forward_dynamics", real="float")
    text = TextOptions("libm", checked=True)
    bounds = checked_bounds(mechanism, {"forward_dynamics": derived}, ProgramOptions("float"), text)
    last = max(bounds["forward_dynamics"])
    for least, all_refused in ((Fraction(16, 10), False), (Fraction(10**9), True)):
        divisor_bounds = {"forward_dynamics": {**bounds["forward_dynamics"], last: least}}
        if all_refused:
            with pytest.raises(
                BuildError, match="forward_dynamics of 'planar_arm' refuses all 16 states"
            ):
                measure(mechanism, [derived], "cortex-m4f", 16, source=Source(text, divisor_bounds))
            continue
        sheet = measure(mechanism, [derived], "cortex-m4f", 16, source=Source(text, divisor_bounds))
        assert re.search(
            r"[1-9]\d* of 16 states are refused by the checks and not measured", sheet.unknown[0]
        )
        assert len(set(sheet.costs[0].alone)) == 1


def test_a_folder_is_measured_as_generated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Measuring a folder gives the figures of its own cost sheet, until its C is changed."""
    need("cortex-m4f")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(writing, "proof_sheet", lambda *arguments: {})  # slow, and tested elsewhere
    words = [
        "-f",
        "gravity_force",
        "-f",
        "mass_matrix",
        "--checked",
        "--trig",
        "inline",
        "--real",
        "float",
    ]
    assert main(["generate", "planar_arm", *words, "--target", "cortex-m4f", "--name", "arm"]) == 0
    sheet = json.loads(Path("arm/manifest.json").read_text(encoding="utf-8"))["cost"]["functions"]
    Path("arm").rename("planar_arm")
    capsys.readouterr()
    facts = cost_facts(capsys, "planar_arm")
    assert (facts["folder"], facts["target"], facts["real"]) == (
        "planar_arm",
        "cortex-m4f",
        "float",
    )
    assert {
        name: {key: value for key, value in cost.items() if key not in ("function", "rate")}
        for name, cost in facts["functions"].items()
    } == sheet
    source = Path("planar_arm/arm_mass_matrix.c")
    more = "static const float more[100] __attribute__((used)) = {1.0f};\n"
    source.write_text(source.read_text(encoding="utf-8") + more, encoding="utf-8")
    spoilt = cost_facts(capsys, "planar_arm", "-f", "mass_matrix")["functions"]
    assert set(spoilt) == {"mass_matrix"}
    assert spoilt["mass_matrix"]["flash"] == sheet["mass_matrix"]["flash"] + 400
    for decided in (
        ["--real", "double"],
        ["--checked"],
        ["--trig", "macro"],
        ["--gravity", "0,0,-1"],
    ):
        assert main(["cost", "planar_arm", *decided]) == 2
        assert (
            f"measured as it was generated, so {decided[0]} does not apply"
            in capsys.readouterr().err
        )


VERSION = 'case "$1" in --version|-version) echo "stub, version 9.0"; exit 0;; esac\n'
NO_PICOLIBC = (
    "echo \"fatal error: cannot read spec file 'picolibc.specs': No such file or directory\";"
    " exit 1"
)
BROKEN = "echo \"error: cannot execute 'cc1'\"; exit 1"


@pytest.mark.parametrize(
    ("tools", "costs", "memory"),
    [
        (
            {},
            "arm-none-eabi-gcc is not installed; on Debian",
            "frama-c is not installed; on Debian",
        ),
        (
            {"arm-none-eabi-gcc": NO_PICOLIBC},
            "qemu-system-arm is not installed; on Debian",
            "frama-c is not installed",
        ),
        (
            {"arm-none-eabi-gcc": NO_PICOLIBC, "qemu-system-arm": BROKEN},
            "picolibc-arm-none-eabi is not installed; on Debian",
            "frama-c is not installed",
        ),
        (
            {"arm-none-eabi-gcc": BROKEN, "qemu-system-arm": BROKEN, "frama-c": BROKEN},
            "arm-none-eabi-gcc cannot build programs for Arm Cortex-M4F:"
            " error: cannot execute 'cc1'",
            "frama-c refused",
        ),
    ],
)
def test_a_missing_or_broken_tool_does_not_prevent_a_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tools: dict[str, str],
    costs: str,
    memory: str,
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, script in tools.items():
        (programs / name).write_text(f"#!/bin/sh\n{VERSION}{script}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert (
        main(
            [
                "generate",
                "planar_arm",
                "-f",
                "gravity_force",
                "--target",
                "cortex-m4f",
                "-o",
                str(tmp_path / "c"),
            ]
        )
        == 0
    )
    err = capsys.readouterr().err
    assert f"symgen: note: README.md has no cost sheet: {costs}" in err
    assert f"symgen: note: README.md has no proof of memory and finite numbers: {memory}" in err
    assert (tmp_path / "c" / "firmware" / "Makefile").is_file()


PICKY = 'case "$*" in *one.c*) echo "one.c:9:5: error: unknown type name"; exit 1;; esac\n'


def test_a_compiler_that_refuses_the_text_is_an_error_but_the_folder_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, script in (("arm-none-eabi-gcc", PICKY), ("qemu-system-arm", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{VERSION}{script}")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["planar_arm", "-f", "gravity_force", "--target", "cortex-m4f"]
    message = (
        "arm-none-eabi-gcc refused the generated text for Arm Cortex-M4F: one.c:9:5: error: unknown"
        " type name"
    )
    assert main(["generate", *words, "-o", str(tmp_path / "c"), "-q"]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"symgen: {message}; please report it")
    assert len(err.splitlines()) == 1
    assert (tmp_path / "c" / "firmware" / "Makefile").is_file()
    assert f"was not measured: {message}" in (tmp_path / "c" / "README.md").read_text(
        encoding="utf-8"
    )
    with pytest.warns(SymgenWarning, match="refused the generated text"):
        generate("planar_arm", tmp_path / "d", ["gravity_force"], target="cortex-m4f")
    assert main(["generate", *words, "-o", str(tmp_path / "e"), "--strict"]) == 2
    assert not (tmp_path / "e").exists()
    assert main(["cost", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("polished_here")
def test_the_page_of_cost_sheets_is_current() -> None:
    """One sheet is measured again; `make firmware` rewrites the whole page."""
    need("cortex-m4f")
    facts = firmware_sheets.sheet("scara", "cortex-m4f", "float")
    page = firmware_sheets.FILE.read_text(encoding="utf-8")
    if f"`{facts['compiler']}`" not in page:
        pytest.skip(
            "docs/reference/microcontroller-costs.md was measured with another compiler than"
            f" {facts['compiler']}"
        )
    section = page[page.index("### scara on Arm Cortex-M4F, float\n") :]
    assert section.startswith(
        "\n".join(["### scara on Arm Cortex-M4F, float", "", *firmware_sheets.table(facts), ""])
    )


def test_a_folder_of_loops_has_a_cost_sheet_with_a_workspace(tmp_path: Path) -> None:
    need("cortex-m4f")
    out = tmp_path / "scara"
    generate("scara", out, ["forward_dynamics"], form="looped", target="cortex-m4f")
    sheet = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["cost"]["functions"][
        "forward_dynamics"
    ]
    assert sheet["work"] > 0
    assert sheet["ram"] == 0
    readme = (out / "README.md").read_text(encoding="utf-8")
    assert "Loops over links have the same number of iterations in every state" in readme
    assert "Flash includes the tables" in readme
    assert "### Proofs" not in readme

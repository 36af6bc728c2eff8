"""Figures of a cost sheet from what tools print: fabricated output, and scripts in place of the
tools.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import symgen
from symgen.emission.backends import c99
from symgen.machine import cost, footprint, targets
from symgen.machine.cost import Cost, Source, Written
from symgen.machine.disassembly import Image, Instruction, Unreadable, read_image
from symgen.machine.emulation import Toolchain
from symgen.machine.stack_usage import stack_bytes
from symgen.support.errors import BuildError, RequestError, TextRefused, ToolMissing
from symgen.vocabulary.target import Target

MEASURING = Path(__file__).resolve().parents[2] / "templates" / "firmware" / "cost.c.j2"
FIGURES = Cost(
    "mass_matrix",
    "composite_body",
    instructions=(90, 100),
    alone=(60, 60),
    libm_calls=2,
    flash=400,
    stack=16,
    ram=0,
    undefined=("cosf",),
    flash_with_libm=900,
    stack_with_libm=48,
    ram_with_libm=4,
)


# -- the output of the measuring program -----------------------------------------------------------


def printed_run(ticks: int, executed: tuple[int, ...], libm: int, calls: tuple[int, ...]) -> str:
    """Return the text of a measuring program whose clock has `ticks` per instruction.

    The function executes `executed` instructions at each state, and `libm` in each of its `calls`;
    reading a result from the tape costs 5 and an empty call 9 instructions, its return included.
    """
    empty, tape = 9, 5
    rounds = re.findall(r"measured_loop\((\d+)\)", MEASURING.read_text(encoding="utf-8"))
    short, long = (2 * ticks * int(count) for count in rounds)  # two instructions a round

    def time_of(instructions: int) -> int:
        return ticks * (empty + instructions - 1)

    lines = [f"loop {17 + short} {17 + long}", f"nothing {ticks * empty}"]
    lines += [f"tape {time_of(tape)} {ticks * empty}"]
    for alone, count in zip(executed, calls, strict=True):
        total, recorded = alone + libm * count, alone + tape * count
        lines += [f"state {time_of(total)} {time_of(recorded)} {count}", "status 0"]
    return "\n".join(["", *lines, "end"])


@pytest.mark.parametrize("ticks", [1, 3, 1024])
def test_instructions_of_a_run_exclude_the_call_and_the_reading_of_recorded_results(
    ticks: int,
) -> None:
    run = cost._parse_run(printed_run(ticks, (30, 41), 100, (2, 3)))
    assert run == cost._Run([30 + 200, 41 + 300], [30, 41], 3, [0, 0])


def test_a_counter_that_overflows_is_refused() -> None:
    with pytest.raises(RequestError, match="more instructions than this target can count"):
        cost._parse_run("overflow\n")


def test_a_trace_that_disagrees_with_the_clock_is_refused() -> None:
    run = cost._Run([7, 9], [4, 4], 1, [0, 0])
    function, libm = [0, 4, 8, 12], [[100, 104, 108], [100, 104, 108, 112, 116]]
    cost._refuse_unlike_clock(function, libm, run)
    cost._refuse_unlike_clock(function, None, run._replace(total=[4, 4]))
    for trace, of_libm in (
        (function[:-1], libm),
        (function, libm[:1]),
        (function, [libm[0], libm[0]]),
    ):
        with pytest.raises(Unreadable, match="another number of instructions"):
            cost._refuse_unlike_clock(trace, of_libm, run)


# -- the command's figures -------------------------------------------------------------------------


def test_the_rate_is_that_of_the_slowest_state_by_cycles_or_else_by_instructions() -> None:
    assert FIGURES.rate(1e6) == 1e4
    assert replace(FIGURES, cycles=(100, 200)).rate(1e6) == 5e3
    assert replace(FIGURES, cycles=(50, None)).rate(1e6) == 1e4
    assert "rate" not in FIGURES.facts(None)
    assert FIGURES.facts(None)["work"] == 0
    assert FIGURES.facts(2e6) == {**FIGURES.facts(None), "rate": 2e4}


def test_functions_with_the_same_unknown_figure_share_a_sentence() -> None:
    bias, jacobian = (replace(FIGURES, function=name) for name in ("bias_force", "jacobian"))
    sentences = cost._unknown_figures(
        [(FIGURES, "no cycles"), (jacobian, ""), (bias, "no cycles"), (jacobian, "a loop")]
    )
    assert sentences == ("mass_matrix, bias_force: no cycles", "jacobian: a loop")


def test_sizes_are_in_bytes_below_a_kibibyte() -> None:
    assert [cost._size(count) for count in (0, 1023, 1024, 1536, 10240)] == [
        "0 bytes", "1023 bytes", "1 KiB", "2 KiB", "10 KiB",
    ]  # fmt: skip


# -- object files ----------------------------------------------------------------------------------


class FakeTools(SimpleNamespace):
    """Tools whose output is given by the name of the program."""

    def tool(self, name: str, *_: str) -> str:
        return str(getattr(self, name))


SIZES = """one.o  :
section              size   addr
.text                 100      0
.text.unlikely         10      0
.rodata.cst4            8      0
.srodata.cst8          16      0
.sdata                  4      0
.bss                    2      0
.comment               77      0
Total                 217
"""


def test_sections_are_summed_by_their_kind() -> None:
    tools: Any = FakeTools(size=SIZES)
    sections = cost._sections(tools, "one.o")
    assert {kind: size for kind, size in sections.items() if kind != ".comment"} == {
        ".text": 110, ".rodata": 24, ".data": 4, ".bss": 2,
    }  # fmt: skip
    assert cost._bytes(sections, cost.FLASH) == 134
    assert cost._in_flash_and_ram(sections) == (138, 6)


def test_undefined_symbols_are_the_last_words_of_the_lines_in_order() -> None:
    tools: Any = FakeTools(nm="         U sinf\n\n         w cosf\n")
    assert cost._undefined(tools, "one.o") == ("cosf", "sinf")


def test_the_tape_of_atan2_has_two_arguments() -> None:
    tapes = [cost._tape(name, arity, "float") for name, arity in (("atan2f", 2), ("sinf", 1))]
    assert [(tape["kind"], tape["given"], tape["types"]) for tape in tapes] == [
        ("binary", "y, x", "float y, float x"),
        ("unary", "x", "float x"),
    ]


def test_the_frames_of_parts_exist_one_after_the_other() -> None:
    usage = (
        "one.c:1:6:f\t32\tstatic\none.c:9:6:f_part_1\t16\tstatic\n"
        "one.c:20:6:f_part_2\t48\tdynamic\n"
        "one.c:30:6:f_part_3.constprop.0\t40\tstatic\none.c:40:6:f_sincos\t8\tstatic\n"
        "no frame here\nplace\tmany\n"
    )
    assert stack_bytes(usage, "f") == 32 + 8 + 48
    assert stack_bytes("one.c:1:6:f\t32\tstatic\n", "f") == 32
    assert stack_bytes("nothing\n", "f") is None


@pytest.mark.parametrize(
    ("output", "code"), [(SIZES.replace(".srodata", ".rodata"), 134), ("size: no file\n", None)]
)
def test_code_on_this_machine_is_text_and_constants(
    output: str, code: int | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Done:
        stdout = output

    monkeypatch.setattr(footprint, "_run", lambda command, folder: Done)
    assert footprint._code(tmp_path) == code


def test_code_is_unknown_without_the_program_size(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(command: list[str], folder: Path) -> Any:
        raise FileNotFoundError(command[0])

    monkeypatch.setattr(footprint, "_run", missing)
    assert footprint._code(tmp_path) is None


# -- traces ----------------------------------------------------------------------------------------


class Tracing:
    """An emulator that executes the same addresses in each trace."""

    def __init__(self, addresses: list[int]) -> None:
        self.addresses = addresses

    def trace(self, program: str, ranges: list[tuple[int, int]]) -> list[int]:
        return [
            address
            for address in self.addresses
            if any(first <= address < last for first, last in ranges)
        ]


def test_traces_are_of_one_call_and_of_libm_at_every_state() -> None:
    """The function at 0 calls libm at 100; its copy on the tape, at 200, does not count."""
    code = {
        0: Instruction(4, "bl", "100", 100),
        4: Instruction(4, "bx", "lr", None),
        100: Instruction(4, "nop", "", None),
        104: Instruction(4, "bx", "lr", None),
        200: Instruction(4, "bx", "lr", None),
    }
    symbols = {"f": 0, "sinf": 100, "f_on_tape": 200}
    image = cost._Image(Image(code, symbols), "f", ("sinf", "absent"))
    call = [0, 100, 104, 4]
    tools: Any = Tracing([*call, 200, *call, 200])
    function, libm = cost._traces(image, tools)
    assert function == [0, 4]
    assert libm == [[100, 104], [100, 104]]
    alone = image._replace(undefined=())
    tools = Tracing([0, 4, 0, 4])
    function, libm = cost._traces(alone, tools)
    assert (function, libm) == ([0, 4], None)


# -- cycles and images ------------------------------------------------------------


def cycle_fields(name: str, run: cost._Run, real: str = "float") -> dict[str, Any]:
    tools: Any = SimpleNamespace(machine=targets.find(name))
    return cost._cycles(real, cost._Image(Image({}, {}), "f", ()), tools, run)


def test_without_a_table_half_of_the_fewest_instructions_bounds_the_cycles_of_a_dual_issue() -> (
    None
):
    """A Cortex-M7 begins at most two instructions in a cycle."""
    for fewest, alone in ((10, 7), (11, 8)):
        fields = cycle_fields(
            "cortex-m7", cost._Run([fewest + 4, fewest], [alone + 1, alone], 0, [0])
        )
        assert fields == {"cycles": ((fewest + 1) // 2, None), "cycles_alone": (4, None)}
    assert cycle_fields("rv32imafc", cost._Run([1], [1], 0, [0])) == {}


@pytest.mark.parametrize("calls_libm", [True, False])
def test_cycles_of_libm_are_those_of_its_quickest_and_slowest_state(
    calls_libm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The function takes 3 to 5 cycles; libm takes 2 to 12 for a division, one more for a sum."""
    instructions = {
        0: Instruction(4, "add", "r0, r1, r2", None),
        4: Instruction(4, "bx", "lr", None),
        8: Instruction(4, "udiv", "r0, r1, r2", None),
        12: Instruction(4, "add", "r0, r1, r2", None),
    }
    libm = [[8], [8, 12]] if calls_libm else None
    monkeypatch.setattr(cost, "_traces", lambda program, tools: ([0, 4], libm))
    tools: Any = SimpleNamespace(machine=targets.find("cortex-m4f"))
    image = cost._Image(Image(instructions, {}), "f", ())
    run = cost._Run([3, 4] if calls_libm else [2, 2], [2, 2], 1, [0, 0])
    fields = cost._cycles("float", image, tools, run)
    cycles = (3 + 2, 5 + 13) if calls_libm else (3, 5)
    assert fields == {"cycles": cycles, "cycles_alone": (3, 5)}
    with pytest.raises(Unreadable, match="another number of instructions"):
        cost._cycles("float", image, tools, run._replace(without_libm=[9, 9]))


def test_cycles_of_double_in_software_are_not_estimated() -> None:
    with pytest.raises(Unreadable, match="FPU of Arm Cortex-M4F has no double precision"):
        cycle_fields("cortex-m4f", cost._Run([1], [1], 0, [0]), "double")


def test_an_image_has_the_instructions_and_functions_that_binutils_print() -> None:
    listing = (
        "\n00000010 <f>:\n"
        "  10:\tb510      \tpush\t{r4, lr}\n"
        "  12:\tf000 f801 \tbl\t18 <g>\n"
        "  16:\tbd10      \tpop\t{r4, pc}\t@ return\n"
        "  18:\t4770      \tbx\tlr\n"
        "  1c:\t3f800000  \t.word\t0x3f800000\n"
        "  20:\t00008067  \tld\ta0,0(a1) # 18 <g>\n"
    )
    symbols = "00000011 T f\n00000018 w g\n20000000 D data\n         U cosf\n"
    tools: Any = FakeTools(objdump=listing, nm=symbols)
    image = read_image(tools, "one.elf")
    assert image.symbols == {"f": 0x10, "g": 0x18}  # the lowest bit of a Thumb address is a mode
    assert [(a, i.size, i.word, i.target) for a, i in image.instructions.items()] == [
        (0x10, 2, "push", None),
        (0x12, 4, "bl", 0x18),
        (0x16, 2, "pop", None),
        (0x18, 2, "bx", None),
        (0x20, 4, "ld", None),
    ]
    assert image.instructions[0x20].operands == "a0,0(a1)"
    assert image.depth(0x10) == 8


# -- scripts in place of the tools -----------------------------------------------------------------


def toolchain(folder: Path, **scripts: str) -> Toolchain:
    """Return the tools of a target whose programs are these shell scripts."""
    for name, text in scripts.items():
        script = folder / f"fake-{name}"
        script.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        script.chmod(0o755)
    machine = replace(
        targets.find("cortex-m4f"),
        prefix=f"{folder}/fake-",
        emulator=(f"{folder}/fake-qemu", "-M", "board"),
    )
    return Toolchain(machine, folder)


def test_a_tool_runs_in_the_folder_and_returns_what_it_prints(tmp_path: Path) -> None:
    tools = toolchain(tmp_path, nm='echo "$@"; pwd', qemu='echo "$@"')
    assert tools.tool("nm", "-u", "a.o").splitlines() == ["-u a.o", str(tmp_path)]
    options = tools.run("cost.elf").split()
    assert options == ["-icount", "shift=10,align=off,sleep=off", "-M", "board", "cost.elf"]


def test_versions_are_the_first_lines(tmp_path: Path) -> None:
    tools = toolchain(tmp_path, gcc="echo gcc 12; echo free", qemu="echo QEMU 8.2; echo more")
    assert tools.versions() == ("gcc 12", "QEMU 8.2")


def test_a_missing_tool_is_named_with_its_packages(tmp_path: Path) -> None:
    with pytest.raises(
        ToolMissing, match=r"fake-nm is not installed; on Debian 'apt install .*qemu"
    ):
        toolchain(tmp_path).tool("nm")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("note: x\none.c:3: error: bad\nerror: last", "one.c:3: error: bad"),
        ("ld: region FLASH overflowed by 12 bytes", "ld: region FLASH overflowed by 12 bytes"),
        ("  first line\nsecond line", "first line"),
        ("", "no reason given"),
    ],
)
def test_a_failure_is_told_by_its_first_line_with_an_error(
    output: str, reason: str, tmp_path: Path
) -> None:
    tools = toolchain(tmp_path, nm=f"printf '%s' '{output}'; exit 3")
    with pytest.raises(BuildError) as failure:
        tools.tool("nm")
    assert str(failure.value).endswith(f"refused the generated text for Arm Cortex-M4F: {reason}")


def test_missing_specs_name_the_package_of_the_c_library(tmp_path: Path) -> None:
    tools = toolchain(tmp_path, gcc="echo 'gcc: cannot read spec file ‘picolibc.specs’'; exit 1")
    with pytest.raises(ToolMissing, match=r"picolibc\S* is not installed; on Debian 'apt install"):
        tools.tool("gcc")


def test_a_text_is_refused_only_if_the_compiler_builds_another_one(tmp_path: Path) -> None:
    only_probe = 'case "$*" in *probe.c*) exit 0;; *) echo "error: text"; exit 1;; esac'
    with pytest.raises(TextRefused, match="error: text"):
        toolchain(tmp_path, gcc=only_probe).compile("one.c", "one.o")
    with pytest.raises(BuildError, match="cannot build programs for Arm Cortex-M4F: error: all"):
        toolchain(tmp_path, gcc="echo 'error: all'; exit 1").link("cost.elf", "one.o")


@pytest.mark.parametrize(
    ("version", "option"),
    [
        ("8.1", "one-insn-per-tb=on"),
        ("9.0", "one-insn-per-tb=on"),
        ("8.0", "-singlestep"),
        ("7.2", "-singlestep"),
    ],
)
def test_a_trace_has_the_addresses_of_executed_instructions(
    version: str, option: str, tmp_path: Path
) -> None:
    """QEMU single-steps by another option from version 8.1 on."""
    script = f"""
    case "$*" in --version) echo "QEMU emulator version {version}.3"; exit 0;; esac
    echo "$@" > options
    echo "Trace 0: 0x7f00 [00000000/00008010/00000110/ff000000] f"
    echo "Linking TBs"
    echo "Trace 0: 0x7f40 [00000000/00008012/00000110/ff000000] f"
    """
    tools = toolchain(tmp_path, qemu=script)
    assert list(tools.trace("cost.elf", [(0x8010, 0x8020), (0x9000, 0x9002)])) == [0x8010, 0x8012]
    options = (tmp_path / "options").read_text(encoding="utf-8")
    assert option in options
    assert "-dfilter 0x8010..0x801f,0x9000..0x9001" in options


def test_newlib_is_linked_if_it_is_installed(tmp_path: Path) -> None:
    tools = toolchain(tmp_path, gcc="exit 0")
    assert tools.link_with_newlib("newlib.elf", "one.o", entry="f")
    assert not toolchain(tmp_path, gcc="exit 1").link_with_newlib("newlib.elf", "one.o", entry="f")
    without = Toolchain(replace(tools.machine, newlib=None), tmp_path)
    assert not without.link_with_newlib("newlib.elf", "one.o", entry="f")


# -- texts that are measured -----------------------------------------------------------------------


def test_a_written_folder_is_measured_as_it_is() -> None:
    program = symgen.program("planar_arm", "mass_matrix")
    target = Target("arm", symgen.load("planar_arm").sizes)
    written = Written("arm", {"arm.h": "/* header */"}, {"mass_matrix": "/* text */"})
    assert Source(written=written).files(program, target) == {
        "arm.h": "/* header */", "one.c": "/* text */",
    }  # fmt: skip
    printed_here = Source().files(program, target)
    assert printed_here["one.c"] == c99.source(program, target)

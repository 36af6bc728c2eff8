"""Figures of a cost sheet from what tools print: fabricated output, and scripts in place of the tools."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.emission.backends import c99
from symgen.machine import batch, cost, footprint, targets
from symgen.machine.cost import Cost, Source, Written
from symgen.machine.disassembly import Image, Instruction, Unreadable
from symgen.machine.emulation import Toolchain
from symgen.machine.stack_usage import stack_bytes
from symgen.support.errors import BuildError, RequestError, TextRefused, ToolMissing
from symgen.vocabulary.target import Target

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


# -- the output of the measuring program --------------------------------------------------------------


def printed(ticks: int, call: int, tape: int, states: list[tuple[int, int, int]]) -> str:
    """Return the output of a program whose clock advances by `ticks` with every instruction.

    A call takes `call` instructions, of which one is the function's return, and the function on the tape
    `tape` ones. A state has (instructions, of them in libm, calls of libm).
    """
    empty = call + 7
    lines = [f"loop {1000} {1000 + ticks * 20000}", f"nothing {ticks * empty}"]
    lines.append(f"tape {ticks * (empty + tape - 1)} {ticks * empty}")
    for total, of_libm, calls in states:
        without = total - of_libm + calls * tape
        lines.append(f"state {ticks * (total - 1 + empty)} {ticks * (without - 1 + empty)} {calls}")
        lines.append("status 0")
    return "\n".join(["QEMU starts", "", *lines])


@pytest.mark.parametrize("ticks", [1, 3, 1024])
def test_instructions_are_ticks_of_the_clock_without_those_of_the_call_and_of_the_tape(
    ticks: int,
) -> None:
    states = [(120, 40, 2), (150, 70, 3)]
    run = cost._parse_run(printed(ticks, 5, 11, states))
    assert run.total == [120, 150]
    assert run.without_libm == [80, 80]
    assert run.libm_calls == 3
    assert run.statuses == [0, 0]


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


# -- the command's figures ----------------------------------------------------------------------------


def test_the_rate_is_that_of_the_slowest_state_by_cycles_or_else_by_instructions() -> None:
    assert FIGURES.rate(1e6) == 1e4
    assert replace(FIGURES, cycles=(100, 200)).rate(1e6) == 5e3
    assert replace(FIGURES, cycles=(50, None)).rate(1e6) == 1e4
    assert "rate" not in FIGURES.facts(None)
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


# -- object files -------------------------------------------------------------------------------------


class Printing:
    """Tools that print a text; the commands that they were given are kept."""

    def __init__(self, text: str) -> None:
        self.text, self.commands = text, list[tuple[str, ...]]()

    def tool(self, *command: str) -> str:
        self.commands.append(command)
        return self.text


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
    sections = cost._sections(Printing(SIZES), "one.o")  # type: ignore[arg-type]
    assert {kind: size for kind, size in sections.items() if kind != ".comment"} == {
        ".text": 110, ".rodata": 24, ".data": 4, ".bss": 2,
    }  # fmt: skip
    assert cost._bytes(sections, cost.FLASH) == 134
    assert cost._in_flash_and_ram(sections) == (138, 6)


def test_undefined_symbols_are_the_last_words_of_the_lines_in_order() -> None:
    tools = Printing("         U sinf\n\n         w cosf\n")
    assert cost._undefined(tools, "one.o") == ("cosf", "sinf")  # type: ignore[arg-type]
    assert tools.commands == [("nm", "-u", "one.o")]


def test_the_tape_of_atan2_has_two_arguments() -> None:
    tapes = [cost._tape(name, arity, "float") for name, arity in (("atan2f", 2), ("sinf", 1))]
    assert [(tape["kind"], tape["given"], tape["types"]) for tape in tapes] == [
        ("binary", "y, x", "float y, float x"),
        ("unary", "x", "float x"),
    ]


def test_the_frames_of_parts_exist_one_after_the_other() -> None:
    usage = (
        "one.c:1:6:f\t32\tstatic\none.c:9:6:f_part_1\t16\tstatic\none.c:20:6:f_part_2\t48\tdynamic\n"
        "one.c:30:6:f_part_3.constprop.0\t40\tstatic\none.c:40:6:f_sincos\t8\tstatic\nno frame here\nplace\tmany\n"
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


# -- traces -------------------------------------------------------------------------------------------


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
    function, libm = cost._traces(image, Tracing([*call, 200, *call, 200]))  # type: ignore[arg-type]
    assert function == [0, 4]
    assert libm == [[100, 104], [100, 104]]
    alone = image._replace(undefined=())
    function, libm = cost._traces(alone, Tracing([0, 4, 0, 4]))  # type: ignore[arg-type]
    assert (function, libm) == ([0, 4], None)


# -- scripts in place of the tools ---------------------------------------------------------------------


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
    [("8.1", "one-insn-per-tb=on"), ("9.0", "one-insn-per-tb=on"), ("8.0", "-singlestep"), ("7.2", "-singlestep")],
)  # fmt: skip
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


# -- texts that are measured ---------------------------------------------------------------------------


def test_a_written_folder_is_measured_as_it_is() -> None:
    program = symgen.program("planar_arm", "mass_matrix")
    target = Target("arm", symgen.load("planar_arm").sizes)
    written = Written("arm", {"arm.h": "/* header */"}, {"mass_matrix": "/* text */"})
    assert Source(written=written).files(program, target) == {
        "arm.h": "/* header */", "one.c": "/* text */",
    }  # fmt: skip
    printed_here = Source().files(program, target)
    assert printed_here["one.c"] == c99.source(program, target)


# -- slices of a batch ---------------------------------------------------------------------------------


def test_slices_are_whole_blocks_and_the_last_ones_are_shorter() -> None:
    slices: list[tuple[int, int]] = []
    batch.in_slices(lambda begin, end: slices.append((begin, end)), 1000, 20, 1)
    assert slices[0] == (0, 32)  # 20 states are two blocks of 16
    assert all((end - begin) % batch.BLOCK == 0 for begin, end in slices[:-1])
    assert slices[-1][1] == 1000
    queue = batch._Queue(1000, 16, 2)
    queue.share = 10**6
    queue.slice(lambda begin, end: slices.append((begin, end)))
    assert slices[-1] == (0, 256)  # half of a thread's part of 1000 is 250

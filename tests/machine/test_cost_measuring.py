"""Measurement of a cost sheet with tools whose output is known."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.emission import printer
from symgen.ir.loops import WORK
from symgen.ir.program import Program
from symgen.machine import cost, footprint, targets
from symgen.machine.building import Build
from symgen.machine.cost import Arguments, Source
from symgen.machine.disassembly import Unreadable
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import BuildError, RequestError
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target

STATES = 3


@pytest.fixture(scope="module")
def arm() -> Mechanism:
    return symgen.load("planar_arm")


@pytest.fixture(scope="module")
def programs() -> list[Program]:
    """Return two functions with sines and cosines."""
    functions = ("gravity_force", "mass_matrix")
    return [symgen.program("planar_arm", function) for function in functions]


def sizes(text: int, rodata: int, data: int, bss: int) -> str:
    return f".text {text} 0\n.rodata {rodata} 0\n.data {data} 0\n.bss {bss} 0\n"


class Tools:
    """A toolchain of a board. Its function executes 40 instructions, 60 at the last state."""

    undefined = "cos sin"
    stack = 64
    code = 100
    refused: frozenset[int] = frozenset()
    has_newlib = True
    made: list[Tools]

    def __init__(self, machine: Any, folder: Path) -> None:
        self.machine, self.folder = machine, folder
        self.commands: list[tuple[str, ...]] = []
        self.made.append(self)

    @property
    def text(self) -> str:
        return (self.folder / "cost.c").read_text(encoding="utf-8")

    def compile(self, source: str, result: str, *flags: str) -> None:
        self.commands.append(("compile", source, result, *flags))
        if source == "one.c":
            frame = f"one.c:3:6:{self.folder.name}\t{self.stack}\tstatic\n"
            (self.folder / "one.su").write_text(frame, encoding="utf-8")

    def link(self, result: str, *objects: str) -> None:
        self.commands.append(("link", result, *objects))

    def image(self, result: str, *objects: str, entry: str) -> None:
        self.commands.append(("image", result, *objects, entry))

    def link_with_newlib(self, result: str, *objects: str, entry: str) -> bool:
        self.commands.append(("newlib", result, *objects, entry))
        return self.has_newlib

    def tool(self, name: str, *arguments: str) -> str:
        self.commands.append((name, *arguments))
        if name == "nm":
            return "".join(f"   U {symbol}\n" for symbol in self.undefined.split())
        return {
            "one.o": sizes(self.code, 8, 4, 2),
            "linked.elf": sizes(900, 50, 30, 20),
            "all.elf": sizes(1500, 50, 30, 20),
            "newlib.elf": sizes(2500, 50, 300, 200),
        }.get(arguments[-1], "")

    def run(self, program: str) -> str:
        self.commands.append(("run", program))
        (states,) = map(int, re.findall(r"#define STATES (\d+)", self.text))
        calls = len(self.undefined.split())
        libm = 10
        loops = [int(rounds) for rounds in re.findall(r"measured_loop\((\d+)\)", self.text)]
        lines = [f"loop {2 * loops[0]} {2 * loops[1]}", "nothing 1"]
        lines += ["tape 3 1"] * calls  # two instructions besides the return
        for i in range(states):
            alone = 40 if i < states - 1 else 60
            lines.append(
                f"state {alone + libm * calls} {alone + 3 * calls}{' 1' * calls}\n"
                f"status {3 if i in self.refused and states == STATES else 0}"
            )
        return "\n".join(lines)


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> type[Tools]:
    class Fresh(Tools):
        made: list[Tools] = []  # noqa: RUF012

    image = SimpleNamespace(
        symbols={"planar_arm_mass_matrix": 7, "planar_arm_gravity_force": 8},
        depth=lambda address: 100 + address,
    )
    monkeypatch.setattr(cost, "Toolchain", Fresh)
    monkeypatch.setattr(cost, "read_image", lambda tools, file: image)
    return Fresh


def measured(
    mechanism: Mechanism, programs: list[Program], target: str = "cortex-m7", **options: Any
) -> cost.Measured:
    return cost.measure(mechanism, programs, target, STATES, **options)


def test_a_cost_has_the_figures_of_its_tools(
    arm: Mechanism, programs: list[Program], tools: type[Tools]
) -> None:
    """Two calls of libm take ten instructions each; a dual-issue core begins two in a cycle."""
    sheet = measured(arm, programs)
    gravity, mass = sheet.costs
    assert (gravity.function, mass.function) == ("gravity_force", "mass_matrix")
    assert mass.method == programs[1].method
    assert (mass.instructions, mass.alone, mass.libm_calls) == ((60, 80), (40, 60), 2)
    assert (mass.flash, mass.ram, mass.stack) == (108, 6, 64)
    assert mass.undefined == ("cos", "sin")
    assert (mass.flash_with_libm, mass.ram_with_libm) == (980, 50)
    assert (gravity.stack_with_libm, mass.stack_with_libm) == (108, 107)
    assert (mass.cycles, mass.cycles_alone, mass.work) == ((30, None), (20, None), 0)
    assert (sheet.flash, sheet.flash_with_libm, sheet.ram_with_libm) == (2 * 108, 1580, 50)
    assert sheet.newlib == (2850, 500)
    assert sheet.unknown == ()


def test_a_function_is_compiled_twice_and_linked_with_its_recording(
    arm: Mechanism, programs: list[Program], tools: type[Tools]
) -> None:
    measured(arm, programs[:1])
    single, together = sorted(tools.made, key=lambda made: "all.elf" in str(made.commands))
    symbol = "planar_arm_gravity_force"
    assert single.folder.name == symbol
    compiled = [command for command in single.commands if command[0] == "compile"]
    assert compiled[0][:3] == ("compile", "one.c", "one.o")
    assert {"-std=c99", "-ffp-contract=off", "-O2", "-fstack-usage"} <= set(compiled[0])
    assert compiled[1] == ("compile", "cost.c", "cost.o", "-std=gnu99", "-O2")
    (renaming,) = (command for command in single.commands if command[0] == "objcopy")
    called = sorted(option for option in renaming if "=tape_" in option)
    assert called == ["--redefine-sym=cos=tape_cos", "--redefine-sym=sin=tape_sin"]
    assert renaming[-3:] == (f"--redefine-sym={symbol}={symbol}_on_tape", "one.o", "tape.o")
    assert ("link", "cost.elf", "cost.o", "one.o", "tape.o") in single.commands
    assert ("image", "linked.elf", "one.o", symbol) in single.commands
    linked = (f"{symbol}/one.o", f"-Wl,--undefined={symbol}", symbol)
    assert ("image", "all.elf", *linked) in together.commands
    assert ("newlib", "newlib.elf", *linked) in together.commands


def test_without_libm_the_sections_of_the_object_are_all(
    arm: Mechanism, programs: list[Program], tools: type[Tools]
) -> None:
    tools.undefined = ""
    sheet = measured(arm, programs)
    (mass,) = (c for c in sheet.costs if c.function == "mass_matrix")
    assert (mass.instructions, mass.alone, mass.libm_calls) == ((40, 60), (40, 60), 0)
    assert (mass.flash_with_libm, mass.ram_with_libm) == (112, 50)
    assert (sheet.flash, sheet.flash_with_libm, sheet.newlib) == (216, 216, None)


def test_newlib_may_be_missing(arm: Mechanism, programs: list[Program], tools: type[Tools]) -> None:
    tools.has_newlib = False
    assert measured(arm, programs[:1]).newlib is None


def test_a_stack_that_cannot_be_read_is_unknown(
    arm: Mechanism, programs: list[Program], tools: type[Tools], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(tools: Any, file: str) -> Any:
        raise Unreadable("a loop in the stack")

    monkeypatch.setattr(cost, "read_image", unreadable)
    sheet = measured(arm, programs)
    assert [c.stack_with_libm for c in sheet.costs] == [None, None]
    assert [c.cycles for c in sheet.costs] == [None, None]
    assert sheet.unknown == ("gravity_force, mass_matrix: a loop in the stack",)


def test_refused_states_are_left_out_and_counted(
    arm: Mechanism, programs: list[Program], tools: type[Tools], monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.refused = frozenset({0, 2})
    sheet = measured(arm, programs[:1], source=Source(TextOptions(checked=True)))
    assert sheet.unknown == (
        "gravity_force: 2 of 3 states are refused by the checks and not measured",
    )
    assert sheet.costs[0].alone == (60, 60)  # the only state is the last one
    single = min(tools.made, key=lambda made: "all.elf" in str(made.commands))
    assert single.commands.count(("run", "cost.elf")) == 2
    tools.refused = frozenset({0, 1, 2})
    with pytest.raises(BuildError, match=r"refuses all 3 states \(status 3\)"):
        measured(arm, programs[:1], source=Source(TextOptions(checked=True)))


def test_what_does_not_fit_a_board_is_refused_with_its_size(
    arm: Mechanism, programs: list[Program], tools: type[Tools]
) -> None:
    board = targets.find("cortex-m7")
    tools.code = board.flash // 2 - 8
    assert measured(arm, programs).flash == board.flash
    tools.code += 1024
    with pytest.raises(
        RequestError, match=r"the 2 functions of 'planar_arm' need 4098 KiB of flash"
    ):
        measured(arm, programs)
    tools.code, tools.stack = 100, board.stack
    assert measured(arm, programs[:1]).costs[0].stack == board.stack
    tools.stack = board.stack + 1024
    with pytest.raises(RequestError, match=r"needs 65 KiB of stack, and .* has 64 KiB"):
        measured(arm, programs[:1])


def test_only_targets_with_a_counter_are_measured(arm: Mechanism) -> None:
    with pytest.raises(RequestError, match=r"host does not count instructions; use cortex-m4f, "):
        measured(arm, [], "host")


def test_the_measuring_program_has_every_state_argument_and_result(
    arm: Mechanism, programs: list[Program], tools: type[Tools]
) -> None:
    """Numbers in C are those that are drawn, with a seed that never changes."""
    mass = programs[1]
    states = cost._draw(arm, programs, STATES, cost.NO_ARGUMENTS)
    again = cost._draw(arm, programs, STATES, cost.NO_ARGUMENTS)
    assert (states["q"] == again["q"]).all()
    board: Any = SimpleNamespace(machine=targets.find("cortex-m7"))
    text = cost._measuring(mass, Target("arm", arm.sizes), states, {"sin": 1, "atan2": 2}, board)
    assert f"#define STATES {STATES}" in text
    (rows,) = re.findall(r"in_q\[STATES\]\[2\] = \{\n(.*?)\};", text, re.DOTALL)
    written = [[float(x) for x in row.split(",")] for row in re.findall(r"\{ (.*?) \}", rows)]
    assert written == [[float(x) for x in row] for row in states["q"]]
    assert "static double out_M[4];" in text
    assert "function(const double *, double *)" in text
    assert "f(in_q[i], out_M)" in text
    tape = 1 + sum(mass.operations.get(op, 0) for op in cost.LIBM)
    assert f"static double tape[{tape}];" in text
    assert "systick" in text.lower() or "SYST" in text
    assert "double tape_atan2(double y, double x);" in text
    assert "typedef double binary(double, double);" in text
    alone = cost._measuring(mass, Target("arm", arm.sizes), states, {}, board)
    assert "unary" not in alone


@pytest.mark.parametrize("checked", [False, True])
def test_a_workspace_is_the_last_argument_before_its_size(
    checked: bool, arm: Mechanism, programs: list[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a checked function takes the size, to compare it with the size that it needs."""
    backend = printer()
    wrapped = SimpleNamespace(work=lambda program, checked=False: 7, literal=backend.literal)
    monkeypatch.setattr(cost, "printer", lambda: wrapped)
    states = cost._draw(arm, programs, STATES, cost.NO_ARGUMENTS)
    board: Any = SimpleNamespace(machine=targets.find("cortex-m7"))
    target = Target("arm", arm.sizes, TextOptions(checked=checked))
    text = cost._measuring(programs[1], target, states, {}, board)
    assert f"static double {WORK}[7];" in text
    assert f"f(in_q[i], out_M, {WORK}{', 7' if checked else ''});" in text
    assert f"function(const double *, double *, double *{', int' if checked else ''});" in text


def test_a_function_is_printed_with_its_own_certified_bounds(
    arm: Mechanism, programs: list[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[Any] = []

    def source(program: Program, target: Target, bounds: Any) -> str:
        printed.append(bounds)
        return "text"

    backend = SimpleNamespace(headers=lambda programs, target: {"arm.h": "header"}, source=source)
    monkeypatch.setattr(cost, "printer", lambda: backend)
    bounds: Any = {"mass_matrix": {3: 1}, "other": {}}
    target = Target("arm", arm.sizes)
    for measured_source in (Source(divisor_bounds=bounds), Source()):
        files = measured_source.files(programs[1], target)
        assert files == {"arm.h": "header", "one.c": "text"}
    assert printed == [{3: 1}, None]


def test_a_function_without_a_frame_has_no_stack(
    arm: Mechanism, programs: list[Program], tools: type[Tools], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symgen.machine.stack_usage.stack_bytes", lambda text, symbol: None)
    assert measured(arm, programs[:1]).costs[0].stack == 0


def test_fixed_arguments_are_the_same_at_every_state(
    arm: Mechanism, programs: list[Program]
) -> None:
    arguments = Arguments(fixed={"prepared": [Fraction(1), Fraction(2)]})
    states = cost._draw(arm, programs, STATES, arguments)
    assert states["prepared"].tolist() == [[1, 2]] * STATES
    assert len(states["q"]) == STATES


def test_rows_of_an_argument_are_flat_and_one_for_each_state() -> None:
    states = {
        "q": np.zeros((2, 3)),
        "W": np.arange(8.0).reshape(2, 2, 2),
    }
    rows = [[float(x) for x in row.split(",")] for row in cost._rows(states, "W", "double")]
    assert rows == [[0, 1, 2, 3], [4, 5, 6, 7]]


# -- memory on this machine --


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Record the commands of a compiler that states a stack of 48 bytes and a code of 200."""
    commands: list[list[str]] = []

    def run(command: list[str], folder: Path) -> Any:
        commands.append(command)
        if command[0] == "size":
            return SimpleNamespace(stdout=".text 190 0\n.rodata 10 0\n.data 7 0\n", returncode=0)
        if "-fstack-usage" in command:
            symbol = command[command.index("-c") + 1].removesuffix(".c")
            (folder / "one.su").write_text(f"a.c:1:2:{symbol}\t48\tstatic\n", encoding="utf-8")
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(footprint, "_run", run)
    monkeypatch.setattr(footprint, "find_compiler", lambda: ("cc", "-m64"))
    return commands


def test_a_footprint_is_that_of_the_function_alone_with_the_flags_of_the_build(
    arm: Mechanism, programs: list[Program], compiler: list[list[str]]
) -> None:
    """Without the flags for a shared library."""
    memory = footprint.footprint(programs[1], Target("arm", arm.sizes), Build(optimize=3))
    assert (memory.code, memory.stack, memory.missing) == (200, 48, {})
    compile_command, size_command = compiler
    assert compile_command[:3] == ["cc", "-m64", "-std=c99"]
    assert {"-O3", "-ffp-contract=off", "-fno-math-errno"} <= set(compile_command)
    assert not {"-fPIC", "-fvisibility=hidden"} & set(compile_command)
    assert size_command == ["size", "-A", "-d", "one.o"]


def test_a_compiler_without_stack_usage_leaves_the_stack_unknown(
    arm: Mechanism, programs: list[Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is refused only if it does not compile without -fstack-usage either."""
    codes = {"with": 1, "without": 0}

    def run(command: list[str], folder: Path) -> Any:
        if command[0] == "size":
            return SimpleNamespace(stdout="", returncode=1)
        code = codes["with" if "-fstack-usage" in command else "without"]
        return SimpleNamespace(returncode=code, stderr="note: x\n  a.c: error: bad\nerror: last\n")

    monkeypatch.setattr(footprint, "_run", run)
    target = Target("arm", arm.sizes)
    memory = footprint.footprint(programs[1], target, Build())
    assert (memory.code, memory.stack) == (None, None)
    assert sorted(memory.missing) == ["code", "stack"]
    codes["without"] = 1
    with pytest.raises(BuildError, match=r"refused the generated text: a\.c: error: bad$"):
        footprint.footprint(programs[1], target, Build())

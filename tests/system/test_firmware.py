"""Generated C on bare metal: boards under QEMU run the self-test and give the same bits at -O0 and
-O2.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from symgen import generate
from symgen.cli import main
from symgen.machine import targets
from symgen.machine.emulation import Toolchain
from symgen.machine.firmware import BASE_FLAGS, OPTIMIZE
from symgen.support.errors import RequestError
from tests.shared.firmware_tools import REQUIRED, make, need
from tests.shared.folders import cmake

pytestmark = pytest.mark.firmware

ROBOTS = ("scara", "panda")


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("target", targets.names())
def test_the_self_test_passes_on_the_target(robot: str, target: str, tmp_path: Path) -> None:
    need(target)
    functions = (
        None
        if REQUIRED or robot == "scara"
        else ["forward_dynamics", "mass_matrix", "interbody_forces"]
    )
    manifest = generate(robot, tmp_path / robot, functions, "float", target=target, evidence=False)
    done = make(tmp_path / robot, "run")
    assert done.returncode == 0, done.stdout
    assert f"{len(manifest['functions'])} passed, 0 failed" in done.stdout


def test_a_closed_chain_assembles_on_the_target(tmp_path: Path) -> None:
    need("cortex-m7")
    generate(
        "four_bar",
        tmp_path / "four_bar",
        ["assemble", "constrained_forward_dynamics"],
        "float",
        target="cortex-m7",
        evidence=False,
    )
    done = make(tmp_path / "four_bar", "run")
    assert done.returncode == 0, done.stdout
    assert "assemble: passed (3 states)" in done.stdout


TOOLCHAIN = """
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16")
set(CMAKE_EXE_LINKER_FLAGS_INIT "--specs=rdimon.specs")
"""
"""CMake toolchain file for Newlib with semihosting, from the tools' documentation."""


def test_cmake_builds_for_bare_metal_the_measured_instructions(tmp_path: Path) -> None:
    """The self-test links, and a function has the instructions that the flags of the measurement
    give.
    """
    need("cortex-m4f")
    generate(
        "scara",
        tmp_path / "scara",
        ["forward_dynamics"],
        target="cortex-m4f",
        form="looped",
        evidence=False,
    )
    (tmp_path / "toolchain.cmake").write_text(TOOLCHAIN, encoding="utf-8")
    cmake(
        "-S",
        tmp_path / "scara",
        "-B",
        tmp_path / "build",
        f"-DCMAKE_TOOLCHAIN_FILE={tmp_path / 'toolchain.cmake'}",
    )
    cmake("--build", tmp_path / "build")
    assert (tmp_path / "build" / "scara_selftest").exists()
    tools, file = Toolchain(targets.find("cortex-m4f"), tmp_path), "scara_forward_dynamics.c"
    tools.compile(f"scara/{file}", "measured.o", *BASE_FLAGS, OPTIMIZE)
    built = next((tmp_path / "build").rglob(f"{file}.*"))
    printed = [
        tools.tool("objdump", "-d", str(path)).partition("Disassembly")[2]
        for path in (tmp_path / "measured.o", built)
    ]
    assert printed[0] == printed[1] != ""
    assert "rename-registers" not in (tmp_path / "scara" / "CMakeLists.txt").read_text(
        encoding="utf-8"
    )
    readme = (tmp_path / "scara" / "README.md").read_text(encoding="utf-8")
    assert "rename-registers" not in readme
    assert (
        f"arm-none-eabi-gcc -std=c99 -O2 {' '.join((*BASE_FLAGS[1:], *tools.machine.flags))} -c"
        in readme
    )


RESULTS_BY_JUDGE = {"wrong": "got", "unsolved": "x"}
"""Functions of the self-test that judge results, and their names for the results."""
JUDGE = re.compile(r"^static int (\w+)\(.*\)\n{\n(?:    int \w+.*;\n)+", re.MULTILINE)


def head_with_printing(judge: re.Match[str]) -> str:
    """Return the head of a function of the self-test, with a loop that prints the bits of its
    results.
    """
    if judge.group(1) not in RESULTS_BY_JUDGE:
        return judge.group()
    return (
        judge.group()
        + f"""    for (i = 0; i < size; ++i) {{
        union {{ float number; unsigned bits; }} shown;
        shown.number = {RESULTS_BY_JUDGE[judge.group(1)]}[i];
        printf("%08x\\n", shown.bits);
    }}
"""
    )


@pytest.mark.parametrize("target", ["cortex-m4f", "rv32imafc"])
def test_every_optimization_gives_the_same_bits(robot: str, target: str, tmp_path: Path) -> None:
    need(target)
    generate(
        robot,
        tmp_path / robot,
        real="float",
        target=target,
        functions=["forward_dynamics", "inverse_mass_matrix"],
        evidence=False,
    )
    test = tmp_path / robot / f"{robot}_selftest.c"
    text = test.read_text(encoding="utf-8")
    assert set(RESULTS_BY_JUDGE) <= set(JUDGE.findall(text))
    test.write_text(JUDGE.sub(head_with_printing, text), encoding="utf-8")
    results_by_level = []
    for level in ("-O0", "-O2"):
        done = make(tmp_path / robot, "run", f"OPTIMIZE={level}", f"BUILD={tmp_path / level}")
        assert done.returncode == 0, done.stdout
        results_by_level.append(re.findall(r"^[0-9a-f]{8}$", done.stdout, re.MULTILINE))
    assert len(results_by_level[0]) > 100
    assert results_by_level[0] == results_by_level[1]


@pytest.mark.parametrize("target", targets.names())
def test_a_wrong_number_fails_on_the_target(target: str, tmp_path: Path) -> None:
    """The error reverses the sign of the last stored number."""
    need(target)
    generate(
        "scara",
        tmp_path / "scara",
        real="float",
        target=target,
        functions=["forward_dynamics"],
        evidence=False,
    )
    source = tmp_path / "scara" / "scara_forward_dynamics.c"
    text = source.read_text(encoding="utf-8")
    spoilt = re.sub(r"(    a\[3\] = )(.*);", r"\1-(\2);", text)
    assert spoilt != text
    source.write_text(spoilt, encoding="utf-8")
    done = make(tmp_path / "scara", "run")
    assert done.returncode != 0
    assert "forward_dynamics: FAILED" in done.stdout


def test_an_unknown_target_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cortex-m4f"):
        generate("scara", tmp_path / "scara", target="cortex-m4", functions=["gravity_force"])
    assert not any(tmp_path.iterdir())


def test_only_a_target_adds_firmware_files_and_user_files_there_stay(tmp_path: Path) -> None:
    folder = tmp_path / "scara"
    for target in ("cortex-m4f", "rv32imafc", None):
        manifest = generate(
            "scara", folder, target=target, functions=["gravity_force"], evidence=False
        )
        assert ("firmware/Makefile" in manifest["files"]) == (target is not None)
        assert (folder / "firmware" / "Makefile").exists() == (target is not None)
        assert ("target" in manifest["options"]) == (target is not None)
        assert ("firmware" in (folder / "README.md").read_text(encoding="utf-8")) == (
            target is not None
        )
        if target is None:
            break
        (folder / "firmware" / "board.c").write_text(target, encoding="utf-8")
    assert (folder / "firmware" / "board.c").read_text(encoding="utf-8") == "rv32imafc"
    assert [path.name for path in (folder / "firmware").iterdir()] == ["board.c"]


def test_a_user_folder_named_firmware_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "scara"
    generate("scara", folder, functions=["gravity_force"])
    (folder / "firmware").mkdir()
    (folder / "firmware" / "board.c").write_text("mine", encoding="utf-8")
    with pytest.raises(RequestError, match="firmware was not written by symgen"):
        generate("scara", folder, target="host", functions=["gravity_force"])
    assert (folder / "firmware" / "board.c").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("target", "real", "warned"),
    [
        ("cortex-m4f", "double", True),
        ("rv32imafc", "double", True),
        ("cortex-m7", "double", False),
        ("cortex-m4f", "float", False),
    ],
)
def test_double_on_a_single_precision_fpu_causes_a_warning(
    target: str, real: str, warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "generate",
        "scara",
        "-f",
        "gravity_force",
        "--target",
        target,
        "--real",
        real,
        "--no-evidence",
    ]
    assert main([*words, "-o", str(tmp_path / "c")]) == 0
    assert ("times slower" in capsys.readouterr().err) == warned

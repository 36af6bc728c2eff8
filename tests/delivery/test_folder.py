"""The generated folder: files, self-test, CMake package, and files that are not replaced."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.delivery.cases import SelfTestCase, _blocks
from symgen.delivery.contents import FolderContents
from symgen.delivery.folder import texts, write
from symgen.delivery.manifest import wrapped_command
from symgen.machine.building import Build, scheduling
from symgen.readback.rows import compare
from symgen.support.errors import RequestError
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.reals import DOUBLE, FLOAT, Real
from tests.shared.c_programs import arm, gravity
from tests.shared.folders import binary, cases, cmake, mechanism, run, selftest
from tests.shared.robots_for_tests import point_mass_arm


def write_arm(
    folder: Path, real: str = "double", trig: str = "libm", frame: str | None = None
) -> dict[str, Any]:
    programs = arm(real)
    return write(
        folder,
        texts(
            FolderContents(
                mechanism(),
                programs,
                options=ProgramOptions(real, frame=frame),
                text=TextOptions(trig),
                cases=cases(programs, 1e-12 if real == "double" else 1e-4),
            )
        ),
    )


def test_files_manifest_and_readme_have_the_documented_content(tmp_path: Path) -> None:
    manifest = write_arm(tmp_path / "out" / "arm", frame="lower")
    folder = tmp_path / "out" / "arm"
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        [f"arm_{f}.c" for f in arm()]
        + ["arm.h", "arm.toml", "arm_selftest.c", "CMakeLists.txt", "manifest.json", "README.md"]
    )
    assert json.loads((folder / "manifest.json").read_text()) == manifest
    assert list(manifest)[:8] == [
        "symgen",
        "robot",
        "source_sha256",
        "real",
        "nq",
        "nv",
        "gravity",
        "joints",
    ]
    assert manifest["gravity"] == [0.0, 0.0, -9.81]
    shoulder = {
        "name": "shoulder",
        "type": "revolute",
        "parent": "base",
        "child": "upper",
        "q": [0, 1],
        "v": [0, 1],
    }
    assert manifest["joints"][0] == shoulder
    assert manifest["joints"][1]["parent"] == "upper"
    dynamics = manifest["functions"]["forward_dynamics"]
    assert list(dynamics) == [
        "method",
        "symbol",
        "file",
        "arguments",
        "result",
        "operations",
        "depth",
    ]
    assert dynamics["symbol"] == "arm_forward_dynamics"
    assert dynamics["arguments"][2] == {"name": "tau", "shape": [2]}
    assert dynamics["result"] == {"name": "a", "shape": [2]}
    assert [r["name"] for r in manifest["functions"]["mass_matrix_and_bias"]["result"]] == [
        "M",
        "c",
    ]
    assert manifest["functions"]["mass_matrix_determinant"]["result"] == {
        "name": "det",
        "shape": [],
    }
    assert manifest["options"] == {"name": "arm", "frame": "lower", "payload": None, "trig": "libm"}
    readme = (folder / "README.md").read_text()
    assert "| 1 | `elbow` | revolute | `upper` → `lower` | rad |" in readme
    assert "arm_forward_dynamics(q, v, tau, a);" in readme
    (tmp_path / "plain").mkdir()
    assert folder.stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert [p.name for p in folder.parent.iterdir()] == ["arm"]


def test_the_c_of_the_folder_computes_the_programs(tmp_path: Path) -> None:
    write_arm(tmp_path / "arm", trig="macro")
    header = (tmp_path / "arm" / "arm.h").read_text()
    for function, program in arm().items():
        assert compare(program, (tmp_path / "arm" / f"arm_{function}.c").read_text(), header) == []


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    write_arm(tmp_path / "one")
    write_arm(tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        data = path.read_bytes()
        assert data == (tmp_path / "two" / path.name).read_bytes()
        assert b"\r" not in data
        assert str(tmp_path).encode() not in data
        assert not re.search(rb"\b20\d\d-\d\d-\d\d\b", data)


@pytest.mark.slow
@pytest.mark.parametrize("real", ["double", "float"])
def test_the_self_test_passes_correct_code(tmp_path: Path, real: str) -> None:
    write_arm(tmp_path / "arm", real)
    done = selftest(tmp_path / "arm")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[:-1] == [f"{function}: passed (3 states)" for function in arm()]
    assert lines[-1] == "5 passed, 0 failed"
    quiet = selftest(tmp_path / "arm", "-Darm_NO_STDIO")
    assert (quiet.returncode, quiet.stdout) == (0, "")
    if real == "double":
        source = run(
            "gcc",
            "-E",
            "-P",
            "-Darm_SELFTEST",
            "-Darm_NO_STDIO",
            tmp_path / "arm" / "arm_selftest.c",
        ).stdout
        assert "printf" not in source


def test_progress_never_exceeds_its_total_and_ends_with_the_folder(tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    symgen.generate(
        "planar_arm",
        tmp_path / "out",
        ["mass_matrix"],
        checked=True,
        progress=lambda *report: reports.append(report),
    )
    assert all(0 <= done <= total for _, done, total in reports)
    assert [report[1:] for report in reports[-3:]] == [(1, 3), (2, 3), (3, 3)]


class ProofReached(Exception):
    pass


@pytest.mark.parametrize("name", ["arm", None])
def test_the_proof_uses_the_name_of_the_written_code(
    name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_name(*arguments: object) -> None:
        assert arguments[-1] == (name or "scara")
        raise ProofReached

    monkeypatch.setattr("symgen.delivery.writing.cost_sheet", lambda *_: {})
    monkeypatch.setattr("symgen.delivery.writing.proof_sheet", check_name)
    with pytest.raises(ProofReached):
        symgen.generate("scara", tmp_path / "out", ["mass_matrix"], target="cortex-m4f", name=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [("0.7*c_2", "0.7*c_2*c_2"), ("a[0] = a_1;", "a[0] = a_1/0.0;"),
     ("    a[1] = out_a_1;\n", "    (void)out_a_1;\n"),
     ("    const double r_1", "    a[0] = 7.0;\n    const double r_1"),
     ("a[0] = a_1;", "a[0] = sqrt(-1.0 - a_1*a_1);")],
)  # fmt: skip
def test_the_self_test_fails_for_planted_errors(tmp_path: Path, old: str, new: str) -> None:
    """Plant a wrong operation, an infinity, a missing store, an early store, and a NaN."""
    write_arm(tmp_path / "arm")
    path = tmp_path / "arm" / "arm_forward_dynamics.c"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    done = selftest(tmp_path / "arm")
    assert done.returncode == 1
    assert re.search(r"forward_dynamics: FAILED \(\d+ wrong numbers in 3 states\)", done.stdout)
    assert done.stdout.splitlines()[-1] == "4 passed, 1 failed"
    assert selftest(tmp_path / "arm", "-Darm_NO_STDIO").returncode == 1


@pytest.mark.parametrize("real", [DOUBLE, FLOAT])
def test_arrays_of_the_self_test_hold_a_whole_block_beyond_the_last_state(real: Real) -> None:
    """A function that stores a whole block at the last state stays inside the arrays, where the
    self-test detects these stores.
    """
    words = _blocks((), (), real)
    assert words["states"] == max(words["counts"])
    assert words["capacity"] >= words["states"] + real.lanes


def test_the_self_test_covers_a_payload_and_single_functions(tmp_path: Path) -> None:
    programs = {"gravity_force": gravity(payload=True)}
    write(
        tmp_path / "arm",
        texts(
            FolderContents(
                mechanism(),
                programs,
                name="my arm",
                cases=cases(programs),
                options=ProgramOptions(payload="lower"),
            )
        ),
    )
    assert (tmp_path / "arm" / "my_arm.h").is_file()
    assert selftest(tmp_path / "arm").stdout.splitlines()[-1] == "1 passed, 0 failed"
    write(tmp_path / "none", texts(FolderContents(mechanism(), programs)))
    unjudged = (
        "gravity_force: not judged: its results in double have no correct digit at any reference"
        " state\n"
    )
    assert selftest(tmp_path / "none").stdout == unjudged + "0 passed, 0 failed\n"


def test_a_log_determinant_without_correct_digits_is_not_judged(tmp_path: Path) -> None:
    """With 500 kg on an almost massless arm, det M has no correct digit in float; M is judged."""
    heavy = point_mass_arm(Fraction(1, 10**12), Fraction(1, 10**12), 500)
    symgen.generate(
        heavy, tmp_path / "arm", ["mass_matrix", "mass_matrix_log_determinant"], real="float"
    )
    lines = selftest(tmp_path / "arm").stdout.splitlines()
    assert (
        "mass_matrix_log_determinant: not judged: its results in float have no correct digit at any"
        " reference state" in lines
    )
    assert lines[-1] == "1 passed, 0 failed"


def test_results_without_correct_digits_are_not_judged(tmp_path: Path) -> None:
    """With 200 t carrying half a milligram, joint forces have no correct digit; M is judged."""
    description = "\n".join(
        (
            "[base]",
            'name = "base"',
            "[[body]]",
            'name = "heavy"',
            'parent = "base"',
            "[body.joint]",
            'name = "first"',
            'type = "spherical"',
            "[[body.part]]",
            'link = "heavy"',
            "mass = 193000",
            "centre = [0.3, 0.4, -0.24]",
            "[[body]]",
            'name = "light"',
            'parent = "heavy"',
            "[body.joint]",
            'name = "second"',
            'type = "spherical"',
            "steps = [{ shift = [0.004, -0.6, -0.5] }]",
            "[[body.part]]",
            'link = "light"',
            "mass = 4.78e-7",
            "inertia = [7.9e-9, 0, 0, 1e-8, 0, 9.7e-9]",
        )
    )
    (tmp_path / "robot.toml").write_text(f'name = "pair"\n{description}\n')
    symgen.generate(
        tmp_path / "robot.toml",
        tmp_path / "arm",
        ["mass_matrix", "interbody_forces=riccati"],
        real="float",
    )
    lines = selftest(tmp_path / "arm").stdout.splitlines()
    assert (
        "interbody_forces: not judged: its results in float have no correct digit at any reference"
        " state" in lines
    )
    assert lines[-1] == "1 passed, 0 failed"


@pytest.mark.parametrize("function", ["mass_matrix_solve", "mass_matrix"])
def test_a_self_test_has_no_unused_functions(function: str, tmp_path: Path) -> None:
    """Each function needs another kind of check; compilers warn of unused functions."""
    symgen.generate("planar_arm", tmp_path / "arm", [function])
    assert selftest(tmp_path / "arm").stdout.splitlines()[-1] == "1 passed, 0 failed"


def test_names_of_a_description_cannot_inject_code(tmp_path: Path) -> None:
    odd = mechanism("a|`*/ b\n#define int")
    odd = replace(
        odd, joints=(replace(odd.joints[0], name="j*/|`\n\\"), odd.joints[1]), base="*/\n"
    )
    programs = arm()
    write(tmp_path / "odd", texts(FolderContents(odd, programs, cases=cases(programs))))
    assert selftest(tmp_path / "odd").returncode == 0


@pytest.mark.parametrize("case", [("q", 3), ("nan", 2), ("tolerance", 2)])
def test_a_case_of_another_shape_is_refused(case: tuple[str, int]) -> None:
    wrong_field, size = case
    value = float("nan") if wrong_field == "nan" else 1.0
    wrong = SelfTestCase(
        "mass_matrix",
        ((value,) * size,),
        ((1.0,) * 4,),
        ((1.0,) * (2 if wrong_field == "tolerance" else 4),),
    )
    with pytest.raises(RequestError, match="self-test case of mass_matrix"):
        texts(FolderContents(mechanism(), arm(), cases=[wrong]))


# Other files in the folder.


def test_a_folder_of_symgen_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    folder = tmp_path / "arm"
    write_arm(folder)
    (folder / "notes.txt").write_text("mine")
    (folder / "build").mkdir()
    (folder / "dangling").symlink_to("nowhere")
    manifest = write(
        folder, texts(FolderContents(mechanism(), {"mass_matrix": arm()["mass_matrix"]}))
    )
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        [*manifest["files"], "build", "dangling", "notes.txt"]
    )
    assert not (folder / "arm_forward_dynamics.c").exists()
    (tmp_path / "link").symlink_to(folder)
    write_arm(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (folder / "arm_forward_dynamics.c").exists()
    assert (folder / "notes.txt").read_text() == "mine"


def test_the_current_folder_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    for path in (".", ".."):
        with pytest.raises(RequestError, match="name a folder inside the working directory"):
            write_arm(Path(path))
    write_arm(Path("arm"))
    assert (tmp_path / "below" / "arm" / "arm.h").is_file()


def test_files_that_symgen_did_not_write_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="is a file"):
        write_arm(tmp_path / "file")
    with pytest.raises(
        RequestError, match=r"file is not a folder, so that no folder .*below can be made"
    ):
        write_arm(tmp_path / "file" / "below")
    for text in (
        None,
        "{}",
        "[]",
        '"x"',
        '{"symgen": "1"}',
        "\udcff",
        '{"symgen": "", "files": ["mine"]}',
    ):
        shutil.rmtree(tmp_path / "full", ignore_errors=True)
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "arm.h").write_text("mine")
        if text is not None:
            (tmp_path / "full" / "manifest.json").write_bytes(
                text.encode("utf-8", "surrogateescape")
            )
        with pytest.raises(RequestError, match="symgen"):
            write_arm(tmp_path / "full")
        assert (tmp_path / "full" / "arm.h").read_text() == "mine"
    write_arm(tmp_path / "arm")
    write(
        tmp_path / "arm", texts(FolderContents(mechanism(), {"mass_matrix": arm()["mass_matrix"]}))
    )
    (tmp_path / "arm" / "arm_gravity_force.c").write_text("mine")
    with pytest.raises(RequestError, match=r"arm_gravity_force.c was not written by symgen"):
        write_arm(tmp_path / "arm")


# The CMake package.


CONSUMER = """
cmake_minimum_required(VERSION 3.15)
project(consumer LANGUAGES {language})
{found}
add_executable(consumer main.{suffix})
target_link_libraries(consumer PRIVATE arm::arm)
"""
MAIN = """
#include "arm.h"
int main(void)
{
    double q[arm_NQ] = {0, 0}, M[arm_NV*arm_NV];
    arm_mass_matrix(q, M);
    return M[1] > 1.04 && M[1] < 1.06 ? 0 : 1;
}
"""


def consume(folder: Path, find_line: str, language: str, *flags: str) -> None:
    folder.mkdir()
    suffix = {"C": "c", "CXX": "cpp"}[language.split()[-1]]
    (folder / "CMakeLists.txt").write_text(
        CONSUMER.format(language=language, found=find_line, suffix=suffix)
    )
    (folder / f"main.{suffix}").write_text(MAIN)
    cmake("-S", folder, "-B", folder / "build", *flags)
    cmake("--build", folder / "build")
    assert run(folder / "build" / "consumer").returncode == 0


@pytest.mark.slow
def test_cmake_links_libm_on_a_generic_system(tmp_path: Path) -> None:
    """Use CMake's system Generic (bare metal), which is neither UNIX nor Windows."""
    write_arm(tmp_path / "arm")
    cmake("-S", tmp_path / "arm", "-B", tmp_path / "build", "-DCMAKE_SYSTEM_NAME=Generic")
    cmake("--build", tmp_path / "build")
    assert run(tmp_path / "build" / "arm_selftest").returncode == 0


@pytest.mark.slow
def test_the_cmake_package_builds_installs_and_is_found(tmp_path: Path) -> None:
    write_arm(tmp_path / "arm")
    build = tmp_path / "build"
    cmake("-S", tmp_path / "arm", "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    (command,) = (
        unit["command"]
        for unit in json.loads((build / "compile_commands.json").read_text())
        if unit["file"].endswith("arm_forward_dynamics.c")
    )
    flags, measured = shlex.split(command), (*Build().flags, *scheduling(Build()))
    assert {flag for flag in flags if flag.startswith("-f")} == {
        flag for flag in measured if flag.startswith("-f")
    }
    assert [flag for flag in flags if flag.startswith("-O")][-1] == measured[0]
    cmake("--build", build)
    tested = run(binary("ctest"), "--output-on-failure", cwd=build)
    assert tested.returncode == 0
    assert "100% tests passed" in tested.stdout
    cmake("--install", build, "--prefix", tmp_path / "installed")
    prefix = f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}"
    consume(
        tmp_path / "c",
        f"find_package(arm {symgen.__version__.rpartition('.')[0]} REQUIRED)",
        "C",
        prefix,
    )
    consume(tmp_path / "cpp", f"add_subdirectory({tmp_path / 'arm'} arm)", "C CXX")
    assert not list((tmp_path / "cpp" / "build").rglob("arm_selftest*"))


def test_a_recorded_command_breaks_between_options() -> None:
    """A value stays on the line of its option; other words are parts of their own."""
    command = "symgen generate my_robot --method riccati --flat -o out -f mass_matrix"
    assert wrapped_command(command, 24) == [
        "symgen generate my_robot \\",
        "  --method riccati --flat \\",
        "  -o out -f mass_matrix",
    ]
    assert wrapped_command("symgen generate 'my robot'", 8) == [
        "symgen \\",
        "  generate \\",
        "  'my robot'",
    ]

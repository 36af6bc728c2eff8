"""The command line: output, error output and exit code of each command."""

from __future__ import annotations

import argparse
import inspect
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen import cli
from symgen.certificate.ranges import ACCELERATION
from symgen.cli import commands
from symgen.cli.commands import Parser, _progress, generate
from symgen.cli.commands._sharing import say_notes
from symgen.description.assembly import EARTH
from symgen.description.loading import load
from symgen.description.snapping import DEFAULT_TOLERANCE
from symgen.emission import printer
from symgen.machine import targets
from symgen.mechanism.drives import FRICTION_SPEED
from symgen.mechanism.notes import Note
from symgen.support.errors import SymgenError
from symgen.verification import proof
from symgen.vocabulary.functions import FUNCTIONS, PROVED_BY_DEFAULT
from tests.shared.descriptions import INERTIAL, joint, link, robot
from tests.shared.processor_time import slowness

ROOT = Path(__file__).resolve().parents[2]

Run = Callable[..., tuple[int, str, str]]
SYMGEN = [sys.executable, "-m", "symgen"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("show", "panda")` → (exit code, stdout, stderr), in this process."""

    def inside(*words: str) -> tuple[int, str, str]:
        code = cli.main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return inside


def run_process(*words: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run `symgen` in a separate process with pipes."""
    return subprocess.run(
        [*SYMGEN, *words], capture_output=True, text=True, check=False, **settings
    )


def refused(run: Run, *words: str) -> str:
    """Run a command that must be refused; return its one-line message."""
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("symgen: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


# -- results of every command -------------------------------------------------------------------


def test_help_names_every_command(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert all(f"  {name} " in out for name in commands.NAMES)


@pytest.mark.parametrize("name", commands.NAMES)
def test_no_group_of_options_is_longer_than_ten(name: str) -> None:
    parser = Parser(prog=name)
    commands.find(name).arguments(parser)
    commands.add_verbosity(parser)
    groups = {group.title: len(group._group_actions) for group in parser._action_groups}
    assert max(groups.values()) <= 10, groups


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
def test_completion_knows_every_command_and_every_function(run: Run, shell: str) -> None:
    pytest.importorskip("shtab")
    code, out, _ = run("completion", shell)
    assert code == 0
    assert all(name in out for name in (*commands.NAMES, *FUNCTIONS, "--jacobian-frame"))


def test_completion_names_the_package_that_it_lacks(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert "pip install 'symgen[completion]'" in refused(run, "completion", "bash")


@pytest.mark.parametrize("name", commands.NAMES)
def test_every_command_has_help(run: Run, name: str) -> None:
    code, out, err = run(name, "--help")
    assert (code, err) == (0, "")
    assert f"usage: symgen {name}" in out


def test_help_takes_at_most_a_fifth_of_a_second() -> None:
    """Measure processor time; a slow machine has more."""
    seconds = []
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run_process("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) <= 0.2 * slowness()


def test_help_imports_no_library_of_derivations() -> None:
    code = (
        "import sys; from symgen.cli import main; main(['--help']); print(*{'sympy', 'numpy',"
        " 'flint', 'jinja2', 'cffi', 'pycparser'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stderr == "\n"


def test_version_names_python_and_compiler(run: Run) -> None:
    """The version names Python and compiler, for reports of defects."""
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    python = ".".join(map(str, sys.version_info[:3]))
    assert re.fullmatch(
        rf"symgen {re.escape(symgen.__version__)} \(Python {re.escape(python)}, (gcc|clang)"
        r" [\d.]+\)\n",
        out,
    )


@pytest.mark.parametrize(
    ("compiler", "version_text"),
    [
        ("nowhere-to-be-found", "no C compiler"),
        ("a 'b", "no C compiler"),
        ("true", "true "),
        ("sh", "sh (unknown version)"),
    ],
)
def test_version_does_not_need_a_compiler(
    run: Run, monkeypatch: pytest.MonkeyPatch, compiler: str, version_text: str
) -> None:
    monkeypatch.setenv("CC", compiler)
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert f", {version_text}" in out


# -- quiet and verbose -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", commands.NAMES)
def test_every_command_has_quiet_and_verbose_and_uses_no_colours(run: Run, name: str) -> None:
    _, out, _ = run(name, "--help")
    assert "-q, --quiet" in out
    assert "-v, --verbose" in out
    assert "\x1b" not in out


def test_quiet_prints_only_the_result_and_errors(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "arm"
    assert run("generate", "planar_arm", "-f", "jacobian", "-o", str(folder), "-q") == (0, "", "")
    assert (folder / "planar_arm_jacobian.c").is_file()
    code, out, err = run("generate", "planar_arm", "-f", "jacobian", "-o", str(folder))
    assert (code, out.count("wrote")) == (0, 1)
    assert "symgen: note: " in err
    assert run("inspect", "planar_arm", "M[0,0]", "--quiet") == (0, "1.75 + 0.5*cos(q1)\n", "")
    assert refused(run, "generate", "planar_arm", "-f", "jacobain", "-q").endswith(
        "did you mean 'jacobian'?\n"
    )
    assert "not allowed with argument" in refused(run, "show", "planar_arm", "-q", "-v")


def test_verbose_prints_methods_reasons_and_times(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path / "cache"))
    unknown = ("--gravity", "0,0,-1.6251")  # no other test derives this robot
    words = ("generate", "planar_arm", *unknown, "-f", "mass_matrix", "-o", str(tmp_path / "arm"))
    code, out, err = run(*words, "-v")
    assert code == 0
    assert (
        "symgen: mass_matrix by composite_body, the fewest operations:"
        " composite_body 4, newton_euler 4\n"
    ) in err
    assert re.search(r"^symgen: \d+\.\d\d s deriving mass_matrix$", err, re.M)
    assert re.search(r"^symgen: \d+\.\d\d s in all$", err, re.M)
    _, _, verified = run("verify", "planar_arm", "-f", "mass_matrix", "--states", "1", "-v")
    assert re.search(r"^symgen: \d+\.\d\d s compiling", verified, re.M)
    assert all(float(seconds) < 600 for seconds in re.findall(r"(\d+\.\d\d) s ", err + verified))
    again = run(*words)
    assert again[:2] == (code, out)
    assert " s in all" not in again[2]


@pytest.mark.parametrize(
    ("name", "folder"),
    [("ur5-e_v1.2", "ur5-e_v1.2"), ("a b/c", "a_b_c"), ("..", "robot"), ("手", "手")],
)
def test_the_default_folder_has_the_name_of_the_robot(name: str, folder: str) -> None:
    assert generate._folder(name) == folder


def test_robots_prints_one_robot_per_line(run: Run) -> None:
    code, out, _ = run("robots")
    assert code == 0
    names = {line.split()[0] for line in out.splitlines()}
    assert names >= {"panda", "ur5", "puma560", "scara", "planar_arm", "planar_point_mass"}


def test_show_prints_the_joints(run: Run) -> None:
    code, out, err = run("show", "planar_arm")
    assert (code, err) == (0, "")
    assert "joint2" in out


def test_show_json_is_json(run: Run) -> None:
    code, out, _ = run("show", "scara", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["nq"] == len(facts["joints"]) == 4
    assert out.startswith('{\n  "')  # text output


@pytest.mark.parametrize("words", [["--gravity", "-9.81,0,0"], ["--gravity=-9.81,0,0"]])
def test_a_value_may_start_with_a_minus(run: Run, words: list[str]) -> None:
    _, out, _ = run("show", *words, "planar_arm", "--json")
    assert json.loads(out)["gravity"] == [-9.81, 0, 0]


@pytest.mark.parametrize(
    ("lock", "value"), [("joint2", "0"), ("joint2=pi/2", "pi/2"), ("joint2=-0.5", "-0.5")]
)
def test_a_locked_joint_is_removed_and_noted(run: Run, lock: str, value: str) -> None:
    code, out, _ = run("show", "planar_arm", "--lock", lock, "--json")
    facts = json.loads(out)
    assert (code, facts["nv"]) == (0, 1)
    assert any(note["kind"] == "lock" and value in note["text"] for note in facts["notes"])


def test_generate_writes_the_folder_and_prints_the_next_commands(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "arm"
    code, out, _ = run(
        "generate",
        "planar_arm",
        "-o",
        str(folder),
        "-f",
        "mass_matrix",
        "-f",
        "forward_dynamics=riccati",
    )
    manifest = json.loads((folder / "manifest.json").read_text())
    assert code == 0
    assert set(manifest["functions"]) == {"mass_matrix", "forward_dynamics"}
    rows = {
        line.split()[0]: line.split()[1:]
        for line in out.splitlines()
        if line.split() and line.split()[0] in FUNCTIONS
    }
    for name, entry in manifest["functions"].items():
        ops = entry["operations"]
        figures = [ops["mul"], ops["add"], ops["div"], ops["sin"] + ops["cos"], entry["depth"]]
        assert rows[name] == [entry["method"], *map(str, figures)]
    assert f"symgen verify {folder}" in out
    assert "cmake" in out


def test_generate_names_the_folder_after_the_robot(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(
        "generate", "planar_arm", "-f", "gravity_force", "--real", "float", "--name", "arm"
    )
    assert code == 0
    assert (tmp_path / "arm" / "arm_gravity_force.c").is_file()
    assert "symgen verify ./arm" in out


@pytest.mark.parametrize(
    ("name", "why", "instead"),
    [
        ("double", "is a keyword of C or C++", "double_robot"),
        ("co_await", "is a keyword of C or C++", "co_await_robot"),
        ("__arm", "begins or ends with an underscore", "arm"),
        ("_arm", "begins or ends with an underscore", "arm"),
        ("arm_", "begins or ends with an underscore", "arm"),
        ("2arm", "begins with a digit", "robot_2arm"),
        ("c", "is the name of a header or a library of the system", "c_robot"),
        ("NAN", "is a macro or a function", "NAN_robot"),
        ("I", "is a macro or a function", "I_robot"),
        ("linux", "is a macro or a function", "linux_robot"),
        ("far", "is a macro or a function", "far_robot"),
        ("my arm", "has characters other than", "my_arm"),
        ("my-arm", "has characters other than", "my_arm"),
        ("\u00e4rm", "has characters other than", "rm"),
        ("", "is empty", "robot"),
        ("a" * 101, "is longer than 100 characters", "a" * 100),
    ],
)
def test_a_name_that_is_invalid_in_c_is_refused(
    run: Run, tmp_path: Path, name: str, why: str, instead: str
) -> None:
    sentence = refused(
        run,
        "generate",
        "planar_arm",
        "-f",
        "mass_matrix",
        "-o",
        str(tmp_path / "arm"),
        "--name",
        name,
    )
    assert f"cannot be the name in C (--name), since it {why}" in sentence
    assert sentence.endswith(f"; take '{instead}'\n")
    with pytest.raises(symgen.SymgenError, match=re.escape(f"take '{instead}'")):
        symgen.generate("planar_arm", tmp_path / "arm", ["mass_matrix"], name=name)
    assert not list(tmp_path.iterdir())


def test_a_robot_name_that_is_invalid_in_c_is_changed_with_a_note(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "legs.urdf"
    path.write_text(
        robot(link("a", ""), link("b"), joint("j", "a", "b")).replace('name="r"', 'name="double"')
    )
    words = ("generate", str(path), "-f", "mass_matrix", "-o", str(tmp_path / "arm"))
    code, _, err = run(*words)
    assert code == 0
    assert (
        "symgen: note: the robot 'double' is called double_robot in C,"
        " since its name is a keyword of C or C++; --name NAME chooses another name\n"
    ) in err
    assert "in C" not in run(*words, "--name", "double_robot")[2]


def test_verify_of_correct_functions_ends_with_verified(run: Run) -> None:
    code, out, err = run("verify", "planar_arm", "-f", "mass_matrix", "--states", "2")
    assert (code, err) == (0, "")
    assert out.endswith("verified\n")


def test_verify_passes_a_generated_folder_and_fails_a_changed_one(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "arm"
    run("generate", "planar_arm", "-o", str(folder), "-f", "mass_matrix")
    assert run("verify", str(folder), "--states", "2")[0] == 0
    assert "--gravity does not apply" in refused(run, "verify", str(folder), "--gravity", "0,0,-1")
    source = folder / "planar_arm_mass_matrix.c"
    source.write_text(source.read_text().replace(" + ", " - ", 1))
    code, out, _ = run("verify", str(folder), "--states", "2", "--json")
    assert code == 1
    assert json.loads(out)["passed"] is False


def test_a_folder_generated_with_options_is_verified_with_them(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "arm"
    functions = ["-f", "inverse_dynamics", "-f", "jacobian"]
    links = ["--payload", "link2", "--frame", "link1", "--wrench", "link1"]
    words = [*functions, *links, "--trig", "macro", "--real", "float", "--name", "other"]
    assert run("generate", "planar_arm", "-o", str(folder), *words)[0] == 0
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    arguments = manifest["functions"]["inverse_dynamics"]["arguments"]
    assert [port["name"] for port in arguments] == ["q", "v", "a", "payload", "wrench"]
    code, out, _ = run("verify", str(folder), "--states", "2")
    assert code == 0, out
    assert "--wrench does not apply" in refused(run, "verify", str(folder), "--wrench", "link2")


def test_verify_accepts_a_wrench(run: Run) -> None:
    code, out, _ = run(
        "verify", "planar_arm", "-f", "inverse_dynamics", "--wrench", "link2", "--states", "2"
    )
    assert code == 0, out
    for command in ("generate", "verify"):
        help_text = " ".join(run(command, "--help")[1].split())
        assert "--wrench LINK" in help_text
        assert (
            "wrench[6]: moment (N·m) about the origin of the link's frame, then force (N)"
            in help_text
        )


@pytest.mark.parametrize(
    "words",
    [
        ("planar_arm", "--method", "riccati", "M[0,0]"),
        ("--method", "riccati", "planar_arm", "M[0,0]"),
        ("planar_arm", "M[0,0]", "--method", "riccati"),
        ("planar_arm", "--method", "riccati", "-q", "--", "M[0,0]"),
    ],
)
def test_the_inspected_formula_may_come_before_or_after_options(words: tuple[str, ...]) -> None:
    module = commands.find("inspect")
    parser = commands.Parser(prog="symgen inspect")
    module.arguments(parser)
    commands.add_verbosity(parser)
    options = parser.parse(words)
    assert (options.robot, options.what, options.method) == ("planar_arm", "M[0,0]", "riccati")


@pytest.mark.parametrize("format", ["text", "latex", "python", "c"])
def test_inspect_prints_every_format(run: Run, format: str) -> None:
    code, out, err = run("inspect", "planar_arm", "M[0,1]", "--format", format)
    note = {
        "python": "symgen: note: this takes: from math import cos\n",
        "c": "symgen: note: this takes: #include <math.h>\n",
    }
    assert (code, err) == (0, note.get(format, ""))
    assert "cos" in out


@pytest.mark.slow
def test_bench_reports_every_function_and_form(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from symgen.benchmarks import bench

    monkeypatch.setattr(bench, "ROUNDS", 2)
    monkeypatch.setattr(bench, "SLICE", 1e-4)
    code, out, err = run("bench", "scara", "-f", "inverse_dynamics", "-f", "mass_matrix", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert set(facts["functions"]) == {"inverse_dynamics", "mass_matrix"}
    assert {measured["form"] for measured in facts["functions"].values()} == {"unrolled"}
    for measured in facts["functions"].values():
        ours = {"c", "latency", "blocks", "bound", "python"}
        assert ours <= set(measured["nanoseconds"])
        assert set(measured["peers"]) == set(measured["nanoseconds"]) - ours
    assert facts["machine"]["compiler"]
    assert not [reason for reason in facts["absent"].values() if "differs" in reason]
    code, out, err = run("bench", "scara", "-f", "inverse_dynamics", "--form", "looped")
    assert (code, err) == (0, "")
    assert "newton_euler (loops)" in out
    code, out, err = run("bench", "scara", "-f", "mass_matrix", "--form", "looped")
    assert (code, out) == (2, "")
    assert err.startswith("symgen: mass_matrix has no looped form")


# -- refusals: one sentence and exit code 2 --------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "name a command"),
        (["genrate"], "did you mean 'generate'?"),
        (["--verison"], "did you mean '--version'?"),
        (["show"], "ROBOT"),
        (["show", "pnda"], "did you mean 'panda'?"),
        (["show", "planar_arm:3"], "fixed number of links"),
        (["show", "planar_arm", "scara"], "one argument too many"),
        (["show", "planar_arm", "--gravty", "0,0,1"], "did you mean '--gravity'?"),
        (["show", "planar_arm", "--gravity"], "--gravity"),
        (["show", "planar_arm", "--gravity", "1,2"], "give three"),
        (["show", "planar_arm", "--gravity", "1,2,x"], "gravity"),
        (["show", "planar_arm", "--lock", "joint_2"], "did you mean 'joint2'?"),
        (["show", "planar_arm", "--lock", "joint2="], "names no value"),
        (["show", "planar_arm", "--lock", "=1"], "names no joint"),
        (["show", "planar_arm", "--lock", "joint2=1", "--lock", "joint2=2"], "at two values"),
        (["show", "planar_arm", "--snap", "maybe"], "snap"),
        (["show", "planar_arm", "--mimic", "refues"], "mimic"),
        (
            ["show", "planar_arm", "--base", "floating"],
            "base is 'floating'; give 'fixed' or 'free'",
        ),
        (
            ["show", "free_body", "--base", "free"],
            "it is a free joint on the root link already; leave out --base free",
        ),
        (
            ["show", "free_body", "--lock", "root_joint=1"],
            "has 7 coordinates and can be locked only at zero",
        ),
        (["show", "no_such_file.urdf"], "no_such_file.urdf"),
        (["show", ""], "give a built-in name or a path"),
        (["show", "/"], "/"),
        (["generate", "planar_arm", "-f", "mass_matirx"], "did you mean 'mass_matrix'?"),
        (
            ["generate", "planar_arm", "-f", "mass_matrix=composit_body"],
            "did you mean 'composite_body'?",
        ),
        (["generate", "planar_arm", "-f", "mass_matrix=riccati"], "riccati"),
        (["generate", "planar_arm", "-f", "mass_matrix="], "names no method"),
        (
            ["generate", "planar_arm", "-f", "mass_matrix", "-f", "mass_matrix=udut"],
            "is named twice",
        ),
        (["generate", "planar_arm", "--real", "duoble"], "did you mean 'double'?"),
        (["generate", "planar_arm", "--trig", "libmm"], "did you mean 'libm'?"),
        (["generate", "planar_arm", "--frame", "lnk2"], "did you mean"),
        (["generate", "planar_arm", "--payload", "lnk2"], "did you mean"),
        (["generate", "planar_arm", "--wrench", "lnk2"], "did you mean"),
        (["generate", "planar_arm", "-o", ""], "--output is empty"),
        (["verify", "planar_arm", "--states", "few"], "--states"),
        (["verify", "planar_arm", "--states", "0"], "use one or more"),
        (["verify", "planar_arm", "-f", "mass_matirx"], "did you mean 'mass_matrix'?"),
        (["verify", "."], "."),
        (["inspect", "planar_arm", "--where"], "--where needs a quantity"),
        (["inspect", "planar_arm", "M[0,9]"], "9"),
        (["inspect", "planar_arm", "M[0,1]", "--format", "latx"], "did you mean 'latex'?"),
        (["inspect", "planar_arm", "M[0,1]", "--method", "udtu"], "did you mean 'udut'?"),
        (["inspect", "planar_arm", "__import__('os')"], "is not a quantity"),
        (
            ["inspect", "free_body", "M", "--at", "q3=0,q4=0,q5=0,q6=0"],
            "q3 … q6 are a quaternion x y z w, and four zeros are not a rotation; "
            "write 0, 0, 0, 1 for no rotation",
        ),
        (
            ["inspect", "free_body", "M", "--at", "q3=0,q4=0,q5=0,q6=2"],
            "a quaternion x y z w, and its length is not 1",
        ),
        (
            ["inspect", "free_body", "M", "--at", "root_joint=0"],
            "has 7 coordinates; name one of them: root_joint.px",
        ),
        (["bench", "planar_arm", "-f", "mass_matirx"], "did you mean 'mass_matrix'?"),
        *(
            (["generate", "planar_arm", "-f", word], f"'{word}' is called {meant} here (")
            for word, meant in (
                ("aba", "forward_dynamics"),
                ("FD", "forward_dynamics"),
                ("rnea", "inverse_dynamics"),
                ("id", "inverse_dynamics"),
                ("crba", "mass_matrix"),
                ("M", "mass_matrix"),
                ("fk", "forward_kinematics"),
                ("jac", "jacobian"),
                ("minv", "inverse_mass_matrix"),
                ("computeMinverse", "inverse_mass_matrix"),
                ("coriolis", "coriolis_matrix"),
                ("gravload", "gravity_force"),
                ("non_linear_effects", "bias_force"),
                ("lambda", "operational_inertia"),
                ("com", "center_of_mass"),
                ("jacobianCenterOfMass", "center_of_mass_jacobian"),
                ("ccrba", "centroidal_momentum_matrix"),
                ("dccrba", "centroidal_momentum_rate"),
                ("computeKineticEnergy", "kinetic_energy"),
                ("Jdot_v", "bias_acceleration"),
            )
        ),
        (
            ["generate", "planar_arm", "-f", "aba"],
            "method riccati is Featherstone's articulated-body algorithm",
        ),
        (["compare", "planar_arm", "-f", "aba=riccati"], "'aba' is called forward_dynamics here"),
        (["verify", "planar_arm", "-f", "rnea"], "'rnea' is called inverse_dynamics here"),
        (
            ["generate", "planar_arm", "-f", "ik"],
            "symgen has no inverse kinematics; iterate with",
        ),
        (
            ["generate", "planar_arm", "-f", "forward_dynamics=aba"],
            "method 'aba' is called riccati here; write FUNCTION=riccati",
        ),
    ],
)
def test_a_faulty_command_is_refused_in_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert expected in refused(run, *words)
    assert not list(tmp_path.iterdir())


def failing(error: BaseException) -> Callable[[Any], int]:
    def run(options: Any) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "expected"),
    [
        (SymgenError("first line\nsecond line"), 2, "symgen: first line second line"),
        (KeyboardInterrupt(), 130, "symgen: interrupted"),
        (MemoryError(), 2, "memory"),
        (RecursionError("maximum recursion depth exceeded"), 2, "nested too deeply"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (PermissionError(13, "Permission denied", "/x/y"), 2, "/x/y: Permission denied"),
        (
            ModuleNotFoundError("No module named 'lxml'", name="lxml"),
            2,
            "package 'lxml' is not installed",
        ),
        (
            ZeroDivisionError("division by zero"),
            2,
            "symgen: internal error (ZeroDivisionError: division by zero); please report it",
        ),
    ],
)
def test_no_failure_is_a_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, expected: str
) -> None:
    monkeypatch.delenv("SYMGEN_TRACEBACK", raising=False)
    monkeypatch.setattr(cli, "abandon", lambda stream: None)  # keep the stdout of the test
    monkeypatch.setattr(commands.find("robots"), "run", failing(error))
    status, out, err = run("robots")
    assert (status, out, err.count("\n")) == (code, "", 1)
    assert expected in err


@pytest.mark.parametrize(
    ("stop", "code", "word"),
    [(KeyboardInterrupt, 130, "interrupted"), (cli.Terminated, 143, "terminated")],
)
def test_an_interruption_inside_argparse_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, stop: type[KeyboardInterrupt], code: int, word: str
) -> None:
    def stopped(parser: commands.Parser) -> str:
        raise stop

    monkeypatch.setattr(
        commands.Parser, "format_usage", stopped
    )  # argparse calls it before it sorts positional arguments
    assert run("show", "panda") == (code, "", f"symgen: {word}\n")


def test_an_environment_variable_shows_the_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGEN_TRACEBACK", "1")
    monkeypatch.setattr(commands.find("robots"), "run", failing(ZeroDivisionError()))
    assert "Traceback" in run("robots")[2]


# -- processes, pipes and terminals ----------------------------------------------------------------


def test_a_process_ends_with_the_exit_code() -> None:
    done = run_process("genrate")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "symgen: no command is named 'genrate'; did you mean 'generate'?\n"


@pytest.mark.slow
def test_a_pipe_receives_the_result_without_progress(tmp_path: Path) -> None:
    done = run_process("generate", "planar_arm", "-o", str(tmp_path / "arm"), "-f", "mass_matrix")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\r" not in done.stdout
    assert "\033" not in done.stdout


def crowded(folder: Path) -> str:
    """Write a robot with three implausible inertias, and a damper with a very long name."""
    odd = INERTIAL.replace('izz="1"', 'izz="3.14159265358979"')
    long = joint("the_joint_" + 150 * "x", "c", "d", inside="<dynamics damping='1'/>")
    path = folder / "crowded.urdf"
    path.write_text(
        robot(
            link("a", ""),
            *(link(n, odd) for n in "bcd"),
            joint("j", "a", "b", inside="<dynamics damping='1'/>"),
            joint("k", "b", "c"),
            long,
        )
    )
    return str(path)


def test_a_pipe_receives_complete_notes_and_similar_warnings_in_one_line(
    run: Run, tmp_path: Path
) -> None:
    """Numbers and names are complete, and warnings come last."""
    code, _, err = run("convert", crowded(tmp_path), "-o", str(tmp_path / "same.toml"))
    assert code == 0
    assert f"damping of j, the_joint_{150 * 'x'}\n" in err
    assert "…" not in err
    links = [line for line in err.splitlines() if " link " in line]
    assert len(links) == 1
    assert links[0].startswith("symgen: warning: link b has principal moments ")
    assert links[0].endswith("izz 3.14159265358979); the same of c, d")
    assert [line.split(": ")[1] for line in err.splitlines()][-2:] == ["note", "warning"]


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "nothing"],
        ["compare", "-f", "nothing"],
        ["bench", "-f", "nothing"],
        ["cost", "-f", "nothing", "--target", "cortex-m4f"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_about_a_robot_prints_its_warnings(
    run: Run, tmp_path: Path, words: list[str]
) -> None:
    """Warnings are printed before the work, which fails here."""
    path = tmp_path / "legs.urdf"
    path.write_text(
        robot(link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("k", "a", "c"))
    )
    code, _, err = run(words[0], str(path), *words[1:])
    assert (code, err.count("\n")) == (2, 2)
    assert err.startswith(
        "symgen: warning: a (1 kg) is fixed, since no joint moves it; use --base free "
    )


def test_a_pipe_receives_complete_names(run: Run, tmp_path: Path) -> None:
    """The table is wider than on a terminal, and columns after a long name are still aligned."""
    _, out, _ = run("show", crowded(tmp_path))
    assert f"2 the_joint_{150 * 'x'} → d" in out
    names = f"b_{60 * 'y'}"
    path = tmp_path / "long.urdf"
    path.write_text(
        robot(
            link("a", ""),
            link("b"),
            link(names),
            joint("j", "a", "b"),
            joint("k", "b", names, "fixed", ""),
        )
    )
    _, out, _ = run("show", str(path))
    inertias = out.partition("inertias")[2].partition("frames")[0]
    first, second = (
        line for line in inertias.splitlines() if line.startswith(("b  ", f"  {names} on b  "))
    )
    assert len(first) == len(second)
    assert "…" not in out.replace(" … ", "")


def test_a_terminal_shortens_notes_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    robot = load(crowded(tmp_path))
    say_notes(
        replace(robot, notes=(*robot.notes, *(Note("snap", word) for word in "abc"))),
        "crowded.urdf",
    )
    errors = capsys.readouterr().err
    assert "symgen: … and 1 more of kind snap; 'symgen show crowded.urdf' lists them\n" in errors
    assert "symgen: note: read and not applied: damping of j …\n" in errors


@pytest.mark.slow
def test_a_terminal_shows_progress(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = ["generate", "planar_arm", "-o", str(tmp_path / "arm"), "-f", "mass_matrix"]
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        [*SYMGEN, *words], stdout=subprocess.DEVNULL, stderr=theirs, env=environment, check=False
    )
    os.close(theirs)
    terminal_text = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0
    for step in (
        "[0/1] deriving mass_matrix …",
        "[1/3] answers for the self-test …",
        "[3/3] writing the folder …",
    ):
        assert step in terminal_text
    assert terminal_text.endswith("\r\033[K")


def test_a_long_step_shows_its_duration(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(_progress, "TICK", 0.01)
    now = iter(range(0, 100_000, 50))
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(now))
    terminal_text = ""
    with _progress.Progress() as progress:
        progress("deriving", 2, 5)
        while not re.search(
            r"\[2/5\] deriving … \d+ min \d+ s, \d+ min \d+ s in all", terminal_text
        ):  # a clock that advances at each call
            terminal_text += capsys.readouterr().err
    assert capsys.readouterr().err.endswith("\r\033[K")
    assert [_progress.elapsed(*t) for t in ((0.2, 0.9), (3, 3.5), (3, 70))] == [
        "",
        " 3 s",
        " 3 s, 1 min 10 s in all",
    ]


@pytest.mark.slow
def test_a_closed_pipe_gives_no_error_message() -> None:
    child = subprocess.Popen(
        [*SYMGEN, "show", "panda"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == b""
    assert child.wait() == 128 + signal.SIGPIPE
    child.stderr.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*SYMGEN, "show", "panda"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "symgen: standard output: No space left on device\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (signal.SIGINT, 130, "symgen: interrupted\n"),
        (signal.SIGTERM, 143, "symgen: terminated\n"),
    ],
)
def test_an_interrupt_is_one_line(
    tmp_path: Path, number: signal.Signals, code: int, message: str
) -> None:
    """Reset the signal in the child, because background jobs of a shell ignore it.

    If SIGINT comes during an `exec`, `python -m` dies of the signal; a shell shows 128 + 2 as well.
    """
    child = subprocess.Popen(
        [*SYMGEN, "generate", "planar_point_mass:60", "-o", str(tmp_path / "chain")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    time.sleep(1.5)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    shown = code if child.returncode == -signal.SIGINT == -number else child.returncode
    assert (shown, out, err) == (code, "", message)
    assert not list(tmp_path.iterdir())


def test_sigterm_ends_the_work_and_its_compilers(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM interrupts the work and ends compilers; then the signal handler is restored."""
    returncodes = []

    def compiler() -> None:
        returncodes.append(subprocess.run(["sleep", "30"], check=False).returncode)

    def work(options: Any) -> int:
        with ThreadPoolExecutor(1) as workers:
            workers.submit(compiler)
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
            time.sleep(30)
        return 0

    monkeypatch.setattr(commands.find("robots"), "run", work)
    start = time.monotonic()
    assert run("robots") == (143, "", "symgen: terminated\n")
    assert returncodes == [-signal.SIGTERM]
    assert time.monotonic() - start < 20
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with monkeypatch.context() as patch:  # an ignored signal stays ignored
        patch.setattr(signal, "signal", lambda *arguments: pytest.fail("the choice was overruled"))
        patch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
        patch.setattr(commands.find("robots"), "run", lambda options: 0)
        assert run("robots") == (0, "", "")


@pytest.mark.slow
def test_a_terminal_without_greek_gets_substitutes() -> None:
    done = run_process("show", "panda", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "panda_joint1" in done.stdout


CLOSED = "symgen: standard output is closed; let it lead to a file, a pipe or /dev/null"
ANSWERS = {
    "robots": [],
    "show": ["planar_arm"],
    "inspect": ["planar_arm", "M[0,0]"],
    "reproduce": [],
    "--version": [],
    "--help": [],
    "verify": ["planar_arm", "-f", "mass_matrix", "--states", "1"],
    "prove": ["planar_arm", "-f", "mass_matrix", "--states", "2"],
    "convert": ["planar_arm", "--to", "toml", "-o", "-"],
    "generate": ["--help"],
}


def closing(*numbers: int) -> Callable[[], None]:
    """Return a function that closes standard streams in a child, as `>&-` in a shell."""

    def close() -> None:
        for number in numbers:
            os.close(number)

    return close


@pytest.mark.parametrize("command", ANSWERS)
def test_a_result_that_cannot_be_written_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """sys.stdout is None if its file descriptor is closed."""
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main([command, *ANSWERS[command]]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == CLOSED
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main([command, *ANSWERS[command]]) == 2


def test_a_closed_standard_output_is_refused_in_one_sentence() -> None:
    done = subprocess.run(
        [*SYMGEN, "robots"], stderr=subprocess.PIPE, text=True, check=False, preexec_fn=closing(1)
    )
    assert (done.returncode, done.stderr) == (2, f"{CLOSED}\n")


@pytest.mark.slow
@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_a_folder_is_generated_with_any_standard_streams_closed(
    tmp_path: Path, closed: tuple[int, ...]
) -> None:
    """The folder is the result, not the text on standard output; closed streams are no error."""
    done = subprocess.run(
        [*SYMGEN, "generate", "planar_arm", "-f", "jacobian", "-o", str(tmp_path / "arm")],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=closing(*closed),
    )
    assert done.returncode == 0
    assert done.stdout.count("wrote planar_arm") == (1 not in closed)
    assert done.stderr.count("symgen: note: the frame is link2") == (2 not in closed)
    assert symgen.verify(tmp_path / "arm", states=1).closing == "verified"


@pytest.mark.slow
def test_a_closed_stream_is_replaced_by_the_null_device_that_compilers_inherit() -> None:
    """An open stream stays what it is."""
    program = (
        "import os; from symgen.cli.streams import _occupy_closed_descriptors\n"
        "os.close(0); _occupy_closed_descriptors()\n"
        "assert os.get_inheritable(0)\n"
        "assert os.path.samestat(os.fstat(0), os.stat(os.devnull))\n"
        "assert not os.path.samestat(os.fstat(1), os.stat(os.devnull))\n"
        "assert os.write(0, b'x') == 1 and os.read(0, 1) == b''\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_error_with_all_streams_closed_keeps_its_exit_code() -> None:
    done = subprocess.run(
        [*SYMGEN, "show", "pandas"], capture_output=True, check=False, preexec_fn=closing(0, 1, 2)
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_note_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [
                *SYMGEN,
                "generate",
                "planar_arm",
                "-v",
                "-f",
                "jacobian",
                "-o",
                str(tmp_path / "arm"),
            ],
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout.count("wrote planar_arm")) == (0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_help_on_a_full_disk_is_an_error() -> None:
    """argparse itself ignores errors when it prints help."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*SYMGEN, "generate", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "symgen: standard output: No space left on device\n",
    )


def help_of(command: str, option: str) -> str:
    """Return the text of one option in `symgen COMMAND --help`."""
    parser = Parser(prog=command)
    commands.find(command).arguments(parser)
    action = parser._option_string_actions[option]
    return (action.help or "") % {"default": action.default}


@pytest.mark.parametrize("command", commands.NAMES)
def test_help_states_every_default_of_the_parser(command: str) -> None:
    parser = Parser(prog=command)
    commands.find(command).arguments(parser)
    for action in parser._actions:
        if action.default not in (None, False, True, [], argparse.SUPPRESS):
            help_text = help_of(command, action.option_strings[-1])
            assert re.search(rf"\(default {re.escape(str(action.default))}[),]", help_text), (
                help_text
            )


DEFAULTS: dict[tuple[str, str], object] = {
    ("show", "--gravity"): ",".join(f"{float(x):g}" for x in EARTH),
    ("show", "--snap"): f"{float(DEFAULT_TOLERANCE):g}".replace("1e-08", "1e-8"),
    ("show", "--friction-speed"): float(FRICTION_SPEED),
    ("show", "--mimic"): "independent",
    ("verify", "--states"): inspect.signature(symgen.verify).parameters["states"].default,
    ("prove", "--function"): ", ".join(PROVED_BY_DEFAULT),
    ("prove", "--states"): proof.STATES,
    ("prove", "--acceleration"): ACCELERATION,
    (
        "prove",
        "--ulps",
    ): f"{float(printer().ulps['auto']):g}; libm and macro {float(printer().ulps['libm']):g}",
    (
        "generate",
        "--trig",
    ): f"{targets.default_trig(None)}, with --target {targets.default_trig('host')}",
    ("cost", "--trig"): targets.default_trig("cortex-m4f"),
}
"""(command, option) -> default in the code."""


@pytest.mark.parametrize(("command", "option"), DEFAULTS)
def test_help_states_the_defaults_of_the_code(command: str, option: str) -> None:
    stated = re.search(r"\(default[ :](.*)\)", help_of(command, option))
    assert stated is not None
    assert re.search(rf"(^|\s){re.escape(str(DEFAULTS[command, option]))}($|[\s;,])", stated[1]), (
        stated[0]
    )


def test_help_of_generate_describes_functions_snapping_and_replaced_files(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Help covers default functions, snapping of printed right angles, and replaced files."""
    help_text = " ".join(run("generate", "--help")[1].split())
    assert "every function except those that must be named" in help_text
    assert (
        "a decimal that equals k·pi/2 to its four or more printed places, such as 1.5708, is read"
        " so with any TOL" in help_text
    )
    assert "symgen's own files in it are replaced, all others stay" in help_text
    robot = tmp_path / "my-arm.toml"
    robot.write_text(
        "name = 'my-arm'\n[[body]]\nname = 'a'\nparent = 'base'\nmass = 1\ncentre = [1, 0, 0]\n"
        "joint = { name = 'j', type = 'revolute', axis = [0, 0, 1] }\n"
    )
    assert "a folder here with the name of --name, else of the robot" in help_text
    monkeypatch.chdir(tmp_path)
    assert run("generate", str(robot), "-f", "mass_matrix")[0] == 0
    assert (tmp_path / "my-arm" / "my_arm.h").is_file()
    assert "their headers and the files of --batch and --wrap" in help_text
    only = ("--functions-only", "--wrap", "cpp17", "--name", "arm")
    assert run("generate", str(robot), "-f", "mass_matrix", *only)[0] == 0
    assert sorted(path.name for path in (tmp_path / "arm").iterdir() if path.suffix) == [
        "arm.h",
        "arm.hpp",
        "arm_mass_matrix.c",
    ]


def test_cost_lists_exactly_the_targets_that_it_accepts(run: Run) -> None:
    code, _, err = run("cost", "planar_arm")
    assert code == 2
    assert "one of cortex-m4f, cortex-m7, rv32imafc" in err
    assert all(targets.find(name).counter for name in targets.targets_with_costs())


def test_prove_does_not_suggest_drives_that_the_user_switched_off(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "damped.urdf"
    text = robot(
        link("world", ""), link("b"), joint("j", "world", "b", inside='<dynamics damping="1"/>')
    )
    path.write_text(text, encoding="utf-8")
    offer = "--drives on applies damping"
    words = ("prove", str(path), "-f", "mass_matrix", "--states", "1")
    assert offer in run(*words)[2]
    assert offer not in run(*words, "--drives", "off")[2]

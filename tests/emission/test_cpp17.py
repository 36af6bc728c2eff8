"""The C++17 header: the bits of the C, without warnings, allocations and exceptions.

The folder installs with CMake.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen import cli, emission
from symgen.delivery.contents import FolderContents
from symgen.delivery.folder import texts, write
from symgen.emission.backends import c99, cpp17
from symgen.support.errors import RequestError
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import BY_DEFAULT
from symgen.vocabulary.options import TextOptions
from tests.shared.analysers import tool
from tests.shared.c_programs import arm
from tests.shared.folders import binary, cases, cmake, mechanism, run, selftest

pytestmark = [pytest.mark.firmware, pytest.mark.usefixtures("cpp")]

STANDARDS = ("-std=c++17", "-std=c++20")
WARNINGS = (
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Wshadow",
    "-pedantic-errors",
    "-Werror",
)


@pytest.fixture(scope="module")
def cpp() -> None:
    """Skip where the C++ compiler is missing; fail where the tools are required."""
    tool("g++")


@pytest.fixture(scope="module", params=["double", "float"])
def scara(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every function of a robot and the C++ header, and its C as a library."""
    folder = tmp_path_factory.mktemp(request.param) / "scara"
    symgen.generate("scara", folder, real=request.param, wrap=["cpp17"])
    c = [path for path in sorted(folder.glob("*.c")) if not path.name.endswith("_selftest.c")]
    built = run("gcc", "-std=c99", "-O1", "-c", *c, cwd=folder.parent)
    assert built.returncode == 0, built.stderr
    built = run("ar", "rcs", "libscara.a", *sorted(folder.parent.glob("*.o")), cwd=folder.parent)
    assert built.returncode == 0, built.stderr
    return folder


def write_arm(folder: Path, **options: Any) -> dict[str, Any]:
    programs = arm()
    return write(
        folder,
        texts(
            FolderContents(
                mechanism(),
                programs,
                text=TextOptions(wrap=("cpp17",), **options),
                cases=cases(programs),
            )
        ),
    )


def compile_and_run(main: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Compile and run a program against the folder and its library."""
    folder_of_build = folder.parent
    (folder_of_build / "main.cpp").write_text(main)
    built = run(
        "g++",
        *flags,
        *WARNINGS,
        f"-I{folder}",
        "main.cpp",
        f"-L{folder_of_build}",
        "-lscara",
        "-lm",
        "-o",
        "main",
        cwd=folder_of_build,
    )
    assert built.returncode == 0, built.stderr
    return run(folder_of_build / "main")


def comparison(folder: Path) -> str:
    """Return a program that compares the header's functions, spans too, with the C bit for bit."""
    manifest = json.loads((folder / "manifest.json").read_text())
    lines = []
    for name, function in manifest["functions"].items():
        symbol = function["symbol"]
        results = (
            function["result"] if isinstance(function["result"], list) else [function["result"]]
        )
        size = {p["name"]: math.prod(p["shape"]) for p in (*function["arguments"], *results)}
        arguments = [p["name"] for p in function["arguments"]]
        results_in_c = [f"c_{p['name']}" for p in results]
        lines.append(f"    {{ // {name}")
        lines += [f"    std::array<real, {size[p]}> {p}; fill({p});" for p in arguments]
        lines += [f"    real c_{p['name']}[{size[p['name']]}];" for p in results]
        lines.append(
            f"    {symbol}({', '.join([f'{p}.data()' for p in arguments] + results_in_c)});"
        )
        lines.append(f"    const auto got = {folder.name}::{name}({', '.join(arguments)});")
        lines.append(f"    static_assert(noexcept({folder.name}::{name}({', '.join(arguments)})));")
        fields = re.findall(
            rf"struct {name}_results {{\n(.*?)}};", (folder / "scara.hpp").read_text(), re.S
        )
        members = re.findall(r" (\w+);", fields[0]) if fields else [""]
        assert len(members) == len(results)
        for member, p in zip(members, results, strict=True):
            value = "got" if not member else f"got.{member}"
            lines.append(
                f"    same(&{value}{'' if not p['shape'] else '[0]'}, c_{p['name']},"
                f" {size[p['name']]});"
            )
        spans = [f"s_{p['name']}" for p in results]
        lines.append("#ifdef __cpp_lib_span")
        lines += [f"    std::array<real, {size[p['name']]}> s_{p['name']}{{}};" for p in results]
        lines.append(f"    {folder.name}::{name}({', '.join([*arguments, *spans])});")
        lines += [
            f"    same(s_{p['name']}.data(), c_{p['name']}, {size[p['name']]}); ++spans;"
            for p in results
        ]
        lines.append("#endif\n    }")
    calls = "\n".join(lines)
    return f"""
#include "{folder.name}.hpp"
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <new>
using {folder.name}::real;
static_assert({folder.name}::NQ == {manifest["nq"]} && {folder.name}::NV == {manifest["nv"]});
static int compared = 0, spans = 0;
void *operator new(std::size_t) {{ std::abort(); }}
void operator delete(void *) noexcept {{ std::abort(); }}
void operator delete(void *, std::size_t) noexcept {{ std::abort(); }}
template <std::size_t n> static void fill(std::array<real, n> &x)
{{
    static unsigned state = 1;
    for (auto &value : x) {{
        state = state*1664525u + 1013904223u;
        value = static_cast<real>(state >> 16)/static_cast<real>(32768) - 1;
    }}
}}
static void same(const real *x, const real *y, std::size_t size)
{{
    if (std::memcmp(x, y, size*sizeof(real)) != 0)
        std::exit(1);
    ++compared;
}}
int main()
{{
{calls}
    std::printf("%d %d\\n", compared, spans);
}}
"""


@pytest.mark.parametrize("standard", STANDARDS)
def test_the_header_has_the_bits_of_the_c(scara: Path, standard: str) -> None:
    done = compile_and_run(comparison(scara), scara, standard, "-O1")
    assert done.returncode == 0
    compared, spans = map(int, done.stdout.split())
    manifest = json.loads((scara / "manifest.json").read_text())
    assert set(manifest["functions"]) == set(BY_DEFAULT)
    results = sum(
        len(f["result"]) if isinstance(f["result"], list) else 1
        for f in manifest["functions"].values()
    )
    assert (compared, spans) == (
        (2 * results, results) if standard == "-std=c++20" else (results, 0)
    )


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("standard", STANDARDS)
def test_loops_take_the_callers_workspace(standard: str, checked: bool, tmp_path: Path) -> None:
    """A looped chain has the bits of the C, for one state and for many."""
    folder = tmp_path / "scara"
    symgen.generate(
        "scara",
        folder,
        ["forward_dynamics", "mass_matrix_determinant"],
        form="looped",
        wrap=["cpp17"],
        batch=True,
        checked=checked,
    )
    c = [path for path in sorted(folder.glob("*.c")) if not path.name.endswith("_selftest.c")]
    assert run("gcc", "-std=c99", "-O1", "-c", *c, cwd=tmp_path).returncode == 0
    assert (
        run("ar", "rcs", "libscara.a", *sorted(tmp_path.glob("*.o")), cwd=tmp_path).returncode == 0
    )
    size, batch_size, value, status = (
        (", scara_WORK", ", scara_BATCH_WORK", ".value", ", status")
        if checked
        else ("", "", "", "")
    )
    done = compile_and_run(
        f"""
#include "scara.hpp"
#include <cstdio>
#include <cstring>
using scara::real;
int main()
{{
    const std::array<real, scara::NQ> q{{0.3, -1.1, 0.2, 0.9}};
    const std::array<real, scara::NV> v{{1.0, -2.0, 0.5, 0.1}}, tau{{3.0, -1.0, 0.2, 5.0}};
    std::array<real, scara::WORK> work{{}};
    real a[scara_NV], det, own[scara_WORK], all[scara_BATCH_WORK], many[scara_NV];
    int status[1] = {{0}};
    (void)status;
    scara_forward_dynamics(q.data(), v.data(), tau.data(), a, own{size});
    scara_mass_matrix_determinant(q.data(), &det, own{size});
    const auto got = scara::forward_dynamics(q, v, tau, work);
    const auto whole = scara::mass_matrix_determinant(q, work);
    bool same = std::memcmp(got{value}.data(), a, sizeof a) == 0
        && std::memcmp(&whole{value}, &det, sizeof det) == 0;
    scara::forward_dynamics(1, q.data(), v.data(), tau.data(), many, all{batch_size}{status});
    same = same && std::memcmp(many, a, sizeof a) == 0;
#ifdef __cpp_lib_span
    std::array<real, scara::NV> there{{}};
    (void)scara::forward_dynamics(std::span<const real, 4>(q), std::span<const real, 4>(v),
                                  std::span<const real, 4>(tau), std::span<real, 4>(there),
                                  std::span<real, scara::WORK>(work));
    same = same && std::memcmp(there.data(), a, sizeof a) == 0;
#endif
    std::printf(same ? "same\\n" : "other\\n");
}}
""",
        folder,
        standard,
        "-O1",
    )
    assert done.stdout == "same\n"


@pytest.mark.parametrize("standard", STANDARDS)
def test_the_header_calls_only_the_c_functions(scara: Path, standard: str) -> None:
    """The object file of a caller, built without exceptions and RTTI, needs no other symbols."""
    manifest = json.loads((scara / "manifest.json").read_text())
    calls = []
    for name, function in manifest["functions"].items():
        arrays = [
            f"std::array<scara::real, {math.prod(p['shape'])}>" for p in function["arguments"]
        ]
        calls.append(
            f"auto use_{name}({', '.join(f'const {a} &x{i}' for i, a in enumerate(arrays))})"
            f" {{ return scara::{name}({', '.join(f'x{i}' for i in range(len(arrays)))}); }}"
        )
    folder = scara.parent
    (folder / "use.cpp").write_text('#include "scara.hpp"\n' + "\n".join(calls) + "\n")
    flags = (standard, "-O2", "-fno-exceptions", "-fno-rtti", "-fno-stack-protector", *WARNINGS)
    built = run("g++", *flags, f"-I{scara}", "-c", "use.cpp", "-o", "use.obj", cwd=folder)
    assert built.returncode == 0, built.stderr
    undefined = {
        line.split()[-1] for line in run("nm", "-u", "use.obj", cwd=folder).stdout.splitlines()
    }
    assert undefined == {function["symbol"] for function in manifest["functions"].values()} | (
        undefined & {"_GLOBAL_OFFSET_TABLE_"}
    )


def test_wrong_sizes_do_not_compile(scara: Path) -> None:
    array = "std::array<scara::real, {}> {}{{}}; ".format
    right = array(4, "q") + array(16, "M") + "scara::mass_matrix(q, M);"
    wrong = (
        array(3, "q") + "(void)scara::mass_matrix(q);",
        array(4, "q") + "scara::mass_matrix(q);",
        right.replace("16", "4"),
        right.replace("4>", "5>"),
    )
    for text, compiles in ((right, True), *((text, False) for text in wrong)):
        (scara.parent / "sizes.cpp").write_text(f'#include "scara.hpp"\nint main() {{ {text} }}\n')
        done = run(
            "g++",
            "-std=c++20",
            "-Werror=unused-result",
            f"-I{scara}",
            "-fsyntax-only",
            "sizes.cpp",
            cwd=scara.parent,
        )
        assert (done.returncode == 0) == compiles, text


def test_the_sample_of_the_readme_runs(scara: Path) -> None:
    readme = (scara / "README.md").read_text()
    (sample,) = re.findall(r"```cpp\n(.*?)```", readme, re.S)
    include, _, body = sample.partition("\n\n")
    done = compile_and_run(
        f"{include}\nint main() {{\n{body}\nreturn tau[2] < 0 ? 0 : 1; }}\n", scara, "-std=c++17"
    )
    assert done.returncode == 0
    assert "wrap = `cpp17`" in readme


def test_the_header_is_generated_only_on_request(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain", texts(FolderContents(mechanism(), arm())))
    wrapped = write_arm(tmp_path / "wrapped")
    assert set(wrapped["files"]) - set(plain["files"]) == {"arm.hpp"}
    assert wrapped["options"]["wrap"] == ["cpp17"]
    assert "wrap" not in plain["options"]
    assert "hpp" not in "".join(path.read_text() for path in (tmp_path / "plain").iterdir())
    assert selftest(tmp_path / "wrapped").returncode == 0


def test_an_unknown_wrapper_is_refused_with_the_nearest_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "cpp17" in emission.names()
    assert "cpp17" in emission.wrappers()
    with pytest.raises(
        RequestError, match="no wrapper of the C is named 'cpp'; did you mean 'cpp17'"
    ):
        symgen.generate("scara", tmp_path / "scara", ["mass_matrix"], wrap=["cpp"])
    with pytest.raises(RequestError, match="no wrapper of the C is named 'c99'"):
        emission.wrapper("c99")
    assert (
        cli.main(
            [
                "generate",
                "scara",
                "-o",
                str(tmp_path / "scara"),
                "-f",
                "mass_matrix",
                "--wrap",
                "cpp17",
            ]
        )
        == 0
    )
    assert (tmp_path / "scara" / "scara.hpp").is_file()
    assert cli.main(["verify", str(tmp_path / "scara")]) == 0
    assert capsys.readouterr().err == ""


def test_a_robot_named_as_a_keyword_of_cpp_gets_a_valid_namespace() -> None:
    text = cpp17.header(arm(), c99.Target("class", Sizes(2, 2, 2)))
    assert "namespace class_robot {" in text
    assert "[[nodiscard]] class_robot_LOCAL inline real mass_matrix_determinant(" in text


def test_verify_reports_a_changed_header(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "arm"
    symgen.generate(
        "planar_arm", folder, ["mass_matrix", "gravity_force"], name="arm", wrap=["cpp17"]
    )
    assert cli.main(["verify", str(folder)]) == 0
    capsys.readouterr()
    header = folder / "arm.hpp"
    text = header.read_text(encoding="utf-8")
    another = text.replace("::arm_gravity_force(q.data()", "::arm_mass_matrix(q.data()")
    for spoilt in (
        another,
        text.replace("#include <span>\n", ""),
        text.replace("// arm.hpp", "// my arm.hpp"),
    ):
        assert spoilt != text
        header.write_text(spoilt, encoding="utf-8")
        assert cli.main(["verify", str(folder)]) == 1
        assert "1 file(s) that differ, and 0 are allowed: arm.hpp" in capsys.readouterr().out
    assert cli.main(["verify", str(folder), "-f", "mass_matrix"]) == 0
    assert "the other files of the folder are not judged" in capsys.readouterr().out


# The folder in other projects, in C and in C++.

PROJECT = """
cmake_minimum_required(VERSION 3.15)
project(consumer LANGUAGES {language})
{package}
add_executable(consumer main.{suffix})
{standard}
target_link_libraries(consumer PRIVATE {libraries})
"""
MAIN = {
    "c": '#include "arm.h"\n'
    "int main(void) { double q[arm_NQ] = {0, 0}, M[arm_NV*arm_NV]; arm_mass_matrix(q, M);"
    " return M[1] > 1.04 && M[1] < 1.06 ? 0 : 1; }\n",
    "cpp": '#include "arm.hpp"\n'
    "int main() { const auto M = arm::mass_matrix({});"
    " return M[1] > 1.04 && M[1] < 1.06 ? 0 : 1; }\n",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the folder (arm), and the files that it installs (prefix)."""
    folder = tmp_path_factory.mktemp("installed")
    write_arm(folder / "arm")
    cmake("-S", folder / "arm", "-B", folder / "build")
    cmake("--build", folder / "build")
    cmake("--install", folder / "build", "--prefix", folder / "prefix")
    return folder


@pytest.mark.parametrize("cmake_command", ["find_package", "add_subdirectory"])
@pytest.mark.parametrize(("language", "suffix"), [("C", "c"), ("CXX", "cpp")])
def test_projects_in_c_or_cpp_build_with_the_folder(
    installed: Path, tmp_path: Path, cmake_command: str, language: str, suffix: str
) -> None:
    """A project that enables one language builds too: the C++ project needs no C compiler."""
    version = symgen.__version__.rpartition(".")[0]  # major and minor: CMake accepts a newer patch
    argument = {
        "find_package": f"arm {version} REQUIRED",
        "add_subdirectory": f"{installed / 'arm'} arm",
    }[cmake_command]
    standard = (
        "set_target_properties(consumer PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)"
        if suffix == "cpp"
        else ""
    )
    text = PROJECT.format(
        language=language,
        package=f"{cmake_command}({argument})",
        suffix=suffix,
        standard=standard,
        libraries="arm::arm",
    )
    (tmp_path / "CMakeLists.txt").write_text(text)
    (tmp_path / f"main.{suffix}").write_text(MAIN[suffix])
    cmake("-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed / 'prefix'}")
    cmake("--build", tmp_path / "build")
    assert run(tmp_path / "build" / "consumer").returncode == 0


def test_two_robots_link_into_one_project(installed: Path, tmp_path: Path) -> None:
    programs = arm()
    write(
        tmp_path / "other",
        texts(
            FolderContents(
                mechanism("other"),
                programs,
                text=TextOptions(wrap=("cpp17",)),
                cases=cases(programs),
            )
        ),
    )
    package = f"add_subdirectory({installed / 'arm'} arm)\nadd_subdirectory(other)"
    (tmp_path / "CMakeLists.txt").write_text(
        PROJECT.format(
            language="CXX",
            package=package,
            suffix="cpp",
            standard="",
            libraries="arm::arm other::other",
        )
    )
    (tmp_path / "main.cpp").write_text(
        '#include "arm.hpp"\n#include "other.hpp"\n'
        "int main() { return arm::mass_matrix({}) == other::mass_matrix({}) ? 0 : 1; }\n"
    )
    cmake("-S", tmp_path, "-B", tmp_path / "build")
    cmake("--build", tmp_path / "build")
    assert run(tmp_path / "build" / "consumer").returncode == 0


def test_find_package_refuses_another_version(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        PROJECT.format(
            language="C",
            package="find_package(arm 9.9 REQUIRED)",
            suffix="c",
            standard="",
            libraries="arm::arm",
        )
    )
    done = run(
        binary("cmake"),
        "-S",
        tmp_path,
        "-B",
        tmp_path / "build",
        f"-DCMAKE_PREFIX_PATH={installed / 'prefix'}",
    )
    assert done.returncode != 0
    assert "9.9" in done.stderr


def test_the_sample_of_the_book_runs(tmp_path: Path) -> None:
    book = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "generate-c.md").read_text(
        encoding="utf-8"
    )
    (sample,) = re.findall(r"^```cpp\n(.*?)^```", book, re.S | re.M)
    include, _, body = sample.partition("\n")
    symgen.generate(
        "scara", tmp_path / "arm", ["inverse_dynamics"], "float", name="arm", wrap=["cpp17"]
    )
    (tmp_path / "main.cpp").write_text(
        f"{include}\nint main()\n{{\n{body}    return tau[2] < 0 ? 0 : 1;\n}}\n"
    )
    for command in (
        ("gcc", "-c", "arm/arm_inverse_dynamics.c"),
        (
            "g++",
            "-std=c++17",
            *WARNINGS,
            "-Iarm",
            "main.cpp",
            "arm_inverse_dynamics.o",
            "-lm",
            "-o",
            "main",
        ),
    ):
        built = run(*command, cwd=tmp_path)
        assert built.returncode == 0, built.stderr
    assert run(tmp_path / "main").returncode == 0

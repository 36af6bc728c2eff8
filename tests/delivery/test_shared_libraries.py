"""Generated folders in shared libraries: plugins with different versions, and exported symbols."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

import pytest

import symgen
from tests.shared.folders import cmake, run

PLUGIN = """
cmake_minimum_required(VERSION 3.15)
project(plugin LANGUAGES C CXX)
add_subdirectory(arm)
add_library(plugin MODULE plugin.cpp)
target_link_libraries(plugin PRIVATE arm::arm)
"""
CALLS = """
#include "arm.hpp"
static const double q[arm_NQ] = {0.0, 0.0};
extern "C" double by_c() { double g[arm_NV]; arm_gravity_force(q, g); return g[0]; }
extern "C" double by_cpp() { return arm::gravity_force({0.0, 0.0})[0]; }
"""
QUICK = ("-DCMAKE_C_COMPILER_WORKS=1", "-DCMAKE_CXX_COMPILER_WORKS=1", "-DCMAKE_BUILD_TYPE=Debug")


@pytest.mark.slow
def test_each_of_two_plugins_calls_its_own_version_of_a_robot(tmp_path: Path) -> None:
    """Load both with RTLD_GLOBAL, for which a loader takes the first function of a name."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    (tmp_path / "CMakeLists.txt").write_text(PLUGIN)
    (tmp_path / "plugin.cpp").write_text(CALLS)
    plugins = []
    for gravity in (10, 2):
        symgen.generate(
            symgen.load("planar_arm", gravity=[-gravity] * 3),
            tmp_path / "arm",
            ["gravity_force"],
            name="arm",
            wrap=["cpp17"],
            evidence=False,
        )
        if not plugins:
            cmake("-S", tmp_path, "-B", tmp_path / "build", *QUICK)
        cmake("--build", tmp_path / "build")
        plugins.append(tmp_path / f"plugin_{gravity}.so")
        shutil.copy(tmp_path / "build" / "libplugin.so", plugins[-1])
    loaded = [ctypes.CDLL(str(plugin), mode=os.RTLD_GLOBAL | os.RTLD_NOW) for plugin in plugins]
    results = []
    for library in loaded:
        for call in (library.by_c, library.by_cpp):
            call.restype = ctypes.c_double
            results.append(call())
    assert results[0] == results[1] == pytest.approx(5 * results[2])
    assert results[2] == results[3] != 0
    exported = run("nm", "-D", "--defined-only", plugins[0]).stdout
    assert "by_c" in exported
    assert "gravity_force" not in exported


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a shared library of a folder with all headers that declare functions."""
    folder = tmp_path_factory.mktemp("shared")
    symgen.generate(
        "four_bar",
        folder / "arm",
        ["gravity_force", "assemble"],
        name="arm",
        parameters=["gravity"],
        batch=True,
        evidence=False,
    )
    cmake("-S", folder / "arm", "-B", folder / "build", "-DBUILD_SHARED_LIBS=ON", *QUICK)
    cmake("--build", folder / "build")
    return folder


def declared_names(folder: Path) -> set[str]:
    """Return the names that the headers of the folder declare with arm_API."""
    lines = [
        line
        for header in folder.glob("*.h")
        for line in header.read_text().splitlines()
        if line.startswith("arm_API ")
    ]
    return {line.partition("(")[0].rstrip(";").split()[-1] for line in lines}


def test_a_shared_build_exports_exactly_the_declared_functions(
    shared: Path,
) -> None:
    lines = run("nm", "-D", "--defined-only", shared / "build" / "libarm.so").stdout.splitlines()
    exported = {line.split()[-1] for line in lines if " arm_" in line}
    assert {
        "arm_gravity_force",
        "arm_gravity_force_batch",
        "arm_gravity_force_strided",
        "arm_assemble",
        "arm_set_parameters",
        "arm_DEFAULTS",
    } <= exported
    assert exported == declared_names(shared / "arm")
    assert run(shared / "build" / "arm_selftest").returncode == 0


@pytest.mark.parametrize(
    ("macros", "attribute"),
    [
        (("-D_WIN32", "-Darm_SHARED", "-Darm_EXPORTS"), "__declspec(dllexport) "),
        (("-D_WIN32", "-Darm_SHARED"), "__declspec(dllimport) "),
        (("-Darm_SHARED",), '__attribute__((visibility("default"))) '),
        (("-D_WIN32",), ""),
        ((), ""),
    ],
)
def test_the_attribute_of_an_exported_function_depends_on_the_platform(
    shared: Path, macros: tuple[str, ...], attribute: str
) -> None:
    preprocessed = run(
        "gcc", "-E", "-P", "-U_WIN32", *macros, shared / "arm" / "arm_parameters.h"
    ).stdout
    (function,) = (line for line in preprocessed.splitlines() if "arm_set_parameters(" in line)
    assert function.lstrip().startswith(f"{attribute}int arm_set_parameters(")
    assert f"{attribute}extern const arm_parameters arm_DEFAULTS;" in preprocessed

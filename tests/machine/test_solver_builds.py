"""Build of a solver's library: compiler options, cache, and errors with their remedies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symgen.emission.backends import c99
from symgen.machine import building
from symgen.machine.solver import Solver
from symgen.support.errors import BuildError, RequestError
from symgen.vocabulary.arrays import Sizes
from tests.shared.c_programs import arm, determinant, expected, uniform_states
from tests.shared.new_process import elsewhere

pytestmark = pytest.mark.usefixtures("own_cache")


def compile_uncached(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Compile a solver that is not yet loaded in this process."""
    monkeypatch.setattr(building, "_LOADED", {})
    return Solver.from_programs(
        name, {"mass_matrix_determinant": determinant()}, Sizes(2, 2, 2), optimize=0
    )


@pytest.mark.slow
def test_two_processes_may_build_at_once(tmp_path: Path) -> None:
    cache = tmp_path / "new" / "cache"
    running = [elsewhere(cache), elsewhere(cache)]
    outputs = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    assert outputs[0] == outputs[1]
    assert outputs[0][1] == b""
    assert sorted(path.suffix for path in cache.iterdir()) == [".sha256", ".so"]


@pytest.mark.parametrize(("optimize", "last"), [(0, "-O0"), (2, building.BETWEEN)])
def test_the_calling_code_is_optimised_less_than_the_functions(
    optimize: int, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler obeys the last -O."""
    commands: list[list[str]] = []
    run = building._run
    monkeypatch.setattr(
        building, "_run", lambda command, folder: commands.append(command) or run(command, folder)
    )
    Solver.from_programs(
        "between", {"mass_matrix_determinant": determinant()}, Sizes(2, 2, 2), optimize=optimize
    )
    levels = {
        word.startswith("_symgen_"): [flag for flag in command if flag.startswith("-O")]
        for command in commands
        for word in command
        if word.endswith(".c")
    }
    assert levels[False] == [f"-O{optimize}"]
    assert levels[True][-1] == last


def test_the_log_contains_the_time_of_a_build(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "symgen")
    compile_uncached("logged", monkeypatch)
    (seconds,) = re.findall(r"(\d+\.\d\d) s compiling with", caplog.text)
    assert 0 < float(seconds) < 600


@pytest.mark.slow
def test_a_broken_library_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert elsewhere(tmp_path).wait() == 0
    (library,) = tmp_path.glob("*.so")
    complete_size = library.stat().st_size
    library.write_bytes(b"half a library")
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    assert compile_uncached("elsewhere", monkeypatch).mass_matrix_determinant([0, 0]) > 0
    assert library.stat().st_size == complete_size


def test_a_failed_build_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    monkeypatch.setattr(building, "_run", stop)
    with pytest.raises(KeyboardInterrupt):
        compile_uncached("stopped", monkeypatch)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_compiler_is_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(BuildError, match="'no-such-compiler' that CC names was not found"):
        compile_uncached("missing", monkeypatch)
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(
        "sysconfig.get_config_var", lambda name: ".so" if name == "EXT_SUFFIX" else None
    )
    with pytest.raises(BuildError, match="apt install gcc python3-dev"):
        compile_uncached("missing", monkeypatch)


def test_a_missing_header_is_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(BuildError, match=r"Python.h is not in .*apt install gcc python3-dev"):
        compile_uncached("headless", monkeypatch)


def test_an_unusable_cache_is_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(BuildError, match="set SYMGEN_CACHE"):
        compile_uncached("roomless", monkeypatch)


def test_a_build_error_contains_the_compilers_first_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path))
    target = c99.Target("wrong", Sizes(2, 2, 2))
    text = c99.source(determinant(), target).replace("const double det", "const nonsense det")
    with pytest.raises(
        BuildError, match=r"refused the generated text: .*error: unknown type name .nonsense."
    ) as caught:
        Solver.from_programs(
            "wrong",
            {"mass_matrix_determinant": determinant()},
            Sizes(2, 2, 2),
            sources={"mass_matrix_determinant": text},
        )
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [{"native": True}, {"contract": True}, {"optimize": 0}, {"trig": "macro"}]
)
def test_build_options_do_not_change_results(options: dict[str, Any]) -> None:
    solver = Solver.from_programs(
        "arm",
        {"mass_matrix_determinant": determinant()},
        Sizes(2, 2, 2),
        **({"optimize": 1} | options),
    )
    q = uniform_states(3, 2)
    np.testing.assert_allclose(
        solver.mass_matrix_determinant(q), expected(determinant(), q)[0], rtol=1e-13
    )


@pytest.mark.parametrize("optimize", [-1, 4, "2"])
def test_an_unknown_optimization_level_is_refused(optimize: Any) -> None:
    with pytest.raises(RequestError, match="optimize is"):
        Solver.from_programs("arm", arm(), Sizes(2, 2, 2), optimize=optimize)


def test_the_cache_follows_the_xdg_directories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYMGEN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert building.cache_folder() == Path("/somewhere/symgen")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert building.cache_folder() == Path.home() / ".cache" / "symgen"

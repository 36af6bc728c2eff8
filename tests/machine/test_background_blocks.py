"""Blocks of states compiled in the background, in the call, or only by `prepare`: calls continue
with equal bits.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.machine import kernels
from symgen.machine.compilers import find_compiler
from symgen.support.errors import ArgumentError, SymgenWarning

SLOW_COMPILER = """#!/bin/sh
case "$*" in *_batch*) touch {folder}/begun; while [ ! -e {folder}/go ]; do sleep 0.05; done ;; esac
exec {compiler} "$@"
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty cache and a compiler that waits for the file `go` before it compiles blocks of
    states.
    """
    (tmp_path / "cc").write_text(
        SLOW_COMPILER.format(folder=tmp_path, compiler=shlex.join(find_compiler()))
    )
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("CC", str(tmp_path / "cc"))
    monkeypatch.setenv("SYMGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernels, "ROWS_BEFORE_BLOCKS", 1)
    return tmp_path


STATES = np.random.default_rng(3).uniform(-1, 1, (3, 40, 2))


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
def test_calls_continue_while_blocks_are_compiled_in_the_background(compiler: Path) -> None:
    solver = symgen.compile("planar_arm", ["forward_dynamics"], optimize=0)
    kernel = solver.kernel(solver.forward_dynamics)
    assert kernel is not None
    before = solver.forward_dynamics(*STATES)
    across = solver.forward_dynamics(*np.moveaxis(STATES, 2, 1), layout="soa")
    wait_until((compiler / "begun").exists)
    assert solver.forward_dynamics(*STATES).tobytes() == before.tobytes()
    assert kernel._blocks is None
    (compiler / "go").touch()
    wait_until(lambda: kernel._has_blocks(1))
    assert solver.forward_dynamics(*STATES).tobytes() == before.tobytes()
    assert (
        across.T.tobytes()
        == np.ascontiguousarray(before).tobytes()
        == np.ascontiguousarray(
            solver.forward_dynamics(*np.moveaxis(STATES, 2, 1), layout="soa").T
        ).tobytes()
    )


def test_with_blocks_never_only_prepare_compiles_blocks(compiler: Path) -> None:
    solver = symgen.compile("planar_arm", ["gravity_force"], optimize=0, blocks="never")
    kernel = solver.kernel(solver.gravity_force)
    assert kernel is not None
    solver.gravity_force(STATES[0])
    assert kernel._compilation is None
    (compiler / "go").touch()
    solver.prepare("gravity_force")
    assert kernel._blocks is not None


def test_with_blocks_now_the_call_compiles_blocks(compiler: Path) -> None:
    (compiler / "go").touch()
    solver = symgen.compile("planar_arm", ["gravity_force"], optimize=0, blocks="now")
    solver.gravity_force(STATES[0])
    assert solver.kernel(solver.gravity_force)._blocks is not None


@pytest.mark.slow
def test_a_failure_in_the_background_causes_one_warning(compiler: Path) -> None:
    solver = symgen.compile("planar_arm", ["gravity_force"], optimize=0)
    (compiler / "cc").write_text("#!/bin/sh\nexit 1\n")
    expected = solver.gravity_force(STATES[0])
    kernel = solver.kernel(solver.gravity_force)
    assert kernel is not None
    wait_until(lambda: kernel._compilation is not None and kernel._compilation.ended)
    with pytest.warns(
        SymgenWarning,
        match=(
            r"gravity_force could not be compiled for blocks of states"
            r" \(.*prepare\('gravity_force'\)"
        ),
    ):
        solver.gravity_force(STATES[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solver.gravity_force(STATES[0]).tobytes() == expected.tobytes()


@pytest.mark.slow
def test_the_end_of_python_does_not_wait_for_the_compiler(compiler: Path) -> None:
    program = (
        "import numpy as np, symgen, time, pathlib; from symgen.machine import kernels; "
        "kernels.ROWS_BEFORE_BLOCKS = 1\n"
        "solver = symgen.compile('planar_arm', ['gravity_force'], optimize=0)\n"
        "solver.gravity_force(np.zeros((40, 2)))\n"
        f"while not pathlib.Path({str(compiler / 'begun')!r}).exists(): time.sleep(0.05)\n"
    )
    start = time.monotonic()
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        timeout=60,
        cwd=compiler,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert time.monotonic() - start < 50
    wait_until(
        lambda: (
            shutil.which("pgrep") is None
            or subprocess.run(["pgrep", "-f", str(compiler / "cc")]).returncode == 1
        )
    )


def test_an_unknown_value_of_blocks_is_refused() -> None:
    with pytest.raises(ArgumentError, match="later"):
        symgen.compile("planar_arm", ["gravity_force"], optimize=0, blocks="later")

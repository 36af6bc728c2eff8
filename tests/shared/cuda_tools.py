"""Builds and calls of the kernels of a folder, by nvcc or by a C++ compiler with `cuda_on_cpu` in
place of CUDA.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ON_CPU = (
    "-x",
    "c++",
    "-std=c++17",
    "-O1",
    "-ffp-contract=off",
    "-fPIC",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unknown-pragmas",
    f"-I{HERE / 'cuda_on_cpu'}",
)
STRICT = (
    "-std=c++17",
    "-Werror",
    "all-warnings",
    "-Xcompiler",
    "-Wall,-Wextra,-Werror,-fPIC",
    "-Xptxas",
    "-v",
)
ONE_ROUNDING = "--fmad=false"
ARCHITECTURE = "sm_80"


class CudaMissing(Exception):
    """A tool or library for CUDA is missing; the message names it and the remedy."""


@cache
def nvcc() -> Path:
    """NVIDIA's compiler: on the PATH, or of the wheels that `make cuda` installs."""
    on_path = shutil.which("nvcc")
    if on_path:
        return Path(on_path)
    spec = importlib.util.find_spec("nvidia")
    for site_folder in (spec.submodule_search_locations or ()) if spec else ():
        for wheel in sorted(Path(site_folder).glob("cu*/bin/nvcc")):
            return wheel
    raise CudaMissing(
        "nvcc is not there, so nothing was compiled by it: run 'make cuda', or put CUDA's bin"
        " folder on the PATH"
    )


def gpu() -> str:
    """The GPU's architecture, as nvcc names it."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        capabilities = done.stdout.split() if done.returncode == 0 else []
    except (OSError, subprocess.TimeoutExpired):
        capabilities = []
    if not capabilities:
        raise CudaMissing("no GPU at hand: running was skipped")
    return "sm_" + capabilities[0].replace(".", "")


def compiled(source: Path, into: Path, *flags: str, architecture: str = ARCHITECTURE) -> str:
    """Compile one .cu file by nvcc with every warning as an error; return the report of ptxas."""
    return _run(nvcc(), f"-arch={architecture}", *STRICT, *flags, "-c", source, "-o", into)


def on_cpu(folder: Path) -> Device:
    """The kernels of a folder, compiled as C++."""
    compiler = os.environ.get("CXX", "g++")

    def compile_object(source: Path, into: Path) -> None:
        _run(compiler, *ON_CPU, "-c", source, "-o", into)

    objects = _objects(folder, "cpu", compile_object)
    library = folder.parent / f"{folder.name}-on-cpu.so"
    _run(compiler, "-shared", *objects, "-o", library)
    return Device(library)


def on_gpu(folder: Path, *flags: str, architecture: str = ARCHITECTURE) -> Device:
    """The kernels of a folder, compiled by nvcc."""
    objects = _objects(
        folder,
        "gpu",
        lambda source, into: compiled(source, into, *flags, architecture=architecture),
    )
    library = folder.parent / f"{folder.name}-on-gpu.so"
    wheel_libraries = (
        nvcc().parent.parent / "lib"
    )  # of the wheels; a toolkit's own folder is known to its nvcc
    _run(
        nvcc(), "-shared", f"-arch={architecture}", f"-L{wheel_libraries}", *objects, "-o", library
    )
    return Device(library)


def _objects(folder: Path, kind: str, compile_source: Callable[[Path, Path], object]) -> list[Path]:
    sources = [*sorted(folder.glob("*_cuda.cu")), HERE / "cuda_host.cu"]
    objects = [folder.parent / f"{folder.name}-{source.stem}.{kind}.o" for source in sources]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_source, sources, objects))
    return objects


def _run(*command: str | Path) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Device:
    """A GPU or its substitute: a library of kernels, linked with the functions of
    tests/shared/cuda_host.cu.
    """

    def __init__(self, library: Path) -> None:
        self.file, self.library = library, ctypes.CDLL(str(library))
        self.library.host_new.restype = ctypes.c_void_p
        self.library.host_milliseconds.restype = ctypes.c_float

    def array(self, values: np.ndarray[Any, Any]) -> ctypes.c_void_p:
        """A copy of an array in the GPU's memory."""
        assert values.flags.c_contiguous
        address = ctypes.c_void_p(self.library.host_new(ctypes.c_size_t(values.nbytes)))
        assert address.value, "the GPU has no memory left"
        assert (
            self.library.host_put(
                address, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes)
            )
            == 0
        )
        return address

    def read(self, address: ctypes.c_void_p, into: np.ndarray[Any, Any]) -> None:
        """Copy back, after everything that was put on the stream."""
        assert into.flags.c_contiguous
        assert (
            self.library.host_get(
                ctypes.c_void_p(into.ctypes.data), address, ctypes.c_size_t(into.nbytes)
            )
            == 0
        )

    def free(self, *addresses: ctypes.c_void_p) -> None:
        for address in addresses:
            self.library.host_free(address)

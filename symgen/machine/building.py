"""Generated C compiled into a Python extension (cffi, API mode), cached by its content.

The compiler is called directly, so that nothing is printed to the terminal and every flag is
explicit. It compiles the functions as they are printed, a loop over states for each, and the file
that cffi writes. A library is built in a separate folder beside its place in the cache and renamed
into it, so that two processes may build the same one at once.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

from symgen.emission import printer, render
from symgen.emission.ports import cast_array
from symgen.ir.loops import Form
from symgen.ir.ports import single_real
from symgen.ir.program import Bound, Outline, Program
from symgen.machine import targets
from symgen.machine.assemble_driver import with_drivers
from symgen.machine.batch import BLOCK
from symgen.machine.compilers import INSTALL_HINT, compiler_version, find_compiler
from symgen.support.cache import (
    LOG,
    WRITABLE_BY_OTHERS,
    cache_folder,
    is_owned,
    is_private,
    is_private_file,
)
from symgen.support.errors import ArgumentError, BuildError
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import ASSEMBLE
from symgen.vocabulary.options import PLAIN, TextOptions
from symgen.vocabulary.reals import REALS, VECTOR
from symgen.vocabulary.target import Target

BLOCK_FLAGS = ("-O1", "-ftree-loop-vectorize", "-fvect-cost-model=cheap")
"""gcc's flags for a function for blocks of states in several parts, as in the folder's CMake file.
The other passes take half the time again and make no block faster.
"""
LONG_STEP_FLAGS = ("-fno-schedule-insns",)
"""gcc's flags for a step over lanes that is so long that the first scheduling pass makes it a
quarter slower; also in CMake.
"""
HOST = targets.find("host")
NO_MEMORY = -2
"""Return value of a looped function without memory for its workspace."""
BETWEEN = "-O1"
"""Optimization level of the code between Python and optimized functions. It is longer than the
functions but does no arithmetic. At this level the compilation takes two thirds of the time, and no
call is slower.
"""
NO_EXTRA_FLAGS: Mapping[str, tuple[str, ...]] = {}
SPREAD = 2_000_000
"""Least number of rows that a thread of XLA takes at once: a tenth of a millisecond."""


@dataclass(frozen=True)
class Build:
    """Options of the compilation: -O`optimize`, -march=native, contraction of a*b + c, and OpenMP
    threads for groups of segments.
    """

    optimize: int = 2
    native: bool = False
    contract: bool = False
    threads: bool = False

    def __post_init__(self) -> None:
        if self.optimize not in (0, 1, 2, 3):
            raise ArgumentError(f"optimize is {self.optimize!r}; it can be 0, 1, 2 or 3")

    @property
    def flags(self) -> tuple[str, ...]:
        contract = "-ffp-contract=fast" if self.contract else "-ffp-contract=off"
        native = ("-march=native",) if self.native else ()
        # With -march=native, gcc's SLP vectorizer fuses a sum beside a difference in spite of
        # -ffp-contract=off.
        without_fusion = ("-fno-tree-slp-vectorize",) if self.native and not self.contract else ()
        threads = ("-fopenmp",) if self.threads else ()
        return (
            f"-O{self.optimize}",
            contract,
            "-fno-math-errno",
            *native,
            *without_fusion,
            *threads,
            "-fPIC",
            "-fvisibility=hidden",
        )


@dataclass(frozen=True)
class RobotBuild:
    """A robot's name and sizes, and the options for printing and compiling its functions."""

    name: str
    sizes: Sizes
    build: Build = Build()
    text: TextOptions = PLAIN
    source_sha256: str = ""

    @property
    def target(self) -> Target:
        """Return the names in the robot's C."""
        return Target(self.name, self.sizes, self.text, self.source_sha256)


def scheduling(build: Build) -> tuple[str, ...]:
    """Return gcc's flags for another order of the instructions, on the processor on which they were
    measured.

    The folder's CMake file has the same flags.
    """
    return HOST.scheduling if _is_gcc(build) and platform.machine() == HOST.architecture else ()


def _is_gcc(build: Build) -> bool:
    """True if the compiler is gcc and optimizes."""
    return build.optimize > 1 and compiler_version().startswith("gcc ")


def load(
    programs: Mapping[str, Form],
    target: Target,
    build: Build,
    sources: Mapping[str, str] | None = None,
    divisor_bounds: Mapping[str, Mapping[int, Bound]] | None = None,
) -> ModuleType:
    """Return the compiled functions as a module with `lib` and `ffi`.

    `lib.NAME_<function>` takes one pointer per argument and result. `lib.NAME_<function>_aligned`
    takes the same and returns -1 if one of them is not aligned, else 0 (or the status of a checked
    function).

    `lib.NAME_<function>_each` calls the function state by state. It takes a count, a pointer and a
    step (in elements) per argument, a pointer per result and, for a checked function, one to the
    statuses. `lib.NAME_<function>_chain` takes a count, a share and the same arguments and results;
    it adds that share of each call's first result to the first argument of the next.

    For a looped function the first is `lib.NAME_<function>_alone`, without the workspace, and each
    returns NO_MEMORY if there is none. `sources` replaces the text of functions, by name;
    `divisor_bounds` are those of `Source`. Raises BuildError without a compiler, Python's header or
    space in the cache, or if the compiler refuses the text.
    """
    backend = printer()
    files = backend.texts(programs, target, sources, divisor_bounds)
    outlines = {name: program.outline for name, program in programs.items()}
    functions = _functions(outlines, target)
    looped = {target.symbol(name): form for name, form in programs.items() if form.looped}
    context = {
        "name": target.name,
        "real": single_real(programs.values()),
        "line": VECTOR,
        "functions": [function for function in functions if function["symbol"] not in looped],
        "looped": [
            function | _loop_fields(function, looped[function["symbol"]], target)
            for function in functions
            if function["symbol"] in looped
        ],
        "headers": [name for name in files if name == f"{target.symbol(ASSEMBLE)}.h"],
    }
    loops, declarations = (
        render(backend.name, name, **context) for name in ("calls.c.j2", "calls.h.j2")
    )
    return _cached_library(
        files,
        loops,
        declarations,
        build,
        {
            target.c_file(name): LONG_STEP_FLAGS
            for name, form in programs.items()
            if backend.unscheduled(form)
        },
    )


def load_many(
    program: Form, target: Target, build: Build, divisor_bounds: Mapping[int, Bound] | None = None
) -> ModuleType:
    """Return one compiled function for blocks of states, as a module with `lib` and `ffi`.

    `lib.NAME_<function>_many` takes a count, and for each argument and result a pointer and two
    steps, in elements: from state to state and from element to element. A checked function also
    takes a pointer to the statuses and returns the number of refused states. A looped function
    returns 0 if it is not checked, and NO_MEMORY without memory for its workspace. Raises the
    errors of `load`.
    """
    backend = printer()
    programs = {program.function: program}
    files = {
        **backend.headers(programs, target),
        **backend.batches(programs, target, {program.function: divisor_bounds or {}}),
    }
    context = backend.driver(program, target) | {
        "real": program.real,
        "line": VECTOR,
        "no_memory": NO_MEMORY,
    }
    calls, declarations = (
        render(backend.name, name, **context) for name in ("many.c.j2", "many.h.j2")
    )
    return _cached_library(files, calls, declarations, build, _in_parts(programs, target))


def load_ffi(program: Program, target: Target, build: Build, header: str) -> ModuleType:
    """Return one compiled function as XLA calls it, as a module with `lib` and `ffi`; `header` is
    the text of XLA's c_api.h.

    `lib.handler` is an XLA_FFI_Handler: arguments and results are buffers, in order, with the axes
    of states first. An argument has one state or as many as the results. Raises the errors of
    `load`.
    """
    backend = printer()
    programs = {program.function: program}
    files = {
        "xla_ffi_c_api.h": header,
        **backend.headers(programs, target),
        **backend.batches(programs, target),
    }
    ports, real = (*program.inputs, *program.outputs), REALS[program.real]
    least = BLOCK * (1 + SPREAD // (BLOCK * max(1, len(program.rows))))
    context = {
        "symbol": target.symbol(program.function),
        "name": target.name,
        "real": program.real,
        "header": next(iter(files)),
        "dtype": f"XLA_FFI_DataType_F{8 * real.size}",
        "block": BLOCK,
        "least": least,
        "arguments": len(program.inputs),
        "results": len(program.outputs),
        "buffers": len(ports),
        "places": range(len(ports)),
        "axes": [len(port.shape) for port in ports],
        "counts": [port.size for port in ports],
    }
    return _cached_library(
        files,
        render("jax", "handler.c.j2", **context),
        "void *handler(void *);",
        build,
        _in_parts(programs, target),
    )


def _in_parts(programs: Mapping[str, Form], target: Target) -> dict[str, tuple[str, ...]]:
    """Return additional gcc flags for functions for blocks of states in several parts, by file."""
    return {
        target.batch_file(function): BLOCK_FLAGS
        for function, program in programs.items()
        if printer().is_cut(program)
    }


def _cached_library(
    files: Mapping[str, str],
    calls: str,
    declarations: str,
    build: Build,
    extra_flags: Mapping[str, tuple[str, ...]] = NO_EXTRA_FLAGS,
) -> ModuleType:
    """Return the library of these texts, built unless it is in the cache; `extra_flags` are
    additional flags of gcc, by file.
    """
    digest = hashlib.sha256()
    for text in (
        *library_dependencies(build),
        *(t for item in files.items() for t in item),
        calls,
        declarations,
    ):
        digest.update(f"{len(text)}:{text}".encode())
    module = f"_symgen_{digest.hexdigest()[:24]}"
    loaded = open_cached(module)
    if loaded is None:
        source = _LibrarySource(module, files, calls, declarations, extra_flags)
        loaded = _build_library(_library_path(module), source, find_compiler(), build)
    return loaded


@dataclass(frozen=True)
class _LibrarySource:
    """Texts of one library: C files and headers by name, and the input of cffi for the Python
    module `module`.

    `calls` is the C between Python and the functions, `declarations` its Python interface.
    `extra_flags` are additional flags of gcc, by file.
    """

    module: str
    files: Mapping[str, str]
    calls: str
    declarations: str
    extra_flags: Mapping[str, tuple[str, ...]]


_LOADED: dict[str, ModuleType] = {}


def library_dependencies(build: Build) -> tuple[str, ...]:
    """Return everything that a compiled library depends on besides its text. Raises BuildError
    without a compiler.
    """
    return (
        sys.version,
        *runs_on(build),
        *find_compiler(),
        *build.flags,
        *HOST.scheduling,
        *BLOCK_FLAGS,
        *LONG_STEP_FLAGS,
        BETWEEN,
    )


def open_cached(module: str) -> ModuleType | None:
    """Return the library with this name (which `load` gives it), if it is in the cache."""
    if not re.fullmatch("_symgen_[0-9a-f]{24}", module):
        return None
    if module not in _LOADED:
        path = _library_path(module)
        library = _open(module, path) if is_whole(path) else None
        if library is not None:
            LOG.info("compiled before: %s", path)
            _LOADED[module] = library
    return _LOADED.get(module)


class Packed(NamedTuple):
    """A library for transfer to another machine."""

    module: str
    runs_on: tuple[str, ...]
    data: bytes
    sha256: str


def pack_library(module: str, build: Build) -> Packed | None:
    """Return the library with this name; None if it is no longer in the cache."""
    data = read_library(_library_path(module))
    return (
        None
        if data is None
        else Packed(module, runs_on(build), data, hashlib.sha256(data).hexdigest())
    )


def unpack_library(sent: Packed, build: Build) -> ModuleType | None:
    """Return a library that another machine built, put into the cache here; None if it is for
    another platform.

    Raises BuildError if its data are damaged, or the cache has no space for it.
    """
    if sent.runs_on != runs_on(build):
        return None
    if (library := open_cached(sent.module)) is not None:
        return library
    if hashlib.sha256(sent.data).hexdigest() != sent.sha256:
        raise BuildError(f"the library {sent.module} was damaged on the way; send the solver again")
    path = _library_path(sent.module)
    with (
        _disk_errors(path),
        tempfile.TemporaryDirectory(prefix="arriving-", dir=prepared_folder(path.parent)) as folder,
    ):
        received = Path(folder) / f"{sent.module}.so"
        received.write_bytes(sent.data)
        received.chmod(0o700)
        loaded = _open(sent.module, received)  # None: for example, the sender has a newer C library
        if loaded is None:
            return None
        put_library(received, path)
    _LOADED[sent.module] = loaded
    return loaded


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Convert errors of the disk to one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise BuildError(
            f"cannot build in the cache {path.parent}: {reason}; set SYMGEN_CACHE to a writable"
            " folder with space"
        ) from None


def _library_path(module: str) -> Path:
    return cache_folder() / (module + str(sysconfig.get_config_var("EXT_SUFFIX") or ".so"))


def _functions(programs: Mapping[str, Outline], target: Target) -> list[dict[str, Any]]:
    """Return the fields of the templates for each function and driver."""
    functions = []
    for name, program in with_drivers(programs).items():
        names = printer().parameters(program, target)
        ports = [
            [
                {"name": names[p.name], "size": p.size, "cast": cast_array(p, "", target.name)}
                for p in ports
            ]
            for ports in (program.inputs, program.outputs)
        ]
        checked = target.checked or name == ASSEMBLE
        functions.append(
            {
                "symbol": target.symbol(name),
                "arguments": ports[0],
                "results": ports[1],
                "checked": checked,
                "returns": "int" if checked else "void",
            }
        )
    return functions


def _loop_fields(function: Mapping[str, Any], recursion: Form, target: Target) -> dict[str, Any]:
    """Return the additional fields of `calls.c.j2` for a looped function: its workspace, and the
    arguments that must be copied.

    Arguments are copied behind the workspace if results must not overlap them.
    """
    argument_names = {p["name"] for p in (*function["arguments"], *function["results"])}
    used_names = {*argument_names, "i", "k", "count", "share"}
    work, own_name, block = (
        printer().language.local(name, used_names) for name in ("work", "own", "block")
    )
    arguments, slots = [], [f"{work} + {target.name}_WORK"]
    for p in function["arguments"]:
        arguments.append(p | {"apart": f"{p['name']}_copy", "place": slots[-1]})
        slots.append(f"{p['name']}_copy + {p['size']}")
    copied = arguments if printer().forbids_aliasing(recursion) else []
    return {
        "work": work,
        "own": own_name,
        "block": block,
        "arguments": arguments,
        "copied": copied,
        "no_memory": NO_MEMORY,
    }


def runs_on(build: Build) -> tuple[str, ...]:
    """Return the requirements of a library on the machine that loads it: the platform, Python's
    binary interface, and cffi's.
    """
    import cffi

    cpu = ""
    if build.native:
        # Machines that share a home folder may differ in the meaning of -march=native.
        try:
            facts = re.findall(
                r"^(?:model name|flags|Features)\s*:.*$",
                Path("/proc/cpuinfo").read_text(),
                re.MULTILINE,
            )
            cpu = "".join(sorted(set(facts)))
        except OSError:
            cpu = platform.processor()
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
    return sys.platform, platform.machine(), suffix, cffi.__version__, cpu


def _open(module: str, path: Path) -> ModuleType | None:
    """Return the library at `path`, or None if it cannot be loaded."""
    spec = spec_from_file_location(module, path, loader=ExtensionFileLoader(module, str(path)))
    if spec is None or spec.loader is None:
        return None
    try:
        loaded = module_from_spec(spec)
        spec.loader.exec_module(loaded)
    except ImportError:
        return None
    return loaded


def _build_library(
    path: Path, source: _LibrarySource, compiler: tuple[str, ...], build: Build
) -> ModuleType:
    """Build the library, put it at `path`, and load it."""
    start = perf_counter()
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").is_file():
        raise BuildError(f"Python's header Python.h is not in {include}; {INSTALL_HINT}")
    with (
        _disk_errors(path),
        tempfile.TemporaryDirectory(prefix="building-", dir=prepared_folder(path.parent)) as folder,
    ):
        built = _compile(Path(folder), source, compiler, build, include)
        loaded = _open(
            source.module, built
        )  # from the build folder: another process may be writing to `path`
        if loaded is None:
            raise BuildError(
                f"Python cannot load the library that {compiler[0]} built; check that CC builds for"
                " this Python"
            )
        put_library(built, path)
    LOG.info("%.2f s compiling with %s: %s", perf_counter() - start, compiler[0], path)
    _LOADED[source.module] = loaded
    return loaded


def _compile(
    folder: Path, source: _LibrarySource, compiler: tuple[str, ...], build: Build, include: str
) -> Path:
    """Write every text into `folder`, compile each C file and link them; return the library."""
    import cffi

    module, files = source.module, source.files
    ffi = cffi.FFI()
    ffi.cdef(source.declarations)
    ffi.set_source(
        module, source.calls, compiler_verbose=0
    )  # otherwise cffi prints the name of its file
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    # The generated functions are C99; cffi's file uses the C standard of Python's headers.
    standard, extra_flags = ("-std=c99", *scheduling(build)), NO_EXTRA_FLAGS
    if _is_gcc(build):
        extra_flags = source.extra_flags
    units = [
        (name, (*standard, *extra_flags.get(name, ()))) for name in files if name.endswith(".c")
    ]
    units.append((f"{module}.c", ("-I", include, *([BETWEEN] if build.optimize else []))))
    ffi.emit_c_code(str(folder / units[-1][0]))

    def unit(job: tuple[str, tuple[str, ...]]) -> str:
        name, flags = job
        _run([*compiler, *build.flags, *flags, "-c", name, "-o", f"{name}.o"], folder)
        return f"{name}.o"

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        objects = list(workers.map(unit, units))
    shared = (
        ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    )
    _run([*compiler, *build.flags, *shared, *objects, "-lm", "-o", f"{module}.so"], folder)
    return folder / f"{module}.so"


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        first = next(
            (line for line in lines if "error" in line),
            lines[0] if lines else f"exit code {done.returncode}",
        )
        raise BuildError(f"the C compiler {command[0]} refused the generated text: {first}")


# -- libraries in the cache --
#
# Loading a library runs its code. So a library is loaded only if no other user can have written it:
# folder and file belong to
# the user, nobody else may write them, the file is not a link, and its SHA-256 equals the one
# stored beside it. (A truncated
# library would stop Python with SIGBUS, which no `except` catches.) Any other library is built
# again.


def prepared_folder(folder: Path) -> Path:
    """Create `folder` if it is missing, and remove write access of others. Raises BuildError if it
    belongs to another user.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.stat()
    if not (is_owned(status) and is_owned(folder.lstat())):
        raise BuildError(
            f"the cache {folder} belongs to another user, who could replace its code; set"
            " SYMGEN_CACHE to a folder of your own"
        )
    if not is_private(status):  # from an earlier umask; each library is checked separately
        folder.chmod(stat.S_IMODE(status.st_mode) & ~WRITABLE_BY_OTHERS)
    return folder


def is_whole(path: Path) -> bool:
    """True if the library at `path` is the one that `put_library` wrote, in a folder that nobody
    else can write.
    """
    try:
        return (
            is_owned(path.parent.lstat())
            and is_private(path.parent.stat())
            and _read_own(_checksum_file(path)) == _checksum(_read_own(path))
        )
    except OSError:
        return False


def read_library(path: Path) -> bytes | None:
    """Return the library at `path`; None if it is not whole."""
    try:
        return _read_own(path) if is_whole(path) else None
    except OSError:
        return None


def put_library(built: Path, path: Path) -> None:
    """Move a library and its checksum to `path`, after both are synced to the disk."""
    built.chmod(0o700)
    beside = built.with_suffix(".sha256")
    beside.write_bytes(_checksum(built.read_bytes()))
    beside.chmod(0o600)
    for file in (built, beside):
        with file.open("rb") as written:
            os.fsync(written.fileno())
    # Between the two renames the library is not whole, and another process would build it again.
    os.replace(built, path)
    os.replace(beside, _checksum_file(path))


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode() + b"\n"


def _read_own(path: Path) -> bytes:
    """Return a file of the user. Raises OSError for a link, and for a file that another user could
    have written.
    """
    with open(
        os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)),
        "rb",
    ) as file:
        if not is_private_file(os.fstat(file.fileno())):
            raise OSError(f"{path} is writable by other users")
        return file.read()

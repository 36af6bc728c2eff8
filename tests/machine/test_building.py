"""Builds of a library: options, checksums in the cache, fields of templates and errors of tools."""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import symgen
from symgen.ir.program import Outline, Port
from symgen.machine import blocks, building, targets
from symgen.machine.assemble_driver import USUAL_TURNS, assemble_outline, with_drivers
from symgen.machine.building import Build, Packed
from symgen.support.errors import ArgumentError, BuildError, SymgenWarning
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.functions import ASSEMBLE, ASSEMBLING
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.target import Target

Q, V = Port("q", (3,)), Port("v", (2,))


def outline(function: str, inputs: Any = (Q,), outputs: Any = (V,), **rest: Any) -> Outline:
    return Outline(function, "test", inputs, outputs, rest.pop("operations", {}), **rest)


def steps_of_assembly() -> dict[str, Outline]:
    """Return the functions that the driver calls: a step, and the motion along it."""
    step, move = ASSEMBLING
    return {
        step: outline(step, length=30, real="double", operations={"mul": 7, "add": 2}),
        move: outline(
            move,
            (Q, V, Port("dt", ())),
            (Port("q_next", (3,)),),
            length=12,
            real="double",
            operations={"mul": 3, "sqrt": 1},
        ),
    }


@pytest.mark.parametrize("optimize", [0, 1, 2, 3])
def test_gcc_has_four_levels_of_optimization(optimize: int) -> None:
    assert Build(optimize).flags[0] == f"-O{optimize}"


@pytest.mark.parametrize("optimize", [-1, 4, 10, "2"])
def test_any_further_level_is_refused(optimize: Any) -> None:
    with pytest.raises(ArgumentError, match="it can be 0, 1, 2 or 3"):
        Build(optimize)


@pytest.mark.parametrize(
    ("optimize", "version", "here", "is_scheduled"),
    [
        (2, "gcc 12.2.0", True, True),
        (3, "gcc 12.2.0", True, True),
        (1, "gcc 12.2.0", True, False),
        (2, "clang 15.0", True, False),
        (2, "gcc 12.2.0", False, False),
    ],
)
def test_instructions_are_reordered_by_an_optimizing_gcc_on_the_measured_processor(
    optimize: int, version: str, here: bool, is_scheduled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = targets.find("host")
    monkeypatch.setattr(building, "compiler_version", lambda: version)
    monkeypatch.setattr(platform, "machine", lambda: host.architecture if here else "riscv64")
    expected = host.scheduling if is_scheduled else ()
    assert building.scheduling(Build(optimize)) == expected


# -- drivers --


def test_the_driver_of_an_assembly_takes_ten_steps_and_motions() -> None:
    driver = assemble_outline(steps_of_assembly())
    assert driver is not None
    assert driver.function == ASSEMBLE
    assert driver.inputs == (Q,)
    assert driver.outputs == (Port("q_out", (3,)),)
    assert USUAL_TURNS == 10
    assert driver.operations == {"mul": 100, "add": 20}
    assert driver.length == 10 * (30 + 12)


def test_a_driver_needs_all_functions_that_it_calls() -> None:
    functions = steps_of_assembly()
    assert [*with_drivers(functions)] == [*functions, ASSEMBLE]
    for name in ASSEMBLING:
        part = {function: value for function, value in functions.items() if function != name}
        assert assemble_outline(part) is None
        assert with_drivers(part) == part


@pytest.mark.parametrize("checked", [False, True])
def test_the_driver_returns_a_status_and_functions_do_if_they_are_checked(checked: bool) -> None:
    target = Target("robot", Sizes(3, 2, 1), TextOptions(checked=checked))
    *functions, driver = building._functions(steps_of_assembly(), target)
    assert driver["symbol"] == f"robot_{ASSEMBLE}"
    assert (driver["checked"], driver["returns"]) == (True, "int")
    assert {(f["checked"], f["returns"]) for f in functions} == {
        (checked, "int" if checked else "void")
    }
    assert [p["size"] for p in functions[1]["arguments"]] == [3, 2, 1]
    assert [p["size"] for p in functions[1]["results"]] == [3]


@pytest.mark.parametrize("may_alias", [True, False])
def test_arguments_of_loops_are_copied_behind_the_workspace_one_after_the_other(
    may_alias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Language:
        @staticmethod
        def local(name: str, used: set[str]) -> str:
            return f"{name}_" if name in used else name

    printer = SimpleNamespace(language=Language, forbids_aliasing=lambda form: not may_alias)
    monkeypatch.setattr(building, "printer", lambda: printer)
    function = {
        "arguments": [{"name": "q", "size": 3}, {"name": "work", "size": 2}],
        "results": [{"name": "x", "size": 1}],
    }
    form: Any = None
    fields = building._loop_fields(function, form, Target("robot", Sizes(3, 2, 1)))
    assert (fields["work"], fields["own"], fields["block"]) == ("work_", "own", "block")
    assert [p["apart"] for p in fields["arguments"]] == ["q_copy", "work_copy"]
    assert [p["place"] for p in fields["arguments"]] == ["work_ + robot_WORK", "q_copy + 3"]
    assert fields["copied"] == ([] if may_alias else fields["arguments"])
    assert fields["no_memory"] == building.NO_MEMORY < -1  # -1: an array is not aligned


# -- compilation --


def source_of_a_library() -> building._LibrarySource:
    """Return a library of two C files and a header; gcc has flags of its own for one of them."""
    files = {"one.c": "int one(void);\n", "one.h": "\n", "two.c": "int two(void);\n"}
    module = f"_symgen_{24 * 'a'}"
    return building._LibrarySource(
        module, files, "int one(void);", "int one(void);", {"two.c": ("-O7",)}
    )


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return a list that receives the commands of a compiler, which does not run."""
    commands: list[list[str]] = []
    monkeypatch.setattr(building, "_run", lambda command, folder: commands.append(command))
    monkeypatch.setattr(platform, "machine", lambda: targets.find("host").architecture)
    return commands


@pytest.mark.parametrize("version", ["gcc 12.2.0", "clang 15.0"])
@pytest.mark.parametrize("optimize", [0, 1, 2])
def test_each_file_of_a_library_is_compiled_with_its_flags(
    optimize: int,
    version: str,
    commands: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Functions are C99 with the flags of their files; what calls them has Python's headers."""
    monkeypatch.setattr(building, "compiler_version", lambda: version)
    monkeypatch.setattr(sys, "platform", "linux")
    source, build = source_of_a_library(), Build(optimize)
    built = building._compile(tmp_path, source, ("cc", "-m64"), build, "/include")
    assert built == tmp_path / f"{source.module}.so"
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}.items() >= {
        *source.files.items()
    }
    is_tuned = optimize == 2 and version.startswith("gcc")
    order = targets.find("host").scheduling if is_tuned else ()
    start, flags = ["cc", "-m64", *build.flags], ["-std=c99", *order]
    units, link = sorted(commands[:-1]), commands[-1]
    between = ["-I", "/include", *[building.BETWEEN] * (optimize > 0)]
    flags_of = {
        "one.c": flags,
        "two.c": [*flags, *["-O7"] * is_tuned],
        f"{source.module}.c": between,
    }
    assert units == sorted(
        [*start, *flags_here, "-c", name, "-o", f"{name}.o"]
        for name, flags_here in flags_of.items()
    )
    objects = ["one.c.o", "two.c.o", f"{source.module}.c.o"]
    assert link == [*start, "-shared", *objects, "-lm", "-o", f"{source.module}.so"]


def test_a_library_of_a_mac_is_a_bundle(
    commands: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "compiler_version", lambda: "clang 15.0")
    monkeypatch.setattr(sys, "platform", "darwin")
    building._compile(tmp_path, source_of_a_library(), ("cc",), Build(), "/include")
    assert {"-bundle", "-undefined", "dynamic_lookup"} <= {*commands[-1]}
    assert "-shared" not in commands[-1]


def test_a_python_without_its_header_cannot_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    path = tmp_path / "cache" / "library.so"
    with pytest.raises(BuildError, match=r"header Python\.h is not in .*; on Debian and Ubuntu"):
        building._build_library(path, source_of_a_library(), ("cc",), Build())
    assert not path.parent.exists()


def test_a_library_for_another_python_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing remains in the cache."""
    (tmp_path / "Python.h").touch()
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(building, "_compile", lambda folder, *_: folder / "missing.so")
    path = tmp_path / "cache" / "library.so"
    with pytest.raises(BuildError, match="cannot load the library that cc built; check that CC"):
        building._build_library(path, source_of_a_library(), ("cc", "-m64"), Build())
    assert list(path.parent.iterdir()) == []


# -- the cache --


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Return a file that is stored as a library is."""
    folder = building.prepared_folder(tmp_path / "cache")
    built = tmp_path / "built.so"
    built.write_bytes(b"library")
    building.put_library(built, folder / "stored.so")
    return folder / "stored.so"


def test_a_stored_library_is_whole_with_the_checksum_of_its_content(stored: Path) -> None:
    assert building.is_whole(stored)
    assert building.read_library(stored) == b"library"
    checksum = stored.with_name("stored.so.sha256").read_text(encoding="utf-8")
    assert checksum == hashlib.sha256(b"library").hexdigest() + "\n"
    modes = [
        stat.S_IMODE(path.stat().st_mode) for path in (stored, stored.with_name("stored.so.sha256"))
    ]
    assert modes == [0o700, 0o600]  # nobody else may read or write them
    assert sorted(path.name for path in stored.parent.iterdir()) == [
        "stored.so",
        "stored.so.sha256",
    ]


def test_a_library_without_its_checksum_or_its_content_is_not_whole(stored: Path) -> None:
    stored.write_bytes(b"another")
    assert not building.is_whole(stored)
    assert building.read_library(stored) is None
    stored.write_bytes(b"library")
    assert building.is_whole(stored)
    stored.with_name("stored.so.sha256").unlink()
    assert not building.is_whole(stored)
    missing = stored.with_name("missing.so")
    assert not building.is_whole(missing)
    assert building.read_library(missing) is None


@pytest.mark.parametrize("written", ["folder", "library", "checksum"])
@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_may_write_is_not_whole(stored: Path, written: str, mode: int) -> None:
    paths = {
        "folder": stored.parent,
        "library": stored,
        "checksum": stored.with_name("stored.so.sha256"),
    }
    path = paths[written]
    before = path.stat().st_mode & 0o777
    path.chmod(before | mode)
    assert not building.is_whole(stored)
    path.chmod(before)
    assert building.is_whole(stored)


def test_a_link_is_not_whole(stored: Path) -> None:
    target = stored.with_name("target.so")
    stored.rename(target)
    stored.symlink_to(target)
    assert not building.is_whole(stored)


def test_a_prepared_folder_is_closed_to_others_and_keeps_its_other_rights(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert building.prepared_folder(folder) == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    building.prepared_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "name", ["", "_symgen_", "_symgen_" + 23 * "a", "_symgen_" + 24 * "g", "../_symgen_" + 24 * "a"]
)
def test_only_names_of_libraries_are_opened(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_library_path", lambda module: pytest.fail("looked for it"))
    assert building.open_cached(name) is None


def test_a_library_is_opened_once(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "_symgen_" + 24 * "a"
    opened: list[str] = []

    def open_library(module: str, path: Path) -> Any:
        opened.append(module)
        return SimpleNamespace(__name__=module)

    monkeypatch.setattr(building, "_LOADED", {})
    monkeypatch.setattr(building, "_library_path", lambda module: stored)
    monkeypatch.setattr(building, "_open", open_library)
    first = building.open_cached(name)
    assert first is not None
    assert building.open_cached(name) is first
    assert opened == [name]


def test_a_library_has_the_ending_of_python_s_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "cache_folder", lambda: tmp_path)
    for suffix, name in ((".cpython-311.so", "m.cpython-311.so"), (None, "m.so")):
        monkeypatch.setattr(sysconfig, "get_config_var", lambda key, suffix=suffix: suffix)
        assert building._library_path("m") == tmp_path / name


def test_a_file_that_is_no_library_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("no library", encoding="utf-8")
    assert building._open("_symgen_text", tmp_path / "text.so") is None


# -- libraries of other machines --


@pytest.fixture
def receiving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Receive libraries into an empty cache; they are opened by name only."""
    opened: list[str] = []

    def open_library(module: str, path: Path) -> Any:
        opened.append(module)
        assert path.read_bytes() == b"library"
        assert path.stat().st_mode & 0o777 == 0o700
        return SimpleNamespace(__name__=module) if "bad" not in module else None

    monkeypatch.setattr(building, "_LOADED", {})
    monkeypatch.setattr(building, "_open", open_library)
    monkeypatch.setattr(building, "_library_path", lambda module: tmp_path / "new" / f"{module}.so")
    return opened


def packed(module: str, data: bytes = b"library") -> Packed:
    checksum = hashlib.sha256(b"library").hexdigest()
    return Packed(module, building.runs_on(Build()), data, checksum)


def test_a_received_library_is_stored_whole_and_opened(
    receiving: list[str], tmp_path: Path
) -> None:
    sent = packed("library")
    library = building.unpack_library(sent, Build())
    assert library is not None
    assert library.__name__ == "library"
    assert building.is_whole(tmp_path / "new" / "library.so")
    assert building.pack_library("library", Build()) == sent
    assert building.pack_library("missing", Build()) is None


def test_a_library_of_another_platform_or_c_library_is_not_stored(
    receiving: list[str], tmp_path: Path
) -> None:
    foreign = packed("library")._replace(runs_on=("another",))
    assert building.unpack_library(foreign, Build()) is None
    assert not receiving
    assert building.unpack_library(packed("bad"), Build()) is None
    assert not list((tmp_path / "new").glob("*.so"))


def test_a_library_that_was_damaged_on_the_way_is_refused(receiving: list[str]) -> None:
    with pytest.raises(BuildError, match="damaged on the way"):
        building.unpack_library(packed("library", b"librarx"), Build())
    assert not receiving


def test_a_native_library_runs_on_like_processors_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of the processors and their number do not count."""
    texts = {
        "first": "processor\t: 0\nmodel name\t: A\nflags\t\t: fma avx\n"
        "processor\t: 1\nmodel name\t: A\n",
        "fewer": "flags\t\t: fma avx\nmodel name\t: A\n",
        "other": "model name\t: A\nflags\t\t: fma\n",
    }
    requirements = {}
    for name, text in texts.items():
        monkeypatch.setattr(Path, "read_text", lambda path, text=text: text)
        requirements[name] = building.runs_on(Build(native=True))
        assert building.runs_on(Build())[-1] == ""
    assert requirements["first"] == requirements["fewer"] != requirements["other"]
    assert requirements["first"][:2] == (sys.platform, platform.machine())

    def missing(path: Path) -> str:
        raise OSError("no such file")

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setattr(platform, "processor", lambda: "chip")
    assert building.runs_on(Build(native=True))[-1] == "chip"


def test_a_library_depends_on_the_options_of_its_build() -> None:
    dependencies = {building.library_dependencies(Build(optimize=k)) for k in (1, 2)}
    dependencies.add(building.library_dependencies(Build(contract=True)))
    assert len(dependencies) == 3


# -- errors of tools --


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo note >&2; echo ' a.c:1: error: bad ' >&2; echo error: two >&2; exit 1",
            "a.c:1: error: bad",
        ),
        ("echo >&2; echo first >&2; echo second >&2; exit 1", "first"),
        ("exit 7", "exit code 7"),
    ],
)
def test_a_refused_text_is_explained_by_the_first_error(
    script: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(BuildError) as failure:
        building._run(["sh", "-c", script], tmp_path)
    assert str(failure.value) == f"the C compiler sh refused the generated text: {reason}"
    building._run(["sh", "-c", "echo error >&2; pwd > working"], tmp_path)
    assert (tmp_path / "working").read_text(encoding="utf-8").strip() == str(tmp_path.resolve())


def test_a_full_disk_is_explained_with_the_folder(tmp_path: Path) -> None:
    with (
        pytest.raises(BuildError, match=f"cannot build in the cache {tmp_path}: No space left"),
        building._disk_errors(tmp_path / "a.so"),
    ):
        raise OSError(28, "No space left")
    with (
        pytest.raises(BuildError, match=f"in the cache {tmp_path}: without a number; set SYMGEN"),
        building._disk_errors(tmp_path / "a.so"),
    ):
        raise OSError("without a number")


# -- functions for other callers --


@pytest.mark.parametrize(("spread", "least"), [(1, 16), (16 * 20, 32), (100 * 20, 112)])
def test_a_thread_of_xla_takes_whole_blocks_with_enough_rows(
    spread: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block of 16 states has 16 · 20 rows here. A thread takes more than `spread` rows."""
    program: Any = symgen.program("planar_arm", "mass_matrix")
    rows = len(program.rows)
    contexts: list[dict[str, Any]] = []

    def render(*template: str, **context: Any) -> str:
        contexts.append(context)
        return "text"

    monkeypatch.setattr(building, "SPREAD", spread * rows // 20)
    monkeypatch.setattr(building, "render", render)
    monkeypatch.setattr(building, "_cached_library", lambda *arguments: arguments)
    sizes = symgen.load("planar_arm").sizes
    library: Any = building.load_ffi(program, Target("arm", sizes), Build(), "/* header of XLA */")
    files, text, declaration, build, _ = library
    assert (text, declaration, build) == ("text", "void *handler(void *);", Build())
    assert files["xla_ffi_c_api.h"] == "/* header of XLA */"
    (context,) = contexts
    assert context["least"] == least
    assert (context["arguments"], context["results"], context["buffers"]) == (1, 1, 2)
    assert (context["axes"], context["counts"], [*context["places"]]) == ([1, 2], [2, 4], [0, 1])
    assert (context["dtype"], context["header"]) == ("XLA_FFI_DataType_F64", "xla_ffi_c_api.h")


@pytest.mark.parametrize("bounds", [None, {3: 1}])
@pytest.mark.parametrize("is_cut", [True, False])
def test_blocks_are_printed_with_the_bounds_of_their_function(
    bounds: Any, is_cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions in several parts have flags of their own."""
    printed: list[Any] = []

    def batches(programs: Any, target: Target, divisor_bounds: Any) -> dict[str, str]:
        printed.append(divisor_bounds)
        return {"f.c": "text"}

    backend = SimpleNamespace(
        name="c99",
        headers=lambda programs, target: {"arm.h": "header"},
        batches=batches,
        driver=lambda program, target: {"driver": 1},
        is_cut=lambda program: is_cut,
    )
    monkeypatch.setattr(building, "printer", lambda: backend)
    monkeypatch.setattr(building, "render", lambda *template, **context: (template, context))
    monkeypatch.setattr(building, "_cached_library", lambda *arguments: arguments)
    program: Any = SimpleNamespace(function="f", real="double")
    target = Target("arm", Sizes(2, 2, 2))
    library: Any = building.load_many(program, target, Build(), bounds)
    files, calls, declarations, build, flags = library
    assert printed == [{"f": bounds or {}}]
    assert files == {"arm.h": "header", "f.c": "text"}
    assert (calls[0], declarations[0]) == (("c99", "many.c.j2"), ("c99", "many.h.j2"))
    assert calls[1]["driver"] == 1
    assert calls[1]["no_memory"] == building.NO_MEMORY
    assert build == Build()
    assert flags == ({target.batch_file("f"): building.BLOCK_FLAGS} if is_cut else {})


# -- background compilations --


class Prepared:
    """A solver whose library for blocks of states gets a name."""

    def __init__(self) -> None:
        self._named: dict[str, str] = {}

    def prepare(self, function: str) -> None:
        if function != "in_lanes":
            self._named[function] = f"library of {function}"


@pytest.mark.parametrize("function", ["mass_matrix", "in_lanes"])
def test_the_background_process_prints_the_name_of_the_library(
    function: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import pickle

    niceness: list[int] = []
    monkeypatch.setattr(os, "nice", niceness.append)
    blocks.compile_one(pickle.dumps((Prepared(), function)))
    expected = "" if function == "in_lanes" else f"library of {function}"
    assert capsys.readouterr().out == f"{expected}\n"
    assert niceness == [19]  # the lowest priority of POSIX


@pytest.mark.parametrize(
    ("code", "out", "err", "failure"),
    [
        (0, b"library\n", b"", ""),
        (0, b"\n", b"", ""),
        (2, b"library\n", b"Traceback\nBuildError: no space\n", "BuildError: no space"),
        (3, b"", b"", "exit status 3"),
    ],
)
def test_a_background_compilation_keeps_its_library_or_its_failure(
    code: int, out: bytes, err: bytes, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = SimpleNamespace(returncode=code, communicate=lambda task: (out, err), pid=0)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: child)
    monkeypatch.setattr(blocks, "_RUNNING", running := Running())
    libraries: dict[str, str] = {}
    compilation = blocks.Compilation(Prepared(), "mass_matrix", libraries)
    compilation.wait()
    assert compilation.ended
    assert compilation.failure == failure
    assert libraries == ({"mass_matrix": "library"} if out.strip() and not code else {})
    assert (running.added, len(running)) == (1, 0)
    if failure:
        with pytest.warns(SymgenWarning, match=f"mass_matrix could not be compiled .*{failure}"):
            compilation.warn_of_failure()
    else:
        compilation.warn_of_failure()  # no warning, which would be an error here


class Running(set[Any]):
    """The set of running processes; counts those that were added."""

    added = 0

    def add(self, child: Any) -> None:
        self.added += 1
        super().add(id(child))

    def discard(self, child: Any) -> None:
        super().discard(id(child))


def test_a_compilation_that_cannot_start_has_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*_: Any, **__: Any) -> None:
        raise OSError("no memory for a process")

    monkeypatch.setattr(subprocess, "Popen", no_process)
    compilation = blocks.Compilation(Prepared(), "mass_matrix", {})
    compilation.wait()
    assert compilation.failure == "no memory for a process"

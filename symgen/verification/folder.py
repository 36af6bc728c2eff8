"""Reader of a generated folder for `symgen verify`: the robot, the options and the C files.

`symgen generate` writes manifest.json into the folder. The manifest lists the functions with their
methods and files, and the options with which the functions were generated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from symgen.description.loading import load
from symgen.ir.loops import Form
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.support.errors import ArgumentError, DescriptionError, SymgenError, printable
from symgen.support.version import __version__
from symgen.verification.subject import Files
from symgen.vocabulary.arrays import USUAL
from symgen.vocabulary.functions import PREPARING
from symgen.vocabulary.names import function_named, nearest
from symgen.vocabulary.options import (
    AUTO,
    GPU,
    NORMAL,
    Links,
    ProgramOptions,
    TextOptions,
    names_of,
)

LARGEST_FILE = 50_000_000
"""Size in bytes; the reader rejects a larger file."""
_HINT = "generate it again"
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
SHOWN = 60
"""Number of characters that a message shows of a text from a manifest."""


class Folder(NamedTuple):
    """Content of a generated folder, as far as the requested functions need it."""

    mechanism: Mechanism
    name: str
    """NAME: the robot's name, with which the file names begin."""
    options: ProgramOptions
    text: TextOptions
    methods: dict[str, str]
    """Method of each requested function."""
    rounds: dict[str, int]
    """Number of search rounds for each function whose search for fewer operations was interrupted.
    """
    sources: dict[str, str]
    """Text of the C file of each requested function."""
    blocks: dict[str, str]
    """Texts of the files of the batch functions, which evaluate blocks of states, by file name."""
    device: dict[str, str]
    """Texts of the files for a GPU, by file name."""
    header: str
    """Text of NAME.h."""
    sincos: str
    """Text of NAME_sincos.h; "" if the folder has no such file."""
    every: dict[str, str]
    """Method of each function in the folder, requested or not.

    With run-time parameters all functions of a folder share one argument. Its layout depends on all
    functions (see `programs`).
    """

    @property
    def files(self) -> Files:
        """Return the C files of the folder, as the checks take them."""
        return Files(self.name, self.sources, self.blocks, self.device, self.header, self.sincos)


def read_folder(path: Path, functions: Iterable[str] | None = None) -> Folder:
    """Read a folder that `symgen generate` wrote.

    `functions` are requests FUNCTION or FUNCTION=METHOD; None requests all functions. Raises
    RequestError for a function that is not in the folder, or that the folder has by another method.
    Raises DescriptionError for a folder that symgen did not generate.
    """
    mechanism = load(path)  # raises DescriptionError for a folder that symgen did not generate
    try:
        manifest: dict[str, Any] = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        return _folder_of(path, mechanism, manifest, functions)
    except OSError as error:
        raise DescriptionError(
            f"{error.filename} cannot be read ({error.strerror})", file=str(path), hint=_HINT
        ) from None
    except SymgenError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise DescriptionError(_unread_manifest(path), file=str(path), hint=_HINT) from None


def _folder_of(
    path: Path,
    mechanism: Mechanism,
    manifest: Mapping[str, Any],
    functions: Iterable[str] | None,
) -> Folder:
    """Return the folder: options from the manifest, and texts of the files that it lists."""
    name, entries = str(manifest["robot"]), _table(manifest["functions"])
    chosen = _table(manifest["options"])
    options, text = _program_options(str(manifest["real"]), chosen), _text_options(chosen)
    every = {function_named(function): str(entry["method"]) for function, entry in entries.items()}
    rounds = {
        function: int(entry["rounds"]) for function, entry in entries.items() if "rounds" in entry
    }
    methods = dict(every)
    if functions is not None:
        methods = dict(_requested_method(request, every, path) for request in functions)
    sources = {
        function: _text(path / Path(str(entries[function]["file"])).name) for function in methods
    }
    batch_files = _batch_files(name, entries, methods) if text.batch else []
    gpu_files = _gpu_files(name, entries, methods) if GPU in text.wrap else []
    sincos_path = path / f"{name}_sincos.h"
    return Folder(
        mechanism,
        name,
        options,
        text,
        methods,
        rounds,
        sources,
        blocks={file: _text(path / file) for file in batch_files},
        # The check of the GPU files, not this reader, reports a missing file.
        device={file: _text(path / file) for file in gpu_files if (path / file).exists()},
        header=_text(path / f"{name}.h"),
        sincos=_text(sincos_path) if sincos_path.is_file() else "",
        every=every,
    )


def _program_options(real: str, chosen: Mapping[str, Any]) -> ProgramOptions:
    """Return the options that determine the Programs.

    `chosen` is the table "options" of a manifest; an option that is missing there has its default.
    """
    return ProgramOptions(
        real,
        frame=_words(chosen.get("frame")),
        payload=_word(chosen.get("payload")),
        wrench=_words(chosen.get("wrench")),
        jacobian_frame=_word(chosen.get("jacobian_frame")) or USUAL.frame,
        jacobian_order=_word(chosen.get("jacobian_order")) or USUAL.order,
        task_rows=_word(chosen.get("task_rows")),
        contact=_words(chosen.get("contact")),
        effort=_word(chosen.get("effort")) or NORMAL,
        parameters=names_of(_words(chosen.get("parameter"))),
        baumgarte=bool(chosen.get("baumgarte")),
        form=_word(chosen.get("form")) or AUTO,
    ).guarded(bool(chosen.get("checked")))


def _text_options(chosen: Mapping[str, Any]) -> TextOptions:
    """Return the options that determine the text of the C files, from the table "options" of a
    manifest.
    """
    return TextOptions(
        _word(chosen.get("trig")) or TextOptions.trig,
        checked=bool(chosen.get("checked")),
        wrap=tuple(str(word) for word in chosen.get("wrap", ())),
        target=_word(chosen.get("target")),
        batch=bool(chosen.get("batch")),
    )


def _unread_manifest(path: Path) -> str:
    """Return the reason why manifest.json cannot be read, as a clause for an error message.

    Either another version of symgen wrote the file, or symgen did not write it.
    """
    try:
        version = other_version(json.loads((path / "manifest.json").read_text(encoding="utf-8")))
    except (ValueError, AttributeError, RecursionError):
        version = ""
    if version:
        return f"symgen {version} wrote its manifest.json, which symgen {__version__} cannot read"
    return "its manifest.json is not one that symgen wrote"


def other_version(manifest: Mapping[str, Any]) -> str:
    """Return the version of symgen that wrote a folder, if it is not the running version.

    Returns "" for the running version, and for a manifest without a valid version.
    """
    version = manifest.get("symgen")
    if version == __version__ or not isinstance(version, str) or not _VERSION.fullmatch(version):
        return ""
    return printable(version, SHOWN)


def programs(folder: Folder) -> dict[str, Form]:
    """Return the Programs of the requested functions, by function, built again from the robot.

    With run-time parameters it returns the Programs of all functions in the folder. All of them
    read the values prepared from the parameters in one shared argument, whose layout they determine
    together.
    """
    mechanism, options = folder.mechanism, folder.options
    return build.with_parameters(
        {
            function: build.build_form(
                mechanism,
                function,
                None if function in PREPARING else method,
                replace(options, rounds=folder.rounds.get(function)),
            )
            for function, method in (folder.every if options.parameters else folder.methods).items()
        },
        mechanism,
        options,
    )


def _batch_files(name: str, entries: Mapping[str, Any], functions: Iterable[str]) -> list[str]:
    """Return the names of the files of the batch functions, headers first."""
    return [
        f"{name}_batch.h",
        f"{name}_lanes.h",
        *(Path(str(entries[function]["batch"])).name for function in functions),
    ]


def _gpu_files(name: str, entries: Mapping[str, Any], functions: Iterable[str]) -> list[str]:
    """Return the names of the files that a complete folder has for a GPU, headers first.

    A file may be missing in the folder; the check of the GPU files reports this.
    """
    stems = [Path(str(entries[function]["symbol"])).name for function in functions]
    return [
        f"{name}_cuda.h",
        f"{name}_sincos.cuh",
        *(f"{stem}{end}" for stem in stems for end in (".cuh", "_cuda.cu")),
    ]


def _table(value: object) -> dict[str, Any]:
    """Return `value`, which must be a nonempty table (JSON object). Raises TypeError otherwise."""
    if isinstance(value, dict) and value:
        return value
    raise TypeError


def _word(value: object) -> str | None:
    """Return `value`, which must be a string or None. Raises TypeError otherwise."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError


def _words(value: object) -> Links:
    """Return `value`, which must be None, one name or a list of names. TypeError otherwise."""
    return (
        [str(_word(name)) for name in value]
        if isinstance(value, list) and None not in value
        else _word(value)
    )


def _text(path: Path) -> str:
    """Return the text of a file as a compiler reads it.

    Each CR LF becomes LF. A CR alone stays, since it does not end a line for a C compiler. Invalid
    UTF-8 becomes U+FFFD, a character that the reader of the C text rejects.
    """
    if path.exists() and not path.is_file():
        raise DescriptionError(
            f"{path.name} is not a regular file", file=str(path.parent), hint=_HINT
        )
    if path.stat().st_size > LARGEST_FILE:
        raise DescriptionError(
            f"{path.name} is larger than {LARGEST_FILE // 10**6} MB",
            file=str(path.parent),
            hint=_HINT,
        )
    return path.read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n")


def _requested_method(request: str, methods: dict[str, str], path: Path) -> tuple[str, str]:
    """Return the function that a request FUNCTION[=METHOD] names, and its method in the folder.

    `methods` holds the method of each function in the folder. Raises ArgumentError if the request
    names another method.
    """
    name, _, method = request.partition("=")
    function = nearest(name, methods, "function in this folder")
    if method and method != methods[function]:
        raise ArgumentError(
            f"{path} holds {function} by {methods[function]}, not by {method}; verify that, or"
            " generate it again"
        )
    return function, methods[function]

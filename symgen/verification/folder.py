"""A generated folder as a subject of verification: its description, its options, and its C."""

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
"""Largest size in bytes of a file that is read."""
_HINT = "generate it again"
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
SHOWN = 60
"""Number of characters that are shown of a name from outside."""


class Folder(NamedTuple):
    """The content of a folder.

    `methods`, `rounds` (of interrupted searches) and `sources` (the C) are by function. `header` is
    its NAME.h, `sincos` its NAME_sincos.h ("" if it has none).
    """

    mechanism: Mechanism
    name: str
    options: ProgramOptions
    text: TextOptions
    methods: dict[str, str]
    rounds: dict[str, int]
    sources: dict[str, str]
    blocks: dict[str, str]
    """Files of the functions for blocks of states, by name."""
    device: dict[str, str]
    """Files of the functions for a GPU, by name."""
    header: str
    sincos: str
    every: dict[str, str]
    """Methods of all functions in the folder; they share an argument if numbers change at run time.
    """

    @property
    def files(self) -> Files:
        """Return the C of the folder."""
        return Files(self.name, self.sources, self.blocks, self.device, self.header, self.sincos)


def read_folder(path: Path, functions: Iterable[str] | None = None) -> Folder:
    """Read a folder that `symgen generate` wrote.

    `functions` (None: all) must be in it, by the requested method if one is named. Raises
    RequestError for a function that is not in the folder, DescriptionError for a folder that symgen
    did not generate.
    """
    mechanism = load(path)  # raises for a folder that symgen did not generate
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
    """Read the files that a manifest lists."""
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
    blocks = _batch_files(name, entries, methods) if text.batch else []
    device = _gpu_files(name, entries, methods) if GPU in text.wrap else []
    sincos_path = path / f"{name}_sincos.h"
    return Folder(
        mechanism,
        name,
        options,
        text,
        methods,
        rounds,
        sources,
        blocks={file: _text(path / file) for file in blocks},
        device={file: _text(path / file) for file in device if (path / file).exists()},
        header=_text(path / f"{name}.h"),
        sincos=_text(sincos_path) if sincos_path.is_file() else "",
        every=every,
    )


def _program_options(real: str, chosen: Mapping[str, Any]) -> ProgramOptions:
    """Read the options of Programs from the options in a manifest."""
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
    """Read the options of the text from the options in a manifest."""
    return TextOptions(
        _word(chosen.get("trig")) or TextOptions.trig,
        checked=bool(chosen.get("checked")),
        wrap=tuple(str(word) for word in chosen.get("wrap", ())),
        target=_word(chosen.get("target")),
        batch=bool(chosen.get("batch")),
    )


def _unread_manifest(path: Path) -> str:
    """Return why manifest.json cannot be read: another version of symgen wrote it, or it is not
    symgen's.
    """
    try:
        version = other_version(json.loads((path / "manifest.json").read_text(encoding="utf-8")))
    except (ValueError, AttributeError, RecursionError):
        version = ""
    if version:
        return f"symgen {version} wrote its manifest.json, which symgen {__version__} cannot read"
    return "its manifest.json is not one that symgen wrote"


def other_version(manifest: Mapping[str, Any]) -> str:
    """Return the version of symgen that wrote a folder, if it differs from this one; "" otherwise
    or if the manifest states none.
    """
    version = manifest.get("symgen")
    if version == __version__ or not isinstance(version, str) or not _VERSION.fullmatch(version):
        return ""
    return printable(version, SHOWN)


def programs(folder: Folder) -> dict[str, Form]:
    """Return the Programs of a folder's functions.

    If numbers change at run time, they are the Programs of all functions in the folder, which share
    an argument.
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
    """Return the files of functions for blocks of states, headers first."""
    return [
        f"{name}_batch.h",
        f"{name}_lanes.h",
        *(Path(str(entries[function]["batch"])).name for function in functions),
    ]


def _gpu_files(name: str, entries: Mapping[str, Any], functions: Iterable[str]) -> list[str]:
    """Return the files of functions for a GPU. The check reports a missing file."""
    stems = [Path(str(entries[function]["symbol"])).name for function in functions]
    return [
        f"{name}_cuda.h",
        f"{name}_sincos.cuh",
        *(f"{stem}{end}" for stem in stems for end in (".cuh", "_cuda.cu")),
    ]


def _table(value: object) -> dict[str, Any]:
    """Return a nonempty table of a manifest. Raises TypeError for any other value."""
    if isinstance(value, dict) and value:
        return value
    raise TypeError


def _word(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError


def _words(value: object) -> Links:
    """Return one name, or a list of names."""
    return (
        [str(_word(name)) for name in value]
        if isinstance(value, list) and None not in value
        else _word(value)
    )


def _text(path: Path) -> str:
    """Return the text of a file as a compiler reads it.

    A carriage return alone does not end a line for the compiler. Invalid UTF-8 becomes U+FFFD,
    which the reader rejects.
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
    """Return a requested function and its method. Raises ArgumentError if the folder has it by
    another method.
    """
    name, _, method = request.partition("=")
    function = nearest(name, methods, "function in this folder")
    if method and method != methods[function]:
        raise ArgumentError(
            f"{path} holds {function} by {methods[function]}, not by {method}; verify that, or generate it again"
        )
    return function, methods[function]

"""Folder of C: every file of `interface.md` for one robot, written whole or not at all.

`texts` makes the texts, and `symgen.delivery.atomic_replace` puts them into place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from symgen.delivery.atomic_replace import replace_folder
from symgen.delivery.cases import filled
from symgen.delivery.contents import FolderContents
from symgen.delivery.manifest import manifest
from symgen.delivery.readme import readme_context, threaded
from symgen.emission import printer, render, wrapper
from symgen.emission.adjustable import first
from symgen.emission.backend import unrolled
from symgen.emission.checks import statuses
from symgen.machine import firmware
from symgen.support.version import __version__
from symgen.vocabulary.options import GPU

FUNCTION_ENDINGS = (".h", ".hpp", ".cuh", ".cu", "_set_parameters.c", "_assemble.c")
"""Endings of files beside the functions that a folder with functions only holds."""


def write(
    folder: str | PathLike[str], contents: FolderContents, functions_only: bool = False
) -> dict[str, Any]:
    """Write the folder; return the manifest.

    An existing folder is replaced when symgen wrote it; files in it that symgen did not write are kept. With `functions_only`
    it holds the functions and their headers, nothing else, not even the manifest. Raises RequestError when something else is at
    that place, or when the disk refuses.
    """
    files = texts(contents)
    facts: dict[str, Any] = json.loads(files["manifest.json"])
    if functions_only:
        files = _functions_only(files, facts["functions"].values(), contents.text.wrap)
        facts["files"] = sorted(files)
    replace_folder(Path(folder), files, facts["robot"])
    return facts


def _functions_only(
    files: Mapping[str, str], functions: Iterable[Mapping[str, Any]], wraps: Iterable[str]
) -> dict[str, str]:
    """The functions, their headers and what wraps them."""
    sources = {entry[key] for entry in functions for key in ("file", "batch") if key in entry}
    endings = (*FUNCTION_ENDINGS, *(f"_{wrap}.c" for wrap in wraps))
    return {
        name: content
        for name, content in files.items()
        if name in sources or name.endswith(endings)
    }


def texts(contents: FolderContents) -> dict[str, str]:
    """Every file of the folder by name. The same contents give the same texts."""
    from symgen.description.canonical import to_toml

    target, programs, text = contents.target, contents.programs, contents.text
    facts = manifest(contents)
    sources = _sources(contents)
    files = dict(sources.texts)
    files[f"{target.name}.toml"] = to_toml(contents.mechanism)
    common = _common_context(contents, facts["real"])
    files[f"{target.name}_selftest.c"] = _render("selftest.c.j2", common, _selftest(contents))
    files["CMakeLists.txt"] = _render("CMakeLists.txt.j2", common, _build(contents, sources))
    own_sines = {"own_sines": target.sincos in files}
    files["README.md"] = _render(
        "README.md.j2", common, readme_context(contents, facts) | own_sines
    )
    if text.target is not None:
        files |= firmware.texts(target, text.target, programs)
    facts["files"] = sorted([*files, "manifest.json"])
    files["manifest.json"] = json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return files


def _render(template: str, common: Mapping[str, Any], context: Mapping[str, Any]) -> str:
    """Fill one template of the C's language; no name is in both contexts."""
    return render(printer().name, template, **common, **context)


def _common_context(contents: FolderContents, real: str) -> dict[str, Any]:
    """Names that the templates of self-test, build and README share."""
    wraps, target = contents.text.wrap, contents.target
    return target.context | {
        "real": real,
        "cpp": "cpp17" in wraps,
        "casadi": "casadi" in wraps,
        "cuda": GPU in wraps,
        "at_rates": target.rates,
        "statuses": statuses(contents.programs.values(), target),
    }


def _selftest(contents: FolderContents) -> dict[str, Any]:
    """Names of the template of the self-test."""
    tests = filled(contents.programs, contents.target, list(contents.cases))
    return tests | {"adjustable": first(contents.parameters)}


# -- sources and their build --


@dataclass
class _Sources:
    """Texts of the functions and of what wraps them, and the lists that CMake builds them from."""

    texts: dict[str, str]
    compiled: list[str]
    headers: list[str]
    shared: list[dict[str, str]] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)

    def add_wrapper(self, library: str, texts: Mapping[str, str]) -> None:
        """Add the files of a wrapper; each of its C files becomes a shared library."""
        self.texts |= texts
        self.headers += [file for file in texts if not file.endswith((".c", ".cu"))]
        self.kernels += [file for file in texts if file.endswith(".cu")]
        self.shared += [{"name": library, "file": file} for file in texts if file.endswith(".c")]


def _sources(contents: FolderContents) -> _Sources:
    """Print the functions, the driver of their loops, the setter of their parameters, and the wrappers."""
    programs, target, floors = contents.programs, contents.target, contents.floors
    backend = printer()
    functions = backend.texts(programs, target, floors=floors)
    setter = (
        backend.adjustable(contents.parameters, unrolled(programs), target)
        if contents.parameters
        else {}
    )
    beside = [*setter, *backend.assembling(programs, target)]  # the driver is among `functions`
    batch_header = [target.batch] if target.text.batch else []
    sources = _Sources(
        functions | setter,
        [target.file(name) for name in programs] + [f for f in beside if f.endswith(".c")],
        [target.header, *batch_header, *(f for f in beside if f.endswith(".h"))],
    )
    for wrap in contents.text.wrap:
        language = wrapper(wrap)
        wrapped = programs if language.loops else unrolled(programs)
        sources.add_wrapper(f"{target.name}_{wrap}", language.files(wrapped, target, floors))
    return sources


def _build(contents: FolderContents, sources: _Sources) -> dict[str, Any]:
    """Names of the template of CMakeLists.txt."""
    programs, target, backend = contents.programs, contents.target, printer()
    blocks = {name: target.file_of_many(name) for name in programs if target.text.batch}
    return {
        **firmware.measured_flags(contents.text.target),
        "release": ".".join(re.findall(r"\d+", __version__)[:3]),  # CMake takes numbers only
        "files": sources.compiled + list(blocks.values()),
        "blocks": list(blocks.values()),
        "long": [file for name, file in blocks.items() if backend.is_cut(programs[name])],
        "headers": sources.headers,
        "shared": sources.shared,
        "kernels": sources.kernels,
        "unscheduled": [
            target.file(name) for name, form in programs.items() if backend.unscheduled(form)
        ],
        "threaded": threaded(programs),
    }

"""A program that expands one xacro text by the package `xacro`: JSON in at stdin, JSON out at stdout.

A xacro file is a program. It runs in a process of its own, so that one that never ends can be ended, one that takes all memory
takes its own, and what the package keeps in its module between calls is kept for nobody.

    in:  text, file (its path, "" where it has none), arguments {name: value}, packages {name: folder}, memory (bytes), path
    out: text, used [names of arguments that the macros asked for], warnings [text]
         or what, hint, file, line (None where it is not known)

`$(find name)` gives `packages` first, then a package below ROS_PACKAGE_PATH, then AMENT_PREFIX_PATH, then a folder above the
file. In the text it stands as package://name, so that the same robot reads the same wherever it lies.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

MOST_FOLDERS = 100_000
"""Folders of ROS_PACKAGE_PATH that are looked into for one package."""
_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")
_DECLARE = 'declare xmlns:xacro="http://www.ros.org/wiki/xacro" at its root'
_NAMED = re.compile(
    r"when evaluating expression '([^']*)'|unknown macro name: (\S+)|Invalid parameter \"([^\"]*)\""
)


class NoPackage(Exception):
    """A package that is nowhere, by its name."""


class Arguments(dict[str, str]):
    """Values of arguments by name, which remembers what it was asked for."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.used: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.used.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.used.add(name)
        return super().__getitem__(name)


class Packages:
    """Where packages lie. Each is looked for once."""

    def __init__(self, given: dict[str, str], file: str) -> None:
        self.found, self._file = (
            {name: os.path.abspath(folder) for name, folder in given.items()},
            file,
        )

    def folder(self, name: str) -> str:
        """The folder of a package. NoPackage where there is none."""
        if name not in self.found:
            self.found[name] = self._below(name) or self._installed(name) or self._above(name)
        if not self.found[name]:
            raise NoPackage(name)
        return self.found[name]

    @staticmethod
    def _below(name: str) -> str:
        left = MOST_FOLDERS
        for root in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
            for folder, inside, files in os.walk(root):
                left -= 1
                if left < 0:
                    return ""
                inside[:] = sorted(one for one in inside if not one.startswith("."))
                if "package.xml" in files or "manifest.xml" in files:
                    inside.clear()  # no package lies in another
                    if _name(Path(folder)) == name:
                        return os.path.abspath(folder)
        return ""

    @staticmethod
    def _installed(name: str) -> str:
        for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
            folder = Path(prefix) / "share" / name
            if folder.is_dir():
                return str(folder.absolute())
        return ""

    def _above(self, name: str) -> str:
        for folder in Path(self._file).absolute().parents if self._file else ():
            if folder.name == name or _name(folder) == name:
                return str(folder)
        return ""


def _name(folder: Path) -> str:
    """What a folder calls itself as a package; the name of the folder where its manifest does not say, "" where it has none."""
    for manifest in ("package.xml", "manifest.xml"):
        if (folder / manifest).is_file():
            with contextlib.suppress(OSError):
                found = _NAME.search(
                    (folder / manifest).read_text(encoding="utf-8", errors="replace")
                )
                return found[1] if found and manifest == "package.xml" else folder.name
    return ""


def expanded(asked: dict[str, Any]) -> dict[str, Any]:
    """See the module's docstring."""
    import xacro
    from xacro import substitution_args

    packages, arguments = Packages(asked["packages"], asked["file"]), Arguments(asked["arguments"])
    substitution_args._eval_find = packages.folder
    substitution_args._eval_dict["find"] = packages.folder
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            xacro.init_stacks(asked["file"] or None)
            document = xacro.parse(asked["text"])
            xacro.process_doc(document, mappings=arguments, verbosity=0)
            text = document.toprettyxml(indent="  ")
    except (Exception, MemoryError) as error:
        macros = [macro.history[-1][-1] for macro in xacro.macrostack or ()]
        return _fault(error, [*macros[-1:], (xacro.filestack or [None])[-1]], asked["text"])
    for name, folder in sorted(packages.found.items(), key=lambda one: -len(one[1])):
        if len(folder) > 1:
            text = re.sub(re.escape(folder) + r"(?=[/\"])", f"package://{name}", text)
    warnings = [
        line.removeprefix("warning: ")
        for line in said.getvalue().splitlines()
        if line.startswith("warning: ")
    ]
    return {"text": text, "used": sorted(arguments.used), "warnings": warnings}


def _fault(error: BaseException, files: list[str | None], text: str) -> dict[str, Any]:
    """What the package, or its XML parser, has to say. `files`: of the macro that was at work, and the one that was read; None is
    `text` itself.
    """
    inner, said = (
        getattr(error, "exc", None),
        " ".join(str(error).replace(" (<expression>, line 1)", "").split()),
    )
    found = {
        "what": said or type(error).__name__,
        "hint": "correct the macros",
        "file": files[0] or "",
        "line": None,
    }
    if isinstance(inner, NoPackage):
        return {
            **found,
            "what": f"the ROS package '{inner}' is not found",
            "hint": f"name its folder: --package {inner}=FOLDER",
        }
    if type(inner).__name__ == "ArgException":
        return {
            **found,
            "what": f"its argument '{inner}' has no value",
            "hint": f"give one: --xacro {inner}:=VALUE",
        }
    if isinstance(error, ExpatError):
        what = re.sub(r": line \d+, column \d+$", "", said)
        hint = _DECLARE if what == "unbound prefix" else "correct the XML"
        return {
            **found,
            "what": f"not well-formed XML: {what}",
            "hint": hint,
            "file": files[-1] or "",
            "line": error.lineno,
        }
    if isinstance(error, RecursionError):
        return {**found, "what": "its macros call each other without end"}
    named = _NAMED.search(said)
    piece = next(filter(None, named.groups()), "") if named else ""
    for file in files:
        line = _line(piece, file, text)
        if line is not None:
            return {**found, "file": file or "", "line": line}
    return found


def _line(piece: str, file: str | None, text: str) -> int | None:
    """Where in a file the expression or macro stands that a message names. The package itself knows no lines."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        source = Path(file).read_text(encoding="utf-8") if file else text
        if piece and source.count(piece) == 1:
            return source.count("\n", 0, source.index(piece)) + 1
    return None


def main() -> None:
    """The exchange with whoever started this."""
    asked = json.load(sys.stdin)
    sys.path[:] = asked["path"]
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (asked["memory"],) * 2)
    answer = json.dumps(expanded(asked))
    sys.stdout.write(answer)


if __name__ == "__main__":
    main()

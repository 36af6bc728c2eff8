"""A program that expands one xacro text with the package `xacro`: JSON in at stdin, JSON out at
stdout.

A xacro file is a program. It runs in a separate process, so that one that never ends can be
stopped, memory is limited, and the state that the package keeps in its module is discarded.

    in:  text, file (its path, "" for a text), arguments {name: value}, packages {name: folder},
         memory (bytes), path
    out: text, used [names of arguments that the macros use], warnings [text]
         or what, hint, file, line (None if it is not known)

`$(find name)` searches `packages`, then ROS_PACKAGE_PATH, then AMENT_PREFIX_PATH, then the folders
above the file. The expanded text has package://name instead of the folder, so that the result does
not depend on the location of the robot.
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
"""Largest number of folders of ROS_PACKAGE_PATH that are searched for one package."""
_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")
_DECLARE = 'declare xmlns:xacro="http://www.ros.org/wiki/xacro" at its root'
_NAMED = re.compile(
    r"when evaluating expression '([^']*)'|unknown macro name: (\S+)|Invalid parameter \"([^\"]*)\""
)


class NoPackage(Exception):
    """A package that was not found, by its name."""


class Arguments(dict[str, str]):
    """Values of arguments by name; records which names were used."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.used: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.used.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.used.add(name)
        return super().__getitem__(name)


class Packages:
    """Folders of packages. Each package is searched once."""

    def __init__(self, folders: dict[str, str], file: str) -> None:
        self.folders, self._file = (
            {name: os.path.abspath(folder) for name, folder in folders.items()},
            file,
        )

    def folder(self, name: str) -> str:
        """Return the folder of a package. Raises NoPackage if there is none."""
        if name not in self.folders:
            self.folders[name] = (
                self._folder_in_package_path(name)
                or self._installed(name)
                or self._folder_above_file(name)
            )
        if not self.folders[name]:
            raise NoPackage(name)
        return self.folders[name]

    @staticmethod
    def _folder_in_package_path(name: str) -> str:
        """Return the folder of a package below ROS_PACKAGE_PATH; "" if it is not there."""
        remaining = MOST_FOLDERS
        for root in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
            for folder, inside, files in os.walk(root):
                remaining -= 1
                if remaining < 0:
                    return ""
                inside[:] = sorted(child for child in inside if not child.startswith("."))
                if "package.xml" in files or "manifest.xml" in files:
                    inside.clear()  # packages are not nested
                    if _package_name(Path(folder)) == name:
                        return os.path.abspath(folder)
        return ""

    @staticmethod
    def _installed(name: str) -> str:
        """Return the folder of a package below AMENT_PREFIX_PATH; "" if it is not there."""
        for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
            folder = Path(prefix) / "share" / name
            if folder.is_dir():
                return str(folder.absolute())
        return ""

    def _folder_above_file(self, name: str) -> str:
        """Return the folder of a package above the file; "" if it is not there."""
        for folder in Path(self._file).absolute().parents if self._file else ():
            if folder.name == name or _package_name(folder) == name:
                return str(folder)
        return ""


def _package_name(folder: Path) -> str:
    """Return the name that a package folder declares; the name of the folder if its manifest has
    none, "" without a manifest.
    """
    for manifest in ("package.xml", "manifest.xml"):
        if (folder / manifest).is_file():
            with contextlib.suppress(OSError):
                match = _NAME.search(
                    (folder / manifest).read_text(encoding="utf-8", errors="replace")
                )
                return match[1] if match and manifest == "package.xml" else folder.name
    return ""


def answer_request(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, in the form that the module describes."""
    import xacro
    from xacro import substitution_args

    packages, arguments = (
        Packages(request["packages"], request["file"]),
        Arguments(request["arguments"]),
    )
    substitution_args._eval_find = packages.folder
    substitution_args._eval_dict["find"] = packages.folder
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            xacro.init_stacks(request["file"] or None)
            document = xacro.parse(request["text"])
            xacro.process_doc(document, mappings=arguments, verbosity=0)
            text = document.toprettyxml(indent="  ")
    except (Exception, MemoryError) as error:
        macros = [macro.history[-1][-1] for macro in xacro.macrostack]
        return _fault(error, [*macros[-1:], xacro.filestack[-1]], request["text"])
    for name, folder in sorted(packages.folders.items(), key=lambda item: -len(item[1])):
        if len(folder) > 1:
            text = re.sub(re.escape(folder) + r"(?=[/\"])", f"package://{name}", text)
    warnings = [
        line.removeprefix("warning: ")
        for line in output.getvalue().splitlines()
        if line.startswith("warning: ")
    ]
    return {"text": text, "used": sorted(arguments.used), "warnings": warnings}


def _fault(error: BaseException, files: list[str | None], text: str) -> dict[str, Any]:
    """Return the error of the package or of its XML parser.

    `files` has the file of the active macro and the file that was read; None is `text` itself.
    """
    cause, message = (
        getattr(error, "exc", None),
        " ".join(str(error).replace(" (<expression>, line 1)", "").split()),
    )
    fault = {
        "what": message or type(error).__name__,
        "hint": "correct the macros",
        "file": files[0] or "",
        "line": None,
    }
    if isinstance(cause, NoPackage):
        return {
            **fault,
            "what": f"the ROS package '{cause}' is not found",
            "hint": f"name its folder: --package {cause}=FOLDER",
        }
    if type(cause).__name__ == "ArgException":
        return {
            **fault,
            "what": f"its argument '{cause}' has no value",
            "hint": f"give one: --xacro {cause}:=VALUE",
        }
    if isinstance(error, ExpatError):
        reason = re.sub(r": line \d+, column \d+$", "", message)
        hint = _DECLARE if reason == "unbound prefix" else "correct the XML"
        return {
            **fault,
            "what": f"not well-formed XML: {reason}",
            "hint": hint,
            "file": files[-1] or "",
            "line": error.lineno,
        }
    if isinstance(error, RecursionError):
        return {**fault, "what": "its macros call each other without end"}
    match = _NAMED.search(message)
    excerpt = next(filter(None, match.groups()), "") if match else ""
    for file in files:
        line = _line(excerpt, file, text)
        if line is not None:
            return {**fault, "file": file or "", "line": line}
    return fault


def _line(excerpt: str, file: str | None, text: str) -> int | None:
    """Return the line of an expression or macro that a message names. The package does not provide
    lines.
    """
    with contextlib.suppress(OSError, UnicodeDecodeError):
        source = Path(file).read_text(encoding="utf-8") if file else text
        if excerpt and source.count(excerpt) == 1:
            return source.count("\n", 0, source.index(excerpt)) + 1
    return None


def main() -> None:
    """Answer the request on stdin."""
    request = json.load(sys.stdin)
    sys.path[:] = request["path"]
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (request["memory"],) * 2)
    answer = json.dumps(answer_request(request))
    sys.stdout.write(answer)


if __name__ == "__main__":
    main()

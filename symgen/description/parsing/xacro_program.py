"""Program that expands one xacro text with the package `xacro`. It reads a JSON object from stdin
and writes a JSON object to stdout.

A xacro file can contain loops and recursive macros. So it is expanded in a separate process, which
can be stopped and whose memory is limited. The global state of the package `xacro` ends with the
process.

    request: text, file (path of the text, "" without a file), arguments {name: value},
             packages {name: folder}, memory (limit in bytes), path (sys.path)
    answer:  text (expanded), used [names of the arguments that the macros use], warnings [text]
    failure: what (the fault), hint (the remedy), file, line (None if unknown)

`$(find name)` searches `packages`, then ROS_PACKAGE_PATH, then AMENT_PREFIX_PATH, then the parent
folders of the file. In the expanded text, package://name replaces the folder, so that the result
does not depend on the location of the robot.
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
_PACKAGE_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")
_DECLARE_PREFIX = 'declare xmlns:xacro="http://www.ros.org/wiki/xacro" at its root'
_EXCERPT = re.compile(
    r"when evaluating expression '([^']*)'|unknown macro name: (\S+)|Invalid parameter \"([^\"]*)\""
)
"""Messages of the package that quote an expression or a name of the text."""


class NoPackage(Exception):
    """The ROS package of this name is not found."""


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
    """Folders of ROS packages by name. Each package is searched at most once."""

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
                or self._installed_folder(name)
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
            for folder, subfolders, files in os.walk(root):
                remaining -= 1
                if remaining < 0:
                    return ""
                subfolders[:] = sorted(child for child in subfolders if not child.startswith("."))
                if "package.xml" in files or "manifest.xml" in files:
                    subfolders.clear()  # packages are not nested
                    if _package_name(Path(folder)) == name:
                        return os.path.abspath(folder)
        return ""

    @staticmethod
    def _installed_folder(name: str) -> str:
        """Return the folder of a package below AMENT_PREFIX_PATH; "" if it is not there."""
        for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
            folder = Path(prefix) / "share" / name
            if folder.is_dir():
                return str(folder.absolute())
        return ""

    def _folder_above_file(self, name: str) -> str:
        """Return the parent folder of the file that is the package; "" if there is none."""
        for folder in Path(self._file).absolute().parents if self._file else ():
            if folder.name == name or _package_name(folder) == name:
                return str(folder)
        return ""


def _package_name(folder: Path) -> str:
    """Return the name in package.xml, else the name of the folder; "" if the folder has neither
    package.xml nor manifest.xml, so that it is no package.
    """
    for manifest in ("package.xml", "manifest.xml"):
        if (folder / manifest).is_file():
            with contextlib.suppress(OSError):
                match = _PACKAGE_NAME.search(
                    (folder / manifest).read_text(encoding="utf-8", errors="replace")
                )
                return match[1] if match and manifest == "package.xml" else folder.name
    return ""


def answer_request(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, or a failure, in the form that the module describes."""
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
    """Return the failure for an error of the package `xacro` or of its XML parser.

    `files` are the file of the active macro, if any, and the file that is read. None denotes
    `text`.
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
        hint = _DECLARE_PREFIX if reason == "unbound prefix" else "correct the XML"
        return {
            **fault,
            "what": f"not well-formed XML: {reason}",
            "hint": hint,
            "file": files[-1] or "",
            "line": error.lineno,
        }
    if isinstance(error, RecursionError):
        return {**fault, "what": "its macros call each other without end"}
    match = _EXCERPT.search(message)
    excerpt = next(filter(None, match.groups()), "") if match else ""
    for file in files:
        line = _line(excerpt, file, text)
        if line is not None:
            return {**fault, "file": file or "", "line": line}
    return fault


def _line(excerpt: str, file: str | None, text: str) -> int | None:
    """Return the line that contains the excerpt, if exactly one does. The package `xacro` reports
    no line numbers.
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

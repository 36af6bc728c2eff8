"""xacro: macros of a URDF, expanded by the package `xacro` (the extra symgen[xacro]) in a separate
process.
"""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from symgen.description.asking import FileOptions
from symgen.description.parsing.xml import is_xacro, tag
from symgen.description.quantities import Location, quote
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError

SECONDS = 60
"""Time limit in s for the macros of one file. Those of a humanoid take two."""
MEMORY = 2 << 30
_PROGRAM = Path(__file__).with_name("xacro_program.py")


_WORDS = {
    "arg",
    "attribute",
    "call",
    "element",
    "if",
    "include",
    "insert_block",
    "macro",
    "property",
    "unless",
}
"""Elements of xacro itself. Any other xacro element calls the macro of its name."""


def undefined_calls(root: Any) -> list[Any]:
    """Return the elements that call macros which the text does not define; none if an included file
    may define them.

    A finished URDF has such calls if an earlier expansion did not know their macros.
    """
    names = {
        element: tag(element).rpartition(":")[2] for element in root.iter("*") if is_xacro(element)
    }
    if "include" in names.values():
        return []
    defined = {
        element.get("name", "").removeprefix("xacro:")
        for element, name in names.items()
        if name == "macro"
    }
    return [
        element for element, name in names.items() if name not in _WORDS and name not in defined
    ]


class Macros(Exception):
    """A reader has found macros that can be expanded."""


def available() -> bool:
    """True if the package xacro is installed."""
    try:
        return find_spec("xacro") is not None
    except ValueError:  # a module of that name is loaded without a specification
        return False


def expansion_error(location: Location) -> DescriptionError:
    """Return the error for macros if the package xacro is not installed."""
    out = location.file.rpartition("/")[2].partition(".")[0] or "robot"
    return location.error(
        "it contains xacro macros, which must be expanded first",
        f"run: xacro {location.file} -o {out}.expanded.urdf, or pip install 'symgen[xacro]'",
    )


def expand_macros(text: str, file: str, options: FileOptions) -> tuple[str, list[Note]]:
    """Return the URDF that the macros of `text` produce, and the warnings of the package. `file` is
    its path, or '<text>'.

    Raises DescriptionError, which names the file at fault, and the line if it is known.
    """
    location = Location(file)
    request = {
        "text": text,
        "file": file if Path(file).is_file() else "",
        "arguments": dict(options.xacro),
        "packages": dict(options.packages),
        "memory": MEMORY,
        "path": sys.path,
    }
    try:
        process = subprocess.run(
            [sys.executable, "-P", str(_PROGRAM)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise location.error(
            f"its macros take more than {SECONDS} s", "expand them with xacro"
        ) from None
    except OSError as error:
        raise location.error(
            f"Python cannot be started to expand its macros ({error.strerror})",
            "expand them with xacro",
        ) from None
    try:
        answer = json.loads(process.stdout)
    except ValueError:
        raise location.error(
            "the package xacro ended without a result for its macros", "expand them with xacro"
        ) from None
    if "what" in answer:
        location_of_fault = Location(answer["file"] or file, answer["line"])
        raise location_of_fault.error(f"xacro: {quote(answer['what'], 200)[1:-1]}", answer["hint"])
    _refuse_unused(options, answer["used"], location)
    return answer["text"], [Note("info", f"xacro: {line}") for line in answer["warnings"]]


def _refuse_unused(options: FileOptions, used: list[str], location: Location) -> None:
    """Raise DescriptionError for an argument that the macros do not use."""
    for name in options.xacro:
        if name not in used:
            close = difflib.get_close_matches(name, used)
            hint = (
                f"did you mean {quote(close[0])}?"
                if close
                else f"its arguments are: {', '.join(used) or 'none'}"
            )
            raise location.error(f"its macros use no argument {quote(name)}", hint)

"""xacro: macros of a URDF, expanded by the package `xacro` (the extra symgen[xacro]) in a process of its own."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from symgen.description.asking import Asked
from symgen.description.parsing.xml import is_xacro, tag
from symgen.description.quantities import Place, shown
from symgen.mechanism.mechanism import Note
from symgen.support.errors import DescriptionError

SECONDS = 60
"""That the macros of one file may take. A humanoid's take two."""
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
    """Return the elements that call macros which the text does not define; none where an included file may define them.

    A finished URDF has such calls where an earlier expansion did not know their macros.
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
    """A reader has come upon macros that could be expanded."""


def available() -> bool:
    """Whether the extra is installed."""
    try:
        return find_spec("xacro") is not None
    except ValueError:  # what stands under that name says of itself that it is not to be found
        return False


def unexpanded(place: Place) -> DescriptionError:
    """What to say of macros where the extra is not there."""
    out = place.file.rsplit("/", 1)[-1].split(".")[0] or "robot"
    return place.error(
        "it holds xacro macros, which must be expanded first",
        f"run: xacro {place.file} -o {out}.expanded.urdf, or pip install 'symgen[xacro]'",
    )


def expanded(text: str, file: str, asked: Asked) -> tuple[str, list[Note]]:
    """The URDF that `text` is the program of, and what the package warns of. `file` is its path; '<text>' is none.

    DescriptionError names the file at fault, and the line where that can be told.
    """
    place = Place(file)
    question = {
        "text": text,
        "file": file if Path(file).is_file() else "",
        "arguments": dict(asked.xacro),
        "packages": dict(asked.packages),
        "memory": MEMORY,
        "path": sys.path,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(_PROGRAM)],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise place.error(
            f"its macros take more than {SECONDS} s", "expand them yourself by xacro"
        ) from None
    except OSError as error:
        raise place.error(
            f"Python cannot be started to expand its macros ({error.strerror})",
            "expand them by xacro",
        ) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise place.error(
            "the package xacro came to no end with its macros", "expand them yourself by xacro"
        ) from None
    if "what" in answer:
        at = Place(answer["file"] or file, answer["line"])
        raise at.error(f"xacro: {shown(answer['what'], 200)[1:-1]}", answer["hint"])
    _refuse_unused(asked, answer["used"], place)
    return answer["text"], [Note("info", f"xacro: {line}") for line in answer["warnings"]]


def _refuse_unused(asked: Asked, used: list[str], place: Place) -> None:
    for name in asked.xacro:
        if name not in used:
            close = difflib.get_close_matches(name, used, n=1, cutoff=0.6)
            hint = (
                f"did you mean {shown(close[0])}?"
                if close
                else f"it asks for: {', '.join(used) or 'none'}"
            )
            raise place.error(f"its macros ask for no argument {shown(name)}", hint)

"""Layouts of the built-in robots: `python -m tests.layouts --write` searches and records them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import symgen
from symgen.pipeline import layout
from tests.shared.robots_for_tests import OPEN

COMMITTED = Path(layout.__file__).with_suffix(".json")


def text() -> str:
    """Search the layouts of all built-in robots; return them as JSON, one line per robot."""
    layouts_by_robot = {}
    for name in OPEN:
        mechanism = symgen.load(name)
        layouts_by_robot[mechanism.content] = layout.layouts_to_plain(layout.search(mechanism))
    lines = [
        f"  {json.dumps(key)}: {json.dumps(value)}"
        for key, value in sorted(layouts_by_robot.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        COMMITTED.write_text(text(), encoding="utf-8")
    else:
        print(text(), end="")

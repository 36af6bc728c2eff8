"""The layouts of the built-in robots, found anew: `python -m tests.layouts --write` puts them where symgen looks them up."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import symgen
from symgen.pipeline import layout
from tests.shared.robots_for_tests import OPEN

COMMITTED = Path(layout.__file__).with_suffix(".json")


def text() -> str:
    """A line a robot."""
    found = {}
    for name in OPEN:
        mechanism = symgen.load(name)
        found[mechanism.content] = layout.layouts_to_plain(layout.search(mechanism))
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(found.items())]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        COMMITTED.write_text(text(), encoding="utf-8")
    else:
        print(text(), end="")

"""symgen's own TOML: the whole mechanism, in the form of the canonical description."""

from __future__ import annotations

from symgen.description.canonical import to_toml
from symgen.description.writers._written import Written, title
from symgen.mechanism.mechanism import Mechanism

NAME = "toml"
SUFFIXES = (".toml",)
_HASH_KEYS = ("source_sha256 = ", "text_sha256 = ")
"""Keys by which a generated folder detects an edited description. A converted file is meant to be
edited.
"""


def write(mechanism: Mechanism) -> Written:
    """Return the canonical description without its hashes. Nothing is left out."""
    _, *lines = to_toml(mechanism).splitlines()
    head = [
        f"# {title(mechanism)}",
        "# Rotations snapped, fixed and locked joints lumped, every number exact.",
    ]
    top = lines.index("[base]")
    top_lines = [line for line in lines[:top] if not line.startswith(_HASH_KEYS)]
    return Written("\n".join([*head, *top_lines, *lines[top:]]) + "\n")

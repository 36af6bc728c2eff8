"""What a user may say of a file besides its name, for formats that leave something open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True)
class Asked:
    """`model`: which of several in a file. `xacro`: the arguments of its macros. `packages`: name -> folder of a ROS package."""

    model: str | None = None
    xacro: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def given(self) -> list[str]:
        """The names of what was said."""
        return [one.name for one in fields(self) if getattr(self, one.name)]


NOTHING = Asked()
"""Of a format that leaves nothing open."""
FLAGS = {"model": "--model", "xacro": "--xacro", "packages": "--package"}
"""What they are called on the command line."""

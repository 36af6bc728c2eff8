"""What a user may say of a file besides its name, for formats that leave something open."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from symgen.description.quantities import shown
from symgen.support.errors import ArgumentError


@dataclass(frozen=True)
class Asked:
    """`model`: which of several in a file. `xacro`: the arguments of its macros. `packages`: name -> folder of a ROS package.

    `floating`: True if root links are to move freely (--base free). Every format may hear that.
    """

    model: str | None = None
    xacro: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    floating: bool = False

    @property
    def given(self) -> list[str]:
        """The names of what was said of this file alone."""
        return [name for name in FLAGS if getattr(self, name)]


NOTHING = Asked()
"""Of a format that leaves nothing open."""
FLAGS = {"model": "--model", "xacro": "--xacro", "packages": "--package"}
"""What they are called on the command line."""


def refuse_unheard(asked: Asked, heard: Collection[str], file: str) -> None:
    """ArgumentError for what was said of a file to which only the fields `heard` mean something."""
    for name in asked.given:
        if name not in heard:
            raise ArgumentError(
                f"{FLAGS[name]} says nothing of a file such as {shown(file)}; leave it out"
            )

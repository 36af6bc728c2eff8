"""Options of a file besides its name, for formats that leave something open."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from symgen.description.quantities import quote
from symgen.support.errors import ArgumentError


@dataclass(frozen=True)
class FileOptions:
    """Options that some formats take.

    `model`: name of one of several models in a file. `xacro`: arguments of its macros. `packages`:
    folders of ROS packages, by name. `floating`: True if root links get a free joint (--base free);
    every format may use it.
    """

    model: str | None = None
    xacro: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    floating: bool = False

    @property
    def set_names(self) -> list[str]:
        """Names of the options that are set and belong to this file only."""
        return [name for name in FLAGS if getattr(self, name)]


NO_OPTIONS = FileOptions()
"""Options of a format that takes none."""
FLAGS = {"model": "--model", "xacro": "--xacro", "packages": "--package"}
"""Names of the options on the command line."""


def refuse_unused_options(options: FileOptions, accepted: Collection[str], file: str) -> None:
    """Raise ArgumentError for an option that is set but not among the `accepted` ones of this
    format.
    """
    for name in options.set_names:
        if name not in accepted:
            raise ArgumentError(
                f"{FLAGS[name]} has no meaning for a file such as {quote(file)}; leave it out"
            )

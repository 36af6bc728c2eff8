"""`symgen robots`: the built-in robots, one a line."""

from __future__ import annotations

from argparse import Namespace

from symgen.cli.commands import Parser

SUMMARY = "the built-in robots, one a line"


def arguments(parser: Parser) -> None:
    """None but --help."""


def run(options: Namespace) -> int:
    """Name and what it is."""
    from symgen.description.loading import builtin_robots

    for name, what in builtin_robots().items():
        print(f"{name:<20}{what}")
    return 0

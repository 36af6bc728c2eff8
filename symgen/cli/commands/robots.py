"""`symgen robots`: list the built-in robots."""

from __future__ import annotations

from argparse import Namespace

from symgen.cli.commands import Parser

SUMMARY = "list the built-in robots"


def arguments(parser: Parser) -> None:
    """Add no options."""


def run(options: Namespace) -> int:
    """Print the name and the description of each robot."""
    from symgen.description.loading import builtin_robots

    for name, description in builtin_robots().items():
        print(f"{name:<20}{description}")
    return 0

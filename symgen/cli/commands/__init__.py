"""What a user does at the command line, one command a file.

A command module declares

    SUMMARY: str                              # one line for `symgen --help`
    def arguments(parser: Parser) -> None     # its options
    def run(options: Namespace) -> int        # its exit code: 0 done, 1 the answer is no

and raises SymgenError for what cannot be carried out, Unfulfilled for a part of it. What commands share stands in `_sharing.py`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from symgen.support.errors import RequestError, SymgenError
from symgen.vocabulary.names import nearest

NAMES = (
    "robots",
    "show",
    "generate",
    "verify",
    "prove",
    "inspect",
    "convert",
    "compare",
    "bench",
    "cost",
    "report",
    "reproduce",
)
"""In the order in which a newcomer meets them."""

_NUMBER = re.compile(r"-[0-9.]")


class Unfulfilled(SymgenError):
    """The work is done except for a part, or its result is refused: exit code 1. Names the part and the reason."""


def find(name: str) -> Any:
    """The module of a command; RequestError suggests the nearest name."""
    return import_module(f"{__name__}.{nearest(name, NAMES, 'command')}")


def how_much(parser: Parser) -> None:
    """-q and -v, which every command has."""
    said = parser.add_argument_group("how much is said").add_mutually_exclusive_group()
    said.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="errors only: no notes, no warnings, no progress, no account of what was written",
    )
    said.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also the time of every step, the methods and why, the caches",
    )


class Parser(argparse.ArgumentParser):
    """argparse that answers a mistake with one sentence, suggests the nearest option and takes values such as -9.81,0,0."""

    def __init__(self, **settings: Any) -> None:
        if sys.version_info >= (3, 14):
            settings["color"] = (
                False  # from there on argparse colours its help; nothing here is coloured, NO_COLOR or not
            )
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **settings
        )

    def error(self, message: str) -> NoReturn:
        raise RequestError(
            f"{self.prog.removeprefix('symgen ')}: {message}; see '{self.prog} --help'"
        )

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """The parsed options; RequestError for what the command does not know, SystemExit(0) after --help."""
        self._check_options(words)
        options, rest = self.parse_known_intermixed_args(self._joined(words))
        if rest:
            self.error(f"'{rest[0]}' is one argument too many")
        return options

    def _check_options(self, words: Sequence[str]) -> None:
        known = sorted(self._option_string_actions)
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                return
            if name.startswith("--") and name not in known:
                nearest(
                    name,
                    [option for option in known if option.startswith("--")],
                    f"option of '{self.prog}'",
                )

    def _joined(self, words: Sequence[str]) -> list[str]:
        """`--gravity -9.81,0,0` as `--gravity=-9.81,0,0`: argparse takes a value that starts with a minus for an option."""
        joined: list[str] = []
        for word in words:
            action = self._option_string_actions.get(joined[-1]) if joined else None
            if (
                action is not None
                and action.nargs is None
                and joined[-1].startswith("--")
                and _NUMBER.match(word)
            ):
                joined[-1] += f"={word}"
            else:
                joined.append(word)
        return joined

"""Commands of the command line, one a file, and their parser.

A command module declares

    SUMMARY: str                              # one line for `symgen --help`
    EPILOG: str                               # optional: text below its options, such as examples
    def arguments(parser: Parser) -> None     # its options
    def run(options: Namespace) -> int        # its exit code: 0 done, 1 the answer is no

It raises SymgenError for a request that cannot be carried out, and Unfulfilled for a part of one.
Commands share `_sharing.py`.
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

TASKS = {
    "read a robot": ("robots", "show", "convert"),
    "generate and check C": ("generate", "verify", "prove"),
    "understand and compare": ("inspect", "derive", "compare", "report"),
    "measure": ("bench", "cost", "reproduce"),
    "shell": ("completion",),
}
"""Task -> the commands that serve it, in the order of `symgen --help`."""
NAMES = tuple(name for names in TASKS.values() for name in names)

FILE, ROBOT, FUNCTIONS, FRAMES, CODE, MESSAGES = OPTION_GROUPS = (
    "finding the file",
    "reading the robot",
    "functions and their arguments",
    "frames and task rows",
    "form and text of the code",
    "messages",
)
"""Titles of the groups of options, in the order of `symgen COMMAND --help`, after the command's own
options.
"""

_NUMBER = re.compile(r"-[0-9.]")


class Unfulfilled(SymgenError):
    """Work that is done except for a part, or whose result is refused: exit code 1. Names the part
    and the reason.
    """


def find(name: str) -> Any:
    """Return the module of a command. UnknownName suggests the nearest name."""
    return import_module(f"{__name__}.{nearest(name, NAMES, 'command')}")


def add_verbosity(parser: Parser) -> None:
    """Add -q and -v, which every command has."""
    verbosity = parser.group(MESSAGES).add_mutually_exclusive_group()
    verbosity.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="print errors only: no notes, no warnings, no progress, no list of written files",
    )
    verbosity.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help=(
            "also print the time of every step, the chosen methods and why, and what came from a"
            " cache"
        ),
    )


class Parser(argparse.ArgumentParser):
    """argparse with groups of options, one sentence for a mistake, the nearest option, and values
    such as -9.81,0,0.
    """

    def __init__(self, **settings: Any) -> None:
        if sys.version_info >= (3, 14):
            settings["color"] = (
                False  # later versions of argparse colour the help; symgen never prints colours
            )
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **settings
        )

    def error(self, message: str) -> NoReturn:
        raise RequestError(
            f"{self.prog.removeprefix('symgen ')}: {message}; see '{self.prog} --help'"
        )

    def group(self, title: str) -> argparse._ArgumentGroup:
        """Return the group of options with this title, added where it is not there yet."""
        groups = {group.title: group for group in self._action_groups}
        return groups.get(title) or self.add_argument_group(title)

    def format_help(self) -> str:
        """Return the help with a short usage and the groups in the order of OPTION_GROUPS.

        argparse keeps the number of values in `save_nargs` while it parses options and arguments
        intermixed.
        """
        arguments = [
            f"[{action.metavar}]"
            if getattr(action, "save_nargs", action.nargs) == "?"
            else f"{action.metavar}"
            for action in self._get_positional_actions()
        ]
        self.usage = " ".join([self.prog, *arguments, "[OPTION …]"])
        self._action_groups.sort(
            key=lambda group: (
                OPTION_GROUPS.index(group.title) if group.title in OPTION_GROUPS else -1
            )
        )
        return super().format_help()

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the parsed options. RequestError for unknown ones, SystemExit(0) after --help."""
        self._check_options(words)
        options, surplus = self.parse_known_intermixed_args(self._with_joined_values(words))
        if surplus:
            self.error(f"'{surplus[0]}' is one argument too many")
        return options

    def _check_options(self, words: Sequence[str]) -> None:
        names = sorted(self._option_string_actions)
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                return
            if name.startswith("--") and name not in names:
                nearest(
                    name,
                    [option for option in names if option.startswith("--")],
                    f"option of '{self.prog}'",
                )

    def _with_joined_values(self, words: Sequence[str]) -> list[str]:
        """Return `--gravity -9.81,0,0` as `--gravity=-9.81,0,0`: argparse takes a value with a
        minus for an option.
        """
        joined_words: list[str] = []
        for word in words:
            action = self._option_string_actions.get(joined_words[-1]) if joined_words else None
            if (
                action is not None
                and action.nargs is None
                and joined_words[-1].startswith("--")
                and _NUMBER.match(word)
            ):
                joined_words[-1] += f"={word}"
            else:
                joined_words.append(word)
        return joined_words

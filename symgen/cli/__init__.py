"""Entry point of the command line: find the command, run it, turn every failure into one sentence
and an exit code.

0 done · 1 the answer is no (a verification failed) · 2 the request cannot be carried out, one
sentence on stderr. A signal that ends the work gives 128 + its number, as a shell does.
SYMGEN_TRACEBACK=1 shows where an error came from.

This module imports only light modules; a command imports the others when it runs.
"""

from __future__ import annotations

import contextlib
import gc
import glob
import io
import os
import platform
import signal
import sys
import traceback
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from symgen.cli import commands
from symgen.cli.commands import Parser, Unfulfilled, add_verbosity
from symgen.cli.streams import abandon, standard_streams
from symgen.machine.compilers import compiler_version
from symgen.support.errors import RequestError, SymgenError, collected
from symgen.support.version import __version__
from symgen.vocabulary.names import nearest

NO, REFUSED = 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run `symgen` on `argv` (default: the process's own arguments) and return its exit code; no
    exception leaves it.
    """
    gc.set_threshold(
        100_000, 50, 100
    )  # a command makes millions of small objects and few circles: collect seldom
    with standard_streams() as output:
        try:
            code = 0
            with _terminable():
                words = list(sys.argv[1:] if argv is None else argv)
                if (request := _read_command(words)) is not None:
                    command, options = request
                    with _messages(options), _warnings_last(), _timed(options):
                        code = int(command.run(options))
            sys.stdout.flush()
            return code
        except KeyboardInterrupt as stop:
            return _stopped(stop)
        except BrokenPipeError:
            abandon(output)
            return 128 + 13  # SIGPIPE, by number: Windows has no such name
        except Exception as error:
            if (cause := _cause(error)) is not None:
                return _stopped(cause)
            if isinstance(error, OSError):
                abandon(output)  # on a full disk, flushing at exit would fail again
            return _say(sentence(error), NO if isinstance(error, Unfulfilled) else REFUSED)


class Terminated(KeyboardInterrupt):
    """SIGTERM, as a KeyboardInterrupt: what cleans up after Ctrl-C also cleans up after it."""


def _cause(error: BaseException) -> KeyboardInterrupt | None:
    """Return the signal that led to `error`, or None: argparse fails to clean up after an
    interruption.
    """
    context = error.__context__
    return context if context is None or isinstance(context, KeyboardInterrupt) else _cause(context)


def _stopped(stop: KeyboardInterrupt) -> int:
    if isinstance(stop, Terminated):
        return _say("terminated", 128 + signal.SIGTERM)
    return _say("interrupted", 128 + signal.SIGINT)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the work as SIGINT does, unless the caller of symgen set another handler."""
    try:
        is_default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        previous_handler = signal.signal(signal.SIGTERM, _terminate) if is_default else None
    except ValueError:  # only the main thread may
        is_default = False
    try:
        yield
    finally:
        if is_default:
            signal.signal(signal.SIGTERM, previous_handler)


def _terminate(number: int, frame: object) -> None:
    """End the compilers too, as Ctrl-C at a terminal does; otherwise symgen would wait for them."""
    for children in glob.glob("/proc/self/task/*/children"):  # only Linux has these files
        with contextlib.suppress(OSError):
            for child in Path(children).read_text().split():
                os.kill(int(child), signal.SIGTERM)
    raise Terminated


def sentence(error: Exception) -> str:
    """Return one line that explains an error to the user."""
    if isinstance(error, SymgenError):
        text = str(error)
    elif isinstance(error, MemoryError):
        text = (
            "the memory is used up; lock joints that do not matter with --lock, or ask for fewer"
            " functions with -f"
        )
    elif isinstance(error, RecursionError):
        text = "the description is nested too deeply to be followed; flatten it"
    elif isinstance(error, OSError):
        reason = error.strerror or str(error)
        text = (
            f"{error.filename}: {reason}"
            if error.filename
            else f"the output cannot be written: {reason}"
        )
    elif isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("symgen"):
        text = f"the package '{error.name}' is not installed; reinstall symgen with what it needs"
    else:
        text = (
            f"internal error ({type(error).__name__}: {error}); please report it with the command"
            " and the description"
        )
    return " ".join(text.split())


def _read_command(words: list[str]) -> tuple[Any, Namespace] | None:
    """Find the command and read its options. None if help or the version was requested and has been
    printed.
    """
    first = words[0] if words else ""
    if first in ("-h", "--help", "help"):
        print(overview(), end="")
        return None
    if first in ("-V", "--version"):
        print(f"symgen {__version__} (Python {platform.python_version()}, {compiler_version()})")
        return None
    if not words:
        raise RequestError(
            f"name a command: {', '.join(commands.NAMES)}; 'symgen --help' says what they do"
        )
    if first.startswith("-"):
        nearest(first, ("--help", "--version"), "option before the command")
    command = commands.find(first)
    parser = Parser(
        prog=f"symgen {first}", description=command.SUMMARY, epilog=getattr(command, "EPILOG", None)
    )
    command.arguments(parser)
    add_verbosity(parser)
    try:
        return command, parser.parse(words[1:])
    except SystemExit:  # argparse has printed the help
        return None


@contextlib.contextmanager
def _timed(options: Namespace) -> Iterator[None]:
    """Print the time of a command that ends without an error, if the option is -v."""
    start = perf_counter()
    yield
    if options.verbose:
        print(f"symgen: {perf_counter() - start:.2f} s in all", file=sys.stderr)


@contextlib.contextmanager
def _warnings_last() -> Iterator[None]:
    """Print the warnings of a command last, so that no note pushes them off the screen."""
    with collected() as warnings:
        try:
            yield
        finally:
            for warning in warnings:
                if warning.kind == "warning":  # commands print the others as notes
                    print(f"symgen: warning: {' '.join(str(warning).split())}", file=sys.stderr)


@contextlib.contextmanager
def _messages(options: Namespace) -> Iterator[None]:
    """Set up the messages of a command on stderr.

    With -q it prints nothing; an error is raised and printed by the caller. With -v it also prints
    the log of the package: methods and why, caches, times.
    """
    if options.quiet:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
        return
    if not options.verbose:
        yield
        return
    import logging

    log, handler = logging.getLogger("symgen"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("symgen: %(message)s"))
    previous_level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(previous_level)
        log.removeHandler(handler)


def overview() -> str:
    """Return the text of `symgen --help`."""
    lines = [
        "symgen: verified C for the dynamics of a robot",
        "",
        "usage: symgen COMMAND …",
    ]
    width = max(map(len, commands.NAMES)) + 2
    for task, names in commands.TASKS.items():
        lines += ["", task]
        lines += [f"  {name:<{width}}{commands.find(name).SUMMARY}" for name in names]
    lines += [
        "",
        "'symgen COMMAND --help' lists the options of a command.",
        (
            "ROBOT is a built-in name (symgen robots), a path (.urdf, .xacro, .xml, .mjcf, .sdf,"
            " .world, .toml, .csv),"
        ),
        "or a folder that symgen generated.",
        (
            "exit code: 0 done, 1 the answer is no, 2 the request cannot be carried out (one"
            " sentence on stderr)"
        ),
    ]
    return "\n".join(lines) + "\n"


def _say(text: str, code: int) -> int:
    if os.environ.get("SYMGEN_TRACEBACK"):
        traceback.print_exc()
    print(f"symgen: {text}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())

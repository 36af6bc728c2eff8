"""Kills of `symgen generate` while it replaces a folder, with several writers and readers.

A signal comes at any time or at any system call. All tries of one run use the same folder, so that
each command finds what a killed one left. Most commands run in a fork of this process, in which
symgen is loaded already: a run takes hundredths of a second, most of it for writing.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from symgen import cli
from symgen.delivery import folder as writing
from tests.adversary import Failure
from tests.shared.disk_calls import WRITES, Calls, watched

WORD = (
    "A folder is replaced whole or not at all, a kill at any instant loses no file of the user's,"
    " and the next run clears up."
)

ROBOT = "planar_arm"
REQUESTS = (("mass_matrix",), ("gravity_force",), ("mass_matrix", "gravity_force"))
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
OUTSIDE = 99
"""Exit code of a fork that received the signal before or after the command."""
BEGUN = ("symgen: ", "in _read_command", "in run")
"""Return the trace of an error in stderr of a command that has begun: its one line, or a function
of the traceback.
"""
LONGEST = 120
Tree = dict[str, bytes]


class Broken(Exception):
    """A refuted claim, in one sentence."""


def tries(seed: int) -> Iterator[Failure | None]:
    """Try one kill, or a few, at each step."""
    random = Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="symgen-crashes-"))
    try:
        attack = Attack(random, folder)
        while True:
            try:
                attack.step()
                yield None
            except (
                Broken,
                OSError,
                ValueError,
            ) as broken:  # a folder that cannot be read is damaged as well
                yield Failure(f"{attack.what}: {broken}", tree(folder / "here"))
                attack.start()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Attack:
    """A generated folder with files of a user in it, and their expected contents."""

    def __init__(self, random: Random, folder: Path) -> None:
        self.random, self.place, self.what = random, folder, ""
        self.folder = folder / "here" / "arm"
        self.work = self.folder.with_name(".arm.symgen")
        self.texts: list[Tree] = []
        self.mine: Tree = {}
        for request in REQUESTS:
            with contextlib.redirect_stdout(
                io.StringIO()
            ):  # run once here, so that a fork has all modules loaded
                cli.main(words(folder / "whole", request))
            self.texts.append(tree(folder / "whole"))
        start = time.monotonic()
        self.expect(command(words(folder / "whole", REQUESTS[0])))
        self.seconds = time.monotonic() - start
        start = time.monotonic()
        self.expect(Process(words(folder / "whole", REQUESTS[0])))
        self.process_seconds = time.monotonic() - start
        self.start()

    def start(self) -> None:
        """Make a new folder with files of a user."""
        shutil.rmtree(self.folder.parent, ignore_errors=True)
        self.folder.parent.mkdir()
        self.expect(command(words(self.folder, REQUESTS[0])))
        self.mine = {}
        self.edit("notes.txt")
        self.edit("build/object")
        (self.folder / "link").symlink_to("nowhere")
        self.mine["link"] = b"nowhere"

    def edit(self, name: str) -> None:
        """Append to a file of the user."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as file:
            file.write(b"%d\n" % self.random.randrange(10**9))
        self.mine[name] = path.read_bytes()

    def step(self) -> None:
        kind = self.random.choices(
            ("process", "fork", "call", "writers", "reader"), (2, 4, 4, 1, 1)
        )[0]
        getattr(self, kind)()
        self.look()
        if self.random.random() < 0.5:
            self.finish()

    def process(self) -> None:
        """Run the command in a separate process, and send a signal at a random time."""
        number = self.random.choice(SIGNALS)
        after = self.process_seconds * self.random.uniform(0.7, 1.05)
        self.what = f"process, {number.name} after {after:.2f} s"
        child = Process(words(self.folder, self.random.choice(REQUESTS)))
        time.sleep(after)
        child.send_signal(number)
        self.judge(child, number)

    def fork(self) -> None:
        """Run the command in a fork, and send a signal at a random time."""
        number = self.random.choice(SIGNALS)
        after = self.seconds * self.random.uniform(0.3, 1.2)
        self.what = f"fork, {number.name} after {after:.3f} s"
        child = command(words(self.folder, self.random.choice(REQUESTS)))
        time.sleep(after)
        child.send_signal(number)
        self.judge(child, number)

    def call(self) -> None:
        """Run the command in a fork, with a signal at a random system call of the replacement."""
        number, at = self.random.choice(SIGNALS), self.random.randrange(1, LONGEST)
        exchanging = self.random.random() < 0.7
        self.what = f"call {at}, {number.name}, {'exchange' if exchanging else 'two renames'}"
        child = command(
            words(self.folder, self.random.choice(REQUESTS)),
            at=at,
            number=number,
            exchanging=exchanging,
        )
        self.judge(child, number)
        if not self.folder.exists():  # between the two renames
            if exchanging or not (self.work / "old").is_dir():
                raise Broken("the folder is gone")
            self.finish()

    def writers(self) -> None:
        """Two at once at one place, one of them killed."""
        at = self.random.randrange(1, LONGEST)
        self.what = f"two writers, one killed at call {at}"
        first = command(
            words(self.folder, self.random.choice(REQUESTS)),
            at=at,
            number=signal.SIGKILL,
            exchanging=True,
        )
        second = command(words(self.folder, self.random.choice(REQUESTS)))
        try:
            self.judge(first, signal.SIGKILL)
        finally:
            self.expect(second)

    def reader(self) -> None:
        """Read while the folder is replaced: all files of the manifest must exist."""
        self.what = "a reader"
        for request in self.random.sample(REQUESTS, 3):
            child = command(words(self.folder, request))
            try:
                while child.poll() is None:
                    self.read()
            finally:
                self.expect(child)

    def read(self) -> None:
        before = self.folder.stat().st_ino
        manifest = json.loads((self.folder / "manifest.json").read_bytes())
        missing = [name for name in manifest["files"] if not (self.folder / name).exists()]
        if (
            missing and self.folder.stat().st_ino == before
        ):  # otherwise the folder was replaced during the check
            raise Broken(f"a reader misses {missing}")

    def judge(self, child: Process | Fork, number: signal.Signals) -> None:
        """Check the end of a command: killed, one line and 128 + the signal, or finished before."""
        code, error_output = child.end()
        late = code == 0 or code == OUTSIDE
        lines = error_output.count("\n")
        if number == signal.SIGKILL:
            is_expected = late or code == -signal.SIGKILL
        else:  # before the command begins, Python itself handles the signal
            # Where SIGINT met Python in an `exec` of a text, by which a dataclass is made, `python
            # -m` dies of it in the end,
            # however it was answered. A shell shows 128 + its number either way.
            is_expected = (
                late
                or (code in (128 + number, -number) and lines == 1)
                or (code in (-number, 1) and not any(phrase in error_output for phrase in BEGUN))
            )
        if not is_expected:
            raise Broken(f"exit code {code}, and on stderr: {error_output}")

    def expect(self, child: Process | Fork) -> None:
        """Check a command that received no signal."""
        code, error_output = child.end()
        if code or error_output:
            raise Broken(f"exit code {code} without a signal, and on stderr: {error_output}")

    def look(self) -> None:
        """Check that the folder is complete and that all files of the user exist or can be
        restored.
        """
        if not self.folder.is_dir():
            raise Broken("the folder is gone")
        files = tree(self.folder)
        symgen_files = {name: text for name, text in files.items() if name not in self.mine}
        if symgen_files not in self.texts:
            raise Broken(f"the folder is neither the old nor the new one; it holds {sorted(files)}")
        aside = [tree(self.work / name) for name in ("old", "new") if (self.work / name).is_dir()]
        for name, text in self.mine.items():
            if text not in (files.get(name), *(files_aside.get(name) for files_aside in aside)):
                raise Broken(f"the user's {name} is lost")

    def finish(self) -> None:
        """Run with no signal: the folder is complete, with no leftovers; then edit a user file."""
        number = self.random.randrange(len(REQUESTS))
        self.expect(command(words(self.folder, REQUESTS[number])))
        if tree(self.folder) != self.texts[number] | self.mine:
            raise Broken(
                f"the next run does not make it good; the folder holds {sorted(tree(self.folder))}"
            )
        leftovers = sorted(os.listdir(self.folder.parent))
        if leftovers != ["arm"]:
            raise Broken(f"the next run leaves {leftovers}")
        self.edit(
            self.random.choice(["notes.txt", "build/object", f"new_{self.random.randrange(4)}.txt"])
        )


def words(folder: Path, request: tuple[str, ...]) -> list[str]:
    return [
        "generate",
        ROBOT,
        "-o",
        str(folder),
        *(word for function in request for word in ("-f", function)),
    ]


def tree(folder: Path) -> Tree:
    """Return the contents of all files below a folder, and the targets of links."""
    files: Tree = {}
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            with contextlib.suppress(FileNotFoundError):
                files[str(path.relative_to(folder))] = (
                    os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
                )
    return files


class Process:
    """The command in a separate process."""

    def __init__(self, arguments: list[str]) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "symgen", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.send_signal, self.poll = self.child.send_signal, self.child.poll

    def end(self) -> tuple[int, str]:
        error_output = self.child.communicate()[1]
        return self.child.returncode, error_output


class Fork:
    """The command in a fork of this process, with its exit code and its stderr."""

    def __init__(self, work: Callable[[], int]) -> None:
        self.reading, into = os.pipe()
        self.code: int | None = None
        self.number = os.fork()
        if self.number == 0:
            code = OUTSIDE
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.default_int_handler)
                os.dup2(into, 2)
                sys.stdout, sys.stderr = io.StringIO(), open(2, "w", closefd=False)  # noqa: SIM115
                code = work()
                sys.stderr.flush()
            except KeyboardInterrupt:
                code = OUTSIDE
            finally:
                os._exit(code)
        os.close(into)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.number, number)

    def poll(self) -> int | None:
        if self.code is None and (ended := os.waitpid(self.number, os.WNOHANG))[0]:
            self.code = os.waitstatus_to_exitcode(ended[1])
        return self.code

    def end(self) -> tuple[int, str]:
        with open(self.reading, errors="replace") as pipe:
            error_output = pipe.read()
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
        return self.code, error_output


def command(arguments: list[str], at: int = 0, number: int = 0, exchanging: bool = True) -> Fork:
    """Run the command in a fork; with `at`, signal it at that system call of the replacement."""
    return Fork(
        lambda: run_with_signal(arguments, at, number, exchanging) if at else cli.main(arguments)
    )


def run_with_signal(arguments: list[str], at: int, number: int, exchanging: bool) -> int:
    original = writing.replace_folder

    def meet(calls: Calls, call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            os.kill(os.getpid(), number)

    def replace(*arguments: Any) -> None:
        with watched(at, meet, WRITES, exchanging):
            original(*arguments)

    writing.replace_folder = replace
    return cli.main(arguments)

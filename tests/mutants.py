"""Mutation tests of symgen/: each planted error must fail a test (`python -m tests.mutants`).

An error is planted in a copy of the repository, and the test files that execute its function are
run, as `python -m tests.executed_functions` has recorded before. It is killed if a test fails that
passes without it, or if the tests do not end. `--out` names the file of results, by edited file,
edit and content of the file; a second run continues from it. `--at FILE:LINE --tests TEST_FILE`
plants the errors of one line and runs the given tests.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from tests.executed_functions import QUICK, TABLE, function_spans, innermost
from tests.shared.edits import Edit, edits_of, in_order

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 1800
"""CPU seconds that one call of pytest may take, three times BUDGET."""
BUDGET = 600
"""Seconds that the chosen tests may take without an error, under coverage."""
NO_END, NO_TESTS = "no end", "no tests"
GOLDEN_TESTS = "tests/golden/test_quick_rows.py"
"""Tests of generated texts, which see most changes of what is generated."""
NOTHING_COLLECTED = 5
"""Exit status of pytest if it collected no test."""
NOT_COPIED = shutil.ignore_patterns(".*", "build", "dist")
Executed = Mapping[str, Any]
"""Table of `tests.executed_functions`."""


def room(file: str) -> str:
    """Return the room of a file: its top folder, or symgen for files in no folder."""
    return file.split("/")[0] if "/" in file else "symgen"


def chosen_tests(edit: Edit, source: bytes, executed: Executed) -> tuple[str, ...]:
    """Return the test files that execute the function of an edit, at most BUDGET seconds of them.

    First comes the file that is named like the edited one, then the quick rows of the golden table,
    then the files of its room. The others follow, the quickest first. Lines outside functions,
    which every import executes, have the files that execute any function of the edited file.
    """
    function = innermost(function_spans(source), edit.line)
    stem = Path(edit.file).stem.strip("_")

    def rank(test_file: str) -> tuple[bool, bool, bool, float]:
        folder, name = Path(test_file).parts[1], Path(test_file).stem
        seconds: float = executed[test_file]["seconds"]
        is_golden = test_file == GOLDEN_TESTS
        return name != f"test_{stem}", not is_golden, folder != room(edit.file), seconds

    functions = {name: row["functions"].get(edit.file, ()) for name, row in executed.items()}
    ordered = sorted((name for name, names in functions.items() if names), key=rank)
    chosen: list[str] = []
    total = 0.0
    for test_file in ordered:
        if function and function not in functions[test_file]:
            continue
        total += executed[test_file]["seconds"]
        if chosen and total > BUDGET:
            break
        chosen.append(test_file)
    return tuple(chosen)


def edits_at(places: Sequence[str]) -> list[Edit]:
    """Return all edits of lines, named as FILE:LINE with the path of the file below symgen/."""
    edits: list[Edit] = []
    for file_and_line in places:
        file, _, line = file_and_line.removeprefix("symgen/").rpartition(":")
        source = (ROOT / "symgen" / file).read_bytes()
        edits += [edit for edit in edits_of(file, source) if edit.line == int(line)]
    if not edits:
        raise SystemExit(f"no edit is made of {', '.join(places)}")
    return edits


class Outcome(NamedTuple):
    killed: bool
    by: str
    seconds: float


class Tree:
    """A copy of the repository in which errors are planted one at a time."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.cache = folder / "cache"
        shutil.copytree(ROOT, self.root, ignore=NOT_COPIED, symlinks=True)
        self.age = int(time.time()) - 10**6

    def planted(self, edit: Edit, source: bytes, tests: Sequence[str], before: str = "") -> Outcome:
        """Plant an error, run test files, first the test `before` that killed it in another run."""
        start = time.monotonic()
        outcome = Outcome(False, NO_TESTS, 0.0)
        for stage in ((before,) if self.has(before) else (), tests):
            if not stage:
                continue
            self._write(edit.file, edit.applied(source))
            try:
                outcome = self.tested(stage)
            finally:
                self._write(edit.file, source)
            if outcome.by == NO_END and self.tested(stage).by == NO_END:
                outcome = Outcome(False, "", 0.0)  # the tests are slow without the error, too
            if outcome.killed:
                break
        return outcome._replace(seconds=round(time.monotonic() - start, 1))

    def has(self, test: str) -> bool:
        file, _, name = test.partition("::")
        path = self.root / file
        return (
            bool(name)
            and path.is_file()
            and f"def {name.partition('[')[0]}(" in path.read_text(encoding="utf-8")
        )

    def _write(self, file: str, text: bytes) -> None:
        path = self.root / "symgen" / file
        path.write_bytes(text)
        self.age += 2  # Python recognises compiled files by size and time in seconds
        os.utime(path, (self.age, self.age))

    def tested(self, tests: Sequence[str]) -> Outcome:
        """Run pytest on tests until one fails; tests of LIMIT CPU seconds count as endless."""
        shutil.rmtree(self.cache, ignore_errors=True)
        env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPATH": str(self.root), "SYMGEN_CACHE": str(self.cache)}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-m",
            QUICK,
            "-p",
            "no:cacheprovider",
        ]
        running = subprocess.Popen(
            [*command, "--no-header", "--tb=no", *tests],
            cwd=self.root,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)),
        )
        start = time.monotonic()
        try:
            output, _ = running.communicate(timeout=10 * LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
        seconds = time.monotonic() - start
        if running.returncode <= 0:
            return Outcome(running.returncode < 0, NO_END if running.returncode else "", seconds)
        if running.returncode == NOTHING_COLLECTED:
            return Outcome(False, NO_TESTS, seconds)
        # without the parameters of the test, whose text may hold spaces and dashes
        failed = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", output, re.MULTILINE)
        return Outcome(True, failed[1] if failed else output.strip()[-200:], seconds)


class Ledger:
    """Results of all errors, saved to a file after every result."""

    def __init__(self, path: Path) -> None:
        self.path, self.lock = path, threading.Lock()
        self.known: dict[str, Any] = (
            json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        )

    @staticmethod
    def key(edit: Edit, source: bytes) -> str:
        return (
            f"{edit.file}:{edit.line} [{edit.start}] {edit.text} @"
            f" {hashlib.sha256(source).hexdigest()[:12]}"
        )

    def note(self, key: str, what: Any) -> None:
        with self.lock:
            self.known[key] = what
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part = self.path.with_suffix(".part")
            part.write_text(
                json.dumps(self.known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            part.replace(self.path)


def table(edits: Sequence[Edit], outcomes: Sequence[dict[str, Any]]) -> str:
    rows: dict[str, list[bool]] = {}
    for edit, outcome in zip(edits, outcomes, strict=True):
        rows.setdefault(room(edit.file), []).append(outcome["killed"])
    lines = [f"{name:14} {sum(kills):4}/{len(kills)}" for name, kills in sorted(rows.items())]
    killed = sum(outcome["killed"] for outcome in outcomes)
    share = f"{100 * killed / len(outcomes):.1f} %" if outcomes else "none asked for"
    return "\n".join([*lines, f"{'all':14} {killed:4}/{len(outcomes)}  {share}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.json")
    parser.add_argument(
        "--before",
        type=Path,
        help="what another run found: the test that killed an error goes first",
    )
    parser.add_argument("--rooms", nargs="+", help="only the edits of these")
    parser.add_argument("--list", action="store_true", help="print the edits and plant none")
    parser.add_argument(
        "--at",
        nargs="+",
        metavar="FILE:LINE",
        help="all edits of these lines below symgen/, instead of a seeded choice",
    )
    parser.add_argument(
        "--tests", nargs="+", help="test files that are run, instead of the table's"
    )
    arguments = parser.parse_args()

    if arguments.at:
        edits = edits_at(arguments.at)
    else:
        edits = [
            edit
            for edit in islice(in_order(ROOT / "symgen", room, arguments.seed), arguments.count)
            if arguments.rooms is None or room(edit.file) in arguments.rooms
        ]
    if arguments.list:
        print("\n".join(f"symgen/{edit.file}:{edit.line} {edit.text}" for edit in edits))
        return
    for test in arguments.tests or ():
        if not (ROOT / test.partition("::")[0]).exists():
            raise SystemExit(
                f"{test} is missing; --tests takes paths from the top of the repository"
            )
    if not arguments.tests and not TABLE.is_file():
        raise SystemExit(f"{TABLE} is missing; run 'python -m tests.executed_functions' first")
    executed = {} if arguments.tests else json.loads(TABLE.read_text(encoding="utf-8"))
    sources = {edit.file: (ROOT / "symgen" / edit.file).read_bytes() for edit in edits}
    ledger = Ledger(arguments.out.resolve())
    before = (
        {key: outcome["by"] for key, outcome in Ledger(arguments.before).known.items() if outcome}
        if arguments.before
        else {}
    )
    keys = {edit: ledger.key(edit, sources[edit.file]) for edit in edits}
    waiting = [edit for edit in edits if not ledger.known.get(keys[edit])]
    with tempfile.TemporaryDirectory(prefix="mutants-") as top:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for k in range(arguments.jobs):
            trees.put(Tree(Path(top) / str(k)))

        def plant(edit: Edit) -> None:
            tree = trees.get()
            try:
                tests = arguments.tests or chosen_tests(edit, sources[edit.file], executed)
                outcome = tree.planted(edit, sources[edit.file], tests, before.get(keys[edit], ""))
            finally:
                trees.put(tree)
            ledger.note(keys[edit], outcome._asdict())
            print(
                f"{'killed  ' if outcome.killed else 'SURVIVED'} {outcome.seconds:6.1f} s "
                f" {edit.file}:{edit.line} {edit.text}",
                flush=True,
            )

        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(plant, waiting))
        # a test that also fails without an error has killed nothing, in this run or in a stopped
        # one
        killers = sorted(
            {
                ledger.known[keys[edit]]["by"]
                for edit in edits
                if "::" in ledger.known[keys[edit]]["by"]
            }
        )
        outcome_without_error = (
            trees.get().tested(killers) if waiting and killers else Outcome(False, "", 0.0)
        )
        if outcome_without_error.killed:
            for edit in edits:
                if ledger.known[keys[edit]]["by"] == outcome_without_error.by:
                    ledger.note(keys[edit], None)
            raise SystemExit(f"without an error planted this fails: {outcome_without_error.by}")
    outcomes = [ledger.known[keys[edit]] for edit in edits]
    print(table(edits, outcomes))
    for edit, outcome in zip(edits, outcomes, strict=True):
        if not outcome["killed"]:
            print(f"survives: symgen/{edit.file}:{edit.line} {edit.text}")


if __name__ == "__main__":
    main()

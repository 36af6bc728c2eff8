"""Golden table: the texts that symgen writes for some 600 requests, as two hashes a row.

    python -m tests.golden.table                  make every row; name those unlike hashes.csv
    python -m tests.golden.table --rows 'scara*'  make those whose names match
    python -m tests.golden.table --row NAME       make that one
    python -m tests.golden.table --keep DIR       keep each row's files in DIR/NUMBER, for a diff
    python -m tests.golden.table --write          rewrite hashes.csv (with --rows those lines of it)

The first hash is over every file of a row, name and bytes. The second is over the tokens of what is
no prose (`tokens`): it stays where a comment, a message or README.md is worded anew, and changes
with a number, a name or an operation.

Nothing of the machine enters a row: Programs are derived anew in a cache of the run's own, and no
tool is on the PATH, so that what would be measured is said to be missing.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from fnmatch import fnmatchcase
from io import StringIO
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from runpy import run_module
from time import process_time
from typing import NamedTuple

from tests.golden import texts
from tests.golden.rows import FILES, Row, rows
from tests.golden.tokens import tokens

HASHES = Path(__file__).resolve().parent / "hashes.csv"
DIGITS = 16
"""Hexadecimal digits that are kept of a SHA-256."""


class Hashes(NamedTuple):
    """The hash of all that a row holds, and that of its tokens."""

    whole: str
    tokens: str


def hashes(files: Mapping[str, bytes]) -> Hashes:
    """The hashes of files by their names."""
    all_bytes, token_bytes = hashlib.sha256(), hashlib.sha256()
    for name, data in sorted(files.items()):
        all_bytes.update(f"{name}\0{len(data)}\0".encode() + data)
        split = tokens(name, data.decode("utf-8"))
        if split is not None:
            token_bytes.update("\0".join((name, *split, "\n")).encode())
    return Hashes(all_bytes.hexdigest()[:DIGITS], token_bytes.hexdigest()[:DIGITS])


NOTHING = hashes({}).tokens
"""The second hash of a row of words alone, such as the sentence that refuses a request."""


def recorded_hashes() -> dict[str, Hashes]:
    """Read the hashes of every row from the table."""
    with HASHES.open(encoding="utf-8", newline="") as file:
        return {name: Hashes(of_bytes, of_tokens) for name, of_bytes, of_tokens in csv.reader(file)}


def make(row: Row, folder: Path) -> dict[str, bytes]:
    """The files of a row, written into `folder`; the sentence by which symgen refuses it is one
    too.
    """
    import symgen

    os.chdir(FILES)  # files are named without the place of this repository
    if row.command:
        folder.mkdir(parents=True, exist_ok=True)
        _command(row, folder)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mechanism = symgen.load(row.source, **row.robot.load)
            try:
                symgen.generate(mechanism, folder, **row.options)
            except symgen.SymgenError as refusal:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "refused.said").write_text(f"{refusal}\n", encoding="utf-8", newline="")
    return texts(folder)


def _command(row: Row, folder: Path) -> None:
    """Write the standard output and the error output of a command."""
    output, error_output, before = StringIO(), StringIO(), sys.argv
    sys.argv = ["symgen", *(word.replace("OUT", str(folder)) for word in row.command)]
    try:
        with redirect_stdout(output), redirect_stderr(error_output):
            run_module("symgen", run_name="__main__")
    except SystemExit as done:
        if done.code not in (0, 1, None):
            raise RuntimeError(error_output.getvalue()) from None
    finally:
        sys.argv = before
    for name, text in ((f"output{row.suffix}", output), ("notes.said", error_output)):
        (folder / name).write_text(
            text.getvalue().replace(str(folder), "OUT"), encoding="utf-8", newline=""
        )


class RowResult(NamedTuple):
    """Result of making one row: its hashes or the sentence of the failure, and the processor
    seconds.
    """

    name: str
    row_hashes: Hashes | None
    fault: str
    seconds: float


def _make_rows_of_one_robot(numbered: Sequence[tuple[int, Row]], folder: Path) -> list[RowResult]:
    """Make rows one after the other; a row that fails has the sentence of its failure."""
    results = []
    for number, row in numbered:
        began = process_time()
        try:
            row_hashes, fault = hashes(make(row, folder / f"{number:03}")), ""
        except Exception as error:
            row_hashes, fault = None, f"{type(error).__name__}: {error}"
        results.append(RowResult(row.name, row_hashes, fault, process_time() - began))
    return results


def _isolate_process(cache: str) -> None:
    """Hide the environment and the cache of earlier runs from this process."""
    for name in [name for name in os.environ if name.startswith("SYMGEN_")] + ["CC", "CXX"]:
        os.environ.pop(name, None)
    os.environ.update(PATH=cache, SYMGEN_CACHE=cache, SYMGEN_CACHE_PROGRAMS="on", COLUMNS="100")


def make_rows(
    chosen: Sequence[tuple[int, Row]], folder: Path, processes: int = 1
) -> list[RowResult]:
    """Make rows in `folder`; the rows of one robot are made by one process."""
    groups = [
        list(group)
        for _, group in groupby(chosen, key=lambda indexed_row: indexed_row[1].name.split()[0])
    ]
    with (
        tempfile.TemporaryDirectory() as cache,
        ProcessPoolExecutor(
            processes,
            mp_context=get_context("spawn"),
            initializer=_isolate_process,
            initargs=(cache,),
        ) as pool,
    ):
        results = []
        for done in pool.map(_make_rows_of_one_robot, groups, [folder] * len(groups)):
            results += done
            if len(groups) > 1:
                print(f"{len(results)} of {len(chosen)} rows", file=sys.stderr, flush=True)
        return results


def main() -> int:
    """Compare rows with the table, or write them; return 1 if a row differs or is not made."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden.table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", default="*", metavar="PATTERN", help="rows whose names match")
    parser.add_argument("--row", action="append", metavar="NAME", help="this row; repeatable")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the files of rows there")
    parser.add_argument("--write", action="store_true", help="rewrite the hashes of the rows")
    parser.add_argument(
        "--times", action="store_true", help="print the seconds of each row at last"
    )
    parser.add_argument("-j", type=int, default=1, metavar="N", help="processes")
    options = parser.parse_args()
    chosen = [
        (i, row)
        for i, row in enumerate(rows())
        if (row.name in options.row if options.row else fnmatchcase(row.name, options.rows))
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if options.keep is None else options.keep.resolve()
        results = make_rows(chosen, folder, options.j)
    if options.times:
        for result in sorted(results, key=lambda result: -result.seconds):
            print(f"{result.seconds:7.2f} s  {result.name}")
    before = recorded_hashes() if HASHES.exists() else {}
    faults = [result for result in results if result.row_hashes is None]
    for result in faults:
        print(f"not made: {result.name}: {result.fault}")
    if options.write:
        _write(before, results)
        return 1 if faults else 0
    return _compare(before, results, {row.name: i for i, row in chosen}, options) or bool(faults)


def _write(before: Mapping[str, Hashes], results: Sequence[RowResult]) -> None:
    fresh = {result.name: result.row_hashes for result in results}
    with HASHES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in rows():
            row_hashes = fresh.get(row.name, before.get(row.name))
            if row_hashes is not None:
                writer.writerow((row.name, *row_hashes))
    print(f"{HASHES.name} has {len(fresh)} rows anew; 'git diff {HASHES}' shows which differ")


def _compare(
    before: Mapping[str, Hashes],
    results: Sequence[RowResult],
    numbers: Mapping[str, int],
    options: argparse.Namespace,
) -> int:
    differing = [
        result
        for result in results
        if result.row_hashes is not None and result.row_hashes != before.get(result.name)
    ]
    for result in differing:
        was = before.get(result.name)
        difference = (
            "is not in the table"
            if was is None
            else "its words alone differ"
            if was.tokens == result.row_hashes.tokens
            else "its tokens differ"
        )
        print(f"{result.name}: {difference}")
    print(
        f"{len(results)} rows, {len(differing)} differ,"
        f" {sum(result.seconds for result in results):.0f} s"
    )
    if differing:
        first = differing[0].name
        print(
            f"the files of the first one are in {options.keep.resolve() / f'{numbers[first]:03}'};"
            " those of before come by the same command in a checkout of that commit"
            if options.keep
            else (
                f"to see its files: python -m tests.golden.table --row '{first}' --keep DIR, here"
                " and in a checkout of the commit before"
            )
        )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

"""Greedy choice of rows of the golden table: `python -m tests.golden.choose_rows --seconds 20`.

Makes every row in one process and records the lines of symgen/ that it executes. Then prints the
rows of `quick_rows`: each next one executes most lines that no row before it executes, for its
processor time. Rows share what one process has derived before, so that times are those of a warm
process.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from time import process_time

from coverage import Coverage

from tests.golden.rows import rows
from tests.golden.table import _isolate_process, make

SYMGEN = Path(__file__).resolve().parents[2] / "symgen"
START = 0.15
"""Seconds that are added to the time of a row."""
FEWEST = 4
"""Fewest further lines for which a row is chosen."""
Line = tuple[str, int]


def executed_lines(pattern: str) -> tuple[dict[str, set[Line]], dict[str, float]]:
    """Return lines that each matching row executes, and its processor seconds under coverage."""
    coverage = Coverage(source=[str(SYMGEN)], data_file=None)
    lines: dict[str, set[Line]] = {}
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        _isolate_process(f"{folder}/cache")
        coverage.start()
        for number, row in enumerate(rows()):
            if fnmatchcase(row.name, pattern):
                coverage.switch_context(row.name)
                start = process_time()
                make(row, Path(folder) / str(number))
                seconds[row.name] = process_time() - start
        coverage.stop()
    data = coverage.get_data()
    for file in data.measured_files():
        for line, names in data.contexts_by_lineno(file).items():
            for name in names:
                if name:
                    lines.setdefault(name, set()).add((file, line))
    return lines, seconds


def chosen_rows(
    lines: Mapping[str, set[Line]], seconds: Mapping[str, float], limit: float
) -> list[str]:
    """Return rows that take at most `limit` seconds together."""
    missing = set().union(*lines.values())
    chosen: list[str] = []
    total = 0.0

    def gain(name: str) -> float:
        further = len(lines[name] & missing)
        return further / (seconds[name] + START) if further >= FEWEST else 0.0

    while (best := max(lines, key=gain, default="")) and gain(best):
        total += seconds[best]
        if total > limit:
            break
        chosen.append(best)
        missing -= lines[best]
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="of all chosen rows together")
    parser.add_argument("--rows", default="*", metavar="PATTERN", help="rows whose names match")
    arguments = parser.parse_args()
    lines, seconds = executed_lines(arguments.rows)
    for name in chosen_rows(lines, seconds, arguments.seconds):
        print(f"{seconds[name]:6.2f} s  {name}")


if __name__ == "__main__":
    main()

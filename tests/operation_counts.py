"""Operation counts of robots: `python -m tests.operation_counts --write` records lower ones.

`pipeline/test_operation_counts.py` compares the programs with the recorded counts.

Counts may only fall. If one rose (mul + add + div, or div), it is printed and nothing is written.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import symgen
from symgen.vocabulary.functions import BY_DEFAULT
from tests.shared.robots_for_tests import OF_ANY_ROBOT, OPEN

FILE = Path(__file__).with_name("operation_counts.json")
Counts = dict[str, dict[str, dict[str, int]]]
"""Robot → function → operation → count, for the default method."""
COUNTED = ("mul", "add", "div")
ALL_FUNCTIONS_COUNTED = ("panda", "ur5")
"""Robots for which all functions are counted, also those generated only on request."""


def counted(robot: str) -> tuple[str, ...]:
    """The functions of a robot whose operations are recorded."""
    return OF_ANY_ROBOT if robot in ALL_FUNCTIONS_COUNTED else BY_DEFAULT


def measured(robots: Sequence[str] | None = None) -> Counts:
    """Return the current operation counts of the default methods."""
    return {
        robot: {
            f: {op: symgen.program(robot, f).operations[op] for op in COUNTED}
            for f in counted(robot)
        }
        for robot in robots or OPEN
    }


def recorded() -> Counts:
    counts: Counts = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return counts


def risen(now: Counts, before: Counts) -> list[str]:
    """Return one sentence for each program with more operations or divisions than recorded."""
    return [
        f"{robot} {function}: {before[robot][function]} became {counts}"
        for robot, functions in now.items()
        for function, counts in functions.items()
        if function in before.get(robot, {})
        and (
            sum(counts.values()) > sum(before[robot][function].values())
            or counts["div"] > before[robot][function]["div"]
        )
    ]


def text(counts: Counts) -> str:
    """Return the counts as JSON, one line per program, so that a change shows as one line."""
    robots = []
    for robot, functions in sorted(counts.items()):
        lines = ",\n".join(
            f"    {json.dumps(function)}: {json.dumps(ops)}" for function, ops in functions.items()
        )
        robots.append(f"  {json.dumps(robot)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(robots) + "\n}\n"


def write(now: Counts, file: Path) -> list[str]:
    """Record `now` unless a count rose; return the counts that rose."""
    risen_counts = risen(now, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {})
    if not risen_counts:
        file.write_text(text(now), encoding="utf-8")
    return risen_counts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="record the counts of now")
    now = measured()
    if not parser.parse_args().write:
        print(text(now), end="")
        return 0
    risen_counts = write(now, FILE)
    for sentence in risen_counts:
        print(sentence, file=sys.stderr)
    return 1 if risen_counts else 0


if __name__ == "__main__":
    raise SystemExit(main())

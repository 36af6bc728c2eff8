"""Recorded operation counts of the built-in robots: `python -m tests.operation_counts --write` records lower ones.

`pipeline/test_operation_counts.py` holds programs to them.

Figures may only go down: a figure that went up (mul + add + div, or a division) is named and nothing is written.
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
"""Robot → function → operation → how many, of the default method."""
COUNTED = ("mul", "add", "div")
WHOLLY = ("panda", "ur5")
"""Of which the functions that are made on request are counted too."""


def counted(robot: str) -> tuple[str, ...]:
    """The functions of a robot whose operations are recorded."""
    return OF_ANY_ROBOT if robot in WHOLLY else BY_DEFAULT


def measured(robots: Sequence[str] | None = None) -> Counts:
    """What the default methods need now."""
    return {
        robot: {
            f: {op: symgen.program(robot, f).operations[op] for op in COUNTED}
            for f in counted(robot)
        }
        for robot in robots or OPEN
    }


def recorded() -> Counts:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}  # type: ignore[no-any-return]


def risen(now: Counts, before: Counts) -> list[str]:
    """One sentence for each program that costs more than was recorded, in all or in divisions."""
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
    """A line a program, so that a change reads as one."""
    robots = []
    for robot, functions in sorted(counts.items()):
        lines = ",\n".join(
            f"    {json.dumps(function)}: {json.dumps(ops)}" for function, ops in functions.items()
        )
        robots.append(f"  {json.dumps(robot)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(robots) + "\n}\n"


def write(now: Counts, file: Path) -> list[str]:
    """Record `now` unless a figure went up; returns what went up."""
    up = risen(now, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {})
    if not up:
        file.write_text(text(now), encoding="utf-8")
    return up


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="record the counts of now")
    now = measured()
    if not parser.parse_args().write:
        print(text(now), end="")
        return 0
    up = write(now, FILE)
    for sentence in up:
        print(sentence, file=sys.stderr)
    return 1 if up else 0


if __name__ == "__main__":
    raise SystemExit(main())

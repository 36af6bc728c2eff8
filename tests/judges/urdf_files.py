"""Pinocchio judges the URDFs that the wheels of PyBullet and robosuite hold, fixed to the world and
afloat.

As `tests.judges.example_robot_data` does it, of its QUICK functions by one method each. A file that
symgen refuses stands in the table with its sentence, and one that Pinocchio does not load with
Pinocchio's.

    python -m tests.judges.urdf_files              prints the table
    python -m tests.judges.urdf_files --write      rewrites tests/judges/urdf_files.md
    python -m tests.judges.urdf_files --only kuka  the files whose path has that in it
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib import metadata
from pathlib import Path

import symgen
from tests.judges.example_robot_data import (
    BOUND,
    HEADINGS,
    QUICK,
    STATES,
    Verdict,
    _remark,
    _rounded,
    by_named,
    judge,
    short,
)

TABLE = Path(__file__).with_suffix(".md")
PACKAGES = ("pybullet", "robosuite")
_MOVES = re.compile(
    r"""<joint\b[^>]*type\s*=\s*["'](revolute|continuous|prismatic|planar|floating|spherical)["']"""
)


def files() -> list[Path]:
    """Every URDF of the two wheels that has a joint which is not fixed."""
    paths = [
        Path(str(path.locate()))
        for name in PACKAGES
        for path in metadata.files(name) or []
        if path.suffix == ".urdf"
    ]
    return sorted(
        (
            path
            for path in paths
            if _MOVES.search(path.read_text(encoding="utf-8", errors="replace"))
        ),
        key=short,
    )


def row(name: str, base: str, verdict: Verdict) -> str:
    """A line of the table."""
    cells = [
        _rounded(verdict.as_snapped[function]) if function in verdict.as_snapped else "–"
        for function in QUICK
    ]
    raw = _rounded(max(verdict.raw.values())) if verdict.raw else "–"
    return (
        f"| {name} | {base} | {verdict.nv} | {' | '.join(cells)} | {raw} |"
        f" {refused(verdict) or remark(verdict)} |"
    )


def remark(verdict: Verdict) -> str:
    """Return why a file does not pass. A sum that almost cancels is as uncertain as its terms."""
    beyond = [name for name, error in verdict.raw.items() if not error <= BOUND]
    if not beyond or not all(error <= BOUND for error in verdict.as_snapped.values()):
        return _remark(verdict)
    return (
        f"unsnapped {', '.join(HEADINGS[name] for name in beyond)} beyond the bound, of an answer"
        " that all but cancels"
    )


def refused(verdict: Verdict) -> str:
    """symgen's sentence where it refuses the file; its path is left out."""
    sentence = (
        re.fullmatch(r"DescriptionError: (?:\S*/)?([^/]*)", verdict.failed[0], re.DOTALL)
        if verdict.failed
        else None
    )
    return f"refused: {sentence[1]}".replace("|", "\\|") if sentence else ""


def unread(path: Path) -> str:
    """Return what symgen does with a file that Pinocchio does not load."""
    try:
        return f"symgen reads it, joints: {len(symgen.load(path).joints)}"
    except symgen.SymgenError as error:
        return (
            "symgen refuses it:"
            f" {str(error).removeprefix(f'{path}:').replace(str(path), path.name)}".replace(
                "|", "\\|"
            )
        )


def table(rows: list[str], judged: int) -> str:
    """Markdown: two lines a file."""
    return (
        "\n".join(
            [
                "# Pinocchio's word on the URDFs of PyBullet and robosuite",
                "",
                "Written by `make judge` (`python -m tests.judges.urdf_files --write`);"
                " not edited by hand."
                " The columns are those of",
                "[the other table](example_robot_data.md), by one method each: the largest error"
                f" over {STATES} states. *raw* is the",
                f"largest with `--snap off` against the file as it is. The bound is {BOUND:.0e}."
                " Wheels of the racecars turn about",
                "axes that a printed 1.5708 leaves 4e-6 rad beside the vertical:"
                " unsnapped they feel 3e-7 N m of a weight of 15 N at",
                "1 m, and the round-off of that sum is 1e-10 of what is left.",
                "",
                f"{judged} of {len(rows)} lines are judged.",
                "",
                f"| file | base | velocities | {' | '.join(HEADINGS[name] for name in QUICK)}"
                " | raw | remark |",
                "|---|---|---|" + "---|" * (len(QUICK) + 2),
                *rows,
            ]
        )
        + "\n"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Pinocchio judges the URDFs of PyBullet and robosuite"
    )
    parser.add_argument("--write", action="store_true", help="rewrite the committed table")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="the files whose path has TEXT in it"
    )
    options = parser.parse_args(arguments)
    rows, judged, failed = [], 0, 0
    for path in (path for path in files() if options.only in short(path)):
        for base in ("fixed", "free"):
            verdict = judge(path, by_named, base=base)
            if verdict.reason.startswith("Pinocchio does not load it"):
                verdict.reason += f"; {unread(path)}"
            rows.append(row(short(path), base, verdict))
            judged += verdict.judged
            failed += "FAILED" in rows[-1]
            print(rows[-1], f"({verdict.seconds:.0f} s)", file=sys.stderr, flush=True)
    text = table(rows, judged)
    if options.write and not options.only:
        TABLE.write_text(text, encoding="utf-8")
    else:
        print(text)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())

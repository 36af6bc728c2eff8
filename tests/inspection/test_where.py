"""Lines of the generated C that compute a quantity of a small arm."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import symgen
from symgen.description.loading import load
from symgen.inspection.where import COUNTS, where
from symgen.support.errors import RequestError

ARM = load("planar_arm")
HEADER = re.compile(r"planar_arm_(\w+)\.c:(\d+)(?:-(\d+))?:")


def runs_of(text: str) -> list[tuple[str, int, int, list[str]]]:
    """Return (function, first line, last line, lines) of each run of lines."""
    runs: list[tuple[str, int, int, list[str]]] = []
    for line in text.splitlines():
        header = HEADER.fullmatch(line)
        if header is not None:
            runs.append((header[1], int(header[2]), int(header[3] or header[2]), []))
        else:
            runs[-1][3].append(line)
    return runs


@pytest.mark.parametrize(
    ("what", "frame"),
    [
        ("M", None),
        ("M[0,1]", None),
        ("c[0]", None),
        ("J[3,0]", None),
        ("J[3,0]", "link1"),
        ("J[1,3,0]", ("link1", "link2")),
    ],
)
def test_lines_of_a_result_are_those_of_the_generated_file(
    what: str, frame: Any, tmp_path: Path
) -> None:
    """The comment at the top of the file names the frames. Runs of lines are apart and in order."""
    text, notes = where(ARM, what, frame=frame)
    runs = runs_of(text)
    function = runs[0][0]
    symgen.generate(ARM, tmp_path / "c", functions=[function], frame=frame)
    file = (tmp_path / "c" / f"planar_arm_{function}.c").read_text(encoding="utf-8").splitlines()
    for name, first, last, lines in runs:
        assert name == function
        assert lines == file[first - 1 : last]
    ends = [last for _, _, last, _ in runs]
    assert all(first > end + 1 for end, (_, first, _, _) in zip(ends, runs[1:], strict=False))
    assert notes[-1] == COUNTS
    stores = [line for *_, lines in runs for line in lines if re.match(r"\s*\w+\[\d+\] =", line)]
    read = {line.partition(" = ")[2].rstrip(";") for line in stores}
    assigned = {line.split()[2] for *_, lines in runs for line in lines if "const" in line}
    assert {name for name in read if name.isidentifier()} == assigned


def test_entries_that_are_the_same_number_share_their_lines() -> None:
    """M[0,1] is M[1,0], so that both stores are shown; M[1,1] is a number without a local."""
    (_, (_, _, _, both)) = runs_of(where(ARM, "M[0,1]")[0])
    assert [line.split()[0] for line in both] == ["M[1]", "M[2]"]
    ((_, first, last, lines),) = runs_of(where(ARM, "M[1,1]")[0])
    assert first == last
    assert lines == ["    M[3] = 0.08333333333333333;"]


def test_lines_of_a_letter_are_in_the_first_function_that_computes_it() -> None:
    """P has 21 entries, of which the arm has ten, and four of these have a line of their own."""
    text, notes = where(ARM, "P[0]", "riccati")
    lines = [line for *_, lines in runs_of(text) for line in lines]
    assert all(re.match(r"    const double (neg_)?P[BC]?_1_\d\d = ", line) for line in lines)
    assert {function for function, *_ in runs_of(text)} == {"forward_dynamics"}
    assert notes == (
        "the C computes in the frames that 'symgen show' lists, with inertia moved to the parents",
        f"{10 - len(lines)} of the 10 entries of P[0] have no line of their own: the passes merged"
        " them into other values",
        COUNTS,
    )
    pivot, of_pivot = where(ARM, "D[0]", "riccati")
    assert len(runs_of(pivot)) == 1
    assert len(of_pivot) == 2


@pytest.mark.parametrize(
    ("what", "method", "message"),
    [
        (
            "phi[0,0]",
            "riccati",
            r"no line of the C by riccati computes phi\[0,0\] alone: it is con",
        ),
        ("theta_ddot", None, "leave --where out"),
    ],
)
def test_a_quantity_without_a_line_is_refused(what: str, method: str | None, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        where(ARM, what, method)

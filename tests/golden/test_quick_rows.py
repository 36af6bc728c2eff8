"""The rows of the golden table that together execute most lines of symgen are what they were.

`tests.golden.quick_rows` names them and says how they were chosen. The other rows are made by
`make golden-all`, and a sample of them by the slow tests.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.golden import FOLDER
from tests.golden.quick_rows import QUICK_ROWS
from tests.golden.table import recorded_hashes

PARTS = 2
"""Number of tests that share the rows, so that several processes make them."""


@pytest.mark.parametrize("part", range(PARTS))
def test_quick_rows_have_the_recorded_hashes(part: int) -> None:
    ends = [len(QUICK_ROWS) * end // PARTS for end in (part, part + 1)]
    names = QUICK_ROWS[slice(*ends)]  # rows of one robot are neighbours and share its Programs
    words = [word for name in names for word in ("--row", name)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden.table", *words],
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert f"{len(names)} rows, 0 differ" in done.stdout


def test_quick_rows_are_rows_of_the_table() -> None:
    assert set(QUICK_ROWS) <= set(recorded_hashes())
    assert len(set(QUICK_ROWS)) == len(QUICK_ROWS)

"""Self-tests of generated folders detect errors of one token: a sample of `python -m
tests.mutants_of_c`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import symgen
from symgen.delivery import selftest
from tests.mutants_of_c import Plot, errors, planted

FUNCTIONS = ("forward_dynamics", "mass_matrix_solve", "inverse_dynamics")
"""Functions of scara in float, where M has condition 1e5: two are judged by M x − b, one by its
entries.
"""


def test_the_self_test_detects_errors_of_ten_times_its_bound(tmp_path: Path) -> None:
    plot = Plot(symgen.load("scara"), "float", tmp_path, FUNCTIONS)
    verdicts = [verdict for f in FUNCTIONS for _, verdict in planted(plot, f, 6, seed=1)]
    assert sum(verdict.owed for verdict in verdicts) >= len(verdicts) / 2
    assert not any(verdict.missed for verdict in verdicts)
    assert all(plot.selftest(f, tmp_path / "whole") for f in FUNCTIONS)


@pytest.mark.slow
def test_a_self_test_with_wide_tolerances_misses_every_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selftest, "ROUNDING", 1e9)
    plot = Plot(symgen.load("scara"), "float", tmp_path, FUNCTIONS[:1])
    assert all(
        verdict.missed for _, verdict in planted(plot, FUNCTIONS[0], 6, seed=1) if verdict.owed
    )


def test_every_kind_of_error_is_planted() -> None:
    text = (
        "    const double s_1 = sin(q[0]);\n    const double y = s_1 + (1.5*s_1);\n"
        "    tau[0] = y - (s_1/2.0);\n"
    )
    changed_lines = {
        error.applied(text).splitlines()[error.line - 1].strip() for error in errors(text)
    }
    assert changed_lines >= {
        "const double s_1 = cos(q[0]);",
        "const double s_1 = sin(q[1]);",
        "const double y = s_1 - (1.5*s_1);",
        "const double y = s_1 + (2.5*s_1);",
        "const double y = s_1 + (1.5/s_1);",
        "const double y = s_1 + ((-1.5)*s_1);",
        "tau[0] = s_1 - (s_1/2.0);",
        "tau[0] = y - (s_1*2.0);",
    }
    text = (
        "    const double angle[arm_ANGLES] = {q[0], t1};\n    const double c_2 = turn.cosine[1];\n"
    )
    changed_lines |= {
        error.applied(text).splitlines()[error.line - 1].strip() for error in errors(text)
    }
    assert changed_lines >= {
        "const double angle[arm_ANGLES] = {q[1], t1};",
        "const double c_2 = turn.sine[1];",
        "const double c_2 = turn.cosine[0];",
    }
    assert all(line.startswith(("const double", "tau[0] = ")) for line in changed_lines)

"""Errors of one token in generated text: `verify` refuses those that change a result, and the
sampler sees that they do.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants_of_folders import Plot, Slip, judged, slips


@pytest.mark.parametrize("kind", ["scan", "batch, checked", "cuda of loops"])
def test_errors_that_are_not_refused_change_no_result(kind: str) -> None:
    total = judged(kind, 6, seed=49)
    assert total.planted == 6
    assert total.whole == 6
    assert total.harmful == 0


@pytest.mark.slow
def test_the_sampler_sees_that_a_result_changes(tmp_path: Path) -> None:
    plot = Plot("batch, checked", tmp_path)
    file, old = "arm_forward_dynamics_batch.c", "first += 8"
    start = plot.texts[file].index(old)
    error = Slip(file, start, start + len(old), "first += 9")
    assert plot.changes_results(error)
    assert plot.refused_by_reading(error)
    assert plot.refused_by_verify(error)
    comment = Slip(file, start, start + len(old), "first += 8 /* states */")
    assert not plot.changes_results(comment)
    assert not plot.refused_by_verify(comment)
    assert plot.refused_by_verify(comment, without_names=True)


def test_the_same_seed_plants_the_same_errors(tmp_path: Path) -> None:
    import random

    text = Plot("batch, checked", tmp_path).texts["arm_lanes.h"]
    first, second = (slips("arm_lanes.h", text, random.Random(3)) for _ in range(2))
    assert first == second
    assert len(first) > 100

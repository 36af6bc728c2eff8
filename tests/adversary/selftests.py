"""One-token errors in C: the self-test must detect large errors, and reading back every error."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import symgen
from symgen.pipeline import build
from symgen.readback.rows import compare
from symgen.support.errors import SymgenError
from symgen.vocabulary.reals import REALS
from tests.adversary import Failure, _differentials, _robots
from tests.mutants_of_c import FAR, Plot, sample
from tests.shared.robots_for_tests import OPEN

WORD = (
    f"The self-test passes no result that is more than {FAR} times as far from the truth as the C"
    " may be, and reading the C back passes no text but the Program's."
)

FUNCTIONS = 2
EACH = 6
DERIVED = 0.3
"""Fraction of functions of which a derivative is taken."""


def tries(seed: int) -> Iterator[Failure | None]:
    """Try one error at each step."""
    for count in itertools.count():
        random = Random(f"selftests/{seed}/{count}")
        mechanism = (
            symgen.load(random.choice(sorted(OPEN)))
            if random.random() < 0.3
            else _robots.mechanism(random)
        )
        real = random.choice(sorted(REALS))
        with tempfile.TemporaryDirectory(prefix="symgen-selftests-") as folder:
            try:
                functions = random.sample(sorted(build.requested(mechanism, None)), FUNCTIONS)
                derivative_names = [
                    _differentials.some(random, function, ()) for function in functions
                ]
                functions = [
                    derivative if derivative is not None and random.random() < DERIVED else function
                    for function, derivative in zip(functions, derivative_names, strict=True)
                ]
                plot = Plot(mechanism, real, Path(folder), functions)
            except SymgenError:
                continue
            for function in plot.programs:
                yield from _attacked(plot, function, f"{seed}/{count}")


def _attacked(plot: Plot, function: str, seed: str) -> Iterator[Failure | None]:
    text = plot.text(function)
    if plot.unjudged(function):
        return
    if not plot.selftest(function, plot.at / "whole"):
        yield Failure(
            f"{function} in {plot.real} as it was printed fails its own self-test", _files(plot)
        )
    chosen = sample(text, EACH, seed)
    for error, verdict in zip(
        chosen, plot.judged(function, [edit.applied(text) for edit in chosen]), strict=True
    ):
        error_text = f"{error.new!r} on line {error.line} of {function}"
        wrong = error.applied(text)
        if verdict.missed:
            yield Failure(
                f"the self-test passes {error_text}, {verdict.far:.3g} bounds off",
                _files(plot) | {"wrong.c": wrong},
            )
        elif not compare(plot.programs[function], wrong):
            yield Failure(
                f"reading the C back passes {error_text}", _files(plot) | {"wrong.c": wrong}
            )
        else:
            yield None


def _files(plot: Plot) -> dict[str, str | bytes]:
    return {path.name: path.read_bytes() for path in plot.generated.iterdir() if path.is_file()}

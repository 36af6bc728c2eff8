"""Mutated and very long descriptions: readers must read or refuse them in linear time.

A try is 20 inputs of the fuzzer in one format, or one kind of long text, timed at two sizes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle

from symgen.description.loading import load
from symgen.support.errors import SymgenError
from tests.adversary import Failure
from tests.fuzz.engine import Engine, Tried, name_of
from tests.fuzz.judging import JUDGES
from tests.shared.reader_growths import GROWTHS

WORD = "any bytes are read, in time that grows as their number, or refused in one sentence that names the file"
INPUTS = 20
SIZE = 60_000
"""Bytes of the smaller of two texts."""
_STEEPEST = 3.0
"""Largest ratio of times for a text of twice the size; quadratic time has ratio four."""
_LEAST = 0.1
"""CPU seconds below which a time is too inaccurate on a busy machine."""
_LONGEST = 40.0
"""Largest CPU seconds per megabyte, on a slow machine."""


def tries(seed: int) -> Iterator[Failure | None]:
    dice = random.Random(seed)
    engines = {form: Engine(form, seed) for form in JUDGES}
    runs = {form: iter(engine) for form, engine in engines.items()}
    try:
        for form in cycle([*JUDGES]):
            yield _fuzzed(form, [next(runs[form]) for _ in range(INPUTS)])
            kind = dice.choice([*GROWTHS])
            yield _grown(kind, dice.choice([*GROWTHS[kind]]))
    finally:
        for engine in engines.values():
            engine.close()


def _fuzzed(form: str, tried: list[Tried]) -> Failure | None:
    for attempt in tried:
        if attempt.failure:
            return Failure(
                f"{form}: {attempt.failure}", {name_of(attempt.data, form): attempt.data}
            )
    return None


def _grown(form: str, growth: str) -> Failure | None:
    """Time a text at two sizes; if the ratio looks quadratic, measure again."""
    write = GROWTHS[form][growth]
    count = 20
    while len(write(count)) < SIZE and count < SIZE:
        count *= 2
    single, two = write(count), write(2 * count)
    slow = _time(two)
    if slow > _LONGEST * len(two) / 1e6:
        return Failure(
            f"{growth}: {len(two)} characters of {form} took {slow:.1f} s", {f"r.{form}": two}
        )
    if slow < _LEAST or slow <= _STEEPEST * _time(single):
        return None
    if min(slow, _time(two)) <= _STEEPEST * max(_time(single), _time(single)):
        return None
    return Failure(
        f"{growth}: twice the text of {form} took more than {_STEEPEST:g} times as long",
        {f"r.{form}": two},
    )


def _time(text: str) -> float:
    start = time.process_time()
    with suppress(SymgenError):
        load(f"{text}\n#\n")  # several lines, so that it is read as a text, not as a path
    return time.process_time() - start

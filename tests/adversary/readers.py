"""Mutated and very long descriptions, which readers must read or refuse in linear time.

A try is INPUTS inputs of the fuzzer in one format, or one kind of long text, timed at two lengths.
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

WORD = (
    "any bytes are read, in time that grows as their number, or refused in one sentence that names"
    " the file"
)
INPUTS = 20
SIZE = 60_000
"""Least number of characters of the shorter of two texts."""
_LARGEST_RATIO = 3.0
"""Largest ratio of times for a text of twice the length; quadratic time has ratio four."""
_LEAST_SECONDS = 0.1
"""CPU seconds below which a time is too inaccurate on a busy machine."""
_SECONDS_PER_MEGABYTE = 40.0
"""Largest CPU seconds per megabyte, on a slow machine."""


def tries(seed: int) -> Iterator[Failure | None]:
    """Yield the result of each try: one of the fuzzer, then one of a long text, for each format in
    turn.
    """
    chance = random.Random(seed)
    engines = {file_format: Engine(file_format, seed) for file_format in JUDGES}
    fuzzers = {file_format: iter(engine) for file_format, engine in engines.items()}
    try:
        for file_format in cycle([*JUDGES]):
            yield _first_failure(file_format, [next(fuzzers[file_format]) for _ in range(INPUTS)])
            long_format = chance.choice([*GROWTHS])
            yield _slow_growth(long_format, chance.choice([*GROWTHS[long_format]]))
    finally:
        for engine in engines.values():
            engine.close()


def _first_failure(file_format: str, attempts: list[Tried]) -> Failure | None:
    """Return the failure of the first input that a reader treats wrongly."""
    for attempt in attempts:
        if attempt.failure:
            return Failure(
                f"{file_format}: {attempt.failure}",
                {name_of(attempt.data, file_format): attempt.data},
            )
    return None


def _slow_growth(file_format: str, growth: str) -> Failure | None:
    """Return a failure if reading a text takes too long, or far more than twice as long at twice
    the length.
    """
    write = GROWTHS[file_format][growth]
    count = 20
    while len(write(count)) < SIZE and count < SIZE:
        count *= 2
    text, double_text = write(count), write(2 * count)
    seconds = _reading_time(double_text)
    if seconds > _SECONDS_PER_MEGABYTE * len(double_text) / 1e6:
        return Failure(
            f"{growth}: {len(double_text)} characters of {file_format} took {seconds:.1f} s",
            {f"r.{file_format}": double_text},
        )
    if seconds < _LEAST_SECONDS or seconds <= _LARGEST_RATIO * _reading_time(text):
        return None
    # A busy machine can distort one measurement: compare the best time of the long text with the
    # worst time of the short one.
    longest_of_two = max(_reading_time(text), _reading_time(text))
    if min(seconds, _reading_time(double_text)) <= _LARGEST_RATIO * longest_of_two:
        return None
    return Failure(
        f"{growth}: twice the text of {file_format} took more than {_LARGEST_RATIO:g} times as"
        " long",
        {f"r.{file_format}": double_text},
    )


def _reading_time(text: str) -> float:
    """Return the CPU seconds in which `text` is read or refused."""
    start = time.process_time()
    with suppress(SymgenError):
        load(f"{text}\n#\n")  # several lines, so that it is read as a text, not as a path
    return time.process_time() - start

"""Conversion of a readable input to every format and back: equal masses and coordinates, or one
sentence.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from symgen.description.loading import load
from symgen.description.writers import writers
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import SymgenError
from tests.fuzz.words import LONGEST_SENTENCE, Broken, refused

NEAR = Fraction(1, 10**50)
"""Tolerance of numbers that are written with 60 digits."""
SUFFIXES = {"toml": ".toml", "urdf": ".urdf", "mjcf": ".xml"}
_TOLD = re.compile(r"read the file with --([a-z-]+) (\S+)$")


def converted(mechanism: Mechanism, folder: Path) -> None:
    """Raise Broken if a converted robot is refused when read back, or is another robot."""
    for format_, writer in writers().items():
        try:
            written = writer.write(mechanism)
        except SymgenError as error:
            refused(error, "")
            continue
        for sentence in written.left_out:
            if len(sentence) >= LONGEST_SENTENCE or not sentence.isprintable():
                raise Broken(f"what {format_} leaves out is said as {sentence[:120]!r}")
        warned = {
            match[1].replace("-", "_"): match[2]
            for omission in written.left_out
            if (match := _TOLD.search(omission))
        }
        path = folder / f"written{SUFFIXES[format_]}"
        path.write_text(written.text, encoding="utf-8")
        try:
            converted = load(path, **warned)  # type: ignore[arg-type]
        except SymgenError as error:
            raise Broken(f"what was written as {format_} is not read back: {error}") from None
        if converted.nv != mechanism.nv or abs(converted.mass - mechanism.mass) > NEAR * abs(
            mechanism.mass
        ):
            raise Broken(
                f"what was written as {format_} has {converted.nv} velocities and"
                f" {float(converted.mass):g} kg, and was {mechanism.nv} and"
                f" {float(mechanism.mass):g} kg"
            )

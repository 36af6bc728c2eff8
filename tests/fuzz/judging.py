"""Verdict on one input: symgen reads, writes, reads back and shows it, or refuses it in one
sentence.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from zlib import crc32

from symgen.description.canonical import to_toml
from symgen.description.loading import is_text, load
from symgen.description.quantities import (
    CANONICAL_DIGITS,
    Location,
    angle,
    angle_text,
    fraction_text,
    number,
    rational,
)
from symgen.description.snapping import Snapper
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.report.show import facts, show
from symgen.support.errors import ArgumentError, DescriptionError, SymgenError
from tests.fuzz.converting import converted
from tests.fuzz.words import Broken, refused

READING = 3.0
"""CPU seconds that an input of a few kilobytes may take to be read or refused, on a slow machine.
"""
TELLING = 20.0
"""CPU seconds to write, read back and show what was read; SymPy chooses the frames that are shown.
"""
LOCKS = ("0", "pi/2", "-1.5708", "0.3", "1e300", "2*pi", "1/3")


class TooLong(BaseException):
    """Excess of the CPU limit by an input; `except Exception` must not catch it."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TooLong(f"more than {seconds:g} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def description(data: bytes, folder: Path, suffix: str) -> str:
    """Return `read` or `refused`; raise Broken, TooLong or symgen's unexpected exception."""
    path = folder / f"r{suffix}"
    path.write_bytes(data)
    dice = crc32(data)
    try:
        with within(READING):
            mechanism = load(path)
    except SymgenError as error:
        return refused(error, path.name)
    with within(TELLING):
        _check_written_toml(mechanism, folder, shown=dice % 4 == 0)
    if dice % 3 == 0:
        _locked(mechanism, path, dice)
    if dice % 5 == 0:
        _as_text(mechanism, data, suffix)
    if dice % 4 == 1:
        with within(TELLING):
            converted(mechanism, folder)
    return "read"


def _check_written_toml(mechanism: Mechanism, folder: Path, shown: bool) -> None:
    again = folder / "again.toml"
    again.write_text(to_toml(mechanism), encoding="utf-8")
    try:
        reloaded = load(again)
    except SymgenError as error:
        raise Broken(f"what was written is not read back: {error}") from None
    if replace(reloaded, source_sha256=mechanism.source_sha256) != mechanism:
        raise Broken("what was written is read back as another mechanism")
    if shown:
        try:
            text = show(mechanism)
            json.dumps(facts(mechanism))
        except SymgenError as error:  # numbers that are ordinary alone, and whose sum is not
            refused(error, "")
            return
        for line in text.split("\n"):
            if len(line) > 100 or not line.isprintable():
                raise Broken(f"a shown line of {len(line)} columns: {line[:120]!r}")


def _locked(mechanism: Mechanism, path: Path, dice: int) -> None:
    """Read the file with a joint locked, and strictly."""
    joint = mechanism.joints[dice // 3 % len(mechanism.joints)].name
    try:
        with within(READING):
            locked_mechanism = load(
                path, lock={joint: LOCKS[dice // 7 % len(LOCKS)]}, strict=dice % 2 == 0
            )
    except SymgenError as error:
        refused(error, "")
        return
    with within(TELLING):
        _check_written_toml(locked_mechanism, path.parent, shown=False)


def _as_text(mechanism: Mechanism, data: bytes, suffix: str) -> None:
    """Read the input as text instead of a file, if it is text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    if (
        suffix == ".csv"
        or not is_text(text)
        or (text.lstrip("\ufeff \t\r\n")[:1] == "<") != (suffix != ".toml")
    ):
        return
    with within(READING):
        read_back = load(text)
    if (read_back.joints, read_back.bodies, read_back.frames) != (
        mechanism.joints,
        mechanism.bodies,
        mechanism.frames,
    ):
        raise Broken("the text gives another mechanism than the file")


def quantity(data: bytes, folder: Path, suffix: str) -> str:
    """Judge the reading of one number or angle."""
    text = data.decode("utf-8", "surrogateescape")
    verdicts = []
    with within(READING):
        for parse in (_number, _rational, _angle, _snapped):
            try:
                parse(text)
                verdicts.append("read")
            except (DescriptionError, ArgumentError) as error:
                refused(error, "")
    return "read" if verdicts else "refused"


def _number(text: str) -> None:
    value = number(text)
    if value != Fraction(Decimal(text.strip())):
        raise Broken(f"{text!r} is read as {value}")
    _readable(value)


def _rational(text: str) -> None:
    _readable(rational(text))


def _readable(value: Fraction) -> None:
    float(value)
    if rational(fraction_text(value)) != value:
        raise Broken(f"{value} is written as {fraction_text(value)!r}, which is another number")


def _angle(text: str) -> None:
    value = angle(text)
    float(value)
    again = angle_text(value)
    if angle(again, digits=CANONICAL_DIGITS) != value:
        raise Broken(f"the angle {text!r} is written as {again!r}, which is another one")


def _snapped(text: str) -> None:
    snapper = Snapper()
    exact, value = angle(text), snapper.angle(text, PLACE)
    for snap in snapper.snaps:
        if not snap.text.isprintable():
            raise Broken(f"a remark with characters that nobody can print: {snap.text!r}")
    if exact != value and abs(float(exact) - float(value)) > 1e-3:
        raise Broken(f"the angle {text!r} moved from {exact} to {value}")


PLACE = Location("r.urdf", 1, "origin")

Judge = Callable[[bytes, Path, str], str]
JUDGES: dict[str, tuple[Judge, str]] = {
    "urdf": (description, ".urdf"),
    "toml": (description, ".toml"),
    "sdf": (description, ".sdf"),
    "mjcf": (description, ".mjcf"),
    "csv": (description, ".csv"),
    "quantities": (quantity, ".txt"),
}
"""Format -> function that judges its inputs, and suffix of its files."""

"""Mutations of inputs: parts of XML and TOML deleted, doubled, moved or exchanged, odd values,
bytes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

_TAGS = re.compile(rb"<[^<>]*>")
_ELEMENTS = re.compile(
    rb"<(\w+)\b[^<>]*/>|<(link|joint|inertial|transmission|visual|origin|limit|pose|axis|axis2|"
    rb"xyz|inertia|mass|model|frame|include|mimic|dynamics)\b[^<>]*>.*?</\2>",
    re.DOTALL,
)
_ATTRIBUTES = re.compile(rb"""\s[\w:]+\s*=\s*("[^"]*"|'[^']*')""")
_QUOTED = re.compile(rb""""[^"\n]*"|'[^'\n]*'""")
_NUMBERS = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_WORDS = re.compile(rb"[A-Za-z_]\w*")
_LINES = re.compile(rb"[^\n]*\n")
_BLOCKS = re.compile(rb"^\[\[?[^\n]*\n(?:[^\[\n][^\n]*\n)*", re.MULTILINE)
_PIECES = (_TAGS, _ELEMENTS, _ATTRIBUTES, _QUOTED, _NUMBERS, _WORDS, _LINES, _BLOCKS)
LARGEST = 20_000
"""Largest size of an input (bytes); tests/adversary/readers.py measures the growth of time."""

ODD = [
    word.encode("utf-8", "surrogatepass")
    for word in (
        "",
        " ",
        "0",
        "-0.0",
        "1",
        "-1",
        "0.5",
        "1e300",
        "1.7e308",
        "-1.7e308",
        "1e-330",
        "5e-324",
        "1e330",
        "1e999999999",
        "9" * 59,
        "9" * 61,
        "9" * 300,
        "1." + "3" * 58,
        "0." + "0" * 300 + "1",
        "1.5708",
        "3.1416",
        "-1.57079",
        "1.5707963267948966",
        "nan",
        "inf",
        "-inf",
        "+inf",
        "0x10",
        "1_000",
        "1/3",
        "1/0",
        "0/1",
        "1/1e-330",
        "pi",
        "pi/2",
        "-3*pi/4",
        "2*pi - 0.1",
        "90 deg",
        "1e300*pi",
        "pi/1e300",
        "π/2",
        "deg",
        "--1",
        "1+" * 25 + "1",
        "1e10*" * 19 + "1",
        "0 0 0",
        "0 0 1",
        "1,2,3",
        "1 2",
        "1e300 1e300 1e300",
        "true",
        "false",
        "fixed",
        "floating",
        "prismatic",
        "revolute",
        "continuous",
        "helical",
        "planar",
        "spherical",
        "Revolute",
        "dh",
        "mdh",
        "off",
        "wild",
        "world",
        "base",
        "a",
        "b",
        "j",
        "link1",
        "joint1",
        "centre",
        "__model__",
        "a::b",
        "1.4",
        "1.6",
        "1.11",
        "gearbox",
        "screw",
        "ball",
        "universal",
        "frame",
        "n" * 200,
        "n" * 201,
        "ä",
        "\u202e",
        "\u2028",
        "\ufeff",
        "\0",
        "\x1b[31m",
        "\r",
        "\n",
        "\t",
        "\ud800",
        "😀",
        "${x}",
        "$(find a)",
        "{x}",
        "%s",
        "&lt;",
        "&#10;",
        "&#0;",
        "&x;",
        "]]>",
        "<!--",
        "-->",
        "<![CDATA[",
        "<?x",
        "?>",
        "<!DOCTYPE r>",
        "<!ENTITY a 'b'>",
        "<x:y/>",
        "xmlns:x='y'",
        "xmlns='http://x'",
        "<xacro:x/>",
        "'''",
        '"""',
        '"',
        "'",
        "#",
        "=",
        "[",
        "]",
        "[[",
        "{",
        "}",
        "[[body]]",
        "[[row]]",
        "[[frame]]",
        "[[body.part]]",
        "[[note]]",
        "repeat = 3",
        "repeat = 2000",
        "steps = []",
        "mass = 1",
        "1979-05-27",
        "\\u0000",
        "\\uD800",
        "x.y",
        "x" + ".x" * 70,
        "<?xml version='1.0' encoding='utf-16'?>",
        "<?xml version='0.0' encoding='latin-1'?>",
        "__import__('os')",
    )
]
_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"<\0", b"\0<")
_ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "latin-1", "utf-8-sig", "utf-7", "utf-32")


def mutated(dice: random.Random, data: bytes, other_inputs: Sequence[bytes]) -> bytes:
    """Apply one to six changes to `data`; some of them insert parts of `other_inputs`."""
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3, 6))):
        data = dice.choices(_CHANGES, _WEIGHTS)[0](dice, data, dice.choice(other_inputs))[:LARGEST]
    return data


def _matched_span(dice: random.Random, data: bytes, pattern: re.Pattern[bytes]) -> tuple[int, int]:
    spans = [match.span() for match in pattern.finditer(data)]
    return dice.choice(spans) if spans else (0, 0)


def _left_out(dice: random.Random, data: bytes, second: bytes) -> bytes:
    start, end = _matched_span(dice, data, dice.choice(_PIECES))
    return data[:start] + data[end:]


def _doubled(dice: random.Random, data: bytes, second: bytes) -> bytes:
    start, end = _matched_span(dice, data, dice.choice(_PIECES))
    return data[:end] + data[start:end] * dice.choice((1, 1, 2, 20)) + data[end:]


def _move_piece(dice: random.Random, data: bytes, second: bytes) -> bytes:
    pattern = dice.choice(_PIECES)
    start, end = _matched_span(dice, data, pattern)
    remaining = data[:start] + data[end:]
    at, _ = _matched_span(dice, remaining, pattern)
    return remaining[:at] + data[start:end] + remaining[at:]


def _exchanged(dice: random.Random, data: bytes, second: bytes) -> bytes:
    """Replace a part by one of the same kind from this file or from another."""
    pattern = dice.choice(_PIECES)
    start, end = _matched_span(dice, data, pattern)
    source = dice.choice((data, second))
    first, last = _matched_span(dice, source, pattern)
    return data[:start] + source[first:last] + data[end:]


def _odd(dice: random.Random, data: bytes, second: bytes) -> bytes:
    start, end = _matched_span(
        dice, data, dice.choice((_QUOTED, _QUOTED, _NUMBERS, _NUMBERS, _WORDS))
    )
    quote = data[start : start + 1] if data[start : start + 1] in (b'"', b"'") else b""
    return data[:start] + quote + dice.choice(ODD) + quote + data[end:]


def _put_in(dice: random.Random, data: bytes, second: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice((dice.choice(ODD), bytes([dice.randrange(256)]))) + data[at:]


def _flipped(dice: random.Random, data: bytes, second: bytes) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + bytes(b ^ 1 << dice.randrange(8) for b in data[at : at + 1]) + data[at + 1 :]


def _cut(dice: random.Random, data: bytes, second: bytes) -> bytes:
    start = dice.randrange(len(data) + 1)
    return data[:start] + data[start + dice.choice((1, 1, 8, 64, len(data))) :]


def _spliced(dice: random.Random, data: bytes, second: bytes) -> bytes:
    pattern = dice.choice((_TAGS, _LINES, _BLOCKS))
    return (
        data[: _matched_span(dice, data, pattern)[0]]
        + second[_matched_span(dice, second, pattern)[0] :]
    )


def _encoded(dice: random.Random, data: bytes, second: bytes) -> bytes:
    if dice.random() < 0.5:
        return dice.choice(_BOMS) + data
    return data.decode("utf-8", "replace").encode(dice.choice(_ENCODINGS), "replace")


Change = Callable[[random.Random, bytes, bytes], bytes]
_CHANGES: tuple[Change, ...] = (
    _left_out,
    _doubled,
    _move_piece,
    _exchanged,
    _odd,
    _put_in,
    _flipped,
    _cut,
    _spliced,
    _encoded,
)
_WEIGHTS = (6, 6, 4, 8, 10, 3, 2, 1, 3, 0.3)

"""A guard that a checked function lacks is missed by the reader, whoever dropped it: the printer,
or somebody's editor.
"""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from typing import Any

import pytest

import symgen
from symgen.certificate import checked_bounds
from symgen.delivery.verifying import verify
from symgen.emission import checks, definition, sincos
from symgen.emission.backends import c99
from symgen.emission.writer import live_rows
from symgen.ir.program import Bound, Port, Program
from symgen.readback import literals, required_checks
from symgen.readback.rows import compare
from symgen.vocabulary.arrays import Sizes
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.reals import DOUBLE, FLOAT, REALS, Real
from tests.shared.c_programs import Builder, vector
from tests.shared.robots_for_tests import BUILT_IN

pytestmark = pytest.mark.usefixtures("finished_here")  # what is certified are rows after all passes

CHECKED = TextOptions("inline", checked=True)
Checked = tuple[Program, c99.Target, Mapping[int, Bound]]


def checked(robot: str, function: str = "forward_dynamics", real: str = "double") -> Checked:
    """As a folder of `--checked --trig inline` has it."""
    mechanism = symgen.load(robot)
    program = symgen.program(mechanism, function, real=real)
    target = c99.Target(mechanism.name, mechanism.sizes, CHECKED)
    return (
        program,
        target,
        checked_bounds(mechanism, {function: program}, ProgramOptions(real), CHECKED)[function],
    )


def three_kinds(real: str = "double") -> Checked:
    """A divisor, a divisor under a floor, a logarithm and a root, of angles that are turned."""
    b = Builder("gravity_force", [vector("q", 4)], real)
    x = [b.input(0, k) for k in range(4)]
    turned = b.op("sin", b.op("add", x[0], x[1]))
    rows = (
        b.op("div", turned, x[0]),
        b.op("div", turned, x[1]),
        b.op("log", x[2]),
        b.op("sqrt", x[3]),
    )
    return (
        b.program([Port("g", (4,), rows)]),
        c99.Target("arm", Sizes(4, 4, 4), CHECKED),
        {x[1]: Fraction(1, 7)},
    )


# The printer drops one


def fewer(guards: list[Any]) -> Iterator[list[Any]]:
    yield from (guards[:k] + guards[k + 1 :] for k in range(len(guards)))


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("what", ["guards", "angles", "finite_rows"])
def test_a_guard_that_the_printer_drops_is_missed(
    what: str, real: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, target, divisor_bounds = three_kinds(real)
    live = live_rows(program)
    whole: list[Any] = {
        "guards": checks.guards(program, live, divisor_bounds),
        "angles": checks.angles(program, live),
        "finite_rows": checks.finite_rows(program, live),
    }[what]
    assert len(whole) == (1 if what == "angles" else 4)
    assert (
        compare(program, c99.source(program, target, divisor_bounds), checked=divisor_bounds) == []
    )
    for left in fewer(whole):
        monkeypatch.setattr(checks, what, lambda *_, left=left: left)
        assert (
            compare(program, c99.source(program, target, divisor_bounds), checked=divisor_bounds)
            != []
        )


WEAKER = {
    "a magnitude for a sign": lambda g: g._replace(magnitude=True),
    "half the bound": lambda g: g._replace(bound=g.bound / 2),
    "no bound": lambda g: g._replace(bound=Fraction(0)),
    "a bound below": lambda g: g._replace(bound=-g.bound - 1),
}


@pytest.mark.parametrize("how", WEAKER)
def test_a_guard_that_the_printer_weakens_is_missed(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, target, divisor_bounds = three_kinds()
    whole = checks.guards(program, live_rows(program), divisor_bounds)
    for k, guard in enumerate(whole):
        if (weaker := WEAKER[how](guard)) != guard:
            monkeypatch.setattr(
                checks,
                "guards",
                lambda *_, k=k, weaker=weaker: [*whole[:k], weaker, *whole[k + 1 :]],
            )
            assert (
                compare(
                    program, c99.source(program, target, divisor_bounds), checked=divisor_bounds
                )
                != []
            ), guard


def test_a_farther_angle_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    program, target, divisor_bounds = three_kinds()
    monkeypatch.setattr(sincos, "RANGE", 2 * sincos.RANGE)
    assert (
        compare(program, c99.source(program, target, divisor_bounds), checked=divisor_bounds) != []
    )


def test_statuses_that_change_places_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    program, target, divisor_bounds = three_kinds()
    assert tuple(checks.STATUSES) == required_checks.STATUSES
    monkeypatch.setattr(checks, "STATUSES", dict(reversed(checks.STATUSES.items())))
    text, header = (
        c99.source(program, target, divisor_bounds),
        c99.header({program.function: program}, target),
    )
    assert compare(program, text, header, divisor_bounds) != []


def test_verify_misses_it_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    guards = checks.guards
    monkeypatch.setattr(checks, "guards", lambda *arguments: guards(*arguments)[1:])
    report = verify("planar_arm", ["forward_dynamics"], 1, checked=True, compiled=False)
    assert [check.kind for check in report.checks if not check.passed and not check.unjudged] == [
        "text"
    ]


# Somebody's editor drops one, in the checked C of every built-in robot

CONDITIONS = {
    "argument": r"\(0\.0f?\*\w+\[\d+\]\)",
    "angle": r"\(fabsf?\([\w\[\]]+\) <= 32768\.0f?\)",
    "result": r"\(0\.0f?\*\w+\)",
    "divisor": r"\((?!none)(?:fabsf?\(\w+\)|\w+) >= [\d.e+-]+f?\)",
}


def without(text: str, condition: re.Match[str]) -> str:
    """The text without one of several parts of a conjunction or a sum."""
    before, after = text[: condition.start()], text[condition.end() :]
    joined = re.match(r"\s+(&&|\+)\s+", after)
    return (
        before + after[joined.end() :] if joined else re.sub(r"\s+(&&|\+)\s+$", "", before) + after
    )


@pytest.mark.parametrize(("robot", "real"), [*zip(BUILT_IN, cycle(REALS), strict=False)])
def test_every_kind_of_guard_that_a_text_lacks_is_missed(robot: str, real: str) -> None:
    program, target, divisor_bounds = checked(robot, real=real)
    text = c99.source(program, target, divisor_bounds)
    assert compare(program, text, checked=divisor_bounds) == []
    pick, live = random.Random(robot + real), live_rows(program)
    asked: dict[str, Any] = {
        "argument": range(sum(port.size for port in program.inputs)),
        "angle": checks.angles(program, live),
        "result": checks.finite_rows(program, live),
        "divisor": checks.guards(program, live, divisor_bounds),
    }
    for kind, pattern in CONDITIONS.items():
        matches = [*re.finditer(pattern, text)]
        assert len(matches) == len(asked[kind]), kind
        assert (
            compare(program, without(text, pick.choice(matches)), checked=divisor_bounds) != []
        ), kind


def test_every_guard_of_an_arm_that_a_text_lacks_is_missed() -> None:
    program, target, divisor_bounds = checked("planar_arm")
    text = c99.source(program, target, divisor_bounds)
    dropped = [
        without(text, match)
        for pattern in CONDITIONS.values()
        for match in re.finditer(pattern, text)
    ]
    assert len(dropped) >= 8
    assert all(compare(program, broken, checked=divisor_bounds) != [] for broken in dropped)


# What a literal is


def test_the_nearest_number_is_what_the_machine_takes() -> None:
    pick = random.Random(3)
    for _ in range(2000):
        value = Fraction(pick.getrandbits(120) - 2**119, pick.getrandbits(100) + 1) * Fraction(
            2
        ) ** pick.randint(-1100, 900)
        assert literals.nearest(value, DOUBLE) == (value < 0, abs(Fraction(float(value))))
        single = Fraction(
            struct.unpack("<f", pick.randbytes(3) + b"\x41")[0]
        )  # between two numbers of the type, and on ties
        above = single + FLOAT.spacing(float(single))
        for share, expected in ((Fraction(1, 3), single), (Fraction(2, 3), above)):
            assert literals.nearest(single + share * (above - single), FLOAT) == (False, expected)
        even = next(x for x in (single, above) if x / FLOAT.spacing(float(single)) % 2 == 0)
        assert literals.nearest((single + above) / 2, FLOAT)[1] == even


@pytest.mark.parametrize(("exponent", "real"), [(-1074, DOUBLE), (-149, FLOAT)])
def test_the_smallest_numbers_are_rounded_to_even(exponent: int, real: Any) -> None:
    for thirds, expected in ((1, 0), (2, 1), (3, 1), (4, 1), (5, 2)):
        assert (
            literals.nearest(Fraction(thirds, 3) * Fraction(2) ** exponent, real)[1]
            == expected * Fraction(2) ** exponent
        )
    for halves, expected in ((1, 0), (3, 2), (5, 2), (7, 4)):
        assert (
            literals.nearest(Fraction(halves, 2) * Fraction(2) ** exponent, real)[1]
            == expected * Fraction(2) ** exponent
        )


@pytest.mark.parametrize(("text", "real"), [
    ("1.0", FLOAT), ("1.0f", DOUBLE), ("1", DOUBLE), ("1.0l", DOUBLE), ("1e400", DOUBLE),
    ("1e39f", FLOAT), ("1e99999", DOUBLE),
    ("0x1p3", DOUBLE), (".5", DOUBLE), ("1.", DOUBLE), ("", DOUBLE), ("f", FLOAT),
])  # fmt: skip
def test_what_is_no_literal_of_the_type(text: str, real: Any) -> None:
    assert literals.literal(text, real) is None


def test_a_printer_that_rounds_another_way_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice through double, which is off for one constant in a few hundred millions: here such a
    one.
    """
    b = Builder("gravity_force", [vector("q", 1)], "float")
    twice = Fraction(1) + Fraction(1, 2**24) + Fraction(1, 2**60)
    program = b.program([Port("g", (1,), (b.op("mul", b.const(twice), b.input(0, 0)),))])
    target = c99.Target("arm", Sizes(1, 1, 1))
    assert compare(program, c99.source(program, target)) == []

    def slipped(value: Fraction, real: Real) -> str:
        return f"{struct.unpack('<f', struct.pack('<f', float(value)))[0]!r}{real.suffix}"

    monkeypatch.setattr(definition, "C", replace(definition.C, literal=slipped))
    assert compare(program, c99.source(program, target)) != []

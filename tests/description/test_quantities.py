"""Text to exact numbers, and the snapping of right angles."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgen.description.quantities import (
    Location,
    angle,
    angle_text,
    fraction_text,
    number,
    rational,
)
from symgen.description.snapping import HALF_PI, Snapper, snap_token, snap_tolerance
from symgen.support.errors import DescriptionError, RequestError, SymgenError
from symgen.vocabulary.poses import Angle


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0.0", 0),
        ("1.", 1),
        (".5", Fraction(1, 2)),
        ("+2.50", Fraction(5, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("-1.5E+2", -150),
        (" 3 ", 3),
        ("5.77686e-66", Fraction(577686, 10**71)),
        ("5e-324", Fraction(5, 10**324)),
    ],
)
def test_decimals_keep_their_value(text: str, value: Fraction | int) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "e5",
        "nan",
        "inf",
        "-Infinity",
        "0x10",
        "1_000",
        "1,5",
        "1.2.3",
        "--1",
        "1 2",
        "pi",
        "1/2",
        "1e999999999",
        "1e331",
        "2e308",
        "1" * 61,
        "0." + "1" * 61,
        "9" * 100_000,
        "__import__('os')",
        "1e",
        "٣",
        "1e٣",
        "1;2",
    ],
)
def test_text_that_is_not_a_decimal_is_refused(text: str) -> None:
    with pytest.raises(DescriptionError) as error:
        number(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("text", "radians", "pi"),
    [
        ("0.3", "0.3", "0"),
        ("pi", "0", "1"),
        ("-pi", "0", "-1"),
        ("pi/2", "0", "1/2"),
        ("-3*pi/4", "0", "-3/4"),
        ("2*pi", "0", "2"),
        ("pi*2/3", "0", "2/3"),
        ("2*pi - 0.1", "-0.1", "2"),
        ("90 deg", "0", "1/2"),
        ("-45deg", "0", "-1/4"),
        ("1/3", "1/3", "0"),
        ("0.5*pi + pi/4 - 30 deg", "0", "7/12"),
        ("π/2", "0", "1/2"),
    ],
)
def test_an_angle_is_radians_plus_a_multiple_of_pi(text: str, radians: str, pi: str) -> None:
    assert angle(text) == Angle(Fraction(radians), Fraction(pi))


@pytest.mark.parametrize(
    "text",
    [
        "pi pi",
        "pi*pi",
        "1/pi",
        "2**3",
        "pi/0",
        "(pi)",
        "sin(1)",
        "pi/",
        "*pi",
        "2 pi",
        "deg",
        "90 deg deg",
        "pi deg",
        "+",
        "1+",
        "__import__('os').system('true')",
        "pi" * 50,
        "+-" * 100 + "1",
        "1e999999999*pi",
        "exec",
    ],
)
def test_text_that_is_not_an_angle_is_refused(text: str) -> None:
    with pytest.raises(DescriptionError):
        angle(text)


@given(st.fractions(max_denominator=10**6))
def test_a_number_survives_its_text(value: Fraction) -> None:
    assert rational(fraction_text(value)) == value


@given(st.integers(-(10**18), 10**18), st.fractions(max_denominator=99))
def test_an_angle_survives_its_text(billionths: int, pi: Fraction) -> None:
    value = Angle(Fraction(billionths, 10**9), pi)
    assert angle(angle_text(value)) == value


@pytest.mark.parametrize(
    ("token", "turns"),
    [
        ("1.5708", 1),
        ("1.57079", 1),
        ("-1.5708", -1),
        ("3.1416", 2),
        ("3.1415", 2),
        ("1.570796327", 1),
        ("1.57079632679", 1),
        ("1.5707963267948966", 1),
        ("4.71239", 3),
        ("6.28318530718", 4),
        ("1.5707963e+00", 1),
        ("15707.96327e-4", 1),
        ("1e-17", 0),
        ("-4.6e-11", 0),
        ("1e-8", 0),
        ("5.77686e-66", 0),
    ],
)
def test_decimals_near_a_right_angle_snap(token: str, turns: int) -> None:
    assert snap_token(token) == Angle(pi=Fraction(turns, 2))


@pytest.mark.parametrize(
    "token",
    [
        "1.57",
        "1.571",
        "3.142",
        "3.14",
        "0",
        "0.0",
        "-0",
        "1.5709",
        "1.57078",
        "0.00019159",
        "1.1e-8",
        "0.7853981633974483",
        "1.57079625",
        "0.0000",
        "pi/2",
        "1e9",
    ],
)
def test_other_decimals_do_not_snap(token: str) -> None:
    assert snap_token(token) is None


@given(st.integers(-8, 8).filter(bool), st.integers(4, 30))
def test_every_printed_right_angle_snaps(turns: int, decimals: int) -> None:
    """kπ/2, rounded or truncated to at least four decimals, snaps; two units off, it does not."""
    scaled = abs(turns) * HALF_PI * 10**decimals
    cut, rounded = int(scaled), round(scaled)
    for meant in {cut, rounded}:
        token = fraction_text(Fraction(meant, 10**decimals))
        token += "0" * (decimals - len(token.partition(".")[2]))
        assert snap_token(("-" if turns < 0 else "") + token) == Angle(pi=Fraction(turns, 2))
    if decimals <= 7:
        assert (
            snap_token(
                f"{(rounded + 2) // 10**decimals}.{(rounded + 2) % 10**decimals:0{decimals}d}"
            )
            is None
        )


def test_the_snap_option_is_off_or_a_tolerance() -> None:
    assert snap_tolerance(None) == Fraction(1, 10**8)
    assert snap_tolerance("off") is None
    assert snap_tolerance("1e-6") == snap_tolerance(1e-6) == Fraction(1, 10**6)
    assert snap_token("1.5708", None) is None
    assert snap_token("0.0000005", Fraction(1, 10**6)) == Angle()
    assert snap_token("1.5708", Fraction(0)) == Angle(
        pi=Fraction(1, 2)
    )  # with a tolerance, right angles are still recognised by their digits
    for wrong in ("on", "-1", "nan", "1", 2):
        with pytest.raises(RequestError):
            snap_tolerance(wrong)


def test_every_snap_is_recorded() -> None:
    snapper = Snapper()
    for token in ("1.5708", "0", "1.57", "-1e-12"):
        snapper.angle(token, Location("f", 3, "joint 'a'"))
    assert [snap.token for snap in snapper.snaps] == ["1.5708", "-1e-12"]
    assert snapper.snaps[0].text == "line 3, joint 'a': 1.5708 read as pi/2 (moved by 3.7e-06 rad)"


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_in_one_sentence(text: str) -> None:
    for parse in (number, rational, angle):
        try:
            parse(text)
        except SymgenError as error:
            sentence = str(error)
        else:
            sentence = ""
        assert "\n" not in sentence

"""Text to exact numbers, and the snapping of right angles."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgen.description import snapping
from symgen.description.quantities import (
    Location,
    angle,
    angle_text,
    decimal_parts,
    fraction_text,
    is_writable,
    is_writable_angle,
    number,
    rational,
    round_to_digits,
    short_decimal,
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
        ("15707.9e-4", 1),  # five decimals, truncated
        ("0.15708e1", 1),
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
        "355",  # 113π = 355.00003
        "355.000",
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


# -- limits of digits and sizes --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("12.50", (1, "12", "50", 0)),
        (" -.5e-3\n", (-1, "", "5", -3)),
        ("+7.E+10", (1, "7", "", 10)),
        ("3", (1, "3", "", 0)),
        (".", None),
        ("e3", None),
        ("", None),
        ("1 2", None),
        ("1e10000", None),
    ],
)
def test_a_decimal_has_a_sign_figures_and_an_exponent(
    text: str, parts: tuple[int, str, str, int] | None
) -> None:
    assert decimal_parts(text) == parts


def test_only_plain_short_decimals_are_read_from_the_cache() -> None:
    for text in ("1" * 12, "-12.5", "+0." + "0" * 43 + "1", "3.", "9" * 12 + "." + "9" * 44):
        assert short_decimal(text) == number(text)
    for text in ("1" * 13, "1." + "0" * 45, ".5", "1e3", " 1", "1" * 61, "x", ""):
        assert short_decimal(text) is None


def test_the_number_of_digits_is_limited_without_leading_zeros() -> None:
    for digits in (3, 60, 200):
        many = "1" * digits
        assert number(many, digits=digits) == int(many)
        assert number(f"0.000{many}", digits=digits) == Fraction(int(many), 10 ** (digits + 3))
        assert number(f"000{many}", digits=digits) == int(many)
        for longer in (many + "1", f"1.{many}", many + "0"):
            with pytest.raises(DescriptionError, match=f"has more than {digits} digits"):
                number(longer, digits=digits)
    assert number("1" * 60) == int("1" * 60)


def test_the_exponent_and_the_number_of_zeros_are_limited() -> None:
    """An exponent of up to 330, and 60 digits after as many zeros."""
    assert number("3e-330") == Fraction(3, 10**330)
    assert number("0e330") == 0
    assert number("0." + "0" * 389 + "1") == Fraction(1, 10**390)
    assert number("0" * 389 + "1") == 1
    for text in ("3e-331", "0e331", "0." + "0" * 390 + "1", "0" * 390 + "1"):
        with pytest.raises(DescriptionError, match="is beyond ±330"):
            number(text)
    assert number("0" * 389 + "." + "0" * 390) == 0
    with pytest.raises(DescriptionError, match="is not a number"):
        number("0" * 6001)


def test_numbers_are_smaller_than_two_to_the_power_1024() -> None:
    largest = 2**1024 - 1
    assert rational(str(largest)) == largest
    assert rational(f"-{largest}/3") == Fraction(-largest, 3)
    for text in (str(largest + 1), f"-{largest + 1}", f"{3 * largest + 3}/3", "1e300/1e-9"):
        with pytest.raises(DescriptionError, match="is larger than any double"):
            rational(text)


def test_a_quotient_has_two_decimals() -> None:
    assert rational("-1/-3") == Fraction(1, 3)
    assert rational("1.5e2/0.3") == 500
    assert rational("1/" + "3" * 1499) == Fraction(1, int("3" * 1499))
    for text, message in (
        ("1/0", "divides by zero"),
        ("2/4/2", "is not a number"),
        ("1/", "is not a number"),
        ("/2", "is not a number"),
        ("1/" + "3" * 1501, "has more than 1500 digits"),
        ("1e-330/1e300", "is too small a number, or has too many digits"),
    ):
        with pytest.raises(DescriptionError, match=message):
            rational(text)


def test_numbers_are_writable_if_their_text_can_be_read_back() -> None:
    for value, writable in (
        (Fraction(0), True),
        (Fraction(-(2**1024) + 1), True),
        (Fraction(2**1024), False),
        (Fraction(1, int("3" * 1500)), True),
        (Fraction(1, int("3" * 1501)), False),
        (Fraction(int("7" * 300), int("3" * 1500) + 1), True),
        (Fraction(1, 2**1500), False),  # its decimal has an exponent below -330
        (Fraction(1, 3**9100), False),
    ):
        assert is_writable(value) is writable
        if writable:
            assert rational(fraction_text(value)) == value


def test_an_angle_is_writable_within_the_range_of_a_double() -> None:
    third = Fraction(1, 3)
    for value, writable in (
        (Angle(third, third), True),
        (Angle(pi=Fraction(2**4500 - 1, 2**4499)), True),
        (Angle(pi=Fraction(1, 2**4499)), True),
        (Angle(pi=Fraction(1, 2**4500)), False),
        (Angle(radians=Fraction(2**1024 - 1)), True),
        (Angle(radians=Fraction(2**1024)), False),
        (Angle(radians=Fraction(1, 2**1500)), False),
        (Angle(pi=Fraction(-(2**1021))), True),
        (Angle(pi=Fraction(2**1022)), False),
        (Angle(Fraction(-(2**1023)), Fraction(2**1021)), False),
        (Angle(Fraction(-(2**1023)) + 1, Fraction(2**1021)), True),
    ):
        assert is_writable_angle(value) is writable


# -- angles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "radians", "pi"),
    [
        ("--1", 1, 0),
        ("1--1", 2, 0),
        ("1-+1", 0, 0),
        ("2*-3", -6, 0),
        ("-2*-pi", 0, 2),
        ("pi*-2", 0, -2),
        ("1/-4", Fraction(-1, 4), 0),
        ("pi/2/3", 0, Fraction(1, 6)),
        ("6/3*pi", 0, 2),
        ("90 deg*2", 0, 1),
        ("2*90 deg", 0, 1),
        ("90 deg/2", 0, Fraction(1, 4)),
        ("1e-330*1e330", 1, 0),
        ("1" + "+1" * 18 + "*1", 19, 0),
    ],
)
def test_products_and_signs_of_angles(
    text: str, radians: Fraction | int, pi: Fraction | int
) -> None:
    assert angle(text) == Angle(Fraction(radians), Fraction(pi))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1*/2", "is not an angle; write a decimal in rad, or a constant such as pi/2"),
        ("1**2", "is not an angle"),
        ("-", "is not an angle"),
        ("1 + ", "is not an angle"),
        ("2 3", "is not an angle"),
        ("deg*2", "is not an angle"),
        ("1 deg*pi", "is not an angle"),
        ("1/pi", "is not an angle"),
        ("1+1*" + "1+" * 18 + "1", "is not an angle"),
        ("1/0", "divides by zero"),
        ("pi/0.0", "divides by zero"),
        ("1e300*1e300", "is too large, or has too many digits when multiplied out"),
        ("1" * 61 + "*pi", "has more than 60 digits"),
    ],
)
def test_sums_and_products_without_a_meaning_are_refused(text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        angle(text)
    assert message in str(caught.value)


def test_an_angle_has_at_most_forty_tokens() -> None:
    assert angle("-" + "1" + "+1" * 19) == Angle(radians=Fraction(18))
    with pytest.raises(DescriptionError, match="is not an angle"):
        angle("--" + "1" + "+1" * 19)


@pytest.mark.parametrize(
    ("radians", "pi", "text"),
    [
        (0, 0, "0"),
        (0, 1, "pi"),
        (0, -1, "-pi"),
        (0, "1/2", "pi/2"),
        (0, "-1/2", "-pi/2"),
        (0, 2, "2*pi"),
        ("0.1", "-2/3", "-2*pi/3 + 0.1"),
        ("-0.1", 2, "2*pi - 0.1"),
        ("-0.25", 0, "-0.25"),
    ],
)
def test_the_text_of_an_angle_is_a_sum(radians: int | str, pi: int | str, text: str) -> None:
    assert angle_text(Angle(Fraction(radians), Fraction(pi))) == text


# -- texts of numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-120, "-120"),
        (10**15, "1000000000000000"),
        (10**16, "1e16"),
        (-12 * 10**17, "-12e17"),
        (10**20 + 1, "100000000000000000001"),
        ("1/8", "0.125"),
        ("-1/20", "-0.05"),
        ("12.5", "12.5"),
        ("7/3", "7/3"),
        ("-1/60", "-1/60"),
        ("1e-5", "0.00001"),
        ("-1.25e-5", "-0.0000125"),
        ("1e-6", "1e-6"),
        ("-1.5e-6", "-1.5e-6"),
        ("123e-9", "1.23e-7"),
        ("123456e-11", "1.23456e-6"),
    ],
)
def test_the_text_of_a_number_is_its_shortest_decimal(value: int | str, text: str) -> None:
    assert fraction_text(Fraction(value)) == text


@pytest.mark.parametrize("value", ["1/3", "-200/3", "1/7e80", "9e99/7", "2/3e-200", "-1e300/3"])
def test_numbers_are_rounded_to_sixty_digits(value: str) -> None:
    exact = rational(value)
    rounded = round_to_digits(exact)
    assert rounded != exact
    assert abs(rounded / exact - 1) < Fraction(1, 10**59)
    figures = fraction_text(rounded).lstrip("-").partition("e")[0].replace(".", "").strip("0")
    assert len(figures) in (59, 60, 61)


def test_short_numbers_are_not_rounded() -> None:
    for exact in (Fraction(0), Fraction(-(10**59) - 1), Fraction(1, 2**40), Fraction(1, 10**400)):
        assert round_to_digits(exact) == exact


def test_a_location_names_line_and_element() -> None:
    location = Location("f.toml", 3, "joint 'a'")
    assert location.at("x") == Location("f.toml", 3, "x")
    assert location.at("x", 0) == Location("f.toml", 0, "x")
    assert location.short == "line 3, joint 'a'"
    assert Location("f", None, "b").short == "b"
    assert Location("f", 0).short == "line 0"
    assert str(location.error("wrong", "correct it")) == "f.toml:3: joint 'a': wrong; correct it"


# -- snapping --------------------------------------------------------------------------------------


def test_nothing_snaps_beyond_a_thousand() -> None:
    """636π/2 = 999.02646384…, 637π/2 = 1000.59726016…"""
    assert snap_token("999.02646384") == Angle(pi=Fraction(318))
    assert snap_token("-999.02646384") == Angle(pi=Fraction(-318))
    assert snap_token("1000.59726016") is None


def test_a_tolerance_counts_on_both_sides_of_a_right_angle() -> None:
    within = Fraction(1, 50)
    for token, turns in (("1.5900", 1), ("1.5550", 1), ("-0.02", 0), ("0.02", 0), ("3.16", 2)):
        assert snap_token(token, within) == Angle(pi=Fraction(turns, 2))
    for token in ("1.5925", "1.5500", "0.0201", "-0.0201", "3.1617", "pi"):
        assert snap_token(token, within) is None
    assert snap_token("0.1", Fraction(1, 10)) == Angle()  # the tolerance belongs to its range


@pytest.mark.parametrize(("length", "kept"), [(32, True), (33, False)])
def test_the_cache_of_snaps_keeps_no_long_tokens(length: int, kept: bool) -> None:
    token = "1.5707963267948966".ljust(length, "0")
    count = snapping._cached.cache_info().misses
    for _ in range(2):
        assert Snapper().angle(token, Location()) == Angle(pi=Fraction(1, 2))
    assert snapping._cached.cache_info().misses - count == kept


def quaternion(text: str, within: Fraction | None = Fraction(1, 10**8)) -> tuple[list[str], bool]:
    """Return the quaternion that is read, and True if it is snapped."""
    snapper = Snapper(within)
    read = snapper.quaternion(text.split(), Location())
    return [fraction_text(entry) for entry in read], bool(snapper.snaps)


def test_a_quarter_turn_is_recognised_by_rounded_and_truncated_digits() -> None:
    """√½ = 0.70710678118654…"""
    for rounded, truncated in (
        ("0.70711", "0.70710"),
        ("0.7071068", "0.7071067"),
        ("0.707106781187", "0.707106781186"),
    ):
        for signs in product((-1, 0, 1), repeat=4):
            if sum(map(abs, signs)) == 2:
                tokens = ["0"] * 4
                for position, entry in zip(
                    (k for k in range(4) if signs[k]), (rounded, truncated), strict=True
                ):
                    tokens[position] = f"{'-' * (signs[position] < 0)}{entry}"
                assert quaternion(" ".join(tokens)) == ([str(sign) for sign in signs], True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-9 1 0 0", "0 1 0 0"),
        ("0 0 -3 2e-9", "0 0 -1 0"),
        ("0.70711 0.7071 0 0", "1 1 0 0"),
        ("0.70711 0 0 -0.70710", "1 0 0 -1"),
        ("7.0711e-1 70.710E-2 0 0", "1 1 0 0"),
        ("1 4.9e-9 0 0", "1 0 0 0"),
        ("-2 0 0 9.8e-9", "-1 0 0 0"),
        ("0.499999999 0.5 0.5 0.5", "1 1 1 1"),
        ("2 2.00000001 -2 -2", "1 1 -1 -1"),
    ],
)
def test_a_quaternion_near_a_right_turn_snaps(text: str, expected: str) -> None:
    assert quaternion(text) == (expected.split(), True)
    assert quaternion(text, None)[1] is False


@pytest.mark.parametrize(
    "text",
    [
        "1 5.1e-9 0 0",
        "1 1 0 0",
        "2 0 0 2",
        "0.707 0.707 0 0.001",
        "0.7071068 0.7071068 0 0",
        "0.577350 0.577350 0.577350 0",
        "0.5774 0.5773 0.5773 0",
        "1 1 1.000000001 0",
        "0.4999 0.5 0.5 0.5",
        "0.707 0.71 0 0",
        "0.70711 0.70710 0.70711 0.70711",  # four entries of a right turn are ½
        "1.0000 0.0001 0 0",
        "0.7071 0.7072 0 0",
        "1 2 3 4",
    ],
)
def test_other_quaternions_are_read_as_they_are(text: str) -> None:
    read, snapped = quaternion(text)
    assert not snapped
    assert [Fraction(entry) for entry in read] == [Fraction(token) for token in text.split()]


def test_a_quotient_is_no_printed_root() -> None:
    snapper = Snapper()
    read = snapper.quaternion(["5/7", "5/6", "0", "0"], Location(), rational)
    assert read == (Fraction(5, 7), Fraction(5, 6), 0, 0)
    assert not snapper.snaps


def test_a_quaternion_snaps_within_a_small_angle_of_its_rotation() -> None:
    """The angle, from its half's sine, of (1, 0.04, 0, 0) is 0.08/√1.0016 = 0.0799361 rad."""
    assert quaternion("1 0.04 0 0", Fraction("0.07994")) == (["1", "0", "0", "0"], True)
    assert not quaternion("1 0.04 0 0", Fraction("0.07993"))[1]
    snapper = Snapper(Fraction("0.08"))
    snapper.quaternion([" 1", "0.04 ", "0", "0"], Location("f", 2, "a"))
    (snap,) = snapper.snaps
    assert snap.angle_change == pytest.approx(0.0799361, abs=1e-7)
    assert snap.text == "line 2, a: 1 0.04 0 0 read as 1 0 0 0 (moved by 8.0e-02 rad)"


@pytest.mark.parametrize("signs", [(1, -1, 0, 0), (0, 1, 0, -1), (1, 1, -1, -1)])
def test_a_quaternion_snaps_at_the_largest_tolerance_in_every_direction(
    signs: tuple[int, ...],
) -> None:
    """The vectors |signs| and |signs| + t·signs form an angle of tangent t. Twice its sine is 0.1
    for t = 0.05/√(1 - 0.05²) = 0.0500626…
    """
    for tangent, snaps in (("0.05006", True), ("0.05007", False)):
        entries = [abs(sign) + Fraction(tangent) * sign for sign in signs]
        assert quaternion(" ".join(map(fraction_text, entries)), Fraction(1, 10))[1] is snaps


def test_a_tolerance_of_the_description_yields_to_that_of_the_user() -> None:
    snapper = Snapper()
    snapper.prefer(None)
    assert (snapper.within, snapper.chosen) == (None, True)
    snapper.prefer(Fraction(1))
    assert snapper.within is None
    assert snap_tolerance("default") == snap_tolerance(None)
    assert snap_tolerance(" OFF ") is None
    assert snap_tolerance(Fraction(1, 10)) == Fraction(1, 10)
    assert snap_tolerance(0) == 0
    with pytest.raises(RequestError, match="give 'off' or a tolerance between 0 and"):
        snap_tolerance(Fraction(11, 100))

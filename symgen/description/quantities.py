"""Text to exact numbers: decimals become `Fraction`s and angles become `Angle`s; nothing is ever evaluated as code.

A number is read by a regular expression with a bounded number of digits and a bounded exponent, so that neither
`1e999999999` nor a megabyte of digits costs anything. The exponent bound is that of a printed double (5e-324), not
less: real files carry rotation tokens such as `5.77686e-66`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from symgen.support.errors import DescriptionError, printable
from symgen.vocabulary.poses import Angle

DIGITS = 60
"""Digits that a number of a description may have; far beyond double precision."""
CANONICAL_DIGITS = 1500
"""Digits allowed in symgen's own format, where exact sums of numbers of very different size must keep all their digits."""
EXPONENT = 330
"""Size of the exponent of ten that a number may have, that of the smallest double rounded up. An exact power grows with it."""
TOKENS = 40
"""Numbers, signs and constants that an angle may be written with. Each product may have all the digits of its factors."""
_BITS = 1024
_BEYOND_DOUBLE = 2**_BITS
_PLAIN = 300
"""Bits of a numerator and a denominator below which a text of the number is short, whatever it is."""

_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?", re.ASCII)
_FACTOR = re.compile(
    r"\s*(?:(?P<number>[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,4})?|\.[0-9]+(?:[eE][+-]?[0-9]{1,4})?)"
    r"|(?P<pi>pi|π)|(?P<deg>deg)|(?P<op>[-+*/]))",
    re.ASCII,
)


def shown(text: object, width: int = 40) -> str:
    """`text` quoted for an error sentence: one line, printable, cut to `width` characters."""
    return f"'{printable(str(text), width)}'"


@dataclass(frozen=True)
class Place:
    """A place in a description, `file:line: element`. It makes the errors about that place."""

    file: str = ""
    line: int | None = None
    element: str = ""

    def error(self, what: str, hint: str = "") -> DescriptionError:
        """The DescriptionError that says `what` is wrong here, and in `hint` what to do."""
        return DescriptionError(
            what, file=self.file, line=self.line, element=self.element, hint=hint
        )

    def at(self, element: str, line: int | None = None) -> Place:
        """The same file at another element (and line, when it is known)."""
        return Place(self.file, line if line is not None else self.line, element)

    @property
    def short(self) -> str:
        """`line N, element`, for notes that name no file."""
        return ", ".join(
            p for p in (f"line {self.line}" if self.line is not None else "", self.element) if p
        )


def decimal_parts(text: str) -> tuple[int, str, str, int] | None:
    """(sign, digits before the point, digits after it, exponent) of a plain decimal, or None when `text` is none."""
    match = _DECIMAL.fullmatch(text.strip())
    if match is None:
        return None
    sign, whole, after, exponent = match.groups()
    if not whole and not after:
        return None
    return -1 if sign == "-" else 1, whole, after or "", int(exponent or 0)


NOWHERE = Place()


_SHORT = re.compile(r"[+-]?[0-9]{1,12}(?:\.[0-9]{0,44})?", re.ASCII)


@lru_cache(maxsize=1 << 14)
def short(text: str) -> Fraction | None:
    """The exact value of a decimal as most are, for those who read thousands; None of any other text, whatever it is."""
    if len(text) > 60 or _SHORT.fullmatch(text) is None:
        return None
    whole, _, after = text.partition(".")
    return Fraction(int(whole + after), 10 ** len(after))


def number(text: str, place: Place = NOWHERE, digits: int = DIGITS) -> Fraction:
    """The exact value of the decimal `text`.

    Raises DescriptionError for anything else (nan, inf, hexadecimal, `1_000`, an expression), for more than
    `digits` digits, for an exponent beyond ±330 and for what no double can hold.
    """
    known = short(text) if digits >= DIGITS else None
    return _of_a_double(_decimal(text, place, digits), text, place) if known is None else known


def _decimal(text: str, place: Place, digits: int) -> Fraction:
    """The exact value of a decimal of any size that its digits and its exponent allow."""
    parts = decimal_parts(text) if len(text) <= 4 * CANONICAL_DIGITS else None
    if parts is None:
        raise place.error(
            f"{shown(text)} is not a number", "write a plain decimal such as 0.25 or -1e-3"
        )
    sign, whole, after, exponent = parts
    if len((whole + after).lstrip("0")) > digits:
        raise place.error(
            f"the number {shown(text, 24)} has more than {digits} digits", "write fewer digits"
        )
    if abs(exponent) > EXPONENT or len(after) > EXPONENT + digits or len(whole) > EXPONENT + digits:
        raise place.error(
            f"the exponent of {shown(text)} is beyond ±{EXPONENT}",
            "write a number of ordinary size",
        )
    figures, power = sign * int(whole + after), exponent - len(after)
    return Fraction(figures * 10**power) if power >= 0 else Fraction(figures, 10**-power)


def _of_a_double(value: Fraction, text: str, place: Place) -> Fraction:
    if value.numerator.bit_length() > _BITS and abs(value) >= _BEYOND_DOUBLE:
        raise place.error(
            f"{shown(text, 24)} is larger than any double", "write a number of ordinary size"
        )
    return value


def rational(text: str, place: Place = NOWHERE, digits: int = CANONICAL_DIGITS) -> Fraction:
    """A decimal, or a quotient `p/q` of two decimals: what symgen's own format accepts as a number."""
    known = short(text)
    if known is not None:
        return known
    value = _quotient(text, place, digits)
    if not is_writable(value):
        raise place.error(
            f"{shown(text, 24)} is too small a number, or has too many digits",
            "write a number of ordinary size",
        )
    return value


def _quotient(text: str, place: Place, digits: int) -> Fraction:
    above, slash, below = text.partition("/")
    if not slash:
        return number(text, place, digits)
    divisor = _decimal(below, place, digits)
    if divisor == 0:
        raise place.error(f"{shown(text)} divides by zero", "give a divisor other than 0")
    return _of_a_double(_decimal(above, place, digits) / divisor, text, place)


def is_writable(value: Fraction) -> bool:
    """Whether symgen's own format can hold it: `rational` reads its text back. Sums and products may be too long for that."""
    if value.numerator.bit_length() <= _PLAIN and value.denominator.bit_length() <= _PLAIN:
        return True
    try:
        return _quotient(fraction_text(value), NOWHERE, CANONICAL_DIGITS) == value
    except (
        DescriptionError,
        ValueError,
    ):  # Python itself prints no number of more than 4300 digits
        return False


def is_writable_angle(value: Angle) -> bool:
    """The same of an angle, whose size in rad is that of a double as well."""
    in_quotient = (
        max(value.pi.numerator.bit_length(), value.pi.denominator.bit_length())
        <= 3 * CANONICAL_DIGITS
    )
    return (
        in_quotient
        and is_writable(value.radians)
        and abs(value.radians) + 4 * abs(value.pi) < _BEYOND_DOUBLE
    )


def angle(text: str, place: Place = NOWHERE, digits: int = DIGITS) -> Angle:
    """Read an angle in rad from a decimal or a sum of products: `0.3`, `pi/2`, `-3*pi/4`, `2*pi - 0.1`, `90 deg`.

    Raises DescriptionError for anything outside that grammar; nothing is evaluated but + - * / of decimals and one pi.
    """
    if decimal_parts(text) is not None:
        return Angle(radians=number(text, place, digits))
    total = Angle()
    for term in _terms(text, place):
        product = _Product(text, place, digits)
        for kind, token in term:
            product.read(kind, token)
        total += product.angle
    if not is_writable_angle(total):
        raise place.error(
            f"{shown(text)} is too large, or has too many digits when multiplied out",
            "write a decimal in rad",
        )
    return total


_GRAMMAR = "write a decimal in rad, or a constant such as pi/2, -3*pi/4 or 90 deg"


@dataclass
class _Product:
    """One term of an angle while its tokens are read: signs, factors, at most one pi or deg."""

    text: str
    place: Place
    digits: int
    value: Fraction = Fraction(1)
    has_pi: bool = False
    divides: bool = False
    expects_factor: bool = True

    def read(self, kind: str, token: str) -> None:
        """Take the next token; DescriptionError where it cannot stand there."""
        if kind == "op":
            self._operate(token)
        elif kind == "deg":
            self._read_degrees()
        else:
            self._multiply(kind, token)

    @property
    def angle(self) -> Angle:
        """The angle, once all tokens are read."""
        if self.expects_factor:
            raise self._fault()
        return Angle(pi=self.value) if self.has_pi else Angle(radians=self.value)

    def _operate(self, sign: str) -> None:
        if self.expects_factor and sign in "+-":
            self.value *= -1 if sign == "-" else 1
        elif not self.expects_factor and sign in "*/":
            self.divides, self.expects_factor = sign == "/", True
        else:
            raise self._fault()

    def _read_degrees(self) -> None:
        if self.expects_factor or self.has_pi:
            raise self._fault()
        self.value, self.has_pi = self.value / 180, True

    def _multiply(self, kind: str, token: str) -> None:
        is_pi = kind == "pi"
        if not self.expects_factor or (is_pi and (self.divides or self.has_pi)):
            raise self._fault()
        factor = Fraction(1) if is_pi else _decimal(token, self.place, self.digits)
        self.has_pi = self.has_pi or is_pi
        if self.divides and factor == 0:
            raise self.place.error(f"{shown(self.text)} divides by zero", _GRAMMAR)
        self.value = self.value / factor if self.divides else self.value * factor
        self.expects_factor = False

    def _fault(self) -> DescriptionError:
        return self.place.error(f"{shown(self.text)} is not an angle", _GRAMMAR)


def _terms(text: str, place: Place) -> list[list[tuple[str, str]]]:
    """Return the tokens of `text`, cut into terms at every + or - that follows a factor."""
    terms: list[list[tuple[str, str]]] = [[]]
    position, end = 0, len(text.rstrip())
    after_factor = False
    count = 0
    while position < end:
        match = _FACTOR.match(text, position)
        count += 1
        if match is None or count > TOKENS:
            raise place.error(f"{shown(text)} is not an angle", _GRAMMAR)
        position = match.end()
        kind = str(match.lastgroup)
        token = match[kind]
        if kind == "op" and token in "+-" and after_factor:
            terms.append([])
        terms[-1].append((kind, token))
        after_factor = kind != "op"
    return terms


def angle_text(value: Angle) -> str:
    """`value` as text that `angle` reads back exactly when its decimals terminate: `pi/2`, `0.3`, `-2*pi/3 + 0.1`."""
    terms = []
    if value.pi:
        above, below = value.pi.numerator, value.pi.denominator
        head = {1: "pi", -1: "-pi"}.get(above, f"{above}*pi")
        terms.append(head + (f"/{below}" if below != 1 else ""))
    if value.radians or not terms:
        terms.append(fraction_text(value.radians))
    return " + ".join(terms).replace("+ -", "- ")


def fraction_text(value: Fraction) -> str:
    """`value` as the shortest exact decimal, or as `p/q` when no decimal terminates."""
    below, twos, fives = value.denominator, 0, 0
    while below % 2 == 0:
        below, twos = below // 2, twos + 1
    while below % 5 == 0:
        below, fives = below // 5, fives + 1
    if below != 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    figures = str(abs(value.numerator) * 10**places // value.denominator)
    sign = "-" if value < 0 else ""
    if places == 0:
        zeros = len(figures) - len(figures.rstrip("0"))
        return sign + (figures if zeros < 16 or value == 0 else f"{figures[:-zeros]}e{zeros}")
    first = len(figures) - places - 1  # the decimal exponent of the leading figure
    if first < -5:
        return f"{sign}{figures[0]}{'.' + figures[1:] if len(figures) > 1 else ''}e{first}"
    figures = figures.rjust(places + 1, "0")
    return f"{sign}{figures[:-places]}.{figures[-places:]}"


def rounded(value: Fraction) -> Fraction:
    """To DIGITS significant decimals, where it has more: what no fraction is, such as a root, no answer shows further."""
    if value == 0:
        return value
    size = len(str(abs(value.numerator))) - len(str(value.denominator))
    scale = Fraction(10) ** (DIGITS - size)
    return Fraction(round(value * scale)) / scale

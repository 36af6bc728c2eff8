"""Exact numbers from text: decimals become `Fraction`s and angles become `Angle`s; no text is
evaluated as code.

A number is read by a regular expression with a bounded number of digits and a bounded exponent, so
that neither `1e999999999` nor a megabyte of digits takes time. The exponent bound is that of a
printed double (5e-324), since real files contain rotation tokens such as `5.77686e-66`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from symgen.support.errors import DescriptionError, printable
from symgen.vocabulary.poses import Angle

DIGITS = 60
"""Largest number of digits of a number in a description; far beyond double precision."""
CANONICAL_DIGITS = 1500
"""Largest number of digits in symgen's own format, where exact sums of numbers of very different
size keep all digits.
"""
EXPONENT = 330
"""Largest magnitude of a decimal exponent: that of the smallest double, rounded up. Exact powers
grow with it.
"""
TOKENS = 40
"""Largest number of numbers, signs and constants in an angle. A product may have all the digits of
its factors.
"""
_BITS = 1024
_BEYOND_DOUBLE = 2**_BITS
_SHORT_BITS = 300
"""Bits of a numerator and a denominator below which the text of a number is always short enough."""

_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?", re.ASCII)
_FACTOR = re.compile(
    r"\s*(?:(?P<number>[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]{1,4})?|\.[0-9]+(?:[eE][+-]?[0-9]{1,4})?)"
    r"|(?P<pi>pi|π)|(?P<deg>deg)|(?P<op>[-+*/]))",
    re.ASCII,
)


def quote(text: object, width: int = 40) -> str:
    """Return `text` in quotes for a message: one line, printable, cut to `width` characters."""
    return f"'{printable(str(text), width)}'"


@dataclass(frozen=True)
class Location:
    """A position in a description, `file:line: element`, which creates the errors about it."""

    file: str = ""
    line: int | None = None
    element: str = ""

    def error(self, fault: str, hint: str = "") -> DescriptionError:
        """Return the DescriptionError that says `fault` is wrong here, and in `hint` what to do."""
        return DescriptionError(
            fault, file=self.file, line=self.line, element=self.element, hint=hint
        )

    def at(self, element: str, line: int | None = None) -> Location:
        """Return the location of another element of the same file (with its line, if known)."""
        return Location(self.file, line if line is not None else self.line, element)

    @property
    def short(self) -> str:
        """The text `line N, element`, for notes, which name no file."""
        return ", ".join(
            p for p in (f"line {self.line}" if self.line is not None else "", self.element) if p
        )


def decimal_parts(text: str) -> tuple[int, str, str, int] | None:
    """Return (sign, digits before the point, digits after it, exponent) of a plain decimal; None
    for other text.
    """
    match = _DECIMAL.fullmatch(text.strip())
    if match is None:
        return None
    sign, before_point, after_point, exponent = match.groups()
    if not before_point and not after_point:
        return None
    return -1 if sign == "-" else 1, before_point, after_point or "", int(exponent or 0)


NOWHERE = Location()


_SHORT = re.compile(r"[+-]?[0-9]{1,12}(?:\.[0-9]{0,44})?", re.ASCII)


@lru_cache(maxsize=1 << 14)
def short_decimal(text: str) -> Fraction | None:
    """Return the exact value of a short decimal, from a cache; None for any other text, valid or
    not.
    """
    if len(text) > 60 or _SHORT.fullmatch(text) is None:
        return None
    before_point, _, after_point = text.partition(".")
    return Fraction(int(before_point + after_point), 10 ** len(after_point))


def number(text: str, location: Location = NOWHERE, digits: int = DIGITS) -> Fraction:
    """Return the exact value of the decimal `text`.

    Raises DescriptionError for anything else (nan, inf, hexadecimal, `1_000`, an expression). It
    also rejects more than `digits` digits, an exponent beyond ±330, and numbers beyond the range of
    a double.
    """
    value = short_decimal(text) if digits >= DIGITS else None
    return (
        _check_double_range(_decimal(text, location, digits), text, location)
        if value is None
        else value
    )


def _decimal(text: str, location: Location, digits: int) -> Fraction:
    """Return the exact value of a decimal of any size within the limits on digits and exponent."""
    fields = decimal_parts(text) if len(text) <= 4 * CANONICAL_DIGITS else None
    if fields is None:
        raise location.error(
            f"{quote(text)} is not a number", "write a plain decimal such as 0.25 or -1e-3"
        )
    sign, before_point, after_point, exponent = fields
    if len((before_point + after_point).lstrip("0")) > digits:
        raise location.error(
            f"the number {quote(text, 24)} has more than {digits} digits", "write fewer digits"
        )
    if (
        abs(exponent) > EXPONENT
        or len(after_point) > EXPONENT + digits
        or len(before_point) > EXPONENT + digits
    ):
        raise location.error(
            f"the exponent of {quote(text)} is beyond ±{EXPONENT}",
            "write a number of ordinary size",
        )
    figures, power = sign * int(before_point + after_point), exponent - len(after_point)
    return Fraction(figures * 10**power) if power >= 0 else Fraction(figures, 10**-power)


def _check_double_range(value: Fraction, text: str, location: Location) -> Fraction:
    """Return `value`. Raises DescriptionError if it is beyond the range of a double."""
    if value.numerator.bit_length() > _BITS and abs(value) >= _BEYOND_DOUBLE:
        raise location.error(
            f"{quote(text, 24)} is larger than any double", "write a number of ordinary size"
        )
    return value


def rational(text: str, location: Location = NOWHERE, digits: int = CANONICAL_DIGITS) -> Fraction:
    """Return the exact value of a decimal, or of a quotient `p/q` of two decimals: the numbers of
    symgen's own format.
    """
    cached = short_decimal(text)
    if cached is not None:
        return cached
    value = _quotient(text, location, digits)
    if not is_writable(value):
        raise location.error(
            f"{quote(text, 24)} is too small a number, or has too many digits",
            "write a number of ordinary size",
        )
    return value


def _quotient(text: str, location: Location, digits: int) -> Fraction:
    """Return the exact value of a decimal or a quotient of two decimals."""
    numerator, slash, denominator = text.partition("/")
    if not slash:
        return number(text, location, digits)
    divisor = _decimal(denominator, location, digits)
    if divisor == 0:
        raise location.error(f"{quote(text)} divides by zero", "give a divisor other than 0")
    return _check_double_range(_decimal(numerator, location, digits) / divisor, text, location)


def is_writable(value: Fraction) -> bool:
    """True if symgen's own format can represent the number: `rational` reads its text back.

    Sums and products may have too many digits for that.
    """
    if (
        value.numerator.bit_length() <= _SHORT_BITS
        and value.denominator.bit_length() <= _SHORT_BITS
    ):
        return True
    try:
        return _quotient(fraction_text(value), NOWHERE, CANONICAL_DIGITS) == value
    except (
        DescriptionError,
        ValueError,
    ):  # Python itself prints no number of more than 4300 digits
        return False


def is_writable_angle(value: Angle) -> bool:
    """True if symgen's own format can represent the angle, and its size in rad is within the range
    of a double.
    """
    in_quotient = (
        max(value.pi.numerator.bit_length(), value.pi.denominator.bit_length())
        <= 3 * CANONICAL_DIGITS
    )
    return (
        in_quotient
        and is_writable(value.radians)
        and abs(value.radians) + 4 * abs(value.pi) < _BEYOND_DOUBLE
    )


def angle(text: str, location: Location = NOWHERE, digits: int = DIGITS) -> Angle:
    """Return an angle in rad from a decimal or a sum of products: `0.3`, `pi/2`, `-3*pi/4`, `2*pi -
    0.1`, `90 deg`.

    Raises DescriptionError for anything outside that grammar: + - * / of decimals, and at most one
    pi or deg in a term.
    """
    if decimal_parts(text) is not None:
        return Angle(radians=number(text, location, digits))
    total = Angle()
    for term in _terms(text, location):
        product = _Product(text, location, digits)
        for kind, token in term:
            product.read(kind, token)
        total += product.angle
    if not is_writable_angle(total):
        raise location.error(
            f"{quote(text)} is too large, or has too many digits when multiplied out",
            "write a decimal in rad",
        )
    return total


_GRAMMAR = "write a decimal in rad, or a constant such as pi/2, -3*pi/4 or 90 deg"


@dataclass
class _Product:
    """One term of an angle while its tokens are read: signs, factors, at most one pi or deg."""

    text: str
    location: Location
    digits: int
    value: Fraction = Fraction(1)
    has_pi: bool = False
    divides: bool = False
    expects_factor: bool = True

    def read(self, kind: str, token: str) -> None:
        """Read the next token. Raises DescriptionError if it cannot follow the previous ones."""
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
        factor = Fraction(1) if is_pi else _decimal(token, self.location, self.digits)
        self.has_pi = self.has_pi or is_pi
        if self.divides and factor == 0:
            raise self.location.error(f"{quote(self.text)} divides by zero", _GRAMMAR)
        self.value = self.value / factor if self.divides else self.value * factor
        self.expects_factor = False

    def _fault(self) -> DescriptionError:
        return self.location.error(f"{quote(self.text)} is not an angle", _GRAMMAR)


def _terms(text: str, location: Location) -> list[list[tuple[str, str]]]:
    """Return the tokens of `text`, split into terms at every + or - that follows a factor."""
    terms: list[list[tuple[str, str]]] = [[]]
    position, end = 0, len(text.rstrip())
    after_factor = False
    count = 0
    while position < end:
        match = _FACTOR.match(text, position)
        count += 1
        if match is None or count > TOKENS:
            raise location.error(f"{quote(text)} is not an angle", _GRAMMAR)
        position = match.end()
        kind = str(match.lastgroup)
        token = match[kind]
        if kind == "op" and token in "+-" and after_factor:
            terms.append([])
        terms[-1].append((kind, token))
        after_factor = kind != "op"
    return terms


def angle_text(value: Angle) -> str:
    """Return `value` as text that `angle` reads back exactly if its decimals terminate: `pi/2`,
    `0.3`, `-2*pi/3 + 0.1`.
    """
    terms = []
    if value.pi:
        numerator, denominator = value.pi.numerator, value.pi.denominator
        head = {1: "pi", -1: "-pi"}.get(numerator, f"{numerator}*pi")
        terms.append(head + (f"/{denominator}" if denominator != 1 else ""))
    if value.radians or not terms:
        terms.append(fraction_text(value.radians))
    return " + ".join(terms).replace("+ -", "- ")


def fraction_text(value: Fraction) -> str:
    """Return `value` as the shortest exact decimal, or as `p/q` if no decimal terminates."""
    numerator, denominator = value.numerator, value.denominator
    twos, fives = (denominator & -denominator).bit_length() - 1, 0
    odd = denominator >> twos
    while odd % 5 == 0:
        odd, fives = odd // 5, fives + 1
    if odd != 1:
        return f"{numerator}/{denominator}"
    places = max(twos, fives)
    figures = str(abs(numerator) * 10**places // denominator)
    sign = "-" if numerator < 0 else ""
    if places == 0:
        zeros = len(figures) - len(figures.rstrip("0"))
        return sign + (figures if zeros < 16 else f"{figures[:-zeros]}e{zeros}")
    first = len(figures) - places - 1  # the decimal exponent of the leading figure
    if first < -5:
        return f"{sign}{figures[0]}{'.' + figures[1:] if len(figures) > 1 else ''}e{first}"
    figures = figures.rjust(places + 1, "0")
    return f"{sign}{figures[:-places]}.{figures[-places:]}"


def round_to_digits(value: Fraction) -> Fraction:
    """Round a number to DIGITS significant decimals, for values such as roots that no fraction
    represents exactly.
    """
    size = len(str(abs(value.numerator))) - len(str(value.denominator))
    scale = Fraction(10) ** (DIGITS - size)
    return Fraction(round(value * scale)) / scale

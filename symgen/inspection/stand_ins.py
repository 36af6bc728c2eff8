"""Rational robots in place of a robot with irrational constants.

Polynomials have a greatest common divisor, and so quotients have lowest terms, only over exact
coefficients. A robot with irrational constants is therefore replaced by robots whose constants are
rational, and which keep the relations between the constants.

- Sines and cosines of decimal angles, such as 0.7853981633974483 rad, are transcendental. The
  tangent of half the angle is replaced by a rational number next to it. The rotation stays a
  rotation: cos² + sin² = 1 holds exactly. One robot is enough (`Neighbour`).
- Sines and cosines of π/4, π/6 and π/12 and lengths of directions such as (1, 1, 0) are sums of
  square roots with rational coefficients. Modulo a prime p for which 2 and 3 are squares, √2 and √3
  are integers. So there is a robot with fractions in place of the roots, whose constants are equal
  to those of the true robot modulo p. There is one robot for each choice of the signs of the roots;
  all of them together determine the coefficient of each root (`Residues`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, product
from math import gcd, isqrt, lcm, prod

from flint import arb, fmpz, fmpz_mat

from symgen.derivation import constants as k
from symgen.derivation.model.spin import Spin
from symgen.derivation.scalars import Scalar
from symgen.inspection.entries import declared_model, onto_axis
from symgen.inspection.multiangle import link_constants
from symgen.inspection.parameters import SymbolicLinkage
from symgen.mechanism.mechanism import Joint, Mechanism
from symgen.vocabulary.poses import (
    X_AXIS,
    Z_AXIS,
    Angle,
    Pose,
    Quaternion,
    Rotate,
    Shift,
    Slide,
    Step,
    Turn,
    Vector3,
    compose,
)

NEIGHBOUR_DIGITS = 40
"""Digits of the denominators of a neighbour's tangents; their error is at most the inverse square.
"""
MOST_MULTIPLES = 8
"""Largest multiple of a common angle as which decimal angles are recognised."""
RECOGNISED_DIGITS, RECOGNITION_DIGITS = 100, 400
"""Most digits of the integers of a relation, and digits of the numbers in which it is sought."""
LARGEST_ROOT = 10**20
"""Largest integer under a square root."""
MOST_GENERATORS = 3
"""Most square roots that generate the constants of a robot: there are 2^n choices of signs."""


class NoStandIn(Exception):
    """A robot has no rational stand-ins. The text is the reason."""


def sharp() -> AbstractContextManager[None]:
    """Return the precision block of the most digits, more than RECOGNITION_DIGITS."""
    *_, sharpest = k.rising_precisions()
    return sharpest


# -- numbers ---------------------------------------------------------------------------------------


def convergent(value: k.Constant, least: int) -> Fraction:
    """Return the first convergent of the continued fraction with denominator at least `least`."""
    sign = -1 if value < 0 else 1
    exact = Fraction(arb(abs(value)).str(3 * len(str(least)), radius=False))
    numerator, denominator = exact.as_integer_ratio()
    above, below = (0, 1), (1, 0)
    while denominator and below[1] < least:
        quotient, rest = divmod(numerator, denominator)
        numerator, denominator = denominator, rest
        above = above[1], quotient * above[1] + above[0]
        below = below[1], quotient * below[1] + below[0]
    return sign * Fraction(above[1], below[1])


def integer_relation(values: Sequence[k.Constant]) -> list[int] | None:
    """Return integers, not all zero, of at most RECOGNISED_DIGITS digits in total, whose sum with
    the values is zero to RECOGNITION_DIGITS digits; None if there are none.
    """
    scale = 10**RECOGNITION_DIGITS
    rows = []
    for index, value in enumerate(values):
        rounded = (arb(value) * scale).mid().floor().unique_fmpz()
        rows.append([int(index == column) for column in range(len(values))] + [int(rounded or 0)])
    reduced = [[int(x) for x in row] for row in fmpz_mat(rows).lll().tolist()]
    digits, shortest = min((sum(len(str(abs(x))) for x in row), row) for row in reduced)
    return shortest[:-1] if digits <= RECOGNISED_DIGITS else None


@lru_cache(maxsize=1024)
def square_free(number: int) -> tuple[int, int]:
    """Return (d, r) with number = d r² and d without square factors."""
    free, root = -1 if number < 0 else 1, 1
    for prime, power in fmpz(abs(number)).factor():
        free *= int(prime) ** (int(power) % 2)
        root *= int(prime) ** (int(power) // 2)
    return free, root


@dataclass(frozen=True)
class Roots:
    """Field of rational combinations of square roots.

    `generators` are integers whose square roots generate the field, at most one of them negative;
    `basis` are the integers under the root of each number of a basis, first 1.
    """

    generators: tuple[int, ...]

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        """Generators whose roots are multiplied for each number of the basis."""
        sizes = range(len(self.generators) + 1)
        return [subset for size in sizes for subset in combinations(self.generators, size)]

    @property
    def basis(self) -> list[int]:
        return [square_free(prod(subset))[0] for subset in self.subsets]

    def coordinates(self, value: k.Constant) -> list[Fraction] | None:
        """Return the coefficients of the basis, or None for a number of another field."""
        relation = integer_relation([arb(x).sqrt() for x in self.basis] + [arb(value)])
        if relation is None or not relation[-1]:
            return None
        return [Fraction(-x, relation[-1]) for x in relation[:-1]]


def field_of(numbers: Iterable[Algebraic]) -> Roots:
    """Return a field of square roots that has all numbers.

    Raises NoStandIn if none of at most MOST_GENERATORS square roots has them.
    """
    values = [number.value for number in numbers]
    generators: tuple[int, ...] = ()
    for number in numbers:
        for part in (*number.parts, number.value):
            root = _root_of(part)
            if root is not None and root not in Roots(generators).basis:
                generators = tuple(sorted((*generators, root)))
    for field in (Roots(generators), Roots(tuple(sorted({2, 3, *generators})))):  # as of π/12
        if len(field.generators) > MOST_GENERATORS:
            raise NoStandIn(
                f"it has a division, and constants of the robot have more than {MOST_GENERATORS}"
                " square roots"
            )
        if all(field.coordinates(value) is not None for value in values):
            return field
    raise NoStandIn(
        "it has a division, and constants of the robot are not sums of square roots of integers"
    )


def _root_of(value: k.Constant) -> int | None:
    """Return d if the value is a + b √d, else None."""
    relation = integer_relation([arb(1), arb(value), arb(value) * arb(value)])
    if relation is None:
        return None
    c, b, a = relation
    discriminant = b * b - 4 * a * c
    if discriminant <= 0 or discriminant >= LARGEST_ROOT**2:
        return None
    root = square_free(discriminant)[0]
    return root if 1 < root <= LARGEST_ROOT else None


# -- rational numbers in place of irrational ones --------------------------------------------------


@dataclass(frozen=True)
class Algebraic:
    """A number that may be a sum of square roots, and numbers from which it is computed."""

    value: k.Constant
    parts: tuple[k.Constant, ...] = ()


class Neighbour:
    """Rational numbers next to the true ones."""

    def __init__(self, angles: Iterable[Fraction]) -> None:
        self.units: list[list[Fraction]] = []
        """Decimal angles (rad) in groups, each of multiples of one angle."""
        for angle in sorted({abs(angle) for angle in angles}):
            for group in self.units:
                if max(*group, angle) <= MOST_MULTIPLES * _common_unit([*group, angle]):
                    group.append(angle)
                    break
            else:
                self.units.append([angle])

    def algebraic(self, number: Algebraic) -> Fraction:
        """Return the stand-in of a sum of square roots."""
        return self.transcendental(number.value)

    def transcendental(self, value: k.Constant) -> Fraction:
        """Return the stand-in of a number that is computed from decimal angles."""
        return convergent(value, 10**NEIGHBOUR_DIGITS)

    def half_tangent(self, radians: Fraction) -> Fraction | None:
        """Return the tangent of half a decimal angle in the stand-in; None for a half turn.

        Angles that are multiples of one angle have the tangents of the same multiples.
        """
        unit = next(_common_unit(group) for group in self.units if abs(radians) in group)
        tangent = self.transcendental((arb(k.rational(unit)) / 2).tan())
        real, imaginary = Fraction(1), Fraction(0)
        for _ in range(int(abs(radians) / unit)):
            real, imaginary = real - imaginary * tangent, imaginary + real * tangent
        sign = -1 if radians < 0 else 1
        return sign * imaginary / real if real else None


class Record(Neighbour):
    """Neighbours of the numbers of a robot; it records the sums of square roots."""

    def __init__(self, angles: Iterable[Fraction]) -> None:
        super().__init__(angles)
        self.numbers: list[Algebraic] = []

    def algebraic(self, number: Algebraic) -> Fraction:
        self.numbers.append(number)
        return super().algebraic(number)


def _common_unit(angles: Sequence[Fraction]) -> Fraction:
    """Return the greatest common divisor of fractions."""
    denominator = lcm(*(x.denominator for x in angles))
    return Fraction(gcd(*(int(x * denominator) for x in angles)), denominator)


PRIME_BITS = 512
"""Bits of the primes: fractions of up to half of them are recognised by one prime."""


@lru_cache(maxsize=8)
def primes_of(field: Roots) -> PrimesOfField:
    """Return the primes of a field; they are computed once."""
    return PrimesOfField(field)


class PrimesOfField:
    """Primes of PRIME_BITS bits for which −1 and each generator are squares."""

    def __init__(self, field: Roots) -> None:
        self.field = field
        self.primes: list[int] = []

    def __getitem__(self, index: int) -> int:
        candidate = self.primes[-1] if self.primes else (1 << PRIME_BITS) + 1
        while len(self.primes) <= index:
            candidate += 4
            if fmpz(candidate).is_probable_prime() and all(
                pow(d, candidate // 2, candidate) == 1 for d in self.field.generators
            ):  # Euler's criterion
                self.primes.append(candidate)
        return self.primes[index]


@lru_cache(maxsize=256)
def residue_of_root(number: int, prime: int) -> int:
    """Return the smaller square root of a number modulo a prime."""
    root = int(fmpz(number % prime).sqrtmod(prime))
    return min(root, prime - root)


class Residues(Neighbour):
    """Fractions whose residues modulo a prime are those of numbers of a field of square roots.

    `signs` has 1 or −1 for each generator of the field.
    """

    def __init__(
        self, angles: Iterable[Fraction], field: Roots, prime: int, signs: tuple[int, ...]
    ) -> None:
        super().__init__(angles)
        self.field, self.prime, self.signs = field, prime, signs

    @cached_property
    def basis(self) -> list[int]:
        """Residues of the numbers of the field's basis, with the signs of this choice."""
        generators = {
            d: sign * residue_of_root(d, self.prime)
            for d, sign in zip(self.field.generators, self.signs, strict=True)
        }
        residues = []
        for subset in self.field.subsets:
            _, root = square_free(prod(subset))
            residue = prod(generators[d] for d in subset) * pow(root, -1, self.prime)
            residues.append(residue % self.prime)
        return residues

    def algebraic(self, number: Algebraic) -> Fraction:
        coordinates = self.field.coordinates(number.value)
        if coordinates is None:
            raise NoStandIn(
                "it has a division, and constants of the robot are not sums of square roots of"
                " integers"
            )
        residue = sum(
            x.numerator * pow(x.denominator, -1, self.prime) * root
            for x, root in zip(coordinates, self.basis, strict=True)
        )
        return short_fraction(residue, self.prime)


def fractions_of(residue: int, modulus: int) -> Iterator[tuple[int, int]]:
    """Yield (numerator, denominator) of fractions with this residue, by Euclid's algorithm:
    numerators become smaller and denominators larger.
    """
    before, after = (modulus, 0), (residue, 1)
    while after[0]:
        yield after
        quotient = before[0] // after[0]
        before, after = (
            after,
            (before[0] - quotient * after[0], before[1] - quotient * after[1]),
        )


def short_fraction(residue: int, modulus: int) -> Fraction:
    """Return the fraction with this residue whose numerator is the first one of Euclid's algorithm
    that is at most the square root of the modulus.
    """
    largest = isqrt(modulus)
    fractions = fractions_of(residue % modulus, modulus)
    return next((Fraction(*pair) for pair in fractions if pair[0] <= largest), Fraction(0))


def signs_of(field: Roots) -> list[tuple[int, ...]]:
    """Return all choices of signs of the generators, first that without a minus."""
    return list(product((1, -1), repeat=len(field.generators)))


# -- robots ----------------------------------------------------------------------------------------


def decimal_angles(mechanism: Mechanism) -> list[Fraction]:
    """Return the decimal part (rad) of each angle of a robot that has one."""
    poses = [
        *(joint.pose for joint in mechanism.joints),
        *(part.pose for body in mechanism.bodies for part in body.parts),
        *(frame.pose for frame in mechanism.frames),
    ]
    turns = [step for pose in poses for step in pose if isinstance(step, Turn)]
    return [turn.angle.radians for turn in turns if turn.angle.radians]


def rational_rotation(step: Turn, numbers: Neighbour) -> Pose:
    """Return a rotation about a declared direction in rational numbers."""
    length = k.square_root(k.rational(sum((x * x for x in step.axis), Fraction(0))))
    angle, quarter_turns = step.angle, step.angle.quarter_turns
    if quarter_turns is not None and quarter_turns % 2 == 0:
        return (Rotate((Fraction(0), *step.axis)),) if quarter_turns % 4 else ()
    if quarter_turns is not None and k.is_rational(length):
        return (step,)
    if angle.radians and k.is_rational(length):
        tangent = numbers.half_tangent(angle.radians)
        inverse_length = 1 / Fraction(int(length.p), int(length.q))
        rest = rational_rotation(Turn(step.axis, Angle(pi=angle.pi)), numbers)
        return (*rest, _rotate(step.axis, tangent, inverse_length))
    cosine, sine = k.cosine_sine(angle)
    value = arb(sine) / (1 + arb(cosine)) / arb(length)
    tangent = (
        numbers.transcendental(value)
        if angle.radians
        else numbers.algebraic(Algebraic(value, (cosine, sine, length)))
    )
    return (_rotate(step.axis, tangent, Fraction(1)),)


def _rotate(axis: Vector3, tangent: Fraction | None, factor: Fraction) -> Rotate:
    """Return the rotation about a direction with a tangent of half the angle, times a factor."""
    if tangent is None:
        return Rotate((Fraction(0), *axis))
    x, y, z = (tangent * factor * entry for entry in axis)
    return Rotate((Fraction(1), x, y, z))


def rational_pose(pose: Pose, numbers: Neighbour) -> Pose:
    """Return a pose with rational numbers in place of irrational ones."""
    steps: list[Step] = []
    for step in pose:
        if isinstance(step, Turn):
            steps += rational_rotation(step, numbers)
        elif isinstance(step, Slide):
            length = k.square_root(k.rational(sum((x * x for x in step.axis), Fraction(0))))
            if k.is_rational(length):
                steps.append(step)
                continue
            inverse_length = numbers.algebraic(Algebraic(1 / length))
            x, y, z = (step.distance * inverse_length * entry for entry in step.axis)
            steps.append(Shift((x, y, z)))
        else:
            steps.append(step)
    return compose(tuple(steps))


def rational_axis(axis: Vector3, numbers: Neighbour) -> Vector3:
    """Return a direction of rational length; one of irrational length by its stereographic
    projection.
    """
    length = k.square_root(k.rational(sum((x * x for x in axis), Fraction(0))))
    if k.is_rational(length):
        return axis
    if axis[2] < 0:
        a, b, c = rational_axis((-axis[0], -axis[1], -axis[2]), numbers)
        return (-a, -b, -c)
    x, y, z = (arb(k.rational(entry)) / length for entry in axis)
    a, b = (
        numbers.algebraic(Algebraic(value / (1 + z), (z, value))) if entry else Fraction(0)
        for entry, value in ((axis[0], x), (axis[1], y))
    )
    return (2 * a, 2 * b, 1 - a * a - b * b)


def rational_robot(mechanism: Mechanism, numbers: Neighbour) -> Mechanism:
    """Return a robot with rational constants in place of irrational ones.

    Use it inside `sharp()`. Raises NoStandIn if a constant is not rational afterwards.
    """
    joints = tuple(
        replace(
            joint,
            pose=rational_pose(joint.pose, numbers),
            axis=rational_axis(joint.axis, numbers),
        )
        for joint in mechanism.joints
    )
    bodies = tuple(
        replace(
            body,
            parts=tuple(
                replace(part, pose=rational_pose(part.pose, numbers)) for part in body.parts
            ),
        )
        for body in mechanism.bodies
    )
    frames = tuple(
        replace(frame, pose=rational_pose(frame.pose, numbers)) for frame in mechanism.frames
    )
    robot = replace(mechanism, joints=joints, bodies=bodies, frames=frames)
    for index, link in enumerate(declared_model(robot).links):
        if not all(k.is_rational(x) for pair in k.zxz(link.rotation) for x in pair):
            joints = (
                *joints[:index],
                _with_rational_angles(mechanism, robot, index, numbers),
                *joints[index + 1 :],
            )
    robot = replace(robot, joints=joints)
    if not has_rational_constants(robot):
        raise NoStandIn("it has a division, and constants of the robot are irrational")
    return robot


def _with_rational_angles(
    mechanism: Mechanism, robot: Mechanism, index: int, numbers: Neighbour
) -> Joint:
    """Return the joint with rational tangents of half of the angles γ, α and β.

    Rz(γ) Rx(α) Rz(β) is the rotation from the axis of its parent to its axis.
    """
    joint, parent = robot.joints[index], mechanism.joints[index].parent
    before, after = (
        (onto(of.joints[parent].axis) if parent >= 0 else k.IDENTITY, onto(of.joints[index].axis))
        for of in (mechanism, robot)
    )
    rotation, _ = k.displacement(mechanism.joints[index].pose)
    angles = k.zxz(k.product(k.transpose(before[0]), k.product(rotation, before[1])))
    has_decimals = any(
        isinstance(step, Turn) and step.angle.radians for step in mechanism.joints[index].pose
    )
    turns = []
    for axis, (cosine, sine) in zip((Z_AXIS, X_AXIS, Z_AXIS), angles, strict=True):
        if not (k.is_rational(cosine) and k.is_rational(sine)):
            value = arb(sine) / (1 + arb(cosine))
            tangent = k.rational(
                numbers.transcendental(value)
                if has_decimals
                else numbers.algebraic(Algebraic(value, (cosine, sine)))
            )
            cosine, sine = (1 - tangent**2) / (1 + tangent**2), 2 * tangent / (1 + tangent**2)
        turns.append(k.rotation_about(k.vector(axis), cosine, sine))
    between = k.product(turns[0], k.product(turns[1], turns[2]))
    matrix = k.product(after[0], k.product(between, k.transpose(after[1])))
    _, shift = k.displacement(joint.pose)
    x, y, z = (k.to_fraction(entry) for entry in shift)
    return replace(joint, pose=compose((Shift((x, y, z)), Rotate(quaternion_of(matrix)))))


def quaternion_of(matrix: k.Mat3) -> Quaternion:
    """Return a rational quaternion of a rational rotation."""
    rows = [[k.to_fraction(x) for x in row] for row in matrix]
    trace = rows[0][0] + rows[1][1] + rows[2][2]
    twice = [rows[2][1] - rows[1][2], rows[0][2] - rows[2][0], rows[1][0] - rows[0][1]]
    if trace != -1:
        return (1 + trace, twice[0], twice[1], twice[2])
    axis = next(
        i for i in range(3) if rows[i][i] != -1
    )  # a half turn: the axis is a column of 1 + R
    x, y, z = (rows[i][axis] + (i == axis) for i in range(3))
    return (Fraction(0), x, y, z)


def onto(axis: Vector3) -> k.Mat3:
    """Return the rotation whose z column is a direction, as `entries.declared_model` chooses it."""
    return onto_axis(k.unit(k.vector(axis)))


class ExactLinkage(SymbolicLinkage):
    """Linkage whose sines and cosines have sums of joint angles as arguments, without constants.

    sin(q + β) is sin q cos β + cos q sin β, since cos β and sin β of a stand-in are rational and β
    is not.
    """

    def _sine_cosine(self, q: object, spin: Spin) -> dict[object, Scalar]:
        import sympy as sp

        if any(k.is_zero(x) for x in spin.constant):
            return super()._sine_cosine(q, spin)
        without_constant = super()._sine_cosine(q, Spin(spin.terms))
        c, s = without_constant[sp.cos(q)], without_constant[sp.sin(q)]
        cosine, sine = (self.scalar(x) for x in spin.constant)
        return {sp.cos(q): c * cosine - s * sine, sp.sin(q): s * cosine + c * sine}


def has_rational_constants(mechanism: Mechanism) -> bool:
    """True if an `ExactLinkage` has rational constants only."""
    return all(
        k.is_rational(x) for link in declared_model(mechanism).links for x in link_constants(link)
    )


def field_of_robot(mechanism: Mechanism) -> Roots:
    """Return the field of the square roots among the constants of a robot.

    Raises NoStandIn if the robot has no stand-ins. Use it inside `sharp()`.
    """
    record = Record(decimal_angles(mechanism))
    rational_robot(mechanism, record)
    return field_of(record.numbers)

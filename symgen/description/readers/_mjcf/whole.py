"""Sum of several inertias, and principal moments, which the compiler's bounds concern: to 60
digits.

No other part needs them: an inertia that no bound changes stays in its own axes, exact. Springs
that depend on inertia need the matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from symgen.description.quantities import round_to_digits
from symgen.description.readers._mjcf.roots import PI, in_radians, square_root
from symgen.description.tree import Inertial
from symgen.mechanism.inertias import Moments, about_centre
from symgen.vocabulary.poses import Angle, Pose, Rotate, Shift, Slide, Step, Turn, Vector3

Matrix = list[list[Fraction]]
_ZERO, _ONE = Fraction(0), Fraction(1)
_NEGLIGIBLE = Fraction(1, 10**58)
"""Share of the trace below which an off-diagonal entry counts as zero."""
_SWEEPS = 40
"""Largest number of Jacobi sweeps. Near convergence each one doubles the digits; ten are enough."""
_PAIRS = ((0, 1), (0, 2), (1, 2))


def sum_of_inertias(inertials: Sequence[Inertial]) -> Inertial:
    """Return the sum of `inertials` in their common frame: its centre of mass, and the moments
    about it in the axes of that frame.
    """
    mass = sum((inertial.mass for inertial in inertials), _ZERO)
    first_moment, tensor = [_ZERO] * 3, _zeros()
    for inertial in inertials:
        turn, centre = displacement(inertial.pose)
        rotated = product(product(turn, matrix(inertial.moments)), transposed(turn))
        squared_distance = sum((c * c for c in centre), _ZERO)
        first_moment = [
            round_to_digits(so_far + inertial.mass * c)
            for so_far, c in zip(first_moment, centre, strict=True)
        ]
        tensor = [
            [
                round_to_digits(
                    tensor[i][j]
                    + rotated[i][j]
                    + inertial.mass * ((squared_distance if i == j else 0) - centre[i] * centre[j])
                )
                for j in range(3)
            ]
            for i in range(3)
        ]  # about the common origin
    x, y, z = (round_to_digits(entry / mass) for entry in first_moment) if mass else first_moment
    moments = about_centre(_six(tensor), mass, (x, y, z))
    return Inertial(
        mass, tuple(map(round_to_digits, moments)), (Shift((x, y, z)),), inertials[0].location
    )


def bound_principal_moments(moments: Sequence[Fraction], bound: Fraction) -> tuple[Fraction, ...]:
    """Return moments with all principal moments at least `bound`, in the same axes."""
    values, axes = _principal(matrix(moments))
    tensor = [
        [
            sum(
                (max(value, bound) * axes[i][k] * axes[j][k] for k, value in enumerate(values)),
                _ZERO,
            )
            for j in range(3)
        ]
        for i in range(3)
    ]
    return tuple(map(round_to_digits, _six(tensor)))


def _principal(a: Matrix) -> tuple[list[Fraction], Matrix]:
    """Return the principal values, and their axes as columns, by Jacobi rotations (Golub & Van
    Loan, Matrix Computations, 8.5).
    """
    axes = displacement(())[0]
    size = sum(abs(a[i][i]) for i in range(3))
    for _ in range(_SWEEPS):
        if all(abs(a[p][q]) <= _NEGLIGIBLE * size for p, q in _PAIRS):
            break
        for p, q in _PAIRS:
            if abs(a[p][q]) > _NEGLIGIBLE * size:
                turn = _rotation_of(a, p, q)
                a = product(product(transposed(turn), a), turn)
                axes = product(axes, turn)
    return [a[i][i] for i in range(3)], axes


def _rotation_of(a: Matrix, p: int, q: int) -> Matrix:
    """Return the rotation in the plane of axes p and q that makes a[p][q] zero."""
    slope = (a[q][q] - a[p][p]) / (2 * a[p][q])
    t = round_to_digits(_ONE / (abs(slope) + square_root(slope * slope + 1))) * (
        1 if slope >= 0 else -1
    )
    c = round_to_digits(_ONE / square_root(t * t + 1))
    rotation = displacement(())[0]
    rotation[p][p] = rotation[q][q] = c
    rotation[p][q], rotation[q][p] = round_to_digits(t * c), -round_to_digits(t * c)
    return rotation


def displacement(pose: Pose) -> tuple[Matrix, list[Fraction]]:
    """Return (R, p) of a pose, to 60 digits."""
    rotation, position = (
        [[_ONE if i == j else _ZERO for j in range(3)] for i in range(3)],
        [_ZERO] * 3,
    )
    for step in pose:
        if isinstance(step, Shift | Slide):
            shift = (
                step.xyz
                if isinstance(step, Shift)
                else [entry * step.distance for entry in unit(step.axis)]
            )
            position = [
                position[i] + sum(rotation[i][k] * shift[k] for k in range(3)) for i in range(3)
            ]
        else:
            rotation = product(rotation, _rotation_matrix(step))
    return rotation, position


def _rotation_matrix(step: Step) -> Matrix:
    """Return the rotation matrix of a step."""
    if isinstance(step, Rotate):
        w, x, y, z = step.quaternion
        square = w * w + x * x + y * y + z * z
        c, vector = (w * w - x * x - y * y - z * z) / square, (x, y, z)
        return _rotation_about(vector, c, 2 * w / square, 2 / square)
    assert isinstance(step, Turn)
    s, c = _sine_and_cosine(step.angle)
    return _rotation_about(unit(step.axis), c, s, 1 - c)


def _rotation_about(v: Vector3, c: Fraction, s: Fraction, outer: Fraction) -> Matrix:
    """Return c 1 + s v× + outer v vᵀ."""
    x, y, z = v
    skew = ((_ZERO, -z, y), (z, _ZERO, -x), (-y, x, _ZERO))
    return [
        [
            round_to_digits((c if i == j else 0) + s * skew[i][j] + outer * v[i] * v[j])
            for j in range(3)
        ]
        for i in range(3)
    ]


def unit(axis: Vector3) -> Vector3:
    """Return the unit vector along `axis`."""
    length = square_root(sum((entry * entry for entry in axis), _ZERO))
    x, y, z = (round_to_digits(entry / length) for entry in axis)
    return x, y, z


def _sine_and_cosine(angle: Angle) -> tuple[Fraction, Fraction]:
    """Return sine and cosine by their series, within half a turn."""
    if (quarters := angle.quarter_turns) is not None:
        return ((_ZERO, _ONE), (_ONE, _ZERO), (_ZERO, -_ONE), (-_ONE, _ZERO))[quarters % 4]
    x = in_radians(angle)
    x -= 2 * PI * round(x / (2 * PI))
    sums, term, k = [_ZERO, _ZERO], _ONE, 0
    while abs(term) > _NEGLIGIBLE / 10**6:
        sums[k % 2] += term if k % 4 < 2 else -term
        k += 1
        term = round_to_digits(term * x / k)
    return sums[1], sums[0]


def _zeros() -> Matrix:
    return [[_ZERO] * 3 for _ in range(3)]


def product(a: Matrix, b: Matrix) -> Matrix:
    """Return a b, each entry to 60 digits."""
    return [
        [round_to_digits(sum((a[i][k] * b[k][j] for k in range(3)), _ZERO)) for j in range(3)]
        for i in range(3)
    ]


def transposed(a: Matrix) -> Matrix:
    """Return aᵀ."""
    return [[a[j][i] for j in range(3)] for i in range(3)]


def matrix(moments: Sequence[Fraction]) -> Matrix:
    """Return the matrix of six moments (xx, xy, xz, yy, yz, zz)."""
    xx, xy, xz, yy, yz, zz = moments
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def _six(a: Matrix) -> Moments:
    return a[0][0], a[0][1], a[0][2], a[1][1], a[1][2], a[2][2]

"""Several inertias as one, and its principal moments, which the compiler's bounds are about: to 60 digits.

Nothing else needs them: what no bound touches stays in its own axes, exact. Springs that hang on inertia need the matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from symgen.description.quantities import rounded
from symgen.description.readers._mjcf.roots import PI, in_radians, root
from symgen.description.tree import Inertial
from symgen.mechanism.inertias import Moments, about_centre
from symgen.vocabulary.poses import Angle, Pose, Rotate, Shift, Slide, Step, Turn, Vector3

Matrix = list[list[Fraction]]
_ZERO, _ONE = Fraction(0), Fraction(1)
_NOTHING = Fraction(1, 10**58)
"""Part of the trace below which an entry beside the diagonal is none."""
_SWEEPS = 40
"""Each doubles the digits once it is near; ten are enough."""
_PAIRS = ((0, 1), (0, 2), (1, 2))


def gathered(parts: Sequence[Inertial]) -> Inertial:
    """The whole of `parts`, in their common frame: its centre of mass, and moments about it in the axes of that frame."""
    mass = sum((one.mass for one in parts), _ZERO)
    first, tensor = [_ZERO] * 3, _zeros()
    for one in parts:
        turn, centre = displacement(one.pose)
        own = product(product(turn, matrix(one.moments)), transposed(turn))
        far = sum((c * c for c in centre), _ZERO)
        first = [rounded(so_far + one.mass * c) for so_far, c in zip(first, centre, strict=True)]
        tensor = [
            [
                rounded(
                    tensor[i][j]
                    + own[i][j]
                    + one.mass * ((far if i == j else 0) - centre[i] * centre[j])
                )
                for j in range(3)
            ]
            for i in range(3)
        ]  # about the common origin
    x, y, z = (rounded(entry / mass) for entry in first) if mass else first
    found = about_centre(_six(tensor), mass, (x, y, z))
    return Inertial(mass, tuple(map(rounded, found)), (Shift((x, y, z)),), parts[0].place)


def bounded(moments: Sequence[Fraction], least: Fraction) -> tuple[Fraction, ...]:
    """Moments whose principal ones are not below `least`, in the same axes."""
    values, axes = _principal(matrix(moments))
    tensor = [
        [
            sum(
                (max(value, least) * axes[i][k] * axes[j][k] for k, value in enumerate(values)),
                _ZERO,
            )
            for j in range(3)
        ]
        for i in range(3)
    ]
    return tuple(map(rounded, _six(tensor)))


def _principal(a: Matrix) -> tuple[list[Fraction], Matrix]:
    """Principal values, and their axes as columns, by Jacobi's rotations (Golub & Van Loan, Matrix Computations, 8.5)."""
    axes = displacement(())[0]
    size = sum(abs(a[i][i]) for i in range(3))
    for _ in range(_SWEEPS):
        if all(abs(a[p][q]) <= _NOTHING * size for p, q in _PAIRS):
            break
        for p, q in _PAIRS:
            if abs(a[p][q]) > _NOTHING * size:
                turn = _rotation_of(a, p, q)
                a = product(product(transposed(turn), a), turn)
                axes = product(axes, turn)
    return [a[i][i] for i in range(3)], axes


def _rotation_of(a: Matrix, p: int, q: int) -> Matrix:
    """The turn in the plane of axes p and q that makes a[p][q] zero."""
    slope = (a[q][q] - a[p][p]) / (2 * a[p][q])
    t = rounded(_ONE / (abs(slope) + root(slope * slope + 1))) * (1 if slope >= 0 else -1)
    c = rounded(_ONE / root(t * t + 1))
    found = displacement(())[0]
    found[p][p] = found[q][q] = c
    found[p][q], found[q][p] = rounded(t * c), -rounded(t * c)
    return found


def displacement(pose: Pose) -> tuple[Matrix, list[Fraction]]:
    """(R, p) of a pose, to 60 digits."""
    turn, place = [[_ONE if i == j else _ZERO for j in range(3)] for i in range(3)], [_ZERO] * 3
    for step in pose:
        if isinstance(step, Shift | Slide):
            way = (
                step.xyz
                if isinstance(step, Shift)
                else [entry * step.distance for entry in unit(step.axis)]
            )
            place = [place[i] + sum(turn[i][k] * way[k] for k in range(3)) for i in range(3)]
        else:
            turn = product(turn, _turned(step))
    return turn, place


def _turned(step: Step) -> Matrix:
    """The rotation matrix of a turn."""
    if isinstance(step, Rotate):
        w, x, y, z = step.quaternion
        square = w * w + x * x + y * y + z * z
        c, vector = (w * w - x * x - y * y - z * z) / square, (x, y, z)
        return _about(vector, c, 2 * w / square, 2 / square)
    assert isinstance(step, Turn)
    s, c = _sine_and_cosine(step.angle)
    return _about(unit(step.axis), c, s, 1 - c)


def _about(v: Vector3, c: Fraction, s: Fraction, outer: Fraction) -> Matrix:
    """c 1 + s v× + outer v vᵀ."""
    x, y, z = v
    skew = ((_ZERO, -z, y), (z, _ZERO, -x), (-y, x, _ZERO))
    return [
        [rounded((c if i == j else 0) + s * skew[i][j] + outer * v[i] * v[j]) for j in range(3)]
        for i in range(3)
    ]


def unit(axis: Vector3) -> Vector3:
    """Of length one."""
    length = root(sum((entry * entry for entry in axis), _ZERO))
    x, y, z = (rounded(entry / length) for entry in axis)
    return x, y, z


def _sine_and_cosine(angle: Angle) -> tuple[Fraction, Fraction]:
    """By their series, within half a turn."""
    if (quarters := angle.quarter_turns) is not None:
        return ((_ZERO, _ONE), (_ONE, _ZERO), (_ZERO, -_ONE), (-_ONE, _ZERO))[quarters % 4]
    x = in_radians(angle)
    x -= 2 * PI * round(x / (2 * PI))
    sums, term, k = [_ZERO, _ZERO], _ONE, 0
    while abs(term) > _NOTHING / 10**6:
        sums[k % 2] += term if k % 4 < 2 else -term
        k += 1
        term = rounded(term * x / k)
    return sums[1], sums[0]


def _zeros() -> Matrix:
    return [[_ZERO] * 3 for _ in range(3)]


def product(a: Matrix, b: Matrix) -> Matrix:
    """a b, each entry to 60 digits."""
    return [
        [rounded(sum((a[i][k] * b[k][j] for k in range(3)), _ZERO)) for j in range(3)]
        for i in range(3)
    ]


def transposed(a: Matrix) -> Matrix:
    """aᵀ."""
    return [[a[j][i] for j in range(3)] for i in range(3)]


def matrix(moments: Sequence[Fraction]) -> Matrix:
    """Of six moments (xx, xy, xz, yy, yz, zz)."""
    xx, xy, xz, yy, yz, zz = moments
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def _six(a: Matrix) -> Moments:
    return a[0][0], a[0][1], a[0][2], a[1][1], a[1][2], a[2][2]

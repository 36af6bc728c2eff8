"""Lee & Chirikjian 2005: Fixman's partition of a planar chain of point masses.

The points x_1 … x_n at the ends of the links (14) are given by the soft variables θ and the hard
variables L. The metric G of both (4) has the inverse H = [∂q/∂x] [diag(1/m)] [∂q/∂x]ᵀ (3), whose
blocks (23) are bands (24). With them the equations of motion are solved by
θ̈ = (H_θθ − H_θL H_LL⁻¹ H_Lθ) b, (12), (25).

The rows of ∂θ/∂x and ∂L/∂x are those of (∂x/∂q)⁻¹, in which every coordinate varies:

    ∂L_i/∂x_i = e_iᵀ = −∂L_i/∂x_{i−1}
    ∂θ_i/∂x_i = n_iᵀ/L_i
    ∂θ_i/∂x_{i−1} = −n_iᵀ/L_i − n_{i−1}ᵀ/L_{i−1}
    ∂θ_i/∂x_{i−2} = n_{i−1}ᵀ/L_{i−1}

Here e_i is the direction of link i, and n_i is e_i turned by a quarter. The paper's rows (20)-(21)
hold the lengths constant. They differ from these by multiples of ∂L, and (12) has the same value
with either.

Links are ordered as in the paper, from the base. Points are in base axes, in the plane through the
first joint and normal to its axis; if that axis is the third axis of the base, the plane has the
base's first two axes. A joint whose axis is opposite to the first one turns the other way: its θ_i
enters the sum of (14) with a minus sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from math import isqrt
from random import Random
from typing import Any

import numpy as np
from flint import fmpq
from flint.utils.flint_exceptions import DomainError

from symgen.papers.blocks import Matrix, cross_matrix, identity, zeros
from symgen.papers.chain import Chain, LinkNumbers, random_numbers
from symgen.papers.comparison import mass_matrix_by_bodies, matrix_determinant, matrix_inverse
from symgen.papers.dual import Dual, dual_parts, duals
from symgen.papers.equation import Equation, Letter, link_entries
from symgen.papers.rational_functions import Ratio
from symgen.reference.precision import Array
from symgen.support.errors import RequestError

SOURCE = "Lee & Chirikjian 2005"
CONVENTIONS = (
    "The paper counts links from 1. Points are in base axes, in the plane of the chain. Coordinates"
    " are θ, the joint angles, and L, the lengths of the links."
)
"""Conventions of the letters, for a reader of a derived paper."""

BANDS = {
    "H_theta_theta": (-2, 2),
    "H_theta_L": (-2, 1),
    "H_L_theta": (-1, 2),
    "H_L_L": (-1, 1),
}
"""First and last diagonal of each block in (24)."""


def planar_fault(chain: Chain) -> str | None:
    """Return why a robot is not a serial chain of revolute joints about parallel axes, or None."""
    for i, link in enumerate(chain.links):
        if link.parent != i - 1:
            return f"it branches at link '{link.name}'"
        if len(link.axes) != 1 or (link.axes[0, 3:] != 0).any():
            return f"the joint of link '{link.name}' is not revolute"
        if i:
            axis = link.rotation @ link.axes[0, :3]
            if (cross_matrix(axis) @ chain.links[i - 1].axes[0, :3] != 0).any():
                return (
                    f"the axis of the joint of link '{link.name}' is not parallel to that of the"
                    " joint before it"
                )
    return None


def link_end(chain: Chain, i: int) -> Array:
    """Return the end of link i in its axes, projected along the joint's axis.

    It is the origin of link i + 1, or the mass centre of the last link.
    """
    link = chain.links[i]
    end = chain.links[i + 1].shift if i + 1 < len(chain.links) else link.centre
    return _projected(link, end)


def _projected(link: LinkNumbers, vector: Array) -> Array:
    axis = link.axes[0, :3]
    projected: Array = vector - axis * (axis @ vector)
    return projected


def point_mass_fault(chain: Chain) -> str | None:
    """Return which link of a planar chain is no point mass at its end, or None."""
    for i, link in enumerate(chain.links):
        end, axis = link_end(chain, i), link.axes[0, :3]
        if link.mass == 0:
            return f"link '{link.name}' has no mass"
        if (end == 0).all():
            return f"link '{link.name}' has length zero"
        if axis @ link.central @ axis != 0 or (_projected(link, link.centre) != end).any():
            return f"link '{link.name}' is no point mass at its end"
    return None


def exact_root(square: Any) -> Any:
    """Return the square root of a rational number or of a rational function, or None."""
    if isinstance(square, Ratio):
        lowest = square.lowest()
        if any(power % 2 for power in lowest.powers):
            return None
        try:
            above = lowest.above.sqrt()
        except DomainError:
            return None
        return Ratio(lowest.functions, above, tuple(power // 2 for power in lowest.powers))
    rational = fmpq(square)
    above, below = isqrt(int(rational.p)), isqrt(int(rational.q))
    root = fmpq(above, below)
    return root if root * root == rational else None


def in_band(name: str, i: int, j: int) -> bool:
    """True if entry (i, j) of a block is in a diagonal that (24) shows."""
    first, last = BANDS[name]
    return first <= j - i <= last


class Operators:
    """The partition of a planar chain of point masses at one state, over the numbers of `chain`.

    `b` are the joint moments of (9); random ones by default.
    """

    def __init__(self, chain: Chain, b: Sequence[Any] | None = None) -> None:
        fault = planar_fault(chain)
        if fault is not None:
            raise RequestError(
                f"{SOURCE} need a serial chain of revolute joints with parallel axes, and in"
                f" '{chain.name}' {fault}; use the operators of Rodriguez & Kreutz (paper rk,"
                " method riccati)"
            )
        fault = point_mass_fault(chain)
        if fault is not None:
            raise RequestError(
                f"{SOURCE} need a point mass at the end of every link, and in '{chain.name}'"
                f" {fault}; use the operators of Rodriguez & Kreutz (paper rk, method riccati)"
            )
        self.chain = chain
        self.links = chain.links
        self.n = len(chain.links)
        self._b = b
        self._pivots: list[Any] = []
        self.masses = [link.mass for link in chain.links]
        self.lengths = [self._length(i) for i in range(self.n)]
        self.senses = self._senses()
        """1 for a joint that turns about the direction of the first axis, −1 about the opposite."""

    def _length(self, i: int) -> Any:
        end = link_end(self.chain, i)
        length = exact_root(end @ end)
        if length is None:
            raise RequestError(
                f"the length of link '{self.links[i].name}' of '{self.chain.name}' is the"
                f" irrational root of {end @ end}; give its end coordinates with a rational length,"
                " such as (3, 4, 0)"
            )
        return length

    def _senses(self) -> list[Any]:
        senses: list[Any] = [fmpq(1)]
        for before, link in pairwise(self.links):
            axis = link.rotation @ link.axes[0, :3]
            senses.append(senses[-1] * (axis @ before.axes[0, :3]))
        return senses

    # -- points ------------------------------------------------------------------------------------

    @cached_property
    def plane(self) -> Array:
        """The axes of the plane (2x3), in base axes."""
        axis = self.links[0].rotation @ self.links[0].axes[0, :3]
        normal = axis - np.array([0, 0, 1], dtype=object)
        square = normal @ normal
        if square == 0:
            return identity(3)[:2]
        reflection = identity(3) - np.outer(normal, normal) * (2 / square)
        return np.array([reflection[0], -reflection[1]], dtype=object)

    @cached_property
    def turns(self) -> list[tuple[Any, Any]]:
        """Cosine and sine of the angle from a link to the next; the first from the first axis."""
        first, axes = self.links[0], self.plane
        e = axes @ (first.rotation @ link_end(self.chain, 0)) / self.lengths[0]
        result = [(e[0], e[1])]
        for i in range(1, self.n):
            before, axis = link_end(self.chain, i - 1), self.links[i - 1].axes[0, :3]
            after = self.links[i].rotation @ link_end(self.chain, i)
            share = 1 / (self.lengths[i - 1] * self.lengths[i])
            sine = axis @ (cross_matrix(before) @ after) * share * self.senses[i - 1]
            result.append(((before @ after) * share, sine))
        return result

    @cached_property
    def cos_theta(self) -> Matrix:
        """cos θ_i, a column (19)."""
        return Matrix.column([cosine for cosine, _ in self.turns])

    @cached_property
    def sin_theta(self) -> Matrix:
        """sin θ_i, a column (21)."""
        sines = (sense * sine for sense, (_, sine) in zip(self.senses, self.turns, strict=True))
        return Matrix.column(list(sines))

    def _directions(self, turns: Sequence[tuple[Any, Any]]) -> list[Array]:
        """Return (cos, sin) of the sum of the angles up to each link (14)."""
        result: list[Array] = []
        before = np.array([fmpq(1), fmpq(0)], dtype=object)
        for cosine, sine in turns:
            before = before * cosine + _quarter_turn(before) * sine
            result.append(before)
        return result

    @cached_property
    def directions(self) -> list[Array]:
        """e_i, the unit vector along each link."""
        return self._directions(self.turns)

    @cached_property
    def normals(self) -> list[Array]:
        """n_i, the unit vector a quarter turn ahead of each link."""
        return [_quarter_turn(e) for e in self.directions]

    def _points(self, directions: Sequence[Array], lengths: Sequence[Any]) -> Array:
        """Return x_1 … x_n (14), one after the other."""
        points = np.cumsum(
            np.array([e * L for e, L in zip(directions, lengths, strict=True)], dtype=object),
            axis=0,
        )
        return points.reshape(-1)

    def point(self, k: int) -> Array:
        """Return x_{k+1}, the end of link k (14)."""
        return self._points(self.directions[: k + 1], self.lengths[: k + 1])[-2:]

    @cached_property
    def x(self) -> Matrix:
        """The points x_1 … x_n (2n x 1), (14)."""
        return Matrix.of(self._points(self.directions, self.lengths))

    @cached_property
    def L_i(self) -> Matrix:
        """The lengths of the links on the diagonal (n x n)."""
        return _diagonal(self.lengths)

    def _differences(self, points: Array) -> Array:
        """Return d_i = x_i − x_{i−1}, a row for each link; x_0 is the origin."""
        rows = points.reshape(-1, 2)
        differences: Array = rows - np.concatenate([zeros(1, 2), rows[:-1]])
        return differences

    @cached_property
    def d_i(self) -> Matrix:
        """d_i = x_i − x_{i−1}, a row for each link (17)."""
        return Matrix.of(self._differences(self.x.entries[:, 0]))

    # -- rows of ∂q/∂x -----------------------------------------------------------------------------

    def _rows(self, entries_by_point: dict[tuple[int, int], Array]) -> Matrix:
        """Return the n x 2n matrix of rows (i, point), each of two entries."""
        matrix = zeros(self.n, 2 * self.n)
        for (i, point), entries in entries_by_point.items():
            if point >= 0:
                matrix[i, 2 * point : 2 * point + 2] = entries
        return Matrix.of(matrix)

    @cached_property
    def dtheta_dx(self) -> Matrix:
        """∂θ/∂x (n x 2n), rows of (∂x/∂q)⁻¹; the lengths vary."""
        direction_rates = [n / L for n, L in zip(self.normals, self.lengths, strict=True)]
        direction_rates.append(zeros(2))  # the direction before the first link is fixed
        entries: dict[tuple[int, int], Array] = {}
        for i, sense in enumerate(self.senses):
            entries[i, i] = direction_rates[i] * sense
            entries[i, i - 1] = -(direction_rates[i] + direction_rates[i - 1]) * sense
            entries[i, i - 2] = direction_rates[i - 1] * sense
        return self._rows(entries)

    @cached_property
    def dL_dx(self) -> Matrix:
        """∂L/∂x (n x 2n), rows of (∂x/∂q)⁻¹, (18)."""
        entries = {(i, i): e for i, e in enumerate(self.directions)}
        return self._rows(entries | {(i, i - 1): -e for i, e in enumerate(self.directions)})

    @cached_property
    def dq_dx(self) -> Matrix:
        """∂q/∂x (2n x 2n): the rows of θ, then those of L."""
        return Matrix.below([self.dtheta_dx, self.dL_dx])

    @cached_property
    def dcos_theta_dx(self) -> Matrix:
        """L_{i−1} L_i ∂cos θ_i/∂x (n x 2n) with the lengths held constant (20).

        The link before the first has length 1 and the direction of the first axis.
        """
        d = self._with_axis(self.d_i.entries)
        entries: dict[tuple[int, int], Array] = {}
        for i in range(self.n):
            entries[i, i] = d[i]  # (20-1); d starts with d_0
            entries[i, i - 1] = d[i + 1] - d[i]  # (20-2)
            entries[i, i - 2] = -d[i + 1]  # (20-3)
        return self._rows(entries)

    @cached_property
    def dtheta_dx_printed(self) -> Matrix:
        """∂θ/∂x (n x 2n) with the lengths held constant (21), its last term corrected.

        RequestError if a sin θ_i is zero.
        """
        d, L = self._with_axis(self.d_i.entries), [fmpq(1), *self.lengths]
        entries: dict[tuple[int, int], Array] = {}
        for i, sine in enumerate(self.sin_theta.entries[:, 0]):
            if sine == 0:
                raise RequestError(
                    f"rows (20)-(21) divide by sin θ_{i + 1}, which is zero; use dtheta_dx, which"
                    " does not"
                )
            factor = -1 / (L[i] * L[i + 1] * sine)
            entries[i, i] = d[i] * factor
            entries[i, i - 1] = (d[i + 1] - d[i]) * factor
            entries[i, i - 2] = -d[i + 1] * factor
        return self._rows(entries)

    @staticmethod
    def _with_axis(differences: Array) -> Array:
        """Return d_0, the first axis of the plane, before d_1 … d_n."""
        return np.concatenate([identity(2)[:1], differences])

    # -- G and H -----------------------------------------------------------------------------------

    @cached_property
    def dx_dq(self) -> Matrix:
        """∂x/∂q (2n x 2n): (14), differentiated exactly by dual numbers."""
        columns = []
        for coordinate in range(2 * self.n):
            rates = [fmpq(int(coordinate == i)) for i in range(2 * self.n)]
            turns = [
                (Dual(cosine, -sine * sense * rate), Dual(sine, cosine * sense * rate))
                for (cosine, sine), sense, rate in zip(
                    self.turns, self.senses, rates[: self.n], strict=True
                )
            ]
            lengths = [Dual(*pair) for pair in zip(self.lengths, rates[self.n :], strict=True)]
            columns.append(dual_parts(self._points(self._directions(turns), lengths)))
        return Matrix.of(np.array(columns, dtype=object).T)

    @cached_property
    def masses_twice(self) -> Matrix:
        """diag(m_i): each mass twice, once for each coordinate of its point."""
        return _diagonal([m for m in self.masses for _ in range(2)])

    @cached_property
    def inverse_masses(self) -> Matrix:
        """diag(1/m_i)."""
        return _diagonal([1 / m for m in self.masses for _ in range(2)])

    @cached_property
    def G(self) -> Matrix:
        """The mass matrix of θ and L together (2n x 2n), (4)."""
        return self.dx_dq.T @ self.masses_twice @ self.dx_dq

    @cached_property
    def G_aa(self) -> Matrix:
        """The block of G over θ (6): the mass matrix of the robot."""
        return self._corner(self.G, 0, 0)

    @cached_property
    def G_ba(self) -> Matrix:
        """The block of G over L and θ (6)."""
        return self._corner(self.G, 1, 0)

    @cached_property
    def mass_matrix(self) -> Matrix:
        """The mass matrix, from the kinetic energies of the links in space."""
        return mass_matrix_by_bodies(self.chain)

    def _corner(self, matrix: Matrix, row: int, column: int) -> Matrix:
        n = self.n
        return Matrix.of(matrix.entries[row * n : row * n + n, column * n : column * n + n])

    @cached_property
    def H(self) -> Matrix:
        """H = G⁻¹ (2n x 2n), (3)."""
        return self.dq_dx @ self.inverse_masses @ self.dq_dx.T

    def sum_over_masses(self, left: Matrix, right: Matrix) -> Matrix:
        """Return Σ_l (1/m_l) (∂a/∂x_l) (∂b/∂x_l)ᵀ over the points that move, l = 1 … n."""
        a, b = left.entries, right.entries
        total = zeros(len(a), len(b))
        for point, mass in enumerate(self.masses):
            columns = slice(2 * point, 2 * point + 2)
            total = total + a[:, columns] @ b[:, columns].T * (1 / mass)
        return Matrix.of(total)

    @cached_property
    def H_theta_theta(self) -> Matrix:
        """The soft block H_aa (23)."""
        return self.sum_over_masses(self.dtheta_dx, self.dtheta_dx)

    @cached_property
    def H_theta_L(self) -> Matrix:
        """The block H_ab (23)."""
        return self.sum_over_masses(self.dtheta_dx, self.dL_dx)

    @cached_property
    def H_L_theta(self) -> Matrix:
        """The block H_ba (23)."""
        return self.sum_over_masses(self.dL_dx, self.dtheta_dx)

    @cached_property
    def H_L_L(self) -> Matrix:
        """The hard block H_bb (23), tridiagonal."""
        return self.sum_over_masses(self.dL_dx, self.dL_dx)

    @cached_property
    def det_G(self) -> Matrix:
        """det G = Π m_i² L_i² (1x1)."""
        total: Any = fmpq(1)
        for m, L in zip(self.masses, self.lengths, strict=True):
            total = total * (m * L) * (m * L)
        return Matrix.column([total])

    # -- the solution ------------------------------------------------------------------------------

    @cached_property
    def b(self) -> Matrix:
        """The joint moments without bias (9): those of the constructor, or random ones."""
        if self._b is not None:
            return Matrix.column(self._b)
        return Matrix.of(random_numbers(Random(f"lc/{self.chain.name}"), self.n))

    def pivot(self, i: int) -> Any:
        """Return entry (i, i) of U_h: elimination of H_LL from the first link on, in closed
        entries.
        """
        for k in range(len(self._pivots), i + 1):
            pivot = self.entry_by_angles("H_L_L", k, k)
            if k:
                above = self.entry_by_angles("H_L_L", k - 1, k)
                pivot = pivot - above * above / self._pivots[-1]
            self._pivots.append(pivot)
        return self._pivots[i]

    def factor(self, i: int) -> Any:
        """Return entry (i + 1, i) of L_h."""
        return self.entry_by_angles("H_L_L", i + 1, i) / self.pivot(i)

    @cached_property
    def L_h(self) -> Matrix:
        """The lower factor of H_LL, with ones on its diagonal and one diagonal below."""
        lower = identity(self.n)
        for i in range(self.n - 1):
            lower[i + 1, i] = self.factor(i)
        return Matrix.of(lower)

    @cached_property
    def U_h(self) -> Matrix:
        """The upper factor of H_LL, with one diagonal above its pivots."""
        upper = zeros(self.n, self.n)
        for i in range(self.n):
            upper[i, i] = self.pivot(i)
            if i + 1 < self.n:
                upper[i, i + 1] = self.entry_by_angles("H_L_L", i, i + 1)
        return Matrix.of(upper)

    @cached_property
    def c(self) -> Matrix:
        """c = H_aa b (13)."""
        return self.H_theta_theta @ self.b

    @cached_property
    def d(self) -> Matrix:
        """d = H_abᵀ b (13)."""
        return self.H_theta_L.T @ self.b

    @cached_property
    def z(self) -> Matrix:
        """z with L_h z = d, by substitution from the first link on."""
        lower, result = self.L_h.entries, list(self.d.entries[:, 0])
        for i in range(1, self.n):
            result[i] = result[i] - lower[i, i - 1] * result[i - 1]
        return Matrix.column(result)

    @cached_property
    def e(self) -> Matrix:
        """e with U_h e = z, by substitution from the last link on (13)."""
        upper, result = self.U_h.entries, list(self.z.entries[:, 0])
        for i in reversed(range(self.n)):
            if i + 1 < self.n:
                result[i] = result[i] - upper[i, i + 1] * result[i + 1]
            result[i] = result[i] / upper[i, i]
        return Matrix.column(result)

    @cached_property
    def f(self) -> Matrix:
        """f = H_ab e (13)."""
        return self.H_theta_L @ self.e

    @cached_property
    def q_ddot(self) -> Matrix:
        """θ̈ = c − f (13)."""
        return self.c - self.f

    @cached_property
    def X(self) -> Matrix:
        """X = θ̈ of (10), from the mass matrix by elimination."""
        return matrix_inverse(self.mass_matrix) @ self.b

    @cached_property
    def Y(self) -> Matrix:
        """Y = −G_ba X of (10)."""
        return -(self.G_ba @ self.X)

    def schur_complement(self, soft: Matrix) -> Matrix:
        """Return (12), H_aa − H_ab H_bb⁻¹ H_abᵀ, for these rows of ∂θ/∂x."""
        aa, ab = self.sum_over_masses(soft, soft), self.sum_over_masses(soft, self.dL_dx)
        return aa - ab @ self.H_L_L_inverse @ ab.T

    @cached_property
    def H_L_L_inverse(self) -> Matrix:
        """H_LL⁻¹, by elimination of the whole matrix."""
        return matrix_inverse(self.H_L_L)

    # -- definitions in a second way ---------------------------------------------------------------

    @cached_property
    def x_by_poses(self) -> Matrix:
        """The points x_i from the poses of the links in the base, without angles."""
        poses, points = self.chain.poses, []
        for i, (rotation, origin) in enumerate(poses):
            end = self.links[i + 1].shift if i + 1 < self.n else self.links[i].centre
            points.append(self.plane @ (origin - poses[0][1] + rotation @ end))
        return Matrix.of(np.concatenate(points))

    @cached_property
    def G_by_momenta(self) -> Matrix:
        """G column by column: the momenta that one unit rate causes, summed from the last point."""
        n, columns = self.n, []
        for rate in range(2 * n):
            velocity, spin, momenta = zeros(2), fmpq(0), []
            for i in range(n):
                spin = spin + (self.senses[i] if rate == i else 0)
                stretch = fmpq(1) if rate == n + i else fmpq(0)
                velocity = velocity + self.directions[i] * stretch
                velocity = velocity + self.normals[i] * (self.lengths[i] * spin)
                momenta.append(velocity * self.masses[i])
            total, moment, column = zeros(2), fmpq(0), zeros(2 * n)
            for i in reversed(range(n)):
                total = total + momenta[i]
                moment = moment + self.lengths[i] * (self.normals[i] @ total)
                column[i], column[n + i] = self.senses[i] * moment, self.directions[i] @ total
            columns.append(column)
        return Matrix.of(np.array(columns, dtype=object).T)

    @cached_property
    def H_by_elimination(self) -> Matrix:
        """(5) with the rows ∂q/∂x_l of (∂x/∂q)⁻¹ by elimination."""
        rows = matrix_inverse(self.dx_dq)
        return self.sum_over_masses(rows, rows)

    @cached_property
    def blocks_by_angles(self) -> Matrix:
        """(23) in closed form, from masses, lengths and the angles between neighbouring links."""
        matrix = zeros(2 * self.n, 2 * self.n)
        for block, name in enumerate(BANDS):
            top, left = (block // 2) * self.n, (block % 2) * self.n
            for i in range(self.n):
                for j in range(self.n):
                    if in_band(name, i, j):
                        matrix[top + i, left + j] = self.entry_by_angles(name, i, j)
        return Matrix.of(matrix)

    def entry_by_angles(self, name: str, i: int, j: int) -> Any:
        """Return entry (i, j) of a block of (23) in closed form.

        H over the directions of the links and their lengths has one term for each mass. A joint
        angle is the difference of two directions.
        """
        if name == "H_L_L":
            return self._by_directions("L", i, "L", j)
        if name == "H_L_theta":
            return self.entry_by_angles("H_theta_L", j, i)
        total: Any = fmpq(0)
        columns = ((j, 1), (j - 1, -1)) if name == "H_theta_theta" else ((j, 1),)
        for row, sign in ((i, 1), (i - 1, -1)):
            for column, second_sign in columns:
                if row >= 0 and column >= 0:
                    kind = "phi" if name == "H_theta_theta" else "L"
                    total = total + self._by_directions("phi", row, kind, column) * (
                        sign * second_sign
                    )
        total = total * self.senses[i]
        return total * self.senses[j] if name == "H_theta_theta" else total

    def _by_directions(self, left: str, i: int, right: str, j: int) -> Any:
        """Return an entry of H over directions ("phi") and lengths ("L") of links i and j."""
        if abs(i - j) > 1:
            return fmpq(0)
        per = (self.lengths[i] if left == "phi" else 1) * (self.lengths[j] if right == "phi" else 1)
        if i == j:
            inner = 1 / self.masses[i - 1] if i else fmpq(0)
            return (1 / self.masses[i] + inner) / per if left == right else fmpq(0)
        cosine, sine = self.turns[max(i, j)]
        if left != right:
            cosine = -sine if i > j else sine
        return -cosine / (self.masses[min(i, j)] * per)

    def gradient(self, of: Callable[[Array], Sequence[Any]]) -> Matrix:
        """Return the derivatives of functions of the points (2n entries), by dual numbers."""
        point, columns = self.x.entries[:, 0], []
        for direction in identity(2 * self.n):
            columns.append(dual_parts(of(duals(point, direction))))
        return Matrix.of(np.array(columns, dtype=object).T)

    def half_square_lengths(self, points: Array) -> list[Any]:
        """Return L_i²/2 of (16) for points x_1 … x_n."""
        return [(d @ d) * fmpq(1, 2) for d in self._differences(points)]

    def products_of_differences(self, points: Array) -> list[Any]:
        """Return d_i · d_{i−1} of (19) for points x_1 … x_n."""
        d = self._with_axis(self._differences(points))
        return [after @ before for before, after in pairwise(d)]

    @cached_property
    def hard_gradients(self) -> Matrix:
        """cot θ_i (∂L_i/L_i + ∂L_{i−1}/L_{i−1}): by how much the rows of (21) differ from ∂θ/∂x."""
        rows = self.dL_dx.entries
        total = zeros(self.n, 2 * self.n)
        for i, (cosine, sine) in enumerate(
            zip(self.cos_theta.entries[:, 0], self.sin_theta.entries[:, 0], strict=True)
        ):
            total[i] = rows[i] / self.lengths[i]
            if i:
                total[i] = total[i] + rows[i - 1] / self.lengths[i - 1]
            total[i] = total[i] * (cosine / sine)
        return Matrix.of(total)


def _quarter_turn(vector: Array) -> Array:
    return np.array([-vector[1], vector[0]], dtype=object)


def _diagonal(entries: Sequence[Any]) -> Matrix:
    matrix = zeros(len(entries), len(entries))
    for i, entry in enumerate(entries):
        matrix[i, i] = entry
    return Matrix.of(matrix)


def _blocks(o: Operators) -> Matrix:
    return Matrix.of_parts([[o.H_theta_theta, o.H_theta_L], [o.H_L_theta, o.H_L_L]])


def _banded(o: Operators) -> Matrix:
    """Return the blocks of H with zeros outside the bands of (24)."""
    blocks = []
    for name in BANDS:
        block = getattr(o, name).entries.copy()
        for i in range(o.n):
            for j in range(o.n):
                if not in_band(name, i, j):
                    block[i, j] = fmpq(0)
        blocks.append(Matrix.of(block))
    return Matrix.of_parts([blocks[:2], blocks[2:]])


def _soft_mass(o: Operators, soft: Matrix) -> Matrix:
    """Return (G_aa, 0; G_ba, 1)."""
    return Matrix.of_parts([[soft, Matrix.zeros(o.n, o.n)], [o.G_ba, Matrix.identity(o.n)]])


def _right_side(o: Operators) -> Matrix:
    return Matrix.below([o.b, Matrix.zeros(o.n, 1)])


def _determinant(matrix: Matrix) -> Matrix:
    return Matrix.column([matrix_determinant(matrix)])


def _product_of_pivots(o: Operators) -> Matrix:
    total: Any = fmpq(1)
    for i in range(o.n):
        total = total * o.U_h.entries[i, i]
    return Matrix.column([total])


EQUATIONS: tuple[Equation[Operators], ...] = (
    Equation(
        "before (3)",
        r"\left[\frac{\partial x}{\partial q}\right]^{-1}"
        r" = \left[\frac{\partial q}{\partial x}\right]",
        lambda o: o.dq_dx @ o.dx_dq,
        lambda o: Matrix.identity(2 * o.n),
        "the derivative ∂x/∂q of (14) is exact; ∂q/∂x has the rows of ∂θ/∂x and ∂L/∂x",
        ("dtheta_dx", "dL_dx", "dx_dtheta", "dx_dL"),
    ),
    Equation(
        "(3)",
        r"G^{-1} = \left[\frac{\partial q}{\partial x}\right][\mathrm{diag}(1/m_i)]"
        r"\left[\frac{\partial q}{\partial x}\right]^T",
        lambda o: o.G @ o.H,
        lambda o: Matrix.identity(2 * o.n),
        "shown as G G⁻¹ = 1, with G of (4)",
    ),
    Equation(
        "(4)",
        r"G_{ij} = \sum_{l=1}^n m_l\,\frac{\partial x_l}{\partial q_i}"
        r"\cdot\frac{\partial x_l}{\partial q_j}",
        lambda o: o.G,
        lambda o: o.G_by_momenta,
        "the right side has the momenta of unit rates, summed from the last point; the term l = 0"
        " that is printed too is zero, since x_0 does not move",
    ),
    Equation(
        "(5)",
        r"H_{ij} = (G^{-1})_{ij} = \sum_{l=1}^n \frac{1}{m_l}\,\frac{\partial q_i}{\partial x_l}"
        r"\left(\frac{\partial q_j}{\partial x_l}\right)^T",
        lambda o: o.H,
        lambda o: o.H_by_elimination,
        "the left side is (3); the right side takes ∂q/∂x from ∂x/∂q by elimination; the paper"
        " prints (G_ij)⁻¹, and a sum from l = 0, though the base is no point mass that moves",
        corrected=True,
    ),
    Equation(
        "(6)",
        r"G^{aa} = \mathcal M",
        lambda o: o.G_aa,
        lambda o: o.mass_matrix,
        "the block of G over θ is the mass matrix; the right side is the sum of the kinetic"
        " energies of the links in space",
        ("G_aa", "G_ab", "G_bb"),
    ),
    Equation(
        "(7)",
        r"\begin{pmatrix} H^{aa} & H^{ab}\\ H^{ba} & H^{bb}\end{pmatrix} = G^{-1},\quad "
        r"H^{ab}_{ij} = \sum_{l=1}^n \frac{1}{m_l}\,\frac{\partial a_i}{\partial x_l}"
        r"\left(\frac{\partial b_j}{\partial x_l}\right)^T",
        _blocks,
        lambda o: matrix_inverse(o.G),
        "the right side is the inverse of G by elimination; the paper prints sums from l = 0",
        corrected=True,
    ),
    Equation(
        "before (8)",
        r"G\begin{pmatrix} 1 & H^{ab}\\ 0 & H^{bb}\end{pmatrix}"
        r" = \begin{pmatrix} G^{aa} & 0\\ G^{ba} & 1\end{pmatrix}",
        lambda o: (
            o.G
            @ Matrix.of_parts(
                [[Matrix.identity(o.n), o.H_theta_L], [Matrix.zeros(o.n, o.n), o.H_L_L]]
            )
        ),
        lambda o: _soft_mass(o, o.mass_matrix),
        "the mass matrix G^aa is the sum of the kinetic energies of the links in space",
    ),
    Equation(
        "(8)",
        r"\det G\,\det H^{bb} = \det G^{aa}",
        lambda o: o.det_G @ _product_of_pivots(o),
        lambda o: _determinant(o.mass_matrix),
        "Fixman's theorem; det G is that of the next equation, and det H^bb the product of the"
        " pivots of H^LL",
    ),
    Equation(
        "det G",
        r"\det G = \prod_i m_i^2 L_i^2",
        lambda o: o.det_G,
        lambda o: _determinant(o.G),
        "the determinant of (8) in closed form, which the paper does not print",
    ),
    Equation(
        "(9)",
        r"G^{aa}\,\ddot q_a = b",
        lambda o: o.mass_matrix @ o.q_ddot,
        lambda o: o.b,
        "with the solution (13)",
    ),
    Equation(
        "(10)",
        r"\begin{pmatrix} G^{aa} & 0\\ G^{ba} & 1\end{pmatrix}\begin{pmatrix} X\\ Y\end{pmatrix} = "
        r"\begin{pmatrix} b\\ 0\end{pmatrix}",
        lambda o: _soft_mass(o, o.G_aa) @ Matrix.below([o.X, o.Y]),
        _right_side,
        "with X by elimination of the mass matrix, and Y = −G^ba X",
    ),
    Equation(
        "(11)",
        r"\begin{pmatrix} X\\ Y\end{pmatrix}"
        r" = \begin{pmatrix} 1 & -H^{ab}(H^{bb})^{-1}\\ 0 & (H^{bb})^{-1}\end{pmatrix}"
        r"\begin{pmatrix} H^{aa} & H^{ab}\\ H^{ba} & H^{bb}\end{pmatrix}"
        r"\begin{pmatrix} b\\ 0\end{pmatrix}",
        lambda o: Matrix.below([o.X, o.Y]),
        lambda o: (
            Matrix.of_parts(
                [
                    [Matrix.identity(o.n), -(o.H_theta_L @ o.H_L_L_inverse)],
                    [Matrix.zeros(o.n, o.n), o.H_L_L_inverse],
                ]
            )
            @ _blocks(o)
            @ _right_side(o)
        ),
        "the left side is that of (10)",
    ),
    Equation(
        "(12)",
        r"\ddot q_a = [H^{aa} - H^{ab}(H^{bb})^{-1}(H^{ab})^T]\,b",
        lambda o: o.mass_matrix @ o.schur_complement(o.dtheta_dx),
        lambda o: Matrix.identity(o.n),
        "shown for every b: the bracket is the inverse of the mass matrix",
    ),
    Equation(
        "(13)",
        r"\ddot q_a = c - f,\quad c = H^{aa}b,\; d = (H^{ab})^Tb,\; e = (H^{bb})^{-1}d,\;"
        r" f = H^{ab}e",
        lambda o: o.X,
        lambda o: o.q_ddot,
        "the left side is X by elimination of the mass matrix; the right side has e by"
        " substitutions with L_h and U_h",
        ("c", "d", "e", "f", "q_ddot"),
    ),
    Equation(
        "after (13)",
        r"H^{bb} = L_h U_h",
        lambda o: o.H_L_L,
        lambda o: o.L_h @ o.U_h,
        "each factor has one diagonal besides the main one",
        ("L_h", "U_h"),
    ),
    Equation(
        "z",
        r"d = L_h z,\quad U_h e = z",
        lambda o: Matrix.below([o.d, o.z]),
        lambda o: Matrix.below([o.L_h @ o.z, o.U_h @ o.e]),
        "by substitutions, from the first link on and from the last link on",
        ("z",),
    ),
    Equation(
        "(14)",
        r"x_i = x_{i-1} + \Bigl[L_i\cos\bigl(\textstyle\sum_{j=1}^i\theta_j\bigr),\;"
        r"L_i\sin\bigl(\textstyle\sum_{j=1}^i\theta_j\bigr)\Bigr]^T",
        lambda o: o.x,
        lambda o: o.x_by_poses,
        "the right side is the composition of the poses of the links in space",
        ("x_i",),
    ),
    Equation(
        "(16)",
        r"L_i^2 = (x_i - x_{i-1})\cdot(x_i - x_{i-1})",
        lambda o: o.L_i @ o.L_i,
        lambda o: _diagonal([d @ d for d in o._differences(o.x_by_poses.entries[:, 0])]),
        "the right side has the points from the poses of the links in space",
        ("L_i",),
    ),
    Equation(
        "(17)",
        r"L_i\frac{\partial L_i}{\partial x_i} = d_i^T,\quad"
        r" L_i\frac{\partial L_i}{\partial x_{i-1}} = -d_i^T",
        lambda o: o.L_i @ o.dL_dx,
        lambda o: o.gradient(o.half_square_lengths),
        "the right side is the exact derivative of half of (16)",
    ),
    Equation(
        "(18)",
        r"\frac{\partial L_i}{\partial x_k} = \frac{1}{L_i}\,d_i^T(\delta_{k,i} - \delta_{k,i-1})",
        lambda o: o.dL_dx,
        lambda o: o._rows(
            {
                (i, i - step): d * (1 - 2 * step) / o.lengths[i]
                for i, d in enumerate(o.d_i.entries)
                for step in (0, 1)
            }
        ),
        "the left side has the directions e_i of the links",
        ("d_i",),
    ),
    Equation(
        "(19)",
        r"\cos\theta_i = \frac{1}{L_iL_{i-1}}(x_i - x_{i-1})\cdot(x_{i-1} - x_{i-2})",
        lambda o: o.cos_theta,
        lambda o: Matrix.column(
            [
                product / (before * length)
                for product, before, length in zip(
                    o.products_of_differences(o.x_by_poses.entries[:, 0]),
                    [fmpq(1), *o.lengths],
                    o.lengths,
                    strict=False,
                )
            ]
        ),
        "the left side is taken from the rotation of joint i; here x_{−1} = −e₁ and L_0 = 1, while"
        " the text has x_{−1} = −L_{−1} e₁",
        ("cos_theta",),
    ),
    Equation(
        "(20)",
        r"L_{i-1}L_i\Bigl[\frac{\partial\cos\theta_i}{\partial x_i},\;"
        r"\frac{\partial\cos\theta_i}{\partial x_{i-1}},\;"
        r"\frac{\partial\cos\theta_i}{\partial x_{i-2}}\Bigr]"
        r" = [(x_{i-1} - x_{i-2})^T,\;(x_i + x_{i-2} - 2x_{i-1})^T,\;(x_{i-1} - x_i)^T]",
        lambda o: o.dcos_theta_dx,
        lambda o: o.gradient(o.products_of_differences),
        "the lengths are constant; the left side has the printed rows, and the right side is the"
        " exact derivative of d_i · d_{i−1}",
        ("dcos_theta_dx",),
    ),
    Equation(
        "(21)",
        r"\frac{\partial\theta_i}{\partial x_j}"
        r" = \frac{-1}{L_{i-1}L_i\sin\theta_i}[\delta_{i,j}d_{i-1}^T"
        r" + \delta_{i-1,j}(d_i - d_{i-1})^T - \delta_{i-2,j}d_i^T]",
        lambda o: o.dtheta_dx_printed,
        lambda o: o.dtheta_dx - o.hard_gradients,
        "the right side has the rows of (∂x/∂q)⁻¹ less cot θ_i (∂L_i/L_i + ∂L_{i−1}/L_{i−1}), since"
        " the lengths are constant in (20); the paper prints d_{i−1} for d_i in the last term",
        ("dtheta_dx_printed", "sin_theta"),
        corrected=True,
    ),
    Equation(
        "(12) with (21)",
        r"\mathcal M^{-1} = H^{aa} - H^{ab}(H^{bb})^{-1}(H^{ab})^T \text{ with the rows (21)}",
        lambda o: o.mass_matrix @ o.schur_complement(o.dtheta_dx_printed),
        lambda o: Matrix.identity(o.n),
        "shown as 𝓜 𝓜⁻¹ = 1: the blocks differ from those of (12), and the Schur complement is the"
        " same, since the rows differ by multiples of ∂L only",
    ),
    Equation(
        "(22)",
        r"H = \begin{pmatrix} H^{\theta\theta} & H^{\theta L}\\ H^{L\theta} & H^{LL}\end{pmatrix}",
        lambda o: o.H,
        _blocks,
        "the left side is the product of whole matrices (3), the right side has the sums over the"
        " masses (23)",
    ),
    Equation(
        "(23)",
        r"H^{\theta L}_{ij} = \sum_{l=1}^n \frac{1}{m_l}\,\frac{\partial\theta_i}{\partial x_l}"
        r"\left(\frac{\partial L_j}{\partial x_l}\right)^T,\ \ldots",
        _blocks,
        lambda o: o.blocks_by_angles,
        "the right side is the closed form of these sums in masses, lengths and angles; the paper"
        " prints sums from l = 0",
        ("H_theta_theta", "H_theta_L", "H_L_theta", "H_L_L"),
        corrected=True,
    ),
    Equation(
        "(24)",
        r"H^{\theta\theta}_{ij} = 0 \text{ for } |i-j| > 2,\quad"
        r" H^{\theta L}_{ij} = H^{L\theta}_{ji} = 0 \text{ unless } -2 \le j-i \le 1,\quad"
        r" H^{LL}_{ij} = 0 \text{ for } |i-j| > 1",
        lambda o: o.H,
        _banded,
        "the right side has zeros outside these diagonals",
    ),
    Equation(
        "(25)",
        r"\ddot\theta = (H^{\theta\theta} - H^{\theta L}(H^{LL})^{-1}H^{L\theta})\,b",
        lambda o: o.X,
        lambda o: (o.H_theta_theta - o.H_theta_L @ o.H_L_L_inverse @ o.H_L_theta) @ o.b,
        "the left side is X by elimination of the mass matrix; the paper prints H^Lθ (H^LL)⁻¹ H^θL",
        corrected=True,
    ),
)
"""The equations, in the order of the paper. Letters: attributes of `Operators`."""


def _row(o: Operators, name: str, i: int, point: int, width: int) -> Array | None:
    """Return ∂·_i/∂x_l from a matrix of rows; link i has `width` of them, the last at its end."""
    if not i - width < point <= i:
        return None
    rows: Array = getattr(o, name).entries
    return rows[i : i + 1, 2 * point : 2 * point + 2]


def _column_of(o: Operators, point: int, i: int, column: int) -> Array | None:
    """Return ∂x_l by a coordinate of link i; None for a point before the link."""
    if point < i:
        return None
    return o.dx_dq.entries[2 * point : 2 * point + 2, column : column + 1]


def _entry(value: Any) -> Array:
    return np.array([[value]], dtype=object)


def _block_letter(name: str, symbol: str, says: str, nonzero: str) -> Letter[Operators]:
    def block(o: Operators, i: int, j: int) -> Array | None:
        return _entry(o.entry_by_angles(name, i, j)) if in_band(name, i, j) else None

    return Letter(name, symbol, ("i", "j"), says, block, nonzero)


def _upper(o: Operators, i: int, j: int) -> Array | None:
    if i == j:
        return _entry(o.pivot(i))
    return _entry(o.entry_by_angles("H_L_L", i, j)) if j == i + 1 else None


def _lower(o: Operators, i: int, j: int) -> Array | None:
    if i == j:
        return identity(1)
    return _entry(o.factor(j)) if i == j + 1 else None


def _metric_letter(name: str, symbol: str, row: int, column: int, says: str) -> Letter[Operators]:
    def block(o: Operators, i: int, j: int) -> Array:
        return _entry(o.G.entries[row * o.n + i, column * o.n + j])

    return Letter(name, symbol, ("i", "j"), says, block)


THREE, TWO = "l is i, i − 1 or i − 2", "l is i or i − 1"
LETTERS: tuple[Letter[Operators], ...] = (
    Letter("x_i", "x", ("k",), "position of a point mass, (14)", lambda o, k: o.point(k)),
    Letter(
        "d_i",
        "d",
        ("k",),
        "vector along a link, x_k − x_{k−1}, (17)",
        lambda o, k: o.directions[k] * o.lengths[k],
    ),
    Letter("L_i", "L", ("k",), "length of a link, (15)", lambda o, k: _entry(o.lengths[k])),
    Letter(
        "cos_theta",
        r"\cos\theta",
        ("k",),
        "cosine of the angle between links, (19)",
        lambda o, k: _entry(o.turns[k][0]),
    ),
    Letter(
        "sin_theta",
        r"\sin\theta",
        ("k",),
        "sine of the angle between links, (21)",
        lambda o, k: _entry(o.turns[k][1] * o.senses[k]),
    ),
    Letter(
        "dtheta_dx",
        r"\Bigl(\frac{\partial\theta}{\partial x}\Bigr)",
        ("i", "l"),
        "rows of (∂x/∂q)⁻¹, in which the lengths vary",
        lambda o, i, point: _row(o, "dtheta_dx", i, point, 3),
        THREE,
    ),
    Letter(
        "dtheta_dx_printed",
        r"\Bigl(\frac{\partial\theta}{\partial x}\Bigr)^{L}",
        ("i", "l"),
        "rows with the lengths held constant, (20)-(21), the last term corrected",
        lambda o, i, point: _row(o, "dtheta_dx_printed", i, point, 3),
        THREE,
    ),
    Letter(
        "dL_dx",
        r"\Bigl(\frac{\partial L}{\partial x}\Bigr)",
        ("i", "l"),
        "rows of (∂x/∂q)⁻¹, (18)",
        lambda o, i, point: _row(o, "dL_dx", i, point, 2),
        TWO,
    ),
    Letter(
        "dx_dtheta",
        r"\Bigl(\frac{\partial x}{\partial\theta}\Bigr)",
        ("l", "i"),
        "derivative of (14), 2x1",
        lambda o, point, i: _column_of(o, point, i, i),
        "l ≥ i",
    ),
    Letter(
        "dx_dL",
        r"\Bigl(\frac{\partial x}{\partial L}\Bigr)",
        ("l", "i"),
        "derivative of (14), 2x1",
        lambda o, point, i: _column_of(o, point, i, o.n + i),
        "l ≥ i",
    ),
    Letter(
        "dcos_theta_dx",
        r"\Bigl(L_{i-1}L_i\frac{\partial\cos\theta}{\partial x}\Bigr)",
        ("i", "l"),
        "derivatives of cos θ_i with the lengths held constant, times the lengths, (20)",
        lambda o, i, point: _row(o, "dcos_theta_dx", i, point, 3),
        THREE,
    ),
    _metric_letter("G_aa", "G^{aa}", 0, 0, "mass matrix, the soft block of G, (4), (6)"),
    _metric_letter("G_ab", "G^{ab}", 0, 1, "block of G between θ and L, (4), (6)"),
    _metric_letter("G_bb", "G^{bb}", 1, 1, "hard block of G, (4), (6)"),
    _block_letter("H_theta_theta", r"H^{\theta\theta}", "soft block of H, (23)", "|i − j| ≤ 2"),
    _block_letter(
        "H_theta_L", r"H^{\theta L}", "block of H between θ and L, (23)", "−2 ≤ j − i ≤ 1"
    ),
    _block_letter("H_L_theta", r"H^{L\theta}", "its transpose, (23)", "−1 ≤ j − i ≤ 2"),
    _block_letter("H_L_L", "H^{LL}", "hard block of H, (23)", "|i − j| ≤ 1"),
    *(
        Letter(name, symbol, ("k",), says, link_entries(name))
        for name, symbol, says in (
            ("c", "c", "H_aa b, (13)"),
            ("d", "d", "H_abᵀ b, (13)"),
            ("z", "z", "U_h e, after (13)"),
            ("e", "e", "H_bb⁻¹ d, (13)"),
            ("f", "f", "H_ab e, (13)"),
            ("q_ddot", r"\ddot q_a", "c − f, the joint accelerations by the forces b, (13)"),
        )
    ),
    Letter("L_h", "L_h", ("i", "j"), "lower factor of H^LL, after (13)", _lower, "j is i or i − 1"),
    Letter("U_h", "U_h", ("i", "j"), "upper factor of H^LL, after (13)", _upper, "j is i or i + 1"),
)
"""The operators, by links."""

NOTATION = {
    "q": "all coordinates, θ and then L, (14)",
    "G": "mass matrix of θ and L together, (4)",
    "G^{ba}": "block of G between L and θ, (6)",
    "H": "inverse of G, (5)",
    "H^{aa}": "soft block of H, which is H^θθ here, (7)",
    "H^{ab}": "block of H between soft and hard variables, H^θL here, (7)",
    "H^{ba}": "its transpose, H^Lθ here, (7)",
    "H^{bb}": "hard block of H, which is H^LL here, (7)",
    r"\mathcal M": "mass matrix of the robot",
    "m": "masses, each for both coordinates of its point",
    "a_i": "soft variables, the angles θ",
    "b_i": "hard variables, the lengths L",
    "b": "joint moments without the bias, (9); tau in the printed blocks",
    "X": "solution of (9)",
    "Y": "second part of the solution of (10)",
    "d_i": "vector along a link, x_k − x_{k−1}, (17)",
    r"\theta": "joint angles",
    r"\delta": "1 if both indices are equal, else 0",
    r"\ddot\theta": "joint accelerations",
    r"\ddot q_a": "joint accelerations, (9)",
    "L_i": "length of a link, (15)",
}
"""Meaning of the symbols of `EQUATIONS` that are no letters."""

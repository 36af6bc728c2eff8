"""Wang & Chirikjian: derivatives on rotations and motions, and Fixman's partition of rigid bodies.

The inverse of the mass matrix of unconstrained bodies is [∂q/∂ξ̃] [I_1⁻¹ ⊕ … ⊕ I_n⁻¹] [∂q/∂ξ̃]ᵀ
(19), where ∂/∂ξ̃_i is the derivative along the i-th direction of a body (16). Soft variables, 1,
are the joint coordinates; hard variables, 2, the motions that the joints forbid. With the blocks
H_11, H_12 and H_22 of (19) the equations of motion have the solution
x = (H_11 − H_12 H_22⁻¹ H_12ᵀ) b (9). Equations (1)-(4) are those of a chain of point masses: see
`symgen.papers.lc`.

The rate of the variables of joint k depends on two links (`Operators.dq_dxi`):

    rates of k = [H_k; W_k] (V_k − X_k V_p)

V_k is the twist of link k, V_p that of its parent, and X_k shifts the parent's twist to link k. The
rows W_k complete the axes H_k of the joint to an orthonormal basis (`symgen.papers.complement`). A
joint with n degrees of freedom has n rows in H_k and 6 − n in W_k. On a tree, joints of one parent
are coupled as well.

Twists are (angular, linear), in the axes of the declared link frames at their origins, and links
are ordered from the base. The paper's own coordinates of one body, ZXZ Euler angles and a position,
are in `Body`, and in SymPy's symbols at the end of this module. They are singular at sin β = 0;
`Operators` does not need them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import sympy as sp
from flint import fmpq

from symgen.papers.blocks import (
    Matrix,
    assembled,
    cross_matrix,
    force_shift,
    identity,
    inverse,
    stacked,
    zeros,
)
from symgen.papers.chain import Chain, random_numbers
from symgen.papers.comparison import mass_matrix_by_bodies, matrix_determinant, matrix_inverse
from symgen.papers.complement import complement
from symgen.papers.dual import Dual, constants, dual_parts, duals
from symgen.papers.equation import Equation, Letter, link_entries
from symgen.papers.rational_functions import determinant
from symgen.papers.stored import stored
from symgen.reference.precision import Array
from symgen.support.errors import RequestError

SOURCE = "Wang & Chirikjian"
CONVENTIONS = (
    "The paper counts links from 1. Twists are (angular, linear), in the axes of the declared link"
    " frames at their origins. Soft variables are the joint coordinates, hard variables the motions"
    " that the joints forbid."
)
"""Conventions of the letters, for a reader of a derived paper."""

Function = Callable[[Any], Any]
"""A function of a rotation, of a transform, or of a list of transforms: a number or an array."""

# -- generators, and derivatives along them --------------------------------------------------------


def hat(vector: Array) -> Array:
    """Return the matrix of a rotation vector (3x3) or of a twist (4x4), (13)."""
    if len(vector) == 3:
        return cross_matrix(vector)
    matrix = zeros(4, 4)
    matrix[:3, :3], matrix[:3, 3] = cross_matrix(vector[:3]), vector[3:]
    return matrix


def vee(matrix: Array) -> Array:
    """Return the vector of a skew matrix (vect of a 3x3) or the twist of a 4x4 one, (14)."""
    vector = np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0]], dtype=object)
    return vector if len(matrix) == 3 else np.concatenate([vector, matrix[:3, 3]])


ROTATION_GENERATORS = tuple(hat(unit) for unit in identity(3))
"""E_1, E_2, E_3, below (12)."""

MOTION_GENERATORS = tuple(hat(unit) for unit in identity(6))
"""Ẽ_1 … Ẽ_6, above (16): rotations about the three axes, then translations along them."""


def small_motion(twist: Array, step: Any) -> Array:
    """Return 1 + X Δt, the first two terms of the exponential of a twist matrix X (13)."""
    motion: Array = identity(4) + hat(twist) * step
    return motion


def exponential(twist: Array, step: Any, terms: int) -> Array:
    """Return the first `terms` terms of exp(X Δt)."""
    X: Array = hat(twist) * step
    total, term = identity(4), identity(4)
    for k in range(1, terms):
        term = term @ X * fmpq(1, k)
        total = total + term
    return total


def inverse_transform(transform: Array) -> Array:
    """Return the inverse of a homogeneous transform: Rᵀ and −Rᵀ b."""
    rotation, result = transform[:3, :3], identity(4)
    result[:3, :3], result[:3, 3] = rotation.T, -(rotation.T @ transform[:3, 3])
    return result


def rotation_derivative(f: Function, rotation: Array, i: int) -> Any:
    """Return ∂f/∂ξ_{i+1} at a rotation A, exactly: the slope of f(A (1 + ε E_{i+1})), (12)."""
    return dual_parts(f(duals(rotation, rotation @ ROTATION_GENERATORS[i])))


def derivative(f: Function, transform: Any, i: int, link: int | None = None) -> Any:
    """Return ∂f/∂ξ̃_{i+1} exactly: the slope of f(H (1 + ε Ẽ_{i+1})) at ε = 0, (16).

    `transform` is H, a 4x4 array over exact numbers, and f returns a number or an array. If `link`
    is given, `transform` is a sequence of transforms, such as `Operators.transforms`. Then f takes
    the whole list, and the link moves alone. f receives dual numbers; it may add, subtract,
    multiply and divide them.
    """
    generator = MOTION_GENERATORS[i]
    if link is None:
        return dual_parts(f(duals(transform, transform @ generator)))
    moved_transforms = [
        duals(H, H @ generator if k == link else zeros(4, 4)) for k, H in enumerate(transform)
    ]
    return dual_parts(f(moved_transforms))


def gradient(f: Function, transform: Any, link: int | None = None) -> Array:
    """Return ∂f/∂ξ̃, the six derivatives of `derivative`, along the last axis."""
    columns = [derivative(f, transform, i, link) for i in range(6)]
    return np.stack([np.asarray(column, dtype=object) for column in columns], axis=-1)


# -- ZXZ Euler angles ------------------------------------------------------------------------------


def rotation_about(axis: int, cosine: Any, sine: Any) -> Array:
    """Return R_1 (axis 0), R_2 (1) or R_3 (2)."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    rotation = identity(3)
    rotation[i, i] = rotation[j, j] = cosine
    rotation[j, i], rotation[i, j] = sine, -sine
    return rotation


Angles = Sequence[tuple[Any, Any]]
"""Cosine and sine of α, β and γ."""


def zxz_rotation(angles: Angles) -> Array:
    """Return A = R_3(α) R_1(β) R_3(γ)."""
    alpha, beta, gamma = angles
    return rotation_about(2, *alpha) @ rotation_about(0, *beta) @ rotation_about(2, *gamma)


def zxz_jacobian(angles: Angles) -> Array:
    """Return J with ω = J q̇ in body axes, as printed (11)."""
    _, (cos_beta, sin_beta), (cos_gamma, sin_gamma) = angles
    J = zeros(3, 3)
    J[:, 0] = [sin_beta * sin_gamma, sin_beta * cos_gamma, cos_beta]
    J[:2, 1] = [cos_gamma, -sin_gamma]
    J[2, 2] = fmpq(1)
    return J


def zxz_inverse_jacobian(angles: Angles) -> Array:
    """Return J⁻¹ as printed below (12); RequestError if sin β = 0."""
    _, (cos_beta, sin_beta), (cos_gamma, sin_gamma) = angles
    if sin_beta == 0:
        raise RequestError("ZXZ Euler angles are singular at sin β = 0; use another β, or twists")
    cotangent, J = cos_beta / sin_beta, zeros(3, 3)
    J[0, :2] = [sin_gamma / sin_beta, cos_gamma / sin_beta]
    J[1, :2] = [cos_gamma, -sin_gamma]
    J[2] = [-cotangent * sin_gamma, -cotangent * cos_gamma, fmpq(1)]
    return J


def zxz_derivatives(angles: Angles, slopes_by_angle: Sequence[Any]) -> list[Any]:
    """Return ∂f/∂ξ_1, ∂f/∂ξ_2, ∂f/∂ξ_3 from ∂f/∂α, ∂f/∂β, ∂f/∂γ, as printed above (13)."""
    _, (cos_beta, sin_beta), (cos_gamma, sin_gamma) = angles
    by_alpha, by_beta, by_gamma = slopes_by_angle
    cotangent = cos_beta / sin_beta
    return [
        -cotangent * sin_gamma * by_gamma + sin_gamma / sin_beta * by_alpha + cos_gamma * by_beta,
        -cotangent * cos_gamma * by_gamma + cos_gamma / sin_beta * by_alpha - sin_gamma * by_beta,
        by_gamma,
    ]


def _varied(angles: Angles, rates: Sequence[Any] | Array) -> list[tuple[Dual, Dual]]:
    """Return the angles with these rates."""
    return [
        (Dual(cosine, -sine * rate), Dual(sine, cosine * rate))
        for (cosine, sine), rate in zip(angles, rates, strict=True)
    ]


class Body:
    """One free rigid body: mass and central moments of a robot's last link, random coordinates.

    Its rotation has ZXZ Euler angles. Its mass centre has the Cartesian coordinates `b`; the same
    point has the spherical coordinates (radius, polar angle, azimuth), whose J_T is not symmetric.
    """

    def __init__(self, chain: Chain) -> None:
        source = Random(f"body/{chain.name}")

        def number() -> fmpq:
            return fmpq(source.choice([-1, 1]) * source.randint(1, 9), source.randint(2, 7))

        def angle() -> tuple[fmpq, fmpq]:
            t = number()
            return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)

        self.mass, self.moments = chain.links[-1].mass, chain.links[-1].central
        self.angles = [angle() for _ in range(3)]
        self.radius, self.polar, self.azimuth = abs(number()), angle(), angle()
        self.rates = np.array([number() for _ in range(6)], dtype=object)
        self.twist = np.array([number() for _ in range(6)], dtype=object)
        self.weights = np.array([[number() for _ in range(4)] for _ in range(4)], dtype=object)

    @cached_property
    def A(self) -> Array:
        """A = R_3(α) R_1(β) R_3(γ)."""
        return zxz_rotation(self.angles)

    @cached_property
    def J(self) -> Array:
        """J of the ZXZ angles (11)."""
        return zxz_jacobian(self.angles)

    @cached_property
    def J_inverse(self) -> Array:
        """J⁻¹ of the ZXZ angles."""
        return zxz_inverse_jacobian(self.angles)

    @cached_property
    def b(self) -> Array:
        """The position of the mass centre."""
        return self._position(self.radius, self.polar, self.azimuth)

    @staticmethod
    def _position(radius: Any, polar: tuple[Any, Any], azimuth: tuple[Any, Any]) -> Array:
        direction = [polar[1] * azimuth[0], polar[1] * azimuth[1], polar[0]]
        return np.array([radius * entry for entry in direction], dtype=object)

    @cached_property
    def transform(self) -> Array:
        """H = (R, b; 0, 1)."""
        return self._transform(self.A, self.b)

    @staticmethod
    def _transform(rotation: Array, position: Array) -> Array:
        transform = identity(4)
        transform[:3, :3], transform[:3, 3] = rotation, position
        return transform

    @cached_property
    def script_J(self) -> Array:
        """𝒥 of ZXZ angles and Cartesian positions (15)."""
        return stacked([[self.J, zeros(3, 3)], [zeros(3, 3), self.A.T]])

    @cached_property
    def J_T(self) -> Array:
        """J_T = ∂x/∂q of the spherical coordinates."""
        (c, s), (C, S), r = self.polar, self.azimuth, self.radius
        columns = [[s * C, s * S, c], [r * c * C, r * c * S, -r * s], [-r * s * S, r * s * C, 0]]
        return np.array(columns, dtype=object).T

    @cached_property
    def inertia(self) -> Array:
        """I = I_R ⊕ m 1, rotation first, about the mass centre."""
        return body_inertia(self.mass, self.moments)

    def f(self, matrix: Array) -> Any:
        """Return a polynomial of the entries of a rotation or of a transform."""
        n = len(matrix)
        total = fmpq(0)
        for r in range(n):
            for c in range(n):
                total = matrix[r, c] * matrix[c, (r + 1) % n] * self.weights[r, c] + total
        return total

    def by_angles(self, f: Function) -> list[Any]:
        """Return ∂f/∂α, ∂f/∂β, ∂f/∂γ of a function of the rotation."""
        return [dual_parts(f(zxz_rotation(_varied(self.angles, unit)))) for unit in identity(3)]

    def moving(self, rates: Array, cartesian: bool) -> Array:
        """Return H with rates of its six coordinates, as dual numbers."""
        rotation = zxz_rotation(_varied(self.angles, rates[:3]))
        if cartesian:
            return self._transform(rotation, duals(self.b, rates[3:]))
        polar, azimuth = _varied([self.polar, self.azimuth], rates[4:])
        return self._transform(
            rotation, self._position(Dual(self.radius, rates[3]), polar, azimuth)
        )

    def body_twist(self, rates: Array, cartesian: bool = True) -> Array:
        """Return (ω, v) = (H⁻¹ Ḣ)^∨ of rates of the coordinates (14); v = Rᵀ ḃ."""
        return vee(inverse_transform(self.transform) @ dual_parts(self.moving(rates, cartesian)))

    @cached_property
    def mass_matrix(self) -> Array:
        """M(q) over ZXZ angles and spherical coordinates, by the formula below (17), corrected."""
        moments = self.J.T @ self.moments @ self.J
        return stacked([[moments, zeros(3, 3)], [zeros(3, 3), self.J_T.T @ self.J_T * self.mass]])

    @cached_property
    def inverse_mass_matrix(self) -> Array:
        """M⁻¹(q), by the formula above (18), corrected."""
        J_T_inverse = inverse(self.J_T)
        moments = self.J_inverse @ inverse(self.moments) @ self.J_inverse.T
        translations = J_T_inverse @ J_T_inverse.T * (1 / self.mass)
        return stacked([[moments, zeros(3, 3)], [zeros(3, 3), translations]])

    @cached_property
    def mass_matrix_by_energy(self) -> Array:
        """M(q) from the kinetic energy m ẋ·ẋ/2 + ω·I ω/2 of unit rates."""
        motions = []
        for unit in identity(6):
            change = dual_parts(self.moving(unit, cartesian=False))
            motions.append((vee(self.A.T @ change[:3, :3]), change[:3, 3]))
        return np.array(
            [
                [self.mass * (speed @ v) + turn @ self.moments @ w for w, v in motions]
                for turn, speed in motions
            ],
            dtype=object,
        )

    @cached_property
    def dq_dxi(self) -> Array:
        """∂q/∂ξ̃ = 𝒥⁻¹ of ZXZ angles and spherical coordinates (18)."""
        return stacked([[self.J_inverse, zeros(3, 3)], [zeros(3, 3), inverse(self.J_T) @ self.A]])


def body_inertia(mass: Any, moments: Array) -> Array:
    """Return I_R ⊕ m 1, rotation first, about the mass centre."""
    return stacked([[moments, zeros(3, 3)], [zeros(3, 3), identity(3) * mass]])


# -- chains of rigid bodies ------------------------------------------------------------------------


class Operators:
    """The partition of a robot at one state, over the numbers of `chain`.

    `b` is the right side of (6); random numbers by default. q are the soft variables of all links,
    then the hard ones. On a serial chain H_11, H_12 and H_22 are block tridiagonal. On a tree,
    links of one parent are coupled as well, and the elimination of H_22 fills blocks between
    branches.
    """

    def __init__(self, chain: Chain, b: Sequence[Any] | None = None) -> None:
        fault = chain.completed.inertia_fault()
        if fault is not None:
            raise RequestError(
                f"{SOURCE} divide by the inertia of every link, and in '{chain.name}' {fault}; "
                "use the operators of Rodriguez & Kreutz (paper rk, method riccati)"
            )
        self.chain = chain
        self.links = chain.completed.links
        self.soft = [len(link.axes) for link in chain.links]
        """Degrees of freedom of each joint."""
        self.hard = [6 - n for n in self.soft]
        """Directions that each joint forbids."""
        self.body = Body(chain.completed)
        self._b = b

    @cached_property
    def J(self) -> Matrix:
        """J of the ZXZ angles of `body` (11)."""
        return Matrix.of(self.body.J)

    @cached_property
    def J_inverse(self) -> Matrix:
        """J⁻¹ of the ZXZ angles of `body`."""
        return Matrix.of(self.body.J_inverse)

    # -- ∂q/∂ξ̃ ------------------------------------------------------------------------------------

    @cached_property
    def W(self) -> list[Array]:
        """W_k of each link: the rows that complete its axes to a basis."""
        return [complement(link.axes) for link in self.links]

    @cached_property
    def soft_rows(self) -> list[Array]:
        """The rows that give the joint's rates: H_k, or (H Hᵀ)⁻¹ H if H is not orthonormal."""
        return [inverse(link.axes @ link.axes.T) @ link.axes for link in self.links]

    @cached_property
    def steps(self) -> list[Array]:
        """X_k of each link: shifts the parent's twist to link k."""
        return [force_shift(link.rotation, link.shift).T for link in self.links]

    def _sloped(self, rows: Sequence[Array]) -> Matrix:
        """Return these rows on each link, and less them times X on its parent."""
        blocks: dict[tuple[int, int], Array] = {}
        for i, link in enumerate(self.links):
            blocks[i, i] = rows[i]
            if link.parent >= 0:
                blocks[i, link.parent] = -(rows[i] @ self.steps[i])
        return assembled(blocks, [len(row) for row in rows], self._six)

    @property
    def _six(self) -> list[int]:
        return [6] * len(self.links)

    @cached_property
    def dq1_dxi(self) -> Matrix:
        """The soft rows of ∂q/∂ξ̃ (18)."""
        return self._sloped(self.soft_rows)

    @cached_property
    def dq2_dxi(self) -> Matrix:
        """The hard rows of ∂q/∂ξ̃ (18)."""
        return self._sloped(self.W)

    @cached_property
    def dq_dxi(self) -> Matrix:
        """∂q/∂ξ̃ (6N x 6N), (18)."""
        return Matrix.below([self.dq1_dxi, self.dq2_dxi])

    @cached_property
    def transforms(self) -> list[Array]:
        """The homogeneous transform of each link in the base (4x4)."""
        return [Body._transform(rotation, origin) for rotation, origin in self.chain.poses]

    @cached_property
    def relative_transforms(self) -> list[Array]:
        """The homogeneous transform of each link in its parent (4x4)."""
        return [Body._transform(link.rotation, link.shift) for link in self.links]

    @cached_property
    def bases(self) -> list[Array]:
        """The soft and hard rows of each joint, one under the other (6x6)."""
        return [
            np.concatenate([soft, hard]) for soft, hard in zip(self.soft_rows, self.W, strict=True)
        ]

    def coordinates(self, i: int) -> Function:
        """Return q of joint i as a function of the transforms (parent, link), or (link,) at a root.

        The variables are the twist from the present relative motion, to first order, in the basis
        of soft and hard rows.
        """
        inverse_motion = constants(inverse_transform(self.relative_transforms[i]))
        basis = constants(self.bases[i])

        def variables(transforms: Sequence[Array]) -> Array:
            relative = transforms[-1]
            if len(transforms) == 2:
                relative = inverse_transform(transforms[0]) @ relative
            return basis @ vee(inverse_motion @ relative)

        return variables

    @cached_property
    def dq_dxi_by_operators(self) -> Matrix:
        """∂q/∂ξ̃ by the operators ∂/∂ξ̃_i (16) on the coordinates of the joints."""
        soft: dict[tuple[int, int], Array] = {}
        hard: dict[tuple[int, int], Array] = {}
        for i, link in enumerate(self.links):
            pair = [link.parent, i] if link.parent >= 0 else [i]
            transforms = [self.transforms[k] for k in pair]
            for position, k in enumerate(pair):
                rows = gradient(self.coordinates(i), transforms, position)
                soft[i, k], hard[i, k] = rows[: self.soft[i]], rows[self.soft[i] :]
        soft_and_hard = assembled(soft, self.soft, self._six), assembled(hard, self.hard, self._six)
        return Matrix.below(soft_and_hard)

    @cached_property
    def script_J(self) -> Matrix:
        """𝒥 = ∂ξ̃/∂q (6N x 6N): the twists (14) of all links for unit rates across the joints."""
        soft: dict[tuple[int, int], Array] = {}
        hard: dict[tuple[int, int], Array] = {}
        for j, n in enumerate(self.soft):
            for i in range(j, len(self.links)):
                block = self.twists(i, j)
                if block is not None:
                    soft[i, j], hard[i, j] = block[:, :n], block[:, n:]
        soft_and_hard = assembled(soft, self._six, self.soft), assembled(hard, self._six, self.hard)
        return Matrix.of_parts([soft_and_hard])

    @stored
    def twists(self, i: int, j: int) -> Array | None:
        """Return the twists (H⁻¹ ∂H/∂q)^∨ of link i for the soft, then the hard rates of joint j
        (6x6).

        Transforms are products along the links from j to i, differentiated by dual numbers (14).
        None if joint j does not move link i.
        """
        path = self.chain.ancestors(i)
        return self._twists_along(path[: path.index(j)], j) if j in path else None

    def _twists_along(self, path: Sequence[int], j: int) -> Array:
        """Return the twists of the first link of a path, which leads to the link on joint j."""
        between = [self.relative_transforms[k] for k in reversed(path)]
        transform = identity(4)
        for relative in between:
            transform = transform @ relative
        inverse_path, columns = inverse_transform(transform), []
        for unit in inverse(self.bases[j]).T:
            moving = duals(identity(4), hat(unit))
            for relative in between:
                moving = moving @ relative
            columns.append(vee(inverse_path @ dual_parts(moving)))
        return np.array(columns, dtype=object).T

    # -- G and H -----------------------------------------------------------------------------------

    @cached_property
    def I(self) -> Matrix:  # noqa: E743 - the letter of the paper
        """The inertias of all links, I_1 ⊕ … ⊕ I_n, at the origins of their frames."""
        return Matrix.diagonal([link.inertia for link in self.links])

    @cached_property
    def I_inverse(self) -> Matrix:
        """I_1⁻¹ ⊕ … ⊕ I_n⁻¹."""
        return Matrix.diagonal(self.inverse_inertias)

    @cached_property
    def inverse_inertias(self) -> list[Array]:
        """I_k⁻¹ of each link, by mass and central moments shifted to the frame's origin."""
        blocks = []
        for link in self.links:
            shift = stacked([[identity(3), zeros(3, 3)], [cross_matrix(link.centre), identity(3)]])
            central = body_inertia(1 / link.mass, inverse(link.central))
            blocks.append(shift @ central @ shift.T)
        return blocks

    @cached_property
    def G(self) -> Matrix:
        """The mass matrix over soft and hard variables together, 𝒥ᵀ I 𝒥."""
        return self.script_J.T @ self.I @ self.script_J

    @cached_property
    def H(self) -> Matrix:
        """M⁻¹(q) = [∂q/∂ξ̃] [I_1⁻¹ ⊕ … ⊕ I_n⁻¹] [∂q/∂ξ̃]ᵀ (19)."""
        return self.dq_dxi @ self.I_inverse @ self.dq_dxi.T

    @cached_property
    def H_11(self) -> Matrix:
        """The soft block of (19)."""
        return self.dq1_dxi @ self.I_inverse @ self.dq1_dxi.T

    @cached_property
    def H_12(self) -> Matrix:
        """The block of (19) between soft and hard variables."""
        return self.dq1_dxi @ self.I_inverse @ self.dq2_dxi.T

    @cached_property
    def H_22(self) -> Matrix:
        """The hard block of (19)."""
        return self.dq2_dxi @ self.I_inverse @ self.dq2_dxi.T

    @cached_property
    def G_11(self) -> Matrix:
        """The block of G over the soft variables: the mass matrix of the robot."""
        n = sum(self.soft)
        return Matrix.of(self.G.entries[:n, :n])

    @cached_property
    def G_12(self) -> Matrix:
        """The block of G between soft and hard variables."""
        n = sum(self.soft)
        return Matrix.of(self.G.entries[:n, n:])

    @cached_property
    def mass_matrix(self) -> Matrix:
        """The mass matrix, from the kinetic energies of the links."""
        return mass_matrix_by_bodies(self.chain)

    @cached_property
    def det_G(self) -> Matrix:
        """det G (1x1): Π det I_k, over det² of the joint's rows where they are not orthonormal."""
        total: Any = fmpq(1)
        for link, basis in zip(self.links, self.bases, strict=True):
            weight = link.mass * link.mass * link.mass * determinant(link.central)
            total = total * weight / determinant(basis @ basis.T)
        return Matrix.column([total])

    # -- the solution ------------------------------------------------------------------------------

    @cached_property
    def b(self) -> Matrix:
        """The right side of (6): that of the constructor, or a random one."""
        if self._b is not None:
            return Matrix.column(self._b)
        return Matrix.of(random_numbers(Random(f"wc/{self.chain.name}"), sum(self.soft)))

    def sloped_block(self, i: int, j: int) -> Array | None:
        """Return the rows of joint i on link j in ∂q/∂ξ̃ (6x6), soft rows first; None if zero."""
        is_adjacent = j in (i, self.links[i].parent)
        return self.bases[i] @ self._to_joint(i, j) if is_adjacent else None

    def _to_joint(self, i: int, j: int) -> Array:
        """Return the map (6x6) of the twist of link j, which is i or its parent, to its
        contribution to the twist across joint i.
        """
        return identity(6) if i == j else -self.steps[i]

    def block(self, i: int, j: int) -> Array | None:
        """Return the block (i, j) of (19) over all variables of two joints (6x6); None if zero."""
        total: Array | None = None
        for k in {i, self.links[i].parent} & {j, self.links[j].parent}:
            if k >= 0:
                left, right = (self.bases[m] @ self._to_joint(m, k) for m in (i, j))
                term = left @ self.inverse_inertias[k] @ right.T
                total = term if total is None else total + term
        return total

    def metric_block(self, i: int, j: int) -> Array | None:
        """Return the block (i, j) of G over all variables of two joints (6x6); None if zero.

        Both joints move the links that the outer one carries, as one composite body.
        """
        if i not in self.chain.ancestors(j):
            block = self.metric_block(j, i) if j in self.chain.ancestors(i) else None
            return None if block is None else block.T
        left, right = self.twists(j, i), self.twists(j, j)
        assert left is not None
        assert right is not None
        metric: Array = left.T @ self.composite(j) @ right
        return metric

    @stored
    def composite(self, i: int) -> Array:
        """Return the inertia of link i and all links that it carries, at link i (6x6)."""
        total = self.links[i].inertia
        for child in self.chain.children(i):
            total = total + self.steps[child].T @ self.composite(child) @ self.steps[child]
        return total

    @stored
    def upper_block(self, k: int, j: int) -> Array | None:
        """Return block (k, j ≥ k) of U: elimination of H_22 without exchange of pivots."""
        return self._eliminated(k, j, k)

    @stored
    def lower_block(self, i: int, k: int) -> Array | None:
        """Return block (i > k, k) of L."""
        remainder = self._eliminated(i, k, k)
        return None if remainder is None else remainder @ self.pivot_inverse(k)

    def pivot(self, k: int) -> Array:
        """Return block (k, k) of U."""
        pivot = self.upper_block(k, k)
        assert pivot is not None
        return pivot

    @stored
    def pivot_inverse(self, k: int) -> Array:
        """Return the inverse of pivot k of U."""
        return inverse(self.pivot(k))

    def _eliminated(self, i: int, j: int, steps: int) -> Array | None:
        """Return block (i, j) of H_22 after this number of elimination steps; None if zero."""
        total = self.block(i, j)
        if total is not None:
            total = total[self.soft[i] :, self.soft[j] :]
        for m in range(steps):
            left = self.lower_block(i, m)
            right = None if left is None else self.upper_block(m, j)
            if left is not None and right is not None:
                total = -(left @ right) if total is None else total - left @ right
        return total

    def _triangle(self, upper: bool) -> dict[tuple[int, int], Array]:
        """Return the blocks of U or of L that are not zero, by links; L without its diagonal."""
        blocks: dict[tuple[int, int], Array] = {}
        for k in range(len(self.links)):
            for j in range(k if upper else k + 1, len(self.links)):
                index = (k, j) if upper else (j, k)
                block = (self.upper_block if upper else self.lower_block)(*index)
                if block is not None:
                    blocks[index] = block
        return blocks

    @cached_property
    def L(self) -> Matrix:
        """The lower factor of H_22, with identities on its diagonal."""
        diagonal = {(i, i): identity(n) for i, n in enumerate(self.hard)}
        return assembled(self._triangle(upper=False) | diagonal, self.hard, self.hard)

    @cached_property
    def U(self) -> Matrix:
        """The upper factor of H_22, with its pivots (blocks of a joint) on the diagonal."""
        return assembled(self._triangle(upper=True), self.hard, self.hard)

    @cached_property
    def c(self) -> Matrix:
        """c = H_11 b."""
        return self.H_11 @ self.b

    @cached_property
    def d(self) -> Matrix:
        """d = H_12ᵀ b."""
        return self.H_12.T @ self.b

    @cached_property
    def e(self) -> Matrix:
        """e = H_22⁻¹ d, by substitution with the blocks of L, then with those of U."""
        lower, upper = self._triangle(upper=False), self._triangle(upper=True)
        stops = np.cumsum([0, *self.hard])
        solutions = [
            self.d.entries[stops[i] : stops[i + 1], 0].copy() for i in range(len(self.hard))
        ]
        for i, k in sorted(lower):
            solutions[i] = solutions[i] - lower[i, k] @ solutions[k]
        for k in reversed(range(len(solutions))):
            for (i, j), block in upper.items():
                if i == k and j > k:
                    solutions[k] = solutions[k] - block @ solutions[j]
            solutions[k] = self.pivot_inverse(k) @ solutions[k]
        return Matrix.of(np.concatenate(solutions))

    @cached_property
    def f(self) -> Matrix:
        """f = H_12 e."""
        return self.H_12 @ self.e

    @cached_property
    def x(self) -> Matrix:
        """x = c − f, the solution of (6)."""
        return self.c - self.f

    @cached_property
    def y(self) -> Matrix:
        """y of (7), which is e."""
        return self.e

    @cached_property
    def H_22_inverse(self) -> Matrix:
        """H_22⁻¹, by elimination of the whole matrix."""
        return matrix_inverse(self.H_22)

    @cached_property
    def solution(self) -> Matrix:
        """x and y of (7), from the mass matrix by elimination."""
        x = matrix_inverse(self.mass_matrix) @ self.b
        return Matrix.below([x, -(self.G_12.T @ x)])

    def coupled(self, i: int, j: int) -> bool:
        """True if joints i and j are on one link that moves: the same, next to each other, or of
        one parent.
        """
        parents = self.links[i].parent, self.links[j].parent
        return i == j or i == parents[1] or j == parents[0] or parents[0] == parents[1] >= 0

    def banded(self, matrix: Matrix) -> Matrix:
        """Return H with zeros between joints that are not coupled."""
        joints = [i for i, n in enumerate(self.soft) for _ in range(n)]
        joints += [i for i, n in enumerate(self.hard) for _ in range(n)]
        entries = matrix.entries.copy()
        for r, i in enumerate(joints):
            for c, j in enumerate(joints):
                if not self.coupled(i, j):
                    entries[r, c] = fmpq(0)
        return Matrix.of(entries)


def _determinant(matrix: Matrix) -> Matrix:
    return Matrix.column([matrix_determinant(matrix)])


def _pivots(o: Operators) -> Matrix:
    """Return det H_22 as the product of the determinants of its pivots (1x1)."""
    total: Any = fmpq(1)
    for i in range(len(o.links)):
        total = total * determinant(o.pivot(i))
    return Matrix.column([total])


def _right_side(o: Operators) -> Matrix:
    return Matrix.below([o.b, Matrix.zeros(sum(o.hard), 1)])


def _soft_mass(o: Operators, block: Matrix) -> Matrix:
    """Return (G_11, 0; G_12ᵀ, 1)."""
    soft, hard = sum(o.soft), sum(o.hard)
    return Matrix.of_parts([[block, Matrix.zeros(soft, hard)], [o.G_12.T, Matrix.identity(hard)]])


def _solved(o: Operators) -> Matrix:
    """Return the right side of (8)."""
    soft, hard = sum(o.soft), sum(o.hard)
    left = Matrix.of_parts(
        [
            [Matrix.identity(soft), -(o.H_12 @ o.H_22_inverse)],
            [Matrix.zeros(hard, soft), o.H_22_inverse],
        ]
    )
    return left @ Matrix.of_parts([[o.H_11, o.H_12], [o.H_12.T, o.H_22]]) @ _right_side(o)


def _motion_derivatives(body: Body) -> Matrix:
    """Return the right side of (17) for the function f of a body."""
    by_angles = body.by_angles(lambda rotation: body.f(body._transform(rotation, body.b)))
    by_position = [
        dual_parts(body.f(body._transform(body.A, duals(body.b, unit)))) for unit in identity(3)
    ]
    rotations = zxz_derivatives(body.angles, by_angles)
    return Matrix.column([*rotations, *(body.A.T @ np.array(by_position, dtype=object))])


STEP = Dual(fmpq(0), fmpq(1))
"""Δt with Δt² = 0."""

EQUATIONS: tuple[Equation[Operators], ...] = (
    Equation(
        "(5)",
        r"G\begin{pmatrix} 1 & H_{12}\\ 0 & H_{22}\end{pmatrix} = "
        r"\begin{pmatrix} G_{11} & 0\\ G_{12}^T & 1\end{pmatrix}",
        lambda o: (
            o.G
            @ Matrix.of_parts(
                [
                    [Matrix.identity(sum(o.soft)), o.H_12],
                    [Matrix.zeros(sum(o.hard), sum(o.soft)), o.H_22],
                ]
            )
        ),
        lambda o: _soft_mass(o, o.mass_matrix),
        "the mass matrix G_11 is the sum of the kinetic energies of the links",
        ("H_12", "H_22"),
    ),
    Equation(
        "after (5)",
        r"(\det G)(\det H_{22}) = \det G_{11}",
        lambda o: o.det_G @ _pivots(o),
        lambda o: _determinant(o.mass_matrix),
        "Fixman's theorem; det G is that of the next equation, and det H_22 the product of the"
        " determinants of the pivots of H_22",
    ),
    Equation(
        "det G",
        r"\det G = \prod_k \det I_k",
        lambda o: o.det_G,
        lambda o: _determinant(o.G),
        "the determinant of the theorem in closed form, for orthonormal rows of each joint; the"
        " rows of a helical joint are not orthonormal, and add a constant factor",
    ),
    Equation(
        "before (6)",
        r"G_{11} = \mathcal M",
        lambda o: o.G_11,
        lambda o: o.mass_matrix,
        "the right side is the sum of the kinetic energies of the links",
        ("G_11",),
    ),
    Equation(
        "(6)",
        r"G_{11}\,x = b",
        lambda o: o.mass_matrix @ o.x,
        lambda o: o.b,
        "with x = c − f of (9)",
    ),
    Equation(
        "(7)",
        r"\begin{pmatrix} G_{11} & 0\\ G_{12}^T & 1\end{pmatrix}\begin{pmatrix} x\\ y\end{pmatrix}"
        r" = \begin{pmatrix} b\\ 0\end{pmatrix}",
        lambda o: _soft_mass(o, o.G_11) @ Matrix.below([o.x, o.y]),
        _right_side,
        "with x = c − f of (9), and y = e",
    ),
    Equation(
        "(8)",
        r"\begin{pmatrix} x\\ y\end{pmatrix}"
        r" = \begin{pmatrix} 1 & -H_{12}H_{22}^{-1}\\ 0 & H_{22}^{-1}\end{pmatrix}"
        r"\begin{pmatrix} H_{11} & H_{12}\\ H_{21} & H_{22}\end{pmatrix}"
        r"\begin{pmatrix} b\\ 0\end{pmatrix}",
        lambda o: o.solution,
        _solved,
        "the left side has x by elimination of the mass matrix, and y = −G_12ᵀ x",
    ),
    Equation(
        "(9)",
        r"x = (H_{11} - H_{12}H_{22}^{-1}H_{12}^T)\,b",
        lambda o: o.mass_matrix @ (o.H_11 - o.H_12 @ o.H_22_inverse @ o.H_12.T),
        lambda o: Matrix.identity(sum(o.soft)),
        "shown for every b: the bracket is the inverse of the mass matrix",
        ("H_11",),
    ),
    Equation(
        "band",
        r"(H_{ij})_{kl} = 0 \text{ unless joints } k, l \text{ are on one link}",
        lambda o: o.H,
        lambda o: o.banded(o.H),
        "the right side has zeros between joints that are not on one link, of which the base is"
        " none; on a serial chain the blocks of H are tridiagonal",
    ),
    Equation(
        "LU",
        r"H_{22} = LU",
        lambda o: o.H_22,
        lambda o: o.L @ o.U,
        "the factors have one block for two joints; on a serial chain one block beside the diagonal"
        " is not zero",
        ("L_22", "U_22"),
    ),
    Equation(
        "e",
        r"H_{22}\,e = d",
        lambda o: o.H_22 @ o.e,
        lambda o: o.d,
        "with e by substitutions with L and U",
    ),
    Equation(
        "after (9)",
        r"x = c - f,\quad c = H_{11}b,\; d = H_{12}^Tb,\; e = H_{22}^{-1}d,\; f = H_{12}e",
        lambda o: Matrix.below([o.x, o.e]),
        lambda o: o.solution,
        "the left side has x and e; the right side has x by elimination of the mass matrix, and"
        " y = −G_12ᵀ x",
        ("c", "d", "e", "f", "q_ddot"),
    ),
    Equation(
        "(10)",
        r"\omega = J\dot q,\quad"
        r" J = \Bigl[\mathrm{vect}\bigl(A^T\tfrac{\partial A}{\partial q_1}\bigr),\ldots\Bigr]",
        lambda o: o.J,
        lambda o: Matrix.of(
            np.array(
                [
                    vee(o.body.A.T @ dual_parts(zxz_rotation(_varied(o.body.angles, unit))))
                    for unit in identity(3)
                ],
                dtype=object,
            ).T
        ),
        "for one body in ZXZ Euler angles; the left side is J as printed in (11), entry by entry;"
        " the right side has the exact derivatives of A",
    ),
    Equation(
        "(11)",
        r"J = [R_3(-\gamma)R_1(-\beta)e_3,\; R_3(-\gamma)e_1,\; e_3]",
        lambda o: o.J,
        lambda o: Matrix.of(
            np.array(
                [
                    rotation_about(2, *o.body.angles[2]).T
                    @ rotation_about(0, *o.body.angles[1]).T
                    @ identity(3)[2],
                    rotation_about(2, *o.body.angles[2]).T @ identity(3)[0],
                    identity(3)[2],
                ],
                dtype=object,
            ).T
        ),
        "the left side is J as printed, entry by entry",
    ),
    Equation(
        "(12)",
        r"\frac{\partial}{\partial\xi_i}f(A) = \frac{d}{dt}f(A\,\mathrm{ROT}[e_i,t])\Big|_{t=0} = "
        r"\sum_j\frac{\partial f}{\partial q_j}(J^{-1})_{ji}",
        lambda o: Matrix.column([rotation_derivative(o.body.f, o.body.A, i) for i in range(3)]),
        lambda o: Matrix.of(np.array(o.body.by_angles(o.body.f), dtype=object) @ inverse(o.body.J)),
        "for a polynomial f of the entries of A; the left side is its exact derivative along A",
    ),
    Equation(
        "J⁻¹",
        r"J^{-1} = \begin{pmatrix}\sin\gamma/\sin\beta & \cos\gamma/\sin\beta & 0\\"
        r" \cos\gamma & -\sin\gamma & 0\\"
        r" -\cot\beta\sin\gamma & -\cot\beta\cos\gamma & 1\end{pmatrix}",
        lambda o: o.J @ o.J_inverse,
        lambda o: Matrix.identity(3),
        "shown as J J⁻¹ = 1, with J⁻¹ as printed",
    ),
    Equation(
        "before (13)",
        r"\frac{\partial}{\partial\xi_1} = -\cot\beta\sin\gamma\frac{\partial}{\partial\gamma}"
        r" + \frac{\sin\gamma}{\sin\beta}\frac{\partial}{\partial\alpha}"
        r" + \cos\gamma\frac{\partial}{\partial\beta},\ \ldots",
        lambda o: Matrix.column([rotation_derivative(o.body.f, o.body.A, i) for i in range(3)]),
        lambda o: Matrix.column(zxz_derivatives(o.body.angles, o.body.by_angles(o.body.f))),
        "the left side is (12) for a polynomial of the entries of A; the right side has the three"
        " operators as printed",
    ),
    Equation(
        "(13)",
        r"\exp\Bigl[\begin{pmatrix}\Omega & v\\ 0 & 0\end{pmatrix}\Delta t\Bigr] \approx "
        r"1 + \begin{pmatrix}\Omega & v\\ 0 & 0\end{pmatrix}\Delta t",
        lambda o: Matrix.of(exponential(o.body.twist, STEP, 5)),
        lambda o: Matrix.of(small_motion(o.body.twist, STEP)),
        "the left side has the first five terms of the exponential, with Δt² = 0",
    ),
    Equation(
        "(14)",
        r"\begin{pmatrix}\omega\\ v\end{pmatrix} = (H^{-1}\dot H)^\vee = \mathcal J(q)\dot q,\quad"
        r" v = R^T\dot b",
        lambda o: Matrix.column(o.body.body_twist(o.body.rates)),
        lambda o: Matrix.column([*(o.body.J @ o.body.rates[:3]), *(o.body.A.T @ o.body.rates[3:])]),
        "the left side is the exact derivative of H; the right side is J and Rᵀ times the rates;"
        " the paper prints v = Rᵀ b",
        corrected=True,
    ),
    Equation(
        "(15)",
        r"\mathcal J = \begin{pmatrix} J & 0\\ 0 & R^T\end{pmatrix}",
        lambda o: Matrix.of(o.body.script_J),
        lambda o: Matrix.of(
            np.array([o.body.body_twist(unit) for unit in identity(6)], dtype=object).T
        ),
        "the right side has the columns (14), exact derivatives of H",
    ),
    Equation(
        "(16)",
        r"\frac{\partial}{\partial\tilde\xi_i}f(H)"
        r" = \frac{d}{d\varepsilon}f(H(1 + \varepsilon\tilde E_i))\Big|_{\varepsilon=0}",
        lambda o: o.dq_dxi,
        lambda o: o.dq_dxi_by_operators,
        "the left side is ∂q/∂ξ̃ of all joints; the right side applies the operators to their"
        " coordinates; the paper prints d/dt at t = 0",
        corrected=True,
    ),
    Equation(
        "(17)",
        r"\frac{\partial}{\partial\tilde\xi_i}"
        r" = \frac{\partial}{\partial\xi_i}\;(i = 1, 2, 3),\quad"
        r" \frac{\partial}{\partial\tilde\xi_i} = (R^T\nabla_b)_{i-3}\;(i = 4, 5, 6)",
        lambda o: Matrix.column(gradient(o.body.f, o.body.transform)),
        lambda o: _motion_derivatives(o.body),
        "for a polynomial of the entries of H; the left side is its exact derivative; the paper"
        " prints a tilde on both sides of the first line",
    ),
    Equation(
        "M(q)",
        r"M(q) = \begin{pmatrix} J_R^TI_RJ_R & 0\\ 0 & m J_T^TJ_T\end{pmatrix}",
        lambda o: Matrix.of(o.body.mass_matrix),
        lambda o: Matrix.of(o.body.mass_matrix_by_energy),
        "the right side is the kinetic energy of unit rates, for spherical coordinates, whose J_T"
        " is not symmetric; the paper prints m J_T J_Tᵀ, and translations first, while 𝒥 has"
        " rotations first",
        corrected=True,
    ),
    Equation(
        "M⁻¹(q)",
        r"M^{-1}(q)"
        r" = \begin{pmatrix} J_R^{-1}I_R^{-1}J_R^{-T} & 0\\"
        r" 0 & \frac1m J_T^{-1}J_T^{-T}\end{pmatrix}",
        lambda o: Matrix.of(o.body.mass_matrix_by_energy @ o.body.inverse_mass_matrix),
        lambda o: Matrix.identity(6),
        "the paper prints m for 1/m, and translations first",
        corrected=True,
    ),
    Equation(
        "(18)",
        r"\frac{\partial q}{\partial\tilde\xi} = \mathcal J^{-1}",
        lambda o: o.dq_dxi @ o.script_J,
        lambda o: Matrix.identity(6 * len(o.links)),
        "for all links, shown as ∂q/∂ξ̃ 𝒥 = 1; 𝒥 has the twists (14) of the links for unit rates"
        " across the joints",
        ("W", "dq_dxi", "script_J"),
    ),
    Equation(
        "after (18)",
        r"M^{-1}(q)"
        r" = \Bigl[\frac{\partial q}{\partial\tilde\xi}\Bigr]I^{-1}"
        r"\Bigl[\frac{\partial q}{\partial\tilde\xi}\Bigr]^T",
        lambda o: Matrix.of(
            o.body.mass_matrix_by_energy @ o.body.dq_dxi @ inverse(o.body.inertia) @ o.body.dq_dxi.T
        ),
        lambda o: Matrix.identity(6),
        "for one body, with I = I_R ⊕ m 1 in the order of 𝒥; the paper prints (m 1) ⊕ I",
        corrected=True,
    ),
    Equation(
        "I",
        r"[I_1^{-1} \oplus \cdots \oplus I_n^{-1}] = [I_1 \oplus \cdots \oplus I_n]^{-1}",
        lambda o: o.I_inverse @ o.I,
        lambda o: Matrix.identity(6 * len(o.links)),
        "the inverses on the left side are those of masses and central moments, shifted to the"
        " frames",
        ("I", "I_inverse"),
    ),
    Equation(
        "(19)",
        r"M^{-1}(q)"
        r" = \Bigl[\frac{\partial q}{\partial\tilde\xi}\Bigr][I_1^{-1}\oplus\cdots\oplus I_n^{-1}]"
        r"\Bigl[\frac{\partial q}{\partial\tilde\xi}\Bigr]^T",
        lambda o: o.G @ o.H,
        lambda o: Matrix.identity(6 * len(o.links)),
        "shown as G M⁻¹ = 1 with G = 𝒥ᵀ I 𝒥, whose 𝒥 is differentiated exactly",
    ),
)
"""The equations, in the order of the paper. Letters: attributes of `Operators`."""


def _block_letter(
    name: str,
    symbol: str,
    says: str,
    parts: tuple[bool, bool],
    matrix_block: Callable[[Operators, int, int], Array | None],
    nonzero: str,
) -> Letter[Operators]:
    """Return a letter that is a part of G or H: for rows and columns, True takes the hard
    variables.
    """

    def block(o: Operators, i: int, j: int) -> Array | None:
        entries = matrix_block(o, i, j)
        if entries is None:
            return None
        rows, columns = (
            slice(o.soft[k], 6) if hard else slice(0, o.soft[k])
            for k, hard in zip((i, j), parts, strict=True)
        )
        entries_of_part: Array = entries[rows, columns]
        return entries_of_part if entries_of_part.size else None

    return Letter(name, symbol, ("i", "j"), says, block, nonzero)


def _lower(o: Operators, i: int, j: int) -> Array | None:
    if i < j or not (o.hard[i] and o.hard[j]):
        return None
    return identity(o.hard[i]) if i == j else o.lower_block(i, j)


def _upper(o: Operators, i: int, j: int) -> Array | None:
    return None if i > j or not (o.hard[i] and o.hard[j]) else o.upper_block(i, j)


NEAR = "joints i and j are on the same link"
CARRIES = "one of the two links carries the other, or i = j"
LETTERS: tuple[Letter[Operators], ...] = (
    Letter("I", "I", ("k",), "inertia of a link at its frame", lambda o, k: o.links[k].inertia),
    Letter("I_inverse", "I^{-1}", ("k",), "its inverse, (19)", lambda o, k: o.inverse_inertias[k]),
    Letter("W", "W", ("k",), "directions that a joint forbids", lambda o, k: o.W[k]),
    Letter(
        "dq_dxi",
        r"\Bigl(\frac{\partial q}{\partial\tilde\xi}\Bigr)",
        ("i", "j"),
        "rates of the variables of joint i, soft first, by the twist of link j, (18)",
        lambda o, i, j: o.sloped_block(i, j),
        "j is i or the parent of i",
    ),
    Letter(
        "script_J",
        r"\mathcal J",
        ("i", "j"),
        "twist of link i by the rates of the variables of joint j, soft first, (14)",
        lambda o, i, j: o.twists(i, j),
        "link j carries link i, or i = j",
    ),
    *(
        _block_letter(name, symbol, says, parts, lambda o, i, j: o.metric_block(i, j), CARRIES)
        for name, symbol, says, parts in (
            ("G_11", "G_{11}", "mass matrix, the soft block of G, (6)", (False, False)),
            ("G_12", "G_{12}", "block of G between soft and hard variables, (7)", (False, True)),
            ("G_22", "G_{22}", "hard block of G", (True, True)),
        )
    ),
    *(
        _block_letter(name, symbol, says, parts, lambda o, i, j: o.block(i, j), NEAR)
        for name, symbol, says, parts in (
            ("H_11", "H_{11}", "soft block of H, (19)", (False, False)),
            ("H_12", "H_{12}", "block of H between soft and hard variables, (19)", (False, True)),
            ("H_22", "H_{22}", "hard block of H, (19)", (True, True)),
        )
    ),
    *(
        Letter(name, symbol, ("k",), says, link_entries(symbol, sizes))
        for name, symbol, says, sizes in (
            ("c", "c", "H_11 b, after (9)", "soft"),
            ("d", "d", "H_12ᵀ b, after (9)", "hard"),
            ("e", "e", "H_22⁻¹ d, after (9)", "hard"),
            ("f", "f", "H_12 e, after (9)", "soft"),
            ("q_ddot", "x", "c − f, the joint accelerations by the forces b, (9)", "soft"),
        )
    ),
    Letter(
        "L_22", "L", ("i", "j"), "lower factor of H_22, after (9)", _lower, "i ≥ j, near each other"
    ),
    Letter(
        "U_22", "U", ("i", "j"), "upper factor of H_22, after (9)", _upper, "i ≤ j, near each other"
    ),
)
"""The operators, by links."""

NOTATION = {
    "G": "mass matrix over soft and hard variables together, (2), (5)",
    "H": "homogeneous transform of a body, (14)",
    "H_{21}": "H_12ᵀ, (8)",
    "H_{ij}": "a block of the inverse of G: H_11, H_12, H_21 or H_22, (8)",
    r"\mathcal M": "mass matrix of the robot",
    "b": "right side of (6), tau in the printed blocks; in (14)-(17) the position of a body",
    "y": "second part of the solution of (7)",
    "x": "joint accelerations by the forces b, (6), (9)",
    "f": "H_12 e, (9); in (12)-(17) a function of a rotation or of a motion",
    "d": "H_12ᵀ b, (9)",
    "L": "lower factor of H_22, (9)",
    "U": "upper factor of H_22, (9)",
    r"\omega": "angular velocity of a body, in its axes, (10)",
    "J": "Jacobian of a rotation, ω = J q̇, (10)",
    r"\dot q": "rates of the coordinates of a body",
    "q": "coordinates of a body, or the variables of all joints",
    "A": "rotation R_3(α) R_1(β) R_3(γ) of a body, (11)",
    "R": "rotation of a body",
    "R_1": "rotation about the first axis",
    "R_3": "rotation about the third axis",
    "e_1": "first unit vector",
    "e_3": "third unit vector",
    "e_i": "unit vector i",
    r"\alpha": "first ZXZ Euler angle",
    r"\beta": "second ZXZ Euler angle",
    r"\gamma": "third ZXZ Euler angle",
    r"\xi": "direction of a derivative on rotations, (12)",
    "t": "angle of a small rotation",
    r"\Omega": "matrix of the cross product with ω, (13)",
    "v": "velocity of a body, in its axes, (14)",
    r"\Delta": "Δt is a small time",
    r"\dot H": "rate of H",
    r"\dot b": "rate of the position b",
    r"\mathcal J": (
        "Jacobian of motions: takes the rates of the variables to the twists of the links, (14)"
    ),
    r"\tilde\xi": "direction of a derivative on motions, (16)",
    r"\varepsilon": "a small number",
    r"\tilde E": (
        "generators of motions: rotations about the three axes, then translations along them, (16)"
    ),
    r"\nabla": "gradient by the position b, (17)",
    "M": "mass matrix of bodies without joints, (17), (19)",
    "m": "mass of a body",
    "J_R": "J of the rotation, (17)",
    "J_T": "∂x/∂q of the position, (17)",
    "I_R": "moments of inertia about the mass centre, (17)",
    "I": "inertia of a link at its frame, (19)",
    "I^{-1}": "inverse inertia of a link at its frame, (19)",
}
"""Meaning of the symbols of `EQUATIONS` that are no letters, or have several meanings."""


# -- SymPy: one body in symbols --------------------------------------------------------------------

SYMBOLIC_ANGLES = sp.symbols("alpha beta gamma", real=True)
SYMBOLIC_POSITION = sp.symbols("b1:4", real=True)


def symbolic_rotation() -> Any:
    """Return A = R_3(α) R_1(β) R_3(γ) in symbols."""
    return sp.Matrix(zxz_rotation([(sp.cos(x), sp.sin(x)) for x in SYMBOLIC_ANGLES]).tolist())


def rotation_jacobian(A: Any, q: Sequence[Any] = SYMBOLIC_ANGLES) -> Any:
    """Return J with ω = J q̇ in body axes, of any rotation A(q): columns vect(Aᵀ ∂A/∂q_i), (10).

    Entries are not simplified.
    """
    return sp.Matrix.hstack(*(_vect(A.T * A.diff(x)) for x in q))


def motion_jacobian(A: Any, position: Any, q: Sequence[Any]) -> Any:
    """Return 𝒥 with (ω, v) = 𝒥 q̇ in body axes: columns (H⁻¹ ∂H/∂q_i)^∨, where v = Rᵀ ḃ, (14)."""
    columns = [sp.Matrix.vstack(_vect(A.T * A.diff(x)), A.T * position.diff(x)) for x in q]
    return sp.Matrix.hstack(*columns)


def _vect(skew: Any) -> Any:
    return sp.Matrix([skew[2, 1], skew[0, 2], skew[1, 0]])


def derivative_along(f: Any, jacobian: Any, q: Sequence[Any], i: int) -> Any:
    """Return ∂f/∂ξ_{i+1} = Σ_j ∂f/∂q_j (𝒥⁻¹)_ji of an expression, (12), (16), (17)."""
    rates = jacobian.LUsolve(sp.eye(jacobian.rows)[:, i])
    return sp.Add(*(f.diff(x) * rate for x, rate in zip(q, rates, strict=True)))


def symbolic_inertia(mass: Any, moments: Any) -> Any:
    """Return I = I_R ⊕ m 1, rotation first, about the mass centre."""
    return sp.diag(moments, mass * sp.eye(3))


def symbolic_mass_matrix(jacobian: Any, inertia: Any) -> Any:
    """Return M(q) = 𝒥ᵀ I 𝒥 of one free body."""
    return jacobian.T * inertia * jacobian


def symbolic_inverse_mass_matrix(jacobian: Any, inertia: Any) -> Any:
    """Return M⁻¹(q) = [∂q/∂ξ̃] I⁻¹ [∂q/∂ξ̃]ᵀ with ∂q/∂ξ̃ = 𝒥⁻¹, (18)."""
    slope = jacobian.inv()
    return slope * inertia.inv() * slope.T

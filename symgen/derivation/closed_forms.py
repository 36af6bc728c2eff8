"""Closed forms that SymPy derives, each local to one joint or one link, from the geometry that
declares it.

No form spans two operators. The results are small and cached; `scalars.lower` applies them along
the mechanism. All forms follow from a joint's `pose`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import sympy as sp

from symgen.mechanism.joints import JointType, joint_type


@dataclass(frozen=True)
class JointForm:
    """Closed form of a joint type: pose (rotation, shift) and motion subspace H (angular rows
    first), in the moved frame's axes.

    The twist across the joint is H v, with one column of H per degree of freedom. `q` are the
    symbols of its coordinates, `parameters` those of its declared numbers, by name. The pose may
    use the symbols of `steps`, each with its expression.
    """

    q: tuple[Any, ...]
    parameters: dict[str, Any]
    steps: tuple[tuple[Any, Any], ...]
    rotation: Any
    shift: Any
    motion_subspace: Any

    @cached_property
    def single(self) -> frozenset[Any]:
        """The steps that depend on q only, each linear in it.

        A pose in steps is a constant plus terms with one of these each.
        """
        return frozenset(
            symbol for symbol, expression in self.steps if expression.free_symbols <= {*self.q}
        )

    @cached_property
    def rotation_rows(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(self.rotation[r, c] for c in range(3)) for r in range(3))

    @cached_property
    def shift_entries(self) -> tuple[Any, ...]:
        return tuple(self.shift)

    @cached_property
    def motions(self) -> tuple[tuple[Any, ...], ...]:
        """The columns of the motion subspace."""
        subspace = self.motion_subspace
        return tuple(
            tuple(subspace[r, column] for r in range(6)) for column in range(subspace.cols)
        )

    @cached_property
    def angle(self) -> int | None:
        """Index of the coordinate whose sine and cosine the rotation contains, or None."""
        angles = {term.args[0] for term in self.rotation.atoms(sp.sin, sp.cos)}
        return next((i for i, q in enumerate(self.q) if q in angles), None)


def vee(skew: Any) -> Any:
    """Return the vector w with w × x = skew·x."""
    return sp.Matrix([skew[2, 1], skew[0, 2], skew[1, 0]])


def motion_subspace(rotation: Any, shift: Any, q: Any, at: Any = None) -> Any:
    """Return H = d(pose)/dq as a twist of the moved frame in its own axes, (vee(Rᵀ R'), Rᵀ r'); at
    q = `at` if given.
    """
    twist = sp.Matrix.vstack(vee(rotation.T * rotation.diff(q)), rotation.T * shift.diff(q))
    twist = twist if at is None else twist.xreplace({q: sp.Integer(at)})
    return twist.applyfunc(sp.trigsimp) if twist.has(sp.sin, sp.cos) else twist


def _columns(kind: str, q: Sequence[Any], parameters: Mapping[str, Any]) -> Any:
    """Return H (6 x nv) of a joint type; column k is the derivative of q ⊕ ε e_k at ε = 0."""
    joint, e = joint_type(kind), sp.Symbol("epsilon", real=True)
    displaced = [
        joint.integrate_first_order(q, [e if i == k else sp.S.Zero for i in range(joint.nv)])
        for k in range(joint.nv)
    ]
    H = sp.Matrix.hstack(
        *(
            motion_subspace(*_pose(joint, coordinates, parameters), e, at=0)
            for coordinates in displaced
        )
    )
    if joint.quaternion is None:
        return H
    quaternion = q[joint.quaternion : joint.quaternion + 4]
    return H.applyfunc(
        lambda entry: sp.reduced(entry, [sum(x * x for x in quaternion) - 1], *quaternion)[1]
    )


def _pose(joint: JointType, q: Sequence[Any], parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the pose with its steps substituted."""
    steps: dict[Any, Any] = {}
    for symbol, expression in joint.steps(q):
        steps[symbol] = expression.xreplace(steps)
    rotation, shift = joint.pose(q, parameters)
    return rotation.xreplace(steps), shift.xreplace(steps)


@cache
def motion_class(kind: str) -> str:
    """Return the class of a joint's motion subspace: "turn" (rotation about z only), "ball" (all
    rotations), "slide" (translations only) or "both".

    It determines which inertia has no effect on the joint: the null space of ξ̂ J = 0 over the 4x4
    pseudo-inertias J, for each column ξ.
    """
    H = joint_form(kind).motion_subspace
    if H[3:, :].is_zero_matrix and H[:2, :].is_zero_matrix:
        return "turn"
    if H[3:, :].is_zero_matrix and H[:3, :].rank() == 3:
        return "ball"
    return "slide" if H[:3, :].is_zero_matrix else "both"


@cache
def joint_form(kind: str) -> JointForm:
    """Return the closed form of a joint type, from `symgen/mechanism/joints/<kind>.py`."""
    joint = joint_type(kind)
    q = sp.symbols(f"q_:{joint.nq}" if joint.nq > 1 else "q,", real=True)
    parameters = {
        parameter.name: sp.Symbol(parameter.name, real=True, nonzero=True)
        for parameter in joint.parameters
    }
    return JointForm(
        q,
        parameters,
        tuple(joint.steps(q)),
        *joint.pose(q, parameters),
        _columns(kind, q, parameters),
    )


@dataclass(frozen=True)
class StepForm:
    """Coordinates of one joint after a constant velocity for a time `dt`.

    `coordinates` are expressions in q, v, dt and the symbols of `equations`.
    """

    q: tuple[Any, ...]
    v: tuple[Any, ...]
    dt: Any
    equations: tuple[tuple[Any, Any], ...]
    coordinates: tuple[Any, ...]


@cache
def step_form(kind: str, series: bool) -> StepForm:
    """Return q ⊕ v dt of a joint type.

    With `series` it uses functions of the rotation angle that can be differentiated without
    cancellation.
    """
    joint = joint_type(kind)
    q, v = (
        tuple(sp.Symbol(f"{name}_{i}", real=True) for i in range(n))
        for name, n in (("q", joint.nq), ("v", joint.nv))
    )
    dt = sp.Symbol("dt", real=True)
    equations, coordinates = (joint.integrate_by_series if series else joint.integrate)(q, v, dt)
    return StepForm(q, v, dt, tuple(equations), tuple(coordinates))


@dataclass(frozen=True)
class DifferenceForm:
    """Step δ that takes one joint from q to `goal`; `step` has expressions in both and the symbols
    of `equations`.
    """

    q: tuple[Any, ...]
    goal: tuple[Any, ...]
    equations: tuple[tuple[Any, Any], ...]
    step: tuple[Any, ...]


@cache
def difference_form(kind: str, series: bool) -> DifferenceForm:
    """Return goal ⊖ q of a joint type; `series` as in `step_form`."""
    joint = joint_type(kind)
    q, goal = (
        tuple(sp.Symbol(f"{name}_{i}", real=True) for i in range(joint.nq))
        for name in ("q", "goal")
    )
    equations, step = (joint.difference_by_series if series else joint.difference)(q, goal)
    return DifferenceForm(q, goal, tuple(equations), tuple(step))


@cache
def constraint_subspace(kind: str) -> tuple[Any, Any]:
    """Return (W_a, W) of a joint type (FF): unit forces as wrenches, W_aᵀ H = 1, and an orthonormal
    basis of the constrained directions, Wᵀ H = 0.

    Both are in the moved frame's axes, moment first, as H is. W is 6 x (6 − n_i), without columns
    for a free joint.
    """
    H = joint_form(kind).motion_subspace
    forbidden = sp.GramSchmidt(H.T.nullspace(), orthonormal=True)
    return H * (H.T * H).inv(), sp.Matrix.hstack(sp.zeros(6, 0), *forbidden)


def cross_matrix(v: Any) -> Any:
    """Return Z = z × 1 (SA 5)."""
    return sp.Matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


@cache
def twist_transport() -> tuple[Any, Any]:
    """Return B_ij (SA 4) and its symbols c = c_j − c_i, by differentiating the position of C_i on a
    body that rotates about C_j.

    x_i = x_j + R ρ with ρ = −c in body axes; the twist (ω, ẋ_i) is linear in (ω, ẋ_j), and B is
    that Jacobian.
    """
    c = sp.symbols("c_x c_y c_z", real=True)
    t = sp.Symbol("t", real=True)
    w = sp.symbols("w_x w_y w_z", real=True)
    x = sp.symbols("v_x v_y v_z", real=True)
    rotation = sp.eye(3) + cross_matrix(w) * t  # rotation at rate w, to first order in t
    position = sp.Matrix(x) * t + rotation * (-sp.Matrix(c))
    twist = sp.Matrix([*w, *position.diff(t)])
    return twist.jacobian(sp.Matrix([*w, *x])), c


def joint_vector(motion: Any, d: Any) -> Any:
    """Return p_i (SA 4): the twist at C_i of a unit joint rate, from the motion subspace at the
    joint and d = C_i − joint.

    For a revolute joint it is [e; e × d], for a prismatic one [0; e].
    """
    transport, c = twist_transport()
    return transport.subs(dict(zip(c, -sp.Matrix(d), strict=True)), simultaneous=True) * motion


@dataclass(frozen=True)
class RiccatiForm:
    """One step of (4.5)-(4.6) across a joint, entry by entry, as named equations.

    P are symmetric 6x6 symbols; then D = H P Hᵀ, or H P Hᵀ + `A` with the armature of a rotor; then
    G = P Hᵀ D⁻¹ (5.12) in terms of D⁻¹ = `d`; then P⁺ = P − G H P in terms of the symbols `g`.
    Entries that vanish identically are zero.
    """

    P: Any
    A: Any
    d: Any
    g: tuple[Any, ...]
    D: Any
    G: Any
    P_after: Any


@dataclass(frozen=True)
class MobilityForm:
    """One step of Ω(k) = ψᵀ Ω(k+1) ψ + Hᵀ D⁻¹ H across a joint, after the shift, entry by entry, as
    named equations.

    X = φᵀ Ω(k+1) φ (symmetric 6x6 symbols), then W = (1 − G H)ᵀ X, then Ω = W (1 − G H) + Hᵀ d H in
    terms of the symbols `w`. G is in terms of the symbols `g` of `RiccatiForm` and D⁻¹ = `d`. H G =
    1 eliminates one of them; with an armature `A`, H G = 1 − A d.
    """

    X: Any
    A: Any
    d: Any
    g: tuple[Any, ...]
    w: Any
    W: Any
    after: Any


@cache
def mobility_form(kind: str, column: int = 0, rotor: bool = False) -> MobilityForm:
    """Return the step of Ω across one degree of freedom of a joint type: H from `joint_form`, X and
    G symbolic.

    With `rotor` the degree of freedom has an armature.
    """
    X = sp.Matrix(6, 6, lambda i, j: sp.Symbol(f"X_{min(i, j)}{max(i, j)}", real=True))
    w = sp.Matrix(6, 6, lambda i, j: sp.Symbol(f"w_{i}{j}", real=True))
    H = joint_form(kind).motion_subspace[:, column].T
    A, d, g = sp.Symbol("A", real=True), sp.Symbol("d", real=True), sp.symbols("g:6", real=True)
    HG = 1 - A * d if rotor else sp.S.One
    eliminated = next(i for i in range(6) if H[i] != 0)
    G = sp.Matrix(g).subs(
        g[eliminated], (HG - sum(H[i] * g[i] for i in range(6) if i != eliminated)) / H[eliminated]
    )
    projection = sp.eye(6) - G * H
    W = projection.T * X
    w_or_X = w.subs({w[i, j]: X[i, j] for i in range(6) for j in range(6) if W[i, j] == X[i, j]})
    return MobilityForm(X, A, d, g, w, W, w_or_X * projection + H.T * d * H)


@dataclass(frozen=True)
class TraceForm:
    """tr(X Ḣ P): the rate of ½ tr(X φ P φᵀ) along a joint's motion, for symmetric 6x6 symbols X and
    P.
    """

    X: Any
    P: Any
    trace: Any


def wrench_rate(H: Any) -> Any:
    """Return φ⁻¹ dφ/dq = [[ω×, v×], [0, ω×]] of a motion subspace H = (ω, v): the rate of a wrench
    (n, f) on the moved link.
    """
    angular, linear = cross_matrix(H[:3, 0]), cross_matrix(H[3:, 0])
    return sp.Matrix.vstack(
        sp.Matrix.hstack(angular, linear), sp.Matrix.hstack(sp.zeros(3, 3), angular)
    )


@cache
def trace_form(kind: str, column: int = 0) -> TraceForm:
    """Return the trace of one degree of freedom of a joint type, term by term: H from `joint_form`,
    X and P symbolic.
    """
    X, P = (
        sp.Matrix(6, 6, lambda i, j, s=s: sp.Symbol(f"{s}_{min(i, j)}{max(i, j)}", real=True))
        for s in "XP"
    )
    rate = wrench_rate(joint_form(kind).motion_subspace[:, column])
    terms = [
        X[c, a] * rate[a, b] * P[b, c]
        for a in range(6)
        for b in range(6)
        if rate[a, b] != 0
        for c in range(6)
    ]
    return TraceForm(X, P, sp.Add(*terms))


@cache
def riccati_form(kind: str, column: int = 0, rotor: bool = False) -> RiccatiForm:
    """Return the Riccati step of one degree of freedom of a joint type: H from `joint_form`, P
    symbolic.

    With `rotor` the degree of freedom has an armature. The armature is added to D, like measurement
    noise in a Kalman filter; all other equations are unchanged. But H P⁺ = A d H P is then no
    longer zero. For a joint with several degrees of freedom, successive steps equal one block step:
    Π D is the determinant of the block.
    """
    P = sp.Matrix(6, 6, lambda i, j: sp.Symbol(f"P_{min(i, j)}{max(i, j)}", real=True))
    H = joint_form(kind).motion_subspace[:, column].T
    d = sp.Symbol("d", real=True)
    g = sp.symbols("g:6", real=True)
    A = sp.Symbol("A", real=True)
    D = (H * P * H.T)[0, 0] + (A if rotor else 0)
    G = P * H.T * d
    after = P - sp.Matrix(g) * (H * P)
    if rotor:
        return RiccatiForm(P, A, d, g, D, G, _with_rotor(after, H, A, g))
    # If G is 1 and the row of H P is the row of P, the entry is P − P: it is set to zero here, by
    # structure.
    nonzero = [i for i in range(6) if H[i] != 0]
    exact = None if len(nonzero) == 1 else (P - (P * H.T) * (H * P) / D).applyfunc(sp.cancel)
    for i in range(6):
        for j in range(6):
            if nonzero[0] in (i, j) if exact is None else exact[i, j] == 0:
                after[i, j] = sp.S.Zero
    return RiccatiForm(P, A, d, g, D, G, after)


def _with_rotor(after: Any, H: Any, A: Any, g: tuple[Any, ...]) -> Any:
    """Return P⁺ with the row of a joint along one axis written as A G: H P⁺ = A d H P, which has no
    cancellation.
    """
    nonzero = [i for i in range(6) if H[i] != 0]
    if len(nonzero) == 1:
        (k,) = nonzero
        for j in range(6):
            after[k, j] = after[j, k] = A * g[j] / H[k]
    return after

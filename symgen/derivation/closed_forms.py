"""What SymPy derives: closed forms that are local to one joint or one link, each from the geometry that declares it.

Nothing here spans two operators; the results are small, cached, and carried along the mechanism by
`scalars.lower`. Changing a joint's `pose` changes everything below.
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
    """One joint type: pose (rotation, shift) and motion subspace H (angular rows first), in the moved frame's axes.

    twist across the joint = H v, a column of H a degree of freedom. `q` are the symbols of its coordinates, `parameters` those
    of the numbers that a joint declares, by name. The pose may be written in the symbols of `steps`, each with its expression.
    """

    q: tuple[Any, ...]
    parameters: dict[str, Any]
    steps: tuple[tuple[Any, Any], ...]
    rotation: Any
    shift: Any
    motion_subspace: Any

    @cached_property
    def single(self) -> frozenset[Any]:
        """The steps that q alone makes, each linear in it. A pose in steps is a constant and terms with one of these in each."""
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
        """Which coordinate the rotation has the sine and cosine of."""
        turned = {term.args[0] for term in self.rotation.atoms(sp.sin, sp.cos)}
        return next((i for i, q in enumerate(self.q) if q in turned), None)


def vee(skew: Any) -> Any:
    """The vector w with w × x = skew·x."""
    return sp.Matrix([skew[2, 1], skew[0, 2], skew[1, 0]])


def motion_subspace(rotation: Any, shift: Any, q: Any, at: Any = None) -> Any:
    """H = d(pose)/dq as a twist of the moved frame, in its own axes: (vee(Rᵀ R'), Rᵀ r'); where q is `at`, if that is given."""
    twist = sp.Matrix.vstack(vee(rotation.T * rotation.diff(q)), rotation.T * shift.diff(q))
    twist = twist if at is None else twist.xreplace({q: sp.Integer(at)})
    return twist.applyfunc(sp.trigsimp) if twist.has(sp.sin, sp.cos) else twist


def _columns(kind: str, q: Sequence[Any], parameters: Mapping[str, Any]) -> Any:
    """H (6 x nv) of a joint type: column k is what q ⊕ ε e_k does at ε = 0."""
    joint, e = joint_type(kind), sp.Symbol("epsilon", real=True)
    along = [
        joint.moved(q, [e if i == k else sp.S.Zero for i in range(joint.nv)])
        for k in range(joint.nv)
    ]
    H = sp.Matrix.hstack(
        *(motion_subspace(*_pose(joint, place, parameters), e, at=0) for place in along)
    )
    if joint.quaternion is None:
        return H
    own = q[joint.quaternion : joint.quaternion + 4]
    return H.applyfunc(lambda entry: sp.reduced(entry, [sum(x * x for x in own) - 1], *own)[1])


def _pose(joint: JointType, q: Sequence[Any], parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    """The pose without symbols of its own."""
    known: dict[Any, Any] = {}
    for symbol, expression in joint.steps(q):
        known[symbol] = expression.xreplace(known)
    rotation, shift = joint.pose(q, parameters)
    return rotation.xreplace(known), shift.xreplace(known)


@cache
def feels(kind: str) -> str:
    """What a joint's motion subspace is: "turn" (pure, about z), "ball" (every turn and no slide), "slide" (pure, any direction)
    or "both".

    It says which inertia the joint cannot feel: the null space of ξ̂ J = 0 over the 4x4 pseudo-inertias J, for every column ξ.
    """
    H = joint_form(kind).motion_subspace
    if H[3:, :].is_zero_matrix and H[:2, :].is_zero_matrix:
        return "turn"
    if H[3:, :].is_zero_matrix and H[:3, :].rank() == 3:
        return "ball"
    return "slide" if H[:3, :].is_zero_matrix else "both"


@cache
def joint_form(kind: str) -> JointForm:
    """The closed form of a joint type, from `symgen/mechanism/joints/<kind>.py`."""
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
    """Where a constant velocity takes one joint in a time `dt`: `coordinates` over q, v, dt and the symbols of `equations`."""

    q: tuple[Any, ...]
    v: tuple[Any, ...]
    dt: Any
    equations: tuple[tuple[Any, Any], ...]
    coordinates: tuple[Any, ...]


@cache
def step_form(kind: str, series: bool = False) -> StepForm:
    """q ⊕ v dt of a joint type; with `series` in functions of a turn that can be differentiated without cancellation."""
    joint = joint_type(kind)
    q, v = (
        tuple(sp.Symbol(f"{name}_{i}", real=True) for i in range(n))
        for name, n in (("q", joint.nq), ("v", joint.nv))
    )
    dt = sp.Symbol("dt", real=True)
    equations, coordinates = (joint.advanced_by_series if series else joint.advanced)(q, v, dt)
    return StepForm(q, v, dt, tuple(equations), tuple(coordinates))


@dataclass(frozen=True)
class WayForm:
    """The step δ that takes one joint from q to `goal`: `step` over both and the symbols of `equations`."""

    q: tuple[Any, ...]
    goal: tuple[Any, ...]
    equations: tuple[tuple[Any, Any], ...]
    step: tuple[Any, ...]


@cache
def way_form(kind: str, series: bool = False) -> WayForm:
    """goal ⊖ q of a joint type; `series` as in `step_form`."""
    joint = joint_type(kind)
    q, goal = (
        tuple(sp.Symbol(f"{name}_{i}", real=True) for i in range(joint.nq))
        for name in ("q", "goal")
    )
    equations, step = (joint.parted_by_series if series else joint.parted)(q, goal)
    return WayForm(q, goal, tuple(equations), tuple(step))


@cache
def constraint_subspace(kind: str) -> tuple[Any, Any]:
    """(W_a, W) of a joint type (FF): its forces as wrenches, W_aᵀ H = 1, and an orthonormal basis of what it forbids, Wᵀ H = 0.

    Both stand in the moved frame's axes, moment first, as H does; W is 6 x (6 − n_i), without columns where all is allowed.
    """
    H = joint_form(kind).motion_subspace
    forbidden = sp.GramSchmidt(H.T.nullspace(), orthonormal=True)
    return H * (H.T * H).inv(), sp.Matrix.hstack(sp.zeros(6, 0), *forbidden)


def cross_matrix(v: Any) -> Any:
    """Z = z × 1 (SA 5)."""
    return sp.Matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


@cache
def twist_transport() -> tuple[Any, Any]:
    """B_ij (SA 4) and its symbols c = c_j − c_i, by differentiating the position of C_i on a body that turns with C_j.

    x_i = x_j + R ρ with ρ = −c in body axes; the twist (ω, ẋ_i) is linear in (ω, ẋ_j), and B is that Jacobian.
    """
    c = sp.symbols("c_x c_y c_z", real=True)
    t = sp.Symbol("t", real=True)
    w = sp.symbols("w_x w_y w_z", real=True)
    x = sp.symbols("v_x v_y v_z", real=True)
    rotation = sp.eye(3) + cross_matrix(w) * t  # a turn at rate w, to first order in t
    place = sp.Matrix(x) * t + rotation * (-sp.Matrix(c))
    twist = sp.Matrix([*w, *place.diff(t)])
    return twist.jacobian(sp.Matrix([*w, *x])), c


def joint_vector(motion: Any, d: Any) -> Any:
    """p_i (SA 4): the twist at C_i of a unit joint rate, from the motion subspace at the joint and d = C_i − joint.

    For a revolute joint [e; e × d]; a sliding joint gives [0; e].
    """
    back, c = twist_transport()
    return back.subs(dict(zip(c, -sp.Matrix(d), strict=True)), simultaneous=True) * motion


@dataclass(frozen=True)
class RiccatiForm:
    """One step of (4.5)-(4.6) across a joint, entry by entry, in named equations.

    P (symmetric 6x6 symbols), then D = H P Hᵀ, or H P Hᵀ + `A` with the armature of a rotor, then G = P Hᵀ D⁻¹ (5.12) over
    D⁻¹ = `d`, then P⁺ = P − G H P over the symbols `g`. Entries that vanish identically are zero.
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
    """One step of Ω(k) = ψᵀ Ω(k+1) ψ + Hᵀ D⁻¹ H across a joint, behind the shift, entry by entry, in named equations.

    X = φᵀ Ω(k+1) φ (symmetric 6x6 symbols), then W = (1 − G H)ᵀ X, then Ω = W (1 − G H) + Hᵀ d H over the symbols `w`.
    G is over the symbols `g` of `RiccatiForm` and D⁻¹ = `d`; H G = 1 takes one of them out, with an armature `A` H G = 1 − A d.
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
    """The step of Ω over one degree of freedom of a joint type: H from `joint_form`, X and G symbolic.

    `rotor`: with an armature.
    """
    X = sp.Matrix(6, 6, lambda i, j: sp.Symbol(f"X_{min(i, j)}{max(i, j)}", real=True))
    w = sp.Matrix(6, 6, lambda i, j: sp.Symbol(f"w_{i}{j}", real=True))
    H = joint_form(kind).motion_subspace[:, column].T
    A, d, g = sp.Symbol("A", real=True), sp.Symbol("d", real=True), sp.symbols("g:6", real=True)
    whole = 1 - A * d if rotor else sp.S.One
    pinned = next(i for i in range(6) if H[i] != 0)
    G = sp.Matrix(g).subs(
        g[pinned], (whole - sum(H[i] * g[i] for i in range(6) if i != pinned)) / H[pinned]
    )
    through = sp.eye(6) - G * H
    W = through.T * X
    known = w.subs({w[i, j]: X[i, j] for i in range(6) for j in range(6) if W[i, j] == X[i, j]})
    return MobilityForm(X, A, d, g, w, W, known * through + H.T * d * H)


@dataclass(frozen=True)
class TraceForm:
    """tr(X Ḣ P): what ½ tr(X φ P φᵀ) changes by along a joint's motion, over symmetric 6x6 symbols X and P."""

    X: Any
    P: Any
    trace: Any


def wrench_rate(H: Any) -> Any:
    """φ⁻¹ dφ/dq = [[ω×, v×], [0, ω×]] for a motion subspace H = (ω, v): how a wrench (n, f) on the moved link changes."""
    angular, linear = cross_matrix(H[:3, 0]), cross_matrix(H[3:, 0])
    return sp.Matrix.vstack(
        sp.Matrix.hstack(angular, linear), sp.Matrix.hstack(sp.zeros(3, 3), angular)
    )


@cache
def trace_form(kind: str, column: int = 0) -> TraceForm:
    """The trace of one degree of freedom of a joint type, term by term: H from `joint_form`, X and P symbolic."""
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
    """The Riccati step of one degree of freedom of a joint type: H from `joint_form`, P symbolic; `rotor`: with an armature.

    An armature is what the noise of a measurement is to a Kalman filter: it is added to D, and all else stays as it is written.
    But H P⁺ = A d H P is no longer zero. Of a joint with several, one step after the other does what the step of their block
    does: Π D is the block's determinant.
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
    # Where G is 1 and the row of H P is the row of P, the entry is P − P: decided here, by structure.
    along = [i for i in range(6) if H[i] != 0]
    exact = None if len(along) == 1 else (P - (P * H.T) * (H * P) / D).applyfunc(sp.cancel)
    for i in range(6):
        for j in range(6):
            if along[0] in (i, j) if exact is None else exact[i, j] == 0:
                after[i, j] = sp.S.Zero
    return RiccatiForm(P, A, d, g, D, G, after)


def _with_rotor(after: Any, H: Any, A: Any, g: tuple[Any, ...]) -> Any:
    """P⁺ with the row of a joint along one axis as A G: H P⁺ = A d H P, where no digits are lost."""
    along = [i for i in range(6) if H[i] != 0]
    if len(along) == 1:
        (k,) = along
        for j in range(6):
            after[k, j] = after[j, k] = A * g[j] / H[k]
    return after

"""Steady solution of RK's Riccati equation (4.5) on long uniform chains: to which P(k) converges,
how fast, and when it does not.

Links are numbered from the tip, as RK number them. Wrenches and P(k) are (moment, force) in the
axes of link k at its joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._chains import LENGTH, MASS, MOMENTS, rod_chain
from symgen.pages.reproduce._page import Page, slope
from symgen.pipeline import build
from symgen.reference.arrays import skew
from symgen.reference.precision import Array
from symgen.support.version import __version__
from symgen.vocabulary.options import LOOPED, ProgramOptions

TITLE = (
    "Articulated-body inertia of long uniform chains, and the steady solution of the Riccati"
    " equation"
)


@dataclass(frozen=True)
class Case:
    """One chain of like links. Joint angles and twists (degrees) repeat with a period of one or two
    links, from the tip.

    A planar case restricts wrenches to the plane: moment about the axis, and two forces.
    """

    name: str
    angles: tuple[int, ...]
    twists: tuple[int, ...]
    planar: bool = False

    @property
    def period(self) -> int:
        """Return the number of links after which the chain repeats."""
        return len(self.angles)


CASES = (
    Case("planar, 1°", (1,), (0,), planar=True),
    Case("planar, 5°", (5,), (0,), planar=True),
    Case("planar, 30°", (30,), (0,), planar=True),
    Case("planar, 90°", (90,), (0,), planar=True),
    Case("alternating axes, 10° and 20°", (10, 20), (90, 90)),
    Case("alternating axes, 30° and 50°", (30, 50), (90, 90)),
    Case("planar, straight", (0,), (0,), planar=True),
    Case("alternating axes, straight", (0, 0), (90, -90)),
    Case("helix, 30°", (30,), (90,)),
    Case("alternating axes, 30° and 30°", (30, 30), (90, -90)),
    Case("parallel axes in space, 30°", (30,), (0,)),
    Case("parallel axes in space, straight", (0,), (0,)),
)
LINKS = 2000
"""Links of the iteration of (4.5)."""
CHECKED_LINKS = 24
"""Links at whose base D is compared with compiled determinants."""
PLANE = [2, 3, 4]
"""Entries of a wrench in the plane: moment about z, forces along x and y."""
AXIAL_FORCE = 3
FIT_FROM, FIT_TO = 1e-3, 1e-11
"""Range of the relative error in which the rate of convergence is fitted."""
CLOSE = 1e-10
"""Relative error at which P(k) counts as converged."""
ROUNDS = 60


@dataclass(frozen=True)
class UniformChain:
    """Maps of one period: `shifts[k]` takes a wrench of link k (from the tip) to link k + 1; `axis`
    is the joint's, `inertia` a link's.
    """

    shifts: list[Array]
    axis: Array
    inertia: Array


def uniform_chain(case: Case) -> UniformChain:
    """Return φ, H and M of a case, as numbers."""
    centre = np.array([float(LENGTH) / 2, 0.0, 0.0])
    mass = float(MASS)
    moments = np.diag([float(x) for x in MOMENTS])
    cross = skew(centre)
    inertia = np.block(
        [[moments + mass * cross @ cross.T, mass * cross], [mass * cross.T, mass * np.eye(3)]]
    )
    axis = np.eye(6)[2]
    shifts = [
        _shift(np.radians(q), np.radians(t)) for q, t in zip(case.angles, case.twists, strict=True)
    ]
    if case.planar:
        inner = np.ix_(PLANE, PLANE)
        return UniformChain([shift[inner] for shift in shifts], axis[PLANE], inertia[inner])
    return UniformChain(shifts, axis, inertia)


def _shift(angle: float, twist: float) -> Array:
    """Return φ(k + 1, k) in link axes: link k is at LENGTH along x of link k + 1, twisted about x,
    then rotated about its joint.
    """
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    R = np.array([[1, 0, 0], [0, ct, -st], [0, st, ct]]) @ np.array(
        [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    )
    lever = skew(np.array([float(LENGTH), 0.0, 0.0]))
    return np.block([[R, lever @ R], [np.zeros((3, 3)), R]])


def mechanism(case: Case, links: int) -> Mechanism:
    """Return the chain as a Mechanism. Its joint `links` − k is RK's joint k; `angles_from_base`
    gives its q.
    """
    return rod_chain([case.twists[(links - 1 - i) % case.period] for i in range(links)])


def angles_from_base(case: Case, links: int) -> Array:
    """Return q (rad) of `mechanism`, base → tip."""
    return np.radians([case.angles[(links - 1 - i) % case.period] for i in range(links)])


def riccati(chain: UniformChain, P: Array, k: int) -> Array:
    """Return P(k + 1) from P(k), (4.5)."""
    shift, h = chain.shifts[k % len(chain.shifts)], chain.axis
    projected = P - np.outer(P @ h, h @ P) / (h @ P @ h)  # (4.6)
    return np.asarray(shift @ projected @ shift.T + chain.inertia)


def iterate(chain: UniformChain, links: int) -> list[Array]:
    """Return P(1) … P(links), from the tip."""
    P = [chain.inertia]
    for k in range(links - 1):
        P.append(riccati(chain, P[-1], k))
    return P


def closed_loop(chain: UniformChain, P: Array, k: int) -> Array:
    """Return ψ over one period from link k on, with gains of P and its successors, (4.7)."""
    product = np.eye(len(P))
    for j in range(k, k + len(chain.shifts)):
        shift, h = chain.shifts[j % len(chain.shifts)], chain.axis
        product = (shift - np.outer(shift @ P @ h / (h @ P @ h), h)) @ product
        P = riccati(chain, P, j)
    return np.asarray(product)


def unobservable_wrenches(chain: UniformChain) -> Array:
    """Return a basis, one in a row, of the wrenches at link 1 that have no component along the axis
    of any joint further in.
    """
    n, period = len(chain.axis), len(chain.shifts)
    rows, product = [], np.eye(n)
    for k in range(n * period):
        rows.append(chain.axis @ product)
        product = chain.shifts[k % period] @ product
    _, values, basis = np.linalg.svd(np.array(rows))
    return np.asarray(basis[values < 1e-9])


def steady_solution(chain: UniformChain) -> tuple[Array, int]:
    """Return the fixed point of (4.5) at the second link of a period, and the rounds of cyclic
    reduction that give it.

    It comes from another equation, that of Fijany and Featherstone. With W the directions that a
    joint constrains, the pivots S = Wᵀ (P⁻¹ + φᵀ M⁻¹ φ) W of their H_bb repeat where S = D − Uᵀ S⁻¹
    U. D and U are the blocks of one period. Each round of cyclic reduction doubles the number of
    links.
    """
    period, inverse = len(chain.shifts), np.linalg.inv(chain.inertia)
    W = np.linalg.svd(chain.axis[None])[2][1:].T
    m = W.shape[1]
    D, U = np.zeros((2, period * m, period * m))
    for k, shift in enumerate(chain.shifts):
        block = slice(k * m, (k + 1) * m)
        D[block, block] = W.T @ (inverse + shift.T @ inverse @ shift) @ W
        neighbour_block = -W.T @ shift.T @ inverse @ W
        if k + 1 < period:
            following = slice((k + 1) * m, (k + 2) * m)
            D[block, following], D[following, block] = neighbour_block, neighbour_block.T
        else:
            U[block, :m] = neighbour_block
    pivot, middle = D, D
    rounds = 0
    while rounds < ROUNDS:
        outward, inward = np.linalg.solve(middle, U), np.linalg.solve(middle, U.T)
        step = U.T @ outward
        rounds += 1
        pivot, middle, U = pivot - step, middle - step - U @ inward, U @ outward
        if np.abs(step).max() < 1e-16 * np.abs(pivot).max():
            break
    first = chain.shifts[0]
    response = pivot[:m, :m] - W.T @ first.T @ inverse @ first @ W  # Wᵀ P⁻¹ W at the first link
    projected = W @ np.linalg.inv(response) @ W.T
    return first @ projected @ first.T + chain.inertia, rounds


def compiled_pivot(case: Case, links: int) -> float:
    """Return D(links) = det M(links)/det M(links − 1), from compiled logarithms of determinants."""
    logarithms = []
    for n in (links, links - 1):
        robot = mechanism(case, n)
        function = "mass_matrix_log_determinant"
        program = build.build_form(robot, function, "riccati", ProgramOptions(form=LOOPED))
        solver = Solver.from_programs(robot.name, {function: program}, robot.sizes)
        logarithms.append(float(solver.mass_matrix_log_determinant(angles_from_base(case, n))))
    return float(np.exp(logarithms[0] - logarithms[1]))


@dataclass(frozen=True)
class Measurement:
    """Convergence of one case: relative errors by link against the steady solution, empty without
    one; the largest entry by link.
    """

    case: Case
    unobservable: int
    errors: list[float]
    largest: list[float]
    pivot: float
    pivot_difference: float
    gain_change: float
    axial: float
    predicted: float | None = None
    measured: float | None = None
    converged_at: int | None = None
    rounds: int | None = None
    difference: float | None = None
    growth: float | None = None


def measure(case: Case, links: int) -> Measurement:
    """Return the measurement of one case on a chain of `links` links."""
    chain = uniform_chain(case)
    P = iterate(chain, links)
    h, unobservable = chain.axis, len(unobservable_wrenches(chain))
    largest = [float(np.abs(x).max()) for x in P]
    before, gain = (x @ h / (h @ x @ h) for x in P[-1 - case.period :: case.period])  # (5.12)
    checked = P[CHECKED_LINKS - 1]
    axial = float(P[-1][1, 1] if case.planar else P[-1][AXIAL_FORCE, AXIAL_FORCE])
    common: dict[str, Any] = {
        "case": case,
        "unobservable": unobservable,
        "largest": largest,
        "pivot": float(h @ P[-1] @ h),
        "pivot_difference": abs(compiled_pivot(case, CHECKED_LINKS) / float(h @ checked @ h) - 1),
        "gain_change": float(np.abs(gain - before).max() / np.abs(gain).max()),
        "axial": axial,
    }
    if unobservable:
        half = links // 2
        growth = float(np.log2(largest[2 * half - 1] / largest[half - 1]))
        return Measurement(errors=[], growth=growth, **common)
    steady, rounds = steady_solution(chain)
    limits = [steady]
    for k in range(1, case.period):
        limits.append(riccati(chain, limits[-1], k))
    scale = float(np.abs(steady).max())
    # limits[0] belongs to link 2, the second of a period
    errors = [
        float(np.abs(x - limits[(k - 1) % case.period]).max()) / scale for k, x in enumerate(P)
    ]
    radius = float(np.abs(np.linalg.eigvals(closed_loop(chain, steady, 1))).max())
    fitted = [(k, x) for k, x in enumerate(errors) if FIT_TO < x < FIT_FROM]
    rate = slope([float(k) for k, _ in fitted], [float(np.log(x)) for _, x in fitted])[1]
    return Measurement(
        errors=errors,
        predicted=radius ** (2 / case.period),
        measured=float(np.exp(rate)),
        converged_at=next((k + 1 for k, x in enumerate(errors) if x < CLOSE), None),
        rounds=rounds,
        difference=min(errors[-case.period :]),
        **common,
    )


def reproduce(tell: Progress, cases: Sequence[Case] = CASES, links: int = LINKS) -> Page:
    """Return the page: convergence of P(k) to the steady solution for each case, or its growth."""
    measured = []
    for done, case in enumerate(cases):
        tell(case.name, done, len(cases))
        measured.append(measure(case, links))
    steady = [m for m in measured if not m.unobservable]
    growing = [m for m in measured if m.unobservable]
    rates = "; ".join(f"{m.case.name}: {m.measured:.4f} and {m.predicted:.4f}" for m in steady)
    rounds = [m.rounds for m in steady if m.rounds is not None]
    growths = "; ".join(
        f"{m.case.name}: dimension {m.unobservable}, as k^{m.growth:.2f}" for m in growing
    )
    axial = "; ".join(
        f"{m.axial * np.radians(m.case.angles[0]):.3f} m/θ at {m.case.angles[0]}°"
        for m in steady
        if m.case.planar and m.case.angles[0] <= 5
    )
    return Page(
        source=(
            "G. Rodriguez, K. Kreutz, Recursive mass matrix factorization and inversion, JPL "
            "1988, (4.4)-(4.7)"
        ),
        says=(
            "P(k), D(k) and the gains L(k) of the factorization come from the Riccati equation"
            " (4.5) of a discrete Kalman filter, whose theory is that of Anderson and Moore. The"
            " paper does not discuss long chains. A filter for a process that does not change from"
            " step to step, here a chain of like links with the same joint angles, has a steady"
            " solution."
        ),
        measured=(
            "P(k) converges to the steady solution if the joints observe every wrench. The error"
            " falls in each link by the square of the spectral radius of ψ (measured and"
            f" predicted: {rates}). The steady solution is computed from another equation: the"
            " pivots of Fijany and Featherstone's H_bb, by cyclic reduction, which takes"
            f" {min(rounds)} to {max(rounds)} rounds. It differs from P({links}) by at most"
            f" {max(m.difference for m in steady if m.difference is not None):.0e}."
            f" D({CHECKED_LINKS}) equals the ratio of two compiled determinants of M within"
            f" {max(m.pivot_difference for m in measured):.0e}. Otherwise P(k) grows without limit"
            f" in the wrenches that no joint observes ({growths}). D(k) and the gains converge in"
            " all cases: their last change over a period is at most"
            f" {max(m.gain_change for m in measured):.0e}."
        ),
        differs=(
            "The theory promises convergence for a detectable process. Every eigenvalue of φ in"
            " link axes has modulus 1, so that each wrench must have a component along the axis of"
            " some joint further in. Along a straight chain no joint carries the axial force: its"
            " entry is the mass of all links further out. Axes that are parallel in space leave"
            " three wrenches unobserved, or four if the chain is straight; its bending inertia"
            " grows with the cube of k. A chain in space that repeats after one link is a helix"
            " and never converges: force and moment along its screw axis are the same at every"
            " link, and the joints observe only one combination of both. Alternating axes with"
            " equal angles form a ring: a force along its axis has no moment about any joint. P(k)"
            " grows only in unobserved wrenches, which do not enter D(k) = H P Hᵀ or P Hᵀ. The"
            " measured rate at 90° differs from the predicted one because the dominant eigenvalues"
            " of ψ are complex and the error oscillates. In a nearly straight planar chain with"
            " the angle θ at each joint, the axial entry of the steady solution approaches m/θ,"
            f" the mass of 1/θ links ({axial or 'not measured'})."
        ),
        columns=(
            "links_in_a_period",
            "case",
            "unobservable",
            "rate_measured",
            "rate_predicted",
            "converged_at",
            "difference",
            "rounds",
            "growth",
            "axial",
            "pivot",
            "pivot_difference",
            "gain_change",
        ),
        rows=tuple(
            (
                m.case.period,
                m.case.name,
                m.unobservable,
                m.measured,
                m.predicted,
                m.converged_at,
                m.difference,
                m.rounds,
                m.growth,
                m.axial,
                m.pivot,
                m.pivot_difference,
                m.gain_change,
            )
            for m in measured
        ),
        notes={
            "links_in_a_period": "links after which the chain repeats",
            "case": "joint axes and joint angle; each link is a rod of mass 1 and length 1",
            "unobservable": (
                "dimension of the wrenches that no joint observes; P(k) converges if it is 0"
            ),
            "rate_measured": (
                "factor of the error of P(k) in each link, fitted between relative "
                f"errors of {FIT_FROM:g} and {FIT_TO:g}"
            ),
            "rate_predicted": "spectral radius of ψ over one period, squared, for each link",
            "converged_at": f"first k with a relative error below {CLOSE:g}",
            "difference": (
                f"relative difference of P({links}) from the steady solution of the other equation"
            ),
            "rounds": "rounds of cyclic reduction to that solution",
            "growth": "exponent of k of the largest entry of P(k), over the last doubling of k",
            "axial": f"entry of P({links}) for the force along the link",
            "pivot": f"D({links})",
            "pivot_difference": (
                f"relative difference of D({CHECKED_LINKS}) from the ratio of the "
                "compiled determinants of M with and without the last link"
            ),
            "gain_change": (
                f"largest change of P Hᵀ D⁻¹ over the last period of {links} links, relative"
            ),
        },
        draw=lambda figure: _draw(figure, steady, growing),
        height=11.0,
        machine={"NumPy": np.__version__, "symgen": __version__},
    )


def _draw(figure: Any, steady: Sequence[Measurement], growing: Sequence[Measurement]) -> None:
    """Draw the errors of the cases that converge, and below them the largest entry of P(k) for the
    others.
    """
    error, growth = figure.subplots(2, 1)
    colours = ("#1f5a94", "#6fa0cc", "#3c8c50", "#8a8a8a", "#c8641e", "#7a5195")
    bent = [m.converged_at for m in steady if m.case.angles[0] >= 5]
    end = 1.15 * max(filter(None, bent), default=100)
    for m, colour in zip(steady, colours, strict=False):
        shown = [(k + 1, x) for k, x in enumerate(m.errors) if k < end and x > 1e-14]
        error.semilogy(
            [k for k, _ in shown], [x for _, x in shown], color=colour, label=m.case.name
        )
        start = next((i for i, (_, x) in enumerate(shown) if x < 0.1 * FIT_FROM), None)
        if start is not None and m.predicted is not None:
            k0, x0 = shown[start]
            slow = [k for k, _ in shown if k >= k0]
            error.semilogy(
                slow,
                [3 * x0 * m.predicted ** (k - k0) for k in slow],
                "--",
                color=colour,
                linewidth=1,
            )
    error.set_ylim(1e-14, 10)
    error.set_title("P(k) converges; dashed: slope of ρ(ψ)²", loc="left")
    error.set_ylabel("error of P(k) (relative)")
    styles = ("-", "--", "-", "-", "--", "-")
    for m, colour, style in zip(growing, colours, styles, strict=False):
        growth.loglog(
            range(1, len(m.largest) + 1), m.largest, style, color=colour, label=m.case.name
        )
    growth.set_title("P(k) grows", loc="left")
    growth.set_ylabel("largest entry of P(k)")
    for chart in (error, growth):
        chart.set_xlabel("links k from the tip")
        chart.legend(
            frameon=False, fontsize=12, loc="upper left", bbox_to_anchor=(-0.02, -0.16), ncols=2
        )

"""Determinant of the mass matrix of spatial chains by Wang and Chirikjian's extension of Fixman's
theorem, and Fixman's torque.

det M = det G · det H_22: det G belongs to the bodies without joints, and H_22 is block tridiagonal.
WC is their paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from symgen.ir.program import Numbers, Program, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._chains import dh_chain, rod_chain
from symgen.pages.reproduce._page import Page, doubling_ticks, legend_below, slope
from symgen.papers.chain import chain, random_state
from symgen.papers.comparison import matrix_determinant
from symgen.papers.wc import Operators
from symgen.pipeline.derive import derive
from symgen.reference.mechanics import ORACLES, Reference
from symgen.reference.precision import Array, arb
from symgen.support.version import __version__
from symgen.vocabulary.options import ProgramOptions

TITLE = "det M of spatial chains by Fixman's theorem for rigid bodies, and Fixman's torque"
LINKS = (2, 4, 8, 16, 32)
VALUE, GRADIENT = "mass_matrix_log_determinant", "mass_matrix_log_determinant_gradient"
PARTITION, PIVOTS, RECURSION = "constraint_force", "composite_body", "riccati"
METHODS = (PARTITION, PIVOTS, RECURSION)
MEASURED_TO = 16
"""Links up to which errors are measured and M is formed and eliminated; the search for a short
elimination takes a minute beyond.
"""
EXACT_STATES, STATES, TRUE_STATES = 5, 20, 20
"""Rational states of the exact comparison, and random states of the errors."""
DIGITS = 60
STEP = 1e-4
"""Step (rad) of the central differences."""
FITTED_FROM = 8
GRID = 121
"""Points along each axis of the picture."""
ROBOT = (0, 90, 90)
"""Twists (degrees) of the three rods in the picture."""
BUDGET = 10_000_000
FLOATS = Numbers(float, np.sin, np.cos, np.sqrt, np.log, np.arctan2)


@cache
def program(mechanism: Mechanism, function: str, method: str) -> Program:
    """Return the Program of a function by a method."""
    return derive(mechanism, function, method, ProgramOptions(), BUDGET)


def results(program: Program, q: Array) -> Array:
    """Return the result of a Program in float arithmetic at states q (states, n): (states,
    elements).
    """
    (elements,) = evaluate(program, {"q": list(q.T)}, FLOATS).values()
    return np.stack([np.broadcast_to(x, len(q)) for x in elements], axis=-1)


def exact_states(mechanism: Mechanism, states: int) -> int:
    """Return at how many of the random rational states det M = det G · det H_22 holds as an
    equation of fractions.
    """
    equal_count = 0
    for seed in range(states):
        operators = Operators(chain(mechanism, random_state(mechanism, seed)))
        det_M = matrix_determinant(operators.mass_matrix)
        equal_count += det_M == operators.det_G.entries[0, 0] * matrix_determinant(operators.H_22)
    return equal_count


def differences(value: Program, q: Array, step: float = STEP) -> Array:
    """Return central differences of ln det M, of fourth order, (states, n)."""
    columns = []
    for unit in np.eye(q.shape[1]):
        nearer, farther = (
            results(value, q + k * step * unit)[:, 0] - results(value, q - k * step * unit)[:, 0]
            for k in (1, 2)
        )
        columns.append((8 * nearer - farther) / (12 * step))
    return np.stack(columns, axis=-1)


def reference_values(mechanism: Mechanism, q: Array) -> tuple[Array, Array]:
    """Return ln det M (states) and its gradient (states, n), evaluated with DIGITS digits."""
    scalars = arb(DIGITS)
    reference = Reference(mechanism, scalars)
    angles = scalars.array(q)
    value, gradient = (
        np.array(next(iter(ORACLES[function](reference, q=angles).values())), dtype=float)
        for function in (VALUE, GRADIENT)
    )
    return value, gradient


def reproduce(tell: Progress, links: Sequence[int] = LINKS) -> Page:
    """Return the page: operations and errors of det M by 3 methods, and errors of its gradient."""
    rows: list[tuple[Any, ...]] = []
    random = np.random.default_rng(1974)
    for done, n in enumerate(links):
        tell(f"{n} links", done, len(links))
        rows.append(_row(n, random))
    tell("picture", len(links), len(links))
    orders = {
        method: _order(rows, column) for method, column in zip(METHODS, (2, 3, 4), strict=True)
    }
    last = rows[-1]
    densities = density(GRID)[1]
    measured = [row for row in rows if row[6] is not None]
    exact = [row for row in rows if row[1] is not None]
    return Page(
        source=(
            "Y. Wang, G. S. Chirikjian, A new O(n) method for inverting the mass matrix for "
            "serial chains composed of rigid bodies, Fixman's theorem and (18)-(19)"
        ),
        says=(
            "(det G)(det H_bb) = det G_aa for point masses; with (19), the inverse mass matrix of "
            "unconstrained rigid bodies, everything then follows using the extension of Fixman's "
            "theorem, with the same O(n) performance. The paper has no figures."
        ),
        measured=(
            "The equation holds for spatial chains of rigid bodies as an equation of fractions at"
            f" {sum(row[1] for row in exact)} of {EXACT_STATES * len(exact)} random rational states"
            f" ({', '.join(str(row[0]) for row in exact)} links). ln det M by the partition"
            f" ({PARTITION}) takes operations that grow as n^{orders[PARTITION]:.2f}, forming and"
            f" eliminating M ({PIVOTS}) n^{orders[PIVOTS]:.2f}, and the Riccati recursion"
            f" ({RECURSION}) n^{orders[RECURSION]:.2f}, from n = {FITTED_FROM} on. At n ="
            f" {last[0]}, the partition takes {last[2] / last[4]:.1f} times the operations of the"
            " recursion. The relative error of det M in double precision is at most"
            f" {max(row[6] for row in measured):.1e} by the partition,"
            f" {max(row[7] for row in measured):.1e} by the pivots of M and"
            f" {max(row[8] for row in measured):.1e} by the recursion. The function for the"
            " gradient of ln det M, and so for Fixman's torque −(kT/2) ∂ ln det M/∂q, differs by"
            f" at most {max(row[9] for row in measured):.1e} from {DIGITS} digits and by"
            f" {max(row[10] for row in measured):.1e} from differences of ln det M."
        ),
        differs=(
            "The paper derives the inverse of M and leaves the determinant to the reader. Its"
            " coordinates of a body are any six parameters; here the rows of the joints are"
            " orthonormal, so that det G is the product of the masses cubed and the central"
            " moments of the bodies, a constant. The partition inverts blocks of five rows for"
            " each joint, the recursion divides by one pivot; both are of O(n). The picture shows"
            " three like rods whose axes are twisted by 90°: with rigid links and thermal"
            " velocities, poses have the density √det M, which does not depend on q_1 and varies"
            f" between {densities.min():.2f} and {densities.max():.2f} of its mean. Fixman's torque"
            " (arrows) points to lower det M, and with it all angles are equally likely, as the"
            " planar [polymer](fixman-potential.md) shows by its motion."
        ),
        columns=(
            "links",
            "exact_states",
            "partition_operations",
            "pivots_operations",
            "recursion_operations",
            "gradient_operations",
            "partition_error",
            "pivots_error",
            "recursion_error",
            "gradient_error",
            "difference_error",
        ),
        rows=tuple(rows),
        notes={
            "links": "n, a DH chain with general twists and full inertias",
            "exact_states": (
                f"rational states, of {EXACT_STATES}, at which det M = det G · det H_22 "
                f"exactly, up to n = {MEASURED_TO}"
            ),
            "partition_operations": (
                f"mul + add + div of ln det M by {PARTITION}, without logarithms"
            ),
            "pivots_operations": (
                f"of the same by {PIVOTS}: M formed and eliminated, up to n = {MEASURED_TO}"
            ),
            "recursion_operations": f"of the same by {RECURSION}",
            "gradient_operations": f"of its gradient by {RECURSION}",
            "partition_error": (
                f"largest relative error of det M by {PARTITION} at {STATES} states, "
                f"up to n = {MEASURED_TO}"
            ),
            "pivots_error": f"of the same by {PIVOTS}",
            "recursion_error": f"of the same by {RECURSION}",
            "gradient_error": "largest error of the gradient over its largest entry",
            "difference_error": (
                "largest difference of the gradient from central differences of "
                f"fourth order, step {STEP:g} rad, over its largest entry"
            ),
        },
        draw=lambda figure: _draw(figure, rows),
        height=11.0,
        machine={"NumPy": f"{np.__version__}, default_rng(1974)", "symgen": __version__},
    )


def _row(n: int, random: np.random.Generator) -> tuple[Any, ...]:
    """Return the row of the table for n links."""
    mechanism = dh_chain(n, "general")
    q = random.uniform(-np.pi, np.pi, (STATES, n))
    values = {
        method: program(mechanism, VALUE, method)
        for method in METHODS
        if method != PIVOTS or n <= MEASURED_TO
    }
    gradient = program(mechanism, GRADIENT, RECURSION)
    operations = [values[method].cost if method in values else None for method in METHODS]
    if n > MEASURED_TO:
        return (n, None, *operations, gradient.cost, *(None,) * 5)
    true_value, true_gradient = reference_values(mechanism, q)
    scale = float(np.abs(true_gradient).max())
    errors = [
        float(np.abs(np.expm1(results(values[method], q)[:, 0] - true_value)).max())
        for method in METHODS
    ]
    gradients = results(gradient, q)
    return (
        n,
        exact_states(mechanism, EXACT_STATES),
        *operations,
        gradient.cost,
        *errors,
        float(np.abs(gradients - true_gradient).max()) / scale,
        float(np.abs(gradients - differences(values[RECURSION], q)).max()) / scale,
    )


def _order(rows: Sequence[Sequence[Any]], column: int) -> float:
    """Return the exponent of n in a column, from FITTED_FROM links on."""
    counted = [row for row in rows if row[column] is not None]
    fitted = [row for row in counted if row[0] >= FITTED_FROM]
    if len(fitted) < 2:
        fitted = counted
    return slope(
        [float(np.log(row[0])) for row in fitted], [float(np.log(row[column])) for row in fitted]
    )[1]


def density(points: int) -> tuple[Array, Array]:
    """Return angles (rad) and √det M over its mean, (q_3, q_2), of the rods in the picture."""
    angles = np.linspace(-np.pi, np.pi, points)
    second, third = np.meshgrid(angles, angles)
    q = np.stack([np.zeros(second.size), second.ravel(), third.ravel()], axis=-1)
    logarithm = results(program(rod_chain(ROBOT), VALUE, RECURSION), q)[:, 0]
    root = np.exp(logarithm / 2).reshape(points, points)
    return angles, root / root[:-1, :-1].mean()  # −π and π are the same angle


def torque(q: Array) -> Array:
    """Return Fixman's torque −½ ∂ ln det M/∂q (states, 3), in units of kT, on the rods in the
    picture.
    """
    return -0.5 * results(program(rod_chain(ROBOT), GRADIENT, RECURSION), q)


def _draw(figure: Any, rows: Sequence[Sequence[Any]]) -> None:
    """Draw the density of poses with the torque, and below them the operations over the number of
    links.
    """
    poses, counts = figure.subplots(2, 1, height_ratios=(1.5, 1))
    angles, densities = density(GRID)
    degrees = np.degrees(angles)
    mesh = poses.pcolormesh(degrees, degrees, densities, cmap="viridis", shading="nearest")
    mesh.set_rasterized(True)
    figure.colorbar(mesh, ax=poses, label="density √det M (mean = 1)")
    nodes = np.linspace(-np.pi, np.pi, 17)[1:-1:2]
    second, third = (x.ravel() for x in np.meshgrid(nodes, nodes))
    forces = torque(np.stack([0 * second, second, third], axis=-1))
    poses.quiver(
        np.degrees(second),
        np.degrees(third),
        forces[:, 1],
        forces[:, 2],
        color="white",
        width=0.005,
    )
    poses.set_aspect("equal")
    poses.set_xticks(range(-180, 181, 90))
    poses.set_yticks(range(-180, 181, 90))
    poses.set_xlabel("joint angle q₂ (degrees)")
    poses.set_ylabel("joint angle q₃ (degrees)")
    poses.set_title("three rods; arrows: Fixman's torque", loc="left")
    for column, label, style, colour in (
        (3, f"M formed and eliminated ({PIVOTS})", "s-", "#c8641e"),
        (2, f"Fixman's partition ({PARTITION})", "o-", "#1f5a94"),
        (4, f"pivots of the recursion ({RECURSION})", "^-", "#3c8c50"),
        (5, f"gradient ({RECURSION})", "v--", "#7a5195"),
    ):
        points = [(row[0], row[column]) for row in rows if row[column] is not None]
        counts.loglog(
            [n for n, _ in points], [x for _, x in points], style, color=colour, label=label
        )
    doubling_ticks(counts.xaxis, [row[0] for row in rows])
    counts.set_title("operations of ln det M", loc="left")
    counts.set_xlabel("links n")
    counts.set_ylabel("operations (count)")
    legend_below(figure, counts)

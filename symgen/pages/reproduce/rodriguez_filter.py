"""RK's filter view (4.1)-(4.15): drive a robot's links with white noise of covariance M(k), and
observe the outputs.

The outputs y have the covariance M (4.2). The Kalman filter (4.15) converts them to innovations ε,
white with covariance D (4.12). Links are numbered base → tip here: RK's k is n + 1 − i, and "from
the tip" is backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.reproduce import Progress
from symgen.pages.reproduce._page import Page, slope
from symgen.reference.arrays import skew
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.support.version import __version__

TITLE = "The mass matrix as the covariance of the innovations model"
ROBOT = "panda"
SAMPLES = (100, 1_000, 10_000, 100_000, 1_000_000)
BATCHES = 20
"""Independent repetitions, of which the mean error is shown (the largest sample is drawn fewer
times).
"""
LARGEST = 4_000_000
STATE = (0.3, -0.7, 0.5, -1.9, 0.4, 1.6, -0.2)


@dataclass(frozen=True)
class Chain:
    """A serial chain at one state, in the base's axes: φ(i−1, i), H(i), M(i) with its Cholesky
    factor, M.
    """

    steps: list[Array]
    axes: list[Array]
    roots: list[Array]
    mass: Array
    gains: list[Array]
    pivots: Array

    def __len__(self) -> int:
        return len(self.steps)


def chain(mechanism: Mechanism, q: Sequence[float]) -> Chain:
    """Return φ, H and M(k) from the reference's placements, and the gains of the filter by
    (4.4)-(4.7).
    """
    reference, at = Reference(mechanism, FLOAT), np.array([q], dtype=float)
    placed = reference.placements(at)
    turns, origins = (
        [p.turn[0].reshape(3, 3) for p in placed],
        [p.shift[0].reshape(3) for p in placed],
    )
    inertias = [np.zeros((6, 6)) for _ in placed]
    for part in reference.parts():
        R = turns[part.body]
        h = R @ part.centre
        shift_to_centre = np.block([[np.eye(3), skew(h)], [np.zeros((3, 3)), np.eye(3)]])
        centred = np.block(
            [[R @ part.inertia @ R.T, np.zeros((3, 3))], [np.zeros((3, 3)), part.mass * np.eye(3)]]
        )
        inertias[part.body] += shift_to_centre @ centred @ shift_to_centre.T
    steps, axes = [], []
    for i, joint in enumerate(mechanism.joints):
        offset = origins[i] - (origins[joint.parent] if joint.parent >= 0 else np.zeros(3))
        steps.append(
            np.block([[np.eye(3), skew(offset)], [np.zeros((3, 3)), np.eye(3)]])
        )  # (2.15), from O_i to O_{i−1}
        axes.append(
            np.array([*(turns[i] @ np.array([float(x) for x in joint.axis])), 0.0, 0.0, 0.0])
        )
    P, gains, pivots = np.zeros((6, 6)), [np.zeros(6)] * len(steps), np.zeros(len(steps))
    for i in reversed(range(len(steps))):
        P = P + inertias[i]
        pivots[i] = axes[i] @ P @ axes[i]  # (4.6)
        gain = P @ axes[i] / pivots[i]  # (5.12)
        gains[i] = steps[i] @ gain
        P = steps[i] @ (P - np.outer(gain, axes[i] @ P)) @ steps[i].T  # (4.5)
    return Chain(
        steps,
        axes,
        [np.linalg.cholesky(m) for m in inertias],
        reference.mass_matrix(at)[0],
        gains,
        pivots,
    )


def outputs(filter_chain: Chain, samples: int, random: np.random.Generator) -> Array:
    """Return y (samples, n): z(k) = φ z(k−1) + w(k), y(k) = H(k) z(k) (4.3), E(w wᵀ) = M(k), tip →
    base.
    """
    z, y = np.zeros((samples, 6)), np.empty((samples, len(filter_chain)))
    for i in reversed(range(len(filter_chain))):
        z = z + random.standard_normal((samples, 6)) @ filter_chain.roots[i].T  # (4.3)
        y[:, i] = z @ filter_chain.axes[i]
        z = z @ filter_chain.steps[i].T
    return y


def innovations(filter_chain: Chain, y: Array) -> Array:
    """Return ε (samples, n): ε(k) = y(k) − H(k) ẑ(k), with ẑ propagated by ψ and L (4.15), tip →
    base.
    """
    guess, epsilon = np.zeros((len(y), 6)), np.empty_like(y)
    for i in reversed(range(len(filter_chain))):
        epsilon[:, i] = y[:, i] - guess @ filter_chain.axes[i]  # (4.15)
        guess = guess @ filter_chain.steps[i].T + np.outer(epsilon[:, i], filter_chain.gains[i])
    return epsilon


def covariance_error(x: Array, covariance: Array) -> float:
    """Return the mean distance of a sample covariance over the entries, in √(C_ii C_jj + C_ij²):
    0.8/√samples is expected.
    """
    sample = x.T @ x / len(x)
    spread = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2)
    return float(np.abs((sample - covariance) / spread).mean())


def correlated(x: Array) -> float:
    """Return the largest correlation between two columns."""
    return float(np.abs(np.corrcoef(x.T) - np.eye(x.shape[1])).max())


def reproduce(tell: Progress, samples: Sequence[int] = SAMPLES) -> Page:
    """Return the page: errors of the sample covariances against the number of samples, and
    correlations before and after the filter.
    """
    mechanism = load(ROBOT)
    filter_chain, random = chain(mechanism, STATE), np.random.default_rng(1988)
    rows: list[tuple[Any, ...]] = []
    y = epsilon = np.zeros((1, len(filter_chain)))
    for done, count in enumerate(samples):
        tell(f"{count} samples", done, len(samples))
        errors, whitened, corrs = [], [], []
        for _ in range(max(1, min(BATCHES, LARGEST // count))):
            y = outputs(filter_chain, count, random)
            epsilon = innovations(filter_chain, y)
            errors.append(covariance_error(y, filter_chain.mass))
            whitened.append(covariance_error(epsilon, np.diag(filter_chain.pivots)))
            corrs.append(correlated(epsilon))
        rows.append(
            (
                count,
                float(np.mean(errors)),
                float(np.mean(whitened)),
                correlated(y),
                float(np.mean(corrs)),
            )
        )
    return _page(rows, y, epsilon)


def _page(rows: Sequence[tuple[Any, ...]], y: Array, epsilon: Array) -> Page:
    """Return the page with this table, and with the outputs and innovations of the picture."""
    rate = slope([float(np.log(r[0])) for r in rows], [float(np.log(r[1])) for r in rows])[1]
    _, of_m, of_d, before, after = rows[-1]
    return Page(
        source=(
            "G. Rodriguez, K. Kreutz, Recursive mass matrix factorization and inversion, JPL "
            "1988, (4.1)-(4.15)"
        ),
        says=(
            "M = HφMφᵀHᵀ is the covariance of the output of a causal linear system driven by white"
            " noise of covariance M(k), (4.2)-(4.3); the Kalman filter of that model turns it into"
            " innovations that are white, with covariance D, (4.12), (4.15)."
        ),
        measured=(
            f"Over the links of {ROBOT}, the sample covariance of y approaches M as"
            f" samples^{rate:.2f} (error {of_m:.1e} at {rows[-1][0]} samples), that of ε diag(D)"
            f" (error {of_d:.1e}). The largest correlation between two components is {before:.3f}"
            f" for y and {after:.1e} for ε."
        ),
        differs=(
            "Nothing differs; the paper proves this and shows no figures. M is the "
            "reference's, from body Jacobians at "
            "one state; the filter's gains are those of (4.4)-(4.7) run to the base link (the "
            "printed loop stops one "
            "link early)."
        ),
        columns=(
            "samples",
            "error_M",
            "error_D",
            "largest_correlation_y",
            "largest_correlation_epsilon",
        ),
        rows=tuple(rows),
        notes={
            "samples": "draws of the noise",
            "error_M": (
                "mean over entries of |sample covariance of y − M| in units of √(M_ii M_jj + M_ij²)"
            ),
            "error_D": "likewise of ε against diag(D)",
            "largest_correlation_y": (
                "largest correlation between two components of y, in the last repetition"
            ),
            "largest_correlation_epsilon": "likewise of ε, mean over the repetitions",
        },
        draw=lambda figure: _draw(figure, rows, y, epsilon),
        height=7.6,
        machine={"NumPy": f"{np.__version__}, default_rng(1988)", "symgen": __version__},
    )


def _draw(figure: Any, rows: Sequence[Sequence[Any]], y: Array, epsilon: Array) -> None:
    grid = figure.add_gridspec(2, 2, height_ratios=(1, 1))
    before, after, rate = (
        figure.add_subplot(grid[0, 0]),
        figure.add_subplot(grid[0, 1]),
        figure.add_subplot(grid[1, :]),
    )
    counts = [row[0] for row in rows]
    rate.loglog(counts, [row[1] for row in rows], "o-", color="#1f5a94", label="y against M")
    rate.loglog(counts, [row[2] for row in rows], "s-", color="#c8641e", label="ε against D")
    rate.loglog(
        counts,
        [0.8 / count**0.5 for count in counts],
        "--",
        color="#8a8a8a",
        label="0.8 / √samples",
    )
    rate.set_xlabel("samples (count)")
    rate.set_ylabel("error of the sample\ncovariance (relative)")
    rate.legend(loc="lower left", frameon=False)
    for chart, x, title in ((before, y, "outputs y"), (after, epsilon, "innovations ε")):
        image = chart.imshow(np.corrcoef(x.T), vmin=-1, vmax=1, cmap="RdBu")
        chart.set_title(title, loc="left")
        chart.set_xlabel("joint (index)")
        chart.set_xticks(range(x.shape[1]))
        chart.set_yticks(range(x.shape[1]))
    before.set_ylabel("joint (index)")
    figure.colorbar(image, ax=[before, after], shrink=0.72, label="correlation (1)")

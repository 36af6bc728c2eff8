"""RK's filter view, (4.1)-(4.15): drive the chain with white noise of covariance M(k) and look at
what comes out.

The outputs Y then have the mass matrix for covariance (4.2), and the Kalman filter's innovations ε
are white with covariance D (4.12). Sample covariances are off by about 1/√samples, which is the
tolerance here.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from symgen.papers.blocks import Matrix
from symgen.papers.chain import Chain
from symgen.papers.rk import Operators
from symgen.reference.precision import Array
from tests.shared.operators import rational_chain

CHAINS = [(2, 0), (4, 1), (7, 2)]
SAMPLES = (4_000, 256_000)
SIGMAS = 6.0
"""An entry of a sample covariance is off by √((C_ii C_jj + C_ij²) / samples) in the mean; six times
that is never seen.
"""

EVERY = pytest.mark.parametrize("chain_key", CHAINS)


def number(x: Array | Matrix) -> Array:
    """A matrix in floats."""
    entries = x.entries if isinstance(x, Matrix) else x
    return np.array([[int(x.p) / int(x.q) for x in row] for row in entries], dtype=float)


class Floats:
    """A rational chain and its operators in floats; lists start with the tip."""

    def __init__(self, chain: Chain) -> None:
        o = Operators(chain)
        tip_first = [chain.links[i] for i in o.order]
        self.N = len(tip_first)
        self.axes = [number(link.axes) for link in tip_first]
        self.inertias = [number(link.inertia) for link in tip_first]
        self.steps = [number(o.steps[i]) for i in o.order]
        self.transitions = [number(o.transitions[i]) for i in o.order]
        self.P = [number(o.riccati[i][0]) for i in o.order]
        self.L = [number(o.riccati[i][3])[:, 0] for i in o.order]
        self.D, self.mass = number(o.D), number(o.mass_matrix)
        self.innovations, self.whitening = number(o.innovations), number(o.whitening)


@cache
def chain(chain_key: tuple[int, int]) -> Floats:
    return Floats(rational_chain(*chain_key))


@cache
def outputs(chain_key: tuple[int, int], samples: int) -> Array:
    """y (samples, N) of the state-space model (4.3), link by link from the tip."""
    o, random = chain(chain_key), np.random.default_rng([samples, *chain_key])
    z, y = np.zeros((samples, 6)), []
    for k in range(o.N):
        w = (
            random.standard_normal((samples, 6)) @ np.linalg.cholesky(o.inertias[k]).T
        )  # E(w wᵀ) = M(k)
        z = (z @ o.steps[k - 1].T if k else z) + w  # (4.3)
        y.append(z @ o.axes[k][0])
    return np.stack(y, axis=-1)


def innovations(o: Floats, y: Array) -> Array:
    """ε (samples, N) of the whitening filter (4.15)."""
    z, epsilons = np.zeros((len(y), 6)), []
    for k in range(o.N):
        if k:
            L = o.L[k - 1]
            z = z @ o.transitions[k - 1].T + y[:, k - 1, None] * L  # (4.15)
        epsilons.append(y[:, k] - z @ o.axes[k][0])
    return np.stack(epsilons, axis=-1)


def from_innovations(o: Floats, epsilon: Array) -> Array:
    """y (samples, N) of the innovations model (4.13)."""
    z, measurements = np.zeros((len(epsilon), 6)), []
    for k in range(o.N):
        if k:
            z = z @ o.steps[k - 1].T + epsilon[:, k - 1, None] * o.L[k - 1]
        measurements.append(z @ o.axes[k][0] + epsilon[:, k])  # (4.13)
    return np.stack(measurements, axis=-1)


def error(x: Array, covariance: Array) -> float:
    """Sample covariance's largest error in units of its own standard deviation times √samples."""
    estimate = x.T @ x / len(x)
    spread = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2)
    return float(np.abs((estimate - covariance) / spread).max())


@EVERY
def test_the_outputs_have_the_mass_matrix_for_covariance(chain_key: tuple[int, int]) -> None:
    """(4.2), at the Monte Carlo rate: the bound shrinks by 8 where 64 times as much is drawn."""
    mass = chain(chain_key).mass
    for samples in SAMPLES:
        assert error(outputs(chain_key, samples), mass) < SIGMAS / np.sqrt(samples)


@EVERY
def test_the_innovations_are_white_with_covariance_d(chain_key: tuple[int, int]) -> None:
    """E(ε εᵀ) = D (4.12): diagonal, so that no innovation says anything about another."""
    o = chain(chain_key)
    D = o.D
    for samples in SAMPLES:
        epsilon = innovations(o, outputs(chain_key, samples))
        assert error(epsilon, D) < SIGMAS / np.sqrt(samples)
        correlation = np.corrcoef(epsilon.T) - np.eye(o.N)
        assert np.abs(correlation).max() < SIGMAS / np.sqrt(samples)
        assert np.abs(epsilon.mean(axis=0) / np.sqrt(np.diag(D))).max() < SIGMAS / np.sqrt(samples)
    # the input of the filter is not white
    assert np.abs(np.corrcoef(outputs(chain_key, SAMPLES[-1]).T) - np.eye(o.N)).max() > 0.05


def test_the_error_falls_with_the_square_root_of_the_samples() -> None:
    """The mean over chains and entries of the error times √samples is the same at both sizes,
    within a factor of 2.
    """
    scaled = [
        np.mean(
            [
                error(outputs(chain_key, samples), chain(chain_key).mass) * np.sqrt(samples)
                for chain_key in CHAINS
            ]
        )
        for samples in SAMPLES
    ]
    assert 0.5 < scaled[0] / scaled[1] < 2.0
    assert 0.3 < scaled[0] < SIGMAS


@EVERY
def test_the_recursions_are_the_operators(chain_key: tuple[int, int]) -> None:
    """(4.15) ε = (1 − HΨL) y and (4.13) y = (1 + HΦL) ε undo each other, up to rounding."""
    o, y = chain(chain_key), outputs(chain_key, SAMPLES[0])
    epsilon = innovations(o, y)
    scale = np.abs(y).max()
    assert np.abs(epsilon - y @ o.whitening.T).max() < 1e-10 * scale
    assert np.abs(from_innovations(o, epsilon) - y).max() < 1e-10 * scale
    assert np.abs(epsilon @ o.innovations.T - y).max() < 1e-10 * scale


@EVERY
def test_the_filters_error_has_covariance_p(chain_key: tuple[int, int]) -> None:
    """ẑ(k) is what the outputs below k say of z(k): the error's covariance is P(k), the
    articulated-body inertia (4.5).
    """
    o, samples = chain(chain_key), SAMPLES[1]
    random = np.random.default_rng([5, *chain_key])
    z, guess, y = np.zeros((samples, 6)), np.zeros((samples, 6)), np.zeros(samples)
    for k in range(o.N):
        if k:
            guess = guess @ o.transitions[k - 1].T + y[:, None] * o.L[k - 1]
            z = z @ o.steps[k - 1].T
        z = z + random.standard_normal((samples, 6)) @ np.linalg.cholesky(o.inertias[k]).T
        y = z @ o.axes[k][0]
        assert error(z - guess, o.P[k]) < SIGMAS / np.sqrt(samples)

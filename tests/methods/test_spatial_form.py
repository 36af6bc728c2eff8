"""RK (2.24)-(2.30), the recursion on twists and wrenches, transcribed from the paper.

The emitted inverse dynamics follow (2.1)-(2.13) and must give the same torques. The test keeps the
paper's numbering: link 1 is the tip, link N the base link. All vectors are in the base frame.
M(k) and b(k) are about O(k) by (2.15) and (2.23). a(k) is by (2.19), and for a prismatic joint by
the corrected (2.32).
"""

from __future__ import annotations

import numpy as np
import pytest

from symgen.pipeline import build
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from tests.shared.robots_for_tests import random_mechanism, robot, run


def tilde(v: np.ndarray) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def phi(reach: np.ndarray) -> np.ndarray:
    """Return φ(k+1, k) for ℓ(k+1, k) = `reach`, (2.16)."""
    out = np.eye(6)
    out[:3, 3:] = tilde(reach)
    return out


def recursion(mechanism, q, v, a):  # type: ignore[no-untyped-def]
    """Return the torques T(1…N) of a serial chain by (2.24)-(2.30), with gravity by (3.21)."""
    reference = Reference(mechanism, FLOAT)
    placements = reference.placements(q)
    n = len(mechanism.joints)
    origin = [
        np.zeros(3) if k == n else placements[n - 1 - k].shift[0] for k in range(n + 1)
    ]  # O(k) at index k - 1
    turn = [placements[n - 1 - k].turn[0] for k in range(n)]
    joints = mechanism.joints[::-1]
    qd, qdd = v[::-1], a[::-1]
    V, alpha = (
        np.zeros(6),
        np.concatenate([np.zeros(3), -np.array([float(g) for g in mechanism.gravity])]),
    )
    motions = [None] * n
    for k in reversed(range(n)):  # k = N, …, 1
        axis = np.array([float(x) for x in joints[k].axis])
        h = turn[k] @ (axis / np.linalg.norm(axis))
        sliding = joints[k].kind == "prismatic"
        H = np.concatenate([0 * h, h] if sliding else [h, 0 * h])  # (2.16), (2.31)
        reach, omega = origin[k] - origin[k + 1], V[:3]
        shift = phi(reach).T
        bias = np.concatenate(
            [
                np.cross(omega, 0 * h if sliding else h * qd[k]),
                np.cross(omega, np.cross(omega, reach)),
            ]
        )
        if sliding:
            bias[3:] += np.cross(omega, 2 * h * qd[k])  # (2.32) corrected
        V = shift @ V + H * qd[k]  # (2.25)
        alpha = shift @ alpha + H * qdd[k] + bias  # (2.26)
        motions[k] = (H, V, alpha)
    f, torques = np.zeros(6), []
    for k in range(n):  # k = 1, …, N
        H, V, alpha = motions[k]
        m, first, inertia = 0.0, np.zeros(3), np.zeros((3, 3))
        for part in (p for p in reference.parts() if p.body == n - 1 - k):
            p = turn[k] @ part.centre
            m, first = m + part.mass, first + part.mass * p
            inertia += turn[k] @ part.inertia @ turn[k].T - part.mass * tilde(p) @ tilde(p)
        M = np.block([[inertia, tilde(first)], [-tilde(first), m * np.eye(3)]])  # (2.15)
        b = np.concatenate(
            [np.cross(V[:3], inertia @ V[:3]), np.cross(V[:3], np.cross(V[:3], first))]
        )  # (2.23)
        from_outer_link = phi(origin[k - 1] - origin[k]) @ f if k else f
        f = from_outer_link + M @ alpha + b  # (2.29)
        torques.append(H @ f)  # (2.30)
    return np.array(torques[::-1])


@pytest.mark.parametrize("name", ["panda", "scara", "chain"])
def test_twists_and_wrenches_give_the_same_torques(name: str) -> None:
    mechanism = (
        random_mechanism(6, 3, joints=("revolute", "prismatic")) if name == "chain" else robot(name)
    )
    rng = np.random.default_rng(5)
    q, v, a = rng.uniform(-1, 1, (3, mechanism.nv))
    expected = recursion(mechanism, q, v, a)
    actual = Reference(mechanism, FLOAT).inverse_dynamics(q, v, a)
    assert expected == pytest.approx(actual, rel=1e-12, abs=1e-12 * np.abs(actual).max())
    program = build.program(mechanism, "inverse_dynamics")
    emitted = run(program, {"q": q[None], "v": v[None], "a": a[None]})["tau"][0]
    assert emitted == pytest.approx(expected, rel=1e-12, abs=1e-12 * np.abs(expected).max())

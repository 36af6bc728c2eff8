"""The recipe of the book for a base that moves, on Solo-12, against Pinocchio's free-flyer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.verification.evaluating import in_machine_reals
from tests.descriptions import public_urdf
from tests.doc_samples import samples

CHAPTER = Path(__file__).parents[1] / "docs" / "free-base.md"


@pytest.fixture(scope="module")
def book() -> dict[str, Any]:
    """The functions that the chapter defines, as they stand there."""
    names: dict[str, Any] = {"np": np}
    for sample in samples(CHAPTER.read_text(encoding="utf-8")):
        if sample.language == "python" and "def " in sample.text:
            exec(sample.text.partition("\n\n\n")[0], names)
    return names


def rate_of_twist(book: dict[str, Any], q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Ṡ v by central differences along v: exact to 1e-9 for entries of size one."""
    step = 1e-5
    return (book["twist_of"](q + step * v) - book["twist_of"](q - step * v)) @ v[:6] / (2 * step)


def test_the_recipe_is_a_free_flyer(book: dict[str, Any], tmp_path: Path) -> None:
    """tau = Sᵀ f at v_free = S v and a_free = S a + Ṡ v, and M = Sᵀ M_free S, at states inside the recipe's limits."""
    pin = pytest.importorskip("pinocchio")
    path = public_urdf("solo12.urdf")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    free = tmp_path / "solo12_free.urdf"
    free.write_text(book["with_free_base"](path.read_text(encoding="utf-8"), "base_link"), encoding="utf-8")
    ours = symgen.load(free, strict=True)
    inverse_dynamics = in_machine_reals(symgen.program(ours, "inverse_dynamics", "newton_euler"))

    def torque(*arguments: np.ndarray) -> np.ndarray:
        return inverse_dynamics(dict(zip("qva", np.broadcast_arrays(*map(np.atleast_2d, arguments)), strict=True)))["tau"]

    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data = model.createData()
    order = [model.idx_vs[model.getJointId(joint.name)] for joint in ours.joints[6:]]
    rng = np.random.default_rng(8)
    for _ in range(4):
        q, v, a = rng.uniform(-1.1, 1.1, (3, ours.nv))
        S = np.eye(ours.nv)
        S[:6, :6] = book["twist_of"](q)
        drift = np.zeros(ours.nv)
        drift[:6] = rate_of_twist(book, q, v)
        place = np.array([*range(6), *order])
        theirs_q, theirs_v, theirs_a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        theirs_q[:3] = q[:3]
        theirs_q[3:7] = pin.Quaternion(S[:3, :3].T.copy()).coeffs()
        theirs_q[np.array(order) + 1] = q[6:]
        theirs_v[place], theirs_a[place] = S @ v, S @ a + drift
        tau = S.T @ pin.rnea(model, data, theirs_q, theirs_v, theirs_a)[place]
        np.testing.assert_allclose(torque(q, v, a)[0], tau, atol=1e-7)
        M = pin.crba(model, data, theirs_q)
        M = np.triu(M) + np.triu(M, 1).T
        unit, rest = np.eye(ours.nv), np.zeros(ours.nv)
        columns = torque(q, rest, unit) - torque(q, rest, rest)
        np.testing.assert_allclose(columns, S.T @ M[np.ix_(place, place)] @ S, atol=1e-11)

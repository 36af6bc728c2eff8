"""Mimic joints, judged by Pinocchio: `rnea` and `crba` of the mimic model that its own URDF reader
builds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.verification.evaluating import machine_runner
from tests.shared.descriptions import public_urdf

pin: Any = pytest.importorskip("pinocchio")
STATES = 3


def by_pinocchio(robot: Mechanism, model: Any, states: dict[str, Array]) -> tuple[Array, Array]:
    """Return Pinocchio's tau and M at the states, in symgen's order of joints.

    Pinocchio stores the cosine and the sine of a continuous joint.
    """
    joints, data = (
        [model.joints[model.getJointId(joint.name)] for joint in robot.leading],
        model.createData(),
    )
    order = [joint.idx_v for joint in joints]
    forces, masses = [], []
    for k in range(STATES):
        q, v, a = np.zeros(model.nq), *np.zeros((2, model.nv))
        for joint, x in zip(joints, states["q"][k], strict=True):
            q[joint.idx_q : joint.idx_q + joint.nq] = (
                [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
            )
        v[order], a[order] = states["v"][k], states["a"][k]
        forces.append(pin.rnea(model, data, q, v, a)[order])
        upper = np.triu(pin.crba(model, data, q))
        masses.append((upper + np.triu(upper, 1).T)[np.ix_(order, order)])
    return np.array(forces), np.array(masses)


def is_near(values: Array, expected: Array) -> bool:
    return bool(abs(values - expected).max() <= 1e-13 * abs(expected).max())


@pytest.mark.parametrize(
    ("file", "nv", "joints", "programs"),
    [
        ("panda.urdf", 8, 9, True),
        ("talos_left_arm.urdf", 7, 7, True),
        ("tiago_pro.urdf", 23, 33, False),
        ("pr2.urdf", 20, 30, False),
        ("baxter.urdf", 17, 19, False),
    ],
)
def test_inverse_dynamics_and_mass_matrix_of_mimic_robots_equal_pinocchio(
    file: str, nv: int, joints: int, programs: bool
) -> None:
    """Numbers are not snapped. For whole robots only the reference is compared: it judges their
    Programs elsewhere.
    """
    path = public_urdf(file)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    robot, model = (
        symgen.load(path, mimic="couple", snap="off"),
        pin.buildModelFromUrdf(str(path), mimic=True),
    )
    assert (robot.nv, model.nv, len(robot.joints)) == (nv, nv, joints)
    states = {name: x.astype(float) for name, x in draw_states(robot, STATES).items()}
    tau, M = by_pinocchio(robot, model, states)
    reference = Reference(robot)
    assert is_near(reference.inverse_dynamics(states["q"], states["v"], states["a"]), tau)
    assert is_near(reference.mass_matrix(states["q"]), M)
    if programs:
        run = {
            name: machine_runner(symgen.program(robot, name, method))
            for name, method in (
                ("inverse_dynamics", "newton_euler"),
                ("mass_matrix", "composite_body"),
            )
        }
        assert is_near(
            run["inverse_dynamics"]({name: states[name] for name in ("q", "v", "a")})["tau"], tau
        )
        assert is_near(run["mass_matrix"]({"q": states["q"]})["M"], M)

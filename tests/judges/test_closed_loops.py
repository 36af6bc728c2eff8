"""Foreign judges over joints that close loops: Pinocchio's rigid contacts, and MuJoCo's equalities
as their softness vanishes.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.benchmarks.peers import mujoco as mujoco_peer
from symgen.benchmarks.peers import pinocchio as pinocchio_peer
from symgen.description.loading import builtin_robots
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import loop_closure
from symgen.reference.assembling import closed_states
from symgen.reference.mechanics import Reference
from symgen.vocabulary.poses import Shift
from tests.shared.grasps import FUNCTION, GRASPS, hand, two_arms
from tests.shared.looped import hopper
from tests.shared.robots_for_tests import run

BOUND = 1e-9
SOFT_BOUND = 1e-4
"""Bound of the extrapolation from two impedances; MuJoCo's stiffest setting leaves 2e-3 for two
Pandas and a bar.
"""
POINTS = {
    "revolute": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.3)),
    "spherical": ((0.0, 0.0, 0.0),),
    "point": ((0.0, 0.0, 0.0),),
    "weld": ((0.0, 0.0, 0.0), (0.3, 0.0, 0.0), (0.0, 0.3, 0.0)),
}
"""Points of both frames that stay together say the same as each of these closures."""
CLOSED = [name for name in builtin_robots() if ":" not in name and symgen.load(name).loops]


@cache
def states(mechanism: Mechanism) -> dict[str, Any]:
    states_by_name = {
        name: values.astype(float)
        for name, values in closed_states(mechanism, loop_closure.assembly(mechanism), 3).items()
    }
    return states_by_name | {
        "tau": np.random.default_rng(1).uniform(-1, 1, states_by_name["v"].shape)
    }


def ours(mechanism: Mechanism, method: str | None = None) -> Any:
    return run(symgen.program(mechanism, FUNCTION, method), states(mechanism))["a"]


def pinocchios(mechanism: Mechanism, *points: str) -> Any:
    """Return accelerations by a proximal solver, followed by the forces at contact points if there
    are any.

    The solver accepts a weld given by three points, whose rows are redundant.
    """
    pin = pytest.importorskip("pinocchio")
    model, ids = pinocchio_peer.built(mechanism)
    data, reference = model.createData(), Reference(mechanism)
    contacts, contact_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in mechanism.loops:
        end_placements = [
            (ids[end.body] if end.body >= 0 else 0, pin.SE3(*reference.pose(end.pose)))
            for end in (loop.first, loop.second)
        ]
        for point in POINTS[loop.kind]:
            at = pin.SE3(np.eye(3), np.array(point))
            (a, first), (b, second) = end_placements
            contacts.append(
                pin.RigidConstraintModel(
                    pin.ContactType.CONTACT_3D,
                    model,
                    a,
                    first * at,
                    b,
                    second * at,
                    pin.ReferenceFrame.LOCAL,
                )
            )
            contact_data.append(contacts[-1].createData())
    for point in map(mechanism.contact, points):
        seat = (
            ids[point.body],
            pin.SE3(*reference.pose(point.pose)),
            pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
        )
        contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *seat))
        contact_data.append(contacts[-1].createData())
    pin.initConstraintDynamics(model, data, contacts, contact_data)
    coordinate_map, results = pinocchio_peer.places(mechanism, model, ids), []
    for q, v, tau in zip(*(states(mechanism)[name] for name in ("q", "v", "tau")), strict=True):
        arguments = (
            coordinate_map.position(q),
            coordinate_map.velocity(v),
            coordinate_map.velocity(tau),
        )
        a = pin.constraintDynamics(
            model, data, *arguments, contacts, contact_data, pin.ProximalSettings(1e-14, 1e-10, 50)
        )
        results.append(
            np.concatenate(
                [a[coordinate_map.order], data.lambda_c[len(data.lambda_c) - 3 * len(points) :]]
            )
        )
    return np.array(results)


def off(results: Any, expected: Any) -> float:
    """Return the error relative to the largest acceleration of a state."""
    return float((np.abs(results - expected).max(axis=-1) / np.abs(expected).max(axis=-1)).max())


@pytest.mark.parametrize("name", CLOSED)
def test_pinocchio_accelerates_the_closed_chains_alike(name: str) -> None:
    mechanism = symgen.load(name)
    assert off(ours(mechanism), pinocchios(mechanism)) < BOUND


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [hand, two_arms], ids=["hand", "two_arms"])
def test_pinocchio_accelerates_what_arms_hold_alike(mechanism: Any) -> None:
    assert off(ours(mechanism(), GRASPS), pinocchios(mechanism())) < BOUND


def test_pinocchio_accelerates_the_plate_of_six_legs_alike() -> None:
    stewart = symgen.load("stewart")
    assert off(ours(stewart, GRASPS), pinocchios(stewart)) < BOUND


TOUCHED = {
    "stewart": ("plate:0,0,0.1",),
    "two_pandas_bar": ("bar:0.1,0,0",),
    "hopper": ("front_shin:0,0,-0.3",),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOUCHED)
def test_pinocchio_has_the_same_forces_where_closed_chains_touch(name: str) -> None:
    """Beside accelerations, which another point would change."""
    mechanism = hopper() if name == "hopper" else symgen.load(name)
    program = symgen.program(
        mechanism, "contact_forward_dynamics", "riccati", contact=TOUCHED[name]
    )
    results = run(program, states(mechanism) | {"active": np.ones((3, 1))})
    combined = np.concatenate([results["a"], results["forces"].reshape(3, -1)], axis=-1)
    assert off(combined, pinocchios(mechanism, *TOUCHED[name])) < BOUND


def test_another_point_is_seen() -> None:
    """The judge notices a loop that closes 1 mm off."""
    mechanism = symgen.load("four_bar")
    (loop,) = mechanism.loops
    displaced_end = replace(
        loop.first, pose=(*loop.first.pose, Shift((Fraction(1, 1000), Fraction(0), Fraction(0))))
    )
    shifted = replace(mechanism, loops=(replace(loop, first=displaced_end),))
    wrong = run(symgen.program(shifted, FUNCTION), states(mechanism))["a"]
    assert off(wrong, pinocchios(mechanism)) > 1e-4


@pytest.mark.parametrize("name", ["stewart", "two_pandas_bar"])
def test_mujoco_accelerates_connect_and_weld_alike_in_the_limit(name: str, tmp_path: Path) -> None:
    """The error falls with R = (1 − d)/d of MuJoCo's impedance d; two impedances give the limit R =
    0.
    """
    mj = pytest.importorskip("mujoco")
    mechanism = symgen.load(name)
    symgen.convert(mechanism, tmp_path / "closed.xml")
    model = mj.MjModel.from_xml_path(str(tmp_path / "closed.xml"))
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONTACT | mj.mjtDisableBit.mjDSBL_LIMIT
    model.opt.tolerance, model.opt.iterations = 0, 200
    data, coordinate_map = mj.MjData(model), mujoco_peer.places(mechanism, model)

    def softly(state: dict[str, Any], impedance: float) -> Any:
        model.eq_solimp[:] = [impedance, impedance, 0.001, 0.5, 2]
        arguments = coordinate_map.state(state)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = (
            arguments["q"],
            arguments["v"],
            arguments["tau"],
        )
        mj.mj_forward(model, data)
        return coordinate_map.ours("forward_dynamics", state, data.qacc)

    soft, stiff = 0.999, 0.9999
    ratio = (1 / soft - 1) / (1 / stiff - 1)
    every = [{key: values[k] for key, values in states(mechanism).items()} for k in range(3)]
    accelerations = np.array(
        [(ratio * softly(state, stiff) - softly(state, soft)) / (ratio - 1) for state in every]
    )
    assert off(accelerations, ours(mechanism)) < SOFT_BOUND

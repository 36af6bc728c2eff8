"""Foreign judges over drives: Pinocchio, whose algorithms have the armature, and MuJoCo, which has
damping and springs as well.

Neither has symgen's friction: Pinocchio's algorithms leave it out, and MuJoCo's sticks. It is put
beside their answers by hand.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.benchmarks import peers
from symgen.mechanism.drives import KINDS, Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from tests.shared.driven import driven
from tests.shared.judged_drives import answers, draw_float_states, error
from tests.shared.robots_for_tests import of_kind, random_mechanism

BOUND = 1e-9


@cache
def bare(name: str) -> Mechanism:
    if name != "tree":
        return symgen.load(name)
    mechanism = random_mechanism(5, 4, "tree")
    types = ("prismatic", "revolute", "continuous", "prismatic", "spherical")
    return replace(
        mechanism,
        joints=tuple(
            of_kind(joint, kind) for joint, kind in zip(mechanism.joints, types, strict=True)
        ),
    )


ROBOTS = ("panda", "tree", "quadruped")


def of_kinds(name: str, *kinds: str) -> Mechanism:
    """The robot with drives of these kinds alone; a root that floats has none."""
    mechanism = driven(bare(name), *kinds)
    return replace(
        mechanism,
        joints=tuple(replace(j, drive=Drive()) if j.type.free else j for j in mechanism.joints),
    )


def by_hand(mechanism: Mechanism, states: dict[str, Array], kinds: tuple[str, ...]) -> Array:
    """Return the joint forces of these kinds of drives."""
    drives = [mechanism.joints[i].drive for i, _ in mechanism.dofs]
    damping, friction = (
        np.array([float(getattr(drive, kind)) if kind in kinds else 0.0 for drive in drives])
        for kind in ("damping", "friction")
    )
    v = states["v"]
    return np.asarray(damping * v + friction * v / np.hypot(v, float(mechanism.friction_speed)))


@pytest.mark.parametrize("name", ROBOTS)
def test_pinocchio_agrees_and_forces_stand_beside_it(name: str) -> None:
    pytest.importorskip("pinocchio")
    kinds = ("armature", "damping", "friction")
    mechanism, with_armature = of_kinds(name, *kinds), of_kinds(name, "armature")
    states = draw_float_states(mechanism)
    resisting = by_hand(mechanism, states, kinds)
    assert (
        error(
            mechanism,
            "mass_matrix",
            states,
            answers("pinocchio", with_armature, "mass_matrix", states),
        )
        < BOUND
    )
    pushed = answers("pinocchio", with_armature, "inverse_dynamics", states) + resisting
    assert error(mechanism, "inverse_dynamics", states, pushed) < BOUND
    undriven = states | {"tau": states["tau"] - resisting}
    assert (
        error(
            mechanism,
            "forward_dynamics",
            states,
            answers("pinocchio", with_armature, "forward_dynamics", undriven),
        )
        < BOUND
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_mujoco_agrees_on_rotors_dampers_and_springs(name: str) -> None:
    pytest.importorskip("mujoco")
    mechanism, modelled = of_kinds(name), of_kinds(name, "armature", "damping", "stiffness")
    states = draw_float_states(mechanism)
    resisting = by_hand(mechanism, states, ("friction",))
    assert (
        error(
            mechanism,
            "inverse_dynamics",
            states,
            answers("mujoco", modelled, "inverse_dynamics", states) + resisting,
        )
        < BOUND
    )
    undriven = states | {"tau": states["tau"] - resisting}
    assert (
        error(
            mechanism,
            "forward_dynamics",
            states,
            answers("mujoco", modelled, "forward_dynamics", undriven),
        )
        < BOUND
    )


def test_a_peer_refuses_what_it_has_not() -> None:
    for judge, kind in (("pinocchio", "damping"), ("mujoco", "friction")):
        pytest.importorskip(judge)
        with pytest.raises(
            symgen.SymgenError, match=f"has no such {kind} as joint 'panda_joint1' has; "
        ):
            peers.PEERS[judge](of_kinds("panda", kind))
    assert set(KINDS) == {"armature", "damping", "friction", "stiffness"}

"""Joints of several degrees of freedom: slices of q and v, a column of H each, and the methods that go along them.

No file of symgen/joints has several yet, so one is planted here, as whoever writes it would.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgen
from symgen import joints, methods
from symgen.derivation import closed_forms
from symgen.functions import FUNCTIONS
from symgen.joints import JointType, Sliding, Turning
from symgen.joints._joint import ANGLE, LENGTH
from symgen.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from tests.robots_for_tests import random_mechanism

CACHED = (joints.joint_type, joints.kinds, closed_forms.joint_form, closed_forms.riccati_form, closed_forms.mobility_form,
          closed_forms.trace_form, closed_forms.feels)
ALONG = ("newton_euler", "composite_body", "kinematics", "riccati", "riccati:fd1", "riccati:fd3")


def cylindrical() -> JointType:
    """Turns about its axis and slides along it, each as it likes."""
    def pose(q: Sequence[Any], p: Mapping[str, Any]) -> tuple[sp.Matrix, sp.Matrix]:
        rotation, _ = joints.joint_type("revolute").pose(q, p)
        return rotation, sp.Matrix([0, 0, q[1]])

    return JointType((ANGLE, LENGTH), (ANGLE, LENGTH), pose, lambda p: (Turning(0), Sliding(1)),
                     drawn="hinge", limited=False)


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    made = ModuleType("symgen.joints.cylindrical")
    made.__dict__["JOINT"] = cylindrical()
    known = joints.kinds()
    monkeypatch.setitem(sys.modules, made.__name__, made)
    for cached in CACHED:
        cached.cache_clear()
    monkeypatch.setattr(joints, "kinds", lambda: (*known, "cylindrical"))
    yield "cylindrical"
    monkeypatch.undo()
    for cached in CACHED:
        cached.cache_clear()


def tree(kinds: Sequence[str], name: str) -> Mechanism:
    made = random_mechanism(len(kinds), seed=3, kind="tree")
    of = tuple(replace(joint, kind=kind) for joint, kind in zip(made.joints, kinds, strict=True))
    return replace(made, joints=of, name=name)


def test_slices_are_consecutive_and_columns_are_those_of_the_pose(planted: str) -> None:
    made = tree([planted, "revolute", planted, "prismatic"], "slices")
    assert (made.nq, made.nv) == (6, 6)
    assert [(s.start, s.stop) for s in made.v_slices] == [(0, 2), (2, 3), (3, 5), (5, 6)]
    assert made.dofs == ((0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (3, 0))
    H = closed_forms.joint_form(planted).motion_subspace
    assert H.tolist() == [[0, 0], [0, 0], [1, 0], [0, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize("method", ALONG)
def test_a_joint_of_two_is_verified(planted: str, method: str) -> None:
    for kinds in ((planted, "revolute", planted, "prismatic"), (planted, planted)):
        made = tree(kinds, f"of_{len(kinds)}")
        asked = [f"{name}={method}" for name in FUNCTIONS
                 if name in methods.find(method).functions]
        report = symgen.verify(made, asked, states=2, compiled=False)
        assert not report.failures
        assert max(check.error for check in report.checks if check.kind == "algebra") < 1e-40


def test_it_is_a_turn_and_a_slide_with_nothing_between(planted: str) -> None:
    """The reference, too: two joints about one axis with a massless body between them have the same dynamics."""
    one = tree([planted, "revolute"], "one")
    first = one.joints[0]
    apart = replace(one, name="apart", joints=(
        replace(first, kind="revolute"), replace(first, name="slide", kind="prismatic", parent=0, pose=()),
        *(replace(joint, parent=joint.parent + 1 if joint.parent >= 0 else -1) for joint in one.joints[1:])),
        bodies=(replace(one.bodies[0], name="between", parts=()), *one.bodies),
        frames=tuple(replace(frame, body=frame.body + 1 if frame.body >= 0 else -1) for frame in one.frames))
    at = {name: values.astype(float) for name, values in draw_states(one, 3).items()}
    for ours, theirs in ((Reference(one), Reference(apart)),):
        assert np.abs(ours.mass_matrix(at["q"]) - theirs.mass_matrix(at["q"])).max() < 1e-12
        assert np.abs(ours.inverse_dynamics(at["q"], at["v"], at["a"])
                      - theirs.inverse_dynamics(at["q"], at["v"], at["a"])).max() < 1e-11


@pytest.mark.parametrize("method", ["udut", "fixman", "constraint_force", "udut:links", "fixman:spatial"])
def test_papers_of_joints_of_one_degree_say_so(planted: str, method: str) -> None:
    made = tree([planted, "revolute"], "two")
    why = methods.find(method).refusal(made)
    assert why == (f"{method} takes joints of one degree of freedom, and of 'two' joint 'joint0' has 2; take riccati, or another "
                   "method")
    assert Fraction(made.nv) == 3

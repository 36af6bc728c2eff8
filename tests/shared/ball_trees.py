"""Trees of joints with several coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symgen.mechanism.joints import joint_type
from symgen.mechanism.mechanism import Mechanism
from symgen.vocabulary.poses import Z_AXIS
from tests.shared.robots_for_tests import random_mechanism


def tree(of: Sequence[str], name: str) -> Mechanism:
    mechanism = random_mechanism(len(of), seed=3, kind="tree")
    joints = tuple(
        replace(joint, kind=kind, axis=joint.axis if joint_type(kind).directed else Z_AXIS)
        for joint, kind in zip(mechanism.joints, of, strict=True)
    )
    return replace(mechanism, joints=joints, name=name)

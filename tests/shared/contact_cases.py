"""Robots and functions for tests of contacts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, derive

DYNAMICS, IMPACT = "contact_forward_dynamics", "contact_impulse"


def driven(mechanism: Mechanism) -> Mechanism:
    """Return the robot with rotors, dampers and friction in its joints."""
    drive = Drive(armature=Fraction(1, 10), damping=Fraction(1, 2), friction=Fraction(1, 4))
    return replace(
        mechanism, joints=tuple(replace(joint, drive=drive) for joint in mechanism.joints)
    )


def undone(patch: pytest.MonkeyPatch) -> None:
    """Nothing is kept from before the error."""
    for cache_ in (build._build, derive._attempt):
        cache_.cache_clear()
    patch.setattr("symgen.support.cache.find", lambda *key: None)
    patch.setattr("symgen.support.cache.keep", lambda *arguments: None)

"""The mechanism as numbers in link frames: `declared` reads it off, `reframe` and `regroup` are passes over it."""

from symgen.derivation.model.definite import indefinite
from symgen.derivation.model.links import Frame, Inertia, Link, Model, declared
from symgen.derivation.model.record import record
from symgen.derivation.model.reframe import reframe, refuse_many_joints
from symgen.derivation.model.regroup import regroup

__all__ = [
    "Frame",
    "Inertia",
    "Link",
    "Model",
    "declared",
    "indefinite",
    "record",
    "reframe",
    "refuse_many_joints",
    "regroup",
]

"""The mechanism as numbers in link frames: `declared` reads it off, `reframe` and `regroup` are passes over it."""

from symgen.model.definite import indefinite
from symgen.model.links import Frame, Inertia, Link, Model, declared
from symgen.model.record import record
from symgen.model.reframe import reframe
from symgen.model.regroup import regroup

__all__ = ["Frame", "Inertia", "Link", "Model", "declared", "indefinite", "record", "reframe", "regroup"]

"""Model of a mechanism: constants in link frames. `declared` builds it, `reframe` and `regroup` are
passes over it.
"""

from symgen.derivation.model.definite import (
    complete_moments,
    completed_links,
    completion_note,
    find_indefinite_body,
)
from symgen.derivation.model.links import Frame, Inertia, Link, Model, declared
from symgen.derivation.model.record import record
from symgen.derivation.model.reframe import reframe, refuse_many_joints
from symgen.derivation.model.regroup import regroup

__all__ = [
    "Frame",
    "Inertia",
    "Link",
    "Model",
    "complete_moments",
    "completed_links",
    "completion_note",
    "declared",
    "find_indefinite_body",
    "record",
    "reframe",
    "refuse_many_joints",
    "regroup",
]

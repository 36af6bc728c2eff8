"""Joint types, one file each, found by discovery: the constant `JOINT` of a file defines the type
(see `_joint`).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from symgen.mechanism.joints._joint import AboutAxis as AboutAxis
from symgen.mechanism.joints._joint import Coordinate as Coordinate
from symgen.mechanism.joints._joint import Elementary as Elementary
from symgen.mechanism.joints._joint import JointType as JointType
from symgen.mechanism.joints._joint import Orienting as Orienting
from symgen.mechanism.joints._joint import Parameter as Parameter
from symgen.mechanism.joints._joint import Placing as Placing
from symgen.mechanism.joints._joint import Sliding as Sliding
from symgen.mechanism.joints._joint import Turning as Turning
from symgen.support.errors import UnknownName
from symgen.support.leaves import leaf_names


@cache
def kinds() -> tuple[str, ...]:
    """Return the names of the joint types, sorted."""
    return tuple(leaf_names(__path__))


@cache
def joint_type(kind: str) -> JointType:
    """Return a joint type by name; UnknownName lists those that exist."""
    if kind not in kinds():
        raise UnknownName(f"joint type '{kind}' is not known; there are: {', '.join(kinds())}")
    joint: JointType = import_module(f"{__name__}.{kind}").JOINT
    return joint

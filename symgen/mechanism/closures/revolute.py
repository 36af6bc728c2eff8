"""Hinge: the z axes of both frames stay on one line, and the origins coincide."""

from symgen.mechanism.closures._closure import AT_ONE_POINT, SAME_AXIS, ClosureType

CLOSURE = ClosureType(
    "a hinge about z", (*AT_ONE_POINT, *SAME_AXIS), turned=(2,), off=(), spinning=(2,)
)

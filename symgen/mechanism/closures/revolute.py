"""Hinge: the z axes of both frames stay on one line, and the origins coincide."""

from symgen.mechanism.closures._closure import SAME_ORIGIN, SAME_Z_AXIS, ClosureType

CLOSURE = ClosureType(
    "a hinge about z",
    (*SAME_ORIGIN, *SAME_Z_AXIS),
    rotation_axes=(2,),
    translation_axes=(),
    angular_velocity_axes=(2,),
)

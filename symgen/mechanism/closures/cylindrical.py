"""Cylindrical closure: the z axes of both frames stay on one line; rotation about z and sliding
along z are free.
"""

from symgen.mechanism.closures._closure import SAME_Z_AXIS, Along, ClosureType

CLOSURE = ClosureType(
    "a hinge about z that slides along it",
    (Along(0), Along(1), *SAME_Z_AXIS),
    rotation_axes=(2,),
    translation_axes=(2,),
    angular_velocity_axes=(2,),
)

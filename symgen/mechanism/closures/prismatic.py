"""Slider: the second frame slides along the z axis of the first, with the same orientation."""

from symgen.mechanism.closures._closure import SAME_ORIENTATION, Along, ClosureType

CLOSURE = ClosureType(
    "a slider along z",
    (Along(0), Along(1), *SAME_ORIENTATION),
    rotation_axes=(),
    translation_axes=(2,),
    angular_velocity_axes=(),
)

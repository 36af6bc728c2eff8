"""Weld: both frames coincide. For a grasp, a rigid grip."""

from symgen.mechanism.closures._closure import SAME_ORIENTATION, SAME_ORIGIN, ClosureType

CLOSURE = ClosureType(
    "a weld",
    (*SAME_ORIGIN, *SAME_ORIENTATION),
    rotation_axes=(),
    translation_axes=(),
    angular_velocity_axes=(),
)

"""Coincident points: both origins coincide, with any orientation (connect in MuJoCo); a grasp by a
hard finger with friction.
"""

from symgen.mechanism.closures._closure import ALL_AXES, SAME_ORIGIN, ClosureType

CLOSURE = ClosureType(
    "two points together",
    SAME_ORIGIN,
    rotation_axes=ALL_AXES,
    translation_axes=(),
    angular_velocity_axes=ALL_AXES,
)

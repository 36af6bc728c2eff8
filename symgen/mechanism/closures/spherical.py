"""Ball and socket: the origins of both frames coincide."""

from symgen.mechanism.closures._closure import ALL_AXES, SAME_ORIGIN, ClosureType

CLOSURE = ClosureType(
    "a ball joint",
    SAME_ORIGIN,
    rotation_axes=ALL_AXES,
    translation_axes=(),
    angular_velocity_axes=ALL_AXES,
)

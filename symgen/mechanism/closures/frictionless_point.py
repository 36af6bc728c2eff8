"""Frictionless point contact of a hard finger: the second origin stays in the plane through the
first that is normal to its z axis.
"""

from symgen.mechanism.closures._closure import ALL_AXES, Along, ClosureType

CLOSURE = ClosureType(
    "a point on a plane",
    (Along(2),),
    rotation_axes=ALL_AXES,
    translation_axes=(0, 1),
    angular_velocity_axes=ALL_AXES,
)

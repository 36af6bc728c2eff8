"""Soft finger: the origins coincide, and the second frame does not rotate about the z axis of the
first, the normal.
"""

from symgen.mechanism.closures._closure import ALL_AXES, SAME_ORIGIN, ClosureType, Unspun

CLOSURE = ClosureType(
    "a soft finger with its normal along z",
    (*SAME_ORIGIN, Unspun(2)),
    rotation_axes=ALL_AXES,
    translation_axes=(),
    angular_velocity_axes=(0, 1),
)

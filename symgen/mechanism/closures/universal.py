"""Universal joint: the origins coincide, and the x axis of the first frame stays normal to the y
axis of the second.

Rotations about the two axes of the cross combine to rotations and angular velocities with
components about all three axes of the first frame.
"""

from symgen.mechanism.closures._closure import ALL_AXES, SAME_ORIGIN, Across, ClosureType

CLOSURE = ClosureType(
    "a cross of the first x axis and the second y axis",
    (*SAME_ORIGIN, Across(0, 1, -1)),  # sign −1: the moment is about first x × second y
    rotation_axes=ALL_AXES,
    translation_axes=(),
    angular_velocity_axes=ALL_AXES,
)

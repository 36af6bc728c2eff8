"""Massless rod between two points: the distance of the origins of both frames stays equal to
`distance`.
"""

from symgen.mechanism.closures._closure import ALL_AXES, Apart, ClosureType
from symgen.mechanism.joints import Parameter

CLOSURE = ClosureType(
    "a massless rod",
    (Apart(),),
    rotation_axes=ALL_AXES,
    translation_axes=ALL_AXES,
    angular_velocity_axes=ALL_AXES,
    parameters=(Parameter("distance", "how far apart the points are, in m"),),
)

"""Massless rod between two points: the distance of the origins of both frames stays equal to
`distance`.
"""

from symgen.mechanism.closures._closure import EVERY, Apart, ClosureType
from symgen.mechanism.joints import Parameter

CLOSURE = ClosureType(
    "a massless rod",
    (Apart(),),
    turned=EVERY,
    off=EVERY,
    spinning=EVERY,
    parameters=(Parameter("distance", "how far apart the points are, in m"),),
)

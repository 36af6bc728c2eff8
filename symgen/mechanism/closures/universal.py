"""Universal joint: the origins coincide, and the x axis of the first frame stays normal to the y
axis of the second.
"""

from symgen.mechanism.closures._closure import AT_ONE_POINT, EVERY, Across, ClosureType

CLOSURE = ClosureType(
    "a cross of the first x axis and the second y axis",
    (*AT_ONE_POINT, Across(0, 1, -1)),
    turned=EVERY,
    off=(),
    spinning=EVERY,
)

"""Cylindrical closure: the z axes of both frames stay on one line; rotation about z and sliding
along z are free.
"""

from symgen.mechanism.closures._closure import SAME_AXIS, Along, ClosureType

CLOSURE = ClosureType(
    "a hinge about z that slides along it",
    (Along(0), Along(1), *SAME_AXIS),
    turned=(2,),
    off=(2,),
    spinning=(2,),
)

"""Soft finger: the origins coincide, and the second frame does not rotate about the z axis of the
first, the normal.
"""

from symgen.mechanism.closures._closure import AT_ONE_POINT, EVERY, ClosureType, Unspun

CLOSURE = ClosureType(
    "a soft finger with its normal along z",
    (*AT_ONE_POINT, Unspun(2)),
    turned=EVERY,
    off=(),
    spinning=(0, 1),
)

"""A slider: the second frame slides along the z axis of the first, turned as it is."""

from symgen.mechanism.closures._closure import TURNED_ALIKE, Along, ClosureType

CLOSURE = ClosureType(
    "a slider along z", (Along(0), Along(1), *TURNED_ALIKE), turned=(), off=(2,), spinning=()
)

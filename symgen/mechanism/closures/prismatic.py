"""Slider: the second frame slides along the z axis of the first, with the same orientation."""

from symgen.mechanism.closures._closure import TURNED_ALIKE, Along, ClosureType

CLOSURE = ClosureType(
    "a slider along z", (Along(0), Along(1), *TURNED_ALIKE), turned=(), off=(2,), spinning=()
)

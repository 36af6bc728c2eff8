"""Weld: both frames coincide. For a grasp, a rigid grip."""

from symgen.mechanism.closures._closure import AT_ONE_POINT, TURNED_ALIKE, ClosureType

CLOSURE = ClosureType("a weld", (*AT_ONE_POINT, *TURNED_ALIKE), turned=(), off=(), spinning=())

"""Nothing moves: both frames stay together. Of a grasp, a rigid one."""

from symgen.mechanism.closures._closure import AT_ONE_POINT, TURNED_ALIKE, ClosureType

CLOSURE = ClosureType("a weld", (*AT_ONE_POINT, *TURNED_ALIKE), turned=(), off=(), spinning=())

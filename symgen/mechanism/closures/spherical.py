"""Ball and socket: the origins of both frames coincide."""

from symgen.mechanism.closures._closure import AT_ONE_POINT, EVERY, ClosureType

CLOSURE = ClosureType("a ball joint", AT_ONE_POINT, turned=EVERY, off=(), spinning=EVERY)

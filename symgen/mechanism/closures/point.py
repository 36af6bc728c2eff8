"""Two points that stay together, whatever is turned: what MuJoCo calls connect; a grasp by a hard finger with friction."""

from symgen.mechanism.closures._closure import AT_ONE_POINT, EVERY, ClosureType

CLOSURE = ClosureType("two points together", AT_ONE_POINT, turned=EVERY, off=(), spinning=EVERY)

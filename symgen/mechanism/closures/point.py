"""Coincident points: both origins coincide, with any orientation (connect in MuJoCo); a grasp by a
hard finger with friction.
"""

from symgen.mechanism.closures._closure import AT_ONE_POINT, EVERY, ClosureType

CLOSURE = ClosureType("two points together", AT_ONE_POINT, turned=EVERY, off=(), spinning=EVERY)

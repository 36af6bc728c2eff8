"""Frictionless point contact of a hard finger: the second origin stays in the plane through the
first that is normal to its z axis.
"""

from symgen.mechanism.closures._closure import EVERY, Along, ClosureType

CLOSURE = ClosureType("a point on a plane", (Along(2),), turned=EVERY, off=(0, 1), spinning=EVERY)

"""Functions as loops over the links of a robot.

A method runs on a short sample chain of like links, and the rows of one link become the steps of
the sweeps. The links in the middle of the chain must have the same rows, which is checked. Chains
of like links also have sweeps in parts and parallel scans, whose steps are written one by one.
"""

from symgen.pipeline.loops.build import recursion

__all__ = ["recursion"]

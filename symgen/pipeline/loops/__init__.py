"""Functions as sweeps along the links: a method is run on a short chain of like links, and what repeats is folded.

Row for row, the links in the middle of the chain must come out the same; that is checked, and a method is run as it is.
"""

from symgen.pipeline.loops.recursing import recursion

__all__ = ["recursion"]

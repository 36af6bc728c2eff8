"""From a file to a Mechanism: readers, units and names, snapping, and the canonical description
that a Mechanism prints as.
"""

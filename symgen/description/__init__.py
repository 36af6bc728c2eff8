"""Conversion of a file to a Mechanism: readers, units, names, snapping, and the description that a
Mechanism prints as.
"""

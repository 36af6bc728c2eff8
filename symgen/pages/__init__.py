"""Pages and pictures that people look at: the report, patterns, comparisons, reproductions of
published results.
"""

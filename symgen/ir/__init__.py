"""The intermediate representation: straight-line programs, programs with loops over links, and the
passes on them.
"""

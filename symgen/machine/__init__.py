"""The C in a compiler, a library or a microcontroller: building, calling, running, and measuring
its cost.
"""

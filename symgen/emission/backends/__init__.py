"""Backends: the printer of C and the wrappers, one module each."""

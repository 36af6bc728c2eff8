"""Reference results: the declared mechanism evaluated in floats or balls. It shares nothing with
the derivation.
"""

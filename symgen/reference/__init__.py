"""The other road to the same numbers: the declared mechanism in floats or balls. It shares nothing with the derivation."""

"""Lowering of functions to statements (`symgen.emission.statements`)."""

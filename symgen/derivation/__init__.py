"""Vocabulary of methods: exact constants, closed forms, scalars that record rows, spatial algebra,
and a model in link frames.
"""

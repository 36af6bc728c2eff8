"""What methods are written in: exact constants, closed forms, scalars that record rows, spatial algebra, a model."""

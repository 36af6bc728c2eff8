"""The standing fuzzer of the readers: mutated descriptions, led by the lines of
`symgen/description` that they reach.

`python -m tests.fuzz --seconds N --seed S [--format F]`, from the seeds in `corpus/FORMAT`. The
seed alone decides what is tried.
"""

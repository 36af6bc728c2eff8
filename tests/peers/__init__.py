"""symgen's C beside what other generators and libraries have for the same robot: `python -m
tests.peers` measures all of it and writes `docs/reference/benchmarks.md`, its figures and its
pictures.

Pinocchio's algorithms are written out as C by CasADi and by CppADCodeGen, from the C++ programs in
this folder; Pinocchio and MuJoCo are called as the libraries that they are. Every contestant is one
shared library with the two loops of `loops.h`.
"""

"""Code of a user for `mypy --strict` (`make check`): every public call has types.

A type checker must see these types from outside symgen.

`make check` copies this file elsewhere first, so that mypy finds symgen as an installed package
with its py.typed.
"""

from pathlib import Path
from typing import Any, assert_type

import numpy as np

import symgen
from symgen.support.errors import ArgumentError, UnknownName


def main(folder: Path) -> float:
    robot = symgen.load("planar_arm", lock={"joint2": "pi/2"}, gravity=(0, 0, "-9.81"))
    assert_type(robot, symgen.Mechanism)
    assert_type(robot.nv, int)

    program = symgen.program(robot, "inverse_dynamics", method="newton_euler", real="double")
    assert_type(program, symgen.Program)
    assert_type(program.operations, dict[str, int])
    assert_type(program.depth, int)
    assert_type(symgen.derivative(program, wrt="q", mode="vjp"), symgen.Program)

    solver = symgen.compile(
        robot, ["inverse_dynamics"], "double", optimize=1, frame="link2", trig="libm", checked=False
    )
    assert_type(solver, symgen.Solver)
    q = np.zeros(robot.nv)
    tau: np.ndarray[Any, np.dtype[np.float64]] = solver.inverse_dynamics(q, q, q)
    solver.bind("inverse_dynamics", q, q, q, tau)()

    report = symgen.verify(robot, ["inverse_dynamics"], states=1, compiled=False)
    assert_type(report, symgen.Report)
    assert_type(report.passed, bool)

    manifest = symgen.generate(robot, folder / "arm", functions=["inverse_dynamics"])
    assert_type(manifest, dict[str, Any])
    print(symgen.inspect(robot, "M[0,0]", at={"q0": "pi/2"}))

    try:
        symgen.load("pandas")
    except UnknownName as error:
        assert_type(error.args, tuple[Any, ...])
    try:
        solver.inverse_dynamics(q, q, np.zeros(2))
    except ArgumentError as error:
        assert_type(str(error), str)
    return float(tau[0])

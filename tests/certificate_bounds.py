"""Recorded bounds of divisors and round-off; `python -m tests.certificate_bounds --write` records.

`certificate/test_certificate_bounds.py` compares the certificates with the recorded bounds, so that
a bound that became looser is seen. A bound that became tighter is recorded with the change that
caused it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

from symgen.certificate.divisors import arithmetic_of, certify_divisors, with_quaternions
from symgen.certificate.ranges import declared_ranges
from symgen.pipeline.build import build_program
from symgen.reference.states import draw_states
from symgen.verification.proof.round_off import bound_round_off
from symgen.vocabulary.options import ProgramOptions
from tests.shared.robots_for_tests import random_mechanism, robot

FILE = Path(__file__).with_name("certificate_bounds.json")
DIGITS = 6
Bounds = dict[str, dict[str, list[Any]]]
"""Case → divisor or result → bounds; a divisor also has a meaning, and a reason if unbounded."""


class Case(NamedTuple):
    """A certified program. `contact` names contact points, and `payload` the link of a load."""

    robot: str
    function: str
    method: str
    real: str = "double"
    contact: tuple[str, ...] = ()
    payload: str | None = None

    @property
    def name(self) -> str:
        """The key of the recorded bounds."""
        load = ("payload",) if self.payload else ()
        return " ".join((self.robot, self.function, self.method, self.real, *load))


RANDOM_ROBOTS = {
    "random tree": lambda: random_mechanism(4, 6, "tree", ("revolute", "prismatic")),
    "random joints": lambda: random_mechanism(
        3, 2, "chain", ("cylindrical", "planar", "spherical")
    ),
    "random floating": lambda: random_mechanism(3, 4, "chain", ("free", "revolute", "helical")),
}
"""Robots with full inertias and rotations by decimal angles."""
CASES = (
    Case("planar_arm", "forward_dynamics", "udut"),
    Case("scara", "forward_dynamics", "riccati", "float"),
    Case("scara", "mass_matrix_solve", "composite_body", "float"),
    Case("panda", "mass_matrix_solve", "udut", "float"),
    Case("spherical_pendulum", "forward_dynamics", "riccati"),
    Case("free_body", "forward_dynamics", "riccati"),
    Case("four_bar", "constrained_forward_dynamics", "riccati"),
    Case("scara", "contact_forward_dynamics", "riccati", contact=("link2:0.1,0,0",)),
    Case("ur5", "inverse_dynamics", "newton_euler", "float"),
    Case("puma560", "mass_matrix", "composite_body"),
    Case("free_body", "integrate", "kinematics"),
    Case("scara", "forward_dynamics", "udut", payload="link4"),
    Case("quadruped", "mass_matrix_solve", "riccati"),
    Case("quadruped", "jacobian", "kinematics", "float"),
    Case("ur5", "inverse_mass_matrix", "riccati"),
    Case("random tree", "forward_dynamics", "udut"),
    Case("random tree", "inverse_dynamics", "newton_euler", "float"),
    Case("random joints", "mass_matrix_solve", "riccati"),
    Case("random joints", "difference", "kinematics"),
    Case("random floating", "mass_matrix_solve", "composite_body"),
    Case("random floating", "integrate", "kinematics", "float"),
    Case("slider_crank", "constraint_impulse", "composite_body"),
)


def bounds_of(case: Case) -> dict[str, list[Any]]:
    """Return the bounds of a case's divisors, or of its results if it divides by nothing."""
    mechanism = RANDOM_ROBOTS.get(case.robot, lambda: robot(case.robot))()
    options = ProgramOptions(case.real, contact=list(case.contact) or None, payload=case.payload)
    program = build_program(mechanism, case.function, case.method, options)
    certificates = certify_divisors(mechanism, program, options)
    if certificates:
        return {
            f"divisor {count}": [
                certificate.description or str(certificate.joint),
                *(
                    _shortened(bound) if bound is not None else certificate.reason
                    for bound in (certificate.exact_bound, certificate.round_off)
                ),
            ]
            for count, certificate in enumerate(certificates)
        }
    states = {name: x.astype(float) for name, x in draw_states(mechanism, 4).items()}
    arithmetic = with_quaternions(arithmetic_of(case.real), mechanism)
    ranges = declared_ranges(mechanism)
    inputs = {port.name: states[port.name] for port in program.inputs if port.name in states}
    round_off = bound_round_off(program, ranges, inputs, arithmetic)
    return {
        name: [_shortened(x) for x in values.max(axis=0).ravel()]
        for name, values in round_off.bound.items()
    }


def _shortened(bound: Any) -> float:
    """Return a bound with DIGITS digits."""
    return float(f"{float(bound):.{DIGITS}g}")


def recorded() -> Bounds:
    """Return the recorded bounds by case."""
    bounds: Bounds = json.loads(FILE.read_text(encoding="utf-8"))
    return bounds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true")
    bounds = {case.name: bounds_of(case) for case in CASES}
    text = json.dumps(bounds, indent=1, ensure_ascii=False) + "\n"
    if parser.parse_args().write:
        FILE.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

"""Robots without mass: functions of the mass centre are refused with a reason, all others exist."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Body, Mechanism, Part
from symgen.reference.precision import Array
from symgen.support.errors import RequestError
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.robots_for_tests import draw, random_mechanism

ABOUT_MASS = tuple(name for name, f in FUNCTIONS.items() if f.needs_mass)
POSES = {"link_poses", "forward_kinematics", "jacobian", "bias_acceleration"}
STILL = {"kinetic_energy", "potential_energy", "gravity_force", "mass_matrix"}


@cache
def massless_robot() -> Mechanism:
    """Return a robot whose links declare no inertia, one of them a mass of zero."""
    mechanism = random_mechanism(3, 2)
    nothing = Part("link0", (), Fraction(0))
    return replace(
        mechanism,
        bodies=(Body("link0", (nothing,)), *(Body(body.name) for body in mechanism.bodies[1:])),
        name="bare",
    )


def arguments_of(function: str) -> dict[str, Array]:
    return {a.name: draw(massless_robot(), 3)[a.name] for a in FUNCTIONS[function].arguments}


@pytest.mark.parametrize("function", ABOUT_MASS)
def test_functions_of_the_mass_centre_are_refused_by_name(function: str) -> None:
    with pytest.raises(RequestError) as refused:
        symgen.program(massless_robot(), function)
    message = str(refused.value)
    assert message.startswith(f"{function} of 'bare' needs the mass centre")
    assert re.search(r"; give a moving link a mass\b", message)
    assert "\n" not in message


def test_all_functions_except_those_of_the_mass_centre_are_generated(tmp_path: Path) -> None:
    symgen.generate(massless_robot(), tmp_path / "out")
    generated = {name for name in FUNCTIONS if (tmp_path / "out" / f"bare_{name}.c").exists()}
    assert not generated & set(ABOUT_MASS)
    assert generated >= POSES | STILL
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    (line,) = (line for line in readme.splitlines() if "needs the mass centre" in line)
    assert all(function in line for function in ABOUT_MASS)


def test_all_functions_except_those_of_the_mass_centre_pass_verification() -> None:
    report = symgen.verify(massless_robot(), None, 2, compiled=False)
    assert not report.failures, str(report)
    assert set(ABOUT_MASS) <= set(report.refused)
    assert not (POSES | STILL) & set(report.refused)
    assert {"T = vᵀ M v/2", "g · v = d/dt U"} <= {
        check.subject for check in report.of("identities")
    }


def test_a_massless_robot_has_zero_energy_and_link_poses() -> None:
    for function in ("kinetic_energy", "potential_energy"):
        (energy,) = machine_runner(symgen.program(massless_robot(), function))(
            arguments_of(function)
        ).values()
        assert energy.shape == (3,)
        assert not energy.any()
    assert (
        np.abs(
            machine_runner(symgen.program(massless_robot(), "link_poses"))(
                arguments_of("link_poses")
            )["p_links"]
        ).max()
        > 0.1
    )


def test_a_run_time_payload_gives_a_mass_centre() -> None:
    """The mass centre of the robot is that of its payload."""
    link, states = (
        massless_robot().frames[-1].name,
        draw(massless_robot(), 3, payload=massless_robot().frames[-1].name),
    )
    arguments = {"q": states["q"], "payload": states["payload"]}
    mass_centre = machine_runner(symgen.program(massless_robot(), "center_of_mass", payload=link))(
        arguments
    )["com"]
    pose = machine_runner(symgen.program(massless_robot(), "forward_kinematics", frame=link))(
        {"q": states["q"]}
    )
    np.testing.assert_allclose(
        mass_centre, pose["p"] + (pose["R"] @ states["payload"][:, 1:4, None])[..., 0], atol=1e-13
    )
    report = symgen.verify(
        massless_robot(),
        ["center_of_mass", "centroidal_momentum", "centroidal_momentum_rate"],
        2,
        payload=link,
        compiled=False,
    )
    assert not report.failures, str(report)

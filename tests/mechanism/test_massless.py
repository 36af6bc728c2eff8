"""A robot that weighs nothing has no mass centre: what is about that is left out with a sentence, the rest is there."""

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
def bare() -> Mechanism:
    """Links of which none declares an inertia, and one that declares a mass of zero."""
    made = random_mechanism(3, 2)
    nothing = Part("link0", (), Fraction(0))
    return replace(
        made,
        bodies=(Body("link0", (nothing,)), *(Body(body.name) for body in made.bodies[1:])),
        name="bare",
    )


def given(function: str) -> dict[str, Array]:
    return {a.name: draw(bare(), 3)[a.name] for a in FUNCTIONS[function].arguments}


@pytest.mark.parametrize("function", ABOUT_MASS)
def test_what_is_about_the_mass_centre_is_refused_by_name(function: str) -> None:
    with pytest.raises(RequestError) as refused:
        symgen.program(bare(), function)
    said = str(refused.value)
    assert said.startswith(f"{function} of 'bare' needs the mass centre")
    assert re.search(r"; give a moving link a mass\b", said)
    assert "\n" not in said


def test_all_functions_are_generated_but_those(tmp_path: Path) -> None:
    symgen.generate(bare(), tmp_path / "out")
    there = {name for name in FUNCTIONS if (tmp_path / "out" / f"bare_{name}.c").exists()}
    assert not there & set(ABOUT_MASS)
    assert there >= POSES | STILL
    said = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    (line,) = (line for line in said.splitlines() if "needs the mass centre" in line)
    assert all(function in line for function in ABOUT_MASS)


def test_all_functions_are_verified_but_those() -> None:
    report = symgen.verify(bare(), None, 2, compiled=False)
    assert not report.failures, str(report)
    assert set(ABOUT_MASS) <= set(report.refused)
    assert not (POSES | STILL) & set(report.refused)
    assert {"T = vᵀ M v/2", "g · v = d/dt U"} <= {
        check.subject for check in report.of("identities")
    }


def test_it_has_no_energy_and_its_links_are_somewhere() -> None:
    for function in ("kinetic_energy", "potential_energy"):
        (energy,) = machine_runner(symgen.program(bare(), function))(given(function)).values()
        assert energy.shape == (3,)
        assert not energy.any()
    assert (
        np.abs(
            machine_runner(symgen.program(bare(), "link_poses"))(given("link_poses"))["p_links"]
        ).max()
        > 0.1
    )


def test_a_load_at_run_time_gives_it_a_mass_centre() -> None:
    """Which is that of the load."""
    link, states = bare().frames[-1].name, draw(bare(), 3, payload=bare().frames[-1].name)
    asked = {"q": states["q"], "payload": states["payload"]}
    found = machine_runner(symgen.program(bare(), "center_of_mass", payload=link))(asked)["com"]
    pose = machine_runner(symgen.program(bare(), "forward_kinematics", frame=link))(
        {"q": states["q"]}
    )
    np.testing.assert_allclose(
        found, pose["p"] + (pose["R"] @ states["payload"][:, 1:4, None])[..., 0], atol=1e-13
    )
    report = symgen.verify(
        bare(),
        ["center_of_mass", "centroidal_momentum", "centroidal_momentum_rate"],
        2,
        payload=link,
        compiled=False,
    )
    assert not report.failures, str(report)

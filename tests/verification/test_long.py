"""Sizes of terms by which results of long robots are judged: no result exceeds the sum of its
terms.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.reference.states import draw_states
from symgen.verification.long import force_sizes, total_sizes
from symgen.verification.run import long_loops
from tests.shared.bars import pendulum
from tests.shared.other_units import UNITS, USUAL, Units, cart_and_arm, scaled
from tests.shared.robots_for_tests import robot

RESULTS = {"T": "kinetic_energy", "U": "potential_energy", "com": "center_of_mass"}
RESULTS |= {"h": "centroidal_momentum", "hdot": "centroidal_momentum_rate"}
ARGUMENTS = {"T": "qv", "U": "q", "com": "q", "h": "qv", "hdot": "qva"}


def sizes_and_results(
    mechanism: Mechanism, states: dict[str, np.ndarray]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return (sizes, norms of the reference's results), each (count,), by result."""
    reference = Reference(mechanism, FLOAT)
    states = {key: values.astype(float) for key, values in states.items()}
    sizes = total_sizes(reference, *(states[key] for key in ("q", "v", "a", "dt")))
    pairs = {}
    for result, function in RESULTS.items():
        arguments = {key: states[key] for key in ARGUMENTS[result]}
        values = reference.evaluate(function, arguments)[result]
        pairs[result] = sizes[result], np.linalg.norm(values.reshape(len(values), -1), axis=-1)
    return pairs


@pytest.mark.parametrize("name", ["scara", "panda", "planar_point_mass", "quadruped", "free_body"])
def test_no_result_is_larger_than_the_sum_of_its_terms(name: str) -> None:
    for sizes, norms in sizes_and_results(robot(name), draw_states(robot(name), 20)).values():
        assert (norms <= sizes * (1 + 1e-12)).all()


def test_a_flywheel_has_terms_of_its_moment_of_inertia_alone() -> None:
    wheel = symgen.Robot("wheel").body(
        "disc", parent="base", type="revolute", axis=(0, 0, 1), mass=2, inertia=(1, 0, 0, 1, 0, 2)
    )
    mechanism = wheel.build()
    for result, (sizes, norms) in sizes_and_results(mechanism, draw_states(mechanism, 20)).items():
        assert (norms <= sizes * (1 + 1e-12)).all(), result


def test_terms_of_a_stretched_chain_add_up_to_the_results() -> None:
    states = draw_states(robot("planar_point_mass"), 5)
    states |= {"q": 0 * states["q"], "v": abs(states["v"]), "a": 0 * states["a"]}
    pairs = sizes_and_results(robot("planar_point_mass"), states)
    for result in ("T", "com"):
        sizes, norms = pairs[result]
        assert np.allclose(sizes, norms, rtol=1e-12, atol=0)


@pytest.mark.parametrize(("links", "is_long"), [(100, False), (101, True)])
def test_loops_of_more_than_a_hundred_joints_are_checked_part_by_part(
    links: int, is_long: bool
) -> None:
    form = SimpleNamespace(looped=True)
    programs: Any = {"inverse_dynamics": form, "jacobian": SimpleNamespace(looped=False)}
    long_programs = long_loops(symgen.load(f"planar_point_mass:{links}"), programs)
    assert long_programs == ({"inverse_dynamics": form} if is_long else {})


def sizes_in(units: Units) -> dict[str, np.ndarray]:
    """Return the sizes of forces and of all results of the cart with an arm, and the results."""
    mechanism = cart_and_arm(units)
    states = {
        name: scaled(name, values, mechanism, units, {}).astype(float)
        for name, values in draw_states(mechanism, 5).items()
    }
    reference = Reference(mechanism, FLOAT, frame="hand")
    q, v, a, dt = (states[name] for name in ("q", "v", "a", "dt"))
    return {
        **total_sizes(reference, q, v, a, dt),
        "tau": force_sizes(reference, q, v, a),
        "value of tau": reference.evaluate("inverse_dynamics", {"q": q, "v": v, "a": a})["tau"],
        "value of T": reference.evaluate("kinetic_energy", {"q": q, "v": v})["T"],
        "value of U": reference.evaluate("potential_energy", {"q": q})["U"],
    }


def test_sizes_have_the_unit_of_their_results() -> None:
    """In other units, sizes of forces and of energies change by the factors of the results."""
    usual = sizes_in(USUAL)
    for units in UNITS.values():
        in_units = sizes_in(units)
        for result in ("tau", "T", "U"):
            factor = in_units[f"value of {result}"] / usual[f"value of {result}"]
            assert np.allclose(in_units[result] / usual[result], factor, rtol=1e-9, atol=0), units
        for result in ("p", "p_links", "com"):
            assert np.allclose(in_units[result], units.length * usual[result], rtol=1e-12)


@pytest.mark.parametrize(("unit", "h", "hdot"), [("mass", 4, 4), ("time", 1 / 4, 1 / 16)])
def test_momenta_have_sizes_that_follow_mass_and_time(unit: str, h: float, hdot: float) -> None:
    usual, in_units = sizes_in(USUAL), sizes_in(UNITS[unit])
    assert np.allclose(in_units["h"], h * usual["h"], rtol=1e-12)
    assert np.allclose(in_units["hdot"], hdot * usual["hdot"], rtol=1e-12)


def test_the_sizes_of_a_pendulum_are_known_in_closed_form() -> None:
    q, v, a, dt = (np.array([[x], [-2 * x]]) for x in (0.5, 3.0, -2.0, 0.0))
    reference = Reference(pendulum(), FLOAT, frame="bob")
    sizes = total_sizes(reference, q, v, a, dt[:, 0])
    speed, rise = np.abs(v[:, 0]) / 2, (np.abs(a[:, 0]) + v[:, 0] ** 2) / 2
    stir, norm, reach = np.abs(a[:, 0]) + v[:, 0] ** 2, np.sqrt(3) / 4, 2.5
    expected = {
        "T": 3 * speed**2 / 2 + norm * v[:, 0] ** 2 / 2,
        "U": 3 * 10 * reach + 0 * rise,
        "com": reach + 0 * rise,
        "p": 2 + 0 * rise,
        "h": 3 * speed + 2 * 3 * speed * reach + norm * np.abs(v[:, 0]),
        "hdot": 3 * (rise + 10) + 2 * 3 * (rise + 10) * reach + norm * stir,
    }
    for result, size in expected.items():
        np.testing.assert_allclose(sizes[result], size, rtol=1e-12, err_msg=result)
    # gravity accelerates the base
    forces = force_sizes(reference, q, v, a)[:, 0]
    wrench = 3 * (10 + rise)
    np.testing.assert_allclose(forces, norm * stir + wrench / 2, rtol=1e-12)

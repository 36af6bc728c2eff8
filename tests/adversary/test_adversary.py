"""First tries of every attack, and the runner's counts and kept files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import flint
import numpy as np
import pytest

from symgen.description.writers import mjcf
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.methods import providers
from symgen.pipeline import build
from symgen.pipeline.differentiation import _partials
from symgen.reference.precision import arb
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.poses import Angle, Shift, Turn
from tests import metamorphic
from tests.adversary import Failure, _drives, _newton_euler, _robots, conversions, mechanisms
from tests.adversary import __main__ as runner
from tests.shared.robots_for_tests import OF_ANY_ROBOT, random_mechanism

FIRST = {
    "certificates": 4,
    "compilers": 2,
    "conversions": 30,
    "crashes": 3,
    "folders": 4,
    "loops": 1,
    "mechanisms": 4,
    "metamorphic": 1,
    "readers": 1,
    "selftests": 4,
    "sines": 4,
}
"""Number of tries of each attack; the first robots of SEED are small."""
SEED = 1


@pytest.mark.slow
@pytest.mark.parametrize("attack", runner.attacks())
def test_the_first_tries_refute_no_claim(attack: str) -> None:
    module = import_module(f"tests.adversary.{attack}")
    assert module.WORD
    assert list(islice(module.tries(SEED), FIRST[attack])) == [None] * FIRST[attack]


def test_the_recursion_answers_for_every_function() -> None:
    assert set(_newton_euler.ANSWERS) == set(OF_ANY_ROBOT)


def test_the_kept_python_code_makes_the_same_robot() -> None:
    namespace: dict[str, Any] = {}
    robots = [_robots.mechanism(Random(seed)) for seed in range(6)]
    for robot in robots:
        exec(_robots.as_python(robot), namespace)
        assert namespace["robot"] == robot
    assert len({joint.kind for robot in robots for joint in robot.joints}) > 4


def failing_tries(*failures: Failure | None) -> Iterator[Failure | None]:
    yield from failures
    raise ValueError("no more")


def test_failures_are_counted_and_their_files_are_kept(tmp_path: Path) -> None:
    failure = Failure("two and two are five", {"case/robot.toml": "name = 'a'", "raw.bin": b"\xff"})
    outcome = runner.carry_out("sines", failing_tries(None, failure, None), 60, tmp_path)
    assert (outcome.tries, outcome.failures[0]) == (3, "two and two are five")
    assert outcome.failures[1:] == ["the attack itself broke: ValueError: no more"]
    failure_folder = tmp_path / "sines-1"
    assert (failure_folder / "case" / "robot.toml").read_text() == "name = 'a'"
    assert (failure_folder / "raw.bin").read_bytes() == b"\xff"
    assert "two and two are five" in (failure_folder / "failure.txt").read_text()
    assert runner.table([outcome])[-1].split(" | ")[2:4] == ["3", "2"]


def test_a_crash_of_the_process_of_an_attack_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner.sys, "executable", "/bin/false")
    outcome = runner.run_in_own_process("sines", 1, 0.1, tmp_path)
    assert outcome.failures == ["its process ended with 1 and said nothing"]


def test_round_off_of_pinocchio_at_a_result_of_zero_is_no_error() -> None:
    """A thin rod rotating about itself has no momentum; Pinocchio, at 1000 m, rounds to 1e-14."""
    over = Turn((Fraction(0), Fraction(-1), Fraction(0)), Angle(pi=Fraction(1)))
    away = (Shift((Fraction(641), Fraction(759), Fraction(615))), over)
    moments = (Fraction(100), Fraction(0), Fraction(0), Fraction(100), Fraction(0), Fraction(0))
    for at, function in (
        ((), "centroidal_momentum_matrix"),
        (away, "centroidal_momentum_matrix"),
        (away, "centroidal_momentum"),
    ):
        rod = Mechanism(
            "rod",
            (Joint("a", "revolute", -1, at),),
            (Body("b", (Part("b", (), Fraction(8), moments),)),),
            (Frame("b", 0),),
        )
        for method in providers(function):
            assert (
                mechanisms.attacked(
                    rod, function, method, ProgramOptions(frame="b"), TextOptions("libm"), 1
                )
                is None
            )


@pytest.mark.parametrize(
    "function",
    ["gravity_force:jvp", "gravity_force:vjp", "gravity_force:jacobian", "gravity_force:hvp"],
)
def test_a_planted_error_in_a_derivative_is_detected(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plant a wrong sign in the cosine's derivative; differences of the recursion detect it."""
    robot = random_mechanism(2, 1, "chain", ("revolute",))
    monkeypatch.setenv("SYMGEN_CACHE_PROGRAMS", "off")

    def attacked() -> Failure | None:
        build._build.cache_clear()
        return mechanisms.attacked(
            robot, function, None, ProgramOptions(frame="link1"), TextOptions("libm"), 1
        )

    try:
        assert attacked() is None
        monkeypatch.setitem(
            _partials.PARTIALS, "cos", lambda tape, value, a: [lambda: (tape.put("sin", a), False)]
        )
        failures = attacked()
        assert failures is not None
        assert "algebra" in failures.sentence
    finally:
        build._build.cache_clear()


def test_the_truncation_error_of_central_differences_is_no_error() -> None:
    nothing, scalars = np.array([flint.arb(0)]), arb(80)
    assert metamorphic._distance(
        nothing, np.array([flint.arb("1.5e-50")]), scalars, cancels=True
    ) == (False, "")
    assert metamorphic._distance(nothing, np.array([flint.arb("1.5e-44")]), scalars, cancels=True)[
        1
    ].startswith("off by")
    assert metamorphic._distance(nothing, np.array([flint.arb("1.5e-50")]), scalars, cancels=False)[
        1
    ]


@pytest.mark.slow
def test_a_planted_error_in_the_mjcf_writer_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    def failures() -> list[str]:
        return [
            failure.sentence
            for failure in islice(conversions.tries(SEED), 60)
            if failure is not None
        ]

    assert failures() == []
    monkeypatch.setattr(mjcf, "_DRIVE", mjcf._DRIVE | {"damping": "stiffness"})
    assert any("as mjcf: it is another robot" in sentence for sentence in failures())


def test_gravity_compensation_of_the_wrong_sign_is_detected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = random_mechanism(2, 1, "chain", ("revolute",))
    bodies = [
        replace(body, parts=(replace(body.parts[0], gravcomp=Fraction(1 + i, 3)),))
        for i, body in enumerate(mechanism.bodies)
    ]
    mechanism = replace(mechanism, bodies=tuple(bodies))
    arguments = mechanism, "bias_force", None, ProgramOptions(frame="link1"), TextOptions("libm"), 1
    assert mechanisms.attacked(*arguments) is None
    compensated_weight = _drives.compensated_weight
    monkeypatch.setattr(
        _drives, "compensated_weight", lambda at, q: [-x for x in compensated_weight(at, q)]
    )
    failures = mechanisms.attacked(*arguments)
    assert failures is not None
    assert "algebra" in failures.sentence

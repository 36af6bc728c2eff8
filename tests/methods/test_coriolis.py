"""The Coriolis matrix: closed forms, what it is asked for on every joint type, Pinocchio's word, and errors that are caught."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import symgen
from symgen.derivation.spatial import Matrix, Vector, transposed
from symgen.mechanism.joints import kinds
from symgen.mechanism.mechanism import Body, Frame, Joint, Mechanism, Part
from symgen.methods.composite_body import coriolis
from symgen.pipeline import build, derive
from symgen.reference.mechanics import Reference
from symgen.verification.evaluating import machine_runner
from symgen.vocabulary.poses import Shift
from tests.shared.robots_for_tests import draw, of_kind, random_mechanism

C, BOTH = "coriolis_matrix", "mass_matrix_coriolis_and_bias"
ALONE = (C, BOTH, "mass_matrix", "bias_force", "gravity_force")
ZERO = Fraction(0)


def body_in_space(centre: tuple[str, str, str] = ("0", "0", "0")) -> Mechanism:
    moments = (Fraction(2), ZERO, ZERO, Fraction(3), ZERO, Fraction(4))
    part = Part(
        "body",
        (Shift((Fraction(centre[0]), Fraction(centre[1]), Fraction(centre[2]))),),
        Fraction(5),
        moments,
    )
    return Mechanism(
        "body", (Joint("root", "free", -1),), (Body("body", (part,)),), (Frame("body", 0),)
    )


def test_a_body_that_turns_freely() -> None:
    """About its mass centre: m ω̃ and ½ (I ω̃ + ω̃ I − (I ω)~), by the Program and by the reference."""
    made = body_in_space()
    given = {name: draw(made, 3)[name] for name in ("q", "v")}
    found = [
        machine_runner(symgen.program(made, C))(given)["C"],
        Reference(made).evaluate(C, given)["C"],
    ]
    for state, v in enumerate(given["v"]):
        spin, inertia = _cross(v[3:]), np.diag([2.0, 3.0, 4.0])
        turning = (inertia @ spin + spin @ inertia - _cross(inertia @ v[3:])) / 2
        wanted = np.block([[5 * spin, np.zeros((3, 3))], [np.zeros((3, 3)), turning]])
        for one in found:
            np.testing.assert_allclose(one[state], wanted, atol=1e-13)


def _cross(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


@pytest.mark.parametrize("name", ["ur5", "scara"])
def test_joints_of_one_coordinate_have_christoffels_symbols(name: str) -> None:
    """½ ∂c/∂v, c being quadratic in v."""
    robot = symgen.load(name)
    bias, (q, v) = (
        machine_runner(symgen.program(robot, "bias_force")),
        (draw(robot, 2)[name] for name in ("q", "v")),
    )
    columns = [
        (bias({"q": q, "v": v + e})["c"] - bias({"q": q, "v": v - e})["c"]) / 4
        for e in np.eye(robot.nv)
    ]
    found = machine_runner(symgen.program(robot, C))({"q": q, "v": v})["C"]
    np.testing.assert_allclose(found, np.stack(columns, axis=-1), atol=1e-12)


def tree(types: Sequence[str]) -> Mechanism:
    made = random_mechanism(len(types), 4, "tree")
    return replace(
        made,
        joints=tuple(of_kind(joint, kind) for joint, kind in zip(made.joints, types, strict=True)),
    )


TREES = [tree(kinds()[::2]), tree(kinds()[1::2])]


@pytest.mark.parametrize(
    "made", TREES, ids=lambda made: "-".join(joint.kind for joint in made.joints)
)
def test_every_joint_type_keeps_what_it_is_asked_for(made: Mechanism) -> None:
    """Ṁ − 2C skew, C v = c − g, and C as Koszul's formula has it, to forty digits."""
    report = symgen.verify(made, ALONE, 1, compiled=False)
    assert report.passed
    titles = {check.subject for check in report.of("identities")}
    assert titles >= {
        "Ṁ = C + Cᵀ",
        "C v = c − g",
        "C beside M = C",
        "M beside C = M",
        "c beside C = c",
    }


def test_pinocchio_has_the_same_matrix() -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import example_robot_data as judges
    from tests.judges import of_models

    files = {judges.short(path): path for path in judges.files()}
    for name in (
        "panda_description/urdf/panda.urdf",
        "double_pendulum_description/urdf/double_pendulum.urdf",
    ):
        for base in ("fixed", "free"):
            found = of_models.of_file(files[name], base)
            assert set(found) == set(of_models.BY)
            assert max(found.values()) <= of_models.BOUND
    assert (
        max(
            of_models.of_trees(
                random_mechanism(4, 3, "tree", ("spherical", "planar", "free"))
            ).values()
        )
        <= of_models.BOUND
    )


Plant = Callable[[pytest.MonkeyPatch], None]


def couple_turned_round(patch: pytest.MonkeyPatch) -> None:
    """D for its transpose."""
    applied = coriolis.RelativeMotion.apply_E
    patch.setattr(
        coriolis.RelativeMotion, "apply_E", lambda self, w, transpose=False: applied(self, w)
    )


def shift_forgotten(patch: pytest.MonkeyPatch) -> None:
    """d ℓᵀ left out on the way to the parent."""
    zero: Callable[[Vector, Vector], Matrix] = lambda a, b: (a * 0, a * 0, a * 0)  # noqa: E731
    patch.setattr(coriolis, "outer", zero)


def shift_turned_round(patch: pytest.MonkeyPatch) -> None:
    """ℓ dᵀ in place of d ℓᵀ."""
    outer = coriolis.outer
    patch.setattr(coriolis, "outer", lambda a, b: transposed(outer(a, b)))


def roots_at_rest(patch: pytest.MonkeyPatch) -> None:
    """Origins do not move against each other."""
    velocities = coriolis.link_velocities

    def still(linkage: object) -> object:
        omega, speed = velocities(linkage)  # type: ignore[arg-type]
        return omega, [v * 0 for v in speed]

    patch.setattr(coriolis, "link_velocities", still)


@pytest.mark.parametrize(
    "plant", [couple_turned_round, shift_forgotten, shift_turned_round, roots_at_rest]
)
def test_an_error_in_the_method_is_caught_twice(
    monkeypatch: pytest.MonkeyPatch, plant: Plant
) -> None:
    made = random_mechanism(3, 11, "chain", ("revolute", "revolute", "prismatic"))
    plant(monkeypatch)
    program = derive.Attempt(made, C, "composite_body", build.ProgramOptions()).program()
    mass = build.program(made, "mass_matrix")
    from symgen.verification.steps import verify_programs
    from symgen.verification.subject import Subject

    report = verify_programs(
        Subject(made, {C: program, "mass_matrix": mass}, states=1, compiled=False)
    )
    failed = {check.kind for check in report.checks if not check.passed}
    assert {"algebra", "identities"} <= failed

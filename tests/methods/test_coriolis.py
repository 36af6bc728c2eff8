"""The Coriolis matrix: closed forms, identities on every joint type, Pinocchio as judge, and
planted errors.
"""

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


def test_the_coriolis_matrix_of_a_free_body_is_the_closed_form() -> None:
    """About its mass centre, C has the blocks m ω̃ and ½ (I ω̃ + ω̃ I − (I ω)~); Program and
    reference agree.
    """
    mechanism = body_in_space()
    states = {name: draw(mechanism, 3)[name] for name in ("q", "v")}
    matrices = [
        machine_runner(symgen.program(mechanism, C))(states)["C"],
        Reference(mechanism).evaluate(C, states)["C"],
    ]
    for state, v in enumerate(states["v"]):
        spin, inertia = _cross(v[3:]), np.diag([2.0, 3.0, 4.0])
        turning = (inertia @ spin + spin @ inertia - _cross(inertia @ v[3:])) / 2
        expected = np.block([[5 * spin, np.zeros((3, 3))], [np.zeros((3, 3)), turning]])
        for matrix in matrices:
            np.testing.assert_allclose(matrix[state], expected, atol=1e-13)


def _cross(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


@pytest.mark.parametrize("name", ["ur5", "scara"])
def test_the_coriolis_matrix_of_joints_with_one_coordinate_is_that_of_christoffel_symbols(
    name: str,
) -> None:
    """C = ½ ∂c/∂v, because the bias c is quadratic in v."""
    robot = symgen.load(name)
    bias, (q, v) = (
        machine_runner(symgen.program(robot, "bias_force")),
        (draw(robot, 2)[name] for name in ("q", "v")),
    )
    columns = [
        (bias({"q": q, "v": v + e})["c"] - bias({"q": q, "v": v - e})["c"]) / 4
        for e in np.eye(robot.nv)
    ]
    matrix = machine_runner(symgen.program(robot, C))({"q": q, "v": v})["C"]
    np.testing.assert_allclose(matrix, np.stack(columns, axis=-1), atol=1e-12)


def tree(types: Sequence[str]) -> Mechanism:
    mechanism = random_mechanism(len(types), 4, "tree")
    return replace(
        mechanism,
        joints=tuple(
            of_kind(joint, kind) for joint, kind in zip(mechanism.joints, types, strict=True)
        ),
    )


TREES = [tree(kinds()[::2]), tree(kinds()[1::2])]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", TREES, ids=lambda mechanism: "-".join(joint.kind for joint in mechanism.joints)
)
def test_every_joint_type_satisfies_the_identities_of_the_coriolis_matrix(
    mechanism: Mechanism,
) -> None:
    """Ṁ − 2C is skew-symmetric, C v = c − g, and C is that of Koszul's formula, to forty digits."""
    report = symgen.verify(mechanism, ALONE, 1, compiled=False)
    assert report.passed
    titles = {check.subject for check in report.of("identities")}
    assert titles >= {
        "Ṁ = C + Cᵀ",
        "C v = c − g",
        "C beside M = C",
        "M beside C = M",
        "c beside C = c",
    }


@pytest.mark.slow
def test_the_coriolis_matrix_equals_that_of_pinocchio() -> None:
    pytest.importorskip("pinocchio")
    from tests.judges import example_robot_data as judges
    from tests.judges import of_models

    files = {judges.short(path): path for path in judges.files()}
    for name in (
        "panda_description/urdf/panda.urdf",
        "double_pendulum_description/urdf/double_pendulum.urdf",
    ):
        for base in ("fixed", "free"):
            errors = of_models.of_file(files[name], base)
            assert set(errors) == set(of_models.BY)
            assert max(errors.values()) <= of_models.BOUND
    assert (
        max(
            of_models.of_trees(
                random_mechanism(4, 3, "tree", ("spherical", "planar", "free"))
            ).values()
        )
        <= of_models.BOUND
    )


Plant = Callable[[pytest.MonkeyPatch], None]


def transposed_couple(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: D is used in place of its transpose."""
    applied = coriolis.RelativeMotion.apply_E
    patch.setattr(
        coriolis.RelativeMotion, "apply_E", lambda self, w, transpose=False: applied(self, w)
    )


def missing_shift(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: the shift to the parent lacks d ℓᵀ."""
    zero: Callable[[Vector, Vector], Matrix] = lambda a, b: (a * 0, a * 0, a * 0)  # noqa: E731
    patch.setattr(coriolis, "outer_product", zero)


def transposed_shift(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: the shift to the parent has ℓ dᵀ in place of d ℓᵀ."""
    outer_product = coriolis.outer_product
    patch.setattr(coriolis, "outer_product", lambda a, b: transposed(outer_product(a, b)))


def fixed_origins(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: origins of links do not move relative to each other."""
    velocities = coriolis.link_velocities

    def still(linkage: object) -> object:
        omega, speed = velocities(linkage)  # type: ignore[arg-type]
        return omega, [v * 0 for v in speed]

    patch.setattr(coriolis, "link_velocities", still)


@pytest.mark.parametrize(
    "plant", [transposed_couple, missing_shift, transposed_shift, fixed_origins]
)
def test_an_error_in_the_coriolis_method_is_caught_by_algebra_and_identities(
    monkeypatch: pytest.MonkeyPatch, plant: Plant
) -> None:
    mechanism = random_mechanism(3, 11, "chain", ("revolute", "revolute", "prismatic"))
    plant(monkeypatch)
    program = derive.Attempt(mechanism, C, "composite_body", build.ProgramOptions()).program()
    mass = build.program(mechanism, "mass_matrix")
    from symgen.verification.steps import verify_programs
    from symgen.verification.subject import Subject

    report = verify_programs(
        Subject(mechanism, {C: program, "mass_matrix": mass}, states=1, compiled=False)
    )
    failed = {check.kind for check in report.checks if not check.passed}
    assert {"algebra", "identities"} <= failed


def test_wrenches_on_a_link_and_its_descendants_add_up() -> None:
    """c beside C is the bias force, whose wrenches go inward with the forces of inertia."""
    chain = replace(random_mechanism(3, 4), name="chain")
    links = ("link0", "link1", "link2")
    states = draw(chain, 2, wrench=links)
    free = machine_runner(symgen.program(chain, BOTH))(states)["c"]
    bias, beside = (
        machine_runner(symgen.program(chain, function, wrench=links))(states)["c"]
        for function in ("bias_force", BOTH)
    )
    np.testing.assert_allclose(beside, bias, atol=1e-12)
    assert np.abs(beside - free).min() > 1e-3

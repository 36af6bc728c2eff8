"""Contacts that may be active or inactive: identities, Pinocchio as judge, names, refusals and
planted errors.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.derivation import constants
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import reframe
from symgen.derivation.scalars import Derivation
from symgen.derivation.spatial import Vector
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.newton_euler import contact_equations
from symgen.methods.shared import constrained
from symgen.methods.shared import contacts as _contacts
from symgen.pipeline import build, derive
from symgen.pipeline.choose import methods_for
from symgen.pipeline.layout import PLAIN, Layout
from symgen.reference import contacts
from symgen.reference.mechanics import Reference
from symgen.reference.precision import arb
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, RequestError, UnknownName
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import machine_runner, scalar_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.contacts import Contact, parse_contact, validate_contacts
from symgen.vocabulary.options import ProgramOptions
from tests.shared.contact_cases import DYNAMICS, IMPACT, driven, undone
from tests.shared.robots_for_tests import BALLS, draw, random_mechanism, run

AROUND = ("forward_dynamics", "inverse_dynamics", "kinetic_energy")
FEET = [f"{leg}_FOOT" for leg in ("FL", "FR", "HL", "HR")]
FOUR_POINTS = [f"link1:{x},{y},-0.1" for x in ("0.1", "-0.1") for y in ("0.05", "-0.05")]
"""The corners of one rigid foot."""


@cache
def robot(name: str) -> Mechanism:
    if name == "tree":
        return random_mechanism(5, 2, "tree", ("revolute", "prismatic"))
    if name == "arm":
        return random_mechanism(3, 2)
    if name == "on a free joint":
        return random_mechanism(2, 4, "chain", ("free", "revolute"))
    return symgen.load(name)


@cache
def program(name: str, function: str, *points: str) -> Program:
    return symgen.program(robot(name), function, contact=list(points))


# -- laws of mechanics -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "points", "method"),
    [
        ("tree", ("link4", "link3:0.1,0,-0.2"), "composite_body"),
        ("on a free joint", ("link1:0,0.1,0.3",), "riccati"),
    ],
)
def test_contact_dynamics_satisfy_their_identities(
    name: str, points: tuple[str, ...], method: str
) -> None:
    """Payload and wrench are included. The tree has too few joints to hold all points at once."""
    requests = [f"{function}={method}" for function in (DYNAMICS, IMPACT)] + list(AROUND)
    report = symgen.verify(
        robot(name),
        requests,
        4,
        payload=points[0].partition(":")[0],
        wrench="link1",
        contact=list(points),
        compiled=False,
    )
    assert report.passed, str(report)
    assert (
        len(
            [
                check
                for check in report.checks
                if "contact" in check.subject and check.kind == "identities"
            ]
        )
        >= 4
    )


POINTS = ("link4", "link3:0.1,0,-0.2", "link0:0,0.3,0.1")


def point_equations(
    mechanism: Mechanism, names: tuple[str, ...] = POINTS, layout: Layout = PLAIN
) -> Program:
    """Return rows, accelerations and residuals of these contacts, in base axes where they are
    vectors.
    """
    n, sizes = mechanism.nv, 3 * len(names)
    inputs = {"q": n, "v": n, "a": n, "forces": sizes, "v_after": n, "impulses": sizes, "lambda": 0}
    with constants.precision():
        derivation = Derivation(inputs)
        linkage = Linkage(layout.lay(reframe(mechanism)), derivation)
        ends = [mechanism.contact(point) for point in names]
        linkage.contacts = tuple(
            linkage.model.frame_at(end.name, end.body, end.pose) for end in ends
        )
        paths = _contacts.contact_paths(linkage)

        def in_base(vectors: list[Any]) -> list[Any]:
            pairs = zip(paths, range(0, sizes, 3), strict=True)
            return [
                x
                for path, k in pairs
                for x in _contacts.in_base_axes(linkage, path, vectors[k : k + 3])
            ]

        rows = _contacts.constraint_rows(linkage)
        columns = [in_base([row[k] for row in rows]) for k in range(n)]
        net_forces, _, accelerations = contact_equations.contact_equation(linkage)
        net_impulses, _, velocities = contact_equations.impact_equation(linkage)
        results = {
            "J": [column[r] for r in range(sizes) for column in columns],
            "net_forces": net_forces,
            "accelerations": in_base(accelerations),
            "net_impulses": net_impulses,
            "velocities": in_base(velocities),
        }
        return derivation.freeze(
            "f",
            "m",
            [(name, (len(x),), x) for name, x in results.items()],
            {name: (size,) for name, size in inputs.items()},
        )


@pytest.mark.parametrize("kind", ["tree", "chain"])
def test_equations_of_contacts_hold_for_the_points_as_frames(kind: str) -> None:
    """M a + c − Jᵀ f and M (v⁺ − v) − Jᵀ p, and J a + J̇ v and J v⁺ of the points."""
    mechanism = random_mechanism(5, 2, kind, ("revolute", "prismatic"))
    points = [mechanism.contact(point) for point in POINTS]
    frames = tuple(replace(point, name=f"point{k}") for k, point in enumerate(points))
    mechanism = replace(mechanism, frames=(*mechanism.frames, *frames))
    states = draw(mechanism, 1, BALLS)
    q, v, a, v_after = (states[name] for name in ("q", "v", "a", "tau"))
    with BALLS.working():
        forces, impulses = BALLS.array([[3, 1, 4, 1, 5, 9, 2, 6, 5]]), BALLS.array([[*range(9)]])
    arguments = {
        "q": q,
        "v": v,
        "a": a,
        "forces": forces,
        "v_after": v_after,
        "impulses": impulses,
        "lambda": np.zeros((1, 0)),
    }
    results = {name: x[0] for name, x in run(point_equations(mechanism), arguments, BALLS).items()}
    with BALLS.working():
        J, drift = [], []
        for frame in frames:
            reference = Reference(mechanism, BALLS, frame=frame.name)
            J.append(reference.evaluate("jacobian", {"q": q})["J"][0][3:])
            drift.append(reference.evaluate("bias_acceleration", {"q": q, "v": v})["Jdot_v"][0][3:])
        rows, bias = np.concatenate(J), np.concatenate(drift)
        mass, c = (
            reference.mass_matrix(q)[0],
            reference.evaluate("bias_force", {"q": q, "v": v})["c"][0],
        )
        expected = {
            "J": rows.reshape(-1),
            "accelerations": rows @ a[0] + bias,
            "velocities": rows @ v_after[0],
            "net_forces": mass @ a[0] + c - rows.T @ forces[0],
            "net_impulses": mass @ (v_after[0] - v[0]) - rows.T @ impulses[0],
        }
        for name, exact in expected.items():
            assert np.abs(results[name] - exact).max() < 1e-35, name


def test_equations_of_contacts_do_not_depend_on_shared_axes() -> None:
    """The upper arm and the forearm of a UR5 turn about parallel axes, and may share axes and
    planes.
    """
    arm, names = (
        symgen.load("ur5"),
        ("forearm_link:0.1,0.2,0.3", "wrist_2_link", "upper_arm_link:0,0,1"),
    )
    shared = Layout(((1, -1), (2, -1)), ((1, -1), (2, 1), (3, 1)))
    states = draw(arm, 1)
    random = np.random.default_rng(3)
    arguments = {
        **{name: states[name] for name in ("q", "v", "a")},
        "v_after": states["tau"],
        **{name: random.uniform(-1, 1, (1, 9)) for name in ("forces", "impulses")},
        "lambda": np.zeros((1, 0)),
    }
    plain, in_shared_axes = (
        run(point_equations(arm, names, layout), arguments) for layout in (PLAIN, shared)
    )
    for name, values in plain.items():
        np.testing.assert_allclose(in_shared_axes[name], values, atol=1e-10)


@pytest.mark.slow
def test_every_method_with_a_factor_computes_contacts_to_forty_digits() -> None:
    """With mimic joints, only `composite_body` is required."""
    coupled = symgen.load(
        "panda", lock={f"panda_joint{k}": None for k in (1, 2, 3, 5, 7)}, mimic="couple"
    )
    for mechanism, point in (
        (robot("arm"), "link2:0,0.1,0.3"),
        (coupled, "panda_leftfinger:0,0,0.1"),
    ):
        exact_results, capable_methods = (
            ExactResults(mechanism, 3, 2, contact=point),
            methods_for(mechanism, DYNAMICS),
        )
        assert "composite_body" in capable_methods
        assert len(capable_methods) > 5 or mechanism is coupled
        for method in capable_methods:
            dynamics = symgen.program(mechanism, DYNAMICS, method, contact=point)
            assert check_algebra(dynamics, exact_results, method).passed, (mechanism.name, method)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["jacobian", "jvp", "vjp", "hvp"])
def test_derivatives_of_contact_dynamics_equal_the_reference(mode: str) -> None:
    """Derivatives are exact to 1e-40, with redundant contacts as well.

    With redundant contacts symgen differentiates the formula, otherwise the equation.
    """
    mechanism = driven(robot("arm")) if mode == "jvp" else robot("arm")
    for points in (["link2:0,0.1,0.3"], *([["link1", "link2:0,0,0.3"]] if mode == "vjp" else [])):
        options = ProgramOptions(contact=points)
        programs = {
            name: build.build_program(mechanism, name, "composite_body", options)
            for name in (
                f"{DYNAMICS}:{mode}",
                *([f"{IMPACT}:{mode}"] if mode in ("jvp", "vjp") else []),
            )
        }
        report = verify_programs(Subject(mechanism, programs, options, states=2, compiled=False))
        assert report.passed, str(report)


@pytest.mark.slow
def test_derivatives_by_the_equation_are_cheaper_and_the_equation_is_internal() -> None:
    by_equation, rows = (
        program("ur5", f"{DYNAMICS}:jacobian", "wrist_3_link"),
        program("ur5", DYNAMICS, "wrist_3_link"),
    )
    assert by_equation.cost < 0.8 * symgen.derivative(rows, "q,v,tau").cost
    assert [port.name for port in by_equation.inputs] == ["q", "v", "tau", "active"]
    with pytest.raises(RequestError, match="is an internal equation of derivatives"):
        symgen.program("ur5", "contact_equation", contact="wrist_3_link")
    with pytest.raises(
        UnknownName, match="no argument of contact_forward_dynamics is named 'active'"
    ):
        symgen.program("ur5", f"{DYNAMICS}:jacobian(active)", contact="wrist_3_link")
    with pytest.raises(UnknownName, match="no argument"):
        symgen.derivative(rows, "active")


@pytest.mark.slow
def test_the_momentum_rate_is_the_contact_forces_plus_the_weight() -> None:
    """Only contacts and gravity act on the free-floating quadruped; each state has other feet on
    the ground.
    """
    mechanism, states = (
        robot("quadruped"),
        {name: x.astype(float) for name, x in draw_states(robot("quadruped"), 6, 5).items()},
    )
    states["tau"][:, :6] = 0
    active = np.array(
        [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 1]],
        dtype=float,
    )
    inputs = {name: states[name] for name in ("q", "v", "tau")}
    results = machine_runner(program("quadruped", DYNAMICS, *FEET))(inputs | {"active": active})
    rate = machine_runner(symgen.program(mechanism, "centroidal_momentum_rate"))(
        {"q": states["q"], "v": states["v"], "a": results["a"]}
    )["hdot"]
    mass = float(sum(body.mass for body in mechanism.bodies))
    centre = machine_runner(symgen.program(mechanism, "center_of_mass"))({"q": states["q"]})["com"]
    feet = machine_runner(symgen.program(mechanism, "forward_kinematics", frame=FEET))(
        {"q": states["q"]}
    )["p"]
    force = results["forces"].sum(axis=1) + mass * np.array([float(x) for x in mechanism.gravity])
    moment = np.cross(feet - centre[:, None], results["forces"]).sum(axis=1)
    assert np.abs(rate - np.concatenate([moment, force], axis=-1)).max() < 1e-9 * np.abs(rate).max()
    assert (results["forces"][active == 0] == 0).all()


@pytest.mark.slow
def test_a_rigid_foot_at_rest_has_minimum_norm_forces() -> None:
    """The twelve force components have rank six: they are the least-squares solution, and the foot
    does not accelerate.
    """
    mechanism = random_mechanism(2, 4, "chain", ("free", "revolute"))
    assert contacts.redundant(mechanism, tuple(FOUR_POINTS))
    assert not contacts.redundant(mechanism, tuple(FOUR_POINTS[:1]))
    run = machine_runner(symgen.program(mechanism, DYNAMICS, contact=FOUR_POINTS))
    states = {name: x.astype(float) for name, x in draw_states(mechanism, 4, 1).items()}
    q, tau = states["q"], states["tau"]
    results = run({"q": q, "v": 0 * tau, "tau": tau, "active": np.ones((4, 4))})
    exact_results = ExactResults(mechanism, 4, 1, contact=FOUR_POINTS)
    A, forces = contacts.jacobian(exact_results.rough, q), results["forces"].reshape(4, -1)
    assert np.abs(A @ results["a"][..., None]).max() < 1e-10 * np.abs(results["a"]).max()
    for jacobian, f in zip(A, forces, strict=True):
        minimum_norm = np.linalg.pinv(jacobian.T) @ (jacobian.T @ f)
        assert (
            np.abs(minimum_norm - f).max() < 1e-8 * np.abs(f).max()
        )  # the null space is damped by 1e-6, which amplifies round-off


@pytest.mark.parametrize("corners", [2, 4])
def test_redundant_contacts_cost_the_accelerations_no_digits(corners: int) -> None:
    """The distribution of a force over the corners of one foot has fewer digits than the
    accelerations.
    """
    mechanism = robot("on a free joint")
    dynamics = symgen.program(mechanism, DYNAMICS, "riccati", contact=FOUR_POINTS[:corners])
    states = {name: draw_states(mechanism, 4, 1)[name].astype(float) for name in ("q", "v", "tau")}
    states |= {"v": 0 * states["v"], "active": np.ones((4, corners))}
    scalars = arb(60)
    exact = scalar_runner(scalars, dynamics)(
        {name: scalars.array(x) for name, x in states.items()}
    )["a"].astype(float)
    assert (
        np.abs(machine_runner(dynamics)(states)["a"] - exact).max(axis=1)
        < 1e-13 * np.abs(exact).max(axis=1)
    ).all()


# -- Pinocchio -------------------------------------------------------------------------------------


class Pinocchio:
    """The built-in quadruped in Pinocchio, with contacts at its active feet."""

    def __init__(self) -> None:
        from symgen.benchmarks.peers import pinocchio as peer

        self.pin: Any = pytest.importorskip("pinocchio")
        self.model, ids = peer.built(robot("quadruped"))
        frames = [robot("quadruped").contact(foot) for foot in FEET]
        poses = ExactResults(robot("quadruped"), 1).rough.pose
        self.feet = [(ids[frame.body], self.pin.SE3(*poses(frame.pose))) for frame in frames]
        self.data, self.settings = self.model.createData(), self.pin.ProximalSettings(1e-14, 0.0, 1)

    def constraint_models(self, active: np.ndarray) -> tuple[Any, Any]:
        pin = self.pin
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for (joint, seat), is_active in zip(self.feet, active, strict=True):
            if is_active:
                model = pin.RigidConstraintModel(
                    pin.ContactType.CONTACT_3D,
                    self.model,
                    joint,
                    seat,
                    pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
                )
                models.append(model)
                datas.append(model.createData())
        pin.initConstraintDynamics(self.model, self.data, models, datas)
        return models, datas

    def jacobian(self, q: np.ndarray, active: np.ndarray) -> np.ndarray:
        pin, rows = self.pin, []
        pin.computeJointJacobians(self.model, self.data, q)
        for (joint, seat), is_active in zip(self.feet, active, strict=True):
            if is_active:
                turn = (self.data.oMi[joint] * seat).rotation
                local_jacobian = seat.inverse().action @ pin.getJointJacobian(
                    self.model, self.data, joint, pin.LOCAL
                )
                rows.append(turn @ local_jacobian[:3])
        return np.vstack(rows)


PATTERNS = ((1, 1, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0))


@pytest.mark.slow
def test_accelerations_forces_impulses_and_derivatives_equal_pinocchio() -> None:
    judge, random = Pinocchio(), np.random.default_rng(3)
    pin, model, data = judge.pin, judge.model, judge.data
    dynamics, impact, derivative = (
        machine_runner(program("quadruped", name, *FEET))
        for name in (DYNAMICS, IMPACT, f"{DYNAMICS}:jvp")
    )
    for pattern in PATTERNS:
        active = np.array(pattern, dtype=float)
        q = pin.integrate(model, pin.neutral(model), random.uniform(-1, 1, model.nv))
        v, tau, dq, dv, dtau = random.uniform(-2, 2, (5, model.nv))
        constraints = judge.constraint_models(active)
        states = {
            name: x[None] for name, x in {"q": q, "v": v, "tau": tau, "active": active}.items()
        }
        results = dynamics(states)
        close(
            results["a"][0],
            pin.constraintDynamics(model, data, q, v, tau, *constraints, judge.settings),
        )
        close(results["forces"][0][active == 1].ravel(), data.lambda_c)
        pin.computeConstraintDynamicsDerivatives(model, data, *constraints, judge.settings)
        derivatives = derivative(states | {"dq": dq[None], "dv": dv[None], "dtau": dtau[None]})
        close(derivatives["da"][0], data.ddq_dq @ dq + data.ddq_dv @ dv + data.ddq_dtau @ dtau)
        close(
            derivatives["dforces"][0][active == 1].ravel(),
            data.dlambda_dq @ dq + data.dlambda_dv @ dv + data.dlambda_dtau @ dtau,
        )
        impact_results = impact({name: states[name] for name in ("q", "v", "active")})
        close(
            impact_results["v_after"][0],
            pin.impulseDynamics(model, data, q, v, judge.jacobian(q, active), 0.0, 0.0),
        )
        close(impact_results["impulses"][0][active == 1].ravel(), data.impulse_c)


def close(actual: np.ndarray, expected: Any) -> None:
    expected = np.array(expected)
    assert np.abs(actual - expected).max() < 1e-9 * np.abs(expected).max()


# -- contact points --------------------------------------------------------------------------------


def test_contact_points_are_parsed_as_exact_decimals() -> None:
    assert parse_contact("foot") == Contact("foot")
    assert parse_contact("foot:0.1, -2e-2,.5") == Contact(
        "foot", (Fraction(1, 10), Fraction(-1, 50), Fraction(1, 2))
    )
    assert parse_contact("arm:tip") == Contact("arm:tip")
    assert parse_contact("arm:tip:0,0,1") == Contact(
        "arm:tip", (Fraction(0), Fraction(0), Fraction(1))
    )
    assert validate_contacts(["foot: 0, 0,1", "foot"]) == ("foot:0,0,1", "foot")
    for wrong in ("foot:0,0", "foot:1", "foot:0,0,x", "foot:0,0,1e999", "foot:0,0,1,2"):
        with pytest.raises(ArgumentError, match="three numbers"):
            parse_contact(wrong)
    with pytest.raises(ArgumentError, match="are the same point"):
        ProgramOptions(contact=["foot", "foot:0,0,0.0"])
    with pytest.raises(ArgumentError, match="no contact is named"):
        ProgramOptions(contact=())


def test_a_missing_or_wrong_contact_is_refused_in_one_sentence() -> None:
    with pytest.raises(RequestError, match=r"needs contact points; name each with --contact LINK"):
        symgen.program("quadruped", DYNAMICS)
    with pytest.raises(UnknownName, match="no link is named 'FOOT'"):
        symgen.program("quadruped", DYNAMICS, contact="FOOT")
    with pytest.raises(ArgumentError, match="the base does not move"):
        symgen.program("panda", IMPACT, contact="panda_link0")


ROD = """<robot name="pin"><link name="base"/>
  <link name="rod"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="tip"/>
  <joint name="j" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="f" type="fixed"><origin xyz="0.4 0 0"/><parent link="rod"/><child link="tip"/>
  </joint></robot>"""


@pytest.mark.parametrize("points", [("rod",), ("rod:0,0.3,0",), ("rod:1e-7,0,0",), ("tip", "rod")])
@pytest.mark.parametrize("function", [DYNAMICS, IMPACT])
def test_a_contact_that_no_joint_moves_is_refused_by_name(
    points: tuple[str, ...], function: str
) -> None:
    message = (
        f"contact '{re.escape(points[-1])}' of 'pin': no joint moves this point, .*; choose another"
        " point with --contact rod:x,y,z"
    )
    with pytest.raises(ArgumentError, match=message):
        build.program(symgen.load(ROD), function, contact=points)


@pytest.mark.parametrize("points", [("tip",), ("tip", "rod:0.4,0,0"), ("tip", "rod:0.4,0.1,0")])
def test_zero_and_repeated_contact_rows_have_minimum_norm_forces(points: tuple[str, ...]) -> None:
    """The rod does not move for any number of repeated contacts; the forces act along its circle
    only.
    """
    solver = symgen.compile(symgen.load(ROD), [DYNAMICS, IMPACT], contact=points)
    q, v, tau, active = [0.3], [0.7], [2.0], [1] * len(points)
    a, forces = solver.contact_forward_dynamics(q, [0.0], tau, active)
    assert np.abs(a).max() < 1e-10
    moment = 2.0 + 9.81 * 1.5 * 0.2 * np.cos(0.3)  # about the y axis; gravity increases q
    lever = 0.4 * np.array([-np.sin(0.3), 0, -np.cos(0.3)])
    assert np.allclose(forces, -moment * lever / (len(points) * 0.16), atol=1e-8)
    after, impulses = solver.contact_impulse(q, v, active)
    assert np.abs(after).max() < 1e-10
    assert np.allclose(impulses, impulses[0], atol=1e-8)


def test_functions_without_contacts_do_not_depend_on_the_option() -> None:
    assert DYNAMICS not in build.requested(robot("quadruped"), None)
    without_option = build.build_program(robot("scara"), "mass_matrix", None, ProgramOptions())
    assert (
        build.build_program(robot("scara"), "mass_matrix", None, ProgramOptions(contact="link4"))
        == without_option
    )


@pytest.mark.slow
def test_a_folder_stores_its_contacts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Header, manifest, README and the command that regenerates the folder contain the contacts."""
    out = tmp_path / "scara"
    words = [
        "generate",
        "scara",
        "-f",
        DYNAMICS,
        "-f",
        IMPACT,
        "--contact",
        "link4:0,0,-0.1",
        "--checked",
        "--batch",
    ]
    assert main([*words, "-o", str(out)]) == 0
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["options"]["contact"] == ["link4:0,0,-0.1"]
    command = shlex.split(manifest["command"])
    assert command[command.index("--contact") + 1] == "link4:0,0,-0.1"
    header, page = ((out / name).read_text(encoding="utf-8") for name in ("scara.h", "README.md"))
    assert "#define scara_NT 1" in header
    assert "the contacts, in order: link4:0,0,-0.1" in header
    assert "they may lie outside the friction cone" in page
    assert (
        "Friction, motors, gears, elasticity and everything else" in page
    )  # contact is not listed as neglected
    capsys.readouterr()
    assert main(["verify", str(out), "--states", "3"]) == 0
    assert main(["verify", str(out), "--contact", "link4"]) == 2
    assert "--contact does not apply" in capsys.readouterr().err


# -- planted errors --------------------------------------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]


def gravity_ignored(patch: pytest.MonkeyPatch) -> None:
    """Plant an error: the accelerations of contact points lack gravity."""
    original = _contacts.contact_acceleration
    patch.setattr(
        _contacts,
        "contact_acceleration",
        lambda *arguments, gravity=True: original(*arguments, gravity=False),
    )


def first_column_doubled(patch: pytest.MonkeyPatch) -> None:
    original = _contacts._columns

    def columns_with_error(linkage: Any, contact: Any) -> Any:
        columns = original(linkage, contact)
        first = next(iter(columns))
        return columns | {first: columns[first] * 2}

    patch.setattr(_contacts, "_columns", columns_with_error)


def inactive_rows_used(patch: pytest.MonkeyPatch) -> None:
    original = constrained.BorderedFactor.__init__
    patch.setattr(
        constrained.BorderedFactor,
        "__init__",
        lambda self, factor, rows, active, solves: original(
            self, factor, rows, [factor.linkage.one for _ in active], solves
        ),
    )


def forces_in_link_axes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_contacts, "in_base_axes", lambda linkage, contact, force: list(force))


def forces_negated(patch: pytest.MonkeyPatch) -> None:
    original = constrained.BorderedFactor.constraint_forces
    patch.setattr(
        constrained.BorderedFactor,
        "constraint_forces",
        lambda self, right: [-x for x in original(self, right)],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant",
    [
        gravity_ignored,
        first_column_doubled,
        inactive_rows_used,
        forces_in_link_axes,
        forces_negated,
    ],
)
def test_a_planted_error_is_caught_by_algebra_and_identities(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone(monkeypatch)
    plant(monkeypatch)
    options, mechanism = ProgramOptions(contact="link1:0,0.1,0.3"), robot("on a free joint")
    programs = {
        name: build.build_program(mechanism, name, method, options)
        for name, method in (
            (DYNAMICS, "composite_body"),
            ("inverse_dynamics", None),
            ("forward_dynamics", None),
        )
    }
    report = verify_programs(Subject(mechanism, programs, options, states=2, compiled=False))
    build._build.cache_clear()
    derive._attempt.cache_clear()
    failed = {
        (check.kind, check.subject.partition("=")[0] if check.kind != "identities" else "")
        for check in report.failures
    }
    assert {kind for kind, _ in failed} >= {"algebra", "identities"}, str(report)


def moments_ignored(patch: pytest.MonkeyPatch) -> None:
    original = contact_equations._loaded

    def without_moments(linkage: Any, *arguments: Any) -> Any:
        return [(Vector(linkage.zeros), force) for _, force in original(linkage, *arguments)]

    patch.setattr(contact_equations, "_loaded", without_moments)


def gravity_ignored_in_equation(patch: pytest.MonkeyPatch) -> None:
    original = contact_equations.contact_acceleration
    patch.setattr(
        contact_equations,
        "contact_acceleration",
        lambda *arguments, gravity=True: original(*arguments, gravity=False),
    )


@pytest.mark.parametrize("plant", [moments_ignored, gravity_ignored_in_equation])
def test_a_planted_error_in_the_equation_is_caught_in_the_derivative(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone(monkeypatch)
    plant(monkeypatch)
    options, mechanism = ProgramOptions(contact="link2:0,0.1,0.3"), robot("arm")
    programs = {
        name: build.build_program(mechanism, name, "composite_body", options)
        for name in (f"{DYNAMICS}:jvp", DYNAMICS)
    }
    report = verify_programs(Subject(mechanism, programs, options, states=2, compiled=False))
    build._build.cache_clear()
    derive._attempt.cache_clear()
    failed = [(check.kind, check.subject) for check in report.failures]
    assert [kind for kind, subject in failed if subject.startswith(f"{DYNAMICS}:jvp")] == [
        "algebra",
        "floating",
        "identities",
    ], str(report)

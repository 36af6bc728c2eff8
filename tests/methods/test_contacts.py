"""Contacts that come and go: verified on many robots, judged by Pinocchio, named and refused, and errors that are caught."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.derivation.spatial import Vector
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.newton_euler import contact_equations
from symgen.methods.shared import constrained
from symgen.methods.shared import contacts as _contacts
from symgen.pipeline import build, derive
from symgen.pipeline.choose import methods_for
from symgen.reference import contacts
from symgen.reference.precision import arb
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, RequestError, UnknownName
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import machine_runner, scalar_runner
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.verification.truth import Truth
from symgen.vocabulary.contacts import Contact, parse_contact, validate_contacts
from symgen.vocabulary.options import ProgramOptions
from tests.shared.contact_cases import DYNAMICS, IMPACT, driven, undone
from tests.shared.robots_for_tests import random_mechanism

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


# -- what they obey ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "points", "method"),
    [
        ("tree", ("link4", "link3:0.1,0,-0.2"), "composite_body"),
        ("on a free joint", ("link1:0,0.1,0.3",), "riccati"),
    ],
)
def test_they_are_what_they_are_asked_for(name: str, points: tuple[str, ...], method: str) -> None:
    """With a load and a wrench. The tree cannot hold all points at once."""
    asked = [f"{function}={method}" for function in (DYNAMICS, IMPACT)] + list(AROUND)
    report = symgen.verify(
        robot(name),
        asked,
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


def test_every_method_that_takes_m_apart_has_them_to_forty_digits() -> None:
    """Where joints follow others, that is one."""
    coupled = symgen.load(
        "panda", lock={f"panda_joint{k}": None for k in (1, 2, 3, 5, 7)}, mimic="couple"
    )
    for made, point in ((robot("arm"), "link2:0,0.1,0.3"), (coupled, "panda_leftfinger:0,0,0.1")):
        truth, able = Truth(made, 3, 2, contact=point), methods_for(made, DYNAMICS)
        assert "composite_body" in able
        assert len(able) > 5 or made is coupled
        for method in able:
            found = symgen.program(made, DYNAMICS, method, contact=point)
            assert check_algebra(found, truth, method).passed, (made.name, method)


@pytest.mark.parametrize("mode", ["jacobian", "jvp", "vjp", "hvp"])
def test_their_derivatives_are_exact(mode: str) -> None:
    """To 1e-40, those of forces that do nothing among them: there the formula is differentiated, elsewhere the equation."""
    made = driven(robot("arm")) if mode == "jvp" else robot("arm")
    for points in (["link2:0,0.1,0.3"], *([["link1", "link2:0,0,0.3"]] if mode == "vjp" else [])):
        options = ProgramOptions(contact=points)
        found = {
            name: build.build_program(made, name, "composite_body", options)
            for name in (
                f"{DYNAMICS}:{mode}",
                *([f"{IMPACT}:{mode}"] if mode in ("jvp", "vjp") else []),
            )
        }
        report = verify_programs(Subject(made, found, options, states=2, compiled=False))
        assert report.passed, str(report)


def test_the_equation_is_shorter_than_the_rows_and_nobody_asks_for_it() -> None:
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


def test_the_momentum_changes_by_the_forces_and_the_weight() -> None:
    """Of a robot that nothing else holds: a quadruped, some of whose feet stand."""
    made, drawn = (
        robot("quadruped"),
        {name: x.astype(float) for name, x in draw_states(robot("quadruped"), 6, 5).items()},
    )
    drawn["tau"][:, :6] = 0
    active = np.array(
        [[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 1]],
        dtype=float,
    )
    given = {name: drawn[name] for name in ("q", "v", "tau")}
    found = machine_runner(program("quadruped", DYNAMICS, *FEET))(given | {"active": active})
    rate = machine_runner(symgen.program(made, "centroidal_momentum_rate"))(
        {"q": drawn["q"], "v": drawn["v"], "a": found["a"]}
    )["hdot"]
    mass = float(sum(body.mass for body in made.bodies))
    centre = machine_runner(symgen.program(made, "center_of_mass"))({"q": drawn["q"]})["com"]
    feet = machine_runner(symgen.program(made, "forward_kinematics", frame=FEET))(
        {"q": drawn["q"]}
    )["p"]
    force = found["forces"].sum(axis=1) + mass * np.array([float(x) for x in made.gravity])
    moment = np.cross(feet - centre[:, None], found["forces"]).sum(axis=1)
    assert np.abs(rate - np.concatenate([moment, force], axis=-1)).max() < 1e-9 * np.abs(rate).max()
    assert (found["forces"][active == 0] == 0).all()


def test_a_rigid_foot_at_rest_takes_the_least_forces() -> None:
    """Twelve numbers for six that count: what four points bear is what least squares says, and it does not accelerate."""
    made = random_mechanism(2, 4, "chain", ("free", "revolute"))
    assert contacts.redundant(made, tuple(FOUR_POINTS))
    assert not contacts.redundant(made, tuple(FOUR_POINTS[:1]))
    run = machine_runner(symgen.program(made, DYNAMICS, contact=FOUR_POINTS))
    states = {name: x.astype(float) for name, x in draw_states(made, 4, 1).items()}
    q, tau = states["q"], states["tau"]
    found = run({"q": q, "v": 0 * tau, "tau": tau, "active": np.ones((4, 4))})
    truth = Truth(made, 4, 1, contact=FOUR_POINTS)
    A, forces = contacts.jacobian(truth.rough, q), found["forces"].reshape(4, -1)
    assert np.abs(A @ found["a"][..., None]).max() < 1e-10 * np.abs(found["a"]).max()
    for own, f in zip(A, forces, strict=True):
        least = np.linalg.pinv(own.T) @ (own.T @ f)
        assert (
            np.abs(least - f).max() < 1e-8 * np.abs(f).max()
        )  # forces that do nothing are damped by 1e-6: round-off counts so


@pytest.mark.parametrize("corners", [2, 4])
def test_the_least_forces_leave_the_accelerations_their_digits(corners: int) -> None:
    """How the corners of one foot share a force is known to fewer."""
    made = robot("on a free joint")
    run = symgen.program(made, DYNAMICS, "riccati", contact=FOUR_POINTS[:corners])
    given = {name: draw_states(made, 4, 1)[name].astype(float) for name in ("q", "v", "tau")}
    given |= {"v": 0 * given["v"], "active": np.ones((4, corners))}
    scalars = arb(60)
    exact = scalar_runner(scalars, run)({name: scalars.array(x) for name, x in given.items()})[
        "a"
    ].astype(float)
    assert (
        np.abs(machine_runner(run)(given)["a"] - exact).max(axis=1)
        < 1e-13 * np.abs(exact).max(axis=1)
    ).all()


# -- a foreign judge -----------------------------------------------------------------------------------------------------------


class Pinocchio:
    """The built-in quadruped on Pinocchio, with those of its feet that stand."""

    def __init__(self) -> None:
        from symgen.benchmarks.peers import pinocchio as peer

        self.pin: Any = pytest.importorskip("pinocchio")
        self.model, ids = peer.built(robot("quadruped"))
        frames = [robot("quadruped").contact(foot) for foot in FEET]
        poses = Truth(robot("quadruped"), 1).rough.pose
        self.feet = [(ids[frame.body], self.pin.SE3(*poses(frame.pose))) for frame in frames]
        self.data, self.settings = self.model.createData(), self.pin.ProximalSettings(1e-14, 0.0, 1)

    def held(self, active: np.ndarray) -> tuple[Any, Any]:
        pin = self.pin
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for (joint, seat), holds in zip(self.feet, active, strict=True):
            if holds:
                one = pin.RigidConstraintModel(
                    pin.ContactType.CONTACT_3D,
                    self.model,
                    joint,
                    seat,
                    pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
                )
                models.append(one)
                datas.append(one.createData())
        pin.initConstraintDynamics(self.model, self.data, models, datas)
        return models, datas

    def jacobian(self, q: np.ndarray, active: np.ndarray) -> np.ndarray:
        pin, rows = self.pin, []
        pin.computeJointJacobians(self.model, self.data, q)
        for (joint, seat), holds in zip(self.feet, active, strict=True):
            if holds:
                turn = (self.data.oMi[joint] * seat).rotation
                own = seat.inverse().action @ pin.getJointJacobian(
                    self.model, self.data, joint, pin.LOCAL
                )
                rows.append(turn @ own[:3])
        return np.vstack(rows)


PATTERNS = ((1, 1, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0))


def test_pinocchio_has_the_same_accelerations_forces_impulses_and_slopes() -> None:
    judge, random = Pinocchio(), np.random.default_rng(3)
    pin, model, data = judge.pin, judge.model, judge.data
    ahead, impact, slope = (
        machine_runner(program("quadruped", name, *FEET))
        for name in (DYNAMICS, IMPACT, f"{DYNAMICS}:jvp")
    )
    for pattern in PATTERNS:
        active = np.array(pattern, dtype=float)
        q = pin.integrate(model, pin.neutral(model), random.uniform(-1, 1, model.nv))
        v, tau, dq, dv, dtau = random.uniform(-2, 2, (5, model.nv))
        held = judge.held(active)
        given = {
            name: x[None] for name, x in {"q": q, "v": v, "tau": tau, "active": active}.items()
        }
        found = ahead(given)
        close(found["a"][0], pin.constraintDynamics(model, data, q, v, tau, *held, judge.settings))
        close(found["forces"][0][active == 1].ravel(), data.lambda_c)
        pin.computeConstraintDynamicsDerivatives(model, data, *held, judge.settings)
        changed = slope(given | {"dq": dq[None], "dv": dv[None], "dtau": dtau[None]})
        close(changed["da"][0], data.ddq_dq @ dq + data.ddq_dv @ dv + data.ddq_dtau @ dtau)
        close(
            changed["dforces"][0][active == 1].ravel(),
            data.dlambda_dq @ dq + data.dlambda_dv @ dv + data.dlambda_dtau @ dtau,
        )
        stopped = impact({name: given[name] for name in ("q", "v", "active")})
        close(
            stopped["v_after"][0],
            pin.impulseDynamics(model, data, q, v, judge.jacobian(q, active), 0.0, 0.0),
        )
        close(stopped["impulses"][0][active == 1].ravel(), data.impulse_c)


def close(ours: np.ndarray, theirs: Any) -> None:
    theirs = np.array(theirs)
    assert np.abs(ours - theirs).max() < 1e-9 * np.abs(theirs).max()


# -- naming them ---------------------------------------------------------------------------------------------------------------


def test_points_are_named_with_exact_decimals() -> None:
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


def test_a_request_that_cannot_be_carried_out_is_one_sentence() -> None:
    with pytest.raises(RequestError, match=r"needs contact points; name each with --contact LINK"):
        symgen.program("quadruped", DYNAMICS)
    with pytest.raises(UnknownName, match="no link is named 'FOOT'"):
        symgen.program("quadruped", DYNAMICS, contact="FOOT")
    with pytest.raises(ArgumentError, match="the base does not move"):
        symgen.program("panda", IMPACT, contact="panda_link0")


ROD = """<robot name="pin"><link name="base"/><link name="rod"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link><link name="tip"/>
  <joint name="j" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="f" type="fixed"><origin xyz="0.4 0 0"/><parent link="rod"/><child link="tip"/></joint></robot>"""


@pytest.mark.parametrize("points", [("rod",), ("rod:0,0.3,0",), ("rod:1e-7,0,0",), ("tip", "rod")])
@pytest.mark.parametrize("function", [DYNAMICS, IMPACT])
def test_a_contact_that_no_joint_moves_is_refused_by_name(
    points: tuple[str, ...], function: str
) -> None:
    says = f"contact '{re.escape(points[-1])}' of 'pin': no joint moves this point, .*; choose another point with --contact rod:x,y,z"
    with pytest.raises(ArgumentError, match=says):
        build.program(symgen.load(ROD), function, contact=points)


@pytest.mark.parametrize("points", [("tip",), ("tip", "rod:0.4,0,0"), ("tip", "rod:0.4,0.1,0")])
def test_rows_that_are_zero_or_the_same_take_the_least_forces(points: tuple[str, ...]) -> None:
    """A hinge holds still whatever the contacts repeat; across its circle no force acts."""
    solver = symgen.compile(symgen.load(ROD), [DYNAMICS, IMPACT], contact=points)
    q, v, tau, active = [0.3], [0.7], [2.0], [1] * len(points)
    a, forces = solver.contact_forward_dynamics(q, [0.0], tau, active)
    assert np.abs(a).max() < 1e-10
    moment = 2.0 + 9.81 * 1.5 * 0.2 * np.cos(0.3)  # about the y axis, with which q sinks
    lever = 0.4 * np.array([-np.sin(0.3), 0, -np.cos(0.3)])
    assert np.allclose(forces, -moment * lever / (len(points) * 0.16), atol=1e-8)
    after, impulses = solver.contact_impulse(q, v, active)
    assert np.abs(after).max() < 1e-10
    assert np.allclose(impulses, impulses[0], atol=1e-8)


def test_robots_that_do_not_ask_for_them_have_nothing_of_them() -> None:
    assert DYNAMICS not in build.requested(robot("quadruped"), None)
    plain = build.build_program(robot("scara"), "mass_matrix", None, ProgramOptions())
    assert (
        build.build_program(robot("scara"), "mass_matrix", None, ProgramOptions(contact="link4"))
        == plain
    )


def test_a_folder_knows_its_contacts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In its header, its manifest, its README, and the command that makes it again; checked, and for many states."""
    out = tmp_path / "scara"
    asked = [
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
    assert main([*asked, "-o", str(out)]) == 0
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["options"]["contact"] == ["link4:0,0,-0.1"]
    words = shlex.split(manifest["command"])
    assert words[words.index("--contact") + 1] == "link4:0,0,-0.1"
    header, page = ((out / name).read_text(encoding="utf-8") for name in ("scara.h", "README.md"))
    assert "#define scara_NT 1" in header
    assert "the contacts, in order: link4:0,0,-0.1" in header
    assert "outside every cone of friction" in page
    assert (
        "Friction, motors, gears, elasticity and whatever else" in page
    )  # contact is not left out
    capsys.readouterr()
    assert main(["verify", str(out), "--states", "3"]) == 0
    assert main(["verify", str(out), "--contact", "link4"]) == 2
    assert "--contact does not apply" in capsys.readouterr().err


# -- errors that are planted ---------------------------------------------------------------------------------------------------

Plant = Callable[[pytest.MonkeyPatch], None]


def weight_is_counted(patch: pytest.MonkeyPatch) -> None:
    """Points accelerate as what they hang on does, gravity and all."""
    true = _contacts.contact_acceleration
    patch.setattr(
        _contacts, "contact_acceleration", lambda *given, gravity=True: true(*given, gravity=False)
    )


def a_lever_is_lost(patch: pytest.MonkeyPatch) -> None:
    true = _contacts._columns

    def shortened(linkage: Any, contact: Any) -> Any:
        found = true(linkage, contact)
        first = next(iter(found))
        return found | {first: found[first] * 2}

    patch.setattr(_contacts, "_columns", shortened)


def idle_rows_count(patch: pytest.MonkeyPatch) -> None:
    true = constrained.BorderedFactor.__init__
    patch.setattr(
        constrained.BorderedFactor,
        "__init__",
        lambda self, factor, rows, active, solves: true(
            self, factor, rows, [factor.linkage.one for _ in active], solves
        ),
    )


def forces_stay_turned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_contacts, "in_base_axes", lambda linkage, contact, force: list(force))


def forces_pull(patch: pytest.MonkeyPatch) -> None:
    true = constrained.BorderedFactor.constraint_forces
    patch.setattr(
        constrained.BorderedFactor,
        "constraint_forces",
        lambda self, right: [-x for x in true(self, right)],
    )


@pytest.mark.parametrize(
    "plant", [weight_is_counted, a_lever_is_lost, idle_rows_count, forces_stay_turned, forces_pull]
)
def test_an_error_is_caught_twice(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    undone(monkeypatch)
    plant(monkeypatch)
    options, made = ProgramOptions(contact="link1:0,0.1,0.3"), robot("on a free joint")
    programs = {
        name: build.build_program(made, name, method, options)
        for name, method in (
            (DYNAMICS, "composite_body"),
            ("inverse_dynamics", None),
            ("forward_dynamics", None),
        )
    }
    report = verify_programs(Subject(made, programs, options, states=2, compiled=False))
    build._build.cache_clear()
    derive._attempt.cache_clear()
    failed = {
        (check.kind, check.subject.partition("=")[0] if check.kind != "identities" else "")
        for check in report.failures
    }
    assert {kind for kind, _ in failed} >= {"algebra", "identities"}, str(report)


def a_moment_is_lost(patch: pytest.MonkeyPatch) -> None:
    true = contact_equations._loaded

    def without(linkage: Any, *given: Any) -> Any:
        return [(Vector(linkage.zeros), force) for _, force in true(linkage, *given)]

    patch.setattr(contact_equations, "_loaded", without)


def points_fall(patch: pytest.MonkeyPatch) -> None:
    true = contact_equations.contact_acceleration
    patch.setattr(
        contact_equations,
        "contact_acceleration",
        lambda *given, gravity=True: true(*given, gravity=False),
    )


@pytest.mark.parametrize("plant", [a_moment_is_lost, points_fall])
def test_an_error_in_the_equation_is_caught_in_the_derivative(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone(monkeypatch)
    plant(monkeypatch)
    options, made = ProgramOptions(contact="link2:0,0.1,0.3"), robot("arm")
    found = {
        name: build.build_program(made, name, "composite_body", options)
        for name in (f"{DYNAMICS}:jvp", DYNAMICS)
    }
    report = verify_programs(Subject(made, found, options, states=2, compiled=False))
    build._build.cache_clear()
    derive._attempt.cache_clear()
    failed = [(check.kind, check.subject) for check in report.failures]
    assert [kind for kind, subject in failed if subject.startswith(f"{DYNAMICS}:jvp")] == [
        "algebra",
        "floating",
        "identities",
    ], str(report)

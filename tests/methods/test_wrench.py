"""A run-time wrench: reference, definition, closed forms, Pinocchio, folders, planted errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen.derivation.linkage import Linkage
from symgen.description.tip import tip
from symgen.ir.program import Program
from symgen.mechanism.mechanism import BASE, Body, Frame, Joint, Mechanism, Part
from symgen.pipeline import derive
from symgen.pipeline.choose import methods_for
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT, Array
from symgen.support.errors import RequestError
from symgen.verification.algebra import check_algebra
from symgen.verification.evaluating import machine_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import check_floating
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.options import ProgramOptions
from symgen.vocabulary.poses import X_AXIS, Z_AXIS, Angle, Turn, pose
from tests.shared.folders import selftest
from tests.shared.oracles import random_tree
from tests.shared.planted_rows import _drop, _flip, _sums, caught_by
from tests.shared.robots_for_tests import (
    BALLS,
    OF_ANY_ROBOT,
    draw,
    largest,
    point_mass_arm,
    robot,
    rows_of,
    run,
)
from tests.shared.wrench_cases import FELT, TREE, UNFELT, check_against_reference, close

SLIDING = replace(
    robot("chain5"),
    frames=(
        *robot("chain5").frames,
        Frame(
            "tool",
            4,
            pose(
                (Fraction(1, 8), Fraction(-1, 3), Fraction(1, 5)),
                (Angle(Fraction(7, 10)), Angle(Fraction(-1, 2)), Angle(Fraction(2))),
            ),
        ),
    ),
)
MASSES = point_mass_arm(2, 1, 3)
PLACES = {
    "panda, lumped at the tip": ("panda", "panda_hand_tcp"),
    "panda, in the middle": ("panda", "panda_link4"),
    "scara, at the tip": ("scara", "link4"),
    "scara, in the middle": ("scara", "link2"),
    "tree, displaced at a leaf": (TREE, "tool"),
    "tree, where it branches": (TREE, "link0"),
    "sliding chain, displaced": (SLIDING, "tool"),
    "sliding chain, in the middle": (SLIDING, "link2"),
    "point masses": (MASSES, "b2"),
}


def mechanism_and_link(where: str) -> tuple[Mechanism, str]:
    mechanism, link = PLACES[where]
    return (robot(mechanism) if isinstance(mechanism, str) else mechanism), link


def test_the_robots_and_links_have_their_named_properties() -> None:
    assert robot("panda").frame("panda_hand_tcp").pose
    assert len(TREE.children(0)) > 1
    assert TREE.frame("tool").pose
    assert {"prismatic"} < {joint.kind for joint in SLIDING.joints}
    assert set(FELT) >= {
        "inverse_dynamics",
        "bias_force",
        "mass_matrix_and_bias",
        "forward_dynamics",
        "link_accelerations",
    }
    assert "gravity_force" in UNFELT


# -- comparison with the reference -----------------------------------------------------------------


@pytest.mark.parametrize("function", FELT)
def test_every_method_with_a_wrench_equals_the_reference(function: str) -> None:
    states = draw(TREE, 1, BALLS, wrench="tool")
    for method in methods_for(TREE, function):
        check_against_reference(TREE, function, method, states, wrench="tool")


@pytest.mark.parametrize("function", ["inverse_dynamics", "interbody_forces", "forward_dynamics"])
@pytest.mark.parametrize("where", [name for name in PLACES if name != "tree, displaced at a leaf"])
def test_a_wrench_on_any_link_equals_the_reference(where: str, function: str) -> None:
    """The default method agrees with the reference."""
    mechanism, link = mechanism_and_link(where)
    check_against_reference(
        mechanism, function, None, draw(mechanism, 1, BALLS, wrench=link), wrench=link
    )


@pytest.mark.parametrize("function", FELT)
@pytest.mark.parametrize(("where", "payload"), [("sliding chain, displaced", "tool")])
def test_every_method_with_a_wrench_and_a_payload_equals_the_reference(
    where: str, payload: str, function: str
) -> None:
    mechanism, link = mechanism_and_link(where)
    at = draw(mechanism, 1, BALLS, payload=payload, wrench=link)
    for method in methods_for(mechanism, function):
        check_against_reference(mechanism, function, method, at, wrench=link, payload=payload)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["scara, at the tip", "tree, where it branches", "point masses"])
def test_functions_with_a_wrench_verify(where: str) -> None:
    mechanism, link = mechanism_and_link(where)
    report = symgen.verify(
        mechanism,
        FELT,
        states=2,
        real="float" if "tip" in where else "double",
        wrench=link,
        compiled=False,
    )
    assert report.passed, str(report)
    assert {check.subject for check in report.of("identities")} >= {
        "ID(FD(tau)) = tau",
        "c in one pass = c",
    }


@pytest.mark.slow
def test_gravity_identities_verify_beside_a_wrench() -> None:
    report = symgen.verify("scara", states=2, wrench="link4", payload="link3", compiled=False)
    assert report.passed, str(report)
    assert {check.subject for check in report.of("identities")} >= {
        "g = c(v=0)",
        "g = ID(v=0, a=0)",
    }


# -- definition and closed forms -------------------------------------------------------------------


def joint_forces_of_wrench(mechanism: Mechanism, link: str, states: dict[str, Array]) -> Array:
    """Return Jᵀ wrench (count, NV), by the Jacobian and the orientation of the wrench's frame."""
    R = run(symgen.program(mechanism, "forward_kinematics", frame=link), states, BALLS)["R"]
    J = run(symgen.program(mechanism, "jacobian", frame=link), states, BALLS)["J"]
    with BALLS.working():
        wrench = states["wrench"].reshape(-1, 2, 3) @ np.swapaxes(
            R, -1, -2
        )  # each half rotated to base axes
        return np.asarray((np.swapaxes(J, -1, -2) @ wrench.reshape(-1, 6, 1))[..., 0])


@pytest.mark.parametrize("where", PLACES)
def test_a_wrench_subtracts_the_transposed_jacobian_times_itself(where: str) -> None:
    """In RK (3.20), T = 𝓜 θ̈ + C + Jᵀ f(0), the tip exerts f(0) on its surroundings, so f(0) =
    −wrench.
    """
    mechanism, link = mechanism_and_link(where)
    at = draw(mechanism, 2, BALLS, wrench=link)
    for function, result in (
        ("inverse_dynamics", "tau"),
        ("bias_force", "c"),
        ("mass_matrix_and_bias", "c"),
    ):
        free = run(symgen.program(mechanism, function), at, BALLS)[result]
        actual = run(symgen.program(mechanism, function, wrench=link), at, BALLS)[result]
        with BALLS.working():
            assert close(actual, free - joint_forces_of_wrench(mechanism, link, at)), function
            assert largest(actual - free) > 1e-3


@pytest.mark.parametrize("where", PLACES)
def test_forward_dynamics_invert_inverse_dynamics_under_a_wrench(where: str) -> None:
    mechanism, link = mechanism_and_link(where)
    at = draw(mechanism, 1, BALLS, wrench=link)
    inverse = symgen.program(mechanism, "inverse_dynamics", wrench=link)
    # Each method is compared with the reference above; here all methods are tested on the first
    # robot only.
    for method in (
        methods_for(mechanism, "forward_dynamics") if where == next(iter(PLACES)) else (None,)
    ):
        a = run(symgen.program(mechanism, "forward_dynamics", method, wrench=link), at, BALLS)["a"]
        assert close(run(inverse, {**at, "a": a}, BALLS)["tau"], at["tau"]), method


@pytest.mark.parametrize("function", FELT)
def test_a_wrench_of_zeros_changes_no_result(function: str) -> None:
    at = draw(TREE, 1, BALLS)
    zero_wrench = {**at, "wrench": BALLS.array([[0] * 6])}
    for method in methods_for(TREE, function):
        results = run(symgen.program(TREE, function, method, wrench="tool"), zero_wrench, BALLS)
        for name, value in run(symgen.program(TREE, function, method), at, BALLS).items():
            assert close(results[name], value), method


def test_the_weight_of_a_payload_equals_a_wrench() -> None:
    """At rest a payload (m, c) acts as the force m·gravity at c, which tests sign, position and
    order independently.
    """
    at = draw(TREE, 2, BALLS, payload="tool")
    R = run(symgen.program(TREE, "forward_kinematics", frame="tool"), at, BALLS)["R"]
    with BALLS.working():
        weight = at["payload"][:, :1] * (np.swapaxes(R, -1, -2) @ Reference(TREE, BALLS).gravity)
        wrench = np.concatenate([np.cross(at["payload"][:, 1:4], weight), weight], axis=-1)
        at_rest = {**at, "v": 0 * at["v"], "wrench": wrench}
    gravity_force = run(symgen.program(TREE, "gravity_force", payload="tool"), at_rest, BALLS)["g"]
    assert close(
        run(symgen.program(TREE, "bias_force", wrench="tool"), at_rest, BALLS)["c"], gravity_force
    )


OUT = pose((Fraction(3), Fraction(0), Fraction(0)))
PENDULUM = Mechanism(
    "pendulum",
    (Joint("hinge", "revolute", BASE, axis=Z_AXIS),),
    (
        Body(
            "rod",
            (
                Part(
                    "rod", pose(X_AXIS), Fraction(2), tuple(Fraction(x) for x in (1, 0, 0, 1, 0, 1))
                ),
            ),
        ),
    ),
    (
        Frame("rod", 0),
        Frame("end", 0, OUT),
        Frame("turned", 0, (*OUT, Turn(Z_AXIS, Angle(pi=Fraction(1, 2))))),
    ),
    gravity=(Fraction(0), Fraction(0), Fraction(0)),
)
"""A rod along x on a hinge about z: M = 1 + 2·1² = 3 kg·m², no gravity; its end is 3 m out."""


@pytest.mark.parametrize(
    ("link", "wrench", "torque"),
    [
        ("rod", (0, 0, 5, 0, 0, 0), 5),  # a moment about the hinge acts fully from any point
        ("end", (0, 0, 5, 0, 0, 0), 5),
        ("rod", (0, 0, 0, 0, 7, 0), 0),  # a force through the hinge has no moment
        ("end", (0, 0, 0, 0, 7, 0), 21),  # a force along +y at 3 m along x
        ("end", (0, 0, 0, 7, 0, 0), 0),  # a force along the rod
        ("turned", (0, 0, 0, 7, 0, 0), 21),  # x of the frame is y of the rod
        ("turned", (0, 0, 0, 0, 7, 0), 0),
        ("end", (11, 13, 5, 17, 7, 19), 26),
    ],
)
def test_a_wrench_on_a_pendulum_is_the_closed_form(
    link: str, wrench: tuple[int, ...], torque: int
) -> None:
    """The wrench adds to the motor torque: tau = M a − torque, a = (tau + torque) / M."""
    numbers = {"q": [[0.7]], "v": [[0.0]], "a": [[2.0]], "tau": [[1.0]], "wrench": [wrench]}
    at = {
        name: BALLS.array([[Fraction(x) for x in row] for row in rows])
        for name, rows in numbers.items()
    }

    def result_of(function: str, result: str) -> Array:
        return run(symgen.program(PENDULUM, function, wrench=link), at, BALLS)[result]

    assert close(result_of("inverse_dynamics", "tau"), BALLS.array([[6 - torque]]))
    assert close(result_of("bias_force", "c"), BALLS.array([[-torque]]))
    assert close(result_of("forward_dynamics", "a"), BALLS.array([[Fraction(1 + torque, 3)]]))


@pytest.mark.parametrize("where", [name for name in PLACES if name != "point masses"])
def test_a_wrench_equals_pinocchio(where: str) -> None:
    """In Pinocchio, `fext` is the wrench on the joint that moves the link, in the joint's frame,
    force first.
    """
    pin = pytest.importorskip("pinocchio")
    from symgen.benchmarks.peers import pinocchio as peer

    mechanism, link = mechanism_and_link(where)
    model, ids = peer.built(mechanism)
    order = peer.places(mechanism, model, ids).order
    data, frame = model.createData(), mechanism.frame(link)
    at = {name: x.astype(float)[0] for name, x in draw(mechanism, 1, FLOAT, wrench=link).items()}
    judge_states = {name: np.empty(mechanism.nv) for name in ("q", "v", "a", "tau")}
    for name, values in judge_states.items():
        values[order] = at[name]
    external = [pin.Force.Zero() for _ in range(model.njoints)]
    placement = pin.SE3(*(np.asarray(x) for x in Reference(mechanism).pose(frame.pose)))
    body = model.getJointId(mechanism.joints[frame.body].name)
    external[body] = placement.act(pin.Force(at["wrench"][3:], at["wrench"][:3]))
    expected = {
        "tau": pin.rnea(
            model, data, judge_states["q"], judge_states["v"], judge_states["a"], external
        )[order],
        "a": pin.aba(
            model, data, judge_states["q"], judge_states["v"], judge_states["tau"], external
        )[order],
    }
    for function, result in (("inverse_dynamics", "tau"), ("forward_dynamics", "a")):
        program = symgen.program(mechanism, function, wrench=link)
        actual = machine_runner(program)({name: x[None] for name, x in at.items()})[result][0]
        assert np.abs(actual - expected[result]).max() <= 1e-9 * np.abs(expected[result]).max(), (
            function
        )


# -- arguments -------------------------------------------------------------------------------------


def inputs(mechanism: Mechanism | str, function: str, **links: str) -> list[str]:
    return [port.name for port in symgen.program(mechanism, function, **links).inputs]


@pytest.mark.slow
def test_independent_functions_have_no_argument_of_a_wrench() -> None:
    for function in UNFELT:
        rows = rows_of(TREE, function)
        assert symgen.program(TREE, function, wrench="tool", task_rows=rows) == symgen.program(
            TREE, function, task_rows=rows
        )
    for function in FELT:
        assert inputs(TREE, function, wrench="tool")[-1] == "wrench"


@pytest.mark.slow
def test_a_wrench_on_the_base_is_ignored() -> None:
    for function in OF_ANY_ROBOT:
        rows = rows_of(TREE, function)
        assert symgen.program(TREE, function, wrench="world", task_rows=rows) == symgen.program(
            TREE, function, task_rows=rows
        )
    assert symgen.verify(
        TREE, ["inverse_dynamics", "forward_dynamics"], states=2, wrench="world", compiled=False
    ).passed


def test_the_wrench_is_the_argument_after_the_payload() -> None:
    program = symgen.program(
        "panda", "inverse_dynamics", payload="panda_hand", wrench="panda_link5"
    )
    assert [(p.name, p.shape) for p in program.inputs][3:] == [("payload", (10,)), ("wrench", (6,))]


def test_without_dependence_on_the_payload_only_the_wrench_is_an_argument() -> None:
    """Scara's first joint is vertical: the bias force does not depend on a payload on its link."""
    assert inputs("scara", "bias_force", payload="link1", wrench="link4") == ["q", "v", "wrench"]
    scara = robot("scara")
    check_against_reference(
        scara,
        "bias_force",
        "newton_euler",
        draw(scara, 1, BALLS, payload="link1", wrench="link4"),
        payload="link1",
        wrench="link4",
    )


@pytest.mark.parametrize("function", ["inverse_dynamics", "gravity_force", "jacobian"])
def test_an_unknown_link_suggests_the_nearest(function: str) -> None:
    with pytest.raises(
        RequestError, match="no link is named 'panda_hnd'; did you mean 'panda_hand'"
    ):
        symgen.program("panda", function, wrench="panda_hnd")


# -- folders and compiled functions ----------------------------------------------------------------


@pytest.mark.slow
def test_a_folder_with_a_wrench_documents_and_verifies_it(tmp_path: Path) -> None:
    manifest = symgen.generate(
        "scara", tmp_path / "out", [*FELT, "gravity_force"], wrench="link4", payload="link3"
    )
    assert manifest["options"]["wrench"] == "link4"
    dependent = {
        f
        for f, entry in manifest["functions"].items()
        if {"name": "wrench", "shape": [6]} in entry["arguments"]
    }
    assert dependent == set(FELT)
    header = (tmp_path / "out" / "scara.h").read_text(encoding="utf-8")
    assert (
        "const double tau[scara_NV], const double payload[10], const double wrench[6], double"
        " a[scara_NV]" in header
    )
    assert "wrench: external wrench on the link: moment (3, N" in header
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "exerts on the link `link4`: the moment, then the force" in readme
    assert "c = C v + g − Jᵀ wrench" in readme
    completed = selftest(tmp_path / "out")
    assert completed.returncode == 0, completed.stdout
    report = symgen.verify(tmp_path / "out", states=2)
    assert report.passed, str(report)


def test_a_folder_without_a_wrench_does_not_mention_one(tmp_path: Path) -> None:
    symgen.generate("scara", tmp_path / "out", ["inverse_dynamics"])
    for path in (tmp_path / "out").iterdir():
        assert "wrench" not in path.read_text(encoding="utf-8"), path.name


def test_a_solver_takes_a_wrench() -> None:
    solver = symgen.compile(
        "scara",
        ["inverse_dynamics", "forward_dynamics", "gravity_force"],
        wrench="link4",
        optimize=1,
    )
    without_wrench = symgen.compile("scara", ["inverse_dynamics"], optimize=1)
    draws = np.random.default_rng(2)
    q, v, a = draws.normal(size=(3, 5, 4))
    wrench = draws.normal(size=6)
    tau = solver.inverse_dynamics(q, v, a, wrench)
    np.testing.assert_allclose(solver.forward_dynamics(q, v, tau, wrench), a, rtol=1e-9, atol=1e-9)
    exact = Reference(robot("scara"), wrench="link4").inverse_dynamics(q, v, a, wrench=wrench)
    np.testing.assert_allclose(tau, exact, rtol=1e-9, atol=1e-12)
    assert np.abs(tau - without_wrench.inverse_dynamics(q, v, a)).max() > 1e-2
    with pytest.raises(RequestError, match=r"wrench has shape \(10,\); it must have \(\.\.\., 6\)"):
        solver.inverse_dynamics(q, v, a, np.zeros(10))
    assert [port.name for port in solver.programs["gravity_force"].inputs] == ["q"]
    assert "moment (3, N·m), then force (3, N)" in solver.inverse_dynamics.__doc__


# -- planted errors --------------------------------------------------------------------------------

Loads = Callable[[Linkage, Frame, Any], Any]


def _negated(original: Loads, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    n, f = original(linkage, frame, wrench)
    return -n, -f


def _force_negated(original: Loads, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    n, f = original(linkage, frame, wrench)
    return n, -f


def _force_first(original: Loads, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    return original(linkage, frame, [*wrench[3:], *wrench[:3]])


def _axes_of_the_body(original: Loads, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    return original(
        linkage,
        replace(frame, rotation=linkage.model.frame(TREE, f"link{frame.link}").rotation),
        wrench,
    )


def _at_the_origin_of_the_body(original: Loads, linkage: Linkage, frame: Any, wrench: Any) -> Any:
    return original(
        linkage, replace(frame, shift=linkage.model.frame(TREE, f"link{frame.link}").shift), wrench
    )


PLANTS = (
    _negated,
    _force_negated,
    _force_first,
    _axes_of_the_body,
    _at_the_origin_of_the_body,
)


@pytest.mark.parametrize(
    ("plant", "function", "method"),
    [
        *((plant, "inverse_dynamics", "newton_euler") for plant in PLANTS),
        *((plant, "forward_dynamics", "riccati") for plant in PLANTS),
        *(
            (_force_first, *function_and_method)
            for function_and_method in [
                ("forward_dynamics", "riccati:fd1"),
                ("forward_dynamics", "riccati:fd3"),
                ("forward_dynamics", "constraint_force"),
                ("link_accelerations", "riccati"),
            ]
        ),
    ],
)
def test_a_wrench_with_wrong_layout_is_caught(
    monkeypatch: pytest.MonkeyPatch, plant: Any, function: str, method: str
) -> None:
    options = ProgramOptions(frame="tool", wrench="tool")
    helper_names = (
        "inverse_dynamics" if function == "forward_dynamics" else "forward_dynamics",
        "jacobian",
    )
    helpers = {
        name: derive.derive(TREE, name, methods_for(TREE, name)[0], options)
        for name in helper_names
    }
    original = Linkage._wrench_on_link
    monkeypatch.setattr(Linkage, "_wrench_on_link", lambda *arguments: plant(original, *arguments))
    wrong = derive.derive(TREE, function, method, options)
    report = verify_programs(
        Subject(TREE, {function: wrong}, options, states=2, compiled=False, helpers=helpers)
    )
    assert caught_by(report) >= {"algebra", "floating", "identities"}, str(report)


@pytest.mark.parametrize(
    ("name", "function"),
    [  # step_rk4 has every sum of forward dynamics four times, `step` has it once
        *(("planar_arm", function) for function in FELT if function != "step_rk4"),
        *(
            ("scara", function)
            for function in FELT
            if function not in ("link_accelerations", "interbody_forces", "step_rk4")
        ),
    ],
)
def test_an_error_in_any_sum_is_caught_under_a_wrench(name: str, function: str) -> None:
    """Algebra and floating point both catch a flipped sign or a dropped term in any sum.

    `step_rk4` is excluded: it has the sums of forward dynamics four times.
    """
    mechanism = symgen.load(name)
    exact_results = ExactResults(mechanism, 4, frame=tip(mechanism), wrench=tip(mechanism))
    program: Program = symgen.program(mechanism, function, wrench=tip(mechanism))
    for index in _sums(program):
        for change in (_flip, _drop):
            wrong = change(program, index)
            where = f"row {index}, {change.__name__}"
            assert not check_algebra(wrong, exact_results, function).passed, where
            assert not check_floating(
                wrong, machine_runner(wrong), exact_results, function
            ).passed, where


def test_sizes_bound_the_answers_under_a_wrench() -> None:
    """The size that bounds round-off is never below the result, and at most 1e4 times the largest
    entry.
    """
    for seed in range(5):
        exact_results = ExactResults(random_tree(40 + seed, 6), 6, frame="tool", wrench="tool")
        for function, result in (
            ("inverse_dynamics", "tau"),
            ("bias_force", "c"),
            ("gravity_force", "g"),
        ):
            results = exact_results.rough.evaluate(
                function, exact_results.arguments(function, exact_results.floats)
            )[result]
            size, entries = exact_results.scales.of(function, result), np.abs(results)
            assert (size >= entries * (1 - 1e-12)).all(), function
            assert (size.max(axis=-1) <= 1e4 * entries.max(axis=-1)).all(), function

"""Unrolled and looped forms: requests, the automatic choice, folders, and checks of long robots."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.description.canonical import to_toml
from symgen.description.loading import load
from symgen.description.tip import tip
from symgen.emission import printer
from symgen.ir.loops import Form, LoopProgram, check
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.pipeline.derive import ROW_BUDGET
from symgen.pipeline.form import SHORT
from symgen.pipeline.loops import recursion
from symgen.reference.articulated import Articulated
from symgen.reference.long import forward_dynamics_results, inverse_dynamics
from symgen.reference.mechanics import Reference
from symgen.reference.midpoint_numbers import points
from symgen.reference.motion import Motion
from symgen.reference.precision import FLOAT, arb
from symgen.reference.states import draw_states
from symgen.support.errors import ArgumentError, OutOfReach, ProgramError, RequestError
from symgen.verification.evaluating import machine_runner
from symgen.verification.long import (
    LONG,
    LongExactResults,
    check_long_algebra,
    check_long_floating,
    force_sizes,
)
from symgen.verification.steps import verify_programs
from symgen.verification.subject import Subject
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import AUTO, LOOPED, ProgramOptions, TextOptions
from symgen.vocabulary.target import Target
from tests.shared.folders import selftest
from tests.shared.looped_robots import robot as linked
from tests.shared.robots_for_tests import ROBOTS, point_mass_arm, random_mechanism, robot

TEXT = TextOptions("libm")
BY_SAME_OPERATIONS = [
    name
    for name, function in FUNCTIONS.items()
    if function.long_check in ("determinant", "link_dynamics", "frame", "frame_inertia")
]
TRIED = 24
"""Number of links of a chain that is checked by the methods for long robots."""
SEVERAL = ("cylindrical", "planar", "spherical", "helical", "prismatic")


@cache
def long_robot(n: int, kind: str = "chain") -> Mechanism:
    return random_mechanism(n, 1, kind)


@cache
def loops_of(n: int, function: str, method: str, kind: str = "chain") -> LoopProgram:
    return recursion(long_robot(n, kind), function, method, tip(long_robot(n, kind)))


def build_in_form(mechanism: Mechanism, function: str, form: str) -> Form:
    return build.build_form(mechanism, function, None, ProgramOptions(form=form))


@pytest.mark.slow
def test_auto_takes_loops_only_above_the_row_budget() -> None:
    assert not isinstance(build_in_form(long_robot(8), "forward_dynamics", AUTO), LoopProgram)
    assert isinstance(build_in_form(long_robot(8), "forward_dynamics", LOOPED), LoopProgram)
    long_chain = long_robot(260)
    assert len(long_chain.joints) > SHORT
    dynamics = build.build_form(long_chain, "forward_dynamics", "riccati", ProgramOptions())
    assert isinstance(dynamics, LoopProgram)
    assert dynamics.outline.length > ROW_BUDGET


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"payload": "link2"}, "--payload"),
        ({"wrench": "link2"}, "--wrench"),
        ({"parameters": ("link1.mass",)}, "--parameter"),
    ],
)
def test_options_without_a_looped_form_are_refused_by_name(
    options: dict[str, str], words: str
) -> None:
    request = ProgramOptions(form=LOOPED, **options)  # type: ignore[arg-type]
    with pytest.raises(OutOfReach, match=f"no looped form with {words}; use --form unrolled"):
        build.build_form(symgen.load("scara"), "inverse_dynamics", None, request)


@pytest.mark.slow
def test_the_command_reports_a_function_that_auto_loops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "long.toml"
    file.write_text(to_toml(long_robot(260)))
    assert (
        main(["generate", str(file), "-o", str(tmp_path / "c"), "-f", "forward_dynamics=riccati"])
        == 0
    )
    assert "note: forward_dynamics loops over tables of links" in capsys.readouterr().err


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ArgumentError, match="looped"):
        ProgramOptions(form="loop")


def test_wrappers_without_loops_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="leave out other wrappers"):
        symgen.generate(
            "scara", tmp_path / "c", ["inverse_dynamics"], form="looped", wrap=["cpp17", "casadi"]
        )
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
def test_loops_in_float_have_no_double(tmp_path: Path) -> None:
    """Each step is a separate Program, whose real type must be that of the loops."""
    out = tmp_path / "panda"
    symgen.generate("panda", out, ["forward_dynamics", "link_poses"], form="looped", real="float")
    for file in ("panda_forward_dynamics.c", "panda_link_poses.c"):
        code = re.sub(r"/\*.*?\*/", "", (out / file).read_text(), flags=re.DOTALL)
        assert "float" in code
        assert "double" not in code
    assert symgen.verify(str(out), states=2).passed
    poses = build.build_form(
        symgen.load("panda"), "link_poses", None, ProgramOptions("float", form=LOOPED)
    )
    assert isinstance(poses, LoopProgram)
    with pytest.raises(ProgramError, match="another real type"):
        check(replace(poses, real="double"))


@pytest.mark.slow
def test_a_folder_of_loops_passes_its_self_test_and_verify(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The robot has two link classes; `verify` reports changed constants of links."""
    out, name = tmp_path / "scara", "scara"
    assert (
        main(
            [
                "generate",
                name,
                "-o",
                str(out),
                "--form",
                "looped",
                "-f",
                "inverse_dynamics",
                "-f",
                "forward_dynamics",
                "-f",
                "mass_matrix_log_determinant",
                "--quiet",
            ]
        )
        == 0
    )
    assert f"#define {name}_WORK" in (out / f"{name}.h").read_text()
    ran = selftest(out)
    assert ran.stdout.endswith("3 passed, 0 failed\n"), ran.stdout
    assert main(["verify", str(out), "--states", "2"]) == 0
    assert f"{name}: verified" in capsys.readouterr().out
    text = out / f"{name}_forward_dynamics.c"
    before = text.read_text()
    first = before.index(
        "0.", before.index("_table")
    )  # no step reads this constant of the first link
    last = before.rindex("0.", 0, before.index("};"))
    for position, words in (
        (first, "has a number that is not a constant of a link"),
        (last, "is called with other numbers"),
    ):
        digit = "1" if before[position + 2] != "1" else "2"
        text.write_text(before[: position + 2] + digit + before[position + 3 :])
        assert main(["verify", str(out), "-f", "forward_dynamics", "--states", "1"]) == 1
        assert words in capsys.readouterr().out


def test_a_folder_is_reproduced_by_its_command(tmp_path: Path) -> None:
    manifest = symgen.generate(
        "scara", tmp_path / "one", functions=["inverse_dynamics", "gravity_force"], form="looped"
    )
    assert "--form looped" in manifest["command"]
    entry = manifest["functions"]["inverse_dynamics"]
    assert (entry["form"], entry["links"]) == ("looped", 4)
    assert all(entry[key] > 0 for key in ("constants", "work"))
    again = symgen.generate(
        tmp_path / "one" / "scara.toml",
        tmp_path / "two",
        functions=["inverse_dynamics", "gravity_force"],
        form="looped",
    )
    assert again["functions"] == manifest["functions"]


@pytest.mark.slow
def test_a_solver_of_loops_equals_the_unrolled_form() -> None:
    solver = symgen.compile("quadruped", ["forward_dynamics", "inverse_dynamics"], form="looped")
    rows = symgen.compile("quadruped", ["forward_dynamics"])
    states = draw_states(symgen.load("quadruped"), 5)
    q, v, tau = (states[name].astype(float) for name in ("q", "v", "tau"))
    a = solver.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(a, rows.forward_dynamics(q, v, tau), rtol=1e-9)
    np.testing.assert_allclose(solver.inverse_dynamics(q, v, a), tau, atol=1e-8)


# -- long robots -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ROBOTS if not robot(name).loops])
def test_forces_summed_part_by_part_equal_the_reference(name: str) -> None:
    mechanism, scalars = robot(name), points(60)
    states = draw_states(mechanism, 2)
    with scalars.working():
        q, v, a = (scalars.array(states[key]) for key in ("q", "v", "a"))
        forces = inverse_dynamics(Motion(mechanism, scalars), q, v, a)
        expected = Reference(mechanism, scalars).inverse_dynamics(q, v, a)
        assert np.abs((forces - expected).astype(float)).max() < 1e-45 * max(
            1.0, np.abs(expected.astype(float)).max()
        )
    terms = force_sizes(
        Motion(mechanism, FLOAT), *(states[key].astype(float) for key in ("q", "v", "a"))
    )
    assert (np.abs(expected.astype(float)) <= terms * (1 + 1e-9)).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["riccati", "riccati:segments"])
def test_the_self_test_of_a_long_chain_reports_a_changed_constant(
    method: str, tmp_path: Path
) -> None:
    """The round-off bound is too wide for so long a chain; the self-test sees a changed digit."""
    out = tmp_path / "chain"
    symgen.generate(
        "planar_point_mass:300", out, [f"forward_dynamics={method}"], name="chain", form="looped"
    )
    assert selftest(out).stdout.endswith("1 passed, 0 failed\n")
    text = out / "chain_forward_dynamics.c"
    before = text.read_text()
    table, start = before.index("_table"), re.compile(r"\b1\.0\b")
    constant = start.search(before, table)
    assert constant is not None
    text.write_text(f"{before[: constant.start()]}1.00000001{before[constant.end() :]}")
    assert selftest(out).stdout.endswith("0 passed, 1 failed\n")


@pytest.mark.slow
def test_loops_of_long_robots_are_verified() -> None:
    kind = "tree"
    mechanism = long_robot(LONG + 10, kind)
    forms: dict[str, Form] = {
        function: loops_of(LONG + 10, function, method, kind)
        for function, method in (
            ("inverse_dynamics", "newton_euler"),
            ("forward_dynamics", "riccati"),
            ("mass_matrix_solve", "riccati"),
        )
    }
    report = verify_programs(Subject(mechanism, forms, ProgramOptions(), TEXT, states=1))
    assert report.passed, str(report)
    assert {check.kind for check in report.checks} == {"algebra", "text", "floating"}
    assert "checked at 1 state, by forces summed part by part" in str(report)


@pytest.mark.slow
def test_loops_of_a_long_robot_with_a_floating_base_are_verified() -> None:
    """The quaternion has unit length in all digits, which floating-point numbers cannot have."""
    mechanism = load(to_toml(long_robot(LONG + 10, "tree")), base="free")
    forms: dict[str, Form] = {
        function: recursion(mechanism, function, BY.get(function, "riccati"), tip(mechanism))
        for function in ("forward_dynamics", "link_poses", "integrate")
    }
    report = verify_programs(Subject(mechanism, forms, ProgramOptions(), TEXT, states=1))
    assert report.passed, str(report)
    assert not report.unjudged


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in ROBOTS if not robot(name).loops and not robot(name).coupled),
        "driven",
        "several",
    ],
)
def test_results_by_articulated_inertias_equal_those_of_the_mass_matrix(name: str) -> None:
    """Results: det M, ln det M, its gradient, M⁻¹ b, accelerations; all kinds of joints, rotors."""
    scalars, balls = points(60), arb(60)
    special_robots = {
        "driven": lambda: linked(name),
        "several": lambda: random_mechanism(7, 1, "tree", joints=SEVERAL),
    }
    mechanism = special_robots.get(name, lambda: robot(name))()
    states, frame = draw_states(mechanism, 2), tip(mechanism)
    reference = Reference(mechanism, balls, frame=frame)
    with balls.working():
        q, v, tau, b = (balls.array(states[key]) for key in ("q", "v", "tau", "b"))
        alpha, alpha_tip = reference.link_accelerations(q, v, tau)
        F, a = reference.interbody_forces(q, v, tau)
        M = reference.mass_matrix(q)
        expected = {
            "det": balls.determinant(M),
            "logdet": reference.mass_matrix_log_determinant(q),
            "grad": reference.mass_matrix_log_determinant_gradient(q),
            "x": balls.solve(M, b[..., None])[..., 0],
            "alpha": alpha,
            "alpha_tip": alpha_tip,
            "F": F,
            "a": a,
        }
    with scalars.working():
        motion = Reference(mechanism, scalars, frame=frame)
        q, v, tau, b = (scalars.array(states[key]) for key in ("q", "v", "tau", "b"))
        articulated = Articulated(motion, q)
        results = forward_dynamics_results(motion, articulated, q, v, tau)
        assert np.abs(results.pop("left").astype(float)).max() < 1e-40 * max(
            1.0, np.abs(states["tau"].astype(float)).max()
        )
        results |= {
            "det": articulated.determinant(),
            "logdet": articulated.log_determinant(),
            "grad": articulated.gradient(),
            "x": articulated.solve(b),
        }
    with balls.working():
        for key, values in expected.items():
            difference = np.array(
                [x - y.ball for x, y in zip(np.ravel(values), np.ravel(results[key]), strict=True)],
                dtype=object,
            )
            assert np.abs(difference.astype(float)).max() <= 1e-40 * max(
                1e-30, np.abs(values.astype(float)).max()
            ), key


@pytest.mark.slow
def test_a_determinant_beyond_double_is_reported_as_unjudged() -> None:
    """The robot is a chain of 300 point masses of 1000 kg."""
    heavy = point_mass_arm(*[10**3] * 300)
    determinant = recursion(heavy, "mass_matrix_determinant", "riccati")
    report = verify_programs(
        Subject(heavy, {"mass_matrix_determinant": determinant}, ProgramOptions(), TEXT, states=1)
    )
    assert not report.failures
    assert [(check.kind, check.unjudged) for check in report.unjudged] == [
        (
            "floating",
            (
                "det M of so long a robot is outside the range of double; use"
                " mass_matrix_log_determinant"
            ),
        )
    ]


BY = {
    "inverse_dynamics": "newton_euler",
    "link_poses": "kinematics",
    "forward_kinematics": "kinematics",
    "kinetic_energy": "newton_euler",
    "center_of_mass": "composite_body",
    "centroidal_momentum_rate": "newton_euler",
    "potential_energy": "composite_body",
    "integrate": "kinematics",
    "bias_acceleration": "newton_euler",
    "jacobian": "kinematics",
}


@pytest.mark.parametrize(
    "function",
    [
        "inverse_dynamics",
        "forward_dynamics",
        "mass_matrix_solve",
        "link_poses",
        "kinetic_energy",
        "potential_energy",
        "centroidal_momentum_rate",
        *BY_SAME_OPERATIONS,
    ],
)
def test_a_changed_constant_of_one_link_fails_the_algebra(function: str) -> None:
    loops = loops_of(TRIED, function, BY.get(function, "riccati"))
    exact_results = LongExactResults(long_robot(TRIED), 1, 0, tip(long_robot(TRIED)))
    assert check_long_algebra(loops, exact_results, "right").passed
    link = Random(3).randrange(TRIED)
    row = list(loops.constants[link])
    row[-1] += Fraction(1, 10**12)
    wrong = replace(
        loops, constants=(*loops.constants[:link], tuple(row), *loops.constants[link + 1 :])
    )
    assert not check_long_algebra(
        wrong, LongExactResults(long_robot(TRIED), 1, 0, tip(long_robot(TRIED))), "wrong"
    ).passed


@pytest.mark.parametrize(
    "function",
    [
        "inverse_dynamics",
        "forward_dynamics",
        "forward_kinematics",
        "center_of_mass",
        "integrate",
        *BY_SAME_OPERATIONS,
    ],
)
def test_relative_errors_of_1e_5_fail_the_floating_check(function: str) -> None:
    loops = loops_of(TRIED, function, BY.get(function, "riccati"))
    exact_results, run = (
        LongExactResults(long_robot(TRIED), 1, 0, tip(long_robot(TRIED))),
        machine_runner(loops),
    )
    assert check_long_floating(loops, run, exact_results, "right", TEXT).passed
    off = {
        name: values * (1 + 1e-5)
        for name, values in run(exact_results.arguments(loops, exact_results.floats)).items()
    }
    assert not check_long_floating(loops, lambda _: off, exact_results, "off", TEXT).passed


def test_a_long_result_that_is_zero_is_judged() -> None:
    """J̇ v of prismatic joints is zero: it has no largest entry as a scale of round-off."""
    slides = random_mechanism(LONG + 10, 1, joints=("prismatic",))
    loops = recursion(slides, "bias_acceleration", "newton_euler", tip(slides))
    report = verify_programs(
        Subject(slides, {"bias_acceleration": loops}, ProgramOptions(), TEXT, states=1)
    )
    assert report.passed, str(report)
    exact_results = LongExactResults(slides, 1, 0, tip(slides))
    off = {"Jdot_v": np.full((1, 6), 1e-9)}
    assert not check_long_floating(loops, lambda _: off, exact_results, "off", TEXT).passed


@pytest.mark.slow
def test_text_without_tables_does_not_grow_with_the_robot() -> None:
    """Both programs have the same steps, for 90 and for 9 links."""

    def length(loops: LoopProgram) -> int:
        text = printer().source(loops, Target("r", long_robot(len(loops)).sizes, TEXT))
        table = text[text.index("_table[") : text.index("};")]
        return len(text) - len(table)

    long_loops = loops_of(90, "forward_dynamics", "riccati")
    ports = {
        name: tuple(port._replace(shape=(9,)) for port in getattr(long_loops, name))
        for name in ("inputs", "outputs")
    }
    short_loops = check(
        replace(
            long_loops,
            parents=long_loops.parents[:9],
            class_of=long_loops.class_of[:9],
            constants=long_loops.constants[:9],
            **ports,
        )
    )
    assert abs(length(long_loops) - length(short_loops)) < 60  # digits of numbers of links
    assert printer().work(long_loops) == 10 * printer().work(short_loops)
    assert length(long_loops) < 18000


def test_the_command_suggests_the_nearest_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "scara", "--form", "rolled"]) == 2
    assert "did you mean 'unrolled'?" in capsys.readouterr().err

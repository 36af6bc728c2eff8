"""Functions as rows or as loops: what is asked for, what auto takes, the folder, and how long robots are judged."""

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
    LongTruth,
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
"""Links of a chain that is judged as if it were long."""
SEVERAL = ("cylindrical", "planar", "spherical", "helical", "prismatic")


@cache
def long(n: int, kind: str = "chain") -> Mechanism:
    return random_mechanism(n, 1, kind)


@cache
def made(n: int, function: str, method: str, kind: str = "chain") -> LoopProgram:
    return recursion(long(n, kind), function, method, tip(long(n, kind)))


def shaped(mechanism: Mechanism, function: str, form: str) -> Form:
    return build.build_form(mechanism, function, None, ProgramOptions(form=form))


def test_auto_takes_rows_as_long_as_there_are_not_too_many() -> None:
    assert not isinstance(shaped(long(8), "forward_dynamics", AUTO), LoopProgram)
    assert isinstance(shaped(long(8), "forward_dynamics", LOOPED), LoopProgram)
    far = long(260)
    assert len(far.joints) > SHORT
    found = build.build_form(far, "forward_dynamics", "riccati", ProgramOptions())
    assert isinstance(found, LoopProgram)
    assert found.outline.length > ROW_BUDGET


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"payload": "link2"}, "--payload"),
        ({"wrench": "link2"}, "--wrench"),
        ({"parameters": ("link1.mass",)}, "--parameter"),
    ],
)
def test_what_no_loop_takes_is_named(options: dict[str, str], words: str) -> None:
    asked = ProgramOptions(form=LOOPED, **options)  # type: ignore[arg-type]
    with pytest.raises(OutOfReach, match=f"no looped form with {words}; use --form unrolled"):
        build.build_form(symgen.load("scara"), "inverse_dynamics", None, asked)


def test_the_console_says_what_loops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "long.toml"
    file.write_text(to_toml(long(260)))
    assert (
        main(["generate", str(file), "-o", str(tmp_path / "c"), "-f", "forward_dynamics=riccati"])
        == 0
    )
    assert "note: forward_dynamics loops over tables of links" in capsys.readouterr().err


def test_other_forms_are_no_forms() -> None:
    with pytest.raises(ArgumentError, match="looped"):
        ProgramOptions(form="loop")


def test_loops_are_wrapped_in_no_other_language_than_cpp(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="leave out other wrappers"):
        symgen.generate(
            "scara", tmp_path / "c", ["inverse_dynamics"], form="looped", wrap=["cpp17", "casadi"]
        )
    assert not (tmp_path / "c").exists()


def test_loops_in_float_are_floats_throughout(tmp_path: Path) -> None:
    """Each step is a function of its own, of the same type as the loops round it."""
    out = tmp_path / "panda"
    symgen.generate("panda", out, ["forward_dynamics", "link_poses"], form="looped", real="float")
    for file in ("panda_forward_dynamics.c", "panda_link_poses.c"):
        code = re.sub(r"/\*.*?\*/", "", (out / file).read_text(), flags=re.DOTALL)
        assert "float" in code
        assert "double" not in code
    assert symgen.verify(str(out), states=2).passed
    one = build.build_form(
        symgen.load("panda"), "link_poses", None, ProgramOptions("float", form=LOOPED)
    )
    assert isinstance(one, LoopProgram)
    with pytest.raises(ProgramError, match="another real type"):
        check(replace(one, real="double"))


def test_a_folder_of_loops_is_built_passes_and_is_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of links of two kinds."""
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
    )  # no step reads this number of the first link
    last = before.rindex("0.", 0, before.index("};"))
    for place, words in (
        (first, "holds a number that is no constant of a link"),
        (last, "is called with other numbers"),
    ):
        other = "1" if before[place + 2] != "1" else "2"
        text.write_text(before[: place + 2] + other + before[place + 3 :])
        assert main(["verify", str(out), "-f", "forward_dynamics", "--states", "1"]) == 1
        assert words in capsys.readouterr().out


def test_a_folder_is_made_again_by_its_command(tmp_path: Path) -> None:
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


def test_a_solver_takes_loops() -> None:
    solver = symgen.compile("quadruped", ["forward_dynamics", "inverse_dynamics"], form="looped")
    rows = symgen.compile("quadruped", ["forward_dynamics"])
    states = draw_states(symgen.load("quadruped"), 5)
    q, v, tau = (states[name].astype(float) for name in ("q", "v", "tau"))
    a = solver.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(a, rows.forward_dynamics(q, v, tau), rtol=1e-9)
    np.testing.assert_allclose(solver.inverse_dynamics(q, v, a), tau, atol=1e-8)


# -- long robots ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ROBOTS if not robot(name).loops])
def test_wrenches_summed_part_by_part_are_what_jacobians_give(name: str) -> None:
    mechanism, scalars = robot(name), points(60)
    drawn = draw_states(mechanism, 2)
    with scalars.working():
        q, v, a = (scalars.array(drawn[key]) for key in ("q", "v", "a"))
        found = inverse_dynamics(Motion(mechanism, scalars), q, v, a)
        wanted = Reference(mechanism, scalars).inverse_dynamics(q, v, a)
        assert np.abs((found - wanted).astype(float)).max() < 1e-45 * max(
            1.0, np.abs(wanted.astype(float)).max()
        )
    terms = force_sizes(
        Motion(mechanism, FLOAT), *(drawn[key].astype(float) for key in ("q", "v", "a"))
    )
    assert (np.abs(wanted.astype(float)) <= terms * (1 + 1e-9)).all()


@pytest.mark.parametrize("method", ["riccati", "riccati:segments"])
def test_the_self_test_of_a_long_chain_judges_accelerations(method: str, tmp_path: Path) -> None:
    """What bounds their round-off says nothing of so long a chain; a digit of the table changed is seen all the same."""
    out = tmp_path / "chain"
    symgen.generate(
        "planar_point_mass:300", out, [f"forward_dynamics={method}"], name="chain", form="looped"
    )
    assert selftest(out).stdout.endswith("1 passed, 0 failed\n")
    text = out / "chain_forward_dynamics.c"
    before = text.read_text()
    table, start = before.index("_table"), re.compile(r"\b1\.0\b")
    place = start.search(before, table)
    assert place is not None
    text.write_text(f"{before[: place.start()]}1.00000001{before[place.end() :]}")
    assert selftest(out).stdout.endswith("0 passed, 1 failed\n")


def test_loops_of_long_robots_are_verified() -> None:
    kind = "tree"
    mechanism = long(LONG + 10, kind)
    forms: dict[str, Form] = {
        function: made(LONG + 10, function, method, kind)
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


def test_loops_of_a_long_robot_that_moves_freely_are_verified() -> None:
    """At a quaternion that is of length 1 to all digits: floats have none."""
    mechanism = load(to_toml(long(LONG + 10, "tree")), base="free")
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
def test_inertias_through_joints_that_give_way_are_what_the_mass_matrix_says(name: str) -> None:
    """det M, ln det M, its gradient, M⁻¹ b, and what forces cause, of every kind of joint; with rotors as well."""
    scalars, balls = points(60), arb(60)
    made = {
        "driven": lambda: linked(name),
        "several": lambda: random_mechanism(7, 1, "tree", joints=SEVERAL),
    }
    mechanism = made.get(name, lambda: robot(name))()
    drawn, frame = draw_states(mechanism, 2), tip(mechanism)
    near = Reference(mechanism, balls, frame=frame)
    with balls.working():
        q, v, tau, b = (balls.array(drawn[key]) for key in ("q", "v", "tau", "b"))
        alpha, alpha_tip = near.link_accelerations(q, v, tau)
        F, a = near.interbody_forces(q, v, tau)
        M = near.mass_matrix(q)
        wanted = {
            "det": balls.determinant(M),
            "logdet": near.mass_matrix_log_determinant(q),
            "grad": near.mass_matrix_log_determinant_gradient(q),
            "x": balls.solve(M, b[..., None])[..., 0],
            "alpha": alpha,
            "alpha_tip": alpha_tip,
            "F": F,
            "a": a,
        }
    with scalars.working():
        motion = Reference(mechanism, scalars, frame=frame)
        q, v, tau, b = (scalars.array(drawn[key]) for key in ("q", "v", "tau", "b"))
        far = Articulated(motion, q)
        found = forward_dynamics_results(motion, far, q, v, tau)
        assert np.abs(found.pop("left").astype(float)).max() < 1e-40 * max(
            1.0, np.abs(drawn["tau"].astype(float)).max()
        )
        found |= {
            "det": far.determinant(),
            "logdet": far.log_determinant(),
            "grad": far.gradient(),
            "x": far.solve(b),
        }
    with balls.working():
        for key, values in wanted.items():
            off = np.array(
                [x - y.ball for x, y in zip(np.ravel(values), np.ravel(found[key]), strict=True)],
                dtype=object,
            )
            assert np.abs(off.astype(float)).max() <= 1e-40 * max(
                1e-30, np.abs(values.astype(float)).max()
            ), key


def test_a_determinant_that_is_no_double_is_said() -> None:
    """Of three hundred pendulums of a ton each."""
    heavy = point_mass_arm(*[10**3] * 300)
    one = recursion(heavy, "mass_matrix_determinant", "riccati")
    report = verify_programs(
        Subject(heavy, {"mass_matrix_determinant": one}, ProgramOptions(), TEXT, states=1)
    )
    assert not report.failures
    assert [(check.kind, check.unjudged) for check in report.unjudged] == [
        (
            "floating",
            "det M of so long a robot is outside the range of double; use mass_matrix_log_determinant",
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
def test_a_slip_in_one_row_of_a_long_table_is_seen(function: str) -> None:
    one = made(TRIED, function, BY.get(function, "riccati"))
    truth = LongTruth(long(TRIED), 1, 0, tip(long(TRIED)))
    assert check_long_algebra(one, truth, "right").passed
    link = Random(3).randrange(TRIED)
    row = list(one.constants[link])
    row[-1] += Fraction(1, 10**12)
    wrong = replace(one, constants=(*one.constants[:link], tuple(row), *one.constants[link + 1 :]))
    assert not check_long_algebra(
        wrong, LongTruth(long(TRIED), 1, 0, tip(long(TRIED))), "wrong"
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
def test_numbers_that_are_off_are_more_than_round_off(function: str) -> None:
    one = made(TRIED, function, BY.get(function, "riccati"))
    truth, run = LongTruth(long(TRIED), 1, 0, tip(long(TRIED))), machine_runner(one)
    assert check_long_floating(one, run, truth, "right", TEXT).passed
    off = {
        name: values * (1 + 1e-5)
        for name, values in run(truth.arguments(one, truth.floats)).items()
    }
    assert not check_long_floating(one, lambda _: off, truth, "off", TEXT).passed


def test_a_long_result_that_is_zero_is_judged() -> None:
    """J̇ v of slides: there is no largest entry to count round-offs of."""
    slides = random_mechanism(LONG + 10, 1, joints=("prismatic",))
    one = recursion(slides, "bias_acceleration", "newton_euler", tip(slides))
    report = verify_programs(
        Subject(slides, {"bias_acceleration": one}, ProgramOptions(), TEXT, states=1)
    )
    assert report.passed, str(report)
    truth = LongTruth(slides, 1, 0, tip(slides))
    off = {"Jdot_v": np.full((1, 6), 1e-9)}
    assert not check_long_floating(one, lambda _: off, truth, "off", TEXT).passed


def test_text_does_not_grow_with_the_robot() -> None:
    """But for the tables."""

    def length(one: LoopProgram) -> int:
        text = printer().source(one, Target("r", long(len(one)).sizes, TEXT))
        table = text[text.index("_table[") : text.index("};")]
        return len(text) - len(table)

    whole = made(90, "forward_dynamics", "riccati")
    ports = {
        name: tuple(port._replace(shape=(9,)) for port in getattr(whole, name))
        for name in ("inputs", "outputs")
    }
    part = check(
        replace(
            whole,
            parents=whole.parents[:9],
            class_of=whole.class_of[:9],
            constants=whole.constants[:9],
            **ports,
        )
    )
    assert abs(length(whole) - length(part)) < 60  # digits of numbers of links
    assert printer().work(whole) == 10 * printer().work(part)
    assert length(whole) < 18000


def test_the_command_line_names_forms(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "scara", "--form", "rolled"]) == 2
    assert "did you mean 'unrolled'?" in capsys.readouterr().err

"""Over-determined closed loops in rounded numbers, and loop closures that constrain nothing."""

from __future__ import annotations

import re
from math import asin, atan2, cos, pi, sin, sqrt
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen.cli import main
from symgen.description.loading import load
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import program
from symgen.pipeline.loop_closure import assembly
from symgen.reference.assembling import closed_states
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.support.errors import OutOfReach
from symgen.verification.algebra import check_algebra
from symgen.verification.exact_results import ExactResults
from tests.shared import sdf_texts as sdf

INERTIA = "mass = 1\ncentre = [0.1, 0.05, 0.02]\ninertia = [0.02, 0, 0, 0.03, 0, 0.025]\n"
FUNCTIONS = ("constrained_forward_dynamics", "reduced_mass_matrix", "constraint_residual")


def toml_list(numbers: np.ndarray | tuple[float, ...], digits: int) -> str:
    """Return a TOML list of numbers with so many decimals; 17 keeps the doubles exactly."""
    return (
        "[" + ", ".join(f"{x:.{digits}f}" if digits < 17 else repr(float(x)) for x in numbers) + "]"
    )


def rotation_about(axis: tuple[float, ...], angle: float) -> np.ndarray:
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + sin(angle) * skew + (1 - cos(angle)) * skew @ skew


def roll_pitch_yaw(R: np.ndarray) -> tuple[float, ...]:
    """Return roll, pitch and yaw of a rotation matrix."""
    return atan2(R[2, 1], R[2, 2]), asin(-R[2, 0]), atan2(R[1, 0], R[0, 0])


def body(name: str, parent: str, axis: str, xyz: str = "[0, 0, 0]", rpy: str = "[0, 0, 0]") -> str:
    return (
        f'[[body]]\nname = "{name}"\nparent = "{parent}"\n{INERTIA}'
        f'joint = {{ name = "j{name}", type = "revolute", '
        f"axis = {axis}, xyz = {xyz}, rpy = {rpy} }}\n"
    )


def welded_hinge(digits: int) -> str:
    """Return a hinge whose links are welded at 0.5 rad (six rows of rank 1); two others move."""
    R = rotation_about((1, 1, 0), 0.5)
    return (
        'name = "hinge"\nstart = { jb = 0.5 }\n'
        + body("a", "base", "[0, 0, 1]")
        + body("b", "a", "[1, 1, 0]")
        + body("c", "b", "[0, 0, 1]", "[0.3, 0, 0]")
        + '[[loop]]\ntype = "weld"\nfirst = { link = "b", xyz = [0.1, 0, 0] }\n'
        f'second = {{ link = "a", xyz = {toml_list(R @ [0.1, 0, 0], digits)}, '
        f"rpy = {toml_list(roll_pitch_yaw(R), digits)} }}\n"
    )


def tilted_four_bar(digits: int, kind: str = "revolute") -> str:
    """Return a four-bar with parallel hinges along no axis of any frame: five or three rows of rank
    2.
    """
    normal = np.array([1, 1, 0.3]) / sqrt(2.09)
    across = np.cross(normal, [0, 0, 1]) / np.linalg.norm(np.cross(normal, [0, 0, 1]))
    plane = np.column_stack([across, np.cross(normal, across), normal])
    A, D = 0.4 * np.array([cos(1.1), sin(1.1)]), np.array([1.0, 0])
    u = (D - A) / np.linalg.norm(D - A)
    along = (0.9**2 - 0.7**2 + (D - A) @ (D - A)) / (2 * np.linalg.norm(D - A))
    B = A + along * u + sqrt(0.9**2 - along**2) * np.array([-u[1], u[0]])
    A, B, D = (plane[:, :2] @ point for point in (A, B, D))
    crank, coupler, rocker = (
        rotation_about((1, 0, 2), 0.4),
        rotation_about((0, 1, 1), -0.6),
        rotation_about((3, 1, 1), 0.8),
    )
    of_coupler = crank @ coupler

    def rounded(numbers: np.ndarray | tuple[float, ...]) -> str:
        return toml_list(numbers, digits)

    def end(link: str, R: np.ndarray, origin: np.ndarray) -> str:
        return (
            f'{{ link = "{link}", xyz = {rounded(R.T @ (B - origin))}, rpy ='
            f" {rounded(roll_pitch_yaw(R.T @ plane))} }}"
        )

    return (
        'name = "tilted"\n'
        + body("a", "base", rounded(crank.T @ normal), rpy=rounded(roll_pitch_yaw(crank)))
        + body(
            "b",
            "a",
            rounded(of_coupler.T @ normal),
            rounded(crank.T @ A),
            rounded(roll_pitch_yaw(coupler)),
        )
        + body("c", "base", rounded(rocker.T @ normal), rounded(D), rounded(roll_pitch_yaw(rocker)))
        + f'[[loop]]\ntype = "{kind}"\n'
        f"first = {end('b', of_coupler, A)}\nsecond = {end('c', rocker, D)}\n"
    )


def rounded_bennett(digits: int) -> str:
    """Return Bennett's linkage with decimals in place of multiples of pi."""
    text = (Path(symgen.__file__).parent / "description/robots/bennett.toml").read_text()
    for exact, value in (('"pi/6"', pi / 6), ('"-pi/2"', -pi / 2), ('rpy = ["pi/2"', pi / 2)):
        written = toml_list((value,), digits)[1:-1]
        text = text.replace(exact, f"rpy = [{written}" if exact.startswith("rpy") else written)
    return text


MECHANISMS = {
    "welded hinge": (welded_hinge, 1, 6),
    "tilted four-bar": (tilted_four_bar, 2, 5),
    "tilted four-bar with a ball": (lambda digits: tilted_four_bar(digits, "point"), 2, 3),
    "bennett": (rounded_bennett, 2, 5),
}


def load_rounded(name: str, digits: int) -> Mechanism:
    return load(MECHANISMS[name][0](digits), snap="off")


@pytest.mark.parametrize(
    ("name", "digits"),
    [
        ("welded hinge", 6),
        ("welded hinge", 9),
        ("welded hinge", 15),
        ("tilted four-bar", 7),
        ("tilted four-bar", 17),
        ("tilted four-bar with a ball", 6),
        ("tilted four-bar with a ball", 12),
        ("bennett", 6),
        ("bennett", 17),
    ],
)
def test_rounded_closures_have_the_rank_of_exact_ones(name: str, digits: int) -> None:
    closure = assembly(load_rounded(name, digits))
    assert (closure.rank, closure.rows, closure.redundant, closure.rounded) == (
        MECHANISMS[name][1],
        MECHANISMS[name][1],
        0,
        True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "digits"), [("welded hinge", 17), ("tilted four-bar", 6), ("bennett", 12)]
)
def test_functions_of_rounded_closures_equal_the_reference(name: str, digits: int) -> None:
    robot = load_rounded(name, digits)
    exact_results = ExactResults(robot, 2, 5)
    assert (
        max(
            check_algebra(program(robot, function), exact_results, function).error
            for function in FUNCTIONS
        )
        < 1e-40
    )


@pytest.mark.slow
def test_a_rounded_robot_verifies_with_its_identities() -> None:
    report = symgen.verify(
        load_rounded("welded hinge", 17),
        ["constrained_forward_dynamics", "constraint_jacobian", "constraint_bias"],
    )
    assert report.passed, report


@pytest.mark.parametrize("digits", [6, 9, 15])
def test_rounded_and_exact_linkages_have_nearly_equal_accelerations(digits: int) -> None:
    exact, rounded = symgen.load("bennett"), load_rounded("bennett", digits)
    states = closed_states(rounded, assembly(rounded), 2, 3)
    q, v = states["q"].astype(float), states["v"].astype(float)
    tau = np.ones_like(q)
    a, b = (
        Reference(robot, FLOAT).evaluate(
            "constrained_forward_dynamics", {"q": q, "v": v, "tau": tau}
        )["a"]
        for robot in (exact, rounded)
    )
    assert np.abs(a - b).max() < max(300 * 10.0**-digits, 1e-9) * np.abs(a).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "welded hinge",
            "cannot be closed: .* rounded numbers explain 1e-05 of the robot's size or rad;"
            " .* write more digits",
        ),
        (
            "tilted four-bar with a ball",
            r"rows of rank 3 \(singular values 1\.\d+, 0\.\d+, \S+,"
            r" where rounded numbers explain 1e-05\)",
        ),
    ],
)
def test_too_coarse_numbers_are_refused_in_one_sentence(name: str, message: str) -> None:
    with pytest.raises(OutOfReach, match=message):
        assembly(load_rounded(name, 4))


def test_exact_numbers_keep_all_rows() -> None:
    closure = assembly(symgen.load("bennett"))
    assert (closure.rank, closure.rows, closure.rounded) == (2, 4, False)


def test_a_singular_pose_is_refused() -> None:
    """A rod connects the base with a fully stretched arm."""
    text = (
        'name = "stretched"\n'
        + body("a", "base", "[0, 0, 1]")
        + '[[loop]]\ntype = "distance"\ndistance = 1.5\n'
        'first = { link = "a", xyz = [1, 0, 0] }\nsecond = { link = "base", xyz = [-0.5, 0, 0] }\n'
    )
    with pytest.raises(OutOfReach, match="close in a singular pose: their rank is 0 there"):
        assembly(load(text))


@pytest.mark.slow
def test_closures_from_mjcf_have_the_same_threshold_of_rounding() -> None:
    def weld(digits: int) -> str:
        R = rotation_about((1, 1, 0), 0.5)
        half = (cos(0.25), -sin(0.25) / sqrt(2), -sin(0.25) / sqrt(2), 0)
        numbers = " ".join(f"{x:.{digits}f}" for x in (*-R.T @ [0.3, 0.1, 0], *half))
        return f"""<mujoco model="m"><worldbody>
          <body name="a"><joint name="ja" axis="0 0 1"/><geom size=".1" pos=".2 0 0"/>
          <body name="b" pos="0.3 0.1 0"><joint name="jb" axis="1 1 0"/>
          <geom size=".1" pos=".2 0 0"/></body></body></worldbody>
          <keyframe><key name="home" qpos="0 0.5"/></keyframe>
          <equality><weld body1="b" body2="a" relpose="{numbers}"/></equality></mujoco>"""

    closure = assembly(load(weld(8), snap="off"))
    assert (closure.rank, closure.rows, closure.rounded) == (1, 1, True)
    with pytest.raises(OutOfReach, match="rounded numbers explain 1e-05"):
        assembly(load(weld(3), snap="off"))


# -- closures without constraints ------------------------------------------------------------------

TWO_STATIC = (
    '[[body]]\nname = "p"\nparent = "base"\nmass = 1\n'
    'joint = { name = "jp", type = "fixed", xyz = [1, 0, 0] }\n'
    '[[body]]\nname = "q"\nparent = "base"\nmass = 1\n'
    'joint = { name = "jq", type = "fixed", xyz = [1, 2, 0] }\n'
    '[[loop]]\nname = "idle"\ntype = "weld"\n'
    'first = { link = "p", xyz = [0, 2, 0] }\nsecond = { link = "q" }\n'
)
ON_AN_AXIS = (
    '[[loop]]\nname = "idle"\ntype = "{}"\nfirst = {{ link = "a", xyz = [0.4, 0, {}] }}\n'
    'second = {{ link = "b", xyz = [0, 0, {}] }}\n'
)
ARM = 'name = "arm"\n' + body("a", "base", "[0, 0, 1]") + body("b", "a", "[0, 0, 1]", "[0.4, 0, 0]")
MJCF_ARM = """<mujoco model="m"><worldbody>
  <body name="a"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
  <body name="b" pos=".4 0 0"><joint name="k" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
  <body name="c" pos=".1 0 0"/></body></body>
  <body name="p" pos="1 0 0"/><body name="q" pos="0 1 0"/></worldbody>
  <equality>{}</equality></mujoco>"""
IDLE = {
    "toml: static links": ARM + TWO_STATIC,
    "toml: points on the axis": ARM + ON_AN_AXIS.format("point", 0.1, 0.1),
    "toml: the hinge again": ARM + ON_AN_AXIS.format("revolute", 0, 0),
    "toml: the hinge again, to 8 digits": ARM + ON_AN_AXIS.format("point", 0.1, 0.10000002),
    "toml: a link and what is fixed to it": ARM + '[[body]]\nname = "tip"\nparent = "b"\n'
    'joint = { name = "jt", type = "fixed" }\n'
    '[[loop]]\nname = "idle"\ntype = "weld"\nfirst = { link = "tip" }\n'
    'second = { link = "b" }\n',
    "mjcf: connect on the axis": MJCF_ARM.format(
        '<connect name="idle" body1="a" body2="b" anchor=".4 .2 0"/>'
    ),
    "mjcf: weld of static bodies": MJCF_ARM.format('<weld name="idle" body1="p" body2="q"/>'),
    "mjcf: weld to the world": MJCF_ARM.format('<weld name="idle" body1="p"/>'),
    "mjcf: weld to what is fixed": MJCF_ARM.format('<weld name="idle" body1="b" body2="c"/>'),
    "sdf: two hinges on one axis": sdf.model(
        *(sdf.link(name) for name in ("a", "b", "c")),
        sdf.joint("i", "a", "b", "<axis><xyz>0 0 1</xyz></axis>"),
        sdf.joint("k", "b", "c", "<axis><xyz>0 0 1</xyz></axis>"),
        sdf.joint("idle", "b", "c", "<axis><xyz>0 0 1</xyz></axis>"),
    ),
}


@pytest.mark.parametrize("case", IDLE)
def test_a_closure_without_constraints_is_left_out_with_a_note(case: str) -> None:
    robot = load(IDLE[case])
    assert robot.loops == ()
    (note,) = (note.text for note in robot.notes if note.kind == "idle")
    assert note.startswith(
        "loop idle constrains nothing and is left out: no joint moves its frame on "
    )
    with pytest.raises(
        OutOfReach,
        match=(
            r"needs closed loops, and the loops of '.*' constrain no motion; use functions of the"
            r" tree"
        ),
    ):
        symgen.assemble(robot)


@pytest.mark.parametrize("command", ["show", "generate", "verify", "convert", "inspect", "prove"])
def test_every_command_accepts_a_closure_without_constraints(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "arm.toml"
    path.write_text(ARM + ON_AN_AXIS.format("point", 0.1, 0.1))
    options = {
        "convert": ["-o", str(tmp_path / "arm.urdf")],
        "inspect": ["M"],
        "show": [],
        "generate": ["-f", "mass_matrix", "-o", str(tmp_path / "out")],
    }
    assert main([command, str(path), *options.get(command, ["-f", "mass_matrix"])]) == 0
    captured = capsys.readouterr()
    assert (
        "loop idle constrains nothing" in " ".join((captured.out + captured.err).split())
        or command == "inspect"
    )


def test_a_closure_without_constraints_does_not_change_other_loops() -> None:
    four_bar = (Path(symgen.__file__).parent / "description/robots/four_bar.toml").read_text()
    robot, four_bar_alone = (
        load(
            four_bar + '[[loop]]\nname = "idle"\ntype = "point"\nfirst = { link = "crank" }\n'
            'second = { link = "ground" }\n'
        ),
        load(four_bar),
    )
    assert robot.loops == four_bar_alone.loops
    assert (
        program(robot, "constrained_forward_dynamics").rows
        == program(four_bar_alone, "constrained_forward_dynamics").rows
    )


def test_inconsistent_frames_of_one_link_give_a_warning() -> None:
    robot = load(ARM + TWO_STATIC.replace("xyz = [0, 2, 0]", "xyz = [0, 1, 0]"))
    (warning,) = (
        note.text for note in robot.notes if note.kind == "warning" and "loop" in note.text
    )
    assert warning.startswith("loop idle constrains nothing")
    assert re.search(r"apart by \S+ rad or parts of the robot's size", warning)


def test_a_closure_that_cannot_be_closed_is_refused() -> None:
    with pytest.raises(OutOfReach, match="cannot be closed"):
        assembly(load(ARM + ON_AN_AXIS.format("point", 0, 0.1)))

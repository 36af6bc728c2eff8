"""`symgen report`: one page of facts about a robot, which needs no other file."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from math import cos, radians, sin
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.cli import main
from symgen.mechanism.mechanism import Body, Limits, Mechanism
from symgen.mechanism.notes import Note
from symgen.pages import report as report_module
from symgen.pages.report import pose, report, show, sparsity, tree
from symgen.pipeline.build import Progress
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.support.errors import RequestError
from symgen.verification.report import Check, Report
from symgen.verification.verify import verify
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Angle, Rotate, Slide, Turn
from tests.shared.bars import chain_of_bars, pendulum
from tests.shared.robots_for_tests import draw, point_mass_arm, robot


class Reader(HTMLParser):
    """Tags of a page with their attributes, its text, and the tags that are not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("report")
    written = {
        name: report(robot(name), folder / f"{name}.html", states=2)
        for name in ("planar_arm", "tree3")
    }
    return {name: path.read_text(encoding="utf-8") for name, path in written.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_arm", "tree3"])
def test_the_page_is_well_formed_and_needs_no_other_file(pages: dict[str, str], name: str) -> None:
    page = Reader(pages[name])
    assert page.open == []
    assert not any(
        "src" in attributes or str(attributes.get("href", "#"))[0] != "#"
        for _, attributes in page.tags
    )
    assert "http" not in pages[name].replace("http-equiv", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_arm", "tree3"])
def test_the_page_names_every_joint_function_and_method(pages: dict[str, str], name: str) -> None:
    text, mechanism = Reader(pages[name]).text, robot(name)
    assert all(joint.name in text for joint in mechanism.joints)
    assert all(function in text for function in FUNCTIONS)
    for method in methods.providers("forward_dynamics"):
        assert method in text
    program = symgen.program(mechanism, "forward_dynamics")
    assert f" {program.operations['mul']} " in text
    assert "Every check passed" in text
    assert "FAILED" not in text


@pytest.mark.slow
def test_a_failed_check_is_marked_as_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def verify_with_an_error(mechanism: Mechanism, **settings: int) -> object:
        verified = verify(mechanism, **settings)  # type: ignore[arg-type]
        return replace(
            verified, checks=(replace(verified.checks[0], error=1.0), *verified.checks[1:])
        )

    monkeypatch.setattr(report_module, "verify", verify_with_an_error)
    page = report(point_mass_arm(1, 1), tmp_path / "a.html", states=1).read_text(encoding="utf-8")
    assert "Not every check passed" in page
    assert 'class="failed">FAILED<' in page


@pytest.mark.slow
def test_the_same_robot_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (
        report(point_mass_arm(1, 1), tmp_path / f"{name}.html", states=1).read_bytes()
        for name in "ab"
    )
    assert first == second


def test_names_are_escaped_and_never_shortened(tmp_path: Path) -> None:
    arm = point_mass_arm(1, 1)
    long = "a_link_whose_name_is_longer_than_any_box_" * 3
    bodies = (
        Body("<script>alert(1)</script>", arm.bodies[0].parts),
        Body(long, arm.bodies[1].parts),
    )
    page = report(replace(arm, bodies=bodies), tmp_path / "c.html", states=1).read_text(
        encoding="utf-8"
    )
    assert "<script" not in page
    assert "&lt;script" in page
    assert f"<b>{long}</b>" in page  # and not shortened


def test_frames_are_drawn_at_the_poses_of_the_reference() -> None:
    mechanism = robot("chain5")
    axis = (Fraction(1), Fraction(-2), Fraction(2))
    chain = tuple(step for joint in mechanism.joints for step in joint.pose)
    quaternion = (Fraction(1), Fraction(2), Fraction(-3), Fraction(1))
    for steps in (
        chain,
        (*chain, Turn(axis, Angle(pi=Fraction(1, 3))), Slide(axis, Fraction(3, 10)), *chain),
        (*chain, Rotate(quaternion), *chain),
    ):
        for drawn, expected in zip(
            show._frame_at(steps), Reference(mechanism, FLOAT).pose(steps), strict=True
        ):
            assert np.abs(np.array(drawn) - expected).max() < 1e-14


def test_every_body_has_one_line_of_the_tree_and_is_joined_to_its_parent() -> None:
    mechanism = robot("tree5")
    drawing = tree.draw(mechanism)
    row_of = {row.name: row for row in drawing.rows}
    assert set(row_of) == {mechanism.base, *(body.name for body in mechanism.bodies)}
    assert len({row.y for row in drawing.rows}) == mechanism.nv + 1
    assert all(0 < row.x < drawing.width and 0 < row.y < drawing.height for row in drawing.rows)
    expected = set()
    for i, joint in enumerate(mechanism.joints):
        parent, row = (
            row_of[mechanism.base if joint.parent < 0 else mechanism.bodies[joint.parent].name],
            row_of[mechanism.bodies[i].name],
        )
        expected.add(f"M{parent.x:g} {parent.y:g} V{row.y:g} H{row.x:g}")
        assert joint.name in row.joint
        assert row.x >= parent.x < drawing.width
        assert row.y > parent.y
    assert set(drawing.lines) == expected


def test_the_skeleton_shows_the_robot_to_scale() -> None:
    """Panda's first two joints are 0.333 m above the base, and each link ends at the next joint."""
    panda = robot("panda")
    drawing = pose.skeleton(panda, pose.middle(panda))
    base, scale = (
        next(stroke for stroke in drawing.strokes if stroke.kind == kind)
        for kind in ("base", "scale")
    )
    assert f"{drawing.metres:g} m" in {label.text for label in drawing.labels}
    first = drawing.turning[0]
    assert first.x == pytest.approx((base.x1 + base.x2) / 2, abs=0.2)
    assert base.y1 - first.y == pytest.approx(
        0.333 * cos(radians(20)) * (scale.x2 - scale.x1) / drawing.metres, abs=0.5
    )
    assert (drawing.turning[1].x, drawing.turning[1].y) == (first.x, first.y)
    assert "0, 1" in {label.text for label in drawing.labels}
    assert len(drawing.turning) == 7
    assert not drawing.sliding
    assert len(drawing.masses) == 7
    assert all(
        0 < spot.x < drawing.width and 0 < spot.y < drawing.height
        for spot in (*drawing.turning, *drawing.masses)
    )
    links = [stroke for stroke in drawing.strokes if stroke.kind == "link"]
    assert [(s.x2, s.y2) for s in links] == [(spot.x, spot.y) for spot in drawing.turning]
    bent = pose.middle(panda)
    bent[3] -= 1.0
    bent_skeleton = pose.skeleton(panda, bent)
    assert [s.x for s in bent_skeleton.turning] != [s.x for s in drawing.turning]
    assert [spot.r for spot in pose.skeleton(robot("scara"), [0.0] * 4).sliding] == [4.5]


@pytest.mark.parametrize("name", ["panda", "tree5", "chain5"])
def test_the_factors_are_those_of_the_mass_matrix_of_the_reference(name: str) -> None:
    mechanism = robot(name)
    q = draw(mechanism, 1)["q"].astype(float)
    factors = sparsity._factors(mechanism, q[0])
    M = Reference(mechanism, FLOAT).mass_matrix(q)[0]
    assert np.abs(factors["M"] - M).max() < 1e-12 * np.abs(M).max()
    U = factors["U"]
    D = np.linalg.inv(U) @ M @ np.linalg.inv(U).T
    assert np.abs(D - np.diag(np.diag(D))).max() < 1e-10 * np.abs(D).max()
    assert np.linalg.slogdet(factors["H_bb"])[0] == 1


def test_neighbours_in_a_row_are_drawn_as_one_bar() -> None:
    factor = sparsity.Factor("M", "", 2, 4, 3, ((0, 0), (3, 0), (9, 0), (0, 3)))
    assert factor.path == "M0 0h6v3h-6zM9 0h3v3h-3zM0 3h3v3h-3z"
    apart = sparsity.Factor("M", "", 2, 4, 3, ((3, 0), (6, 3), (9, 3)))
    assert apart.path == "M3 0h3v3h-3zM6 3h6v3h-6z"


def test_branches_give_zeros_in_the_mass_matrix_and_chains_give_a_band() -> None:
    tree_robot = robot("tree5")
    factors = {factor.name: factor for factor in sparsity.pictures(tree_robot)}
    support = Reference(tree_robot, FLOAT).supports
    related = sum(
        i in support[j] or j in support[i]
        for i in range(tree_robot.nv)
        for j in range(tree_robot.nv)
    )
    assert factors["M"].filled <= related < tree_robot.nv**2
    chain = {factor.name: factor for factor in sparsity.pictures(robot("chain5"))}
    assert {abs(x - y) // (5 * chain["H_bb"].side) for x, y in chain["H_bb"].cells} <= {0, 1}
    assert "𝓐" not in {factor.name for factor in sparsity.pictures(point_mass_arm(1, 1))}


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_refused_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RequestError, match="does not exist"):
        report(point_mass_arm(1), tmp_path / "no" / "a.html")
    assert main(["report", "planar_point_mass:1", "-o", str(tmp_path), "--states", "1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# -- tables of the page ----------------------------------------------------------------------------


def crane() -> Mechanism:
    """Build a robot with a range on both sides, on one side and on none, and a massless body."""
    robot = symgen.Robot("crane", gravity=(0, 0, -10))
    robot.body("mast", parent="base", type="revolute", axis=(0, 0, 1), limits=(-1, 2))
    robot.body(
        "boom",
        parent="mast",
        type="prismatic",
        axis=(1, 0, 0),
        xyz=(0, 0, 2),
        mass=8,
        centre=("0.5", 0, 0),
        inertia=(1, 0, 0, 2, 0, 3),
        limits={"lower": "0.25"},
    )
    robot.body("hook", parent="boom", type="continuous", axis=(0, 1, 0), mass=1, centre=(0, 0, -1))
    robot.body("tail", parent="mast", type="revolute", axis=(0, 2, 0), mass=2, centre=(-1, 0, 0))
    return robot.build()


def test_every_joint_has_a_row_with_its_axis_and_range() -> None:
    assert report_module._joints(show.facts(crane())) == [
        ["0", "mast_joint", "revolute", "base → mast", "0 0 1", "-1 … 2 rad"],
        ["1", "boom_joint", "prismatic", "mast → boom", "1 0 0", "0.25 …  m"],
        ["2", "hook_joint", "continuous", "boom → hook", "0 1 0", "none"],
        ["3", "tail_joint", "revolute", "mast → tail", "0 2 0", "none"],
    ]


def test_a_follower_names_its_leader_and_a_joint_of_several_coordinates_has_no_range() -> None:
    robot = chain_of_bars(1)
    robot.body(
        "b",
        parent="bar0",
        type="revolute",
        axis=(0, 0, 1),
        mass=1,
        mimic="bar0_joint",
        limits=(0, 1),
    )
    robot.body("c", parent="b", type="cylindrical", axis=(0, 0, 1), mass=1, centre=(1, 0, 0))
    described = show.facts(robot.build(mimic="couple"))
    described["joints"][2]["limits"].update(lower=-1.0, upper=1.0)
    described["joints"][0]["limits"]["upper"] = 3.0
    assert [row[5] for row in report_module._joints(described)] == [
        " … 3 rad",
        "follows bar0_joint",
        "none",
    ]


def test_every_part_with_mass_or_moments_has_a_row() -> None:
    assert report_module._links(show.facts(crane())) == [
        ["boom", "boom", "8", "0.5", "0", "0", "1", "0", "0", "2", "0", "3"],
        ["hook", "hook", "1", "0", "0", "-1", *"000000"],
        ["tail", "tail", "2", "-1", "0", "0", *"000000"],
    ]
    described = show.facts(pendulum())
    (part,) = described["bodies"][0]["parts"]
    part["mass"] = 0.0
    assert [row[2] for row in report_module._links(described)] == ["0"]
    part["moments"] = [0.0] * 6
    assert report_module._links(described) == []


def test_the_pose_is_described_as_it_is_drawn() -> None:
    assert report_module._pose(crane())["words"].startswith(
        "Every joint is in the middle of its range"
    )
    assert report_module._pose(pendulum())["words"] == "Every joint is at 0."


def test_the_page_has_the_steps_and_the_notes_by_kind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Verification and costs, which take most of the time, are replaced by empty ones."""

    def verify_nothing(request: object, states: int, progress: Progress) -> Report:
        progress("halfway", 1, 2)
        return Report("r", "double", states, 17, 1.0, ())

    monkeypatch.setattr(report_module, "verify", verify_nothing)
    monkeypatch.setattr(report_module, "_costs", lambda mechanism, tell: [])
    steps: list[tuple[str, int, int]] = []
    notes = (Note("info", "quite harmless"), Note("warning", "rather harmful"))
    path = report(
        replace(pendulum(), notes=notes),
        tmp_path / "a.html",
        progress=lambda *step: steps.append(step),
    )
    assert steps == [("verifying: halfway", 1, 2), ("drawing", 1, 1)]
    text = Reader(path.read_text(encoding="utf-8")).text
    assert text.index("rather harmful") < text.index("quite harmless")
    assert text.count("rather harmful") == text.count("quite harmless") == 1
    assert " 3 kg" in text
    with pytest.raises(RequestError, match="does not exist; make it first"):
        report(pendulum(), tmp_path / "no" / "a.html")
    with pytest.raises(RequestError, match="name a file that can be written with -o"):
        report(pendulum(), tmp_path)


def test_costs_of_every_method_are_those_of_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = ("forward_kinematics", "mass_matrix_determinant", "constrained_forward_dynamics")
    monkeypatch.setattr(report_module, "FUNCTIONS", {name: FUNCTIONS[name] for name in chosen})
    steps: list[tuple[str, int, int]] = []
    costs = report_module._costs(point_mass_arm(1, 1), lambda *step: steps.append(step))
    assert steps == [(f"counting {name} by every method", k, 3) for k, name in enumerate(chosen)]
    assert [cost["function"] for cost in costs] == [*chosen]
    assert [cost["what"] for cost in costs] == [FUNCTIONS[name].what for name in chosen]
    kinematics, determinant, constrained = costs
    assert constrained["refused"]
    assert constrained["rows"] == []
    for cost in (kinematics, determinant):
        assert cost["refused"] is None
        least = min(row["cost"] for row in cost["rows"] if not row["why"])
        for row in cost["rows"]:
            assert row["best"] == (row.get("cost") == least)
            if row["why"]:
                assert row["width"] == 0
                continue
            program = symgen.program(point_mass_arm(1, 1), cost["function"], row["method"])
            ops = program.operations
            assert row["figures"] == [
                ops["mul"],
                ops["add"],
                ops["div"],
                ops["sin"] + ops["cos"],
                program.depth,
                program.temporaries,
            ]
            assert row["width"] == pytest.approx(100 * least / row["cost"], abs=0.06)
    assert any(row["figures"][3] > 1 for row in kinematics["rows"])
    widths = {row["width"] for row in determinant["rows"]}
    assert {0, 100} < widths
    assert any(width != round(width) for width in widths) or 50.0 in widths


def test_checks_are_complete_only_if_there_are_some_and_all_passed() -> None:
    good = Check("values", "mass_matrix", 0.125, 2.0, " eps")
    bad = Check("values", "jacobian", 3.0, 2.0, "")
    empty = Report("r", "double", 4, 17, 123.0, ())
    assert not report_module._verified(empty)["complete"]
    passed = report_module._verified(replace(empty, checks=(good,)))
    assert passed["complete"]
    assert (passed["states"], passed["condition"]) == (4, "1.2e+02")
    assert passed["checks"] == [["values", "mass_matrix", "0.12 eps", "2 eps", good.verdict]]
    failed = report_module._verified(replace(empty, checks=(good, bad)))
    assert not failed["complete"]
    assert failed["checks"][1] == ["values", "jacobian", "3", "2", "FAILED"]
    lost = report_module._verified(replace(empty, checks=(replace(good, unjudged="why"),)))
    assert lost["checks"][0][4] == "not judged: why"
    assert not lost["complete"]


# -- the skeleton ----------------------------------------------------------------------------------


def test_the_middle_of_a_range_needs_both_ends() -> None:
    assert pose.middle(crane()) == [0.5, 0.0, 0.0, 0.0]
    robot = chain_of_bars(1, limits=(1, 4)).body(
        "b", parent="bar0", type="revolute", axis=(0, 0, 1), mass=1, mimic="bar0_joint"
    )
    assert pose.middle(robot.build(mimic="couple")) == [2.5]
    for kind, limits, neutral in (
        ("revolute", Limits(upper=Fraction(2)), [0.0]),
        ("spherical", Limits(Fraction(1), Fraction(2)), [0.0, 0.0, 0.0, 1.0]),
    ):
        joint = replace(pendulum().joints[0], kind=kind, limits=limits)
        assert pose.middle(replace(pendulum(), joints=(joint,))) == neutral


@pytest.mark.parametrize(
    ("longest", "length"),
    [(1.0, 1.0), (1.9, 1.0), (2.0, 2.0), (4.9, 2.0), (5.0, 5.0), (9.9, 5.0), (0.03, 0.02)],
)
def test_a_scale_has_a_round_length(longest: float, length: float) -> None:
    assert pose._scale_length(longest) == pytest.approx(length)


def projected(point: tuple[float, float, float]) -> tuple[float, float]:
    """Return the coordinates to the right and down of a point that is seen from 50° to the right of
    x and from 20° above.
    """
    a, e = radians(-50), radians(20)
    x, y, z = point
    across = -sin(a) * x + cos(a) * y
    up = -sin(e) * (cos(a) * x + sin(a) * y) + cos(e) * z
    return across, -up


def test_the_skeleton_is_a_parallel_projection_that_fills_the_picture() -> None:
    """The crane at 0: the mast at the base, boom and hook 2 above it, the tail at the base."""
    drawn = pose.skeleton(crane(), [0.0] * 4)
    spots = {
        (0.0, 0.0, 0.0): drawn.turning[0],
        (0.0, 0.0, 2.0): drawn.sliding[0],
        (0.5, 0.0, 2.0): drawn.masses[0],
        (0.0, 0.0, 1.0): drawn.masses[1],
        (-1.0, 0.0, 0.0): drawn.masses[2],
    }
    flat = [projected(point) for point in spots]
    (left, right), (top, bottom) = (
        (min(column), max(column)) for column in zip(*flat, strict=True)
    )
    size = max((right - left) / (480 - 88), (bottom - top) / (400 - 88))
    middle_x, middle_y = (left + right) / 2, (top + bottom) / 2
    assert (drawn.width, drawn.height) == (480, 400)
    for (x, y), spot in zip(flat, spots.values(), strict=True):
        expected = (240 + (x - middle_x) / size, 200 + (y - middle_y) / size)
        assert (spot.x, spot.y) == pytest.approx(expected, abs=0.06)
    # the scale is the longest round length of at most 90 pixels
    scale = drawn.strokes[-1]
    assert scale.x2 - scale.x1 == pytest.approx(drawn.metres / size, abs=0.06)
    assert drawn.metres == pose._scale_length(90 * size)
    assert scale.x1 == drawn.height - scale.y1 == drawn.height - scale.y2 == 12
    label = drawn.labels[-1]
    assert (label.x, label.y, label.text) == (12, scale.y1 - 7, f"{drawn.metres:g} m")


def star() -> Mechanism:
    """Build a robot with two joints on the base, at different distances from it."""
    robot = symgen.Robot("star")
    for name, x, inside in (("a", "1.5", 1), ("b", "-0.75", "0.125")):
        robot.body(
            name,
            parent="base",
            type="revolute",
            axis=(0, 0, 1),
            xyz=(x, 0, 0),
            mass=1,
            centre=(inside, 0, 0),
        )
    return robot.build()


def test_a_wide_robot_fills_the_width_of_the_picture() -> None:
    """The outermost points are the mass at 2.5 and the joint at −0.75."""
    drawn = pose.skeleton(star(), [0.0, 0.0])
    right, left = drawn.masses[0], drawn.turning[1]
    assert (right.x, left.x) == (480 - 44, 44)
    assert left.y == pytest.approx(400 - right.y)
    links = [stroke for stroke in drawn.strokes if stroke.kind == "link"]
    for link, joint in zip(links, drawn.turning, strict=True):
        assert (link.x2, link.y2) == (joint.x, joint.y)
        x = 44 + 392 * 0.75 / 3.25  # of the base
        assert link.x1 == pytest.approx(x, abs=0.06)


def test_coordinates_have_one_decimal() -> None:
    drawn = pose.skeleton(crane(), [0.1, 0.2, 0.3, 0.4])
    numbers = [x for stroke in drawn.strokes for x in (stroke.x1, stroke.y1, stroke.x2, stroke.y2)]
    numbers += [x for spot in (*drawn.masses, *drawn.turning) for x in (spot.x, spot.y, spot.r)]
    assert all(x == round(x, 1) for x in numbers)
    assert any(x != round(x) for x in numbers)


def test_a_robot_at_one_point_is_in_the_middle() -> None:
    """A pixel is a metre then, and the scale 50 m."""
    robot = symgen.Robot("r").body("a", parent="base", type="revolute", axis=(0, 0, 1))
    drawn = pose.skeleton(robot.build(), [0.0])
    assert [(spot.x, spot.y) for spot in drawn.turning] == [(240, 200)]
    assert drawn.masses == ()
    assert (drawn.metres, drawn.strokes[-1].x2 - drawn.strokes[-1].x1) == (50, 50)


def test_strokes_lead_from_parents_to_joints_and_from_last_joints_to_their_masses() -> None:
    drawn = pose.skeleton(crane(), [0.0] * 4)
    kinds = [stroke.kind for stroke in drawn.strokes]
    assert kinds == [*["link", "axis"] * 4, "leaf", "leaf", "base", "scale"]
    ends = [(s.x1, s.y1, s.x2, s.y2) for s in drawn.strokes if s.kind == "link"]
    mast, boom = drawn.turning[0], drawn.sliding[0]
    assert ends[0] == (mast.x, mast.y, mast.x, mast.y)
    assert ends[1] == (mast.x, mast.y, boom.x, boom.y)
    hook, tail = (stroke for stroke in drawn.strokes if stroke.kind == "leaf")
    assert (hook.x1, hook.y1, hook.x2, hook.y2) == (
        boom.x,
        boom.y,
        drawn.masses[1].x,
        drawn.masses[1].y,
    )
    assert (tail.x1, tail.y1) == (mast.x, mast.y)
    base = drawn.strokes[-2]
    assert (base.x1, base.x2, base.y1, base.y2) == (mast.x - 14, mast.x + 14, mast.y, mast.y)


def test_axes_have_the_same_length_in_space_on_both_sides_of_their_joints() -> None:
    """The axis of the tail is (0, 2, 0), which is drawn as the unit vector is."""
    drawn = pose.skeleton(crane(), [0.0] * 4)
    axes = [stroke for stroke in drawn.strokes if stroke.kind == "axis"]
    joints = [drawn.turning[0], drawn.sliding[0], drawn.turning[1], drawn.turning[2]]
    directions = [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0)]
    for axis, joint, direction in zip(axes, joints, directions, strict=True):
        x, y = projected(direction)
        assert (axis.x2 - joint.x, axis.y2 - joint.y) == pytest.approx((17 * x, 17 * y), abs=0.11)
        assert (joint.x - axis.x1, joint.y - axis.y1) == pytest.approx((17 * x, 17 * y), abs=0.11)


def test_volumes_of_masses_are_in_proportion() -> None:
    """The masses are 8, 1 and 2; a radius is the cube root, and that of the greatest is 15."""
    drawn = pose.skeleton(crane(), [0.0] * 4)
    assert [spot.r for spot in drawn.masses] == [15.0, 7.5, round(15 / 4 ** (1 / 3), 1)]


def test_the_centre_of_a_body_is_that_of_all_its_parts() -> None:
    mechanism = pendulum()
    (body,) = mechanism.bodies
    heavy = replace(body.parts[0], mass=Fraction(9), pose=())
    two = replace(mechanism, bodies=(replace(body, parts=(*body.parts, heavy)),))
    reference = Reference(two, FLOAT)
    ((number, mass, centre),) = pose._weighed(reference, [np.eye(3)], [np.array([1.0, 0, 0])])
    assert (number, mass) == (0, 12.0)
    assert centre == pytest.approx([1 + 0.3 * 3 / 12, 0.4 * 3 / 12, 0])
    massless = replace(two, bodies=(replace(body, parts=(replace(heavy, mass=Fraction(0)),)),))
    assert pose._weighed(Reference(massless, FLOAT), [np.eye(3)], [np.zeros(3)]) == []


def test_joints_closer_than_their_numbers_share_a_label() -> None:
    near = pose.NEAR
    points = [(0.0, 0.0), (near - 1, 1 - near), (near + 1, 0.0), (0.0, near + 1), (1.0, 1.0)]
    labels = pose._labels(points)
    assert [label.text for label in labels] == ["0, 1, 4", "2", "3"]
    assert [(label.x, label.y) for label in labels] == [
        (9.0, -8.0),
        (near + 10, -8.0),
        (9.0, near - 7),
    ]


def test_a_body_that_moves_freely_is_a_square_around_its_joint() -> None:
    robot = symgen.Robot("r").body(
        "a", parent="base", type="free", mass=1, inertia=(1, 0, 0, 1, 0, 1)
    )
    robot.body("b", parent="a", type="revolute", axis=(0, 0, 1), xyz=(1, 0, 0), mass=1)
    drawn = pose.skeleton(robot.build(), pose.middle(robot.build()))
    (square,) = drawn.bodies
    link = drawn.strokes[0]
    assert (square.x + square.r / 2, square.y + square.r / 2) == pytest.approx(
        (link.x2, link.y2), abs=0.11
    )


# -- the tree --------------------------------------------------------------------------------------


def test_lines_of_the_tree_are_equally_spaced_and_branches_are_moved_in() -> None:
    drawing = tree.draw(crane())
    assert [row.name for row in drawing.rows] == ["base", "mast", "boom", "hook", "tail"]
    assert [row.y for row in drawing.rows] == [tree.ROW * (k + 0.5) for k in range(5)]
    assert drawing.height == 5 * tree.ROW
    level = [(row.x - tree.STEP / 2) / tree.STEP for row in drawing.rows]
    assert level == [0, 0, 1, 1, 1]  # two children of the mast
    assert all(row.text == row.x + tree.TEXT for row in drawing.rows)
    assert drawing.width == max(row.x for row in drawing.rows) + tree.STEP / 2
    assert [row.joint for row in drawing.rows[:3]] == [
        "base",
        "0 kg, by 0 mast_joint, revolute",
        "8 kg, by 1 boom_joint, prismatic",
    ]


# -- sparsity --------------------------------------------------------------------------------------


def test_forbidden_directions_are_orthonormal_and_orthogonal_to_the_motions() -> None:
    H = np.zeros((3, 18))
    H[0, :6] = [0, 0, 1, 0.5, 0, 0]
    H[1, 6:12] = [1, 0, 0, 0, 0, 2]
    H[2, 6:12] = [1, 1, 0, 0, 0, 2]
    W = sparsity._forbidden(H, [slice(0, 1), slice(1, 3), slice(3, 3)])
    assert W.shape == (18, 15)
    assert np.allclose(W.T @ W, np.eye(15), atol=1e-12)
    assert np.allclose(H @ W, 0, atol=1e-12)
    for joint, count in enumerate((5, 4, 6)):
        rows = W[6 * joint : 6 * joint + 6]
        assert np.count_nonzero(np.abs(rows).max(axis=0)) == count


def test_an_entry_is_zero_if_it_is_negligible_beside_its_row_and_column() -> None:
    matrix = np.array([[1.0, 1e-6], [-1e-6, 1e-12]])
    assert sparsity._filled(matrix).all()
    small = np.array([[1.0, 1e-12], [-1e-8, 1.0]])
    assert sparsity._filled(small).tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize(
    ("rows", "columns", "side"), [(2, 3, 28), (9, 9, 28), (10, 9, 25), (9, 21, 12), (300, 2, 1)]
)
def test_entries_of_a_picture_are_as_large_as_fit(rows: int, columns: int, side: int) -> None:
    """At most 28 pixels wide, and 252 pixels in all, unless an entry would vanish."""
    pattern = np.zeros((rows, columns), dtype=bool)
    pattern[1, 0] = pattern[0, 1] = True
    drawn = sparsity._picture("M", pattern)
    assert drawn.side == side
    assert set(drawn.cells) == {(0, side), (side, 0)}
    assert (drawn.width, drawn.height) == (columns * side, rows * side)
    assert (drawn.entries, drawn.filled) == (rows * columns, 2)


def test_shifts_of_wrenches_are_those_of_the_poses_of_links() -> None:
    """φ of a joint 2 above another shifts a force along x into a moment of 2 about y."""
    robot = chain_of_bars(2, xyz=(0, 0, 2))
    q = np.zeros(2)
    phi = sparsity._factors(robot.build(), q)["φ"]
    expected = np.eye(12)
    expected[0:3, 9:12] = [[0, -2, 0], [2, 0, 0], [0, 0, 0]]
    expected[0:6, 6:12] += np.eye(6)
    assert phi == pytest.approx(expected)


def test_a_follower_moves_by_its_multiplier_in_the_factors() -> None:
    robot = chain_of_bars(1).body(
        "b",
        parent="bar0",
        type="revolute",
        axis=(0, 0, 1),
        xyz=(1, 0, 0),
        mass=1,
        centre=(1, 0, 0),
        mimic=("bar0_joint", 3),
    )
    mechanism = robot.build(mimic="couple")
    M = Reference(mechanism, FLOAT).mass_matrix(np.array([[0.5]]))[0]
    assert sparsity._factors(mechanism, np.array([0.5]))["M"] == pytest.approx(M)


def test_factors_of_a_singular_mass_matrix_are_left_out() -> None:
    """Two joints at one place on one axis have no inverse mass matrix."""
    robot = chain_of_bars(2, xyz=(0, 0, 0))
    robot_with_massless_link = symgen.Robot("r")
    robot_with_massless_link.body("a", parent="base", type="revolute", axis=(0, 0, 1))
    robot_with_massless_link.body(
        "b", parent="a", type="revolute", axis=(0, 0, 1), mass=1, centre=(1, 0, 0)
    )
    singular = robot_with_massless_link.build()
    assert [*sparsity._factors(singular, np.zeros(2))] == ["M", "φ"]
    small = replace(singular.bodies[1].parts[0], mass=Fraction(1, 10**15))
    light = replace(singular.bodies[0], parts=(small,))  # the ratio of the eigenvalues is 4e15
    nearly = replace(singular, bodies=(light, singular.bodies[1]))
    assert "U" not in sparsity._factors(nearly, np.zeros(2))
    assert [*sparsity._factors(robot.build(), np.zeros(2))] == ["M", "U", "M⁻¹", "φ", "𝓐", "H_bb"]

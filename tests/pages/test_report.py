"""`symgen report`: one page of facts about a robot, which needs no other file."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from math import cos, radians
from pathlib import Path

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.cli import main
from symgen.mechanism.mechanism import Body, Mechanism
from symgen.pages.report import pose, report, show, sparsity, tree
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Angle, Rotate, Slide, Turn
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
    from symgen.pages import report as report_module

    verify = report_module.verify

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

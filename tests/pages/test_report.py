"""`symgen report`: one page that holds a robot's facts and needs nothing else."""

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
from symgen.vocabulary.poses import Angle, Slide, Turn
from tests.shared.robots_for_tests import draw, point_mass_arm, robot


class Reader(HTMLParser):
    """Every tag with its attributes, all text, and what is still open at the end."""

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


@pytest.mark.parametrize("name", ["planar_arm", "tree3"])
def test_the_page_is_whole_and_needs_nothing_else(pages: dict[str, str], name: str) -> None:
    page = Reader(pages[name])
    assert page.open == []
    assert not any(
        "src" in attributes or str(attributes.get("href", "#"))[0] != "#"
        for _, attributes in page.tags
    )
    assert "http" not in pages[name].replace("http-equiv", "")


@pytest.mark.parametrize("name", ["planar_arm", "tree3"])
def test_every_joint_function_and_method_stands_on_it(pages: dict[str, str], name: str) -> None:
    text, made = Reader(pages[name]).text, robot(name)
    assert all(joint.name in text for joint in made.joints)
    assert all(function in text for function in FUNCTIONS)
    for method in methods.providers("forward_dynamics"):
        assert method in text
    program = symgen.program(made, "forward_dynamics")
    assert f" {program.operations['mul']} " in text
    assert "Every check passed" in text
    assert "FAILED" not in text


def test_a_failed_check_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from symgen.pages import report as module

    honest = module.verify

    def broken(made: Mechanism, **settings: int) -> object:
        found = honest(made, **settings)  # type: ignore[arg-type]
        return replace(found, checks=(replace(found.checks[0], error=1.0), *found.checks[1:]))

    monkeypatch.setattr(module, "verify", broken)
    page = report(point_mass_arm(1, 1), tmp_path / "a.html", states=1).read_text(encoding="utf-8")
    assert "Not every check passed" in page
    assert 'class="failed">FAILED<' in page


def test_the_same_robot_gives_the_same_bytes(tmp_path: Path) -> None:
    one, other = (
        report(point_mass_arm(1, 1), tmp_path / f"{name}.html", states=1).read_bytes()
        for name in "ab"
    )
    assert one == other


def test_a_name_is_data_and_not_html(tmp_path: Path) -> None:
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
    assert f"<b>{long}</b>" in page  # and never cut


def test_places_are_shown_where_the_reference_has_them() -> None:
    made = robot("chain5")
    slanted = (Fraction(1), Fraction(-2), Fraction(2))
    whole = tuple(step for joint in made.joints for step in joint.pose)
    for steps in (
        whole,
        (*whole, Turn(slanted, Angle(pi=Fraction(1, 3))), Slide(slanted, Fraction(3, 10)), *whole),
    ):
        for shown, expected in zip(
            show._frame_at(steps), Reference(made, FLOAT).pose(steps), strict=True
        ):
            assert np.abs(np.array(shown) - expected).max() < 1e-14


def test_every_body_is_one_line_of_the_tree_and_joined_to_its_parent() -> None:
    made = robot("tree5")
    drawing = tree.draw(made)
    at = {row.name: row for row in drawing.rows}
    assert set(at) == {made.base, *(body.name for body in made.bodies)}
    assert len({row.y for row in drawing.rows}) == made.nv + 1
    assert all(0 < row.x < drawing.width and 0 < row.y < drawing.height for row in drawing.rows)
    expected = set()
    for i, joint in enumerate(made.joints):
        above, row = (
            at[made.base if joint.parent < 0 else made.bodies[joint.parent].name],
            at[made.bodies[i].name],
        )
        expected.add(f"M{above.x:g} {above.y:g} V{row.y:g} H{row.x:g}")
        assert joint.name in row.joint
        assert row.x >= above.x < drawing.width
        assert row.y > above.y
    assert set(drawing.lines) == expected


def test_the_skeleton_is_the_robot_to_scale() -> None:
    """Panda's first joint stands 0.333 m above the base; its second at the same place; the tip is where the chain leads."""
    made = robot("panda")
    drawn = pose.skeleton(made, pose.middle(made))
    base, scale = (
        next(stroke for stroke in drawn.strokes if stroke.kind == kind)
        for kind in ("base", "scale")
    )
    assert f"{drawn.metres:g} m" in {label.text for label in drawn.labels}
    first = drawn.turning[0]
    assert first.x == pytest.approx((base.x1 + base.x2) / 2, abs=0.2)
    assert base.y1 - first.y == pytest.approx(
        0.333 * cos(radians(20)) * (scale.x2 - scale.x1) / drawn.metres, abs=0.5
    )
    assert (drawn.turning[1].x, drawn.turning[1].y) == (first.x, first.y)
    assert "0, 1" in {label.text for label in drawn.labels}
    assert len(drawn.turning) == 7
    assert not drawn.sliding
    assert len(drawn.masses) == 7
    assert all(
        0 < spot.x < drawn.width and 0 < spot.y < drawn.height
        for spot in (*drawn.turning, *drawn.masses)
    )
    links = [stroke for stroke in drawn.strokes if stroke.kind == "link"]
    assert [(s.x2, s.y2) for s in links] == [(spot.x, spot.y) for spot in drawn.turning]
    bent = pose.middle(made)
    bent[3] -= 1.0
    moved = pose.skeleton(made, bent)
    assert [s.x for s in moved.turning] != [s.x for s in drawn.turning]
    assert [spot.r for spot in pose.skeleton(robot("scara"), [0.0] * 4).sliding] == [4.5]


@pytest.mark.parametrize("name", ["panda", "tree5", "chain5"])
def test_the_factors_are_those_of_the_reference_s_mass_matrix(name: str) -> None:
    made = robot(name)
    q = draw(made, 1)["q"].astype(float)
    found = sparsity._factors(made, q[0])
    M = Reference(made, FLOAT).mass_matrix(q)[0]
    assert np.abs(found["M"] - M).max() < 1e-12 * np.abs(M).max()
    U = found["U"]
    D = np.linalg.inv(U) @ M @ np.linalg.inv(U).T
    assert np.abs(D - np.diag(np.diag(D))).max() < 1e-10 * np.abs(D).max()
    assert np.linalg.slogdet(found["H_bb"])[0] == 1


def test_neighbours_in_a_row_are_drawn_as_one_bar() -> None:
    factor = sparsity.Factor("M", "", 2, 4, 3, ((0, 0), (3, 0), (9, 0), (0, 3)))
    assert factor.path == "M0 0h6v3h-6zM9 0h3v3h-3zM0 3h3v3h-3z"


def test_a_branch_leaves_zeros_and_a_chain_a_band() -> None:
    made = robot("tree5")
    found = {factor.name: factor for factor in sparsity.pictures(made)}
    support = Reference(made, FLOAT).supports
    related = sum(
        i in support[j] or j in support[i] for i in range(made.nv) for j in range(made.nv)
    )
    assert found["M"].filled <= related < made.nv**2
    chain = {factor.name: factor for factor in sparsity.pictures(robot("chain5"))}
    assert {abs(x - y) // (5 * chain["H_bb"].side) for x, y in chain["H_bb"].cells} <= {0, 1}
    assert "𝓐" not in {factor.name for factor in sparsity.pictures(point_mass_arm(1, 1))}


def test_what_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RequestError, match="does not exist"):
        report(point_mass_arm(1), tmp_path / "no" / "a.html")
    assert main(["report", "planar_point_mass:1", "-o", str(tmp_path), "--states", "1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []

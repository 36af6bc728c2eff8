"""Classes of links, the columns of their constants, and the parts of arrays that belong to them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from symgen.derivation import constants as k
from symgen.derivation.model import reframe, regroup
from symgen.derivation.table_linkage import FRAME_POSE, GEOMETRY, INERTIAL, constants_of
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.loops import build, chains
from symgen.pipeline.loops.classes import (
    LAST_LINKS,
    REPEATED,
    VIRTUAL_BASE,
    Classes,
    _path,
    classes_by_kind,
    classes_by_neighbours,
    kinds_alike,
    short_chains,
)
from symgen.support.errors import OutOfReach
from symgen.vocabulary.arrays import Array
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.robots_for_tests import of_kind, random_mechanism


def tree(*links: tuple[str, int]) -> Mechanism:
    """Return a robot of links with these kinds of joints and parents."""
    mechanism = random_mechanism(len(links), 7)
    joints = (
        replace(of_kind(joint, kind), parent=parent)
        for joint, (kind, parent) in zip(mechanism.joints, links, strict=True)
    )
    return replace(mechanism, joints=tuple(joints))


def chain(*kinds: str) -> Mechanism:
    return tree(*((kind, i - 1) for i, kind in enumerate(kinds)))


def model_of(mechanism: Mechanism) -> Any:
    with k.precision():
        return reframe(mechanism)


def request(mechanism: Mechanism, function: str = "gravity_force", frame: str = "") -> Any:
    with k.precision():
        method = {"jacobian": "kinematics", "link_poses": "kinematics"}.get(
            function, "newton_euler"
        )
        return build._build_request(mechanism, function, method, frame)


# -- classes ---------------------------------------------------------------------------------------


def test_links_are_of_the_class_of_their_joint() -> None:
    classes = classes_by_kind(model_of(chain("prismatic", "revolute", "prismatic")), [], False)
    assert classes.kinds == ("prismatic", "revolute")
    assert classes.of_links == (0, 1, 0)
    assert classes.used == 2
    assert classes.windows == ()
    assert classes.name([1]) == "revolute"


@pytest.mark.parametrize("framed", [False, True])
def test_every_class_stands_behind_every_class_in_a_sample_chain(framed: bool) -> None:
    """The chain begins and ends with links that turn; with a frame its end is twice as long."""
    classes = classes_by_kind(model_of(chain("prismatic", "revolute", "helical")), [], framed)
    walk = classes.walk
    pairs = {*pairwise(walk)}
    assert pairs == {(a, b) for a in range(3) for b in range(3)}
    turning = classes.kinds.index("revolute")
    assert {*walk[:REPEATED]} == {turning}
    last = LAST_LINKS * (2 if framed else 1)
    assert {*walk[-last:]} == {turning}
    assert len(walk) == REPEATED + 3 * 3 * 3 + last


def test_the_virtual_base_stands_for_the_links_of_the_trunk() -> None:
    model = model_of(tree(("free", -1), ("revolute", 0), ("free", -1)))
    trunk = [model.links[0], model.links[2]]
    classes = classes_by_kind(model, trunk, False)
    assert classes.of_links == (-1, 0, -1)
    assert classes.kinds == ("revolute",)
    alone = model_of(tree(("free", -1)))
    empty = classes_by_kind(alone, list(alone.links), False)
    assert (empty.kinds, empty.of_links, empty.used) == ((VIRTUAL_BASE,), (-1,), 0)


def test_joints_that_allow_the_same_directions_are_alike() -> None:
    kinds = ("revolute", "continuous", "prismatic", "revolute")
    assert kinds_alike(model_of(chain(*kinds))) == {
        "revolute": "revolute",
        "continuous": "revolute",
        "prismatic": "prismatic",
    }


@pytest.mark.parametrize("framed", [False, True])
def test_classes_by_neighbours_have_the_joints_before_and_behind(framed: bool) -> None:
    """At the base and at the end a joint that turns stands in for the missing one."""
    model = model_of(chain("prismatic", "revolute", "continuous", "prismatic", "revolute"))
    classes = classes_by_neighbours(model, framed)
    p, r = "prismatic", "revolute"
    assert [classes.windows[c] for c in classes.of_links] == [
        (r, p, r),
        (p, r, r),
        (r, r, p),
        (r, p, r),
        (p, r, r),
    ]
    assert classes.of_links == (0, 1, 2, 0, 1)
    assert classes.used == 3
    assert [*classes.kinds[:3]] == [p, r, r]
    around = [
        tuple(classes.kinds[c] for c in classes.walk[i - 1 : i + 2])
        for i in range(1, len(classes.walk) - 1)
    ]
    for window in classes.windows:
        assert around.count(window) >= 2
    for i, c in enumerate(classes.walk[1:-1], 1):
        if c < classes.used:
            assert classes.windows[c] == around[i - 1]
    last = LAST_LINKS * (2 if framed else 1)
    assert [classes.kinds[c] for c in classes.walk[-last:]] == [r] * last
    assert [classes.kinds[c] for c in classes.walk[: REPEATED // 2]] == [r] * (REPEATED // 2)
    assert classes.name([1]) == "revolute between prismatic and revolute"
    assert (
        classes.name([1, 2]) == "revolute between prismatic or revolute and revolute or prismatic"
    )


@pytest.mark.parametrize(
    ("kinds", "outer"),
    [
        (("free", "revolute"), "revolute"),
        (("free", "prismatic", "revolute"), "revolute"),
        (("free", "prismatic"), "free"),
        (("prismatic",), "prismatic"),
        (("helical", "revolute"), "helical"),
    ],
)
def test_outer_joints_turn_if_any_does_and_are_free_only_without_another(
    kinds: tuple[str, ...], outer: str
) -> None:
    """The first such kind stands before the first link and behind the last one."""
    classes = classes_by_neighbours(model_of(chain(*kinds)), False)
    windows = [classes.windows[c] for c in classes.of_links]
    assert (windows[0][0], windows[-1][2]) == (outer, outer)
    assert [window[1] for window in windows] == [*kinds]


def test_short_chains_have_every_class_between_its_neighbours() -> None:
    model = model_of(
        chain("prismatic", "revolute", "revolute", "prismatic", "revolute", "revolute")
    )
    classes = classes_by_neighbours(model, False)
    for frame in (-1, 4):
        chosen, parents = short_chains(classes, model, frame)
        assert parents == [-1, *range(len(chosen) - 1)]
        assert {classes.of_links[i] for i in chosen} == {*classes.of_links}
        kinds = [model.links[i].kind for i in chosen]
        for i, link in enumerate(chosen[1:-1], 1):
            assert classes.windows[classes.of_links[link]] == tuple(kinds[i - 1 : i + 2])
        assert frame < 0 or frame in chosen


def test_a_path_of_windows_is_the_shortest() -> None:
    windows = [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b"), ("b", "c", "c"), ("c", "c", "a")]
    start = ("x", "a", "b")
    assert _path(start, windows, [("c", "a", "b")]) == [*windows[:3]]
    assert _path(start, windows, [("c", "c", "a"), ("b", "c", "a")]) == [*windows[:2]]
    assert _path(start, windows, [("z", "z", "z")]) == []
    assert _path(("x", "y", "z"), windows, [windows[0]]) == []


# -- trunks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("links", "lengths"),
    [
        ((("revolute", -1), ("revolute", 0)), [0]),
        ((("free", -1), ("revolute", 0)), [1]),
        ((("free", -1),), [0, 1]),
        ((("free", -1), ("free", -1)), [0, 2]),
        ((("free", -1), ("revolute", -1)), [1, 0]),
        ((("free", -1), ("revolute", 0), ("free", -1)), [2, 0]),
    ],
)
def test_the_virtual_base_may_stand_for_free_roots(
    links: tuple[tuple[str, int], ...], lengths: list[int]
) -> None:
    """A free root is a class of its own only if no other link of the robot depends on it alone."""
    trunks = build._candidate_trunks(request(tree(*links)))
    assert [len(trunk) for trunk in trunks] == lengths
    assert all(link.kind == VIRTUAL_BASE for trunk in trunks for link in trunk)


def test_free_joints_and_frames_have_their_places() -> None:
    with pytest.raises(OutOfReach, match="the free joint of link 'link1' is not on the base"):
        request(chain("revolute", "free"))
    robot = replace(
        random_mechanism(2),
        frames=(
            *random_mechanism(2).frames,
            replace(random_mechanism(2).frames[0], name="ground", body=-1),
        ),
    )
    with pytest.raises(OutOfReach, match="frame 'ground' is on the base, which does not move"):
        request(robot, "jacobian", "ground")
    branched = tree(("revolute", -1), ("revolute", 0), ("revolute", 0), ("revolute", 0))
    with pytest.raises(
        OutOfReach, match="newton_euler couples all joints on a link, and 'link0' carries 3"
    ):
        build._classes_of_chains(request(branched))
    roots = tree(("revolute", -1), ("revolute", -1))
    assert build._classes_of_chains(request(roots)).windows == ()
    assert build._classes_of_chains(request(chain("revolute", "prismatic"))).windows


# -- columns ---------------------------------------------------------------------------------------


def candidates(mechanism: Mechanism) -> tuple[Classes, list[Any]]:
    asked = request(mechanism)
    classes = classes_by_kind(asked.model, [], False)
    with k.precision():
        return classes, [*build._columns(asked, classes)]


def test_candidates_of_columns_grow() -> None:
    """First only what differs, then also the mass, all nonzero inertia, and all geometry."""
    robot = random_mechanism(3, 1)
    bodies = tuple(
        replace(
            body,
            parts=tuple(
                replace(part, pose=(), moments=tuple(map(Fraction, (1, 0, 0, 2, 0, 2))))
                for part in body.parts
            ),
        )
        for body in robot.bodies
    )
    robot = replace(robot, bodies=bodies)
    classes, columns_tried = candidates(robot)
    assert len(classes.kinds) == 1
    assert len(columns_tried) == 4
    columns = [{*each[0].column} for each in columns_tried]
    assert "m" in columns[1]
    assert {name for name in INERTIAL if name in columns[3]} == {*INERTIAL}
    assert {*GEOMETRY} - {"offset", "cos_beta", "sin_beta"} <= columns[3]
    assert columns[0] <= columns[1]
    assert columns[2] <= columns[3]
    by_link = request(robot).constants.by_link
    moving = {name for name in INERTIAL if any(not k.is_zero(link[name]) for link in by_link)}
    assert {*INERTIAL} & columns[2] == moving
    assert {*INERTIAL} > moving


def test_equal_links_have_no_columns_until_they_are_needed() -> None:
    (joint,), (body,) = random_mechanism(1, 1).joints, random_mechanism(1, 1).bodies
    (part,) = body.parts
    equal = replace(
        random_mechanism(1, 1),
        joints=tuple(replace(joint, name=f"j{i}", parent=i - 1) for i in range(3)),
        bodies=tuple(
            replace(body, name=f"b{i}", parts=(replace(part, link=f"b{i}"),)) for i in range(3)
        ),
        frames=(),
    )
    _, columns_tried = candidates(equal)
    assert "m" not in columns_tried[0][0].column
    assert "m" in columns_tried[1][0].column


def test_parameters_of_joints_always_have_columns() -> None:
    robot = chain("helical", "helical")
    equal = replace(
        robot,
        joints=tuple(
            replace(joint, parameters=(("pitch", Fraction(1, 9)),)) for joint in robot.joints
        ),
    )
    for each in candidates(equal)[1]:
        assert "pitch" in each[0].column


def test_constants_have_the_pose_of_the_declared_frame_on_request() -> None:
    (link,) = model_of(random_mechanism(1, 1)).links
    with k.precision():
        usual, placed = constants_of(link), constants_of(link, with_pose=True)
    assert not {*FRAME_POSE} & {*usual}
    assert {*FRAME_POSE} <= {*placed}
    assert usual.keys() == placed.keys() - {*FRAME_POSE}


# -- arrays ----------------------------------------------------------------------------------------


def test_arrays_are_of_joints_of_links_or_shared() -> None:
    for shape, width in (
        (("NV",), -1),
        (("NQ",), -1),
        (("NB", 6), 6),
        (("NB", 3, 4), 12),
        (("NB",), 1),
        ((6,), 0),
        ((), 0),
        (("NV", "NV"), None),
        (("NB", "NV"), None),
        ((6, "NV"), None),
        (("NP",), None),
    ):
        assert build._width(Array("x", shape, "")) == width, shape


def test_widths_and_rows_are_those_of_a_function() -> None:
    assert build._widths("link_poses") == {
        array.name: 12 if array.shape[1:] == (3, 4) else build._width(array)
        for array in FUNCTIONS["link_poses"].results
    }
    assert build._row_counts("jacobian") == {"J": 6}
    assert build._row_counts("mass_matrix") == {}
    assert build._row_counts("gravity_force") == {}
    assert build._widths("gravity_force") == {}
    with pytest.raises(OutOfReach, match=r"^mass_matrix has no looped form, since not all of its"):
        build._ports(random_mechanism(2), "mass_matrix", FUNCTIONS["mass_matrix"].results)
    ports = build._ports(random_mechanism(2), "jacobian", FUNCTIONS["jacobian"].results)
    assert [(port.name, port.shape) for port in ports] == [("J", (6, 2))]


def test_roots_of_one_robot_share_the_base_frame() -> None:
    with k.precision():
        single, several = (
            build.placed_links(robot)
            for robot in (random_mechanism(2, 3), tree(("revolute", -1), ("revolute", -1)))
        )
        regrouped = build.placed_links(random_mechanism(2, 3), regroup)
    assert single == model_of(random_mechanism(2, 3))
    first, second = several.links
    assert (first.base_rotation, first.gravity) == (second.base_rotation, second.gravity)
    assert regrouped.links[1].inertia != single.links[1].inertia


# -- chains whose steps are derived one by one -----------------------------------------------------


def test_equal_parts_hold_all_elements() -> None:
    assert chains.equal_parts(12, 4) == (3, 3, 3, 3)
    assert chains.equal_parts(13, 4) == (4, 4, 4, 4)
    assert chains.equal_parts(1, 3) == (1, 1, 1)


def test_maps_alternate_with_scans() -> None:
    maps: Any = ["m0", "m1", "m2"]
    scans: Any = ["s0", "s1"]
    assert chains.in_turn(maps, scans) == ("m0", "s0", "m1", "s1", "m2")


def test_a_derived_step_has_the_arguments_that_it_reads() -> None:
    step = chains.derived_step(
        "f",
        "m",
        lambda derivation: {
            "y": [derivation.inputs["b"][1] * derivation.inputs["a"][0]],
            "none": [],
        },
        {"a": 1, "unread": 2, "b": 2, "empty": 0},
    )
    assert [(port.name, port.size) for port in step.inputs] == [("a", 1), ("b", 2)]
    assert [port.name for port in step.outputs] == ["y"]
    assert (step.function, step.method) == ("f", "m")

"""Depths and relative poses of the frames of an SDF file."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest

from symgen.description.quantities import Location
from symgen.description.readers._sdf import frames as module
from symgen.description.readers._sdf.frames import Frame, FramePoses, Scope, at_origin, direction
from symgen.description.readers._sdf.text import Text
from symgen.description.snapping import Snapper
from symgen.support.errors import DescriptionError
from symgen.vocabulary.poses import Angle, Pose, Rotate, Shift, Turn
from tests.description.poses_in_floats import Matrix
from tests.shared.descriptions import pose_matrix

HERE = Location("frames.sdf")


def frames() -> dict[str, Frame]:
    """Return the world and a tree of frames, each one unit further along x, y or z."""
    world = Frame("world", "world", HERE)
    tree = {"world": world}
    for name, base, axis in (
        ("a", "world", 0), ("b", "a", 1), ("c", "a", 2),
        ("d", "c", 0), ("e", "d", 1), ("f", "b", 2),
    ):  # fmt: skip
        x, y, z = (Fraction(int(k == axis)) for k in range(3))
        tree[name] = Frame(name, "frame", HERE, tree[base], (Shift((x, y, z)),))
    return tree


def translation(pose: Pose) -> list[int]:
    """Return the translation of a pose without rotations."""
    shifts = [step.xyz for step in pose if isinstance(step, Shift)]
    assert len(shifts) == len(pose)
    return [int(sum(xyz[k] for xyz in shifts)) for k in range(3)]


def position(tree: dict[str, Frame], name: str) -> list[int]:
    """Return the position of a frame in the world."""
    pose: Pose = ()
    frame: Frame | None = tree[name]
    while frame is not None:
        pose, frame = (*frame.pose, *pose), frame.base
    return translation(pose)


def test_relative_poses_do_not_depend_on_the_order_in_which_they_are_asked_for() -> None:
    for order in permutations("bdef", 4):
        tree, poses = frames(), FramePoses()
        for start, end in pairwise(order):
            pose = poses.relative_pose(tree[start], tree[end], HERE)
            difference = [
                y - x for x, y in zip(position(tree, start), position(tree, end), strict=True)
            ]
            assert translation(pose) == difference
        depths = {name: frame.depth for name, frame in tree.items() if frame.depth >= 0}
        assert depths == {
            name: depth
            for name, depth in {"world": 0, "a": 1, "b": 2, "c": 2, "d": 3, "e": 4, "f": 3}.items()
            if name in depths
        }


def turned_tree() -> dict[str, Frame]:
    """Return a tree of frames whose poses shift and turn."""
    world = Frame("world", "world", HERE)
    tree = {"world": world}
    for k, (name, base) in enumerate(
        (("m", "world"), ("a", "m"), ("b", "a"), ("c", "m"), ("d", "c"), ("e", "d")), start=1
    ):
        turn = Turn((Fraction(1), Fraction(k), Fraction(-2)), Angle(radians=Fraction(k, 3)))
        quaternion = Rotate((Fraction(2), Fraction(-k), Fraction(1), Fraction(3)))
        shift = Shift((Fraction(k), Fraction(1, k), Fraction(-1)))
        pose = (shift, turn) if k % 2 else (quaternion, shift)
        tree[name] = Frame(name, "frame", HERE, tree[base], pose)
    return tree


def in_world(frame: Frame) -> Matrix:
    matrix = np.eye(4)
    current: Frame | None = frame
    while current is not None:
        matrix, current = pose_matrix(current.pose) @ matrix, current.base
    return matrix


def test_a_relative_pose_is_the_quotient_of_both_poses_in_the_world() -> None:
    tree, poses = turned_tree(), FramePoses()
    for start, end in permutations(tree, 2):
        pose = pose_matrix(poses.relative_pose(tree[start], tree[end], HERE))
        expected = np.linalg.inv(in_world(tree[start])) @ in_world(tree[end])
        assert np.abs(pose - expected).max() < 1e-12, (start, end)
    assert poses.relative_pose(tree["d"], tree["d"], HERE) == ()


def test_the_pose_of_a_frame_in_its_model_needs_no_pose_of_the_model() -> None:
    tree = turned_tree()
    tree["m"].base, tree["m"].pose = None, ()
    for name, path in (("m", "m"), ("a", "a"), ("b", "ab"), ("e", "cde")):
        expected = np.eye(4)
        for step in path if name != "m" else "":
            expected = expected @ pose_matrix(tree[step].pose)
        pose = FramePoses().pose_in_model(tree["m"], tree[name])
        assert np.abs(pose_matrix(pose) - expected).max() < 1e-12


def test_steps_between_frames_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each frame on the way counts four steps, on both branches; a cached pose counts none."""
    assert module.MOST_STEPS == 1_000_000
    monkeypatch.setattr(module, "MOST_STEPS", 4 * 5)
    tree, poses = turned_tree(), FramePoses()
    poses.relative_pose(tree["b"], tree["e"], HERE)  # up over b and a, down over c, d and e
    poses.relative_pose(tree["b"], tree["e"], HERE)
    with pytest.raises(DescriptionError, match="have more than 20 steps up to here"):
        poses.relative_pose(tree["a"], tree["b"], HERE)
    monkeypatch.setattr(module, "MOST_STEPS", 4 * 5 - 1)
    with pytest.raises(DescriptionError, match="more than 19 steps"):
        FramePoses().relative_pose(tree["b"], tree["e"], HERE)


def test_poses_in_a_circle_are_refused() -> None:
    first = Frame("first", "frame", Location("frames.sdf", 1))
    second = Frame("second", "frame", Location("frames.sdf", 2), first)
    first.base = second
    world = Frame("world", "world", HERE)
    message = r"frames\.sdf:\d: its pose depends on itself through other frames"
    with pytest.raises(DescriptionError, match=message):
        FramePoses().relative_pose(world, first, HERE)
    with pytest.raises(DescriptionError, match=message):
        FramePoses().pose_in_model(world, second)


def test_a_frame_is_carried_by_the_link_at_the_end_of_its_attachments() -> None:
    link, world = Frame("a", "link", HERE), Frame("world", "world", HERE)
    joint = Frame("j", "joint", HERE, attached_to=link)
    frame = Frame("f", "frame", HERE, attached_to=joint)
    on_world = Frame("g", "frame", HERE, attached_to=world)
    poses = FramePoses()
    for _ in range(2):
        assert poses.carrier(frame) is poses.carrier(joint) is poses.carrier(link) is link
        assert poses.carrier(on_world) is poses.carrier(world) is world
    alone = Frame("n", "model", HERE)
    behind = Frame("h", "frame", HERE, attached_to=alone)
    with pytest.raises(DescriptionError, match="it has no link; declare a link in this model"):
        FramePoses().carrier(behind)
    alone.attached_to = behind
    with pytest.raises(DescriptionError, match="it is attached to itself through other frames"):
        FramePoses().carrier(behind)


def test_a_frame_at_the_origin_of_another_has_only_a_rotation() -> None:
    base = Frame("j", "joint", HERE, attached_to=Frame("a", "link", HERE))
    turn = Turn((Fraction(0), Fraction(0), Fraction(1)), Angle(radians=Fraction(1)))
    shift = Shift((Fraction(1), Fraction(2), Fraction(3)))
    assert at_origin(base, (shift,)) is base
    seat = at_origin(base, (shift, turn, shift))
    assert (seat.name, seat.kind, seat.base, seat.pose) == ("j", "joint", base, (turn,))
    assert seat.attached_to is base.attached_to


def test_a_direction_is_rotated_to_the_frame_before_a_pose() -> None:
    x, y, z = Fraction(1), Fraction(-2), Fraction(5)
    for frame in turned_tree().values():
        for pose in (frame.pose, (*frame.pose, Turn((x, z, y), Angle(pi=Fraction(2, 3))))):
            vector = pose_matrix(pose)[:3, :3] @ np.array([1.0, -2, 5]) / np.sqrt(30)
            assert direction(pose, (x, y, z)) == pytest.approx(vector, abs=1e-14)


def scope(name: str, **frames: Frame) -> Scope:
    text = Text("frames.sdf", (1, 7), Snapper(), [], False)
    return Scope(text, None, Frame(name, "model", HERE), frames=frames)


def test_names_are_searched_through_inner_models() -> None:
    a, b, c = (Frame(name, "link", HERE) for name in "abc")
    outer, inner, innermost = scope("outer", a=a), scope("inner", b=b), scope("innermost", c=c)
    outer.inner["inner"], inner.inner["innermost"] = inner, innermost
    for name, frame in (
        ("a", a),
        ("__model__", outer.frame),
        ("inner::b", b),
        ("inner::__model__", inner.frame),
        ("inner::innermost::c", c),
    ):
        assert outer.find(name, HERE) is frame
    outer.frames["inner::b"] = a  # a declared name comes before an inner model
    assert outer.find("inner::b", HERE) is a
    for name in ("b", "inner", "inner::", "inner::innermost::b", "::a", "a::a"):
        with pytest.raises(DescriptionError, match="is not a link, joint, frame or model here"):
            outer.find(name, HERE)
    assert [part.frame.name for part in outer.all_scopes] == ["outer", "inner", "innermost"]


def test_an_unknown_name_is_answered_with_the_most_similar_one() -> None:
    outer = scope("outer", forearm=Frame("forearm", "link", HERE))
    with pytest.raises(DescriptionError, match="did you mean 'forearm'"):
        outer.find("fore_arm", HERE)
    for name in ("wheel", "forearm" * 20):
        with pytest.raises(DescriptionError, match="use a declared name"):
            outer.find(name, HERE)


def test_merged_models_share_their_names_with_the_model_around_them() -> None:
    outer, merged, inner = scope("outer"), scope("merged"), scope("inner")
    merged.inner["inner"] = outer.inner["inner"] = inner
    outer.inner["other"] = scope("other")
    outer.merges.append(merged)
    assert [part.frame.name for part in outer.within] == ["other", "merged"]
    assert [part.frame.name for part in outer.all_scopes] == ["outer", "other", "merged", "inner"]

"""Depths and relative poses of the frames of an SDF file."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

from symgen.description.quantities import Location
from symgen.description.readers._sdf.frames import Frame, FramePoses
from symgen.vocabulary.poses import Pose, Shift

HERE = Location("frames.sdf")


def frames() -> dict[str, Frame]:
    """Return the world and a tree of frames, each one unit further along x, y or z."""
    world = Frame("world", "world", HERE)
    tree = {"world": world}
    for name, base, axis in (
        ("a", "world", 0), ("b", "a", 1), ("c", "a", 2), ("d", "c", 0), ("e", "d", 1), ("f", "b", 2),
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

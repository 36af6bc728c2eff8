"""Small descriptions and where the public ones lie, shared by the tests of reading."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.vocabulary.poses import Pose, Rotate, Shift, Slide

INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)


def public_urdfs() -> list[Path]:
    """Every URDF of the installed example-robot-data; none where it is not installed."""
    roots = [Path(p) / "cmeel.prefix/share/example-robot-data/robots" for p in sys.path]
    spec = importlib.util.find_spec("example_robot_data")
    if spec is not None and spec.origin:
        roots.append(Path(spec.origin).parents[4] / "share/example-robot-data/robots")
    return next((sorted(root.rglob("*.urdf")) for root in roots if root.is_dir()), [])


def public_urdf(name: str) -> Path | None:
    return next((path for path in public_urdfs() if path.name == name), None)


def link(name: str, inside: str = INERTIAL) -> str:
    return f'<link name="{name}">{inside}</link>'


LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = LIMIT) -> str:
    return (
        f'<joint name="{name}" type="{kind}">'
        f'<parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
    )


def robot(*elements: str) -> str:
    """A URDF with one element a line, the first on line 2."""
    return '<robot name="r">\n' + "\n".join(elements) + "\n</robot>\n"


def pose_matrix(pose: Pose) -> np.ndarray:
    """The 4×4 matrix of a pose in floating point; each turn is the exponential of a skew matrix."""
    total = np.eye(4)
    for step in pose:
        pose_matrix = np.eye(4)
        if isinstance(step, Shift):
            pose_matrix[:3, 3] = [float(c) for c in step.xyz]
        elif isinstance(step, Rotate):
            w, *v = (float(c) for c in step.quaternion)
            skew = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
            pose_matrix[:3, :3] += 2 * (w * skew + skew @ skew) / (w * w + np.dot(v, v))
        else:
            axis = np.array([float(c) for c in step.axis])
            axis /= np.linalg.norm(axis)
            if isinstance(step, Slide):
                pose_matrix[:3, 3] = axis * float(step.distance)
            else:
                pose_matrix[:3, :3] = rotation_matrix(axis, float(step.angle))
        total = total @ pose_matrix
    return total


def rotation_matrix(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def frame_at(mechanism: Mechanism, name: str, q: Iterable[float]) -> np.ndarray:
    """The 4×4 pose of a named frame in the base, joint by joint."""
    positions = list(q)
    frame = mechanism.frame(name)
    total, body = pose_matrix(frame.pose), frame.body
    while body != BASE:
        j = mechanism.joints[body]
        axis = np.array([float(c) for c in j.axis])
        axis /= np.linalg.norm(axis)
        motion = np.eye(4)
        if j.kind == "prismatic":
            motion[:3, 3] = axis * positions[body]
        else:
            motion[:3, :3] = rotation_matrix(axis, positions[body])
        total = pose_matrix(j.pose) @ motion @ total
        body = j.parent
    return total

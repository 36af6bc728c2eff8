"""Fixed and locked joints: the links that they connect move as one body, exactly."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from symgen.description.canonical import to_toml
from symgen.description.loading import builtin_robots, load
from symgen.mechanism.inertias import second_moments
from symgen.mechanism.mechanism import BASE, Limits, Mechanism
from symgen.support.errors import RequestError, SymgenError
from symgen.vocabulary.poses import Angle, Turn
from tests.shared.descriptions import (
    INERTIAL,
    frame_at,
    joint,
    link,
    pose_matrix,
    public_urdf,
    public_urdfs,
    robot,
)


def warnings(m: Mechanism) -> list[str]:
    return [note.text for note in m.notes if note.kind == "warning"]


def total_mass(m: Mechanism) -> Fraction:
    return sum(
        (p.mass for parts in (m.base_parts, *(b.parts for b in m.bodies)) for p in parts),
        Fraction(0),
    )


def readable_urdfs() -> list[Path]:
    return [p for p in public_urdfs() if p.stem not in ("quadrotor_base", "iris_simple", "ur3")][
        ::4
    ]


@pytest.mark.parametrize("path", readable_urdfs(), ids=lambda p: p.stem)
def test_locking_keeps_mass_and_every_link_pose(path: Path) -> None:
    """With every third joint locked at q0, frames, mass centres and mass equal the unlocked ones at
    q0.
    """
    free = load(path)
    rng = np.random.default_rng(1)
    q = np.round(rng.uniform(-1, 1, free.nq), 3)
    chosen = [j.name for j in free.joints[::3] if j.name != free.joints[-1].name]
    locked = load(path, lock={name: str(q[free.joint_index(name)]) for name in chosen})
    assert locked.nq == free.nq - len(chosen)
    assert total_mass(locked) == total_mass(free)
    assert {f.name for f in locked.frames} == {f.name for f in free.frames}
    at = [q[free.joint_index(j.name)] for j in locked.joints]
    for frame in locked.frames[:: max(1, len(locked.frames) // 12)]:
        np.testing.assert_allclose(
            frame_at(locked, frame.name, at), frame_at(free, frame.name, q), atol=1e-12
        )
    np.testing.assert_allclose(first_moment(locked, at), first_moment(free, q), atol=1e-11)
    assert sum(note.kind == "lock" for note in locked.notes) == len(chosen)


def first_moment(m: Mechanism, q: np.ndarray | list[float]) -> np.ndarray:
    """Return Σ m r over all parts, in base axes."""
    names = {f.body: f for f in reversed(m.frames)}
    total = np.zeros(3)
    for body in range(BASE, m.nq):
        parts = m.base_parts if body == BASE else m.bodies[body].parts
        carrier = frame_at(m, names[body].name, q) @ np.linalg.inv(pose_matrix(names[body].pose))
        total += sum(
            (float(p.mass) * (carrier @ pose_matrix(p.pose))[:3, 3] for p in parts), np.zeros(3)
        )
    return total


def test_a_locked_value_is_parsed_and_snapped_as_other_angles() -> None:
    for value in ("pi/2", "1.5708", "90 deg", Angle(pi=Fraction(1, 2)), 1.5707963267948966):
        m = load("planar_arm", lock={"joint2": value})
        assert (
            Turn((Fraction(0), Fraction(0), Fraction(1)), Angle(pi=Fraction(1, 2)))
            in m.bodies[0].parts[1].pose
        )
    assert any(
        note.kind == "snap" and "lock joint2" in note.text
        for note in load("planar_arm", lock={"joint2": "1.5708"}).notes
    )


def test_locking_at_zero_equals_a_fixed_joint(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    elements = [
        link("a"),
        link("b"),
        link("c"),
        joint("j", "a", "b"),
        joint("k", "b", "c", "KIND", '<origin xyz="0 1 2" rpy="0.1 0.2 0.3"/>'),
    ]
    path.write_text(robot(*elements).replace("KIND", "prismatic"))
    locked = load(path, lock={"k": None})
    assert locked == load(path, lock=["k"]) == load(path, lock="k")
    path.write_text(robot(*elements).replace("KIND", "fixed"))
    assert locked.bodies == load(path).bodies


def test_a_long_chain_of_fixed_joints_becomes_one_body(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    n = 60
    corner = '<origin xyz="0.1 0 0" rpy="0 0 1.5708"/>'
    path.write_text(
        robot(
            *(link(f"l{i}") for i in range(n + 2)),
            joint("j", "l0", "l1"),
            *(joint(f"f{i}", f"l{i}", f"l{i + 1}", "fixed", corner) for i in range(1, n + 1)),
        )
    )
    m = load(path)
    assert (m.nq, m.bodies[0].mass, len(m.bodies[0].parts)) == (1, n + 1, n + 1)
    np.testing.assert_allclose(
        pose_matrix(m.frame(f"l{n + 1}").pose), np.eye(4), atol=1e-12
    )  # 15 full squares


def test_an_impossible_lock_is_refused_with_the_reason() -> None:
    for lock, message in (
        ({"joint9": 0}, "did you mean 'joint"),
        ({"joint1": 0, "joint2": 0}, "no joint moves"),
        ({"joint1": "nan"}, "not an angle"),
        ({"joint1": "__import__('os')"}, "not an angle"),
    ):
        with pytest.raises(SymgenError, match=message):
            load("planar_arm", lock=lock)
    with pytest.raises(RequestError, match="fixed already"):
        load("panda", lock={"panda_joint8": 0})
    with pytest.raises(RequestError, match="slides"):
        load("scara", lock={"joint3": Angle(pi=Fraction(1))})


def test_every_declared_link_has_a_frame_and_every_welded_inertia_a_note() -> None:
    path = public_urdf("panda.urdf")
    m = load(path) if path else load("panda")
    assert {"panda_link0", "panda_link8", "panda_hand", "panda_hand_tcp"} <= {
        f.name for f in m.frames
    }
    assert sum(note.kind == "lump" for note in m.notes) >= 3


# -- warnings about a fixed base and about locked joints -------------------------------------------

HEAVY = INERTIAL.replace('value="1"', 'value="9"')
ARM = (link("b"), joint("j", "a", "b"), link("c"), joint("k", "b", "c"))
LEGS = (link("b"), joint("j", "a", "b"), link("c"), joint("k", "a", "c"))


@pytest.mark.parametrize(
    ("base", "limbs", "kind"),
    [
        ((link("a"),), ARM, "info"),
        ((link("a"),), LEGS, "warning"),
        ((link("a", HEAVY),), ARM, "warning"),
        ((link("a", ""),), LEGS, ""),
        ((link("root", ""), link("a"), joint("weld", "root", "a", "fixed", "")), LEGS, "warning"),
        ((link("world", ""), link("a"), joint("weld", "world", "a", "fixed", "")), LEGS, ""),
        ((link("world", ""), link("a"), joint("rail", "world", "a", "prismatic")), LEGS, ""),
    ],
)
def test_a_heavy_fixed_base_causes_one_note(
    tmp_path: Path, base: tuple[str, ...], limbs: tuple[str, ...], kind: str
) -> None:
    """A base with several limbs or most of the mass causes a warning, unless it is named world."""
    path = tmp_path / "r.urdf"
    path.write_text(robot(*base, *limbs))
    m = load(path)
    notes = [note for note in m.notes if "is fixed, since no joint moves it" in note.text]
    assert [note.kind for note in notes] == [kind] * bool(kind)
    again = tmp_path / "again.toml"
    again.write_text(to_toml(m))
    assert load(again).notes == m.notes
    if kind == "warning":
        assert "kg)" in notes[0].text
        with pytest.raises(
            SymgenError, match=r"strict reading refuses this warning: .* is fixed, since no joint"
        ):
            load(path, strict=True)
    else:
        assert load(path, strict=True).joints == m.joints


@pytest.mark.parametrize(
    ("name", "walks"),
    [
        ("solo12.urdf", True),
        ("talos_reduced.urdf", True),
        ("anymal.urdf", True),
        ("g1_29dof_rev_1_0.urdf", True),
        ("iris.urdf", True),
        ("panda.urdf", False),
        ("ur5_robot.urdf", False),
    ],
)
def test_mobile_robots_cause_a_warning_and_arms_do_not(name: str, walks: bool) -> None:
    path = public_urdf(name)
    if path is None:
        pytest.skip("example-robot-data is not installed")
    warnings_of_base = [text for text in warnings(load(path)) if "use --base free" in text]
    assert len(warnings_of_base) == walks


@pytest.mark.parametrize("name", builtin_robots())
def test_the_built_in_robots_cause_no_warning_about_the_base(name: str) -> None:
    m = load(name)
    assert not [text for text in warnings(m) if "is fixed, since no joint" in text]
    many = load(name, lock={joint.name: None for joint in m.joints[:-1]})
    assert not [text for text in warnings(many) if "is fixed, since no joint" in text]


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        (
            {"panda_joint1": 9},
            "joint panda_joint1 is locked at 9 rad, outside its range -2.8973 … 2.8973 rad",
        ),
        (
            {"panda_joint4": None},
            "joint panda_joint4 is locked at 0 rad, outside its range -3.0718 … -0.0698 rad",
        ),
        (
            {"panda_joint1": "-180 deg"},
            "joint panda_joint1 is locked at -3.14159 rad, outside its range -2.8973 … 2.8973 rad",
        ),
        ({"panda_joint1": "2.8973"}, ""),
        ({"panda_joint1": "pi/2"}, ""),
        ({"panda_joint2": "-1.763"}, ""),
    ],
)
def test_a_joint_locked_outside_its_range_causes_a_warning(
    lock: dict[str, str | None], message: str
) -> None:
    assert warnings(load("panda", lock=lock)) == [message] * bool(message)
    if message:
        with pytest.raises(
            SymgenError, match="strict reading refuses this warning: joint panda_joint"
        ):
            load("panda", lock=lock, strict=True)


def test_a_prismatic_joint_is_locked_in_metres_and_a_continuous_one_anywhere(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.urdf"
    one_sided = '<limit lower="0" effort="1" velocity="1"/>'
    path.write_text(
        robot(
            link("a", ""),
            link("b"),
            link("c"),
            link("d"),
            joint("j", "a", "b", "prismatic", one_sided),
            joint("k", "b", "c", "continuous"),
            joint("l", "c", "d", inside=one_sided),
        )
    )
    assert warnings(load(path, lock={"j": "-0.5", "k": 9})) == [
        "joint j is locked at -0.5 m, outside its range 0 … m"
    ]
    assert not warnings(load(path, lock={"j": 7, "l": 7}))


def test_a_range_prints_infinity_for_a_missing_end() -> None:
    lower, upper = Fraction(-1, 2), Fraction(2)
    assert [
        Limits(*bounds).text
        for bounds in ((None, None), (lower, None), (None, upper), (lower, upper))
    ] == ["", "-0.5 … ∞", "−∞ … 2", "-0.5 … 2"]


def test_second_moments_of_a_point_equal_their_definition() -> None:
    """Moments of inertia of a point of unit mass give Σ m r rᵀ."""
    x, y, z = Fraction(2), Fraction(-3), Fraction(5)
    inertia = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    assert second_moments(inertia) == (x * x, x * y, x * z, y * y, y * z, z * z)

"""Order of joints in q and v: Pinocchio's, so that its vectors can be used unchanged, or a named
order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import cli
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.support.errors import ArgumentError, UnknownName
from tests.shared.descriptions import joint, link, public_urdfs, robot

CHAIN = ("b", "a", "Z", "é", "a_", "aB")
"""Names whose order by bytes differs from the declared order and from that of a locale."""


def tree_text(seed: int, count: int = 9) -> str:
    """Return a URDF of a random tree with random joint names in random order."""
    draw = np.random.default_rng(seed)
    names = [
        f"{letter}{draw.integers(100)}_{k}"
        for k, letter in enumerate(draw.choice(list("aAbBzZ_0"), count))
    ]
    parents = [int(draw.integers(-1, k)) for k in range(count)]

    def origin() -> str:
        xyz, rpy = (" ".join(f"{x:.3f}" for x in draw.normal(size=3)) for _ in range(2))
        return f'<origin xyz="{xyz}" rpy="{rpy}"/>'

    joints = [
        joint(
            names[k],
            f"l{parents[k]}" if parents[k] >= 0 else "base",
            f"l{k}",
            str(draw.choice(["revolute", "prismatic", "fixed"])) if k else "revolute",
            f'{origin()}<axis xyz="{k % 2} 1 {k % 3}"/>'
            '<limit lower="-2" upper="2" effort="1" velocity="1"/>',
        )
        for k in range(count)
    ]
    links = [
        link(
            f"l{k}",
            f'<inertial>{origin()}<mass value="{1 + k}"/>'
            '<inertia ixx="1" ixy="0" ixz="0" iyy="1.1" iyz="0" '
            'izz="1.2"/></inertial>',
        )
        for k in range(count)
    ]
    return robot(
        link("base"),
        *(links[k] for k in draw.permutation(count)),
        *(joints[k] for k in draw.permutation(count)),
    )


def joint_names(mechanism: Mechanism) -> list[str]:
    """Return the names of joints in the order of their coordinates."""
    return [joint.name for joint in mechanism.joints]


def assert_equal_torques(model: Any, ours: Mechanism) -> None:
    """Assert that q, v and a of Pinocchio give the tau_ours of Pinocchio."""
    pin = pytest.importorskip("pinocchio")
    pin.seed(1)
    assert (model.nq, model.nv) == (ours.nq, ours.nv)
    model.lowerPositionLimit[:], model.upperPositionLimit[:] = -1, 1
    q, draw = pin.randomConfiguration(model), np.random.default_rng(2)
    v, a = draw.normal(size=(2, model.nv))
    tau = pin.rnea(model, model.createData(), q, v, a)
    tau_ours = Reference(ours, FLOAT).inverse_dynamics(q[None], v[None], a[None])[0]
    np.testing.assert_allclose(tau_ours, tau, rtol=0, atol=1e-9 * np.abs(tau).max())


@pytest.mark.parametrize(
    "file",
    ["anymal_b_simple_description/robots/anymal.urdf", "talos_data/robots/talos_reduced.urdf"],
)
@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
def test_vectors_of_pinocchio_can_be_used_unchanged_for_public_robots(
    file: str, free: bool
) -> None:
    pin = pytest.importorskip("pinocchio")
    path = next(
        (str(file_path) for file_path in public_urdfs() if str(file_path).endswith(file)), None
    )
    if path is None:
        pytest.skip("example-robot-data is not installed")
    model = (
        pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
        if free
        else pin.buildModelFromUrdf(path)
    )
    base = "free" if free else "fixed"
    ours = symgen.load(
        path, base=base, joint_order="pinocchio", snap="off", gravity=model.gravity.linear
    )
    assert joint_names(ours) == [*model.names][1:]
    assert joint_names(symgen.load(path, base=base)) != joint_names(ours)
    assert_equal_torques(model, ours)
    assert (
        symgen.load(path, base=base, joint_order=joint_names(ours), snap="off").joints
        == ours.joints
    )


@pytest.mark.parametrize("seed", range(6))
def test_vectors_of_pinocchio_can_be_used_unchanged_for_random_trees(seed: int) -> None:
    pin = pytest.importorskip("pinocchio")
    text = tree_text(seed)
    model = pin.buildModelFromXML(text)
    ours = symgen.load(
        text, base="fixed", joint_order="pinocchio", snap="off", gravity=model.gravity.linear
    )
    assert joint_names(ours) == [*model.names][1:]
    assert_equal_torques(model, ours)


def test_locked_joints_do_not_change_the_order_of_the_others() -> None:
    pin = pytest.importorskip("pinocchio")
    text = tree_text(3)
    model = pin.buildModelFromXML(text)
    locked = joint_names(symgen.load(text, joint_order="pinocchio"))[1]
    model = pin.buildReducedModel(model, [model.getJointId(locked)], pin.neutral(model))
    assert_equal_torques(
        model,
        symgen.load(
            text, joint_order="pinocchio", lock=[locked], snap="off", gravity=model.gravity.linear
        ),
    )


def test_branches_are_sorted_by_the_bytes_of_their_names() -> None:
    pin = pytest.importorskip("pinocchio")
    links, joints = (
        [link(f"l{k}") for k in range(6)],
        [joint(name, "base", f"l{k}") for k, name in enumerate(CHAIN)],
    )
    text = robot(link("base"), *links, *joints)
    assert joint_names(symgen.load(text)) == [*CHAIN]
    assert (
        joint_names(symgen.load(text, joint_order="pinocchio"))
        == [*pin.buildModelFromXML(text).names][1:]
        == ["Z", "a", "aB", "a_", "b", "é"]
    )


def test_branches_of_mjcf_and_of_pinocchio_models_keep_their_order(
    tmp_path: Path,
) -> None:
    pin = pytest.importorskip("pinocchio")
    hinge = '<joint name="{}"/><geom size="0.1"/>'
    text = (
        f'<mujoco><worldbody><body name="r">{hinge.format("r")}'
        f'<body name="z">{hinge.format("z")}<body name="y">'
        f"{hinge.format('y')}</body></body>"
        f'<body name="a">{hinge.format("a")}</body></body></worldbody></mujoco>'
    )
    (tmp_path / "m.xml").write_text(text, encoding="utf-8")
    model = pin.buildModelFromMJCF(str(tmp_path / "m.xml"))
    assert (
        joint_names(symgen.load(text, joint_order="pinocchio"))
        == [*model.names][1:]
        == ["r", "z", "y", "a"]
    )
    pinocchio_model = pin.Model()
    first = pinocchio_model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "z")
    for name, parent in (("y", 0), ("x", first)):
        pinocchio_model.addJoint(parent, pin.JointModelRX(), pin.SE3.Identity(), name)
    assert joint_names(symgen.from_pinocchio(pinocchio_model, joint_order="pinocchio")) == [
        "z",
        "y",
        "x",
    ]


@pytest.mark.parametrize("kind", ["continuous", "planar"])
def test_a_joint_with_other_coordinates_in_pinocchio_is_refused_by_name(kind: str) -> None:
    text = robot(
        link("base"),
        link("b"),
        link("c"),
        joint("j", "base", "b"),
        joint("turns", "b", "c", kind, '<axis xyz="0 0 1"/>'),
    )
    with pytest.raises(
        ArgumentError, match=f"joint 'turns' is {kind}: in Pinocchio's q its angle is two numbers"
    ):
        symgen.load(text, joint_order="pinocchio")
    assert joint_names(symgen.load(text, joint_order="pinocchio", lock=["turns"])) == ["j"]
    assert joint_names(symgen.load(text, joint_order=["j", "turns"])) == ["j", "turns"]


FORK = robot(
    link("base"),
    *(link(name) for name in "abcd"),
    joint("ja", "base", "a"),
    joint("jb", "a", "b"),
    joint("weld", "b", "c", "fixed", ""),
    joint("jd", "c", "d"),
    joint("je", "base", "e"),
    link("e"),
)


def test_a_named_order_is_kept_by_the_folder_and_by_slices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fork.urdf"
    path.write_text(FORK, encoding="utf-8")
    words = [str(path), "--joint-order", "je,ja,jb,jd", "--base", "fixed"]
    assert cli.main(["generate", *words, "-o", str(tmp_path / "out"), "-f", "gravity_force"]) == 0
    reloaded = symgen.load(tmp_path / "out")
    assert (
        joint_names(reloaded)
        == ["je", "ja", "jb", "jd"]
        == joint_names(symgen.load(FORK, joint_order="je,ja,jb,jd"))
    )
    assert reloaded.slices("jb") == (slice(2, 3), slice(2, 3))
    assert cli.main(["verify", str(tmp_path / "out")]) == 0
    assert "joints are in the chosen order: je, ja, jb, jd" in [
        note.text for note in reloaded.notes
    ]
    capsys.readouterr()
    assert cli.main(["verify", str(tmp_path / "out"), "--joint-order", "pinocchio"]) == 2
    assert "--joint-order does not apply" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (["jb", "ja", "jd", "je"], "joint_order has joint 'jb' before 'ja', its ancestor"),
        (["ja", "jd", "jb", "je"], "joint_order has joint 'jd' before 'jb', its ancestor"),
        (["ja", "jb", "jd"], "joint_order leaves out joint 'je'; name every joint"),
        (["ja", "jb", "jd", "je", "ja"], "joint_order names joint 'ja' twice"),
        (["universe", "ja", "jb", "jd", "je"], "no joint is named 'universe'"),
        ([], "joint_order leaves out joint 'ja' and 3 more"),
        ("", "no joint is named ''"),
        ("Pinocchio", "no joint is named 'Pinocchio'"),
    ],
)
def test_an_impossible_order_is_refused_by_naming_a_joint(
    order: str | Sequence[str], words: str
) -> None:
    with pytest.raises(ArgumentError, match=re.escape(words)):
        symgen.load(FORK, joint_order=order)


def test_mimic_followers_are_not_part_of_an_order() -> None:
    text = robot(
        link("base"),
        *(link(name) for name in "abc"),
        joint("lead", "base", "a"),
        joint(
            "first",
            "base",
            "b",
            inside='<mimic joint="lead" multiplier="2"/><limit effort="1" velocity="1"/>',
        ),
        joint("last", "b", "c"),
    )
    ours = symgen.load(text, mimic="couple", joint_order=["last", "lead"])
    assert joint_names(ours) == ["first", "last", "lead"]
    assert (ours.slices("last"), ours.slices("lead")) == (
        (slice(0, 1), slice(0, 1)),
        (slice(1, 2), slice(1, 2)),
    )
    with pytest.raises(
        ArgumentError,
        match=(
            "joint 'first' is a mimic joint without entries of its own; use those of its leader"
            " 'lead'"
        ),
    ):
        ours.slices("first")
    with pytest.raises(UnknownName, match="did you mean 'lead'"):
        ours.slices("leed")


def test_a_closed_loop_has_the_same_dynamics_in_another_order() -> None:
    """A four-bar with its two cranks exchanged has the same positions and accelerations."""
    bar = symgen.load("four_bar")
    roots = [joint.name for joint in bar.joints if joint.parent < 0]
    order = [*roots[1:], roots[0], *(joint.name for joint in bar.joints if joint.parent >= 0)]
    reordered = symgen.load("four_bar", joint_order=order)
    assert joint_names(reordered) != joint_names(bar)
    closed, closed_reordered = symgen.assemble(bar), symgen.assemble(reordered)
    for name in joint_names(bar):
        np.testing.assert_allclose(
            [float(x) for x in closed[name]], [float(x) for x in closed_reordered[name]], atol=1e-12
        )
    rng, indices = (
        np.random.default_rng(0),
        [reordered.slices(name)[1].start for name in joint_names(bar)],
    )
    q = np.array([float(x) for name in joint_names(bar) for x in closed[name]])
    tau = rng.normal(size=bar.nv)
    permuted = np.empty((2, bar.nv))
    permuted[:, indices] = q, tau
    zero = np.zeros(bar.nv)
    a = symgen.compile(bar, ["constrained_forward_dynamics"]).constrained_forward_dynamics(
        q, zero, tau
    )[0]
    b = symgen.compile(reordered, ["constrained_forward_dynamics"]).constrained_forward_dynamics(
        permuted[0], zero, permuted[1]
    )[0]
    np.testing.assert_allclose(b[indices], a, rtol=1e-9)

"""Robots whose joints have several coordinates, as a person reads them: shown, inspected, drawn, and told of in the folder."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import symgen
from symgen import methods
from symgen.delivery.contents import FolderContents
from symgen.delivery.folder import texts
from symgen.inspection.at import parse_values
from symgen.inspection.catalogue import choose, listing, methods_with_quantities, refusal_reason
from symgen.inspection.entries import answer
from symgen.inspection.pattern import pattern
from symgen.inspection.reading import FormulaOptions, read, render
from symgen.inspection.structure import structure
from symgen.inspection.where import where
from symgen.mechanism.joints import joint_type, kinds
from symgen.mechanism.mechanism import Mechanism
from symgen.pages.report import _joints, pose, sparsity, tree
from symgen.pages.report.show import facts, show
from symgen.reference.mechanics import Reference
from symgen.reference.precision import FLOAT
from symgen.reference.states import draw_states
from symgen.support.errors import SymgenError
from symgen.vocabulary.options import TextOptions
from symgen.vocabulary.poses import Z_AXIS
from tests.shared.inspected import inverse, numbers
from tests.shared.robots_for_tests import BALLS, program, random_mechanism

RIDER, ARM = ("free", "revolute"), ("revolute", "spherical", "cylindrical", "planar")


@cache
def made(of: tuple[str, ...], kind: str = "chain") -> Mechanism:
    plain = random_mechanism(len(of), seed=7, kind=kind, general=False)
    joints = tuple(
        replace(joint, kind=one, axis=joint.axis if joint_type(one).directed else Z_AXIS)
        for joint, one in zip(plain.joints, of, strict=True)
    )
    return replace(plain, name="_".join(of), joints=joints)


SEVERAL = tuple(kind for kind in kinds() if joint_type(kind).nq > 1)


# -- inspection -------------------------------------------------------------------------------------------------------------


def block_of(letter: str, mechanism: Mechanism, q: Any) -> Any:
    return numbers(mechanism, letter, "constraint_force", {"q": BALLS.array(q)}).astype(float)


def block(mechanism: Mechanism, what: str, state: dict[str, Any]) -> Any:
    return numbers(mechanism, what, "riccati", {"q": state["q"]}).astype(float)


@pytest.mark.parametrize("of", [("spherical", "planar"), ("revolute", "cylindrical", "spherical")])
def test_letters_of_riccati_factor_the_mass_matrix(of: tuple[str, ...]) -> None:
    """M = (1 + K) D (1 + K)ᵀ with K_ij = H_i φ_i,j−1 L_j, RK (4.11); Ω is what a wrench on a link moves, (5.4)."""
    mechanism = made(of)
    reference = Reference(mechanism, BALLS)
    state = {
        name: BALLS.array(array[0])
        for name, array in draw_states(mechanism, 1).items()
        if name in ("q", "v", "a")
    }
    M, n, own = reference.mass_matrix(state["q"]), len(of), mechanism.v_slices
    letters = ("D", "H", "G", "L", "P", "phi", "psi", "Omega")
    D, H, G, L, P, phi, psi, Omega = (block(mechanism, letter, state) for letter in letters)
    link = [slice(6 * i, 6 * i + 6) for i in range(n)]
    K = np.eye(mechanism.nv)
    for j in range(n):
        for i in range(j):
            K[own[i], own[j]] = H[own[i], link[i]] @ phi[link[i], link[j - 1]] @ L[link[j], own[j]]
    assert np.allclose(K @ D @ K.T, M.astype(float), rtol=1e-12, atol=1e-12)
    assert np.allclose(H @ P @ H.T, D)
    assert np.allclose(P @ H.T, G @ D)
    placed = reference.placements(state["q"])
    for i in range(n):
        if i:
            step = phi[link[i - 1], link[i]]
            assert np.allclose(step @ G[link[i], own[i]], L[link[i], own[i]])
            crossed = step @ (np.eye(6) - G[link[i], own[i]] @ H[own[i], link[i]])
            assert np.allclose(crossed, psi[link[i - 1], link[i]])
        J = np.zeros((6, mechanism.nv))
        J[:, reference.supports[i]] = np.concatenate(
            reference.columns(i, placed[i].shift[0], placed)
        ).astype(float)
        R = np.kron(np.eye(2), placed[i].turn[0].astype(float))
        assert np.allclose(R.T @ J @ inverse(M).astype(float) @ J.T @ R, Omega[link[i], link[i]])


@pytest.mark.parametrize("of", [RIDER, ARM])
def test_an_index_is_an_entry_of_v_by_number_or_name(of: tuple[str, ...]) -> None:
    mechanism = made(of)
    whole = {letter: answer(mechanism, choose(mechanism, letter)) for letter in ("M", "J", "c")}
    for k, name in enumerate(mechanism.velocity_names):
        for text in (str(k), name):
            assert (
                answer(mechanism, choose(mechanism, f"M[{text},0]")).rows[0]
                == whole["M"].rows[k * mechanism.nv]
            )
            assert (
                answer(mechanism, choose(mechanism, f"J[2,{text}]")).rows[0]
                == whole["J"].rows[2 * mechanism.nv + k]
            )
            assert answer(mechanism, choose(mechanism, f"c[{text}]")).rows[0] == whole["c"].rows[k]
    (note,) = whole["J"].notes
    assert ", ".join(mechanism.velocity_names) in note
    assert note.endswith("; those of six have the angular part first")


def test_an_entry_of_a_matrix_is_the_references() -> None:
    mechanism = made(("planar", "spherical"))
    q = draw_states(mechanism, 1)["q"]
    M = Reference(mechanism, FLOAT).mass_matrix(q.astype(float))[0]
    at = {f"q{k}": str(x) for k, x in enumerate(q[0])}
    given = parse_values(mechanism, ",".join(f"{name}={x}" for name, x in at.items()))
    for form in ("closed", "recursive"):
        found = read(
            mechanism, "M[joint0.vy,joint1.wz]", None, FormulaOptions(form, at=given)
        ).value
        assert float(getattr(found, "value", found)) == pytest.approx(M[1, 5], abs=1e-12)
    drawn = pattern(mechanism, "M", at=given)
    assert np.allclose(np.array(drawn.values), M)
    assert [name for name, _ in drawn.rows] == list(mechanism.velocity_names)
    assert [size for _, size in pattern(mechanism, "H", "riccati").rows] == [3, 3]


def test_a_pose_that_is_drawn_has_unit_quaternions() -> None:
    mechanism = made(RIDER)
    told = parse_values(mechanism, pattern(mechanism, "J", frame="link1").pose)
    assert sum(told["q", k].radians ** 2 for k in range(3, 7)) == 1
    with pytest.raises(SymgenError, match="one unit quaternion x y z w; give all four"):
        pattern(mechanism, "M", at=parse_values(mechanism, "q3=0.1"))


def test_names_and_numbers_of_a_pose() -> None:
    mechanism = made(ARM)
    found = parse_values(
        mechanism, "joint0=pi/2,joint1.w=1,joint2.distance=0.5,joint3.angle=pi,q7=0.25,v8=3,tau2=1"
    )
    assert {place: (float(x.radians), float(x.pi)) for place, x in found.items()} == {
        ("q", 0): (0, 0.5),
        ("q", 4): (1, 0),
        ("q", 6): (0.5, 0),
        ("q", 9): (0, 1),
        ("q", 7): (0.25, 0),
        ("v", 8): (3, 0),
        ("tau", 2): (1, 0),
    }


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (
            "M[joint0,0]",
            "joint 'joint0' has 6 velocities; name one of them: joint0.vx, joint0.vy, joint0.vz, joint0.wx, joint0.wy, ",
        ),
        ("M[7,0]", "index 7 is outside this robot's velocities; they count from 0 to 6"),
        ("M[joint0.wq,0]", "no velocity is named 'joint0.wq'; did you mean 'joint0.w"),
        ("P[2]", "index 2 is outside this robot's joints; they count from 0 to 1"),
        ("F[2,0]", "index 2 is outside this robot's joints; they count from 0 to 1"),
    ],
)
def test_a_wrong_index_is_one_sentence(what: str, sentence: str) -> None:
    with pytest.raises(SymgenError) as error:
        read(made(RIDER), what)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("q8=0", "'q8' is outside this robot's coordinates; they count from 0 to 7"),
        ("v7=0", "'v7' is outside this robot's velocities; they count from 0 to 6"),
        ("joint0=1", "joint 'joint0' has 7 coordinates; name one of them: joint0.px, "),
        ("joint0.pw=1", "no coordinate is named 'joint0.pw'; did you mean 'joint0."),
        ("v7=0", "they count from 0 to 6 (NV = 7; q alone has NQ = 8)"),
        (
            "q3=0,q4=0,q5=0,q6=0",
            "are a quaternion x y z w, and four zeros are none; write 0, 0, 0, 1 for no rotation",
        ),
        ("q3=1,q4=1", "q3 … q6 are a quaternion x y z w whose length would not be 1"),
        ("q3=0,q4=0,q5=0,q6=0.9", "q3 … q6 are a quaternion x y z w whose length would not be 1"),
    ],
)
def test_a_wrong_pose_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SymgenError) as error:
        parse_values(made(RIDER), text)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", SEVERAL)
def test_what_is_made_of_one_coordinate_a_joint_is_refused_and_the_rest_is_read(kind: str) -> None:
    mechanism = made((kind,))
    with pytest.raises(
        SymgenError,
        match=r"a multi-angle form is for joints of one coordinate, .* take --form recursive",
    ):
        read(mechanism, "M[0,1]", None, FormulaOptions("multiangle"))
    with pytest.raises(
        SymgenError,
        match=r"a structure is for joints of one coordinate, .* read M with --form recursive",
    ):
        structure(mechanism, "M")
    text, _ = render(mechanism, "M[0,1]")
    assert text
    assert where(mechanism, "c[1]")[0]
    assert "P[k]" in listing(mechanism)
    for owner in methods_with_quantities():
        for letter, quantity in methods.find(owner).quantities.items():
            why = refusal_reason(mechanism, owner, quantity)
            there = owner != "udut" and quantity.variant != "planar" and not quantity.of_loops
            assert (why is None) == there, (owner, letter, why)


# -- shown ------------------------------------------------------------------------------------------------------------------


def test_what_was_read_is_counted_by_joint() -> None:
    text = show(made(RIDER))
    assert text.startswith("free_revolute: 2 joints, 8 coordinates, 7 velocities, ")
    lines = text.splitlines()
    assert next(line for line in lines if line.startswith("0 ")).split()[:5] == [
        "0",
        "joint0",
        "→",
        "link0",
        "free",
    ]
    assert " free z" not in text
    assert "where a joint has no axis" in text
    alone = show(made(("cylindrical",)))
    assert alone.startswith("cylindrical: 1 joint, 2 coordinates, 2 velocities, ")
    assert "where a joint has no axis" not in alone
    assert show(made(("revolute", "prismatic"))).startswith("revolute_prismatic: 2 joints, ")
    assert "coordinates" not in show(made(("revolute", "prismatic")))


def test_facts_name_the_entries_of_a_joint() -> None:
    mechanism = made(ARM)
    described = facts(mechanism)
    for joint, told in zip(mechanism.joints, described["joints"], strict=True):
        assert ("q_names" in told) == ("v_names" in told) == (joint.type.nq > 1)
        assert len(told.get("q_names", [""])) == told["q"][1]
        assert len(told.get("v_names", [""])) == told["v"][1]
        assert (told["axis"] is None) == (not joint.type.directed)
    assert described["joints"][1]["q_names"] == ["x", "y", "z", "w"]
    assert json.loads(json.dumps(described)) == described
    assert [row[4:] for row in _joints(described)][1] == ["none", "none"]


def test_a_report_draws_every_joint_by_its_sign() -> None:
    mechanism = made(ARM, "tree")
    q = pose.middle(mechanism)
    assert len(q) == mechanism.nq
    assert q[mechanism.q_slices[1].start : mechanism.q_slices[1].stop] == [0, 0, 0, 1]
    drawn = pose.skeleton(mechanism, q)
    assert [len(signs) for signs in (drawn.turning, drawn.sliding, drawn.balls, drawn.bodies)] == [
        2,
        0,
        1,
        1,
    ]
    assert sum(stroke.kind == "axis" for stroke in drawn.strokes) == 2
    assert len(tree.draw(mechanism).rows) == 5


def test_the_sparsity_is_that_of_the_mass_matrix() -> None:
    mechanism = made(ARM)
    q = draw_states(mechanism, 1)["q"].astype(float)
    found = sparsity._factors(mechanism, q[0])
    assert np.allclose(found["M"], Reference(mechanism, FLOAT).mass_matrix(q)[0])
    assert found["U"].shape == found["M"].shape
    assert found["φ"].shape == (24, 24)
    assert found["H_bb"].shape == (24 - mechanism.nv,) * 2
    forbidden = np.linalg.slogdet(found["H_bb"])
    reading = np.linalg.slogdet(block_of("H_bb", mechanism, q[0]))
    assert forbidden[0] == 1
    assert forbidden[1] == pytest.approx(
        reading[1], abs=1e-9
    )  # whatever basis of what a joint forbids
    assert "H_bb" not in sparsity._factors(
        made(("free",)), draw_states(made(("free",)), 1)["q"].astype(float)[0]
    )


# -- the folder -------------------------------------------------------------------------------------------------------------


def test_the_folder_says_which_entries_a_joint_has() -> None:
    from symgen.pipeline.build import program as of

    mechanism = made(("free", "revolute", "cylindrical"))
    files = texts(
        FolderContents(
            mechanism, {name: of(mechanism, name, None) for name in ("jacobian", "gravity_force")}
        )
    )
    readme, header = files["README.md"], files[f"{mechanism.name}.h"]
    q, v = (
        "q[0..2] place x y z (m), q[3..6] unit quaternion x y z w",
        "v[0..2] linear velocity x y z (m/s), v[3..5] angular velocity x y z (rad/s), in the body's axes",
    )
    assert f"| {q} | {v} |\n" in readme
    assert f" *   joint 0, free: {q}\n *     {v}\n" in header
    assert "| q[7] (rad) | v[6] its rate |\n" in readme
    assert "| q[8] angle (rad), q[9] distance (m) | v[7..8] the rates |\n" in readme
    for text in (readme, header):
        assert "The functions are for unit quaternions: keep the length of q[3..6] at 1" in text
    assert (
        "Pinocchio has the linear part first. So have `v`, `a` and `tau` here, in v[0..5].\n\n## Functions"
        in readme
    )
    assert (
        "The linear part is first in v[0..5]; in a vector of six it is the angular one." in header
    )
    assert header.isascii()
    told = json.loads(files["manifest.json"])["joints"]
    assert [one.get("q_names") for one in told] == [
        ["px", "py", "pz", "x", "y", "z", "w"],
        None,
        ["angle", "distance"],
    ]


def test_samples_begin_at_a_pose_and_every_text_says_where_quaternions_are() -> None:
    """Zeros in all of q are no pose of a joint with a quaternion."""
    from symgen.pipeline.build import program as of

    mechanism = made(("revolute", "spherical", "spherical"))
    files = texts(
        FolderContents(
            mechanism,
            {"gravity_force": of(mechanism, "gravity_force", None)},
            text=TextOptions(wrap=("cpp17",)),
        )
    )
    readme, header, wrapper = (
        files[name] for name in ("README.md", f"{mechanism.name}.h", f"{mechanism.name}.hpp")
    )
    assert "\ndouble q[9] = {0, 0, 0, 0, 1, 0, 0, 0, 1};\n" in readme
    assert "\nconst std::array<double, 9> q{0, 0, 0, 0, 1, 0, 0, 0, 1};\n" in readme
    assert "| q | joint positions (rad, m, quaternions x y z w of length 1) |" in readme
    for text in (header, wrapper):
        assert "q: joint positions (rad, m, quaternions x y z w of length 1)\n" in text
    for index, span in ((1, "1..4"), (2, "5..8")):
        assert f" *   joint {index}, spherical: q[{span}] unit quaternion x y z w\n" in header
    assert "(rad, m, quaternions" in str(
        symgen.compile(mechanism, ["gravity_force"], optimize=0).gravity_force.__doc__
    )


def test_the_folder_of_joints_of_one_coordinate_says_no_more_than_it_did() -> None:
    files = texts(
        FolderContents(made(("revolute", "prismatic")), {"jacobian": program("scara", "jacobian")})
    )
    readme = files["README.md"]
    assert "| index | joint | type | parent → child | q |\n" in readme
    assert "| `link0` → `link1` | m |\n\nSI units" in readme
    assert "Pinocchio has the linear part first.\n\n## Functions" in readme
    assert "q_names" not in files["manifest.json"]
    assert "entry of q" not in files["revolute_prismatic.h"]
    assert "\ndouble q[4] = {0};\n" in readme  # of scara
    assert "| q | joint positions (rad, m) |" in readme

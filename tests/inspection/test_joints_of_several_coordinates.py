"""Joints of several coordinates in `inspect`, `show`, pictures, reports and generated folders."""

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
from symgen.description.loading import load
from symgen.inspection.at import parse_values
from symgen.inspection.canonical import Canonical
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

FREE_AND_REVOLUTE, MIXED_KINDS = (
    ("free", "revolute"),
    ("revolute", "spherical", "cylindrical", "planar"),
)


@cache
def robot_of(joint_kinds: tuple[str, ...], shape: str = "chain") -> Mechanism:
    plain = random_mechanism(len(joint_kinds), seed=7, kind=shape, general=False)
    joints = tuple(
        replace(
            joint,
            kind=kind_of_joint,
            axis=joint.axis if joint_type(kind_of_joint).directed else Z_AXIS,
        )
        for joint, kind_of_joint in zip(plain.joints, joint_kinds, strict=True)
    )
    return replace(plain, name="_".join(joint_kinds), joints=joints)


KINDS_OF_SEVERAL = tuple(kind for kind in kinds() if joint_type(kind).nq > 1)


# -- inspection ------------------------------------------------------------------------------------


def block_of(letter: str, mechanism: Mechanism, q: Any) -> Any:
    return numbers(mechanism, letter, "constraint_force", {"q": BALLS.array(q)}).astype(float)


def block(mechanism: Mechanism, what: str, state: dict[str, Any]) -> Any:
    return numbers(mechanism, what, "riccati", {"q": state["q"]}).astype(float)


@pytest.mark.parametrize("of", [("spherical", "planar"), ("revolute", "cylindrical", "spherical")])
def test_letters_of_riccati_factor_the_mass_matrix(of: tuple[str, ...]) -> None:
    """M = (1 + K) D (1 + K)ᵀ with K_ij = H_i φ_i,j−1 L_j (Rodriguez and Kreutz (4.11)); Ω = J M⁻¹
    Jᵀ (5.4).
    """
    mechanism = robot_of(of)
    reference = Reference(mechanism, BALLS)
    state = {
        name: BALLS.array(array[0])
        for name, array in draw_states(mechanism, 1).items()
        if name in ("q", "v", "a")
    }
    M, n, v_slices = reference.mass_matrix(state["q"]), len(of), mechanism.v_slices
    letters = ("D", "H", "G", "L", "P", "phi", "psi", "Omega")
    D, H, G, L, P, phi, psi, Omega = (block(mechanism, letter, state) for letter in letters)
    link = [slice(6 * i, 6 * i + 6) for i in range(n)]
    K = np.eye(mechanism.nv)
    for j in range(n):
        for i in range(j):
            K[v_slices[i], v_slices[j]] = (
                H[v_slices[i], link[i]] @ phi[link[i], link[j - 1]] @ L[link[j], v_slices[j]]
            )
    assert np.allclose(K @ D @ K.T, M.astype(float), rtol=1e-12, atol=1e-12)
    assert np.allclose(H @ P @ H.T, D)
    assert np.allclose(P @ H.T, G @ D)
    placements = reference.placements(state["q"])
    for i in range(n):
        if i:
            step = phi[link[i - 1], link[i]]
            assert np.allclose(step @ G[link[i], v_slices[i]], L[link[i], v_slices[i]])
            transition = step @ (np.eye(6) - G[link[i], v_slices[i]] @ H[v_slices[i], link[i]])
            assert np.allclose(transition, psi[link[i - 1], link[i]])
        J = np.zeros((6, mechanism.nv))
        J[:, reference.supports[i]] = np.concatenate(
            reference.columns(i, placements[i].shift[0], placements)
        ).astype(float)
        R = np.kron(np.eye(2), placements[i].turn[0].astype(float))
        assert np.allclose(R.T @ J @ inverse(M).astype(float) @ J.T @ R, Omega[link[i], link[i]])


@pytest.mark.parametrize("of", [FREE_AND_REVOLUTE, MIXED_KINDS])
def test_an_index_selects_an_entry_of_v_by_number_or_name(of: tuple[str, ...]) -> None:
    mechanism = robot_of(of)
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


def test_an_entry_of_a_matrix_equals_the_reference() -> None:
    mechanism = robot_of(("planar", "spherical"))
    q = draw_states(mechanism, 1)["q"]
    M = Reference(mechanism, FLOAT).mass_matrix(q.astype(float))[0]
    at = {f"q{k}": str(x) for k, x in enumerate(q[0])}
    values = parse_values(mechanism, ",".join(f"{name}={x}" for name, x in at.items()))
    for form in ("closed", "recursive"):
        entry = read(
            mechanism, "M[joint0.vy,joint1.wz]", None, FormulaOptions(form, at=values)
        ).value
        assert float(getattr(entry, "value", entry)) == pytest.approx(M[1, 5], abs=1e-12)
    drawn = pattern(mechanism, "M", at=values)
    assert np.allclose(np.array(drawn.values), M)
    assert [name for name, _ in drawn.rows] == list(mechanism.velocity_names)
    assert [size for _, size in pattern(mechanism, "H", "riccati").rows] == [3, 3]


def test_a_random_pose_has_unit_quaternions() -> None:
    mechanism = robot_of(FREE_AND_REVOLUTE)
    values = parse_values(mechanism, pattern(mechanism, "J", frame="link1").pose)
    assert sum(values["q", k].radians ** 2 for k in range(3, 7)) == 1
    with pytest.raises(SymgenError, match="one unit quaternion x y z w; give all four"):
        pattern(mechanism, "M", at=parse_values(mechanism, "q3=0.1"))


def test_a_pose_is_given_by_names_or_numbers_of_coordinates() -> None:
    mechanism = robot_of(MIXED_KINDS)
    values = parse_values(
        mechanism, "joint0=pi/2,joint1.w=1,joint2.distance=0.5,joint3.angle=pi,q7=0.25,v8=3,tau2=1"
    )
    assert {entry: (float(x.radians), float(x.pi)) for entry, x in values.items()} == {
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
            "joint 'joint0' has 6 velocities; name one of them:"
            " joint0.vx, joint0.vy, joint0.vz, joint0.wx, joint0.wy, ",
        ),
        ("M[7,0]", "index 7 is outside this robot's velocities; they count from 0 to 6"),
        ("M[joint0.wq,0]", "no velocity is named 'joint0.wq'; did you mean 'joint0.w"),
        ("P[2]", "index 2 is outside this robot's joints; they count from 0 to 1"),
        ("F[2,0]", "index 2 is outside this robot's joints; they count from 0 to 1"),
    ],
)
def test_a_wrong_index_is_refused_in_one_line(what: str, sentence: str) -> None:
    with pytest.raises(SymgenError) as error:
        read(robot_of(FREE_AND_REVOLUTE), what)
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
            "are a quaternion x y z w, and four zeros are not a rotation;"
            " write 0, 0, 0, 1 for no rotation",
        ),
        ("q3=1,q4=1", "q3 … q6 are a quaternion x y z w, and its length is not 1"),
        ("q3=0,q4=0,q5=0,q6=0.9", "q3 … q6 are a quaternion x y z w, and its length is not 1"),
    ],
)
def test_a_wrong_pose_is_refused_in_one_line(text: str, sentence: str) -> None:
    with pytest.raises(SymgenError) as error:
        parse_values(robot_of(FREE_AND_REVOLUTE), text)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", KINDS_OF_SEVERAL)
def test_joints_of_several_coordinates_have_a_canonical_form_and_no_structure(kind: str) -> None:
    mechanism = robot_of((kind,))
    assert isinstance(
        read(mechanism, "M[0,1]", None, FormulaOptions("multiangle")).value, Canonical
    )
    with pytest.raises(
        SymgenError,
        match=r"a structure needs joints of one coordinate, .* read M with --form recursive",
    ):
        structure(mechanism, "M")
    text, _ = render(mechanism, "M[0,1]")
    assert text
    assert where(mechanism, "c[1]")[0]
    assert "P[k]" in listing(mechanism)
    for owner in methods_with_quantities():
        for letter, quantity in methods.find(owner).quantities.items():
            reason = refusal_reason(mechanism, owner, quantity)
            available = owner != "udut" and quantity.variant != "planar" and not quantity.of_loops
            assert (reason is None) == available, (owner, letter, reason)


# -- shown -----------------------------------------------------------------------------------------


def test_show_counts_joints_coordinates_and_velocities() -> None:
    text = show(robot_of(FREE_AND_REVOLUTE))
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
    cylindrical = show(robot_of(("cylindrical",)))
    assert cylindrical.startswith("cylindrical: 1 joint, 2 coordinates, 2 velocities, ")
    assert "where a joint has no axis" not in cylindrical
    assert show(robot_of(("revolute", "prismatic"))).startswith("revolute_prismatic: 2 joints, ")
    assert "coordinates" not in show(robot_of(("revolute", "prismatic")))


def test_facts_name_the_entries_of_a_joint() -> None:
    mechanism = robot_of(MIXED_KINDS)
    described = facts(mechanism)
    for joint, joint_facts in zip(mechanism.joints, described["joints"], strict=True):
        assert ("q_names" in joint_facts) == ("v_names" in joint_facts) == (joint.type.nq > 1)
        assert len(joint_facts.get("q_names", [""])) == joint_facts["q"][1]
        assert len(joint_facts.get("v_names", [""])) == joint_facts["v"][1]
        assert (joint_facts["axis"] is None) == (not joint.type.directed)
    assert described["joints"][1]["q_names"] == ["x", "y", "z", "w"]
    assert json.loads(json.dumps(described)) == described
    assert [row[4:] for row in _joints(described)][1] == ["none", "none"]


def test_a_report_draws_one_sign_for_each_joint() -> None:
    mechanism = robot_of(MIXED_KINDS, "tree")
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


def test_sparsity_patterns_come_from_the_matrices_of_inspect() -> None:
    mechanism = robot_of(MIXED_KINDS)
    q = draw_states(mechanism, 1)["q"].astype(float)
    factors = sparsity._factors(mechanism, q[0])
    assert np.allclose(factors["M"], Reference(mechanism, FLOAT).mass_matrix(q)[0])
    assert factors["U"].shape == factors["M"].shape
    assert factors["φ"].shape == (24, 24)
    assert factors["H_bb"].shape == (24 - mechanism.nv,) * 2
    report_determinant = np.linalg.slogdet(factors["H_bb"])
    inspected_determinant = np.linalg.slogdet(block_of("H_bb", mechanism, q[0]))
    assert report_determinant[0] == 1
    assert report_determinant[1] == pytest.approx(
        inspected_determinant[1], abs=1e-9
    )  # the determinant does not depend on the basis of the constraint space
    assert "H_bb" not in sparsity._factors(
        robot_of(("free",)), draw_states(robot_of(("free",)), 1)["q"].astype(float)[0]
    )


# -- the folder ------------------------------------------------------------------------------------


def test_readme_and_header_list_the_entries_of_each_joint() -> None:
    from symgen.pipeline.build import program as of

    mechanism = robot_of(("free", "revolute", "cylindrical"))
    files = texts(
        FolderContents(
            mechanism, {name: of(mechanism, name, None) for name in ("jacobian", "gravity_force")}
        )
    )
    readme, header = files["README.md"], files[f"{mechanism.name}.h"]
    q, v = (
        "q[0..2] place x y z (m), q[3..6] unit quaternion x y z w",
        (
            "v[0..2] linear velocity x y z (m/s), v[3..5] angular velocity x y z (rad/s), in the"
            " body's axes"
        ),
    )
    assert f"| {q} | {v} |\n" in readme
    assert f" *   joint 0, free: {q}\n *     {v}\n" in header
    assert "| q[7] (rad) | v[6] its rate |\n" in readme
    assert "| q[8] angle (rad), q[9] distance (m) | v[7..8] the rates |\n" in readme
    for text in (readme, header):
        assert "The functions assume unit quaternions: normalize q[3..6] after each" in text
    assert (
        "Pinocchio has the linear part first."
        " Here `v`, `a` and `tau` have the linear part first in v[0..5].\n\n## Functions"
    ) in readme
    assert (
        "The linear part is first in v[0..5]; in other vectors of six the angular part is first."
        in header
    )
    assert header.isascii()
    joints = json.loads(files["manifest.json"])["joints"]
    assert [joint.get("q_names") for joint in joints] == [
        ["px", "py", "pz", "x", "y", "z", "w"],
        None,
        ["angle", "distance"],
    ]


def test_samples_start_with_unit_quaternions_and_texts_list_the_quaternions() -> None:
    """An all-zero q is no valid pose, because a quaternion has length 1."""
    from symgen.pipeline.build import program as of

    mechanism = robot_of(("revolute", "spherical", "spherical"))
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


def test_a_folder_without_such_joints_does_not_mention_several_coordinates() -> None:
    files = texts(
        FolderContents(
            robot_of(("revolute", "prismatic")), {"jacobian": program("scara", "jacobian")}
        )
    )
    readme = files["README.md"]
    assert "| index | joint | type | parent → child | q |\n" in readme
    assert "| `link0` → `link1` | m |\n\nAll quantities are in SI units" in readme
    assert "Pinocchio has the linear part first.\n\n## Functions" in readme
    assert "q_names" not in files["manifest.json"]
    assert "entry of q" not in files["revolute_prismatic.h"]
    assert "\ndouble q[4] = {0};\n" in readme  # of scara
    assert "| q | joint positions (rad, m) |" in readme


@pytest.mark.parametrize(
    ("request_text", "form"), [("g", "closed"), ("g[0]", "multiangle"), ("g[0]", "recursive")]
)
def test_every_form_says_which_coordinates_and_quaternions_it_shows(
    request_text: str, form: str
) -> None:
    reading = read(load("spherical_pendulum"), request_text, options=FormulaOptions(form=form))
    notes = "\n".join(reading.notes)
    assert (
        "coordinates count from 0: q0 is ball.x, q1 is ball.y, q2 is ball.z, q3 is ball.w" in notes
    )
    is_canonical = isinstance(reading.value, Canonical)
    assert ("q3**2 is written as 1 - q0**2" in notes) == is_canonical == (form == "multiangle")
    assert "q0, q1, q2, q3 are a unit quaternion" in notes

"""Dependences of entries and base parameters: against the reference, the multi-angle forms, and
matrix ranks.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache

import flint
import numpy as np
import pytest

from symgen.derivation import constants
from symgen.inspection.multiangle import ENTRIES, has_exact_constants, multiangle
from symgen.inspection.parameters import symbolic
from symgen.inspection.structure import (
    LETTERS,
    PARAMETERS,
    Structure,
    _echelon,
    combination,
    contributions,
    inertia_entries,
    inertial_parameters,
    random_state,
    structure,
    unit_parameters,
)
from symgen.mechanism.mechanism import Mechanism, Part
from symgen.pipeline.derive import models
from symgen.reference.mechanics import Reference
from symgen.reference.states import draw_states
from symgen.support.errors import RequestError
from symgen.vocabulary.poses import pose
from tests.shared.robots_for_tests import BALLS, largest, random_mechanism, robot

READ = (
    "planar_arm",
    "planar_point_mass",
    "scara",
    "puma560",
    "panda",
    "tree4",
    "chain5",
    "square_tree6",
    "prismatic_revolute",
    "one",
)
RESULT = {"M": "M", "c": "c", "g": "g", "tau": "tau"}
CASES = [
    (name, letter)
    for name in READ
    for letter in LETTERS
    if letter == "tau" or name in ("scara", "tree4", "one")
]
"""tau includes the columns of M, c and g, which are tested apart on three robots."""


@cache
def structure_named(name: str, letter: str) -> Structure:
    return structure(robot(name), letter)


@cache
def regressor(name: str, letter: str, seed: str) -> dict[tuple[int, ...], list[flint.arb]]:
    """Return for each entry its coefficients on the ten parameters of each link, in their order."""
    model = models(robot(name))[0]
    n = len(model.links)
    with constants.precision():
        return {
            entry: [x for link in links for x in link]
            for entry, links in contributions(
                model, letter, random_state(n, seed), [unit_parameters()] * n
            ).items()
        }


def parameter_names(n: int) -> list[str]:
    return [
        f"{p.split('_')[0]}_{b}" + (f"_{p.split('_')[1]}" if "_" in p else "")
        for b in range(n)
        for p in PARAMETERS
    ]


# -- regressor -------------------------------------------------------------------------------------


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize(
    "name", [name for name in READ if all(len(joint.motions) == 1 for joint in robot(name).joints)]
)
def test_regressor_times_parameters_equals_the_reference(name: str, letter: str) -> None:
    """Robots without helical joints, because a random state draws their angle and advance apart."""
    mechanism = robot(name)
    state = random_state(mechanism.nv, "here")
    with constants.precision():
        declared = [
            x
            for link in models(mechanism)[0].links
            for x in inertia_entries(inertial_parameters(link.inertia))
        ]
        values = {
            entry: sum((x * y for x, y in zip(row, declared, strict=True)), flint.arb(0))
            for entry, row in regressor(name, letter, "here").items()
        }
    with BALLS.working():
        angles = [2 * (flint.arb(s) / (1 + flint.arb(c))).atan() for c, s in state.cosine_sine]
        sliding = [joint.kind == "prismatic" for joint in mechanism.joints]
        q = [
            flint.arb(x) if slides else angle
            for x, slides, angle in zip(state.q, sliding, angles, strict=True)
        ]
        arrays = {"q": np.array([q]), "v": BALLS.array([state.v]), "a": BALLS.array([state.a])}
    arguments = {"M": "q", "c": "qv", "g": "q", "tau": "qva"}[letter]
    expected = Reference(mechanism, BALLS).evaluate(
        ENTRIES[letter][0], {x: arrays[x] for x in arguments}
    )[RESULT[letter]]
    with BALLS.working():
        for entry, value in values.items():
            assert largest(expected[(0, *entry)] - value) <= 1e-40 * (largest(expected) + 1e-3), (
                entry
            )


# -- base parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "letter"), CASES)
def test_base_parameters_reproduce_the_full_regressor(name: str, letter: str) -> None:
    """At new states, each coefficient is a combination of those of the base parameters."""
    description = structure_named(name, letter)
    order = parameter_names(robot(name).nv)
    with constants.precision():
        for row in regressor(name, letter, "another").values():
            rebuilt = [constants.ZERO] * len(row)
            for base, terms in description.base:
                for p, x in terms.items():
                    rebuilt[order.index(p)] = rebuilt[order.index(p)] + row[
                        order.index(base)
                    ] * constants.rational(x)
            difference = max(largest(a - b) for a, b in zip(rebuilt, row, strict=True))
            assert difference <= (0 if has_exact_constants(robot(name)) else 1e-40)


@pytest.mark.parametrize(("name", "letter"), CASES)
def test_the_number_of_base_parameters_is_the_rank_of_the_references_regressor(
    name: str, letter: str
) -> None:
    """Count singular values of the reference's regressor in floating point and declared frames."""
    columns = sampled_regressor(robot(name), letter)
    sizes = np.linalg.svd(
        columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300), compute_uv=False
    )
    assert structure_named(name, letter).rank == int((sizes > 1e-9 * max(sizes[0], 1e-9)).sum())


def sampled_regressor(mechanism: Mechanism, letter: str) -> np.ndarray:
    zero, unit_mass = Fraction(0), Fraction(1)
    poses = [
        pose(),
        *(pose(tuple(unit_mass if a == b else zero for b in range(3))) for a in range(3)),
    ]  # type: ignore[arg-type]
    points = [Part("x", at, unit_mass) for at in poses]
    tensors = [
        Part("x", (), zero, tuple(unit_mass if a == b else zero for b in range(6)))
        for a in range(6)
    ]  # type: ignore[arg-type]
    states = {
        key: np.array(value, dtype=float)
        for key, value in draw_states(mechanism, 40, seed=8).items()
    }
    arguments = {"M": "q", "c": "qv", "g": "q", "tau": "qva"}[letter]
    columns_by_parameter = []
    for b in range(mechanism.nv):
        for part in (*points, *tensors):
            bodies = tuple(
                replace(body, parts=(part,) if i == b else ())
                for i, body in enumerate(mechanism.bodies)
            )
            answer = Reference(replace(mechanism, bodies=bodies)).evaluate(
                ENTRIES[letter][0], {x: states[x] for x in arguments}
            )
            columns_by_parameter.append(np.ravel(answer[RESULT[letter]]))
    columns = np.array(columns_by_parameter).T
    return np.where(np.abs(columns) < 1e-12, 0, columns)


@pytest.mark.parametrize("name", [name for name in READ if has_exact_constants(robot(name))])
def test_the_number_of_base_parameters_is_the_rank_over_the_rationals(name: str) -> None:
    rows = [row for s in range(10 + 3) for row in regressor(name, "tau", f"rank {s}").values()]
    assert flint.fmpq_mat(rows).rank() == structure_named(name, "tau").rank


@pytest.mark.slow
def test_known_robots_have_their_published_base_parameters() -> None:
    assert {
        name: structure_named(name, "tau").rank
        for name in ("panda", "puma560", "ur5", "planar_arm")
    } == {"panda": 43, "puma560": 36, "ur5": 36, "planar_arm": 6}
    arm = {name: dict(terms) for name, terms in structure_named("planar_arm", "M").base}
    assert arm == {
        "J_0_zz": {"J_0_zz": 1, "m_1": 1},
        "J_1_zz": {"J_1_zz": 1},
        "h_1_x": {"h_1_x": 1},
        "h_1_y": {"h_1_y": 1},
    }
    assert structure_named("planar_arm", "M").values == (
        Fraction(5, 3),
        Fraction(1, 12),
        Fraction(1, 4),
        0,
    )
    for name in ("puma560", "ur5", "panda"):  # gravity lies along the first axis
        base = dict(structure_named(name, "g").base)
        assert not [
            p for terms in base.values() for p in terms if p.startswith(("J", "h_0", "m_0"))
        ]


def test_a_general_arm_has_seven_base_parameters_a_link_except_the_first() -> None:
    """n revolute joints have 7 n base parameters, minus those of the first link, which only
    rotates.
    """
    general = structure(random_mechanism(4), "tau")
    assert general.rank == 7 * 4 - 4


# -- dependence ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        *(
            (name, letter)
            for name in ("planar_arm", "planar_point_mass", "scara", "tree4", "prismatic_revolute")
            for letter in LETTERS
        ),
        *(("puma560", letter) for letter in "Mg"),
        ("panda", "g"),  # forms of velocities take seconds each
    ],
)
def test_dependences_equal_those_of_the_multi_angle_form(name: str, letter: str) -> None:
    description, mechanism = structure_named(name, letter), robot(name)
    kept = {p.symbol for p in symbolic(mechanism, ENTRIES[letter][0], "all")[1]}
    for entry, joints, parameters in description.entries():
        index = tuple(int(i) for i in entry.partition("[")[2][:-1].split(","))
        assert multiangle(mechanism, letter, index).joints() == joints, entry
        if name != "panda":
            symbols = multiangle(mechanism, letter, index, "all").symbols()
            assert {s for s in symbols if s[0] == "I"} == {
                f"I{p[1:]}" for p in parameters if p[0] == "J"
            } & kept
            assert {s for s in symbols if s[0] == "l"} == {p for p in parameters if p[0] == "l"}, (
                entry
            )
            assert {p.split("_")[1] for p in parameters if p[0] in "mhJ"} == {
                s.split("_")[1] for s in symbols if s[0] in "mI"
            }


@pytest.mark.slow
def test_a_mass_matrix_does_not_depend_on_the_first_joint() -> None:
    for name in (name for name in READ if name != "panda"):
        joints = structure_named(name, "M").joints
        assert all(0 not in joints[i][j] for i in range(len(joints)) for j in range(len(joints)))
        assert all(
            joints[i][j] == joints[j][i] for i in range(len(joints)) for j in range(len(joints))
        )


# -- as text and facts -----------------------------------------------------------------------------


def test_text_and_facts_of_a_structure_agree() -> None:
    description = structure_named("planar_arm", "M")
    text = str(description)
    assert "4 base parameters (SI units)\n  J_0_zz + m_1 = 1.66667\n" in text
    assert "  M[0,0]  J_0_zz m_1 h_1_x J_1_zz l_1_x\n" in text
    assert "  M[1,1]  -\n" in text
    facts = json.loads(json.dumps(description.facts()))
    assert facts["rank"] == len(facts["base"]) == 4
    assert facts["joints"] == {"M[0,0]": ["joint2"], "M[0,1]": ["joint2"], "M[1,1]": []}
    assert facts["base"][0] == {
        "name": "J_0_zz",
        "combination": {"J_0_zz": "1", "m_1": "1"},
        "value": pytest.approx(5 / 3),
    }
    assert set(structure_named("scara", "tau").facts()["parameters"]) == {
        f"tau[{i}]" for i in range(4)
    }
    assert 0 < description.chance < 1e-12


def test_the_text_of_a_structure_is_reproducible() -> None:
    structure.cache_clear()
    again = structure(robot("scara"), "tau")
    assert str(again) == str(structure_named("scara", "tau"))


def test_combinations_are_written_with_their_signs() -> None:
    assert (
        combination({"J_0_xx": Fraction(1), "J_0_yy": Fraction(-1), "m_1": Fraction(-1, 4)})
        == "J_0_xx - J_0_yy - 0.25*m_1"
    )


def test_a_quantity_without_a_structure_is_refused() -> None:
    with pytest.raises(
        RequestError, match="no quantity with a structure is named 'Minv'; there are: M, c, g, tau"
    ):
        structure(robot("scara"), "Minv")


# -- texts and linear algebra ----------------------------------------------------------------------


def test_a_combination_is_written_with_signs_and_without_factors_of_one() -> None:
    terms = {"J_0_zz": Fraction(1), "m_1": Fraction(1, 4), "h_1_x": Fraction(-1)}
    assert combination(terms) == "J_0_zz + 0.25*m_1 - h_1_x"
    assert combination({"a": Fraction(-2), "b": Fraction(1, 3)}) == "-2*a + 1/3*b"
    assert combination({"a": Fraction(-1)}) == "-a"


def dependence(letter: str) -> Structure:
    of_vector = ((0,), (0, 1))
    of_matrix = (((), (1,)), ((1,), (0, 1)))
    names = ((("m_0",), ("m_1", "h_1_x")), (("m_1", "h_1_x"), ()))
    return Structure(
        "arm",
        letter,
        ("a", "b"),
        of_matrix if letter == "M" else of_vector,
        names if letter == "M" else names[0],
        (("m_0", {"m_0": Fraction(1), "m_1": Fraction(1)}),),
        (Fraction(5, 2),),
    )


def test_entries_of_a_symmetric_matrix_are_listed_once() -> None:
    assert dependence("M").entries() == [
        ("M[0,0]", (), ("m_0",)),
        ("M[0,1]", (1,), ("m_1", "h_1_x")),
        ("M[1,1]", (0, 1), ()),
    ]
    assert dependence("g").entries() == [
        ("g[0]", (0,), ("m_0",)),
        ("g[1]", (0, 1), ("m_1", "h_1_x")),
    ]


def test_the_text_of_a_structure_has_a_line_for_each_entry_and_base_parameter() -> None:
    lines = dependence("M").text().splitlines()
    assert lines[0] == "M of 'arm': joints 0 a, 1 b"
    joints = lines.index("depends on the coordinates of joints")
    assert lines[joints + 1 : joints + 4] == ["  M[0,0]  -", "  M[0,1]  1", "  M[1,1]  0 1"]
    assert "  M[0,1]  m_1 h_1_x" in lines
    assert "  M[1,1]  -" in lines
    assert lines[lines.index("1 base parameters (SI units)") + 1] == "  m_0 + m_1 = 2.5"
    assert dependence("M").rank == 1
    assert 0 < dependence("M").chance < 1e-6


def test_the_echelon_form_has_a_pivot_of_one_in_each_independent_row() -> None:
    """Rational rows, and rows with √2 that need no elimination."""

    def numbers(row: list[int]) -> list[constants.Constant]:
        return [constants.rational(Fraction(x)) for x in row]

    with constants.precision():
        exact = _echelon([numbers(row) for row in ([0, 2, 4, 6], [0, 1, 3, 1], [0, 3, 7, 7])])
        assert {c: [int(x) for x in row] for c, row in exact.items()} == {
            1: [0, 1, 0, 7],
            2: [0, 0, 1, -2],
        }
        root = constants.square_root(constants.rational(Fraction(2)))
        zero = constants.ZERO
        irrational = _echelon([[zero, zero, root, 3 * root], numbers([0, 2, 0, 1])])
        assert {
            c: [round(constants.as_float(x), 9) for x in row] for c, row in irrational.items()
        } == {
            1: [0, 1, 0, 0.5],
            2: [0, 0, 1, 3],
        }
    assert _echelon([]) == {}

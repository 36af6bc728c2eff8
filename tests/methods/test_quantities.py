"""Blocks and names of the letters of papers, and the rotations of results into the axes of the
base.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from symgen.derivation import constants
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import declared
from symgen.derivation.scalars import Derivation
from symgen.derivation.spatial import Vector
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.poses import base_axes, cheapest_base_axes, path_to_frame
from symgen.methods.shared.quantities import (
    Block,
    column,
    columns_to_rows,
    mirror_blocks,
    name_entries,
    scalar,
    unit_twists,
)
from tests.shared.robots_for_tests import draw, of_kind, random_mechanism, run


@pytest.fixture(autouse=True)
def _precise_constants() -> Iterator[None]:
    with constants.precision():
        yield


def linkage_of(mechanism: Mechanism) -> Linkage:
    return Linkage(declared(mechanism), Derivation({"q": mechanism.nq, "v": mechanism.nv}))


@pytest.fixture
def linkage() -> Linkage:
    return linkage_of(random_mechanism(2, 1))


def test_entries_are_named_by_row_and_column_from_one(linkage: Linkage) -> None:
    """Entries of a column are named by their row alone, and a single entry has the name of the
    letter.
    """
    a, b, c = (linkage.derivation.sin(x) for x in (*linkage.inputs["q"], linkage.inputs["v"][0]))
    d = linkage.derivation.cos(linkage.inputs["v"][1])
    expected = {
        "M": ([[a, b], [c, d]], ["M_11", "M_12", "M_21", "M_22"]),
        "u": ([[a + b], [a + c]], ["u_1", "u_2"]),
        "r": ([[b + c, a + d]], ["r_11", "r_12"]),
        "D": ([[c + d]], ["D"]),
    }
    for stem, (rows, names) in expected.items():
        assert name_entries(linkage, stem, rows) is rows
        entries = [x for row in rows for x in row]
        assert [linkage.derivation.names[x.row] for x in entries] == names


def test_a_symmetric_quantity_has_the_transposed_blocks_on_the_other_side(
    linkage: Linkage,
) -> None:
    a, b = linkage.inputs["q"]
    blocks = mirror_blocks(
        {(0, 0): scalar(a), (1, 0): Block([[a, b]], left=1, right=0), (1, 1): scalar(b)}
    )
    assert set(blocks) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert blocks[1, 0].rows == [[a, b]]
    assert blocks[0, 1] == Block([[a], [b]], left=0, right=1)
    assert blocks[0, 0] == scalar(a) == Block([[a]])


def test_columns_of_two_vectors_form_a_matrix_of_six_rows(linkage: Linkage) -> None:
    numbers = [linkage.scalar(constants.rational(x)) for x in range(12)]
    vectors = [Vector(numbers[k : k + 3]) for k in range(0, 12, 3)]
    rows = columns_to_rows([(vectors[0], vectors[1]), (vectors[2], vectors[3])])
    assert rows == [[numbers[r], numbers[6 + r]] for r in range(6)]
    assert column(vectors[:2], 5) == Block([[x] for x in numbers[:6]], 5)


def test_unit_twists_are_the_columns_of_the_identity(linkage: Linkage) -> None:
    rows = columns_to_rows(unit_twists(linkage))
    for r, row in enumerate(rows):
        assert [x.equals(1) for x in row] == [r == c for c in range(6)]
        assert [x.is_zero for x in row] == [r != c for c in range(6)]


# -- rotations -------------------------------------------------------------------------------------


def test_the_path_to_a_frame_leads_from_the_root_to_its_link() -> None:
    mechanism = random_mechanism(4, 1)
    parents = (-1, 0, 0, 2)
    mechanism = replace(
        mechanism,
        joints=tuple(
            replace(joint, parent=parent)
            for joint, parent in zip(mechanism.joints, parents, strict=True)
        ),
    )
    branched = linkage_of(mechanism)
    for link, path in ((3, [0, 2, 3]), (1, [0, 1]), (-1, [])):
        frame = replace(branched.model.frame(mechanism, "link0"), link=link)
        assert path_to_frame(branched.at(frame)) == path


@pytest.mark.parametrize("links", [2, 12])
def test_both_forms_of_the_rotations_to_the_base_are_equal(links: int) -> None:
    mechanism = random_mechanism(links, 2)
    chain = linkage_of(mechanism)
    direction = chain.vector([constants.rational(Fraction(x, 7)) for x in (2, 3, 6)])
    rotations = [cheapest_base_axes(chain), base_axes(chain)]
    results = [
        [x for rotation in each for x in rotation.to_parent(direction)] for each in rotations
    ]
    count = 3 * links
    program = chain.derivation.freeze(
        "f",
        "m",
        [(name, (count,), x) for name, x in zip(("cheapest", "matrices"), results, strict=True)],
        {"q": (links,), "v": (links,)},
    )
    values = run(program, draw(mechanism, 1))
    assert abs(values["cheapest"] - values["matrices"]).max() < 1e-14


def test_matrices_are_taken_from_twelve_links_on() -> None:
    """A chain of n links has n (n - 1)/2 pairs of a link and an ancestor.

    Factors take 6 operations for each of them, matrices 30 for each link:
    6 n (n - 1)/2 > 30 n for n > 11.
    """
    for links, is_matrix in ((11, False), (12, True)):
        chain = linkage_of(random_mechanism(links, 2))
        rotations = cheapest_base_axes(chain)
        assert all(len(rotation.factors) == 1 for rotation in rotations) == is_matrix
    balls = random_mechanism(8, 2)
    balls = replace(balls, joints=tuple(of_kind(joint, "spherical") for joint in balls.joints))
    # 6 · 3 n (n - 1)/2 > 18 n + 12 · 3 n for n > 7
    assert all(len(r.factors) == 1 for r in cheapest_base_axes(linkage_of(balls)))
    fewer = replace(balls, joints=balls.joints[:7], bodies=balls.bodies[:7], frames=())
    assert not all(len(r.factors) == 1 for r in cheapest_base_axes(linkage_of(fewer)))

"""Fixman's theorem, its bridge to the inverse, and the freedom in its soft rows, as exact checks of
one chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import sympy as sp

from symgen import methods
from symgen.derivation import constants
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import declared
from symgen.derivation.scalars import Derivation
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.papers.rational_functions import Functions, determinant
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared import lee_chirikjian
from tests.shared.point_mass_chains import chain, schur
from tests.shared.robots_for_tests import (
    PURE,
    random_mechanism,
    rationals,
)


def check_fixmans_theorem(case: tuple[str, int]) -> None:
    """det G · det H^bb = det G^aa, LC (8), with det G = Π m² L²; and H^aa − H^ab (H^bb)⁻¹ H^ba =
    (G^aa)⁻¹, LC (12).
    """
    planar_chain = chain(case)
    soft, hard = lee_chirikjian.exact_rows(planar_chain.n)
    aa, ab, bb = planar_chain.gram(planar_chain.rows(soft), planar_chain.rows(hard))
    mass = planar_chain.mass_matrix()
    weight = planar_chain.field(
        sp.Matrix(
            [
                [
                    sp.Mul(
                        *(
                            m * m * L * L
                            for m, L in zip(planar_chain.mass, planar_chain.length, strict=True)
                        )
                    )
                ]
            ]
        )
    )
    assert weight.det() * bb.det() == mass.det()
    assert (schur(aa, ab, bb) * mass).to_Matrix() == sp.eye(planar_chain.n)


def check_that_hard_gradients_in_soft_rows_keep_the_schur_complement(
    case: tuple[str, int],
) -> None:
    """Any multiples of ∂L added to ∂θ: other blocks, the same solution; LC's own rows (20)-(21) are
    of that kind.
    """
    planar_chain = chain(case)
    soft, hard = (planar_chain.rows(rows) for rows in lee_chirikjian.exact_rows(planar_chain.n))
    declared_blocks = planar_chain.gram(soft, hard)
    random = Random(planar_chain.n)
    shift = sp.zeros(planar_chain.n, planar_chain.n)
    shift[0, planar_chain.n - 1] = 3
    if case[0].startswith("rationals"):
        shift = sp.Matrix(
            planar_chain.n,
            planar_chain.n,
            [sp.Rational(x.numerator, x.denominator) for x in rationals(random, planar_chain.n**2)],
        )
    other_soft_rows = [soft + planar_chain.field(shift) * hard]
    if case[0].startswith("rationals"):
        other_soft_rows.append(planar_chain.rows(lee_chirikjian.published_rows(planar_chain.n)))
        assert hard.vstack(other_soft_rows[-1] - soft).rank() == hard.rank()
    for shifted_soft in other_soft_rows:
        blocks = planar_chain.gram(shifted_soft, hard)
        assert planar_chain.n == 1 or blocks[0] != declared_blocks[0]
        assert schur(*blocks) == schur(*declared_blocks)


def exactly(
    mechanism: Mechanism,
    function: str,
    method: str,
    arguments: Mapping[str, list[Any]],
    number: Callable[[Any], Any] = Fraction,
) -> list[Any]:
    """A program in the declared frames over a field; q of a revolute joint stands for the tangent
    of its half angle.
    """
    spec = FUNCTIONS[function]
    with constants.precision():
        shapes = {a.name: a.sizes(mechanism.sizes) for a in spec.arguments}
        derivation = Derivation(dict.fromkeys(shapes, mechanism.nv))
        (atoms,) = methods.derivation(method, function)(Linkage(declared(mechanism), derivation))
        result = spec.results[0]
        program = derivation.freeze(
            function, method, [(result.name, result.sizes(mechanism.sizes), atoms)], shapes
        )
    numbers = Numbers(
        number,
        lambda t: 2 * t / (1 + t * t),
        lambda t: (1 - t * t) / (1 + t * t),
        _no_root,
        _no_root,
    )
    return list(evaluate(program, {name: arguments[name] for name in shapes}, numbers)[result.name])


def _no_root(x: Any) -> Any:
    raise AssertionError("a square root or a logarithm")


def check_the_bridge_for_every_state(n: int) -> None:
    """M M⁻¹ = 1, M x = b and Fixman's determinant as rational functions of tan(q/2), or of the
    length of a joint that slides.
    """
    planar_chain = random_mechanism(n, seed=n, joints=PURE, general=False)
    field = Functions([f"t{i}" for i in range(n)])
    arguments = {"q": field.symbols(), "b": [field.number(x) for x in rationals(Random(n), n)]}
    mass, inverse = (
        np.array(
            exactly(planar_chain, function, method, arguments, field.number), dtype=object
        ).reshape(n, n)
        for function, method in (
            ("mass_matrix", "composite_body"),
            ("inverse_mass_matrix", "fixman:spatial"),
        )
    )
    assert (mass @ inverse - np.eye(n, dtype=int) == 0).all()
    x = np.array(
        exactly(planar_chain, "mass_matrix_solve", "fixman:spatial", arguments, field.number),
        dtype=object,
    )
    assert (mass @ x - arguments["b"] == 0).all()
    (det,) = exactly(
        planar_chain, "mass_matrix_determinant", "fixman:spatial", arguments, field.number
    )
    assert det == determinant(mass)

"""Facts for readers of the C: papers that the comments cite, and the order of vectors of six."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from symgen.ir.loops import Form
from symgen.ir.program import Program
from symgen.vocabulary.arrays import JACOBIAN_FRAMES, USUAL, Convention

PAPERS = {
    "RK": "G. Rodriguez, K. Kreutz, Recursive Mass Matrix Factorization and Inversion, JPL, 1988",
    "SA": "S. K. Saha, The UDU^T Decomposition of Manipulator Inertia Matrix",
    "FF": "A. Fijany, R. Featherstone, A new factorization of the mass matrix, 2013",
    "LC": (
        "K. Lee, G. S. Chirikjian, A New Perspective on O(n) Mass-Matrix Inversion for Serial"
        " Revolute Manipulators, 2005"
    ),
    "WC": (
        "Y. Wang, G. S. Chirikjian, A New O(N) Method for Inverting the Mass Matrix for Serial"
        " Chains Composed of Rigid Bodies"
    ),
}
"""In ASCII; docs/explanation/mathematics.md has them in full."""
OWN = {
    "B": "The bias force from composite bodies",
    "C": "The Coriolis matrix",
    "D": "Derivatives of the dynamics",
    "G": "Arms that hold one object",
}
"""Letters of equations that symgen derived itself, and the section of
docs/explanation/mathematics.md that has them.
"""
_CITED = re.compile(rf"\b({'|'.join(PAPERS)})\b")
_OWN_CITED = re.compile(rf"\(([{''.join(OWN)}])\d+\)")
_SUM = re.compile(r"c_\d+([pm]\d+)+")
"""A cosine of several joints' angles, as `symgen.derivation.linkage` names it."""


def legend(programs: Iterable[Form]) -> dict[str, Any]:
    """`papers` that the comments cite, as "RK: …"; `six`, what is made of vectors of six; of these
    `at_the_centre` of mass; `sums`, the first name of the cosine of a sum of angles.

    What is stated by another convention is no part of `six` but of `otherwise`, and `stated` says
    how.
    """
    programs = list(programs)
    steps = [step for program in programs for step in program.programs]
    usual = [program for program in programs if program.convention == USUAL]
    unusual = [program for program in programs if program.convention != USUAL]
    six = _of_six(usual)
    return {
        "papers": _cited([heading for step in steps for heading in step.steps]),
        "six": six,
        "sums": _first_sum(steps),
        "at_the_centre": [f"`{name}`" for name in six if name in CENTROIDAL],
        "otherwise": [port.name for program in unusual for port in program.outputs],
        "stated": unusual and in_words(unusual[0].convention),
    }


def _cited(headings: Iterable[str]) -> list[str]:
    """Return the papers, and the sections of docs/explanation/mathematics.md, whose equations the
    headings of steps cite.
    """
    text = "\n".join(headings)
    papers, letters = set(_CITED.findall(text)), set(_OWN_CITED.findall(text))
    return [
        *(f"{paper}: {title}" for paper, title in PAPERS.items() if paper in papers),
        *(
            f"({letter}1) ...: symgen's own derivation, docs/explanation/mathematics.md, {section}"
            for letter, section in OWN.items()
            if letter in letters
        ),
    ]


def _of_six(programs: Iterable[Form]) -> list[str]:
    """Return the names of the arguments and results that are twists, wrenches or made of them."""
    ports = (port for program in programs for port in (*program.inputs, *program.outputs))
    return [*dict.fromkeys(port.name for port in ports if 6 in port.shape and port.name in SIX)]


def _first_sum(steps: Iterable[Program]) -> str:
    """Return the first name of a row that is the cosine of a sum of angles, "" without one."""
    return next((row.name for step in steps for row in step.rows if _SUM.fullmatch(row.name)), "")


def in_words(convention: Convention) -> str:
    """How J and J̇ v are stated, with Pinocchio's word for it."""
    return (
        f"the {convention.order} part first, {JACOBIAN_FRAMES[convention.frame]} "
        f"(Pinocchio's {PINOCCHIO[convention.frame]})"
    )


PINOCCHIO = {"aligned": "LOCAL_WORLD_ALIGNED", "local": "LOCAL", "world": "WORLD"}
"""Pinocchio's names of these frames of a Jacobian; its linear part is always first."""


SIX = frozenset(
    ("J", "Lambda_inv", "alpha", "alpha_tip", "F", "wrench", "Jdot_v", "h", "A_G", "hdot")
)
"""Arrays that are twists, wrenches or made of them; a joint vector of six joints is not."""
CENTROIDAL = frozenset(("h", "A_G", "hdot"))
"""Arrays of these that are about the robot's mass centre, not about the origin of a frame."""

"""Legend of the C: papers that the comments cite, and the conventions of spatial vectors."""

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
"""Papers in ASCII, by the abbreviation that comments use; docs/explanation/mathematics.md has them
with all details.
"""
SECTIONS = {
    "B": "The bias force from composite bodies",
    "C": "The Coriolis matrix",
    "D": "Derivatives of the dynamics",
    "G": "Arms that hold one object",
}
"""Sections of docs/explanation/mathematics.md with symgen's own derivations, by the letter of their
equations.
"""
_CITED = re.compile(rf"\b({'|'.join(PAPERS)})\b")
_SECTION_CITED = re.compile(rf"\(([{''.join(SECTIONS)}])\d+\)")
_SUM = re.compile(r"c_\d+([pm]\d+)+")
"""Name of the cosine of a sum of joint angles, given by `symgen.derivation.linkage`."""


def legend(programs: Iterable[Form]) -> dict[str, Any]:
    """Return the facts of the legend.

    - `papers`: papers and sections that comments cite, for example "RK: …".
    - `spatial`: names of spatial vectors, and of matrices of them, in the usual convention.
    - `centroidal`: those of `spatial` that are about the centre of mass.
    - `unusual`: results in another convention, which `convention` describes.
    - `sums`: the first name of the cosine of a sum of angles; "" without one.
    """
    programs = list(programs)
    steps = [step for program in programs for step in program.programs]
    usual = [program for program in programs if program.convention == USUAL]
    unusual = [program for program in programs if program.convention != USUAL]
    spatial = _spatial(usual)
    return {
        "papers": _cited([heading for step in steps for heading in step.steps]),
        "spatial": spatial,
        "sums": _first_sum(steps),
        "centroidal": [f"`{name}`" for name in spatial if name in CENTROIDAL],
        "unusual": [port.name for program in unusual for port in program.outputs],
        "convention": unusual and describe_convention(unusual[0].convention),
    }


def _cited(headings: Iterable[str]) -> list[str]:
    """Return the papers and the sections of SECTIONS whose equations the headings of steps cite."""
    text = "\n".join(headings)
    papers, letters = set(_CITED.findall(text)), set(_SECTION_CITED.findall(text))
    return [
        *(f"{paper}: {title}" for paper, title in PAPERS.items() if paper in papers),
        *(
            f"({letter}1) ...: symgen's own derivation, docs/explanation/mathematics.md, {section}"
            for letter, section in SECTIONS.items()
            if letter in letters
        ),
    ]


def _spatial(programs: Iterable[Form]) -> list[str]:
    """Return the names of arguments and results that are spatial vectors or matrices of them."""
    ports = (port for program in programs for port in (*program.inputs, *program.outputs))
    return [*dict.fromkeys(port.name for port in ports if 6 in port.shape and port.name in SPATIAL)]


def _first_sum(steps: Iterable[Program]) -> str:
    """Return the first name of a row that is the cosine of a sum of angles; "" without one."""
    return next((row.name for step in steps for row in step.rows if _SUM.fullmatch(row.name)), "")


def describe_convention(convention: Convention) -> str:
    """Describe the convention of J and J̇ v, with Pinocchio's name of the reference frame."""
    return (
        f"the {convention.order} part first, {JACOBIAN_FRAMES[convention.frame]} "
        f"(Pinocchio's {PINOCCHIO[convention.frame]})"
    )


PINOCCHIO = {"aligned": "LOCAL_WORLD_ALIGNED", "local": "LOCAL", "world": "WORLD"}
"""Pinocchio's names of the reference frames of a Jacobian. Pinocchio has the linear part first."""


SPATIAL = frozenset(
    ("J", "Lambda_inv", "alpha", "alpha_tip", "F", "wrench", "Jdot_v", "h", "A_G", "hdot")
)
"""Twists, wrenches and matrices of them. A vector of six joints is not a spatial vector."""
CENTROIDAL = frozenset(("h", "A_G", "hdot"))
"""Arrays of SPATIAL about the robot's centre of mass, not about the origin of a frame."""

"""Letters that are stated for planar chains of any length, from which formulas are proved."""

from __future__ import annotations

from collections.abc import Sequence

from symgen.inspection.general.formulas import Affine
from symgen.inspection.general.planar import (
    BLOCKS,
    MOTION,
    SLOPES,
    Pieces,
    of_motion,
    of_points,
    origin_of_link,
    planar_chain,
)
from symgen.inspection.general.planar_transforms import TRANSFORMS, transform
from symgen.mechanism.mechanism import Mechanism

DEFINED = {
    **{("", name): "the kinetic and potential energy of a planar chain" for name in MOTION},
    ("", "p_links"): "the positions of the links of a planar chain",
    **{
        (origin, name): "the derivatives of lengths and angles, LC (3)"
        for origin in ("fixman", "lc")
        for name in (*BLOCKS, *SLOPES)
    },
    **TRANSFORMS,
}
"""Letters that have a definition, by origin and name, and where it comes from. The origin is a
method or a paper, or empty for a result of a function."""


def definition(
    mechanism: Mechanism, letter: tuple[str, str], indices: Sequence[Affine]
) -> list[Pieces] | None:
    """Return the coefficients of all terms of each entry of a letter, as functions of their
    positions, of the request's indices and of n; None if there is no definition.

    `mechanism`: a chain of four links; `letter`: as in `proof.is_proved`.
    """
    if letter not in DEFINED:
        return None
    chain = planar_chain(mechanism)
    if chain is None:
        return None
    origin, name = letter
    if letter in TRANSFORMS:
        return transform(mechanism, chain, name, indices)
    if not origin and name in MOTION:
        return [of_motion(chain, name, indices)]
    if not origin:
        return [origin_of_link(chain, indices)]
    return of_points(chain, name, indices)

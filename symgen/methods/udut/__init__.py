"""U D Uᵀ decomposition by recursion over articulated bodies, SA (17)-(39), at the mass centres as
in the paper.

Reference points are the mass centres C_i (the joint's origin for a massless link), so M_i is block
diagonal (12) and links keep their declared inertia; B_ij and p_i are SymPy's (4), derived from the
declared geometry. Quantities of link i are in its own axes. Sums over "i + 1" run over the children
of link i.

`udut:links` is the same recursion in link frames: (4)-(9) hold for any point of a link, and at its
frame's origin, on the joint's axis, d_i = 0. Then M_i is not block diagonal, but p_i is one unit
vector. M̂ p_i, p_iᵀ ψ_i and the transfer across a joint need fewer operations.
"""

from __future__ import annotations

from symgen.methods.shared.method import Method, Variant
from symgen.methods.udut.quantities import QUANTITIES
from symgen.methods.udut.solutions import at_centres, at_origins

METHOD = Method(
    source="Saha, (4), (17)-(39)",
    factor=at_centres,  # (32)-(39)
    variants={"links": Variant(factor=at_origins)},
    about_mass_centre=True,
    regroups=False,  # inertia that was moved to a parent has no mass centre
    quantities=QUANTITIES,
)

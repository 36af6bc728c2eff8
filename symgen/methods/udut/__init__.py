"""The U D Uᵀ decomposition by recursion over articulated bodies, SA (17)-(39), taken at the mass centres as in the paper.

Reference points are the mass centres C_i (the joint's origin for a massless link), so M_i is block diagonal (12) and
links keep the inertia they were declared with; B_ij and p_i are SymPy's (4), derived from the declared geometry.
Quantities of link i stand in its own axes. Sums over "i + 1" run over the links that link i carries.

`udut:links` is the same recursion in link frames: (4)-(9) hold for any point of a link, and at its frame's origin, on the
joint's axis, d_i = 0. Then M_i is not block diagonal, but p_i is one unit vector, and M̂ p_i, p_iᵀ ψ_i and what crosses a
joint cost less.
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
    regroups=False,  # a moved inertia has no mass centre of its own
    quantities=QUANTITIES,
)

"""What only a recursion along the tree says of links and of pivots, where joints follow others and there is no such recursion.

The joints' accelerations come from Gᵀ M G, eliminated entry by entry, SA (16)-(30). With them all links move as RK (2.2)-(2.5)
have it, and what moves them crosses their joints, (2.6)-(2.12): of a joint that follows, with the force that makes it follow. The
gradient of ln det M is that of its rows, taken backwards through them at the weight 1.
"""

from __future__ import annotations

from symgen.derivation.linkage import Linkage
from symgen.derivation.scalars import Scalar
from symgen.mechanism import Mechanism
from symgen.methods._composition import Calls
from symgen.methods._factor import Results
from symgen.methods._method import Method
from symgen.methods._motion import Motion
from symgen.methods._of_links import accelerations_in_base, wrenches_in_base
from symgen.methods._outward import outward_sweep
from symgen.methods.composite_body.bias import forward_dynamics
from symgen.methods.newton_euler.sweeps import inward_sweep


def _moving(linkage: Linkage) -> tuple[list[Scalar], list[Motion]]:
    """The accelerations of the joints that lead, and how every link moves with them."""
    (a,) = forward_dynamics(linkage)
    return a, outward_sweep(linkage, linkage.inputs["v"], linkage.coupling.followed(a))


def link_accelerations(linkage: Linkage) -> Results:
    """α of every link (NB x 6) at the origin of its declared frame, and of the chosen frame (6): (ω̇, v̇) in base axes."""
    _, motions = _moving(linkage)
    return accelerations_in_base(linkage, [one.omega for one in motions], [(one.alpha, one.accel) for one in motions])


def interbody_forces(linkage: Linkage) -> Results:
    """What crosses the joint of every link (NB x 6) at the origin of the frame that it moves, in base axes, and a (NV)."""
    a, motions = _moving(linkage)
    return wrenches_in_base(linkage, inward_sweep(linkage, motions, linkage.loads)[1]), a


def mass_matrix_log_determinant_gradient(robot: Calls) -> Results:
    """∂ ln det M / ∂q (NV)."""
    return robot("mass_matrix_log_determinant:vjp", logdet_bar=[robot.home.one])


def _refusal(mechanism: Mechanism) -> str | None:
    if mechanism.coupled:
        return None
    return f"coupled is for joints that follow others, and no joint of '{mechanism.name}' does; take another method"


METHOD = Method(
    source="Saha 1997, (16)-(30), and Rodriguez & Kreutz 1988, (2.2)-(2.12)",
    functions={
        "link_accelerations": link_accelerations,                                           # (2.2)-(2.5)
        "interbody_forces": interbody_forces,                                               # (2.6)-(2.12)
    },
    compositions={"mass_matrix_log_determinant_gradient": mass_matrix_log_determinant_gradient},
    refusal=_refusal,
    couples=True,
)

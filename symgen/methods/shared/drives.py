"""What the drives add to the answers of any method: behind the forces and the energy that it derives of the bodies.

Functions that are given forces need nothing here: `Linkage` has taken those of the drives off. The armature is on the diagonal of
M, and a method that has M has it from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from symgen.derivation import constants as k
from symgen.derivation.drives import forces
from symgen.derivation.gravity_compensation import bears, spared
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.equations import Change
from symgen.methods.shared.factor import Results


def _to_forces(place: int) -> Change:
    def change(linkage: Linkage, results: Results) -> Results:
        """The forces of the drives, on the result at this place, and without what bears the weight of links."""
        found = results[place]
        if any(one.resists for one in linkage.drives):
            own = linkage.coupling.felt(
                forces(linkage.model, linkage.drives, linkage.home, linkage.inputs)
            )
            found = [x + y for x, y in zip(found, own, strict=True)]
        if bears(linkage.model):
            found = [
                x - y
                for x, y in zip(
                    found, linkage.coupling.felt(spared(linkage.links, linkage.held)), strict=True
                )
            ]
        return (*results[:place], found, *results[place + 1 :])

    return change


def _to_inverse_dynamics(linkage: Linkage, results: Results) -> Results:
    """Armature · a as well."""
    return _to_turn_rotors(_to_forces(0)(linkage, results), linkage, linkage.inputs["a"])


def _to_an_impact(linkage: Linkage, results: Results) -> Results:
    """Armature times the change of v; friction and springs do nothing in no time."""
    after = linkage.coupling.followed(linkage.inputs["v_after"])
    return _to_turn_rotors(
        results, linkage, [x - y for x, y in zip(after, linkage.inputs["v"], strict=True)]
    )


def _to_turn_rotors(results: Results, linkage: Linkage, a: Sequence[Scalar]) -> Results:
    """Armature · a on the first result."""
    tau, *rest = results
    own = linkage.coupling.felt(
        [one.armature * x for one, x in zip(linkage.drives, a, strict=True)]
    )
    return ([x + y for x, y in zip(tau, own, strict=True)], *rest)


def _to_kinetic_energy(linkage: Linkage, results: Results) -> Results:
    """Σ ½ armature v², of the rotors as they turn in their joints."""
    ((total,),) = results
    half = linkage.scalar(k.rational(1) / 2)

    def own() -> Iterator[tuple[int, Scalar]]:
        for dof, one, v in zip(linkage.dofs, linkage.drives, linkage.inputs["v"], strict=True):
            if not one.armature.is_zero:
                yield dof.link, v * v * (one.armature * half)

    return ([linkage.summed(own(), total)],)


def rotors(linkage: Linkage, i: int) -> list[Dof]:
    """The degrees of freedom of joint i that have an armature."""
    return [dof for dof in linkage.links[i].dofs if not linkage.drives[dof.index].armature.is_zero]


def rotor(mechanism: Mechanism, method: str, why: str) -> str | None:
    """That a method has no place for an armature, where a joint of the robot has one; `why` ends the sentence's first half."""
    joint = next((joint for joint in mechanism.joints if joint.drive.armature), None)
    if joint is None:
        return None
    return (
        f"{method} {why}, and joint '{joint.name}' of '{mechanism.name}' has an armature; leave that out by --drives, or "
        "take another method, such as riccati"
    )


CHANGES: dict[str, Change] = {
    "inverse_dynamics": _to_inverse_dynamics,
    "contact_equation": _to_inverse_dynamics,
    "impact_equation": _to_an_impact,
    "bias_force": _to_forces(0),
    "mass_matrix_and_bias": _to_forces(1),
    "mass_matrix_coriolis_and_bias": _to_forces(2),
    "kinetic_energy": _to_kinetic_energy,
}
"""By function. What forces do to accelerations, and to the derivatives, is derived with them."""


def changes(function: str) -> tuple[Change, ...]:
    """Return the change that adds the drives to a function, or none."""
    return (CHANGES[function],) if function in CHANGES else ()

"""Contribution of the drives to the results of any method: forces, armature and rotor energy.

A method derives the results of the bodies; the changes here add the drives. Functions with forces
as inputs need no change: `Linkage` has subtracted the drive forces already. Methods with M take the
armature from its diagonal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from symgen.derivation import constants as k
from symgen.derivation.drives import drive_forces
from symgen.derivation.gravity_compensation import compensation_forces, has_gravity_compensation
from symgen.derivation.linkage import Dof, Linkage
from symgen.derivation.scalars import Scalar
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.equations import Change
from symgen.methods.shared.factor import Results


def _add_drive_forces(index: int) -> Change:
    """Return the change that adds the drive forces to the result at this index."""

    def change(linkage: Linkage, results: Results) -> Results:
        """Add the drive forces to one result, and subtract gravity compensation from it."""
        total = results[index]
        if any(drive.has_forces for drive in linkage.drives):
            added = linkage.coupling.reduce_forces(
                drive_forces(linkage.model, linkage.drives, linkage.derivation, linkage.inputs)
            )
            total = [x + y for x, y in zip(total, added, strict=True)]
        if has_gravity_compensation(linkage.model):
            total = [
                x - y
                for x, y in zip(
                    total,
                    linkage.coupling.reduce_forces(
                        compensation_forces(linkage.links, linkage.compensated_matter)
                    ),
                    strict=True,
                )
            ]
        return (*results[:index], total, *results[index + 1 :])

    return change


def _add_to_inverse_dynamics(linkage: Linkage, results: Results) -> Results:
    """Add the drive forces and armature · a."""
    return _add_rotor_forces(_add_drive_forces(0)(linkage, results), linkage, linkage.inputs["a"])


def _add_to_impact(linkage: Linkage, results: Results) -> Results:
    """Add armature times the change of v.

    Friction and springs have no impulse: an impact takes no time.
    """
    v_after = linkage.coupling.expand_rates(linkage.inputs["v_after"])
    return _add_rotor_forces(
        results, linkage, [x - y for x, y in zip(v_after, linkage.inputs["v"], strict=True)]
    )


def _add_rotor_forces(results: Results, linkage: Linkage, a: Sequence[Scalar]) -> Results:
    """Add armature · a to the first result."""
    tau, *unchanged = results
    added = linkage.coupling.reduce_forces(
        [drive.armature * x for drive, x in zip(linkage.drives, a, strict=True)]
    )
    return ([x + y for x, y in zip(tau, added, strict=True)], *unchanged)


def _add_rotor_energy(linkage: Linkage, results: Results) -> Results:
    """Add Σ ½ armature v², the energy of the rotors relative to their joints."""
    ((total,),) = results
    half = linkage.scalar(k.rational(1) / 2)

    def energies() -> Iterator[tuple[int, Scalar]]:
        for dof, drive, v in zip(linkage.dofs, linkage.drives, linkage.inputs["v"], strict=True):
            if not drive.armature.is_zero:
                yield dof.link, v * v * (drive.armature * half)

    return ([linkage.sum_over_links(energies(), total)],)


def rotors(linkage: Linkage, i: int) -> list[Dof]:
    """Return the degrees of freedom of joint i that have an armature."""
    return [dof for dof in linkage.links[i].dofs if not linkage.drives[dof.index].armature.is_zero]


def refuse_armature(mechanism: Mechanism, method: str, why: str) -> str | None:
    """Return why a method refuses a robot with an armature, else None.

    `why` completes "METHOD why, and joint …".
    """
    joint = next((joint for joint in mechanism.joints if joint.drive.armature), None)
    if joint is None:
        return None
    return (
        f"{method} {why}, and joint '{joint.name}' of '{mechanism.name}' has an armature; leave"
        " that out by --drives, or use another method, such as riccati"
    )


CHANGES: dict[str, Change] = {
    "inverse_dynamics": _add_to_inverse_dynamics,
    "contact_equation": _add_to_inverse_dynamics,
    "impact_equation": _add_to_impact,
    "bias_force": _add_drive_forces(0),
    "mass_matrix_and_bias": _add_drive_forces(1),
    "mass_matrix_coriolis_and_bias": _add_drive_forces(2),
    "kinetic_energy": _add_rotor_energy,
}
"""The change of each function that needs one. Accelerations and derivatives contain the drives
already.
"""


def changes(function: str) -> tuple[Change, ...]:
    """Return the change that adds the drives to a function, or none."""
    return (CHANGES[function],) if function in CHANGES else ()

"""Drives in the results of a method: forces, rotor forces and rotor energy, by function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

import symgen
from symgen.derivation import constants as k
from symgen.derivation.coupling import Coupling
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import declared
from symgen.derivation.scalars import Derivation
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism.drives import Drive
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared import drives
from symgen.methods.shared.factor import Results
from tests.shared.mimic_robots import GRIPPER
from tests.shared.robots_for_tests import of_kind, random_mechanism

ANY = Numbers(Fraction, Fraction, Fraction, Fraction, Fraction)
"""Exact numbers, for rows without sines, cosines and roots."""
SOME = [Fraction(n) for n in ("3/7", "-5/2", "11/3", "2/9", "-7/4", "13/5")]


@cache
def gripper() -> Mechanism:
    """Return a robot whose joints 3, 4 and 5 follow joint 2, with dampers and rotors."""
    coupled = symgen.load(GRIPPER)
    joints = tuple(
        replace(joint, drive=Drive(armature=Fraction(1, i + 2), damping=Fraction(i + 1, 3)))
        for i, joint in enumerate(coupled.joints)
    )
    return replace(coupled, joints=joints)


MULTIPLIERS = (Fraction(1), Fraction(1), Fraction(-1), Fraction(3, 4), Fraction(3, 40))
"""Rates of the joints of the gripper relative to those of their leaders."""
LEADERS = (0, 1, 1, 1, 1)


def expanded(rates: Sequence[Fraction]) -> list[Fraction]:
    """Return the rates of all joints, G v."""
    return [rates[leader] * m for leader, m in zip(LEADERS, MULTIPLIERS, strict=True)]


def reduced(forces: Sequence[Fraction]) -> list[Fraction]:
    """Return the forces on the leaders, Gᵀ f."""
    total = [Fraction(0)] * 2
    for leader, m, force in zip(LEADERS, MULTIPLIERS, forces, strict=True):
        total[leader] += m * force
    return total


def changed(
    function: str, results: Callable[[Linkage], Results], **arguments: Sequence[Fraction]
) -> list[list[Fraction]]:
    """Return the results of a function of the gripper after the drives have changed them."""
    mechanism = gripper()
    with k.precision():
        sizes = {name: len(values) for name, values in arguments.items()}
        derivation = Derivation(sizes)
        linkage = Linkage(
            declared(mechanism.uncoupled), derivation, coupling=Coupling.of(mechanism)
        )
        (change,) = drives.changes(function)
        entries = change(linkage, results(linkage))
        program = derivation.freeze(
            function,
            "m",
            [(f"r{i}", (len(x),), x) for i, x in enumerate(entries)],
            {name: (size,) for name, size in sizes.items()},
        )
    needed = {port.name: arguments[port.name] for port in program.inputs}
    return [list(map(Fraction, x)) for x in evaluate(program, needed, ANY).values()]


def of_constants(*sizes: int) -> Callable[[Linkage], Results]:
    """Return results of constants 1, 2, 3, …, with these numbers of entries."""

    def results(linkage: Linkage) -> Results:
        numbers = iter(range(1, 1 + sum(sizes)))
        return tuple([linkage.scalar(k.rational(next(numbers))) for _ in range(n)] for n in sizes)

    return results


ARMATURES = [Fraction(1, i + 2) for i in range(5)]
DAMPINGS = [Fraction(i + 1, 3) for i in range(5)]
Q, V = SOME[:2], SOME[2:4]


def test_an_impact_takes_rotor_impulses_but_no_friction() -> None:
    """Gᵀ armature G (v⁺ − v)."""
    v_after = SOME[4:6]
    (impulse, rows, points) = changed(
        "impact_equation", of_constants(2, 1, 3), q=Q, v=V, v_after=v_after
    )
    difference = expanded([x - y for x, y in zip(v_after, V, strict=True)])
    rotors = reduced([m * x for m, x in zip(ARMATURES, difference, strict=True)])
    assert impulse == [1 + rotors[0], 2 + rotors[1]]
    assert (rows, points) == ([3], [4, 5, 6])


@pytest.mark.parametrize("function", ["inverse_dynamics", "contact_equation"])
def test_forces_include_dampers_and_rotors(function: str) -> None:
    a = SOME[4:6]
    forces, others = changed(function, of_constants(2, 1), q=Q, v=V, a=a)
    drive = reduced(
        [
            damping * x + armature * y
            for damping, armature, x, y in zip(
                DAMPINGS, ARMATURES, expanded(V), expanded(a), strict=True
            )
        ]
    )
    assert forces == [1 + drive[0], 2 + drive[1]]
    assert others == [3]


@pytest.mark.parametrize(
    ("function", "position"),
    [("bias_force", 0), ("mass_matrix_and_bias", 1), ("mass_matrix_coriolis_and_bias", 2)],
)
def test_the_bias_force_includes_dampers_but_no_rotors(function: str, position: int) -> None:
    """Other results remain: a mass matrix has its armature already."""
    results = changed(function, of_constants(*[2] * (position + 1)), q=Q, v=V)
    forces = results.pop(position)
    drive = reduced([d * x for d, x in zip(DAMPINGS, expanded(V), strict=True)])
    first = 2 * position + 1
    assert forces == [first + drive[0], first + 1 + drive[1]]
    assert [x for entries in results for x in entries] == [*range(1, first)]


def test_the_kinetic_energy_includes_that_of_the_rotors() -> None:
    ((energy,),) = changed("kinetic_energy", of_constants(1), q=Q, v=V)
    rotors = sum(m * x * x for m, x in zip(ARMATURES, expanded(V), strict=True)) / 2
    assert energy == 1 + rotors


def test_functions_that_contain_the_drives_are_not_changed() -> None:
    for function in ("forward_dynamics", "mass_matrix", "gravity_force", "contact_impulse"):
        assert drives.changes(function) == ()


def test_rotors_of_a_joint_are_its_degrees_of_freedom_with_an_armature() -> None:
    """The rotor is at the second velocity of a planar joint, which is the third of the robot."""
    mechanism = random_mechanism(2, 3)
    hinge, planar = mechanism.joints[0], of_kind(mechanism.joints[1], "planar")
    each = tuple(Drive(armature=Fraction(int(i == 1))) for i in range(3))
    planar = replace(planar, drive=Drive(armature=Fraction(1), each=each))
    with k.precision():
        model = declared(replace(mechanism, joints=(hinge, planar)))
        linkage = Linkage(model, Derivation({"q": 4}))
        assert drives.rotors(linkage, 0) == []
        assert [dof.index for dof in drives.rotors(linkage, 1)] == [2]


def test_a_refusal_of_rotors_names_the_first_joint_that_has_one() -> None:
    mechanism = random_mechanism(3, 3)
    assert drives.refuse_armature(mechanism, "udut", "factors M alone") is None
    joints = tuple(
        replace(joint, drive=Drive(armature=Fraction(i)))
        for i, joint in enumerate(mechanism.joints)
    )
    driven = replace(mechanism, joints=joints, name="arm")
    assert drives.refuse_armature(driven, "udut", "factors M alone") == (
        f"udut factors M alone, and joint '{joints[1].name}' of 'arm' has an armature; leave that"
        " out by --drives, or use another method, such as riccati"
    )

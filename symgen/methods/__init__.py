"""Published methods, each a file or a folder, found by discovery; `shared/` holds code that several methods use.

A method's file, or the `__init__` of its folder, has one `METHOD`: see `symgen.methods.shared.method`. Here methods and their
variants ("riccati:fd1") are found by name. What a method does not say itself is completed: forward dynamics, Λ⁻¹ and the
rest from its factor (`symgen.methods.shared.factor`), with the bias force and the Jacobian of the methods that have them; and of all
of them the answers get what the drives add (`symgen.methods.shared.drives`).
"""

from __future__ import annotations

import pkgutil
from dataclasses import replace
from functools import cache
from importlib import import_module

from symgen.derivation.linkage import Linkage
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared import drives, mimic
from symgen.methods.shared.composition import Compose
from symgen.methods.shared.contacts import of_contacts
from symgen.methods.shared.equations import Equations, equations
from symgen.methods.shared.factor import Derive, Results, functions_of, with_bias
from symgen.methods.shared.independent_coordinates import held_by, reduced_by
from symgen.methods.shared.loops import equation_of, of_loops
from symgen.methods.shared.method import Method
from symgen.methods.shared.mimic import suiting
from symgen.methods.shared.task import of_task
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import method_named

BIAS_METHOD = "newton_euler"
POSE_METHOD = "kinematics"


@cache
def names() -> tuple[str, ...]:
    """All methods and their variants, sorted."""
    stems = [entry.name for entry in pkgutil.iter_modules(__path__) if entry.name != "shared"]
    return tuple(
        sorted(
            [
                *stems,
                *(f"{stem}:{variant}" for stem in stems for variant in _declared(stem).variants),
            ]
        )
    )


@cache
def find(name: str) -> Method:
    """A method or variant with all that it computes; UnknownName suggests the nearest."""
    stem, _, variant = method_named(name, names()).partition(":")
    declared = _declared(stem).variant(variant)
    found = replace(
        declared,
        functions={
            function: equations(derive, mimic.changes(function))
            for function, derive in declared.functions.items()
        },
        refusal=suiting(name, declared),
    )
    follows = (
        {}
        if found.factor is None
        else {
            **functions_of(found.factor, _bias_force, _jacobian),
            **of_task(found.factor, _jacobian),
            **of_loops(found.factor, _bias_force),
            **of_contacts(found.factor, _bias_force),
        }
    )
    if "mass_matrix" in found.functions:
        follows["mass_matrix_and_bias"] = with_bias(found.functions["mass_matrix"], _bias_force)
        follows["reduced_mass_matrix"] = reduced_by(found.functions["mass_matrix"])
    if "inverse_dynamics" in found.functions:
        whole = equations(found.functions["inverse_dynamics"], drives.changes("inverse_dynamics"))
        follows |= {
            "constrained_inverse_dynamics": held_by(whole),
            "loop_equation": equation_of(whole),
        }
    every = {**follows, **found.functions}
    return replace(
        found,
        functions={
            function: equations(derive, drives.changes(function))
            for function, derive in every.items()
        },
    )


def _declared(stem: str) -> Method:
    """What a method's own file says."""
    method = vars(import_module(f"symgen.methods.{stem}")).get("METHOD")
    if not isinstance(method, Method):
        raise ArgumentError(
            f"method '{stem}' declares no METHOD; end its file with METHOD = Method(source=..., functions=...)"
        )
    return method


def _bias_force(linkage: Linkage) -> Results:
    """Of the bodies: what is made of it here has the forces of the drives already, or is given them later."""
    of_bodies = _declared(BIAS_METHOD).functions["bias_force"]
    return equations(of_bodies, mimic.changes("bias_force"))(linkage)


def _jacobian(linkage: Linkage) -> Results:
    return find(POSE_METHOD).functions["jacobian"](linkage)


@cache
def composers(function: str) -> tuple[str, ...]:
    """The methods that make a function of others."""
    return tuple(name for name in names() if function in find(name).compositions)


@cache
def providers(function: str) -> tuple[str, ...]:
    """The methods that compute a function in rows."""
    return tuple(
        name
        for name in names()
        if (function in find(name).functions or function in find(name).compositions)
        and not find(name).looped_only
    )


def offered(function: str, mechanism: Mechanism) -> tuple[str, ...]:
    """The methods that compute a function, without those for joints that follow others where none does."""
    return tuple(
        name for name in providers(function) if mechanism.coupled or not find(name).mimic_only
    )


def composition(method: str, function: str) -> Compose | None:
    """How `method` makes `function` of others; None where it does not, or derives it."""
    return find(method).compositions.get(function)


def derivation(method: str, function: str) -> Equations:
    """How `method` computes `function`, one object for one derivation; ArgumentError lists the methods that do."""
    derive = find(method).functions.get(function)
    if isinstance(derive, Equations):
        return derive
    if composition(method, function) is not None:
        raise ArgumentError(
            f"{function} is put together of other functions by {method} and has no derivation; look at those "
            "that it calls"
        )
    raise ArgumentError(
        f"method '{method}' does not compute {function}; these do: {', '.join(providers(function))}"
    )


def reading(method: str, function: str, mechanism: Mechanism) -> Derive:
    """`derivation` of the variant that a method stands for on a robot: what shares it gives the same Program."""
    stands_for = find(method).stands_for
    found = (
        None
        if stands_for is None
        else find(f"{method}:{stands_for(mechanism)}").functions.get(function)
    )
    return found or derivation(method, function)


def alike(method: str, function: str, mechanism: Mechanism) -> str:
    """The first name of the derivation that a method or variant has for a function on a robot; several may share one."""
    found, stem = reading(method, function, mechanism), method.partition(":")[0]
    return next(
        (
            name
            for name in providers(function)
            if name.partition(":")[0] == stem and reading(name, function, mechanism) is found
        ),
        method,
    )

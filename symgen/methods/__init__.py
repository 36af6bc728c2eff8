"""Published methods, one file or folder each, found by discovery; `shared/` holds code that several
methods use.

A method's file, or the `__init__` of its folder, declares `METHOD`
(`symgen.methods.shared.method`). This module finds methods and variants ("riccati:fd1") by name and
completes them. From a method's factor follow forward dynamics, Λ⁻¹ and more
(`symgen.methods.shared.factor`), with the bias force of newton_euler and the Jacobian of
kinematics. All results then get the contribution of the drives (`symgen.methods.shared.drives`).
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
from symgen.methods.shared.contacts import contact_functions
from symgen.methods.shared.equations import Equations, equations
from symgen.methods.shared.factor import Derive, Results, factor_functions, mass_matrix_with_bias
from symgen.methods.shared.independent_coordinates import (
    constrained_inverse_dynamics_from,
    reduced_mass_matrix_from,
)
from symgen.methods.shared.loops import closure_functions, loop_equation_from
from symgen.methods.shared.method import Method
from symgen.methods.shared.mimic import mimic_refusal
from symgen.methods.shared.task import task_functions
from symgen.support.errors import ArgumentError
from symgen.vocabulary.names import method_named

BIAS_METHOD = "newton_euler"
POSE_METHOD = "kinematics"


@cache
def names() -> tuple[str, ...]:
    """Return the names of all methods and variants, sorted."""
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
    """Return a method or variant with all functions that follow from it; UnknownName suggests the
    nearest name.
    """
    stem, _, variant = method_named(name, names()).partition(":")
    declared = _declared(stem).variant(variant)
    method = replace(
        declared,
        functions={
            function: equations(derive, mimic.changes(function))
            for function, derive in declared.functions.items()
        },
        refusal=mimic_refusal(name, declared),
    )
    derived = (
        {}
        if method.factor is None
        else {
            **factor_functions(method.factor, _bias_force, _jacobian),
            **task_functions(method.factor, _jacobian),
            **closure_functions(method.factor, _bias_force),
            **contact_functions(method.factor, _bias_force),
        }
    )
    if "mass_matrix" in method.functions:
        derived["mass_matrix_and_bias"] = mass_matrix_with_bias(
            method.functions["mass_matrix"], _bias_force
        )
        derived["reduced_mass_matrix"] = reduced_mass_matrix_from(method.functions["mass_matrix"])
    if "inverse_dynamics" in method.functions:
        inverse_dynamics = equations(
            method.functions["inverse_dynamics"], drives.changes("inverse_dynamics")
        )
        derived |= {
            "constrained_inverse_dynamics": constrained_inverse_dynamics_from(inverse_dynamics),
            "loop_equation": loop_equation_from(inverse_dynamics),
        }
    functions = {**derived, **method.functions}
    return replace(
        method,
        functions={
            function: equations(derive, drives.changes(function))
            for function, derive in functions.items()
        },
    )


def _declared(stem: str) -> Method:
    """Return METHOD of a method's file."""
    method = vars(import_module(f"symgen.methods.{stem}")).get("METHOD")
    if not isinstance(method, Method):
        raise ArgumentError(
            f"method '{stem}' declares no METHOD; end its file with METHOD = Method(source=...,"
            " functions=...)"
        )
    return method


def _bias_force(linkage: Linkage) -> Results:
    """Return the bias force of the bodies, without the drives.

    The functions that use it have the drives already, or get them later.
    """
    derive = _declared(BIAS_METHOD).functions["bias_force"]
    return equations(derive, mimic.changes("bias_force"))(linkage)


def _jacobian(linkage: Linkage) -> Results:
    return find(POSE_METHOD).functions["jacobian"](linkage)


@cache
def composers(function: str) -> tuple[str, ...]:
    """Return the methods that compose a function of others."""
    return tuple(name for name in names() if function in find(name).compositions)


@cache
def providers(function: str) -> tuple[str, ...]:
    """Return the methods that compute a function in rows, or compose it."""
    return tuple(
        name
        for name in names()
        if (function in find(name).functions or function in find(name).compositions)
        and not find(name).looped_only
    )


def applicable_providers(function: str, mechanism: Mechanism) -> tuple[str, ...]:
    """Return the methods that compute a function on a robot: those that require mimic joints only
    if it has any.
    """
    return tuple(
        name for name in providers(function) if mechanism.coupled or not find(name).mimic_only
    )


def composition(method: str, function: str) -> Compose | None:
    """Return how `method` composes `function`; None if `method` does not compose it."""
    return find(method).compositions.get(function)


def derivation(method: str, function: str) -> Equations:
    """Return how `method` computes `function`; equal derivations are one object. ArgumentError
    lists the methods that do.
    """
    derive = find(method).functions.get(function)
    if isinstance(derive, Equations):
        return derive
    if composition(method, function) is not None:
        raise ArgumentError(
            f"{method} composes {function} of other functions and has no derivation of it; inspect"
            " the functions that it calls"
        )
    raise ArgumentError(
        f"method '{method}' does not compute {function}; these do: {', '.join(providers(function))}"
    )


def derivation_for_robot(method: str, function: str, mechanism: Mechanism) -> Derive:
    """Return the derivation of the variant that a method name denotes on a robot.

    Names that denote the same variant share the derivation, and so the Program.
    """
    stands_for = find(method).stands_for
    derive = (
        None
        if stands_for is None
        else find(f"{method}:{stands_for(mechanism)}").functions.get(function)
    )
    return derive or derivation(method, function)


def canonical_name(method: str, function: str, mechanism: Mechanism) -> str:
    """Return the first name with the same derivation of a function on a robot; several names may
    share one.
    """
    derive, stem = derivation_for_robot(method, function, mechanism), method.partition(":")[0]
    return next(
        (
            name
            for name in providers(function)
            if name.partition(":")[0] == stem
            and derivation_for_robot(name, function, mechanism) is derive
        ),
        method,
    )

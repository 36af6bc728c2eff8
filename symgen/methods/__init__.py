"""Published methods, each a file or a folder, found by discovery (what starts with _ is shared by methods).

A method file has `SOURCE` (what it is a reading of) and `FUNCTIONS`: what it computes by itself, function name ->
callable(Linkage) -> tuple of results, each a flat row-major list of Scalars. A method that solves with M but leaves
the bias to others (as SA §5 and RK FD1 do) is completed here: forward dynamics = solve(tau − bias), and
Λ⁻¹ = J solve(Jᵀ). `solve(linkage, b)` makes that possible; where M⁻¹ = Vᵀ D⁻¹ V, `halves(linkage, columns)` -> a pair
(V b, D⁻¹ V b) for every column b saves Λ⁻¹ the way back.

A paper that gives several readings of one method names them in `VARIANTS`: variant -> its own FUNCTIONS, asked for as
"method:variant". A variant that is to be completed has its own solve in `SOLVES`, variant -> solve, and likewise in
`HALVES`; the method itself stands there under "". A method that is one variant on some robots and another on others says
which in `stands_for(mechanism)` -> variant.

A method that not every robot suits says why in `refusal(mechanism)` -> one sentence, or None, and `differs(mechanism)` is
True where its answer is a difference of larger terms. Where variants differ in that, `REFUSALS` and `DIFFERS` have one
such function each, under "" for the method itself. What only a derivation can see, such as a run-time payload, a method
declines by raising MethodRefusal. One whose length grows only as the number of links says so by `SWEEPS`. What it names on
the way, and lets people look at, is `QUANTITIES`, its own or that of `quantities.py` in its folder (see `_quantities`).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from symgen.derivation.linkage import Linkage
from symgen.errors import ArgumentError
from symgen.mechanism import Mechanism
from symgen.methods._quantities import Quantity
from symgen.names import method_named

Results = tuple[list[Any], ...]
Derive = Callable[[Linkage], Results]
Solve = Callable[[Linkage, Sequence[Any]], list[Any]]
Halves = Callable[[Linkage, Sequence[Sequence[Any]]], list[tuple[list[Any], list[Any]]]]
BIAS_METHOD = "newton_euler"
POSE_METHOD = "kinematics"


@cache
def names() -> tuple[str, ...]:
    """All methods and their variants ("riccati:fd1"), sorted."""
    found = []
    for entry in pkgutil.iter_modules(__path__):
        if entry.name.startswith("_"):
            continue
        variants = getattr(import_module(f"symgen.methods.{entry.name}"), "VARIANTS", {})
        found += [entry.name, *(f"{entry.name}:{variant}" for variant in variants)]
    return tuple(sorted(found))


def module(method: str) -> Any:
    """The file of a method or variant; RequestError suggests the nearest name."""
    return import_module(f"symgen.methods.{method_named(method, names()).partition(':')[0]}")


def refusal(method: str, mechanism: Mechanism) -> str | None:
    """Why a method does not suit a robot, in one sentence; None where it does."""
    ask = _by_variant(method, "REFUSALS", "refusal")
    return None if ask is None else ask(mechanism)


def quantities(method: str) -> dict[str, Quantity]:
    """The letters that a method or variant names, in the order of its file."""
    name, _, variant = method.partition(":")
    here = module(method)
    if hasattr(here, "__path__"):
        here = import_module(f"symgen.methods.{name}.quantities")
    found: dict[str, Quantity] = getattr(here, "QUANTITIES", {})
    return {letter: one for letter, one in found.items() if not variant or one.variant in ("", variant)}


def differs(method: str, mechanism: Mechanism) -> bool:
    """Whether the method's answer is a difference of larger terms, M⁻¹ = H_aa − H_ab H_bb⁻¹ H_abᵀ: what each link would do
    were it free, less what its neighbours keep it from. Round-off is then measured against those terms."""
    ask = _by_variant(method, "DIFFERS", "differs")
    return ask is not None and bool(ask(mechanism))


def _by_variant(method: str, table: str, single: str) -> Callable[[Mechanism], Any] | None:
    """What a file says of a variant in `table`, else of the whole method as `single`."""
    here, variant = module(method), method.partition(":")[2]
    found: Callable[[Mechanism], Any] | None = getattr(here, table, {}).get(variant, getattr(here, single, None))
    return found


def sweeps(method: str) -> bool:
    """Whether the method goes along the links without pairing them, so that its length grows as their number does."""
    return bool(getattr(module(method), "SWEEPS", False))


def regroups(method: str) -> bool:
    """Whether the method accepts links whose inertia was moved into their parents."""
    return bool(getattr(module(method), "REGROUPED", True))


@cache
def providers(function: str) -> tuple[str, ...]:
    """The methods that can compute a function."""
    return tuple(m for m in names() if _derivation(m, function) is not None)


def derivation(method: str, function: str) -> Derive:
    """How `method` computes `function`; RequestError lists the methods that can."""
    found = _derivation(method, function)
    if found is None:
        raise ArgumentError(f"method '{method}' does not compute {function}; these do: {', '.join(providers(function))}")
    return found


def reading(method: str, function: str, mechanism: Mechanism) -> Derive:
    """`derivation` of the variant that a method stands for on a robot: what shares it gives the same Program."""
    ask = getattr(module(method), "stands_for", None)
    found = None if ask is None or ":" in method else _derivation(f"{method}:{ask(mechanism)}", function)
    return found or derivation(method, function)


def alike(method: str, function: str, mechanism: Mechanism) -> str:
    """The first name of the derivation that a method or variant has for a function on a robot; several may share one."""
    found, stem = reading(method, function, mechanism), method.partition(":")[0]
    return next(name for name in providers(function)
                if name.partition(":")[0] == stem and reading(name, function, mechanism) is found)


@cache
def _derivation(method: str, function: str) -> Derive | None:
    """One object for one derivation, so that a variant which shares another's is known by it."""
    here, variant = module(method), method.partition(":")[2]
    own: dict[str, Derive] = here.VARIANTS[variant] if variant else here.FUNCTIONS
    if function in own:
        return own[function]
    solve: Solve | None = _own(here, variant, "SOLVES", "solve")
    if function == "forward_dynamics" and solve is not None:
        return partial(_forward_dynamics, solve)
    if function == "operational_inertia_inverse" and solve is not None:
        return partial(_operational_inertia_inverse, solve, _own(here, variant, "HALVES", "halves"))
    if function == "mass_matrix_and_bias" and "mass_matrix" in own:
        return partial(_mass_matrix_and_bias, own["mass_matrix"])
    return None


def _own(here: Any, variant: str, table: str, single: str) -> Any:
    """What a variant brings in `table`; `single` is the method's alone."""
    return getattr(here, table, {}).get(variant, None if variant else getattr(here, single, None))


def _forward_dynamics(solve: Solve, linkage: Linkage) -> Results:
    """a = M⁻¹ (tau − c)."""
    (c,) = module(BIAS_METHOD).bias_force(linkage)
    return (solve(linkage, [tau - ci for tau, ci in zip(linkage.inputs["tau"], c, strict=True)]),)


def _mass_matrix_and_bias(mass_matrix: Derive, linkage: Linkage) -> Results:
    (c,) = module(BIAS_METHOD).bias_force(linkage)
    (m,) = mass_matrix(linkage)
    return m, c


def _operational_inertia_inverse(solve: Solve, halves: Halves | None, linkage: Linkage) -> Results:
    """J M⁻¹ Jᵀ out of the rows of J; symmetric entries are taken once."""
    n = len(linkage)
    (J,) = module(POSE_METHOD).jacobian(linkage)
    rows = [J[r * n:(r + 1) * n] for r in range(6)]
    pairs = halves(linkage, rows) if halves is not None else [(row, solve(linkage, row)) for row in rows]
    linkage.home.step("products of the rows of the Jacobian over the inverse of the mass matrix")
    found = {(i, j): linkage.dot(pairs[i][0], pairs[j][1]) for i in range(6) for j in range(i, 6)}
    return ([found[min(i, j), max(i, j)] for i in range(6) for j in range(6)],)

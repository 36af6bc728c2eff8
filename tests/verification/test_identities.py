"""Identities of verification: each detects an error in every entry that it constrains, in balls and
in doubles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import symgen
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.precision import Array
from symgen.verification.algebra import TOLERANCE
from symgen.verification.evaluating import Results, Runner, machine_runner, scalar_runner
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import allowance
from symgen.verification.identities import companions
from symgen.verification.identities._identity import Functions, Identity
from symgen.verification.identities.centroidal import IDENTITIES as CENTROIDAL
from symgen.verification.identities.dynamics_derivatives import IDENTITIES as DYNAMICS_DERIVATIVES
from symgen.verification.residuals import largest_ratio
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Z_AXIS
from tests.shared.robots_for_tests import largest, random_mechanism

NAMED = {identity.title: identity for identity in (*CENTROIDAL, *DYNAMICS_DERIVATIVES)}
RELATIVE_ERROR = {True: Fraction(1, 10**20), False: Fraction(1, 10**6)}  # in balls, in doubles
STATES = 2


@cache
def robot() -> Mechanism:
    """Return a free-floating tree with two branches, one of them helical, and gravity along no
    axis.
    """
    mechanism = random_mechanism(3, 5, "tree", ("revolute", "helical"))
    first, *more_joints = mechanism.joints
    joints = (
        replace(first, kind="free", axis=Z_AXIS, parameters=()),
        *(replace(j, parent=0) for j in more_joints),
    )
    return replace(mechanism, joints=joints, gravity=(Fraction(1), Fraction(2), Fraction(-9)))


@cache
def exact_results() -> ExactResults:
    return ExactResults(robot(), STATES, frame="link1", payload="link1")


@cache
def program(function: str) -> Program:
    return symgen.program(robot(), function, frame="link1", payload="link1")


def functions(identity: Identity, exact: bool, **errors: Callable[[Results], Results]) -> Functions:
    """Return the functions of an identity, the results of some changed by planted errors."""

    def runner(name: str) -> Runner:
        run = (
            scalar_runner(exact_results().scalars, program(name))
            if exact
            else machine_runner(program(name))
        )
        change = errors.get(name, lambda results: results)
        return lambda arguments: change(run(arguments))

    return Functions(
        {name: runner(name) for name in identity.needs},
        exact_results().balls if exact else exact_results().floats,
        exact_results(),
        exact,
    )


def holds(identity: Identity, called: Functions) -> bool:
    bound = (
        TOLERANCE
        if called.exact
        else sum(allowance(program(f), exact_results()) for f in identity.needs) * 2.0**-52
    )
    with exact_results().scalars.working():
        return largest_ratio(*identity.distance(called))[0] <= bound


def runs(identity: Identity) -> list[bool]:
    return [True] if identity.exact_only else [True, False]


UNCONSTRAINED: Mapping[str, Callable[[str, tuple[int, ...]], bool]] = {
    "linear h = m Jcom v": lambda result, entry: result == "h" and entry[0] < 3,
    "pose of the frame = pose of its link": lambda result, entry: (
        result in ("R_links", "p_links") and entry[0] != 1
    ),
}
"""Entries that an identity does not constrain, as predicates of (result, entry)."""


@pytest.mark.parametrize("title", [identity.title for identity in CENTROIDAL])
def test_an_identity_holds_and_detects_an_error_in_every_entry(title: str) -> None:
    """An entry is changed by a relative 1e-20 in balls and 1e-6 in doubles."""
    identity = NAMED[title]
    for exact in runs(identity):
        assert holds(identity, functions(identity, exact))
        for name in identity.needs:
            untouched = functions(identity, True)(name)
            for result in FUNCTIONS[name].results:
                for entry in np.ndindex(*result.sizes(robot().sizes)):
                    if largest(untouched[result.name][(slice(None), *entry)]) < 1e-30:
                        continue  # a relative change of zero is zero

                    def off(
                        results: Results,
                        of: str = result.name,
                        at: tuple[int, ...] = entry,
                        by: bool = exact,
                    ) -> Results:
                        changed = {**results, of: results[of].copy()}
                        changed[of][(slice(None), *at)] *= 1 + (
                            exact_results().scalars.constant(RELATIVE_ERROR[by])
                            if by
                            else float(RELATIVE_ERROR[by])
                        )
                        return changed

                    detected = not holds(identity, functions(identity, exact, **{name: off}))
                    assert detected != UNCONSTRAINED.get(title, lambda *_: False)(
                        result.name, entry
                    ), (
                        exact,
                        name,
                        result.name,
                        entry,
                    )


def test_the_size_of_a_jacobians_derivative_covers_its_terms_at_high_rates() -> None:
    """The rates are a thousand times the drawn ones, and J̇ v grows with their square. With a
    Jacobian of zeros the difference is J̇ v itself.
    """
    fast = ExactResults(robot(), 1, frame="link1", payload="link1")
    for values in (fast.states, fast.floats, fast.balls):
        values["v"] = values["v"] * 1000
    zero = {"J": 0 * fast.results("jacobian")["J"]}
    runners: dict[str, Runner] = {
        "jacobian": lambda _: zero,
        "bias_acceleration": lambda _: fast.results("bias_acceleration"),
    }
    with fast.scalars.working():
        difference, size = NAMED["J̇ v = d/dt J v"].distance(
            Functions(runners, fast.balls, fast, True)
        )
        assert (np.abs(difference).astype(float) <= size).all()
        assert largest(difference) > 1e5


def subtracting(result: str, term: Callable[[], Array]) -> Callable[[Results], Results]:
    return lambda results: {**results, result: results[result] - term()}


def transposing(result: str) -> Callable[[Results], Results]:
    return lambda results: {**results, result: np.swapaxes(results[result], -1, -2)}


def expected(function: str) -> Array:
    (values,) = exact_results().results(function).values()
    return values


def lever_term() -> Array:
    """Return momentum about the base's origin minus momentum about the mass centre."""
    push = expected("centroidal_momentum")[:, 3:]
    return np.concatenate([np.cross(expected("center_of_mass"), push), 0 * push], axis=-1)


def gyroscopic_term() -> Array:
    return (
        expected("centroidal_momentum_rate")
        - (expected("centroidal_momentum_matrix") @ exact_results().balls["a"][..., None])[..., 0]
    )


PLANTS: dict[str, tuple[str, Callable[[Results], Results]]] = {
    "J̇ v = d/dt J v": ("bias_acceleration", lambda results: {"Jdot_v": -results["Jdot_v"]}),
    "pose of the frame = pose of its link": (
        "link_poses",
        lambda results: {**results, "R_links": np.swapaxes(results["R_links"], -1, -2)},
    ),
    "com = Σ m (p + R c)/Σ m": (
        "link_poses",
        lambda results: {name: values[:, [0, 2, 1]] for name, values in results.items()},
    ),
    "Jcom v = d/dt com": (
        "center_of_mass_jacobian",
        lambda results: {"Jcom": results["Jcom"][..., [1, 0, *range(2, 8)]]},
    ),
    "T = vᵀ M v/2": ("kinetic_energy", lambda results: {"T": 2 * results["T"]}),
    "g · v = d/dt U": ("potential_energy", lambda results: {"U": -results["U"]}),
    "U = −m gravity · com": ("potential_energy", lambda results: {"U": results["U"] + 1}),
    "h = A_G v": ("centroidal_momentum", subtracting("h", lambda: -lever_term())),
    "linear h = m Jcom v": (
        "centroidal_momentum",
        lambda results: {"h": results["h"][:, [3, 4, 5, 0, 1, 2]]},
    ),
    "hdot = A_G a + d/dt A_G v": ("centroidal_momentum_rate", subtracting("hdot", gyroscopic_term)),
    "dtau_dq v = d/dt ID(q ⊕ v t)": ("inverse_dynamics_derivatives", transposing("dtau_dq")),
    "dtau_dv v = 2 (ID(v) − ID(0))": ("inverse_dynamics_derivatives", transposing("dtau_dv")),
    "dtau_dv + dtau_dvᵀ = 2 d/dt M − adᵀM − M ad": (
        "inverse_dynamics_derivatives",
        lambda results: {**results, "dtau_dv": results["dtau_dv"] / 2},
    ),
    "M beside dtau_dq = M": (
        "inverse_dynamics_derivatives",
        lambda results: {**results, "M": 2 * results["M"]},
    ),
    "M da_dq = −dtau_dq(FD)": ("forward_dynamics_derivatives", transposing("da_dq")),
    "M da_dv = −dtau_dv": (
        "forward_dynamics_derivatives",
        lambda results: {**results, "da_dv": -results["da_dv"]},
    ),
    "M Minv beside da_dq = 1": (
        "forward_dynamics_derivatives",
        lambda results: {**results, "Minv": results["Minv"][:, ::-1]},
    ),
}
"""Typical errors: a sign, a transpose, exchanged links, a wrong reference point, a missing term."""


@pytest.mark.parametrize("title", NAMED)
def test_an_identity_detects_a_planted_error(title: str) -> None:
    function, plant = PLANTS[title]
    for exact in runs(NAMED[title]):

        def planted(results: Results, balls: bool = exact) -> Results:
            with exact_results().scalars.working():
                return {name: x if balls else x.astype(float) for name, x in plant(results).items()}

        assert not holds(NAMED[title], functions(NAMED[title], exact, **{function: planted}))


def test_a_single_function_is_checked_with_companions_of_every_robot() -> None:
    """Companions of a function without mass need no mass centre and no M⁻¹, so that every robot has
    them.
    """
    for name in dict.fromkeys(identity.needs[0] for identity in CENTROIDAL):
        companion_names = companions(name, exact_results().mechanism)
        assert companion_names
        if not FUNCTIONS[name].needs_mass:
            assert not any(
                FUNCTIONS[companion].needs_mass or FUNCTIONS[companion].needs_inverse
                for companion in companion_names
            )

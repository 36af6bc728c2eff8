"""The identities about the whole: each sees an error in any entry that it speaks of, in balls and in doubles."""

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
from symgen.verification.floating import allowance
from symgen.verification.identities import companions
from symgen.verification.identities._identity import Functions, Identity
from symgen.verification.identities.centroidal import IDENTITIES as OF_THE_WHOLE
from symgen.verification.identities.dynamics_derivatives import IDENTITIES as OF_DERIVATIVES
from symgen.verification.residuals import largest_ratio
from symgen.verification.truth import Truth
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Z_AXIS
from tests.shared.robots_for_tests import largest, random_mechanism

NAMED = {identity.title: identity for identity in (*OF_THE_WHOLE, *OF_DERIVATIVES)}
SLIGHT = {True: Fraction(1, 10**20), False: Fraction(1, 10**6)}  # in balls, in doubles
STATES = 2


@cache
def robot() -> Mechanism:
    """A free root that two joints branch from, one of them a screw; gravity along no axis, a load at the frame's link."""
    made = random_mechanism(3, 5, "tree", ("revolute", "helical"))
    first, *others = made.joints
    joints = (
        replace(first, kind="free", axis=Z_AXIS, parameters=()),
        *(replace(j, parent=0) for j in others),
    )
    return replace(made, joints=joints, gravity=(Fraction(1), Fraction(2), Fraction(-9)))


@cache
def truth() -> Truth:
    return Truth(robot(), STATES, frame="link1", payload="link1")


@cache
def program(function: str) -> Program:
    return symgen.program(robot(), function, frame="link1", payload="link1")


def functions(
    identity: Identity, exact: bool, **planted: Callable[[Results], Results]
) -> Functions:
    """Those of the identity as they are, but for what is made of the results of those named."""

    def runner(name: str) -> Runner:
        run = (
            scalar_runner(truth().scalars, program(name))
            if exact
            else machine_runner(program(name))
        )
        change = planted.get(name, lambda results: results)
        return lambda arguments: change(run(arguments))

    return Functions(
        {name: runner(name) for name in identity.needs},
        truth().balls if exact else truth().floats,
        truth(),
        exact,
    )


def holds(identity: Identity, called: Functions) -> bool:
    bound = (
        TOLERANCE
        if called.exact
        else sum(allowance(program(f), truth()) for f in identity.needs) * 2.0**-52
    )
    with truth().scalars.working():
        return largest_ratio(*identity.distance(called))[0] <= bound


def runs(identity: Identity) -> list[bool]:
    return [True] if identity.exact_only else [True, False]


BLIND: Mapping[str, Callable[[str, tuple[int, ...]], bool]] = {
    "linear h = m Jcom v": lambda result, entry: result == "h" and entry[0] < 3,
    "pose of the frame = pose of its link": lambda result, entry: (
        result in ("R_links", "p_links") and entry[0] != 1
    ),
}
"""What an identity does not speak of: (result, entry)."""


@pytest.mark.parametrize("title", [identity.title for identity in OF_THE_WHOLE])
def test_an_identity_holds_and_feels_every_entry(title: str) -> None:
    """An entry off by a share of 1e-20 in balls, of 1e-6 in doubles."""
    identity = NAMED[title]
    for exact in runs(identity):
        assert holds(identity, functions(identity, exact))
        for name in identity.needs:
            untouched = functions(identity, True)(name)
            for result in FUNCTIONS[name].results:
                for entry in np.ndindex(*result.sizes(robot().sizes)):
                    if largest(untouched[result.name][(slice(None), *entry)]) < 1e-30:
                        continue  # a share of nothing

                    def off(
                        results: Results,
                        of: str = result.name,
                        at: tuple[int, ...] = entry,
                        by: bool = exact,
                    ) -> Results:
                        changed = {**results, of: results[of].copy()}
                        changed[of][(slice(None), *at)] *= 1 + (
                            truth().scalars.constant(SLIGHT[by]) if by else float(SLIGHT[by])
                        )
                        return changed

                    seen = not holds(identity, functions(identity, exact, **{name: off}))
                    assert seen != BLIND.get(title, lambda *_: False)(result.name, entry), (
                        exact,
                        name,
                        result.name,
                        entry,
                    )


def _without(result: str, part: Callable[[], Array]) -> Callable[[Results], Results]:
    return lambda results: {**results, result: results[result] - part()}


def _transposed(result: str) -> Callable[[Results], Results]:
    return lambda results: {**results, result: np.swapaxes(results[result], -1, -2)}


def _true(function: str) -> Array:
    (values,) = truth().results(function).values()
    return values


def _lever() -> Array:
    """What the momentum about the base's origin has more than that about the mass centre."""
    push = _true("centroidal_momentum")[:, 3:]
    return np.concatenate([np.cross(_true("center_of_mass"), push), 0 * push], axis=-1)


def _gyration() -> Array:
    return (
        _true("centroidal_momentum_rate")
        - (_true("centroidal_momentum_matrix") @ truth().balls["a"][..., None])[..., 0]
    )


PLANTS: dict[str, tuple[str, Callable[[Results], Results]]] = {
    "J̇ v = d/dt J v": ("bias_acceleration", lambda found: {"Jdot_v": -found["Jdot_v"]}),
    "pose of the frame = pose of its link": (
        "link_poses",
        lambda found: {**found, "R_links": np.swapaxes(found["R_links"], -1, -2)},
    ),
    "com = Σ m (p + R c)/m": (
        "link_poses",
        lambda found: {name: values[:, [0, 2, 1]] for name, values in found.items()},
    ),
    "Jcom v = d/dt com": (
        "center_of_mass_jacobian",
        lambda found: {"Jcom": found["Jcom"][..., [1, 0, *range(2, 8)]]},
    ),
    "T = vᵀ M v/2": ("kinetic_energy", lambda found: {"T": 2 * found["T"]}),
    "g · v = d/dt U": ("potential_energy", lambda found: {"U": -found["U"]}),
    "U = −m gravity · com": ("potential_energy", lambda found: {"U": found["U"] + 1}),
    "h = A_G v": ("centroidal_momentum", _without("h", lambda: -_lever())),
    "linear h = m Jcom v": (
        "centroidal_momentum",
        lambda found: {"h": found["h"][:, [3, 4, 5, 0, 1, 2]]},
    ),
    "hdot = A_G a + d/dt A_G v": ("centroidal_momentum_rate", _without("hdot", _gyration)),
    "dtau_dq v = d/dt ID(q ⊕ v t)": ("inverse_dynamics_derivatives", _transposed("dtau_dq")),
    "dtau_dv v = 2 (ID(v) − ID(0))": ("inverse_dynamics_derivatives", _transposed("dtau_dv")),
    "dtau_dv + dtau_dvᵀ = 2 d/dt M − adᵀM − M ad": (
        "inverse_dynamics_derivatives",
        lambda found: {**found, "dtau_dv": found["dtau_dv"] / 2},
    ),
    "M beside dtau_dq = M": (
        "inverse_dynamics_derivatives",
        lambda found: {**found, "M": 2 * found["M"]},
    ),
    "M da_dq = −dtau_dq(FD)": ("forward_dynamics_derivatives", _transposed("da_dq")),
    "M da_dv = −dtau_dv": (
        "forward_dynamics_derivatives",
        lambda found: {**found, "da_dv": -found["da_dv"]},
    ),
    "M Minv beside da_dq = 1": (
        "forward_dynamics_derivatives",
        lambda found: {**found, "Minv": found["Minv"][:, ::-1]},
    ),
}
"""What goes wrong in practice: a sign, a transpose, links exchanged, about the wrong point, a term left out."""


@pytest.mark.parametrize("title", NAMED)
def test_a_planted_error_is_caught(title: str) -> None:
    function, plant = PLANTS[title]
    for exact in runs(NAMED[title]):

        def planted(results: Results, balls: bool = exact) -> Results:
            with truth().scalars.working():
                return {name: x if balls else x.astype(float) for name, x in plant(results).items()}

        assert not holds(NAMED[title], functions(NAMED[title], exact, **{function: planted}))


def test_a_function_alone_has_company_that_every_robot_has() -> None:
    """What has no mass has no mass centre, and M of it no inverse, but poses and energies are there all the same."""
    for name in dict.fromkeys(identity.needs[0] for identity in OF_THE_WHOLE):
        others = companions(name, truth().mechanism)
        assert others
        if not FUNCTIONS[name].needs_mass:
            assert not any(
                FUNCTIONS[other].needs_mass or FUNCTIONS[other].needs_inverse for other in others
            )

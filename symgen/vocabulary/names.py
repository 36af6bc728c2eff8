"""Names as users write them. An error for an unknown name suggests the nearest one, or the one that
other programs call so.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping

from symgen.support.errors import UnknownName, printable
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import (
    FUNCTIONS,
    LOOP_FUNCTIONS,
    PARAMETERS,
    PREPARED,
    derived,
    differentiable,
)

_RICCATI = (
    "forward_dynamics",
    "method riccati is Featherstone's articulated-body algorithm: -f forward_dynamics=riccati",
)
_SHOWN = 60
"""Number of characters of a name in a message; a message lists at most twelve names."""
_RNEA = "inverse_dynamics", "method newton_euler is the recursive Newton-Euler algorithm"
_CRBA = "mass_matrix", "method composite_body is the composite-rigid-body algorithm"
_BIAS = "bias_force", "c = C(q,v) v + g(q); with --gravity 0,0,0 it is C(q,v) v alone"
_CORIOLIS = "coriolis_matrix", "dM/dt - 2 C is skew-symmetric; C(q,v)v + g(q) alone is bias_force"
_POSE = "forward_kinematics", "the pose of each frame that --frame names"
_JACOBIAN = "jacobian", "angular rows first, axes of the base, of each frame that --frame names"
_DET = "mass_matrix_determinant", "its logarithm is mass_matrix_log_determinant"
_LOG = "mass_matrix_log_determinant", "kT/2 times it is Fixman's potential"
_BIAS_ACCELERATION = "bias_acceleration", "dJ/dt v of each frame that --frame names"
_COM = "center_of_mass", "of all that moves, in the base"
_COM_JACOBIAN = "center_of_mass_jacobian", "velocity of the mass centre = Jcom v"
_ENERGY = "kinetic_energy", "the other one is potential_energy"
_MOMENTUM = "centroidal_momentum", "angular first, about the mass centre, axes of the base"
_MOMENTUM_MATRIX = (
    "centroidal_momentum_matrix",
    "h = A_G v, angular rows first, about the mass centre, axes of the base",
)
_MOMENTUM_RATE = "centroidal_momentum_rate", "dh/dt at (q, v, a)"
_DID = "inverse_dynamics_derivatives", "dtau/dq, dtau/dv and M, made where they are named"
_DFD = "forward_dynamics_derivatives", "da/dq, da/dv and M^-1, made where they are named"
_TASK = (
    "operational_inertia",
    "for the rows that --task-rows names; operational_inertia_inverse is J M^-1 J^T",
)
_REGRESSOR = "regressor", "tau = Y pi, ten columns a link; base_regressor has the independent ones"
_OSIM = "operational_inertia_inverse", "J M^-1 J^T, the inverse of the operational-space inertia"

_SYNONYMS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("aba", "fd", "fdyn", "abi", "forwarddynamics", "directdynamics", "accel"), _RICCATI
    ),
    **dict.fromkeys(("rnea", "rne", "id", "idyn", "inversedynamics", "newtoneuler"), _RNEA),
    **dict.fromkeys(
        ("crba", "crb", "m", "h", "massmatrix", "inertia", "inertiamatrix", "jsim"), _CRBA
    ),
    **dict.fromkeys(("coriolis", "coriolismatrix"), _CORIOLIS),
    **dict.fromkeys(("nle", "nonlineareffects", "c", "bias"), _BIAS),
    **dict.fromkeys(
        ("g", "gravity", "gravload", "generalizedgravity", "gravitytorque"),
        ("gravity_force", "g(q)"),
    ),
    **dict.fromkeys(("fk", "fkine", "forwardkinematics", "kinematics", "pose", "tcp"), _POSE),
    **dict.fromkeys(
        ("jac", "j", "jacob", "jacob0", "jacobe", "framejacobian", "geometricjacobian"), _JACOBIAN
    ),
    **dict.fromkeys(
        ("minv", "minverse", "computeminverse", "invm", "hinv", "inversemassmatrix"),
        ("inverse_mass_matrix", "mass_matrix_solve gives M^-1 b for less"),
    ),
    **dict.fromkeys(("solve", "msolve"), ("mass_matrix_solve", "x = M(q)^-1 b")),
    **dict.fromkeys(("det", "detm", "determinant"), _DET),
    **dict.fromkeys(("logdet", "logdetm", "fixmanpotential"), _LOG),
    **dict.fromkeys(
        ("jdot", "jdotv", "jacobiandot", "djacobian", "dj", "biasacceleration"), _BIAS_ACCELERATION
    ),
    **dict.fromkeys(("com", "centerofmass", "centreofmass", "masscentre", "masscenter"), _COM),
    **dict.fromkeys(("jcom", "comjacobian", "jacobiancom", "jacobiancenterofmass"), _COM_JACOBIAN),
    **dict.fromkeys(("energy", "kineticenergy", "ke", "t"), _ENERGY),
    **dict.fromkeys(
        ("pe", "potentialenergy", "u"),
        ("potential_energy", "of the weight; the other one is kinetic_energy"),
    ),
    **dict.fromkeys(("centroidal", "momentum", "hg"), _MOMENTUM),
    **dict.fromkeys(("ccrba", "cmm", "ag", "centroidalmap"), _MOMENTUM_MATRIX),
    **dict.fromkeys(("dccrba", "hdot", "dhg", "centroidalmomentumtimevariation"), _MOMENTUM_RATE),
    **dict.fromkeys(
        ("poses", "allposes", "linkposes", "linkframes"),
        ("link_poses", "forward_kinematics is of chosen frames"),
    ),
    **dict.fromkeys(
        ("integrateconfiguration", "advance"),
        ("integrate", "q moved for a time dt by the constant velocity v"),
    ),
    **dict.fromkeys(
        ("euler", "semiimpliciteuler", "symplecticeuler", "eulerstep", "timestep", "simulate"),
        ("step", "semi-implicit Euler over forward_dynamics; step_rk4 is of order 4"),
    ),
    **dict.fromkeys(
        ("rk4", "rungekutta", "rk4step", "steprk", "rkmk4"),
        ("step_rk4", "of order 4; step is semi-implicit Euler"),
    ),
    **dict.fromkeys(
        ("delta", "subtract", "minus"), ("difference", "the velocity that takes q to q_next in 1 s")
    ),
    **dict.fromkeys(
        (
            "rneaderivatives",
            "did",
            "dtau",
            "dtaudq",
            "dtaudv",
            "inversedynamicsderivatives",
            "gradid",
        ),
        _DID,
    ),
    **dict.fromkeys(
        (
            "abaderivatives",
            "dfd",
            "dadq",
            "dadv",
            "ddq",
            "ddqdq",
            "ddqdv",
            "forwarddynamicsderivatives",
        ),
        _DFD,
    ),
    **dict.fromkeys(("lambdainv", "osimi", "operationalinertiainv"), _OSIM),
    **dict.fromkeys(
        ("lambda", "osim", "operationalinertia", "operationalspaceinertia", "cartesianinertia"),
        _TASK,
    ),
    **dict.fromkeys(
        ("jbar", "dynamicallyconsistent", "dynamicallyconsistentjacobian"),
        ("dynamically_consistent_inverse", "M^-1 J^T Lambda for the rows that --task-rows names"),
    ),
    **dict.fromkeys(
        ("contactdynamics", "contact", "contactforces"),
        ("contact_forward_dynamics", "for points that --contact names"),
    ),
    **dict.fromkeys(
        ("impulsedynamics", "impact", "impulse"),
        ("contact_impulse", "for points that --contact names"),
    ),
    **dict.fromkeys(
        ("jointtorqueregressor", "torqueregressor", "dynamicregressor", "y"), _REGRESSOR
    ),
    **dict.fromkeys(
        ("minimalregressor", "reducedregressor"),
        ("base_regressor", "its parameters are base_parameters of pi"),
    ),
    **dict.fromkeys(
        ("minimalparameters", "baseparams", "barycentricparameters"),
        ("base_parameters", "what all inertial parameters amount to, for base_regressor"),
    ),
}
_MISSING: dict[str, str] = {
    **dict.fromkeys(
        ("ik", "ikine", "inversekinematics"),
        "symgen has no inverse kinematics; iterate with forward_kinematics and jacobian",
    ),
}
_METHOD_SYNONYMS: dict[str, str] = {
    "aba": "riccati",
    "articulated_body": "riccati",
    "rnea": "newton_euler",
    "rne": "newton_euler",
    "crba": "composite_body",
    "crb": "composite_body",
    "ltdl": "udut",
    "ltl": "udut",
}


def closest(name: str, names: Iterable[str], cutoff: float = 0.7) -> str | None:
    """Return the name in `names` that is most similar to `name`, ignoring case, or None."""
    original = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name[:_SHOWN].lower(), original, n=1, cutoff=cutoff)
    return original[close[0]] if close else None


def nearest(name: str, choices: Iterable[str], kind: str) -> str:
    """Return `name` if it is in `choices`; else raise UnknownName, which suggests the nearest."""
    if not isinstance(name, str):  # callers in Python are not checked
        raise UnknownName(f"give the {kind} by its name, a string, not {name!r}")
    if isinstance(choices, Mapping) and name in choices:  # a look-up in constant time
        return name
    candidates = list(choices)
    if name in candidates:
        return name
    close = difflib.get_close_matches(name, candidates, n=1, cutoff=0.5)
    shown = ", ".join(printable(choice, _SHOWN) for choice in candidates[:12]) + (
        " …" if len(candidates) > 12 else ""
    )
    hint = f"did you mean '{close[0]}'?" if close else f"there are: {shown}"
    raise UnknownName(f"no {kind} is named '{printable(name, _SHOWN)}'; {hint}")


def no_attribute(name: str, attributes: Iterable[str], kind: str) -> AttributeError:
    """Return the AttributeError of an object with these attributes: the text of `nearest`, except
    for private names.
    """
    if not name.startswith("_"):
        try:
            nearest(name, attributes, kind)
        except UnknownName as error:
            return AttributeError(f"{error}")
    return AttributeError(name)


def function_named(name: str) -> str:
    """Return `name` if it is a function; otherwise raise UnknownName, which says which function it
    is called here.
    """
    if name in FUNCTIONS:
        return name
    if ":" in name:
        return _derivative_named(name)
    word = "".join(c for c in name.lower() if c.isalnum()).removeprefix("compute")
    if word in _SYNONYMS:
        function, explanation = _SYNONYMS[word]
        raise UnknownName(f"'{name}' is called {function} here ({explanation})")
    if word in _MISSING:
        raise UnknownName(f"'{name}': {_MISSING[word]}")
    return nearest(name, [*FUNCTIONS, *LOOP_FUNCTIONS], "function")


def _derivative_named(name: str) -> str:
    """Return the canonical name of a derivative; UnknownName says which part is unknown and lists
    the choices.
    """
    requested = derivatives.parse_derivative(name)
    if requested is None:
        raise UnknownName(
            f"'{printable(name, _SHOWN)}' names no derivative; write FUNCTION:MODE or"
            f" FUNCTION:MODE(ARGUMENT,…), where MODE is {', '.join(derivatives.MODES)}"
        )
    function = FUNCTIONS[function_named(requested.of)]
    if (mode_name := derivatives.SYNONYMS.get(requested.mode.lower())) is not None:
        raise UnknownName(
            f"'{requested.mode}' is called {mode_name} here"
            f" ({derivatives.MODES[mode_name].format(function.name)})"
        )
    mode = nearest(requested.mode, derivatives.MODES, f"derivative of {function.name}")
    arguments = differentiable(function)
    for argument in requested.by:
        if argument in (PARAMETERS.name, PREPARED.name):
            raise UnknownName(
                f"{printable(name, _SHOWN)}: there is no derivative with respect to run-time"
                " parameters; regressor is the derivative of inverse_dynamics by inertial"
                " parameters"
            )
        nearest(argument, arguments, f"argument of {function.name}")
    derivative = derived(function, requested._replace(of=function.name, mode=mode))
    assert derivative is not None
    if derivative.name not in FUNCTIONS:
        raise UnknownName(
            f"'{derivative.name}' is called {derivatives.identifier_part(derivative.name)} here, a"
            " function in its own right"
        )
    return derivative.name


def method_named(name: str, methods: Collection[str]) -> str:
    """Return `name` if it is one of these methods; otherwise raise UnknownName, which suggests the
    nearest.
    """
    canonical = _METHOD_SYNONYMS.get(name.lower().replace("-", "_"))
    if canonical is not None and name not in methods:
        raise UnknownName(f"method '{name}' is called {canonical} here; write FUNCTION={canonical}")
    return nearest(name, methods, "method")

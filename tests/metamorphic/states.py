"""Relations between the states of one robot that follow from the laws of motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

import flint
import numpy as np

from symgen.mechanism.mechanism import BASE
from symgen.reference.precision import Array, Scalars
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.poses import Angle, Shift, Turn
from tests.metamorphic._core import (
    Asked,
    Case,
    Judged,
    Pairs,
    Setting,
    States,
    cross,
    integrated,
    placement,
    times,
    with_,
)
from tests.metamorphic._maps import unchanged
from tests.metamorphic._tangents import Tangents, differentiated_by


def turned_round(setting: Setting) -> Case | None:
    """Results repeat for an angle plus 2π and for a negated quaternion; None without either."""
    old = setting.mechanism
    rounds = [
        setting.random.choice((-2, -1, 1, 2)) if position.unit == "rad" and not j.parameters else 0
        for j in old.joints
        for position in j.type.positions
    ]
    counted = [
        n if j.type.directed else 0
        for j, of_v, of_q in zip(old.joints, old.v_slices, old.q_slices, strict=True)
        for n in (rounds[of_q] if j.type.directed else [0] * j.type.nv)
    ]
    signs = [-1 if position.unit == "1" else 1 for j in old.joints for position in j.type.positions]

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        with evaluate_old.scalars.working():

            def shifted_by_whole_turns(q: Array) -> Array:
                return q * evaluate_old.scalars.array(signs) + evaluate_old.scalars.array(
                    rounds
                ) * (2 * flint.arb.pi())

            expected, results = (
                evaluate_old(function, states),
                evaluate_new(function, with_(states, q=shifted_by_whole_turns(states["q"]))),
            )
            goes = {
                "q_next": shifted_by_whole_turns,
                "delta": lambda x: x - evaluate_old.scalars.array(counted) * (2 * flint.arb.pi()),
            }
            return {
                name: (goes.get(name, lambda x: x)(values), results[name])
                for name, values in expected.items()
            }

    return Judged(old, setting.links, judge, derived=judge) if any(rounds) or -1 in signs else None


def time_reversed(setting: Setting) -> Case:
    """Reversal of time keeps forces, accelerations and energies, since there is no friction."""

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        if function == "integrate":
            there_and_back = evaluate_new(
                function, with_(states, q=evaluate_old(function, states)["q_next"], v=-states["v"])
            )
            return {"q_next": (states["q"], there_and_back["q_next"])}
        if function == "difference":
            reverse = evaluate_new(function, with_(states, q=states["q_next"], q_next=states["q"]))[
                "delta"
            ]
            with evaluate_old.scalars.working():
                return {"delta": (-evaluate_old(function, states)["delta"], reverse)}
        if function not in FILMED:
            return {}
        expected, results = (
            evaluate_old(function, states),
            evaluate_new(function, with_(states, v=-states["v"])),
        )
        with evaluate_old.scalars.working():
            return {name: (values, results[name]) for name, values in backwards(expected).items()}

    def derived(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        film = Tangents(
            lambda states, _: with_(states, v=-states["v"]), lambda results, *_: backwards(results)
        )
        return (
            film.pairs(function, states, evaluate_old, evaluate_new)
            if function.partition(":")[0] in FILMED
            else {}
        )

    return Judged(setting.mechanism, setting.links, judge, derived=derived)


FILMED = (
    "inverse_dynamics",
    "forward_dynamics",
    "bias_force",
    "mass_matrix_and_bias",
    "link_accelerations",
    "interbody_forces",
    "bias_acceleration",
    "kinetic_energy",
    "centroidal_momentum",
    "centroidal_momentum_rate",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)


def backwards(results: Mapping[str, Array]) -> Mapping[str, Array]:
    """Return the results of FILMED after reversal of time."""
    return {
        name: -values if name in ("h", "dtau_dv", "da_dv") else values
        for name, values in results.items()
    }


def set_down_elsewhere(setting: Setting) -> Case | None:
    """Place a floating robot elsewhere, rotated about gravity: its dynamics stay the same.

    Quantities in the axes of the base, or about its origin, move with the robot. Return None if the
    root does not float, or if the frame stays behind.
    """
    old, links = setting.mechanism, setting.links
    roots = old.children(BASE)
    if len(roots) > 1 or old.joints[roots[0]].type.nv != 6 or old.frame(links.frame).body == BASE:
        return None
    q_slice, angle, to = old.q_slices[roots[0]], setting.fraction(-3, 3), setting.vector(1000)
    about = old.gravity if any(old.gravity) else setting.vector(1)
    problem = unchanged(old, base=(Shift(to), Turn(about, Angle(angle))))

    def elsewhere(q: Array, scalars: Scalars) -> Array:
        """Return the coordinates of the root joint at the new place, in the joint's own pose."""
        turn, shift = placement(old.joints[roots[0]].pose, scalars)
        around, away = placement(problem.base, scalars)
        away = (around @ shift + away - shift) @ turn
        axis = scalars.array(list(about)) @ turn
        half = scalars.constant(angle) / 2
        axis, c = axis / np.sqrt((axis * axis).sum()) * half.sin(), half.cos()
        at = np.array(q)
        p, u, w = at[..., q_slice][..., :3], at[..., q_slice][..., 3:6], at[..., q_slice][..., 6:]
        p = p + 2 * (c * cross(axis[None], p) + cross(axis[None], cross(axis[None], p))) + away
        turned = [
            c * u + w * axis + cross(axis[None], u),
            w * c - (u * axis).sum(axis=-1, keepdims=True),
        ]
        at[..., q_slice] = np.concatenate([p, *turned], axis=-1)
        return at

    def there_too(states: States, scalars: Scalars) -> States:
        return with_(states, **{name: elsewhere(states[name], scalars) for name in ("q", "q_next")})

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        scalars = evaluate_old.scalars
        with scalars.working():
            expected, results = (
                evaluate_old(function, states),
                evaluate_new(function, there_too(states, scalars)),
            )
            if "q_next" in expected:
                return {
                    name: (elsewhere(x, scalars) if name == "q_next" else x, results[name])
                    for name, x in expected.items()
                }
        return {
            name: (values, results[name])
            for name, values in problem.results(links, expected, states, scalars).items()
        }

    return Judged(
        old, links, judge, derived=Tangents(there_too, partial(problem.results, links)).pairs
    )


LINEAR = {
    "inverse_dynamics": "a",
    "forward_dynamics": "tau",
    "mass_matrix_solve": "b",
    "link_accelerations": "tau",
    "interbody_forces": "tau",
    "centroidal_momentum": "v",
    "centroidal_momentum_rate": "a",
    "inverse_dynamics_derivatives": "a",
    "forward_dynamics_derivatives": "tau",
}


def superposed(setting: Setting) -> Case:
    """Results are affine in accelerations or forces: f(x) = 3 f(x/3 + y) − f(y) − f(2y)."""
    second_accelerations = [setting.fraction(-3, 3) for _ in range(setting.mechanism.nv)]

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        argument = LINEAR.get(function)
        if argument is None:
            return {}
        with evaluate_old.scalars.working():
            y = evaluate_old.scalars.array([second_accelerations])
            sum_result = evaluate_old(function, states)
            at = [
                evaluate_new(function, with_(states, **{argument: x}))
                for x in (states[argument] / 3 + y, y, 2 * y)
            ]
            return {
                name: (values, 3 * at[0][name] - at[1][name] - at[2][name])
                for name, values in sum_result.items()
            }

    return Judged(setting.mechanism, setting.links, judge, derived=directions_superposed)


def directions_superposed(
    function: str, states: States, evaluate_old: Asked, evaluate_new: Asked
) -> Pairs:
    """Derivatives are linear in the changes of the arguments, or in the weights of the results."""
    of = FUNCTIONS[derivatives.base_function(function)]
    weights = [derivatives.weight_name(result.name) for result in of.results]
    changes = [derivatives.change_name(result.name) for result in differentiated_by(function)]
    linear = {"jvp": changes, "hvp": changes, "vjp": weights, "jacobian": []}[
        FUNCTIONS[function].derivative.mode
    ]
    if not linear:
        return {}
    with evaluate_old.scalars.working():
        x = {name: states[name] for name in linear}
        y = {name: values.ravel()[::-1].reshape(values.shape) for name, values in x.items()}
        sum_result = evaluate_old(function, states)
        result, two, three = (
            evaluate_new(
                function, with_(states, **{name: p * x[name] + r * y[name] for name in linear})
            )
            for p, r in ((evaluate_old.scalars.constant(Fraction(1, 3)), 1), (0, 1), (0, 2))
        )
        return {
            name: (values, 3 * result[name] - two[name] - three[name])
            for name, values in sum_result.items()
        }


STEP = Fraction(1, 10**25)
"""Step of central differences, whose error is proportional to its square."""


def directions(setting: Setting) -> tuple[list[Fraction], bool]:
    """Return a direction of velocities that are rates of coordinates, and True if others exist."""
    rates = [setting.mechanism.joints[i].type.directed for i, _ in setting.mechanism.dofs]
    return [setting.fraction(-1, 1) if rate else Fraction(0) for rate in rates], not all(rates)


def lagrange_obeyed(setting: Setting) -> Case:
    """tau − g = d/dt(M v) − ½ ∂(vᵀ M v)/∂q, felt along a direction of the joints' space; without a
    wrench.

    Velocities in the body's axes are no rates, and the law has more terms, which do no work: it is
    felt along v there.
    """
    old = setting.mechanism
    direction, bodily = directions(setting)

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        if function not in ("inverse_dynamics", "bias_force", "mass_matrix_and_bias"):
            return {}
        zero, v = 0 * states["v"], states["v"]
        a = states["a"] if function == "inverse_dynamics" else zero
        result = "tau" if function == "inverse_dynamics" else "c"
        calm = {name: 0 * values if name == "wrench" else values for name, values in states.items()}

        def momentum(step: Array, rates: Array) -> Array:
            return times(
                evaluate_new("mass_matrix", with_(calm, q=integrated(old, states["q"], step)))["M"],
                rates,
            )

        with evaluate_old.scalars.working():
            h, along = (
                evaluate_old.scalars.constant(STEP),
                evaluate_old.scalars.array([direction]) + (v if bodily else 0 * v),
            )
            forces = (
                evaluate_old(function, calm)[result]
                - evaluate_old("bias_force", with_(calm, v=zero))["c"]
            )
            grown = [
                (along * momentum(v * t + a * (t * t / 2), v + a * t)).sum(axis=-1) for t in (h, -h)
            ]
            bent = [(v * momentum(along * t, v)).sum(axis=-1) / 2 for t in (h, -h)]
            return {
                result: (
                    (along * forces).sum(axis=-1),
                    (grown[0] - grown[1] - bent[0] + bent[1]) / (2 * h),
                )
            }

    return Judged(setting.mechanism, setting.links, judge)


def weight_has_a_potential(setting: Setting) -> Case | None:
    """Gravity is conservative, so ∂g/∂q is symmetric; None for a robot with one velocity."""
    old = setting.mechanism
    directions_pair = [[setting.fraction(-1, 1) for _ in range(old.nv)], directions(setting)[0]]

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        if function not in ("gravity_force", "bias_force", "inverse_dynamics"):
            return {}
        at_rest = {
            name: 0 * values if name in ("v", "a", "wrench") else values
            for name, values in states.items()
        }
        with evaluate_old.scalars.working():
            h = evaluate_old.scalars.constant(STEP)
            u, w = (evaluate_old.scalars.array([value]) for value in directions_pair)

            def slope(along: np.ndarray, direction: np.ndarray) -> np.ndarray:
                up, down = (
                    next(
                        iter(
                            evaluate_new(
                                function, with_(at_rest, q=integrated(old, states["q"], along * s))
                            ).values()
                        )
                    )
                    for s in (h, -h)
                )
                return (direction * (up - down)).sum(axis=-1) / (2 * h)

            return {"g": (slope(u, w), slope(w, u))}

    return (
        Judged(setting.mechanism, setting.links, judge)
        if old.nv > 1 and any(directions_pair[1])
        else None
    )


DIFFERENTIATED = {
    "inverse_dynamics_derivatives": ("inverse_dynamics", "dtau_dq", "dtau_dv"),
    "forward_dynamics_derivatives": ("forward_dynamics", "da_dq", "da_dv"),
}
"""Function -> the function that it differentiates, and its derivatives by q and by v."""


def slopes_followed(setting: Setting) -> Case:
    """Derivatives equal differences of their functions: J, gradients, accelerations, momentum
    rates.
    """
    old = setting.mechanism

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        q, v = states["q"], states["v"]
        with evaluate_old.scalars.working():
            h = evaluate_old.scalars.constant(STEP)

            def slope(of: Callable[[object], Array]) -> Array:
                return (of(h) - of(-h)) / (2 * h)

            if function == "mass_matrix_log_determinant_gradient":
                along = slope(
                    lambda t: evaluate_new(
                        "mass_matrix_log_determinant", with_(states, q=integrated(old, q, v * t))
                    )["logdet"]
                )
                return {"grad": ((evaluate_old(function, states)["grad"] * v).sum(axis=-1), along)}
            if function in DIFFERENTIATED:
                function_name, of_q, of_v = DIFFERENTIATED[function]
                results = evaluate_old(function, states)
                by_q = slope(
                    lambda t: next(
                        iter(
                            evaluate_new(
                                function_name, with_(states, q=integrated(old, q, v * t))
                            ).values()
                        )
                    )
                )
                by_v = slope(
                    lambda t: next(
                        iter(evaluate_new(function_name, with_(states, v=v + v * t)).values())
                    )
                )
                return {
                    of_q: (times(results[of_q], v), by_q),
                    of_v: (times(results[of_v], v), by_v),
                }
            if function == "jacobian":
                twist = times(evaluate_old(function, states)["J"], v)
                pose = evaluate_old("forward_kinematics", states)
                linear, turning = (
                    slope(
                        lambda t, name=name: evaluate_new(
                            "forward_kinematics", with_(states, q=integrated(old, q, v * t))
                        )[name]
                    )
                    for name in ("p", "R")
                )
                spin = turning @ np.swapaxes(pose["R"], -1, -2)
                angular = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
                return {"J": (twist, np.concatenate([angular, linear], axis=-1))}
            if function == "link_accelerations":
                a = evaluate_new("forward_dynamics", states)["a"]
                followed = slope(
                    lambda t: times(
                        evaluate_new(
                            "jacobian", with_(states, q=integrated(old, q, v * t + a * (t * t / 2)))
                        )["J"],
                        v + a * t,
                    )
                )
                return {"alpha_tip": (evaluate_old(function, states)["alpha_tip"], followed)}
            if function == "bias_acceleration":
                along = slope(
                    lambda t: evaluate_new("jacobian", with_(states, q=integrated(old, q, v * t)))[
                        "J"
                    ]
                )
                return {"Jdot_v": (evaluate_old(function, states)["Jdot_v"], times(along, v))}
            if function == "center_of_mass_jacobian":
                along = slope(
                    lambda t: evaluate_new(
                        "center_of_mass", with_(states, q=integrated(old, q, v * t))
                    )["com"]
                )
                return {"Jcom": (times(evaluate_old(function, states)["Jcom"], v), along)}
            if function == "potential_energy":
                along = slope(
                    lambda t: evaluate_new(function, with_(states, q=integrated(old, q, v * t)))[
                        "U"
                    ]
                )
                return {"U": ((evaluate_old("gravity_force", states)["g"] * v).sum(axis=-1), along)}
            if function == "centroidal_momentum_rate":
                along = slope(
                    lambda t: evaluate_new(
                        "centroidal_momentum",
                        with_(
                            states,
                            q=integrated(old, q, v * t + states["a"] * (t * t / 2)),
                            v=v + states["a"] * t,
                        ),
                    )["h"]
                )
                return {"hdot": (evaluate_old(function, states)["hdot"], along)}
        return {}

    return Judged(setting.mechanism, setting.links, judge)


def answers_fit(setting: Setting) -> Case:
    """Functions satisfy their defining equations: M x = b, M M⁻¹ = 1, M a + c = tau, Λ⁻¹ = J M⁻¹
    Jᵀ, h = A_G v.
    """

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        scalars = evaluate_old.scalars
        with scalars.working():
            if function == "mass_matrix_solve":
                return {
                    "x": (
                        states["b"],
                        times(
                            evaluate_new("mass_matrix", states)["M"],
                            evaluate_old(function, states)["x"],
                        ),
                    )
                }
            if function == "inverse_mass_matrix":
                product = (
                    evaluate_new("mass_matrix", states)["M"]
                    @ evaluate_old(function, states)["Minv"]
                )
                return {"Minv": (scalars.array([np.eye(setting.mechanism.nv)]), product)}
            if function == "forward_dynamics":
                a = evaluate_old(function, states)["a"]
                return {
                    "a": (
                        states["tau"],
                        evaluate_new("inverse_dynamics", with_(states, a=a))["tau"],
                    )
                }
            if function == "interbody_forces":
                return {
                    "a": (
                        evaluate_old(function, states)["a"],
                        evaluate_new("forward_dynamics", states)["a"],
                    )
                }
            if function == "inverse_dynamics":
                directions_pair = evaluate_new("mass_matrix_and_bias", states)
                return {
                    "tau": (
                        evaluate_old(function, states)["tau"],
                        times(directions_pair["M"], states["a"]) + directions_pair["c"],
                    )
                }
            if function == "mass_matrix_and_bias":
                return {
                    "M": (
                        evaluate_old(function, states)["M"],
                        evaluate_new("mass_matrix", states)["M"],
                    )
                }
            if function == "bias_force":
                calm = {
                    name: 0 * values if name == "wrench" else values
                    for name, values in states.items()
                }
                at_rest = evaluate_old(function, with_(calm, v=0 * states["v"]))["c"]
                return {"c": (at_rest, evaluate_new("gravity_force", states)["g"])}
            if function in ("mass_matrix_determinant", "mass_matrix_log_determinant"):
                (result,) = evaluate_old(function, states).values()
                product = _determinant(
                    [list(row) for row in evaluate_new("mass_matrix", states)["M"][0]]
                )
                return {
                    "det": (
                        result if function == "mass_matrix_determinant" else np.exp(result),
                        np.array([product]),
                    )
                }
            if function == "operational_inertia_inverse":
                jacobian = evaluate_new("jacobian", states)["J"]
                inverse = evaluate_new("inverse_mass_matrix", states)["Minv"]
                return {
                    "Lambda_inv": (
                        evaluate_old(function, states)["Lambda_inv"],
                        jacobian @ inverse @ np.swapaxes(jacobian, -1, -2),
                    )
                }
            if function == "kinetic_energy":
                v = states["v"]
                return {
                    "T": (
                        evaluate_old(function, states)["T"],
                        (v * times(evaluate_new("mass_matrix", states)["M"], v)).sum(axis=-1) / 2,
                    )
                }
            if function == "centroidal_momentum":
                return {
                    "h": (
                        evaluate_old(function, states)["h"],
                        times(
                            evaluate_new("centroidal_momentum_matrix", states)["A_G"], states["v"]
                        ),
                    )
                }
        return {}

    return Judged(setting.mechanism, setting.links, judge)


def _determinant(rows: list[list[flint.arb]]) -> flint.arb:
    """Return the determinant by Laplace expansion, which is slow but needs no division."""
    if not rows:
        return flint.arb(1)
    total = flint.arb(0)
    for k, entry in enumerate(rows[0]):
        total += (-1) ** k * entry * _determinant([row[:k] + row[k + 1 :] for row in rows[1:]])
    return total

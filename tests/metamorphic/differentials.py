"""Relations between a function and its derivatives in every mode."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symgen.ir.program import POSITIONS
from symgen.reference.precision import Array
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import FUNCTIONS
from tests.metamorphic._core import (
    Asked,
    Case,
    Judged,
    Pairs,
    Setting,
    States,
    integrated,
    states_by_argument,
    with_,
)
from tests.metamorphic._tangents import differentiated_by, in_front
from tests.metamorphic.states import STEP


def derivatives_followed(setting: Setting) -> Case:
    """Derivatives equal difference quotients of their functions along the changes.

    A jvp, and a Jacobian times the change, is the derivative of the results. A vjp times the change
    is the derivative of the weighted results, and an hvp is the derivative of the vjp.
    """
    old = setting.mechanism

    def judge(function: str, states: States, evaluate_old: Asked, evaluate_new: Asked) -> Pairs:
        derivative, by = FUNCTIONS[function].derivative, differentiated_by(function)

        def slope(of: str) -> Mapping[str, Array]:
            """Return the slope of each result along the changes of all arguments of the derivative
            together.
            """
            h, arguments = evaluate_old.scalars.constant(STEP), states_by_argument(of, states)
            end_results = []
            for t in (-h, h):
                steps = {x.name: states[derivatives.change_name(x.name)] * t for x in by}
                end_results.append(
                    evaluate_new(
                        of,
                        with_(
                            arguments,
                            **{
                                name: integrated(old, arguments[name], step)
                                if name in POSITIONS
                                else arguments[name] + step
                                for name, step in steps.items()
                            },
                            **_instants(of, arguments, steps),
                        ),
                    )
                )
            displacements = {
                name: evaluate_new(
                    "difference", with_(states, q=end_results[0][name], q_next=end_results[1][name])
                )["delta"]
                / (2 * h)
                for name in end_results[0]
                if name in POSITIONS
            }
            return {
                name: displacements[name]
                if name in displacements
                else (end_results[1][name] - end_results[0][name]) / (2 * h)
                for name in end_results[0]
            }

        with evaluate_old.scalars.working():
            values_by_name = evaluate_old(function, states)
            if derivative.mode == "hvp":
                grown = slope(derivative._replace(mode="vjp").name)
                return {
                    name: (values, grown[name.removeprefix("d")])
                    for name, values in values_by_name.items()
                }
            along = slope(derivative.of)
            if derivative.mode == "jvp":
                return {
                    name: (values, along[name.removeprefix("d")])
                    for name, values in values_by_name.items()
                }
            if derivative.mode == "jacobian":
                return {
                    name: (
                        sum(
                            _times(
                                values_by_name[derivatives.derivative_name(name, x.name)],
                                states[derivatives.change_name(x.name)],
                                x,
                            )
                            for x in by
                        ),
                        values,
                    )
                    for name, values in along.items()
                }
            spent = sum(
                (
                    values_by_name[derivatives.weight_name(x.name)]
                    * states[derivatives.change_name(x.name)]
                )
                .reshape(1, -1)
                .sum(axis=-1)
                for x in by
            )
            gained = sum(
                (values * states[derivatives.weight_name(name)]).reshape(1, -1).sum(axis=-1)
                for name, values in along.items()
            )
            return {derivatives.weight_name("all"): (gained, spent)}

    return Judged(old, setting.links, lambda *_: {}, derived=judge)


def _instants(of: str, states: States, steps: Mapping[str, Array]) -> dict[str, Array]:
    """Return the states after steps; an argument drawn under another name moves under that name."""
    function = FUNCTIONS[derivatives.base_function(of)]
    return {
        function.sample_kind(name): states[name] + step
        for name, step in steps.items()
        if function.sample_kind(name) != name
    }


def _times(slope: Array, change: Array, x: object) -> Array:
    """A slope times a change of the argument: (1, *result)."""
    return np.tensordot(change.reshape(1, -1), in_front(slope, x), axes=(1, 0))

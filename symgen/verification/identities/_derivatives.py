"""Identities between a derivative, its function and its other modes, without reference values.

All identities are evaluated in ball arithmetic. By mode:

- jvp: dy is the slope of y along dx;
- vjp: x_bar·dx = y_bar·dy;
- jacobian: J dx = dy;
- hvp: the result is the slope of the vjp's result along dx, and it is symmetric in two directions.

For joints with several degrees of freedom, two steps in exchanged order end at different positions.
Their difference, the Lie bracket, is subtracted in the symmetry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from symgen.ir.program import POSITIONS
from symgen.mechanism.mechanism import Mechanism
from symgen.reference.arrays import cross, identity
from symgen.reference.precision import Array
from symgen.verification.evaluating import Results
from symgen.verification.identities._identity import Distance, Functions, Identity
from symgen.verification.magnitude import largest
from symgen.vocabulary import derivatives
from symgen.vocabulary.derivatives import Derivative
from symgen.vocabulary.functions import FUNCTIONS


def derivative_identities(functions: Iterable[str]) -> list[Identity]:
    """Return the identities of the derivatives among some functions, if the other functions that
    they need are present.
    """
    present = list(functions)
    requested = [
        derivative for name in present if (derivative := FUNCTIONS[name].derivative) is not None
    ]
    return [
        identity_of_derivative
        for derivative in requested
        for identity_of_derivative in _identities_of(derivative)
        if set(identity_of_derivative.needs) <= set(present)
    ]


def companions(derivative: Derivative, mechanism: Mechanism) -> tuple[str, ...]:
    """Return the other functions that a derivative's identities need."""
    needs_of_identities = (
        identity_of_derivative.needs
        for identity_of_derivative in _identities_of(derivative)
        if identity_of_derivative.applies_to(mechanism)
    )
    return tuple(
        dict.fromkeys(
            name for needs in needs_of_identities for name in needs if name != derivative.name
        )
    )


def _identities_of(derivative: Derivative) -> list[Identity]:
    """Return the identities of a derivative."""

    def make_identity(
        title: str,
        *other_functions: str,
        distance: Callable[[Derivative, Functions], Distance],
        loops: bool | None = None,
    ) -> Identity:
        return Identity(
            title,
            (derivative.name, *other_functions),
            partial(distance, derivative),
            exact_only=True,
            together=True,
            loops=loops,
        )

    def with_mode(mode: str) -> str:
        return derivative._replace(mode=mode).name

    name = derivative.name
    returns_positions = any(name in POSITIONS for name in _result_names(derivative))
    # A function of closed loops is exact only at states with closed loops; a step along dx opens
    # them.
    loops = False if FUNCTIONS[derivative.of].holds_loops_closed else None
    return {
        "jvp": [
            make_identity(
                f"{name} = d/dt {derivative.of}", derivative.of, distance=_slope, loops=loops
            )
        ],
        "vjp": [
            make_identity(
                f"x_bar · dx of {name} = y_bar · dy", with_mode("jvp"), distance=_transpose
            )
        ],
        "jacobian": [make_identity(f"{name} · dx = dy", with_mode("jvp"), distance=_product)],
        "hvp": [
            make_identity(
                f"{name} = d/dt {with_mode('vjp')}",
                with_mode("vjp"),
                distance=_slope_of_vjp,
            ),
            make_identity(
                f"{name} is symmetric",
                with_mode("vjp"),
                *([with_mode("jvp"), derivative.of] if returns_positions else []),
                distance=_symmetric,
            ),
        ],
    }[derivative.mode]


def _variables(derivative: Derivative) -> Sequence[str]:
    """Return the arguments x that a derivative is taken by."""
    return derivative.by or FUNCTIONS[derivative.of].own_arguments


def _result_names(derivative: Derivative) -> Sequence[str]:
    """Return the names of the results y of the function."""
    return tuple(array.name for array in FUNCTIONS[derivative.of].results)


def _values_and_derivatives(
    f: Functions, derivative: Derivative, name: str
) -> tuple[Results, Results]:
    """Return a function's results at the states and their slopes along dx.

    The slopes are central differences with h = 1e-30.
    """
    h = f.exact_results.scalars.constant(Fraction(1, 10**30))

    def along(factor: object) -> Results:
        arguments = {}
        for x in _variables(derivative):
            step = f.states[derivatives.change_name(x)] * factor
            value = f.drawn_argument(derivative.of, x)
            arguments[x] = (
                f.exact_results.reference.displaced(value, step) if x in POSITIONS else value + step
            )
        return f(name, **arguments)

    f.exact_results.draw(derivatives.Derivative(derivative.of, "jvp", derivative.by).name)
    up, down = along(h), along(-h)
    return f(name), {key: (up[key] - down[key]) / (2 * h) for key in up}


def _slope(derivative: Derivative, f: Functions) -> Distance:
    """Return the distance of dy from the slope of y. A position result is displaced by ±h dy and
    compared with the displaced result.
    """
    changes = f(derivative.name)
    values, value_derivatives = _values_and_derivatives(f, derivative, derivative.of)
    h = f.exact_results.scalars.constant(Fraction(1, 10**30))
    differences = []
    for name, value in values.items():
        change = changes[derivatives.change_name(name)]
        if name in POSITIONS:
            change = (
                f.exact_results.reference.displaced(value, change * h)
                - f.exact_results.reference.displaced(value, -change * h)
            ) / (2 * h)
        differences.append(_flat(change - value_derivatives[name]))
    return _joined_distance(differences, [*values.values(), *value_derivatives.values()])


def _transpose(derivative: Derivative, f: Functions) -> Distance:
    """Return the distance of x_bar·dx of a vjp from y_bar·dy of the jvp."""
    weights, changes = f(derivative.name), f(derivative._replace(mode="jvp").name)
    pairs = [
        (weights[derivatives.weight_name(x)], f.states[derivatives.change_name(x)], 1)
        for x in _variables(derivative)
    ]
    pairs += [
        (f.states[derivatives.weight_name(y)], changes[derivatives.change_name(y)], -1)
        for y in _result_names(derivative)
    ]
    terms = [sign * _flat(a) * _flat(b) for a, b, sign in pairs]
    return sum(term.sum(axis=-1) for term in terms)[:, None], _size(terms)


def _product(derivative: Derivative, f: Functions) -> Distance:
    """Return the distance of J dx from dy of the jvp."""
    jacobians, changes = f(derivative.name), f(derivative._replace(mode="jvp").name)
    differences = []
    for y in _result_names(derivative):
        total = _flat(changes[derivatives.change_name(y)])
        for x in _variables(derivative):
            step = _flat(f.states[derivatives.change_name(x)])
            block = jacobians[derivatives.derivative_name(y, x)].reshape(
                len(step), -1, step.shape[-1]
            )
            total = total - (block @ step[..., None])[..., 0]
        differences.append(total)
    return _joined_distance(differences, [*jacobians.values(), *changes.values()])


def _slope_of_vjp(derivative: Derivative, f: Functions) -> Distance:
    """Return the distance of an hvp's results from the slopes of the vjp's results along dx."""
    weight_changes = f(derivative.name)
    values, value_derivatives = _values_and_derivatives(
        f, derivative, derivative._replace(mode="vjp").name
    )
    differences = [
        _flat(weight_changes[derivatives.change_name(name)] - derivative)
        for name, derivative in value_derivatives.items()
    ]
    return _joined_distance(differences, [*values.values(), *weight_changes.values()])


def _symmetric(derivative: Derivative, f: Functions) -> Distance:
    """Return the distance w·H dx − dx·H w, where H dx are the hvp's results.

    The second direction w has the entries of dx, rotated by one place. For the k-th argument they
    are scaled by k.
    """
    f.exact_results.draw(derivative.name)
    first = {x: f.states[derivatives.change_name(x)] for x in _variables(derivative)}
    second = {
        x: scale * np.roll(step, 1, axis=-1) for scale, (x, step) in enumerate(first.items(), 1)
    }
    along_first, along_second = (
        f(derivative.name, **{derivatives.change_name(x): step for x, step in direction.items()})
        for direction in (first, second)
    )
    weights = f(derivative._replace(mode="vjp").name)
    terms = []
    for x in _variables(derivative):
        bar = derivatives.change_name(derivatives.weight_name(x))
        terms += [
            _flat(second[x]) * _flat(along_first[bar]),
            -_flat(first[x]) * _flat(along_second[bar]),
        ]
        if x in POSITIONS:
            terms.append(
                -_bracket(f, f.drawn_argument(derivative.name, x), first[x], second[x])
                * weights[derivatives.weight_name(x)]
            )
    for y in (name for name in _result_names(derivative) if name in POSITIONS):
        steps = [
            f(
                derivative._replace(mode="jvp").name,
                **{derivatives.change_name(x): step for x, step in direction.items()},
            )
            for direction in (first, second)
        ]
        directions = [step[derivatives.change_name(y)] for step in steps]
        terms.append(
            _bracket(f, f(derivative.of)[y], *directions) * f.states[derivatives.weight_name(y)]
        )
    return sum(term.sum(axis=-1) for term in terms)[:, None], _size(terms)


def _bracket(f: Functions, q: Array, first: Array, second: Array) -> Array:
    """Return the Lie bracket [δ, ε] of two steps from q, (count, NV)."""
    motion, brackets = f.exact_results.reference, []
    for index, (q_slice, v_slice) in enumerate(
        zip(motion.mechanism.q_slices, motion.mechanism.v_slices, strict=True)
    ):
        if motion.mechanism.joints[index].type.directed:
            brackets.append(0 * first[:, v_slice])
            continue
        (_, w, u), (_, dw, du) = (
            motion.joint_displacement(index, q[:, q_slice], step[:, v_slice])
            for step in (first, second)
        )
        spin, shift = cross(w, dw), cross(w, du) - cross(dw, u)
        unit_twists = motion.twists(index, identity(motion.scalars))
        brackets.append(
            np.stack(
                [(spin * a).sum(axis=-1) + (shift * b).sum(axis=-1) for a, b in unit_twists],
                axis=-1,
            )
        )
    return np.concatenate(brackets, axis=-1)


def _flat(values: Array) -> Array:
    """Return (count, number of entries)."""
    return values.reshape(len(values), -1)


def _size(terms: Iterable[Array]) -> Array:
    """Return the size (count,) to which a distance is relative: 1 plus the largest entry of each
    term, in SI units.
    """
    return np.asarray(1 + sum(largest(_flat(term)) for term in terms))


def _joined_distance(differences: Sequence[Array], terms: Iterable[Array]) -> Distance:
    """Return several differences as one Distance, relative to the size of the terms."""
    return np.concatenate(differences, axis=-1), _size(terms)

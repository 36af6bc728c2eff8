"""What derivatives obey on every robot, without a reference: they are slopes of their function, and of each other transposes.

All of it is checked over balls. By the mode: dy is the slope of y along dx; y_bar·dy = x_bar·dx; the Jacobian times dx is dy; and
what the weights change by is their slope, the same for two directions in either order. Where joints have several degrees of
freedom, steps in another order end elsewhere: by their bracket, which is taken off.
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


def of_derivatives(functions: Iterable[str]) -> list[Identity]:
    """The identities of those derivatives that are among some functions, as far as the others that they need are."""
    there = list(functions)
    wanted = [found for name in there if (found := FUNCTIONS[name].derivative) is not None]
    return [one for found in wanted for one in _of(found) if set(one.needs) <= set(there)]


def companions(wanted: Derivative, mechanism: Mechanism) -> tuple[str, ...]:
    """Other functions that make a derivative's identities checkable."""
    found = (one.needs for one in _of(wanted) if one.speaks_of(mechanism))
    return tuple(dict.fromkeys(name for needs in found for name in needs if name != wanted.name))


def _of(wanted: Derivative) -> list[Identity]:
    def made(
        title: str,
        *others: str,
        distance: Callable[[Derivative, Functions], Distance],
        loops: bool | None = None,
    ) -> Identity:
        return Identity(
            title,
            (wanted.name, *others),
            partial(distance, wanted),
            exact_only=True,
            together=True,
            loops=loops,
        )

    def like(mode: str) -> str:
        return wanted._replace(mode=mode).name

    name, moves = (
        wanted.name,
        any(array.name in POSITIONS for array in FUNCTIONS[wanted.of].results),
    )
    # what knows of loops is shorter than what is differentiated of it, and holds where they are closed alone
    loops = False if FUNCTIONS[wanted.of].holds_loops_closed else None
    return {
        "jvp": [made(f"{name} = d/dt {wanted.of}", wanted.of, distance=_slope, loops=loops)],
        "vjp": [made(f"x_bar · dx of {name} = y_bar · dy", like("jvp"), distance=_transpose)],
        "jacobian": [made(f"{name} · dx = dy", like("jvp"), distance=_product)],
        "hvp": [
            made(f"{name} = d/dt {like('vjp')}", like("vjp"), distance=_slope_of_the_weights),
            made(
                f"{name} is symmetric",
                like("vjp"),
                *([like("jvp"), wanted.of] if moves else []),
                distance=_symmetric,
            ),
        ],
    }[wanted.mode]


def _by(wanted: Derivative) -> Sequence[str]:
    return wanted.by or FUNCTIONS[wanted.of].own_arguments


def _results(wanted: Derivative) -> Sequence[str]:
    return tuple(array.name for array in FUNCTIONS[wanted.of].results)


def _slopes(f: Functions, wanted: Derivative, name: str) -> tuple[Results, Results]:
    """(values at the states, slopes along dx) of a function's results, by central differences with h = 1e-30."""
    h = f.truth.scalars.constant(Fraction(1, 10**30))

    def along(by: object) -> Results:
        moved = {}
        for x in _by(wanted):
            step = f.states[derivatives.change_name(x)] * by
            given = f.given(wanted.of, x)
            moved[x] = f.truth.reference.displaced(given, step) if x in POSITIONS else given + step
        return f(name, **moved)

    f.truth.draw(derivatives.Derivative(wanted.of, "jvp", wanted.by).name)
    up, down = along(h), along(-h)
    return f(name), {key: (up[key] - down[key]) / (2 * h) for key in up}


def _slope(wanted: Derivative, f: Functions) -> Distance:
    """A result that is positions is moved by ±h dy, to be compared with what has moved."""
    changes = f(wanted.name)
    values, slopes = _slopes(f, wanted, wanted.of)
    h = f.truth.scalars.constant(Fraction(1, 10**30))
    found = []
    for name, value in values.items():
        change = changes[derivatives.change_name(name)]
        if name in POSITIONS:
            change = (
                f.truth.reference.displaced(value, change * h)
                - f.truth.reference.displaced(value, -change * h)
            ) / (2 * h)
        found.append(_flat(change - slopes[name]))
    return _all(found, [*values.values(), *slopes.values()])


def _transpose(wanted: Derivative, f: Functions) -> Distance:
    weights, changes = f(wanted.name), f(wanted._replace(mode="jvp").name)
    pairs = [
        (weights[derivatives.weight_name(x)], f.states[derivatives.change_name(x)], 1)
        for x in _by(wanted)
    ]
    pairs += [
        (f.states[derivatives.weight_name(y)], changes[derivatives.change_name(y)], -1)
        for y in _results(wanted)
    ]
    terms = [sign * _flat(a) * _flat(b) for a, b, sign in pairs]
    return sum(term.sum(axis=-1) for term in terms)[:, None], _size(terms)


def _product(wanted: Derivative, f: Functions) -> Distance:
    slopes, changes = f(wanted.name), f(wanted._replace(mode="jvp").name)
    found = []
    for y in _results(wanted):
        total = _flat(changes[derivatives.change_name(y)])
        for x in _by(wanted):
            step = _flat(f.states[derivatives.change_name(x)])
            block = slopes[derivatives.derivative_name(y, x)].reshape(len(step), -1, step.shape[-1])
            total = total - (block @ step[..., None])[..., 0]
        found.append(total)
    return _all(found, [*slopes.values(), *changes.values()])


def _slope_of_the_weights(wanted: Derivative, f: Functions) -> Distance:
    bent = f(wanted.name)
    values, slopes = _slopes(f, wanted, wanted._replace(mode="vjp").name)
    found = [_flat(bent[derivatives.change_name(name)] - slope) for name, slope in slopes.items()]
    return _all(found, [*values.values(), *bent.values()])


def _symmetric(wanted: Derivative, f: Functions) -> Distance:
    """w·H dx = dx·H w, for a second direction w: its numbers, each in another place."""
    f.truth.draw(wanted.name)
    one = {x: f.states[derivatives.change_name(x)] for x in _by(wanted)}
    other = {x: (k + 1) * np.roll(step, 1, axis=-1) for k, (x, step) in enumerate(one.items())}
    there, back = (
        f(wanted.name, **{derivatives.change_name(x): step for x, step in way.items()})
        for way in (one, other)
    )
    weights = f(wanted._replace(mode="vjp").name)
    terms = []
    for x in _by(wanted):
        bar = derivatives.change_name(derivatives.weight_name(x))
        terms += [_flat(other[x]) * _flat(there[bar]), -_flat(one[x]) * _flat(back[bar])]
        if x in POSITIONS:
            terms.append(
                -_bracket(f, f.given(wanted.name, x), one[x], other[x])
                * weights[derivatives.weight_name(x)]
            )
    for y in (name for name in _results(wanted) if name in POSITIONS):
        steps = [
            f(
                wanted._replace(mode="jvp").name,
                **{derivatives.change_name(x): step for x, step in way.items()},
            )
            for way in (one, other)
        ]
        ahead = [step[derivatives.change_name(y)] for step in steps]
        terms.append(_bracket(f, f(wanted.of)[y], *ahead) * f.states[derivatives.weight_name(y)])
    return sum(term.sum(axis=-1) for term in terms)[:, None], _size(terms)


def _bracket(f: Functions, q: Array, one: Array, other: Array) -> Array:
    """[δ, ε] of two steps, (count, NV): what they differ by when they are taken in another order."""
    motion, found = f.truth.reference, []
    for index, (of_q, of_v) in enumerate(
        zip(motion.mechanism.q_slices, motion.mechanism.v_slices, strict=True)
    ):
        if motion.mechanism.joints[index].type.directed:
            found.append(0 * one[:, of_v])
            continue
        (_, w, u), (_, dw, du) = (
            motion.joint_displacement(index, q[:, of_q], step[:, of_v]) for step in (one, other)
        )
        spin, shift = cross(w, dw), cross(w, du) - cross(dw, u)
        units = motion.twists(index, identity(motion.scalars))
        found.append(
            np.stack(
                [(spin * a).sum(axis=-1) + (shift * b).sum(axis=-1) for a, b in units], axis=-1
            )
        )
    return np.concatenate(found, axis=-1)


def _flat(values: Array) -> Array:
    return values.reshape(len(values), -1)


def _size(terms: Iterable[Array]) -> Array:
    """Of what is compared (count,): in SI units, and as large as its terms."""
    return np.asarray(1 + sum(largest(_flat(term)) for term in terms))


def _all(found: Sequence[Array], terms: Iterable[Array]) -> Distance:
    return np.concatenate(found, axis=-1), _size(terms)

"""Metamorphic relations: one problem told in two ways, or at two states, has one answer.

They judge what no oracle shares: `mechanism.py`, the joint types and the readers, which the
derivation and the reference both trust, and the reference itself. Each relation takes a `Setting`
and gives a `Case`, or None where it does not apply. `compare` evaluates both sides in balls, once
by the Programs and once by the reference, and says which of the two broke it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from random import Random

import flint
import numpy as np

from symgen.mechanism.mechanism import BASE, Mechanism
from symgen.methods import find
from symgen.pipeline import task
from symgen.pipeline.build import rank_loss
from symgen.reference.precision import Array, Scalars, TooFewDigits, arb
from symgen.reference.states import draw_derivative_arguments, draw_states
from symgen.support.errors import MethodRefusal, SymgenError
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import AT_RUN_TIME, FUNCTIONS
from tests.metamorphic import afloat, described, differentials, loads, states, taken_apart, written
from tests.metamorphic._core import Asked, Case, Change, Links, OfPrograms, OfReference, Setting

Relation = Callable[[Setting], Case | None]

RELATIONS: dict[str, Relation] = {
    relation.__name__: relation
    for relation in (
        described.base_moved,
        described.units_rescaled,
        described.mirrored,
        described.renumbered,
        described.axes_reversed,
        described.zeros_moved,
        described.frames_turned,
        described.frames_slid,
        described.parts_split,
        described.everything_at_once,
        written.welded,
        written.in_urdf,
        written.locked,
        states.turned_round,
        states.set_down_elsewhere,
        states.time_reversed,
        states.superposed,
        states.lagrange_obeyed,
        states.weight_has_a_potential,
        states.slopes_followed,
        states.answers_fit,
        loads.payload_declared,
        loads.wrench_by_jacobian,
        loads.weight_turned_round,
        loads.base_accelerated,
        taken_apart.screw_apart,
        taken_apart.without_axes_apart,
        taken_apart.chain_reversed,
        taken_apart.floating_reversed,
        afloat.momentum_kept,
        afloat.one_body_more,
        differentials.derivatives_followed,
    )
}
TOLERANCE = Fraction(1, 10**40)
"""Share of an entry, or of NOTHING of the largest one where the entry is smaller than that."""
NOTHING = Fraction(1, 10**15)
LEAST = Fraction(1, 10**45)
"""Allowed remainder of terms that cancel.

Constants have 64 digits, and a central difference has a relative error of 10^-50.
"""
SLOPES = (
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "coriolis_matrix",
    "mass_matrix_coriolis_and_bias",
)
"""Functions that the reference computes from derivatives, so that it has no second derivatives of
them.

Derivatives of base parameters are left out as well: each description chooses its own.
"""
DIGITS = 80
DOUBLINGS = 4


@dataclass(frozen=True)
class Verdict:
    """Verdict of a relation: a sentence for each result that breaks it, and the compared results
    "function.result".
    """

    sentences: tuple[str, ...]
    compared: frozenset[str]


def setting(mechanism: Mechanism, links: Links, seed: int) -> Setting:
    """A problem at one seeded state."""
    return Setting(
        mechanism,
        links,
        draw_states(mechanism, 1, seed, links.payload, links.wrench),
        Random(f"relation {seed}"),
    )


def besides(mechanism: Mechanism, links: Links, function: str, seed: int) -> Mapping[str, Array]:
    """Draw the changes of all arguments of a derivative and the weights of all its results."""
    derivative = FUNCTIONS[function].derivative
    if derivative is None:
        return {}
    argument_names = {
        argument.name for argument in (*FUNCTIONS[derivative.of].arguments, *AT_RUN_TIME)
    }
    arguments = [
        argument.of_each(len(links.options.wrenches)) if argument.each == "NW" else argument
        for argument in FUNCTIONS[derivative._replace(mode="hvp").name].arguments
        if argument.name not in argument_names
    ]
    sizes = mechanism.sizes._replace(NW=len(links.options.wrenches))
    return draw_derivative_arguments(
        {argument.name: argument.sizes(sizes) for argument in arguments}, 1, seed
    )


def compare(
    mechanism: Mechanism,
    links: Links,
    relation: str,
    seed: int = 0,
    functions: Collection[str] | None = None,
    programs: bool = True,
    methods: Mapping[str, str | None] | None = None,
) -> Verdict | None:
    """Compare functions (None: all) by a relation; return None if the relation does not apply.

    The reference answers, and Programs as well if requested. `methods` selects a method by name for
    a function. A function that both sides refuse is not compared. Derivatives are compared if they
    are named, by the relations that support them.
    """
    at = setting(mechanism, links, seed)
    case = RELATIONS[relation](at)
    if case is None:
        return None
    judges = [_Judge(case, at, "reference", OfReference)]
    judges += (
        [_Judge(case, at, "Programs", partial(OfPrograms, methods=methods or {}))]
        if programs
        else []
    )
    broken: dict[str, list[str]] = {"what was read": [case.amiss]} if case.amiss else {}
    compared: set[str] = set()
    for function in FUNCTIONS if functions is None else functions:
        refused = _refused(case, at, function, methods or {})
        if refused is not None:
            broken |= {function: [refused]} if refused else {}
            continue
        for judge in judges:
            for result, error in judge.errors(
                function, besides(mechanism, links, function, seed)
            ).items():
                compared.add(f"{function}.{result}")
                if error:
                    broken.setdefault(f"{function}.{result}", []).append(
                        f"of the {judge.name} {error}"
                    )
    sentences = [
        f"{relation}: {error} {', '.join(functions_with_error)}"
        for error, functions_with_error in broken.items()
    ]
    return Verdict(tuple(sentences), frozenset(compared))


def _refused(
    case: Case, at: Setting, function: str, methods: Mapping[str, str | None]
) -> str | None:
    """Return None if both sides have the function, '' if one rightly lacks it, else the error."""
    derivative = FUNCTIONS[function].derivative
    if derivative is not None and (
        FUNCTIONS[function].counts("NR") or (derivative.mode == "hvp" and derivative.of in SLOPES)
    ):
        return ""
    sides = [case.before or (at.mechanism, at.links), (case.mechanism, case.links)]
    if FUNCTIONS[function].needs_inverse:
        singular = [rank_loss(mechanism, links.payload) is not None for mechanism, links in sides]
        if any(singular):
            differ = isinstance(case, Change) and not all(singular)
            return "has a mass matrix that is singular on one side only" if differ else ""
    if any(task.refusal(mechanism, function, links.options) for mechanism, links in sides):
        return ""  # six rows of a task take six joints that move the frame
    if FUNCTIONS[function].needs_mass and any(
        not m.mass and (links.payload is None or m.frame(links.payload).body == BASE)
        for m, links in sides
    ):
        return ""
    method = methods.get(function)
    of = derivatives.base_function(function)
    anew = method or not isinstance(case, Change)
    if (
        anew
        and of == "mass_matrix_determinant"
        and any(rank_loss(mechanism, links.payload) for mechanism, links in sides)
    ):
        return ""  # the description decides which methods divide by pivots and refuse
    return (
        ""
        if method and any(find(method).refusal(mechanism) is not None for mechanism, _ in sides)
        else None
    )


class _Judge:
    """Results of both sides of a case, from the reference or Programs, with enough digits."""

    def __init__(
        self, case: Case, at: Setting, name: str, side: Callable[[Mechanism, Links, Scalars], Asked]
    ) -> None:
        self.case, self.at, self.name, self.side = case, at, name, side
        self.sides: dict[int, tuple[Mapping[str, Array], Asked, Asked]] = {}

    def _at(self, digits: int) -> tuple[Mapping[str, Array], Asked, Asked]:
        if digits not in self.sides:
            scalars, before = arb(digits), self.case.before or (self.at.mechanism, self.at.links)
            arguments = {name: scalars.array(values) for name, values in self.at.exact.items()}
            self.sides[digits] = (
                arguments,
                self.side(*before, scalars),
                self.side(self.case.mechanism, self.case.links, scalars),
            )
        return self.sides[digits]

    def _cancels(self, result: str) -> bool:
        """True if the terms of a result may cancel to zero; a determinant does so only for a
        singular mass matrix.
        """
        mechanism, links = self.case.before or (self.at.mechanism, self.at.links)
        return result != "det" or rank_loss(mechanism, links.payload) is not None

    def errors(self, function: str, besides: Mapping[str, Array]) -> dict[str, str]:
        """Return a description of the error of each compared result, '' for a correct one."""
        for attempt in range(DOUBLINGS + 1):
            arguments, old, new = self._at(DIGITS << attempt)
            arguments = {
                **arguments,
                **{name: old.scalars.array(values) for name, values in besides.items()},
            }
            try:
                pairs = self.case.pairs(function, arguments, old, new)
            except TooFewDigits:
                continue
            except MethodRefusal:  # a method may decline a payload, which its refusal does not see
                return {}
            except SymgenError as error:
                return {"": f"are refused: {error}"}
            distances = {
                name: _distance(*pair, old.scalars, self._cancels(name))
                for name, pair in pairs.items()
            }
            if not any(blurred for blurred, _ in distances.values()):
                return {name: error for name, (_, error) in distances.items()}
        return {"": f"are not told apart by {DIGITS << DOUBLINGS} digits"}


def _distance(
    expected: Array, computed: Array, scalars: Scalars, cancels: bool
) -> tuple[bool, str]:
    """Return (True if the balls are too wide to decide, a description of the difference)."""
    with scalars.working():
        expected, computed = (
            np.broadcast_arrays(expected, computed)
            if expected.ndim == computed.ndim
            else (expected, computed)
        )
        if expected.shape != computed.shape:
            return False, f"shapes {expected.shape} and {computed.shape}"
        least = _ball(LEAST) if cancels else flint.arb(0)
        pairs = list(zip(expected.ravel(), computed.ravel(), strict=True))
        largest = max((_upper(x) for pair in pairs for x in pair), default=flint.arb(0))
        worst = flint.arb(0)
        wide = False
        for first, second in pairs:
            size = max(_upper(first), _upper(second), largest * _ball(NOTHING))
            allowed = size * _ball(TOLERANCE) + least
            difference = flint.arb(first) - flint.arb(second)
            if difference.is_finite() and difference.abs_upper() <= allowed:
                continue
            if not difference.is_finite() or difference.abs_lower() <= allowed:
                wide = True
            else:
                worst = max(worst, difference.abs_lower() / size)
        if worst > 0:
            return False, f"off by {float(worst.mid()):.1e} of its size"
        return wide, ""


def _upper(ball: object) -> flint.arb:
    bound = flint.arb(ball).abs_upper()
    return bound if bound.is_finite() else flint.arb(0)


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))

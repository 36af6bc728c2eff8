"""Search for states that violate proved bounds: of divisors, intervals and round-off errors.

A robot and a function have several claims, one per try. An evolutionary search evaluates all rows
at a population of states in NumPy, with more digits if it maximises errors. Its best states are
then judged in ball arithmetic, and round-off in the compiled C. `NEAREST` keeps, for each kind of
claim, the largest ratio of an observed value to its bound: 1 is the bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any

import flint
import numpy as np

from symgen import methods
from symgen.certificate.boxes import subdivide
from symgen.certificate.divisors import (
    DivisorCertificate,
    arithmetic_of,
    certify_divisors,
    with_quaternions,
)
from symgen.certificate.ranges import Ranges, declared_ranges
from symgen.certificate.recognition import Recognition
from symgen.certificate.rounding import Arithmetic, Rounded, propagate
from symgen.description.loading import load
from symgen.emission import printer
from symgen.ir.program import POSITIONS, Numbers, Port, Program, evaluate
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build
from symgen.reference.precision import Array, arb, atan2
from symgen.support.errors import SymgenError
from symgen.verification.compiled import compiled_runners, print_sources
from symgen.verification.evaluating import Runner
from symgen.verification.proof.finite import multiplier_sizes
from symgen.verification.proof.round_off import bound_round_off
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions, TextOptions
from symgen.vocabulary.reals import REALS
from symgen.vocabulary.target import Target
from tests.adversary import Failure, _differentials, _robots

WORD = (
    "What symgen prove and the checks say of all states in the ranges holds at every one: lower"
    " bounds of divisors, sizes of multipliers, intervals of values, and bounds of round-off."
)

NEAREST: dict[str, float] = {}
POPULATION, GENERATIONS, KEPT = 40, 25, 6
JUDGED = 3
"""Number of best states of a search that are judged in ball arithmetic."""
EACH = 3
"""Number of claims of one kind that are tried on one Program."""
ROWS = 900
"""Number of rows above which a Program is skipped, since a try must be short."""
BUILT_IN = ("planar_arm", "scara", "puma560", "ur5")
DERIVED = 0.3
"""Fraction of tries that use a derivative of the function."""
BALLS = arb(70)
SLACK = 1e-40
"""Tolerance for irrational constants of a Program, which are rounded to 64 digits."""
FINE = 2**20
"""Numbers of a load are multiples of 1/FINE, which a float represents exactly."""

States = dict[str, Array]


@dataclass(frozen=True)
class Case:
    """A Program and the quantities that claims about it use."""

    mechanism: Mechanism
    program: Program
    options: ProgramOptions
    text: TextOptions

    @cached_property
    def ranges(self) -> Ranges:
        return declared_ranges(self.mechanism, wrenches=len(self.options.wrenches) or 1)

    @cached_property
    def certificates(self) -> list[DivisorCertificate]:
        return certify_divisors(self.mechanism, self.program, self.options, self.text)

    @cached_property
    def enclosed(self) -> dict[int, Rounded]:
        """Enclose every row over the whole box of ranges."""
        return propagate(self.program, subdivide(self.program, self.ranges, 64), self.arithmetic)

    @property
    def arithmetic(self) -> Arithmetic:
        return with_quaternions(arithmetic_of(self.program.real, self.text), self.mechanism)

    @cached_property
    def multipliers(self) -> dict[int, Fraction]:
        divisor_bounds = {
            certificate.row: certificate.lower_bound
            for certificate in self.certificates
            if certificate.lower_bound is not None
        }
        recognised = Recognition(self.mechanism, self.program, self.options)
        return multiplier_sizes(recognised, self.ranges.of, divisor_bounds, self.options.payload)

    @cached_property
    def run(self) -> Runner:
        """Compile the C of the Program."""
        mechanism, programs = self.mechanism, {self.program.function: self.program}
        target = Target(mechanism.name, mechanism.sizes, replace(self.text, checked=False))
        printed = print_sources(programs, target, {self.program.function: {}})
        return compiled_runners(programs, printed, printer().headers(programs, target), target)[
            self.program.function
        ]

    # -- states ------------------------------------------------------------------------------------

    @cached_property
    def box(self) -> dict[str, tuple[Array, Array]]:
        """Return the ends of the range of every argument, rounded inward to the real type."""
        real, box = np.dtype(REALS[self.program.real].numpy).type, {}
        for name, elements in self.ranges.for_program(self.program).items():
            low = [_inside(real, Fraction(element[0]), np.inf) for element in elements]
            high = [_inside(real, Fraction(element[1]), -np.inf) for element in elements]
            box[name] = np.array(low), np.array(high)
        return box

    @property
    def size(self) -> int:
        return sum(
            _SHARES if name == "payload" else len(low) for name, (low, _) in self.box.items()
        )

    def states(self, shares: Array) -> States:
        """Map shares (count, size) from 0 to 1 to states in the box; loads are physically possible.

        Quaternions have unit length up to round-off in the real type.
        """
        real, states, at = np.dtype(REALS[self.program.real].numpy).type, {}, 0
        for name, (low, high) in self.box.items():
            count = _SHARES if name == "payload" else len(low)
            share = shares[:, at : at + count]
            at += count
            states[name] = (
                _loads(share)
                if name == "payload"
                else np.clip((low + share * (high - low)).astype(real).astype(float), low, high)
            )
        for share in self.turns(states):
            length = np.sqrt((share * share).sum(axis=1, keepdims=True))
            share[:] = np.where(
                length > 0, share / np.where(length > 0, length, 1.0), (0.0, 0.0, 0.0, 1.0)
            ).astype(real)
        return states

    def true(self, states: States, enter: Callable[[Array], Any]) -> dict[str, Any]:
        """Return the states for exact results, with every quaternion normalised."""
        exact = {name: enter(values) for name, values in states.items()}
        for turn in self.turns(exact):
            turn[:] = turn / np.sqrt((turn * turn).sum(axis=1))[:, None]
        return exact

    def turns(self, states: Mapping[str, Any]) -> list[Any]:
        """Views of all unit quaternions among states, (count, 4) each."""
        return [
            states[name][:, first : first + 4]
            for name in POSITIONS
            if name in states
            for first in self.mechanism.quaternions
        ]

    # -- all rows ----------------------------------------------------------------------------------

    def rows(self, states: dict[str, Any], numbers: Numbers) -> list[Any]:
        every = range(len(self.program.rows))
        outputs = (Port("rows", (len(every),), tuple(every)),)
        count = len(next(iter(states.values())))
        columns = {name: [*values.reshape(count, -1).T] for name, values in states.items()}
        with np.errstate(all="ignore"):
            values = evaluate(replace(self.program, outputs=outputs), columns, numbers)["rows"]
        return [np.broadcast_to(np.asarray(row), (count,)) for row in values]

    def machine(self, states: States) -> list[Any]:
        """Evaluate all rows in the real type; sines are rounded from double or the library's."""
        real = np.dtype(REALS[self.program.real].numpy).type
        sine, cosine = (np.frompyfunc(function, 1, 1) for function in (math.sin, math.cos))

        def through(function: Any) -> Callable[[Any], Any]:
            return lambda x: np.asarray(function(np.asarray(x, dtype=float)), dtype=real)

        numbers = Numbers(
            lambda x: real(REALS[self.program.real].rounded(x)),
            through(sine),
            through(cosine),
            np.sqrt,
            np.log,
            np.arctan2,
        )
        return self.rows({name: values.astype(real) for name, values in states.items()}, numbers)

    def closer(self, states: States) -> list[Any]:
        """Evaluate all rows with more digits than the real type."""
        wide = float if self.program.real == "float" else np.longdouble

        def constant(value: Fraction) -> Any:
            high = float(value)
            return wide(high) + wide(float(value - Fraction(high)))

        return self.rows(
            self.true(states, lambda x: x.astype(wide)),
            Numbers(constant, np.sin, np.cos, np.sqrt, np.log, atan2),
        )

    def exact(self, states: States) -> list[Any]:
        with BALLS.working():
            return self.rows(
                self.true(states, BALLS.array),
                Numbers(BALLS.constant, np.sin, np.cos, np.sqrt, np.log, atan2),
            )


_SHARES = 19
"""Number of shares that make a load: its mass and six points."""


def _inside(real: Any, end: Fraction, inward: float) -> float:
    nearest = real(float(end))
    beyond = Fraction(float(nearest)) < end if inward > 0 else Fraction(float(nearest)) > end
    return float(np.nextafter(nearest, real(inward)) if beyond else nearest)


def _loads(shares: Array) -> Array:
    """Return ten numbers of six equal point masses, with a margin so that rounding keeps them
    valid.
    """
    loads = []
    for share in shares:
        mass = max(round(5 * share[0] * FINE), 1) / FINE
        points = (share[1:].reshape(6, 3) * 2 - 1) * 0.19
        spread = points.T @ points * mass / 6
        points *= min(1.0, math.sqrt(0.19 / max(np.trace(spread), 1e-9)))
        spread = points.T @ points * mass / 6
        moments = np.trace(spread) * np.eye(3) - spread + 32 / FINE * np.eye(3)
        entries = [
            mass,
            *points.mean(axis=0),
            *(moments[i, k] for i in range(3) for k in range(i, 3)),
        ]
        loads.append([round(x * FINE) / FINE for x in entries])
    return np.array(loads)


# -- claims ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A claim: `share` estimates value/bound at many states, `exactly` computes it at one state."""

    kind: str
    what: str
    share: Callable[[States], Array]
    exactly: Callable[[States], float]


def _above(ball: Any) -> float:
    """Return a lower bound of the ball as a float; above 1, the claim is refuted."""
    return float(flint.arb(ball).lower())


def claims(case: Case, random: Random) -> Iterator[Claim]:
    """Yield some claims of each kind, about random rows."""
    certified = [
        certificate for certificate in case.certificates if certificate.lower_bound is not None
    ]
    for certificate in random.sample(certified, min(EACH, len(certified))):
        yield _divisor(case, certificate)
    sizes = list(case.multipliers.items()) if certified else []
    for row, bound in random.sample(sizes, min(EACH, len(sizes))):
        yield _multiplier(case, row, bound)
    outputs = [row for port in case.program.outputs for row in port.rows]
    bounded_rows = [
        row
        for row, enclosure in case.enclosed.items()
        if case.program.rows[row].op not in ("const", "input")
        and np.isfinite(enclosure.error).all()
        and np.isfinite(enclosure.exact.size).all()
    ]
    chosen = [row for row in outputs if row in bounded_rows][:EACH] + random.sample(
        bounded_rows, min(EACH, len(bounded_rows))
    )
    for row in dict.fromkeys(chosen):
        yield _value(case, row)
        yield _error(case, row)
    for port in case.program.outputs:
        yield _round_off(case, port, random.randrange(port.size))


def _divisor(case: Case, certificate: DivisorCertificate) -> Claim:
    assert certificate.exact_bound is not None
    assert certificate.lower_bound is not None
    exact, least = certificate.exact_bound, certificate.lower_bound

    def exactly(states: States) -> float:
        true, got = (
            case.exact(states)[certificate.row],
            float(case.machine(states)[certificate.row][0]),
        )
        with BALLS.working():
            share = _above(BALLS.constant(exact) * (1 - SLACK) / true[0])
        return max(share, float(least) / got if got > 0 else math.inf)

    return Claim(
        "divisor",
        f"divisor of row {certificate.row} is at least {float(least):.6g} ({float(exact):.6g}"
        " before rounding)",
        lambda states: (
            float(exact) / np.maximum(case.closer(states)[certificate.row].astype(float), 1e-300)
        ),
        exactly,
    )


def _multiplier(case: Case, row: int, bound: Fraction) -> Claim:
    return Claim(
        "multiplier",
        f"row {row} is at most {float(bound):.6g}",
        lambda states: np.abs(case.closer(states)[row]).astype(float) / float(bound),
        lambda states: float(abs(Fraction(float(case.machine(states)[row][0]))) / bound),
    )


def _value(case: Case, row: int) -> Claim:
    exact = case.enclosed[row].exact
    low, high = Fraction(float(exact.lo.min())), Fraction(float(exact.hi.max()))
    middle, half = (low + high) / 2, max((high - low) / 2, Fraction(1, 10**300))

    def exactly(states: States) -> float:
        with BALLS.working():
            return _above(
                abs(case.exact(states)[row][0] - BALLS.constant(middle)) / BALLS.constant(half)
            )

    return Claim(
        "value",
        f"row {row} lies between {float(low):.9g} and {float(high):.9g}",
        lambda states: np.abs(case.closer(states)[row].astype(float) - float(middle)) / float(half),
        exactly,
    )


def _error(case: Case, row: int) -> Claim:
    bound = float(case.enclosed[row].error.max()) or 1e-300

    def exactly(states: States) -> float:
        with BALLS.working():
            return _above(
                abs(case.exact(states)[row][0] - float(case.machine(states)[row][0])) / bound
            )

    return Claim(
        "error of a row",
        f"row {row} is off by at most {bound:.6g}",
        lambda states: (
            np.abs(case.closer(states)[row] - case.machine(states)[row]).astype(float) / bound
        ),
        exactly,
    )


def _round_off(case: Case, port: Port, element: int) -> Claim:
    """Claim the bound of `symgen prove` for the compiled C; an infinite bound claims nothing."""
    row, arithmetic, ranges = port.rows[element], case.arithmetic, case.ranges
    over = bound_round_off(
        case.program, ranges, case.states(np.full((1, case.size), 0.5)), arithmetic
    )

    def bound(states: States) -> Array:
        bounds = (
            over if over.everywhere else bound_round_off(case.program, ranges, states, arithmetic)
        )
        return bounds.bound[port.name][:, element]

    def share(states: States) -> Array:
        return np.abs(case.closer(states)[row] - case.machine(states)[row]).astype(
            float
        ) / np.maximum(bound(states), 1e-300)

    def exactly(states: States) -> float:
        got, most = case.run(states)[port.name].reshape(-1)[element], float(bound(states)[0])
        if math.isinf(most):
            return 0.0
        with BALLS.working():
            return _above(abs(case.exact(states)[row][0] - float(got)) / max(most, 1e-300))

    return Claim(
        "round-off",
        f"{port.name}[{element}] is as near as {'everywhere' if over.everywhere else 'each state'}"
        " says",
        share,
        exactly,
    )


# -- search --------------------------------------------------------------------------------------


def climbed(case: Case, claim: Claim, seed: str) -> tuple[float, States]:
    """Search the state with the largest exact ratio to the bound; return ratio and state."""
    random = np.random.default_rng([*seed.encode()])
    shares = random.random((POPULATION, case.size))
    shares[::3] = (
        np.round(shares[::3] * 4) / 4
    )  # ends and quarters of the ranges, which are right angles for a full turn
    for generation in range(GENERATIONS):
        reached = np.nan_to_num(claim.share(case.states(shares)), nan=-1.0, posinf=1e300)
        shares = shares[np.argsort(-reached, kind="stable")][:KEPT]
        if generation + 1 < GENERATIONS:
            step = 0.5 * 0.75**generation if generation % 3 else 0.3
            children = shares[random.integers(0, KEPT, POPULATION - KEPT)]
            partners = shares[random.integers(0, KEPT, POPULATION - KEPT)]
            children = np.where(random.random(children.shape) < 0.15, partners, children)
            is_mutated = random.random(children.shape) < max(0.25, 1.5 / case.size)
            children = np.clip(
                children + is_mutated * step * random.standard_normal(children.shape), 0, 1
            )
            is_snapped = random.random(children.shape) < 0.03
            shares = np.concatenate(
                [shares, np.where(is_snapped, np.round(children * 4) / 4, children)]
            )
    best = (-1.0, case.states(shares[:1]))
    for k in range(JUDGED):
        states = case.states(shares[k : k + 1])
        exact = claim.exactly(states)
        best = (exact, states) if exact > best[0] or exact != exact else best
    return best


def tries(seed: int) -> Iterator[Failure | None]:
    """Try one claim at each step; a robot has about a dozen."""
    for count in itertools.count():
        random = Random(f"certificates/{seed}/{count}")
        case = _case(random)
        if case is not None:
            yield from _attacked(case, random, f"{seed}/{count}")


def _case(random: Random) -> Case | None:
    """Draw a case; None if symgen refuses it or if the Program is long."""
    try:
        mechanism = (
            load(random.choice(BUILT_IN)) if random.random() < 0.1 else _robots.mechanism(random)
        )
        options, text = _robots.options(random, mechanism)
        function = random.choice(["forward_dynamics", "mass_matrix_solve", *FUNCTIONS])
        method = random.choice([None, *methods.providers(function)])
        derivative = _differentials.some(
            random, function, _differentials.relevant_arguments(mechanism, options)
        )
        program = build.build_program(
            mechanism,
            derivative if derivative and random.random() < DERIVED else function,
            method,
            options,
        )
        declared_ranges(mechanism).for_program(program)
    except SymgenError:
        return None
    return Case(mechanism, program, options, text) if len(program.rows) <= ROWS else None


def _attacked(case: Case, random: Random, seed: str) -> Iterator[Failure | None]:
    label = f"{case.program.function}={case.program.method} with {case.options} and {case.text}"
    for number, claim in enumerate(claims(case, random)):
        reached, states = climbed(case, claim, f"{seed}/{number}")
        NEAREST[claim.kind] = max(NEAREST.get(claim.kind, 0.0), reached)
        if reached <= 1:
            yield None
            continue
        where = "".join(f"{name} = {values[0].tolist()!r}\n" for name, values in states.items())
        yield Failure(
            f"{claim.what}, but {reached!r} of that {claim.kind} is reached ({label})",
            {
                "robot.py": _robots.as_python(case.mechanism),
                "state.txt": where,
                "asked.txt": label + "\n",
            },
        )

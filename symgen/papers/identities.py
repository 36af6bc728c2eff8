"""Check of every equation of the papers on one robot, and of symgen's programs against the papers'
operators.

Equations are evaluated in exact rationals at random states. For a robot with few coordinates they
are evaluated over rational functions of the coordinates too, which proves them for every state.
Programs are evaluated in balls of 80 digits at one state.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from flint import arb as ball

from symgen.derivation.model import completion_note
from symgen.ir.program import Numbers, evaluate
from symgen.mechanism.drives import NO_DRIVE
from symgen.mechanism.mechanism import Mechanism
from symgen.papers import rk
from symgen.papers.blocks import Matrix
from symgen.papers.chain import Chain, State, chain, random_state
from symgen.papers.rational_functions import TooManyProducts
from symgen.papers.symbolic import SymbolicRobot
from symgen.pipeline.build import program
from symgen.reference.precision import Array, arb
from symgen.reference.states import draw_states
from symgen.support.errors import MechanismError, RequestError
from symgen.vocabulary.names import nearest

PAPERS = ("rk", "sa", "lc", "wc", "ff")
"""Names of the papers: modules of `symgen.papers`."""
INVERTING = ("wc", "ff")
"""Papers that divide by the inertia of every link."""
STATES = 3
MOST_SYMBOLIC = 3
"""Most velocities of a robot whose equations are evaluated over rational functions."""
MOST_PRODUCTS = 2_000_000
"""Most products of terms of the equations of one paper over rational functions."""
DIGITS = 80
NO_BREAK = "\N{NO-BREAK SPACE}"
COMPARED_DIGITS = 40
"""Digits to which a program must agree with the operators."""


@cache
def paper(name: str) -> ModuleType:
    """Return the module of a paper; UnknownName lists the names."""
    return import_module(f"symgen.papers.{nearest(name, PAPERS, 'paper')}")


@dataclass(frozen=True)
class EquationResult:
    """Result of one equation: the random states at which it `fails`, and whether it
    `fails_symbolically` (None: not computed).
    """

    number: str
    statement: str
    says: str
    fails: tuple[int, ...]
    fails_symbolically: bool | None

    @property
    def holds(self) -> bool:
        """True if it holds wherever it was computed."""
        return not self.fails and not self.fails_symbolically

    def facts(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "number": self.number,
            "statement": self.statement,
            "holds": self.holds,
            "for_every_state": self.fails_symbolically is False,
        }


@dataclass(frozen=True)
class PaperResult:
    """Results of a paper's equations; `refusal` says why the paper does not cover the robot."""

    name: str
    source: str
    equations: tuple[EquationResult, ...]
    refusal: str = ""

    @property
    def symbolic(self) -> int:
        """Number of equations that were computed over rational functions."""
        return sum(result.fails_symbolically is not None for result in self.equations)

    @property
    def holding(self) -> int:
        """Number of equations that hold."""
        return sum(result.holds for result in self.equations)

    def facts(self) -> dict[str, Any]:
        """Return the results as JSON."""
        return {
            "source": self.source,
            "not_available": self.refusal or None,
            "equations": [result.facts() for result in self.equations],
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of the printed text."""
        if self.refusal:
            yield f"{self.name}  not available: {self.refusal}"
            return
        symbolic = f"; {self.symbolic} of them for every state" if self.symbolic else ""
        yield f"{self.name}  {self.source}: {self.holding} of {len(self.equations)} hold{symbolic}"
        proved_numbers = (
            item.number.replace(" ", NO_BREAK) for item in self.equations if item.holds
        )
        for line in textwrap.wrap(" ".join(proved_numbers), 96):
            yield f"    {line.replace(NO_BREAK, ' ')}"
        for item in self.equations:
            if not item.holds:
                yield f"    FAILS: {item.number}  {item.statement}"


@dataclass(frozen=True)
class Agreement:
    """Agreement of a program's result with a formula of the papers, in digits."""

    function: str
    formula: str
    digits: int

    @property
    def holds(self) -> bool:
        """True if they agree to COMPARED_DIGITS."""
        return self.digits >= COMPARED_DIGITS


@dataclass(frozen=True)
class Identities:
    """Result of `prove_identities`; `str` is the text that `symgen prove --identities` prints."""

    robot: str
    states: int
    rounded: bool
    papers: tuple[PaperResult, ...]
    programs: tuple[Agreement, ...]
    left_out: str = ""
    """Parts of the robot that the papers do not have, as `left_out` states them."""
    completed: tuple[str, ...] = ()
    """Names of the links to which the papers that invert every link's inertia add moments
    (`Chain.completed`)."""

    @property
    def holds(self) -> bool:
        """True if every equation holds and every program agrees."""
        return all(paper.holding == len(paper.equations) for paper in self.papers) and all(
            item.holds for item in self.programs
        )

    @property
    def inverting(self) -> list[str]:
        """The papers among the results that invert the inertia of every link."""
        return [item.name for item in self.papers if item.name in INVERTING]

    def facts(self) -> dict[str, Any]:
        """Return the results as JSON."""
        return {
            "robot": self.robot,
            "states": self.states,
            "rotations_rounded": self.rounded,
            "left_out": self.left_out or None,
            "moments_completed": list(self.completed),
            "holds": self.holds,
            "papers": {paper.name: paper.facts() for paper in self.papers},
            "programs": [asdict(item) for item in self.programs],
        }

    def __str__(self) -> str:
        lines = [
            f"equations of the papers on '{self.robot}', exact rationals at {_states(self.states)}"
        ]
        if self.rounded:
            lines.append(
                "  rotations of the description that are irrational were replaced by rational ones"
                " within 1e-9"
            )
        if self.left_out:
            lines.append(f"  {self.left_out}")
        if self.completed:
            lines.append(f"  {' and '.join(self.inverting)}: {completion_note(self.completed)}")
        lines += [line for paper in self.papers for line in paper.lines()]
        if self.programs:
            lines.append("programs of symgen against the operators, at one state:")
            lines += [
                f"    {item.function:24} {item.formula:36} agree to {item.digits} digits"
                + ("" if item.holds else "  FAILS")
                for item in self.programs
            ]
        return "\n".join(lines)


def prove_identities(
    mechanism: Mechanism,
    papers: Sequence[str] | None = None,
    states: int = STATES,
    progress: Callable[[str, int, int], None] = lambda step, done, total: None,
    programs: bool = True,
) -> Identities:
    """Check the equations of the papers (default: all) on a robot, and `programs` against them.

    Drives, gravity compensation and loop closures are left out; mimic joints count as independent.
    A paper that does not cover the robot is reported with the reason. RequestError for fewer states
    than one, and if none of the papers covers the robot. UnknownName for a name that is no paper.
    """
    if states < 1:
        raise RequestError(f"{states} states prove nothing; use at least one")
    modules = {name: paper(name) for name in papers or PAPERS}
    bodies = without_drives(mechanism)
    chains = [chain(bodies, random_state(bodies, seed)) for seed in range(states)]
    symbolic = SymbolicRobot(bodies, MOST_PRODUCTS) if bodies.nv <= MOST_SYMBOLIC else None
    results = []
    for done, (name, module) in enumerate(modules.items()):
        progress(f"equations of {module.SOURCE}", done + 1, len(modules) + programs)
        results.append(_checked(name, module, chains, symbolic))
    if all(paper.refusal for paper in results):
        raise RequestError("; ".join(paper.refusal for paper in results))
    agreements: tuple[Agreement, ...] = ()
    if programs:
        progress("programs against the operators", len(modules) + 1, len(modules) + 1)
        agreements = compare_programs(bodies)
    return Identities(
        mechanism.name,
        states,
        chains[0].rounded,
        tuple(results),
        agreements,
        left_out(mechanism),
        chains[0].completed_links if modules.keys() & INVERTING else (),
    )


def _states(count: int) -> str:
    return "1 random state" if count == 1 else f"{count} random states"


def left_out(mechanism: Mechanism) -> str:
    """Return what `without_drives` leaves out of this robot, as a clause, or ""."""
    present_by_name = {
        "drives": any(joint.drive != NO_DRIVE for joint in mechanism.joints),
        "gravity compensation": any(
            body != body.without_gravity_compensation for body in mechanism.bodies
        ),
        "loop closures": bool(mechanism.loops),
    }
    present = [name for name, is_present in present_by_name.items() if is_present]
    clauses = [f"{' and '.join(present)} are left out"] if present else []
    if mechanism.coupled:
        clauses.append("mimic joints count as independent")
    return "; ".join(clauses)


def without_drives(mechanism: Mechanism) -> Mechanism:
    """Return bodies and joints alone: no drives, gravity compensation, closures or couplings."""
    return replace(
        mechanism.uncoupled,
        joints=tuple(replace(joint, drive=NO_DRIVE) for joint in mechanism.joints),
        bodies=tuple(body.without_gravity_compensation for body in mechanism.bodies),
        loops=(),
        start=(),
        independent=(),
        actuated=(),
    )


def _checked(
    name: str, module: ModuleType, chains: Sequence[Chain], symbolic: SymbolicRobot | None
) -> PaperResult:
    """Return the results of the equations of one paper."""
    try:
        operators = [module.Operators(links) for links in chains]
        fails = [
            tuple(n for n, o in enumerate(operators) if not equation.holds(o))
            for equation in module.EQUATIONS
        ]
    except RequestError as error:
        return PaperResult(name, module.SOURCE, (), str(error))
    fails_symbolically = _checked_symbolically(module, symbolic)
    return PaperResult(
        name,
        module.SOURCE,
        tuple(
            EquationResult(
                equation.number,
                equation.statement,
                equation.says,
                failing_states,
                fails_symbolically.get(equation.number),
            )
            for equation, failing_states in zip(module.EQUATIONS, fails, strict=True)
        ),
    )


def _checked_symbolically(module: ModuleType, symbolic: SymbolicRobot | None) -> Mapping[str, bool]:
    """Return which equations fail over rational functions; those that take too many products are
    missing.
    """
    fails: dict[str, bool] = {}
    if symbolic is None:
        return fails
    symbolic.field.products = 0
    try:
        o = module.Operators(symbolic.chain)
        for equation in module.EQUATIONS:
            fails[equation.number] = not equation.holds(o)
    except TooManyProducts:
        pass
    return fails


# -- programs --------------------------------------------------------------------------------------


def ball_state(mechanism: Mechanism, q: Sequence[Any]) -> State:
    """Return a state over balls, from coordinates in the order of q. Call it in the working
    precision.
    """
    return State([(x / 2).tan() for x in q], list(q), ball, inexact=True)


def compare_programs(mechanism: Mechanism) -> tuple[Agreement, ...]:
    """Compare results of symgen's programs with formulas of RK, in balls at one state.

    The mechanism has no drives. Functions that it refuses are left out.
    """
    scalars = arb(DIGITS)
    drawn = draw_states(mechanism, 1, seed=1)
    with scalars.working():
        at = {name: scalars.array(values)[0] for name, values in drawn.items() if len(values)}
        o = rk.Operators(chain(mechanism, ball_state(mechanism, list(at["q"]))))
        spans = [len(link.axes) for link in o.links]
        rates, torques = (np.split(at[name], np.cumsum(spans)[:-1]) for name in ("v", "tau"))
        motion = rk.Motion(o, rates, torques, {})
        formulas: dict[str, tuple[str, Callable[[], Matrix]]] = {
            "mass_matrix": ("H phi M phi^T H^T  (3.20)", lambda: o.mass_matrix),
            "bias_force": ("H phi (M phi^T a + b)  (3.23)", lambda: motion.bias),
            "inverse_mass_matrix": (
                "(1-H Psi L)^T D^-1 (1-H Psi L)  (4.16)",
                lambda: o.whitening.T @ o.D_inverse @ o.whitening,
            ),
            "forward_dynamics": ("algorithm FD4  (5.15)", lambda: motion.FD4),
        }
        return tuple(
            Agreement(function, formula, digits)
            for function, (formula, compute) in formulas.items()
            for digits in _digits(mechanism, function, at, o, compute)
        )


def _digits(
    mechanism: Mechanism,
    function: str,
    at: Mapping[str, Array],
    o: rk.Operators,
    compute: Callable[[], Matrix],
) -> list[int]:
    """Return the number of digits to which a program and a formula agree; [] if the function is
    refused.
    """
    try:
        compiled = program(mechanism, function)
    except (RequestError, MechanismError):
        return []
    numbers = Numbers(
        lambda x: arb(DIGITS).constant(x), np.sin, np.cos, np.sqrt, np.log, lambda y, x: y.atan2(x)
    )
    arguments = {port.name: list(at[port.name]) for port in compiled.inputs}
    (values,) = evaluate(compiled, arguments, numbers).values()
    expected = compute().entries
    order = _velocity_order(o)
    expected = (
        expected[np.ix_(order, order)]
        if expected.shape[1] > 1 or len(values) > len(order)
        else expected[order]
    )
    differences = [abs(ball(x) - y) for x, y in zip(values, expected.flat, strict=True)]
    scale = max(abs(ball(y)).upper() for y in expected.flat)
    if scale == 0:
        return [DIGITS]
    error = float(max(x.upper() for x in differences) / scale)
    return [DIGITS if error == 0 else min(DIGITS, int(-np.log10(error)))]


def _velocity_order(o: rk.Operators) -> list[int]:
    """Return the index in an operator's columns of every entry of v."""
    starts: dict[int, int] = {}
    start = 0
    for i in o.order:
        starts[i] = start
        start += len(o.links[i].axes)
    return [starts[i] + c for i, link in enumerate(o.links) for c in range(len(link.axes))]

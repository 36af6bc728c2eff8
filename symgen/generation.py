"""The one way through: description → model → method → derivation → Program → passes → C.

`generate` is that line, written out; `program` stops before the C.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from typing import Any

from symgen import constants, methods, passes
from symgen.derivation import Derivation, TooManyRows
from symgen.errors import RequestError
from symgen.functions import FUNCTIONS, PAYLOAD, Function
from symgen.ir import Program
from symgen.linkage import Linkage
from symgen.loading import load
from symgen.mechanism import Mechanism, nearest
from symgen.model import Model, reframe, regroup

ROW_BUDGET = 50_000
INVERSE_ON_REQUEST_ABOVE = 20


@dataclass(frozen=True)
class Options:
    """What changes the programs of one mechanism: precision, the frame of interest, run-time payload, trigonometry."""

    real: str = "double"
    frame: str | None = None
    payload: str | None = None
    trig: str = "libm"

    def __post_init__(self) -> None:
        nearest(self.real, ("double", "float"), "real type")
        nearest(self.trig, ("libm", "macro"), "kind of trigonometry")


@lru_cache(maxsize=16)
def models(mechanism: Mechanism) -> tuple[Model, Model]:
    """(in the chosen frames, and with inertia moved to the parents besides)."""
    with constants.precision():
        plain = reframe(mechanism)
        return plain, regroup(plain)


def tip(mechanism: Mechanism) -> str:
    """The frame that `forward_kinematics` and `jacobian` speak of unless told: the last link declared at the most joints' distance."""
    def depth(body: int) -> int:
        return 0 if body < 0 else 1 + depth(mechanism.joints[body].parent)

    return max(enumerate(mechanism.frames), key=lambda f: (depth(f[1].body), f[0]))[1].name


def derive(mechanism: Mechanism, function: str, method: str, options: Options, budget: int = ROW_BUDGET) -> Program:
    """The Program of one function by one method. Raises TooManyRows when the derivation outgrows `budget` rows."""
    what = FUNCTIONS[function]
    build = methods.derivation(method, function)
    plain, regrouped = models(mechanism)
    model = regrouped if methods.regroups(method) else plain
    with constants.precision():
        arguments = list(what.arguments)
        if options.payload is not None and not what.needs_frame:
            arguments.append(PAYLOAD)
        shapes = {a.name: a.sizes(mechanism.nq, mechanism.nv) for a in arguments}
        home = Derivation({a.name: _size(shapes[a.name]) for a in arguments}, budget)
        frame = model.frame(mechanism, options.frame or tip(mechanism)) if what.needs_frame else None
        payload = model.frame(mechanism, options.payload) if options.payload and not what.needs_frame else None
        linkage = Linkage(model, home, frame, payload)
        results = build(linkage)
        named = [(r.name, r.sizes(mechanism.nq, mechanism.nv), atoms) for r, atoms in zip(what.results, results, strict=True)]
        program = home.freeze(function, method, named, shapes)
    program = passes.run(program)
    return _without_idle_payload(program, options)


def _size(shape: Sequence[int]) -> int:
    total = 1
    for s in shape:
        total *= s
    return total


def _without_idle_payload(program: Program, options: Options) -> Program:
    """A function that does not feel the payload does not take it; `real` is noted."""
    from dataclasses import replace

    inputs = program.inputs
    if inputs and inputs[-1].name == PAYLOAD.name:
        last = len(inputs) - 1
        if not any(row.op == "input" and row.value[0] == last for row in program.rows):
            inputs = inputs[:-1]
    return replace(program, inputs=inputs, real=options.real)


def methods_for(mechanism: Mechanism, function: str) -> tuple[str, ...]:
    """The methods that can compute a function."""
    nearest(function, FUNCTIONS, "function")
    return methods.providers(function)


def best(mechanism: Mechanism, function: str, options: Options) -> Program:
    """By the method with the fewest operations for this robot (mul + add + div; ties by name)."""
    found: Program | None = None
    budget = ROW_BUDGET
    for method in methods_for(mechanism, function):
        try:
            candidate = derive(mechanism, function, method, options, budget)
        except TooManyRows:
            continue
        if found is None or candidate.cost < found.cost:
            found = candidate
            # A derivation shrinks in the passes, but never to a third: a longer one cannot win any more.
            budget = min(budget, 3 * len(candidate.rows))
    if found is None:
        raise RequestError(
            f"{function} of '{mechanism.name}' ({mechanism.nv} joints) needs more than {ROW_BUDGET} rows by every method; "
            "lock joints that do not matter with --lock, or ask for other functions with -f"
        )
    return found


def program(robot: Mechanism | str | PathLike[str], function: str, method: str | None = None, real: str = "double",
            frame: str | None = None, payload: str | None = None, trig: str = "libm") -> Program:
    """One function of one robot as a Program.

    `method` None chooses the one with the fewest operations. `frame` and `payload` name declared links.
    Raises RequestError for an unknown function, method or link, or a program beyond the row budget.
    """
    mechanism = robot if isinstance(robot, Mechanism) else load(robot)
    return _program(mechanism, nearest(function, FUNCTIONS, "function"), method, Options(real, frame, payload, trig))


@lru_cache(maxsize=256)
def _program(mechanism: Mechanism, function: str, method: str | None, options: Options) -> Program:
    if method is None:
        return best(mechanism, function, options)
    try:
        return derive(mechanism, function, method, options)
    except TooManyRows:
        raise RequestError(f"{function} of '{mechanism.name}' by {method} needs more than {ROW_BUDGET} rows; take another method or lock joints") from None


def requested(mechanism: Mechanism, functions: Iterable[str] | None) -> dict[str, str | None]:
    """{function: method or None} from names like "mass_matrix" or "forward_dynamics=riccati"; None means every function."""
    if functions is None:
        chosen: dict[str, str | None] = {name: None for name in FUNCTIONS}
        if mechanism.nv > INVERSE_ON_REQUEST_ABOVE:
            del chosen["inverse_mass_matrix"]
        return chosen
    chosen = {}
    for item in functions:
        name, _, method = item.partition("=")
        chosen[nearest(name, FUNCTIONS, "function")] = method or None
    return chosen


def programs(mechanism: Mechanism, functions: Iterable[str] | None = None, options: Options | None = None) -> dict[str, Program]:
    """The Programs of the requested functions, in the order of `symgen.functions`."""
    wanted = requested(mechanism, functions)
    options = options or Options()
    return {name: _program(mechanism, name, wanted[name], options) for name in FUNCTIONS if name in wanted}

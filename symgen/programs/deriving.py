"""One function of one robot by one method: its derivation, frozen into a Program that the passes have been over."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import lru_cache

from symgen import methods, passes
from symgen.derivation import constants
from symgen.derivation.constants import LostDigits
from symgen.derivation.linkage import Linkage
from symgen.derivation.model import Model, reframe, regroup
from symgen.derivation.scalars import Derivation, TooManyRows
from symgen.description.tip import tip
from symgen.errors import SymgenError
from symgen.functions import FUNCTIONS
from symgen.ir import Program
from symgen.mechanism import Mechanism
from symgen.options import ProgramOptions

ROW_BUDGET = 50_000
"""Rows of a Program beyond which a C compiler takes a minute and more; a derivation may be four times as long."""


def models(mechanism: Mechanism) -> tuple[Model, Model]:
    """(in the chosen frames, and with inertia moved to the parents besides)."""
    return _models(mechanism, constants.digits())


@lru_cache(maxsize=16)
def _models(mechanism: Mechanism, digits: int) -> tuple[Model, Model]:
    """At the working precision that `digits` names."""
    with constants.precision():
        plain = reframe(mechanism)
        return plain, regroup(plain)


def derive(mechanism: Mechanism, function: str, method: str, options: ProgramOptions, budget: int = ROW_BUDGET,
           longest: int | None = None, dearest: float | None = None) -> Program:
    """The Program of one function by one method.

    Raises TooManyRows when it has more than `budget` rows, its derivation more than `longest` (four times as many), or more
    than `dearest` operations once nothing is repeated; LostDigits where its constants lose theirs however many they start with.
    """
    return replace(Attempt(mechanism, function, method, options).program(budget, longest, dearest), real=options.real)


class Attempt:
    """One function by one method, as far as somebody has asked for it: what is done is kept, and so is what was refused.

    The answer does not depend on who asked before: limits that are given again are held against the same figures.
    """

    def __init__(self, mechanism: Mechanism, function: str, method: str, options: ProgramOptions) -> None:
        self.mechanism, self.function, self.method, self.options = mechanism, function, method, options
        self.length = self.cost = 0
        """Rows of the derivation, or a number that it outgrew; operations once nothing is repeated."""
        self.begun: Program | None = None
        self.finished: Program | None = None
        self.refused: SymgenError | None = None

    def program(self, budget: int | None = None, longest: int | None = None, dearest: float | None = None) -> Program:
        """See `derive`; raises what the derivation raised."""
        budget = budget or ROW_BUDGET
        longest = longest or 4 * budget
        if self.refused is not None:
            raise copy(self.refused)
        if self.length > longest:
            raise TooManyRows(f"the derivation outgrew {longest} rows")
        with _collector_at_rest():
            if self.begun is None and self.finished is None:
                self._begin(longest)
            if dearest is not None and self.cost > dearest:
                raise TooManyRows(f"{self.cost} operations")
            if self.finished is None:
                assert self.begun is not None
                if len(self.begun.rows) > 2 * budget:   # the passes behind the first do not halve it
                    raise TooManyRows(f"{len(self.begun.rows)} rows")
                finished = passes.finish(self.begun)
                self.finished, self.begun = _without_idle(finished, len(FUNCTIONS[self.function].arguments)), None
        if len(self.finished.rows) > budget:
            raise TooManyRows(f"{len(self.finished.rows)} rows")
        return self.finished

    def _begin(self, longest: int) -> None:
        try:
            frozen = _derivation(self.mechanism, self.function, self.method, self.options, longest)
        except TooManyRows:
            self.length = longest + 1
            raise
        except SymgenError as error:
            self.refused = copy(error)   # without the frames that it came through
            raise
        self.length = len(frozen.rows)
        self.begun = passes.begin(frozen)
        self.cost = self.begun.cost


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """A derivation makes rows by the ten thousand and drops none: going through them again takes a third of its time."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


_attempt = lru_cache(maxsize=256)(Attempt)


def felt(mechanism: Mechanism, function: str, options: ProgramOptions) -> ProgramOptions:
    """The options as far as they change the rows of a function's Program, so that what is alike is derived once."""
    what = FUNCTIONS[function]
    links = {a.name: getattr(options, a.name) for a in what.feels}
    return ProgramOptions(frame=options.frame or tip(mechanism) if what.needs_frame else None, **links)


def once(mechanism: Mechanism, function: str, method: str, options: ProgramOptions, longest: int | None = None,
          dearest: float | None = None) -> Program:
    """`derive`, each derivation but once in a process: for every real type, and for methods that share it."""
    shared = methods.alike(method, function, mechanism)
    made = _attempt(mechanism, function, shared, felt(mechanism, function, options))
    return replace(made.program(longest=longest, dearest=dearest), method=method, real=options.real)


def _derivation(mechanism: Mechanism, function: str, method: str, options: ProgramOptions, longest: int) -> Program:
    """The rows of one method, as it records them, in constants of as many digits as they take."""
    return constants.sharpened(lambda: _recorded(mechanism, function, method, options, longest))


def _recorded(mechanism: Mechanism, function: str, method: str, options: ProgramOptions, longest: int) -> Program:
    what = FUNCTIONS[function]
    build = methods.derivation(method, function)
    plain, regrouped = models(mechanism)
    # A joint feels no difference after regrouping, but what crosses it does: a wrench bears the link's own weight.
    model = regrouped if methods.regroups(method) and not what.own_inertia else plain
    with constants.precision():
        felt = {a: options.at_run_time[a.name] for a in what.feels if a.name in options.at_run_time}
        arguments = [*what.arguments, *felt]
        shapes = {a.name: a.sizes(mechanism.nq, mechanism.nv) for a in arguments}
        home = Derivation({a.name: _size(shapes[a.name]) for a in arguments}, longest)
        frame = model.frame(mechanism, options.frame or tip(mechanism)) if what.needs_frame else None
        try:
            linkage = Linkage(model, home, frame, **{a.name: model.frame(mechanism, link) for a, link in felt.items()})
            results = build(linkage)
            named = [(r.name, r.sizes(mechanism.nq, mechanism.nv), atoms) for r, atoms in zip(what.results, results, strict=True)]
            return home.freeze(function, method, named, shapes)
        except LostDigits as lost:
            raise LostDigits(lost.what, lost.place or f"{function} of '{mechanism.name}' by {method}, {home.steps[-1]}") from None


def _size(shape: Sequence[int]) -> int:
    total = 1
    for s in shape:
        total *= s
    return total


def _without_idle(program: Program, own: int) -> Program:
    """What is computed without a run-time argument, one behind the function's `own`, does not take it."""
    read = {row.value[0] for row in program.rows if row.op == "input"}
    kept = [i for i in range(len(program.inputs)) if i < own or i in read]
    place = {old: new for new, old in enumerate(kept)}
    rows = (row._replace(value=(place[row.value[0]], row.value[1])) if row.op == "input" else row for row in program.rows)
    return replace(program, inputs=tuple(program.inputs[i] for i in kept), rows=tuple(rows))

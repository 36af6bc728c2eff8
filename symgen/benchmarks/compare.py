"""Comparison of all methods of a function: costs, sizes, round-off.

Figures of the Program (operations, depth, temporaries) are exact. Figures of the C (code, stack,
time, round-off) are measured on this machine, with all methods of a function interleaved in one run
as in `symgen.benchmarks.bench`. A method that does not suit the robot keeps its row. Every missing
figure has a reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Unpack

import numpy as np

from symgen import methods
from symgen.benchmarks.bench import LOOPS, ROUNDS, STATES, ContestOptions, machine_facts, race
from symgen.description.arguments import validated_with
from symgen.description.tip import tip
from symgen.ir.loops import Form
from symgen.ir.program import Program
from symgen.machine.building import Build
from symgen.machine.footprint import footprint
from symgen.machine.solver import Solver
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build as making
from symgen.pipeline import task
from symgen.reference.precision import Array
from symgen.reference.states import draw_states
from symgen.support.errors import OutOfReach, RequestError, SymgenError
from symgen.support.tables import table
from symgen.verification.evaluating import Results
from symgen.verification.exact_results import ExactResults
from symgen.verification.floating import check_floating
from symgen.verification.refusals import lines_by_reason
from symgen.verification.report import Check
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS
from symgen.vocabulary.names import function_named
from symgen.vocabulary.options import (
    AUTO,
    HOST,
    LOOPED,
    UNROLLED,
    ProgramOptions,
    TaskRows,
    TextOptions,
    values_of,
)
from symgen.vocabulary.reals import DOUBLE, REALS
from symgen.vocabulary.target import Target

ROUND_OFF_STATES = 16
COMPILED_ROWS = 20_000
"""Most rows of a measured Program: beyond, a C compiler takes seconds at -O2, and caches dominate
the time.
"""


@dataclass(frozen=True)
class Column:
    """One figure of a method; a smaller value is better in every column."""

    heading: str
    description: str
    digits: int = 0


COLUMNS: dict[str, Column] = {
    "mul": Column("mul", "multiplications"),
    "add": Column("add", "additions and subtractions"),
    "div": Column("div", "divisions"),
    "depth": Column("depth", "operations on the longest dependency chain"),
    "temporaries": Column(
        "temps",
        "most computed values still needed at once, rows in order (no arguments, no constants)",
    ),
    "code_bytes": Column("code B", "bytes of machine code and its constants"),
    "stack_bytes": Column("stack B", "bytes of stack, without what sine and cosine take"),
    "nanoseconds": Column(
        "ns",
        f"nanoseconds a call in C, median of {ROUNDS} interleaved rounds over {STATES} random"
        " states",
    ),
    "round_off_double": Column(
        "double eps",
        "worst round-off at random states, in eps = 2^-52 times the size of the answer",
        3,
    ),
    "round_off_float": Column("float eps", "the same in float, eps = 2^-23", 3),
}
EXACT = ("mul", "add", "div", "depth", "temporaries")
UNJUDGED = "?"
MEASURED = tuple(key for key in COLUMNS if key not in EXACT)

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Row:
    """One method: its figures by the keys of COLUMNS, and a sentence for each missing figure (""
    for all of them).

    `unjudged` holds the reason for each real type in which the answer is not judged, by the key of
    its round-off. `twin` names a method with identical rows, and so the same C and the same
    figures.
    """

    method: str
    figures: dict[str, float]
    missing: dict[str, str] = field(default_factory=dict)
    unjudged: dict[str, str] = field(default_factory=dict)
    twin: str | None = None

    @property
    def cost(self) -> float:
        return self.figures["mul"] + self.figures["add"] + self.figures["div"]

    @property
    def reasons(self) -> list[str]:
        """Return `reason` for a whole row and `column: reason` for single figures."""
        grouped: dict[str, list[str]] = {}
        why_not = {key: f"not judged: {why}" for key, why in self.unjudged.items()}
        for key, why in (self.missing | why_not).items():
            grouped.setdefault(why, []).extend([COLUMNS[key].heading] if key else [])
        return [f"{', '.join(keys)}: {why}" if keys else why for why, keys in grouped.items()]


@dataclass(frozen=True, repr=False)
class Comparison:
    """One function by all methods."""

    function: str
    default: str
    why: str
    rows: tuple[Row, ...]

    def best(self, key: str) -> float | None:
        """Return the smallest figure of a column; None if there are fewer than two."""
        figures = [
            row.figures[key] for row in self.rows if key in row.figures and key not in row.unjudged
        ]
        return min(figures) if len(figures) > 1 else None

    def __str__(self) -> str:
        return self.text(self.rows)

    def text(self, explained: Iterable[Row]) -> str:
        """Return the table, followed by the reasons of the rows `explained`."""
        lines: list[list[object]] = [
            ["method", *(column.heading + " " for column in COLUMNS.values())]
        ]
        for row in self.rows:
            lines.append([row.method, *(self._cell(row, key) for key in COLUMNS)])
        text = [self.function, *table(lines)]
        text += [f"– {row.method}: {why}" for row in explained for why in row.reasons]
        return "\n".join([*text, f"default: {self.default}, {self.why}"])

    def _cell(self, row: Row, key: str) -> str:
        if key not in row.figures:
            return "– "
        figure, digits = row.figures[key], COLUMNS[key].digits
        mark = UNJUDGED if key in row.unjudged else "*" if figure == self.best(key) else " "
        return (f"{figure:.1e}" if digits and figure >= 1e4 else f"{figure:.{digits}f}") + mark

    def __repr__(self) -> str:
        return (
            f"<symgen Comparison {self.function} by {len(self.rows)} methods;"
            f" default {self.default}>"
        )

    def facts(self) -> dict[str, Any]:
        return {
            "default": self.default,
            "why": self.why,
            "methods": {
                row.method: {
                    **{
                        key: _json_number(row.figures[key]) if key in row.figures else None
                        for key in COLUMNS
                    },
                    "missing": {key or "all": why for key, why in row.missing.items()},
                    "not_judged": dict(row.unjudged),
                }
                for row in self.rows
            },
            "best": {
                key: [
                    row.method
                    for row in self.rows
                    if row.figures.get(key) == self.best(key) and key not in row.unjudged
                ]
                for key in COLUMNS
                if self.best(key) is not None
            },
        }


def _json_number(figure: float) -> float | int | str:
    if not isfinite(figure):
        return str(figure)  # JSON has no infinity
    return int(figure) if figure == int(figure) else round(figure, 4)


@dataclass(frozen=True, repr=False)
class Comparisons:
    """Comparisons of one robot, and the machine on which they were measured."""

    robot: str
    machine: dict[str, str]
    compared: tuple[Comparison, ...]
    refused: dict[str, str]

    def __repr__(self) -> str:
        return f"<symgen Comparisons {self.robot}: {len(self.compared)} functions by every method>"

    @property
    def unsuited(self) -> dict[str, str]:
        """Return the methods that do not suit the robot, with reasons; a function is named only if
        the reason depends on it.
        """
        reasons: dict[str, dict[str, str]] = {}
        for comparison in self.compared:
            for row in comparison.rows:
                if "" in row.missing:
                    reasons.setdefault(row.method, {})[comparison.function] = row.missing[""]
        return {
            method if len(set(whys.values())) == 1 else f"{function} by {method}": why
            for method, whys in reasons.items()
            for function, why in whys.items()
        }

    def facts(self) -> dict[str, Any]:
        """Return plain types."""
        return {
            "robot": self.robot,
            "machine": self.machine,
            "refused": self.refused,
            "columns": {key: column.description for key, column in COLUMNS.items()},
            "functions": {comparison.function: comparison.facts() for comparison in self.compared},
        }

    def __str__(self) -> str:
        open_ = any(row.unjudged for comparison in self.compared for row in comparison.rows)
        legend = (
            f", {UNJUDGED} a round-off that is not judged, since the answer loses its digits"
            if open_
            else ""
        )
        lines = [
            f"{self.robot}: every method side by side; * marks the best of a column{legend}",
            "",
        ]
        for comparison in self.compared:
            lines += [comparison.text(row for row in comparison.rows if "" not in row.missing), ""]
        refused = [f"– {line}" for line in lines_by_reason(self.unsuited)] + [
            f"left out: {line}" for line in lines_by_reason(self.refused)
        ]
        lines += [*refused, ""] if refused else []
        width = max(len(column.heading) for column in COLUMNS.values()) + 2
        lines += [
            f"{column.heading + ':':<{width}}{column.description}" for column in COLUMNS.values()
        ]
        lines += ["", *(f"{name + ':':<{width}}{value}" for name, value in self.machine.items())]
        return "\n".join(lines)


class ComparisonOptions(ContestOptions, total=False):
    """Options of the functions that `compare` derives by every method."""

    task_rows: TaskRows


@validated_with(ComparisonOptions, form=UNROLLED)
def compare(
    mechanism: Mechanism,
    functions: Iterable[str] | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[ComparisonOptions],
) -> Comparisons:
    """Measure all methods of the requested functions on this machine.

    Options are those of `symgen.program`. With the form LOOPED, a function with loops over links is
    listed in both forms. Raises RequestError for unknown names and BuildError without a C compiler.
    """
    tell = progress or (lambda what, done, total: None)
    making.require_unrollable(mechanism)
    by_loops = options["form"] == LOOPED
    chosen = values_of(ProgramOptions, options, form=AUTO)
    names_by_function, refused = requested(mechanism, functions, chosen)
    if options["task_rows"] is not None:
        _refuse_without_task(() if functions is None else names_by_function)
    build = Build(optimize=2)
    machine = machine_facts(build, ())  # report a missing compiler before the long work
    exact_results = ExactResults(
        mechanism,
        ROUND_OFF_STATES,
        frame=tip(mechanism) if mechanism.frames else None,
        task_rows=chosen.rows,
        contact=chosen.contact,
        baumgarte=chosen.baumgarte,
    )
    total, done = sum(len(names) + 1 for names in names_by_function.values()), 0
    compared = []
    for function, names in names_by_function.items():
        contest = _Contest(mechanism, function, chosen)
        for method in names:
            tell(f"deriving {function} by {method}", done, total)
            done += 1
            contest.derive(method)
            if by_loops:
                contest.derive_loops(method)
        if by_loops and not contest.has_loops:
            refused[f"loops of {function}"] = contest.why_no_loops
        tell(f"compiling {function} by every method", done, total)
        contest.measure(build)
        if contest.solvers:
            tell(f"timing {function}", done, total)
            contest.time_and_judge(exact_results)
        done += 1
        try:
            compared.append(contest.comparison(names))
        except OutOfReach as error:
            if functions is not None:
                raise
            refused[function] = str(error)
    return Comparisons(mechanism.name, machine, tuple(compared), refused)


class _Contest:
    """The methods of one function, derived, compiled and measured side by side; `rows` are the
    results by method.
    """

    def __init__(self, mechanism: Mechanism, function: str, options: ProgramOptions) -> None:
        self.mechanism, self.function, self.options = mechanism, function, options
        self.rows: dict[str, Row] = {}
        self.programs: dict[str, Form] = {}
        self.solvers: dict[str, Solver] = {}
        """Solver of each real type."""
        self.has_loops, self.why_no_loops = False, ""
        self._twins: dict[str, str] = {}
        self._typed: dict[str, dict[str, Form]] = {}

    def derive(self, method: str) -> None:
        """Derive the function by a method; record the reason if there is no Program."""
        program, why = _derived(self.mechanism, self.function, method, self.options)
        if program is None:
            self.rows[method] = Row(method, {}, {"": why})
        else:
            self.programs[method] = program

    def derive_loops(self, method: str) -> None:
        """Derive the function by a method as loops over links."""
        looped, self.why_no_loops = _looped(self.mechanism, self.function, method, self.options)
        if looped is not None:
            self.programs[method + LOOPS] = looped
            self.has_loops = True

    def measure(self, build: Build) -> None:
        """Compile and weigh every method whose rows differ from those of earlier methods."""
        measured, self._twins = _distinct(self.programs)
        compiled = {m: form for m, form in measured.items() if _length(form) <= COMPILED_ROWS}
        for real in REALS:
            typed = {
                method: _typed(self.mechanism, form, real, self.options)
                for method, form in compiled.items()
            }
            self._typed[real] = {m: form for m, form in typed.items() if form is not None}
        with ThreadPoolExecutor(
            os.cpu_count()
        ) as at_once:  # each C compiler is a process of its own
            building = {
                real: at_once.submit(_solver, self.mechanism, typed, real)
                for real, typed in self._typed.items()
                if typed
            }
            weighing = {
                method: at_once.submit(_weigh, self.mechanism, method, program, build)
                for method, program in measured.items()
            }
            self.rows |= {method: weighed.result() for method, weighed in weighing.items()}
            self.solvers = {real: built.result() for real, built in building.items()}

    def time_and_judge(self, exact_results: ExactResults) -> None:
        """Time the compiled methods in turns, and judge their round-off in every real type."""
        timed = self._typed[DOUBLE.name]
        for method, time in _times(timed, self.solvers[DOUBLE.name], self.mechanism).items():
            self.rows[method].figures["nanoseconds"] = time
            by_real = {
                real: typed[method] for real, typed in self._typed.items() if method in typed
            }
            _judge(self.rows[method], by_real, self.solvers, exact_results)

    def comparison(self, names: Sequence[str]) -> Comparison:
        """Return the rows in the order of `names`, and the default method. OutOfReach if the
        function has none.
        """
        for method, first in self._twins.items():
            self.rows[method] = replace(self.rows[first], method=method, twin=first)
        ordered = [row for method in names for row in (method, method + LOOPS)]
        rows = {row: self.rows[row] for row in ordered if row in self.rows}
        offered = methods.applicable_providers(
            derivatives.base_function(self.function), self.mechanism
        )
        best = making.build_program(self.mechanism, self.function, None, self.options)
        return _comparison(self.function, len(names) == len(offered), rows, best)


def _derived(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> tuple[Program | None, str]:
    """Return the Program of a function by a method, or None and the reason."""
    why = methods.find(method).refusal(mechanism)
    if why is not None:
        return None, why
    try:
        return making.build_program(mechanism, function, method, options), ""
    except SymgenError as error:
        return None, str(error)


def _looped(
    mechanism: Mechanism, function: str, method: str, options: ProgramOptions
) -> tuple[Form | None, str]:
    """Return the looped form of a function by a method, or None and the reason."""
    try:
        form = making.build_form(mechanism, function, method, replace(options, form=LOOPED))
    except SymgenError as error:
        return None, str(error)
    return (form, "") if form.looped else (None, f"{function} is short")


def _comparison(
    function: str, all_methods: bool, rows: Mapping[str, Row], best: Program
) -> Comparison:
    """Return the comparison with its default `best` and the reason for it, in figures;
    `all_methods` if all methods are compared.
    """
    derived = sorted(
        (row for row in rows.values() if row.figures and not row.method.endswith(LOOPS)),
        key=lambda row: row.cost,
    )
    if not all_methods or not derived or derived[0].method != best.method:
        # a selection does not show the default, nor do figures of a method with precision loss
        passed_over = [row.method for row in derived if row.cost < best.cost and row.unjudged]
        why = (
            f", since {', '.join(passed_over)} would lose the digits of the answer"
            if passed_over
            else ""
        )
        needs = f"which needs {best.cost} operations (mul + add + div){why}"
        return Comparison(function, best.method, needs, tuple(rows.values()))
    best_row, slower_rows = derived[0], derived[1:]
    why = f"the fewest operations: mul + add + div = {best_row.cost:.0f}"
    if slower_rows:
        next_row = slower_rows[0]
        why += f", against {next_row.cost:.0f} by {next_row.method}"
        why += ", and first by name" if next_row.cost == best_row.cost else ""
    else:
        why += ", by the only method that there is for this robot"
    return Comparison(function, best_row.method, why, tuple(rows.values()))


def _distinct(programs: Mapping[str, Form]) -> tuple[dict[str, Form], dict[str, str]]:
    """Return the methods with different rows, and {method: the earlier one with the same rows},
    which is measured once.
    """
    distinct: dict[str, Form] = {}
    twins: dict[str, str] = {}
    for method, program in programs.items():
        first = next(
            (
                earlier
                for earlier, form in distinct.items()
                if not form.looped and not program.looped and form.rows == program.rows
            ),
            None,
        )
        if first is None:
            distinct[method] = program
        else:
            twins[method] = first
    return distinct, twins


def _length(form: Form) -> int:
    """Return the number of rows that a C compiler reads."""
    return len(form.rows) if not form.looped else sum(len(step.rows) for step in form.programs)


def _weigh(mechanism: Mechanism, name: str, program: Form, build: Build) -> Row:
    """Return the row of a method: figures of its Program, and sizes of its code."""
    ops = program.operations
    figures: dict[str, float] = {key: ops[key] for key in ("mul", "add", "div")}
    figures |= {"depth": program.depth} | (
        {"temporaries": program.temporaries} if not program.looped else {}
    )
    if _length(program) > COMPILED_ROWS:
        why = (
            f"not compiled, since {_length(program)} rows are more than a C compiler takes at ease"
        )
        return Row(name, figures, dict.fromkeys(MEASURED, why))
    size = footprint(program, Target(mechanism.name, mechanism.sizes, TextOptions(HOST)), build)
    missing = {f"{key}_bytes": why for key, why in size.missing.items()}
    figures |= {
        f"{key}_bytes": value
        for key, value in (("code", size.code), ("stack", size.stack))
        if value is not None
    }
    missing |= (
        {}
        if not program.looped
        else {"temporaries": "what loops keep is in an array of the caller's"}
    )
    return Row(name, figures, missing)


def _judge(
    row: Row, typed: Mapping[str, Form], solvers: Mapping[str, Solver], exact_results: ExactResults
) -> None:
    """Store the round-off of a method in each real type in its row."""
    for real, program in typed.items():
        check = _round_off(program, solvers[real], exact_results)
        row.figures[f"round_off_{real}"] = check.error
        if not check.passed:
            row.unjudged[f"round_off_{real}"] = (
                check.unjudged or f"it failed, {check.detail}: {check.miss}"
            )


def _typed(mechanism: Mechanism, form: Form, real: str, options: ProgramOptions) -> Form | None:
    """Return the form in a real type, or None: a vector has other lanes there, and a chain may be
    too short for them.
    """
    if not form.looped:
        return replace(form, real=real)
    return _looped(mechanism, form.function, form.method, replace(options, real=real))[0]


def _solver(mechanism: Mechanism, programs: Mapping[str, Form], real: str) -> Solver:
    """Return one library of a function by all methods, since each library costs as much compile
    time as a short function.

    Only double is timed. float is compiled without optimisation, which gives the same bits.
    """
    named = {_name(p): replace(p, function=_name(p)) for p in programs.values()}
    level = 2 if real == DOUBLE.name else 0
    return Solver.from_programs(mechanism.name, named, mechanism.sizes, optimize=level)


def _name(program: Form) -> str:
    """Return the name of one function by one method, for C and Python."""
    loops = "_loops" if program.looped else ""
    return (
        f"{derivatives.identifier_part(program.function)}_{program.method.replace(':', '_')}{loops}"
    )


def _round_off(program: Form, solver: Solver, exact_results: ExactResults) -> Check:
    """Return the check of the worst error, in the units of `symgen.verification.floating`."""
    real = np.dtype(REALS[program.real].numpy)

    def run(arguments: Mapping[str, Array]) -> Results:
        results = getattr(solver, _name(program))(
            *(arguments[port.name].astype(real) for port in program.inputs)
        )
        return dict(
            zip(
                (port.name for port in program.outputs),
                results if isinstance(results, tuple) else (results,),
                strict=True,
            )
        )

    return check_floating(program, run, exact_results, program.function, TextOptions(HOST))


def _times(programs: Mapping[str, Form], solver: Solver, mechanism: Mechanism) -> dict[str, float]:
    """Return nanoseconds a call by method, all methods interleaved."""
    shape_by_input = {
        port.name: port.shape for program in programs.values() for port in program.inputs
    }
    drawn = {
        name: np.ascontiguousarray(values.astype(float))
        for name, values in draw_states(
            mechanism, STATES, seed=11, derivative_shapes=shape_by_input
        ).items()
    }
    contestants: dict[str, Callable[[], None]] = {}
    for method, program in programs.items():
        buffers = [drawn[port.name] for port in program.inputs]
        results = [np.empty((STATES, *port.shape)) for port in program.outputs]
        contestants[method] = solver.bind(_name(program), *buffers, *results)
    return {method: timing.median for method, timing in race(contestants).items()}


# -- requested functions --


def requested(
    mechanism: Mechanism, words: Iterable[str] | None, options: ProgramOptions
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return {function: methods} and {function: reason against it} for "FUNCTION" or
    "FUNCTION=METHOD,METHOD".

    None requests all functions with a choice of methods. Raises RequestError for unknown names, and
    for a named function that this robot cannot have.
    """
    if words is None:
        return _functions_with_a_choice(mechanism)
    chosen: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, _, listed = word.partition("=")
        function = function_named(name)
        chosen[function] = _methods_of(mechanism, function, listed)
        refused = making.refusal(mechanism, function, None)
        refused = refused or task.refusal(mechanism, function, options)
        if refused is not None:
            raise RequestError(refused)
    return {name: chosen[name] for name in FUNCTIONS.in_order(chosen)}, {}


def _functions_with_a_choice(
    mechanism: Mechanism,
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return the default functions with several methods, and reasons why others are left out."""
    several = [
        name for name in BY_DEFAULT if len(methods.applicable_providers(name, mechanism)) > 1
    ]
    requested_names = making.requested(mechanism, None)
    why = {
        name: making.refusal(mechanism, name, None) or "on request only, with -f"
        for name in several
        if name not in requested_names
    }
    return {
        name: methods.applicable_providers(name, mechanism)
        for name in several
        if name in requested_names
    }, why


def _methods_of(mechanism: Mechanism, function: str, listed: str) -> tuple[str, ...]:
    """Return the listed methods of a function, each once, or all its methods if none is listed.
    RequestError for a wrong name.
    """
    base = derivatives.base_function(function)
    names = tuple(dict.fromkeys(filter(None, listed.split(","))))
    names = names or methods.applicable_providers(base, mechanism)
    for method in names:
        if listed or len(names) == 1 or methods.composition(method, base) is None:
            methods.derivation(method, base)
    return names


def _refuse_without_task(functions: Iterable[str]) -> None:
    """Raise RequestError if no function depends on task rows."""
    if not any(FUNCTIONS[name].counts("NK") for name in functions):
        of_tasks = [name for name, function in FUNCTIONS.items() if function.counts("NK")]
        raise RequestError(
            "none of these functions has a task, so --task-rows does not apply; name "
            f"{' or '.join(of_tasks)} with -f"
        )

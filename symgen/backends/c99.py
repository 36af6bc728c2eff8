"""C99: one function a file, a header for all; includes nothing but <math.h> and headers of its own, and allocates nothing.

What is decided here: which rows become locals and under which names, where a comment stands, how an expression is
parenthesised, what a literal looks like. `templates/c99/` holds the layout. Parentheses are written where C's grammar would
group otherwise, and around a product in a sum, as MISRA C:2012 asks (rule 12.1); `symgen.readback.rows` proves that the text
means the rows, operand by operand.

Outputs may alias inputs: every input is read into a local before the first store. What a checked function checks, it checks
before that as well, and returns how it went: one way out, no store but in the innermost branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symgen.backends import _checks, _sincos, render
from symgen.backends._c_text import WIDTH, comment, identifier, literal, local
from symgen.backends._legend import legend
from symgen.errors import ArgumentError, RequestError
from symgen.functions import FUNCTIONS, Array
from symgen.ir import Outline, Port, Program
from symgen.options import PLAIN, TextOptions
from symgen.reals import DOUBLE, REALS
from symgen.version import __version__

TEMPLATES = "c99"
TRIG = {"libm": 1, "macro": 1, "inline": _sincos.ULPS}
"""Where sine and cosine come from (`TextOptions.trig`), and by how many units in the last place they are taken to be off."""
RANGE = _sincos.RANGE
"""The largest angle (rad) that the own sine and cosine are proved for."""
INLINE = 80
"""Columns that an expression may take inside another one; a longer one becomes a local of its own."""

_CALLED = ("sin", "cos", "sqrt", "log")
_ATOM, _UNARY, _PRODUCT, _SUM = 3, 2, 1, 0


@dataclass(frozen=True)
class Target:
    """What the text of one robot shares: its C name, its sizes, and where it came from.

    `name` becomes a C identifier (`identifier`). `text` says where sine and cosine come from (`_sincos` has those of one's own),
    and whether the functions return a status (`_checks`).
    """

    name: str
    nq: int
    nv: int
    text: TextOptions = PLAIN
    source_sha256: str = ""
    frame: str = ""
    """The link whose frame the functions speak of, where one of them does and it is known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", identifier(self.name))

    @property
    def checked(self) -> bool:
        """Whether the functions return a status."""
        return self.text.checked

    def symbol(self, function: str) -> str:
        """The C name of a function."""
        return f"{self.name}_{function}"

    def file(self, function: str) -> str:
        """The name of the file that holds a function."""
        return f"{self.symbol(function)}.c"

    @property
    def sincos(self) -> str:
        """The name of the file with a sine and cosine of one's own."""
        return f"{self.name}_sincos.h"

    @property
    def context(self) -> dict[str, Any]:
        """What every template may say about the robot."""
        return {
            "name": self.name,
            "nq": self.nq,
            "nv": self.nv,
            "macro_trig": self.text.trig == "macro",
            "inline_trig": self.text.trig == "inline",
            "ulps": _sincos.ULPS,
            "range": _sincos.RANGE,
            "returns": "int" if self.checked else "void",
            "checked": self.checked,
            "version": __version__,
            "source_sha256": self.source_sha256 or "unknown",
        }


def calls(real: str, target: Target) -> dict[str, str]:
    """The C name of each function that a Program may call."""
    own = {"sin": f"{target.name}_SIN", "cos": f"{target.name}_COS"} if target.text.trig == "macro" else {}
    return {op: REALS[real].libm(op) for op in _CALLED} | own


def parameters(program: Program, target: Target) -> dict[str, str]:
    """The C parameter of each port of the Program, arguments first."""
    macros = _macros(target)
    found: dict[str, str] = {}
    for port in (*program.inputs, *program.outputs):
        found[port.name] = local(port.name, macros | set(found.values()))
    return found


def source(program: Program, target: Target, floors: Mapping[int, Fraction] | None = None) -> str:
    """The text of NAME_<function>.c; RequestError when a constant does not fit into the real type.

    `floors` are certified lower bounds of rows that are divisors, for a checked function.
    """
    function = _function(program, target, floors or {})
    return render(TEMPLATES, "function.c.j2", **target.context, **function)


def header(programs: Mapping[str, Program], target: Target) -> str:
    """The text of NAME.h, which declares every one of `programs`."""
    real = single_real(programs.values())
    declarations = [_prototype(program, target) for program in programs.values()]
    trig = calls(real, Target(target.name, target.nq, target.nv))
    return render(TEMPLATES, "header.h.j2", **target.context, real=real, sin=trig["sin"], cos=trig["cos"], functions=declarations,
                  statuses=statuses(programs.values(), target), **legend(programs.values()))


def statuses(programs: Iterable[Program], target: Target) -> list[dict[str, Any]]:
    """What checked functions return, by `name`, `value` and meaning (`what`): those that some of the programs can return."""
    divides = any(_checks.guards(program, live_rows(program), {}) for program in programs)
    known = {"OK", "NOT_FINITE", *(["OUT_OF_RANGE"] if target.text.trig == "inline" else []), *(["DIVISOR"] if divides else [])}
    return [{"name": name, "value": value, "what": what} for value, (name, what) in enumerate(_checks.STATUSES.items())
            if name in known and target.checked]


def headers(programs: Mapping[str, Program], target: Target) -> dict[str, str]:
    """Every file that the functions include, by name: NAME.h, and NAME_sincos.h where they bring their own sine."""
    found = {f"{target.name}.h": header(programs, target)}
    if any(turns(program, target) for program in programs.values()):
        found[target.sincos] = sincos(single_real(programs.values()), target)
    return found


def sincos(real: str, target: Target) -> str:
    """The text of NAME_sincos.h."""
    return render(TEMPLATES, "sincos.h.j2", **target.context, real=real, **_sincos.context(real))


def turns(program: Program, target: Target) -> bool:
    """Whether a function includes NAME_sincos.h."""
    return target.text.trig == "inline" and any(program.rows[i].op in ("sin", "cos") for i in live_rows(program))


def single_real(programs: Iterable[Program]) -> str:
    """The real type that the programs share; RequestError when they mix double and float."""
    reals = sorted({program.real for program in programs})
    if len(reals) > 1:
        raise ArgumentError("the functions mix double and float; one header declares one real type, so ask for either")
    if reals and reals[0] not in REALS:
        raise ArgumentError(f"real is '{reals[0]}'; it can be double or float")
    return reals[0] if reals else DOUBLE.name


def describe(program: Program | Outline) -> tuple[list[Array], list[Array]]:
    """Arguments and results of a Program with their symbolic shapes, where the table of functions knows them."""
    declared = FUNCTIONS.get(program.function)
    known = {a.name: a for a in (*declared.arguments, *declared.results, *declared.feels)} if declared else {}
    plain = [[known.get(p.name, Array(p.name, p.shape, p.name)) for p in ports] for ports in (program.inputs, program.outputs)]
    return plain[0], plain[1]


def operations_text(program: Program | Outline) -> str:
    """The operations of a Program in words, those that do not occur left out: '480 mul, 350 add, 7 sin'."""
    return ", ".join(f"{count} {op}" for op, count in program.operations.items() if count) or "no operation"


def _size(array: Array, port: Port, target: Target) -> str:
    """The size of a port as C reads it: NAME_NV*NAME_NV, and a plain number where the table does not know better."""
    if array.sizes(target.nq, target.nv) != port.shape or not any(isinstance(s, str) for s in array.shape):
        return str(port.size)
    return "*".join(f"{target.name}_{s}" if isinstance(s, str) else str(s) for s in array.shape)


def _prototype(program: Program, target: Target) -> dict[str, Any]:
    names = parameters(program, target)
    arguments, results = describe(program)
    declared = FUNCTIONS.get(program.function)
    ports = [*zip(program.inputs, arguments, strict=True), *zip(program.outputs, results, strict=True)]
    single_real([program])
    return {
        "symbol": target.symbol(program.function),
        "what": comment(declared.what if declared else program.function),
        "frame": comment(target.frame) if declared and declared.needs_frame else "",
        "method": comment(program.method),
        "operations": operations_text(program),
        "depth": program.depth,
        "parameters": [
            {
                "qualifier": "const " if i < len(arguments) else "",
                "real": program.real,
                "name": names[port.name],
                "size": _size(array, port, target),
                "what": comment(array.what),
            }
            for i, (port, array) in enumerate(ports)
        ],
    }


def _macros(target: Target) -> set[str]:
    """What the header may define: no local and no parameter is called so."""
    return {f"{target.name}_{m}" for m in ("NQ", "NV", "SIN", "COS", *(_checks.STATUSES if target.checked else ()))}


def _function(program: Program, target: Target, floors: Mapping[int, Fraction]) -> dict[str, Any]:
    writer = _Writer(program, target, floors)
    names = parameters(program, target)
    read = {program.rows[i].value[0] for i in writer.live if program.rows[i].op == "input"}
    return _prototype(program, target) | {
        "real": program.real,
        "turns": turns(program, target),
        "unread": [names[port.name] for i, port in enumerate(program.inputs) if i not in read and not target.checked],
        "before": writer.angles(),
        "groups": writer.groups(),
        "checks": writer.checks(),
        "stores": [
            {"name": names[port.name], "element": k, "value": writer.text[row]}
            for port in program.outputs
            for k, row in enumerate(port.rows)
        ],
    }


def live_rows(program: Program) -> list[int]:
    """The rows that a result depends on, ascending."""
    needed = {row for port in program.outputs for row in port.rows}
    for i in range(len(program.rows) - 1, -1, -1):
        if i in needed:
            needed.update(program.rows[i].args)
    return sorted(needed)


class _Writer:
    """Turns rows into statements: `text[i]` is how row i is written where it is used, `rank[i]` how tightly it binds."""

    def __init__(self, program: Program, target: Target, floors: Mapping[int, Fraction]) -> None:
        self.program, self.rows = program, program.rows
        self.live = live_rows(program)
        self.calls = calls(program.real, target)
        self.inputs = [parameters(program, target)[port.name] for port in program.inputs]
        self.uses = [0] * len(self.rows)
        for i in self.live:
            for a in self.rows[i].args:
                self.uses[a] += 1
        self.text: dict[int, str] = {}
        self.rank: dict[int, int] = {}
        self.steps: list[tuple[str, list[dict[str, str]]]] = []
        self.pair = f"{target.name}_pair" if turns(program, target) else ""
        self.turned = f"{target.name}_sincos"
        self.guards = _checks.guards(program, self.live, floors) if target.checked else []
        self.checked_angles = _checks.angles(program, self.live) if target.checked and self.pair else []
        self.forced = {*self.checked_angles, *(guard.row for guard in self.guards)}
        self.checked = target.checked
        self.pairs: dict[str | int, str] = {}
        self.step = -1
        self.names = self._names(target)
        self.taken.update(self.names.values())
        self.status, self.none = (local(name, self.taken) for name in ("status", "none"))
        self.taken |= {self.status, self.none} if self.checked else set()
        self.temporaries = 0

    def _names(self, target: Target) -> dict[int, str]:
        """Names of the rows that become locals for a reason known beforehand: named by the derivation, or a result."""
        program = self.program
        self.taken = _macros(target) | ({self.pair, self.turned} if self.pair else set())
        self.taken |= {target.symbol(program.function), *parameters(program, target).values()}
        names: dict[int, str] = {}

        def give(row: int, name: str) -> None:
            names[row] = local(name, self.taken)
            self.taken.add(names[row])

        for i in self.live:
            if self.rows[i].name and self.rows[i].op not in ("const", "input"):
                give(i, self.rows[i].name)
        for port in program.outputs:
            for k, row in enumerate(port.rows):
                if row not in names and self.rows[row].op != "const":
                    index = divmod(k, port.shape[1]) if len(port.shape) == 2 else (k,) if port.shape else ()
                    give(row, "_".join(map(str, ("out", port.name, *index))))
        return names

    def groups(self) -> list[dict[str, Any]]:
        """The statements in order, grouped under the comment of their step, but for those of `angles`."""
        for i in self.live:
            if i not in self.text:
                self._write(i)
        return self._grouped()

    def angles(self) -> list[dict[str, Any]]:
        """The statements that compute what a checked function checks before anything else."""
        first = _checks.ancestors(self.program, self.checked_angles)
        for i in self.live:
            if i in first:
                self._write(i)
        return self._grouped()

    def checks(self) -> dict[str, Any]:
        """Names and conditions of a checked function, once everything is written; nothing otherwise."""
        if not self.checked:
            return {}
        real = self.program.real
        zeros = [f"{literal(Fraction(0), real)}*{name}[{k}]" for name, port in zip(self.inputs, self.program.inputs, strict=True)
                 for k in range(port.size)]
        return {
            "status": self.status,
            "none": self.none,
            "zero": literal(Fraction(0), real),
            "zeros": _checks.lines(zeros, "+", 8),
            "ranges": _checks.lines([_checks.within(self.text[i], _sincos.RANGE, real) for i in self.checked_angles], "&&", 8),
            "divisors": _checks.lines([_checks.at_least(self.text[g.row], g, real) for g in self.guards], "&&", 12),
        }

    def _grouped(self) -> list[dict[str, Any]]:
        found = [{"comment": title, "locals": lines} for title, lines in self.steps if lines]
        self.steps, self.step = [], -1
        return found

    def _write(self, i: int) -> None:
        row = self.rows[i]
        named = i in self.names
        room = WIDTH - 4*self.checked - len(f"    const {self.program.real} {self.names[i]} = ;") if named else INLINE
        text, rank = self._expression(i)
        while len(text) > room:
            inline = [a for a in row.args if self.rank[a] != _ATOM or "(" in self.text[a]]
            if not inline:
                break
            self._declare(max(inline, key=lambda a: len(self.text[a])), "", row.step)
            text, rank = self._expression(i)
        self.text[i], self.rank[i] = text, rank
        atom = row.op in ("const", "input")
        if named or ((self.uses[i] > 1 or i in self.forced) and not atom):
            self._declare(i, self.names.get(i, ""), row.step)

    def _declare(self, i: int, name: str, step: int) -> None:
        """Give row i a local of its own, from here on written by its name."""
        while not name:
            self.temporaries += 1
            if (free := f"t{self.temporaries}") not in self.taken:
                name = free
        self._statement(self.program.real, name, self.text[i], step)
        self.text[i], self.rank[i] = name, _ATOM

    def _turn(self, angle: int, step: int) -> str:
        """The local that holds sine and cosine of row `angle`, declared when it is first asked for.

        An argument may stand in several rows, and is one angle all the same.
        """
        key = self.text[angle] if self.rows[angle].op == "input" else angle
        if key not in self.pairs:
            self.pairs[key] = local(f"turn_{len(self.pairs) + 1}", self.taken)
            self.taken.add(self.pairs[key])
            self._statement(self.pair, self.pairs[key], f"{self.turned}({self.text[angle]})", step)
        return self.pairs[key]

    def _statement(self, kind: str, name: str, value: str, step: int) -> None:
        if not self.steps or (step != self.step and step >= 0):
            self.steps.append((comment(self.program.steps[step]) if step >= 0 else "", []))
            self.step = step
        self.steps[-1][1].append({"kind": kind, "name": name, "value": value})

    def _expression(self, i: int) -> tuple[str, int]:
        op, args, value, _, _ = self.rows[i]
        if op == "const":
            text = literal(value, self.program.real)
            return text, _UNARY if text.startswith("-") else _ATOM
        if op == "input":
            return f"{self.inputs[value[0]]}[{value[1]}]", _ATOM
        if self.pair and op in ("sin", "cos"):
            return f"{self._turn(args[0], self.rows[i].step)}.{'sine' if op == 'sin' else 'cosine'}", _ATOM
        if op in self.calls:
            return f"{self.calls[op]}({self.text[args[0]]})", _ATOM
        if op == "neg":
            return f"-{self._operand(args[0], _ATOM)}", _UNARY
        if op == "div" and self.rows[args[1]].op == "const" and REALS[self.program.real].nearest(self.rows[args[1]].value) == 0:
            raise RequestError(
                f"{self.program.function} divides by a constant that is zero as a {self.program.real}; "
                "use other units or --real double"
            )
        sign, rank = {"mul": ("*", _PRODUCT), "div": ("/", _PRODUCT), "add": (" + ", _SUM), "sub": (" - ", _SUM)}[op]
        # C groups from the left, and a sign directly behind an operator reads badly.
        right = self._operand(args[1], _ATOM if self.rank[args[1]] == _UNARY else rank + 1, rank)
        return f"{self._operand(args[0], rank, rank)}{sign}{right}", rank

    def _operand(self, i: int, rank: int, around: int = _ATOM) -> str:
        """Row i as an operand that must bind as tightly as `rank`, in an operation of rank `around`."""
        plain = self.rank[i] >= rank and (around, self.rank[i]) != (_SUM, _PRODUCT)
        return self.text[i] if plain else f"({self.text[i]})"

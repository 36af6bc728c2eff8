"""A generated file taken apart: its function, the parts that it calls, and the statements of each.

Nothing else may stand in the text: no other statement, no other declaration.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from pycparser import c_ast, c_parser

from symgen.readback import prototypes
from symgen.readback.preprocessor import without_comments
from symgen.readback.prototypes import Parameter, Prototype
from symgen.support.errors import ProgramError

INDEX = re.compile(r"0|[1-9]\d*")  # 010 is eight
_HEADER = re.compile(r'^# 1 "[^"\n]+\.h" 1\n.*?(?=^# \d+ "[^"\n]+" 2$)', re.MULTILINE | re.DOTALL)
"""The first header in a preprocessed text, up to the line that leads back out of it."""
_DIRECTIVE = re.compile(r"^#.*$", re.MULTILINE)


class Statement(NamedTuple):
    """One statement of the body: kind is 'local', 'array', 'store', 'unread', 'work' or 'part'; `target` what it defines, stores
    to, casts or calls. `element` is also the size of a work array, `expression` also the (parameters, statements) of a part.
    """

    kind: str
    target: str
    element: int
    expression: Any
    line: int

    @property
    def inner(self) -> tuple[Statement, ...]:
        """The statements of a part."""
        return self.expression[1] if self.kind == "part" else ()


class Checks(NamedTuple):
    """Every condition as (the status, by macro or number; the expression that must hold; plain statements before it)."""

    conditions: tuple[tuple[str, Any, int], ...] = ()


class Text(NamedTuple):
    """A generated file, parsed: the function's name, its parameters and its statements."""

    symbol: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    checks: Checks | None = None
    """Checks of a function that returns a status; else None."""
    declared: tuple[Prototype, ...] | None = None
    """Declarations of the function's header, if the text is preprocessed; else None."""
    work: Statement | None = None
    """The array that the parts share."""


class Units(NamedTuple):
    """The declarations of a file: `held` in the order of the text, and those of its headers, where they were read."""

    held: list[Any]
    declared: tuple[Prototype, ...] | None
    function: Any
    """The last one: the function, plain and of external linkage."""


def units(text: str, seen: str = "") -> Units:
    """Parse a text as `parse` does; ProgramError where the last declaration is not the one function of external linkage."""
    # Line numbers stay those of the file: comments keep their line ends, directives leave an empty line.
    plain = re.sub(r"^[ \t]*#(?!pragma omp ).*$", "", without_comments(text), flags=re.MULTILINE)
    alone = plain.lstrip().startswith(("void ", "int ", "static ")) and plain.rstrip().endswith("}")
    held, before = _preprocessed_file(seen) if seen else (_own(plain), [])
    plainly = [unit for unit in held if not _static(unit)]
    is_one_function = (
        len(plainly) == 1 and plainly == held[-1:] and isinstance(plainly[0], c_ast.FuncDef)
    )
    if not is_one_function or not alone:
        raise ProgramError(
            f"the C holds {len(plainly)} declarations; one function is expected, behind its parts"
        )
    if plainly[0].decl.storage or plainly[0].decl.funcspec:
        raise ProgramError(f"{plainly[0].decl.name} is not a plain function")
    return Units(held, prototypes.read(before) if seen else None, held[-1])


def _own(plain: str) -> list[Any]:
    """Parse a text without its includes.

    The types that they would declare stand on its first line: of a sine with its cosine, of those of all angles, and of
    prepared parameters.
    """
    types = re.findall(
        r"^ +(?:const )?(\w+_(?:pair|turns)) |\bconst (\w+_prepared) \*", plain, re.MULTILINE
    )
    declared = "".join(f"typedef int {turn or struct};" for turn, struct in sorted(set(types)))
    return parse_text(declared + plain)[declared.count(";") :]


def _preprocessed_file(seen: str) -> tuple[list[Any], list[Any]]:
    """Return the declarations of a preprocessed file, and those of its headers."""
    units = _preprocessed(seen)
    file = prototypes.file(units[-1]) if units else ""
    held = [unit for unit in units if prototypes.file(unit) == file]
    return held, [unit for unit in units if prototypes.file(unit) != file]


def _preprocessed(seen: str) -> list[Any]:
    """The declarations of a preprocessed file. Its first header is parsed once for all the files that include it: C depends on
    what stands before only in the names of types, which are declared to the rest again.
    """
    header = _HEADER.search(seen)
    if header is None or _DIRECTIVE.sub("", seen[: header.start()]).strip():
        return parse_text(seen)
    try:
        of_header = _of_header(header[0])
    except ProgramError:  # the header alone is no whole number of declarations
        return parse_text(seen)
    types = [unit.name for unit in of_header if isinstance(unit, c_ast.Typedef)]
    again = "".join(f"typedef int {name};" for name in types)
    return [*of_header, *parse_text(f"{again}\n{seen[header.end() :]}")[len(types) :]]


@lru_cache(maxsize=1)
def _of_header(text: str) -> list[Any]:
    """The declarations of a header that is complete in itself."""
    return parse_text(text)


def parse_declarations(plain: str, file: str = "", more: Sequence[str] = ()) -> list[Any]:
    """Return the declarations of a text without directives, of which `file` is the name; `more` are further names of types."""
    types = sorted(set(re.findall(r"^ +(?:const )?(\w+_(?:pair|turns)) ", plain, re.MULTILINE)))
    declared = "".join(f"typedef int {name};" for name in ("ptrdiff_t", *more, *types))
    return parse_text(declared + plain, file)[declared.count(";") :]


def parse_text(text: str, file: str = "") -> list[Any]:
    """The declarations of a text; ProgramError where it is no C."""
    try:
        units = list(c_parser.CParser().parse(text, file).ext)
        _require_named_parameters(units)
        return units
    except c_parser.ParseError as error:
        raise ProgramError(f"the C does not parse: {error}") from None
    except RecursionError:
        raise ProgramError("the C is nested more deeply than generated code ever is") from None


def _require_named_parameters(units: Sequence[Any]) -> None:
    """Raise ProgramError where a function is defined with a parameter that has no name."""
    for unit in units:
        if not isinstance(unit, c_ast.FuncDef):
            continue
        declared = unit.decl.type.args
        parameters = declared.params if declared else [None]
        if not all(isinstance(parameter, c_ast.Decl) for parameter in parameters):
            raise ProgramError(
                f"line {_line(unit.decl)}: {unit.decl.name} has a parameter without a name, or none"
            )


def _static(unit: Any) -> bool:
    return getattr(unit.decl if isinstance(unit, c_ast.FuncDef) else unit, "storage", []) == [
        "static"
    ]


def part_of(unit: Any) -> Text:
    """A static part that returns nothing, by itself."""
    if not isinstance(unit, c_ast.FuncDef) or _returned(unit) != ["void"] or unit.decl.funcspec:
        raise ProgramError(
            f"line {_line(getattr(unit, 'decl', unit))}: this is not part of a function"
        )
    statements = tuple(_statement(node, {}) for node in unit.body.block_items or [])
    return Text(unit.decl.name, prototypes.parameters(unit.decl), statements)


def parse(text: str, seen: str = "") -> Text:
    """The function of a generated file; ProgramError when the text is not one function of the generated shape, with its parts.

    `seen` is the same file as the compiler's preprocessor leaves it, with its headers, each part under the name of its file.
    """
    held, declared, function = units(text, seen)
    returned = _returned(function)
    if returned not in (["void"], ["int"]) or not all(
        isinstance(unit, c_ast.FuncDef) for unit in held
    ):
        raise ProgramError(
            f"{function.decl.name} is not a plain function that returns void, or the status of its checks"
        )
    parts: dict[str, Statement] = {}
    for unit in held[:-1]:
        name, line = unit.decl.name, _line(unit.decl)
        part = part_of(unit)
        if name in parts:
            raise ProgramError(
                f"line {line}: {name} is not a part of {function.decl.name}, or is called twice"
            )
        parts[name] = Statement("part", name, 0, (part.parameters, part.statements), line)
    items, checks = function.body.block_items or [], None
    work = [
        _statement(node, {})
        for node in items[:1]
        if parts and isinstance(node, c_ast.Decl) and node.init is None
    ]
    items = items[len(work) :]
    if returned == ["int"]:
        items, checks = _unfold(items)
    called = [_statement(node, parts) for node in items]
    if uncalled := sorted(parts):
        raise ProgramError(f"{uncalled[0]} is never called")
    return Text(
        function.decl.name,
        prototypes.parameters(function.decl),
        (*called,),
        checks,
        declared,
        *work,
    )


def _returned(function: Any) -> list[str]:
    result = function.decl.type.type
    return list(getattr(result.type, "names", [])) if isinstance(result, c_ast.TypeDecl) else []


def _unfold(items: list[Any]) -> tuple[list[Any], Checks]:
    """The plain statements of a checked function's body and its checks; ProgramError for another shape.

    int status = NAME_OK; … if (!(…)) status = NAME_…; else if … else { … } return status;
    """
    status = _status_local(items)
    plain: list[Any] = []
    conditions = [("", items[0].init, 0)]
    block = list(items[1:-1])
    while block and isinstance(block[-1], c_ast.If):
        plain += block[:-1]
        node = block[-1]
        refused, condition = _check(node, status)
        conditions.append((refused, condition, len(plain)))
        rest = node.iffalse
        block = [rest] if isinstance(rest, c_ast.If) else list(rest.block_items or [])
    return plain + block, Checks(tuple(conditions))


def _status_local(items: list[Any]) -> str:
    """Return the name of the status that a checked body begins with and returns at its end."""
    begin: Any = items[0] if items else None
    end = items[-1] if items else None
    typed = (
        isinstance(begin, c_ast.Decl)
        and getattr(getattr(begin.type, "type", None), "names", []) == ["int"]
        and not begin.quals
    )
    if not typed or not isinstance(end, c_ast.Return) or name_of(end.expr) != begin.name:
        raise ProgramError("a checked function begins with its status and ends with returning it")
    return str(begin.name)


def _check(node: Any, status: str) -> tuple[str, Any]:
    """Return the status that a check states, and the condition that must hold."""
    block = node.iftrue.block_items if isinstance(node.iftrue, c_ast.Compound) else None
    stated = block[0] if block and len(block) == 1 else None
    if (
        not isinstance(stated, c_ast.Assignment)
        or (stated.op, name_of(stated.lvalue)) != ("=", status)
        or not isinstance(node.cond, c_ast.UnaryOp)
        or node.cond.op != "!"
        or node.iffalse is None
    ):
        raise ProgramError(
            f"line {node.coord.line}: a check states what does not hold and leaves the rest to its else"
        )
    return status_of(stated.rvalue), node.cond.expr


def status_of(node: Any) -> str:
    """Return the macro of a status, or its number where a preprocessor has been."""
    return str(node.value) if isinstance(node, c_ast.Constant) else name_of(node)


def _statement(node: Any, parts: dict[str, Statement]) -> Statement:
    """One statement. A call takes its part out of `parts`: each is called once, with what its parameters are called."""
    line = _line(node)
    for read in (_local, _array, _store, _unread, _work):
        statement = read(node, line)
        if statement is not None:
            return statement
    if isinstance(node, c_ast.FuncCall) and name_of(node.name) in parts:
        part = parts.pop(node.name.name)
        passed = [name_of(argument) for argument in node.args.exprs] if node.args else []
        if passed != [name for _, _, name, _ in part.expression[0]]:
            raise ProgramError(
                f"line {line}: {part.target} is not given what its parameters are called"
            )
        return part
    raise ProgramError(
        f"line {line}: a statement ({type(node).__name__}) that generated code never holds"
    )


def _is_declared(node: Any, kind: type) -> bool:
    """True if a statement declares a local of that kind (c_ast.TypeDecl or c_ast.ArrayDecl)."""
    return isinstance(node, c_ast.Decl) and isinstance(node.type, kind) and not node.storage


def _local(node: Any, line: int) -> Statement | None:
    """Read `const double x = …;`."""
    if not _is_declared(node, c_ast.TypeDecl) or node.init is None:
        return None
    kind = " ".join([*node.quals, *getattr(node.type.type, "names", ["?"])])
    return Statement("local", node.name, 0, (kind, node.init), line)


def _array(node: Any, line: int) -> Statement | None:
    """Read `const double x[…] = {…};`."""
    if (
        not _is_declared(node, c_ast.ArrayDecl)
        or not isinstance(node.type.type, c_ast.TypeDecl)
        or not isinstance(node.init, c_ast.InitList)
    ):
        return None
    kind = " ".join([*node.type.type.quals, *getattr(node.type.type.type, "names", ["?"])])
    return Statement("array", node.name, 0, (kind, node.type.dim, node.init.exprs), line)


def _store(node: Any, line: int) -> Statement | None:
    """Read `x[0] = …;`."""
    element = node.lvalue if isinstance(node, c_ast.Assignment) and node.op == "=" else None
    if not isinstance(element, c_ast.ArrayRef) or not isinstance(element.name, c_ast.ID):
        return None
    index = element.subscript
    if not isinstance(index, c_ast.Constant) or not INDEX.fullmatch(index.value):
        return None
    return Statement("store", element.name.name, int(index.value), node.rvalue, line)


def _unread(node: Any, line: int) -> Statement | None:
    """Read `(void)x;`."""
    if not isinstance(node, c_ast.Cast) or not isinstance(node.to_type.type, c_ast.TypeDecl):
        return None
    kind = " ".join(getattr(node.to_type.type.type, "names", ["?"]))
    return Statement("unread", node.expr.name, 0, kind, line) if name_of(node.expr) else None


def _work(node: Any, line: int) -> Statement | None:
    """Read `double x[8];`."""
    if not _is_declared(node, c_ast.ArrayDecl) or node.init is not None:
        return None
    const, kind, name, size = prototypes.parameter(node)
    sized = not const and re.fullmatch(r"[1-9]\d*", size)
    return Statement("work", name, int(size), kind, line) if sized else None


def name_of(node: Any) -> str:
    """Return the name of an identifier, or of the one that `prepared->value` points from; "" of anything else."""
    if isinstance(node, c_ast.StructRef) and node.type == "->" and isinstance(node.name, c_ast.ID):
        return f"{node.name.name}->{node.field.name}"
    return str(node.name) if isinstance(node, c_ast.ID) else ""


def _line(node: Any) -> int:
    return int(node.coord.line) if getattr(node, "coord", None) else 0

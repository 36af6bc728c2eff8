"""Parser of generated C: the function of a file, the static functions ("parts") that the function
calls, and the statements of each.

The parser raises ProgramError for every statement and declaration that the generator never writes.
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

INDEX = re.compile(r"0|[1-9]\d*")  # a leading zero would make the constant octal
_HEADER = re.compile(r'^# 1 "[^"\n]+\.h" 1\n.*?(?=^# \d+ "[^"\n]+" 2$)', re.MULTILINE | re.DOTALL)
"""The first header in a preprocessed text, up to the line marker that returns to the including
file.
"""
_DIRECTIVE = re.compile(r"^#.*$", re.MULTILINE)


class Statement(NamedTuple):
    """One statement of a function body; the fields depend on `kind`.

    - local: `const double target = …;`, expression (type, value);
    - array: `const double target[…] = {…};`, expression (type, size, values);
    - store: `target[element] = expression;`
    - unread: `(void)target;`, expression is the type of the cast;
    - work: the workspace `double target[element];`, expression is the type;
    - part: a call of the static function `target`, expression (parameters, statements).
    """

    kind: str
    target: str
    element: int
    expression: Any
    line: int

    @property
    def inner(self) -> tuple[Statement, ...]:
        """Statements of the called part; empty for other kinds."""
        return self.expression[1] if self.kind == "part" else ()


class Checks(NamedTuple):
    """Conditions of a checked function: (status if the condition fails, as macro or number;
    condition; number of plain statements before the check).
    """

    conditions: tuple[tuple[str, Any, int], ...] = ()


class Text(NamedTuple):
    """Parsed generated file: the function's name, its parameters and its statements."""

    symbol: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    checks: Checks | None = None
    """Checks of a function that returns a status; else None."""
    header_prototypes: tuple[Prototype, ...] | None = None
    """Declarations of the function's header, if the text is preprocessed; else None."""
    work: Statement | None = None
    """Declaration of the workspace that the parts share."""


class Units(NamedTuple):
    """Declarations of a generated file."""

    declarations: list[Any]
    """Declarations of the file itself, in the order of the text."""
    header_prototypes: tuple[Prototype, ...] | None
    """Declarations of the included headers, if the text is preprocessed; else None."""
    function: Any
    """The last declaration: the only function with external linkage."""


def parse_units(text: str, preprocessed: str = "") -> Units:
    """Return the declarations of a generated file; the arguments are those of `parse`.

    Raises ProgramError unless exactly the last declaration is a function with external linkage.
    """
    # Comments keep their line ends and a directive becomes an empty line, so line numbers are
    # unchanged.
    code = re.sub(r"^[ \t]*#(?!pragma omp ).*$", "", without_comments(text), flags=re.MULTILINE)
    begins_and_ends_with_function = code.lstrip().startswith(
        ("void ", "int ", "static ")
    ) and code.rstrip().endswith("}")
    if preprocessed:
        declarations, of_headers = _split_by_file(preprocessed)
    else:
        declarations, of_headers = _parse_without_includes(code), []
    external = [unit for unit in declarations if not _is_static(unit)]
    is_one_function = (
        len(external) == 1
        and external == declarations[-1:]
        and isinstance(external[0], c_ast.FuncDef)
    )
    if not is_one_function or not begins_and_ends_with_function:
        raise ProgramError(
            f"the C has {len(external)} declarations that are not static; one function is expected,"
            " at the end"
        )
    if external[0].decl.storage or external[0].decl.funcspec:
        raise ProgramError(f"{external[0].decl.name} is not a plain function")
    header_prototypes = prototypes.read(of_headers) if preprocessed else None
    return Units(declarations, header_prototypes, declarations[-1])


def _parse_without_includes(code: str) -> list[Any]:
    """Return the declarations of a text whose headers are not read.

    The types of the headers are declared in front of the text: NAME_pair (a sine and its cosine),
    NAME_turns (the pairs of all angles) and NAME_prepared (prepared parameters).
    """
    types = re.findall(
        r"^ +(?:const )?(\w+_(?:pair|turns)) |\bconst (\w+_prepared) \*", code, re.MULTILINE
    )
    declared = "".join(f"typedef int {turn or struct};" for turn, struct in sorted(set(types)))
    return parse_text(declared + code)[declared.count(";") :]


def _split_by_file(preprocessed: str) -> tuple[list[Any], list[Any]]:
    """Return the declarations of a preprocessed file, and those of its headers."""
    units = _parse_preprocessed(preprocessed)
    file = prototypes.file(units[-1]) if units else ""
    in_file = [unit for unit in units if prototypes.file(unit) == file]
    return in_file, [unit for unit in units if prototypes.file(unit) != file]


def _parse_preprocessed(preprocessed: str) -> list[Any]:
    """Return the declarations of a preprocessed file and of its headers.

    The first header is parsed once for all files that include it. The syntax of the text after the
    header depends on the header's type names only; these are declared in front of that text.
    """
    header = _HEADER.search(preprocessed)
    if header is None or _DIRECTIVE.sub("", preprocessed[: header.start()]).strip():
        return parse_text(preprocessed)
    try:
        of_header = _parse_header(header[0])
    except ProgramError:  # a declaration of the header ends in the including file
        return parse_text(preprocessed)
    type_names = [unit.name for unit in of_header if isinstance(unit, c_ast.Typedef)]
    typedefs = "".join(f"typedef int {name};" for name in type_names)
    body = parse_text(f"{typedefs}\n{preprocessed[header.end() :]}")[len(type_names) :]
    return [*of_header, *body]


@lru_cache(maxsize=1)
def _parse_header(text: str) -> list[Any]:
    """Return the declarations of a header, which must be complete declarations."""
    return parse_text(text)


def parse_declarations(code: str, file: str = "", type_names: Sequence[str] = ()) -> list[Any]:
    """Return the declarations of a text without directives, from a file called `file`.

    The names in `type_names` are declared as types before the text is parsed.
    """
    types = sorted(set(re.findall(r"^ +(?:const )?(\w+_(?:pair|turns)) ", code, re.MULTILINE)))
    declared = "".join(f"typedef int {name};" for name in ("ptrdiff_t", *type_names, *types))
    return parse_text(declared + code, file)[declared.count(";") :]


def parse_text(text: str, file: str = "") -> list[Any]:
    """Return the declarations of a text. Raises ProgramError if the text is not C."""
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
                f"line {_line(unit.decl)}: {unit.decl.name} has no parameter, or one without a name"
            )


def _is_static(unit: Any) -> bool:
    return getattr(unit.decl if isinstance(unit, c_ast.FuncDef) else unit, "storage", []) == [
        "static"
    ]


def _read_part(unit: Any) -> Text:
    """Return the parameters and statements of a static function that returns void."""
    if not isinstance(unit, c_ast.FuncDef) or _return_type(unit) != ["void"] or unit.decl.funcspec:
        raise ProgramError(
            f"line {_line(getattr(unit, 'decl', unit))}: this is not a static function that returns"
            " void"
        )
    statements = tuple(_statement(node, {}) for node in unit.body.block_items or [])
    return Text(unit.decl.name, prototypes.parameters(unit.decl), statements)


def parse(text: str, preprocessed: str = "") -> Text:
    """Return the function of a generated file.

    `preprocessed` is the output of the compiler's preprocessor for this file, with line markers.
    Without it the headers are not read. Raises ProgramError if the text is not one function in the
    form that the generator writes, with its parts.
    """
    declarations, header_prototypes, function = parse_units(text, preprocessed)
    return_type = _return_type(function)
    if return_type not in (["void"], ["int"]) or not all(
        isinstance(unit, c_ast.FuncDef) for unit in declarations
    ):
        raise ProgramError(
            f"{function.decl.name} is not a plain function that returns void, or the status of its"
            " checks"
        )
    parts: dict[str, Statement] = {}
    for unit in declarations[:-1]:
        name, line = unit.decl.name, _line(unit.decl)
        part = _read_part(unit)
        if name in parts:
            raise ProgramError(f"line {line}: {name} is defined twice")
        parts[name] = Statement("part", name, 0, (part.parameters, part.statements), line)
    items, checks = function.body.block_items or [], None
    work = [
        _statement(node, {})
        for node in items[:1]
        if parts and isinstance(node, c_ast.Decl) and node.init is None
    ]
    items = items[len(work) :]
    if return_type == ["int"]:
        items, checks = _separate_checks(items)
    statements = [_statement(node, parts) for node in items]
    if uncalled := sorted(parts):
        raise ProgramError(f"{uncalled[0]} is never called")
    return Text(
        function.decl.name,
        prototypes.parameters(function.decl),
        (*statements,),
        checks,
        header_prototypes,
        *work,
    )


def _return_type(function: Any) -> list[str]:
    result = function.decl.type.type
    return list(getattr(result.type, "names", [])) if isinstance(result, c_ast.TypeDecl) else []


def _separate_checks(items: list[Any]) -> tuple[list[Any], Checks]:
    """Return the plain statements of a checked function's body, and its checks.

    The body is `int status = NAME_OK; … if (!(…)) status = NAME_…; else if … else { … } return
    status;`. Raises ProgramError for any other body.
    """
    status = _status_local(items)
    statements: list[Any] = []
    conditions = [("", items[0].init, 0)]
    block = list(items[1:-1])
    while block and isinstance(block[-1], c_ast.If):
        statements += block[:-1]
        node = block[-1]
        failure_status, condition = _check(node, status)
        conditions.append((failure_status, condition, len(statements)))
        else_branch = node.iffalse
        is_else_if = isinstance(else_branch, c_ast.If)
        block = [else_branch] if is_else_if else list(else_branch.block_items or [])
    return statements + block, Checks(tuple(conditions))


def _status_local(items: list[Any]) -> str:
    """Return the status variable's name: the first statement defines it, the last returns it."""
    first: Any = items[0] if items else None
    last = items[-1] if items else None
    is_int = (
        isinstance(first, c_ast.Decl)
        and getattr(getattr(first.type, "type", None), "names", []) == ["int"]
        and not first.quals
    )
    if not is_int or not isinstance(last, c_ast.Return) or name_of(last.expr) != first.name:
        raise ProgramError("a checked function must begin with its status and end by returning it")
    return str(first.name)


def _check(node: Any, status: str) -> tuple[str, Any]:
    """Return the status that a failed check sets, and the condition that must hold."""
    block = node.iftrue.block_items if isinstance(node.iftrue, c_ast.Compound) else None
    assignment = block[0] if block and len(block) == 1 else None
    if (
        not isinstance(assignment, c_ast.Assignment)
        or (assignment.op, name_of(assignment.lvalue)) != ("=", status)
        or not isinstance(node.cond, c_ast.UnaryOp)
        or node.cond.op != "!"
        or node.iffalse is None
    ):
        raise ProgramError(
            f"line {node.coord.line}: a check must be if (!(…)) {{ {status} = …; }} with an else"
            " branch"
        )
    return status_of(assignment.rvalue), node.cond.expr


def status_of(node: Any) -> str:
    """Return the macro of a status; its number in a preprocessed text."""
    return str(node.value) if isinstance(node, c_ast.Constant) else name_of(node)


def _statement(node: Any, parts: dict[str, Statement]) -> Statement:
    """Return one statement as a Statement.

    A call removes its part from `parts`, so that a second call is rejected. The arguments of the
    call must have the names of the part's parameters.
    """
    line = _line(node)
    for read_kind in (_local, _array, _store, _unread, _work):
        statement = read_kind(node, line)
        if statement is not None:
            return statement
    if isinstance(node, c_ast.FuncCall) and name_of(node.name) in parts:
        part = parts.pop(node.name.name)
        arguments = [name_of(argument) for argument in node.args.exprs] if node.args else []
        if arguments != [name for _, _, name, _ in part.expression[0]]:
            raise ProgramError(
                f"line {line}: the arguments of {part.target} do not have the names of its"
                " parameters"
            )
        return part
    raise ProgramError(
        f"line {line}: a statement ({type(node).__name__}) that generated code never has"
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
    """Return the text of an identifier or of `prepared->value`; "" for any other expression."""
    if isinstance(node, c_ast.StructRef) and node.type == "->" and isinstance(node.name, c_ast.ID):
        return f"{node.name.name}->{node.field.name}"
    return str(node.name) if isinstance(node, c_ast.ID) else ""


def _line(node: Any) -> int:
    return int(node.coord.line) if getattr(node, "coord", None) else 0

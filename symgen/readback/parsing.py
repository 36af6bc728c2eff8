"""A generated file taken apart: its function, the parts that it calls, and the statements of each.

Nothing else may stand in the text: no other statement, no other declaration.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from pycparser import c_ast, c_parser

from symgen.readback import prototypes
from symgen.readback.checks import Checks, unfold
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


class Text(NamedTuple):
    """A generated file, parsed: the function's name, its parameters and its statements."""

    symbol: str
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
    checks: Checks | None = None
    """Of a function that returns a status."""
    declared: tuple[Prototype, ...] | None = None
    """What its header declares, where the text is what a preprocessor made of it."""
    work: Statement | None = None
    """The array that the parts share."""


class Units(NamedTuple):
    """What stands in a file: `held` in the order of the text, and what its headers declare, where they were looked at."""

    held: list[Any]
    declared: tuple[Prototype, ...] | None
    function: Any
    """The last one: the function, plain and of external linkage."""


def units(text: str, seen: str = "") -> Units:
    """What `parse` is told, taken apart; ProgramError where the last declaration is not the one function of external linkage."""
    # Line numbers stay those of the file: comments keep their line ends, directives leave an empty line.
    plain = re.sub(r"^[ \t]*#.*$", "", without_comments(text), flags=re.MULTILINE)
    # What the includes would declare, on the text's first line: the type of a sine with its cosine, or of those of all angles,
    # and the struct of prepared parameters.
    types = sorted(
        set(
            re.findall(
                r"^ +const (\w+_(?:pair|turns)) |\bconst (\w+_prepared) \*", plain, re.MULTILINE
            )
        )
    )
    names = "".join(f"typedef int {turn or struct};" for turn, struct in types)
    alone = plain.lstrip().startswith(("void ", "int ", "static ")) and plain.rstrip().endswith("}")
    if seen:
        found = _preprocessed(seen)
        file = prototypes.file(found[-1]) if found else ""
        before = [unit for unit in found if prototypes.file(unit) != file]
        held = [unit for unit in found if prototypes.file(unit) == file]
    else:
        held = _parsed(names + plain)[names.count(";") :]
    plainly = [unit for unit in held if not _static(unit)]
    if (
        len(plainly) != 1
        or plainly != held[-1:]
        or not isinstance(plainly[0], c_ast.FuncDef)
        or not alone
    ):
        raise ProgramError(
            f"the C holds {len(plainly)} declarations; one function is expected, behind its parts"
        )
    if plainly[0].decl.storage or plainly[0].decl.funcspec:
        raise ProgramError(f"{plainly[0].decl.name} is not a plain function")
    return Units(held, prototypes.read(before) if seen else None, held[-1])


def _preprocessed(seen: str) -> list[Any]:
    """The declarations of a preprocessed file. Its first header is parsed once for all the files that include it: C depends on
    what stands before only in the names of types, which are declared to the rest again.
    """
    header = _HEADER.search(seen)
    if header is None or _DIRECTIVE.sub("", seen[: header.start()]).strip():
        return _parsed(seen)
    try:
        found = _of_header(header[0])
    except ProgramError:  # the header alone is no whole number of declarations
        return _parsed(seen)
    types = [unit.name for unit in found if isinstance(unit, c_ast.Typedef)]
    again = "".join(f"typedef int {name};" for name in types)
    return [*found, *_parsed(f"{again}\n{seen[header.end() :]}")[len(types) :]]


@lru_cache(maxsize=1)
def _of_header(text: str) -> list[Any]:
    """The declarations of a header that is complete in itself."""
    return _parsed(text)


def _parsed(text: str) -> list[Any]:
    """The declarations of a text; ProgramError where it is no C."""
    try:
        return list(c_parser.CParser().parse(text).ext)
    except c_parser.ParseError as error:
        raise ProgramError(f"the C does not parse: {error}") from None
    except RecursionError:
        raise ProgramError("the C is nested more deeply than generated code ever is") from None


def _static(unit: Any) -> bool:
    return getattr(unit.decl if isinstance(unit, c_ast.FuncDef) else unit, "storage", []) == [
        "static"
    ]


def part_of(unit: Any) -> Text:
    """A static part that returns nothing, by itself."""
    if not isinstance(unit, c_ast.FuncDef) or _returned(unit) != ["void"] or unit.decl.funcspec:
        raise ProgramError(
            f"line {_line(getattr(unit, 'decl', unit))}: this is no part of a function"
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
                f"line {line}: {name} is not a part of {function.decl.name} that stands there once"
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
        items, checks = unfold(items)
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


def _statement(node: Any, parts: dict[str, Statement]) -> Statement:
    """One statement. A call takes its part out of `parts`: each is called once, with what its parameters are called."""
    line = _line(node)
    if (
        isinstance(node, c_ast.Decl)
        and isinstance(node.type, c_ast.TypeDecl)
        and not node.storage
        and node.init is not None
    ):
        kind = " ".join([*node.quals, *getattr(node.type.type, "names", ["?"])])
        return Statement("local", node.name, 0, (kind, node.init), line)
    if (
        isinstance(node, c_ast.Decl)
        and isinstance(node.type, c_ast.ArrayDecl)
        and isinstance(node.type.type, c_ast.TypeDecl)
        and not node.storage
        and isinstance(node.init, c_ast.InitList)
    ):
        kind = " ".join([*node.type.type.quals, *getattr(node.type.type.type, "names", ["?"])])
        return Statement("array", node.name, 0, (kind, node.type.dim, node.init.exprs), line)
    if (
        isinstance(node, c_ast.Assignment)
        and node.op == "="
        and isinstance(node.lvalue, c_ast.ArrayRef)
    ):
        target, index = node.lvalue.name, node.lvalue.subscript
        if (
            isinstance(target, c_ast.ID)
            and isinstance(index, c_ast.Constant)
            and INDEX.fullmatch(index.value)
        ):
            return Statement("store", target.name, int(index.value), node.rvalue, line)
    if (
        isinstance(node, c_ast.Cast)
        and isinstance(node.to_type.type, c_ast.TypeDecl)
        and name_of(node.expr)
    ):
        return Statement(
            "unread",
            node.expr.name,
            0,
            " ".join(getattr(node.to_type.type.type, "names", ["?"])),
            line,
        )
    if (
        isinstance(node, c_ast.Decl)
        and isinstance(node.type, c_ast.ArrayDecl)
        and not node.storage
        and node.init is None
    ):
        const, kind, name, size = prototypes.parameter(node)
        if not const and re.fullmatch(r"[1-9]\d*", size):
            return Statement("work", name, int(size), kind, line)
    if isinstance(node, c_ast.FuncCall) and name_of(node.name) in parts:
        part = parts.pop(node.name.name)
        given = [name_of(one) for one in node.args.exprs] if node.args else []
        if given != [name for _, _, name, _ in part.expression[0]]:
            raise ProgramError(
                f"line {line}: {part.target} is not given what its parameters are called"
            )
        return part
    raise ProgramError(
        f"line {line}: a statement ({type(node).__name__}) that generated code never holds"
    )


def name_of(node: Any) -> str:
    """Return the name of an identifier, or of the one that `prepared->value` points from; "" of anything else."""
    if isinstance(node, c_ast.StructRef) and node.type == "->" and isinstance(node.name, c_ast.ID):
        return f"{node.name.name}->{node.field.name}"
    return str(node.name) if isinstance(node, c_ast.ID) else ""


def _line(node: Any) -> int:
    return int(node.coord.line) if getattr(node, "coord", None) else 0

"""Prototypes that a header declares, and the parameters of a declaration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pycparser import c_ast

from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import REALS, Real

STRUCT = "prepared"
"""Ending of the name of the struct NAME_prepared, whose only field is the array `value`."""
Parameter = tuple[bool, str, str, str]
"""(const, type, name, size)."""


class Prototype(NamedTuple):
    """A function as a header declares it."""

    symbol: str
    returned: str
    parameters: tuple[Parameter, ...]


def file(node: Any) -> str:
    """Return the file of a declaration."""
    coord = getattr(node, "coord", None) or getattr(getattr(node, "decl", None), "coord", None)
    return str(coord.file) if coord else ""


def read(units: Sequence[Any]) -> tuple[Prototype, ...]:
    """Return the prototypes among the declarations of the headers.

    Raises ProgramError for other declarations, except the assertion on the size of the real type,
    the struct NAME_prepared, and the declarations of NAME_sincos.h.
    """
    functions = []
    for unit in units:
        if (
            isinstance(unit, c_ast.Decl)
            and isinstance(unit.type, c_ast.FuncDecl)
            and not unit.storage
            and not unit.funcspec
        ):
            returned = " ".join(getattr(getattr(unit.type.type, "type", None), "names", ["?"]))
            functions.append(Prototype(unit.name, returned, parameters(unit)))
        elif (
            not file(unit).endswith("_sincos.h")
            and not _is_size_assertion(unit)
            and not _is_struct(unit)
        ):
            raise ProgramError(
                f"{file(unit)} holds a {type(unit).__name__} that is not a plain prototype"
            )
    return tuple(functions)


def size_assertion(name: str, real: Real) -> str:
    """Return the declaration in NAME.h that fails to compile if the real type has another size."""
    return (
        f"extern const char {_asserted(name, real)}[(sizeof({real.name}) == {real.size}U) ? 1 :"
        " -1];"
    )


def _asserted(name: str, real: Real) -> str:
    return f"{name}_{real.name}_has_{real.size}_bytes"


def _is_size_assertion(unit: Any) -> bool:
    """True for an external array with the name of a size assertion.

    `preprocessor.macros` compares its text.
    """
    return (
        isinstance(unit, c_ast.Decl)
        and unit.storage == ["extern"]
        and unit.name.endswith(tuple(_asserted("", real) for real in REALS.values()))
    )


def _is_struct(unit: Any) -> bool:
    """True for the struct NAME_prepared; `preprocessor.macros` compares its text."""
    struct = getattr(getattr(unit, "type", None), "type", None)
    return (
        isinstance(unit, c_ast.Typedef)
        and unit.name.endswith(f"_{STRUCT}")
        and isinstance(struct, c_ast.Struct)
        and [member.name for member in struct.decls or ()] == ["value"]
    )


def parameters(declaration: Any) -> tuple[Parameter, ...]:
    """Return the parameters of a declaration. Raises ProgramError as `parameter` does."""
    declared = declaration.type
    return tuple(parameter(node) for node in (declared.args.params if declared.args else []))


def differences(
    declared: Sequence[Prototype], symbol: str, defined: tuple[Parameter, ...], checked: bool
) -> list[str]:
    """List the differences between the declaration and the definition of a function.

    The header must declare the function once, with the same parameters in the same order.
    """
    matching = [prototype for prototype in declared if prototype.symbol == symbol]
    if len(matching) != 1:
        return [f"the header declares {symbol} {len(matching)} times"]
    expected_prototype = Prototype(symbol, "int" if checked else "void", defined)
    return (
        []
        if matching[0] == expected_prototype
        else [
            f"the header declares {symbol} with other parameters, or another result, than its"
            " definition"
        ]
    )


def parameter(node: Any) -> Parameter:
    """Return a parameter: an array, an int, or a pointer to a constant struct NAME_prepared.

    An int and a pointer have no size. Raises ProgramError for any other parameter.
    """
    kind, name = getattr(node, "type", None), getattr(node, "name", None) or "?"
    if (struct := _struct_behind(kind)).endswith(f"_{STRUCT}"):
        return True, struct, name, ""
    if isinstance(kind, c_ast.TypeDecl) and _words(kind, "") == "int" and not kind.quals:
        return False, "int", name, ""
    if (
        not isinstance(kind, c_ast.ArrayDecl)
        or not isinstance(kind.type, c_ast.TypeDecl)
        or kind.dim is None
    ):
        line = node.coord.line if getattr(node, "coord", None) else 0
        raise ProgramError(f"line {line}: a parameter is not an array of known size")
    return "const" in kind.type.quals, _words(kind.type), name, _dimension(kind.dim)


def _struct_behind(kind: Any) -> str:
    """Return the type that a pointer to constants points to; "" for another type."""
    pointed = kind.type if isinstance(kind, c_ast.PtrDecl) and not kind.quals else None
    constant = isinstance(pointed, c_ast.TypeDecl) and pointed.quals == ["const"]
    return _words(pointed) if constant else ""


def _words(kind: c_ast.TypeDecl | None, unknown: str = "?") -> str:
    """Return the words of a plain type."""
    return " ".join(getattr(getattr(kind, "type", None), "names", [unknown]))


def _dimension(node: Any) -> str:
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        return f"{_dimension(node.left)}*{_dimension(node.right)}"
    return str(node.value if isinstance(node, c_ast.Constant) else getattr(node, "name", "?"))

"""Types of the arguments of public functions. A wrong type is refused with one sentence, before any
work.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from numbers import Integral, Real
from typing import Any, NamedTuple, ParamSpec, TypeVar

from symgen.description.quantities import quote
from symgen.description.tree import Declared
from symgen.mechanism.mechanism import Mechanism
from symgen.support.errors import ArgumentError
from symgen.vocabulary.options import declarations, defaults
from symgen.vocabulary.poses import Angle

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Type(NamedTuple):
    """Accepted values of an argument, and their description in words."""

    accepts: Callable[[Any], bool]
    words: str


def _is_list(value: Any, accepts: Callable[[Any], bool]) -> bool:
    """True for an iterable that is neither a text nor a mapping, and whose entries are accepted."""
    if isinstance(value, str | Mapping | bytes | bytearray):
        return False
    try:
        entries = iter(value)
    except TypeError:  # also raised by an array without dimensions
        return False
    return all(map(accepts, entries))


def _is_table(value: Any, accepts: Callable[[Any], bool]) -> bool:
    """True for a mapping of strings to accepted values."""
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and accepts(entry) for name, entry in value.items()
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_names(value: Any) -> bool:
    return _is_text(value) or _is_list(value, _is_text)


def _is_number(value: Any) -> bool:
    return isinstance(value, str | Real) and not isinstance(value, bool)


def _is_numbers(value: Any) -> bool:
    return _is_text(value) or _is_list(value, _is_number)


def _is_position(value: Any) -> bool:
    return _is_list(value, lambda entry: _is_number(entry) and not _is_text(entry))


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def _is_lock_value(value: Any) -> bool:
    return value is None or _is_number(value) or isinstance(value, Angle)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_switch(value: Any) -> bool:
    """True for a bool, including NumPy's, and for the numbers 0 and 1."""
    return type(value).__name__ in ("bool", "bool_") or (
        isinstance(value, Integral) and int(value) in (0, 1)
    )


def _is_row(value: Any) -> bool:
    return _is_text(value) or _is_integer(value)


def _is_program(value: Any) -> bool:
    return hasattr(value, "rows") and hasattr(value, "inputs") and hasattr(value, "function")


TEXT = Type(_is_text, "a string")
NAMES = Type(_is_names, "a name, or a list of names")
ROWS = Type(
    lambda value: _is_text(value) or _is_list(value, _is_row),
    "names or numbers of rows, as a list or a comma-separated string",
)
NUMBER = Type(_is_number, "a number")
NUMBERS = Type(_is_numbers, "a list of numbers")
INTEGER = Type(_is_integer, "an integer")
SWITCH = Type(_is_switch, "True or False")
PATH = Type(_is_path, "a path")
CALL = Type(callable, "a function")
LOCK = Type(
    lambda value: _is_table(value, _is_lock_value) or _is_names(value),
    "a dict of joints and values (numbers, strings or None), or a list of joints",
)
ROBOT = Type(
    lambda value: isinstance(value, Mechanism | Declared | str | bytes | bytearray | os.PathLike),
    "a built-in name, a path, the text of a description, or a Mechanism",
)

TYPES: dict[str, Type] = {
    "robot": ROBOT,
    "lock": LOCK,
    "gravity": NUMBERS,
    "snap": NUMBER,
    "friction_speed": NUMBER,
    "out": PATH,
    "program": Type(_is_program, "a Program, as symgen.program returns it"),
    **dict.fromkeys(
        (
            "mimic",
            "base",
            "model",
            "distribution",
            "function",
            "method",
            "real",
            "name",
            "payload",
            "trig",
            "target",
            "jacobian_frame",
            "jacobian_order",
            "effort",
            "form",
            "blocks",
            "to",
            "what",
            "mode",
        ),
        TEXT,
    ),
    **dict.fromkeys(
        (
            "drives",
            "independent",
            "actuated",
            "functions",
            "frame",
            "wrench",
            "contact",
            "parameters",
            "wrap",
            "wrt",
            "joint_order",
            "symbols",
        ),
        NAMES,
    ),
    **dict.fromkeys(
        (
            "strict",
            "native",
            "contract",
            "checked",
            "baumgarte",
            "batch",
            "evidence",
            "functions_only",
            "compiled",
        ),
        SWITCH,
    ),
    **dict.fromkeys(("optimize", "states", "seed"), INTEGER),
    "xacro": Type(lambda value: _is_table(value, _is_text), "a dict of names and strings"),
    "packages": Type(lambda value: _is_table(value, _is_path), "a dict of packages and folders"),
    "at": Type(lambda value: _is_table(value, _is_number), "a dict of coordinates and numbers"),
    "task_rows": ROWS,
    "progress": CALL,
    "q": Type(_is_position, "a list of numbers"),
}
"""Type of each parameter of the public functions. A name has the same type everywhere."""


def validated(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return `function` with a check of its arguments by TYPES. ArgumentError names the argument,
    its value and the type.

    A default value is accepted. An iterator of names becomes a list. A missing or an unknown
    argument raises Python's TypeError.
    """
    return _validated(function, inspect.signature(function), {})


def validated_with(
    options: Any, **usual: Any
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return `validated` for a function whose last parameter is **options: Unpack[`options`], a
    TypedDict of options.

    The function is called with every option: the defaults are those of the declarations, or of
    `usual`. Its signature shows each option by name.
    """
    chosen = {name: usual.get(name, value) for name, value in defaults(options).items()}

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        signature = inspect.signature(function)
        positional = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        declared = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=chosen[name], annotation=kind
            )
            for name, (kind, _) in declarations(options).items()
        ]
        return _validated(function, signature.replace(parameters=[*positional, *declared]), chosen)

    return decorate


def _validated(
    function: Callable[Arguments, Result], signature: inspect.Signature, options: Mapping[str, Any]
) -> Callable[Arguments, Result]:
    """Return `function` with a check of its arguments; `options` are defaults of its **options."""

    @wraps(function)
    def checked(*positional: Arguments.args, **named: Arguments.kwargs) -> Result:
        try:
            bound = signature.bind(*positional, **named)
        except TypeError:
            for name in named:
                if name not in signature.parameters:  # **options would accept it
                    raise TypeError(
                        f"{function.__name__}() got an unexpected keyword argument '{name}'"
                    ) from None
            return function(*positional, **named)  # Python's own message names the function
        for name, value in bound.arguments.items():
            if value is not signature.parameters[name].default:
                bound.arguments[name] = validate(name, value)
        return function(*bound.args, **{**options, **bound.kwargs})

    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked


def validate(name: str, value: Any) -> Any:
    """Return the value of an argument, with an iterator as a list. Raises ArgumentError for a wrong
    type.
    """
    checked_value = list(value) if isinstance(value, Iterator) else value
    expected = TYPES.get(name)
    if expected is not None and not expected.accepts(checked_value):
        text = ", which is not a string" if expected.accepts("text") else ""
        raise ArgumentError(f"{name} is {_describe(value)}{text}; give {expected.words}")
    return checked_value


def _describe(value: Any) -> str:
    """Return a value for a message: its repr, or its type if that is long."""
    text = repr(value)
    if len(text) <= 60 and text.isprintable() and not text.startswith("<"):
        return text
    kind = type(value).__name__
    return (
        f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"
        if text.startswith("<")
        else f"the {kind} {quote(text)}"
    )

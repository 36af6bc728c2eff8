"""Text of statements in a language with the grammar of C.

An indentation has four columns. Each statement is on its own line, and each body is in braces.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence

from symgen.emission import statements as s
from symgen.emission.checks import lines
from symgen.emission.language import Language

INDENT = " " * 4


def write(statements: Iterable[s.Statement], language: Language, depth: int = 0) -> str:
    """Return the text of statements inside `depth` bodies, with an empty line between functions."""
    return "".join(f"{line}\n" for line in _lines(tuple(statements), language, INDENT * depth))


def value(expression: s.Value, language: Language) -> str:
    """Return the text of a value."""
    match expression:
        case tuple():
            return "".join(value(part, language) for part in expression)
        case s.Element(array, index, None):
            return _element(array, index, language)
        case s.Element(array, index, column):
            return _element(_element(array, index, language), column, language)
        case s.Address(array, index):
            return f"&{_element(array, index, language)}"
        case s.Row(array, index):
            return _element(array, index, language)
        case s.All(conditions, column):
            parts = [value(condition, language) for condition in conditions]
            return lines(parts, "&&", column).replace("\n", "\v")
        case s.Cast(kind, count, array):
            return f"({kind} (*)[{count}]){value(array, language)}"
        case _:
            return str(expression)


def _element(array: str, index: s.Value | None, language: Language) -> str:
    """Return the text of an element of an array; without an index, that of the array."""
    if index is None:
        return array
    return language.element.format(array=array, index=value(index, language))


def declarator(declared: s.Declare) -> str:
    """Return the declaration of a local or a parameter, without its value."""
    size = "".join(f"[{length}]" for length in declared.size)
    name = declared.name
    if declared.pointer:
        name = f"{declared.pointer}{' ' if declared.pointer == s.FIXED else ''}{name}"
        name = f"({name})" if size else name
    attribute = f" {declared.attribute}" if declared.attribute else ""
    return f"{declared.kind} {name}{size}{attribute}"


def _lines(statements: Sequence[s.Statement], language: Language, margin: str) -> Iterator[str]:
    """Yield the lines of statements."""
    for n, statement in enumerate(statements):
        if n and isinstance(statement, s.Function):
            yield ""
        yield from _statement(statement, language, margin)


def _statement(statement: s.Statement, language: Language, margin: str) -> Iterator[str]:
    """Yield the lines of a statement."""

    def text(expression: s.Value) -> str:
        """Return the text of a value; a vertical tab in it starts a line at column 0."""
        return value(expression, language).replace("\n", f"\n{margin}").replace("\v", "\n")

    def body(statements: Sequence[s.Statement]) -> Iterator[str]:
        return _lines(statements, language, margin + INDENT)

    def comment(words: str) -> str:
        return f" /* {words} */" if words else ""

    match statement:
        case s.Declare():
            initial = "" if statement.value is None else f" = {text(statement.value)}"
            yield f"{margin}{declarator(statement)}{initial};{comment(statement.comment)}"
        case s.Assign(target, assigned, sign):
            yield (
                f"{margin}{_assignment(text(target), text(assigned), sign)};"
                f"{comment(statement.comment)}"
            )
        case s.Call():
            yield from _call(statement, language, margin)
        case s.For():
            yield f"{margin}for ({_loop_control(statement, text)}) {{"
            yield from body(statement.body)
            yield f"{margin}}}"
        case s.While(condition):
            yield f"{margin}while ({text(condition)}) {{"
            yield from body(statement.body)
            yield f"{margin}}}"
        case s.If():
            yield f"{margin}if ({text(statement.condition)}) {{{comment(statement.comment)}"
            yield from body(statement.body)
            chained = statement.otherwise
            while isinstance(chained, s.If):
                yield f"{margin}}} else if ({text(chained.condition)}) {{{comment(chained.comment)}"
                yield from body(chained.body)
                chained = chained.otherwise
            if chained:
                yield f"{margin}}} else {{"
                yield from body(chained)
            yield f"{margin}}}"
        case s.Block():
            yield f"{margin}{{"
            yield from body(statement.body)
            yield f"{margin}}}"
        case s.Return():
            yield f"{margin}return {text(statement.value)};"
        case s.Unused(name):
            yield f"{margin}(void){name};"
        case s.Comment(words):
            yield f"{margin}/* {words} */"
        case s.Blank():
            yield ""
        case s.Pragma(directive, macro):
            yield from (f"#if defined({macro})", f"#pragma {directive}", "#endif")
        case s.Function():
            if statement.comment:
                yield f"{margin}/* {statement.comment} */"
            parameters = ", ".join(map(declarator, statement.parameters)) or "void"
            if statement.attribute:
                yield f"{margin}{statement.attribute}"
            kind = "part" if statement.part else "static" if statement.static else "public"
            storage = language.storage[kind]
            yield f"{margin}{storage}{statement.returns} {statement.name}({parameters})"
            yield f"{margin}{{"
            yield from body(statement.body)
            yield f"{margin}}}"


def _assignment(target: str, assigned: str, sign: str) -> str:
    """Return the text of an assignment; an increment by one is `++`, a decrement `--`."""
    if assigned == "1" and sign in ("+=", "-="):
        return f"{sign[0] * 2}{target}"
    return f"{target} {sign} {assigned}"


def _loop_control(loop: s.For, text: Callable[[s.Value], str]) -> str:
    """Return the initialization, the condition and the increment of a loop."""
    comparison = ("<" if loop.step > 0 else ">") + ("=" if loop.inclusive else "")
    condition = f"{loop.index} {comparison} {text(loop.last)}"
    if loop.condition:
        condition = f"({text(loop.condition)}) && ({condition})"
    step = _assignment(loop.index, str(abs(loop.step)), "+=" if loop.step > 0 else "-=")
    return f"{loop.index} = {text(loop.first)}; {condition}; {step}"


def _call(call: s.Call, language: Language, margin: str) -> Iterator[str]:
    """Yield the lines of a call; those of a wrapped call end after an argument."""
    arguments = [value(argument, language) for argument in call.arguments]
    if not call.wrapped:
        yield f"{margin}{call.function}({', '.join(arguments)});"
        return
    statement = f"{call.function}({', '.join(a.replace(' ', chr(0)) for a in arguments)});"
    width = language.width - len(margin)
    first, *further = textwrap.wrap(
        statement, width, subsequent_indent=INDENT, break_long_words=False
    )
    yield f"{margin}{first}".replace("\0", " ")
    for line in further:
        indent = " " * call.continuation
        yield f"{margin}{indent}{line.removeprefix(INDENT)}".replace("\0", " ")

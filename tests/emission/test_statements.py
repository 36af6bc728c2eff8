"""Statements of generated functions: their text parses to equal statements.

Lanes are added to statements, and `check` reports faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pycparser import c_ast, c_generator, c_parser

from symgen.emission import print as printing
from symgen.emission import statements as s
from symgen.emission.c_text import C
from symgen.emission.statements import (
    Address,
    Assign,
    Block,
    Call,
    Comment,
    Declare,
    Element,
    For,
    Function,
    If,
    Return,
    Row,
    Unused,
    While,
    expression,
)
from symgen.support.errors import ProgramError

LANES = 4
KNOWN: dict[str, tuple[int | str, ...]] = {"table": (5, 2), "step": (), "PAD": (), "OK": ()}
INTS = tuple(Declare("int", name) for name in ("row", "k", "level"))
SWEEP = Function(
    "sweep",
    (
        Declare("const double", "q", size=(5,)),
        Declare("double", "qdd", size=(5,)),
        Declare("double", "numbers", size=(60,)),
        Declare("int", "group"),
    ),
    (
        Declare("double", "work", Address("numbers", "15*group"), pointer=s.FIXED),
        Declare("double", "before", expression("{}\n    + 3", Address("numbers", 30)), pointer="*"),
        Declare("double", "carry", size=(3,), attribute="PAD"),
        *INTS,
        Unused("qdd"),
        s.Blank(),
        Comment("outward, from the base"),
        For("k", 0, 3, (Assign(Element("carry", "k"), "0.0"),)),
        For(
            "row",
            4,
            0,
            (
                Declare("double", "after", "before + 3", pointer=s.FIXED),
                Call("step", (Row("table", "row"), Address("work", "3*row"), "before"), True),
                If(
                    expression("{} > 0.0", Element("carry", 1)),
                    (Assign(Element("after", 0), Element("before", 0), comment="the same"),),
                    If("row == 2", (Assign("level", "row"),), (Assign("level", "row/2"),)),
                    "greater",
                ),
                Assign("before", "after"),
            ),
            step=-1,
            inclusive=True,
            condition="level < 9",
        ),
        While("level > 0", (Assign("level", "2", "/="), Assign("level", "1", "-="))),
        Block((Declare("const int", "last", "level"), Assign("group", "last + 3", "*="))),
        s.PARALLEL,
        For("row", "group", 20, (Assign(Element("work", "row"), Element("q", 2), "+="),), step=2),
    ),
    static=True,
    comment="one sweep",
)
COUNT = Function("count", (), (Declare("int", "n", "4"), Return("n + 1")), returns="int")


# -- the tree that pycparser reads, and the same of statements -------------------------------------


def _plain(text: str) -> str:
    """Return an expression as pycparser writes it."""
    unit = c_parser.CParser().parse(f"int f(void) {{ x = {text}; }}")
    return c_generator.CGenerator().visit(unit.ext[0].body.block_items[0].rvalue)


def _declared(text: str) -> str:
    return c_generator.CGenerator().visit(c_parser.CParser().parse(f"{text};").ext[0])


def _of_statements(statements: Iterable[s.Statement]) -> list[Any]:
    """Return each statement as a list of its kind, its expressions, and its bodies."""

    def text(value: s.Value) -> str:
        return _plain(printing.value(value, C))

    tree: list[Any] = []
    for statement in statements:
        match statement:
            case Function():
                parameters = [_declared(printing.declarator(p)) for p in statement.parameters]
                parameters = parameters or ["void"]
                head = [statement.name, statement.returns, statement.static, parameters]
                tree.append(["function", *head, _of_statements(statement.body)])
            case Declare():
                bare = printing.declarator(replace(statement, attribute=""))
                value = [] if statement.value is None else [text(statement.value)]
                tree.append(["declare", _declared(bare), *value])
            case Assign(target, value, sign):
                tree.append(["assign", text(target), sign, text(value)])
            case Call(function, arguments):
                tree.append(["call", function, *map(text, arguments)])
            case For():
                sign = ("<" if statement.step > 0 else ">") + "=" * statement.inclusive
                bound = f"{statement.index} {sign} {printing.value(statement.last, C)}"
                if statement.condition:
                    bound = f"({printing.value(statement.condition, C)}) && ({bound})"
                change = [statement.index, "+=" if statement.step > 0 else "-="]
                head = [statement.index, text(statement.first), _plain(bound)]
                body = _of_statements(statement.body)
                tree.append(["for", *head, *change, str(abs(statement.step)), body])
            case While(condition, body):
                tree.append(["while", text(condition), _of_statements(body)])
            case If(condition, body, otherwise):
                last = (otherwise,) if isinstance(otherwise, If) else otherwise
                tree.append(["if", text(condition), _of_statements(body), _of_statements(last)])
            case Block(body):
                tree.append(["block", _of_statements(body)])
            case Return(value):
                tree.append(["return", text(value)])
            case Unused(name):
                tree.append(["unused", name])
            case s.Pragma(words):
                tree.append(["pragma", words])
    return tree


def _body(node: Any) -> list[Any]:
    if node is None:
        return []
    return _read_back(node.block_items or [] if isinstance(node, c_ast.Compound) else [node])


def _read_back(nodes: Sequence[Any]) -> list[Any]:
    """Return the statements of nodes of pycparser."""
    say = c_generator.CGenerator().visit
    tree: list[Any] = []
    for node in nodes:
        match node:
            case c_ast.FuncDef():
                decl = node.decl
                parameters = [say(p) for p in decl.type.args.params]
                returns = " ".join(decl.type.type.type.names)
                head = [decl.name, returns, decl.storage == ["static"], parameters]
                tree.append(["function", *head, _body(node.body)])
            case c_ast.Decl():
                value = [] if node.init is None else [say(node.init)]
                node.init = None
                tree.append(["declare", say(node), *value])
            case c_ast.Assignment():
                tree.append(["assign", say(node.lvalue), node.op, say(node.rvalue)])
            case c_ast.UnaryOp():
                tree.append(["assign", say(node.expr), f"{node.op[-1]}=", "1"])
            case c_ast.FuncCall():
                arguments = node.args.exprs if node.args else []
                tree.append(["call", node.name.name, *map(say, arguments)])
            case c_ast.For():
                (step,) = _read_back([node.next])
                head = [node.init.lvalue.name, say(node.init.rvalue), say(node.cond)]
                tree.append(["for", *head, *step[1:], _body(node.stmt)])
            case c_ast.While():
                tree.append(["while", say(node.cond), _body(node.stmt)])
            case c_ast.If():
                tree.append(["if", say(node.cond), _body(node.iftrue), _body(node.iffalse)])
            case c_ast.Compound():
                tree.append(["block", _body(node)])
            case c_ast.Return():
                tree.append(["return", say(node.expr)])
            case c_ast.Cast():
                tree.append(["unused", node.expr.name])
            case c_ast.Pragma():
                tree.append(["pragma", node.string])
            case _:
                raise AssertionError(type(node))
    return tree


def read_back(text: str) -> list[Any]:
    """Return the statements of a text."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).replace(" PAD", "")
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("#if", "#endif")))
    return _read_back(c_parser.CParser().parse(text).ext)


@pytest.mark.parametrize("lanes", [0, LANES])
def test_text_parses_to_the_statements(lanes: int) -> None:
    functions: tuple[s.Statement, ...] = (SWEEP, COUNT)
    if lanes:
        functions = s.in_lanes(functions, ("work", "before", "carry", "after"), lanes)
    assert read_back(printing.write(functions, C)) == _of_statements(functions)


def test_long_statements_are_wrapped_and_indented() -> None:
    text = printing.write([SWEEP, COUNT], C)
    for line in (
        (
            "/* one sweep */\n"
            "static void sweep(const double q[5], double qdd[5], double numbers[60], int group)\n"
            "{\n"
        ),
        (
            "    double *const work = &numbers[15*group];\n"
            "    double *before = &numbers[30]\n        + 3;\n"
        ),
        (
            "    double carry[3] PAD;\n    int row;\n    int k;\n    int level;\n    (void)qdd;\n\n"
            "    /* outward"
        ),
        "    for (row = 4; (level < 9) && (row >= 0); --row) {\n",
        (
            "        if (carry[1] > 0.0) { /* greater */\n"
            "            after[0] = before[0]; /* the same */\n"
        ),
        (
            "        } else if (row == 2) {\n            level = row;\n"
            "        } else {\n            level = row/2;\n        }\n"
        ),
        "    while (level > 0) {\n        level /= 2;\n        --level;\n    }\n    {\n",
        (
            "#if defined(_OPENMP)\n#pragma omp parallel for schedule(static, 1)\n#endif\n"
            "    for (row = group; row < 20; row += 2) {\n"
        ),
        "}\n\nint count(void)\n{\n    int n = 4;\n    return n + 1;\n}\n",
    ):
        assert line in text


def test_a_long_call_is_wrapped_between_arguments() -> None:
    call = Call("step", tuple(f"argument + {10**k}" for k in range(12)), wrapped=True)
    lines = printing.write([call], C, 2).splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= C.width
    assert lines[0].startswith("        step(")
    assert lines[1].startswith("            argument + ")
    assert all(line.endswith(",") for line in lines[:-1])
    further = printing.write([replace(call, continuation=8)], C, 2).splitlines()
    assert further == [lines[0], *(f"    {line}" for line in lines[1:])]


def test_joined_conditions_begin_at_one_column() -> None:
    conditions = tuple(expression("{} > 0.0", Element("x", 1000**k)) for k in range(9))
    checked = If(("!(", s.All(conditions, 7), ")"), (Assign("status", "1"),))
    text = printing.write(s.in_lanes([checked], {"x"}, 8), C)
    first, second, *_ = text.splitlines()[1:]
    assert first.startswith("    if (!((x[1][lane] > 0.0) && (x[1000][lane] > 0.0) && ")
    assert second.startswith("       && (x[1000000000")
    alone = If(s.All(conditions[:1], 7), ())
    assert printing.write([alone], C).startswith("if (x[1] > 0.0) {\n")
    with pytest.raises(ProgramError, match="'x' is used but not declared"):
        s.check([Function("function", (), (Declare("int", "status"), checked))], {})


# -- lanes -----------------------------------------------------------------------------------------


def test_consecutive_statements_share_one_loop_over_lanes() -> None:
    body = (
        Declare("double", "x", size=(3,)),
        Declare("double", "y", Address("numbers", 8), pointer="*"),
        Declare("double", "z", "y + 3", pointer=s.FIXED),
        Declare("int", s.LANE),
        Declare("int", "k"),
        Assign(Element("x", 0), Element("q", "first + lane")),
        Declare("const int", "place", "2*lane"),
        If("place > 3", (Assign(Element("x", 1), "0.0"),)),
        Assign(Element("x", 2, 3), "1.0"),
        For(
            "k",
            0,
            3,
            (Assign(Element("y", "k"), expression("{}*{}", Element("x", "k"), Element("q", 0))),),
        ),
        Assign("y", "z"),
    )
    text = printing.write(s.in_lanes(body, {"x", "y", "z"}, 8), C)
    assert text == (
        "double x[3][8];\n"
        "double (*y)[8] = (double (*)[8])&numbers[8];\n"
        "double (*const z)[8] = y + 3;\n"
        "int lane;\n"
        "int k;\n"
        "for (lane = 0; lane < 8; ++lane) {\n"
        "    x[0][lane] = q[first + lane];\n"
        "    const int place = 2*lane;\n"
        "    if (place > 3) {\n"
        "        x[1][lane] = 0.0;\n"
        "    }\n"
        "}\n"
        "x[2][3] = 1.0;\n"
        "for (k = 0; k < 3; ++k) {\n"
        "    for (lane = 0; lane < 8; ++lane) {\n"
        "        y[k][lane] = x[k][lane]*q[0];\n"
        "    }\n"
        "}\n"
        "y = z;\n"
    )


# -- faults ----------------------------------------------------------------------------------------


def _function(*body: s.Statement) -> Function:
    return Function("f", SWEEP.parameters, (*INTS, *body))


FAULTS = {
    "'x' is used but not declared": _function(Assign("k", "x + 1")),
    "'late' is used but not declared": _function(
        Assign(Element("qdd", 0), "late"), Declare("const double", "late", "0.0")
    ),
    "'inner' is used but not declared": _function(
        Block((Declare("const int", "inner", "3"),)), Assign("k", "inner")
    ),
    "'k' is declared twice": _function(Block((Declare("int", "k"),))),
    "'table' is declared twice": _function(Declare("int", "table")),
    "'step' is declared twice": Function("step", (), ()),
    "'int' is not a valid name": _function(Declare("int", "int")),
    "'sin' is not a valid name": _function(Declare("double", "sin")),
    "'none' is an array without elements": _function(Declare("double", "none", size=(0,))),
    "'2x' is not a valid name": _function(Declare("double", "2x")),
    "'i' is not a free loop index": _function(For("i", 0, 3, ())),
    "'k' is not a free loop index": _function(For("k", 0, 3, (For("k", 0, 3, ()),))),
    "'qdd' has no element 5": _function(Assign(Element("qdd", 5), "0.0")),
    "'qdd' has no element -1": _function(Assign(Element("qdd", "-1"), "0.0")),
    "'q' has no element 5": _function(
        For("k", 0, 5, (Assign(Element("qdd", 0), Element("q", "k")),), inclusive=True)
    ),
    "'q' has no element -1": _function(
        For("k", 4, -1, (Assign(Element("qdd", 0), Element("q", "k")),), step=-1, inclusive=True)
    ),
    "'table' has no element 2": _function(Assign(Element("qdd", 0), Element("table", 0, 2))),
    "'table' has 2 dimensions": _function(Assign(Element("qdd", 0), Element("table", 0))),
    "'q' has 1 dimensions": _function(Assign(Element("qdd", 0), Element("q", 0, 0))),
    "'group' has 0 dimensions": _function(Assign(Element("qdd", 0), Element("group", 0))),
    "'q' is assigned but constant": _function(Assign(Element("q", 0), "0.0")),
    "'qdd' is assigned but constant": _function(Assign("qdd", "q")),
    "'p' is assigned but constant": _function(
        Declare("double", "p", "qdd", pointer=s.FIXED), Assign("p", "qdd")
    ),
    "'c' is assigned but constant": _function(Declare("const int", "c", "3"), Assign("c", "4")),
    "'row' is assigned but is no local variable": _function(
        For("row", 0, 3, (Assign("row", "4"),))
    ),
    "'OK' is assigned but is no local variable": _function(Assign("OK", "4")),
    "'fly' is called but not declared": _function(Call("fly")),
    "'q[0]' accesses an array in text": _function(Assign(Element("qdd", 0), "q[0]")),
    "'return' is not the last statement": _function(If("k > 0", (Return("k"),))),
    "'void' is the return type, but the last statement does not fit it": _function(Return("k")),
    "'int' is the return type, but the last statement does not fit it": replace(
        _function(), returns="int"
    ),
    "'f' is a function inside a function": _function(_function()),
}


@pytest.mark.parametrize("fact", FAULTS)
def test_check_reports_a_planted_fault(fact: str) -> None:
    with pytest.raises(ProgramError, match=re.escape(fact)):
        s.check([FAULTS[fact]], KNOWN)


def test_check_accepts_correct_statements() -> None:
    assert s.check([SWEEP, COUNT], KNOWN) == (SWEEP, COUNT)
    caller = replace(
        _function(Call("sweep", ("q", "qdd", "numbers", "2")), Assign("k", "count()")), name="g"
    )
    assert s.check([SWEEP, COUNT, caller], KNOWN)[-1] is caller


def test_check_accepts_statements_of_lanes() -> None:
    lanes = replace(SWEEP, body=(Declare("int", s.LANE), *SWEEP.body))
    arrays = ("work", "before", "carry", "after")
    (function,) = s.in_lanes([lanes], arrays, LANES)
    assert isinstance(function, Function)
    with pytest.raises(ProgramError, match="'carry' has 2 dimensions"):
        s.check(
            [replace(function, body=(*function.body, Assign(Element("carry", 0), "0.0")))], KNOWN
        )


def test_a_pattern_takes_one_value_per_placeholder() -> None:
    assert expression("{} + {}", 1, Element("q", "k")) == (1, " + ", Element("q", "k"))
    with pytest.raises(ProgramError, match="takes 2 values, not 1"):
        expression("{} + {}", 1)


# -- values and bodies -----------------------------------------------------------------------------


def test_a_body_is_made_of_statements_several_and_none() -> None:
    first, second, third = Return("1"), Return("2"), Return("3")
    assert s.body(first, None, [second, third], ()) == (first, second, third)
    assert s.body() == s.body(None) == ()
    assert s.body(s.integers("i", "k")) == (Declare("int", "i"), Declare("int", "k"))


def test_parts_of_a_value_are_its_texts_and_accesses_with_those_of_indices() -> None:
    inner = Element("rows", "k")
    element = Element("x", ("2*", inner), "column")
    cast = s.Cast("double", 4, Address("y", "first"))
    conditions = s.All(("a > 0", element), 3)
    assert list(s.parts(("sum + ", element, cast))) == [
        *("sum + ", element, "2*", inner, "k", "column"),
        *(cast, Address("y", "first"), "first"),
    ]
    assert list(s.parts(conditions)) == ["a > 0", element, "2*", inner, "k", "column"]
    assert list(s.parts(Element("x", 0, 0))) == [Element("x", 0, 0), 0, 0]
    assert list(s.parts(Row("table", 1))) == [Row("table", 1), 1]
    assert list(s.parts(7)) == [7]


def test_values_of_a_statement_are_those_outside_its_body() -> None:
    inside = (Assign("x", "y"),)
    assert s.values(Declare("int", "k")) == []
    assert s.values(Declare("int", "k", "3")) == ["3"]
    assert s.values(Return("k")) == ["k"]
    assert s.values(Assign("x", "y")) == ["x", "y"]
    assert s.values(Call("f", ("a", 2))) == ["a", 2]
    assert s.values(For("k", 0, "n", inside, condition="k < m")) == [0, "n", "k < m"]
    assert s.values(While("k > 0", inside)) == ["k > 0"]
    assert s.values(If("k > 0", inside)) == ["k > 0"]
    assert s.values(Block(inside)) == s.values(Comment("x")) == s.values(s.Blank()) == []


def test_a_copy_is_a_loop_over_elements() -> None:
    assert printing.write([s.copy("k", 3, "to", "from_")], C) == (
        "for (k = 0; k < 3; ++k) {\n    to[k] = from_[k];\n}\n"
    )


def test_only_steps_by_one_have_signs_of_their_own() -> None:
    changes = [Assign("k", "1", sign) for sign in ("+=", "-=", "*=", "/=")]
    assert printing.write([*changes, Assign("k", "2", "+=")], C) == (
        "++k;\n--k;\nk *= 1;\nk /= 1;\nk += 2;\n"
    )


def test_an_empty_line_stands_between_functions_alone() -> None:
    text = printing.write([COUNT, replace(COUNT, name="again")], C)
    assert text.count("\n\n") == 1
    assert text.startswith("int count(void)\n")
    assert "}\n\nint again(void)" in text


# -- strides ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Element("x", "k"), "x[k*n]"),
        (Element("x", 3), "x[3*n]"),
        (Element("x", 0), "x[0]"),
        (Element("x", "0"), "x[0]"),
        (Element("x", "k + 1"), "x[(k + 1)*n]"),
        (Element("x", Element("rows", "k")), "x[rows[k]*n]"),
        (Element("x", Element("x", "k")), "x[x[k*n]*n]"),
        (Address("x", "2*k"), "&x[(2*k)*n]"),
        (Element("y", "k"), "y[k]"),
        (Address("y", 2), "&y[2]"),
        (("-", Element("x", "k"), " + ", Element("y", "k")), "-x[k*n] + y[k]"),
    ],
)
def test_elements_of_strided_arrays_stand_apart(value: s.Value, text: str) -> None:
    statements = (If("k > 0", (Assign("z", value),), (Call("f", (value,)),)), s.Blank())
    strided = printing.write(s.with_strides(statements, {"x": "n"}), C)
    assert f"    z = {text};\n" in strided
    assert f"    f({text});\n" in strided
    assert s.with_strides(statements, {}) == statements


# -- more of lanes ---------------------------------------------------------------------------------


def test_only_statements_that_differ_from_lane_to_lane_are_in_a_loop() -> None:
    """Calls, loops and statements of shared numbers are outside; an element in a column is one
    number.
    """
    body = (
        Call("step", ("x",)),
        Assign("k", "3"),
        Assign(Element("shared", "k"), Element("x", 0, 1)),
        Assign(Element("shared", "k"), Element("shared", 0)),
        If(expression("{} > 0", Element("x", 1)), (Assign("k", "4"),)),
        While("k > 0", (Assign("k", "1", "-="), Assign(Element("x", "k"), "0.0"))),
        Declare("const double", "y", Element("x", 2)),
    )
    assert printing.write(s.in_lanes(body, {"x"}, 4), C) == (
        "step(x);\n"
        "k = 3;\n"
        "shared[k] = x[0][1];\n"
        "shared[k] = shared[0];\n"
        "for (lane = 0; lane < 4; ++lane) {\n"
        "    if (x[1][lane] > 0) {\n"
        "        k = 4;\n"
        "    }\n"
        "}\n"
        "while (k > 0) {\n"
        "    --k;\n"
        "    for (lane = 0; lane < 4; ++lane) {\n"
        "        x[k][lane] = 0.0;\n"
        "    }\n"
        "}\n"
        "for (lane = 0; lane < 4; ++lane) {\n"
        "    const double y = x[2][lane];\n"
        "}\n"
    )


def test_a_pointer_into_vectors_is_cast_only_from_an_array_of_numbers() -> None:
    body = (
        Declare("double", "x", Address("numbers", 8), pointer="*"),
        Declare("double", "y", Address("x", 2), pointer="*"),
        Declare("double", "z", (Address("numbers", 0), " + ", 3), pointer="*"),
        Declare("double", "other", Address("numbers", 1), pointer="*"),
    )
    assert printing.write(s.in_lanes(body, {"x", "y", "z"}, 4), C) == (
        "double (*x)[4] = (double (*)[4])&numbers[8];\n"
        "double (*y)[4] = &x[2];\n"
        "double (*z)[4] = (double (*)[4])&numbers[0] + 3;\n"
        "double *other = &numbers[1];\n"
    )


# -- more faults -----------------------------------------------------------------------------------


MORE_FAULTS = {
    "'size' is not a free loop index": _function(Declare("double", "size"), For("size", 0, 3, ())),
    "'many' is not a free loop index": _function(
        Declare("int", "many", size=(3,)), For("many", 0, 3, ())
    ),
    "'wide' is an array without elements": _function(Declare("double", "wide", size=("", 4))),
    "'qdd' has no element 9": _function(
        For("k", 0, 10, (Assign(Element("qdd", "k"), "0.0"),), step=3)
    ),
    "'qdd' has no element 6": _function(
        For("k", 6, 0, (Assign(Element("qdd", "k"), "0.0"),), step=-2)
    ),
    "'level' is assigned but is no local variable": _function(
        For("level", 0, 3, (Block((Assign("level", "1"),)),))
    ),
    "'carry' has no element 3": _function(
        Declare("double", "carry", size=(3,)), Assign("k", Element("carry", 3))
    ),
    "'deep' is used but not declared": _function(
        If("k > 0", (), If("k > 1", (Assign("k", "deep"),)))
    ),
    "'later' is used but not declared": _function(If("k > 0", (), (Assign("k", "later"),))),
    "'q' has no element 7": _function(While("k > 0", (Assign("k", Element("q", 7)),))),
    "'inside' is used but not declared": _function(Assign("k", Element("q", Element("inside", 0)))),
    "'wrong' is used but not declared": _function(For("k", "wrong", 3, ())),
    "'ended' is used but not declared": _function(For("k", 0, 3, (), condition="ended < 3")),
    "'passed' is used but not declared": _function(Call("step", ("passed",))),
    "'given' is used but not declared": replace(_function(Return("given")), returns="int"),
    "'qdd' has 1 dimensions": _function(Declare("double", "p", Row("qdd", 0), pointer="*")),
    "'before' is used but not declared": replace(
        _function(Assign("k", "before"), Return("k")), returns="int"
    ),
    "'constant' is assigned but constant": _function(
        Declare("const double", "constant", Address("q", 0), pointer="*"),
        Assign(Element("constant", 0), "1.0"),
    ),
}


@pytest.mark.parametrize("fact", MORE_FAULTS)
def test_check_reports_what_is_wrong_inside_other_statements(fact: str) -> None:
    with pytest.raises(ProgramError, match=re.escape(f"f: {fact}")):
        s.check([MORE_FAULTS[fact]], KNOWN)


def test_check_accepts_the_last_elements_and_the_ends_of_loops() -> None:
    q, qdd = Element("q", "k"), Element("qdd", "k")
    accepted = (
        For("k", 0, 5, (Assign(qdd, q),)),
        For("k", 4, -1, (Assign(qdd, q),), step=-1),
        For("k", 4, 0, (Assign(qdd, q),), step=-1, inclusive=True),
        For("k", 0, 9, (), inclusive=True),
        For("k", 0, 6, (Assign(qdd, q),), step=4),
        For("k", 0, "level", (Assign(qdd, q),)),
        For("k", 0, 3, (For("row", 0, 3, (Assign(Element("qdd", "row"), q),)),)),
        For("k", 0, 3, ()),
        Assign(Element("qdd", 4), Element("table", 4, 1)),
        Block((Declare("int", "inner", "3"), Assign("inner", "4"))),
        Block((Declare("int", "inner", "5"),)),
        Declare("const double", "pointed", Address("q", 2), pointer="*"),
        Assign("pointed", "q"),
        Assign("k", "row + OK"),
    )
    deep = Declare("double", "deep", Row("blocks", 1), pointer="*")
    function = _function(*accepted, deep, Assign(Element("qdd", 0), "sin(0.5)"))
    function = replace(
        function, parameters=(*function.parameters, Declare("double", "any_size", size=("",)))
    )
    assert s.check([function], {**KNOWN, "blocks": (2, 3, 4)}) == (function,)
    empty = Function("nothing", (), ())
    assert s.check([empty], {}) == (empty,)
    with pytest.raises(
        ProgramError,
        match="nothing: 'int' is the return type, but the last statement does not fit it",
    ):
        s.check([replace(empty, returns="int")], {})

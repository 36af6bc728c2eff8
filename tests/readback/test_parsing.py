"""Generated C is parsed into statements and checks, and any other text is refused with its line."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pycparser import c_ast

from symgen.readback import prototypes
from symgen.readback.parsing import (
    Statement,
    name_of,
    parse,
    parse_declarations,
    parse_text,
    parse_units,
    status_of,
)
from symgen.readback.prototypes import Prototype
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import DOUBLE, FLOAT

PLAIN = """#include <math.h>

void arm_f(const double q[arm_NQ], const arm_prepared *prepared, double g[2*3])
{
    /* a comment
       of two lines */
    const double a = q[0];
    const double angles[2] = {a, 0.0};
    const arm_turns t = arm_sincos(angles);
    (void)q;
    g[0] = a;
    g[12] = prepared->value[1];
}
"""


def fields(statement: Statement) -> tuple[str, str, int, int]:
    return statement.kind, statement.target, statement.element, statement.line


def test_a_function_is_its_statements_with_their_lines() -> None:
    text = parse(PLAIN)
    assert text.symbol == "arm_f"
    assert text.parameters == (
        (True, "double", "q", "arm_NQ"),
        (True, "arm_prepared", "prepared", ""),
        (False, "double", "g", "2*3"),
    )
    assert [fields(statement) for statement in text.statements] == [
        ("local", "a", 0, 7),
        ("array", "angles", 0, 8),
        ("local", "t", 0, 9),
        ("unread", "q", 0, 10),
        ("store", "g", 0, 11),
        ("store", "g", 12, 12),
    ]
    local, angles, turns, unread, first, second = (s.expression for s in text.statements)
    assert local[0] == "const double"
    assert angles[0] == "const double"
    assert angles[1].value == "2"
    assert [name_of(item) or item.value for item in angles[2]] == ["a", "0.0"]
    assert turns[0] == "const arm_turns"
    assert unread == "void"
    assert name_of(first) == "a"
    assert name_of(second.name) == "prepared->value"
    assert (text.checks, text.work, text.header_prototypes) == (None, None, None)
    assert all(statement.inner == () for statement in text.statements)


PARTS = """static void arm_f_part_1(const double q[2], double w[3]) {
    const double a = q[0];
    w[2] = a;
}
static void arm_f_part_2(const double w[3], double g[1]) {
    g[0] = w[2];
}
void arm_f(const double q[2], double g[1]) {
    double w[3];
    arm_f_part_1(q, w);
    arm_f_part_2(w, g);
}
"""


def test_parts_stand_where_they_are_called() -> None:
    text = parse(PARTS)
    assert text.work is not None
    assert fields(text.work) == ("work", "w", 3, 9)
    assert text.work.expression == "double"
    first, second = text.statements
    assert fields(first) == ("part", "arm_f_part_1", 0, 1)
    assert [fields(s) for s in first.inner] == [("local", "a", 0, 2), ("store", "w", 2, 3)]
    assert first.expression[0] == ((True, "double", "q", "2"), (False, "double", "w", "3"))
    assert fields(second) == ("part", "arm_f_part_2", 0, 5)
    assert [fields(s) for s in second.inner] == [("store", "g", 0, 6)]


def test_only_the_first_array_of_a_text_with_parts_is_its_workspace() -> None:
    two = parse(PARTS.replace("double w[3];\n", "double w[3];\n    double more[4];\n"))
    assert two.work is not None
    assert two.work.target == "w"
    assert fields(two.statements[0]) == ("work", "more", 4, 10)
    late = parse(PARTS.replace("    double w[3];\n", "").replace("q, w);", "q, w); double w[3];"))
    assert late.work is None
    assert [statement.kind for statement in late.statements] == ["part", "work", "part"]
    alone = parse("void arm_f(const double q[2], double g[1]) { double w[3]; g[0] = q[0]; }")
    assert alone.work is None
    assert [statement.kind for statement in alone.statements] == ["work", "store"]


CHECKED = """int arm_f(const double q[2], double g[2]) {
    int status = arm_OK;
    const double none = 0.0*q[0] + 0.0*q[1];
    if (!(none >= 0.0)) {
        status = arm_NOT_FINITE;
    } else {
        const double a = q[0];
        const double b = q[1];
        if (!(a >= 1.0)) {
            status = 3;
        } else if (!(b >= 2.0)) {
            status = arm_RESULT_NOT_FINITE;
        } else {
            g[0] = a;
            g[1] = b;
        }
    }
    return status;
}
"""


def test_the_checks_of_a_function_stand_behind_their_statements() -> None:
    text = parse(CHECKED)
    assert [statement.target for statement in text.statements] == ["none", "a", "b", "g", "g"]
    assert text.checks is not None
    conditions = text.checks.conditions
    assert [(status, count) for status, _, count in conditions] == [
        ("", 0),
        ("arm_NOT_FINITE", 1),
        ("3", 3),
        ("arm_RESULT_NOT_FINITE", 3),
    ]
    initial, *compared = (condition for _, condition, _ in conditions)
    assert status_of(initial) == "arm_OK"
    assert [name_of(condition.left) for condition in compared] == ["none", "a", "b"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    int status = arm_OK;\n", "", "must begin with its status and end by returning it"),
        ("int status", "const int status", "must begin with its status"),
        ("int status", "long status", "must begin with its status"),
        ("int status = arm_OK", "int status[2]", "must begin with its status"),
        ("return status", "return none", "must begin with its status and end by returning it"),
        ("    return status;\n", "", "must begin with its status and end by returning it"),
        ("{\n            status = 3;", "{\n            status = 3; status = 3;", "line 9: a check"),
        ("status = 3", "status += 3", r"line 9: a check must be if \(!\(…\)\) \{ status"),
        ("status = 3", "a = 3", "line 9: a check must be if"),
        ("{\n            status = 3;\n        }", ";", "line 9: a check must be if"),
        ("!(a >= 1.0)", "a >= 1.0", "line 9: a check must be if"),
        ("!(a >= 1.0)", "-(a >= 1.0)", "line 9: a check must be if"),
        (
            " else {\n            g[0] = a;\n            g[1] = b;\n        }",
            "",
            "line 11: a check must be if .* with an else branch",
        ),
        ("status = 3", "status()", "line 9: a check must be if"),
    ],
)
def test_checks_of_another_form_are_refused(old: str, new: str, message: str) -> None:
    assert old in CHECKED
    with pytest.raises(ProgramError, match=message):
        parse(CHECKED.replace(old, new, 1))


HEAD = "void arm_f(const double q[2], double g[2]) "
REFUSED = {
    "double x;": "the C has 1 declarations that are not static; one function is expected, at the",
    f"{HEAD}{{ }} double x;": "the C has 2 declarations that are not static; one function is exp",
    f"{HEAD}{{ }} {HEAD.replace('_f', '_g')}{{ }}": "the C has 2 declarations that are not static",
    f"{HEAD}{{ }} static void arm_g(double g[2]) {{ }}": "the C has 1 declarations that are not",
    f"{HEAD};": "the C has 1 declarations that are not static; one function is expected, at the",
    "double arm_f(double g[2]) { }": "the C has 1 declarations that are not static; one function",
    f"{HEAD}{{ }};": "the C does not parse|the C has 1 declarations that are not static",
    "": "the C has 0 declarations that are not static",
    f"inline {HEAD}{{ }}": "declarations that are not static",
    f"static inline void arm_g(double g[2]) {{ }} {HEAD}{{ arm_g(g); }}": "line 1: this is not a",
    f"static int arm_g(double g[2]) {{ }} {HEAD}{{ arm_g(g); }}": "line 1: this is not a static f",
    f"static double t[2] = {{1.0}}; {HEAD}{{ }}": "arm_f is not a plain function that returns vo",
    "static void arm_g(double g[2]) { } int arm_f(double g[2]) { arm_g(g); }": "must begin with",
    f"static void arm_g(double g[2]) {{ }} {HEAD}{{ }}": "arm_g is never called",
    f"static void arm_g(double g[2]) {{ }} {HEAD}{{ arm_g(g); arm_g(g); }}": "a statement .Func",
    f"static void arm_g(double g[2]) {{ }} {HEAD}{{ arm_g(q); }}": "line 1: the arguments of arm_g",
    f"static void arm_g(double g[2]) {{ }} {HEAD}{{ arm_g(); }}": "line 1: the arguments of arm_g",
    f"static void arm_g(double g[2]) {{ arm_h(g); }} static void arm_h(double g[2]) {{ }} {HEAD}{{ "
    "arm_g(g); arm_h(g); }": "line 1: a statement .FuncCall. that generated code never has",
    f"static void arm_g(double g[2]) {{ }}\nstatic void arm_g(double g[2]) {{ }} {HEAD}{{ }}": (
        "line 2: arm_g is defined twice"
    ),
    "void arm_f(void) { }": "line 1: arm_f has no parameter, or one without a name",
    "void arm_f() { }": "line 1: arm_f has no parameter, or one without a name",
    "void arm_f(double x) { }": "line 1: a parameter is not an array of known size",
    "void arm_f(double x[]) { }": "line 1: a parameter is not an array of known size",
    "void arm_f(double x[2][2]) { }": "line 1: a parameter is not an array of known size",
    "void arm_f(double *x) { }": "line 1: a parameter is not an array of known size",
    "void arm_f(const int n) { }": "line 1: a parameter is not an array of known size",
    f"{HEAD}{{ junk }}": "the C does not parse: .*1",
    f"{HEAD}{{ g[0] = {'(' * 3000}q[0]{')' * 3000}; }}": "the C is nested more deeply than gener",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_a_text_that_is_not_one_function_is_refused(text: str) -> None:
    with pytest.raises(ProgramError, match=REFUSED[text]):
        parse(text)


def test_an_external_function_has_no_other_words_in_front() -> None:
    with pytest.raises(ProgramError, match="arm_f is not a plain function"):
        parse_units(f"int inline {HEAD.removeprefix('void ')}{{ }}")


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("double x;", "Decl"),
        ("static const double x = 1.0;", "Decl"),
        ("static const double x[1] = {1.0};", "Decl"),
        ("const double x[1][1] = {{1.0}};", "Decl"),
        ("const double *x = q;", "Decl"),
        ("const double x[1] = 1.0;", "Decl"),
        ("double x[01];", "Decl"),
        ("double x[0];", "Decl"),
        ("double x[n];", "Decl"),
        ("const double x[3];", "Decl"),
        ("static double x[3];", "Decl"),
        ("g[0] += 1.0;", "Assignment"),
        ("g[i] = 1.0;", "Assignment"),
        ("g[01] = 1.0;", "Assignment"),
        ("g = 1.0;", "Assignment"),
        ("(g)[0][1] = 1.0;", "Assignment"),
        ("(void)g[0];", "Cast"),
        ("(void)1;", "Cast"),
        ("(void *)g;", "Cast"),
        ("arm_g(g);", "FuncCall"),
        ("return;", "Return"),
        ("++g;", "UnaryOp"),
        ("if (1) { }", "If"),
    ],
)
def test_a_statement_that_generated_code_never_has_is_refused(statement: str, kind: str) -> None:
    with pytest.raises(ProgramError, match=rf"^line 2: a statement \({kind}\) that generated code"):
        parse(f"{HEAD}{{\n    {statement}\n}}")


def test_the_type_of_a_local_has_all_its_words() -> None:
    text = parse(f"{HEAD}{{ const unsigned int k = 1; float x = 1.0f; (float)q; }}")
    assert [s.expression if s.kind == "unread" else s.expression[0] for s in text.statements] == [
        "const unsigned int",
        "float",
        "float",
    ]


def test_directives_and_comments_keep_the_lines() -> None:
    text = parse(f"/* a\nb */\n#include <math.h>\n  # define x y\n{HEAD}{{\n  g[0] = q[0];\n}}\n")
    assert [statement.line for statement in text.statements] == [6]


PREPROCESSED = """# 1 "arm_f.c"
# 1 "<built-in>"
# 1 "arm_f.c"
# 1 "arm.h" 1
void arm_f(const double q[2], double g[2]);
void arm_g(const double q[2], double g[2]);
typedef struct { double value[3]; } arm_prepared;
# 2 "arm_f.c" 2
void arm_f(const double q[2], double g[2])
{
    g[0] = q[1];
}
"""


def test_a_preprocessed_text_has_the_prototypes_of_its_header() -> None:
    text = parse(f'#include "arm.h"\n{HEAD}{{\n    g[0] = q[1];\n}}\n', PREPROCESSED)
    parameters = ((True, "double", "q", "2"), (False, "double", "g", "2"))
    assert text.header_prototypes == (
        Prototype("arm_f", "void", parameters),
        Prototype("arm_g", "void", parameters),
    )
    assert [fields(statement) for statement in text.statements] == [("store", "g", 0, 4)]
    assert text.parameters == parameters


def test_a_declaration_in_front_of_a_header_belongs_to_the_file() -> None:
    declared = PREPROCESSED.replace('# 1 "arm.h" 1\n', 'int extra;\n# 1 "arm.h" 1\n')
    with pytest.raises(ProgramError, match="the C has 2 declarations that are not static"):
        parse(f"{HEAD}{{ g[0] = q[1]; }}", declared)
    with pytest.raises(ProgramError, match="the C has 0 declarations"):
        parse(f"{HEAD}{{ g[0] = q[1]; }}", "\n")


def test_names_of_types_are_declared_before_a_text_is_parsed() -> None:
    code = "arm_stream f(arm_stream s, ptrdiff_t n);\nint g(int n) {\n    const arm_pair x;\n}\n"
    declared, defined = parse_declarations(code, "arm.h", ["arm_stream"])
    assert (declared.name, prototypes.file(declared)) == ("f", "arm.h")
    assert isinstance(defined, c_ast.FuncDef)
    assert prototypes.file(defined) == "arm.h"
    assert defined.decl.coord.line == 2
    assert prototypes.file(c_ast.ID("x")) == ""
    with pytest.raises(ProgramError, match="the C does not parse"):
        parse_declarations(code)


# -- prototypes ----------------------------------------------------------------------------------


def declarations(text: str, file: str = "arm.h") -> list[Any]:
    return parse_text(text, file)


SIZED = "extern const char arm_double_has_8_bytes[(sizeof(double) == 8U) ? 1 : -1];"
STRUCT = "typedef struct { double value[3]; } arm_prepared;"


def test_the_assertion_of_the_size_states_type_and_size() -> None:
    assert prototypes.size_assertion("arm", DOUBLE) == SIZED
    assert prototypes.size_assertion("leg", FLOAT) == (
        "extern const char leg_float_has_4_bytes[(sizeof(float) == 4U) ? 1 : -1];"
    )


def test_prototypes_of_headers_are_read_between_what_else_belongs_there() -> None:
    text = f"{SIZED} int f(double q[2*3*n], int size); {STRUCT} void g(const arm_prepared *p);"
    first, second = prototypes.read(declarations(text))
    assert first == Prototype(
        "f", "int", ((False, "double", "q", "2*3*n"), (False, "int", "size", ""))
    )
    assert second == Prototype("g", "void", ((True, "arm_prepared", "p", ""),))
    (unnamed,) = prototypes.read(declarations("void f(int);"))
    assert unnamed.parameters == ((False, "int", "?", ""),)
    # a size that is no product of names and numbers is that of no function
    (unread,) = prototypes.read(declarations("void f(double a[2 + n], double b[-2]);"))
    assert [size for *_, size in unread.parameters] == ["?", "?"]
    sines = "typedef struct { double sine; } arm_pair; static int f(int x);"
    assert prototypes.read(declarations(sines, "arm_sincos.h")) == ()


@pytest.mark.parametrize(
    "text",
    [
        "static void f(double q[2]);",
        "inline void f(double q[2]);",
        "int x;",
        "void f(double q[2]) { }",
        "extern int arm_double_has_9_bytes[1];",
        "const char arm_double_has_8_bytes[1];",
        "static const char arm_double_has_8_bytes[1];",
        "typedef struct { double values[3]; } arm_prepared;",
        "typedef struct { double value[3]; double more; } arm_prepared;",
        "typedef struct { double value[3]; } arm_other;",
        "typedef union { double value[3]; } arm_prepared;",
        "typedef double arm_prepared;",
        "typedef struct arm_more arm_prepared;",
        "struct arm_prepared { double value[3]; };",
    ],
)
def test_other_declarations_of_headers_are_refused(text: str) -> None:
    with pytest.raises(ProgramError, match=r"arm\.h holds a \w+ that is not a plain prototype"):
        prototypes.read(declarations(text))


@pytest.mark.parametrize(
    "parameter",
    [
        "arm_prepared *p",
        "const arm_prepared *const p",
        "const arm_prepared p",
        "const arm_other *p",
        "volatile arm_prepared *p",
        "const int n",
        "unsigned int n",
    ],
)
def test_other_parameters_are_refused(parameter: str) -> None:
    (declared,) = declarations(
        f"typedef int arm_prepared; typedef int arm_other;\nint f({parameter});"
    )[2:]
    with pytest.raises(ProgramError, match="line 2: a parameter is not an array of known size"):
        prototypes.parameters(declared)


def test_a_header_declares_a_function_once_and_as_it_is_defined() -> None:
    defined = ((True, "double", "q", "2"),)
    plain, checked = (Prototype("f", kind, defined) for kind in ("void", "int"))
    assert prototypes.differences([plain], "f", defined, False) == []
    assert prototypes.differences([checked, plain._replace(symbol="g")], "f", defined, True) == []
    assert prototypes.differences([plain, plain], "f", defined, False) == [
        "the header declares f 2 times"
    ]
    assert prototypes.differences([plain], "g", defined, False) == ["the header declares g 0 times"]
    renamed = [plain._replace(parameters=((False, "double", "q", "2"),))]
    for declared, is_checked in (([plain], True), ([checked], False), (renamed, False)):
        assert prototypes.differences(declared, "f", defined, is_checked) == [
            "the header declares f with other parameters, or another result, than its definition"
        ]


def test_the_name_of_an_expression_is_that_of_an_identifier_or_of_prepared_values() -> None:
    text = "void f(int x) { x; p->value; p.value; p->q->value; 1; g(x); }"
    (function,) = parse_text(text)
    names = [name_of(node) for node in function.body.block_items]
    assert names == ["x", "p->value", "", "", "", ""]
    assert re.fullmatch(r"1", status_of(function.body.block_items[4]))

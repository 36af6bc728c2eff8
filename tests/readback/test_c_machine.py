"""Short C functions on the machine that reads C: values are those of C, other texts are refused."""

from __future__ import annotations

import ctypes
import random
import re
import subprocess
from fractions import Fraction
from typing import Any

import pytest
from pycparser import c_ast

from symgen.readback.c_machine import (
    Memory,
    Narrow,
    Pointer,
    Reference,
    Region,
    Struct,
    Terms,
    first_difference,
    line_of,
    statements_allowed,
)
from symgen.readback.parsing import parse_declarations
from symgen.support.errors import ProgramError
from symgen.vocabulary.reals import DOUBLE, FLOAT
from tests.readback.c_texts import argument, empty, inputs, machine, number

WHOLE_NUMBERS = """
static const int table[2][3] = {{5, -7, 11}, {13, 17, 19}};
static const short weights[5] = {3, 1, 4, 1, 5};
int sum(int a, int b) { return a + b; }
int difference(int a, int b) { return a - b; }
int product(int a, int b) { return a*b; }
int opposite(int a, int b) { return -a - -b; }
int precedence(int a, int b) { return a - b*2 + 7 - (3 - a)*b - a; }
int quotient(int a, int b) { return (a + 20)/(b + 9); }
int remainder_of(int a, int b) { return (a + 20) % (b + 9); }
int zeros(int a, int b) { return (a - a)/(b + 9) + (a - a) % 7 + ((a - a) >> 3) + 5; }
int shifted(int a, int b) { return (a + 1000) >> (b + 9); }
int one_shift(int a, int b) { return (a + 1000) >> 0 + b - b; }
int less(int a, int b) { if (a < b) { return 1; } return 0; }
int less_or_equal(int a, int b) { if (a <= b) { return 1; } return 0; }
int greater(int a, int b) { if (a > b) { return 1; } return 0; }
int greater_or_equal(int a, int b) { if (a >= b) { return 1; } return 0; }
int equal(int a, int b) { if (a == b) { return 1; } return 0; }
int different(int a, int b) { if (a != b) { return 1; } return 0; }
int inverted(int a, int b) { if (!(a < b)) { return 1; } return 0; }
int both(int a, int b) { if ((a < 2) && (b < 3)) { return 1; } return 0; }
int either(int a, int b) { if ((a < 2) || (b < 3)) { return 1; } return 0; }
int guarded(int a, int b) { return ((a > 0) && (table[0][a % 3] > b)) ? 1 : 0; }
int any_guarded(int a, int b) { return ((a < 0) || (table[1][a % 3] > b)) ? 1 : 0; }
int maximum(int a, int b) { return (a > b) ? a : b; }
int sign(int a, int b) {
    if (a > b) { return 1; } else if (a == b) { return 0; } else { return -1; }
}
int without_else(int a, int b) {
    int x = 4;
    if (a > b) { x = 5; } else if (a == b) { x = 6; }
    return x;
}
int triangle(int a, int b) {
    int i, total = 0;
    for (i = 0; i < a + b; ++i) { total = total + i; }
    return total + 1000*i;
}
int downward(int a, int b) {
    int i;
    int total = 0;
    for (i = a + 12; i > 0; --i) { total += i*b; }
    for (i = a + 12; i > 0; i--) { total -= 3*i; }
    for (i = 0; i < 4; i++) { total += i; }
    return total;
}
int odd_numbers(int a, int b) {
    int i;
    int total = 0;
    for (i = 0; i < a + b; ++i) {
        if (i % 2 == 0) { continue; }
        total += i;
    }
    return total;
}
int first_multiple(int a, int b) {
    int i;
    for (i = 1; i < 50; ++i) {
        if (i % (a + 10) == 0) { return i + b; }
    }
    return b;
}
int nested(int a, int b) {
    int i, j, total = 0;
    for (i = 0; i < 5; ++i) {
        for (j = i; j < 5; ++j) {
            const int area = i*j;
            total += area*a + b;
        }
    }
    return total;
}
int halvings(int a, int b) {
    int n = a + 100;
    int steps = 0;
    while (n > 1) { n = n / 2; ++steps; }
    return steps + b;
}
int at_least_once(int a, int b) {
    int n = a;
    do { n = n + 3; } while (n < b);
    return n;
}
int returns_from_while(int a, int b) {
    int n = 0;
    while (n < 30) { n += 4; if (n > a + b) { return n; } }
    return -1;
}
int returns_from_do(int a, int b) {
    do { if (a > b) { return a; } } while (a < b - 100);
    return b;
}
int changes(int a, int b) { int x = a; x += b; x *= 3; x -= a; x += 1000; x /= 7; return x; }
int blocks(int a, int b) {
    int x = a;
    { int y = b; { x = y + 1; } y = 7; x += y; }
    { int y = 2; x += y; }
    return x;
}
int rows(int a, int b) {
    int i, j, total = 0;
    for (i = 0; i < 2; ++i) { for (j = 0; j < 3; ++j) { total = 2*total + table[i][j]; } }
    return total*a + table[1][2]*b;
}
int small_numbers(int a, int b) { return weights[0]*a + weights[2]*b + weights[4] + weights[3]; }
int zeros_behind(int a, int b) {
    const int x[4] = {2, 3};
    return x[0]*a + x[1]*b + 5*x[2] + 7*x[3];
}
int local_array(int a, int b) {
    int x[4] = {a, b};
    int y[2][2] = {0};
    x[3] = x[0]*x[1] + x[2];
    y[1][0] = x[3];
    return y[1][0] - y[0][1] + 2*y[0][0] + y[1][1];
}
int behind(const int *x, int k) { return x[k]; }
int pointers(int a, int b) {
    const int *row = table[1];
    const int *second = &table[0][1];
    const int *third = row + 2;
    const int *last = &row[2];
    return a*row[0] + b*second[1] + third[0] + last[0] + behind(&row[1], 1) + behind(row, 2 - 1);
}
int pointers_to_rows(int a, int b) {
    const int (*whole)[3] = table;
    const int (*second)[3] = whole + 1;
    const int (*third)[3] = &whole[1];
    const int (*first)[3] = second + -1;
    return a*second[0][2] + b*third[0][1] + first[0][0] + whole[1][0];
}
int no_pointer(int a, int b) {
    const int *x = 0;
    const int *y = table[0];
    int n = 0;
    if (x == 0) { n += a; }
    if (x != 0) { n += 100; }
    if (y != 0) { n += b; }
    if (y == 0) { n += 200; }
    return n;
}
int halved(int a, int b) { return (int)((ptrdiff_t)a + 100) / 2 + (int)b; }
int casts(int a, int b) { return (int)((unsigned int)(a + 20) + (unsigned int)(b + 9)) - (short)3; }
int unused(int a, int b) { (void)b; return a; }
void stored_behind(int a, int *x, int k) { x[k] = a; }
int of_a_call(int a, int b) {
    int x[3] = {1, 2, 3};
    stored_behind(a, x, 1);
    stored_behind(b, &x[1], 1);
    return 100*x[0] + 10*x[1] + x[2];
}
int returns_early(int a, int b) {
    int x[1] = {0};
    if (a < b) { stored_behind(9, x, 0); return x[0]; }
    x[0] = 4;
    return x[0];
}
"""
"""Functions that C and the machine evaluate; no number leaves its type, and none is rounded."""
ARGUMENTS = [(a, b) for a in (-9, -1, 1, 2, 7, 12) for b in (-8, 0, 2, 3, 7)]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Compile the texts of this file with gcc."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "texts.c").write_text(
        f"#include <math.h>\n#include <stddef.h>\n{WHOLE_NUMBERS}{REAL_NUMBERS}"
    )
    command = "gcc -std=c99 -O0 -ffp-contract=off -shared -fPIC texts.c -o texts.so -lm"
    subprocess.run(command.split(), cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "texts.so"))


@pytest.mark.parametrize("name", re.findall(r"^int (\w+)\(int a, int b\)", WHOLE_NUMBERS, re.M))
def test_whole_numbers_are_those_of_c(name: str, compiled: ctypes.CDLL) -> None:
    reading, function = machine(WHOLE_NUMBERS), getattr(compiled, name)
    for a, b in ARGUMENTS:
        assert reading.call(name, [a, b]) == function(a, b), (a, b)
        assert reading.names == {}


REAL_NUMBERS = """
static const double factors[2][2] = {{0.5, -1.25}, {3.0, 1e-3}};
void arithmetic(const double x[4], int n, double y[4]) {
    const double less = x[0] - x[1]*x[2];
    y[0] = less/(x[3] + 1.5) - -less;
    y[1] = (x[0] + x[1]) + (x[2] + x[3]);
    y[2] = x[0] - (x[1] - x[2]);
    y[3] = -x[n];
}
void changed(const double x[4], int n, double y[4]) {
    double s = x[0];
    s += x[1];
    s *= x[2];
    s -= x[3];
    s /= 3.0;
    y[0] = s;
    y[0] += x[n];
}
void functions(const double x[4], int n, double y[4]) {
    y[0] = sin(x[0])*cos(x[1]);
    y[1] = sqrt(fabs(x[n]));
    y[2] = log(fabs(x[2]) + 1.0);
    y[3] = atan2(x[0], x[3]);
}
void horner(const double x[4], int n, double y[4]) {
    int k;
    double s = 0.0;
    for (k = 3; k >= 0; --k) { s = s*x[n] + x[k]; }
    y[n] = s;
}
void chosen(const double x[4], int n, double y[4]) {
    const double *from = &x[n];
    double *to = y + n;
    to[0] = (n > 1) ? from[0] : -from[0];
    y[(n + 1) % 4] = factors[n % 2][n/2]*from[0];
}
void transposed(const double x[4], int n, double y[4]) {
    const double (*rows)[2] = (const double (*)[2])x;
    double copy[2][2];
    int i, j;
    for (i = 0; i < 2; ++i) { for (j = 0; j < 2; ++j) { copy[j][i] = rows[i][j]; } }
    for (i = 0; i < 4; ++i) { y[i] = copy[i/2][i % 2] + factors[1][n % 2]; }
}
void no_store(const double x[4], int n, double y[4]) { (void)x; if (n < 0) { y[0] = 1.0; } }
static double dot(const double a[2], const double *b) { return a[0]*b[0] + a[1]*b[1]; }
void calls(const double x[4], int n, double y[4]) {
    y[n] = dot(&x[1], &x[2]);
    y[3 - n] = dot(&x[2], factors[n/2]);
}
"""


@pytest.mark.parametrize("name", re.findall(r"^void (\w+)\(const double x", REAL_NUMBERS, re.M))
def test_real_numbers_are_those_of_c_to_the_last_bit(name: str, compiled: ctypes.CDLL) -> None:
    pick, untouched = random.Random(name), -77.0
    for n in range(4):
        x = [pick.uniform(-3, 3) for _ in range(4)]
        y = (ctypes.c_double * 4)(*[untouched] * 4)
        getattr(compiled, name)((ctypes.c_double * 4)(*x), n, y)
        reading, result = machine(REAL_NUMBERS), empty("y", 4)
        reading.call(name, [argument(reading.terms, "x", 4), n, result])
        cells = result.memory.cells
        assert [untouched if c is None else number(c, {"x": x}) for c in cells] == list(y)


# -- texts that are refused ----------------------------------------------------------------------


REFUSED = {
    # expressions
    "int f(int a) { return b; }": "b is not declared",
    "int f(int a) { int b; return b; }": "b is read before it is set",
    "int f(int a) { return a/0; }": "3 / 0 is not an operation of generated code",
    "int f(int a) { return a % 0; }": "3 % 0 is not an operation of generated code",
    "int f(int a) { return -a/2; }": "-3 / 2 is not an operation of generated code",
    "int f(int a) { return a/-2; }": "3 / -2 is not an operation of generated code",
    "int f(int a) { return -a >> 1; }": "-3 >> 1 is not an operation of generated code",
    "int f(int a) { return a >> -1; }": "3 >> -1 is not an operation of generated code",
    "int f(int a) { return a >> 31; }": "3 >> 31 is not an operation of generated code",
    "int f(int a) { return a << 1; }": "3 << 1 is not an operation of generated code",
    "int f(int a) { return (a < 1) + 1; }": "a BinaryOp that generated code never holds there",
    "int f(int a) { return 1 + (a < 1); }": "a BinaryOp that generated code never holds there",
    "int f(int a) { return -(a < 1); }": "a UnaryOp that generated code never holds there",
    "int f(int a) { return -t; }": "a UnaryOp that generated code never holds there",
    "int f(int a) { return !a; }": "a UnaryOp that generated code never holds there",
    "int f(int a) { return ~a; }": "a UnaryOp that generated code never holds there",
    "int f(int a) { if (a) { return 1; } return 0; }": "a ID that generated code never holds",
    "int f(int a) { return a ? 1 : 0; }": "a ID that generated code never holds",
    "int f(int a) { return a && a; }": "a ID that generated code never holds",
    "int f(int a) { return (a, 1); }": "a ExprList that generated code never holds",
    "int f(int a) { return a + 1.0; }": "a BinaryOp that generated code never holds there",
    "int f(int a) { return 1.0 < 2.0; }": "a BinaryOp that generated code never holds there",
    "int f(int a) { return 010; }": "the literal 010 is not of the type double",
    "int f(int a) { return 1.0f; }": "the literal 1.0f is not of the type double",
    "int f(int a) { return 1.0; }": "a value of another type than int is given",
    "int f(int a) { return 2147483648; }": "a value of another type than int is given",
    "int f(int a) { double x = a; return a; }": "a value of another type than double is given",
    "int f(int a) { unsigned int x = -a; return a; }": "of another type than unsigned int is given",
    "int f(int a) { short x = 32768; return a; }": "a value of another type than short is given",
    "int f(int a) { int *x = 1; return a; }": "a value of another type than int is given",
    "int f(int a) { arm_pair x = 1; return a; }": "a value of another type than arm_pair is given",
    "int f(int a) { long x = 1; return a; }": "the type long does not belong into this text",
    "int f(int a) { float x; return a; }": "the type float does not belong into this text",
    "int f(int a) { return sqrt(a); }": "a FuncCall that generated code never holds there",
    "int f(int a) { return sqrt(1.0, 1.0); }": "a FuncCall that generated code never holds there",
    "int f(int a) { return tan(1.0); }": "tan is not a function of this text",
    "int f(int a) { return f(a, a); }": "f is given 2 arguments, not 1",
    "int f(int a) { return a.b; }": "a StructRef that generated code never holds there",
    "int f(int a) { return a[0]; }": "a ArrayRef that generated code never holds there",
    "int f(int a) { return *t; }": "a UnaryOp that generated code never holds there",
    "int f(int a) { return t + t; }": "a BinaryOp that generated code never holds there",
    "int f(int a) { if (t == 1) { return 1; } return 0; }": "a BinaryOp that generated code never",
    "int f(int a) { if (t < 0) { return 1; } return 0; }": "a BinaryOp that generated code never",
    "int f(int a) { const int (*p)[2] = (const int (*)[2])r; return p[0][0]; }": "a Cast that gen",
    "int f(int a) { return (double)a; }": "a Cast that generated code never holds there",
    "int f(int a) { return (int)1.0; }": "a Cast that generated code never holds there",
    "int f(int a) { return (int)5000000000; }": "a value of another type than int is given",
    "int f(int a) { return (int)2000000000*(int)3; }": r"2000000000 \* 3 does not fit into 32 bits",
    "int f(int a) { return (int)0 - (int)2000000000 - (int)2000000000; }": "does not fit into 32",
    # elements
    "int f(int a) { return t[a]; }": r"t\[3\] is outside of the elements 0 to 2",
    "int f(int a) { return t[-1]; }": r"t\[-1\] is outside of the elements 0 to 2",
    "int f(int a) { return r[2][0]; }": r"r\[4\] is outside of the elements 0 to 3",
    "int f(int a) { return r[0][2]; }": r"r\[2\] is outside of the elements 0 to 1",
    "int f(int a) { return r[1][-1]; }": r"r\[1\] is outside of the elements 2 to 3",
    "int f(int a) { return r[-1][0]; }": r"r\[-2\] is outside of the elements 0 to 3",
    "int f(int a) { const int *p = t + 4; return p[0]; }": r"t\[4\] is outside of the elements",
    "int f(int a) { const int *p = &t[-1]; return p[0]; }": r"t\[-1\] is outside of the elements",
    "int f(int a) { const int *p = t + 3; return p[0]; }": r"t\[3\] is outside of the elements",
    "int f(int a) { int x[2]; return x[1]; }": r"x\[1\] is read before it is stored",
    "int f(int a) { t[0] = 1; return a; }": r"t\[0\] may not be stored to",
    "int f(int a) { const int x[1] = {1}; x[0] = 2; return a; }": r"x\[0\] may not be stored to",
    "int f(int a) { int x[2][2]; x[1] = 1; return a; }": "a row of x is not a number",
    "int f(int a) { int x[2]; x[2] = 1; return a; }": r"x\[2\] is outside of the elements 0 to 1",
    "int f(int a) { int x[2]; x[-1] = 1; return a; }": r"x\[-1\] is outside of the elements 0 to 1",
    "int f(int a) { int x[2]; x[0] = 1.0; return a; }": "x holds numbers of another type",
    "int f(int a) { double x[2]; x[0] = a; return a; }": "x holds numbers of another type",
    "int f(int a) { double x[2]; x[0] = x; return a; }": "x holds numbers of another type",
    "int f(int a) { double x[2]; x[0.0] = 1.0; return a; }": "a Constant that generated code never",
    "int f(int a) { a[0] = 1; return a; }": "a ID that generated code never holds there",
    # declarations
    "int f(int a) { int a; return 1; }": "a is declared a second time",
    "int f(int a) { int t; return 1; }": "t is declared a second time",
    "int f(int a) { int f; return 1; }": "f is declared a second time",
    "int f(int a) { int x = 1; { int x = 2; } return 1; }": "x is declared a second time",
    "int f(int a) { static int x; return 1; }": "a Decl that generated code never holds there",
    "int f(int a) { int x[]; return 1; }": "a Decl that generated code never holds there",
    "int f(int a) { int x[0]; return 1; }": "a Decl that generated code never holds there",
    "int f(int a) { int x[1.0]; return 1; }": "a Constant that generated code never holds there",
    "int f(int a) { int x[2] = {1, 2, 3}; return 1; }": "x has more values than 2",
    "int f(int a) { int x[2][2] = {{1, 2}}; return 1; }": "x has 1 rows, not 2",
    "int f(int a) { int x[2][2] = {{1}, {2, 3}}; return 1; }": "a row of x does not have 2 numbers",
    "int f(int a) { int x[2][2] = {{1, 2}, 3}; return 1; }": "a Constant that generated code",
    "int f(int a) { int x[2] = {1.0}; return 1; }": "a value of another type than int is given",
    "int f(int a) { double x[2] = {1}; return 1; }": "a value of another type than double is given",
    "int f(int a) { int **x; return 1; }": "a PtrDecl that generated code never holds there",
    # statements
    "int f(int a) { return; }": "a NoneType that generated code never holds there",
    "int f(int a) { a = 1; }": "f does not return a value",
    "int f(int a) { const int x = 1; x = 2; return x; }": "a Assignment that generated code never",
    "int f(int a) { x = 2; return x; }": "a Assignment that generated code never holds there",
    "int f(int a) { t = 0; return 1; }": "a Assignment that generated code never holds there",
    "int f(int a) { a = 1.0; return 1; }": "a value of another type than int is given",
    "int f(int a) { a /= 0; return a; }": "3 / 0 is not an operation of generated code",
    "int f(int a) { a %= 2; return a; }": "a Assignment that generated code never holds there",
    "int f(int a) { double x = 1.0; x += 1; return a; }": "a Assignment that generated code never",
    "int f(int a) { a += 1.0; return a; }": "a Assignment that generated code never holds there",
    "int f(int a) { if (a > 1) return a; return 1; }": "a Return that generated code never holds",
    "int f(int a) { while (a > 1) --a; return 1; }": "a UnaryOp that generated code never holds",
    "int f(int a) { for (; a > 1; --a) { } return 1; }": "a For that generated code never holds",
    "int f(int a) { for (a = 1; a < 3;) { ++a; } return 1; }": "a For that generated code never",
    "int f(int a) { for (a = 1; ; ++a) { } return 1; }": "a For that generated code never holds",
    "int f(int a) { for (int i = 0; i < 2; ++i) { } return 1; }": "a For that generated code never",
    "int f(int a) { while (a > 1) { --a; continue; } return 1; }": "a While that generated code",
    "int f(int a) { while (a > 1) { break; } return 1; }": "a Break that generated code never",
    "int f(int a) { switch (a) { } return 1; }": "a Switch that generated code never holds there",
    "int f(int a) { goto end; end: return 1; }": "a Goto that generated code never holds there",
    "int f(int a) { a; return 1; }": "a ID that generated code never holds there",
    "int f(int a) { -a; return 1; }": "a UnaryOp that generated code never holds there",
    "int f(int a) { (int)a; return 1; }": "a Cast that generated code never holds there",
    "int f(int a) { (void)t; return 1; }": "a Cast that generated code never holds there",
    "int f(int a) { ++t; return 1; }": "a ID that generated code never holds there",
    "int f(int a) { ; return 1; }": "a EmptyStatement that generated code never holds there",
    "int f(int a) {\n#pragma omp for\nreturn 1; }": "#pragma omp for does not belong",
    "void g(int a) { return 1; } int f(int a) { g(a); return 1; }": "g returns a value, and is",
    "void g(int a) { } int f(int a) { int x; x = g(a); return 1; }": "a value of another type",
    "void g(int a) { } int f(int a) { return g(a, a); }": "g is given 2 arguments, not 1",
}


@pytest.mark.parametrize("text", REFUSED)
def test_other_texts_are_refused_in_one_sentence(text: str) -> None:
    tables = "static const int t[3] = {1, 2, 3}; static const int r[2][2] = {{1, 2}, {3, 4}};"
    with pytest.raises(ProgramError, match=REFUSED[text]) as refusal:
        machine(tables + text).call("f", [3])
    assert re.match(r"line \d+: ", str(refusal.value))


LARGEST = {
    "short": 2**15 - 1,
    "int": 2**31 - 1,
    "unsigned int": 2**32 - 1,
    "ptrdiff_t": 2**63 - 1,
}


@pytest.mark.parametrize("kind", LARGEST)
def test_a_type_holds_no_number_above_its_largest_one(kind: str) -> None:
    text = f"{kind} f(ptrdiff_t a) {{ {kind} x = a; return ({kind})x; }}"
    assert machine(text).call("f", [LARGEST[kind]]) == LARGEST[kind]
    for value in (LARGEST[kind] + 1, -LARGEST[kind] - 1):
        with pytest.raises(ProgramError, match="of another type than"):
            machine(text).call("f", [value])


@pytest.mark.parametrize(
    ("sum_of_two", "fits"),
    [
        ("(int)2147483647 + (int)2147483647", True),
        ("(unsigned int)4294967295 + (unsigned int)0", True),
        ("(unsigned int)4294967295 + (unsigned int)1", False),
        ("(int)-2147483647 - (int)1", True),
        ("(int)-2147483647 - (int)2", False),
        ("(int)2147483647*(int)2 + (int)1", True),
        ("(int)2147483647*(int)2 + (int)2", False),
        ("(unsigned int)4294967295 + 1", True),
        ("1 + (unsigned int)4294967295", True),
        ("(unsigned int)4294967295 + (ptrdiff_t)1", True),
        ("(short)32767*(short)32767*(short)32767", True),
    ],
)
def test_only_operations_on_two_numbers_of_32_bits_have_32_bits(
    sum_of_two: str, fits: bool
) -> None:
    text = f"ptrdiff_t f(int a) {{ return {sum_of_two}; }}"
    if fits:
        assert machine(text).call("f", [0]) == eval(re.sub(r"\([a-z]\w*( int)?\)", "", sum_of_two))
    else:
        with pytest.raises(ProgramError, match="does not fit into 32 bits"):
            machine(text).call("f", [0])


# -- terms ---------------------------------------------------------------------------------------


def test_the_same_operation_of_the_same_terms_is_the_same_object() -> None:
    terms = Terms(DOUBLE)
    x, y = inputs(terms, "x", 2)
    assert terms.of("add", x, y) is x + y
    assert x * y is terms.of("mul", x, y)
    assert len({x + y, y + x, x * y, x + x, terms.of("sub", x, y)}) == 5
    assert (x + y).operands == (x, y)


@pytest.mark.parametrize(("real", "suffix"), [(DOUBLE, ""), (FLOAT, "f")])
def test_a_literal_is_the_constant_nearest_to_it(real: Any, suffix: str) -> None:
    terms = Terms(real)
    tenth = terms.constant(Fraction(1, 10))
    assert terms.literal(f"0.1{suffix}") is terms.literal(f"0.1{suffix}") is tenth
    assert terms.literal(f"1e-1{suffix}") is tenth
    assert terms.constant(Fraction(1, 10) + real.smallest) is tenth
    assert terms.constant(Fraction(1, 10) + Fraction(real.eps)) is not tenth
    assert terms.literal(f"0.1{'' if suffix else 'f'}") is None


def test_a_sign_is_an_operation_on_all_but_constants() -> None:
    terms = Terms(DOUBLE)
    (x,), tenth = inputs(terms, "x", 1), terms.constant(Fraction(1, 10))
    assert terms.negative(tenth) is terms.constant(Fraction(-1, 10))
    assert terms.negative(terms.negative(tenth)) is tenth
    assert terms.negative(x).operation == "neg"
    assert terms.operations == 0
    terms.line = 1
    assert terms.negative(tenth).operation == "const"
    assert terms.operations == 0
    assert terms.negative(x) is terms.of("neg", x)
    assert terms.operations == 1


def test_rows_have_the_terms_of_their_operations() -> None:
    terms = Terms(DOUBLE)
    x, y = inputs(terms, "x", 2)
    assert terms.row("const", Fraction(1, 4), []) is terms.constant(Fraction(1, 4))
    assert terms.row("neg", None, [x]) is terms.negative(x)
    assert terms.row("neg", None, [terms.constant(Fraction(1))]) is terms.constant(Fraction(-1))
    assert terms.row("div", None, [x, y]) is terms.of("div", x, y)


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div", "neg", "sqrt", "log"])
def test_sealed_terms_allow_no_operation_that_is_not_among_them(operation: str) -> None:
    terms = Terms(DOUBLE)
    x, y = inputs(terms, "x", 2)
    before, terms.sealed, terms.line = terms.of(operation, x), True, 7
    assert terms.of(operation, x) is before
    with pytest.raises(ProgramError, match=f"^line 7: no row of the Program is this {operation} "):
        terms.of(operation, y)
    assert terms.of("fabs", y).operation == "fabs"
    assert terms.literal("2.0") is terms.constant(Fraction(2))


def test_a_term_has_the_line_that_computed_it_first() -> None:
    text = """void f(const double x[3], double y[3]) {
    int i;
    y[0] = x[0]*x[1];
    if (i_is_positive(0)) {
        y[1] = x[0];
    } else if (not_less(x[1],
                        x[0] + x[1])) {
        y[1] = x[0] -
            x[1];
    }
    for (i = 0; i < 1; ++i) {
        y[2] = (x[0]*x[1])/x[2];
    }
}
"""
    reading = machine(
        text,
        externals={
            "i_is_positive": lambda machine, values, node: values[0] > 0,
            "not_less": lambda machine, values, node: True,
        },
    )
    result = empty("y", 3)
    expected = reading.terms.of("sub", *inputs(reading.terms, "x", 2))
    assert expected.known
    reading.call("f", [argument(reading.terms, "x", 3), result])
    product, difference, quotient = result.memory.cells
    assert (product.line, quotient.line) == (3, 12)
    assert not product.known
    assert difference is expected
    assert difference.line == 0
    x, y, _ = inputs(reading.terms, "x", 3)
    assert (x + y).line == 6, "arguments are evaluated at the line of the statement"


def test_a_node_that_no_text_holds_has_line_zero() -> None:
    assert line_of(c_ast.ID("x")) == 0
    (function,) = parse_declarations("\nint f(int x) {\n}\n", "arm.c")
    assert line_of(function.decl) == 2


def test_the_line_of_a_call_is_set_behind_its_arguments() -> None:
    text = """double half(const double x[1]) {
    return x[0]/2.0;
}
void f(const double x[1], double y[1]) {
    y[0] =
        half(x)*
        half(x) + 1.0;
}
"""
    reading, result = machine(text), empty("y", 1)
    reading.call("f", [argument(reading.terms, "x", 1), result])
    (total,) = result.memory.cells
    square, _ = total.operands
    assert square.operands[0].line == 2
    assert square.line == total.line == 2, "the last statement that ran is that of the function"


def test_a_function_of_math_h_has_the_line_of_its_call() -> None:
    text = """double half(const double x[1]) {
    return x[0]/2.0;
}
void f(const double x[1], double y[1]) {
    y[0] = log(half(x));
}
"""
    reading, result = machine(text), empty("y", 1)
    reading.call("f", [argument(reading.terms, "x", 1), result])
    (logarithm,) = result.memory.cells
    assert (logarithm.line, logarithm.operands[0].line) == (5, 2)


def test_the_first_difference_is_the_deepest_wrong_term_on_the_left() -> None:
    terms = Terms(DOUBLE)
    x, y = inputs(terms, "x", 2)
    right = x + y
    terms.line = 4
    wrong = x * y
    terms.line = 5
    outer = terms.of("sub", right, wrong)
    outermost = terms.of("result", outer, 0, 1)
    assert first_difference(outermost) is wrong
    assert first_difference(wrong) is wrong
    assert first_difference(right) is right
    assert first_difference(terms.of("neg", right)).operation == "neg"
    argument_of_a_slip = terms.of("input", "x", 9)
    assert first_difference(argument_of_a_slip) is argument_of_a_slip


# -- memory --------------------------------------------------------------------------------------


COPY = "void f(const double x[3], double y[3]) { y[0] = x[0]; y[1] = x[%d]; }"


@pytest.mark.parametrize(
    ("aliased", "second", "refused"),
    [("", 0, False), ("aligned", 0, True), ("aligned", 1, False), ("anyhow", 1, True)],
)
def test_an_argument_is_not_read_behind_a_store_that_may_reach_it(
    aliased: str, second: int, refused: bool
) -> None:
    reading = machine(COPY % second, aliased=aliased)
    result = empty("y", 3)
    arguments = [argument(reading.terms, "x", 3), result]
    if refused:
        with pytest.raises(ProgramError, match=rf"x\[{second}\] is read after a result that may"):
            reading.call("f", arguments)
    else:
        reading.call("f", arguments)
        assert result.memory.cells == [*inputs(reading.terms, "x", 2)[:1], *[
            inputs(reading.terms, "x", 2)[second]
        ], None]  # fmt: skip


def test_only_results_count_as_stored() -> None:
    text = "void f(const double x[2], double w[2], double y[2]) { w[0] = x[0]; y[1] = w[0]; }"
    reading = machine(text, aliased="anyhow")
    work = empty("w", 2, role="workspace")
    reading.call("f", [argument(reading.terms, "x", 2), work, empty("y", 2)])
    assert reading.stored == {1}


def test_a_restricted_array_lies_over_no_other_one() -> None:
    text = "void f(const double x[2], double y[restrict 2], double z[2]) { y[0] = x[0]; }"
    first, second, third = (empty(name, 2) for name in "xyz")
    first.memory.cells[:] = inputs(Terms(DOUBLE), "x", 2)
    machine(text).call("f", [first, second, third])
    machine(text).call("f", [first, second, first])
    with pytest.raises(ProgramError, match="y needs an array of its declared type"):
        machine(text).call("f", [first, 0, third])
    for arguments in ([first, first, third], [first, second, second]):
        with pytest.raises(
            ProgramError, match="y overlaps another array, but is declared restrict"
        ):
            machine(text).call("f", arguments)


@pytest.mark.parametrize("role", ["argument", "result"])
def test_an_array_of_a_user_has_the_declared_size(role: str) -> None:
    text = "void f(double x[3]) { }"
    machine(text).call("f", [empty("x", 3, role)])
    for size in (2, 4):
        with pytest.raises(ProgramError, match=r"x\[0\] and the following elements do not match x"):
            machine(text).call("f", [empty("x", size, role)])
    machine("void f(double x[]) { }").call("f", [empty("x", 4, role)])


def test_a_part_of_an_array_has_room_for_the_declared_elements() -> None:
    text, whole = "void f(double x[3]) { }", empty("y", 5)
    for at in (1, 2):
        machine(text).call("f", [whole._replace(at=at)])
    for at in (3, -1):
        with pytest.raises(
            ProgramError, match=rf"y\[{at}\] and the following elements do not match x"
        ):
            machine(text).call("f", [whole._replace(at=at)])
    machine(text).call("f", [empty("y", 4, role="local")])
    with pytest.raises(ProgramError, match=r"y\[0\] and the following elements do not match x"):
        machine(text).call("f", [empty("y", 2, role="local")])
    rows = Pointer(whole.memory, 1, (2,), 0, 5)
    machine("void f(double x[2][2]) { }").call("f", [rows])
    for text in ("void f(double x[3][2]) { }", "void f(double x[2][3]) { }"):
        with pytest.raises(ProgramError, match=r"x needs an array|do not match x"):
            machine(text).call("f", [rows])
    with pytest.raises(ProgramError, match="x needs an array of its declared type"):
        machine("void f(double x[3]) { }").call("f", [1])
    with pytest.raises(ProgramError, match="a value of another type than double is given"):
        machine("void f(double x[3]) { }").call("f", [empty("n", 3, integers=True)])


WORKSPACE = """
static void g(double w[{0}]) {{ w[0] = 1.0; }}
void f(double w[8], int at) {{ g(&w[at]); }}
"""


def test_all_functions_declare_one_size_of_the_workspace() -> None:
    work = empty("w", 20, role="workspace")
    same = machine(WORKSPACE.format(8))
    same.call("f", [work, 0])
    assert same.workspace_sizes == {8}
    unsized = machine(WORKSPACE.format(""))
    unsized.call("f", [work, 0])
    assert unsized.workspace_sizes == {8}
    with pytest.raises(ProgramError, match="w is declared with another size"):
        machine(WORKSPACE.format(9)).call("f", [work, 0])
    part = machine(WORKSPACE.format(4))
    part.call("f", [work, 16])
    assert part.workspace_sizes == {8}
    with pytest.raises(ProgramError, match=r"w\[17\] and the following elements do not match w"):
        machine(WORKSPACE.format(4)).call("f", [work, 17])


@pytest.mark.parametrize(("real", "size"), [(DOUBLE, 8), (FLOAT, 4)])
def test_the_stack_is_the_most_that_arrays_take_at_a_time(real: Any, size: int) -> None:
    text = """
static void leaf(const double *x) { double inner[5]; int counts[100]; (void)x; }
void f(const double x[1]) {
    double whole[4];
    { double first[2][3]; leaf(x); }
    { struct { double sine[2]; double cosine[1]; } s; double second[9]; }
    { struct { double sine[2]; double cosine[1]; } s; }
}
""".replace("double", real.name)
    reading = machine(text, real)
    reading.call("f", [argument(reading.terms, "x", 1)])
    assert reading.peak_stack == size * max(4 + 6 + 5, 4 + 3 + 9)
    assert reading.stack == 0


# -- loops whose iterations run at the same time -------------------------------------------------


PARALLEL = """
void f(const double x[4], double y[4], double w[4]) {
    int i, k;
    double total = 0.0;
#pragma omp parallel for schedule(static, 1)
    for (i = 0; i < 4; ++i) { BODY }
    AFTER
}
"""


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("y[i] = x[i];", "total = y[0] + y[3];"),
        ("y[i] = x[0]; y[i] = x[i];", "i = 2; y[i] = x[i];"),
        ("w[i] = x[i]; w[i] += 1.0; y[i] = w[i];", "k = 0;"),
        ("const double more = x[3 - i] + x[i]; double twice = more; twice += more;", ""),
        ("int j; for (j = 0; j < 2; ++j) { y[i] = x[j]; }", ""),
        ("if (i < 2) { continue; } y[i] = x[i];", ""),
    ],
)
def test_iterations_that_share_nothing_may_run_at_the_same_time(body: str, after: str) -> None:
    reading = machine(PARALLEL.replace("BODY", body).replace("AFTER", after))
    reading.call("f", [argument(reading.terms, "x", 4), empty("y", 4), empty("w", 4)])


@pytest.mark.parametrize(
    ("body", "after", "message"),
    [
        ("y[0] = x[i];", "", r"y\[0\] is used by another iteration of the loop"),
        ("y[i] = x[i]; w[i] = y[i/2];", "", r"y\[0\] is written by another iteration of the loop"),
        ("total += x[i];", "", "total is shared by all iterations of a parallel loop"),
        ("k = i;", "", "k is shared by all iterations of a parallel loop"),
        ("y[i] = x[i];", "k = i;", "i is read before it is set"),
        (
            "int j;\n#pragma omp parallel for schedule(static, 1)\nfor (j = 0; j < 1; ++j) { }",
            "",
            "a For that generated code never holds there",
        ),
        ("y[i] = x[i];", "#pragma omp parallel for schedule(static, 1)\n k = 1;", "a Assignment"),
        ("y[i] = x[i];", "#pragma omp parallel for schedule(static, 1)\n", "a Compound that"),
        ("y[i] = x[i];", "#pragma omp parallel for\nfor (k = 0; k < 1; ++k) { }", "omp parallel"),
        (
            "y[i] = x[i];",
            "#pragma omp parallel for schedule(static, 1)\n" * 2 + "for (k = 0; k < 1; ++k) { }",
            "#pragma omp parallel for schedule",
        ),
        ("return 1;", "", "f returns a value, and is declared void"),
    ],
)
def test_what_iterations_share_is_refused(body: str, after: str, message: str) -> None:
    reading = machine(PARALLEL.replace("BODY", body).replace("AFTER", after))
    with pytest.raises(ProgramError, match=message):
        reading.call("f", [argument(reading.terms, "x", 4), empty("y", 4), empty("w", 4)])


@pytest.mark.parametrize(
    ("accesses", "conflict"),
    [
        ("1r 2r 3r", False),
        ("1w 1w 1r", False),
        ("1r 1w", False),
        ("1w 2r", True),
        ("1w 2w", True),
        ("1r 2w", True),
        ("1r 2r 2w", True),
        ("1r 2r 1w", True),
        ("2r 2r 2w 2r", False),
    ],
)
def test_two_iterations_conflict_at_an_element_that_one_of_them_writes(
    accesses: str, conflict: bool
) -> None:
    region, memory, unshared = Region(frozenset()), Memory("x", [None]), Memory("y", [None])
    conflicts = []
    for access in accesses.split():
        region.iteration = int(access[0])
        conflicts.append(region.conflict(memory, 0, access[1] == "w"))
        assert not region.conflict(unshared, region.iteration, True), "another element"
    assert conflicts == [False] * (len(conflicts) - 1) + [conflict]


# -- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "statements"),
    [
        ("", 0),
        ("n = 1;", 1),
        ("n = 1; n += 1; ++n;", 3),
        ("{ n = 1; }", 2),
        ("if (n > 5) { n = 1; n = 2; }", 1),
        ("if (n > 5) { n = 1; } else if (n > 0) { n = 2; }", 3),
        ("if (n > 5) { n = 1; } else { n = 2; n = 3; }", 3),
        ("int i; for (i = 0; i < 3; ++i) { n = i; }", 2 + 3 * 2),
        ("while (n < 6) { ++n; }", 1 + 3 * 2),
        ("do { ++n; } while (n < 6);", 1 + 1 + 2 * 2),
    ],
)
def test_each_statement_and_each_turn_of_a_while_is_counted(body: str, statements: int) -> None:
    """Begin with n = 3."""
    text = f"void f(int n) {{ {body} }}"
    machine(text, patience=statements).call("f", [3])
    if statements:
        with pytest.raises(
            ProgramError, match=r"more statements than its loops|this loop does not end"
        ):
            machine(text, patience=statements - 1).call("f", [3])


def test_each_turn_of_a_loop_with_an_empty_body_is_counted() -> None:
    for patience, refused in ((3, False), (2, True)):
        answers = iter([1, 1, 0])
        externals = {"more": lambda machine, values, node, answers=answers: next(answers)}
        reading = machine(
            "void f(int n) { while (more(n) > 0) { } }", patience=patience, externals=externals
        )
        if refused:
            with pytest.raises(ProgramError, match="this loop does not end"):
                reading.call("f", [3])
        else:
            reading.call("f", [3])


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("while (n < 6) { }", "line 1: this loop does not end"),
        ("while (n < 6) { n = 3; }", "line 1: the function runs"),
        ("for (n = 0; n < 6; n += 0) { }", "more statements than its loops can need"),
        ("do { n = 1; } while (n < 6);", "line 1: this"),
    ],
)
def test_a_loop_without_an_end_is_refused(loop: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        machine(f"void f(int n) {{ {loop} }}", patience=100).call("f", [3])


def test_a_function_of_many_numbers_may_run_many_statements() -> None:
    for numbers in (0, 10, 10**6):
        assert statements_allowed(numbers) >= 1000 + 100 * numbers
        assert statements_allowed(numbers) < 10**6 + 1000 * numbers, "an endless loop is noticed"


def test_operations_are_counted_without_sines_and_magnitudes() -> None:
    text = """void f(const double x[2], double y[2]) {
    double s = sin(x[0]) + cos(x[1]);
    s += fabs(x[0])*2.0;
    s = sqrt(s) - log(s)/atan2(s, -x[0]) + -1.0;
    s -= 1.0;
    y[0] = -s;
}"""
    reading = machine(text)
    reading.call("f", [argument(reading.terms, "x", 2), empty("y", 2)])
    assert reading.terms.operations == len(
        ["+", "+", "*", "sqrt", "-", "log", "/", "atan2", "-", "+", "-", "-"]
    )


def test_functions_of_math_h_have_the_suffix_of_the_type_or_a_name_of_the_text() -> None:
    text = "float f(const float x[1]) { return sinf(x[0])*arm_COS(x[0]); }"
    reading = machine(text, FLOAT, macros={"arm_COS": "cos"})
    (x,) = inputs(reading.terms, "x", 1)
    product = reading.call("f", [argument(reading.terms, "x", 1)])
    assert product is reading.terms.of("sin", x) * reading.terms.of("cos", x)
    with pytest.raises(ProgramError, match="sin is not a function of this text"):
        machine(text.replace("sinf", "sin"), FLOAT).call("f", [argument(Terms(FLOAT), "x", 1)])


def test_a_step_is_applied_to_arrays_and_leaves_its_name() -> None:
    notes, text = [], "void f(const double x[2], double y[2], int n) { g(&x[1], y); y[1] = x[0]; }"

    def step(machine: Any, arguments: Any, node: Any) -> str:
        notes.append((machine.terms.note, [pointer.at for pointer in arguments]))
        machine.store(arguments[1].memory, 0, arguments[0].memory.cells[1] * x, node)
        return "not a value of C"

    reading = machine(text, steps={"g": step})
    x, second = inputs(reading.terms, "x", 2)
    result = empty("y", 2)
    reading.call("f", [argument(reading.terms, "x", 2), result, 1])
    assert notes == [("g", [1, 0])]
    assert reading.terms.note == ""
    assert result.memory.cells == [second * x, x]
    assert (second * x).note == "g"
    refused = machine(text.replace("&x[1]", "n"), steps={"g": step})
    with pytest.raises(ProgramError, match="g is called with a number in place of an array"):
        refused.call("f", [argument(refused.terms, "x", 2), empty("y", 2), 1])


def test_a_function_elsewhere_is_given_values() -> None:
    calls: list[Any] = []

    def external(machine: Any, values: Any, node: Any) -> int:
        calls.append(values)
        return 5

    text = "int f(int n, const double x[1]) { return g(n + 1, x[0]) + COUNT; }"
    reading = machine(text, externals={"g": external}, integers={"COUNT": 20})
    assert reading.call("f", [3, argument(reading.terms, "x", 1)]) == 25
    assert calls == [[4, *inputs(reading.terms, "x", 1)]]


@pytest.mark.parametrize("operator", ["<=", ">="])
def test_real_numbers_are_compared_by_the_reader(operator: str) -> None:
    text = f"int f(const double x[2]) {{ if (x[0] {operator} x[1]) {{ return 1; }} return 0; }}"
    for holds in (True, False):
        conditions: list[Any] = []

        def compare(*condition: Any, holds: bool = holds, made: Any = conditions) -> bool:
            made.append(condition[:3])
            return holds

        reading = machine(text, compare=compare)
        assert reading.call("f", [argument(reading.terms, "x", 2)]) == holds
        assert conditions == [(operator, *inputs(reading.terms, "x", 2))]
        strict = machine(text.replace(operator, operator[0]), compare=compare)
        with pytest.raises(ProgramError, match="a BinaryOp that generated code never holds there"):
            strict.call("f", [argument(strict.terms, "x", 2)])


# -- values with fields --------------------------------------------------------------------------


SINES = """void f(const double x[3], double y[3]) {
    const arm_pair t = arm_sincos(x[1]);
    y[0] = t.sine;
    y[1] = t.cosine;
}
void all(const double x[3], double y[3]) {
    const double angles[2] = {x[2], x[0]};
    const arm_turns t = arm_sincos(angles);
    y[0] = t.sine[0];
    y[1] = t.cosine[1];
}
"""


def test_the_sine_and_cosine_of_an_angle_are_those_of_math_h() -> None:
    reading, result = machine(SINES), empty("y", 3)
    reading.call("f", [argument(reading.terms, "x", 3), result])
    terms, x = reading.terms, inputs(reading.terms, "x", 3)
    assert result.memory.cells == [terms.of("sin", x[1]), terms.of("cos", x[1]), None]
    reading, result = machine(SINES, angles=2), empty("y", 3)
    reading.call("all", [argument(reading.terms, "x", 3), result])
    terms, x = reading.terms, inputs(reading.terms, "x", 3)
    assert result.memory.cells == [terms.of("sin", x[2]), terms.of("cos", x[0]), None]


@pytest.mark.parametrize(
    ("function", "old", "new", "angles", "message"),
    [
        ("f", "x[1]", "x[1]", 2, "2 angles are expected"),
        ("f", "x[1]", "x", 0, "1 angles are expected"),
        ("f", "x[1]", "1", 0, "1 angles are expected"),
        ("f", "x[1]", "x[1], x[1]", 0, "arm_sincos is not a function of this text"),
        ("all", "(angles)", "(angles)", 3, "3 angles are expected"),
        ("all", "(angles)", "(&angles[1])", 1, "1 angles are expected"),
        ("all", "angles[2] = {x[2], x[0]}", "angles[2][1] = {{x[2]}, {x[0]}}", 2, "2 angles are"),
        ("all", "sine[0]", "sine[2]", 2, r"sine\[2\] is outside of the elements 0 to 1"),
        ("all", "y[0] = t.sine[0]", "t.sine[0] = 1.0", 2, r"sine\[0\] may not be stored to"),
        ("all", "arm_turns", "arm_pair", 2, "a value of another type than arm_pair is given"),
        ("f", "arm_pair", "arm_turns", 0, "a value of another type than arm_turns is given"),
        ("f", "const arm_pair t", "const arm_pair *t", 0, "the type arm_pair does not belong"),
        ("f", "t.sine", "t.tangent", 0, "a StructRef that generated code never holds there"),
        ("f", "t.sine", "t->sine", 0, "a StructRef that generated code never holds there"),
        ("f", "t.sine", "x.sine", 0, "a StructRef that generated code never holds there"),
        ("f", "y[0] = t.sine", "t.sine = 1", 0, "the field sine is given a value of another type"),
    ],
)
def test_other_uses_of_sines_are_refused(
    function: str, old: str, new: str, angles: int, message: str
) -> None:
    assert old in SINES
    reading = machine(SINES.replace(old, new, 1), angles=angles)
    with pytest.raises(ProgramError, match=message):
        reading.call(function, [argument(reading.terms, "x", 3), empty("y", 3)])


FIELDS = """double f(const double x[2]) {
    struct { double sine; double powers[3]; int count; } s;
    s.sine = x[0];
    s.powers[0] = x[1];
    s.powers[2] = s.powers[0]*s.sine;
    s.sine += x[1];
    return s.powers[2] - s.sine;
}
"""


def test_fields_of_a_local_hold_numbers_and_arrays_of_numbers() -> None:
    reading = machine(FIELDS)
    x, y = inputs(reading.terms, "x", 2)
    result = reading.call("f", [argument(reading.terms, "x", 2)])
    assert result is reading.terms.of("sub", y * x, x + y)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    s.sine = x[0];\n", "", "sine is read before it is set"),
        ("    s.powers[0] = x[1];\n", "", r"powers\[0\] is read before it is stored"),
        ("s.powers[2] =", "s.powers[3] =", r"powers\[3\] is outside of the elements 0 to 2"),
        ("s.sine = x[0]", "s.sine = 1", "the field sine is given a value of another type"),
        ("s.sine = x[0]", "s.powers = x[0]", "the field powers is given a value of another type"),
        ("s.sine = x[0]", "s.count = x[0]", "the field count is given a value of another type"),
        (
            "struct { double sine; double powers[3]; int count; } s;",
            "struct pair s;",
            "a StructRef",
        ),
        ("s.sine = x[0]", "s.cosine = x[0]", "a StructRef that generated code never holds there"),
    ],
)
def test_another_use_of_fields_is_refused(old: str, new: str, message: str) -> None:
    assert old in FIELDS
    reading = machine(FIELDS.replace(old, new, 1))
    with pytest.raises(ProgramError, match=message):
        reading.call("f", [argument(reading.terms, "x", 2)])


GRIDS = """ptrdiff_t f(int n, const stream s) {
    grid g;
    grid h = {};
    g.x = n + 1;
    g.s = s;
    h.y = 7;
    launch(&g, &h.y);
    return g.x + g.y + h.x;
}
"""


def of_grids(text: str, calls: list[Any]) -> Any:
    """Return a machine that knows the types grid and stream, and notes arguments of `launch`."""

    def grid() -> Struct:
        return Struct("grid", {"x": Narrow(1), "y": Narrow(2), "s": Struct("stream", {})})

    def launch(machine: Any, values: Any, node: Any) -> int:
        calls.append(values)
        return 0

    structs = {"grid": grid, "stream": lambda: Struct("stream", {})}
    return machine(text, structs=structs, externals={"launch": launch})


def test_values_of_known_types_have_their_fields() -> None:
    calls: list[Any] = []
    stream = Struct("stream", {})
    assert of_grids(GRIDS, calls).call("f", [3, stream]) == 4 + 2 + 1
    ((first, second),) = calls
    assert first == {"x": 4, "y": 2, "s": stream}
    assert first["s"] is stream
    assert isinstance(second, Reference)
    assert (second.fields["x"], second.fields[second.name]) == (1, 7)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("g.x = n + 1", "g.x = n - 4", "the field x is given a value of another type"),
        ("g.x = n + 1", "g.x = 4294967295", ""),
        ("g.x = n + 1", "g.x = 4294967296", "the field x is given a value of another type"),
        ("g.x = n + 1", "g.x = 1.0", "the field x is given a value of another type"),
        ("g.x = n + 1", "g.x = s", "the field x is given a value of another type"),
        ("g.s = s", "g.s = g", "the field s is given a value of another type"),
        ("g.s = s", "g.s = n", "the field s is given a value of another type"),
        ("g.s = s", "g.s = 0", "the field s is given a value of another type"),
        ("grid h = {}", "grid h = {3}", "a InitList that generated code never holds there"),
        ("grid h = {}", "grid h = s", "a value of another type than grid is given"),
        ("grid h = {}", "grid h = g", ""),
        ("&g, &h.y", "&n, &h.y", "a UnaryOp that generated code never holds there"),
        ("&g, &h.y", "&g, &h.z", "a StructRef that generated code never holds there"),
    ],
)
def test_fields_keep_their_types(old: str, new: str, message: str) -> None:
    assert old in GRIDS
    reading = of_grids(GRIDS.replace(old, new), [])
    if not message:
        reading.call("f", [3, Struct("stream", {})])
        return
    with pytest.raises(ProgramError, match=message):
        reading.call("f", [3, Struct("stream", {})])

"""Seeded errors: edits of symgen's text, each one thing that a tired hand gets wrong.

A flipped sign, an index off by one, another constant, a dropped term, a negated condition, a
comparison the other way round. Not made: what no test could see (annotations, docstrings, texts,
`__repr__`, assertions, sizes of caches, -1 of `reshape`, which NumPy reads like -2).
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

UNSEEN_KEYWORDS = {"maxsize", "timeout", "stacklevel", "strict"}
BY_CHANCE = {"uniform", "default_rng", "integers", "randint", "Random"}
"""Calls whose numbers are as good as any others."""
OTHER_WAY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
SIGNS: dict[type[ast.operator], ast.operator] = {ast.Add: ast.Sub(), ast.Sub: ast.Add()}
TERMS = (ast.Add, ast.Sub, ast.Mult)


@dataclass(frozen=True)
class Edit:
    file: str
    """Path below symgen/."""
    line: int
    start: int
    """Offset in the file at which the edit begins, in bytes; `end` is the offset after it."""
    end: int
    kind: str
    old: str
    new: str

    @property
    def text(self) -> str:
        return f"{self.kind}: {_short(self.old)} → {_short(self.new)}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:45]} … {line[-22:]}"


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    if isinstance(node, ast.IfExp):
        return _is_text(node.body) or _is_text(node.orelse)
    called = node.func if isinstance(node, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return (
        isinstance(node, ast.JoinedStr)
        or isinstance(getattr(node, "value", None), (str, bytes))
        or name
        in {"join", "str", "repr", "ljust", "rjust", "lower", "upper", "strip", "format", "replace"}
    )


def _is_several(node: ast.AST) -> bool:
    return isinstance(node, (ast.List, ast.Tuple, ast.ListComp))


def _other_constant(value: object) -> object | None:
    """Return the constant that replaces another, or None."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1 if abs(value) < 100 else 10 * value
    return 10 * value if isinstance(value, float) and value else None


class _Finder(ast.NodeVisitor):
    """Every edit of one file, in its order."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.edits: list[Edit] = []

    def _add(self, node: ast.expr, kind: str, new: str) -> None:
        start = self.starts[node.lineno - 1] + node.col_offset
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        self.edits.append(
            Edit(self.file, node.lineno, start, end, kind, self.source[start:end].decode(), new)
        )

    def _with(self, node: ast.expr, kind: str, **changes: object) -> None:
        changed = copy.copy(node)
        for name, value in changes.items():
            setattr(changed, name, value)
        self._add(node, kind, f"({ast.unparse(changed)})")

    def _negated(self, test: ast.expr) -> None:
        self._add(test, "condition", f"(not ({ast.unparse(test)}))")

    # -- code that is not edited

    def _body(self, node: ast.FunctionDef | ast.ClassDef | ast.Module) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name != "__repr__":
            for default in [*node.args.defaults, *node.args.kw_defaults]:
                if default is not None:
                    self.visit(default)
            self._body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._body(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_keyword(self, node: ast.keyword) -> None:
        a_flag = isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool)
        if node.arg not in UNSEEN_KEYWORDS and not a_flag:  # most flags are another library's
            self.visit(node.value)

    def _nothing(self, node: ast.AST) -> None:
        """Texts, and what is never run where nothing is wrong."""

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name == "reshape":
            sizes = (
                size for argument in node.args for size in getattr(argument, "elts", [argument])
            )
            for size in sizes:  # NumPy reads every negative size as -1
                if not (isinstance(size, ast.UnaryOp) and isinstance(size.operand, ast.Constant)):
                    self.visit(size)
            self.visit(node.func)
        elif name not in BY_CHANCE:
            self.generic_visit(node)

    visit_JoinedStr = visit_Raise = visit_Assert = _nothing

    # -- code that is edited

    def visit_If(self, node: ast.If) -> None:
        names = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)}
        if not names & {"TYPE_CHECKING", "__name__"}:
            self._negated(node.test)
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        if not (_is_text(node.body) and _is_text(node.orelse)):
            self._negated(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negated(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        self._with(node, "comparison", ops=[OTHER_WAY[type(op)]() for op in node.ops])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for i in range(len(node.values)):
            self._with(node, "term", values=[*node.values[:i], *node.values[i + 1 :]])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            self._add(node, "sign", f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not _is_text(node):
            if (
                type(node.op) in SIGNS
                and not _is_several(node.left)
                and not _is_several(node.right)
            ):
                self._with(node, "sign", op=SIGNS[type(node.op)])
            if isinstance(node.op, TERMS):
                self._add(node, "term", f"({ast.unparse(node.left)})")
                if isinstance(node.op, ast.Add):
                    self._add(node, "term", f"({ast.unparse(node.right)})")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [
            bound
            for index in indices
            for bound in ((index.lower, index.upper) if isinstance(index, ast.Slice) else (index,))
            if bound is not None
        ]
        for index in indices:
            number = index.operand if isinstance(index, ast.UnaryOp) else index
            if isinstance(number, ast.Constant) and type(number.value) is int:
                self._add(number, "index", str(number.value + 1))
            else:
                self.visit(index)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        replacement = _other_constant(node.value)
        if replacement is not None:
            self._add(node, "constant", repr(replacement))


def edits_of(file: str, source: bytes) -> list[Edit]:
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    return [edit for edit in finder.edits if edit.applied(source) != source]


def lines_of_code(source: bytes) -> int:
    """Lines on which a statement begins that is run; a text by itself is none."""
    return len(
        {
            node.lineno
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.stmt)
            and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
            and not isinstance(node, (ast.Import, ast.ImportFrom))
        }
    )


def in_order(package: Path, room: Callable[[str], str], seed: int) -> Iterator[Edit]:
    """Yield all edits of a package in an order in which every prefix contains edits of each room in
    proportion to its lines of code. The order of the edits of one file does not depend on other
    files.
    """
    edits_of_file: dict[str, list[Edit]] = {}
    lines: dict[str, int] = {}
    for path in sorted(package.rglob("*.py")):
        file, source = path.relative_to(package).as_posix(), path.read_bytes()
        edits_of_file.setdefault(room(file), []).extend(edits_of(file, source))
        lines[room(file)] = lines.get(room(file), 0) + lines_of_code(source)
    for name, edits in edits_of_file.items():
        occurrences: dict[tuple[str, str], int] = {}
        ranks = {}
        for edit in edits:
            key = (edit.file, edit.text)
            occurrences[key] = occurrences.get(key, 0) + 1
            ranks[edit] = hashlib.sha256(f"{seed}/{key}/{occurrences[key]}".encode()).digest()
        edits_of_file[name] = sorted(edits, key=ranks.__getitem__, reverse=True)
    edits_taken = dict.fromkeys(edits_of_file, 0)
    while waiting := [name for name, edits in edits_of_file.items() if edits]:
        name = max(waiting, key=lambda file: (lines[file] / (2 * edits_taken[file] + 1), file))
        edits_taken[name] += 1
        yield edits_of_file[name].pop()

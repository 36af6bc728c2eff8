"""Lint of prose and names: `python -m tests.language [--counts] [FOLDER …]`.

It reports, in Python files,

- docstrings that begin with a word of `OPENINGS` instead of a verb or a noun, those under a
  constant or a field as well;
- sentences of a docstring with more than `LONGEST` words;
- variables and arguments with a name of `VAGUE_VARIABLES`, which do not say what they hold;
- functions whose whole name is a word of `VAGUE_FUNCTIONS`.

Formulas, tables and code in a docstring are not sentences: a line that is indented deeper than the
docstring, or that has a formula's sign, ends a sentence.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
FOLDERS = ("symgen", "tests")
LONGEST = 30
OPENINGS = re.compile(
    r"(What|Of|That|Whether|Those|Likewise|The same|How|Where|Which|Why|When|Everything|By|Its)\b"
)
VAGUE_VARIABLES = "found one own told given other known place"
VAGUE_FUNCTIONS = (
    "turned moved told carried placed made whole given drawn known held together settled taken"
    " apart kept joined alone felt said borne asked ways parted wanted handed shown once stated"
    " meant reached"
)
DISPLAY = re.compile(r"^\s{2,}|^\s*[-|*]|[=∂Σ→]|`{3}|:$")


class Finding(NamedTuple):
    path: Path
    line: int
    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.rule}: {self.detail}"


def sentences(docstring: str) -> Iterator[str]:
    """Split a docstring into sentences; lines that display a formula or an item end a sentence."""
    paragraph: list[str] = []
    for line in [*docstring.splitlines(), ""]:
        if line.strip() and not DISPLAY.search(line):
            paragraph.append(line.strip())
            continue
        yield from re.split(r"(?<=[.:;?!])\s+", " ".join(paragraph))
        paragraph = []


def docstrings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of a node's docstring and of those under its constants and fields."""
    if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        return
    for k, statement in enumerate(node.body):
        if (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
            and (k == 0 or isinstance(node.body[k - 1], (ast.Assign, ast.AnnAssign)))
        ):
            yield statement.lineno, inspect.cleandoc(statement.value.value)


def docstring_findings(path: Path, node: ast.AST) -> Iterator[Finding]:
    """Report the opening words and the long sentences of docstrings."""
    for line, docstring in docstrings(node):
        if OPENINGS.match(docstring):
            yield Finding(path, line, "opening", docstring.split("\n")[0][:80])
        for sentence in sentences(docstring):
            if len(sentence.split()) > LONGEST:
                yield Finding(path, line, "long", f"{len(sentence.split())} words: {sentence[:80]}")


def name_findings(path: Path, tree: ast.Module) -> Iterator[Finding]:
    """Report vague names of variables, arguments and functions.

    Python's operators call their second operand `other`, and so may a method with two underscores.
    """
    operands = {
        argument
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("__")
        for argument in ast.walk(node.args)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name, rule, vague = node.id, "variable", VAGUE_VARIABLES
        elif isinstance(node, ast.arg) and node not in operands:
            name, rule, vague = node.arg, "variable", VAGUE_VARIABLES
        elif isinstance(node, ast.FunctionDef):
            name, rule, vague = node.name.strip("_"), "function", VAGUE_FUNCTIONS
        else:
            continue
        if name in vague.split():
            yield Finding(path, node.lineno, rule, name)


def findings(folders: list[Path]) -> list[Finding]:
    """Return all findings in the Python files of folders (or in files), by path and line."""
    reported: list[Finding] = []
    for folder in folders:
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            tree = ast.parse(path.read_text())
            for node in ast.walk(tree):
                reported.extend(docstring_findings(path, node))
            reported.extend(name_findings(path, tree))
    return sorted(reported)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="*", help="folders or files (default: symgen and tests)")
    parser.add_argument(
        "--counts", action="store_true", help="print counts by folder and rule only"
    )
    options = parser.parse_args(arguments)
    reported = findings([Path(f).resolve() for f in options.folders or (ROOT / f for f in FOLDERS)])
    if options.counts:
        counts = Counter((str(f.path.relative_to(ROOT).parent), f.rule) for f in reported)
        for (folder, rule), count in sorted(counts.items()):
            print(f"{folder:40} {rule:10} {count:5}")
    else:
        for finding in reported:
            print(finding)
    print(f"{len(reported)} findings", file=sys.stderr)
    return 1 if reported else 0


if __name__ == "__main__":
    sys.exit(main())

"""Functions of symgen/ that each test file executes: `python -m tests.executed_functions --jobs 2`.

The mutation tests choose their tests by this table. Every test file runs in its own process,
because tests in one process share Programs: only the first of them executes the functions that
derive one. The run takes about an hour on two cores, and writes build/executed_functions.json.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from coverage import CoverageData

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "build" / "executed_functions.json"
QUICK = "not firmware and not slow"
CONFIG = "[run]\nsource = symgen\nparallel = true\npatch = subprocess\ndata_file = {data}\n"
LIMIT = 1800
"""Seconds after which a test file is given up."""


def files_of_tests(names: Sequence[str]) -> list[Path]:
    """Return the test files, or those whose path contains one of the names."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [file for file in files if not names or any(name in str(file) for name in names)]


def executed(test_file: Path, root: Path = ROOT) -> dict[str, Any]:
    """Return {"seconds", "functions"}: the time of a test file, and the qualified names of the
    functions that it executes in each file below symgen/.
    """
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "coveragerc"
        config.write_text(CONFIG.format(data=Path(folder) / "data"), encoding="utf-8")
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={config}", "-m", "pytest"]
        command += ["-q", "-p", "no:cacheprovider", "-m", QUICK, str(test_file.relative_to(ROOT))]
        env = os.environ | {"PYTHONPATH": str(root), "SYMGEN_CACHE": str(Path(folder) / "cache")}
        start = time.monotonic()
        subprocess.run(command, cwd=root, env=env, timeout=LIMIT, capture_output=True, check=False)
        seconds = round(time.monotonic() - start, 1)
        lines: dict[str, set[int]] = {}
        for data_file in Path(folder).glob("data*"):
            data = CoverageData(str(data_file))
            data.read()
            for name in data.measured_files():
                path = str(Path(name).relative_to(root / "symgen"))
                lines.setdefault(path, set()).update(data.lines(name) or ())
    functions = {path: _functions(root / "symgen" / path, n) for path, n in sorted(lines.items())}
    return {
        "seconds": seconds,
        "functions": {path: names for path, names in functions.items() if names},
    }


def _functions(path: Path, lines: set[int]) -> list[str]:
    """Return the qualified names of the functions of which a line is executed."""
    spans = function_spans(path.read_bytes())
    return sorted({name for line in lines if (name := innermost(spans, line))})


def function_spans(source: bytes) -> list[tuple[int, int, str]]:
    """Return (first line of the body, last line, qualified name) of every function, outer ones
    first.
    """
    spans: list[tuple[int, int, str]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}.{child.name}" if prefix else child.name
                if not isinstance(child, ast.ClassDef):
                    spans.append((child.body[0].lineno, child.end_lineno or child.lineno, name))
            visit(child, name)

    visit(ast.parse(source), "")
    return spans


def innermost(spans: Sequence[tuple[int, int, str]], line: int) -> str:
    """Return the name of the innermost function around a line; "" for lines of the module."""
    return next((name for first, last, name in reversed(spans) if first <= line <= last), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("names", nargs="*", help="only test files whose path contains one of these")
    arguments = parser.parse_args()
    table = json.loads(arguments.out.read_text("utf-8")) if arguments.out.is_file() else {}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)

    def measure(test_file: Path) -> None:
        name = str(test_file.relative_to(ROOT))
        table[name] = executed(test_file)
        print(f"{table[name]['seconds']:7.1f} s  {name}", flush=True)
        part = arguments.out.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(dict(table)), encoding="utf-8")
        part.replace(arguments.out)

    waiting = [
        file
        for file in files_of_tests(arguments.names)
        if arguments.names or str(file.relative_to(ROOT)) not in table
    ]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(measure, waiting))


if __name__ == "__main__":
    main()

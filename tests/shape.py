"""Figures of the structure of symgen: rooms and imports, calls, parameters, branches, statements.

python -m tests.shape [--verbose] [--json] [PATH]

PATH is the root of a checkout (default: this one). --verbose lists the offenders below each figure.
No test enforces the bounds. Every larger change shows the table before and after.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

MOST_PARAMETERS = 6
MOST_BRANCHES = 15

LOOP_FORMS = re.compile(
    r"(?:^|[/_])(?:looped|loop|segmented|levelled)(?:[/_]|$)"
    r"|^(?:ir|pipeline)/loops(?:/|$)|^readback/loops$"
)
"""Names of the files of the loop forms: their folders, printers and readers."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Imports = Mapping[str, set[str]]


@dataclass(frozen=True)
class Figure:
    """One row of the table; an offender is one line of text."""

    name: str
    value: int | None
    bound: int | None = None
    offenders: list[str] = field(default_factory=list)


# -- files and imports --


@cache
def tree_of(path: Path) -> ast.Module:
    """Parse a file once."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name_of(path: Path, root: Path = ROOT) -> str:
    """Return the name of a file of symgen: symgen/methods/udut.py → methods/udut."""
    return path.relative_to(root / "symgen").with_suffix("").as_posix()


def room_of(name: str) -> str:
    """Return the room of a file: a file or a folder directly in symgen/, or symgen itself."""
    return "symgen" if name == "__init__" else name.partition("/")[0]


def folder_of(name: str) -> str:
    """Return the folder of a file: methods/riccati/filter → methods/riccati."""
    return name.rpartition("/")[0]


def is_private(name: str) -> bool:
    """True if the file's name has a leading underscore, as in backends/_writer."""
    last = name.rpartition("/")[2]
    return last.startswith("_") and not last.startswith("__")


def imported_modules(path: Path, root: Path = ROOT) -> set[str]:
    """Return the full names of imported modules, imports for the type checker included.

    `from symgen.methods import udut` imports symgen.methods.udut.
    """
    modules: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import; write the full name"
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                target = root.joinpath(*module.split("."))
                is_module = target.is_dir() or target.with_suffix(".py").is_file()
                modules.add(module if is_module else str(node.module))
    return modules


def imported_files(path: Path, root: Path = ROOT) -> set[str]:
    """Return the names (methods/udut, ir …) of the files of symgen that a file imports."""
    names: set[str] = set()
    for module in imported_modules(path, root):
        package, *path_parts = module.split(".")
        if package == "symgen":
            is_folder = root.joinpath("symgen", *path_parts).is_dir()
            names.add("/".join([*path_parts, "__init__"] if is_folder else path_parts))
    return names


def importers_of(imports: Imports) -> dict[str, set[str]]:
    """Return, for each file, the other files that import it."""
    importers: dict[str, set[str]] = {name: set() for name in imports}
    for importer, names in imports.items():
        for name in names - {importer}:
            importers.setdefault(name, set()).add(importer)
    return importers


# -- rooms --


def arrows_of(imports: Imports) -> dict[tuple[str, str], list[str]]:
    """Return the arrows between rooms, each with the imports behind it.

    An arrow is an ordered pair of different rooms with at least one import.
    """
    arrows: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name, targets in sorted(imports.items()):
        for target in sorted(targets):
            if room_of(name) != room_of(target):
                arrows[room_of(name), room_of(target)].append(f"{name} imports {target}")
    return dict(arrows)


def floors_of(rooms: Iterable[str], arrows: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the floor of each room: 1 without imports, else one above its highest import."""
    below: dict[str, set[str]] = {room: set() for room in rooms}
    for room, target in arrows:
        below[room].add(target)
    floors: dict[str, int] = {}
    for room in TopologicalSorter(below).static_order():
        floors[room] = 1 + max((floors[target] for target in below[room]), default=0)
    return floors


def longest_chain(floors: Mapping[str, int], arrows: Iterable[tuple[str, str]]) -> list[str]:
    """Return one chain of imports from the top floor down to the first."""
    arrows = sorted(arrows)
    chain = [min(room for room in floors if floors[room] == max(floors.values()))]
    while floors[chain[-1]] > 1:
        targets = [target for room, target in arrows if room == chain[-1]]
        chain.append(next(t for t in targets if floors[t] == floors[chain[-1]] - 1))
    return chain


# -- counting rules --


def statements(tree: ast.AST) -> int:
    """Count the statements, without those that are only a constant: docstrings and `...`."""
    return sum(
        isinstance(node, ast.stmt)
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in ast.walk(tree)
    )


def functions(tree: ast.AST) -> list[Function]:
    """List the functions, methods and nested functions; lambdas are left out."""
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def parameters(function: Function) -> int:
    """Count the named parameters, keyword-only ones included; self, cls, *args, **kwargs are not
    counted.
    """
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in named)


def branches(function: Function) -> int:
    """Count the branches (McCabe's number): 1, and 1 for each of the following.

    if, elif, conditional expression, for, while, except, case, assert, `for` and `if` of a
    comprehension, and each `and` and `or`. Nested functions count in the function around them.
    """
    single = (
        ast.If,
        ast.IfExp,
        ast.For,
        ast.AsyncFor,
        ast.While,
        ast.ExceptHandler,
        ast.match_case,
        ast.Assert,
    )
    total = 1
    for node in ast.walk(function):
        if isinstance(node, single):
            total += 1
        elif isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            total += 1 + len(node.ifs)
    return total


def sole_importers(imports: Imports) -> dict[str, str]:
    """Return the files that only one file imports, where both are in one room, with the importer.

    Files whose importer is an `__init__` are left out: a folder's `__init__` lists its parts.
    """
    importers = importers_of(imports)
    single = {name: min(those) for name, those in importers.items() if len(those) == 1}
    return {
        name: importer
        for name, importer in sorted(single.items())
        if room_of(name) == room_of(importer) and not importer.endswith("__init__")
    }


def shared_privates(imports: Imports) -> dict[str, list[str]]:
    """Return the files with a leading underscore that files outside their folder import."""
    shared: dict[str, list[str]] = {}
    for name, importers in sorted(importers_of(imports).items()):
        folder = folder_of(name)
        outside = sorted(i for i in importers if not i.startswith(f"{folder}/"))
        if is_private(name) and outside:
            shared[name] = outside
    return shared


# -- calls from the command line to the C text --


STAGES = ("equations", "program", "pass", "row", "text")

Stack = list[tuple[str, str]]
"""Calls from the outermost on: file and qualified name of each function."""


def stack_of(frame: FrameType | None, folder: str) -> Stack:
    """Return the named functions of symgen on the stack, without comprehensions and lambdas."""
    calls: Stack = []
    while frame:
        code: CodeType = frame.f_code
        if code.co_filename.startswith(folder) and not code.co_qualname.endswith(">"):
            calls.append((code.co_filename.removeprefix(folder), code.co_qualname))
        frame = frame.f_back
    return calls[::-1]


def trace(root: Path, robot: str, function: str) -> dict[str, Stack]:
    """Run `symgen generate` for one function in this process; return the stack of each stage.

    equations: the function of that name is called in methods/.
    program: a call returns the first Program.
    pass: the first pass is called, the function NAME of passes/NAME.py.
    row: a call returns the text that stands in a statement of the C file and has an operator.
    text: a call returns the whole C file.
    Each stage is taken where it happens first. Calls in child processes are not seen.
    """
    folder = f"{(root / 'symgen').resolve()}{os.sep}"
    stages: dict[str, Stack] = {}
    texts: dict[str, Stack] = {}  # every string that a call returned

    def profile(frame: FrameType, event: str, result: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(folder):
            return
        path = Path(code.co_filename.removeprefix(folder))
        stage = ""
        if event == "call" and "methods" in path.parts and code.co_name == function:
            stage = "equations"
        elif event == "call" and "passes" in path.parts and code.co_name == path.stem:
            stage = "pass"
        elif event == "return" and type(result).__name__ == "Program":
            stage = "program"
        elif event == "return" and isinstance(result, str) and result not in texts:
            texts[result] = stack_of(frame, folder)
        if stage and stage not in stages:
            stages[stage] = stack_of(frame, folder)

    from symgen.cli import main

    with tempfile.TemporaryDirectory() as output:
        arguments = ["generate", robot, "--function", function, "-o", f"{output}/{robot}"]
        sys.setprofile(profile)
        status = main(arguments)
        sys.setprofile(None)
        assert status == 0, f"symgen {' '.join(arguments)} failed"
        source = Path(output, robot, f"{robot}_{function}.c").read_text(encoding="utf-8")
    rows = [line for line in source.splitlines() if line.endswith(";")]
    writers = (
        stack
        for text, stack in texts.items()
        if re.search(" [*+-] ", text) and any(text in row for row in rows)
    )
    stages["row"] = next(writers, [])
    stages["text"] = texts.get(source, [])
    missing = [stage for stage in STAGES if not stages.get(stage)]
    assert not missing, f"stages not seen: {', '.join(missing)}; adapt tests/shape.py"
    return stages


def traced_calls(root: Path) -> dict[str, Stack]:
    """Run `trace` for inverse dynamics of planar_arm in a new process, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "stages.json")
        environment = os.environ | {"PYTHONPATH": str(root), "SYMGEN_CACHE": f"{folder}/cache"}
        command = [sys.executable, "-P", __file__, "--trace-to", str(result), str(root)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"tests.shape: the traced run failed\n{run.stderr}")
        return {
            stage: [(file, name) for file, name in stack]
            for stage, stack in json.loads(result.read_text(encoding="utf-8")).items()
        }


def calls_and_files(stages: Mapping[str, Stack]) -> tuple[int, int]:
    """Count the functions on the stacks of all stages, each once, and the files defining them."""
    calls = {call for stack in stages.values() for call in stack}
    return len(calls), len({file for file, _ in calls})


# -- the table --


def over(
    functions_by_place: Mapping[str, Function], rule: Callable[[Function], int], limit: int
) -> dict[str, int]:
    """Return the places of functions with more than `limit` by a counting rule, most first."""
    counts = {place_name: rule(function) for place_name, function in functions_by_place.items()}
    beyond = {place_name: count for place_name, count in counts.items() if count > limit}
    return dict(sorted(beyond.items(), key=lambda item: (-item[1], item[0])))


def lines(counts: Mapping[str, int]) -> list[str]:
    """Write one line for each name with its count."""
    return [f"{count:6}  {name}" for name, count in counts.items()]


def import_figures(imports: Imports) -> list[Figure]:
    """Return the figures of the import graph."""
    rooms = Counter(room_of(name) for name in imports)
    arrows = arrows_of(imports)
    floors = floors_of(rooms, arrows)
    by_floor = sorted(floors.items(), key=lambda item: (-item[1], item[0]))
    chain = " → ".join(longest_chain(floors, arrows))
    sole = sole_importers(imports)
    privates = [name for name in sorted(imports) if is_private(name)]
    shared = shared_privates(imports)
    return [
        Figure(
            "rooms", len(rooms), 26, [f"{n:6} files  {room}" for room, n in sorted(rooms.items())]
        ),
        Figure(
            "arrows between rooms",
            len(arrows),
            150,
            [f"{a} → {b}: {'; '.join(those)}" for (a, b), those in sorted(arrows.items())],
        ),
        Figure(
            "floors",
            max(floors.values()),
            14,
            [f"longest chain: {chain}", *(f"{floor:6}  {room}" for room, floor in by_floor)],
        ),
        Figure(
            "files whose only importer is in the same room",
            len(sole),
            30,
            [f"{name} ← {importer}" for name, importer in sole.items()],
        ),
        Figure("files with a leading underscore", len(privates), None, privates),
        Figure(
            "  imported from outside their folder",
            len(shared),
            None,
            [f"{name} ← {', '.join(those)}" for name, those in shared.items()],
        ),
    ]


def size_figures(trees: Mapping[str, ast.Module]) -> list[Figure]:
    """Return the figures of functions, files and statements."""
    functions_by_place = {
        f"{name}:{function.lineno} {function.name}": function
        for name, tree in trees.items()
        for function in functions(tree)
    }
    many_parameters = over(functions_by_place, parameters, MOST_PARAMETERS)
    many_branches = over(functions_by_place, branches, MOST_BRANCHES)
    without_loop_forms = {
        place_name: count
        for place_name, count in many_branches.items()
        if not LOOP_FORMS.search(place_name.partition(":")[0])
    }
    sizes = {name: statements(tree) for name, tree in trees.items()}
    sizes = dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))
    return [
        Figure(
            f"functions with more than {MOST_PARAMETERS} parameters",
            len(many_parameters),
            10,
            lines(many_parameters),
        ),
        Figure(
            f"functions above {MOST_BRANCHES} branches",
            len(many_branches),
            None,
            lines(many_branches),
        ),
        Figure("  loop forms aside", len(without_loop_forms), 60, lines(without_loop_forms)),
        Figure("functions", len(functions_by_place)),
        Figure("files", len(trees)),
        Figure("statements", sum(sizes.values()), 37000, lines(sizes)),
        *(Figure(f"  {name}", size) for name, size in list(sizes.items())[:5]),
    ]


def call_figures(stages: Mapping[str, Stack]) -> list[Figure]:
    """Return the figures of the calls from the command line to the C text of one function."""
    calls, files = calls_and_files(stages)
    listed: dict[tuple[str, str], str] = {}
    for stage, stack in stages.items():
        for file, name in stack:
            listed.setdefault((file, name), f"{stage:10} {file}: {name}")
    return [
        Figure("calls from `generate` to the C text", calls, 20, list(listed.values())),
        Figure(
            "  files of these calls", files, 14, sorted({f for s in stages.values() for f, _ in s})
        ),
    ]


def measure(root: Path) -> list[Figure]:
    """Return all figures of a checkout except those of calls, which need a run of symgen."""
    paths = {name_of(path, root): path for path in sorted((root / "symgen").rglob("*.py"))}
    imports = {name: imported_files(path, root) for name, path in paths.items()}
    return [
        *import_figures(imports),
        *size_figures({name: tree_of(path) for name, path in paths.items()}),
    ]


def table(figures: Iterable[Figure], verbose: bool) -> str:
    """Write the figures as aligned lines: name, value, bound; offenders below each if verbose."""
    figures = list(figures)
    width = max(len(name) for name in ("figure", *(figure.name for figure in figures)))
    text = [f"{'figure':{width}}  {'value':>7}  {'bound':>7}"]
    for figure in figures:
        bound = "" if figure.bound is None else str(figure.bound)
        text.append(f"{figure.name:{width}}  {figure.value:>7}  {bound:>7}".rstrip())
        text += [f"    {offender}" for offender in figure.offenders if verbose]
    return "\n".join(text)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.shape", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("path", nargs="?", type=Path, default=ROOT, help="root of a checkout")
    parser.add_argument("--verbose", action="store_true", help="list the offenders of each figure")
    parser.add_argument("--json", action="store_true", help="write figures and offenders as JSON")
    parser.add_argument("--trace-to", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    root = options.path.resolve()
    if not (root / "symgen").is_dir():
        parser.error(f"'{options.path}' has no folder symgen; name the root of a checkout")
    if options.trace_to:
        stages = trace(root, "planar_arm", "inverse_dynamics")
        options.trace_to.write_text(json.dumps(stages), encoding="utf-8")
        return
    figures = [*call_figures(traced_calls(root)), *measure(root)]
    if options.json:
        print(json.dumps([asdict(figure) for figure in figures], indent=1, ensure_ascii=False))
    else:
        print(table(figures, options.verbose))


if __name__ == "__main__":
    main()

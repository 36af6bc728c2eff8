"""The house keeps its floor plan: who may import whom, what stays out of templates, and how long a file gets."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ROOT / "symgen"
LONGEST = 400

# room: the rooms it may import. A room is a file or a folder of symgen/; "symgen" is the package itself (its version).
ROOMS: dict[str, str] = {
    # what everybody speaks of
    "errors": "",
    "functions": "",
    "function_names": "errors functions mechanism",
    "tables": "",
    "marks": "",
    "reals": "",
    "refusals": "",
    "mechanism": "errors tables",
    "ir": "errors tables",
    "shelf": "symgen",
    "options": "functions mechanism tip",
    "plain_program": "errors ir",
    # description → Mechanism
    "quantities": "errors mechanism",
    "inertias": "errors quantities",
    "snapping": "errors mechanism quantities",
    "joints": "errors",
    "remarks": "mechanism",
    "tree": "errors inertias joints mechanism quantities remarks snapping",
    "readers": "errors inertias mechanism quantities snapping tree",
    "lookup": "errors mechanism quantities",
    "loading": "canonical errors lookup marks mechanism quantities readers snapping tree",
    "canonical": "mechanism quantities",
    "omissions": "mechanism",
    "again": "",
    "show": "errors mechanism model tables",
    # Mechanism → Program
    "constants": "errors mechanism",
    "closed_forms": "joints",
    "derivation": "constants errors ir",
    "spatial": "derivation",
    "model": "closed_forms constants errors joints mechanism",
    "linkage": "closed_forms constants derivation model spatial",
    "methods": "closed_forms constants derivation errors function_names linkage mechanism model spatial",
    "passes": "ir",
    # Program → C → machine
    "backends": "errors functions ir mechanism symgen",
    "compilers": "errors",
    "building": "backends compilers errors ir shelf",
    "kernels": "backends errors functions ir",
    "solver": "backends building certificate errors generation ir kernels loading mechanism options plain_program shelf symgen",
    "targets": "mechanism",
    "firmware": "backends ir symgen targets",
    "emulation": "errors targets",
    "image": "emulation errors",
    "cycles": "image",
    "cost": "backends cycles emulation errors firmware image ir mechanism states targets",
    "cost_sheet": "cost cycles emulation errors ir mechanism targets",
    "eva": "backends errors ir",
    "multipliers": "constants ir model",
    "evidence": "backends tables",
    "folder": "again backends canonical errors evidence firmware functions ir joints mechanism omissions reals replacing symgen",
    "replacing": "errors marks",
    "selftest": "errors folder ir mechanism precision reals verification",
    "tip": "errors mechanism",
    "generation": "constants derivation errors free_bodies function_names functions ir linkage loading mechanism methods model "
                  "options passes plain_program reals regularity shelf tip",
    "inspection": "backends closed_forms constants derivation errors function_names functions generation ir joints linkage "
                  "loading mechanism methods model passes quantities spatial states tables",
    # the other road to the same numbers: nothing of the derivation is allowed here
    "precision": "errors mechanism",
    "arrays": "precision",
    "reference": "arrays errors mechanism precision reference_answers reference_determinant reference_forces",
    "reference_answers": "precision",
    "reference_determinant": "arrays precision",
    "reference_forces": "arrays precision",
    "states": "mechanism precision",
    "free_bodies": "mechanism precision reference states",
    "reference_pivots": "arrays mechanism precision",
    "reference_digits": "functions precision reference",
    "regularity": "mechanism precision reference reference_pivots states",
    "readback": "backends errors functions ir readback_checks readback_directives",
    "readback_checks": "backends errors ir",
    "readback_directives": "backends ir",
    "verification": "backends compilers errors free_bodies functions generation ir loading mechanism methods precision readback "
                    "reals reference reference_digits refusals states tables",
    "verify": "backends certificate errors functions generation ir loading mechanism verification",
    "certificate": "backends constants errors generation inertias ir joints mechanism model precision reference states",
    "proof": "backends certificate errors eva functions generation ir mechanism multipliers precision reference reference_digits "
             "solver tables verification",
    "delivery": "backends certificate cost_sheet errors folder functions generation loading mechanism proof selftest targets",
    # what a user does
    "peers": "compilers errors mechanism reference",
    "bench": "building compilers errors functions generation ir mechanism peers solver states symgen tables",
    "footprint": "backends building compilers errors ir",
    "compare": "backends bench building errors footprint function_names functions generation ir mechanism methods precision "
               "reals refusals solver states tables verification",
    "plotting": "compare errors",
    "sparsity": "inspection plotting",
    "report": "arrays backends errors functions generation joints mechanism methods precision reference show states symgen "
              "verification verify",
    "reproduce": "arrays bench building errors generation loading mechanism plotting precision reference solver symgen",
    "commands": "bench certificate compare cost cycles delivery errors functions generation inspection loading mechanism "
                "plotting proof quantities report reproduce show sparsity tables targets tip verify",
    "cli": "commands compilers errors mechanism symgen",
    "__main__": "cli",
    "symgen": "delivery errors generation inspection loading mechanism solver verify",
}

# file: what it may import besides, where one file of a room is its door.
DOORS: dict[str, str] = {
    "methods/__init__": "errors function_names mechanism",
}

# folders whose files do not know each other; the file named here, and any that starts with _, is what they share.
LEAVES: dict[str, str] = {"methods": "", "readers": "", "passes": "rewrite", "backends": "c99", "commands": "", "reproduce": ""}

# third-party package: the rooms that may know it
PACKAGES: dict[str, str] = {
    "sympy": "closed_forms derivation inspection joints linkage methods",
    "flint": "certificate constants derivation inspection precision reference_digits verification",
    "numpy": "arrays bench certificate compare free_bodies kernels peers precision proof reference reference_answers "
             "reference_determinant reference_forces reference_pivots report reproduce selftest states verification",
    "lxml": "readers",
    "jinja2": "backends",
    "pycparser": "readback readback_checks",
    "cffi": "building",
    "matplotlib": "plotting reproduce",
    "mujoco": "peers",
    "casadi": "peers",
    "pinocchio": "peers",
}

FORBIDDEN_CALLS = {"eval", "exec", "sympify", "parse_expr", "simplify", "expand", "cse", "nsimplify", "__import__"}
"""Text is data, and nothing spans more than one operator."""

WRITTEN_OUT = {("kernels", "exec")}
"""The call of a compiled function is written out from a template of ours, as a dataclass writes its __init__."""

FILES = sorted(HOUSE.rglob("*.py"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.j2"))


def name_of(path: Path) -> str:
    """symgen/methods/udut.py → methods/udut."""
    return path.relative_to(HOUSE).with_suffix("").as_posix()


def room_of(name: str) -> str:
    return "symgen" if name == "__init__" else name.partition("/")[0]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: what stands under `if TYPE_CHECKING` is for the type checker alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        yield child
        yield from running(child)


def imports(path: Path) -> set[str]:
    """Modules that a file imports, in full: `from symgen.methods import udut` is symgen.methods.udut."""
    found: set[str] = set()
    for node in running(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import; write it in full"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                place = ROOT.joinpath(*whole.split("."))
                found.add(whole if place.is_dir() or place.with_suffix(".py").is_file() else str(node.module))
    return found


def own(path: Path) -> set[str]:
    """Names (methods/udut, ir …) of the files of symgen that a file imports."""
    names = set()
    for module in imports(path):
        first, _, rest = module.partition(".")
        if first == "symgen":
            folder = HOUSE.joinpath(*rest.split(".")) if rest else HOUSE
            names.add("/".join([*filter(None, rest.split(".")), *(["__init__"] if folder.is_dir() else [])]))
    return names


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_keep_to_the_table(path: Path) -> None:
    name = name_of(path)
    room = room_of(name)
    assert room in ROOMS, f"{room} is a new room: say in tests/test_layers.py what it may import"
    allowed = {room, *ROOMS[room].split(), *DOORS.get(name, "").split()}
    beyond = sorted(other for other in own(path) if room_of(other) not in allowed)
    assert not beyond, f"{name} imports {', '.join(beyond)}, which the table of rooms does not allow"


@pytest.mark.parametrize("path", [p for p in FILES if room_of(name_of(p)) in LEAVES and p.stem != "__init__"], ids=name_of)
def test_leaves_do_not_know_each_other(path: Path) -> None:
    room = room_of(name_of(path))
    siblings = [other for other in own(path) if room_of(other) == room]
    shared = [LEAVES[room], "__init__"]
    assert not [s for s in siblings if not (stem := s.rpartition("/")[2]).startswith("_") and stem not in shared]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_packages_stay_in_their_rooms(path: Path) -> None:
    used = {module.partition(".")[0] for module in imports(path)} - {"symgen"} - set(sys.stdlib_module_names)
    unknown = used - set(PACKAGES)
    assert not unknown, f"{', '.join(sorted(unknown))}: say in tests/test_layers.py who may know it"
    assert not [package for package in used if room_of(name_of(path)) not in PACKAGES[package].split()]


def test_the_table_has_no_empty_rooms_and_no_unused_doors() -> None:
    present = {room_of(name_of(path)) for path in FILES}
    assert set(ROOMS) == present
    assert {name for names in ROOMS.values() for name in names.split()} <= present


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_evaluates_text_and_nothing_expands(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            allowed = called not in FORBIDDEN_CALLS or (name_of(path), called) in WRITTEN_OUT
            assert allowed, f"{name_of(path)}:{node.lineno} calls {called}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_templates_hold_layout_only(path: Path) -> None:
    arithmetic = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow, nodes.Neg, nodes.Pos)
    parsed = Environment().parse(path.read_text(encoding="utf-8"))
    wrong = [type(node).__name__ for kind in (*arithmetic, nodes.Test, nodes.Call) for node in parsed.find_all(kind)]
    assert not wrong, f"{path.name} decides something ({', '.join(wrong)}); decide it in Python"


def test_templates_exist() -> None:
    assert TEMPLATES


def test_the_command_line_starts_without_anything_heavy() -> None:
    code = ("import sys, symgen, symgen.cli, symgen.commands as c; [c.find(name) for name in c.NAMES]; symgen.cli.overview(); "
            "print(*sorted({m.partition('.')[0] for m in sys.modules} & set(sys.argv[1:])))")
    done = subprocess.run([sys.executable, "-c", code, *PACKAGES], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

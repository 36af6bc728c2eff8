"""Architecture rules: which room may import which, where third-party packages may be used, and what
templates omit.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from symgen.mechanism.joints import kinds
from tests.shape import imported_files, imported_modules, name_of, room_of, tree_of
from tests.shared.layer_table import LEAVES, ROOMS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "symgen"


# third-party package: the rooms, folders or files that may import it
PACKAGES: dict[str, str] = {
    "sympy": "derivation inspection mechanism/joints methods papers/wc",
    "flint": (
        "certificate derivation description/writers inspection pages/reproduce/fixman_dihedral"
        " papers reference verification"
    ),
    "numpy": (
        "benchmarks certificate delivery inspection/general/steps inspection/paper_letters machine"
        " ir/passes/_pair_matches pages papers reference verification"
    ),
    "lxml": "description/parsing description/readers",
    "jinja2": "emission",
    "pycparser": "readback",
    "cffi": "machine/building",
    "dask": "dask",
    "matplotlib": "pages",
    "jax": "jax",
    "mujoco": "benchmarks/peers",
    "casadi": "benchmarks/peers",
    "pinocchio": "benchmarks/peers",
    "xacro": "description/parsing/xacro_program",
    "shtab": "cli/commands/completion",
    "latex2mathml": "pages/derivation/formats",
}

FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "sympify",
    "parse_expr",
    "simplify",
    "expand",
    "cse",
    "nsimplify",
    "__import__",
}
"""Calls that evaluate text as code, or that rewrite whole expressions."""

ALLOWED_CALLS = {("ir/translated", "exec"), ("machine/kernels", "exec")}
"""Exceptions: Python text that symgen itself writes from a Program or a template, as a dataclass
generates __init__.
"""

FILES = sorted(PACKAGE.rglob("*.py"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.j2"))


def within(name: str, folder: str) -> bool:
    return name == folder or name.startswith(f"{folder}/")


def leaf_name(name: str, folder: str) -> str:
    """Return the leaf of a folder that holds a file: methods/riccati/filter → riccati."""
    return name.removeprefix(f"{folder}/").partition("/")[0]


def test_imports_keep_to_the_table() -> None:
    for path in FILES:
        name = name_of(path)
        room = room_of(name)
        assert room in ROOMS, (
            f"{room} is a new room: say in tests/system/test_layers.py what it may import"
        )
        forbidden = sorted(
            imported
            for imported in imported_files(path)
            if room_of(imported) not in {room, *ROOMS[room].split()}
        )
        assert not forbidden, (
            f"{name} imports {', '.join(forbidden)}, which the table of rooms does not allow"
        )


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_below_it_and_each_allowed_one(room: str) -> None:
    below = list(ROOMS)[: list(ROOMS).index(room)]
    upward = [imported for imported in ROOMS[room].split() if imported not in below]
    assert not upward, f"{', '.join(upward)} stands above {room}, or is no room"
    used = {
        room_of(imported)
        for path in FILES
        if room_of(name_of(path)) == room
        for imported in imported_files(path)
    }
    idle = [imported for imported in ROOMS[room].split() if imported not in used]
    assert not idle, f"{room} is allowed {', '.join(idle)} and does not import it"


def test_imports_have_no_cycle() -> None:
    """Imports under TYPE_CHECKING count as well."""
    order = TopologicalSorter(
        {name_of(path): imported_files(path) - {name_of(path)} for path in FILES}
    )
    order.prepare()  # CycleError names the files


def test_leaves_do_not_import_each_other() -> None:
    for name, path in ((name_of(path), path) for path in FILES):
        folder = next((folder for folder in LEAVES if within(name, folder)), None)
        if folder is None:
            continue
        leaf, *siblings = (
            leaf_name(imported, folder)
            for imported in (name, *imported_files(path))
            if within(imported, folder)
        )
        other_leaves = [imported for imported in siblings if imported != leaf]
        assert leaf == "__init__" or not [
            s for s in other_leaves if not s.startswith("_") and s != LEAVES[folder]
        ], name


def test_exported_names_exist() -> None:
    for path in FILES:
        tree = tree_of(path)
        defined, exported = set(), []
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                defined.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                defined.add(node.id)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                defined.update((alias.asname or alias.name) for alias in node.names)
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                exported = [
                    item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant)
                ]
        assert set(exported) <= defined, path


def test_packages_stay_in_their_rooms() -> None:
    for path in FILES:
        used = (
            {module.partition(".")[0] for module in imported_modules(path)}
            - {"symgen"}
            - set(sys.stdlib_module_names)
        )
        unknown = used - set(PACKAGES)
        assert not unknown, (
            f"{', '.join(sorted(unknown))}: say in tests/system/test_layers.py who may know it"
        )
        assert not [
            p
            for p in used
            if not any(within(name_of(path), folder) for folder in PACKAGES[p].split())
        ], name_of(path)


def test_the_tables_name_only_existing_rooms_and_folders() -> None:
    names = {name_of(path) for path in FILES}
    assert set(ROOMS) == {room_of(name) for name in names}
    assert all(
        any(within(name, folder) for name in names)
        for folder in [*LEAVES, *" ".join(PACKAGES.values()).split()]
    )


def test_no_code_evaluates_text_or_rewrites_whole_expressions() -> None:
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call):
                called = (
                    node.func.id
                    if isinstance(node.func, ast.Name)
                    else getattr(node.func, "attr", "")
                )
                allowed = called not in FORBIDDEN_CALLS or (name_of(path), called) in ALLOWED_CALLS
                assert allowed, f"{name_of(path)}:{node.lineno} calls {called}"


def test_no_code_compares_names_of_joint_types() -> None:
    """Properties of a joint type come from its own file; only readers of formats compare names."""
    for name, path in ((name_of(path), path) for path in FILES):
        if within(name, "mechanism/joints") or within(name, "description"):
            continue
        for node in ast.walk(tree_of(path)):
            words = (
                [c.value for c in ast.walk(node) if isinstance(c, ast.Constant)]
                if isinstance(node, ast.Compare)
                else []
            )
            assert not {*words} & {*kinds()}, (
                f"{name}:{node.lineno} compares the name of a joint type"
            )


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_templates_contain_layout_only(path: Path) -> None:
    arithmetic = (
        nodes.Add,
        nodes.Sub,
        nodes.Mul,
        nodes.Div,
        nodes.FloorDiv,
        nodes.Mod,
        nodes.Pow,
        nodes.Neg,
        nodes.Pos,
    )
    parsed = Environment().parse(path.read_text(encoding="utf-8"))
    wrong = [
        type(node).__name__
        for kind in (*arithmetic, nodes.Test, nodes.Call)
        for node in parsed.find_all(kind)
    ]
    assert not wrong, f"{path.name} decides something ({', '.join(wrong)}); decide it in Python"


def test_templates_exist() -> None:
    assert TEMPLATES


def test_the_command_line_starts_without_third_party_packages() -> None:
    code = (
        "import sys, symgen, symgen.cli, symgen.cli.commands as c; [c.find(name) for name in"
        " c.NAMES]; symgen.cli.overview(); print(*sorted({m.partition('.')[0] for m in sys.modules}"
        " & set(sys.argv[1:])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *PACKAGES], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_no_test_module_is_imported() -> None:
    """Code that several tests use is in tests/shared."""
    imported = re.compile(r"^\s*(?:from|import) tests(?:\.\w+)*\.test_", re.M)
    files = (ROOT / "tests").rglob("*.py")
    assert [str(path) for path in files if imported.search(path.read_text("utf-8"))] == []

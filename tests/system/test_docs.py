"""The book is correct: each sample runs, each command and option is documented, each link and cited
test exists.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import symgen
from symgen import methods
from symgen.cli import commands
from symgen.cli.commands import Parser
from symgen.description.loading import builtin_robots
from symgen.pipeline import build
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions
from tests import book_tables
from tests.shared.doc_samples import RUN, Reader, Sample, fits, samples
from tests.shared.layer_table import LEAVES, ROOMS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
REFERENCE, EXPLANATION = DOCS / "reference", DOCS / "explanation"
COMMANDS = REFERENCE / "commands.md"
NOT_RUN = ("text", "{toctree}", "{include}", "cpp")
"""Languages of fences that no test here runs: formulas and diagrams, directives of Sphinx, and C++.

tests/emission/test_cpp17.py runs the C++ sample of each folder; tests/emission/test_cuda.py
compiles samples for a GPU.
"""


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def page_name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def runnable_samples(page: Path) -> list[Sample]:
    return [sample for sample in samples(text_of(page)) if sample.language in RUN]


# -- samples ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_fence_has_a_language_that_is_run_or_exempt(page: Path) -> None:
    languages = [sample.language for sample in samples(text_of(page))]
    assert text_of(page).count("```") == 2 * len(languages)
    assert set(languages) <= {*RUN, *NOT_RUN}


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=() if "tutorials" in page.parts else pytest.mark.slow)
        for page in PAGES
        if runnable_samples(page)
    ],
    ids=page_name,
)
def test_the_samples_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path)
    for sample in runnable_samples(page):
        reader.does(sample)
    assert {
        sample.file for sample in runnable_samples(page) if sample.language == "c" and sample.file
    } <= reader.compiled


@pytest.mark.parametrize(
    ("expected", "output", "same"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a … c\n", "a b c\n", True),
        ("a … c\n", "a\nc\n", False),
        ("", "", True),
        ("a\n…\nc\n", "a\nb\nb\nc\n", True),
        ("a\n…\nc\n", "a\nc\n", True),
        ("a\n…\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("", "a\n", False),
        ("…\n", "a\n", True),
        ("…\nc\n", "a\nb\n", False),
        ("a b\n", "a b  \n", True),
    ],
)
def test_an_ellipsis_in_a_sample_matches_any_output(expected: str, output: str, same: bool) -> None:
    assert fits(expected, output) is same


def test_a_sample_with_another_output_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = [
        ("console", "$ symgen inspect planar_arm 'M[1,1]'\n1/13"),
        ("python", "assert False"),
        ("toml", "a = 1"),
        ("console", "$ rm -rf ."),
        ("c", "int x;"),
    ]
    parsed = samples(
        "".join(f"Text.\n\n```{language}\n{content}\n```\n\n" for language, content in wrong)
    )
    assert len(parsed) == len(wrong)
    for sample in parsed:
        with pytest.raises(AssertionError):
            Reader(tmp_path).does(sample)


# -- commands --------------------------------------------------------------------------------------


def sections_of(page: Path) -> dict[str, str]:
    """Return the text below every second-level heading of a page."""
    _, *sections = re.split(r"^## ", text_of(page), flags=re.M)
    return {section.partition("\n")[0].strip(): section.partition("\n")[2] for section in sections}


def options_of(command: str) -> set[str]:
    """Return the long names of a command's options and the names of its arguments."""
    parser = Parser(prog=command, add_help=False)
    commands.find(command).arguments(parser)
    return {
        max(a.option_strings, key=len) if a.option_strings else str(a.metavar or a.dest)
        for a in parser._actions
    }


@pytest.mark.parametrize("command", commands.NAMES)
def test_every_option_of_every_command_is_in_the_book(command: str) -> None:
    """The command's section names the option, or links to a section that does."""
    written = sections_of(COMMANDS)
    section = written[f"symgen {command}"]
    linked = [body for heading, body in written.items() if f"](#{anchor(heading)})" in section]
    for option in options_of(command):
        assert any(f"`{option}" in body for body in (section, *linked)), (
            f"docs/reference/commands.md: symgen {command} has {option}"
        )


def test_the_book_documents_only_existing_options() -> None:
    everywhere = {"--help", "--version", "--quiet", "--verbose"}
    existing = {option for command in commands.NAMES for option in options_of(command)} | everywhere
    assert set(re.findall(r"`(--[a-z][a-z-]*)", text_of(COMMANDS))) <= existing


def test_the_book_has_one_section_for_each_existing_command() -> None:
    documented = [
        heading.removeprefix("symgen ")
        for heading in sections_of(COMMANDS)
        if heading.startswith("symgen ")
    ]
    assert documented == list(commands.NAMES)


def test_the_documented_arguments_of_python_calls_are_complete() -> None:
    """The table of the reference lists each public function with all its arguments."""
    public = {n: getattr(importlib.import_module(module), n) for n, module in symgen._HOME.items()}
    parameters = {
        n: set(inspect.signature(function).parameters)
        for n, function in public.items()
        if inspect.isfunction(function)
    }
    calls = re.findall(r"^\| `symgen\.(\w+)\(([^)]*)\)`", text_of(REFERENCE / "python.md"), re.M)
    assert {
        called: {word.strip("*=") for word in arguments.split(", ")} for called, arguments in calls
    } == parameters


# -- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_generated_tables_agree_with_the_declarations(page: Path) -> None:
    assert book_tables.renewed(text_of(page)) == text_of(page), "run python -m tests.book_tables"


def test_every_generated_table_is_in_the_book() -> None:
    marks = [mark[2] for page in PAGES for mark in book_tables.MARK.finditer(text_of(page))]
    assert sorted(marks) == sorted(book_tables.TABLES)


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_table_of_operation_counts_is_current(function: str) -> None:
    contact = "panda_hand" if FUNCTIONS[function].counts("NT") else None
    program = build.programs(symgen.load("panda"), [function], ProgramOptions(contact=contact))[
        function
    ]
    assert f"| `{function}` | `{program.method}` | {program.cost} | {program.depth} |" in text_of(
        REFERENCE / "operation-counts.md"
    )


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_the_figures_of_main_functions_are_current(robot: str) -> None:
    programs = build.programs(
        symgen.load(robot), ["inverse_dynamics", "mass_matrix", "forward_dynamics"]
    )
    counts = [
        programs[name].cost for name in ("inverse_dynamics", "mass_matrix", "forward_dynamics")
    ]
    assert f"| {' / '.join(map(str, counts))} |" in text_of(REFERENCE / "operation-counts.md")


def test_the_page_on_architecture_lists_every_room_in_order() -> None:
    """The page lists rooms from the top down, ROOMS from the bottom up; rooms of leaves have a
    star.
    """
    floors = sections_of(EXPLANATION / "architecture.md")["The floors"]
    assert re.findall(r"^\| `(\w+)`", floors, re.M) == list(reversed(ROOMS))
    assert not [folder for folder in LEAVES if f"`{folder}`\\*" not in floors]


def test_the_folders_for_extensions_contain_such_extensions() -> None:
    """Each folder of the table contains leaves of that kind, and each folder of leaves is in the
    table.
    """
    added = re.findall(
        r"`symgen/([\w/]+)/<\w+>(\.\w+)`",
        sections_of(EXPLANATION / "architecture.md")["Where a new one goes"],
    )
    for folder, suffix in added:
        existing = [
            leaf for leaf in (ROOT / "symgen" / folder).iterdir() if not leaf.name.startswith("_")
        ]
        assert [
            leaf
            for leaf in existing
            if leaf.suffix == suffix or (leaf / f"__init__{suffix}").exists()
        ], folder
    assert {*LEAVES, "mechanism/joints", "description/robots", "verification"} == {
        folder for folder, _ in added
    }


def test_the_table_of_robots_lists_every_built_in_robot_and_its_licence() -> None:
    rows = re.findall(
        r"^\| `([\w:]+)` \|.*\| ([^|]+) \|$",
        sections_of(REFERENCE / "formats.md")["The built-in robots"],
        re.M,
    )
    assert {name.partition(":")[0] for name, _ in rows} == set(builtin_robots())
    for name, licence in rows:
        source = (
            ROOT / "symgen" / "description" / "robots" / f"{name.partition(':')[0]}.toml"
        ).read_text(encoding="utf-8")
        assert f'licence = "{licence}"' in source


# -- names, links, tests ---------------------------------------------------------------------------


BOOK = "\n".join(
    text_of(page)
    for page in PAGES
    if page.parent.name != "reproduce" and page.name not in ("changelog.md", "decisions.md")
)


@pytest.mark.parametrize("name", [*FUNCTIONS, *methods.names()])
def test_every_function_and_every_method_is_in_the_book(name: str) -> None:
    assert f"`{name}`" in BOOK


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as MyST and GitHub make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_link_has_an_existing_target(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if target.startswith("https://"):
            continue
        file, _, fragment = target.partition("#")
        linked_page = page.parent / file if file else page
        assert linked_page.exists(), target
        if fragment:
            assert fragment in {
                anchor(heading) for heading in re.findall(r"^#+ (.*)$", text_of(linked_page), re.M)
            }, target


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_file_and_every_test_that_is_cited_exists(page: Path) -> None:
    for path in re.findall(
        r"`((?:symgen|tests|templates|generated|docs)/[\w./-]+)`", text_of(page)
    ):
        assert (ROOT / path).exists(), path
    for file, function in re.findall(r"`((?:\w+/)*test_\w+)::(\w+)`", text_of(page)):
        assert function in functions_in(f"tests/{file}.py"), f"{file}::{function}"


# -- Sphinx ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the book as `make docs` does; return its folder."""
    missing = [
        package
        for package in ("sphinx", "myst_parser", "furo", "sphinx_copybutton", "sphinx_design")
        if importlib.util.find_spec(package) is None
    ]
    if missing:
        pytest.skip(f"{missing[0]} is not installed; pip install 'symgen[docs]'")
    out = tmp_path_factory.mktemp("book")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-d",
            str(out / "trees"),
            "-b",
            "html",
            str(DOCS),
            str(out / "html"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return out / "html"


@pytest.mark.slow
def test_the_book_is_built_without_a_warning_and_has_every_page(built: Path) -> None:
    contents = (built / "index.html").read_text(encoding="utf-8")
    for page in PAGES:
        html = page.relative_to(DOCS).with_suffix(".html").as_posix()
        assert (built / html).exists()
        assert page.name == "index.md" or f'href="{html}"' in contents, (
            f"{html} is not in the table of contents"
        )


@pytest.mark.slow
def test_the_changelog_is_at_the_root_and_in_the_book(built: Path) -> None:
    """The changelog has no relative link, because it is shown at two paths."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not re.search(r"\]\((?!https://)", changelog)
    book = (built / "explanation" / "changelog.html").read_text(encoding="utf-8")
    assert changelog.startswith("# Changelog\n")
    for heading in re.findall(r"^## (.*)$", changelog, re.M):
        assert f"<h2>{heading}" in book


@pytest.mark.slow
def test_the_book_loads_nothing_from_the_network(built: Path) -> None:
    for html in built.rglob("*.html"):
        targets = re.findall(
            r'<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]+)"',
            html.read_text(encoding="utf-8"),
        )
        assert not [target for target in targets if re.match(r"(?:https?:)?//", target)]
        for target in targets:
            file = re.split(r"[?#]", target)[0]
            assert not file or (html.parent / file).exists(), f"{html.name}: {target}"
    for css in built.rglob("*.css"):
        assert not re.search(
            r"""url\(\s*['"]?(?:https?:)?//|@import\s+['"]?https?:""",
            css.read_text(encoding="utf-8"),
        ), css.name

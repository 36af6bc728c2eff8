"""The book shows what is true: each sample runs, each command and option is in it, each name, link and cited test exists."""

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
"""Formulas and diagrams, what Sphinx reads, and C++: a sample in each folder tests/emission/test_cpp17.py runs, those for a GPU
tests/emission/test_cuda.py compiles."""


@cache
def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def runnable(page: Path) -> list[Sample]:
    return [sample for sample in samples(text(page)) if sample.language in RUN]


# -- samples --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_stands_in_a_fence_that_is_not_run(page: Path) -> None:
    found = [sample.language for sample in samples(text(page))]
    assert text(page).count("```") == 2 * len(found)
    assert set(found) <= {*RUN, *NOT_RUN}


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=name)
def test_the_samples_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path)
    for sample in runnable(page):
        reader.does(sample)
    assert {
        sample.file for sample in runnable(page) if sample.language == "c" and sample.file
    } <= reader.compiled


@pytest.mark.parametrize(
    ("expected", "seen", "same"),
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
def test_an_answer_fits_what_is_printed(expected: str, seen: str, same: bool) -> None:
    assert fits(expected, seen) is same


def test_a_sample_that_answers_otherwise_is_caught(
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
    found = samples(
        "".join(f"Text.\n\n```{language}\n{content}\n```\n\n" for language, content in wrong)
    )
    assert len(found) == len(wrong)
    for sample in found:
        with pytest.raises(AssertionError):
            Reader(tmp_path).does(sample)


# -- commands -------------------------------------------------------------------------------------------------------------


def sections(page: Path) -> dict[str, str]:
    """Text below every heading of the second level."""
    _, *parts = re.split(r"^## ", text(page), flags=re.M)
    return {part.partition("\n")[0].strip(): part.partition("\n")[2] for part in parts}


def options(command: str) -> set[str]:
    """The long names of a command's options, and the names of its arguments."""
    parser = Parser(prog=command, add_help=False)
    commands.find(command).arguments(parser)
    return {
        max(a.option_strings, key=len) if a.option_strings else str(a.metavar or a.dest)
        for a in parser._actions
    }


@pytest.mark.parametrize("command", commands.NAMES)
def test_every_option_of_every_command_is_in_the_book(command: str) -> None:
    """In the command's own section, or in a section that it links to."""
    written = sections(COMMANDS)
    own = written[f"symgen {command}"]
    linked = [body for heading, body in written.items() if f"](#{anchor(heading)})" in own]
    for option in options(command):
        assert any(f"`{option}" in body for body in (own, *linked)), (
            f"docs/reference/commands.md: symgen {command} has {option}"
        )


def test_the_book_has_no_option_that_no_command_has() -> None:
    everywhere = {"--help", "--version", "--quiet", "--verbose"}
    known = {option for command in commands.NAMES for option in options(command)} | everywhere
    assert set(re.findall(r"`(--[a-z][a-z-]*)", text(COMMANDS))) <= known


def test_every_command_has_a_section_and_no_section_a_command_that_is_gone() -> None:
    found = [
        heading.removeprefix("symgen ")
        for heading in sections(COMMANDS)
        if heading.startswith("symgen ")
    ]
    assert found == list(commands.NAMES)


def test_the_python_calls_take_what_the_book_says() -> None:
    """Each function of the package with all its arguments."""
    offered = {n: getattr(importlib.import_module(home), n) for n, home in symgen._HOME.items()}
    taken = {
        n: set(inspect.signature(made).parameters)
        for n, made in offered.items()
        if inspect.isfunction(made)
    }
    calls = re.findall(r"^\| `symgen\.(\w+)\(([^)]*)\)`", text(REFERENCE / "python.md"), re.M)
    assert {
        called: {word.strip("*=") for word in arguments.split(", ")} for called, arguments in calls
    } == taken


# -- tables ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_generated_tables_agree_with_the_declarations(page: Path) -> None:
    assert book_tables.renewed(text(page)) == text(page), "run python -m tests.book_tables"


def test_every_generated_table_is_in_the_book() -> None:
    marks = [mark[2] for page in PAGES for mark in book_tables.MARK.finditer(text(page))]
    assert sorted(marks) == sorted(book_tables.TABLES)


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_table_says_what_each_function_costs(function: str) -> None:
    contact = "panda_hand" if FUNCTIONS[function].counts("NT") else None
    program = build.programs(symgen.load("panda"), [function], ProgramOptions(contact=contact))[
        function
    ]
    assert f"| `{function}` | `{program.method}` | {program.cost} | {program.depth} |" in text(
        REFERENCE / "operation-counts.md"
    )


@pytest.mark.usefixtures("as_users_have_them")
@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_the_figures_are_the_counts(robot: str) -> None:
    programs = build.programs(
        symgen.load(robot), ["inverse_dynamics", "mass_matrix", "forward_dynamics"]
    )
    wanted = [
        programs[name].cost for name in ("inverse_dynamics", "mass_matrix", "forward_dynamics")
    ]
    assert f"| {' / '.join(map(str, wanted))} |" in text(REFERENCE / "operation-counts.md")


def test_the_house_has_every_room_on_its_floor() -> None:
    """From the top down, as `tests/system/test_layers.py` has them from the bottom up; rooms of leaves are starred."""
    floors = sections(EXPLANATION / "architecture.md")["The floors"]
    assert re.findall(r"^\| `(\w+)`", floors, re.M) == list(reversed(ROOMS))
    assert not [folder for folder in LEAVES if f"`{folder}`\\*" not in floors]


def test_what_is_added_goes_where_its_like_stand() -> None:
    """The folder of each new leaf has such leaves already, files or folders, and each folder of leaves is in the table."""
    added = re.findall(
        r"`symgen/([\w/]+)/<\w+>(\.\w+)`",
        sections(EXPLANATION / "architecture.md")["Where a new one goes"],
    )
    for folder, suffix in added:
        there = [
            leaf for leaf in (ROOT / "symgen" / folder).iterdir() if not leaf.name.startswith("_")
        ]
        assert [
            leaf for leaf in there if leaf.suffix == suffix or (leaf / f"__init__{suffix}").exists()
        ], folder
    assert {*LEAVES, "mechanism/joints", "description/robots", "verification"} == {
        folder for folder, _ in added
    }


def test_the_table_of_robots_is_that_of_the_package() -> None:
    found = re.findall(
        r"^\| `([\w:]+)` \|.*\| ([^|]+) \|$",
        sections(REFERENCE / "formats.md")["The built-in robots"],
        re.M,
    )
    assert {name.partition(":")[0] for name, _ in found} == set(builtin_robots())
    for name, licence in found:
        source = (
            ROOT / "symgen" / "description" / "robots" / f"{name.partition(':')[0]}.toml"
        ).read_text(encoding="utf-8")
        assert f'licence = "{licence}"' in source


# -- names, links, tests --------------------------------------------------------------------------------------------------


BOOK = "\n".join(
    text(page)
    for page in PAGES
    if page.parent.name != "reproduce" and page.name not in ("changelog.md", "decisions.md")
)


@pytest.mark.parametrize("what", [*FUNCTIONS, *methods.names()])
def test_every_function_and_every_method_is_in_the_book(what: str) -> None:
    assert f"`{what}`" in BOOK


def anchor(heading: str) -> str:
    """As MyST makes it of a heading, after GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        if target.startswith("https://"):
            continue
        file, _, place = target.partition("#")
        other = page.parent / file if file else page
        assert other.exists(), target
        if place:
            assert place in {
                anchor(heading) for heading in re.findall(r"^#+ (.*)$", text(other), re.M)
            }, target


@cache
def functions_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_and_every_test_that_is_cited_exists(page: Path) -> None:
    for path in re.findall(r"`((?:symgen|tests|templates|generated|docs)/[\w./-]+)`", text(page)):
        assert (ROOT / path).exists(), path
    for file, function in re.findall(r"`((?:\w+/)*test_\w+)::(\w+)`", text(page)):
        assert function in functions_in(f"tests/{file}.py"), f"{file}::{function}"


# -- Sphinx ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book as `make docs` builds it."""
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


def test_the_book_is_built_without_a_warning_and_has_every_page(built: Path) -> None:
    contents = (built / "index.html").read_text(encoding="utf-8")
    for page in PAGES:
        html = page.relative_to(DOCS).with_suffix(".html").as_posix()
        assert (built / html).exists()
        assert page.name == "index.md" or f'href="{html}"' in contents, (
            f"{html} is not in the table of contents"
        )


def test_the_changelog_stands_at_the_root_and_in_the_book(built: Path) -> None:
    """Without a link to a file: it would lead elsewhere from one of the two places."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not re.search(r"\]\((?!https://)", changelog)
    book = (built / "explanation" / "changelog.html").read_text(encoding="utf-8")
    assert changelog.startswith("# Changelog\n")
    for heading in re.findall(r"^## (.*)$", changelog, re.M):
        assert f"<h2>{heading}" in book


def test_the_book_asks_nothing_of_the_network(built: Path) -> None:
    for html in built.rglob("*.html"):
        asked = re.findall(
            r'<(?:script|link|img|iframe)[^>]*(?:src|href)="([^"]+)"',
            html.read_text(encoding="utf-8"),
        )
        assert not [target for target in asked if re.match(r"(?:https?:)?//", target)]
        for target in asked:
            file = re.split(r"[?#]", target)[0]
            assert not file or (html.parent / file).exists(), f"{html.name}: {target}"
    for css in built.rglob("*.css"):
        assert not re.search(
            r"""url\(\s*['"]?(?:https?:)?//|@import\s+['"]?https?:""",
            css.read_text(encoding="utf-8"),
        ), css.name

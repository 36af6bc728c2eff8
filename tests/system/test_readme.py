"""The README is correct and short: its samples run, its C is generated C, and its links have
targets.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from symgen import methods
from symgen.vocabulary.functions import FUNCTIONS
from tests.shared.doc_samples import RUN, Reader, samples

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LONGEST = 175


@pytest.mark.slow
def test_the_samples_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path)
    shown = samples(README)
    assert README.count("```") == 2 * len(shown)
    assert {sample.language for sample in shown} - set(RUN) == {"sh"}, "a sample that no test runs"
    assert {"xml", "console", "c", "python"} <= {sample.language for sample in shown}
    for sample in shown:
        if sample.language in RUN:
            reader.does(sample)


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    (typed,) = (sample.text for sample in samples(README) if sample.language == "sh")
    for line in typed.splitlines():
        name = re.match(r"make (\w+) ", line)
        assert name, line
        assert re.search(rf"^{name[1]}:", targets, re.M), line


def test_the_readme_states_the_number_of_functions_and_methods() -> None:
    words = {
        5: "Five",
        6: "Six",
        7: "Seven",
        8: "Eight",
        9: "Nine",
        10: "Ten",
        11: "Eleven",
        12: "Twelve",
    }
    assert f"There are {len(FUNCTIONS)} functions" in README
    assert (
        f"{words[len({name.partition(':')[0] for name in methods.names()})]} methods compute them"
        in README
    )


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_link_has_an_existing_target(text: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert (ROOT / target).exists(), target


def test_every_question_links_to_a_page_with_tested_samples() -> None:
    table = README.partition("## How do I")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 25
    for row in rows:
        for file, heading in re.findall(r"\]\((docs/[^)#]+)#?([^)]*)\)", row):
            page = (ROOT / file).read_text(encoding="utf-8")
            if heading:
                _, *sections = re.split(r"^(?=##+ )", page, flags=re.M)
                (page,) = (
                    section for section in sections if anchor(section.partition("\n")[0]) == heading
                )
            assert [sample for sample in samples(page) if sample.language in RUN], row


def anchor(heading: str) -> str:
    """Return the anchor of a Markdown heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.lstrip("#").strip().lower()).replace(" ", "-")


def test_contributing_names_targets_and_paths_that_exist() -> None:
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"^make (\w+)|`make (\w+)`", CONTRIBUTING, re.M)
    assert {"demo", "test", "check", "shape", "golden"} <= {a or b for a, b in named}
    for name in (a or b for a, b in named):
        assert re.search(rf"^(?:{name}:|\.PHONY:.* {name}\b)", targets, re.M), name
    for path in re.findall(r"^\| `([^`]+)`", CONTRIBUTING, re.M):
        assert (ROOT / path).is_dir(), path


def test_the_readme_is_short() -> None:
    """Tables and details belong in the book."""
    assert len(README.splitlines()) <= LONGEST

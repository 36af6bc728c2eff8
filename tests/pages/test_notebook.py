"""What a notebook shows: short representations, tables with every name escaped, and the book's notebook, run cell by cell."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import symgen
from symgen.support.tables import MOST_ROWS, html_table
from tests.shared.descriptions import joint, link, robot

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.ipynb"
LONGEST = 300
"""Signs of what a line of a session may show."""


def shown(value: Any) -> str:
    """As a notebook picks it: HTML, else LaTeX, else the representation."""
    for how in ("_repr_html_", "_repr_latex_"):
        found = getattr(value, how, lambda: None)()
        if found is not None:
            return str(found)
    return repr(value)


def cells(html: str) -> list[list[str]]:
    """The rows of all tables; ElementTree refuses what is not well formed."""
    tree = ElementTree.fromstring(f"<div>{html}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]


def test_representations_are_short_and_say_what_it_is() -> None:
    arm = symgen.load("panda")
    program = symgen.program("planar_arm", "mass_matrix")
    report = symgen.verify("planar_arm", ["mass_matrix"], compiled=False, states=1)
    said = {
        "<symgen.Mechanism panda: 7 joints, 16.8221 kg moving, gravity (0, 0, -9.81) m/s²>": arm,
        "<Joint panda_joint2: revolute, axis (0, 0, 1), on body 0>": arm.joints[1],
        "<Body panda_link1: 4.97068 kg, of panda_link1>": arm.bodies[0],
        "<Frame panda_link0: fixed to the base>": arm.frames[0],
        "(<Part panda_link1: 4.97068 kg>,)": arm.bodies[0].parts,
        "<symgen.Program mass_matrix by composite_body: q[2] → M[2×2], double; 4 operations, depth 4>": program,
    }
    assert [repr(value) for value in said.values()] == list(said)
    assert repr(report).startswith(f"<symgen.Report planar_arm: {report.closing}")
    assert len(repr(report)) < LONGEST


def test_a_mechanism_is_a_table_with_every_name_escaped() -> None:
    links = [link(name) for name in ("a", "&lt;b&gt;", "c", "d")]
    joints = [
        joint("&lt;script&gt;", "a", "&lt;b&gt;"),
        joint("j", "&lt;b&gt;", "c"),
        joint("k", "&lt;b&gt;", "d"),
    ]
    evil = robot(*links, *joints)
    html = symgen.load(evil)._repr_html_()
    assert "<script>" not in html
    head, *rows = cells(html)
    assert head == ["", "joint", "type", "on", "carries", "kg", "range"]
    assert [row[1] for row in rows] == ["<script>", "\u2003j", "\u2003k"]
    assert [row[3:5] for row in rows] == [["a", "<b>"], ["<b>", "c"], ["<b>", "d"]]
    assert cells(symgen.load("panda")._repr_html_())[1][-1] == "-2.8973 … 2.8973"


def test_a_program_and_a_report_are_tables() -> None:
    program = symgen.program("planar_arm", "forward_dynamics")
    heads, figures = cells(program._repr_html_())
    assert dict(zip(heads, figures, strict=True)) == {
        **{k: str(n) for k, n in program.operations.items()},
        "depth": str(program.depth),
        "rows": str(len(program.rows)),
    }
    report = symgen.verify("planar_arm", ["mass_matrix"], compiled=False, states=1)
    html = report._repr_html_()
    assert cells(html)[1][0] == "mass_matrix=composite_body"
    assert {"M = Mᵀ"} <= {row[0] for row in cells(html)}
    assert f"planar_arm: {report.closing}" in html


def test_a_long_table_says_what_it_leaves_out() -> None:
    html = html_table("t", [("n",), *((k,) for k in range(MOST_ROWS + 5))])
    assert len(cells(html)) == 1 + MOST_ROWS
    assert "… and 5 more" in html


# -- the book's notebook --------------------------------------------------------------------------------------------------


def answers(notebook: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Run every cell of code in one namespace, as Jupyter does, and give (the cell's id, what it shows of its last line)."""
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]), cell["id"])
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell["id"], "exec"), names)
        if last is not None:
            yield (
                cell["id"],
                shown(eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)),
            )


def test_the_notebook_runs_and_shows_what_it_promises(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert not [cell["id"] for cell in notebook["cells"] if cell.get("outputs")], (
        "outputs are for the reader's own machine"
    )
    found = dict(answers(notebook))
    for table in ("load", "text", "program", "verify"):
        assert cells(found[table])
    assert re.fullmatch(r"\$.*981.*cos.*100.*\$", found["gravity"])
    assert found["inertia"].count(r"\cos") == 3
    assert float(found["solver"].partition("(")[2].rstrip(")") or found["solver"]) < 1e-9
    assert "planar_arm: verified" in found["verify"]
    assert "tau has shape (1000, 1); it must have (..., 2)" in capsys.readouterr().out
    assert (tmp_path / "planar_arm" / "planar_arm_inverse_dynamics.c").is_file()

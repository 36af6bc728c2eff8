"""Display in notebooks: short representations, tables with escaped names, the book's notebook."""

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
"""Greatest number of characters of a representation."""


def displayed_text(value: Any) -> str:
    """Return the text that a notebook displays: HTML, else LaTeX, else the representation."""
    for method in ("_repr_html_", "_repr_latex_"):
        representation = getattr(value, method, lambda: None)()
        if representation is not None:
            return str(representation)
    return repr(value)


def table_rows(html: str) -> list[list[str]]:
    """Return the rows of all tables; ElementTree refuses HTML that is not well formed."""
    tree = ElementTree.fromstring(f"<div>{html}</div>")
    return [["".join(cell.itertext()) for cell in row] for row in tree.iter("tr")]


def test_representations_are_short_and_name_the_object() -> None:
    arm = symgen.load("panda")
    program = symgen.program("planar_arm", "mass_matrix")
    report = symgen.verify("planar_arm", ["mass_matrix"], compiled=False, states=1)
    representations = {
        "<symgen.Mechanism panda: 7 joints, 16.8221 kg moving, gravity (0, 0, -9.81) m/s²>": arm,
        "<Joint panda_joint2: revolute, axis (0, 0, 1), on body 0>": arm.joints[1],
        "<Body panda_link1: 4.97068 kg, of panda_link1>": arm.bodies[0],
        "<Frame panda_link0: fixed to the base>": arm.frames[0],
        "(<Part panda_link1: 4.97068 kg>,)": arm.bodies[0].parts,
        "<symgen.Program mass_matrix by composite_body: q[2] → M[2×2], double;"
        " 4 operations, depth 4>": program,
    }
    assert [repr(value) for value in representations.values()] == list(representations)
    assert repr(report).startswith(f"<symgen.Report planar_arm: {report.closing}")
    assert len(repr(report)) < LONGEST


def test_a_mechanism_is_shown_as_a_table_with_every_name_escaped() -> None:
    links = [link(name) for name in ("a", "&lt;b&gt;", "c", "d")]
    joints = [
        joint("&lt;script&gt;", "a", "&lt;b&gt;"),
        joint("j", "&lt;b&gt;", "c"),
        joint("k", "&lt;b&gt;", "d"),
    ]
    description = robot(*links, *joints)
    html = symgen.load(description)._repr_html_()
    assert "<script>" not in html
    head, *rows = table_rows(html)
    assert head == ["", "joint", "type", "on", "carries", "kg", "range"]
    assert [row[1] for row in rows] == ["<script>", "\u2003j", "\u2003k"]
    assert [row[3:5] for row in rows] == [["a", "<b>"], ["<b>", "c"], ["<b>", "d"]]
    assert table_rows(symgen.load("panda")._repr_html_())[1][-1] == "-2.8973 … 2.8973"


def test_a_program_and_a_report_are_shown_as_tables() -> None:
    program = symgen.program("planar_arm", "forward_dynamics")
    heads, figures = table_rows(program._repr_html_())
    assert dict(zip(heads, figures, strict=True)) == {
        **{k: str(n) for k, n in program.operations.items()},
        "depth": str(program.depth),
        "rows": str(len(program.rows)),
    }
    report = symgen.verify("planar_arm", ["mass_matrix"], compiled=False, states=1)
    html = report._repr_html_()
    assert table_rows(html)[1][0] == "mass_matrix=composite_body"
    assert {"M = Mᵀ"} <= {row[0] for row in table_rows(html)}
    assert f"planar_arm: {report.closing}" in html


def test_a_long_table_states_how_many_rows_it_leaves_out() -> None:
    html = html_table("t", [("n",), *((k,) for k in range(MOST_ROWS + 5))])
    assert len(table_rows(html)) == 1 + MOST_ROWS
    assert "… and 5 more" in html


# -- the book's notebook ---------------------------------------------------------------------------


def run_cells(notebook: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Run all code cells in one namespace, as Jupyter does; yield each id and the text of the last
    line.
    """
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
                displayed_text(
                    eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
                ),
            )


def test_the_notebook_runs_and_shows_the_stated_results(
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
    outputs = dict(run_cells(notebook))
    for table in ("load", "text", "program", "verify"):
        assert table_rows(outputs[table])
    assert re.fullmatch(r"\$.*981.*cos.*100.*\$", outputs["gravity"])
    assert outputs["inertia"].count(r"\cos") == 3
    assert float(outputs["solver"].partition("(")[2].rstrip(")") or outputs["solver"]) < 1e-9
    assert "planar_arm: verified" in outputs["verify"]
    assert "tau has shape (1000, 1); it must have (..., 2)" in capsys.readouterr().out
    assert (tmp_path / "planar_arm" / "planar_arm_inverse_dynamics.c").is_file()

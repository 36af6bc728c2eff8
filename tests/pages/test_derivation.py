"""`symgen derive`: a paper re-derived for a robot, in every format."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from symgen.cli import main
from symgen.description.loading import load
from symgen.inspection import paper_letters
from symgen.inspection.canonical import Canonical, TooLong
from symgen.inspection.paper_letters import PAPERS_OF_METHOD
from symgen.inspection.reading import read
from symgen.pages.derivation import FORMATS, Document, derive, written
from symgen.pages.derivation import document as document_module
from symgen.pages.derivation import formats as formats_module
from symgen.pages.derivation.document import SIDE_BY_SIDE, Step, _symbol, notation
from symgen.pages.derivation.formats import _breaking_code, _escaped
from symgen.pages.derivation.notation import symbols
from symgen.pages.derivation.wide_blocks import block_equations
from symgen.papers.identities import PAPERS, EquationResult, PaperResult, paper
from symgen.support.errors import RequestError, UnknownName

CASES = [
    ("planar_arm", "riccati", "rk"),
    ("planar_arm", "udut", "sa"),
    ("planar_point_mass:2", "fixman", "lc"),
    ("free_body", "fixman", "wc"),
    ("free_body", "constraint_force", "ff"),
]


@pytest.mark.parametrize(("robot", "method", "name"), CASES)
def test_a_document_has_every_equation_in_order_and_every_one_holds(
    robot: str, method: str, name: str
) -> None:
    document = derive(load(robot), method)
    assert document.holds
    numbers = [step.result.number for step in document.steps]
    assert numbers == [equation.number for equation in paper(name).EQUATIONS]
    assert document.source == paper(name).SOURCE


@pytest.fixture(scope="module", params=CASES, ids=[name for *_, name in CASES])
def derived(request: pytest.FixtureRequest) -> tuple[str, Document]:
    """Each paper for a robot that it covers."""
    robot, method, name = request.param
    return name, derive(load(robot), method)


@pytest.mark.parametrize("name", PAPERS)
def test_every_symbol_of_an_equation_has_a_meaning_and_every_meaning_a_symbol(name: str) -> None:
    meanings = notation(name)
    used = {
        symbol
        for equation in paper(name).EQUATIONS
        for symbol in symbols(equation.statement, meanings)
    }
    assert used <= set(meanings)
    shown = {_symbol(name, letter) for item in paper(name).EQUATIONS for letter in item.letters}
    assert set(paper(name).NOTATION) <= used | shown


def test_symbols_are_read_with_their_accents_and_scripts() -> None:
    meanings = {r"\dot{\mathcal V}": "", "T": "", "T_l": "", "x_i": "", "H^{ab}": "", r"\hat M": ""}
    text = r"\dot{\mathcal V}_k = T_l^T \hat M_{ik} (T x_{k-1})^T + \frac{H^{ab}_{ij}}{\text{no}}"
    assert list(symbols(text, meanings)) == [
        r"\dot{\mathcal V}", "T_l", r"\hat M", "T", "x_i", "H^{ab}",
    ]  # fmt: skip
    assert list(symbols(r"\theta_k y", meanings)) == [r"\theta", "y"]


def test_a_symbol_is_explained_where_it_first_appears(derived: tuple[str, Document]) -> None:
    name, document = derived
    explained: list[tuple[str, str]] = []
    for step in document.steps:
        explained += step.symbols
        needed = set(symbols(step.result.statement, notation(name)))
        assert needed <= {symbol for symbol, _ in explained}
    assert len(set(explained)) == len(explained)


def test_mathematics_of_a_document_has_no_second_subscript(derived: tuple[str, Document]) -> None:
    """TeX and MathJax refuse W_a_{0}; braces around W_a make it right."""
    _, document = derived
    script = r"(?:\{[^{}]*\}|\\[a-zA-Z]+|[A-Za-z0-9])"
    for step in document.steps:
        for text in (step.result.statement, *step.structures, *(i.latex for i in step.instances)):
            assert not re.search(rf"_{script}_|_{script}\^{script}_", text), text[:80]


@pytest.mark.parametrize("name", PAPERS)
def test_what_an_equation_says_is_a_sentence_that_begins_with_a_word(name: str) -> None:
    """A symbol in front would be printed as a capital letter: Φ for φ, E for e."""
    for equation in paper(name).EQUATIONS:
        assert not equation.says or re.match(r"[A-Za-z][a-z]+['’]?[ s]|Lemma", equation.says)
        assert not re.match(r"print|phi|psi", equation.says)


@pytest.mark.parametrize("name", PAPERS)
def test_texts_of_a_paper_have_no_sign_that_pdflatex_lacks(name: str) -> None:
    module = paper(name)
    sentences = (text for item in module.EQUATIONS for text in (item.says, item.number))
    for text in (module.SOURCE, module.CONVENTIONS, *notation(name).values(), *sentences):
        assert _escaped(text).isascii(), text


def test_accents_become_those_of_mathematics() -> None:
    assert _escaped("θ̈ = ψ̂ q̇ & 1_2") == (r"$\ddot{\theta}$ = $\hat{\psi}$ $\dot{q}$ \& 1\_2")


@pytest.mark.parametrize(
    ("robot", "letter"),
    [
        ("spherical_pendulum", "D"),
        ("spherical_pendulum", "P"),
        ("free_body", "D"),
        ("free_body", "L"),
    ],
)
def test_blocks_of_joints_of_several_coordinates_are_those_of_the_method(
    robot: str, letter: str
) -> None:
    """A document takes them from the operators of the paper, `inspect` from the method."""
    block = read(load(robot), f"{letter}[0]", "riccati").value
    assert isinstance(block, Canonical)
    expected = list(block_equations(f"{letter}_{{0}}", block))
    document = derive(load(robot), "riccati")
    printed = [instance.latex for step in document.steps for instance in step.instances]
    assert expected[0] in printed
    assert set(expected) <= set(printed)


def test_a_document_names_the_coordinates_of_joints_that_have_several() -> None:
    remarks = derive(load("spherical_pendulum"), "riccati").remarks
    assert any("Coordinates count from 0: q0 is ball.x, q1 is ball.y" in text for text in remarks)
    assert any("q0, q1, q2, q3 are a unit quaternion" in remark for remark in remarks)
    assert not any(
        "count from 0: q0" in text for text in derive(load("planar_arm"), "udut").remarks
    )


def test_u_of_the_textbook_arm_stands_beside_its_equation() -> None:
    text = written(derive(load("planar_arm"), "udut"), "markdown")
    section = text[text.index("## (19)") :]
    assert r"U_{0,1} = 1 + 3 \cos\left(q_{1}\right)" in section[: section.index("## (2")]


def test_whitening_and_innovations_have_opposite_entries() -> None:
    text = written(derive(load("planar_arm"), "riccati"), "markdown")
    assert r"(1 + H\Phi L)_{0,1} = 1 + 3 \cos\left(q_{1}\right)" in text
    assert r"(1 - H\Psi L)_{0,1} = -1 - 3 \cos\left(q_{1}\right)" in text


def test_a_block_structure_is_that_of_the_paper_with_the_links_as_labels() -> None:
    """RK's φ is lower triangular from the tip; LC's H^LL (24) is tridiagonal."""
    rk = written(derive(load("planar_arm"), "riccati"), "markdown")
    assert (
        r"\phi:\quad \begin{array}{c|cc} & 1 & 0 \\ \hline 1 & \ast & \cdot \\ 0 & \ast & \ast"
        in rk
    )
    lc = written(derive(load("planar_point_mass:3"), "fixman"), "markdown")
    rows = re.search(r"H\^\{LL\}:.*\\hline (.*) \\end", lc)
    assert rows is not None
    assert (
        rows[1] == r"0 & \ast & \ast & \cdot \\ 1 & \ast & \ast & \ast \\ 2 & \cdot & \ast & \ast"
    )


def test_lines_of_the_c_stand_beside_letters_that_the_c_computes() -> None:
    text = written(derive(load("planar_arm"), "riccati"), "markdown")
    assert "/* P */\nplanar_arm_forward_dynamics.c:" in text


@pytest.mark.parametrize(
    ("module", "limit", "value", "reason"),
    [
        (paper_letters, "QUICK", 60, "takes more than 60 products of terms"),
        (document_module, "MOST_TERMS_SHOWN", 30, "terms: symgen inspect scara"),
    ],
)
def test_a_block_that_is_too_long_is_named_with_its_reason(
    module: ModuleType, limit: str, value: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, value)
    paper_letters.paper_operators.cache_clear()
    document = derive(load("scara"), "riccati")
    paper_letters.paper_operators.cache_clear()
    reasons = [i.reason for step in document.steps for i in step.instances if i.reason]
    assert any(reason in text for text in reasons)
    assert document.holds


def test_all_factorizations_are_side_by_side() -> None:
    document = derive(load("planar_arm"), "all")
    statements = [step.result.statement for step in document.steps]
    assert r"\mathcal M = H\phi M\phi^T H^T" in statements
    assert r"I = U D U^T" in statements
    assert document.holds
    assert "Not available for this robot: Lee & Chirikjian 2005 need" in " ".join(document.remarks)


def test_every_factorization_is_linked_to_the_kinetic_energies() -> None:
    """The remark of the page says so: each paper has an equation of its mass matrix by energies."""
    by_energies = {"rk": "(3.20)", "sa": "(10)", "lc": "(12)", "wc": "(9)", "ff": "M"}
    assert {
        name: number for name, number in by_energies.items() if number in SIDE_BY_SIDE[name]
    } == (by_energies)


def test_all_papers_may_refuse_a_robot() -> None:
    """A massless tip: every paper divides by something that is zero, and says so."""
    mechanism = load("planar_arm")
    massless = replace(mechanism.bodies[1], parts=())
    with pytest.raises(RequestError, match=r"divide by D\(k\).*Fijany"):
        derive(replace(mechanism, bodies=(mechanism.bodies[0], massless)), "all")


@pytest.fixture(scope="module")
def document() -> Document:
    return derive(load("planar_arm"), "riccati")


def test_html_is_well_formed_and_loads_nothing(document: Document) -> None:
    text = written(document, "html")
    for tag in ("<!DOCTYPE html>", *re.findall(r"<meta [^>]*>", text)):  # they have no end tags
        text = text.replace(tag, "")
    page = ElementTree.fromstring(text)
    formulas = list(page.iter("{http://www.w3.org/1998/Math/MathML}math"))
    assert len(formulas) > len(document.steps)
    assert not re.search(r"(src|href)=", text)
    assert not any("\\" in "".join(formula.itertext()) for formula in formulas)


def test_html_without_its_package_names_the_extra(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    with pytest.raises(RequestError, match=r"pip install 'symgen\[html\]'"):
        written(document, "html")


def test_a_notebook_is_one_that_jupyter_reads(document: Document) -> None:
    notebook = json.loads(written(document, "notebook"))
    assert notebook["nbformat"] == 4
    kinds = [cell["cell_type"] for cell in notebook["cells"]]
    assert kinds == ["markdown", "code", *["markdown"] * (len(document.steps) + 1), "code"]
    assert len({cell["id"] for cell in notebook["cells"]}) == len(kinds)


@pytest.mark.parametrize(("robot", "method", "name"), CASES)
def test_a_changed_operator_fails_equations_in_the_notebook(
    robot: str, method: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last cell runs as it is, and prints at least one equation, but not all."""
    code = _breaking_code(name, robot)
    exec(compile(code, "cell", "exec"), {})
    fallen = ast.literal_eval(capsys.readouterr().out)
    assert 0 < len(fallen) < len(paper(name).EQUATIONS)


def test_the_first_cell_of_a_notebook_repeats_the_checks(
    document: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = json.loads(written(document, "notebook"))["cells"][1]
    exec(compile("".join(cell["source"]), "cell", "exec"), {})
    assert "64 of 64 hold; 64 of them for every state" in capsys.readouterr().out


def test_latex_has_balanced_braces_and_no_sign_that_pdflatex_lacks(document: Document) -> None:
    text = written(document, "latex")
    assert text.isascii() or not set(text) - set(map(chr, range(128))) - {"é"}
    without_listings = re.sub(
        r"\\begin\{lstlisting\}.*?\\end\{lstlisting\}", "", text, flags=re.DOTALL
    )
    assert without_listings.count("{") - without_listings.count(r"\{") == without_listings.count(
        "}"
    ) - without_listings.count(r"\}")
    assert without_listings.count(r"\begin{") == without_listings.count(r"\end{")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize(("robot", "method"), [("planar_point_mass", "riccati"), ("scara", "all")])
def test_pdflatex_sets_every_formula_within_the_page(
    robot: str, method: str, tmp_path: Path
) -> None:
    (tmp_path / "paper.tex").write_text(written(derive(load(robot), method), "latex"), "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


def test_a_failing_equation_says_so_in_every_format(document: Document) -> None:
    step = document.steps[0]
    broken = replace(step, result=replace(step.result, fails=(1,), fails_symbolically=True))
    wrong = replace(document, steps=(broken,))
    assert not wrong.holds
    for format in FORMATS:
        assert "does NOT hold" in written(wrong, format)


@pytest.mark.parametrize(
    ("file", "start"),
    [
        ("a.md", "# Rodriguez"),
        ("a.tex", r"\documentclass"),
        ("a.ipynb", "{"),
        ("a.html", "<!DOCTYPE"),
    ],
)
def test_the_suffix_chooses_the_format(
    file: str, start: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / file
    assert main(["derive", "planar_arm", "--method", "riccati", "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8").startswith(start)
    assert capsys.readouterr().out == f"{path}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "newton_euler"], "no method to derive is named 'newton_euler'"),
        (["--method", "riccati", "--format", "pdf"], "no format is named 'pdf'"),
        (["--method", "riccati", "-o", "a.txt"], "'a.txt' ends in no suffix of a format"),
        (["--method", "riccati", "-o", "a"], "'a' ends in no suffix of a format"),
        (
            ["--method", "riccati", "-o", "a.md", "--format", "latex"],
            "'a.md' has the suffix of the format markdown, and --format is latex",
        ),
        (["--method", "riccati", "-o", "none/a.md"], "cannot write 'none/a.md'"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["derive", "planar_arm", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_robot_that_no_paper_of_the_method_covers_is_refused_with_every_reason() -> None:
    with pytest.raises(RequestError, match="degree of freedom"):
        derive(load("free_body"), "udut")
    with pytest.raises(UnknownName):
        derive(load("planar_arm"), "kinematics")


def test_every_method_of_a_paper_can_be_derived() -> None:
    from symgen.cli.commands.derive import METHODS

    assert set(METHODS) == {*PAPERS_OF_METHOD, "all"}


@pytest.mark.slow
def test_a_long_chain_is_derived_in_seconds_and_prints_short_blocks_of_both_ends() -> None:
    """∂θ/∂x of the last mass of eight is a sum over all angles, x of the first mass two numbers."""
    document = derive(load("planar_point_mass:8"), "fixman")
    assert document.holds
    printed = "\n".join(i.latex for step in document.steps for i in step.instances)
    assert r"x_{0} = " in printed
    assert r"\left(q_{0:7}\right)" in printed


def test_names_of_links_are_text_in_every_format() -> None:
    """Signs of Markdown, LaTeX and HTML in a name change nothing but the name."""
    mechanism = load("planar_arm")
    odd = replace(mechanism.bodies[1], name="a|b <x> $1_2$ _*/")
    document = derive(replace(mechanism, bodies=(mechanism.bodies[0], odd)), "riccati")
    table = [line for line in written(document, "markdown").splitlines() if line[:1] == "|"]
    assert table[-1] == r"| 1 | a\|b \<x\> \$1_2\$ \_\*/ | link1 | revolute | 1 |"
    assert "a|b &lt;x&gt; $1_2$ _*/" in written(document, "html")
    assert r"a|b <x> \$1\_2\$ \_*/" in written(document, "latex")


def test_a_joint_without_inertia_is_named() -> None:
    """RK divide by D(k), which is zero for a massless tip."""
    mechanism = load("planar_arm")
    massless = replace(mechanism.bodies[1], parts=())
    with pytest.raises(RequestError, match="singular for the joint of link 'link2'"):
        derive(replace(mechanism, bodies=(mechanism.bodies[0], massless)), "riccati")


def test_a_block_that_is_too_long_is_refused_by_its_own_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Blocks after the first one that is too long are not computed by the operators again."""
    operators = paper_letters.paper_operators(load("planar_arm"), "rk")
    requested: list[tuple[int, ...]] = []

    def too_long(letter: object, indices: tuple[int, ...]) -> None:
        requested.append(indices)
        raise TooLong(f"the canonical form of P[{indices[0]}] takes more than 5 products")

    def derived() -> Canonical:
        raise TooLong("the canonical form of P[0] has more terms")

    monkeypatch.setattr(operators, "block", too_long)
    reasons: list[TooLong] = []
    for i in (1, 0):
        with pytest.raises(TooLong, match=rf"^the canonical form of P\[{i}\] takes more than 5"):
            document_module._computed(operators, operators.letter("P"), (i,), derived, reasons)
    assert requested == [(1,)]


# -- sentences and choices of a document -----------------------------------------------------------


def checked(fails: tuple[int, ...] = (), symbolically: bool | None = None) -> EquationResult:
    return EquationResult("(1)", "x", "says", fails, symbolically)


@pytest.mark.parametrize(
    ("equations", "words"),
    [
        ([checked(), checked()], "All 2 equations of P hold exactly, in rational numbers, at 3"),
        ([checked((1,)), checked()], "1 of the 2 equations of P hold exactly"),
        ([checked(), checked()], "random states."),
        (
            [checked(symbolically=False), checked(symbolically=False)],
            "; all of them were also computed over rational functions",
        ),
        (
            [checked(symbolically=False), checked()],
            "; 1 of them were also computed over rational functions",
        ),
    ],
)
def test_the_coverage_counts_the_equations_that_hold(
    equations: list[EquationResult], words: str
) -> None:
    result = PaperResult("p", "P", tuple(equations))
    assert words in document_module._coverage(result, 3, False)
    rounded = document_module._coverage(result, 3, True)
    assert rounded.endswith("; rotations are rounded as stated above.")
    assert ("rational functions" in rounded) == any(
        equation.fails_symbolically is not None for equation in equations
    )


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (checked(), "holds exactly at the random states"),
        (checked(symbolically=False), "holds exactly, for every state"),
        (checked((0, 2)), "does NOT hold at the random states 0, 2"),
        (checked(symbolically=True), "does NOT hold symbolically"),
    ],
)
def test_the_verdict_of_an_equation_is_what_was_computed(
    result: EquationResult, verdict: str
) -> None:
    assert formats_module._verdict(Step("h", result, (), (), (), ())) == verdict
    document = Document("t", "r", ("p",), "P", (), (), (Step("h", result, (), (), (), ()),), "c")
    assert document.holds == result.holds


def test_a_sentence_begins_with_a_capital_except_before_a_coordinate() -> None:
    assert document_module._sentence("a robot") == "A robot"
    assert document_module._sentence("q0 is an angle") == "q0 is an angle"
    assert formats_module._sentence("ab c") == "Ab c."
    assert formats_module._sentence("") == ""


def test_a_large_robot_shows_only_blocks_of_neighbours() -> None:
    """Links 0 and 1 carry others; a block of one link or of no pair is always shown."""
    large = document_module.MOST_LINKS + 1

    def printed_blocks(count: int) -> list[tuple[int, ...]]:
        mechanism = load(f"planar_point_mass:{count}")
        pairs = [(0, 0), (0, 1), (1, 0), (0, 2), (2, 0), (3,), ()]
        blocks = [(pair, lambda: Canonical("x", (), ())) for pair in pairs]
        return [indices for indices, _ in document_module._printed_blocks(mechanism, blocks)]

    assert printed_blocks(large) == [(0, 0), (0, 1), (1, 0), (3,), ()]
    assert len(printed_blocks(large - 1)) == 7


def test_a_structure_marks_the_blocks_that_are_not_zero() -> None:
    text = document_module._structure("B", [1, 0], [(0, 0), (0, 1)])
    assert text == (
        r"B:\quad \begin{array}{c|cc} & 1 & 0 \\ \hline "
        r"1 & \cdot & \cdot \\ 0 & \ast & \ast \end{array}"
    )

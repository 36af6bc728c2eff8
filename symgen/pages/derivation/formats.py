"""A derived paper as Markdown, LaTeX, a Jupyter notebook or HTML."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator

from symgen.pages.derivation.document import Document, Step
from symgen.support.errors import RequestError
from symgen.vocabulary.names import nearest

HEADER = ("link", "name", "parent", "joint", "mass (kg)")


def _verdict(step: Step) -> str:
    """Return the result of the exact check of one equation."""
    result = step.result
    if not result.holds:
        states = ", ".join(map(str, result.fails))
        return (
            f"does NOT hold at the random states {states}"
            if states
            else "does NOT hold symbolically"
        )
    return "holds exactly" + (
        ", for every state" if result.fails_symbolically is False else " at the random states"
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "." if text else ""


def _note(step: Step) -> str:
    return _sentence(step.result.says)


# -- Markdown --------------------------------------------------------------------------------------


def _markdown_text(text: str) -> str:
    """Return plain text, which may have the name of a link, for Markdown."""
    return MARKDOWN_SIGNS.sub(r"\\\g<0>", text)


MARKDOWN_SIGNS = re.compile(r"[\\`*{}\[\]<>#|$]|(?<![^\W_])_|_(?![^\W_])")
"""Signs that Markdown reads; an underscore within a word is none of them."""


def _markdown_step(step: Step) -> Iterator[str]:
    yield f"## {step.heading}"
    yield f"$$\n{step.result.statement}\n$$"
    if step.result.says:
        yield _markdown_text(_note(step))
    if step.symbols:
        yield "\n".join(f"- ${symbol}$: {_markdown_text(says)}" for symbol, says in step.symbols)
    for structure in step.structures:
        yield f"$$\n{structure}\n$$"
    for instance in step.instances:
        yield f"$$\n{instance.latex}\n$$" if instance.latex else _markdown_text(instance.reason)
    yield f"**Check:** {_verdict(step)}."
    if step.code:
        yield "```c\n" + "\n".join(step.code) + "\n```"


def markdown(document: Document) -> str:
    """Return the document in Markdown with `$$` formulas, as GitHub, GitLab and Jupyter show it."""
    return "\n\n".join(_markdown_cells(document)) + "\n"


def _markdown_cells(document: Document) -> Iterator[str]:
    yield f"# {_markdown_text(document.title)}"
    yield from map(_markdown_text, document.remarks)
    rows = [HEADER, *document.links]
    lines = [f"| {' | '.join(map(_markdown_text, row))} |" for row in rows]
    lines.insert(1, f"|{' --- |' * len(HEADER)}")
    yield "\n".join(lines)
    yield _sentence(document.check.rstrip("."))
    for step in document.steps:
        yield "\n\n".join(_markdown_step(step))


# -- notebook --------------------------------------------------------------------------------------


def notebook(document: Document) -> str:
    """Return the document as a Jupyter notebook. One code cell repeats the checks, the last one
    changes an operator and prints the equations that fail.
    """
    head, *steps = _notebook_parts(document)
    cells = [_cell("markdown", head), _cell("code", _checking_code(document))]
    cells += [_cell("markdown", step) for step in steps]
    cells += [
        _cell("markdown", BREAKING),
        _cell("code", _breaking_code(document.papers[0], document.robot)),
    ]
    return (
        json.dumps(
            {
                "cells": [{"id": f"cell{n}", **cell} for n, cell in enumerate(cells)],
                "metadata": {
                    "kernelspec": {
                        "display_name": "Python 3",
                        "language": "python",
                        "name": "python3",
                    },
                    "language_info": {"name": "python"},
                },
                "nbformat": 4,
                "nbformat_minor": 5,
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def _notebook_parts(document: Document) -> list[str]:
    parts = list(_markdown_cells(document))
    before = len(parts) - len(document.steps)
    return ["\n\n".join(parts[:before]), *parts[before:]]


def _checking_code(document: Document) -> str:
    return (
        "import symgen\nfrom symgen.papers.identities import prove_identities\n\n"
        f"print(prove_identities(symgen.load({document.robot!r}), {list(document.papers)}))"
    )


BREAKING = (
    "## Change one operator\n\n"
    "Change one entry of an operator, and see which equations fail with it."
    " Other operators are attributes of `o`."
)
CHANGED = {"rk": "L", "sa": "U", "lc": "H_L_L", "wc": "H_11", "ff": "H_aa"}
"""Operator of each paper that the notebook changes."""


def _breaking_code(name: str, robot: str) -> str:
    return f"""\
from flint import fmpq
from symgen.papers import operators, paper
from symgen.papers.blocks import Matrix

o = operators({robot!r}, {name!r})
entries = o.{CHANGED[name]}.entries.copy()
entries[0, 0] += fmpq(1, 1000)
o.{CHANGED[name]} = Matrix.of(entries)
print([equation.number for equation in paper({name!r}).EQUATIONS if not equation.holds(o)])"""


def _cell(kind: str, text: str) -> dict[str, object]:
    cell: dict[str, object] = {
        "cell_type": kind,
        "metadata": {},
        "source": text.splitlines(keepends=True),
    }
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell


# -- LaTeX -----------------------------------------------------------------------------------------

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{x: f"\\{x}" for x in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "ε": "epsilon",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "λ": "lambda",
    "μ": "mu",
    "ν": "nu",
    "ξ": "xi",
    "τ": "tau",
    "φ": "phi",
    "ψ": "psi",
    "ω": "omega",
    "Δ": "Delta",
    "Λ": "Lambda",
    "Π": "Pi",
    "Σ": "Sigma",
    "Φ": "Phi",
    "Ψ": "Psi",
    "Ω": "Omega",
}
_SIGNS = {
    **{sign: f"\\{name}" for sign, name in _GREEK.items()},
    **{chr(ord("𝓐") + n): rf"\mathcal {chr(ord('A') + n)}" for n in range(26)},
    "𝒥": r"\mathcal J",
    "ċ": r"\dot c",
    "∂": r"\partial",
    "×": r"\times",
    "·": r"\cdot",
    "⋯": r"\cdots",
    "…": r"\ldots",
    "⊕": r"\oplus",
    "−": "-",
    "′": "'",
    "≤": r"\leq",
    "≥": r"\geq",
    "⁻¹": r"\mathstrut^{-1}",
    "⁽ᵏ⁾": r"\mathstrut^{(k)}",
    "ᵀ": r"\mathstrut^T",
    "²": r"\mathstrut^2",
    "₁": r"\mathstrut_1",
}
"""LaTeX of the mathematical signs in the texts of the papers."""
_ACCENTS = {"\u0302": r"\hat", "\u0303": r"\tilde", "\u0307": r"\dot", "\u0308": r"\ddot"}
_SIGN = re.compile(
    rf"({'|'.join(sorted(_SIGNS, key=len, reverse=True))}|.)([{''.join(_ACCENTS)}]?)", re.DOTALL
)


def _escaped(text: str) -> str:
    """Return plain text for LaTeX; mathematical signs become mathematics."""

    def latex_of(match: re.Match[str]) -> str:
        sign, accent = match.groups()
        if accent:
            return f"${_ACCENTS[accent]}{{{_SIGNS.get(sign, sign)}}}$"
        return f"${_SIGNS[sign]}$" if sign in _SIGNS else _SPECIAL.get(sign, sign)

    return _SIGN.sub(latex_of, text).replace("--", "-{}-")  # LaTeX sets "--" as a dash


def _latex_step(step: Step) -> Iterator[str]:
    yield rf"\section*{{{_escaped(step.heading)}}}"
    yield _latex_equation(step.result.statement)
    if step.result.says:
        yield _escaped(_note(step))
    if step.symbols:
        items = [rf"\item ${symbol}$: {_escaped(says)}" for symbol, says in step.symbols]
        yield "\n".join([r"\begin{itemize}\setlength{\itemsep}{0pt}", *items, r"\end{itemize}"])
    for structure in step.structures:
        yield _latex_equation(structure)
    for instance in step.instances:
        yield (
            _latex_equation(instance.latex)
            if instance.latex
            else rf"{{\small\raggedright {_escaped(instance.reason)}\par}}"
        )
    yield rf"\textbf{{Check:}} {_verdict(step)}."
    if step.code:
        yield (
            "\\begin{lstlisting}\n"
            + "\n".join(step.code).replace("…", "...")
            + "\n\\end{lstlisting}"
        )


def _latex_equation(text: str) -> str:
    """Return a displayed equation, scaled down if it is wider than the page."""
    return (
        r"\begin{center}\adjustbox{max width=\linewidth}{$\displaystyle"
        rf" {text}$}}\end{{center}}"
    )


def latex(document: Document) -> str:
    """Return the document as a LaTeX file of class article, for pdflatex."""
    rows = " \\\\\n".join(" & ".join(map(_escaped, row)) for row in document.links)
    head = [
        r"\documentclass[11pt,a4paper]{article}",
        r"\usepackage[utf8]{inputenc}",
        r"\usepackage[T1]{fontenc}",
        r"\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}",
        r"\usepackage{amsmath,amssymb,adjustbox,listings}",
        r"\usepackage[margin=22mm]{geometry}",
        r"\setcounter{MaxMatrixCols}{60}",
        r"\lstset{basicstyle=\ttfamily\footnotesize,breaklines=true,language=C}",
        r"\setlength{\parindent}{0pt}\setlength{\parskip}{6pt}",
        rf"\title{{{_escaped(document.title)}}}\date{{}}",
        r"\begin{document}\maketitle",
        *(_escaped(remark) for remark in document.remarks),
        r"\begin{tabular}{lllll}\hline",
        " & ".join(HEADER) + r" \\ \hline",
        rows + r" \\ \hline",
        r"\end{tabular}",
        _escaped(document.check),
    ]
    body = ["\n\n".join(_latex_step(step)) for step in document.steps]
    return "\n\n".join([*head, *body, r"\end{document}"]) + "\n"


# -- HTML ------------------------------------------------------------------------------------------

STYLE = """
body { font-family: system-ui, 'Segoe UI', 'Noto Sans', sans-serif; max-width: 60rem; \
margin: 2rem auto; padding: 0 1rem;
       line-height: 1.5; color: #1c1e21; background: #fff; }
h1 { font-size: 1.6rem; } \
h2 { font-size: 1.15rem; margin-top: 2.2rem; border-top: 1px solid #ccc; padding-top: .8rem; }
math { font-size: 1.08em; } \
.eq { overflow-x: auto; overflow-y: hidden; margin: .6rem 0; padding: .2rem 0; }
table { border-collapse: collapse; } \
th, td { border-bottom: 1px solid #ccc; padding: .25rem .8rem .25rem 0; text-align: left; }
mtable, mtr, mtd { border: 0; }
pre { background: #f4f5f7; padding: .7rem; overflow-x: auto; font-size: .85rem; }
.check { color: #17633a; } .fails { color: #a01818; font-weight: bold; } \
.reason { color: #555; font-size: .9rem; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e6eb; background: #18191a; } pre { background: #242526; } \
.check { color: #7fd6a0; } .fails { color: #ff9a9a; }
  .reason { color: #b0b3b8; } th, td, h2 { border-color: #444; }
}
"""


def _mathml(text: str) -> str:
    """Return a displayed equation."""
    return f'<div class="eq">{_converted(text, "block")}</div>'


def _converted(text: str, display: str) -> str:
    try:
        from latex2mathml.converter import convert
    except ImportError:
        raise RequestError(
            "HTML needs the package latex2mathml; run pip install 'symgen[html]', or use --format"
            " markdown"
        ) from None
    # latex2mathml does not know `aligned`, and writes its "&" as invalid MathML.
    return str(convert(text.replace("{aligned}", "{split}"), display=display))


def _html_step(step: Step) -> Iterator[str]:
    yield f"<h2>{html.escape(step.heading)}</h2>"
    yield _mathml(step.result.statement)
    if step.result.says:
        yield f"<p>{html.escape(_note(step))}</p>"
    if step.symbols:
        items = [
            f"<li>{_converted(symbol, 'inline')}: {html.escape(says)}</li>"
            for symbol, says in step.symbols
        ]
        yield f"<ul>{''.join(items)}</ul>"
    yield from map(_mathml, step.structures)
    for instance in step.instances:
        yield (
            _mathml(instance.latex)
            if instance.latex
            else f'<p class="reason">{html.escape(instance.reason)}</p>'
        )
    name = "check" if step.result.holds else "fails"
    yield f'<p class="{name}">Check: {html.escape(_verdict(step))}.</p>'
    if step.code:
        yield f"<pre>{html.escape(chr(10).join(step.code))}</pre>"


def page(document: Document) -> str:
    """Return the document as one HTML page with MathML, which loads nothing from a network.

    RequestError if the package latex2mathml is not installed.
    """
    title = html.escape(document.title)
    cells = ["<th>" + "</th><th>".join(HEADER) + "</th>"]
    cells += ["<td>" + "</td><td>".join(map(html.escape, row)) + "</td>" for row in document.links]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        *(f"<p>{html.escape(remark)}</p>" for remark in document.remarks),
        "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>",
        f"<p>{html.escape(document.check)}</p>",
        *(part for step in document.steps for part in _html_step(step)),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


WRITERS: dict[str, tuple[str, Callable[[Document], str]]] = {
    "markdown": (".md", markdown),
    "latex": (".tex", latex),
    "notebook": (".ipynb", notebook),
    "html": (".html", page),
}
"""Format -> (suffix of its file, writer)."""
FORMATS = tuple(WRITERS)


def written(document: Document, format: str) -> str:
    """Return the text of a document in one of FORMATS."""
    return WRITERS[nearest(format, FORMATS, "format")][1](document)

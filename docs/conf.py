"""Settings of Sphinx: MyST Markdown, the theme furo, KaTeX from `_static/katex`.

The book loads nothing from a network.
"""

import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_PROJECT = tomllib.loads(
    (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
)["project"]

project = "symgen"
release = version = _PROJECT["version"]
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# A copied console sample is what is typed: without the prompt and without the answer.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"
copybutton_exclude = ".linenos, .gp"

html_theme = "furo"
html_title = f"symgen {version}"
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5a94",
        "color-brand-content": "#1f5a94",
        "font-stack": "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif",
        "font-stack--monospace": (
            "'JetBrains Mono', 'SF Mono', 'DejaVu Sans Mono', Consolas, monospace"
        ),
    },
    "dark_css_variables": {
        "color-brand-primary": "#7db8f0",
        "color-brand-content": "#7db8f0",
    },
    "top_of_page_buttons": [],
}
html_static_path = ["_static"]
html_css_files = ["katex/katex.min.css", "book.css"]
html_js_files = ["katex/katex.min.js", "math.js"]
html_math_renderer = "katex"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None


def inline_math(translator: HTML5Translator, node: nodes.math) -> None:
    """Write TeX into a span that `_static/math.js` typesets."""
    translator.body.append(f'<span class="tex">{translator.encode(node.astext())}</span>')
    raise nodes.SkipNode


def display_math(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write TeX into a block that `_static/math.js` typesets."""
    translator.body.append(f'<div class="tex display">{translator.encode(node.astext())}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("katex", (inline_math, None), (display_math, None))

"""Sphinx's settings: Markdown by MyST, a theme that comes with Sphinx, nothing from the network."""

import tomllib
from pathlib import Path

_PROJECT = tomllib.loads(
    (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
)["project"]

project = "symgen"
release = version = _PROJECT["version"]
extensions = ["myst_parser"]
myst_heading_anchors = 3

html_theme = "alabaster"
html_theme_options = {
    "description": _PROJECT["description"],
    "page_width": "1240px",
    "sidebar_width": "230px",
    "body_max_width": "none",
    "fixed_sidebar": True,
    "show_powered_by": False,
}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None

"""`symgen derive`: a paper re-derived for one robot, equation by equation.

Each numbered equation of the paper stands in its general form. Below it are this robot's instance
in canonical form, an exact check of both sides, and the lines of the generated C that compute it.
`document` collects the content, `formats` prints it as Markdown, LaTeX, a notebook or HTML.
"""

from symgen.pages.derivation.document import Document, derive
from symgen.pages.derivation.formats import FORMATS, written

__all__ = ["FORMATS", "Document", "derive", "written"]

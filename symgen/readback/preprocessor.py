"""What in a text a C compiler could read otherwise than it is read here.

Comments are found here as `/* … */`. A compiler joins lines that end in a backslash before it looks for them, and may know
trigraphs, digraphs and `//`. Text inside quotation marks is no comment to it. None of that is in generated C, so it is refused.
"""

from __future__ import annotations

import re

CLONES = 'target_clones("avx512f", "avx2", "default")'
"""The one place with quotation marks, once in a text of steps over lanes."""
_ANYWHERE = re.compile(r"\\|\?\?|[^\t\n\x20-\x7e]")
_OUTSIDE = re.compile(r"""/\*|\*/|//|%:|<:|:>|<%|%>|["']|_Pragma""")
_QUOTED = re.compile(r'^(?:[ \t]*#[ \t]*include[ \t]+"[\w.]+"[ \t]*|extern "C" \{)$', re.MULTILINE)


def disguises(text: str) -> list[str]:
    """A sentence for the first place that is read in two ways: anywhere, then outside comments."""
    for pattern, where in ((_ANYWHERE, text), (_OUTSIDE, _QUOTED.sub("", without_comments(text)))):
        found = pattern.search(where)
        if found is not None:
            line = where.count("\n", 0, found.start()) + 1
            return [
                f"line {line} holds {found[0]!a}, which a compiler may read otherwise and no generated text holds"
            ]
    return []


def without_comments(text: str) -> str:
    """`text` with its comments left out, but for their line ends."""
    return re.sub(
        r"/\*.*?\*/", lambda found: " " + "\n" * found[0].count("\n"), text, flags=re.DOTALL
    )

"""`python -m tests.golden` rewrites generated/; `python -m tests.golden DIR` writes the same into
DIR.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden import FOLDER, write

if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)

"""The same input gives the same bytes, whatever the hash seed, and the committed C is what this version makes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.golden import FOLDER, texts


def test_generated_c_is_the_committed_one(tmp_path: Path) -> None:
    """What is committed was made with whatever seed Python drew."""
    environment = {**os.environ, "PYTHONHASHSEED": "4242"}
    root = FOLDER.parent
    done = subprocess.run([sys.executable, "-m", "tests.golden", str(tmp_path)], cwd=root, env=environment, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    committed, made = texts(FOLDER), texts(tmp_path)
    differing = sorted(name for name in committed.keys() | made.keys() if committed.get(name) != made.get(name))
    assert not differing, f"run 'make golden' and review what changed: {', '.join(differing[:20])}"

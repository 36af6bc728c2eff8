"""The same input gives the same bytes, whatever the hash seed, and the committed C is what this version makes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.golden import FOLDER, texts


def test_generated_c_is_the_committed_one(tmp_path: Path, derived_this_run: Path) -> None:
    """What is committed was made with whatever seed Python drew. The Programs are derived here, and left for other tests."""
    out, cache = tmp_path / "out", tmp_path / "cache"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "4242",
        "SYMGEN_CACHE": str(cache),
        "SYMGEN_CACHE_PROGRAMS": "on",
    }
    root = FOLDER.parent
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden", str(out)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    committed, made = texts(FOLDER), texts(out)
    differing = sorted(
        name for name in committed.keys() | made.keys() if committed.get(name) != made.get(name)
    )
    assert not differing, f"run 'make golden' and review what changed: {', '.join(differing[:20])}"
    shutil.copytree(cache / "kept", derived_this_run / "kept", dirs_exist_ok=True)

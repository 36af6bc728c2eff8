"""Content of a generated folder, as tests compare it."""

from __future__ import annotations

from pathlib import Path


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }

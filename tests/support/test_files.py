"""Writing of files: whole or not at all, and only regular files are replaced."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from symgen.support import files
from tests.shared.disk_calls import READS, WRITES, Calls, watched


@pytest.mark.parametrize("before", ["old", None])
def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, before: str | None) -> None:
    """Let each call on the disk fail once, and once interrupt the process after it."""
    path = tmp_path / "page.html"

    def refuse(calls: Calls, call: Callable[[], Any]) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def end(calls: Calls, call: Callable[[], Any]) -> Any:
        with suppress(OSError):
            call()
        raise KeyboardInterrupt

    for act, calls in ((refuse, READS + WRITES), (end, WRITES)):
        for at in range(1, 100):
            path.unlink(missing_ok=True)
            if before is not None:
                path.write_text(before)
            with watched(at, act, calls, True) as counted, suppress(OSError, KeyboardInterrupt):
                files.write_file(path, b"new")
            if counted.count < at:
                break
            assert (path.read_text() if path.exists() else None) in (before, "new")
            assert {file.name for file in tmp_path.iterdir()} <= {"page.html", ".page.html.symgen"}
            # a killed process leaves a temporary file
            (tmp_path / ".page.html.symgen").write_text("half of a longer text")
            files.write_file(path, b"newer")
            assert path.read_text() == "newer"
            assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
        assert at > 8


def test_links_and_pipes_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    files.write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    handle = os.open(tmp_path / "pipe", os.O_RDWR)
    files.write_file(tmp_path / "pipe", b"through")
    assert os.read(handle, 100) == b"through"
    os.close(handle)
    assert (tmp_path / "pipe").is_fifo()


def test_a_lock_is_not_taken_on_a_file_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former owner removes the file after it is opened and before it is locked.

    A third process would not wait for a lock on the removed file.
    """
    path, original = tmp_path / "lock", files._lock
    opened = []

    def late(handle: int) -> bool:
        opened.append(handle)
        if len(opened) == 1:
            path.unlink()
        return original(handle)

    monkeypatch.setattr(files, "_lock", late)
    with files.locked_file(path) as handle:
        assert os.path.samestat(os.fstat(handle), path.stat())
    assert len(opened) == 2
    assert not path.exists()

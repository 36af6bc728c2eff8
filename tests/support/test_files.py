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


def test_a_lock_that_another_holds_is_waited_for_and_then_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, waits = tmp_path / "lock", []
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    monkeypatch.setattr(files, "sleep", waits.append)
    clock = iter(k / 32 for k in range(100))
    monkeypatch.setattr(files, "monotonic", lambda: next(clock))
    with files.locked_file(path):
        with pytest.raises(TimeoutError, match="another symgen is writing there"):
            files._open_locked(path)
        # the deadline is 0.1 after 0; 4/32 is the first later time
        assert len(waits) == 3
        assert path.exists()
    assert not path.exists()
    with files.locked_file(path) as handle:
        assert os.fstat(handle).st_nlink == 1


def test_a_lock_is_a_file_that_belongs_to_no_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "lock").symlink_to("target")
    with pytest.raises(OSError, match="lock"), files.locked_file(tmp_path / "lock"):
        pass
    assert (tmp_path / "target").read_text() == "kept"


def test_a_file_that_was_renamed_while_locked_is_kept(tmp_path: Path) -> None:
    with files.locked_file(tmp_path / "lock") as handle:
        os.write(handle, b"text")
        (tmp_path / "lock").rename(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"text"


@pytest.mark.parametrize(
    ("code", "locked"), [(errno.ENOLCK, True), (errno.ENOSYS, True), (errno.EIO, None)]
)
def test_a_file_system_without_locks_counts_as_locked(
    code: int, locked: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(handle: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (tmp_path / "file").open("w") as file:
        if locked is None:
            with pytest.raises(OSError, match=os.strerror(code)):
                files._lock(file.fileno())
        else:
            assert files._lock(file.fileno()) is locked


def test_a_broken_link_exists_and_a_missing_file_does_not(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    assert files.path_exists(tmp_path / "link")
    assert files.path_exists(tmp_path)
    assert not files.path_exists(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        files.path_exists(tmp_path / "file" / "inside")


def test_two_paths_are_exchanged_or_a_missing_one_is_named(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("1")
    second.mkdir()
    if not files.exchange(first, second):
        pytest.skip("this system cannot exchange paths")
    assert second.read_text() == "1"
    assert first.is_dir()
    with pytest.raises(FileNotFoundError) as refusal:
        files.exchange(first, tmp_path / "third")
    assert (refusal.value.filename, refusal.value.filename2) == (
        str(first),
        str(tmp_path / "third"),
    )
    assert first.is_dir()


@pytest.mark.parametrize(
    ("code", "raises"), [(errno.EINVAL, False), (errno.EOPNOTSUPP, False), (errno.EIO, True)]
)
def test_only_a_file_system_without_synchronisation_is_excused(
    code: int, raises: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    if raises:
        with pytest.raises(OSError, match=os.strerror(code)):
            files.sync(tmp_path)
    else:
        files.sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        files.sync(tmp_path / "missing")

"""Atomic replacement of files and folders: locks, exchange of two paths, and synchronisation with
the disk.

Other processes see a rename at once. The content must be on disk before the rename, or a power
failure may keep the name and lose the content.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

PATIENCE = 60.0
"""Seconds that a writer waits for a lock. A folder takes much less than one second."""
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
_NO_EXCHANGE = {errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EPERM}
# EPERM is the answer of a container that does not know the call.
_NO_SYNC = {errno.EINVAL, errno.EOPNOTSUPP}
_WORKING_DIRECTORY, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextmanager
def locked_file(path: Path) -> Iterator[int]:
    """Create and lock the file `path` and yield its descriptor; other processes that lock it wait.

    The kernel releases the lock when its process dies. At the end the file is deleted, unless it
    was renamed. Raises OSError, and TimeoutError if others hold the lock for PATIENCE seconds. On a
    file system without locks nobody waits.
    """
    handle = _open_locked(path)
    try:
        yield handle
    finally:
        _release(handle, path)


def write_file(path: Path, data: bytes) -> None:
    """Write a file with these bytes at `path` completely or not at all; a link is followed. Raises
    OSError.
    """
    if path.exists() and not path.is_file():  # a pipe, a terminal or /dev/null is not replaced
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    beside = path.with_name(f".{path.name}.symgen")
    with locked_file(beside) as handle:
        os.ftruncate(handle, 0)  # a killed writer may have left part of a file
        unwritten = memoryview(data)
        while unwritten:
            unwritten = unwritten[os.write(handle, unwritten) :]
        os.fsync(handle)
        os.replace(beside, path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk. A folder that cannot be read is
    skipped. Raises OSError.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)


def path_exists(path: Path) -> bool:
    """True if the path exists, even as a broken link. Raises OSError if that cannot be determined,
    unlike `lexists`.
    """
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def exchange(first: Path, second: Path) -> bool:
    """Exchange two paths atomically. Returns False, without a change, if the system cannot. Raises
    OSError.
    """
    try:
        import ctypes

        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, AttributeError, OSError, TypeError):
        return False
    if (
        renameat2(
            _WORKING_DIRECTORY,
            os.fsencode(first),
            _WORKING_DIRECTORY,
            os.fsencode(second),
            _EXCHANGE,
        )
        == 0
    ):
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(first), None, str(second))


def _open_locked(path: Path) -> int:
    """Create and lock a file and return its descriptor."""
    deadline = monotonic() + PATIENCE
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        locked = False
        try:
            locked = _lock(handle)
            if locked and _is_same_file(handle, path):
                return handle
        except BaseException:
            if locked:
                _release(handle, path)
            else:
                os.close(handle)
            raise
        os.close(handle)
        if not locked:
            if monotonic() > deadline:
                raise TimeoutError(errno.ETIMEDOUT, "another symgen is writing there")
            sleep(0.02)


def _lock(handle: int) -> bool:
    """Lock an open file without waiting; False if another process holds the lock. True on systems
    without locks.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _is_same_file(handle: int, path: Path) -> bool:
    """True if `path` still names the open file. The previous owner of the lock may have removed or
    renamed it.
    """
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _release(handle: int, path: Path) -> None:
    """Delete the file if it still has its name, and release the lock."""
    try:
        with suppress(OSError):  # the next writer overwrites a file that cannot be deleted
            if _is_same_file(handle, path):
                os.unlink(path)
    finally:
        with suppress(OSError):  # the file is no longer needed
            os.close(handle)

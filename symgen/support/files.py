"""What it takes to put a file or a folder in its place whole or not at all: a turn, an exchange, and the word that it is on disk.

A rename is seen by others all at once. Before it, what is renamed must be on disk, or a power failure may keep the name and lose
the text.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

PATIENCE = 60.0
"""Seconds that a writer waits for its turn. A folder takes much less than one."""
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
_NO_EXCHANGE = {
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EINVAL,
    errno.EPERM,
}  # EPERM: a container that knows no such call
_NO_SYNC = {errno.EINVAL, errno.EOPNOTSUPP}
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextmanager
def turn(path: Path) -> Iterator[int]:
    """Hold the file `path`, which is made and locked; yields its descriptor. Whoever else asks for it waits.

    The kernel gives a turn back when its process dies. At the end the file is gone, or has the name that it was given meanwhile.
    Raises OSError; TimeoutError when others hold it for PATIENCE seconds. Where the file system knows no locks, nobody waits.
    """
    handle = _locked(path)
    try:
        yield handle
    finally:
        _give_back(handle, path)


def write_file(path: Path, data: bytes) -> None:
    """Put a file with these bytes at `path`, or leave what is there; a link's target, not the link. Raises OSError."""
    if (
        path.exists() and not path.is_file()
    ):  # a pipe, a terminal and /dev/null take what comes, and are not replaced
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    beside = path.with_name(f".{path.name}.symgen")
    with turn(beside) as handle:
        os.ftruncate(handle, 0)  # a killed writer may have left its half
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
        os.replace(beside, path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk. Raises OSError; a folder that cannot be read is passed over."""
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


def there(path: Path) -> bool:
    """Whether anything has this name, be it a link to nothing. Raises OSError where that cannot be learned, unlike `lexists`."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def exchange(one: Path, other: Path) -> bool:
    """Let two paths change places at one stroke. False, and nothing done, where the system cannot; raises OSError."""
    try:
        import ctypes

        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, AttributeError, OSError, TypeError):
        return False
    if renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))


def _locked(path: Path) -> int:
    end = monotonic() + PATIENCE
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        held = False
        try:
            held = _lock(handle)
            if held and _stands(handle, path):
                return handle
        except BaseException:
            if held:
                _give_back(handle, path)
            else:
                os.close(handle)
            raise
        os.close(handle)
        if not held:
            if monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "another symgen is writing there")
            sleep(0.02)


def _lock(handle: int) -> bool:
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


def _stands(handle: int, path: Path) -> bool:
    """Whether `path` still names the open file. Whoever had the turn before may have removed or renamed it."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _give_back(handle: int, path: Path) -> None:
    try:
        with suppress(OSError):  # whoever comes next takes what is left
            if _stands(handle, path):
                os.unlink(path)
    finally:
        with suppress(OSError):  # nothing depends on it any more
            os.close(handle)

"""A compiled library in the cache: whose it is, whether it is whole, and how it gets there.

To load a library is to run it. So it is loaded only where nobody else can have written it: folder and file belong to the user,
nobody else may write them, the file is no link, and it is the one of which the SHA-256 stands beside it. (A library that lost its
end would stop Python with SIGBUS, and no `except` sees that.) Any other library is built again.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from symgen.support.cache import OTHERS, alone, mine, own
from symgen.support.errors import BuildError

WAY_OUT = "set SYMGEN_CACHE to a folder of your own"


def prepared(folder: Path) -> Path:
    """`folder`, made where it is missing, which nobody but the user may write. BuildError where it belongs to somebody else."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = folder.stat()
    if not (mine(known) and mine(folder.lstat())):
        raise BuildError(
            f"the cache {folder} belongs to another user, who could put other code there; {WAY_OUT}"
        )
    if not alone(known):  # an earlier umask; what lies there is looked at one by one
        folder.chmod(stat.S_IMODE(known.st_mode) & ~OTHERS)
    return folder


def whole(path: Path) -> bool:
    """Whether the library at `path` is the one that `put` wrote, in a folder where nobody else can exchange it."""
    try:
        return (
            mine(path.parent.lstat())
            and alone(path.parent.stat())
            and _read(_beside(path)) == _sum(_read(path))
        )
    except OSError:
        return False


def read(path: Path) -> bytes | None:
    """What is in the library at `path`; None where it is not whole."""
    try:
        return _read(path) if whole(path) else None
    except OSError:
        return None


def put(built: Path, path: Path) -> None:
    """Move a library to `path`, its sum beside it, both on the disk before they have their names."""
    built.chmod(0o700)
    beside = built.with_suffix(".sha256")
    beside.write_bytes(_sum(built.read_bytes()))
    beside.chmod(0o600)
    for file in (built, beside):
        with file.open("rb") as written:
            os.fsync(written.fileno())
    # Between the two names the library is not whole, and whoever looks builds it again.
    os.replace(built, path)
    os.replace(beside, _beside(path))


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sum(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode() + b"\n"


def _read(path: Path) -> bytes:
    """What is in a file of the user's own. OSError where it is a link, or somebody else could have written it."""
    with open(
        os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)),
        "rb",
    ) as file:
        if not own(os.fstat(file.fileno())):
            raise OSError(f"{path} is not of this user alone")
        return file.read()

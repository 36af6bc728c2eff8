"""Cache of earlier results beside the compiled libraries: plain JSON under a key of everything that
the result depends on.

    $SYMGEN_CACHE, else $XDG_CACHE_HOME/symgen, else ~/.cache/symgen

An entry is a line that names the format, the SHA-256 of the rest, and JSON with the whole key and
the facts. An entry is read only if the user owns it, nobody else may write it, the hash matches,
and the key is equal. Any other file in the folder (an incomplete file, an entry of another version
or user) is ignored, and the result is computed again.

Every key includes a hash of symgen's source and templates, so that an edited method never reads its
old results. A process whose source was edited after it started neither writes nor reads entries.
SYMGEN_CACHE_PROGRAMS=off disables the cache. The folder kept/ may be deleted at any time. If the
entries take more than LARGEST bytes, the least recently used ones are deleted.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

from symgen.support import version

LOG = logging.getLogger("symgen")  # printed with `-v`
FORMAT = b"symgen kept 1\n"
LARGEST = 512_000_000
LOOK_AGAIN = 0.05
"""Seconds for which unedited files are assumed to stay unedited: keys are needed several at a time.
"""
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
"""Bits of a file mode by which other users may write."""
_LONGEST_ENTRY = 200_000_000
_PACKAGE = Path(__file__).resolve().parent.parent

_unedited: tuple[float, float] | None = None
"""Start of this process, and the time of the last check that no file had been edited since."""
_memory: dict[str, str] | None = None
"""Facts by key, both as JSON, while `in_memory` is active."""


@contextmanager
def in_memory() -> Iterator[dict[str, str]]:
    """Store facts in memory too, and look them up there first, within a `with` statement; yields
    {key: facts} as JSON.

    Facts from another process may be added to the dictionary. This works even if the cache on disk
    is disabled.
    """
    global _memory
    previous = _memory
    _memory = {} if previous is None else previous
    try:
        yield _memory
    finally:
        _memory = previous


def _memory_key(kind: str, key: tuple[Any, ...]) -> str | None:
    """Return the key of facts in memory, as JSON; None for a key that JSON cannot represent."""
    with suppress(TypeError, ValueError):
        return json.dumps([kind, *key])
    return None


def cache_folder() -> Path:
    """Return the folder of the libraries and the entries (see the module)."""
    if folder := os.environ.get("SYMGEN_CACHE"):
        return Path(folder).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "symgen"


def find(kind: str, *key: Any) -> Any | None:
    """Return the facts stored under this key (text, numbers, None, and lists of them), or None."""
    if _memory is not None and (facts := _memory.get(_memory_key(kind, key) or "")) is not None:
        return json.loads(facts)
    full_key = _key(kind, key)
    if full_key is None:
        return None
    path = _entry_path(full_key)
    try:
        payload = _read_entry(path)
        entry = None if payload is None else json.loads(payload)
        if not isinstance(entry, dict) or entry.get("key") != full_key:
            return None
        with suppress(OSError):
            os.utime(path)  # marks the entry as used
        LOG.info("%s read from the cache, %s", kind, path)
        return entry.get("facts")
    except (OSError, ValueError, RecursionError):
        return None


def is_kept(kind: str, *key: Any) -> bool:
    """True if there is an entry under this key; its facts need not be readable."""
    if _memory is not None and (_memory_key(kind, key) or "") in _memory:
        return True
    full_key = _key(kind, key)
    return full_key is not None and _entry_path(full_key).exists()


def keep(facts: Any, kind: str, *key: Any) -> None:
    """Store `facts` as JSON under this key. A failure to write is ignored: the result is computed
    again next time.
    """
    if _memory is not None and (name := _memory_key(kind, key)) is not None:
        with suppress(TypeError, ValueError):
            _memory[name] = json.dumps(facts, separators=(",", ":"), allow_nan=False)
    full_key = _key(kind, key)
    if full_key is None:
        return
    path = _entry_path(full_key)
    try:
        payload = json.dumps(
            {"key": full_key, "facts": facts}, separators=(",", ":"), allow_nan=False
        ).encode()
        if len(payload) > _LONGEST_ENTRY:
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = path.parent.lstat()
        if not (stat.S_ISDIR(folder.st_mode) and is_private(folder)):
            return  # a link, or a folder that other users may write
        handle, name = tempfile.mkstemp(prefix="keeping-", dir=path.parent)  # private to its owner
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(FORMAT + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
        _delete_oldest(path.parent, len(payload))
    except (OSError, ValueError):
        return


def _key(kind: str, key: tuple[Any, ...]) -> list[Any] | None:
    """Return the full key of an entry, or None if the cache is disabled."""
    source = stamp()
    try:
        return None if source is None else [kind, source, *json.loads(json.dumps(key))]
    except (TypeError, ValueError):  # the caller reports such a value
        return None


def _entry_path(full_key: list[Any]) -> Path:
    """Return the path of an entry."""
    name = hashlib.sha256(json.dumps(full_key).encode()).hexdigest()
    return cache_folder() / "kept" / f"{full_key[0]}-{name[:40]}.json"


def _read_entry(path: Path) -> bytes | None:
    """Return the payload of an entry, or None if its hash is wrong or other users could have
    written it.
    """
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        if not is_private_file(status) or status.st_size > _LONGEST_ENTRY + 1000:
            return None
        data = file.read()
    start = len(FORMAT) + 65
    payload = data[start:]
    head = FORMAT + hashlib.sha256(payload).hexdigest().encode() + b"\n"
    return payload if data[:start] == head else None


def is_private_file(status: os.stat_result) -> bool:
    """True for a regular file that the user owns and nobody else may write."""
    return stat.S_ISREG(status.st_mode) and is_private(status)


def is_private(status: os.stat_result) -> bool:
    """True for a file or folder that the user owns and nobody else may write."""
    return is_owned(status) and not (hasattr(os, "geteuid") and status.st_mode & WRITABLE_BY_OTHERS)


def is_owned(status: os.stat_result) -> bool:
    """True if the user owns the file; always true on systems without user numbers."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


_written = LARGEST
"""Bytes written since the last look at the folder. A process looks once at its first entry."""


def _delete_oldest(folder: Path, new_bytes: int) -> None:
    """Delete the least recently used entries if all together take more than LARGEST bytes."""
    global _written
    _written += new_bytes
    if _written < LARGEST // 8:
        return
    _written = 0
    entries = []
    for entry in os.scandir(folder):
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            entries.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= LARGEST:
            return
        total -= size * 2  # delete more than needed, so that the next call need not
        with suppress(OSError):
            os.unlink(path)


def stamp() -> list[str] | None:
    """Return the part of every key that identifies symgen: its version, a hash of its source, and
    the versions of its libraries. None disables the cache.
    """
    if os.environ.get("SYMGEN_CACHE_PROGRAMS", "").lower() in ("off", "0", "no"):
        return None
    global _unedited
    source, check = _source(), (version.STARTED, monotonic() // LOOK_AGAIN)
    if source is None or (check != _unedited and _edited()):
        return None
    _unedited = check
    return [version.__version__, *source]


@cache
def _source() -> tuple[str, ...] | None:
    """Return a hash of the source, the version of Python and those of the libraries; None if they
    cannot be read.
    """
    from importlib.metadata import PackageNotFoundError, version

    digest = hashlib.sha256()
    try:
        for path in _files():
            text = Path(path).read_bytes()
            digest.update(f"{os.path.relpath(path, _PACKAGE)}\0{len(text)}\0".encode() + text)
        packages = [version(name) for name in ("sympy", "python-flint", "numpy")]
    except (OSError, PackageNotFoundError):
        return None
    return (digest.hexdigest(), ".".join(map(str, sys.version_info[:2])), *packages)


def _edited() -> bool:
    """True if a file of symgen has changed since this process started: the running code may then
    differ from the files.
    """
    try:
        return any(
            max(status.st_mtime, status.st_ctime) >= version.STARTED
            for status in map(os.stat, _files())
        )
    except OSError:
        return True


@cache
def _files() -> tuple[str, ...]:
    """Return every file that affects symgen's results, in a fixed order."""
    templates = next(
        (p for p in (_PACKAGE / "templates", _PACKAGE.parent / "templates") if p.is_dir()), None
    )
    return tuple(
        sorted(
            [
                *_files_below(_PACKAGE, (".py",)),
                *(_files_below(templates, (".j2",)) if templates else ()),
            ]
        )
    )


def _files_below(folder: str | Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the files below a folder that end in one of the suffixes."""
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from _files_below(entry.path, suffixes)
        elif entry.name.endswith(suffixes):
            yield entry.path

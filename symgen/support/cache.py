"""Results of earlier work, kept beside the compiled libraries: plain JSON under a key of everything that they depend on.

    $SYMGEN_CACHE, else $XDG_CACHE_HOME/symgen, else ~/.cache/symgen

An entry is a line that names the format, the SHA-256 of what follows, and JSON: the whole key, and the facts. It is read only if
it is the user's own, nobody else may write it, the hash fits, and the key is the same word for word. Anything else in the folder
(half a file, an entry of another version or user) is ignored, and the work is done again. Part of every key is a hash of symgen's
own source and templates, so an edited method never meets its old results. A process whose source was edited since it started
writes no entries and reads none. SYMGEN_CACHE_PROGRAMS=off turns all of this off. The folder kept/ may be deleted at any time.
When the entries take more than LARGEST bytes, those that were not used for longest are deleted.
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

LOG = logging.getLogger("symgen")  # what `-v` shows
FORMAT = b"symgen kept 1\n"
LARGEST = 512_000_000
LOOK_AGAIN = 0.05
"""Seconds for which files that have not been edited are taken to stay so: keys come several at a time."""
OTHERS = stat.S_IWGRP | stat.S_IWOTH
"""Bits of a mode by which others may write."""
_LONGEST_ENTRY = 200_000_000
_PACKAGE = Path(__file__).resolve().parent.parent

_unedited: tuple[float, float] | None = None
"""When this process began, and when it last saw that no file had been edited since."""
_memory: dict[str, str] | None = None
"""Facts by their keys, both as JSON, while `in_memory` lasts."""


@contextmanager
def in_memory() -> Iterator[dict[str, str]]:
    """Keep facts in memory too, and find them there first, in the body of a `with` statement; yields {key: facts} as JSON.

    Facts that another process kept may be added to the dictionary. This works where the disk is not used as well.
    """
    global _memory
    before = _memory
    _memory = {} if before is None else before
    try:
        yield _memory
    finally:
        _memory = before


def _in_memory(kind: str, key: tuple[Any, ...]) -> str | None:
    """The key of facts in memory, as JSON; None for a key that JSON does not take."""
    with suppress(TypeError, ValueError):
        return json.dumps([kind, *key])
    return None


def cache_folder() -> Path:
    """Where libraries are kept, and with them the entries; see above."""
    if own := os.environ.get("SYMGEN_CACHE"):
        return Path(own).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "symgen"


def find(kind: str, *key: Any) -> Any | None:
    """The facts that were kept under this key (text, numbers, None, and lists of them), or None."""
    if _memory is not None and (facts := _memory.get(_in_memory(kind, key) or "")) is not None:
        return json.loads(facts)
    whole = _key(kind, key)
    if whole is None:
        return None
    path = _place(whole)
    try:
        payload = _read(path)
        entry = None if payload is None else json.loads(payload)
        if not isinstance(entry, dict) or entry.get("key") != whole:
            return None
        with suppress(OSError):
            os.utime(path)  # used entries stay
        LOG.info("%s known from before, %s", kind, path)
        return entry.get("facts")
    except (OSError, ValueError, RecursionError):
        return None


def is_kept(kind: str, *key: Any) -> bool:
    """True if there is an entry under this key, whose facts need not be readable."""
    if _memory is not None and (_in_memory(kind, key) or "") in _memory:
        return True
    whole = _key(kind, key)
    return whole is not None and _place(whole).exists()


def keep(facts: Any, kind: str, *key: Any) -> None:
    """Keep `facts` (as JSON has them) under this key. If the disk refuses, nothing fails: the work is done again next time."""
    if _memory is not None and (name := _in_memory(kind, key)) is not None:
        with suppress(TypeError, ValueError):
            _memory[name] = json.dumps(facts, separators=(",", ":"), allow_nan=False)
    whole = _key(kind, key)
    if whole is None:
        return
    path = _place(whole)
    try:
        payload = json.dumps(
            {"key": whole, "facts": facts}, separators=(",", ":"), allow_nan=False
        ).encode()
        if len(payload) > _LONGEST_ENTRY:
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = path.parent.lstat()
        if not (
            stat.S_ISDIR(folder.st_mode) and alone(folder)
        ):  # a link, or somebody else can lay it out
            return
        handle, name = tempfile.mkstemp(prefix="keeping-", dir=path.parent)  # private to its owner
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(FORMAT + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
        _clear(path.parent, len(payload))
    except (OSError, ValueError):
        return


def _key(kind: str, key: tuple[Any, ...]) -> list[Any] | None:
    own = stamp()
    try:
        return None if own is None else [kind, own, *json.loads(json.dumps(key))]
    except (TypeError, ValueError):  # other code refuses such a value
        return None


def _place(whole: list[Any]) -> Path:
    name = hashlib.sha256(json.dumps(whole).encode()).hexdigest()
    return cache_folder() / "kept" / f"{whole[0]}-{name[:40]}.json"


def _read(path: Path) -> bytes | None:
    """The text behind the hash, if the hash fits and nobody else can have written it."""
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        known = os.fstat(file.fileno())
        if not own(known) or known.st_size > _LONGEST_ENTRY + 1000:
            return None
        data = file.read()
    start = len(FORMAT) + 65
    payload = data[start:]
    head = FORMAT + hashlib.sha256(payload).hexdigest().encode() + b"\n"
    return payload if data[:start] == head else None


def own(known: os.stat_result) -> bool:
    """Whether this is a file that belongs to the user and that nobody else may write."""
    return stat.S_ISREG(known.st_mode) and alone(known)


def alone(known: os.stat_result) -> bool:
    """Whether this belongs to the user and nobody else may write it."""
    return mine(known) and not (hasattr(os, "geteuid") and known.st_mode & OTHERS)


def mine(known: os.stat_result) -> bool:
    """Whether this belongs to the user; where no user has a number, everything does."""
    return not hasattr(os, "geteuid") or known.st_uid == os.geteuid()


_written = LARGEST
"""Bytes written since the folder was last looked through. A process looks once when it keeps its first entry."""


def _clear(folder: Path, more: int) -> None:
    """Delete the entries that were not used for longest, when all of them together are more than LARGEST bytes."""
    global _written
    _written += more
    if _written < LARGEST // 8:
        return
    _written = 0
    entries = []
    for entry in os.scandir(folder):
        with suppress(OSError):
            known = entry.stat(follow_symlinks=False)
            entries.append((known.st_mtime, known.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= LARGEST:
            return
        total -= size * 2  # some more than needed, so that the next call need not
        with suppress(OSError):
            os.unlink(path)


def stamp() -> list[str] | None:
    """What results depend on in symgen: its version, a hash of its source, the libraries it computes with. None turns keeping
    off.
    """
    if os.environ.get("SYMGEN_CACHE_PROGRAMS", "").lower() in ("off", "0", "no"):
        return None
    global _unedited
    found, look = _source(), (version.STARTED, monotonic() // LOOK_AGAIN)
    if found is None or (look != _unedited and _edited()):
        return None
    _unedited = look
    return [version.__version__, *found]


@cache
def _source() -> tuple[str, ...] | None:
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
    """Whether a file of symgen has changed since this process began to read them. The running code may then differ from the
    files.
    """
    try:
        return any(
            max(known.st_mtime, known.st_ctime) >= version.STARTED
            for known in map(os.stat, _files())
        )
    except OSError:
        return True


@cache
def _files() -> tuple[str, ...]:
    """Every file that decides what symgen computes, in one order."""
    templates = next(
        (p for p in (_PACKAGE / "templates", _PACKAGE.parent / "templates") if p.is_dir()), None
    )
    return tuple(
        sorted([*_below(_PACKAGE, (".py",)), *(_below(templates, (".j2",)) if templates else ())])
    )


def _below(folder: str | Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from _below(entry.path, suffixes)
        elif entry.name.endswith(suffixes):
            yield entry.path

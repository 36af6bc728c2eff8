"""A folder replaced whole or not at all, if symgen wrote the old one.

The texts go into a folder beside the place asked for, and the two change places at one stroke. What is the user's own goes along:

    .NAME.symgen.lock    whoever holds it writes; others wait
    .NAME.symgen/        what is under way, removed at the end
        journal          which names are symgen's in the old folder and in the new one: after it, nothing else can tell
        new/             the new folder, until it changes places
        old/             the old one, after that

A user's file is linked into the new folder and not moved: so it is missing at no instant, and an editor that has it open goes on
writing the same file. A user's folder cannot be linked and is moved, just before; copied, it would lose what a running build
writes into it.

Where the system cannot exchange two folders, two renames do it. A kill between them leaves no folder until the next run.
After a kill at any instant the next run finishes what the journal tells of, or undoes it (`_settle`). The same code clears up
after every error and after every success, so that there is one way only.
"""

from __future__ import annotations

import errno
import filecmp
import json
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from symgen.description import marks
from symgen.support import files as disk
from symgen.support.errors import RequestError

_ROUNDS = 20
"""How often an old folder is looked through for what came in meanwhile."""

_REMEDIES = {
    errno.ENOSPC: "make room or choose another folder",
    errno.EDQUOT: "make room or choose another folder",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
}
"""Remedy of each error of the system; another folder may help against any other."""


@dataclass(frozen=True)
class Journal:
    """Names of symgen's in the old folder, and in the new one; users' files linked from one to the other, with their inodes."""

    own: frozenset[str]
    new: frozenset[str]
    linked: Mapping[str, int]


def replace_folder(folder: Path, files: Mapping[str, str], name: str) -> None:
    """Make `folder` hold `files`, by exchanging it for a finished folder.

    A folder that symgen wrote has a manifest.json, or is one of functions alone (`marks`): of the latter the files of the
    robot called `name` are replaced. What else stands there goes along. Raises RequestError, the old folder untouched, when the
    place holds something that symgen did not write, when the disk refuses, or when another process keeps writing there.
    """
    work = folder
    made: list[Path] = []
    try:
        folder = _place(folder)
        work = folder.with_name(f".{folder.name}.symgen")
        made = [parent for parent in folder.parents if not os.path.lexists(parent)]
        os.makedirs(folder.parent, exist_ok=True)
        with disk.locked_file(work.with_name(f"{work.name}.lock")):
            _recover(work, folder)
            standing(folder, files, name)  # it refuses before anything is written
            _replace(work, folder, files, name)
    except OSError as error:
        rest = f"nothing was changed, {_REMEDIES.get(error.errno or 0, 'choose another folder')}"
        if work != folder and os.path.lexists(work):
            rest = f"what was begun stands in {work}, and the next run clears it up"
        for parent in made:
            with suppress(OSError):  # others may have put something there
                os.rmdir(parent)
        raise RequestError(f"{folder} cannot be written: {_reason(error)}; {rest}") from None


def _place(folder: Path) -> Path:
    """Return the path with links followed, so that a link's target is replaced and not the link.

    Raises RequestError for a place where no folder can stand.
    """
    for place in (folder, *folder.parents):
        if place.is_symlink() and _leads_to_itself(place):
            raise RequestError(
                f"{place} is a symbolic link that leads back to itself; remove it, or choose another folder"
            )
    folder = Path(os.path.realpath(folder))
    if folder == folder.parent:
        raise RequestError(
            f"{folder} is the root of the file system and cannot be replaced; name a folder, such as ./c"
        )
    if (stands := _working_directory_in(folder)) != "":
        raise RequestError(
            f"{folder} {stands} and cannot be replaced; name a folder inside the working directory, such as ./c"
        )
    obstacle = next(
        (place for place in folder.parents if place.exists() and not place.is_dir()), None
    )
    if obstacle is not None:
        raise RequestError(
            f"{obstacle} is not a folder, so that no folder {folder} can be made; choose another one"
        )
    return folder


def _replace(work: Path, folder: Path, files: Mapping[str, str], robot: str) -> None:
    landed = False
    try:
        _write(work, files)
        _take_along(work, folder, standing(folder, files, robot), files)
        _swap(work, folder)
        landed = True
        with suppress(FileNotFoundError):
            os.rename(work / "new", work / "old")  # from here the name says which it is
        disk.sync(work)
        disk.sync(folder.parent)
        _recover(work, folder)
    except BaseException as error:
        with suppress(OSError):  # the next run tries again
            _recover(work, folder)
        if landed and isinstance(error, OSError):
            rest = (
                f"what was there before stands in {work}, and the next run clears it up"
                if os.path.lexists(work)
                else "it may not be on disk yet, so write it again"
            )
            raise RequestError(
                f"{folder} is written, but the disk refused afterwards: {_reason(error)}; {rest}"
            ) from None
        raise


def _write(work: Path, files: Mapping[str, str]) -> None:
    """The new folder, on disk."""
    os.mkdir(work, 0o700)
    new = work / "new"
    os.mkdir(new)
    shared = sorted(shares(files))
    for name in shared:
        os.mkdir(new / name)
    for name, text in files.items():
        _write_file(new / name, text)
    for name in [*files, *shared]:
        disk.sync(new / name)


def _write_file(path: Path, text: str) -> None:
    rest = memoryview(text.encode())
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        while rest:
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)


def _take_along(work: Path, folder: Path, found: Standing, files: Collection[str]) -> None:
    """Bring what is the user's into the new folder, once the journal is on disk."""
    linked = {}
    for name in found.foreign:
        with suppress(FileNotFoundError):  # the user removed it meanwhile
            known = os.lstat(folder / name)
            if not stat.S_ISDIR(known.st_mode):
                linked[name] = known.st_ino
    part = work / "journal.part"
    _write_file(
        part, json.dumps({"own": sorted(found.own), "new": sorted(files), "linked": linked})
    )
    disk.sync(part)
    os.rename(part, work / "journal")
    disk.sync(work)
    new = work / "new"
    for name in found.foreign:
        (new / name).parent.mkdir(exist_ok=True)
        if name in linked:
            with suppress(
                OSError, NotImplementedError
            ):  # another user's file, or a disk without links
                os.link(folder / name, new / name, follow_symlinks=False)
                continue
        with suppress(FileNotFoundError):
            os.rename(folder / name, new / name)
    for path in [*(new / name for name in sorted(shares(found.foreign))), new]:
        disk.sync(path)


def _swap(work: Path, folder: Path) -> None:
    """Let the new folder take its place, and the old one that of the new."""
    new = work / "new"
    if disk.path_exists(folder):
        if disk.exchange(new, folder):
            return
        os.rename(folder, work / "old")
    os.rename(new, folder)


def _recover(work: Path, folder: Path) -> None:
    """Clear up what is under way or was left: afterwards the old folder or the new one stands in its place, and nothing beside.

    It asks the disk and not the program, since a kill or an interruption may fall between any two steps.
    """
    if not disk.path_exists(work):
        return
    journal = _journal(work)
    if journal is None:
        with suppress(FileNotFoundError):  # nothing but text of symgen's yet
            shutil.rmtree(work / "new")
    else:
        if disk.path_exists(work / "old"):
            if disk.path_exists(folder):
                _settle(work / "old", folder, journal.own, journal.linked)
            else:
                os.rename(work / "old", folder)
        if disk.path_exists(work / "new"):
            own = journal.own | journal.new  # the old folder or the new one
            if not disk.path_exists(folder) and not all(
                mine for _, mine in entries(work / "new", own)
            ):
                os.rename(work / "new", folder)
            else:
                _settle(work / "new", folder, own, journal.linked)
        os.unlink(work / "journal")
    with suppress(FileNotFoundError):
        os.unlink(work / "journal.part")
    os.rmdir(work)


def _settle(left: Path, folder: Path, own: Collection[str], linked: Mapping[str, int]) -> None:
    """Empty the folder `left` and remove it: what is symgen's is deleted, what is the user's goes to `folder`.

    It is not deleted as a tree: a program that still stands in it may bring forth one more file.
    """
    for _ in range(_ROUNDS):
        for name, mine in entries(left, own):
            with suppress(FileNotFoundError):
                if mine:
                    os.unlink(left / name)
                else:
                    _bring(left / name, folder / name, linked.get(name))
        try:
            for shared in shares(own):
                with suppress(FileNotFoundError, NotADirectoryError):
                    os.rmdir(left / shared)
            os.rmdir(left)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    raise OSError(errno.ENOTEMPTY, f"another program keeps writing into {left}")


def _bring(path: Path, place: Path, inode: int | None) -> None:
    """Move a user's entry to its place, unless it stands there already. Of two texts neither is lost."""
    if not disk.path_exists(place):
        place.parent.mkdir(exist_ok=True)
        os.rename(path, place)
        return
    here, there = os.lstat(path), os.lstat(place)
    if os.path.samestat(here, there):
        os.unlink(path)
    elif there.st_ino == inode and not stat.S_ISDIR(here.st_mode):
        os.replace(path, place)  # saved anew in the old folder, after the older text was linked
    elif (
        stat.S_ISREG(here.st_mode)
        and stat.S_ISREG(there.st_mode)
        and filecmp.cmp(path, place, shallow=False)
    ):
        os.unlink(path)
    else:
        os.rename(path, _free(place))


def _free(place: Path) -> Path:
    count, path = 1, place.with_name(f"{place.name}.recovered")
    while disk.path_exists(path):
        count += 1
        path = place.with_name(f"{place.name}.recovered-{count}")
    return path


def _journal(work: Path) -> Journal | None:
    try:
        known = json.loads((work / "journal").read_bytes())
        return Journal(frozenset(known["own"]), frozenset(known["new"]), dict(known["linked"]))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        raise OSError(errno.EINVAL, f"{work / 'journal'} is damaged") from None


def _leads_to_itself(link: Path) -> bool:
    try:
        os.stat(link)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _working_directory_in(folder: Path) -> str:
    """Return in words that `folder` is or holds the working directory; "" for any other folder."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it was removed
        return ""
    return (
        "is the working directory"
        if folder == here
        else "holds the working directory"
        if here.is_relative_to(folder)
        else ""
    )


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


# -- names that symgen gave, and the user's --
#
# A folder that symgen wrote has a manifest.json, which names its files, or is one of functions alone (`marks`).


@dataclass(frozen=True)
class Standing:
    """Contents of a place: the names that symgen gave (`own`), and the entries that are the user's (`foreign`)."""

    own: frozenset[str] = frozenset()
    foreign: tuple[str, ...] = ()


def standing(folder: Path, files: Collection[str], robot: str) -> Standing:
    """Return the contents of `folder` before `files` of `robot` replace symgen's. RequestError where symgen did not write the folder.

    Also where a file of the user's own stands under one of the names. Raises OSError where the folder cannot be listed.
    """
    if not disk.path_exists(folder):
        return Standing()
    if not folder.is_dir():
        raise RequestError(
            f"{folder} is a file, not a folder; choose a folder that does not exist yet"
        )
    if not os.listdir(folder):
        return Standing()
    own = frozenset(_written(folder, robot, alone="manifest.json" not in files))
    foreign = tuple(name for name, mine in entries(folder, own) if not mine)
    clash = next(
        (
            name
            for name in foreign
            if name in files or any(file.startswith(f"{name}/") for file in files)
        ),
        None,
    )
    if clash is not None:
        raise RequestError(
            f"{folder / clash} was not written by symgen and would be replaced; move it away"
        )
    return Standing(own, foreign)


def entries(folder: Path, own: Collection[str]) -> Iterator[tuple[str, bool]]:
    """The entries of a folder, each with whether it is symgen's. Of a folder that holds files of `own`, the entries of that.

    A folder is never symgen's, whatever its name: a user made it.
    """
    shared = shares(own)
    for name in sorted(os.listdir(folder)):
        inside = name in shared and _is_folder(folder / name)
        for entry in (
            sorted(f"{name}/{child}" for child in os.listdir(folder / name)) if inside else [name]
        ):
            yield entry, entry in own and not _is_folder(folder / entry)


def shares(own: Collection[str]) -> set[str]:
    """The folders in which files of `own` stand."""
    return {name.partition("/")[0] for name in own if "/" in name}


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _written(folder: Path, robot: str, alone: bool) -> set[str]:
    """The entries of the folder that symgen wrote; RequestError where that cannot be decided.

    Functions of other robots stay. Where functions `alone` are to be written, they may be there too.
    """
    strange = RequestError(
        f"{folder} holds files that symgen did not write; choose another folder, or an empty one"
    )
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return {str(name) for name in manifest["files"]} if manifest["symgen"] else set()
    except FileNotFoundError:
        found = marks.functions_alone(folder)
    except (IsADirectoryError, ValueError, TypeError, KeyError):
        raise strange from None
    if not found:
        raise strange
    if robot not in found and not alone:
        raise RequestError(
            f"{folder} holds the functions of '{min(found)}' alone; choose another folder, or an empty one"
        )
    return found.get(robot, set())

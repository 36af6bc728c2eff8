"""Atomic replacement of a folder that symgen wrote: the new folder appears whole, or the old one
stays.

The texts are written into a folder beside the destination, and the two folders are exchanged in one
step. The user's own entries move along:

    .NAME.symgen.lock    held by the process that writes; others wait
    .NAME.symgen/        work in progress, removed at the end
        journal          names of symgen's files in the old folder and in the new one; no other
                         place records them
        new/             the new folder, until the exchange
        old/             the old folder, after the exchange

A user's file is hard-linked into the new folder, not moved. So it is never missing, and an editor
that has it open continues to write the same file. A user's folder cannot be linked; it is moved
just before the exchange. A copy would lose what a running build writes into it.

If the system cannot exchange two folders, two renames do it. A kill between them leaves no folder
until the next run. After a kill at any instant the next run completes or undoes the work that the
journal records (`_settle`). The same code cleans up after every error and after every success, so
there is one path only.
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
"""Passes over an old folder for entries that appeared meanwhile."""

_REMEDIES = {
    errno.ENOSPC: "make room or choose another folder",
    errno.EDQUOT: "make room or choose another folder",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
}
"""Remedy of each error of the system; for any other error, another folder."""


@dataclass(frozen=True)
class Journal:
    """Names of symgen's files in the old folder and in the new one, and the inodes of users' files
    that were linked.
    """

    old: frozenset[str]
    new: frozenset[str]
    linked: Mapping[str, int]


def replace_folder(folder: Path, files: Mapping[str, str], name: str) -> None:
    """Replace `folder` by a finished folder that holds `files`.

    A folder that symgen wrote has a manifest.json, or holds only functions (`marks`); in the latter
    the files of the robot `name` are replaced. All other entries move along. Raises RequestError,
    with the old folder untouched, if symgen did not write the folder, if the disk refuses, or if
    another process keeps writing there.
    """
    work_folder = folder
    new_parents: list[Path] = []
    try:
        folder = _resolved_folder(folder)
        work_folder = folder.with_name(f".{folder.name}.symgen")
        new_parents = [parent for parent in folder.parents if not os.path.lexists(parent)]
        os.makedirs(folder.parent, exist_ok=True)
        with disk.locked_file(work_folder.with_name(f"{work_folder.name}.lock")):
            _recover(work_folder, folder)
            current_contents(folder, files, name)  # raises before anything is written
            _replace(work_folder, folder, files, name)
    except OSError as error:
        consequence = (
            f"nothing was changed, {_REMEDIES.get(error.errno or 0, 'choose another folder')}"
        )
        if work_folder != folder and os.path.lexists(work_folder):
            consequence = f"unfinished work is in {work_folder}, and the next run cleans it up"
        for parent in new_parents:
            with suppress(OSError):  # another process may have added files
                os.rmdir(parent)
        raise RequestError(f"{folder} cannot be written: {_reason(error)}; {consequence}") from None


def _resolved_folder(folder: Path) -> Path:
    """Return the path with links followed, so that the target of a link is replaced and not the
    link.

    Raises RequestError for a path at which no folder can be.
    """
    for path in (folder, *folder.parents):
        if path.is_symlink() and _leads_to_itself(path):
            raise RequestError(
                f"{path} is a symbolic link that leads back to itself; remove it, or choose another"
                " folder"
            )
    folder = Path(os.path.realpath(folder))
    if folder == folder.parent:
        raise RequestError(
            f"{folder} is the root of the file system and cannot be replaced; name a folder, such"
            " as ./c"
        )
    if (relation := _working_directory_in(folder)) != "":
        raise RequestError(
            f"{folder} {relation} and cannot be replaced; name a folder inside the working"
            " directory, such as ./c"
        )
    obstacle = next((path for path in folder.parents if path.exists() and not path.is_dir()), None)
    if obstacle is not None:
        raise RequestError(
            f"{obstacle} is not a folder, so that no folder {folder} can be made; choose"
            " another one"
        )
    return folder


def _replace(work_folder: Path, folder: Path, files: Mapping[str, str], robot: str) -> None:
    """Write the new folder, exchange it for the old one, and clean up."""
    landed = False
    try:
        _write(work_folder, files)
        _take_along(work_folder, folder, current_contents(folder, files, robot), files)
        _swap(work_folder, folder)
        landed = True
        with suppress(FileNotFoundError):
            os.rename(
                work_folder / "new", work_folder / "old"
            )  # its name now marks it as the old folder
        disk.sync(work_folder)
        disk.sync(folder.parent)
        _recover(work_folder, folder)
    except BaseException as error:
        with suppress(OSError):  # the next run tries again
            _recover(work_folder, folder)
        if landed and isinstance(error, OSError):
            consequence = (
                f"the old folder is in {work_folder}, and the next run cleans it up"
                if os.path.lexists(work_folder)
                else "it may not be on disk yet, so write it again"
            )
            raise RequestError(
                f"{folder} is written, but the disk refused afterwards: {_reason(error)};"
                f" {consequence}"
            ) from None
        raise


def _write(work_folder: Path, files: Mapping[str, str]) -> None:
    """Write the new folder to disk."""
    os.mkdir(work_folder, 0o700)
    new = work_folder / "new"
    os.mkdir(new)
    shared = sorted(shares(files))
    for name in shared:
        os.mkdir(new / name)
    for name, text in files.items():
        _write_file(new / name, text)
    for name in [*files, *shared]:
        disk.sync(new / name)


def _write_file(path: Path, text: str) -> None:
    """Write a new file completely."""
    unwritten = memoryview(text.encode())
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        while unwritten:
            unwritten = unwritten[os.write(handle, unwritten) :]
    finally:
        os.close(handle)


def _take_along(
    work_folder: Path, folder: Path, contents: CurrentContents, files: Collection[str]
) -> None:
    """Bring the user's entries into the new folder, after the journal is on disk."""
    linked = {}
    for name in contents.foreign:
        with suppress(FileNotFoundError):  # the user removed it meanwhile
            status = os.lstat(folder / name)
            if not stat.S_ISDIR(status.st_mode):
                linked[name] = status.st_ino
    unfinished_journal = work_folder / "journal.part"
    _write_file(
        unfinished_journal,
        json.dumps({"own": sorted(contents.symgens), "new": sorted(files), "linked": linked}),
    )
    disk.sync(unfinished_journal)
    os.rename(unfinished_journal, work_folder / "journal")
    disk.sync(work_folder)
    new = work_folder / "new"
    for name in contents.foreign:
        (new / name).parent.mkdir(exist_ok=True)
        if name in linked:
            with suppress(
                OSError, NotImplementedError
            ):  # another user's file, or a disk without links
                os.link(folder / name, new / name, follow_symlinks=False)
                continue
        with suppress(FileNotFoundError):
            os.rename(folder / name, new / name)
    for path in [*(new / name for name in sorted(shares(contents.foreign))), new]:
        disk.sync(path)


def _swap(work_folder: Path, folder: Path) -> None:
    """Exchange the new folder and the old one."""
    new = work_folder / "new"
    if disk.path_exists(folder):
        if disk.exchange(new, folder):
            return
        os.rename(folder, work_folder / "old")
    os.rename(new, folder)


def _recover(work_folder: Path, folder: Path) -> None:
    """Complete or undo work in progress. Afterwards the destination holds the old or the new
    folder, and nothing remains beside it.

    The state of the disk decides, not that of the program, because a kill or an interruption may
    come between any two steps.
    """
    if not disk.path_exists(work_folder):
        return
    journal = _journal(work_folder)
    if journal is None:
        with suppress(FileNotFoundError):  # it has only files of symgen
            shutil.rmtree(work_folder / "new")
    else:
        if disk.path_exists(work_folder / "old"):
            if disk.path_exists(folder):
                _settle(work_folder / "old", folder, journal.old, journal.linked)
            else:
                os.rename(work_folder / "old", folder)
        if disk.path_exists(work_folder / "new"):
            names = journal.old | journal.new  # the old folder or the new one
            if not disk.path_exists(folder) and not all(
                is_symgens for _, is_symgens in entries(work_folder / "new", names)
            ):
                os.rename(work_folder / "new", folder)
            else:
                _settle(work_folder / "new", folder, names, journal.linked)
        os.unlink(work_folder / "journal")
    with suppress(FileNotFoundError):
        os.unlink(work_folder / "journal.part")
    os.rmdir(work_folder)


def _settle(
    leftover: Path, folder: Path, names: Collection[str], linked: Mapping[str, int]
) -> None:
    """Empty the folder `leftover` and remove it.

    symgen's files are deleted, and the user's entries are moved to `folder`.

    The folder is not deleted as a tree, because a program that still works in it may create one
    more file.
    """
    for _ in range(_ROUNDS):
        for name, is_symgens in entries(leftover, names):
            with suppress(FileNotFoundError):
                if is_symgens:
                    os.unlink(leftover / name)
                else:
                    _bring(leftover / name, folder / name, linked.get(name))
        try:
            for shared in shares(names):
                with suppress(FileNotFoundError, NotADirectoryError):
                    os.rmdir(leftover / shared)
            os.rmdir(leftover)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    raise OSError(errno.ENOTEMPTY, f"another program keeps writing into {leftover}")


def _bring(path: Path, destination: Path, inode: int | None) -> None:
    """Move a user's entry to its destination, unless it is already there. Of two different texts
    both are kept.
    """
    if not disk.path_exists(destination):
        destination.parent.mkdir(exist_ok=True)
        os.rename(path, destination)
        return
    source_status, destination_status = os.lstat(path), os.lstat(destination)
    if os.path.samestat(source_status, destination_status):
        os.unlink(path)
    elif destination_status.st_ino == inode and not stat.S_ISDIR(source_status.st_mode):
        os.replace(
            path, destination
        )  # saved anew in the old folder, after the older text was linked
    elif (
        stat.S_ISREG(source_status.st_mode)
        and stat.S_ISREG(destination_status.st_mode)
        and filecmp.cmp(path, destination, shallow=False)
    ):
        os.unlink(path)
    else:
        os.rename(path, _free(destination))


def _free(existing_path: Path) -> Path:
    """Return a free name beside a path, for the second of two different texts."""
    count, path = 1, existing_path.with_name(f"{existing_path.name}.recovered")
    while disk.path_exists(path):
        count += 1
        path = existing_path.with_name(f"{existing_path.name}.recovered-{count}")
    return path


def _journal(work_folder: Path) -> Journal | None:
    """Return the journal, or None if there is none. OSError if it is damaged."""
    try:
        facts = json.loads((work_folder / "journal").read_bytes())
        return Journal(frozenset(facts["own"]), frozenset(facts["new"]), dict(facts["linked"]))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        raise OSError(errno.EINVAL, f"{work_folder / 'journal'} is damaged") from None


def _leads_to_itself(link: Path) -> bool:
    """True if a symbolic link leads back to itself."""
    try:
        os.stat(link)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _working_directory_in(folder: Path) -> str:
    """Return in words that `folder` is or contains the working directory; "" for other folders."""
    try:
        working_directory = Path.cwd()
    except FileNotFoundError:  # it was removed
        return ""
    return (
        "is the working directory"
        if folder == working_directory
        else "holds the working directory"
        if working_directory.is_relative_to(folder)
        else ""
    )


def _reason(error: OSError) -> str:
    """Return the reason of an error of the system."""
    return error.strerror or str(error)


# -- names that symgen gave, and the user's --
#
# A folder that symgen wrote has a manifest.json, which names its files, or is one of functions
# alone (`marks`).


@dataclass(frozen=True)
class CurrentContents:
    """Contents of a folder: names that symgen gave (`symgens`), and entries of the user
    (`foreign`).
    """

    symgens: frozenset[str] = frozenset()
    foreign: tuple[str, ...] = ()


def current_contents(folder: Path, files: Collection[str], robot: str) -> CurrentContents:
    """Return the contents of `folder` before `files` of `robot` replace symgen's.

    Raises RequestError if symgen did not write the folder, or if a file of the user has one of the
    names, and OSError if the folder cannot be listed.
    """
    if not disk.path_exists(folder):
        return CurrentContents()
    if not folder.is_dir():
        raise RequestError(
            f"{folder} is a file, not a folder; choose a folder that does not exist yet"
        )
    if not os.listdir(folder):
        return CurrentContents()
    symgens = frozenset(_written(folder, robot, functions_only="manifest.json" not in files))
    foreign = tuple(name for name, is_symgens in entries(folder, symgens) if not is_symgens)
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
    return CurrentContents(symgens, foreign)


def entries(folder: Path, names: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Return the entries of a folder, each with True if it is symgen's. A folder that contains
    files of `names` is listed too.

    A folder itself is never symgen's, because a user made it.
    """
    shared = shares(names)
    for name in sorted(os.listdir(folder)):
        inside = name in shared and _is_folder(folder / name)
        for entry in (
            sorted(f"{name}/{child}" for child in os.listdir(folder / name)) if inside else [name]
        ):
            yield entry, entry in names and not _is_folder(folder / entry)


def shares(names: Collection[str]) -> set[str]:
    """Return the folders that contain files of `names`."""
    return {name.partition("/")[0] for name in names if "/" in name}


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _written(folder: Path, robot: str, functions_only: bool) -> set[str]:
    """Return the entries of the folder that symgen wrote. RequestError if that cannot be decided.

    Functions of other robots stay. With `functions_only`, the folder may hold functions of this
    robot too.
    """
    strange = RequestError(
        f"{folder} holds files that symgen did not write; choose another folder, or an empty one"
    )
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return {str(name) for name in manifest["files"]} if manifest["symgen"] else set()
    except FileNotFoundError:
        functions = marks.functions_alone(folder)
    except (IsADirectoryError, ValueError, TypeError, KeyError):
        raise strange from None
    if not functions:
        raise strange
    if robot not in functions and not functions_only:
        raise RequestError(
            f"{folder} holds the functions of '{min(functions)}' alone; choose another folder, or"
            " an empty one"
        )
    return functions.get(robot, set())

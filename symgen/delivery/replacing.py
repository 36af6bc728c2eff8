"""A folder replaced whole or not at all, if symgen wrote the old one.

The texts go into a new folder beside the place asked for, and the two are swapped by renaming. A full disk or an interruption
leaves the old folder, or the whole new one.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from symgen.description import marks
from symgen.errors import RequestError


def replace_folder(folder: Path, files: Mapping[str, str], name: str) -> None:
    """Make `folder` hold `files`, by renaming a finished folder into its place.

    A folder that symgen wrote has a manifest.json, or is one of functions alone (`marks`): of the latter the files of the
    robot called `name` are replaced. What else stands there is moved along. Raises RequestError, the old folder
    untouched, when the place holds something that symgen did not write or when the disk refuses.
    """
    folder = folder.resolve()  # a link is followed, so that its target is replaced and not the link
    if Path.cwd().is_relative_to(folder):
        raise RequestError(f"{folder} is where you stand and cannot be replaced; name a folder inside it, such as ./c")
    try:
        kept = _foreign(folder, files, name)
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.new-", dir=folder.parent))
    except OSError as error:
        raise _refusal(folder, error) from None
    old = new.with_name(new.name.replace(".new-", ".old-"))
    try:
        for name, text in files.items():
            _write_file(new / name, text)
        new.chmod(0o777 & ~_umask())  # mkdtemp makes a private folder
        if folder.exists():
            os.rename(folder, old)
        for name in kept:
            (new / name).parent.mkdir(exist_ok=True)
            os.rename(old / name, new / name)
        os.rename(new, folder)
    except BaseException as error:
        _put_back(folder, old, new, kept)
        if isinstance(error, OSError):
            raise _refusal(folder, error) from None
        raise
    finally:
        # The disk shows how far it came. With both there the undoing failed as well, and nothing is deleted.
        if not new.exists():
            shutil.rmtree(old, ignore_errors=True)
        elif not old.exists():
            shutil.rmtree(new, ignore_errors=True)


def _write_file(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _put_back(folder: Path, old: Path, new: Path, kept: Sequence[str]) -> None:
    """Undo what was renamed. It asks the disk and not the program, since an interruption may fall between the two."""
    if folder.exists() or not old.exists():
        return
    for name in kept:
        if not os.path.lexists(old / name) and os.path.lexists(new / name):
            os.rename(new / name, old / name)
    os.rename(old, folder)


def _foreign(folder: Path, files: Mapping[str, str], robot: str) -> list[str]:
    """The entries of the folder that are not symgen's; RequestError when symgen did not write the folder."""
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise RequestError(f"{folder} is a file; choose a folder that does not exist yet")
    if not any(folder.iterdir()):
        return []
    own = _written(folder, robot, alone="manifest.json" not in files)
    foreign = [name for name in _present(folder, {name.partition("/")[0] for name in own if "/" in name}) if name not in own]
    clash = next((name for name in foreign if name in files or any(file.startswith(f"{name}/") for file in files)), None)
    if clash is not None:
        raise RequestError(f"{folder / clash} was not written by symgen and would be replaced; move it away")
    return foreign


def _written(folder: Path, robot: str, alone: bool) -> set[str]:
    """The entries of the folder that symgen wrote; RequestError where that cannot be decided.

    Functions of other robots stay. Where functions `alone` are to be written, they may be there too.
    """
    strange = RequestError(f"{folder} holds files that symgen did not write; choose another folder, or an empty one")
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return {str(name) for name in manifest["files"]} if manifest["symgen"] else set()
    except FileNotFoundError:
        found = marks.functions_alone(folder)
    except (OSError, ValueError, TypeError, KeyError):
        raise strange from None
    if not found:
        raise strange
    if robot not in found and not alone:
        raise RequestError(f"{folder} holds the functions of '{min(found)}' alone; choose another folder, or an empty one")
    return found.get(robot, set())


def _present(folder: Path, shared: set[str]) -> list[str]:
    """The entries of the folder. For a folder in it that holds files of symgen's (`shared`), the entries of that."""
    found = []
    for path in sorted(folder.iterdir()):
        inside = path.name in shared and path.is_dir() and not path.is_symlink()
        found += [f"{path.name}/{child.name}" for child in sorted(path.iterdir())] if inside else [path.name]
    return found


def _refusal(folder: Path, error: OSError) -> RequestError:
    reason = error.strerror or str(error)
    return RequestError(f"{folder} cannot be written: {reason}; nothing was changed, make room or choose another folder")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

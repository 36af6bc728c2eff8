"""Generated folders that commands judge, by a path or by the name of a built-in robot."""

from __future__ import annotations

import os
from pathlib import Path

from symgen.description.loading import is_text
from symgen.description.namesakes import is_builtin, is_folder, namesake


def folder_to_judge(robot: str | os.PathLike[str]) -> Path | None:
    """Return the generated folder that `robot` names; None for a built-in robot or a file.

    A path names a folder itself. The name of a built-in robot names the folder of that name in the
    working directory if symgen generated it.
    """
    if is_text(robot):
        return None
    if isinstance(robot, str) and is_builtin(robot):
        twin = namesake(robot)
        return (
            twin.folder
            if twin is not None and twin.generated and twin.folder.name == robot
            else None
        )
    path = Path(os.fsdecode(robot))
    return path if is_folder(path) else None

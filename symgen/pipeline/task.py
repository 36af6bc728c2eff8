"""Which rows of a task a robot can have: of the frame's Jacobian, those that its joints move one by one."""

from __future__ import annotations

from functools import lru_cache

from symgen.description.tip import tip
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import contacts
from symgen.vocabulary.arrays import TASK_ROWS
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions


def refusal(mechanism: Mechanism, function: str, options: ProgramOptions) -> str | None:
    """Why a function of a task, or of contacts, does not exist for those named, in one sentence; None when it does."""
    if not FUNCTIONS[function].counts("NK"):
        return contacts.refusal(mechanism, function, options.contacts)
    frame = options.frames[0] if options.frames else tip(mechanism)
    found, asked = _independent(mechanism, frame, options.rows), options.rows
    if len(found) == len(asked):
        return None
    named = ",".join(TASK_ROWS[row] for row in asked)
    where = f"{function} of '{mechanism.name}' for the rows {named} of '{frame}' is singular in every state"
    if not found:
        return f"{where}: no joint moves them; name another frame or other rows"
    return f"{where}; its joints can have --task-rows {','.join(TASK_ROWS[row] for row in found)}"


@lru_cache(maxsize=64)
def _independent(mechanism: Mechanism, frame: str, rows: tuple[int, ...]) -> tuple[int, ...]:
    from symgen.reference.mechanics import Reference  # NumPy, which a cached Program does without
    from symgen.reference.task import independent_rows

    return independent_rows(
        lambda scalars: Reference(mechanism, scalars, frame=frame), mechanism, rows
    )

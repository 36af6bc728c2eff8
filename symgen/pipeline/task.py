"""Independent task rows of a robot: the rows of the frame's Jacobian that its joints move
independently.
"""

from __future__ import annotations

from functools import lru_cache

from symgen.description.tip import tip
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import contacts
from symgen.vocabulary.arrays import TASK_ROWS
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import ProgramOptions


def refusal(mechanism: Mechanism, function: str, options: ProgramOptions) -> str | None:
    """Return why a function of task rows or contacts does not exist for the named ones, in one
    sentence; None if it exists.
    """
    if not FUNCTIONS[function].counts("NK"):
        return contacts.refusal(mechanism, function, options.contacts)
    frame = options.frames[0] if options.frames else tip(mechanism)
    independent, requested = _independent(mechanism, frame, options.rows), options.rows
    if len(independent) == len(requested):
        return None
    named = ",".join(TASK_ROWS[row] for row in requested)
    where = (
        f"{function} of '{mechanism.name}' for the rows {named} of '{frame}' is singular in every"
        " state"
    )
    if not independent:
        return f"{where}: no joint moves them; name another frame or other rows"
    return (
        f"{where}; use the independent rows --task-rows"
        f" {','.join(TASK_ROWS[row] for row in independent)}"
    )


@lru_cache(maxsize=64)
def _independent(mechanism: Mechanism, frame: str, rows: tuple[int, ...]) -> tuple[int, ...]:
    from symgen.reference.mechanics import Reference  # NumPy, which a cached Program does without
    from symgen.reference.task import independent_rows

    return independent_rows(
        lambda scalars: Reference(mechanism, scalars, frame=frame), mechanism, rows
    )

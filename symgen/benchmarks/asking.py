"""Which functions `compare` is asked for, and by which methods."""

from __future__ import annotations

from collections.abc import Iterable

from symgen import methods
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline import build, task
from symgen.support.errors import RequestError
from symgen.vocabulary import derivatives
from symgen.vocabulary.functions import BY_DEFAULT, FUNCTIONS
from symgen.vocabulary.names import named
from symgen.vocabulary.options import Links, ProgramOptions, Rows


def asked(
    mechanism: Mechanism, words: Iterable[str] | None, task_rows: Rows = None, contact: Links = None
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """({function: methods}, {function: why not}) of "FUNCTION" or "FUNCTION=METHOD,METHOD" (None: where there is a choice).

    Raises RequestError for unknown names, for a function asked for by name that this robot cannot have, and for `task_rows` where
    none is about a task.
    """
    options = ProgramOptions(task_rows=task_rows, contact=contact)
    if words is None:
        if task_rows is not None:
            _refuse_without_task(())
        several = [name for name in BY_DEFAULT if len(methods.offered(name, mechanism)) > 1]
        wanted = build.requested(mechanism, None)
        why = {
            name: build.refusal(mechanism, name, None) or "on request only, with -f"
            for name in several
            if name not in wanted
        }
        return {name: methods.offered(name, mechanism) for name in several if name in wanted}, why
    chosen: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, _, listed = word.partition("=")
        function = named(name)
        base = derivatives.of(function)
        names = tuple(dict.fromkeys(filter(None, listed.split(",")))) or methods.offered(
            base, mechanism
        )
        for (
            method
        ) in names:  # an unknown method, or one that does not compute it, is refused by name
            if listed or len(names) == 1 or methods.composition(method, base) is None:
                methods.derivation(method, base)
        refused = build.refusal(mechanism, function, None) or task.refusal(
            mechanism, function, options
        )
        if refused is not None:
            raise RequestError(refused)
        chosen[function] = names
    if task_rows is not None:
        _refuse_without_task(chosen)
    return {name: chosen[name] for name in FUNCTIONS.in_order(chosen)}, {}


def _refuse_without_task(functions: Iterable[str]) -> None:
    if not any(FUNCTIONS[name].counts("NK") for name in functions):
        of_tasks = [name for name, function in FUNCTIONS.items() if function.counts("NK")]
        raise RequestError(
            "none of these functions is about a task, so --task-rows does not apply; name "
            f"{' or '.join(of_tasks)} with -f"
        )

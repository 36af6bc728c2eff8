"""--where: the lines of the generated C that compute a quantity, as `symgen generate` prints them without options.

A result is found by its stores and the locals behind them, a method's letter by the names that its derivation gives. The C
stands in the chosen frames with inertia moved to the parents (`symgen show`), so a block's numbers there may differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from symgen import methods
from symgen.derivation import constants as k
from symgen.emission import printer
from symgen.inspection.catalogue import Choice, Result, choose
from symgen.inspection.entries import Answer, answer, derived_layout, of_letter
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.pipeline.build import program
from symgen.pipeline.derive import models
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import HOST, Links, Rows, TextOptions
from symgen.vocabulary.target import Target

COUNTS = "these lines are the C's, whose names count links, rows and columns from 1 and whose arrays count from 0"
_STORE = re.compile(r"\s*(\w+\[\d+\]) = (.*);")


def where(
    mechanism: Mechanism,
    what: str,
    method: str | None = None,
    frame: Links = None,
    task_rows: Rows = None,
) -> tuple[str, tuple[str, ...]]:
    """(the lines with their file and numbers, notes); RequestError when the C has none of them."""
    choice = choose(mechanism, what, method, task_rows)
    if isinstance(choice.found, Result):
        found = answer(mechanism, choice, frame, task_rows=task_rows)
        return _lines(mechanism, found.program, _stored(mechanism, found, choice.found)), (
            *found.notes,
            COUNTS,
        )
    return _of_letter(mechanism, choice)


def _of_letter(mechanism: Mechanism, choice: Choice) -> tuple[str, tuple[str, ...]]:
    method = choice.method
    assert method is not None
    assert not isinstance(choice.found, Result)
    plain, regrouped = models(mechanism)
    with k.precision():
        model = regrouped if methods.find(method).regroups else plain
        found = of_letter(
            mechanism,
            choice,
            choice.found,
            derived_layout(mechanism, method, choice.words.letter, model, lambda _, block: block),
        )
    names = [
        found.program.rows[r].name
        for r in dict.fromkeys(found.rows)
        if found.program.rows[r].op not in ("const", "input")
    ]
    for function in (
        f for f in FUNCTIONS if method in methods.providers(f) and not FUNCTIONS[f].counts("NT")
    ):
        made = program(mechanism, function, method)
        present = {row.name for row in made.rows if row.name}
        if kept := [name for name in names if name in present]:
            gone = len(names) - len(kept)
            notes = [
                "the C computes in the frames that 'symgen show' lists"
                + (", with inertia moved to the parents" if methods.find(method).regroups else "")
            ]
            if gone:
                notes.append(
                    f"{gone} of the {len(names)} entries of {found.label} have no line of their own: the passes merged "
                    "them into others"
                )
            return _lines(mechanism, made, set(kept)), (*notes, COUNTS)
    raise RequestError(
        f"no line of the C by {method} is {found.label}: it is constant, or the passes merged it into others; "
        "--form recursive shows its equations"
    )


def _stored(mechanism: Mechanism, found: Answer, result: Result) -> set[str]:
    """The stores of the rows asked for: M[5]."""
    port = found.program.outputs[result.place]
    name = printer().parameters(found.program, _target(mechanism))[port.name]
    return {f"{name}[{element}]" for element, row in enumerate(port.rows) if row in found.rows}


def _target(mechanism: Mechanism) -> Target:
    return Target(
        mechanism.name, mechanism.sizes, TextOptions(HOST), source_sha256=mechanism.source_sha256
    )


def _lines(mechanism: Mechanism, made: Program, found: set[str]) -> str:
    """`FILE:FIRST-LAST:` and the lines, run by run: the stores and the locals in `found`, and what the stores store."""
    target = _target(mechanism)
    backend = printer()
    text = backend.source(made, target).splitlines()
    local = re.compile(backend.language.declared(made.real, r"(\w+)", ".*"))
    stores = {
        n: m[2]
        for n, line in enumerate(text, 1)
        if (m := _STORE.fullmatch(line)) is not None and m[1] in found
    }
    names = found | set(stores.values())
    hits = sorted(
        {
            *stores,
            *(
                n
                for n, line in enumerate(text, 1)
                if (m := local.match(line)) is not None and m[1] in names
            ),
        }
    )
    printed = []
    for first, last in _runs(hits):
        place = str(first) if first == last else f"{first}-{last}"
        printed.append(f"{target.file(made.function)}:{place}:")
        printed += text[first - 1 : last]
    return "\n".join(printed)


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1] = runs[-1][0], n
        else:
            runs.append((n, n))
    return runs

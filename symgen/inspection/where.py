"""--where: the lines of the generated C that compute a quantity, as `symgen generate` prints them
without options.

A result is found by its stores and the locals in them, a method's letter by the names in its
derivation. The C uses the chosen frames with inertia moved to the parents (`symgen show`), so a
block's numbers there may differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from symgen import methods
from symgen.derivation import constants as k
from symgen.emission import printer
from symgen.inspection.catalogue import Choice, PaperQuantity, Result, choose
from symgen.inspection.entries import Answer, answer, derive_layout, quantity_answer
from symgen.ir.program import Program
from symgen.mechanism.mechanism import Mechanism
from symgen.methods.shared.quantities import Quantity
from symgen.pipeline.build import program
from symgen.pipeline.derive import frame_names, models
from symgen.support.errors import RequestError
from symgen.vocabulary.functions import FUNCTIONS
from symgen.vocabulary.options import HOST, Links, ProgramOptions, Rows, TextOptions
from symgen.vocabulary.target import Target

COUNTS = (
    "these are lines of the C: their names count links, rows and columns from 1, their arrays count"
    " from 0"
)
_STORE = re.compile(r"\s*(\w+\[\d+\]) = (.*);")


def where(
    mechanism: Mechanism,
    what: str,
    method: str | None = None,
    frame: Links = None,
    task_rows: Rows = None,
) -> tuple[str, tuple[str, ...]]:
    """Return the lines with their file and line numbers, and notes; RequestError if the C has no
    such line.
    """
    choice = choose(mechanism, what, method, task_rows)
    if isinstance(choice.target, PaperQuantity):
        raise choice.target.no_program("--where")
    if isinstance(choice.target, Result):
        entries = answer(mechanism, choice, frame, task_rows=task_rows)
        target = _target(mechanism, choice.target.function, frame)
        stores = _stored(target, entries, choice.target)
        return _lines(target, entries.program, stores), (*entries.notes, COUNTS)
    return _of_letter(mechanism, choice)


def _of_letter(mechanism: Mechanism, choice: Choice) -> tuple[str, tuple[str, ...]]:
    """Find the lines of a method's letter in the first function of the method that contains some of
    them.
    """
    method = choice.method
    assert method is not None
    entries = _as_in_c(mechanism, choice, method)
    rows = [entries.program.rows[r] for r in dict.fromkeys(entries.rows)]
    names = [row.name for row in rows if row.op not in ("const", "input")]
    for name, function in FUNCTIONS.items():
        if method not in methods.providers(name) or function.counts("NT"):
            continue
        try:
            function_program = program(mechanism, name, method)
        except RequestError:  # the robot has no such function, as a closed chain has no Λ
            continue
        present = {row.name for row in function_program.rows if row.name}
        if kept_names := [name for name in names if name in present]:
            notes = _notes(method, entries.label, len(names), len(kept_names))
            target = _target(mechanism, name)
            return _lines(target, function_program, set(kept_names)), (*notes, COUNTS)
    raise RequestError(
        f"no line of the C by {method} computes {entries.label} alone: it is constant, or the"
        " passes merged it into other values; --form recursive shows its equations"
    )


def _as_in_c(mechanism: Mechanism, choice: Choice, method: str) -> Answer:
    """Derive a letter in the frames and with the inertias of the C."""
    assert isinstance(choice.target, Quantity)
    reframed, regrouped = models(mechanism)
    with k.precision():
        model = regrouped if methods.find(method).regroups else reframed
        layout = derive_layout(
            mechanism, method, choice.words.letter, model, lambda _, block: block
        )
        return quantity_answer(mechanism, choice, choice.target, layout)


def _notes(method: str, label: str, all_entries: int, kept_count: int) -> list[str]:
    """Return notes on the frames of the C, and on the number of entries without a line."""
    inertia_text = ", with inertia moved to the parents" if methods.find(method).regroups else ""
    notes = [f"the C computes in the frames that 'symgen show' lists{inertia_text}"]
    if all_entries > kept_count:
        notes.append(
            f"{all_entries - kept_count} of the {all_entries} entries of {label} have no line of"
            " their own: the passes merged them into other values"
        )
    return notes


def _stored(target: Target, entries: Answer, result: Result) -> set[str]:
    """Return the stores of the requested rows, such as M[5]."""
    port = entries.program.outputs[result.index]
    name = printer().parameters(entries.program, target)[port.name]
    return {f"{name}[{element}]" for element, row in enumerate(port.rows) if row in entries.rows}


def _target(mechanism: Mechanism, function: str, frame: Links = None) -> Target:
    """Return the context of the text of a function, whose comment names its frames."""
    return Target(
        mechanism.name,
        mechanism.sizes,
        TextOptions(HOST),
        mechanism.source_sha256,
        frame_names(mechanism, FUNCTIONS[function], ProgramOptions(frame=frame)),
    )


def _lines(target: Target, function_program: Program, wanted_names: set[str]) -> str:
    """Return `FILE:FIRST-LAST:` and the lines, run by run: the stores and locals in `wanted_names`,
    and the locals that the stores read.
    """
    backend = printer()
    text = backend.source(function_program, target).splitlines()
    local = re.compile(backend.language.declared(function_program.real, r"(\w+)", ".*"))
    stores = {
        n: m[2]
        for n, line in enumerate(text, 1)
        if (m := _STORE.fullmatch(line)) is not None and m[1] in wanted_names
    }
    names = wanted_names | set(stores.values())
    line_numbers = sorted(
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
    for first, last in _runs(line_numbers):
        range_text = str(first) if first == last else f"{first}-{last}"
        printed.append(f"{target.c_file(function_program.function)}:{range_text}:")
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

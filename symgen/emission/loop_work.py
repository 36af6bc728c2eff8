"""Declaration of a loop function: its workspace, and the aliasing that it allows."""

from __future__ import annotations

from typing import Any

from symgen.emission import definition
from symgen.emission.c_text import C
from symgen.emission.part_layout import layout
from symgen.ir.loops import WORK, LoopProgram
from symgen.ir.program import POSITIONS
from symgen.vocabulary.target import Target

SIZE = "size"
"""Parameter of a checked function with the size of the workspace."""


def work(form: LoopProgram, checked: bool = False) -> int:
    """Return the size of the workspace.

    It has saved values, the carries of a tree, and the results of a checked function, which stores
    them after all have been found to be finite.
    """
    results = sum(port.size for port in form.outputs if checked)
    if form.part_count:
        return layout(form).size + results
    carries = (len(form) + 1) * widest(form)
    return max(1, form.work * len(form) + carries) + results


def widest(form: LoopProgram) -> int:
    """Return the size of the largest carry of a sweep through a tree; 0 without such a sweep."""
    sizes = [len(sweep.initial) for sweep in form.sweeps if not form.straight(sweep)]
    return max(sizes, default=0)


def may_alias(form: LoopProgram) -> bool:
    """Return True if a result may be the same array as an argument.

    No sweep may read an argument after another sweep has stored a result. A sweep that reads and
    stores must read and store the same elements. Parallel scans store results after they have read
    all arguments.
    """
    if form.maps:
        return True
    reads, stores = _accesses(form)
    if form.part_count:
        return max(s for s, _ in reads) <= min(s for s, _ in stores)
    equal_sizes = all(kind.nq == kind.nv for kind in form.link_classes)
    not_of_joints = {name for name, _ in (*form.per_link, *form.columns)}

    def have_same_elements(read: str, store: str) -> bool:
        are_of_joints = not {read, store} & not_of_joints
        return are_of_joints and (equal_sizes or (read in POSITIONS) == (store in POSITIONS))

    last_read = max((s for s, _ in reads), default=0)
    return all(last_read <= end.sweep for end in form.final_carries) and all(
        r < s or (r == s and have_same_elements(read, store))
        for r, read in reads
        for s, store in stores
    )


def _accesses(form: LoopProgram) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Return (sweep, argument) of each read of a step, and (sweep, result) of each store."""
    arguments, results = ({port.name for port in ports} for ports in (form.inputs, form.outputs))
    steps = [(s, step) for s, sweep in enumerate(form.sweeps) for step in sweep.steps]
    reads = [(s, port.name) for s, step in steps for port in step.inputs if port.name in arguments]
    stores = [(s, port.name) for s, step in steps for port in step.outputs if port.name in results]
    return reads, stores


def prototype(form: LoopProgram, target: Target) -> dict[str, Any]:
    """Return the facts of the declaration in the header."""
    return with_work(form, target) | {"no_alias": not may_alias(form)}


def with_work(form: LoopProgram, target: Target) -> dict[str, Any]:
    """Return the facts of the declaration of a function with a workspace."""
    facts = definition.prototype(form, target)
    used_names = definition.macros(target) | {
        parameter["name"] for parameter in facts["parameters"]
    }
    name = C.local(WORK, used_names)
    workspace = {
        "qualifier": "",
        "real": form.real,
        "name": name,
        "size": f"{target.name}_{WORK.upper()}",
        "what": "workspace, which may not overlap other arrays; its initial values do not matter",
    }
    size = {
        "qualifier": "",
        "real": "int",
        "name": C.local(SIZE, used_names),
        "size": "",
        "what": f"length of {name}",
    }
    parameters = [*facts["parameters"], workspace, *([size] if target.checked else [])]
    return facts | {"parameters": parameters}

"""A loop function in C: its steps and tables, and the arrays and elements that its steps access.

In a function with lanes each number of an array is a vector with one lane for each state
(`statements.in_lanes`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from symgen.emission import definition, sincos
from symgen.emission.blocks import Blocks, blocks
from symgen.emission.c_text import C
from symgen.emission.loop_work import work
from symgen.emission.lowering.loop_tables import LoopTables
from symgen.emission.statements import LANE, Address, Call, Element, Row, Value, parts
from symgen.ir.loops import (
    ANGLE,
    BASE_STEP,
    CARRY,
    CHECKED,
    CONSTANTS,
    EPILOGUE,
    RESULT_NAMES,
    SAVED,
    WORK,
    LoopProgram,
    as_function,
)
from symgen.ir.program import POSITIONS, Program
from symgen.vocabulary.reals import REALS, Real
from symgen.vocabulary.target import Target

LINK, ELEMENT, STATUS, COLUMN = "i", "k", "status", "column"
"""Locals: number of a link, number of an element, status of a checked function, and columns of a
joint.
"""
CARRIES, LINK_CARRY, PARENT_CARRY = "carries", "link_carry", "parent_carry"
"""Locals for a tree: the carries of the base and all links, the carry of a link, and that of its
parent.
"""
NEXT_CARRY, WRITTEN = RESULT_NAMES[CARRY], "written"
"""Locals in lanes: the carry that a step writes, and a pointer to it for the exchange."""
THREADS = "threads"
"""Parameter with the number of threads: the stride of the workspace."""
BLOCK, SINES = "block", "turn"
"""Locals for a block of links: its first link, and its sines and cosines."""
BASE = -1
"""Number in place of a class for the first link of a chain, if it has a special step."""
# `statements.check` rejects a parameter with the name of a local.


@dataclass(frozen=True)
class LoopFunction:
    """A loop form as a function in C, for one state or for a block of `lanes` states.

    A function for `threads` has a parameter with the stride of each array, so that adjacent threads
    access adjacent elements.
    """

    form: LoopProgram
    target: Target
    lanes: int = 0
    threads: bool = False

    @cached_property
    def real(self) -> Real:
        """The real type."""
        return REALS[self.form.real]

    @cached_property
    def zero(self) -> str:
        """The literal of zero."""
        return C.literal(Fraction(0), self.real)

    @cached_property
    def function(self) -> str:
        """The prefix of the names of steps and tables."""
        return f"{self.form.function}{'_lanes' if self.lanes else ''}"

    @cached_property
    def ports(self) -> dict[str, str]:
        """The parameter of each port."""
        return definition.parameters(self.form, self.target)

    @cached_property
    def sine_blocks(self) -> dict[int, Blocks]:
        """The blocks of each sweep that has blocks of links; empty in lanes and threads.

        Lanes and threads compute the sine and cosine of one link after the other.
        """
        sweeps = range(0 if self.lanes or self.threads else len(self.form.sweeps))
        return {s: cut for s in sweeps if (cut := blocks(self.form, s, self.target))}

    @cached_property
    def steps(self) -> dict[tuple[int, int], Program]:
        """The step of each (sweep, class) as a function, also of class BASE.

        Steps without results are omitted.
        """
        steps = {
            (s, c): self._step(s, c)
            for s, sweep in enumerate(self.form.sweeps)
            for c, step in enumerate(sweep.steps)
            if step.outputs and c in self.form.classes(sweep)
        }
        base_keys = [(s, BASE) for s, sweep in enumerate(self.form.sweeps) if sweep.base_step]
        steps |= {key: self._step(*key) for key in base_keys}
        return dict(sorted(steps.items(), key=lambda item: item[0][0]))

    def step_of(self, s: int, c: int) -> Program:
        """Return the step of sweep `s` for links of class `c`, or for BASE."""
        sweep = self.form.sweeps[s]
        return sweep.base_step if c == BASE and sweep.base_step else sweep.steps[c]

    def _step(self, s: int, c: int) -> Program:
        """Return a step as a function; for a sweep with blocks, it computes the angle only."""
        in_blocks = self.sine_blocks.get(s)
        step = in_blocks.angles[c].program if in_blocks else self.step_of(s, c)
        number = f"{s + 1}" if len(self.form.link_classes) == 1 else f"{s + 1}_{c + 1}"
        if c == BASE:
            number = f"{s + 1}_{BASE_STEP}"
        return as_function(step, f"{self.function}_{number}")

    def class_of(self, c: int) -> int:
        """Return class `c`; for BASE, the class of the first link."""
        return self.form.class_of[0] if c == BASE else c

    @cached_property
    def epilogue(self) -> Program | None:
        """The function that computes results from the final carries."""
        step = self.form.epilogue
        return step and as_function(step, f"{self.function}_{EPILOGUE}")

    @cached_property
    def epilogue_check(self) -> Program | None:
        """The function that computes the numbers of the epilogue that are compared."""
        step = self.form.epilogue_check
        return step and as_function(step, f"{self.function}_{EPILOGUE}_{CHECKED}")

    @cached_property
    def functions(self) -> list[Program]:
        """The steps and the epilogue, in the order of the text."""
        functions = (*self.steps.values(), self.epilogue_check, self.epilogue)
        return [function for function in functions if function]

    @cached_property
    def link_tables(self) -> LoopTables:
        """The tables that the statements lowered so far read."""
        steps = self.steps.items()
        read_classes = {
            c for (_, c), step in steps for port in step.inputs if port.name == CONSTANTS
        }
        return LoopTables(self.form, self.target.symbol(self.function), read_classes)

    @cached_property
    def angle_count(self) -> int:
        """The number of angles of the loop over sines: the largest of all steps and blocks."""
        steps_with_sines = [
            step for step in self.steps.values() if definition.uses_sincos(step, self.target)
        ]
        most = max((len(definition.angles_together(step)) for step in steps_with_sines), default=0)
        in_steps = sincos.lanes(most, self.form.real) if self.target.text.trig == "auto" else 0
        return max([in_steps, *(sweep.lanes for sweep in self.sine_blocks.values())])

    @cached_property
    def needed_size(self) -> int:
        """The least size of the workspace, which a checked function for one state compares.

        It is 0 for other functions.
        """
        return work(self.form, True) if self.target.checked and not self.lanes else 0

    @cached_property
    def result_offsets(self) -> dict[str, int]:
        """The index of each result in the workspace of a checked function for one state.

        The workspace has the results until all are found to be finite. Other functions have none.
        """
        outputs = self.form.outputs if self.needed_size else ()
        first_elements = itertools.accumulate(
            (port.size for port in outputs), initial=work(self.form)
        )
        return {port.name: index for port, index in zip(outputs, first_elements, strict=False)}

    @cached_property
    def strides(self) -> dict[str, str]:
        """The parameter with the stride of each array of a function for threads; else empty."""
        if not self.threads:
            return {}
        ports = {name: f"{name}_element" for name in self.ports.values()}
        return ports | dict.fromkeys((WORK, CARRIES, LINK_CARRY, PARENT_CARRY), THREADS)

    @cached_property
    def is_ok(self) -> str:
        """The condition that a checked function for one state has no refusal; else empty text."""
        return f"{STATUS} == {self.status('OK')}" if self.needed_size else ""

    def symbol(self, step: Program) -> str:
        """Return the C name of a step."""
        return self.target.symbol(step.function)

    def status(self, name: str) -> str:
        """Return the macro of a status."""
        return f"{self.target.name}_{name}"

    def carry(self, s: int) -> str:
        """Return the local array for the carry of sweep `s` along a chain."""
        return f"{CARRY}_{s + 1}"

    def lane_of(self, name: str) -> Value:
        """Return a local that has one value for each state."""
        return Element(name, LANE) if self.lanes else name

    def element(self, port: str, index: Value) -> Element:
        """Return an element of an argument or a result."""
        if port in self.result_offsets:
            return Element(WORK, plus(index, self.result_offsets[port]))
        return Element(self.ports[port], index)

    def array(self, port: str) -> Value:
        """Return the array of an argument or a result."""
        is_buffered = port in self.result_offsets
        return Address(WORK, self.result_offsets[port]) if is_buffered else self.ports[port]


def times(factor: int, index: Value) -> Value:
    """Return a factor times an index; a sum is in parentheses."""
    if factor in (0, 1):
        return index if factor else "0"
    if index == "0":
        return index
    return f"{factor}*", *(("(", index, ")") if isinstance(index, tuple) else (index,))


def plus(index: Value, number: int) -> Value:
    """Return an index plus a number; a product is in parentheses."""
    if index == "0" or not number:
        return str(number) if number else index
    is_product = any("*" in part for part in parts(index) if isinstance(part, str))
    return *(("(", index, ")") if is_product else (index,)), f" + {number}"


def current_link(loops: LoopFunction, s: int) -> Value:
    """Return the number of the link that a sweep visits.

    A table has the numbers of the links on a path to one link of a tree.
    """
    form, sweep = loops.form, loops.form.sweeps[s]
    if sweep.only_path_to < 0 or form.serial:
        return LINK
    return Element(loops.link_tables.integers("path", form.path_to(sweep.only_path_to)), LINK)


def first_index(loops: LoopFunction, port: str, link: Value) -> Value:
    """Return the index of a link's first element in a port with elements or columns of joints."""
    is_position, kinds = port in POSITIONS, loops.form.link_classes
    if len({(kind.nq, kind.nv) for kind in kinds}) == 1:
        return times(kinds[0].nq if is_position else kinds[0].nv, link)
    firsts = [offset[0 if is_position else 1] for offset in loops.form.offsets]
    return Element(
        loops.link_tables.integers("first_q" if is_position else "first_v", firsts), link
    )


def step_carries(loops: LoopFunction, s: int) -> tuple[str, str]:
    """Return the arrays from which a step reads its carry, and to which it writes its carry.

    The arrays differ in lanes, since a compiler does not vectorise a step that may overwrite its
    arguments.
    """
    if loops.form.straight(loops.form.sweeps[s]):
        return (CARRY, NEXT_CARRY) if loops.lanes else (loops.carry(s), loops.carry(s))
    if loops.form.sweeps[s].inward:
        return LINK_CARRY, NEXT_CARRY if loops.lanes else LINK_CARRY
    return PARENT_CARRY, LINK_CARRY


def step_call(
    loops: LoopFunction, s: int, c: int, link: Value, angle: str = f"{LINK} - {BLOCK}"
) -> Call:
    """Return the call of the step of sweep `s` for a link of class `c`.

    `angle` is the index of the link's angle in a block.
    """
    step = loops.steps[s, c]
    arguments = tuple(
        Address(ANGLE, angle) if port.name == ANGLE else _argument(loops, s, c, port.name, link)
        for port in (*step.inputs, *step.outputs)
    )
    in_loop = s in loops.sine_blocks and angle == f"{LINK} - {BLOCK}"
    return Call(loops.symbol(step), arguments, True, 8 if in_loop else 4)


def _argument(loops: LoopFunction, s: int, c: int, port: str, link: Value) -> Value:
    """Return the argument of a step's call for one of its ports."""
    form, sweep = loops.form, loops.form.sweeps[s]
    carry, next_carry = step_carries(loops, s)
    per_link, columns = dict(form.per_link), dict.fromkeys(dict(form.columns), COLUMN)
    local = {CARRY: carry, RESULT_NAMES[CARRY]: next_carry, CHECKED: CHECKED, **columns}
    if port in local:
        return local[port]
    if port == CONSTANTS:
        row = Element(loops.link_tables.rows(), link) if len(form.link_classes) > 1 else link
        return Row(loops.link_tables.constants(loops.class_of(c)), row)
    if port in (SAVED, RESULT_NAMES[SAVED]):
        first = 0 if port == SAVED else sweep.saved_at[loops.class_of(c)]
        return Address(WORK, plus(times(form.work, link), first))
    if per_link.get(port) == 0:
        return loops.array(port)
    index = times(per_link[port], link) if port in per_link else first_index(loops, port, link)
    element = loops.element(port, index)
    return Address(element.array, element.index)

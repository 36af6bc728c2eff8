"""Rules of a loop program: a function of a robot as loops over its links.

A loop program consists of stages: sweeps, maps, sequential scans and parallel scans. A stage runs a
step, which is a Program, for each link; the links of one class have the same step. Steps
communicate through ports (CARRY, SAVED, …), which `symgen.ir.loops.stages` defines. `LoopProgram`
(`symgen.ir.loops.form`) describes the three layouts: one piece, parts with sweeps, and elements
with maps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from symgen.ir.loops.form import LoopProgram
from symgen.ir.loops.stages import (
    BEFORE,
    CARRY,
    CHECKED,
    COMBINE,
    CONSTANTS,
    DOWNSWEEP,
    FINAL_CARRY,
    INITIAL_CARRY,
    LEFT,
    RIGHT,
    SAVED,
    UPSWEEP,
    LinkClass,
    Map,
    ParallelScan,
    SequentialScan,
    Sweep,
    port_size,
)
from symgen.ir.loops.steps import elements_read
from symgen.ir.program import Port, Program
from symgen.ir.program import check as check_program
from symgen.support.errors import ProgramError


def check(form: LoopProgram) -> LoopProgram:
    """Check the rules of a loop program and of its steps.

    Returns the loop program unchanged. Raises ProgramError, which names the first place that breaks
    a rule.
    """
    checker = _Checker(form)
    checker.links()
    checker.parts()
    if {step.real for step in form.programs} - {form.real}:
        checker.fail("its steps are of another real type")
    for number, stage in enumerate(form.stages):
        for step in stage.programs:
            check_program(step)
        if isinstance(stage, Sweep):
            checker.sweep(number, stage)
        elif isinstance(stage, Map):
            checker.map(number, stage)
        elif isinstance(stage, SequentialScan):
            checker.scan_parts(number, stage)
        else:
            checker.scan_pairs(number, stage)
    checker.final_carries()
    checker.results()
    return form


class _Checker:
    """Checks of one loop program, one method for each kind of stage; every method raises
    ProgramError.
    """

    def __init__(self, form: LoopProgram) -> None:
        self.form = form
        self.arguments = {port.name for port in form.inputs}

    def fail(self, fault: str) -> NoReturn:
        """Raise ProgramError; its message names the function and the method, then the fault."""
        raise ProgramError(f"{self.form.function}/{self.form.method}: {fault}")

    def links(self) -> None:
        """Check that the parent, the class and the constants of each link are valid."""
        form, n = self.form, len(self.form)
        # Maps work on n + 1 elements: those between neighbouring links and at both ends of the
        # chain.
        constant_rows = n + bool(form.maps)
        if len(form.class_of) != n or len(form.constants) != constant_rows:
            self.fail("links, their classes and the rows of constants are not equally many")
        for link, parent in enumerate(form.parents):
            if not -1 <= parent < link:
                self.fail(f"the parent of link {link} does not stand before it")
            if not 0 <= form.class_of[link] < len(form.link_classes):
                self.fail(f"link {link} is of no class")
        # Class 0, the only class of a form with maps, is that of the last element, too.
        for number, constants in zip((*form.class_of, 0), form.constants, strict=False):
            width = form.link_classes[number].width
            if len(constants) != width:
                self.fail(f"a link of class {number} has {len(constants)} constants, not {width}")

    def parts(self) -> None:
        """Check that the lengths of the parts agree with the stages.

        The links form one piece, parts with sweeps, or parts in which maps and parallel scans
        alternate.
        """
        form, n, lengths = self.form, len(self.form), self.form.part_lengths
        if form.maps or form.scans:
            stage_types = [type(stage) for stage in form.stages]
            if stage_types != [Map, *[ParallelScan, Map] * (len(stage_types) // 2)]:
                self.fail(
                    "stages must be maps and parallel scans that alternate, with a map first and"
                    " last"
                )
            # x & (x - 1) is zero for a power of two.
            if len(set(lengths)) != 1 or len(lengths) & len(lengths) - 1:
                self.fail(
                    f"the number of parts, {len(lengths)}, must be a power of two, and all parts"
                    " equally long"
                )
            # The parts hold n + 1 elements, and fewer repeated elements than there are parts.
            if not n < sum(lengths) < n + 1 + len(lengths):
                self.fail(f"parts of {lengths[0]} elements do not hold {n + 1} elements")
        elif lengths and (sum(lengths) != n or min(lengths) < 1 or max(lengths) > lengths[0]):
            self.fail(
                f"parts of {', '.join(map(str, lengths))} links are not those of {n} links, the"
                " first of the longest"
            )
        if lengths and (not form.serial or len(form.link_classes) != 1):
            self.fail("parts are not those of one chain of like links")

    # -- sweeps ----------------------------------------------------------------------------------

    def sweep(self, number: int, sweep: Sweep) -> None:
        """Check sweep number `number` of the stages, and the ports of its steps."""
        form = self.form
        if not len(sweep.steps) == len(sweep.saved_at) == len(form.link_classes):
            self.fail(f"sweep {number} has not one step a class")
        # Only an inward sweep along a whole tree meets several children, whose carries it combines.
        combines = sweep.inward and sweep.only_path_to < 0 and not form.part_lengths
        if len(sweep.combine) != (len(sweep.initial) if combines else 0):
            self.fail(f"sweep {number} combines what it does not carry inward")
        if sweep.only_path_to >= len(form):
            self.fail(f"sweep {number} goes to no link")
        if not set(sweep.combine) <= set(COMBINE):
            self.fail(f"sweep {number} combines by none of {', '.join(COMBINE)}")
        for link_class, step, saved_at in zip(
            form.link_classes, sweep.steps, sweep.saved_at, strict=True
        ):
            self._step(f"sweep {number} of {link_class.name}", sweep, link_class, step, saved_at)
        if sweep.base_step:
            self._base_step(number, sweep, sweep.base_step)

    def _step(
        self, step_name: str, sweep: Sweep, link_class: LinkClass, step: Program, saved_at: int
    ) -> None:
        """Check the ports of one step of a sweep.

        `step_name` names the step in messages. The step writes its saved values from index
        `saved_at` of the link's row of the workspace on.
        """
        form, carry_size = self.form, len(sweep.initial)
        sizes = {CONSTANTS: link_class.width, SAVED: form.work, CARRY: carry_size}
        for port in step.inputs:
            if port.name not in sizes and port.name not in self.arguments:
                self.fail(f"{step_name} takes '{port.name}', which the function does not")
            size = sizes[port.name] if port.name in sizes else form.width(port.name, link_class)
            if port.size != size:
                self.fail(f"{step_name} takes {port.size} of '{port.name}'")
        if saved_at + port_size(step.outputs, SAVED) > form.work:
            self.fail(f"{step_name} saves more than there is room for")
        carried = [port.size for port in step.outputs if port.name == CARRY]
        if carried != [carry_size] * len(carried) or (carry_size and not carried):
            self.fail(f"{step_name} does not carry {carry_size} numbers")

    def _base_step(self, number: int, sweep: Sweep, step: Program) -> None:
        """Check `base_step` of a sweep: a step for the first link of a chain alone.

        Its ports must be those of the step of the link's class, apart from two exceptions. The step
        may lack CARRY if no link and no final carry receives its value, and CHECKED may differ.
        """
        form, first_class = self.form, self.form.class_of[0]
        step_name = f"sweep {number} of the first link"
        if not form.serial or form.part_lengths:
            self.fail(f"{step_name} has a step of its own, which only a chain in one piece has")
        carry_ports = [port for port in step.outputs if port.name == CARRY]
        final_links = {final.link for final in form.final_carries if final.sweep == number}
        if sweep.inward and not carry_ports and not final_links & {-1, 0}:
            # Nothing receives the carry. For the comparison below, add the port to the step.
            carry = Port(CARRY, (len(sweep.initial),), (0,) * len(sweep.initial))
            step = replace(step, outputs=(carry, *step.outputs))
        self._step(
            step_name, sweep, form.link_classes[first_class], step, sweep.saved_at[first_class]
        )
        ports, expected = (
            {(port.name, port.size) for port in checked_step.outputs if port.name != CHECKED}
            for checked_step in (step, sweep.steps[first_class])
        )
        if ports != expected:
            self.fail(f"{step_name} does not give what the step of its class gives")

    # -- scans across the parts ------------------------------------------------------------------

    def scan_parts(self, number: int, scan: SequentialScan) -> None:
        """Check that the ports of a sequential scan fit two sweeps.

        The scan reads the final carries of the first sweep, and gives the initial carries of the
        second.
        """
        read_sweep, started_sweep = self._stage(scan.takes), self._stage(scan.gives)
        if (
            not self.form.part_lengths
            or not isinstance(read_sweep, Sweep)
            or scan.takes > number
            or (scan.gives >= 0 and not isinstance(started_sweep, Sweep))
        ):
            self.fail(f"scan {number} must read a sweep before it, and may start only a sweep")
        for step in scan.programs:
            outputs = {port.name: port.size for port in step.outputs}
            if isinstance(started_sweep, Sweep) and outputs.get(INITIAL_CARRY) != len(
                started_sweep.initial
            ):
                self.fail(f"scan {number} does not give the initial carry of sweep {scan.gives}")
            for port in step.inputs:
                if port.name == FINAL_CARRY and port.size != len(read_sweep.initial):
                    self.fail(
                        f"scan {number} takes {port.size} numbers of sweep {scan.takes}, not"
                        f" {len(read_sweep.initial)}"
                    )
                # The opening step has no part before it, so it receives no carry.
                if port.name == CARRY and (step is scan.opening or port.size != outputs.get(CARRY)):
                    self.fail(f"scan {number} takes a carry that no part gives")

    def _stage(self, number: int) -> object:
        """Return the stage of that number; None if no stage has it, such as -1."""
        stages = self.form.stages
        return stages[number] if 0 <= number < len(stages) else None

    # -- maps, and scans over pairs of elements --------------------------------------------------

    def map(self, number: int, stage: Map) -> None:
        """Check a map against the parallel scans before and after it.

        A map reads the DOWNSWEEP value of the scan before it, and gives the UPSWEEP value of the
        scan after it. The last map gives the results of the function. An argument of the function
        is one number of joint i, or with the suffix BEFORE of joint i - 1.
        """
        form, scans = self.form, self.form.scans
        if not len(stage.steps) == len(stage.saved_at) == len(form.link_classes):
            self.fail(f"map {number} has not one step a class")
        (step,), (saved_at,) = stage.steps, stage.saved_at
        first, last = number == 0, number == len(form.stages) - 1
        sizes = {
            CONSTANTS: form.link_classes[0].width,
            SAVED: form.work,
            DOWNSWEEP: 0 if first else len(scans[number // 2 - 1].initial),
        }
        arguments = {name + suffix for name in self.arguments for suffix in ("", BEFORE)}
        for port in step.inputs:
            if port.size != sizes.get(port.name, int(port.name in arguments)):
                self.fail(f"map {number} takes {port.size} of '{port.name}'")
        saved = range(saved_at, saved_at + port_size(step.outputs, SAVED))
        if saved.stop > form.work:
            self.fail(f"map {number} saves more than there is room for")
        if elements_read(step, SAVED) & {*saved}:
            self.fail(f"map {number} saves over what it takes")
        results = [port.name + suffix for port in form.outputs for suffix in ("", BEFORE)]
        outputs = [port.name for port in step.outputs if port.name != SAVED]
        if sorted(outputs) != (sorted(results) if last else [UPSWEEP]):
            self.fail(f"map {number} gives {', '.join(outputs)}")
        if not last and port_size(step.outputs, UPSWEEP) != scans[number // 2].up_size:
            self.fail(f"map {number} gives no value of the scan behind it")

    def scan_pairs(self, number: int, scan: ParallelScan) -> None:
        """Check the ports of the two steps of a parallel scan.

        `up` combines the UPSWEEP values of a pair of elements (LEFT, RIGHT) into one UPSWEEP value.
        `down` splits one DOWNSWEEP value into the DOWNSWEEP values of the pair.
        """
        up, down = scan.up_size, len(scan.initial)
        ports: tuple[tuple[tuple[Port, ...], dict[str, int]], ...] = (
            (scan.up.inputs, {LEFT: up, RIGHT: up}),
            (scan.up.outputs, {UPSWEEP: up, SAVED: scan.saved_size}),
            (scan.down.inputs, {SAVED: scan.saved_size, DOWNSWEEP: down}),
            (scan.down.outputs, {LEFT: down, RIGHT: down}),
        )
        for actual, sizes in ports:
            if {port.name: port.size for port in actual} != sizes:
                self.fail(
                    f"the steps of scan {number} have ports of other names or sizes than the scan"
                    " needs"
                )
        # The last element has no joint after it: either both of its values are shortened, or
        # neither.
        if not (
            0 < scan.valid <= up
            and 0 < scan.last_valid <= down
            and (scan.valid < up) == (scan.last_valid < down)
        ):
            self.fail(
                f"scan {number} keeps {scan.valid} of {up} and {scan.last_valid} of {down} numbers"
                " of the last element; it must keep some of each, and shorten both or neither"
            )

    # -- results ---------------------------------------------------------------------------------

    def final_carries(self) -> None:
        """Check the final carries that are results or go into the epilogue, and the epilogue
        itself.

        A final carry names a sweep, a link, and elements of the carry of that link. Link -1
        stands for the combined carries of all roots, which only an inward sweep has.
        """
        form, n = self.form, len(self.form)
        for final in form.final_carries:
            sweep = self._stage(final.sweep)
            if (
                not isinstance(sweep, Sweep)
                or not all(0 <= element < len(sweep.initial) for element in final.elements)
                or not -sweep.inward <= final.link < n
                or (sweep.only_path_to >= 0 and final.link != form.visited(sweep)[-1])
            ):
                self.fail(f"result '{final.name}' ends nowhere")
        if form.epilogue is not None:
            check_program(form.epilogue)
            size = sum(len(f.elements) for f in form.final_carries if f.name == FINAL_CARRY)
            if [(port.name, port.size) for port in form.epilogue.inputs] != [(FINAL_CARRY, size)]:
                self.fail("the epilogue does not take the final carries of the sweeps")

    def results(self) -> None:
        """Check that the steps and the final carries give the results of the function, and nothing
        else.
        """
        form = self.form
        result_names = {final.name for final in form.final_carries}
        result_names |= {port.name for step in form.programs for port in step.outputs}
        result_names -= {SAVED, CARRY, FINAL_CARRY, INITIAL_CARRY, UPSWEEP, LEFT, RIGHT}
        # An element of a map also gives its share of the results of the joint before it.
        before = {port.name + BEFORE for port in form.outputs if form.maps}
        if result_names - before != {port.name for port in form.outputs}:
            self.fail("its results are not those of its steps")

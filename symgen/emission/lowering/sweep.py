"""Sweeps over links as statements: one Python function for each kind of stage.

`lower` returns the function for one state, or for a block of states, whose arrays have lanes. The
stages are in the order of the form, and the epilogue is the last one. The kinds of stages are
sweeps along a chain, sweeps through a tree, sweeps without a carry, and blocks of sines. A checked
function for one state ends its loops when its status is no longer OK. In lanes all states execute
all stages, and each state has its own status.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from symgen.emission.c_text import C
from symgen.emission.loop_work import SIZE, prototype, widest
from symgen.emission.lowering.loop_checks import (
    check_arguments,
    check_results,
    check_step,
    status_of,
    zeros,
)
from symgen.emission.lowering.loop_function import (
    BASE,
    BLOCK,
    CARRIES,
    COLUMN,
    ELEMENT,
    LINK,
    LINK_CARRY,
    NEXT_CARRY,
    PARENT_CARRY,
    SINES,
    STATUS,
    WRITTEN,
    LoopFunction,
    current_link,
    first_index,
    plus,
    step_call,
    step_carries,
    times,
)
from symgen.emission.lowering.thread_calls import thread_call
from symgen.emission.statements import (
    FIXED,
    LANE,
    POINTER,
    Address,
    Assign,
    Blank,
    Block,
    Call,
    Comment,
    Declare,
    Element,
    For,
    Function,
    If,
    Return,
    Row,
    Statement,
    Unused,
    Value,
    copy,
    expression,
    in_lanes,
    with_strides,
)
from symgen.ir.loops import (
    ANGLE,
    CARRY,
    CHECKED,
    FINAL_CARRY,
    RESULT_NAMES,
    SAVED,
    WORK,
    FinalCarry,
)

Body = tuple[Statement, ...]


def lower(loops: LoopFunction) -> Function:
    """Return the function of a loop form, for one state or for a block of states."""
    form, target, lanes = loops.form, loops.target, loops.lanes
    stages = [statement for s in range(len(form.sweeps)) for statement in _stage(loops, s)]
    body: Body = (
        *_declarations(loops),
        *(check_arguments(loops) if target.checked else ()),
        *stages,
        *_epilogue(loops),
        *(check_results(loops) if target.checked else ()),
    )
    symbol = target.symbol(form.function)
    if loops.threads:
        return _thread_function(loops, body)
    if not lanes:
        parameters = [
            Declare(f"{p['qualifier']}{p['real']}", p["name"], size=(p["size"],) * bool(p["size"]))
            for p in prototype(form, target)["parameters"]
        ]
        returned = (Return(STATUS),) if target.checked else ()
        returns = "int" if target.checked else "void"
        return Function(symbol, tuple(parameters), (*body, *returned), returns)
    arrays = [*loops.ports.values(), WORK]
    vectors = {CARRIES, LINK_CARRY, PARENT_CARRY, CARRY, NEXT_CARRY, WRITTEN, FINAL_CARRY}
    vectors |= {COLUMN, CHECKED, *arrays, *(loops.carry(s) for s in range(len(form.sweeps)))}
    parameters = [Declare(form.real, name, size=("", lanes)) for name in arrays]
    if target.checked:
        parameters.append(Declare("int", STATUS, size=(lanes,)))
    body = in_lanes(body, vectors, lanes)
    comment = f"One block of {lanes} states."
    return Function(f"{symbol}_block", tuple(parameters), body, static=True, comment=comment)


def _thread_function(loops: LoopFunction, body: Body) -> Function:
    """Return the function for one state that a GPU thread calls; its arrays have strides."""
    form, checked = loops.form, loops.target.checked
    qualifiers = [(port.name, "const ") for port in form.inputs]
    qualifiers += [(port.name, "") for port in form.outputs]
    arrays = [(f"{qualifier}{form.real}", loops.ports[name]) for name, qualifier in qualifiers]
    parameters = [
        parameter
        for kind, name in (*arrays, (form.real, WORK))
        for parameter in (
            Declare(kind, name, pointer=POINTER),
            Declare("ptrdiff_t", loops.strides[name]),
        )
    ]
    body = with_strides((*body, *(Return(STATUS),) * checked), loops.strides)
    symbol = f"{loops.target.symbol(form.function)}_device"
    returns = "int" if checked else "void"
    return Function(symbol, tuple(parameters), body, returns, static=True)


# -- locals ----------------------------------------------------------------------------------------


def _declarations(loops: LoopFunction) -> list[Statement]:
    """Return the declarations of locals that all stages share, and casts of unread parameters."""
    in_tree, in_blocks = widest(loops.form) > 0, bool(loops.sine_blocks)
    has_block_loop = any(cut.links <= _last(loops, s) for s, cut in loops.sine_blocks.items())
    lanes, checked, real = loops.lanes, loops.target.checked, loops.form.real
    finite = "zero if all arguments are finite, else NaN"
    has_lanes = lanes and (checked or any(sweep.initial for sweep in loops.form.sweeps))
    candidates: list[tuple[object, Statement]] = [
        (in_blocks, Declare(real, ANGLE, size=(loops.angle_count,))),
        (checked and lanes, Declare(real, zeros(loops), size=(lanes,), comment=finite)),
        (checked and not lanes, Declare("int", STATUS, loops.status("OK"))),
        (True, Declare("int", LINK)),
        (has_block_loop, Declare("int", BLOCK)),
        (in_tree or loops.threads, Declare("int", ELEMENT)),
        (has_lanes, Declare("int", LANE)),
    ]
    declarations = [declaration for is_needed, declaration in candidates if is_needed]
    return [*_carry_arrays(loops), *declarations, *map(Unused, _unread(loops))]


def _carry_arrays(loops: LoopFunction) -> list[Statement]:
    """Return the declarations of carries.

    They are the carries of trees, which are in the workspace, those of chains in a function for one
    state, and the final carries.
    """
    form, arrays = loops.form, list[Statement]()
    if widest(form):
        rows: Value = Address(WORK, form.work * len(form))
        if loops.needed_size and not loops.threads:
            rows = expression(f"({SIZE} < {loops.needed_size}) ? {WORK} : {{}}", rows)
        arrays.append(Declare(form.real, CARRIES, rows, pointer=FIXED))
    for s, sweep in enumerate(form.sweeps):
        if sweep.initial and form.straight(sweep) and not loops.lanes:
            arrays.append(_array(loops, loops.carry(s), len(sweep.initial)))
    if loops.epilogue:
        initial = f"{{{loops.zero}}}" if loops.needed_size else None
        size = loops.epilogue.inputs[0].size
        arrays.append(_array(loops, FINAL_CARRY, size, value=initial))
    return arrays


def _unread(loops: LoopFunction) -> list[str]:
    """Return the parameters that no statement reads."""
    port_names = {p.name for step in loops.steps.values() for p in (*step.inputs, *step.outputs)}
    inputs = () if loops.target.checked else loops.form.inputs
    unread = [loops.ports[port.name] for port in inputs if port.name not in port_names]
    has_saved_values = loops.sine_blocks or not port_names.isdisjoint((SAVED, RESULT_NAMES[SAVED]))
    has_results = loops.threads and loops.result_offsets
    uses_workspace = has_saved_values or widest(loops.form) or has_results
    unread += [] if uses_workspace else [WORK]
    strides = [loops.strides[name] for name in unread if loops.threads]
    return [*unread, *strides]


def _array(loops: LoopFunction, name: str, *size: int, value: str | None = None) -> Declare:
    """Return the declaration of a local array of numbers; vectors are aligned to a cache line."""
    attribute = f"{loops.target.symbol(loops.form.function)}_LINE" if loops.lanes else ""
    return Declare(loops.form.real, name, value, size=size, attribute=attribute)


# -- stages ----------------------------------------------------------------------------------------


def _stage(loops: LoopFunction, s: int) -> Body:
    """Return the statements of one sweep under a comment; in lanes they are a block."""
    sweep = loops.form.sweeps[s]
    if s in loops.sine_blocks:
        count = loops.sine_blocks[s].links
        return Blank(), Comment(f"sines and cosines of {count} links at once"), *_sines(loops, s)
    ends_at_frame = sweep.only_path_to >= 0
    title = f"outward, from the base{' to the frame' if ends_at_frame else ''}"
    if sweep.inward:
        title = f"inward, from the {'frame' if ends_at_frame else 'tips'}"
    lower_sweep = _map if not sweep.initial else _chain if loops.form.straight(sweep) else _tree
    statements = tuple(lower_sweep(loops, s))
    return Blank(), Comment(title), *((Block(statements),) if loops.lanes else statements)


def _map(loops: LoopFunction, s: int) -> list[Statement]:
    """Return the statements of a sweep without a carry."""
    return [*_zero_columns(loops, s), *_each_link(loops, s, lambda steps: steps)]


def _chain(loops: LoopFunction, s: int) -> list[Statement]:
    """Return the statements of a sweep in which each link reads the carry of the link before it.

    For one state the step overwrites the carry. In lanes the carry has two halves; the step reads
    one half and writes the other.
    """
    form, sweep, carry, real = loops.form, loops.form.sweeps[s], loops.carry(s), loops.form.real
    carry_in, _ = step_carries(loops, s)
    halves: Body = ()
    if loops.lanes:
        halves = (
            _array(loops, carry, 2, len(sweep.initial)),
            Declare(real, CARRY, Row(carry, 0), pointer=POINTER),
            Declare(real, NEXT_CARRY, Row(carry, 1), pointer=POINTER),
            Blank(),
        )
    is_read = not sweep.base_step or any(port.name == CARRY for port in sweep.base_step.inputs)
    initial = [
        Assign(Element(carry_in, k), C.literal(number, loops.real))
        for k, number in enumerate(sweep.initial if is_read else ())
    ]
    stores_after_loop: Body = ()
    stores_in_loop: Body = ()
    for final_carry in _final_carries(loops, s):
        stores, link = _store_carry(loops, final_carry, carry_in, 0), max(final_carry.link, 0)
        if link == form.visited(sweep)[-1]:
            stores_after_loop += stores
        else:
            stores_in_loop += (If(f"{LINK} == {link}", stores),)

    def body(steps: Body) -> Body:
        if not loops.lanes:
            return (*steps, *stores_in_loop)
        written = Declare(real, WRITTEN, NEXT_CARRY, pointer=FIXED)
        swap = (Assign(NEXT_CARRY, CARRY), Assign(CARRY, WRITTEN))
        return (written, *steps, *swap, *stores_in_loop)

    links = _each_link(loops, s, body)
    after_loop = _while_ok(loops, stores_after_loop)
    return [*halves, *initial, *_zero_columns(loops, s), *links, *after_loop]


def _tree(loops: LoopFunction, s: int) -> list[Statement]:
    """Return the statements of a sweep through a tree.

    The carries have a row for the base and for each link. In an outward sweep a link reads the row
    of its parent. In an inward sweep it reads its own row, in which its children combine their
    carries. The child with the highest number is the first, and overwrites the row.
    """
    form, sweep = loops.form, loops.form.sweeps[s]
    size, final_carries = len(sweep.initial), _final_carries(loops, s)
    _, next_carry = step_carries(loops, s)
    parent = (Element(loops.link_tables.integers("parents", form.parents), LINK), " + 1")
    initial = loops.link_tables.initial_carry(s)
    link_row, parent_row = (Address(CARRIES, times(size, row)) for row in ((LINK, " + 1"), parent))
    kind = form.real if sweep.inward or loops.lanes else f"const {form.real}"
    rows = (
        Declare(form.real, LINK_CARRY, link_row, pointer=FIXED),
        Declare(kind, PARENT_CARRY, parent_row, pointer=FIXED),
    )
    before_step: Body = ()
    after_step: Body = ()
    opening: Body = (replace(copy(ELEMENT, size, CARRIES, initial), condition=loops.is_ok),)
    if sweep.inward:
        last_child = loops.link_tables.last_children()
        is_leaf = (Element(last_child, (LINK, " + 1")), " < 0")
        is_first_child = (Element(last_child, parent), f" == {LINK}")
        before_step = (If(is_leaf, (copy(ELEMENT, size, LINK_CARRY, initial),)),)
        after_step = (
            If(
                is_first_child,
                (copy(ELEMENT, size, PARENT_CARRY, next_carry),),
                _combine_carries(loops, s),
            ),
        )
        opening = (_array(loops, NEXT_CARRY, size), Blank()) if loops.lanes else ()
        if loops.lanes and any(final_carry.link >= 0 for final_carry in final_carries):
            after_step += (copy(ELEMENT, size, LINK_CARRY, next_carry),)
    final: Body = ()
    for final_carry in final_carries:
        final += _store_carry(loops, final_carry, CARRIES, size * (final_carry.link + 1))
    links = _each_link(loops, s, lambda steps: (*rows, *before_step, *steps, *after_step))
    return [*opening, *links, *_while_ok(loops, final)]


def _combine_carries(loops: LoopFunction, s: int) -> Body:
    """Return the loops that add a child's carry to the parent's row, or multiply them."""
    sweep, (_, next_carry) = loops.form.sweeps[s], step_carries(loops, s)
    combined, first = Element(PARENT_CARRY, ELEMENT), 0
    combinations: Body = ()
    for operation, run in itertools.groupby(sweep.combine):
        end, sign = first + len([*run]), " + " if operation == "add" else "*"
        assign = Assign(combined, (combined, sign, Element(next_carry, ELEMENT)))
        combinations += (For(ELEMENT, first, end, (assign,)),)
        first = end
    return combinations


def _sines(loops: LoopFunction, s: int) -> list[Statement]:
    """Return the statements of a sweep that computes sines and cosines in blocks of links.

    It stores the angles of a block, and one call computes their sines and cosines. A single block
    needs no loop over blocks; its angles are stored one by one, so that a compiler builds vectors
    of them in registers.
    """
    last, links, name = _last(loops, s), loops.sine_blocks[s].links, loops.target.name
    zero = For(LINK, 0, loops.angle_count, (Assign(Element(ANGLE, LINK), loops.zero),))
    sines = Declare(f"const {name}_turns", SINES, f"{name}_sincos({ANGLE})")
    if links > last:
        angles = _angle_calls(loops, s)
        stores = _by_class(loops, s, lambda c: _store_sines(loops, s, c, LINK))
        store_loop = For(LINK, 0, last, stores, inclusive=True)
        return [zero, *_while_ok(loops, (*angles, Block((sines, Blank(), store_loop))))]
    in_block, angle = f"{LINK} < ({BLOCK} + {links})", f"{LINK} - {BLOCK}"
    angles_of_block = For(LINK, BLOCK, last, _steps(loops, s), inclusive=True, condition=in_block)
    stores = _by_class(loops, s, lambda c: _store_sines(loops, s, c, angle))
    body = (angles_of_block, Block((sines, Blank(), replace(angles_of_block, body=stores))))
    return [zero, For(BLOCK, 0, last, body, links, inclusive=True, condition=loops.is_ok)]


def _angle_calls(loops: LoopFunction, s: int) -> Body:
    """Return the call that computes the angle of a link, for each link that a sweep visits."""
    angles: Body = ()
    for angle_number, link in enumerate(loops.form.visited(loops.form.sweeps[s])):
        c = loops.form.class_of[link]
        if (s, c) in loops.steps:
            angles += (step_call(loops, s, c, str(link), str(angle_number)),)
    return angles


def _store_sines(loops: LoopFunction, s: int, c: int, angle: str) -> Body:
    """Return the stores of the saved sine and cosine, which have index `angle`, of a link."""
    sweep, row = loops.form.sweeps[s], times(loops.form.work, current_link(loops, s))
    sources = {"sin": f"{SINES}.sine", "cos": f"{SINES}.cosine"}
    return tuple(
        Assign(
            Element(WORK, plus(row, sweep.saved_at[c] + k)),
            Element(sources[op], angle),
        )
        for k, op in enumerate(loops.sine_blocks[s].angles[c].operations)
    )


def _epilogue(loops: LoopFunction) -> Body:
    """Return the comparisons of the epilogue's divisors, and the call of the epilogue."""
    form, check, epilogue = loops.form, loops.epilogue_check, loops.epilogue
    if not epilogue:
        return ()
    statements: Body = (Blank(),)
    if check and form.epilogue_check and form.epilogue:
        arrays, comparisons = check_step(status_of(loops), form.epilogue_check, form.epilogue)
        body = (*arrays, Call(loops.symbol(check), (FINAL_CARRY, CHECKED)), *comparisons)
        statements += (Block(body) if loops.lanes else If(loops.is_ok, body),)
    results = (loops.array(port.name) for port in epilogue.outputs)
    call = Call(loops.symbol(epilogue), (FINAL_CARRY, *results))
    return statements + _while_ok(loops, thread_call(loops, call, epilogue))


# -- parts of a sweep ------------------------------------------------------------------------------


def _last(loops: LoopFunction, s: int) -> int:
    """Return the number of the last link that a sweep visits, counted from the base."""
    return len(loops.form.visited(loops.form.sweeps[s])) - 1


def _each_link(loops: LoopFunction, s: int, link_body: Callable[[Body], Body]) -> Body:
    """Return the loop over the links of a sweep, and the special step of the first link, if any.

    `link_body` returns the statements for a link from those of its step.
    """
    last, sweep = _last(loops, s), loops.form.sweeps[s]
    nearest = 1 if sweep.base_step else 0
    first, last, step = (last, nearest, -1) if sweep.inward else (nearest, last, 1)
    links = For(
        LINK, first, last, link_body(_steps(loops, s)), step, inclusive=True, condition=loops.is_ok
    )
    if not sweep.base_step:
        return (links,)
    first_link = link_body(_step(loops, s, BASE, "0"))
    first_link = (Block(first_link),) if loops.lanes else _while_ok(loops, first_link)
    return (links, *first_link) if sweep.inward else (*first_link, links)


def _while_ok(loops: LoopFunction, statements: Body) -> Body:
    """Return statements that a checked function for one state skips after a refusal."""
    return (If(loops.is_ok, statements),) if loops.is_ok and statements else statements


def _by_class(loops: LoopFunction, s: int, lower_class: Callable[[int], Body]) -> Body:
    """Return the branches by the class of the link; `lower_class` returns those of one class.

    The last class has no condition if all classes have steps.
    """
    form = loops.form
    classes = [c for sweep, c in loops.steps if sweep == s and c != BASE]
    has_all = len(classes) == len(form.classes(form.sweeps[s]))
    branches: list[tuple[Value, Body]] = []
    for c in classes:
        condition: Value = ""
        if not has_all or c != classes[-1]:
            kinds = loops.link_tables.integers("classes", form.class_of)
            condition = (Element(kinds, current_link(loops, s)), f" == {c}")
        branches.append((condition, lower_class(c)))
    statement: Body | If = ()
    for condition, body in reversed(branches):
        statement = If(condition, body, statement) if condition else body
    if isinstance(statement, If):
        return (statement,)
    needs_scope = statement and (loops.lanes or len(form.link_classes) > 1)
    return (Block(statement),) if needs_scope else statement


def _steps(loops: LoopFunction, s: int) -> Body:
    """Return the statements of the current link's step."""
    return _by_class(loops, s, lambda c: _step(loops, s, c, current_link(loops, s)))


def _step(loops: LoopFunction, s: int, c: int, link: Value) -> Body:
    """Return the call of a class's step, its comparisons, and its stores of columns of a matrix."""
    call, program = step_call(loops, s, c, link), loops.step_of(s, c)
    checked_array, comparisons = check_step(status_of(loops), program, program)
    column, stores = _store_columns(loops, s, c, link)
    calls = thread_call(loops, call, loops.steps[s, c])
    return (*column, *checked_array, *calls, *comparisons, *stores)


def _store_columns(loops: LoopFunction, s: int, c: int, link: Value) -> tuple[Body, Body]:
    """Return the declaration of the columns that a step computes, and their stores to the matrix.

    Both are empty for a step that computes no columns.
    """
    form, row_counts = loops.form, dict(loops.form.columns)
    columns = [port for port in loops.steps[s, c].outputs if port.name in row_counts]
    if not columns:
        return (), ()
    name, size = columns[0].name, columns[0].size
    matrix = next(port for port in form.outputs if port.name == name)
    rows = row_counts[name]
    width, matrix_width = size // rows, matrix.size // rows
    first = first_index(loops, name, link)
    stores = [
        Assign(
            loops.element(name, plus(first, row * matrix_width + k)),
            Element(COLUMN, row * width + k),
        )
        for row in range(rows)
        for k in range(width)
    ]
    return (_array(loops, COLUMN, size),), tuple(stores)


def _zero_columns(loops: LoopFunction, s: int) -> list[Statement]:
    """Return the loops that set matrices to zero.

    They precede the first sweep that computes columns of a matrix, if it does not visit all links.
    """
    form = loops.form
    if len(form.visited(form.sweeps[s])) == len(form):
        return []
    results = [
        (sweep, port.name) for (sweep, _), step in loops.steps.items() for port in step.outputs
    ]
    return [
        For(
            LINK,
            0,
            port.size - 1,
            (Assign(loops.element(port.name, LINK), loops.zero),),
            inclusive=True,
            condition=loops.is_ok,
        )
        for port in form.outputs
        if port.name in dict(form.columns)
        and min((sweep for sweep, name in results if name == port.name), default=-1) == s
    ]


def _final_carries(loops: LoopFunction, s: int) -> list[FinalCarry]:
    """Return the final carries of a sweep: results, and arguments of the epilogue."""
    form = loops.form
    return [final_carry for final_carry in form.final_carries if final_carry.sweep == s]


def _store_carry(loops: LoopFunction, final_carry: FinalCarry, array: str, first: int) -> Body:
    """Return the stores of a final carry as a result, or as an argument of the epilogue.

    The carry begins at index `first` of `array`.
    """
    form, name = loops.form, final_carry.name
    earlier_carries = form.final_carries[: form.final_carries.index(final_carry)]
    index = sum(len(carry.elements) for carry in earlier_carries if carry.name == FINAL_CARRY)
    return tuple(
        Assign(
            Element(FINAL_CARRY, index + k) if name == FINAL_CARRY else loops.element(name, str(k)),
            Element(array, first + element),
        )
        for k, element in enumerate(final_carry.elements)
    )

"""Small loop programs of every layout, whose results have a closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from symgen.ir.loops import (
    BEFORE,
    CARRY,
    CONSTANTS,
    DOWNSWEEP,
    FINAL_CARRY,
    INITIAL_CARRY,
    LEFT,
    RIGHT,
    SAVED,
    UPSWEEP,
    FinalCarry,
    LinkClass,
    LoopProgram,
    Map,
    ParallelScan,
    SequentialScan,
    Sweep,
    check,
)
from symgen.ir.program import Port, Program
from tests.shared.c_programs import Builder

SPRING = LinkClass("spring", 1, 1, 1, ("k",))
START = Fraction(1, 7)
"""Initial value of sums."""


def one(name: str, *rows: int) -> Port:
    """Return an argument of one number, or a result of these rows."""
    return Port(name, (len(rows) or 1,), rows)


def constants(count: int) -> tuple[tuple[Fraction, ...], ...]:
    """Return the constant (k + 2)/3 of link k."""
    return tuple((Fraction(k + 2, 3),) for k in range(count))


def in_tree(parents: Sequence[int]) -> LoopProgram:
    """Return sums and products over subtrees, and sums over paths.

    g of a link is the sum of k·q over its subtree; det and total are the product and the sum over
    all links, and root_sum is the sum of link 0. f is the sum of q over the path to the link,
    each time the g of that link. A tip has START as the sum of what is beyond it.
    """
    count = len(parents)
    b = Builder("toy", [one(CONSTANTS), one("q"), Port(CARRY, (2,))])
    force = b.op("add", b.input(2, 0), b.op("mul", b.input(0, 0), b.input(1, 0)))
    product = b.op("mul", b.input(2, 1), b.input(1, 0))
    inward = b.program([Port(CARRY, (2,), (force, product)), one(SAVED, force), one("g", force)])
    b = Builder("toy", [one("q"), one(SAVED), one(CARRY)])
    reached = b.op("add", b.input(2, 0), b.input(0, 0))
    outward = b.program([one(CARRY, reached), one("f", b.op("mul", reached, b.input(1, 0)))])
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (count,)),),
            (
                Port("g", (count,)),
                Port("f", (count,)),
                Port("det", ()),
                Port("total", (1,)),
                Port("root_sum", (1,)),
            ),
            (SPRING,),
            tuple(parents),
            (0,) * count,
            constants(count),
            (
                Sweep(True, (inward,), (START, Fraction(1)), ("add", "mul"), (0,)),
                Sweep(False, (outward,), (Fraction(2),), (), (0,)),
            ),
            1,
            final_carries=(
                FinalCarry("det", 0, (1,)),
                FinalCarry("total", 0, (0,)),
                FinalCarry("root_sum", 0, (0,), 0),
            ),
        )
    )


def tree_results(parents: Sequence[int], q: Sequence[Fraction]) -> dict[str, list[Fraction]]:
    """Return the results of `in_tree`, computed by recursion over the links."""
    k = [row[0] for row in constants(len(parents))]
    children = [[c for c, p in enumerate(parents) if p == link] for link in range(len(parents))]
    roots = [link for link, parent in enumerate(parents) if parent < 0]

    def sum_of(link: int) -> Fraction:
        beyond = sum(map(sum_of, children[link])) if children[link] else START
        return beyond + k[link] * q[link]

    def product_of(link: int) -> Fraction:
        product = q[link]
        for child in children[link]:
            product *= product_of(child)
        return product

    def place_of(link: int) -> Fraction:
        return q[link] + (place_of(parents[link]) if parents[link] >= 0 else Fraction(2))

    links = range(len(parents))
    product = Fraction(1)
    for root in roots:
        product *= product_of(root)
    return {
        "g": [sum_of(link) for link in links],
        "f": [place_of(link) * sum_of(link) for link in links],
        "det": [product],
        "total": [sum(map(sum_of, roots), Fraction(0))],
        "root_sum": [sum_of(0)],
    }


def in_parts(lengths: Sequence[int], inward: bool = False) -> LoopProgram:
    """Return sums of k·q from the base (from the tip if `inward`), part by part, with START."""
    count = sum(lengths)

    def step(with_result: bool) -> Program:
        b = Builder("toy", [one(CONSTANTS), one("q"), one(CARRY)])
        total = b.op("add", b.input(2, 0), b.op("mul", b.input(0, 0), b.input(1, 0)))
        return b.program([one(CARRY, total), *[one("g", total)] * with_result])

    b = Builder("toy", [one(FINAL_CARRY)])
    opening = b.program([one(CARRY, b.input(0, 0)), one(INITIAL_CARRY, b.const(START))])
    b = Builder("toy", [one(FINAL_CARRY), one(CARRY)])
    total = b.op("add", b.input(0, 0), b.input(1, 0))
    start = b.op("add", b.input(1, 0), b.const(START))
    scan_step = b.program([one(CARRY, total), one(INITIAL_CARRY, start)])
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (count,)),),
            (Port("g", (count,)),),
            (SPRING,),
            tuple(range(-1, count - 1)),
            (0,) * count,
            constants(count),
            (
                Sweep(inward, (step(False),), (Fraction(0),), (), (0,)),
                SequentialScan(inward, opening, scan_step, 0, 2),
                Sweep(inward, (step(True),), (Fraction(0),), (), (0,)),
            ),
            0,
            tuple(lengths),
        )
    )


def part_results(count: int, inward: bool, q: Sequence[Fraction]) -> dict[str, list[Fraction]]:
    """Return the results of `in_parts`."""
    k = [row[0] for row in constants(count)]
    links = [range(i, count) if inward else range(i + 1) for i in range(count)]
    return {"g": [START + sum(k[i] * q[i] for i in summed) for summed in links]}


def in_elements(count: int, parts: int, length: int) -> LoopProgram:
    """Return g of each joint i as the sum of two elements, by a parallel scan.

    Element i gives START + (the sum of q before it) + k_i·q_i to joint i. To joint i − 1 it gives
    (the sums of k·q and of q before it)·k_i. The last element takes these sums as zero.
    """
    b = Builder("toy", [one(CONSTANTS), one("q")])
    q, kq = b.input(1, 0), b.op("mul", b.input(0, 0), b.input(1, 0))
    first = b.program([Port(UPSWEEP, (3,), (q, kq, q)), one(SAVED, kq)])
    b = Builder("toy", [Port(LEFT, (3,)), Port(RIGHT, (3,))])
    sums = tuple(b.op("add", b.input(0, k), b.input(1, k)) for k in range(3))
    left = tuple(b.input(0, k) for k in range(3))
    up = b.program([Port(UPSWEEP, (3,), sums), Port(SAVED, (3,), left)])
    b = Builder("toy", [Port(SAVED, (3,)), Port(DOWNSWEEP, (3,))])
    before = tuple(b.input(1, k) for k in range(3))
    after = tuple(b.op("add", b.input(1, k), b.input(0, k)) for k in range(3))
    down = b.program([Port(LEFT, (3,), before), Port(RIGHT, (3,), after)])
    b = Builder("toy", [Port(DOWNSWEEP, (3,)), one(SAVED), one(CONSTANTS)])
    g = b.op("add", b.input(0, 0), b.input(1, 0))
    both = b.op("add", b.input(0, 1), b.input(0, 2))
    last = b.program([one("g", g), one("g" + BEFORE, b.op("mul", both, b.input(2, 0)))])
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (count,)),),
            (Port("g", (count,)),),
            (SPRING,),
            tuple(range(-1, count - 1)),
            (0,) * count,
            constants(count + 1),
            (
                Map((first,), (0,)),
                ParallelScan(up, down, (START, Fraction(0), Fraction(0)), 1, 1),
                Map((last,), (0,)),
            ),
            1,
            (length,) * parts,
        )
    )


def in_two_scans(count: int, parts: int, length: int) -> LoopProgram:
    """Return `in_elements` with a scan more: g is q and the sum of START + (the sum of q before)
    over the elements before. The second scan has one number for each element, the first has three.
    """
    form = in_elements(count, parts, length)
    first, scan, _ = form.stages
    b = Builder("toy", [Port(DOWNSWEEP, (3,)), one("q" + BEFORE)])
    middle = b.program([one(UPSWEEP, b.input(0, 0)), one(SAVED, b.input(1, 0))])
    b = Builder("toy", [one(LEFT), one(RIGHT)])
    total = b.op("add", b.input(0, 0), b.input(1, 0))
    up = b.program([one(UPSWEEP, total), one(SAVED, b.input(0, 0))])
    b = Builder("toy", [one(SAVED), one(DOWNSWEEP)])
    after = b.op("add", b.input(1, 0), b.input(0, 0))
    down = b.program([one(LEFT, b.input(1, 0)), one(RIGHT, after)])
    b = Builder("toy", [one(DOWNSWEEP), one(SAVED)])
    last = b.program([one("g", b.input(0, 0)), one("g" + BEFORE, b.input(1, 0))])
    return check(
        replace(
            form,
            stages=(
                first,
                scan,
                Map((middle,), (0,)),
                ParallelScan(up, down, (Fraction(0),), 1, 1),
                Map((last,), (0,)),
            ),
        )
    )


def element_results(count: int, q: Sequence[Fraction]) -> dict[str, list[Fraction]]:
    """Return the results of `in_elements`."""
    k = [row[0] for row in constants(count + 1)]
    results = []
    for i in range(count):
        of_element = START + sum(q[:i]) + k[i] * q[i]
        sum_before = sum((k[j] + 1) * q[j] for j in range(i + 1)) if i + 1 < count else Fraction(0)
        results.append(of_element + sum_before * k[i + 1])
    return {"g": results}


def with_base_step(inward: bool, with_carry: bool = True) -> LoopProgram:
    """Return the sum of q along a chain of three, from the tip on if `inward`; link 0 adds its q
    twice.
    """

    def step(times: int, carried: bool) -> Program:
        b = Builder("toy", [one("q"), one(CARRY)])
        total = b.input(1, 0)
        for _ in range(times):
            total = b.op("add", total, b.input(0, 0))
        return b.program([*[one(CARRY, total)] * carried, one("g", total)])

    sweep = Sweep(
        inward,
        (step(1, True),),
        (Fraction(0),),
        ("add",) * inward,
        (0,),
        base_step=step(2, with_carry),
    )
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (3,)),),
            (Port("g", (3,)),),
            (SPRING._replace(width=0, columns=()),),
            (-1, 0, 1),
            (0,) * 3,
            ((),) * 3,
            (sweep,),
            0,
        )
    )


def of_two_classes() -> LoopProgram:
    """Return `with_base_step` outward, where only the first link, of a class of its own, has g."""
    form = with_base_step(False)
    (sweep,) = form.sweeps
    (step,) = sweep.steps
    without_result = replace(step, outputs=tuple(p for p in step.outputs if p.name != "g"))
    steps = replace(sweep, steps=(without_result, step), saved_at=(0, 0))
    return check(
        replace(form, link_classes=form.link_classes * 2, class_of=(1, 0, 0), stages=(steps,))
    )


def saving() -> LoopProgram:
    """Return g = 1000·q + 100·q² + 10·q³ + q⁴ of two links, saved by three sweeps in 4 places."""

    def power(count: int, *numbers: int, at: int) -> Sweep:
        b = Builder("toy", [one("q")])
        rows = []
        for number in numbers:
            row = b.input(0, 0)
            for _ in range(number - 1):
                row = b.op("mul", row, b.input(0, 0))
            rows.append(row)
        step = b.program([Port(SAVED, (count,), tuple(rows))])
        return Sweep(False, (step,), (), (), (at,))

    b = Builder("toy", [Port(SAVED, (4,))])
    total = b.const(0)
    for k in range(4):
        total = b.op("add", total, b.op("mul", b.const(10 ** (3 - k)), b.input(0, k)))
    last = Sweep(False, (b.program([one("g", total)]),), (), (), (0,))
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (2,)),),
            (Port("g", (2,)),),
            (SPRING._replace(width=0, columns=()),),
            (-1, 0),
            (0, 0),
            ((), ()),
            (power(1, 4, at=3), power(2, 2, 3, at=1), power(1, 1, at=0), last),
            4,
        )
    )


def of_sines(count: int, *operations: str, real: str = "double", classes: int = 1) -> LoopProgram:
    """Return a chain whose first sweep saves functions of k + q; the last class saves nothing."""
    b = Builder("toy", [Port(CONSTANTS, (1,)), Port("q", (1,))], real)
    angle = b.op("add", b.input(0, 0), b.input(1, 0))
    rows = tuple(b.op(op, angle) for op in operations)
    saving = b.program([Port(SAVED, (len(rows),), rows)])
    nothing = Builder("toy", [], real).program([])
    b = Builder("toy", [Port(SAVED, (2,)), Port(CARRY, (1,))], real)
    total = b.op("add", b.input(1, 0), b.input(0, 0))
    adding = b.program([Port(CARRY, (1,), (total,)), Port("g", (1,), (total,))])
    steps = (saving, nothing)[:classes]
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (count,)),),
            (Port("g", (count,)),),
            tuple(LinkClass(f"class {c}", 1, 1, 1) for c in range(classes)),
            tuple(range(-1, count - 1)),
            tuple(i % classes for i in range(count)),
            ((Fraction(1),),) * count,
            (
                Sweep(False, steps, (), (), (0,) * classes),
                Sweep(False, (adding,) * classes, (Fraction(0),), (), (0,) * classes),
            ),
            2,
            real=real,
        )
    )


def with_epilogue() -> LoopProgram:
    """Return the product of the sums of q and of k·q along a chain of three."""
    b = Builder("toy", [one(CONSTANTS), one("q"), Port(CARRY, (2,))])
    sums = (
        b.op("add", b.input(2, 0), b.input(1, 0)),
        b.op("add", b.input(2, 1), b.op("mul", b.input(0, 0), b.input(1, 0))),
    )
    step = b.program([Port(CARRY, (2,), sums)])
    b = Builder("toy", [Port(FINAL_CARRY, (2,))])
    epilogue = b.program([Port("det", (), (b.op("mul", b.input(0, 0), b.input(0, 1)),))])
    return check(
        LoopProgram(
            "toy",
            "by_hand",
            (Port("q", (3,)),),
            (Port("det", ()),),
            (SPRING,),
            (-1, 0, 1),
            (0,) * 3,
            constants(3),
            (Sweep(False, (step,), (Fraction(0), Fraction(0)), (), (0,)),),
            0,
            final_carries=(
                FinalCarry(FINAL_CARRY, 0, (0,), 2),
                FinalCarry(FINAL_CARRY, 0, (1,), 2),
            ),
            epilogue=epilogue,
        )
    )
